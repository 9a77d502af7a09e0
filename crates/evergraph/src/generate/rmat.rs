//! R-MAT: seeded skewed graphs, as social networks and web graphs are.
//!
//! ```text
//!            target 0..   target 1..        An edge falls into one quarter of the adjacency matrix by
//! source 0..   a  0.57      b  0.19         chance, then into a quarter of that one, until one cell
//! source 1..   c  0.19      d  0.05         is left: `scale` decisions give `scale` bits of each end.
//! ```
//!
//! Ids are shuffled afterwards, so that a low id doesn't mean a high degree. Parallel edges and self
//! loops stay, as in Graph500; vertices without an edge are there too.
//!
//! A large graph's edges are drawn anew in each pass over its blocks, and never all in memory.
//!
//! Source: Chakrabarti, Zhan, Faloutsos, "R-MAT" (SDM 2004); parameters of Graph500.

use crate::generate::random::Random;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::{BLOCK_ROWS, Blocks, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::ValueType;
use rayon::prelude::*;

/// Edges that draw from one stream of random numbers. A change would change every graph.
const CHUNK_EDGES: u64 = 1 << 16;
/// Edges of a graph whose blocks are kept in memory: half a gibibyte.
const KEPT_EDGES: u64 = 1 << 26;
/// Blocks that are drawn at once, on all threads.
const DRAWN_AT_ONCE: u64 = 16;

const EDGES: u64 = 0;
const SHUFFLE: u64 = 1;

/// The shape of an R-MAT graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RmatOptions {
    /// There are 2^scale vertices: 0 to 31.
    pub scale: u32,
    /// Edges a vertex.
    pub edge_factor: u32,
    /// The chances of the quarters `[a, b, c]`; the rest is d's.
    pub quarters: [f64; 3],
    /// What everything random follows from.
    pub seed: u64,
}

impl RmatOptions {
    /// 2^`scale` vertices with 16 edges each and Graph500's quarters.
    #[must_use]
    pub fn new(scale: u32, seed: u64) -> Self {
        Self { scale, edge_factor: 16, quarters: [0.57, 0.19, 0.19], seed }
    }

    fn check(&self) -> Result<()> {
        if self.scale > 31 {
            return Err(Error::invalid(format!(
                "scale is {}, but must be from 0 to 31 (2^31 vertices)",
                self.scale
            )));
        }
        let [a, b, c] = self.quarters;
        if !self.quarters.iter().all(|chance| (0.0..=1.0).contains(chance)) || a + b + c > 1.0 + 1e-9 {
            return Err(Error::invalid(format!(
                "quarters are {a}, {b}, {c}, but must be probabilities from 0 to 1, together at most 1"
            )));
        }
        Ok(())
    }
}

/// What the ids of vertices are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VertexIds {
    /// Numbers from 0 on.
    #[default]
    Numbers,
    /// Texts such as `v3f2df938`, whose order is not that of the vertices.
    Texts,
}

/// The graph of `options`: vertices of label `Vertex` with their number as property `id`, edges of
/// type `EDGE`. It doesn't depend on the number of threads.
///
/// Cost: about a hundred random bits an edge, on all threads of the current pool; for more than 2^26 edges in each pass
/// over the blocks, and 4 bytes a vertex for these.
///
/// # Errors
/// `invalid` if an option is out of range.
pub fn generate(options: &RmatOptions) -> Result<Load> {
    generate_with(options, VertexIds::Numbers)
}

/// As [`generate`], with such `ids`.
///
/// # Errors
/// As [`generate`].
pub fn generate_with(options: &RmatOptions, ids: VertexIds) -> Result<Load> {
    let edges = RmatEdges::new(options)?;
    let edges_count = edges.count;
    let blocks: Box<dyn Blocks<EdgeBlock>> = if edges_count > KEPT_EDGES {
        Box::new(edges)
    } else {
        let block = |(sources, targets)| EdgeBlock { sources, targets, columns: Vec::new() };
        Box::new(edges.chunks().into_iter().map(block).collect::<Vec<_>>())
    };
    let vertices: Vec<VertexBlock> = (0..1u64 << options.scale)
        .step_by(BLOCK_ROWS)
        .map(|first| {
            let rows = BLOCK_ROWS.min((1 << options.scale) - first as usize);
            let mut column = PackedColumnBuilder::default();
            for vertex in (first as u32..).take(rows) {
                match ids {
                    VertexIds::Numbers => column.push_i64(vertex.into()),
                    VertexIds::Texts => column.push_text(&text_id(vertex)),
                }
            }
            VertexBlock { rows, columns: vec![column.finish()] }
        })
        .collect();
    let id_type = match ids {
        VertexIds::Numbers => ValueType::I64,
        VertexIds::Texts => ValueType::String,
    };
    let properties = vec![("id".to_owned(), id_type)];
    let edges =
        EdgeTable { rows: edges_count, blocks, ..EdgeTable::new("EDGE", 0, 0, Vec::new(), Vec::new()) };
    Ok(Load {
        vertices: vec![VertexTable::new("Vertex", properties, vertices).unique_key("id")],
        edges: vec![edges],
    })
}

/// The id of `vertex` as a text: eight digits whose order says nothing, different for each vertex.
#[must_use]
pub fn text_id(vertex: u32) -> String {
    // Each step has an inverse. Source: Wellons, "Prospecting for hash functions" (2018), `lowbias32`.
    let mixed = (vertex ^ vertex >> 16).wrapping_mul(0x7feb_352d);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b);
    format!("v{:08x}", mixed ^ mixed >> 16)
}

/// The sources and targets of the edges of `options`, numbers below 2^scale.
///
/// # Errors
/// `invalid` if an option is out of range.
pub fn edges(options: &RmatOptions) -> Result<(Vec<u32>, Vec<u32>)> {
    let chunks = RmatEdges::new(options)?.chunks();
    let count = chunks.iter().map(|chunk| chunk.0.len()).sum();
    let (mut sources, mut targets) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (mut chunk_sources, mut chunk_targets) in chunks {
        sources.append(&mut chunk_sources);
        targets.append(&mut chunk_targets);
    }
    Ok((sources, targets))
}

/// The edges of a graph, in blocks of [`CHUNK_EDGES`] that are drawn when they are wanted.
#[derive(Debug)]
struct RmatEdges {
    options: RmatOptions,
    count: u64,
    /// The vertex of each place in the matrix.
    shuffled: Vec<u32>,
}

impl RmatEdges {
    fn new(options: &RmatOptions) -> Result<Self> {
        options.check()?;
        let vertices = 1u32 << options.scale;
        let count = u64::from(vertices) * u64::from(options.edge_factor);
        let shuffled = Random::new(options.seed, SHUFFLE, 0).permutation(vertices);
        Ok(Self { options: *options, count, shuffled })
    }

    fn chunks_count(&self) -> u64 {
        self.count.div_ceil(CHUNK_EDGES)
    }

    fn chunks(&self) -> Vec<(Vec<u32>, Vec<u32>)> {
        (0..self.chunks_count()).into_par_iter().map(|chunk| self.chunk(chunk)).collect()
    }

    /// Sources and targets of one block.
    fn chunk(&self, chunk: u64) -> (Vec<u32>, Vec<u32>) {
        let edges = CHUNK_EDGES.min(self.count - chunk * CHUNK_EDGES);
        let mut random = Random::new(self.options.seed, EDGES, chunk);
        let quarters = Quarters::new(self.options.quarters);
        let pairs = (0..edges).map(|_| {
            let (source, target) = quarters.draw(self.options.scale, &mut random);
            (self.shuffled[source as usize], self.shuffled[target as usize])
        });
        pairs.unzip()
    }
}

impl Blocks<EdgeBlock> for RmatEdges {
    fn for_each(&self, visit: &mut dyn FnMut(&EdgeBlock) -> Result<()>) -> Result<()> {
        for first in (0..self.chunks_count()).step_by(DRAWN_AT_ONCE as usize) {
            let chunks = first..self.chunks_count().min(first + DRAWN_AT_ONCE);
            let drawn: Vec<_> = chunks.into_par_iter().map(|chunk| self.chunk(chunk)).collect();
            for (sources, targets) in drawn {
                visit(&EdgeBlock { sources, targets, columns: Vec::new() })?;
            }
        }
        Ok(())
    }
}

/// Where the quarters end on a line of 2^32 points.
struct Quarters {
    ends: [u64; 3],
}

impl Quarters {
    fn new([a, b, c]: [f64; 3]) -> Self {
        let point = |chance: f64| (chance * (1u64 << 32) as f64) as u64;
        Self { ends: [point(a), point(a + b), point(a + b + c)] }
    }

    fn draw(&self, scale: u32, random: &mut Random) -> (u32, u32) {
        let (mut source, mut target) = (0u32, 0u32);
        let mut bits = 0;
        for level in 0..scale {
            // One draw serves two levels.
            bits = if level % 2 == 0 { random.bits() } else { bits >> 32 };
            let point = bits & u64::from(u32::MAX);
            let quarter = u32::from(point >= self.ends[0])
                + u32::from(point >= self.ends[1])
                + u32::from(point >= self.ends[2]);
            source = source << 1 | quarter >> 1;
            target = target << 1 | quarter & 1;
        }
        (source, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::Value;

    fn out_degrees(options: &RmatOptions) -> Vec<u32> {
        let (sources, _) = edges(options).unwrap();
        let mut degrees = vec![0; 1 << options.scale];
        sources.iter().for_each(|source| degrees[*source as usize] += 1);
        degrees
    }

    #[test]
    fn a_graph_has_the_size_asked_for_and_follows_from_its_seed() {
        let options = RmatOptions::new(13, 42);
        let load = generate(&options).unwrap();
        assert_eq!((load.vertices_count(), load.edges_count()), (8192, 131_072));
        let ends = load.edges[0].ends().unwrap();
        assert!(ends.iter().all(|(source, target)| *source < 8192 && *target < 8192));
        assert_eq!(ends, generate(&options).unwrap().edges[0].ends().unwrap());
        assert_ne!(ends, generate(&RmatOptions::new(13, 43)).unwrap().edges[0].ends().unwrap());
        let ids = load.vertices[0].column("id").unwrap().unwrap();
        assert!((0..8192).all(|row| ids.get(row) == Some(Value::I64(row as i64))));
    }

    #[test]
    fn the_number_of_threads_makes_no_difference() {
        let options = RmatOptions { edge_factor: 40, ..RmatOptions::new(13, 1) };
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| edges(&options).unwrap())
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn blocks_that_are_drawn_anew_are_those_that_are_kept() {
        let options = RmatOptions { edge_factor: 160, ..RmatOptions::new(13, 3) };
        let kept = generate(&options).unwrap().edges[0].ends().unwrap();
        let table = EdgeTable {
            blocks: Box::new(RmatEdges::new(&options).unwrap()),
            ..EdgeTable::new("E", 0, 0, Vec::new(), Vec::new())
        };
        assert!(kept.len() as u64 > DRAWN_AT_ONCE * CHUNK_EDGES);
        assert_eq!(table.ends().unwrap(), kept);
        assert_eq!(table.ends().unwrap(), kept);
    }

    #[test]
    fn texts_as_ids_are_all_different() {
        let load = generate_with(&RmatOptions::new(10, 1), VertexIds::Texts).unwrap();
        let ids = load.vertices[0].column("id").unwrap().unwrap();
        let ids: std::collections::BTreeSet<String> =
            (0..1024).map(|row| ids.get(row).unwrap().to_string()).collect();
        assert_eq!(ids.len(), 1024);
        assert_eq!(text_id(1), "v688990c0");
    }

    #[test]
    fn degrees_are_skewed_as_the_quarters_say() {
        // The most likely source of 2^13 has 13 times the upper half: (a + b)^13 of all edges.
        let degrees = out_degrees(&RmatOptions::new(13, 5));
        let most = f64::from(*degrees.iter().max().unwrap());
        let expected = 0.76f64.powi(13) * 131_072.0;
        assert!((most / expected - 1.0).abs() < 0.1, "{most} {expected}");
        let even = RmatOptions { quarters: [0.25, 0.25, 0.25], ..RmatOptions::new(13, 5) };
        assert!(*out_degrees(&even).iter().max().unwrap() < 60);
    }

    #[test]
    fn a_graph_of_one_vertex_has_only_loops() {
        assert_eq!(edges(&RmatOptions::new(0, 1)).unwrap(), (vec![0; 16], vec![0; 16]));
    }

    #[test]
    fn options_out_of_range_are_named() {
        let error = generate(&RmatOptions::new(32, 1)).unwrap_err();
        assert_eq!(error.to_string(), "scale is 32, but must be from 0 to 31 (2^31 vertices)");
        let options = RmatOptions { quarters: [0.5, 0.5, 0.5], ..RmatOptions::new(1, 1) };
        assert_eq!(
            generate(&options).unwrap_err().to_string(),
            "quarters are 0.5, 0.5, 0.5, but must be probabilities from 0 to 1, together at most 1"
        );
    }
}
