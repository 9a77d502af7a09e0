//! Adjacency: a graph as plain lists, to compare a packed graph with.

use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology as _, Turn, Visit};
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::Memory;
use evergraph_packed::view::View;

/// The targets of each vertex, in order of insertion.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Adjacency(pub Vec<Vec<u32>>);

impl Adjacency {
    pub fn with_vertices(count: u32) -> Self {
        Self(vec![Vec::new(); count as usize])
    }

    pub fn edges(&self) -> u64 {
        self.0.iter().map(|list| list.len() as u64).sum()
    }

    pub fn insert(&mut self, source: u32, target: u32) {
        self.0[source as usize].push(target);
    }

    /// Deletes the oldest edge to `target`; whether there was one.
    pub fn delete(&mut self, source: u32, target: u32) -> bool {
        let list = &mut self.0[source as usize];
        let found = list.iter().position(|other| *other == target);
        found.map(|at| list.remove(at)).is_some()
    }

    /// What a graph has now, and whether all ways to read it agree.
    pub fn of<M: Memory>(graph: &PackedGraph<M>) -> Self {
        Self::of_view(&graph.consistent_view())
    }

    /// What a view shows, and whether all ways to read it agree.
    pub fn of_view<M: Memory>(view: &View<M>) -> Self {
        let bound = view.bound();
        let lists = Self((0..bound).map(|vertex| view.neighbors(vertex).unwrap()).collect());
        let mut visited = Self::with_vertices(bound);
        let mut buffer = PieceBuffer::default();
        let visitor = |vertex: u32, piece: Piece<'_>| {
            visited.0[vertex as usize].extend(piece.neighbors);
            Visit::Continue
        };
        view.visit(Direction::Out, 0..bound, &mut buffer, visitor).unwrap();
        assert_eq!(visited, lists, "a visit and look-ups differ");
        let mut degrees = vec![7; bound as usize];
        view.degrees(Direction::Out, 0..bound, &mut degrees).unwrap();
        assert!(degrees.iter().zip(&lists.0).all(|(degree, list)| *degree as usize == list.len()));
        let cuts = view.cuts(5);
        assert!(cuts.is_sorted() && cuts.len() == 6 && (cuts[0], cuts[5]) == (0, bound), "{cuts:?}");
        assert_eq!(view.edge_count(), lists.edges(), "edges are counted as they are");
        assert_eq!(Self::of_pieces(view, &cuts), lists, "pieces and look-ups differ");
        lists
    }

    /// What a view shows if pieces may come apart, part by part. What comes apart is newer than what doesn't.
    fn of_pieces<M: Memory>(view: &View<M>, cuts: &[u32]) -> Self {
        let (mut lists, mut apart) = (Self::with_vertices(view.bound()), Self::with_vertices(view.bound()));
        for cut in cuts.windows(2) {
            // The lists before this vertex have begun or are over.
            let mut begun = cut[0];
            let visitor = |vertex: u32, piece: Piece<'_>, turn: Turn| {
                if turn == Turn::Apart {
                    assert!((begun..cut[1]).contains(&vertex), "a piece of {vertex} comes too late");
                    apart.0[vertex as usize].extend(piece.neighbors);
                } else {
                    assert!(vertex + 1 >= begun && vertex < cut[1], "{vertex} comes out of order");
                    begun = vertex + 1;
                    lists.0[vertex as usize].extend(piece.neighbors);
                }
            };
            view.visit_pieces(Direction::Out, cut[0]..cut[1], &mut PieceBuffer::default(), visitor).unwrap();
        }
        lists.0.iter_mut().zip(apart.0).for_each(|(list, apart)| list.extend(apart));
        lists
    }
}
