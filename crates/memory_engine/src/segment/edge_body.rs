//! Edge body: the edges of a group, of one type and side: sorted lists without timestamps.
//!
//! ```text
//! dense    ends[row]                      where the list of each row ends; as long as the last row needs
//! sparse   rows[i] ends[i]                only rows with edges; chosen below one eighth occupancy
//! neighbors      u32 an edge              ascending by (neighbour, discriminator) in a row
//! discriminators u16 an edge              absent while every one is zero
//! columns        one for each edge property, aligned to `neighbors` (out side only)
//! ```
//!
//! Cold, at 16 edges a vertex: 4.25 bytes an edge and side.
//!
//! Source: GART (ATC 2023) 5.1 (SegCSR); core-protocol section 7 (dense and sparse).

use crate::segment::body::{Body, BodyBytes};
use crate::segment::net::{Effect, Net};
use crate::segment::newest::Orders;
use crate::segment::record::RecordKey;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A vertex with more edges of one type and side than this is a hub: a segment of its own.
pub const HUB_DEGREE: usize = 16 * 1024;

/// The edges of a group at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeBody {
    pub(crate) rows: Rows,
    pub(crate) neighbors: Box<[u32]>,
    /// Empty while every discriminator is zero.
    pub(crate) discriminators: Box<[u16]>,
    /// Ascending by key.
    pub(crate) columns: Vec<(KeyId, Arc<PackedColumn>)>,
    /// Orders by value, for lists that were read in this order.
    pub(crate) orders: Orders,
}

/// Where the list of each row lies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rows {
    Dense { ends: Box<[u32]> },
    Sparse { rows: Box<[u16]>, ends: Box<[u32]> },
}

#[inline]
fn end_before(ends: &[u32], at: usize) -> usize {
    at.checked_sub(1).map_or(0, |before| ends[before] as usize)
}

impl Rows {
    /// From the degree of each row up to the last with edges.
    fn from_degrees(degrees: &[u32]) -> Self {
        let length = degrees.iter().rposition(|degree| *degree > 0).map_or(0, |last| last + 1);
        let occupied = degrees[..length].iter().filter(|degree| **degree > 0).count();
        let mut end = 0;
        let mut ends = degrees[..length].iter().map(|degree| {
            end += degree;
            end
        });
        // Below one eighth occupancy 6 bytes for each row with edges are less than 4 for each row.
        if occupied * 8 < length {
            let (rows, ends) = degrees[..length]
                .iter()
                .zip(ends)
                .enumerate()
                .filter(|(_, (degree, _))| **degree > 0)
                .map(|(row, (_, end))| (row as u16, end))
                .unzip::<u16, u32, Vec<_>, Vec<_>>();
            return Self::Sparse { rows: rows.into(), ends: ends.into() };
        }
        Self::Dense { ends: ends.by_ref().collect() }
    }

    #[inline]
    fn range(&self, row: u16) -> Range<usize> {
        let row_at = usize::from(row);
        match self {
            Self::Dense { ends } => match ends.get(row_at) {
                Some(end) => end_before(ends, row_at)..*end as usize,
                None => 0..0,
            },
            Self::Sparse { rows, ends } => match rows.binary_search(&row) {
                Ok(at) => end_before(ends, at)..ends[at] as usize,
                Err(_) => 0..0,
            },
        }
    }

    /// Edges of all rows before `row`.
    #[inline]
    fn edges_before(&self, row: u16) -> usize {
        match self {
            Self::Dense { ends } => end_before(ends, usize::from(row).min(ends.len())),
            Self::Sparse { rows, ends } => end_before(ends, rows.partition_point(|other| *other < row)),
        }
    }

    #[inline]
    fn for_each(&self, mut row: impl FnMut(u16, Range<usize>)) {
        let mut start = 0;
        let mut visit = |at: u16, end: u32| {
            let end = end as usize;
            if start < end {
                row(at, start..end);
            }
            start = end;
        };
        match self {
            Self::Dense { ends } => ends.iter().enumerate().for_each(|(at, end)| visit(at as u16, *end)),
            Self::Sparse { rows, ends } => rows.iter().zip(ends).for_each(|(at, end)| visit(*at, *end)),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Dense { ends } => ends.len() * 4,
            Self::Sparse { rows, ends } => rows.len() * 2 + ends.len() * 4,
        }
    }
}

impl EdgeBody {
    /// A body from sorted lists: `degrees[row]` neighbours of each row, one after the other, sorted by
    /// (neighbour, discriminator). `discriminators` is empty or as long as `neighbors`.
    #[must_use]
    pub fn new(
        degrees: &[u32],
        neighbors: Box<[u32]>,
        discriminators: Box<[u16]>,
        columns: Vec<(KeyId, Arc<PackedColumn>)>,
    ) -> Self {
        debug_assert_eq!(degrees.iter().map(|degree| *degree as usize).sum::<usize>(), neighbors.len());
        let zero = discriminators.iter().all(|discriminator| *discriminator == 0);
        let discriminators = if zero { Box::default() } else { discriminators };
        let rows = Rows::from_degrees(degrees);
        Self { rows, neighbors, discriminators, columns, orders: Orders::default() }
    }

    /// Where the list of `row` lies in [`EdgeBody::neighbors`].
    #[must_use]
    #[inline]
    pub fn range(&self, row: u16) -> Range<usize> {
        self.rows.range(row)
    }

    /// Edges of all rows before `row`. Cost: a look, or a search in a sparse body.
    #[must_use]
    #[inline]
    pub fn edges_before(&self, row: u16) -> usize {
        self.rows.edges_before(row)
    }

    /// Where the list of each row ends, if every row up to the last has an entry.
    #[must_use]
    #[inline]
    pub fn dense_ends(&self) -> Option<&[u32]> {
        match &self.rows {
            Rows::Dense { ends } => Some(ends),
            Rows::Sparse { .. } => None,
        }
    }

    /// Calls `visit` with each row that has edges, ascending, and where its list lies.
    #[inline]
    pub fn for_each_row(&self, visit: impl FnMut(u16, Range<usize>)) {
        self.rows.for_each(visit);
    }

    /// The neighbours of all rows, one list after the other.
    #[must_use]
    #[inline]
    pub fn neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// The discriminator of the edge at a place.
    #[must_use]
    #[inline]
    pub fn discriminator(&self, at: usize) -> u16 {
        self.discriminators.get(at).copied().unwrap_or(0)
    }

    /// Where the edges from `row` to `neighbor` lie. Cost: two binary searches.
    #[must_use]
    pub fn parallel(&self, row: u16, neighbor: u32) -> Range<usize> {
        let range = self.range(row);
        let list = &self.neighbors[range.clone()];
        let from = list.partition_point(|found| *found < neighbor);
        let count = list[from..].iter().take_while(|found| **found == neighbor).count();
        range.start + from..range.start + from + count
    }

    /// Where the edges of a row behind `key` lie, whether that is there or not. Cost: as [`EdgeBody::parallel`].
    #[must_use]
    pub fn range_after(&self, key: RecordKey) -> Range<usize> {
        let parallel = self.parallel(key.row(), key.neighbor());
        let passed = match self.discriminators.get(parallel.clone()) {
            Some(discriminators) => discriminators.partition_point(|found| *found <= key.discriminator()),
            None => parallel.len(),
        };
        parallel.start + passed..self.range(key.row()).end
    }

    /// Where an edge lies.
    #[must_use]
    pub fn find(&self, key: RecordKey) -> Option<usize> {
        let parallel = self.parallel(key.row(), key.neighbor());
        if self.discriminators.is_empty() {
            return (key.discriminator() == 0 && !parallel.is_empty()).then_some(parallel.start);
        }
        let found = self.discriminators[parallel.clone()].binary_search(&key.discriminator()).ok()?;
        Some(parallel.start + found)
    }

    /// The column of a property.
    #[must_use]
    pub fn column(&self, key: KeyId) -> Option<&Arc<PackedColumn>> {
        let at = self.columns.binary_search_by_key(&key, |column| column.0).ok()?;
        Some(&self.columns[at].1)
    }

    /// All properties of the edge at a place, by key.
    pub fn properties(&self, at: usize) -> impl Iterator<Item = (KeyId, Value)> + '_ {
        self.columns.iter().filter_map(move |(key, column)| Some((*key, column.get(at)?)))
    }

    /// The body without the edges for which `keep`, told their row and place, is false.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(u16, usize) -> bool) -> Self {
        let mut nets = Vec::new();
        self.for_each_row(|row, range| {
            for at in range.filter(|at| !keep(row, *at)) {
                let key = RecordKey::edge(row, self.neighbors[at], self.discriminator(at));
                nets.push(Net { key, effect: Effect::Absent, difference: -1 });
            }
        });
        self.copied(&nets)
    }

    /// Where the list of `row` lies; where it would begin if the row has no edges.
    pub(super) fn places(&self, row: u16) -> Range<usize> {
        let range = self.range(row);
        if range.is_empty() { row_start_of(self, row)..row_start_of(self, row) } else { range }
    }

    /// Whether the edge at a place of its row is this one.
    pub(crate) fn is_at(&self, key: RecordKey, at: usize) -> bool {
        self.neighbors[at] == key.neighbor() && self.discriminator(at) == key.discriminator()
    }

    /// Where an edge lies, or would lie, not before `from`, which lies in the same row.
    pub(crate) fn lower_bound(&self, key: RecordKey, range: &Range<usize>, from: usize) -> usize {
        let list = &self.neighbors[from..range.end];
        let mut at = from + list.partition_point(|found| *found < key.neighbor());
        while at < range.end
            && self.neighbors[at] == key.neighbor()
            && self.discriminator(at) < key.discriminator()
        {
            at += 1;
        }
        at
    }
}

/// How a merged body is put together from the old one: copied stretches and single edges.
enum Step<'a> {
    Copy(Range<usize>),
    Put(&'a Properties),
    Change(usize, &'a Properties),
}

fn merged_column(key: KeyId, old: Option<&PackedColumn>, steps: &[Step<'_>]) -> Option<PackedColumn> {
    let mut builder = PackedColumnBuilder::default();
    for step in steps {
        match step {
            Step::Copy(range) => builder.copy(old, range.clone()),
            Step::Put(properties) => builder.push(properties.get(key).flatten()),
            Step::Change(at, changes) => match changes.get(key) {
                Some(value) => builder.push(value),
                None => builder.push(old.and_then(|old| old.get(*at)).as_ref()),
            },
        }
    }
    builder.finish()
}

impl Body for EdgeBody {
    /// All rows of a group are copied, however few edges there are.
    const RECORDS_WORTH_A_MERGE_MIN: usize = usize::MAX;

    fn empty() -> Self {
        Self {
            rows: Rows::Dense { ends: Box::default() },
            neighbors: Box::default(),
            discriminators: Box::default(),
            columns: Vec::new(),
            orders: Orders::default(),
        }
    }

    fn merged(&self, nets: &[Net]) -> Self {
        let mut merged = self.copied(nets);
        merged.orders = Orders::carried(self, &merged, nets);
        merged
    }

    fn items(&self) -> usize {
        self.neighbors.len()
    }

    fn bytes(&self) -> BodyBytes {
        let topology = self.rows.heap_bytes() + self.neighbors.len() * 4 + self.discriminators.len() * 2;
        let properties = self.columns.iter().map(|(_, column)| column.heap_bytes() + 32).sum();
        BodyBytes { topology, properties, orders: self.orders.heap_bytes() }
    }

    fn split_hubs(self) -> (Self, Vec<(u16, Self)>) {
        let mut hubs: Vec<(u16, Range<usize>)> = Vec::new();
        if self.neighbors.len() > HUB_DEGREE {
            self.for_each_row(|row, range| {
                if range.len() > HUB_DEGREE {
                    hubs.push((row, range));
                }
            });
        }
        // A list that has the body to itself stays: it is a hub's own, which a merge must not split off
        // once more, where no reader would look for it.
        let alone = |(_, range): &(u16, Range<usize>)| range.len() == self.neighbors.len();
        if hubs.is_empty() || hubs.iter().any(alone) {
            return (self, Vec::new());
        }
        self.split(hubs)
    }
}

impl EdgeBody {
    /// As [`Body::merged`], without orders by value, which a copy does not need.
    #[must_use]
    pub fn copied(&self, nets: &[Net]) -> Self {
        let last_row = nets.last().map_or(0, |net| usize::from(net.key.row()) + 1);
        let mut degrees = vec![0u32; last_row];
        self.for_each_row(|row, range| {
            if degrees.len() <= usize::from(row) {
                degrees.resize(usize::from(row) + 1, 0);
            }
            degrees[usize::from(row)] = range.len() as u32;
        });
        let discriminated =
            !self.discriminators.is_empty() || nets.iter().any(|net| net.key.discriminator() != 0);
        let capacity = self.neighbors.len() + nets.len();
        let mut neighbors = Vec::with_capacity(capacity);
        let mut discriminators = Vec::with_capacity(if discriminated { capacity } else { 0 });
        let mut keys: BTreeSet<KeyId> = self.columns.iter().map(|column| column.0).collect();
        let mut steps: Vec<Step<'_>> = Vec::new();
        // Without properties nobody asks for the steps.
        let has_columns = !keys.is_empty() || nets.iter().any(Net::has_properties);
        let mut step = |step| {
            if has_columns {
                steps.push(step);
            }
        };
        let mut copied = 0;
        let mut current: Option<(u16, Range<usize>)> = None;
        let mut row_start = 0;
        for net in nets {
            let row = net.key.row();
            if current.as_ref().is_none_or(|(known, _)| *known != row) {
                let range = self.places(row);
                row_start = range.start;
                current = Some((row, range));
            }
            let range = &current.as_ref().expect("set above").1;
            let at = self.lower_bound(net.key, range, copied.clamp(row_start, range.end));
            let there = at < range.end && self.is_at(net.key, at);
            if copied < at {
                neighbors.extend_from_slice(&self.neighbors[copied..at]);
                if discriminated {
                    discriminators.extend((copied..at).map(|at| self.discriminator(at)));
                }
                step(Step::Copy(copied..at));
            }
            copied = at + usize::from(there);
            let degree = &mut degrees[usize::from(row)];
            match &net.effect {
                Effect::Absent => *degree -= u32::from(there),
                Effect::Present(properties) => {
                    *degree += u32::from(!there);
                    step(Step::Put(properties));
                    keys.extend(properties.as_slice().iter().map(|change| change.0));
                }
                Effect::Changed(changes) => {
                    assert!(there, "records are exact: Set only where something was");
                    step(Step::Change(at, changes));
                    keys.extend(changes.as_slice().iter().map(|change| change.0));
                }
            }
            if net.effect != Effect::Absent {
                neighbors.push(net.key.neighbor());
                if discriminated {
                    discriminators.push(net.key.discriminator());
                }
            }
        }
        if copied < self.neighbors.len() {
            neighbors.extend_from_slice(&self.neighbors[copied..]);
            if discriminated {
                discriminators.extend((copied..self.neighbors.len()).map(|at| self.discriminator(at)));
            }
            step(Step::Copy(copied..self.neighbors.len()));
        }
        let columns = keys
            .into_iter()
            .filter_map(|key| {
                let old = self.column(key).map(|column| &**column);
                Some((key, Arc::new(merged_column(key, old, &steps)?)))
            })
            .collect();
        Self::new(&degrees, neighbors.into(), discriminators.into(), columns)
    }

    /// Takes `rows` out, which are some of those with edges, ascending, and where their lists lie.
    #[must_use]
    pub fn split(&self, rows: Vec<(u16, Range<usize>)>) -> (Self, Vec<(u16, Self)>) {
        let part = |degrees: &[u32], ranges: &[Range<usize>]| {
            let neighbors = ranges.iter().flat_map(|range| &self.neighbors[range.clone()]).copied().collect();
            let discriminators = match self.discriminators.is_empty() {
                true => Box::default(),
                false => {
                    ranges.iter().flat_map(|range| &self.discriminators[range.clone()]).copied().collect()
                }
            };
            let columns = self.columns.iter().filter_map(|(key, column)| {
                let mut builder = PackedColumnBuilder::default();
                ranges.iter().for_each(|range| builder.copy(Some(column), range.clone()));
                Some((*key, Arc::new(builder.finish()?)))
            });
            let mut part = Self::new(degrees, neighbors, discriminators, columns.collect());
            part.orders = Orders::carried(self, &part, &[]);
            part
        };
        let mut degrees = Vec::new();
        let mut stretches: Vec<Range<usize>> = Vec::new();
        let mut after_last = 0;
        self.for_each_row(|row, range| {
            degrees.resize(usize::from(row), 0);
            let is_taken = rows.binary_search_by_key(&row, |taken| taken.0).is_ok();
            degrees.push(if is_taken { 0 } else { range.len() as u32 });
        });
        let mut parts = Vec::new();
        for (row, range) in rows {
            let mut own = vec![0u32; usize::from(row)];
            own.push(range.len() as u32);
            parts.push((row, part(&own, std::slice::from_ref(&range))));
            stretches.push(after_last..range.start);
            after_last = range.end;
        }
        stretches.push(after_last..self.neighbors.len());
        let rest = part(&degrees, &stretches);
        (rest, parts)
    }
}

/// Where the list of a row without edges would begin.
fn row_start_of(body: &EdgeBody, row: u16) -> usize {
    match &body.rows {
        Rows::Dense { ends } => end_before(ends, usize::from(row).min(ends.len())),
        Rows::Sparse { rows, ends } => end_before(ends, rows.partition_point(|found| *found < row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A naive body: edges with one optional property.
    type Model = BTreeMap<(u16, u32, u16), Option<i64>>;

    fn one(value: Option<i64>) -> Properties {
        value.map(|value| (KeyId(7), Some(Value::I64(value)))).into_iter().collect()
    }

    fn check(body: &EdgeBody, model: &Model) {
        let mut found = Model::new();
        body.for_each_row(|row, range| {
            assert_eq!(body.range(row), range);
            for at in range {
                let property = body.column(KeyId(7)).and_then(|column| column.get(at));
                let key = (row, body.neighbors()[at], body.discriminator(at));
                assert_eq!(body.find(RecordKey::edge(key.0, key.1, key.2)), Some(at));
                let value = property.map(|value| value.as_i64().unwrap());
                assert!(found.insert(key, value).is_none(), "an edge twice");
            }
        });
        assert_eq!(&found, model);
        assert_eq!(body.items(), model.len());
    }

    fn any_step() -> impl Strategy<Value = BTreeMap<(u16, u32, u16), (u8, Option<i64>)>> {
        let row = prop_oneof![0u16..4, 100u16..104, Just(4095u16)];
        let key = (row, 0u32..5, prop_oneof![4 => Just(0u16), 1 => 1u16..3]);
        proptest::collection::btree_map(key, (0u8..4, proptest::option::of(0i64..100)), 0..25)
    }

    proptest! {
        #[test]
        fn merging_is_the_same_as_changing_a_map(steps in proptest::collection::vec(any_step(), 1..6)) {
            let (mut body, mut model) = (EdgeBody::empty(), Model::new());
            for step in steps {
                let mut nets = Vec::new();
                for ((row, neighbor, discriminator), (what, value)) in step {
                    let key = (row, neighbor, discriminator);
                    let effect = match what {
                        0 => { model.remove(&key); Effect::Absent }
                        1 if model.contains_key(&key) => {
                            let changed = value.map_or(Properties::EMPTY, |value| one(Some(value)));
                            if value.is_some() { model.insert(key, value); }
                            Effect::Changed(changed)
                        }
                        _ => { model.insert(key, value); Effect::Present(one(value)) }
                    };
                    nets.push(Net { key: RecordKey::edge(row, neighbor, discriminator), effect, difference: 0 });
                }
                body = body.merged(&nets);
                check(&body, &model);
                let some = body.filtered(|_, at| body.neighbors()[at] != 2);
                let left: Model = model.iter().filter(|(key, _)| key.1 != 2).map(|(k, v)| (*k, *v)).collect();
                check(&some, &left);
            }
        }
    }

    #[test]
    fn few_rows_with_edges_take_the_sparse_form_and_cost_as_little() {
        let degrees = |rows: &[usize]| {
            let mut degrees = vec![0; 4096];
            rows.iter().for_each(|row| degrees[*row] = 1);
            degrees
        };
        let sparse = EdgeBody::new(&degrees(&[0, 2000, 4095]), Box::new([1, 2, 3]), Box::default(), vec![]);
        assert_eq!(sparse.bytes().topology, 3 * (4 + 4 + 2));
        assert_eq!((sparse.range(2000), sparse.range(2001)), (1..2, 0..0));
        let dense = EdgeBody::new(&[1; 100], (0..100).collect(), Box::default(), vec![]);
        assert_eq!(dense.bytes().topology, 800);
    }

    #[test]
    fn a_hub_is_taken_out_with_its_columns() {
        let mut nets = Vec::new();
        for neighbor in 0..=HUB_DEGREE as u32 {
            let effect = Effect::Present(one((neighbor % 2 == 0).then_some(i64::from(neighbor))));
            nets.push(Net { key: RecordKey::edge(5, neighbor, 0), effect, difference: 1 });
        }
        for row in [6, 9] {
            let effect = Effect::Present(one(Some(i64::from(row))));
            nets.push(Net { key: RecordKey::edge(row, 1, 0), effect, difference: 1 });
        }
        let (rest, hubs) = EdgeBody::empty().merged(&nets).split_hubs();
        let (row, hub) = &hubs[0];
        assert_eq!((hubs.len(), *row, hub.items(), rest.items()), (1, 5, HUB_DEGREE + 1, 2));
        assert_eq!(hub.range(5).len(), HUB_DEGREE + 1);
        let value = |body: &EdgeBody, at| body.column(KeyId(7)).unwrap().get(at);
        assert_eq!((value(hub, 4), value(hub, 5)), (Some(Value::I64(4)), None));
        assert_eq!((rest.range(6), rest.range(9)), (0..1, 1..2));
        assert_eq!(value(&rest, 1), Some(Value::I64(9)));
        let (whole, none) = hub.clone().split_hubs();
        assert!(whole == *hub && none.is_empty(), "a hub's own body has no hub in it");
    }
}
