//! Shared catalogue: the names of the graph in `live`, so that readers know those that the writer adds.
//!
//! ```text
//! writer   latch: note it ─> ... its commit becomes readable: a block with all names, the word in the head, then R
//! reader   registered: the word; if it changed, the block
//!
//! block    bytes | the catalogue, as a manifest has it | indexes that are ready: count, then IndexId, number, since
//! ```
//!
//! Names only come, and a snapshot may see later ones, too: so there is one catalogue, the newest. It is written before R
//! reaches the commit that made it. While it can't be, on a full disk, R stays below that commit. A full arena is no reason: merges
//! go up to R, and only they make room there.
//!
//! Concurrency: noted under the latch, in a lock for an assignment; written off it, by one thread at a time. A block that was
//! replaced stays while a slot is open whose snapshot began before, as a version does.

use crate::arena::{Arena, ArenaBlock};
use crate::files::segment_id::SegmentId;
use crate::index_table::{StoredIndex, StoredIndexState, StoredIndexes};
use crate::live::Live;
use crate::retired::RetiredList;
use crate::slots::Replacement;
use crate::words::{LineNumber, load_bytes, store_bytes};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::mutation::{put_index_id, take_index_id};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::manifest::{put_catalogue, take_catalogue};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The catalogue, in the process that writes.
#[derive(Debug)]
pub struct CatalogueWriter {
    /// The first commit whose names are not in `live`; `u64::MAX` if there is none. Stored with `noted` locked, Release;
    /// Acquire by who has loaded an R.
    due: AtomicU64,
    noted: Mutex<Option<NotedCatalogue>>,
    /// The block of what `live` has. Locked while another one is written.
    block: Mutex<Option<ArenaBlock>>,
}

/// What `live` doesn't have yet.
#[derive(Debug)]
struct NotedCatalogue {
    /// The first commit that it is needed for.
    since: Timestamp,
    newest: Arc<Catalogue>,
    indexes: Arc<StoredIndexes>,
}

impl Default for CatalogueWriter {
    fn default() -> Self {
        Self { due: AtomicU64::new(u64::MAX), noted: Mutex::default(), block: Mutex::default() }
    }
}

impl CatalogueWriter {
    /// Notes what the catalogue is from the commit at `timestamp` on. Under the latch, before that commit is published.
    pub fn note(&self, timestamp: Timestamp, catalogue: &Arc<Catalogue>, indexes: &Arc<StoredIndexes>) {
        let mut noted = self.noted.lock();
        let since = noted.as_ref().map_or(timestamp, |noted| noted.since);
        let (newest, indexes) = (Arc::clone(catalogue), Arc::clone(indexes));
        *noted = Some(NotedCatalogue { since, newest, indexes });
        self.due.fetch_min(timestamp.0, Ordering::AcqRel);
    }

    /// Writes what snapshots at `readable` need, and makes that R readable in `live`; if there is no room, the commits before.
    /// Off the latch.
    ///
    /// Cost: two loads and a store, unless names came.
    ///
    /// # Errors
    /// `invalid` if no region is so large, or what opening one says: the next call tries again.
    pub fn show(&self, live: &Live, arena: &Arena, retired: &RetiredList, readable: Timestamp) -> Result<()> {
        if planted(Bug::ReadableBeforeNames) {
            live.make_readable(readable);
        }
        if readable.0 < self.due.load(Ordering::Acquire) {
            live.make_readable(readable);
            return Ok(());
        }
        let mut block = self.block.lock();
        let taken = {
            let mut noted = self.noted.lock();
            noted.take_if(|noted| noted.since.visible_at(readable))
        };
        if let Some(NotedCatalogue { since, newest, indexes }) = taken {
            let written = self.write(live, arena, &newest, &indexes);
            let mut noted = self.noted.lock();
            match written {
                Ok(next) => {
                    let due = noted.as_ref().map_or(u64::MAX, |noted| noted.since.0);
                    self.due.store(due, Ordering::Release);
                    if let Some(before) = block.replace(next) {
                        let era = live.end_era();
                        let since = Replacement { era, base: Timestamp::ZERO, until: Timestamp::ZERO };
                        retired.add_line(since, before);
                    }
                }
                Err(error) => {
                    match &mut *noted {
                        Some(noted) => noted.since = since,
                        None => *noted = Some(NotedCatalogue { since, newest, indexes }),
                    }
                    live.make_readable(Timestamp(since.0.saturating_sub(1)));
                    return Err(error);
                }
            }
        }
        live.make_readable(readable);
        Ok(())
    }

    /// Whether names were shown before.
    #[must_use]
    pub fn is_shown(&self, live: &Live) -> bool {
        live.catalogue_word().load(Ordering::Relaxed) != 0
    }

    /// Another block, to which the word of `live` refers from now on.
    fn write(
        &self,
        live: &Live,
        arena: &Arena,
        catalogue: &Catalogue,
        indexes: &StoredIndexes,
    ) -> Result<ArenaBlock> {
        let mut bytes = Vec::new();
        put_catalogue(&mut bytes, catalogue);
        put_indexes(&mut bytes, indexes);
        // Names are few, and nothing is merged before they are shown: a full `live` would stay full.
        let block = arena.allocate_beyond_limit(1 + bytes.len().div_ceil(8))?;
        let words = arena.words_of(block);
        words[0].store(bytes.len() as u64, Ordering::Relaxed);
        store_bytes(&words[1..], &bytes);
        let changes = (live.catalogue_word().load(Ordering::Relaxed) >> 32) as u32;
        let word = u64::from(block.line.0) | u64::from(changes.wrapping_add(1)) << 32;
        live.catalogue_word().store(word, Ordering::Release);
        Ok(block)
    }
}

/// The catalogue, in a process that reads.
#[derive(Debug, Default)]
pub struct CatalogueReader {
    /// The word of `live`, and what it refers to.
    known: Mutex<(u64, Arc<Catalogue>, Arc<StoredIndexes>)>,
}

impl CatalogueReader {
    /// The newest catalogue: it has all names that the snapshot of an open slot sees.
    ///
    /// Cost: a lock and a load; if names came since, all of them are read.
    ///
    /// # Errors
    /// `corrupt` if what `live` says is no catalogue.
    pub fn newest(&self, live: &Live) -> Result<Arc<Catalogue>> {
        Ok(self.newest_with_indexes(live)?.0)
    }

    /// As [`CatalogueReader::newest`], with the indexes that were ready then.
    ///
    /// # Errors
    /// As [`CatalogueReader::newest`].
    pub fn newest_with_indexes(&self, live: &Live) -> Result<(Arc<Catalogue>, Arc<StoredIndexes>)> {
        let mut known = self.known.lock();
        let word = live.catalogue_word().load(Ordering::Acquire);
        if word != known.0 && (known.0 == 0 || !planted(Bug::NamesReadOnce)) {
            let (catalogue, indexes) = read(live, LineNumber(word as u32))?;
            *known = (word, Arc::new(catalogue), Arc::new(indexes));
        }
        Ok((Arc::clone(&known.1), Arc::clone(&known.2)))
    }
}

/// Appends the indexes that are ready.
fn put_indexes(out: &mut Vec<u8>, indexes: &StoredIndexes) {
    let ready = indexes.iter().filter_map(|(id, index)| match index.state {
        StoredIndexState::Ready(since) => Some((id, index.number, since)),
        StoredIndexState::Building | StoredIndexState::Filled => None,
    });
    let ready: Vec<_> = ready.collect();
    put_varint(out, ready.len() as u64);
    for (id, number, since) in ready {
        put_index_id(out, id);
        put_varint(out, number.into());
        put_varint(out, since.0);
    }
}

fn take_indexes(reader: &mut Reader<'_>) -> Decoded<StoredIndexes> {
    let mut indexes = StoredIndexes::new();
    for _ in 0..reader.count(5)? {
        let (id, start) = (take_index_id(reader)?, reader.clone());
        let number =
            u32::try_from(reader.varint()?).ok().filter(|number| SegmentId::index(*number).is_some());
        let number = number.ok_or_else(|| start.error("the number of an index expected"))?;
        let state = StoredIndexState::Ready(Timestamp(reader.varint()?));
        indexes.insert(id, StoredIndex { number, state });
    }
    Ok(indexes)
}

fn read(live: &Live, line: LineNumber) -> Result<(Catalogue, StoredIndexes)> {
    let shared = live.words();
    let length = shared.slice(line, 1)?[0].load(Ordering::Relaxed);
    let words = usize::try_from(length.div_ceil(8)).ok().and_then(|words| words.checked_add(1));
    let too_long = || shared.damaged(line, format_args!("a catalogue of {length} bytes"));
    let words = shared.slice(line, words.ok_or_else(too_long)?)?;
    let bytes = load_bytes(&words[1..], 0..length as usize).ok_or_else(too_long)?;
    let mut reader = Reader::new(&bytes);
    let catalogue = take_catalogue(&mut reader).map_err(|error| shared.damaged(line, error))?;
    let indexes = take_indexes(&mut reader).map_err(|error| shared.damaged(line, error))?;
    if reader.is_empty() {
        return Ok((catalogue, indexes));
    }
    Err(shared.damaged(line, format_args!("{} bytes behind a catalogue", reader.remaining())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live_head::LiveHead;
    use crate::slots::SnapshotNeeds;
    use crate::words::{RegionSizes, SharedWords};
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::LabelId;
    use evergraph_graph::schema_change::SchemaChange;

    struct Shared {
        live: Live,
        arena: Arena,
        retired: RetiredList,
        writer: CatalogueWriter,
        reader: CatalogueReader,
    }

    impl Shared {
        fn new(bytes_max: u64) -> Self {
            let sizes = RegionSizes::new(11, 13).unwrap();
            let head = LiveHead { opening: 1, process: 1, sizes, slots: 16 };
            let words = Arc::new(SharedWords::on_heap(sizes));
            let live = Live::create(Arc::clone(&words), head, Timestamp(5)).unwrap();
            live.open();
            live.publish(Timestamp(100));
            let arena = Arena::new(words, head.first_block(), bytes_max);
            let (writer, reader) = (CatalogueWriter::default(), CatalogueReader::default());
            Self { live, arena, retired: RetiredList::default(), writer, reader }
        }

        fn note(&self, timestamp: Timestamp, labels: u16) {
            self.writer.note(timestamp, &named(labels), &Arc::default());
        }

        fn show(&self, readable: u64) -> Result<()> {
            self.writer.show(&self.live, &self.arena, &self.retired, Timestamp(readable))
        }

        fn labels(&self) -> usize {
            self.reader.newest(&self.live).unwrap().labels().count()
        }
    }

    fn named(labels: u16) -> Arc<Catalogue> {
        let mut catalogue = Catalogue::default();
        for label in 0..labels {
            let name = format!("label {label}").into();
            catalogue.apply(&SchemaChange::AddLabel { id: LabelId(label), name });
        }
        Arc::new(catalogue)
    }

    #[test]
    fn names_come_with_the_commit_that_made_them_and_blocks_go() {
        let shared = Shared::new(1 << 20);
        shared.show(6).unwrap();
        assert_eq!((shared.live.readable(), shared.labels()), (Timestamp(6), 0));
        shared.note(Timestamp(8), 1);
        shared.note(Timestamp(9), 2);
        shared.show(7).unwrap();
        assert_eq!((shared.live.readable(), shared.labels()), (Timestamp(7), 0), "it is not needed yet");
        shared.show(8).unwrap();
        assert_eq!((shared.live.readable(), shared.labels()), (Timestamp(8), 2), "names may come early");
        let known = shared.reader.newest(&shared.live).unwrap();
        shared.show(9).unwrap();
        assert!(Arc::ptr_eq(&known, &shared.reader.newest(&shared.live).unwrap()), "nothing is read again");
        shared.note(Timestamp(10), 300);
        shared.show(20).unwrap();
        assert_eq!(
            (shared.live.readable(), shared.labels(), shared.retired.count()),
            (Timestamp(20), 300, 1)
        );
        let needs = SnapshotNeeds::scan(shared.live.slot_words(), &[], shared.live.readable());
        let used = shared.arena.used_bytes();
        shared.retired.free(&needs, shared.live.era(), &shared.arena);
        assert!(shared.retired.count() == 0 && shared.arena.used_bytes() < used);
    }

    #[test]
    fn names_that_no_region_holds_keep_their_commit_unseen() {
        let shared = Shared::new(1 << 30);
        shared.note(Timestamp(8), 6000);
        for readable in [9, 12] {
            assert_eq!(shared.show(readable).unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!((shared.live.readable(), shared.labels()), (Timestamp(7), 0));
        }
        shared.note(Timestamp(11), 4);
        shared.show(12).unwrap();
        assert_eq!((shared.live.readable(), shared.labels()), (Timestamp(12), 4));
    }

    /// Merges go up to R, and only they make room.
    #[test]
    fn a_full_live_shows_names_all_the_same() {
        let shared = Shared::new(512);
        let taken: Vec<_> = std::iter::from_fn(|| shared.arena.allocate(8).ok()).collect();
        assert!(!taken.is_empty() && !shared.writer.is_shown(&shared.live));
        shared.note(Timestamp(8), 3);
        shared.show(9).unwrap();
        assert_eq!((shared.live.readable(), shared.labels()), (Timestamp(9), 3));
        assert!(shared.writer.is_shown(&shared.live));
    }

    #[test]
    fn a_damaged_catalogue_is_an_error_that_names_its_place() {
        let shared = Shared::new(1 << 20);
        shared.note(Timestamp(8), 3);
        shared.show(9).unwrap();
        let word = shared.live.catalogue_word();
        let (sound, line) = (word.load(Ordering::Relaxed), LineNumber(word.load(Ordering::Relaxed) as u32));
        let length = &shared.live.words().slice(line, 1).unwrap()[0];
        let bytes = length.load(Ordering::Relaxed);
        for (damage, says) in [
            (u64::MAX, "do not lie in one region"),
            (bytes - 1, "damaged"),
            (0, "damaged"),
            (bytes + 8, "8 bytes behind"),
        ] {
            length.store(damage, Ordering::Relaxed);
            let error = CatalogueReader::default().newest(&shared.live).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(says), "{error}");
        }
        length.store(bytes, Ordering::Relaxed);
        word.store(sound | 0xffff_ffff, Ordering::Relaxed);
        assert_eq!(CatalogueReader::default().newest(&shared.live).unwrap_err().kind(), ErrorKind::Corrupt);
        word.store(sound, Ordering::Relaxed);
        assert_eq!(shared.labels(), 3);
    }
}
