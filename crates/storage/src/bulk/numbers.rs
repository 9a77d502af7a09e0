//! Numbers: the ids that a load's names and rows get in the database.

use evergraph_graph::id::{GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use std::collections::{HashMap, HashSet};

/// The numbers that a load's names and rows get: filled in by the store before its engine builds anything.
#[derive(Debug, Default)]
pub struct Numbers {
    /// For each vertex table, its label and the first of its consecutive new groups.
    pub tables: Vec<(LabelId, GroupId)>,
    /// For each edge table, its type.
    pub types: Vec<TypeId>,
    /// Simple edge types: with at most one edge from a vertex to another.
    pub simple: HashSet<TypeId>,
    /// Property keys by name.
    pub keys: HashMap<String, KeyId>,
    /// The timestamp of the load.
    pub base: Timestamp,
}

impl Numbers {
    /// The vertex in `row` of vertex table `table`.
    #[must_use]
    #[inline]
    pub fn vertex(&self, table: usize, row: u32) -> VertexId {
        VertexId(self.tables[table].1.first().0 + row)
    }
}
