//! Writer: vertices and edges as GraphML that TinkerPop, Gephi, yEd and networkx read, and that this
//! crate reads back equal.
//!
//! ```text
//! <key id="labelV" ...>            TinkerPop's key of labels, and labelE of edge types
//! <key id="d0" for="node" attr.name="born" attr.type="string" evergraph.type="date"/>
//! <graph id="G" edgedefault="directed" evergraph.vertexIds="long" evergraph.edgeIds="string">
//! ```
//!
//! Keys stand before everything that uses them, so the caller states the properties and their types
//! ahead. A property whose values differ in type is stated once for each type; no reader minds two
//! keys of one name, nor a property called `labelV`, since the key of labels is known by its id. The document follows GraphML's schema but for the attributes with our name
//! before them, which say what GraphML can't: types besides its six (see [`crate::graphml::types`]),
//! the types of ids, and that a text stands in GraphSON, since XML can't hold its control characters. An id that is no NMTOKEN (one with blanks, say) is written as it is, which
//! readers accept though the schema doesn't.
//!
//! What GraphML can't hold is left out and counted: see [`Losses`]. An id with control characters is an error
//! that names the element.

use std::collections::HashMap;
use std::io::Write;

use evergraph_graph::value::{Value, ValueType};

use crate::element::{Edge, Vertex};
use crate::error::WriteError;
use crate::graphml::keys::Scope;
use crate::graphml::types::{
    FORM_ATTRIBUTE, GRAPHSON_FORM, TYPE_ATTRIBUTE, graphml_name, write_graphson, write_value,
};
use crate::xml::escape::{first_forbidden, forbidden, write_attribute, write_text};

/// The attribute of a graph that says which type its vertices' ids have.
pub const VERTEX_IDS_ATTRIBUTE: &str = "evergraph.vertexIds";
/// The attribute of a graph that says which type its edges' ids have.
pub const EDGE_IDS_ATTRIBUTE: &str = "evergraph.edgeIds";

/// TinkerPop's keys of labels and of edge types.
const LABEL_KEYS: [(Scope, &str); 2] = [(Scope::Vertex, "labelV"), (Scope::Edge, "labelE")];
const HEAD: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"",
    " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"",
    " xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns",
    " http://graphml.graphdrawing.org/xmlns/1.1/graphml.xsd\">\n",
);

/// A property that elements may have.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PropertyKey {
    /// Which elements.
    pub scope: Scope,
    /// Its name.
    pub name: String,
    /// The type of its values; not `any`.
    pub value_type: ValueType,
}

/// What is known of a graph before its elements come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphmlSchema {
    /// Every property with every type that it has.
    pub properties: Vec<PropertyKey>,
    /// The type of all vertices' ids.
    pub vertex_ids: ValueType,
    /// The type of all edges' ids.
    pub edge_ids: ValueType,
}

/// What was left out because GraphML has no place for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Labels of a vertex after its first.
    pub labels: u64,
    /// Values of a vertex under one key after the first.
    pub values: u64,
    /// Properties of properties.
    pub meta_properties: u64,
    /// Ids of vertices' properties.
    pub property_ids: u64,
}

/// Writes elements to `W`, which should be buffered. Vertices and edges may come in any order.
#[derive(Debug)]
pub struct GraphmlWriter<W> {
    bytes: W,
    schema: GraphmlSchema,
    /// The number of each property's key.
    keys: HashMap<PropertyKey, usize>,
    losses: Losses,
    /// The element that is being written.
    text: String,
}

impl<W: Write> GraphmlWriter<W> {
    /// Writes the head of the document to `bytes`.
    ///
    /// # Errors
    /// [`WriteError::Io`]; [`WriteError::Unwritable`] if a property is stated twice, or has the type `any`.
    pub fn new(bytes: W, schema: GraphmlSchema) -> Result<Self, WriteError> {
        let mut writer =
            Self { bytes, keys: HashMap::new(), losses: Losses::default(), text: HEAD.to_owned(), schema };
        for (scope, name) in LABEL_KEYS {
            writer.push_key(name, scope, name, ValueType::String);
        }
        let properties = writer.schema.properties.clone();
        for (number, property) in properties.into_iter().enumerate() {
            let refuse = |reason: String| {
                Err(WriteError::Unwritable { element: format!("property `{}`", property.name), reason })
            };
            if property.value_type == ValueType::Any {
                return refuse("GraphML needs the types of its values, one by one, not any".to_owned());
            }
            writer.push_key(&format!("d{number}"), property.scope, &property.name, property.value_type);
            if writer.keys.contains_key(&property) {
                return refuse("is stated twice with one type".to_owned());
            }
            writer.keys.insert(property, number);
        }
        let GraphmlSchema { vertex_ids, edge_ids, .. } = writer.schema;
        writer.text.push_str("<graph id=\"G\" edgedefault=\"directed\"");
        for (attribute, ids) in [(VERTEX_IDS_ATTRIBUTE, vertex_ids), (EDGE_IDS_ATTRIBUTE, edge_ids)] {
            if ids != ValueType::String {
                push_attribute(&mut writer.text, attribute, ids.name());
            }
        }
        writer.text.push_str(">\n");
        writer.flush_text()?;
        Ok(writer)
    }

    /// Writes a vertex.
    ///
    /// # Errors
    /// [`WriteError::Io`]; [`WriteError::Unwritable`] if its id or a property has a type that was not
    /// stated, or the id has characters that XML can't hold. Nothing of the vertex is written then.
    pub fn write_vertex(&mut self, vertex: &Vertex) -> Result<(), WriteError> {
        let element = || format!("vertex {}", vertex.id);
        self.text.clear();
        self.text.push_str("<node");
        push_id(&mut self.text, "id", &vertex.id, self.schema.vertex_ids, &element)?;
        self.text.push('>');
        let mut losses = self.losses;
        if let Some((first, further)) = vertex.labels.split_first() {
            push_name(&mut self.text, "labelV", first);
            losses.labels += further.len() as u64;
        }
        for (name, values) in &vertex.properties {
            for (place, property) in values.iter().enumerate() {
                losses.meta_properties += property.properties.len() as u64;
                losses.property_ids += u64::from(property.id.is_some());
                losses.values += u64::from(place > 0);
            }
            if let Some(first) = values.first() {
                self.push_property(Scope::Vertex, name, &first.value, &element)?;
            }
        }
        self.text.push_str("</node>\n");
        self.losses = losses;
        self.flush_text()
    }

    /// Writes an edge.
    ///
    /// # Errors
    /// As [`Self::write_vertex`].
    pub fn write_edge(&mut self, edge: &Edge) -> Result<(), WriteError> {
        let element = || match &edge.id {
            Some(id) => format!("edge {id} from {} to {}", edge.source, edge.target),
            None => format!("edge from {} to {}", edge.source, edge.target),
        };
        self.text.clear();
        self.text.push_str("<edge");
        if let Some(id) = &edge.id {
            push_id(&mut self.text, "id", id, self.schema.edge_ids, &element)?;
        }
        push_id(&mut self.text, "source", &edge.source, self.schema.vertex_ids, &element)?;
        push_id(&mut self.text, "target", &edge.target, self.schema.vertex_ids, &element)?;
        self.text.push('>');
        push_name(&mut self.text, "labelE", &edge.edge_type);
        for (name, value) in &edge.properties {
            self.push_property(Scope::Edge, name, value, &element)?;
        }
        self.text.push_str("</edge>\n");
        self.flush_text()
    }

    /// Ends the document, flushes it, and gives `W` back with what was left out.
    ///
    /// # Errors
    /// [`WriteError::Io`].
    pub fn finish(mut self) -> Result<(W, Losses), WriteError> {
        self.bytes.write_all(b"</graph>\n</graphml>\n")?;
        self.bytes.flush()?;
        Ok((self.bytes, self.losses))
    }

    fn push_key(&mut self, id: &str, scope: Scope, name: &str, value_type: ValueType) {
        let text = &mut self.text;
        text.push_str("<key");
        push_attribute(text, "id", id);
        push_attribute(text, "for", if scope == Scope::Vertex { "node" } else { "edge" });
        if first_forbidden(name).is_none() {
            push_attribute(text, "attr.name", name);
        } else {
            push_attribute(text, "attr.name", &write_graphson(&Value::from(name)));
            push_attribute(text, FORM_ATTRIBUTE, GRAPHSON_FORM);
        }
        push_attribute(text, "attr.type", graphml_name(value_type).unwrap_or("string"));
        if graphml_name(value_type).is_none() {
            push_attribute(text, TYPE_ATTRIBUTE, value_type.name());
        }
        text.push_str("/>\n");
    }

    fn push_property(
        &mut self,
        scope: Scope,
        name: &str,
        value: &Value,
        element: &impl Fn() -> String,
    ) -> Result<(), WriteError> {
        let property = PropertyKey { scope, name: name.to_owned(), value_type: value.value_type() };
        let Some(number) = self.keys.get(&property) else {
            let reason = format!("property `{name}` was not stated with the type {}", property.value_type);
            return Err(WriteError::Unwritable { element: element(), reason });
        };
        push_data(&mut self.text, &format!("d{number}"), value);
        Ok(())
    }

    fn flush_text(&mut self) -> Result<(), WriteError> {
        Ok(self.bytes.write_all(self.text.as_bytes())?)
    }
}

fn push_attribute(text: &mut String, name: &str, value: &str) {
    text.push(' ');
    text.push_str(name);
    text.push_str("=\"");
    write_attribute(text, value);
    text.push('"');
}

fn push_id(
    text: &mut String,
    attribute: &str,
    id: &Value,
    stated: ValueType,
    element: &impl Fn() -> String,
) -> Result<(), WriteError> {
    let refuse = |reason| Err(WriteError::Unwritable { element: element(), reason });
    if id.value_type() != stated {
        return refuse(format!(
            "its {attribute} {id} is a {}, not a {stated} as was stated",
            id.value_type()
        ));
    }
    let value = write_value(id);
    if let Some(character) = first_forbidden(&value) {
        return refuse(format!("its {attribute}: {}", forbidden(character)));
    }
    push_attribute(text, attribute, &value);
    Ok(())
}

/// Adds the data of the label's key `key`.
fn push_name(text: &mut String, key: &str, name: &str) {
    if first_forbidden(name).is_some() {
        return push_data(text, key, &Value::from(name));
    }
    text.push_str("<data");
    push_attribute(text, "key", key);
    text.push('>');
    write_text(text, name);
    text.push_str("</data>");
}

/// Adds data with `value`: as it is, or in GraphSON if XML can't hold that.
fn push_data(text: &mut String, key: &str, value: &Value) {
    let mut value_text = write_value(value);
    text.push_str("<data");
    push_attribute(text, "key", key);
    if first_forbidden(&value_text).is_some() {
        push_attribute(text, FORM_ATTRIBUTE, GRAPHSON_FORM);
        value_text = write_graphson(value);
    }
    text.push('>');
    write_text(text, &value_text);
    text.push_str("</data>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, VertexProperty};
    use crate::graphml::options::GraphmlOptions;
    use crate::graphml::reader::GraphmlReader;
    use crate::strategy::any_graph;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The properties of `vertices` and `edges`, each with each of its types.
    fn schema_of(vertices: &[Vertex], edges: &[Edge]) -> GraphmlSchema {
        let of_vertices = vertices.iter().flat_map(|vertex| &vertex.properties);
        let of_vertices = of_vertices
            .flat_map(|(name, values)| values.iter().map(move |value| (Scope::Vertex, name, &value.value)));
        let of_edges = edges
            .iter()
            .flat_map(|edge| edge.properties.iter().map(|(name, value)| (Scope::Edge, name, value)));
        let mut seen = HashSet::new();
        let properties = of_vertices.chain(of_edges).map(|(scope, name, value)| PropertyKey {
            scope,
            name: name.clone(),
            value_type: value.value_type(),
        });
        let properties = properties.filter(|property| seen.insert(property.clone())).collect();
        let type_of = |id: Option<&Value>| id.map_or(ValueType::String, Value::value_type);
        GraphmlSchema {
            properties,
            vertex_ids: type_of(vertices.first().map(|vertex| &vertex.id)),
            edge_ids: type_of(edges.iter().find_map(|edge| edge.id.as_ref())),
        }
    }

    fn written(vertices: &[Vertex], edges: &[Edge]) -> Result<(String, Losses), WriteError> {
        let mut writer = GraphmlWriter::new(Vec::new(), schema_of(vertices, edges))?;
        vertices.iter().try_for_each(|vertex| writer.write_vertex(vertex))?;
        edges.iter().try_for_each(|edge| writer.write_edge(edge))?;
        let (bytes, losses) = writer.finish()?;
        Ok((String::from_utf8(bytes).unwrap(), losses))
    }

    fn read(xml: &str) -> (Vec<Vertex>, Vec<Edge>) {
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        for element in GraphmlReader::new(xml.as_bytes(), GraphmlOptions::default()).unwrap() {
            match element.unwrap_or_else(|error| panic!("{error}: {xml}")) {
                Element::Vertex(vertex) => vertices.push(vertex),
                Element::Edge(edge) => edges.push(edge),
            }
        }
        (vertices, edges)
    }

    fn vertex(id: impl Into<Value>, properties: &[(&str, Value)]) -> Vertex {
        let property = |(key, value): &(&str, Value)| ((*key).to_owned(), vec![value.clone().into()]);
        Vertex {
            id: id.into(),
            labels: vec!["a".to_owned()],
            properties: properties.iter().map(property).collect(),
        }
    }

    #[test]
    fn a_document_looks_as_the_schema_wants_it() {
        let day = Value::parse("2024-02-29", ValueType::Date).unwrap();
        let vertices = [vertex(1_i64, &[("name", "x < \"y\"\r".into()), ("born", day)])];
        let edges = [Edge {
            id: None,
            edge_type: "t".to_owned(),
            source: 1_i64.into(),
            target: 1_i64.into(),
            properties: Vec::new(),
        }];
        let (xml, losses) = written(&vertices, &edges).unwrap();
        let expected = [
            "<key id=\"labelV\" for=\"node\" attr.name=\"labelV\" attr.type=\"string\"/>",
            "<key id=\"labelE\" for=\"edge\" attr.name=\"labelE\" attr.type=\"string\"/>",
            "<key id=\"d0\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>",
            "<key id=\"d1\" for=\"node\" attr.name=\"born\" attr.type=\"string\" evergraph.type=\"date\"/>",
            "<graph id=\"G\" edgedefault=\"directed\" evergraph.vertexIds=\"long\">",
            "<node id=\"1\"><data key=\"labelV\">a</data><data key=\"d0\">x &lt; \"y\"&#13;</data><data key=\"d1\">2024-02-29</data></node>",
            "<edge source=\"1\" target=\"1\"><data key=\"labelE\">t</data></edge>",
            "</graph>",
            "</graphml>",
        ];
        assert_eq!(xml.lines().skip(2).collect::<Vec<_>>(), expected);
        assert_eq!(losses, Losses::default());
    }

    #[test]
    fn what_graphml_has_no_place_for_is_counted() {
        let mut first = vertex("x", &[("n", 1_i64.into())]);
        first.labels.push("b".to_owned());
        let meta = VertexProperty {
            id: Some(1_i64.into()),
            value: 2_i64.into(),
            properties: vec![("m".to_owned(), true.into())],
        };
        first.properties[0].1.push(meta);
        let (xml, losses) = written(&[first], &[]).unwrap();
        assert_eq!(losses, Losses { labels: 1, values: 1, meta_properties: 1, property_ids: 1 });
        assert_eq!(read(&xml).0, [vertex("x", &[("n", 1_i64.into())])]);
    }

    #[test]
    fn what_xml_cannot_hold_stands_in_graphson_but_for_ids() {
        let list = evergraph_graph::value::collection::List::new(vec!["a\u{1}\u{ffff}".into()]).unwrap();
        let mut odd = vertex(
            "x",
            &[("n\u{ffff}\0", "a\u{1}\u{fffe}\"<".into()), ("c", '\u{2}'.into()), ("l", list.into())],
        );
        odd.labels = vec!["l\u{1}".to_owned()];
        let edge = Edge {
            id: None,
            edge_type: "t\0".to_owned(),
            source: "x".into(),
            target: "x".into(),
            properties: vec![("w".to_owned(), "\u{1f}".into())],
        };
        let (xml, losses) = written(std::slice::from_ref(&odd), std::slice::from_ref(&edge)).unwrap();
        assert_eq!(losses, Losses::default());
        assert_eq!(read(&xml), (vec![odd], vec![edge]), "{xml}");
        let error = written(&[vertex("\0", &[])], &[]).unwrap_err();
        assert!(error.to_string().ends_with("its id: U+0000 cannot stand in XML 1.0"), "{error}");
    }

    #[test]
    fn what_was_not_stated_is_refused() {
        let key =
            |name: &str, value_type| PropertyKey { scope: Scope::Vertex, name: name.to_owned(), value_type };
        let schema =
            |properties| GraphmlSchema { properties, vertex_ids: ValueType::I64, edge_ids: ValueType::I64 };
        for properties in
            [vec![key("a", ValueType::Any)], vec![key("a", ValueType::I8), key("a", ValueType::I8)]]
        {
            assert!(GraphmlWriter::new(Vec::new(), schema(properties)).is_err());
        }
        let properties =
            vec![key("a", ValueType::I64), key("a", ValueType::Bool), key("labelV", ValueType::Bool)];
        let mut writer = GraphmlWriter::new(Vec::new(), schema(properties)).unwrap();
        writer.write_vertex(&vertex(1_i64, &[("a", true.into())])).unwrap();
        let error = writer.write_vertex(&vertex(2_i64, &[("a", 1_i32.into())])).unwrap_err();
        assert_eq!(error.to_string(), "vertex 2: property `a` was not stated with the type int");
        let error = writer.write_vertex(&vertex("2", &[])).unwrap_err();
        assert_eq!(error.to_string(), "vertex 2: its id 2 is a string, not a long as was stated");
        let (bytes, _) = writer.finish().unwrap();
        assert_eq!(read(std::str::from_utf8(&bytes).unwrap()).0.len(), 1, "what failed left nothing behind");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_graph_that_graphml_can_hold_is_read_back_as_it_was((mut vertices, mut edges) in any_graph()) {
            // Ids of one type, one label, one plain value under a key.
            let numbers: Vec<_> = vertices.iter().map(|vertex| vertex.id.clone()).collect();
            let number = |id: &Value| Value::I64(numbers.iter().position(|known| known == id).unwrap() as i64);
            for vertex in &mut vertices {
                vertex.id = number(&vertex.id);
                vertex.labels = vec![vertex.labels.concat()];
                for (_, values) in &mut vertex.properties {
                    *values = vec![values[0].value.clone().into()];
                }
            }
            for edge in &mut edges {
                (edge.source, edge.target) = (number(&edge.source), number(&edge.target));
                edge.id = edge.id.as_ref().map(|id| id.to_string().into());
            }
            match written(&vertices, &edges) {
                Ok((xml, losses)) => {
                    prop_assert_eq!(losses, Losses::default());
                    prop_assert_eq!(read(&xml), (vertices, edges));
                }
                Err(error) => prop_assert!(error.to_string().contains("cannot stand in XML"), "{}", error),
            }
        }
    }
}
