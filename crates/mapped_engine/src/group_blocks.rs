//! Group blocks: where the groups of `live` lie and which segments they have, in the heap of the process that writes.
//!
//! Nothing is read back from `live`: a group's block is stored anew, from what is known here, when it gets a segment.
//!
//! Concurrency: changed under the latch; blocks are allocated before.

use crate::arena::{Arena, ArenaBlock, NewBlocks};
use crate::files::segment_id::INDEXES;
use crate::group::{PAGE_GROUPS, SegmentSubject, group_words, store_group, version_word};
use crate::live::Live;
use crate::version_reference::VersionReference;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// What a segment is about, and where readers find its version.
pub type SegmentReference = (SegmentSubject, Arc<VersionReference>);

/// The blocks of groups.
///
/// # Concurrency
/// Lock order: `adding`, the latch, `groups`, `pages`.
#[derive(Debug, Default)]
pub struct GroupBlocks {
    groups: Mutex<HashMap<GroupId, GroupBlock>>,
    /// The block of each page that there is.
    pages: Mutex<HashMap<usize, ArenaBlock>>,
    /// Held by whoever adds a segment to a group, from before its block is allocated.
    adding: Mutex<()>,
}

#[derive(Debug)]
struct GroupBlock {
    block: ArenaBlock,
    label: LabelId,
    /// Ascending by subject.
    segments: Vec<SegmentReference>,
}

impl GroupBlocks {
    /// Makes a group without segments, unless it is there.
    ///
    /// # Errors
    /// As [`Arena::allocate`].
    ///
    /// # Panics
    /// If the group's number is out of range: ids are checked where they are given out and decoded.
    pub fn open(&self, live: &Live, arena: &Arena, number: GroupId, label: LabelId) -> Result<()> {
        if self.groups.lock().contains_key(&number) {
            return Ok(());
        }
        self.open_page(live, arena, number)?;
        let mut new = NewBlocks::new(arena);
        let block = new.allocate(group_words(0))?;
        if self.insert(live, arena, number, label, block, Vec::new()) {
            new.keep();
        }
        Ok(())
    }

    /// Makes the page of a group, unless it is there: see [`GroupBlocks::insert`].
    ///
    /// # Errors
    /// As [`Arena::allocate`].
    pub fn open_page(&self, live: &Live, arena: &Arena, number: GroupId) -> Result<()> {
        let at = number.0 as usize / PAGE_GROUPS;
        if self.pages.lock().contains_key(&at) {
            return Ok(());
        }
        let mut new = NewBlocks::new(arena);
        let block = new.allocate(PAGE_GROUPS)?;
        arena.words_of(block).iter().for_each(|word| word.store(0, Ordering::Relaxed));
        let mut pages = self.pages.lock();
        // Another thread may have been first.
        if let Entry::Vacant(page) = pages.entry(at) {
            live.group_directory()[at].store(block.line.0.into(), Ordering::Release);
            page.insert(block);
            drop(pages);
            new.keep();
        }
        Ok(())
    }

    /// Makes a group with these segments, ascending by subject, in `block`, unless it is there; whether it wasn't. Its page is.
    pub fn insert(
        &self,
        live: &Live,
        arena: &Arena,
        number: GroupId,
        label: LabelId,
        block: ArenaBlock,
        segments: Vec<SegmentReference>,
    ) -> bool {
        let mut groups = self.groups.lock();
        if groups.contains_key(&number) {
            return false;
        }
        store_segments(arena, block, label, &segments);
        self.refer_to(arena, number, block);
        if number != INDEXES {
            live.raise_group_end(number.0 + 1);
        }
        groups.insert(number, GroupBlock { block, label, segments });
        true
    }

    /// Held from before the block of a group with another segment is allocated until that is added.
    pub fn adding(&self) -> MutexGuard<'_, ()> {
        self.adding.lock()
    }

    /// The words that an open group takes with another segment.
    ///
    /// # Panics
    /// If the group isn't open.
    #[must_use]
    pub fn words_with_another(&self, number: GroupId) -> usize {
        group_words(self.groups.lock()[&number].segments.len() + 1)
    }

    /// Gives the group a segment, in `block`; the block that was replaced, which readers may have still. Under the latch.
    ///
    /// # Panics
    /// If the group has that segment, or isn't open.
    #[must_use]
    pub fn add(
        &self,
        arena: &Arena,
        number: GroupId,
        segment: SegmentReference,
        block: ArenaBlock,
    ) -> ArenaBlock {
        let mut groups = self.groups.lock();
        let group = groups.get_mut(&number).expect("the group is open");
        let at = group.segments.binary_search_by_key(&segment.0, |segment| segment.0);
        group.segments.insert(at.expect_err("a segment is added once"), segment);
        store_segments(arena, block, group.label, &group.segments);
        self.refer_to(arena, number, block);
        std::mem::replace(&mut group.block, block)
    }

    fn refer_to(&self, arena: &Arena, number: GroupId, block: ArenaBlock) {
        let pages = self.pages.lock();
        let page = arena.words_of(pages[&(number.0 as usize / PAGE_GROUPS)]);
        page[number.0 as usize % PAGE_GROUPS].store(block.line.0.into(), Ordering::Release);
    }
}

/// Stores a group into a block that nothing refers to yet, and lets the versions of its segments be replaced there.
fn store_segments(arena: &Arena, block: ArenaBlock, label: LabelId, segments: &[SegmentReference]) {
    let versions = segments.iter().map(|(subject, reference)| (*subject, reference.version()));
    store_group(arena.words_of(block), label, versions);
    for (at, (_, reference)) in segments.iter().enumerate() {
        reference.moved_to(block.line, version_word(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::SharedGroup;
    use crate::live_head::LiveHead;
    use crate::words::{LineNumber, RegionSizes, SharedWords};
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::sync::atomic::AtomicU64;

    struct Groups {
        live: Live,
        arena: Arena,
        blocks: GroupBlocks,
    }

    impl Groups {
        fn new() -> Self {
            let sizes = RegionSizes::new(13, 13).unwrap();
            let head = LiveHead { opening: 1, process: 1, sizes, slots: 16 };
            let live = Live::create(Arc::new(SharedWords::on_heap(sizes)), head, Timestamp::ZERO).unwrap();
            let arena = Arena::new(Arc::clone(live.words()), head.first_block(), 1 << 20);
            Self { live, arena, blocks: GroupBlocks::default() }
        }

        fn open(&self, number: GroupId, label: u16) {
            self.blocks.open(&self.live, &self.arena, number, LabelId(label)).unwrap();
        }

        fn add(&self, number: GroupId, subject: u32, version: u32) -> Arc<VersionReference> {
            let reference = Arc::new(VersionReference::new(LineNumber(version)));
            let block = self.arena.allocate(self.blocks.words_with_another(number)).unwrap();
            let segment = (SegmentSubject(subject), Arc::clone(&reference));
            let _old = self.blocks.add(&self.arena, number, segment, block);
            reference
        }

        fn group(&self, number: GroupId) -> Option<SharedGroup<'_>> {
            SharedGroup::find(&self.live, number).unwrap()
        }
    }

    #[test]
    fn a_group_finds_the_version_of_each_of_its_segments() {
        let groups = Groups::new();
        let number = GroupId(5000);
        assert!(groups.group(number).is_none());
        groups.open(number, 7);
        groups.open(number, 9);
        assert_eq!(groups.group(number).map(|group| group.label), Some(LabelId(7)));
        let mut before = Vec::new();
        let mut references = Vec::new();
        for (subject, version) in [(30, 300), (10, 100), (20, 200)] {
            before.push(groups.group(number).unwrap());
            references.push(groups.add(number, subject, version));
        }
        references[1].refer_to(groups.live.words(), LineNumber(101));
        let group = groups.group(number).unwrap();
        let versions = [9, 10, 20, 30, 31].map(|subject| group.version(SegmentSubject(subject)).unwrap());
        assert_eq!(
            versions.map(|line| line.map(|line| line.0)),
            [None, Some(101), Some(200), Some(300), None]
        );
        assert_eq!(group.subjects().collect::<Vec<_>>(), [10, 20, 30].map(SegmentSubject));
        // Whoever had the block before goes on with what it says.
        assert_eq!(before[2].version(SegmentSubject(10)).unwrap(), Some(LineNumber(100)));
        assert_eq!(before[1].version(SegmentSubject(10)).unwrap(), None);
        assert!(groups.group(GroupId(GroupId::END)).is_none());
    }

    /// The word of `live` that something is found by.
    type Damage = fn(&Groups) -> &AtomicU64;

    const NUMBER: GroupId = GroupId(3);
    const DIRECTORY: Damage = |groups| &groups.live.group_directory()[0];
    const PAGE: Damage = |groups| {
        let page = LineNumber(groups.live.group_directory()[0].load(Ordering::Relaxed) as u32);
        &groups.live.words().slice(page, PAGE_GROUPS).unwrap()[NUMBER.0 as usize]
    };
    const HEAD: Damage = |groups| {
        let group = LineNumber(PAGE(groups).load(Ordering::Relaxed) as u32);
        &groups.live.words().slice(group, 3).unwrap()[0]
    };
    const VERSION: Damage = |groups| {
        let group = LineNumber(PAGE(groups).load(Ordering::Relaxed) as u32);
        &groups.live.words().slice(group, 3).unwrap()[2]
    };

    #[test]
    fn damage_of_directory_page_and_group_is_an_error_that_names_its_place() {
        for (damage, value) in [
            (DIRECTORY, 1 << 32),
            (DIRECTORY, u64::from(u32::MAX)),
            (PAGE, u64::MAX),
            (PAGE, u64::from(u32::MAX)),
            (HEAD, u64::MAX),
            (HEAD, 1 << 32 | 0x10000),
            (VERSION, 0),
            (VERSION, 1 << 40),
        ] {
            let groups = Groups::new();
            groups.open(NUMBER, 7);
            groups.add(NUMBER, 1, 50);
            damage(&groups).store(value, Ordering::Relaxed);
            let read = || {
                SharedGroup::find(&groups.live, NUMBER)?
                    .map(|group| group.version(SegmentSubject(1)))
                    .transpose()
            };
            let error = read().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains("live is damaged at byte"), "{error}");
        }
    }

    /// Another process may store anywhere.
    #[test]
    fn the_writer_reads_nothing_back_when_a_group_changes() {
        for damage in [DIRECTORY, PAGE, HEAD, VERSION] {
            let groups = Groups::new();
            groups.open(NUMBER, 7);
            let reference = groups.add(NUMBER, 5, 50);
            let word = damage(&groups);
            let sound = word.load(Ordering::Relaxed);
            word.store(u64::MAX, Ordering::Relaxed);
            reference.refer_to(groups.live.words(), LineNumber(51));
            groups.add(NUMBER, 1, 40);
            if std::ptr::eq(word, DIRECTORY(&groups)) {
                word.store(sound, Ordering::Relaxed);
            }
            let group = groups.group(NUMBER).unwrap();
            let versions = [1, 5].map(|subject| group.version(SegmentSubject(subject)).unwrap());
            assert_eq!(versions, [Some(LineNumber(40)), Some(LineNumber(51))]);
        }
    }
}
