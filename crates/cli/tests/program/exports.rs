//! Exports: what is in a database goes out and comes back, by the program alone.

use crate::support::Folder;
use serde_json::json;

/// The stats of a database that two equal graphs share.
fn counts(folder: &Folder, database: &str) -> serde_json::Value {
    let stats = folder.json(&["stats", database]);
    json!([stats["vertices_count"], stats["edges_count"]])
}

#[test]
fn every_format_is_imported_again() {
    let folder = Folder::with_social();
    for output in ["csv", "a.json.gz", "a.graphml", "a.graphson.zst"] {
        folder.run(&["export", "social.eg", "--output", output]).succeeded();
        let copy = format!("{output}.eg");
        folder.run(&["import", &copy, output]).succeeded();
        assert_eq!(counts(&folder, &copy), json!([3, 3]), "{output}");
        folder.run(&["check", &copy]).succeeded();
    }
    folder.run(&["export", "social.eg", "--format", "parquet", "--output", "tables"]).succeeded();
    folder.run(&["import", "tables.eg", "tables"]).succeeded();
    assert_eq!(counts(&folder, "tables.eg"), json!([3, 3]));
    let lists = ["export", "social.eg", "--format", "edgelist", "--output", "lists", "--columns", "since"];
    folder.run(&lists).succeeded();
    let told = folder.run(&["import", "lists.eg", "lists"]).succeeded().out;
    assert!(told.contains("lists: read as its import.toml says"), "{told}");
    assert_eq!(counts(&folder, "lists.eg"), json!([3, 3]));
    folder.run(&["import", "mapped.eg", "lists", "--mapping", "lists/import.toml"]).succeeded();
    assert_eq!(counts(&folder, "mapped.eg"), json!([3, 3]));
}

#[test]
fn graphson_and_graphml_go_from_one_program_to_the_next_without_a_file() {
    let folder = Folder::with_social();
    for format in ["graphson", "graphml"] {
        let line = format!(
            "evergraph export social.eg --format {format} --output - | evergraph import {format}.eg --{format} -"
        );
        let ran = folder.shell(&line);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(counts(&folder, &format!("{format}.eg")), json!([3, 3]));
    }
}

#[test]
fn a_graph_without_vertices_comes_back_from_one_file_too() {
    let folder = Folder::new();
    folder.write("people.csv", "id:ID,name\n");
    folder.run(&["import", "empty.eg", "people.csv"]).succeeded();
    for output in ["a.json", "a.graphml", "b.json.gz"] {
        folder.run(&["export", "empty.eg", "--output", output]).succeeded();
        let copy = format!("{output}.eg");
        folder.run(&["import", &copy, output]).succeeded();
        assert_eq!(counts(&folder, &copy), json!([0, 0]), "{output}");
    }
}

#[test]
fn an_export_says_what_it_wrote() {
    let folder = Folder::with_social();
    let report = folder.json(&["export", "social.eg", "--output", "out/"]);
    let names: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Person.csv", "Person-KNOWS-Person.csv"]);
    assert_eq!((&report["vertices_count"], &report["edges_count"]), (&json!(3), &json!(3)));
    assert_eq!((&report["format"], &report["not_carried"]), (&json!("csv"), &json!([])));
    assert_eq!(folder.read("out/Person-KNOWS-Person.csv").lines().nth(1), Some("1,KNOWS,2,1833"));
    let text = folder.run(&["export", "social.eg", "--output", "out/", "--overwrite"]).succeeded().out;
    assert!(text.starts_with("social.eg: 3 vertices and 3 edges written to out/ in "), "{text}");
    let quiet = folder.run(&["export", "social.eg", "--output", "other", "--quiet"]).succeeded();
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
}

#[test]
fn standard_output_takes_the_graph_and_standard_error_the_report() {
    let folder = Folder::with_social();
    let export = ["export", "social.eg", "--format", "edgelist", "--output", "-"];
    let ran = folder.run(&export).succeeded();
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0 1", "1 2", "2 0"], "the keys are texts: vertices go by their numbers");
    assert!(ran.err.contains("the property `since` of edges"), "{ran:?}");
    assert!(
        ran.err.starts_with("social.eg: 3 vertices and 3 edges written to standard output in"),
        "{ran:?}"
    );
    let both = folder.run(&[&export[..], &["--json"]].concat());
    assert!(both.code == Some(2) && both.err.contains("give --output a file"), "{both:?}");
    let line = "evergraph export social.eg --format graphson --output - | head -c 1";
    let ran = folder.shell(line);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "{"), "who reads may have enough: {ran:?}");
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is() {
    let folder = Folder::with_social();
    let export = |arguments: &[&str]| folder.run(&[&["export", "social.eg"], arguments].concat());
    export(&["--output", "people.csv"]).failed(2, &["does not determine the format", "--format csv"]);
    export(&["--output", "-"]).failed(2, &["does not determine the format"]);
    export(&["--output", "-", "--format", "csv"]).failed(2, &["standard output can't take"]);
    export(&["--output", "out", "--label", "Persn"]).failed(3, &["Persn", "Person"]);
    export(&["--output", "no/out"]).failed(3, &["no/out: there is no folder no"]);
    export(&["--output", "x.json", "--format", "edgelist"]).failed(2, &["names a file of graphson"]);
    folder.write("y.json", "mine");
    export(&["--output", "y.json"]).failed(2, &["y.json already exists", "(--overwrite)"]);
    export(&["--output", "social.eg", "--format", "csv", "--overwrite"])
        .failed(2, &["which no export wrote"]);
    export(&["--output", "out", "--columns", "since"]).failed(2, &["columns are chosen for edge lists"]);
    assert!(!folder.path("out").exists());
}
