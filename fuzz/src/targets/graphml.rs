//! GraphML: a document's vertices and edges. What is read comes back from our own document, and errors
//! name a place of it.

use crate::place::assert_inside;
use crate::samples;
use crate::target::{Memory, Target};
use evergraph::export::options::ExportFormat;
use evergraph_formats::element::Element;
use evergraph_formats::graphml::keys::Scope;
use evergraph_formats::graphml::reader::{GraphmlOptions, GraphmlReader};
use evergraph_formats::graphml::writer::{GraphmlSchema, GraphmlWriter, Losses, PropertyKey};
use evergraph_graph::value::{Value, ValueType};
use std::collections::HashSet;

/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 1 << 20, per_byte: 512 } };

const OTHERS: [&str; 3] = [
    r#"<?xml version="1.0"?><graphml><key id="w" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
<graph edgedefault="undirected"><node id="a"/><node id="b"><data key="w">x</data></node><edge source="a" target="b"/></graph></graphml>"#,
    r#"<graphml><key id="labelV" for="node" attr.name="labelV" attr.type="string"/><key id="n" for="all" attr.name="n" attr.type="int"/>
<graph><node id="1"><data key="labelV">P&#x41;&amp;<![CDATA[<x>]]></data><data key="n"> 7 </data></node><!-- c --></graph></graphml>"#,
    "<graphml xmlns=\"x\"><desc>d</desc><graph id='G' edgedefault='directed'><edge id='e' source='1' target='1' directed='false'/></graph></graphml>",
];

fn seeds() -> Vec<Vec<u8>> {
    let exported = samples::exported(ExportFormat::GraphMl).into_iter().map(|(_, text)| text);
    let wide = OTHERS[2].encode_utf16().flat_map(u16::to_be_bytes);
    let wide: Vec<u8> = [0xfe, 0xff].into_iter().chain(wide).collect();
    exported.chain(OTHERS.map(|text| text.as_bytes().to_vec())).chain([wide]).collect()
}

fn promise(input: &[u8]) {
    let elements = read(input);
    let Some(schema) = schema(&elements) else { return };
    let Ok(mut writer) = GraphmlWriter::new(Vec::new(), schema) else { return };
    for element in &elements {
        match element {
            Element::Vertex(vertex) => writer.write_vertex(vertex),
            Element::Edge(edge) => writer.write_edge(edge),
        }
        .expect("an element that was read can be written");
    }
    let (text, losses) = writer.finish().expect("memory takes bytes");
    assert_eq!(losses, Losses::default());
    assert_eq!(read(&text), elements, "{}", String::from_utf8_lossy(&text));
}

/// The elements up to the first error.
fn read(text: &[u8]) -> Vec<Element> {
    // Positions in UTF-16 are those of its UTF-8 form.
    let has_positions = !text.contains(&0) && !text.starts_with(&[0xfe]) && !text.starts_with(&[0xff]);
    let mut reader = match GraphmlReader::new(text, GraphmlOptions::default()) {
        Ok(reader) => reader,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Vec::new();
        }
    };
    let mut elements = Vec::new();
    while let Some(element) = reader.next() {
        match element {
            Ok(element) => elements.push(element),
            Err(error) => {
                if has_positions {
                    assert_inside(error.position(), text);
                }
                break;
            }
        }
        if has_positions {
            assert_inside(reader.position(), text);
        }
    }
    elements
}

/// What a writer must know of `elements`; `None` if ids of one kind differ in their types.
fn schema(elements: &[Element]) -> Option<GraphmlSchema> {
    let (mut properties, mut known) = (Vec::new(), HashSet::new());
    let (mut vertex_ids, mut edge_ids) = (HashSet::new(), HashSet::new());
    let mut add = |scope, name: &str, value: &Value| {
        let key = PropertyKey { scope, name: name.to_owned(), value_type: value.value_type() };
        if known.insert(key.clone()) {
            properties.push(key);
        }
    };
    for element in elements {
        match element {
            Element::Vertex(vertex) => {
                vertex_ids.insert(vertex.id.value_type());
                for (name, values) in &vertex.properties {
                    values.iter().for_each(|property| add(Scope::Vertex, name, &property.value));
                }
            }
            Element::Edge(edge) => {
                vertex_ids.extend([edge.source.value_type(), edge.target.value_type()]);
                edge_ids.extend(edge.id.as_ref().map(Value::value_type));
                edge.properties.iter().for_each(|(name, value)| add(Scope::Edge, name, value));
            }
        }
    }
    let only = |types: HashSet<ValueType>| {
        (types.len() <= 1).then(|| types.into_iter().next().unwrap_or(ValueType::String))
    };
    Some(GraphmlSchema { properties, vertex_ids: only(vertex_ids)?, edge_ids: only(edge_ids)? })
}
