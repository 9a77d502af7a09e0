//! `Relation`: what a row's message needs to be understood: the table's name, columns and identity.
//!
//! PostgreSQL sends it before the first row of a table in a session, and again when the table changed. It is the only sign of
//! `ALTER TABLE`: rows that such a command rewrites are not sent.

use evergraph_graph::bytes::Decoded;

use crate::network_reader::NetworkReader;

/// A number by which PostgreSQL's catalogue knows a table or a type.
pub type Oid = u32;

/// The fewest bytes of a column: flags, an empty name, type and modifier.
const COLUMN_BYTES_MIN: usize = 10;

/// A table, as the messages after this one mean it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// The table's number.
    pub id: Oid,
    /// The schema's name; empty for `pg_catalog`.
    pub schema: Box<str>,
    /// The table's name.
    pub name: Box<str>,
    /// What UPDATE and DELETE send of the row as it was.
    pub identity: RelationIdentity,
    /// The published columns, in the order of every tuple.
    pub columns: Box<[RelationColumn]>,
}

/// What UPDATE and DELETE send of the row as it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelationIdentity {
    /// The columns of the primary key.
    PrimaryKey,
    /// Nothing: both statements fail at the source while a publication has them.
    Nothing,
    /// All columns.
    Full,
    /// The columns of an index.
    Index,
}

/// A published column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RelationColumn {
    /// The column's name.
    pub name: Box<str>,
    /// The number of its type: that of a domain or an enum, not of what these are made of.
    pub type_id: Oid,
    /// The type's modifier, such as the length of `varchar(8)`; -1 for none.
    pub type_modifier: i32,
    /// Whether the column belongs to the identity.
    pub is_key: bool,
}

impl RelationIdentity {
    /// Its letter in `pg_class.relreplident`.
    #[must_use]
    pub const fn letter(self) -> u8 {
        match self {
            Self::PrimaryKey => b'd',
            Self::Nothing => b'n',
            Self::Full => b'f',
            Self::Index => b'i',
        }
    }

    /// The identity with this letter in `pg_class.relreplident`.
    #[must_use]
    pub const fn from_letter(letter: u8) -> Option<Self> {
        match letter {
            b'd' => Some(Self::PrimaryKey),
            b'n' => Some(Self::Nothing),
            b'f' => Some(Self::Full),
            b'i' => Some(Self::Index),
            _ => None,
        }
    }
}

impl Relation {
    /// Reads what follows the message's letter and transaction.
    pub(super) fn read(reader: &mut NetworkReader<'_>) -> Decoded<Self> {
        let id = reader.u32()?;
        let (schema, name) = (reader.text()?.into(), reader.text()?.into());
        let start = reader.clone();
        let letter = reader.u8()?;
        let identity = RelationIdentity::from_letter(letter).ok_or_else(|| {
            start.error(format!("a replica identity (d, n, f, i) expected, found {letter:#x}"))
        })?;
        let start = reader.clone();
        let count = usize::from(reader.u16()?);
        if count > reader.remaining() / COLUMN_BYTES_MIN {
            return Err(start.error(format!("{count} columns announced, {} bytes left", reader.remaining())));
        }
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let flags = reader.u8()?;
            let name = reader.text()?.into();
            let (type_id, type_modifier) = (reader.u32()?, reader.i32()?);
            columns.push(RelationColumn { name, type_id, type_modifier, is_key: flags & 1 != 0 });
        }
        Ok(Self { id, schema, name, identity, columns: columns.into() })
    }
}
