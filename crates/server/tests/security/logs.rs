//! Logs: records of slow queries hold no values, panics are reported with their place, and other crates say nothing.

use crate::support::secured_site::{NAME, PASSWORD, SecuredSite, hash};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Client, bytecode, eval, transaction, within};
use evergraph_protocol::request::operation::QueryOptions;
use evergraph_server::log::defects::report_panic;
use evergraph_server::log::format::LogFormat;
use evergraph_server::log::subscriber::{Log, LogOptions};
use evergraph_server::security::role::Role;
use serde_json::Value;
use std::io::{self, Write};
use std::panic;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// All that the process logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Those that `is_meant`, as text and as JSON.
    fn records(&self, is_meant: impl Fn(&Value) -> bool) -> Vec<(String, Value)> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let read = |line: &str| (line.to_owned(), serde_json::from_str::<Value>(line).unwrap());
        text.lines().map(read).filter(|(_, record)| is_meant(record)).collect()
    }
}

/// The log of this process, which there is once.
fn lines() -> &'static Lines {
    static LINES: OnceLock<(Lines, Log)> = OnceLock::new();
    let start = || {
        let (lines, mut options) = (Lines::default(), LogOptions::default());
        options.format = LogFormat::Json;
        let log = Log::start(options, Box::new(lines.clone())).unwrap();
        (lines, log)
    };
    &LINES.get_or_init(start).0
}

#[tokio::test]
async fn slow_queries_are_logged_without_values() {
    let lines = lines();
    let mut site = SecuredSite::new();
    site.options.slow_query_time = Some(Duration::ZERO);
    let user = "slow\nwriter";
    site.edit(|users| {
        users.add("slow", hash()).unwrap();
        users.grant("slow", NAME, Role::Writer).unwrap();
        assert!(users.add(user, hash()).is_err(), "no name has a line feed");
    });
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    let secret = "g.addV('Secret').property('secret', 'secret \\' ); g.V()').property('n', 4711)";
    let answer = client.ask_as("slow", PASSWORD, eval(secret, QueryOptions::default())).await;
    assert_eq!(answer.code, 200, "{}", answer.message);
    let query = "g.V().has('Secret', 'secret', P.neq('secret')).values('n').is(4711)";
    assert_eq!(client.ask(bytecode(query, within("session"))).await.code, 200);
    assert_eq!(client.ask(transaction("commit", "session")).await.code, 204);
    assert_eq!(client.eval("secret words that are no query").await.code, 597);
    assert_eq!(client.eval("g.inject('secret').fail('secret')").await.code, 595);
    let of_user = |record: &Value| record["user"] == "slow" && record["target"] == "evergraph::slow_query";
    eventually("five records are written", async || lines.records(of_user).len() == 5).await;
    server.stop();
    let records = lines.records(of_user);
    for (line, record) in &records {
        assert!(
            !line.contains("ecret") && !line.contains("4711"),
            "no value is in a record of a slow query: {line}"
        );
        assert_eq!((&record["database"], &record["address"]), (&NAME.into(), &"127.0.0.1".into()));
        for figure in ["time_ms", "waiting_ms", "rows", "bytes", "status"] {
            assert!(record[figure].is_u64(), "{figure}: {line}");
        }
        assert_eq!(record["request"].as_str().unwrap().len(), 36);
    }
    let mut told: Vec<(&str, u64, u64)> = records
        .iter()
        .map(|(_, record)| {
            let figure = |name: &str| record[name].as_u64().unwrap();
            (record["query"].as_str().unwrap(), figure("status"), figure("rows"))
        })
        .collect();
    // A record is written after its answer, by which time the next request may have ended.
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("? ? ? ? ? ?", 597, 0),
            ("g.V().has(?, ?, P.neq(?)).values(?).is(?)", 200, 1),
            ("g.addV(?).property(?, ?).property(?, ?)", 200, 1),
            ("g.inject(?).fail(?)", 595, 0),
            ("g.tx().commit()", 204, 0),
        ]
    );
}

#[tokio::test]
async fn fast_queries_are_not_logged() {
    let lines = lines();
    let mut site = SecuredSite::new();
    site.options.slow_query_time = Some(Duration::from_secs(3600));
    site.edit(|users| {
        users.add("fast", hash()).unwrap();
        users.grant("fast", NAME, Role::Reader).unwrap();
    });
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    let query = eval("g.V().count()", QueryOptions::default());
    assert_eq!(client.ask_as("fast", PASSWORD, query).await.code, 200);
    server.stop();
    assert!(lines.records(|record| record["user"] == "fast").is_empty());
}

#[tokio::test]
async fn a_panic_is_logged_with_its_place_and_its_message() {
    let lines = lines();
    // Panics of tests are still shown as ever.
    let shown = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        report_panic(info);
        shown(info);
    }));
    let thread = std::thread::Builder::new().name("broken".to_owned());
    let broken = thread.spawn(|| panic!("planned\n{}", "\u{1b}[2J")).unwrap();
    assert!(broken.join().is_err());
    let of_thread = |record: &Value| record["thread"] == "broken";
    eventually("it is written", async || lines.records(of_thread).len() == 1).await;
    let (line, record) = lines.records(of_thread).remove(0);
    assert_eq!((&record["level"], &record["target"]), (&"ERROR".into(), &"evergraph::defect".into()));
    assert!(record["place"].as_str().unwrap().contains("logs.rs:"), "{line}");
    assert!(record["message"].as_str().unwrap().contains("planned\n\u{1b}[2J"), "{line}");
    assert!(!line.contains('\u{1b}'), "{line}");
}

#[tokio::test]
async fn events_of_other_crates_are_not_logged() {
    let lines = lines();
    tracing::error!(target: "hyper::proto", "foreign body");
    tracing::error!(target: "evergraphs::fake", "foreign body");
    tracing::debug!(target: "evergraph::server", "foreign body");
    tracing::info!(target: "evergraph::server", mark = "after the foreign ones", "own body");
    let own = |record: &Value| record["mark"] == "after the foreign ones";
    eventually("it is written", async || lines.records(own).len() == 1).await;
    assert!(lines.records(|record| record["message"] == "foreign body").is_empty());
}

#[test]
fn a_process_has_one_log() {
    lines();
    let second = Log::start(LogOptions::default(), Box::new(io::sink()));
    assert!(second.err().unwrap().to_string().contains("start the log"));
}
