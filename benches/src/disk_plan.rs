//! Plan of the disk engine's parts: which graph, how much memory, which stores, and what runs on them.

use crate::ablation_plan::{AblationArguments, AblationPlan};
use crate::workload::disk::kernel::Kernel;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A store that takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize, Deserialize)]
pub enum DiskStore {
    /// Ours, within the limit.
    DiskEngine,
    /// Ours, with all the memory that it wants.
    MemoryEngine,
    /// RocksDB, within the limit.
    #[cfg(feature = "rocksdb")]
    Rocksdb,
    /// fjall, with cache and page cache within the limit.
    Fjall,
    /// LMDB, whose memory is the page cache, within the limit.
    Lmdb,
}

impl DiskStore {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiskEngine => "disk engine",
            Self::MemoryEngine => "memory engine",
            #[cfg(feature = "rocksdb")]
            Self::Rocksdb => "rocksdb",
            Self::Fjall => "fjall",
            Self::Lmdb => "lmdb",
        }
    }

    /// Whether it reads through the system's cache, so that only the system can limit what it takes: it then works in a
    /// process of its own (`workload/disk/helper.rs`).
    #[must_use]
    pub const fn is_limited_by_system(self) -> bool {
        matches!(self, Self::Fjall | Self::Lmdb)
    }
}

/// How much is measured of the disk engine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DiskPlan {
    /// The graph has 2^scale vertices (R-MAT).
    pub scale: u32,
    /// Edges a vertex before parallel ones go.
    pub degree: u32,
    /// The memory that stores have, in bytes.
    pub limit_bytes: u64,
    /// Runs of everything: each takes minutes.
    pub rounds: usize,
    /// How long inserts of one kind go on, unless the edges are used up before.
    pub insert_time: Duration,
    /// Questions of each kind about single items.
    pub questions: usize,
    /// Those that take part, besides the disk engine, which always does.
    pub peers: Vec<DiskStore>,
    /// What runs beyond memory.
    pub kernels: Vec<Kernel>,
    /// Edges that commits add to the graph that kernels read, of a hundred.
    pub fresh_percent: u64,
    /// A run of a kernel ends after this, as one that is not known.
    pub kernel_time: Duration,
    /// The graph in warm cache, on which every kernel runs, has 2^warm_scale vertices.
    pub warm_scale: u32,
    /// What is chosen otherwise or left out, to see what it is worth.
    pub ablations: AblationPlan,
    /// Nodes of the social network.
    pub nodes: u32,
    /// LinkBench's measured distributions, if they are at hand.
    pub distributions: Option<PathBuf>,
    /// Edges of a hub of which the newest are asked for.
    pub hub_edges: u32,
}

impl DiskPlan {
    /// Files of four times 64 MiB, and all stores.
    #[must_use]
    pub fn full() -> Self {
        let peers =
            DiskStore::value_variants().iter().copied().filter(|store| *store != DiskStore::DiskEngine);
        Self {
            scale: 21,
            degree: 32,
            limit_bytes: 64 << 20,
            rounds: 1,
            insert_time: Duration::from_secs(10),
            questions: 1000,
            peers: peers.collect(),
            kernels: vec![
                Kernel::Scan,
                Kernel::WeightedScan,
                Kernel::PageRank,
                Kernel::Bfs,
                Kernel::Sssp,
                Kernel::Wcc,
            ],
            fresh_percent: 0,
            kernel_time: Duration::from_secs(120),
            warm_scale: 16,
            ablations: AblationPlan::full(),
            nodes: 1_200_000,
            distributions: None,
            hub_edges: 100_000,
        }
    }

    /// Everything on small graphs.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            scale: 12,
            insert_time: Duration::from_millis(50),
            questions: 40,
            warm_scale: 9,
            fresh_percent: 5,
            ablations: AblationPlan::smoke(),
            nodes: 2000,
            hub_edges: 500,
            ..Self::full()
        }
    }

    /// All stores, the disk engine first.
    #[must_use]
    pub fn stores(&self) -> Vec<DiskStore> {
        [DiskStore::DiskEngine].into_iter().chain(self.peers.iter().copied()).collect()
    }

    /// The graph's vertices.
    #[must_use]
    pub fn vertices(&self) -> u32 {
        1 << self.scale
    }
}

/// What of the plan may be chosen.
#[derive(Args, Debug)]
#[command(
    next_help_heading = "The disk engine: parts disk-writes, disk-reads, disk-kernels, disk-ablations, disk-linkbench"
)]
pub struct DiskArguments {
    /// The graph has 2^SCALE vertices: 21.
    #[arg(long, value_name = "SCALE")]
    disk_scale: Option<u32>,
    /// Edges a vertex before parallel ones go: 32.
    #[arg(long, value_name = "EDGES")]
    disk_degree: Option<u32>,
    /// The memory that stores have: 64 MiB.
    #[arg(long, value_name = "MIB")]
    disk_limit: Option<u64>,
    /// Runs of everything: 1.
    #[arg(long, value_name = "ROUNDS")]
    disk_rounds: Option<usize>,
    /// How long inserts of one kind go on at most: 10.
    #[arg(long, value_name = "SECONDS")]
    disk_seconds: Option<u64>,
    /// Questions of each kind about single items: 1000.
    #[arg(long, value_name = "COUNT")]
    disk_questions: Option<usize>,
    /// Stores beside the disk engine: all.
    #[arg(long, value_delimiter = ',', value_name = "STORE")]
    disk_peers: Option<Vec<DiskStore>>,
    /// Kernels beyond memory: scan,weighted-scan,page-rank,bfs,sssp,wcc.
    #[arg(long, value_delimiter = ',', value_name = "KERNEL")]
    disk_kernels: Option<Vec<Kernel>>,
    /// Edges that commits add to the graph that kernels read, of a hundred: 0.
    #[arg(long, value_name = "PERCENT")]
    disk_fresh: Option<u64>,
    /// A run of a kernel ends after this, as one that is not known: 120.
    #[arg(long, value_name = "SECONDS")]
    disk_kernel_time: Option<u64>,
    /// The graph in warm cache, on which every kernel runs, has 2^SCALE vertices: 16. 0 leaves it out.
    #[arg(long, value_name = "SCALE")]
    disk_warm: Option<u32>,
    /// Nodes of LinkBench's network: 1,200,000.
    #[arg(long, value_name = "NODES")]
    disk_nodes: Option<u32>,
    #[command(flatten)]
    ablations: AblationArguments,
}

impl DiskArguments {
    /// Changes what was chosen.
    pub fn apply_to(&self, plan: &mut DiskPlan) {
        let set = |from: Option<u32>, to: &mut u32| *to = from.unwrap_or(*to);
        set(self.disk_scale, &mut plan.scale);
        set(self.disk_degree, &mut plan.degree);
        set(self.disk_warm, &mut plan.warm_scale);
        set(self.disk_nodes, &mut plan.nodes);
        self.ablations.apply_to(&mut plan.ablations);
        plan.limit_bytes = self.disk_limit.map_or(plan.limit_bytes, |mebibytes| mebibytes << 20);
        plan.rounds = self.disk_rounds.unwrap_or(plan.rounds).max(1);
        plan.insert_time = self.disk_seconds.map_or(plan.insert_time, Duration::from_secs);
        plan.kernel_time = self.disk_kernel_time.map_or(plan.kernel_time, Duration::from_secs);
        plan.questions = self.disk_questions.unwrap_or(plan.questions).max(2);
        plan.fresh_percent = self.disk_fresh.unwrap_or(plan.fresh_percent).min(100);
        if let Some(peers) = &self.disk_peers {
            plan.peers = peers.iter().copied().filter(|store| *store != DiskStore::DiskEngine).collect();
        }
        if let Some(kernels) = &self.disk_kernels {
            plan.kernels.clone_from(kernels);
        }
    }
}
