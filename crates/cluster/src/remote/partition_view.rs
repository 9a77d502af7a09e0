//! Partition view: a partition of the reader's own node, read in the thread that asks, without questions and answers.
//!
//! ```text
//! RemoteView ── read ──> at hand? ── yes ──> store                                  nothing is encoded; what indexes find is kept
//!                         └ no, or an error ──> announced, asked, kept              another copy may answer
//! ```
//!
//! It shows what the answers of [`view_answering`](crate::remote::view_answering) show, item by item. Whoever reads it asks about
//! groups of its partition alone: others look as if they were nowhere.

use crate::planted::{Bug, planted};
use crate::remote::index_pages::{PageEnd, of_kind, take_pairs};
use crate::remote::item_form::ListEntry;
use crate::remote::view_answer::{AnswerPage, GroupFacts, ViewAnswer};
use crate::remote::view_answering::{
    read_counts, read_degrees, read_edges, read_facts, read_labels, sizes_of_indexes,
};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::owner::Owner;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::directory::Indexed;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::view::{GroupBits, View as _};

/// A partition at one moment. Its methods show what those of [`View`](evergraph_storage::view::View) of the same names do.
///
/// # Errors
/// Errors of reading. What was appended until then means nothing.
pub trait PartitionView: Send + Sync {
    /// What is known of groups.
    ///
    /// # Errors
    /// As the trait.
    fn facts(&self, groups: &[GroupId]) -> Result<Vec<GroupFacts>>;

    /// As `View::edge_types`.
    ///
    /// # Errors
    /// As the trait.
    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>>;

    /// As `View::group_edge_count`.
    ///
    /// # Errors
    /// As the trait.
    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64>;

    /// As `View::live`.
    ///
    /// # Errors
    /// As the trait.
    fn live(&self, group: GroupId) -> Result<GroupBits>;

    /// As `View::labels`.
    ///
    /// # Errors
    /// As the trait.
    fn labels(&self, vertices: &[VertexId]) -> Result<Vec<Option<LabelId>>>;

    /// As `View::vertex_properties`.
    ///
    /// # Errors
    /// As the trait.
    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()>;

    /// As `View::vertex_property_map`.
    ///
    /// # Errors
    /// As the trait.
    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>>;

    /// As `View::neighbors`.
    ///
    /// # Errors
    /// As the trait.
    fn neighbors(
        &self,
        vertex: VertexId,
        list_of: (TypeId, Direction),
        after: Option<ListEntry>,
        limit: usize,
        list: &mut Vec<ListEntry>,
    ) -> Result<()>;

    /// As `View::degrees`.
    ///
    /// # Errors
    /// As the trait.
    fn degrees(&self, vertices: &[VertexId], list_of: (TypeId, Direction)) -> Result<Vec<u64>>;

    /// As `View::has_edges`.
    ///
    /// # Errors
    /// As the trait.
    fn has_edges(&self, edges: &[EdgeId]) -> Result<Vec<bool>>;

    /// As `View::count_edges_between`.
    ///
    /// # Errors
    /// As the trait.
    fn count_edges_between(&self, pairs: &[(VertexId, VertexId)], edge_type: TypeId) -> Result<Vec<u32>>;

    /// As `View::edge_properties`.
    ///
    /// # Errors
    /// As the trait.
    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()>;

    /// As `View::edge_property_map`.
    ///
    /// # Errors
    /// As the trait.
    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>>;

    /// The answer to a question about an index; `None` for other questions. Of pairs, whose values may be long, it has as many as
    /// take `bytes_max` bytes, and at least one. `check_time` fails when the reader does not wait any more, for a scan where there
    /// is no index yet.
    ///
    /// # Errors
    /// What `check_time` says; as the trait.
    fn of_index(
        &self,
        question: &ViewQuestion,
        bytes_max: usize,
        check_time: CheckTime<'_>,
    ) -> Result<Option<ViewAnswer>>;
}

impl<E: Engine> PartitionView for Snapshot<E> {
    fn facts(&self, groups: &[GroupId]) -> Result<Vec<GroupFacts>> {
        read_facts(&self.view(), groups)
    }

    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        self.view().edge_types(group, side)
    }

    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64> {
        self.view().group_edge_count(group, edge_type)
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        self.view().live(group)
    }

    fn labels(&self, vertices: &[VertexId]) -> Result<Vec<Option<LabelId>>> {
        read_labels(&self.view(), vertices)
    }

    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        self.view().vertex_properties(vertices, key, values)
    }

    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>> {
        self.view().vertex_property_map(vertex)
    }

    fn neighbors(
        &self,
        vertex: VertexId,
        (edge_type, side): (TypeId, Direction),
        after: Option<ListEntry>,
        limit: usize,
        list: &mut Vec<ListEntry>,
    ) -> Result<()> {
        self.view().neighbors(vertex, edge_type, side, after, limit, list)
    }

    fn degrees(&self, vertices: &[VertexId], list_of: (TypeId, Direction)) -> Result<Vec<u64>> {
        read_degrees(&self.view(), vertices, list_of)
    }

    fn has_edges(&self, edges: &[EdgeId]) -> Result<Vec<bool>> {
        read_edges(&self.view(), edges)
    }

    fn count_edges_between(&self, pairs: &[(VertexId, VertexId)], edge_type: TypeId) -> Result<Vec<u32>> {
        read_counts(&self.view(), pairs, edge_type)
    }

    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
        self.view().edge_properties(edges, key, values)
    }

    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>> {
        self.view().edge_property_map(edge)
    }

    fn of_index(
        &self,
        question: &ViewQuestion,
        bytes_max: usize,
        check_time: CheckTime<'_>,
    ) -> Result<Option<ViewAnswer>> {
        Ok(Some(match question {
            ViewQuestion::ItemsOfValue { index, value, after, limit } => {
                let found = match index.owner {
                    Owner::Label(_) => {
                        items::<E, VertexId>(self, *index, value, (*after, *limit), check_time)
                    }
                    Owner::EdgeType(_) => {
                        items::<E, EdgeId>(self, *index, value, (*after, *limit), check_time)
                    }
                };
                ViewAnswer::Items(found?)
            }
            ViewQuestion::PairsBetween { index, after, until, descending, limit } => {
                let (places, how) = ((after, until), (*descending, *limit));
                let found = match index.owner {
                    Owner::Label(_) => pairs::<E, VertexId>(self, *index, places, how, bytes_max, check_time),
                    Owner::EdgeType(_) => {
                        pairs::<E, EdgeId>(self, *index, places, how, bytes_max, check_time)
                    }
                };
                ViewAnswer::Pairs(found?)
            }
            ViewQuestion::IndexSizes => ViewAnswer::IndexSizes(sizes_of_indexes(self)),
            _ => return Ok(None),
        }))
    }
}

fn items<E: Engine, I: Indexed>(
    snapshot: &Snapshot<E>,
    index: IndexId,
    value: &Value,
    (after, limit): (Option<ItemId>, u32),
    check_time: CheckTime<'_>,
) -> Result<AnswerPage<ItemId>> {
    let (after, limit) = (after.map(of_kind::<I>).transpose()?, limit as usize);
    let mut found = Vec::new();
    snapshot.items_with_value::<I>(index, value, after, limit, check_time, &mut found)?;
    let is_last = found.len() < limit;
    Ok(AnswerPage { entries: found.iter().map(|item| item.item_id()).collect(), is_last })
}

fn pairs<E: Engine, I: Indexed>(
    snapshot: &Snapshot<E>,
    index: IndexId,
    places: (&EntryBound<ItemId>, &EntryBound<ItemId>),
    how: (bool, u32),
    bytes_max: usize,
    check_time: CheckTime<'_>,
) -> Result<AnswerPage<(Value, ItemId)>> {
    let (mut entries, mut bytes) = (Vec::new(), 0);
    let end = take_pairs::<E, I>(snapshot, index, places, how, check_time, |value, item| {
        bytes += size_of::<(Value, ItemId)>() + value.heap_bytes();
        let has_room = bytes <= bytes_max || entries.is_empty() || planted(Bug::OwnPagesUnbounded);
        if has_room {
            entries.push((value, item));
        }
        Ok(has_room)
    })?;
    Ok(AnswerPage { entries, is_last: end == PageEnd::Last })
}
