//! Serve: where the server says that it listens, which databases it serves, and how it ends.

use crate::support::Folder;
use serde_json::Value;
use std::io::Read as _;
use std::time::{Duration, Instant};

#[test]
fn a_server_says_where_it_listens_and_ends_with_a_signal_and_a_closed_database() {
    let folder = Folder::with_social();
    for signal in ["-INT", "-TERM"] {
        let server = folder.serve(&["social.eg"]);
        assert!(server.first.starts_with("social.eg is served at ws://"), "{}", server.first);
        let answer = server.get("/healthz");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
        let asked = Instant::now();
        let ended = server.end(signal).succeeded();
        assert!(asked.elapsed() < Duration::from_secs(60));
        for language in ["Python", "JavaScript", "Java ", "Go "] {
            assert!(ended.out.contains(language), "{ended:?}");
        }
    }
    folder.run(&["check", "social.eg"]).succeeded();
    folder.run(&["serve", "social.eg", "--listen", "0.0.0.0:8182"]).failed(2, &["other machines"]);
    folder.run(&["serve", "none.eg", "--listen", "127.0.0.1:0"]).failed(3, &["none.eg"]);
}

#[test]
fn several_databases_are_listed_with_their_aliases_and_what_is_wrong_with_them() {
    let folder = Folder::with_social();
    std::fs::create_dir(folder.path("graphs")).unwrap();
    folder.shell("cp -r social.eg graphs/bank.eg && cp -r social.eg \"graphs/it's.eg\"").succeeded();
    let served = folder.serve(&["social.eg", "--root", "graphs"]);
    assert!(served.first.starts_with("3 databases are served at ws://"), "{}", served.first);
    folder.run(&["stats", "graphs/bank.eg"]).failed(8, &["bank.eg"]);
    folder
        .run(&["serve", "--root", "graphs", "--listen", "127.0.0.1:0"])
        .failed(8, &["another server has the root"]);
    let ended = served.end("-TERM").succeeded();
    for line in ["bank      open   bank, g_bank", "social    open   g, social, g_social"] {
        assert!(ended.out.contains(line), "{line}: {ended:?}");
    }
    // Without a default, examples name a database whose name needs no care.
    let ended = folder.serve(&["--root", "graphs"]).end("-TERM").succeeded();
    for words in [
        "/gremlin', 'bank')",
        "{traversalSource: 'bank'}",
        "(cluster, \"bank\")",
        "TraversalSource = \"bank\"",
    ] {
        assert!(ended.out.contains(words), "{words}: {ended:?}");
    }
    let manifest = folder.file_of("graphs/bank.eg", "manifest");
    crate::support::flip(&manifest, 20);
    let mut server = folder.serve(&["--root", "graphs", "--json"]);
    server.signal("-TERM");
    let mut rest = String::new();
    server.out.read_to_string(&mut rest).unwrap();
    let report: Value = serde_json::from_str(&(server.first.clone() + &rest)).unwrap();
    assert_eq!(report["databases"][0]["state"], "failed");
    assert!(report["databases"][0]["error"].as_str().unwrap().contains("manifest"));
    assert_eq!(report["databases"][1]["aliases"][0], "g", "the only open one: {report}");
    let two = ["serve", "social.eg", "social.eg", "--listen", "127.0.0.1:0"];
    folder.run(&two).failed(2, &["both called \"social\""]);
    folder.run(&["serve"]).failed(2, &["DB"]);
    let memory = ["--memory-limit", "100MiB", "--database-memory-limit", "64MiB"];
    folder
        .run(&[&["serve", "social.eg", "graphs/it's.eg", "--listen", "127.0.0.1:0"][..], &memory].concat())
        .failed(6, &["--memory-limit", "--database-memory-limit"]);
}
