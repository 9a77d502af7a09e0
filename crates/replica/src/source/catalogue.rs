//! `Catalogue`: tables, columns, keys and types of a source, as a document.
//!
//! A mapping is resolved on it, the check of a source names what is missing in it, and comparing two of them shows changes that
//! the stream says nothing about.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::pgoutput::relation::{Oid, RelationIdentity};
use crate::source::catalogue_marks::CatalogueMarks;
use crate::value::column_type::ColumnType;

/// Domains over domains, and arrays of them: no schema is nested so deep, and a source that says so lies.
const TYPE_DEPTH_MAX: usize = 32;

/// What a source has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalogue {
    /// The tables, partitioned ones and partitions among them, by schema and name.
    pub tables: Vec<Table>,
    /// The types of their columns.
    pub types: Types,
    /// The publications, by name.
    pub publications: Vec<Publication>,
    /// What shows changes that leave all of this as it was.
    pub marks: CatalogueMarks,
}

impl Catalogue {
    /// The table of this schema and name.
    #[must_use]
    pub fn table(&self, schema: &str, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| &*table.schema == schema && &*table.name == name)
    }

    /// The table of this number.
    #[must_use]
    pub fn table_of(&self, id: Oid) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// The publication of this name.
    #[must_use]
    pub fn publication(&self, name: &str) -> Option<&Publication> {
        self.publications.iter().find(|publication| &*publication.name == name)
    }
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its number.
    pub id: Oid,
    /// Its schema.
    pub schema: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Whether it has rows of its own.
    pub kind: TableKind,
    /// The table that this one is a partition of.
    pub partition_of: Option<Oid>,
    /// Tables that inherit from this one and are no partitions, as SQL has their names. A query of this table shows their rows;
    /// the stream sends these as the children's.
    pub child_tables: Vec<Box<str>>,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
    /// Its primary key.
    pub primary_key: Option<Key>,
    /// Its other unique keys: constraints, and indexes without an expression or a condition.
    pub unique_keys: Vec<Key>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// What UPDATE and DELETE log of a row.
    pub identity: RelationIdentity,
    /// The columns of that identity; empty if there is none, so that both fail once a publication has the table.
    pub identity_columns: Vec<Box<str>>,
    /// How many rows it has, about; `None` if PostgreSQL never counted.
    pub rows_estimate: Option<u64>,
    /// What this role may do with it.
    pub rights: TableRights,
}

/// What the role that reads a catalogue may do with a table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TableRights {
    /// Whether it may read the table, or some of its columns.
    pub may_read: bool,
    /// The columns that it may not read, if it may read others.
    pub unreadable_columns: Vec<Box<str>>,
    /// Whether it may put the table into a publication: it has the rights of the owner, or is a superuser.
    pub may_publish: bool,
    /// Whether policies of row-level security may hide rows from it.
    pub hides_rows: bool,
}

impl Default for TableRights {
    /// All rights, and no hidden rows.
    fn default() -> Self {
        Self { may_read: true, unreadable_columns: Vec::new(), may_publish: true, hides_rows: false }
    }
}

impl Table {
    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| &*column.name == name)
    }

    /// Whether the source can log which row an UPDATE or DELETE is about. If not, both **fail at the source** once a publication
    /// has the table.
    #[must_use]
    pub fn has_identity(&self) -> bool {
        self.identity == RelationIdentity::Full || !self.identity_columns.is_empty()
    }
}

/// Whether a table has rows of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableKind {
    /// It has.
    Plain,
    /// Its partitions have them.
    Partitioned,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: Box<str>,
    /// Its type's number.
    pub type_id: Oid,
    /// Its type as SQL writes it, such as `character varying(8)`.
    pub type_name: Box<str>,
    /// Whether it may be null.
    pub is_nullable: bool,
    /// Whether it is computed from others: such a column is not in the stream (PostgreSQL 17 and older).
    pub is_generated: bool,
    /// Whether its collation takes different texts for equal (`deterministic = false`).
    pub is_nondeterministic: bool,
}

/// A primary or unique key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// The name of its index.
    pub name: Box<str>,
    /// Its columns, in their order.
    pub columns: Vec<Box<str>>,
    /// Whether rows may share a key until their transaction ends. Such a key is no replica identity.
    pub is_deferrable: bool,
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    /// Its name.
    pub name: Box<str>,
    /// Its columns, in their order.
    pub columns: Vec<Box<str>>,
    /// The table that it refers to.
    pub target: Oid,
    /// The columns that it refers to, in the same order.
    pub target_columns: Vec<Box<str>>,
    /// Whether all rows were checked: if not, a row may refer to none.
    pub is_validated: bool,
    /// Whether a row may refer to none until its transaction ends.
    pub is_deferrable: bool,
}

/// A publication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publication {
    /// Its name.
    pub name: Box<str>,
    /// Whether it has all tables, now and later.
    pub has_all_tables: bool,
    /// The kinds of changes that it publishes.
    pub operations: Operations,
    /// Whether changes of partitions are published as changes of the table that they are parts of.
    pub is_by_root: bool,
    /// Its tables, as `pg_publication_tables` resolves them.
    pub tables: Vec<PublishedTable>,
}

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operations {
    /// Inserted rows.
    pub inserts: bool,
    /// Updated rows.
    pub updates: bool,
    /// Deleted rows.
    pub deletes: bool,
    /// Emptied tables.
    pub truncates: bool,
}

/// A table of a publication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishedTable {
    /// Its schema.
    pub schema: Box<str>,
    /// Its name.
    pub table: Box<str>,
    /// The columns that are published.
    pub columns: Vec<Box<str>>,
    /// The condition that rows must meet, as SQL.
    pub row_filter: Option<Box<str>>,
}

/// Types by number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Types(BTreeMap<Oid, TypeEntry>);

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeEntry {
    /// Its name.
    pub name: Box<str>,
    /// What it is made of.
    pub kind: TypeKind,
}

/// What a type is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// Nothing else.
    Base,
    /// One of these labels.
    Enum {
        /// The labels, in their order.
        labels: Vec<Box<str>>,
    },
    /// Another type, with conditions.
    Domain {
        /// The other type.
        base: Oid,
    },
    /// Elements.
    Array {
        /// Their type.
        element: Oid,
        /// What separates them.
        delimiter: u8,
    },
    /// A composite, a range, or what else is read as text.
    Other,
}

/// A type cannot be resolved: the catalogue is older than the type, or it lies.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "the type {oid} is not in the catalogue that was read, or is nested without end: read the catalogue again"
)]
pub struct UnknownColumnTypeError {
    /// The type.
    pub oid: Oid,
}

impl Types {
    /// Adds a type.
    pub fn insert(&mut self, oid: Oid, entry: TypeEntry) {
        self.0.insert(oid, entry);
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = (Oid, &TypeEntry)> {
        self.0.iter().map(|(oid, entry)| (*oid, entry))
    }

    /// The type of this number.
    #[must_use]
    pub fn get(&self, oid: Oid) -> Option<&TypeEntry> {
        self.0.get(&oid)
    }

    /// How the text of the type is read: a domain as its base, an enum as text.
    ///
    /// # Errors
    /// [`UnknownColumnTypeError`].
    pub fn resolve(&self, oid: Oid) -> Result<ColumnType, UnknownColumnTypeError> {
        self.resolve_within(oid, TYPE_DEPTH_MAX).ok_or(UnknownColumnTypeError { oid })
    }

    fn resolve_within(&self, oid: Oid, depth: usize) -> Option<ColumnType> {
        if let Some(built_in) = ColumnType::built_in(oid) {
            return Some(built_in);
        }
        let depth = depth.checked_sub(1)?;
        Some(match self.0.get(&oid)?.kind {
            TypeKind::Base | TypeKind::Enum { .. } | TypeKind::Other => ColumnType::Text,
            TypeKind::Domain { base } => self.resolve_within(base, depth)?,
            TypeKind::Array { element, delimiter } => match self.resolve_within(element, depth)? {
                // A domain over an array, in an array: its elements are quoted texts.
                ColumnType::Array { .. } => {
                    ColumnType::Array { element: Box::new(ColumnType::Text), delimiter }
                }
                element => ColumnType::Array { element: Box::new(element), delimiter },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_enums_and_arrays_are_resolved_and_circles_are_not() {
        let mut types = Types::default();
        let mut add = |oid, kind| types.insert(oid, TypeEntry { name: "t".into(), kind });
        add(100, TypeKind::Domain { base: 1700 });
        add(101, TypeKind::Array { element: 100, delimiter: b',' });
        add(102, TypeKind::Enum { labels: vec!["a".into()] });
        add(103, TypeKind::Domain { base: 101 });
        add(104, TypeKind::Array { element: 103, delimiter: b',' });
        add(105, TypeKind::Domain { base: 106 });
        add(106, TypeKind::Domain { base: 105 });
        add(107, TypeKind::Domain { base: 108 });
        let array = |element| ColumnType::Array { element: Box::new(element), delimiter: b',' };
        assert_eq!(types.resolve(100), Ok(ColumnType::Numeric));
        assert_eq!(types.resolve(101), Ok(array(ColumnType::Numeric)));
        assert_eq!(types.resolve(102), Ok(ColumnType::Text));
        assert_eq!(types.resolve(103), Ok(array(ColumnType::Numeric)));
        assert_eq!(types.resolve(104), Ok(array(ColumnType::Text)));
        for oid in [105, 107, 108] {
            assert_eq!(types.resolve(oid), Err(UnknownColumnTypeError { oid }));
        }
        assert_eq!(types.resolve(23), Ok(ColumnType::I32));
    }
}
