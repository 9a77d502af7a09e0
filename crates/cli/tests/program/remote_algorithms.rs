//! Algorithms on a server: `evergraph run` of a URL prints, writes and refuses what it does of a folder.

use crate::algorithms::{ALGORITHMS, parquet};
use crate::support::{Folder, Ran, eventually, program, send};
use serde_json::{Value as Json, json};
use std::process::Stdio;

/// What one run said: the text, the document without times, the rows, the columns of the Parquet file.
type Told = (String, Json, String, Vec<(String, String)>);

/// The document without times, and the rows.
fn answered(folder: &Folder, place: &str, arguments: &[&str]) -> (Json, String) {
    let run = [&["run", place], arguments].concat();
    let mut document = folder.json(&[&run[..], &["--output", "answer.csv", "--overwrite"]].concat());
    let seconds = document["seconds"].take();
    assert!(["open", "freeze", "kernel", "write"].iter().all(|step| seconds[step].is_f64()), "{seconds}");
    assert_eq!(document["database"].take(), place);
    // How much of the graph merges took in depends on when it was opened.
    document["fresh_share"] = document["fresh_share"].is_f64().into();
    (document, folder.read("answer.csv"))
}

/// Runs in every form.
fn told(folder: &Folder, place: &str, arguments: &[&str]) -> Told {
    let run = [&["run", place], arguments].concat();
    let (document, rows) = answered(folder, place, arguments);
    let quiet = ["--quiet", "--output", "a.parquet", "--overwrite"];
    let text = folder.run(&[&run[..], &quiet].concat()).succeeded();
    let (columns, cells) = parquet(folder, "a.parquet");
    assert_eq!(cells.len() + 1, rows.lines().count(), "{rows}");
    let columns = columns.into_iter().map(|(name, data_type)| (name, format!("{data_type}"))).collect();
    (text.out.replacen(place, "DATABASE", 1), document, rows, columns)
}

#[test]
fn every_algorithm_tells_the_same_of_a_url_as_of_a_folder() {
    let folder = Folder::with_social();
    let all =
        |place: &str| ALGORITHMS.map(|(arguments, _)| (arguments, told(&folder, place, arguments))).to_vec();
    let local = all("social.eg");
    let served = folder.serve(&["social.eg"]);
    let url = served.url() + "/social";
    for ((arguments, local), (_, remote)) in local.into_iter().zip(all(&url)) {
        assert_eq!(remote, local, "{arguments:?}");
    }
    let text = folder.run(&["run", &url, "wcc"]).succeeded().out;
    assert!(text.starts_with(&format!("wcc of {url}: 3 vertices, 3 edges\n")), "{text}");
    assert!(text.contains("\nconnected in ") && text.contains("computed in "), "{text}");
    served.end("-TERM").succeeded();
    folder.run(&["check", "social.eg"]).succeeded();
}

/// Three labels: one with a text as its key, one with a number, one without; and properties of several types.
fn with_several_labels() -> Folder {
    let folder = Folder::with_social();
    folder.write(
        "accounts.csv",
        "number:ID(Account){id-type: long},name:string,day:date,price:decimal,:LABEL\n\
         7,Ada,1815-12-10,1.50,Account\n13,x,,2,Account\n",
    );
    folder.run(&["import", "social.eg", "accounts.csv"]).succeeded();
    let write = "g.addV('City').property('name', 'Rome').property('day', '2001').as('c')\
                 .V().hasLabel('Person').addE('LIVES_IN').to('c').property('since', 1830)";
    folder.run(&["query", "social.eg", write]).succeeded();
    folder
}

/// Runs whose names, parts of the graph and answers differ.
const CHOICES: [&[&str]; 15] = [
    &["wcc"],
    &["wcc", "--label", "Account"],
    &["pagerank", "--label", "Person,City", "--type", "LIVES_IN", "--top", "2"],
    &["pagerank", "--key", "name"],
    &["pagerank", "--key", "born", "--label", "Person"],
    &["wcc", "--key", "day"],
    &["wcc", "--key", "price"],
    &["bfs", "--source", "1", "--direction", "both"],
    &["bfs", "--source", "7"],
    &["bfs", "--source-vertex", "1"],
    &["shortest-path", "--source", "1", "--target", "3", "--weight", "since"],
    &["kcore", "--where", "born>=1790", "--where-edge", "since<1840.5"],
    &["wcc", "--where", "name in Ada, Rome", "--top", "0"],
    &["wcc", "--where", "day=1815-12-10", "--label", "Account"],
    &["k-hop", "--source", "3", "--source", "1", "--depth", "1", "--limit", "2"],
];

#[test]
fn labels_keys_conditions_and_sources_are_those_of_the_folder() {
    let folder = with_several_labels();
    let all = |place: &str| CHOICES.map(|arguments| answered(&folder, place, arguments)).to_vec();
    let local = all("social.eg");
    let served = folder.serve(&["social.eg"]);
    let remote = all(&(served.url() + "/social"));
    for (arguments, (local, remote)) in CHOICES.iter().zip(local.into_iter().zip(remote)) {
        assert_eq!(remote, local, "{arguments:?}");
    }
}

/// Runs that are refused.
const REFUSED: [&[&str]; 13] = [
    &["wcc", "--label", "Persn"],
    &["wcc", "--type", "KNOW"],
    &["wcc", "--key", "nme"],
    &["wcc", "--where", "agee>1"],
    &["wcc", "--where", "born>soon", "--label", "Person"],
    &["wcc", "--where", "since=1827"],
    &["bfs", "--source", "99"],
    &["bfs", "--source", "Ada", "--key", "name"],
    &["bfs", "--source", "3", "--label", "Person", "--where", "born>1790"],
    &["bfs", "--source-vertex", "4000000"],
    &["sssp", "--source", "1", "--weight", "sinc"],
    &["leiden", "--weight", "amount"],
    &["topological-order"],
];

#[test]
fn what_is_refused_of_a_folder_is_refused_of_a_url_in_the_same_words() {
    let folder = with_several_labels();
    // A vertex of another label with the same key.
    folder.run(&["index", "create", "social.eg", "City", "id", "--unique", "--new"]).succeeded();
    folder.run(&["query", "social.eg", "g.V().hasLabel('City').property('id', '1')"]).succeeded();
    let all = |place: &str| {
        let several: &[&str] = &["bfs", "--source", "1"];
        let refused = REFUSED.into_iter().chain([several]);
        refused.map(|arguments| folder.run(&[&["run", place], arguments].concat())).collect::<Vec<Ran>>()
    };
    let local = all("social.eg");
    let served = folder.serve(&["social.eg"]);
    for (at, (local, remote)) in local.into_iter().zip(all(&served.url())).enumerate() {
        assert!(!local.err.is_empty() && local.code != Some(0), "{at}: {local:?}");
        assert_eq!((remote.code, remote.err, remote.out), (local.code, local.err, local.out), "{at}");
    }
    let file = ["run", &served.url(), "wcc", "--output", "people.csv"];
    folder.run(&file).failed(2, &["people.csv already exists", "(--overwrite)"]);
    folder.run(&["run", "social.eg", "wcc", "--tls-root", "root.pem"]).failed(2, &["--tls-root", "folder"]);
    folder.run(&["run", &(served.url() + "/bank"), "wcc"]).failed(3, &["bank"]);
    folder.run(&["run", "ws://127.0.0.1:9", "wcc"]).failed(7, &["evergraph serve"]);
}

#[test]
fn a_reader_runs_algorithms_within_the_limits_of_the_server() {
    let folder = Folder::with_bank();
    folder.run_on("correct horse\n", &["user", "add", "users.json", "ann"]).succeeded();
    let served = folder.serve(&["bank.eg", "--users", "users.json", "--query-memory", "64KiB"]);
    let url = served.url().replace("ws://", "ws://ann@") + "/bank";
    let run = |arguments: &[&str]| {
        let run = [&["run", &url], arguments].concat();
        folder.run_with(&[("EVERGRAPH_PASSWORD", "correct horse")], &run)
    };
    run(&["wcc"]).failed(2, &["bank"]);
    folder.run(&["user", "grant", "users.json", "ann", "bank", "reader"]).succeeded();
    // The server looks at the file now and then.
    let scope = ["k-hop", "--source-vertex", "1", "--depth", "1"];
    eventually("ann may read", || run(&scope).code == Some(0));
    run(&["wcc"]).failed(6, &["names beside the rows of the answer"]);
    folder.write("password", "correct horse\n");
    folder.shell("chmod 600 password").succeeded();
    let by_file = [&["run", &*url][..], &scope, &["--password-file", "password"]].concat();
    folder.run(&by_file).succeeded();
}

#[test]
fn ctrl_c_cancels_an_algorithm_on_the_server() {
    let folder = Folder::new();
    // Simple cycles of a complete graph: more than anybody has time for.
    let pairs = (0..40).flat_map(|from| (0..40).filter(move |to| *to != from).map(move |to| (from, to)));
    let edges: String = pairs.map(|(from, to)| format!("{from} {to}\n")).collect();
    folder.write("a.e", edges);
    folder.run(&["import", "a.eg", "a.e"]).succeeded();
    let served = folder.serve(&["a.eg"]);
    let url = served.url();
    let mut program = program();
    let cycles = ["cycles", "--length-min", "12", "--length-max", "12", "--limit", "4000000000"];
    program.args(["run", &url]).args(cycles).args(["--output", "cycles.csv"]).current_dir(folder.root());
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it begins", || served.running_queries() == 1);
    send("-INT", &child);
    Ran::of(child.wait_with_output().unwrap()).failed(130, &["cancelled"]);
    assert!(!folder.path("cycles.csv").exists());
    eventually("it ends", || served.running_queries() == 0);
    assert_eq!(folder.json(&["run", &url, "wcc"])["vertices"], json!(40));
}
