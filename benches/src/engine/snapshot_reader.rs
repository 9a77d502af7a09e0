//! Snapshot reader: the out-edges of one simple edge type, read by a snapshot of ours.

use crate::engine::store::{Edge, Reader};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, TypeId, VertexId};
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::view::{Freeze, NeighborBatch, NeighborCursor};

/// Reads a snapshot, whose vertices are numbered by their ids.
pub struct SnapshotReader<S> {
    snapshot: S,
    edge_type: TypeId,
    batch: NeighborBatch,
}

/// The id of an edge of a simple type.
#[must_use]
pub fn simple_edge((source, target): Edge, edge_type: TypeId) -> EdgeId {
    let [source, target] = [source, target].map(VertexId);
    EdgeId { source, edge_type, target, discriminator: 0 }
}

impl<S: Freeze> SnapshotReader<S> {
    /// Reads the edges of `edge_type`.
    #[must_use]
    pub fn new(snapshot: S, edge_type: TypeId) -> Self {
        Self { snapshot, edge_type, batch: NeighborBatch::default() }
    }
}

impl<S: Freeze> Reader for SnapshotReader<S> {
    fn has(&mut self, edge: Edge) -> Result<bool> {
        let mut found = Vec::with_capacity(1);
        self.snapshot.has_edges(&[simple_edge(edge, self.edge_type)], &mut found)?;
        Ok(found == [true])
    }

    fn neighbors(&mut self, vertex: u32, limit: usize, into: &mut Vec<u32>) -> Result<()> {
        self.batch.clear();
        let (vertices, types) = ([VertexId(vertex)], [self.edge_type]);
        let mut cursor = NeighborCursor::default();
        self.snapshot.neighbors(
            &vertices,
            Some(&types),
            Direction::Out,
            &mut cursor,
            limit,
            &mut self.batch,
        )?;
        into.extend(self.batch.neighbors.iter().map(|neighbor| neighbor.0));
        Ok(())
    }

    fn scan(&mut self, visit: &mut dyn FnMut(u32, &[u32])) -> Result<()> {
        let topology = self.snapshot.freeze(&Projection::all(Direction::Out))?;
        topology.visit(Direction::Out, 0..topology.bound(), &mut PieceBuffer::default(), |source, piece| {
            visit(source, piece.neighbors);
            Visit::Continue
        })
    }
}
