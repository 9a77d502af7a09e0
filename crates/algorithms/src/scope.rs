//! Scope: the part of a graph that an algorithm runs on: labels, edge types, conditions on properties.
//!
//! A kernel knows which sides it needs, so a caller names only what part of the graph is meant;
//! [`Scope::freeze`] adds the sides.

use crate::control::Control;
use crate::selection::select;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{Direction, LabelId, TypeId, VertexId};
use evergraph_graph::topology::{Projection, Topology, Weight};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::Freeze;
use std::sync::Arc;

/// A part of a graph; the default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Vertices of these labels; `None` for all. Edges to other vertices are left out.
    pub labels: Option<Vec<LabelId>>,
    /// Edges of these types; `None` for all.
    pub types: Option<Vec<TypeId>>,
    /// Only vertices whose properties satisfy every one of these. Edges to others are left out.
    pub vertex_filters: Vec<Filter>,
    /// Only edges whose properties satisfy every one of these.
    pub edge_filters: Vec<Filter>,
}

impl Scope {
    /// Freezes this part of `view` with the sides that `direction` names and, if wanted, weights.
    ///
    /// Cost: that of [`Freeze::freeze`]; conditions on vertices read their properties once, those on
    /// edges copy the lists.
    ///
    /// # Errors
    /// Those of [`Freeze::freeze`]; `limit` if the set of chosen vertices, one bit each, doesn't fit
    /// into the budget; `cancelled`.
    pub fn freeze<V: Freeze>(
        &self,
        view: &V,
        direction: Direction,
        weight: Option<Weight>,
        control: &Control<'_>,
    ) -> Result<V::Topology> {
        if self.vertex_filters.is_empty() {
            return view.freeze_cancellable(&self.projection(direction, weight, None), control.cancel_flag());
        }
        let chosen =
            select(view, self.labels.as_deref(), &self.vertex_filters, &control.on_budget(view.budget()))?;
        let projection = self.projection(direction, weight, Some(Arc::new(chosen.vertices)));
        view.freeze_cancellable(&projection, control.cancel_flag())
    }

    /// What is asked of a view in which `vertices` satisfy the conditions on vertices.
    pub(crate) fn projection(
        &self,
        direction: Direction,
        weight: Option<Weight>,
        vertices: Option<Arc<VertexSet>>,
    ) -> Projection {
        Projection {
            labels: self.labels.clone(),
            types: self.types.clone(),
            direction,
            weight,
            vertices,
            edges: self.edge_filters.clone(),
        }
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
            "source {source} isn't one of the {count} vertices in scope: is it deleted, of another label, or \
             filtered out?"
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
