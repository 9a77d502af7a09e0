//! Shortest paths from one source by the sum of weights, in parallel. Delta-stepping.
//!
//! ```text
//! bin k     vertices whose distance is in [k * delta, (k + 1) * delta)
//!
//!   take the lowest bin that isn't empty -> its frontier, in id order
//!   relax all edges of the frontier      -> whoever came nearer goes to the bin of the new distance
//! ```
//!
//! A bin is taken again and again until it stays empty. A small delta does little in vain but has
//! little to do at once; a large one is the reverse. An entry whose vertex has since come into a
//! lower bin is stale and dropped.
//!
//! Distances don't depend on the order of the work: each is the least of the rounded sums along its
//! paths, added from the source on. Weights must not be negative; of parallel edges the lightest
//! counts; an infinite weight is no way. Zero is allowed.
//!
//! Cost: each reachable edge about once or twice. Memory: 24 bytes a vertex; more is reserved if
//! vertices came nearer so often that the bins hold more than two entries a vertex.
//!
//! Source: Meyer, Sanders: Delta-stepping (J. Algorithms 2003), as in the GAP benchmark suite: no
//! light and heavy edges, bins of threads merged after each step. Differs: frontiers in id order,
//! without duplicates; a window of bins and piles behind it, so that no weight makes bins many.

use crate::bins::Bins;
use crate::control::Control;
use crate::frontier::Ordering;
use crate::parts::share_out;
use crate::range::RealRange;
use crate::scope::{Scope, source_in};
use crate::writers::Writers;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit, Weight};
use evergraph_graph::view::Freeze;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What may be chosen about shortest paths.
#[derive(Clone, PartialEq, Debug)]
pub struct SsspParameters {
    /// Along which edges paths go: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
    /// The width of a bin, in units of weight: finite and above zero. `None` derives it from a
    /// sample of the weights and the average degree. The answer doesn't depend on it.
    pub delta: Option<f64>,
}

impl Default for SsspParameters {
    /// From source to target, delta derived.
    fn default() -> Self {
        Self { direction: Direction::Out, delta: None }
    }
}

impl SsspParameters {
    fn check(&self) -> Result<()> {
        self.delta.map_or(Ok(()), |delta| RealRange::FiniteAboveZero.check("delta", delta))
    }
}

/// The distance of each vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct Sssp {
    /// The least sum of weights from the source to each vertex id below the topology's bound;
    /// infinite where there is no path, or out of scope.
    pub distances: Vec<f64>,
    /// The width of bins that was used.
    pub delta: f64,
}

impl Sssp {
    /// The least sum of weights on a path to `vertex`; `None` if there is no path, or `vertex` isn't
    /// in scope.
    #[must_use]
    pub fn distance(&self, vertex: VertexId) -> Option<f64> {
        self.distances.get(vertex.0 as usize).copied().filter(|distance| distance.is_finite())
    }
}

/// Shortest paths by `weight` in the part of `view` in `scope`: freezes the sides that the direction
/// names. Memory comes from the budget of `view`.
///
/// # Errors
/// Those of [`sssp`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    weight: &Weight,
    source: VertexId,
    parameters: &SsspParameters,
    control: &Control<'_>,
) -> Result<Sssp> {
    parameters.check()?;
    let topology = scope.freeze(view, parameters.direction, Some(weight.clone()), control)?;
    sssp(&topology, source, parameters, &control.on_budget(view.budget()))
}

/// Shortest paths from `source` in `topology`, which must have weights.
///
/// # Errors
/// `not_found` if `source` isn't in scope; `invalid` for a parameter out of range, for an edge that
/// a path reaches whose weight is negative or not a number (the text names its ends), without
/// weights, or for a side that wasn't frozen; `limit` if the state doesn't fit into the budget;
/// `cancelled`; errors of reading.
pub fn sssp<T: Topology>(
    topology: &T,
    source: VertexId,
    parameters: &SsspParameters,
    control: &Control<'_>,
) -> Result<Sssp> {
    parameters.check()?;
    control.check()?;
    let source = source_in(topology, source)?;
    let state = control.reserve("sssp distances and bins", topology.bound(), STATE_BYTES)?;
    let delta = match parameters.delta {
        Some(delta) => delta,
        None => derive_delta(topology, parameters.direction)?,
    };
    let distances = (0..topology.bound())
        .map(|vertex| {
            AtomicU64::new(if topology.vertices().contains(vertex) { UNREACHED } else { OUT_OF_SCOPE })
        })
        .collect();
    let (direction, bins_of_threads) = (parameters.direction, Mutex::default());
    let search =
        Search { topology, direction, control, delta, per_delta: delta.recip(), distances, bins_of_threads };
    search.run(source, state)
}

const PHASE: &str = "sssp";

const NO_PANIC: &str = "bins are taken and given back without a panic";

/// Bytes reserved for each vertex: a distance, two entries in bins, and two for the frontier and the
/// bins of the threads.
const STATE_BYTES: usize = size_of::<f64>() + (ENTRIES + 2) * size_of::<u32>();

/// Entries in bins for each vertex that are reserved at once.
const ENTRIES: usize = 2;

/// Distances are kept as bits: those of numbers that are not negative order as the numbers do.
const UNREACHED: u64 = f64::INFINITY.to_bits();

/// While a search runs, in place of a distance that must not be set: no distance is below it.
const OUT_OF_SCOPE: u64 = 0;

/// Vertices of a frontier that one task visits.
const FRONTIER_CHUNK: usize = 128;

/// A frontier up to this is visited by the thread that has it: waking others would take longer.
const SERIAL_MAX: usize = 512;

struct Search<'a, T> {
    topology: &'a T,
    direction: Direction,
    control: &'a Control<'a>,
    delta: f64,
    per_delta: f64,
    /// Only ever decrease. Relaxed: a distance publishes nothing but itself; rayon orders the steps.
    distances: Vec<AtomicU64>,
    /// Empty between rounds, but for the memory of bins.
    bins_of_threads: Mutex<Vec<Bins>>,
}

impl<T: Topology> Search<'_, T> {
    fn run(self, source: u32, state: Reservation) -> Result<Sssp> {
        let (bound, count) = (self.topology.bound(), self.topology.vertices().len());
        self.control.report(PHASE, 0.0);
        self.distances[source as usize].store(0.0_f64.to_bits(), Relaxed);
        let mut ordering = Ordering::new(bound);
        let mut bins = Bins::default();
        bins.push(0, source);
        let (mut frontier, mut buffer, mut reserved) = (Vec::new(), PieceBuffer::default(), vec![state]);
        let mut visited = 0;
        while let Some(bin) = bins.take_lowest(&mut frontier, |vertex| self.bin_of_vertex(vertex)) {
            self.control.check()?;
            while bins.entries > reserved.len() * ENTRIES * bound as usize {
                reserved.push(self.control.reserve("sssp bins", bound, ENTRIES * size_of::<u32>())?);
            }
            frontier.retain(|vertex| self.bin_of_vertex(*vertex) == bin);
            ordering.order(&mut frontier);
            if frontier.len() <= SERIAL_MAX || Writers::of_pool() == Writers::One {
                for chunk in frontier.chunks(SERIAL_MAX) {
                    self.control.check()?;
                    self.relax(Writers::One, chunk, &mut buffer, &mut bins)?;
                }
            } else {
                self.relax_in_parallel(bin, &frontier, &mut bins)?;
            }
            visited += frontier.len();
            self.control.report(PHASE, (visited as f64 / count as f64).min(0.999));
        }
        self.control.report(PHASE, 1.0);
        let scope = self.topology.vertices();
        let distance_of = |(vertex, bits): (u32, AtomicU64)| {
            if scope.contains(vertex) { f64::from_bits(bits.into_inner()) } else { f64::INFINITY }
        };
        let distances = (0..).zip(self.distances).map(distance_of).collect();
        Ok(Sssp { distances, delta: self.delta })
    }

    /// Relaxes the edges of `frontier`, the vertices of `bin`. A thread goes on with those that it finds for the same bin,
    /// while they are few: so much of a round is left undone otherwise that waiting for each other takes the most time.
    fn relax_in_parallel(&self, bin: u64, frontier: &[u32], bins: &mut Bins) -> Result<()> {
        let chunks = frontier.chunks(FRONTIER_CHUNK);
        share_out(self.control, chunks, |chunk, buffer| {
            let mut found = self.take_bins();
            found.start_at(bin);
            self.relax(Writers::Many, chunk, buffer, &mut found)?;
            let mut more = Vec::new();
            while found.take_few(SERIAL_MAX, &mut more) {
                self.control.check()?;
                more.retain(|vertex| self.bin_of_vertex(*vertex) == bin);
                more.sort_unstable();
                more.dedup();
                self.relax(Writers::Many, &more, buffer, &mut found)?;
            }
            self.bins_of_threads.lock().expect(NO_PANIC).push(found);
            Ok(())
        })?;
        self.bins_of_threads.lock().expect(NO_PANIC).iter_mut().for_each(|found| bins.append(found));
        Ok(())
    }

    fn take_bins(&self) -> Bins {
        self.bins_of_threads.lock().expect(NO_PANIC).pop().unwrap_or_default()
    }

    /// Relaxes the edges of `frontier`, ascending; whoever came nearer goes to `bins`.
    fn relax(
        &self,
        writers: Writers,
        frontier: &[u32],
        buffer: &mut PieceBuffer,
        bins: &mut Bins,
    ) -> Result<()> {
        let mut wrong = None;
        self.topology.visit_each(self.direction, frontier, buffer, |vertex, piece| {
            if piece.weights.len() != piece.neighbors.len() {
                wrong =
                    Some(Error::invalid("shortest paths need weights, but the topology was frozen without"));
                return Visit::Stop;
            }
            let distance = f64::from_bits(self.distances[vertex as usize].load(Relaxed));
            for (neighbor, weight) in piece.neighbors.iter().zip(piece.weights) {
                let usable = *weight >= 0.0;
                if !usable {
                    wrong = Some(self.bad_weight(vertex, *neighbor, *weight));
                    return Visit::Stop;
                }
                self.improve(writers, *neighbor, distance + weight, bins);
            }
            Visit::Continue
        })?;
        wrong.map_or(Ok(()), Err)
    }

    /// Sets the distance of `vertex` to `distance` if that is less, and puts it into its bin.
    #[inline]
    fn improve(&self, writers: Writers, vertex: u32, distance: f64, bins: &mut Bins) {
        let slot = &self.distances[vertex as usize];
        let mut known = slot.load(Relaxed);
        while distance.to_bits() < known {
            match writers.replace_long(slot, known, distance.to_bits()) {
                Ok(()) => return bins.push(self.bin_of(distance), vertex),
                Err(now) => known = now,
            }
        }
    }

    /// The bin of a distance. Never decreases as distances grow: products round, but in order.
    #[inline]
    fn bin_of(&self, distance: f64) -> u64 {
        (distance * self.per_delta) as u64
    }

    #[inline]
    fn bin_of_vertex(&self, vertex: u32) -> u64 {
        self.bin_of(f64::from_bits(self.distances[vertex as usize].load(Relaxed)))
    }

    #[cold]
    fn bad_weight(&self, vertex: u32, neighbor: u32, weight: f64) -> Error {
        let (vertex, neighbor) = (VertexId(vertex), VertexId(neighbor));
        let edge = match self.direction {
            Direction::Out => format!("an edge from {vertex} to {neighbor}"),
            Direction::In => format!("an edge from {neighbor} to {vertex}"),
            Direction::Both => format!("an edge between {vertex} and {neighbor}"),
        };
        Error::invalid(format!("{edge} has weight {weight}, but weights must not be negative or NaN"))
    }
}

/// Vertices and edges that are looked at to derive delta.
const SAMPLED_VERTICES: u64 = 512;
const SAMPLED_EDGES: usize = 64 * 1024;

/// A width of bins that fits the graph: the average weight over the average degree, as the paper
/// has it for random weights, times [`DELTA_FACTOR`].
fn derive_delta<T: Topology>(topology: &T, direction: Direction) -> Result<f64> {
    let vertices = topology.vertices();
    let bound = u64::from(topology.bound());
    let step = (bound / SAMPLED_VERTICES).max(1) as usize;
    let sample: Vec<u32> =
        (0..topology.bound()).step_by(step).filter(|vertex| vertices.contains(*vertex)).collect();
    // Asked before the sample is read.
    let reads_from_disk = topology.reads_from_disk();
    let (mut sum, mut count) = (0.0, 0);
    topology.visit_each(direction, &sample, &mut PieceBuffer::default(), |_, piece| {
        for weight in piece.weights.iter().filter(|weight| weight.is_finite() && **weight >= 0.0) {
            sum += weight;
            count += 1;
        }
        if count < SAMPLED_EDGES { Visit::Continue } else { Visit::Stop }
    })?;
    let edges = topology.edge_count() * direction.sides().len() as u64;
    let degree = (edges as f64 / vertices.len() as f64).max(1.0);
    let factor = if reads_from_disk { DISK_DELTA_FACTOR } else { DELTA_FACTOR };
    let delta = factor * sum / count as f64 / degree;
    // No weights, all zero, or a sum past the largest number: any width will do.
    Ok(if delta.is_normal() { delta } else { 1.0 })
}

/// Wider bins than the paper's give threads more to do at once. On two skewed graphs 1.5 to 7 were
/// within 20 % of the best.
const DELTA_FACTOR: f64 = 2.0;

/// Where each round reads pages again, half of the rounds are worth three times the edges: on a skewed graph of 24 million edges
/// the pages that rounds touch come to 5.2 GB with a factor of 2, 3.9 GB with 16, 3.6 GB in as few rounds as there can be.
const DISK_DELTA_FACTOR: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::StaticCsr;
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::KeyId;
    use proptest::prelude::*;

    const NONE: f64 = f64::INFINITY;

    /// The definition: relax every edge until nothing changes (Bellman-Ford).
    fn distances_by_rounds(graph: &Graph, source: u32, direction: Direction) -> Vec<f64> {
        let mut distances = vec![NONE; graph.vertices.bound() as usize];
        distances[source as usize] = 0.0;
        let arcs = graph.arcs(direction);
        let mut changed = true;
        while changed {
            changed = false;
            for (source, target, weight) in &arcs {
                let distance = distances[*source as usize] + weight;
                if distance < distances[*target as usize] {
                    distances[*target as usize] = distance;
                    changed = true;
                }
            }
        }
        distances
    }

    /// The distances on every topology, with bins of very different width.
    fn distances(graph: &Graph, source: u32, direction: Direction) -> Vec<f64> {
        let control = Control::default();
        let (csr, pieced) = (graph.csr(direction), graph.pieced(direction));
        let run = |delta| {
            let parameters = SsspParameters { direction, delta };
            let plain = sssp(&csr, VertexId(source), &parameters, &control).unwrap();
            assert_eq!(
                sssp(&pieced, VertexId(source), &parameters, &control).unwrap().distances,
                plain.distances
            );
            assert!(delta.is_none_or(|delta| delta == plain.delta));
            plain.distances
        };
        let first = run(None);
        for delta in [1e-300, 1e-3, 0.2, 7.0, 1e300] {
            assert_eq!(run(Some(delta)), first, "delta {delta}");
        }
        first
    }

    proptest! {
        #[test]
        fn distances_are_those_of_bellman_ford(
            graph in any_graph(), direction in any_direction(), pick: prop::sample::Index,
        ) {
            prop_assume!(!graph.vertices.is_empty());
            let source = graph.vertices.iter().nth(pick.index(graph.vertices.len() as usize)).unwrap();
            let found = distances(&graph, source, direction);
            prop_assert_eq!(found, distances_by_rounds(&graph, source, direction));
        }
    }

    #[test]
    fn a_large_graph_has_the_distances_of_bellman_ford() {
        let graph = large_graph();
        let want = distances_by_rounds(&graph, 0, Direction::Out);
        let found =
            sssp(&graph.csr(Direction::Out), VertexId(0), &SsspParameters::default(), &Control::default());
        assert!(found.unwrap().distances == want);
        let pieced = graph.pieced(Direction::Out);
        let found = sssp(&pieced, VertexId(0), &SsspParameters::default(), &Control::default());
        assert!(found.unwrap().distances == want);
    }

    #[test]
    fn distances_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Out);
        for delta in [None, Some(1e4)] {
            let parameters = SsspParameters { delta, ..Default::default() };
            same_for_any_threads(|| sssp(&csr, VertexId(0), &parameters, &Control::default()).unwrap());
        }
    }

    #[test]
    fn the_lightest_of_parallel_edges_counts_and_an_infinite_weight_is_no_way() {
        let mut graph =
            Graph::new(6, &[(0, 1), (0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (0, 0)]).without(&[4]);
        graph.weights = vec![5.0, 2.0, 9.0, 0.0, f64::INFINITY, 1.0, 0.0];
        assert_eq!(distances(&graph, 0, Direction::Out), [0.0, 2.0, 2.0, NONE, NONE, NONE]);
        let csr = graph.csr(Direction::Out);
        let found = sssp(&csr, VertexId(0), &SsspParameters::default(), &Control::default()).unwrap();
        assert_eq!((found.distance(VertexId(2)), found.distance(VertexId(3))), (Some(2.0), None));
        assert_eq!(found.distance(VertexId(77)), None);
    }

    #[test]
    fn weights_of_every_size_make_no_more_bins_than_vertices() {
        let bound = 3000;
        let edges: Vec<_> = (1..bound).map(|leaf| (0, leaf)).collect();
        let mut graph = Graph::new(bound, &edges);
        graph.weights = (1..bound).map(|leaf| f64::from(leaf % 600).exp2()).collect();
        let want: Vec<f64> = std::iter::once(0.0).chain(graph.weights.iter().copied()).collect();
        for delta in [None, Some(f64::MIN_POSITIVE), Some(1.0), Some(f64::MAX)] {
            let parameters = SsspParameters { delta, ..Default::default() };
            let found =
                sssp(&graph.csr(Direction::Out), VertexId(0), &parameters, &Control::default()).unwrap();
            assert!(found.distances == want);
        }
    }

    #[test]
    fn a_bad_weight_names_its_edge_in_the_edges_own_direction() {
        for (weight, direction, want) in [
            (-1.5, Direction::Out, "an edge from v1 to v2 has weight -1.5"),
            (f64::NAN, Direction::In, "an edge from v1 to v2 has weight NaN"),
            (-1.5, Direction::Both, "an edge between v1 and v2 has weight -1.5"),
        ] {
            let graph = Graph { weights: vec![1.0, weight], ..Graph::new(3, &[(0, 1), (1, 2)]) };
            let source = VertexId(if direction == Direction::In { 2 } else { 0 });
            let parameters = SsspParameters { direction, delta: None };
            for result in [
                sssp(&graph.csr(direction), source, &parameters, &Control::default()),
                sssp(&graph.pieced(direction), source, &parameters, &Control::default()),
            ] {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid);
                assert!(error.to_string().starts_with(want), "{error}");
            }
        }
    }

    #[test]
    fn bad_parameters_missing_weights_and_missing_sources_are_refused() {
        let graph = Graph::new(2, &[(0, 1)]);
        let csr = graph.csr(Direction::Out);
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY].map(Some) {
            let parameters = SsspParameters { delta, ..Default::default() };
            let error = sssp(&csr, VertexId(0), &parameters, &Control::default()).unwrap_err();
            assert!(error.to_string().ends_with("but must be finite and above 0"), "{error}");
        }
        let bare = StaticCsr::new(graph.vertices.clone(), &graph.edges, None, Direction::Out).unwrap();
        let error = sssp(&bare, VertexId(0), &SsspParameters::default(), &Control::default()).unwrap_err();
        assert!(error.to_string().starts_with("shortest paths need weights"), "{error}");
        let error = sssp(&csr, VertexId(2), &SsspParameters::default(), &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Out);
        assert_stops(|control| sssp(&csr, VertexId(0), &SsspParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_along_the_paths_with_weights_and_its_budget_is_asked() {
        let (graph, scope, parameters) =
            (Graph::new(2, &[(0, 1)]), Scope::default(), SsspParameters::default());
        let weight = Weight { key: KeyId(3), missing: Some(1.0) };
        let view = FrozenOnly::new(graph.clone(), 2 * 24);
        let found = run(&view, &scope, &weight, VertexId(0), &parameters, &Control::default()).unwrap();
        assert_eq!(found.distances, [0.0, 1.0]);
        assert_eq!(view.asked(), scope.projection(Direction::Out, Some(weight.clone()), None));
        let poor = FrozenOnly::new(graph, 2 * 24 - 1);
        let error = run(&poor, &scope, &weight, VertexId(0), &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
