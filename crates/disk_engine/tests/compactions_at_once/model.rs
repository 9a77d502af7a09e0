//! Model: files whose records are known, as plain maps, and what must be read of them.
//!
//! Of each key a file has the newest record alone: the commit that wrote it, or that deleted it.

use evergraph_disk_engine::compaction_areas::{CompactionAreas, TakenArea};
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::merge::delete_rule::Below;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_disk_engine::pick::picker::{PickedCompaction, pick_beside};
use evergraph_disk_engine::stored_file::{KeyedFile, StoredFile, StoredPart};
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Two runs of L0 are due; levels are small.
pub const LIMITS: PickLimits =
    PickLimits { flushed_runs: 2, flushed_bytes_max: 1000, size_ratio: 3, base_bytes: 60 };
/// Bytes of a record.
const RECORD_BYTES: u64 = 4;

/// What a commit did to a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    pub commit: u64,
    pub is_delete: bool,
}

/// What is written of each key.
pub type Records = BTreeMap<u8, Record>;

/// A file with its records.
#[derive(Debug)]
pub struct ModelFile {
    stored: StoredFile,
    pub records: Records,
}

impl KeyedFile for ModelFile {
    fn stored(&self) -> &StoredFile {
        &self.stored
    }
}

impl ModelFile {
    /// A file with at least one record.
    pub fn new(number: u64, level: u8, records: Records) -> Arc<Self> {
        let commits = || records.values().map(|record| Timestamp(record.commit));
        let stored = StoredFile {
            number: FileNumber(number),
            level,
            stamps: if level == 0 { FileStamps::Stamped } else { FileStamps::Unstamped },
            first_ts: commits().min().unwrap(),
            last_ts: commits().max().unwrap(),
            first_key: vec![*records.keys().next().unwrap()],
            last_key: vec![*records.keys().next_back().unwrap()],
            topology: StoredPart { bytes: records.len() as u64 * RECORD_BYTES, footer_crc: 0 },
            columns: None,
        };
        Arc::new(Self { stored, records })
    }
}

/// What is read: of each key the newest record that is no Delete.
pub fn read(set: &FileSet<ModelFile>) -> BTreeMap<u8, u64> {
    let mut found = Records::new();
    for file in set.iter() {
        for (key, record) in &file.records {
            found.entry(*key).or_insert(*record);
        }
    }
    found
        .into_iter()
        .filter(|(_, record)| !record.is_delete)
        .map(|(key, record)| (key, record.commit))
        .collect()
}

/// A compaction that is written and not installed.
pub struct Begun<'a> {
    pub picked: PickedCompaction<ModelFile>,
    pub outputs: Vec<Arc<ModelFile>>,
    _area: TakenArea<'a>,
}

/// Begins the compaction that is most urgent of the set that `look` gives; outputs have at most `keys_max` keys.
pub fn begin<'a>(
    areas: &'a CompactionAreas,
    look: impl FnOnce() -> Arc<FileSet<ModelFile>>,
    mut take_number: impl FnMut() -> u64,
    keys_max: usize,
) -> Option<Begun<'a>> {
    let (picked, area) = areas.take(|under_way| {
        let picked = pick_beside(under_way, &look(), Timestamp::MAX, &LIMITS, 16)?;
        let area = picked.area()?;
        Some((picked, area))
    })?;
    let mut merged = Records::new();
    for (key, record) in picked.inputs.iter().flat_map(|file| &file.records) {
        merged.entry(*key).or_insert(*record);
    }
    if picked.below == Below::Nothing {
        merged.retain(|_, record| !record.is_delete);
    }
    let merged: Vec<(u8, Record)> = merged.into_iter().collect();
    let output = |part: &[(u8, Record)]| {
        ModelFile::new(take_number(), picked.output_level, part.iter().copied().collect())
    };
    let outputs = merged.chunks(keys_max).map(output).collect();
    Some(Begun { picked, outputs, _area: area })
}

impl Begun<'_> {
    /// The set with the outputs in the place of the inputs.
    #[cfg_attr(shuttle, expect(dead_code, reason = "schedules install outputs by the tree's own function"))]
    pub fn install(&self, set: &FileSet<ModelFile>) -> FileSet<ModelFile> {
        let installed = set.with_compacted(&self.picked.inputs, self.picked.output_level, &self.outputs);
        installed.expect("whatever others did, the outputs fit")
    }
}
