//! `evergraph index`: created, listed, used, refused, dropped.

use crate::support::{Folder, without_bytes};
use serde_json::json;

#[test]
fn indexes_are_built_listed_and_dropped() {
    let folder = Folder::with_social();
    let made = folder.json(&["index", "create", "social.eg", "Person", "name", "--unique", "--ordered"]);
    assert_eq!((&made["created"], &made["index"]["entries"]), (&json!(true), &json!(3)));
    assert_eq!(
        folder.json(&["index", "create", "social.eg", "Person", "name", "--unique", "--ordered"])["created"],
        false
    );
    let text = folder.run(&["index", "create", "social.eg", "--edge", "KNOWS", "since"]).succeeded().out;
    assert!(text.starts_with("social.eg: hash index on KNOWS.since built in "), "{text}");
    let listed = folder.json(&["index", "list", "social.eg"]);
    let names: Vec<_> = listed["indexes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|index| {
            let text = |key: &str| index[key].as_str().unwrap().to_owned();
            format!("{}.{} {} {}", text("owner"), text("key"), text("kind"), index["unique"])
        })
        .collect();
    assert_eq!(names, ["KNOWS.since hash false", "Person.id hash true", "Person.name ordered true"]);
    assert_eq!(listed["scanned_edge_types"], json!(["KNOWS"]));
    let table = folder.run(&["index", "list", "social.eg"]).succeeded().out;
    assert!(table.contains("KNOWS.since  edges") && table.contains("need no index"), "{table}");
    assert_eq!(folder.json(&["check", "social.eg"])["index_entries_count"], 9);
    folder.run(&["run", "social.eg", "bfs", "--source", "Ada", "--key", "name"]).succeeded();
    assert!(
        table.contains("about 3")
            && !table.contains("Person.id    vertices  hash     unique        3   about")
    );
    assert_eq!(listed["indexes"][1]["distinct_is_exact"], true);
    let dropped = folder.run(&["index", "drop", "social.eg", "--edge", "KNOWS", "since"]).succeeded();
    assert_eq!(dropped.out, "social.eg: hash index on KNOWS.since dropped\n");
    assert_eq!(folder.json(&["index", "list", "social.eg"])["indexes"].as_array().unwrap().len(), 2);
}

#[test]
fn a_misspelt_name_makes_no_index_unless_it_is_to_be_new() {
    let folder = Folder::with_social();
    let create = |rest: &[&str]| folder.run(&[&["index", "create", "social.eg"], rest].concat());
    create(&["Persn", "name"]).failed(3, &["it has Person; did you mean Person?", "--new"]);
    create(&["Person", "nme"]).failed(3, &["\"Person.nme\"", "it has born, id, name; did you mean name?"]);
    create(&["--edge", "KNWS", "since"]).failed(3, &["did you mean KNOWS?"]);
    create(&["--edge", "KNOWS", "name"]).failed(3, &["\"KNOWS.name\"", "it has since"]);
    create(&["KNOWS", "since"]).failed(3, &["KNOWS is an edge type: --edge KNOWS"]);
    let catalogue = folder.json(&["index", "list", "social.eg"]);
    assert_eq!(catalogue["scanned_labels"], json!(["Person"]));
    create(&["City", "code", "--new"]).succeeded();
    assert_eq!(folder.json(&["index", "list", "social.eg"])["scanned_labels"], json!(["Person", "City"]));
}

#[test]
fn an_index_of_two_kinds_is_dropped_by_its_kind() {
    let folder = Folder::with_social();
    folder.run(&["index", "create", "social.eg", "Person", "born"]).succeeded();
    folder.run(&["index", "create", "social.eg", "Person", "born", "--ordered"]).succeeded();
    let drop = ["index", "drop", "social.eg", "Person", "born"];
    folder.run(&drop).failed(2, &["(--kind hash or --kind ordered)"]);
    let dropped = folder.json(&[&drop[..], &["--kind", "ordered"]].concat());
    assert_eq!((&dropped["property"], &dropped["kind"]), (&json!("Person.born"), &json!("ordered")));
}

#[test]
fn what_cannot_be_an_index_is_said() {
    let folder = Folder::with_social();
    let create = |rest: &[&str]| folder.run(&[&["index", "create", "social.eg"], rest].concat());
    create(&["Person"]).failed(2, &["label Person alone needs no index"]);
    create(&["--edge", "KNOWS"]).failed(2, &["edge type KNOWS alone needs no index"]);
    create(&[]).failed(2, &["name a label and a key"]);
    create(&["Person", "name", "--edge", "KNOWS"]).failed(2, &["takes the place of a label"]);
    create(&["Person", "id"]).failed(2, &["is unique, but one that is not unique was requested"]);
    folder.write("more.csv", "id:ID,born:int,:LABEL\n1,7,P\n2,7,P\n");
    folder.run(&["import", "twins.eg", "more.csv"]).succeeded();
    folder
        .run(&["index", "create", "twins.eg", "P", "born", "--unique"])
        .failed(2, &["P.born can't be unique", "\"7\" of v0 and v1"]);
    assert_eq!(folder.json(&["index", "list", "twins.eg"])["indexes"].as_array().unwrap().len(), 1);
    folder.run(&["index", "drop", "twins.eg", "P", "born"]).failed(3, &["there is no index on P.born"]);
    folder.run(&["index", "list", "nothing.eg"]).failed(3, &["nothing.eg"]);
}

#[test]
fn an_edge_type_is_declared_newest_first_and_listed() {
    let folder = Folder::with_social();
    let declare = |rest: &[&str]| folder.run(&[&["index", "newest-first", "social.eg"], rest].concat());
    declare(&["KNWS", "since"]).failed(3, &["did you mean KNOWS?"]);
    declare(&["KNOWS", "name"]).failed(3, &["\"KNOWS.name\"", "it has since"]);
    declare(&["KNOWS", ""]).failed(2, &["name the property"]);
    assert_eq!(declare(&["KNOWS", "since"]).succeeded().out, "social.eg: KNOWS is newest-first by since\n");
    let mut again = folder.json(&["index", "newest-first", "social.eg", "KNOWS", "since"]);
    assert!(again["seconds"].take().is_f64());
    let (no_index, nothing) = (json!(null), json!(null));
    assert_eq!(
        again,
        json!({"database": "social.eg", "type": "KNOWS", "key": "since", "declared": false, "created": false,
               "index": no_index, "seconds": nothing})
    );
    let listed = folder.json(&["index", "list", "social.eg"]);
    assert_eq!(listed["newest_first"], json!([{"type": "KNOWS", "key": "since"}]));
    let text = folder.run(&["index", "list", "social.eg"]).succeeded().out;
    assert!(text.contains("\nKNOWS is newest-first by since.\n"), "{text}");
    assert_eq!(folder.json(&["stats", "social.eg"])["edge_types"][0]["newest_first"], "since");
    let text = folder.run(&["stats", "social.eg"]).succeeded().out;
    assert!(text.contains("newest first"), "{text}");
}

#[test]
fn with_the_disk_engine_the_newest_edges_have_an_index() {
    let folder = Folder::with_social();
    folder.run(&["convert", "social.eg", "disk.eg", "--engine", "disk"]).succeeded();
    let text = folder.run(&["index", "newest-first", "disk.eg", "KNOWS", "since"]).succeeded().out;
    assert!(text.starts_with("disk.eg: KNOWS is newest-first by since\nits index was built in "), "{text}");
    let again = folder.json(&["index", "newest-first", "disk.eg", "KNOWS", "since"]);
    assert_eq!((&again["declared"], &again["created"]), (&json!(false), &json!(false)));
    let edges = folder.json(&["stats", "disk.eg"])["edges_count"].clone();
    assert_eq!((&again["index"]["kind"], &again["index"]["entries"]), (&json!("newest"), &edges));
    let listed = without_bytes(folder.json(&["index", "list", "disk.eg"]));
    assert_eq!(listed["indexes"][0], without_bytes(json!({"indexes": [again["index"]]}))["indexes"][0]);
    folder.run(&["check", "disk.eg"]).succeeded();
    folder.run(&["index", "drop", "disk.eg", "--edge", "KNOWS", "since", "--kind", "newest"]).succeeded();
    let left = folder.json(&["index", "list", "disk.eg"])["indexes"].clone();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["kind"]), (1, &json!("hash")));
}
