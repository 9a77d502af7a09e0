//! Random questions of views and answers to them for property tests: of every kind, about few items.

use crate::remote::item_form::ListEntry;
use crate::remote::view_answer::{AnswerPage, GroupFacts, NewestPage, ViewAnswer};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::owner::Owner;
use evergraph_graph::value::Value;
use evergraph_graph::value::strategy::any_value;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::view::{GroupBits, IndexSize};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use std::ops::Bound;

/// An id, often a small one or the greatest.
pub fn any_id() -> impl Strategy<Value = u32> {
    prop_oneof![0..30u32, any::<u32>(), Just(u32::MAX)]
}

/// An edge between such vertices.
pub fn any_edge() -> impl Strategy<Value = EdgeId> {
    (any_id(), 0..3u16, any_id(), 0..3u16).prop_map(|(source, edge_type, target, discriminator)| EdgeId {
        source: VertexId(source),
        edge_type: TypeId(edge_type),
        target: VertexId(target),
        discriminator,
    })
}

fn any_side() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Out), Just(Direction::In)]
}

fn any_end() -> impl Strategy<Value = Bound<Value>> {
    prop_oneof![
        Just(Bound::Unbounded),
        any_value().prop_map(Bound::Included),
        any_value().prop_map(Bound::Excluded),
    ]
}

fn any_index() -> impl Strategy<Value = IndexId> {
    let kind = proptest::sample::select(IndexKind::ALL.to_vec());
    (any::<bool>(), 0..5u16, 0..5u16, kind).prop_map(|(of_edges, owner, key, kind)| {
        let owner = if of_edges { Owner::EdgeType(TypeId(owner)) } else { Owner::Label(LabelId(owner)) };
        IndexId { owner, key: KeyId(key), kind }
    })
}

fn any_item(owner: Owner) -> impl Strategy<Value = ItemId> {
    (any_id(), any_edge()).prop_map(move |(vertex, edge)| match owner {
        Owner::Label(_) => ItemId::Vertex(VertexId(vertex)),
        Owner::EdgeType(_) => ItemId::Edge(edge),
    })
}

fn any_bound(owner: Owner) -> impl Strategy<Value = EntryBound<ItemId>> {
    prop_oneof![
        Just(EntryBound::Start),
        any_value().prop_map(EntryBound::Before),
        (any_value(), option::of(any_item(owner))).prop_map(|(value, item)| EntryBound::At(value, item)),
        any_value().prop_map(EntryBound::After),
        Just(EntryBound::End),
    ]
}

/// Any question.
pub fn any_question() -> impl Strategy<Value = ViewQuestion> {
    let groups =
        || btree_set(0..GroupId::END, 0..5).prop_map(|ids| ids.into_iter().map(GroupId).collect::<Vec<_>>());
    let vertices =
        || btree_set(any_id(), 0..9).prop_map(|ids| ids.into_iter().map(VertexId).collect::<Vec<_>>());
    let edges = || btree_set(any_edge(), 0..9).prop_map(|edges| edges.into_iter().collect::<Vec<_>>());
    let key = || any::<u16>().prop_map(KeyId);
    let edge_type = || any::<u16>().prop_map(TypeId);
    let entry = option::of((any_id().prop_map(VertexId), any::<u16>()));
    let pairs = btree_set((any_id().prop_map(VertexId), any_id().prop_map(VertexId)), 0..9);
    let range = (any_end(), any_end()).prop_map(|(from, to)| ValueRange::new(from, to));
    let newest = (any_id().prop_map(VertexId), edge_type(), key(), range)
        .prop_map(|(source, edge_type, key, range)| NewestEdges { source, edge_type, key, range });
    let newest = (newest, option::of((any_value(), any_edge())), any::<u32>(), vec(key(), 0..4));
    let by_value = (any_index(), any_value(), any::<u32>()).prop_flat_map(|(index, value, limit)| {
        option::of(any_item(index.owner)).prop_map(move |after| ViewQuestion::ItemsOfValue {
            index,
            value: value.clone(),
            after,
            limit,
        })
    });
    let between = (any_index(), any::<bool>(), any::<u32>()).prop_flat_map(|(index, descending, limit)| {
        (any_bound(index.owner), any_bound(index.owner)).prop_map(move |(after, until)| {
            ViewQuestion::PairsBetween { index, after, until, descending, limit }
        })
    });
    prop_oneof![
        groups().prop_map(|groups| ViewQuestion::Groups { groups }),
        groups().prop_map(|groups| ViewQuestion::Live { groups }),
        vertices().prop_map(|vertices| ViewQuestion::Labels { vertices }),
        (vertices(), key()).prop_map(|(vertices, key)| ViewQuestion::VertexValues { vertices, key }),
        (vertices(), option::of(key()))
            .prop_map(|(vertices, after)| ViewQuestion::VertexMaps { vertices, after }),
        (vertices(), edge_type(), any_side(), entry, any::<u32>()).prop_map(
            |(vertices, edge_type, side, after, limit)| ViewQuestion::Lists {
                vertices,
                edge_type,
                side,
                after,
                limit,
            }
        ),
        (vertices(), edge_type(), any_side()).prop_map(|(vertices, edge_type, side)| ViewQuestion::Degrees {
            vertices,
            edge_type,
            side
        }),
        (vertices(), any_side()).prop_map(|(vertices, side)| ViewQuestion::DegreesByType { vertices, side }),
        edges().prop_map(|edges| ViewQuestion::Edges { edges }),
        (pairs, edge_type()).prop_map(|(pairs, edge_type)| ViewQuestion::CountsBetween {
            pairs: pairs.into_iter().collect(),
            edge_type,
        }),
        (edges(), key()).prop_map(|(edges, key)| ViewQuestion::EdgeValues { edges, key }),
        (edges(), option::of(key())).prop_map(|(edges, after)| ViewQuestion::EdgeMaps { edges, after }),
        newest.prop_map(|(asked, after, limit, keys)| ViewQuestion::Newest { asked, after, limit, keys }),
        by_value,
        between,
        Just(ViewQuestion::IndexSizes),
    ]
}

fn any_degrees() -> impl Strategy<Value = Vec<(TypeId, u64)>> {
    btree_map(any::<u16>().prop_map(TypeId), any::<u64>(), 0..4).prop_map(|all| all.into_iter().collect())
}

fn any_facts() -> impl Strategy<Value = GroupFacts> {
    let into = btree_set(any::<u16>().prop_map(TypeId), 0..4);
    (any_degrees(), into).prop_map(|(out, into)| GroupFacts { out, into: into.into_iter().collect() })
}

fn any_live() -> impl Strategy<Value = GroupBits> {
    vec((0..64usize, any::<u64>()), 0..4).prop_map(|words| {
        let mut live = [0; 64];
        words.into_iter().for_each(|(at, word)| live[at] = word);
        live
    })
}

fn any_map() -> impl Strategy<Value = AnswerPage<(KeyId, Value)>> {
    let properties = btree_map(any::<u16>().prop_map(KeyId), any_value(), 0..4);
    (properties, any::<bool>())
        .prop_map(|(all, is_last)| AnswerPage { entries: all.into_iter().collect(), is_last })
}

fn any_list(limit: u32) -> impl Strategy<Value = AnswerPage<ListEntry>> {
    let entry = (any_id().prop_map(VertexId), prop_oneof![Just(0u16), any::<u16>()]);
    (btree_set(entry, 0..=limit.min(6) as usize), any::<bool>())
        .prop_map(|(all, is_last)| AnswerPage { entries: all.into_iter().collect(), is_last })
}

fn any_newest(asked: NewestEdges, limit: u32, keys: usize) -> impl Strategy<Value = NewestPage> {
    let row = (any_value(), any_id(), any::<u16>(), vec(option::of(any_value()), keys));
    let rows = vec(row, 0..=limit.min(4) as usize);
    (rows, any::<bool>(), any::<bool>()).prop_map(move |(rows, has_columns, is_last)| {
        let edge = |target, discriminator| asked.edge(VertexId(target), discriminator);
        let edges = rows.iter().map(|(value, target, number, _)| (value.clone(), edge(*target, *number)));
        let column = |at: usize| rows.iter().map(|row| row.3[at].clone()).collect();
        let columns = has_columns.then(|| (0..keys).map(column).collect());
        NewestPage { edges: AnswerPage { entries: edges.collect(), is_last }, columns }
    })
}

fn any_answer(question: &ViewQuestion) -> BoxedStrategy<ViewAnswer> {
    let asked = 0..=question.items_count().unwrap_or(0);
    match question {
        ViewQuestion::Groups { .. } => vec(any_facts(), asked).prop_map(ViewAnswer::Groups).boxed(),
        ViewQuestion::Live { .. } => vec(any_live(), asked).prop_map(ViewAnswer::Live).boxed(),
        ViewQuestion::Labels { .. } => {
            vec(option::of(any::<u16>().prop_map(LabelId)), asked).prop_map(ViewAnswer::Labels).boxed()
        }
        ViewQuestion::VertexValues { .. } | ViewQuestion::EdgeValues { .. } => {
            vec(option::of(any_value()), asked).prop_map(ViewAnswer::Values).boxed()
        }
        ViewQuestion::VertexMaps { .. } | ViewQuestion::EdgeMaps { .. } => {
            vec(any_map(), asked).prop_map(ViewAnswer::Maps).boxed()
        }
        ViewQuestion::Lists { limit, .. } => vec(any_list(*limit), asked).prop_map(ViewAnswer::Lists).boxed(),
        ViewQuestion::Degrees { .. } => vec(any::<u64>(), asked).prop_map(ViewAnswer::Degrees).boxed(),
        ViewQuestion::DegreesByType { .. } => {
            vec(any_degrees(), asked).prop_map(ViewAnswer::DegreesByType).boxed()
        }
        ViewQuestion::Edges { .. } => vec(any::<bool>(), asked).prop_map(ViewAnswer::Edges).boxed(),
        ViewQuestion::CountsBetween { .. } => vec(any::<u32>(), asked).prop_map(ViewAnswer::Counts).boxed(),
        ViewQuestion::Newest { asked, limit, keys, .. } => {
            any_newest(asked.clone(), *limit, keys.len()).prop_map(ViewAnswer::Newest).boxed()
        }
        ViewQuestion::ItemsOfValue { index, limit, .. } => {
            let items = vec(any_item(index.owner), 0..=(*limit).min(4) as usize);
            let page = (items, any::<bool>()).prop_map(|(entries, is_last)| AnswerPage { entries, is_last });
            page.prop_map(ViewAnswer::Items).boxed()
        }
        ViewQuestion::PairsBetween { index, limit, .. } => {
            let pairs = vec((any_value(), any_item(index.owner)), 0..=(*limit).min(4) as usize);
            let page = (pairs, any::<bool>()).prop_map(|(entries, is_last)| AnswerPage { entries, is_last });
            page.prop_map(ViewAnswer::Pairs).boxed()
        }
        ViewQuestion::IndexSizes => {
            let size = any::<(u64, u64, u64)>().prop_map(|(entries, bytes, file_bytes)| IndexSize {
                entries,
                bytes,
                file_bytes,
            });
            vec((any_index(), size), 0..4).prop_map(ViewAnswer::IndexSizes).boxed()
        }
    }
}

/// Any question with an answer to it.
pub fn any_answered() -> impl Strategy<Value = (ViewQuestion, ViewAnswer)> {
    any_question().prop_flat_map(|question| {
        let answer = any_answer(&question);
        answer.prop_map(move |answer| (question.clone(), answer))
    })
}
