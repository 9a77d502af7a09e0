//! Cluster: what can be measured below its queries: certification, a node that applies the log, and a single store beside both.
//!
//! ```text
//! log_writer    messages as nodes append them, each decided as it is written
//! graph_writer  a graph in such a log: names, rows, vertices, then edges by transactions
//! certify       transactions a second that are decided: by the certifier alone, and as a node does it
//! node          the stores of one node's partitions, which apply a log
//! apply         transactions a second that a node applies; records and bytes that it keeps, beside its share
//! commits       transactions a second of a single store: a figure to compare over time
//! ```
//!
//! The log is a list of messages in memory: no network and no log engine is part of any figure.

mod apply;
mod certify;
mod commits;
mod graph_writer;
mod log_writer;
mod node;

use crate::cluster_plan::ClusterPart;
use crate::edges::distinct;
use crate::engine::store::Edge;
use crate::plan::Work;
use crate::workload::cluster::graph_writer::GraphWriter;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::partition::PartitionCount;

/// Edges a vertex, before parallel ones go.
const DEGREE: u32 = 16;
/// Edges of a transaction that is not measured: its record, with all that it checks and touches, has room in a message.
const LOADED_EDGES: usize = 200;

/// The edges of the plan's graph.
struct Edges {
    /// Those that are there before anything is measured.
    loaded: Vec<Edge>,
    /// Those of the transactions that are measured.
    measured: Vec<Edge>,
}

impl Edges {
    fn of(work: &Work<'_>) -> Result<Self> {
        let mut loaded = distinct(work.plan, DEGREE)?;
        let measured = work.plan.cluster.transactions.min(loaded.len() / 2);
        let measured = loaded.split_off(loaded.len() - measured);
        Ok(Self { loaded, measured })
    }

    fn all(&self) -> impl Iterator<Item = &Edge> {
        self.loaded.iter().chain(&self.measured)
    }
}

/// Measures what is chosen.
///
/// # Errors
/// `corrupt` if a transaction is refused, or a store has other edges than were committed; what the stores say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let (parts, edges) = (work.plan.cluster.parts.clone(), Edges::of(work)?);
    if parts.contains(&ClusterPart::Certify) || parts.contains(&ClusterPart::Apply) {
        let loaded = load(work, &edges)?;
        if parts.contains(&ClusterPart::Certify) {
            certify::measure(work, &loaded, &edges)?;
        }
        if parts.contains(&ClusterPart::Apply) {
            apply::measure(work, &loaded, &edges)?;
        }
    }
    if parts.contains(&ClusterPart::Commits) {
        commits::measure(work, &edges)?;
    }
    work.note(format!(
        "edges: R-MAT, each once, as they are drawn, {} measured behind {} that are there; a simple edge type, both \
         directions kept; vertices lie in the partition of their hash",
        edges.measured.len(),
        edges.loaded.len()
    ));
    Ok(())
}

/// A log with everything but the measured edges.
fn load(work: &Work<'_>, edges: &Edges) -> Result<GraphWriter> {
    let partitions = work.plan.cluster.partitions;
    let partitions = PartitionCount::new(partitions)
        .ok_or_else(|| Error::invalid(format!("no graph has {partitions} partitions")))?;
    let mut writer = GraphWriter::create(partitions, work.plan.vertices())?;
    for edges in edges.loaded.chunks(LOADED_EDGES) {
        writer.insert(edges, &[])?;
    }
    writer.send()?;
    Ok(writer)
}
