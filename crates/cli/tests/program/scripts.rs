//! `evergraph shell` without a terminal: statements from the call, from files and from standard input.

use crate::support::{Folder, Ran, program, send};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Runs the shell with a `-c` for each statement.
fn say(folder: &Folder, statements: &[&str]) -> Ran {
    say_with(folder, &[], statements)
}

fn say_with(folder: &Folder, options: &[&str], statements: &[&str]) -> Ran {
    let said = statements.iter().flat_map(|statement| ["-c", statement]);
    folder.run(
        &["shell", "social.eg"].into_iter().chain(options.iter().copied()).chain(said).collect::<Vec<_>>(),
    )
}

fn script(folder: &Folder, text: &str) -> Ran {
    folder.run_on(text, &["shell", "social.eg"])
}

/// A shell that is spoken to while it runs.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Talk {
    fn with(folder: &Folder) -> Self {
        let mut program = program();
        program.args(["shell", "social.eg", "--memory", "64GiB"]).current_dir(folder.root());
        let mut child =
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    fn say(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn statements_come_from_the_call_a_file_or_standard_input() {
    let folder = Folder::with_social();
    let text = "// how many\ng.V().count(); g.E()\n  .count()\n\ng.V().has('name', 'Ada').out(\n  'KNOWS')";
    folder.write("ask.groovy", text);
    let wanted = "3\n3\nPerson[2]\n";
    assert_eq!(folder.run(&["shell", "social.eg", "-f", "ask.groovy"]).succeeded().out, wanted);
    assert_eq!(script(&folder, text).succeeded().out, wanted);
    assert_eq!(folder.run_on(text, &["shell", "social.eg", "-f", "-"]).succeeded().out, wanted);
    let parts = ["g.V().count(); g.E().count()", "g.V().has('name', 'Ada').out()"];
    assert_eq!(say(&folder, &parts).succeeded().out, wanted);
    let silent = script(&folder, "\n// nothing\n").succeeded();
    assert_eq!((&*silent.out, &*silent.err), ("", ""), "nobody is asked for anything");
    folder.run(&["shell", "social.eg", "-f", "none.groovy"]).failed(3, &["read none.groovy: "]);
    folder.run(&["shell", "none.eg", "-c", "g.V()"]).failed(3, &["there is no database at none.eg"]);
    folder
        .run(&["shell", "social.eg", "-f", "ask.groovy", "-c", "g.V()"])
        .failed(2, &["cannot be used with"]);
}

#[test]
fn an_error_ends_a_script_and_is_told_by_line_and_column() {
    let folder = Folder::with_social();
    folder.write("wrong.groovy", "g.V().count()\ng.E().count(); g.V()\n  .otu()\ng.addV('Person')\n");
    let ran = folder.run(&["shell", "social.eg", "-f", "wrong.groovy"]);
    let told = "error: wrong.groovy: line 3, column 4: no step is called `otu`; did you mean `out`?\n\
                \x20   .otu()\n     ^^^\n";
    assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(2), "3\n3\n", told));
    let ran = script(&folder, "g.V().count(); g.E(.id()\n");
    let told = "error: standard input: line 1, column 20: ";
    assert!(ran.code == Some(2) && ran.err.starts_with(told), "{ran:?}");
    let ran = script(&folder, "\n\ng.V().values('name').sum()\n");
    assert!(ran.err.starts_with("error: standard input, line 3: ") && ran.err.contains("number"), "{ran:?}");
    let ran = script(&folder, ":explain g.V()\n  .otu()\n");
    assert!(ran.err.contains("line 2, column 4: no step"), "{ran:?}");
    let ran = script(&folder, "g.V().count()\n:bind year [1, soon]\n");
    assert!(ran.err.contains("line 2, column 16: `soon` is not a value"), "{ran:?}");
    say(&folder, &[":expain g.V()"]).failed(2, &["there is no command :expain; did you mean :explain?"]);
    let document: Value =
        serde_json::from_str(&say_with(&folder, &["--json"], &["g.V().otu()"]).err).unwrap();
    assert_eq!(document["error"]["kind"], "invalid");
    assert!(document["error"]["message"].as_str().unwrap().starts_with("line 1, column 7: no step"));
    folder.write("bytes.groovy", b"g.V()\ng.V('\xff')\n");
    let ran = folder.run(&["shell", "social.eg", "-f", "bytes.groovy"]);
    assert!(ran.err.contains("bytes.groovy: line 2 is not UTF-8 text: byte 5"), "{ran:?}");
    assert_eq!(say(&folder, &["g.V().count()"]).succeeded().out, "3\n", "nothing behind an error was run");
}

#[test]
fn a_script_may_go_on_after_errors_and_says_the_first_in_its_exit_code() {
    let folder = Folder::with_social();
    let walks = "g.V().repeat(both()).times(60).path().count()";
    // What is quick has time on a busy machine, too.
    let text = format!(":set timeout 200ms\n{walks}\ng.V().otu()\n:set timeout 5min\ng.V().count()\n");
    let ran = folder.run_on(&text, &["shell", "social.eg", "--keep-going"]);
    assert_eq!((ran.code, &*ran.out), (Some(6), "3\n"), "{ran:?}");
    let errors: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 2 && errors[0].contains("line 2: ") && errors[1].contains("line 3, "), "{ran:?}");
    assert_eq!(script(&folder, &text).code, Some(6));
}

#[test]
fn a_transaction_lives_across_statements() {
    let folder = Folder::with_social();
    let add = |id: u32| format!("g.addV('Person').property('id', '{id}')\n");
    let count = "g.V().count()\n";
    let text = format!(":begin\n{}{}{count}:rollback\n{count}", add(4), add(5));
    assert_eq!(script(&folder, &text).succeeded().out, "Person[4]\nPerson[5]\n5\n3\n");
    let text = format!(":begin serializable;{}\n:commit\n{count}", add(4).trim());
    assert_eq!(
        script(&folder, &format!(":begin serializable\n{}:commit\n{count}", add(4))).succeeded().out,
        "Person[4]\n4\n"
    );
    assert_eq!(script(&folder, &text).code, Some(2), "a command ends with its line");
    // Names that came with the transaction are known in it.
    let text =
        ":begin\ng.addV('City').property('name', 'Rome')\ng.V().hasLabel('City').valueMap('name')\n:quit\n";
    let ran = script(&folder, text).succeeded();
    assert!(ran.out.starts_with("City[v4096]\n") && ran.out.contains("[\"Rome\"]"), "{ran:?}");
    assert_eq!(say(&folder, &[count]).succeeded().out, "4\n", "who quits rolls back");
    for (text, told) in [
        (":commit", "no transaction is open: :begin"),
        (":rollback", "no transaction is open: :begin"),
        (":begin\n:begin", "a transaction is open already"),
    ] {
        script(&folder, text).failed(2, &[told]);
    }
    let ran = script(&folder, &format!(":begin\n{}", add(5)));
    assert!(ran.code == Some(2) && ran.err.contains("ends within a transaction, which was rolled back"));
    assert_eq!(say(&folder, &[count]).succeeded().out, "4\n");
    folder.run(&["check", "social.eg"]).succeeded();
}

#[test]
fn a_query_that_fails_while_it_writes_leaves_only_a_rollback() {
    let folder = Folder::with_social();
    let twice = "g.inject('5', '1').as('k').addV('Person').property('id', select('k'))";
    let after = "g.addV('Person').property('id', '6')";
    let text = format!(":begin\n{twice}\n{after}\n:commit\n:rollback\ng.V().count()\n");
    let ran = folder.run_on(&text, &["shell", "social.eg", "--keep-going"]);
    assert_eq!((ran.code, &*ran.out), (Some(2), "3\n"), "{ran:?}");
    let errors: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 3 && errors[0].contains("Person.id"), "{ran:?}");
    assert!(errors[1..].iter().all(|error| error.contains("cannot continue: :rollback ends it")), "{ran:?}");
    // One that is no query, or only reads, leaves the transaction as it was.
    let text = format!(":begin\n{after}\ng.V().otu()\ng.V().values('name').sum()\n:commit\ng.V().count()\n");
    let ran = folder.run_on(&text, &["shell", "social.eg", "--keep-going"]);
    assert_eq!((ran.code, &*ran.out), (Some(2), "Person[6]\n4\n"), "{ran:?}");
}

#[test]
fn more_results_than_are_wanted_are_counted() {
    let folder = Folder::with_social();
    let people = "g.V().order().by('name').values('name')";
    let ran = say_with(&folder, &["--rows", "2"], &[people]).succeeded();
    assert_eq!(
        (&*ran.out, &*ran.err),
        ("Ada\nCharles\n", "... and 1 more: :rows N or :rows all shows them\n")
    );
    let tables = "g.V().order().by('name').project('name').by('name')";
    let ran =
        say(&folder, &[":rows 1", tables, ":begin", people, ":rows all", people, ":rollback"]).succeeded();
    assert_eq!(ran.out, "name\n────\nAda\nAda\nAda\nCharles\nMary\n");
    assert_eq!(ran.err.matches("... and 2 more").count(), 2, "{ran:?}");
    say(&folder, &[":rows some"]).failed(2, &[":set rows: expected a number or all"]);
    let timed = say(&folder, &[":set timing on", people, "g.addV('Pet')"]).succeeded();
    let told: Vec<&str> = timed.err.lines().collect();
    assert!(told[0].starts_with("3 results in ") && told[1].ends_with(", committed"), "{timed:?}");
}

#[test]
fn results_are_json_and_commands_answer_in_it() {
    let folder = Folder::with_social();
    let ran =
        say_with(&folder, &["--json"], &["g.V().count()", ":set json off", "g.V().limit(1)"]).succeeded();
    assert_eq!(ran.out, "3\nPerson[1]\n");
    let document = |statement| -> Value {
        serde_json::from_str(&say_with(&folder, &["--json"], &[statement]).succeeded().out).unwrap()
    };
    let schema = document(":schema");
    assert_eq!((&schema["labels"][0]["vertices"], &schema["edge_types"][0]["edges"]), (&json!(3), &json!(3)));
    assert_eq!(schema["indexes"][0]["key"], "id");
    assert_eq!(document(":explain g.V().has('Person', 'id', '1')")["steps"][0]["index"], "Person.id");
    let settings = json!({"timeout_seconds": null, "memory_bytes": 1 << 30, "rows": null, "json": true,
                          "timing": false, "isolation": "snapshot", "strict": false});
    assert_eq!(document(":set"), settings);
    assert_eq!(document(":bind"), json!({"variables": {}}));
}

#[test]
fn commands_show_the_schema_plans_settings_and_help() {
    let folder = Folder::with_social();
    let out = |statement: &str| say(&folder, &[statement]).succeeded().out;
    let schema = out(":schema");
    for words in ["Person         3", "KNOWS      3  Person -> Person", "Person.id", "unique", "hash"] {
        assert!(schema.contains(words), "{words:?} isn't in {schema}");
    }
    assert!(out(":explain g.V().has('Person', 'id', '1').out()").contains("Person.id"));
    assert!(out(":profile g.V().out().count()").contains("traversers"));
    assert!(out(":help").contains(":begin [ISOLATION]") && out(":help out").starts_with("out(string...)\n"));
    say(&folder, &[":help otu"]).failed(2, &["did you mean `out`?"]);
    let born = "g.V().has('born', lt(year)).values('name')";
    let ran = say_with(&folder, &["--bind", "year=1790"], &[born, ":bind year = 1800", born, ":bind"]);
    assert_eq!(
        ran.succeeded().out,
        "Mary\nCharles\nMary\nvariable  value\n───────────────\nyear      1800\n"
    );
    let set =
        say_with(&folder, &["--timeout", "2s", "--serializable"], &[":set rows 7", ":set"]).succeeded().out;
    for line in ["timeout    2.0 s", "rows       7", "isolation  serializable", "memory     1.0 GiB"] {
        assert!(set.lines().any(|found| found == line), "{line:?} isn't in {set}");
    }
    // An explanation writes nothing, a profile what the query does.
    let add = "g.addV('Person').property('id', '4')";
    say(&folder, &[&format!(":explain {add}"), &format!(":profile {add}")]).succeeded();
    assert_eq!(out("g.V().count()"), "4\n");
}

#[test]
fn settings_come_from_files_and_what_is_asked_does_not() {
    let folder = Folder::with_social();
    folder.write("evergraph.toml", "[shell]\nrows = 1\ntimeout = \"30s\"\n");
    assert_eq!(say(&folder, &["g.V().values('name')"]).succeeded().out, "Ada\n");
    let said = [("EVERGRAPH_SHELL_COMMAND", "g.E()"), ("EVERGRAPH_SHELL_KEEP_GOING", "true")];
    let ran = folder.run_with(&said, &["shell", "social.eg", "-c", "g.otu()", "-c", "g.V()"]);
    assert_eq!((ran.code, &*ran.out), (Some(2), ""));
}

#[test]
fn who_writes_to_it_hears_the_answer_to_each_query_and_has_the_database_alone() {
    let folder = Folder::with_social();
    let mut talk = Talk::with(&folder);
    talk.say("g.V().count();");
    talk.say("\n");
    assert_eq!(talk.hear(), "3\n");
    let busy = folder.run(&["shell", "social.eg", "-c", "g.V().count()"]);
    busy.failed(8, &["social.eg", &format!("process {}", talk.child.id())]);
    talk.say("g.addV('Person').property('id', '4');\n");
    assert_eq!(talk.hear(), "Person[4]\n");
    let Talk { mut child, input, .. } = talk;
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(say(&folder, &["g.V().count()"]).succeeded().out, "4\n");
}

#[test]
fn an_interrupted_script_ends() {
    let folder = Folder::with_social();
    let mut talk = Talk::with(&folder);
    talk.say("g.V().count(); g.V().repeat(both()).times(60).path().count(); g.addV('Person');\n");
    assert_eq!(talk.hear(), "3\n");
    sleep(Duration::from_millis(300));
    let asked = Instant::now();
    send("-INT", &talk.child);
    let Talk { child, input, .. } = talk;
    let ran = Ran::of(child.wait_with_output().unwrap());
    drop(input);
    ran.failed(130, &["cancelled"]);
    assert!(asked.elapsed() < Duration::from_secs(60));
    assert_eq!(say(&folder, &["g.V().count()"]).succeeded().out, "3\n");
}

#[test]
fn a_reader_may_have_enough() {
    let folder = Folder::with_social();
    let line =
        "evergraph shell social.eg -c 'g.V().repeat(both()).emit().times(60).path()' --json | head -n 2";
    let ran = folder.shell(line);
    assert_eq!((ran.code, ran.out.lines().count(), &*ran.err), (Some(0), 2, ""));
}
