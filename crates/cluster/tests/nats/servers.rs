//! Servers of NATS of one test's own: made, started, killed, stopped, started again, and removed when the test is over.

use crate::free_ports::free_ports;
use crate::nats::{self, ServerPorts};
use crate::raw_client::{ask_surely, ask_within};
use crate::real_log::log_server::LogServer;
use crate::real_log::test_log::{TestLog, wait_until, waker};
use crate::real_log::{Disruptions, RealLog, wait_for_turn};
use crate::skips::skipped;
use evergraph_cluster::log::nats::nats_log::NatsLog;
use evergraph_cluster::log::nats::options::{NatsOptions, NatsServer, NatsSync};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::sync::MutexGuard;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The stream of the tests.
pub const STREAM: &str = "evergraph-test";

/// How long a question about a stream may take before it is asked again.
const INFO_TIME: Duration = Duration::from_secs(2);

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

/// What JetStream is asked for a stream.
#[derive(Clone, Copy)]
pub enum StreamCall {
    Create,
    Update,
}

/// Servers, which end with this, or with the tests' process however that ends.
pub struct Servers {
    servers: Vec<LogServer>,
    /// Where whoever asks how they are is answered.
    monitoring: Vec<u16>,
    _folder: TempDir,
    _turn: MutexGuard<'static, ()>,
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
        let turn = wait_for_turn();
        let folder = tempfile::Builder::new().prefix("evergraph-nats-").tempdir().unwrap();
        let ports = ServerPorts::of(&free_ports(3 * options.count));
        let servers = ports.iter().enumerate().map(|(at, own)| {
            let data = folder.path().join(format!("m{at}"));
            let sync = options.sync_intervals[at % options.sync_intervals.len()];
            let jetstream = format!("sync_interval: {sync}, max_file_store: 1GB, max_memory_store: 256MB");
            let text = nats::configuration(at, &ports, &data, &jetstream) + options.more + "\n";
            let configuration = configuration_of(&data);
            fs::write(&configuration, text).unwrap();
            let url = format!("{}://127.0.0.1:{}", options.scheme, own.clients);
            let program = program.clone();
            let run = move |log: &Path| nats::run_server(&program, &configuration, log);
            LogServer::new(url, own.clients, data, Box::new(run))
        });
        let servers = servers.collect();
        let monitoring = ports.iter().map(|ports| ports.monitoring).collect();
        let mut servers = Self { servers, monitoring, _folder: folder, _turn: turn };
        servers.start_all();
        Some(servers)
    }

    /// How a log uses all of them, `first` before the others.
    pub fn options(&self, first: &[usize]) -> NatsOptions {
        let urls =
            self.ordered(first).into_iter().map(|at| self.servers[at].url().parse::<NatsServer>().unwrap());
        NatsOptions::new(urls.collect(), STREAM, self.monitored())
    }

    /// That all of them are asked whether they sync.
    pub fn monitored(&self) -> NatsSync {
        let url = |port: &u16| format!("http://127.0.0.1:{port}").parse().unwrap();
        NatsSync::Monitored(self.monitoring.iter().map(url).collect())
    }

    /// Makes the stream of the tests before any log does, or sets it up otherwise: by `settings` in JSON, such as
    /// `"num_replicas":3`.
    pub fn set_stream(&self, call: StreamCall, settings: &str) {
        let config = format!(
            r#"{{"name":"{STREAM}","subjects":["{STREAM}"],"retention":"limits","storage":"file","discard":"new","max_msgs":-1,
                "max_msgs_per_subject":-1,"max_consumers":-1,{settings}}}"#
        );
        let call = match call {
            StreamCall::Create => "CREATE",
            StreamCall::Update => "UPDATE",
        };
        ask_surely(self.port(0), &format!("$JS.API.STREAM.{call}.{STREAM}"), &config);
    }

    /// Which server leads a stream, once one does.
    pub fn leader_of(&self, stream: &str) -> usize {
        let mut found = None;
        let port = self.servers.iter().find(|server| server.process().is_some()).expect("one runs").port();
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

    /// Changes the configuration of a server, which is not running.
    pub fn configure(&self, at: usize, from: &str, to: &str) {
        let file = configuration_of(self.servers[at].folder());
        let text = fs::read_to_string(&file).unwrap();
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{from}");
        fs::write(&file, edited).unwrap();
    }
}

fn configuration_of(data: &Path) -> PathBuf {
    data.with_extension("conf")
}

impl RealLog for Servers {
    type Log = NatsLog;

    /// JetStream has no read that its servers agree on.
    const TELLS_END: bool = false;

    const DISRUPTIONS: Disruptions = Disruptions::of_seconds([2, 9, 12, 16], 20);

    fn start_three() -> Option<Self> {
        let servers = Self::start()?;
        // Whoever connects first makes the stream, which is empty then.
        let mut maker = servers.log();
        maker.read_from(LogPosition(1));
        servers.leader();
        Some(servers)
    }

    /// A stream needs three replicas.
    fn start_fewest() -> Option<Self> {
        Self::start_three()
    }

    fn servers(&self) -> &[LogServer] {
        &self.servers
    }

    fn servers_mut(&mut self) -> &mut [LogServer] {
        &mut self.servers
    }

    fn open(&self, first: &[usize], time_limit: Option<Duration>) -> NatsLog {
        let options = self.options(first);
        let time_limit = time_limit.unwrap_or(options.time_limit);
        NatsLog::open(NatsOptions { time_limit, ..options }, waker()).unwrap()
    }

    fn leader(&self) -> usize {
        self.leader_of(STREAM)
    }

    fn wait(&self, at: usize) {
        wait_until("a server serves", || {
            let output = self.servers[at].output();
            assert!(!output.contains("[FTL]"), "{output}");
            nats::is_healthy(self.monitoring[at])
        });
    }

    fn are_positions_of_new_log(positions: &[LogPosition]) -> bool {
        positions.iter().zip(1..).all(|(position, expected)| position.0 == expected)
    }
}

/// A log with options.
pub fn open(options: NatsOptions) -> TestLog<NatsLog> {
    TestLog::of(NatsLog::open(options, waker()).unwrap())
}
