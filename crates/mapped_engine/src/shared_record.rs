//! Shared record: a change in `live`: its key and stamp stand in a tail or a run, its properties in a block of their own.
//!
//! ```text
//! properties  a block: bytes, then the bytes, in the form of the log
//! ```
//!
//! Records move from tails to runs and from runs to runs; their properties stay where they are until the records are part
//! of a body.

use crate::words::{LineNumber, SharedWords, load_bytes, store_bytes};
use evergraph_graph::bytes::Reader;
use evergraph_graph::error::Result;
use evergraph_graph::mutation::{put_properties, take_properties};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::{Record, RecordKey, Stamp};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};

/// A change with its properties, out of tails and runs, or on its way into them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SharedRecord {
    /// What it is about.
    pub key: RecordKey,
    /// When, and what was done.
    pub stamp: Stamp,
    /// The properties that it carries, in the form of the log; empty if it carries none.
    pub properties: Vec<u8>,
}

impl SharedRecord {
    /// Whether a snapshot at `timestamp` sees it.
    #[must_use]
    pub fn visible_at(&self, timestamp: Timestamp) -> bool {
        self.stamp.timestamp().visible_at(timestamp)
    }

    /// Of a record of the heap.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        Self { key: record.key, stamp: record.stamp, properties: encoded(&record.payload) }
    }

    /// The same as a record of the heap.
    ///
    /// # Errors
    /// What is wrong with the bytes of the properties.
    pub fn decoded(&self) -> std::result::Result<Record, String> {
        let payload = decoded(&self.properties)?;
        Ok(Record { key: self.key, stamp: self.stamp, payload })
    }
}

/// The bytes of properties; none, if there are none.
#[must_use]
pub fn encoded(properties: &Properties) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !properties.is_empty() {
        put_properties(&mut bytes, properties);
    }
    bytes
}

/// The properties of which [`encoded`] made these bytes.
///
/// # Errors
/// What is wrong with the bytes.
pub fn decoded(bytes: &[u8]) -> std::result::Result<Properties, String> {
    if bytes.is_empty() {
        return Ok(Properties::EMPTY);
    }
    let mut reader = Reader::new(bytes);
    let properties = take_properties(&mut reader).map_err(|error| error.to_string())?;
    if reader.is_empty() {
        return Ok(properties);
    }
    Err(format!("{} bytes behind the properties of a record", reader.remaining()))
}

/// How many bytes of properties a read has taken. Blocks don't overlap, so that all of them come to no more than what is open
/// of `live`: more is damage, which would fill the memory otherwise.
#[derive(Debug, Default)]
pub struct PropertyBytes {
    taken: u64,
    possible: u64,
}

impl PropertyBytes {
    /// Counts the properties of a record in the run or tail at `line`.
    ///
    /// # Errors
    /// `corrupt` if there cannot be so many.
    pub fn take(&mut self, shared: &SharedWords, line: LineNumber, record: &SharedRecord) -> Result<()> {
        self.taken += record.properties.len() as u64;
        if self.taken > self.possible {
            self.possible = shared.open_bytes();
        }
        if self.taken > self.possible {
            let possible = self.possible;
            return Err(shared
                .damaged(line, format_args!("properties of more than the {possible} bytes that there are")));
        }
        Ok(())
    }
}

/// The first of records, sorted by (key, stamp), that no commit can have made after the one before it: its stamp, and what is
/// wrong with it. Of keys with one record nothing is known: what they say of the body is not looked at.
pub fn first_inexact(records: impl IntoIterator<Item = (RecordKey, Stamp)>) -> Option<(Stamp, String)> {
    let mut last: Option<(RecordKey, Stamp)> = None;
    records.into_iter().find_map(|(key, stamp)| {
        let (_, before) = last.replace((key, stamp)).filter(|(before, _)| *before == key)?;
        let (before, after) = (before.operation(), stamp.operation());
        let wrong = || (stamp, format!("{after:?} follows {before:?} in the records of one key"));
        (!after.may_follow(before)).then(wrong)
    })
}

/// A record as tails and runs have it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PlacedRecord {
    /// What it is about.
    pub key: RecordKey,
    /// When, and what was done.
    pub stamp: Stamp,
    /// The line of its properties; none if it carries none.
    pub properties: LineNumber,
}

/// Words of a block for the properties of a record.
#[must_use]
pub fn properties_words(properties: &[u8]) -> usize {
    1 + properties.len().div_ceil(8)
}

/// Stores the properties of a record into the words of their block.
pub fn store_properties(words: &[AtomicU64], properties: &[u8]) {
    words[0].store(properties.len() as u64, Ordering::Relaxed);
    store_bytes(&words[1..], properties);
}

/// The properties at `line`, to which a record refers; none if it refers to none.
///
/// # Errors
/// `corrupt` if they don't lie in `live`.
pub fn properties_at(shared: &SharedWords, line: LineNumber) -> Result<Vec<u8>> {
    let Some((words, count)) = words_at(shared, line)? else { return Ok(Vec::new()) };
    Ok(load_bytes(words, 0..count).expect("so many words were asked for"))
}

/// The same at the front of `buffer`, without allocation; `None` if they are longer than that.
///
/// # Errors
/// As [`properties_at`].
pub fn properties_into<'b>(
    shared: &SharedWords,
    line: LineNumber,
    buffer: &'b mut [u8],
) -> Result<Option<&'b [u8]>> {
    let Some((words, count)) = words_at(shared, line)? else { return Ok(Some(&[])) };
    let Some(properties) = buffer.get_mut(..count) else { return Ok(None) };
    for (bytes, word) in properties.chunks_mut(8).zip(words) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..bytes.len()]);
    }
    Ok(Some(properties))
}

/// The words that properties lie in, and how many bytes they have; `None` if a record carries none.
fn words_at(shared: &SharedWords, line: LineNumber) -> Result<Option<(&[AtomicU64], usize)>> {
    if line.is_none() {
        return Ok(None);
    }
    let length = shared.slice(line, 1)?[0].load(Ordering::Relaxed);
    let count = usize::try_from(length).ok();
    let words = count.and_then(|count| count.div_ceil(8).checked_add(1));
    let Some((count, words)) = count.zip(words) else {
        return Err(shared.damaged(line, format_args!("properties of {length} bytes")));
    };
    Ok(Some((&shared.slice(line, words)?[1..], count)))
}
