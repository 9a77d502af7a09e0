//! Schema: labels, edge types, properties and indexes, with counts, in the tables of `stats` and `index list`.

use crate::command::index::{Entry, indexes_table, list};
use crate::command::stats::execute::{edge_types, labels};
use crate::command::stats::report::{LabelEntry, TypeEntry, labels_table, properties_table, types_table};
use evergraph::Database;
use evergraph_graph::error::Result;
use evergraph_graph::view::GraphView;
use serde::Serialize;
use std::fmt;

/// What the graph is made of.
#[derive(Debug, Serialize)]
pub struct SchemaReport {
    labels: Vec<LabelEntry>,
    edge_types: Vec<TypeEntry>,
    indexes: Vec<Entry>,
}

impl SchemaReport {
    /// What `database` is made of now. Cost: a look at each segment.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn new(database: &Database) -> Result<Self> {
        let indexes = list(database);
        let snapshot = database.snapshot();
        let (catalogue, counts) = (snapshot.catalogue(), snapshot.statistics()?);
        let (labels, edge_types) = (labels(&catalogue, &counts), edge_types(&catalogue, &counts, Vec::new()));
        Ok(Self { labels, edge_types, indexes })
    }

    /// All vertices and all edges.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        let vertices = self.labels.iter().map(|entry| entry.vertices).sum();
        (vertices, self.edge_types.iter().map(|entry| entry.edges).sum())
    }
}

impl fmt::Display for SchemaReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.labels.is_empty() {
            return writeln!(f, "the graph is empty: g.addV('Person').property('name', 'Ada') adds a vertex");
        }
        write!(f, "{}", labels_table(&self.labels))?;
        if !self.edge_types.is_empty() {
            write!(f, "\n{}", types_table(&self.edge_types))?;
        }
        if let Some(properties) = properties_table(&self.labels, &self.edge_types) {
            write!(f, "\n{properties}")?;
        }
        if !self.indexes.is_empty() {
            write!(f, "\nIndexes:\n\n{}", indexes_table(&self.indexes))?;
        }
        Ok(())
    }
}
