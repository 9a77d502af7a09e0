//! Random items of every kind.

use std::sync::Arc;

use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use evergraph_graph::value::strategy::any_value;
use evergraph_query::value::item::{Item, Owner, Property, Token};
use evergraph_query::value::map::ItemMap;
use evergraph_query::value::path::{Labels, Path};
use evergraph_query::value::subgraph::Subgraph;
use evergraph_query::value::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;

/// Whether TinkerPop has a form for the value: it has none for a duration of months and seconds.
pub fn is_representable(value: &Value) -> bool {
    let all = |values: &[Value]| values.iter().all(is_representable);
    match value {
        Value::Duration(duration) => {
            (duration.months(), duration.days()) == (0, 0)
                || (duration.seconds(), duration.nanoseconds()) == (0, 0)
        }
        Value::List(list) => all(list.as_slice()),
        Value::Set(set) => all(set.as_slice()),
        Value::Map(map) => {
            map.as_slice().iter().all(|(key, value)| is_representable(key) && is_representable(value))
        }
        _ => true,
    }
}

fn any_representable() -> impl Strategy<Value = Value> {
    any_value().prop_filter("TinkerPop has a form for it", is_representable)
}

fn any_edge() -> impl Strategy<Value = EdgeId> {
    (0..4_u32, 0..2_u16, 0..4_u32, 0..2_u16).prop_map(|(source, edge_type, target, discriminator)| EdgeId {
        source: VertexId(source),
        edge_type: TypeId(edge_type),
        target: VertexId(target),
        discriminator,
    })
}

fn any_property() -> impl Strategy<Value = Property> {
    let vertex = (0..4_u32).prop_map(|vertex| Owner::Vertex(VertexId(vertex)));
    let owner = prop_oneof![3 => vertex, 1 => any_edge().prop_map(Owner::Edge)];
    let known = vec(("[a-c]{1,2}".prop_map(Value::from), any_representable()), 0..3);
    (owner, 0..4_u16, any_representable(), 0..3_u32, known).prop_map(|(owner, key, value, nth, known)| {
        let known = Map::new(known).unwrap_or_default();
        Property { nth, known, ..Property::new(owner, KeyId(key), value) }
    })
}

/// Items that results can be.
pub fn any_item() -> impl Strategy<Value = Item> {
    let tokens = [Token::Id, Token::Label, Token::Key, Token::Value].map(Item::Token);
    let directions = [Direction::Out, Direction::In, Direction::Both].map(Item::Direction);
    let words = proptest::sample::select([&tokens[..], &directions[..]].concat());
    let leaf = prop_oneof![
        1 => Just(Item::Null),
        6 => any_representable().prop_map(Item::Value),
        3 => (0..4_u32).prop_map(|vertex| Item::Vertex(VertexId(vertex))),
        2 => any_edge().prop_map(Item::Edge),
        2 => any_property().prop_map(|property| Item::Property(Arc::new(property))),
        1 => words,
        1 => vec(any_edge(), 0..4).prop_map(|edges| {
            let mut graph = Subgraph::default();
            edges.into_iter().for_each(|edge| {
                graph.add(edge);
            });
            Item::Graph(Arc::new(graph))
        }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let labels = vec("[a-c]{1,2}", 0..3).prop_map(|labels| {
            let labels: Labels = labels.into_iter().map(Arc::from).collect::<Vec<_>>().into();
            (!labels.is_empty()).then_some(labels)
        });
        let entries = vec((inner.clone(), inner.clone()), 0..4);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|items| Item::List(items.into())),
            vec(inner.clone(), 0..4).prop_map(|items| Item::Set(items.into())),
            entries.prop_map(|entries| {
                let mut map = ItemMap::new();
                entries.into_iter().for_each(|(key, value)| map.insert(key, value));
                Item::Map(Arc::new(map))
            }),
            (inner.clone(), inner.clone()).prop_map(|entry| Item::Entry(Arc::new(entry))),
            vec((inner.clone(), labels), 0..4).prop_map(|steps| Item::Path(Arc::new(Path::new(steps)))),
            vec(vec(inner, 0..3), 0..3).prop_map(|paths| {
                let mut tree = Tree::default();
                paths.into_iter().for_each(|path| tree.lay(path).expect("three levels aren't deep"));
                Item::Tree(Arc::new(tree))
            }),
        ]
    })
}
