//! Incoming lists: the in lists of a topology with weights or filters, in memory.
//!
//! ```text
//! out lists, streamed    v1 ──0.5──> v4    v3 ──2──> v4     ascending by source
//! here                   v4: sources 1 3    weights 0.5 2   so that these ascend too
//! ```
//!
//! In sides have no properties: without these lists, each edge would be searched in the out list of its other end. They
//! take 4 bytes an edge, 8 more with weights, and 8 a vertex. If the budget refuses that, the edges are searched.
//!
//! Source: disk-engine, section 6. Differs: not sorted into a file, so a graph whose edges do not fit pays the searches.

use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::topology::{Piece, Visit};

/// What these lists are called in a budget.
const PURPOSE: &str = "in lists with properties";

/// What a pass over the out lists reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OutPass {
    /// The ends of edges.
    Ends,
    /// Their weights too.
    Weights,
}

/// A graph whose out lists are visited as often as one wants.
pub(super) struct OutLists<V> {
    /// One more than the highest vertex.
    pub bound: u32,
    pub are_weighted: bool,
    /// Visits all lists, ascending by vertex.
    pub visit: V,
}

/// The in lists of every vertex.
pub(super) struct IncomingLists {
    /// Where the list of each vertex begins, and where the last one's ends.
    starts: Vec<u64>,
    sources: Vec<u32>,
    /// Empty without weights.
    weights: Vec<f64>,
    _reservations: [Reservation; 2],
}

impl IncomingLists {
    /// The other side of `out`; `None` if the budget refuses it, or an edge has no weight: then
    /// the visit that meets it says so.
    ///
    /// Cost: two scans of the out lists.
    pub(super) fn new<V>(out: OutLists<V>, budget: &dyn Budget) -> Result<Option<Self>>
    where
        V: FnMut(OutPass, &mut dyn FnMut(u32, Piece<'_>)) -> Result<()>,
    {
        match Self::build(out, budget) {
            Ok(lists) => Ok(Some(lists)),
            Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Invalid) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn build<V>(out: OutLists<V>, budget: &dyn Budget) -> Result<Self>
    where
        V: FnMut(OutPass, &mut dyn FnMut(u32, Piece<'_>)) -> Result<()>,
    {
        let OutLists { bound: vertices, are_weighted, mut visit } = out;
        let bound = vertices as usize;
        let of_vertices = budget.reserve(PURPOSE, (bound as u64 + 2) * 8)?;
        // The list of vertex v is counted at v + 2, so that what follows can move its place at v + 1.
        let mut starts = vec![0_u64; bound + 2];
        visit(OutPass::Ends, &mut |_, piece: Piece<'_>| {
            let known = piece.neighbors.iter().filter(|target| **target < vertices);
            known.for_each(|target| starts[*target as usize + 2] += 1);
        })?;
        for vertex in 0..bound {
            starts[vertex + 2] += starts[vertex + 1];
        }
        let count = starts[bound + 1] as usize;
        let edge_bytes = size_of::<u32>() + if are_weighted { size_of::<f64>() } else { 0 };
        let of_edges = budget.reserve(PURPOSE, count as u64 * edge_bytes as u64)?;
        let mut sources = vec![0_u32; count];
        let mut weights = vec![0_f64; if are_weighted { count } else { 0 }];
        visit(OutPass::Weights, &mut |source, piece: Piece<'_>| {
            for (at, target) in piece.neighbors.iter().enumerate().filter(|(_, target)| **target < vertices) {
                let place = &mut starts[*target as usize + 1];
                sources[*place as usize] = source;
                if let Some(weight) = piece.weights.get(at) {
                    weights[*place as usize] = *weight;
                }
                *place += 1;
            }
        })?;
        starts.truncate(bound + 1);
        Ok(Self { starts, sources, weights, _reservations: [of_vertices, of_edges] })
    }

    /// How many edges there are.
    pub(super) fn edge_count(&self) -> u64 {
        self.sources.len() as u64
    }

    /// How many edges a vertex has.
    pub(super) fn degree(&self, vertex: u32) -> u64 {
        self.starts[vertex as usize + 1] - self.starts[vertex as usize]
    }

    /// Hands out the list of a vertex, if it has any.
    pub(super) fn visit(&self, vertex: u32, visitor: &mut impl FnMut(u32, Piece<'_>) -> Visit) -> Visit {
        let (start, end) = (self.starts[vertex as usize] as usize, self.starts[vertex as usize + 1] as usize);
        if start == end {
            return Visit::Continue;
        }
        let weights = self.weights.get(start..end).unwrap_or_default();
        visitor(vertex, Piece { neighbors: &self.sources[start..end], weights, sorted: true })
    }

    /// Hands out the in lists of `vertices`, which ascend, behind the out lists that `visit_out` hands out.
    pub(super) fn visit_after_out<V>(
        &self,
        vertices: impl Iterator<Item = u32>,
        visit_out: impl FnOnce(&mut dyn FnMut(u32, Piece<'_>) -> Visit) -> Result<()>,
        mut visitor: V,
    ) -> Result<()>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let (mut vertices, mut is_stopped) = (vertices.peekable(), false);
        visit_out(&mut |vertex, piece| {
            while let Some(before) = vertices.next_if(|before| *before < vertex) {
                if self.visit(before, &mut visitor) == Visit::Stop {
                    is_stopped = true;
                    return Visit::Stop;
                }
            }
            let visit = visitor(vertex, piece);
            is_stopped = visit == Visit::Stop;
            if visit == Visit::NextVertex {
                vertices.next_if_eq(&vertex);
            }
            visit
        })?;
        if !is_stopped {
            vertices.take_while(|vertex| self.visit(*vertex, &mut visitor) != Visit::Stop).for_each(drop);
        }
        Ok(())
    }
}
