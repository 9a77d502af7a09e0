//! Edge parts: deletes a vertex in several transactions if it has more edges than one may change.
//!
//! ```text
//! transaction 1   deletes 100,000 edges of v
//! transaction 2   deletes 100,000 edges of v      others see v with what is left, and may add more
//! ...
//! the last one    deletes the rest, and v
//! ```

use crate::engine::Engine;
use crate::transaction::describe;
use crate::transaction::handle::{ITEM_BYTES, Transaction};
use crate::transaction::writes::WRITES_MAX;
use evergraph_graph::count::Count;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::view::{NeighborBatch, NeighborCursor};

/// Edges of a part: commits of so many take some tenths of a second, and let others in between.
const PART: usize = 100_000;

impl<E: Engine> Transaction<E> {
    /// How many edges this transaction may delete as one part, and the vertex with them: at least one.
    pub(crate) fn part_of_edges(&self) -> usize {
        let bytes = self.write_bytes_left() / ITEM_BYTES as u64;
        let items = WRITES_MAX.saturating_sub(self.writes.len()) as u64;
        // Deleting the vertex counts its edges a second time.
        usize::try_from(bytes.min(items) / 2).unwrap_or(PART).saturating_sub(1).clamp(1, PART)
    }

    /// The first `limit` edges of `vertex`, own writes included: a self loop once.
    pub(super) fn first_edges(&self, vertex: VertexId, limit: usize) -> Result<Vec<EdgeId>> {
        let (mut edges, mut batch) = (Vec::new(), NeighborBatch::default());
        for direction in Direction::Both.sides() {
            let mut cursor = NeighborCursor::default();
            while !cursor.done && edges.len() < limit {
                batch.clear();
                let room = limit - edges.len();
                self.reader().expand(&[vertex], None, *direction, &mut cursor, room, &mut batch)?;
                let is_met = |edge: &EdgeId| *direction == Direction::In && edge.source == vertex;
                edges.extend(batch.edges.iter().filter(|edge| !is_met(edge)));
            }
        }
        Ok(edges)
    }

    /// Refuses to delete a vertex with `count` edges if these are too many, or too late; else the bytes that they
    /// count.
    pub(super) fn check_room_for_edges(&mut self, vertex: VertexId, count: usize) -> Result<u64> {
        self.check_time()?;
        self.check_room(1 + count, 0).map_err(|error| {
            let name = describe::vertex(&self.session().view(), self.schema.current(), vertex);
            let text = format!(
                "{name} has {} edges, too many for one transaction ({error}). Delete it in parts: by \
                 delete_vertex_in_parts of the database, or in Gremlin by bothE().limit({PART}).drop() on \
                 it until it has no edges, and then drop()",
                Count(count as u64)
            );
            Error::new(ErrorKind::Limit, text).because(error)
        })
    }
}
