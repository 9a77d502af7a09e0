//! `StaticCsr`: a graph that never changes, as compressed sparse rows in memory.
//!
//! ```text
//! offsets    [ 0      3  3        7 ]         one more than there are vertices; u32, or u64 from 2^32 edges
//! neighbors  [ 4 7 9     1 2 2 8  ]           each list sorted; parallel edges repeat
//! weights    [ . . .     . . . .  ]           only if the graph has weights
//! ```
//!
//! Built in parallel, without atomics and without ever writing two places at once from two threads:
//!
//! ```text
//! edge list -- chunks, each counts its edges a bucket (a run of vertices)
//!           -- every (bucket, chunk) gets its own slice, edges are moved there
//!           -- every bucket, now in a cache's reach, counts, places and sorts its own lists
//! ```
//!
//! It is the baseline that live graphs are measured against. Memory: 4 bytes an edge and 4 a vertex
//! for each side, plus 8 an edge for weights.
//!
//! Source: the CSR of the GAP benchmark suite (Beamer, Asanovic, Patterson 2015); the build is a
//! two-pass radix partition.

use crate::scope::covers;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use rayon::prelude::*;
use std::ops::Range;

/// A static graph in memory. Each list is one sorted piece, borrowed.
#[derive(Clone, Debug)]
pub struct StaticCsr {
    vertices: VertexSet,
    edge_count: u64,
    out: Option<Side>,
    incoming: Option<Side>,
}

impl StaticCsr {
    /// The graph of `vertices` with the (source, target) pairs `edges`, keeping the sides that
    /// `direction` names, with one weight for each edge if there are `weights`. As in every
    /// projection, an edge with an end below the bound that isn't in `vertices` is left out.
    ///
    /// Cost: about three passes over the edges a side; 12 bytes an edge (24 with weights) on top of
    /// the result while a side is built. Runs on rayon's current pool.
    ///
    /// # Errors
    /// `invalid` if an end is at or above the bound of `vertices`, or weights are not one an edge;
    /// both name the place.
    pub fn new(
        vertices: VertexSet,
        edges: &[(u32, u32)],
        weights: Option<&[f64]>,
        direction: Direction,
    ) -> Result<Self> {
        let bound = vertices.bound();
        if let Some((at, edge)) =
            edges.par_iter().enumerate().find_first(|(_, edge)| edge.0 >= bound || edge.1 >= bound)
        {
            let (source, target) = edge;
            return Err(Error::invalid(format!(
                "edge {at} goes from {source} to {target}, but vertex ids end below {bound}"
            )));
        }
        if let Some(weights) = weights
            && weights.len() != edges.len()
        {
            let (weights, edges) = (weights.len(), edges.len());
            return Err(Error::invalid(format!("{weights} weights for {edges} edges: one each is needed")));
        }
        let side = |wanted| {
            covers(direction, wanted).then(|| match weights {
                Some(weights) => {
                    let (offsets, neighbors, weights) = lists(&vertices, edges, wanted, |at| weights[at]);
                    Side { offsets, neighbors, weights }
                }
                None => {
                    let (offsets, neighbors, _) = lists(&vertices, edges, wanted, |_| ());
                    Side { offsets, neighbors, weights: Vec::new() }
                }
            })
        };
        let (out, incoming) = (side(Direction::Out), side(Direction::In));
        let edge_count = out.as_ref().or(incoming.as_ref()).map_or(0, |side| side.neighbors.len() as u64);
        Ok(Self { vertices, edge_count, out, incoming })
    }

    /// Bytes of the lists and their offsets.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.out.iter().chain(&self.incoming).map(Side::size_bytes).sum()
    }

    fn side(&self, direction: Direction) -> Result<&Side> {
        let side = match direction {
            Direction::Out => self.out.as_ref(),
            Direction::In => self.incoming.as_ref(),
            Direction::Both => None,
        };
        side.ok_or_else(|| {
            let frozen = self.direction();
            Error::invalid(format!("direction {direction:?} was asked for, but only {frozen:?} was built"))
        })
    }

    /// The one or two sides that `direction` names, out before in.
    fn sides(&self, direction: Direction) -> Result<(&Side, Option<&Side>)> {
        match direction {
            Direction::Both => Ok((self.side(Direction::Out)?, Some(self.side(Direction::In)?))),
            side => Ok((self.side(side)?, None)),
        }
    }
}

impl Topology for StaticCsr {
    fn bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        match (&self.out, &self.incoming) {
            (Some(_), None) => Direction::Out,
            (None, _) => Direction::In,
            (Some(_), Some(_)) => Direction::Both,
        }
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        let (first, second) = self.sides(direction)?;
        degrees.fill(0);
        for side in [Some(first), second].into_iter().flatten() {
            side.offsets.add_degrees(range.clone(), degrees);
        }
        Ok(())
    }

    #[inline]
    fn visit<F>(&self, direction: Direction, range: Range<u32>, _: &mut PieceBuffer, visitor: F) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let sides = self.sides(direction)?;
        // Vertices out of scope have empty lists: walking over them costs less than asking.
        visit_lists(sides, range, visitor);
        Ok(())
    }

    #[inline]
    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        _: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        let sides = self.sides(direction)?;
        visit_lists(sides, vertices.iter().copied(), visitor);
        Ok(())
    }

    fn cuts(&self, parts: usize) -> Vec<u32> {
        let (bound, parts) = (self.bound(), parts.max(1));
        // Work below a vertex: the edges of all lists before it, and the vertices themselves.
        let work = |vertex: u32| {
            let sides = self.out.iter().chain(&self.incoming);
            sides.map(|side| side.offsets.get(vertex)).sum::<u64>() + u64::from(vertex)
        };
        let total = u128::from(work(bound));
        let first_at = |wanted: u64| {
            let (mut low, mut high) = (0, bound);
            while low < high {
                let middle = low + (high - low) / 2;
                if work(middle) < wanted { low = middle + 1 } else { high = middle }
            }
            low
        };
        (0..=parts as u128).map(|part| first_at((total * part / parts as u128) as u64)).collect()
    }
}

/// Calls `visitor` with one piece for each vertex and side; stops when it says so.
#[inline]
fn visit_lists<F>(sides: (&Side, Option<&Side>), vertices: impl Iterator<Item = u32>, mut visitor: F)
where
    F: FnMut(u32, Piece<'_>) -> Visit,
{
    match sides {
        // One side with narrow offsets is nearly every visit: it gets a loop of its own.
        (Side { offsets: Offsets::Narrow(offsets), neighbors, weights }, None) => {
            for vertex in vertices {
                let at = vertex as usize;
                let list = offsets[at] as usize..offsets[at + 1] as usize;
                if visitor(vertex, piece(neighbors, weights, list)) == Visit::Stop {
                    return;
                }
            }
        }
        (first, second) => {
            for vertex in vertices {
                for side in [Some(first), second].into_iter().flatten() {
                    let list = side.offsets.list(vertex);
                    match visitor(vertex, piece(&side.neighbors, &side.weights, list)) {
                        Visit::Continue => {}
                        Visit::NextVertex => break,
                        Visit::Stop => return,
                    }
                }
            }
        }
    }
}

#[inline]
fn piece<'a>(neighbors: &'a [u32], weights: &'a [f64], list: Range<usize>) -> Piece<'a> {
    let weights = if weights.is_empty() { weights } else { &weights[list.clone()] };
    Piece { neighbors: &neighbors[list], weights, sorted: true }
}

/// The lists of one direction.
#[derive(Clone, Debug)]
struct Side {
    offsets: Offsets,
    neighbors: Vec<u32>,
    /// As long as `neighbors`, or empty.
    weights: Vec<f64>,
}

impl Side {
    fn size_bytes(&self) -> u64 {
        let offsets = match &self.offsets {
            Offsets::Narrow(offsets) => size_of_val(&offsets[..]),
            Offsets::Wide(offsets) => size_of_val(&offsets[..]),
        };
        (offsets + size_of_val(&self.neighbors[..]) + size_of_val(&self.weights[..])) as u64
    }
}

/// Where each list begins; the entry behind the last vertex is where the last list ends.
#[derive(Clone, Debug)]
enum Offsets {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Offsets {
    /// Offsets as narrow as `ends`, the last of them, allows.
    fn new(offsets: Vec<u64>) -> Self {
        let end = offsets.last().copied().unwrap_or(0);
        if u32::try_from(end).is_ok() {
            Self::Narrow(offsets.into_iter().map(|offset| offset as u32).collect())
        } else {
            Self::Wide(offsets)
        }
    }

    #[inline]
    fn get(&self, vertex: u32) -> u64 {
        match self {
            Self::Narrow(offsets) => u64::from(offsets[vertex as usize]),
            Self::Wide(offsets) => offsets[vertex as usize],
        }
    }

    #[inline]
    fn list(&self, vertex: u32) -> Range<usize> {
        self.get(vertex) as usize..self.get(vertex + 1) as usize
    }

    fn add_degrees(&self, range: Range<u32>, degrees: &mut [u32]) {
        let offsets = range.start as usize..range.end as usize + 1;
        match self {
            Self::Narrow(all) => {
                for (degree, offset) in degrees.iter_mut().zip(all[offsets].windows(2)) {
                    *degree += offset[1] - offset[0];
                }
            }
            Self::Wide(all) => {
                for (degree, offset) in degrees.iter_mut().zip(all[offsets].windows(2)) {
                    *degree += (offset[1] - offset[0]) as u32;
                }
            }
        }
    }
}

/// Edges that one task moves: large against the counters of its buckets.
const CHUNK: usize = 256 * 1024;

/// Buckets at most: more of them and the scattered writes fall out of the first caches.
const BUCKETS_MAX: u32 = 512;

/// Vertices in a bucket at least: fewer and its bookkeeping outweighs its edges.
const BUCKET_VERTICES_MIN: u32 = 1024;

/// An edge on its way to the list of `vertex`.
#[derive(Clone, Copy, Default)]
struct Entry<W> {
    vertex: u32,
    neighbor: u32,
    weight: W,
}

/// A weight on an edge, or `()` where there is none: it then takes no memory and no time.
trait EdgeWeight: Copy + Default + Send + Sync {
    /// The order of parallel edges, so that the same edges give the same lists.
    fn order(&self, other: &Self) -> std::cmp::Ordering;
}

impl EdgeWeight for () {
    fn order(&self, (): &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl EdgeWeight for f64 {
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.total_cmp(other)
    }
}

/// Sorts `edges` into the lists of one `direction`.
fn lists<W: EdgeWeight>(
    vertices: &VertexSet,
    edges: &[(u32, u32)],
    direction: Direction,
    weight: impl Fn(usize) -> W + Sync,
) -> (Offsets, Vec<u32>, Vec<W>) {
    let bound = vertices.bound() as usize;
    let bucket_vertices = bound.div_ceil(BUCKETS_MAX as usize).max(BUCKET_VERTICES_MIN as usize);
    let shift = bucket_vertices.next_power_of_two().trailing_zeros();
    let buckets = (bound >> shift) + 1;
    let whole = vertices.is_full();
    // The edges of a chunk that stay, each as an entry of its list.
    let entries = |chunk: usize| {
        let start = chunk * CHUNK;
        let edges = &edges[start..edges.len().min(start + CHUNK)];
        edges.iter().zip(start..).filter_map(|(&(source, target), at)| {
            let (vertex, neighbor) =
                if direction == Direction::Out { (source, target) } else { (target, source) };
            let kept = whole || vertices.contains(vertex) && vertices.contains(neighbor);
            kept.then_some((vertex, neighbor, at))
        })
    };
    let chunks = edges.len().div_ceil(CHUNK);
    let counts: Vec<Vec<usize>> = (0..chunks)
        .into_par_iter()
        .map(|chunk| {
            let mut counts = vec![0; buckets];
            entries(chunk).for_each(|(vertex, ..)| counts[(vertex >> shift) as usize] += 1);
            counts
        })
        .collect();
    let bucket_sizes: Vec<usize> =
        (0..buckets).map(|bucket| counts.iter().map(|counts| counts[bucket]).sum()).collect();
    let kept = bucket_sizes.iter().sum();

    // Bucket after bucket, and within it chunk after chunk: each chunk writes to slices of its own.
    let mut scattered = vec![Entry::<W>::default(); kept];
    let mut rest = &mut scattered[..];
    let mut slices: Vec<Vec<_>> = (0..chunks).map(|_| Vec::with_capacity(buckets)).collect();
    for bucket in 0..buckets {
        for (slices, counts) in slices.iter_mut().zip(&counts) {
            let slice = rest.split_off_mut(..counts[bucket]).expect("counts sum to the entries");
            slices.push(slice.iter_mut());
        }
    }
    slices.into_par_iter().enumerate().for_each(|(chunk, mut slices)| {
        for (vertex, neighbor, at) in entries(chunk) {
            let place = slices[(vertex >> shift) as usize].next().expect("the counting pass saw this edge");
            *place = Entry { vertex, neighbor, weight: weight(at) };
        }
    });

    let mut offsets = vec![0; bound + 1];
    let mut neighbors = vec![0; kept];
    let mut weights = vec![W::default(); kept];
    let mut base = 0;
    let mut tasks = Vec::with_capacity(buckets);
    {
        let (mut entries, mut neighbors, mut weights) =
            (&scattered[..], &mut neighbors[..], &mut weights[..]);
        // An offset is the end of a list, so a bucket writes behind each of its vertices.
        let mut ends = &mut offsets[1..];
        for (bucket, size) in bucket_sizes.iter().enumerate() {
            let first = bucket << shift;
            let taken = (
                entries.split_off(..*size).expect("sizes sum to the entries"),
                neighbors.split_off_mut(..*size).expect("sizes sum to the entries"),
                weights.split_off_mut(..*size).expect("sizes sum to the entries"),
                ends.split_off_mut(..(1 << shift).min(bound - first)).expect("buckets end at the bound"),
            );
            tasks.push((first as u32, base, taken));
            base += *size as u64;
        }
    }
    tasks.into_par_iter().for_each(|(first, base, (entries, neighbors, weights, ends))| {
        place_bucket(first, base, entries, neighbors, weights, ends);
    });
    (Offsets::new(offsets), neighbors, weights)
}

/// Sorts the entries of one bucket, whose first vertex is `first`, into lists; `ends` gets the end
/// of each list, counted from the first bucket, which has `base` entries before this one.
fn place_bucket<W: EdgeWeight>(
    first: u32,
    base: u64,
    entries: &[Entry<W>],
    neighbors: &mut [u32],
    weights: &mut [W],
    ends: &mut [u64],
) {
    for entry in entries {
        ends[(entry.vertex - first) as usize] += 1;
    }
    let mut start = 0;
    for end in ends.iter_mut() {
        start += std::mem::replace(end, start);
    }
    // `ends` holds starts now; each placed entry moves one up, so that they become ends.
    for entry in entries {
        let next = &mut ends[(entry.vertex - first) as usize];
        neighbors[*next as usize] = entry.neighbor;
        weights[*next as usize] = entry.weight;
        *next += 1;
    }
    let mut start = 0;
    let mut pairs: Vec<(u32, W)> = Vec::new();
    for end in ends.iter_mut() {
        let list = start..*end as usize;
        start = list.end;
        *end += base;
        if size_of::<W>() == 0 {
            neighbors[list].sort_unstable();
        } else if !neighbors[list.clone()].is_sorted_by(|left, right| left < right) {
            pairs.clear();
            pairs.extend(neighbors[list.clone()].iter().copied().zip(weights[list.clone()].iter().copied()));
            pairs.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| left.1.order(&right.1)));
            for (at, (neighbor, weight)) in list.zip(&pairs) {
                neighbors[at] = *neighbor;
                weights[at] = *weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Lists = Vec<Vec<(u32, Option<u64>)>>;

    fn read(csr: &StaticCsr, direction: Direction) -> Lists {
        let mut lists = vec![Vec::new(); csr.bound() as usize];
        csr.visit(direction, 0..csr.bound(), &mut PieceBuffer::default(), |vertex, piece| {
            assert!(piece.sorted && piece.neighbors.is_sorted());
            let weights = piece.weights.iter().map(|weight| Some(weight.to_bits()));
            let weights = weights.chain(std::iter::repeat(None));
            lists[vertex as usize].extend(piece.neighbors.iter().copied().zip(weights));
            Visit::Continue
        })
        .unwrap();
        lists
    }

    proptest! {
        #[test]
        fn lists_are_those_of_a_stable_sort_of_the_edges(
            edges in proptest::collection::vec((0u32..3000, 0u32..3000, 0u8..4), 0..400),
            holes in proptest::collection::vec(0u32..3000, 0..20),
            weighted: bool,
        ) {
            let mut vertices = VertexSet::empty(3000);
            (0..3000).filter(|id| !holes.contains(id)).for_each(|id| { vertices.insert(id); });
            let pairs: Vec<_> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
            let weights: Vec<_> = edges.iter().map(|edge| f64::from(edge.2)).collect();
            let csr =
                StaticCsr::new(vertices.clone(), &pairs, weighted.then_some(&weights[..]), Direction::Both).unwrap();
            let mut kept = 0;
            let (mut out, mut incoming) = (vec![Vec::new(); 3000], vec![Vec::new(); 3000]);
            for (source, target, weight) in edges {
                if vertices.contains(source) && vertices.contains(target) {
                    kept += 1;
                    let weight = weighted.then(|| f64::from(weight).to_bits());
                    out[source as usize].push((target, weight));
                    incoming[target as usize].push((source, weight));
                }
            }
            out.iter_mut().chain(&mut incoming).for_each(|list: &mut Vec<_>| list.sort_unstable());
            prop_assert_eq!(csr.edge_count(), kept);
            let mut degrees = vec![0; 2500];
            csr.degrees(Direction::Both, 500..3000, &mut degrees).unwrap();
            for (vertex, degree) in (500..).zip(degrees) {
                prop_assert_eq!(degree as usize, out[vertex].len() + incoming[vertex].len());
            }
            prop_assert_eq!(read(&csr, Direction::Out), out);
            prop_assert_eq!(read(&csr, Direction::In), incoming);
        }
    }

    #[test]
    fn more_edges_than_a_chunk_keep_every_edge() {
        let bound = 5000;
        let edges: Vec<_> = (0..700_001_u32).map(|at| (at.wrapping_mul(48271) % bound, at % bound)).collect();
        let csr = StaticCsr::new(VertexSet::full(bound), &edges, None, Direction::Both).unwrap();
        let mut want = edges.clone();
        want.sort_unstable();
        let mut found = Vec::new();
        for (vertex, list) in (0..).zip(read(&csr, Direction::Out)) {
            found.extend(list.into_iter().map(|(neighbor, _)| (vertex, neighbor)));
        }
        assert!(found == want);
        assert_eq!(csr.size_bytes(), 2 * 4 * (700_001 + 5001));
    }

    #[test]
    fn both_visits_out_before_in_and_next_vertex_leaves_the_rest_of_a_vertex() {
        let edges = [(0, 1), (1, 0), (2, 0)];
        let csr = StaticCsr::new(VertexSet::full(3), &edges, None, Direction::Both).unwrap();
        let visits = |answer: Visit| {
            let mut seen = Vec::new();
            let visitor = |vertex, piece: Piece<'_>| {
                seen.push((vertex, piece.neighbors.to_vec()));
                answer
            };
            csr.visit(Direction::Both, 0..2, &mut PieceBuffer::default(), visitor).unwrap();
            seen
        };
        assert_eq!(visits(Visit::Continue), [(0, vec![1]), (0, vec![1, 2]), (1, vec![0]), (1, vec![0])]);
        assert_eq!(visits(Visit::NextVertex), [(0, vec![1]), (1, vec![0])]);
        assert_eq!(visits(Visit::Stop), [(0, vec![1])]);
    }

    #[test]
    fn wide_offsets_read_as_narrow_ones_do() {
        let wide = Offsets::new(vec![0, 1, u64::from(u32::MAX) + 1]);
        assert!(matches!(wide, Offsets::Wide(_)));
        assert_eq!(wide.list(1), 1..u32::MAX as usize + 1);
        let narrow = Offsets::new(vec![0, 1, u64::from(u32::MAX)]);
        assert!(matches!(narrow, Offsets::Narrow(_)));
        let (mut one, mut other) = ([0; 2], [0; 2]);
        wide.add_degrees(0..2, &mut one);
        narrow.add_degrees(0..2, &mut other);
        assert_eq!((one, other), ([1, u32::MAX], [1, u32::MAX - 1]));
    }

    #[test]
    fn a_hub_gets_a_part_of_its_own() {
        let edges: Vec<_> = (0..1000).map(|leaf| (500, leaf)).collect();
        let csr = StaticCsr::new(VertexSet::full(1000), &edges, None, Direction::Out).unwrap();
        let cuts = csr.cuts(4);
        assert_eq!((cuts[0], cuts[4], cuts.len()), (0, 1000, 5));
        assert!(cuts.is_sorted() && cuts[1..4].iter().all(|cut| (499..=501).contains(cut)), "{cuts:?}");
    }

    #[test]
    fn bad_input_names_the_place() {
        let build = |edges: &[_], weights| {
            StaticCsr::new(VertexSet::full(3), edges, weights, Direction::Out).unwrap_err().to_string()
        };
        assert_eq!(build(&[(0, 1), (2, 3)], None), "edge 1 goes from 2 to 3, but vertex ids end below 3");
        assert_eq!(build(&[(0, 1)], Some(&[])), "0 weights for 1 edges: one each is needed");
    }

    #[test]
    fn a_side_that_was_not_built_cannot_be_visited() {
        let csr = StaticCsr::new(VertexSet::full(1), &[], None, Direction::Out).unwrap();
        for direction in [Direction::In, Direction::Both] {
            let visited =
                csr.visit(direction, 0..1, &mut PieceBuffer::default(), |_, _| Visit::Continue).unwrap_err();
            assert!(visited.to_string().contains("only Out was built"));
            assert!(csr.degrees(direction, 0..1, &mut [0]).is_err());
        }
    }
}
