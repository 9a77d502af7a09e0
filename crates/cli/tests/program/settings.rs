//! Settings: flags over variables over files over defaults; what is wrong is named by its place.

use crate::skips::skipped;
use crate::support::Folder;
use serde_json::{Value, json};

/// The setting `key` as `--print-config --json` tells it: value, source, place.
fn setting(report: &Value, key: &str) -> (Value, String, Value) {
    let rows = report["settings"].as_array().unwrap();
    let row = rows.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("no {key}: {rows:?}"));
    (row["value"].clone(), row["source"].as_str().unwrap().to_owned(), row["place"].clone())
}

#[test]
fn flags_win_over_variables_and_those_over_files() {
    let folder = Folder::with_social();
    let rows = |variables: &[(&str, &str)], more: &[&str]| {
        let command = [&["run", "social.eg", "pagerank", "--json"], more].concat();
        let ran = folder.run_with(variables, &command).succeeded();
        serde_json::from_str::<Value>(&ran.out).unwrap()["top"].as_array().unwrap().len()
    };
    assert_eq!(rows(&[], &[]), 3);
    folder.write("evergraph.toml", "[run]\ntop = 2\n");
    assert_eq!(rows(&[], &[]), 2);
    let variable = [("EVERGRAPH_RUN_TOP", "1")];
    assert_eq!(rows(&variable, &[]), 1);
    assert_eq!(rows(&variable, &["--top", "3"]), 3);
    // The narrower name wins where both are said in one place, and the better place wins over it.
    folder.write("evergraph.toml", "[run]\ntop = 2\n[run.pagerank]\ntop = 0\n");
    assert_eq!((rows(&[], &[]), rows(&variable, &[]), rows(&[], &["--no-config"])), (0, 1, 3));
    assert_eq!(rows(&[("EVERGRAPH_RUN_TOP", "")], &[]), 0, "an empty variable is none");
}

#[test]
fn files_are_the_named_one_or_those_here_and_of_the_user() {
    let folder = Folder::new();
    folder.shell("mkdir -p user/evergraph").succeeded();
    folder.write("user/evergraph/evergraph.toml", "threads = 3\ncolor = 'never'\n");
    folder.write("evergraph.toml", "threads = 2\n");
    folder.write("other.toml", "quiet = true\n");
    let user = folder.path("user");
    let report = |more: &[(&str, &str)], arguments: &[&str]| {
        let variables = [&[("XDG_CONFIG_HOME", user.to_str().unwrap())], more].concat();
        let ran = folder.run_with(&variables, &[&["--print-config", "--json"], arguments].concat());
        serde_json::from_str::<Value>(&ran.succeeded().out).unwrap()
    };
    let file = user.join("evergraph/evergraph.toml").display().to_string();
    let usual = report(&[], &[]);
    assert_eq!(usual["files"], json!(["evergraph.toml", file]));
    assert_eq!(setting(&usual, "threads"), (json!(2), "file".into(), json!("evergraph.toml:1")));
    assert_eq!(setting(&usual, "color"), (json!("never"), "file".into(), json!(format!("{file}:2"))));
    for named in
        [report(&[], &["--config", "other.toml"]), report(&[("EVERGRAPH_CONFIG", "other.toml")], &[])]
    {
        assert_eq!(named["files"], json!(["other.toml"]));
        assert_eq!(setting(&named, "threads"), (Value::Null, "default".into(), Value::Null));
        assert_eq!(setting(&named, "quiet").0, true);
    }
    assert_eq!(report(&[("EVERGRAPH_CONFIG", "other.toml")], &["--no-config"])["files"], json!([]));
    folder.run(&["--config", "none.toml", "stats", "a.eg"]).failed(3, &["none.toml"]);
    folder.run_with(&[("EVERGRAPH_CONFIG", "none.toml")], &["stats", "a.eg"]).failed(3, &["none.toml"]);
    folder.run(&["--config", ".", "stats", "a.eg"]).failed(2, &["settings from ."]);
}

#[test]
fn every_setting_is_printed_with_where_it_comes_from() {
    let folder = Folder::new();
    folder.write("evergraph.toml", "memory-limit = \"2GiB\"\n\n[import]\ndelimiter = '|'\n");
    let variables = [("EVERGRAPH_BENCH_SCALE", "12"), ("EVERGRAPH_QUIET", "true")];
    let command = ["--print-config", "--threads", "2", "--no-quiet"];
    let text = folder.run_with(&variables, &command).succeeded().out;
    let line = |start: &str| {
        let found = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{text}"));
        found.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("threads"), "threads = 2 # --threads");
    assert_eq!(line("quiet"), "quiet = false # --no-quiet");
    assert_eq!(line("memory-limit"), "memory-limit = \"2GiB\" # evergraph.toml:1");
    assert_eq!(line("delimiter"), "delimiter = \"|\" # evergraph.toml:4");
    assert_eq!(line("scale = 12"), "scale = 12 # EVERGRAPH_BENCH_SCALE");
    assert_eq!(line("durability"), "durability = \"sync\" # default");
    assert_eq!(line("# quote"), "# quote = CHARACTER # default: \"");
    // What a call is about is no setting, and a file can't make a command write another file.
    for absent in ["output", "source", "database =", "root", "nodes", "sabotage", "config", "[man]", "out ="]
    {
        assert!(!text.lines().any(|line| line.trim_start_matches("# ").starts_with(absent)), "{absent}");
    }
}

#[test]
fn what_is_printed_says_the_same_when_it_is_read() {
    let folder = Folder::new();
    folder.write(
        "evergraph.toml",
        "json = false\n[run]\nlabel = ['A', \"B\\\"C\"]\ntop = 4\n[run.bfs]\ntop = 5\n",
    );
    let printed = folder.run(&["--print-config"]).succeeded().out;
    folder.write("printed.toml", &printed);
    let values = |arguments: &[&str]| {
        let report = folder.json(arguments);
        let rows = report["settings"].as_array().unwrap().clone();
        rows.into_iter().map(|row| (row["key"].clone(), row["value"].clone())).collect::<Vec<_>>()
    };
    let again = values(&["--print-config", "--config", "printed.toml"]);
    assert_eq!(again, values(&["--print-config"]));
    assert!(again.contains(&(json!("run.label"), json!(["A", "B\"C"]))), "{again:?}");
}

#[test]
fn a_call_that_is_not_complete_can_print_settings_and_a_wrong_one_cannot() {
    let folder = Folder::new();
    let text = folder.run(&["import", "--array-delimiter", ",", "--print-config"]).succeeded().out;
    assert!(text.contains("array-delimiter = \",\"") && text.contains("# --array-delimiter"), "{text}");
    folder.run(&["import", "--array-delimitr", ",", "--print-config"]).failed(2, &["--array-delimitr"]);
}

#[test]
fn a_wrong_file_is_told_by_file_line_and_key() {
    let folder = Folder::with_social();
    let refused = |text: &str, words: &[&str]| {
        folder.write("evergraph.toml", text);
        folder.run(&["stats", "social.eg"]).failed(2, words);
        // Nothing is read that isn't asked for.
        folder.run(&["stats", "social.eg", "--no-config"]).succeeded();
    };
    refused("\nthraeds = 2\n", &["evergraph.toml:2", "thraeds", "did you mean threads?", "memory-limit"]);
    refused("[imprt]\nquote = 'none'\n", &["evergraph.toml:2", "[imprt]", "did you mean [import]?"]);
    refused(
        "[run]\ntop = 5\niteration = 3\n",
        &["evergraph.toml:3", "run.iteration", "did you mean iterations?"],
    );
    refused("[check]\nfast = true\n", &["evergraph.toml:2", "check has no settings"]);
    refused("run = 5\n", &["evergraph.toml:1", "run is a command", "[run]"]);
    refused("threads = '2'\n", &["evergraph.toml:1: threads", "a number without quotes"]);
    refused("threads = 2.5\n", &["evergraph.toml:1: threads", "whole number"]);
    refused("threads = 5000\n", &["evergraph.toml:1: threads", "5000", "1..=1024"]);
    refused("quiet = 'yes'\n", &["evergraph.toml:1: quiet", "true or false"]);
    refused("color = 'blue'\n", &["evergraph.toml:1: color", "auto, always, never"]);
    refused("color = 5\n", &["evergraph.toml:1: color", "a text", "auto, always, never"]);
    refused("memory-limit = '4XB'\n", &["evergraph.toml:1: memory-limit", "GiB"]);
    refused("durability = 'fast'\n", &["evergraph.toml:1: durability", "sync, interval"]);
    refused("[run]\nlabel = [1]\n", &["evergraph.toml:2: run.label", "list"]);
    refused("[run.bfs]\nsource = '1'\n", &["evergraph.toml:2", "run.bfs.source"]);
    refused("[run]\noutput = 'a.csv'\n", &["evergraph.toml:2", "run.output"]);
    refused("threads = \n", &["evergraph.toml:1"]);
    folder.write("evergraph.toml", [b't', 0xff]);
    folder.run(&["stats", "social.eg"]).failed(2, &["evergraph.toml"]);
}

#[test]
fn a_setting_that_the_graph_refuses_is_told_by_its_place() {
    let folder = Folder::with_social();
    folder.write("evergraph.toml", "[run]\ntop = 3\nlabel = 'Persn'\n");
    let run = ["run", "social.eg", "pagerank"];
    folder.run(&run).failed(3, &["\"Persn\"", "hint: label is \"Persn\" by evergraph.toml:3\n"]);
    let ran = folder.run(&[&run[..], &["--label", "Person", "--type", "LIKES"]].concat());
    assert!(!ran.err.contains("hint"), "what is said here needs no place: {ran:?}");
    let variable = [("EVERGRAPH_RUN_PAGERANK_DAMPING", "2")];
    let ran = folder.run_with(&variable, &[&run[..], &["--label", "Person"]].concat());
    ran.failed(2, &["hint: damping is \"2\" by EVERGRAPH_RUN_PAGERANK_DAMPING\n"]);
}

#[test]
fn a_file_that_nobody_named_and_nobody_may_read_is_left_out() {
    let folder = Folder::with_social();
    folder.shell("mkdir -p user/evergraph && echo 'threads = 2' > user/evergraph/evergraph.toml").succeeded();
    folder.shell("chmod 000 user/evergraph/evergraph.toml").succeeded();
    if std::fs::read(folder.path("user/evergraph/evergraph.toml")).is_ok() {
        return skipped("who runs the tests may read everything");
    }
    let variables = [("XDG_CONFIG_HOME", folder.path("user").display().to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let ran = folder.run_with(&variables, &["stats", "social.eg"]).succeeded();
    assert!(ran.err.contains("user/evergraph/evergraph.toml") && ran.err.contains("ignored"), "{ran:?}");
    folder.run(&["stats", "social.eg", "--config", "user/evergraph/evergraph.toml"]).failed(7, &["settings"]);
}

#[test]
fn a_wrong_variable_is_told_by_its_name() {
    let folder = Folder::with_social();
    let run = |name, value| folder.run_with(&[(name, value)], &["stats", "social.eg", "-q"]);
    run("EVERGRAPH_THREADS", "many").failed(2, &["EVERGRAPH_THREADS=many", "whole number"]);
    run("EVERGRAPH_JSON", "yes").failed(2, &["EVERGRAPH_JSON=yes", "true or false"]);
    let nearly = folder.run_with(&[("EVERGRAPH_THRAEDS", "2")], &["stats", "social.eg"]).succeeded();
    assert_eq!(nearly.err, "the variable EVERGRAPH_THRAEDS sets nothing; did you mean EVERGRAPH_THREADS?\n");
    assert_eq!(run("EVERGRAPH_ELSEWHERE", "2").succeeded().err, "");
}

#[test]
fn switches_that_are_on_elsewhere_can_be_taken_back() {
    let folder = Folder::with_social();
    folder.write("evergraph.toml", "json = true\n");
    assert!(folder.run(&["stats", "social.eg"]).succeeded().out.starts_with('{'));
    let text = |arguments: &[&str]| assert!(folder.run(arguments).succeeded().out.starts_with("social.eg: "));
    text(&["stats", "social.eg", "--no-json"]);
    text(&["--no-json", "stats", "social.eg"]);
    text(&["stats", "social.eg", "--json", "--no-json"]);
    let error = folder.run(&["stats", "none.eg"]);
    assert!(error.err.starts_with("{\"error\""), "{error:?}");
}

#[test]
fn algorithms_keep_to_the_memory_limit() {
    let folder = Folder::with_bank();
    let command = ["run", "bank.eg", "pagerank"];
    folder
        .run(&[&command[..], &["--memory-limit", "1KiB"]].concat())
        .failed(6, &["1.0 KiB", "hint: at least --memory-limit "]);
    folder.run_with(&[("EVERGRAPH_MEMORY_LIMIT", "1KiB")], &command).failed(6, &["1.0 KiB"]);
    folder.run(&[&command[..], &["--memory-limit", "1G"]].concat()).succeeded();
    folder.run(&[&command[..], &["--memory-limit", "4"]].concat()).failed(2, &["is a unit missing"]);
    folder.run(&["import", "b.eg", "a.e", "--memory", "0"]).failed(2, &["is a unit missing"]);
}

#[test]
fn a_file_never_stands_in_the_way_of_what_is_said() {
    let folder = Folder::with_social();
    // On the command line these two exclude each other.
    folder.write("evergraph.toml", "[import]\nreplace-header = 'x:ID'\n");
    folder
        .run(&["import", "a.eg", "people.csv", "--header", "id:ID,name,born:int,:LABEL"])
        .failed(2, &["born"]);
    folder.write("evergraph.toml", "[demo]\ntransfers = 9000\n");
    folder.run(&["demo", "load", "b.eg", "--transfers", "2000"]).succeeded();
    assert!(folder.json(&["stats", "b.eg", "--no-config"])["edges_count"].as_u64().unwrap() < 9000);
}
