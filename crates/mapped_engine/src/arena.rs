//! Arena: blocks of whole lines in `live`, allocated and freed by the writer alone.
//!
//! ```text
//! live      head, slots, directory | block | block | ...                 | not used yet
//!                                                          the next block ^
//! class     lines: 1 2 3 4 5 6 7 8, then four sizes for each doubling: 10 12 14 16, 20 24 28 32, ...
//! free      lines of blocks that were freed, for blocks of any class     free_lines.rs
//! ```
//!
//! A block lies in one region. At most a quarter of it is wasted. What is free stands in the writer's heap: readers follow
//! references, and a new writer begins with an empty file.
//!
//! The file never gets shorter. It grows when nothing that is free is long enough, as far as twice the limit: then allocations
//! are refused until more was freed, and neighbours of it were joined.
//!
//! A commit takes its blocks before the latch. What others did meanwhile can make it take more under the latch, where nothing may
//! fail: that may go beyond the limit, and so that it opens no region either, one is opened when little of the one before is left:
//! by the merge thread, or by an allocation off the latch if that comes too late. To open one is to allocate and map up to a
//! gibibyte of a file; nothing else waits for it.
//!
//! Source: size classes as in Bonwick, "The Slab Allocator" (USENIX 1994).

use crate::free_lines::FreeLines;
use crate::words::{LINE_BYTES, LINE_WORDS, LineNumber, SharedWords};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// A block: the writer's to store in until something refers to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArenaBlock {
    /// Where it lies.
    pub line: LineNumber,
    /// How many lines it has: those of its class.
    lines: u32,
}

impl ArenaBlock {
    /// How many words it has.
    #[must_use]
    pub fn words(self) -> usize {
        self.lines as usize * LINE_WORDS
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(self) -> u64 {
        u64::from(self.lines) * LINE_BYTES
    }
}

/// Takes the smallest of `blocks` that has `words` words, if there is one.
pub fn take_fitting(blocks: &mut Vec<ArenaBlock>, words: usize) -> Option<ArenaBlock> {
    let fits = |(_, block): &(usize, &ArenaBlock)| block.words() >= words;
    let (at, _) = blocks.iter().enumerate().filter(fits).min_by_key(|(_, block)| block.lines)?;
    Some(blocks.swap_remove(at))
}

/// The blocks of one `live`.
///
/// Concurrency: one lock, for as long as a look into a list takes; taken after the latch, if both are needed. Regions are opened
/// without it.
#[derive(Debug)]
pub struct Arena {
    words: Arc<SharedWords>,
    lines_max: u64,
    /// The first line of blocks.
    first: LineNumber,
    space: Mutex<Space>,
    /// Lines of all blocks that are not free. Stored with `space` locked; Relaxed.
    used: AtomicU64,
    /// Whether [`Arena::open_ahead`] has something to do. Decides nothing but when that is done; Relaxed.
    is_short: AtomicBool,
}

/// Lines that are left in the newest region when the next is to be opened, by whoever works in the background.
const AHEAD_LINES: u32 = 1 << 14;
/// Lines that are always left, for commits that take more under the latch than they had reserved: that is some hundred lines for
/// each segment, and only where they fill one tail together. Whoever would leave less opens the next region first.
const HEADROOM_LINES: u32 = AHEAD_LINES / 2;
/// So many times its limit the file grows to, but for what goes beyond it, and a region or two.
const GROWN: u64 = 2;
/// Blocks that are freed with one locking.
const FREED_AT_ONCE: usize = 256;

#[derive(Debug)]
struct Space {
    /// The first line that was never used.
    next: LineNumber,
    /// What is free of those before.
    free: FreeLines,
    used: u64,
}

/// Where a block comes from.
enum TakenBlock {
    /// Here it is.
    Taken(ArenaBlock),
    /// The region that has this line has to be opened first.
    Closed(LineNumber),
    /// There can be no more regions.
    Exhausted,
    /// What is free is in pieces that are too short, and no more lines may be taken that were never used.
    InPieces,
}

impl Arena {
    /// An arena from line `first` on, with at most `bytes_max` in use.
    #[must_use]
    pub fn new(words: Arc<SharedWords>, first: LineNumber, bytes_max: u64) -> Self {
        let free = FreeLines::new(words.sizes());
        let space = Mutex::new(Space { next: first, free, used: 0 });
        let (used, is_short) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { words, lines_max: bytes_max / LINE_BYTES, first, space, used, is_short }
    }

    /// A block for `words` words; its content is anything.
    ///
    /// # Errors
    /// `limit` if more would be in use than may be, or the file would have to grow beyond twice that, or beyond its last region;
    /// `invalid` if no region is so large; `io` if the disk is full.
    pub fn allocate(&self, words: usize) -> Result<ArenaBlock> {
        self.allocate_within(words, self.lines_max)
    }

    /// The same however many are in use, for what ends with fewer in use: merges, and what makes them possible.
    ///
    /// # Errors
    /// As [`Arena::allocate`], but for the limit itself.
    pub fn allocate_beyond_limit(&self, words: usize) -> Result<ArenaBlock> {
        self.allocate_within(words, u64::MAX)
    }

    /// How much of the limit is in use, in quarters: 4 and more if all of it is.
    #[must_use]
    pub fn quarters_used(&self) -> u32 {
        let quarters = self.used.load(Ordering::Relaxed).saturating_mul(4) / self.lines_max.max(1);
        u32::try_from(quarters).unwrap_or(u32::MAX)
    }

    fn allocate_within(&self, words: usize, lines_max: u64) -> Result<ArenaBlock> {
        let lines = self.class(words)?;
        let block = self.take(words, lines, lines_max)?;
        match self.keep_headroom() {
            Ok(()) => Ok(block),
            Err(error) => {
                self.free(block);
                Err(error)
            }
        }
    }

    /// Keeps lines for commits under the latch, and has more of them opened soon.
    fn keep_headroom(&self) -> Result<()> {
        let next = self.space.lock().next;
        let Some(end) = self.open_end(next) else { return Ok(()) };
        let left = end.0 - next.0;
        if left >= AHEAD_LINES || self.words.is_open(end) {
            return Ok(());
        }
        if left >= HEADROOM_LINES {
            self.is_short.store(true, Ordering::Relaxed);
            return Ok(());
        }
        self.words.line(end).map(drop)
    }

    /// The end of the open lines from `next` on; `None` if there can't be more.
    fn open_end(&self, next: LineNumber) -> Option<LineNumber> {
        if self.words.is_open(next) { self.words.region_end(next) } else { Some(next) }
    }

    /// Whether the next region is to be opened soon.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// Opens the next region, before anybody has to wait for that.
    ///
    /// # Errors
    /// `io` if the disk is full: whoever needs the region tries again.
    pub fn open_ahead(&self) -> Result<()> {
        self.is_short.store(false, Ordering::Relaxed);
        let next = self.space.lock().next;
        self.open_end(next).map_or(Ok(()), |end| self.words.line(end).map(drop))
    }

    /// A block for `words` words, however many are in use, for a commit that is being installed.
    ///
    /// # Panics
    /// If the file cannot grow and has no room: the store is poisoned then, before the commit is in the log. Half a mebibyte of
    /// open regions is kept for such blocks.
    #[must_use]
    pub fn allocate_for_commit(&self, words: usize) -> ArenaBlock {
        let taken = self.class(words).and_then(|lines| self.take(words, lines, u64::MAX));
        taken.unwrap_or_else(|error| panic!("no room for a commit under the latch: {error}"))
    }

    /// The lines of a block of so many words.
    fn class(&self, words: usize) -> Result<u32> {
        let lines = u32::try_from(words.div_ceil(LINE_WORDS)).ok().and_then(class_of);
        let largest = self.words.sizes().largest_lines();
        lines.filter(|lines| *lines <= largest).ok_or_else(|| {
            let (path, bytes) = (self.words.path().display(), words.saturating_mul(8));
            let most = u64::from(largest) * LINE_BYTES;
            Error::invalid(format!(
                "{path}: a block of {bytes} bytes, {most} are possible: commit less at once"
            ))
        })
    }

    fn take(&self, words: usize, lines: u32, lines_max: u64) -> Result<ArenaBlock> {
        loop {
            let mut space = self.space.lock();
            if space.used.saturating_add(lines.into()) > lines_max {
                return Err(self.full(space.used, words));
            }
            let end_max = lines_max.saturating_mul(GROWN).saturating_add(self.first.0.into());
            match self.take_open(&mut space, lines, end_max) {
                TakenBlock::Taken(block) => {
                    space.used += u64::from(lines);
                    self.used.store(space.used, Ordering::Relaxed);
                    return Ok(block);
                }
                TakenBlock::Exhausted => return Err(self.exhausted(space.used, words)),
                TakenBlock::InPieces => return Err(self.in_pieces(space.used, words)),
                TakenBlock::Closed(line) => {
                    drop(space);
                    self.words.line(line)?;
                }
            }
        }
    }

    /// Lines that were freed, or else the next ones that were never used, if those end before line `end_max`. What is left of a
    /// region that is too short is free.
    fn take_open(&self, space: &mut Space, lines: u32, end_max: u64) -> TakenBlock {
        loop {
            if let Some(line) = space.free.take(lines) {
                return TakenBlock::Taken(ArenaBlock { line, lines });
            }
            let next = space.next;
            let end = self.words.region_end(next);
            let newest_end = end.filter(|_| self.words.is_open(next)).map_or(next.0, |end| end.0);
            let behind = |from: LineNumber| u64::from(from.0) + u64::from(lines);
            // Cheaper than joining, which looks at all that is listed, and no growth: the region is there.
            if behind(next) <= end_max.min(newest_end.into()) {
                space.next = LineNumber(next.0 + lines);
                return TakenBlock::Taken(ArenaBlock { line: next, lines });
            }
            if space.free.join_small() {
                continue;
            }
            let Some(end) = end else { return TakenBlock::Exhausted };
            let left = end.0 - next.0;
            let needed = if left >= lines { next } else { end };
            if behind(needed) > end_max {
                return TakenBlock::InPieces;
            }
            if !self.words.is_open(needed) {
                return TakenBlock::Closed(needed);
            }
            space.next = end;
            if left > 0 {
                space.free.give_back(next, left);
            }
        }
    }

    /// Takes back a block that nobody reads any more.
    pub fn free(&self, block: ArenaBlock) {
        self.free_all([block]);
    }

    /// The same of many: others can allocate in between.
    pub fn free_all(&self, blocks: impl IntoIterator<Item = ArenaBlock>) {
        let mut blocks = blocks.into_iter().peekable();
        while blocks.peek().is_some() {
            let mut space = self.space.lock();
            for block in blocks.by_ref().take(FREED_AT_ONCE) {
                if cfg!(debug_assertions) {
                    // So that a test sees whoever reads it all the same.
                    let words = self.words_of(block);
                    words.iter().for_each(|word| word.store(FREED, Ordering::Relaxed));
                }
                space.used -= u64::from(block.lines);
                space.free.give_back(block.line, block.lines);
            }
            self.used.store(space.used, Ordering::Relaxed);
        }
    }

    /// The words of a block.
    #[must_use]
    pub fn words_of(&self, block: ArenaBlock) -> &[AtomicU64] {
        let words = self.words.slice(block.line, block.lines as usize * LINE_WORDS);
        words.expect("a block lies in one region, which is open")
    }

    /// The memory that the blocks lie in.
    #[must_use]
    pub fn words(&self) -> &SharedWords {
        &self.words
    }

    /// Bytes of all blocks that are in use.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed) * LINE_BYTES
    }

    /// The error where all that is free lies in pieces.
    #[cold]
    fn in_pieces(&self, used: u64, words: usize) -> Error {
        let (path, bytes) = (self.words.path().display(), words.saturating_mul(8));
        let (used, open) = (used * LINE_BYTES, self.words.open_bytes());
        let text = format!(
            "{path} is full: of its {open} bytes {used} are in use, and no {bytes} of the others lie in one piece; it grows to \
             twice live_bytes_max"
        );
        Error::new(ErrorKind::Limit, text)
    }

    /// The error where the file has all regions that it can have.
    #[cold]
    fn exhausted(&self, used: u64, words: usize) -> Error {
        let (path, bytes) = (self.words.path().display(), words.saturating_mul(8));
        let (used, open) = (used * LINE_BYTES, self.words.open_bytes());
        let text = format!(
            "{path} is full: of its {open} bytes {used} are in use, {bytes} more are needed, and no file can be larger: a \
             higher live_bytes_max does not help"
        );
        Error::new(ErrorKind::Limit, text)
    }

    /// The error where as much is in use as may be.
    #[cold]
    fn full(&self, used: u64, words: usize) -> Error {
        let (path, used, max) = (self.words.path().display(), used * LINE_BYTES, self.lines_max * LINE_BYTES);
        let text = format!(
            "{path} is full: {used} bytes of {max} are in use, {} more are needed; the limit is live_bytes_max",
            words.saturating_mul(8)
        );
        Error::new(ErrorKind::Limit, text)
    }
}

/// What a debug build fills freed blocks with.
const FREED: u64 = 0xdead_beef_dead_beef;

/// The lines of the smallest class with at least `lines`.
fn class_of(lines: u32) -> Option<u32> {
    let lines = lines.max(1);
    lines.checked_next_multiple_of(step(lines))
}

fn step(lines: u32) -> u32 {
    1 << lines.ilog2().saturating_sub(2)
}

/// Blocks that are freed again, unless they are kept.
#[derive(Debug)]
pub struct NewBlocks<'a> {
    arena: &'a Arena,
    blocks: Vec<ArenaBlock>,
    is_limited: bool,
}

impl<'a> NewBlocks<'a> {
    /// None yet.
    #[must_use]
    pub fn new(arena: &'a Arena) -> Self {
        Self { arena, blocks: Vec::new(), is_limited: true }
    }

    /// None yet, of those that [`Arena::allocate_beyond_limit`] gives.
    #[must_use]
    pub fn beyond_limit(arena: &'a Arena) -> Self {
        Self { arena, blocks: Vec::new(), is_limited: false }
    }

    /// Another one.
    ///
    /// # Errors
    /// As [`Arena::allocate`], or [`Arena::allocate_beyond_limit`].
    pub fn allocate(&mut self, words: usize) -> Result<ArenaBlock> {
        let block = match self.is_limited {
            true => self.arena.allocate(words)?,
            false => self.arena.allocate_beyond_limit(words)?,
        };
        self.blocks.push(block);
        Ok(block)
    }

    /// All of them, for the caller to free or to keep.
    #[must_use]
    pub fn into_blocks(mut self) -> Vec<ArenaBlock> {
        std::mem::take(&mut self.blocks)
    }

    /// Something refers to all of them.
    pub fn keep(mut self) {
        self.blocks.clear();
    }
}

impl Drop for NewBlocks<'_> {
    fn drop(&mut self) {
        self.arena.free_all(self.blocks.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Region, RegionSizes, RegionSource};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn arena(bytes_max: u64) -> Arena {
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(6, 10).unwrap()));
        Arena::new(words, LineNumber(1), bytes_max)
    }

    #[test]
    fn a_class_wastes_a_quarter_at_most() {
        for lines in 1..10_000 {
            let class = class_of(lines).unwrap();
            assert!(class >= lines && class - lines <= lines / 4, "{lines}: {class}");
            assert_eq!(class_of(class), Some(class));
        }
        assert_eq!(class_of(u32::MAX), None);
    }

    #[test]
    fn a_freed_block_serves_the_next_of_its_class() {
        let arena = arena(1 << 20);
        let block = arena.allocate(70).unwrap();
        arena.words_of(block)[69].store(5, Ordering::Relaxed);
        arena.free(block);
        assert_eq!(arena.used_bytes(), 0);
        assert_eq!(arena.allocate(80).unwrap(), block);
        assert_ne!(arena.allocate(80).unwrap(), block);
        assert_eq!(arena.used_bytes(), 2 * 10 * LINE_BYTES);
    }

    /// Fills the arena with blocks of so many lines; how many there is room for.
    fn fill(arena: &Arena, lines: usize) -> Vec<ArenaBlock> {
        let blocks = std::iter::from_fn(|| match arena.allocate(lines * LINE_WORDS) {
            Ok(block) => Some(block),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                None
            }
        });
        blocks.collect()
    }

    /// With regions from 64 to 256 KiB.
    fn larger_arena(bytes_max: u64) -> Arena {
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(13, 15).unwrap()));
        Arena::new(words, LineNumber(1), bytes_max)
    }

    #[test]
    fn what_blocks_of_one_size_give_back_serves_those_of_every_other() {
        let arena = larger_arena(1 << 20);
        let sizes = (1..=1024).filter(|lines| class_of(*lines) == Some(*lines));
        for lines in sizes.clone().chain(sizes.rev()) {
            let blocks = fill(&arena, lines as usize);
            let used = arena.used_bytes();
            assert!(
                used > (1 << 20) - u64::from(lines) * LINE_BYTES,
                "{used} bytes in blocks of {lines} lines"
            );
            arena.free_all(blocks);
        }
        // What is in use at once, what regions leave at their ends, and what is open ahead.
        let open = arena.words().open_bytes();
        assert!(open <= 2 << 20, "{open} bytes for one mebibyte");
    }

    #[test]
    fn small_blocks_are_joined_only_when_the_newest_region_has_no_room() {
        let arena = arena(1 << 20);
        // The first region has eight lines, the first of which is not the arena's.
        let blocks: Vec<_> = (0..4).map(|_| arena.allocate(8).unwrap()).collect();
        arena.free_all(blocks);
        assert_eq!(arena.allocate(2 * LINE_WORDS).unwrap().line, LineNumber(5), "what was never used");
        assert_eq!(arena.allocate(4 * LINE_WORDS).unwrap().line, LineNumber(1), "the four, in one piece");
    }

    #[test]
    fn however_small_the_pieces_are_it_grows_to_twice_its_limit_and_two_regions() {
        let arena = larger_arena(1 << 20);
        let mut kept = Vec::new();
        for lines in (0..10).map(|doubled| 1 << doubled) {
            let (last, rest): (Vec<_>, Vec<_>) =
                fill(&arena, lines).into_iter().enumerate().partition(|(at, _)| at % 8 == 7);
            arena.free_all(rest.into_iter().map(|(_, block)| block));
            kept.extend(last.into_iter().map(|(_, block)| block));
            let open = arena.words().open_bytes();
            assert!(open <= (2 << 20) + 2 * (256 << 10), "{open} bytes for one mebibyte");
        }
        arena.free_all(kept);
        assert_eq!(fill(&arena, 1024).len(), 16, "it is whole again");
    }

    #[test]
    fn what_is_too_much_is_refused_with_its_figures_and_nothing_is_kept() {
        let arena = arena(1024);
        let blocks = [8, 100].map(|words| arena.allocate(words).unwrap());
        let more: Vec<_> = std::iter::from_fn(|| arena.allocate(8).ok()).collect();
        let error = arena.allocate(8).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(
            error.to_string().contains("live is full: 1024 bytes of 1024 are in use, 64 more"),
            "{error}"
        );
        // Under the latch there is no limit.
        let beyond = arena.allocate_for_commit(8);
        assert_eq!(arena.used_bytes(), 1024 + LINE_BYTES);
        blocks.into_iter().chain(more).chain([beyond]).for_each(|block| arena.free(block));
        assert_eq!(arena.used_bytes(), 0);
        // Larger than the largest region: it never fits.
        assert_eq!(self::arena(1 << 40).allocate(1025).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(self::arena(1 << 40).allocate(usize::MAX).unwrap_err().kind(), ErrorKind::Invalid);
    }

    /// Beyond the last region, a higher limit would help nobody.
    #[test]
    fn why_nothing_is_free_is_told_by_what_helps() {
        let refused = |arena: &Arena, words: usize| {
            let error = arena.allocate(words).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit);
            error.to_string()
        };
        // As many regions as there can be, of one line each.
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(3, 3).unwrap()));
        let arena = Arena::new(words, LineNumber(1), 1 << 40);
        let blocks = fill(&arena, 1);
        assert!(blocks.len() > 1_000, "{} blocks", blocks.len());
        let text = refused(&arena, 8);
        assert!(text.contains("a higher live_bytes_max does not help"), "{text}");
        // Four regions, all that there may be, in which nowhere 64 lines in a row are free.
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(13, 13).unwrap()));
        let arena = Arena::new(words, LineNumber(1), 2048 * LINE_BYTES);
        for lines in [1, 8] {
            let freed = fill(&arena, lines).into_iter().enumerate().filter(|(at, _)| at % 8 != 7);
            arena.free_all(freed.map(|(_, block)| block));
        }
        fill(&arena, 64);
        assert!(arena.used_bytes() < 1024 * LINE_BYTES);
        let text = refused(&arena, 64 * LINE_WORDS);
        assert!(text.contains("it grows to twice live_bytes_max"), "{text}");
    }

    #[test]
    fn the_smallest_block_that_fits_is_taken() {
        let arena = arena(1 << 20);
        let mut blocks: Vec<_> = [100, 8, 30].map(|words| arena.allocate(words).unwrap()).into();
        assert_eq!(take_fitting(&mut blocks, 9).unwrap().lines, 4);
        assert_eq!(take_fitting(&mut blocks, 9).unwrap().lines, 14);
        assert!(take_fitting(&mut blocks, 9).is_none() && blocks.len() == 1);
    }

    #[test]
    fn a_region_is_opened_before_a_commit_under_the_latch_needs_it() {
        let words = Arc::new(SharedWords::on_heap(RegionSizes::new(18, 20).unwrap()));
        let arena = Arena::new(Arc::clone(&words), LineNumber(1), 1 << 40);
        // The first region has 2^15 lines.
        let opened = |words: &SharedWords| format!("{words:?}").matches("HeapRegion(").count();
        arena.allocate(8).unwrap();
        assert!(opened(&words) == 1 && !arena.is_short());
        arena.allocate(8 << 14).unwrap();
        assert!(opened(&words) == 1 && arena.is_short(), "the merge thread opens it");
        arena.open_ahead().unwrap();
        assert!(opened(&words) == 2 && !arena.is_short());
        arena.allocate(8).unwrap();
        assert!(!arena.is_short());
        // The second ends at 2^16 lines; nobody opens the third in time.
        arena.allocate(8 * 24_576).unwrap();
        assert!(opened(&words) == 2 && arena.is_short());
        // What the first one had left.
        arena.allocate(8 * 14_336).unwrap();
        arena.allocate(8 << 13).unwrap();
        assert_eq!(opened(&words), 3, "some is left for commits");
    }

    /// A source of regions, each of which takes until somebody says so.
    #[derive(Debug)]
    struct SlowRegions {
        path: PathBuf,
        begun: Mutex<Sender<u64>>,
        go_on: Mutex<Receiver<()>>,
    }

    #[derive(Debug)]
    struct HeapWords(Box<[AtomicU64]>);

    impl Region for HeapWords {
        fn words(&self) -> &[AtomicU64] {
            &self.0
        }
    }

    impl RegionSource for SlowRegions {
        fn path(&self) -> &Path {
            &self.path
        }

        fn region(&self, first: u64, words: usize) -> Result<Arc<dyn Region>> {
            self.begun.lock().send(first).unwrap();
            self.go_on.lock().recv().unwrap();
            Ok(Arc::new(HeapWords((0..words).map(|_| AtomicU64::new(0)).collect())))
        }
    }

    #[test]
    fn commits_take_and_give_blocks_while_a_region_is_being_opened() {
        let (begun, regions) = channel();
        let (go, go_on) = channel();
        let source =
            SlowRegions { path: PathBuf::from("live"), begun: Mutex::new(begun), go_on: Mutex::new(go_on) };
        let words = Arc::new(SharedWords::new(Arc::new(source), RegionSizes::new(18, 18).unwrap()));
        let arena = Arena::new(words, LineNumber(1), 1 << 40);
        go.send(()).unwrap();
        let block = arena.allocate(8 << 14).unwrap();
        assert_eq!(regions.recv().unwrap(), 0);
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| arena.open_ahead());
            assert_eq!(regions.recv().unwrap(), 1 << 18);
            let other = arena.allocate_for_commit(8);
            arena.free_all([block, other]);
            go.send(()).unwrap();
            opening.join().unwrap().unwrap();
        });
        assert_eq!(arena.used_bytes(), 0);
    }

    proptest! {
        #[test]
        fn no_two_blocks_share_a_line(steps in proptest::collection::vec((1usize..900, 0usize..4), 1..80)) {
            let arena = arena(1 << 30);
            let mut blocks: Vec<ArenaBlock> = Vec::new();
            for (words, frees) in steps {
                for _ in 0..frees.min(blocks.len()) {
                    arena.free(blocks.swap_remove(words % blocks.len()));
                }
                let block = arena.allocate(words).unwrap();
                prop_assert!(arena.words_of(block).len() >= words);
                blocks.push(block);
            }
            let mut lines = BTreeSet::new();
            for block in &blocks {
                for line in block.line.0..block.line.0 + block.lines {
                    prop_assert!(line > 0 && lines.insert(line), "line {} twice", line);
                }
            }
            prop_assert_eq!(arena.used_bytes(), lines.len() as u64 * LINE_BYTES);
        }
    }
}
