//! Arrays as PostgreSQL writes them.
//!
//! ```text
//! {1,2,NULL}     {}     {{1,2},{3,4}}     [0:1]={5,6}     {"a,b","say \"hi\"","NULL",plain}
//! ```
//!
//! Quotes surround an element that is empty, that has braces, separators, quotes, backslashes or blanks, or that is the word
//! NULL; within them a backslash stands before a quote or a backslash. Bounds that do not begin at 1 stand before the braces:
//! lists begin at 0 anyway, so they are dropped.

use evergraph_graph::value::Value;
use evergraph_graph::value::collection::List;

use crate::value::column_type::ColumnType;
use crate::value::unfit::UnfitCause;

/// PostgreSQL's own limit.
const DIMENSIONS_MAX: usize = 6;

/// Reads an array as a list, or as lists in a list.
pub(super) fn read(bytes: &[u8], element: &ColumnType, delimiter: u8) -> Result<Value, UnfitCause> {
    if matches!(element, ColumnType::Array { .. }) {
        return Err(malformed("elements that are no arrays: several dimensions are one array"));
    }
    let mut scanner = Scanner { rest: after_bounds(bytes)?, element, delimiter };
    let value = scanner.list(1)?;
    match scanner.rest {
        [] => Ok(value),
        _ => Err(malformed("the end of the text behind the outermost brace")),
    }
}

/// The text behind `[0:1][2:3]=`, if it begins so.
fn after_bounds(bytes: &[u8]) -> Result<&[u8], UnfitCause> {
    if bytes.first() != Some(&b'[') {
        return Ok(bytes);
    }
    let end = bytes.iter().position(|byte| *byte == b'=').ok_or_else(|| malformed("= behind the bounds"))?;
    let is_of_bounds = |byte: &u8| byte.is_ascii_digit() || b"[:]-".contains(byte);
    match bytes[..end].iter().all(is_of_bounds) {
        true => Ok(&bytes[end + 1..]),
        false => Err(malformed("bounds as in [0:1]=")),
    }
}

fn malformed(expected: &str) -> UnfitCause {
    UnfitCause::Malformed(format!("an array was read; expected {expected}"))
}

/// A list of `values`, which are at most some levels deep.
fn list(values: Vec<Value>) -> Value {
    Value::List(List::new(values).expect("an array has at most six dimensions"))
}

struct Scanner<'a> {
    rest: &'a [u8],
    element: &'a ColumnType,
    delimiter: u8,
}

impl Scanner<'_> {
    /// Reads from an opening brace to the closing one.
    fn list(&mut self, dimension: usize) -> Result<Value, UnfitCause> {
        if dimension > DIMENSIONS_MAX {
            return Err(malformed("at most six dimensions"));
        }
        self.take(b'{').then_some(()).ok_or_else(|| malformed("{"))?;
        let mut values = Vec::new();
        if self.take(b'}') {
            return Ok(list(values));
        }
        loop {
            values.push(match self.rest.first() {
                Some(b'{') => self.list(dimension + 1)?,
                Some(b'"') => self.quoted()?,
                _ => self.plain()?,
            });
            if self.take(b'}') {
                return Ok(list(values));
            }
            if !self.take(self.delimiter) {
                return Err(malformed("a separator or } behind an element"));
            }
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        match self.rest.strip_prefix(&[byte]) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn plain(&mut self) -> Result<Value, UnfitCause> {
        let is_end = |byte: &u8| *byte == self.delimiter || *byte == b'}';
        let length = self.rest.iter().position(is_end).ok_or_else(|| malformed("}"))?;
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        match text {
            b"NULL" => Err(UnfitCause::NullElement),
            // A plain element has none of these: what looks so is no array of this separator.
            _ if text.is_empty() || text.iter().any(|byte| b"{\"\\".contains(byte)) => {
                Err(malformed("an element"))
            }
            _ => self.element.read_or_cause(text),
        }
    }

    fn quoted(&mut self) -> Result<Value, UnfitCause> {
        let mut text = Vec::new();
        let mut bytes = self.rest.iter().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = &self.rest[at + 1..];
                    return self.element.read_or_cause(&text);
                }
                b'\\' => text.push(*bytes.next().ok_or_else(|| malformed("a character behind \\"))?.1),
                _ => text.push(*byte),
            }
        }
        Err(malformed("a closing quote"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn array(element: ColumnType) -> ColumnType {
        ColumnType::Array { element: Box::new(element), delimiter: b',' }
    }

    fn texts(texts: &[&str]) -> Value {
        list(texts.iter().map(|text| Value::from(*text)).collect())
    }

    #[test]
    fn elements_are_plain_quoted_or_nested() {
        let integers = array(ColumnType::I32);
        let row = |numbers: &[i32]| list(numbers.iter().map(|number| Value::I32(*number)).collect());
        assert_eq!(integers.read(b"{}"), Ok(row(&[])));
        assert_eq!(integers.read(b"{1,-2}"), Ok(row(&[1, -2])));
        assert_eq!(integers.read(b"[0:1]={5,6}"), Ok(row(&[5, 6])));
        assert_eq!(integers.read(b"{{1,2},{3,4}}"), Ok(list(vec![row(&[1, 2]), row(&[3, 4])])));
        let text = array(ColumnType::Text);
        let found = text.read(br#"{"a,b","say \"hi\"","NULL",plain,"\\","{}",""}"#);
        assert_eq!(found, Ok(texts(&["a,b", "say \"hi\"", "NULL", "plain", "\\", "{}", ""])));
        let boxes = ColumnType::Array { element: Box::new(ColumnType::Text), delimiter: b';' };
        assert_eq!(boxes.read(b"{(1,1),(0,0);(2,2),(0,0)}"), Ok(texts(&["(1,1),(0,0)", "(2,2),(0,0)"])));
    }

    #[test]
    fn nulls_and_damage_are_errors_with_a_cause() {
        let integers = array(ColumnType::I32);
        assert_eq!(integers.read(b"{1,NULL}").unwrap_err().cause, UnfitCause::NullElement);
        let deep = [b"{".repeat(1_000_000), b"}".repeat(1_000_000)].concat();
        for text in [
            &b""[..],
            b"{",
            b"{1",
            b"{1,",
            b"{1,}",
            b"{,1}",
            b"{1}x",
            b"{1 2}",
            b"{\"1}",
            b"{\"\\",
            b"[0:1]{1}",
            &deep,
        ] {
            let cause = integers.read(text).unwrap_err().cause;
            assert!(matches!(cause, UnfitCause::Malformed(_)), "{cause}");
        }
    }

    proptest! {
        /// PostgreSQL's rule for quotes (`array_out`), written anew.
        #[test]
        fn texts_are_read_back_from_what_postgresql_writes(elements in prop::collection::vec(r#"[a "\\{},é]{0,4}|NULL|null"#, 0..5)) {
            let written: Vec<String> = elements.iter().map(|text| {
                let plain = !text.is_empty() && !text.eq_ignore_ascii_case("null")
                    && !text.contains(['"', '\\', '{', '}', ',', ' ']);
                match plain {
                    true => text.clone(),
                    false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
                }
            }).collect();
            let written = format!("{{{}}}", written.join(","));
            let elements: Vec<&str> = elements.iter().map(String::as_str).collect();
            prop_assert_eq!(array(ColumnType::Text).read(written.as_bytes()), Ok(texts(&elements)));
        }

        #[test]
        fn random_text_gives_a_list_or_an_error(text in r#"[{}",\\1N\[\]=:]{0,20}"#) {
            let _either = array(ColumnType::I32).read(text.as_bytes());
        }
    }
}
