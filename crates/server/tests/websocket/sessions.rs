//! Sessions: transactions over several requests, their conflicts, and their ends.

use crate::support::served::{add_points, eventually, serve};
use crate::support::web_socket_client::{Client, eval, transaction, within};
use evergraph::Database;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::Operation;
use evergraph_server::options::ServerOptions;
use std::time::{Duration, Instant};

fn count(database: &Database) -> i64 {
    database.gremlin("g.V().count()").one().unwrap()
}

fn close(session: &str) -> Operation {
    Operation::Close { session: session.into() }
}

#[tokio::test]
async fn a_transaction_is_committed_or_rolled_back_and_then_closed() {
    let (database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval_in("a", "g.addV('Point')").await.code, 200);
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 1);
    assert_eq!(client.eval("g.V().count()").await.number(), 0, "others do not see it");
    assert_eq!(client.ask(transaction("commit", "a")).await.code, 204);
    assert_eq!(client.ask(close("a")).await.code, 204);
    assert_eq!(client.ask(close("a")).await.code, 204, "a close is always answered so");
    assert_eq!(count(&database), 1);
    assert_eq!(client.eval_in("b", "g.addV('Point')").await.code, 200);
    assert_eq!(client.ask(transaction("rollback", "b")).await.code, 204);
    assert_eq!(client.eval_in("b", "g.addV('Point')").await.code, 200);
    assert_eq!(client.ask(close("b")).await.code, 204, "closing rolls back");
    assert_eq!(count(&database), 1);
}

#[tokio::test]
async fn requests_of_a_session_run_in_order_even_if_they_are_pipelined() {
    let (database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(client.send(Format::GraphBinary, eval("g.addV('Point')", within("a"))).await);
        ids.push(client.send(Format::GraphBinary, eval("g.V().count()", within("a"))).await);
    }
    ids.push(client.send(Format::GraphBinary, transaction("commit", "a")).await);
    for (at, id) in ids.into_iter().enumerate() {
        let answer = client.answer(Format::GraphBinary, id).await;
        match at {
            100 => assert_eq!(answer.code, 204),
            at if at % 2 == 1 => assert_eq!(answer.number(), at as i64 / 2 + 1),
            _ => assert_eq!(answer.code, 200),
        }
    }
    assert_eq!(count(&database), 50);
}

#[tokio::test]
async fn of_two_transactions_that_write_the_same_the_second_meets_a_conflict() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1);
    let mut first = Client::connect(server.address()).await;
    let mut second = Client::connect(server.address()).await;
    assert_eq!(first.eval_in("a", "g.V().property('at', 1)").await.code, 200);
    let written = second.eval_in("b", "g.V().property('at', 2)").await;
    assert_eq!(first.ask(transaction("commit", "a")).await.code, 204);
    let refused = match written.code {
        200 => second.ask(transaction("commit", "b")).await,
        _ => written,
    };
    assert_eq!((refused.code, refused.kind()), (596, Some("conflict")), "{}", refused.message);
    assert!(refused.message.contains("conflict"), "{}", refused.message);
    assert_eq!(second.ask(transaction("rollback", "b")).await.code, 204);
    assert_eq!(database.gremlin("g.V().values('at')").one::<i64>().unwrap(), 1);
}

#[tokio::test]
async fn a_serializable_transaction_refuses_a_write_skew_that_snapshots_allow() {
    for (isolation, expected) in [("snapshot", 204), ("serializable", 596)] {
        let (database, server) = serve(ServerOptions::default());
        add_points(&database, 2);
        let mut client = Client::connect(server.address()).await;
        for (session, at) in [("a", 0), ("b", 1)] {
            let text = format!(
                "g.with('isolation', '{isolation}').V().values('at').sum().as('s').V().has('at', {at}).property('seen', select('s'))"
            );
            let answer = client.eval_in(session, &text).await;
            assert_eq!(answer.code, 200, "{}", answer.message);
        }
        let text = format!("g.with('isolation', '{isolation}').V().has('at', 0).property('at', 10)");
        assert_eq!(client.eval_in("a", &text).await.code, 200);
        let text = format!("g.with('isolation', '{isolation}').V().has('at', 1).property('at', 20)");
        assert_eq!(client.eval_in("b", &text).await.code, 200);
        assert_eq!(client.ask(transaction("commit", "a")).await.code, 204);
        assert_eq!(client.ask(transaction("commit", "b")).await.code, expected, "{isolation}");
        server.stop();
    }
}

#[tokio::test]
async fn after_a_failed_write_only_a_rollback_works() {
    let (database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval_in("a", "g.addV('Point')").await.code, 200);
    assert_eq!(client.eval_in("a", "g.V().otu()").await.code, 597);
    assert_eq!(client.eval_in("a", "g.V().fail()").await.code, 595);
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 1, "a failed read breaks nothing");
    assert_eq!(client.eval_in("a", "g.addV('Point').fail('no')").await.code, 595);
    for operation in [eval("g.V().count()", within("a")), transaction("commit", "a")] {
        let answer = client.ask(operation).await;
        assert_eq!(answer.code, 597, "a transaction does not go on after a failed write");
        assert!(answer.message.contains("rolled back"), "{}", answer.message);
    }
    assert_eq!(client.ask(transaction("rollback", "a")).await.code, 204);
    assert_eq!(client.eval_in("a", "g.V().count()").await.number(), 0);
    assert_eq!(count(&database), 0);
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_no_transaction_and_its_session_is_free() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1);
    let mut gone = Client::connect(server.address()).await;
    assert_eq!(gone.eval_in("a", "g.V().property('at', 1)").await.code, 200);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval_in("a", "g.V()").await.code, 499, "it belongs to another connection");
    drop(gone);
    let began = Instant::now();
    while client.eval_in("a", "g.V().property('at', 2)").await.code != 200 {
        assert!(began.elapsed() < Duration::from_secs(60), "the session of a client that is gone is free");
        client.ask(close("a")).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(client.ask(transaction("commit", "a")).await.code, 204);
    assert_eq!(database.gremlin("g.V().values('at')").one::<i64>().unwrap(), 2);
}

#[tokio::test]
async fn an_idle_transaction_is_rolled_back_and_its_rest_is_not_committed() {
    let mut options = ServerOptions::default();
    options.transaction_idle_max = Duration::from_millis(100);
    let (database, server) = serve(options);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval_in("a", "g.addV('Point')").await.code, 200);
    eventually("an idle transaction is rolled back", async || database.store().statistics().writers == 0)
        .await;
    let late = client.eval_in("a", "g.addV('Point')").await;
    assert_eq!(late.code, 597, "an idle transaction is rolled back");
    assert!(late.message.contains("idle"), "{}", late.message);
    assert_eq!(client.ask(transaction("commit", "a")).await.code, 597);
    assert_eq!(client.ask(close("a")).await.code, 204);
    assert_eq!(count(&database), 0);
}

#[tokio::test]
async fn a_transaction_ends_in_time_however_often_it_is_used() {
    let mut options = ServerOptions::default();
    options.transaction_time_max = Duration::from_secs(2);
    let (database, server) = serve(options);
    let mut client = Client::connect(server.address()).await;
    let began = Instant::now();
    let late = loop {
        let answer = client.eval_in("a", "g.addV('Point')").await;
        if answer.code != 200 {
            break answer;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "a transaction ends in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(late.code, 597);
    assert!(late.message.contains("it was open for"), "{}", late.message);
    assert_eq!(count(&database), 0);
}

#[tokio::test]
async fn a_connection_has_so_many_sessions_at_once() {
    let (_, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    for session in 0..64 {
        assert_eq!(client.eval_in(&session.to_string(), "g.V().count()").await.code, 200);
    }
    let refused = client.eval_in("another", "g.V().count()").await;
    assert_eq!(refused.code, 596, "a connection has so many sessions at once");
    assert!(refused.message.contains("64 sessions"), "{}", refused.message);
    assert_eq!(client.eval_in("0", "g.V().count()").await.code, 200, "those that are open go on");
    assert_eq!(client.ask(close("0")).await.code, 204);
    // The session ends behind the answer to its close.
    eventually("a place is free", async || client.eval_in("another", "g.V().count()").await.code == 200)
        .await;
}

#[tokio::test]
async fn a_session_that_nobody_rolls_back_is_forgotten_in_time_and_free_after_a_rollback() {
    let mut options = ServerOptions::default();
    options.transaction_idle_max = Duration::from_millis(50);
    options.transaction_time_max = Duration::from_secs(1);
    let (database, server) = serve(options);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval_in("a", "g.addV('Point')").await.code, 200);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    let forgotten = loop {
        let late = client.eval_in("a", "g.addV('Point')").await;
        if late.code == 596 {
            break late;
        }
        assert_eq!(late.code, 597, "it is broken until it is forgotten: {}", late.message);
        assert!(began.elapsed() < Duration::from_secs(60), "it is forgotten in time");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(forgotten.message.contains("its time was over"), "{}", forgotten.message);
    // On a busy machine its time may be over again before it is committed.
    eventually("it is free after a rollback", async || {
        assert_eq!(client.ask(transaction("rollback", "a")).await.code, 204);
        client.eval_in("a", "g.addV('Point')").await.code == 200
            && client.ask(transaction("commit", "a")).await.code == 204
    })
    .await;
    assert_eq!(count(&database), 1);
}

#[tokio::test]
async fn commits_on_disk_are_durable_when_they_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let database = std::sync::Arc::new(Database::open(folder.path().join("a.eg")).unwrap());
    let server = evergraph_server::server::Server::start(
        std::sync::Arc::clone(&database),
        "a",
        "127.0.0.1:0".parse().unwrap(),
        ServerOptions::default(),
    )
    .unwrap();
    let mut client = Client::connect(server.address()).await;
    let mut ids = std::collections::HashSet::new();
    for _ in 0..64 {
        ids.insert(client.send(Format::GraphBinary, eval("g.addV('Point')", Default::default())).await);
    }
    while !ids.is_empty() {
        let response = client.response(Format::GraphBinary).await;
        assert_eq!(response.code, 200, "{}", response.message);
        assert!(ids.remove(&response.id.unwrap()));
    }
    assert_eq!(client.eval_in("s", "g.addV('Point')").await.code, 200);
    assert_eq!(client.ask(transaction("commit", "s")).await.code, 204);
    drop(client);
    server.stop();
    database.close().unwrap();
    drop(database);
    let database = Database::open(folder.path().join("a.eg")).unwrap();
    assert_eq!(count(&database), 65);
}

#[tokio::test]
async fn a_transaction_that_was_lost_with_its_connection_does_not_go_on_in_another_one() {
    let (database, server) = serve(ServerOptions::default());
    // As drivers do that connect again by themselves.
    for (session, ending) in [("a", ""), ("c", "commit")] {
        let mut client = Client::connect(server.address()).await;
        assert_eq!(client.eval_in(session, "g.addV('Point')").await.code, 200);
        drop(client);
        eventually("it is rolled back", async || database.store().statistics().writers == 0).await;
        let mut again = Client::connect(server.address()).await;
        let answer = match ending {
            "" => again.eval_in(session, "g.addV('Point')").await,
            ending => again.ask(transaction(ending, session)).await,
        };
        let told = (answer.code, answer.kind());
        assert_eq!(told, (596, Some("busy")), "a lost transaction does not go on: {}", answer.message);
        assert!(answer.message.contains("connection was lost"), "{}", answer.message);
        assert_eq!(again.eval("g.V().count()").await.number(), 0);
        // Whoever rolls back knows it, and may begin anew.
        assert_eq!(again.ask(transaction("rollback", session)).await.code, 204);
        assert_eq!(again.eval_in(session, "g.V().count()").await.number(), 0);
    }
}
