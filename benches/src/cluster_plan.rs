//! Plan of the part `cluster`: how many transactions the log has, into how many partitions, on how many nodes.

use clap::{Args, ValueEnum};
use std::time::Duration;

/// What is measured of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ClusterPart {
    /// Transactions a second that the certifier decides, alone and as a node does it.
    Certify,
    /// Transactions a second that a node applies to its partitions; what it keeps.
    Apply,
    /// Transactions a second of a single store, at both levels of isolation.
    Commits,
    /// Transactions of one edge on nodes that run, beside the log's own append; a restart.
    Log,
    /// Reads and writes of the micro-benchmarks on nodes that run; refusals beside a single store's.
    Mix,
    /// One to four hops on nodes that run; edges that nodes read.
    Hops,
    /// How long clients wait when a node is lost, or the server that leads the log.
    Loss,
    /// Memory and files of the log's servers while clients commit for a long time.
    Load,
    /// Processor time of the log's servers while clients commit.
    LogCpu,
    /// Refusals that a transaction would be spared if it read what the log has and its snapshot has not.
    PreRead,
    /// Keys that transactions of the micro-benchmarks check and touch, and their bytes in the log.
    Sizes,
    /// LDBC's reads IC1 to IC4 and IS1 to IS4, if --interactive names its folder.
    Snb,
}

/// What keeps the log of nodes that run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum LogEngine {
    /// Etcd.
    Etcd,
    /// NATS JetStream, in a harness with the feature `nats`.
    Nats,
}

impl LogEngine {
    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Nats => "NATS",
        }
    }
}

impl ClusterPart {
    /// Its name, as it is chosen.
    #[must_use]
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether nodes run for it.
    #[must_use]
    pub fn is_of_running(self) -> bool {
        !matches!(self, Self::Certify | Self::Apply | Self::Commits)
    }

    /// Whether what keeps the log is a part of its figures.
    fn is_of_log(self) -> bool {
        matches!(self, Self::Log | Self::Loss | Self::Load | Self::LogCpu)
    }
}

/// What is measured of a cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterPlan {
    /// What of it.
    pub parts: Vec<ClusterPart>,
    /// Partitions of the graph.
    pub partitions: u16,
    /// Copies of each, where there are as many nodes.
    pub copies: usize,
    /// Sizes of clusters, one node of which applies the log; those of mixes.
    pub nodes: Vec<u16>,
    /// Transactions of one edge that are measured; half of the graph's edges at most.
    pub transactions: usize,
    /// Nodes of a cluster that puts one edge a transaction, or loses one of them: three at least.
    pub running_nodes: usize,
    /// Vertices of its graph: a power of two.
    pub vertices: u32,
    /// Numbers of clients that put edges.
    pub clients: Vec<usize>,
    /// How long clients run.
    pub run_time: Duration,
    /// What keeps the log of those parts whose figures depend on it; etcd does of the others.
    pub logs: Vec<LogEngine>,
    /// How long a request to the log's servers may take; the log's default if it is not chosen.
    pub log_time_limit: Option<Duration>,
    /// Vertices of the graphs of mixes and hops, as a power of two.
    pub mix_scale: u32,
    /// Clients of mixes, and of pre-read.
    pub mix_clients: usize,
    /// How long clients load the log.
    pub load_time: Duration,
    /// How many of them there are; those of log-cpu.
    pub load_clients: usize,
}

impl ClusterPlan {
    /// The whole: some ten minutes at scale 18 in memory, and some twenty on etcd.
    #[must_use]
    pub fn full() -> Self {
        Self {
            parts: ClusterPart::value_variants().to_vec(),
            partitions: 64,
            copies: 2,
            nodes: vec![1, 2, 4],
            transactions: 400_000,
            running_nodes: 3,
            vertices: 1 << 14,
            clients: vec![1, 8, 64, 128],
            run_time: Duration::from_secs(3),
            logs: vec![LogEngine::Etcd],
            log_time_limit: None,
            mix_scale: 12,
            mix_clients: 16,
            load_time: Duration::from_mins(1),
            load_clients: 64,
        }
    }

    /// Whether `engine` keeps the log of a part in which nodes run.
    #[must_use]
    pub fn keeps_log(&self, engine: LogEngine, part: ClusterPart) -> bool {
        if part.is_of_log() { self.logs.contains(&engine) } else { engine == LogEngine::Etcd }
    }

    /// A second or two: whether it works, not how fast.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            partitions: 8,
            transactions: 300,
            vertices: 1 << 12,
            clients: vec![1, 4],
            run_time: Duration::from_millis(200),
            mix_scale: 7,
            mix_clients: 4,
            load_time: Duration::from_millis(400),
            load_clients: 4,
            ..Self::full()
        }
    }
}

/// What of the plan may be chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "The part cluster")]
pub struct ClusterArguments {
    /// What is measured of a cluster; all of it by default.
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    cluster_parts: Option<Vec<ClusterPart>>,
    /// Partitions of the graph: 64.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=4096))]
    cluster_partitions: Option<u16>,
    /// Sizes of clusters, one node of which applies the log, and of those that run mixes: 1,2,4.
    #[arg(long, value_delimiter = ',', value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cluster_nodes: Option<Vec<u16>>,
    /// Transactions of one edge that are measured: 400000; half of the graph's edges at most.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    cluster_transactions: Option<u32>,
    /// Numbers of clients that put one edge a transaction: 1,8,64,128.
    #[arg(long, value_delimiter = ',', value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024))]
    cluster_clients: Option<Vec<u32>>,
    /// How long clients of nodes that run take a run, in milliseconds: 3000.
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    cluster_run_ms: Option<u64>,
    /// How long clients load the log, in minutes: 1.
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..=240))]
    cluster_load_minutes: Option<u32>,
    /// What keeps the log in the parts log, log-cpu, loss and load, one after the other: etcd. For nats the harness needs its feature `nats`, and the
    /// program nats-server.
    #[arg(long, value_delimiter = ',', value_name = "ENGINE")]
    cluster_log: Option<Vec<LogEngine>>,
    /// How long a request of a node to the log's servers may take, in milliseconds; the log's default if it is not chosen.
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(500..=60_000))]
    cluster_log_limit_ms: Option<u64>,
    /// Vertices of the graphs of mixes and hops, as a power of two: 12.
    #[arg(long, value_name = "SCALE", value_parser = clap::value_parser!(u32).range(4..=20))]
    cluster_mix_scale: Option<u32>,
}

impl ClusterArguments {
    /// Changes what was chosen.
    pub fn apply_to(&self, plan: &mut ClusterPlan) {
        if let Some(parts) = &self.cluster_parts {
            plan.parts.clone_from(parts);
        }
        if let Some(partitions) = self.cluster_partitions {
            plan.partitions = partitions;
        }
        if let Some(nodes) = &self.cluster_nodes {
            plan.nodes.clone_from(nodes);
        }
        if let Some(transactions) = self.cluster_transactions {
            plan.transactions = transactions as usize;
        }
        if let Some(clients) = &self.cluster_clients {
            plan.clients = clients.iter().map(|count| *count as usize).collect();
        }
        if let Some(milliseconds) = self.cluster_run_ms {
            plan.run_time = Duration::from_millis(milliseconds);
        }
        if let Some(minutes) = self.cluster_load_minutes {
            plan.load_time = Duration::from_mins(u64::from(minutes));
        }
        if let Some(logs) = &self.cluster_log {
            plan.logs.clone_from(logs);
        }
        if let Some(milliseconds) = self.cluster_log_limit_ms {
            plan.log_time_limit = Some(Duration::from_millis(milliseconds));
        }
        if let Some(scale) = self.cluster_mix_scale {
            plan.mix_scale = scale;
        }
    }
}
