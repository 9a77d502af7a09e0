//! Observation: `/healthz`, `/readyz`, `/metrics`.

use crate::logins::{serve, serve_with};
use crate::support::http_client::Client;
use crate::support::secured_site::PASSWORD;
use crate::support::served::eventually;
use evergraph::{Database, EngineKind, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

const PAGE: &str = include_str!("../../../../docs/guide/server.md");

/// The names of metrics in the guide's table.
fn documented() -> BTreeSet<&'static str> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `evergraph_"));
    rows.map(|row| row.split(['`', '{']).next().unwrap()).collect()
}

/// The value of the series that begins with `start`.
fn value(metrics: &str, start: &str) -> f64 {
    let line =
        metrics.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {metrics}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_server_is_ready_and_says_so_to_everybody() {
    let (_site, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = client.ask("GET", path, "").await;
        assert_eq!((answer.status, answer.text()), (200, text));
    }
}

#[tokio::test]
async fn metrics_need_a_log_in_and_those_of_a_database_a_role() {
    let (_site, server) = serve(ServerOptions::default());
    let address = server.address();
    assert_eq!(Client::connect(address).await.ask("GET", "/metrics", "").await.status, 401);
    let mut nobody = Client::log_in(address, "nobody", PASSWORD).await;
    let answer = nobody.ask("GET", "/metrics", "").await;
    assert!(answer.status == 200 && !answer.text().contains("social"), "series of a database need a role");
    let mut reader = Client::log_in(address, "reader", PASSWORD).await;
    let answer = reader.ask("GET", "/metrics", "").await;
    assert!(answer.text().contains("evergraph_commits_total{database=\"social\"}"), "{}", answer.text());
}

#[tokio::test]
async fn metrics_are_those_of_the_guide_and_count_what_happens() {
    let (_site, server) = serve(ServerOptions::default());
    let mut client = Client::log_in(server.address(), "writer", PASSWORD).await;
    assert_eq!(client.query("g.addV('Point')").await.status, 200);
    assert_eq!(client.query("g.V().otu()").await.status, 500);
    let mut wrong = Client::log_in(server.address(), "writer", "wrong").await;
    assert_eq!(wrong.query("g.V()").await.status, 401);
    // A request is counted when its last byte may have been read already.
    eventually("both requests are counted", async || server.requests_count() == 0).await;
    let answer = client.ask("GET", "/metrics", "").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let metrics = answer.text();
    for (series, expected) in [
        ("evergraph_requests_total{transport=\"http\",kind=\"query\",status=\"200\"}", 1.0),
        ("evergraph_requests_total{transport=\"http\",kind=\"query\",status=\"597\"}", 1.0),
        ("evergraph_request_duration_seconds_count{transport=\"http\",kind=\"query\"}", 2.0),
        ("evergraph_commit_duration_seconds_count", 1.0),
        ("evergraph_commits_total{database=\"social\"}", 1.0),
        ("evergraph_audit_events_total{event=\"login\",outcome=\"refused\"}", 1.0),
        ("evergraph_connections ", 2.0),
        ("evergraph_requests_running{transport=\"http\"}", 0.0),
    ] {
        assert_eq!(value(metrics, series), expected, "{series}");
    }
    let (_other_site, other) = serve_with(EngineKind::Mapped, ServerOptions::default());
    let of_mapped =
        Client::log_in(other.address(), "writer", PASSWORD).await.ask("GET", "/metrics", "").await;
    let lines = metrics.lines().chain(of_mapped.text().lines());
    let printed = lines.filter_map(|line| line.strip_prefix("# TYPE evergraph_"));
    let printed: BTreeSet<&str> = printed.map(|line| line.split(' ').next().unwrap()).collect();
    let documented = documented();
    let difference: Vec<_> = printed.symmetric_difference(&documented).collect();
    assert!(difference.is_empty(), "only printed or only documented: {difference:?}");
    for (name, kind) in metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')) {
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
    }
}

#[tokio::test]
async fn a_full_disk_is_told_until_a_commit_finds_room_and_the_server_stays_ready() {
    let (_site, server) = serve(ServerOptions::default());
    let mut client = Client::log_in(server.address(), "writer", PASSWORD).await;
    let is_full = "evergraph_disk_full{database=\"social\"}";
    let ready = client.ask("GET", "/readyz", "").await;
    assert_eq!((ready.status, ready.text()), (200, "ready\n"));
    // As a commit ends for which the file system has no room (`crates/cli/tests/kills` has a real one).
    let full =
        Error::new(ErrorKind::Limit, "write /secret").because(io::Error::from(io::ErrorKind::StorageFull));
    let open = server.databases().get("social").unwrap().begin(CancelFlag::default()).unwrap();
    open.note_commit(Err(&full));
    open.note_commit(Err(&Error::conflict("vertex 7 was changed")));
    let ready = client.ask("GET", "/readyz", "").await;
    assert_eq!(ready.status, 200, "reads go on, and there may be room again");
    let degraded = ready.text().strip_prefix("ready\ndegraded: ").expect("a full disk is told");
    assert!(degraded.contains("disk is full") && !degraded.contains("secret"), "{degraded}");
    assert_eq!(value(client.ask("GET", "/metrics", "").await.text(), is_full), 1.0);
    assert_eq!(client.query("g.V().count()").await.status, 200);
    assert_eq!(client.query("g.addV('Point')").await.status, 200);
    assert_eq!(client.ask("GET", "/readyz", "").await.text(), "ready\n");
    assert_eq!(value(client.ask("GET", "/metrics", "").await.text(), is_full), 0.0);
}

#[tokio::test]
async fn a_failed_checkpoint_is_told_and_a_database_that_takes_no_commits_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { checkpoint_after_bytes: 1, ..Options::default() };
    let database = Arc::new(Database::open_with(folder.path().join("social"), &options).unwrap());
    // A checkpoint is due with the first commit, and fails: a folder has the name of its new manifest.
    std::fs::create_dir(folder.path().join("social/manifest.new")).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(Arc::clone(&database), "social", address, ServerOptions::default()).unwrap();
    let mut client = Client::connect(server.address()).await;
    let is_read_only = "evergraph_read_only{database=\"social\"}";
    let has_failed = "evergraph_checkpoint_failed{database=\"social\"}";
    let metrics = client.ask("GET", "/metrics", "").await;
    assert_eq!((value(metrics.text(), is_read_only), value(metrics.text(), has_failed)), (0.0, 0.0));
    assert_eq!(client.query("g.addV('Point')").await.status, 200);
    eventually("the checkpoint fails", async || {
        value(client.ask("GET", "/metrics", "").await.text(), has_failed) == 1.0
    })
    .await;
    let ready = client.ask("GET", "/readyz", "").await;
    assert_eq!((ready.status, ready.text()), (200, "ready\n"), "commits go on");
    assert_eq!(client.query("g.addV('Point')").await.status, 200);
    // As a load does that could not be made durable.
    let reason = "its file /secret is gone".to_owned();
    database.store().timeline().latch().poisoned = Some(reason);
    let ready = client.ask("GET", "/readyz", "").await;
    assert!(ready.status == 503 && ready.text().contains("read-only"), "{}", ready.text());
    assert!(!ready.text().contains("secret") && !ready.text().contains("social"), "{}", ready.text());
    let metrics = client.ask("GET", "/metrics", "").await;
    assert_eq!(value(metrics.text(), is_read_only), 1.0);
    assert_eq!(client.query("g.addV('Point')").await.status, 500);
    assert_eq!(client.query("g.V().count()").await.status, 200, "reads go on");
}
