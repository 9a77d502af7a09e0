//! Transactions by name: add, put, set, delete, in the words of the schema.

use crate::gremlin::graph::TransactionTarget;
use crate::gremlin::query::{Query, QuerySource};
use crate::read::ReadByName;
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::transaction::{Committed, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::memory_budget::MemoryBudget;
use std::sync::Arc;

/// The transaction behind a [`Transaction`]: the same by number, in batches, for programs that write much.
pub type TransactionById = evergraph_storage::transaction::handle::Transaction<AnyEngine>;

/// A commit that is published and not acknowledged yet.
pub type PendingCommit = evergraph_storage::transaction::pending_commit::PendingCommit<AnyEngine>;

/// A read-write transaction. It sees its own writes; others see them after [`Transaction::commit`].
/// Dropping it rolls it back.
///
/// Labels, edge types and property keys that don't exist yet are added with the transaction; a
/// property's type is learned from its first value.
pub struct Transaction(TransactionById, Arc<MemoryBudget>);

impl Transaction {
    /// A transaction whose queries take their memory from `budget`.
    pub(crate) fn new(inner: TransactionById, budget: &Arc<MemoryBudget>) -> Self {
        Self(inner, Arc::clone(budget))
    }

    /// A query in Gremlin that sees this transaction's writes and may write: see [`crate::gremlin`]. A query that
    /// fails may have written in part: roll back then.
    pub fn gremlin<'q>(&'q mut self, text: &'q str) -> Query<'q, TransactionTarget<'q>> {
        self.ask(text)
    }

    /// The same, from text or bytecode.
    pub fn ask<'q>(&'q mut self, said: impl Into<QuerySource<'q>>) -> Query<'q, TransactionTarget<'q>> {
        let refusal = self.0.check_writable().err();
        Query::new(TransactionTarget::new(&mut self.0, &*self.1, refusal), said)
    }

    /// The transaction by number: a [`GraphView`](evergraph_graph::view::GraphView) and a
    /// [`Transaction`](evergraph_graph::transaction::Transaction).
    pub fn by_id(&mut self) -> &mut TransactionById {
        &mut self.0
    }

    /// As [`Transaction::by_id`], for reading.
    #[must_use]
    pub fn by_id_ref(&self) -> &TransactionById {
        &self.0
    }

    /// The budget that its queries take their memory from.
    pub(crate) fn shared_budget(&self) -> Arc<MemoryBudget> {
        Arc::clone(&self.1)
    }

    fn keys(&mut self, properties: &[(&str, Value)]) -> Result<Vec<(KeyId, Value)>> {
        properties.iter().map(|(key, value)| Ok((self.0.key(key)?, value.clone()))).collect()
    }

    /// Declares that edges of a type are read newest first by `key`, with values of `value_type`: the
    /// newest edges of a vertex, and those in a range of time, are then found without touching its other edges
    /// ([`ReadByName::newest_edges`]). The type may be new or have edges; the declaration is permanent.
    ///
    /// ```
    /// use evergraph::graph::value::ValueType;
    /// use evergraph::{Database, ReadByName, ValueRange};
    ///
    /// let db = Database::in_memory()?;
    /// let ada = db.transact(|tx| {
    ///     tx.declare_newest_first("POSTED", "at", ValueType::I64)?;
    ///     let ada = tx.add_vertex("Person", &[])?;
    ///     for year in 1833..1843 {
    ///         let post = tx.add_vertex("Post", &[])?;
    ///         tx.add_edge(ada, "POSTED", post, &[("at", year.into())])?;
    ///     }
    ///     Ok(ada)
    /// })?;
    /// let latest = db.snapshot().newest_edges(ada, "POSTED", "at", &ValueRange::ALL, 3)?;
    /// let years: Vec<_> = latest.iter().map(|(at, _)| at.as_i64()).collect();
    /// assert_eq!(years, [Some(1842), Some(1841), Some(1840)]);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `invalid` if the type is ordered by another property, or the property's type differs or is not
    /// a whole number, a date or a datetime.
    pub fn declare_newest_first(&mut self, edge_type: &str, key: &str, value_type: ValueType) -> Result<()> {
        let (edge_type, key) = (self.0.edge_type(edge_type)?, self.0.key(key)?);
        self.0.declare_edge_property(edge_type, key, value_type)?;
        self.0.declare_newest_first(edge_type, key)
    }

    /// Declares that values of `key` at vertices of `label` have meta-properties, such as their source or
    /// their time. Gremlin reads and writes them; a value that is set without Gremlin has none. For new and old
    /// vertices;
    /// the declaration is permanent.
    ///
    /// ```
    /// use evergraph::Database;
    ///
    /// let db = Database::in_memory()?;
    /// db.transact(|tx| tx.declare_meta_properties("Person", "name"))?;
    /// db.gremlin("g.addV('Person').property('name', 'Ada', 'since', 1815)").run()?;
    /// let since: i32 = db.gremlin("g.V().properties('name').values('since')").one()?;
    /// assert_eq!(since, 1815);
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `limit` beyond 65,535 keys.
    pub fn declare_meta_properties(&mut self, label: &str, key: &str) -> Result<()> {
        let (label, key) = (self.0.label(label)?, self.0.key(key)?);
        self.0.declare_meta_properties(label, key)
    }

    /// Adds a vertex.
    ///
    /// # Errors
    /// `invalid` for a value that does not fit the property's type, or a unique key that exists.
    pub fn add_vertex(&mut self, label: &str, properties: &[(&str, Value)]) -> Result<VertexId> {
        let label = self.0.label(label)?;
        let properties = self.keys(properties)?;
        self.0.add_vertex(label, &properties)
    }

    /// Deletes a vertex with all its edges.
    ///
    /// # Errors
    /// `not_found` if it does not exist, `limit` if it has more than a million edges, or more than fit into
    /// `transaction_bytes_max`: see [`Database::delete_vertex_in_parts`](crate::Database::delete_vertex_in_parts).
    pub fn delete_vertex(&mut self, vertex: VertexId) -> Result<()> {
        self.0.delete_vertex(vertex)
    }

    /// Deletes at most `limit` edges that start or end at a vertex, of all types; returns how many. Fewer than
    /// `limit` were
    /// all.
    ///
    /// # Errors
    /// `not_found` if the vertex does not exist, `limit` if they do not fit into one transaction.
    pub fn delete_edges_of(&mut self, vertex: VertexId, limit: usize) -> Result<usize> {
        self.0.delete_edges_of(vertex, limit)
    }

    /// Sets a property of a vertex; meta-properties of its old value ([`Transaction::declare_meta_properties`]) are
    /// lost.
    ///
    /// # Errors
    /// `not_found` if the vertex does not exist, `invalid` for a value that does not fit the property's type.
    pub fn set(&mut self, vertex: VertexId, key: &str, value: impl Into<Value>) -> Result<()> {
        let key = self.0.key(key)?;
        self.0.set_vertex_property(vertex, key, Some(value.into()))
    }

    /// Removes a property of a vertex.
    ///
    /// # Errors
    /// `not_found` if the vertex does not exist.
    pub fn remove(&mut self, vertex: VertexId, key: &str) -> Result<()> {
        let key = self.0.key(key)?;
        self.0.set_vertex_property(vertex, key, None)
    }

    /// Adds an edge, beside parallel ones if there are any. The id's discriminator may change at
    /// commit if another transaction adds a parallel edge meanwhile: see [`Committed::renamed`].
    ///
    /// # Errors
    /// `not_found` if an end does not exist, `invalid` for a value that does not fit, or a second edge of a
    /// simple type.
    pub fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: &str,
        target: VertexId,
        properties: &[(&str, Value)],
    ) -> Result<EdgeId> {
        let edge_type = self.0.edge_type(edge_type)?;
        let properties = self.keys(properties)?;
        self.0.add_edge(source, edge_type, target, &properties)
    }

    /// Puts the edge with exactly these properties, whether it exists or not (upsert).
    ///
    /// # Errors
    /// As [`Transaction::add_edge`].
    pub fn put_edge(
        &mut self,
        source: VertexId,
        edge_type: &str,
        target: VertexId,
        properties: &[(&str, Value)],
    ) -> Result<EdgeId> {
        let edge_type = self.0.edge_type(edge_type)?;
        let properties = self.keys(properties)?;
        self.0.put_edge(source, edge_type, target, &properties)
    }

    /// Deletes an edge.
    ///
    /// # Errors
    /// `not_found` if it does not exist.
    pub fn delete_edge(&mut self, edge: EdgeId) -> Result<()> {
        self.0.delete_edge(edge)
    }

    /// Sets a property of an edge.
    ///
    /// # Errors
    /// `not_found` if the edge does not exist, `invalid` for a value that does not fit.
    pub fn set_edge(&mut self, edge: EdgeId, key: &str, value: impl Into<Value>) -> Result<()> {
        let key = self.0.key(key)?;
        self.0.set_edge_property(edge, key, Some(value.into()))
    }

    /// What the note `name` says, own changes included: see [`Ownership`](crate::ownership::Ownership).
    #[must_use]
    pub fn note(&self, name: &str) -> Option<Arc<[u8]>> {
        self.0.note(name)
    }

    /// Sets a note with this transaction, which an [`Ownership`](crate::ownership::Ownership) began.
    ///
    /// # Errors
    /// `invalid` if nobody owns the transaction, for a name that is empty or longer than 255 bytes, and for the note
    /// `owner`; `limit` for more than 16 MiB, a million notes, or 256 MiB of notes.
    pub fn set_note(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.0.set_note(name, bytes)
    }

    /// Removes a note with this transaction, if there is one of that name.
    ///
    /// # Errors
    /// `invalid` as [`Transaction::set_note`].
    pub fn remove_note(&mut self, name: &str) -> Result<()> {
        self.0.remove_note(name)
    }

    /// One property of a vertex, own writes included.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn get(&self, vertex: VertexId, key: &str) -> Result<Option<Value>> {
        ReadByName::get(&self.0, vertex, key)
    }

    /// One property of an edge, own writes included.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn get_edge(&self, edge: EdgeId, key: &str) -> Result<Option<Value>> {
        ReadByName::get_edge(&self.0, edge, key)
    }

    /// The vertex of `label` whose unique `key` is `value`, own writes included.
    ///
    /// # Errors
    /// `invalid` if the label has no unique index on the key.
    pub fn find(&self, label: &str, key: &str, value: impl Into<Value>) -> Result<Option<VertexId>> {
        ReadByName::find(&self.0, label, key, value)
    }

    /// The vertices of `label` whose `key` is `value`, own writes included.
    ///
    /// # Errors
    /// `invalid` if the label has no index on the key.
    pub fn find_all(&self, label: &str, key: &str, value: impl Into<Value>) -> Result<Vec<VertexId>> {
        ReadByName::find_all(&self.0, label, key, value)
    }

    /// The first `limit` vertices of `label` whose `key` lies in `range`, own writes included.
    ///
    /// # Errors
    /// `invalid` if the label has no ordered index on the key.
    pub fn range(
        &self,
        label: &str,
        key: &str,
        range: &ValueRange,
        limit: usize,
    ) -> Result<Vec<(Value, VertexId)>> {
        ReadByName::range(&self.0, label, key, range, limit)
    }

    /// The newest `limit` edges of a type from a vertex whose `key` lies in `range`, own writes included.
    ///
    /// # Errors
    /// As [`ReadByName::newest_edges`].
    pub fn newest_edges(
        &self,
        vertex: VertexId,
        edge_type: &str,
        key: &str,
        range: &ValueRange,
        limit: usize,
    ) -> Result<Vec<(Value, EdgeId)>> {
        ReadByName::newest_edges(&self.0, vertex, edge_type, key, range, limit)
    }

    /// The edges of a vertex over `types` (all if empty) with their other ends, own writes included.
    ///
    /// # Errors
    /// `not_found` for a type that doesn't exist.
    pub fn edges(
        &self,
        vertex: VertexId,
        direction: Direction,
        types: &[&str],
    ) -> Result<Vec<(EdgeId, VertexId)>> {
        ReadByName::edges(&self.0, vertex, direction, types)
    }

    /// Makes the writes visible to others and, depending on the database's durability, permanent.
    ///
    /// # Errors
    /// `conflict` if another transaction was first: nothing was written, running it again is safe.
    /// `io` if the log failed: the outcome is unknown until the database is opened again.
    pub fn commit(self) -> Result<Committed> {
        self.0.commit()
    }

    /// Makes the writes visible to other transactions, and leaves it to the caller how to wait until they may be
    /// acknowledged: [`Transaction::commit`] in two parts. A server holds no thread for a commit that waits for the disk.
    ///
    /// ```
    /// use evergraph::Database;
    /// use std::sync::mpsc::channel;
    ///
    /// let db = Database::in_memory()?;
    /// let mut tx = db.begin();
    /// tx.add_vertex("Person", &[])?;
    /// let pending = tx.publish()?;
    /// let (sender, receiver) = channel();
    /// pending.when_acknowledged(move |committed| sender.send(committed).expect("somebody receives"));
    /// receiver.recv().expect("it is called once")?;
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `conflict` and others of a commit that was refused: nothing was written.
    pub fn publish(self) -> Result<PendingCommit> {
        self.0.publish()
    }

    /// Discards the writes. Dropping does the same.
    pub fn rollback(self) {}
}

#[cfg(test)]
mod tests {
    use crate::database::Database;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::transaction::Transaction as _;
    use evergraph_graph::view::GraphView as _;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_vertex_that_was_found_is_changed_unless_it_went_meanwhile() {
        let db = Database::in_memory().unwrap();
        let ada = db.transact(|tx| tx.add_vertex("Person", &[("name", "Ada".into()), ("age", 36.into())]));
        let ada = ada.unwrap();
        db.create_unique_index("Person", "name").unwrap();
        let mut tx = db.begin();
        let by_id = tx.by_id();
        let (label, name, age) =
            (by_id.label("Person").unwrap(), by_id.key("name").unwrap(), by_id.key("age").unwrap());
        let mut found = Vec::new();
        by_id.find_vertices(label, name, &["Ada".into(), "Bob".into()], &mut found).unwrap();
        assert!(found.len() == 2 && found[1].is_none());
        let of_ada = found[0].take().unwrap();
        assert_eq!(of_ada.vertex(), ada);
        assert_eq!(of_ada.properties(), by_id.vertex_property_map(ada).unwrap());
        let mut changes = vec![(age, Some(37.into()))];
        by_id.set_found_properties(&of_ada, &mut changes).unwrap();
        assert!(changes.is_empty());
        assert_eq!(by_id.vertex_property_map(ada).unwrap()[1].1, 37.into());
        // One that this transaction adds, finds and takes back.
        let bob = by_id.add_vertex(label, &[(name, "Bob".into())]).unwrap();
        found.clear();
        by_id.find_vertices(label, name, &["Bob".into()], &mut found).unwrap();
        let of_bob = found[0].take().unwrap();
        assert_eq!(of_bob.vertex(), bob);
        by_id.delete_vertex(bob).unwrap();
        by_id.delete_vertex(ada).unwrap();
        for gone in [&of_ada, &of_bob] {
            let refused = by_id.set_found_properties(gone, &mut vec![(age, Some(1.into()))]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused}");
        }
        tx.commit().unwrap();
        let mut later = db.begin();
        let refused = later.by_id().set_found_properties(&of_ada, &mut vec![(age, None)]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound, "it was found in an older snapshot: {refused}");
    }

    #[test]
    fn a_published_commit_is_built_upon_at_once_and_shown_to_readers_when_it_is_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("db.eg")).unwrap();
        let (sender, receiver) = channel();
        let count = |text: &str| db.gremlin(text).one::<i64>().unwrap();
        for at in 1..=20 {
            let mut tx = db.begin();
            tx.add_vertex("Point", &[]).unwrap();
            let pending = tx.publish().unwrap();
            assert_eq!(db.begin().gremlin("g.V().count()").one::<i64>().unwrap(), at, "writers see it");
            let sender = sender.clone();
            pending.when_acknowledged(move |committed| sender.send(committed).unwrap());
        }
        for _ in 0..20 {
            receiver.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
        }
        assert_eq!(count("g.V().count()"), 20);
        // One that nobody waits for stands, too; closing makes it durable.
        let mut tx = db.begin();
        tx.add_vertex("Point", &[]).unwrap();
        drop(tx.publish().unwrap());
        db.close().unwrap();
        drop(db);
        let db = Database::open(folder.path().join("db.eg")).unwrap();
        assert_eq!(db.gremlin("g.V().count()").one::<i64>().unwrap(), 21);
    }

    #[test]
    fn a_conflict_is_known_when_a_commit_is_published() {
        let db = Database::in_memory().unwrap();
        let point = db.transact(|tx| tx.add_vertex("Point", &[])).unwrap();
        let (mut one, mut two) = (db.begin(), db.begin());
        one.set(point, "at", 1).unwrap();
        two.set(point, "at", 2).unwrap();
        let pending = one.publish().unwrap();
        assert_eq!(two.publish().unwrap_err().kind(), ErrorKind::Conflict);
        assert!(pending.committed().renamed.is_empty());
        pending.wait().unwrap();
    }
}
