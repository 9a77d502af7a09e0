//! Element source: the interface of every reader of a file of elements, whatever the format.
//!
//! ```text
//! next      an element, or the error that ends the file
//! position  where it begins
//! summary   what of the file is no element, or is another one here: a sentence each, with its count
//! ```

use std::collections::BTreeMap;

use evergraph_graph::value::Value;

use crate::element::{Element, Position};
use crate::error::ReadError;

/// Reads the elements of a file in their order there. The first error is the last item.
pub trait ElementSource: Iterator<Item = Result<Element, ReadError>> {
    /// Where in the file the element that was read last begins.
    fn position(&self) -> Position;

    /// What was read so far; of the whole file, once there are no more elements.
    fn summary(&self) -> ReadSummary;
}

/// How a file is read that says of its elements neither label nor type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceOptions {
    /// The label of vertices that have none.
    pub default_label: String,
    /// The type of edges that have none.
    pub default_edge_type: String,
    /// How long the text of one element may be, in bytes.
    pub text_bytes_max: usize,
    /// How many vertices a file may announce that it doesn't list one by one.
    pub announced_max: u64,
}

impl Default for SourceOptions {
    /// `vertex`, `edge`, 16 MiB, 4,294,967,295.
    fn default() -> Self {
        Self {
            default_label: "vertex".to_owned(),
            default_edge_type: "edge".to_owned(),
            text_bytes_max: 16 << 20,
            announced_max: u64::from(u32::MAX),
        }
    }
}

/// How much a file holds, and what of it a property graph holds in another form or not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadSummary {
    /// Vertices.
    pub vertices_count: u64,
    /// Edges, the undirected ones among them.
    pub edges_count: u64,
    remarks: BTreeMap<Remark, u64>,
}

/// What a file has that doesn't become what it is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Remark {
    /// An edge without a direction.
    Undirected,
    /// A vertex inside another one.
    Nested,
    /// Data of an undeclared key.
    Undeclared,
    /// A key whose type has no counterpart.
    UnknownType,
    /// An edge that refers to a vertex by its place among them.
    ByPlace,
    /// A vertex without an id.
    Numbered,
    /// A drawing, or data of the graph itself.
    Data,
    /// A value of the graph itself.
    GraphValue,
    /// How an element is drawn.
    Drawing,
    /// The port of a vertex, or that an edge ends at one.
    Port,
    /// A value that holds at one time, beside others of its key.
    Moment,
    /// The times in which an element is there, where they are more than one.
    Spell,
    /// A second value of a key that has one value an element.
    Repeated,
    /// A part of an element that its format doesn't know.
    Foreign,
    /// A part of a project that is no network.
    Section,
}

impl Remark {
    /// One, several, and what became of them.
    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Undirected => {
                ("edge has", "edges have", "no direction there: stored once, from source to target")
            }
            Self::Nested => (
                "vertex lies",
                "vertices lie",
                "inside another one there: stored beside it, with its id as property `parent`",
            ),
            Self::Undeclared => {
                ("value has", "values have", "a key that isn't declared there: read as text under its name")
            }
            Self::UnknownType => {
                ("key has", "keys have", "a type there that isn't known here: its values are read as text")
            }
            Self::ByPlace => (
                "edge names",
                "edges name",
                "the ends by their places among the vertices, counted from 0, and not by ids",
            ),
            Self::Numbered => ("vertex has", "vertices have", "no id there: numbered from 0 in their order"),
            Self::GraphValue => ("value was", "values were", "left out: of the graph itself"),
            Self::Data => ("data tag was", "data tags were", "left out: drawings, or of the graph itself"),
            Self::Drawing => (
                "part of a drawing was",
                "parts of drawings were",
                "left out: places, sizes, colours, shapes",
            ),
            Self::Port => ("port was", "ports were", "left out: an edge ends at the vertex itself"),
            Self::Moment => (
                "value was",
                "values were",
                "left out: of a key that changes with time, the last one is kept",
            ),
            Self::Spell => ("time was", "times were", "left out: of an element that comes and goes"),
            Self::Repeated => {
                ("value was", "values were", "left out: its element has another one of the key")
            }
            Self::Foreign => ("part was", "parts were", "left out: the format doesn't know it"),
            Self::Section => {
                ("section was", "sections were", "left out: partitions, vectors and the like are no edges")
            }
        }
    }

    /// What is to be told of `count` of them.
    #[must_use]
    pub fn sentence(self, count: u64) -> String {
        let (one, many, what) = self.words();
        format!("{count} {} {what}", if count == 1 { one } else { many })
    }
}

impl ReadSummary {
    /// Counts another one.
    pub fn note(&mut self, remark: Remark) {
        self.note_many(remark, 1);
    }

    /// Counts `count` more.
    pub fn note_many(&mut self, remark: Remark, count: u64) {
        if count > 0 {
            *self.remarks.entry(remark).or_default() += count;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self, remark: Remark) -> u64 {
        self.remarks.get(&remark).copied().unwrap_or(0)
    }

    /// All that there are, with their counts, in an order that stays.
    pub fn remarks(&self) -> impl Iterator<Item = (Remark, u64)> {
        self.remarks.iter().map(|(remark, count)| (*remark, *count))
    }
}

/// The properties of an element while it is read: the first value of a key counts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Properties(Vec<(String, Value)>);

impl Properties {
    /// Whether there is a value of `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(known, _)| known == key)
    }

    /// The text of `key`, if it is one.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key)?.1.as_str()
    }

    /// Takes the value of `key` out.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(known, _)| known != key);
    }

    /// Adds a value of `key` unless it is there already: a format that states it in two places may state it twice.
    pub(crate) fn add_again(&mut self, key: &str, value: Value, summary: &mut ReadSummary) {
        if !self.0.iter().any(|(known, there)| known == key && *there == value) {
            self.add(key, value, summary);
        }
    }

    /// Gives `key` the value `value`. Gives whether it had one.
    pub(crate) fn replace(&mut self, key: &str, value: Value) -> bool {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, there)) => {
                *there = value;
                true
            }
            None => {
                self.0.push((key.to_owned(), value));
                false
            }
        }
    }

    /// Adds a value of `key`; one more than the first is counted in `summary`.
    pub(crate) fn add(&mut self, key: &str, value: Value, summary: &mut ReadSummary) {
        if self.has(key) {
            summary.note(Remark::Repeated);
        } else {
            self.0.push((key.to_owned(), value));
        }
    }

    /// The properties in the order in which they came.
    pub(crate) fn into_edge(self) -> Vec<(String, Value)> {
        self.0
    }

    /// The same as those of a vertex.
    pub(crate) fn into_vertex(self) -> Vec<(String, Vec<crate::element::VertexProperty>)> {
        self.0.into_iter().map(|(key, value)| (key, vec![value.into()])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_counted_and_told_in_an_order_that_stays() {
        let mut summary = ReadSummary::default();
        for remark in [Remark::Port, Remark::Undirected, Remark::Port] {
            summary.note(remark);
        }
        let told: Vec<String> = summary.remarks().map(|(remark, count)| remark.sentence(count)).collect();
        assert_eq!(
            told,
            [
                "1 edge has no direction there: stored once, from source to target",
                "2 ports were left out: an edge ends at the vertex itself",
            ]
        );
        assert_eq!((summary.count(Remark::Port), summary.count(Remark::Data)), (2, 0));
    }

    #[test]
    fn the_first_value_of_a_key_counts() {
        let (mut properties, mut summary) = (Properties::default(), ReadSummary::default());
        properties.add("a", Value::I64(1), &mut summary);
        properties.add("a", Value::I64(2), &mut summary);
        assert_eq!(properties.into_edge(), [("a".to_owned(), Value::I64(1))]);
        assert_eq!(summary.count(Remark::Repeated), 1);
    }
}
