//! Answer: what an algorithm found, a value for each vertex, and which vertices are worth a look.
//!
//! | algorithm | value of a vertex | rows to show |
//! |---|---|---|
//! | pagerank | score | the highest scores |
//! | bfs | level | the nearest vertices |
//! | sssp | distance | the nearest vertices |
//! | wcc | lowest vertex of its component | the largest components, by their lowest vertex |

use evergraph_algorithms::bfs::Bfs;
use evergraph_algorithms::pagerank::PageRank;
use evergraph_algorithms::sssp::Sssp;
use evergraph_algorithms::wcc::Wcc;
use evergraph_graph::id::VertexId;
use evergraph_graph::vertex_set::VertexSet;
use serde::Serialize;
use std::cmp::Ordering;
use std::fmt;

/// What an algorithm found.
#[derive(Debug)]
pub enum Answer {
    /// Scores.
    PageRank(PageRank),
    /// Levels.
    Bfs(Bfs),
    /// Components.
    Wcc(Wcc),
    /// Distances.
    Sssp(Sssp),
}

/// A number as answers have them.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// A level, a number of a vertex, a count.
    Whole(u64),
    /// A score or a distance.
    Real(f64),
}

/// In place of a level where there is no path: Graphalytics' largest signed 64-bit number.
const NO_PATH: u64 = i64::MAX as u64;

impl Answer {
    /// The value of a vertex in scope. A distance is infinite where there is no path.
    #[must_use]
    pub fn value(&self, vertex: VertexId) -> Amount {
        let place = vertex.0 as usize;
        match self {
            Self::PageRank(ranks) => Amount::Real(ranks.scores[place]),
            Self::Bfs(bfs) => Amount::Whole(bfs.level(vertex).map_or(NO_PATH, u64::from)),
            Self::Wcc(wcc) => Amount::Whole(u64::from(wcc.labels()[place])),
            Self::Sssp(sssp) => Amount::Real(sssp.distances[place]),
        }
    }

    /// Up to `count` of `vertices` that are worth a look, with the amount called
    /// [`Answer::top_name`]; of equal ones those with low numbers.
    ///
    /// Cost: one pass; memory for `count` rows, and for components 8 bytes a vertex.
    #[must_use]
    pub fn top(&self, vertices: &VertexSet, count: usize) -> Vec<(VertexId, Amount)> {
        let nearest = |value: fn(&Self, VertexId) -> Option<f64>| {
            let reached = vertices.iter().filter_map(|vertex| Some((value(self, VertexId(vertex))?, vertex)));
            lowest(reached, count)
        };
        let rows = match self {
            Self::PageRank(_) => nearest(|answer, vertex| match answer.value(vertex) {
                Amount::Real(score) => Some(-score),
                Amount::Whole(_) => None,
            }),
            Self::Bfs(_) => nearest(|answer, vertex| match answer {
                Self::Bfs(bfs) => bfs.level(vertex).map(f64::from),
                _ => None,
            }),
            Self::Sssp(_) => nearest(|answer, vertex| match answer {
                Self::Sssp(sssp) => sssp.distance(vertex),
                _ => None,
            }),
            Self::Wcc(wcc) => {
                let mut sizes = vec![0u32; wcc.labels().len()];
                vertices.iter().for_each(|vertex| sizes[wcc.labels()[vertex as usize] as usize] += 1);
                let components = sizes.iter().zip(0..).filter(|(size, _)| **size > 0);
                lowest(components.map(|(size, vertex)| (-f64::from(*size), vertex)), count)
            }
        };
        let amount = |key: f64| match self {
            Self::PageRank(_) => Amount::Real(-key),
            Self::Sssp(_) => Amount::Real(key),
            Self::Bfs(_) => Amount::Whole(key as u64),
            Self::Wcc(_) => Amount::Whole(-key as u64),
        };
        rows.into_iter().map(|(key, vertex)| (VertexId(vertex), amount(key))).collect()
    }

    /// What the amounts of [`Answer::top`] are.
    #[must_use]
    pub fn top_name(&self) -> &'static str {
        match self {
            Self::PageRank(_) => "score",
            Self::Bfs(_) => "level",
            Self::Wcc(_) => "vertices",
            Self::Sssp(_) => "distance",
        }
    }
}

impl fmt::Display for Amount {
    /// Reals in full: reading the text back gives the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) if number.is_infinite() => f.write_str("infinity"),
            // The debug form has an exponent where the digits would be mostly zeros.
            Self::Real(number) => write!(f, "{number:?}"),
        }
    }
}

/// The `count` lowest of `candidates`, ascending.
fn lowest(candidates: impl Iterator<Item = (f64, u32)>, count: usize) -> Vec<(f64, u32)> {
    let order = |a: &(f64, u32), b: &(f64, u32)| -> Ordering { a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)) };
    let room = count.max(512).saturating_mul(2);
    let mut kept = Vec::new();
    for candidate in candidates {
        kept.push(candidate);
        if kept.len() == room {
            kept.select_nth_unstable_by(count, order);
            kept.truncate(count);
        }
    }
    kept.sort_unstable_by(order);
    kept.truncate(count);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_algorithms::bfs::{BfsParameters, bfs};
    use evergraph_algorithms::control::Control;
    use evergraph_algorithms::csr::StaticCsr;
    use evergraph_algorithms::sssp::{SsspParameters, sssp};
    use evergraph_algorithms::wcc::{WccParameters, wcc};
    use evergraph_graph::id::Direction;

    /// 0 -> 1 -> 2, 3 -> 4, 5 alone.
    fn graph() -> StaticCsr {
        let edges = [(0, 1), (1, 2), (3, 4)];
        StaticCsr::new(VertexSet::full(6), &edges, Some(&[0.5, 1.5, 1.0]), Direction::Both).unwrap()
    }

    fn rows(answer: &Answer, count: usize) -> Vec<(u32, String)> {
        let top = answer.top(&VertexSet::full(6), count);
        top.into_iter().map(|(vertex, amount)| (vertex.0, amount.to_string())).collect()
    }

    #[test]
    fn the_nearest_come_first_and_what_is_not_reached_not_at_all() {
        let (graph, control) = (graph(), Control::default());
        let levels = Answer::Bfs(bfs(&graph, VertexId(0), &BfsParameters::default(), &control).unwrap());
        assert_eq!(rows(&levels, 2), [(0, "0".to_owned()), (1, "1".to_owned())]);
        assert_eq!(rows(&levels, 9).len(), 3);
        assert_eq!(levels.value(VertexId(5)).to_string(), "9223372036854775807");
        let paths = Answer::Sssp(sssp(&graph, VertexId(0), &SsspParameters::default(), &control).unwrap());
        assert_eq!(rows(&paths, 9)[2], (2, "2.0".to_owned()));
        assert_eq!(paths.value(VertexId(3)).to_string(), "infinity");
    }

    #[test]
    fn the_largest_components_come_first_with_their_sizes() {
        let answer = Answer::Wcc(wcc(&graph(), &WccParameters::default(), &Control::default()).unwrap());
        let want = [(0, "3"), (3, "2"), (5, "1")].map(|(vertex, size)| (vertex, size.to_owned()));
        assert_eq!(rows(&answer, 10), want);
        assert_eq!(answer.value(VertexId(2)), Amount::Whole(0));
    }

    #[test]
    fn the_highest_scores_come_first_whatever_their_number() {
        let scores: Vec<f64> = (0..5000).map(|vertex| f64::from(vertex * 7919 % 5000)).collect();
        let answer = Answer::PageRank(PageRank { scores, iterations: 1, change: 0.0, converged: false });
        let top = answer.top(&VertexSet::full(5000), 600);
        assert!((0..600).all(|place| top[place].1 == Amount::Real(4999.0 - place as f64)));
        assert!(answer.top(&VertexSet::full(5000), 0).is_empty());
        assert_eq!(answer.top(&VertexSet::full(5000), usize::MAX).len(), 5000);
    }

    #[test]
    fn amounts_are_written_so_that_they_read_back_the_same() {
        for real in [0.1, 1e-17, 1.597_751_9e-5, f64::MIN_POSITIVE, 3.0] {
            assert_eq!(Amount::Real(real).to_string().parse::<f64>(), Ok(real));
        }
    }
}
