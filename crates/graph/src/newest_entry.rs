//! Newest entry: what an index of kind `newest` files an edge under, so that the edges of one source lie together.
//!
//! ```text
//! OFFSET  SIZE     FIELD (the whole is a value of type bytes)
//!      0     4     source, big end first
//!      4     rest  order bytes of the property's value
//! ```
//!
//! Entries of one source sort as values do ([`ValueBytes`]), those of one value by edge: read backwards from the end of
//! a source they come in the order of [`NewestEdges`].

use crate::id::{EdgeId, VertexId};
use crate::newest::{NewestEdges, Stamped};
use crate::value::Value;
use crate::value::datetime::DateTime;
use crate::value::order_bytes::decode::RecoveredValue;
use crate::value::order_bytes::value_bytes::ValueBytes;
use std::ops::Bound;

const SOURCE_BYTES: usize = 4;

/// What an edge from `source` with `value` is filed under.
#[must_use]
pub fn entry_of(source: VertexId, value: &Value) -> Value {
    let mut bytes = source.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(ValueBytes::of(value).as_slice());
    Value::Bytes(bytes.into())
}

/// The value of an edge that is filed under `entry`; `None` if that isn't an entry's.
#[must_use]
pub fn value_of(entry: &Value) -> Option<Value> {
    let Value::Bytes(bytes) = entry else { return None };
    match ValueBytes::from_stored(bytes.get(SOURCE_BYTES..)?).ok()?.recover().ok()? {
        RecoveredValue::Exact(value) => Some(value),
        RecoveredValue::Equal(_) | RecoveredValue::Unknown => None,
    }
}

/// A place between entries: before or behind all that are filed under the same, or at an edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryPlace {
    /// Before them.
    Before(Value),
    /// Behind them.
    After(Value),
    /// At this edge's.
    At(Value, EdgeId),
    /// Behind all entries.
    End,
}

/// Between which places the entries of an answer lie: it is read from the first, the higher one, down to the second. What
/// lies between them may be newer or older than what is `asked` for.
#[must_use]
pub fn places(asked: &NewestEdges, after: Option<&Stamped>) -> (EntryPlace, EntryPlace) {
    let from_source = |source: u32| Value::Bytes(source.to_be_bytes().to_vec().into());
    let high = match (after, &asked.range.to) {
        (Some((value, edge)), _) => EntryPlace::At(entry_of(asked.source, value), *edge),
        (None, Bound::Included(value) | Bound::Excluded(value)) => {
            EntryPlace::After(entry_of(asked.source, &last_alike(value)))
        }
        (None, Bound::Unbounded) => match asked.source.0.checked_add(1) {
            Some(next) => EntryPlace::Before(from_source(next)),
            None => EntryPlace::End,
        },
    };
    (high, EntryPlace::Before(from_source(asked.source.0)))
}

/// The greatest of the values that a range tells apart from `value` as little as from itself: datetimes of one moment are
/// alike, whatever their offset.
fn last_alike(value: &Value) -> Value {
    let last = match value {
        Value::DateTime(moment) => {
            DateTime::new(moment.seconds(), moment.nanoseconds(), DateTime::OFFSET_SECONDS_MAX).ok()
        }
        _ => None,
    };
    last.map_or_else(|| value.clone(), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_sort_by_source_then_by_value_and_tell_the_value() {
        let values = [i64::MIN, -300, -1, 0, 1, 255, 256, i64::MAX].map(Value::I64);
        let entries: Vec<Value> = [0, 1, 255, 256, u32::MAX]
            .into_iter()
            .flat_map(|source| values.iter().map(move |value| entry_of(VertexId(source), value)))
            .collect();
        assert!(entries.is_sorted_by(|one, next| one < next));
        for (entry, value) in entries.iter().zip(values.iter().cycle()) {
            assert_eq!(value_of(entry).as_ref(), Some(value));
        }
        for wrong in [Value::I64(1), Value::Bytes(vec![1; 4].into()), Value::Bytes(vec![0xEE; 9].into())] {
            assert_eq!(value_of(&wrong), None, "{wrong}");
        }
    }
}
