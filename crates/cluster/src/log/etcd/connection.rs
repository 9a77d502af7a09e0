//! Connection: HTTP/2 to one member of etcd, with or without TLS, checked and logged in.
//!
//! ```text
//! TCP ──> TLS, if the endpoint has it ──> HTTP/2 ──> log-in, if etcd has users ──> status: version, cluster
//! ```
//!
//! The calls of gRPC are tonic's; the connection below them is ours, so that it is known of every request whether it
//! went out. HTTP/2's own pings are not used: etcd takes more than one in five seconds for an attack.

use crate::log::channel::LogServers;
use crate::log::etcd::connection_error::SendError;
use crate::log::etcd::etcd_cluster::{ALPN, EtcdCluster};
use crate::log::etcd::failure::{has_no_users, reason_of, with_causes};
use crate::log::etcd::options::{EtcdEndpoint, EtcdLogin};
use crate::log::etcd::wire::{
    AUTHENTICATE, AuthenticateRequest, AuthenticateResponse, REQUIRE_LEADER, RESPONSE_BYTES_MAX, STATUS,
    StatusRequest, StatusResponse, TOKEN,
};
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use futures_util::Stream;
use http::uri::PathAndQuery;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::rt::Executor;
use hyper_util::rt::TokioIo;
use prost::Message;
use rustls::pki_types::ServerName;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::metadata::AsciiMetadataValue;
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;
use tower_service::Service;

/// A connection. What runs for it ends with the last clone.
#[derive(Clone)]
pub(super) struct Connection {
    calls: Grpc<RequestSender>,
    sender: RequestSender,
    /// Who asks, after a log-in.
    token: Option<AsciiMetadataValue>,
    /// Set for good once a request failed in a way that others would share. Publishes nothing else, so Relaxed.
    is_abandoned: Arc<AtomicBool>,
    _open: Arc<watch::Sender<()>>,
}

impl Connection {
    /// Connects, logs in and asks the member who it is. It takes as long as the network does: the caller has a time
    /// limit.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub(super) async fn open(cluster: &EtcdCluster, endpoint: &EtcdEndpoint) -> Result<Self, String> {
        let (open, closed) = watch::channel(());
        let sender = send_requests(cluster, endpoint, ConnectionTasks(closed)).await?;
        let calls = Grpc::with_origin(sender.clone(), endpoint.origin().clone())
            .max_decoding_message_size(RESPONSE_BYTES_MAX);
        let mut connection = Self {
            calls,
            sender,
            token: None,
            is_abandoned: Arc::new(AtomicBool::new(false)),
            _open: Arc::new(open),
        };
        if let Some(login) = cluster.login() {
            connection.token = connection.log_in(login, cluster.time_limit()).await?;
        }
        let status = connection.call(STATUS, StatusRequest {}, cluster.time_limit()).await;
        let status: StatusResponse = status.map_err(|status| first_failure(endpoint, &status))?;
        cluster.check(&status)?;
        Ok(connection)
    }

    /// Whether another connection is needed.
    pub(super) fn is_unusable(&self) -> bool {
        self.sender.0.is_closed() || self.is_abandoned.load(Ordering::Relaxed)
    }

    /// Says that the member failed: requests that are under way may still be answered, others go elsewhere.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
    }

    /// Asks once. The member gives up after `time_limit`; the caller waits no longer than it wants to.
    ///
    /// # Errors
    /// What the member says, or the connection.
    pub(super) async fn call<Q, A>(
        &self,
        method: &'static str,
        question: Q,
        time_limit: Duration,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut request = self.request(question);
        request.set_timeout(time_limit);
        let codec = ProstCodec::<Q, A>::default();
        let answer = self.calls.clone().unary(request, PathAndQuery::from_static(method), codec).await?;
        Ok(answer.into_inner())
    }

    /// Asks for a stream of answers to a stream of questions, which ends when either is dropped.
    ///
    /// # Errors
    /// What the member says before the first answer, or the connection.
    pub(super) async fn stream<S, Q, A>(
        &self,
        method: &'static str,
        questions: S,
    ) -> Result<Streaming<A>, Status>
    where
        S: Stream<Item = Q> + Send + 'static,
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let request = self.request(questions);
        let codec = ProstCodec::<Q, A>::default();
        let answers = self.calls.clone().streaming(request, PathAndQuery::from_static(method), codec).await?;
        Ok(answers.into_inner())
    }

    fn request<T>(&self, content: T) -> Request<T> {
        let mut request = Request::new(content);
        let (key, value) = REQUIRE_LEADER;
        request.metadata_mut().insert(key, AsciiMetadataValue::from_static(value));
        if let Some(token) = &self.token {
            request.metadata_mut().insert(TOKEN, token.clone());
        }
        request
    }

    /// A token; none where etcd has no users, as its own clients do it.
    async fn log_in(
        &self,
        login: &EtcdLogin,
        time_limit: Duration,
    ) -> Result<Option<AsciiMetadataValue>, String> {
        let EtcdLogin { user, password, .. } = login.clone();
        let failed = |why: String| format!("log in as {}: {why}", login.user);
        let question = AuthenticateRequest { name: user, password };
        let answer: AuthenticateResponse = match self.call(AUTHENTICATE, question, time_limit).await {
            Ok(answer) => answer,
            Err(status) if has_no_users(&status) => return Ok(None),
            Err(status) => return Err(failed(reason_of(&status))),
        };
        let mut token = AsciiMetadataValue::try_from(answer.token)
            .map_err(|_| failed("etcd answered with a token that cannot be sent".to_owned()))?;
        token.set_sensitive(true);
        Ok(Some(token))
    }
}

impl LogServers for EtcdCluster {
    type Endpoint = EtcdEndpoint;
    type Connection = Connection;

    fn endpoints(&self) -> &[EtcdEndpoint] {
        self.endpoints()
    }

    fn time_limit(&self) -> Duration {
        self.time_limit()
    }

    async fn connect(&self, endpoint: &EtcdEndpoint) -> Result<Connection, String> {
        Connection::open(self, endpoint).await
    }

    fn is_unusable(connection: &Connection) -> bool {
        connection.is_unusable()
    }
}

/// Connects, and speaks HTTP/2.
async fn send_requests(
    cluster: &EtcdCluster,
    endpoint: &EtcdEndpoint,
    tasks: ConnectionTasks,
) -> Result<RequestSender, String> {
    let socket = TcpStream::connect((endpoint.host(), endpoint.port())).await;
    let socket = socket.map_err(|error| format!("connect: {error}"))?;
    socket.set_nodelay(true).map_err(|error| format!("connect: {error}"))?;
    let Some(config) = cluster.tls() else { return speak_http2(socket, tasks).await };
    let name = ServerName::try_from(endpoint.host().to_owned())
        .map_err(|_| format!("{} is neither a name nor an address", endpoint.host()))?;
    let socket = TlsConnector::from(config).connect(name, socket).await;
    let socket = socket.map_err(|error| format!("begin TLS: {error}"))?;
    if socket.get_ref().1.alpn_protocol() != Some(ALPN) {
        return Err("begin TLS: the server does not speak HTTP/2".to_owned());
    }
    speak_http2(socket, tasks).await
}

async fn speak_http2<S>(socket: S, tasks: ConnectionTasks) -> Result<RequestSender, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let begun = http2::Builder::new(tasks.clone()).handshake(TokioIo::new(socket)).await;
    let (sender, driver) = begun.map_err(|error| format!("begin HTTP/2: {}", with_causes(&error)))?;
    // How it ends is told to the requests that it breaks off.
    tasks.execute(async move {
        let _ = driver.await;
    });
    Ok(RequestSender(sender))
}

/// What the first request says where something else listens, expects TLS, or demands a certificate: the connection alone would work.
fn first_failure(endpoint: &EtcdEndpoint, status: &Status) -> String {
    let reason = reason_of(status);
    match (status.source().is_some(), endpoint.is_tls()) {
        (true, false) => format!("{reason}; if it expects TLS, write https"),
        (true, true) => format!("{reason}; if it demands certificates of clients, name one that it trusts"),
        (false, _) => reason,
    }
}

/// Runs what HTTP/2 needs until the connection is dropped: a member that was stopped would keep the socket open for
/// ever.
#[derive(Clone)]
struct ConnectionTasks(watch::Receiver<()>);

impl<F> Executor<F> for ConnectionTasks
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, task: F) {
        let mut closed = self.0.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = closed.changed() => {}
                _ = task => {}
            }
        });
    }
}

/// Puts requests on a connection.
#[derive(Clone)]
struct RequestSender(http2::SendRequest<Body>);

impl Service<http::Request<Body>> for RequestSender {
    type Response = http::Response<Incoming>;
    type Error = SendError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    /// A connection queues what the member does not take at once; requests have time limits of their own.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let response = self.0.try_send_request(request);
        Box::pin(async move {
            response.await.map_err(|mut error| match error.take_message() {
                Some(_) => SendError::NotSent(error.into_error()),
                None => SendError::Broken(error.into_error()),
            })
        })
    }
}
