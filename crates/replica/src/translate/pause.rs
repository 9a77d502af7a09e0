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
    /// What to do about the cause, SQL where that mends it; empty if there is nothing to do.
    pub remedy: String,
    /// What to do after that.
    pub recovery: Recovery,
}

/// How a replica goes on once the cause of a [`Halt`] is mended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recovery {
    /// From its position: the change comes again.
    Restart,
    /// By a new copy: the change that comes again is the same, or the rows from before it are others.
    Resync,
    /// By a new copy: the graph is not what the source's rows were, for which the source's catalogue may have a reason.
    ResyncParted,
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
        recovery: Recovery,
    ) -> Self {
        Self {
            table: display_table(&table.schema, &table.name),
            column: column.map(|column| table.columns[column].name.to_string()),
            cause: cause.into(),
            remedy: remedy.into(),
            recovery,
        }
    }

    /// What to do about it, from the cause to the command after which the replica goes on.
    #[must_use]
    pub fn whole_remedy(&self) -> String {
        self.remedy_before(match self.recovery {
            Recovery::Restart => "start the replica again",
            Recovery::Resync | Recovery::ResyncParted => RESYNC,
        })
    }

    /// The error of a copy that met it: such a command begins the copy anew, and there is no replica yet.
    #[must_use]
    pub fn of_copy(&self) -> String {
        let halt = Self { remedy: self.remedy_before("start the copy again"), ..self.clone() };
        PauseText(&halt.table, halt.column.as_deref(), &halt.cause, &halt.remedy).to_string()
    }

    fn remedy_before(&self, command: &str) -> String {
        match self.remedy.is_empty() {
            true => command.to_owned(),
            false => format!("{}; then {command}", self.remedy),
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
        let remedy = format!("ALTER TABLE {table_name} REPLICA IDENTITY FULL");
        Self::new(table, column, cause, remedy, Recovery::Resync)
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PauseText(&self.table, self.column.as_deref(), &self.cause, &self.whole_remedy()).fmt(f)
    }
}

impl std::error::Error for Halt {}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PauseText(&self.table, self.column.as_deref(), &self.cause, &self.remedy).fmt(f)
    }
}

impl std::error::Error for Drift {}

/// Table, column, cause and remedy as a sentence.
struct PauseText<'a>(&'a str, Option<&'a str>, &'a str, &'a str);

impl fmt::Display for PauseText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(table, column, cause, remedy) = self;
        if !table.is_empty() {
            write!(f, "table {table}")?;
            if let Some(column) = column {
                write!(f, ", column {column}")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{cause}: {remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_ends_with_the_command_that_fits_what_runs() {
        let halt = |remedy: &str, recovery| Halt {
            table: "t".into(),
            column: Some("c".into()),
            cause: "it is NaN".into(),
            remedy: remedy.into(),
            recovery,
        };
        let mend = halt("mend it", Recovery::Resync);
        assert_eq!(mend.to_string(), format!("table t, column c: it is NaN: mend it; then {RESYNC}"));
        assert_eq!(mend.of_copy(), "table t, column c: it is NaN: mend it; then start the copy again");
        let nothing = halt("", Recovery::Restart);
        assert_eq!(nothing.whole_remedy(), "start the replica again");
        assert_eq!(nothing.of_copy(), "table t, column c: it is NaN: start the copy again");
    }
}
