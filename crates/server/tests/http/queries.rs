//! Queries: as Gremlin Server answers them, with each status.

use crate::support::http_client::Client;
use crate::support::served::{ENDLESS, add_points, eventually, patient, serve};
use evergraph_graph::value::Value;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Operation, QueryOptions, Request};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::Call;
use evergraph_server::options::ServerOptions;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use serde_json::json;
use std::time::Duration;
use uuid::Uuid;

const ID: &str = "41d2e28a-20a4-4ab0-b379-d810dede3786";

#[tokio::test]
async fn a_query_is_answered_as_gremlin_server_does() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let answer = client.post(&json!({"gremlin": "g.inject(1, 'a')", "requestId": ID})).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let map = json!({"@type": "g:Map", "@value": []});
    let expected = json!({
        "requestId": ID,
        "status": {"code": 200, "message": "", "attributes": map},
        "result": {"data": {"@type": "g:List", "@value": [{"@type": "g:Int32", "@value": 1}, "a"]}, "meta": map},
    });
    assert_eq!(answer.json(), expected);
    assert!(answer.header("content-length").is_some(), "a short answer is sent as a whole");
    let answer = client.query("g.V()").await;
    assert_eq!(
        (answer.status, answer.code(), answer.results().len()),
        (200, 200, 0),
        "no results are no 204"
    );
    let id = answer.json()["requestId"].as_str().unwrap().parse::<Uuid>().unwrap();
    assert_ne!(
        id,
        client.query("g.V()").await.json()["requestId"].as_str().unwrap().parse::<Uuid>().unwrap()
    );
}

#[tokio::test]
async fn bindings_are_plain_json_or_have_types_and_options_are_read() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 3);
    let mut client = Client::connect(server.address()).await;
    let bindings = json!({
        "a": 1, "b": 1.5, "c": "x", "d": true, "e": [1, "y"], "f": {"k": 2},
        "g1": {"@type": "g:Int64", "@value": 7}, "h": {"@type": "g:UUID", "@value": ID},
    });
    let names = ["a", "b", "c", "d", "e", "f", "g1", "h"];
    for name in names {
        let query = json!({"gremlin": format!("g.inject({name})"), "bindings": bindings});
        let answer = client.post(&query).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    }
    let query = json!({"gremlin": "g.V().has('at', n).count()", "bindings": {"n": 2}, "language": "gremlin-groovy",
        "aliases": {"g": "social"}, "op": "eval", "evaluationTimeout": 5000, "batchSize": 3,
        "materializeProperties": "tokens", "userAgent": "test"});
    assert_eq!(client.post(&query).await.number(), 1);
    let tokens = client.post(&json!({"gremlin": "g.V()", "materializeProperties": "tokens"})).await;
    assert!(tokens.results()[0]["@value"].get("properties").is_none(), "{}", tokens.text());
    assert!(client.query("g.V()").await.results()[0]["@value"]["properties"]["at"].is_array());
}

#[tokio::test]
async fn messages_of_drivers_are_read_in_both_formats() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2);
    let steps = vec![Call::new("V", []), Call::new("label", [])];
    let bytecode = || Operation::Bytecode {
        bytecode: Bytecode::new(Vec::new(), steps.clone()),
        options: QueryOptions::default(),
    };
    let eval = || Operation::Eval {
        gremlin: "g.V().count()".into(),
        language: None,
        bindings: Bindings::new(),
        options: QueryOptions::default(),
    };
    for format in Format::ALL {
        let mut client = Client::connect(server.address()).await.with("content-type", format.mime_type());
        for (operation, expected) in [(eval(), 2_i64), (bytecode(), 2)] {
            let request = Request { id: ID.parse().unwrap(), operation };
            let answer = client.ask("POST", "/gremlin", request.to_message(*format).unwrap()).await;
            let response = Response::read(Format::GraphSon, &answer.body).unwrap();
            assert_eq!(response.id, Some(request.id));
            let count = match &response.results[0].value {
                ResultValue::Value(Value::I64(count)) => *count,
                _ => response.results.iter().map(|result| result.bulk as i64).sum(),
            };
            assert_eq!((answer.status, count), (200, expected), "{}", answer.text());
        }
        let close = Request { id: ID.parse().unwrap(), operation: Operation::Close { session: "a".into() } };
        let answer = client.ask("POST", "/gremlin", close.to_message(*format).unwrap()).await;
        assert_eq!((answer.status, answer.code()), (400, 499), "{}", answer.text());
        assert!(answer.text().contains("WebSocket"), "{}", answer.text());
    }
    let mut client =
        Client::connect(server.address()).await.with("content-type", Format::GraphSon.mime_type());
    let body = Request { id: ID.parse().unwrap(), operation: eval() }.to_body(Format::GraphSon).unwrap();
    assert_eq!(client.ask("POST", "/gremlin", body).await.number(), 2, "without the MIME type in front");
}

#[tokio::test]
async fn a_get_reads_and_never_writes() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2);
    let mut client = Client::connect(server.address()).await;
    let count = client.ask("GET", "/gremlin?gremlin=g.V().count()&language=gremlin-groovy", "").await;
    assert_eq!(count.number(), 2);
    let path =
        format!("/gremlin?gremlin=g.inject%28a%29&bindings.a=x+%C3%A9&aliases.g=g_social&requestId={ID}");
    let answer = client.ask("GET", &path, "").await;
    assert_eq!((answer.results(), &answer.json()["requestId"]), (vec![json!("x é")], &json!(ID)));
    let write = client.ask("GET", "/gremlin?gremlin=g.addV('Point')", "").await;
    assert_eq!((write.status, write.code()), (400, 499), "a GET does not write: {}", write.text());
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 2, "a GET does not write");
    for path in ["/gremlin", "/gremlin?gremlin=%ff", "/gremlin?gremlin=g.V()&limit=1", "/gremlin?requestId=1"]
    {
        let answer = client.ask("GET", path, "").await;
        assert_eq!(answer.status, 400, "{path}: {}", answer.text());
    }
    let mut page = Client::connect(server.address()).await.with("sec-fetch-site", "cross-site");
    assert_eq!(page.ask("GET", "/gremlin?gremlin=g.V().count()", "").await.status, 403);
}

#[tokio::test]
async fn errors_have_the_status_of_gremlin_server_and_say_what_is_wrong() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2);
    let mut client = Client::connect(server.address()).await;
    for (query, status, code, words) in [
        (json!({"gremlin": "g.V().otu()", "requestId": ID}), 500, 597, "did you mean `out`"),
        (json!({"gremlin": "g.inject(1).fail('no')"}), 500, 595, "no"),
        (json!({"gremlin": ENDLESS, "evaluationTimeout": 50}), 500, 598, "time"),
        (json!({"gremlin": "g.V()", "aliases": {"g": "bank"}}), 400, 499, "bank"),
        (json!({"gremlin": "g.V()", "language": "gremlin-python"}), 400, 499, "language"),
        (json!({"gremlin": "g.V()", "bindnigs": {}}), 400, 499, "did you mean `bindings`"),
        (json!({"gremlin": 1}), 400, 499, "a string expected"),
        (json!({"bindings": {}}), 400, 499, "`gremlin` is missing"),
        (json!({"gremlin": "g.V()", "op": "bytecode"}), 400, 499, "Content-Type"),
        (json!({"gremlin": "g.V()", "session": "a"}), 200, 200, ""),
        (json!({"gremlin": "g.tx().commit()"}), 400, 499, "transaction"),
        (json!({"gremlin": "g.io('x.json').read()"}), 500, 597, "files of the server"),
    ] {
        let answer = client.post(&query).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{query}: {}", answer.text());
        assert!(answer.text().contains(words), "{query}: {}", answer.text());
        let json = answer.json();
        if status != 200 {
            assert_eq!(json["message"], json["status"]["message"], "errors of Gremlin Server have `message`");
        }
    }
    let wrong = client.query("g.V().otu()").await.json();
    let attributes = wrong["status"]["attributes"]["@value"].as_array().unwrap().clone();
    assert!(attributes.contains(&json!("column")) && attributes.contains(&json!("invalid")), "{wrong}");
}

#[tokio::test]
async fn a_conflict_is_409_and_writes_nothing() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1);
    // Two writers of one property in a loop: sooner or later the commit of one meets the other's.
    let mut clients = [Client::connect(server.address()).await, Client::connect(server.address()).await];
    let mut times = 2000;
    eventually("a commit meets another one", async || {
        let [first, second] = &mut clients;
        let text = format!("g.V().property('at', 1).V().repeat(__.identity()).times({times}).count()");
        // On a fast machine they need more time to meet, and on one with a single core more than a slice.
        times = (2 * times).min(1_000_000);
        let (first, second) = tokio::join!(first.query(&text), second.query(&text));
        for answer in [&first, &second].into_iter().filter(|answer| answer.status != 200) {
            assert_eq!((answer.status, answer.code()), (409, 596), "{}", answer.text());
            assert!(answer.text().contains("conflict"), "{}", answer.text());
        }
        first.status == 409 || second.status == 409
    })
    .await;
}

#[tokio::test]
async fn a_long_answer_is_streamed_and_an_error_in_it_is_in_its_status() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100);
    let mut client = Client::connect(server.address()).await;
    let answer = client.query("g.V().as('a').V().as('b').select('a').id()").await;
    assert_eq!((answer.code(), answer.results().len()), (200, 10_000));
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let late =
        "g.V().as('a').V().as('b').choose(__.select('a').has('at', 90), __.fail('late'), __.identity())";
    let answer = client.query(late).await;
    assert_eq!((answer.status, answer.code()), (200, 595), "what was sent stays sent");
    assert!(
        answer.results().len() > 1000
            && answer.json()["status"]["message"].as_str().unwrap().contains("late")
    );
    let early = client.query("g.V().fail('early')").await;
    assert_eq!((early.status, early.code()), (500, 595));
    assert_eq!(client.query("g.V().count()").await.number(), 100, "the connection goes on");
}

#[tokio::test]
async fn a_write_is_answered_once_it_is_durable_and_with_what_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("social.eg");
    let database = std::sync::Arc::new(evergraph::Database::open(&path).unwrap());
    let address = "127.0.0.1:0".parse().unwrap();
    let server = evergraph_server::server::Server::start(
        std::sync::Arc::clone(&database),
        "social",
        address,
        ServerOptions::default(),
    )
    .unwrap();
    let mut client = Client::connect(server.address()).await;
    let answer = client.query("g.addV('person').property('name', 'ann')").await;
    assert_eq!((answer.status, answer.results().len()), (200, 1), "{}", answer.text());
    assert_eq!(answer.results()[0]["@value"]["label"], "person");
    let failed = client.query("g.addV('person').fail('no')").await;
    assert_eq!(failed.status, 500);
    assert_eq!(client.query("g.V().count()").await.number(), 1, "a query that fails writes nothing");
}

#[tokio::test]
async fn the_query_of_a_client_that_is_gone_is_cancelled() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2000);
    for text in [ENDLESS, "g.V().as('a').V().as('b').select('a')"] {
        let mut client = Client::connect(server.address()).await;
        let query = json!({"gremlin": text}).to_string();
        let asking = tokio::spawn(async move {
            // Of the second there is a part, which nobody reads.
            let _response = client.try_send("POST", "/gremlin", query).await;
            std::future::pending::<()>().await;
        });
        eventually("it runs", async || server.requests_count() > 0).await;
        asking.abort();
        eventually("the query of a client that is gone ends", async || server.requests_count() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn clients_that_do_not_read_hold_no_worker() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2000);
    // Few rows, each by itself, fill all buffers.
    let long = format!("g.V().as('a').V().as('b').constant('{}')", "x".repeat(2000));
    let mut readers = Vec::new();
    for _ in 0..100 {
        let mut reader = Client::connect(server.address()).await;
        let query = json!({"gremlin": long}).to_string();
        let response = reader.send("POST", "/gremlin", query).await;
        readers.push((reader, response));
    }
    let mut client = Client::connect(server.address()).await;
    let mut quick_in_a_row = 0;
    let began = std::time::Instant::now();
    while quick_in_a_row < 10 {
        let asked = std::time::Instant::now();
        assert_eq!(client.query("g.V().has('at', 7).count()").await.number(), 1);
        quick_in_a_row = if asked.elapsed() < Duration::from_secs(1) { quick_in_a_row + 1 } else { 0 };
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", asked.elapsed());
    }
    eventually("only those that wait for their readers run", async || server.requests_count() == 100).await;
    let (_, response) = &mut readers[0];
    let part = response.body_mut().frame().await.unwrap().unwrap();
    assert!(part.into_data().unwrap().starts_with(b"{\"requestId\"") && !response.body().is_end_stream());
}

#[tokio::test]
async fn the_end_of_the_server_finishes_what_runs_and_takes_nothing_more() {
    let mut options = patient();
    options.stop_grace = Duration::from_secs(600);
    let (database, server) = serve(options);
    add_points(&database, 150);
    let address = server.address();
    let mut idle = Client::connect(address).await;
    assert_eq!(idle.query("g.V().count()").await.number(), 150);
    // Its answer may be there before it is no longer counted.
    eventually("the first query has ended", async || server.requests_count() == 0).await;
    let mut client = Client::connect(address).await;
    let running = tokio::spawn(async move { client.query("g.V().V().V().count()").await.number() });
    eventually("it runs", async || server.requests_count() == 1).await;
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    assert_eq!(running.await.unwrap(), 3_375_000);
    stopping.await.unwrap();
    assert!(idle.try_send("GET", "/healthz", "").await.is_err());
}
