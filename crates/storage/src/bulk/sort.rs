//! The edges of one type in the order of their lists: two counting sorts, linear in the edges.
//!
//! ```text
//! out   counting sort by source, each list sorted by (target, input order);
//!       equal targets get discriminators 0, 1, 2 ... in input order
//! in    counting sort of the out order by target: stable, so each list is sorted by
//!       (source, discriminator) without comparing anything
//! ```
//!
//! Memory: 8 bytes an edge for the order, 6 to 8 more while the in side is built, 4 a vertex.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;

/// One endpoint pair, in input order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Where the edge begins.
    pub source: VertexId,
    /// Where it ends.
    pub target: VertexId,
}

/// One side's lists, one after the other, by vertex.
#[derive(Debug, PartialEq, Eq)]
pub struct SortedSide {
    /// The lowest vertex; `ends` starts with it.
    pub first: VertexId,
    /// Where the list of each vertex ends.
    pub ends: Vec<u32>,
    /// The vertex at the other end.
    pub neighbors: Vec<u32>,
    /// One for each neighbour; empty if all are zero.
    pub discriminators: Vec<u16>,
    /// For the out side, the place of each edge in the input; empty for the in side.
    pub input: Vec<u32>,
}

/// Where the list of each vertex of a range begins, from how many edges each has; a last entry ends
/// the last list.
fn starts(span: &Span, vertices: impl Iterator<Item = VertexId>) -> Vec<u32> {
    let mut starts = vec![0u32; span.length + 1];
    vertices.for_each(|vertex| starts[span.place(vertex) + 1] += 1);
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    starts
}

/// A range of vertices that holds every end on one side.
struct Span {
    first: VertexId,
    length: usize,
}

impl Span {
    fn of(vertices: impl Iterator<Item = VertexId>) -> Self {
        let bounds = vertices.fold(None, |bounds, vertex| match bounds {
            None => Some((vertex, vertex)),
            Some((low, high)) => Some((vertex.min(low), vertex.max(high))),
        });
        match bounds {
            None => Self { first: VertexId(0), length: 0 },
            Some((low, high)) => Self { first: low, length: (high.0 - low.0) as usize + 1 },
        }
    }

    fn place(&self, vertex: VertexId) -> usize {
        (vertex.0 - self.first.0) as usize
    }
}

/// Sorts the edges of one type into both sides.
///
/// # Errors
/// `limit` beyond 2^32 - 1 edges, or 65,536 parallel edges between two vertices; the text names them.
pub fn sort_edges(count: usize, ends: impl Fn(usize) -> Ends) -> Result<(SortedSide, SortedSide)> {
    if u32::try_from(count).is_err() {
        return Err(Error::new(ErrorKind::Limit, format!("{count} edges of one type at once, 2^32 - 1 fit")));
    }
    let span = Span::of((0..count).map(|at| ends(at).source));
    let mut next = starts(&span, (0..count).map(|at| ends(at).source));
    let mut order = vec![0u64; count];
    for at in 0..count {
        let Ends { source, target } = ends(at);
        let place = &mut next[span.place(source)];
        order[*place as usize] = u64::from(target.0) << 32 | at as u64;
        *place += 1;
    }
    // Each start moved to where its list ends; the last entry is the count again.
    next.truncate(span.length);
    let list_ends = next;
    let mut discriminators = Vec::new();
    let mut from = 0;
    for (vertex, to) in list_ends.iter().enumerate() {
        let list = &mut order[from..*to as usize];
        list.sort_unstable();
        for at in 1..list.len() {
            if list[at] >> 32 != list[at - 1] >> 32 {
                continue;
            }
            if discriminators.is_empty() {
                discriminators = vec![0u16; count];
            }
            discriminators[from + at] = discriminators[from + at - 1].checked_add(1).ok_or_else(|| {
                let source = VertexId(span.first.0 + vertex as u32);
                let target = VertexId((list[at] >> 32) as u32);
                let text = format!("more than 65,536 parallel edges from {source} to {target}");
                Error::new(ErrorKind::Limit, text)
            })?;
        }
        from = *to as usize;
    }
    let out = SortedSide {
        first: span.first,
        ends: list_ends,
        neighbors: order.iter().map(|entry| (*entry >> 32) as u32).collect(),
        input: order.iter().map(|entry| *entry as u32).collect(),
        discriminators,
    };
    drop(order);
    let into = reversed(&out);
    Ok((out, into))
}

/// The in side of an out side.
fn reversed(out: &SortedSide) -> SortedSide {
    let span = Span::of(out.neighbors.iter().map(|target| VertexId(*target)));
    let mut next = starts(&span, out.neighbors.iter().map(|target| VertexId(*target)));
    let mut neighbors = vec![0u32; out.neighbors.len()];
    let mut discriminators = vec![0u16; out.discriminators.len()];
    let mut from = 0;
    for (vertex, to) in out.ends.iter().enumerate() {
        for at in from..*to as usize {
            let place = &mut next[span.place(VertexId(out.neighbors[at]))];
            neighbors[*place as usize] = out.first.0 + vertex as u32;
            if let Some(discriminator) = out.discriminators.get(at) {
                discriminators[*place as usize] = *discriminator;
            }
            *place += 1;
        }
        from = *to as usize;
    }
    next.truncate(span.length);
    SortedSide { first: span.first, ends: next, neighbors, discriminators, input: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_sides_are_sorted_and_agree(edges in proptest::collection::vec((5u32..15, 0u32..8), 0..80)) {
            let ends = |at: usize| Ends { source: VertexId(edges[at].0), target: VertexId(edges[at].1) };
            let (out, into) = sort_edges(edges.len(), ends).unwrap();
            let list = |side: &SortedSide| {
                let mut from = 0;
                let mut all = Vec::new();
                for (vertex, to) in side.ends.iter().enumerate() {
                    for at in from..*to as usize {
                        let discriminator = side.discriminators.get(at).copied().unwrap_or(0);
                        all.push((side.first.0 + vertex as u32, side.neighbors[at], discriminator));
                    }
                    from = *to as usize;
                }
                all
            };
            let mut want: Vec<(u32, u32, u16)> = Vec::new();
            for (source, target) in &edges {
                let parallel = want.iter().filter(|edge| (edge.0, edge.1) == (*source, *target)).count();
                want.push((*source, *target, parallel as u16));
            }
            for (at, input) in out.input.iter().enumerate() {
                let (source, target, discriminator) = want[*input as usize];
                prop_assert_eq!(list(&out)[at], (source, target, discriminator));
            }
            want.sort_unstable();
            prop_assert_eq!(list(&out), want.clone());
            let mut reverse: Vec<_> = want.into_iter().map(|(s, t, d)| (t, s, d)).collect();
            reverse.sort_unstable();
            prop_assert_eq!(list(&into), reverse);
        }
    }

    #[test]
    fn too_many_parallel_edges_are_refused_by_name() {
        let ends = |_| Ends { source: VertexId(1), target: VertexId(2) };
        assert!(sort_edges(65_536, ends).is_ok());
        let error = sort_edges(65_537, ends).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("v1 to v2"), "{error}");
    }
}
