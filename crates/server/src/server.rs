//! Server: listens, accepts connections, and ends in order.
//!
//! ```text
//! stop ──> new requests are refused, as the phase says ──> those that run are done, or their time is over
//!      ──> open transactions are rolled back, connections closed with 1001 ──> threads end
//! ```

use crate::client::Client;
use crate::connection::Connection;
use crate::databases::catalogue::DatabaseCatalogue;
use crate::listener::Listener;
use crate::log::target;
use crate::options::ServerOptions;
use crate::scheduler::{Scheduler, SchedulerOptions};
use crate::security::audit::{AuditEvent, AuditLog, AuditRecord};
use crate::security::authenticator::Authenticator;
use crate::security::host_check::{HostCheck, check_reach};
use crate::security::options::SecurityOptions;
use crate::security::quota::Quotas;
use crate::security::tls::Tls;
use crate::server_core::ServerCore;
use crate::websocket::{self, ServerPhase};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use evergraph::Database;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Bytes of a message: a request is limited to 10 MiB, and its head comes on top.
const MESSAGE_BYTES_MAX: usize = (10 << 20) + 1024;
/// Buffers of a connection, which most connections leave empty.
const READ_BUFFER_BYTES: usize = 8 << 10;
const WRITE_BUFFER_BYTES: usize = 16 << 10;
/// Threads that carry messages.
const NETWORK_THREADS: usize = 2;
/// How often time limits are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_millis(100);
/// Threads that may take the place of workers whose tasks do not give theirs back.
const SPARE_WORKERS_MAX: usize = 64;
/// How often it is looked whether the users file changed.
const USERS_INTERVAL: Duration = Duration::from_millis(500);
/// Of all places, the share that clients of one address may have who have not logged in.
const STRANGERS_SHARE: usize = 4;
/// Notices that are kept until somebody reads them.
const NOTICES_MAX: usize = 100;
/// How long connections may take to close.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    phase: watch::Sender<ServerPhase>,
    runtime: Option<Runtime>,
}

struct Shared {
    core: Arc<ServerCore>,
    phase: watch::Receiver<ServerPhase>,
    connections: Mutex<HashMap<usize, Arc<Connection>>>,
    hosts: HostCheck,
    tls: Option<Arc<Tls>>,
    notices: Mutex<Vec<String>>,
    /// When time limits of all connections were looked at last.
    swept: Mutex<Instant>,
}

impl Server {
    /// Serves `database` under `name` at `address`, to everybody on this machine, with threads of its own. Port 0 is any
    /// free one.
    ///
    /// # Errors
    /// `invalid` for an address that other machines reach; `io` if the address can't be listened on.
    pub fn start(
        database: Arc<Database>,
        name: &str,
        address: SocketAddr,
        options: ServerOptions,
    ) -> Result<Self> {
        Self::start_secured(database, name, address, options, &SecurityOptions::default())
    }

    /// The same to those whom `security` admits.
    ///
    /// # Errors
    /// As [`Server::start_with`]; `invalid` for a name that no database can have.
    pub fn start_secured(
        database: Arc<Database>,
        name: &str,
        address: SocketAddr,
        options: ServerOptions,
        security: &SecurityOptions,
    ) -> Result<Self> {
        Self::start_with(DatabaseCatalogue::of(name, database)?, address, options, security)
    }

    /// Serves the databases of a catalogue to those whom `security` admits.
    ///
    /// # Errors
    /// `invalid` for an address that other machines reach, without users and TLS; those of reading users, certificates and
    /// keys; `io` if the address can't be listened on, or the audit log not opened.
    pub fn start_with(
        databases: Arc<DatabaseCatalogue>,
        address: SocketAddr,
        options: ServerOptions,
        security: &SecurityOptions,
    ) -> Result<Self> {
        check_reach(address, security.users.is_some(), security.tls.is_some())?;
        let tls = security.tls.clone().map(Tls::read).transpose()?.map(Arc::new);
        let hosts = HostCheck::new(security.host_names.clone(), tls.clone())?;
        let audit = match &security.audit_log {
            Some(path) => AuditLog::open(path)?,
            None => AuditLog::default(),
        };
        let audit = Arc::new(audit);
        let runtime = Builder::new_multi_thread()
            .worker_threads(NETWORK_THREADS)
            .max_blocking_threads(4)
            .thread_name("server-network")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| failed("start threads", error))?;
        let listener =
            listen(address, &runtime).map_err(|error| failed(&format!("listen on {address}"), error))?;
        let address = listener.local_addr().map_err(|error| failed("listen", error))?;
        let workers = match options.workers {
            0 => thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let scheduling =
            SchedulerOptions { workers, spare_workers_max: SPARE_WORKERS_MAX, slice: options.slice };
        let scheduler = Scheduler::start(scheduling).map_err(|error| failed("start threads", error))?;
        let users = security.users.as_deref();
        let authenticator = users.map(|path| Authenticator::start(path, Arc::clone(&audit))).transpose()?;
        let strangers_max = (options.connections_max / STRANGERS_SHARE).max(1);
        let strangers = Arc::new(Quotas::new(strangers_max, 0));
        let core = Arc::new(ServerCore {
            databases,
            options,
            scheduler,
            session_owners: Mutex::default(),
            next_number: AtomicU64::new(0),
            authenticator,
            audit,
            quotas: Arc::new(Quotas::new(options.user_connections_max, options.user_requests_max)),
            login_waiting_bytes: Arc::default(),
        });
        let (phase, phase_seen) = watch::channel(ServerPhase::Serving);
        let accepting = Listener {
            tls: tls.clone(),
            audit: Arc::clone(&core.audit),
            connections_max: options.connections_max,
            strangers: core.authenticator.as_ref().map(|_| strangers),
            handshake_time_max: options.handshake_time_max,
        };
        let shared = Arc::new(Shared {
            core,
            phase: phase_seen,
            connections: Mutex::default(),
            hosts,
            tls,
            notices: Mutex::default(),
            swept: Mutex::new(Instant::now()),
        });
        let router = Router::new()
            .route("/gremlin", get(upgrade))
            .route("/healthz", get(|| async { "ok\n" }))
            .layer(from_fn_with_state(Arc::clone(&shared), check_headers))
            .with_state(Arc::clone(&shared));
        let mut stopping = shared.phase.clone();
        runtime.spawn(async move {
            tokio::select! {
                () = accepting.accept(listener, router) => {}
                // Until then a balancer of load may ask whether it is ready, and hears that it is not.
                _ = stopping.wait_for(|phase| *phase == ServerPhase::Closing) => {}
            }
        });
        runtime.spawn(sweep(Arc::clone(&shared)));
        let names: Vec<String> =
            shared.core.databases.all().iter().map(|served| format!("{:?}", served.name())).collect();
        let detail = format!("listening on {address}; databases: {}", names.join(", "));
        shared.core.audit.write(&AuditRecord::new(AuditEvent::Server, "started").detail(&detail));
        tracing::info!(
            target: target::SERVER,
            %address,
            databases = names.join(", "),
            users = security.users.is_some(),
            tls = security.tls.is_some(),
            workers,
            "listening"
        );
        Ok(Self { address, shared, phase, runtime: Some(runtime) })
    }

    /// Reads users and certificates again, and opens the audit log again, which may have been renamed. What cannot be read
    /// stays as it was, and is told by [`Server::take_notices`].
    pub fn reload(&self) {
        let core = &self.shared.core;
        if let Some(tls) = &self.shared.tls {
            match tls.reload() {
                Ok(()) => core.audit.write(&AuditRecord::new(AuditEvent::Certificates, "reloaded")),
                Err(error) => {
                    let text = error.to_string();
                    core.audit.write(&AuditRecord::new(AuditEvent::Certificates, "refused").detail(&text));
                    self.shared.notice(text);
                }
            }
        }
        let users = core.authenticator.as_ref().map(|users| users.reload());
        for outcome in users.into_iter().chain([core.audit.reopen()]) {
            if let Err(error) = outcome {
                self.shared.notice(error.to_string());
            }
        }
    }

    /// How long ago the network threads looked at all connections last, which they do ten times a second. If that is long
    /// ago they are stuck, and the server answers nobody.
    #[must_use]
    pub fn since_sweep(&self) -> Duration {
        self.shared.swept.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// What whoever runs the server should know, since this was asked last.
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        let mut notices = std::mem::take(&mut *self.shared.notices());
        notices.extend(self.shared.core.databases.take_notices());
        notices
    }

    /// The databases.
    #[must_use]
    pub fn databases(&self) -> &Arc<DatabaseCatalogue> {
        &self.shared.core.databases
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that are open.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.shared.connections().len()
    }

    /// Stops: finishes requests within the time that its options give, rolls back what is open, closes connections.
    /// Databases stay open: see
    /// [`DatabaseCatalogue::close_all`].
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        self.phase.send_replace(ServerPhase::Finishing);
        let grace = self.shared.core.options.stop_grace;
        let connections_count = self.connections_count();
        tracing::info!(
            target: target::SERVER,
            connections = connections_count,
            grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX),
            "stopping: new requests are refused, those that run are finished"
        );
        let is_done =
            |connection: &Arc<Connection>| connection.requests_count() == 0 && connection.outbox().is_empty();
        let shared = Arc::clone(&self.shared);
        wait(grace, || shared.connections().values().all(is_done));
        let given_up: usize = shared.connections().values().map(|left| left.requests_count()).sum();
        if given_up > 0 {
            tracing::warn!(target: target::SERVER, requests = given_up, "the time is over: requests are given up");
        }
        tracing::info!(
            target: target::SERVER,
            "closing: open transactions are rolled back, connections closed"
        );
        self.phase.send_replace(ServerPhase::Closing);
        wait(CLOSE_TIME, || shared.connections().is_empty());
        // Of clients that did not answer.
        let left: Vec<Arc<Connection>> = shared.connections().values().cloned().collect();
        left.iter().for_each(|connection| connection.close());
        wait(CLOSE_TIME, || left.iter().all(|connection| connection.requests_count() == 0));
        // On a thread that carries no messages itself, wherever the server is stopped.
        let ending = thread::spawn(move || runtime.shutdown_timeout(CLOSE_TIME));
        let _ = ending.join();
        shared.core.scheduler.stop();
        if let Some(users) = &shared.core.authenticator {
            users.stop();
        }
        shared.core.audit.write(&AuditRecord::new(AuditEvent::Server, "stopped"));
        shared.core.audit.close();
        tracing::info!(target: target::SERVER, "stopped");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, HashMap<usize, Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notices(&self) -> MutexGuard<'_, Vec<String>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notice(&self, text: String) {
        let mut notices = self.notices();
        if notices.len() < NOTICES_MAX {
            notices.push(text);
        }
    }
}

/// Looks at time limits, and for changes of users, until the server closes its connections.
async fn sweep(shared: Arc<Shared>) {
    let mut interval = tokio::time::interval(SWEEP_INTERVAL);
    let mut looked_for_users = Instant::now();
    while *shared.phase.borrow() != ServerPhase::Closing {
        interval.tick().await;
        let connections: Vec<Arc<Connection>> = shared.connections().values().cloned().collect();
        connections.iter().for_each(|connection| connection.sweep());
        *shared.swept.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        if let Some(users) = shared.core.authenticator.clone()
            && looked_for_users.elapsed() >= USERS_INTERVAL
        {
            looked_for_users = Instant::now();
            let shared = Arc::clone(&shared);
            tokio::task::spawn_blocking(move || {
                if let Err(error) = users.refresh() {
                    shared.notice(error.to_string());
                }
            });
        }
    }
}

/// Refuses pages of other sites, whatever they ask for.
async fn check_headers(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let host = only_text(request.headers(), &header::HOST);
    let origin = only_text(request.headers(), &header::ORIGIN);
    match shared.hosts.refusal(host.as_deref(), origin.as_deref()) {
        Some(why) => {
            let record = AuditRecord::new(AuditEvent::Connection, "refused").detail(&why);
            let client = request.extensions().get::<Arc<Client>>();
            shared.core.audit.write(&client.map_or(record, |client| record.address(client.address())));
            (StatusCode::FORBIDDEN, format!("{why}\n")).into_response()
        }
        None => next.run(request).await,
    }
}

/// The text of a header that a request has once. Bytes that are no text, and several headers, name nobody.
fn only_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    Some(text.unwrap_or("?").to_owned())
}

async fn upgrade(
    State(shared): State<Arc<Shared>>,
    Extension(client): Extension<Arc<Client>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    if *shared.phase.borrow() != ServerPhase::Serving {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server stops\n").into_response();
    }
    let options = shared.core.options;
    upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .on_upgrade(move |socket| async move {
            let connection = Connection::new(&shared.core, client);
            let key = Arc::as_ptr(&connection) as usize;
            shared.connections().insert(key, Arc::clone(&connection));
            let phase = shared.phase.clone();
            websocket::serve(socket, connection, options.requests_max, phase).await;
            shared.connections().remove(&key);
        })
}

fn listen(address: SocketAddr, runtime: &Runtime) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let _context = runtime.enter();
    TcpListener::from_std(listener)
}

/// Waits until `is_done`, at most for `time`.
fn wait(time: Duration, is_done: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_done() && began.elapsed() < time {
        thread::sleep(Duration::from_millis(5));
    }
}

fn failed(what: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}")).because(error)
}
