//! `evergraph query`: Gremlin asked, written, explained, refused.

use crate::support::{Folder, Ran, program, send, shell, wait_until_it_catches_signals};
use serde_json::{Value, json};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

fn query(folder: &Folder, rest: &[&str]) -> Ran {
    folder.run(&[&["query", "social.eg"], rest].concat())
}

/// The documents that `--json` prints, one a line.
fn documents(folder: &Folder, rest: &[&str]) -> Vec<Value> {
    let out = query(folder, &[rest, &["--json"]].concat()).succeeded().out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_result_is_a_line_and_maps_of_the_same_keys_are_a_table() {
    let folder = Folder::with_social();
    let out = |text: &str| query(&folder, &[text]).succeeded().out;
    assert_eq!(out("g.V().has('name', 'Ada').out('KNOWS')"), "Person[2]\n");
    assert_eq!(out("g.E().has('since', 1833)"), "Person[1]-KNOWS->Person[2]\n");
    assert_eq!(out("g.V().has('name', 'Ada').out().values('name').fold()"), "[\"Charles\"]\n");
    assert_eq!(out("g.V().has('name', 'Ada').out().path()"), "[Person[1], Person[2]]\n");
    let table = out("g.V().project('name', 'age').by('name').by('born')");
    assert_eq!(table, "name      age\n─────────────\nAda      1815\nCharles  1791\nMary     1780\n");
    assert_eq!(out("g.V().hasLabel('Nobody')"), "");
}

#[test]
fn json_is_a_document_a_result_with_the_keys_of_vertices() {
    let folder = Folder::with_social();
    let [ada, charles] =
        [(0, "1"), (1, "2")].map(|(vertex, key)| json!({"vertex": vertex, "label": "Person", "key": key}));
    let found = documents(&folder, &["g.V().has('name', within('Ada', 'Charles')).order().by('name')"]);
    assert_eq!(found, [ada.clone(), charles.clone()]);
    let edge = json!({"edge": "0-0-1-0", "type": "KNOWS", "source": ada, "target": charles});
    assert_eq!(documents(&folder, &["g.V().has('name', 'Ada').outE()"]), [edge]);
    let map = json!({"T.id": 0, "T.label": "Person", "born": 1815, "id": "1", "name": "Ada"});
    assert_eq!(documents(&folder, &["g.V().has('name', 'Ada').elementMap()"]), [map]);
    let property = json!({"property": "born", "value": 1815});
    assert_eq!(documents(&folder, &["g.V().has('name', 'Ada').properties('born')"]), [property]);
    let values = documents(
        &folder,
        &["g.inject(1, 0.5, 'a', true, null, [1, 2], UUID('f47af10b-58cc-4372-a567-0f02b2f3d479'))"],
    );
    assert_eq!(
        json!(values),
        json!([1, 0.5, "a", true, null, [1, 2], "f47af10b-58cc-4372-a567-0f02b2f3d479"])
    );
    assert_eq!(documents(&folder, &["g.V().hasLabel('Nobody')"]), Vec::<Value>::new());
}

#[test]
fn variables_are_written_as_in_gremlin() {
    let folder = Folder::with_social();
    let born = "g.V().has('born', lt(year)).values('name')";
    assert_eq!(query(&folder, &[born, "--bind", "year=1790"]).succeeded().out, "Mary\n");
    let named = ["g.V().has('name', within(names)).values('born')", "--bind", "names=['Ada', \"Mary\"]"];
    assert_eq!(query(&folder, &named).succeeded().out, "1815\n1780\n");
    // What is in a variable is data, whatever it looks like; the last of a name counts.
    let tricky = "name='Ada\\') = drop()'";
    let ran = query(&folder, &["g.V().has('name', name)", "--bind", "name=1", "--bind", tricky]).succeeded();
    assert_eq!(ran.out, "");
    query(&folder, &[born]).failed(2, &["line 1, column 22: no variable is called `year`"]);
    query(&folder, &[born, "--bind", "year"]).failed(2, &["--bind year: expected a name and a value"]);
    let wrong = query(&folder, &[born, "--bind", "year=[1790, soon]"]);
    wrong.failed(
        2,
        &["--bind year: line 1, column 8: `soon` is not a value", "\n  [1790, soon]\n         ^^^^\n"],
    );
    query(&folder, &[born, "--bind", "year=out()"]).failed(2, &["not a part of a query"]);
}

#[test]
fn a_wrong_query_is_shown_with_its_place() {
    let folder = Folder::with_social();
    let wrong = "error: line 2, column 2: no step is called `otu`; did you mean `out`?\n  .otu()\n   ^^^\n";
    let ran = query(&folder, &["g.V()\n.otu()"]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(2), "", wrong));
    let ran = query(&folder, &["g.V()\n.otu()", "--json"]);
    let document: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(document["error"]["kind"], "invalid");
    let message = document["error"]["message"].as_str().unwrap();
    assert_eq!(format!("error: {message}\n"), wrong);
    query(&folder, &["g.V().has('name', 'Ada').values('name').sum()"]).failed(2, &["a number is needed"]);
    query(&folder, &[]).failed(2, &["<TEXT>"]);
    folder.run(&["query", "none.eg", "g.V()"]).failed(3, &["none.eg"]);
}

#[test]
fn a_name_that_is_not_there_has_a_note_beside_the_results() {
    let folder = Folder::with_social();
    let text = "g.V().hasLabel('Persn').count()";
    let note = "line 1, column 16: no label is called `Persn`; did you mean `Person`?\n  g.V().hasLabel('Persn').count()\n                 ^^^^^^^\n";
    let ran = query(&folder, &[text]).succeeded();
    assert_eq!((&*ran.out, ran.err), ("0\n", format!("note: {note}")));
    assert_eq!(query(&folder, &[text, "--quiet"]).succeeded().err, "");
    let ran = query(&folder, &[text, "--strict"]);
    assert_eq!((ran.code, &*ran.out, ran.err), (Some(2), "", format!("error: {note}")));
    query(&folder, &["g.with('strict').V().out('KNOWZ')"])
        .failed(2, &["no edge type is called `KNOWZ`; did you mean `KNOWS`?"]);
    let explained = query(&folder, &[text, "--explain"]).succeeded();
    assert!(
        explained
            .out
            .ends_with("note: line 1, column 16: no label is called `Persn`; did you mean `Person`?\n"),
        "{}",
        explained.out
    );
    let explained = query(&folder, &[text, "--explain", "--json"]).succeeded();
    let document = documents_of(&explained);
    assert_eq!(
        document["notes"],
        json!(["line 1, column 16: no label is called `Persn`; did you mean `Person`?"])
    );
    assert_eq!(query(&folder, &["g.V().hasLabel('Person').count()"]).succeeded().err, "");
}

#[test]
fn a_text_that_ends_in_profile_or_explain_prints_the_plan() {
    let folder = Folder::with_social();
    let profiled = query(&folder, &["g.V().hasLabel('Person').count().profile()"]).succeeded().out;
    assert!(
        profiled.starts_with("step") && profiled.contains("traversers") && profiled.contains("count()"),
        "{profiled}"
    );
    let explained = query(&folder, &["g.addV('Person').explain()"]).succeeded().out;
    assert!(explained.starts_with("step") && explained.contains("addV("), "{explained}");
    assert_eq!(query(&folder, &["g.V().count()"]).succeeded().out, "3\n");
}

#[test]
fn a_query_in_another_language_is_told_apart() {
    let folder = Folder::with_social();
    query(&folder, &["MATCH (n:Person) RETURN n"])
        .failed(2, &["line 1, column 1: this is Cypher", "g.V().has('Person', 'name', 'Ada')"]);
    query(&folder, &["select * from person"]).failed(2, &["this is SQL", "g.V().hasLabel('Person')"]);
}

#[test]
fn what_is_written_is_committed_as_a_whole() {
    let folder = Folder::with_social();
    let add = "g.addV('Person').property('id', '4').property('name', 'Bob')";
    assert_eq!(query(&folder, &[add]).succeeded().out, "Person[4]\n");
    let connect = "g.V().has('id', '4').addE('KNOWS').to(__.V().has('id', '1'))";
    assert_eq!(query(&folder, &[connect, "--serializable"]).succeeded().out, "Person[4]-KNOWS->Person[1]\n");
    // The second vertex has the first one's key, so that neither is there.
    let twice = "g.inject('5', '5').as('k').addV('Person').property('id', select('k'))";
    query(&folder, &[twice]).failed(2, &["Person.id"]);
    assert_eq!(query(&folder, &["g.V().count()"]).succeeded().out, "4\n");
    assert_eq!(query(&folder, &["g.V().has('id', '4').drop()"]).succeeded().out, "");
    assert_eq!(query(&folder, &["g.E().count()"]).succeeded().out, "3\n");
    folder.run(&["check", "social.eg"]).succeeded();
}

#[test]
fn a_query_writes_and_reads_files() {
    let folder = Folder::with_social();
    assert_eq!(query(&folder, &["g.io('out.json').write()"]).succeeded().out, "");
    assert_eq!(folder.read("out.json").lines().count(), 3);
    query(&folder, &["g.io('out.json').write()"]).failed(2, &["out.json"]);
    // Everybody in it is there already: nobody is added.
    query(&folder, &["g.io('out.json').read()"]).failed(2, &["out.json"]);
    assert_eq!(query(&folder, &["g.V().count()"]).succeeded().out, "3\n");
    query(&folder, &["g.V().drop()"]).succeeded();
    query(&folder, &["g.io('out.json').read()"]).succeeded();
    assert_eq!(
        query(&folder, &["g.V().values('name').order().fold()"]).succeeded().out,
        "[\"Ada\", \"Charles\", \"Mary\"]\n"
    );
    query(&folder, &["g.io('none.json').read()"]).failed(3, &["none.json"]);
}

#[test]
fn a_plan_names_its_index_and_a_profile_what_was_done() {
    let folder = Folder::with_social();
    let text = "g.V().has('Person', 'id', '1').out('KNOWS').values('name')";
    let plan = query(&folder, &[text, "--explain"]).succeeded().out;
    let first = plan.lines().nth(1).unwrap();
    assert!(first.starts_with("V() where") && first.ends_with("Person.id"), "{plan}");
    assert!(!plan.contains("traversers"), "{plan}");
    let steps = &documents_of(&query(&folder, &[text, "--explain", "--json"]))["steps"];
    assert_eq!((&steps[0]["index"], &steps[0]["rows"]), (&json!("Person.id"), &Value::Null));
    let steps = &documents_of(&query(&folder, &[text, "--profile", "--json"]))["steps"];
    assert_eq!((&steps[0]["index"], &steps[0]["rows"]), (&json!("Person.id"), &json!(1)));
    assert!(steps[0]["seconds"].as_f64().unwrap() > 0.0, "{steps}");
    // An explanation writes nothing, a profile what the query does.
    let add = "g.addV('Person').property('id', '4')";
    query(&folder, &[add, "--explain"]).succeeded();
    assert_eq!(query(&folder, &["g.V().count()"]).succeeded().out, "3\n");
    let profile = query(&folder, &[add, "--profile"]).succeeded().out;
    let names: Vec<&str> = profile.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(names, ["step", "index", "rows", "traversers", "time"]);
    assert_eq!(query(&folder, &["g.V().count()"]).succeeded().out, "4\n");
    query(&folder, &[add, "--explain", "--profile"]).failed(2, &["cannot be used with"]);
}

fn documents_of(ran: &Ran) -> Value {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_query_comes_from_a_file_or_standard_input() {
    let folder = Folder::with_social();
    folder.write("count.groovy", "g.V()\n  .count()\n");
    assert_eq!(query(&folder, &["-f", "count.groovy"]).succeeded().out, "3\n");
    for input in [&["-"][..], &["-f", "-"]] {
        let ran = folder.run_on("g.E().count()", &[&["query", "social.eg"], input].concat());
        assert_eq!(ran.succeeded().out, "3\n");
    }
    query(&folder, &["-f", "none.groovy"]).failed(3, &["read none.groovy: "]);
    folder.write("broken.groovy", b"g.V('\xff')");
    query(&folder, &["-f", "broken.groovy"]).failed(2, &["broken.groovy is not UTF-8 text: byte 5"]);
    query(&folder, &["g.V()", "-f", "count.groovy"]).failed(2, &["cannot be used with"]);
}

/// Walks of a ring that nothing ends soon, and that keep their paths.
const LONG: &str = "g.V().repeat(both()).times(60).path().count()";

#[test]
fn limits_are_kept() {
    let folder = Folder::with_social();
    let began = Instant::now();
    query(&folder, &[LONG, "--timeout", "300ms"]).failed(6, &["timeout of 0.3 s"]);
    assert!(began.elapsed() < Duration::from_secs(60));
    let held = "g.V().repeat(both()).times(40).path().fold()";
    query(&folder, &[held, "--memory", "1MiB", "--timeout", "1min"]).failed(6, &["more than its 1.0 MiB"]);
    query(&folder, &[held, "--memory", "1"]).failed(2, &["--memory"]);
}

#[test]
fn what_came_before_an_error_is_printed_and_a_reader_may_have_enough() {
    let folder = Folder::with_social();
    let walks = "g.V().repeat(both()).emit().times(60).path()";
    let ran = query(&folder, &[walks, "--timeout", "1s"]);
    assert!(ran.code == Some(6) && ran.err.starts_with("error: the query took longer"), "{}", ran.err);
    assert!(
        ran.out.starts_with("[Person[1], Person[2]]\n") && ran.out.ends_with("]]\n"),
        "no walk is cut off"
    );
    let line = "evergraph query social.eg 'g.V().repeat(both()).emit().times(60).path()' --json | head -n 2";
    let ran = Ran::of(shell(line).current_dir(folder.root()).output().unwrap());
    assert_eq!((ran.code, ran.out.lines().count(), &*ran.err), (Some(0), 2, ""));
}

#[test]
fn an_interrupted_query_is_cancelled() {
    let folder = Folder::with_social();
    let child = program()
        .args(["query", "social.eg", LONG, "--memory", "64GiB"])
        .current_dir(folder.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until_it_catches_signals(&child);
    // In the midst of it, mostly.
    sleep(Duration::from_millis(300));
    let asked = Instant::now();
    send("-INT", &child);
    Ran::of(child.wait_with_output().unwrap()).failed(130, &["cancelled"]);
    assert!(asked.elapsed() < Duration::from_secs(60));
}

#[test]
fn limits_are_settings_and_what_a_query_is_about_is_none() {
    let folder = Folder::with_social();
    folder.write("evergraph.toml", "[query]\ntimeout = \"200ms\"\n");
    query(&folder, &[LONG]).failed(6, &["timeout of 0.2 s"]);
    let written = [("EVERGRAPH_QUERY_EXPLAIN", "true"), ("EVERGRAPH_QUERY_BIND", "x=1")];
    let ran = folder.run_with(&written, &["query", "social.eg", "g.V().count()"]).succeeded();
    assert_eq!(ran.out, "3\n");
}
