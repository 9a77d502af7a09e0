//! Plan: how much is measured, and what every workload is given.

use crate::cluster_plan::ClusterPlan;
use crate::disk_plan::DiskPlan;
use crate::graph_file::FileGraph;
use crate::mapped_plan::MappedPlan;
use crate::race::Race;
use crate::replica_plan::ReplicaPlan;
use crate::results::{Heading, Results};
use crate::server_plan::ServerPlan;
use clap::ValueEnum;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A part of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Part {
    /// Inserts and deletions that are not synced.
    Writes,
    /// Durable commits beside the bare disk.
    Durable,
    /// Look-ups, lists, scans and PageRank by engine.
    Reads,
    /// Algorithms on live snapshots beside a static array.
    Live,
    /// Memory, disk, restart, checkpoints, a held snapshot.
    Storage,
    /// LinkBench's mixes.
    Linkbench,
    /// Analysis in place beside export, load and run.
    InPlace,
    /// One to four properties, as columns beside rows.
    Properties,
    /// The same beside records and arrays of this process.
    Layouts,
    /// Kernels on a static array beside GAPBS.
    Static,
    /// What neighbours in fewer bits would save and cost.
    PackedLists,
    /// Traversals in Gremlin beside loops by hand.
    Queries,
    /// Look-ups by value in Gremlin, with indexes and without.
    LookUps,
    /// LDBC's short and complex reads in Gremlin, with indexes and without.
    Interactive,
    /// Lissandrini, Brugnara and Velegrakis' micro-benchmarks in Gremlin, by clients.
    Lbv,
    /// Inserts and loads of a graph of several times the memory, beside stores with the same limit.
    DiskWrites,
    /// Questions about such a graph: time, and pages read.
    DiskReads,
    /// Kernels on such a graph, and in warm cache.
    DiskKernels,
    /// What filters, T, runs in L0, stamps, transactions and the memory graph are worth.
    DiskAblations,
    /// LinkBench's mixes on a network of several times the memory; the newest edges of hubs.
    DiskLinkbench,
    /// `evergraph serve` beside other servers.
    Server,
    /// A database that follows PostgreSQL, beside a reader that only decodes; if it is chosen.
    Replica,
    /// Stores of raw edges in mapped files, beside a static array; if it is chosen.
    Mapped,
    /// The mapped engine beside the memory engine and a static array; if it is chosen.
    MappedEngine,
    /// What a cluster does below its queries, beside a single store; if it is chosen.
    Cluster,
}

/// How much is measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Graphs have 2^scale vertices (R-MAT).
    pub scale: u32,
    /// That of the graph on which kernels run beside GAPBS.
    pub kernels_scale: u32,
    /// What stands in place of R-MAT, in parts that need edges only.
    pub file_graph: Option<Arc<FileGraph>>,
    /// Runs of everything.
    pub rounds: usize,
    /// Transactions of one edge in a run.
    pub commits: usize,
    /// Transactions of 1,000 edges in a run.
    pub batches: usize,
    /// How long a run of clients takes.
    pub run_time: Duration,
    /// Questions in a run of look-ups or lists.
    pub questions: usize,
    /// Nodes of the social network.
    pub nodes: u32,
    /// Times a kernel is run on 1 thread and on 2.
    pub threads: Vec<usize>,
    /// LinkBench's measured distributions, if they are at hand.
    pub distributions: Option<PathBuf>,
    /// The Grateful Dead's songs as TinkerPop has them, if they are at hand.
    pub walks: Option<PathBuf>,
    /// The folder of LDBC's interactive workload, if it is at hand: its graph and its parameters.
    pub interactive: Option<PathBuf>,
    /// The folder of GAPBS' built programs, if there is one.
    pub gapbs: Option<PathBuf>,
    /// What is measured of the disk engine.
    pub disk: DiskPlan,
    /// What is measured of a server.
    pub server: ServerPlan,
    /// What is measured of a replica.
    pub replica: ReplicaPlan,
    /// What is measured of stores of raw edges in mapped files.
    pub mapped: MappedPlan,
    /// What is measured of a cluster.
    pub cluster: ClusterPlan,
    /// What everything random follows from.
    pub seed: u64,
}

impl Plan {
    /// The whole: some twenty minutes at scale 18.
    #[must_use]
    pub fn full(scale: u32) -> Self {
        Self {
            scale,
            kernels_scale: scale + 2,
            file_graph: None,
            rounds: 5,
            commits: 50_000,
            batches: 200,
            run_time: Duration::from_millis(500),
            questions: 200_000,
            nodes: 200_000,
            threads: vec![1, 2],
            distributions: None,
            walks: None,
            interactive: None,
            gapbs: None,
            disk: DiskPlan::full(),
            server: ServerPlan::full(),
            replica: ReplicaPlan::full(),
            mapped: MappedPlan::full(),
            cluster: ClusterPlan::full(),
            seed: 1,
        }
    }

    /// Everything once on a small graph: whether it works, not how fast.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            kernels_scale: 10,
            rounds: 1,
            commits: 300,
            batches: 3,
            run_time: Duration::from_millis(10),
            questions: 2_000,
            nodes: 2_000,
            disk: DiskPlan::smoke(),
            server: ServerPlan::smoke(),
            replica: ReplicaPlan::smoke(),
            mapped: MappedPlan::smoke(),
            cluster: ClusterPlan::smoke(),
            ..Self::full(11)
        }
    }

    /// Its vertices.
    #[must_use]
    pub fn vertices(&self) -> u32 {
        self.file_graph.as_ref().map_or(1 << self.scale, |graph| graph.vertices)
    }
}

/// What every workload is given.
pub struct Work<'a> {
    /// How much to measure.
    pub plan: &'a Plan,
    /// Where stores go.
    pub folder: &'a Path,
    /// What was measured so far.
    pub results: &'a mut Results,
    /// The heading of what is measured now.
    pub section: &'a str,
}

impl Work<'_> {
    /// Keeps the figures of a race, and tells them.
    pub fn add_race(&mut self, heading: &Heading, race: &Race) {
        let before = self.results.entries.len();
        self.results.add_race(self.section, &self.of_graph(heading), race);
        self.tell(before);
    }

    /// Keeps a figure of ours, and tells it.
    pub fn add(&mut self, heading: &Heading, samples: &[f64]) {
        let before = self.results.entries.len();
        self.results.add(self.section, &self.of_graph(heading), samples);
        self.tell(before);
    }

    /// Keeps what one must know to read the figures.
    pub fn note(&mut self, note: impl Into<String>) {
        self.results.note(self.section, note);
    }

    /// The same, with the name of a graph of files behind the figure's: goals of beginnings hold for it too.
    fn of_graph(&self, heading: &Heading) -> Heading {
        let mut heading = heading.clone();
        if let Some(graph) = &self.plan.file_graph {
            heading.name = format!("{}.{}", heading.name, graph.name);
        }
        heading
    }

    fn tell(&self, first: usize) {
        for entry in &self.results.entries[first..] {
            let ours = entry.unit.show(entry.ours.median);
            match (&entry.peer, entry.theirs, entry.ratio) {
                (Some(peer), Some(theirs), Some(ratio)) => eprintln!(
                    "{}: {ours}, {peer} {}, ratio {:.3}",
                    entry.name,
                    entry.unit.show(theirs.median),
                    ratio.median
                ),
                _ => eprintln!("{}: {ours}", entry.name),
            }
        }
    }

    /// A new folder, whose name begins with `name`; it is removed, with all that is in it, when it is dropped.
    ///
    /// # Errors
    /// `io`.
    pub fn folder_for(&self, name: &str) -> Result<TempDir> {
        let folder = tempfile::Builder::new().prefix(name).tempdir_in(self.folder);
        folder.map_err(|error| {
            Error::new(ErrorKind::Io, format!("make a folder in {}: {error}", self.folder.display()))
        })
    }

    /// A folder of its own, for `name`.
    #[must_use]
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// What a store has that differs from what it was given.
#[must_use]
pub fn wrong(who: &str, what: &str, found: impl std::fmt::Debug, expected: impl std::fmt::Debug) -> Error {
    let text = format!("{who} gives another answer, {what}: {found:?}, not {expected:?}");
    Error::new(ErrorKind::Corrupt, text)
}

/// Fails unless `found` is `expected`.
///
/// # Errors
/// `corrupt`, naming who was wrong about what.
pub fn expect<T: PartialEq + std::fmt::Debug>(who: &str, what: &str, found: T, expected: T) -> Result<()> {
    if found == expected { Ok(()) } else { Err(wrong(who, what, found, expected)) }
}
