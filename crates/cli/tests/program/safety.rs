//! Backup and salvage: copies that are databases, damage that is listed, and folders that stay as they were.

use crate::support::{Folder, Ran, eventually, flip, program, send};
use evergraph::{Database, EngineKind, Options};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

#[test]
fn a_backup_is_a_checked_database_with_the_same_content() {
    let folder = Folder::with_social();
    let made = folder.run(&["backup", "social.eg", "backups/monday"]).succeeded().out;
    let begin =
        "social.eg: 3 vertices and 3 edges, all through commit 1, copied to backups/monday and checked in ";
    assert!(made.starts_with(begin) && made.trim_end().ends_with(" written"), "{made}");
    folder.run(&["check", "backups/monday"]).succeeded();
    let ranks = |name: &str| folder.json(&["run", name, "pagerank"])["rows"].clone();
    assert_eq!(ranks("backups/monday"), ranks("social.eg"));
    let made = folder.json(&["backup", "backups/monday", "again.eg", "--no-check"]);
    assert_eq!(
        (&made["vertices_count"], &made["through"], &made["checked"]),
        (&3.into(), &1.into(), &false.into())
    );
    assert!(made["bytes_written"].as_u64().unwrap() > 8192);
    assert_eq!(folder.run(&["backup", "social.eg", "quiet.eg", "--quiet"]).succeeded().out, "");
}

#[test]
fn a_backup_goes_to_a_new_or_empty_folder_only() {
    let folder = Folder::with_social();
    fs::create_dir(folder.path("empty")).unwrap();
    fs::create_dir(folder.path("photos")).unwrap();
    folder.write("photos/a.jpeg", "not a graph");
    folder.run(&["backup", "social.eg", "empty"]).succeeded();
    for taken in ["empty", "social.eg"] {
        folder
            .run(&["backup", "social.eg", taken])
            .failed(2, &["there is a database in", "a new or an empty folder"]);
    }
    folder.run(&["backup", "social.eg", "photos"]).failed(2, &["`a.jpeg` is there"]);
    folder.run(&["backup", "social.eg", "people.csv"]).failed(2, &["people.csv is a file"]);
    folder.run(&["backup", "none.eg", "new.eg"]).failed(3, &["none.eg"]);
    folder.run(&["backup", "social.eg"]).failed(2, &["OUTPUT"]);
    assert!(!folder.path("new.eg").exists() && !folder.path("none.eg").exists());
    assert_eq!(contents(&folder.path("photos")).len(), 1);
}

#[test]
fn an_unfinished_copy_is_refused_by_name_and_made_anew() {
    let folder = Folder::with_social();
    fs::create_dir(folder.path("half.eg")).unwrap();
    folder.write("half.eg/unfinished", "");
    folder.write("half.eg/bodies-0000000000000001", "half of it");
    folder.run(&["stats", "half.eg"]).failed(2, &["half.eg is not a complete database", "run that again"]);
    folder.run(&["backup", "social.eg", "half.eg"]).succeeded();
    assert_eq!(folder.json(&["stats", "half.eg"])["vertices_count"], 3);
}

#[test]
fn a_database_that_is_open_elsewhere_is_neither_copied_nor_salvaged_from_outside() {
    let folder = Folder::with_social();
    let database = Database::open(folder.path("social.eg")).unwrap();
    let pid = std::process::id().to_string();
    for command in ["backup", "salvage"] {
        folder.run(&[command, "social.eg", "new.eg"]).failed(8, &[&pid, "close it there"]);
        assert!(!folder.path("new.eg").exists());
    }
    let made = database.backup(folder.path("new.eg"), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    assert_eq!((made.vertices_count, made.edges_count), (3, 3));
}

#[test]
fn a_damaged_database_has_no_backup_and_is_salvaged_with_a_list_of_what_is_missing() {
    let folder = Folder::with_bank();
    let whole = folder.json(&["stats", "bank.eg"]);
    folder.run(&["salvage", "bank.eg", "whole.eg"]).succeeded();
    assert_eq!(folder.json(&["stats", "whole.eg"])["edges_count"], whole["edges_count"]);
    folder.run(&["check", "whole.eg"]).succeeded();
    flip(&folder.file_of("bank.eg", "bodies-"), 70_000);
    folder.run(&["backup", "bank.eg", "copy.eg"]).failed(5, &["corrupt", "evergraph salvage"]);
    assert!(!folder.path("copy.eg").exists());

    let before = contents(&folder.path("bank.eg"));
    let ran = folder.run(&["salvage", "bank.eg", "saved.eg", "--report", "missing.jsonl"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(9), ""), "{ran:?}");
    assert!(
        ran.out.contains("saved to saved.eg and checked in ") && ran.out.contains("\nmissing:\n  "),
        "{ran:?}"
    );
    assert!(contents(&folder.path("bank.eg")) == before, "not a byte is changed");
    folder.run(&["check", "saved.eg"]).succeeded();
    let text = folder.read("missing.jsonl");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["missing"] == true), "{lines:?}");
    for line in &lines {
        assert_eq!(line["missing"] == false, line["kind"] == "nothing", "{line}");
    }

    folder
        .run(&["salvage", "bank.eg", "again.eg", "--report", "missing.jsonl"])
        .failed(2, &["missing.jsonl", "--overwrite"]);
    assert!(!folder.path("again.eg").exists());
    let ran = folder.run(&["salvage", "bank.eg", "json.eg", "--json"]);
    assert_eq!(ran.code, Some(9));
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let missing = document["missing"].as_array().unwrap();
    assert_eq!(document["complete"], false);
    assert_eq!(missing.len(), lines.iter().filter(|line| line["missing"] == true).count());
    folder.run(&["salvage", "bank.eg", "json.eg"]).failed(2, &["there is a database in json.eg already"]);
}

#[test]
fn a_salvage_without_names_stops_and_one_from_the_log_alone_does_not() {
    let folder = Folder::with_social();
    fs::remove_file(folder.path("social.eg/manifest")).unwrap();
    let ran = folder.run(&["salvage", "social.eg", "saved.eg"]);
    // The import is a bulk load: the log knows that there was one, and not what it was.
    assert!(ran.code == Some(9) && ran.out.contains("a bulk load, commit 1"), "{ran:?}");
    assert!(ran.out.contains("\ndamaged, too:\n  the manifest is missing"), "{ran:?}");
    assert!(!ran.out.contains("stored elsewhere"), "its edges are not: {ran:?}");
    for command in ["readers", "stats"] {
        folder.run(&[command, "social.eg"]).failed(5, &["social.eg has lost its manifest"]);
    }
    let check = folder.run(&["check", "social.eg"]).failed(5, &["evergraph salvage"]);
    assert!(!check.err.contains("evergraph check"), "{check:?}");
    let database = Database::open(folder.path("logged.eg")).unwrap();
    database.transact(|tx| tx.add_vertex("Person", &[("name", "Ada".into())]).map(drop)).unwrap();
    database.close().unwrap();
    drop(database);
    flip(&folder.path("logged.eg/manifest"), 20);
    let ran = folder.run(&["salvage", "logged.eg", "from_log.eg"]).succeeded();
    assert!(ran.out.contains("1 vertex") && ran.out.contains("nothing is missing"), "{ran:?}");
    for log in fs::read_dir(folder.path("logged.eg")).unwrap().map(|entry| entry.unwrap().path()) {
        if log.file_name().unwrap().to_str().unwrap().starts_with("log-") {
            fs::write(log, "nothing of a log").unwrap();
        }
    }
    folder
        .run(&["salvage", "logged.eg", "none.eg"])
        .failed(5, &["the names of labels, types and properties are lost"]);
    assert!(!folder.path("none.eg").exists());
    folder.run(&["salvage", "people.csv", "none.eg"]).failed(2, &["people.csv is a file"]);
    folder.run(&["salvage", "missing.eg", "none.eg"]).failed(3, &["missing.eg"]);
    let both = folder.run(&["salvage", "logged.eg", "none.eg", "--report", "-", "--json"]);
    assert!(both.code == Some(2) && both.err.contains("both write to standard output"), "{both:?}");
}

#[test]
fn an_interrupted_backup_leaves_nothing_or_all() {
    let folder = Folder::new();
    folder.run(&["generate", "rmat", "large.eg", "--scale", "16"]).succeeded();
    let child = program()
        .args(["backup", "large.eg", "copy.eg"])
        .current_dir(folder.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // From here on it listens to signals, and has something to remove.
    eventually("the copy begins", || {
        folder.path("copy.eg/unfinished").exists() || folder.path("copy.eg/manifest").exists()
    });
    send("-INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    match ran.code {
        Some(130) if ran.err.contains("is complete, but was not checked") => {}
        Some(130) => assert!(!folder.path("copy.eg").exists(), "{ran:?}"),
        _ => drop(ran.succeeded()),
    }
    if folder.path("copy.eg").exists() {
        folder.run(&["check", "copy.eg"]).succeeded();
    }
    folder.run(&["check", "large.eg"]).succeeded();
}

/// Without a word, by a signal: that is what the system does unless a program says otherwise.
#[test]
fn a_write_beyond_the_file_size_limit_fails_and_names_the_file() {
    for engine in [EngineKind::Memory, EngineKind::Disk, EngineKind::Mapped] {
        let folder = Folder::new();
        let options = Options { engine: Some(engine), ..Options::default() };
        let database = Database::open_with(folder.path("people.eg"), &options).unwrap();
        database.gremlin("g.addV('Person')").run().unwrap();
        database.close().unwrap();
        drop(database);
        // In blocks of 512 or 1,024 bytes.
        let line = "ulimit -f 16; exec \"$0\" query people.eg \"g.addV('Person')\"";
        let program = program();
        let mut limited = std::process::Command::new("sh");
        limited.arg("-c").arg(line).arg(program.get_program()).current_dir(folder.root());
        let ran = Ran::of(limited.output().unwrap());
        ran.failed(7, &["people.eg/", "ulimit -f"]);
        let count = folder.run(&["query", "people.eg", "g.V().count()"]).succeeded().out;
        assert_eq!(count, "1\n", "{engine:?}");
    }
}

/// The mapped engine needs more than that to open a database, before anything is loaded into it.
#[test]
fn an_import_that_cannot_create_its_database_leaves_nothing() {
    let folder = Folder::with_social();
    let import = "evergraph import new.eg people.csv --engine mapped";
    folder.shell(&format!("ulimit -f 512; {import}")).failed(7, &["new.eg/", "ulimit -f"]);
    assert!(!folder.path("new.eg").exists());
    folder.run(&["import", "new.eg", "people.csv", "--engine", "mapped"]).succeeded();
}
