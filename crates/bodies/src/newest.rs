//! Orders of a body: positions of the edges of its long lists, by descending value of one property.
//!
//! ```text
//! list      neighbour    2   5   7   9       sorted, as bodies keep it
//!           value       30  10   -  20
//! places    0  3  1                          offsets in the list; u16, u32 in lists beyond 65,536 edges
//! ```
//!
//! - Derived data: nothing stored knows of it, and two bodies are the same with and without. A list gets its
//!   places when it is first read by value; from then on each merge carries them along, and puts what changed where
//!   it belongs. So a reader sorts a list once, and who never reads by value pays nothing.
//! - A short list has none: sorting it takes little longer than reading it.
//! - One property a body, the first that is asked for: an edge type is newest-first by one. Whoever asks for
//!   another one, declared in a transaction that was rolled back, reads the list.
//!
//! Concurrency: bodies are shared and immutable; whoever asks first sorts, others who ask for the same list
//! meanwhile wait for him.
//!
//! Source and differences: [`evergraph_graph::newest`].

use crate::edge_body::EdgeBody;
use crate::net::Net;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::packed_column::{PackedColumn, PackedData};
use evergraph_graph::value::Value;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::RecordKey;
use std::borrow::Cow;
use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};

/// Lists that are no longer are sorted in every read: one to four microseconds.
pub const SHORT_LIST: usize = 64;

/// The orders of a body's long lists.
#[derive(Clone, Default, Debug)]
pub struct Orders(OnceLock<ByKey>);

impl PartialEq for Orders {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug)]
struct ByKey {
    key: KeyId,
    /// Ascending by row.
    lists: Box<[LongList]>,
}

#[derive(Clone, Debug)]
struct LongList {
    row: u16,
    places: OnceLock<Arc<OrderOffsets>>,
}

/// Offsets in a list, the greatest value first; edges without a value have none.
#[derive(Clone, Debug)]
enum OrderOffsets {
    Narrow(Box<[u16]>),
    Wide(Box<[u32]>),
}

impl Orders {
    /// The orders of `old`, for `new`: what `old` became by `nets`, or some of its rows.
    ///
    /// Cost: for each list with places that changed, one pass, and a binary search a change.
    #[must_use]
    pub fn carried(old: &EdgeBody, new: &EdgeBody, nets: &[Net]) -> Self {
        let Some(known) = old.orders.0.get() else { return Self::default() };
        let mut next = ByKey::of(new, known.key);
        for LongList { row, places } in &mut next.lists {
            let (Some(before), Some(column)) =
                (known.of_row(*row).and_then(OnceLock::get), new.column(known.key))
            else {
                continue;
            };
            let from = nets.partition_point(|net| net.key.row() < *row);
            let count = nets[from..].partition_point(|net| net.key.row() == *row);
            *places = OnceLock::from(match count > 0 && !planted(Bug::StaleOrder) {
                false => Arc::clone(before),
                true => Arc::new(before.moved(old, new, &nets[from..from + count], column)),
            });
        }
        Self(OnceLock::from(next))
    }

    /// Bytes on the heap. What two bodies share counts in both.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let lists = self.0.get().map_or(&[][..], |by_key| &by_key.lists);
        let places = lists.iter().filter_map(|list| list.places.get()).map(|places| places.heap_bytes());
        std::mem::size_of_val(lists) + places.sum::<usize>()
    }

    /// The places of a long list; `None` if the body's are by another property.
    fn places(&self, body: &EdgeBody, row: u16, key: KeyId, column: &PackedColumn) -> Option<&OrderOffsets> {
        let by_key = self.0.get_or_init(|| ByKey::of(body, key));
        if by_key.key != key {
            return None;
        }
        let list = body.range(row);
        let sort = || Arc::new(OrderOffsets::of(column, &list));
        Some(by_key.of_row(row)?.get_or_init(sort))
    }
}

impl ByKey {
    /// No list of `body` has its places yet.
    fn of(body: &EdgeBody, key: KeyId) -> Self {
        let mut lists = Vec::new();
        body.for_each_row(|row, range| {
            if range.len() > SHORT_LIST {
                lists.push(LongList { row, places: OnceLock::new() });
            }
        });
        Self { key, lists: lists.into() }
    }

    fn of_row(&self, row: u16) -> Option<&OnceLock<Arc<OrderOffsets>>> {
        let at = self.lists.binary_search_by_key(&row, |list| list.row).ok()?;
        Some(&self.lists[at].places)
    }
}

impl OrderOffsets {
    /// The places of `list`. Cost: the list is sorted.
    fn of(column: &PackedColumn, list: &Range<usize>) -> Self {
        Self::new(list.len(), descending(column, list, 0..list.len() as u32))
    }

    fn new(list_length: usize, offsets: Vec<u32>) -> Self {
        match list_length <= 1 << 16 {
            true => Self::Narrow(offsets.into_iter().map(|offset| offset as u16).collect()),
            false => Self::Wide(offsets.into()),
        }
    }

    /// These places of a list of `old`, in what it is in `new` by `nets`, which are those of its row. Edges that
    /// `nets` don't name keep their values, and so the order among them.
    fn moved(&self, old: &EdgeBody, new: &EdgeBody, nets: &[Net], column: &PackedColumn) -> Self {
        const GONE: u32 = u32::MAX;
        let row = nets[0].key.row();
        let (before, list) = (old.range(row), new.range(row));
        let key =
            |body: &EdgeBody, at: usize| RecordKey::edge(row, body.neighbors()[at], body.discriminator(at));
        let mut became = vec![GONE; before.len()];
        let mut fresh = Vec::with_capacity(nets.len());
        let (mut from, mut named) = (before.clone().peekable(), nets.iter().peekable());
        for (offset, at) in list.clone().enumerate() {
            let edge = key(new, at);
            while from.next_if(|from| key(old, *from) < edge).is_some() {}
            while named.next_if(|net| net.key < edge).is_some() {}
            if named.peek().is_some_and(|net| net.key == edge) {
                fresh.push(offset as u32);
            } else {
                let from = from.next().expect("an edge that no change names was there before");
                became[from - before.start] = offset as u32;
            }
        }
        let kept: Vec<u32> =
            (0..self.len()).map(|at| became[self.get(at)]).filter(|offset| *offset != GONE).collect();
        let stamped = |offset: u32| (column.get(list.start + offset as usize), offset);
        let mut offsets = Vec::with_capacity(list.len());
        let mut taken = 0;
        for offset in descending(column, &list, fresh.into_iter()) {
            let own = stamped(offset);
            let newer = kept[taken..].partition_point(|kept| stamped(*kept) > own);
            offsets.extend_from_slice(&kept[taken..taken + newer]);
            offsets.push(offset);
            taken += newer;
        }
        offsets.extend_from_slice(&kept[taken..]);
        Self::new(list.len(), offsets)
    }

    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.len(),
            Self::Wide(offsets) => offsets.len(),
        }
    }

    #[inline]
    fn get(&self, at: usize) -> usize {
        match self {
            Self::Narrow(offsets) => usize::from(offsets[at]),
            Self::Wide(offsets) => offsets[at] as usize,
        }
    }

    /// The first place whose offset isn't `before`; those that are come first.
    fn partition_point(&self, before: impl Fn(usize) -> bool) -> usize {
        match self {
            Self::Narrow(offsets) => offsets.partition_point(|offset| before(usize::from(*offset))),
            Self::Wide(offsets) => offsets.partition_point(|offset| before(*offset as usize)),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::Narrow(offsets) => std::mem::size_of_val(&offsets[..]),
            Self::Wide(offsets) => std::mem::size_of_val(&offsets[..]),
        }
    }
}

/// Those of `offsets` in `list` that have a value, the greatest first; of one value the greatest offset.
fn descending(column: &PackedColumn, list: &Range<usize>, offsets: impl Iterator<Item = u32>) -> Vec<u32> {
    fn sorted<T: Ord>(mut pairs: Vec<(T, u32)>) -> Vec<u32> {
        pairs.sort_unstable_by(|one, other| other.cmp(one));
        pairs.into_iter().map(|(_, offset)| offset).collect()
    }
    let at = |offset: u32| list.start + offset as usize;
    let offsets = offsets.filter(|offset| column.has(at(*offset)));
    match column.data() {
        PackedData::Integers(values) => sorted(offsets.map(|offset| (values[at(offset)], offset)).collect()),
        _ => sorted(offsets.map(|offset| (column.get(at(offset)), offset)).collect()),
    }
}

impl EdgeBody {
    /// The edges of the body that are `asked` for, behind `after`, the newest first; `None` if its orders are
    /// by another property.
    ///
    /// Cost: what is taken; two binary searches where the answer doesn't begin with the newest. A long list that
    /// is read so for the first time is sorted: about 40 ns an edge, and three times that for datetimes.
    #[must_use]
    pub fn newest<'a>(
        &'a self,
        asked: &'a NewestEdges,
        after: Option<&'a Stamped>,
    ) -> Option<impl Iterator<Item = Stamped> + 'a> {
        let edge = |at: usize| asked.edge(VertexId(self.neighbors()[at]), self.discriminator(at));
        Some(self.newest_places(asked, after)?.map(move |(value, at)| (value, edge(at))))
    }

    /// As [`EdgeBody::newest`], with the place of each edge in the body instead of the edge.
    #[must_use]
    pub fn newest_places<'a>(
        &'a self,
        asked: &'a NewestEdges,
        after: Option<&'a Stamped>,
    ) -> Option<impl Iterator<Item = (Value, usize)> + 'a> {
        let row = asked.source.row();
        let list = self.range(row);
        let column = self.column(asked.key);
        let places = match column {
            Some(column) if list.len() > SHORT_LIST => {
                Cow::Borrowed(self.orders.places(self, row, asked.key, column)?)
            }
            Some(column) => Cow::Owned(OrderOffsets::of(column, &list)),
            None => Cow::Owned(OrderOffsets::Narrow(Box::default())),
        };
        let start = list.start;
        let valued = move |offset: usize| {
            let at = start + offset;
            let value =
                column.and_then(|column| column.get(at)).expect("edges without a value have no place");
            (value, at)
        };
        let edge = |at: usize| asked.edge(VertexId(self.neighbors()[at]), self.discriminator(at));
        let before = |offset| {
            let (value, at) = valued(offset);
            asked.range.ends_before(&value) || after.is_some_and(|after| (value, edge(at)) >= *after)
        };
        let from_newest = after.is_none() && asked.range.to == Bound::Unbounded;
        let first = if from_newest { 0 } else { places.partition_point(before) };
        let edges = (first..places.len()).map(move |at| valued(places.get(at)));
        Some(edges.take_while(|(value, _)| !asked.range.begins_after(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::net::Effect;
    use evergraph_graph::id::TypeId;
    use evergraph_graph::properties::Properties;

    const KEY: KeyId = KeyId(3);

    fn net(row: u16, neighbor: u32, effect: Effect) -> Net {
        Net { key: RecordKey::edge(row, neighbor, 0), effect, difference: 0 }
    }

    fn at(value: i64) -> Properties {
        Properties::new(vec![(KEY, Some(Value::I64(value)))])
    }

    fn question(row: u16) -> NewestEdges {
        NewestEdges::new(VertexId(u32::from(row)), TypeId(0), KEY)
    }

    fn values(body: &EdgeBody, row: u16) -> Vec<Option<i64>> {
        body.newest(&question(row), None).unwrap().map(|(value, _)| value.as_i64()).collect()
    }

    fn places(body: &EdgeBody, row: u16) -> Option<Arc<OrderOffsets>> {
        body.orders.0.get()?.of_row(row)?.get().cloned()
    }

    #[test]
    fn places_are_made_by_a_read_and_carried_by_merges_and_splits() {
        let lists: [(u16, u32); 3] = [(0, 100), (1, 100), (2, 5)];
        let edges = lists.into_iter().flat_map(|(row, edges)| (0..edges).map(move |target| (row, target)));
        let present = |(row, target)| net(row, 10 * target, Effect::Present(at(i64::from(target * 7 % 101))));
        let body = EdgeBody::empty().merged(&edges.map(present).collect::<Vec<_>>());
        assert!(body.orders.heap_bytes() == 0 && places(&body, 0).is_none());
        for row in [0, 1, 2] {
            assert!(values(&body, row).is_sorted_by(|one, next| one >= next));
        }
        assert!(places(&body, 0).is_some() && places(&body, 2).is_none(), "a short list has none");

        let changes = [
            net(1, 0, Effect::Absent),
            net(1, 5, Effect::Present(at(1000))),
            net(1, 10, Effect::Changed(at(-1))),
            net(1, 20, Effect::Changed(Properties::new(vec![(KEY, None)]))),
            net(1, 9999, Effect::Present(Properties::EMPTY)),
        ];
        let merged = body.merged(&changes);
        let same = |one: &EdgeBody, other: &EdgeBody, row| {
            Arc::ptr_eq(&places(one, row).unwrap(), &places(other, row).unwrap())
        };
        assert!(same(&body, &merged, 0) && !same(&body, &merged, 1), "only lists that changed are sorted");
        let found = values(&merged, 1);
        assert!(found.is_sorted_by(|one, next| one >= next));
        assert_eq!((found.len(), found[0], found[98]), (99, Some(1000), Some(-1)));

        let (rest, parts) = merged.split(vec![(1, merged.range(1))]);
        assert!(same(&merged, &rest, 0) && same(&merged, &parts[0].1, 1));
        assert_eq!(values(&parts[0].1, 1), found);
        assert!(rest.newest(&NewestEdges { key: KeyId(4), ..question(0) }, None).unwrap().next().is_none());
    }
}
