//! Round trip: random graphs through files of every format and back.

use crate::graphs::{Content, Graph, graph};
use evergraph::Database;
use evergraph::export::options::{ExportFormat, ExportOptions, ExportSummary, Packing};
use evergraph::import::options::{ImportOptions, InputFile};
use proptest::prelude::*;
use std::path::Path;

fn export(db: &Database, options: &ExportOptions) -> ExportSummary {
    db.export(options, &|_| ()).unwrap()
}

fn imported(folder: &Path) -> Database {
    let db = Database::in_memory().unwrap();
    let options = ImportOptions { threads: 1, ..ImportOptions::new([InputFile::new(folder)]) };
    let report = db.import(&options, &|_| ()).unwrap();
    assert!(report.files.ignored_files.is_empty() && report.files.guessed_files.is_empty(), "{report:?}");
    db
}

/// What a database holds that was imported from the file of elements `path`. Where vertices are called by
/// their numbers, these are left out.
fn imported_elements(path: &Path, report: &ExportSummary) -> Content {
    let has_numbers =
        report.losses.iter().any(|loss| loss.starts_with("vertices are identified by their numbers"));
    let db = Database::in_memory().unwrap();
    let options = ImportOptions { threads: 1, ..ImportOptions::new([InputFile::new(path)]) };
    let imported = db.import(&options, &|_| ()).unwrap();
    let mut notes = imported.files.notes;
    // All vertices have a property `id`, and so do keys that begin with blanks and the like.
    let number = notes.iter().position(|note| note.contains("the ids of the files are kept as "));
    let number = number.map(|at| notes.remove(at)).map(|note| {
        let (_, rest) = note.split_once("are kept as ").unwrap();
        rest.strip_suffix(" (--vertex-id names another key)").unwrap().to_owned()
    });
    assert_eq!(number.is_some(), has_numbers && imported.vertices_count > 0, "{number:?}");
    let is_expected = |note: &String| note.ends_with("has values of several types: its type is any");
    assert!(notes.iter().all(is_expected), "{notes:?}");
    let mut content = Content::of(&db);
    content.vertices.iter_mut().for_each(|(_, properties)| {
        properties.retain(|(key, _)| Some(key) != number.as_ref());
    });
    content.sorted()
}

/// Labels that share ids: what is unique in each is not in the file, which has numbers instead; and an import
/// keeps both.
#[test]
fn labels_that_share_ids_come_back_from_every_format() {
    let graph = Graph {
        labels: vec!["Person".to_owned(), "Dog".to_owned()],
        unique: vec![vec!["id"], vec!["id"]],
        types: vec!["HAS".to_owned()],
        keys: Vec::new(),
        vertices: vec![(0, vec![]), (1, vec![]), (0, vec![])],
        edges: vec![(0, 0, 1, vec![]), (0, 0, 1, vec![]), (0, 1, 1, vec![])],
        shares_ids: true,
    };
    let db = graph.build();
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in [(ExportFormat::GraphSon, "out.json"), (ExportFormat::GraphMl, "out.graphml")] {
        let out = folder.path().join(name);
        let report = export(&db, &ExportOptions::new(format, &out));
        assert_eq!(imported_elements(&out, &report), Content::of(&db), "{name}");
    }
    let out = folder.path().join("out");
    export(&db, &ExportOptions::new(ExportFormat::Csv, &out));
    assert_eq!(Content::of(&imported(&out)), Content::of(&db));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn csv_gives_every_graph_back(graph in graph(), packing in 0..3_usize) {
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
    fn parquet_gives_every_graph_back(graph in graph()) {
        let db = graph.build();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        export(&db, &ExportOptions::new(ExportFormat::Parquet, &out));
        if !graph.vertices.is_empty() {
            prop_assert_eq!(Content::of(&imported(&out)), Content::of(&db));
        }
    }

    #[test]
    fn graphson_gives_every_graph_back(graph in graph()) {
        let db = graph.build();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.json");
        let report = export(&db, &ExportOptions::new(ExportFormat::GraphSon, &out));
        prop_assert_eq!(imported_elements(&out, &report), Content::of(&db));
    }

    #[test]
    fn graphml_gives_every_graph_back(graph in graph()) {
        let db = graph.build();
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.graphml");
        let report = export(&db, &ExportOptions::new(ExportFormat::GraphMl, &out));
        prop_assert_eq!(imported_elements(&out, &report), Content::of(&db));
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
    assert_eq!(
        report.files.iter().map(|file| file.rows).collect::<Vec<_>>(),
        [1, 1250, 1250, 1250, 1250, 1250, 1250]
    );
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
        shares_ids: false,
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let report = export(&graph.build(), &ExportOptions::new(ExportFormat::Csv, &out));
    assert_eq!(report.losses, Vec::<String>::new());
    let header =
        |name: &str| std::fs::read_to_string(out.join(name)).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(header("Person.csv"), "code:ID(Person),id:long");
    assert_eq!(header("a_b.csv"), "id:ID(a_b){id-type:long},:LABEL,code:string");
    assert_eq!(header("Person-KNOWS-a_b.csv"), ":START_ID(Person),:TYPE,:END_ID(a_b){id-type:long}");
    let db = imported(&out);
    let error = db.transact(|tx| tx.add_vertex("a/b", &[("id", graph.id(1).into())])).unwrap_err();
    assert!(error.to_string().contains("id"), "{error}");
}
