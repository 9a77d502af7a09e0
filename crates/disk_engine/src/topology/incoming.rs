//! Incoming lists: the in lists of a topology with weights or filters, made of its out lists.
//!
//! ```text
//! out lists, streamed    v1 ──0.5──> v4    v3 ──2──> v4     ascending by source
//! here                   v4: sources 1 3    weights 0.5 2   so that these ascend too
//! ```
//!
//! In sides have no properties: without these lists, each edge would be searched in the out list of its other end. They
//! take 4 bytes an edge, 8 more with weights, and 8 a vertex. If the budget refuses that, they are sorted into a temporary
//! file (`spilled_incoming`).
//!
//! Source: disk-engine, section 6.

use crate::spill::scratch::SpillFolder;
use crate::topology::out_lists::{OutLists, OutPass};
use crate::topology::spilled_incoming::SpilledLists;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::topology::{Piece, Visit};

/// What these lists are called in a budget.
const PURPOSE: &str = "in lists with properties";

/// The in lists of every vertex.
pub(super) enum IncomingLists {
    InMemory(IncomingArrays),
    Spilled(SpilledLists),
}

impl IncomingLists {
    /// The other side of `out`; `None` if an edge has no weight: then the visit that meets it says so. Also if the budget
    /// refuses lists in memory and there is no `spill`.
    ///
    /// Cost: two scans of the out lists; or one, and a sort in temporary files.
    ///
    /// # Errors
    /// `limit` if the budget refuses even the sort, or the disk is full; `cancelled`; errors of reading and of files.
    pub(super) fn new<V>(
        mut out: OutLists<V>,
        budget: &dyn Budget,
        spill: Option<&SpillFolder>,
        cancel: &CancelFlag,
    ) -> Result<Option<Self>>
    where
        V: FnMut(OutPass, &mut dyn FnMut(u32, Piece<'_>) -> Result<()>) -> Result<()>,
    {
        let made = match (IncomingArrays::build(&mut out, budget).map(Self::InMemory), spill) {
            (Err(error), Some(folder)) if error.kind() == ErrorKind::Limit => {
                SpilledLists::build(&mut out, budget, folder, cancel).map(Self::Spilled)
            }
            (Err(error), None) if error.kind() == ErrorKind::Limit => return Ok(None),
            (made, _) => made,
        };
        match made {
            Err(error) if error.kind() == ErrorKind::Invalid => Ok(None),
            made => made.map(Some),
        }
    }

    /// How many edges there are.
    pub(super) fn edge_count(&self) -> u64 {
        match self {
            Self::InMemory(lists) => lists.sources.len() as u64,
            Self::Spilled(lists) => lists.edge_count(),
        }
    }

    /// Says how many edges each of `vertices`, which ascend, has.
    ///
    /// # Errors
    /// Those of the temporary file.
    pub(super) fn degrees(
        &self,
        vertices: impl Iterator<Item = u32>,
        mut count: impl FnMut(u32, u64),
    ) -> Result<()> {
        match self {
            Self::InMemory(lists) => {
                vertices.for_each(|vertex| count(vertex, lists.degree(vertex)));
                Ok(())
            }
            Self::Spilled(lists) => {
                let mut reader = lists.reader();
                for vertex in vertices {
                    let edges = reader.edges_of(vertex)?;
                    count(vertex, edges.end - edges.start);
                }
                Ok(())
            }
        }
    }

    /// Hands out the in lists of `vertices`, which ascend, behind the out lists that `visit_out` hands out.
    ///
    /// # Errors
    /// Those of `visit_out`, and of the temporary file.
    pub(super) fn visit_after_out<V>(
        &self,
        vertices: impl Iterator<Item = u32>,
        visit_out: impl FnOnce(&mut dyn FnMut(u32, Piece<'_>) -> Visit) -> Result<()>,
        visitor: V,
    ) -> Result<()>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        match self {
            Self::InMemory(lists) => {
                let visit_in = |vertex, visitor: &mut V| Ok(lists.visit(vertex, visitor));
                visit_after_out(vertices, visit_out, visit_in, visitor)
            }
            Self::Spilled(lists) => {
                let mut reader = lists.reader();
                let visit_in = |vertex, visitor: &mut V| reader.visit(vertex, visitor);
                visit_after_out(vertices, visit_out, visit_in, visitor)
            }
        }
    }
}

/// Hands out what `visit_in` has of `vertices`, which ascend, behind the out lists that `visit_out` hands out.
fn visit_after_out<V>(
    vertices: impl Iterator<Item = u32>,
    visit_out: impl FnOnce(&mut dyn FnMut(u32, Piece<'_>) -> Visit) -> Result<()>,
    mut visit_in: impl FnMut(u32, &mut V) -> Result<Visit>,
    mut visitor: V,
) -> Result<()>
where
    V: FnMut(u32, Piece<'_>) -> Visit,
{
    let (mut vertices, mut is_stopped) = (vertices.peekable(), false);
    let mut failed: Option<Error> = None;
    visit_out(&mut |vertex, piece| {
        while let Some(before) = vertices.next_if(|before| *before < vertex) {
            match visit_in(before, &mut visitor) {
                Ok(Visit::Continue | Visit::NextVertex) => {}
                Ok(Visit::Stop) => is_stopped = true,
                Err(error) => failed = Some(error),
            }
            if is_stopped || failed.is_some() {
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
    if let Some(error) = failed {
        return Err(error);
    }
    if !is_stopped {
        for vertex in vertices {
            if visit_in(vertex, &mut visitor)? == Visit::Stop {
                break;
            }
        }
    }
    Ok(())
}

/// Lists in memory.
pub(super) struct IncomingArrays {
    /// Where the list of each vertex begins, and where the last one's ends.
    starts: Vec<u64>,
    sources: Vec<u32>,
    /// Empty without weights.
    weights: Vec<f64>,
    _reservations: [Reservation; 2],
}

impl IncomingArrays {
    fn build<V>(out: &mut OutLists<V>, budget: &dyn Budget) -> Result<Self>
    where
        V: FnMut(OutPass, &mut dyn FnMut(u32, Piece<'_>) -> Result<()>) -> Result<()>,
    {
        let OutLists { bound: vertices, edge_count, are_weighted, ref mut visit } = *out;
        let bound = vertices as usize;
        let edge_bytes = (size_of::<u32>() + if are_weighted { size_of::<f64>() } else { 0 }) as u64;
        let of_vertices = budget.reserve(PURPOSE, (bound as u64 + 2) * 8)?;
        // What is certain to be refused later costs no pass.
        drop(budget.reserve(PURPOSE, edge_count * edge_bytes)?);
        // The list of vertex v is counted at v + 2, so that what follows can move its place at v + 1.
        let mut starts = vec![0_u64; bound + 2];
        visit(OutPass::Ends, &mut |_, piece: Piece<'_>| {
            let known = piece.neighbors.iter().filter(|target| **target < vertices);
            known.for_each(|target| starts[*target as usize + 2] += 1);
            Ok(())
        })?;
        for vertex in 0..bound {
            starts[vertex + 2] += starts[vertex + 1];
        }
        let count = starts[bound + 1] as usize;
        let of_edges = budget.reserve(PURPOSE, count as u64 * edge_bytes)?;
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
            Ok(())
        })?;
        starts.truncate(bound + 1);
        Ok(Self { starts, sources, weights, _reservations: [of_vertices, of_edges] })
    }

    fn degree(&self, vertex: u32) -> u64 {
        self.starts[vertex as usize + 1] - self.starts[vertex as usize]
    }

    /// Hands out the list of a vertex, if it has any.
    fn visit(&self, vertex: u32, visitor: &mut impl FnMut(u32, Piece<'_>) -> Visit) -> Visit {
        let (start, end) = (self.starts[vertex as usize] as usize, self.starts[vertex as usize + 1] as usize);
        if start == end {
            return Visit::Continue;
        }
        let weights = self.weights.get(start..end).unwrap_or_default();
        visitor(vertex, Piece { neighbors: &self.sources[start..end], weights, sorted: true })
    }
}
