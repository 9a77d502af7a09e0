//! Binding: which column of a table, as the stream describes it, is which column of the plan; and whether both still fit.

use crate::mapping::plan::{EdgeIdentity, TablePlan};
use crate::mapping::sql_name::{display_table, sql_table};
use crate::pgoutput::relation::{Oid, Relation, RelationIdentity};
use crate::pgoutput::tuple::{Cell, Tuple};
use crate::translate::pause::{Drift, RESYNC};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Types of texts of any length: `text` and `varchar`.
const TEXT_TYPES: [Oid; 2] = [25, 1043];

/// Whether a column changes from the type `one` to `other` without a change of its values.
pub fn are_texts(one: Oid, other: Oid) -> bool {
    TEXT_TYPES.contains(&one) && TEXT_TYPES.contains(&other)
}

/// A table of the plan, bound to a description of the stream.
#[derive(Clone, Debug)]
pub(super) struct TableBinding {
    /// For each column of the stream, the plan's, if rules need it.
    columns: Vec<Option<usize>>,
    /// For each column of the plan, whether it belongs to the identity.
    is_key: Vec<bool>,
    /// Whether rows come as they were (REPLICA IDENTITY FULL).
    pub(super) is_full: bool,
}

impl TableBinding {
    /// Binds `plan` to `relation`. Columns of the plan that `may_lack` names may be missing: they are null in its rows.
    ///
    /// # Errors
    /// [`Drift`] if the table isn't what the plan was made for.
    pub(super) fn new(
        plan: &TablePlan,
        relation: &Relation,
        may_lack: impl Fn(usize) -> bool,
    ) -> Result<Self, Drift> {
        let drift = |column: Option<&str>, cause: String, remedy: String| Drift {
            table: display_table(&plan.schema, &plan.name),
            column: column.map(str::to_owned),
            cause,
            remedy,
        };
        if (&*relation.schema, &*relation.name) != (&*plan.schema, &*plan.name) {
            let new_name = sql_table(&relation.schema, &relation.name);
            return Err(drift(
                None,
                format!("is called {new_name} now"),
                format!("name it so in the mapping, and {RESYNC}"),
            ));
        }
        let is_full = relation.identity == RelationIdentity::Full;
        let mut columns = vec![None; relation.columns.len()];
        let mut is_key = Vec::with_capacity(plan.columns.len());
        for (index, planned) in plan.columns.iter().enumerate() {
            let name = &*planned.name;
            let Some(place) = relation.columns.iter().position(|column| *column.name == *name) else {
                if may_lack(index) {
                    is_key.push(is_full);
                    continue;
                }
                let cause =
                    "was dropped, renamed, or taken out of the publication, and rules need it".to_owned();
                return Err(drift(
                    Some(name),
                    cause,
                    format!("change the mapping or the publication, and {RESYNC}"),
                ));
            };
            let column = &relation.columns[place];
            let is_other_modifier =
                planned.type_modifier.is_some_and(|modifier| modifier != column.type_modifier);
            let is_other_type =
                column.type_id != planned.type_id && !are_texts(column.type_id, planned.type_id);
            if is_other_type || is_other_modifier {
                let cause = format!(
                    "has another type now, number {} and modifier {}: PostgreSQL rewrote its values without sending them",
                    column.type_id, column.type_modifier
                );
                return Err(drift(Some(name), cause, RESYNC.to_owned()));
            }
            columns[place] = Some(index);
            is_key.push(column.is_key || is_full);
        }
        // Of a table without any identity come inserts alone: all else fails at the source.
        let has_identity = is_full || relation.columns.iter().any(|column| column.is_key);
        if has_identity && let Some(column) = identifying_columns(plan).find(|column| !is_key[*column]) {
            let table = sql_table(&plan.schema, &plan.name);
            let name = &*plan.columns[column].name;
            let cause = "identifies rows for a rule, and is no part of the replica identity any more";
            let remedy = format!("ALTER TABLE {table} REPLICA IDENTITY FULL; then {RESYNC}");
            return Err(drift(Some(name), cause.to_owned(), remedy));
        }
        Ok(Self { columns, is_key, is_full })
    }

    /// Whether rows have the plan's column `index`.
    pub(super) fn has(&self, index: usize) -> bool {
        self.columns.contains(&Some(index))
    }

    /// How many columns a row has.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Puts the cells of `tuple` in the order of the plan's columns.
    pub(super) fn arrange<'a>(&self, tuple: impl Iterator<Item = Cell<'a>>, cells: &mut [Cell<'a>]) {
        for (cell, column) in tuple.zip(&self.columns) {
            if let Some(column) = column {
                cells[*column] = cell;
            }
        }
    }

    /// Puts into `new` what the update left alone and `old` has: all cells if it is whole, else those of the key.
    pub(super) fn complete<'a>(&self, new: &mut [Cell<'a>], old: &[Cell<'a>]) {
        for ((new, old), is_key) in new.iter_mut().zip(old).zip(&self.is_key) {
            if *new == Cell::Unchanged && *is_key {
                *new = *old;
            }
        }
    }

    /// A hash of a row's cells, where rows come as they were.
    pub(super) fn content_hash(&self, cells: &[Cell<'_>]) -> Option<u64> {
        if !self.is_full {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        for cell in cells {
            match cell {
                Cell::Null => 0_u8.hash(&mut hasher),
                Cell::Unchanged => 1_u8.hash(&mut hasher),
                Cell::Text(text) | Cell::Binary(text) => (2_u8, text).hash(&mut hasher),
            }
        }
        Some(hasher.finish())
    }

    /// Whether `tuple` has as many columns as the description.
    pub(super) fn fits(&self, tuple: Tuple<'_>) -> bool {
        tuple.len() == self.len()
    }
}

/// The columns by which rules find rows.
fn identifying_columns(plan: &TablePlan) -> impl Iterator<Item = usize> {
    let vertices = plan.vertices.iter().flat_map(|vertex| &vertex.key.columns);
    let edges = plan.edges.iter().flat_map(|edge| match &edge.identity {
        EdgeIdentity::Key(key) => key.columns.iter().chain(&[]),
        EdgeIdentity::Ends => edge.start.key.columns.iter().chain(&edge.end.key.columns),
    });
    vertices.chain(edges).map(|column| column.column)
}
