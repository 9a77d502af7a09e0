//! Known bodies: which bodies of another process were found to be sound, so that each is looked through once.
//!
//! ```text
//! KnownBodies    of a `live`: segment -> base, place, layout, columns of its newest body; no bytes of files
//! PinnedBodies   of a snapshot: place -> body, whose bytes its slot keeps
//! ```
//!
//! What is known holds for a base and a place: a merge writes what is exact at a base once. Snapshots that begin later read no older
//! body, so one a segment is enough. As long as it is known it is the same body for all snapshots, and what one of them made of it,
//! such as its lists within labels, serves the next.
//!
//! Of the entries of an index, the blocks that a snapshot compared with their checksums are known to the next one.
//!
//! Memory: some 250 bytes for each segment that was read, and 120 for each of its columns. That is less than what a snapshot has
//! that read as many. Nothing is forgotten sooner: an analysis reads all bodies in turn, and would find none of them in a memory
//! with room for fewer.

use crate::body_store::body_table::BodySource;
use crate::body_store::column_table::{ColumnEntry, table_behind, take_table};
use crate::body_store::extent_bytes::ExtentBytes;
use crate::body_store::stored_body::{CheckedArrays, StoredBody, StoredColumns};
use crate::body_store::stored_column::StoredColumn;
use crate::extents::checked_blocks::CheckedBlocks;
use crate::extents::header::{ExtentHeader, ExtentKind, ExtentPlace};
use crate::extents::reader::{ForeignExtent, ReadFiles};
use crate::files::segment_id::SegmentId;
use crate::version::BodyPlace;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A column of a body, and what of it was compared with its checksums.
type KnownColumn = (ColumnEntry, Arc<CheckedBlocks>);

/// When so many more bodies were found, files are unmapped of which nobody reads anything.
const FOUND_BETWEEN_LOOKS: usize = 1024;
/// Locks of a snapshot's bodies.
const SHARDS: usize = 16;

/// What was found of a body.
#[derive(Clone, Debug)]
struct KnownBody {
    base: Timestamp,
    arrays: CheckedArrays,
    /// What of it was compared with its checksums.
    checked: Arc<CheckedBlocks>,
    columns: Arc<[KnownColumn]>,
    /// Its place. The allocation identifies it for as long as it is known.
    identity: Arc<BodyPlace>,
}

impl KnownBody {
    fn is_at(&self, base: Timestamp, place: BodyPlace) -> bool {
        self.base == base && *self.identity == place
    }
}

#[derive(Debug, Default)]
struct Known {
    /// The newest body of each segment that was read.
    bodies: HashMap<SegmentId, KnownBody>,
    /// Bodies that were found so far.
    found: usize,
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
        checked: &Arc<CheckedBlocks>,
    ) -> CheckpointResult<ExtentBytes> {
        let checked = Arc::clone(checked);
        let extent = ForeignExtent::new(&self.directory, &mut self.files.lock(), (place, header), checked);
        Ok(ExtentBytes::Foreign(extent?))
    }

    /// The body of a segment, exact at `base`, that lies at `place`; a snapshot that needs it is open.
    fn body(&self, segment: SegmentId, base: Timestamp, place: BodyPlace) -> CheckpointResult<StoredBody> {
        let at = ExtentPlace::unpacked(place.extent, place.bytes);
        let header = |kind, base| ExtentHeader { kind, segment: segment.number(), base };
        let columns = |entries: &[KnownColumn]| {
            let column = |(entry, checked): &KnownColumn| {
                let header = header(ExtentKind::Column, entry.base);
                let extent = self.extent(entry.place, header, checked)?;
                Ok((entry.key, Arc::new(StoredColumn::new(extent, entry.base))))
            };
            entries.iter().map(column).collect::<CheckpointResult<StoredColumns>>()
        };
        if let Some(known) = self.known(segment, base, place) {
            let extent = self.extent(at, header(segment.body_kind(), base), &known.checked)?;
            let body = StoredBody::known(extent, columns(&known.columns)?, known.arrays);
            return Ok(body.identified_by(known.identity));
        }
        let checked = Arc::default();
        let extent = self.extent(at, header(segment.body_kind(), base), &checked)?;
        let table = match segment.index_number() {
            Some(_) => table_behind(extent.blockwise()?).map_err(|damage| extent.unreadable(damage))?.1,
            None => take_table(extent.payload()?).map_err(|problem| extent.corrupt(problem))?.1,
        };
        let entries: Arc<[KnownColumn]> = table.into_iter().map(|entry| (entry, Arc::default())).collect();
        let body = StoredBody::found(extent, columns(&entries)?);
        match segment.type_and_side() {
            None if segment.index_number().is_some() => body.entries().map(drop)?,
            None => body.vertices().map(drop)?,
            Some(_) => body.edges().map(drop)?,
        }
        let Some(arrays) = body.checked() else { return Ok(body) };
        let found = KnownBody { base, arrays, checked, columns: entries, identity: Arc::new(place) };
        Ok(body.identified_by(self.note(segment, found)))
    }

    fn known(&self, segment: SegmentId, base: Timestamp, place: BodyPlace) -> Option<KnownBody> {
        let known = self.known.lock();
        known.bodies.get(&segment).filter(|body| body.is_at(base, place)).cloned()
    }

    /// Notes what was found of a body of `segment`, unless a newer one is known; what identifies it from now on.
    fn note(&self, segment: SegmentId, found: KnownBody) -> Arc<BodyPlace> {
        let mut known = self.known.lock();
        known.found += 1;
        let is_due = known.found.is_multiple_of(FOUND_BETWEEN_LOOKS);
        let identity = match known.bodies.get(&segment) {
            // Another thread was first.
            Some(other) if other.is_at(found.base, *found.identity) => Arc::clone(&other.identity),
            // The snapshot that reads this one is an old one.
            Some(other) if other.base > found.base => found.identity,
            _ => {
                let identity = Arc::clone(&found.identity);
                known.bodies.insert(segment, found);
                identity
            }
        };
        drop(known);
        if is_due {
            self.files.lock().forget_unread();
        }
        identity
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

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::body_store::body_writer::BodyWriter;
    use crate::extents::table::{ExtentOptions, Extents, Reuse};
    use evergraph_bodies::edge_body::EdgeBody;
    use evergraph_bodies::frozen::label_lists::BodyIdentity;
    use evergraph_graph::id::{Direction, GroupId, TypeId};
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::io::write_unit::WriteUnit;

    const SIZES: ExtentOptions = ExtentOptions { first_file_bytes: 1 << 16, file_bytes_max: 1 << 20 };

    /// An empty database's array files, and what a process knows of them that reads.
    fn files() -> (Extents, Arc<KnownBodies>) {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db").with_unit(WriteUnit::LINE));
        let opened = Extents::open(Arc::clone(&directory), SIZES, [], Reuse::Allowed);
        let (extents, _) = opened.expect("an empty folder opens");
        (extents, Arc::new(KnownBodies::new(directory)))
    }

    fn segment(group: u32) -> SegmentId {
        SegmentId::edges(GroupId(group), TypeId(0), Direction::Out)
    }

    fn written(extents: &Extents, segment: SegmentId, base: u64) -> StoredBody {
        let body = EdgeBody::new(&[1], Box::new([base as u32]), Box::default(), Vec::new());
        let writer = BodyWriter { extents, segment, base: Timestamp(base) };
        writer.edges(&body, &|_, _| None, Vec::new()).expect("memory has room")
    }

    fn identity(reader: &PinnedBodies, segment: SegmentId, base: u64, body: &StoredBody) -> BodyIdentity {
        let place = body.place().expect("array files have low numbers");
        let read = reader.body(segment, Timestamp(base), place).expect("it was written");
        let lists = read.edges().expect("it is sound");
        assert_eq!(lists.neighbors(), [base as u32]);
        read.identity()
    }

    /// A scan of more bodies than were remembered forgot each of them before it was read again.
    #[test]
    fn every_body_is_the_same_one_for_the_next_snapshot_however_many_there_are() {
        let (extents, known) = files();
        let bodies: Vec<(SegmentId, StoredBody)> =
            (0..3000).map(segment).map(|segment| (segment, written(&extents, segment, 7))).collect();
        let read = || -> Vec<BodyIdentity> {
            let reader = PinnedBodies::new(Arc::clone(&known));
            bodies.iter().map(|(segment, body)| identity(&reader, *segment, 7, body)).collect()
        };
        let (first, second) = (read(), read());
        let others = first.iter().zip(&second).filter(|(first, second)| !Arc::ptr_eq(first, second));
        assert_eq!(others.count(), 0, "of {} bodies", bodies.len());
        assert_eq!(known.known.lock().found, bodies.len(), "each is looked through once");
    }

    /// A second snapshot compared the whole index with its checksums again.
    #[test]
    fn what_one_snapshot_compared_of_an_index_the_next_one_does_not() {
        let (extents, known) = files();
        let segment = SegmentId::index(1).expect("it is a low number");
        let entries: Vec<[u8; 8]> = (0..60_000_u64).map(u64::to_be_bytes).collect();
        let writer = BodyWriter { extents: &extents, segment, base: Timestamp(7) };
        let walk = || Ok(entries.iter().map(|entry| Ok::<&[u8], String>(&entry[..])));
        let (index, _) = writer.entries(entries.len() as u64, walk).expect("memory has room");
        let place = index.place().expect("array files have low numbers");
        let read = || {
            let body = PinnedBodies::new(Arc::clone(&known)).body(segment, Timestamp(7), place);
            body.expect("it was written")
        };
        let rank = |body: &StoredBody, entry: usize| {
            let rank = body.entries().expect("it is sound").rank(&entries[entry]);
            assert_eq!(rank, Ok(entry as u64));
            let extent = body.extent().expect("it has entries");
            assert!(!extent.checked().is_whole());
            extent.checked().count()
        };
        let first = read();
        let compared = rank(&first, 77);
        assert!((3..9).contains(&compared), "{compared} of 9 blocks");
        let second = read();
        assert_eq!(rank(&second, 77), compared);
        assert!(rank(&second, 59_000) > compared, "another place");
        assert_eq!(rank(&first, 59_000), rank(&second, 77), "the first one knows what the second compared");
    }

    #[test]
    fn of_each_segment_the_newest_body_is_known() {
        let (extents, known) = files();
        let (older, newer) = (written(&extents, segment(1), 7), written(&extents, segment(1), 8));
        let reader = || PinnedBodies::new(Arc::clone(&known));
        let (early, late) = (reader(), reader());
        let replaced = Arc::downgrade(&identity(&early, segment(1), 7, &older));
        let newest = identity(&late, segment(1), 8, &newer);
        assert!(replaced.upgrade().is_some(), "a snapshot has read it");
        drop(early);
        assert!(replaced.upgrade().is_none(), "a body that was replaced is known");
        // A snapshot that began before reads it later: for itself.
        drop(identity(&reader(), segment(1), 7, &older));
        assert!(Arc::ptr_eq(&identity(&reader(), segment(1), 8, &newer), &newest));
        assert_eq!(known.known.lock().bodies.len(), 1);
    }
}
