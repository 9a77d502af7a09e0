//! Kernel: algorithms on a snapshot's lists or a static array, with answers that can be compared.
//!
//! ```text
//! snapshot ── freeze ── run ──> answer        live: both are timed
//!     topology ── static_copy ── run ──> answer    the same compiled kernel on compressed sparse rows
//! ```

use evergraph_algorithms::betweenness::BetweennessParameters;
use evergraph_algorithms::bfs::BfsParameters;
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::pagerank::PageRankParameters;
use evergraph_algorithms::sources::Sources;
use evergraph_algorithms::sssp::SsspParameters;
use evergraph_algorithms::wcc::WccParameters;
use evergraph_analysis::kernels::{betweenness, bfs, pagerank, sssp, triangles, wcc};
use evergraph_analysis::lists::Lists;
use evergraph_analysis::snapshot::Snapshot;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, KeyId, VertexId};
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit, Weight};
use evergraph_graph::view::Freeze as _;
use rayon::prelude::*;

/// Parts of a scan for each thread, so that no thread waits for another's hub.
const PARTS_PER_THREAD: usize = 16;

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// Reads every neighbour once, out lists.
    Scan,
    /// PageRank, 20 iterations.
    PageRank,
    /// Breadth-first search from one vertex, both ways of searching.
    Bfs,
    /// Shortest paths from one vertex, by weight.
    Sssp,
    /// Weakly connected components.
    Wcc,
    /// Betweenness from one source, as the GAP benchmark runs it.
    Betweenness,
    /// Triangles.
    Triangles,
}

/// What a run says beside its time, to be compared.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// A number for each vertex, whose last digits may differ.
    Numbers(Vec<f64>),
    /// A number for each vertex, exact.
    Labels(Vec<u32>),
    /// One number, exact.
    Sum(u64),
}

impl Kernel {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Scan, Self::PageRank, Self::Bfs, Self::Sssp, Self::Wcc, Self::Betweenness, Self::Triangles];

    /// Its name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::PageRank => "pagerank",
            Self::Bfs => "bfs",
            Self::Sssp => "sssp",
            Self::Wcc => "wcc",
            Self::Betweenness => "betweenness",
            Self::Triangles => "triangles",
        }
    }

    /// Its name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Scan => "scan of all neighbours",
            Self::PageRank => "PageRank, 20 iterations",
            Self::Bfs => "BFS",
            Self::Sssp => "SSSP",
            Self::Wcc => "WCC",
            Self::Betweenness => "betweenness, 1 source",
            Self::Triangles => "triangles",
        }
    }

    /// Freezes what this reads of `snapshot`; `weight` is the edges' weight, for [`Kernel::Sssp`].
    ///
    /// # Errors
    /// Those of freezing; `invalid` if a weight is wanted and there is none.
    pub fn freeze(self, snapshot: &Snapshot, weight: Option<KeyId>) -> Result<Lists> {
        let direction =
            if matches!(self, Self::Scan | Self::Sssp) { Direction::Out } else { Direction::Both };
        let mut projection = Projection::all(direction);
        if self == Self::Sssp {
            let key = weight.ok_or_else(|| Error::invalid("shortest paths need the key of a weight"))?;
            projection.weight = Some(Weight { key, missing: None });
        }
        Ok(Lists::from(snapshot.freeze(&projection)?))
    }

    /// Runs on rayon's current pool; searches begin at `source`.
    ///
    /// # Errors
    /// What the algorithm says.
    pub fn run(self, lists: &Lists, source: VertexId) -> Result<Answer> {
        let control = Control::default();
        Ok(match self {
            Self::Scan => Answer::Sum(scan(lists)?),
            Self::PageRank => {
                Answer::Numbers(pagerank(lists, &PageRankParameters::default(), &control)?.scores)
            }
            Self::Bfs => {
                Answer::Labels(bfs(lists, source, &BfsParameters::default(), &control)?.levels().to_vec())
            }
            Self::Sssp => {
                Answer::Numbers(sssp(lists, source, &SsspParameters::default(), &control)?.distances)
            }
            Self::Wcc => {
                let found = wcc(lists, &WccParameters::default(), &control)?;
                Answer::Labels(found.labels.as_slice().to_vec())
            }
            Self::Betweenness => {
                let parameters = BetweennessParameters {
                    sources: Sources::These(vec![source]),
                    ..BetweennessParameters::default()
                };
                Answer::Numbers(betweenness(lists, &parameters, &control)?.scores)
            }
            Self::Triangles => Answer::Sum(triangles(lists, &control)?.total()),
        })
    }
}

impl Answer {
    /// The largest difference of two numbers for the same vertex.
    ///
    /// # Errors
    /// `corrupt` if something exact differs, or only one of them reaches a vertex.
    pub fn difference(&self, other: &Self) -> Result<f64> {
        let corrupt =
            || Error::new(ErrorKind::Corrupt, "the live graph and its static copy have other edges");
        match (self, other) {
            (Self::Numbers(one), Self::Numbers(other)) if one.len() == other.len() => {
                let mut largest: f64 = 0.0;
                for (one, other) in one.iter().zip(other).filter(|(one, other)| one != other) {
                    // Infinite beside a number: the one reaches what the other doesn't.
                    let difference = (one - other).abs();
                    largest =
                        largest.max(Some(difference).filter(|apart| apart.is_finite()).ok_or_else(corrupt)?);
                }
                Ok(largest)
            }
            (Self::Labels(_), Self::Labels(_)) | (Self::Sum(_), Self::Sum(_)) if self == other => Ok(0.0),
            _ => Err(corrupt()),
        }
    }
}

/// The sum of all out neighbours, each list read once, on rayon's current pool.
///
/// # Errors
/// Errors of reading.
pub fn scan(topology: &impl Topology) -> Result<u64> {
    let cuts = topology.cuts(rayon::current_num_threads() * PARTS_PER_THREAD);
    let parts: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
    parts
        .into_par_iter()
        .map(|part| {
            let mut sum = 0u64;
            topology.visit_pieces(Direction::Out, part, &mut PieceBuffer::default(), |_, piece, _| {
                sum += piece.neighbors.iter().map(|neighbor| u64::from(*neighbor)).sum::<u64>();
            })?;
            Ok(sum)
        })
        .sum()
}

/// The same lists, weights and sides as plain arrays that nobody writes to.
///
/// # Errors
/// Errors of reading; `invalid` if the out lists were not frozen.
pub fn static_copy(topology: &impl Topology) -> Result<Lists> {
    let count = usize::try_from(topology.edge_count()).unwrap_or(0);
    let (mut edges, mut weights) = (Vec::with_capacity(count), Vec::new());
    topology.visit(Direction::Out, 0..topology.bound(), &mut PieceBuffer::default(), |source, piece| {
        edges.extend(piece.neighbors.iter().map(|target| (source, *target)));
        weights.extend_from_slice(piece.weights);
        Visit::Continue
    })?;
    let weights = Some(weights.as_slice()).filter(|weights| !weights.is_empty());
    Ok(Lists::from(StaticCsr::new(topology.vertices().clone(), &edges, weights, topology.direction())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::vertex_set::VertexSet;

    const EDGES: [(u32, u32); 5] = [(0, 5), (0, 7), (3, 1), (5, 7), (9, 9)];

    fn graph(weights: Option<&[f64]>) -> Lists {
        Lists::from(StaticCsr::new(VertexSet::full(10), &EDGES, weights, Direction::Both).unwrap())
    }

    #[test]
    fn a_scan_reads_every_neighbour_once() {
        assert_eq!(scan(&graph(None)).unwrap(), 29);
    }

    #[test]
    fn a_copy_gives_every_kernel_the_same_answer() {
        let live = graph(Some(&[4.0, 9.0, 1.0, 2.0, 1.0]));
        let copy = static_copy(&live).unwrap();
        for kernel in Kernel::ALL {
            let [one, other] = [&live, &copy].map(|graph| kernel.run(graph, VertexId(0)).unwrap());
            assert_eq!(one.difference(&other).unwrap(), 0.0, "{}", kernel.name());
        }
        let Answer::Numbers(distances) = Kernel::Sssp.run(&copy, VertexId(0)).unwrap() else {
            panic!("distances are numbers")
        };
        assert_eq!((distances[5], distances[7], distances[1]), (4.0, 6.0, f64::INFINITY));
        assert_eq!(Kernel::Triangles.run(&copy, VertexId(0)).unwrap(), Answer::Sum(1));
    }

    #[test]
    fn answers_that_differ_are_told() {
        let numbers = |numbers: &[f64]| Answer::Numbers(numbers.to_vec());
        assert_eq!(numbers(&[0.5, 0.25]).difference(&numbers(&[0.5, 0.125])).unwrap(), 0.125);
        assert_eq!(numbers(&[f64::INFINITY]).difference(&numbers(&[f64::INFINITY])).unwrap(), 0.0);
        assert!(numbers(&[f64::INFINITY]).difference(&numbers(&[1.0])).is_err());
        assert!(Answer::Sum(3).difference(&Answer::Sum(4)).is_err());
        assert!(Answer::Labels(vec![1]).difference(&Answer::Labels(vec![2])).is_err());
        assert!(Answer::Sum(3).difference(&numbers(&[])).is_err());
    }
}
