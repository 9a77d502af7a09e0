//! Vertex rows: the vertices in scope as rows, and what is said of each.

use evergraph_graph::id::VertexId;
use evergraph_graph::vertex_set::VertexSet;
use rayon::prelude::*;

/// The fewest rows that are worth a thread's while.
pub(crate) const PART: usize = 1 << 14;

/// The members of `vertices`, ascending.
pub(crate) fn members(vertices: &VertexSet) -> Vec<VertexId> {
    let count = vertices.len() as u32;
    if vertices.range(count..vertices.bound()).next().is_none() {
        // Numbers without gaps, as a load gives them.
        return (0..count).into_par_iter().with_min_len(PART).map(VertexId).collect();
    }
    vertices.iter().map(VertexId).collect()
}

/// What `of` says of each of `vertices`.
pub(crate) fn each<T: Send>(vertices: &[VertexId], of: impl Fn(u32) -> T + Sync) -> Vec<T> {
    vertices.par_iter().with_min_len(PART).map(|vertex| of(vertex.0)).collect()
}

/// What `of` says of each of `vertices`, and where it says something: `None` if it does everywhere.
pub(crate) fn where_known<T: Send + Default>(
    vertices: &[VertexId],
    of: impl Fn(VertexId) -> Option<T> + Sync,
) -> (Vec<T>, Option<Vec<u64>>) {
    let values = each(vertices, |vertex| of(VertexId(vertex)).unwrap_or_default());
    let bit = |(vertex, at): (&VertexId, u32)| u64::from(of(*vertex).is_some()) << at;
    let words = vertices.par_chunks(64).with_min_len(PART / 64);
    let words: Vec<u64> = words.map(|chunk| chunk.iter().zip(0..).map(bit).sum()).collect();
    let known: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
    (values, (known < vertices.len() as u64).then_some(words))
}
