//! Tree: files in levels, compacted in steps, and everything that can be read of them.

use crate::history::{Key, State, Values};
use evergraph_disk_engine::compact::job::CompactionJob;
use evergraph_disk_engine::compact::output::OutputLimits;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::entry_scan::EntryScan;
use evergraph_disk_engine::file::file_scan::FileScan;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{Subject, SubjectKind};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::merge::entry_merge::EntryMerge;
use evergraph_disk_engine::merge::list_merge::ListMerge;
use evergraph_disk_engine::source::{PropertyMap, RecordSource};
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::memory_budget::MemoryBudget;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// L0 newest first; below it each level by key.
pub struct Tree {
    pub directory: Arc<dyn Directory>,
    pub reader: Arc<PageReader>,
    pub levels: Vec<Vec<Arc<CsrFile>>>,
    pub next_number: u64,
    pub limits: OutputLimits,
}

impl Tree {
    pub fn new(directory: Arc<dyn Directory>, limits: OutputLimits) -> Self {
        let reader = PageReader::start(&MemoryBudget::new(1 << 20), Background::Stepped).unwrap();
        Self { directory, reader, levels: vec![Vec::new(); 4], next_number: 1, limits }
    }

    pub fn take_number(&mut self) -> FileNumber {
        self.next_number += 1;
        FileNumber(self.next_number - 1)
    }

    pub fn open(&self, stored: &StoredFile) -> Arc<CsrFile> {
        Arc::new(CsrFile::open(&self.directory, stored, &self.reader).unwrap())
    }

    /// All files, newest first.
    pub fn files(&self) -> Vec<Arc<CsrFile>> {
        self.levels.iter().flatten().cloned().collect()
    }

    /// Compacts `inputs`, newest first.
    pub fn run(
        &mut self,
        inputs: &[Arc<CsrFile>],
        level: u8,
        below: Below,
    ) -> CheckpointResult<Vec<StoredFile>> {
        let mut job = CompactionJob::new(inputs.to_vec(), level, DeleteRule::new(below, []));
        job.limits = self.limits;
        // Columns are closed after each plan, or stay open.
        job.kept_columns_bytes = [0, 200_000, u64::MAX >> 1][(self.next_number % 3) as usize];
        let directory = Arc::clone(&self.directory);
        job.run(&directory, &mut || self.take_number(), &|| false)
    }

    /// Replaces L0's file `at` by what it is without stamps.
    pub fn strip_stamps(&mut self, at: usize) {
        let file = Arc::clone(&self.levels[0][at]);
        let stored = self.run(&[file], 0, Below::OlderRecords).unwrap();
        check_disjoint(&stored);
        let opened: Vec<_> = stored.iter().map(|stored| self.open(stored)).collect();
        self.levels[0].splice(at..=at, opened);
    }

    /// Merges `upper`, files of `level` that nothing else of it is older than, and what they overlap, into the level below.
    pub fn compact(&mut self, level: usize, upper: &[Arc<CsrFile>]) -> usize {
        let first = upper.iter().map(|file| file.stored().first_key.clone()).min().unwrap();
        let last = upper.iter().map(|file| file.stored().last_key.clone()).max().unwrap();
        let overlaps =
            |file: &&Arc<CsrFile>| file.stored().first_key <= last && first <= file.stored().last_key;
        let lower: Vec<_> = self.levels[level + 1].iter().filter(overlaps).cloned().collect();
        let inputs: Vec<_> = upper.iter().chain(&lower).cloned().collect();
        let hull_first = inputs.iter().map(|file| file.stored().first_key.clone()).min().unwrap();
        let hull_last = inputs.iter().map(|file| file.stored().last_key.clone()).max().unwrap();
        let is_older = |file: &Arc<CsrFile>| {
            file.stored().first_key <= hull_last && hull_first <= file.stored().last_key
        };
        let has_older = self.levels[level + 2..].iter().flatten().any(is_older);
        let below = if has_older { Below::OlderRecords } else { Below::Nothing };
        let stored = self.run(&inputs, level as u8 + 1, below).unwrap();
        check_disjoint(&stored);
        let gone: BTreeSet<FileNumber> = inputs.iter().map(|file| file.number()).collect();
        self.levels.iter_mut().for_each(|level| level.retain(|file| !gone.contains(&file.number())));
        let opened: Vec<_> = stored.iter().map(|stored| self.open(stored)).collect();
        let below = &mut self.levels[level + 1];
        below.extend(opened);
        below.sort_by_key(|file| file.stored().first_key.clone());
        check_disjoint(&below.iter().map(|file| file.stored().clone()).collect::<Vec<_>>());
        stored.len()
    }
}

fn check_disjoint(files: &[StoredFile]) {
    assert!(files.iter().all(|file| file.first_key <= file.last_key));
    assert!(files.is_sorted_by(|left, right| left.last_key < right.first_key), "{files:?}");
}

/// The state, by questions for each key.
pub fn read_items(files: &[Arc<CsrFile>], keys: &BTreeSet<Key>) -> State {
    let mut state = State::default();
    let sources: Vec<_> = files.iter().map(|file| file.at(Timestamp::MAX)).collect();
    for key in keys {
        let Key::Item(list, item) = key else { continue };
        let (mut found, mut map) = ([None], PropertyMap::default());
        for source in &sources {
            source.presence(&[(*list, *item)], &mut found).unwrap();
            if !map.is_complete {
                source.property_map(*list, *item, &mut map).unwrap();
            }
        }
        if found[0] == Some(true) {
            let values: Values = map.into_present().into_iter().collect();
            state.items.insert((*list, *item), values);
        }
    }
    state
}

type ItemSet = BTreeSet<(ListId, ItemKey)>;
type EntrySet = BTreeSet<(Subject, Vec<u8>, u32)>;

/// What a merge of all files says is there, without properties.
pub fn scan(files: &[Arc<CsrFile>]) -> (ItemSet, EntrySet) {
    let (mut items, mut entries) = (BTreeSet::new(), BTreeSet::new());
    let sources = files.iter().map(|file| FileScan::all(file).unwrap()).collect();
    let mut merge = ListMerge::new(sources, Timestamp::MAX, DeleteRule::new(Below::Nothing, []));
    while let Some(run) = merge.next_run().unwrap() {
        for (at, neighbor) in run.neighbors.iter().enumerate() {
            let operation = run.operations.get(at).copied().unwrap_or(RecordOperation::Insert);
            assert_eq!(operation, RecordOperation::Insert, "nothing lies below all files");
            let discriminator = run.discriminators.get(at).copied().unwrap_or(0);
            let neighbor = VertexId(*neighbor);
            assert!(items.insert(match run.list.subject {
                Subject::VERTICES => (ListId::vertex(neighbor), ItemKey::VERTEX),
                subject => {
                    (ListId { subject, vertex: run.list.vertex }, ItemKey::edge(neighbor, discriminator))
                }
            }));
        }
    }
    let all = Subject::VERTICES..=Subject::LAST;
    let sources = files.iter().map(|file| EntryScan::new(file, all.clone()).unwrap()).collect();
    let mut merge = EntryMerge::new(sources, Timestamp::MAX, DeleteRule::new(Below::Nothing, []));
    while let Some((subject, record)) = merge.next_entry().unwrap() {
        assert_eq!(record.operation, RecordOperation::Insert);
        let ItemId::Vertex(item) = record.item else { panic!("entries are of vertices") };
        assert!(entries.insert((subject, record.value.to_vec(), item.0)));
    }
    (items, entries)
}

/// Inserts minus Deletes of vertices and lists, by the directories; without those that are zero.
pub fn counts(files: &[Arc<CsrFile>]) -> BTreeMap<(Subject, GroupId), i64> {
    let mut counts = BTreeMap::new();
    for row in files.iter().flat_map(|file| file.directory_rows()) {
        if !matches!(row.subject.kind(), SubjectKind::Index(_)) {
            *counts.entry((row.subject, row.group)).or_default() += row.difference;
        }
    }
    counts.retain(|_, count| *count != 0);
    counts
}

/// Everything, against the state.
pub fn check(files: &[Arc<CsrFile>], keys: &BTreeSet<Key>, state: &State) {
    let found = read_items(files, keys);
    assert_eq!(found.items.keys().collect::<Vec<_>>(), state.items.keys().collect::<Vec<_>>());
    for (item, values) in &found.items {
        assert!(values == &state.items[item], "{item:?}: {values:?}, expected {:?}", state.items[item]);
    }
    let (items, entries) = scan(files);
    assert!(items.iter().eq(state.items.keys()), "a scan finds what questions find");
    assert_eq!(entries, state.entries);
    let mut expected: BTreeMap<_, i64> = BTreeMap::new();
    for (list, _) in state.items.keys() {
        *expected.entry((list.subject, list.vertex.group())).or_default() += 1;
    }
    assert_eq!(counts(files), expected);
}
