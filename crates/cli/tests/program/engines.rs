//! Engines: a database on disk or in mapped files is made, read and changed as one in memory, and one becomes the other.

use crate::support::{Folder, Ran};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

/// The bank of [`Folder::with_bank`], of this engine.
fn with_engine(folder: &Folder, name: &str, engine: &str) {
    let size = ["--accounts", "1000", "--transfers", "5000", "--rings", "5"];
    folder.run(&[&["generate", "payments", name, "--engine", engine], &size[..]].concat()).succeeded();
}

fn on_disk(folder: &Folder, name: &str) {
    with_engine(folder, name, "disk");
}

/// The highest ranks with their keys; engines add them up in different orders.
fn ranks(folder: &Folder, name: &str) -> Vec<(Value, String)> {
    let report = folder.json(&["run", name, "pagerank", "--top", "20"]);
    let top = report["top"].as_array().expect("the report has the highest ranks");
    assert_eq!(top.len(), 20);
    top.iter().map(|row| (row["key"].clone(), format!("{:.10}", row["value"].as_f64().unwrap()))).collect()
}

#[test]
fn a_database_of_any_engine_answers_as_one_in_memory() {
    let folder = Folder::with_bank();
    on_disk(&folder, "disk.eg");
    with_engine(&folder, "mapped.eg", "mapped");
    ["disk.eg", "mapped.eg"].into_iter().for_each(|name| answers_as_in_memory(&folder, name));
    let report = folder.json(&["stats", "mapped.eg", "--live-bytes-max", "32MiB"]);
    assert_eq!(report["mapped"]["live_limit_bytes"], 32 << 20);
    for (bytes, bound) in [("15MiB", "at least 16 MiB"), ("257GiB", "at most 256 GiB")] {
        let refused = folder.run(&["stats", "mapped.eg", "--live-bytes-max", bytes]);
        refused.failed(2, &["--live-bytes-max", bound]);
    }
}

fn answers_as_in_memory(folder: &Folder, name: &str) {
    assert_eq!(ranks(folder, name), ranks(folder, "bank.eg"));
    let query = "g.V().has('Account', 'id', 10000017).out('TRANSFER').values('id').order().toList()";
    let answer = |name: &str| folder.run(&["query", name, query]).succeeded().out;
    assert_eq!(answer(name), answer("bank.eg"));
    let counts = |name: &str| {
        let report = folder.json(&["stats", name]);
        [report["vertices_count"].clone(), report["edges_count"].clone(), report["edge_types"].clone()]
    };
    assert_eq!(counts(name), counts("bank.eg"));
    let checked = |name: &str| {
        let report = folder.json(&["check", name]);
        [&report["vertices_count"], &report["edges_count"]].map(Value::clone)
    };
    assert_eq!(checked(name), checked("bank.eg"));
    assert_eq!(checked(name), counts(name)[..2]);
}

#[test]
fn a_database_in_persistent_memory_is_made_read_and_taken_away_as_an_emulation() {
    let folder = Folder::with_bank();
    let emulated = ["--persistent-memory", "emulated"];
    let in_memory = folder.run(&[&["generate", "payments", "fast.eg"], &emulated[..]].concat());
    in_memory.failed(2, &["goes with the engine `mapped` only"]);
    let size = ["--accounts", "1000", "--transfers", "5000", "--rings", "5"];
    let made = [&["generate", "payments", "fast.eg", "--engine", "mapped"], &size[..], &emulated].concat();
    folder.run(&made).succeeded();
    let refused = folder.run(&["stats", "fast.eg"]);
    // But where temporary files lie in persistent memory.
    if refused.code != Some(0) {
        refused.failed(7, &["fast.eg", "MAP_SYNC", "emulated"]);
    }
    let with = |arguments: &[&str]| folder.run(&[arguments, &emulated[..]].concat()).succeeded();
    with(&["check", "fast.eg"]);
    assert!(with(&["backup", "fast.eg", "copy.eg"]).out.contains("copied to copy.eg and checked"));
    with(&["convert", "fast.eg", "plain.eg", "--engine", "memory"]);
    answers_as_in_memory(&folder, "plain.eg");
}

#[test]
fn stats_of_the_disk_engine_show_its_levels_and_its_memory() {
    let folder = Folder::new();
    on_disk(&folder, "disk.eg");
    let report = folder.json(&["stats", "disk.eg", "--memory-limit", "128MiB"]);
    assert_eq!(report["engine"]["name"], "disk");
    assert_eq!(report["budget"]["limit_bytes"], 128 << 20);
    let levels = report["tree"]["levels"].as_array().unwrap();
    let files: u64 = levels.iter().map(|level| level["files"].as_u64().unwrap()).sum();
    assert!(files > 0 && levels[0]["level"] == 0, "{levels:?}");
    assert!(report["tree"]["file_bytes"].as_u64() <= report["disk"]["bytes"].as_u64());
    assert!(report["tree"]["cache"]["misses"].as_u64().unwrap() > 0, "degrees were read");
    assert!(levels.iter().any(|level| level["pages_read"].as_u64() > Some(0)), "{levels:?}");
    let lists = &report["tree"]["lists"];
    assert!(lists["count"].as_u64() > Some(0) && lists["pages_a_list"].as_f64() <= Some(3.0), "{lists}");
    assert_eq!(report["tree"]["write_amplification"], Value::Null, "nothing was written");
    assert_eq!(report["tree"]["memory_graphs"]["graphs"][0]["kept_for"], "commits");
    assert_eq!(report["readers"]["snapshots"], 0, "what looks is not told of");
    assert_eq!(report["readers"]["oldest_snapshot_seconds"], Value::Null);
    assert!(report["memory"]["total_bytes"].as_u64().unwrap() < 200 << 20);
    let text = folder.run(&["stats", "disk.eg"]).succeeded().out;
    for part in ["; disk engine\n", "level", "L0", "memory: all", "disk: levels"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let folder = Folder::with_social();
    let report = folder.json(&["stats", "social.eg"]);
    assert_eq!((&report["engine"]["name"], &report["tree"]), (&json!("memory"), &Value::Null));
    assert_eq!(report["budget"]["limit_bytes"], Value::Null);
}

#[test]
fn stats_of_the_mapped_engine_show_its_files_and_what_waits() {
    let folder = Folder::new();
    with_engine(&folder, "mapped.eg", "mapped");
    let report = folder.json(&["stats", "mapped.eg"]);
    assert_eq!((&report["engine"]["name"], &report["tree"]), (&json!("mapped"), &Value::Null));
    let (mapped, bytes) = (&report["mapped"], |value: &Value| value.as_u64().unwrap());
    assert!(bytes(&mapped["topology_bytes"]) + bytes(&mapped["property_bytes"]) > 0, "{mapped}");
    assert!(bytes(&mapped["file_bytes"]) > bytes(&mapped["free_bytes"]), "{mapped}");
    assert!(bytes(&mapped["file_bytes"]) <= bytes(&report["disk"]["bytes"]), "{report}");
    assert_eq!(report["memory"]["topology_bytes"], 0, "it lies in files");
    let text = folder.run(&["stats", "mapped.eg"]).succeeded().out;
    for part in ["; mapped engine\n", "files: all arrays", "memory: not merged yet", "disk: log"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_database_in_mapped_files_is_imported_copied_checked_damaged_and_saved() {
    let folder = Folder::with_social();
    folder.write("more.csv", "id:ID,name:string,:LABEL\n9,Grace,Person\n");
    folder.run(&["import", "new.eg", "people.csv", "knows.csv", "--engine", "mapped"]).succeeded();
    folder.run(&["import", "new.eg", "more.csv"]).succeeded();
    folder.run(&["checkpoint", "new.eg"]).succeeded();
    folder.run(&["backup", "new.eg", "copy.eg"]).succeeded();
    let names = |name: &str| {
        let query = "g.V().values('name').order().toList()";
        folder.run(&["query", name, query, "--quiet"]).succeeded().out
    };
    let wanted = names("new.eg");
    assert!(wanted.contains("Grace"), "{wanted}");
    assert_eq!(names("copy.eg"), wanted);
    folder.run(&["check", "copy.eg"]).succeeded();
    let array = fs::read_dir(folder.path("copy.eg")).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.file_name().unwrap().to_str().unwrap().starts_with("array-").then_some(path)
    });
    let array = array.expect("a backup has its arrays");
    let mut bytes = fs::read(&array).unwrap();
    // Of a vertex: what is lost of an index is built again.
    let at = bytes.windows(5).rposition(|found| found == b"Grace").unwrap();
    bytes[at] ^= 1;
    fs::write(&array, bytes).unwrap();
    let checked = folder.run(&["check", "copy.eg"]);
    assert_eq!(checked.code, Some(5), "{checked:?}");
    assert!(
        checked.out.contains("copy.eg/array-") && checked.out.contains(" is corrupt at byte "),
        "{checked:?}"
    );
    let saved = folder.run(&["salvage", "copy.eg", "saved.eg"]);
    assert_eq!(saved.code, Some(9), "{saved:?}");
    folder.run(&["check", "saved.eg"]).succeeded();
    assert_eq!(folder.json(&["stats", "saved.eg"])["engine"]["name"], "mapped");
}

#[test]
fn the_limit_of_memory_is_a_flag_a_variable_or_a_line_of_the_settings() {
    let folder = Folder::new();
    on_disk(&folder, "disk.eg");
    let limit = |ran: Ran| -> Value {
        serde_json::from_str::<Value>(&ran.succeeded().out).unwrap()["budget"]["limit_bytes"].clone()
    };
    let stats = ["stats", "disk.eg", "--json"];
    assert_eq!(limit(folder.run_with(&[("EVERGRAPH_MEMORY_LIMIT", "96MiB")], &stats)), 96 << 20);
    folder.write("evergraph.toml", "memory-limit = \"80MiB\"\n");
    assert_eq!(limit(folder.run(&stats)), 80 << 20);
    for command in [&["stats", "disk.eg"][..], &["check", "disk.eg"], &["query", "disk.eg", "g.V().count()"]]
    {
        folder.run(&[command, &["--memory-limit", "1MiB"]].concat()).failed(2, &["64 MiB"]);
    }
    let new = ["generate", "rmat", "new.eg", "--scale", "8", "--engine", "disk", "--memory-limit", "1MiB"];
    folder.run(&new).failed(2, &["64 MiB"]);
    assert!(!folder.path("new.eg").exists(), "nothing is made");
}

#[test]
fn an_engine_is_chosen_once_and_the_wrong_one_names_convert() {
    let folder = Folder::with_social();
    folder.write("more.csv", "id:ID,name:string,:LABEL\n9,Grace,Person\n");
    folder.run(&["import", "new.eg", "people.csv", "knows.csv", "--engine", "disk"]).succeeded();
    folder.run(&["import", "new.eg", "more.csv"]).succeeded();
    let report = folder.json(&["stats", "new.eg"]);
    assert_eq!((&report["engine"]["name"], &report["vertices_count"]), (&json!("disk"), &json!(4)));
    folder
        .run(&["import", "new.eg", "more.csv", "--engine", "memory"])
        .failed(2, &["has the engine `disk`", "evergraph convert new.eg NEW --engine memory"]);
    folder.run(&["import", "social.eg", "more.csv", "--engine", "disk"]).failed(2, &["evergraph convert"]);
    assert_eq!(folder.json(&["stats", "social.eg"])["vertices_count"], 3);
    folder.run(&["import", "x.eg", "more.csv", "--engine", "tape"]).failed(2, &["tape", "disk"]);
}

#[test]
fn a_database_is_converted_there_and_back() {
    let folder = Folder::with_bank();
    folder
        .run(&["index", "create", "bank.eg", "--edge", "TRANSFER", "amount_cents", "--ordered"])
        .succeeded();
    folder.run(&["query", "bank.eg", "g.V().has('id', 10000017).drop()"]).succeeded();
    let made = folder.run(&["convert", "bank.eg", "disk.eg", "--engine", "disk"]).succeeded().out;
    assert!(made.contains("converted to disk.eg (disk engine) and checked in "), "{made}");
    let steps = [("bank.eg", "mapped.eg", "mapped"), ("mapped.eg", "disk_again.eg", "disk")];
    let back = [("disk.eg", "mapped_again.eg", "mapped"), ("mapped_again.eg", "back.eg", "memory")];
    for (from, to, engine) in steps.into_iter().chain(back) {
        let made = folder.json(&["convert", from, to, "--engine", engine]);
        assert_eq!((&made["engine"], &made["checked"]), (&json!(engine), &json!(true)));
    }
    let everything = |name: &str| {
        let all = "g.V().order().by(T.id).elementMap().toList()";
        let edges = "g.E().order().by(T.id).elementMap().toList()";
        let of = |query: &str| folder.run(&["query", name, query, "--quiet"]).succeeded().out;
        let indexes = folder.json(&["index", "list", name]);
        let index =
            |index: &Value| ["owner", "key", "kind", "unique", "entries"].map(|part| index[part].clone());
        let indexes: Vec<_> = indexes["indexes"].as_array().unwrap().iter().map(index).collect();
        assert_eq!(indexes.len(), 2, "{indexes:?}");
        (of(all), of(edges), indexes)
    };
    let wanted = everything("bank.eg");
    assert!(wanted.0.len() > 10_000, "{}", wanted.0);
    let timestamp = folder.json(&["stats", "bank.eg"])["timestamp"].take();
    for name in ["disk.eg", "mapped.eg", "disk_again.eg", "mapped_again.eg", "back.eg"] {
        assert!(everything(name) == wanted, "{name} differs");
        assert_eq!(folder.json(&["stats", name])["timestamp"], timestamp);
    }
}

#[test]
fn a_conversion_that_makes_no_sense_is_refused_and_leaves_nothing() {
    let folder = Folder::with_social();
    folder
        .run(&["convert", "social.eg", "new.eg", "--engine", "memory"])
        .failed(2, &["memory engine already", "evergraph backup social.eg new.eg"]);
    folder.run(&["convert", "social.eg", "new.eg"]).failed(2, &["--engine"]);
    folder
        .run(&["convert", "social.eg", "people.csv", "--engine", "disk"])
        .failed(2, &["people.csv is a file"]);
    folder.run(&["convert", "none.eg", "new.eg", "--engine", "disk"]).failed(3, &["none.eg"]);
    folder
        .run(&["convert", "social.eg", "social.eg", "--engine", "disk"])
        .failed(2, &["there is a database in social.eg already"]);
    assert!(!folder.path("new.eg").exists() && !folder.path("none.eg").exists());
    fs::create_dir(folder.path("half.eg")).unwrap();
    folder.write("half.eg/unfinished", "");
    folder.write("half.eg/csr-0000000000000001", "half of it");
    folder.run(&["stats", "half.eg"]).failed(2, &["half.eg is not a complete database"]);
    folder.run(&["convert", "social.eg", "half.eg", "--engine", "disk"]).succeeded();
    assert_eq!(folder.json(&["stats", "half.eg"])["vertices_count"], 3);
}

#[test]
fn an_interrupted_conversion_leaves_nothing() {
    let folder = Folder::new();
    folder.run(&["generate", "rmat", "web.eg", "--scale", "14"]).succeeded();
    let mut stopped = 0;
    for wait in [20, 60, 120, 250, 500] {
        let convert = ["convert", "web.eg", "new.eg", "--engine", "disk", "--no-check"];
        let ran = folder.interrupted(&convert, Duration::from_millis(wait));
        match ran.code {
            Some(130) => {
                stopped += 1;
                assert!(!folder.path("new.eg").exists(), "{ran:?}");
            }
            // Before it listened, or when it was done.
            None => drop(fs::remove_dir_all(folder.path("new.eg"))),
            _ => {
                assert_eq!(ran.code, Some(0), "{ran:?}");
                folder.run(&["check", "new.eg"]).succeeded();
                fs::remove_dir_all(folder.path("new.eg")).unwrap();
            }
        }
    }
    assert!(stopped > 0, "none of them was stopped");
    folder.run(&["check", "web.eg"]).succeeded();
}

/// Sends SIGINT to an import after each of some times, of CSV whose ids and rows don't fit into its memory; how often it
/// was cancelled.
fn interrupt_imports(folder: &Folder, database: &str, mut after: impl FnMut(&Ran)) -> usize {
    let mut stopped = 0;
    for wait in [10, 80, 200, 400, 700, 1100] {
        let import = ["import", database, "csv", "--engine", "disk", "--memory", "256KiB"];
        let ran = folder.interrupted(&import, Duration::from_millis(wait));
        stopped += usize::from(ran.code == Some(130));
        after(&ran);
    }
    stopped
}

#[test]
fn an_interrupted_import_does_no_damage() {
    let folder = Folder::new();
    let graph = ["--scale", "14", "--edge-factor", "8", "--ids", "texts"];
    folder.run(&[&["generate", "rmat", "--out", "csv"], &graph[..]].concat()).succeeded();
    let stopped = interrupt_imports(&folder, "new.eg", |ran| {
        // Without a code: before it listened. It leaves a database only if it was done.
        if ran.code == Some(0) {
            folder.run(&["check", "new.eg"]).succeeded();
        }
        assert_eq!(folder.path("new.eg").exists(), ran.code == Some(0), "{ran:?}");
        drop(fs::remove_dir_all(folder.path("new.eg")));
    });
    assert!(stopped > 0, "none of them was stopped");
    let names = fs::read_dir(folder.root()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["csv"], "nor does a temporary file stay");
}

#[test]
fn an_import_beyond_its_memory_answers_as_one_within_it() {
    let folder = Folder::new();
    let graph = ["--scale", "14", "--edge-factor", "8", "--ids", "texts"];
    folder.run(&[&["generate", "rmat", "--out", "csv"], &graph[..]].concat()).succeeded();
    folder.run(&["import", "whole.eg", "csv"]).succeeded();
    folder.run(&["import", "small.eg", "csv", "--engine", "disk", "--memory", "256KiB"]).succeeded();
    assert_eq!(ranks(&folder, "small.eg"), ranks(&folder, "whole.eg"));
    folder.run(&["check", "small.eg"]).succeeded();
    // Into a database that has all of these vertices, found by its index.
    folder.run(&["import", "small.eg", "csv/EDGE.csv", "--memory", "256KiB"]).succeeded();
    let report = folder.json(&["stats", "small.eg"]);
    assert_eq!((&report["vertices_count"], &report["edges_count"]), (&json!(1 << 14), &json!(1 << 18)));
    fs::create_dir(folder.path("twice")).unwrap();
    folder.write("twice/Vertex.csv", fs::read_to_string(folder.path("csv/Vertex.csv")).unwrap());
    folder.write("twice/ZMore.csv", "id:ID(Vertex),:LABEL\nnew,Vertex\nv688990c0,Vertex\n");
    folder
        .run(&["import", "twice.eg", "twice", "--engine", "disk", "--memory", "256KiB"])
        .failed(2, &["id space Vertex", "More.csv:3"]);
    let first = ["--on-duplicate", "first", "--memory", "256KiB"];
    folder.run(&[&["import", "twice.eg", "twice"], &first[..]].concat()).succeeded();
    assert_eq!(folder.json(&["stats", "twice.eg"])["vertices_count"], (1 << 14) + 1);
}

#[test]
fn steps_of_the_demo_run_on_disk() {
    let folder = Folder::new();
    folder.run(&["demo", "load", "bank.eg", "--transfers", "2000", "--engine", "disk"]).succeeded();
    assert_eq!(folder.json(&["stats", "bank.eg"])["engine"]["name"], "disk");
    folder.run(&["demo", "verify", "bank.eg", "--transfers", "2000", "--acknowledged", "0,0"]).succeeded();
}
