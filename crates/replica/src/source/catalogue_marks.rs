//! `CatalogueMarks`: numbers of a source's catalogue by which a change shows that leaves all names and types as they were.
//!
//! ```text
//! column        its number              dropped and added again, or another column renamed to its name: another number
//! label         its number              renamed: the same number
//! attributes    numbers and types       a composite type got or lost some: all of its values have other texts
//! table         who named it            renamed or moved to another schema, and back: another transaction
//!               its file                all rows were written anew, as for a column with a default: another number
//! partition     who attached it         detached and attached again: another transaction
//! publication   its and its tables'     dropped and made again, a table taken out and put back: other numbers
//!               who set its options     others in between: another transaction
//! ```
//!
//! What no query saw has no mark.

use std::collections::BTreeMap;

use crate::pgoutput::message::Xid;
use crate::pgoutput::relation::Oid;

/// Labels of an enum, by their numbers.
pub type EnumLabels = BTreeMap<Oid, Box<str>>;

/// The marks of a source, or of a part of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CatalogueMarks {
    /// By the numbers of tables.
    pub tables: BTreeMap<Oid, TableMarks>,
    /// The labels of enums, by the numbers of their types.
    pub enums: BTreeMap<Oid, EnumLabels>,
    /// The attributes of composite types and of those within them, by the numbers of the types: a text that is another one for
    /// others.
    pub composites: BTreeMap<Oid, Box<str>>,
    /// By name.
    pub publications: BTreeMap<Box<str>, PublicationMarks>,
}

/// The marks of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableMarks {
    /// The transaction that made it a partition; `None` if it is none.
    pub attached_by: Option<Xid>,
    /// Who named it, or moved it to its schema.
    pub named_by: Change,
    /// The number of the file that has its rows (`relfilenode`); `None` if nobody asked.
    pub file: Option<Oid>,
    /// The numbers of columns (`attnum`), which no other column of the table ever had, by name.
    pub columns: BTreeMap<Box<str>, u16>,
    /// The greatest number that a column of the table ever had; zero if nobody asked.
    pub last_number: u16,
}

/// Who changed a row of the catalogue last. A new owner changes it as well, and nothing that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Change {
    /// The transaction; zero if nobody asked.
    pub transaction: Xid,
    /// The owner of what the row describes.
    pub owner: Oid,
}

impl Change {
    /// Whether something else than the owner changed since `before`.
    #[must_use]
    pub fn is_another(self, before: Self) -> bool {
        before.transaction > 0 && self.transaction != before.transaction && self.owner == before.owner
    }
}

/// The marks of a publication.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PublicationMarks {
    /// Its number.
    pub id: Oid,
    /// Who set its options, or named it.
    pub set_by: Change,
    /// What it was told to publish.
    pub entries: BTreeMap<PublicationEntry, Oid>,
}

/// What a publication was told to publish: a table, or a schema with all of its tables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PublicationEntry {
    /// The schema.
    pub schema: Box<str>,
    /// The table; `None` for all.
    pub table: Option<Box<str>>,
    /// Its columns and its condition, as the server notes them: `SET TABLE` leaves an equal one as it is.
    pub form: Box<str>,
}
