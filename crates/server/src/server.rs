//! Server: listens, accepts connections, and ends in order.
//!
//! ```text
//! stop ──> no new connections, no new requests ──> those that run are done, or their time is over
//!      ──> open transactions are rolled back, connections closed with 1001 ──> threads end
//! ```

use crate::connection::{Connection, ServerCore};
use crate::loopback::{is_loopback, refusal};
use crate::options::ServerOptions;
use crate::scheduler::{Scheduler, SchedulerOptions};
use crate::websocket::{self, ServerPhase};
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
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
}

impl Server {
    /// Serves `database` under `name` at `address`, with threads of its own. Port 0 is any free one.
    ///
    /// # Errors
    /// `invalid` for an address that other machines reach; `io` if the address can't be listened on.
    pub fn start(
        database: Arc<Database>,
        name: &str,
        address: SocketAddr,
        options: ServerOptions,
    ) -> Result<Self> {
        if !is_loopback(address) {
            return Err(Error::invalid(format!(
                "{address} can be reached from other machines, and the server has no users and no TLS yet: listen on \
                 127.0.0.1 or [::1]"
            )));
        }
        let workers = match options.workers {
            0 => thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let scheduling =
            SchedulerOptions { workers, spare_workers_max: SPARE_WORKERS_MAX, slice: options.slice };
        let scheduler = Scheduler::start(scheduling).map_err(|error| failed("start threads", error))?;
        let core = Arc::new(ServerCore {
            database,
            name: name.into(),
            options,
            scheduler,
            session_owners: Mutex::default(),
            next_number: AtomicU64::new(0),
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(NETWORK_THREADS)
            .max_blocking_threads(4)
            .thread_name("server-network")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| failed("start threads", error))?;
        let (phase, phase_seen) = watch::channel(ServerPhase::Serving);
        let shared = Arc::new(Shared { core, phase: phase_seen, connections: Mutex::default() });
        let listener =
            listen(address, &runtime).map_err(|error| failed(&format!("listen on {address}"), error))?;
        let address = listener.local_addr().map_err(|error| failed("listen", error))?;
        let router = Router::new()
            .route("/gremlin", get(upgrade))
            .route("/healthz", get(|| async { "ok\n" }))
            .layer(from_fn(check_headers))
            .with_state(Arc::clone(&shared));
        let mut stopping = shared.phase.clone();
        let stop = async move {
            let _ = stopping.wait_for(|phase| *phase != ServerPhase::Serving).await;
        };
        // A frame is sent at once: with Nagle's algorithm the second frame of an answer waited for the acknowledgement of
        // the first, which clients delay by 40 ms. Where it can't be set, answers are slow and right.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        runtime.spawn(async move { axum::serve(listener, router).with_graceful_shutdown(stop).await });
        runtime.spawn(sweep(Arc::clone(&shared)));
        Ok(Self { address, shared, phase, runtime: Some(runtime) })
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
    /// The database stays open.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        self.phase.send_replace(ServerPhase::Finishing);
        let is_done =
            |connection: &Arc<Connection>| connection.requests_count() == 0 && connection.outbox().is_empty();
        let shared = Arc::clone(&self.shared);
        wait(shared.core.options.stop_grace, || shared.connections().values().all(is_done));
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
}

/// Looks at time limits until the server closes its connections.
async fn sweep(shared: Arc<Shared>) {
    let mut interval = tokio::time::interval(SWEEP_INTERVAL);
    while *shared.phase.borrow() != ServerPhase::Closing {
        interval.tick().await;
        let connections: Vec<Arc<Connection>> = shared.connections().values().cloned().collect();
        connections.iter().for_each(|connection| connection.sweep());
    }
}

/// Refuses pages of other sites, whatever they ask for.
async fn check_headers(request: Request, next: Next) -> Response {
    // Bytes that are no text name nobody.
    let text =
        |headers: &HeaderMap, name| headers.get(name).map(|value| value.to_str().unwrap_or("?").to_owned());
    let host = text(request.headers(), header::HOST);
    let origin = text(request.headers(), header::ORIGIN);
    match refusal(host.as_deref(), origin.as_deref()) {
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    }
}

async fn upgrade(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    let options = shared.core.options;
    if shared.connections().len() >= options.connections_max {
        let text = format!("{} connections are open, and there may be no more\n", options.connections_max);
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    upgrade
        .max_message_size(MESSAGE_BYTES_MAX)
        .max_frame_size(MESSAGE_BYTES_MAX)
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .on_upgrade(move |socket| async move {
            let connection = Connection::new(&shared.core);
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
