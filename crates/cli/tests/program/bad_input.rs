//! Files that can't be imported: each names the thing and leaves no database behind.

use crate::support::Folder;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Imports `files` (name, content), which must fail with `code` and `words`; nothing may be left.
#[track_caller]
fn refused(files: &[(&str, &str)], code: i32, words: &[&str]) {
    let folder = Folder::new();
    files.iter().for_each(|(name, content)| folder.write(name, content));
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    folder.run(&[&["import", "a.eg"], &names[..]].concat()).failed(code, words);
    assert!(!folder.path("a.eg").exists());
}

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::new();
    folder.run(&["import", "a.eg", "missing.csv"]).failed(3, &["missing.csv"]);
    assert!(!folder.path("a.eg").exists());
}

#[test]
fn an_empty_folder_is_no_graph() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.run(&["import", "a.eg", "data"]).failed(2, &["data: there is no file in it"]);
    folder.write("data/README.md", "x");
    folder.run(&["import", "a.eg", "data"]).failed(2, &["data: no file in it has a name"]);
    assert!(!folder.path("a.eg").exists());
}

#[test]
fn a_value_of_the_wrong_type_is_named_by_line_and_column() {
    refused(
        &[("people.csv", "id:ID,born:int\n1,1815\n2,18x5\n")],
        2,
        &["people.csv:3", "column 2", "born:int", "18x5"],
    );
    refused(&[("a.e", "1 2\n3 four\n")], 2, &["a.e:2", "four"]);
}

#[test]
fn an_unknown_endpoint_is_named() {
    let people = ("people.csv", "id:ID,name\n1,Ada\n");
    refused(
        &[people, ("knows.csv", ":START_ID,:END_ID,:TYPE\n1,1,KNOWS\n1,17,KNOWS\n")],
        2,
        &["knows.csv:3", "17"],
    );
    refused(&[("a.v", "1\n2\n"), ("a.e", "1 2\n1 3\n")], 2, &["a.e:2", "3"]);
}

#[test]
fn a_duplicate_key_is_named_with_both_places() {
    refused(&[("people.csv", "id:ID,name\n1,Ada\n2,Mary\n1,Eve\n")], 2, &["people.csv:4", "\"1\"", "2"]);
}

#[test]
fn a_malformed_header_is_named_by_column() {
    refused(&[("people.csv", "id:ID,born:integr\n1,1815\n")], 2, &["people.csv", "column 2", "born:integr"]);
    refused(&[("people.csv", "town,name\na,Ada\na,Eve\n")], 2, &["people.csv", ":ID", "town name"]);
    refused(&[("people.csv", "")], 2, &["people.csv", "empty"]);
}

#[test]
fn a_truncated_gzip_is_named_with_its_offset() {
    let folder = Folder::new();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    (0..5000).for_each(|number| writeln!(packed, "{number} {}", number * 7 % 5000).unwrap());
    let packed = packed.finish().unwrap();
    folder.write("a.e.gz", &packed[..packed.len() / 2]);
    let ran = folder.run(&["import", "a.eg", "a.e.gz"]);
    let code = ran.code.unwrap();
    assert!([2, 5, 7].contains(&code), "{ran:?}");
    ran.failed(code, &["a.e.gz", "byte"]);
    assert!(!folder.path("a.eg").exists());
}

#[test]
fn options_that_nothing_got_are_refused() {
    let folder = Folder::new();
    folder.write("people.csv", "id:ID,name\n1,Ada\n");
    folder.run(&["import", "a.eg", ".", "--label", "Person"]).failed(2, &["--nodes Person=FILE"]);
    folder.run(&["import", "a.eg", "people.csv", "--type", "KNOWS"]).failed(2, &["--edges KNOWS=FILE"]);
    assert!(!folder.path("a.eg").exists());
}

#[test]
fn unknown_names_come_with_the_known_ones() {
    let folder = Folder::with_social();
    let run = |arguments: &[&str]| folder.run(&[&["run", "social.eg"], arguments].concat());
    run(&["pagerank", "--label", "Persn"]).failed(3, &["Persn", "it has Person"]);
    run(&["pagerank", "--type", "LIKES"]).failed(3, &["LIKES", "it has KNOWS"]);
    run(&["pagerank", "--key", "nam"]).failed(3, &["nam", "name"]);
    run(&["sssp", "--source", "1"]).failed(3, &["weight"]);
    run(&["sssp", "--source", "1", "--weight", "born"]).failed(2, &["born"]);
    run(&["bfs", "--source", "17"]).failed(3, &["17", "Person.id"]);
    run(&["bfs", "--source", "1", "--key", "name"]).failed(2, &["--source-vertex"]);
    run(&["bfs", "--source-vertex", "17"]).failed(3, &["17"]);
    run(&["pagerank", "--damping", "2"]).failed(2, &["damping"]);
}
