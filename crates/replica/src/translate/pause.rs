//! Why a stream cannot go on as it is: table, column, cause, and what to do.

use crate::mapping::plan::TablePlan;
use crate::mapping::sql_name::{display_table, sql_table};
use std::fmt;

/// What mends a copy that the stream no longer fits.
pub const RESYNC: &str = "copy the tables anew by `evergraph replica resync`";

/// A change that must not be passed over, so that nothing after it can be applied either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Halt {
    /// The table, as people write it; empty if it is about no table.
    pub table: String,
    /// The column.
    pub column: Option<String>,
    /// What is wrong.
    pub cause: String,
    /// What to do: SQL where that mends it.
    pub remedy: String,
}

/// A table that is no longer what the mapping was bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drift {
    /// The table, as people write it.
    pub table: String,
    /// The column.
    pub column: Option<String>,
    /// What changed.
    pub cause: String,
    /// What to do: SQL where that mends it.
    pub remedy: String,
}

impl Halt {
    /// A change of a row of `table` that `cause` stands in the way of.
    #[must_use]
    pub fn new(
        table: &TablePlan,
        column: Option<usize>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            table: display_table(&table.schema, &table.name),
            column: column.map(|column| table.columns[column].name.to_string()),
            cause: cause.into(),
            remedy: remedy.into(),
        }
    }

    /// A value was needed that PostgreSQL did not send, since the update left it alone and it is stored outside the row.
    #[must_use]
    pub fn unsent(table: &TablePlan, column: Option<usize>, needed_for: &str) -> Self {
        let cause = format!(
            "an update left a value alone that is stored outside its row, so that PostgreSQL did not send it, and \
             {needed_for} needs it"
        );
        let table_name = sql_table(&table.schema, &table.name);
        let remedy = format!("ALTER TABLE {table_name} REPLICA IDENTITY FULL; then {RESYNC}");
        Self::new(table, column, cause, remedy)
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pause(f, &self.table, self.column.as_deref(), &self.cause, &self.remedy)
    }
}

impl std::error::Error for Halt {}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pause(f, &self.table, self.column.as_deref(), &self.cause, &self.remedy)
    }
}

impl std::error::Error for Drift {}

fn write_pause(
    f: &mut fmt::Formatter<'_>,
    table: &str,
    column: Option<&str>,
    cause: &str,
    remedy: &str,
) -> fmt::Result {
    if !table.is_empty() {
        write!(f, "table {table}")?;
        if let Some(column) = column {
            write!(f, ", column {column}")?;
        }
        f.write_str(": ")?;
    }
    write!(f, "{cause}: {remedy}")
}
