//! What a client should get for an item, written down beside the encoders and not with them.

use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::MaterializeProperties;
use evergraph_protocol::result::result_value::{
    DetachedEdge, DetachedGraph, DetachedProperty, DetachedStep, DetachedTree, DetachedVertex,
    DetachedVertexProperty, ResultValue,
};
use evergraph_query::gremlin::token;
use evergraph_query::value::item::{Item, Owner, Token};
use evergraph_query::value::path::Labels;
use evergraph_query::value::tree::Tree;

use crate::elements::{
    ElementProperty, key_name, label, properties_of_edge, properties_of_vertex, type_name,
};

/// Makes what a client should get. Ids of vertex properties are left out: see [`without_property_ids`].
pub struct Detach {
    pub format: Format,
    pub properties: MaterializeProperties,
}

impl Detach {
    pub fn item(&self, item: &Item) -> ResultValue {
        let all = |items: &[Item]| items.iter().map(|item| self.item(item)).collect();
        let entry = |(key, value): &(Item, Item)| (self.item(key), self.item(value));
        match item {
            Item::Null => ResultValue::Null,
            Item::Value(value) => value.clone().into(),
            Item::Vertex(vertex) => ResultValue::Vertex(Box::new(self.vertex(*vertex))),
            Item::Edge(edge) => ResultValue::Edge(Box::new(self.edge(*edge, true))),
            Item::Property(property) => {
                let (key, value) = (key_name(property.key).into(), property.value.clone().into());
                match property.owner {
                    Owner::Vertex(_) => ResultValue::VertexProperty(Box::new(DetachedVertexProperty {
                        id: ResultValue::Null,
                        key,
                        value,
                        properties: self.meta(&property.known),
                    })),
                    _ => ResultValue::Property(Box::new(DetachedProperty { key, value })),
                }
            }
            Item::List(items) => ResultValue::List(all(items)),
            Item::Set(items) => ResultValue::Set(all(items)),
            Item::Map(map) => ResultValue::Map(map.entries().iter().map(entry).collect()),
            Item::Entry(only) => ResultValue::Map(vec![entry(only)]),
            Item::Path(path) => {
                let step = |(item, labels): &(Item, Option<Labels>)| {
                    let labels = labels.as_deref().unwrap_or_default();
                    let labels = labels.iter().map(|label| Box::from(&**label)).collect();
                    DetachedStep { value: self.item(item), labels }
                };
                ResultValue::Path(path.steps().iter().map(step).collect())
            }
            Item::Tree(tree) => ResultValue::Tree(self.tree(tree)),
            Item::Graph(graph) => ResultValue::Graph(Box::new(DetachedGraph {
                vertices: graph.vertices().map(|vertex| self.vertex(vertex)).collect(),
                edges: graph.edges().map(|edge| self.edge(edge, self.format == Format::GraphSon)).collect(),
            })),
            Item::Token(word) => ResultValue::Token(token::Token::T(match word {
                Token::Id => token::T::Id,
                Token::Label => token::T::Label,
                Token::Key => token::T::Key,
                Token::Value => token::T::Value,
            })),
            Item::Direction(direction) => {
                use evergraph_graph::id::Direction::{Both, In, Out};
                ResultValue::Token(token::Token::Direction(match direction {
                    Out => token::Direction::Out,
                    In => token::Direction::In,
                    Both => token::Direction::Both,
                }))
            }
        }
    }

    fn vertex(&self, vertex: VertexId) -> DetachedVertex {
        let property = |ElementProperty { key, value, properties, .. }: ElementProperty| {
            let properties = self.meta(&properties.unwrap_or_default());
            DetachedVertexProperty {
                id: ResultValue::Null,
                key: key_name(key).into(),
                value: value.into(),
                properties,
            }
        };
        let properties = match self.properties {
            MaterializeProperties::All => properties_of_vertex(vertex).into_iter().map(property).collect(),
            MaterializeProperties::Tokens => Vec::new(),
        };
        DetachedVertex { properties, ..end(vertex, true) }
    }

    fn edge(&self, edge: EdgeId, has_end_labels: bool) -> DetachedEdge {
        let property = |ElementProperty { key, value, .. }: ElementProperty| DetachedProperty {
            key: key_name(key).into(),
            value: value.into(),
        };
        let properties = match self.properties {
            MaterializeProperties::All => properties_of_edge(edge).into_iter().map(property).collect(),
            MaterializeProperties::Tokens => Vec::new(),
        };
        let EdgeId { source, edge_type, target, discriminator } = edge;
        DetachedEdge {
            id: format!("{}-{}-{}-{discriminator}", source.0, edge_type.0, target.0).into(),
            label: type_name(edge_type).into(),
            source: end(source, has_end_labels),
            target: end(target, has_end_labels),
            properties,
        }
    }

    fn meta(&self, known: &Map) -> Vec<DetachedProperty> {
        if self.properties == MaterializeProperties::Tokens {
            return Vec::new();
        }
        let property = |(key, value): &(Value, Value)| DetachedProperty {
            key: key.as_str().expect("names are strings").into(),
            value: value.clone().into(),
        };
        known.as_slice().iter().map(property).collect()
    }

    fn tree(&self, tree: &Tree) -> DetachedTree {
        let branch = |(item, below): &(Item, Tree)| (self.item(item), self.tree(below));
        DetachedTree { branches: tree.branches().iter().map(branch).collect() }
    }
}

fn end(vertex: VertexId, has_label: bool) -> DetachedVertex {
    let label = if has_label { label(vertex).unwrap_or("vertex") } else { "" };
    DetachedVertex { id: i64::from(vertex.0).into(), label: label.into(), properties: Vec::new() }
}

/// `value` with null in the place of every id of a vertex property.
pub fn without_property_ids(mut value: ResultValue) -> ResultValue {
    visit(&mut value, &mut |id| *id = ResultValue::Null);
    value
}

/// The ids of vertex properties within `value`.
pub fn property_ids(value: &ResultValue) -> Vec<ResultValue> {
    let mut ids = Vec::new();
    visit(&mut value.clone(), &mut |id| ids.push(id.clone()));
    ids
}

fn visit(value: &mut ResultValue, each: &mut dyn FnMut(&mut ResultValue)) {
    match value {
        ResultValue::Null | ResultValue::Value(_) | ResultValue::Token(_) | ResultValue::Edge(_) => {}
        ResultValue::Property(_) => {}
        ResultValue::List(values) | ResultValue::Set(values) => {
            values.iter_mut().for_each(|value| visit(value, each));
        }
        ResultValue::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
            visit(key, each);
            visit(value, each);
        }),
        ResultValue::Vertex(vertex) => visit_vertex(vertex, each),
        ResultValue::VertexProperty(property) => each(&mut property.id),
        ResultValue::Path(steps) => steps.iter_mut().for_each(|step| visit(&mut step.value, each)),
        ResultValue::Tree(tree) => visit_tree(tree, each),
        ResultValue::Graph(graph) => {
            graph.vertices.iter_mut().for_each(|vertex| visit_vertex(vertex, each));
        }
    }
}

fn visit_vertex(vertex: &mut DetachedVertex, each: &mut dyn FnMut(&mut ResultValue)) {
    vertex.properties.iter_mut().for_each(|property| each(&mut property.id));
}

fn visit_tree(tree: &mut DetachedTree, each: &mut dyn FnMut(&mut ResultValue)) {
    for (key, below) in &mut tree.branches {
        visit(key, each);
        visit_tree(below, each);
    }
}
