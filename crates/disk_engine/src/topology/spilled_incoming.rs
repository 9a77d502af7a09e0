//! Spilled incoming lists: in lists with weights or filters in temporary files, where memory doesn't hold them.
//!
//! ```text
//! out lists ──> sorter: target, source, weight ──> edges     source u32, weight f64 if weighted    by target, then source
//!                                                  degrees   u32 a vertex
//! memory    edges before each group of 256 vertices; of a visit, the degrees of a group and a stretch of edges
//! ```
//!
//! A visit that goes on reads ahead twice as far each time, up to some 200 KB; one that jumps begins anew with 12 KB. All
//! numbers are little-endian.
//!
//! Source: disk-engine, section 6 (in sides by an external sort).

use crate::spill::file::SpillFile;
use crate::spill::scratch::SpillFolder;
use crate::spill::sorter::Sorter;
use crate::topology::out_lists::{OutLists, OutPass};
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::topology::{Piece, Visit};
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::Range;

/// What these lists are called in a budget, and their sorting.
const PURPOSE: &str = "spilled in lists with properties";
const SORT_PURPOSE: &str = "sorting in lists with properties";

/// Vertices whose degrees are read together.
const GROUP_VERTICES: u32 = 256;
const DEGREE_BYTES: u64 = size_of::<u32>() as u64;
const SOURCE_BYTES: usize = size_of::<u32>();
const WEIGHT_BYTES: usize = size_of::<f64>();

/// Edges that a reader holds: at first, and at most.
const HELD_MIN: u64 = 1024;
const HELD_MAX: u64 = 16 * 1024;

/// Memory of a sort: as much of the first as the budget has, and no less than the second.
const SORT_BYTES_MAX: u64 = 256 << 20;
const SORT_BYTES_MIN: u64 = 4 << 20;
/// The part of it in which records gather: vectors that grow take twice that, and the merge of runs as much again.
const GATHERED_DIVISOR: u64 = 4;
/// Bytes that are written at once, of edges and of degrees.
const WRITE_BYTES: usize = 256 << 10;
/// Edges that are merged between two questions whether to go on.
const EDGES_BETWEEN_CHECKS: u64 = 1 << 15;

/// In lists in files.
pub(super) struct SpilledLists {
    folder: SpillFolder,
    edges: SpillFile,
    degrees: SpillFile,
    /// Edges before each group of vertices; one more than there are groups.
    edges_before: Vec<u64>,
    are_weighted: bool,
    bound: u32,
    _reservation: Reservation,
}

impl SpilledLists {
    /// The other side of `out`, sorted in `folder`.
    ///
    /// # Errors
    /// `limit` if the budget refuses 4 MiB to sort in, or the disk is full; `cancelled`; those of `out` and of files.
    pub(super) fn build<V>(
        out: &mut OutLists<V>,
        budget: &dyn Budget,
        folder: &SpillFolder,
        cancel: &CancelFlag,
    ) -> Result<Self>
    where
        V: FnMut(OutPass, &mut dyn FnMut(u32, Piece<'_>) -> Result<()>) -> Result<()>,
    {
        let OutLists { bound, are_weighted, ref mut visit, .. } = *out;
        let groups = bound.div_ceil(GROUP_VERTICES);
        let readers = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        let record_bytes = SOURCE_BYTES + if are_weighted { WEIGHT_BYTES } else { 0 };
        // A reader has edges as they are in the file and as they are handed out.
        let of_reader = HELD_MAX * 2 * record_bytes as u64 + u64::from(GROUP_VERTICES) * 12;
        let of_groups = (u64::from(groups) + 1) * size_of::<u64>() as u64;
        let reservation = budget.reserve(PURPOSE, of_groups + readers * of_reader)?;
        let sort = reserve_sort(budget)?;
        folder.with_place(|place| {
            let mut edges =
                ListWriter::new(folder, SpillFile::create(&place), SpillFile::create(&place), groups)?;
            let mut sorter = Sorter::new(place, (sort.bytes() / GATHERED_DIVISOR) as usize);
            visit(OutPass::Weights, &mut |source, piece| {
                for (at, target) in piece.neighbors.iter().enumerate().filter(|(_, target)| **target < bound)
                {
                    let pushed = sorter.push(|record| {
                        // Records are compared as bytes, the most significant first.
                        record.extend_from_slice(&target.to_be_bytes());
                        record.extend_from_slice(&source.to_be_bytes());
                        if let Some(weight) = piece.weights.get(at) {
                            record.extend_from_slice(&weight.to_le_bytes());
                        }
                    });
                    folder.describe("write", pushed)?;
                }
                Ok(())
            })?;
            let mut sorted = folder.describe("write", sorter.finish())?;
            let mut count = 0_u64;
            while let Some(record) = folder.describe("read", sorted.next())? {
                if count.is_multiple_of(EDGES_BETWEEN_CHECKS) {
                    cancel.check()?;
                }
                count += 1;
                edges.push(record)?;
            }
            edges.finish(bound, are_weighted, reservation)
        })
    }

    /// How many edges there are.
    pub(super) fn edge_count(&self) -> u64 {
        self.edges_before.last().copied().unwrap_or(0)
    }

    /// Reads lists, best in the order of vertices.
    pub(super) fn reader(&self) -> SpilledReader<'_> {
        SpilledReader {
            lists: self,
            group: None,
            starts: Vec::new(),
            held: 0..0,
            ahead: HELD_MIN,
            neighbors: Vec::new(),
            weights: Vec::new(),
            bytes: Vec::new(),
        }
    }
}

/// Reserves as much as there is to sort in, but half of it where that is not all that is wished for: commits need some too.
fn reserve_sort(budget: &dyn Budget) -> Result<Reservation> {
    let mut bytes = SORT_BYTES_MAX;
    loop {
        match budget.reserve(SORT_PURPOSE, bytes) {
            Ok(reservation) if bytes == SORT_BYTES_MAX || bytes == SORT_BYTES_MIN => return Ok(reservation),
            Ok(reservation) => {
                drop(reservation);
                return budget.reserve(SORT_PURPOSE, (bytes / 2).max(SORT_BYTES_MIN));
            }
            Err(error) if error.kind() == ErrorKind::Limit && bytes > SORT_BYTES_MIN => bytes /= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Writes sorted edges.
struct ListWriter<'f> {
    folder: &'f SpillFolder,
    edges: SpillFile,
    degrees: SpillFile,
    edge_bytes: Vec<u8>,
    degree_bytes: Vec<u8>,
    edges_before: Vec<u64>,
    count: u64,
    /// The vertex whose edges come, and how many came.
    vertex: u32,
    degree: u32,
}

impl<'f> ListWriter<'f> {
    fn new(
        folder: &'f SpillFolder,
        edges: CheckpointResult<SpillFile>,
        degrees: CheckpointResult<SpillFile>,
        groups: u32,
    ) -> Result<Self> {
        let (edges, degrees) = (folder.describe("create", edges)?, folder.describe("create", degrees)?);
        let (edge_bytes, degree_bytes) = (Vec::new(), Vec::new());
        let edges_before = Vec::with_capacity(groups as usize + 1);
        Ok(Self {
            folder,
            edges,
            degrees,
            edge_bytes,
            degree_bytes,
            edges_before,
            count: 0,
            vertex: 0,
            degree: 0,
        })
    }

    /// Adds the edge of a record: a target no less than the one before, its source, and what else there is of it.
    fn push(&mut self, record: &[u8]) -> Result<()> {
        let (target, rest) = take_id(record)?;
        let (source, weight) = take_id(rest)?;
        while self.vertex < target {
            self.end_vertex()?;
        }
        self.degree = self.degree.checked_add(1).ok_or_else(|| {
            Error::new(ErrorKind::Limit, format!("v{target} has more than {} edges in one list", u32::MAX))
        })?;
        self.count += 1;
        self.edge_bytes.extend_from_slice(&source.to_le_bytes());
        self.edge_bytes.extend_from_slice(weight);
        if self.edge_bytes.len() >= WRITE_BYTES { self.write_edges() } else { Ok(()) }
    }

    fn end_vertex(&mut self) -> Result<()> {
        if self.vertex.is_multiple_of(GROUP_VERTICES) {
            self.edges_before.push(self.count - u64::from(self.degree));
        }
        self.degree_bytes.extend_from_slice(&self.degree.to_le_bytes());
        (self.vertex, self.degree) = (self.vertex + 1, 0);
        if self.degree_bytes.len() >= WRITE_BYTES { self.write_degrees() } else { Ok(()) }
    }

    fn write_edges(&mut self) -> Result<()> {
        let written = self.edges.append(&self.edge_bytes).map(drop);
        self.edge_bytes.clear();
        self.folder.describe("write", written)
    }

    fn write_degrees(&mut self) -> Result<()> {
        let written = self.degrees.append(&self.degree_bytes).map(drop);
        self.degree_bytes.clear();
        self.folder.describe("write", written)
    }

    fn finish(mut self, bound: u32, are_weighted: bool, reservation: Reservation) -> Result<SpilledLists> {
        while self.vertex < bound {
            self.end_vertex()?;
        }
        self.write_edges()?;
        self.write_degrees()?;
        self.edges_before.push(self.count);
        let Self { folder, edges, degrees, edges_before, .. } = self;
        let folder = folder.clone();
        Ok(SpilledLists {
            folder,
            edges,
            degrees,
            edges_before,
            are_weighted,
            bound,
            _reservation: reservation,
        })
    }
}

/// The id that a sorted record begins with, and what is behind it.
fn take_id(record: &[u8]) -> Result<(u32, &[u8])> {
    let (id, rest) = record.split_first_chunk().ok_or_else(|| changed("a record ends early"))?;
    Ok((u32::from_be_bytes(*id), rest))
}

/// The error of bytes that were not written so.
#[cold]
fn changed(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("a temporary file of in lists has changed: {what}; check the disk"),
    )
}

/// Reads lists one after the other.
pub(super) struct SpilledReader<'l> {
    lists: &'l SpilledLists,
    /// The group whose vertices' places are known.
    group: Option<u32>,
    /// The first edge of each vertex of it, and the first behind them.
    starts: Vec<u64>,
    /// The edges that were read.
    held: Range<u64>,
    /// How many are read next.
    ahead: u64,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    bytes: Vec<u8>,
}

impl SpilledReader<'_> {
    /// The places of the edges of `vertex`.
    pub(super) fn edges_of(&mut self, vertex: u32) -> Result<Range<u64>> {
        let group = vertex / GROUP_VERTICES;
        if self.group != Some(group) {
            self.group = None;
            self.read_group(group)?;
            self.group = Some(group);
        }
        let at = (vertex % GROUP_VERTICES) as usize;
        Ok(self.starts[at]..self.starts[at + 1])
    }

    fn read_group(&mut self, group: u32) -> Result<()> {
        let Self { lists, starts, bytes, .. } = self;
        let first = group * GROUP_VERTICES;
        let vertices = GROUP_VERTICES.min(lists.bound - first);
        bytes.resize(vertices as usize * DEGREE_BYTES as usize, 0);
        lists.folder.describe("read", lists.degrees.read(bytes, u64::from(first) * DEGREE_BYTES))?;
        let mut end = lists.edges_before[group as usize];
        starts.clear();
        starts.push(end);
        for degree in bytes.as_chunks::<{ DEGREE_BYTES as usize }>().0 {
            end += u64::from(u32::from_le_bytes(*degree));
            starts.push(end);
        }
        if end == lists.edges_before[group as usize + 1] {
            Ok(())
        } else {
            Err(changed("degrees don't add up"))
        }
    }

    /// Hands out the list of `vertex`, if it has any, in one piece or more.
    pub(super) fn visit(
        &mut self,
        vertex: u32,
        visitor: &mut impl FnMut(u32, Piece<'_>) -> Visit,
    ) -> Result<Visit> {
        let mut left = self.edges_of(vertex)?;
        while !left.is_empty() {
            if !self.held.contains(&left.start) {
                self.read_edges(left.start, left.end)?;
            }
            let end = left.end.min(self.held.end);
            let places = (left.start - self.held.start) as usize..(end - self.held.start) as usize;
            let weights = self.weights.get(places.clone()).unwrap_or_default();
            match visitor(vertex, Piece { neighbors: &self.neighbors[places], weights, sorted: true }) {
                Visit::Continue => left.start = end,
                other => return Ok(other),
            }
        }
        Ok(Visit::Continue)
    }

    /// Reads the edges from `start` on: a list that ends at `end`, if it isn't long, and some behind it.
    fn read_edges(&mut self, start: u64, end: u64) -> Result<()> {
        let goes_on = !self.held.is_empty() && start >= self.held.end && start - self.held.end < HELD_MIN;
        self.ahead = if goes_on { (self.ahead * 2).min(HELD_MAX) } else { HELD_MIN };
        let count = (end - start).clamp(self.ahead, HELD_MAX).min(self.lists.edge_count() - start);
        let record_bytes = SOURCE_BYTES + if self.lists.are_weighted { WEIGHT_BYTES } else { 0 };
        self.held = 0..0;
        self.bytes.resize(count as usize * record_bytes, 0);
        let read = self.lists.edges.read(&mut self.bytes, start * record_bytes as u64);
        self.lists.folder.describe("read", read)?;
        self.neighbors.clear();
        self.weights.clear();
        if self.lists.are_weighted {
            for record in self.bytes.as_chunks::<{ SOURCE_BYTES + WEIGHT_BYTES }>().0 {
                let [a, b, c, d, weight @ ..] = *record;
                self.neighbors.push(u32::from_le_bytes([a, b, c, d]));
                self.weights.push(f64::from_le_bytes(weight));
            }
        } else {
            let sources = self.bytes.as_chunks().0;
            self.neighbors.extend(sources.iter().map(|source| u32::from_le_bytes(*source)));
        }
        if self.neighbors.iter().any(|source| *source >= self.lists.bound) {
            return Err(changed("a source is no vertex"));
        }
        self.held = start..start + count;
        Ok(())
    }
}
