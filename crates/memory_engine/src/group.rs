//! Vertex groups in memory, and the table that finds them without a lock.
//!
//! ```text
//! GroupTable   1,024 x 1,024 slots, each set once: group number -> Group
//! Group        label, vertices, edge segments by (type, side)
//! ```
//!
//! A group knows its few edge segments, so that many edge types which touch few vertices stay
//! cheap: a type costs nothing where it has no edges.

use crate::segment::version::Segment;
use evergraph_bodies::body::Body;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A segment of edges and what it is about.
#[derive(Clone, Debug)]
pub struct EdgeSegment {
    /// Type and side.
    pub subject: EdgeSubject,
    /// The segment.
    pub segment: Arc<Segment<EdgeBody>>,
}

/// 4,096 vertices of one label, and their edges.
#[derive(Debug)]
pub struct Group {
    /// Which group.
    pub id: GroupId,
    /// The label of all its vertices.
    pub label: LabelId,
    /// Liveness and properties.
    pub vertices: Arc<Segment<VertexBody>>,
    /// The newest insertion or deletion of a vertex. Stored (Release) under the latch before
    /// publication, loaded (Acquire) under it: conflict checks of edge inserts look no further.
    pub members_changed: AtomicU64,
    /// Ascending by subject; replaced as a whole, under `adding`.
    edges: ArcCell<Vec<EdgeSegment>>,
    adding: Mutex<()>,
}

impl Group {
    /// A group whose vertices are exact at `base`.
    #[must_use]
    pub fn new(id: GroupId, label: LabelId, base: Timestamp, vertices: VertexBody) -> Self {
        Self::with_edges(id, label, Segment::new(base, vertices), Vec::new())
    }

    /// A group with these segments, ascending by subject.
    #[must_use]
    pub fn with_edges(
        id: GroupId,
        label: LabelId,
        vertices: Segment<VertexBody>,
        edges: Vec<EdgeSegment>,
    ) -> Self {
        debug_assert!(edges.is_sorted_by(|a, b| a.subject < b.subject));
        Self {
            id,
            label,
            members_changed: AtomicU64::new(vertices.changed().0),
            vertices: Arc::new(vertices),
            edges: ArcCell::new(Arc::new(edges)),
            adding: Mutex::default(),
        }
    }

    /// The newest insertion or deletion of a vertex, or the base of the first ones.
    pub fn members_changed(&self) -> Timestamp {
        Timestamp(self.members_changed.load(Ordering::Acquire))
    }

    /// The edge segments, ascending by subject.
    pub fn edges(&self) -> impl Deref<Target = Arc<Vec<EdgeSegment>>> + '_ {
        self.edges.load()
    }

    /// The segment of `subject`, if the group has one.
    #[must_use]
    pub fn edge_segment(&self, subject: EdgeSubject) -> Option<Arc<Segment<EdgeBody>>> {
        let edges = self.edges.load();
        let at = edges.binary_search_by_key(&subject, |edge| edge.subject).ok()?;
        Some(Arc::clone(&edges[at].segment))
    }

    /// What `read` makes of the segment of `subject`, if the group has one. Cost: no reference count, so `read` is
    /// short.
    pub fn with_edge_segment<T>(
        &self,
        subject: EdgeSubject,
        read: impl FnOnce(&Segment<EdgeBody>) -> T,
    ) -> Option<T> {
        let edges = self.edges.load();
        let at = edges.binary_search_by_key(&subject, |edge| edge.subject).ok()?;
        Some(read(&edges[at].segment))
    }

    /// The segment of `subject`, made empty if the group had none.
    pub fn edge_segment_or_new(&self, subject: EdgeSubject) -> Arc<Segment<EdgeBody>> {
        if let Some(segment) = self.edge_segment(subject) {
            return segment;
        }
        let _one = self.adding.lock();
        let before = self.edges.load_full();
        match before.binary_search_by_key(&subject, |edge| edge.subject) {
            Ok(at) => Arc::clone(&before[at].segment),
            Err(at) => {
                let segment = Arc::new(Segment::new(Timestamp::ZERO, EdgeBody::empty()));
                let mut edges = before.to_vec();
                edges.insert(at, EdgeSegment { subject, segment: Arc::clone(&segment) });
                self.edges.swap(Arc::new(edges));
                segment
            }
        }
    }
}

const TABLE: usize = 1024;

type Page = Box<[OnceLock<Arc<Group>>]>;

/// Group number to group.
///
/// Concurrency: a slot is set once and never changes; lookups take no lock.
#[derive(Debug)]
pub struct GroupTable {
    pages: Box<[OnceLock<Page>]>,
    /// One more than the highest group. Release after the slot is set; Acquire by scans.
    end: AtomicU32,
}

impl Default for GroupTable {
    fn default() -> Self {
        let pages = (0..GroupId::END as usize / TABLE).map(|_| OnceLock::new()).collect();
        Self { pages, end: AtomicU32::new(0) }
    }
}

impl GroupTable {
    /// One more than the highest group.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.end.load(Ordering::Acquire)
    }

    /// The group, if it exists. Cost: two dependent loads.
    #[must_use]
    #[inline]
    pub fn get(&self, group: GroupId) -> Option<&Arc<Group>> {
        self.pages.get(group.0 as usize / TABLE)?.get()?[group.0 as usize % TABLE].get()
    }

    /// Puts a group into its slot; the group that is there, if it was taken.
    ///
    /// # Panics
    /// If the group's number is out of range: ids are checked where they are given out and decoded.
    pub fn insert(&self, group: Arc<Group>) -> &Arc<Group> {
        let at = group.id.0 as usize;
        let page = self.pages[at / TABLE].get_or_init(|| (0..TABLE).map(|_| OnceLock::new()).collect());
        let end = group.id.0 + 1;
        let group = page[at % TABLE].get_or_init(|| group);
        self.end.fetch_max(end, Ordering::AcqRel);
        group
    }

    /// The types that any vertex of `group` has had edges of on this plain side, ascending.
    #[must_use]
    pub fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        let Some(group) = self.get(group) else { return Vec::new() };
        let edges = group.edges();
        let subjects = edges.iter().map(|edge| edge.subject);
        subjects.filter(|subject| subject.side() == side).map(EdgeSubject::edge_type).collect()
    }

    /// All groups, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Group>> {
        (0..self.end()).filter_map(|group| self.get(GroupId(group)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_and_a_second_one_of_its_number_is_not_taken() {
        let table = GroupTable::default();
        assert!(table.get(GroupId(0)).is_none() && table.end() == 0);
        let group =
            |label| Arc::new(Group::new(GroupId(5000), LabelId(label), Timestamp::ZERO, VertexBody::empty()));
        table.insert(group(1));
        assert_eq!(table.insert(group(2)).label, LabelId(1));
        assert_eq!(table.get(GroupId(5000)).map(|group| group.label), Some(LabelId(1)));
        assert_eq!((table.end(), table.iter().count()), (5001, 1));
        assert!(table.get(GroupId(GroupId::END)).is_none());
    }

    #[test]
    fn a_segment_is_made_once_and_kept_in_order() {
        let group = Group::new(GroupId(0), LabelId(0), Timestamp::ZERO, VertexBody::empty());
        let subject = |edge_type, side| EdgeSubject::new(TypeId(edge_type), side);
        assert!(group.edge_segment(subject(3, Direction::In)).is_none());
        let first = group.edge_segment_or_new(subject(3, Direction::In));
        group.edge_segment_or_new(subject(1, Direction::Out));
        group.edge_segment_or_new(subject(3, Direction::Out));
        assert!(Arc::ptr_eq(&first, &group.edge_segment_or_new(subject(3, Direction::In))));
        let subjects: Vec<_> = group.edges().iter().map(|edge| edge.subject).collect();
        assert_eq!(
            subjects,
            [subject(1, Direction::Out), subject(3, Direction::Out), subject(3, Direction::In)]
        );
        assert_eq!((subjects[2].edge_type(), subjects[2].side()), (TypeId(3), Direction::In));
    }
}
