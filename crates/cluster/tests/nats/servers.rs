//! Servers of NATS of one test's own: made, started, killed, stopped, started again, and removed when the test is over.

use crate::folders::copy_folder;
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::nats::{self, ServerPorts};
use crate::raw_client::ask_within;
use crate::skips::skipped;
use crate::test_log::{TestLog, wait_until, waker};
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::nats::options::{NatsOptions, NatsServer, NatsSync};
use evergraph_storage::sync::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;
use tempfile::TempDir;

/// The stream of the tests.
pub const STREAM: &str = "evergraph-test";

/// How long a question about a stream may take before it is asked again.
const INFO_TIME: Duration = Duration::from_secs(2);

/// The test that has servers: all of them together would hold up each other's elections.
static TURN: LazyLock<Mutex<()>> = LazyLock::new(|| Mutex::new(()));

/// How servers are started.
#[derive(Clone, Copy)]
pub struct ServerOptions<'a> {
    pub count: usize,
    /// `sync_interval` of each server.
    pub sync_intervals: &'a [&'a str],
    /// More of the configuration of each.
    pub more: &'a str,
    pub scheme: &'a str,
}

/// Three that a log can be kept on.
pub const THREE: ServerOptions<'static> =
    ServerOptions { count: 3, sync_intervals: &["always"], more: "", scheme: "nats" };

/// Servers, which end with this, or with the tests' process however that ends.
pub struct Servers {
    servers: Vec<Server>,
    folder: TempDir,
    scheme: String,
    _turn: MutexGuard<'static, ()>,
}

struct Server {
    port: u16,
    monitoring_port: u16,
    /// Its data; beside it lie its configuration and what it says.
    folder: PathBuf,
    running: Option<GuardedProcess>,
}

impl Servers {
    /// Three servers that a log can be kept on; `None` where there is no program.
    pub fn start() -> Option<Self> {
        Self::start_with(&THREE)
    }

    /// Servers with options.
    pub fn start_with(options: &ServerOptions<'_>) -> Option<Self> {
        let Some(program) = nats::program() else {
            skipped(nats::HOW_TO_INSTALL);
            return None;
        };
        let turn = TURN.lock();
        let folder = tempfile::Builder::new().prefix("evergraph-nats-").tempdir().unwrap();
        let ports = ServerPorts::of(&free_ports(3 * options.count));
        let servers = ports.iter().enumerate().map(|(at, own)| {
            let data = folder.path().join(format!("m{at}"));
            let sync = options.sync_intervals[at % options.sync_intervals.len()];
            let jetstream = format!("sync_interval: {sync}, max_file_store: 1GB, max_memory_store: 256MB");
            let text = nats::configuration(at, &ports, &data, &jetstream) + options.more + "\n";
            fs::write(data.with_extension("conf"), text).unwrap();
            Server { port: own.clients, monitoring_port: own.monitoring, folder: data, running: None }
        });
        let servers = servers.collect();
        let mut servers = Self { servers, folder, scheme: options.scheme.to_owned(), _turn: turn };
        for server in &mut servers.servers {
            server.run(&program);
        }
        (0..options.count).for_each(|at| servers.wait(at));
        Some(servers)
    }

    /// How a log uses all of them, those that were named first before the others.
    pub fn options(&self, first: &[usize]) -> NatsOptions {
        let others = (0..self.servers.len()).filter(|at| !first.contains(at));
        let ordered = first.iter().copied().chain(others);
        let urls = ordered.map(|at| self.url(at).parse::<NatsServer>().unwrap());
        NatsOptions::new(urls.collect(), STREAM, self.monitored())
    }

    /// Where clients find a server.
    pub fn url(&self, at: usize) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.servers[at].port)
    }

    /// That all of them are asked whether they sync.
    pub fn monitored(&self) -> NatsSync {
        let url = |server: &Server| format!("http://127.0.0.1:{}", server.monitoring_port).parse().unwrap();
        NatsSync::Monitored(self.servers.iter().map(url).collect())
    }

    /// A log that uses all of them, from the first on.
    pub fn log(&self) -> TestLog<NatsLog> {
        open(self.options(&[]))
    }

    /// The port for clients of a server.
    pub fn port(&self, at: usize) -> u16 {
        self.servers[at].port
    }

    /// Which server leads the stream of the tests, once one does.
    pub fn leader(&self) -> usize {
        self.leader_of(STREAM)
    }

    /// Which server leads a stream, once one does.
    pub fn leader_of(&self, stream: &str) -> usize {
        let mut found = None;
        let port = self.servers.iter().find(|server| server.running.is_some()).expect("one runs").port;
        wait_until("a server leads the stream", || {
            let asked = ask_within(INFO_TIME, port, &format!("$JS.API.STREAM.INFO.{stream}"), "");
            let Ok(info) = asked else { return false };
            let info: serde_json::Value = serde_json::from_str(&info).unwrap();
            let name = info["cluster"]["leader"].as_str();
            found = name.and_then(|name| name.strip_prefix('m')?.parse().ok());
            found.is_some()
        });
        found.unwrap()
    }

    /// Kills a server as a power cut of its machine would; what it wrote stays.
    pub fn kill(&mut self, at: usize) {
        drop(self.servers[at].running.take());
    }

    /// Starts a server that was killed, and waits until it serves.
    pub fn start_again(&mut self, at: usize) {
        self.begin_again(at);
        self.wait(at);
    }

    /// Starts a server that was killed.
    pub fn begin_again(&mut self, at: usize) {
        let program = nats::program().expect("it was found before");
        self.servers[at].run(&program);
    }

    /// Stops a server: it keeps its sockets, and says nothing.
    pub fn pause(&self, at: usize) {
        self.servers[at].signal(Signal::STOP);
    }

    /// Lets a stopped server go on.
    pub fn resume(&self, at: usize) {
        self.servers[at].signal(Signal::CONT);
    }

    /// Copies the data of a server, which is not running.
    pub fn copy_data(&self, at: usize) -> PathBuf {
        let copy = self.folder.path().join(format!("copy of m{at}"));
        copy_folder(&self.servers[at].folder, &copy);
        copy
    }

    /// Puts a copy in place of the data of a server, which is not running.
    pub fn restore_data(&self, at: usize, copy: &Path) {
        fs::remove_dir_all(&self.servers[at].folder).unwrap();
        copy_folder(copy, &self.servers[at].folder);
    }

    /// Changes the configuration of a server, which is not running.
    pub fn configure(&self, at: usize, from: &str, to: &str) {
        let file = self.servers[at].folder.with_extension("conf");
        let text = fs::read_to_string(&file).unwrap();
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{from}");
        fs::write(&file, edited).unwrap();
    }

    /// Waits until a server serves.
    pub fn wait(&self, at: usize) {
        let server = &self.servers[at];
        let said = || fs::read_to_string(server.folder.with_extension("log")).unwrap_or_default();
        wait_until("a server serves", || {
            assert!(!said().contains("[FTL]"), "{}", said());
            nats::is_healthy(server.monitoring_port)
        });
    }
}

/// A log with options.
pub fn open(options: NatsOptions) -> TestLog<NatsLog> {
    TestLog::of(NatsLog::open(options, waker()).unwrap())
}

/// The same, by one that answers soon.
pub fn hasty(options: NatsOptions) -> NatsOptions {
    NatsOptions { time_limit: Duration::from_secs(2), ..options }
}

impl Server {
    fn run(&mut self, program: &Path) {
        let (configuration, log) = (self.folder.with_extension("conf"), self.folder.with_extension("log"));
        self.running = Some(nats::run_server(program, &configuration, &log));
    }

    fn signal(&self, signal: Signal) {
        let running = self.running.as_ref().expect("it runs");
        kill_process(Pid::from_child(&running.process), signal).unwrap();
    }
}
