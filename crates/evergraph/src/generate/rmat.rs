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
//! Source: Chakrabarti, Zhan, Faloutsos, "R-MAT" (SDM 2004); parameters of Graph500.

use crate::generate::random::Random;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::ValueType;
use rayon::prelude::*;

/// Edges that draw from one stream of random numbers. A change would change every graph.
const CHUNK_EDGES: u64 = 1 << 16;

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

/// The graph of `options`: vertices of label `Vertex` with their number as property `id`, edges of
/// type `EDGE`. It doesn't depend on the number of threads.
///
/// Cost: about a hundred random bits an edge, on all threads of the current pool.
///
/// # Errors
/// `invalid` if an option is out of range.
pub fn generate(options: &RmatOptions) -> Result<Load> {
    let chunks = chunks(options)?.into_iter();
    let blocks =
        chunks.map(|(sources, targets)| EdgeBlock { sources, targets, columns: Vec::new() }).collect();
    let vertices: Vec<VertexBlock> = (0..1u64 << options.scale)
        .step_by(BLOCK_ROWS)
        .map(|first| {
            let rows = BLOCK_ROWS.min((1 << options.scale) - first as usize);
            let mut ids = PackedColumnBuilder::default();
            (first as i64..).take(rows).for_each(|id| ids.push_i64(id));
            VertexBlock { rows, columns: vec![ids.finish()] }
        })
        .collect();
    let properties = vec![("id".to_owned(), ValueType::I64)];
    Ok(Load {
        vertices: vec![VertexTable::new("Vertex", properties, vertices).unique_key("id")],
        edges: vec![EdgeTable::new("EDGE", 0, 0, Vec::new(), blocks)],
    })
}

/// The sources and targets of the edges of `options`, numbers below 2^scale.
///
/// # Errors
/// `invalid` if an option is out of range.
pub fn edges(options: &RmatOptions) -> Result<(Vec<u32>, Vec<u32>)> {
    let chunks = chunks(options)?;
    let count = chunks.iter().map(|chunk| chunk.0.len()).sum();
    let (mut sources, mut targets) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (mut chunk_sources, mut chunk_targets) in chunks {
        sources.append(&mut chunk_sources);
        targets.append(&mut chunk_targets);
    }
    Ok((sources, targets))
}

/// As [`edges`], in pieces of [`CHUNK_EDGES`].
fn chunks(options: &RmatOptions) -> Result<Vec<(Vec<u32>, Vec<u32>)>> {
    options.check()?;
    let vertices = 1u32 << options.scale;
    let count = u64::from(vertices) * u64::from(options.edge_factor);
    let shuffled = Random::new(options.seed, SHUFFLE, 0).permutation(vertices);
    let chunks = (0..count.div_ceil(CHUNK_EDGES))
        .into_par_iter()
        .map(|chunk| {
            let edges = CHUNK_EDGES.min(count - chunk * CHUNK_EDGES);
            let mut random = Random::new(options.seed, EDGES, chunk);
            let quarters = Quarters::new(options.quarters);
            let pairs = (0..edges).map(|_| {
                let (source, target) = quarters.draw(options.scale, &mut random);
                (shuffled[source as usize], shuffled[target as usize])
            });
            pairs.unzip()
        })
        .collect();
    Ok(chunks)
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
