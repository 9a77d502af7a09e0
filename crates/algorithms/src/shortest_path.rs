//! Shortest path between two vertices, searched from both ends at once, on a view without freezing.
//!
//! ```text
//! source  )))  )))       (((  (((  target      two small balls instead of one large
//!              meet here ^
//! ```
//!
//! Definition. A path's length is its number of edges, or with a weight the sum of its edges' weights,
//! added from the source on. A shortest path has the least length. Among several the answer is always
//! the same one for the same graph (it depends on the order of lists, nothing else), but not that with
//! the lowest ids.
//!
//! Without weights: breadth-first levels, of the side whose frontier has fewer edges next. The sides
//! have met nobody in common before, so the first vertex that both reach lies on a shortest path. With
//! weights: Dijkstra's algorithm on the side whose next vertex is nearer, until both together are no
//! shorter than the best path found.
//!
//! Cost: the edges of the vertices visited, usually a small part of the graph; with filters one look
//! at each vertex met. Nothing is frozen. Memory: about 100 bytes a vertex visited. One thread: a
//! server answers many such questions at once.
//!
//! Rounding: with weights that don't add exactly, a path that is longer by less than the rounding of
//! the sums may be taken for the shortest.
//!
//! Source: Pohl, Bi-directional search (Machine Intelligence 6, 1971); the rule for stopping as in
//! Goldberg, Harrelson: Computing the shortest path: A* search meets graph theory (SODA 2005), section 3.

use crate::control::Control;
use crate::live::{Hop, Live};
use crate::reached::Reached;
use crate::scope::Scope;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::topology::Weight;
use evergraph_graph::view::GraphView;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

/// What may be chosen about a shortest path.
#[derive(Clone, PartialEq, Debug)]
pub struct ShortestPathParameters {
    /// Along which edges the path goes: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
    /// The edge property whose sum is the length: not negative, an infinite one is no way. `None`
    /// counts edges.
    pub weight: Option<Weight>,
    /// Longer paths are not looked for: at least 0.
    pub length_max: f64,
}

impl Default for ShortestPathParameters {
    /// From source to target, by the number of edges, of any length.
    fn default() -> Self {
        Self { direction: Direction::Out, weight: None, length_max: f64::INFINITY }
    }
}

impl ShortestPathParameters {
    fn check(&self) -> Result<()> {
        if self.length_max >= 0.0 {
            return Ok(());
        }
        Err(Error::invalid(format!("length_max is {}, but must be at least 0", self.length_max)))
    }
}

/// A path.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// Its vertices, source and target included: one for a path to itself.
    pub vertices: Vec<VertexId>,
    /// The edges between them, one fewer, each in its own direction.
    pub edges: Vec<EdgeId>,
    /// The length from the source to each vertex: 0 first, that of the path last.
    pub lengths: Vec<f64>,
}

impl Path {
    /// The number of edges, or the sum of their weights.
    #[must_use]
    pub fn length(&self) -> f64 {
        *self.lengths.last().expect("a path has a vertex")
    }
}

/// A shortest path from `source` to `target` in the part of `view` in `scope`; `None` if there is none
/// up to the longest length.
///
/// # Errors
/// `not_found` if an end isn't in scope; `invalid` for a parameter out of range, or for an edge that
/// was met whose weight is missing, negative or no number; `limit` if what was visited doesn't fit
/// into the budget of `control`; `cancelled`; errors of reading.
pub fn shortest_path<V: GraphView + ?Sized>(
    view: &V,
    scope: &Scope,
    source: VertexId,
    target: VertexId,
    parameters: &ShortestPathParameters,
    control: &Control<'_>,
) -> Result<Option<Path>> {
    parameters.check()?;
    control.check()?;
    let mut live = Live::new(view, scope, parameters.weight.as_ref(), control);
    let (source, target) = (live.member(source, "source")?, live.member(target, "target")?);
    control.report(PHASE, 0.0);
    let mut search = Search {
        live,
        length_max: parameters.length_max,
        sides: [
            Side::new(control, parameters.direction, source)?,
            Side::new(control, parameters.direction.reversed(), target)?,
        ],
    };
    let meeting = match parameters.weight {
        _ if source == target => Some(source),
        None => search.by_levels(source, target)?,
        Some(_) => search.by_weights()?,
    };
    let path =
        meeting.map(|meeting| search.path(meeting)).filter(|path| path.length() <= parameters.length_max);
    control.report(PHASE, 1.0);
    Ok(path)
}

const PHASE: &str = "shortest path";

/// What one side knows of a vertex.
#[derive(Clone, Copy)]
struct Known {
    /// From where the side began.
    length: f64,
    /// The last hop to it, but for the vertex where the side began.
    hop: Option<Hop>,
}

/// The search from one end.
struct Side<'a> {
    /// Along which edges it goes.
    direction: Direction,
    reached: Reached<'a, Known>,
    /// By length; entries whose vertex has come nearer since are stale. With levels unused.
    queue: BinaryHeap<Reverse<(u64, u32)>>,
}

/// Bytes that frontiers or the queue take for each vertex: a queue has about two entries for one.
const MORE_BYTES: usize = 2 * size_of::<(u64, u32)>();

impl<'a> Side<'a> {
    fn new(control: &'a Control<'a>, direction: Direction, end: u32) -> Result<Self> {
        let mut reached = Reached::new(control, "vertices on the way of a shortest path", MORE_BYTES);
        reached.insert(end, Known { length: 0.0, hop: None })?;
        Ok(Self { direction, reached, queue: BinaryHeap::from([Reverse((0.0_f64.to_bits(), end))]) })
    }

    /// The length of the next vertex in the queue; `None` if there is none.
    fn next_length(&mut self) -> Option<f64> {
        while let Some(Reverse((bits, vertex))) = self.queue.peek() {
            let length = f64::from_bits(*bits);
            if self.reached.get(*vertex).is_some_and(|known| known.length == length) {
                return Some(length);
            }
            self.queue.pop();
        }
        None
    }
}

struct Search<'a, V: ?Sized> {
    live: Live<'a, V>,
    length_max: f64,
    /// From the source, from the target.
    sides: [Side<'a>; 2],
}

impl<V: GraphView + ?Sized> Search<'_, V> {
    /// Breadth-first from both ends; a vertex on a shortest path.
    fn by_levels(&mut self, source: u32, target: u32) -> Result<Option<u32>> {
        let mut frontiers = [vec![source], vec![target]];
        let mut edges = [0; 2];
        for at in 0..2 {
            edges[at] = self.live.edges_of(self.sides[at].direction, &frontiers[at])?;
        }
        let mut length = 0.0;
        while !frontiers.iter().any(Vec::is_empty) && length + 1.0 <= self.length_max {
            length += 1.0;
            let at = usize::from(edges[1] < edges[0]);
            let [forward, backward] = &mut self.sides;
            let (side, other) = if at == 0 { (forward, backward) } else { (backward, forward) };
            let (mut meeting, mut next) = (None, Vec::new());
            self.live.hops(side.direction, &frontiers[at], |hop| {
                if side.reached.get(hop.to).is_some() {
                    return Ok(ControlFlow::Continue(()));
                }
                let length = side.reached.get(hop.from).map_or(0.0, |from| from.length) + 1.0;
                side.reached.insert(hop.to, Known { length, hop: Some(*hop) })?;
                if other.reached.get(hop.to).is_some() {
                    meeting = Some(hop.to);
                    return Ok(ControlFlow::Break(()));
                }
                next.push(hop.to);
                Ok(ControlFlow::Continue(()))
            })?;
            if meeting.is_some() {
                return Ok(meeting);
            }
            // Engines read lists fastest in one sweep.
            next.sort_unstable();
            edges[at] = self.live.edges_of(side.direction, &next)?;
            frontiers[at] = next;
        }
        Ok(None)
    }

    /// Dijkstra from both ends; a vertex on a shortest path.
    fn by_weights(&mut self) -> Result<Option<u32>> {
        let [forward, backward] = &mut self.sides;
        let (mut best, mut meeting) = (self.length_max, None);
        while let (Some(ahead), Some(behind)) = (forward.next_length(), backward.next_length()) {
            // Any path not found yet is at least so long. One of exactly the longest length may count.
            let least = ahead + behind;
            if least > best || (least == best && meeting.is_some()) {
                break;
            }
            let (side, other) =
                if behind < ahead { (&mut *backward, &*forward) } else { (&mut *forward, &*backward) };
            let Some(Reverse((bits, vertex))) = side.queue.pop() else { break };
            let settled = f64::from_bits(bits);
            self.live.hops(side.direction, &[vertex], |hop| {
                let length = settled + hop.weight;
                if length.is_infinite() {
                    return Ok(ControlFlow::Continue(()));
                }
                let known = Known { length, hop: Some(*hop) };
                match side.reached.get_mut(hop.to) {
                    Some(before) if before.length <= length => return Ok(ControlFlow::Continue(())),
                    Some(before) => *before = known,
                    None => side.reached.insert(hop.to, known)?,
                }
                side.queue.push(Reverse((length.to_bits(), hop.to)));
                if let Some(rest) = other.reached.get(hop.to) {
                    let whole = length + rest.length;
                    if whole < best || (whole == best && meeting.is_none()) {
                        (best, meeting) = (whole, Some(hop.to));
                    }
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(meeting)
    }

    /// The path over `meeting`, which both sides reached.
    fn path(&self, meeting: u32) -> Path {
        let [forward, backward] = &self.sides;
        let hops_to_end = |side: &Side<'_>| {
            let mut hops = Vec::new();
            let mut vertex = meeting;
            while let Some(hop) = side.reached.get(vertex).and_then(|known| known.hop) {
                hops.push(hop);
                vertex = hop.from;
            }
            (hops, vertex)
        };
        let (mut first, source) = hops_to_end(forward);
        first.reverse();
        let (second, _) = hops_to_end(backward);
        let mut path = Path { vertices: vec![VertexId(source)], edges: Vec::new(), lengths: vec![0.0] };
        let steps = first.iter().map(|hop| (hop.to, hop)).chain(second.iter().map(|hop| (hop.from, hop)));
        for (vertex, hop) in steps {
            let length = path.length() + hop.weight;
            path.vertices.push(VertexId(vertex));
            path.edges.push(hop.edge);
            path.lengths.push(length);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bfs::{BfsParameters, bfs};
    use crate::graphs::{Graph, any_direction, any_graph};
    use crate::sssp::{SsspParameters, sssp};
    use crate::view::Limit;
    use crate::walkable::{AGE, LABELS, WEIGHT, Walkable};
    use evergraph_graph::cancel::CancelFlag;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::filter::{Comparison, Condition, Filter};
    use proptest::prelude::*;

    fn weighted(direction: Direction) -> ShortestPathParameters {
        let weight = Some(Weight { key: WEIGHT, missing: Some(f64::INFINITY) });
        ShortestPathParameters { direction, weight, ..Default::default() }
    }

    fn find(view: &Walkable, ends: (u32, u32), parameters: &ShortestPathParameters) -> Option<Path> {
        let (source, target) = (VertexId(ends.0), VertexId(ends.1));
        shortest_path(view, &Scope::default(), source, target, parameters, &Control::default()).unwrap()
    }

    /// A path's edges join its vertices in `direction`, and the lengths are the sums of `weight`.
    fn check(path: &Path, direction: Direction, weight: impl Fn(EdgeId) -> f64) {
        assert_eq!((path.edges.len() + 1, path.vertices.len()), (path.vertices.len(), path.lengths.len()));
        let mut length = 0.0;
        for (at, edge) in path.edges.iter().enumerate() {
            let step = (path.vertices[at], path.vertices[at + 1]);
            let along = direction != Direction::In && (edge.source, edge.target) == step;
            let against = direction != Direction::Out && (edge.target, edge.source) == step;
            assert!(along || against, "{path:?}");
            length += weight(*edge);
            assert_eq!(path.lengths[at + 1], length);
        }
    }

    proptest! {
        #[test]
        fn lengths_are_those_of_a_search_of_the_whole_graph(
            graph in any_graph(), direction in any_direction(), pick: [prop::sample::Index; 2],
        ) {
            prop_assume!(!graph.vertices.is_empty());
            let all: Vec<u32> = graph.vertices.iter().collect();
            let ends @ (source, target) = (*pick[0].get(&all), *pick[1].get(&all));
            let (topology, control) = (graph.csr(direction), Control::default());
            let parameters = BfsParameters { direction, ..Default::default() };
            let levels = bfs(&topology, VertexId(source), &parameters, &control).unwrap();
            let parameters = SsspParameters { direction, ..Default::default() };
            let distances = sssp(&topology, VertexId(source), &parameters, &control).unwrap();

            let view = Walkable::new(graph);
            let parameters = ShortestPathParameters { direction, ..Default::default() };
            let path = find(&view, ends, &parameters);
            prop_assert_eq!(path.as_ref().map(Path::length), levels.level(VertexId(target)).map(f64::from));
            if let Some(path) = &path {
                check(path, direction, |_| 1.0);
                prop_assert_eq!((path.vertices[0].0, path.vertices.last().unwrap().0), ends);
                let shorter = ShortestPathParameters { length_max: path.length(), ..parameters.clone() };
                prop_assert_eq!(find(&view, ends, &shorter), Some(path.clone()));
                let length_max = path.length() - 0.5;
                if length_max >= 0.0 {
                    prop_assert_eq!(find(&view, ends, &ShortestPathParameters { length_max, ..parameters }), None);
                }
            }

            let path = find(&view, ends, &weighted(direction));
            prop_assert_eq!(path.as_ref().map(Path::length), distances.distance(VertexId(target)));
            if let Some(path) = &path {
                let weights: std::collections::HashMap<_, _> = view.edges().collect();
                check(path, direction, |edge| weights[&edge]);
                let exact = ShortestPathParameters { length_max: path.length(), ..weighted(direction) };
                prop_assert_eq!(find(&view, ends, &exact).map(|path| path.length()), Some(path.length()));
            }
        }
    }

    #[test]
    fn a_path_names_its_vertices_and_edges() {
        let mut graph = Graph::new(5, &[(0, 1), (1, 2), (0, 3), (3, 2), (0, 2)]);
        graph.weights = vec![1.0, 2.0, 1.0, 1.5, 9.0];
        let view = Walkable::new(graph);
        let short = find(&view, (0, 2), &ShortestPathParameters::default()).unwrap();
        assert_eq!((short.vertices, short.lengths), (vec![VertexId(0), VertexId(2)], vec![0.0, 1.0]));
        let light = find(&view, (0, 2), &weighted(Direction::Out)).unwrap();
        assert_eq!((light.length(), light.vertices[1]), (2.5, VertexId(3)));
        assert_eq!((light.edges[1].source, light.edges[1].target), (VertexId(3), VertexId(2)));
        assert_eq!(find(&view, (2, 0), &weighted(Direction::Out)), None);
        let own = find(&view, (4, 4), &weighted(Direction::Out)).unwrap();
        assert_eq!((own.length(), own.vertices.len(), own.edges.len()), (0.0, 1, 0));
    }

    #[test]
    fn filters_lead_the_path_around_what_they_leave_out() {
        let view = Walkable::new(Graph::new(6, &[(0, 1), (1, 4), (0, 2), (2, 4), (4, 5)]));
        let find = |scope: &Scope, target: u32| {
            let parameters = ShortestPathParameters::default();
            shortest_path(&view, scope, VertexId(0), VertexId(target), &parameters, &Control::default())
        };
        // Labels are numbers modulo 2, ages ten times the number.
        let even = Scope { labels: Some(vec![LABELS[0]]), ..Scope::default() };
        assert_eq!(find(&even, 4).unwrap().unwrap().vertices, [0, 2, 4].map(VertexId));
        let condition = Condition::Compare(Comparison::NotEqual, 20_i64.into());
        let not_two = Scope { vertex_filters: vec![Filter { key: AGE, condition }], ..Scope::default() };
        assert_eq!(find(&not_two, 4).unwrap().unwrap().vertices, [0, 1, 4].map(VertexId));
        let error = find(&even, 5).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains("target v5")), (ErrorKind::NotFound, true));
    }

    #[test]
    fn memory_is_taken_for_what_is_visited_only() {
        let view = Walkable::new(Graph::new(4, &[(0, 1), (1, 3)]));
        let find = |budget: &Limit| {
            let (scope, parameters) = (Scope::default(), ShortestPathParameters::default());
            shortest_path(&view, &scope, VertexId(0), VertexId(3), &parameters, &Control::new(budget))
        };
        // The least that a side reserves is for a thousand vertices.
        assert_eq!(find(&Limit(256 * 1024)).unwrap().unwrap().length(), 2.0);
        assert_eq!(find(&Limit(1024)).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn bad_parameters_are_refused_and_a_cancelled_search_ends() {
        let view = Walkable::new(Graph::new(2, &[(0, 1)]));
        for length_max in [-1.0, f64::NAN] {
            let parameters = ShortestPathParameters { length_max, ..Default::default() };
            let result = shortest_path(
                &view,
                &Scope::default(),
                VertexId(0),
                VertexId(1),
                &parameters,
                &Control::default(),
            );
            assert!(result.unwrap_err().to_string().contains("length_max"));
        }
        let flag = CancelFlag::default();
        let cancel = |_| flag.cancel();
        let control = Control::default().with_cancel(&flag).with_progress(&cancel);
        let parameters = ShortestPathParameters::default();
        let result = shortest_path(&view, &Scope::default(), VertexId(0), VertexId(1), &parameters, &control);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
