//! Frozen graph: what a topology knows of its snapshot: scope, subjects, layers, counts. Visits are in `visits`.

use crate::file::shared_window::SharedWindow;
use crate::format::subject::{EdgeSide, Subject};
use crate::spill::scratch::SpillFolder;
use crate::topology::edge_layer::EdgeLayer;
use crate::topology::incoming::IncomingLists;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{Direction, KeyId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::vertex_set::VertexSet;
use std::sync::Arc;

/// The lists of one edge type on one side.
#[derive(Debug)]
pub(super) struct FrozenSubject {
    /// Which records they are.
    pub subject: Subject,
    pub edge_type: TypeId,
    pub side: EdgeSide,
    /// The type's name, for errors.
    pub type_name: Arc<str>,
    /// The groups in scope that may have such lists.
    pub groups: VertexSet,
    /// Whether the lists may name vertices that are not in scope.
    pub leaves_scope: bool,
}

/// The property that is the weight of an edge.
#[derive(Debug)]
pub(super) struct FrozenWeight {
    pub key: KeyId,
    /// The key's name, for errors.
    pub name: Arc<str>,
    /// Of an edge without the property.
    pub missing: Option<f64>,
}

/// A projection of one snapshot.
pub(super) struct FrozenGraph<F> {
    pub bound: u32,
    pub timestamp: Timestamp,
    pub vertices: VertexSet,
    pub direction: Direction,
    pub edge_count: u64,
    /// The newest first.
    pub layers: Vec<EdgeLayer<F>>,
    /// What visits read files through.
    pub window: Arc<SharedWindow>,
    /// The in side, if it has weights or filters.
    pub incoming: Option<IncomingLists>,
    /// Where temporary files are made.
    pub spill: Option<SpillFolder>,
    /// Out sides before in sides, by type.
    pub subjects: Vec<FrozenSubject>,
    pub filters: Vec<Filter>,
    pub weight: Option<FrozenWeight>,
    /// Vertices and edges of all groups before each, of both sides, as far as they were frozen and as if nothing were
    /// left out; one more than there are groups.
    pub work_before: Vec<u64>,
    pub _reservations: Vec<Reservation>,
}

impl<F> FrozenGraph<F> {
    /// The places of the subjects that a visit of `direction` reads, in its order.
    pub(super) fn subjects_of(&self, direction: Direction) -> Result<impl Iterator<Item = usize> + '_> {
        for side in direction.sides() {
            if self.direction != Direction::Both && self.direction != *side {
                return Err(Error::invalid(format!(
                    "the {side:?} side was not frozen: the projection asked for {:?}",
                    self.direction
                )));
            }
        }
        let sides = EdgeSide::of(direction);
        Ok((0..self.subjects.len()).filter(move |at| sides.contains(&self.subjects[*at].side)))
    }

    /// Whether visits read weights by rank where one file alone has a list: in out lists, as no filter reads properties.
    pub(super) fn weighs_by_rank(&self, direction: Direction) -> bool {
        direction == Direction::Out && self.weight.is_some() && self.filters.is_empty()
    }

    /// The in lists that were made of out lists, for visits that read in lists.
    pub(super) fn incoming_of(&self, direction: Direction) -> Option<&IncomingLists> {
        self.incoming.as_ref().filter(|_| direction != Direction::Out)
    }
}
