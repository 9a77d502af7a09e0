//! Sort: the edges of one type in list order, as bodies of whole groups, by two counting sorts.
//!
//! ```text
//! out   counting sort by source, each list sorted by (target, input order);
//!       equal targets get discriminators in input order: 0, 1, 2 ..., or on from those that are there
//! in    counting sort of the out lists by target: stable, so each list is sorted by
//!       (source, discriminator) without comparing anything
//! ```
//!
//! Both sides are made in parts of some groups each, and a part in buckets, side by side on rayon's current pool. The in
//! side needs the out bodies, not the input.

use crate::edge_body::EdgeBody;
use crate::edge_lists::EdgeLists;
use crate::load::buckets::{Buckets, runs};
use crate::load::parts::Part;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId, KeyId, VertexId};
use evergraph_graph::packed_column::PackedColumn;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// What sorting takes for each edge of a part, its properties not included: input, and order. Lists replace the order of
/// their bucket.
pub const EDGE_BYTES: u64 = 12 + 8;

const GROUP_ROWS: usize = GROUP_SIZE as usize;

/// Bodies of one side, ascending by group.
pub type Side = Vec<(GroupId, EdgeBody)>;

/// The edges that begin in one bucket, in input order.
#[derive(Debug, Default)]
pub struct Input {
    /// Where each begins, as a place of the bucket.
    pub sources: Vec<u32>,
    /// Where it ends.
    pub targets: Vec<u32>,
    /// Where its properties are in the columns of the part; empty if there are none.
    pub rows: Vec<u32>,
}

/// Turns how many edges each place has into where its list begins, with one more for the end.
fn starts(mut counts: Vec<u32>) -> Vec<u32> {
    let mut sum = 0;
    for count in &mut counts {
        sum += std::mem::replace(count, sum);
    }
    counts.push(sum);
    counts
}

/// The edges of a vertex that are there before a load, among others.
pub trait PresentLists {
    /// The lists that they are in.
    ///
    /// # Errors
    /// What reading them says.
    fn lists(&self) -> Result<EdgeLists<'_>>;
}

impl PresentLists for Arc<EdgeBody> {
    fn lists(&self) -> Result<EdgeLists<'_>> {
        Ok(EdgeBody::lists(self))
    }
}

/// The out side of the edges that begin in each bucket. `columns` have the properties of all, ascending by key; `present`
/// has the edges that a vertex has before, `None` for new vertices.
///
/// # Errors
/// `limit` beyond 65,536 parallel edges between two vertices; the text names them. What `present` says.
pub fn out_bodies<P: PresentLists>(
    buckets: &Buckets,
    inputs: Vec<Input>,
    columns: &[(KeyId, PackedColumn)],
    present: impl Fn(VertexId) -> Result<Option<P>> + Sync,
) -> Result<Side> {
    let inputs = buckets.parts().par_iter().zip(inputs);
    let sorted = inputs.map(|(part, input)| out_bodies_of(part, input, columns, &present));
    // The first error in order, whichever thread came first.
    let sorted: Vec<Result<Side>> = sorted.collect();
    let sorted: Vec<Side> = sorted.into_iter().collect::<Result<_>>()?;
    Ok(sorted.into_iter().flatten().collect())
}

fn out_bodies_of<P: PresentLists>(
    part: &Part,
    input: Input,
    columns: &[(KeyId, PackedColumn)],
    present: &impl Fn(VertexId) -> Result<Option<P>>,
) -> Result<Side> {
    let Input { sources, targets, rows } = input;
    let mut counts = vec![0u32; part.places()];
    sources.iter().for_each(|source| counts[*source as usize] += 1);
    let mut next = starts(counts);
    let mut order = vec![0u64; sources.len()];
    for (at, (source, target)) in sources.iter().zip(&targets).enumerate() {
        let place = &mut next[*source as usize];
        order[*place as usize] = u64::from(*target) << 32 | at as u64;
        *place += 1;
    }
    drop((sources, targets));
    // Each start moved to where its list ends.
    let mut bodies = Vec::with_capacity(part.groups().len());
    let mut from = 0;
    for (group, ends) in part.groups().iter().zip(next.chunks(GROUP_ROWS)) {
        let first = from;
        let mut discriminators = Vec::new();
        let mut degrees = Vec::with_capacity(GROUP_ROWS);
        for (row, end) in (0..).zip(ends) {
            let list = &mut order[from..*end as usize];
            list.sort_unstable();
            if !list.is_empty() {
                let source = VertexId::new(*group, row);
                let present = present(source)?;
                let lists = present.as_ref().map(PresentLists::lists).transpose()?;
                tell_apart(source, list, lists.as_ref(), from - first, &mut discriminators)?;
            }
            degrees.push(*end - from as u32);
            from = *end as usize;
        }
        let lists = &order[first..from];
        if !discriminators.is_empty() {
            discriminators.resize(lists.len(), 0);
        }
        let neighbors = lists.iter().map(|entry| (*entry >> 32) as u32).collect();
        let of_group = columns.iter().filter_map(|(key, column)| {
            let column = column.select(lists.iter().map(|entry| rows[*entry as u32 as usize] as usize))?;
            Some((*key, Arc::new(column)))
        });
        bodies.push((*group, EdgeBody::new(&degrees, neighbors, discriminators.into(), of_group.collect())));
    }
    Ok(bodies)
}

/// Gives the edges of one sorted list their discriminators, those that aren't zero: `list` begins at
/// `at` in its group.
fn tell_apart(
    source: VertexId,
    list: &[u64],
    present: Option<&EdgeLists<'_>>,
    at: usize,
    discriminators: &mut Vec<u16>,
) -> Result<()> {
    let mut before: Option<(u32, u32)> = None;
    for (at, entry) in (at..).zip(list) {
        let target = (entry >> 32) as u32;
        let discriminator = match before {
            Some((known, last)) if known == target => last + 1,
            _ => present.and_then(|lists| following(lists, source, target)).unwrap_or(0),
        };
        before = Some((target, discriminator));
        if discriminator == 0 {
            continue;
        }
        let named = u16::try_from(discriminator).map_err(|_| {
            let target = VertexId(target);
            Error::new(ErrorKind::Limit, format!("more than 65,536 parallel edges from {source} to {target}"))
        })?;
        discriminators.resize(at, 0);
        discriminators.push(named);
    }
    Ok(())
}

/// The discriminator after those of the edges from `source` to `target` in `lists`.
fn following(lists: &EdgeLists<'_>, source: VertexId, target: u32) -> Option<u32> {
    let last = lists.parallel(source.row(), target).next_back()?;
    Some(u32::from(lists.discriminator(last)) + 1)
}

/// The edges of some out bodies that end in one bucket, in order.
#[derive(Default)]
struct Arrivals {
    /// Where each ends, as a place of the bucket.
    targets: Vec<u32>,
    sources: Vec<u32>,
    /// Empty if all are zero.
    discriminators: Vec<u16>,
}

impl Arrivals {
    /// Those of `out` in each bucket.
    fn of(buckets: &Buckets, out: &[(GroupId, EdgeBody)]) -> Vec<Self> {
        let is_numbered = out.iter().any(|(_, body)| !body.lists().discriminators().is_empty());
        let mut counts = vec![0; buckets.parts().len()];
        let ends = out.iter().flat_map(|(_, body)| body.neighbors());
        ends.filter_map(|end| buckets.place(VertexId(*end))).for_each(|(bucket, _)| counts[bucket] += 1);
        let empty = |count: usize| Self {
            targets: Vec::with_capacity(count),
            sources: Vec::with_capacity(count),
            discriminators: Vec::with_capacity(if is_numbered { count } else { 0 }),
        };
        let mut all: Vec<Self> = counts.into_iter().map(empty).collect();
        for (group, body) in out {
            body.for_each_row(|row, range| {
                let source = VertexId::new(*group, row).0;
                for at in range {
                    let Some((bucket, place)) = buckets.place(VertexId(body.neighbors()[at])) else {
                        continue;
                    };
                    let arrivals = &mut all[bucket];
                    arrivals.targets.push(place);
                    arrivals.sources.push(source);
                    if is_numbered {
                        arrivals.discriminators.push(body.discriminator(at));
                    }
                }
            });
        }
        all
    }
}

/// The in side at the vertices of each bucket of the edges in `out`, which ascends by group.
#[must_use]
pub fn in_bodies(buckets: &Buckets, out: &[(GroupId, EdgeBody)]) -> Side {
    let runs: Vec<_> = runs(out.len(), rayon::current_num_threads()).collect();
    let arrivals: Vec<Vec<Arrivals>> =
        runs.into_par_iter().map(|run| Arrivals::of(buckets, &out[run])).collect();
    let sorted = buckets.parts().par_iter().enumerate().map(|(bucket, part)| {
        let of_bucket: Vec<&Arrivals> = arrivals.iter().map(|of_run| &of_run[bucket]).collect();
        in_bodies_of(part, &of_bucket)
    });
    let sorted: Vec<Side> = sorted.collect();
    sorted.into_iter().flatten().collect()
}

/// The in side at the vertices of `part`, where all of `arrivals` end; those ascend by source.
fn in_bodies_of(part: &Part, arrivals: &[&Arrivals]) -> Side {
    let mut counts = vec![0u32; part.places()];
    arrivals.iter().flat_map(|some| &some.targets).for_each(|target| counts[*target as usize] += 1);
    let mut next = starts(counts);
    let is_numbered = arrivals.iter().any(|some| !some.discriminators.is_empty());
    let mut neighbors = vec![0u32; part.edges()];
    let mut discriminators = vec![0u16; if is_numbered { part.edges() } else { 0 }];
    for some in arrivals {
        for (at, (target, source)) in some.targets.iter().zip(&some.sources).enumerate() {
            let to = next[*target as usize];
            next[*target as usize] += 1;
            neighbors[to as usize] = *source;
            if let Some(number) = some.discriminators.get(at) {
                discriminators[to as usize] = *number;
            }
        }
    }
    let mut from = 0;
    let groups = part.groups().iter().zip(next.chunks(GROUP_ROWS));
    let body = |(group, ends): (&GroupId, &[u32])| {
        let mut before = from as u32;
        let degree = |end: &u32| *end - std::mem::replace(&mut before, *end);
        let degrees: Vec<u32> = ends.iter().map(degree).collect();
        let range: Range<usize> = from..before as usize;
        from = range.end;
        let numbers = discriminators.get(range.clone()).unwrap_or_default();
        (*group, EdgeBody::new(&degrees, neighbors[range].into(), numbers.into(), Vec::new()))
    };
    groups.map(body).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parts::cut;
    use evergraph_graph::value::Value;
    use proptest::prelude::*;

    /// Vertices of three groups.
    #[allow(clippy::unnecessary_wraps, reason = "as looking into files does")]
    fn nobody(_: VertexId) -> Result<Option<Arc<EdgeBody>>> {
        Ok(None)
    }

    fn vertex(number: u32) -> VertexId {
        VertexId::new(GroupId(number % 3), (number / 3) as u16)
    }

    fn counts(ends: impl Iterator<Item = VertexId>) -> Vec<u64> {
        let mut counts = vec![0; 3];
        ends.for_each(|end| counts[end.group().0 as usize] += 1);
        counts
    }

    /// The edges in order; their properties in the opposite one.
    fn inputs(buckets: &Buckets, edges: &[(VertexId, VertexId)]) -> Vec<Input> {
        let mut inputs: Vec<Input> = buckets.parts().iter().map(|_| Input::default()).collect();
        for ((source, target), row) in edges.iter().zip((0..edges.len() as u32).rev()) {
            let Some((bucket, place)) = buckets.place(*source) else { continue };
            inputs[bucket].sources.push(place);
            inputs[bucket].targets.push(target.0);
            inputs[bucket].rows.push(row);
        }
        inputs
    }

    /// A property for `inputs`: which edge it is, in input order.
    const NUMBER: KeyId = KeyId(3);

    fn numbers(edges: usize) -> Vec<(KeyId, PackedColumn)> {
        let numbers: Vec<Value> = (0..edges as i64).rev().map(Value::I64).collect();
        Vec::from_iter(PackedColumn::from_values(numbers.iter().map(Some)).map(|column| (NUMBER, column)))
    }

    fn lists(bodies: &[(GroupId, EdgeBody)]) -> Vec<(u32, u32, u16)> {
        let mut all = Vec::new();
        for (group, body) in bodies {
            body.for_each_row(|row, range| {
                let vertex = VertexId::new(*group, row).0;
                all.extend(range.map(|at| (vertex, body.neighbors()[at], body.discriminator(at))));
            });
        }
        all
    }

    proptest! {
        #[test]
        fn both_sides_are_sorted_and_agree_however_they_are_cut(
            edges in proptest::collection::vec((5u32..15, 0u32..8), 0..80),
            memory_bytes in prop_oneof![Just(0u64), Just(2 * 4096 * 4), Just(u64::MAX)], size in 1usize..50,
        ) {
            let edges: Vec<_> = edges.iter().map(|(s, t)| (vertex(*s), vertex(*t))).collect();
            let mut out = Vec::new();
            let sources = counts(edges.iter().map(|edge| edge.0));
            for part in cut(&sources, 0, memory_bytes).unwrap() {
                let buckets = Buckets::of_size(&part, &sources, size);
                out.extend(out_bodies(&buckets, inputs(&buckets, &edges), &numbers(edges.len()), nobody).unwrap());
            }
            let mut by_end: Vec<usize> = (0..edges.len()).collect();
            by_end.sort_by_key(|number| edges[*number]);
            let number = |number: usize| vec![(NUMBER, Value::I64(number as i64))];
            let bodies = out.iter().flat_map(|(_, body)| (0..body.neighbors().len()).map(|at| body.properties(at).collect()));
            prop_assert_eq!(bodies.collect::<Vec<Vec<_>>>(), by_end.into_iter().map(number).collect::<Vec<_>>());
            let mut into = Vec::new();
            let targets = counts(edges.iter().map(|edge| edge.1));
            for part in cut(&targets, 0, memory_bytes).unwrap() {
                into.extend(in_bodies(&Buckets::of_size(&part, &targets, size), &out));
            }
            let mut want: Vec<(u32, u32, u16)> = Vec::new();
            for (source, target) in &edges {
                let parallel = want.iter().filter(|edge| (edge.0, edge.1) == (source.0, target.0)).count();
                want.push((source.0, target.0, parallel as u16));
            }
            want.sort_unstable();
            prop_assert_eq!(lists(&out), want.clone());
            let mut reverse: Vec<_> = want.into_iter().map(|(s, t, d)| (t, s, d)).collect();
            reverse.sort_unstable();
            prop_assert_eq!(lists(&into), reverse);
        }
    }

    #[test]
    fn parallel_edges_go_on_after_those_that_are_there() {
        let buckets = Buckets::of(&cut(&[3], 0, 0).unwrap()[0], &[3]);
        let edges = [(VertexId(1), VertexId(2)), (VertexId(1), VertexId(5)), (VertexId(1), VertexId(2))];
        let present = Arc::new(EdgeBody::new(&[0, 2], Box::new([2, 2]), Box::new([0, 7]), Vec::new()));
        let out =
            out_bodies(&buckets, inputs(&buckets, &edges), &[], |_| Ok(Some(Arc::clone(&present)))).unwrap();
        assert_eq!(lists(&out), [(1, 2, 8), (1, 2, 9), (1, 5, 0)]);
    }

    #[test]
    fn too_many_parallel_edges_are_refused_by_name() {
        let sorted = |count: usize| {
            let counts = [count as u64];
            let buckets = Buckets::of(&cut(&counts, 0, 0).unwrap()[0], &counts);
            out_bodies(&buckets, inputs(&buckets, &vec![(VertexId(1), VertexId(2)); count]), &[], nobody)
        };
        assert!(sorted(65_536).is_ok());
        let error = sorted(65_537).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("v1 to v2"), "{error}");
    }
}
