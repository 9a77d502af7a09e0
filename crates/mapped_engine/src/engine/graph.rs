//! Mapped graph: all segments of a graph, in the process that writes them.
//!
//! ```text
//! writer     what is shared: `live`, its blocks, what waits to be freed
//! extents    array files;       bodies   which body lies where in them
//! groups     the writer's segments, by vertex group
//! merger     which of them are merged next
//! ```

use crate::arena::Arena;
use crate::body_store::body_table::BodyTable;
use crate::body_store::stored_body::StoredBody;
use crate::engine::groups::{Group, GroupTable, id_of};
use crate::engine::merge_queue::Merger;
use crate::engine::options::MappedOptions;
use crate::engine::own_source::OwnSource;
use crate::extents::table::Extents;
use crate::files::segment_id::INDEXES;
use crate::group::SegmentSubject;
use crate::index_table::IndexTable;
use crate::live::Live;
use crate::live_writer::LiveWriter;
use crate::retired::KeptSnapshot;
use crate::segment::LiveSegment;
use crate::shared_catalogue::CatalogueWriter;
use crate::version::BodyPlace;
use crate::view::source::{LiveSource, type_and_side};
use evergraph_bodies::counters::Counters;
use evergraph_bodies::frozen::label_lists::LabelLists;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::EngineStatistics;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::timeline::clock::Timeline;
use std::sync::Arc;

/// See the file's caption.
#[derive(Debug)]
pub struct MappedGraph {
    timeline: Arc<Timeline>,
    directory: Arc<dyn Directory>,
    writer: LiveWriter,
    extents: Arc<Extents>,
    bodies: Arc<BodyTable>,
    source: OwnSource,
    groups: Arc<GroupTable>,
    merger: Merger,
    counters: Counters,
    catalogue: CatalogueWriter,
    indexes: IndexTable,
    options: MappedOptions,
    budget: Arc<MemoryBudget>,
    label_lists: Arc<LabelLists>,
}

impl MappedGraph {
    /// A graph without groups in `live`, which was made for this process, and `extents`, both of `directory`. Builds of indexes
    /// and what snapshots leave for the next take memory of `budget`.
    #[must_use]
    pub fn new(
        timeline: Arc<Timeline>,
        directory: Arc<dyn Directory>,
        live: Arc<Live>,
        extents: Arc<Extents>,
        options: MappedOptions,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        let bodies = Arc::new(BodyTable::default());
        let groups = Arc::new(GroupTable::default());
        let shared = LiveSource::new(Arc::clone(&live), Arc::<BodyTable>::clone(&bodies));
        let source = OwnSource::new(Arc::clone(&groups), shared);
        let writer = LiveWriter::new(live, options.live_bytes_max, Arc::clone(timeline.clock()));
        let merger = Merger::new(timeline.readable());
        Self {
            timeline,
            directory,
            writer,
            extents,
            bodies,
            source,
            groups,
            merger,
            counters: Counters::default(),
            catalogue: CatalogueWriter::default(),
            indexes: IndexTable::default(),
            options,
            label_lists: LabelLists::new(&budget),
            budget,
        }
    }

    /// Time.
    #[must_use]
    pub fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// Where the files lie.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// What is shared.
    #[must_use]
    pub fn writer(&self) -> &LiveWriter {
        &self.writer
    }

    /// What is shared: its head.
    #[must_use]
    pub fn live(&self) -> &Arc<Live> {
        self.writer.live()
    }

    /// What is shared: its blocks.
    #[must_use]
    pub fn arena(&self) -> &Arc<Arena> {
        self.writer.arena()
    }

    /// The array files.
    #[must_use]
    pub fn extents(&self) -> &Arc<Extents> {
        &self.extents
    }

    /// Which body lies where.
    #[must_use]
    pub fn bodies(&self) -> &Arc<BodyTable> {
        &self.bodies
    }

    /// Where views find segments.
    #[must_use]
    pub fn source(&self) -> &OwnSource {
        &self.source
    }

    /// The groups.
    #[must_use]
    pub fn groups(&self) -> &GroupTable {
        &self.groups
    }

    /// The queue of merges.
    #[must_use]
    pub fn merger(&self) -> &Merger {
        &self.merger
    }

    /// Counts of merges.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &MappedOptions {
        &self.options
    }

    /// Shows other processes what this one's snapshots see, with the names that it has; merges go as far.
    ///
    /// # Errors
    /// What opening a region of `live` says, if there is none for names: R stays below them, and the next call tries again.
    pub fn advance_readable(&self) -> Result<()> {
        let readable = self.timeline.readable();
        let memory = self.writer.memory();
        // What is readable is published. Commits without records, and those that bodies had when they were replayed, told
        // nobody so.
        memory.live.publish(readable);
        self.catalogue.show(memory.live, memory.arena, memory.retired, readable)
    }

    /// R may have grown. The first time that names are shown others may join: while the log is replayed there are none, and what
    /// it says may not be durable.
    pub fn readable_grew(&self) {
        if self.advance_readable().is_ok() && self.catalogue.is_shown(self.live()) {
            self.live().open();
        }
    }

    /// The indexes whose entries lie here.
    #[must_use]
    pub fn indexes(&self) -> &IndexTable {
        &self.indexes
    }

    /// What builds of indexes take memory of.
    #[must_use]
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// What snapshots leave for the next ones to freeze.
    #[must_use]
    pub fn label_lists(&self) -> &LabelLists {
        &self.label_lists
    }

    /// The names that other processes see.
    #[must_use]
    pub fn catalogue(&self) -> &CatalogueWriter {
        &self.catalogue
    }

    /// Keeps what a snapshot of `timestamp` reads. With the registry locked, or where no body is replaced.
    #[must_use]
    pub fn pin(&self, timestamp: Timestamp) -> KeptSnapshot {
        self.writer.own_snapshots().begin_at(self.live(), timestamp)
    }

    /// Makes a group exist. If there is no room for it in `live`, whoever writes to it finds that out.
    pub fn open_group(&self, group: GroupId, label: LabelId) -> &Arc<Group> {
        let opened = self.groups.open(group, label);
        // Told to who commits: `segment_or_new` tries again.
        let _ = self.writer.open_group(group, opened.label);
        opened
    }

    /// The segment about `subject`, made empty if the group had none.
    ///
    /// # Errors
    /// `limit` if there is no room.
    pub fn segment_or_new(&self, group: &Group, subject: SegmentSubject) -> Result<Arc<LiveSegment>> {
        match group.segment(subject) {
            Some(segment) => Ok(segment),
            None => self.add_segment(group, subject, (Timestamp::ZERO, BodyPlace::default(), 0)),
        }
    }

    /// Gives a group a segment with this body, which is in the table and has so many items, unless it has one.
    ///
    /// # Errors
    /// `limit` if there is no room.
    pub fn add_segment(
        &self,
        group: &Group,
        subject: SegmentSubject,
        body: (Timestamp, BodyPlace, usize),
    ) -> Result<Arc<LiveSegment>> {
        let adding = group.adding();
        if let Some(segment) = group.segment(subject) {
            return Ok(segment);
        }
        self.writer.open_group(group.id, group.label)?;
        let segment = self.writer.add_segment(&self.timeline, group.id, subject, body)?;
        group.add(subject, Arc::clone(&segment), &adding);
        Ok(segment)
    }

    /// The present body of a segment.
    ///
    /// # Errors
    /// `corrupt` if it isn't where its version says.
    pub fn body_of(&self, segment: &LiveSegment) -> Result<Arc<StoredBody>> {
        self.bodies.get(segment.version().body).ok_or_else(|| {
            let text = format!("{} has no body where its version says", id_of(segment));
            Error::new(ErrorKind::Corrupt, text)
        })
    }

    /// Frees what no snapshot of any process needs.
    pub fn reclaim(&self) {
        let began = self.timeline.clock().now();
        // Without room for names less is freed.
        let _ = self.advance_readable();
        if self.writer.awaits_readable() {
            let _registry = self.timeline.registry();
            self.writer.end_load_eras();
        }
        let bodies = self.writer.reclaim();
        let versions = bodies.len();
        bodies.into_iter().for_each(|place| self.bodies.remove(place));
        self.counters.collected(self.timeline.clock().now().saturating_sub(began), versions);
    }

    /// Numbers for `stats`. Cost: a look at each segment.
    #[must_use]
    pub fn statistics(&self) -> EngineStatistics {
        let mut sum = EngineStatistics::default();
        self.counters.put_into(&mut sum);
        sum.groups = self.groups.iter().count() as u64;
        self.groups.for_each_segment(|segment| {
            sum.record_bytes += segment.record_bytes();
            let (past, past_bytes) = segment.past_versions();
            sum.retained_versions += past as u64;
            sum.retained_bytes += past_bytes;
            if segment.index_number().is_some() {
                return true;
            }
            sum.segments += 1;
            sum.hubs += u64::from(segment.row().is_some());
            let version = segment.version();
            if let Some(body) = self.bodies.get(version.body) {
                let (topology, properties) = body.bytes();
                sum.topology_bytes += topology;
                sum.property_bytes += properties;
            }
            if type_and_side(segment.subject()).is_some_and(|(_, side)| side == Direction::Out) {
                sum.body_edges += segment.items() as u64;
                sum.fresh_edge_records += segment.records() as u64;
            }
            true
        });
        sum
    }

    /// Merges every segment up to what is readable now, and frees what that replaced. For tests, benchmarks and quiet times.
    ///
    /// # Errors
    /// The first that a merge ended with; the others are merged.
    pub fn merge_everything(&self) -> Result<()> {
        let mut answer = Ok(());
        self.groups.for_each_segment(|segment| {
            let merged = self.merge_in_turn(segment);
            if answer.is_ok() {
                answer = merged.map(|_| ());
            }
            true
        });
        self.reclaim();
        answer
    }

    /// Records that wait to be merged. Those of an index that is being built wait for its scan, which no merge can hasten.
    #[must_use]
    pub fn records_waiting(&self) -> u64 {
        let of_builds = self.indexes.building().into_iter().filter_map(|number| {
            let segment = self.groups.get(INDEXES)?.segment(SegmentSubject(number))?;
            Some(segment.records() as u64)
        });
        self.counters.records.load(Ordering::Relaxed).saturating_sub(of_builds.sum())
    }
}
