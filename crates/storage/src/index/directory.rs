//! Index directory: the unique indexes of a store, by label and key.

use crate::index::unique::UniqueIndex;
use crate::sync::ArcCell;
use evergraph_graph::id::{KeyId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

type ByKey = BTreeMap<(LabelId, KeyId), Arc<UniqueIndex>>;

/// The unique indexes of a store.
///
/// Concurrency: any thread looks; an index is added under the commit latch, before the commit that
/// adds it to the catalogue is published, so that a catalogue never names an index that isn't here.
#[derive(Debug)]
pub struct IndexDirectory(ArcCell<ByKey>);

impl IndexDirectory {
    /// The given indexes.
    #[must_use]
    pub fn new(indexes: impl IntoIterator<Item = ((LabelId, KeyId), Arc<UniqueIndex>)>) -> Self {
        Self(ArcCell::new(Arc::new(indexes.into_iter().collect())))
    }

    /// The index on `key` among the vertices of `label`.
    #[must_use]
    pub fn get(&self, label: LabelId, key: KeyId) -> Option<Arc<UniqueIndex>> {
        self.0.load().get(&(label, key)).cloned()
    }

    /// Adds an index. Under the latch.
    pub fn add(&self, label: LabelId, key: KeyId, index: Arc<UniqueIndex>) {
        let mut all = ByKey::clone(&self.0.load());
        all.insert((label, key), index);
        self.0.swap(Arc::new(all));
    }

    /// Does the removals that are due in every index: see [`UniqueIndex::collect`].
    pub fn collect(&self, oldest: Timestamp) {
        for index in self.0.load_full().values() {
            index.collect(oldest);
        }
    }

    /// Entries of all indexes, stale ones included, and their bytes.
    #[must_use]
    pub fn size(&self) -> (u64, u64) {
        let all = self.0.load_full();
        all.values().fold((0, 0), |sum, index| (sum.0 + index.len().0, sum.1 + index.heap_bytes()))
    }
}
