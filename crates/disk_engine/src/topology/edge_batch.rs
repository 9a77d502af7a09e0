//! Edge batch: some thousand edges of consecutive lists, gathered to read their properties in batches.
//!
//! ```text
//! pieces    v3 [0..2)  v5 [2..3)         neighbors 4 9 1      which sources have a record of each
//! ask       newest source first, its own edges that no newer source decided, by out list and item
//! edges     kept: those that satisfy all filters; their weights
//! ```
//!
//! The merge knows which sources have records of an edge, so no other source is asked. In lists it does not know that:
//! changes of properties are in out lists alone; so all sources are asked until one decides.

use crate::format::subject::EdgeSide;
use crate::format::tree_key::{ItemKey, ListId};
use crate::merge::merged_run::{MergedRun, PropertyRun};
use crate::source::PropertyAnswer;
use crate::topology::edge_source::ScannedFile;
use crate::topology::frozen_graph::{FrozenGraph, FrozenSubject, FrozenWeight};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::topology::PieceBuffer;
use evergraph_graph::value::Value;
use std::ops::Range;

/// Edges that are gathered, about: a run more at most.
pub(super) const BATCH_EDGES: usize = 4096;

/// What visitors want to know of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EdgeFields {
    /// Their ends, and weights if the projection has them.
    Weights,
    /// Their ends alone.
    Ends,
}

/// Records of one list.
pub(super) enum Records<'r> {
    /// Merged from all sources, so all that is left are Inserts.
    Merged(MergedRun<'r>),
    /// Inserts of one file alone, as they lie there.
    Plain { neighbors: &'r [u32], discriminators: &'r [u16], ranks: PropertyRun },
    /// Edges that are there, and the sources that have records of each.
    Present { neighbors: &'r [u32], discriminators: &'r [u16], source_bits: &'r [u64] },
}

impl Records<'_> {
    pub(super) fn neighbors(&self) -> &[u32] {
        match self {
            Self::Merged(run) => run.neighbors,
            Self::Plain { neighbors, .. } | Self::Present { neighbors, .. } => neighbors,
        }
    }
}

/// Whether visits for this read properties of edges.
#[inline]
pub(super) fn reads_properties<F>(topology: &FrozenGraph<F>, wanted: EdgeFields) -> bool {
    !topology.filters.is_empty() || (topology.weight.is_some() && wanted == EdgeFields::Weights)
}

/// Edges of one list.
#[derive(Clone, Debug)]
pub(super) struct BatchPiece {
    /// The vertex that has the list.
    pub vertex: u32,
    /// The place of its subject among those of the topology.
    subject: usize,
    /// Which edges of the batch they are.
    pub edges: Range<usize>,
}

/// Edges of consecutive lists.
#[derive(Debug, Default)]
pub(super) struct EdgeBatch {
    pieces: Vec<BatchPiece>,
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    /// The sources to ask about each edge, a bit each; sources beyond 64 are always asked.
    source_bits: Vec<u64>,
}

/// An edge whose properties are read.
#[derive(Clone, Copy, Debug)]
struct EdgeToRead {
    /// Its out list and its item there.
    item: (ListId, ItemKey),
    source_bits: u64,
    /// Which edge of the batch it is.
    at: u32,
}

/// What properties say of the edges of a batch.
#[derive(Debug)]
pub(super) struct ReadEdges {
    /// Whether an edge satisfies all filters.
    kept: Vec<bool>,
    /// Empty if no weights are wanted.
    weights: Vec<f64>,
}

impl ReadEdges {
    /// Replaces what is in `buffer` by the edges of `range` that are kept, and their weights.
    pub(super) fn copy_to(&self, batch: &EdgeBatch, range: Range<usize>, buffer: &mut PieceBuffer) {
        buffer.neighbors.clear();
        buffer.weights.clear();
        for at in range.filter(|at| self.kept[*at]) {
            buffer.neighbors.push(batch.neighbors[at]);
            buffer.weights.extend(self.weights.get(at));
        }
    }
}

impl EdgeBatch {
    /// How many edges there are.
    pub(super) fn len(&self) -> usize {
        self.neighbors.len()
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.neighbors.clear();
        self.discriminators.clear();
        self.source_bits.clear();
    }

    /// The lists, in the order in which they came.
    pub(super) fn pieces(&self) -> &[BatchPiece] {
        &self.pieces
    }

    /// Appends the records of one list whose other ends are in scope.
    pub(super) fn push<F: ScannedFile>(
        &mut self,
        topology: &FrozenGraph<F>,
        vertex: u32,
        subject: usize,
        records: &Records<'_>,
    ) {
        let first = self.len();
        let bit = |edge_source: usize| 1_u64.checked_shl(edge_source as u32).unwrap_or(0);
        match records {
            Records::Merged(run) => {
                self.neighbors.extend_from_slice(run.neighbors);
                self.push_discriminators(run.discriminators);
                for properties in run.property_runs {
                    let source_bits = bit(properties.first.source);
                    self.source_bits.resize(self.source_bits.len() + properties.count, source_bits);
                }
                for set in run.later_sets {
                    self.source_bits[first + set.record] |= bit(set.origin.source);
                }
            }
            Records::Plain { neighbors, discriminators, ranks } => {
                self.neighbors.extend_from_slice(neighbors);
                self.push_discriminators(discriminators);
                self.source_bits.resize(self.neighbors.len(), bit(ranks.first.source));
            }
            Records::Present { neighbors, discriminators, source_bits } => {
                self.neighbors.extend_from_slice(neighbors);
                self.push_discriminators(discriminators);
                self.source_bits.extend_from_slice(source_bits);
            }
        }
        debug_assert_eq!(self.source_bits.len(), self.len(), "each record has its sources");
        if topology.subjects[subject].leaves_scope {
            self.retain_in_scope(first, topology);
        }
        if self.len() > first {
            self.pieces.push(BatchPiece { vertex, subject, edges: first..self.len() });
        }
    }

    fn push_discriminators(&mut self, discriminators: &[u16]) {
        self.discriminators.extend_from_slice(discriminators);
        self.discriminators.resize(self.neighbors.len(), 0);
    }

    /// Of the edges from `first` on, leaves out those whose other ends are out of scope.
    fn retain_in_scope<F: ScannedFile>(&mut self, first: usize, topology: &FrozenGraph<F>) {
        let mut end = first;
        for at in first..self.len() {
            if topology.vertices.contains(self.neighbors[at]) {
                self.neighbors[end] = self.neighbors[at];
                self.discriminators[end] = self.discriminators[at];
                self.source_bits[end] = self.source_bits[at];
                end += 1;
            }
        }
        self.neighbors.truncate(end);
        self.discriminators.truncate(end);
        self.source_bits.truncate(end);
    }

    /// Reads what filters ask of the edges, and the weights of those that satisfy them.
    ///
    /// Cost: for each property one batch for each source, of the edges that it has records of.
    pub(super) fn read_properties<F: ScannedFile>(
        &self,
        topology: &FrozenGraph<F>,
        wanted: EdgeFields,
    ) -> Result<ReadEdges> {
        let mut asked = self.edges_to_read(topology);
        for filter in &topology.filters {
            let mut answers = read_property(topology, &asked, filter.key)?.into_iter();
            asked.retain(|_| filter.holds(answers.next().as_ref().and_then(value)));
        }
        let mut kept = vec![false; self.len()];
        asked.iter().for_each(|edge| kept[edge.at as usize] = true);
        let mut weights = Vec::new();
        if let Some(weight) = topology.weight.as_ref().filter(|_| wanted == EdgeFields::Weights) {
            weights.resize(self.len(), 0.0);
            let answers = read_property(topology, &asked, weight.key)?;
            for (edge, answer) in asked.iter().zip(&answers) {
                let number = value(answer).map(|value| value.as_f64().ok_or("has no number"));
                let number = number.or_else(|| weight.missing.map(Ok)).unwrap_or(Err("has no value"));
                weights[edge.at as usize] = number
                    .map_err(|why| weight_error(weight, self.subject_of(topology, edge.at), edge, why))?;
            }
        }
        Ok(ReadEdges { kept, weights })
    }

    /// The edges, in the order of out lists.
    fn edges_to_read<F: ScannedFile>(&self, topology: &FrozenGraph<F>) -> Vec<EdgeToRead> {
        let mut asked = Vec::with_capacity(self.len());
        for piece in &self.pieces {
            let FrozenSubject { edge_type, side, .. } = topology.subjects[piece.subject];
            for at in piece.edges.clone() {
                let (other, discriminator) = (self.neighbors[at], self.discriminators[at]);
                let (source, target, source_bits) = match side {
                    EdgeSide::Out => (piece.vertex, other, self.source_bits[at]),
                    EdgeSide::In => (other, piece.vertex, u64::MAX),
                };
                let list = ListId::edges(VertexId(source), edge_type, EdgeSide::Out);
                let item = (list, ItemKey::edge(VertexId(target), discriminator));
                asked.push(EdgeToRead { item, source_bits, at: at as u32 });
            }
        }
        if !asked.is_sorted_by_key(|edge| edge.item) {
            asked.sort_unstable_by_key(|edge| edge.item);
        }
        asked
    }

    fn subject_of<'t, F: ScannedFile>(&self, topology: &'t FrozenGraph<F>, at: u32) -> &'t FrozenSubject {
        let piece = self.pieces.partition_point(|piece| piece.edges.end <= at as usize);
        &topology.subjects[self.pieces[piece].subject]
    }
}

/// The property `key` of edges, as far as any source decides it.
fn read_property<F: ScannedFile>(
    topology: &FrozenGraph<F>,
    edges: &[EdgeToRead],
    key: KeyId,
) -> Result<Vec<PropertyAnswer>> {
    let mut found = vec![PropertyAnswer::Undecided; edges.len()];
    let (mut places, mut items, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, edge_source) in topology.edge_sources.iter().enumerate() {
        let is_asked = |edge: &EdgeToRead| number >= 64 || edge.source_bits >> number & 1 == 1;
        places.clear();
        let undecided = (0..edges.len()).filter(|at| found[*at] == PropertyAnswer::Undecided);
        places.extend(undecided.filter(|at| is_asked(&edges[*at])));
        if places.is_empty() {
            continue;
        }
        items.clear();
        items.extend(places.iter().map(|at| edges[*at].item));
        answers.clear();
        answers.resize(places.len(), PropertyAnswer::Undecided);
        edge_source.property(topology.timestamp, &items, key, &mut answers)?;
        for (at, answer) in places.iter().zip(answers.drain(..)) {
            found[*at] = answer;
        }
    }
    Ok(found)
}

/// The value; what no source decides is absent.
fn value(answer: &PropertyAnswer) -> Option<&Value> {
    match answer {
        PropertyAnswer::Value(value) => Some(value),
        PropertyAnswer::Absent | PropertyAnswer::Undecided => None,
    }
}

#[cold]
fn weight_error(weight: &FrozenWeight, subject: &FrozenSubject, edge: &EdgeToRead, why: &str) -> Error {
    let (list, item) = edge.item;
    let (source, target, name) = (list.vertex, item.neighbor(), &weight.name);
    Error::invalid(format!(
        "the edge {} from {source} to {target} {why} as its weight `{name}`",
        subject.type_name
    ))
}
