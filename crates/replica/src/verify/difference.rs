//! Differences between the graph and what its source says, for people.

use crate::verify::entity::{EntityHash, OwnedEntity};
use evergraph_graph::count::counted;
use evergraph_graph::value::Value;
use evergraph_graph::value::shortened::Shortened;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a comparison found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VerifyReport {
    /// What was compared, in the order of the mapping.
    pub subjects: Vec<SubjectComparison>,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// Vertices and edges that no rule makes: a sentence each.
    pub unmapped: Vec<String>,
}

/// The vertices or edges of one rule on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubjectComparison {
    /// What people call it, such as `edges ACTS_IN from Actor to Film`.
    pub subject: String,
    /// The table of its rows.
    pub table: String,
    /// How many the graph has.
    pub in_graph: u64,
    /// How many it must have.
    pub in_source: u64,
    /// How many differ.
    pub differences: u64,
    /// Whether there may be more differences than were counted, since they took too much memory.
    pub is_incomplete: bool,
}

/// How a vertex or an edge differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DifferenceKind {
    /// The graph lacks it.
    Missing,
    /// The graph has it, and the source has no row for it.
    Extra,
    /// Both have it, with other ends or properties.
    Changed,
}

/// A vertex or an edge that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// What it belongs to.
    pub subject: String,
    /// The table of its row.
    pub table: String,
    /// How it differs.
    pub kind: DifferenceKind,
    /// What identifies it.
    pub key: String,
    /// What differs of it: a phrase each.
    pub details: Vec<String>,
}

impl VerifyReport {
    /// Whether the graph is what it must be.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differences_count() == 0
            && self.unmapped.is_empty()
            && self.subjects.iter().all(|subject| !subject.is_incomplete)
    }

    /// How many vertices and edges differ.
    #[must_use]
    pub fn differences_count(&self) -> u64 {
        self.subjects.iter().map(|subject| subject.differences).sum()
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for SubjectComparison { subject, table, in_graph, in_source, differences, is_incomplete } in
            &self.subjects
        {
            write!(f, "{subject} (table {table}): ")?;
            match in_graph == in_source {
                true => write!(f, "{in_graph}")?,
                false => write!(f, "{in_graph} in the graph, {in_source} by the source")?,
            }
            match (differences, is_incomplete) {
                (0, false) => writeln!(f, ", equal")?,
                (0, true) => writeln!(f, ", not compared whole")?,
                (_, false) => writeln!(f, ", {differences} differ")?,
                (_, true) => writeln!(f, ", {differences} or more differ")?,
            }
        }
        self.differences.iter().try_for_each(|difference| writeln!(f, "{difference}"))?;
        self.unmapped.iter().try_for_each(|sentence| writeln!(f, "{sentence}"))?;
        let rest = self.differences_count().saturating_sub(self.differences.len() as u64);
        if rest > 0 {
            writeln!(f, "and {} more", counted(rest, "difference", "differences"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, table, kind, key, details } = self;
        let what = match kind {
            DifferenceKind::Missing => "is missing",
            DifferenceKind::Extra => "is in the graph, and the source has no row for it",
            DifferenceKind::Changed => "differs",
        };
        write!(f, "{subject}: {key} (table {table}) {what}")?;
        if details.is_empty() { Ok(()) } else { write!(f, ": {}", details.join("; ")) }
    }
}

/// The identities that are not the same on both sides, each with how they differ. One that several entities share is told
/// once.
///
/// Cost: both lists are sorted.
#[must_use]
pub fn differing(mut graph: Vec<EntityHash>, mut source: Vec<EntityHash>) -> Vec<(u64, DifferenceKind)> {
    graph.sort_unstable();
    source.sort_unstable();
    let (mut graph, mut source) = (&graph[..], &source[..]);
    let mut found = Vec::new();
    loop {
        let next = graph.first().into_iter().chain(source.first()).map(|hash| hash.identity).min();
        let Some(identity) = next else { return found };
        let own = split_identity(&mut graph, identity);
        let other = split_identity(&mut source, identity);
        if own != other {
            let kind = match (own.is_empty(), other.is_empty()) {
                (true, _) => DifferenceKind::Missing,
                (_, true) => DifferenceKind::Extra,
                _ => DifferenceKind::Changed,
            };
            found.push((identity, kind));
        }
    }
}

/// Takes the entries of `identity` from the front.
fn split_identity<'a>(hashes: &mut &'a [EntityHash], identity: u64) -> &'a [EntityHash] {
    let count = hashes.iter().take_while(|hash| hash.identity == identity).count();
    let (taken, rest) = hashes.split_at(count);
    *hashes = rest;
    taken
}

/// The key of what differs, and how both sides differ, from all entities of its identity.
#[must_use]
pub fn describe(graph: &[OwnedEntity], source: &[OwnedEntity]) -> (String, Vec<String>) {
    let key = graph.iter().chain(source).next().map_or_else(String::new, |entity| entity.key.clone());
    let (graph, source) = match (graph, source) {
        ([graph], [source]) => (graph, source),
        ([_], []) | ([], [_]) => return (key, Vec::new()),
        _ => {
            return (
                key,
                vec![format!("{} times in the graph, {} times by the source", graph.len(), source.len())],
            );
        }
    };
    let mut details = Vec::new();
    if let (Some(graph), Some(source)) = (&graph.ends, &source.ends) {
        for (which, (graph, source)) in ["begins", "ends"].iter().zip(graph.iter().zip(source)) {
            if graph != source {
                details.push(format!(
                    "{which} at {} in the graph, at {} by the source",
                    show(Some(graph)),
                    show(Some(source))
                ));
            }
        }
    }
    let [graph, source] = [graph, source].map(|entity| {
        entity
            .properties
            .iter()
            .map(|(name, value)| (name.as_str(), value))
            .collect::<BTreeMap<&str, &Value>>()
    });
    let names: BTreeSet<&str> = graph.keys().chain(source.keys()).copied().collect();
    for name in names {
        let (own, other) = (graph.get(name).copied(), source.get(name).copied());
        let is_same = match (own, other) {
            (Some(own), Some(other)) => encoded(own) == encoded(other),
            _ => false,
        };
        if !is_same {
            details.push(format!("{name} is {} in the graph, {} by the source", show(own), show(other)));
        }
    }
    (key, details)
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

fn show(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => Shortened::new(text).to_string(),
        Some(value) => {
            let text = value.to_string();
            if text.len() > 200 {
                Shortened::new(&text).to_string()
            } else {
                format!("{text} ({})", value.value_type())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    #[test]
    fn identities_differ_by_what_either_side_lacks_or_has_otherwise() {
        let hash = |identity, content| EntityHash { identity, content };
        let graph = vec![hash(3, 1), hash(1, 1), hash(4, 1), hash(4, 1), hash(5, 9)];
        let source = vec![hash(1, 1), hash(2, 1), hash(4, 1), hash(5, 8)];
        assert_eq!(
            differing(graph, source),
            [
                (2, DifferenceKind::Missing),
                (3, DifferenceKind::Extra),
                (4, DifferenceKind::Changed),
                (5, DifferenceKind::Changed)
            ]
        );
        assert_eq!(differing(Vec::new(), Vec::new()), []);
    }

    #[test]
    fn a_description_names_ends_and_properties_that_differ() {
        let entity = |ends: [i32; 2], properties: Vec<(&str, Value)>| OwnedEntity {
            key: "7".into(),
            ends: Some(ends.map(Value::from)),
            properties: properties.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        };
        let graph = entity([1, 2], vec![("a", 1.into()), ("b", 2.into()), ("same", 3.into())]);
        let source = entity([1, 3], vec![("a", Value::from("x")), ("c", 4.into()), ("same", 3.into())]);
        let (key, details) = describe(slice::from_ref(&graph), slice::from_ref(&source));
        assert_eq!(key, "7");
        assert_eq!(
            details,
            [
                "ends at 2 (int) in the graph, at 3 (int) by the source",
                "a is 1 (int) in the graph, \"x\" by the source",
                "b is 2 (int) in the graph, nothing by the source",
                "c is nothing in the graph, 4 (int) by the source",
            ]
        );
        assert_eq!(describe(slice::from_ref(&graph), &[]), ("7".to_owned(), Vec::new()));
        assert_eq!(
            describe(&[graph.clone(), graph], &[source]).1,
            ["2 times in the graph, 1 times by the source"]
        );
    }
}
