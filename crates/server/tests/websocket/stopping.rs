//! Stopping: what a server that is about to stop answers, before it closes connections.

use crate::support::served::{add_points, serve};
use crate::support::web_socket_client::{Client, eval, transaction};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::Operation;
use evergraph_server::options::ServerOptions;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_is_about_to_stop_finishes_what_runs_and_refuses_the_rest() {
    let mut options = ServerOptions::default();
    options.stop_grace = Duration::from_secs(600);
    options.query_timeout = Duration::from_secs(600);
    let (database, server) = serve(options);
    add_points(&database, 200);
    let mut idle = Client::connect(server.address()).await;
    assert_eq!(idle.eval_in("a", "g.addV('Point')").await.code, 200);
    // More than buffers take, so that it goes on until its client reads.
    let mut reader = Client::connect(server.address()).await;
    let long = format!("g.V().V().constant('{}')", "x".repeat(1000));
    let id = reader.send(Format::GraphBinary, eval(&long, Default::default())).await;
    let first = reader.response(Format::GraphBinary).await;
    assert_eq!((first.code, first.id), (206, Some(id)));
    let address = server.address();
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    while Client::try_connect(address).await.err() != Some(503) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for late in [transaction("commit", "a"), eval("g.addV('Point')", Default::default())] {
        let late = idle.ask(late).await;
        assert_eq!((late.code, late.kind()), (596, Some("busy")), "{}", late.message);
        assert!(late.message.contains("nothing was done"), "{}", late.message);
    }
    let close = idle.ask(Operation::Close { session: "a".into() }).await;
    assert_eq!(close.code, 204, "a close is never an error: {}", close.message);
    let rest = reader.answer(Format::GraphBinary, id).await;
    assert_eq!((rest.code, first.results.len() + rest.results.len()), (200, 40_000), "{}", rest.message);
    for client in [&mut idle, &mut reader] {
        match client.message().await {
            Some(Message::Close(Some(frame))) => assert_eq!(frame.code, CloseCode::Away),
            other => panic!("{other:?}"),
        }
    }
    drop((idle, reader));
    stopping.await.unwrap();
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 200, "what was open is rolled back");
}
