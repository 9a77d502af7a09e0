//! Algorithms by `evergraph run`: each one answers, in every form; filters; paths, cycles, orders.

use crate::support::Folder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::json;
use std::fs::File;

/// Each algorithm with what it can't do without, and whether it has a row for every vertex.
pub const ALGORITHMS: [(&[&str], bool); 19] = [
    (&["pagerank"], true),
    (&["personalized-pagerank", "--source", "1", "--source-vertex", "2"], true),
    (&["betweenness"], true),
    (&["closeness", "--sample", "2"], true),
    (&["eigenvector"], true),
    (&["bfs", "--source", "1"], true),
    (&["sssp", "--source", "1", "--weight", "since"], true),
    (&["shortest-path", "--source", "1", "--target", "3"], false),
    (&["k-hop", "--source", "1"], false),
    (&["wcc"], true),
    (&["scc"], true),
    (&["cycles"], false),
    (&["topological-order", "--where-edge", "since>1827"], false),
    (&["cdlp"], true),
    (&["louvain"], true),
    (&["leiden", "--weight", "since"], true),
    (&["kcore"], true),
    (&["triangles"], true),
    (&["lcc"], true),
];

/// All columns of all row groups, each value as text, null as nothing; and the types.
pub fn parquet(folder: &Folder, name: &str) -> (Vec<(String, DataType)>, Vec<Vec<String>>) {
    let file = File::open(folder.path(name)).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let fields = builder.schema().fields().iter();
    let types = fields.map(|field| (field.name().clone(), field.data_type().clone())).collect();
    let batches: Vec<RecordBatch> = builder.build().unwrap().collect::<Result<_, _>>().unwrap();
    let text = |array: &dyn Array, row: usize| match array.data_type() {
        _ if array.is_null(row) => String::new(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => match array.as_primitive::<Float64Type>().value(row) {
            number if number.is_infinite() => "infinity".to_owned(),
            number => format!("{number:?}"),
        },
        _ => array.as_string::<i32>().value(row).to_owned(),
    };
    let row = |batch: &RecordBatch, row| batch.columns().iter().map(|array| text(array, row)).collect();
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at))).collect();
    (types, rows)
}

#[test]
fn every_algorithm_answers_as_table_document_csv_and_parquet() {
    let folder = Folder::with_social();
    for (arguments, every_vertex) in ALGORITHMS {
        let run = [&["run", "social.eg"], arguments].concat();
        let parquet_file = ["--output", "a.parquet", "--overwrite"];
        let table = folder.run(&[&run[..], &parquet_file].concat()).succeeded().out;
        assert!(table.starts_with(&format!("{} of social.eg", arguments[0])), "{table}");
        let document = folder.json(&[&run[..], &["--output", "a.csv", "--overwrite"]].concat());
        assert_eq!(document["algorithm"], arguments[0]);
        assert!(document["outcome"].is_object(), "{document}");
        let csv = folder.read("a.csv");
        let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let lines: Vec<Vec<String>> = lines.collect();
        assert!(!every_vertex || lines.len() == 3, "{csv}");
        assert!(lines.len() >= 2, "{csv}");
        let (types, rows) = parquet(&folder, "a.parquet");
        assert_eq!(types.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), header);
        assert_eq!(rows, lines, "{arguments:?}");
    }
}

#[test]
fn parquet_columns_have_the_types_of_keys_and_values() {
    let folder = Folder::with_social();
    folder.write("a.e", "1 2 0.5\n2 3 1.5\n3 1 1\n");
    folder.run(&["import", "a.eg", "a.e"]).succeeded();
    let types_in = |database: &str, arguments: &[&str]| {
        let output = ["--output", "a.PARQUET", "--overwrite"];
        folder.run(&[&["run", database], arguments, &output].concat()).succeeded();
        parquet(&folder, "a.PARQUET").0.into_iter().map(|(_, data_type)| data_type).collect::<Vec<_>>()
    };
    use DataType::{Float64, Int64, Utf8};
    assert_eq!(types_in("a.eg", &["pagerank"]), [Int64, Float64]);
    assert_eq!(types_in("social.eg", &["wcc"]), [Utf8, Int64]);
    assert_eq!(types_in("social.eg", &["wcc", "--key", "born"]), [Int64, Int64]);
    assert_eq!(types_in("social.eg", &["cycles"]), [Int64, Int64, Utf8]);
    let path = ["shortest-path", "--source", "1", "--target", "3", "--weight", "weight"];
    assert_eq!(types_in("a.eg", &path), [Int64, Int64, Int64, Float64]);
}

#[test]
fn a_parquet_file_is_there_whole_or_not_at_all() {
    let folder = Folder::with_bank();
    folder.run(&["run", "bank.eg", "pagerank", "--output", "ranks.parquet"]).succeeded();
    let (_, rows) = parquet(&folder, "ranks.parquet");
    let csv = folder.run(&["run", "bank.eg", "pagerank", "--output", "-"]).succeeded().out;
    let csv: Vec<Vec<String>> =
        csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect();
    assert!(rows == csv && rows.len() >= 1000);
    std::os::unix::fs::symlink("/dev/full", folder.path("full.parquet")).unwrap();
    folder.run(&["run", "bank.eg", "wcc", "--output", "full.parquet"]).failed(6, &["full.parquet", "space"]);
}

#[test]
fn conditions_choose_vertices_and_edges() {
    let folder = Folder::with_social();
    let size = |conditions: &[&str]| {
        let found = folder.json(&[&["run", "social.eg", "wcc"], conditions].concat());
        (found["vertices"].as_u64().unwrap(), found["edges"].as_u64().unwrap())
    };
    // Ada 1815, Charles 1791, Mary 1780; 1->2 1833, 3->1 1840, 2->3 1827.
    assert_eq!(size(&["--where", "born>=1790"]), (2, 1));
    assert_eq!(size(&["--where", "born>=1790", "--where", "name != 'Ada'"]), (1, 0));
    assert_eq!(size(&["--where", "name in Ada, Mary"]), (2, 1));
    assert_eq!(size(&["--where", "name"]), (3, 3));
    assert_eq!(size(&["--where-edge", "since<1840"]), (3, 2));
    assert_eq!(size(&["--where", "id<3", "--where-edge", "since > 1833.5"]), (2, 0));
    let ranks = folder.run(&["run", "social.eg", "pagerank", "--where", "born>=1790", "--output", "-"]);
    assert_eq!(ranks.succeeded().out.lines().count(), 3);

    let refused = |condition, code, words: &[&str]| {
        folder.run(&["run", "social.eg", "wcc", "--where", condition]).failed(code, words);
    };
    refused("age>1", 3, &["age", "born"]);
    refused("born>soon", 2, &["--where", "born>soon", "soon"]);
    refused("since=1827", 2, &["--where", "nothing in scope has a property since"]);
    folder
        .run(&["run", "social.eg", "bfs", "--source", "3", "--where", "born>1790"])
        .failed(3, &["filtered"]);
}

#[test]
fn a_shortest_path_is_a_line_a_document_and_rows() {
    let folder = Folder::with_social();
    let path = ["run", "social.eg", "shortest-path", "--source", "1", "--target", "3"];
    let text = folder.run(&path).succeeded().out;
    assert!(text.contains("a path over 2 edges\n") && text.contains("2  1 -> 2 -> 3\n"), "{text}");
    let weighted = [&path[..], &["--weight", "since"]].concat();
    let rows = folder.run(&[&weighted[..], &["--output", "-"]].concat()).succeeded().out;
    assert_eq!(rows, "path,position,key,value\n1,0,1,0.0\n1,1,2,1833.0\n1,2,3,3660.0\n");
    let document = folder.json(&weighted);
    assert_eq!(document["outcome"]["length"], 3660.0);
    assert_eq!(document["paths"][0]["vertices"][1], json!({"vertex": 1, "label": "Person", "key": "2"}));
    assert_eq!(document["vertices"], json!(null), "nothing was frozen");

    let none = [&path[..], &["--where-edge", "since>1827"]].concat();
    assert!(folder.run(&none).succeeded().out.contains("no path\n"));
    assert_eq!(folder.json(&none)["outcome"]["found"], false);
    let rows = folder.run(&[&none[..], &["--output", "-"]].concat()).succeeded().out;
    assert_eq!(rows, "path,position,key\n");
    folder.run(&["run", "social.eg", "shortest-path", "--source", "1"]).failed(2, &["--target"]);
    folder.run(&[&path[..6], &["9"]].concat()).failed(3, &["--target", "Person.id"]);
}

#[test]
fn cycles_and_orders_name_their_vertices() {
    let folder = Folder::with_social();
    let rows = |arguments: &[&str]| {
        let output = ["--output", "-"];
        folder.run(&[&["run", "social.eg"], arguments, &output].concat()).succeeded().out
    };
    let ring = "path,position,key\n1,0,1\n1,1,2\n1,2,3\n";
    assert_eq!(rows(&["cycles"]), ring);
    assert_eq!(rows(&["cycles", "--through", "2"]), ring);
    assert_eq!(rows(&["cycles", "--length-max", "2"]), "path,position,key\n");
    let text = folder.run(&["run", "social.eg", "cycles", "--key", "name"]).succeeded().out;
    assert!(text.contains("3  Ada -> Charles -> Mary -> Ada\n"), "{text}");

    let order = ["topological-order", "--where-edge", "since>1827"];
    assert_eq!(rows(&order), "key,value\n3,0\n1,1\n2,2\n");
    assert_eq!(rows(&[&order[..], &["--direction", "in"]].concat()), "key,value\n2,0\n1,1\n3,2\n");
    let circular = ["run", "social.eg", "topological-order", "--output", "order.csv"];
    folder.run(&circular).failed(2, &["cycle", "Person 1 -> Person 2 -> Person 3 -> Person 1"]);
    assert!(!folder.path("order.csv").exists());
}

#[test]
fn an_answer_replaces_a_file_only_when_asked() {
    let folder = Folder::with_social();
    let people = folder.read("people.csv");
    let run = ["run", "social.eg", "pagerank", "--output", "people.csv"];
    folder.run(&run).failed(2, &["people.csv already exists", "(--overwrite)"]);
    assert_eq!(folder.read("people.csv"), people);
    // It is asked each time, by the call itself.
    folder.write("evergraph.toml", "[run]\noverwrite = true\n");
    folder.run(&run).failed(2, &["evergraph.toml:2", "run.overwrite"]);
    folder.run(&[&run[..], &["--overwrite", "--no-config"]].concat()).succeeded();
    assert!(folder.read("people.csv").starts_with("key,value\n"));
}

#[test]
fn groups_have_numbers_from_the_largest_on_and_the_table_shows_them() {
    let folder = Folder::new();
    folder.write("a.e", "10 20\n30 40\n40 50\n");
    folder.run(&["import", "a.eg", "a.e", "--vertices", "60..61"]).failed(2, &[]);
    folder.run(&["import", "a.eg", "a.e"]).succeeded();
    for algorithm in ["wcc", "louvain"] {
        let rows = folder.run(&["run", "a.eg", algorithm, "--output", "-"]).succeeded().out;
        assert_eq!(rows, "key,value\n10,1\n20,1\n30,0\n40,0\n50,0\n", "{algorithm}");
    }
    let top = &folder.json(&["run", "a.eg", "wcc"])["top"];
    assert_eq!(top[0], json!({"group": 0, "vertex": 2, "label": "Vertex", "key": 30, "value": 3}));
    assert_eq!(top[1], json!({"group": 1, "vertex": 0, "label": "Vertex", "key": 10, "value": 2}));
    let table = folder.run(&["run", "a.eg", "wcc"]).succeeded().out;
    assert!(table.contains("component  label   key  vertex  vertices\n"), "{table}");
    let components = folder.json(&["run", "a.eg", "scc"]);
    assert_eq!((&components["top"][4]["group"], &components["top"][4]["value"]), (&json!(4), &json!(1)));
    assert_eq!(folder.json(&["run", "a.eg", "pagerank"])["top"][0]["group"], json!(null));
}

#[test]
fn scores_that_did_not_converge_are_told() {
    let folder = Folder::with_bank();
    let run = ["run", "bank.eg", "eigenvector", "--direction", "both", "--iterations", "2"];
    let text = folder.run(&run).succeeded().out;
    assert!(text.contains("not converged: ") && text.contains("allow more iterations"), "{text}");
    let outcome = &folder.json(&run)["outcome"];
    let (sum, mean) = (outcome["change"].as_f64().unwrap(), outcome["change_mean"].as_f64().unwrap());
    assert!((sum / 1000.0 - mean).abs() < 1e-12 && outcome["converged"] == false, "{outcome}");
}

#[test]
fn a_neighbourhood_is_the_nearest_first() {
    let folder = Folder::with_social();
    let rows = |arguments: &[&str]| {
        let run = ["run", "social.eg", "k-hop", "--output", "-"];
        folder.run(&[&run[..], arguments].concat()).succeeded().out
    };
    assert_eq!(rows(&["--source", "3"]), "key,value\n3,0\n1,1\n2,2\n");
    assert_eq!(rows(&["--source", "3", "--depth", "1", "--direction", "in"]), "key,value\n3,0\n2,1\n");
    assert_eq!(rows(&["--source", "3", "--source-vertex", "0", "--depth", "0"]), "key,value\n1,0\n3,0\n");
    let cut = folder.json(&["run", "social.eg", "k-hop", "--source", "3", "--limit", "2"]);
    assert_eq!(cut["outcome"]["complete"], false);
    folder.run(&["run", "social.eg", "k-hop"]).failed(2, &["--source"]);
    let refused = |option: &str, value: &str, words: &[&str]| {
        let run = ["run", "social.eg", "k-hop", "--source", "3", option, value];
        folder.run(&run).failed(2, &[&[option], words].concat());
    };
    refused("--limit", "0", &["'0'", ": must be at least 1\n"]);
    refused("--depth", "4294967296", &[": must be at most 4294967295\n"]);
    refused("--depth", "two", &[": must be a whole number\n"]);
}

#[test]
fn the_help_of_run_lists_all_algorithms_in_groups() {
    let folder = Folder::new();
    for option in ["-h", "--help"] {
        let help = folder.run(&["run", option]).succeeded().out;
        for (arguments, _) in ALGORITHMS {
            let line = help.lines().find(|line| line.starts_with(&format!("  {} ", arguments[0])));
            assert!(line.is_some_and(|line| line.len() > 25), "{}: {help}", arguments[0]);
        }
        assert!(help.contains("\nWho matters:\n") && help.contains("<DATABASE>"), "{help}");
    }
}
