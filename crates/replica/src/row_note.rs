//! Row notes: what the graph itself can't say of rows: edges that wait for an end, and vertices that stand in for rows.
//!
//! ```text
//! note "waiting/RULE/HASH"    version 1  key (0 or 1 value)  start  end  properties: count, then each 0, or 1 and the value
//! note "created/RULE/HASH"    version 1  key
//! ```
//!
//! RULE is the rule's place in the mapping, HASH the SHA-256 of what identifies the edge or the vertex. Each row is in one
//! place: an edge row is an edge or a note, and a created vertex that gets its row loses its note.

use crate::note_format::{VERSION, finished, versioned};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::value::Value;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// What names of notes of waiting edges begin with.
pub const WAITING_PREFIX: &str = "waiting/";
/// What names of notes of created vertices begin with.
pub const CREATED_PREFIX: &str = "created/";
/// Notes of one rule, of either kind, at most: beyond, rows are more likely wrong than late.
pub const NOTES_OF_RULE_MAX: usize = 100_000;

/// The row of an edge with an end that isn't there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingEdge {
    /// The rule: [`EdgePlan::rule`](crate::mapping::plan::EdgePlan::rule).
    pub rule: usize,
    /// What identifies it, if its ends don't.
    pub key: Option<Value>,
    /// The key of its start; of an undirected edge, the smaller one.
    pub start: Value,
    /// The key of its end.
    pub end: Value,
    /// The properties, as the rule has them, without the key.
    pub properties: Vec<Option<Value>>,
}

/// A vertex without a row, which edges need (`missing = "create"`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedVertex {
    /// The rule of its label: [`VertexPlan::rule`](crate::mapping::plan::VertexPlan::rule).
    pub rule: usize,
    /// Its key.
    pub key: Value,
}

impl WaitingEdge {
    /// The name of its note.
    #[must_use]
    pub fn note_name(&self) -> String {
        match &self.key {
            Some(key) => note_name(WAITING_PREFIX, self.rule, &[key]),
            None => note_name(WAITING_PREFIX, self.rule, &[&self.start, &self.end]),
        }
    }

    /// The content of its note.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        put_value(&mut bytes, self.key.as_ref());
        self.start.encode(&mut bytes);
        self.end.encode(&mut bytes);
        put_varint(&mut bytes, self.properties.len() as u64);
        for value in &self.properties {
            put_value(&mut bytes, value.as_ref());
        }
        bytes
    }

    /// Reads a note of this `name`.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(name: &str, bytes: &[u8]) -> Decoded<Self> {
        let (mut reader, rule) = with_rule(name, WAITING_PREFIX, bytes)?;
        let key = optional_value(&mut reader)?;
        let (start, end) = (Value::decode(&mut reader)?, Value::decode(&mut reader)?);
        let count = reader.count(1)?;
        let properties = (0..count).map(|_| optional_value(&mut reader)).collect::<Decoded<_>>()?;
        finished(&reader)?;
        Ok(Self { rule, key, start, end, properties })
    }
}

impl CreatedVertex {
    /// The name of its note.
    #[must_use]
    pub fn note_name(&self) -> String {
        note_name(CREATED_PREFIX, self.rule, &[&self.key])
    }

    /// The content of its note.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        self.key.encode(&mut bytes);
        bytes
    }

    /// Reads a note of this `name`.
    ///
    /// # Errors
    /// If it is none, or a newer version wrote it.
    pub fn decode(name: &str, bytes: &[u8]) -> Decoded<Self> {
        let (mut reader, rule) = with_rule(name, CREATED_PREFIX, bytes)?;
        let key = Value::decode(&mut reader)?;
        finished(&reader)?;
        Ok(Self { rule, key })
    }
}

fn note_name(prefix: &str, rule: usize, identity: &[&Value]) -> String {
    let mut bytes = Vec::new();
    identity.iter().for_each(|value| value.encode(&mut bytes));
    let mut name = format!("{prefix}{rule}/");
    for byte in Sha256::digest(&bytes) {
        write!(name, "{byte:02x}").expect("a string takes all");
    }
    name
}

fn put_value(bytes: &mut Vec<u8>, value: Option<&Value>) {
    bytes.push(u8::from(value.is_some()));
    if let Some(value) = value {
        value.encode(bytes);
    }
}

fn optional_value(reader: &mut Reader<'_>) -> Decoded<Option<Value>> {
    match reader.u8()? {
        0 => Ok(None),
        1 => Value::decode(reader).map(Some),
        other => Err(reader.error(format!("no value (0) or one (1) expected, found {other}"))),
    }
}

/// The content behind the version, and the rule in the name.
fn with_rule<'a>(name: &str, prefix: &str, bytes: &'a [u8]) -> Decoded<(Reader<'a>, usize)> {
    let reader = versioned(bytes)?;
    let rule = name.strip_prefix(prefix).and_then(|rest| rest.split_once('/')?.0.parse().ok());
    let rule =
        rule.ok_or_else(|| reader.error(format!("a name such as {prefix}7/HASH expected: {name:?}")))?;
    Ok((reader, rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_with_the_rule_of_their_name_and_damaged_ones_are_refused() {
        let edge = WaitingEdge {
            rule: 12,
            key: Some(Value::I64(7)),
            start: Value::from("a"),
            end: Value::I32(2),
            properties: vec![None, Some(Value::Bool(true))],
        };
        let (name, bytes) = (edge.note_name(), edge.encode());
        assert_eq!(WaitingEdge::decode(&name, &bytes), Ok(edge.clone()));
        for length in 0..bytes.len() {
            assert!(WaitingEdge::decode(&name, &bytes[..length]).is_err());
        }
        assert!(WaitingEdge::decode("waiting/x/0", &bytes).is_err());
        assert!(WaitingEdge::decode(&name, &[&bytes[..], &[0]].concat()).is_err());
        let created = CreatedVertex { rule: 3, key: Value::from("a|b") };
        assert_eq!(CreatedVertex::decode(&created.note_name(), &created.encode()), Ok(created));
    }

    #[test]
    fn the_identity_alone_names_the_note() {
        let ends = |start: i32, end: i32, value: i32| WaitingEdge {
            rule: 0,
            key: None,
            start: start.into(),
            end: end.into(),
            properties: vec![Some(value.into())],
        };
        assert_eq!(ends(1, 2, 3).note_name(), ends(1, 2, 4).note_name());
        assert_ne!(ends(1, 2, 3).note_name(), ends(2, 1, 3).note_name());
        let keyed = WaitingEdge { key: Some(Value::I32(9)), ..ends(1, 2, 3) };
        assert_eq!(keyed.note_name(), WaitingEdge { start: 5.into(), ..keyed.clone() }.note_name());
    }
}
