//! Index: what is known of the indexes of a database.

use evergraph::index::IndexInfo;
use evergraph::{Database, GraphView as _, OwnerName, Result};
use serde::{Deserialize, Serialize};

/// What is known of an index.
#[derive(Debug, Deserialize, Serialize)]
pub struct IndexEntry {
    /// `vertices` or `edges`.
    pub of: String,
    /// The label, or the edge type.
    pub owner: String,
    /// The property.
    pub key: String,
    /// `hash`, `ordered` or `newest`.
    pub kind: String,
    /// Whether at most one vertex or edge has each value.
    pub unique: bool,
    /// Whether it is being built or ready.
    pub state: String,
    /// Entries; an estimate if they lie in files.
    pub entries: u64,
    /// Different values; `null` if the entries lie in files, which don't count values.
    pub distinct: Option<u64>,
    /// Whether `distinct` is no estimate.
    pub distinct_is_exact: bool,
    /// Entries that wait to be removed.
    pub leaving: u64,
    /// Of memory.
    pub bytes: u64,
    /// Of files.
    pub file_bytes: u64,
}

impl IndexEntry {
    /// That of `index`.
    #[must_use]
    pub fn new(index: &IndexInfo) -> Self {
        Self {
            of: if index.of_edges { "edges" } else { "vertices" }.to_owned(),
            owner: index.owner.clone(),
            key: index.key.clone(),
            kind: index.kind.name().to_owned(),
            unique: index.unique,
            state: index.state.name().to_owned(),
            entries: index.entries,
            distinct: index.distinct,
            distinct_is_exact: index.unique && index.file_bytes == 0,
            leaving: index.leaving,
            bytes: index.bytes,
            file_bytes: index.file_bytes,
        }
    }
}

impl IndexEntry {
    /// Whether it is one on the property `key` of `owner`.
    #[must_use]
    pub fn is_on(&self, owner: OwnerName<'_>, key: &str) -> bool {
        let (of, name) = match owner {
            OwnerName::Label(label) => ("vertices", label),
            OwnerName::EdgeType(edge_type) => ("edges", edge_type),
        };
        self.of == of && self.owner == name && self.key == key
    }
}

/// All indexes of `database`, in the order of what they are on.
///
/// # Errors
/// As [`GraphView::check_begun`](evergraph::GraphView::check_begun).
pub fn list(database: &Database) -> Result<Vec<IndexEntry>> {
    database.snapshot().check_begun()?;
    let mut indexes: Vec<IndexEntry> = database.indexes().iter().map(IndexEntry::new).collect();
    indexes.sort_by(|a, b| (&a.of, &a.owner, &a.key, &a.kind).cmp(&(&b.of, &b.owner, &b.key, &b.kind)));
    Ok(indexes)
}

/// Whether `index` is one on the property `key` of `owner`.
#[must_use]
pub fn is_on(index: &IndexInfo, owner: OwnerName<'_>, key: &str) -> bool {
    let named = match owner {
        OwnerName::Label(label) => !index.of_edges && index.owner == label,
        OwnerName::EdgeType(edge_type) => index.of_edges && index.owner == edge_type,
    };
    named && index.key == key
}
