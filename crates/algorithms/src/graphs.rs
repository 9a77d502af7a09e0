//! Graphs for tests: hand-made and random ones, and the settings to run each test with.

use crate::any_lists::AnyLists;
use crate::control::Control;
use crate::csr::StaticCsr;
use crate::pieced::Pieced;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::vertex_set::VertexSet;
use proptest::prelude::*;
use std::collections::HashSet;
use std::fmt::Debug;

/// Vertices and weighted edges. Only edges between members of `vertices` count.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) vertices: VertexSet,
    pub(crate) edges: Vec<(u32, u32)>,
    pub(crate) weights: Vec<f64>,
}

impl Graph {
    /// All vertices below `bound`; every edge weighs 1.
    pub(crate) fn new(bound: u32, edges: &[(u32, u32)]) -> Self {
        Self { vertices: VertexSet::full(bound), edges: edges.to_vec(), weights: vec![1.0; edges.len()] }
    }

    /// The same without `hole`.
    pub(crate) fn without(mut self, holes: &[u32]) -> Self {
        let mut vertices = VertexSet::empty(self.vertices.bound());
        for vertex in self.vertices.iter().filter(|vertex| !holes.contains(vertex)) {
            vertices.insert(vertex);
        }
        self.vertices = vertices;
        self
    }

    pub(crate) fn csr(&self, direction: Direction) -> AnyLists {
        let weights = Some(&self.weights[..]);
        AnyLists::Flat(StaticCsr::new(self.vertices.clone(), &self.edges, weights, direction).unwrap())
    }

    pub(crate) fn unweighted(&self, direction: Direction) -> AnyLists {
        AnyLists::Flat(StaticCsr::new(self.vertices.clone(), &self.edges, None, direction).unwrap())
    }

    pub(crate) fn pieced(&self, direction: Direction) -> AnyLists {
        let weights = Some(&self.weights[..]);
        AnyLists::Pieced(Pieced::new(self.vertices.clone(), &self.edges, weights, direction))
    }

    /// Modularity by its definition, pair by pair: the sum over all pairs with one label of their weight
    /// less what chance gives them.
    pub(crate) fn modularity(&self, labels: &[u32], resolution: f64) -> f64 {
        let bound = labels.len();
        let mut weights = vec![vec![0.0; bound]; bound];
        for (source, target, weight) in self.arcs(Direction::Both) {
            weights[source as usize][target as usize] += weight;
        }
        let strengths: Vec<f64> = weights.iter().map(|row| row.iter().sum()).collect();
        let total: f64 = strengths.iter().sum();
        let mut sum = 0.0;
        for one in 0..bound {
            for other in 0..bound {
                if labels[one] == labels[other] {
                    sum += weights[one][other] - resolution * strengths[one] * strengths[other] / total;
                }
            }
        }
        if total == 0.0 { 0.0 } else { sum / total }
    }

    /// A vertex that isn't connected with the first one of its label by edges among those with the label
    /// that weigh something, whatever their direction; `None` if every label's vertices hang together.
    pub(crate) fn apart(&self, labels: &[u32]) -> Option<u32> {
        let mut neighbors = vec![Vec::new(); labels.len()];
        for (source, target, weight) in self.arcs(Direction::Both) {
            if weight > 0.0 && labels[source as usize] == labels[target as usize] {
                neighbors[source as usize].push(target);
            }
        }
        let (mut reached, mut begun) = (VertexSet::empty(self.vertices.bound()), HashSet::new());
        for vertex in self.vertices.iter().filter(|vertex| begun.insert(labels[*vertex as usize])) {
            reached.insert(vertex);
            let mut waiting = vec![vertex];
            while let Some(vertex) = waiting.pop() {
                for neighbor in &neighbors[vertex as usize] {
                    if !reached.contains(*neighbor) {
                        reached.insert(*neighbor);
                        waiting.push(*neighbor);
                    }
                }
            }
        }
        self.vertices.iter().find(|vertex| !reached.contains(*vertex))
    }

    /// The edges as a walk in `direction` goes over them, both ways for `Both`: the plainest form
    /// for a definition to be written on.
    pub(crate) fn arcs(&self, direction: Direction) -> Vec<(u32, u32, f64)> {
        let mut arcs = Vec::new();
        for ((source, target), weight) in self.edges.iter().copied().zip(self.weights.iter().copied()) {
            if self.vertices.contains(source) && self.vertices.contains(target) {
                if direction != Direction::In {
                    arcs.push((source, target, weight));
                }
                if direction != Direction::Out {
                    arcs.push((target, source, weight));
                }
            }
        }
        arcs
    }
}

/// Small graphs with holes, self loops, parallel edges, and weights of which some are zero.
pub(crate) fn any_graph() -> impl Strategy<Value = Graph> {
    (1_u32..150).prop_flat_map(|bound| {
        let edge = (0..bound, 0..bound, 0_u8..12);
        let edges = prop::collection::vec(edge, 0..3 * bound as usize);
        (edges, prop::collection::vec(0..bound, 0..8)).prop_map(move |(edges, holes)| {
            let pairs: Vec<_> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
            let weights = edges.iter().map(|edge| f64::from(edge.2) * 0.375).collect();
            Graph { weights, ..Graph::new(bound, &pairs) }.without(&holes)
        })
    })
}

pub(crate) fn any_direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Out), Just(Direction::In), Just(Direction::Both)]
}

/// Zachary's karate club (J. Anthropological Research 1977): 34 members, 78 friendships, and known
/// values of about every algorithm.
pub(crate) fn karate() -> Graph {
    let friends: [(u32, &[u32]); 26] = [
        (0, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31]),
        (1, &[2, 3, 7, 13, 17, 19, 21, 30]),
        (2, &[3, 7, 8, 9, 13, 27, 28, 32]),
        (3, &[7, 12, 13]),
        (4, &[6, 10]),
        (5, &[6, 10, 16]),
        (6, &[16]),
        (8, &[30, 32, 33]),
        (9, &[33]),
        (13, &[33]),
        (14, &[32, 33]),
        (15, &[32, 33]),
        (18, &[32, 33]),
        (19, &[33]),
        (20, &[32, 33]),
        (22, &[32, 33]),
        (23, &[25, 27, 29, 32, 33]),
        (24, &[25, 27, 31]),
        (25, &[31]),
        (26, &[29, 33]),
        (27, &[33]),
        (28, &[31, 33]),
        (29, &[32, 33]),
        (30, &[32, 33]),
        (31, &[32, 33]),
        (32, &[33]),
    ];
    let edges: Vec<_> =
        friends.iter().flat_map(|(one, others)| others.iter().map(|other| (*one, *other))).collect();
    assert_eq!(edges.len(), 78);
    Graph::new(34, &edges)
}

/// A graph of communities of equal size, nine of ten edges inside of them; the community of a vertex is
/// its id modulo their number.
pub(crate) fn planted(bound: u32, communities: u32, edges: u32) -> Graph {
    let mut state = 1_u64;
    let mut random = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(below)) as u32
    };
    let edges: Vec<_> = (0..edges)
        .map(|at| {
            let source = random(bound);
            let inside = source % communities;
            let target =
                if at % 10 == 0 { random(bound) } else { random(bound / communities) * communities + inside };
            (source, target)
        })
        .collect();
    Graph::new(bound, &edges)
}

/// A graph of many parts, with hubs, a long tail of levels, and holes; always the same.
pub(crate) fn large_graph() -> Graph {
    let bound = 40_000;
    let mut state = 7_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // The cube prefers small ids: they become hubs.
    let mut edges: Vec<(u32, u32)> = (0..300_000)
        .map(|_| ((random().powi(3) * 39_000.0) as u32, (random().powi(3) * 39_000.0) as u32))
        .collect();
    edges.extend((39_000..39_900).map(|vertex| (vertex, vertex + 1)));
    edges.push((17, 39_000));
    let weights = edges.iter().map(|_| (random() * 100.0).floor() * 0.25).collect();
    Graph { weights, ..Graph::new(bound, &edges) }.without(&[5, 20_000, 39_950])
}

/// Runs `kernel` in pools of 1, 2 and 5 threads and returns the one answer that all must give.
pub(crate) fn same_for_any_threads<A: PartialEq + Debug + Send>(kernel: impl Fn() -> A + Sync) -> A {
    let run =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&kernel);
    let first = run(1);
    for threads in [2, 5] {
        assert!(first == run(threads), "{threads} threads give another answer than one");
    }
    first
}

/// Checks that `kernel` stops at once if it was cancelled before, and also when it is cancelled by
/// its own first sign of progress.
pub(crate) fn assert_stops<A: Debug>(kernel: impl Fn(&Control<'_>) -> Result<A>) {
    let flag = CancelFlag::default();
    let cancel = |_| flag.cancel();
    let control = Control::default().with_cancel(&flag).with_progress(&cancel);
    assert_eq!(kernel(&control).unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(flag.is_cancelled(), "it told its progress");
    let silent = |_| panic!("a cancelled kernel doesn't begin");
    let control = Control::default().with_cancel(&flag).with_progress(&silent);
    assert_eq!(kernel(&control).unwrap_err().kind(), ErrorKind::Cancelled);
}
