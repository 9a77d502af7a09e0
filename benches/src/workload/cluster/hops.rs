//! Hops: one to four hops from a vertex on a cluster, by stages that travel, beside the remote view, and beside a single store with
//! the same graph; of three hops what goes over the network.
//!
//! ```text
//! travel        each node takes the steps of its own vertices, rows go from node to node
//! remote view   `g.with('travel', false)`: the node that is asked takes all steps, and asks the others for lists
//! one store     the same query without a cluster
//! ```
//!
//! Source: G-Tran (PVLDB 15, 2022), query (1) and table 4. Differs: the number of paths is the answer, which must be the single store's.

use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::open_nodes::OpenNodes;
use crate::workload::cluster::shape_writer::{self, PlacedBy};
use crate::workload::cluster::{add_values, edges_read, site_plan};
use crate::workload::lbv::graph::Shape;
use crate::workload::queries::{ROWS, limits};
use evergraph::generate::random::Random;
use evergraph::{Database, Freshness};
use evergraph_graph::error::Result;
use evergraph_measure::figure::{Unit, median_and_spread};
use std::time::Instant;

const OURS: &str = "evergraph";
const PURPOSE: u64 = 416;
/// Hops of table 4.
const HOPS: usize = 4;
/// Vertices from which a round begins.
const STARTS: usize = 8;
/// Hops whose bytes, messages and edges are counted.
pub(super) const COUNTED_HOPS: usize = 3;
/// Ways to an answer: how the query begins, and on whose graph.
const WAYS: [(&str, Asked); 3] =
    [("g", Asked::Cluster), ("g.with('travel', false)", Asked::Cluster), ("g", Asked::Store)];

/// Whose graph a query is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The cluster's, at its first node.
    Cluster,
    /// The single store's.
    Store,
}

/// Both with the same graph.
struct Graphs<'a> {
    name: &'a str,
    cluster: OpenNodes,
    store: Database,
}

/// Measures both graphs on the largest cluster of the plan.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let scale = work.plan.cluster.mix_scale;
    let nodes = usize::from(work.plan.cluster.nodes.iter().copied().max().unwrap_or(1));
    let shapes = [
        ("rmat", Shape::of_rmat_with(work.plan, scale)?),
        ("network", Shape::of_drawn_network(work.plan, scale)?),
    ];
    for (name, shape) in &shapes {
        let folder = work.folder_for("hops")?;
        let plan = site_plan(&work.plan.cluster, nodes);
        let cluster = OpenNodes::create(servers, &folder.path().join("cluster"), plan)?;
        let graphs = Graphs { name, cluster, store: Database::in_memory()? };
        for database in [&graphs.cluster.databases[0], &graphs.store] {
            shape_writer::write(database, shape, PlacedBy::Transaction, work.plan.seed)?;
        }
        graphs.cluster.databases.iter().for_each(|database| drop(database.snapshot_with(Freshness::Fresh)));
        let starts = starts(shape, work.plan.seed);
        for hops in 1..=HOPS {
            hop(work, &graphs, hops, &paths(shape, hops), &starts)?;
        }
        work.note(format!("hops, {name}: {}", shape.title()));
        drop(graphs);
        edges_read::measure(work, servers, name, shape)?;
    }
    work.note(format!(
        "hops: {nodes} nodes in the process of the harness, two copies of each partition; from {STARTS} vertices in turn, each time at \
         the first node; the median of these; the single store is in memory; every count is compared; ours are stages that travel, \
         messages and bytes those of all nodes without heartbeats, bytes with all that frames have, before TLS"
    ));
    Ok(())
}

/// From which vertices of a graph queries begin, by their `uid`.
fn starts(shape: &Shape, seed: u64) -> Vec<i64> {
    let (_, vertices) = &shape.labels[0];
    let mut random = Random::new(seed, PURPOSE, 0);
    (0..STARTS).map(|_| random.below(u64::from(*vertices)) as i64).collect()
}

/// The paths of so many hops from `start`, counted; without what a query begins with.
fn paths(shape: &Shape, hops: usize) -> String {
    let (label, _) = &shape.labels[0];
    format!(".V().has('{label}', 'uid', start){}.count()", ".both()".repeat(hops))
}

fn hop(work: &mut Work<'_>, graphs: &Graphs<'_>, hops: usize, query: &str, starts: &[i64]) -> Result<()> {
    let mut times = Race::new([OURS, baseline::REMOTE_VIEW, baseline::ONE_STORE]);
    let mut traffic = [Vec::new(), Vec::new()];
    for round in 0..work.plan.rounds {
        let mut medians = [0.0; WAYS.len()];
        let mut carried = [[0.0; WAYS.len()]; 2];
        let mut counts: Vec<Option<i64>> = vec![None; starts.len()];
        for place in order(round, WAYS.len()) {
            let (begin, asked) = WAYS[place];
            let database = if asked == Asked::Cluster { &graphs.cluster.databases[0] } else { &graphs.store };
            let text = format!("{begin}{query}");
            let before = graphs.cluster.sent()?;
            let mut spent = Vec::new();
            for (start, count) in starts.iter().zip(&mut counts) {
                let began = Instant::now();
                let found =
                    database.gremlin(&text).bind("start", *start).limits(limits(ROWS)).one::<i64>()?;
                spent.push(began.elapsed().as_secs_f64());
                expect(OURS, &format!("{text} from {start}"), found, *count.get_or_insert(found))?;
            }
            let after = graphs.cluster.sent()?;
            medians[place] = median_and_spread(&spent).0;
            carried[0][place] = (after.frames - before.frames) as f64 / starts.len() as f64;
            carried[1][place] = (after.bytes - before.bytes) as f64 / starts.len() as f64;
        }
        times.note(&medians);
        for (values, [ours, view, _]) in traffic.iter_mut().zip(carried) {
            values.push([ours, view]);
        }
    }
    let Graphs { name, .. } = graphs;
    let title = format!("{name}, the paths of {hops} hops, counted");
    work.add_race(
        &Heading::new(format!("cluster.hops_{hops}.time.{name}"), title.clone(), Unit::Seconds),
        &times,
    );
    if hops == COUNTED_HOPS {
        let figures = [("messages", Unit::Number), ("bytes", Unit::Bytes)];
        for ((what, unit), values) in figures.into_iter().zip(&traffic) {
            let heading =
                Heading::new(format!("cluster.hops_{hops}.{what}.{name}"), format!("{title}: {what}"), unit);
            add_values(work, &heading, baseline::REMOTE_VIEW, values);
        }
    }
    Ok(())
}
