//! Round trip: random graphs through files of every format and back.

use crate::graphs::{Content, Graph, ID, graph, shown};
use crate::values::Letters;
use evergraph::export::options::{ExportFormat, ExportOptions, Exported, Packing};
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph::{Database, Value};
use evergraph_formats::element::{Edge, Element, Vertex};
use evergraph_formats::graphml::reader::{GraphmlOptions, GraphmlReader};
use evergraph_formats::graphson::stream::{StreamOptions, VertexStream};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

fn export(db: &Database, options: &ExportOptions) -> Exported {
    db.export(options, &|_| ()).unwrap()
}

fn imported(folder: &Path) -> Database {
    let db = Database::in_memory().unwrap();
    let options = ImportOptions { threads: 1, ..ImportOptions::new([InputFile::new(folder)]) };
    let report = db.import(&options, &|_| ()).unwrap();
    assert!(report.files.ignored_files.is_empty() && report.files.guessed_files.is_empty(), "{report:?}");
    db
}

/// What files of elements hold. An element's id is the property `id`, or nothing that was a property.
fn content(vertices: &[Vertex], edges: &[Edge]) -> Content {
    let mut content = Content::default();
    let mut ids: HashMap<Value, String> = HashMap::new();
    for vertex in vertices {
        let [label] = vertex.labels.as_slice() else { panic!("{vertex:?}") };
        let mut properties: Vec<(String, Value)> = vertex
            .properties
            .iter()
            .map(|(key, values)| (key.clone(), values[0].value.clone()))
            .collect();
        if !properties.iter().any(|(key, _)| key == ID) {
            properties.push((ID.to_owned(), vertex.id.clone()));
        }
        let id = properties.iter().find(|(key, _)| key == ID).map(|(_, value)| value.clone());
        assert!(ids.insert(vertex.id.clone(), format!("{id:?}")).is_none(), "{} comes twice", vertex.id);
        content.vertices.push((label.clone(), shown(properties)));
    }
    for edge in edges {
        let ends = (ids[&edge.source].clone(), ids[&edge.target].clone());
        content.edges.push((edge.edge_type.clone(), ends.0, ends.1, shown(edge.properties.clone())));
    }
    content.sorted()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn csv_gives_every_graph_back(graph in graph(Letters::All), packing in 0..3_usize) {
        let db = graph.build();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let mut options = ExportOptions::new(ExportFormat::Csv, &out);
        options.packing = Some([Packing::None, Packing::Gzip, Packing::Zstd][packing]);
        let report = export(&db, &options);
        prop_assert_eq!(report.vertices_count, graph.vertices.len() as u64);
        prop_assert_eq!(report.edges_count, graph.edges.len() as u64);
        if graph.vertices.is_empty() {
            prop_assert!(report.files.is_empty());
            return Ok(());
        }
        prop_assert_eq!(Content::of(&imported(&out)), Content::of(&db));
    }

    #[test]
    fn graphson_gives_every_graph_back(graph in graph(Letters::All)) {
        let db = graph.build();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.json");
        export(&db, &ExportOptions::new(ExportFormat::GraphSon, &out));
        let bytes = BufReader::new(File::open(&out).unwrap());
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        for parsed in VertexStream::new(bytes, StreamOptions::default()) {
            let parsed = parsed.unwrap();
            vertices.push(parsed.vertex);
            edges.extend(parsed.edges);
        }
        prop_assert_eq!(content(&vertices, &edges), Content::of(&db));
    }

    #[test]
    fn graphml_gives_every_graph_of_xml_characters_back(graph in graph(Letters::Xml)) {
        // The names of TinkerPop's keys for labels and types.
        prop_assume!(!graph.keys.iter().any(|(key, _)| key == "labelV" || key == "labelE"));
        let db = graph.build();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.graphml");
        export(&db, &ExportOptions::new(ExportFormat::GraphMl, &out));
        let bytes = BufReader::new(File::open(&out).unwrap());
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        for element in GraphmlReader::new(bytes, GraphmlOptions::default()).unwrap() {
            match element.unwrap() {
                Element::Vertex(vertex) => vertices.push(vertex),
                Element::Edge(edge) => edges.push(edge),
            }
        }
        prop_assert_eq!(content(&vertices, &edges), Content::of(&db));
    }
}

/// More than a page of vertices and, at one of them, of edges.
#[test]
fn hubs_and_long_labels_come_back_whole() {
    let db = Database::in_memory().unwrap();
    db.transact(|tx| {
        let hub = tx.add_vertex("Hub", &[("id", (-1_i64).into())])?;
        for number in 0..2_500_i64 {
            let leaf = tx.add_vertex(if number % 2 == 0 { "A" } else { "B" }, &[("id", number.into())])?;
            tx.add_edge(hub, "TO", leaf, &[("n", number.into())])?;
            tx.add_edge(leaf, "TO", hub, &[])?;
        }
        Ok(())
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let report = export(&db, &ExportOptions::new(ExportFormat::Csv, &out));
    let names: Vec<&str> = report.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        ["Hub.csv", "A.csv", "B.csv", "Hub-TO-A.csv", "Hub-TO-B.csv", "A-TO-Hub.csv", "B-TO-Hub.csv"]
    );
    assert_eq!(report.files.iter().map(|file| file.rows).collect::<Vec<_>>(), [1, 1250, 1250, 1250, 1250, 1250, 1250]);
    assert!(Content::of(&imported(&out)) == Content::of(&db));
}

/// Graphs whose unique keys come back need no second look: their ids and keys are those of before.
#[test]
fn a_unique_key_is_one_again_after_an_import() {
    let graph = Graph {
        labels: vec!["Person".to_owned(), "a/b".to_owned()],
        unique: vec![vec!["code"], vec!["id"]],
        types: vec!["KNOWS".to_owned()],
        keys: Vec::new(),
        vertices: vec![(0, vec![]), (1, vec![])],
        edges: vec![(0, 0, 1, vec![])],
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let report = export(&graph.build(), &ExportOptions::new(ExportFormat::Csv, &out));
    assert_eq!(report.losses, Vec::<String>::new());
    let header = |name: &str| {
        std::fs::read_to_string(out.join(name)).unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(header("Person.csv"), "code:ID(Person),id:long");
    assert_eq!(header("a_b.csv"), "id:ID(a_b){id-type:long},:LABEL,code:string");
    assert_eq!(header("Person-KNOWS-a_b.csv"), ":START_ID(Person),:TYPE,:END_ID(a_b){id-type:long}");
    let db = imported(&out);
    let error = db.transact(|tx| tx.add_vertex("a/b", &[("id", Graph::id(1).into())])).unwrap_err();
    assert!(error.to_string().contains("id"), "{error}");
}
