//! Literal: lists and maps in one field, as DuckDB and Kuzu write them.
//!
//! ```text
//! [10,5]   ['a b', "c,d", e]   [[10,8],[6,7,8]]           lists, of lists too
//! {rating: 5.3, tags: ['a'], at: {x: 1}}                  a struct: a map by name
//! {audience1=52, audience53=42}                           a map
//! ```
//!
//! A scalar in quotes is text; a bare one reaches to the next comma or bracket, blanks around it left
//! out. Elements of a list have the type that its column states. In structs and maps nobody states one:
//! a bare scalar is the narrowest of bool, long, bigint, double, date, datetime and string that it fits.
//! `null` and nothing are no value: in a map the key is left out, in a list they are refused.

use crate::import::field::guess::narrowest_type;
use evergraph_graph::value::collection::{List, Map};
use evergraph_graph::value::{Value, ValueType};

/// Lists and maps inside one another: a property may be this deep, and no more.
const DEPTH_MAX: usize = 128;

/// Reads a list whose innermost elements, inside `depth` lists, are read by `element`.
///
/// # Errors
/// Why `text` is none, with the byte where it shows.
pub fn read_list(
    text: &str,
    depth: usize,
    element: &impl Fn(&str) -> Result<Value, String>,
) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    let list = reader.list(&Elements::Of { depth, element })?;
    reader.finish().map(|()| list)
}

/// Reads a struct or map.
///
/// # Errors
/// As [`read_list`].
pub fn read_map(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_blanks();
    let map = reader.map(1)?;
    reader.finish().map(|()| map)
}

/// What the elements of a list are.
enum Elements<'a, F> {
    /// Scalars of a stated form, inside so many lists.
    Of { depth: usize, element: &'a F },
    /// Whatever comes, at this depth.
    Any(usize),
}

type NoElement = fn(&str) -> Result<Value, String>;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn list<F: Fn(&str) -> Result<Value, String>>(
        &mut self,
        elements: &Elements<'_, F>,
    ) -> Result<Value, String> {
        self.skip_blanks();
        self.require('[')?;
        let mut values = Vec::new();
        self.skip_blanks();
        if !self.take(']') {
            loop {
                self.skip_blanks();
                let at = self.at;
                let value = match elements {
                    Elements::Of { depth: 0 | 1, element } => {
                        let text = self.scalar(&[',', ']'])?.text();
                        Some(element(&text)?)
                    }
                    Elements::Of { depth, element } => {
                        Some(self.list(&Elements::Of { depth: depth - 1, element: *element })?)
                    }
                    Elements::Any(depth) => self.any(*depth + 1, &[',', ']'])?,
                };
                values.push(value.ok_or_else(|| format!("an element without a value at byte {}", at + 1))?);
                self.skip_blanks();
                if self.take(']') {
                    break;
                }
                self.require(',')?;
            }
        }
        List::new(values).map(Value::List).map_err(|error| error.to_string())
    }

    fn map(&mut self, depth: usize) -> Result<Value, String> {
        self.require('{')?;
        let mut entries: Vec<(Value, Value)> = Vec::new();
        self.skip_blanks();
        if !self.take('}') {
            loop {
                self.skip_blanks();
                let (at, key) = (self.at, self.scalar(&[':', '=', ',', '}'])?);
                let is_struct = self.take(':');
                if !is_struct {
                    self.require('=')?;
                }
                // Names are text; the keys of maps are whatever they look like.
                let key =
                    if is_struct { Value::from(key.text()) } else { key.value().unwrap_or(Value::from("")) };
                if entries.iter().any(|(known, _)| *known == key) {
                    return Err(format!("the key {key} for the second time at byte {}", at + 1));
                }
                self.skip_blanks();
                if let Some(value) = self.any(depth + 1, &[',', '}'])? {
                    entries.push((key, value));
                }
                self.skip_blanks();
                if self.take('}') {
                    break;
                }
                self.require(',')?;
            }
        }
        Map::new(entries).map(Value::Map).map_err(|error| error.to_string())
    }

    fn any(&mut self, depth: usize, ends: &[char]) -> Result<Option<Value>, String> {
        if depth > DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} brackets inside one another at byte {}", self.at + 1));
        }
        match self.peek() {
            Some('[') => self.list::<NoElement>(&Elements::Any(depth)).map(Some),
            Some('{') => self.map(depth).map(Some),
            _ => self.scalar(ends).map(|scalar| scalar.value()),
        }
    }

    /// A scalar, up to one of `ends`.
    fn scalar(&mut self, ends: &[char]) -> Result<Scalar, String> {
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.quoted(quote);
        }
        let rest = &self.text[self.at..];
        let end = rest
            .find(ends)
            .ok_or_else(|| format!("expected one of {} behind byte {}", shown(ends), self.at))?;
        self.at += end;
        Ok(Scalar::Bare(rest[..end].trim().to_owned()))
    }

    /// A text in quotes; doubled ones and those behind a backslash belong to it.
    fn quoted(&mut self, quote: char) -> Result<Scalar, String> {
        let began = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next() {
                Some('\\') => text.extend(self.next()),
                Some(letter) if letter == quote && !self.take(quote) => break,
                Some(letter) => text.push(letter),
                None => return Err(format!("the quote at byte {} is never closed", began + 1)),
            }
        }
        self.skip_blanks();
        Ok(Scalar::Quoted(text))
    }

    fn finish(&mut self) -> Result<(), String> {
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(format!("something behind the last bracket at byte {}", self.at + 1));
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    fn require(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(format!("expected {wanted:?} at byte {}", self.at + 1)) }
    }
}

enum Scalar {
    Bare(String),
    Quoted(String),
}

impl Scalar {
    fn text(self) -> String {
        match self {
            Self::Bare(text) | Self::Quoted(text) => text,
        }
    }

    /// The value, with a type that was not stated; none for an empty text and for `null`.
    fn value(self) -> Option<Value> {
        match self {
            Self::Quoted(text) => Some(Value::from(text)),
            Self::Bare(text) if text.is_empty() || text.eq_ignore_ascii_case("null") => None,
            Self::Bare(text) => {
                // A count is a number here, and not milliseconds since 1970.
                let value_type =
                    Some(narrowest_type(&text)).filter(|narrowest| *narrowest != ValueType::Uuid);
                let value = Value::parse(&text, value_type.unwrap_or(ValueType::String));
                Some(value.unwrap_or_else(|_| Value::from(text)))
            }
        }
    }
}

fn shown(ends: &[char]) -> String {
    ends.iter().map(|end| format!("{end:?}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str, depth: usize, value_type: ValueType) -> Result<Value, String> {
        read_list(text, depth, &|element| {
            Value::parse(element, value_type).map_err(|error| error.to_string())
        })
    }

    fn longs(numbers: &[i64]) -> Value {
        Value::List(List::new(numbers.iter().map(|number| Value::I64(*number)).collect()).unwrap())
    }

    #[test]
    fn lists_have_elements_of_the_stated_type() {
        assert_eq!(list("[10, 5]", 1, ValueType::I64), Ok(longs(&[10, 5])));
        assert_eq!(list(" [] ", 1, ValueType::I64), Ok(longs(&[])));
        let nested = List::new(vec![longs(&[10, 8]), longs(&[]), longs(&[7])]).unwrap();
        assert_eq!(list("[[10,8],[],[7]]", 2, ValueType::I64), Ok(Value::List(nested)));
        let texts = ["a b", "c,]d", "it's", "007"].map(Value::from);
        let texts = Value::List(List::new(texts.to_vec()).unwrap());
        assert_eq!(list("[a b ,\"c,]d\",'it''s', 007]", 1, ValueType::String), Ok(texts));
    }

    #[test]
    fn maps_have_values_of_the_narrowest_type() {
        let Ok(Value::Map(map)) = read_map(
            "{rating: 5.3, 'views':152, release: 2011-08-20 11:25:30, film: 2012-05-11, huge: 99999999999999999999, \
             tags: ['a', b], none: , null: NULL, in: {x: [1, [2]]}, zip: 007, yes: true}",
        ) else {
            panic!("a map")
        };
        let get = |key: &str| map.get(&Value::from(key)).map(|value| (value.value_type(), value.to_string()));
        assert_eq!(get("rating"), Some((ValueType::F64, "5.3".to_owned())));
        assert_eq!(get("views"), Some((ValueType::I64, "152".to_owned())));
        assert_eq!(get("release"), Some((ValueType::DateTime, "2011-08-20T11:25:30Z".to_owned())));
        assert_eq!(get("film"), Some((ValueType::Date, "2012-05-11".to_owned())));
        assert_eq!(get("huge").unwrap().0, ValueType::BigInteger);
        assert_eq!(get("tags").unwrap().0, ValueType::List);
        assert_eq!((get("none"), get("null")), (None, None));
        assert_eq!(get("in").unwrap().0, ValueType::Map);
        assert_eq!(get("zip"), Some((ValueType::String, "007".to_owned())));
        assert_eq!(get("yes"), Some((ValueType::Bool, "true".to_owned())));
        let Ok(Value::Map(map)) = read_map("{1=2, a=b}") else { panic!("a map") };
        assert_eq!(map.get(&Value::I64(1)), Some(&Value::I64(2)));
        assert_eq!(map.get(&Value::from("a")), Some(&Value::from("b")));
    }

    #[test]
    fn what_is_no_literal_is_named_by_its_byte() {
        for (text, expected) in [
            ("10,5", "expected '[' at byte 1"),
            ("[1,2", "expected one of ',' ']' behind byte 3"),
            ("[1]]", "something behind the last bracket at byte 4"),
            ("[\"a]", "the quote at byte 2 is never closed"),
            ("[\"a\" b]", "expected ',' at byte 6"),
        ] {
            assert_eq!(list(text, 1, ValueType::String).unwrap_err(), expected, "{text}");
        }
        assert!(list("[1,]", 1, ValueType::I64).unwrap_err().starts_with("\"\" is not a valid long"));
        assert_eq!(read_map("{a: [1,,2]}").unwrap_err(), "an element without a value at byte 8");
        assert_eq!(read_map("{a: 1, a: 2}").unwrap_err(), "the key a for the second time at byte 8");
        assert_eq!(read_map("{a}").unwrap_err(), "expected '=' at byte 3");
        let deep = format!("{{a: {}1{}}}", "[".repeat(200), "]".repeat(200));
        assert!(read_map(&deep).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}:=,'\"\\\\ aé1]{0,30}", depth in 0usize..4) {
            let _ = (list(&text, depth, ValueType::String), read_map(&text));
        }
    }
}
