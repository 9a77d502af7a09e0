//! Known bodies: which bodies of another process were found to be sound, so that each is looked through once.
//!
//! ```text
//! KnownBodies    of a `live`: place -> segment, base, layout, columns; no bytes of files
//! PinnedBodies   of a snapshot: place -> body, whose bytes its slot keeps
//! ```
//!
//! What is known of a place holds for a segment and a base: a merge writes what is exact at a base once. When the place is
//! written again, it is by another segment or with another base.

use crate::body_store::body_table::BodySource;
use crate::body_store::column_table::{ColumnEntry, take_table};
use crate::body_store::extent_bytes::ExtentBytes;
use crate::body_store::stored_body::{CheckedArrays, StoredBody, StoredColumns};
use crate::body_store::stored_column::StoredColumn;
use crate::extents::header::{ExtentHeader, ExtentKind, ExtentPlace};
use crate::extents::reader::{ForeignExtent, ReadFiles};
use crate::files::segment_id::SegmentId;
use crate::version::BodyPlace;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::AtomicBool;
use std::collections::HashMap;
use std::sync::Arc;

/// Columns of a body, each with whether its checksum was compared.
type KnownColumns = Arc<[(ColumnEntry, Arc<AtomicBool>)]>;

/// So many bodies are known at least before those are forgotten that nobody asked for.
const LEAST_KNOWN: usize = 1024;
/// Locks of a snapshot's bodies.
const SHARDS: usize = 16;

/// What was found at a place.
#[derive(Clone, Debug)]
struct KnownBody {
    segment: SegmentId,
    base: Timestamp,
    arrays: CheckedArrays,
    /// Each column, and whether its checksums were compared.
    columns: KnownColumns,
    /// Identifies it for as long as it is known.
    identity: Arc<BodyPlace>,
    /// Whether somebody asked for it since bodies were forgotten last.
    is_wanted: bool,
}

#[derive(Debug, Default)]
struct Known {
    bodies: HashMap<u64, KnownBody>,
    forgotten_at: usize,
}

/// What is known of the bodies in array files that another process writes.
///
/// # Concurrency
/// Any thread asks. Two locks, both leaves, held for a look-up, or to map a file.
#[derive(Debug)]
pub struct KnownBodies {
    directory: Arc<dyn Directory>,
    files: Mutex<ReadFiles>,
    known: Mutex<Known>,
}

impl KnownBodies {
    /// Nothing yet of the files in `directory`.
    #[must_use]
    pub fn new(directory: Arc<dyn Directory>) -> Self {
        Self { directory, files: Mutex::default(), known: Mutex::default() }
    }

    fn extent(
        &self,
        place: ExtentPlace,
        header: ExtentHeader,
        is_verified: Arc<AtomicBool>,
    ) -> CheckpointResult<ExtentBytes> {
        let extent =
            ForeignExtent::new(&self.directory, &mut self.files.lock(), (place, header), is_verified);
        Ok(ExtentBytes::Foreign(extent?))
    }

    /// The body of a segment, exact at `base`, that lies at `place`; a snapshot that needs it is open.
    fn body(&self, segment: SegmentId, base: Timestamp, place: BodyPlace) -> CheckpointResult<StoredBody> {
        let at = ExtentPlace::unpacked(place.extent, place.bytes);
        let header = |kind, base| ExtentHeader { kind, segment: segment.number(), base };
        let columns = |entries: &[(ColumnEntry, Arc<AtomicBool>)]| {
            let column = |(entry, is_verified): &(ColumnEntry, Arc<AtomicBool>)| {
                let header = header(ExtentKind::Column, entry.base);
                let extent = self.extent(entry.place, header, Arc::clone(is_verified))?;
                Ok((entry.key, Arc::new(StoredColumn::new(extent, entry.base))))
            };
            entries.iter().map(column).collect::<CheckpointResult<StoredColumns>>()
        };
        if let Some((arrays, entries, identity)) = self.known(segment, base, place) {
            let is_verified = Arc::new(AtomicBool::new(true));
            let extent = self.extent(at, header(segment.body_kind(), base), is_verified)?;
            return Ok(StoredBody::known(extent, columns(&entries)?, arrays).identified_by(identity));
        }
        let extent = self.extent(at, header(segment.body_kind(), base), Arc::default())?;
        let table = take_table(extent.payload()?).map_err(|problem| extent.corrupt(problem))?.1;
        let entries: Arc<[_]> = table.into_iter().map(|entry| (entry, Arc::default())).collect();
        let identity = Arc::new(place);
        let body = StoredBody::found(extent, columns(&entries)?).identified_by(Arc::clone(&identity));
        match segment.type_and_side() {
            None if segment.index_number().is_some() => body.entries().map(drop)?,
            None => body.vertices().map(drop)?,
            Some(_) => body.edges().map(drop)?,
        }
        if let Some(arrays) = body.checked() {
            let columns = entries;
            self.note(place, KnownBody { segment, base, arrays, columns, identity, is_wanted: true });
        }
        Ok(body)
    }

    fn known(
        &self,
        segment: SegmentId,
        base: Timestamp,
        place: BodyPlace,
    ) -> Option<(CheckedArrays, KnownColumns, Arc<BodyPlace>)> {
        let mut known = self.known.lock();
        let body = known.bodies.get_mut(&place.extent)?;
        if body.segment != segment || body.base != base {
            return None;
        }
        body.is_wanted = true;
        Some((body.arrays, Arc::clone(&body.columns), Arc::clone(&body.identity)))
    }

    fn note(&self, place: BodyPlace, body: KnownBody) {
        let mut known = self.known.lock();
        known.bodies.insert(place.extent, body);
        if known.bodies.len() < known.forgotten_at.max(LEAST_KNOWN) {
            return;
        }
        known.bodies.retain(|_, body| std::mem::take(&mut body.is_wanted));
        known.forgotten_at = 2 * known.bodies.len();
        drop(known);
        self.files.lock().forget_unread();
    }
}

/// The bodies that a snapshot has read: their bytes stay as long as its slot.
///
/// # Concurrency
/// Any thread asks; a lock for a look-up.
#[derive(Debug)]
pub struct PinnedBodies {
    known: Arc<KnownBodies>,
    shards: [Mutex<HashMap<u64, Arc<StoredBody>>>; SHARDS],
    empty: Arc<StoredBody>,
}

impl PinnedBodies {
    /// None yet.
    #[must_use]
    pub fn new(known: Arc<KnownBodies>) -> Self {
        Self {
            known,
            shards: std::array::from_fn(|_| Mutex::default()),
            empty: Arc::new(StoredBody::empty()),
        }
    }
}

impl BodySource for PinnedBodies {
    fn body(&self, segment: SegmentId, base: Timestamp, place: BodyPlace) -> Result<Arc<StoredBody>> {
        if place.bytes == 0 {
            return Ok(Arc::clone(&self.empty));
        }
        // Places are multiples of the unit, with the number of the file above: the highest bits of the product mix both.
        let mixed = place.extent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SHARDS.ilog2());
        let shard = &self.shards[mixed as usize];
        if let Some(body) = shard.lock().get(&place.extent) {
            return Ok(Arc::clone(body));
        }
        // Without the lock: a body is looked through when it is touched first.
        let body = Arc::new(self.known.body(segment, base, place)?);
        Ok(Arc::clone(shard.lock().entry(place.extent).or_insert(body)))
    }
}
