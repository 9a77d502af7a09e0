//! Key: what identifies a vertex or an edge, from one column or from several.
//!
//! ```text
//! one column        7                          the value, of the column's type
//! several           2024-02-29|a\|b            a string: texts joined by `|`; a backslash stands before `|` and `\` in them
//! ```
//!
//! A list of values would say the same, but Gremlin reads it as several values of one property. Texts are joined in one
//! form, so that rows that refer to each other give the same string: numeric without zeros at its end, `char(n)` without
//! blanks, all else as PostgreSQL writes it with pinned settings.
//!
//! The same plan stands for an end: its columns are those of the row that refers, its types those of the vertex.

use crate::mapping::property::{binary_form, unpadded};
use crate::pgoutput::tuple::Cell;
use crate::value::column_type::ColumnType;
use crate::value::unfit::UnfitValue;
use evergraph_graph::value::{Value, ValueType};

/// The property that holds a key of several columns.
pub const COMPOSITE_PROPERTY: &str = "key";
/// What stands between the texts of a key of several columns.
const SEPARATOR: u8 = b'|';
/// What stands before a separator, or before itself, in a text.
const ESCAPE: u8 = b'\\';

/// What identifies a vertex or an edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyPlan {
    /// The property that holds it.
    pub property: String,
    /// Its columns, one or more.
    pub columns: Vec<KeyColumn>,
}

/// A column of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyColumn {
    /// Its index among the cells of a row.
    pub column: usize,
    /// How its text is read: of an end, the type that the vertex's own key has.
    pub column_type: ColumnType,
    /// Whether blanks at the end mean nothing.
    pub is_padded: bool,
}

/// Why a row has no key.
#[derive(Clone, PartialEq, Debug)]
pub enum UnreadableKey {
    /// The update left this column alone, and PostgreSQL did not send its value (TOAST).
    Unchanged {
        /// The column's index.
        column: usize,
    },
    /// The value of this column has no counterpart here.
    Unfit {
        /// The column's index.
        column: usize,
        /// Why.
        value: UnfitValue,
    },
}

impl KeyPlan {
    /// Whether it is joined from several columns.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        self.columns.len() > 1
    }

    /// The type of its values.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        match &self.columns[..] {
            [column] => column.column_type.value_type(),
            _ => ValueType::String,
        }
    }

    /// As [`KeyPlan::read`], of keys of one column that have the most frequent texts; `None` says nothing of others.
    ///
    /// # Panics
    /// If there are fewer cells than the plan has columns.
    #[inline]
    #[must_use]
    pub fn read_plain(&self, cells: &[Cell<'_>]) -> Option<Value> {
        match &self.columns[..] {
            [KeyColumn { column, column_type, is_padded: false }] => match cells[*column] {
                Cell::Text(text) => column_type.read_plain(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The key of a row; `None` if a part of it is null: such an end refers to nothing.
    ///
    /// Cost: one pass over the texts.
    ///
    /// # Errors
    /// [`UnreadableKey`].
    ///
    /// # Panics
    /// If there are fewer cells than the plan has columns.
    pub fn read(&self, cells: &[Cell<'_>]) -> Result<Option<Value>, UnreadableKey> {
        if let [column] = &self.columns[..] {
            let Some(text) = column.text(cells)? else { return Ok(None) };
            return column.read(text).map(Some);
        }
        let mut joined = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            let Some(text) = column.text(cells)? else { return Ok(None) };
            if place > 0 {
                joined.push(SEPARATOR);
            }
            for byte in column.canonical(text) {
                if *byte == SEPARATOR || *byte == ESCAPE {
                    joined.push(ESCAPE);
                }
                joined.push(*byte);
            }
        }
        let unfit = |value| UnreadableKey::Unfit { column: self.columns[0].column, value };
        ColumnType::Text.read(&joined).map(Some).map_err(unfit)
    }
}

impl KeyColumn {
    fn text<'a>(&self, cells: &[Cell<'a>]) -> Result<Option<&'a [u8]>, UnreadableKey> {
        match cells[self.column] {
            Cell::Null => Ok(None),
            Cell::Unchanged => Err(UnreadableKey::Unchanged { column: self.column }),
            Cell::Text(text) => Ok(Some(if self.is_padded { unpadded(text) } else { text })),
            Cell::Binary(_) => {
                let value = binary_form(&self.column_type);
                Err(UnreadableKey::Unfit { column: self.column, value })
            }
        }
    }

    fn read(&self, text: &[u8]) -> Result<Value, UnreadableKey> {
        self.column_type.read(text).map_err(|value| UnreadableKey::Unfit { column: self.column, value })
    }

    /// One text for all texts of equal values.
    fn canonical<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        match (&self.column_type, text.iter().position(|byte| *byte == b'.')) {
            (ColumnType::Numeric, Some(_)) => {
                let digits = text.iter().rposition(|byte| *byte != b'0').map_or(0, |last| last + 1);
                text[..digits].strip_suffix(b".").unwrap_or(&text[..digits])
            }
            _ => text,
        }
    }
}

/// Whether equal values of a type have one text, but for zeros at the end of a numeric: what a key needs.
#[must_use]
pub const fn is_key_type(column_type: &ColumnType) -> bool {
    !matches!(
        column_type,
        ColumnType::F32 | ColumnType::F64 | ColumnType::Interval | ColumnType::Array { .. }
    )
}

/// The texts that a key of several columns was joined from; `None` if it is none: a backslash stands at its end.
#[must_use]
pub fn split(key: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut letters = key.chars();
    while let Some(letter) = letters.next() {
        let part = parts.last_mut().expect("there is one from the beginning");
        match letter {
            '|' => parts.push(String::new()),
            '\\' => part.push(letters.next()?),
            _ => part.push(letter),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plan(types: &[ColumnType]) -> KeyPlan {
        let column = |(column, column_type): (usize, &ColumnType)| KeyColumn {
            column,
            column_type: column_type.clone(),
            is_padded: false,
        };
        KeyPlan { property: "key".to_owned(), columns: types.iter().enumerate().map(column).collect() }
    }

    fn cells<'a>(texts: &[&'a str]) -> Vec<Cell<'a>> {
        texts.iter().map(|text| Cell::Text(text.as_bytes())).collect()
    }

    #[test]
    fn one_column_is_a_value_of_its_type_and_several_are_a_string() {
        assert_eq!(plan(&[ColumnType::I32]).read(&cells(&["7"])), Ok(Some(Value::I32(7))));
        let two = plan(&[ColumnType::Numeric, ColumnType::Text]);
        assert_eq!(two.read(&cells(&["1.50", "a|b\\"])), Ok(Some(Value::from("1.5|a\\|b\\\\"))));
        assert_eq!(two.read(&cells(&["100", ""])), Ok(Some(Value::from("100|"))));
        assert_eq!(two.read(&cells(&["0.00", ""])), Ok(Some(Value::from("0|"))));
        assert_eq!((two.is_composite(), two.value_type()), (true, ValueType::String));
        let mut padded = plan(&[ColumnType::Text]);
        padded.columns[0].is_padded = true;
        assert_eq!(padded.read(&cells(&["ab  "])), Ok(Some(Value::from("ab"))));
    }

    #[test]
    fn a_key_with_a_null_is_none_and_one_that_was_not_sent_is_an_error() {
        let two = plan(&[ColumnType::I32, ColumnType::Text]);
        assert_eq!(two.read(&[Cell::Text(b"1"), Cell::Null]), Ok(None));
        let unchanged = two.read(&[Cell::Text(b"1"), Cell::Unchanged]);
        assert_eq!(unchanged, Err(UnreadableKey::Unchanged { column: 1 }));
        let unfit = plan(&[ColumnType::Date]).read(&cells(&["infinity"]));
        assert!(matches!(unfit, Err(UnreadableKey::Unfit { column: 0, .. })), "{unfit:?}");
    }

    proptest! {
        #[test]
        fn different_texts_give_different_keys(texts in prop::collection::vec(r"[a|\\é]{0,4}", 2..5)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let plan = plan(&vec![ColumnType::Text; texts.len()]);
            let key = plan.read(&cells(&texts)).unwrap().unwrap();
            let parts = split(key.as_str().unwrap()).unwrap();
            prop_assert_eq!(parts, texts);
        }
    }
}
