//! Answer limits: results and bytes of an answer in each format, and the memory of answers that are kept.

use crate::support::http_client::Client;
use crate::support::served::{add_points, eventually, serve};
use evergraph::{Database, Options};
use evergraph_protocol::format::Format;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;

const DOCUMENT: &str = "application/json";
const LINES: &str = "application/x-ndjson";
const ARROW: &str = "application/vnd.apache.arrow.stream";
const BINARY: &str = Format::GraphBinary.mime_type();

async fn connect(address: SocketAddr, accept: &str) -> Client {
    Client::connect(address).await.with("accept", accept)
}

/// A query with `rows` results of 1,000 letters, each in a row of its own.
fn long_rows(rows: u32) -> String {
    format!("V().as('a').V().as('b').limit({rows}).constant('{}')", "x".repeat(1000))
}

#[tokio::test]
async fn an_answer_in_any_format_ends_at_the_limits_of_results_and_bytes() {
    let mut options = ServerOptions::default();
    options.result_rows_max = 50;
    options.result_bytes_max = 64 << 10;
    let (database, server) = serve(options);
    add_points(&database, 300);
    let long = format!("g.V().limit(40).constant('{}')", "x".repeat(5000));
    let long_written = format!("g.addV('Point').V().limit(40).constant('{}')", "x".repeat(5000));
    for accept in [DOCUMENT, LINES, ARROW, BINARY] {
        let mut client = connect(server.address(), accept).await;
        let most = client.query("g.V().limit(50).values('at')").await;
        assert_eq!(most.status, 200, "{accept}: as many as there may be");
        for (text, limit) in [
            ("g.V().limit(51).values('at')", "50 results"),
            // Equal ones count each.
            ("g.V().limit(51).constant(7)", "50 results"),
            ("g.addV('Point').V()", "50 results"),
            (&*long, "--result-bytes"),
            (&*long_written, "--result-bytes"),
        ] {
            let answer = client.query(text).await;
            let body = String::from_utf8_lossy(&answer.body);
            let end: String = body.chars().rev().take(2000).collect::<Vec<_>>().into_iter().rev().collect();
            assert!(body.contains(limit), "an answer ends at its limit: {accept}, {text}: {end}");
            // Of JSON lines some were sent before their bytes were too many.
            let status = match accept {
                DOCUMENT => 500,
                LINES if text == long => 200,
                _ => 413,
            };
            assert_eq!(answer.status, status, "{accept}, {text}: {end}");
        }
    }
    let count = database.gremlin("g.V().count()").one::<i64>().unwrap();
    assert_eq!(count, 300, "what is too long to be sent is not written");
}

// Found by a review: each kept answer was compared with the memory of a query, and no reservation was made, so that many of
// them together passed the limit of the database.
#[tokio::test]
async fn answers_that_are_kept_count_below_the_memory_limit_of_their_database() {
    let limit = Options { memory_limit_bytes: 48 << 20, ..Options::default() };
    let database = Arc::new(Database::in_memory_with(&limit).unwrap());
    let mut options = ServerOptions::default();
    // An answer that is refused has then given its memory back before another one goes on.
    options.workers = 1;
    let address = "127.0.0.1:0".parse().unwrap();
    let server = Server::start(Arc::clone(&database), "social", address, options).unwrap();
    add_points(&database, 300);
    let used_bytes = || database.store().budget().used_bytes();
    let before = used_bytes();
    // It takes 40 MiB until its table is made, and 19 MiB until that was read.
    let rows = format!("g.{}", long_rows(20_000));
    let mut slow = connect(server.address(), ARROW).await;
    let response = slow.send("POST", "/gremlin", json!({"gremlin": rows}).to_string()).await;
    assert_eq!(response.status(), 200);
    for (accept, text) in [
        (ARROW, rows.clone()),
        (BINARY, format!("g.{}", long_rows(40_000))),
        (LINES, format!("g.addV('Point').{}", long_rows(40_000))),
    ] {
        let refused = connect(server.address(), accept).await.query(&text).await;
        assert_eq!(refused.status, 413, "a kept answer leaves no room for another one: {accept}");
        assert!(refused.text().contains("memory budget"), "{accept}: {}", refused.text());
    }
    assert!(used_bytes() > before + (18 << 20), "what is kept is counted until it was sent");
    drop((response, slow));
    eventually("its memory is given back", async || used_bytes() <= before).await;
    let readers = (0..6).map(|_| async { connect(server.address(), ARROW).await.query(&rows).await.status });
    let statuses = futures_util::future::join_all(readers).await;
    assert!(statuses.contains(&200), "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 413].contains(status)), "{statuses:?}");
    eventually("all of it is given back", async || used_bytes() <= before).await;
    let count = database.gremlin("g.V().count()").one::<i64>().unwrap();
    assert_eq!(count, 300, "what cannot be sent is not written");
}
