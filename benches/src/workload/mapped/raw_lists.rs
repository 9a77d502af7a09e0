//! Raw lists: what kernels read of a store of raw edges, whatever type it is.

use crate::edges::Contents;
use crate::engine::store::Edge;
use evergraph_analysis::lists::Lists;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_measure::kernel::{Answer, Kernel};

/// The lists of a store at one moment, read in place.
pub trait RawLists: Sync {
    /// Runs a kernel of the part on rayon's current pool; searches begin at `source`.
    ///
    /// # Errors
    /// What the algorithm says.
    fn run(&self, kernel: Kernel, source: VertexId) -> Result<Answer>;

    /// Their edges.
    ///
    /// # Errors
    /// Errors of reading.
    fn contents(&self) -> Result<Contents>;
}

impl RawLists for Lists {
    fn run(&self, kernel: Kernel, source: VertexId) -> Result<Answer> {
        kernel.run(self, source)
    }

    fn contents(&self) -> Result<Contents> {
        contents(self)
    }
}

/// The edges of lists.
///
/// # Errors
/// Errors of reading.
pub fn contents(lists: &impl Topology) -> Result<Contents> {
    let mut edges: Vec<Edge> = Vec::new();
    lists.visit(Direction::Out, 0..lists.bound(), &mut PieceBuffer::default(), |source, piece| {
        edges.extend(piece.neighbors.iter().map(|target| (source, *target)));
        Visit::Continue
    })?;
    Ok(Contents::of(&edges))
}
