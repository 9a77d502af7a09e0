//! Flow rings: cycles along which about the same amount is passed on within a short time.
//!
//! ```text
//! a ──100.00, 9:00──> b ──98.50, 9:40──> c ──97.10, 11:05──> a       kept 0.985, 0.986
//! ```
//!
//! Definition. Edges carry an amount and a time. A ring of length L is a cycle of L different
//! vertices, L from `length_min` to `length_max`, whose edges in order, from its earliest one on, are
//! each later than the one before by at most `pause_max`, and keep at least `kept_min` and at most 1
//! of its amount.
//!
//! Approach: the edges after `since`, copied once into lists sorted by time; from every edge a
//! depth-first search whose next edges are a binary search for the time window. Money that is passed
//! on at once and nearly whole is rare, so that the search ends after a step or two.
//!
//! Cost: one pass over both topologies, 20 bytes an edge after `since`; the search is linear in those
//! edges while few leave an account within `pause_max`.
//!
//! Source: temporal cycles as in 2SCENT (Kumar, Calders, VLDB 2018), with the amounts of a layering
//! scheme as the bound that keeps the search small.

use crate::control::Control;
use crate::parts::Parts;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Topology, Visit};
use rayon::prelude::*;

/// What counts as a ring.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowRingParameters {
    /// The fewest edges: at least 2.
    pub length_min: usize,
    /// The most edges: at most 16.
    pub length_max: usize,
    /// The longest time from one edge to the next, in the unit of the times.
    pub pause_max: f64,
    /// The least share of an amount that is passed on: above 0, at most 1.
    pub kept_min: f64,
    /// Only edges at or after this time.
    pub since: f64,
}

impl Default for FlowRingParameters {
    /// 3 to 6 edges, at most 3 hours apart in milliseconds, 96 % passed on, all edges.
    fn default() -> Self {
        let hours = 3.0 * 3_600_000.0;
        Self { length_min: 3, length_max: 6, pause_max: hours, kept_min: 0.96, since: f64::NEG_INFINITY }
    }
}

impl FlowRingParameters {
    fn check(&self) -> Result<()> {
        let Self { length_min, length_max, .. } = *self;
        if length_min < 2 || length_max < length_min || length_max > 16 {
            let text = format!("lengths are {length_min} to {length_max}, but must be 2 to at most 16");
            return Err(Error::invalid(text));
        }
        if !(self.kept_min > 0.0 && self.kept_min <= 1.0) {
            let text = format!("kept_min is {}, but must be above 0, at most 1", self.kept_min);
            return Err(Error::invalid(text));
        }
        if self.pause_max.is_nan() || self.pause_max < 0.0 {
            return Err(Error::invalid(format!("pause_max is {}, but must not be negative", self.pause_max)));
        }
        Ok(())
    }
}

/// A ring.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowRing {
    /// The vertices in the order of the flow, from the source of the earliest edge.
    pub vertices: Vec<u32>,
    /// The amount of each edge: the first leaves `vertices[0]`.
    pub amounts: Vec<f64>,
    /// The time of each edge.
    pub times: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Flow {
    target: u32,
    amount: f64,
    time: f64,
}

/// Flows by source: each list ascends by time.
struct Flows {
    ends: Vec<u32>,
    flows: Vec<Flow>,
}

impl Flows {
    fn from(&self, vertex: u32) -> &[Flow] {
        let start = vertex.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.flows[start as usize..self.ends[vertex as usize] as usize]
    }
}

/// All rings, by the time of their first edge.
///
/// `amounts` and `times` are the out side of one projection of one snapshot, with the amount and the
/// time of each edge as its weight: their lists name the same edges in the same order.
///
/// # Errors
/// `invalid` for a parameter out of range, or topologies that differ; `limit` if the flows don't fit
/// into the budget; `cancelled`; errors of reading.
pub fn flow_rings<T: Topology>(
    amounts: &T,
    times: &T,
    parameters: &FlowRingParameters,
    control: &Control<'_>,
) -> Result<Vec<FlowRing>> {
    parameters.check()?;
    let flows = collect(amounts, times, parameters.since, control)?;
    let parts: Vec<_> = Parts::of(amounts).ranges().collect();
    control.report("flow rings", 0.0);
    let found: Vec<Vec<FlowRing>> = parts
        .into_par_iter()
        .map(|vertices| {
            let mut rings = Vec::new();
            let mut path = Path::default();
            for start in vertices {
                control.check()?;
                for first in flows.from(start) {
                    path.begin(start, *first);
                    search(&flows, parameters, &mut path, &mut rings);
                }
            }
            Ok(rings)
        })
        .collect::<Result<_>>()?;
    let mut rings: Vec<FlowRing> = found.into_iter().flatten().collect();
    rings.sort_by(|a, b| a.times[0].total_cmp(&b.times[0]).then_with(|| a.vertices.cmp(&b.vertices)));
    control.report("flow rings", 1.0);
    Ok(rings)
}

/// The flows after `since`, in lists by source.
fn collect<T: Topology>(amounts: &T, times: &T, since: f64, control: &Control<'_>) -> Result<Flows> {
    let bound = amounts.bound();
    if times.bound() != bound || times.edge_count() != amounts.edge_count() {
        return Err(Error::invalid("amounts and times are of different snapshots or projections"));
    }
    let _lists = control.reserve("ends of the flows' lists", bound, size_of::<u32>())?;
    let edges = u32::try_from(amounts.edge_count())
        .map_err(|_| Error::invalid("flow rings take at most 2^32 - 1 edges"))?;
    let _flows = control.reserve("flows", edges, size_of::<Flow>())?;
    let mut flows: Vec<Flow> = Vec::with_capacity(edges as usize);
    let mut ends = vec![0u32; bound as usize];
    let mut buffers = Default::default();
    // Twice in the same order: the second pass fills in what the first left open.
    amounts.visit(Direction::Out, 0..bound, &mut buffers, |source, piece| {
        for (target, amount) in piece.neighbors.iter().zip(piece.weights) {
            flows.push(Flow { target: *target, amount: *amount, time: f64::NAN });
        }
        ends[source as usize] = flows.len() as u32;
        Visit::Continue
    })?;
    control.check()?;
    let mut at = 0;
    times.visit(Direction::Out, 0..bound, &mut buffers, |_, piece| {
        for time in piece.weights {
            flows[at].time = *time;
            at += 1;
        }
        Visit::Continue
    })?;
    let mut kept = 0;
    let mut start = 0;
    for end in &mut ends {
        let to = (*end).max(start);
        let from = kept;
        for at in start..to {
            if flows[at as usize].time >= since {
                flows[kept] = flows[at as usize];
                kept += 1;
            }
        }
        flows[from..kept].sort_by(|a, b| a.time.total_cmp(&b.time));
        start = to;
        *end = kept as u32;
    }
    flows.truncate(kept);
    Ok(Flows { ends, flows })
}

/// The flows from the first on, and where each began.
#[derive(Default)]
struct Path {
    sources: Vec<u32>,
    flows: Vec<Flow>,
}

impl Path {
    fn begin(&mut self, source: u32, flow: Flow) {
        self.sources.clear();
        self.flows.clear();
        self.sources.push(source);
        self.flows.push(flow);
    }
}

fn search(flows: &Flows, parameters: &FlowRingParameters, path: &mut Path, rings: &mut Vec<FlowRing>) {
    let last = *path.flows.last().expect("a path begins with a flow");
    if last.target == path.sources[0] {
        if path.flows.len() >= parameters.length_min {
            rings.push(FlowRing {
                vertices: path.sources.clone(),
                amounts: path.flows.iter().map(|flow| flow.amount).collect(),
                times: path.flows.iter().map(|flow| flow.time).collect(),
            });
        }
        return;
    }
    if path.flows.len() == parameters.length_max || path.sources.contains(&last.target) {
        return;
    }
    let list = flows.from(last.target);
    let later = list.partition_point(|flow| flow.time <= last.time);
    let in_time = list[later..].iter().take_while(|flow| flow.time <= last.time + parameters.pause_max);
    for next in in_time {
        if next.amount <= last.amount && next.amount >= last.amount * parameters.kept_min {
            path.sources.push(last.target);
            path.flows.push(*next);
            search(flows, parameters, path, rings);
            path.sources.pop();
            path.flows.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::StaticCsr;
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::vertex_set::VertexSet;
    use proptest::prelude::*;

    fn find(edges: &[(u32, u32, f64, f64)], parameters: &FlowRingParameters) -> Result<Vec<FlowRing>> {
        let ends: Vec<_> = edges.iter().map(|edge| (edge.0, edge.1)).collect();
        let weigh = |weight: fn(&(u32, u32, f64, f64)) -> f64| {
            let weights: Vec<f64> = edges.iter().map(weight).collect();
            StaticCsr::new(VertexSet::full(8), &ends, Some(&weights), Direction::Out).unwrap()
        };
        let (amounts, times) = (weigh(|edge| edge.2), weigh(|edge| edge.3));
        flow_rings(&amounts, &times, parameters, &Control::new(&Unlimited))
    }

    fn hours(parameters: FlowRingParameters) -> FlowRingParameters {
        FlowRingParameters { pause_max: 3.0, ..parameters }
    }

    #[test]
    fn a_ring_is_found_once_and_from_its_beginning() {
        let ring = [(1, 2, 100.0, 9.0), (2, 5, 98.0, 10.0), (5, 1, 97.0, 12.0)];
        let found = find(&ring, &hours(FlowRingParameters::default())).unwrap();
        let want = FlowRing {
            vertices: vec![1, 2, 5],
            amounts: vec![100.0, 98.0, 97.0],
            times: vec![9.0, 10.0, 12.0],
        };
        assert_eq!(found, [want]);
        let since = FlowRingParameters { since: 9.5, ..hours(FlowRingParameters::default()) };
        assert_eq!(find(&ring, &since).unwrap(), []);
        let too_little = [(1, 2, 100.0, 9.0), (2, 5, 90.0, 10.0), (5, 1, 90.0, 12.0)];
        assert_eq!(find(&too_little, &hours(FlowRingParameters::default())).unwrap(), []);
        let too_late = [(1, 2, 100.0, 9.0), (2, 5, 98.0, 10.0), (5, 1, 97.0, 13.5)];
        assert_eq!(find(&too_late, &hours(FlowRingParameters::default())).unwrap(), []);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let with = |parameters| find(&[], &parameters).unwrap_err().to_string();
        let base = FlowRingParameters::default();
        assert!(with(FlowRingParameters { length_min: 1, ..base.clone() }).contains("lengths are 1 to 6"));
        assert!(with(FlowRingParameters { kept_min: 0.0, ..base.clone() }).contains("kept_min is 0"));
        assert!(with(FlowRingParameters { pause_max: f64::NAN, ..base }).contains("pause_max is NaN"));
    }

    /// Every sequence of edges, tried against the definition.
    fn naive(edges: &[(u32, u32, f64, f64)], parameters: &FlowRingParameters) -> usize {
        fn extend(edges: &[(u32, u32, f64, f64)], p: &FlowRingParameters, path: &mut Vec<usize>) -> usize {
            let last = edges[*path.last().unwrap()];
            let first = edges[path[0]];
            let visited = |vertex: u32| path.iter().any(|at| edges[*at].0 == vertex);
            if last.1 == first.0 {
                return usize::from((p.length_min..=p.length_max).contains(&path.len()));
            }
            if path.len() == p.length_max || visited(last.1) {
                return 0;
            }
            let mut count = 0;
            for (at, edge) in edges.iter().enumerate() {
                let fits = edge.0 == last.1
                    && edge.3 > last.3
                    && edge.3 <= last.3 + p.pause_max
                    && edge.2 <= last.2
                    && edge.2 >= last.2 * p.kept_min;
                if fits {
                    path.push(at);
                    count += extend(edges, p, path);
                    path.pop();
                }
            }
            count
        }
        (0..edges.len()).map(|at| extend(edges, parameters, &mut vec![at])).sum()
    }

    proptest! {
        #[test]
        fn as_many_rings_as_the_definition_gives(
            // One edge a pair: a static graph orders parallel edges by weight, here by two of them.
            edges in proptest::collection::btree_map((0u32..6, 0u32..6), (95u32..101, 0u32..20), 0..30),
        ) {
            let edges: Vec<_> =
                edges.iter().map(|((s, t), (a, at))| (*s, *t, f64::from(*a), f64::from(*at))).collect();
            let parameters = FlowRingParameters { length_max: 5, pause_max: 6.0, ..Default::default() };
            prop_assert_eq!(find(&edges, &parameters).unwrap().len(), naive(&edges, &parameters));
        }
    }
}
