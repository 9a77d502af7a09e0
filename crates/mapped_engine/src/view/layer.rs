//! Layer: what a snapshot sees of one segment: a body, and the records on top of it.
//!
//! Records are read in two ways: keys and stamps alone say what is there; properties are read where they are asked for.

use crate::body_store::stored_body::StoredBody;
use crate::extents::blockwise_payload::PayloadDamage;
use crate::files::segment_id::SegmentId;
use crate::run::{RunRecords, merge_sorted_runs};
use crate::shared_record::{SharedRecord, first_inexact};
use crate::tail::TailRecords;
use crate::version::{ALL_KEYS, SegmentVersion};
use crate::words::{LineNumber, SharedWords};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::{Operation, Record, RecordKey, RecordRef, Stamp};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

/// A body and what is newer, as a snapshot sees them.
#[derive(Clone, Debug)]
pub struct Layer<'a> {
    segment: SegmentId,
    body: Arc<StoredBody>,
    /// Where records lie; `None` if there can be none.
    shared: Option<&'a SharedWords>,
    version: SegmentVersion,
    timestamp: Timestamp,
}

impl<'a> Layer<'a> {
    /// The layer of a version in `live`.
    #[must_use]
    pub fn new(
        segment: SegmentId,
        body: Arc<StoredBody>,
        shared: &'a SharedWords,
        version: SegmentVersion,
        timestamp: Timestamp,
    ) -> Self {
        Self { segment, body, shared: Some(shared), version, timestamp }
    }

    /// A body alone, exact at `base`, that no version names.
    #[must_use]
    pub fn of_body(segment: SegmentId, body: Arc<StoredBody>, base: Timestamp) -> Self {
        let version = SegmentVersion { base, ..SegmentVersion::default() };
        Self { segment, body, shared: None, version, timestamp: base }
    }

    /// The same of a segment that has hubs, which its source finds by their rows.
    #[must_use]
    pub fn with_hubs(mut self) -> Self {
        self.version.hubs = LineNumber(1);
        self
    }

    /// Which segment.
    #[must_use]
    pub fn segment(&self) -> SegmentId {
        self.segment
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &Arc<StoredBody> {
        &self.body
    }

    /// The version that it is of.
    #[must_use]
    pub fn version(&self) -> &SegmentVersion {
        &self.version
    }

    /// What is seen.
    pub(crate) fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    fn has_records(&self) -> bool {
        !self.version.tail.is_none() || !self.version.runs[0].is_none()
    }

    pub(crate) fn sees(&self, stamp: Stamp) -> bool {
        stamp.timestamp().visible_at(self.timestamp)
    }

    pub(crate) fn runs(&self) -> impl DoubleEndedIterator<Item = Result<RunRecords<'a>>> + use<'a> {
        let (shared, runs) = (self.shared, self.version.runs());
        shared.into_iter().flat_map(move |shared| runs.clone().map(move |line| RunRecords::at(shared, line)))
    }

    pub(crate) fn tail(&self) -> Result<Option<TailRecords<'a>>> {
        let tail = self.version.tail;
        let shared = self.shared.filter(|_| !tail.is_none());
        shared.map(|shared| TailRecords::at(shared, tail)).transpose()
    }

    /// How many records lie on top, whoever sees them.
    ///
    /// # Errors
    /// `corrupt` if `live` is damaged.
    pub fn record_count(&self) -> Result<usize> {
        let mut count = self.tail()?.map_or(0, |tail| tail.count());
        for run in self.runs() {
            count += run?.count();
        }
        Ok(count)
    }

    /// Keys and stamps of the records of `keys`, by (key, stamp). Cost: two binary searches in each run and a look at each
    /// record of the tail; no allocation if there is none.
    ///
    /// # Errors
    /// As [`Layer::record_count`].
    pub fn stamps(&self, keys: &RangeInclusive<RecordKey>) -> Result<Vec<(RecordKey, Stamp)>> {
        let mut found = Vec::new();
        if !self.has_records() {
            return Ok(found);
        }
        for run in self.runs() {
            let run = run?;
            found.extend(run.places(keys).map(|at| run.stamp(at)).filter(|(_, stamp)| self.sees(*stamp)));
        }
        if let Some(tail) = self.tail()? {
            found.extend(tail.stamps().filter(|(key, stamp)| keys.contains(key) && self.sees(*stamp)));
        }
        merge_sorted_runs(&mut found);
        Ok(found)
    }

    /// The records of `keys`, by (key, stamp), with their properties.
    ///
    /// # Errors
    /// As [`Layer::record_count`].
    pub fn records(&self, keys: &RangeInclusive<RecordKey>) -> Result<Vec<Record>> {
        let Some(shared) = self.shared.filter(|_| self.has_records()) else { return Ok(Vec::new()) };
        let found = self.version.records(shared, keys, self.timestamp)?;
        let decode = |record: SharedRecord| record.decoded().map_err(|problem| self.damaged(problem));
        if let Some((_, problem)) = first_inexact(found.iter().map(|record| (record.key, record.stamp))) {
            return Err(self.damaged(problem));
        }
        found.into_iter().map(decode).collect()
    }

    /// All records.
    ///
    /// # Errors
    /// As [`Layer::record_count`].
    pub fn all_records(&self) -> Result<Vec<Record>> {
        self.records(&ALL_KEYS)
    }

    /// The newest record's stamp of a key, if there is one. Cost: as [`Layer::stamps`], without allocation.
    ///
    /// # Errors
    /// As [`Layer::record_count`].
    pub fn newest_stamp(&self, key: RecordKey) -> Result<Option<Stamp>> {
        if !self.has_records() {
            return Ok(None);
        }
        if let Some(tail) = self.tail()?
            && let Some((_, stamp)) = tail.stamps().rfind(|(own, stamp)| *own == key && self.sees(*stamp))
        {
            return Ok(Some(stamp));
        }
        // Runs that were merged out of order are not in the order of time.
        let mut newest = None;
        for run in self.runs() {
            let run = run?;
            let mut stamps = run.places(&key.only()).map(|at| run.stamp(at).1);
            newest = newest.max(stamps.rfind(|stamp| self.sees(*stamp)));
        }
        Ok(newest)
    }

    /// Whether an item is there, which the body has if `stored` says so.
    ///
    /// # Errors
    /// As [`Layer::record_count`]; those of `stored`.
    pub fn is_there(&self, key: RecordKey, stored: impl FnOnce() -> Result<bool>) -> Result<bool> {
        match self.newest_stamp(key)? {
            Some(stamp) => Ok(stamp.operation() != Operation::Delete),
            None => stored(),
        }
    }

    /// By how many records change the items of each key, whose stamps ascend: 1 or -1, ascending by key; keys whose records
    /// cancel out are left out.
    #[must_use]
    pub fn differences(stamps: &[(RecordKey, Stamp)]) -> Vec<(RecordKey, i64)> {
        let mut found: Vec<(RecordKey, i64)> = Vec::with_capacity(stamps.len());
        for (key, stamp) in stamps {
            match found.last_mut() {
                Some(last) if last.0 == *key => last.1 += stamp.difference(),
                Some(last) if last.1 == 0 => *last = (*key, stamp.difference()),
                _ => found.push((*key, stamp.difference())),
            }
        }
        found.pop_if(|last| last.1 == 0);
        found
    }

    /// The error of records that no commit can have made.
    #[must_use]
    pub fn damaged(&self, problem: impl Display) -> Error {
        let path = self.shared.map_or(Path::new("live"), SharedWords::path).display();
        Error::new(ErrorKind::Corrupt, format!("{path}: a record of {} is damaged: {problem}", self.segment))
    }

    /// The error of a body, or of entries in it and beside it, that are not what was written.
    #[must_use]
    pub(crate) fn damaged_body(&self, problem: &dyn Display) -> Error {
        match self.body.extent() {
            Some(extent) => extent.corrupt(format!("{}: {problem}", self.segment)).into(),
            None => self.damaged(problem),
        }
    }

    /// The error of entries of the body that cannot be read.
    #[must_use]
    pub(crate) fn unreadable_body(&self, damage: PayloadDamage) -> Error {
        match (self.body.extent(), damage) {
            (Some(extent), damage @ PayloadDamage::Checksum { .. }) => extent.unreadable(damage).into(),
            (_, damage) => self.damaged_body(&damage),
        }
    }

    /// By how many the records of `keys` change the number of items.
    ///
    /// # Errors
    /// As [`Layer::record_count`].
    pub fn difference(&self, keys: &RangeInclusive<RecordKey>) -> Result<i64> {
        let mut difference = 0;
        if !self.has_records() {
            return Ok(0);
        }
        let own = |stamp: Stamp| if self.sees(stamp) { stamp.difference() } else { 0 };
        for run in self.runs() {
            let run = run?;
            difference += run.places(keys).map(|at| own(run.stamp(at).1)).sum::<i64>();
        }
        if let Some(tail) = self.tail()? {
            let of_keys = tail.stamps().filter(|(key, _)| keys.contains(key));
            difference += of_keys.map(|(_, stamp)| own(stamp)).sum::<i64>();
        }
        Ok(difference)
    }

    /// `stored` items of `keys` in the body come to so many with the records on top.
    ///
    /// # Errors
    /// As [`Layer::record_count`]; `corrupt` if they come to fewer than none.
    pub fn count(&self, keys: &RangeInclusive<RecordKey>, stored: usize) -> Result<u64> {
        let count = stored as i64 + self.difference(keys)?;
        u64::try_from(count).map_err(|_| {
            let text = format!("{} has {count} items: `live` is damaged", self.segment);
            Error::new(ErrorKind::Corrupt, text)
        })
    }

    /// Its hubs' line.
    #[must_use]
    pub fn hubs(&self) -> LineNumber {
        self.version.hubs
    }
}

/// A record of the heap where it lies.
#[must_use]
pub fn record_ref(record: &Record) -> RecordRef<'_> {
    RecordRef { key: record.key, stamp: record.stamp, payload: &record.payload }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::run::{run_words, store_run};
    use crate::shared_record::PlacedRecord;
    use crate::words::RegionSizes;
    use evergraph_graph::id::GroupId;

    /// All records of a segment whose only key has these operations, one a commit.
    fn read(operations: &[Operation]) -> Result<Vec<Record>> {
        let shared = SharedWords::on_heap(RegionSizes::new(12, 12).expect("sizes of a test"));
        let run = LineNumber(8);
        let record = |(at, operation): (usize, &Operation)| PlacedRecord {
            key: RecordKey::vertex(3),
            stamp: Stamp::new(Timestamp(at as u64 + 1), *operation),
            properties: LineNumber::NONE,
        };
        let records: Vec<PlacedRecord> = operations.iter().enumerate().map(record).collect();
        store_run(shared.slice(run, run_words(records.len())).expect("it is on the heap"), &records);
        let mut version = SegmentVersion::default();
        version.runs[0] = run;
        let (segment, body) = (SegmentId::vertices(GroupId(0)), Arc::new(StoredBody::empty()));
        Layer::new(segment, body, &shared, version, Timestamp(9)).all_records()
    }

    /// Folding such records into one effect panicked.
    #[test]
    fn records_that_do_not_follow_from_each_other_are_damage() {
        use Operation::{Delete, Insert, Replace, Set};
        for sound in [&[Insert, Set, Replace, Delete, Insert, Delete][..], &[Set, Delete], &[Delete]] {
            assert_eq!(read(sound).unwrap().len(), sound.len());
        }
        for damaged in [[Delete, Set], [Delete, Delete], [Delete, Replace], [Insert, Insert], [Set, Insert]] {
            let error = read(&damaged).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains("a record of the vertices of group 0 is damaged"), "{error}");
        }
    }
}
