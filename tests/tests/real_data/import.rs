//! Import: the columns that are read from the files of a set, before they are a database, with the
//! counts that its publishers and other tools state.

use evergraph::Value;
use evergraph::graph::column::Column;
use evergraph::graph::load::{EdgeTable, Load};
use evergraph::import::options::{ImportOptions, Imported, InputFile};
use evergraph::import::read::read;
use evergraph_tests::data::{data_set, json_atoms, json_section, read_text};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn options(paths: &[PathBuf]) -> ImportOptions {
    ImportOptions::new(paths.iter().map(InputFile::new))
}

fn load(options: &ImportOptions) -> Load {
    let Imported { load, bad_rows, .. } = read(options, &|_| ()).expect("the set loads");
    assert_eq!(bad_rows.count, 0);
    load
}

/// What `expected-counts.json` says in `section`: name and count.
fn expected_counts(folder: &Path, section: &str) -> Vec<(String, u64)> {
    let text = read_text(&folder.join("expected-counts.json"));
    let atoms = json_atoms(json_section(&text, section));
    atoms.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect()
}

/// The rows that `load` has of a file of LDBC's, by the file's name.
fn rows_of(load: &Load, file: &str) -> u64 {
    let words: Vec<&str> = file.split('_').collect();
    let is_label = |table: usize, word: &str| load.vertices[table].label.eq_ignore_ascii_case(word);
    if let [label] = words[..] {
        let tables = load.vertices.iter().filter(|table| table.label.eq_ignore_ascii_case(label));
        return tables.map(|table| table.rows).sum();
    }
    let [source, edge_type, target] = words[..] else { panic!("{file}") };
    let tables = load.edges.iter().filter(|table| {
        table.edge_type.replace('_', "").eq_ignore_ascii_case(edge_type)
            && is_label(table.source_label, source)
            && is_label(table.target_label, target)
    });
    tables.map(|table| table.sources.len() as u64).sum()
}

fn assert_is_whole(load: &Load) {
    for table in &load.vertices {
        for (key, column) in &table.columns {
            assert_eq!(column.len() as u64, table.rows, "{} {key}", table.label);
        }
    }
    for table in &load.edges {
        let (sources, targets) = (&load.vertices[table.source_label], &load.vertices[table.target_label]);
        assert_eq!(table.sources.len(), table.targets.len());
        assert!(table.sources.iter().all(|row| u64::from(*row) < sources.rows), "{}", table.edge_type);
        assert!(table.targets.iter().all(|row| u64::from(*row) < targets.rows), "{}", table.edge_type);
        for (key, column) in &table.columns {
            assert_eq!(column.len(), table.sources.len(), "{} {key}", table.edge_type);
        }
    }
}

fn degree_max(table: &EdgeTable, vertices: u64) -> u32 {
    let mut degrees = vec![0; vertices as usize];
    table.sources.iter().for_each(|source| degrees[*source as usize] += 1);
    degrees.into_iter().max().expect("there are vertices")
}

fn number(column: &Column, row: usize) -> i64 {
    column.get(row).and_then(|value| value.as_i64()).expect("a whole number")
}

#[test]
fn the_snb_sample_loads_as_one_folder() {
    let Some(folder) = data_set("snb-interactive-mini") else { return };
    let load = load(&options(&[folder.join("graph")]));
    assert_is_whole(&load);
    let expected = expected_counts(&folder, "rows_before");
    assert_eq!(expected.len(), 31);
    for (file, rows) in expected {
        assert_eq!(rows_of(&load, &file), rows, "{file}");
    }
    assert_eq!((load.vertices_count(), load.edges_count()), (34_735, 70_842));

    let person = load.vertex_table("Person").unwrap();
    let ids = person.column("id").unwrap();
    let jose = (0..ids.len()).find(|row| number(ids, *row) == 8_796_093_022_220).unwrap();
    let text = |key: &str| person.column(key).unwrap().get(jose).unwrap().to_string();
    assert_eq!(text("firstName"), "Jose");
    assert_eq!(text("birthday"), "1987-09-18");
    assert_eq!(text("creationDate"), "2010-09-16T06:54:00.602Z");
    let languages = person.column("language").unwrap().get(jose).unwrap();
    assert!(
        matches!(&languages, Value::List(list) if list.as_slice() == [Value::from("es"), Value::from("en")])
    );
    let works = load.edges.iter().find(|table| table.edge_type == "WORK_AT").unwrap();
    assert_eq!(works.column("workFrom").unwrap().get(0), Some(Value::I32(2009)));
    let posts = load.vertex_table("Post").unwrap();
    let no_content = (0..posts.rows as usize)
        .filter(|row| posts.column("content").unwrap().get(*row).is_none())
        .all(|row| posts.column("imageFile").unwrap().get(row).is_some());
    assert!(no_content, "a post without a text is a picture");
}

#[test]
fn a_multigraph_keeps_every_edge() {
    let Some(folder) = data_set("temporal") else { return };
    let options = ImportOptions {
        edge_columns: Some("time".to_owned()),
        ..options(&[folder.join("sx-mathoverflow.txt.gz")])
    };
    let load = load(&options);
    assert_is_whole(&load);
    let edges = &load.edges[0];
    assert_eq!((load.vertices_count(), edges.sources.len()), (24_818, 506_550));
    let pairs: HashSet<(u32, u32)> =
        edges.sources.iter().copied().zip(edges.targets.iter().copied()).collect();
    assert_eq!(pairs.len(), 239_978);
    assert_eq!(number(edges.column("time").unwrap(), 0), 1_254_192_988);
}

#[test]
fn an_edge_list_with_commas_and_fractions_is_told_from_csv_with_a_header() {
    let Some(folder) = data_set("temporal") else { return };
    let options = ImportOptions {
        edge_columns: Some("rating,time".to_owned()),
        ..options(&[folder.join("soc-sign-bitcoinotc.csv.gz")])
    };
    let load = load(&options);
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (5881, 35_592));
    let ratings = load.edges[0].column("rating").unwrap();
    assert!((0..ratings.len()).all(|row| (-10..=10).contains(&number(ratings, row))));
    assert_eq!(load.edges[0].column("time").unwrap().get(0), Some(Value::F64(1_289_241_911.728_36)));
}

#[test]
fn isolated_vertices_come_from_a_range() {
    let Some(folder) = data_set("rmat17") else { return };
    let options = ImportOptions { vertices: Some(0..131_072), ..options(&[folder.join("rmat17.e.gz")]) };
    let load = load(&options);
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (131_072, 2_097_152));
    assert_eq!(degree_max(&load.edges[0], 131_072), 8321);
    let ids = load.vertices[0].column("id").unwrap();
    assert!((0..ids.len()).all(|row| number(ids, row) == row as i64));
}

#[test]
fn graphalytics_pairs_of_files_are_one_graph() {
    let Some(folder) = data_set("twitter-ego") else { return };
    let load = load(&options(&[folder.join("twitter.v.gz"), folder.join("twitter.e.gz")]));
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (81_307, 1_768_135));
    let edges = &load.edges[0];
    let isolated = |row: u32| !edges.sources.contains(&row) && !edges.targets.contains(&row);
    assert!(isolated(0) && !isolated(1));
    let weights = edges.column("weight").unwrap();
    let in_range = |weight: f64| (1.0..=100.0).contains(&weight);
    assert!((0..weights.len()).all(|row| in_range(weights.get(row).unwrap().as_f64().unwrap())));
}

#[test]
fn vertex_lists_keep_their_further_columns() {
    let Some(folder) = data_set("p2p-31") else { return };
    let load = load(&options(&[folder.join("p2p-31.v.gz"), folder.join("p2p-31.e.gz")]));
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (62_586, 147_892));
    assert_eq!(number(load.vertices[0].column("value").unwrap(), 0), 7);
}

#[test]
fn graphalytics_unit_graphs_load() {
    let Some(folder) = data_set("graphalytics-validation") else { return };
    for name in
        ["example/example-directed", "example/example-undirected", "sssp/dir-input", "sssp/undir-input"]
    {
        let files = [folder.join(format!("{name}.v")), folder.join(format!("{name}.e"))];
        let load = load(&options(&files));
        assert_is_whole(&load);
        let lines = |path: &Path| read_text(path).lines().count() as u64;
        assert_eq!(
            (load.vertices_count(), load.edges_count()),
            (lines(&files[0]), lines(&files[1])),
            "{name}"
        );
    }
}
