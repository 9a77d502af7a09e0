//! Commands that read a database while another process has it open to write, and what is said of those that read.

use crate::support::{Folder, Ran, eventually, program, send};
use evergraph::{Database, EngineKind, GraphView as _, Options};
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// This process has `people.eg` open to write, with three people in it.
fn written(folder: &Folder, engine: EngineKind) -> Database {
    let options = Options { engine: Some(engine), ..Options::default() };
    let database = Database::open_with(folder.path("people.eg"), &options).unwrap();
    for name in ["Ada", "Charles", "Mary"] {
        database.transact(|tx| tx.add_vertex("Person", &[("name", name.into())])).unwrap();
    }
    database.gremlin("g.V().as('a').V().addE('KNOWS').from('a')").run().unwrap();
    database
}

/// A shell that waits for the next statement.
struct Shell {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut shell = program();
        shell.arg("shell").args(arguments).current_dir(folder.root());
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    /// Runs a query; the one line that it prints.
    fn line(&mut self, query: &str) -> String {
        // A query that has no `;` ends with the beginning of the next line.
        writeln!(self.input.as_mut().unwrap(), "{query};").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn commands_that_read_do_so_beside_a_writer_and_say_so() {
    let folder = Folder::new();
    let database = written(&folder, EngineKind::Mapped);
    let note = format!("people.eg is open in process {}: reading what it commits\n", std::process::id());
    let count = ["query", "people.eg", "g.V().count()"];
    let ran = folder.run(&count).succeeded();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("3\n", note.as_str()));
    database.transact(|tx| tx.add_vertex("Person", &[("name", "Grace".into())])).unwrap();
    let ran = folder.run(&[&count[..], &["--quiet"]].concat()).succeeded();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("4\n", ""));
    let ran = folder.run(&[&count[..], &["--read-only"]].concat()).succeeded();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("4\n", ""), "it was asked for");

    let found = folder.run(&["query", "people.eg", "g.V().has('Person', 'name', 'Ada').out().count()", "-q"]);
    assert_eq!(found.succeeded().out, "3\n");
    let stats = folder.json(&["stats", "people.eg"]);
    assert_eq!((&stats["vertices_count"], &stats["edges_count"]), (&json!(4), &json!(9)));
    assert_eq!((&stats["checkpoint"], &stats["engine"]["name"]), (&Value::Null, &json!("mapped")));
    assert!(stats["disk"]["log_bytes"].as_u64().unwrap() > 0, "{stats}");
    assert_eq!((&stats["mapped"], &stats["memory"]["topology_bytes"]), (&Value::Null, &json!(0)), "{stats}");
    assert_eq!(stats["memory"]["total_bytes"], 0, "what is not merged yet is in the writer's memory");
    let text = folder.run(&["stats", "people.eg"]).succeeded().out;
    assert!(text.contains("; mapped engine") && text.contains("opened to be read only"), "{text}");
    database.create_unique_index("Person", "name").unwrap();
    let indexes = folder.json(&["index", "list", "people.eg"]);
    assert_eq!(
        (&indexes["indexes"][0]["owner"], &indexes["indexes"][0]["key"]),
        (&json!("Person"), &json!("name"))
    );
    let ranks = folder.json(&["run", "people.eg", "pagerank"]);
    assert_eq!(ranks["vertices"], 4);
    folder.run(&["run", "people.eg", "pagerank", "--read-only", "--output", "ranks.csv"]).succeeded();
    assert_eq!(folder.read("ranks.csv").lines().count(), 5);
    folder.run(&["export", "people.eg", "--output", "people.json"]).succeeded();
    assert_eq!(folder.read("people.json").lines().count(), 4);
    let shell = folder.run(&["shell", "people.eg", "-c", "g.E().count()", "-c", ":schema"]).succeeded();
    assert!(shell.out.starts_with("9\n") && shell.out.contains("KNOWS"), "{shell:?}");
}

#[test]
fn what_writes_is_refused_beside_a_writer_whichever_way_it_comes() {
    let folder = Folder::new();
    let database = written(&folder, EngineKind::Mapped);
    let pid = std::process::id().to_string();
    let process = format!("in process {pid}");
    for (code, arguments) in [
        (8, &["query", "people.eg", "g.addV('Person')", "-q"][..]),
        (8, &["query", "people.eg", "g.V().hasLabel('Nobody').drop()", "-q"]),
        (8, &["query", "people.eg", "g.V().drop()", "--profile", "-q"]),
        (2, &["query", "people.eg", "g.V().drop()", "--profile", "--read-only"]),
        (2, &["query", "people.eg", "g.addV(", "-q"]),
        (8, &["shell", "people.eg", "-q", "-c", "g.addV('Person')"]),
        (8, &["shell", "people.eg", "-q", "-c", ":begin", "-c", "g.addV('Person')"]),
        (2, &["shell", "people.eg", "-q", "--read-only", "-c", "g.addV('Person')"]),
        (8, &["checkpoint", "people.eg"]),
        (8, &["index", "create", "people.eg", "Person", "name"]),
        (8, &["backup", "people.eg", "copy.eg"]),
        (8, &["check", "people.eg"]),
        (8, &["serve", "people.eg", "--listen", "127.0.0.1:0"]),
    ] {
        let ran = folder.run(arguments);
        // A text that is no query says nothing of a process.
        let names_it = !arguments.contains(&"g.addV(");
        assert_eq!((ran.code, ran.err.contains(&process)), (Some(code), names_it), "{arguments:?} {ran:?}");
    }
    let refused = folder.run(&["query", "people.eg", "g.addV('Person')", "-q"]);
    refused.failed(8, &["change it through that process, or close it there and run this command again"]);
    let served = folder.run(&["serve", "people.eg", "--listen", "127.0.0.1:0"]);
    assert!(served.err.contains("`eg.open(path, read_only=True)` read"), "{served:?}");
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 3);
    folder
        .run(&["query", "ws://localhost", "g.V()", "--read-only"])
        .failed(2, &["--read-only is about a folder"]);
}

#[test]
fn other_engines_are_busy_and_say_what_helps() {
    for engine in [EngineKind::Memory, EngineKind::Disk] {
        let folder = Folder::new();
        let database = written(&folder, engine);
        let pid = format!("process {}", std::process::id());
        let helps = ["evergraph serve", "evergraph convert people.eg NEW --engine mapped"];
        for command in [&["stats", "people.eg"][..], &["query", "people.eg", "g.V()"]] {
            folder.run(command).failed(8, &[&pid, helps[0], helps[1]]);
        }
        let asked = folder.run(&["stats", "people.eg", "--read-only"]);
        asked.failed(2, &[engine.name(), "--engine mapped"]);
        let text = folder.run(&["readers", "people.eg"]).succeeded().out;
        assert!(text.contains(&pid) && text.contains("one process at a time"), "{text}");
        database.close().unwrap();
        folder.run(&["query", "people.eg", "g.V().count()"]).succeeded();
    }
}

#[test]
fn a_writer_that_is_killed_leaves_its_commits_to_readers() {
    let folder = Folder::new();
    drop(written(&folder, EngineKind::Mapped));
    let mut writer = Shell::start(&folder, &["people.eg"]);
    assert_eq!(writer.line("g.addV('Person').count()"), "1");
    let mut reader = Shell::start(&folder, &["people.eg", "--read-only"]);
    assert_eq!(reader.line("g.V().count()"), "4");
    assert_eq!(writer.line("g.addV('Person').count()"), "1");
    assert_eq!(reader.line("g.V().count()"), "5");
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    assert_eq!(reader.line("g.V().count()"), "5");
    // Nobody writes: who looks may write, and reads what the killed one committed.
    assert_eq!(folder.run(&["query", "people.eg", "g.addV('Person').count()"]).succeeded().out, "1\n");
    assert_eq!(reader.line("g.V().count()"), "6", "a command that came and went is not seen");
    let mut next = Shell::start(&folder, &["people.eg"]);
    assert_eq!(next.line("g.addV('Person').count()"), "1");
    assert_eq!(reader.line("g.V().count()"), "7");
}

/// No command lives long enough to be joined.
#[test]
fn commands_that_come_and_go_between_two_queries_are_seen() {
    let folder = Folder::new();
    drop(written(&folder, EngineKind::Mapped));
    let mut by_itself = Shell::start(&folder, &["people.eg", "--read-only"]);
    assert_eq!(by_itself.line("g.V().count()"), "3");
    let mut writer = Shell::start(&folder, &["people.eg"]);
    let mut joined = Shell::start(&folder, &["people.eg", "--read-only"]);
    assert_eq!([&mut by_itself, &mut joined].map(|reader| reader.line("g.V().count()")), ["3", "3"]);
    drop(writer.input.take());
    assert!(writer.child.wait().unwrap().success());
    for count in 4..7 {
        folder.run(&["query", "people.eg", "g.addV('Person')"]).succeeded();
        let seen = [&mut by_itself, &mut joined].map(|reader| reader.line("g.V().count()"));
        assert_eq!(seen, [count.to_string(), count.to_string()]);
        folder.run(&["checkpoint", "people.eg"]).succeeded();
    }
    let shared = |name: &str| name == "live" || name.starts_with("reader-");
    let names = DiskDirectory::open(folder.path("people.eg")).unwrap().list().unwrap();
    assert!(
        !names.iter().any(|name| shared(name)),
        "a process without a snapshot holds something: {names:?}"
    );
}

/// A salvage holds the lock, and leaves no id there, since it changes nothing.
#[test]
fn a_writer_that_was_killed_is_named_by_nobody() {
    let folder = Folder::new();
    drop(written(&folder, EngineKind::Mapped));
    let mut writer = Shell::start(&folder, &["people.eg"]);
    assert_eq!(writer.line("g.addV('Person').count()"), "1");
    let killed = writer.child.id().to_string();
    writer.child.kill().unwrap();
    writer.child.wait().unwrap();
    let directory = DiskDirectory::open(folder.path("people.eg")).unwrap();
    let _salvage = directory.lock_unchanged("lock").unwrap().unwrap();
    let add = ["query", "people.eg", "g.addV('Person')", "--read-only"];
    let refused = folder.run(&add).failed(2, &["open it to be written"]);
    assert!(!refused.err.contains(&killed), "{refused:?}");
    let refused = folder.run(&["checkpoint", "people.eg"]).failed(8, &["is open in another process"]);
    assert!(!refused.err.contains(&killed), "{refused:?}");
}

#[test]
fn readers_are_listed_with_what_they_hold_back() {
    let folder = Folder::new();
    let database = written(&folder, EngineKind::Mapped);
    let mut readers = [(); 2].map(|()| Shell::start(&folder, &["people.eg", "--read-only"]));
    assert_eq!(readers.each_mut().map(|reader| reader.line("g.V().count()")), ["3", "3"]);
    assert_eq!(readers[0].line(":begin\ng.V().count()"), "3");
    let began = database.snapshot().timestamp().0;
    database.transact(|tx| tx.add_vertex("Person", &[])).unwrap();

    let found = folder.json(&["readers", "people.eg"]);
    assert_eq!(found["writer"], std::process::id());
    assert_eq!(found["timestamp"], began + 1);
    let of = |reader: &Shell, found: &Value| {
        let all = found["readers"].as_array().unwrap();
        all.iter().find(|entry| entry["process"] == reader.child.id()).cloned().unwrap_or_default()
    };
    let [holding, idle] = readers.each_ref().map(|reader| of(reader, &found));
    assert_eq!((&holding["joined"], &holding["snapshots"]), (&json!(true), &json!(1)), "{found}");
    assert_eq!(holding["oldest_snapshot"], began);
    assert!(holding["oldest_snapshot_seconds"].is_u64(), "{found}");
    assert_eq!(idle["retained_bytes"], 0, "{found}");
    assert_eq!((&idle["snapshots"], &idle["oldest_snapshot"]), (&json!(0), &Value::Null), "{found}");
    let text = folder.run(&["readers", "people.eg"]).succeeded().out;
    assert!(text.contains("1 commit since") && text.contains("nothing"), "{text}");
    let are_retained = || {
        // More than fits into the tail that the snapshot reads. After commits the writer frees what it can.
        let added = database.transact(|tx| (0..100).try_for_each(|_| tx.add_vertex("Person", &[]).map(drop)));
        added.unwrap();
        let found = folder.json(&["readers", "people.eg"]);
        assert_eq!(of(&readers[1], &found)["retained_bytes"], 0, "{found}");
        of(&readers[0], &found)["retained_bytes"].as_u64().unwrap() > 0
    };
    eventually("the writer keeps what the snapshot needs", are_retained);

    if std::path::Path::new("/proc/self/stat").exists() {
        send("-STOP", &readers[0].child);
        let is_stopped =
            |reader: &Shell| of(reader, &folder.json(&["readers", "people.eg"]))["stopped"] == true;
        eventually("it is stopped", || is_stopped(&readers[0]));
        assert!(!is_stopped(&readers[1]));
        assert_eq!(of(&readers[0], &folder.json(&["readers", "people.eg"]))["snapshots"], 1, "it keeps it");
    }
    readers[0].child.kill().unwrap();
    readers[0].child.wait().unwrap();
    drop(readers[1].input.take());
    let ended = readers[1].child.wait().unwrap();
    assert!(ended.success());
    eventually("both have gone", || folder.json(&["readers", "people.eg"])["readers"] == json!([]));
    drop(database);
    // A process that another test starts has the files of this one for a moment.
    let nobody = "people.eg: no process has it open to write\nno process has it open to read\n";
    eventually("nobody has it", || folder.run(&["readers", "people.eg"]).succeeded().out == nobody);
    folder.run(&["readers", "none.eg"]).failed(3, &["none.eg"]);
    let ran: Ran = folder.run(&["readers", "ws://localhost"]);
    ran.failed(2, &["the folder"]);
}

/// Whoever may write `live` and the folder reads a database of the mapped engine; `lock` is the writers'.
#[test]
fn who_may_not_write_the_lock_reads() {
    let folder = Folder::new();
    drop(written(&folder, EngineKind::Mapped));
    let lock = folder.path("people.eg/lock");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o444)).unwrap();
    if fs::File::options().write(true).open(&lock).is_ok() {
        // The user of this test may write everything.
        return;
    }
    let ran = folder.run(&["query", "people.eg", "g.V().count()"]).succeeded();
    assert_eq!(ran.out, "3\n");
    assert!(ran.err.contains("no permission to write it; reading only"), "{ran:?}");
    folder
        .run(&["query", "people.eg", "g.addV('Person')", "-q"])
        .failed(7, &["people.eg/lock", "is only read"]);
    folder.run(&["checkpoint", "people.eg"]).failed(7, &["people.eg/lock", "write access"]);
}
