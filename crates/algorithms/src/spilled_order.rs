//! Spilled order: the lists of a degree order in a scratch file, for graphs whose lists memory doesn't hold.
//!
//! ```text
//! before(v)   neighbours of v with more edges than v, both sides counted; of those with as many, the lower ids
//!
//! file        part | part | ...          slices of the vertices, as their writers came
//! part        list(v) list(v + 1) ...    by id
//! list        before(v): u32[n]  arcs: u8[n]      little-endian, by id; arcs only if wanted, 1 or 2 for both ways
//! memory      the length of each list, and where each part begins
//! ```
//!
//! As in `degree_order`, no list is longer than the root of twice the edges, and each pair of neighbours is in one. Ids stay
//! what they are, so that lists are written in the order in which a topology hands them out, and nothing is sorted.
//!
//! Cost: three passes over the lists of both sides, for degrees, for sizes and to write.

use crate::control::Control;
use crate::parts::{Parts, share_out_in_waves};
use crate::undirected::visit_merged;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::scratch::{Scratch, ScratchFile};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes that a neighbour takes while its part is written: twice in a list, and in the form of the file.
const WRITTEN_BYTES: u64 = 16;

const NO_PANIC: &str = "appending doesn't panic";

/// Lists of neighbours before each vertex, in a file.
pub(crate) struct SpilledOrder {
    file: Box<dyn ScratchFile>,
    /// Of the list of each vertex id.
    lengths: Vec<u32>,
    with_arcs: bool,
    /// By vertices: where each part begins in the file.
    parts: Vec<(Range<u32>, u64)>,
    _memory: Reservation,
}

/// Consecutive lists of one part.
#[derive(Clone, Debug)]
pub(crate) struct ListBlock {
    pub(crate) vertices: Range<u32>,
    /// Neighbours in all of them.
    pub(crate) entries: u64,
    offset: u64,
}

/// The lists of a block, one behind the other.
#[derive(Default)]
pub(crate) struct BlockLists {
    pub(crate) neighbors: Vec<u32>,
    /// As long, or empty without arcs.
    pub(crate) arcs: Vec<u8>,
    bytes: Vec<u8>,
}

impl BlockLists {
    /// Bytes that a neighbour takes, at most.
    pub(crate) const ENTRY_BYTES: u64 = 10;

    /// Empties it, with room for the lists of `entries` neighbours and no more.
    pub(crate) fn begin(&mut self, order: &SpilledOrder, entries: u64) {
        self.neighbors.clear();
        self.neighbors.reserve_exact(entries as usize);
        self.arcs.clear();
        self.arcs.reserve_exact(if order.with_arcs { entries as usize } else { 0 });
    }
}

impl SpilledOrder {
    /// Writes the lists of `topology`, with the arcs of each pair if `with_arcs`. Adds the number of different neighbours
    /// of each vertex to `degrees`, unless that is empty.
    ///
    /// # Errors
    /// `invalid` if `topology` hasn't both sides; `limit` if the budget refuses 8 bytes a vertex and a part for each
    /// thread, or the disk is full; `cancelled`; errors of reading, and of the scratch file.
    pub(crate) fn write<T: Topology>(
        topology: &T,
        scratch: &dyn Scratch,
        with_arcs: bool,
        degrees: &[AtomicU32],
        phase: &'static str,
        control: &Control<'_>,
    ) -> Result<Self> {
        control.report(phase, 0.0);
        let bound = topology.bound();
        let memory = control.reserve("lengths of spilled lists", bound, size_of::<u32>())?;
        let _edges = control.reserve("degrees of spilled lists", bound, size_of::<u32>())?;
        let parts = Parts::of(topology);
        let mut edges = vec![0; bound as usize];
        parts.map(control, parts.split(&mut edges), |range, edges, _| {
            topology.degrees(Direction::Both, range, edges)
        })?;
        let (vertices, rank) = (topology.vertices(), |vertex: u32| (edges[vertex as usize], Reverse(vertex)));
        let is_before = |vertex, neighbor| vertices.contains(neighbor) && rank(neighbor) > rank(vertex);
        let sizes = parts.map_ranges(control, |range, buffer| {
            let mut size = 0;
            topology.visit(Direction::Both, range, buffer, |vertex, piece| {
                size +=
                    piece.neighbors.iter().filter(|neighbor| is_before(vertex, **neighbor)).count() as u64;
                Visit::Continue
            })?;
            Ok(size)
        })?;
        let largest = sizes.into_iter().max().unwrap_or(0);
        let of_parts = largest * WRITTEN_BYTES * rayon::current_num_threads() as u64;
        let _parts = control.reserve_bytes("parts of spilled lists", of_parts)?;
        let keep = |vertex, neighbors: &[u32], kept: &mut Vec<u32>| {
            kept.extend(neighbors.iter().filter(|neighbor| is_before(vertex, **neighbor)));
        };
        let file = Mutex::new(scratch.create()?);
        let mut lengths = vec![0; bound as usize];
        let items: Vec<_> = parts.ranges().zip(parts.split(&mut lengths)).collect();
        let count = items.len();
        let done = |done: usize| control.report(phase, done as f64 / count as f64);
        let written =
            share_out_in_waves(control, items, PieceBuffer::default, done, |(range, lengths), buffer| {
                let mut bytes = Vec::new();
                visit_merged(topology, range.clone(), buffer, &keep, |at, list, arcs| {
                    lengths[at] = list.len() as u32;
                    list.iter().for_each(|neighbor| bytes.extend_from_slice(&neighbor.to_le_bytes()));
                    if with_arcs {
                        bytes.extend_from_slice(arcs);
                    }
                    if !degrees.is_empty() {
                        degrees[range.start as usize + at].fetch_add(list.len() as u32, Relaxed);
                        for neighbor in list {
                            degrees[*neighbor as usize].fetch_add(1, Relaxed);
                        }
                    }
                })?;
                let offset = file.lock().expect(NO_PANIC).append(&bytes)?;
                Ok((range, offset))
            })?;
        let file = file.into_inner().expect(NO_PANIC);
        Ok(Self { file, lengths, with_arcs, parts: written, _memory: memory })
    }

    /// Bytes of a neighbour in the file, and in memory.
    pub(crate) fn entry_bytes(&self) -> u64 {
        size_of::<u32>() as u64 + u64::from(self.with_arcs)
    }

    /// How many neighbours the list of `vertex` has.
    #[inline]
    pub(crate) fn length(&self, vertex: u32) -> usize {
        self.lengths[vertex as usize] as usize
    }

    /// All lists by id, in blocks of at most `entries_max` neighbours, or of one list that has more. Vertices without
    /// neighbours may be left out.
    pub(crate) fn blocks(&self, entries_max: u64) -> Vec<ListBlock> {
        let mut blocks = Vec::new();
        for (vertices, offset) in &self.parts {
            let begin = |vertex, offset| ListBlock { vertices: vertex..vertex, entries: 0, offset };
            let mut block = begin(vertices.start, *offset);
            for vertex in vertices.clone() {
                let length = self.length(vertex) as u64;
                if block.entries > 0 && block.entries + length > entries_max {
                    let next = begin(vertex, block.offset + block.entries * self.entry_bytes());
                    blocks.push(std::mem::replace(&mut block, next));
                }
                block.entries += length;
                block.vertices.end = vertex + 1;
            }
            if block.entries > 0 {
                blocks.push(block);
            }
        }
        blocks
    }

    /// Appends the lists of `block` to `lists`.
    ///
    /// # Errors
    /// Those of the scratch file; `corrupt` if what it returns isn't what was written.
    pub(crate) fn read(&self, block: &ListBlock, lists: &mut BlockLists) -> Result<()> {
        let BlockLists { neighbors, arcs, bytes } = lists;
        bytes.resize((block.entries * self.entry_bytes()) as usize, 0);
        self.file.read(bytes, block.offset)?;
        let mut rest = &bytes[..];
        for vertex in block.vertices.clone() {
            let (list, behind) = rest.split_at(self.length(vertex) * size_of::<u32>());
            let (own_arcs, behind) = behind.split_at(if self.with_arcs { self.length(vertex) } else { 0 });
            let (list, _) = list.as_chunks::<4>();
            neighbors.extend(list.iter().map(|bytes| u32::from_le_bytes(*bytes)));
            arcs.extend_from_slice(own_arcs);
            rest = behind;
        }
        let added = &neighbors[neighbors.len() - block.entries as usize..];
        match added.iter().find(|neighbor| **neighbor as usize >= self.lengths.len()) {
            None => Ok(()),
            Some(neighbor) => Err(Error::new(
                ErrorKind::Corrupt,
                format!(
                    "a temporary file has changed near byte {}: a list names vertex {neighbor} of {}; check the disk",
                    block.offset,
                    self.lengths.len()
                ),
            )),
        }
    }
}
