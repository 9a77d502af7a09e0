//! Verdict: whether an item is there and with which properties, by all that was saved of it.
//!
//! ```text
//! newest first      log   L0 csr-9     L0 csr-8            L1           L2
//! out list          -     -            Set w = 1  (gap)    -            Insert w = 0, v = 5
//! in list           -     -            -                   -            Insert
//! the edge          is there, with w = 1; v = 5 is what it was before the gap
//! ```
//!
//! The first record that speaks decides, unless a gap lies before it. Then the other side decides: records are
//! exact, so both say the same of whether an edge is there. A file of L0 has both sides of its commits, so that a
//! gap in one side of it hides neither Inserts nor Deletes while the other side is whole; what it hides for sure
//! are properties. Where both sides have a gap, what is older is believed, and counted as stale.

use crate::durable::salvage::gaps::{Age, GapNumber};
use crate::durable::salvage::record::{RecordSide, SavedRecord, SavedValue};
use crate::format::operation::RecordOperation;
use evergraph_graph::id::KeyId;
use evergraph_graph::value::Value;

/// The gaps that may hide records of an item on both sides, each newest first; those of a vertex are `own`.
pub(super) struct HidingGaps<'g> {
    /// At a vertex, or in out lists.
    pub own: &'g [(Age, GapNumber)],
    /// In in lists; of a vertex the same.
    pub in_list: &'g [(Age, GapNumber)],
    /// The first age below L0.
    pub first_level: Age,
}

/// What one side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SideState {
    /// Whether it is there; `None` if no record says anything.
    is_there: Option<bool>,
    /// The newest gap before that.
    gap: Option<GapNumber>,
}

/// Whether an item is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    /// For sure.
    There,
    /// For sure not.
    Absent,
    /// It was before the gap, by older records.
    Stale(GapNumber),
    /// It was not before the gap.
    Unknown,
    /// Its two sides contradict each other.
    Contradicted,
}

/// Whether the item of `records`, newest first, is there.
pub(super) fn presence_of(records: &[SavedRecord], hidden: &HidingGaps<'_>, has_sides: bool) -> Presence {
    let own = side_state(records, RecordSide::Own, hidden);
    let in_list = if has_sides { side_state(records, RecordSide::InList, hidden) } else { own };
    let sure =
        |is_there: Option<bool>| if is_there == Some(true) { Presence::There } else { Presence::Absent };
    match (own.gap, in_list.gap) {
        (None, None) if sure(own.is_there) != sure(in_list.is_there) => Presence::Contradicted,
        (None, _) => sure(own.is_there),
        (Some(_), None) => sure(in_list.is_there),
        (Some(gap), Some(_)) => match own.is_there.or(in_list.is_there) {
            Some(true) => Presence::Stale(gap),
            _ => Presence::Unknown,
        },
    }
}

fn side_state(records: &[SavedRecord], side: RecordSide, hidden: &HidingGaps<'_>) -> SideState {
    let (mine, others) = match side {
        RecordSide::Own => (hidden.own, hidden.in_list),
        RecordSide::InList => (hidden.in_list, hidden.own),
    };
    let hides = |(age, _): &&(Age, GapNumber)| {
        *age >= hidden.first_level || others.iter().any(|(other, _)| other == age)
    };
    let mut speaking = records.iter().filter(|record| record.age < hidden.first_level || record.side == side);
    let first = speaking.next();
    let gap = mine.iter().find(hides);
    let gap = gap.filter(|(age, _)| first.is_none_or(|first| *age <= first.age));
    let is_there = first.map(|first| first.operation != RecordOperation::Delete);
    SideState { is_there, gap: gap.map(|(_, number)| *number) }
}

/// The properties of an item that is there.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct SavedProperties {
    /// Those that are known.
    pub values: Vec<(KeyId, Value)>,
    /// Whether the record was found that had all of them.
    pub is_whole: bool,
    /// The newest gap that may hide some; values that older records have may have been replaced.
    pub gap: Option<GapNumber>,
    /// Whether there are values from behind that gap.
    pub is_stale: bool,
    /// Whether an in list alone says that it was inserted: its properties are lost.
    pub is_bare: bool,
}

/// What `records`, newest first, say of properties.
pub(super) fn properties_of(records: Vec<SavedRecord>, hidden: &HidingGaps<'_>) -> SavedProperties {
    let mut saved = SavedProperties::default();
    let (mut said, mut is_closed): (Vec<KeyId>, bool) = (Vec::new(), false);
    for record in records {
        let is_flushed = record.age > Age::LOG && record.age < hidden.first_level;
        if record.side == RecordSide::InList && !is_flushed {
            continue;
        }
        let gap = hidden.own.iter().find(|(age, _)| *age <= record.age);
        saved.gap = saved.gap.or(gap.map(|(_, number)| *number));
        if record.operation == RecordOperation::Delete {
            break;
        }
        let is_lost =
            |(_, value): &(KeyId, SavedValue)| matches!(value, SavedValue::Lost | SavedValue::AllLost);
        let (lost, known): (Vec<_>, Vec<_>) = record.properties.into_iter().partition(is_lost);
        // Of what is lost with its keys, older records say nothing that counts.
        let closes = lost.iter().any(|(_, value)| *value == SavedValue::AllLost);
        for (key, value) in known.into_iter().chain(lost) {
            if is_closed || said.contains(&key) {
                continue;
            }
            said.push(key);
            if let SavedValue::Value(value) = value {
                saved.values.push((key, value));
                saved.is_stale |= saved.gap.is_some();
            }
        }
        is_closed |= closes;
        if matches!(record.operation, RecordOperation::Insert | RecordOperation::Replace) {
            saved.is_whole = true;
            // Had the out list of this file said so, it would stand before.
            saved.is_bare = record.side == RecordSide::InList;
            break;
        }
    }
    if !saved.is_whole {
        saved.gap = saved.gap.or(hidden.own.first().map(|(_, number)| *number));
    }
    saved.values.sort_unstable_by_key(|(key, _)| *key);
    saved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::salvage::record::RecordSide::{InList, Own};
    use RecordOperation::{Delete, Insert, Set};
    use evergraph_graph::timestamp::Timestamp;

    /// Ages: 1 and 2 are files of L0, 3 and 4 levels.
    const FIRST_LEVEL: Age = Age(3);

    fn record(age: u32, side: RecordSide, operation: RecordOperation, values: &[(u16, i64)]) -> SavedRecord {
        let value = |(key, value): &(u16, i64)| (KeyId(*key), SavedValue::Value(Value::I64(*value)));
        let properties = values.iter().map(value).collect();
        let (age, timestamp) = (Age(age), Timestamp(100 - u64::from(age)));
        SavedRecord { age, timestamp, side, operation, properties }
    }

    fn presence(records: &[SavedRecord], own: &[(Age, GapNumber)], in_list: &[(Age, GapNumber)]) -> Presence {
        presence_of(records, &HidingGaps { own, in_list, first_level: FIRST_LEVEL }, true)
    }

    #[test]
    fn the_side_without_a_gap_decides_and_two_gaps_leave_what_was() {
        let both = |age, operation| [record(age, Own, operation, &[]), record(age, InList, operation, &[])];
        let inserted = both(4, Insert);
        let gap = [(Age(3), 7)];
        assert_eq!(presence(&inserted, &[], &[]), Presence::There);
        assert_eq!(presence(&inserted, &gap, &[]), Presence::There);
        assert_eq!(presence(&inserted, &gap, &gap), Presence::Stale(7));
        assert_eq!(presence(&[], &gap, &[]), Presence::Absent);
        assert_eq!(presence(&[], &gap, &gap), Presence::Unknown);
        // What is newer than the gaps is sure.
        let deleted = [both(2, Delete), inserted.clone()].concat();
        assert_eq!(presence(&deleted, &gap, &gap), Presence::Absent);
        // The out list lost the Delete of the level; the in list has it.
        let halves = [record(3, InList, Delete, &[]), inserted[0].clone(), inserted[1].clone()];
        assert_eq!(presence(&halves, &gap, &[]), Presence::Absent);
        assert_eq!(presence(&halves, &[], &[]), Presence::Contradicted);
        // A file of L0 speaks for both sides.
        assert_eq!(presence(&[record(2, InList, Insert, &[])], &[(Age(2), 1)], &[]), Presence::There);
    }

    #[test]
    fn properties_come_from_the_newest_that_names_them_and_those_behind_a_gap_are_stale() {
        let records = vec![
            record(0, Own, Set, &[(1, 10)]),
            record(4, Own, Insert, &[(1, 1), (2, 2)]),
            record(4, InList, Insert, &[]),
        ];
        let hidden = |own| HidingGaps { own, in_list: &[], first_level: FIRST_LEVEL };
        let values = vec![(KeyId(1), Value::I64(10)), (KeyId(2), Value::I64(2))];
        let saved = properties_of(records.clone(), &hidden(&[]));
        assert_eq!(saved, SavedProperties { values: values.clone(), is_whole: true, ..Default::default() });
        let saved = properties_of(records, &hidden(&[(Age(3), 7)]));
        let stale = SavedProperties { values, is_whole: true, gap: Some(7), is_stale: true, is_bare: false };
        assert_eq!(saved, stale);
        // The out list's record is lost, and the in list tells that there was one.
        let bare = vec![record(1, Own, Set, &[(1, 3)]), record(2, InList, Insert, &[])];
        let saved = properties_of(bare, &hidden(&[(Age(2), 5)]));
        assert!(saved.is_bare && saved.is_whole && saved.gap == Some(5) && !saved.is_stale);
        // A columns file is missing: older values may have been replaced.
        let mut lost = record(1, Own, Set, &[(1, 3)]);
        lost.properties.push((KeyId(0), SavedValue::AllLost));
        let saved = properties_of(vec![lost, record(4, Own, Insert, &[(1, 1), (2, 2)])], &hidden(&[]));
        assert_eq!((saved.values, saved.is_whole), (vec![(KeyId(1), Value::I64(3))], true));
        let half = properties_of(vec![record(1, Own, Set, &[(1, 3)])], &hidden(&[(Age(3), 5)]));
        assert!(!half.is_whole && half.gap == Some(5));
    }
}
