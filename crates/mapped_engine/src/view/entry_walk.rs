//! Entry walk: the entries of an index that a snapshot sees, in their order, from body and records.
//!
//! ```text
//! body      sorted                          read entry by entry
//! runs      sorted by the keys of entries   read a window at a time: all records up to the key at its end, the horizon
//! tail      in commit order                 sorted once
//! ```
//!
//! Records out of the range are read, but not kept: one entry can cost a look at all records of its key.
//!
//! Of the records of one entry the newest that is seen counts, whatever the body has. Up to the horizon all of them are known,
//! so that entries of the body can be told to be there; what lies beyond waits for the next window.

use crate::entries::entry::{ENTRY_BYTES_MAX, key_of};
use crate::entries::entry_body::EntryCursor;
use crate::run::RunRecords;
use crate::shared_record::SharedRecord;
use crate::view::layer::Layer;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::index::entry_range::EntryOrder;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use std::borrow::Cow;
use std::ops::Range;

/// Records of a run in the first window, and in any.
const WINDOW: usize = 64;
const WINDOW_MAX: usize = 4096;

/// The records of a run that are left.
#[derive(Debug)]
struct RunWindow<'l> {
    run: RunRecords<'l>,
    left: Range<usize>,
}

/// See the file's caption.
#[derive(Debug)]
pub struct LayerWalk<'l> {
    layer: &'l Layer<'l>,
    order: EntryOrder,
    timestamp: Timestamp,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    body: EntryCursor<'l>,
    runs: Vec<RunWindow<'l>>,
    /// Records of the tail that are left, the next one last.
    tail: Vec<SharedRecord>,
    window: usize,
    /// What records say of entries up to the horizon, the next one last.
    changes: Vec<(Vec<u8>, bool)>,
    /// Records with keys up to this one were taken; none if all were.
    horizon: Option<RecordKey>,
}

impl<'l> LayerWalk<'l> {
    /// The entries that are not less than `low`, and less than `high`.
    ///
    /// # Errors
    /// `corrupt` if the body or `live` is damaged.
    pub fn new(layer: &'l Layer<'l>, low: Vec<u8>, high: Option<Vec<u8>>, order: EntryOrder) -> Result<Self> {
        let body = layer.body();
        let cursor = EntryCursor::new(body.entries()?, &low, high.as_deref());
        let body = cursor.map_err(|damage| layer.unreadable_body(damage))?;
        let keys = key_of(&low)..=high.as_deref().map_or(RecordKey(u64::MAX), key_of);
        let (mut runs, mut tail) = (Vec::new(), Vec::new());
        for run in layer.runs() {
            let run = run?;
            let left = run.places(&keys);
            if !left.is_empty() {
                runs.push(RunWindow { run, left });
            }
        }
        if let Some(records) = layer.tail()?.filter(|_| !planted(Bug::EntryTailSkipped)) {
            for (at, (key, stamp)) in records.stamps().enumerate() {
                if keys.contains(&key) && layer.sees(stamp) {
                    let record = records.record(at)?;
                    let entry = checked_entry(layer, key, Some(&record.properties))?;
                    if is_between(entry, &low, high.as_deref()) {
                        tail.push(record);
                    }
                }
            }
            tail.sort_unstable();
            if order == EntryOrder::Ascending {
                tail.reverse();
            }
        }
        let timestamp = layer.timestamp();
        let (window, changes, horizon) = (WINDOW, Vec::new(), None);
        let mut walk =
            Self { layer, order, timestamp, low, high, body, runs, tail, window, changes, horizon };
        if !walk.runs.is_empty() || !walk.tail.is_empty() {
            walk.next_window()?;
        }
        Ok(walk)
    }

    /// The next entry.
    ///
    /// # Errors
    /// As [`LayerWalk::new`].
    pub fn next_entry(&mut self) -> Result<Option<Cow<'l, [u8]>>> {
        loop {
            let stored = match self.order {
                EntryOrder::Ascending => self.body.first(),
                EntryOrder::Descending => self.body.last(),
            };
            let stored = stored.map_err(|damage| self.layer.unreadable_body(damage))?;
            let is_known =
                |entry: &[u8]| self.horizon.is_none_or(|horizon| !self.is_beyond(key_of(entry), horizon));
            if self.changes.is_empty() && self.horizon.is_some() && !stored.is_some_and(is_known) {
                self.next_window()?;
                continue;
            }
            let changed = self.changes.last().map(|change| &change.0[..]);
            let is_stored_next = match (stored, changed, self.order) {
                (Some(stored), Some(changed), EntryOrder::Ascending) => stored < changed,
                (Some(stored), Some(changed), EntryOrder::Descending) => stored > changed,
                (stored, ..) => stored.is_some(),
            };
            if let Some(stored) = stored.filter(|_| is_stored_next) {
                self.skip_stored();
                return Ok(Some(Cow::Borrowed(stored)));
            }
            let Some((changed, is_there)) = self.changes.pop() else { return Ok(None) };
            if stored == Some(&changed[..]) {
                self.skip_stored();
            }
            if is_there {
                return Ok(Some(Cow::Owned(changed)));
            }
        }
    }

    fn skip_stored(&mut self) {
        match self.order {
            EntryOrder::Ascending => self.body.skip_first(),
            EntryOrder::Descending => self.body.skip_last(),
        }
    }

    fn is_beyond(&self, key: RecordKey, horizon: RecordKey) -> bool {
        match self.order {
            EntryOrder::Ascending => key > horizon,
            EntryOrder::Descending => key < horizon,
        }
    }

    /// Takes the records up to the next horizon.
    fn next_window(&mut self) -> Result<()> {
        let ends = self.runs.iter().filter_map(|run| run.window_end(self.window, self.order));
        self.horizon = match self.order {
            EntryOrder::Ascending => ends.min(),
            EntryOrder::Descending => ends.max(),
        };
        self.window = (4 * self.window).min(WINDOW_MAX);
        let (order, horizon, timestamp) = (self.order, self.horizon, self.timestamp);
        let is_due = |key: RecordKey| match (horizon, order) {
            (None, _) => true,
            (Some(horizon), EntryOrder::Ascending) => key <= horizon,
            (Some(horizon), EntryOrder::Descending) => key >= horizon,
        };
        let mut changes: Vec<(Vec<u8>, Stamp)> = Vec::new();
        let mut buffer = [0; ENTRY_BYTES_MAX];
        for run in &mut self.runs {
            while let Some(at) = run.next(order)
                && let (key, stamp) = run.run.stamp(at)
                && is_due(key)
            {
                run.skip(order);
                if stamp.timestamp().visible_at(timestamp) {
                    let entry = run.run.properties_into(at, &mut buffer)?;
                    let entry = checked_entry(self.layer, key, entry)?;
                    if is_between(entry, &self.low, self.high.as_deref()) {
                        changes.push((entry.to_vec(), stamp));
                    }
                }
            }
        }
        while let Some(record) = self.tail.pop_if(|record| is_due(record.key)) {
            changes.push((record.properties, record.stamp));
        }
        // Of those of one entry the newest remains; what comes next is the last one.
        changes.sort_unstable_by(|a, b| b.cmp(a));
        changes.dedup_by(|later, first| later.0 == first.0);
        if order == EntryOrder::Descending {
            changes.reverse();
        }
        let is_there = |stamp: Stamp| stamp.operation() != Operation::Delete;
        self.changes = changes.into_iter().map(|(entry, stamp)| (entry, is_there(stamp))).collect();
        Ok(())
    }
}

/// The entry of a record with this key; `None` is one that is longer than any.
fn checked_entry<'e>(layer: &Layer<'_>, key: RecordKey, entry: Option<&'e [u8]>) -> Result<&'e [u8]> {
    let entry = entry.filter(|entry| entry.len() <= ENTRY_BYTES_MAX && key_of(entry) == key);
    entry.ok_or_else(|| layer.damaged("an entry of an index expected"))
}

/// Whether an entry is not less than `low`, and less than `high`.
fn is_between(entry: &[u8], low: &[u8], high: Option<&[u8]>) -> bool {
    entry >= low && high.is_none_or(|high| entry < high)
}

impl RunWindow<'_> {
    /// The key at the end of a window of so many records, unless these are all.
    fn window_end(&self, records: usize, order: EntryOrder) -> Option<RecordKey> {
        if self.left.len() <= records {
            return None;
        }
        let at = match order {
            EntryOrder::Ascending => self.left.start + records - 1,
            EntryOrder::Descending => self.left.end - records,
        };
        Some(self.run.stamp(at).0)
    }

    fn next(&self, order: EntryOrder) -> Option<usize> {
        let at = match order {
            EntryOrder::Ascending => self.left.start,
            EntryOrder::Descending => self.left.end.wrapping_sub(1),
        };
        (!self.left.is_empty()).then_some(at)
    }

    fn skip(&mut self, order: EntryOrder) {
        match order {
            EntryOrder::Ascending => self.left.start += 1,
            EntryOrder::Descending => self.left.end -= 1,
        }
    }
}
