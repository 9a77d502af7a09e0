//! Property: what the text of a column becomes as the value of a property.
//!
//! | form | for | becomes |
//! |---|---|---|
//! | typed | all | what [`crate::value`] has for the type; `char(n)` without its blanks at the end |
//! | text | all, by `types = { column = "string" }` | the text that PostgreSQL writes |
//! | double | numeric, by `types = { column = "double" }` | the nearest double, NaN and infinity among them |
//! | map | json, jsonb, by `types = { column = "map" }` | a map; its members that are null are left out |

use crate::value::column_type::ColumnType;
use crate::value::unfit::{UnfitCause, UnfitValue};
use evergraph_formats::json::read::JsonReader;
use evergraph_formats::json::value::read_value;
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};

/// What the text of a column becomes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PropertyForm {
    /// A value of the column's type.
    Typed,
    /// `char(n)`: text without blanks at its end.
    Unpadded,
    /// The text as PostgreSQL writes it.
    Text,
    /// The nearest double.
    Double,
    /// The map that a JSON object is.
    Map,
}

impl PropertyForm {
    /// The type of the values, from a column that is read as `column_type`.
    #[must_use]
    pub const fn value_type(self, column_type: &ColumnType) -> ValueType {
        match self {
            Self::Typed => column_type.value_type(),
            Self::Unpadded | Self::Text => ValueType::String,
            Self::Double => ValueType::F64,
            Self::Map => ValueType::Map,
        }
    }

    /// As [`PropertyForm::read`], of the most frequent texts: see [`ColumnType::read_plain`].
    #[inline]
    #[must_use]
    pub fn read_plain(self, column_type: &ColumnType, text: &[u8]) -> Option<Value> {
        match self {
            Self::Typed => column_type.read_plain(text),
            _ => None,
        }
    }

    /// Reads the text of a cell of a column that is read as `column_type`.
    ///
    /// Cost: as [`ColumnType::read`].
    ///
    /// # Errors
    /// [`UnfitValue`] if it has no counterpart here.
    pub fn read(self, column_type: &ColumnType, text: &[u8]) -> Result<Value, UnfitValue> {
        let unfit = |cause| UnfitValue {
            column_type: column_type.clone(),
            text: Shortened::new(&String::from_utf8_lossy(&text[..text.len().min(200)])),
            cause,
        };
        match self {
            Self::Typed => column_type.read(text),
            Self::Unpadded => ColumnType::Text.read(unpadded(text)),
            Self::Text => ColumnType::Text.read(text),
            Self::Double => ColumnType::F64.read(text),
            Self::Map => read_map(text).map_err(unfit),
        }
    }
}

/// `text` without blanks at its end, which mean nothing in `char(n)`.
#[must_use]
pub fn unpadded(text: &[u8]) -> &[u8] {
    let length = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..length]
}

/// A value came in its binary form, which nobody asks for.
pub(super) fn binary_form(column_type: &ColumnType) -> UnfitValue {
    UnfitValue {
        column_type: column_type.clone(),
        text: Shortened::new("..."),
        cause: UnfitCause::Malformed("its text expected, and its binary form came".to_owned()),
    }
}

fn read_map(text: &[u8]) -> Result<Value, UnfitCause> {
    let mut reader = JsonReader::new(text);
    let value = read_value(&mut reader).and_then(|value| reader.finish().map(|()| value));
    match value {
        Ok(Some(map @ Value::Map(_))) => Ok(map),
        Ok(_) => Err(UnfitCause::Malformed("an object expected, as a map is one".to_owned())),
        Err(error) => Err(UnfitCause::Malformed(format!("JSON expected: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_says_what_a_text_becomes() {
        let read = |form: PropertyForm, column_type: ColumnType, text: &str| {
            let value = form.read(&column_type, text.as_bytes()).unwrap();
            assert_eq!(value.value_type(), form.value_type(&column_type));
            value.to_string()
        };
        assert_eq!(read(PropertyForm::Typed, ColumnType::I32, "7"), "7");
        assert_eq!(read(PropertyForm::Text, ColumnType::I32, "7"), "7");
        assert_eq!(read(PropertyForm::Unpadded, ColumnType::Text, "English   "), "English");
        assert_eq!(read(PropertyForm::Double, ColumnType::Numeric, "NaN"), "NaN");
        let json = r#"{"a": {"b": [1, null]}, "c": null}"#;
        assert_eq!(read(PropertyForm::Map, ColumnType::Text, json), r#"{"a": {"b": [1]}}"#);
    }

    #[test]
    fn what_is_no_object_is_no_map() {
        for text in ["[1]", "null", "7", "{", "{} {}", ""] {
            let error = PropertyForm::Map.read(&ColumnType::Text, text.as_bytes()).unwrap_err();
            assert!(matches!(error.cause, UnfitCause::Malformed(_)), "{text}: {error}");
        }
    }
}
