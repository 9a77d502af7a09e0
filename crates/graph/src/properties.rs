//! Property changes of one vertex or edge: the content of a write and of a record.

use crate::id::KeyId;
use crate::value::Value;
use std::sync::Arc;

/// One change: a key, and its new value or its removal.
pub type PropertyChange = (KeyId, Option<Value>);

/// Changes to the properties of one item: sorted by key, one entry a key; `None` removes.
///
/// Shared, not copied, between a transaction, its log record and the segment's record. The empty
/// list owns no memory.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Properties(Option<Arc<[PropertyChange]>>);

impl Properties {
    /// No changes.
    pub const EMPTY: Self = Self(None);

    /// Sorts `changes`; of two entries for one key the later stays.
    #[must_use]
    pub fn new(mut changes: Vec<PropertyChange>) -> Self {
        Self::drained(&mut changes)
    }

    /// As [`Properties::new`], and leaves `changes` empty, with its memory.
    #[must_use]
    pub fn drained(changes: &mut Vec<PropertyChange>) -> Self {
        if changes.is_empty() {
            return Self::EMPTY;
        }
        if !changes.is_sorted_by(|a, b| a.0 < b.0) {
            changes.reverse();
            changes.sort_by_key(|change| change.0);
            changes.dedup_by_key(|change| change.0);
        }
        Self(Some(changes.drain(..).collect()))
    }

    /// The changes, sorted by key.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[PropertyChange] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The change of `key`: `None` if it isn't mentioned, `Some(None)` if it is removed.
    #[must_use]
    pub fn get(&self, key: KeyId) -> Option<Option<&Value>> {
        let changes = self.as_slice();
        let at = changes.binary_search_by_key(&key, |change| change.0).ok()?;
        Some(changes[at].1.as_ref())
    }

    /// Whether `self` and `other` mention a key in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        other.as_slice().iter().any(|(key, _)| self.get(*key).is_some())
    }

    /// Whether `self` mentions every key of `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.as_slice().iter().all(|(key, _)| self.get(*key).is_some())
    }

    /// These changes followed by `later` ones.
    #[must_use]
    pub fn followed_by(&self, later: &Self) -> Self {
        if self.is_empty() {
            return later.clone();
        }
        if later.is_empty() {
            return self.clone();
        }
        Self::new(self.as_slice().iter().chain(later.as_slice()).cloned().collect())
    }

    /// As the values of a new item: removals are left out.
    #[must_use]
    pub fn without_removals(&self) -> Self {
        if self.as_slice().iter().all(|change| change.1.is_some()) {
            return self.clone();
        }
        Self::new(self.as_slice().iter().filter(|change| change.1.is_some()).cloned().collect())
    }

    /// Approximate bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let values = self.as_slice();
        let heap: usize = values.iter().filter_map(|change| change.1.as_ref()).map(Value::heap_bytes).sum();
        if values.is_empty() { 0 } else { 16 + std::mem::size_of_val(values) + heap }
    }
}

impl FromIterator<PropertyChange> for Properties {
    fn from_iter<I: IntoIterator<Item = PropertyChange>>(changes: I) -> Self {
        Self::new(changes.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(list: &[(u16, Option<i64>)]) -> Properties {
        list.iter().map(|(key, value)| (KeyId(*key), value.map(Value::I64))).collect()
    }

    #[test]
    fn the_later_change_of_a_key_stays() {
        let both = changes(&[(2, Some(1)), (1, Some(5)), (2, None)]);
        assert_eq!(both.as_slice(), changes(&[(1, Some(5)), (2, None)]).as_slice());
        let followed =
            changes(&[(1, Some(5)), (2, Some(1))]).followed_by(&changes(&[(2, None), (3, Some(3))]));
        assert_eq!(followed, changes(&[(1, Some(5)), (2, None), (3, Some(3))]));
    }

    #[test]
    fn a_removed_key_differs_from_a_key_that_is_not_mentioned() {
        let some = changes(&[(1, None)]);
        assert_eq!(some.get(KeyId(1)), Some(None));
        assert_eq!(some.get(KeyId(2)), None);
        assert_eq!(some.without_removals(), Properties::EMPTY);
    }
}
