//! Strongly connected components: which vertices reach each other. One large one by two searches,
//! the rest by Tarjan.
//!
//! ```text
//! pivot    the vertex with the most in times out edges         most likely in the largest component
//! forward  all that it reaches                                  both in parallel, direction-optimising
//! backward all that reach it
//!
//!              both: the pivot's component, done
//!   forward only | backward only | neither: no component crosses two of these classes
//!
//! rest     the vertices left, renumbered, with the edges within their class  ->  Tarjan
//! ```
//!
//! Real directed graphs have one giant component, and all others are tiny; so nearly all edges are
//! read by the two searches, and Tarjan gets few. Without a giant the searches are short or the rest
//! is large, but the sum stays linear: that is why Tarjan and not colouring, which is parallel and
//! quadratic at worst.
//!
//! A component is named by its smallest vertex, as in `wcc`.
//!
//! Cost: two searches, one visit of the lists of the rest, and Tarjan's one pass over its edges.
//! Memory: 29 bytes a vertex; and 36 for each vertex and 4 for each edge of the rest.
//!
//! Source: Fleischer, Hendrickson, Pinar: On Identifying Strongly Connected Components in Parallel
//! (2000); one step of it, then sequential, as in Slota, Rajamanickam, Madduri: Multistep (IPDPS
//! 2014). Tarjan (SIAM J. Comput. 1972), without recursion, as in Pearce: A space-efficient
//! algorithm for finding strongly connected components (2016).

use crate::bfs::{Bfs, BfsParameters, bfs};
use crate::control::Control;
use crate::labels::Labels;
use crate::parts::{Parts, share_out};
use crate::scope::Scope;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::Freeze;

/// The component of each vertex, named by its smallest vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scc {
    /// A component is named by its smallest vertex.
    pub labels: Labels,
    /// How many components there are.
    pub components: u64,
    /// Vertices in the largest component.
    pub largest: u64,
}

/// The strongly connected components of the part of `view` in `scope`: freezes both sides. Memory
/// comes from the budget of `view`.
///
/// # Errors
/// Those of [`scc`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(view: &V, scope: &Scope, control: &Control<'_>) -> Result<Scc> {
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    scc(&topology, &control.on_budget(view.budget()))
}

/// The strongly connected components of `topology`, which must hold both sides.
///
/// # Errors
/// `invalid` for a side that wasn't frozen; `limit` if the state doesn't fit into the budget;
/// `cancelled`; errors of reading.
pub fn scc<T: Topology>(topology: &T, control: &Control<'_>) -> Result<Scc> {
    control.check()?;
    control.report(PHASE, 0.0);
    // The levels of both searches and the labels; a search reserves what it needs besides.
    let _state =
        control.reserve("levels and labels of components", topology.bound(), 3 * size_of::<u32>())?;
    let mut labels = vec![Labels::OUT_OF_SCOPE; topology.bound() as usize];
    let Some(pivot) = pivot(topology, control)? else {
        control.report(PHASE, 1.0);
        return Ok(Scc { labels: Labels::new(labels), components: 0, largest: 0 });
    };
    let reach = |direction| {
        // Its progress is not ours.
        let parameters = BfsParameters { direction, ..Default::default() };
        bfs(topology, pivot, &parameters, &control.without_progress())
    };
    let classes = Classes { forward: reach(Direction::Out)?, backward: reach(Direction::In)? };
    control.report(PHASE, 0.5);
    let vertices = topology.vertices();
    let pivots = |vertex: &u32| classes.of(*vertex) == Classes::PIVOTS;
    let label = vertices.iter().find(pivots).expect("the pivot is in its own component");
    let mut largest = 0;
    for vertex in vertices.iter().filter(pivots) {
        labels[vertex as usize] = label;
        largest += 1;
    }
    let mut components = 1;
    let left = vertices.len() - largest;
    if left > 0 {
        let rest = Rest::new(topology, &classes, left, control)?;
        drop(classes);
        let found = rest.components(&mut labels, control)?;
        components += found.components;
        largest = largest.max(found.largest);
    }
    control.report(PHASE, 1.0);
    Ok(Scc { labels: Labels::new(labels), components, largest })
}

const PHASE: &str = "scc";

/// The vertex with the most in times out edges, of several the smallest; `None` without vertices.
fn pivot<T: Topology>(topology: &T, control: &Control<'_>) -> Result<Option<VertexId>> {
    let best = Parts::of(topology).map_ranges(control, |range, _| {
        let (mut out, mut incoming) = (vec![0; range.len()], vec![0; range.len()]);
        topology.degrees(Direction::Out, range.clone(), &mut out)?;
        topology.degrees(Direction::In, range.clone(), &mut incoming)?;
        let product = |vertex: u32| {
            let at = (vertex - range.start) as usize;
            (u64::from(out[at]) * u64::from(incoming[at]), std::cmp::Reverse(vertex))
        };
        Ok(topology.vertices().range(range.clone()).map(product).max())
    })?;
    Ok(best.into_iter().flatten().max().map(|(_, vertex)| VertexId(vertex.0)))
}

/// On which sides of the pivot each vertex is.
struct Classes {
    forward: Bfs,
    backward: Bfs,
}

impl Classes {
    /// Reached both ways.
    const PIVOTS: u8 = 3;

    #[inline]
    fn of(&self, vertex: u32) -> u8 {
        let reached = |search: &Bfs| u8::from(search.levels()[vertex as usize] != Bfs::UNREACHED);
        reached(&self.forward) + 2 * reached(&self.backward)
    }
}

/// The graph without the pivot's component and without edges from class to class, its vertices
/// renumbered in their order.
struct Rest {
    /// The ids of its vertices, ascending.
    vertices: Vec<u32>,
    /// Where the list of each begins; one more than there are vertices.
    offsets: Vec<u64>,
    targets: Vec<u32>,
    _memory: [Reservation; 2],
}

/// Bytes for each vertex of the rest: its id, an offset, its index, and its places on the path and
/// among the open.
const REST_BYTES: usize = size_of::<u64>() + 3 * size_of::<u32>() + size_of::<Step>();

impl Rest {
    fn new<T: Topology>(topology: &T, classes: &Classes, left: u64, control: &Control<'_>) -> Result<Self> {
        let of_vertices =
            control.reserve_bytes("vertices outside of the largest component", left * REST_BYTES as u64)?;
        let mut members = VertexSet::empty(topology.bound());
        let mut vertices = Vec::with_capacity(left as usize);
        for vertex in topology.vertices().iter().filter(|vertex| classes.of(*vertex) != Classes::PIVOTS) {
            members.insert(vertex);
            vertices.push(vertex);
        }
        // Members before each word of 64 ids.
        let mut before = 0;
        let ranks: Vec<u32> = members
            .words()
            .iter()
            .map(|word| {
                let rank = before;
                before += word.count_ones();
                rank
            })
            .collect();
        let number = |vertex: u32| {
            let below = members.words()[vertex as usize / 64] & ((1 << (vertex % 64)) - 1);
            ranks[vertex as usize / 64] + below.count_ones()
        };
        let chunks = share_out(control, vertices.chunks(REST_CHUNK), |chunk, buffer| {
            let mut lists = (vec![0_u32; chunk.len()], Vec::new());
            let mut at = 0;
            topology.visit_each(Direction::Out, chunk, buffer, |vertex, piece| {
                while chunk[at] != vertex {
                    at += 1;
                }
                let class = classes.of(vertex);
                for target in piece.neighbors {
                    if members.contains(*target) && classes.of(*target) == class {
                        lists.1.push(number(*target));
                        lists.0[at] += 1;
                    }
                }
                Visit::Continue
            })?;
            Ok(lists)
        })?;
        let edges: usize = chunks.iter().map(|(_, targets)| targets.len()).sum();
        let bytes = edges * size_of::<u32>();
        let of_edges = control.reserve_bytes("edges outside of the largest component", bytes as u64)?;
        let mut rest = Self {
            offsets: Vec::with_capacity(vertices.len() + 1),
            targets: Vec::with_capacity(edges),
            vertices,
            _memory: [of_vertices, of_edges],
        };
        rest.offsets.push(0);
        let mut end = 0;
        for (lengths, targets) in chunks {
            for length in lengths {
                end += u64::from(length);
                rest.offsets.push(end);
            }
            rest.targets.extend(targets);
        }
        Ok(rest)
    }

    /// Names the component of each vertex in `labels`.
    fn components(&self, labels: &mut [u32], control: &Control<'_>) -> Result<Found> {
        let mut search = Tarjan {
            rest: self,
            indices: vec![UNVISITED; self.vertices.len()],
            path: Vec::new(),
            open: Vec::new(),
            next_index: 0,
            found: Found { components: 0, largest: 0 },
        };
        let count = self.vertices.len();
        for root in 0..count as u32 {
            if root % CHECK_EVERY == 0 {
                control.check()?;
                control.report(PHASE, 0.5 + 0.5 * f64::from(root) / count as f64);
            }
            search.run(root, labels, control)?;
        }
        Ok(search.found)
    }
}

/// Vertices of the rest whose lists one task reads.
const REST_CHUNK: usize = 1024;

/// Steps of Tarjan's search between two looks at the cancel flag: below a millisecond.
const CHECK_EVERY: u32 = 32 * 1024;

/// What was found in the rest.
struct Found {
    components: u64,
    largest: u64,
}

const UNVISITED: u32 = u32::MAX;

/// In place of the index of a vertex whose component is known.
const CLOSED: u32 = u32::MAX - 1;

/// A depth-first search with its stacks on the heap.
struct Tarjan<'a> {
    rest: &'a Rest,
    /// For each vertex, the least index that it is known to reach among those that are open: its own
    /// when it is entered. Then [`CLOSED`].
    indices: Vec<u32>,
    /// The vertices on the way from the root, each with its own index and the place in its list.
    path: Vec<Step>,
    /// Vertices that were left and whose component isn't known yet.
    open: Vec<u32>,
    next_index: u32,
    found: Found,
}

struct Step {
    vertex: u32,
    index: u32,
    next: u64,
}

impl Tarjan<'_> {
    /// Visits all that is new from `root` on.
    fn run(&mut self, root: u32, labels: &mut [u32], control: &Control<'_>) -> Result<()> {
        if self.indices[root as usize] != UNVISITED {
            return Ok(());
        }
        self.enter(root);
        while let Some(step) = self.path.last_mut() {
            let vertex = step.vertex as usize;
            if step.next == self.rest.offsets[vertex + 1] {
                self.leave(labels);
                continue;
            }
            let target = self.rest.targets[step.next as usize];
            step.next += 1;
            match self.indices[target as usize] {
                UNVISITED => {
                    if self.next_index.is_multiple_of(CHECK_EVERY) {
                        control.check()?;
                    }
                    self.enter(target);
                }
                CLOSED => {}
                reached => self.indices[vertex] = self.indices[vertex].min(reached),
            }
        }
        Ok(())
    }

    fn enter(&mut self, vertex: u32) {
        self.indices[vertex as usize] = self.next_index;
        let next = self.rest.offsets[vertex as usize];
        self.path.push(Step { vertex, index: self.next_index, next });
        self.next_index += 1;
    }

    /// Goes back from the last vertex of the path; closes its component if it was entered first of
    /// all in it.
    fn leave(&mut self, labels: &mut [u32]) {
        let Step { vertex, index, .. } = self.path.pop().expect("the path has a last vertex");
        let reached = self.indices[vertex as usize];
        self.open.push(vertex);
        if reached != index {
            let above = self.path.last().expect("whoever reaches an older vertex isn't the root").vertex;
            let above = &mut self.indices[above as usize];
            *above = (*above).min(reached);
            return;
        }
        // What is open above the place of the first that was entered later belongs to it.
        let mut start = self.open.len() - 1;
        while start > 0 && self.indices[self.open[start - 1] as usize] >= index {
            start -= 1;
        }
        let members = &self.open[start..];
        let smallest = *members.iter().min().expect("the vertex itself is a member");
        let label = self.rest.vertices[smallest as usize];
        for member in members {
            labels[self.rest.vertices[*member as usize] as usize] = label;
            self.indices[*member as usize] = CLOSED;
        }
        self.found.components += 1;
        self.found.largest = self.found.largest.max(members.len() as u64);
        self.open.truncate(start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const NONE: u32 = Labels::OUT_OF_SCOPE;

    /// The definition: the least vertex among those that are reached and reach back.
    fn labels_by_reach(graph: &Graph) -> Vec<u32> {
        let bound = graph.vertices.bound() as usize;
        let reach = |direction| {
            let mut lists = vec![Vec::new(); bound];
            graph.arcs(direction).iter().for_each(|arc| lists[arc.0 as usize].push(arc.1));
            let from = |start: usize| {
                let mut reached = vec![false; bound];
                let mut stack = vec![start as u32];
                while let Some(vertex) = stack.pop() {
                    if !std::mem::replace(&mut reached[vertex as usize], true) {
                        stack.extend(&lists[vertex as usize]);
                    }
                }
                reached
            };
            (0..bound).map(from).collect::<Vec<_>>()
        };
        let (forward, backward) = (reach(Direction::Out), reach(Direction::In));
        let label = |vertex: usize| {
            let together = |other: &usize| forward[vertex][*other] && backward[vertex][*other];
            (0..bound).find(together).expect("a vertex reaches itself") as u32
        };
        let label = |vertex| if graph.vertices.contains(vertex) { label(vertex as usize) } else { NONE };
        (0..bound as u32).map(label).collect()
    }

    /// Kosaraju's algorithm: nothing in common with Tarjan's but depth-first search.
    fn labels_by_kosaraju(graph: &Graph) -> Vec<u32> {
        let bound = graph.vertices.bound() as usize;
        let lists = |direction| {
            let mut lists = vec![Vec::new(); bound];
            graph.arcs(direction).iter().for_each(|arc| lists[arc.0 as usize].push(arc.1));
            lists
        };
        let (out, incoming) = (lists(Direction::Out), lists(Direction::In));
        let mut order = Vec::new();
        let mut seen = vec![false; bound];
        for root in graph.vertices.iter() {
            let mut stack = vec![(root, false)];
            while let Some((vertex, done)) = stack.pop() {
                if done {
                    order.push(vertex);
                } else if !std::mem::replace(&mut seen[vertex as usize], true) {
                    stack.push((vertex, true));
                    stack.extend(out[vertex as usize].iter().map(|target| (*target, false)));
                }
            }
        }
        let mut labels = vec![NONE; bound];
        for root in order.into_iter().rev() {
            let (mut members, mut stack) = (Vec::new(), vec![root]);
            while let Some(vertex) = stack.pop() {
                if labels[vertex as usize] == NONE {
                    labels[vertex as usize] = root;
                    members.push(vertex);
                    stack.extend(&incoming[vertex as usize]);
                }
            }
            let smallest = members.iter().copied().min().unwrap_or(root);
            members.iter().for_each(|member| labels[*member as usize] = smallest);
        }
        labels
    }

    fn components(graph: &Graph) -> Scc {
        let control = Control::default();
        let found = scc(&graph.csr(Direction::Both), &control).unwrap();
        assert_eq!(scc(&graph.pieced(Direction::Both), &control).unwrap(), found);
        let mut sizes = BTreeMap::new();
        for label in found.labels.as_slice().iter().filter(|label| **label != NONE) {
            *sizes.entry(label).or_insert(0) += 1;
        }
        assert_eq!(found.components, sizes.len() as u64);
        assert_eq!(found.largest, sizes.values().copied().max().unwrap_or(0));
        found
    }

    proptest! {
        #[test]
        fn labels_are_those_of_who_reaches_whom(graph in any_graph(), kept in 0.2..1.0) {
            // With fewer edges there are more components between one and all.
            let mut graph = graph;
            graph.edges.truncate((graph.edges.len() as f64 * kept) as usize);
            graph.weights.truncate(graph.edges.len());
            let found = components(&graph);
            prop_assert_eq!(found.labels.as_slice(), labels_by_reach(&graph));
        }
    }

    #[test]
    fn a_large_graph_has_the_labels_of_kosaraju() {
        let graph = large_graph();
        assert!(components(&graph).labels.as_slice() == labels_by_kosaraju(&graph));
    }

    #[test]
    fn many_components_beside_the_pivots_are_told_apart() {
        // Rings of seven, each with an edge to the next one: no two are one component.
        let mut edges = Vec::new();
        for ring in 0..3000 {
            edges.extend((0..7).map(|at| (7 * ring + at, 7 * ring + (at + 3) % 7)));
            edges.push((7 * ring + 6, 7 * ((ring + 1) % 3000)));
        }
        edges.pop();
        let graph = Graph::new(21_000, &edges);
        let found = components(&graph);
        assert_eq!((found.components, found.largest), (3000, 7));
        assert!((0..).zip(found.labels.as_slice()).all(|(vertex, label)| *label == vertex / 7 * 7));
    }

    #[test]
    fn a_long_path_takes_no_deep_stack() {
        let edges: Vec<_> = (0..200_000).map(|vertex| (vertex, vertex + 1)).collect();
        assert_eq!(components(&Graph::new(200_001, &edges)).components, 200_001);
        let ring: Vec<_> = (0..200_000).map(|vertex| ((vertex + 1) % 200_000, vertex)).collect();
        assert_eq!(components(&Graph::new(200_000, &ring)).largest, 200_000);
    }

    #[test]
    fn a_hole_connects_nothing_and_has_no_label() {
        let found =
            components(&Graph::new(6, &[(4, 3), (3, 1), (1, 4), (5, 5), (3, 0), (0, 3)]).without(&[1]));
        assert_eq!(found.labels.as_slice(), [0, NONE, 2, 0, 4, 5]);
        assert_eq!((found.labels.of(VertexId(1)), found.labels.of(VertexId(3))), (None, Some(VertexId(0))));
    }

    #[test]
    fn graphs_of_no_and_of_one_vertex_have_components() {
        assert_eq!(components(&Graph::new(0, &[])).components, 0);
        assert_eq!(components(&Graph::new(1, &[])).labels.as_slice(), [0]);
        assert_eq!(components(&Graph::new(1, &[]).without(&[0])).labels.as_slice(), [NONE]);
    }

    #[test]
    fn labels_are_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        same_for_any_threads(|| scc(&csr, &Control::default()).unwrap());
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| scc(&csr, control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(1, 0), (0, 1), (1, 2)]), Scope::default());
        let view = FrozenOnly::new(graph.clone(), 1000);
        assert_eq!(run(&view, &scope, &Control::default()).unwrap().labels.as_slice(), [0, 0, 2]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let error = run(&FrozenOnly::new(graph, 3 * 12), &scope, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
