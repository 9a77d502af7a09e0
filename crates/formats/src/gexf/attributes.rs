//! Attributes: the properties that a GEXF file declares, and the text form of their values.
//!
//! ```text
//! <attributes class="node"><attribute id="0" title="url" type="string"><default>x</default></attribute>
//! <attvalue for="0" value="http://gephi.org"/>          `id` instead of `for` in GEXF 1.0
//!
//! liststring   a|b   a, b   a;b   [a, "b, c", 'd']      lists of any type in any of these forms
//! ```
//!
//! A text that is blank or `null` is no value, but for strings. A type that isn't known is text.

use std::collections::HashMap;

use evergraph_graph::value::collection::List;
use evergraph_graph::value::{Value, ValueType};

use crate::graphml::keys::Scope;
use crate::graphml::types::{KeyType, read_key_value};

/// Attributes that a file may declare.
pub const ATTRIBUTES_MAX: usize = 65_536;

/// A declared property.
#[derive(Clone, PartialEq, Debug)]
pub struct Attribute {
    /// The property's name.
    pub title: String,
    /// What its values are.
    pub attribute_type: AttributeType,
    /// What elements have that say nothing else.
    pub default: Option<Value>,
}

/// What the values of an attribute are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeType {
    /// Values of this type.
    Of(ValueType),
    /// Lists of values of this type.
    ListOf(ValueType),
    /// Text, since the type that is named isn't known.
    Unknown,
}

/// The attributes of a file.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    declared: HashMap<(Scope, String), Attribute>,
    /// Those that have a default, in the file's order.
    with_default: Vec<(Scope, String)>,
}

impl Attributes {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.declared.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }

    /// The attribute that values of elements of `scope` call `id`.
    #[must_use]
    pub fn find(&self, scope: Scope, id: &str) -> Option<&Attribute> {
        self.declared.get(&(scope, id.to_owned()))
    }

    /// Adds an attribute of elements of `scope`. Gives whether its id was new.
    pub fn declare(&mut self, scope: Scope, id: &str, attribute: Attribute) -> bool {
        let key = (scope, id.to_owned());
        if attribute.default.is_some() {
            self.with_default.push(key.clone());
        }
        self.declared.insert(key, attribute).is_none()
    }

    /// The names and defaults of attributes of `scope` that have one.
    pub fn defaults(&self, scope: Scope) -> impl Iterator<Item = (&str, &Value)> {
        let of_scope = self.with_default.iter().filter(move |key| key.0 == scope);
        of_scope.filter_map(|key| {
            let attribute = self.declared.get(key)?;
            Some((attribute.title.as_str(), attribute.default.as_ref()?))
        })
    }
}

impl AttributeType {
    /// The type called `name`.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let scalar = |name: &str| match name {
            "anyuri" => Some(ValueType::String),
            name => name.parse().ok().filter(|found| *found != ValueType::Any),
        };
        match (scalar(&lower), lower.strip_prefix("list").and_then(scalar)) {
            (Some(ValueType::List), _) => Self::ListOf(ValueType::String),
            (Some(found), _) => Self::Of(found),
            (None, Some(element)) => Self::ListOf(element),
            (None, None) => Self::Unknown,
        }
    }

    /// Reads `text`; `None` if it is no value.
    ///
    /// # Errors
    /// A text for people, if it is none of the type.
    pub fn read(self, text: &str) -> Result<Option<Value>, String> {
        let is_string = matches!(self, Self::Of(ValueType::String | ValueType::Char) | Self::Unknown);
        let trimmed = text.trim();
        if !is_string && (trimmed.is_empty() || trimmed.eq_ignore_ascii_case("null")) {
            return Ok(None);
        }
        match self {
            Self::Of(value_type) => read_key_value(text, KeyType::Of(value_type)),
            Self::Unknown => Ok(Some(Value::from(text))),
            Self::ListOf(element) => {
                let read = |piece: String| match element {
                    ValueType::String => Ok(Some(Value::from(piece))),
                    other => read_key_value(&piece, KeyType::Of(other)),
                };
                let elements: Vec<Option<Value>> =
                    pieces(trimmed).into_iter().map(read).collect::<Result<_, _>>()?;
                let list = List::new(elements.into_iter().flatten().collect());
                list.map(|list| Some(Value::List(list))).map_err(|error| error.to_string())
            }
        }
    }
}

/// The elements of a list.
fn pieces(text: &str) -> Vec<String> {
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return quoted_pieces(inner);
    }
    let separator = ['|', ';', ','].into_iter().find(|separator| text.contains(*separator));
    match separator {
        Some(separator) => text.split(separator).map(|piece| piece.trim().to_owned()).collect(),
        None => vec![text.to_owned()],
    }
}

/// The elements between brackets, each in quotes of either kind or none; a backslash escapes in quotes.
fn quoted_pieces(text: &str) -> Vec<String> {
    let (mut pieces, mut piece, mut quote) = (Vec::new(), String::new(), None);
    let (mut was_quoted, mut letters) = (false, text.chars());
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', Some(_)) => match letters.next() {
                Some('n') => piece.push('\n'),
                Some('r') => piece.push('\r'),
                Some('t') => piece.push('\t'),
                Some(other) => piece.push(other),
                None => piece.push('\\'),
            },
            (letter, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) if piece.trim().is_empty() && !was_quoted => {
                piece.clear();
                (quote, was_quoted) = (Some(letter), true);
            }
            (',', None) => {
                pieces.push(finished(std::mem::take(&mut piece), was_quoted));
                was_quoted = false;
            }
            (letter, None) if was_quoted && letter.is_whitespace() => {}
            (letter, _) => piece.push(letter),
        }
    }
    if was_quoted || !piece.trim().is_empty() || !pieces.is_empty() {
        pieces.push(finished(piece, was_quoted));
    }
    pieces
}

fn finished(piece: String, was_quoted: bool) -> String {
    if was_quoted { piece } else { piece.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_every_version() {
        let of = AttributeType::of_name;
        assert_eq!(of("integer"), AttributeType::Of(ValueType::I32));
        assert_eq!(of("anyURI"), AttributeType::Of(ValueType::String));
        assert_eq!(of("liststring"), AttributeType::ListOf(ValueType::String));
        assert_eq!(of("listdouble"), AttributeType::ListOf(ValueType::F64));
        assert_eq!(of("intervalset"), AttributeType::Unknown);
    }

    #[test]
    fn lists_are_read_in_every_form() {
        let read = |text: &str, of| match AttributeType::ListOf(of).read(text) {
            Ok(Some(value)) => value.to_string(),
            other => panic!("{other:?}"),
        };
        let strings = ValueType::String;
        for text in ["a|b|c", "a |b | c", "a,b , c", "a;b;c", "[a, b, c]", "['a', \"b\", c ]"] {
            assert_eq!(read(text, strings), "[\"a\", \"b\", \"c\"]", "{text}");
        }
        assert_eq!(read("alone", strings), "[\"alone\"]");
        assert_eq!(read("[]", strings), "[]");
        assert_eq!(read(r#"['a, \'b\'', "\n"]"#, strings), "[\"a, 'b'\", \"\\n\"]");
        assert_eq!(read("[1, 1.5]", ValueType::F64), "[1.0, 1.5]");
        assert_eq!(read("[true, false]", ValueType::Bool), "[true, false]");
        assert!(AttributeType::ListOf(ValueType::I32).read("[x]").is_err());
    }

    #[test]
    fn no_text_and_null_are_no_values_but_for_strings() {
        let double = AttributeType::Of(ValueType::F64);
        assert_eq!(double.read("null"), Ok(None));
        assert_eq!(double.read(" "), Ok(None));
        assert_eq!(double.read("-INF"), Ok(Some(Value::F64(f64::NEG_INFINITY))));
        assert_eq!(AttributeType::Of(ValueType::String).read("null"), Ok(Some("null".into())));
        assert_eq!(AttributeType::Unknown.read(""), Ok(Some("".into())));
        assert!(double.read("x").unwrap_err().contains("not a valid double"));
    }
}
