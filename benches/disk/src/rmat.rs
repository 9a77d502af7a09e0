//! R-MAT graph: skewed like a social network, the same for the same seed.
//!
//! Source: Chakrabarti, Zhan, Faloutsos: R-MAT (SDM 2004), with Graph500's probabilities. Numbers of vertices are
//! scrambled, so that hubs lie anywhere.

use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::io::random::{Random, SplitMix64};

/// The only label, edge type and property key.
pub const LABEL: &str = "V";
pub const EDGE_TYPE: &str = "E";
pub const WEIGHT: &str = "weight";

/// Edges of a graph.
#[derive(Debug)]
pub struct Rmat {
    /// Vertices are 0 to 2^scale.
    pub scale: u32,
    random: SplitMix64,
}

impl Rmat {
    /// Edges among 2^`scale` vertices.
    pub fn new(scale: u32, seed: u64) -> Self {
        Self { scale, random: SplitMix64::new(seed) }
    }

    /// The next edge.
    pub fn edge(&mut self) -> (u32, u32) {
        let (mut source, mut target) = (0u32, 0u32);
        for _ in 0..self.scale {
            let (down, right) = match self.random.next_u64() % 100 {
                0..57 => (0, 0),
                57..76 => (0, 1),
                76..95 => (1, 0),
                _ => (1, 1),
            };
            (source, target) = (source << 1 | down, target << 1 | right);
        }
        (self.scrambled(source), self.scrambled(target))
    }

    /// Another number for each vertex: odd factors and shifts are one to one.
    fn scrambled(&self, vertex: u32) -> u32 {
        let mask = (1u32 << self.scale) - 1;
        let half = self.scale.div_ceil(2);
        let mixed = vertex.wrapping_mul(0x9e37_79b1) & mask;
        (mixed ^ (mixed >> half)).wrapping_mul(0x85eb_ca6b) & mask
    }

    /// All vertices and the next `edges` edges, as a bulk load.
    pub fn load(&mut self, edges: u64) -> Load {
        let mut left = 1usize << self.scale;
        let mut vertices = Vec::new();
        while left > 0 {
            let rows = left.min(BLOCK_ROWS);
            vertices.push(VertexBlock { rows, columns: Vec::new() });
            left -= rows;
        }
        let mut left = edges as usize;
        let mut blocks = Vec::new();
        while left > 0 {
            let rows = left.min(BLOCK_ROWS);
            let ends: Vec<(u32, u32)> = (0..rows).map(|_| self.edge()).collect();
            let weights: Vec<Value> =
                ends.iter().map(|(source, target)| Value::F64(weight(*source, *target))).collect();
            let column = PackedColumn::from_values(weights.iter().map(Some));
            blocks.push(EdgeBlock { columns: vec![column], ..EdgeBlock::bare(ends) });
            left -= rows;
        }
        let properties = vec![(WEIGHT.to_owned(), ValueType::F64)];
        Load {
            vertices: vec![VertexTable::new(LABEL, Vec::new(), vertices)],
            edges: vec![EdgeTable::new(EDGE_TYPE, 0, 0, properties, blocks)],
        }
    }
}

/// The weight of an edge: eighths from 1/8 to 8, so that sums are exact.
pub fn weight(source: u32, target: u32) -> f64 {
    f64::from((source.wrapping_mul(31).wrapping_add(target.wrapping_mul(17)) >> 3) % 64 + 1) / 8.0
}
