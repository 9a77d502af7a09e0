//! Edge body: the edges of a group, of one type and side: sorted lists without timestamps.
//!
//! ```text
//! lists     as in edge_lists; sparse below one eighth occupancy
//! columns   one for each edge property, aligned to the neighbours (out side only)
//! orders    of long lists, by the value of a property: derived (newest)
//! ```
//!
//! Cold, at 16 edges a vertex: 4.25 bytes an edge and side.
//!
//! Source: GART (ATC 2023) 5.1 (SegCSR); core-protocol section 7 (dense and sparse).

use crate::body::{Body, BodyBytes};
use crate::edge_lists::EdgeLists;
use crate::net::{Effect, Net};
use crate::newest::Orders;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use evergraph_storage::record::RecordKey;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A vertex with more edges of one type and side than this is a hub: a segment of its own.
pub const HUB_DEGREE: usize = 16 * 1024;

/// The edges of a group at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeBody {
    /// The row of each end; `None` if the rows are 0, 1, 2 and so on.
    pub(crate) rows: Option<Box<[u16]>>,
    pub(crate) ends: Box<[u32]>,
    pub(crate) neighbors: Box<[u32]>,
    /// Empty while every discriminator is zero.
    pub(crate) discriminators: Box<[u16]>,
    /// Ascending by key.
    pub(crate) columns: Vec<(KeyId, Arc<PackedColumn>)>,
    /// Orders by value, for lists that were read in this order.
    pub(crate) orders: Orders,
}

/// Rows and ends, from the degree of each row up to the last with edges.
fn rows_of(degrees: &[u32]) -> (Option<Box<[u16]>>, Box<[u32]>) {
    let length = degrees.iter().rposition(|degree| *degree > 0).map_or(0, |last| last + 1);
    let occupied = degrees[..length].iter().filter(|degree| **degree > 0).count();
    let mut end = 0;
    let ends = degrees[..length].iter().map(|degree| {
        end += degree;
        end
    });
    // Below one eighth occupancy 6 bytes for each row with edges are less than 4 for each row.
    if occupied * 8 >= length {
        return (None, ends.collect());
    }
    let (rows, ends) = degrees[..length]
        .iter()
        .zip(ends)
        .enumerate()
        .filter(|(_, (degree, _))| **degree > 0)
        .map(|(row, (_, end))| (row as u16, end))
        .unzip::<u16, u32, Vec<_>, Vec<_>>();
    (Some(rows.into()), ends.into())
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
        let (rows, ends) = rows_of(degrees);
        Self { rows, ends, neighbors, discriminators, columns, orders: Orders::default() }
    }

    /// A copy of `lists` with these columns, ascending by key and as long.
    #[must_use]
    pub fn of_lists(lists: EdgeLists<'_>, columns: Vec<(KeyId, Arc<PackedColumn>)>) -> Self {
        Self {
            rows: lists.rows.map(Box::from),
            ends: lists.ends.into(),
            neighbors: lists.neighbors.into(),
            discriminators: lists.discriminators.into(),
            columns,
            orders: Orders::default(),
        }
    }

    /// The columns, by key.
    #[must_use]
    pub fn columns(&self) -> &[(KeyId, Arc<PackedColumn>)] {
        &self.columns
    }

    /// Its lists.
    #[must_use]
    #[inline]
    pub fn lists(&self) -> EdgeLists<'_> {
        EdgeLists {
            rows: self.rows.as_deref(),
            ends: &self.ends,
            neighbors: &self.neighbors,
            discriminators: &self.discriminators,
        }
    }

    /// As [`EdgeLists::range`].
    #[must_use]
    #[inline]
    pub fn range(&self, row: u16) -> Range<usize> {
        self.lists().range(row)
    }

    /// As [`EdgeLists::for_each_row`].
    #[inline]
    pub fn for_each_row(&self, visit: impl FnMut(u16, Range<usize>)) {
        self.lists().for_each_row(visit);
    }

    /// As [`EdgeLists::neighbors`].
    #[must_use]
    #[inline]
    pub fn neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// As [`EdgeLists::discriminator`].
    #[must_use]
    #[inline]
    pub fn discriminator(&self, at: usize) -> u16 {
        self.lists().discriminator(at)
    }

    /// As [`EdgeLists::find`].
    #[must_use]
    #[inline]
    pub fn find(&self, key: RecordKey) -> Option<usize> {
        self.lists().find(key)
    }

    /// The column of a property.
    #[must_use]
    #[inline]
    pub fn column(&self, key: KeyId) -> Option<&Arc<PackedColumn>> {
        let at = self.columns.binary_search_by_key(&key, |column| column.0).ok()?;
        Some(&self.columns[at].1)
    }

    /// All properties of the edge at a place, by key.
    #[inline]
    pub fn properties(&self, at: usize) -> impl Iterator<Item = (KeyId, Value)> + '_ {
        self.columns.iter().filter_map(move |(key, column)| Some((*key, column.get(at)?)))
    }

    /// The body without the edges for which `keep`, told their row and place, is false, and without other columns than `keys`.
    /// Cost: a pass over the edges without a branch on what `keep` says, and one over each column.
    #[must_use]
    pub fn filtered(&self, keys: &[KeyId], keep: impl Fn(u16, usize) -> bool) -> Self {
        let columns = || self.columns.iter().filter(|(key, _)| keys.contains(key));
        let has_more = !self.discriminators.is_empty() || columns().next().is_some();
        let mut neighbors = vec![0; self.neighbors.len()];
        let (mut degrees, mut places, mut kept) = (Vec::new(), Vec::<u32>::new(), 0);
        self.for_each_row(|row, range| {
            let before = kept;
            for at in range {
                // Overwritten by the next one if it isn't kept.
                neighbors[kept] = self.neighbors[at];
                let is_kept = keep(row, at);
                if has_more && is_kept {
                    places.push(at as u32);
                }
                kept += usize::from(is_kept);
            }
            degrees.resize(usize::from(row), 0);
            degrees.push((kept - before) as u32);
        });
        neighbors.truncate(kept);
        let discriminators = match self.discriminators.is_empty() {
            true => Box::default(),
            false => places.iter().map(|at| self.discriminators[*at as usize]).collect(),
        };
        let columns = columns().filter_map(|(key, column)| {
            let mut builder = PackedColumnBuilder::default();
            let stretches = places.chunk_by(|one, next| one + 1 == *next);
            stretches.for_each(|places| {
                let first = places[0] as usize;
                builder.copy(Some(column), first..first + places.len());
            });
            Some((*key, Arc::new(builder.finish()?)))
        });
        Self::new(&degrees, neighbors.into(), discriminators, columns.collect())
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
            rows: None,
            ends: Box::default(),
            neighbors: Box::default(),
            discriminators: Box::default(),
            columns: Vec::new(),
            orders: Orders::default(),
        }
    }

    fn merged(&self, nets: &[Net]) -> Self {
        let mut merged = self.copied(nets).expect("records are exact: Set only where something was");
        merged.orders = Orders::carried(self, &merged, nets);
        merged
    }

    #[inline]
    fn items(&self) -> usize {
        self.neighbors.len()
    }

    fn bytes(&self) -> BodyBytes {
        let rows = self.rows.as_ref().map_or(0, |rows| rows.len() * 2);
        let topology = rows + (self.ends.len() + self.neighbors.len()) * 4 + self.discriminators.len() * 2;
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
    ///
    /// # Errors
    /// The first of `nets` that changes an edge which the body does not have: records of a damaged file may say so.
    pub fn copied(&self, nets: &[Net]) -> Result<Self, String> {
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
        let lists = self.lists();
        let mut copied = 0;
        let mut current: Option<(u16, Range<usize>)> = None;
        let mut row_start = 0;
        for net in nets {
            let row = net.key.row();
            if current.as_ref().is_none_or(|(known, _)| *known != row) {
                let range = lists.places(row);
                row_start = range.start;
                current = Some((row, range));
            }
            let range = &current.as_ref().expect("set above").1;
            let at = lists.lower_bound(net.key, range, copied.clamp(row_start, range.end));
            let there = at < range.end && lists.is_at(net.key, at);
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
                    if !there {
                        let neighbor = net.key.neighbor();
                        return Err(format!(
                            "a record changes an edge from row {row} to v{neighbor}, which is not there"
                        ));
                    }
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
        Ok(Self::new(&degrees, neighbors.into(), discriminators.into(), columns))
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

    /// It was a panic, although such records may come out of a file.
    #[test]
    fn a_change_of_an_edge_that_is_not_there_is_an_error() {
        let net = |neighbor, effect| Net { key: RecordKey::edge(3, neighbor, 0), effect, difference: 0 };
        let present = |neighbor| net(neighbor, Effect::Present(Properties::EMPTY));
        let body = EdgeBody::empty().merged(&[present(1), present(5)]);
        let change = |neighbor| body.copied(&[net(neighbor, Effect::Changed(one(Some(7))))]);
        assert_eq!(change(5).unwrap().items(), 2);
        for absent in [0, 4, 6] {
            let problem = change(absent).unwrap_err();
            assert!(problem.contains(&format!("from row 3 to v{absent}, which is not there")), "{problem}");
        }
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
                let keys: Vec<KeyId> = body.columns().iter().map(|column| column.0).collect();
                let some = body.filtered(&keys, |_, at| body.neighbors()[at] != 2);
                prop_assert_eq!(body.filtered(&[], |_, _| true).columns().len(), 0);
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
