//! Elements: what a reader of vertices and edges gives comes back from our own GraphML, and its places lie in
//! the file.

use crate::place::assert_inside;
use evergraph_formats::element::Element;
use evergraph_formats::element_source::ElementSource;
use evergraph_formats::error::{ReadError, WriteError};
use evergraph_formats::graphml::keys::Scope;
use evergraph_formats::graphml::options::GraphmlOptions;
use evergraph_formats::graphml::reader::GraphmlReader;
use evergraph_formats::graphml::writer::{GraphmlSchema, GraphmlWriter, Losses, PropertyKey};
use evergraph_graph::value::{Value, ValueType};
use std::collections::HashSet;

/// Elements that are read of one input: a file may announce many more vertices than it has bytes. Read, written and read
/// again they take 3 MB, less than what a target allows for any input.
const ELEMENTS_MAX: usize = 4_000;

/// The elements of `reader` up to the first error, whose places lie in `text` (`None`: nobody knows them).
///
/// # Panics
/// If a place doesn't, an error has no text, or there is anything behind it.
pub fn read_all(reader: Result<impl ElementSource, ReadError>, text: Option<&[u8]>) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return elements;
        }
    };
    let check = |position| text.into_iter().for_each(|text| assert_inside(position, text));
    while elements.len() < ELEMENTS_MAX
        && let Some(element) = reader.next()
    {
        match element {
            Ok(element) => elements.push(element),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                check(error.position());
                assert!(reader.next().is_none(), "the first error is the last item");
                break;
            }
        }
        check(ElementSource::position(&reader));
    }
    let told = reader.summary().remarks().map(|(remark, count)| remark.sentence(count)).collect::<Vec<_>>();
    assert!(told.iter().all(|sentence| !sentence.starts_with("0 ")), "{told:?}");
    elements
}

/// Writes `elements` as GraphML and reads them again, if XML can hold them and ids of one kind have one type.
///
/// # Panics
/// If they are others then.
pub fn check_written(elements: &[Element]) {
    let Some(schema) = schema(elements) else { return };
    let Ok(mut writer) = GraphmlWriter::new(Vec::new(), schema) else { return };
    for element in elements {
        let written = match element {
            Element::Vertex(vertex) => writer.write_vertex(vertex),
            Element::Edge(edge) => writer.write_edge(edge),
        };
        match written {
            Ok(()) => {}
            // A character that no XML has.
            Err(WriteError::Unwritable { .. }) => return,
            Err(error) => panic!("memory takes bytes: {error}"),
        }
    }
    let (text, losses) = writer.finish().expect("memory takes bytes");
    assert_eq!(losses.meta_properties + losses.property_ids + losses.values, 0);
    let expected = if losses == Losses::default() { elements } else { return };
    let again = read_all(GraphmlReader::new(text.as_slice(), GraphmlOptions::default()), Some(&text));
    assert_eq!(again, expected, "{}", String::from_utf8_lossy(&text));
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
