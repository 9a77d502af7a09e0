//! Plan of the part `cluster`: how many transactions the log has, into how many partitions, on how many nodes.

use clap::{Args, ValueEnum};

/// What is measured of a cluster, below its queries.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ClusterPart {
    /// Transactions a second that the certifier decides, alone and as a node does it.
    Certify,
    /// Transactions a second that a node applies to its partitions; what it keeps.
    Apply,
    /// Transactions a second of a single store, at both levels of isolation.
    Commits,
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
    /// Sizes of clusters, one node of which applies the log.
    pub nodes: Vec<u16>,
    /// Transactions of one edge that are measured; half of the graph's edges at most.
    pub transactions: usize,
}

impl ClusterPlan {
    /// The whole: some ten minutes at scale 18.
    #[must_use]
    pub fn full() -> Self {
        Self {
            parts: ClusterPart::value_variants().to_vec(),
            partitions: 64,
            copies: 2,
            nodes: vec![1, 2, 4],
            transactions: 400_000,
        }
    }

    /// A second or two: whether it works, not how fast.
    #[must_use]
    pub fn smoke() -> Self {
        Self { partitions: 8, transactions: 300, ..Self::full() }
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
    /// Sizes of clusters, one node of which applies the log: 1,2,4.
    #[arg(long, value_delimiter = ',', value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cluster_nodes: Option<Vec<u16>>,
    /// Transactions of one edge that are measured: 400000; half of the graph's edges at most.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    cluster_transactions: Option<u32>,
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
    }
}
