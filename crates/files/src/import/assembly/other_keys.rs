//! Other keys: further unique keys of a label in the database, besides the ids that files use.
//!
//! ```text
//! Person: id unique, name unique      people.csv:2  7,Ada   the database has an Ada: a bad row
//! ```
//!
//! Loading would refuse the graph as well, by numbers of vertices that nobody has seen; here the row is
//! known. Cost: such values of new vertices stay in memory until all are there, as ids do.

use crate::import::assembly::batch::Columns;
use crate::import::known::{Known, KnownLabel};
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;
use evergraph_graph::value::shortened::Shortened;
use std::collections::HashSet;

/// A property of a label that the database has once only.
pub(super) struct OtherKey {
    /// The table of the label.
    pub table: usize,
    key: String,
    /// The values of new vertices.
    seen: HashSet<Value>,
}

impl OtherKey {
    /// Those of `label`, whose new vertices are in `table` and have their ids as `own_key`.
    pub fn of<'a>(
        known: &Known,
        label: &str,
        own_key: Option<&'a str>,
        table: usize,
    ) -> impl Iterator<Item = Self> + use<'a> {
        let keys = known.unique_keys(label).into_iter().filter(move |key| Some(key.as_str()) != own_key);
        keys.map(move |key| Self { table, key, seen: HashSet::new() })
    }

    /// The vertices of the database by this key of `label`.
    pub fn in_database<'a>(&self, known: &'a Known, label: &str) -> Option<KnownLabel<'a>> {
        known.by_key(label, &self.key)
    }

    /// The value of the new vertex at `place` of its name `code` in `columns`, if it has one.
    pub fn value(&self, columns: &Columns, code: usize, place: usize) -> Option<Value> {
        let columns = match columns {
            Columns::Shared(columns) => columns,
            Columns::ByName(names) => &names[code],
        };
        let (_, cells) = columns.iter().find(|(key, _)| *key == self.key)?;
        cells.column.as_ref()?.get(place)
    }

    /// Why a new vertex can't have `value`, if another vertex has it.
    ///
    /// # Errors
    /// What reading the database meets.
    pub fn taken(&self, in_database: Option<&KnownLabel<'_>>, value: &Value) -> Result<Option<String>> {
        let who = match in_database {
            Some(known) if known.find(value)?.is_some() => "a vertex in the database",
            _ if self.seen.contains(value) => "a vertex before, of this import,",
            _ => return Ok(None),
        };
        let value = Shortened::new(&value.to_string());
        Ok(Some(format!("property {}: {value} is taken: {who} has it, and it is unique", self.key)))
    }

    /// Notes that a new vertex has `value`.
    pub fn note(&mut self, value: Value) {
        self.seen.insert(value);
    }
}
