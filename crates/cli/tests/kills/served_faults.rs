//! A server whose disk fails below it: a sync by strace, and a full file system of a few megabytes.
//!
//! ```text
//! sync fails    commits are refused from then on, reads go on; /readyz and a metric say so
//! disk full     commits that need room are refused with `limit`, and /readyz and a metric say so; reads go on, and commits
//!               when there is room again
//! ```

use crate::entries::{Entries, book};
use crate::faults::can_trace;
use crate::file_system::in_file_system;
use crate::moments::{Moments, engines};
use crate::service::Service;
use crate::skips::skipped;
use evergraph::EngineKind;
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_client::server_answer::UnknownOutcome;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_protocol::result::result_value::ResultValue;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Adds entries until one is refused; how many were acknowledged, and why the last one was not.
fn book_until_refused(client: &Client, first: i64) -> (i64, Error) {
    for number in first..first + 100_000 {
        if let Err(error) = book(client, 0, number) {
            return (number, error);
        }
    }
    panic!("nothing was refused");
}

fn count(client: &Client) -> i64 {
    let results = client.query(&Query::text("g.V().hasLabel('Entry').count()")).unwrap().collect().unwrap();
    match &results[..] {
        [ResultValue::Value(value)] => value.as_i64().unwrap(),
        other => panic!("{other:?}"),
    }
}

const DISK_FULL: &str = "evergraph_disk_full{database=\"entries\"}";
const READ_ONLY: &str = "evergraph_read_only{database=\"entries\"}";

#[test]
fn a_server_whose_sync_failed_refuses_commits_reads_on_and_says_so() {
    if !can_trace() {
        skipped("strace is not here, or may not trace");
        return;
    }
    engines().into_iter().for_each(fail_a_sync);
}

fn fail_a_sync(engine: EngineKind) {
    let folder = tempfile::tempdir().unwrap();
    let mut entries = Entries::new(engine, folder.path(), 1);
    // Opening has some of its own.
    let when = 20 + Moments::new().below(20);
    let serving = entries.serve(&[]);
    let mut traced = Command::new("strace");
    traced.args(["-qq", "-f", "-o", "/dev/null", "-e", "trace=fdatasync"]);
    traced.args(["-e", &format!("inject=fdatasync:error=EIO:when={when}")]);
    traced.arg(serving.get_program()).args(serving.get_args()).stderr(Stdio::null());
    traced.envs(serving.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut service = Service::start(&mut traced).unwrap();
    let client = service.client();
    assert_eq!(service.get("/readyz").status, 200);
    assert_eq!(service.get("/metrics").metric(READ_ONLY), 0.0);
    let (acknowledged, error) = book_until_refused(&client, 0);
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(UnknownOutcome::is_of(&error), "the sync of this one failed: {error}");
    let refused = book(&client, 0, acknowledged + 1).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Io, "{refused}");
    let found = count(&client);
    assert!((acknowledged..=acknowledged + 1).contains(&found), "{found} of {acknowledged} are read");
    let ready = service.get("/readyz");
    assert!(ready.status == 503 && ready.body.contains("read-only"), "{ready:?}");
    assert_eq!(service.get("/healthz").status, 200);
    assert_eq!(service.get("/metrics").metric(READ_ONLY), 1.0);
    service.kill();
    entries.verify(&[acknowledged], false);
    let service = Service::start(&mut entries.serve(&[])).unwrap();
    assert_eq!(service.get("/readyz").status, 200, "it was opened again");
    book(&service.client(), 0, entries.booked()[0]).unwrap();
    println!("{engine}: sync {when} failed after {acknowledged} entries");
}

const FULL: &str = "served_faults::a_server_on_a_full_disk_refuses_commits_until_there_is_room";

#[test]
fn a_server_on_a_full_disk_refuses_commits_until_there_is_room() {
    in_file_system(FULL, "tmpfs -o size=40m", |folder| {
        engines().into_iter().for_each(|engine| fill(engine, folder));
    });
}

fn fill(engine: EngineKind, folder: &Path) {
    let folder = tempfile::tempdir_in(folder).unwrap();
    let mut entries = Entries::new(engine, folder.path(), 1);
    let ballast = folder.path().join("ballast");
    // As large as the next file of the log, and more.
    fs::write(&ballast, vec![7; 20 << 20]).unwrap();
    let mut service = Service::start(&mut entries.serve(&[])).unwrap();
    let client = service.client();
    book(&client, 0, 0).unwrap();
    // Much at a time, without results.
    let large = "g.inject(1).repeat(__.addV('Ballast').property('text', text)).times(20).discard()";
    let large =
        format!("{{\"gremlin\": \"{large}\", \"bindings\": {{\"text\": \"{}\"}}}}", "x".repeat(20_000));
    let full = loop {
        let answer = service.ask("POST", "/gremlin", &large).unwrap();
        if answer.status != 200 {
            break answer;
        }
    };
    assert!(full.status == 507 && full.body.contains("\"limit\""), "{full:?}");
    assert!(full.body.contains("entries.eg"), "it says which file: {full:?}");
    assert_eq!(count(&client), 1);
    assert_eq!(service.get("/healthz").status, 200);
    let is_ready = service.get("/readyz").status == 200;
    assert_eq!(is_ready, service.get("/metrics").metric(READ_ONLY) == 0.0);
    assert!(is_ready, "there may be room again");
    let told = service.get("/readyz");
    assert!(told.body.contains("degraded: a disk is full"), "{told:?}");
    assert_eq!(service.get("/metrics").metric(DISK_FULL), 1.0);
    fs::remove_file(&ballast).unwrap();
    let answer = service.ask("POST", "/gremlin", &large).unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    book(&client, 0, 1).unwrap();
    assert_eq!(service.get("/readyz").body, "ready\n");
    assert_eq!(service.get("/metrics").metric(DISK_FULL), 0.0);
    service.kill();
    entries.verify(&[2], false);
    println!("{engine}: {}", full.body.trim());
}
