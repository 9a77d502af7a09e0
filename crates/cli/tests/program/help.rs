//! Help: what a newcomer reads first.

use crate::support::Folder;

const COMMANDS: [&str; 22] = [
    "import",
    "export",
    "query",
    "shell",
    "serve",
    "cluster",
    "user",
    "replica",
    "run",
    "stats",
    "readers",
    "check",
    "backup",
    "convert",
    "salvage",
    "checkpoint",
    "index",
    "generate",
    "demo",
    "bench",
    "completions",
    "man",
];

/// The lines below `Examples:` in the help of `command`.
fn examples(folder: &Folder, command: &[&str]) -> Vec<String> {
    let help = folder.run(&[command, &["-h"]].concat()).succeeded().out;
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    lines.take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
}

/// The call of the program in an example: no explanation beside it, no rest of a pipe.
fn call(example: &str) -> &str {
    let (_, call) = example.split_once("evergraph ").unwrap_or(("", ""));
    let ends = ["  ", " | ", " > ", " && "].map(|end| call.find(end).unwrap_or(call.len()));
    let call = &call[..ends.into_iter().min().unwrap()];
    if example.contains("<(") { call.trim_end_matches(')') } else { call }
}

#[test]
fn help_lists_every_command_and_what_exit_codes_mean() {
    let help = Folder::new().run(&["--help"]).succeeded().out;
    for command in COMMANDS {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{command} "))), "{command}");
    }
    for code in [
        "invalid",
        "not_found",
        "conflict",
        "corrupt",
        "limit",
        "io",
        "busy",
        "incomplete",
        "unknown",
        "cancelled",
    ] {
        assert!(help.contains(code), "{code}");
    }
}

#[test]
fn each_command_helps_with_examples() {
    let folder = Folder::new();
    for command in COMMANDS {
        let by_word = folder.run(&["help", command]).succeeded();
        assert!(by_word.out.contains(&format!("Examples:\n  evergraph {command}")), "{by_word:?}");
        assert_eq!(folder.run(&[command, "--help"]).succeeded().out, by_word.out);
        assert_eq!(by_word.err, "");
    }
    for algorithm in ["pagerank", "bfs", "wcc", "sssp"] {
        assert!(folder.run(&["run", "a.eg", algorithm, "--help"]).succeeded().out.contains("--output"));
    }
}

#[test]
fn who_asks_nothing_is_shown_how_to_begin() {
    let folder = Folder::new();
    let welcome = folder.run(&[]).succeeded();
    let calls: Vec<&str> =
        welcome.out.lines().map(str::trim).filter(|line| line.starts_with("evergraph ")).map(call).collect();
    assert!(calls.len() >= 8 && welcome.err.is_empty(), "{welcome:?}");
    for call in calls.into_iter().filter(|call| *call != "--print-config") {
        folder.shell(&format!("evergraph --print-config {call}")).succeeded();
    }
    folder.run(&["--quiet"]).failed(2, &["requires a subcommand", "stats"]);
}

#[test]
fn every_command_has_a_manual_page() {
    let pages = Folder::new().json(&["man", "--output", "pages"]);
    let pages: Vec<&str> =
        pages["files"].as_array().unwrap().iter().map(|page| page.as_str().unwrap()).collect();
    for command in COMMANDS.into_iter().chain(["run-pagerank", "index-create"]) {
        let page = format!("pages/evergraph-{command}.1");
        assert!(pages.contains(&page.as_str()), "{command}: {pages:?}");
    }
}

#[test]
fn examples_that_take_no_time_work_as_they_stand() {
    let folder = Folder::with_social();
    // Servers of examples are not there.
    let costly = ["jq", "~/", "man -l", "://"];
    let is_cheap = |line: &&String| !costly.iter().any(|word| line.contains(word));
    for command in ["stats", "check", "checkpoint", "completions", "man"] {
        for line in examples(&folder, &[command]).iter().filter(is_cheap) {
            let ran = folder.shell(line);
            assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        }
    }
    let generated = "evergraph generate rmat --out rmat/ --scale 10";
    assert!(examples(&folder, &["generate", "rmat"]).contains(&generated.to_owned()));
    folder.shell(generated).succeeded();
    assert!(folder.path("monday.eg/manifest").exists() && folder.path("rmat/rmat.e").exists());
}

#[test]
fn short_help_has_examples_and_long_help_explains() {
    let folder = Folder::new();
    let (short, long) =
        (folder.run(&["check", "-h"]).succeeded().out, folder.run(&["check", "--help"]).succeeded().out);
    for option in ["--memory-limit", "--print-config", "What is verified:"] {
        assert!(!short.contains(option) && long.contains(option), "{option}");
    }
    assert!(short.contains("see more with '--help'") && short.contains("Examples:"), "{short}");
}

#[test]
fn help_stays_text_where_documents_are_wanted() {
    let folder = Folder::new();
    let help = folder.run(&["help", "run"]).succeeded().out;
    assert_eq!(folder.run(&["help", "run", "--json"]).succeeded().out, help);
    assert_eq!(folder.run_with(&[("EVERGRAPH_JSON", "true")], &["help", "run"]).succeeded().out, help);
}

#[test]
fn a_page_of_an_algorithm_shows_how_it_is_called() {
    let page = Folder::new().run(&["man", "run", "pagerank"]).succeeded().out;
    assert!(page.contains("\nevergraph run DATABASE pagerank [OPTIONS]\n"), "{page}");
}

#[test]
fn the_version_is_told() {
    let version = Folder::new().run(&["--version"]).succeeded().out;
    assert_eq!(version, concat!("evergraph ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_wrong_command_line_is_invalid_and_says_what_is_meant() {
    let folder = Folder::new();
    folder.run(&["statz", "a.eg"]).failed(2, &["statz", "stats"]);
    folder.run(&["run", "a.eg", "pagrank"]).failed(2, &["no algorithm \"pagrank\"; did you mean pagerank?"]);
    folder
        .run(&["run", "a.eg"])
        .failed(2, &["Who matters: pagerank, personalized-pagerank", "density: cdlp, louvain"]);
    let louvain = folder.run(&["run", "a.eg", "louvain", "--direction", "both"]);
    louvain.failed(2, &["louvain reads edges both ways; it has no --direction"]);
    folder.run(&["run", "a.eg", "bfs"]).failed(2, &["--source"]);
    folder
        .run(&["run", "a.eg", "bfs", "--source", "1", "--source-vertex", "1"])
        .failed(2, &["cannot be used"]);
    folder.run(&["generate", "rmat"]).failed(2, &["--out"]);
    folder.run(&["import", "a.eg"]).failed(2, &["FILES"]);
    folder.run(&["import", "a.eg", "b.csv", "--delimiter", "||"]).failed(2, &["one ASCII character"]);
    folder.run(&["--threads", "0", "stats", "a.eg"]).failed(2, &["--threads"]);
}
