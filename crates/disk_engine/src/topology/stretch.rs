//! Stretch: some thousand edges of consecutive lists, gathered to read their properties in batches.
//!
//! ```text
//! pieces    v3 [0..2)  v5 [2..3)         neighbors 4 9 1      which layers have a record of each
//! ask       newest layer first, its own edges that no newer layer decided, by out list and item
//! edges     kept: those that satisfy all filters; their weights
//! ```
//!
//! The merge knows which layers have records of an edge, so no other layer is asked. In lists it does not know that:
//! changes of properties are in out lists alone; so all layers are asked until one decides.

use crate::format::subject::EdgeSide;
use crate::format::tree_key::{ItemKey, ListId};
use crate::merge::merged_run::{MergedRun, PropertyRun};
use crate::source::PropertyAnswer;
use crate::topology::edge_layer::ScannedFile;
use crate::topology::frozen_graph::{FrozenGraph, FrozenSubject, FrozenWeight};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::topology::PieceBuffer;
use evergraph_graph::value::Value;
use std::ops::Range;

/// Edges that are gathered, about: a run more at most.
pub(super) const STRETCH_EDGES: usize = 4096;

/// What visitors want to know of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Their ends, and weights if the projection has them.
    Weights,
    /// Their ends alone.
    Ends,
}

/// Records of one list.
pub(super) enum Records<'r> {
    /// Merged from all layers, so all that is left are Inserts.
    Merged(MergedRun<'r>),
    /// Inserts of one file alone, as they lie there.
    Plain { neighbors: &'r [u32], discriminators: &'r [u16], ranks: PropertyRun },
    /// Edges that are there, and the layers that have records of each.
    Present { neighbors: &'r [u32], discriminators: &'r [u16], layers: &'r [u64] },
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
pub(super) fn reads_properties<F>(topology: &FrozenGraph<F>, wanted: Wanted) -> bool {
    !topology.filters.is_empty() || (topology.weight.is_some() && wanted == Wanted::Weights)
}

/// Edges of one list.
#[derive(Clone, Debug)]
pub(super) struct StretchPiece {
    /// The vertex that has the list.
    pub vertex: u32,
    /// The place of its subject among those of the topology.
    subject: usize,
    /// Which edges of the stretch they are.
    pub edges: Range<usize>,
}

/// Edges of consecutive lists.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    pieces: Vec<StretchPiece>,
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    /// The layers to ask about each edge, a bit each; layers beyond 64 are always asked.
    layers: Vec<u64>,
}

/// An edge whose properties are read.
#[derive(Clone, Copy, Debug)]
struct AskedEdge {
    /// Its out list and its item there.
    item: (ListId, ItemKey),
    layers: u64,
    /// Which edge of the stretch it is.
    at: u32,
}

/// What properties say of the edges of a stretch.
#[derive(Debug)]
pub(super) struct ReadEdges {
    /// Whether an edge satisfies all filters.
    kept: Vec<bool>,
    /// Empty if no weights are wanted.
    weights: Vec<f64>,
}

impl ReadEdges {
    /// Replaces what is in `buffer` by the edges of `range` that are kept, and their weights.
    pub(super) fn copy_to(&self, stretch: &Stretch, range: Range<usize>, buffer: &mut PieceBuffer) {
        buffer.neighbors.clear();
        buffer.weights.clear();
        for at in range.filter(|at| self.kept[*at]) {
            buffer.neighbors.push(stretch.neighbors[at]);
            buffer.weights.extend(self.weights.get(at));
        }
    }
}

impl Stretch {
    /// How many edges there are.
    pub(super) fn len(&self) -> usize {
        self.neighbors.len()
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.neighbors.clear();
        self.discriminators.clear();
        self.layers.clear();
    }

    /// The lists, in the order in which they came.
    pub(super) fn pieces(&self) -> &[StretchPiece] {
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
        let bit = |layer: usize| 1_u64.checked_shl(layer as u32).unwrap_or(0);
        match records {
            Records::Merged(run) => {
                self.neighbors.extend_from_slice(run.neighbors);
                self.push_discriminators(run.discriminators);
                for properties in run.property_runs {
                    let layers = bit(properties.first.source);
                    self.layers.resize(self.layers.len() + properties.count, layers);
                }
                for set in run.later_sets {
                    self.layers[first + set.record] |= bit(set.origin.source);
                }
            }
            Records::Plain { neighbors, discriminators, ranks } => {
                self.neighbors.extend_from_slice(neighbors);
                self.push_discriminators(discriminators);
                self.layers.resize(self.neighbors.len(), bit(ranks.first.source));
            }
            Records::Present { neighbors, discriminators, layers } => {
                self.neighbors.extend_from_slice(neighbors);
                self.push_discriminators(discriminators);
                self.layers.extend_from_slice(layers);
            }
        }
        debug_assert_eq!(self.layers.len(), self.len(), "each record has its layers");
        if topology.subjects[subject].leaves_scope {
            self.retain_in_scope(first, topology);
        }
        if self.len() > first {
            self.pieces.push(StretchPiece { vertex, subject, edges: first..self.len() });
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
                self.layers[end] = self.layers[at];
                end += 1;
            }
        }
        self.neighbors.truncate(end);
        self.discriminators.truncate(end);
        self.layers.truncate(end);
    }

    /// Reads what filters ask of the edges, and the weights of those that satisfy them.
    ///
    /// Cost: for each property one batch for each layer, of the edges that it has records of.
    pub(super) fn read_properties<F: ScannedFile>(
        &self,
        topology: &FrozenGraph<F>,
        wanted: Wanted,
    ) -> Result<ReadEdges> {
        let mut asked = self.asked_edges(topology);
        for filter in &topology.filters {
            let mut answers = read_property(topology, &asked, filter.key)?.into_iter();
            asked.retain(|_| filter.holds(answers.next().as_ref().and_then(value)));
        }
        let mut kept = vec![false; self.len()];
        asked.iter().for_each(|edge| kept[edge.at as usize] = true);
        let mut weights = Vec::new();
        if let Some(weight) = topology.weight.as_ref().filter(|_| wanted == Wanted::Weights) {
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
    fn asked_edges<F: ScannedFile>(&self, topology: &FrozenGraph<F>) -> Vec<AskedEdge> {
        let mut asked = Vec::with_capacity(self.len());
        for piece in &self.pieces {
            let FrozenSubject { edge_type, side, .. } = topology.subjects[piece.subject];
            for at in piece.edges.clone() {
                let (other, discriminator) = (self.neighbors[at], self.discriminators[at]);
                let (source, target, layers) = match side {
                    EdgeSide::Out => (piece.vertex, other, self.layers[at]),
                    EdgeSide::In => (other, piece.vertex, u64::MAX),
                };
                let list = ListId::edges(VertexId(source), edge_type, EdgeSide::Out);
                let item = (list, ItemKey::edge(VertexId(target), discriminator));
                asked.push(AskedEdge { item, layers, at: at as u32 });
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

/// The property `key` of edges, as far as any layer decides it.
fn read_property<F: ScannedFile>(
    topology: &FrozenGraph<F>,
    edges: &[AskedEdge],
    key: KeyId,
) -> Result<Vec<PropertyAnswer>> {
    let mut found = vec![PropertyAnswer::Undecided; edges.len()];
    let (mut places, mut items, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, layer) in topology.layers.iter().enumerate() {
        let is_asked = |edge: &AskedEdge| number >= 64 || edge.layers >> number & 1 == 1;
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
        layer.property(topology.timestamp, &items, key, &mut answers)?;
        for (at, answer) in places.iter().zip(answers.drain(..)) {
            found[*at] = answer;
        }
    }
    Ok(found)
}

/// The value; what no layer decides is absent.
fn value(answer: &PropertyAnswer) -> Option<&Value> {
    match answer {
        PropertyAnswer::Value(value) => Some(value),
        PropertyAnswer::Absent | PropertyAnswer::Undecided => None,
    }
}

#[cold]
fn weight_error(weight: &FrozenWeight, subject: &FrozenSubject, edge: &AskedEdge, why: &str) -> Error {
    let (list, item) = edge.item;
    let (source, target, name) = (list.vertex, item.neighbor(), &weight.name);
    Error::invalid(format!(
        "the edge {} from {source} to {target} {why} as its weight `{name}`",
        subject.type_name
    ))
}
