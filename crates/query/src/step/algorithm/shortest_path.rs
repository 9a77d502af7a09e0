//! `shortestPath()`: all shortest paths from each row's vertex, one after the other.
//!
//! ```text
//! distances from the source      0 ── 1 ── 2 ── 3      a kernel: breadth-first, or by weight
//! an edge u -> v is tight where  distance(u) + length(u, v) = distance(v)
//! paths                          all walks over tight edges, back from each target to the source
//! ```
//!
//! Paths are made when they are fetched: there may be very many of one length. A path that would meet a vertex twice,
//! over edges of no length, is none. Source: TinkerPop's `ShortestPathVertexProgram`, which sends every path along
//! every edge instead.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::waiting::Waiting;
use crate::step::algorithm::selection::{Selected, Selection};
use crate::step::algorithm::{not_a_vertex, within};
use crate::step::by::Projection;
use crate::value::element_id::edge_id_text;
use crate::value::item::Item;
use crate::value::path::Path;
use evergraph_algorithms::bfs::{Bfs, BfsParameters};
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::sssp::SsspParameters;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::vertex_set::VertexSet;
use std::sync::Arc;

const NAME: &str = "shortestPath";

/// Steps over tight edges between two looks at the clock.
const STEPS: usize = 4096;

/// What may be chosen about the paths.
pub struct Chosen {
    /// Paths end where this gives something; anywhere without it.
    pub target: Option<Child>,
    /// How long an edge is; 1 without it.
    pub distance: Option<Projection>,
    /// Longer ones are left out.
    pub distance_max: Option<f64>,
    /// Whether edges are in the paths too.
    pub includes_edges: bool,
}

/// All shortest paths from each row's vertex.
pub struct ShortestPaths {
    selection: Selection,
    chosen: Chosen,
    waiting: Waiting,
    graph: Option<Graph>,
    /// The paths from the row that is next of the first batch that waits, once some were given.
    walk: Option<Walk>,
    row: u32,
}

impl ShortestPaths {
    /// Through `selection`.
    #[must_use]
    pub fn new(selection: Selection, chosen: Chosen) -> Self {
        Self { selection, chosen, waiting: Waiting::default(), graph: None, walk: None, row: 0 }
    }
}

impl Step for ShortestPaths {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.waiting.push(batch, &mut cx.charge)?;
        }
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        while let Some(batch) = self.waiting.first() {
            if self.row as usize == batch.len() {
                self.waiting.pop();
                self.row = 0;
                continue;
            }
            let graph = match &mut self.graph {
                Some(graph) => graph,
                none => none.insert(Graph::read(&mut self.selection, &mut self.chosen, cx)?),
            };
            let walk = match &mut self.walk {
                Some(walk) => walk,
                none => {
                    let item = batch.current.get(self.row as usize).unwrap_or(Item::Null);
                    let source = item.as_vertex().ok_or_else(|| not_a_vertex(NAME, &item))?;
                    none.insert(Walk::begin(source, graph, self.chosen.distance_max, cx)?)
                }
            };
            let mut paths = Vec::new();
            while paths.len() < cx.charge.batch_rows()
                && let Some(path) = walk.next(graph, cx)?
            {
                paths.push(path);
            }
            if paths.len() < cx.charge.batch_rows() {
                cx.charge.free(walk.held_bytes);
                self.walk = None;
                self.row += 1;
            }
            if !paths.is_empty() {
                let row = if self.walk.is_none() { self.row - 1 } else { self.row };
                let rows = Rows::Some(vec![row; paths.len()].into());
                return Ok(Some(batch.clone().follow(&rows, Column::new(Data::Items(paths)))));
            }
        }
        Ok(None)
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
        (self.graph, self.walk, self.row) = (None, None, 0);
    }
}

/// An edge into a vertex.
#[derive(Clone, Copy)]
struct Incoming {
    from: u32,
    length: f64,
    edge: Option<EdgeId>,
}

/// The graph as kernels read it, and the edges into each vertex.
struct Graph {
    csr: Arc<StaticCsr>,
    vertices: VertexSet,
    /// Whether edges have lengths of their own.
    is_weighted: bool,
    /// By target, then source.
    incoming: Vec<Incoming>,
    /// Where the edges into each vertex begin; one more than there are ids.
    offsets: Vec<usize>,
    targets: VertexSet,
}

impl Graph {
    fn read(selection: &mut Selection, chosen: &mut Chosen, cx: &mut Context<'_>) -> Result<Self> {
        // The edges are asked for their lengths, and may be in the paths.
        let keeps = chosen.distance.is_some() || chosen.includes_edges;
        let selected = selection.read(NAME, keeps, cx)?;
        let lengths = match &mut chosen.distance {
            Some(distance) => Some(lengths(distance, &selected.edges, cx)?),
            None => None,
        };
        let Selected { vertices, pairs, edges, .. } = &selected;
        cx.charge
            .hold(pairs.len() * size_of::<Incoming>() + vertices.bound() as usize * size_of::<usize>())?;
        let csr = Arc::new(StaticCsr::new(vertices.clone(), pairs, lengths.as_deref(), Direction::Both)?);
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_by_key(|at| (pairs[*at as usize].1, pairs[*at as usize].0));
        let incoming: Vec<Incoming> = order
            .iter()
            .map(|at| Incoming {
                from: pairs[*at as usize].0,
                length: lengths.as_ref().map_or(1.0, |lengths| lengths[*at as usize]),
                edge: chosen.includes_edges.then(|| edges[*at as usize]),
            })
            .collect();
        let mut offsets = vec![0; vertices.bound() as usize + 1];
        for (_, to) in pairs {
            offsets[*to as usize + 1] += 1;
        }
        for id in 1..offsets.len() {
            offsets[id] += offsets[id - 1];
        }
        let targets = match &mut chosen.target {
            Some(target) => targets(target, vertices, cx)?,
            None => vertices.clone(),
        };
        let (vertices, is_weighted) = (vertices.clone(), lengths.is_some());
        Ok(Self { csr, vertices, is_weighted, incoming, offsets, targets })
    }

    fn edges_into(&self, vertex: u32) -> &[Incoming] {
        &self.incoming[self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]]
    }
}

/// How long each edge is; 0 where nothing says so, as in TinkerPop.
fn lengths(distance: &mut Projection, edges: &[EdgeId], cx: &mut Context<'_>) -> Result<Vec<f64>> {
    let mut lengths = Vec::with_capacity(edges.len());
    for edges in edges.chunks(cx.charge.batch_rows()) {
        cx.charge.check()?;
        let rows = Batch::new(Column::new(Data::Edges(edges.to_vec())), (0..edges.len() as u32).collect());
        for (edge, length) in edges.iter().zip(distance.of(&rows, cx)?) {
            let length = match length {
                None | Some(Item::Null) => 0.0,
                Some(item) => {
                    item.as_value().and_then(evergraph_graph::value::Value::as_f64).ok_or_else(|| {
                        let (edge, kind) = (edge_id_text(*edge), item.kind());
                        Error::invalid(format!(
                            "the distance of the edge {edge} is {kind}, and must be a number"
                        ))
                    })?
                }
            };
            lengths.push(length);
        }
    }
    Ok(lengths)
}

/// Where paths may end.
fn targets(target: &mut Child, vertices: &VertexSet, cx: &mut Context<'_>) -> Result<VertexSet> {
    let ids: Vec<VertexId> = vertices.iter().map(VertexId).collect();
    let mut targets = VertexSet::empty(vertices.bound());
    for ids in ids.chunks(cx.charge.batch_rows()) {
        let rows = Batch::new(Column::new(Data::Vertices(ids.to_vec())), (0..ids.len() as u32).collect());
        for (vertex, is_target) in ids.iter().zip(target.exists(&rows, cx)?) {
            if is_target {
                targets.insert(vertex.0);
            }
        }
    }
    Ok(targets)
}

/// The shortest paths from one vertex, as far as they were given.
struct Walk {
    source: u32,
    /// By id; infinite where no path leads.
    distances: Vec<f64>,
    /// The targets to which there is a path, the next one last.
    targets: Vec<u32>,
    /// From the present target back: each vertex with the edges into it that were looked at.
    back: Vec<(u32, usize)>,
    held_bytes: usize,
}

impl Walk {
    /// The paths from `source`: none if it isn't in the graph as it is seen.
    fn begin(
        source: VertexId,
        graph: &Graph,
        distance_max: Option<f64>,
        cx: &mut Context<'_>,
    ) -> Result<Self> {
        let source = source.0;
        let mut walk =
            Self { source, distances: Vec::new(), targets: Vec::new(), back: Vec::new(), held_bytes: 0 };
        if !graph.vertices.contains(source) {
            return Ok(walk);
        }
        let bound = graph.vertices.bound();
        walk.held_bytes = bound as usize * (size_of::<f64>() + size_of::<u32>());
        cx.charge.hold(walk.held_bytes)?;
        let source = VertexId(source);
        walk.distances = within(cx, |kernels, control| {
            if graph.is_weighted {
                let found = kernels.sssp(&graph.csr, source, &SsspParameters::default(), control)?;
                return Ok(found.distances);
            }
            let found = kernels.bfs(&graph.csr, source, &BfsParameters::default(), control)?;
            let far = |level: &u32| if *level == Bfs::UNREACHED { f64::INFINITY } else { f64::from(*level) };
            Ok(found.levels().iter().map(far).collect())
        })?;
        let max = distance_max.unwrap_or(f64::MAX);
        let near = |vertex: &u32| walk.distances[*vertex as usize] <= max;
        walk.targets = graph.targets.iter().filter(near).collect();
        walk.targets.reverse();
        Ok(walk)
    }

    /// The next path; `None` after the last.
    fn next(&mut self, graph: &Graph, cx: &Context<'_>) -> Result<Option<Item>> {
        for step in 1.. {
            if step % STEPS == 0 {
                cx.charge.check()?;
            }
            let Some((vertex, looked_at)) = self.back.last().copied() else {
                match self.targets.pop() {
                    Some(target) => self.back.push((target, 0)),
                    None => return Ok(None),
                }
                if self.back[0].0 == self.source {
                    return Ok(Some(self.give(graph)));
                }
                continue;
            };
            let incoming = graph.edges_into(vertex);
            // Parallel edges are one way, unless they themselves are in the path.
            let before = looked_at.checked_sub(1).map(|at| incoming[at]);
            let next = incoming[looked_at..].iter().position(|edge| {
                self.is_tight(vertex, edge)
                    && !(edge.edge.is_none() && before.is_some_and(|before| before.from == edge.from))
            });
            let Some(next) = next else {
                self.back.pop();
                continue;
            };
            let chosen = looked_at + next;
            let from = incoming[chosen].from;
            if let Some(last) = self.back.last_mut() {
                last.1 = chosen + 1;
            }
            // Only edges of no length can lead back to where the path has been.
            if self.back.iter().any(|(vertex, _)| *vertex == from) {
                continue;
            }
            self.back.push((from, 0));
            if from == self.source {
                return Ok(Some(self.give(graph)));
            }
        }
        Ok(None)
    }

    fn is_tight(&self, vertex: u32, edge: &Incoming) -> bool {
        self.distances[edge.from as usize] + edge.length == self.distances[vertex as usize]
    }

    /// The path that has come back to the source, which is left then.
    fn give(&mut self, graph: &Graph) -> Item {
        let mut steps = Vec::with_capacity(2 * self.back.len());
        for (vertex, looked_at) in self.back.iter().rev() {
            // The edge that leads here from the vertex before was the last one looked at.
            if let Some(edge) = looked_at.checked_sub(1).and_then(|at| graph.edges_into(*vertex)[at].edge) {
                steps.push((Item::Edge(edge), None));
            }
            steps.push((Item::Vertex(VertexId(*vertex)), None));
        }
        self.back.pop();
        Item::Path(Arc::new(Path::new(steps)))
    }
}
