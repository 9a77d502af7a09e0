//! `Pause`: why following does not go on by itself, and what a person does about it.

use std::fmt;

use evergraph_graph::error::{Error, ErrorKind};

use crate::source::error::SourceError;
use crate::stream::event::TransactionEnd;
use crate::translate::pause::{Drift, Halt, RESYNC};

/// Why following does not go on by itself. The database is read as before, and is as of its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pause {
    /// What happened.
    pub cause: String,
    /// What mends it: SQL, or a command of the program.
    pub remedy: String,
}

impl Pause {
    /// A pause that SQL, or something else that a person does, mends.
    #[must_use]
    pub fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: remedy.into() }
    }

    /// A pause after which the graph has to be copied again.
    #[must_use]
    pub fn resync(cause: impl Into<String>) -> Self {
        Self::new(cause, RESYNC)
    }

    /// What the rules say of a row, or of a transaction.
    #[must_use]
    pub fn of_halt(halt: &Halt, end: Option<TransactionEnd>) -> Self {
        Self::new(place(&halt.table, halt.column.as_deref(), &halt.cause, end), halt.whole_remedy())
    }

    /// What the rules say of a table that changed.
    #[must_use]
    pub fn of_drift(drift: &Drift, end: TransactionEnd) -> Self {
        Self::new(place(&drift.table, drift.column.as_deref(), &drift.cause, Some(end)), &drift.remedy)
    }

    /// What to do about an error of the source that does not go away by itself.
    #[must_use]
    pub fn of_source(error: &SourceError) -> Self {
        let cause = error.to_string();
        match error.sqlstate() {
            // The slot or the publication is gone; the slot lost its log; a file of the log was removed.
            Some("42704" | "55000" | "58P01") => Self::resync(cause),
            Some(state) if state.starts_with("28") => {
                Self::new(cause, "mend the password or pg_hba.conf, then start the replica again")
            }
            Some("42501") => {
                Self::new(cause, "grant the right that is missing, then start the replica again")
            }
            _ => Self::new(cause, "mend what it names, then start the replica again"),
        }
    }

    /// What to do about an error of the database.
    #[must_use]
    pub fn of_database(error: &Error) -> Self {
        let cause = error.to_string();
        match error.kind() {
            ErrorKind::Corrupt => Self::new(cause, "`evergraph check` says what is damaged"),
            ErrorKind::Io => Self::new(cause, "mend the disk, then open the database again"),
            ErrorKind::Limit => {
                Self::new(cause, "raise the limit or free space, then start the replica again")
            }
            _ => Self::resync(cause),
        }
    }
}

/// The cause with what it is about: table, column, transaction.
fn place(table: &str, column: Option<&str>, cause: &str, end: Option<TransactionEnd>) -> String {
    let mut text = String::new();
    if !table.is_empty() {
        text.push_str(&format!("table {table}"));
        if let Some(column) = column {
            text.push_str(&format!(", column {column}"));
        }
        text.push_str(": ");
    }
    text.push_str(cause);
    if let Some(end) = end {
        text.push_str(&format!(" (transaction {}, which ends at {})", end.xid, end.commit.end_lsn));
    }
    text
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause, self.remedy)
    }
}
