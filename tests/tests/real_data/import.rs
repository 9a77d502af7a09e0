//! Import: the columns that are read from the files of a set, before they are a database, with the
//! counts that its publishers and other tools state.

use evergraph::Value;
use evergraph::graph::load::{EdgeTable, Load, VertexTable};
use evergraph::graph::packed_column::PackedColumn;
use evergraph::import::options::{ImportOptions, Imported, InputFile};
use evergraph::import::read::read;
use evergraph_tests::data::{json_atoms, json_section, read_text};
use evergraph_tests::data_folder::data_set;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

pub fn options(paths: &[PathBuf]) -> ImportOptions {
    ImportOptions::new(paths.iter().map(InputFile::new))
}

pub fn load(options: &ImportOptions) -> Load {
    let Imported { load, bad_rows, .. } = read(options, &|_| ()).expect("the set loads");
    assert_eq!(bad_rows.count, 0);
    load
}

/// What `expected-counts.json` says in `section`: name and count.
pub fn expected_counts(folder: &Path, section: &str) -> Vec<(String, u64)> {
    let text = read_text(&folder.join("expected-counts.json"));
    let atoms = json_atoms(json_section(&text, section));
    atoms.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect()
}

/// The rows that `load` has of a file of LDBC's, by the file's name.
pub fn rows_of(load: &Load, file: &str) -> u64 {
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
    tables.map(|table| table.rows).sum()
}

pub fn assert_is_whole(load: &Load) {
    for table in &load.vertices {
        let mut rows = 0;
        let read = table.blocks.for_each(&mut |block| {
            rows += block.rows as u64;
            assert!(block.columns.iter().flatten().all(|column| column.len() == block.rows));
            Ok(())
        });
        read.unwrap();
        assert_eq!(rows, table.rows, "{}", table.label);
    }
    for table in &load.edges {
        let (sources, targets) = (&load.vertices[table.source_label], &load.vertices[table.target_label]);
        let mut rows = 0;
        let read = table.blocks.for_each(&mut |block| {
            rows += block.sources.len() as u64;
            assert_eq!(block.sources.len(), block.targets.len());
            assert!(block.sources.iter().all(|row| u64::from(*row) < sources.rows), "{}", table.edge_type);
            assert!(block.targets.iter().all(|row| u64::from(*row) < targets.rows), "{}", table.edge_type);
            assert!(block.columns.iter().flatten().all(|column| column.len() == block.sources.len()));
            Ok(())
        });
        read.unwrap();
        assert_eq!(rows, table.rows, "{}", table.edge_type);
    }
}

/// A property that some vertex has.
fn of_vertices(table: &VertexTable, key: &str) -> PackedColumn {
    table.column(key).unwrap().expect("a vertex has it")
}

/// A property that some edge has.
fn of_edges(table: &EdgeTable, key: &str) -> PackedColumn {
    table.column(key).unwrap().expect("an edge has it")
}

fn degree_max(table: &EdgeTable, vertices: u64) -> u32 {
    let mut degrees = vec![0; vertices as usize];
    table.ends().unwrap().iter().for_each(|(source, _)| degrees[*source as usize] += 1);
    degrees.into_iter().max().expect("there are vertices")
}

fn number(column: &PackedColumn, row: usize) -> i64 {
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
    let ids = of_vertices(person, "id");
    let jose = (0..ids.len()).find(|row| number(&ids, *row) == 8_796_093_022_220).unwrap();
    let text = |key: &str| of_vertices(person, key).get(jose).unwrap().to_string();
    assert_eq!(text("firstName"), "Jose");
    assert_eq!(text("birthday"), "1987-09-18");
    assert_eq!(text("creationDate"), "2010-09-16T06:54:00.602Z");
    let languages = of_vertices(person, "language").get(jose).unwrap();
    assert!(
        matches!(&languages, Value::List(list) if list.as_slice() == [Value::from("es"), Value::from("en")])
    );
    let works = load.edges.iter().find(|table| table.edge_type == "WORK_AT").unwrap();
    assert_eq!(of_edges(works, "workFrom").get(0), Some(Value::I32(2009)));
    let posts = load.vertex_table("Post").unwrap();
    let (content, image) = (of_vertices(posts, "content"), of_vertices(posts, "imageFile"));
    let no_content = (0..posts.rows as usize).filter(|row| !content.has(*row)).all(|row| image.has(row));
    assert!(no_content, "a post without a text is a picture");
}

#[test]
fn a_multigraph_keeps_every_edge() {
    let Some(folder) = data_set("temporal") else { return };
    let options = options(&[folder.join("sx-mathoverflow.txt.gz")])
        .with(|options| options.lists.edge_columns = Some("time".to_owned()));
    let load = load(&options);
    assert_is_whole(&load);
    let edges = &load.edges[0];
    assert_eq!((load.vertices_count(), edges.rows), (24_818, 506_550));
    let pairs: HashSet<(u32, u32)> = edges.ends().unwrap().into_iter().collect();
    assert_eq!(pairs.len(), 239_978);
    assert_eq!(number(&of_edges(edges, "time"), 0), 1_254_192_988);
}

#[test]
fn an_edge_list_with_commas_and_fractions_is_told_from_csv_with_a_header() {
    let Some(folder) = data_set("temporal") else { return };
    let options = options(&[folder.join("soc-sign-bitcoinotc.csv.gz")])
        .with(|options| options.lists.edge_columns = Some("rating,time".to_owned()));
    let load = load(&options);
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (5881, 35_592));
    let ratings = of_edges(&load.edges[0], "rating");
    assert!((0..ratings.len()).all(|row| (-10..=10).contains(&number(&ratings, row))));
    assert_eq!(of_edges(&load.edges[0], "time").get(0), Some(Value::F64(1_289_241_911.728_36)));
}

#[test]
fn isolated_vertices_come_from_a_range() {
    let Some(folder) = data_set("rmat17") else { return };
    let options =
        options(&[folder.join("rmat17.e.gz")]).with(|options| options.lists.vertices = Some(0..131_072));
    let load = load(&options);
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (131_072, 2_097_152));
    assert_eq!(degree_max(&load.edges[0], 131_072), 8321);
    let ids = of_vertices(&load.vertices[0], "id");
    assert!((0..ids.len()).all(|row| number(&ids, row) == row as i64));
}

#[test]
fn graphalytics_pairs_of_files_are_one_graph() {
    let Some(folder) = data_set("twitter-ego") else { return };
    let load = load(&options(&[folder.join("twitter.v.gz"), folder.join("twitter.e.gz")]));
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (81_307, 1_768_135));
    let ends = load.edges[0].ends().unwrap();
    let isolated = |row: u32| ends.iter().all(|(source, target)| *source != row && *target != row);
    assert!(isolated(0) && !isolated(1));
    let weights = of_edges(&load.edges[0], "weight");
    let in_range = |weight: f64| (1.0..=100.0).contains(&weight);
    assert!((0..weights.len()).all(|row| in_range(weights.get(row).unwrap().as_f64().unwrap())));
}

#[test]
fn vertex_lists_keep_their_further_columns() {
    let Some(folder) = data_set("p2p-31") else { return };
    let load = load(&options(&[folder.join("p2p-31.v.gz"), folder.join("p2p-31.e.gz")]));
    assert_is_whole(&load);
    assert_eq!((load.vertices_count(), load.edges_count()), (62_586, 147_892));
    assert_eq!(number(&of_vertices(&load.vertices[0], "value"), 0), 7);
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
