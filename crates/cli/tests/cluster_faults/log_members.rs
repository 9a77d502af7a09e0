//! Log members: the processes that keep the log: members of etcd, or servers of NATS JetStream that sync every write. What differs between
//! the two stands here, and nowhere else.
//!
//! ```text
//! listens    the ports of a member
//! reached    those of its proxies, which nodes and the other members are told
//! ```

use crate::cut_network::{CutNetwork, Party};
use crate::etcd;
use crate::nats::{self, ServerPorts};
use crate::skips::skip;
use std::env::{self, VarError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Ports of a member.
pub const PORTS: usize = 3;
/// Settings of JetStream as docs/guide/cluster.md has them, with as much room as etcd has here.
const JETSTREAM: &str = "sync_interval: always, max_file_store: 1GB, max_memory_store: 256MB";

/// What keeps the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogEngine {
    Etcd,
    Nats,
}

/// The members of a log, which lie in a folder.
pub struct LogMembers {
    engine: LogEngine,
    program: PathBuf,
    home: PathBuf,
    listens: Vec<ServerPorts>,
    reached: Vec<ServerPorts>,
}

impl LogEngine {
    /// The one that EVERGRAPH_FAULT_LOG names; etcd if it is not set.
    pub fn chosen() -> Self {
        match env::var("EVERGRAPH_FAULT_LOG").as_deref() {
            Err(VarError::NotPresent) | Ok("etcd") => Self::Etcd,
            Ok("nats") => Self::Nats,
            other => panic!("EVERGRAPH_FAULT_LOG is {other:?}, neither etcd nor nats"),
        }
    }

    /// Its program. Where there is none the test of this thread is skipped; with `CI` set it fails.
    pub fn program_or_skip(self) -> Option<PathBuf> {
        let (program, how_to_install) = match self {
            Self::Etcd => (etcd::program(), etcd::HOW_TO_INSTALL),
            Self::Nats => (nats::program(), nats::HOW_TO_INSTALL),
        };
        if program.is_none() {
            skip(how_to_install);
        }
        program
    }

    /// Within this time everything works again when nothing fails any more. Members of etcd elect a leader within two seconds. Servers of
    /// NATS take up to nine, and do so twice where all of them were lost: for one that leads them, and one that leads the stream.
    pub fn healing_time(self) -> Duration {
        match self {
            Self::Etcd => Duration::from_secs(30),
            Self::Nats => Duration::from_secs(60),
        }
    }

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Nats => "NATS",
        }
    }
}

impl LogMembers {
    /// Members that listen at `ports`, [`PORTS`] each, behind proxies of `network`. Their data and what they write lie in `home`.
    pub fn new(
        (engine, program): (LogEngine, PathBuf),
        home: &Path,
        ports: &[u16],
        network: &mut CutNetwork,
        party: impl Fn(usize) -> Party,
    ) -> Self {
        let listens = ServerPorts::of(ports);
        let proxies = listens.iter().enumerate().map(|(at, own)| ServerPorts {
            clients: network.proxy(party(at), own.clients),
            monitoring: network.proxy(party(at), own.monitoring),
            routes: network.proxy(party(at), own.routes),
        });
        let reached = proxies.collect();
        let members = Self { engine, program, home: home.to_owned(), listens, reached };
        if engine == LogEngine::Nats {
            for (at, own) in members.listens.iter().enumerate() {
                let text =
                    nats::proxied_configuration(at, *own, &members.reached, &members.data(at), JETSTREAM);
                fs::write(members.configuration(at), text).unwrap();
            }
        }
        members
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.listens.len()
    }

    /// What keeps the log.
    pub fn engine(&self) -> LogEngine {
        self.engine
    }

    /// The data of a member.
    pub fn data(&self, at: usize) -> PathBuf {
        self.home.join(format!("m{at}"))
    }

    /// What a member writes.
    pub fn log(&self, at: usize) -> PathBuf {
        self.data(at).with_extension("log")
    }

    fn configuration(&self, at: usize) -> PathBuf {
        self.data(at).with_extension("conf")
    }

    /// Options of `evergraph cluster create` by which nodes find them.
    pub fn create_options(&self) -> Vec<String> {
        let list = |urls: Vec<String>| urls.join(",");
        let mut options = vec!["--log".to_owned(), list(self.urls(0))];
        if self.engine == LogEngine::Nats {
            let monitors = self.reached.iter().map(|ports| format!("http://127.0.0.1:{}", ports.monitoring));
            options.extend(["--log-monitor".to_owned(), list(monitors.collect())]);
        }
        options
    }

    /// The line of node.toml that says where they are, number `first` before the others.
    pub fn setting(&self, first: usize) -> String {
        let key = match self.engine {
            LogEngine::Etcd => "endpoints",
            LogEngine::Nats => "servers",
        };
        let urls: Vec<String> = self.urls(first).iter().map(|url| format!("\"{url}\"")).collect();
        format!("{key} = [{}]", urls.join(", "))
    }

    /// Where clients reach them, number `first` before the others.
    fn urls(&self, first: usize) -> Vec<String> {
        let scheme = match self.engine {
            LogEngine::Etcd => "http",
            LogEngine::Nats => "nats",
        };
        let in_turn = (0..self.count()).map(|turn| self.reached[(first + turn) % self.count()].clients);
        in_turn.map(|port| format!("{scheme}://127.0.0.1:{port}")).collect()
    }

    /// Starts a member.
    pub fn command(&self, at: usize) -> Box<dyn Fn() -> Command + Send> {
        let program = self.program.clone();
        match self.engine {
            LogEngine::Etcd => {
                let flags = self.etcd_flags(at);
                Box::new(move || {
                    let mut command = Command::new(&program);
                    command.args(&flags).env_clear();
                    command
                })
            }
            LogEngine::Nats => {
                let configuration = self.configuration(at);
                Box::new(move || {
                    let mut command = Command::new(&program);
                    command.arg("-c").arg(&configuration);
                    command
                })
            }
        }
    }

    fn etcd_flags(&self, at: usize) -> Vec<String> {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let all = self.reached.iter().enumerate().map(|(at, ports)| format!("m{at}={}", url(ports.routes)));
        let all = all.collect::<Vec<_>>().join(",");
        let (own, reached) = (self.listens[at], self.reached[at]);
        let mut flags =
            etcd::member_flags(&format!("m{at}"), &self.data(at), &url(own.clients), &url(own.routes), &all);
        // Others find it by its proxies; of two flags of a name the last counts.
        flags.push(format!("--advertise-client-urls={}", url(reached.clients)));
        flags.push(format!("--initial-advertise-peer-urls={}", url(reached.routes)));
        flags.push(format!("--listen-metrics-urls={}", url(own.monitoring)));
        flags.extend(etcd::SETTINGS.map(str::to_owned));
        flags
    }

    /// Whether a member serves, as one of a majority.
    pub fn health(&self, at: usize) -> Box<dyn Fn() -> bool + Send> {
        let port = self.listens[at].monitoring;
        match self.engine {
            LogEngine::Etcd => Box::new(move || etcd::is_healthy(port)),
            LogEngine::Nats => Box::new(move || nats::is_healthy(port)),
        }
    }
}
