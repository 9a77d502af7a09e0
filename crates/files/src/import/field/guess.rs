//! Guess: the narrowest type for texts without a declared type.

use crate::import::field::integer::parse_i64;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::{Value, ValueType};

/// Whether `text` looks like a value and not like the name of a column.
#[must_use]
pub fn is_value(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || narrowest_type(text) != ValueType::String
}

/// The narrowest type that `text` fits: of bool, long, bigint, double, date, datetime, uuid and string.
#[must_use]
pub fn narrowest_type(text: &str) -> ValueType {
    guess([text.as_bytes()].into_iter()).unwrap_or(ValueType::String)
}

/// The narrowest type that all `texts` have which aren't empty.
#[must_use]
pub fn guess<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Option<ValueType> {
    const GUESSES: [ValueType; 7] = [
        ValueType::Bool,
        ValueType::I64,
        ValueType::BigInteger,
        ValueType::F64,
        ValueType::Date,
        ValueType::DateTime,
        ValueType::Uuid,
    ];
    let mut possible = GUESSES.to_vec();
    let mut is_empty = true;
    for text in texts.filter(|text| !text.is_empty()) {
        is_empty = false;
        let text = std::str::from_utf8(text).unwrap_or_default().trim();
        possible.retain(|value_type| is_of(text, *value_type));
    }
    if is_empty { None } else { Some(possible.first().copied().unwrap_or(ValueType::String)) }
}

fn is_of(text: &str, value_type: ValueType) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Zeros and signs in front belong to codes and telephone numbers.
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && !(digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0."));
    match value_type {
        ValueType::I64 => is_number && parse_i64(text.as_bytes()).is_ok(),
        ValueType::F64 | ValueType::BigInteger => is_number && Value::parse(text, value_type).is_ok(),
        ValueType::Date => text.parse::<Date>().is_ok(),
        ValueType::DateTime => text.parse::<DateTime>().is_ok(),
        _ => Value::parse(text, value_type).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_the_narrowest_that_all_values_have() {
        for (texts, expected) in [
            (&["true", "", "FALSE"][..], Some(ValueType::Bool)),
            (&["1", "-20", "0"], Some(ValueType::I64)),
            (&["1", "2.5", "1e9"], Some(ValueType::F64)),
            (&["1", "9223372036854775808"], Some(ValueType::BigInteger)),
            (&["2024-02-29"], Some(ValueType::Date)),
            (&["2024-02-29", "2024-02-29 12:00:00+01:00"], Some(ValueType::DateTime)),
            (&["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"], Some(ValueType::Uuid)),
            (&["1", "007"], Some(ValueType::String)),
            (&["+49 30"], Some(ValueType::String)),
            (&["nan"], Some(ValueType::String)),
            (&["1", "x"], Some(ValueType::String)),
            (&["", ""], None),
        ] {
            assert_eq!(guess(texts.iter().map(|text| text.as_bytes())), expected, "{texts:?}");
        }
    }
}
