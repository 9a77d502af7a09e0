//! Kernels: algorithms on any engine's topology, and what of their answers is compared.

use crate::engine::store::Access;
use evergraph_algorithms::betweenness::{BetweennessParameters, betweenness};
use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_algorithms::cdlp::{CdlpParameters, cdlp};
use evergraph_algorithms::closeness::{ClosenessParameters, closeness};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::eigenvector::{EigenvectorParameters, eigenvector};
use evergraph_algorithms::kcore::kcore;
use evergraph_algorithms::lcc::{LccParameters, lcc};
use evergraph_algorithms::leiden::{LeidenParameters, leiden};
use evergraph_algorithms::louvain::{LouvainParameters, louvain};
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_algorithms::peer_pressure::{PeerPressureParameters, peer_pressure};
use evergraph_algorithms::personalized_pagerank::{PersonalizedPageRankParameters, personalized_pagerank};
use evergraph_algorithms::scc::scc;
use evergraph_algorithms::sources::Sources;
use evergraph_algorithms::sssp::{SsspParameters, sssp};
use evergraph_algorithms::triangles::triangles;
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, KeyId, VertexId};
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit, Weight};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;

/// Parts of a scan for each thread.
const PARTS_PER_THREAD: usize = 64;

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize, Deserialize)]
pub enum Kernel {
    Scan,
    WeightedScan,
    WeightedInScan,
    PageRank,
    Bfs,
    Sssp,
    Wcc,
    Cdlp,
    Scc,
    KCore,
    Triangles,
    Lcc,
    Betweenness,
    Closeness,
    PersonalizedPageRank,
    Eigenvector,
    PeerPressure,
    Louvain,
    Leiden,
}

/// An answer, of which real numbers may differ in their last digits.
#[derive(Debug)]
pub enum Answer {
    Exact(Vec<u64>),
    Real(Vec<f64>),
}

impl Answer {
    /// Whether two runs found the same.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one == other,
            (Self::Real(one), Self::Real(other)) => {
                let close = |one: &f64, other: &f64| {
                    one == other || (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
                };
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| close(one, other))
            }
            _ => false,
        }
    }

    /// Writes it to a file, for another process.
    ///
    /// # Errors
    /// `io`.
    pub fn write(&self, path: &Path) -> Result<()> {
        let (kind, numbers): (_, Box<dyn Iterator<Item = u64>>) = match self {
            Self::Exact(values) => (0, Box::new(values.iter().copied())),
            Self::Real(values) => (1, Box::new(values.iter().map(|value| value.to_bits()))),
        };
        let written = File::create(path).and_then(|file| {
            let mut file = BufWriter::new(file);
            let mut numbers = [kind].into_iter().chain(numbers);
            numbers.try_for_each(|number| file.write_all(&number.to_le_bytes()))?;
            file.flush()
        });
        written.map_err(|error| failed(path, &error))
    }

    /// Reads what [`Answer::write`] wrote.
    ///
    /// # Errors
    /// `io`.
    pub fn read(path: &Path) -> Result<Self> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| BufReader::new(file).read_to_end(&mut bytes));
        read.map_err(|error| failed(path, &error))?;
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        Ok(match numbers.next() {
            Some(0) => Self::Exact(numbers.collect()),
            _ => Self::Real(numbers.map(f64::from_bits).collect()),
        })
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("an answer in {}: {error}", path.display()))
}

impl Kernel {
    /// Its name in figures.
    #[must_use]
    pub fn name(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map_or_else(String::new, |value| value.get_name().replace('-', "_"))
    }

    /// Runs it if it is one that the lists of others run, too: what LSMGraph's paper compares, and scans.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn run_on_peer<T: Topology>(
        self,
        lists: &T,
        source: VertexId,
        control: &Control<'_>,
    ) -> Result<Option<Answer>> {
        Ok(Some(match self {
            Self::Scan | Self::WeightedScan => scan(lists, Direction::Out)?,
            Self::PageRank => Answer::Real(pagerank(lists, &PageRankParameters::default(), control)?.scores),
            Self::Bfs => exact(bfs(lists, source, &BfsParameters::default(), control)?.levels()),
            Self::Sssp => Answer::Real(sssp(lists, source, &SsspParameters::default(), control)?.distances),
            Self::Wcc => exact(wcc(lists, &WccParameters::default(), control)?.labels.as_slice()),
            _ => return Ok(None),
        }))
    }

    /// How it reads lists.
    #[must_use]
    pub const fn access(self) -> Access {
        match self {
            Self::Bfs | Self::Sssp => Access::Single,
            _ => Access::Scan,
        }
    }

    /// What it reads.
    #[must_use]
    pub fn projection(self, weight: KeyId) -> Projection {
        let direction = match self {
            Self::Scan | Self::WeightedScan | Self::Sssp => Direction::Out,
            Self::WeightedInScan => Direction::In,
            _ => Direction::Both,
        };
        let is_weighted = matches!(self, Self::WeightedScan | Self::WeightedInScan | Self::Sssp);
        let weight = is_weighted.then_some(Weight { key: weight, missing: None });
        Projection { weight, ..Projection::all(direction) }
    }

    /// Runs it on rayon's current pool; searches begin at `source`.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn run<T: Topology>(self, lists: &T, source: VertexId, control: &Control<'_>) -> Result<Answer> {
        if let Some(answer) = self.run_on_peer(lists, source, control)? {
            return Ok(answer);
        }
        Ok(match self {
            // Those that peers run were run.
            Self::Scan | Self::WeightedScan | Self::PageRank | Self::Bfs | Self::Sssp | Self::Wcc => {
                Answer::Exact(Vec::new())
            }
            Self::WeightedInScan => scan(lists, Direction::In)?,
            Self::Cdlp => {
                let parameters = CdlpParameters { iterations: 5, ..CdlpParameters::default() };
                Answer::Exact(cdlp(lists, &parameters, control)?.labels().to_vec())
            }
            Self::Scc => exact(scc(lists, control)?.labels.as_slice()),
            Self::KCore => exact(kcore(lists, control)?.cores()),
            Self::Triangles => Answer::Exact(triangles(lists, control)?.counts().to_vec()),
            Self::Lcc => Answer::Real(lcc(lists, &LccParameters::default(), control)?.coefficients),
            Self::Betweenness => {
                let sources = Sources::These(vec![source]);
                let parameters = BetweennessParameters { sources, ..BetweennessParameters::default() };
                Answer::Real(betweenness(lists, &parameters, control)?.scores)
            }
            Self::Closeness => {
                let pivots = Sources::Sample { count: 4, seed: 1 };
                let parameters = ClosenessParameters { pivots, ..ClosenessParameters::default() };
                Answer::Real(closeness(lists, &parameters, control)?.scores)
            }
            Self::PersonalizedPageRank => {
                let parameters = PersonalizedPageRankParameters::default();
                Answer::Real(personalized_pagerank(lists, &[source], &parameters, control)?.scores)
            }
            Self::Eigenvector => {
                let parameters = EigenvectorParameters { iterations: 10, ..EigenvectorParameters::default() };
                Answer::Real(eigenvector(lists, &parameters, control)?.scores)
            }
            Self::PeerPressure => {
                let parameters =
                    PeerPressureParameters { iterations: 5, ..PeerPressureParameters::default() };
                let found = peer_pressure(lists, &parameters, control)?;
                let cluster =
                    |vertex| found.cluster(VertexId(vertex)).map_or(u64::MAX, |one| u64::from(one.0));
                Answer::Exact((0..lists.bound()).map(cluster).collect())
            }
            Self::Louvain => exact(louvain(lists, &LouvainParameters::default(), control)?.labels.as_slice()),
            Self::Leiden => exact(leiden(lists, &LeidenParameters::default(), control)?.labels.as_slice()),
        })
    }
}

fn exact(values: &[u32]) -> Answer {
    Answer::Exact(values.iter().map(|value| u64::from(*value)).collect())
}

/// Sums over all neighbours and weights of one side.
///
/// # Errors
/// Those of reading.
pub fn scan<T: Topology>(lists: &T, side: Direction) -> Result<Answer> {
    let cuts = lists.cuts(rayon::current_num_threads() * PARTS_PER_THREAD);
    let parts: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
    let sums = parts.into_par_iter().with_max_len(1).map(|part| {
        let (mut ends, mut weights) = (0u64, 0f64);
        lists.visit(side, part, &mut PieceBuffer::default(), |_, piece| {
            ends += piece.neighbors.iter().map(|end| u64::from(*end)).sum::<u64>();
            weights += piece.weights.iter().sum::<f64>();
            Visit::Continue
        })?;
        Ok([ends, (weights * 8.0) as u64])
    });
    let sums: Vec<[u64; 2]> = sums.collect::<Result<_>>()?;
    Ok(Answer::Exact([0, 1].map(|at| sums.iter().map(|sum| sum[at]).sum()).to_vec()))
}

/// The vertex with the most out edges.
///
/// # Errors
/// Those of reading.
pub fn busiest<T: Topology>(lists: &T) -> Result<VertexId> {
    let mut degrees = vec![0; lists.bound() as usize];
    lists.degrees(Direction::Out, 0..lists.bound(), &mut degrees)?;
    let most =
        degrees.iter().enumerate().max_by_key(|(vertex, degree)| (**degree, std::cmp::Reverse(*vertex)));
    Ok(VertexId(most.map_or(0, |(vertex, _)| vertex as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer");
        for answer in [Answer::Exact(vec![3, u64::MAX]), Answer::Real(vec![0.1, f64::INFINITY])] {
            answer.write(&path).unwrap();
            assert!(Answer::read(&path).unwrap().agrees(&answer), "{answer:?}");
        }
        assert!(!Answer::read(&path).unwrap().agrees(&Answer::Exact(vec![3])));
    }
}
