//! Transaction: buffered writes on a snapshot; rolled back when dropped.

use crate::engine::Engine;
use crate::index::property_index::Completion;
use crate::notes::owning::{Author, Authorship};
use crate::planted::{Bug, planted};
use crate::snapshot::forwarding::view_through_reader;
use crate::snapshot::holders::FoundVertex;
use crate::snapshot::look_up::ReadItem;
use crate::snapshot::reader::Reader;
use crate::snapshot::session::Session;
use crate::snapshot::tracked_view::TrackedView;
use crate::timeline::registry::Access;
use crate::transaction::commit::publish;
use crate::transaction::deadline::Deadline;
use crate::transaction::describe;
use crate::transaction::discriminators::lowest_free;
use crate::transaction::front::{Front, LogAccess};
use crate::transaction::pending_commit::PendingCommit;
use crate::transaction::reads::Reads;
use crate::transaction::schema_writes::SchemaWrites;
use crate::transaction::taken_ids::TakenIds;
use crate::transaction::writes::{VertexWrite, WRITES_MAX, Writes};
use evergraph_graph::budget::Reservation;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result, TransactionTooLarge};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::properties::{Properties, PropertyChange};
use evergraph_graph::transaction::{Committed, Freshness, Isolation, NewEdge};
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What one item's write takes in memory beside its properties, about.
pub(super) const ITEM_BYTES: usize = 96;
/// What the memory of transactions is called in a budget.
pub const TRANSACTIONS_PURPOSE: &str = "transactions";
/// Bytes of writes that are not worth a reservation.
const UNCOUNTED_BYTES: u64 = 64 << 10;
/// What is reserved at once, at most.
const RESERVED_STEP_BYTES_MAX: u64 = 1 << 20;

/// A read-write transaction of a [`crate::store::Store`].
///
/// A write that fails has changed nothing and leaves the transaction usable; at most it has learned a
/// name or a type.
pub struct Transaction<E: Engine> {
    session: Session<E>,
    pub(super) schema: SchemaWrites,
    pub(super) writes: Writes,
    /// If it is serialisable.
    reads: Option<Reads>,
    pub(super) authorship: Authorship,
    taken: TakenIds<E>,
    deadline: Deadline,
    /// Bytes of all writes so far, those included that later ones replaced.
    pub(super) written_bytes: u64,
    /// What writes have of the budget.
    reserved: Vec<Reservation>,
    reserved_bytes: u64,
}

view_through_reader!(Transaction);

impl<E: Engine> Transaction<E> {
    /// Begins one at the newest commit, with at least what `freshness` says, on behalf of `author`.
    #[must_use]
    pub fn begin(
        front: &Arc<Front<E>>,
        freshness: Freshness,
        isolation: Isolation,
        deadline: Deadline,
        author: Author,
    ) -> Self {
        // Others wait for nobody.
        let waits = matches!(front.log_access, LogAccess::Shared(_)).then(|| deadline.limit_waits());
        let session = Session::begin_with(front, Access::Write, freshness);
        drop(waits);
        if let Some(log) = session.graph_log() {
            log.end_with(&deadline);
        }
        let schema = SchemaWrites::new(session.catalogue());
        let reads = (isolation == Isolation::Serializable).then(|| match session.graph_log() {
            None => Reads::default(),
            Some(log) => Reads::noting(log.look_ups()),
        });
        let (writes, taken) = (Writes::new(), TakenIds::default());
        let reserved = Vec::new();
        Self {
            session,
            schema,
            writes,
            reads,
            authorship: Authorship::new(author),
            taken,
            deadline,
            written_bytes: 0,
            reserved,
            reserved_bytes: 0,
        }
    }

    /// How far it is kept apart from others.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        if self.reads.is_some() { Isolation::Serializable } else { Isolation::Snapshot }
    }

    pub(crate) fn session(&self) -> &Session<E> {
        &self.session
    }

    pub(crate) fn schema_mut(&mut self) -> &mut SchemaWrites {
        &mut self.schema
    }

    pub(crate) fn reader(&self) -> Reader<'_, TrackedView<'_, E::View<'_>>> {
        let front = self.session.front();
        let view = TrackedView::new(self.session.view(), self.reads.as_ref());
        Reader::new(view, &self.writes, self.schema.current(), &front.indexes).noting(self.reads.as_ref())
    }

    /// Makes the writes visible to other transactions, without waiting until they are durable: as
    /// [`commit`](evergraph_graph::transaction::Transaction::commit) in two parts, of which
    /// [`PendingCommit`] is the second.
    ///
    /// # Errors
    /// As a commit that is refused: nothing was written.
    pub fn publish(self) -> Result<PendingCommit<E>> {
        self.publish_with(None)
    }

    pub(crate) fn commit_with(self, completion: Option<&dyn Completion>) -> Result<Committed> {
        self.publish_with(completion)?.wait()
    }

    fn publish_with(mut self, completion: Option<&dyn Completion>) -> Result<PendingCommit<E>> {
        if planted(Bug::NoteApart) && !self.authorship.notes.is_empty() && !self.writes.is_empty() {
            return self.publish_apart();
        }
        let (reads, deadline) = (self.reads.as_ref(), &self.deadline);
        let author = &self.authorship;
        let pending =
            publish(self.session, self.schema, &mut self.writes, reads, author, deadline, completion)?;
        // They are in the log, or about to be: nobody else may ever have them, whatever becomes of it.
        let writes = &self.writes;
        self.taken.used(|vertex| matches!(writes.vertex(vertex), Some(VertexWrite::Insert { .. })));
        Ok(pending)
    }

    /// First the graph, then the notes: the planted bug.
    fn publish_apart(mut self) -> Result<PendingCommit<E>> {
        let (front, deadline) = (Arc::clone(self.session.front()), self.deadline.clone());
        let author = match &self.authorship.author {
            Author::Owner(hold) => Author::Owner(hold.clone()),
            _ => unreachable!("only an owner has notes"),
        };
        let notes = std::mem::take(&mut self.authorship.notes);
        drop(self.publish_with(None)?);
        let mut second = Self::begin(&front, Freshness::Applied, Isolation::Snapshot, deadline, author);
        second.authorship.notes = notes;
        second.publish_with(None)
    }

    pub(super) fn check_time(&self) -> Result<()> {
        self.deadline.check()
    }

    /// It creates or drops an index and writes nothing else: anybody may, in a store that has an owner too.
    pub(crate) fn is_for_an_index(&mut self) {
        self.authorship.author = Author::Index;
    }

    /// Refuses whoever is about to write, before work that would be refused at its end: as
    /// [`Store::check_writable`](crate::store::Store::check_writable).
    ///
    /// # Errors
    /// `invalid` in a store that only reads, naming the process that writes.
    pub fn check_writable(&self) -> Result<()> {
        self.session.front().check_writable()
    }

    /// Refuses whoever may not write, at the first write.
    #[inline]
    pub(super) fn check_author(&self) -> Result<()> {
        let front = self.session.front();
        front.check_writable()?;
        if matches!(self.authorship.author, Author::User) && front.owning.is_owned() {
            return Err(front.not_owner());
        }
        Ok(())
    }

    /// Refuses to buffer `items` more if they would be too many, or too late; else the bytes that they count,
    /// with those of their properties.
    pub(super) fn check_room(&mut self, items: usize, property_bytes: usize) -> Result<u64> {
        self.check_time()?;
        // The limit is for checks of keys, of which an owner's commit has none.
        if !self.authorship.author.is_owner() {
            self.writes.check_room(items)?;
        }
        self.check_bytes((items * ITEM_BYTES + property_bytes) as u64)
    }

    /// Refuses to buffer `bytes` more if they would be too many; else counts them.
    pub(super) fn check_bytes(&mut self, bytes: u64) -> Result<u64> {
        let most = self.session.front().write_bytes_max;
        if self.written_bytes + bytes > most {
            let bytes = self.written_bytes + bytes;
            return Err(TransactionTooLarge { bytes, bytes_max: most }.into());
        }
        self.count(self.written_bytes + bytes);
        Ok(bytes)
    }

    /// Counts `bytes` of writes in the budget, but for the first few. A budget that is full of memory graphs, which the
    /// commit will wait for, refuses none: one transaction has the limit above.
    fn count(&mut self, bytes: u64) {
        let missing = bytes.saturating_sub(UNCOUNTED_BYTES).saturating_sub(self.reserved_bytes);
        if missing > 0 {
            let more = missing.max(self.reserved_bytes.clamp(UNCOUNTED_BYTES, RESERVED_STEP_BYTES_MAX));
            self.reserved.push(self.session.front().budget.reserve_anyway(TRANSACTIONS_PURPOSE, more));
            self.reserved_bytes += more;
        }
    }

    /// Bytes that writes may still take.
    pub(super) fn write_bytes_left(&self) -> u64 {
        self.session.front().write_bytes_max.saturating_sub(self.written_bytes)
    }

    fn label_of(&self, vertex: VertexId) -> Result<LabelId> {
        self.reader().label(vertex)?.ok_or_else(|| self.missing_vertex(vertex))
    }

    pub(super) fn missing_vertex(&self, vertex: VertexId) -> Error {
        let name = describe::vertex(&self.session.view(), self.schema.current(), vertex);
        Error::new(ErrorKind::NotFound, format!("{name} isn't there"))
    }

    fn check_edge(&self, edge: EdgeId) -> Result<()> {
        if self.reader().has_edge(edge)? {
            return Ok(());
        }
        let name = describe::edge(self.schema.current(), edge);
        Err(Error::new(ErrorKind::NotFound, format!("{name} isn't there")))
    }

    /// Both ends are there, the properties fit; the checked properties.
    fn check_new_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<Properties> {
        self.label_of(source)?;
        self.label_of(target)?;
        self.check_time()?;
        self.schema.fit(Owner::EdgeType(edge_type), owned(properties))
    }

    /// Refuses values of unique keys that another item than `item` has.
    fn check_unique<I: ReadItem>(
        &self,
        owner: Owner,
        properties: &Properties,
        item: Option<I>,
    ) -> Result<()> {
        let catalogue = self.schema.current();
        for (key, is_unique) in catalogue.indexed_keys(owner) {
            if !is_unique && !self.is_made_unique(owner, key) {
                continue;
            }
            let Some(value) = properties.get(key).flatten() else { continue };
            if let Some(holder) = self.reader().holder((owner, key), value, item)? {
                return Err(self.taken_value(owner, key, value, holder));
            }
        }
        Ok(())
    }

    /// Whether an index on a property is being made unique. None is in stores that decide commits themselves: these look at what
    /// was entered meanwhile.
    pub(super) fn is_made_unique(&self, owner: Owner, key: KeyId) -> bool {
        self.session.graph_log().is_some_and(|log| log.is_made_unique(owner, key))
    }

    /// Returns an error that names the holder of a value of a unique key.
    pub(super) fn taken_value<I: ReadItem>(
        &self,
        owner: Owner,
        key: KeyId,
        value: &Value,
        holder: I,
    ) -> Error {
        let catalogue = self.schema.current();
        let property = catalogue.property_name(owner, key);
        let (value, holder) = (Shortened::new(&value.to_string()), holder.name(catalogue));
        Error::invalid(format!("{property} is unique, and {holder} already has the value {value}"))
    }

    /// Notes which indexed values `vertex` got, so that this transaction's look-ups find it.
    fn note_vertex(&mut self, label: LabelId, vertex: VertexId, properties: &Properties) {
        for (key, value) in indexed(self.schema.current(), Owner::Label(label), properties) {
            self.writes.note_vertex(label, key, value, vertex);
        }
    }

    /// As [`Transaction::note_vertex`].
    pub(super) fn note_edge(&mut self, edge: EdgeId, properties: &Properties) {
        for (key, value) in indexed(self.schema.current(), Owner::EdgeType(edge.edge_type), properties) {
            self.writes.note_edge(key, value, edge);
        }
    }
}

/// The values of indexed properties.
fn indexed(catalogue: &Catalogue, owner: Owner, properties: &Properties) -> Vec<(KeyId, Value)> {
    let keys = catalogue.indexed_keys(owner).map(|(key, _)| key);
    keys.filter_map(|key| Some((key, properties.get(key).flatten()?.clone()))).collect()
}

/// What an item has from now on.
pub(super) fn owned(properties: &[(KeyId, Value)]) -> Properties {
    properties.iter().map(|(key, value)| (*key, Some(value.clone()))).collect()
}

impl<E: Engine> Transaction<E> {
    /// The vertex of `label` that has each of `values` of a unique property, with all of its properties, own writes included.
    ///
    /// Cost: as [`GraphView::look_up`](evergraph_graph::view::GraphView::look_up): each vertex is read once.
    ///
    /// # Errors
    /// As [`GraphView::look_up`](evergraph_graph::view::GraphView::look_up).
    pub fn find_vertices(
        &self,
        label: LabelId,
        key: KeyId,
        values: &[Value],
        found: &mut Vec<Option<FoundVertex>>,
    ) -> Result<()> {
        self.reader().found_holders(label, key, values, found)
    }

    /// Sets and removes properties of a vertex, and empties `changes`; of two for one key the later counts. Nothing, if there are none.
    ///
    /// # Errors
    /// As [`set_vertex_property`](evergraph_graph::transaction::Transaction::set_vertex_property).
    pub fn set_vertex_properties(
        &mut self,
        vertex: VertexId,
        changes: &mut Vec<PropertyChange>,
    ) -> Result<()> {
        self.check_author()?;
        let label = self.label_of(vertex)?;
        self.change_vertex(vertex, label, changes)
    }

    /// As [`Transaction::set_vertex_properties`], of a vertex that this transaction has found: it is not read again.
    ///
    /// # Errors
    /// As [`Transaction::set_vertex_properties`].
    pub fn set_found_properties(
        &mut self,
        found: &FoundVertex,
        changes: &mut Vec<PropertyChange>,
    ) -> Result<()> {
        self.check_author()?;
        let vertex = found.vertex();
        let is_deleted = matches!(self.writes.vertex(vertex), Some(VertexWrite::Delete));
        let label = found.label_at(self.session.timestamp()).filter(|_| !is_deleted);
        let label = label.map_or_else(|| self.label_of(vertex), Ok)?;
        self.change_vertex(vertex, label, changes)
    }

    /// Changes properties of a vertex of `label`, which is there.
    fn change_vertex(
        &mut self,
        vertex: VertexId,
        label: LabelId,
        changes: &mut Vec<PropertyChange>,
    ) -> Result<()> {
        // A record of no changes would conflict with nobody, not even with who deletes the vertex.
        if changes.is_empty() {
            return Ok(());
        }
        // Written even if nothing was known, so that it is a conflict if somebody else writes it meanwhile.
        self.schema.current().add_meta_removals(label, changes);
        let changes = self.schema.fit(Owner::Label(label), Properties::drained(changes))?;
        let bytes = self.check_room(1, changes.heap_bytes())?;
        self.check_unique(Owner::Label(label), &changes, Some(vertex))?;
        self.writes.set_vertex(vertex, &changes);
        self.written_bytes += bytes;
        self.note_vertex(label, vertex, &changes);
        Ok(())
    }
}

impl<E: Engine> evergraph_graph::transaction::Transaction for Transaction<E> {
    fn label(&mut self, name: &str) -> Result<LabelId> {
        if self.schema.current().label(name).is_none() {
            self.check_author()?;
        }
        self.schema.label(self.session.names(), name)
    }

    fn edge_type(&mut self, name: &str) -> Result<TypeId> {
        if self.schema.current().edge_type(name).is_none() {
            self.check_author()?;
        }
        self.schema.edge_type(self.session.names(), name, false)
    }

    fn key(&mut self, name: &str) -> Result<KeyId> {
        if self.schema.current().key(name).is_none() {
            self.check_author()?;
        }
        self.schema.key(self.session.names(), name)
    }

    fn declare_simple_type(&mut self, name: &str) -> Result<TypeId> {
        self.check_author()?;
        let id = self.schema.edge_type(self.session.names(), name, true)?;
        if self.is_simple(id) {
            return Ok(id);
        }
        Err(Error::invalid(format!(
            "edge type {name} exists and allows parallel edges: it cannot become simple"
        )))
    }

    fn declare_vertex_property(&mut self, label: LabelId, key: KeyId, value_type: ValueType) -> Result<()> {
        self.check_author()?;
        self.schema.declare(Owner::Label(label), key, value_type)
    }

    fn declare_meta_properties(&mut self, label: LabelId, key: KeyId) -> Result<()> {
        self.check_author()?;
        self.schema.declare_meta_properties(self.session.names(), label, key)
    }

    fn declare_edge_property(&mut self, edge_type: TypeId, key: KeyId, value_type: ValueType) -> Result<()> {
        self.check_author()?;
        self.schema.declare(Owner::EdgeType(edge_type), key, value_type)
    }

    fn declare_newest_first(&mut self, edge_type: TypeId, key: KeyId) -> Result<()> {
        self.check_author()?;
        self.schema.order_newest_first(edge_type, key)
    }

    fn add_vertex(&mut self, label: LabelId, properties: &[(KeyId, Value)]) -> Result<VertexId> {
        self.check_author()?;
        self.check_time()?;
        let properties = self.schema.fit(Owner::Label(label), owned(properties))?;
        let bytes = self.check_room(1, properties.heap_bytes())?;
        self.check_unique::<VertexId>(Owner::Label(label), &properties, None)?;
        let vertex = match self.session.graph_log() {
            None => self.taken.take(self.session.front(), label)?,
            Some(log) => log.take_id(label, &properties)?,
        };
        self.writes.insert_vertex(vertex, label, &properties);
        self.written_bytes += bytes;
        self.note_vertex(label, vertex, &properties);
        Ok(vertex)
    }

    fn delete_vertex(&mut self, vertex: VertexId) -> Result<()> {
        self.check_author()?;
        self.label_of(vertex)?;
        let mut edges = Vec::new();
        if !matches!(self.writes.vertex(vertex), Some(VertexWrite::Insert { .. })) {
            let mut degree = Vec::new();
            self.reader().count(&[vertex], None, Direction::Both, &mut degree)?;
            // A self loop counts on both sides.
            let least = degree.first().map_or(0, |degree| degree / 2);
            if least > WRITES_MAX as u64 {
                self.check_room_for_edges(vertex, degree[0] as usize)?;
            }
            self.reader().stored_edges(vertex, &mut edges)?;
        }
        self.written_bytes += self.check_room_for_edges(vertex, edges.len())?;
        self.writes.delete_vertex(vertex, &edges);
        Ok(())
    }

    fn set_vertex_property(&mut self, vertex: VertexId, key: KeyId, value: Option<Value>) -> Result<()> {
        self.set_vertex_properties(vertex, &mut vec![(key, value)])
    }

    fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId> {
        self.check_author()?;
        let properties = self.check_new_edge(source, edge_type, target, properties)?;
        let bytes = self.check_room(1, properties.heap_bytes())?;
        let simple = self.is_simple(edge_type);
        let mut edge = EdgeId { source, edge_type, target, discriminator: 0 };
        if !simple {
            let between = (source, edge_type, target);
            let (session, catalogue) = (&self.session, self.schema.current());
            edge.discriminator = lowest_free(session, &self.writes, between, &BTreeSet::new(), catalogue)?;
        } else if self.reader().has_edge(edge)? {
            let name = describe::edge(self.schema.current(), edge);
            return Err(Error::invalid(format!("{name} exists, and its type is simple: use put_edge")));
        }
        self.check_unique::<EdgeId>(Owner::EdgeType(edge_type), &properties, None)?;
        self.writes.add_edge(edge, &properties, !simple);
        self.written_bytes += bytes;
        self.note_edge(edge, &properties);
        Ok(edge)
    }

    fn put_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId> {
        self.check_author()?;
        let properties = self.check_new_edge(source, edge_type, target, properties)?;
        let bytes = self.check_room(1, properties.heap_bytes())?;
        let edge = EdgeId { source, edge_type, target, discriminator: 0 };
        self.check_unique(Owner::EdgeType(edge_type), &properties, Some(edge))?;
        let at_s = match self.writes.edge(edge) {
            Some(write) => write.was_there(),
            None => self.reader().has_edge(edge)?,
        };
        self.writes.put_edge(edge, &properties, at_s);
        self.written_bytes += bytes;
        self.note_edge(edge, &properties);
        Ok(edge)
    }

    fn put_edges(&mut self, edge_type: TypeId, edges: &[NewEdge<'_>]) -> Result<()> {
        self.check_author()?;
        self.put_batch(edge_type, edges)
    }

    fn delete_edge(&mut self, edge: EdgeId) -> Result<()> {
        self.check_author()?;
        self.check_edge(edge)?;
        self.written_bytes += self.check_room(1, 0)?;
        self.writes.delete_edge(edge);
        Ok(())
    }

    fn delete_edges_of(&mut self, vertex: VertexId, limit: usize) -> Result<usize> {
        self.check_author()?;
        self.label_of(vertex)?;
        let most = match self.authorship.author.is_owner() {
            true => usize::try_from(self.write_bytes_left() / ITEM_BYTES as u64).unwrap_or(usize::MAX - 1),
            false => WRITES_MAX,
        };
        // One more than fit is refused as all would be.
        let edges = self.first_edges(vertex, limit.min(most + 1))?;
        self.written_bytes += self.check_room(edges.len(), 0)?;
        edges.iter().for_each(|edge| self.writes.delete_edge(*edge));
        Ok(edges.len())
    }

    fn set_edge_property(&mut self, edge: EdgeId, key: KeyId, value: Option<Value>) -> Result<()> {
        self.check_author()?;
        self.check_edge(edge)?;
        let changes = Properties::new(vec![(key, value)]);
        let changes = self.schema.fit(Owner::EdgeType(edge.edge_type), changes)?;
        let bytes = self.check_room(1, changes.heap_bytes())?;
        self.check_unique(Owner::EdgeType(edge.edge_type), &changes, Some(edge))?;
        self.writes.set_edge(edge, &changes);
        self.written_bytes += bytes;
        self.note_edge(edge, &changes);
        Ok(())
    }

    fn commit(self) -> Result<Committed> {
        self.commit_with(None)
    }
}

impl<E: Engine> Transaction<E> {
    fn is_simple(&self, edge_type: TypeId) -> bool {
        self.schema.current().edge_type_definition(edge_type).is_some_and(|definition| definition.simple)
    }
}
