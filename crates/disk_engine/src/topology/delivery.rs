//! Delivery: from records of lists to the pieces that a visitor gets: edges in scope that satisfy filters, weighted.
//!
//! ```text
//! neither weights nor filters    a slice of a page or of a merge, as it is, or without ends out of scope
//! weights, no filters            out lists of one file alone: with its numbers by rank
//! else                           gathered in a stretch of some thousand edges, whose properties are read in batches
//! ```

use crate::file::ranked_numbers::{NumberColumn, RankedNumbers};
use crate::format::operation::RecordOperation;
use crate::format::subject::EdgeSide;
use crate::merge::merged_run::MergedRun;
use crate::topology::edge_layer::ScannedFile;
use crate::topology::frozen_graph::FrozenGraph;
use crate::topology::stretch::{Records, STRETCH_EDGES, Stretch, Wanted, reads_properties};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::topology::{Piece, PieceBuffer, Visit};

/// Hands pieces to a visitor.
pub(super) struct Delivery<'d, F: ScannedFile, V> {
    topology: &'d FrozenGraph<F>,
    buffer: &'d mut PieceBuffer,
    wanted: Wanted,
    /// Used if properties are read.
    stretch: Stretch,
    /// Weights of the lists of one file.
    numbers: RankedNumbers,
    visitor: V,
    /// Of this vertex the visitor wants no more.
    done_with: Option<u32>,
}

impl<'d, F, V> Delivery<'d, F, V>
where
    F: ScannedFile,
    V: FnMut(u32, Piece<'_>) -> Visit,
{
    pub(super) fn new(
        topology: &'d FrozenGraph<F>,
        buffer: &'d mut PieceBuffer,
        wanted: Wanted,
        visitor: V,
    ) -> Self {
        let (stretch, numbers) = (Stretch::default(), RankedNumbers::default());
        Self { topology, buffer, wanted, stretch, numbers, visitor, done_with: None }
    }

    /// Whether the visitor gets lists of a vertex.
    #[inline]
    pub(super) fn wants(&self, vertex: u32) -> bool {
        self.done_with != Some(vertex) && self.topology.vertices.contains(vertex)
    }

    /// Takes records of a vertex that is wanted, of `file` if no other layer has the list; whether the visitor goes on.
    #[inline]
    pub(super) fn take(
        &mut self,
        vertex: u32,
        subject: usize,
        records: &Records<'_>,
        file: Option<&F>,
    ) -> Result<bool> {
        let topology = self.topology;
        if let Records::Merged(run) = records
            && run.operations.iter().any(|operation| *operation != RecordOperation::Insert)
        {
            return Err(incomplete(run));
        }
        if reads_properties(topology, self.wanted) {
            if let (Records::Merged(run), Some(file)) = (records, file)
                && let Some(goes_on) = self.take_by_rank(vertex, subject, run, file)?
            {
                return Ok(goes_on);
            }
            self.stretch.push(topology, vertex, subject, records);
            return if self.stretch.len() >= STRETCH_EDGES { self.empty_stretch() } else { Ok(true) };
        }
        let mut neighbors = records.neighbors();
        if topology.subjects[subject].leaves_scope {
            let scope = &topology.vertices;
            self.buffer.neighbors.clear();
            self.buffer.neighbors.extend(neighbors.iter().filter(|end| scope.contains(**end)));
            neighbors = &self.buffer.neighbors;
        }
        let visit = match neighbors {
            [] => Visit::Continue,
            _ => (self.visitor)(vertex, Piece { neighbors, weights: &[], sorted: true }),
        };
        self.done_with = (visit == Visit::NextVertex).then_some(vertex);
        Ok(visit != Visit::Stop)
    }

    /// Hands out records of one file with their weights; `None` if that is not how they are read.
    fn take_by_rank(
        &mut self,
        vertex: u32,
        subject: usize,
        run: &MergedRun<'_>,
        file: &F,
    ) -> Result<Option<bool>> {
        let (topology, frozen) = (self.topology, &self.topology.subjects[subject]);
        let (Some(weight), [records]) = (&topology.weight, run.property_runs) else { return Ok(None) };
        if !topology.filters.is_empty() || frozen.side != EdgeSide::Out {
            return Ok(None);
        }
        let column = NumberColumn { subject: frozen.subject, key: weight.key, missing: weight.missing };
        let ranks = records.first.rank..records.first.rank + records.count as u64;
        // What was gathered before comes first; its weights pass through the buffer too.
        if !self.empty_stretch()? {
            return Ok(Some(false));
        }
        if self.done_with == Some(vertex) {
            return Ok(Some(true));
        }
        let Self { buffer, numbers, visitor, .. } = self;
        buffer.weights.clear();
        if !file.numbers_of(&column, ranks, &topology.window, numbers, &mut buffer.weights)? {
            return Ok(None);
        }
        let mut neighbors = run.neighbors;
        if frozen.leaves_scope {
            let (mut at, scope) = (0, &topology.vertices);
            buffer.weights.retain(|_| {
                at += 1;
                scope.contains(run.neighbors[at - 1])
            });
            buffer.neighbors.clear();
            buffer.neighbors.extend(run.neighbors.iter().filter(|end| scope.contains(**end)));
            neighbors = &buffer.neighbors;
        }
        let visit = match neighbors {
            [] => Visit::Continue,
            _ => visitor(vertex, Piece { neighbors, weights: &buffer.weights, sorted: true }),
        };
        self.done_with = (visit == Visit::NextVertex).then_some(vertex);
        Ok(Some(visit != Visit::Stop))
    }

    /// Hands out what was gathered; called at the end, unless the visitor stopped.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.empty_stretch().map(|_| ())
    }

    fn empty_stretch(&mut self) -> Result<bool> {
        let Self { topology, buffer, wanted, stretch, visitor, done_with, .. } = self;
        if stretch.len() == 0 {
            return Ok(true);
        }
        let edges = stretch.read_properties(topology, *wanted)?;
        for piece in stretch.pieces() {
            if *done_with == Some(piece.vertex) {
                continue;
            }
            edges.copy_to(stretch, piece.edges.clone(), buffer);
            if buffer.neighbors.is_empty() {
                continue;
            }
            let found = Piece { neighbors: &buffer.neighbors, weights: &buffer.weights, sorted: true };
            match visitor(piece.vertex, found) {
                Visit::Continue => {}
                Visit::NextVertex => *done_with = Some(piece.vertex),
                Visit::Stop => return Ok(false),
            }
        }
        stretch.clear();
        Ok(true)
    }
}

/// A record that changes an edge which no older file has.
#[cold]
fn incomplete(run: &MergedRun<'_>) -> Error {
    let at = run.operations.iter().position(|operation| *operation != RecordOperation::Insert).unwrap_or(0);
    let (subject, vertex, neighbor) = (run.list.subject, run.list.vertex, run.neighbors[at]);
    let text =
        format!("{subject} of {vertex}, v{neighbor}: changed, but no file has the record that inserted it");
    Error::new(ErrorKind::Corrupt, text)
}
