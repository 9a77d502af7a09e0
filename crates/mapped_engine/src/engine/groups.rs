//! Groups of the process that writes, and the table that finds them without a lock.
//!
//! ```text
//! GroupTable   1,024 x 1,024 slots, each set once: group number -> Group
//! Group        label, segments by subject: vertices, then edges by type and side
//! ```

use crate::files::segment_id::{INDEXES, SegmentId};
use crate::group::SegmentSubject;
use crate::segment::LiveSegment;
use crate::view::source::segment_id;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex, MutexGuard};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Which segment.
#[must_use]
pub fn id_of(segment: &LiveSegment) -> SegmentId {
    let id = segment_id(segment.group(), segment.subject());
    segment.row().map_or(id, |row| id.hub(row))
}

/// What a segment is about, and the segment.
pub type SubjectSegment = (SegmentSubject, Arc<LiveSegment>);

/// The one about `subject` of a group's segments.
#[must_use]
pub fn segment_about(segments: &[SubjectSegment], subject: SegmentSubject) -> Option<&Arc<LiveSegment>> {
    let at = segments.binary_search_by_key(&subject, |segment| segment.0).ok()?;
    Some(&segments[at].1)
}

/// 4,096 vertices of one label, and their edges.
#[derive(Debug)]
pub struct Group {
    /// Which group.
    pub id: GroupId,
    /// The label of all its vertices.
    pub label: LabelId,
    /// The newest insertion or deletion of a vertex. Stored (Release) under the latch before publication, loaded
    /// (Acquire) under it: conflict checks of edge inserts look no further.
    members_changed: AtomicU64,
    /// Ascending by subject; replaced as a whole, under `adding`.
    segments: ArcCell<Vec<SubjectSegment>>,
    adding: Mutex<()>,
}

impl Group {
    /// A group without segments.
    #[must_use]
    pub fn new(id: GroupId, label: LabelId) -> Self {
        Self::with_segments(id, label, Vec::new())
    }

    /// A group with these segments, ascending by subject.
    #[must_use]
    pub fn with_segments(id: GroupId, label: LabelId, segments: Vec<SubjectSegment>) -> Self {
        let segments = ArcCell::new(Arc::new(segments));
        Self { id, label, members_changed: AtomicU64::new(0), segments, adding: Mutex::default() }
    }

    /// The newest insertion or deletion of a vertex, or the base of the first ones.
    pub fn members_changed(&self) -> Timestamp {
        Timestamp(self.members_changed.load(Ordering::Acquire))
    }

    /// Notes that vertices were inserted or deleted. Under the latch.
    pub fn set_members_changed(&self, timestamp: Timestamp) {
        self.members_changed.fetch_max(timestamp.0, Ordering::AcqRel);
    }

    /// The segments, ascending by subject.
    pub fn segments(&self) -> impl Deref<Target = Arc<Vec<SubjectSegment>>> + '_ {
        self.segments.load()
    }

    /// The segment about `subject`, if the group has one.
    #[must_use]
    pub fn segment(&self, subject: SegmentSubject) -> Option<Arc<LiveSegment>> {
        segment_about(&self.segments.load(), subject).cloned()
    }

    /// Held by who adds a segment.
    pub fn adding(&self) -> MutexGuard<'_, ()> {
        self.adding.lock()
    }

    /// Adds a segment; `_adding` shows that nobody else does.
    pub fn add(&self, subject: SegmentSubject, segment: Arc<LiveSegment>, _adding: &MutexGuard<'_, ()>) {
        let mut segments = self.segments.load_full().to_vec();
        let at = segments.partition_point(|other| other.0 < subject);
        segments.insert(at, (subject, segment));
        self.segments.swap(Arc::new(segments));
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
        // One more, for the group of indexes.
        let pages = (0..=GroupId::END as usize / TABLE).map(|_| OnceLock::new()).collect();
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
    pub fn get(&self, group: GroupId) -> Option<&Arc<Group>> {
        self.pages.get(group.0 as usize / TABLE)?.get()?[group.0 as usize % TABLE].get()
    }

    /// The group, made without segments if it wasn't there.
    ///
    /// # Panics
    /// If the group's number is out of range: ids are checked where they are given out and decoded.
    pub fn open(&self, group: GroupId, label: LabelId) -> &Arc<Group> {
        self.open_with(group, || Group::new(group, label))
    }

    /// The same, made by `make`.
    pub fn open_with(&self, group: GroupId, make: impl FnOnce() -> Group) -> &Arc<Group> {
        let at = group.0 as usize;
        let page = self.pages[at / TABLE].get_or_init(|| (0..TABLE).map(|_| OnceLock::new()).collect());
        let opened = page[at % TABLE].get_or_init(|| Arc::new(make()));
        if group != INDEXES {
            self.end.fetch_max(group.0 + 1, Ordering::AcqRel);
        }
        opened
    }

    /// All groups of vertices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Group>> {
        (0..self.end()).filter_map(|group| self.get(GroupId(group)))
    }

    /// Calls `visit` with every segment, hubs and indexes included, until it says no.
    pub fn for_each_segment(&self, mut visit: impl FnMut(&Arc<LiveSegment>) -> bool) {
        for group in self.iter().chain(self.get(INDEXES)) {
            let segments = Arc::clone(&group.segments());
            for (_, segment) in segments.iter() {
                if !visit(segment) || !segment.hubs().iter().all(|(_, hub)| visit(hub)) {
                    return;
                }
            }
        }
    }
}
