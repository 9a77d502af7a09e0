//! Formats: JSON lines and Arrow streams, chosen by Accept.

use crate::support::http_client::{ANSWER_TIME, Answer, Client};
use crate::support::served::{ENDLESS, add_points, eventually, serve};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_ipc::reader::StreamReader;
use evergraph_protocol::format::Format;
use evergraph_protocol::response::read::Response;
use evergraph_server::options::ServerOptions;
use http_body_util::BodyExt as _;
use serde_json::{Value as Json, json};
use std::net::SocketAddr;
use std::time::Duration;

const LINES: &str = "application/x-ndjson";
const ARROW: &str = "application/vnd.apache.arrow.stream";

async fn connect(address: SocketAddr, accept: &str) -> Client {
    Client::connect(address).await.with("accept", accept)
}

fn lines(answer: &Answer) -> Vec<Json> {
    assert!(answer.body.is_empty() || answer.text().ends_with('\n'), "each line has its end");
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The batches of a stream, as one.
fn table(answer: &Answer) -> RecordBatch {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(ARROW)), "{:?}", answer.body);
    let reader = StreamReader::try_new(&answer.body[..], None).unwrap();
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.collect::<Result<_, _>>().unwrap();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

#[tokio::test]
async fn json_lines_have_a_result_a_line() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100);
    let mut client = connect(server.address(), LINES).await;
    let answer = client.query("g.inject(1, 'a\\nb', null).fold().unfold()").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(LINES)), "{}", answer.text());
    let expected = [json!({"@type": "g:Int32", "@value": 1}), json!("a\nb"), Json::Null];
    assert_eq!(lines(&answer), expected);
    let none = client.query("g.V().has('at', -1)").await;
    assert_eq!((none.status, none.body.len()), (200, 0));
    let many = client.query("g.V().as('a').V().as('b').select('b').values('at')").await;
    assert_eq!(many.text().lines().count(), 10_000);
    assert_eq!(many.header("transfer-encoding"), Some("chunked"));
    let written = client.query("g.addV('person').property('error', 1).valueMap()").await;
    assert_eq!(lines(&written)[0]["@type"], "g:Map", "a result is never an object without a type");
    assert_eq!(database.gremlin("g.V().hasLabel('person').count()").one::<i64>().unwrap(), 1);
    let bulk = client.query("g.V().constant(7)").await;
    assert_eq!(bulk.text().lines().count(), 101);
}

#[tokio::test]
async fn an_error_behind_json_lines_is_the_last_line() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 100);
    let mut client = connect(server.address(), LINES).await;
    let late =
        "g.V().as('a').V().as('b').choose(__.select('a').has('at', 90), __.fail('late'), __.identity())";
    let answer = client.query(late).await;
    let all = lines(&answer);
    assert!(answer.status == 200 && all.len() > 1000);
    let (last, others) = all.split_last().unwrap();
    assert!(last["error"]["message"].as_str().unwrap().contains("late"), "{last}");
    assert!(others.iter().all(|line| line["@type"] == "g:Vertex"));
    for (query, status, kind) in [
        (json!({"gremlin": "g.V().otu()"}), 400, "invalid"),
        (json!({"gremlin": "g.V().fail('early')"}), 400, "invalid"),
        (json!({"gremlin": ENDLESS, "evaluationTimeout": 50}), 504, "timeout"),
        (json!({"gremlin": "g.V()", "aliases": {"g": "bank"}}), 400, "not_found"),
    ] {
        let answer = client.post(&query).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["kind"]),
            (status, &kind.into()),
            "{}",
            answer.text()
        );
    }
    let wrong = client.query("g.V().otu()").await.json();
    assert_eq!((&wrong["error"]["line"], &wrong["error"]["column"]), (&json!(1), &json!(7)));
}

#[tokio::test]
async fn json_lines_come_as_they_are_found() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2000);
    let mut client = connect(server.address(), LINES).await;
    // It has some 4,000,000 results, and is not read to its end.
    let query = json!({"gremlin": "g.V().as('a').V().as('b').select('a')"}).to_string();
    let mut response = client.send("POST", "/gremlin", query).await;
    let part =
        tokio::time::timeout(ANSWER_TIME, response.body_mut().frame()).await.unwrap().unwrap().unwrap();
    assert!(part.into_data().unwrap().starts_with(b"{\"@type\":\"g:Vertex\""));
    assert_eq!(server.requests_count(), 1);
    drop((response, client));
    eventually("it is cancelled", async || server.requests_count() == 0).await;
}

#[tokio::test]
async fn an_arrow_stream_has_the_columns_that_python_has() {
    let (database, server) = serve(ServerOptions::default());
    database
        .gremlin(
            "g.addV('Person').property('name', 'Ada').property('age', 36).as('a')\
             .addV('Person').property('name', 'Charles').as('c').addE('knows').from('a').to('c')",
        )
        .run()
        .unwrap();
    let mut client = connect(server.address(), ARROW).await;
    let text = "g.V().order().by('name').project('name', 'knows').by('name').by(__.out().count())";
    let rows = table(&client.query(text).await);
    assert_eq!(
        rows.schema().fields().iter().map(|field| &**field.name()).collect::<Vec<_>>(),
        ["name", "knows"]
    );
    assert_eq!(rows.column(0).as_string::<i64>().iter().collect::<Vec<_>>(), [Some("Ada"), Some("Charles")]);
    assert_eq!(rows.column(1).as_primitive::<Int64Type>().values(), &[1, 0]);
    let vertices = table(&client.query("g.V().order().by(T.id)").await);
    assert_eq!(vertices.column_by_name("result").unwrap().as_primitive::<UInt64Type>().len(), 2);
    let edges = table(&client.query("g.E()").await);
    let edge = edges.column(0).as_struct();
    assert_eq!(edge.column_names(), ["source", "target", "type", "discriminator"]);
    assert_eq!(table(&client.query("g.V().hasLabel('Nothing')").await).num_rows(), 0);
    let written = table(&client.query("g.addV('Person').property('name', 'Mary').values('name')").await);
    assert_eq!(written.column(0).as_string::<i64>().value(0), "Mary");
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 3);
}

#[tokio::test]
async fn a_long_arrow_stream_comes_in_batches_and_errors_have_a_status() {
    let mut options = ServerOptions::default();
    options.query_memory_bytes = 16 << 20;
    let (database, server) = serve(options);
    add_points(&database, 150);
    let mut client = connect(server.address(), ARROW).await;
    let answer = client.query("g.V().as('a').V().as('b').select('a').values('at')").await;
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let rows = table(&answer);
    let sum: i64 = rows.column(0).as_primitive::<Int64Type>().values().iter().sum();
    assert_eq!((rows.num_rows(), sum), (22_500, 150 * 149 * 75));
    for (text, status, words) in [
        ("g.V().out().tree()", 400, "a tree"),
        ("g.V().otu()", 400, "did you mean"),
        ("g.addV('Point').fold().tree()", 400, "a tree"),
        ("g.V().V().V().as('a').V().as('b').select('a', 'b')", 413, "memory"),
    ] {
        let answer = client.query(text).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, Some("application/json")),
            "{text}"
        );
        assert!(answer.text().contains(words), "{text}: {}", answer.text());
    }
    assert_eq!(
        database.gremlin("g.V().count()").one::<i64>().unwrap(),
        150,
        "what cannot be sent is not written"
    );
}

#[tokio::test]
async fn a_slow_reader_of_an_arrow_stream_holds_no_worker() {
    let mut options = ServerOptions::default();
    options.workers = 1;
    let (database, server) = serve(options);
    add_points(&database, 250);
    let mut slow = connect(server.address(), ARROW).await;
    // Several batches, which are more than fits into all buffers.
    let rows = format!("g.V().as('a').V().as('b').limit(50000).constant('{}')", "x".repeat(400));
    let query = json!({"gremlin": rows}).to_string();
    let response = slow.send("POST", "/gremlin", query).await;
    let mut client = Client::connect(server.address()).await;
    let answer = tokio::time::timeout(Duration::from_secs(30), client.query("g.V().count()")).await.unwrap();
    assert_eq!(answer.number(), 250);
    drop(response);
}

#[tokio::test]
async fn warnings_about_unknown_names_are_the_last_line_and_metadata_of_an_arrow_stream() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2);
    let text = "g.V().has('att', 1).count()";
    let mut client = connect(server.address(), LINES).await;
    let answer = client.query(text).await;
    let [result, warnings] = &lines(&answer)[..] else { panic!("{}", answer.text()) };
    assert_eq!(result, &json!({"@type": "g:Int64", "@value": 0}));
    let warning = warnings["warnings"][0].as_str().unwrap();
    assert!(warning.contains("att") && warning.contains("`at`"), "{warning}");
    // A write, whose results are kept, has them as well, and a query without any has none.
    let written = client.query("g.addV('Point').has('att', 1)").await;
    assert_eq!(lines(&written).len(), 1, "{}", written.text());
    assert_eq!(lines(&client.query("g.V().has('at', 1).count()").await).len(), 1);
    let mut arrow = connect(server.address(), ARROW).await;
    let schema = table(&arrow.query(text).await).schema();
    let told: Json = serde_json::from_str(&schema.metadata()["warnings"]).unwrap();
    assert_eq!(told, json!([warning]));
    assert!(table(&arrow.query("g.V().has('at', 1)").await).schema().metadata().is_empty());
}

#[tokio::test]
async fn graph_binary_is_one_message_with_all_results() {
    let mut options = ServerOptions::default();
    options.query_memory_bytes = 1 << 20;
    let (database, server) = serve(options);
    add_points(&database, 300);
    let binary = Format::GraphBinary.mime_type();
    let mut client = connect(server.address(), binary).await;
    let read = |answer: &Answer| {
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(binary)), "{:?}", answer.body);
        Response::read(Format::GraphBinary, &answer.body).unwrap()
    };
    let id = "41d2e28a-20a4-4ab0-b379-d810dede3786";
    let query = json!({"gremlin": "g.V().has('att', 1).count()", "requestId": id});
    let response = read(&client.post(&query).await);
    assert_eq!((response.id.map(|id| id.to_string()), response.code), (Some(id.to_owned()), 200));
    assert!(response.attributes.get("warnings").is_some());
    // Longer than a part.
    let long = client.query("g.V().limit(100).as('a').V().as('b').select('b').values('at')").await;
    assert_eq!((long.header("transfer-encoding"), read(&long).results.len()), (Some("chunked"), 30_000));
    let none = read(&client.query("g.V().has('at', -1)").await);
    assert_eq!((none.code, none.results.len()), (200, 0));
    for (text, status, words) in [
        ("g.V().otu()", 400, "did you mean"),
        ("g.V().as('a').V().as('b').select('a', 'b')", 413, "JSON lines"),
        ("g.addV('Point').V().as('a').V().as('b').select('a', 'b')", 413, "kept until"),
    ] {
        let answer = client.query(text).await;
        let found = (answer.status, answer.header("content-type"));
        assert_eq!(found, (status, Some("application/json")), "{text}");
        assert!(answer.text().contains(words), "{text}: {}", answer.text());
    }
    assert_eq!(
        database.gremlin("g.V().count()").one::<i64>().unwrap(),
        300,
        "what cannot be sent is not written"
    );
}
