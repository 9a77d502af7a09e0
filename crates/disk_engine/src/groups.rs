//! Group table: which vertex groups exist, with which label, and which edge types their vertices have had.
//!
//! ```text
//! group number ──> page of 1,024 ──> Group { label, subjects of edges, ascending }
//! ```
//!
//! It answers what a reader asks without I/O and what a commit asks under the latch. It is filled from the manifest
//! and from the directories of files when a database opens, then by writers ahead of their commits; so a view may see
//! a type early, and never too late. Nothing is ever removed.
//!
//! Source: disk-engine, section 5 (`edge_types`, `group_label`, `group_count` cannot fail).

use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId};
use evergraph_storage::sync::atomic::{AtomicU32, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex};
use std::sync::{Arc, OnceLock};

/// Groups of a page of the table.
const PAGE_GROUPS: usize = 1024;

/// A vertex group.
#[derive(Debug)]
struct Group {
    label: LabelId,
    /// Of edges alone, ascending. Replaced with [`Group::adding`] locked.
    subjects: ArcCell<Vec<Subject>>,
    adding: Mutex<()>,
}

type Page = Box<[OnceLock<Group>]>;

/// The vertex groups of one database.
///
/// # Concurrency
/// Any thread calls anything. Readers take no lock. Types are added one thread at a time in each group; who adds one
/// does so before its commit is published, so every reader of that commit finds it.
#[derive(Debug)]
pub struct GroupTable {
    pages: Box<[OnceLock<Page>]>,
    /// One more than the highest group. Release after the group is set; Acquire by readers.
    end: AtomicU32,
}

impl Default for GroupTable {
    fn default() -> Self {
        let pages = (0..GroupId::END as usize / PAGE_GROUPS).map(|_| OnceLock::new()).collect();
        Self { pages, end: AtomicU32::new(0) }
    }
}

impl GroupTable {
    /// No group.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes `group` exist with `label`; returns the label that it has, which is another one if it existed with that.
    ///
    /// # Panics
    /// If the group's number is not below [`GroupId::END`]: ids are checked where they are given out and decoded.
    pub fn open(&self, group: GroupId, label: LabelId) -> LabelId {
        let at = group.0 as usize;
        let page =
            self.pages[at / PAGE_GROUPS].get_or_init(|| (0..PAGE_GROUPS).map(|_| OnceLock::new()).collect());
        let opened = page[at % PAGE_GROUPS].get_or_init(|| Group {
            label,
            subjects: ArcCell::new(Arc::default()),
            adding: Mutex::default(),
        });
        self.end.fetch_max(group.0 + 1, Ordering::AcqRel);
        opened.label
    }

    /// One more than the highest group.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u32 {
        self.end.load(Ordering::Acquire)
    }

    #[inline]
    fn group(&self, group: GroupId) -> Option<&Group> {
        self.pages.get(group.0 as usize / PAGE_GROUPS)?.get()?[group.0 as usize % PAGE_GROUPS].get()
    }

    /// Whether the group exists.
    #[must_use]
    #[inline]
    pub fn has(&self, group: GroupId) -> bool {
        self.group(group).is_some()
    }

    /// The label of the group, if it exists.
    #[must_use]
    #[inline]
    pub fn label(&self, group: GroupId) -> Option<LabelId> {
        Some(self.group(group)?.label)
    }

    /// The types that vertices of the group may have edges of on one side, ascending, each once; on both sides for
    /// [`Direction::Both`].
    #[must_use]
    pub fn edge_types(&self, group: GroupId, direction: Direction) -> Vec<TypeId> {
        let Some(group) = self.group(group) else { return Vec::new() };
        let sides = EdgeSide::of(direction);
        let of_side = |subject: &Subject| match subject.kind() {
            SubjectKind::Edges { edge_type, side } => sides.contains(&side).then_some(edge_type),
            SubjectKind::Vertices | SubjectKind::Index(_) => None,
        };
        let mut types: Vec<_> = group.subjects.load().iter().filter_map(of_side).collect();
        types.dedup();
        types
    }

    /// Whether vertices of the group may have edges of a type on a side.
    #[must_use]
    #[inline]
    pub fn has_edge_type(&self, group: GroupId, side: EdgeSide, edge_type: TypeId) -> bool {
        self.has_subject(group, Subject::edges(edge_type, side))
    }

    #[inline]
    fn has_subject(&self, group: GroupId, subject: Subject) -> bool {
        self.group(group).is_some_and(|group| group.subjects.load().binary_search(&subject).is_ok())
    }

    /// Notes that vertices of the group have edges of a type on a side. Returns whether the group exists. Cost: a
    /// search, nearly always.
    pub fn add_edge_type(&self, group: GroupId, side: EdgeSide, edge_type: TypeId) -> bool {
        self.add_subject(group, Subject::edges(edge_type, side))
    }

    /// Notes that the group has records of `subject`, if that is one of edges; others are not kept here. Returns
    /// whether the group exists.
    pub fn add_subject(&self, group: GroupId, subject: Subject) -> bool {
        let Some(found) = self.group(group) else { return false };
        if !matches!(subject.kind(), SubjectKind::Edges { .. }) || self.has_subject(group, subject) {
            return true;
        }
        let _one = found.adding.lock();
        let before = found.subjects.load_full();
        if let Err(at) = before.binary_search(&subject) {
            let mut subjects = before.to_vec();
            subjects.insert(at, subject);
            found.subjects.swap(Arc::new(subjects));
        }
        true
    }

    /// Segments: of each group its vertices, and the edges of each type and side. Cost: a look at each group.
    #[must_use]
    pub fn segment_count(&self) -> u64 {
        let groups = (0..self.count()).filter_map(|group| self.group(GroupId(group)));
        groups.map(|group| 1 + group.subjects.load().len() as u64).sum()
    }

    /// All groups and their labels, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (GroupId, LabelId)> + '_ {
        (0..self.count()).filter_map(|group| Some((GroupId(group), self.label(GroupId(group))?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_keeps_its_first_label_and_knows_its_types_by_side() {
        let table = GroupTable::new();
        assert!(!table.has(GroupId(0)) && table.count() == 0 && table.label(GroupId(9)).is_none());
        assert!(!table.add_edge_type(GroupId(5000), EdgeSide::Out, TypeId(1)));
        assert_eq!(table.open(GroupId(5000), LabelId(1)), LabelId(1));
        assert_eq!(table.open(GroupId(5000), LabelId(2)), LabelId(1));
        assert_eq!((table.count(), table.iter().next()), (5001, Some((GroupId(5000), LabelId(1)))));
        for (side, edge_type) in
            [(EdgeSide::Out, 3), (EdgeSide::In, 3), (EdgeSide::Out, 1), (EdgeSide::Out, 3), (EdgeSide::In, 7)]
        {
            assert!(table.add_edge_type(GroupId(5000), side, TypeId(edge_type)));
        }
        assert!(table.add_subject(GroupId(5000), Subject::VERTICES));
        let types = |direction| table.edge_types(GroupId(5000), direction);
        assert_eq!(types(Direction::Out), [1, 3].map(TypeId));
        assert_eq!(types(Direction::In), [3, 7].map(TypeId));
        assert_eq!(types(Direction::Both), [1, 3, 7].map(TypeId));
        assert!(table.has_edge_type(GroupId(5000), EdgeSide::In, TypeId(7)));
        assert!(!table.has_edge_type(GroupId(5000), EdgeSide::Out, TypeId(7)));
        assert_eq!(table.segment_count(), 5);
        assert!(!table.has(GroupId(GroupId::END)) && table.edge_types(GroupId(1), Direction::Out).is_empty());
    }

    #[cfg(not(shuttle))]
    #[test]
    fn threads_that_add_types_lose_none() {
        let table = GroupTable::new();
        table.open(GroupId(0), LabelId(0));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || {
                    (0..100).for_each(|at| {
                        table.add_edge_type(GroupId(0), EdgeSide::Out, TypeId(at * 4 + thread));
                    });
                });
            }
        });
        assert_eq!(table.edge_types(GroupId(0), Direction::Out), (0..400).map(TypeId).collect::<Vec<_>>());
    }
}
