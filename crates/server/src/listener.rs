//! Listener: accepts connections within limits, and carries them while they are HTTP.
//!
//! ```text
//! accept ── place? ──> TLS ──> HTTP ──> WebSocket, which goes on elsewhere
//!             └── no: closed at once
//! ```
//!
//! A place is taken before the first byte is read, so that those that never send one are counted as well.

use crate::client::Client;
use crate::client_socket::{ClientSocket, DepartureWatch};
use crate::http::held_body::holding;
use crate::http::keep_alive::{AnswerPhase, ConnectionPhase, KeepAlive, PhaseLimits, WatchedStream};
use crate::log::target;
use crate::message_meter::{MessageMeter, MessageRoom};
use crate::metrics::Metrics;
use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::network::network;
use crate::security::quota::{Quota, Quotas};
use crate::security::tls::Tls;
use crate::server_phase::ServerPhase;
use axum::Router;
use evergraph_storage::planted::{Bug, planted};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use socket2::{SockRef, TcpKeepalive};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

/// How long nothing is accepted after the system refused.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long a client is silent before the system asks whether its machine is still there, how often it asks then, and how
/// many times until the connection is lost.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;
/// How often the logs say that connections are refused for want of room.
const FULL_INTERVAL: Duration = Duration::from_secs(1);

/// How connections are accepted.
pub(crate) struct Listener {
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) audit: Arc<AuditLog>,
    pub(crate) metrics: Arc<Metrics>,
    /// Places of connections.
    pub(crate) room: Arc<Semaphore>,
    /// Connections of a network that have not logged in; `None` if nobody does.
    pub(crate) strangers: Option<Arc<Quotas>>,
    pub(crate) limits: PhaseLimits,
    /// Room for messages of WebSockets.
    pub(crate) messages: Arc<MessageRoom>,
    pub(crate) phase: watch::Receiver<ServerPhase>,
}

impl Listener {
    /// Accepts connections for as long as it is awaited.
    pub(crate) async fn accept(self, listener: TcpListener, router: Router) {
        let shared = Arc::new(self);
        let mut told_full: Option<Instant> = None;
        let mut told_failed: Option<Instant> = None;
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of files, say.
                    if told_failed.is_none_or(|at| at.elapsed() >= FULL_INTERVAL) {
                        told_failed = Some(Instant::now());
                        tracing::error!(target: target::CONNECTION, "no connection can be accepted: {error}");
                    }
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let place = Arc::clone(&shared.room).try_acquire_owned().map_err(|_| "all places are taken");
            let strangers = shared.strangers.as_ref();
            let stranger = strangers.map(|all| all.take(&network(peer.ip()).to_string(), Quota::Connections));
            let stranger =
                stranger.transpose().map_err(|_| "too many connections of this address have not logged in");
            let messages = MessageMeter::new(&shared.messages);
            match place.and_then(|place| Ok(Client::new(peer.ip(), place, stranger?, messages))) {
                Ok(client) => {
                    drop(tokio::spawn(Arc::clone(&shared).carry(stream, peer, client, router.clone())))
                }
                Err(why) => {
                    shared.metrics.refuse_connection();
                    if told_full.is_none_or(|at| at.elapsed() >= FULL_INTERVAL) {
                        told_full = Some(Instant::now());
                        shared.refuse(peer, why);
                    }
                }
            }
        }
    }

    /// Carries a connection until it ends, or is a WebSocket.
    async fn carry(self: Arc<Self>, stream: TcpStream, peer: SocketAddr, client: Client, router: Router) {
        let accepted = Instant::now();
        // Small answers are not held back.
        let _ = stream.set_nodelay(true);
        if !planted(Bug::VanishedClientsStay) {
            probe(&stream);
        }
        let stream = ClientSocket::new(stream);
        let departure = stream.watch();
        let Some(tls) = &self.tls else {
            return self.serve(stream, departure, peer, client, router, accepted).await;
        };
        let time = if planted(Bug::EndlessHandshakes) { Duration::MAX } else { self.limits.head_time_max };
        match tokio::time::timeout(time, TlsAcceptor::from(tls.config()).accept(stream)).await {
            Ok(Ok(stream)) => self.serve(stream, departure, peer, client, router, accepted).await,
            Ok(Err(error)) => self.refuse(peer, &format!("the TLS handshake failed: {error}")),
            Err(_) => self.refuse(peer, "the TLS handshake took too long"),
        }
    }

    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        departure: DepartureWatch,
        peer: SocketAddr,
        client: Client,
        router: Router,
        accepted: Instant,
    ) {
        let (client, keep_alive) = (Arc::new(client), KeepAlive::new(self.limits, accepted));
        let stream = WatchedStream::new(stream, Arc::clone(&keep_alive), Arc::clone(client.messages()));
        let watching = Arc::clone(&keep_alive);
        let router = TowerToHyperService::new(router);
        let service = service_fn(move |mut request: Request<Incoming>| {
            keep_alive.enter(ConnectionPhase::Working);
            request.extensions_mut().insert(Arc::clone(&client));
            request.extensions_mut().insert(departure.clone());
            let (answered, keep_alive) = (router.call(request), Arc::clone(&keep_alive));
            async move {
                let response = answered.await?;
                if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                    keep_alive.enter(ConnectionPhase::Upgraded);
                    return Ok(response);
                }
                Ok::<_, Infallible>(holding(response, AnswerPhase::enter(keep_alive)))
            }
        });
        let mut http = http1::Builder::new();
        // Heads have a limit of time elsewhere, which does not begin while nothing is sent.
        http.timer(TokioTimer::new()).header_read_timeout(None).max_header_size(HEAD_BYTES_MAX);
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let mut phase = self.phase.clone();
        let mut is_stopping = false;
        loop {
            tokio::select! {
                // What fails here is the client's: it is gone, or sent no HTTP.
                _ = connection.as_mut() => return,
                overdue = watching.overdue() => {
                    match overdue {
                        ConnectionPhase::Head => self.refuse(peer, "the head of a request did not come in time"),
                        ConnectionPhase::Answering => self.refuse(peer, "the client did not read its answer"),
                        _ => {}
                    }
                    return;
                }
                _ = phase.wait_for(|phase| *phase != ServerPhase::Serving), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    fn refuse(&self, peer: SocketAddr, why: &str) {
        let record = AuditRecord::new(AuditEvent::Connection, "refused").address(peer.ip());
        self.audit.write(&record.detail(why));
        tracing::info!(target: target::CONNECTION, address = %peer.ip().to_canonical(), "a connection was refused: {why}");
    }
}

/// Has the system ask whether the client is still there while it is silent: one whose machine is gone says nothing, ever.
fn probe(stream: &TcpStream) {
    let probes =
        TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_INTERVAL).with_retries(PROBES);
    // A system that refuses has longer times of its own.
    let _ = SockRef::from(stream).set_tcp_keepalive(&probes);
}
