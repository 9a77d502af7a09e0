//! Chain: files whose keys are disjoint, one behind the other, as one source of a merge.
//!
//! ```text
//! inputs, newest first   a: 1-9   b: 2-8   c: 1-3   d: 4-6   e: 5-7
//! chains                 [a]      [b]      [c       d]       [e]        a file joins the chain before it, or begins one
//! rank in a merge        file of the chain 24 | rank in the file 40
//! ```
//!
//! Of files with disjoint keys none is newer for any key, so they are ordered by key. A level is a chain, and so are
//! the files of a bulk load. One file of a chain is read at a time.

use crate::file::csr_file::CsrFile;
use crate::file::entry_scan::EntryScan;
use crate::file::file_scan::FileScan;
use crate::file::page_scan::ScanWindow;
use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::FileStamps;
use crate::format::subject::Subject;
use crate::key_range::KeyRange;
use crate::merge::entry_merge::EntrySource;
use crate::merge::list_source::{ListSlice, ListSource, SliceFront};
use crate::stored_file::StoredFile;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use std::sync::Arc;

/// Bits of a rank in its file.
const RANK_BITS: u32 = 40;
/// The most files of a chain, so that a rank has room for the file.
const CHAIN_FILES_MAX: usize = 1 << (u64::BITS - RANK_BITS);

/// Files with disjoint keys, in the order of keys.
pub(super) type ChainFiles = Vec<Arc<CsrFile>>;

/// A record of a chain: its file and its rank there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChainRank {
    pub(super) file: usize,
    pub(super) rank: u64,
}

impl ChainRank {
    /// What a merge calls the rank.
    #[inline]
    pub(super) fn of_merge(rank: u64) -> Self {
        Self { file: (rank >> RANK_BITS) as usize, rank: rank & ((1 << RANK_BITS) - 1) }
    }

    fn to_merge(self) -> u64 {
        (self.file as u64) << RANK_BITS | self.rank
    }
}

/// Chains of `inputs`, which come newest first. Cost: a binary search and an insertion a file.
pub(super) fn chains_of(inputs: &[Arc<CsrFile>]) -> Vec<ChainFiles> {
    let mut chains: Vec<ChainFiles> = Vec::new();
    for file in inputs {
        let stored = file.stored();
        if let Some(chain) = chains.last_mut()
            && chain.len() < CHAIN_FILES_MAX
            && chain[0].stored().stamps == stored.stamps
            && let Some(at) = place_in(chain, stored)
        {
            chain.insert(at, Arc::clone(file));
        } else {
            chains.push(vec![Arc::clone(file)]);
        }
    }
    chains
}

/// Where a file stands among files of a chain, if it overlaps none.
fn place_in(chain: &[Arc<CsrFile>], file: &StoredFile) -> Option<usize> {
    let places = KeyRange::of_file(file).places_in(chain);
    places.is_empty().then_some(places.start)
}

/// The lists of a chain.
#[derive(Debug)]
pub(super) struct ListChain {
    files: ChainFiles,
    window: ScanWindow,
    /// The file that is read.
    at: usize,
    scan: FileScan,
    /// Records of vertices in a stamped file that the merge may have in hand.
    vertices: Vec<VertexStamp>,
}

/// When a record of a vertex was written, by its rank.
#[derive(Clone, Copy, Debug)]
struct VertexStamp {
    vertex: u32,
    rank: u64,
    stamp: Timestamp,
}

impl ListChain {
    /// Reads `files` from the first list on, in as much memory as `window` says.
    ///
    /// # Errors
    /// As [`ListSource::advance`].
    ///
    /// # Panics
    /// If there are no files.
    pub(super) fn new(files: ChainFiles, window: ScanWindow) -> CheckpointResult<Self> {
        let scan = FileScan::all_with_window(&files[0], window)?;
        let mut chain = Self { files, window, at: 0, scan, vertices: Vec::new() };
        chain.go_on()?;
        Ok(chain)
    }

    pub(super) fn files(&self) -> &ChainFiles {
        &self.files
    }

    /// The file that is read.
    pub(super) fn file(&self) -> &Arc<CsrFile> {
        &self.files[self.at]
    }

    /// When the record of `vertex` with the merge's rank `rank` was written; zero in a file without stamps. It is one that
    /// the merge has in hand. Cost: a binary search.
    ///
    /// # Errors
    /// `Corrupt` if ranks do not follow one by one.
    pub(super) fn vertex_stamp(&self, vertex: u32, rank: u64) -> CheckpointResult<Timestamp> {
        let ChainRank { file, rank: rank_in_file } = ChainRank::of_merge(rank);
        if self.files[file].stored().stamps == FileStamps::Unstamped {
            return Ok(Timestamp::ZERO);
        }
        // Of one vertex the oldest record comes first, and has the highest rank.
        let first = self.vertices.partition_point(|known| known.vertex < vertex);
        let known = self.vertices.get(first).filter(|known| known.vertex == vertex);
        let distance = known.and_then(|known| known.rank.checked_sub(rank));
        let known = distance.and_then(|distance| self.vertices.get(first + distance as usize));
        known.filter(|known| known.rank == rank).map(|known| known.stamp).ok_or_else(|| {
            let problem = format!("ranks of vertices one by one expected, found {rank_in_file} at {vertex}");
            self.files[file].contradiction(problem)
        })
    }

    /// Notes the stamps of the slice in front, if it is of vertices.
    fn note_stamps(&mut self) {
        let Some(slice) = self.scan.slice().filter(|slice| slice.list.subject == Subject::VERTICES) else {
            return self.vertices.clear();
        };
        let Some(stamps) = slice.stamps else { return };
        // A merge takes a slice, and those behind it that go on with its last key: then it has nothing older in hand.
        if self.vertices.last().is_some_and(|last| slice.neighbors.first() != Some(&last.vertex)) {
            self.vertices.clear();
        }
        let file = self.at;
        let first = slice.first_rank;
        self.vertices.extend(slice.neighbors.iter().zip(stamps).zip(first..).map(
            |((vertex, stamp), rank)| VertexStamp {
                vertex: *vertex,
                rank: ChainRank { file, rank }.to_merge(),
                stamp: *stamp,
            },
        ));
    }

    /// Opens the next file with lists, where the one that is read has no more.
    fn go_on(&mut self) -> CheckpointResult<()> {
        while self.scan.slice().is_none() && self.at + 1 < self.files.len() {
            self.at += 1;
            self.scan = FileScan::all_with_window(&self.files[self.at], self.window)?;
        }
        match self.scan.slice() {
            Some(slice) if slice.first_rank.saturating_add(slice.neighbors.len() as u64) >> RANK_BITS > 0 => {
                let problem = format!("a rank below 2^{RANK_BITS} expected, found {}", slice.first_rank);
                Err(self.file().contradiction(problem))
            }
            _ => Ok(()),
        }
    }
}

impl ListSource for ListChain {
    type Error = CheckpointError;

    fn slice(&self) -> Option<ListSlice<'_>> {
        let slice = self.scan.slice()?;
        let first_rank = ChainRank { file: self.at, rank: slice.first_rank }.to_merge();
        Some(ListSlice { first_rank, ..slice })
    }

    fn front(&self) -> Option<SliceFront> {
        let front = self.scan.front()?;
        let first_rank = ChainRank { file: self.at, rank: front.first_rank }.to_merge();
        Some(SliceFront { first_rank, ..front })
    }

    fn advance(&mut self) -> CheckpointResult<()> {
        self.note_stamps();
        self.scan.advance()?;
        self.go_on()
    }
}

/// The entries of a chain's indexes.
#[derive(Debug)]
pub(super) struct EntryChain {
    files: ChainFiles,
    window: ScanWindow,
    /// The file that is read.
    at: usize,
    scan: EntryScan,
}

impl EntryChain {
    /// Reads `files` from the first entry on, in as much memory as `window` says.
    ///
    /// # Errors
    /// As [`EntrySource::advance`].
    ///
    /// # Panics
    /// If there are no files.
    pub(super) fn new(files: ChainFiles, window: ScanWindow) -> CheckpointResult<Self> {
        let scan = scan_entries(&files[0], window)?;
        let mut chain = Self { files, window, at: 0, scan };
        chain.go_on()?;
        Ok(chain)
    }

    /// The file that is read.
    pub(super) fn file(&self) -> &Arc<CsrFile> {
        &self.files[self.at]
    }

    fn go_on(&mut self) -> CheckpointResult<()> {
        while self.scan.entry().is_none() && self.at + 1 < self.files.len() {
            self.at += 1;
            self.scan = scan_entries(&self.files[self.at], self.window)?;
        }
        Ok(())
    }
}

fn scan_entries(file: &Arc<CsrFile>, window: ScanWindow) -> CheckpointResult<EntryScan> {
    EntryScan::with_window(file, Subject::VERTICES..=Subject::LAST, window)
}

impl EntrySource for EntryChain {
    type Error = CheckpointError;

    fn entry(&self) -> Option<(Subject, EntryRecord<'_>)> {
        self.scan.entry()
    }

    fn advance(&mut self) -> CheckpointResult<()> {
        self.scan.advance()?;
        self.go_on()
    }
}
