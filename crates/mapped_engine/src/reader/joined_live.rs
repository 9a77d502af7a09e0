//! Joined live: the memory that another process shares, or that this one recovered, the slots that it has in it, and snapshots of it.

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
    names: Arc<CatalogueReader>,
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
        Ok(Self::of(live, slots, directory, opening))
    }

    /// The same of a `live` that this process recovered: it is kept by the first snapshot that begins, and by those that begin
    /// while one is open.
    ///
    /// # Errors
    /// As [`ClaimedSlots::alone`].
    pub fn alone(
        live: Arc<Live>,
        lock: ReaderLock,
        directory: &Arc<dyn Directory>,
        clock: Arc<dyn Clock>,
        opening: Option<u128>,
    ) -> Result<Self> {
        let slots = ClaimedSlots::alone(Arc::clone(&live), lock, std::process::id(), clock)?;
        Ok(Self::of(live, slots, directory, opening))
    }

    /// What was recovered, kept by another lock: the files are still those that it was recovered from.
    ///
    /// # Errors
    /// As [`JoinedLive::alone`].
    pub fn again(&self, lock: ReaderLock, clock: Arc<dyn Clock>) -> Result<Self> {
        let slots = ClaimedSlots::alone(Arc::clone(&self.live), lock, std::process::id(), clock)?;
        let (live, bodies, names) =
            (Arc::clone(&self.live), Arc::clone(&self.bodies), Arc::clone(&self.names));
        Ok(Self { live, slots: Arc::new(slots), bodies, names, opening: self.opening })
    }

    fn of(
        live: Arc<Live>,
        slots: ClaimedSlots,
        directory: &Arc<dyn Directory>,
        opening: Option<u128>,
    ) -> Self {
        let bodies = Arc::new(KnownBodies::new(Arc::clone(directory)));
        Self { live, slots: Arc::new(slots), bodies, names: Arc::default(), opening }
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

    /// Whether what its snapshots read is kept, until the last of them ends.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.slots.is_kept()
    }

    /// Begins a snapshot of the newest readable commit. Where nobody writes any more, of the last one, as long as another snapshot
    /// keeps it: `None` if none does.
    ///
    /// # Errors
    /// `invalid` in a process that was forked from the one that joined; `corrupt` if the names in `live` are none.
    pub fn begin_if_kept(self: &Arc<Self>) -> Result<Option<PinnedLive>> {
        let Some(slot) = self.slots.begin_if_kept()? else { return Ok(None) };
        let (names, indexes) = self.names.newest_with_indexes(&self.live)?;
        let bodies = Arc::new(PinnedBodies::new(Arc::clone(&self.bodies)));
        let source = LiveSource::new(Arc::clone(&self.live), bodies);
        Ok(Some(PinnedLive { source, names, indexes, slot, joined: Arc::clone(self) }))
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

    /// Whether it is a snapshot of `joined`.
    #[must_use]
    pub fn is_of(&self, joined: &Arc<JoinedLive>) -> bool {
        Arc::ptr_eq(&self.joined, joined)
    }

    /// Takes the newest names: some time has gone since it began.
    ///
    /// # Errors
    /// `corrupt` if the names in `live` are none.
    pub fn renew_names(&mut self) -> Result<()> {
        (self.names, self.indexes) = self.joined.names.newest_with_indexes(&self.joined.live)?;
        Ok(())
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
