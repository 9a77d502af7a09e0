//! `Transaction`: the writes that any caller may make, in addition to the reads of a [`GraphView`].
//!
//! Writes are buffered and seen by the transaction's own reads; nobody else sees them before
//! [`Transaction::commit`]. Dropping a transaction rolls it back.

use crate::error::Result;
use crate::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use crate::timestamp::Timestamp;
use crate::value::{Value, ValueType};
use crate::view::GraphView;
use std::time::Duration;

/// How far a transaction is kept apart from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Isolation {
    /// Reads one snapshot; of two that change the same edge or property the first to commit wins. What a
    /// transaction has only read may have changed when it commits.
    #[default]
    Snapshot,
    /// As if the transactions of this level had run one after the other, in the order of their commits:
    /// a commit is refused if anything that the transaction read was changed meanwhile, rows that
    /// appeared in a scan, a list or a look-up included. One that wrote nothing always commits.
    Serializable,
}

impl Isolation {
    /// Its name in options, settings and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Serializable => "serializable",
        }
    }
}

/// Which commits a snapshot has at least, where several stores share one graph. A store that decides by itself always begins at
/// its newest commit, whatever is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Freshness {
    /// Those that this process has heard of: its own commits, and what it has read before. Cost: none.
    #[default]
    Applied,
    /// All up to this one, which a commit or a snapshot of any process told: [`Committed::timestamp`],
    /// [`GraphView::timestamp`]. Cost: a wait, until this process has heard of it.
    After(Timestamp),
    /// All that were acknowledged to anybody before. Cost: a question to the log.
    Fresh,
}

/// How one transaction is run. What is left out is as the database was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// How far it is kept apart from others.
    pub isolation: Option<Isolation>,
    /// How long it may take, from its begin to its commit's place in the order of commits; attempts after a
    /// conflict share it. [`Duration::MAX`] for no limit. Waiting until a commit is durable doesn't count:
    /// it has happened by then.
    pub timeout: Option<Duration>,
    /// Which commits it sees at least. If they aren't there in time, [`GraphView::check_begun`] says so, each read, and the commit.
    pub freshness: Freshness,
}

impl TransactionOptions {
    /// The same, kept apart from others as `isolation` says.
    #[must_use]
    pub fn isolation(self, isolation: Isolation) -> Self {
        Self { isolation: Some(isolation), ..self }
    }

    /// The same, for at most `timeout`.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The same, which sees at least what `freshness` says.
    #[must_use]
    pub fn freshness(self, freshness: Freshness) -> Self {
        Self { freshness, ..self }
    }
}

impl From<Isolation> for TransactionOptions {
    fn from(isolation: Isolation) -> Self {
        Self::default().isolation(isolation)
    }
}

/// What a commit did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Committed {
    /// The place in the order of commits; for a transaction without writes, its snapshot.
    pub timestamp: Timestamp,
    /// Added edges whose discriminator was taken by a parallel edge that another transaction
    /// committed first: the id that `add_edge` returned, and the id that the edge has.
    pub renamed: Vec<(EdgeId, EdgeId)>,
}

/// One edge to be put, of a type that is named beside it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NewEdge<'a> {
    /// Where it starts.
    pub source: VertexId,
    /// Where it ends.
    pub target: VertexId,
    /// Exactly the properties that it has.
    pub properties: &'a [(KeyId, Value)],
}

impl NewEdge<'_> {
    /// An edge without properties.
    #[must_use]
    pub const fn bare(source: VertexId, target: VertexId) -> Self {
        Self { source, target, properties: &[] }
    }
}

/// A buffered, atomic set of writes on top of a snapshot.
pub trait Transaction: GraphView {
    /// The label called `name`; a new name is added with this transaction.
    ///
    /// # Errors
    /// `limit` beyond 65,535 labels, `invalid` for an empty name.
    fn label(&mut self, name: &str) -> Result<LabelId>;

    /// The edge type called `name`; a new name is added with this transaction, allowing parallel edges.
    ///
    /// # Errors
    /// `limit` beyond 65,535 types, `invalid` for an empty name.
    fn edge_type(&mut self, name: &str) -> Result<TypeId>;

    /// The property key called `name`; a new name is added with this transaction.
    ///
    /// # Errors
    /// `limit` beyond 65,535 keys, `invalid` for an empty name.
    fn key(&mut self, name: &str) -> Result<KeyId>;

    /// Declares the edge type `name` simple: at most one edge from a vertex to another.
    ///
    /// # Errors
    /// `invalid` if the type exists and allows parallel edges.
    fn declare_simple_type(&mut self, name: &str) -> Result<TypeId>;

    /// Declares the type of a vertex property; otherwise it is learned from its first value.
    ///
    /// # Errors
    /// `invalid` if it has another type already.
    fn declare_vertex_property(&mut self, label: LabelId, key: KeyId, value_type: ValueType) -> Result<()>;

    /// Declares that values of a vertex property have properties of their own (meta-properties), for Gremlin to read and
    /// write. Vertices that are there already count. Declaring it again does nothing; it is never taken back. A value
    /// that is set otherwise, by [`Transaction::set_vertex_property`], has none.
    ///
    /// # Errors
    /// `limit` beyond 65,535 keys.
    fn declare_meta_properties(&mut self, label: LabelId, key: KeyId) -> Result<()>;

    /// Declares the type of an edge property; otherwise it is learned from its first value.
    ///
    /// # Errors
    /// `invalid` if it has another type already.
    fn declare_edge_property(&mut self, edge_type: TypeId, key: KeyId, value_type: ValueType) -> Result<()>;

    /// Declares that the out-edges of `edge_type` are read newest first by `key`, the greatest value first:
    /// [`GraphView::newest`] then touches what it gives and little else. Edges that are there already count.
    /// Declaring it again does nothing; it is never taken back. Cost: none here; see [`GraphView::newest`].
    ///
    /// # Errors
    /// `invalid` if the type is ordered by another property already, or the property has no type yet or one that
    /// isn't a whole number, a date or a datetime.
    fn declare_newest_first(&mut self, edge_type: TypeId, key: KeyId) -> Result<()>;

    /// Adds a vertex.
    ///
    /// # Errors
    /// `invalid` for a value of the wrong type or a unique key that a live vertex has; `limit`.
    fn add_vertex(&mut self, label: LabelId, properties: &[(KeyId, Value)]) -> Result<VertexId>;

    /// Deletes a vertex with all its edges. The commit is refused if any of them, or a property of it or of one
    /// of them, was written meanwhile.
    ///
    /// # Errors
    /// `not_found` if it isn't there, `limit` if it has more edges than one transaction may change: see
    /// [`Transaction::delete_edges_of`].
    fn delete_vertex(&mut self, vertex: VertexId) -> Result<()>;

    /// Sets (`Some`) or removes (`None`) a property of a vertex, and removes its meta-properties.
    ///
    /// # Errors
    /// `not_found` if the vertex does not exist, `invalid` for a value of the wrong type or a unique
    /// key that a live vertex has.
    fn set_vertex_property(&mut self, vertex: VertexId, key: KeyId, value: Option<Value>) -> Result<()>;

    /// Adds an edge; parallel edges are allowed unless the type is simple. The discriminator of the
    /// returned id may change at commit: see [`Committed::renamed`].
    ///
    /// # Errors
    /// `not_found` if an end does not exist, `invalid` for a wrong value or a second edge of a simple
    /// type, `limit` beyond 65,536 parallel edges.
    fn add_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId>;

    /// Puts the edge with discriminator zero and exactly these properties, whether it exists or not (upsert).
    ///
    /// # Errors
    /// As [`Transaction::add_edge`].
    fn put_edge(
        &mut self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        properties: &[(KeyId, Value)],
    ) -> Result<EdgeId>;

    /// [`Transaction::put_edge`] of many edges of one type, for programs that write them by the hundred: ends and
    /// edges are looked up in order, a vertex group at a time. Of two for one edge the later counts.
    ///
    /// # Errors
    /// As [`Transaction::put_edge`], naming the edge; none of them is buffered then.
    fn put_edges(&mut self, edge_type: TypeId, edges: &[NewEdge<'_>]) -> Result<()>;

    /// Deletes an edge.
    ///
    /// # Errors
    /// `not_found` if it does not exist.
    fn delete_edge(&mut self, edge: EdgeId) -> Result<()>;

    /// Deletes at most `limit` edges that start or end at a vertex, of all types; returns how many. Fewer than
    /// `limit` were
    /// all. A vertex with more edges than one transaction may change is deleted in several transactions, a part of
    /// its edges at a
    /// time. Cost: proportional to the deleted edges, however many there are.
    ///
    /// # Errors
    /// `not_found` if the vertex does not exist, `limit` if they do not fit: none of them is deleted then.
    fn delete_edges_of(&mut self, vertex: VertexId, limit: usize) -> Result<usize>;

    /// Sets (`Some`) or removes (`None`) a property of an edge.
    ///
    /// # Errors
    /// `not_found` if the edge does not exist, `invalid` for a value of the wrong type.
    fn set_edge_property(&mut self, edge: EdgeId, key: KeyId, value: Option<Value>) -> Result<()>;

    /// Makes the writes visible and, depending on the database's durability, permanent.
    ///
    /// # Errors
    /// `conflict` if another transaction was first: nothing was written, running again is safe.
    /// `io` if the log failed: the outcome is unknown and the store is read-only from here.
    /// `limit` if the disk is full or the log's space is used up: nothing was written.
    fn commit(self) -> Result<Committed>
    where
        Self: Sized;
}
