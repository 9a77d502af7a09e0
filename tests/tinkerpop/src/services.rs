//! The two services that TinkerPop's own graph has in scenarios tagged `@TinkerServiceRegistry`.

use evergraph::query::service::{Kind, Request, Service, Services};
use evergraph::query::value::item::{Item, Owner, Property};
use evergraph::{Direction, Error, GraphView, ReadByName as _, Result};
use std::sync::Arc;

/// Both.
#[must_use]
pub fn services() -> Services {
    Services::default().with("tinker.search", Search).with("tinker.degree.centrality", DegreeCentrality)
}

/// How many edges a vertex has.
struct DegreeCentrality;

impl Service for DegreeCentrality {
    fn summary(&self) -> &str {
        "How many edges a vertex has."
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::Streaming]
    }

    fn parameters(&self) -> &[(&str, &str)] {
        &[("direction", "IN, which is the default, OUT or BOTH")]
    }

    fn call(&self, graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
        for (row, request) in (0..).zip(requests) {
            let direction = match request.parameters.get_text("direction") {
                None => Direction::In,
                Some(Item::Direction(direction)) => *direction,
                Some(other) => return Err(Error::invalid(format!("direction is {}", other.kind()))),
            };
            let vertex = request.input.as_ref().and_then(Item::as_vertex);
            let vertex = vertex.ok_or_else(|| Error::invalid("only vertices have edges"))?;
            let mut degrees = Vec::new();
            graph.degrees(&[vertex], None, direction, &mut degrees)?;
            found.extend(degrees.into_iter().map(|degree| (row, Item::from(degree as i64))));
        }
        Ok(())
    }
}

/// Properties whose values hold a text.
struct Search;

impl Service for Search {
    fn summary(&self) -> &str {
        "Properties whose values hold a text."
    }

    fn kinds(&self) -> &[Kind] {
        &[Kind::Start]
    }

    fn parameters(&self) -> &[(&str, &str)] {
        &[
            ("search", "the text"),
            ("type", "Vertex, Edge or VertexProperty: whose properties; all without it"),
        ]
    }

    fn call(&self, graph: &dyn GraphView, requests: &[Request], found: &mut Vec<(u32, Item)>) -> Result<()> {
        for (row, request) in (0..).zip(requests) {
            let text = request.parameters.get_text("search").and_then(Item::as_str);
            let text = text.ok_or_else(|| Error::invalid("search is a text"))?;
            let owners = request.parameters.get_text("type").and_then(Item::as_str);
            let mut all = Vec::new();
            for vertex in graph.vertices(None)? {
                if owners.is_none_or(|owners| owners == "Vertex") {
                    let values = graph.vertex_property_map(vertex)?.into_iter();
                    all.extend(values.map(|(key, value)| Property::new(Owner::Vertex(vertex), key, value)));
                }
                if owners.is_none_or(|owners| owners == "Edge") {
                    for (edge, _) in graph.edges(vertex, Direction::Out, &[])? {
                        let values = graph.edge_property_map(edge)?.into_iter();
                        all.extend(values.map(|(key, value)| Property::new(Owner::Edge(edge), key, value)));
                    }
                }
            }
            let matching = all.into_iter().filter(|property| property.value.to_string().contains(text));
            found.extend(matching.map(|property| (row, Item::Property(Arc::new(property)))));
        }
        Ok(())
    }
}
