//! Version reference: the word of `live` by which readers find the present version of a segment, as the writer knows it.
//!
//! It lies in the block of a group, or in the table of hubs of the segment that a row was taken out of. The writer reads neither
//! back: whoever may write `live` could have put anything there.

use crate::words::{LineNumber, SharedWords};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::Ordering;

/// Where readers find the version of one segment.
///
/// # Concurrency
/// Changed under the latch. Its lock is a leaf.
#[derive(Debug)]
pub struct VersionReference(Mutex<ReferencePlace>);

#[derive(Debug)]
struct ReferencePlace {
    /// The block that has the word; none as long as nothing refers to the segment.
    block: LineNumber,
    word: usize,
    version: LineNumber,
}

impl VersionReference {
    /// Of a segment whose present version lies at `version`; nobody finds it yet.
    #[must_use]
    pub fn new(version: LineNumber) -> Self {
        Self(Mutex::new(ReferencePlace { block: LineNumber::NONE, word: 0, version }))
    }

    /// The line of the present version.
    #[must_use]
    pub fn version(&self) -> LineNumber {
        self.0.lock().version
    }

    /// Readers find the version by this word from now on, which has its line.
    pub fn moved_to(&self, block: LineNumber, word: usize) {
        let mut place = self.0.lock();
        (place.block, place.word) = (block, word);
    }

    /// Makes `version` the present one.
    pub fn refer_to(&self, shared: &SharedWords, version: LineNumber) {
        let mut place = self.0.lock();
        place.version = version;
        if !place.block.is_none() {
            let words = shared.slice(place.block, place.word + 1).expect("the writer's own block");
            words[place.word].store(version.0.into(), Ordering::Release);
        }
    }
}
