//! History: exact records of random keys, the state at every time, and sources made from parts of it.

use crate::list_records::{Key, MemorySource};
use evergraph_disk_engine::format::operation::RecordOperation::{self, Delete, Insert, Replace, Set};
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_graph::id::TypeId;
use evergraph_graph::timestamp::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

/// Properties that a record has or changes: `None` removes.
pub type Changes = BTreeMap<u8, Option<u32>>;
/// Properties of an item.
pub type Values = BTreeMap<u8, u32>;
/// What is there.
pub type State = BTreeMap<Key, Values>;

/// A record of a history; its place is its timestamp.
#[derive(Clone, Debug)]
pub struct HistoryRecord {
    pub key: Key,
    pub operation: RecordOperation,
    pub changes: Changes,
}

/// Records in the order of their commits, each exact on the state before it.
#[derive(Clone, Debug, Default)]
pub struct History(pub Vec<HistoryRecord>);

pub fn apply(values: &mut Values, changes: &Changes) {
    for (property, value) in changes {
        match value {
            Some(value) => values.insert(*property, *value),
            None => values.remove(property),
        };
    }
}

/// The values of a new item.
pub fn fresh(changes: &Changes) -> Values {
    let mut values = Values::new();
    apply(&mut values, changes);
    values
}

pub fn out_edges() -> Subject {
    Subject::edges(TypeId(0), EdgeSide::Out)
}

fn any_key() -> impl Strategy<Value = Key> {
    let edges = || prop_oneof![3 => Just(out_edges()), 1 => Just(Subject::edges(TypeId(7), EdgeSide::In))];
    prop_oneof![
        1 => prop_oneof![0..3_u32, 4094..4098_u32].prop_map(|vertex| (Subject::VERTICES, 0, vertex, 0)),
        4 => (edges(), prop_oneof![0..2_u32, Just(5000)], 0..8_u32, prop_oneof![4 => Just(0_u16), 1 => 0..3_u16])
            .prop_map(|(subject, vertex, neighbor, discriminator)| (subject, vertex, neighbor, discriminator)),
    ]
}

/// Histories of up to `steps` records.
pub fn any_history(steps: usize) -> impl Strategy<Value = History> {
    // A change of two properties, of which the second may be a removal.
    let step = (any_key(), 0..6_u8, 0..3_u8, 0..3_u8, any::<bool>());
    proptest::collection::vec(step, 0..steps).prop_map(|steps| {
        let (mut state, mut records) = (State::new(), Vec::new());
        for (timestamp, (key, choice, first, second, removes)) in steps.into_iter().enumerate() {
            let value = |property: u8| Some(timestamp as u32 * 10 + u32::from(property));
            let operation = match (state.contains_key(&key), choice) {
                (false, _) => Insert,
                (true, 0..2) => Delete,
                (true, 2) => Replace,
                (true, _) => Set,
            };
            let changed = value(second).filter(|_| operation != Set || !removes);
            let changes = match operation {
                Delete => Changes::new(),
                _ => Changes::from([(first, value(first)), (second, changed)]),
            };
            match operation {
                Delete => drop(state.remove(&key)),
                Set => apply(state.get_mut(&key).unwrap(), &changes),
                Insert | Replace => drop(state.insert(key, fresh(&changes))),
            }
            records.push(HistoryRecord { key, operation, changes });
        }
        History(records)
    })
}

impl History {
    /// What is there after the first `count` records.
    pub fn state(&self, count: usize) -> State {
        let mut state = State::new();
        for record in &self.0[..count] {
            match record.operation {
                Insert => assert!(state.insert(record.key, fresh(&record.changes)).is_none()),
                Replace => assert!(state.insert(record.key, fresh(&record.changes)).is_some()),
                Delete => assert!(state.remove(&record.key).is_some()),
                Set => apply(state.get_mut(&record.key).unwrap(), &record.changes),
            }
        }
        state
    }

    /// A part as a level holds it: one record a key, found by comparing the states around it.
    pub fn level(&self, part: Range<usize>) -> Vec<HistoryRecord> {
        let (before, after) = (self.state(part.start), self.state(part.end));
        let mut by_key: BTreeMap<Key, Vec<&HistoryRecord>> = BTreeMap::new();
        for record in &self.0[part] {
            by_key.entry(record.key).or_default().push(record);
        }
        let mut level = Vec::new();
        for (key, records) in by_key {
            let whole = || after[&key].iter().map(|(property, value)| (*property, Some(*value))).collect();
            let (operation, changes) = match (before.contains_key(&key), after.contains_key(&key)) {
                (false, false) => continue,
                (false, true) => (Insert, whole()),
                (true, false) => (Delete, Changes::new()),
                (true, true) if records.iter().all(|record| record.operation == Set) => {
                    (Set, records.iter().flat_map(|record| record.changes.clone()).collect())
                }
                (true, true) => (Replace, whole()),
            };
            level.push(HistoryRecord { key, operation, changes });
        }
        level
    }

    /// A part as a stamped file holds it: all records, by key, then time.
    pub fn stamped(&self, part: Range<usize>) -> Vec<(Timestamp, HistoryRecord)> {
        let stamp = |at: usize| Timestamp(at as u64 + 1);
        let mut records: Vec<_> = part.map(|at| (stamp(at), self.0[at].clone())).collect();
        records.sort_by_key(|(timestamp, record)| (record.key, *timestamp));
        records
    }
}

/// Sources made from a history, the newest first, and the records of each by rank.
pub struct Sources {
    pub sources: Vec<MemorySource>,
    pub records: Vec<Vec<HistoryRecord>>,
}

impl Sources {
    /// Cuts the history at `cuts`, which ascend. What is before the first lies below; of the `levels_count` parts behind it
    /// levels are made, of the others stamped files.
    pub fn new(history: &History, cuts: &[usize], levels_count: usize, slice_ends: &[bool]) -> Self {
        let (mut sources, mut all_records) = (Vec::new(), Vec::new());
        let ends = |source: usize| {
            move |rank: usize| match slice_ends {
                [] => false,
                ends => ends[(rank + source * 7) % ends.len()],
            }
        };
        for (number, cut) in cuts.windows(2).enumerate() {
            let (records, stamps): (Vec<_>, Option<Vec<_>>) = if number < levels_count {
                (history.level(cut[0]..cut[1]), None)
            } else {
                let (stamps, records) = history.stamped(cut[0]..cut[1]).into_iter().unzip();
                (records, Some(stamps))
            };
            let operations: Vec<_> = records.iter().map(|record| (record.key, record.operation)).collect();
            sources.push(MemorySource::new(&operations, stamps.as_deref(), ends(number)));
            all_records.push(records);
        }
        sources.reverse();
        all_records.reverse();
        Self { sources, records: all_records }
    }
}
