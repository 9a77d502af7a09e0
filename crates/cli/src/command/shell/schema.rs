//! Schema: labels, edge types, properties and indexes, with counts, in the tables of `stats` and `index list`.

use crate::command::index::report::indexes_table;
use crate::command::stats::report::{labels_table, properties_table, types_table};
use evergraph_report::schema::SchemaReport;
use serde::Serialize;
use std::fmt;

/// A schema that is shown.
#[derive(Serialize)]
#[serde(transparent)]
pub struct SchemaText(pub SchemaReport);

impl fmt::Display for SchemaText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SchemaReport { labels, edge_types, indexes } = &self.0;
        if labels.is_empty() {
            return writeln!(f, "the graph is empty: g.addV('Person').property('name', 'Ada') adds a vertex");
        }
        write!(f, "{}", labels_table(labels))?;
        if !edge_types.is_empty() {
            write!(f, "\n{}", types_table(edge_types))?;
        }
        if let Some(properties) = properties_table(labels, edge_types) {
            write!(f, "\n{properties}")?;
        }
        if !indexes.is_empty() {
            write!(f, "\nIndexes:\n\n{}", indexes_table(indexes))?;
        }
        Ok(())
    }
}
