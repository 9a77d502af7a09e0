//! Labels: the part that each vertex belongs to, named by the part's smallest vertex.
//!
//! So the same parts always have the same names, whatever order they were found in.

use evergraph_graph::id::VertexId;

/// The part of each vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Labels(Vec<u32>);

impl Labels {
    /// In [`Labels::as_slice`]: the id isn't in scope.
    pub const OUT_OF_SCOPE: u32 = u32::MAX;

    /// A label for each id: that of a vertex which is its own label, or [`Labels::OUT_OF_SCOPE`].
    pub(crate) fn new(labels: Vec<u32>) -> Self {
        debug_assert!(
            labels.iter().all(|label| *label == Self::OUT_OF_SCOPE || labels[*label as usize] == *label),
            "a part is named by one of its own"
        );
        Self(labels)
    }

    /// The smallest vertex in the part of `vertex`; `None` if `vertex` isn't in scope.
    #[must_use]
    pub fn of(&self, vertex: VertexId) -> Option<VertexId> {
        let label = self.0.get(vertex.0 as usize).copied();
        label.filter(|label| *label != Self::OUT_OF_SCOPE).map(VertexId)
    }

    /// A label for each vertex id below the topology's bound.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.0
    }

    /// How many parts there are. Cost: one pass.
    #[must_use]
    pub fn parts(&self) -> u64 {
        (0..).zip(&self.0).filter(|(vertex, label)| vertex == *label).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_by_its_smallest_vertex_and_counted_once() {
        let labels = Labels::new(vec![0, Labels::OUT_OF_SCOPE, 0, 3]);
        let of = |id: u32| labels.of(VertexId(id)).map(|label| label.0);
        assert_eq!([of(0), of(1), of(2), of(3), of(4)], [Some(0), None, Some(0), Some(3), None]);
        assert_eq!(labels.parts(), 2);
    }
}
