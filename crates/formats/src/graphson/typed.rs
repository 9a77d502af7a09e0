//! Typed: GraphSON's type wrapper around a JSON value: `{"@type": "g:Int32", "@value": 29}`.
//!
//! The two keys may stand in either order, and nothing may stand beside them. With the value first it
//! is stepped over, the type is read, and the reader goes back: at most one more pass over the text
//! for each level of nesting.

use crate::json::read::{JsonError, JsonReader, Kind};

/// The key of a type's name.
pub const TYPE: &str = "@type";
/// The key of the value that has the type.
pub const VALUE: &str = "@value";

/// If a typed value comes next, gives its type's name to `read`, which must read the JSON value that
/// it finds. `None`, and nothing is read, if something else comes next.
///
/// # Errors
/// What `read` returns, and if type or value is missing, or something stands beside them.
pub fn read_typed<'a, T, E: From<JsonError>>(
    reader: &mut JsonReader<'a>,
    read: impl FnOnce(&str, &mut JsonReader<'a>) -> Result<T, E>,
) -> Result<Option<T>, E> {
    if reader.peek()? != Kind::Object {
        return Ok(None);
    }
    let mut ahead = reader.clone();
    ahead.begin_object()?;
    let result = match ahead.next_key()?.as_deref() {
        Some(TYPE) => {
            let name = ahead.read_string()?;
            require_key(&mut ahead, VALUE)?;
            read(&name, &mut ahead)?
        }
        Some(VALUE) => {
            let mut value = ahead.clone();
            ahead.skip_value()?;
            require_key(&mut ahead, TYPE)?;
            let name = ahead.read_string()?;
            read(&name, &mut value)?
        }
        _ => return Ok(None),
    };
    if let Some(key) = ahead.next_key()? {
        return Err(ahead.error(format!("`{key}` stands beside {TYPE} and {VALUE}")).into());
    }
    *reader = ahead;
    Ok(Some(result))
}

fn require_key(reader: &mut JsonReader<'_>, expected: &str) -> Result<(), JsonError> {
    let offset = reader.offset();
    match reader.next_key()? {
        Some(key) if key == expected => Ok(()),
        Some(key) => Err(JsonError { offset, reason: format!("expected {expected}, found the key `{key}`") }),
        None => Err(JsonError { offset, reason: format!("expected {expected}, found }}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<String>, JsonError> {
        let mut reader = JsonReader::new(text.as_bytes());
        let read = read_typed(&mut reader, |name, reader| Ok(format!("{name} {}", reader.read_number()?)))?;
        if read.is_some() {
            reader.finish()?;
        } else {
            assert_eq!(reader.offset(), 0, "nothing is read");
        }
        Ok(read)
    }

    #[test]
    fn type_and_value_come_in_either_order() {
        for text in [r#"{"@type": "a", "@value": 1}"#, r#"{"@value": 1, "@type": "a"}"#] {
            assert_eq!(read(text), Ok(Some("a 1".to_owned())), "{text}");
        }
    }

    #[test]
    fn other_values_are_left_alone() {
        for text in ["1", "[]", "{}", r#"{"a": 1, "@type": "a"}"#, r#""@type""#] {
            assert_eq!(read(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        for (text, offset, reason) in [
            (r#"{"@type": "a"}"#, 13, "expected @value, found }"),
            (r#"{"@value": 1}"#, 12, "expected @type, found }"),
            (r#"{"@type": "a", "b": 1}"#, 13, "expected @value, found the key `b`"),
            (r#"{"@type": 1, "@value": 1}"#, 10, "expected a string, found `1`"),
            (r#"{"@type": "a", "@value": 1, "b": 2}"#, 33, "`b` stands beside @type and @value"),
        ] {
            assert_eq!(read(text), Err(JsonError { offset, reason: reason.to_owned() }), "{text}");
        }
    }
}
