//! TinkerPop: its sample graphs in GraphSON and GraphML, with the counts that its documentation states.

use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph::graph::load::{EdgeTable, Load, VertexTable};
use evergraph::graph::value::ValueType;
use evergraph::import::options::{ImportOptions, Imported, InputFile};
use evergraph::import::read::read;
use evergraph::{Direction, EngineKind, ReadByName, Value};
use evergraph_tests::data_folder::data_set;
use evergraph_tests::store::in_memory;
use std::collections::BTreeMap;
use std::path::Path;

fn import(folder: &Path, file: &str, threads: usize) -> Imported {
    let options = ImportOptions { threads, ..ImportOptions::new([InputFile::new(folder.join(file))]) };
    let imported = read(&options, &|_| ()).expect("the graph loads");
    assert_eq!((imported.bad_rows.count, imported.settled.is_empty()), (0, true), "{file}");
    imported
}

fn load(folder: &Path, file: &str) -> Load {
    import(folder, file, 2).load
}

fn rows(load: &Load, label: &str) -> u64 {
    load.vertex_table(label).map_or(0, |table| table.rows)
}

type Properties = BTreeMap<String, String>;

fn properties(
    keys: &[(String, ValueType)],
    rows: u64,
    value: impl Fn(&str, usize) -> Option<String>,
) -> Vec<Properties> {
    let row = |row| keys.iter().filter_map(|(key, _)| Some((key.clone(), value(key, row)?))).collect();
    (0..rows as usize).map(row).collect()
}

fn of_vertices(table: &VertexTable) -> Vec<Properties> {
    let columns: BTreeMap<&str, _> =
        table.properties.iter().map(|(key, _)| (key.as_str(), table.column(key).unwrap())).collect();
    properties(&table.properties, table.rows, |key, row| Some(columns[key].as_ref()?.get(row)?.to_string()))
}

fn of_edges(table: &EdgeTable) -> Vec<Properties> {
    let columns: BTreeMap<&str, _> =
        table.properties.iter().map(|(key, _)| (key.as_str(), table.column(key).unwrap())).collect();
    properties(&table.properties, table.rows, |key, row| Some(columns[key].as_ref()?.get(row)?.to_string()))
}

/// Everything in `load`, by the ids of vertices: those of GraphML are texts, so all are shown as texts.
fn contents(load: &Load) -> Vec<String> {
    let vertices: Vec<Vec<Properties>> = load.vertices.iter().map(of_vertices).collect();
    let id = |table: usize, row: u32| vertices[table][row as usize]["id"].clone();
    let mut contents = Vec::new();
    for (table, rows) in load.vertices.iter().zip(&vertices) {
        contents.extend(rows.iter().map(|row| format!("{} {row:?}", table.label)));
    }
    for table in &load.edges {
        for ((source, target), row) in table.ends().unwrap().into_iter().zip(of_edges(table)) {
            let (source, target) = (id(table.source_label, source), id(table.target_label, target));
            contents.push(format!("{source} {} {target} {row:?}", table.edge_type));
        }
    }
    contents.sort();
    contents
}

#[test]
fn every_sample_graph_has_the_vertices_and_edges_that_are_known_of_it() {
    let Some(folder) = data_set("tinkerpop") else { return };
    for (file, vertices, edges) in [
        ("tinkerpop-modern.json.gz", 6, 6),
        ("tinkerpop-modern.xml.gz", 6, 6),
        ("tinkerpop-classic.json.gz", 6, 6),
        ("tinkerpop-classic.xml.gz", 6, 6),
        ("tinkerpop-crew.json.gz", 6, 14),
        ("grateful-dead.json.gz", 808, 8049),
        ("grateful-dead.xml.gz", 808, 8049),
        ("air-routes-small-latest.graphml.gz", 47, 1390),
    ] {
        let load = load(&folder, file);
        assert_eq!((load.vertices_count(), load.edges_count()), (vertices, edges), "{file}");
    }
    for file in ["grateful-dead.json.gz", "grateful-dead.xml.gz"] {
        let load = load(&folder, file);
        assert_eq!((rows(&load, "song"), rows(&load, "artist")), (584, 224), "{file}");
    }
    let sink = load(&folder, "tinkerpop-sink.json.gz");
    let loops = sink.edges.iter().flat_map(|table| {
        let is_within = table.source_label == table.target_label;
        table.ends().unwrap().into_iter().filter(move |(source, target)| is_within && source == target)
    });
    assert_eq!((sink.edges_count(), loops.count()), (3, 2), "two of its edges are loops");
}

#[test]
fn the_modern_graph_is_the_same_from_both_formats_with_any_number_of_threads() {
    let Some(folder) = data_set("tinkerpop") else { return };
    let graphson = contents(&load(&folder, "tinkerpop-modern.json.gz"));
    assert_eq!(graphson, contents(&import(&folder, "tinkerpop-modern.json.gz", 1).load));
    assert_eq!(graphson, contents(&load(&folder, "tinkerpop-modern.xml.gz")));
    assert_eq!(graphson.len(), 12);
    assert!(graphson.iter().any(|line| line.contains("29") && line.contains("marko")), "{graphson:?}");
}

#[test]
fn several_values_of_a_key_are_a_list_and_meta_properties_are_told() {
    let Some(folder) = data_set("tinkerpop") else { return };
    let imported = import(&folder, "tinkerpop-crew.json.gz", 2);
    let person = imported.load.vertex_table("person").unwrap();
    let location = person.column("location").unwrap().unwrap();
    let marko = location.get(0).unwrap().to_string();
    assert_eq!(marko, "[\"san diego\", \"santa cruz\", \"brussels\", \"santa fe\"]");
    assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
    assert!(imported.notes[0].ends_with("properties of properties were left out"), "{:?}", imported.notes);
}

#[test]
fn the_modern_graph_answers_as_the_documentation_does() {
    let Some(data) = data_set("tinkerpop") else { return };
    for engine in EngineKind::ALL {
        let db = in_memory(engine);
        let options = ImportOptions::new([InputFile::new(data.join("tinkerpop-modern.json.gz"))]);
        let report = db.import(&options, &|_| ()).unwrap();
        assert_eq!((report.vertices_count, report.edges_count), (6, 6), "{engine}");
        let statistics = db.statistics().unwrap();
        assert_eq!(statistics.vertices, [("person".to_owned(), 4), ("software".to_owned(), 2)]);
        assert_eq!(statistics.edges, [("created".to_owned(), 4), ("knows".to_owned(), 2)]);
        let snapshot = db.snapshot();
        let marko = snapshot.find("person", "id", Value::I32(1)).unwrap().expect("marko is there");
        assert_eq!(snapshot.get(marko, "name").unwrap(), Some("marko".into()));
    }
}

/// Their ids are of type `int`, which exports could not say once: the keys were unique no longer. Each format is
/// read by the engine that did not write it.
#[test]
fn the_modern_graph_goes_through_every_format_and_keeps_its_keys() {
    let Some(data) = data_set("tinkerpop") else { return };
    let folder = tempfile::tempdir().unwrap();
    let import = |engine: EngineKind, path: &Path| {
        let db = in_memory(engine);
        db.import(&ImportOptions::new([InputFile::new(path)]), &|_| ()).unwrap();
        db
    };
    let formats = [
        (ExportFormat::Csv, "csv"),
        (ExportFormat::GraphSon, "modern.json"),
        (ExportFormat::Parquet, "parquet"),
        (ExportFormat::GraphMl, "modern.graphml"),
    ];
    let [memory, disk, mapped] = EngineKind::ALL;
    for (first, second) in [(memory, disk), (disk, mapped), (mapped, memory)] {
        let mut db = import(first, &data.join("tinkerpop-modern.json.gz"));
        for (at, (format, output)) in formats.into_iter().enumerate() {
            let out = folder.path().join(format!("{first}-{output}"));
            let report = db.export(&ExportOptions::new(format, &out), &|_| ()).unwrap();
            assert_eq!(report.losses, Vec::<String>::new(), "{format:?}");
            db = import(if at % 2 == 0 { second } else { first }, &out);
            let snapshot = db.snapshot();
            let marko = snapshot.find("person", "id", Value::I32(1)).unwrap().expect("marko is there");
            assert_eq!(snapshot.get(marko, "age").unwrap(), Some(Value::I32(29)), "{format:?}");
            assert_eq!(snapshot.edges(marko, Direction::Out, &[]).unwrap().len(), 3, "{format:?}");
        }
    }
}
