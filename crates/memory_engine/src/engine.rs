//! The memory engine as an `Engine`: records and bodies in RAM.

use crate::checkpoint::write::Checkpointer;
use crate::frozen::FrozenTopology;
use crate::group::{Group, GroupTable};
use crate::load::build::DisplacedByLoad;
use crate::merger::{Job, MergeMemory, Merger};
use crate::records::{Prepared, Target};
use crate::segment::tail::TAIL_CAPACITY;
use crate::segment::version::{Segment, Version};
use crate::segments::Segments;
use crate::view::MemoryView;
use evergraph_bodies::body::Body;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::frozen::label_lists::LabelLists;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Operation, Record, RecordKey, RecordRef};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::timeline::clock::Timeline;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// How long a writer sleeps before it looks for room again, if no merge wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Segments in RAM, and the files that checkpoints keep them in.
#[derive(Debug)]
pub struct MemoryEngine {
    segments: Segments,
    checkpointer: Checkpointer,
    /// Where merging is, of an engine that is stepped.
    rounds: Mutex<Option<MergeMemory>>,
    /// What snapshots leave for the next ones to freeze.
    label_lists: Arc<LabelLists>,
}

/// What a commit or a load displaced; freed outside the latch.
#[derive(Debug, Default)]
pub struct DisplacedVersions {
    prepared: Option<Prepared>,
    edges: Vec<Arc<Version<EdgeBody>>>,
    vertices: Vec<Arc<Version<VertexBody>>>,
}

impl DisplacedVersions {
    /// By a load.
    pub(super) fn of_load(DisplacedByLoad { edges, vertices }: DisplacedByLoad) -> Self {
        Self { prepared: None, edges, vertices }
    }
}

impl MemoryEngine {
    /// Its name in manifests.
    pub const NAME: &'static str = "memory";

    /// An engine without groups, whose checkpoints go to memory too: for a store that is never opened again.
    #[must_use]
    pub fn new(timeline: Arc<Timeline>) -> Self {
        let directory = Arc::new(MemoryDirectory::new("memory"));
        let budget = MemoryBudget::new(u64::MAX);
        Self::with_files(Segments::new(timeline), Checkpointer::new(directory), &budget)
    }

    /// The engine of `segments`, stored by `checkpointer`. What snapshots leave for the next takes what is free of `budget`.
    #[must_use]
    pub fn with_files(segments: Segments, checkpointer: Checkpointer, budget: &MemoryBudget) -> Self {
        Self { segments, checkpointer, rounds: Mutex::new(None), label_lists: LabelLists::new(budget) }
    }

    /// The segments.
    #[must_use]
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Who makes its checkpoints.
    #[must_use]
    pub fn checkpointer(&self) -> &Checkpointer {
        &self.checkpointer
    }

    /// Merges every segment up to what is readable now. For tests, benchmarks and quiet times.
    pub fn merge_everything(&self) {
        self.segments.merge_everything();
    }

    /// Merges as the merge thread does in one round, as [`Merger::step`].
    pub(super) fn step_merges(&self, quiet: bool) {
        let mut rounds = self.rounds.lock();
        let rounds = rounds.get_or_insert_with(|| MergeMemory::new(self.timeline()));
        self.segments.step_merges(rounds, quiet);
    }

    fn groups(&self) -> &GroupTable {
        self.segments.groups()
    }

    fn merger(&self) -> &Merger {
        self.segments.merger()
    }

    fn timeline(&self) -> &Timeline {
        self.segments.timeline()
    }

    fn in_group(&self, group: GroupId, check: impl FnOnce(&Group) -> ChangedSince) -> ChangedSince {
        self.groups().get(group).map_or(ChangedSince::No, |group| check(group))
    }

    fn newer_edge(
        &self,
        edge: EdgeId,
        since: Timestamp,
        matches: impl Fn(RecordRef<'_>) -> bool,
    ) -> ChangedSince {
        let subject = EdgeSubject::new(edge.edge_type, Direction::Out);
        let keys = RecordKey::of_edge(&edge).only();
        self.newer_edges(edge.source, subject, &keys, since, matches)
    }

    fn newer_edges(
        &self,
        vertex: VertexId,
        subject: EdgeSubject,
        keys: &RangeInclusive<RecordKey>,
        since: Timestamp,
        matches: impl Fn(RecordRef<'_>) -> bool,
    ) -> ChangedSince {
        self.in_group(vertex.group(), |group| {
            group
                .edge_segment(subject)
                .map_or(ChangedSince::No, |segment| segment.newer(keys, since, matches))
        })
    }

    fn append_edges(
        &self,
        timestamp: Timestamp,
        segment: &Arc<Segment<EdgeBody>>,
        records: &[Record],
        displaced: &mut DisplacedVersions,
    ) {
        if segment.load().layer.hubs.is_empty() {
            let appended = segment.append(timestamp, records);
            self.merger().appended(segment, records.len(), &appended);
            displaced.edges.extend(appended.displaced);
            return;
        }
        let hubs = Arc::clone(&segment.load().layer.hubs);
        segment.hub_changed(timestamp);
        for part in records.chunk_by(|a, b| a.key.row() == b.key.row()) {
            let hub = hubs.binary_search_by_key(&part[0].key.row(), |hub| hub.row);
            let target = hub.map_or(segment, |at| &hubs[at].segment);
            let appended = target.append(timestamp, part);
            self.merger().appended(target, part.len(), &appended);
            displaced.edges.extend(appended.displaced);
        }
    }

    /// Installs records of commits that are replayed, sorted by key and time, and merges what is overdue:
    /// nobody else does yet. What this very call installed is not readable before it is published, and
    /// waits for the next.
    fn replay_records<B: Body>(&self, segment: &Arc<Segment<B>>, records: &[Record])
    where
        Job: for<'a> From<&'a Arc<Segment<B>>>,
    {
        let base = segment.load().layer.base;
        let mut records = Cow::Borrowed(records);
        if records.iter().any(|record| record.stamp.timestamp() <= base) && !planted(Bug::NoFilter) {
            records.to_mut().retain(|record| record.stamp.timestamp() > base);
        }
        let Some(newest) = records.iter().map(|record| record.stamp.timestamp()).max() else { return };
        if records.len() <= TAIL_CAPACITY {
            // A tail is in commit order; more than fits there is sorted into the run anyway.
            records.to_mut().sort_unstable_by_key(|record| (record.stamp, record.key));
        }
        let appended = segment.append(newest, &records);
        self.merger().appended(segment, records.len(), &appended);
        drop(appended);
        if self.merger().is_overdue(segment) {
            self.merger().merge(self.timeline(), &Job::from(segment));
        }
    }

    /// Does overdue merges of the segments that a commit is about to change, or has changed.
    fn merge_overdue(&self, prepared: &Prepared) {
        for (target, _) in prepared.parts() {
            match target {
                Target::Vertices(group, _) => self.help(&group.vertices),
                Target::Edges(segment) => self.help(segment),
            }
        }
    }

    /// Merges a segment that is overdue before its writer goes on.
    fn help<B: Body>(&self, segment: &Arc<Segment<B>>)
    where
        Job: for<'a> From<&'a Arc<Segment<B>>>,
    {
        if self.merger().needs_help(self.timeline(), segment) {
            let began = self.timeline().clock().now();
            self.merger().help(self.timeline(), segment);
            self.merger().counters.stalled(self.timeline().clock().now().saturating_sub(began));
        }
    }

    /// Does overdue merges of the segments that a commit is about to change, and waits while
    /// records outgrow bodies, for about `patience`.
    fn make_room(&self, prepared: &Prepared, patience: Duration) -> Result<()> {
        self.merge_overdue(prepared);
        let waiting = || self.merger().counters.records.load(Ordering::Relaxed);
        if waiting() <= self.merger().records_allowed() {
            return Ok(());
        }
        let clock = self.timeline().clock();
        let began = clock.now();
        let waited = || clock.now().saturating_sub(began);
        let mut answer = Ok(());
        while waiting() > self.merger().records_allowed() {
            let left = patience.saturating_sub(waited());
            if left.is_zero() {
                answer = Err(self.no_room(waiting(), patience));
                break;
            }
            self.merger().wait_for_progress(left.min(LOOK_AGAIN));
        }
        self.merger().counters.stalled(waited());
        answer
    }

    #[cold]
    fn no_room(&self, waiting: u64, patience: Duration) -> Error {
        let text = format!(
            "{waiting} records wait to be merged, more than the {} that fit, and a wait of {patience:.1?} did \
             not help: merges cannot keep up with writes, or the log's sync takes too long; try again later",
            self.merger().records_allowed()
        );
        Error::new(ErrorKind::Limit, text)
    }
}

/// The error of an algorithm on a part of a graph: its lists end at vertices that are not here.
#[cold]
fn half_lists(own: OwnGroups) -> Error {
    Error::invalid(format!("the store holds {own} of a graph, and algorithms read all of it"))
}

/// Whether there is one item more or less since this record.
fn counts(record: RecordRef<'_>) -> bool {
    record.stamp.difference() != 0
}

fn mentions(record: RecordRef<'_>, key: KeyId) -> bool {
    record.stamp.operation() != Operation::Set || record.payload.get(key).is_some()
}

/// Whether the newest change, at `changed`, is newer than `since`.
fn newer_than(changed: Timestamp, since: Timestamp) -> ChangedSince {
    if changed.visible_at(since) { ChangedSince::No } else { ChangedSince::Yes }
}

fn whole(vertex: VertexId) -> RangeInclusive<RecordKey> {
    RecordKey::vertex(vertex.row()).only()
}

impl Engine for MemoryEngine {
    type Pin = ();
    type View<'a> = MemoryView<'a>;
    type Topology = FrozenTopology;
    type Prepared = Prepared;
    type Displaced = DisplacedVersions;

    const KEEPS_INDEXES: bool = false;

    #[inline]
    fn pin(&self, _timestamp: Timestamp) {}

    #[inline]
    fn view<'a>(&'a self, _pin: &'a (), timestamp: Timestamp) -> MemoryView<'a> {
        MemoryView::new(self.groups(), timestamp)
    }

    #[inline]
    fn freeze(&self, _pin: &(), timestamp: Timestamp, request: &FreezeRequest<'_>) -> Result<FrozenTopology> {
        if let Some(own) = self.segments.own_groups() {
            return Err(half_lists(own));
        }
        FrozenTopology::new(&MemoryView::new(self.groups(), timestamp), Some(&self.label_lists), request)
    }

    fn open_group(&self, group: GroupId, label: LabelId) {
        self.groups().insert(Arc::new(Group::new(group, label, Timestamp::ZERO, VertexBody::empty())));
    }

    fn prepare(&self, mutations: &[Mutation], _: &IndexChanges, patience: Duration) -> Result<Prepared> {
        let prepared = Prepared::new(self.groups(), mutations, self.segments.own_groups())?;
        self.make_room(&prepared, patience)?;
        Ok(prepared)
    }

    #[inline]
    fn group_count(&self) -> u32 {
        self.groups().end()
    }

    #[inline]
    fn has_group(&self, group: GroupId) -> bool {
        self.groups().get(group).is_some()
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        self.groups().edge_types(group, side)
    }

    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        match *key {
            Key::Vertex(vertex) => self.in_group(vertex.group(), |group| {
                if group.members_changed().visible_at(since) {
                    return ChangedSince::No;
                }
                group.vertices.newer(&whole(vertex), since, counts)
            }),
            Key::VertexProperty(vertex, key) => self.in_group(vertex.group(), |group| {
                group.vertices.newer(&whole(vertex), since, |record| mentions(record, key))
            }),
            Key::VertexRecord(vertex) => {
                self.in_group(vertex.group(), |group| group.vertices.newer(&whole(vertex), since, |_| true))
            }
            Key::Adjacency(vertex) => self.in_group(vertex.group(), |group| {
                let keys = RecordKey::whole_row(vertex.row());
                let edges = group.edges();
                let answers = edges.iter().map(|edge| edge.segment.newer(&keys, since, |_| true));
                answers.fold(ChangedSince::No, |all, one| match (all, one) {
                    (ChangedSince::Yes, _) | (_, ChangedSince::Yes) => ChangedSince::Yes,
                    (ChangedSince::Forgotten, _) | (_, ChangedSince::Forgotten) => ChangedSince::Forgotten,
                    _ => ChangedSince::No,
                })
            }),
            Key::Edge(edge) => self.newer_edge(edge, since, |_| true),
            Key::EdgeProperty(edge, key) => self.newer_edge(edge, since, |record| mentions(record, key)),
            Key::EdgeMember(edge) => self.newer_edge(edge, since, counts),
            Key::Members(group) => self.in_group(group, |group| newer_than(group.members_changed(), since)),
            Key::Vertices(group) => self.in_group(group, |group| newer_than(group.vertices.changed(), since)),
            Key::List(vertex, edge_type, side) => {
                let keys = RecordKey::whole_row(vertex.row());
                self.newer_edges(vertex, EdgeSubject::new(edge_type, side), &keys, since, counts)
            }
            Key::ListProperty(vertex, edge_type, key) => {
                let keys = RecordKey::whole_row(vertex.row());
                let subject = EdgeSubject::new(edge_type, Direction::Out);
                self.newer_edges(vertex, subject, &keys, since, |record| mentions(record, key))
            }
            Key::Between(source, edge_type, target) => {
                let keys = RecordKey::parallel(source.row(), target.0);
                let subject = EdgeSubject::new(edge_type, Direction::Out);
                self.newer_edges(source, subject, &keys, since, counts)
            }
            Key::Edges(group, edge_type, side) => self.in_group(group, |group| {
                let segment = group.edge_segment(EdgeSubject::new(edge_type, side));
                segment.map_or(ChangedSince::No, |segment| newer_than(segment.changed(), since))
            }),
        }
    }

    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let subject = EdgeSubject::new(edge_type, Direction::Out);
        let group = self.groups().get(source.group());
        let Some(segment) = group.and_then(|group| group.edge_segment(subject)) else { return Ok(()) };
        // The present, not the snapshot's layer: what was deleted before is free unless a record
        // tells of it, and records stay findable as long as a writer may ask. One version: a row that
        // becomes a hub meanwhile is in it still, or its hub is.
        let version = segment.load_full();
        let version = match version.layer.hub(source.row()) {
            Some(hub) => hub.load_full(),
            None => version,
        };
        let keys = RecordKey::parallel(source.row(), target.0);
        let body = &version.layer.body;
        taken.extend(body.lists().parallel(source.row(), target.0).map(|at| body.discriminator(at)));
        let records = version.layer.run.range(&keys).chain(version.history.range(&keys));
        taken.extend(records.map(|record| record.key.discriminator()));
        let aside = version.layer.aside.runs().flat_map(|run| run.range(&keys));
        taken.extend(aside.map(|record| record.key.discriminator()));
        let tail = version.layer.tail.iter().filter(|record| keys.contains(&record.key));
        taken.extend(tail.map(|record| record.key.discriminator()));
        Ok(())
    }

    fn append(&self, timestamp: Timestamp, mut prepared: Prepared) -> DisplacedVersions {
        prepared.stamp(timestamp);
        let mut displaced = DisplacedVersions::default();
        for (target, records) in prepared.parts() {
            match target {
                Target::Vertices(group, members) => {
                    let appended = group.vertices.append(timestamp, records);
                    if *members {
                        group.members_changed.store(timestamp.0, Ordering::Release);
                    }
                    self.merger().appended(&group.vertices, records.len(), &appended);
                    displaced.vertices.extend(appended.displaced);
                }
                Target::Edges(segment) => self.append_edges(timestamp, segment, records, &mut displaced),
            }
        }
        displaced.prepared = Some(prepared);
        displaced
    }

    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        for (_, mutation) in mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                let group = self.groups().get(vertex.group());
                let found = group.map_or_else(
                    || {
                        self.open_group(vertex.group(), *label);
                        *label
                    },
                    |group| group.label,
                );
                if found != *label {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        format!("vertex {vertex} has label {} in the log, its group {}", label.0, found.0),
                    ));
                }
            }
        }
        let prepared = Prepared::replayed(self.groups(), mutations, self.segments.own_groups())?;
        for (target, records) in prepared.parts() {
            match target {
                Target::Vertices(group, _) => {
                    if let Some(newest) = records.iter().map(|record| record.stamp.timestamp()).max() {
                        group.members_changed.fetch_max(newest.0, Ordering::AcqRel);
                    }
                    self.replay_records(&group.vertices, records);
                }
                // A hub has a base of its own: rows are compared with the segment that has them.
                Target::Edges(segment) => {
                    let hubs = Arc::clone(&segment.load().layer.hubs);
                    if hubs.is_empty() {
                        self.replay_records(segment, records);
                        continue;
                    }
                    let mut plain = Vec::new();
                    for row in records.chunk_by(|a, b| a.key.row() == b.key.row()) {
                        match hubs.binary_search_by_key(&row[0].key.row(), |hub| hub.row) {
                            Ok(at) => self.replay_records(&hubs[at].segment, row),
                            Err(_) => plain.extend_from_slice(row),
                        }
                    }
                    self.replay_records(segment, &plain);
                }
            }
        }
        if self.merger().counters.records.load(Ordering::Relaxed) > self.merger().records_allowed() {
            self.merge_everything();
        }
        Ok(())
    }

    #[inline]
    fn snapshot_ended(&self) {
        self.merger().snapshot_ended();
    }

    #[inline]
    fn statistics(&self) -> EngineStatistics {
        self.segments.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::PartitionId;
    use evergraph_graph::partition::PartitionCount;
    use evergraph_graph::properties::Properties;
    use evergraph_storage::io::clock::ManualClock;
    use evergraph_storage::log::options::Durability;
    use evergraph_storage::open::{OpenOptions, OpenStore};
    use evergraph_storage::timeline::clock::Readable;
    use evergraph_storage::view::PointReads;

    #[test]
    fn a_commit_waits_for_merges_as_long_as_it_may_and_is_refused_then() {
        let clock = Arc::new(ManualClock::new(0));
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published).with_clock(clock);
        let engine = MemoryEngine::new(Arc::new(timeline));
        let counters = &engine.segments().merger().counters;
        let allowed = engine.segments().merger().records_allowed();
        counters.records.store(allowed, Ordering::Relaxed);
        assert!(engine.prepare(&[], &IndexChanges::NONE, Duration::ZERO).is_ok());
        counters.records.store(allowed + 1, Ordering::Relaxed);
        let error = engine.prepare(&[], &IndexChanges::NONE, Duration::ZERO).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("16777217 records wait to be merged"), "{error}");
        assert_eq!(engine.statistics().stalls, 1);
    }

    #[test]
    fn a_commit_of_a_partition_waits_for_no_merges() {
        let own_groups = OwnGroups::new(PartitionId(0), PartitionCount::new(1).unwrap());
        let options = OpenOptions { durability: Durability::None, own_groups, ..OpenOptions::default() };
        let directory = Arc::new(MemoryDirectory::new("part"));
        let open: OpenStore<MemoryEngine> = OpenStore::open(directory, &options).unwrap();
        let merger = open.store().engine().segments().merger();
        let too_many = merger.records_allowed() + 1;
        merger.counters.records.fetch_add(too_many, Ordering::Relaxed);
        let (vertex, label) = (VertexId(0), LabelId(0));
        let insert = [Mutation::InsertVertex { vertex, label, properties: Properties::EMPTY }];
        let error = open.store().apply(Timestamp(1), &insert).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("a wait of 0.0ns"), "{error}");
        merger.counters.records.fetch_sub(too_many, Ordering::Relaxed);
        open.store().apply(Timestamp(1), &insert).unwrap();
    }

    /// The lists of all vertices, and how many hubs there are, after commits of one mutation each were replayed
    /// in batches of so many.
    fn replayed(batch: usize) -> (Vec<Vec<(VertexId, u16)>>, u64) {
        let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
        let engine = MemoryEngine::new(Arc::clone(&timeline));
        (0..5).for_each(|group| engine.open_group(GroupId(group), LabelId(0)));
        let edge = |source, target, discriminator| EdgeId {
            source: VertexId(source),
            edge_type: TypeId(0),
            target: VertexId(target),
            discriminator,
        };
        let insert = |edge| Mutation::InsertEdge { edge, properties: Properties::EMPTY };
        let mut mutations: Vec<Mutation> = Vec::new();
        for target in 0..20_000 {
            mutations.push(insert(edge(7, target, 0)));
            match target % 5 {
                0 => mutations.push(insert(edge(target % 10, target / 3, target as u16))),
                1 => mutations.push(Mutation::DeleteEdge { edge: edge(7, target - 1, 0) }),
                2 => mutations.push(insert(edge(7, target - 2, 1))),
                _ => {}
            }
        }
        let commits: Vec<_> = (1..).map(Timestamp).zip(mutations).collect();
        for commits in commits.chunks(batch) {
            engine.replay(commits).unwrap();
            timeline.publish(commits[commits.len() - 1].0, &mut timeline.latch());
        }
        engine.merge_everything();
        let view = engine.view(&(), timeline.published());
        let list = |vertex, side| {
            let mut list = Vec::new();
            view.all_neighbors(VertexId(vertex), TypeId(0), side, &mut list).unwrap();
            list
        };
        let out = (0..10).map(|vertex| list(vertex, Direction::Out));
        let into = (0..20_000).map(|vertex| list(vertex, Direction::In));
        (out.chain(into).collect(), engine.statistics().hubs)
    }

    #[test]
    fn commits_are_replayed_in_batches_as_they_are_one_by_one_around_a_hub_too() {
        let (lists, hubs) = replayed(1);
        assert_eq!((lists[7].len(), hubs), (20_000, 1));
        for batch in [7, 1000, 9000] {
            assert_eq!(replayed(batch), (lists.clone(), 1), "{batch}");
        }
    }
}
