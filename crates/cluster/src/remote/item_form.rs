//! Item form: ids, lists and values, as the questions and answers of views have them in bytes.
//!
//! ```text
//! vertices   count:varint, then each as its distance to the one before, less 1: they ascend, each once
//! groups     the same
//! edges      count:varint, then each: (distance to the source before) * 2 + whether the type is another than before:varint
//!                                     type:varint, if it is another
//!                                     target * 2 + whether it has a discriminator:varint
//!                                     discriminator:varint, if it has one
//!            of the same source and type, the target is the distance to that before
//! list       each entry as an edge's target and discriminator
//! value      0 for none, or the form in files, whose first byte is not 0
//! item       4 or 12 bytes, as in entries of indexes
//! bound      0 start, 1 before a value, 2 at a value, 3 at a value and an item, 4 after a value, 5 end; then these
//! ```
//!
//! A neighbour in a list takes 1 to 5 bytes, by the distance to the one before: 2 at typical ones of a hub, 4 of a vertex with
//! few edges in a graph of 100 million.

use crate::planted::{Bug, planted};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::index_entry::{EDGE_ITEM_BYTES, ItemId, VERTEX_ITEM_BYTES};
use evergraph_graph::owner::Owner;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_bound::EntryBound;
use std::ops::Bound;

/// A neighbour and the discriminator of the edge to it.
pub type ListEntry = (VertexId, u16);

/// How many items may still come in a message: counted before memory is taken for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ItemRoom(usize);

impl ItemRoom {
    /// Room for `items`.
    #[must_use]
    pub fn new(items: usize) -> Self {
        Self(items)
    }

    /// Reads a count of items that take at least `least` bytes each.
    ///
    /// # Errors
    /// If so many can't follow, or may not.
    pub fn take_count(&mut self, reader: &mut Reader<'_>, least: usize) -> Decoded<usize> {
        let start = reader.clone();
        let count = reader.count(least)?;
        if count > self.0 && !planted(Bug::ItemsUnlimited) {
            return Err(start.error(format!("at most {} items expected, found {count}", self.0)));
        }
        self.0 = self.0.saturating_sub(count);
        Ok(count)
    }
}

/// Appends numbers that ascend, each once.
fn put_ascending(out: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u32>) {
    put_varint(out, numbers.len() as u64);
    let mut next = 0;
    for number in numbers {
        let number = u64::from(number);
        debug_assert!(number >= next, "items ascend, each once");
        put_varint(out, number.wrapping_sub(next));
        next = number + 1;
    }
}

/// Reads what [`put_ascending`] wrote of numbers below `end`.
fn take_ascending(reader: &mut Reader<'_>, room: &mut ItemRoom, end: u64) -> Decoded<Vec<u32>> {
    let count = room.take_count(reader, 1)?;
    let mut numbers = Vec::with_capacity(count);
    let mut next = 0u64;
    for _ in 0..count {
        let start = reader.clone();
        let number = next.checked_add(reader.varint()?).filter(|number| *number < end);
        let number = number.ok_or_else(|| start.error(format!("a number below {end} expected")))?;
        // Below 2^32, as `end` is at most that.
        numbers.push(number as u32);
        next = number + 1;
    }
    Ok(numbers)
}

/// Appends vertices, which ascend.
pub fn put_vertices(out: &mut Vec<u8>, vertices: &[VertexId]) {
    put_ascending(out, vertices.iter().map(|vertex| vertex.0));
}

/// Reads what [`put_vertices`] wrote.
///
/// # Errors
/// If there is something else, or more than there is room for.
pub fn take_vertices(reader: &mut Reader<'_>, room: &mut ItemRoom) -> Decoded<Vec<VertexId>> {
    Ok(take_ascending(reader, room, 1 << 32)?.into_iter().map(VertexId).collect())
}

/// Appends groups, which ascend.
pub fn put_groups(out: &mut Vec<u8>, groups: &[GroupId]) {
    put_ascending(out, groups.iter().map(|group| group.0));
}

/// Reads what [`put_groups`] wrote.
///
/// # Errors
/// As [`take_vertices`].
pub fn take_groups(reader: &mut Reader<'_>, room: &mut ItemRoom) -> Decoded<Vec<GroupId>> {
    Ok(take_ascending(reader, room, u64::from(GroupId::END))?.into_iter().map(GroupId).collect())
}

/// Puts entries of one list, which ascend.
#[derive(Debug, Default)]
pub struct ListWriter {
    before: u32,
}

impl ListWriter {
    /// Appends the next entry.
    pub fn put(&mut self, out: &mut Vec<u8>, (neighbor, discriminator): ListEntry) {
        debug_assert!(neighbor.0 >= self.before, "lists ascend");
        let distance = u64::from(neighbor.0.wrapping_sub(self.before));
        put_varint(out, distance << 1 | u64::from(discriminator != 0));
        if discriminator != 0 {
            put_varint(out, u64::from(discriminator));
        }
        self.before = neighbor.0;
    }
}

/// Reads what a [`ListWriter`] put.
#[derive(Debug, Default)]
pub struct ListReader {
    before: Option<ListEntry>,
}

impl ListReader {
    /// The next entry.
    ///
    /// # Errors
    /// If there is something else, or an entry that is not greater than that before.
    pub fn take(&mut self, reader: &mut Reader<'_>) -> Decoded<ListEntry> {
        let start = reader.clone();
        let head = reader.varint()?;
        let before = self.before.map_or(0, |(neighbor, _)| neighbor.0);
        let neighbor = u64::from(before).checked_add(head >> 1).and_then(|sum| u32::try_from(sum).ok());
        let discriminator = if head & 1 == 1 { take_u16(reader)? } else { 0 };
        let entry = neighbor
            .map(|neighbor| (VertexId(neighbor), discriminator))
            .filter(|entry| self.before.is_none_or(|before| *entry > before))
            .filter(|_| head & 1 == u64::from(discriminator != 0));
        let entry = entry.ok_or_else(|| start.error("entries of a list in ascending order expected"))?;
        self.before = Some(entry);
        Ok(entry)
    }
}

/// Appends edges, which ascend.
pub fn put_edges(out: &mut Vec<u8>, edges: &[EdgeId]) {
    put_varint(out, edges.len() as u64);
    let (mut before, mut list) = ((0, TypeId(0)), ListWriter::default());
    for edge in edges {
        let distance = u64::from(edge.source.0.wrapping_sub(before.0));
        let is_other_type = edge.edge_type != before.1;
        put_varint(out, distance << 1 | u64::from(is_other_type));
        if is_other_type {
            put_varint(out, u64::from(edge.edge_type.0));
        }
        if distance > 0 || is_other_type {
            list = ListWriter::default();
        }
        list.put(out, (edge.target, edge.discriminator));
        before = (edge.source.0, edge.edge_type);
    }
}

/// Reads what [`put_edges`] wrote.
///
/// # Errors
/// As [`take_vertices`].
pub fn take_edges(reader: &mut Reader<'_>, room: &mut ItemRoom) -> Decoded<Vec<EdgeId>> {
    let count = room.take_count(reader, 2)?;
    let mut edges: Vec<EdgeId> = Vec::with_capacity(count);
    let (mut before, mut list) = ((0, TypeId(0)), ListReader::default());
    for _ in 0..count {
        let start = reader.clone();
        let head = reader.varint()?;
        let source = u64::from(before.0).checked_add(head >> 1).and_then(|sum| u32::try_from(sum).ok());
        let source = source.ok_or_else(|| start.error("a vertex expected"))?;
        let edge_type = if head & 1 == 1 { TypeId(take_u16(reader)?) } else { before.1 };
        if head & 1 != u64::from(edge_type != before.1) {
            return Err(start.error("another edge type than before expected"));
        }
        if (source, edge_type) != before {
            list = ListReader::default();
        }
        let (target, discriminator) = list.take(reader)?;
        let edge = EdgeId { source: VertexId(source), edge_type, target, discriminator };
        if edges.last().is_some_and(|last| *last >= edge) {
            return Err(start.error("edges in ascending order expected"));
        }
        edges.push(edge);
        before = (source, edge_type);
    }
    Ok(edges)
}

/// Appends pairs of vertices, which ascend: as edges of one type without discriminators.
pub fn put_pairs(out: &mut Vec<u8>, pairs: &[(VertexId, VertexId)]) {
    put_varint(out, pairs.len() as u64);
    let mut before = (0, 0);
    for (source, target) in pairs {
        let distance = u64::from(source.0.wrapping_sub(before.0));
        put_varint(out, distance);
        let from = if distance == 0 { before.1 } else { 0 };
        put_varint(out, u64::from(target.0.wrapping_sub(from)));
        before = (source.0, target.0);
    }
}

/// Reads what [`put_pairs`] wrote.
///
/// # Errors
/// As [`take_vertices`].
pub fn take_pairs(reader: &mut Reader<'_>, room: &mut ItemRoom) -> Decoded<Vec<(VertexId, VertexId)>> {
    let count = room.take_count(reader, 2)?;
    let mut pairs: Vec<(VertexId, VertexId)> = Vec::with_capacity(count);
    let mut before = (0, 0);
    for _ in 0..count {
        let start = reader.clone();
        let sum = |from: u32, distance: u64| {
            u64::from(from).checked_add(distance).and_then(|sum| u32::try_from(sum).ok())
        };
        let distance = reader.varint()?;
        let source = sum(before.0, distance);
        let target = sum(if distance == 0 { before.1 } else { 0 }, reader.varint()?);
        let pair = source.zip(target).map(|(source, target)| (VertexId(source), VertexId(target)));
        let pair = pair.filter(|pair| pairs.last().is_none_or(|last| *pair > *last));
        let pair = pair.ok_or_else(|| start.error("pairs of vertices in ascending order expected"))?;
        before = (pair.0.0, pair.1.0);
        pairs.push(pair);
    }
    Ok(pairs)
}

/// Appends a value, if there is one.
pub fn put_value(out: &mut Vec<u8>, value: Option<&Value>) {
    match value {
        Some(value) => value.encode(out),
        None => out.push(0),
    }
}

/// Reads what [`put_value`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_value(reader: &mut Reader<'_>) -> Decoded<Option<Value>> {
    let mut ahead = reader.clone();
    if ahead.u8()? == 0 {
        *reader = ahead;
        return Ok(None);
    }
    Value::decode(reader).map(Some)
}

/// Appends an item of an index.
pub fn put_item(out: &mut Vec<u8>, item: ItemId) {
    item.put_order_bytes(out);
}

/// Reads what [`put_item`] wrote of an item of `owner`.
///
/// # Errors
/// If the bytes end.
pub fn take_item(reader: &mut Reader<'_>, owner: Owner) -> Decoded<ItemId> {
    let start = reader.clone();
    let length = match owner {
        Owner::Label(_) => VERTEX_ITEM_BYTES,
        Owner::EdgeType(_) => EDGE_ITEM_BYTES,
    };
    ItemId::from_order_bytes(reader.take(length)?).ok_or_else(|| start.error("an item expected"))
}

/// Appends a place between the entries of an index.
pub fn put_entry_bound(out: &mut Vec<u8>, bound: &EntryBound<ItemId>) {
    let (code, value, item) = match bound {
        EntryBound::Start => (0, None, None),
        EntryBound::Before(value) => (1, Some(value), None),
        EntryBound::At(value, None) => (2, Some(value), None),
        EntryBound::At(value, Some(item)) => (3, Some(value), Some(*item)),
        EntryBound::After(value) => (4, Some(value), None),
        EntryBound::End => (5, None, None),
    };
    out.push(code);
    if let Some(value) = value {
        value.encode(out);
    }
    if let Some(item) = item {
        put_item(out, item);
    }
}

/// Reads what [`put_entry_bound`] wrote, of an index of `owner`.
///
/// # Errors
/// If there is something else.
pub fn take_entry_bound(reader: &mut Reader<'_>, owner: Owner) -> Decoded<EntryBound<ItemId>> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        0 => EntryBound::Start,
        1 => EntryBound::Before(Value::decode(reader)?),
        2 => EntryBound::At(Value::decode(reader)?, None),
        3 => EntryBound::At(Value::decode(reader)?, Some(take_item(reader, owner)?)),
        4 => EntryBound::After(Value::decode(reader)?),
        5 => EntryBound::End,
        found => return Err(start.error(format!("a place in an index expected, found {found}"))),
    })
}

/// Appends an end of a range: 0 open, 1 included, 2 excluded; then its value.
pub fn put_range_end(out: &mut Vec<u8>, end: &Bound<Value>) {
    let (code, value) = match end {
        Bound::Unbounded => (0, None),
        Bound::Included(value) => (1, Some(value)),
        Bound::Excluded(value) => (2, Some(value)),
    };
    out.push(code);
    if let Some(value) = value {
        value.encode(out);
    }
}

/// Reads what [`put_range_end`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_range_end(reader: &mut Reader<'_>) -> Decoded<Bound<Value>> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        0 => Bound::Unbounded,
        1 => Bound::Included(Value::decode(reader)?),
        2 => Bound::Excluded(Value::decode(reader)?),
        found => return Err(start.error(format!("an end of a range expected, found {found}"))),
    })
}

/// Appends a plain side.
pub fn put_side(out: &mut Vec<u8>, side: Direction) {
    debug_assert!(side != Direction::Both, "a side is plain");
    out.push(u8::from(side == Direction::In));
}

/// Reads what [`put_side`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_side(reader: &mut Reader<'_>) -> Decoded<Direction> {
    Ok(if take_flag(reader)? { Direction::In } else { Direction::Out })
}

/// Reads 0 or 1.
///
/// # Errors
/// If there is something else.
pub fn take_flag(reader: &mut Reader<'_>) -> Decoded<bool> {
    let start = reader.clone();
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(start.error(format!("0 or 1 expected, found {found}"))),
    }
}

/// Reads a varint of at most 16 bits.
///
/// # Errors
/// If there is something else.
pub fn take_u16(reader: &mut Reader<'_>) -> Decoded<u16> {
    Ok(reader.at_most(u64::from(u16::MAX))? as u16)
}

/// Reads a varint of at most 32 bits.
///
/// # Errors
/// If there is something else.
pub fn take_u32(reader: &mut Reader<'_>) -> Decoded<u32> {
    Ok(reader.at_most(u64::from(u32::MAX))? as u32)
}

/// Appends a key that may be missing: 0 for none, or the key and 1.
pub fn put_key_after(out: &mut Vec<u8>, key: Option<KeyId>) {
    put_varint(out, key.map_or(0, |key| u64::from(key.0) + 1));
}

/// Reads what [`put_key_after`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_key_after(reader: &mut Reader<'_>) -> Decoded<Option<KeyId>> {
    let number = reader.at_most(u64::from(u16::MAX) + 1)?;
    Ok(number.checked_sub(1).map(|key| KeyId(key as u16)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use crate::remote::view_strategy::{any_edge, any_id};
    use evergraph_graph::id::LabelId;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    fn room() -> ItemRoom {
        ItemRoom::new(1000)
    }

    /// Bytes that are read are those that are written: there is one form.
    fn read_back<T>(
        bytes: &[u8],
        take: impl Fn(&mut Reader<'_>) -> Decoded<T>,
        put: impl Fn(&mut Vec<u8>, &T),
    ) {
        let mut reader = Reader::new(bytes);
        if let Ok(read) = take(&mut reader) {
            let mut again = Vec::new();
            put(&mut again, &read);
            assert_eq!(again, bytes[..reader.offset()]);
        }
    }

    proptest! {
        #[test]
        fn items_read_back(
            ids in btree_set(any_id(), 0..40), edges in btree_set(any_edge(), 0..40),
            pairs in btree_set((any_id(), any_id()), 0..40),
        ) {
            let vertices: Vec<_> = ids.iter().copied().map(VertexId).collect();
            let groups: Vec<_> = ids.iter().filter(|id| **id < GroupId::END).copied().map(GroupId).collect();
            let edges: Vec<_> = edges.into_iter().collect();
            let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (VertexId(a), VertexId(b))).collect();
            let mut bytes = Vec::new();
            put_vertices(&mut bytes, &vertices);
            put_groups(&mut bytes, &groups);
            put_edges(&mut bytes, &edges);
            put_pairs(&mut bytes, &pairs);
            let (mut reader, mut room) = (Reader::new(&bytes), room());
            prop_assert_eq!(take_vertices(&mut reader, &mut room).unwrap(), vertices);
            prop_assert_eq!(take_groups(&mut reader, &mut room).unwrap(), groups);
            prop_assert_eq!(take_edges(&mut reader, &mut room).unwrap(), edges);
            prop_assert_eq!(take_pairs(&mut reader, &mut room).unwrap(), pairs);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn lists_read_back_and_a_near_neighbour_takes_two_bytes(
            entries in btree_set((any_id(), prop_oneof![Just(0u16), any::<u16>()]), 0..60),
            distances in vec(0..8000u32, 0..200),
        ) {
            let (mut bytes, mut writer) = (Vec::new(), ListWriter::default());
            let entries: Vec<_> = entries.into_iter().map(|(id, number)| (VertexId(id), number)).collect();
            entries.iter().for_each(|entry| writer.put(&mut bytes, *entry));
            let (mut reader, mut list) = (Reader::new(&bytes), ListReader::default());
            for entry in &entries {
                prop_assert_eq!(list.take(&mut reader).unwrap(), *entry);
            }
            prop_assert!(reader.is_empty());
            let (mut bytes, mut writer, mut at) = (Vec::new(), ListWriter::default(), 0);
            for distance in &distances {
                at += distance + 1;
                writer.put(&mut bytes, (VertexId(at), 0));
            }
            prop_assert!(bytes.len() <= 2 * distances.len());
        }

        #[test]
        fn any_bytes_are_refused_or_the_form_of_what_is_read(bytes in vec(any::<u8>(), 0..60)) {
            read_back(&bytes, |reader| take_vertices(reader, &mut room()), |out, read| put_vertices(out, read));
            read_back(&bytes, |reader| take_groups(reader, &mut room()), |out, read| put_groups(out, read));
            read_back(&bytes, |reader| take_edges(reader, &mut room()), |out, read| put_edges(out, read));
            read_back(&bytes, |reader| take_pairs(reader, &mut room()), |out, read| put_pairs(out, read));
            read_back(&bytes, take_value, |out, read| put_value(out, read.as_ref()));
            read_back(&bytes, take_key_after, |out, read| put_key_after(out, *read));
            read_back(&bytes, take_side, |out, read| put_side(out, *read));
            read_back(&bytes, take_range_end, put_range_end);
            for owner in [Owner::Label(LabelId(1)), Owner::EdgeType(TypeId(1))] {
                read_back(&bytes, |reader| take_entry_bound(reader, owner), put_entry_bound);
            }
            let entries = |reader: &mut Reader<'_>| {
                let mut list = ListReader::default();
                (0..3).map(|_| list.take(reader)).collect::<Decoded<Vec<_>>>()
            };
            read_back(&bytes, entries, |out, read: &Vec<ListEntry>| {
                let mut writer = ListWriter::default();
                read.iter().for_each(|entry| writer.put(out, *entry));
            });
        }
    }

    #[test]
    fn the_form_of_items_stays() {
        let edge = |source, edge_type, target, discriminator| EdgeId {
            source: VertexId(source),
            edge_type: TypeId(edge_type),
            target: VertexId(target),
            discriminator,
        };
        let mut bytes = Vec::new();
        put_vertices(&mut bytes, &[3, 4, 300].map(VertexId));
        assert_eq!(bytes, [3, 3, 0, 0xa7, 2]);
        bytes.clear();
        put_edges(&mut bytes, &[edge(1, 0, 5, 0), edge(1, 0, 5, 2), edge(1, 7, 5, 0), edge(9, 7, 1, 0)]);
        assert_eq!(bytes, [4, 2, 10, 0, 1, 2, 1, 7, 10, 16, 2]);
        bytes.clear();
        put_pairs(
            &mut bytes,
            &[(VertexId(1), VertexId(5)), (VertexId(1), VertexId(6)), (VertexId(2), VertexId(0))],
        );
        assert_eq!(bytes, [3, 1, 5, 0, 1, 1, 0]);
    }

    #[test]
    fn more_items_than_there_is_room_for_are_refused() {
        let mut bytes = Vec::new();
        put_vertices(&mut bytes, &[1, 2, 3].map(VertexId));
        let take = |items| take_vertices(&mut Reader::new(&bytes), &mut ItemRoom::new(items));
        assert!(take(2).is_err(), "three items came where two may");
        assert_eq!(take(3).map(|found| found.len()), Ok(3));
        // A count that nothing follows takes no memory, however large the room.
        let mut announced = Vec::new();
        put_varint(&mut announced, u64::MAX);
        assert!(take_edges(&mut Reader::new(&announced), &mut ItemRoom::new(usize::MAX)).is_err());
    }

    #[test]
    fn planted_bugs_are_found() {
        let items = more_items_than_there_is_room_for_are_refused;
        assert_found(Bug::ItemsUnlimited, items, "three items came where two may");
    }
}
