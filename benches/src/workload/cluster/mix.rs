//! Mix: the micro-benchmarks as G-Tran has them, by clients of all nodes: rates, times, and why transactions are refused.
//!
//! ```text
//! graphs    R-MAT; drawn like LDBC's network          nodes    1, 2, 4, in this process, on TCP with TLS and on etcd
//! writes    0, 20, 50, 80 % of all transactions       levels   snapshot, serializable
//!
//! beside    a single store in memory, whose transactions do not wait for anything        rate, times
//!           the same, which waits before each commit as long as the cluster takes        what is refused
//!           half writes: the cluster with all clients at one node; without the check ahead of the append      figure 9
//! hot       each transaction reads and sets a number of one of few vertices: many are refused, so that both can be compared
//! ```
//!
//! Source: G-Tran (PVLDB 15, 2022), section 6.1.1 and figure 9. Differs: what G-Tran switches off is reading and validating ahead of a
//! decision; here every transaction that its node would refuse is sent to the log, which refuses it.

use crate::goals::baseline;
use crate::plan::Work;
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::open_nodes::OpenNodes;
use crate::workload::cluster::shape_writer::{self, PlacedBy, Written};
use crate::workload::cluster::{add_values, site_plan};

use crate::workload::lbv::check::check_contents;
use crate::workload::lbv::client::{Client, Workload};
use crate::workload::lbv::graph::Shape;
use crate::workload::lbv::query::WRITES;
use crate::workload::linkbench::home::mean_and_tails;
use evergraph::generate::random::Random;
use evergraph::{Database, Freshness, Isolation, Transaction, TransactionOptions, VertexId};
use evergraph_cluster::transaction::submission::AheadCheck;
use evergraph_graph::error::Result;
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;
use std::thread;
use std::time::{Duration, Instant};

const PURPOSE: u64 = 413;
pub(super) const LEVELS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];
/// Of a hundred transactions.
const WRITES_OF: [u64; 4] = [0, 20, 50, 80];
/// Of the runs with all clients at one node, and of those without the check ahead of the append, as in G-Tran's figure 9.
pub(super) const HALF_WRITES: u64 = 50;
/// Vertices whose number is set again and again, by so many clients.
pub(super) const HOT_VERTICES: usize = 64;
const HOT_LABEL: &str = "Hot";
const HOT_KEY: &str = "number";

/// What one run comes to.
#[derive(Clone, Copy, Debug)]
struct MixRun {
    rate: f64,
    p50: f64,
    p99: f64,
    /// Of a transaction that writes, half take no longer.
    write_p50: f64,
    refused: f64,
    /// Refused by the log, not ahead of it, as [`OpenNodes::refused_by_log`] has it; of nodes alone.
    refused_by_log: [f64; 2],
}

/// A figure of a run.
type FigureOf = fn(&MixRun) -> f64;

/// A cluster with a graph, and those who ask it.
pub(super) struct MixedCluster {
    /// Its nodes.
    pub(super) nodes: OpenNodes,
    /// What was written of the graph.
    pub(super) written: Written,
    /// Those who ask.
    pub(super) clients: Vec<MixClient>,
}

/// A client, and which node it asks.
pub(super) struct MixClient {
    /// The node's number.
    pub(super) node: usize,
    /// Whoever asks it.
    pub(super) client: Client,
}

/// Measures both graphs on each number of nodes.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let (plan, scale) = (work.plan, work.plan.cluster.mix_scale);
    let shapes =
        [("rmat", Shape::of_rmat_with(plan, scale)?), ("network", Shape::of_drawn_network(plan, scale)?)];
    for (name, shape) in &shapes {
        for nodes in plan.cluster.nodes.clone() {
            measure_cluster(work, servers, (*name, shape), usize::from(nodes))?;
        }
        work.note(format!("mix, {name}: {}", shape.title()));
    }
    let (clients, time) = (plan.cluster.mix_clients, run_time(work));
    work.note(format!(
        "mix: {clients} clients, shared out to the nodes, {time:?} a run; nodes are in the process of the harness, on TCP with TLS, their \
         log in three members of etcd that sync; runs follow each other on the same cluster, whose contents are checked at the end; \
         refused: attempts that met a conflict, of all attempts; the single store is in memory, made anew for each run"
    ));
    work.note(
        "mix: beside the single store, which waits before each commit as long as half of the cluster's writing transactions take in \
         all, so that as many are open for as long: what is refused is compared with that, rates and times with one that does not wait",
    );
    Ok(())
}

fn run_time(work: &Work<'_>) -> Duration {
    work.plan.cluster.run_time / 2
}

fn measure_cluster(
    work: &mut Work<'_>,
    servers: &LogServers,
    (graph, shape): (&str, &Shape),
    nodes: usize,
) -> Result<()> {
    let folder = work.folder_for("mix")?;
    let open =
        OpenNodes::create(servers, &folder.path().join("cluster"), site_plan(&work.plan.cluster, nodes))?;
    let mut cluster = MixedCluster::load(open, shape, work)?;
    for (level, isolation) in LEVELS.into_iter().enumerate() {
        for writes in WRITES_OF {
            let mut runs = Vec::new();
            for round in 0..work.plan.rounds {
                let turn = (round * LEVELS.len() + level) as u64;
                let ours = cluster.run(writes, isolation, run_time(work))?;
                let fast = run_store(work, shape, (writes, isolation), None, turn)?;
                let pause = Duration::from_secs_f64(ours.write_p50);
                let slow = run_store(work, shape, (writes, isolation), Some(pause), turn)?;
                runs.push([ours, fast, slow]);
            }
            let name = format!("cluster.mix.{graph}.nodes_{nodes}.writes_{writes}.{}", isolation.name());
            let title =
                format!("{graph}, {nodes} {}, {writes} % writes, {}", node_word(nodes), isolation.name());
            add_mix(work, &name, &title, &runs, writes > 0);
        }
    }
    for isolation in LEVELS {
        add_hot(work, &mut cluster, (graph, nodes), isolation)?;
    }
    let half = |cluster: &mut MixedCluster| -> Result<Vec<Vec<MixRun>>> {
        let runs = |isolation| {
            let runs = (0..work.plan.rounds).map(|_| cluster.run(HALF_WRITES, isolation, run_time(work)));
            runs.collect::<Result<Vec<_>>>()
        };
        LEVELS.into_iter().map(runs).collect()
    };
    let spread = half(&mut cluster)?;
    let at_one = if nodes > 1 {
        cluster.clients.iter_mut().for_each(|client| client.node = 0);
        let runs = half(&mut cluster)?;
        cluster.share_out();
        Some(runs)
    } else {
        None
    };
    let mut cluster = MixedCluster { nodes: cluster.nodes.reopen(AheadCheck::Skipped)?, ..cluster };
    let without_check = half(&mut cluster)?;
    let graph = Titled { name: graph, nodes };
    if let Some(at_one) = at_one {
        let words = "clients at all nodes, beside all at one";
        graph.add_half(work, ("spread", words, baseline::AT_ONE_NODE), &spread, &at_one);
    }
    let words = "with the check ahead of the append, beside without";
    graph.add_half(work, ("check_ahead", words, baseline::WITHOUT), &spread, &without_check);
    cluster.check((LEVELS.len() * HOT_VERTICES) as u64)
}

/// A graph on so many nodes.
struct Titled<'a> {
    name: &'a str,
    nodes: usize,
}

impl Titled<'_> {
    /// Runs of half writes, by level, beside others.
    fn add_half(
        &self,
        work: &mut Work<'_>,
        (what, words, peer): (&str, &str, &'static str),
        ours: &[Vec<MixRun>],
        theirs: &[Vec<MixRun>],
    ) {
        let Self { name: graph, nodes } = self;
        for (isolation, (ours, theirs)) in LEVELS.into_iter().zip(ours.iter().zip(theirs)) {
            let pairs: Vec<[MixRun; 2]> =
                ours.iter().zip(theirs).map(|(ours, theirs)| [*ours, *theirs]).collect();
            let name = format!("cluster.mix.{graph}.nodes_{nodes}.{what}.{}", isolation.name());
            let title = format!(
                "{graph}, {nodes} {}, {HALF_WRITES} % writes, {}, {words}",
                node_word(*nodes),
                isolation.name()
            );
            add_pairs(
                work,
                &name,
                &format!("{title}: transactions"),
                (Unit::PerSecond, peer),
                &pairs,
                |run| run.rate,
            );
            let (p99, refused) = (format!("{name}.p99"), format!("{name}.refused"));
            add_pairs(work, &p99, &format!("{title}: P99"), (Unit::Seconds, peer), &pairs, |run| run.p99);
            add_pairs(work, &refused, &format!("{title}: refused"), (Unit::Share, peer), &pairs, |run| {
                run.refused
            });
        }
    }
}

const fn node_word(nodes: usize) -> &'static str {
    if nodes == 1 { "node" } else { "nodes" }
}

fn add_mix(work: &mut Work<'_>, name: &str, title: &str, runs: &[[MixRun; 3]], has_writes: bool) {
    let fast: Vec<[MixRun; 2]> = runs.iter().map(|[ours, fast, _]| [*ours, *fast]).collect();
    let slow: Vec<[MixRun; 2]> = runs.iter().map(|[ours, _, slow]| [*ours, *slow]).collect();
    let store = |unit| (unit, baseline::ONE_STORE);
    add_pairs(work, name, &format!("{title}: transactions"), store(Unit::PerSecond), &fast, |run| run.rate);
    add_pairs(work, &format!("{name}.p50"), &format!("{title}: P50"), store(Unit::Seconds), &fast, |run| {
        run.p50
    });
    add_pairs(work, &format!("{name}.p99"), &format!("{title}: P99"), store(Unit::Seconds), &fast, |run| {
        run.p99
    });
    if !has_writes {
        return;
    }
    let refused = format!("{name}.refused");
    add_pairs(work, &refused, &format!("{title}: refused"), store(Unit::Share), &slow, |run| run.refused);
    let causes: [(&str, &str, FigureOf); 3] = [
        ("log", "by the log, for a change", |run| run.refused_by_log[0]),
        ("log_other", "by the log, for age or another reason", |run| run.refused_by_log[1]),
        ("ahead", "ahead of it", |run| run.refused - run.refused_by_log[0] - run.refused_by_log[1]),
    ];
    for (cause, words, share) in causes {
        let shares: Vec<f64> = runs.iter().map(|[ours, ..]| share(ours)).collect();
        let heading =
            Heading::new(format!("{refused}.{cause}"), format!("{title}: refused {words}"), Unit::Share);
        work.add(&heading, &shares);
    }
}

/// A figure of ours beside another's; of ours alone where the other is zero and has no ratio.
fn add_pairs(
    work: &mut Work<'_>,
    name: &str,
    title: &str,
    (unit, peer): (Unit, &'static str),
    pairs: &[[MixRun; 2]],
    figure: FigureOf,
) {
    let heading = Heading::new(name, title, unit);
    let values: Vec<[f64; 2]> = pairs.iter().map(|pair| [figure(&pair[0]), figure(&pair[1])]).collect();
    add_values(work, &heading, peer, &values);
}

/// Sets numbers of few vertices, on the cluster and on a single store that waits as long: what is refused.
fn add_hot(
    work: &mut Work<'_>,
    cluster: &mut MixedCluster,
    (graph, nodes): (&str, usize),
    isolation: Isolation,
) -> Result<()> {
    let (clients, time) = (work.plan.cluster.mix_clients, run_time(work));
    let databases = &cluster.nodes.databases;
    let hot = hot_vertices(&databases[0])?;
    let store = Database::in_memory()?;
    let hot_of_store = hot_vertices(&store)?;
    let mut values = Vec::new();
    for round in 0..work.plan.rounds {
        let seed = (work.plan.seed, PURPOSE + 1, round as u64);
        let ours = run_hot(databases, &hot, isolation, (clients, time), Duration::ZERO, seed)?;
        let theirs = run_hot(
            std::slice::from_ref(&store),
            &hot_of_store,
            isolation,
            (clients, time),
            Duration::from_secs_f64(ours.1),
            seed,
        )?;
        values.push([ours.0, theirs.0]);
    }
    let name = format!("cluster.refused.{graph}.nodes_{nodes}.{}", isolation.name());
    let title = format!(
        "refused of {clients} clients at {HOT_VERTICES} vertices, {nodes} {}, {}",
        node_word(nodes),
        isolation.name()
    );
    add_values(work, &Heading::new(name, title, Unit::Share), baseline::ONE_STORE, &values);
    Ok(())
}

/// Vertices whose numbers are set.
pub(super) fn hot_vertices(database: &Database) -> Result<Vec<VertexId>> {
    database.transact(|transaction| {
        (0..HOT_VERTICES).map(|_| transaction.add_vertex(HOT_LABEL, &[(HOT_KEY, 0.into())])).collect()
    })
}

/// Reads the number of a vertex and sets the next one.
pub(super) fn set_next_number(transaction: &mut Transaction, vertex: VertexId) -> Result<()> {
    let number = transaction.get(vertex, HOT_KEY)?.and_then(|number| number.as_i64()).unwrap_or_default();
    transaction.set(vertex, HOT_KEY, number + 1)
}

/// The share of attempts that was refused, and what an attempt takes from its begin to the answer of its commit, on average.
fn run_hot(
    databases: &[Database],
    hot: &[VertexId],
    isolation: Isolation,
    (clients, time): (usize, Duration),
    pause: Duration,
    (seed, purpose, round): (u64, u64, u64),
) -> Result<(f64, f64)> {
    struct HotClient<'d> {
        database: &'d Database,
        random: Random,
        spent: Duration,
    }
    let mut all: Vec<HotClient<'_>> = (0..clients)
        .map(|number| HotClient {
            database: &databases[number % databases.len()],
            random: Random::new(seed, purpose, round * clients as u64 + number as u64),
            spent: Duration::ZERO,
        })
        .collect();
    // A cluster's other nodes have applied them by then.
    databases.iter().for_each(|database| drop(database.snapshot_with(Freshness::Fresh)));
    let run = clients::run(&mut all, time, |client| {
        let vertex = hot[client.random.below(hot.len() as u64) as usize];
        let mut attempts = 0;
        loop {
            attempts += 1;
            let began = Instant::now();
            let options = TransactionOptions::default().isolation(isolation);
            let mut transaction = client.database.begin_with(options);
            set_next_number(&mut transaction, vertex)?;
            thread::sleep(pause);
            let committed = transaction.commit();
            client.spent += began.elapsed();
            match committed {
                Ok(_) => return Ok(attempts),
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
    })?;
    let spent: Duration = all.iter().map(|client| client.spent).sum();
    Ok((run.aborted(), spent.as_secs_f64() / run.attempts.max(1) as f64))
}

impl MixedCluster {
    pub(super) fn load(nodes: OpenNodes, shape: &Shape, work: &Work<'_>) -> Result<Self> {
        let (seed, clients) = (work.plan.seed, work.plan.cluster.mix_clients);
        let written = shape_writer::write(&nodes.databases[0], shape, PlacedBy::Transaction, seed)?;
        let client = |number: usize| MixClient {
            node: number % nodes.databases.len(),
            client: Client::new(number, Random::new(seed, PURPOSE, number as u64)),
        };
        Ok(Self { clients: (0..clients).map(client).collect(), nodes, written })
    }

    /// Each client at the next node.
    fn share_out(&mut self) {
        let nodes = self.nodes.databases.len();
        self.clients.iter_mut().enumerate().for_each(|(number, client)| client.node = number % nodes);
    }

    fn run(&mut self, writes: u64, isolation: Isolation, time: Duration) -> Result<MixRun> {
        let databases = &self.nodes.databases;
        // Every node sees what was written before.
        databases.iter().for_each(|database| drop(database.snapshot_with(Freshness::Fresh)));
        let before = self.nodes.refused_by_log()?;
        let workload = Workload::new(&self.written, 100 - writes, isolation);
        let run = clients::run(&mut self.clients, time, |client| {
            client.client.step(&databases[client.node], &workload)
        })?;
        let after = self.nodes.refused_by_log()?;
        let times = self.clients.iter_mut().flat_map(|client| std::mem::take(&mut client.client.times));
        let run_of = MixRun::of(&run, times.collect());
        let share = |cause: usize| (after[cause] - before[cause]) as f64 / run.attempts.max(1) as f64;
        Ok(MixRun { refused_by_log: [share(0), share(1)], ..run_of })
    }

    /// The contents are what clients were acknowledged, and so many hot vertices.
    ///
    /// # Errors
    /// `corrupt` if they are not.
    pub(super) fn check(&self, hot: u64) -> Result<()> {
        let acknowledged: Vec<_> = self.clients.iter().map(|client| &client.client.acknowledged).collect();
        for database in &self.nodes.databases {
            let snapshot = database.snapshot_with(Freshness::Fresh);
            check_contents(&snapshot, &self.written, &acknowledged, hot)?;
        }
        Ok(())
    }
}

impl MixRun {
    fn of(run: &clients::Run, times: Vec<(u8, f64)>) -> Self {
        let of = |times: &mut Vec<f64>| {
            let [_, p99, _] = mean_and_tails(times);
            [times.get(times.len() / 2).copied().unwrap_or_default(), p99]
        };
        let mut writes =
            times.iter().filter(|(query, _)| WRITES.contains(query)).map(|(_, time)| *time).collect();
        let [write_p50, _] = of(&mut writes);
        let [p50, p99] = of(&mut times.into_iter().map(|(_, time)| time).collect());
        Self { rate: run.rate(), p50, p99, write_p50, refused: run.aborted(), refused_by_log: [0.0; 2] }
    }
}

/// The same mix on a single store in memory, which pauses before each commit.
fn run_store(
    work: &Work<'_>,
    shape: &Shape,
    (writes, isolation): (u64, Isolation),
    pause: Option<Duration>,
    turn: u64,
) -> Result<MixRun> {
    let made = shape.make(work.plan.seed)?;
    let workload = Workload::new(&made.population, 100 - writes, isolation).pausing(pause);
    let random = |number: usize| Random::new(work.plan.seed, PURPOSE + 2 + turn, number as u64);
    let mut all: Vec<Client> =
        (0..work.plan.cluster.mix_clients).map(|number| Client::new(number, random(number))).collect();
    // A store that does not wait drops all of its vertices in a longer run.
    let time = if pause.is_some() { run_time(work) } else { run_time(work) / 5 };
    let run = clients::run(&mut all, time, |client| client.step(&made.database, &workload))?;
    Ok(MixRun::of(&run, all.into_iter().flat_map(|client| client.times).collect()))
}
