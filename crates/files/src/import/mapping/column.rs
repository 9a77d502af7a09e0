//! Column: how a mapping file names columns: by name or number, one or several, with their space and type.
//!
//! ```text
//! id = "pid"                                      the column's name
//! id = 2                                          its number, counted from 1
//! id = ["order_id", "line"]                       several; of tables
//! start = { column = "from", space = "Person" }   and whose ids they hold
//! ```

use crate::import::mapping::rule::{ColumnName, EndColumn};
use crate::import::mapping::table::EndColumns;
use serde::Deserialize;
use serde::de::value::{I64Deserializer, MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;

/// A column, by its name or number.
#[derive(Clone)]
pub(super) struct Column(pub(super) ColumnName);

impl<'de> Deserialize<'de> for Column {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ColumnVisitor;
        impl Visitor<'_> for ColumnVisitor {
            type Value = Column;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column, or its number counted from 1")
            }

            fn visit_str<E>(self, name: &str) -> Result<Column, E> {
                Ok(Column(ColumnName::Name(name.to_owned())))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Column, E> {
                match usize::try_from(number) {
                    Ok(number) if number > 0 => Ok(Column(ColumnName::Number(number))),
                    _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(ColumnVisitor)
    }
}

/// One column or several, which are one key together.
#[derive(Clone)]
pub(super) struct Columns(pub(super) Vec<ColumnName>);

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ColumnsVisitor;
        impl<'de> Visitor<'de> for ColumnsVisitor {
            type Value = Columns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column, its number counted from 1, or a list of these")
            }

            fn visit_str<E>(self, name: &str) -> Result<Columns, E> {
                Ok(Columns(vec![ColumnName::Name(name.to_owned())]))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Columns, E> {
                Ok(Columns(vec![Column::deserialize(I64Deserializer::<E>::new(number))?.0]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, columns: A) -> Result<Columns, A::Error> {
                let columns = Vec::<Column>::deserialize(SeqAccessDeserializer::new(columns))?;
                if columns.is_empty() {
                    return Err(A::Error::invalid_length(0, &"one column or more"));
                }
                Ok(Columns(columns.into_iter().map(|Column(name)| name).collect()))
            }
        }
        deserializer.deserialize_any(ColumnsVisitor)
    }
}

/// A column of ids in a file: its name or number, or a table that says more.
pub(super) struct End(pub(super) EndColumn);

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            column: Column,
            space: Option<String>,
            #[serde(rename = "type")]
            id_type: Option<String>,
            #[serde(default, rename = "on-unknown")]
            on_unknown: Option<OnUnknownEnd>,
        }
        /// The only word: the others are for a whole import.
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum OnUnknownEnd {
            Create,
        }
        struct EndVisitor;
        impl<'de> Visitor<'de> for EndVisitor {
            type Value = End;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of a column, its number counted from 1, or \
                     { column = NAME, space = SPACE, type = TYPE, on-unknown = \"create\" }",
                )
            }

            fn visit_str<E>(self, name: &str) -> Result<End, E> {
                Ok(End(EndColumn::new(ColumnName::Name(name.to_owned()))))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<End, E> {
                Ok(End(EndColumn::new(Column::deserialize(I64Deserializer::<E>::new(number))?.0)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<End, A::Error> {
                let Table { column, space, id_type, on_unknown } =
                    Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(End(EndColumn { column: column.0, space, id_type, creates: on_unknown.is_some() }))
            }
        }
        deserializer.deserialize_any(EndVisitor)
    }
}

/// The columns of a table that hold ids: their names or numbers, or a table that names their space, too.
pub(super) struct Ends(pub(super) EndColumns);

impl<'de> Deserialize<'de> for Ends {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            column: Columns,
            space: Option<String>,
        }
        struct EndsVisitor;
        impl<'de> Visitor<'de> for EndsVisitor {
            type Value = Ends;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "the name of a column, its number counted from 1, a list of these, or \
                     { column = NAME, space = LABEL }",
                )
            }

            fn visit_str<E>(self, name: &str) -> Result<Ends, E> {
                Ok(Ends(EndColumns::new(vec![ColumnName::Name(name.to_owned())])))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Ends, E> {
                let columns = Columns::deserialize(I64Deserializer::<E>::new(number))?;
                Ok(Ends(EndColumns::new(columns.0)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, columns: A) -> Result<Ends, A::Error> {
                let columns = Columns::deserialize(SeqAccessDeserializer::new(columns))?;
                Ok(Ends(EndColumns::new(columns.0)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Ends, A::Error> {
                let Table { column, space } = Table::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Ends(EndColumns { columns: column.0, space }))
            }
        }
        deserializer.deserialize_any(EndsVisitor)
    }
}
