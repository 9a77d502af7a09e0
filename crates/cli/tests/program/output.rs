//! Output: JSON for machines, quiet for scripts, no colour where nobody sees it, closed pipes.

use crate::skips::skip;
use crate::support::{Folder, Ran, program};
use serde_json::Value;
use std::process::Stdio;

fn keys(document: &Value) -> Vec<&str> {
    document.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_documents_have_the_keys_that_scripts_rely_on() {
    let folder = Folder::with_social();
    let has = |arguments: &[&str], wanted: &[&str]| {
        let document = folder.json(arguments);
        for key in wanted {
            assert!(document.get(key).is_some(), "{arguments:?} has no {key}: {:?}", keys(&document));
        }
    };
    has(
        &["run", "social.eg", "pagerank"],
        &[
            "algorithm",
            "database",
            "timestamp",
            "vertices",
            "edges",
            "fresh_share",
            "outcome",
            "top_value",
            "top",
            "output",
            "seconds",
        ],
    );
    has(
        &["stats", "social.eg"],
        &[
            "database",
            "timestamp",
            "vertices_count",
            "edges_count",
            "labels",
            "edge_types",
            "memory",
            "engine",
            "disk",
            "checkpoint",
            "seconds",
        ],
    );
    has(
        &["check", "social.eg"],
        &["database", "healthy", "findings", "vertices_count", "edges_count", "seconds"],
    );
    has(
        &["checkpoint", "social.eg"],
        &["database", "bytes_written", "log_bytes_freed", "disk_bytes", "seconds"],
    );
    has(
        &["import", "again.eg", "people.csv", "knows.csv"],
        &[
            "database",
            "labels",
            "edge_types",
            "vertices_count",
            "edges_count",
            "bad_rows",
            "notes",
            "ignored_files",
            "read_seconds",
            "load_seconds",
            "disk_bytes",
            "memory_bytes_per_edge",
        ],
    );
    has(
        &["generate", "rmat", "--scale", "4", "--out", "r"],
        &["files", "vertices_count", "edges_count", "seconds"],
    );
    has(&["generate", "rmat", "--scale", "4", "r.eg"], &["database", "labels", "edge_types"]);
}

#[test]
fn an_error_is_a_json_document_too() {
    let folder = Folder::new();
    let error = |arguments: &[&str]| {
        let ran = folder.run(arguments);
        assert_eq!(ran.out, "");
        let document: Value = serde_json::from_str(&ran.err).unwrap();
        let kind = document["error"]["kind"].as_str().unwrap().to_owned();
        assert_eq!(document["error"]["exit_code"].as_i64(), ran.code.map(i64::from));
        (kind, document["error"]["message"].as_str().unwrap().to_owned())
    };
    let (kind, message) = error(&["stats", "none.eg", "--json"]);
    assert!(kind == "not_found" && message.contains("none.eg"), "{message}");
    let (kind, message) = error(&["--json", "run", "none.eg", "bfs"]);
    assert!(kind == "invalid" && message.contains("--source"), "{message}");
    let (kind, message) = error(&["run", "none.eg", "wcc", "--json", "--output", "-"]);
    assert!(kind == "invalid" && message.contains("standard output"), "{message}");
    // However documents were asked for.
    let is_document =
        |ran: Ran| serde_json::from_str::<Value>(&ran.err).is_ok_and(|it| it["error"].is_object());
    for wrong in [&["stats", "--foo"][..], &["run", "none.eg", "pagrank"], &["--threads", "many", "stats"]] {
        assert!(is_document(folder.run_with(&[("EVERGRAPH_JSON", "true")], wrong)), "{wrong:?}");
        folder.write("evergraph.toml", "json = true\n");
        assert!(is_document(folder.run(wrong)), "{wrong:?}");
        assert!(!is_document(folder.run(&[wrong, &["--no-json"]].concat())), "{wrong:?}");
        folder.write("evergraph.toml", "threads = 'x'\n");
        assert!(is_document(folder.run_with(&[("EVERGRAPH_JSON", "1")], &["stats", "a.eg"])));
        folder.write("evergraph.toml", "");
    }
}

#[test]
fn quiet_prints_results_and_no_summaries() {
    let folder = Folder::new();
    for arguments in [
        &["generate", "rmat", "r.eg", "--scale", "4", "-q"][..],
        &["generate", "rmat", "--out", "r", "--scale", "4", "-q"],
        &["import", "i.eg", "r", "--quiet"],
        &["checkpoint", "i.eg", "--quiet"],
        &["check", "i.eg", "--quiet"],
    ] {
        let ran = folder.run(arguments).succeeded();
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "{arguments:?}");
    }
    assert!(folder.run(&["stats", "i.eg", "-q"]).succeeded().out.contains("16 vertices"));
    let rows = folder.run(&["run", "i.eg", "wcc", "-q", "--output", "-"]).succeeded();
    assert_eq!((rows.out.lines().count(), rows.err.as_str()), (17, ""));
    let table = folder.run(&["run", "i.eg", "wcc", "-q", "--output", "groups.csv"]).succeeded().out;
    assert!(table.contains("component") && !table.contains("computed in"), "{table}");
    assert!(!table.contains("groups.csv"), "{table}");
}

#[test]
fn rows_on_standard_output_are_not_mixed_with_the_table() {
    let folder = Folder::with_social();
    let ran = folder.run(&["run", "social.eg", "wcc", "--output", "-"]).succeeded();
    assert_eq!(ran.out, "key,value\n1,0\n2,0\n3,0\n");
    assert!(ran.err.contains("1 component") && ran.err.contains("written to standard output in"), "{ran:?}");
    assert!(!ran.err.contains("0.0 %"), "nothing is fresh: {ran:?}");
}

#[test]
fn colour_is_for_terminals_unless_it_must_be() {
    let folder = Folder::new();
    let plain = folder.run(&["stats", "none.eg"]).failed(3, &["none.eg"]);
    assert!(!plain.err.contains('\u{1b}'));
    let coloured = "\u{1b}[1;31merror:\u{1b}[0m ";
    let colourful = folder.run(&["stats", "none.eg", "--color", "always"]);
    assert!(colourful.err.starts_with(coloured), "{colourful:?}");
    assert!(folder.run(&["--help", "--color", "always"]).succeeded().out.contains('\u{1b}'));
    assert!(!folder.run(&["--help"]).succeeded().out.contains('\u{1b}'));
    // `script` lends the program a terminal.
    let on_terminal = |variables: &str| {
        folder
            .shell(&format!("{variables} script -qec 'evergraph stats none.eg --progress never' /dev/null"))
            .out
    };
    if folder.shell("command -v script").code != Some(0) {
        return skip("there is no `script` to lend a terminal");
    }
    assert!(on_terminal("TERM=xterm").contains(coloured));
    assert!(!on_terminal("TERM=xterm NO_COLOR=1").contains('\u{1b}'));
    assert!(!on_terminal("TERM=dumb").contains('\u{1b}'));
    assert!(on_terminal("TERM=xterm NO_COLOR=1 EVERGRAPH_COLOR=always").contains(coloured));
}

#[test]
fn a_reader_who_has_enough_ends_the_program_quietly() {
    let folder = Folder::with_bank();
    for arguments in
        [&["run", "bank.eg", "pagerank", "--output", "-"][..], &["stats", "bank.eg"], &["--help"]]
    {
        let mut child = program()
            .args(arguments)
            .current_dir(folder.root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_reader_who_takes_the_first_line_gets_it() {
    let folder = Folder::with_bank();
    for command in
        ["run bank.eg pagerank --output -", "stats bank.eg", "help", "man import", "--print-config"]
    {
        let ran = folder.shell(&format!("evergraph -q {command} | head -n 1")).succeeded();
        assert!(ran.out.lines().count() == 1 && ran.err.is_empty(), "{command}: {ran:?}");
    }
}

#[test]
fn progress_is_for_terminals_unless_it_must_be() {
    let folder = Folder::with_social();
    assert_eq!(folder.run(&["check", "social.eg"]).succeeded().err, "");
    if folder.shell("command -v script").code != Some(0) {
        return skip("there is no `script` to lend a terminal");
    }
    let seen = |option: &str| {
        folder.shell(&format!("script -qec 'evergraph check social.eg {option}' /dev/null")).out
    };
    assert!(seen("").contains("\u{1b}[2K"), "a bar is drawn and wiped: {:?}", seen(""));
    for option in ["--quiet", "--progress never", "--json"] {
        assert!(!seen(option).contains('\u{1b}'), "{option}: {:?}", seen(option));
    }
}

#[test]
fn a_full_disk_is_a_limit_that_names_the_file() {
    let folder = Folder::with_bank();
    folder.run(&["run", "bank.eg", "pagerank", "--output", "/dev/full"]).failed(6, &["/dev/full", "space"]);
    folder
        .run(&["run", "bank.eg", "pagerank", "--output", "no/a.csv"])
        .failed(3, &["no/a.csv: there is no folder no"]);
}
