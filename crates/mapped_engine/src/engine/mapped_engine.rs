//! The mapped engine as an `Engine`: records in `live`, bodies in mapped files.

use crate::body_store::stored_body::StoredBody;
use crate::checkpoint::ledger::Ledger;
use crate::checkpoint::write::Checkpointer;
use crate::engine::graph::MappedGraph;
use crate::engine::groups::{Group, segment_about};
use crate::engine::index_records::{records_of_changes, records_of_replayed};
use crate::engine::options::MappedOptions;
use crate::engine::prepared::{PreparedCommit, for_each_row_segment, segment_of};
use crate::extents::table::{ExtentOptions, Extents, Reuse};
use crate::freeze::frozen::FrozenGraph;
use crate::group::SegmentSubject;
use crate::index_table::StoredIndexes;
use crate::live::Live;
use crate::live_head::LiveHead;
use crate::retired::KeptSnapshot;
use crate::segment::LiveSegment;
use crate::segment_history::ChangeKind;
use crate::shared_record::SharedRecord;
use crate::view::mapped_view::MappedView;
use crate::view::source::{VERTICES, edges, type_and_side};
use crate::words::SharedWords;
use evergraph_bodies::commit_records::CommitRecords;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::index::fill::IndexFill;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Record, RecordKey};
use evergraph_storage::timeline::clock::Timeline;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// The checkpoints of a mapped graph.
pub type MappedCheckpointer = Checkpointer<Arc<StoredBody>>;

/// A graph in mapped files, in the process that writes it.
#[derive(Debug)]
pub struct MappedEngine {
    graph: Arc<MappedGraph>,
    checkpointer: MappedCheckpointer,
}

/// What a snapshot holds on to.
#[derive(Debug)]
pub struct MappedPin {
    _kept: KeptSnapshot,
    /// The indexes that there were when it began.
    indexes: Arc<StoredIndexes>,
}

/// What a commit had reserved and did not need; freed outside of the latch.
#[derive(Debug)]
pub struct UnusedBlocks {
    _prepared: Option<PreparedCommit>,
}

impl UnusedBlocks {
    /// None at all.
    #[must_use]
    pub fn none() -> Self {
        Self { _prepared: None }
    }
}

impl MappedEngine {
    /// Its name in manifests.
    pub const NAME: &'static str = "mapped";

    /// The engine of a graph, and of what the manifest names of it.
    #[must_use]
    pub fn with_files(graph: Arc<MappedGraph>, checkpointer: MappedCheckpointer) -> Self {
        Self { graph, checkpointer }
    }

    /// An engine without groups, whose files are in memory: for a store that is never opened again.
    ///
    /// # Errors
    /// `invalid` if the options are not possible.
    pub fn in_memory(timeline: Arc<Timeline>, options: MappedOptions) -> Result<Self> {
        let directory = Arc::new(MemoryDirectory::new("memory"));
        let head = LiveHead::of_opening(options.region_sizes, options.slots)?;
        let words = Arc::new(SharedWords::on_heap(options.region_sizes));
        let live = Arc::new(Live::create(words, head, timeline.published())?);
        let small = ExtentOptions { first_file_bytes: 1 << 20, ..ExtentOptions::default() };
        let (extents, _) =
            Extents::open(Arc::<MemoryDirectory>::clone(&directory), small, [], Reuse::Allowed)?;
        let extents = Arc::new(extents);
        let directory: Arc<dyn Directory> = directory;
        let checkpointer = Checkpointer::new(Arc::clone(&directory), Arc::clone(&extents), Ledger::empty());
        let budget = Arc::new(MemoryBudget::new(u64::MAX));
        let graph = MappedGraph::new(timeline, directory, live, extents, options, budget);
        Ok(Self::with_files(Arc::new(graph), checkpointer))
    }

    /// Merges every segment up to what is readable now. For tests, benchmarks and quiet times: what can't be merged stays where
    /// it is.
    pub fn merge_everything(&self) {
        // What it failed with is told to who finds no room.
        let _ = self.graph.merge_everything();
    }

    /// What makes its checkpoints.
    #[must_use]
    pub fn checkpointer(&self) -> &MappedCheckpointer {
        &self.checkpointer
    }

    /// All that it consists of.
    #[must_use]
    pub fn graph(&self) -> &Arc<MappedGraph> {
        &self.graph
    }

    fn in_group(&self, group: GroupId, check: impl FnOnce(&Group) -> ChangedSince) -> ChangedSince {
        self.graph.groups().get(group).map_or(ChangedSince::No, |group| check(group))
    }

    /// Whether a record about `keys` of a vertex' segment is newer than `since`, and a change of this kind.
    fn newer_in(
        &self,
        vertex: VertexId,
        subject: SegmentSubject,
        keys: &RangeInclusive<RecordKey>,
        since: Timestamp,
        kind: ChangeKind,
    ) -> ChangedSince {
        self.in_group(vertex.group(), |group| {
            let segments = group.segments();
            let newer =
                |segment: &Arc<LiveSegment>| segment.newer(&self.graph.writer().memory(), keys, since, kind);
            segment_about(&segments, subject).map_or(ChangedSince::No, newer)
        })
    }

    /// Whether anything in a segment is newer.
    fn changed_in(&self, group: GroupId, subject: SegmentSubject, since: Timestamp) -> ChangedSince {
        self.in_group(group, |group| {
            let segments = group.segments();
            let changed = |segment: &Arc<LiveSegment>| newer_than(segment.history().changed(), since);
            segment_about(&segments, subject).map_or(ChangedSince::No, changed)
        })
    }

    /// Installs records of commits that are replayed, sorted by key and time, and merges what is overdue: nobody else does
    /// yet. What this very call installed is not readable before it is published, and waits for the next.
    fn replay_records(
        &self,
        segment: &Arc<LiveSegment>,
        of_group: Option<&Arc<LiveSegment>>,
        records: &[Record],
    ) -> Result<()> {
        let base = segment.base();
        let is_newer = |record: &&Record| record.stamp.timestamp() > base || planted(Bug::NoFilter);
        let shared: Vec<SharedRecord> = records.iter().filter(is_newer).map(SharedRecord::of).collect();
        self.graph.install_found(segment, of_group, shared)?;
        self.graph.help(segment);
        Ok(())
    }
}

/// Whether the newest change, at `changed`, is newer than `since`.
fn newer_than(changed: Timestamp, since: Timestamp) -> ChangedSince {
    if changed.visible_at(since) { ChangedSince::No } else { ChangedSince::Yes }
}

fn whole(vertex: VertexId) -> RangeInclusive<RecordKey> {
    RecordKey::vertex(vertex.row()).only()
}

impl Engine for MappedEngine {
    type Pin = MappedPin;
    type View<'a> = MappedView<'a>;
    type Topology = FrozenGraph;
    type Prepared = PreparedCommit;
    type Displaced = UnusedBlocks;

    const KEEPS_INDEXES: bool = true;

    fn keeps_index(&self, _: IndexId) -> bool {
        true
    }

    fn begin_index(&self, index: IndexId) {
        self.graph.indexes().begin(index);
    }

    fn fill_index<'a>(&'a self, index: IndexId, at: Timestamp) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        Ok(Some(Box::new(self.graph.fill_of(index, at)?)))
    }

    fn complete_index(&self, index: IndexId, at: Timestamp) {
        self.graph.indexes().complete(index, at);
    }

    fn drop_index(&self, index: IndexId) {
        let at = self.graph.timeline().published().next();
        if let Some(number) = self.graph.indexes().remove(index, at) {
            self.graph.empty_later(number);
        }
    }

    fn has_index(&self, index: IndexId) -> bool {
        self.graph.indexes().load().contains_key(&index)
    }

    fn retain_indexes(&self, is_kept: &dyn Fn(IndexId) -> bool) {
        self.graph.indexes().retain(is_kept);
        let segments = self.graph.index_segments();
        segments.iter().for_each(|(subject, _)| self.graph.empty_later(subject.0));
    }

    fn leaving_entries(prepared: &PreparedCommit) -> &[Mutation] {
        prepared.leaving()
    }

    fn pin(&self, timestamp: Timestamp) -> MappedPin {
        // Indexes first: one that is chosen later is either among them, or began after this snapshot and doesn't serve it.
        let indexes = self.graph.indexes().load();
        MappedPin { _kept: self.graph.pin(timestamp), indexes }
    }

    #[inline]
    fn view<'a>(&'a self, pin: &'a MappedPin, timestamp: Timestamp) -> MappedView<'a> {
        MappedView::new(self.graph.source(), timestamp).with_indexes(&pin.indexes)
    }

    fn freeze(
        &self,
        _pin: &MappedPin,
        timestamp: Timestamp,
        request: &FreezeRequest<'_>,
    ) -> Result<FrozenGraph> {
        let view = MappedView::new(self.graph.source(), timestamp);
        FrozenGraph::new(&view, Some(self.graph.label_lists()), request)
    }

    fn open_group(&self, group: GroupId, label: LabelId) {
        self.graph.open_group(group, label);
    }

    fn prepare(
        &self,
        mutations: &[Mutation],
        changes: &IndexChanges,
        patience: Duration,
    ) -> Result<PreparedCommit> {
        let records = CommitRecords::new(mutations, None)?;
        PreparedCommit::help(&self.graph, &records)?;
        let (entries, leaving) = match *changes == IndexChanges::NONE {
            true => Default::default(),
            false => records_of_changes(&self.graph.indexes().load(), changes),
        };
        PreparedCommit::help_indexes(&self.graph, &entries)?;
        self.graph.wait_for_room(patience)?;
        loop {
            let prepared = PreparedCommit::new(&self.graph, &records);
            match prepared.and_then(|prepared| prepared.with_indexes(&self.graph, &entries, &leaving)) {
                Err(error) if error.kind() == ErrorKind::Limit && self.graph.make_room()? => {}
                prepared => return prepared,
            }
        }
    }

    fn group_count(&self) -> u32 {
        self.graph.groups().end()
    }

    fn has_group(&self, group: GroupId) -> bool {
        self.graph.groups().get(group).is_some()
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        let Some(group) = self.graph.groups().get(group) else { return Vec::new() };
        let segments = group.segments();
        let subjects = segments.iter().filter_map(|segment| type_and_side(segment.0));
        subjects.filter(|subject| subject.1 == side).map(|subject| subject.0).collect()
    }

    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        let out = |edge_type| edges(edge_type, Direction::Out);
        match *key {
            Key::Vertex(vertex) => self.in_group(vertex.group(), |group| {
                if group.members_changed().visible_at(since) {
                    return ChangedSince::No;
                }
                self.newer_in(vertex, VERTICES, &whole(vertex), since, ChangeKind::Members)
            }),
            Key::VertexProperty(vertex, key) => {
                self.newer_in(vertex, VERTICES, &whole(vertex), since, ChangeKind::Property(key))
            }
            Key::VertexRecord(vertex) => {
                self.newer_in(vertex, VERTICES, &whole(vertex), since, ChangeKind::Any)
            }
            Key::Adjacency(vertex) => self.in_group(vertex.group(), |group| {
                let keys = RecordKey::whole_row(vertex.row());
                let memory = self.graph.writer().memory();
                let segments = group.segments();
                let of_edges = segments.iter().filter(|segment| segment.0 != VERTICES);
                let answers =
                    of_edges.map(|(_, segment)| segment.newer(&memory, &keys, since, ChangeKind::Any));
                answers.fold(ChangedSince::No, |all, one| match (all, one) {
                    (ChangedSince::Yes, _) | (_, ChangedSince::Yes) => ChangedSince::Yes,
                    (ChangedSince::Forgotten, _) | (_, ChangedSince::Forgotten) => ChangedSince::Forgotten,
                    _ => ChangedSince::No,
                })
            }),
            Key::Edge(edge) => {
                let keys = RecordKey::of_edge(&edge).only();
                self.newer_in(edge.source, out(edge.edge_type), &keys, since, ChangeKind::Any)
            }
            Key::EdgeProperty(edge, key) => {
                let keys = RecordKey::of_edge(&edge).only();
                self.newer_in(edge.source, out(edge.edge_type), &keys, since, ChangeKind::Property(key))
            }
            Key::EdgeMember(edge) => {
                let keys = RecordKey::of_edge(&edge).only();
                self.newer_in(edge.source, out(edge.edge_type), &keys, since, ChangeKind::Members)
            }
            Key::Members(group) => self.in_group(group, |group| newer_than(group.members_changed(), since)),
            Key::Vertices(group) => self.changed_in(group, VERTICES, since),
            Key::List(vertex, edge_type, side) => {
                let keys = RecordKey::whole_row(vertex.row());
                self.newer_in(vertex, edges(edge_type, side), &keys, since, ChangeKind::Members)
            }
            Key::ListProperty(vertex, edge_type, key) => {
                let keys = RecordKey::whole_row(vertex.row());
                self.newer_in(vertex, out(edge_type), &keys, since, ChangeKind::Property(key))
            }
            Key::Between(source, edge_type, target) => {
                let keys = RecordKey::parallel(source.row(), target.0);
                self.newer_in(source, out(edge_type), &keys, since, ChangeKind::Members)
            }
            Key::Edges(group, edge_type, side) => self.changed_in(group, edges(edge_type, side), since),
        }
    }

    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let group = self.graph.groups().get(source.group());
        let segment = group.and_then(|group| group.segment(edges(edge_type, Direction::Out)));
        // The present, not the snapshot's layer: what was deleted before is free unless a record tells of it, and records
        // stay findable as long as a writer may ask.
        segment.map_or(Ok(()), |segment| {
            let (memory, bodies) = (self.graph.writer().memory(), self.graph.bodies());
            segment.taken_discriminators(&memory, bodies, source.row(), target.0, taken)
        })
    }

    fn append(&self, timestamp: Timestamp, mut prepared: PreparedCommit) -> UnusedBlocks {
        prepared.append(&self.graph, timestamp);
        UnusedBlocks { _prepared: Some(prepared) }
    }

    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        for (_, mutation) in mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                let found = self.graph.open_group(vertex.group(), *label).label;
                if found != *label {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        format!("vertex {vertex} has label {} in the log, its group {}", label.0, found.0),
                    ));
                }
            }
        }
        let records = CommitRecords::replayed(mutations, None)?;
        for (target, records) in records.parts() {
            let (group, segment) = segment_of(&self.graph, target, records)?;
            if target.subject.is_none()
                && let Some(newest) = records.iter().map(|record| record.stamp.timestamp()).max()
            {
                group.set_members_changed(newest);
            }
            // A hub has a base of its own: rows are compared with the segment that has them.
            for_each_row_segment(&segment, records, |segment, of_group, records| {
                self.replay_records(segment, of_group, records)
            })?;
        }
        for (number, mut records) in records_of_replayed(&self.graph, mutations) {
            let segment = self.graph.index_segment(number)?;
            let base = segment.base();
            records.retain(|record| record.stamp.timestamp() > base);
            self.graph.install_found(&segment, None, records)?;
            self.graph.help(&segment);
        }
        if self.graph.records_waiting() > self.graph.records_allowed() {
            self.graph.merge_everything()?;
        }
        // Nobody else frees what merges replaced: `live` would grow with the log, not with the graph.
        self.graph.reclaim();
        Ok(())
    }

    fn catalogue_changed(&self, timestamp: Timestamp, catalogue: &Arc<Catalogue>) {
        self.graph.catalogue().note(timestamp, catalogue, &self.graph.indexes().load());
    }

    fn readable_grew(&self) {
        self.graph.readable_grew();
    }

    #[inline]
    fn snapshot_ended(&self) {
        self.graph.snapshot_ended();
    }

    fn statistics(&self) -> EngineStatistics {
        self.graph.statistics()
    }
}
