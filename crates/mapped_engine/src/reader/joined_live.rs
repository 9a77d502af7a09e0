//! Joined live: the memory that another process shares, the slots that this one has in it, and snapshots of it.

use crate::claimed_slots::{ClaimedSlots, OpenSlot, ReaderLock};
use crate::index_table::StoredIndexes;
use crate::live::Live;
use crate::reader::known_bodies::{KnownBodies, PinnedBodies};
use crate::shared_catalogue::CatalogueReader;
use crate::view::source::LiveSource;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::Directory;
use std::sync::Arc;

/// A `live` that this process reads.
#[derive(Debug)]
pub struct JoinedLive {
    live: Arc<Live>,
    slots: Arc<ClaimedSlots>,
    bodies: Arc<KnownBodies>,
    names: CatalogueReader,
    /// The newest opening that is not worth joining: this one, or the one before which this was recovered by itself.
    opening: Option<u128>,
}

impl JoinedLive {
    /// Claims the slots of `live` that belong to `lock`. Files lie in `directory`, and whoever joins another opening than
    /// `opening` sees more.
    ///
    /// # Errors
    /// `busy` if another process opened the database since `live` was joined.
    pub fn new(
        live: Arc<Live>,
        lock: ReaderLock,
        directory: &Arc<dyn Directory>,
        clock: Arc<dyn Clock>,
        opening: Option<u128>,
    ) -> Result<Self> {
        let slots = ClaimedSlots::with_lock(Arc::clone(&live), lock, std::process::id(), clock)?;
        let bodies = Arc::new(KnownBodies::new(Arc::clone(directory)));
        Ok(Self { live, slots: Arc::new(slots), bodies, names: CatalogueReader::default(), opening })
    }

    /// What it shares.
    #[must_use]
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// See [`JoinedLive::new`].
    #[must_use]
    pub fn opening(&self) -> Option<u128> {
        self.opening
    }

    /// Begins a snapshot of the newest readable commit, or of the last one if nobody writes here any more.
    ///
    /// # Errors
    /// `invalid` in a process that was forked from the one that joined; `corrupt` if the names in `live` are none.
    pub fn begin(self: &Arc<Self>) -> Result<PinnedLive> {
        let slot = self.slots.begin_anyway()?;
        let (names, indexes) = self.names.newest_with_indexes(&self.live)?;
        let bodies = Arc::new(PinnedBodies::new(Arc::clone(&self.bodies)));
        let source = LiveSource::new(Arc::clone(&self.live), bodies);
        Ok(PinnedLive { source, names, indexes, slot, joined: Arc::clone(self) })
    }
}

/// An open snapshot, with all that it reads.
#[derive(Debug)]
pub struct PinnedLive {
    // In this order: what was read of files goes before the slot that keeps it.
    source: LiveSource,
    names: Arc<Catalogue>,
    indexes: Arc<StoredIndexes>,
    slot: OpenSlot,
    joined: Arc<JoinedLive>,
}

impl PinnedLive {
    /// What it sees.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.slot.timestamp()
    }

    /// The `live` that it is of.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.joined.live
    }

    /// Where its segments are found.
    #[must_use]
    pub fn source(&self) -> &LiveSource {
        &self.source
    }

    /// The indexes of those names: which of them answer, and since when.
    #[must_use]
    pub fn indexes(&self) -> &StoredIndexes {
        &self.indexes
    }

    /// Names: at least those that it sees.
    #[must_use]
    pub fn names(&self) -> &Arc<Catalogue> {
        &self.names
    }
}
