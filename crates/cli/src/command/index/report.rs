//! Reports of `evergraph index`: what was built, dropped, declared, and what there is.

use crate::command::index::graph_names::NewestFirst;
use evergraph_report::index::IndexEntry;
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What was built.
#[derive(Debug, Serialize)]
pub struct IndexCreated {
    pub database: String,
    /// Whether it wasn't there.
    pub created: bool,
    pub index: Option<IndexEntry>,
    pub seconds: f64,
}

impl fmt::Display for IndexCreated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(index) = &self.index else {
            return writeln!(f, "{}: the index was dropped meanwhile", visible(&self.database));
        };
        let unique = if index.unique { "unique " } else { "" };
        let what = format!("{unique}{} index on {}.{}", index.kind, index.owner, index.key);
        let about = if index.file_bytes == 0 { "" } else { "about " };
        let entries = counted(index.entries, "entry", "entries");
        let size = format!("{about}{entries}, {}", size(index.bytes + index.file_bytes));
        let took = time(Duration::from_secs_f64(self.seconds));
        match self.created {
            true => writeln!(f, "{}: {} built in {took}: {size}", visible(&self.database), visible(&what)),
            false => writeln!(f, "{}: {} was there: {size}", visible(&self.database), visible(&what)),
        }
    }
}

/// What was dropped.
#[derive(Debug, Serialize)]
pub struct IndexDropped {
    pub database: String,
    pub property: String,
    #[serde(flatten)]
    pub dropped: Option<DroppedIndex>,
}

/// Which of the indexes on a property.
#[derive(Debug, Serialize)]
pub struct DroppedIndex {
    pub kind: String,
    pub unique: bool,
}

impl fmt::Display for IndexDropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let which = self.dropped.as_ref().map_or_else(String::new, |index| {
            format!("{}{} ", if index.unique { "unique " } else { "" }, index.kind)
        });
        writeln!(f, "{}: {which}index on {} dropped", visible(&self.database), visible(&self.property))
    }
}

/// What was declared newest-first.
#[derive(Debug, Serialize)]
pub struct NewestFirstDeclared {
    pub database: String,
    #[serde(rename = "type")]
    pub edge_type: String,
    pub key: String,
    /// Whether it wasn't so before.
    pub declared: bool,
    /// Whether an index was built for it.
    pub created: bool,
    /// `null` if the engine's lists have the order themselves.
    pub index: Option<IndexEntry>,
    pub seconds: f64,
}

impl fmt::Display for NewestFirstDeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (database, edge_type, key) =
            (visible(&self.database), visible(&self.edge_type), visible(&self.key));
        let now = if self.declared { "is newest-first" } else { "was newest-first" };
        writeln!(f, "{database}: {edge_type} {now} by {key}")?;
        let Some(index) = &self.index else { return Ok(()) };
        let size = format!(
            "about {}, {}",
            counted(index.entries, "entry", "entries"),
            size(index.bytes + index.file_bytes)
        );
        match self.created {
            true => {
                writeln!(f, "its index was built in {}: {size}", time(Duration::from_secs_f64(self.seconds)))
            }
            false => writeln!(f, "its index was there: {size}"),
        }
    }
}

/// A count, or that it is an estimate.
fn told(number: u64, is_exact: bool) -> String {
    if is_exact || number == 0 { count(number) } else { format!("about {}", count(number)) }
}

/// A row an index.
#[must_use]
pub fn indexes_table(indexes: &[IndexEntry]) -> Table {
    let mut table = Table::new(&[
        ("property", Side::Left),
        ("of", Side::Left),
        ("kind", Side::Left),
        ("", Side::Left),
        ("entries", Side::Right),
        ("distinct", Side::Right),
        ("memory", Side::Right),
        ("on disk", Side::Right),
    ]);
    for index in indexes {
        table.row([
            format!("{}.{}", index.owner, index.key),
            index.of.clone(),
            index.kind.clone(),
            if index.unique { "unique" } else { "" }.to_owned(),
            told(index.entries, index.file_bytes == 0),
            index.distinct.map_or_else(|| "-".to_owned(), |distinct| told(distinct, index.distinct_is_exact)),
            size(index.bytes),
            if index.file_bytes == 0 { "-".to_owned() } else { size(index.file_bytes) },
        ]);
    }
    table
}

/// What there is.
#[derive(Debug, Serialize)]
pub struct IndexList {
    pub database: String,
    pub indexes: Vec<IndexEntry>,
    pub newest_first: Vec<NewestFirst>,
    /// Labels: found by a scan that visits nothing else.
    pub scanned_labels: Vec<String>,
    /// Edge types: the same.
    pub scanned_edge_types: Vec<String>,
}

impl fmt::Display for IndexList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", indexes_table(&self.indexes))?;
        for NewestFirst { edge_type, key } in &self.newest_first {
            writeln!(f, "{} is newest-first by {}.", visible(edge_type), visible(key))?;
        }
        writeln!(
            f,
            "Labels and edge types need no index: vertices are stored by label and edges by type, so a scan of one \
             visits nothing else."
        )
    }
}
