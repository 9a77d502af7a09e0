//! Frozen graph: what a topology knows of its snapshot: scope, subjects, layers, counts. Visits are in `visits`.

use crate::format::subject::{EdgeSide, Subject};
use crate::topology::edge_layer::EdgeLayer;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::Filter;
use evergraph_graph::id::{Direction, GROUP_SIZE, KeyId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::vertex_set::VertexSet;
use std::sync::Arc;

/// Up to so many files and subjects are scanned together over any range.
const WIDE_SCANS_MAX: usize = 4;
/// Vertices and edges of a range that more of them are scanned over: some MiB of pages in all.
const SCANNED_WORK: u64 = 1 << 20;

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

    /// Where a scan from `start` on ends, to be followed by another one. Over a long range, many files and types at once
    /// would each hold a window of some MiB.
    pub(super) fn scan_end(&self, start: u32, end: u32) -> u32 {
        if self.subjects.len() * self.layers.len() <= WIDE_SCANS_MAX {
            return end;
        }
        end_of_work(&self.work_before, SCANNED_WORK, start).min(end)
    }
}

/// The first vertex behind whole groups, that of `start` and more, that have at least `work`; `work_before` is that of all
/// groups before each. The highest number if there is not as much.
fn end_of_work(work_before: &[u64], work: u64, start: u32) -> u32 {
    let group = VertexId(start).group().0 as usize;
    let Some(before) = work_before.get(group) else { return u32::MAX };
    let end = work_before.partition_point(|one| *one < before.saturating_add(work)).max(group + 1);
    if end >= work_before.len() {
        return u32::MAX;
    }
    u32::try_from(end as u64 * u64::from(GROUP_SIZE)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_ends_behind_the_group_with_which_there_is_enough_work() {
        let work_before = [0, 10, 10, 30, 31, 90];
        let end = |work, group: u32| end_of_work(&work_before, work, group * GROUP_SIZE + 7) / GROUP_SIZE;
        assert_eq!([end(1, 0), end(10, 0), end(11, 0), end(30, 0)], [1, 1, 3, 3]);
        assert_eq!([end(0, 1), end(1, 1), end(20, 2), end(21, 2)], [2, 3, 3, 4]);
        assert_eq!([end(90, 0), end(1, 4)], [5, 5], "the work of all groups but the last");
        let none = u32::MAX / GROUP_SIZE;
        assert_eq!([end(91, 0), end(1, 5), end(1, 9)], [none; 3], "the range ends first");
    }
}
