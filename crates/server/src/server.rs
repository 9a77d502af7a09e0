//! Server: listens, accepts connections, and ends in order.
//!
//! ```text
//! stop ──> new requests are refused, as the phase says ──> those that run are done, or their time is over
//!      ──> open transactions are rolled back, connections closed with 1001 ──> threads end
//! ```

use crate::connection::Connection;
use crate::databases::catalogue::DatabaseCatalogue;
use crate::http::body::{BODIES_BYTES_MAX, BODY_UNIT};
use crate::http::keep_alive::PhaseLimits;
use crate::http::router::router;
use crate::jobs::registry::{JobLimits, Jobs};
use crate::jobs::resources::{Forgotten, JobResources};
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
use crate::server_phase::ServerPhase;
use crate::session_owners::SessionOwners;
use crate::shared::Shared;
use crate::spool::options::FileOptions;
use evergraph::Database;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::open_files::allow_many_files;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

/// Threads that wait for the disk while files come and go.
const BLOCKING_THREADS_MAX: usize = 16;
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
/// Bytes that the system keeps of what a connection has sent and nobody read; Linux takes twice as much for its own needs.
const SEND_BUFFER_BYTES: u32 = 256 << 10;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long connections may take to close.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    phase: watch::Sender<ServerPhase>,
    /// Places of connections that are free.
    room: Arc<Semaphore>,
    runtime: Option<Runtime>,
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
        Self::start_with_files(databases, address, options, security, &FileOptions::default())
    }

    /// The same with folders for uploads, imports, exports and backups.
    ///
    /// # Errors
    /// As [`Server::start_with`]; `not_found` and `invalid` without a folder that is named; `busy` if another server has the
    /// folder of uploads.
    pub fn start_with_files(
        databases: Arc<DatabaseCatalogue>,
        address: SocketAddr,
        options: ServerOptions,
        security: &SecurityOptions,
        files: &FileOptions,
    ) -> Result<Self> {
        check_reach(address, security.users.is_some(), security.tls.is_some())?;
        // A connection is one.
        allow_many_files();
        let tls = security.tls.clone().map(Tls::read).transpose()?.map(Arc::new);
        let hosts = HostCheck::new(security.host_names.clone(), tls.clone())?;
        let audit = match &security.audit_log {
            Some(path) => AuditLog::open(path)?,
            None => AuditLog::default(),
        };
        let audit = Arc::new(audit);
        let resources = JobResources::open(files, databases.root_path())?;
        let jobs = Jobs::new(JobLimits::default(), Arc::clone(&audit));
        let runtime = Builder::new_multi_thread()
            .worker_threads(NETWORK_THREADS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
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
            algorithm_threads: Arc::default(),
            jobs,
            job_resources: Arc::new(resources),
            session_owners: SessionOwners::default(),
            queries: Arc::default(),
            next_number: AtomicU64::new(0),
            authenticator,
            audit,
            metrics: Arc::default(),
            quotas: Arc::new(Quotas::new(options.user_connections_max, options.user_requests_max)),
            messages: Arc::default(),
        });
        let (phase, phase_seen) = watch::channel(ServerPhase::Serving);
        let room = Arc::new(Semaphore::new(options.connections_max));
        let accepting = Listener {
            tls: tls.clone(),
            audit: Arc::clone(&core.audit),
            metrics: Arc::clone(&core.metrics),
            room: Arc::clone(&room),
            strangers: core.authenticator.as_ref().map(|_| strangers),
            limits: PhaseLimits {
                head_time_max: options.handshake_time_max,
                // A query may say nothing for all its time.
                answer_idle_max: options.query_timeout.saturating_add(options.http_idle_max),
                idle_max: options.http_idle_max,
            },
            messages: Arc::clone(&core.messages),
            phase: phase_seen.clone(),
        };
        let shared = Arc::new(Shared::new(
            core,
            phase_seen,
            hosts,
            tls,
            Arc::clone(&room),
            BODIES_BYTES_MAX / BODY_UNIT,
        ));
        let router = router(&shared);
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
        Ok(Self { address, shared, phase, room, runtime: Some(runtime) })
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
        self.shared.swept_at().elapsed()
    }

    /// What whoever runs the server should know, since this was asked last.
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        let mut notices = self.shared.take_notices();
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

    /// WebSockets that are open.
    #[must_use]
    pub fn connections_count(&self) -> usize {
        self.shared.connections().len()
    }

    /// Connections that are open, by HTTP or on their way to become a WebSocket as well.
    #[must_use]
    pub fn open_connections_count(&self) -> usize {
        self.shared.connections_count()
    }

    /// Requests by HTTP whose answers were not sent yet, or whose query has not ended.
    #[must_use]
    pub fn requests_count(&self) -> usize {
        self.shared.exchanges.unfinished_count()
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
        self.shared.core.jobs.begin_stop();
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
        wait(grace, || {
            shared.connections().values().all(is_done) && shared.exchanges.unfinished_count() == 0
        });
        let given_up = shared.connections().values().map(|left| left.requests_count()).sum::<usize>()
            + shared.exchanges.unfinished_count();
        if given_up > 0 {
            tracing::warn!(target: target::SERVER, requests = given_up, "the time is over: requests are given up");
        }
        tracing::info!(
            target: target::SERVER,
            "closing: open transactions are rolled back, connections closed"
        );
        self.phase.send_replace(ServerPhase::Closing);
        // Clients of HTTP have the rest of their answers then as well.
        let connections_max = shared.core.options.connections_max;
        wait(CLOSE_TIME, || self.room.available_permits() == connections_max);
        // Of clients that did not answer.
        let left: Vec<Arc<Connection>> = shared.connections().values().cloned().collect();
        left.iter().for_each(|connection| connection.close());
        let exchanges = shared.exchanges.list();
        exchanges.iter().for_each(|exchange| exchange.close());
        wait(CLOSE_TIME, || {
            left.iter().all(|connection| connection.requests_count() == 0)
                && exchanges.iter().all(|exchange| exchange.is_done())
        });
        // On a thread that carries no messages itself, wherever the server is stopped.
        let ending = thread::spawn(move || runtime.shutdown_timeout(CLOSE_TIME));
        let _ = ending.join();
        shared.core.scheduler.stop();
        shared.core.jobs.wait();
        drop(shared.core.job_resources.take_all());
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

/// Looks at time limits, and for changes of users, until the server closes its connections.
async fn sweep(shared: Arc<Shared>) {
    let mut interval = tokio::time::interval(SWEEP_INTERVAL);
    let mut looked_for_users = Instant::now();
    while *shared.phase.borrow() != ServerPhase::Closing {
        interval.tick().await;
        let connections: Vec<Arc<Connection>> = shared.connections().values().cloned().collect();
        connections.iter().for_each(|connection| connection.sweep());
        shared.note_swept();
        shared.exchanges.sweep();
        let core = &shared.core;
        let forgotten = Forgotten { jobs: core.jobs.sweep(), uploads: core.job_resources.take_unused() };
        if !forgotten.is_empty() {
            // Files go with them.
            drop(tokio::task::spawn_blocking(move || drop(forgotten)));
        }
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

/// Listens. What its connections have sent and nobody read is bounded in the system as well, which otherwise keeps some MiB of
/// each.
fn listen(address: SocketAddr, runtime: &Runtime) -> io::Result<TcpListener> {
    let _context = runtime.enter();
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // As the standard library does: a server that was stopped can be started again at once.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
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
