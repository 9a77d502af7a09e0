//! View answering: answers the questions of a coordinator's view from a snapshot of one partition.
//!
//! ```text
//! message ──> question, question, ...      each about items of this partition, or refused
//!                 │
//! snapshot ───────┤ a few items at a time, between which the asker's patience is looked at
//!                 v
//!             answer, answer, as many items as have room
//! ```
//!
//! A function of the snapshot and the message: it sends nothing and keeps nothing. Out lists, their properties and indexes of
//! edges lie with the source of an edge, in lists with its target; a question about a group that is not of this partition is
//! refused, since what is not here would look as if it were nowhere.

use crate::planted::{Bug, planted};
use crate::remote::answer_writer::{AnswersWriter, OpenAnswer, PageBytes, too_large};
use crate::remote::index_pages::{INDEX_ENTRIES_AT_ONCE, PageEnd, of_kind, take_pairs};
use crate::remote::item_form::{ListEntry, ListWriter, put_item, put_value};
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::remote::view_answer::{
    GroupFacts, put_degrees_by_type, put_facts, put_index_size, put_label, put_live, put_newest_edge,
    put_pair, put_property,
};
use crate::remote::view_question::{ViewQuestion, ViewQuestions};
use evergraph_graph::bytes::put_varint;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexStatistics};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::{OrderedMatches, RangeCursor};
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::directory::Indexed;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::view::{GroupBits, IndexSize, View, runs};

/// Items that are read at once, of a kind that takes few bytes each.
const ITEMS_AT_ONCE: usize = 4096;
/// Groups whose rows are read at once.
const GROUPS_AT_ONCE: usize = 64;
/// Bytes of values that are read at once, about: nobody knows how long values are before they are read.
const VALUE_BYTES_AT_ONCE: usize = 256 << 10;
/// Values that are read first: each may have 16 MiB.
const FIRST_VALUES: usize = 4;
/// Entries of a list that are read at once.
const LIST_ENTRIES_AT_ONCE: usize = 1 << 16;
/// Newest edges that are read at once, and answered.
const NEWEST_AT_ONCE: usize = 512;
/// The most bytes of an edge with its properties that travel together.
const EDGE_BYTES_MAX: usize = CONTENT_BYTES_MAX - 64;

/// Answers the questions of a message from `snapshot`, which is that of a store of `own` groups: the first ones, as many as
/// have room in `bytes_max` bytes and in what the asker takes. `check_time` fails when the asker does not wait any more.
///
/// Cost: that of the reads, and the bytes of the answer in memory.
///
/// # Errors
/// `invalid` if the message is none, or about what is not of this partition; `limit` if a single property has no room in a
/// message; what `check_time` says; errors of reading.
pub fn answer_view<E: Engine>(
    snapshot: &Snapshot<E>,
    own: OwnGroups,
    asked: &[u8],
    bytes_max: usize,
    check_time: CheckTime<'_>,
) -> Result<Vec<u8>> {
    let asked = ViewQuestions::decode(asked);
    let asked = asked.map_err(|error| Error::invalid(format!("questions of a view expected: {error}")))?;
    let writer = AnswersWriter::new(asked.answer_bytes_max.min(bytes_max));
    let mut answering = ViewAnswering { snapshot, view: snapshot.view(), own, check_time, writer };
    for question in &asked.questions {
        check_time()?;
        let extent = answering.answer(question)?;
        if extent == AnsweredExtent::Partly || answering.writer.is_full() {
            break;
        }
    }
    Ok(answering.writer.finish())
}

/// How much of a question was answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnsweredExtent {
    /// All that is answered at once.
    Whole,
    /// What there was room for: the message ends.
    Partly,
}

struct ViewAnswering<'a, E: Engine> {
    snapshot: &'a Snapshot<E>,
    view: E::View<'a>,
    own: OwnGroups,
    check_time: CheckTime<'a>,
    writer: AnswersWriter,
}

impl<'a, E: Engine> ViewAnswering<'a, E> {
    fn answer(&mut self, question: &ViewQuestion) -> Result<AnsweredExtent> {
        self.check_own(question)?;
        match question {
            ViewQuestion::Groups { groups } => self.each(groups, GROUPS_AT_ONCE, read_facts, put_facts),
            ViewQuestion::Live { groups } => self.each(groups, GROUPS_AT_ONCE, read_live, put_live),
            ViewQuestion::Labels { vertices } => {
                self.each(vertices, ITEMS_AT_ONCE, read_labels, |out, label| put_label(out, *label))
            }
            ViewQuestion::VertexValues { vertices, key } => {
                self.values(vertices, |view, vertices, values| view.vertex_properties(vertices, *key, values))
            }
            ViewQuestion::EdgeValues { edges, key } => {
                self.values(edges, |view, edges, values| view.edge_properties(edges, *key, values))
            }
            ViewQuestion::VertexMaps { vertices, after } => {
                self.maps(vertices, *after, |view, vertex| view.vertex_property_map(vertex))
            }
            ViewQuestion::EdgeMaps { edges, after } => {
                self.maps(edges, *after, |view, edge| view.edge_property_map(edge))
            }
            ViewQuestion::Lists { vertices, edge_type, side, after, limit } => {
                self.lists(vertices, (*edge_type, *side), *after, *limit)
            }
            ViewQuestion::Degrees { vertices, edge_type, side } => self.each(
                vertices,
                ITEMS_AT_ONCE,
                |view, vertices| read_degrees(view, vertices, (*edge_type, *side)),
                |out, degree| put_varint(out, *degree),
            ),
            ViewQuestion::DegreesByType { vertices, side } => self.each(
                vertices,
                ITEMS_AT_ONCE,
                |view, vertices| read_degrees_by_type(view, vertices, *side),
                |out, degrees| put_degrees_by_type(out, degrees),
            ),
            ViewQuestion::Edges { edges } => {
                self.each(edges, ITEMS_AT_ONCE, read_edges, |out, found| out.push(u8::from(*found)))
            }
            ViewQuestion::CountsBetween { pairs, edge_type } => self.each(
                pairs,
                ITEMS_AT_ONCE,
                |view, pairs| read_counts(view, pairs, *edge_type),
                |out, count| put_varint(out, u64::from(*count)),
            ),
            ViewQuestion::Newest { asked, after, limit, keys } => {
                self.newest(asked, after.as_ref(), *limit, keys)
            }
            ViewQuestion::ItemsOfValue { index, value, after, limit } => match index.owner {
                Owner::Label(_) => self.items::<VertexId>(*index, value, *after, *limit),
                Owner::EdgeType(_) => self.items::<EdgeId>(*index, value, *after, *limit),
            },
            ViewQuestion::PairsBetween { index, after, until, descending, limit } => match index.owner {
                Owner::Label(_) => self.pairs::<VertexId>(*index, (after, until), *descending, *limit),
                Owner::EdgeType(_) => self.pairs::<EdgeId>(*index, (after, until), *descending, *limit),
            },
            ViewQuestion::IndexSizes => self.index_sizes(),
        }
    }

    /// Refuses what is not about groups of this partition.
    fn check_own(&self, question: &ViewQuestion) -> Result<()> {
        let stranger = match question {
            ViewQuestion::Groups { groups } | ViewQuestion::Live { groups } => {
                self.stranger(groups.iter().copied())
            }
            ViewQuestion::Labels { vertices }
            | ViewQuestion::VertexValues { vertices, .. }
            | ViewQuestion::VertexMaps { vertices, .. }
            | ViewQuestion::Lists { vertices, .. }
            | ViewQuestion::Degrees { vertices, .. }
            | ViewQuestion::DegreesByType { vertices, .. } => {
                self.stranger(vertices.iter().map(|vertex| vertex.group()))
            }
            ViewQuestion::Edges { edges }
            | ViewQuestion::EdgeValues { edges, .. }
            | ViewQuestion::EdgeMaps { edges, .. } => {
                self.stranger(edges.iter().map(|edge| edge.source.group()))
            }
            ViewQuestion::CountsBetween { pairs, .. } => {
                self.stranger(pairs.iter().map(|(source, _)| source.group()))
            }
            ViewQuestion::Newest { asked, .. } => self.stranger(std::iter::once(asked.source.group())),
            ViewQuestion::ItemsOfValue { .. }
            | ViewQuestion::PairsBetween { .. }
            | ViewQuestion::IndexSizes => None,
        };
        match stranger {
            Some(group) => {
                Err(Error::invalid(format!("group {} is not of {}, which was asked", group.0, self.own)))
            }
            None => Ok(()),
        }
    }

    /// The first group that is not of this partition.
    fn stranger(&self, mut groups: impl Iterator<Item = GroupId>) -> Option<GroupId> {
        let found = groups.find(|group| !self.own.contains(*group));
        found.filter(|_| !planted(Bug::StrangeGroupAnswered))
    }

    /// Answers items that take few bytes each.
    fn each<T, A>(
        &mut self,
        items: &[T],
        at_once: usize,
        read: impl Fn(&E::View<'a>, &[T]) -> Result<Vec<A>>,
        put: impl Fn(&mut Vec<u8>, &A),
    ) -> Result<AnsweredExtent> {
        let mut answer = self.writer.begin();
        for items in items.chunks(at_once) {
            (self.check_time)()?;
            for found in read(&self.view, items)? {
                if !self.writer.put(&mut answer, |out| put(out, &found))? {
                    return Ok(self.end_partly(answer));
                }
            }
        }
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    /// Answers values, which may take many bytes each.
    fn values<T>(
        &mut self,
        items: &[T],
        read: impl Fn(&E::View<'a>, &[T], &mut Vec<Option<Value>>) -> Result<()>,
    ) -> Result<AnsweredExtent> {
        let mut answer = self.writer.begin();
        let (mut left, mut at_once, mut values) = (items, FIRST_VALUES, Vec::new());
        while !left.is_empty() {
            (self.check_time)()?;
            let (now, behind) = left.split_at(at_once.min(left.len()));
            values.clear();
            read(&self.view, now, &mut values)?;
            let mut bytes = 0;
            for value in &values {
                if !self.writer.put(&mut answer, |out| put_value(out, value.as_ref()))? {
                    return Ok(self.end_partly(answer));
                }
                bytes += size_of::<Value>() + value.as_ref().map_or(0, Value::heap_bytes);
            }
            left = behind;
            at_once = values_at_once(now.len(), bytes);
        }
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    /// Answers all properties of items; of the first one, those behind `after`.
    fn maps<T: Copy>(
        &mut self,
        items: &[T],
        mut after: Option<KeyId>,
        read: impl Fn(&E::View<'a>, T) -> Result<Vec<(KeyId, Value)>>,
    ) -> Result<AnsweredExtent> {
        let (mut answer, mut page) = (self.writer.begin(), PageBytes::default());
        for item in items {
            (self.check_time)()?;
            let Some(room) = self.writer.page_room() else { return Ok(self.end_partly(answer)) };
            let all = read(&self.view, *item)?;
            let start = after.take().map_or(0, |after| all.partition_point(|(key, _)| *key <= after));
            page.clear();
            let without_room = all[start..].iter().find(|(key, value)| {
                let put = |out: &mut Vec<u8>| put_property(out, *key, value);
                let is_put =
                    page.put(room, put) || page.count() == 0 && page.put(self.writer.first_entry_room(), put);
                !is_put
            });
            if let Some((_, value)) = without_room.filter(|_| page.count() == 0) {
                if self.writer.is_empty() {
                    return Err(too_large(value.heap_bytes()));
                }
                return Ok(self.end_partly(answer));
            }
            let is_last = without_room.is_none();
            if !self.writer.put(&mut answer, |out| page.encode(out, is_last))? {
                return Ok(self.end_partly(answer));
            }
        }
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    /// Answers lists; of the first vertex, what is behind `after`.
    fn lists(
        &mut self,
        vertices: &[VertexId],
        list: (TypeId, Direction),
        mut after: Option<ListEntry>,
        limit: u32,
    ) -> Result<AnsweredExtent> {
        let (mut answer, mut page) = (self.writer.begin(), PageBytes::default());
        for vertex in vertices {
            let Some(room) = self.writer.page_room() else { return Ok(self.end_partly(answer)) };
            page.clear();
            let is_last = self.read_list(*vertex, list, after.take(), limit, (room, &mut page))?;
            if !self.writer.put(&mut answer, |out| page.encode(out, is_last))? {
                return Ok(self.end_partly(answer));
            }
        }
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    /// Puts what has room of a list; whether that is all behind `after`.
    fn read_list(
        &self,
        vertex: VertexId,
        (edge_type, side): (TypeId, Direction),
        mut after: Option<ListEntry>,
        limit: u32,
        (room, page): (usize, &mut PageBytes),
    ) -> Result<bool> {
        let (mut entries, mut list) = (Vec::new(), ListWriter::default());
        loop {
            (self.check_time)()?;
            entries.clear();
            let left = u64::from(limit) - page.count();
            let wanted = left.min(LIST_ENTRIES_AT_ONCE as u64) as usize;
            self.view.neighbors(vertex, edge_type, side, after, wanted, &mut entries)?;
            let has_room = entries.iter().all(|entry| page.put(room, |out| list.put(out, *entry)));
            if !has_room || page.count() == u64::from(limit) {
                return Ok(false);
            }
            if entries.len() < wanted {
                return Ok(true);
            }
            after = entries.last().copied();
        }
    }

    fn newest(
        &mut self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: u32,
        keys: &[KeyId],
    ) -> Result<AnsweredExtent> {
        let mut cursor = RangeCursor { after: after.cloned(), done: false };
        let mut ranked = OrderedMatches::default();
        let mut columns: Vec<_> = keys.iter().map(|_| Column::new(ValueType::Any)).collect();
        let wanted = (limit as usize).min(NEWEST_AT_ONCE);
        self.snapshot.newest_with_properties(asked, &mut cursor, wanted, &mut ranked, keys, &mut columns)?;
        let has_columns = match ranked.values.first().zip(ranked.items.first()) {
            Some((value, edge)) => {
                let mut first = Vec::new();
                put_row(&mut first, (value, *edge), &columns, 0);
                first.len() <= EDGE_BYTES_MAX
            }
            None => true,
        };
        if !has_columns {
            columns.clear();
        }
        let mut answer = self.writer.begin();
        self.writer.put_flag(has_columns);
        for (row, (value, edge)) in ranked.values.iter().zip(&ranked.items).enumerate() {
            if !self.writer.put(&mut answer, |out| put_row(out, (value, *edge), &columns, row))? {
                return Ok(self.end_page_partly(answer));
            }
        }
        self.writer.put_flag(cursor.done);
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    fn items<I: Indexed>(
        &mut self,
        index: IndexId,
        value: &Value,
        after: Option<ItemId>,
        limit: u32,
    ) -> Result<AnsweredExtent> {
        let mut after = after.map(of_kind::<I>).transpose()?;
        let (mut answer, mut found) = (self.writer.begin(), Vec::new());
        let (mut left, mut is_last) = (limit as usize, false);
        while left > 0 && !is_last {
            found.clear();
            let wanted = left.min(INDEX_ENTRIES_AT_ONCE);
            self.snapshot.items_with_value(index, value, after, wanted, self.check_time, &mut found)?;
            for item in &found {
                if !self.writer.put(&mut answer, |out| put_item(out, item.item_id()))? {
                    return Ok(self.end_page_partly(answer));
                }
            }
            is_last = found.len() < wanted;
            left -= found.len();
            after = found.last().copied().or(after);
        }
        self.writer.put_flag(is_last);
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    fn pairs<I: Indexed>(
        &mut self,
        index: IndexId,
        (after, until): (&EntryBound<ItemId>, &EntryBound<ItemId>),
        descending: bool,
        limit: u32,
    ) -> Result<AnsweredExtent> {
        let mut answer = self.writer.begin();
        let (places, how) = ((after, until), (descending, limit));
        let end = take_pairs::<E, I>(self.snapshot, index, places, how, self.check_time, |value, item| {
            self.writer.put(&mut answer, |out| put_pair(out, &value, item))
        })?;
        if end == PageEnd::NoRoom {
            return Ok(self.end_page_partly(answer));
        }
        self.writer.put_flag(end == PageEnd::Last);
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    fn index_sizes(&mut self) -> Result<AnsweredExtent> {
        let mut answer = self.writer.begin();
        for (index, size) in sizes_of_indexes(self.snapshot) {
            self.writer.put_anyway(&mut answer, |out| put_index_size(out, &index, &size))?;
        }
        self.writer.end(answer);
        Ok(AnsweredExtent::Whole)
    }

    fn end_partly(&mut self, answer: OpenAnswer) -> AnsweredExtent {
        match answer.count() {
            0 => self.writer.take_back(answer),
            _ => self.writer.end(answer),
        }
        AnsweredExtent::Partly
    }

    /// The same for an answer that ends with a flag.
    fn end_page_partly(&mut self, answer: OpenAnswer) -> AnsweredExtent {
        if answer.count() > 0 {
            self.writer.put_flag(false);
        }
        self.end_partly(answer)
    }
}

/// How many values are read at once after `count` of them took so many bytes: as many as take
/// [`VALUE_BYTES_AT_ONCE`] bytes if they are alike. At most twice as many as before, since behind short ones long ones may come.
fn values_at_once(count: usize, bytes: usize) -> usize {
    let alike = VALUE_BYTES_AT_ONCE * count / bytes.max(1);
    alike.clamp(1, (2 * count).clamp(1, ITEMS_AT_ONCE))
}

fn put_row(out: &mut Vec<u8>, (value, edge): (&Value, EdgeId), columns: &[Column], row: usize) {
    put_newest_edge(out, value, edge, columns.iter().map(|column| column.get(row)));
}

fn read_live<V: View>(view: &V, groups: &[GroupId]) -> Result<Vec<GroupBits>> {
    groups.iter().map(|group| view.live(*group)).collect()
}

/// The labels of vertices.
pub(super) fn read_labels<V: View>(view: &V, vertices: &[VertexId]) -> Result<Vec<Option<LabelId>>> {
    let mut labels = vec![None; vertices.len()];
    view.labels(vertices, &mut labels)?;
    Ok(labels)
}

/// The degrees of vertices.
pub(super) fn read_degrees<V: View>(
    view: &V,
    vertices: &[VertexId],
    (edge_type, side): (TypeId, Direction),
) -> Result<Vec<u64>> {
    let mut degrees = vec![0; vertices.len()];
    view.degrees(vertices, edge_type, side, &mut degrees)?;
    Ok(degrees)
}

/// Whether edges are there.
pub(super) fn read_edges<V: View>(view: &V, edges: &[EdgeId]) -> Result<Vec<bool>> {
    let mut found = vec![false; edges.len()];
    view.has_edges(edges, &mut found)?;
    Ok(found)
}

/// How many edges there are between pairs of vertices.
pub(super) fn read_counts<V: View>(
    view: &V,
    pairs: &[(VertexId, VertexId)],
    edge_type: TypeId,
) -> Result<Vec<u32>> {
    let mut counts = vec![0; pairs.len()];
    view.count_edges_between(pairs, edge_type, &mut counts)?;
    Ok(counts)
}

/// The sizes of the indexes that a snapshot's store has.
pub(super) fn sizes_of_indexes<E: Engine>(snapshot: &Snapshot<E>) -> Vec<(IndexId, IndexSize)> {
    let size = |index: IndexStatistics| {
        let (entries, bytes, file_bytes) = (index.entries, index.bytes, index.file_bytes);
        (index.definition.id, IndexSize { entries, bytes, file_bytes })
    };
    snapshot.indexes().into_iter().map(size).collect()
}

/// What is known of groups.
pub(super) fn read_facts<V: View>(view: &V, groups: &[GroupId]) -> Result<Vec<GroupFacts>> {
    let facts = groups.iter().map(|group| {
        let out = view.edge_types(*group, Direction::Out)?.into_iter();
        let out = out.map(|edge_type| Ok((edge_type, view.group_edge_count(*group, edge_type)?)));
        let out = out.collect::<Result<_>>()?;
        Ok(GroupFacts { out, into: view.edge_types(*group, Direction::In)? })
    });
    facts.collect()
}

fn read_degrees_by_type<V: View>(
    view: &V,
    vertices: &[VertexId],
    side: Direction,
) -> Result<Vec<Vec<(TypeId, u64)>>> {
    let mut by_type = vec![Vec::new(); vertices.len()];
    for (vertices, by_type) in runs(vertices, by_type.as_mut_slice(), |a, b| a.group() == b.group()) {
        for edge_type in view.edge_types(vertices[0].group(), side)? {
            let mut degrees = vec![0; vertices.len()];
            view.degrees(vertices, edge_type, side, &mut degrees)?;
            for (degree, by_type) in degrees.into_iter().zip(&mut *by_type) {
                if degree > 0 {
                    by_type.push((edge_type, degree));
                }
            }
        }
    }
    Ok(by_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_steps_that_grow_while_they_are_short() {
        let mut steps = vec![FIRST_VALUES];
        while steps.len() < 13 {
            let count = steps[steps.len() - 1];
            steps.push(values_at_once(count, count * size_of::<Value>()));
        }
        assert_eq!(steps[..4], [4, 8, 16, 32]);
        assert_eq!(steps[12], ITEMS_AT_ONCE);
        let large = 16 << 20;
        assert_eq!([values_at_once(4, 4 * large), values_at_once(1, large)], [1, 1]);
        assert_eq!(values_at_once(4096, large), 64, "some were long: as if all of them were");
        assert_eq!(values_at_once(0, 0), 1);
    }
}
