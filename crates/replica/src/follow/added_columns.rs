//! The note of added columns: which columns belong to transactions that are not here yet.
//!
//! ```text
//! note "added"   version 1   count, then of each: table, end of the transaction (8), column
//! ```
//!
//! A transaction may change rows of a table, add a column to it, and change more rows, as migrations do. The stream describes the
//! table twice then, first without the column. One plan translates all of it, and is made with the column when its first
//! description with it comes, after which the transaction comes again: in rows that are described without it, the column is null.
//! The note lets a replica that starts in between do the same. Once the transaction is here, a description without the column
//! means that the column was dropped, and the note's entry means nothing any more.

use std::collections::BTreeSet;

use evergraph::Snapshot;
use evergraph_graph::bytes::Decoded;
use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::follow::catalogue_bytes::{list, number, put_list, put_number, put_text, text};
use crate::lsn::Lsn;
use crate::note_format::{VERSION, finished, versioned};
use crate::pgoutput::relation::Oid;

/// The note that holds [`AddedColumns`].
pub const ADDED_NOTE: &str = "added";

/// Columns, each with the transaction that added it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddedColumns(Vec<AddedColumn>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct AddedColumn {
    table: Oid,
    name: Box<str>,
    /// Where the transaction ends.
    end: Lsn,
}

impl AddedColumns {
    /// What the database says, without the columns of transactions that end at `position` or before.
    ///
    /// # Errors
    /// `corrupt` if the note cannot be read.
    pub fn behind(position: Lsn, snapshot: &Snapshot) -> Result<Self> {
        let Some(bytes) = snapshot.note(ADDED_NOTE) else { return Ok(Self::default()) };
        let mut columns = Self::decode(&bytes).map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("read the note {ADDED_NOTE:?}: {error}"))
        })?;
        columns.0.retain(|column| column.end > position);
        Ok(columns)
    }

    /// With columns of `table` that the transaction added which ends at `end`.
    #[must_use]
    pub fn with(mut self, table: Oid, names: Vec<Box<str>>, end: Lsn) -> Self {
        self.0.extend(names.into_iter().map(|name| AddedColumn { table, name, end }));
        self
    }

    /// The columns, by table and name.
    #[must_use]
    pub fn names(&self) -> BTreeSet<(Oid, Box<str>)> {
        self.0.iter().map(|column| (column.table, column.name.clone())).collect()
    }

    /// The content of the note.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        put_list(&mut bytes, &self.0, |out, column| {
            put_number(out, column.table);
            out.extend_from_slice(&column.end.get().to_le_bytes());
            put_text(out, &column.name);
        });
        bytes
    }

    /// Reads the content of the note.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = versioned(bytes)?;
        let columns = list(&mut reader, |reader| {
            let (table, end) = (number(reader)?, Lsn::new(reader.u64()?));
            Ok(AddedColumn { table, name: text(reader)?, end })
        })?;
        finished(&reader)?;
        Ok(Self(columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::Database;

    #[test]
    fn the_note_comes_back_without_transactions_that_are_here_and_a_damaged_one_is_refused() {
        let added = AddedColumns::default()
            .with(16_400, vec!["n".into(), "größe".into()], Lsn::new(0x1_0000_0028))
            .with(7, vec!["n".into()], Lsn::new(0x1_0000_0100));
        let bytes = added.encode();
        assert_eq!(AddedColumns::decode(&bytes).as_ref(), Ok(&added));
        assert!((0..bytes.len()).all(|length| AddedColumns::decode(&bytes[..length]).is_err()));
        assert!(AddedColumns::decode(&[&bytes[..], &[0]].concat()).is_err());
        let database = Database::in_memory().unwrap();
        let behind = |end: u64| AddedColumns::behind(Lsn::new(end), &database.snapshot()).unwrap().names();
        assert!(behind(0).is_empty(), "an older program has no such note");
        let mut ownership = database.own("a source").unwrap();
        let mut transaction = ownership.begin().unwrap();
        transaction.set_note(ADDED_NOTE, &bytes).unwrap();
        transaction.commit().unwrap();
        assert_eq!(behind(0x1_0000_0027), added.names());
        assert_eq!(behind(0x1_0000_0028), BTreeSet::from([(7, "n".into())]));
        assert!(behind(0x1_0000_0100).is_empty());
    }
}
