//! Bytes range: between which order bytes the values of a range lie.
//!
//! ```text
//! bound on a value of few bytes    decides by bytes alone: [from, to)
//! bound on one of 48 or more       all that begins with its first 48 bytes lies in the range of bytes,
//!                                  and is compared as a value
//! ```
//!
//! Bounds are of content, as those of [`ValueRange`]: `> 1` steps over the 1 of every type.

use std::ops::Bound;

use crate::look_up::ValueRange;
use crate::value::Value;
use crate::value::order_bytes::encode::put_content;
use crate::value::order_bytes::lengths::{LONG_BYTES, LONG_PREFIX_BYTES};
use crate::value::order_bytes::writer::Writer;

/// Behind a content: above the types of all values that have it, below the content of any other one.
const BEHIND_TYPES: u8 = 0xfe;

/// Where an ordered index finds the values of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BytesRange {
    /// No bytes of the range are below these.
    pub from: Vec<u8>,
    /// All of them are below these; `None`: there is no upper bound.
    pub to: Option<Vec<u8>>,
    /// The first 48 bytes of bounds that have so many.
    unsure: Vec<[u8; LONG_PREFIX_BYTES]>,
}

/// A bound in bytes.
enum Cut {
    /// Before or behind everything of its content.
    Exact(Vec<u8>),
    /// Somewhere among what begins with this.
    Within([u8; LONG_PREFIX_BYTES]),
}

impl Cut {
    fn new(value: &Value, side: Side) -> Self {
        let mut writer = Writer::new();
        put_content(&mut writer, value);
        // A content of exactly 48 bytes may go on in a long value: an escaped 0 follows.
        match writer.first().first_chunk() {
            Some(prefix) => Self::Within(*prefix),
            None => {
                let mut bytes = writer.first().to_vec();
                if side == Side::Behind {
                    bytes.push(BEHIND_TYPES);
                }
                Self::Exact(bytes)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Behind,
}

impl BytesRange {
    /// The bytes between which those of every value of `range` lie; its direction doesn't matter.
    #[must_use]
    pub fn around(range: &ValueRange) -> Self {
        let cut = |bound: &Bound<Value>, included: Side, excluded: Side| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) => Some(Cut::new(value, included)),
            Bound::Excluded(value) => Some(Cut::new(value, excluded)),
        };
        let mut unsure = Vec::new();
        let from = match cut(&range.from, Side::Before, Side::Behind) {
            None => Vec::new(),
            Some(Cut::Exact(bytes)) => bytes,
            Some(Cut::Within(prefix)) => {
                unsure.push(prefix);
                prefix.to_vec()
            }
        };
        let to = cut(&range.to, Side::Behind, Side::Before).map(|cut| match cut {
            Cut::Exact(bytes) => bytes,
            Cut::Within(prefix) => {
                unsure.push(prefix);
                // Behind every form that begins so.
                [&prefix[..], &[0xff; LONG_BYTES - LONG_PREFIX_BYTES + 1]].concat()
            }
        });
        Self { from, to, unsure }
    }

    /// Whether `bytes` lie between the bounds.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.from.as_slice() <= bytes && self.to.as_ref().is_none_or(|to| bytes < to.as_slice())
    }

    /// Whether the value of `bytes`, which lie between the bounds, must be compared with them: its bytes do not
    /// tell on which side of a bound it is.
    #[must_use]
    pub fn is_unsure(&self, bytes: &[u8]) -> bool {
        self.unsure.iter().any(|prefix| bytes.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::order_bytes::value_bytes::ValueBytes;
    use crate::value::strategy::any_value;
    use proptest::prelude::*;

    fn any_bound(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Bound<Value>> {
        (value, 0..5_u8).prop_map(|(value, kind)| match kind {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(value),
            _ => Bound::Excluded(value),
        })
    }

    /// Texts around 48 and 64 bytes that begin alike.
    fn long_text() -> impl Strategy<Value = Value> {
        (40..64_usize, "[a\0\u{1}]{0,3}", any::<bool>()).prop_map(|(length, end, is_bytes)| {
            let text = format!("{}{end}", "x".repeat(length));
            if is_bytes { Value::from(text.into_bytes()) } else { Value::from(text) }
        })
    }

    fn check(range: &ValueRange, value: &Value) -> Result<(), TestCaseError> {
        let (bytes, around) = (ValueBytes::of(value), BytesRange::around(range));
        let found = around.contains(bytes.as_slice());
        if range.contains(value) {
            prop_assert!(found, "{:?} {:?}", around, bytes);
        } else {
            prop_assert!(!found || around.is_unsure(bytes.as_slice()), "{:?} {:?}", around, bytes);
        }
        Ok(())
    }

    #[test]
    fn a_bound_of_few_bytes_is_never_unsure() {
        let text = |length: usize| Value::from("x".repeat(length));
        let around =
            |value: Value| BytesRange::around(&ValueRange::new(Bound::Included(value), Bound::Unbounded));
        let entry = ValueBytes::of(&text(100));
        assert!(!around(text(45)).is_unsure(entry.as_slice()), "class, 45 bytes, end");
        assert!(around(text(46)).is_unsure(ValueBytes::of(&text(46)).as_slice()));
        assert!(around(text(100)).is_unsure(entry.as_slice()));
        assert!(!around(text(100)).is_unsure(ValueBytes::of(&text(3)).as_slice()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn what_lies_in_a_range_lies_in_its_bytes(
            from in any_bound(any_value()), to in any_bound(any_value()), value in any_value(),
        ) {
            check(&ValueRange::new(from, to), &value)?;
        }

        #[test]
        fn bounds_fall_between_contents(from in any_bound(any_value()), value in any_value()) {
            if let Bound::Included(edge) | Bound::Excluded(edge) = &from {
                check(&ValueRange::new(from.clone(), Bound::Unbounded), edge)?;
                check(&ValueRange::new(Bound::Unbounded, from.clone()), edge)?;
            }
            check(&ValueRange::new(from, Bound::Unbounded), &value)?;
        }

        #[test]
        fn long_bounds_let_every_value_of_the_range_through(
            from in any_bound(long_text()), to in any_bound(long_text()), value in long_text(),
        ) {
            check(&ValueRange::new(from, to), &value)?;
        }
    }
}
