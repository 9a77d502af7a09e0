//! List, set and map: values that contain values, at most 128 deep.
//!
//! ```text
//! depth 0   1                      scalars
//! depth 1   [1, 2]   {"a": 1}      lists, sets and maps of scalars
//! depth 2   [[1], 2]               one more than the deepest element
//! ```
//!
//! The limit is kept where collections are made, and nothing changes one afterwards. So a deeper
//! value never exists, and code that walks values by recursion (comparing, dropping, printing,
//! encoding) cannot run out of stack.
//!
//! Sets and maps are sorted slices: smaller than trees, and two equal ones are equal bytes. They
//! are made at once, and searched by halving.

use std::cmp::Ordering;

use thiserror::Error;

use crate::value::Value;

/// The greatest depth of a value: lists, sets and maps around a scalar.
pub const DEPTH_MAX: usize = 128;

/// A list, set or map was to be made deeper than [`DEPTH_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a value is nested more than {DEPTH_MAX} deep")]
pub struct TooDeepError;

/// Values in the order given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct List(Box<[Value]>);

impl List {
    /// Holds `values`.
    ///
    /// Cost: one visit to everything inside, to know its depth.
    ///
    /// # Errors
    /// [`TooDeepError`] if a value is [`DEPTH_MAX`] deep already.
    pub fn new(values: Vec<Value>) -> Result<Self, TooDeepError> {
        check_depth(&values)?;
        Ok(Self(values.into()))
    }

    /// Holds `values`, which the caller knows to be less than [`DEPTH_MAX`] deep.
    pub(super) fn of_checked_depth(values: Vec<Value>) -> Self {
        Self(values.into())
    }

    /// The values.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }

    /// Gives the values up.
    #[must_use]
    #[inline]
    pub fn into_vec(self) -> Vec<Value> {
        self.0.into_vec()
    }
}

/// Different values, in ascending order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Set(Box<[Value]>);

impl Set {
    /// Holds `values`; of equal ones (such as 0.0 and -0.0) the first.
    ///
    /// Cost: a sort.
    ///
    /// # Errors
    /// [`TooDeepError`] if a value is [`DEPTH_MAX`] deep already.
    pub fn new(mut values: Vec<Value>) -> Result<Self, TooDeepError> {
        check_depth(&values)?;
        values.sort(); // stable: the first of equal values stays the first
        values.dedup();
        Ok(Self(values.into()))
    }

    /// Holds `values` if they ascend; the caller knows that they are less than [`DEPTH_MAX`] deep.
    pub(super) fn of_ascending(values: Vec<Value>) -> Option<Self> {
        values.is_sorted_by(|left, right| left < right).then(|| Self(values.into()))
    }

    /// Whether `value` is among the values. Cost: a binary search.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        self.0.binary_search(value).is_ok()
    }

    /// The values, ascending.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }

    /// Gives the values up, ascending.
    #[must_use]
    #[inline]
    pub fn into_vec(self) -> Vec<Value> {
        self.0.into_vec()
    }
}

/// Values by key, in ascending order of keys; a key may be any value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Map(Box<[(Value, Value)]>);

impl Map {
    /// Holds `entries` of key and value; of those with equal keys the last.
    ///
    /// Cost: a sort.
    ///
    /// # Errors
    /// [`TooDeepError`] if a key or value is [`DEPTH_MAX`] deep already.
    pub fn new(mut entries: Vec<(Value, Value)>) -> Result<Self, TooDeepError> {
        check_depth(entries.iter().flat_map(|(key, value)| [key, value]))?;
        entries.reverse();
        entries.sort_by(|left, right| left.0.cmp(&right.0)); // stable: the last of equal keys comes first
        entries.dedup_by(|later, kept| later.0 == kept.0);
        Ok(Self(entries.into()))
    }

    /// Holds `entries` if their keys ascend; the caller knows that they are less than [`DEPTH_MAX`]
    /// deep.
    pub(super) fn of_ascending(entries: Vec<(Value, Value)>) -> Option<Self> {
        entries.is_sorted_by(|left, right| left.0 < right.0).then(|| Self(entries.into()))
    }

    /// The value of `key`, if the map has it. Cost: a binary search.
    #[must_use]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        let place = self.0.binary_search_by(|entry| entry.0.cmp(key)).ok()?;
        Some(&self.0[place].1)
    }

    /// Keys and values, ascending by key.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[(Value, Value)] {
        &self.0
    }

    /// Gives keys and values up, ascending by key.
    #[must_use]
    #[inline]
    pub fn into_vec(self) -> Vec<(Value, Value)> {
        self.0.into_vec()
    }
}

impl Value {
    /// Lists, sets and maps around the deepest scalar: 0 for a scalar, 1 for an empty list.
    ///
    /// Cost: one visit to everything inside.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Value::List(list) => 1 + depth_of(list.as_slice()),
            Value::Set(set) => 1 + depth_of(set.as_slice()),
            Value::Map(map) => 1 + depth_of(map.as_slice().iter().flat_map(|(key, value)| [key, value])),
            _ => 0,
        }
    }
}

fn depth_of<'a>(values: impl IntoIterator<Item = &'a Value>) -> usize {
    values.into_iter().map(Value::depth).max().unwrap_or(0)
}

fn check_depth<'a>(values: impl IntoIterator<Item = &'a Value>) -> Result<(), TooDeepError> {
    match depth_of(values).cmp(&DEPTH_MAX) {
        Ordering::Less => Ok(()),
        Ordering::Equal | Ordering::Greater => Err(TooDeepError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().map(|number| Value::I64(*number)).collect()
    }

    #[test]
    fn a_set_is_sorted_and_keeps_the_first_of_equal_values() {
        let set = Set::new(integers(&[3, 1, 3, 2])).unwrap();
        assert_eq!(set.as_slice(), integers(&[1, 2, 3]));
        assert!(set.contains(&Value::I64(2)) && !set.contains(&Value::I32(2)));
        let zeros = Set::new(vec![Value::F64(-0.0), Value::F64(0.0)]).unwrap();
        assert!(matches!(zeros.as_slice(), [Value::F64(zero)] if zero.is_sign_negative()));
    }

    #[test]
    fn a_map_keeps_the_last_of_equal_keys() {
        let entry = |key: &str, number| (Value::from(key), Value::I64(number));
        let map = Map::new(vec![entry("b", 1), entry("a", 2), entry("b", 3)]).unwrap();
        assert_eq!(map.as_slice(), [entry("a", 2), entry("b", 3)]);
        assert_eq!(map.get(&"b".into()), Some(&Value::I64(3)));
        assert_eq!(map.get(&"c".into()), None);
    }

    #[test]
    fn a_value_is_never_more_than_128_deep() {
        let mut value = Value::Bool(true);
        for depth in 1..=DEPTH_MAX {
            value = match depth % 3 {
                0 => Value::List(List::new(vec![value]).unwrap()),
                1 => Value::Set(Set::new(vec![value]).unwrap()),
                _ => Value::Map(Map::new(vec![(value, Value::Bool(false))]).unwrap()),
            };
            assert_eq!(value.depth(), depth);
        }
        assert_eq!(List::new(vec![Value::I8(1), value.clone()]), Err(TooDeepError));
        assert_eq!(Set::new(vec![value.clone()]), Err(TooDeepError));
        assert_eq!(Map::new(vec![(Value::I8(1), value.clone())]), Err(TooDeepError));
        assert_eq!(Map::new(vec![(value, Value::I8(1))]), Err(TooDeepError));
    }
}
