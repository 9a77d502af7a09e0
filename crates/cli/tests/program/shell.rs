//! What a shell and `man` are given: completions that it can read, pages that show as text.

use crate::skips::skip;
use crate::support::Folder;

#[test]
fn completions_know_every_command() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(&["completions", shell]).succeeded().out;
        for word in ["checkpoint", "pagerank", "memory-limit", "rmat", "keep-going"] {
            assert!(script.contains(word), "{shell} doesn't know {word}");
        }
        assert!(!script.contains("sabotage"), "{shell} offers what is hidden");
    }
    folder.run(&["completions", "cmd"]).failed(2, &["cmd", "bash", "fish"]);
    assert_eq!(folder.json(&["completions", "fish"])["shell"], "fish");
}

#[test]
fn bash_reads_its_completions_and_completes_by_them() {
    let folder = Folder::new();
    folder.shell("evergraph completions bash > a.bash && bash -n a.bash").succeeded();
    let line = "source a.bash; COMP_WORDS=(evergraph che); COMP_CWORD=1; _evergraph evergraph che evergraph; \
                echo \"${COMPREPLY[@]}\"";
    assert_eq!(folder.shell(line).succeeded().out, "check checkpoint\n");
}

#[test]
fn there_is_a_page_for_every_command() {
    let folder = Folder::new();
    let files = folder.json(&["man", "--output", "man/man1"]);
    let files: Vec<&str> =
        files["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    for page in [
        "evergraph",
        "evergraph-stats",
        "evergraph-shell",
        "evergraph-run",
        "evergraph-run-pagerank",
        "evergraph-generate-rmat",
    ] {
        assert!(files.contains(&&*format!("man/man1/{page}.1")), "{page}: {files:?}");
    }
    assert!(!files.iter().any(|file| file.contains("help") || file.contains("stream")), "{files:?}");
    let page = folder.read("man/man1/evergraph-check.1");
    assert!(page.contains(".SH EXAMPLES\n.nf\n  evergraph check social.eg\n"), "{page}");
    assert!(page.contains(".SH NAME") && page.contains("\\-\\-memory\\-limit"), "{page}");
    assert_eq!(folder.run(&["man", "check"]).succeeded().out, page);
    assert!(folder.read("man/man1/evergraph.1").contains(".SH \"EXIT CODES\""));
    folder.run(&["man", "run", "nothing"]).failed(3, &["nothing", "pagerank"]);
    folder.run(&["man", "demo", "stream"]).failed(3, &["stream"]);
}

#[test]
fn pages_are_without_fault_for_groff() {
    let folder = Folder::new();
    if folder.shell("command -v groff").code != Some(0) {
        return skip("there is no groff");
    }
    folder.run(&["man", "--output", "man"]).succeeded();
    let ran = folder.shell("cat man/*.1 | groff -man -Tutf8 -ww -rLL=100n > text").succeeded();
    assert_eq!(ran.err, "");
    let text = folder.read("text");
    assert!(text.contains("evergraph check social.eg") && text.contains("--print-config"), "{text}");
}
