//! Delivery: from records of lists to the pieces that a visitor gets: edges in scope that satisfy filters, weighted.
//!
//! ```text
//! neither weights nor filters    a slice of a page or of a merge, as it is, or without ends out of scope
//! weights, no filters            out lists: with the numbers of each source by rank, or of a memory graph by edge
//! else                           gathered in a batch of some thousand edges, whose properties are read in batches
//! ```

use crate::file::ranked_numbers::{NumberColumn, RankedNumbers};
use crate::format::operation::RecordOperation;
use crate::format::tree_key::{ItemKey, ListId};
use crate::merge::merged_run::{MergedRun, Origin};
use crate::source::PropertyAnswer;
use crate::topology::edge_batch::{BATCH_EDGES, EdgeBatch, EdgeFields, Records, reads_properties};
use crate::topology::edge_source::{EdgeSource, ListHolder, ScannedFile};
use crate::topology::frozen_graph::{FrozenGraph, PageReads};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::topology::{Piece, PieceBuffer, Visit};
use std::ops::Range;

/// Hands pieces to a visitor.
pub(super) struct Delivery<'d, F: ScannedFile, V> {
    topology: &'d FrozenGraph<F>,
    buffer: &'d mut PieceBuffer,
    wanted: EdgeFields,
    /// Used if properties are read.
    batch: EdgeBatch,
    /// Weights by rank, of each source.
    numbers: Vec<RankedNumbers>,
    /// Edges whose weights a memory graph is asked for, and what it says.
    items: Vec<(ListId, ItemKey)>,
    answers: Vec<PropertyAnswer>,
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
        wanted: EdgeFields,
        visitor: V,
    ) -> Self {
        let (batch, numbers) = (EdgeBatch::default(), Vec::new());
        let (items, answers) = (Vec::new(), Vec::new());
        Self { topology, buffer, wanted, batch, numbers, items, answers, visitor, done_with: None }
    }

    /// What the visitor wants to know.
    pub(super) fn wanted(&self) -> EdgeFields {
        self.wanted
    }

    /// Whether the visitor gets lists of a vertex.
    #[inline]
    pub(super) fn wants(&self, vertex: u32) -> bool {
        self.done_with != Some(vertex) && self.topology.vertices.contains(vertex)
    }

    /// Takes records of a vertex that is wanted, of `file` if no other source has the list; whether the visitor goes on.
    /// Weights are read as `reads` says.
    #[inline]
    pub(super) fn take(
        &mut self,
        vertex: u32,
        subject: usize,
        records: &Records<'_>,
        file: Option<&F>,
        reads: PageReads,
    ) -> Result<bool> {
        let topology = self.topology;
        if let Records::Merged(run) = records
            && run.operations.iter().any(|operation| *operation != RecordOperation::Insert)
        {
            return Err(incomplete(run));
        }
        if reads_properties(topology, self.wanted) {
            if let Some(goes_on) = self.take_by_rank(vertex, subject, records, file, reads)? {
                return Ok(goes_on);
            }
            self.batch.push(topology, vertex, subject, records);
            return if self.batch.len() >= BATCH_EDGES { self.deliver_batch() } else { Ok(true) };
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

    /// Hands out records with their weights, which lie where the merge says; `None` if that is not how they are read.
    fn take_by_rank(
        &mut self,
        vertex: u32,
        subject: usize,
        records: &Records<'_>,
        file: Option<&F>,
        reads: PageReads,
    ) -> Result<Option<bool>> {
        let topology = self.topology;
        let runs = match records {
            Records::Merged(run) if run.later_sets.is_empty() => run.property_runs,
            Records::Plain { ranks, .. } => std::slice::from_ref(ranks),
            Records::Merged(_) | Records::Present { .. } => return Ok(None),
        };
        let Some(column) = topology.weight_column(subject).filter(|_| self.wanted == EdgeFields::Weights)
        else {
            return Ok(None);
        };
        // What was gathered before comes first; its weights pass through the buffer too.
        if !self.deliver_batch()? {
            return Ok(Some(false));
        }
        if self.done_with == Some(vertex) {
            return Ok(Some(true));
        }
        self.buffer.weights.clear();
        let mut at = 0;
        for run in runs {
            let edges = at..at + run.count;
            at = edges.end;
            if !self.read_weights(&column, records, edges, run.first, file, reads)? {
                return Ok(None);
            }
        }
        let Self { buffer, visitor, .. } = self;
        let mut neighbors = records.neighbors();
        if topology.subjects[subject].leaves_scope {
            let scope = &topology.vertices;
            let mut ends = neighbors.iter();
            buffer.weights.retain(|_| ends.next().is_some_and(|end| scope.contains(*end)));
            buffer.neighbors.clear();
            buffer.neighbors.extend(neighbors.iter().filter(|end| scope.contains(**end)));
            neighbors = &buffer.neighbors;
        }
        let visit = match neighbors {
            [] => Visit::Continue,
            _ => visitor(vertex, Piece { neighbors, weights: &buffer.weights, sorted: true }),
        };
        self.done_with = (visit == Visit::NextVertex).then_some(vertex);
        Ok(Some(visit != Visit::Stop))
    }

    /// Appends the weights of some of the edges of `records`, whose properties begin at `first` in one source; of `file`, if
    /// that is known. False if one has none, or they lie where ranks do not lead.
    fn read_weights(
        &mut self,
        column: &NumberColumn,
        records: &Records<'_>,
        edges: Range<usize>,
        first: Origin,
        file: Option<&F>,
        reads: PageReads,
    ) -> Result<bool> {
        let topology = self.topology;
        let ranks = first.rank..first.rank + edges.len() as u64;
        let edge_source = &topology.edge_sources[first.source];
        let weights = &mut self.buffer.weights;
        let file = match (file, records) {
            (Some(file), _) => Some(file),
            (None, Records::Merged(run)) => match edge_source.holder(list_of(run), topology.timestamp) {
                ListHolder::File(file) => Some(file),
                ListHolder::Nothing | ListHolder::Others => None,
            },
            (None, _) => None,
        };
        if let Some(file) = file {
            if self.numbers.len() <= first.source {
                self.numbers.resize_with(first.source + 1, RankedNumbers::default);
            }
            let numbers = &mut self.numbers[first.source];
            return file.numbers_of(column, ranks, topology.window(reads), numbers, weights);
        }
        let (EdgeSource::Graphs(_), Records::Merged(run)) = (edge_source, records) else { return Ok(false) };
        let list = list_of(run);
        self.items.clear();
        self.items.extend(edges.map(|at| {
            let discriminator = run.discriminators.get(at).copied().unwrap_or(0);
            (list, ItemKey::edge(VertexId(run.neighbors[at]), discriminator))
        }));
        self.answers.clear();
        self.answers.resize(self.items.len(), PropertyAnswer::Undecided);
        edge_source.property(topology.timestamp, &self.items, column.key, &mut self.answers)?;
        for answer in &self.answers {
            let number = match answer {
                PropertyAnswer::Value(value) => value.as_f64(),
                PropertyAnswer::Absent => column.missing,
                PropertyAnswer::Undecided => None,
            };
            let Some(number) = number else { return Ok(false) };
            weights.push(number);
        }
        Ok(true)
    }

    /// Hands out what was gathered; called at the end, unless the visitor stopped.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.deliver_batch().map(|_| ())
    }

    fn deliver_batch(&mut self) -> Result<bool> {
        let Self { topology, buffer, wanted, batch, visitor, done_with, .. } = self;
        if batch.len() == 0 {
            return Ok(true);
        }
        let edges = batch.read_properties(topology, *wanted)?;
        for piece in batch.pieces() {
            if *done_with == Some(piece.vertex) {
                continue;
            }
            edges.copy_to(batch, piece.edges.clone(), buffer);
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
        batch.clear();
        Ok(true)
    }
}

/// The out list that a run is a part of.
fn list_of(run: &MergedRun<'_>) -> ListId {
    ListId { subject: run.list.subject, vertex: run.list.vertex }
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
