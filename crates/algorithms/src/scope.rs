//! Scope: the labels and edge types that an algorithm runs on.
//!
//! A kernel knows which sides it needs, so a caller names only what part of the graph is meant;
//! [`Scope::projection`] adds the sides.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, LabelId, TypeId, VertexId};
use evergraph_graph::topology::{Projection, Topology, Weight};

/// A part of a graph; the default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Vertices of these labels; `None` for all. Edges to other vertices are left out.
    pub labels: Option<Vec<LabelId>>,
    /// Edges of these types; `None` for all.
    pub types: Option<Vec<TypeId>>,
}

impl Scope {
    /// This part of a graph with the sides that `direction` names and, if wanted, weights.
    #[must_use]
    pub fn projection(&self, direction: Direction, weight: Option<Weight>) -> Projection {
        Projection { labels: self.labels.clone(), types: self.types.clone(), direction, weight }
    }
}

/// Whether lists frozen for `frozen` can be visited in `wanted`.
pub(crate) fn covers(frozen: Direction, wanted: Direction) -> bool {
    frozen == Direction::Both || frozen == wanted
}

/// The source of a search, if it is in scope.
pub(crate) fn source_in<T: Topology>(topology: &T, source: VertexId) -> Result<u32> {
    if topology.vertices().contains(source.0) {
        return Ok(source.0);
    }
    let count = topology.vertices().len();
    Err(Error::new(
        ErrorKind::NotFound,
        format!(
            "source {source} isn't one of the {count} vertices in scope: is it deleted, or of another label?"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_both_sides_serve_each_side_and_one_side_only_itself() {
        use Direction::{Both, In, Out};
        assert!(covers(Both, In) && covers(Both, Out) && covers(Both, Both) && covers(In, In));
        assert!(!covers(Out, In) && !covers(Out, Both) && !covers(In, Both));
    }
}
