//! Queries: each a transaction of its own, in both formats, pipelined, and beside clients that do not read.

use crate::support::served::{add_points, patient, serve};
use crate::support::web_socket_client::{Client, bytecode, eval};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{MaterializeProperties, QueryOptions};
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_server::options::ServerOptions;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Message;

#[tokio::test]
async fn texts_and_bytecode_are_answered_in_the_format_of_the_request() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 3);
    let mut client = Client::connect(server.address()).await;
    for format in Format::ALL.iter().copied() {
        let id = client.send(format, eval("g.V().values('at').order()", QueryOptions::default())).await;
        let answer = client.answer(format, id).await;
        assert_eq!((answer.code, answer.results.len(), answer.frames), (200, 3, 1), "{}", answer.message);
        let id = client.send(format, bytecode("g.V().label()", QueryOptions::default())).await;
        let answer = client.answer(format, id).await;
        assert_eq!(answer.results.iter().map(|(_, bulk)| bulk).sum::<u64>(), 3);
        let id = client.send(format, eval("g.V().hasLabel('Nothing')", QueryOptions::default())).await;
        assert_eq!(client.answer(format, id).await.code, 204);
    }
    let body = r#"{"requestId": "41d2e28a-20a4-4ab0-b379-d810dede3786", "op": "eval", "processor": "",
        "args": {"gremlin": "g.V().count()", "aliases": {"g": "g_social"}}}"#;
    client.send_message(Message::Text(body.into())).await;
    let Message::Text(_) = client.message().await.unwrap() else { panic!("a text is answered by a text") };
    client.send_message(Message::Ping("here".into())).await;
    assert_eq!(client.message().await.unwrap(), Message::Pong("here".into()));
}

// Found by npm's gremlin: each answer of more than one frame took 44 ms, of which the query took none.
#[tokio::test]
async fn the_second_frame_of_an_answer_does_not_wait_for_the_acknowledgement_of_the_first() {
    const AT_ONCE: Duration = Duration::from_millis(30);
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100);
    let mut client = Client::connect(server.address()).await;
    let mut fastest = Duration::MAX;
    for _ in 0..200 {
        if fastest < AT_ONCE {
            break;
        }
        let asked = Instant::now();
        let answer = client.eval("g.V()").await;
        assert_eq!((answer.results.len(), answer.frames), (100, 2), "{}", answer.message);
        fastest = fastest.min(asked.elapsed());
    }
    assert!(fastest < AT_ONCE, "{fastest:?}");
}

#[tokio::test]
async fn elements_come_with_or_without_properties_and_a_write_answers_what_it_wrote() {
    let (database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let written = client.eval("g.addV('person').property('name', 'ann')").await;
    let ResultValue::Vertex(vertex) = &written.results[0].0 else { panic!("a vertex") };
    assert_eq!((&*vertex.label, vertex.properties.len()), ("person", 1));
    let edge = "g.addE('knows').from(__.V()).to(__.V()).property('since', 1)";
    let edges = client.eval(edge).await;
    assert!(
        matches!(&edges.results[0].0, ResultValue::Edge(edge) if edge.properties.len() == 1),
        "{}",
        edges.message
    );
    let tokens = QueryOptions {
        materialize_properties: Some(MaterializeProperties::Tokens),
        ..QueryOptions::default()
    };
    let answer = client.ask(eval("g.V()", tokens)).await;
    assert!(matches!(&answer.results[0].0, ResultValue::Vertex(vertex) if vertex.properties.is_empty()));
    assert_eq!(database.gremlin("g.E().count()").one::<i64>().unwrap(), 1);
    assert_eq!(client.eval("g.V().drop()").await.code, 204);
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 0);
}

#[tokio::test]
async fn requests_of_a_connection_are_pipelined_and_answered_by_id() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100);
    let mut client = Client::connect(server.address()).await;
    let mut expected = HashMap::new();
    for at in 0..1000_i64 {
        let text = format!("g.inject({at})");
        expected.insert(client.send(Format::GraphBinary, eval(&text, QueryOptions::default())).await, at);
    }
    while !expected.is_empty() {
        let response = client.response(Format::GraphBinary).await;
        let at = expected.remove(&response.id.unwrap()).expect("it is answered once");
        let ResultValue::Value(value) = &response.results[0].value else { panic!("a number") };
        assert_eq!(value.as_i64(), Some(at));
    }
}

#[tokio::test]
async fn a_hundred_thousand_rows_arrive_in_frames_of_64() {
    let (database, server) = serve(patient());
    add_points(&database, 320);
    let mut client = Client::connect(server.address()).await;
    let answer = client.eval("g.V().as('a').V().as('b').select('a').id()").await;
    assert_eq!((answer.code, answer.results.len(), answer.frames), (200, 102_400, 1600));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_thousand_clients_that_do_not_read_delay_no_look_up() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2000);
    // Few rows, each by itself, fill all buffers.
    let long = format!("g.V().as('a').V().as('b').constant('{}')", "x".repeat(2000));
    let mut readers = Vec::new();
    for _ in 0..1000 {
        let mut reader = Client::connect(server.address()).await;
        reader.send(Format::GraphBinary, eval(&long, QueryOptions::default())).await;
        readers.push(reader);
    }
    let mut client = Client::connect(server.address()).await;
    // Until all of them wait, a thousand queries run. Then nothing does.
    let begun = Instant::now();
    let mut quick_in_a_row = 0;
    while quick_in_a_row < 10 {
        let began = Instant::now();
        assert_eq!(client.eval("g.V().has('at', 7).count()").await.number(), 1);
        let is_quick = began.elapsed() < Duration::from_secs(1);
        quick_in_a_row = if is_quick { quick_in_a_row + 1 } else { 0 };
        assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    }
    assert_eq!(server.connections_count(), 1001);
    drop(readers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn heavy_queries_delay_no_look_up_whether_they_stream_or_gather() {
    let mut options = patient();
    options.stop_grace = Duration::from_secs(600);
    let (database, server) = serve(options);
    add_points(&database, 3000);
    let mut heavy = Vec::new();
    for text in ["g.V().V().V().count()", "g.V().V().V().dedup().by('at').count()"].repeat(4) {
        let mut client = Client::connect(server.address()).await;
        client.send(Format::GraphBinary, eval(text, QueryOptions::default())).await;
        heavy.push(client);
    }
    let mut client = Client::connect(server.address()).await;
    let (begun, mut quick) = (Instant::now(), 0);
    while quick < 5 {
        let began = Instant::now();
        assert_eq!(client.eval("g.V(0L).count()").await.code, 200);
        quick += usize::from(began.elapsed() < Duration::from_secs(1));
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
    let began = Instant::now();
    drop(heavy);
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(60), "their queries are cancelled");
}

#[tokio::test]
async fn time_limits_hold_for_those_that_compute_and_those_that_do_not_read() {
    let mut options = ServerOptions::default();
    options.query_timeout = Duration::from_secs(1);
    let (database, server) = serve(options);
    add_points(&database, 1000);
    let mut client = Client::connect(server.address()).await;
    let limit =
        |milliseconds| QueryOptions { evaluation_timeout_ms: Some(milliseconds), ..QueryOptions::default() };
    let endless = "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))";
    for milliseconds in [50, 100_000] {
        let began = Instant::now();
        let answer = client.ask(eval(endless, limit(milliseconds))).await;
        assert_eq!((answer.code, answer.kind()), (598, Some("limit")), "{}", answer.message);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    let id = client.send(Format::GraphBinary, eval("g.V().V().V()", limit(0))).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let answer = client.answer(Format::GraphBinary, id).await;
    assert_eq!(answer.code, 598, "{}", answer.message);
    assert_eq!(client.eval("g.V().count()").await.number(), 1000);
}

#[tokio::test]
async fn errors_say_what_is_wrong_and_where() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let wrong = client.eval("g.V().otu()").await;
    assert_eq!((wrong.code, wrong.kind()), (597, Some("invalid")));
    assert_eq!(wrong.last.attributes.place().map(|place| (place.line, place.column)), Some((1, 7)));
    let failed = client.eval("g.inject(1).fail('no stock')").await;
    assert_eq!(failed.code, 595);
    assert!(failed.message.contains("no stock"));
    let file = client.eval("g.io('/etc/passwd').read()").await;
    assert_eq!(file.code, 597, "{}", file.message);
    let commit = client.eval("g.tx().commit()").await;
    assert_eq!(commit.code, 499, "{}", commit.message);
    let half_done = client.eval("g.addV('Point').fail('no')").await;
    assert_eq!(half_done.code, 595);
    assert_eq!(client.eval("g.V().count()").await.number(), 0);
}

#[tokio::test]
async fn an_answer_ends_at_the_limits_of_results_and_bytes_and_what_is_too_long_is_not_written() {
    let mut options = ServerOptions::default();
    options.result_rows_max = 100;
    options.result_bytes_max = 64 << 10;
    let (database, server) = serve(options);
    add_points(&database, 300);
    let mut client = Client::connect(server.address()).await;
    let long = format!("g.V().limit(40).constant('{}')", "x".repeat(5000));
    let all = QueryOptions::default;
    for format in Format::ALL.iter().copied() {
        for (operation, limit) in [
            (eval("g.V().values('at')", all()), "100 results"),
            // Equal ones count each, also if they are sent once.
            (bytecode("g.V().constant(7)", all()), "100 results"),
            (eval("g.addV('Point').V()", all()), "100 results"),
            (eval(&long, all()), "--result-bytes"),
        ] {
            let id = client.send(format, operation).await;
            let answer = client.answer(format, id).await;
            assert_eq!(answer.kind(), Some("limit"), "{}", answer.message);
            assert!(answer.message.contains(limit), "{}", answer.message);
            assert!(answer.results.iter().map(|(_, bulk)| bulk).sum::<u64>() <= 100);
        }
        let id = client.send(format, eval("g.V().limit(100).values('at')", all())).await;
        assert_eq!(client.answer(format, id).await.results.len(), 100);
    }
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 300);
}
