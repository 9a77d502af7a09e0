//! `Pause`: why following does not go on by itself, and what a person does about it.

use std::fmt;

use evergraph::Snapshot;
use evergraph_graph::bytes::{Decoded, put_bytes};
use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::note_format::{VERSION, finished, versioned};
use crate::source::error::SourceError;
use crate::stream::event::TransactionEnd;
use crate::translate::pause::{Drift, Halt, RESYNC};

/// The note that holds the cause of a pause for changes that are missing.
pub const MISSED_NOTE: &str = "missed";

/// Why following does not go on by itself. The database is read as before, and is as of its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pause {
    /// What happened.
    pub cause: String,
    /// What mends it: SQL, or a command of the program.
    pub remedy: String,
    /// Whether changes are missing, so that the database stays as it is whatever becomes of the cause.
    pub is_lasting: bool,
}

impl Pause {
    /// A pause that SQL, or something else that a person does, mends.
    #[must_use]
    pub fn new(cause: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { cause: cause.into(), remedy: remedy.into(), is_lasting: false }
    }

    /// A pause after which the graph has to be copied again.
    #[must_use]
    pub fn resync(cause: impl Into<String>) -> Self {
        Self::new(cause, RESYNC)
    }

    /// A pause for changes that are missing. The database keeps it: the source may soon look as if nothing had happened.
    #[must_use]
    pub fn missed(cause: impl Into<String>) -> Self {
        Self { is_lasting: true, ..Self::resync(cause) }
    }

    /// The same, where a person does `step` before the remedy.
    #[must_use]
    pub fn after(self, step: &str) -> Self {
        Self { remedy: format!("{step}, then {}", self.remedy), ..self }
    }

    /// The pause that the database of `snapshot` keeps.
    ///
    /// # Errors
    /// `corrupt` if its note cannot be read.
    pub fn kept(snapshot: &Snapshot) -> Result<Option<Self>> {
        let Some(bytes) = snapshot.note(MISSED_NOTE) else { return Ok(None) };
        Self::of_note(&bytes).map(Some).map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("read the note {MISSED_NOTE:?}: {error}"))
        })
    }

    fn of_note(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let pause = Self::missed(reader.text()?);
        let pause = match reader.is_empty() {
            true => pause,
            false => Self { remedy: reader.text()?.to_owned(), ..pause },
        };
        finished(&reader).map(|()| pause)
    }

    /// The note by which a database keeps it: the cause, and the remedy if that is more than a new copy.
    #[must_use]
    pub fn note(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        put_bytes(&mut bytes, self.cause.as_bytes());
        if self.remedy != RESYNC {
            put_bytes(&mut bytes, self.remedy.as_bytes());
        }
        bytes
    }

    /// Whether a new copy of the tables mends it, perhaps beside other ways.
    #[must_use]
    pub fn is_mended_by_resync(&self) -> bool {
        self.remedy.contains(RESYNC)
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
            _ if error.is_refused_log_in() && error.sqlstate().is_none() => {
                Self::new(cause, "mend the certificate or sslrootcert, then start the replica again")
            }
            Some(state) if state.starts_with("28") => {
                Self::new(cause, "mend the password or pg_hba.conf, then start the replica again")
            }
            // The log keeps the value as it is, whatever becomes of its row.
            Some("22021" | "22P05") => Self::new(
                cause,
                format!("mend the value at the source, which is no text in its encoding; then {RESYNC}"),
            ),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::server_error::ServerError;

    #[test]
    fn a_database_keeps_a_pause_with_its_remedy() {
        let plain = Pause::missed("the table a was dropped");
        let renamed =
            Pause::missed("the table a was renamed to b").after("write the new name into the mapping");
        assert_eq!(renamed.remedy, format!("write the new name into the mapping, then {RESYNC}"));
        for pause in [plain, renamed] {
            let mut bytes = pause.note();
            assert_eq!(Pause::of_note(&bytes), Ok(pause));
            bytes.push(9);
            assert!(Pause::of_note(&bytes).is_err());
        }
    }

    #[test]
    fn a_text_that_is_not_utf8_needs_a_new_copy_since_the_log_keeps_it() {
        let pause_of = |sqlstate: &str| {
            let error = ServerError { sqlstate: sqlstate.into(), ..ServerError::default() };
            Pause::of_source(&SourceError::Server { doing: "follow a server".into(), error: Box::new(error) })
        };
        for sqlstate in ["22021", "22P05"] {
            let pause = pause_of(sqlstate);
            assert!(pause.is_mended_by_resync() && pause.remedy.starts_with("mend the value"), "{pause}");
        }
        assert!(!pause_of("42501").is_mended_by_resync());
    }
}
