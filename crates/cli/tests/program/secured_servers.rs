//! Servers with TLS and users: every command that takes a URL works by `https` as it does without.

use crate::support::{ACCESS, Folder, Ran};
use serde_json::json;
use std::fs;

#[test]
fn every_command_of_a_url_works_by_tls_with_a_password() {
    let folder = Folder::with_social();
    fs::create_dir(folder.path("root")).unwrap();
    folder.run(&["backup", "social.eg", "root/social.eg"]).succeeded();
    let export = ["export", "social.eg", "--output", "local.json"];
    folder.run(&export).succeeded();
    let local_ranks = folder.run(&["run", "social.eg", "pagerank", "--output", "-"]).succeeded().out;
    let served = folder.serve_secured(&[("social", "admin")], &["--root", "root"]);
    let url = served.secured_url("social");
    let run = |command: &[&str], rest: &[&str]| -> Ran {
        folder.run(&[command, &[&*url], rest, &ACCESS].concat()).succeeded()
    };
    assert_eq!(run(&["query"], &["g.V().count()"]).out, "3\n");
    assert!(run(&["query"], &["--explain", "g.V().out()"]).out.contains("V()"));
    assert_eq!(
        run(&["shell"], &["-c", ":begin\ng.addV('Person')\n:rollback\ng.V().count()"]).out.lines().last(),
        Some("3")
    );
    assert_eq!(run(&["run"], &["pagerank", "--output", "-"]).out, local_ranks);
    let searched = run(&["run"], &["bfs", "--source", "1"]).out;
    assert!(searched.starts_with("bfs of wss://ann@127.0.0.1:"), "{searched}");
    assert!(run(&["stats"], &[]).out.contains("KNOWS"));
    assert!(run(&["check"], &[]).out.contains("healthy: 3 vertices and 3 edges"));
    assert!(run(&["checkpoint"], &[]).out.contains("checkpoint through commit"));
    assert!(run(&["index", "create"], &["Person", "name"]).out.contains("3 entries"));
    assert!(run(&["index", "list"], &[]).out.contains("name"));
    run(&["index", "drop"], &["Person", "name"]);

    run(&["export"], &["--output", "remote.json"]);
    assert_eq!(folder.read("remote.json"), folder.read("local.json"));
    // More than a megabyte up, and down again.
    let rows: String =
        (10..30_000).map(|id| format!("{id},the vertex with the number {id},Person\n")).collect();
    folder.write("more.csv", format!("id:ID,name:string,:LABEL\n{rows}"));
    assert!(run(&["import"], &["more.csv"]).out.contains("29,990 vertices"), "imported");
    run(&["export"], &["--output", "tables", "--format", "csv"]);
    let tables = fs::read_dir(folder.path("tables"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(tables.map(|table| table.matches("the vertex with the number").count()).sum::<usize>() == 29_990);
    assert!(run(&["backup"], &["copy.eg"]).out.contains("29,993 vertices"));
    assert_eq!(folder.run(&["query", "copy.eg", "g.V().count()"]).succeeded().out, "29993\n");
    let health = folder.json(&["health", &url, "--tls-root", "root.pem"]);
    assert_eq!(health["state"], json!("ready"));
}

#[test]
fn without_the_root_or_the_password_no_command_is_let_in() {
    let folder = Folder::with_social();
    let served = folder.serve_secured(&[("social", "admin")], &["social.eg", "--spool", "spool"]);
    let url = served.secured_url("social");
    folder.write("more.csv", "id:ID,:LABEL\n7,Person\n");
    let commands: [&[&str]; 9] = [
        &["query", &url, "g.V()"],
        &["shell", &url, "-c", "g.V()"],
        &["run", &url, "wcc"],
        &["stats", &url],
        &["check", &url],
        &["index", "list", &url],
        &["import", &url, "more.csv"],
        &["export", &url, "--output", "out.json"],
        &["backup", &url, "copy.eg"],
    ];
    let [password, root] = [&ACCESS[..2], &ACCESS[2..]];
    for command in commands {
        folder.run(&[command, password].concat()).failed(7, &["name the root"]);
        folder.run(&[command, root].concat()).failed(2, &["EVERGRAPH_PASSWORD"]);
        let plain: Vec<String> = command.iter().map(|word| word.replace("https://", "http://")).collect();
        let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
        let ran = folder.run(&[&plain, password].concat());
        assert!(ran.code != Some(0) && ran.err.contains("wss://"), "{command:?}: {ran:?}");
    }
    assert!(!folder.path("out.json").exists() && !folder.path("copy.eg").exists());
}
