//! Graph of the disk engine's parts: R-MAT's edges, each once; four fifths are loaded, one fifth comes later.

use crate::disk_plan::DiskPlan;
use crate::edges::sorted;
use crate::engine::store::Edge;
use crate::plan::Plan;
use crate::shuffle::shuffle;
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::packed_column::builder::PackedColumnBuilder;
use evergraph_graph::value::{Value, ValueType};

/// The only label and edge type.
pub const LABEL: &str = "Vertex";
/// See [`LABEL`].
pub const EDGE: &str = "EDGE";
/// The property of vertices: their number.
pub const ID: &str = "id";
/// The property of edges.
pub const WEIGHT: &str = "weight";

const PURPOSE: u64 = 401;

/// A graph in two parts.
#[derive(Clone, Debug)]
pub struct DiskGraph {
    /// Vertices are 0 up to this.
    pub vertices: u32,
    /// Ascending.
    pub loaded: Vec<Edge>,
    /// In random order.
    pub later: Vec<Edge>,
}

impl DiskGraph {
    /// Draws the plan's graph, of which so many edges of a hundred come later. Cost: some 200 ns an edge.
    ///
    /// # Errors
    /// `invalid` for a scale out of range.
    pub fn draw(plan: &DiskPlan, seed: u64, later_percent: u64) -> Result<Self> {
        let all = sorted(&Plan { scale: plan.scale, seed, ..Plan::smoke() }, plan.degree)?;
        let mut random = Random::new(seed, PURPOSE, 0);
        let mut later = Vec::with_capacity(all.len() / 100 * later_percent as usize);
        let mut loaded = Vec::with_capacity(all.len() - later.capacity());
        for edge in all {
            let part = if random.below(100) < later_percent { &mut later } else { &mut loaded };
            part.push(edge);
        }
        shuffle(&mut later, &mut random);
        Ok(Self { vertices: plan.vertices(), loaded, later })
    }

    /// How many edges of both parts start at each vertex.
    #[must_use]
    pub fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.vertices as usize];
        self.loaded.iter().chain(&self.later).for_each(|(source, _)| degrees[*source as usize] += 1);
        degrees
    }

    /// The vertices, and `edges` among them, ascending.
    #[must_use]
    pub fn load(vertices: u32, edges: &[Edge], properties: Properties) -> Load {
        let has_ids = matches!(properties, Properties::Ids);
        let has_weights = matches!(properties, Properties::Weights);
        let typed = |is_there: bool, name: &str, value_type| {
            is_there.then(|| (name.to_owned(), value_type)).into_iter().collect::<Vec<_>>()
        };
        let vertex_blocks = (0..vertices as usize).step_by(BLOCK_ROWS).map(|first| {
            let rows = BLOCK_ROWS.min(vertices as usize - first);
            if !has_ids {
                return VertexBlock::bare(rows);
            }
            let mut ids = PackedColumnBuilder::default();
            (first..first + rows).for_each(|id| ids.push_i64(id as i64));
            VertexBlock { rows, columns: vec![ids.finish()] }
        });
        let edge_blocks = edges.chunks(BLOCK_ROWS).map(|edges| {
            let bare = EdgeBlock::bare(edges.iter().copied());
            if !has_weights {
                return bare;
            }
            let weights: Vec<Value> = edges.iter().map(|edge| Value::F64(weight(*edge))).collect();
            EdgeBlock { columns: vec![PackedColumn::from_values(weights.iter().map(Some))], ..bare }
        });
        let of_vertices = typed(has_ids, ID, ValueType::I64);
        let of_edges = typed(has_weights, WEIGHT, ValueType::F64);
        Load {
            vertices: vec![VertexTable::new(LABEL, of_vertices, vertex_blocks.collect())],
            edges: vec![EdgeTable::new(EDGE, 0, 0, of_edges, edge_blocks.collect())],
        }
    }
}

/// What vertices or edges have besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Properties {
    /// Nothing.
    Bare,
    /// Vertices have their number.
    Ids,
    /// Edges have a weight.
    Weights,
}

/// The weight of an edge: eighths from 1/8 to 8, so that sums are exact.
#[must_use]
pub fn weight((source, target): Edge) -> f64 {
    f64::from((source.wrapping_mul(31).wrapping_add(target.wrapping_mul(17)) >> 3) % 64 + 1) / 8.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_later_and_no_edge_is_lost() {
        let plan = DiskPlan { scale: 8, ..DiskPlan::smoke() };
        let all = DiskGraph::draw(&plan, 1, 0).unwrap();
        let graph = DiskGraph::draw(&plan, 1, 20).unwrap();
        let share = graph.later.len() as f64 / all.loaded.len() as f64;
        assert!((0.15..0.25).contains(&share) && graph.loaded.is_sorted() && !graph.later.is_sorted());
        let mut edges = [graph.loaded.clone(), graph.later.clone()].concat();
        edges.sort_unstable();
        assert_eq!(edges, all.loaded);
        assert_eq!(graph.degrees().iter().sum::<u32>() as usize, edges.len());
        assert!(edges.iter().all(|edge| weight(*edge) > 0.0));
    }
}
