//! Edges read: how many edges of adjacency lists the busiest node of a cluster reads for three hops from all vertices, beside its
//! share of what a cluster of one node reads for them.
//!
//! ```text
//! one node     E edges                        the most of any node, beside E/N
//! N nodes      e1 + e2 + ... + eN = E         rows at one vertex are merged, so that each list is read once a hop, at one node
//! ```
//!
//! Vertices are placed by the hash of a unique value. The last hop is counted by degrees, which read no list.

use crate::goals::baseline;
use crate::plan::{Work, expect};
use crate::race::Race;
use crate::results::Heading;
use crate::workload::cluster::hops::COUNTED_HOPS;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::open_nodes::OpenNodes;
use crate::workload::cluster::shape_writer::{self, PlacedBy};
use crate::workload::cluster::site_plan;
use crate::workload::lbv::graph::Shape;
use crate::workload::queries::{ROWS, limits};
use evergraph::Freshness;
use evergraph_graph::error::{Error, Result};
use evergraph_measure::figure::Unit;

const OURS: &str = "evergraph";

/// What comes of the query.
struct QueryReads {
    paths: i64,
    /// Edges that each node has read.
    edges: Vec<u64>,
}

/// Measures each size of a cluster that the plan has beside a cluster of one node.
///
/// # Errors
/// `corrupt` if clusters count other paths, or read other edges in all; what nodes say.
pub fn measure(work: &mut Work<'_>, servers: &LogServers, name: &str, shape: &Shape) -> Result<()> {
    let mut sizes: Vec<usize> = work.plan.cluster.nodes.iter().map(|nodes| usize::from(*nodes)).collect();
    sizes.retain(|nodes| *nodes > 1);
    if sizes.is_empty() {
        return Ok(());
    }
    let one_node = reads(work, servers, 1, shape)?;
    for nodes in sizes {
        let of_cluster = reads(work, servers, nodes, shape)?;
        let all: u64 = of_cluster.edges.iter().sum();
        let what = format!("paths and edges read in all by {nodes} nodes");
        expect(OURS, &what, (of_cluster.paths, all), (one_node.paths, one_node.edges[0]))?;
        let busiest = of_cluster.edges.iter().max().copied().unwrap_or_default();
        let share = all as f64 / nodes as f64;
        if busiest == 0 {
            return Err(Error::invalid("the graph has no edges: choose a larger one"));
        }
        let title =
            format!("{name}, {COUNTED_HOPS} hops from all: edges that the busiest of {nodes} nodes reads");
        let figure = format!("cluster.hops_{COUNTED_HOPS}.edges.nodes_{nodes}.{name}");
        let mut race = Race::new([OURS, baseline::SHARE]);
        race.note(&[busiest as f64, share]);
        work.add_race(&Heading::new(figure, title, Unit::Number), &race);
    }
    work.note(format!(
        "edges, {name}: of {COUNTED_HOPS} hops from all vertices; its share: 1/N of what a cluster of one node reads, which N \
         nodes read together, too; vertices are placed by the hash of a unique value; degrees, by which the last hop is counted, \
         read no edges"
    ));
    Ok(())
}

/// Runs the query on a cluster of so many nodes with the graph.
fn reads(work: &Work<'_>, servers: &LogServers, nodes: usize, shape: &Shape) -> Result<QueryReads> {
    let folder = work.folder_for("edges-read")?;
    let cluster =
        OpenNodes::create(servers, &folder.path().join("cluster"), site_plan(&work.plan.cluster, nodes))?;
    let database = &cluster.databases[0];
    shape_writer::write(database, shape, PlacedBy::Value, work.plan.seed)?;
    cluster.databases.iter().for_each(|database| drop(database.snapshot_with(Freshness::Fresh)));
    let before = cluster.edges_read()?;
    let text = format!("g.V(){}.count()", ".both()".repeat(COUNTED_HOPS));
    let paths = database.gremlin(&text).limits(limits(ROWS)).one::<i64>()?;
    let edges = cluster.edges_read()?.iter().zip(&before).map(|(after, before)| after - before).collect();
    Ok(QueryReads { paths, edges })
}
