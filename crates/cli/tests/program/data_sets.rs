//! A real graph through the program: imported from files, answered in files, as published.

use crate::data_folder::data_set;
use crate::support::Folder;
use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

/// `vertex value` lines.
fn published(path: PathBuf) -> HashMap<String, String> {
    let mut text = String::new();
    GzDecoder::new(File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    pairs(text.lines(), ' ')
}

fn pairs<'a>(lines: impl Iterator<Item = &'a str>, separator: char) -> HashMap<String, String> {
    lines
        .map(|line| line.split_once(separator).unwrap())
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Each value of `found` is the published one, within a relative `tolerance`.
fn assert_close(found: &HashMap<String, String>, want: &HashMap<String, String>, tolerance: f64) {
    assert_eq!(found.len(), want.len());
    for (vertex, want) in want {
        let found = &found[vertex];
        let number = |text: &str| text.parse::<f64>().unwrap();
        let (a, b) = (number(found), number(want));
        assert!(a == b || (a - b).abs() <= tolerance * b.abs(), "vertex {vertex}: {found}, not {want}");
    }
}

/// Two ways to name components are the same partition.
fn assert_same_partition(found: &HashMap<String, String>, want: &HashMap<String, String>) {
    assert_eq!(found.len(), want.len());
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    for (vertex, want) in want {
        let found = &found[vertex];
        assert_eq!(*there.entry(found).or_insert(want), want, "vertex {vertex}");
        assert_eq!(*back.entry(want).or_insert(found), found, "vertex {vertex}");
    }
}

#[test]
fn p2p_31_has_the_published_answers() {
    let Some(data) = data_set("p2p-31") else { return };
    let file = |ending: &str| data.join(format!("p2p-31{ending}.gz"));
    let here = Folder::new();
    let (vertices, edges) = (file(".v"), file(".e"));
    let import = ["import", "p2p.eg", vertices.to_str().unwrap(), edges.to_str().unwrap()];
    let report = here.json(&import);
    assert_eq!(
        (report["vertices_count"].as_u64(), report["edges_count"].as_u64()),
        (Some(62_586), Some(147_892))
    );

    let run = |arguments: &[&str]| {
        here.run(&[&["run", "p2p.eg"], arguments, &["--output", "answer.csv", "--overwrite"]].concat())
            .succeeded();
        let text = here.read("answer.csv");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("key,value"));
        pairs(lines, ',')
    };
    assert_eq!(run(&["bfs", "--source", "6"]), published(file("-BFS-directed")));
    // One way each: `tests/tests/real_data` compares both.
    assert_close(&run(&["sssp", "--source", "6", "--direction", "both"]), &published(file("-SSSP")), 1e-9);
    assert_same_partition(&run(&["wcc"]), &published(file("-WCC")));
    let directed = data.join("computed-here-directed/p2p-31-directed-PR.gz");
    assert_close(&run(&["pagerank", "--iterations", "10"]), &published(directed), 1e-9);
}

#[test]
fn a_folder_of_ldbc_files_becomes_a_graph_of_many_labels() {
    let Some(data) = data_set("snb-interactive-mini") else { return };
    let here = Folder::new();
    let report = here.json(&["import", "snb.eg", data.join("graph").to_str().unwrap()]);
    assert_eq!(
        (report["vertices_count"].as_u64(), report["edges_count"].as_u64()),
        (Some(34_735), Some(70_842))
    );
    let knows = here.json(&["run", "snb.eg", "wcc", "--label", "Person", "--type", "KNOWS"]);
    assert_eq!((knows["vertices"].as_u64(), knows["edges"].as_u64()), (Some(222), Some(825)));
    here.run(&["check", "snb.eg"]).succeeded();
}
