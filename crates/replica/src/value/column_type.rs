//! `ColumnType`: what the text of a column is read as.

use std::fmt;

use evergraph_graph::value::ValueType;

use crate::pgoutput::relation::Oid;

/// How the text of a type is read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ColumnType {
    /// `bool`.
    Bool,
    /// `int2`.
    I16,
    /// `int4`.
    I32,
    /// `int8`, and `oid`, which has no sign.
    I64,
    /// `float4`.
    F32,
    /// `float8`.
    F64,
    /// `numeric`.
    Numeric,
    /// All that stays text, JSON among it.
    Text,
    /// `bytea`.
    Bytes,
    /// `uuid`.
    Uuid,
    /// `date`.
    Date,
    /// `timestamp`, taken as UTC.
    Timestamp,
    /// `timestamptz`.
    TimestampTz,
    /// `interval`.
    Interval,
    /// An array, of any number of dimensions: PostgreSQL does not fix them.
    Array {
        /// The elements' type, which is no array.
        element: Box<ColumnType>,
        /// What separates them: a comma, but for `box` a semicolon.
        delimiter: u8,
    },
}

impl ColumnType {
    /// The type of a number that PostgreSQL itself defines, arrays aside; `None` for types of the user and of extensions,
    /// which [`crate::source::catalogue::Types`] resolves.
    #[must_use]
    pub const fn built_in(oid: Oid) -> Option<Self> {
        Some(match oid {
            16 => Self::Bool,
            17 => Self::Bytes,
            20 | 26 => Self::I64,
            21 => Self::I16,
            23 => Self::I32,
            700 => Self::F32,
            701 => Self::F64,
            1082 => Self::Date,
            1114 => Self::Timestamp,
            1184 => Self::TimestampTz,
            1186 => Self::Interval,
            1700 => Self::Numeric,
            2950 => Self::Uuid,
            // "char", name, text, json, xml, bpchar, varchar, time, timetz, jsonb
            18 | 19 | 25 | 114 | 142 | 1042 | 1043 | 1083 | 1266 | 3802 => Self::Text,
            _ => return None,
        })
    }

    /// The type of the values that come of it.
    #[must_use]
    pub const fn value_type(&self) -> ValueType {
        match self {
            Self::Bool => ValueType::Bool,
            Self::I16 => ValueType::I16,
            Self::I32 => ValueType::I32,
            Self::I64 => ValueType::I64,
            Self::F32 => ValueType::F32,
            Self::F64 => ValueType::F64,
            Self::Numeric => ValueType::Decimal,
            Self::Text => ValueType::String,
            Self::Bytes => ValueType::Bytes,
            Self::Uuid => ValueType::Uuid,
            Self::Date => ValueType::Date,
            Self::Timestamp | Self::TimestampTz => ValueType::DateTime,
            Self::Interval => ValueType::Duration,
            Self::Array { .. } => ValueType::List,
        }
    }
}

impl fmt::Display for ColumnType {
    /// PostgreSQL's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "boolean",
            Self::I16 => "smallint",
            Self::I32 => "integer",
            Self::I64 => "bigint",
            Self::F32 => "real",
            Self::F64 => "double precision",
            Self::Numeric => "numeric",
            Self::Text => "text",
            Self::Bytes => "bytea",
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamptz",
            Self::Interval => "interval",
            Self::Array { element, .. } => return write!(f, "{element}[]"),
        })
    }
}
