//! Engine: the static interface to the place where a graph's records and bodies are kept.
//!
//! The *front* (transactions, log, catalogue, ids, indexes) is the same for every engine; an
//! engine owns records, bodies, their history and merges; one whose graph outlives the process also
//! owns files (`durable_engine.rs`). Static dispatch: `Store<E>`.
//!
//! ```text
//! front:  buffer -> resolve to mutations -> encode ─┐  latch: newer? ... append, log, publish
//! engine:                        prepare (look-ups, ┘  reservations, may wait)
//! ```
//!
//! Rules for an engine
//! - A new base is published only with the latch and the registry locked, and is never newer than
//!   [`crate::timeline::clock::Timeline::readable`]; in an engine that takes a partition of a graph, than
//!   [`crate::timeline::clock::Timeline::merge_limit`].
//! - Every open snapshot S finds a state with `base <= S`; every open writer finds all records newer
//!   than its S, or a floor ([`ChangedSince::Forgotten`]).
//! - `newer` and `append` run under the latch: memory only, no waiting; `append` cannot fail.
//!
//! Source: core-protocol section 12.

use crate::index::changes::IndexChanges;
use crate::index::fill::IndexFill;
use crate::view::View;
use evergraph_graph::budget::Budget;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Projection, Topology};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What is frozen for algorithms, and with what.
#[derive(Clone, Copy)]
pub struct FreezeRequest<'a> {
    /// The names of the snapshot's graph, for errors, for the labels that edge types join, and for the properties that they have:
    /// what it does not define no edge has.
    pub catalogue: &'a Catalogue,
    /// The part that is wanted.
    pub projection: &'a Projection,
    /// What the topology's memory is reserved from.
    pub budget: &'a Arc<dyn Budget>,
    /// Ends a freeze that takes long.
    pub cancel: &'a CancelFlag,
}

/// What a writer asks about: has anybody changed this since my snapshot?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Key {
    /// Whether the vertex is there: its insertion or deletion.
    Vertex(VertexId),
    /// One property of a vertex, or its insertion or deletion.
    VertexProperty(VertexId, KeyId),
    /// Anything of a vertex itself: liveness or any property. Its edges are `Adjacency`.
    VertexRecord(VertexId),
    /// Any edge that starts or ends at the vertex was added or deleted, of any type. An engine may count
    /// other changes of those edges, too: who asks deletes them all.
    Adjacency(VertexId),
    /// Anything of this edge: added, replaced, deleted, a property set.
    Edge(EdgeId),
    /// One property of an edge, or its addition, replacement or deletion.
    EdgeProperty(EdgeId, KeyId),
    /// Whether the edge is there: its addition or deletion.
    EdgeMember(EdgeId),
    /// Which vertices of the group are there: an insertion or deletion.
    Members(GroupId),
    /// Anything of any vertex of the group itself.
    Vertices(GroupId),
    /// One list of a vertex: an edge of the type on the plain side was added or deleted.
    List(VertexId, TypeId, Direction),
    /// One property of the out-edges of a vertex: of one of the type it was set, or one was added, replaced or
    /// deleted.
    ListProperty(VertexId, TypeId, KeyId),
    /// How many edges of the type go from the first vertex to the second: one was added or deleted.
    Between(VertexId, TypeId, VertexId),
    /// Anything in the lists of the group's vertices, of the type on the plain side; on the out side also
    /// properties of those edges.
    Edges(GroupId, TypeId, Direction),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vertex(vertex) | Self::VertexRecord(vertex) => write!(f, "vertex {vertex}"),
            Self::VertexProperty(vertex, key) => write!(f, "property {} of vertex {vertex}", key.0),
            Self::Adjacency(vertex) => write!(f, "the edges of vertex {vertex}"),
            Self::Edge(edge) | Self::EdgeMember(edge) => write!(f, "edge {edge}"),
            Self::EdgeProperty(edge, key) => write!(f, "property {} of edge {edge}", key.0),
            Self::Members(group) | Self::Vertices(group) => write!(f, "vertices of group {}", group.0),
            Self::List(vertex, edge_type, side) => {
                write!(f, "the {side:?} edges of type {} of vertex {vertex}", edge_type.0)
            }
            Self::ListProperty(vertex, edge_type, key) => {
                write!(f, "property {} of the edges of type {} of vertex {vertex}", key.0, edge_type.0)
            }
            Self::Between(source, edge_type, target) => {
                write!(f, "the edges of type {} from {source} to {target}", edge_type.0)
            }
            Self::Edges(group, edge_type, side) => {
                write!(f, "{side:?} edges of type {} in group {}", edge_type.0, group.0)
            }
        }
    }
}

/// Whether something was changed after a timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangedSince {
    /// It wasn't.
    No,
    /// It was.
    Yes,
    /// The records that would tell are gone: treat as a conflict.
    Forgotten,
}

/// An engine's numbers for `stats`; all exact or a stated estimate.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EngineStatistics {
    /// Vertex groups that exist.
    pub groups: u64,
    /// Segments: of vertices and of edges, hubs included.
    pub segments: u64,
    /// Hub segments among them.
    pub hubs: u64,
    /// Directed edges in bodies, out side.
    pub body_edges: u64,
    /// Edge records in runs and tails, out side: what the next merges will take in.
    pub fresh_edge_records: u64,
    /// Bytes of topology (neighbours, offsets, discriminators), both sides.
    pub topology_bytes: u64,
    /// Bytes of property columns.
    pub property_bytes: u64,
    /// Bytes of the orders by value that newest-first edge types are read in.
    pub order_bytes: u64,
    /// Bytes of runs, tails and history.
    pub record_bytes: u64,
    /// Old versions kept for open snapshots.
    pub retained_versions: u64,
    /// Bytes of those.
    pub retained_bytes: u64,
    /// Merges done since opening.
    pub merges: u64,
    /// Time that those took, all threads together.
    pub merging: Duration,
    /// Old versions dropped since opening because no snapshot needed them any more.
    pub collected_versions: u64,
    /// Time that looking for them and dropping them took.
    pub collecting: Duration,
    /// Times that a writer merged or waited because merges were overdue.
    pub stalls: u64,
    /// Time that writers lost by it, all together.
    pub stalled: Duration,
    /// The longest of those times.
    pub stall_max: Duration,
}

/// A home of a graph's records and bodies.
///
/// A commit is prepared, checked and appended; a snapshot pins a moment, and reads it through views:
///
/// ```text
/// open_group   before the first vertex of a group is written
/// prepare      ahead of the latch, and again if the commit was refused by somebody else's
/// newer        under the latch, for each key that was written or read
/// append       under the latch; what it returns is dropped after it
/// pin ─ view   when a snapshot begins; for each read
/// ```
///
/// # Concurrency
/// Any thread calls any method at any time, with three exceptions: `append` is called by one thread at a time, which
/// holds the commit latch; `pin` mostly with the registry of snapshots locked; `replay` before the engine is shared. Methods
/// that return a `Result` are called without any lock of the front, and may do I/O. All others answer from memory,
/// wait for nobody, and begin and end no snapshot: `newer` and the questions about groups are asked under the latch.
pub trait Engine: Send + Sync + Sized + 'static {
    /// What a snapshot holds on to, apart from its timestamp: a set of files, a version, or nothing. Dropped without a
    /// lock and before the engine; where [`Engine::snapshot_ended`] is called for the snapshot, after that.
    type Pin: Send + Sync + 'static;
    /// Reading at one timestamp. Made for every call of a reader, so making one is cheap.
    type View<'a>: View
    where
        Self: 'a;
    /// What a snapshot freezes for algorithms.
    type Topology: Topology + Send + Sync + 'static;
    /// Everything looked up and reserved for a commit. Dropped without being appended, it leaves no trace.
    type Prepared: Send;
    /// What a commit replaced: dropped after the latch.
    type Displaced: Send;

    /// Whether the engine may keep entries of indexes. Where it never does, the front has them all, works out no
    /// [`IndexChanges`] and is compiled without asking.
    const KEEPS_INDEXES: bool;

    /// Whether the engine keeps the entries of `index`. Then the front has none of its own: commits bring
    /// [`IndexChanges`], and each view that the index serves answers [`View::candidates`] and [`View::between`] for
    /// it, the first one included. Only where [`Engine::KEEPS_INDEXES`] says so: [`keeps_index`] asks both.
    ///
    /// Asked when the index joins those that commits maintain: when a store opens, for what it has of it then; under
    /// the latch when a build of it begins, for every commit from there on. The answer holds until the index is
    /// dropped, or the store is opened again.
    fn keeps_index(&self, index: IndexId) -> bool {
        let _ = index;
        false
    }

    /// An index that the engine keeps joins those that commits maintain, empty: under the latch, or before the store is
    /// open. Each try is a new index, whatever an earlier one of this identity left.
    fn begin_index(&self, index: IndexId) {
        let _ = index;
    }

    /// Takes what a scan at `at`, since the index began, finds; `None` from an engine that derives its entries from what it
    /// holds.
    ///
    /// # Errors
    /// `limit` if the budget refuses.
    fn fill_index<'a>(&'a self, index: IndexId, at: Timestamp) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        let _ = (index, at);
        Ok(None)
    }

    /// An index that was filled becomes ready with the commit `at`: views of `at` and later ones answer for it. Under the
    /// latch, before the commit is published, or before the store is open.
    fn complete_index(&self, index: IndexId, at: Timestamp) {
        let _ = (index, at);
    }

    /// Ends an index: it was dropped, or its build ended otherwise. Under the latch, behind the directory's change, or
    /// while a log is replayed.
    fn drop_index(&self, index: IndexId) {
        let _ = index;
    }

    /// Whether it has the entries of an index that it keeps, when a store opens. If not, they are scanned for, as when an
    /// index is built: it became ready so shortly before a crash that no checkpoint had it, or the database was converted or
    /// salvaged.
    fn has_index(&self, index: IndexId) -> bool {
        let _ = index;
        true
    }

    /// When a store opens: no index is there but those that `is_kept` names.
    fn retain_indexes(&self, is_kept: &dyn Fn(IndexId) -> bool) {
        let _ = is_kept;
    }

    /// What goes into the log behind a commit's mutations: the entries that leave indexes. Replay gets them
    /// back, with the mutations.
    fn leaving_entries(prepared: &Self::Prepared) -> &[Mutation] {
        let _ = prepared;
        &[]
    }

    /// Holds what a snapshot at `timestamp` needs, a commit that was published.
    fn pin(&self, timestamp: Timestamp) -> Self::Pin;

    /// Reads at `timestamp`, which `pin` was made for.
    fn view<'a>(&'a self, pin: &'a Self::Pin, timestamp: Timestamp) -> Self::View<'a>;

    /// Resolves each segment of a projection once, so that algorithms visit its lists without looking at timestamps.
    ///
    /// # Errors
    /// `invalid` for a weight that isn't a number, `limit` if the budget refuses, `cancelled`, as a [`View`].
    fn freeze(
        &self,
        pin: &Self::Pin,
        timestamp: Timestamp,
        request: &FreezeRequest<'_>,
    ) -> Result<Self::Topology>;

    /// Makes `group` exist with `label`, empty. Idempotent. Every view shows it at once, and it stays if the
    /// transaction that asked for it is rolled back.
    fn open_group(&self, group: GroupId, label: LabelId);

    /// Everything a commit of `mutations` needs that is not for the latch: segments made, records
    /// sorted, overdue merges done. May wait, for about `patience` at most. Mutations are resolved: an insert finds
    /// nothing there, a set, a replacement and a deletion find something, a deleted vertex has no edges left. Schema
    /// changes among them are skipped. `changes` are those of the indexes that the engine keeps, as of the
    /// transaction's snapshot; if another set of indexes is maintained by the time of the latch, the commit is
    /// prepared anew.
    ///
    /// # Errors
    /// `limit` if records outgrew their budget and merges cannot catch up in that time.
    fn prepare(
        &self,
        mutations: &[Mutation],
        changes: &IndexChanges,
        patience: Duration,
    ) -> Result<Self::Prepared>;

    /// One more than the highest group that exists now.
    fn group_count(&self) -> u32;

    /// Whether `group` exists now.
    fn has_group(&self, group: GroupId) -> bool;

    /// The types that any vertex of `group` has had edges of on this side, up to the newest commit, ascending.
    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId>;

    /// Whether `key` changed after `since`, the timestamp of an open writer. Under the latch, or ahead of it: then the
    /// answer covers every commit that was published before the call.
    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince;

    /// Appends the discriminators between two vertices that a new edge must not take: those of edges that any open
    /// snapshot sees, or that a record still names. A superset is fine, in any order, with repeats. Ahead of the
    /// latch: an edge that takes one which another commit took first gets a new one.
    ///
    /// # Errors
    /// As a [`View`].
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()>;

    /// Installs a commit, the newest, before it is published; cannot fail.
    fn append(&self, timestamp: Timestamp, prepared: Self::Prepared) -> Self::Displaced;

    /// Installs commits read from the log, one or many, before the store is open to anybody and before
    /// any of them is published. Each mutation stands with its commit's timestamp, in the order of the
    /// log. Records that a segment's body holds already are skipped.
    ///
    /// # Errors
    /// `corrupt` if a mutation doesn't fit what is stored.
    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()>;

    /// The catalogue changes with the commit at `timestamp`, or is this when the store opens, for an engine that shares the
    /// graph with other processes: nothing newer than what they have of it may be readable there. Under the latch, before
    /// the commit is published.
    #[inline]
    fn catalogue_changed(&self, timestamp: Timestamp, catalogue: &Arc<Catalogue>) {
        let _ = (timestamp, catalogue);
    }

    /// R may have grown, for an engine that shares it. Without a lock of the front: by a committer, once its commit is
    /// published; by the leader of the log, before anybody is woken; by a bulk load at its end.
    #[inline]
    fn readable_grew(&self) {}

    /// The newest catalogue that another process shares, if this engine reads what another process writes: it names at least
    /// what `pin` shows. With the registry of snapshots locked, and in a store that reads only.
    #[inline]
    fn shared_catalogue(&self, pin: &Self::Pin) -> Option<Arc<Catalogue>> {
        let _ = pin;
        None
    }

    /// Whether `pin` holds a snapshot. An engine that reads what another process keeps may have to begin without one: then each
    /// read of the pin's views fails as this does, and nothing is known of its names.
    ///
    /// # Errors
    /// Why the snapshot could not begin.
    #[inline]
    fn check_begun(&self, pin: &Self::Pin) -> Result<()> {
        let _ = pin;
        Ok(())
    }

    /// From which commit on views answer for an index of that catalogue, if another process keeps its entries. With the
    /// registry of snapshots locked.
    fn shared_index(&self, pin: &Self::Pin, index: IndexId) -> Option<Timestamp> {
        let _ = (pin, index);
        None
    }

    /// Indexes that other stores build, at the moment of `pin`: some are in its catalogue, not yet unique.
    fn shared_builds(&self, pin: &Self::Pin) -> Vec<IndexDefinition> {
        let _ = pin;
        Vec::new()
    }

    /// The oldest open snapshot moved: versions kept for it may go. Cheap; work is left to the
    /// background.
    fn snapshot_ended(&self);

    /// Numbers for `stats`. Cost: at most a look at each segment.
    fn statistics(&self) -> EngineStatistics;
}

/// Whether `engine` keeps the entries of `index`: [`Engine::keeps_index`], compiled away for an engine that keeps none.
#[inline]
pub fn keeps_index<E: Engine>(engine: &E, index: IndexId) -> bool {
    E::KEEPS_INDEXES && engine.keeps_index(index)
}
