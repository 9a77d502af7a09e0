//! A server that is killed while a job of it runs, or whose disk is full: its database is whole, and nothing of the job is
//! left.

use crate::bank::evergraph;
use crate::file_system::in_file_system;
use crate::moments::{Moments, cycles, engines, timed};
use evergraph::EngineKind;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PEOPLE: u64 = 20_000;
/// More than fits into what files have free within them.
const CROWD: u64 = 5 * PEOPLE;

/// A server of the databases in `root`, which is killed with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// In a folder with `in`, that imports read.
    fn start(folder: &Path, root: &Path) -> Self {
        let mut command = evergraph(&["serve", "--listen", "127.0.0.1:0", "--import-folder", "in", "--root"]);
        command.arg(root).args(["--memory-limit", "512MiB"]).current_dir(folder).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        // Else what it says later would end it.
        thread::spawn(move || out.read_to_end(&mut Vec::new()));
        let address = first.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no address: {first}")).to_owned();
        Self { child, address }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The status and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        // It may be refused before all of it is sent.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
        (status, body)
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", path, b"");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    #[track_caller]
    fn start_job(&self, request: &Value) -> String {
        let (status, job) = self.ask("POST", "/databases/social/jobs", request.to_string().as_bytes());
        assert_eq!(status, 202, "{request}: {job}");
        job["id"].as_str().unwrap().to_owned()
    }

    /// The job, once it has ended.
    fn job(&self, request: &Value) -> Value {
        let path = format!("/jobs/{}", self.start_job(request));
        let began = Instant::now();
        loop {
            let job = self.get(&path);
            if !job["endedAt"].is_null() {
                return job;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{job}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The number that a query gives.
    #[track_caller]
    fn number(&self, query: &str) -> u64 {
        let (status, answer) = self.ask("POST", "/gremlin", json!({"gremlin": query}).to_string().as_bytes());
        assert_eq!(status, 200, "{query}: {answer}");
        answer["result"]["data"]["@value"][0]["@value"].as_u64().unwrap()
    }

    /// Holds that the database is whole.
    #[track_caller]
    fn verify(&self) {
        let job = self.job(&json!({"kind": "check"}));
        assert_eq!((&job["state"], &job["result"]["healthy"]), (&json!("done"), &json!(true)), "{job}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes `in` with people who know each other in a ring, and an empty `root`.
fn fill(folder: &Path) {
    fs::create_dir(folder.join("in")).unwrap();
    for (name, count) in [("people", PEOPLE), ("crowd", CROWD)] {
        let (mut people, mut knows) = (String::from("id:ID,name\n"), String::from(":START_ID,:END_ID\n"));
        for person in 0..count {
            writeln!(people, "{person},the name of {person}").unwrap();
            writeln!(knows, "{person},{}", (person * 7 + 1) % count).unwrap();
        }
        fs::write(folder.join(format!("in/{name}.csv")), people).unwrap();
        fs::write(folder.join(format!("in/{name}_knows.csv")), knows).unwrap();
    }
}

/// An import of all people, under labels of its own.
fn import(number: u64) -> Value {
    import_of("people", &number.to_string())
}

/// The same of the files called `name`, with `end` behind label and type.
fn import_of(name: &str, end: &str) -> Value {
    let people = json!({"path": format!("{name}.csv"), "holds": "vertices", "label": format!("Person{end}")});
    let knows = json!({"path": format!("{name}_knows.csv"), "holds": "edges", "type": format!("KNOWS{end}")});
    json!({"kind": "import", "from": [people, knows]})
}

fn create(server: &Server, engine: EngineKind) {
    let made = json!({"engine": engine.name()}).to_string();
    let (status, answer) = server.ask("PUT", "/databases/social", made.as_bytes());
    assert_eq!(status, 201, "{answer}");
}

/// How many uploads, and folders of jobs, lie in the spool.
fn spooled(root: &Path) -> usize {
    ["uploads", "jobs"]
        .map(|kind| fs::read_dir(root.join(".evergraph-spool").join(kind)).unwrap().count())
        .iter()
        .sum()
}

#[test]
fn a_server_that_is_killed_within_jobs_has_whole_databases_and_an_empty_spool() {
    engines().into_iter().for_each(kill_within_jobs);
}

fn kill_within_jobs(engine: EngineKind) {
    let (folder, mut moments) = (tempfile::tempdir().unwrap(), Moments::new());
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    fill(folder.path());
    let mut server = Server::start(folder.path(), &root);
    create(&server, engine);
    let (mut kills_within, mut spooled_max, cycles) = (0, 0, cycles(12));
    let mut takes = Duration::from_millis(600);
    for cycle in 0..cycles {
        let request = match cycle % 3 {
            0 => import(cycle),
            1 => json!({"kind": "backup", "check": true}),
            _ => json!({"kind": "export", "format": "csv"}),
        };
        // Files of a client that is amid an upload, and those of a job.
        let (_, upload) = server.ask("POST", "/databases/social/uploads", b"");
        let mut sending = TcpStream::connect(&server.address).unwrap();
        write!(
            sending,
            "PUT /uploads/{}/people.csv HTTP/1.1\r\nHost: {}\r\nContent-Length: 1000000\r\n\r\nhalf a file",
            upload["id"].as_str().unwrap(),
            server.address
        )
        .unwrap();
        let path = format!("/jobs/{}", server.start_job(&request));
        thread::sleep(moments.within(takes));
        kills_within += u64::from(server.get(&path)["endedAt"].is_null());
        server.kill();
        spooled_max = spooled_max.max(spooled(&root));
        server = Server::start(folder.path(), &root);
        assert_eq!(spooled(&root), 0, "a server that starts sweeps its spool");
        assert_eq!(server.get("/jobs"), json!({"jobs": []}));
        if cycle % 3 == 0 {
            let count = |server: &Server| {
                let [people, knows] = [
                    server.number(&format!("g.V().hasLabel('Person{cycle}').count()")),
                    server.number(&format!("g.E().hasLabel('KNOWS{cycle}').count()")),
                ];
                assert_eq!(people, knows, "an import is there whole or not at all");
                people
            };
            let found = count(&server);
            assert!(matches!(found, 0 | PEOPLE), "an import is there whole or not at all: {found}");
            if found == 0 {
                let (job, took) = timed(|| server.job(&request));
                assert_eq!(job["state"], "done", "{job}");
                assert_eq!(count(&server), PEOPLE);
                takes = took;
            }
        }
        server.verify();
    }
    assert!(spooled_max > 0, "no kill left anything to sweep");
    println!("{engine}: {cycles} kills, {kills_within} of them within a job");
}

const FULL: &str = "server_jobs::a_job_on_a_full_disk_says_so_and_leaves_nothing";

#[test]
fn a_job_on_a_full_disk_says_so_and_leaves_nothing() {
    in_file_system(FULL, "tmpfs -o size=64m", |full| {
        engines().into_iter().for_each(|engine| run_on_full_disk(engine, full));
    });
}

fn run_on_full_disk(engine: EngineKind, full: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir_in(full).unwrap();
    fill(folder.path());
    let server = Server::start(folder.path(), root.path());
    create(&server, engine);
    assert_eq!(server.job(&import(0))["state"], "done");
    let ballast = full.join("ballast");
    fill_disk(&ballast);
    // Files of clients.
    let (_, upload) = server.ask("POST", "/databases/social/uploads", b"");
    let path = format!("/uploads/{}/people.csv", upload["id"].as_str().unwrap());
    let (status, answer) = server.ask("PUT", &path, &vec![b'a'; 2 << 20]);
    assert_eq!((status, &answer["error"]["kind"]), (507, &json!("limit")), "{answer}");
    for request in
        [json!({"kind": "export", "format": "csv"}), json!({"kind": "backup"}), import_of("crowd", "s")]
    {
        let job = server.job(&request);
        assert_eq!((&job["state"], &job["error"]["kind"]), (&json!("failed"), &json!("limit")), "{job}");
        assert_eq!(server.number("g.V().count()"), PEOPLE, "readers read on");
        println!("{engine}: {}", job["error"]["message"]);
    }
    assert_eq!(server.ask("DELETE", &format!("/uploads/{}", upload["id"].as_str().unwrap()), b"").0, 204);
    let began = Instant::now();
    while spooled(root.path()) > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is left of files that did not fit");
        thread::sleep(Duration::from_millis(5));
    }
    // Room again: if the import met the full disk while it was written, the database is opened again.
    fs::remove_file(&ballast).unwrap();
    for change in ["close", "open"] {
        let (status, answer) = server.ask("POST", &format!("/databases/social/{change}"), b"");
        assert!(status == 200 || change == "close", "{answer}");
    }
    server.verify();
    assert_eq!(server.number("g.V().count()"), PEOPLE, "nothing of the import is there");
    let job = server.job(&import_of("people", "s"));
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(server.number("g.V().count()"), 2 * PEOPLE);
}

/// Leaves little room.
fn fill_disk(ballast: &Path) {
    let mut file = File::create(ballast).unwrap();
    let part = vec![7; 64 << 10];
    let mut length = 0_u64;
    loop {
        match file.write(&part) {
            Ok(count) => length += count as u64,
            Err(error) if error.kind() == ErrorKind::StorageFull => break,
            Err(error) => panic!("{error}"),
        }
    }
    file.set_len(length - (128 << 10)).unwrap();
}
