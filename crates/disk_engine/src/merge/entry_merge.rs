//! Entry merge: one sorted sequence of index entries from several. The later record of an entry stays.
//!
//! ```text
//! sources, newest first     L0   (a, v1)-  (b, v2)+
//!                           L1   (a, v1)+  (c, v3)-
//! output                         (a, v1)-  (b, v2)+  (c, v3)-
//! ```
//!
//! An Insert and the Delete after it are a Delete: the scan that an index is built from ends up below commits that it
//! saw, so what lies below may have the Insert once more.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::merge::delete_rule::DeleteRule;
use crate::merge::merge_error::MergeError;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use std::cmp::Ordering;

/// A record of an index. Ordered by subject, value and item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryRecord<'a> {
    /// The index.
    pub subject: Subject,
    /// The order bytes of the value.
    pub value: &'a [u8],
    /// The order bytes of the item.
    pub item: &'a [u8],
    /// Insert or Delete.
    pub operation: RecordOperation,
    /// When it was committed; `None` in a source without stamps, which has one record a key.
    pub timestamp: Option<Timestamp>,
}

/// Entries in key order; records of one key from the oldest to the newest.
pub trait EntrySource {
    /// Why it cannot be read.
    type Error;

    /// The record in front; `None` at the end.
    fn entry(&self) -> Option<EntryRecord<'_>>;

    /// Goes on behind the record in front.
    ///
    /// # Errors
    /// If what follows cannot be read.
    fn advance(&mut self) -> Result<(), Self::Error>;
}

/// Merges sources of entries.
#[derive(Debug)]
pub struct EntryMerge<S> {
    /// The newest first.
    sources: Vec<S>,
    until: Timestamp,
    deletes: DeleteRule,
    /// The key that is being merged, or was handed out last.
    subject: Subject,
    value: Vec<u8>,
    item: Vec<u8>,
}

impl<S: EntrySource> EntryMerge<S> {
    /// Merges `sources`, which stand at their first entries, the newest source first. Of stamped records those
    /// through `until` count.
    #[must_use]
    pub fn new(sources: Vec<S>, until: Timestamp, deletes: DeleteRule) -> Self {
        let (value, item) = (Vec::new(), Vec::new());
        Self { sources, until, deletes, subject: Subject::VERTICES, value, item }
    }

    /// The next entry, in key order, with the operation that stays; `None` at the end. It has no timestamp.
    ///
    /// Cost: a comparison with each source for each key.
    ///
    /// # Errors
    /// Those of the sources; [`MergeError::Disordered`]; [`MergeError::Inexact`] for what is neither Insert nor
    /// Delete. An error ends the merge.
    pub fn next_entry(&mut self) -> Result<Option<EntryRecord<'_>>, MergeError<S::Error>> {
        loop {
            let fronts = self.sources.iter().filter_map(EntrySource::entry);
            let Some(least) = fronts.min_by(|left, right| compare(left, right)) else { return Ok(None) };
            self.subject = least.subject;
            self.value.clear();
            self.value.extend_from_slice(least.value);
            self.item.clear();
            self.item.extend_from_slice(least.item);
            let operation = match self.take_key()? {
                None => continue,
                Some(RecordOperation::Delete) if self.deletes.drops(self.subject) => continue,
                Some(operation) => operation,
            };
            let (value, item) = (self.value.as_slice(), self.item.as_slice());
            return Ok(Some(EntryRecord { subject: self.subject, value, item, operation, timestamp: None }));
        }
    }

    /// The sources, wherever they stand.
    #[must_use]
    pub fn into_sources(self) -> Vec<S> {
        self.sources
    }

    /// Takes the records of the key from all sources; what they come to, if any counts.
    fn take_key(&mut self) -> Result<Option<RecordOperation>, MergeError<S::Error>> {
        let mut net = None;
        for (number, source) in self.sources.iter_mut().enumerate().rev() {
            while let Some(record) = source.entry() {
                let key = (self.subject, self.value.as_slice(), self.item.as_slice());
                match (record.subject, record.value, record.item).cmp(&key) {
                    Ordering::Greater => break,
                    // The key was the least of all.
                    Ordering::Less => {
                        return Err(MergeError::Disordered { source: number, subject: record.subject });
                    }
                    Ordering::Equal => {}
                }
                if record.timestamp.is_none_or(|timestamp| timestamp.visible_at(self.until)) {
                    if !matches!(record.operation, RecordOperation::Insert | RecordOperation::Delete) {
                        let (subject, later) = (record.subject, record.operation);
                        let (vertex, neighbor) = (VertexId(0), VertexId(0));
                        return Err(MergeError::Inexact { subject, vertex, neighbor, before: None, later });
                    }
                    net = later_entry(net, record.operation);
                }
                source.advance().map_err(|error| MergeError::Source { source: number, error })?;
            }
        }
        Ok(net)
    }
}

fn compare(left: &EntryRecord<'_>, right: &EntryRecord<'_>) -> Ordering {
    (left.subject, left.value, left.item).cmp(&(right.subject, right.value, right.item))
}

/// What records of an entry come to with one more.
fn later_entry(before: Option<RecordOperation>, later: RecordOperation) -> Option<RecordOperation> {
    use RecordOperation::{Delete, Insert};
    let cancels = before == Some(Insert) && later == Delete && planted(Bug::IndexEntryCancelled);
    (!cancels).then_some(later)
}
