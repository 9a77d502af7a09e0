//! Help: what a newcomer reads first.

use crate::support::Folder;

const COMMANDS: [&str; 7] = ["import", "run", "stats", "check", "checkpoint", "index", "generate"];

#[test]
fn help_lists_every_command_and_what_exit_codes_mean() {
    let help = Folder::new().run(&["--help"]).succeeded().out;
    for command in COMMANDS {
        assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{command} "))), "{command}");
    }
    for code in ["invalid", "not_found", "conflict", "corrupt", "limit", "io", "busy", "cancelled"] {
        assert!(help.contains(code), "{code}");
    }
}

#[test]
fn each_command_helps_with_examples() {
    let folder = Folder::new();
    for command in COMMANDS {
        let by_word = folder.run(&["help", command]).succeeded();
        assert!(by_word.out.contains(&format!("Examples:\n  evergraph {command} ")), "{by_word:?}");
        assert_eq!(folder.run(&[command, "--help"]).succeeded().out, by_word.out);
        assert_eq!(by_word.err, "");
    }
    for algorithm in ["pagerank", "bfs", "wcc", "sssp"] {
        assert!(folder.run(&["run", "a.eg", algorithm, "--help"]).succeeded().out.contains("--output"));
    }
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
    folder.run(&["run", "a.eg", "bfs"]).failed(2, &["--source"]);
    folder
        .run(&["run", "a.eg", "bfs", "--source", "1", "--source-vertex", "1"])
        .failed(2, &["cannot be used"]);
    folder.run(&["generate", "rmat"]).failed(2, &["--out"]);
    folder.run(&["import", "a.eg"]).failed(2, &["FILES"]);
    folder.run(&["import", "a.eg", "b.csv", "--delimiter", "||"]).failed(2, &["one ASCII character"]);
    folder.run(&["--threads", "0", "stats", "a.eg"]).failed(2, &["--threads"]);
}
