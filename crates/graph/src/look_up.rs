//! Look-ups by value: the request to an index, its continuation, and its answer.
//!
//! ```text
//! equality   many values -> rows and items     a value after the other, its items ascending
//! range      from .. to  -> values and items   by value, then item; or the other way round
//! prefix     "Ad"        -> the range of the texts that begin so
//! ```
//!
//! Answers come in batches and resume from a cursor, inside a value that a million items have too. A
//! cursor belongs to one view and one question.

use crate::value::Value;
use std::ops::Bound;

/// Where a look-up of many values goes on; the default is before the first item of value 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatchCursor<T> {
    /// The value whose items are being handed out.
    pub row: usize,
    /// Its last item that was looked at.
    pub after: Option<T>,
    /// Whether every value was looked up.
    pub done: bool,
}

impl<T> Default for MatchCursor<T> {
    fn default() -> Self {
        Self { row: 0, after: None, done: false }
    }
}

/// Items with the value that each has: columns of equal length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matches<T> {
    /// Index of the value in the slice that was asked for.
    pub rows: Vec<u32>,
    /// A vertex or an edge that has it.
    pub items: Vec<T>,
}

impl<T> Default for Matches<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), items: Vec::new() }
    }
}

/// An interval of values.
///
/// Bounds are compared by content ([`Value::compare_content`]): numbers of all types by their exact
/// mathematical value, so that an `int` bound fits a `long` property, and `from > 1` leaves out every
/// 1 of a property declared `any`. A side that is open is open to values of other classes, too: in such a
/// property texts lie above every number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueRange {
    /// The lower end.
    pub from: Bound<Value>,
    /// The upper end.
    pub to: Bound<Value>,
    /// Whether the greatest value comes first.
    pub descending: bool,
}

impl ValueRange {
    /// Every value, ascending.
    pub const ALL: Self = Self { from: Bound::Unbounded, to: Bound::Unbounded, descending: false };

    /// The values between two bounds, ascending.
    #[must_use]
    #[inline]
    pub fn new(from: Bound<Value>, to: Bound<Value>) -> Self {
        Self { from, to, descending: false }
    }

    /// The texts that begin with `prefix`, ascending. A char counts as the text of it alone.
    #[must_use]
    pub fn prefix(prefix: &str) -> Self {
        // The least text above all of them: the last character that has a successor, raised.
        let mut above = prefix.to_owned();
        let to = loop {
            let Some(last) = above.pop() else { break None };
            // `char` steps over the surrogates.
            if let Some(next) = (last..=char::MAX).nth(1) {
                above.push(next);
                break Some(above);
            }
        };
        // Behind all texts come bytes, of which the empty ones are the first.
        let to = to.map_or(Value::Bytes(Box::default()), Value::from);
        Self { from: Bound::Included(prefix.into()), to: Bound::Excluded(to), descending: false }
    }

    /// The same values, the greatest first.
    #[must_use]
    pub fn descending(mut self) -> Self {
        self.descending = true;
        self
    }

    /// Whether `value` lies in it.
    #[must_use]
    #[inline]
    pub fn contains(&self, value: &Value) -> bool {
        !self.ends_before(value) && !self.begins_after(value)
    }

    /// Whether `value` lies above all that it holds.
    #[must_use]
    #[inline]
    pub fn ends_before(&self, value: &Value) -> bool {
        match &self.to {
            Bound::Unbounded => false,
            Bound::Included(to) => value.compare_content(to).is_gt(),
            Bound::Excluded(to) => value.compare_content(to).is_ge(),
        }
    }

    /// Whether `value` lies below all that it holds.
    #[must_use]
    #[inline]
    pub fn begins_after(&self, value: &Value) -> bool {
        match &self.from {
            Bound::Unbounded => false,
            Bound::Included(from) => value.compare_content(from).is_lt(),
            Bound::Excluded(from) => value.compare_content(from).is_le(),
        }
    }
}

/// Where a range goes on; the default is before its first item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeCursor<T> {
    /// The last value and item that were looked at.
    pub after: Option<(Value, T)>,
    /// Whether the range is over.
    pub done: bool,
}

impl<T> Default for RangeCursor<T> {
    fn default() -> Self {
        Self { after: None, done: false }
    }
}

/// Items in the order of their values: columns of equal length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderedMatches<T> {
    /// The value of each item.
    pub values: Vec<Value>,
    /// The items; those of one value in the order of their ids, or against it if the range descends.
    pub items: Vec<T>,
}

impl<T> Default for OrderedMatches<T> {
    fn default() -> Self {
        Self { values: Vec::new(), items: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::strategy::any_value;
    use proptest::prelude::*;

    #[test]
    fn bounds_compare_numbers_of_all_widths_by_what_they_are() {
        let range = ValueRange::new(Bound::Excluded(Value::I32(1)), Bound::Included(Value::F64(2.5)));
        let inside = [Value::I8(2), Value::F32(1.5), Value::F64(2.5)];
        let outside = [Value::I64(1), Value::F64(1.0), Value::I8(3), Value::from("2"), Value::Bool(true)];
        assert!(inside.iter().all(|value| range.contains(value)));
        assert!(!outside.iter().any(|value| range.contains(value)));
    }

    #[test]
    fn a_prefix_ends_where_no_character_has_a_successor() {
        let last = char::MAX.to_string();
        let range = ValueRange::prefix(&last);
        assert_eq!(range.to, Bound::Excluded(Value::Bytes(Box::default())));
        assert!(range.contains(&Value::from(format!("{last}{last}"))));
        assert!(!range.contains(&Value::from(vec![0u8])));
        let beside_surrogates = ValueRange::prefix("a\u{d7ff}");
        assert_eq!(beside_surrogates.to, Bound::Excluded(Value::from("a\u{e000}")));
    }

    proptest! {
        #[test]
        fn a_prefix_holds_the_texts_that_begin_so(
            prefix in ".{0,3}", rest in ".{0,3}", other in any_value(),
        ) {
            let range = ValueRange::prefix(&prefix);
            let text = format!("{prefix}{rest}");
            prop_assert!(range.contains(&Value::from(text)));
            let begins = match &other {
                Value::String(text) => text.starts_with(&prefix),
                Value::Char(char) => char.to_string().starts_with(&prefix),
                _ => false,
            };
            prop_assert_eq!(range.contains(&other), begins, "{:?}", other);
        }
    }
}
