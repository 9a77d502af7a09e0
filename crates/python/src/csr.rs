//! CSR: all lists of a frozen graph in two arrays, or in pieces without a copy.
//!
//! ```text
//! offsets    int64, one more than the bound    neighbors[offsets[v]..offsets[v + 1]] are those of vertex v
//! neighbors  uint32, ascending in each row     weights, if wanted: one beside each
//! ```
//!
//! The copy is made by all threads into arrays of NumPy's, part by part: a segment of the only edge type with one
//! `memcpy` (more if it has hubs); otherwise parts of about as many edges, each list with one or two. Where a list
//! comes in two pieces (a body and what is fresh), its row is sorted after that.
//!
//! The pieces are the database's own arrays: Arrow holds a share of each, and nothing is copied where nothing is
//! fresh.

use crate::long_call::{ProgressWatch, fraction};
use arrow_array::UInt32Array;
use arrow_buffer::{Buffer, ScalarBuffer, ToByteSlice};
use bytes::Bytes;
use evergraph::engines::topology::AnyTopology;
use evergraph::graph::budget::{Budget, Reservation};
use evergraph::graph::topology::{PieceBuffer, Topology, Visit};
use evergraph::memory_engine::frozen::SharedList;
use evergraph::{Direction, Result};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Parts for each thread: so that a slow one does not keep the others waiting.
const PARTS_A_THREAD: usize = 16;

/// What a refusal names.
const PURPOSE: &str = "a CSR copy";

/// Rows of so many bytes are reserved before they are sorted.
const RESERVED_ROW_BYTES: usize = 1 << 20;

/// The memory of the arrays to come.
pub struct ArraysMemory {
    /// That of the offsets.
    pub offsets: Reservation,
    /// That of the neighbours.
    pub neighbors: Reservation,
    /// That of the weights, if there are any.
    pub weights: Reservation,
}

/// All lists in one direction, with the place of each in the arrays to come.
pub struct Lists {
    topology: AnyTopology,
    direction: Direction,
    /// Each vertex in one of them at most, as with one edge type; if there are no weights.
    segments: Option<Vec<SharedList>>,
    /// Where the list of each vertex begins, and where the last one ends.
    pub offsets: Vec<i64>,
}

/// What a part of the vertices fills in.
struct Part<'a> {
    vertices: Range<u32>,
    /// Of all vertices.
    offsets: &'a [i64],
    neighbors: &'a mut [u32],
    weights: &'a mut [f64],
}

impl Lists {
    /// Those of `topology`, and the memory for them and for the arrays that they are copied to.
    ///
    /// # Errors
    /// `invalid` if the side was not frozen; `limit` if the arrays don't fit below the memory limit; errors of reading.
    pub fn of(
        topology: AnyTopology,
        direction: Direction,
        weighted: bool,
        budget: &dyn Budget,
    ) -> Result<(Self, ArraysMemory)> {
        let bound = topology.bound();
        let offsets_memory = budget.reserve(PURPOSE, (u64::from(bound) + 1) * size_of::<i64>() as u64)?;
        let _degrees = budget.reserve(PURPOSE, u64::from(bound) * size_of::<u32>() as u64)?;
        let weight_bytes = if weighted { size_of::<f64>() as u64 } else { 0 };
        let neighbor_bytes = size_of::<u32>() as u64;
        // Refused now, rather than after degrees were counted, which is a scan with the disk engine.
        let sides = if direction == Direction::Both { 2 } else { 1 };
        let most = topology.edge_count().saturating_mul(sides * (neighbor_bytes + weight_bytes));
        drop(budget.reserve(PURPOSE, most)?);
        let mut degrees = vec![0_u32; bound as usize];
        let segments = match weighted || direction == Direction::Both {
            true => None,
            false => topology.shared_lists(direction)?.filter(|lists| degrees_of(lists, &mut degrees)),
        };
        if segments.is_none() {
            topology.degrees(direction, 0..bound, &mut degrees)?;
        }
        let mut offsets = Vec::with_capacity(degrees.len() + 1);
        let mut end = 0;
        offsets.push(0);
        offsets.extend(degrees.iter().map(|degree| {
            end += i64::from(*degree);
            end
        }));
        let memory = ArraysMemory {
            offsets: offsets_memory,
            neighbors: budget.reserve(PURPOSE, end as u64 * neighbor_bytes)?,
            weights: budget.reserve(PURPOSE, end as u64 * weight_bytes)?,
        };
        Ok((Self { topology, direction, segments, offsets }, memory))
    }

    /// How many neighbours there are.
    #[must_use]
    pub fn edges_count(&self) -> usize {
        *self.offsets.last().expect("one more than the bound") as usize
    }

    /// Writes them over all of `neighbors` and `weights`, of [`Lists::edges_count`] each; no weights if it is empty.
    ///
    /// # Errors
    /// `cancelled`; `limit` if a list with weights can't be sorted within `budget`; errors of reading.
    pub fn copy(
        &self,
        neighbors: &mut [u32],
        weights: &mut [f64],
        budget: &dyn Budget,
        watch: &ProgressWatch,
    ) -> Result<()> {
        let edges = neighbors.len() as u64;
        let done = AtomicU64::new(0);
        let told = |copied: usize| {
            let copied = done.fetch_add(copied as u64, Ordering::Relaxed) + copied as u64;
            watch.tell("copy", fraction(copied, edges), String::new);
        };
        let offsets = &self.offsets;
        if let Some(segments) = &self.segments {
            return runs(segments, offsets, neighbors).into_par_iter().try_for_each(|(place, run)| {
                watch.cancel.check()?;
                place.copy_from_slice(run);
                told(run.len());
                Ok(())
            });
        }
        let cuts = self.topology.cuts(rayon::current_num_threads() * PARTS_A_THREAD);
        let mut parts = Vec::with_capacity(cuts.len());
        let (mut left, mut weights_left) = (neighbors, weights);
        for cut in cuts.windows(2) {
            let length = (offsets[cut[1] as usize] - offsets[cut[0] as usize]) as usize;
            let (of_part, rest) = left.split_at_mut(length);
            let (weights_of_part, weights_rest) = weights_left.split_at_mut(length.min(weights_left.len()));
            (left, weights_left) = (rest, weights_rest);
            let vertices = cut[0]..cut[1];
            parts.push(Part { vertices, offsets, neighbors: of_part, weights: weights_of_part });
        }
        parts.into_par_iter().try_for_each(|part| -> Result<()> {
            watch.cancel.check()?;
            let copied = part.neighbors.len();
            part.fill(&self.topology, self.direction, budget)?;
            told(copied);
            Ok(())
        })
    }
}

/// The length of the list of each vertex; false if a vertex is in two of `lists`.
fn degrees_of(lists: &[SharedList], degrees: &mut [u32]) -> bool {
    lists.iter().all(|list| {
        let starts = std::iter::once(&0).chain(list.ends());
        let mut rows = list.vertices().iter().zip(starts.zip(list.ends()));
        rows.all(|(vertex, (start, end))| {
            std::mem::replace(&mut degrees[vertex.0 as usize], end - start) == 0
        })
    })
}

/// What of `lists` goes to `neighbors` in one go, with its place there: a list, or the rows between hubs, whose
/// lists lie apart.
fn runs<'a>(
    lists: &'a [SharedList],
    offsets: &[i64],
    mut neighbors: &'a mut [u32],
) -> Vec<(&'a mut [u32], &'a [u32])> {
    let mut runs: Vec<(usize, &[u32])> = Vec::with_capacity(lists.len());
    for list in lists {
        let (vertices, ends) = (list.vertices(), list.ends());
        let place = |row: usize| offsets[vertices[row].0 as usize] as usize;
        let last = vertices.len() - 1;
        if place(last) == place(0) + end_before(ends, last) {
            runs.push((place(0), list.neighbors()));
            continue;
        }
        let mut first = 0;
        for row in 1..=vertices.len() {
            let (from, to) = (end_before(ends, first), end_before(ends, row));
            if row == vertices.len() || place(row) != place(first) + to - from {
                runs.push((place(first), &list.neighbors()[from..to]));
                first = row;
            }
        }
    }
    runs.sort_unstable_by_key(|(place, _)| *place);
    let cut = runs.into_iter().map(|(_, run)| {
        let (place, rest) = std::mem::take(&mut neighbors).split_at_mut(run.len());
        neighbors = rest;
        (place, run)
    });
    cut.collect()
}

/// Where the list of a row begins.
fn end_before(ends: &[u32], row: usize) -> usize {
    row.checked_sub(1).map_or(0, |before| ends[before] as usize)
}

impl Part<'_> {
    fn fill(self, topology: &impl Topology, direction: Direction, budget: &dyn Budget) -> Result<()> {
        let Self { vertices, offsets, neighbors, weights } = self;
        let base = offsets[vertices.start as usize];
        let (mut at, mut last) = (0, None);
        // Rows that came in more than one piece.
        let mut mixed: Vec<Range<usize>> = Vec::new();
        let mut buffer = PieceBuffer::default();
        topology.visit(direction, vertices, &mut buffer, |vertex, piece| {
            let start = (offsets[vertex as usize] - base) as usize;
            if last != Some(vertex) {
                (at, last) = (start, Some(vertex));
            }
            let to = at + piece.neighbors.len();
            neighbors[at..to].copy_from_slice(piece.neighbors);
            if !weights.is_empty() {
                weights[at..to].copy_from_slice(piece.weights);
            }
            if at > start || !piece.sorted {
                match mixed.last_mut().filter(|row| row.start == start) {
                    Some(row) => row.end = to,
                    None => mixed.push(start..to),
                }
            }
            at = to;
            Visit::Continue
        })?;
        for row in mixed {
            sort(&mut neighbors[row.clone()], weights.get_mut(row).unwrap_or_default(), budget)?;
        }
        Ok(())
    }
}

/// The lists of some vertices.
pub struct CsrPiece {
    /// The vertices, ascending.
    pub vertices: Vec<u64>,
    /// One more than vertices.
    pub offsets: Vec<i64>,
    /// Vertex ids: the database's own array, if nothing is fresh.
    pub neighbors: UInt32Array,
    /// Whether they are.
    pub shared: bool,
}

/// A share of a list, as the bytes that it is.
struct SharedBytes(SharedList);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.neighbors().to_byte_slice()
    }
}

impl CsrPiece {
    /// `list`, without a copy of its neighbours.
    #[must_use]
    pub fn new(list: SharedList) -> Self {
        let vertices = list.vertices().iter().map(|vertex| u64::from(vertex.0)).collect();
        let ends = list.ends().iter().map(|end| i64::from(*end));
        let offsets = std::iter::once(0).chain(ends).collect();
        let (shared, length) = (list.is_shared(), list.neighbors().len());
        let bytes = Buffer::from(Bytes::from_owner(SharedBytes(list)));
        let neighbors = UInt32Array::new(ScalarBuffer::new(bytes, 0, length), None);
        Self { vertices, offsets, neighbors, shared }
    }
}

/// Sorts a row by neighbour, and its weights along with it.
///
/// # Errors
/// `limit` if the copy of a row with weights doesn't fit into `budget`.
fn sort(neighbors: &mut [u32], weights: &mut [f64], budget: &dyn Budget) -> Result<()> {
    if weights.is_empty() {
        neighbors.sort_unstable();
        return Ok(());
    }
    let bytes = neighbors.len() * size_of::<(u32, f64)>();
    // Short ones are not worth the budget's lock.
    let _memory =
        (bytes >= RESERVED_ROW_BYTES).then(|| budget.reserve(PURPOSE, 2 * bytes as u64)).transpose()?;
    let mut row: Vec<(u32, f64)> = neighbors.iter().copied().zip(weights.iter().copied()).collect();
    row.sort_by_key(|entry| entry.0);
    for ((neighbor, weight), sorted) in neighbors.iter_mut().zip(weights.iter_mut()).zip(row) {
        (*neighbor, *weight) = sorted;
    }
    Ok(())
}
