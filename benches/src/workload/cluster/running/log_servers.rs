//! Log servers: what keeps the logs of clusters that run: three members of etcd, or three servers of NATS, on this machine.

use crate::cluster_plan::LogEngine;
use crate::workload::cluster::running::etcd_members::EtcdMembers;
use crate::workload::cluster::running::nats_servers::NatsServers;
use crate::{etcd, nats};
use evergraph_cluster::running::log_access::LogAccess;
use evergraph_graph::error::Result;
use std::path::Path;
use std::time::Duration;

/// Servers of either engine; they end when this is dropped.
pub enum LogServers {
    /// Members of etcd.
    Etcd(EtcdMembers),
    /// Servers of NATS.
    Nats(NatsServers),
}

impl LogServers {
    /// Starts servers of `engine`, with data in `folder`. Else why they are left out.
    ///
    /// # Errors
    /// `io` if they do not serve in time.
    pub fn start(engine: LogEngine, folder: &Path) -> Result<std::result::Result<Self, &'static str>> {
        Ok(match engine {
            LogEngine::Etcd => match etcd::program() {
                Some(program) => Ok(Self::Etcd(EtcdMembers::start(program, folder)?)),
                None => Err(etcd::HOW_TO_INSTALL),
            },
            LogEngine::Nats if !cfg!(feature = "nats") => {
                Err("this harness is built without NATS: build it with the feature `nats`")
            }
            LogEngine::Nats => match nats::program() {
                Some(program) => Ok(Self::Nats(NatsServers::start(program, folder)?)),
                None => Err(nats::HOW_TO_INSTALL),
            },
        })
    }

    /// Access to a log on these servers, server `first` first. `time_limit` bounds each request; `None` is the log's default.
    ///
    /// # Errors
    /// None: they are where they were started.
    pub fn access(&self, first: usize, time_limit: Option<Duration>) -> Result<LogAccess> {
        Ok(match self {
            Self::Etcd(etcd) => {
                let mut access = etcd.access(first)?;
                access.time_limit = time_limit;
                access.into()
            }
            Self::Nats(nats) => {
                let mut access = nats.access(first)?;
                access.time_limit = time_limit;
                access.into()
            }
        })
    }

    /// Of which engine they are.
    #[must_use]
    pub fn engine(&self) -> LogEngine {
        match self {
            Self::Etcd(_) => LogEngine::Etcd,
            Self::Nats(_) => LogEngine::Nats,
        }
    }

    /// The servers, for people.
    #[must_use]
    pub fn description(&self) -> &'static str {
        match self {
            Self::Etcd(_) => "three members of etcd",
            Self::Nats(_) => "three servers of NATS",
        }
    }

    /// The name of a figure with a log of theirs. Goals are those of etcd.
    #[must_use]
    pub fn figure(&self, name: &str) -> String {
        match self {
            Self::Etcd(_) => format!("cluster.{name}"),
            Self::Nats(_) => format!("cluster.nats.{name}"),
        }
    }

    /// The title of such a figure.
    #[must_use]
    pub fn title(&self, title: &str) -> String {
        match self {
            Self::Etcd(_) => title.to_owned(),
            Self::Nats(_) => format!("{title}, on {}", self.engine().name()),
        }
    }

    /// How many times longer a run with a loss is: longer than an election takes.
    #[must_use]
    pub fn loss_run_factor(&self) -> u32 {
        match self {
            Self::Etcd(_) => 3,
            Self::Nats(_) => 6,
        }
    }

    /// Bytes of memory and of files, of all servers.
    #[must_use]
    pub fn bytes(&self) -> [u64; 2] {
        match self {
            Self::Etcd(etcd) => etcd.bytes(),
            Self::Nats(nats) => nats.bytes(),
        }
    }

    /// Which server leads the log `key`.
    ///
    /// # Errors
    /// `io` if none does in time.
    pub fn leader(&self, key: &str) -> Result<usize> {
        match self {
            // One leads all that etcd keeps.
            Self::Etcd(etcd) => etcd.leader_now(),
            Self::Nats(nats) => nats.leader_now(key),
        }
    }

    /// Seconds that processors have worked for each server.
    #[must_use]
    pub fn processor_seconds(&self) -> Vec<f64> {
        match self {
            Self::Etcd(etcd) => etcd.processor_seconds(),
            Self::Nats(nats) => nats.processor_seconds(),
        }
    }

    /// Kills the server that leads the log `key`, as a power cut of its machine would. Which one it was.
    ///
    /// # Errors
    /// `io` if none leads.
    pub fn kill_leader(&mut self, key: &str) -> Result<usize> {
        match self {
            // One leads all that etcd keeps.
            Self::Etcd(etcd) => etcd.kill_leader(),
            Self::Nats(nats) => nats.kill_leader(key),
        }
    }

    /// Starts a server that was killed, and waits until it follows.
    ///
    /// # Errors
    /// `io` if it does not in time.
    pub fn start_again(&mut self, at: usize) -> Result<()> {
        match self {
            Self::Etcd(etcd) => etcd.start_again(at),
            Self::Nats(nats) => nats.start_again(at),
        }
    }
}
