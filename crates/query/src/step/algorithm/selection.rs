//! Selection: the part of a graph that an algorithm sees, read with the steps of the query.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::pipeline::Pipeline;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::vertex_set::VertexSet;

/// Reads a part of the graph: its vertices, then their edges, a batch of vertices at a time.
pub struct Selection {
    vertices: Pipeline,
    edges: Child,
}

/// Vertices, and pairs of them: from where the query came to an edge, to its other end.
pub(super) struct Selected {
    pub(super) vertices: VertexSet,
    pub(super) pairs: Vec<(u32, u32)>,
    /// The edge of each pair, if edges are wanted.
    pub(super) edges: Vec<EdgeId>,
    held_bytes: usize,
}

/// What a pair takes while it is here and its CSR, both sides with weights, is made.
const PAIR_BYTES: usize = 2 * size_of::<(u32, u32)>() + 2 * (size_of::<u32>() + size_of::<f64>());

impl Selection {
    /// The vertices that `vertices` returns, and the edges that `edges` returns for them.
    #[must_use]
    pub fn new(vertices: Pipeline, edges: Child) -> Self {
        Self { vertices, edges }
    }

    /// Reads it, for `step`. An end of an edge may be no vertex of it: such edges don't count.
    ///
    /// Cost: that of the steps; 48 bytes an edge.
    ///
    /// # Errors
    /// `invalid` if something else than vertices or edges is found; errors of the steps.
    pub(super) fn read(&mut self, step: &str, keeps_edges: bool, cx: &mut Context<'_>) -> Result<Selected> {
        let (mut ids, mut pairs, mut edges) = (Vec::new(), Vec::new(), Vec::new());
        let mut held_bytes = 0;
        let pair_bytes = PAIR_BYTES + if keeps_edges { size_of::<EdgeId>() } else { 0 };
        self.vertices.reset(1);
        self.vertices.push(Batch::new(Column::new(Data::Items(vec![Item::Null])), vec![0]));
        while let Some(found) = self.vertices.pull(true, cx)? {
            let parents = found.current.vertices().ok_or_else(|| other(step, "vertices", &found))?;
            self.edges.begin(&Batch::new(found.current, (0..parents.len() as u32).collect()));
            while let Some(found) = self.edges.next(cx)? {
                let all = found.current.edges().ok_or_else(|| other(step, "edges", &found))?;
                let bytes = all.len() * pair_bytes;
                cx.charge.hold(bytes)?;
                held_bytes += bytes;
                for (edge, origin) in all.iter().zip(&found.origin) {
                    let from = parents[*origin as usize];
                    let to = if edge.target == from { edge.source } else { edge.target };
                    pairs.push((from.0, to.0));
                }
                if keeps_edges {
                    edges.extend(all);
                }
            }
            cx.charge.hold(parents.len() * size_of::<VertexId>())?;
            held_bytes += parents.len() * size_of::<VertexId>();
            ids.extend(parents);
        }
        let mut vertices = VertexSet::empty(ids.iter().map(|vertex| vertex.0 + 1).max().unwrap_or(0));
        for vertex in ids {
            vertices.insert(vertex.0);
        }
        // An edge may lead out of the selection, and above its bound.
        let within = |(from, to): &(u32, u32)| vertices.contains(*from) && vertices.contains(*to);
        if keeps_edges {
            (pairs, edges) = pairs.into_iter().zip(edges).filter(|(pair, _)| within(pair)).unzip();
        } else {
            pairs.retain(within);
        }
        Ok(Selected { vertices, pairs, edges, held_bytes })
    }
}

impl Selected {
    /// Returns the memory.
    pub(super) fn free(self, cx: &mut Context<'_>) {
        cx.charge.free(self.held_bytes);
    }
}

fn other(step: &str, wanted: &str, batch: &Batch) -> Error {
    let is_wanted =
        |item: &Item| if wanted == "edges" { item.as_edge().is_some() } else { item.as_vertex().is_some() };
    let other = batch.current.items().find(|item| !is_wanted(item)).unwrap_or(Item::Null);
    Error::invalid(format!("the traversal that says which {wanted} {step}() goes over gave {}", other.kind()))
}
