//! Sort key: the first 16 bytes of a value's order bytes, by which ranges of ordered indexes are compared.
//!
//! A value of fewer bytes ends with zeros. Values in order have sort keys in order; different values may have the
//! same one, and then a range that has either counts as changed: a refusal too many, never one too few.

use crate::key_hash::graph_salt::KeyHash;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::range::BytesRange;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use std::fmt;

/// Bytes of a sort key.
pub const SORT_KEY_BYTES: usize = 16;

/// The place of a value among those of an ordered index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey(pub [u8; SORT_KEY_BYTES]);

impl SortKey {
    /// Not above any.
    pub const LOWEST: Self = Self([0; SORT_KEY_BYTES]);
    /// Not below any.
    pub const HIGHEST: Self = Self([0xff; SORT_KEY_BYTES]);

    /// Of a value.
    #[must_use]
    pub fn of(value: &Value) -> Self {
        Self::of_bytes(ValueBytes::of(value).as_slice())
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        let mut key = [0; SORT_KEY_BYTES];
        let length = bytes.len().min(SORT_KEY_BYTES);
        key[..length].copy_from_slice(&bytes[..length]);
        Self(key)
    }
}

impl fmt::Debug for SortKey {
    /// Hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A value that entered an ordered index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EnteredKey {
    /// The index, as the hash of [`Subject::Entries`](crate::key_hash::subject::Subject::Entries).
    pub index: KeyHash,
    /// The place of the value.
    pub key: SortKey,
}

/// A range of an ordered index that nothing may have entered since the snapshot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RangeCheck {
    /// The index, as the hash of [`Subject::Entries`](crate::key_hash::subject::Subject::Entries).
    pub index: KeyHash,
    /// The lowest place of it.
    pub low: SortKey,
    /// The highest place of it.
    pub high: SortKey,
}

impl RangeCheck {
    /// Around every value of `range` in `index`.
    #[must_use]
    pub fn around(index: KeyHash, range: &ValueRange) -> Self {
        let bytes = BytesRange::around(range);
        let high = bytes.to.as_deref().map_or(SortKey::HIGHEST, SortKey::of_bytes);
        Self { index, low: SortKey::of_bytes(&bytes.from), high }
    }

    /// Whether `entered` may be a value of the range.
    #[must_use]
    pub fn contains(&self, entered: &EnteredKey) -> bool {
        self.index == entered.index && (self.low..=self.high).contains(&entered.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;
    use std::ops::Bound;

    fn any_bound() -> impl Strategy<Value = Bound<Value>> {
        (any_value(), 0..5_u8).prop_map(|(value, kind)| match kind {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(value),
            _ => Bound::Excluded(value),
        })
    }

    proptest! {
        #[test]
        fn a_value_of_a_range_lies_in_its_check(from in any_bound(), to in any_bound(), value in any_value()) {
            let range = ValueRange::new(from, to);
            let check = RangeCheck::around(KeyHash(1), &range);
            let entered = EnteredKey { index: KeyHash(1), key: SortKey::of(&value) };
            if range.contains(&value) {
                prop_assert!(check.contains(&entered), "{:?} {:?}", check, entered);
            }
            prop_assert!(!check.contains(&EnteredKey { index: KeyHash(2), ..entered }), "another index");
        }
    }

    #[test]
    fn values_far_from_a_range_lie_outside_of_its_check() {
        let number = |number: i64| Value::I64(number);
        let range = ValueRange::new(Bound::Included(number(10)), Bound::Excluded(number(20)));
        let check = RangeCheck::around(KeyHash(1), &range);
        let holds =
            |value| check.contains(&EnteredKey { index: KeyHash(1), key: SortKey::of(&number(value)) });
        assert_eq!([5, 10, 15, 30].map(holds), [false, true, true, false]);
    }
}
