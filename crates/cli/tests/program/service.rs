//! Service: `serve` as a service manager runs it: options in a settings file, logs, signals, and how it ends.

use crate::support::{Folder, Ran, program};
use crate::web_socket::{Received, WebSocket};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long something may take that is waited for.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A server that runs; it is killed if a test fails.
struct Service {
    child: Option<Child>,
    out: BufReader<ChildStdout>,
    address: String,
}

impl Service {
    /// Starts it with `arguments` behind `serve social.eg`, and waits until it says where it listens.
    fn start(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = program()
            .args(["serve", "social.eg"])
            .args(arguments)
            .envs(variables.iter().copied())
            .current_dir(folder.root())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let address = first.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let service = Self { address: address.to_owned(), child: Some(child), out };
        assert!(!service.address.is_empty(), "{:?}", service.end());
        service
    }

    fn signal(&self, signal: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Waits for its end; what it printed since it listens.
    fn end(mut self) -> Ran {
        let mut child = self.child.take().unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        child.stderr.take().unwrap().read_to_end(&mut err).unwrap();
        self.out.read_to_end(&mut out).unwrap();
        Ran::of(Output { status: child.wait().unwrap(), stdout: out, stderr: err })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A log in JSON, by line.
fn records(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

/// The only record with this message.
fn record<'a>(records: &'a [Value], message: &str) -> &'a Value {
    let mut found = records.iter().filter(|record| record["message"] == message);
    let first = found.next().unwrap_or_else(|| panic!("no {message:?}: {records:#?}"));
    assert!(found.next().is_none(), "two of {message:?}");
    first
}

#[test]
fn all_options_may_be_in_a_settings_file_and_files_are_beside_it() {
    let folder = Folder::with_social();
    folder.shell("mkdir etc").succeeded();
    folder.run_on("correct horse\n", &["user", "add", "etc/users.json", "ann"]).succeeded();
    let settings = "[serve]\nlisten = '127.0.0.1:0'\nusers = 'users.json'\naudit-log = 'audit.log'\n\
        idle-timeout = '10min'\nconnections = 7\nlog-format = 'json'\nslow-query-time = 'off'\n";
    folder.write("etc/evergraph.toml", settings);
    let named = ["--config", "etc/evergraph.toml"];
    let printed = folder.json(&[&["serve", "social.eg", "--print-config"], &named[..]].concat());
    let rows = printed["settings"].as_array().unwrap();
    let value = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap()["value"].clone();
    assert_eq!(value("serve.users"), "etc/users.json");
    assert_eq!(value("serve.audit-log"), "etc/audit.log");
    assert_eq!(value("serve.connections"), 7);
    assert_eq!((value("serve.idle-timeout"), value("serve.slow-query-time")), (json!("10min"), json!("off")));
    assert_eq!((value("serve.stop-grace"), value("serve.tls-key")), (json!("5s"), Value::Null));
    let service = Service::start(&folder, &named, &[]);
    service.signal("-TERM");
    let ended = service.end().succeeded();
    let listening = records(&ended.err).into_iter().find(|record| record["message"] == "listening").unwrap();
    assert_eq!(listening["users"], true);
    assert!(folder.read("etc/audit.log").contains(r#""outcome":"started""#));
    // A name from the root on is what it says; a variable is relative to where the program runs.
    let absolute = folder.path("etc/users.json").display().to_string();
    folder.write("other.toml", format!("[serve]\nusers = '{absolute}'\n"));
    let command = ["serve", "social.eg", "--print-config", "--json", "--config", "other.toml"];
    let ran = folder.run_with(&[("EVERGRAPH_SERVE_AUDIT_LOG", "a.log")], &command).succeeded();
    assert!(ran.out.contains(&format!("{absolute:?}")) && ran.out.contains("\"a.log\""), "{}", ran.out);
}

#[test]
fn half_of_what_tls_needs_is_an_error_wherever_it_is_said() {
    let folder = Folder::with_social();
    for (settings, arguments, words) in [
        ("tls-certificate = 'cert.pem'", &[][..], ["--tls-certificate", "--tls-key"]),
        ("tls-key = 'key.pem'", &[], ["--tls-key", "--tls-certificate"]),
        ("client-certificates = 'roots.pem'", &[], ["--client-certificates", "--tls-certificate"]),
        ("", &["--tls-certificate", "cert.pem"], ["--tls-certificate", "--tls-key"]),
    ] {
        folder.write("evergraph.toml", format!("[serve]\nlisten = '127.0.0.1:0'\n{settings}\n"));
        folder.run(&[&["serve", "social.eg"], arguments].concat()).failed(2, &words);
    }
    folder.write("evergraph.toml", "[serve]\nlog-level = 'loud'\n");
    folder.run(&["serve", "social.eg"]).failed(2, &["evergraph.toml:2", "error, warn, info"]);
    folder.write("evergraph.toml", "[run]\noutput = 'a.csv'\n");
    folder.run(&["run", "social.eg", "pagerank"]).failed(2, &["no setting run.output"]);
}

#[test]
fn a_server_logs_its_life_and_slow_queries_without_values() {
    let folder = Folder::with_social();
    let arguments = ["--listen", "127.0.0.1:0", "--log-format", "json", "--slow-query-time", "0ms"];
    let service = Service::start(&folder, &arguments, &[]);
    let mut client = WebSocket::connect(&service.address);
    assert_eq!(client.ask("g.addV('Person').property('id', 'secret')", None), 200);
    service.signal("-TERM");
    assert!(matches!(client.receive(), Received::Closed(1001)));
    let ended = service.end().succeeded();
    let records = records(&ended.err);
    assert!(!ended.err.contains("secret"), "{}", ended.err);
    for record in &records {
        assert!(record["time"].is_string() && record["level"].is_string(), "{record}");
        assert!(record["target"].as_str().unwrap().starts_with("evergraph::"), "{record}");
    }
    let slow = record(&records, "slow query");
    assert_eq!((&slow["query"], &slow["rows"]), (&json!("g.addV(?).property(?, ?)"), &json!(1)));
    let order = ["opened", "listening", "slow query", "stopped", "closed"].map(|message| {
        let at = |record: &Value| record["message"].as_str() == Some(message);
        records.iter().position(at).unwrap_or_else(|| panic!("no {message}: {records:#?}"))
    });
    assert!(order.is_sorted(), "{order:?}: {records:#?}");
    let text = Service::start(&folder, &["--listen", "127.0.0.1:0", "--log-level", "warn"], &[]);
    text.signal("-TERM");
    assert_eq!(text.end().succeeded().err, "");
    let mut quiet = program()
        .args(["serve", "social.eg", "--listen", "127.0.0.1:0", "--quiet"])
        .current_dir(folder.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(quiet.stderr.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.contains("listening")));
    assert!(Command::new("kill").args(["-TERM", &quiet.id().to_string()]).status().unwrap().success());
    let mut out = String::new();
    quiet.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!((quiet.wait().unwrap().code(), out.as_str()), (Some(0), ""));
}

#[test]
fn a_stop_finishes_rolls_back_closes_and_leaves_nothing_to_replay() {
    let folder = Folder::with_social();
    let service = Service::start(&folder, &["--listen", "127.0.0.1:0"], &[]);
    let mut client = WebSocket::connect(&service.address);
    let add = |id: &str| format!("g.addV('Person').property('id', '{id}')");
    for id in 10..20 {
        assert_eq!(client.ask(&add(&id.to_string()), None), 200);
    }
    let mut open = WebSocket::connect(&service.address);
    assert_eq!(open.ask(&add("open"), Some("a")), 200);
    // What has been sent is finished.
    let mut running = WebSocket::connect(&service.address);
    running.send("g.V().V().V().V().V().count()", None);
    service.signal("-TERM");
    match running.receive() {
        Received::Response(response) => assert_eq!(response["status"]["code"], 200),
        // It had not been read yet when the server stopped.
        Received::Closed(code) => assert_eq!(code, 1001),
        Received::Gone => panic!("no word"),
    }
    assert!(matches!(client.receive(), Received::Closed(1001)));
    assert!(matches!(open.receive(), Received::Closed(1001)));
    service.end().succeeded();
    let stats = folder.json(&["stats", "social.eg"]);
    assert_eq!(stats["checkpoint"]["commits_since"], 0, "{stats:#}");
    let count = folder.run(&["query", "social.eg", "g.V().count()"]).succeeded().out;
    assert_eq!(count.trim(), "13", "ten were committed, and one was rolled back");
}

#[test]
fn a_second_signal_ends_at_once_and_loses_nothing() {
    let folder = Folder::with_social();
    for signal in ["-TERM", "-INT"] {
        let grace = ["--listen", "127.0.0.1:0", "--stop-grace", "30min", "--timeout", "30min"];
        let service = Service::start(&folder, &[&grace[..], &["--log-format", "json"]].concat(), &[]);
        let mut client = WebSocket::connect(&service.address);
        assert_eq!(client.ask(&format!("g.addV('Person').property('id', '{signal}')"), None), 200);
        // It ends never, for all that its client reads.
        let mut running = WebSocket::connect(&service.address);
        running.send(&format!("g{}.constant('{}')", ".V()".repeat(11), "x".repeat(1000)), None);
        assert!(matches!(running.receive(), Received::Response(_)));
        service.signal("-TERM");
        // Until the first one has arrived: two that wait at the same time are one.
        let began = Instant::now();
        while client.ask("g.V().limit(0)", None) != 596 {
            assert!(began.elapsed() < TIME_MAX);
        }
        service.signal(signal);
        let began = Instant::now();
        let ended = service.end();
        assert_eq!(ended.code, Some(130), "{ended:?}");
        assert!(began.elapsed() < TIME_MAX);
        let query = format!("g.V().has('Person', 'id', '{signal}').count()");
        assert_eq!(folder.run(&["query", "social.eg", &query]).succeeded().out.trim(), "1");
    }
    folder.run(&["check", "social.eg"]).succeeded();
}

/// A socket in place of systemd's.
struct Manager(UnixDatagram);

impl Manager {
    fn at(folder: &Folder) -> Self {
        let socket = UnixDatagram::bind(folder.path("notify")).unwrap();
        socket.set_read_timeout(Some(TIME_MAX)).unwrap();
        Self(socket)
    }

    /// The next message that has `word` in it; others, but for signs of life and states, must not come before.
    fn expect(&self, word: &str) -> String {
        let began = Instant::now();
        loop {
            let mut bytes = [0; 4096];
            let length = self.0.recv(&mut bytes).unwrap_or_else(|error| panic!("{word}: {error}"));
            let message = String::from_utf8(bytes[..length].to_vec()).unwrap();
            if message.lines().any(|line| line.starts_with(word)) {
                return message;
            }
            let is_other = message.lines().all(|line| line.starts_with("STATUS=") || line == "WATCHDOG=1");
            assert!(is_other && began.elapsed() < TIME_MAX, "{message} in place of {word}");
        }
    }
}

#[test]
fn the_service_manager_hears_of_each_state() {
    let folder = Folder::with_social();
    let manager = Manager::at(&folder);
    let socket = folder.path("notify").display().to_string();
    let variables = [("NOTIFY_SOCKET", socket.as_str()), ("WATCHDOG_USEC", "200000")];
    let service = Service::start(&folder, &["--listen", "127.0.0.1:0"], &variables);
    let ready = manager.expect("READY=1");
    assert!(ready.contains(&format!("STATUS=serving at ws://{}/gremlin", service.address)), "{ready}");
    for _ in 0..3 {
        manager.expect("WATCHDOG=1");
    }
    service.signal("-HUP");
    let reloading = manager.expect("RELOADING=1");
    let now = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).unwrap();
    assert!(now.parse::<u64>().unwrap() > 0, "{reloading}");
    manager.expect("READY=1");
    service.signal("-TERM");
    manager.expect("STOPPING=1");
    service.end().succeeded();
    // Without a watchdog there are no signs of life, and a socket that is gone stops nothing.
    let service = Service::start(&folder, &["--listen", "127.0.0.1:0"], &variables[..1]);
    manager.expect("READY=1");
    drop(manager);
    std::fs::remove_file(&socket).unwrap();
    sleep(Duration::from_millis(300));
    service.signal("-TERM");
    let ended = service.end().succeeded();
    assert!(ended.err.contains("tell the service manager"), "{}", ended.err);
}
