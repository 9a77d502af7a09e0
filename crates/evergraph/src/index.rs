//! Indexes by name: how they are requested, and which exist.

use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::index::{IndexKind, IndexState, IndexStatistics};
use evergraph_storage::indexing::{IndexRequest, OwnerName};

/// An index to be created.
///
/// ```
/// use evergraph::{Database, IndexOptions, ReadByName, ValueRange};
///
/// let db = Database::in_memory()?;
/// db.create_index(&IndexOptions::on_label("Person", "name").ordered())?;
/// db.transact(|tx| {
///     tx.add_vertex("Person", &[("name", "Ada".into())])?;
///     tx.add_vertex("Person", &[("name", "Adele".into())])
/// })?;
/// assert_eq!(db.snapshot().prefix("Person", "name", "Ad", 10)?.len(), 2);
/// # Ok::<(), evergraph::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexOptions {
    /// The label, or the edge type.
    owner: String,
    of_edges: bool,
    key: String,
    kind: IndexKind,
    unique: bool,
}

impl IndexOptions {
    /// A hash index, not unique, on `key` of the vertices of `label`.
    #[must_use]
    pub fn on_label(label: &str, key: &str) -> Self {
        let (owner, key) = (label.to_owned(), key.to_owned());
        Self { owner, of_edges: false, key, kind: IndexKind::Hash, unique: false }
    }

    /// A hash index, not unique, on `key` of the edges of `edge_type`.
    #[must_use]
    pub fn on_edges(edge_type: &str, key: &str) -> Self {
        Self { of_edges: true, ..Self::on_label(edge_type, key) }
    }

    /// With at most one vertex or edge for each value: a constraint.
    #[must_use]
    pub fn unique(self) -> Self {
        Self { unique: true, ..self }
    }

    /// Ordered by value, for ranges and prefixes: with the memory engine some 35 to 45 bytes an entry, where a hash index
    /// takes 10 to 20.
    #[must_use]
    pub fn ordered(self) -> Self {
        Self { kind: IndexKind::Ordered, ..self }
    }

    /// With entries of this kind.
    #[must_use]
    pub fn of_kind(self, kind: IndexKind) -> Self {
        Self { kind, ..self }
    }

    /// Of the edges of `edge_type` by source, and then by `key`: the newest edges of a vertex are read without its others.
    /// Declares the type newest-first by `key`
    /// ([`declare_newest_first`](evergraph_graph::transaction::Transaction::declare_newest_first)). With the memory engine,
    /// whose lists have that order themselves, that is all; no index is made.
    #[must_use]
    pub fn newest(edge_type: &str, key: &str) -> Self {
        Self { kind: IndexKind::Newest, ..Self::on_edges(edge_type, key) }
    }

    pub(crate) fn request(&self) -> IndexRequest<'_> {
        let owner =
            if self.of_edges { OwnerName::EdgeType(&self.owner) } else { OwnerName::Label(&self.owner) };
        IndexRequest { owner, key: &self.key, kind: self.kind, unique: self.unique }
    }
}

/// An index that exists or is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IndexInfo {
    /// The label, or the edge type.
    pub owner: String,
    /// Whether it is an index of edges.
    pub of_edges: bool,
    /// The property.
    pub key: String,
    /// How its entries are stored.
    pub kind: IndexKind,
    /// Whether at most one vertex or edge has each value.
    pub unique: bool,
    /// Whether it is being built or ready.
    pub state: IndexState,
    /// Number of entries, including those that are removed when no snapshot needs them any more. An estimate if they lie
    /// in files.
    pub entries: u64,
    /// Number of entries that wait to be removed.
    pub leaving: u64,
    /// Number of different values: as many as entries if the index is unique, else an estimate; `None` if the entries lie
    /// in files, which don't count values.
    pub distinct: Option<u64>,
    /// Memory in bytes, estimated.
    pub bytes: u64,
    /// Bytes of files: 0 with the memory engine.
    pub file_bytes: u64,
}

impl IndexInfo {
    pub(crate) fn new(catalogue: &Catalogue, index: &IndexStatistics) -> Self {
        let id = index.definition.id;
        Self {
            owner: catalogue.owner_name(id.owner).to_string(),
            of_edges: matches!(id.owner, Owner::EdgeType(_)),
            key: catalogue.key_name(id.key).to_string(),
            kind: id.kind,
            unique: index.definition.unique,
            state: index.state,
            entries: index.entries,
            leaving: index.leaving,
            distinct: index.distinct,
            bytes: index.bytes,
            file_bytes: index.file_bytes,
        }
    }
}
