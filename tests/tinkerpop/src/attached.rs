//! Attached: a result that came over a network as an item of the graph that it is from, so that one judge serves both.
//!
//! What came along is compared with the graph: labels, the ends of edges, the keys of properties.

use evergraph::graph::id::KeyId;
use evergraph::query::value::element_id::edge_of_text;
use evergraph::query::value::item::{Item, Owner, Property, Token as Key};
use evergraph::query::value::item_list::ItemList;
use evergraph::query::value::map::ItemMap;
use evergraph::query::value::path::Path;
use evergraph::query::value::subgraph::Subgraph;
use evergraph::query::value::tree::Tree;
use evergraph::{Direction, EdgeId, GraphView, ReadByName, VertexId};
use evergraph_protocol::result::result_value::{
    DetachedEdge, DetachedGraph, DetachedProperty, DetachedTree, DetachedVertex, DetachedVertexProperty,
    ResultValue,
};
use evergraph_query::gremlin::token::{Direction as DirectionToken, T, Token};
use std::sync::Arc;

/// `value` as an item of `graph`.
///
/// # Errors
/// If it says of an element what is not so, or is nothing that a query of `graph` returns.
pub fn attached(value: ResultValue, graph: &impl GraphView) -> Result<Item, String> {
    let all = |values: Vec<ResultValue>| -> Result<ItemList, String> {
        values.into_iter().map(|value| attached(value, graph)).collect()
    };
    Ok(match value {
        ResultValue::Null => Item::Null,
        ResultValue::Value(value) => Item::Value(value),
        ResultValue::List(values) => Item::List(all(values)?),
        ResultValue::Set(values) => Item::Set(all(values)?),
        ResultValue::Map(entries) => {
            let count = entries.len();
            let entry = |(key, value)| Ok((attached(key, graph)?, attached(value, graph)?));
            let map = entries.into_iter().map(entry).collect::<Result<ItemMap, String>>()?;
            if map.len() != count {
                return Err(format!("a map of {count} entries has {} keys", map.len()));
            }
            Item::Map(Arc::new(map))
        }
        ResultValue::Token(token) => token_item(token)?,
        ResultValue::Vertex(vertex) => Item::Vertex(vertex_of(&vertex, graph)?),
        ResultValue::Edge(edge) => Item::Edge(edge_of(&edge, graph)?),
        ResultValue::VertexProperty(property) => vertex_property(*property, graph)?,
        ResultValue::Property(property) => property_item(*property, graph)?,
        ResultValue::Path(steps) => {
            let step = |step: evergraph_protocol::result::result_value::DetachedStep| {
                let labels: Vec<Arc<str>> = step.labels.iter().map(|label| Arc::from(&**label)).collect();
                Ok((attached(step.value, graph)?, (!labels.is_empty()).then(|| labels.into())))
            };
            Item::Path(Arc::new(Path::new(steps.into_iter().map(step).collect::<Result<_, String>>()?)))
        }
        ResultValue::Tree(tree) => {
            let mut laid = Tree::default();
            lay(tree, &mut Vec::new(), &mut laid, graph)?;
            Item::Tree(Arc::new(laid))
        }
        ResultValue::Graph(graph_value) => Item::Graph(Arc::new(subgraph(&graph_value, graph)?)),
    })
}

fn token_item(token: Token) -> Result<Item, String> {
    Ok(match token {
        Token::T(T::Id) => Item::Token(Key::Id),
        Token::T(T::Label) => Item::Token(Key::Label),
        Token::T(T::Key) => Item::Token(Key::Key),
        Token::T(T::Value) => Item::Token(Key::Value),
        Token::Direction(DirectionToken::Out) => Item::Direction(Direction::Out),
        Token::Direction(DirectionToken::In) => Item::Direction(Direction::In),
        Token::Direction(DirectionToken::Both) => Item::Direction(Direction::Both),
        other => return Err(format!("{} is no result", other.word())),
    })
}

fn vertex_of(vertex: &DetachedVertex, graph: &impl GraphView) -> Result<VertexId, String> {
    let id = vertex_id(&vertex.id)?;
    match graph.label_of(id).map_err(|error| error.to_string())? {
        Some(label) if label != *vertex.label => {
            Err(format!("vertex {} has the label {label}, not {}", id.0, vertex.label))
        }
        // A vertex that was dropped has none any more.
        _ => Ok(id),
    }
}

fn vertex_id(id: &ResultValue) -> Result<VertexId, String> {
    let number = match id {
        ResultValue::Value(value) => value.as_i64().and_then(|id| u32::try_from(id).ok()),
        _ => None,
    };
    number.map(VertexId).ok_or_else(|| format!("{id:?} is no id of a vertex"))
}

fn edge_of(edge: &DetachedEdge, graph: &impl GraphView) -> Result<EdgeId, String> {
    let text = edge.id.as_str().ok_or_else(|| format!("{:?} is no id of an edge", edge.id))?;
    let id = edge_of_text(text).ok_or_else(|| format!("{text} is no id of an edge"))?;
    let edge_type = graph.type_of(id);
    let ends = (vertex_id(&edge.source.id)?, vertex_id(&edge.target.id)?);
    if ends != (id.source, id.target) || edge_type != *edge.label {
        return Err(format!("edge {text} of type {edge_type} came as {ends:?} of {}", edge.label));
    }
    Ok(id)
}

fn vertex_property(property: DetachedVertexProperty, graph: &impl GraphView) -> Result<Item, String> {
    // As the server writes the id: vertex, key, digest, position.
    let id = property.id.as_str().unwrap_or_default();
    let mut parts = id.split('-');
    let vertex = parts.next().and_then(|part| part.parse().ok()).map(VertexId);
    let key = parts.next().and_then(|part| part.parse().ok()).map(KeyId);
    let (Some(vertex), Some(key)) = (vertex, key) else {
        return Err(format!("{:?} is no id of a property", property.id));
    };
    let name = graph.catalogue().key_name(key);
    if *name != *property.key {
        return Err(format!("the property {id} has the key {name}, not {}", property.key));
    }
    let value = property.value.into_value().ok_or("a property has a value that is none")?;
    Ok(Item::Property(Arc::new(Property::new(Owner::Vertex(vertex), key, value))))
}

/// A property of an edge or of a property. The network does not say whose; nobody compares it.
fn property_item(property: DetachedProperty, graph: &impl GraphView) -> Result<Item, String> {
    let key = graph.catalogue().key(&property.key);
    let key = key.ok_or_else(|| format!("the graph has no key {}", property.key))?;
    let value = property.value.into_value().ok_or("a property has a value that is none")?;
    let [source, target] = [VertexId(u32::MAX); 2];
    let nobody =
        EdgeId { source, edge_type: evergraph::graph::id::TypeId(u16::MAX), target, discriminator: 0 };
    Ok(Item::Property(Arc::new(Property::new(Owner::Edge(nobody), key, value))))
}

/// Lays the paths of `tree` over `laid`, each behind `path`.
fn lay(
    tree: DetachedTree,
    path: &mut Vec<Item>,
    laid: &mut Tree,
    graph: &impl GraphView,
) -> Result<(), String> {
    for (value, below) in tree.branches {
        path.push(attached(value, graph)?);
        if below.branches.is_empty() {
            laid.lay(path.iter().cloned()).map_err(|error| error.to_string())?;
        } else {
            lay(below, path, laid, graph)?;
        }
        path.pop();
    }
    Ok(())
}

fn subgraph(found: &DetachedGraph, graph: &impl GraphView) -> Result<Subgraph, String> {
    let mut subgraph = Subgraph::default();
    for edge in &found.edges {
        subgraph.add(edge_of(edge, graph)?);
    }
    let mut vertices =
        found.vertices.iter().map(|vertex| vertex_of(vertex, graph)).collect::<Result<Vec<_>, _>>()?;
    vertices.sort_unstable();
    if !vertices.iter().copied().eq(subgraph.vertices()) {
        return Err(format!("the vertices of a graph are {vertices:?}, and no others are ends of its edges"));
    }
    Ok(subgraph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::Database;
    use evergraph_protocol::result::result_value::DetachedStep;

    /// Marko, who knows Josh.
    fn marko_and_josh() -> (Database, VertexId, EdgeId) {
        let database = Database::in_memory().unwrap();
        let added = database.transact(|transaction| {
            let marko = transaction.add_vertex("person", &[("name", "marko".into())])?;
            let josh = transaction.add_vertex("person", &[("name", "josh".into())])?;
            Ok((marko, transaction.add_edge(marko, "knows", josh, &[])?))
        });
        let (marko, knows) = added.unwrap();
        (database, marko, knows)
    }

    fn detached(vertex: VertexId, label: &str) -> DetachedVertex {
        let id = ResultValue::from(i64::from(vertex.0));
        DetachedVertex { id, label: label.into(), properties: Vec::new() }
    }

    #[test]
    fn an_element_with_a_wrong_label_end_or_key_is_refused() {
        let (database, marko, knows) = marko_and_josh();
        let graph = database.snapshot();
        let person = |label: &str| attached(ResultValue::Vertex(Box::new(detached(marko, label))), &graph);
        assert_eq!(person("person"), Ok(Item::Vertex(marko)));
        assert!(person("software").unwrap_err().contains("label"));
        let edge = |label: &str, source: VertexId| {
            let edge = DetachedEdge {
                id: evergraph::query::value::element_id::edge_id_text(knows).as_str().into(),
                label: label.into(),
                source: detached(source, "person"),
                target: detached(knows.target, "person"),
                properties: Vec::new(),
            };
            attached(ResultValue::Edge(Box::new(edge)), &graph)
        };
        assert_eq!(edge("knows", knows.source), Ok(Item::Edge(knows)));
        assert!(edge("created", knows.source).is_err() && edge("knows", knows.target).is_err());
        let property = |key: &str| {
            let name = graph.catalogue().key("name").unwrap();
            let property = DetachedVertexProperty {
                id: format!("{}-{}-0-0", marko.0, name.0).as_str().into(),
                key: key.into(),
                value: "marko".into(),
                properties: Vec::new(),
            };
            attached(ResultValue::VertexProperty(Box::new(property)), &graph)
        };
        assert!(property("name").is_ok() && property("age").is_err());
    }

    #[test]
    fn paths_keep_their_labels_and_trees_their_branches() {
        let (database, ..) = marko_and_josh();
        let graph = database.snapshot();
        let steps = vec![DetachedStep { value: 1_i32.into(), labels: vec!["a".into()] }];
        let Ok(Item::Path(path)) = attached(ResultValue::Path(steps), &graph) else { panic!("a path") };
        assert_eq!(path.steps(), [(Item::from(1_i32), Some(vec![Arc::from("a")].into()))]);
        let leaf = |value: i32| (ResultValue::from(value), DetachedTree::default());
        let tree = DetachedTree {
            branches: vec![(0_i32.into(), DetachedTree { branches: vec![leaf(1), leaf(2)] }), leaf(3)],
        };
        let mut laid = Tree::default();
        [vec![0, 1], vec![0, 2], vec![3]]
            .into_iter()
            .for_each(|path| laid.lay(path.into_iter().map(Item::from)).unwrap());
        assert_eq!(attached(ResultValue::Tree(tree), &graph), Ok(Item::Tree(Arc::new(laid))));
    }
}
