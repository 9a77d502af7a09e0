//! Graph of the disk benchmark: R-MAT edges, loaded into a store, and others inserted afterwards.

use crate::options::Options;
use evergraph_graph::error::Result;
use evergraph_graph::id::{TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::builder::PackedColumnBuilder;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::ValueType;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::open::OpenStore;
use std::ops::ControlFlow;

/// Edges of a transaction.
const BATCH_EDGES: usize = 1000;
/// Chances of the quarters a, b and c of R-MAT, as in Graph500, in 2^32.
const QUARTERS: [u64; 3] = [2_448_131_359, 816_043_786, 816_043_786];

/// Edges as pairs of rows.
pub struct Edges {
    /// Those that are loaded.
    pub loaded: (Vec<u32>, Vec<u32>),
    /// Those that are inserted.
    pub inserted: Vec<(u32, u32)>,
    /// How many of both start at each row.
    pub degrees: Vec<u32>,
}

impl Edges {
    /// Draws them. Cost: some 100 ns an edge, and 8 bytes of memory.
    pub fn draw(options: &Options) -> Self {
        let mut random = SplitMix64::new(7);
        let rows = 1_usize << options.scale;
        // Rows of many edges are everywhere, not in the first groups alone.
        let mut shuffled: Vec<u32> = (0..rows as u32).collect();
        for at in (1..rows).rev() {
            shuffled.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
        }
        let mut draw = || {
            let (mut source, mut target) = (0_usize, 0_usize);
            for _ in 0..options.scale {
                let point = random.next_u64() & u64::from(u32::MAX);
                let [a, b, c] = QUARTERS;
                let (down, right) = match point {
                    point if point < a => (0, 0),
                    point if point < a + b => (0, 1),
                    point if point < a + b + c => (1, 0),
                    _ => (1, 1),
                };
                (source, target) = (source << 1 | down, target << 1 | right);
            }
            (shuffled[source], shuffled[target])
        };
        let loaded: (Vec<u32>, Vec<u32>) = (0..rows * options.edge_factor as usize).map(|_| draw()).unzip();
        let inserted: Vec<(u32, u32)> = (0..options.inserted).map(|_| draw()).collect();
        let mut degrees = vec![0; rows];
        for source in loaded.0.iter().chain(inserted.iter().map(|(source, _)| source)) {
            degrees[*source as usize] += 1;
        }
        Self { loaded, inserted, degrees }
    }

    fn load(&self, options: &Options) -> Load {
        let rows = 1_usize << options.scale;
        let vertices = (0..rows).step_by(BLOCK_ROWS).map(|first| {
            let count = BLOCK_ROWS.min(rows - first);
            let mut ids = PackedColumnBuilder::default();
            (first..first + count).for_each(|id| ids.push_i64(id as i64));
            VertexBlock { rows: count, columns: vec![ids.finish()] }
        });
        let (sources, targets) = &self.loaded;
        let edges = sources.chunks(BLOCK_ROWS).zip(targets.chunks(BLOCK_ROWS)).map(|(sources, targets)| {
            EdgeBlock { sources: sources.to_vec(), targets: targets.to_vec(), columns: Vec::new() }
        });
        let properties = vec![("id".to_owned(), ValueType::I64)];
        Load {
            vertices: vec![VertexTable::new("Vertex", properties, vertices.collect())],
            edges: vec![EdgeTable::new("EDGE", 0, 0, Vec::new(), edges.collect())],
        }
    }

    /// Loads what is loaded; the vertex of row 0, which those of the others follow.
    pub fn load_into<E: DurableEngine>(&self, open: &OpenStore<E>, options: &Options) -> Result<VertexId> {
        let go_on = &mut |_| Ok(());
        let loaded =
            open.load_within(1 << 30, &self.load(options), go_on, &mut |_| ControlFlow::Continue(()))?;
        Ok(loaded.first_vertices[0])
    }

    /// Inserts what is inserted.
    pub fn insert_into<E: DurableEngine>(&self, open: &OpenStore<E>, first: VertexId) -> Result<()> {
        for batch in self.inserted.chunks(BATCH_EDGES) {
            open.store().transact(|tx| {
                let edge_type: TypeId = tx.edge_type("EDGE")?;
                for (source, target) in batch {
                    let (source, target) = (VertexId(first.0 + source), VertexId(first.0 + target));
                    tx.add_edge(source, edge_type, target, &[])?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
