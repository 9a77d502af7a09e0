//! Remote transaction: reads a graph at S wherever its partitions are, buffers writes, and commits by a record of the log.
//!
//! ```text
//! reads    Reader (own writes) ──> TrackedView (what was read) ──> RemoteView ──> whoever keeps the partitions
//! writes   Writes, types of properties            as in a store of a whole graph; nothing is sent
//! commit   transaction_record ──> submission
//! ```
//!
//! Own writes, checks of types, look-ups and scans are those of a store. It differs in two places: a name is given by
//! [`Coordinator::name`] before, and of two that add a parallel edge of the same name at once one runs again, where a store gives
//! the second another name.
//!
//! Whoever drops it rolls back: nothing was sent, and its vertex ids are given to others.

use crate::node::owned_node::CoordinatingNode;
use crate::node::shared_tables::TablesMoment;
use crate::record::large_transaction::TRANSACTION_BYTES_MAX;
use crate::remote::remote_snapshot::RemoteSnapshot;
use crate::remote::remote_view::RemoteView;
use crate::remote::view_asking::PartitionAsker;
use crate::transaction::coordinator::{BeginAt, Coordinator};
use crate::transaction::transaction_record::{RecordFacts, transaction_part};
use crate::transaction::watched_reads::WatchedReads;
use evergraph_graph::error::{Error, ErrorKind, Result, TransactionTooLarge};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::{Properties, PropertyChange};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Committed, Isolation};
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_storage::index::directory::IndexDirectory;
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::snapshot::tracked_view::TrackedView;
use evergraph_storage::transaction::schema_writes::SchemaWrites;
use evergraph_storage::transaction::writes::{VertexWrite, Writes};
use evergraph_storage::view::View as _;
use std::fmt;
use std::sync::Arc;

/// What one item's write takes beside its properties, about.
const ITEM_BYTES: usize = 96;
/// Edges of a vertex that are read at once.
const EDGES_AT_ONCE: usize = 4096;
/// Parallel edges that are read at once.
const PARALLEL_AT_ONCE: usize = 64;

/// What a transaction reads: the graph at its snapshot, with its own writes.
pub type TransactionReader<'a> = Reader<'a, TrackedView<'a, RemoteView<'a>, WatchedReads>>;

/// A transaction on a graph whose partitions any nodes keep.
///
/// A write that fails has changed nothing, and leaves the transaction usable; at most it has learned a type.
///
/// # Concurrency
///
/// Any number of threads read; one writes.
pub struct RemoteTransaction<N: CoordinatingNode> {
    coordinator: Arc<Coordinator<N>>,
    moment: Arc<TablesMoment>,
    snapshot: RemoteSnapshot,
    indexes: Arc<IndexDirectory>,
    schema: SchemaWrites,
    writes: Writes,
    /// If it is serialisable.
    reads: Option<WatchedReads>,
    ids: TakenIds<N>,
    written_bytes: usize,
}

/// Vertex ids that a transaction has taken. Dropped, it gives them back.
struct TakenIds<N: CoordinatingNode> {
    coordinator: Arc<Coordinator<N>>,
    /// Where the vertices go; chosen with the first one.
    partition: Option<PartitionId>,
    ids: Vec<(LabelId, VertexId)>,
}

impl<N: CoordinatingNode> TakenIds<N> {
    fn take(&mut self, label: LabelId) -> Result<VertexId> {
        let partition = *self.partition.get_or_insert_with(|| self.coordinator.choose_partition());
        let vertex = self.coordinator.take_id(label, partition)?;
        self.ids.push((label, vertex));
        Ok(vertex)
    }
}

impl<N: CoordinatingNode> Drop for TakenIds<N> {
    fn drop(&mut self) {
        if let Some(partition) = self.partition {
            self.coordinator.give_back(partition, &self.ids);
        }
    }
}

impl<N: CoordinatingNode> RemoteTransaction<N> {
    /// Begins a transaction, which may only read.
    ///
    /// # Errors
    /// `busy` if the node has not joined, or has not applied as much in time; `io` if it has stopped, or the log cannot be
    /// asked; `conflict` if so old a snapshot is not kept.
    pub fn begin(coordinator: &Arc<Coordinator<N>>, at: BeginAt, isolation: Isolation) -> Result<Self> {
        let (moment, reader) = coordinator.begin(at)?;
        let (timestamp, options) = (reader.at().position.end(), coordinator.options());
        let asker: Arc<dyn PartitionAsker> = Arc::new(coordinator.asker(&moment, reader));
        let map = Arc::<TablesMoment>::clone(&moment);
        let snapshot = RemoteSnapshot::new(timestamp, map, asker, options.limits);
        let reads = (isolation == Isolation::Serializable).then(|| WatchedReads::new(moment.salt()));
        let ids = TakenIds { coordinator: Arc::clone(coordinator), partition: None, ids: Vec::new() };
        Ok(Self {
            indexes: coordinator.indexes_of(moment.catalogue()),
            schema: SchemaWrites::new(Arc::clone(moment.catalogue())),
            writes: Writes::new(),
            coordinator: Arc::clone(coordinator),
            moment,
            snapshot,
            reads,
            ids,
            written_bytes: 0,
        })
    }

    /// Its snapshot.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.snapshot.timestamp()
    }

    /// Reads the graph at the snapshot, with own writes. Made for each use, which is cheap.
    #[must_use]
    pub fn reader(&self) -> TransactionReader<'_> {
        let view = TrackedView::new(RemoteView::new(&self.snapshot), self.reads.as_ref());
        Reader::new(view, &self.writes, self.schema.current(), &self.indexes)
    }

    /// The label with this name.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.named(self.schema.current().label(name))
    }

    /// The edge type with this name.
    #[must_use]
    pub fn edge_type(&self, name: &str) -> Option<TypeId> {
        self.named(self.schema.current().edge_type(name))
    }

    /// The property key with this name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.named(self.schema.current().key(name))
    }

    fn named<T>(&self, id: Option<T>) -> Option<T> {
        if let (None, Some(reads)) = (&id, &self.reads) {
            reads.note_names();
        }
        id
    }

    /// Inserts a vertex; its id.
    ///
    /// # Errors
    /// `invalid` for a value of another type than its property has, or of a unique property that another vertex has; `limit`
    /// if the transaction would be too large, or no ids are left; errors of reading and of asking the log.
    pub fn add_vertex(&mut self, label: LabelId, properties: &[(KeyId, Value)]) -> Result<VertexId> {
        let properties = self.schema.fit(Owner::Label(label), owned(properties))?;
        let bytes = self.check_room(1, properties.heap_bytes())?;
        self.check_unique_vertex(label, &properties, None)?;
        let vertex = self.ids.take(label)?;
        self.writes.insert_vertex(vertex, label, &properties);
        self.written_bytes += bytes;
        self.note_vertex(label, vertex, &properties);
        Ok(vertex)
    }

    /// Sets and removes properties of a vertex; of two changes for one key the later counts.
    ///
    /// # Errors
    /// `not_found` if the vertex isn't there; as [`RemoteTransaction::add_vertex`].
    pub fn set_vertex_properties(
        &mut self,
        vertex: VertexId,
        mut changes: Vec<PropertyChange>,
    ) -> Result<()> {
        let label = self.label_of(vertex)?;
        if changes.is_empty() {
            return Ok(());
        }
        self.schema.current().add_meta_removals(label, &mut changes);
        let changes = self.schema.fit(Owner::Label(label), Properties::new(changes))?;
        let bytes = self.check_room(1, changes.heap_bytes())?;
        self.check_unique_vertex(label, &changes, Some(vertex))?;
        self.writes.set_vertex(vertex, &changes);
        self.written_bytes += bytes;
        self.note_vertex(label, vertex, &changes);
        Ok(())
    }

    /// Deletes a vertex with its edges.
    ///
    /// # Errors
    /// `not_found` if the vertex isn't there; `limit` if it has more edges than a transaction may change; errors of reading.
    pub fn delete_vertex(&mut self, vertex: VertexId) -> Result<()> {
        self.label_of(vertex)?;
        let mut edges = Vec::new();
        if !matches!(self.writes.vertex(vertex), Some(VertexWrite::Insert { .. })) {
            edges = self.edges_at_snapshot(vertex)?;
        }
        self.written_bytes += self.check_room(1 + edges.len(), 0)?;
        self.writes.delete_vertex(vertex, &edges);
        Ok(())
    }

    /// Adds an edge; its id.
    ///
    /// # Errors
    /// `not_found` if an end isn't there; `invalid` if the edge is of a simple type and there; as
    /// [`RemoteTransaction::add_vertex`].
    pub fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId> {
        self.label_of(source)?;
        self.label_of(target)?;
        let properties = self.schema.fit(Owner::EdgeType(edge_type), owned(properties))?;
        let bytes = self.check_room(1, properties.heap_bytes())?;
        let definition = self.schema.current().edge_type_definition(edge_type);
        let is_simple = definition.is_some_and(|definition| definition.simple);
        let mut edge = EdgeId { source, edge_type, target, discriminator: 0 };
        if !is_simple {
            edge.discriminator = self.lowest_free(edge)?;
        } else if self.reader().has_edge(edge)? {
            return Err(Error::invalid(format!("{edge} exists, and its type is simple")));
        }
        self.check_unique_edge(edge_type, &properties, None)?;
        self.writes.add_edge(edge, &properties, !is_simple);
        self.written_bytes += bytes;
        self.note_edge(edge, &properties);
        Ok(edge)
    }

    /// Sets and removes properties of an edge; of two changes for one key the later counts.
    ///
    /// # Errors
    /// `not_found` if the edge isn't there; as [`RemoteTransaction::add_vertex`].
    pub fn set_edge_properties(&mut self, edge: EdgeId, changes: Vec<PropertyChange>) -> Result<()> {
        self.check_edge(edge)?;
        if changes.is_empty() {
            return Ok(());
        }
        let changes = self.schema.fit(Owner::EdgeType(edge.edge_type), Properties::new(changes))?;
        let bytes = self.check_room(1, changes.heap_bytes())?;
        self.check_unique_edge(edge.edge_type, &changes, Some(edge))?;
        self.writes.set_edge(edge, &changes);
        self.written_bytes += bytes;
        self.note_edge(edge, &changes);
        Ok(())
    }

    /// Deletes an edge.
    ///
    /// # Errors
    /// `not_found` if it isn't there; `limit`; errors of reading.
    pub fn delete_edge(&mut self, edge: EdgeId) -> Result<()> {
        self.check_edge(edge)?;
        self.written_bytes += self.check_room(1, 0)?;
        self.writes.delete_edge(edge);
        Ok(())
    }

    /// Commits. Whoever begins after the message of the timestamp ([`LogPosition::of`]), on any node, sees it. Nothing is
    /// sent if nothing was written.
    ///
    /// # Errors
    /// `conflict` if something that it writes, or being serialisable has read, was changed since it began: run it again. The
    /// others of [`Submitter::submit`]; `limit` if it is too large; errors of reading.
    ///
    /// [`LogPosition::of`]: crate::log_position::LogPosition::of
    /// [`Submitter::submit`]: crate::transaction::submission::Submitter::submit
    pub fn commit(mut self) -> Result<Committed> {
        let since = self.snapshot.timestamp();
        if self.writes.is_empty() && self.schema.changes().is_empty() {
            return Ok(Committed { timestamp: since, renamed: Vec::new() });
        }
        let view = RemoteView::new(&self.snapshot);
        let facts = RecordFacts { view, moment: &self.moment, writes: &self.writes };
        let part = transaction_part(&facts, &mut self.schema, self.reads.as_ref().map(WatchedReads::parts))?;
        let submitted = self.coordinator.submitter().submit(since, part);
        let is_undone = submitted.as_ref().is_err_and(|error| error.is_conflict());
        if !is_undone {
            // They are in the log, or may be.
            self.ids.ids.clear();
        }
        Ok(Committed { timestamp: submitted?, renamed: Vec::new() })
    }

    fn label_of(&self, vertex: VertexId) -> Result<LabelId> {
        let label = self.reader().label(vertex)?;
        label.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("vertex {vertex} isn't there")))
    }

    fn check_edge(&self, edge: EdgeId) -> Result<()> {
        match self.reader().has_edge(edge)? {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::NotFound, format!("{edge} isn't there"))),
        }
    }

    /// Refuses `items` more writes if they would be too many; else the bytes that they count.
    fn check_room(&self, items: usize, property_bytes: usize) -> Result<usize> {
        self.writes.check_room(items)?;
        let bytes = items * ITEM_BYTES + property_bytes;
        let all = self.written_bytes + bytes;
        if all > TRANSACTION_BYTES_MAX {
            let bytes_max = TRANSACTION_BYTES_MAX as u64;
            return Err(TransactionTooLarge { bytes: all as u64, bytes_max }.into());
        }
        Ok(bytes)
    }

    /// The edges of a vertex that were there at S, but for those that are deleted already.
    fn edges_at_snapshot(&self, vertex: VertexId) -> Result<Vec<EdgeId>> {
        let reader = self.reader();
        let (mut cursor, mut batch, mut edges) =
            (NeighborCursor::default(), NeighborBatch::default(), Vec::new());
        while !cursor.done {
            batch.clear();
            reader.neighbors(&[vertex], None, Direction::Both, &mut cursor, EDGES_AT_ONCE, &mut batch)?;
            let is_new = |edge: &EdgeId| self.writes.edge(*edge).is_some_and(|write| write.balance() > 0);
            edges.extend(batch.edges.iter().filter(|edge| !is_new(edge)).copied());
            self.writes.check_room(edges.len())?;
        }
        // A self loop comes on both sides.
        edges.sort_unstable();
        edges.dedup();
        Ok(edges)
    }

    /// The lowest discriminator that no edge from the source of `edge` to its target has. What others add meanwhile is checked
    /// with the edge itself: a long list is not watched for it.
    fn lowest_free(&self, edge: EdgeId) -> Result<u16> {
        let EdgeId { source, edge_type, target, .. } = edge;
        let view = RemoteView::new(&self.snapshot);
        let written = self.writes.edges_between(source, edge_type, target);
        let mut taken: Vec<u16> = written.map(|(discriminator, _)| discriminator).collect();
        let mut after = target.0.checked_sub(1).map(|before| (VertexId(before), u16::MAX));
        loop {
            let mut list = Vec::new();
            view.neighbors(source, edge_type, Direction::Out, after, PARALLEL_AT_ONCE, &mut list)?;
            let parallel = list.iter().filter(|(neighbor, _)| *neighbor == target);
            taken.extend(parallel.map(|(_, discriminator)| *discriminator));
            after = list.last().copied();
            if list.len() < PARALLEL_AT_ONCE || after.is_none_or(|(neighbor, _)| neighbor != target) {
                break;
            }
        }
        taken.sort_unstable();
        taken.dedup();
        let gap = taken.iter().zip(0_u32..).find(|(taken, place)| u32::from(**taken) != *place);
        let lowest = gap.map_or(taken.len() as u32, |(_, place)| place);
        u16::try_from(lowest).map_err(|_| {
            let text = format!("there are 65,536 edges parallel to {edge} already, which is the limit");
            Error::new(ErrorKind::Limit, text)
        })
    }

    /// The values of unique properties among `properties`.
    fn unique_values(&self, owner: Owner, properties: &Properties) -> Vec<(KeyId, Value)> {
        let unique = self.schema.current().indexed_keys(owner).filter(|(_, is_unique)| *is_unique);
        unique.filter_map(|(key, _)| Some((key, properties.get(key).flatten()?.clone()))).collect()
    }

    /// Refuses values of unique properties that another vertex than `vertex` has.
    fn check_unique_vertex(
        &self,
        label: LabelId,
        properties: &Properties,
        vertex: Option<VertexId>,
    ) -> Result<()> {
        for (key, value) in self.unique_values(Owner::Label(label), properties) {
            let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
            let values = std::slice::from_ref(&value);
            while !cursor.done {
                self.reader().look_up_vertices(label, key, values, &mut cursor, 2, &mut found)?;
            }
            if let Some(holder) = found.items.iter().find(|holder| Some(**holder) != vertex) {
                return Err(self.taken_value(Owner::Label(label), key, &format!("vertex {holder}")));
            }
        }
        Ok(())
    }

    /// The same of edges.
    fn check_unique_edge(
        &self,
        edge_type: TypeId,
        properties: &Properties,
        edge: Option<EdgeId>,
    ) -> Result<()> {
        for (key, value) in self.unique_values(Owner::EdgeType(edge_type), properties) {
            let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
            let values = std::slice::from_ref(&value);
            while !cursor.done {
                self.reader().look_up_edges(edge_type, key, values, &mut cursor, 2, &mut found)?;
            }
            if let Some(holder) = found.items.iter().find(|holder| Some(**holder) != edge) {
                return Err(self.taken_value(Owner::EdgeType(edge_type), key, &holder.to_string()));
            }
        }
        Ok(())
    }

    fn taken_value(&self, owner: Owner, key: KeyId, holder: &str) -> Error {
        let property = self.schema.current().property_name(owner, key);
        Error::invalid(format!("{property} is unique, and {holder} already has this value"))
    }

    /// Own look-ups find it.
    fn note_vertex(&mut self, label: LabelId, vertex: VertexId, properties: &Properties) {
        for (key, value) in self.indexed_values(Owner::Label(label), properties) {
            self.writes.note_vertex(label, key, value, vertex);
        }
    }

    fn note_edge(&mut self, edge: EdgeId, properties: &Properties) {
        for (key, value) in self.indexed_values(Owner::EdgeType(edge.edge_type), properties) {
            self.writes.note_edge(key, value, edge);
        }
    }

    fn indexed_values(&self, owner: Owner, properties: &Properties) -> Vec<(KeyId, Value)> {
        let keys = self.schema.current().indexed_keys(owner).map(|(key, _)| key);
        keys.filter_map(|key| Some((key, properties.get(key).flatten()?.clone()))).collect()
    }
}

/// What an item has from now on.
fn owned(properties: &[(KeyId, Value)]) -> Properties {
    properties.iter().map(|(key, value)| (*key, Some(value.clone()))).collect()
}

impl<N: CoordinatingNode> fmt::Debug for RemoteTransaction<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RemoteTransaction");
        out.field("timestamp", &self.timestamp()).field("writes", &self.writes.len()).finish_non_exhaustive()
    }
}
