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

use crate::format::entries::entry::EntryRecord;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::merge::delete_rule::DeleteRule;
use crate::merge::merge_error::MergeError;
use evergraph_graph::id::VertexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use std::cmp::Ordering;

/// Entries by subject, value and item; records of one entry from the oldest to the newest. A source without stamps has
/// one record an entry.
pub trait EntrySource {
    /// Why it cannot be read.
    type Error;

    /// The index and the record in front; `None` at the end.
    fn entry(&self) -> Option<(Subject, EntryRecord<'_>)>;

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
    item: ItemId,
}

impl<S: EntrySource> EntryMerge<S> {
    /// Merges `sources`, which stand at their first entries, the newest source first. Of stamped records those
    /// through `until` count.
    #[must_use]
    pub fn new(sources: Vec<S>, until: Timestamp, deletes: DeleteRule) -> Self {
        let (value, item) = (Vec::new(), ItemId::Vertex(VertexId(0)));
        Self { sources, until, deletes, subject: Subject::VERTICES, value, item }
    }

    /// The next entry and its index, in key order, with the operation that stays; `None` at the end. Its stamp is zero.
    ///
    /// Cost: a comparison with each source for each key.
    ///
    /// # Errors
    /// Those of the sources; [`MergeError::Disordered`]; [`MergeError::Inexact`] for what is neither Insert nor
    /// Delete. An error ends the merge.
    pub fn next_entry(&mut self) -> Result<Option<(Subject, EntryRecord<'_>)>, MergeError<S::Error>> {
        loop {
            let fronts = self.sources.iter().filter_map(EntrySource::entry);
            let least = fronts.min_by(|left, right| (left.0, left.1.key()).cmp(&(right.0, right.1.key())));
            let Some((subject, least)) = least else { return Ok(None) };
            (self.subject, self.item) = (subject, least.item);
            self.value.clear();
            self.value.extend_from_slice(least.value);
            let operation = match self.take_key()? {
                None => continue,
                Some(RecordOperation::Delete) if self.deletes.drops(self.subject) => continue,
                Some(operation) => operation,
            };
            let (value, item, stamp) = (self.value.as_slice(), self.item, Timestamp::ZERO);
            return Ok(Some((self.subject, EntryRecord { value, item, operation, stamp })));
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
            while let Some((subject, record)) = source.entry() {
                let key = (self.subject, (self.value.as_slice(), self.item));
                match (subject, record.key()).cmp(&key) {
                    Ordering::Greater => break,
                    // The key was the least of all.
                    Ordering::Less => {
                        return Err(MergeError::Disordered { source: number, subject });
                    }
                    Ordering::Equal => {}
                }
                // A stamp of zero, in a source without them, is always visible.
                if record.stamp.visible_at(self.until) {
                    if !matches!(record.operation, RecordOperation::Insert | RecordOperation::Delete) {
                        let later = record.operation;
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

/// What records of an entry come to with one more.
fn later_entry(before: Option<RecordOperation>, later: RecordOperation) -> Option<RecordOperation> {
    use RecordOperation::{Delete, Insert};
    let cancels = before == Some(Insert) && later == Delete && planted(Bug::IndexEntryCancelled);
    (!cancels).then_some(later)
}
