//! Log engine: a graph that lies elsewhere, in a store of its only partition, and a log that decides for all stores over it.
//!
//! The log is a lock: who commits checks what was changed since S, and applies. It is right as long as nothing is forgotten,
//! which takes merges.

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Committed, Freshness};
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::store::{SharedParts, Store, StoreOptions};
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::shared_readable::{Prepared, SharedReadable};
use evergraph_storage::transaction::build_indexes::{BegunBuild, BuildIndexes, BuildProgress, SharedBuild};
use evergraph_storage::transaction::give_names::{GiveNames, GivenName, NameRequest};
use evergraph_storage::transaction::graph_log::{GraphLog, SharedCommit};
use evergraph_storage::transaction::look_ups::NoteLookUps;
use evergraph_storage::transaction::names::Names;
use evergraph_storage::transaction::reads::{NotedRead, Reads};
use evergraph_storage::transaction::resolve::append_mutations;
use evergraph_storage::transaction::write_checks::WriteChecks;
use evergraph_storage::vertex_ids::VertexIds;
use evergraph_storage::view::View as _;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// The graph, and whoever decides.
pub struct SharedGraph {
    open: OpenStore<MemoryEngine>,
    deciding: Mutex<Names>,
    ids: VertexIds,
    /// Why nobody begins, if nobody does.
    pub refusal: Mutex<Option<String>>,
    /// What the next commit is not told, though it happens.
    pub is_next_unknown: Mutex<bool>,
    /// What sessions asked for.
    pub freshness: Mutex<Vec<Freshness>>,
    /// Whether indexes can be built; and those that are.
    pub builds: Mutex<Option<Builds>>,
}

/// Indexes of a graph, and the one that is being built.
#[derive(Default)]
pub struct Builds {
    build: Option<(SharedBuild, Stage)>,
    unique: BTreeSet<IndexId>,
    /// How often somebody waits in vain for the store to be filled.
    pub waits: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Filling,
    Filled,
    Enforced,
}

impl Builds {
    /// What the graph's catalogue is where a store has `known`.
    fn shown(&self, known: Arc<Catalogue>) -> Arc<Catalogue> {
        let mut shown = Catalogue::clone(&known);
        if let Some((build, Stage::Filling)) = self.build {
            shown.apply(&SchemaChange::DropIndex(build.definition.id));
        }
        for id in &self.unique {
            shown.apply(&SchemaChange::AddIndex(IndexDefinition { id: *id, unique: true }));
        }
        Arc::new(shown)
    }
}

impl SharedGraph {
    pub fn new() -> Arc<Self> {
        let own = OwnGroups::new(PartitionId(0), PartitionCount::new(1).unwrap()).unwrap();
        let environment = Environment::simulated(7);
        let durability = Durability::None;
        let options =
            OpenOptions { durability, environment, own_groups: Some(own), ..OpenOptions::default() };
        Arc::new(Self {
            open: OpenStore::open(Arc::new(MemoryDirectory::new("part")), &options).unwrap(),
            deciding: Mutex::new(Names::of(&Catalogue::default())),
            ids: VertexIds::default(),
            refusal: Mutex::default(),
            is_next_unknown: Mutex::default(),
            freshness: Mutex::default(),
            builds: Mutex::default(),
        })
    }

    pub fn partition(&self) -> &Store<MemoryEngine> {
        self.open.store()
    }

    /// One more store over the graph.
    pub fn store(self: &Arc<Self>) -> Store<LogEngine> {
        self.store_with(u64::MAX)
    }

    /// The same, with so much memory for what is more than the graph.
    pub fn store_with(self: &Arc<Self>, budget_bytes: u64) -> Store<LogEngine> {
        let engine = Arc::new(LogEngine { graph: Arc::clone(self), registered: Mutex::default() });
        let shared: Arc<dyn SharedReadable> = Arc::<LogEngine>::clone(&engine);
        let parts = SharedParts {
            engine,
            timeline: Arc::new(Timeline::new(Timestamp::ZERO, Readable::Shared(shared))),
            budget: Arc::new(MemoryBudget::new(budget_bytes)),
            random: Box::new(SplitMix64::new(3)),
            options: StoreOptions::default(),
        };
        Store::assemble_coordinator(parts, log_of)
    }

    fn apply(&self, mutations: &[Mutation]) -> Result<Timestamp> {
        let timestamp = self.partition().timeline().published().next();
        self.partition().apply(timestamp, mutations)?;
        Ok(timestamp)
    }
}

/// An engine over it.
pub struct LogEngine {
    graph: Arc<SharedGraph>,
    registered: Mutex<Option<Result<Snapshot<MemoryEngine>>>>,
}

impl std::fmt::Debug for LogEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogEngine").finish_non_exhaustive()
    }
}

/// What a session holds.
pub struct LogPin {
    graph: Arc<SharedGraph>,
    /// An older one, if none could begin.
    snapshot: Snapshot<MemoryEngine>,
    catalogue: Option<Arc<Catalogue>>,
    /// Why none could begin.
    refusal: Option<Error>,
    taken: Mutex<Vec<VertexId>>,
}

/// A commit that somebody prepared: there is none.
pub enum NoCommit {}

impl SharedReadable for LogEngine {
    fn prepare(&self, freshness: Freshness) -> Option<Prepared> {
        self.graph.freshness.lock().push(freshness);
        let refusal = self.graph.refusal.lock().clone()?;
        Some(Box::new(Error::new(ErrorKind::Busy, refusal)))
    }

    fn register(&self, prepared: Option<Prepared>) -> Option<Timestamp> {
        let snapshot = self.graph.partition().snapshot_at(self.readable()).unwrap();
        let error = prepared.map(|error| *error.downcast::<Error>().unwrap());
        let timestamp = snapshot.view().timestamp();
        *self.registered.lock() = Some(error.map_or(Ok(snapshot), Err));
        Some(timestamp)
    }

    fn readable(&self) -> Timestamp {
        self.graph.partition().timeline().readable()
    }
}

impl Drop for LogPin {
    fn drop(&mut self) {
        self.graph.ids.give_back(self.taken.lock().drain(..));
    }
}

#[derive(Debug, Default)]
struct NoLookUps;

impl NoteLookUps for NoLookUps {
    fn note_value(&self, _: IndexId, _: &Value) {}

    fn note_range(&self, _: IndexId, _: Bound<&Value>, _: Bound<&Value>) {}
}

impl GiveNames for LogPin {
    fn give(&self, name: NameRequest<'_>) -> Result<GivenName> {
        let names = self.graph.deciding.lock();
        let GivenName::New(change) = names.give(name)? else { unreachable!("own names are not committed") };
        let known = self.graph.partition().catalogue();
        if let (Some(id), NameRequest::EdgeType { name, .. }) = (edge_type_of(&known, &name), name) {
            let simple = known.edge_type_definition(id).unwrap().simple;
            return Ok(GivenName::Committed(SchemaChange::AddEdgeType {
                id,
                name: Arc::clone(name),
                simple,
            }));
        }
        if known.would_change(&change)? {
            self.graph.apply(&[Mutation::Schema(change.clone())])?;
        }
        Ok(GivenName::Committed(change))
    }
}

fn edge_type_of(known: &Catalogue, name: &NameRequest<'_>) -> Option<TypeId> {
    match name {
        NameRequest::EdgeType { name, .. } => known.edge_type(name),
        _ => None,
    }
}

impl LogPin {
    fn newer(&self, key: &Key, since: Timestamp) -> bool {
        self.graph.partition().engine().newer(key, since) != ChangedSince::No
    }

    fn is_stale(&self, reads: &Reads, since: Timestamp) -> bool {
        let (engine, view) = (self.graph.partition().engine(), self.snapshot.view());
        let mut is_stale = false;
        reads.visit(|read| {
            is_stale |= match read {
                NotedRead::Key(key) => self.newer(&key, since),
                NotedRead::EdgeTypes(group, side) => {
                    engine.edge_types(group, side) != view.edge_types(group, side).unwrap()
                }
                NotedRead::Groups => {
                    (0..engine.group_count()).any(|group| self.newer(&Key::Members(GroupId(group)), since))
                }
                NotedRead::Names => {
                    let then = self.catalogue.as_ref().unwrap().names_count();
                    self.graph.partition().catalogue().names_count() != then
                }
            }
        });
        is_stale
    }
}

impl GraphLog for LogPin {
    fn take_id(&self, label: LabelId, _: &Properties) -> Result<VertexId> {
        let vertex = self.graph.ids.take(label, |_, _| {})?;
        self.taken.lock().push(vertex);
        Ok(vertex)
    }

    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let mut list = Vec::new();
        self.snapshot.view().neighbors(source, edge_type, Direction::Out, None, usize::MAX, &mut list)?;
        taken.extend(list.iter().filter(|(neighbor, _)| *neighbor == target).map(|(_, taken)| *taken));
        Ok(())
    }

    fn look_ups(&self) -> Arc<dyn NoteLookUps> {
        Arc::new(NoLookUps)
    }

    fn is_made_unique(&self, owner: Owner, key: KeyId) -> bool {
        let builds = self.graph.builds.lock();
        let build = builds.as_ref().and_then(|all| all.build);
        build.is_some_and(|(build, stage)| {
            let id = build.definition.id;
            stage == Stage::Enforced && (id.owner, id.key) == (owner, key)
        })
    }

    fn index_builds(&self) -> Option<&dyn BuildIndexes> {
        self.graph.builds.lock().is_some().then_some(self)
    }

    fn commit(&self, commit: SharedCommit<'_>) -> Result<Committed> {
        let SharedCommit { writes, schema, reads } = commit;
        let _names = self.graph.deciding.lock();
        let since = self.snapshot.view().timestamp();
        if WriteChecks::of(writes).all().any(|key| self.newer(&key, since))
            || reads.is_some_and(|reads| self.is_stale(reads, since))
        {
            return Err(Error::conflict("something was changed first: run it again"));
        }
        let known = self.graph.partition().catalogue();
        for change in schema.changes() {
            known.would_change(change)?;
            if let SchemaChange::DropIndex(id) = change {
                self.drop_index(*id);
            }
        }
        let mut mutations: Vec<_> = schema.changes().iter().cloned().map(Mutation::Schema).collect();
        append_mutations(writes, &mut mutations);
        // Whatever comes of it now.
        self.taken.lock().retain(|vertex| writes.vertex(*vertex).is_none());
        let timestamp = self.graph.apply(&mutations)?;
        if std::mem::take(&mut *self.graph.is_next_unknown.lock()) {
            return Err(Error::new(ErrorKind::Unknown, "nobody answered"));
        }
        Ok(Committed { timestamp, renamed: Vec::new() })
    }

    /// Those with an even proof have committed.
    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        match unknown.proof % 2 {
            0 => Ok(unknown.since),
            _ => Err(Error::conflict("it never will")),
        }
    }
}

impl LogPin {
    fn with_builds<T>(&self, work: impl FnOnce(&mut Builds) -> T) -> T {
        work(self.graph.builds.lock().as_mut().unwrap())
    }

    fn drop_index(&self, id: IndexId) {
        self.with_builds(|all| {
            all.unique.remove(&id);
            all.build = all.build.filter(|(build, _)| build.definition.id != id);
        });
    }

    /// Moves `build` on to a stage.
    fn go_on(&self, build: SharedBuild, to: Stage) -> Result<()> {
        self.with_builds(|all| match &mut all.build {
            Some((known, stage)) if *known == build => {
                *stage = (*stage).max(to);
                Ok(())
            }
            _ => Err(Error::conflict("it was dropped")),
        })
    }
}

impl BuildIndexes for LogPin {
    fn begin(&self, definition: IndexDefinition) -> Result<BegunBuild> {
        let _names = self.graph.deciding.lock();
        if let Some((build, _)) = self.with_builds(|all| all.build) {
            return Ok(BegunBuild::Joined(build));
        }
        let known = self.with_builds(|all| all.shown(self.graph.partition().catalogue()));
        if let Some(known) = known.index(definition.id) {
            return Ok(BegunBuild::Ready(known));
        }
        let stored = IndexDefinition { unique: false, ..definition };
        let created = self.graph.apply(&[Mutation::Schema(SchemaChange::AddIndex(stored))])?;
        let build = SharedBuild { definition, created };
        self.with_builds(|all| all.build = Some((build, Stage::Filling)));
        Ok(BegunBuild::New(build))
    }

    fn wait_for(&self, build: SharedBuild) -> Result<Option<BuildProgress>> {
        let is_waiting = self.with_builds(|all| {
            let is_waiting = all.waits > 0;
            all.waits = all.waits.saturating_sub(1);
            is_waiting
        });
        if is_waiting {
            return Ok(Some(BuildProgress { nodes_done: 0, nodes_count: 1 }));
        }
        self.graph.open.step(BackgroundStep::LookAfter);
        assert!(self.graph.partition().has_filled(build.definition.id));
        self.go_on(build, Stage::Filled)?;
        if !build.definition.unique {
            self.with_builds(|all| all.build = None);
        }
        Ok(None)
    }

    fn enforce(&self, build: SharedBuild) -> Result<Option<Timestamp>> {
        self.go_on(build, Stage::Enforced)?;
        Ok(Some(self.graph.partition().timeline().published()))
    }

    fn confirm(&self, build: SharedBuild) -> Result<()> {
        self.go_on(build, Stage::Enforced)?;
        self.with_builds(|all| {
            all.unique.insert(build.definition.id);
            all.build = None;
        });
        Ok(())
    }

    fn goes_on(&self, build: SharedBuild) -> bool {
        self.with_builds(|all| all.build.is_some_and(|(known, _)| known == build))
    }
}

impl Engine for LogEngine {
    type Pin = Box<LogPin>;
    type View<'a> = <MemoryEngine as Engine>::View<'a>;
    type Topology = <MemoryEngine as Engine>::Topology;
    type Prepared = NoCommit;
    type Displaced = ();

    const KEEPS_INDEXES: bool = true;

    fn pin(&self, _: Timestamp) -> Box<LogPin> {
        let graph = Arc::clone(&self.graph);
        let registered = self.registered.lock().take().expect("it was registered");
        let known = registered.as_ref().ok().map(|_| graph.partition().catalogue());
        let shown = |known| graph.builds.lock().as_ref().map_or(Arc::clone(&known), |all| all.shown(known));
        let catalogue = known.map(shown);
        // A real one refuses each read.
        let empty = || graph.partition().snapshot_at(Timestamp::ZERO).unwrap();
        let (snapshot, refusal) = match registered {
            Ok(snapshot) => (snapshot, None),
            Err(refusal) => (empty(), Some(refusal)),
        };
        Box::new(LogPin { snapshot, catalogue, refusal, taken: Mutex::default(), graph })
    }

    fn view<'a>(&'a self, pin: &'a Box<LogPin>, _: Timestamp) -> Self::View<'a> {
        pin.snapshot.view()
    }

    fn shared_catalogue(&self, pin: &Box<LogPin>) -> Option<Arc<Catalogue>> {
        pin.catalogue.clone()
    }

    fn shared_builds(&self, pin: &Box<LogPin>) -> Vec<IndexDefinition> {
        let builds = pin.graph.builds.lock();
        builds.iter().filter_map(|all| Some(all.build?.0.definition)).collect()
    }

    fn check_begun(&self, pin: &Box<LogPin>) -> Result<()> {
        pin.refusal.as_ref().map_or(Ok(()), |error| Err(Error::new(error.kind(), error.to_string())))
    }

    fn freeze(&self, _: &Box<LogPin>, _: Timestamp, _: &FreezeRequest<'_>) -> Result<Self::Topology> {
        Err(Error::invalid("nobody has the whole graph"))
    }

    fn open_group(&self, _: GroupId, _: LabelId) {
        unreachable!("the log gives ids");
    }

    fn prepare(&self, _: &[Mutation], _: &IndexChanges, _: Duration) -> Result<NoCommit> {
        unreachable!("the log commits");
    }

    fn group_count(&self) -> u32 {
        unreachable!("the log checks");
    }

    fn has_group(&self, _: GroupId) -> bool {
        unreachable!("the log gives ids");
    }

    fn edge_types(&self, _: GroupId, _: Direction) -> Vec<TypeId> {
        unreachable!("the log checks");
    }

    fn newer(&self, _: &Key, _: Timestamp) -> ChangedSince {
        unreachable!("the log checks");
    }

    fn taken_discriminators(&self, _: VertexId, _: TypeId, _: VertexId, _: &mut Vec<u16>) -> Result<()> {
        unreachable!("the log knows");
    }

    fn append(&self, _: Timestamp, prepared: NoCommit) {
        match prepared {}
    }

    fn replay(&self, _: &[(Timestamp, Mutation)]) -> Result<()> {
        unreachable!("there is no log to replay");
    }

    fn snapshot_ended(&self) {}

    fn statistics(&self) -> EngineStatistics {
        EngineStatistics::default()
    }
}

#[expect(clippy::borrowed_box, reason = "this is what an engine pins")]
fn log_of(pin: &Box<LogPin>) -> &dyn GraphLog {
    &**pin
}
