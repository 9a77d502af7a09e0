//! Each command's ordinary day, on small graphs whose answers are plain.

use crate::support::{Folder, Ran, program};
use evergraph::{Database, Transaction};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

#[test]
fn the_quick_start_of_the_readme_works() {
    let folder = Folder::with_social();
    let stats = folder.run(&["stats", "social.eg"]).succeeded().out;
    assert!(stats.starts_with("social.eg: 3 vertices, 3 edges, as of commit 1\n"), "{stats}");
    assert!(stats.contains("KNOWS      3  Person -> Person\n"), "{stats}");
    folder.run(&["run", "social.eg", "pagerank", "--output", "ranks.csv"]).succeeded();
    let ranks = folder.read("ranks.csv");
    let third = 1.0 / 3.0;
    let rows: Vec<(&str, f64)> = ranks
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(key, value)| (key, value.parse().unwrap()))
        .collect();
    assert!(ranks.starts_with("key,value\n"));
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), ["1", "2", "3"]);
    assert!(rows.iter().all(|row| (row.1 - third).abs() < 1e-12), "{rows:?}");
    let check = folder.run(&["check", "social.eg"]).succeeded().out;
    assert!(check.starts_with("social.eg is healthy: "), "{check}");
    assert!(check.contains("3 vertices and 3 edges verified in "), "{check}");
}

#[test]
fn import_says_what_it_loaded() {
    let folder = Folder::new();
    folder.write("a.v", "1\n2\n9007199254740993\n");
    folder.write("a.e", "1 2 0.5\n2 9007199254740993 1.5\n1 2 2.5\n");
    let report = folder.json(&["import", "a.eg", "a.v", "a.e", "--label", "Page", "--type", "LINK"]);
    assert_eq!(report["database"], "a.eg");
    assert_eq!(report["labels"], json!([{"label": "Page", "vertices": 3}]));
    let types = json!([{"type": "LINK", "source_label": "Page", "target_label": "Page", "edges": 3}]);
    assert_eq!(report["edge_types"], types);
    assert_eq!((&report["vertices_count"], &report["edges_count"]), (&json!(3), &json!(3)));
    assert_eq!(report["bad_rows"], json!({"count": 0, "first": [], "report": null}));
    assert!(report["disk_bytes"].as_u64().unwrap() > 0 && report["load_seconds"].as_f64().unwrap() > 0.0);

    let far = folder.json(&["run", "a.eg", "sssp", "--source", "1", "--top", "9"]);
    let keys_and_values: Vec<(i64, f64)> = far["top"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["key"].as_i64().unwrap(), row["value"].as_f64().unwrap()))
        .collect();
    assert_eq!(keys_and_values, [(1, 0.0), (2, 0.5), (9_007_199_254_740_993, 2.0)]);
}

#[test]
fn import_takes_headers_delimiters_gzip_and_standard_input() {
    let folder = Folder::new();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"7|\"A|11\n8|B|12\n").unwrap();
    folder.write("people.csv.gz", packed.finish().unwrap());
    let header = "id:ID(Person){id-type:long}|name|born:int";
    let nodes =
        ["--nodes", "Person=people.csv.gz", "--delimiter", "|", "--quote", "none", "--header", header];
    folder.run(&[&["import", "a.eg"], &nodes[..]].concat()).succeeded();
    let stats = folder.json(&["stats", "a.eg"]);
    assert_eq!(stats["labels"][0]["label"], "Person");
    let properties = json!([
        {"key": "id", "type": "long", "unique": true},
        {"key": "name", "type": "string", "unique": false},
        {"key": "born", "type": "int", "unique": false},
    ]);
    assert_eq!(stats["labels"][0]["properties"], properties);
    let named = folder.json(&["run", "a.eg", "wcc", "--key", "name"]);
    assert_eq!((&named["top"][0]["key"], &named["top"][1]["key"]), (&json!("\"A"), &json!("B")));

    let command = ["import", "b.eg", "-", "--vertices", "0..5"];
    let mut child = program()
        .args(command)
        .current_dir(folder.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"# comment\n0\t1\n1\t2\n").unwrap();
    Ran::of(child.wait_with_output().unwrap()).succeeded();
    let stats = folder.json(&["stats", "b.eg"]);
    assert_eq!((&stats["vertices_count"], &stats["edges_count"]), (&json!(5), &json!(2)));
}

/// Nothing of it needs an option or a temporary file.
#[test]
fn standard_input_and_pipes_are_recognised_as_files_are() {
    let folder = Folder::new();
    folder.write("people.csv", "id,name,born\n1,Ada,1815\n2,Mary,1780\n");
    folder.write("knows.csv", "from,to,since\n1,2,1833\n");
    folder.write("g.json", "{\"id\":1,\"label\":\"person\"}\n");
    folder.write("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n");
    folder.write("roads.gr", "c roads\np sp 2 1\na 1 2 9\n");
    folder.write("typed.csv", "id:ID(Person)|name\n1|Ada\n");
    folder.write("words.txt", "one\ntwo\n");
    let counts = |database: &str| {
        let stats = folder.json(&["stats", database]);
        let labels = stats["labels"].as_array().unwrap().iter();
        let labels: Vec<&str> = labels.map(|label| label["label"].as_str().unwrap()).collect();
        (labels.join(" "), stats["vertices_count"].as_u64().unwrap(), stats["edges_count"].as_u64().unwrap())
    };
    for (at, (line, label, vertices, edges)) in [
        ("cat people.csv | evergraph import DB --nodes Person=-", "Person", 2, 0),
        ("gzip < people.csv | evergraph import DB - --label Person", "Person", 2, 0),
        (
            "evergraph import DB --nodes Person=<(cat people.csv) --edges KNOWS=<(cat knows.csv)",
            "Person",
            2,
            1,
        ),
        ("cat knows.csv | evergraph import DB people.csv -", "people", 2, 1),
        ("cat typed.csv | evergraph import DB -", "Vertex", 1, 0),
        ("cat g.json | evergraph import DB -", "person", 1, 0),
        ("cat m.mtx | evergraph import DB -", "Vertex", 2, 1),
        ("cat roads.gr | evergraph import DB -", "Vertex", 2, 1),
        ("printf '7 8\\n8 9\\n' | evergraph import DB -", "Vertex", 3, 2),
    ]
    .into_iter()
    .enumerate()
    {
        let database = format!("{at}.eg");
        folder.shell(&line.replace("DB", &database)).succeeded();
        assert_eq!(counts(&database), (label.to_owned(), vertices, edges), "{line}");
    }
    let words = folder.shell("cat words.txt | evergraph import x.eg -");
    words.failed(2, &["standard input:1: ", "\"one\""]);
    folder.shell("evergraph import x.eg - - < people.csv").failed(2, &["standard input: is named twice"]);
    folder
        .shell("cat people.csv | evergraph import x.eg - --delimiter ';'")
        .failed(2, &["with ',' there are 3"]);
    assert!(!folder.path("x.eg").exists());
}

#[test]
fn a_list_of_edges_says_what_it_was_taken_for_and_what_was_there_before() {
    let folder = Folder::new();
    folder.write("net.csv", "source,target,weight\nAda,Eve,0.5\nEve,Bob,1\n");
    let text = folder.run(&["import", "a.eg", "net.csv", "--label", "Person"]).succeeded().out;
    assert!(
        text.contains("net.csv: guessed: edges from column source to column target, properties weight"),
        "{text}"
    );
    assert!(text.contains("created 3 vertices of label Person for edges that name them"), "{text}");
    let again = folder.json(&["import", "a.eg", "net.csv", "--label", "Person"]);
    assert_eq!((&again["vertices_count"], &again["edges_count"]), (&json!(0), &json!(2)));
    let notes = again["notes"].to_string();
    assert!(
        notes.contains("type net: 2 edges were there before, and 2 are added; if they are the same ones"),
        "{notes}"
    );
    folder.write("lives.csv", "Adam,Waterloo\nEve,Toronto\n");
    let vertices = |first_line: &[&str], database: &str| {
        let report = folder.json(&[&["import", database, "lives.csv"], first_line].concat());
        (report["vertices_count"].as_u64().unwrap(), report["notes"][0].as_str().unwrap().to_owned())
    };
    let (count, note) = vertices(&[], "b.eg");
    assert_eq!(count, 2, "no row is lost");
    assert!(note.contains("(--first-line header takes it for their names)"), "{note}");
    assert!(
        note.contains("it may hold edges from column c1 to column c2: --edges TYPE=FILE reads it so"),
        "{note}"
    );
    assert_eq!(vertices(&["--first-line", "header"], "c.eg").0, 1);
    let edges = folder.json(&["import", "d.eg", "--edges", "LIVES_IN=lives.csv"]);
    assert_eq!((&edges["vertices_count"], &edges["edges_count"]), (&json!(4), &json!(2)));
}

#[test]
fn a_summary_names_ten_files_without_a_rule_and_counts_the_others() {
    let folder = Folder::new();
    (10..25).for_each(|at| folder.write(&format!("notes{at}.md"), "x"));
    folder.write("a.e", "1 2\n");
    let text = folder.run(&["import", "a.eg", "."]).succeeded().out;
    assert!(text.contains("left out 15 files of unknown format:\n  ./notes10.md\n"), "{text}");
    assert!(text.contains("  ./notes19.md\n  and 5 more (--json lists all)\n"), "{text}");
    let report = folder.json(&["import", "b.eg", "."]);
    assert_eq!(report["ignored_files"].as_array().unwrap().len(), 15, "the database a.eg is no file");
}

#[test]
fn a_proposal_knows_the_database_that_is_named_before_the_files() {
    let folder = Folder::with_social();
    folder.write("likes.csv", "from,to\n1,2\n");
    let mapping = folder.run(&["import", "--propose", "social.eg", "likes.csv"]).succeeded().out;
    assert!(mapping.contains("start = { column = \"from\", space = \"Person\" }"), "{mapping}");
    assert!(!mapping.contains("TO BE COMPLETED"), "{mapping}");
    folder.run(&["import", "social.eg", "likes.csv"]).succeeded();
    folder.run(&["check", "social.eg"]).succeeded();
}

#[test]
fn bad_rows_are_left_out_if_they_may_be_and_told() {
    let folder = Folder::new();
    folder.write("a.e", "1 2\n2 x\n2 3\n3\n");
    folder.write("notes.md", "not a graph");
    let report = folder.json(&["import", "a.eg", ".", "--on-error", "skip", "--report", "bad.csv"]);
    assert_eq!(report["edges_count"], 2);
    assert_eq!((&report["bad_rows"]["count"], &report["bad_rows"]["report"]), (&json!(2), &json!("bad.csv")));
    let first = report["bad_rows"]["first"].as_array().unwrap();
    assert!(first.len() == 2 && first[0].as_str().unwrap().contains("a.e:2: "), "{first:?}");
    assert_eq!(report["ignored_files"], json!(["./notes.md"]));
    let bad_rows = folder.read("bad.csv");
    assert!(bad_rows.starts_with("file,line,column,name,reason,row\n./a.e,2,2,target,"), "{bad_rows}");
    assert!(bad_rows.ends_with("1 found between blanks or tabs\",3\n"), "{bad_rows}");

    let text = folder.run(&["import", "b.eg", "a.e", "--on-error", "skip"]).succeeded().out;
    assert!(
        text.contains("left out 2 bad rows (--report FILE keeps them):\n  a.e:2: column 2 (target): "),
        "{text}"
    );
    let stopped = folder.run(&["import", "c.eg", "a.e", "--max-bad", "1", "--report", "bad.csv"]);
    stopped.failed(2, &["a.e:4: ", "bad row 2; at most 1 bad row"]);
    assert_eq!(folder.read("bad.csv").lines().count(), 3);
    assert!(!folder.path("c.eg").exists());
}

#[test]
fn a_proposed_mapping_is_printed_and_imports_what_it_says() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/people.csv", "id,name,born\n1,Ada,1815\n2,Mary,1780\n");
    folder.write("data/knows.csv", "from,to\n1,2\n2,1\n");
    let mapping = folder.run(&["import", "--propose", "data"]).succeeded().out;
    assert!(mapping.contains("path = \"people.csv\"\nlabel = \"people\"\n"), "{mapping}");
    let mapping = mapping.replace("label = \"people\"", "label = \"Person\"");
    let mapping = mapping.replace("type = \"knows\"", "type = \"KNOWS\"\nundirected = true");
    folder.write("data/mapping.toml", mapping.replace("space = \"people\"", "space = \"Person\""));
    let report = folder.json(&["import", "a.eg", "--mapping", "data/mapping.toml"]);
    assert_eq!(report["labels"], json!([{"label": "Person", "vertices": 2}]));
    let types = json!([{"type": "KNOWS", "source_label": "Person", "target_label": "Person", "edges": 1}]);
    assert_eq!(report["edge_types"], types);
    assert_eq!(report["settled"]["repeated_pairs"], 1);
    assert_eq!(report["guessed_files"], json!([]));
    let report = folder.json(&["import", "b.eg", "data"]);
    assert_eq!(report["guessed_files"], json!(["data/knows.csv", "data/people.csv"]));
    folder.write("data/mapping.toml", "[[file]]\npath = 'people.csv'\nlable = 'x'\n");
    let refused = folder.run(&["import", "c.eg", "data", "--mapping", "data/mapping.toml"]);
    refused.failed(2, &["data/mapping.toml:3: unknown field `lable`, expected one of `path`"]);
}

#[test]
fn graphson_is_imported_and_what_it_loses_is_told() {
    let folder = Folder::new();
    let ada = r#"{"id":1,"label":"P","outE":{"knows":[{"id":7,"inV":"b"}]},"properties":{"n":[{"id":0,"value":"a","properties":{"x":1}}]}}"#;
    let bob = r#"{"id":"b","label":"P","inE":{"knows":[{"id":7,"outV":1}]}}"#;
    folder.write("g.json", format!("{ada}\n{bob}\n"));
    let report = folder.json(&["import", "a.eg", "g.json", "--vertex-id", "key", "--edge-id", "key"]);
    assert_eq!(report["labels"], json!([{"label": "P", "vertices": 2}]));
    let left_out = "g.json: 1 property of a property was left out";
    let mixed = "property key of label P has values of several types: its type is any";
    assert_eq!(report["notes"], json!([left_out, mixed]));
    let shown = folder.run(&["import", "b.eg", "g.json"]).succeeded().out;
    assert!(shown.contains(left_out), "{shown}");
    folder.write(
        "lost.json",
        format!("{ada}\n{bob}\n{{\"id\":3,\"inE\":{{\"knows\":[{{\"id\":8,\"outV\":1}}]}}}}\n"),
    );
    let refused = folder.run(&["import", "c.eg", "lost.json"]);
    refused.failed(2, &["lost.json: outE and inE list different edges (1 and 2): the file is incomplete"]);
}

#[test]
fn files_are_named_as_neo4j_admin_names_them() {
    let folder = Folder::new();
    folder.write("header.csv", "id:ID(P)|name\n");
    folder.write("a.csv", "1|Ada\n");
    folder.write("b.csv", "2|NULL\n3|Eve\n");
    folder.write("knows.csv", ":START_ID(P),:END_ID(P)\n1,2\n2,9\n");
    let files = ["--nodes", "Person=header.csv,a.csv,b.csv", "--edges", "KNOWS=knows.csv", "--null", "NULL"];
    let create = [&["import", "a.eg"], &files[..], &["--on-unknown", "create"]].concat();
    let text = folder.run(&create).succeeded().out;
    assert!(text.contains("created 1 vertex of label Person for edges that name them\n"), "{text}");
    let stats = folder.json(&["stats", "a.eg"]);
    assert_eq!((&stats["vertices_count"], &stats["edges_count"]), (&json!(4), &json!(2)));
    folder.run(&["import", "b.eg", "b.csv", "--header", "header.csv", "--label", "Person"]).succeeded();
    assert_eq!(folder.json(&["stats", "b.eg"])["labels"][0]["label"], "Person");
    folder.run(&["import", "c.eg", "b.csv", "--header", "heder.csv"]).failed(3, &["heder.csv"]);
}

#[test]
fn searches_begin_at_keys_or_numbers_and_say_where_there_is_no_path() {
    let folder = Folder::new();
    folder.write("a.e", "10 20 1\n20 30 1\n40 10 7\n");
    folder.run(&["import", "a.eg", "a.e"]).succeeded();
    let rows = |arguments: &[&str]| {
        let run = [&["run", "a.eg"], arguments, &["--output", "-"]].concat();
        folder.run(&run).succeeded().out
    };
    let levels = "key,value\n10,0\n20,1\n30,2\n40,9223372036854775807\n";
    assert_eq!(rows(&["bfs", "--source", "10"]), levels);
    assert_eq!(rows(&["bfs", "--source-vertex", "0"]), levels);
    assert_eq!(
        rows(&["bfs", "--source", "10", "--direction", "both"]),
        "key,value\n10,0\n20,1\n30,2\n40,1\n"
    );
    assert_eq!(
        rows(&["sssp", "--source", "10", "--direction", "in"]),
        "key,value\n10,0.0\n20,infinity\n30,infinity\n40,7.0\n"
    );
    assert_eq!(rows(&["wcc"]), "key,value\n10,0\n20,0\n30,0\n40,0\n");
    let found = folder.json(&["run", "a.eg", "bfs", "--source", "10"]);
    let want = json!({"direction": "out", "source_vertex": 0, "reached": 3, "depth": 2});
    assert_eq!(found["outcome"], want);
}

#[test]
fn a_run_sees_the_labels_and_types_that_it_is_told() {
    let folder = Folder::with_social();
    folder.write("city.csv", "id:ID(City),:LABEL\n1,City\n");
    folder.write("person.csv", "id:ID(Person),:LABEL\n1,Person\n2,Person\n");
    folder.write("lives.csv", ":START_ID(Person),:END_ID(City),:TYPE\n1,1,LIVES_IN\n");
    folder.run(&["import", "b.eg", "person.csv", "city.csv", "lives.csv"]).succeeded();
    let all = folder.run(&["run", "b.eg", "wcc", "--output", "-"]).succeeded().out;
    // Keys of two labels are alike: the label stands before them.
    let mut rows: Vec<&str> = all.lines().collect();
    assert_eq!(rows.remove(0), "label,key,value");
    rows.sort_unstable();
    assert_eq!(
        rows.iter().map(|row| row.rsplit_once(',').unwrap().0).collect::<Vec<_>>(),
        ["City,1", "Person,1", "Person,2"]
    );
    let people = folder.json(&["run", "b.eg", "pagerank", "--label", "Person"]);
    assert_eq!((&people["vertices"], &people["edges"]), (&json!(2), &json!(0)));
    let all = folder.json(&["run", "b.eg", "pagerank", "--type", "LIVES_IN"]);
    assert_eq!((&all["vertices"], &all["edges"]), (&json!(3), &json!(1)));
    folder
        .run(&["run", "b.eg", "bfs", "--source", "1"])
        .failed(2, &["2 labels", "City", "Person", "--label"]);
    folder.run(&["run", "b.eg", "bfs", "--source", "1", "--label", "City"]).succeeded();
}

#[test]
fn a_run_sees_what_was_committed_since_the_import() {
    let folder = Folder::with_social();
    let database = Database::open(folder.path("social.eg")).unwrap();
    let add = |tx: &mut Transaction| {
        let grace = tx.add_vertex("Person", &[("id", "4".into())])?;
        let ada = tx.find("Person", "id", "1")?.expect("imported");
        tx.add_edge(grace, "KNOWS", ada, &[])
    };
    database.transact(add).unwrap();
    database.close().unwrap();
    drop(database);
    let found = folder.json(&["run", "social.eg", "bfs", "--source", "4"]);
    assert_eq!((&found["vertices"], &found["edges"]), (&json!(4), &json!(4)));
    assert_eq!(found["outcome"]["reached"], 4);
    assert_eq!(found["fresh_share"], 0.25);
    folder.run(&["checkpoint", "social.eg"]).succeeded();
    let found = folder.json(&["run", "social.eg", "bfs", "--source", "4"]);
    assert_eq!((&found["edges"], &found["fresh_share"]), (&json!(4), &json!(0.0)));
}

#[test]
fn the_number_of_threads_changes_no_answer() {
    let folder = Folder::with_bank();
    let ranks = |threads: &str| {
        folder.run(&["run", "bank.eg", "pagerank", "--output", "-", "--threads", threads]).succeeded().out
    };
    let one = ranks("1");
    assert_eq!(one.lines().count(), 1001);
    assert_eq!(ranks("3"), one);
}

#[test]
fn a_generated_graph_is_the_same_in_files_and_in_a_database() {
    let folder = Folder::with_bank();
    let size = ["--accounts", "1000", "--transfers", "5000", "--rings", "5"];
    let report = folder.json(&[&["generate", "payments", "--out", "files"], &size[..]].concat());
    let files = json!(["files/Account.csv", "files/TRANSFER.csv", "files/rings.json"]);
    assert_eq!(report["files"], files);
    let rings: Value = serde_json::from_str(&folder.read("files/rings.json")).unwrap();
    assert_eq!(rings.as_array().unwrap().len(), 5);
    assert!((3..=6).contains(&rings[0]["accounts"].as_array().unwrap().len()));
    folder.run(&["import", "again.eg", "files"]).succeeded();
    for arguments in [&["stats"][..], &["run", "pagerank"]] {
        let of = |database: &str| {
            let command = [&arguments[..1], &[database], &arguments[1..]].concat();
            let mut report = folder.json(&command);
            ["database", "disk", "seconds", "memory"].iter().for_each(|key| drop(report[*key].take()));
            report
        };
        assert_eq!(of("again.eg"), of("bank.eg"), "{arguments:?}");
    }

    folder.run(&["generate", "rmat", "--out", "r", "--scale", "8", "--seed", "5"]).succeeded();
    let report = folder.json(&["import", "r.eg", "r/rmat.v", "r/rmat.e"]);
    assert_eq!((&report["vertices_count"], &report["edges_count"]), (&json!(256), &json!(4096)));
    folder.run(&["generate", "rmat", "s.eg", "--scale", "8", "--seed", "5"]).succeeded();
    let ranks = |name: &str| folder.run(&["run", name, "pagerank", "--output", "-"]).succeeded().out;
    assert_eq!(ranks("r.eg"), ranks("s.eg"));
}

#[test]
fn a_generated_graph_replaces_files_only_when_asked() {
    let folder = Folder::new();
    let generate = ["generate", "rmat", "--out", "r", "--scale", "4"];
    folder.run(&generate).succeeded();
    let first = folder.read("r/rmat.e");
    let other = [&generate[..], &["--seed", "2"]].concat();
    folder.run(&other).failed(2, &["r already exists", "(--overwrite)"]);
    assert_eq!(folder.read("r/rmat.e"), first);
    folder.run(&[&other[..], &["--overwrite"]].concat()).succeeded();
    assert!(folder.read("r/rmat.e") != first);
    let refused = ["generate", "payments", "--out", "p", "--accounts", "1"];
    folder.run(&refused).failed(2, &["must be at least 1000"]);
    assert!(!folder.path("p").exists());
}

#[test]
fn a_checkpoint_is_told_and_leaves_the_graph_as_it_was() {
    let folder = Folder::with_social();
    let before = folder.json(&["stats", "social.eg"]);
    let report = folder.json(&["checkpoint", "social.eg"]);
    assert_eq!(report["covered_through"], before["timestamp"]);
    let text = folder.run(&["checkpoint", "social.eg"]).succeeded().out;
    assert!(text.starts_with("social.eg: checkpoint through commit 1 in "), "{text}");
    assert_eq!(folder.json(&["stats", "social.eg"])["labels"], before["labels"]);
}
