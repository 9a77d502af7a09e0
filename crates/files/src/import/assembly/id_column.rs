//! Id column: the ids of a batch, one a row, all of one kind.

use crate::import::field::cell::{CellColumn, shortened};
use crate::import::id_type::{IdKind, IdType};
use crate::import::staging::spill::put_count;
use evergraph_graph::byte_strings::ByteStrings;
use evergraph_graph::bytes::{Decoded, Reader, put_bytes};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::checkpoint::arrays::{put_array, take_array};

/// Kinds of columns in a temporary file.
const INTEGERS: u8 = 0;
const STRINGS: u8 = 1;
const VALUES: u8 = 2;

/// Ids of one kind, one a row.
#[derive(Clone, Debug)]
pub enum IdColumn {
    /// Whole numbers, by their bits.
    Integers(Vec<u64>),
    /// Texts in UTF-8.
    Strings(ByteStrings),
    /// Values, as [`Value::encode`] puts them down.
    Values(ByteStrings),
}

impl IdColumn {
    /// No ids of `kind` yet.
    #[must_use]
    pub fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::Integers => Self::Integers(Vec::new()),
            IdKind::Strings => Self::Strings(ByteStrings::default()),
            IdKind::Typed(_) | IdKind::Values => Self::Values(ByteStrings::default()),
        }
    }

    /// Adds an id.
    ///
    /// # Panics
    /// If `id` is not of the column's kind.
    pub fn push_value(&mut self, id: &Value) {
        match (self, id) {
            (Self::Values(ids), id) => ids.push_with(|bytes| id.encode(bytes)),
            (Self::Strings(ids), Value::String(id)) => ids.push(id.as_bytes()),
            (Self::Integers(ids), id) => {
                ids.push(id.as_i64().expect("a column of whole numbers gets one").cast_unsigned());
            }
            (Self::Strings(_), _) => panic!("a column of texts gets one"),
        }
    }

    /// How many ids.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(ids) => ids.len(),
            Self::Strings(ids) | Self::Values(ids) => ids.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        let bytes = match self {
            Self::Integers(ids) => ids.capacity() * size_of::<u64>(),
            Self::Strings(ids) | Self::Values(ids) => ids.heap_bytes(),
        };
        bytes as u64
    }

    /// Appends its form in a temporary file.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let (tag, strings) = match self {
            Self::Integers(ids) => {
                out.push(INTEGERS);
                put_count(out, ids.len());
                return put_array(out, ids);
            }
            Self::Strings(ids) => (STRINGS, ids),
            Self::Values(ids) => (VALUES, ids),
        };
        out.push(tag);
        put_count(out, strings.len());
        strings.iter().for_each(|string| put_bytes(out, string));
    }

    /// Reads what [`IdColumn::put`] wrote.
    pub(super) fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let (tag, count) = (reader.u8()?, reader.u32()?);
        if tag == INTEGERS {
            return Ok(Self::Integers(take_array(reader, count as usize)?.into()));
        }
        let mut strings = ByteStrings::default();
        for _ in 0..count {
            strings.push(reader.bytes()?);
        }
        Ok(if tag == STRINGS { Self::Strings(strings) } else { Self::Values(strings) })
    }

    /// Drops the rows for which `keep` is false.
    ///
    /// # Panics
    /// If `keep` has fewer entries than there are rows.
    pub fn retain(&mut self, keep: &[bool]) {
        match self {
            Self::Integers(ids) => {
                let mut kept = keep.iter();
                ids.retain(|_| *kept.next().expect("one entry an id"));
            }
            Self::Strings(ids) | Self::Values(ids) => {
                let all = std::mem::take(ids);
                (0..all.len()).filter(|row| keep[*row]).for_each(|row| ids.push(all.get(row)));
            }
        }
    }

    /// The id of `row` as errors show it.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn show(&self, row: usize) -> String {
        match self {
            Self::Integers(ids) => ids[row].cast_signed().to_string(),
            Self::Strings(ids) => shortened(ids.get(row)).to_string(),
            Self::Values(ids) => match value_of(ids.get(row)) {
                Value::String(text) => shortened(text.as_bytes()).to_string(),
                other => other.to_string(),
            },
        }
    }

    /// The id of `row` as a value.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        match self {
            Self::Integers(ids) => Value::I64(ids[row].cast_signed()),
            Self::Strings(ids) => Value::from(text_of(ids.get(row))),
            Self::Values(ids) => value_of(ids.get(row)),
        }
    }

    /// The ids of `rows` as a property of `id_type`, `None` being that of the values found; all of them if
    /// `rows` is `None`.
    ///
    /// # Errors
    /// Names the first number that `id_type` doesn't hold.
    ///
    /// # Panics
    /// If there is no such row, or ids are not of the kind of `id_type`.
    pub fn to_column(&self, rows: Option<&[u32]>, id_type: Option<IdType>) -> Result<CellColumn, String> {
        match rows {
            Some(rows) => self.property(rows.iter().map(|row| *row as usize), id_type),
            None => self.property(0..self.len(), id_type),
        }
    }

    fn property(
        &self,
        mut rows: impl Iterator<Item = usize>,
        id_type: Option<IdType>,
    ) -> Result<CellColumn, String> {
        let mut column = PackedColumnBuilder::default();
        match self {
            Self::Integers(ids) if id_type == Some(IdType::LONG) => {
                rows.for_each(|row| column.push_i64(ids[row].cast_signed()));
            }
            Self::Integers(ids) => {
                let id_type = id_type.expect("only values are of types that nobody states");
                rows.try_for_each(|row| {
                    let number = ids[row].cast_signed();
                    let id = id_type.of_number(number);
                    let id =
                        id.ok_or_else(|| format!("{number} is not a valid {id_type}, as ids are here"))?;
                    column.push(Some(&id));
                    Ok::<_, String>(())
                })?;
            }
            Self::Strings(ids) => rows.for_each(|row| column.push_text(text_of(ids.get(row)))),
            Self::Values(ids) => rows.for_each(|row| column.push(Some(&value_of(ids.get(row))))),
        }
        let column = column.finish();
        let found = || column.as_ref().map_or(ValueType::Any, |column| column.value_type());
        Ok(CellColumn { value_type: id_type.map_or_else(found, IdType::value_type), column })
    }
}

fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("ids are checked when they are read")
}

fn value_of(bytes: &[u8]) -> Value {
    Value::decode(&mut Reader::new(bytes)).expect("`push_value` encoded it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_type_keep_it_and_are_told_apart_by_it() {
        let mut ids = IdColumn::new(IdKind::Values);
        let values = [Value::I32(1), Value::I64(1), Value::from("1")];
        values.iter().for_each(|id| ids.push_value(id));
        let IdColumn::Values(bytes) = &ids else { unreachable!() };
        assert!(bytes.get(0) != bytes.get(1) && bytes.get(1) != bytes.get(2));
        assert_eq!([0, 1, 2].map(|row| ids.show(row)), ["1", "1", "\"1\""]);
        let column = ids.to_column(None, None).unwrap();
        assert_eq!(column.value_type, ValueType::Any);
        let back: Vec<Value> = (0..3).map(|row| column.column.as_ref().unwrap().get(row).unwrap()).collect();
        assert_eq!(back, values);
        assert_eq!(ids.to_column(Some(&[1]), None).unwrap().value_type, ValueType::I64);
        ids.retain(&[false, true, false]);
        assert_eq!((ids.len(), ids.show(0).as_str()), (1, "1"));
    }

    #[test]
    fn whole_numbers_become_a_property_of_any_width_that_holds_them() {
        let ids = IdColumn::Integers(vec![7, 300]);
        let [byte, int] = [ValueType::I8, ValueType::I32].map(IdType::new);
        let column = ids.to_column(None, int).unwrap();
        assert_eq!(column.value_type, ValueType::I32);
        assert_eq!(column.column.unwrap().get(1), Some(Value::I32(300)));
        assert_eq!(ids.to_column(None, byte).unwrap_err(), "300 is not a valid byte, as ids are here");
        assert!(ids.to_column(Some(&[0]), byte).is_ok());
    }
}
