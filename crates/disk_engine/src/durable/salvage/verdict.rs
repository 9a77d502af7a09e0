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
//! are properties.
//!
//! Where both sides have a gap, each is known through the commit before its gaps, and the edge is as the side has it that
//! tells of a later commit; that is counted as stale. A record of a level is of some commit of its file. So of two sides
//! that differ the one is older for sure whose record is of a commit that the other is known through:
//!
//! ```text
//! out list     Insert in 1 .. 40         gap from 41 on
//! in list      Insert in 1 .. 40         Delete in 41 .. 60        gap from 61 on
//! the edge     is not there: the in list is known through 60
//! ```
//!
//! Commits of files overlap, so that often neither side is older for sure. Then the newer file is believed if it says that the edge
//! is there; if it says that it is not, the two contradict each other, which is counted.

use crate::durable::salvage::gaps::{Age, GapNumber, HidingGap};
use crate::durable::salvage::record::{RecordSide, SavedRecord, SavedValue};
use crate::format::operation::RecordOperation;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::cmp::Reverse;

/// The gaps that may hide records of an item on both sides, each newest first; those of a vertex are `own`.
pub(super) struct HidingGaps<'g> {
    /// At a vertex, or in out lists.
    pub own: &'g [HidingGap],
    /// In in lists; of a vertex the same.
    pub in_list: &'g [HidingGap],
    /// The first age below L0.
    pub first_level: Age,
}

/// What one side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct SideState {
    /// Whether it is there; `None` if no record says anything.
    is_there: Option<bool>,
    /// The file of the record that says so.
    age: Option<Age>,
    /// The last commit that the record may be of which says so.
    last_ts: Option<Timestamp>,
    /// Of the gaps before that, the one whose commits go back furthest.
    gap: Option<HidingGap>,
}

impl SideState {
    /// Whether this side may tell of a later commit than `other` does, whose gaps hide what is newer.
    fn may_be_newer(&self, other: &Self) -> bool {
        let is_hidden = |last_ts: Timestamp| other.gap.is_some_and(|gap| gap.first_ts <= last_ts);
        // Of a Delete that a compaction left out, no record tells when it was.
        self.last_ts.is_none_or(is_hidden)
    }
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
    let before = |side: SideState, gap: HidingGap| match side.is_there {
        Some(true) => Presence::Stale(gap.number),
        _ => Presence::Unknown,
    };
    let older = Age(u32::MAX);
    let newness = |side: SideState| Reverse(side.age.unwrap_or(older));
    let are_contrary = sure(own.is_there) != sure(in_list.is_there);
    match (own.gap, in_list.gap) {
        (None, None) if are_contrary => Presence::Contradicted,
        (None, _) => sure(own.is_there),
        (Some(_), None) => sure(in_list.is_there),
        (Some(own_gap), Some(in_gap)) => match (own.may_be_newer(&in_list), in_list.may_be_newer(&own)) {
            (false, false) if are_contrary => Presence::Contradicted,
            (false, true) => before(in_list, in_gap),
            (true, true) if are_contrary => {
                let (newer, gap) =
                    if newness(in_list) > newness(own) { (in_list, in_gap) } else { (own, own_gap) };
                let is_told = newness(in_list) != newness(own) && newer.is_there == Some(true);
                if is_told { Presence::Stale(gap.number) } else { Presence::Contradicted }
            }
            _ => before(own, own_gap),
        },
    }
}

fn side_state(records: &[SavedRecord], side: RecordSide, hidden: &HidingGaps<'_>) -> SideState {
    let (mine, others) = match side {
        RecordSide::Own => (hidden.own, hidden.in_list),
        RecordSide::InList => (hidden.in_list, hidden.own),
    };
    let hides =
        |gap: &&HidingGap| gap.age >= hidden.first_level || others.iter().any(|other| other.age == gap.age);
    let mut speaking = records.iter().filter(|record| record.age < hidden.first_level || record.side == side);
    let first = speaking.next();
    let is_before = |gap: &&HidingGap| first.is_none_or(|first| gap.age <= first.age);
    SideState {
        is_there: first.map(|first| first.operation != RecordOperation::Delete),
        age: first.map(|first| first.age),
        last_ts: first.map(|first| first.timestamp),
        gap: furthest(mine.iter().filter(hides).filter(is_before)),
    }
}

/// The gap whose commits go back furthest: what lies behind all of them is known through the commit before that.
fn furthest<'g>(gaps: impl Iterator<Item = &'g HidingGap>) -> Option<HidingGap> {
    gaps.min_by_key(|gap| gap.first_ts).copied()
}

/// The properties of an item that is there.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct SavedProperties {
    /// Those that are known.
    pub values: Vec<(KeyId, Value)>,
    /// Whether the record was found that had all of them.
    pub is_whole: bool,
    /// Of the gaps that may hide some, the one whose commits go back furthest; values that older records have may have
    /// been replaced.
    pub gap: Option<GapNumber>,
    /// Whether there are values from behind such a gap.
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
        // Records come from the newest on, so that each lies behind the gaps of those before.
        let gap = furthest(hidden.own.iter().filter(|gap| gap.age <= record.age));
        saved.gap = gap.map(|gap| gap.number);
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
        saved.gap = saved.gap.or(furthest(hidden.own.iter()).map(|gap| gap.number));
    }
    saved.values.sort_unstable_by_key(|(key, _)| *key);
    saved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::salvage::record::RecordSide::{InList, Own};
    use RecordOperation::{Delete, Insert, Set};
    use std::slice::from_ref;

    /// Ages: 1 and 2 are files of L0, 3 and 4 levels. The file of an age has ten commits: of age 1 from 81 to 90, of age 2
    /// from 71 to 80, and so on.
    const FIRST_LEVEL: Age = Age(3);

    fn gap(age: u32, number: GapNumber) -> HidingGap {
        HidingGap { age: Age(age), number, first_ts: Timestamp(91 - 10 * u64::from(age)) }
    }

    fn record(age: u32, side: RecordSide, operation: RecordOperation, values: &[(u16, i64)]) -> SavedRecord {
        let value = |(key, value): &(u16, i64)| (KeyId(*key), SavedValue::Value(Value::I64(*value)));
        let properties = values.iter().map(value).collect();
        let (age, timestamp) = (Age(age), Timestamp(100 - 10 * u64::from(age)));
        SavedRecord { age, timestamp, side, operation, properties }
    }

    fn presence(records: &[SavedRecord], own: &[HidingGap], in_list: &[HidingGap]) -> Presence {
        presence_of(records, &HidingGaps { own, in_list, first_level: FIRST_LEVEL }, true)
    }

    #[test]
    fn the_side_without_a_gap_decides_and_two_gaps_leave_what_was() {
        let both = |age, operation| [record(age, Own, operation, &[]), record(age, InList, operation, &[])];
        let inserted = both(4, Insert);
        let lost = [gap(3, 7)];
        assert_eq!(presence(&inserted, &[], &[]), Presence::There);
        assert_eq!(presence(&inserted, &lost, &[]), Presence::There);
        assert_eq!(presence(&inserted, &lost, &lost), Presence::Stale(7));
        assert_eq!(presence(&[], &lost, &[]), Presence::Absent);
        assert_eq!(presence(&[], &lost, &lost), Presence::Unknown);
        // What is newer than the gaps is sure.
        let deleted = [both(2, Delete), inserted.clone()].concat();
        assert_eq!(presence(&deleted, &lost, &lost), Presence::Absent);
        // The out list lost the Delete of the level; the in list has it.
        let halves = [record(3, InList, Delete, &[]), inserted[0].clone(), inserted[1].clone()];
        assert_eq!(presence(&halves, &lost, &[]), Presence::Absent);
        assert_eq!(presence(&halves, &[], &[]), Presence::Contradicted);
        // A file of L0 speaks for both sides.
        assert_eq!(presence(&[record(2, InList, Insert, &[])], &[gap(2, 1)], &[]), Presence::There);
    }

    /// The out list came first, whatever it was known through: edges came back that newer records had deleted.
    #[test]
    fn of_two_sides_with_gaps_the_one_that_is_known_through_a_later_commit_decides() {
        let of_level = |operation| [record(4, Own, operation, &[]), record(4, InList, operation, &[])];
        let [out_inserted, in_inserted] = of_level(Insert);
        // Both lost a file of L0, and one of them pages of the level below.
        let (shorter, longer) = ([gap(1, 5), gap(3, 7)], [gap(1, 5)]);
        let after = |before, side, operation| {
            let [out, incoming] = of_level(before);
            [record(3, side, operation, &[]), out, incoming]
        };
        assert_eq!(presence(&after(Insert, InList, Delete), &shorter, &longer), Presence::Unknown);
        assert_eq!(presence(&after(Insert, Own, Delete), &longer, &shorter), Presence::Unknown);
        assert_eq!(presence(&after(Delete, InList, Insert), &shorter, &longer), Presence::Stale(5));
        assert_eq!(presence(&after(Delete, Own, Insert), &longer, &shorter), Presence::Stale(5));
        // A compaction left both the Insert and the Delete out.
        assert_eq!(presence(from_ref(&out_inserted), &shorter, &longer), Presence::Unknown);
        assert_eq!(presence(from_ref(&in_inserted), &longer, &shorter), Presence::Unknown);
        assert_eq!(presence(&[record(3, Own, Insert, &[])], &longer, &shorter), Presence::Stale(5));
        // Commits of files overlap, and gaps go back before them.
        let early = HidingGap { first_ts: Timestamp(10), ..gap(3, 7) };
        let deleted = SavedRecord { timestamp: Timestamp(65), ..record(4, InList, Delete, &[]) };
        assert_eq!(
            presence(&[deleted.clone(), out_inserted.clone()], &[early], &[early]),
            Presence::Contradicted
        );
        // A newer file may name an earlier last commit than an older one does.
        let inserted = record(3, Own, Insert, &[]);
        let gaps = [HidingGap { age: Age(3), ..early }];
        assert_eq!(presence(&[inserted, deleted.clone()], &gaps, &gaps), Presence::Stale(7));
        let gone = record(3, Own, Delete, &[]);
        let there = SavedRecord { operation: Insert, ..deleted };
        assert_eq!(presence(&[gone, there], &gaps, &gaps), Presence::Contradicted);
        let deleted = record(4, InList, Delete, &[]);
        // Both are known through one commit.
        assert_eq!(presence(&[out_inserted, deleted], &longer, &longer), Presence::Contradicted);
    }

    /// The report had the commit before the newest gap, although older ones may hide something too.
    #[test]
    fn what_is_stale_names_the_gap_whose_commits_go_back_furthest() {
        let inserted = [record(4, Own, Insert, &[(1, 1)]), record(4, InList, Insert, &[])];
        let lost = [gap(1, 5), gap(3, 7)];
        assert_eq!(presence(&inserted, &lost, &lost), Presence::Stale(7));
        let hidden = HidingGaps { own: &lost, in_list: &lost, first_level: FIRST_LEVEL };
        let saved = properties_of(inserted.to_vec(), &hidden);
        assert!(saved.is_stale && saved.gap == Some(7), "{saved:?}");
        // Behind the newer one alone.
        let newer = vec![record(2, Own, Insert, &[(1, 1)])];
        let saved = properties_of(newer, &hidden);
        assert!(saved.is_stale && saved.gap == Some(5), "{saved:?}");
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
        let gaps = [gap(3, 7)];
        let saved = properties_of(records, &hidden(&gaps));
        let stale = SavedProperties { values, is_whole: true, gap: Some(7), is_stale: true, is_bare: false };
        assert_eq!(saved, stale);
        // The out list's record is lost, and the in list tells that there was one.
        let bare = vec![record(1, Own, Set, &[(1, 3)]), record(2, InList, Insert, &[])];
        let gaps = [gap(2, 5)];
        let saved = properties_of(bare, &hidden(&gaps));
        assert!(saved.is_bare && saved.is_whole && saved.gap == Some(5) && !saved.is_stale);
        // A columns file is missing: older values may have been replaced.
        let mut lost = record(1, Own, Set, &[(1, 3)]);
        lost.properties.push((KeyId(0), SavedValue::AllLost));
        let saved = properties_of(vec![lost, record(4, Own, Insert, &[(1, 1), (2, 2)])], &hidden(&[]));
        assert_eq!((saved.values, saved.is_whole), (vec![(KeyId(1), Value::I64(3))], true));
        let half = properties_of(vec![record(1, Own, Set, &[(1, 3)])], &hidden(&[gap(3, 5)]));
        assert!(!half.is_whole && half.gap == Some(5));
    }
}
