//! Edges: what a projection leaves of a state, and what a topology visits.

use crate::history::{State, Values, label_of, side};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Piece, PieceBuffer, Projection, Topology, Visit};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Neighbours and bits of weights by vertex, sorted; vertices without edges are absent.
pub type Lists = BTreeMap<u32, Vec<(u32, u64)>>;

pub fn scope(state: &State, projection: &Projection) -> BTreeSet<u32> {
    let in_labels =
        |vertex: u32| projection.labels.as_ref().is_none_or(|labels| labels.contains(&label_of(vertex)));
    let is_chosen = |vertex: u32| projection.vertices.as_ref().is_none_or(|chosen| chosen.contains(vertex));
    state.vertices.iter().copied().filter(|vertex| in_labels(*vertex) && is_chosen(*vertex)).collect()
}

/// The lists of a projection in a direction; `None` if the weight of an edge is missing or is no number.
pub fn expected(state: &State, projection: &Projection, direction: Direction) -> Option<Lists> {
    let scope = scope(state, projection);
    let mut lists = Lists::new();
    for one in direction.sides() {
        for (vertex, neighbor, edge, values) in side(state, *one) {
            let is_of_types = projection.types.as_ref().is_none_or(|all| all.contains(&edge.edge_type));
            let are_in_scope = scope.contains(&vertex) && scope.contains(&neighbor);
            let satisfies = projection.edges.iter().all(|filter| filter.holds(values.get(&filter.key)));
            if is_of_types && are_in_scope && satisfies {
                let weight = weight(projection, values)?;
                lists.entry(vertex).or_default().push((neighbor, weight.to_bits()));
            }
        }
    }
    lists.values_mut().for_each(|list| list.sort_unstable());
    Some(lists)
}

fn weight(projection: &Projection, values: &Values) -> Option<f64> {
    match &projection.weight {
        None => Some(0.0),
        Some(weight) => match values.get(&weight.key) {
            Some(value) => value.as_f64(),
            None => weight.missing,
        },
    }
}

/// Gathers what a visit hands out, and looks at the order.
#[derive(Default)]
pub struct Visited {
    pub lists: Lists,
    pub calls: usize,
    last: Option<u32>,
}

impl Visited {
    pub fn add(&mut self, vertex: u32, piece: Piece<'_>) {
        assert!(self.last.is_none_or(|last| last <= vertex), "v{vertex} after {:?}", self.last);
        assert!(!piece.sorted || piece.neighbors.is_sorted());
        assert!(piece.weights.is_empty() || piece.weights.len() == piece.neighbors.len());
        (self.last, self.calls) = (Some(vertex), self.calls + 1);
        let weights = piece.weights.iter().copied().chain(std::iter::repeat(0.0)).map(f64::to_bits);
        if !piece.neighbors.is_empty() {
            self.lists.entry(vertex).or_default().extend(piece.neighbors.iter().copied().zip(weights));
        }
    }

    pub fn sorted(mut self) -> Lists {
        self.lists.values_mut().for_each(|list| list.sort_unstable());
        self.lists
    }
}

/// What a visit of `ranges`, one after the other, gives.
pub fn visited<T: Topology>(topology: &T, direction: Direction, ranges: &[Range<u32>]) -> Result<Lists> {
    let (mut visited, mut buffer) = (Visited::default(), PieceBuffer::default());
    for range in ranges {
        topology.visit(direction, range.clone(), &mut buffer, |vertex, piece| {
            assert!(range.contains(&vertex));
            visited.add(vertex, piece);
            Visit::Continue
        })?;
    }
    Ok(visited.sorted())
}

/// What a visit of some vertices gives.
pub fn visited_each<T: Topology>(topology: &T, direction: Direction, vertices: &[u32]) -> Result<Lists> {
    let (mut visited, mut buffer) = (Visited::default(), PieceBuffer::default());
    topology.visit_each(direction, vertices, &mut buffer, |vertex, piece| {
        assert!(vertices.contains(&vertex));
        visited.add(vertex, piece);
        Visit::Continue
    })?;
    Ok(visited.sorted())
}

/// What a topology says beside its lists is what the projection leaves of the state.
pub fn check_counts<T: Topology>(topology: &T, state: &State, projection: &Projection, groups: u32) {
    assert_eq!((topology.bound(), topology.direction()), (groups * 4096, projection.direction));
    assert_eq!(topology.vertices().iter().collect::<BTreeSet<_>>(), scope(state, projection));
    // Weights don't matter for counts.
    let unweighted = Projection { weight: None, ..projection.clone() };
    let mut count = 0;
    for side in projection.direction.sides() {
        let lists = expected(state, &unweighted, *side).unwrap();
        count = lists.values().map(|list| list.len() as u64).sum();
        let mut degrees = vec![9; topology.bound() as usize];
        topology.degrees(*side, 0..topology.bound(), &mut degrees).unwrap();
        let found = degrees.iter().enumerate().filter(|(_, degree)| **degree > 0);
        let found: BTreeMap<_, _> = found.map(|(vertex, degree)| (vertex as u32, *degree)).collect();
        let wanted: BTreeMap<_, _> =
            lists.iter().map(|(vertex, list)| (*vertex, list.len() as u32)).collect();
        assert_eq!(found, wanted, "{side:?}");
        let vertex = VertexId(4096 + 1);
        let mut part = [9; 3];
        topology.degrees(*side, vertex.0..vertex.0 + 3, &mut part).unwrap();
        assert_eq!(part, degrees[vertex.0 as usize..][..3]);
    }
    assert_eq!(topology.edge_count(), count);
    for other in [Direction::Out, Direction::In, Direction::Both] {
        if projection.direction != Direction::Both && projection.direction != other {
            for error in [
                visited(topology, other, &[0..1]).unwrap_err(),
                visited_each(topology, other, &[]).unwrap_err(),
                topology.degrees(other, 0..1, &mut [0]).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Invalid);
            }
        }
    }
    for parts in [0, 1, 2, 7, 100] {
        let cuts = topology.cuts(parts);
        assert!(cuts.is_sorted() && cuts.len() >= 2 && cuts.len() <= parts.max(1) + 1);
        assert_eq!((cuts[0], cuts[cuts.len() - 1]), (0, topology.bound()));
    }
}
