//! LSQB's nine queries on the social networks of LDBC: the published answers of its example, and for
//! larger graphs those of DuckDB, by SQL that has the published ones right.

use crate::imported::{Imported, options_for};
use crate::snb_updates::operations;
use evergraph::import::options::{ImportOptions, InputFile};
use evergraph_tests::data::{data_set, json_counts, read_text};
use evergraph_tests::lsqb::queries::count_all;
use std::fmt::Write as _;
use std::path::Path;

/// The answers in a section of `expected-counts.json`; 0 for a query that isn't there, since the graph
/// lacks its edges.
fn answers(text: &str, section: &str) -> [u64; 9] {
    let mut answers = [0; 9];
    for (query, count) in json_counts(text, section) {
        let number: usize = query.strip_prefix('q').unwrap().parse().unwrap();
        answers[number - 1] = count;
    }
    answers
}

/// LSQB's files are named as LDBC's generator names them for relational systems: `Person.csv`,
/// `Person_knows_Person.csv`.
#[test]
fn the_example_has_the_published_answers() {
    let Some(folder) = data_set("lsqb-example") else { return };
    let mut files = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let Some(stem) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".csv") else { continue };
        let name = stem.split('_').nth(1).unwrap_or(stem).to_owned();
        files.push(InputFile::new(path).name(name));
    }
    let imported =
        Imported::without_ids(&ImportOptions { delimiter: Some(b'|'), ..ImportOptions::new(files) });
    assert_eq!(count_all(&imported.db.snapshot()), [8, 3, 6, 8, 3, 8, 11, 2, 4]);
}

#[test]
fn the_answers_follow_the_update_stream() {
    let Some(folder) = data_set("snb-interactive-mini") else { return };
    let counts = read_text(&folder.join("expected-counts.json"));
    let imported = Imported::without_ids(&options_for([folder.join("graph")]));
    let before = imported.db.snapshot();
    assert_eq!(count_all(&before), answers(&counts, "lsqb_before"));
    for operation in operations(&folder) {
        operation.run(&imported.db).unwrap();
    }
    assert_eq!(count_all(&imported.db.snapshot()), answers(&counts, "lsqb_after"));
    assert_eq!(count_all(&before), answers(&counts, "lsqb_before"), "the snapshot from before");
    drop(before);
    let imported = imported.reopened_from_checkpoint();
    assert_eq!(count_all(&imported.db.snapshot()), answers(&counts, "lsqb_after"));
}

/// The ids of the messages of one kind, as the file that the set lacks: each has one creator.
fn message_ids(folder: &Path, kind: &str) -> String {
    let mut file = "id\n".to_owned();
    let creators = read_text(&folder.join(format!("{kind}_hasCreator_person_0_0.csv.gz")));
    for line in creators.lines().skip(1) {
        writeln!(file, "{}", line.split_once('|').unwrap().0).unwrap();
    }
    file
}

#[test]
fn a_network_of_a_million_edges_has_the_computed_answers() {
    let Some(folder) = data_set("snb-sf0.1-topology") else { return };
    let added = tempfile::tempdir().unwrap();
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    for kind in ["comment", "post"] {
        let file = added.path().join(format!("{kind}_0_0.csv"));
        std::fs::write(&file, message_ids(&folder, kind)).unwrap();
        files.push(file);
    }
    let imported = Imported::without_ids(&options_for(files));
    let statistics = imported.db.statistics().unwrap();
    assert_eq!((statistics.vertices_count(), statistics.edges_count()), (327_588, 1_354_697));
    let counts = read_text(&folder.join("expected-counts.json"));
    assert_eq!(count_all(&imported.db.snapshot()), answers(&counts, "lsqb_without_q1"));
}
