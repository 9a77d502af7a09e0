//! TinkerPop's sample graphs, one of air routes and the roads of Rome: read, counted, written and read
//! again.
//!
//! The counts are those of TinkerPop's documentation and of the air routes' own README.

#![allow(clippy::unwrap_used, reason = "a data set that cannot be read fails its test")]

#[path = "../../../tests/src/data_folder.rs"]
mod data_folder;
#[path = "../../../tests/src/skips.rs"]
mod skips;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;

use data_folder::data_set;
use evergraph_formats::dimacs::{DimacsLine, DimacsWriter, Problem, parse_line as parse_dimacs_line};
use evergraph_formats::element::{Edge, Element, Vertex};
use evergraph_formats::element_source::{ElementSource, ReadSummary};
use evergraph_formats::graphml::keys::Scope;
use evergraph_formats::graphml::options::GraphmlOptions;
use evergraph_formats::graphml::reader::GraphmlReader;
use evergraph_formats::graphml::writer::{GraphmlSchema, GraphmlWriter, Losses, PropertyKey};
use evergraph_formats::graphson::line_read::parse_line;
use evergraph_formats::graphson::line_write::{Layout, VertexWriter};
use evergraph_formats::graphson::sides::Side;
use evergraph_formats::graphson::stream::{StreamOptions, VertexStream};
use evergraph_graph::value::{Value, ValueType};
use flate2::read::GzDecoder;

/// The unpacked bytes of one of TinkerPop's files, or `None` where nobody has them.
fn file(name: &str) -> Option<Vec<u8>> {
    file_of("tinkerpop", name)
}

fn file_of(set: &str, name: &str) -> Option<Vec<u8>> {
    let path = data_set(set)?.join(name);
    let mut bytes = Vec::new();
    let packed = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

type Graph = (Vec<Vertex>, Vec<Edge>);

fn read_graphson(bytes: &[u8], side: Side) -> Graph {
    let options = StreamOptions { side, ..StreamOptions::default() };
    let parsed: Vec<_> = VertexStream::new(bytes, options).collect::<Result<_, _>>().unwrap();
    let (vertices, edges): (Vec<_>, Vec<_>) =
        parsed.into_iter().map(|parsed| (parsed.vertex, parsed.edges)).unzip();
    (vertices, edges.concat())
}

fn read_graphml(bytes: &[u8]) -> (Graph, ReadSummary) {
    let mut reader = GraphmlReader::new(bytes, GraphmlOptions::default()).unwrap();
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for element in reader.by_ref() {
        match element.unwrap() {
            Element::Vertex(vertex) => vertices.push(vertex),
            Element::Edge(edge) => edges.push(edge),
        }
    }
    ((vertices, edges), reader.summary())
}

fn write_graphson((vertices, edges): &Graph, layout: Layout) -> Vec<u8> {
    let mut writer = VertexWriter::new(Vec::new(), layout);
    for vertex in vertices {
        let out = edges.iter().filter(|edge| edge.source == vertex.id);
        let in_ = edges.iter().filter(|edge| edge.target == vertex.id);
        writer.write_vertex(vertex, out, in_).unwrap();
    }
    writer.finish().unwrap()
}

fn write_graphml((vertices, edges): &Graph) -> (Vec<u8>, Losses) {
    let mut seen = HashSet::new();
    let mut properties = Vec::new();
    let mut state = |scope, name: &str, value: &Value| {
        let property = PropertyKey { scope, name: name.to_owned(), value_type: value.value_type() };
        if seen.insert(property.clone()) {
            properties.push(property);
        }
    };
    for (name, values) in vertices.iter().flat_map(|vertex| &vertex.properties) {
        values.iter().for_each(|value| state(Scope::Vertex, name, &value.value));
    }
    for (name, value) in edges.iter().flat_map(|edge| &edge.properties) {
        state(Scope::Edge, name, value);
    }
    let edge_ids = edges[0].id.as_ref().unwrap().value_type();
    let schema = GraphmlSchema { properties, vertex_ids: vertices[0].id.value_type(), edge_ids };
    let mut writer = GraphmlWriter::new(Vec::new(), schema).unwrap();
    vertices.iter().for_each(|vertex| writer.write_vertex(vertex).unwrap());
    edges.iter().for_each(|edge| writer.write_edge(edge).unwrap());
    writer.finish().unwrap()
}

/// How often each label and edge type occurs.
fn names((vertices, edges): &Graph) -> BTreeMap<String, usize> {
    let labels = vertices.iter().flat_map(|vertex| vertex.labels.clone());
    let mut counts = BTreeMap::new();
    for name in labels.chain(edges.iter().map(|edge| edge.edge_type.clone())) {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn counts<const N: usize>(expected: [(&str, usize); N]) -> BTreeMap<String, usize> {
    expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

/// Edges and vertices by id and in an order of their own, for files that order them differently.
fn sorted((mut vertices, mut edges): Graph) -> Graph {
    vertices.sort_by(|left, right| left.id.cmp(&right.id));
    let end =
        |edge: &Edge| (edge.source.clone(), edge.edge_type.clone(), edge.target.clone(), edge.id.clone());
    edges.sort_by_key(end);
    (vertices, edges)
}

const MODERN: [(&str, usize); 4] = [("person", 4), ("software", 2), ("knows", 2), ("created", 4)];

#[test]
fn graphson_files_have_the_vertices_and_edges_that_are_documented() {
    for (name, vertices, edges) in [
        ("tinkerpop-classic.json.gz", 6, 6),
        ("tinkerpop-modern.json.gz", 6, 6),
        ("tinkerpop-crew.json.gz", 6, 14),
        ("tinkerpop-sink.json.gz", 3, 3),
        ("grateful-dead.json.gz", 808, 8_049),
    ] {
        let Some(bytes) = file(name) else { return };
        let graph = read_graphson(&bytes, Side::Out);
        assert_eq!((graph.0.len(), graph.1.len()), (vertices, edges), "{name}");
        assert_eq!(
            sorted(graph.clone()),
            sorted(read_graphson(&bytes, Side::In)),
            "{name}: both sides agree"
        );
        for layout in [Layout::Lines, Layout::Wrapped] {
            let again = read_graphson(&write_graphson(&graph, layout), Side::Out);
            assert_eq!(sorted(again), sorted(graph.clone()), "{name} {layout:?}");
        }
    }
}

#[test]
fn labels_of_the_samples_are_counted() {
    let Some(bytes) = file("tinkerpop-modern.json.gz") else { return };
    assert_eq!(names(&read_graphson(&bytes, Side::Out)), counts(MODERN));
    let bytes = file("grateful-dead.json.gz").unwrap();
    let expected =
        [("artist", 224), ("song", 584), ("followedBy", 7_047), ("sungBy", 501), ("writtenBy", 501)];
    assert_eq!(names(&read_graphson(&bytes, Side::Out)), counts(expected));
}

#[test]
fn the_crew_keeps_its_multi_and_meta_properties() {
    let Some(bytes) = file("tinkerpop-crew.json.gz") else { return };
    let (vertices, edges) = read_graphson(&bytes, Side::Out);
    let marko = vertices.iter().find(|vertex| vertex.id == Value::I32(1)).unwrap();
    let (key, places) = &marko.properties[1];
    let towns: Vec<_> = places.iter().map(|place| place.value.as_str().unwrap()).collect();
    assert_eq!((key.as_str(), towns), ("location", vec!["san diego", "santa cruz", "brussels", "santa fe"]));
    assert_eq!(
        places[0].properties,
        [("startTime".to_owned(), Value::I32(1997)), ("endTime".to_owned(), Value::I32(2001))]
    );
    let (xml, losses) = write_graphml(&(vertices, edges));
    // 6 names and 14 towns, of which each of 4 people keeps one; 14 stays began and 10 ended.
    assert_eq!(losses, Losses { labels: 0, values: 10, meta_properties: 24, property_ids: 20 });
    assert_eq!(read_graphml(&xml).0.0.len(), 6);
}

#[test]
fn graphml_files_have_the_vertices_and_edges_that_are_documented() {
    for (name, vertices, edges) in [
        ("tinkerpop-classic.xml.gz", 6, 6),
        ("tinkerpop-modern.xml.gz", 6, 6),
        ("grateful-dead.xml.gz", 808, 8_049),
        ("air-routes-small-latest.graphml.gz", 47, 1_390),
    ] {
        let Some(bytes) = file(name) else { return };
        let (graph, summary) = read_graphml(&bytes);
        let counts = (summary.vertices_count, summary.edges_count, summary.remarks().count());
        assert_eq!(counts, (vertices, edges, 0), "{name}");
        let (again, losses) = write_graphml(&graph);
        assert_eq!(losses, Losses::default(), "{name}");
        assert_eq!(read_graphml(&again).0, graph, "{name}");
    }
}

#[test]
fn both_formats_of_a_graph_say_the_same() {
    for (json, xml) in [
        ("tinkerpop-modern.json.gz", "tinkerpop-modern.xml.gz"),
        ("tinkerpop-classic.json.gz", "tinkerpop-classic.xml.gz"),
        ("grateful-dead.json.gz", "grateful-dead.xml.gz"),
    ] {
        let (Some(json), Some(xml)) = (file(json), file(xml)) else { return };
        let text = |id: &Value| Value::from(id.to_string());
        let (mut vertices, mut edges) = read_graphson(&json, Side::Out);
        // GraphML has no ids of properties, ids that are strings, and an order of keys of its own.
        for vertex in &mut vertices {
            vertex.id = text(&vertex.id);
            vertex.properties.sort_by(|left, right| left.0.cmp(&right.0));
            vertex
                .properties
                .iter_mut()
                .for_each(|(_, values)| values.iter_mut().for_each(|value| value.id = None));
        }
        for edge in &mut edges {
            edge.id = edge.id.as_ref().map(text);
            (edge.source, edge.target) = (text(&edge.source), text(&edge.target));
        }
        let mut theirs = read_graphml(&xml).0;
        theirs.0.iter_mut().for_each(|vertex| vertex.properties.sort_by(|left, right| left.0.cmp(&right.0)));
        assert_eq!(sorted((vertices, edges)), sorted(theirs));
    }
}

#[test]
fn a_graphson_line_that_is_cut_anywhere_is_an_error() {
    let Some(bytes) = file("tinkerpop-crew.json.gz") else { return };
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(parse_line(line, Side::Out).is_ok());
        for end in 0..line.len() {
            assert!(parse_line(&line[..end], Side::Out).is_err());
        }
    }
}

#[test]
fn types_of_the_air_routes_are_those_of_their_keys() {
    let Some(bytes) = file("air-routes-small-latest.graphml.gz") else { return };
    let ((vertices, edges), _) = read_graphml(&bytes);
    let airport = vertices.iter().find(|vertex| vertex.labels == ["airport"]).unwrap();
    let value_type = |key: &str| {
        let (_, values) = airport.properties.iter().find(|(name, _)| name == key).unwrap();
        values[0].value.value_type()
    };
    assert_eq!(
        [value_type("code"), value_type("runways"), value_type("lat")],
        [ValueType::String, ValueType::I32, ValueType::F64]
    );
    assert!(edges.iter().any(|edge| edge.edge_type == "route" && edge.properties[0].0 == "dist"));
}

#[test]
fn the_roads_of_rome_are_read_written_and_read_again() {
    let Some(bytes) = file_of("road-rome99", "rome99.gr.gz") else { return };
    let read = |bytes: &[u8]| {
        let (mut problem, mut arcs) = (None, Vec::new());
        for line in bytes.split(|byte| *byte == b'\n') {
            match parse_dimacs_line(line, problem).unwrap() {
                DimacsLine::Comment => {}
                DimacsLine::Problem(found) => problem = Some(found),
                DimacsLine::Arc(arc) => arcs.push(arc),
            }
        }
        (problem.unwrap(), arcs)
    };
    let (problem, arcs) = read(&bytes);
    assert_eq!(problem, Problem { vertices_count: 3_353, arcs_count: 8_870 });
    assert_eq!(problem.check_arcs(arcs.len() as u64), Ok(()));
    let mut writer = DimacsWriter::new(Vec::new(), problem).unwrap();
    arcs.iter().for_each(|arc| writer.write_arc(*arc).unwrap());
    assert_eq!(read(&writer.finish().unwrap()), (problem, arcs));
}
