//! Shared tables: what follows from the log, for the threads of a node that read and write graphs.
//!
//! ```text
//! thread of the node   messages ──> tables ── publish ──> the newest moment ── newest, wait_for ──> readers, coordinators
//! ```
//!
//! Whoever begins at S takes the moment of S, or a later one. Both are right for reading at S:
//!
//! - Groups get a label once and keep it. One that got its label after S has no vertex at S, so that its partition answers that
//!   nothing is there: it costs a question, and changes no answer, as with groups that any engine reports early
//!   ([`View`](evergraph_storage::view::View)). An earlier moment would lack groups: nobody reads by one.
//! - Names, types and indexes of the catalogue are added, and whoever reads needs at least those that S shows, as in a store
//!   of a whole graph. An index that was dropped since is not asked; the holders scan.
//!
//! - Placement keys hold for all snapshots up to their moment, and are lost and never come back: a later moment asks more
//!   partitions, perhaps, and never too few.
//!
//! A coordinator begins exactly at a moment, so that what it checks and touches rests on the tables of its snapshot.

use crate::digest::SeenLog;
use crate::key_hash::graph_salt::GraphSalt;
use crate::log_position::LogPosition;
use crate::node::apply::AppliedMessage;
use crate::node::replicated_state::{RecordResult, ReplicatedState};
use crate::planted::{Bug, planted};
use crate::remote::remote_snapshot::GraphMap;
use crate::tables::cluster_tables::{ClusterTables, TableAnswer};
use crate::tables::groups::Groups;
use crate::tables::index_builds::{BuildStage, IndexBuild};
use crate::tables::placement_keys::{PlacementKeys, ValuePartitions};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{GroupId, LabelId, PartitionId};
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::{Condvar, Mutex};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Groups whose labels are copied together when one gets its label.
const CHUNK_GROUPS: usize = 4096;

/// The labels of all groups. A copy is cheap, and stays as it is.
#[derive(Clone, Debug, Default)]
struct GroupLabels {
    chunks: Arc<Vec<Arc<Vec<Option<LabelId>>>>>,
    /// One more than the highest group that has a label.
    count: u32,
}

/// What follows from the log up to a message.
#[derive(Clone, Debug)]
pub struct TablesMoment {
    seen: SeenLog,
    salt: GraphSalt,
    partitions: PartitionCount,
    labels: GroupLabels,
    catalogue: Arc<Catalogue>,
    builds: Arc<[BuildMoment]>,
    placement_keys: PlacementKeys,
}

/// An index that is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildMoment {
    /// What it becomes.
    pub definition: IndexDefinition,
    /// The record that created it.
    pub created: Timestamp,
    /// How far it is.
    pub stage: BuildStage,
    /// Nodes that serve partitions and have filled it.
    pub nodes_done: u32,
    /// Nodes that serve partitions.
    pub nodes_count: u32,
}

impl BuildMoment {
    fn all(tables: &ClusterTables) -> Arc<[Self]> {
        let (partitions, placement) = (tables.groups().partitions(), tables.placement());
        let of_build = |build: &IndexBuild| {
            let IndexBuild { definition, created, stage, .. } = *build;
            let (nodes_done, nodes_count) = build.progress(partitions, placement);
            Self { definition, created, stage, nodes_done, nodes_count }
        };
        tables.builds().all().map(of_build).collect()
    }
}

/// What a node has applied, for its other threads. Clones are the same.
///
/// # Concurrency
///
/// The thread of the node publishes, any thread takes what is newest. One lock orders them, inside which nothing else is locked:
/// a moment is published before anybody is told that its messages are applied.
#[derive(Clone)]
pub struct SharedTables {
    shared: Arc<Shared>,
}

/// Publishes. Dropped, it tells whoever waits that nothing follows.
pub(crate) struct TablesPublisher {
    tables: SharedTables,
    moment: TablesMoment,
}

struct Shared {
    state: Mutex<SharedState>,
    news: Condvar,
}

struct SharedState {
    newest: Arc<TablesMoment>,
    has_ended: bool,
}

/// Why a moment does not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WaitError {
    /// The node has not applied as much in time, or before the limit ended.
    TimedOut,
    /// The node has stopped.
    Ended,
}

impl GroupLabels {
    fn of(groups: &Groups) -> Self {
        let mut labels = Self::default();
        groups.all().for_each(|group| labels.set(group.id, group.label));
        labels
    }

    fn get(&self, group: GroupId) -> Option<LabelId> {
        let at = group.0 as usize;
        *self.chunks.get(at / CHUNK_GROUPS)?.get(at % CHUNK_GROUPS)?
    }

    /// Cost: a copy of a chunk if somebody holds one, for 4,096 vertices or more.
    fn set(&mut self, group: GroupId, label: LabelId) {
        if self.get(group) == Some(label) {
            return;
        }
        let at = group.0 as usize;
        let chunks = Arc::make_mut(&mut self.chunks);
        while chunks.len() <= at / CHUNK_GROUPS {
            chunks.push(Arc::new(vec![None; CHUNK_GROUPS]));
        }
        Arc::make_mut(&mut chunks[at / CHUNK_GROUPS])[at % CHUNK_GROUPS] = Some(label);
        self.count = self.count.max(group.0 + 1);
    }
}

impl TablesMoment {
    fn of(state: &ReplicatedState) -> Self {
        let tables = state.tables();
        Self {
            seen: state.seen(),
            salt: state.salt(),
            partitions: tables.groups().partitions(),
            labels: GroupLabels::of(tables.groups()),
            catalogue: Arc::new(tables.catalogue().clone()),
            builds: BuildMoment::all(tables),
            placement_keys: tables.placement_keys().clone(),
        }
    }

    /// The newest message that it follows from, and the log up to there.
    #[must_use]
    pub fn seen(&self) -> SeenLog {
        self.seen
    }

    /// The salt of the graph.
    #[must_use]
    pub fn salt(&self) -> GraphSalt {
        self.salt
    }

    /// Names, types of properties, indexes that are ready.
    #[must_use]
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Indexes that are being built.
    #[must_use]
    pub fn builds(&self) -> &[BuildMoment] {
        &self.builds
    }

    /// How far an index is that is being built.
    #[must_use]
    pub fn build(&self, index: IndexId) -> Option<&BuildMoment> {
        self.builds.iter().find(|build| build.definition.id == index)
    }

    /// Whether nobody may enter a value under `key` that another item of `owner` has, since it is in an index that is unique or
    /// is being made so.
    #[must_use]
    pub fn is_unique(&self, index: IndexId) -> bool {
        let is_enforced =
            |build: &BuildMoment| build.stage == BuildStage::Enforced && !planted(Bug::UniqueUnenforced);
        self.catalogue.index(index).is_some_and(|known| known.unique)
            || self.build(index).is_some_and(is_enforced)
    }

    /// Where a new vertex with these properties belongs, if its label is placed by a key of which it has a value. Anywhere else
    /// it would be found, too, and the label scattered from then on.
    ///
    /// `properties` are those that it is inserted with: fitted to the types of the label's properties.
    ///
    /// Cost: a hash of the value.
    #[must_use]
    pub fn partition_for(&self, label: LabelId, properties: &Properties) -> Option<PartitionId> {
        let value = properties.get(self.placement_keys.key(label)?).flatten()?;
        Some(self.value_partitions().of(value))
    }

    fn value_partitions(&self) -> ValuePartitions {
        ValuePartitions { salt: self.salt, count: self.partitions }
    }
}

impl GraphMap for TablesMoment {
    fn partitions(&self) -> PartitionCount {
        self.partitions
    }

    fn group_count(&self) -> u32 {
        self.labels.count
    }

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        self.labels.get(group)
    }

    /// By any index on the key that the label is placed by, of either kind.
    fn partition_of_value(&self, index: IndexId, value: &Value) -> Option<PartitionId> {
        let Owner::Label(label) = index.owner else { return None };
        let is_placed = self.placement_keys.key(label) == Some(index.key);
        is_placed.then(|| self.value_partitions().of(value))
    }
}

impl TablesPublisher {
    /// Of a node that goes on after `state`.
    pub(crate) fn new(state: &ReplicatedState) -> Self {
        let moment = TablesMoment::of(state);
        let state = SharedState { newest: Arc::new(moment.clone()), has_ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), news: Condvar::new() });
        Self { tables: SharedTables { shared }, moment }
    }

    /// Where others take it.
    pub(crate) fn tables(&self) -> &SharedTables {
        &self.tables
    }

    /// The node has applied `messages`, and has come to `state`.
    pub(super) fn publish<'m>(
        &mut self,
        state: &ReplicatedState,
        messages: impl Iterator<Item = &'m AppliedMessage>,
    ) {
        let moment = &mut self.moment;
        if state.seen() == moment.seen {
            return;
        }
        let (tables, groups) = (state.tables(), state.tables().groups());
        for record in messages.flat_map(|message| &message.records) {
            if let RecordResult::Table(TableAnswer::Rows(Ok(range))) = record.result
                && let Some(label) = groups.label(range.group)
                && !planted(Bug::NewGroupsUnpublished)
            {
                moment.labels.set(range.group, label);
            }
        }
        // Clones of a catalogue share their tables, and equal ones are mostly the same.
        if *moment.catalogue != *tables.catalogue() {
            moment.catalogue = Arc::new(tables.catalogue().clone());
        }
        if tables.builds().all().len() > 0 || !moment.builds.is_empty() {
            moment.builds = BuildMoment::all(tables);
        }
        if !planted(Bug::ScatteringUnpublished) {
            moment.placement_keys = tables.placement_keys().clone();
        }
        moment.seen = state.seen();
        let newest = Arc::new(moment.clone());
        let mut shared = self.tables.shared.state.lock();
        let before = std::mem::replace(&mut shared.newest, newest);
        drop(shared);
        drop(before);
        self.tables.shared.news.notify_all();
    }
}

impl Drop for TablesPublisher {
    fn drop(&mut self) {
        self.tables.shared.state.lock().has_ended = true;
        self.tables.shared.news.notify_all();
    }
}

impl SharedTables {
    /// The newest moment, also of a node that has stopped.
    #[must_use]
    pub fn newest(&self) -> Arc<TablesMoment> {
        Arc::clone(&self.shared.state.lock().newest)
    }

    /// Whether the node has stopped.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.state.lock().has_ended
    }

    /// The newest moment, once the node has applied the message at `position`; waits for it until `clock` says `until`, and no
    /// longer than `limit` lasts.
    ///
    /// # Errors
    /// [`WaitError`].
    pub fn wait_for(
        &self,
        position: LogPosition,
        until: Duration,
        clock: &dyn Clock,
        limit: &WaitLimit,
    ) -> Result<Arc<TablesMoment>, WaitError> {
        let mut state = self.shared.state.lock();
        loop {
            if state.newest.seen.position >= position {
                return Ok(Arc::clone(&state.newest));
            }
            if state.has_ended {
                return Err(WaitError::Ended);
            }
            let left = until.saturating_sub(clock.now());
            if left.is_zero() || limit.has_ended() {
                return Err(WaitError::TimedOut);
            }
            (state, _) = self.shared.news.wait_timeout(state, limit.until_next_look(left));
        }
    }
}

impl fmt::Debug for SharedTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTables").field("seen", &self.newest().seen).finish_non_exhaustive()
    }
}

impl fmt::Debug for TablesPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TablesPublisher").field("tables", &self.tables).finish_non_exhaustive()
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "the node is behind the log: try again in a moment",
            Self::Ended => "the node has stopped",
        })
    }
}

impl std::error::Error for WaitError {}

#[cfg(test)]
mod placed_values;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certification::certifier::CertifierLimits;
    use crate::log::reader::ReadMessage;
    use crate::node::replicated_state::DecidedMessage;
    use crate::planted::assert_found;
    use crate::record::body::{NewName, Record, RecordBody};
    use crate::record::message::{Message, MessageBuilder};
    use crate::record_id::{Author, NodeId};
    use crate::tables::cluster_tables::ClusterTables;
    use crate::tables::members::Members;
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::id::KeyId;
    use evergraph_graph::index::IndexKind;
    use evergraph_storage::io::clock::ManualClock;
    use evergraph_storage::sync::thread::spawn;
    use std::sync::mpsc::channel;

    const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };

    /// A node that applies messages of its own.
    struct Log {
        state: ReplicatedState,
        number: u64,
        publisher: TablesPublisher,
    }

    impl Log {
        fn new() -> Self {
            let mut members = Members::new([(AUTHOR.node, "a:1".into())]);
            members.join(AUTHOR, "a:1".into()).expect("nobody has joined");
            let partitions = PartitionCount::new(4).expect("four are possible");
            let tables = ClusterTables::new(partitions, members, 1);
            let state = ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables);
            let publisher = TablesPublisher::new(&state);
            Self { state, number: 0, publisher }
        }

        fn apply(&mut self, body: RecordBody) -> AppliedMessage {
            self.number += 1;
            let mut builder = MessageBuilder::new(AUTHOR);
            assert!(builder.push(&Record { number: self.number, body }));
            let bytes: Arc<[u8]> = builder.finish(&self.state.seen()).into();
            let message = Message::decode(&bytes).expect("it was just made");
            let position = self.state.seen().position.next();
            let length = bytes.len();
            let decided = self.state.apply(ReadMessage { position, message, bytes });
            let DecidedMessage { seen, author, records, .. } = decided;
            AppliedMessage { seen, author, records, bytes: length }
        }

        fn publish(&mut self, messages: &[AppliedMessage]) {
            self.publisher.publish(&self.state, messages.iter());
        }

        fn send(&mut self, body: RecordBody) {
            let applied = self.apply(body);
            self.publish(&[applied]);
        }
    }

    fn name(name: NewName) -> RecordBody {
        RecordBody::Name { name, touches: Vec::new() }
    }

    fn rows(partition: u16) -> RecordBody {
        RecordBody::Rows { label: LabelId(0), partition: PartitionId(partition), touches: Vec::new() }
    }

    #[test]
    fn a_moment_stays_as_it_is_and_the_next_one_has_what_followed() {
        let mut log = Log::new();
        let tables = log.publisher.tables().clone();
        let empty = tables.newest();
        log.send(name(NewName::Label("Person".into())));
        log.send(name(NewName::Key("name".into())));
        let messages = [log.apply(rows(2)), log.apply(rows(1)), log.apply(rows(2))];
        assert_eq!(tables.newest().group_count(), 0, "nothing is published yet");
        log.publish(&messages);
        let newest = tables.newest();
        assert_eq!((newest.group_count(), newest.seen()), (3, log.state.seen()), "the new groups");
        let labels = (0..4).map(|group| newest.group_label(GroupId(group)));
        let person = Some(LabelId(0));
        assert_eq!(labels.collect::<Vec<_>>(), [None, person, person, None]);
        assert_eq!(newest.group_label(GroupId(u32::MAX)), None);
        assert_eq!(newest.catalogue().label("Person"), person);
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Hash };
        let index = IndexDefinition { id, unique: true };
        log.send(RecordBody::CreateIndex { index, touches: Vec::new() });
        let building = tables.newest().build(id).map(|build| (build.definition, build.stage));
        assert_eq!((building, newest.build(id)), (Some((index, BuildStage::Filling)), None));
        assert!(Arc::ptr_eq(tables.newest().catalogue(), newest.catalogue()), "it has not changed");
        assert_eq!((empty.group_count(), empty.catalogue().label("Person")), (0, None));
        let asked = |moment: &TablesMoment| moment.partition_of_value(id, &Value::I64(1));
        assert_eq!((asked(&newest), asked(&tables.newest()).is_some()), (None, true), "placed since then");
    }

    #[test]
    fn a_node_that_starts_again_shows_the_groups_of_its_checkpoint() {
        let mut log = Log::new();
        log.send(name(NewName::Label("Person".into())));
        (0..20).for_each(|_| log.send(rows(3)));
        let again = TablesPublisher::new(&log.state).tables().newest();
        assert_eq!(again.group_count(), 8);
        let labels =
            |moment: &TablesMoment| (0..9).map(|at| moment.group_label(GroupId(at))).collect::<Vec<_>>();
        assert_eq!(labels(&again), labels(&log.publisher.tables().newest()));
    }

    #[test]
    fn whoever_waits_is_told_when_it_comes_and_when_it_never_will() {
        let mut log = Log::new();
        let (tables, clock) = (log.publisher.tables().clone(), ManualClock::new(0));
        let second = LogPosition(2);
        let endless = WaitLimit::default();
        assert_eq!(
            tables.wait_for(second, Duration::ZERO, &clock, &endless).err(),
            Some(WaitError::TimedOut)
        );
        let flag = CancelFlag::default();
        flag.cancel();
        let (later, ended) = (Duration::from_secs(60), WaitLimit::default().and(flag));
        assert_eq!(tables.wait_for(second, later, &clock, &ended).err(), Some(WaitError::TimedOut));
        let waits = tables.clone();
        let (clock_of_waiting, (told, came)) = (ManualClock::new(0), channel());
        let waiting = spawn("waits", move || {
            let came = waits.wait_for(second, later, &clock_of_waiting, &WaitLimit::default());
            told.send(came.map(|moment| moment.seen())).expect("the test listens");
        });
        log.send(RecordBody::Barrier);
        log.send(RecordBody::Barrier);
        assert_eq!(came.recv().expect("it only waits"), Ok(log.state.seen()));
        waiting.expect("the system has a thread").join().expect("it only waits");
        drop(log);
        let never = tables.wait_for(LogPosition(9), later, &clock, &endless);
        assert_eq!(never.err(), Some(WaitError::Ended));
        assert_eq!(tables.newest().seen().position, second);
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = a_moment_stays_as_it_is_and_the_next_one_has_what_followed;
        assert_found(Bug::NewGroupsUnpublished, test, "the new groups");
    }
}
