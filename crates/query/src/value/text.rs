//! Functions of texts: `toUpper()`, `split()`, `substring()` and similar; and every item as a text.
//!
//! Null stays null. Lengths and places count characters (Unicode scalar values), where Java counts units of UTF-16.

use crate::value::element_id::edge_id_text;
use crate::value::item::{Item, Owner, Token};
use crate::value::room::Room;
use crate::value::tree::Tree;
use crate::value::types::kind_name;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::value::Value;

/// What a text of its own takes beside its bytes: an allocation is no smaller.
const ALLOCATION_BYTES: usize = 16;

/// What makes something of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextFunction {
    /// How many characters it has.
    Length,
    /// Without blanks at its start.
    TrimStart,
    /// Without blanks at its end.
    TrimEnd,
    /// Without either.
    Trim,
    /// In small letters.
    ToLower,
    /// In capitals.
    ToUpper,
    /// With the second wherever the first was; as it is if one of them is null.
    Replace(Option<(Box<str>, Box<str>)>),
    /// What is between separators, without empty parts; between blanks for null, each character for an empty text.
    Split(Option<Box<str>>),
    /// From a place to before another; negative ones count from the end.
    Substring(i64, Option<i64>),
}

impl TextFunction {
    /// What the step is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::TrimStart => "lTrim",
            Self::TrimEnd => "rTrim",
            Self::Trim => "trim",
            Self::ToLower => "toLower",
            Self::ToUpper => "toUpper",
            Self::Replace(_) => "replace",
            Self::Split(_) => "split",
            Self::Substring(..) => "substring",
        }
    }

    /// What it makes of `item`, or, if `local`, of each text in a list, if there is `room` for it.
    ///
    /// # Errors
    /// `invalid` of what is neither a text nor null; `limit` if there isn't room.
    pub fn of(&self, item: &Item, local: bool, room: Room) -> Result<Item> {
        let name = self.name();
        if local {
            let wrong = |item: &Item| {
                Error::invalid(format!(
                    "The {name}(local) step can only take string or list of strings, encountered {}.",
                    kind_name(item)
                ))
            };
            let one = |item: &Item, room: Room| {
                item.as_str().map_or(Ok(()), |text| room.check(self.made_bytes(text)))?;
                self.of_text(item).ok_or_else(|| wrong(item))
            };
            return match item.elements() {
                Some(items) => each(&items, room, one),
                None => one(item, room),
            };
        }
        item.as_str().map_or(Ok(()), |text| room.check(self.made_bytes(text)))?;
        self.of_text(item).ok_or_else(|| {
            Error::invalid(format!(
                "The {name}() step can only take string as argument, encountered {}.",
                kind_name(item)
            ))
        })
    }

    /// What is made of `text` takes at most so many bytes, about.
    fn made_bytes(&self, text: &str) -> usize {
        match self {
            Self::Length => 0,
            Self::Replace(Some((from, to))) if from.len() < to.len() && !from.is_empty() => {
                let more = text.matches(&**from).count().saturating_mul(to.len() - from.len());
                text.len().saturating_add(more)
            }
            Self::Split(Some(separator)) if separator.is_empty() => {
                text.chars().count().saturating_mul(size_of::<Item>() + ALLOCATION_BYTES)
            }
            Self::Split(separator) => {
                let parts = match separator {
                    None => text.split_whitespace().count(),
                    Some(separator) => text.matches(&**separator).count() + 1,
                };
                text.len().saturating_add(parts.saturating_mul(size_of::<Item>() + ALLOCATION_BYTES))
            }
            // Of few letters the capital is longer, and then by less than three times.
            Self::ToLower | Self::ToUpper => text.len().saturating_mul(3),
            _ => text.len(),
        }
    }

    fn of_text(&self, item: &Item) -> Option<Item> {
        if matches!(item, Item::Null) {
            return Some(Item::Null);
        }
        let text = item.as_str()?;
        Some(match self {
            Self::Length => Item::from(i32::try_from(text.chars().count()).unwrap_or(i32::MAX)),
            Self::TrimStart => Item::from(text.trim_start()),
            Self::TrimEnd => Item::from(text.trim_end()),
            Self::Trim => Item::from(text.trim()),
            Self::ToLower => Item::from(text.to_lowercase()),
            Self::ToUpper => Item::from(text.to_uppercase()),
            Self::Replace(Some((from, to))) if !from.is_empty() => Item::from(text.replace(&**from, to)),
            Self::Replace(_) => item.clone(),
            Self::Split(separator) => {
                let parts: Box<dyn Iterator<Item = Item>> = match separator.as_deref() {
                    None => Box::new(text.split_whitespace().map(Item::from)),
                    Some("") => Box::new(text.chars().map(|character| Item::from(character.to_string()))),
                    Some(separator) => {
                        Box::new(text.split(separator).filter(|part| !part.is_empty()).map(Item::from))
                    }
                };
                Item::List(parts.collect())
            }
            Self::Substring(first, end) => {
                let length = text.chars().count() as i64;
                let place = |place: i64| {
                    let from_start = if place < 0 { length.saturating_add(place) } else { place };
                    from_start.clamp(0, length)
                };
                let (first, end) = (place(*first), place(end.unwrap_or(length)));
                let part = text.chars().skip(first as usize).take((end - first).max(0) as usize);
                Item::from(part.collect::<String>())
            }
        })
    }
}

/// What `one` makes of each of `items`, as long as there is `room` for all of it.
fn each(items: &[Item], mut room: Room, one: impl Fn(&Item, Room) -> Result<Item>) -> Result<Item> {
    let mut made = Vec::new();
    for item in items {
        let item = one(item, room)?;
        let bytes = size_of::<Item>().saturating_add(item.heap_bytes());
        room.check(bytes)?;
        room.bytes -= bytes as u64;
        made.push(item);
    }
    Ok(Item::List(made.into()))
}

/// The texts one after the other, if there is `room` for them; null counts for nothing, and is what comes of nothing else.
///
/// # Errors
/// `invalid` of what is neither a text nor null; `limit` if there isn't room.
pub fn concat<'a>(items: impl IntoIterator<Item = &'a Item>, room: Room) -> Result<Item> {
    let mut all: Option<String> = None;
    for item in items {
        match (item, item.as_str()) {
            (Item::Null, _) => {}
            (_, Some(text)) => {
                let all = all.get_or_insert_default();
                room.check(all.len().saturating_add(text.len()))?;
                all.push_str(text);
            }
            _ => {
                return Err(Error::invalid(format!(
                    "String concat() can only take string as argument, encountered {}.",
                    kind_name(item)
                )));
            }
        }
    }
    Ok(all.map_or(Item::Null, Item::from))
}

/// `asString()`, of each item of a list if `local`, if there is `room` for it.
///
/// # Errors
/// `invalid` of null; `limit` if there isn't room.
pub fn as_string(item: &Item, local: bool, catalogue: &Catalogue, room: Room) -> Result<Item> {
    let one = |item: &Item, room: Room| match item {
        Item::Null => Err(Error::invalid("Can't parse null as String.")),
        item => shown(item, catalogue, room).map(Item::from),
    };
    match item.elements().filter(|_| local) {
        Some(items) => each(&items, room, one),
        None => one(item, room),
    }
}

/// An item as a text, as TinkerPop writes it: `29`, `v[1]`, `e[..][1-knows->2]`, `vp[name->marko]`, `[a, b]`, `{name=[lop]}`.
///
/// # Errors
/// `limit` if there isn't `room` for it.
pub fn shown(item: &Item, catalogue: &Catalogue, room: Room) -> Result<String> {
    let mut text = String::new();
    Printer { catalogue, room }.item(item, &mut text)?;
    Ok(text)
}

/// Writes items behind a text, as long as there is room.
struct Printer<'a> {
    catalogue: &'a Catalogue,
    room: Room,
}

impl Printer<'_> {
    fn item(&self, item: &Item, out: &mut String) -> Result<()> {
        self.room.check(out.len())?;
        let catalogue = self.catalogue;
        match item {
            Item::Null => out.push_str("null"),
            Item::Value(Value::Map(map)) => {
                let values =
                    |(key, value): &(Value, Value)| (Item::Value(key.clone()), Item::Value(value.clone()));
                let entries = map.as_slice().iter().map(values);
                self.joined("{", entries, "}", out, |(key, value), out| self.entry(&key, &value, out))?;
            }
            Item::Map(map) => {
                let entries = map.entries().iter();
                self.joined("{", entries, "}", out, |(key, value), out| self.entry(key, value, out))?;
            }
            Item::Tree(tree) => self.tree(tree, out)?,
            Item::Graph(graph) => {
                let (vertices, edges) = (graph.vertices().len(), graph.edges().len());
                out.push_str(&format!("graph[vertices:{vertices} edges:{edges}]"));
            }
            Item::Path(path) => {
                self.joined("path[", path.items(), "]", out, |item, out| self.item(item, out))?;
            }
            Item::List(items) | Item::Set(items) => {
                self.joined("[", items.iter(), "]", out, |item, out| self.item(item, out))?;
            }
            Item::Value(Value::List(_) | Value::Set(_)) => {
                let items = item.elements().unwrap_or_default();
                self.joined("[", items.iter(), "]", out, |item, out| self.item(item, out))?;
            }
            Item::Value(value) => {
                self.room.check(out.len().saturating_add(value.heap_bytes()))?;
                out.push_str(&value.to_string());
            }
            Item::Vertex(vertex) => out.push_str(&format!("v[{}]", vertex.0)),
            Item::Edge(edge) => out.push_str(&format!(
                "e[{}][{}-{}->{}]",
                edge_id_text(*edge),
                edge.source.0,
                catalogue.edge_type_name(edge.edge_type),
                edge.target.0
            )),
            Item::Property(property) => {
                let letters = if matches!(property.owner, Owner::Vertex(_)) { "vp" } else { "p" };
                let key = catalogue.key_name(property.key);
                self.room.check(out.len().saturating_add(property.value.heap_bytes()))?;
                out.push_str(&format!("{letters}[{key}->{}]", property.value));
            }
            Item::Entry(both) => self.entry(&both.0, &both.1, out)?,
            Item::Token(token) => out.push_str(match token {
                Token::Id => "id",
                Token::Label => "label",
                Token::Key => "key",
                Token::Value => "value",
            }),
            Item::Direction(direction) => out.push_str(match direction {
                Direction::Out => "OUT",
                Direction::In => "IN",
                Direction::Both => "BOTH",
            }),
        }
        Ok(())
    }

    fn entry(&self, key: &Item, value: &Item, out: &mut String) -> Result<()> {
        self.item(key, out)?;
        out.push('=');
        self.item(value, out)
    }

    fn tree(&self, tree: &Tree, out: &mut String) -> Result<()> {
        self.joined("{", tree.branches().iter(), "}", out, |(item, below), out| {
            self.item(item, out)?;
            out.push('=');
            self.tree(below, out)
        })
    }

    fn joined<T>(
        &self,
        first: &str,
        all: impl Iterator<Item = T>,
        last: &str,
        out: &mut String,
        one: impl Fn(T, &mut String) -> Result<()>,
    ) -> Result<()> {
        out.push_str(first);
        for (at, part) in all.enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            one(part, out)?;
        }
        out.push_str(last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::map::ItemMap;
    use std::sync::Arc;

    fn list(texts: &[&str]) -> Item {
        Item::List(texts.iter().map(|text| Item::from(*text)).collect())
    }

    #[test]
    fn each_function_of_a_text() {
        use TextFunction as F;
        let replace = |from: &str, to: &str| F::Replace(Some((from.into(), to.into())));
        let split = |by: &str| F::Split(Some(by.into()));
        let table: &[(F, &str, Item)] = &[
            (F::Length, "feature", Item::from(7_i32)),
            (F::Length, "ä\u{10400}", Item::from(2_i32)),
            (F::TrimStart, " \u{3000}abc\u{3000} ", Item::from("abc\u{3000} ")),
            (F::TrimEnd, " \u{3000}abc\u{3000} ", Item::from(" \u{3000}abc")),
            (F::Trim, " \u{3000}abc\u{3000} ", Item::from("abc")),
            (F::ToLower, "tESt", Item::from("test")),
            (F::ToUpper, "tESt", Item::from("TEST")),
            (replace("h", "j"), "that hat", Item::from("tjat jat")),
            (replace("", "j"), "that", Item::from("that")),
            (F::Replace(None), "that", Item::from("that")),
            (split("h"), "that", list(&["t", "at"])),
            (split("aa"), "aabaac", list(&["b", "c"])),
            (split("x"), "that", list(&["that"])),
            (split(""), "äh", list(&["ä", "h"])),
            (F::Split(None), "hello  world", list(&["hello", "world"])),
            (F::Substring(1, Some(8)), "hello world", Item::from("ello wo")),
            (F::Substring(1, Some(8)), "test", Item::from("est")),
            (F::Substring(1, Some(0)), "lop", Item::from("")),
            (F::Substring(-3, None), "marko", Item::from("rko")),
            (F::Substring(1, Some(-1)), "ripple", Item::from("ippl")),
            (F::Substring(-4, Some(2)), "lop", Item::from("lo")),
            (F::Substring(-4, Some(2)), "ripple", Item::from("")),
            (F::Substring(i64::MIN, Some(i64::MAX)), "lop", Item::from("lop")),
        ];
        for (function, text, expected) in table {
            let text = Item::from(*text);
            assert_eq!(
                &function.of(&text, false, Room::UNLIMITED).unwrap(),
                expected,
                "{function:?} of {text:?}"
            );
            let within = Item::List([text, Item::Null].into());
            let found = function.of(&within, true, Room::UNLIMITED).unwrap();
            assert_eq!(found, Item::List([expected.clone(), Item::Null].into()), "{function:?}, local");
            assert_eq!(function.of(&Item::Null, false, Room::UNLIMITED).unwrap(), Item::Null);
        }
    }

    #[test]
    fn what_is_no_text_is_refused_by_the_steps_name() {
        let numbers = Item::List([Item::from(1_i32)].into());
        let global = TextFunction::TrimStart.of(&numbers, false, Room::UNLIMITED).unwrap_err().to_string();
        assert!(global.contains("The lTrim() step can only take string as argument"), "{global}");
        let local = TextFunction::Trim.of(&numbers, true, Room::UNLIMITED).unwrap_err().to_string();
        assert!(local.contains("The trim(local) step can only take string or list of strings"), "{local}");
    }

    #[test]
    fn null_adds_nothing_to_a_text() {
        let [a, b] = ["a", "b"].map(Item::from);
        assert_eq!(concat([&a, &b], Room::UNLIMITED).unwrap(), Item::from("ab"));
        assert_eq!(concat([&Item::Null, &b], Room::UNLIMITED).unwrap(), b);
        assert_eq!(concat([&Item::Null], Room::UNLIMITED).unwrap(), Item::Null);
        let error = concat([&list(&["a"]), &b], Room::UNLIMITED).unwrap_err().to_string();
        assert!(error.contains("String concat() can only take string as argument"), "{error}");
    }

    #[test]
    fn every_item_has_a_text_but_null() {
        let catalogue = Catalogue::default();
        let map: ItemMap = [(Item::from("name"), list(&["marko", "x"]))].into_iter().collect();
        for (item, expected) in [
            (Item::from(29_i32), "29"),
            (Item::from(1.0), "1.0"),
            (Item::Map(Arc::new(map)), "{name=[marko, x]}"),
            (Item::List([Item::Null, Item::from(1_i32)].into()), "[null, 1]"),
            (Item::Vertex(evergraph_graph::id::VertexId(1)), "v[1]"),
            (Item::Token(Token::Id), "id"),
        ] {
            assert_eq!(as_string(&item, false, &catalogue, Room::UNLIMITED).unwrap(), Item::from(expected));
        }
        assert_eq!(
            as_string(&list(&["a", "b"]), true, &catalogue, Room::UNLIMITED).unwrap(),
            list(&["a", "b"])
        );
        let error =
            as_string(&Item::List([Item::Null].into()), true, &catalogue, Room::UNLIMITED).unwrap_err();
        assert!(error.to_string().contains("Can't parse null"), "{error}");
    }
}
