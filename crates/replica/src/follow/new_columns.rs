//! New columns: columns of a source's tables that were not there before, and what is known once rows have them.
//!
//! ```text
//! a catalogue is read        added_columns ──> NewColumns: a pause, if rows from before have values in them
//! a Relation message comes   new_columns ──> known_with_columns: the same, and known from that row on
//! ```

use crate::follow::pause::Pause;
use crate::mapping::sql_name::display_name;
use crate::pgoutput::relation::{Oid, Relation};
use crate::source::catalogue::{Catalogue, Column, Table};

/// Columns of a table that were not there before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewColumns {
    /// The table.
    pub table: Oid,
    /// Its name, for people.
    pub name: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// Those of them that were there, computed by PostgreSQL.
    pub computed_before: Vec<Box<str>>,
}

impl NewColumns {
    /// The pause for the first of them that rows from before have a value in, which `filled` lists.
    #[must_use]
    pub fn pause(&self, filled: &[String]) -> Option<Pause> {
        self.columns
            .iter()
            .find(|column| is_filled(column, filled))
            .map(|column| filled_pause(column, &self.name))
    }

    /// The pause for the first of them that PostgreSQL computed before, in every row.
    #[must_use]
    pub fn computed_pause(&self) -> Option<Pause> {
        self.computed_before.first().map(|column| {
            Pause::resync(format!(
                "PostgreSQL computed the column {column} of {} (GENERATED) and does not any more, so that it becomes a property: \
                 the stream says nothing of the values that rows from before have in it",
                self.name
            ))
        })
    }
}

/// Whether a rule of a table makes properties of columns that it doesn't name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TakesColumns {
    /// One does.
    All,
    /// They name their columns.
    Named,
}

/// The columns of `now` that `known` does not have, so far as the publication sends them.
#[must_use]
pub fn added_columns(known: &Table, now: &Table, live: &Catalogue, publication: &str) -> Option<NewColumns> {
    let published = live.publication(publication)?;
    let mut published = published.tables.iter();
    let published = published.find(|table| (&table.schema, &table.table) == (&now.schema, &now.name))?;
    let was_computed = |name: &str| known.column(name).is_some_and(|known| known.is_generated);
    let is_new = |column: &&Column| {
        (known.column(&column.name).is_none() || was_computed(&column.name))
            && !column.is_generated
            && published.columns.contains(&column.name)
    };
    let columns: Vec<Column> = now.columns.iter().filter(is_new).cloned().collect();
    let names = columns.iter().map(|column| column.name.clone());
    let computed_before = names.filter(|name| was_computed(name)).collect();
    (!columns.is_empty()).then(|| NewColumns {
        table: now.id,
        name: display_name(now),
        columns,
        computed_before,
    })
}

/// The columns of `relation` that `known` does not have: they are new at this place of the stream.
#[must_use]
pub fn new_columns(known: &Catalogue, relation: &Relation) -> Vec<Box<str>> {
    let Some(table) = known.table_of(relation.id) else { return Vec::new() };
    let names = relation.columns.iter().map(|column| &column.name);
    names.filter(|name| table.column(name).is_none()).cloned().collect()
}

/// `known` with the new columns of `relation`, of which `live` knows more. `filled` are the columns of the table that rows
/// from before may have a value in; `takes_all` is whether a rule makes properties of all columns.
///
/// # Errors
/// A pause, if the graph would have to show values of which the stream says nothing.
pub fn known_with_columns(
    known: &Catalogue,
    live: &Catalogue,
    relation: &Relation,
    filled: &[String],
    takes_all: TakesColumns,
) -> Result<Catalogue, Pause> {
    let new = new_columns(known, relation);
    let mut newer = known.clone();
    let Some(table) = newer.tables.iter_mut().find(|table| table.id == relation.id) else { return Ok(newer) };
    let name = display_name(table);
    let now = live.table_of(relation.id);
    for column in new {
        let Some(found) = now.and_then(|now| now.column(&column)) else {
            return Err(Pause::resync(format!("the column {column} of {name} was added, and is gone again")));
        };
        // PostgreSQL 18 may send columns that it computes. They never become properties.
        let is_taken = takes_all == TakesColumns::All && !found.is_generated;
        if is_taken && is_filled(found, filled) {
            return Err(filled_pause(found, &name));
        }
        table.columns.push(found.clone());
    }
    add_types(&mut newer, live);
    Ok(newer)
}

/// `known` with all columns that its tables have in `live`.
#[must_use]
pub fn known_with_all_columns(known: &Catalogue, live: &Catalogue) -> Catalogue {
    let mut newer = known.clone();
    for table in &mut newer.tables {
        let Some(now) = live.table_of(table.id) else { continue };
        let new = now.columns.iter().filter(|column| table.column(&column.name).is_none());
        let new: Vec<Column> = new.cloned().collect();
        table.columns.extend(new);
    }
    add_types(&mut newer, live);
    newer
}

/// Takes over the types of `live` that are new.
fn add_types(newer: &mut Catalogue, live: &Catalogue) {
    for (oid, entry) in live.types.iter() {
        if newer.types.get(oid).is_none() {
            newer.types.insert(oid, entry.clone());
        }
    }
}

fn is_filled(column: &Column, filled: &[String]) -> bool {
    filled.iter().any(|filled| **filled == *column.name)
}

fn filled_pause(column: &Column, table: &str) -> Pause {
    let name = &column.name;
    let cause = format!(
        "the column {name} of {table} was added with a default or without nulls: the stream says nothing of the values that rows \
         from before have in it"
    );
    let resync = Pause::resync(cause);
    let remedy = format!(
        "{}; or leave the column out: `ignore = [\"{name}\"]` (another mapping begins with a resync, too)",
        resync.remedy
    );
    Pause { remedy, ..resync }
}
