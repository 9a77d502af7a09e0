//! Shared list: the neighbours of one segment as stored in memory, for callers that take them in pieces.
//!
//! ```text
//! nothing is fresh   neighbors is the body's own array: no copy, and it lives as long as somebody holds it
//! something is       neighbors is a copy, each row with what is fresh, sorted
//! ```
//!
//! Concurrency: a body never changes; the engine may replace it, and then this holds the last share of it.

use crate::edge_body::EdgeBody;
use crate::frozen::frozen_graph::FrozenGraph;
use crate::frozen::frozen_list::FrozenList;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, VertexId};
use evergraph_graph::topology::Visit;
use std::sync::Arc;

/// The lists of those vertices of one group that have edges in one segment.
pub struct SharedList {
    vertices: Vec<VertexId>,
    /// Where the list of each vertex ends.
    ends: Vec<u32>,
    neighbors: Neighbors,
}

enum Neighbors {
    Body(Arc<EdgeBody>),
    Own(Box<[u32]>),
}

impl FrozenGraph<Arc<EdgeBody>> {
    /// The lists of one side, a segment after the other, without a copy where nothing is fresh. They stay as they are
    /// when this is dropped. A vertex may be in several: one an edge type.
    ///
    /// Cost: a look at each row that has edges.
    ///
    /// # Errors
    /// `invalid` if that side was not frozen, or for both at once.
    pub fn shared_lists(&self, side: Direction) -> Result<Vec<SharedList>> {
        let mut all = Vec::new();
        for (group, lists) in (0..).map(GroupId).zip(self.side(side)?) {
            for list in lists {
                all.push(SharedList::of(group, list)?);
            }
        }
        all.retain(|list| !list.vertices().is_empty());
        Ok(all)
    }
}

impl SharedList {
    /// Cost: a look at each row with edges; a copy of the lists if something is fresh.
    fn of(group: GroupId, list: &FrozenList<Arc<EdgeBody>>) -> Result<Self> {
        let (mut vertices, mut ends) = (Vec::new(), Vec::new());
        let mut end_row = |row: u16, end: usize| {
            vertices.push(VertexId::new(group, row));
            ends.push(end as u32);
        };
        if !list.has_fresh() {
            list.store().for_each_row(|row, range| end_row(row, range.end));
            return Ok(Self { vertices, ends, neighbors: Neighbors::Body(Arc::clone(list.store())) });
        }
        let mut own: Vec<u32> = Vec::with_capacity(list.edges_count() as usize);
        let list = list.resolved()?;
        for row in 0..GROUP_SIZE as u16 {
            let start = own.len();
            let mut pieces = 0;
            list.visit(row, |piece| {
                own.extend_from_slice(piece.neighbors);
                pieces += 1;
                Visit::Continue
            });
            if pieces > 1 {
                own[start..].sort_unstable();
            }
            if own.len() > start {
                end_row(row, own.len());
            }
        }
        Ok(Self { vertices, ends, neighbors: Neighbors::Own(own.into()) })
    }

    /// The vertices, ascending.
    #[must_use]
    pub fn vertices(&self) -> &[VertexId] {
        &self.vertices
    }

    /// Where the list of each vertex ends in [`SharedList::neighbors`]; the first begins at 0.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Vertex ids, ascending in each list; parallel edges repeat one.
    #[must_use]
    pub fn neighbors(&self) -> &[u32] {
        match &self.neighbors {
            Neighbors::Body(body) => body.neighbors(),
            Neighbors::Own(own) => own,
        }
    }

    /// Whether the neighbours are the engine's own array.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.neighbors, Neighbors::Body(_))
    }
}
