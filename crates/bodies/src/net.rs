//! Net effects: the sum of all records of one key, on top of a body.
//!
//! One home for the rule that point reads, list reads, freezes and merges all follow: take the
//! records of a key in time order, up to the timestamp; what remains is one [`Effect`].

use evergraph_graph::id::KeyId;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use evergraph_storage::record::{Operation, RecordKey, RecordRef};

/// What the records of one key come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It isn't there, whatever the body says.
    Absent,
    /// It is there with exactly these properties, whatever the body says.
    Present(Properties),
    /// It is there as in the body, with these properties changed.
    Changed(Properties),
}

impl Effect {
    /// The effect of a record after `before` (`None`: after the body alone).
    #[must_use]
    #[inline]
    pub fn after(before: Option<Effect>, record: RecordRef<'_>) -> Effect {
        match record.stamp.operation() {
            Operation::Insert | Operation::Replace => Effect::Present(record.payload.clone()),
            Operation::Delete => Effect::Absent,
            Operation::Set => match before {
                None => Effect::Changed(record.payload.clone()),
                Some(Effect::Changed(changes)) => Effect::Changed(changes.followed_by(record.payload)),
                Some(Effect::Present(all)) => {
                    Effect::Present(all.followed_by(record.payload).without_removals())
                }
                Some(Effect::Absent) => unreachable!("records are exact: Set only where something was"),
            },
        }
    }
}

/// One key and what its records come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Net {
    /// What the records are about.
    pub key: RecordKey,
    /// What they come to.
    pub effect: Effect,
    /// What they do to the number of items.
    pub difference: i64,
}

impl Net {
    /// Whether it says anything of properties.
    #[must_use]
    #[inline]
    pub fn has_properties(&self) -> bool {
        match &self.effect {
            Effect::Absent => false,
            Effect::Present(properties) | Effect::Changed(properties) => !properties.is_empty(),
        }
    }
}

/// Net effects of records that are sorted by (key, stamp), one for each key, ascending.
pub fn nets<'a>(records: impl Iterator<Item = RecordRef<'a>>) -> impl Iterator<Item = Net> {
    let mut records = records.peekable();
    std::iter::from_fn(move || {
        let first = records.next()?;
        let mut net =
            Net { key: first.key, effect: Effect::after(None, first), difference: first.stamp.difference() };
        while let Some(record) = records.next_if(|record| record.key == net.key) {
            net.difference += record.stamp.difference();
            net.effect = Effect::after(Some(net.effect), record);
        }
        Some(net)
    })
}

/// What a record says of a property: its value, if there is one; `None` if it leaves it as it was.
#[inline]
fn said(record: RecordRef<'_>, property: KeyId) -> Option<Option<&Value>> {
    match record.stamp.operation() {
        Operation::Insert | Operation::Replace => Some(record.payload.get(property).flatten()),
        Operation::Delete => Some(None),
        Operation::Set => record.payload.get(property),
    }
}

/// What records that are sorted by (key, stamp) say of one property: each key that they speak of, ascending, and
/// its value now. No payload is copied.
pub fn values<'a>(
    records: impl Iterator<Item = RecordRef<'a>>,
    property: KeyId,
) -> impl Iterator<Item = (RecordKey, Option<&'a Value>)> {
    let said = records.filter_map(move |record| Some((record.key, said(record, property)?)));
    // The last word counts.
    let mut said = said.peekable();
    std::iter::from_fn(move || {
        let mut last = said.next()?;
        while let Some(newer) = said.next_if(|newer| newer.0 == last.0) {
            last = newer;
        }
        Some(last)
    })
}

/// The effect of the records of one key, the newest first; `None` if there are no records.
///
/// Cost: reads back to the record that put it there, or deleted it, and copies only what no newer record says.
#[must_use]
pub fn effect_of<'a>(newest_first: impl Iterator<Item = RecordRef<'a>>) -> Option<Effect> {
    let mut changes: Option<Properties> = None;
    for record in newest_first {
        match (record.stamp.operation(), changes) {
            (Operation::Insert | Operation::Replace, None) => {
                return Some(Effect::Present(record.payload.clone()));
            }
            (Operation::Insert | Operation::Replace, Some(later)) => {
                return Some(Effect::Present(record.payload.followed_by(&later).without_removals()));
            }
            (Operation::Delete, None) => return Some(Effect::Absent),
            (Operation::Delete, Some(_)) => {
                unreachable!("records are exact: Set only where something was")
            }
            (Operation::Set, None) => changes = Some(record.payload.clone()),
            (Operation::Set, Some(later)) if later.covers(record.payload) => changes = Some(later),
            (Operation::Set, Some(later)) => changes = Some(record.payload.followed_by(&later)),
        }
    }
    changes.map(Effect::Changed)
}

/// What the records of one key, the newest first, say of one property: its value, if there is one; `None` if they
/// leave it as it is in the body. Cost: reads back to the record that has the last word.
#[must_use]
pub fn value_of<'a>(
    mut newest_first: impl Iterator<Item = RecordRef<'a>>,
    property: KeyId,
) -> Option<Option<&'a Value>> {
    newest_first.find_map(|record| said(record, property))
}

/// Properties after `changes`; both ascend by key.
#[must_use]
pub fn changed(mut stored: Vec<(KeyId, Value)>, changes: &[(KeyId, Option<Value>)]) -> Vec<(KeyId, Value)> {
    for (key, value) in changes {
        let place = stored.binary_search_by_key(key, |property| property.0);
        match (place, value) {
            (Ok(at), Some(value)) => stored[at].1 = value.clone(),
            (Ok(at), None) => drop(stored.remove(at)),
            (Err(at), Some(value)) => stored.insert(at, (*key, value.clone())),
            (Err(_), None) => {}
        }
    }
    stored
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::record::{NO_PROPERTIES, Stamp};

    fn props(list: &[(u16, Option<i64>)]) -> Properties {
        list.iter().map(|(key, value)| (KeyId(*key), value.map(Value::I64))).collect()
    }

    fn effect(list: &[(Operation, &Properties)]) -> Option<Effect> {
        let records = list.iter().enumerate().map(|(at, (operation, payload))| RecordRef {
            key: RecordKey(0),
            stamp: Stamp::new(Timestamp(at as u64 + 1), *operation),
            payload,
        });
        let oldest_first = records.clone().fold(None, |before, record| Some(Effect::after(before, record)));
        let found = effect_of(records.clone().rev());
        assert_eq!(found, oldest_first);
        for key in (1..5).map(KeyId) {
            let wanted = match &found {
                None => None,
                Some(Effect::Absent) => Some(None),
                Some(Effect::Present(all)) => Some(all.get(key).flatten()),
                Some(Effect::Changed(changes)) => changes.get(key),
            };
            assert_eq!(value_of(records.clone().rev(), key), wanted, "{key:?}");
        }
        found
    }

    #[test]
    fn the_last_word_counts_and_sets_add_up() {
        use Operation::*;
        let (a, b) = (props(&[(1, Some(1)), (2, Some(2))]), props(&[(2, None), (3, Some(3))]));
        assert_eq!(effect(&[]), None);
        assert_eq!(effect(&[(Insert, &a), (Delete, &NO_PROPERTIES)]), Some(Effect::Absent));
        let merged = props(&[(1, Some(1)), (3, Some(3))]);
        assert_eq!(effect(&[(Insert, &a), (Set, &b)]), Some(Effect::Present(merged)));
        let changes = props(&[(1, Some(1)), (2, None), (3, Some(3))]);
        assert_eq!(effect(&[(Set, &a), (Set, &b)]), Some(Effect::Changed(changes)));
        assert_eq!(
            effect(&[(Set, &a), (Replace, &b.without_removals())]),
            effect(&[(Insert, &props(&[(3, Some(3))]))])
        );
    }

    #[test]
    fn nets_come_one_a_key_with_the_change_of_the_count() {
        let stamp = |ts, operation| Stamp::new(Timestamp(ts), operation);
        let record = |key, stamp| RecordRef { key: RecordKey(key), stamp, payload: &NO_PROPERTIES };
        let list = [
            record(1, stamp(3, Operation::Delete)),
            record(1, stamp(4, Operation::Insert)),
            record(2, stamp(1, Operation::Insert)),
            record(2, stamp(2, Operation::Delete)),
            record(3, stamp(9, Operation::Delete)),
        ];
        let found: Vec<_> = nets(list.into_iter()).map(|net| (net.key.0, net.difference)).collect();
        assert_eq!(found, [(1, 0), (2, 0), (3, -1)]);
    }

    #[test]
    fn the_last_word_on_one_property_is_its_value() {
        use Operation::*;
        let (both, other, removed) =
            (props(&[(1, Some(5)), (2, Some(6))]), props(&[(2, Some(7))]), props(&[(1, None)]));
        let list: [(u64, Operation, &Properties); 8] = [
            (1, Insert, &both),
            (1, Set, &other),
            (2, Set, &other),
            (3, Set, &both),
            (3, Set, &removed),
            (4, Delete, &NO_PROPERTIES),
            (4, Insert, &both),
            (5, Replace, &other),
        ];
        let records = list.iter().enumerate().map(|(at, (key, operation, payload))| RecordRef {
            key: RecordKey(*key),
            stamp: Stamp::new(Timestamp(at as u64 + 1), *operation),
            payload,
        });
        let found: Vec<_> = values(records, KeyId(1)).map(|(key, value)| (key.0, value.cloned())).collect();
        let five = Some(Value::I64(5));
        assert_eq!(found, [(1, five.clone()), (3, None), (4, five), (5, None)]);
    }
}
