//! Vertex ids: assigned while a transaction runs, row after row in its label's open group.
//!
//! ```text
//! label Person   group 0 [full]   group 2 [rows 0..17 given out, 17.. free]   returned: v5, v9
//! label Post     group 1 [rows 0..4096 given out]                             the next id opens group 3
//! ```
//!
//! - Groups are given out by one counter for all labels; a group keeps its label for ever.
//! - A transaction that is rolled back returns its ids, and they are taken again first. One whose
//!   outcome is unknown returns none; neither does a deleted vertex (no reuse in format version 1).
//! - After a crash the next row follows the highest that the log or the checkpoint names, so ids of
//!   transactions that never committed may be given out again: nobody has seen them.
//!
//! Source: core-protocol section 4.

use crate::sync::Mutex;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId, LabelId, VertexId};

/// A group as a checkpoint keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupState {
    /// Which one.
    pub group: GroupId,
    /// The label of its vertices.
    pub label: LabelId,
    /// Rows given out so far: 0 to [`GROUP_SIZE`].
    pub rows: u16,
}

/// Gives out vertex ids.
///
/// Concurrency: any thread, one lock for a few instructions; opening a group, once in 4,096 ids,
/// calls the engine under it.
#[derive(Debug, Default)]
pub struct VertexIds {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By group number; `None` was given out before a crash and never used.
    groups: Vec<Option<Group>>,
    /// By label number.
    labels: Vec<Supply>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    label: LabelId,
    rows: u16,
}

/// Where a label's next id comes from.
#[derive(Clone, Default, Debug)]
struct Supply {
    open: Option<GroupId>,
    returned: Vec<VertexId>,
}

impl VertexIds {
    /// The ids that a checkpoint kept.
    #[must_use]
    pub fn import(groups: &[GroupState]) -> Self {
        let ids = Self::default();
        for state in groups {
            ids.state.lock().raise(state.group, state.label, state.rows);
        }
        ids
    }

    /// What a checkpoint must keep, by group. Ids of running transactions count as given out.
    #[must_use]
    pub fn export(&self) -> Vec<GroupState> {
        let state = self.state.lock();
        let groups = (0u32..).zip(&state.groups);
        let known = groups.filter_map(|(number, group)| Some((GroupId(number), (*group)?)));
        known.map(|(group, Group { label, rows })| GroupState { group, label, rows }).collect()
    }

    /// Takes a new id. `open_group` is called first if it is the first of a group.
    ///
    /// # Errors
    /// `limit` when all 4.29 billion ids are given out to groups.
    pub fn take(&self, label: LabelId, open_group: impl FnOnce(GroupId, LabelId)) -> Result<VertexId> {
        let mut state = self.state.lock();
        let supply = state.supply(label);
        if let Some(vertex) = supply.returned.pop() {
            return Ok(vertex);
        }
        let open = supply.open;
        let group = match open.filter(|group| state.rows(*group) < GROUP_SIZE as u16) {
            Some(group) => group,
            None => {
                let group = GroupId(state.groups.len() as u32);
                if group.0 == GroupId::END {
                    let text = format!("all {} vertex ids of this partition are in use", 1u64 << 32);
                    return Err(Error::new(ErrorKind::Limit, text));
                }
                open_group(group, label);
                state.groups.push(Some(Group { label, rows: 0 }));
                state.supply(label).open = Some(group);
                group
            }
        };
        let entry = state.groups[group.0 as usize].as_mut().expect("an open group has a label");
        entry.rows += 1;
        Ok(VertexId::new(group, entry.rows - 1))
    }

    /// Takes consecutive new groups for `rows` vertices of `label`: the first of them. For bulk loads;
    /// the label's open group stays open.
    ///
    /// # Errors
    /// `limit` when that many groups are not left.
    pub fn take_groups(&self, label: LabelId, rows: u64) -> Result<GroupId> {
        let mut state = self.state.lock();
        let first = state.groups.len() as u64;
        let count = rows.div_ceil(u64::from(GROUP_SIZE));
        if first + count > u64::from(GroupId::END) {
            let text = format!(
                "{rows} new vertices don't fit: {} groups of ids are left",
                u64::from(GroupId::END) - first
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        for group in 0..count {
            let rows = (rows - group * u64::from(GROUP_SIZE)).min(u64::from(GROUP_SIZE)) as u16;
            state.groups.push(Some(Group { label, rows }));
        }
        Ok(GroupId(first as u32))
    }

    /// Takes back ids that no commit has used.
    pub fn give_back(&self, vertices: impl IntoIterator<Item = VertexId>) {
        let mut state = self.state.lock();
        for vertex in vertices {
            let group = state.groups.get(vertex.group().0 as usize).copied().flatten();
            let label = group.expect("an id that is given back was taken from a group").label;
            state.supply(label).returned.push(vertex);
        }
    }

    /// Notes a vertex that the log names: ids go on behind it.
    pub fn replayed(&self, vertex: VertexId, label: LabelId) {
        self.state.lock().raise(vertex.group(), label, vertex.row() + 1);
    }
}

impl State {
    fn supply(&mut self, label: LabelId) -> &mut Supply {
        let at = usize::from(label.0);
        if self.labels.len() <= at {
            self.labels.resize(at + 1, Supply::default());
        }
        &mut self.labels[at]
    }

    #[inline]
    fn rows(&self, group: GroupId) -> u16 {
        self.groups[group.0 as usize].map_or(0, |group| group.rows)
    }

    fn raise(&mut self, group: GroupId, label: LabelId, rows: u16) {
        let at = group.0 as usize;
        if self.groups.len() <= at {
            self.groups.resize(at + 1, None);
        }
        let entry = self.groups[at].get_or_insert(Group { label, rows });
        entry.rows = entry.rows.max(rows);
        let open = &mut self.supply(label).open;
        *open = (*open).max(Some(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERSON: LabelId = LabelId(0);
    const POST: LabelId = LabelId(3);

    fn take(ids: &VertexIds, label: LabelId) -> (VertexId, Option<GroupId>) {
        let mut opened = None;
        let vertex = ids.take(label, |group, of| {
            assert_eq!(of, label);
            opened = Some(group);
        });
        (vertex.unwrap(), opened)
    }

    #[test]
    fn a_group_holds_one_label_and_the_next_opens_when_it_is_full() {
        let ids = VertexIds::default();
        assert_eq!(take(&ids, PERSON), (VertexId(0), Some(GroupId(0))));
        assert_eq!(take(&ids, POST), (VertexId(4096), Some(GroupId(1))));
        for row in 1..4096 {
            assert_eq!(take(&ids, PERSON), (VertexId(row), None));
        }
        assert_eq!(take(&ids, PERSON), (VertexId(8192), Some(GroupId(2))));
        assert_eq!(take(&ids, POST), (VertexId(4097), None));
    }

    #[test]
    fn ids_given_back_are_taken_first_and_by_their_own_label() {
        let ids = VertexIds::default();
        let (person, post) = (take(&ids, PERSON).0, take(&ids, POST).0);
        ids.give_back([person, post]);
        assert_eq!(take(&ids, POST), (post, None));
        assert_eq!(take(&ids, PERSON), (person, None));
        assert_eq!(take(&ids, PERSON), (VertexId(1), None));
    }

    #[test]
    fn after_recovery_ids_go_on_behind_the_highest_known() {
        let ids = VertexIds::default();
        for _ in 0..5 {
            take(&ids, PERSON);
        }
        take(&ids, POST);
        let again = VertexIds::import(&ids.export());
        again.replayed(VertexId::new(GroupId(0), 2), PERSON);
        again.replayed(VertexId::new(GroupId(4), 7), POST);
        assert_eq!(take(&again, PERSON).0, VertexId(5), "an older row moves nothing");
        assert_eq!(take(&again, POST).0, VertexId::new(GroupId(4), 8));
        assert_eq!(take(&again, LabelId(1)), (GroupId(5).first(), Some(GroupId(5))));
        let groups: Vec<u32> = again.export().iter().map(|state| state.group.0).collect();
        assert_eq!(groups, [0, 1, 4, 5], "groups that nobody used are not kept");
    }

    #[test]
    fn the_last_id_is_given_out_and_the_next_is_a_limit() {
        let last = GroupState { group: GroupId(GroupId::END - 1), label: PERSON, rows: 4095 };
        let ids = VertexIds::import(&[last]);
        assert_eq!(take(&ids, PERSON).0, VertexId(u32::MAX));
        let error = ids.take(PERSON, |_, _| unreachable!("there is no group to open")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
