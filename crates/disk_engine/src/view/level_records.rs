//! Level records: what a reader at S asks of a level below L0.
//!
//! ```text
//! items     (7, 3) (7, 41) (2, 9) (7, 44)      each is in one file at most
//! files      csr-8  csr-3   csr-8  csr-3       each file is asked once, about its own items, in their order
//! a list    its files by key, from the one that has `after` on, until there are enough items
//! a group   its files, which are few: the sums of their directories
//! ```
//!
//! Files without any of the items are not asked. The pages of all items are gathered, over all files, and read side by
//! side; then files are asked in turn.
//!
//! A level may have files of a bulk load that is newer than the reader; such a file says nothing.
//!
//! Source: disk-engine, section 5 (Point read: one page a level).

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::level::Level;
use crate::source::{EntriesSize, ListedItem, PropertyAnswer, PropertyMap, RecordSource};
use crate::view::read_source::ReadSource;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::index::entry_range::{EntryOrder, EntryRange};
use evergraph_storage::view::GroupBits;
use std::ops::Range;

/// The records of a level as of one timestamp.
///
/// # Concurrency
/// As a file's: any thread reads; a read may wait for the disk.
#[derive(Debug)]
pub struct LevelRecords<'l, F> {
    level: &'l Level<F>,
    until: Timestamp,
}

impl<F> Clone for LevelRecords<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for LevelRecords<'_, F> {}

impl<'l, F: ReadSource> LevelRecords<'l, F> {
    /// What `level` says at `until`. Cost: none.
    #[must_use]
    #[inline]
    pub const fn new(level: &'l Level<F>, until: Timestamp) -> Self {
        Self { level, until }
    }

    #[inline]
    fn file(&self, place: usize) -> F::Records<'l> {
        self.level.files()[place].at(self.until)
    }

    fn files(&self, places: Range<usize>) -> impl Iterator<Item = F::Records<'l>> {
        let until = self.until;
        self.level.files()[places].iter().map(move |file| file.at(until))
    }

    /// Calls `ask` for each file at one of the `places` of some `questions`, with those questions in their order, scratch
    /// space and (file, place among all questions) of each.
    fn each_file<Q: Copy, A>(
        &self,
        questions: &[Q],
        places: impl Fn(usize) -> Range<usize>,
        mut ask: impl FnMut(F::Records<'l>, &[Q], &mut Vec<A>, &[(usize, usize)]) -> Result<()>,
    ) -> Result<()> {
        let mut asked: Vec<(usize, usize)> = Vec::with_capacity(questions.len());
        for at in 0..questions.len() {
            asked.extend(places(at).map(|place| (place, at)));
        }
        asked.sort_unstable();
        let (mut questions_of_file, mut scratch) = (Vec::new(), Vec::new());
        for of_file in asked.chunk_by(|(left, _), (right, _)| left == right) {
            questions_of_file.clear();
            questions_of_file.extend(of_file.iter().map(|(_, at)| questions[*at]));
            ask(self.file(of_file[0].0), &questions_of_file, &mut scratch, of_file)?;
        }
        Ok(())
    }

    /// Calls `ask` for each file that may have items whose answers are open, with those items and answers.
    fn ask<A: Clone>(
        &self,
        items: &[(ListId, ItemKey)],
        answers: &mut [A],
        is_open: impl Fn(&A) -> bool,
        ask: impl Fn(F::Records<'l>, &[(ListId, ItemKey)], &mut [A]) -> Result<()>,
    ) -> Result<()> {
        let place_of = |at: usize| self.level.place_of(items[at].0, items[at].1);
        if items.len() == 1 {
            return match place_of(0).filter(|_| is_open(&answers[0])) {
                Some(place) => ask(self.file(place), items, answers),
                None => Ok(()),
            };
        }
        let open = (0..items.len()).filter(|at| is_open(&answers[*at]));
        let mut asked: Vec<(usize, usize)> = open.filter_map(|at| Some((place_of(at)?, at))).collect();
        let Some((first, _)) = asked.first() else { return Ok(()) };
        // Mostly the items of one list, in one file; what is not open it leaves alone.
        if asked.len() == items.len() && asked.iter().all(|(place, _)| place == first) {
            return ask(self.file(*first), items, answers);
        }
        // By file; in each in the order of the items.
        asked.sort_unstable();
        let items_by_file: Vec<_> = asked.iter().map(|(_, at)| items[*at]).collect();
        let mut answers_by_file: Vec<_> = asked.iter().map(|(_, at)| answers[*at].clone()).collect();
        let mut end = 0;
        let files = asked.chunk_by(|(left, _), (right, _)| left == right).map(|of_file| {
            let start = end;
            end += of_file.len();
            (self.file(of_file[0].0), start..end)
        });
        let files: Vec<_> = files.collect();
        F::read_ahead(&files, &items_by_file);
        for (file, range) in files {
            ask(file, &items_by_file[range.clone()], &mut answers_by_file[range])?;
        }
        for ((_, at), answer) in asked.into_iter().zip(answers_by_file) {
            answers[at] = answer;
        }
        Ok(())
    }
}

impl<F: ReadSource> RecordSource for LevelRecords<'_, F> {
    fn presence(&self, items: &[(ListId, ItemKey)], found: &mut [Option<bool>]) -> Result<()> {
        self.ask(items, found, Option::is_none, |file, items, found| file.presence(items, found))
    }

    fn property(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        let is_open = |answer: &PropertyAnswer| *answer == PropertyAnswer::Undecided;
        self.ask(items, answers, is_open, |file, items, answers| file.property(items, key, answers))
    }

    fn property_map(&self, list: ListId, item: ItemKey, map: &mut PropertyMap) -> Result<()> {
        match self.level.place_of(list, item).filter(|_| !map.is_complete) {
            Some(place) => self.file(place).property_map(list, item, map),
            None => Ok(()),
        }
    }

    fn list(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        let start = items.len();
        // A file that ends with `after` has nothing behind it, and says so.
        let places = self.level.places_of_items(list, after.unwrap_or(ItemKey::VERTEX)..=ItemKey::LAST);
        let end = places.end;
        for place in places {
            let left = limit - (items.len() - start);
            let has_more = self.file(place).list(list, after, left, items)?;
            let is_full = items.len() - start >= limit;
            if has_more || is_full {
                return Ok(has_more || place + 1 < end);
            }
        }
        Ok(false)
    }

    fn between(&self, list: ListId, neighbor: VertexId, items: &mut Vec<ListedItem>) -> Result<()> {
        let places = self.level.places_of_items(list, ItemKey::parallel(neighbor));
        self.files(places).try_for_each(|file| file.between(list, neighbor, items))
    }

    fn between_each(&self, pairs: &[(ListId, VertexId)], items: &mut Vec<(usize, ListedItem)>) -> Result<()> {
        let places = |at: usize| {
            let (list, neighbor) = pairs[at];
            self.level.places_of_items(list, ItemKey::parallel(neighbor))
        };
        self.each_file(pairs, places, |file, pairs, found, at| {
            file.between_each(pairs, found)?;
            // Those of one pair in two files ascend as the files do.
            items.extend(found.drain(..).map(|(place, listed)| (at[place].1, listed)));
            Ok(())
        })
    }

    fn read_ahead(&self, lists: &[ListId]) {
        let places = |at: usize| self.level.places_of_lists(&(lists[at]..=lists[at]));
        let _ = self.each_file(lists, places, |file, lists, _: &mut Vec<()>, _| {
            file.read_ahead(lists);
            Ok(())
        });
    }

    fn differences(&self, lists: &[ListId], differences: &mut [i64]) -> Result<()> {
        let places = |at: usize| self.level.places_of_lists(&(lists[at]..=lists[at]));
        self.each_file(lists, places, |file, lists, sums, of_file| {
            sums.clear();
            sums.resize(lists.len(), 0);
            file.differences(lists, sums)?;
            for ((_, at), sum) in of_file.iter().zip(sums) {
                differences[*at] += *sum;
            }
            Ok(())
        })
    }

    fn group_difference(&self, subject: Subject, group: GroupId) -> Result<i64> {
        let places = self.level.places_of_group(subject, group);
        self.files(places).map(|file| file.group_difference(subject, group)).sum()
    }

    fn apply_live(&self, group: GroupId, live: &mut GroupBits) -> Result<()> {
        let places = self.level.places_of_group(Subject::VERTICES, group);
        self.files(places).try_for_each(|file| file.apply_live(group, live))
    }

    fn mark_rows(&self, subject: Subject, group: GroupId, rows: &mut GroupBits) -> Result<()> {
        let places = self.level.places_of_group(subject, group);
        self.files(places).try_for_each(|file| file.mark_rows(subject, group, rows))
    }

    fn index_size(&self, index: Subject) -> EntriesSize {
        let places = self.level.places_of_subjects(&(index..=index));
        self.files(places).map(|file| file.index_size(index)).sum()
    }

    fn index_entries(
        &self,
        index: Subject,
        range: &EntryRange<'_>,
        count_max: usize,
        entries: &mut Vec<VisibleEntry>,
    ) -> Result<()> {
        let (low, high) = range.low_and_high();
        let places = self.level.places_of_values(index, low.value().unwrap_or(&[]), high.value());
        let end = entries.len().saturating_add(count_max);
        let mut ask = |place: usize| {
            let left = end - entries.len();
            if left > 0 { self.file(place).index_entries(index, range, left, entries) } else { Ok(()) }
        };
        match range.order {
            EntryOrder::Ascending => places.into_iter().try_for_each(&mut ask),
            EntryOrder::Descending => places.rev().try_for_each(&mut ask),
        }
    }
}

// Schedules are explored by other tests; outside of them locks of shuttle and loom do not work.
#[cfg(test)]
#[cfg(not(any(shuttle, loom)))]
mod tests {
    use super::*;
    use crate::file::csr_file::CsrFile;
    use crate::file::entry_scan::EntryScan;
    use crate::file::file_scan::FileScan;
    use crate::file::tests::answers::{check_records, directory, reader};
    use crate::file::tests::model::{HistorySize, Model, Version, below};
    use crate::format::entries::entry::EntryRecord;
    use crate::format::file_head::FileStamps;
    use crate::format::file_name::FileNumber;
    use crate::format::operation::RecordOperation;
    use crate::level_scan::LevelScan;
    use crate::merge::entry_merge::EntrySource;
    use crate::merge::list_source::{ListKey, ListSource};
    use crate::stored_file::StoredFile;
    use crate::writer::file_writer::{FileWriter, NewFile};
    use evergraph_graph::index_entry::ItemId;
    use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
    use evergraph_storage::io::directory::Directory;
    use evergraph_storage::io::environment::Background;
    use evergraph_storage::io::random::SplitMix64;
    use std::ops::RangeInclusive;
    use std::sync::Arc;

    const READER: Timestamp = Timestamp(50);
    const LOADED: Timestamp = Timestamp(60);

    fn new_file(number: u64, ts: Timestamp) -> NewFile {
        let stamps = FileStamps::Unstamped;
        NewFile { number: FileNumber(number), level: 3, stamps, first_ts: ts, last_ts: ts }
    }

    fn open(directory: &Arc<dyn Directory>, files: &[StoredFile]) -> Arc<Level<CsrFile>> {
        let reader = reader(40 << 14, Background::Stepped);
        let open = |file| Arc::new(CsrFile::open(directory, file, &reader).unwrap());
        Arc::new(Level::new(files.iter().rev().map(open).collect()).unwrap())
    }

    /// The versions of `model` in files cut anywhere, some of them of a load that is newer than the reader;
    /// and what the reader sees of them.
    fn cut(model: &Model, random: &mut SplitMix64, loads: u64) -> (Arc<Level<CsrFile>>, Model) {
        let directory = directory();
        let (mut rest, mut seen, mut files) = (model.versions.as_slice(), Vec::<Version>::new(), Vec::new());
        while !rest.is_empty() {
            let about = 1 + below(random, 1 + model.versions.len() as u64 / 5) as usize;
            let (piece, left) = rest.split_at(about.min(rest.len()));
            let is_loaded = below(random, 10) < loads;
            let new = new_file(1 + files.len() as u64, if is_loaded { LOADED } else { Timestamp(40) });
            files.push(Model::write_versions(&directory, &new, piece));
            if !is_loaded {
                seen.extend_from_slice(piece);
            }
            rest = left;
        }
        (open(&directory, &files), Model::of(FileStamps::Unstamped, seen))
    }

    #[test]
    fn a_level_cut_anywhere_answers_as_one_file() {
        for seed in 0..10 {
            let mut random = SplitMix64::new(seed);
            let size = if seed < 2 { HistorySize::Large } else { HistorySize::Small };
            let model = Model::random(seed, FileStamps::Unstamped, size);
            let (level, seen) = cut(&model, &mut random, if seed % 2 == 0 { 0 } else { 3 });
            assert!(level.files().len() > 3);
            for _ in 0..2 {
                check_records(&model, &LevelRecords::new(&level, LOADED), Timestamp::MAX, &mut random);
                if !seen.versions.is_empty() {
                    check_records(&seen, &LevelRecords::new(&level, READER), Timestamp::MAX, &mut random);
                }
            }
        }
    }

    fn scanned(
        level: &Arc<Level<CsrFile>>,
        lists: RangeInclusive<ListId>,
        until: Timestamp,
    ) -> Vec<(ListKey, ItemKey, RecordOperation)> {
        let places = level.places_of_lists(&lists);
        let mut scan = LevelScan::lists(level, places, move |file| {
            let is_seen = !file.at(until).sees_nothing();
            is_seen.then(|| FileScan::new(file, lists.clone())).transpose()
        });
        let scan: &mut LevelScan<_, _, CheckpointError> = scan.as_mut().unwrap();
        let mut found = Vec::new();
        while let Some(slice) = scan.slice() {
            let items = 0..slice.neighbors.len();
            found.extend(items.map(|at| (slice.list, slice.key(at), slice.operation(at))));
            scan.advance().unwrap();
        }
        scan.advance().unwrap();
        assert!(scan.slice().is_none(), "the end stays the end");
        found
    }

    #[test]
    fn a_scan_goes_through_the_files_that_have_the_range_and_that_the_reader_sees() {
        for seed in 0..8 {
            let mut random = SplitMix64::new(seed);
            let size = if seed < 1 { HistorySize::Large } else { HistorySize::Small };
            let model = Model::random(seed, FileStamps::Unstamped, size);
            let (level, seen) = cut(&model, &mut random, 3);
            for _ in 0..6 {
                let [a, b] = [0, 1].map(|_| model.any_item(&mut random).0);
                let lists = a.min(b)..=a.max(b);
                for (model, until) in [(&model, LOADED), (&seen, READER)] {
                    let versions = model.versions.iter().filter(|version| lists.contains(&version.list));
                    let expected: Vec<_> = versions.map(scanned_version).collect();
                    assert!(scanned(&level, lists.clone(), until) == expected, "{lists:?} until {until}");
                }
            }
        }
    }

    /// As merges name it.
    fn scanned_version(version: &Version) -> (ListKey, ItemKey, RecordOperation) {
        let (subject, vertex) = (version.list.subject, version.list.vertex);
        match subject {
            Subject::VERTICES => {
                let list = ListKey { subject, vertex: VertexId(0) };
                (list, ItemKey::edge(vertex, 0), version.operation)
            }
            _ => (ListKey { subject, vertex }, version.item, version.operation),
        }
    }

    #[test]
    fn entries_of_an_index_go_on_from_file_to_file() {
        let directory = directory();
        let index = |number| Subject::index(number).unwrap();
        let (mut files, mut expected) = (Vec::new(), Vec::new());
        for number in 0..4_u32 {
            let mut writer =
                FileWriter::create(&directory, &new_file(u64::from(number) + 1, READER)).unwrap();
            for at in 0..50_u32 {
                let (subject, value) = (index(number / 2), [number as u8, at as u8]);
                let item = ItemId::Vertex(VertexId(at));
                let (operation, stamp) = (RecordOperation::Insert, Timestamp::ZERO);
                writer.push_entry(subject, &EntryRecord { value: &value, item, operation, stamp }).unwrap();
                expected.push((subject, value.to_vec()));
            }
            files.push(writer.finish().unwrap());
        }
        let level = open(&directory, &files);
        let scan = |subjects: RangeInclusive<Subject>| -> CheckpointResult<Vec<(Subject, Vec<u8>)>> {
            let places = level.places_of_subjects(&subjects);
            let mut scan: LevelScan<_, _, CheckpointError> =
                LevelScan::entries(&level, places, move |file| {
                    EntryScan::new(file, subjects.clone()).map(Some)
                })?;
            let mut found = Vec::new();
            while let Some((subject, record)) = scan.entry() {
                found.push((subject, record.value.to_vec()));
                scan.advance()?;
            }
            Ok(found)
        };
        assert_eq!(scan(index(0)..=index(1)).unwrap(), expected);
        assert_eq!(scan(index(1)..=index(1)).unwrap(), expected[100..]);
        assert!(scan(index(2)..=index(9)).unwrap().is_empty());
    }
}
