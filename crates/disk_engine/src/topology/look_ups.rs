//! Look-ups: the lists of scattered vertices, a block of them at a time.
//!
//! ```text
//! block     v3 v90 v2044 ...    the pages of their lists, in all sources, are read side by side
//! plain     one file alone has the list: it is decoded, and nothing else of its page; ranks say where its weights are,
//!           whose pages are read side by side, too
//! merged    sources have records of the list, or it is long: point reads; where weights are read by rank, a walk
//! ```
//!
//! A list takes one read of the disk where the cache has nothing of it, two with weights, and those of a block overlap.

use crate::file::plain_list::PlainLists;
use crate::format::tree_key::ListId;
use crate::merge::merged_run::{Origin, PropertyRun};
use crate::topology::delivery::Delivery;
use crate::topology::edge_batch::{EdgeFields, Records};
use crate::topology::edge_source::{ListHolder, ScannedFile};
use crate::topology::frozen_graph::{FrozenGraph, PageReads};
use crate::topology::scattered_lists::ScatteredLists;
use crate::topology::walk::Walk;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Piece, Visit};
use std::ops::Range;

/// Pages of a list that are looked up; more are scanned, by reads ahead.
const PAGES_MAX: usize = 4;
/// Edges that are gathered before they are handed out, about: a list more at most.
const GATHERED_EDGES: usize = 16 << 10;

/// A list that one file alone has.
#[derive(Debug)]
struct PlainPiece<'t, F> {
    vertex: u32,
    /// The place of its subject among those of the topology.
    subject: usize,
    edge_source: usize,
    file: &'t F,
    /// Which of the gathered edges are its own.
    edges: Range<usize>,
    first_rank: u64,
}

impl<F> PlainPiece<'_, F> {
    fn ranks(&self) -> Range<u64> {
        self.first_rank..self.first_rank + self.edges.len() as u64
    }
}

/// Looks lists up; its buffers are reused from block to block.
pub(super) struct LookUps<'t, F> {
    topology: &'t FrozenGraph<F>,
    /// The lists of a block, and the places of their subjects among those of the topology.
    wanted: Vec<(ListId, usize)>,
    lists: Vec<ListId>,
    plain: PlainLists,
    pieces: Vec<PlainPiece<'t, F>>,
    scattered_lists: ScatteredLists,
}

impl<'t, F: ScannedFile> LookUps<'t, F> {
    pub(super) fn new(topology: &'t FrozenGraph<F>) -> Self {
        Self {
            topology,
            wanted: Vec::new(),
            lists: Vec::new(),
            plain: PlainLists::default(),
            pieces: Vec::new(),
            scattered_lists: ScatteredLists::default(),
        }
    }

    /// Delivers the lists of `vertices`, ascending. Whether the visitor goes on.
    pub(super) fn deliver<V>(
        &mut self,
        direction: Direction,
        vertices: &[u32],
        delivery: &mut Delivery<'_, F, V>,
    ) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let topology = self.topology;
        self.wanted.clear();
        for vertex in vertices.iter().copied().filter(|vertex| topology.vertices.contains(*vertex)) {
            let group = VertexId(vertex).group().0;
            for at in topology.subjects_of(direction)? {
                let subject = &topology.subjects[at];
                if subject.groups.contains(group) {
                    let list = ListId { subject: subject.subject, vertex: VertexId(vertex) };
                    self.wanted.push((list, at));
                }
            }
        }
        self.lists.clear();
        self.lists.extend(self.wanted.iter().map(|(list, _)| *list));
        topology
            .edge_sources
            .iter()
            .for_each(|edge_source| edge_source.read_ahead(topology.timestamp, &self.lists));
        for at in 0..self.wanted.len() {
            let (list, subject) = self.wanted[at];
            if !delivery.wants(list.vertex.0) || self.gather(list, subject)? {
                if self.plain.len() >= GATHERED_EDGES && !self.deliver_plain(delivery)? {
                    return Ok(false);
                }
                continue;
            }
            if !self.deliver_plain(delivery)? || !self.deliver_merged(list, subject, delivery)? {
                return Ok(false);
            }
        }
        self.deliver_plain(delivery)
    }

    /// Gathers a list that one file alone has, or none; false if it is to be merged.
    fn gather(&mut self, list: ListId, subject: usize) -> Result<bool> {
        let (topology, mut found) = (self.topology, None);
        for (edge_source, edges) in topology.edge_sources.iter().enumerate() {
            match edges.holder(list, topology.timestamp) {
                ListHolder::Nothing => {}
                ListHolder::File(file) if found.is_none() => found = Some((edge_source, file)),
                ListHolder::File(_) | ListHolder::Others => return Ok(false),
            }
        }
        let Some((edge_source, file)) = found else { return Ok(true) };
        if file.pages_of_list(list, topology.timestamp) > PAGES_MAX {
            return Ok(false);
        }
        let start = self.plain.len();
        let Some(first_rank) = file.plain_list(list, topology.timestamp, &mut self.plain)? else {
            return Ok(false);
        };
        let (vertex, edges) = (list.vertex.0, start..self.plain.len());
        self.pieces.push(PlainPiece { vertex, subject, edge_source, file, edges, first_rank });
        Ok(true)
    }

    /// Hands out what was gathered. Whether the visitor goes on.
    fn deliver_plain<V>(&mut self, delivery: &mut Delivery<'_, F, V>) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let topology = self.topology;
        if delivery.wanted() == EdgeFields::Weights {
            let is_same = |one: &PlainPiece<'_, F>, other: &PlainPiece<'_, F>| {
                one.subject == other.subject && std::ptr::eq(one.file, other.file)
            };
            for pieces in self.pieces.chunk_by(is_same) {
                if let Some(column) = topology.weight_column(pieces[0].subject) {
                    pieces[0].file.read_numbers_ahead(&column, pieces.iter().map(PlainPiece::ranks));
                }
            }
        }
        for piece in &self.pieces {
            if !delivery.wants(piece.vertex) {
                continue;
            }
            let first = Origin { source: piece.edge_source, rank: piece.first_rank };
            let records = Records::Plain {
                neighbors: &self.plain.neighbors[piece.edges.clone()],
                discriminators: &self.plain.discriminators[piece.edges.clone()],
                ranks: PropertyRun { first, count: piece.edges.len() },
            };
            if !delivery.take(piece.vertex, piece.subject, &records, Some(piece.file), PageReads::Single)? {
                return Ok(false);
            }
        }
        self.pieces.clear();
        self.plain.clear();
        Ok(true)
    }

    /// Hands out a list of several sources, or a long one. Whether the visitor goes on.
    fn deliver_merged<V>(
        &mut self,
        list: ListId,
        subject: usize,
        delivery: &mut Delivery<'_, F, V>,
    ) -> Result<bool>
    where
        V: FnMut(u32, Piece<'_>) -> Visit,
    {
        let (topology, vertex) = (self.topology, list.vertex.0);
        let edge_sources = topology.edge_sources.iter();
        let pages: usize =
            edge_sources.map(|edge_source| edge_source.pages_of_list(list, topology.timestamp)).sum();
        if pages > PAGES_MAX || topology.weight_column(subject).is_some() {
            let reads = if pages > PAGES_MAX { PageReads::Ahead } else { PageReads::Single };
            let end = vertex.saturating_add(1);
            let mut walk = Walk::new(topology, std::iter::once(subject), vertex..end, reads)?;
            while delivery.wants(vertex)
                && let Some(next) = walk.next()?
            {
                if !delivery.take(vertex, subject, &Records::Merged(next.run), next.file, reads)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let reads = &mut self.scattered_lists;
        reads.begin(topology, list)?;
        while delivery.wants(vertex) && reads.next(topology, list)? {
            let ScatteredLists { neighbors, discriminators, source_bits, .. } = &*reads;
            let records = Records::Present { neighbors, discriminators, source_bits };
            if !delivery.take(vertex, subject, &records, None, PageReads::Single)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
