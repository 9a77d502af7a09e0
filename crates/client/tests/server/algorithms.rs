//! Algorithms: the same rows as in an embedded database, errors of every kind, and answers that end too early.

use crate::script::serve_script;
use crate::{PATIENCE, add_points, connect, eventually, serve, url};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use evergraph::Database;
use evergraph_analysis::arguments::{Argument, Arguments};
use evergraph_analysis::names::{PropertyCondition, ScopeNames};
use evergraph_analysis::table::{ALGORITHMS, by_name};
use evergraph_client::algorithm::{AlgorithmRequest, AlgorithmTable};
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::url::ServerUrl;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::filter::{Comparison, Condition};
use evergraph_graph::value::{Value, ValueType};
use evergraph_server::options::ServerOptions;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

fn request(name: &str, given: &[(&str, Argument)]) -> AlgorithmRequest {
    let algorithm = by_name(name).unwrap();
    AlgorithmRequest::new(algorithm, Arguments::new(algorithm.parameters, given.iter().cloned()).unwrap())
}

fn scores(table: &AlgorithmTable) -> Vec<(u64, f64)> {
    let rows = table.batches.iter().flat_map(|batch| {
        let vertices = batch.column(0).as_primitive::<UInt64Type>().values();
        let scores = batch.column(1).as_primitive::<Float64Type>().values();
        vertices.iter().copied().zip(scores.iter().copied())
    });
    rows.collect()
}

/// People of three years, in a circle.
fn people(database: &Database) {
    database
        .transact(|tx| {
            let mut people = Vec::new();
            for (name, born) in [("Ada", "1815-12-10"), ("Charles", "1791-12-26"), ("Mary", "1780-12-26")] {
                let born = Value::parse(born, ValueType::Date).unwrap();
                people.push(tx.add_vertex("Person", &[("name", name.into()), ("born", born)])?);
            }
            for at in 0..3 {
                tx.add_edge(people[at], "KNOWS", people[(at + 1) % 3], &[("since", 0.1.into())])?;
            }
            tx.add_vertex("Machine", &[]).map(drop)
        })
        .unwrap();
}

#[test]
fn rows_have_keys_and_figures_and_are_those_of_a_part_of_the_graph() {
    let (database, server) = serve(ServerOptions::default());
    people(&database);
    let client = connect(&server);
    let born = Value::parse("1800-01-01", ValueType::Date).unwrap();
    let condition = Condition::Compare(Comparison::Less, born);
    let scope = ScopeNames {
        labels: vec!["Person".to_owned()],
        types: vec!["KNOWS".to_owned()],
        vertices: vec![
            PropertyCondition { key: "name".to_owned(), condition: Condition::Exists },
            PropertyCondition { key: "born".to_owned(), condition },
        ],
        edges: vec![PropertyCondition {
            key: "since".to_owned(),
            condition: Condition::In(vec![0.1.into()]),
        }],
    };
    let request = request("pagerank", &[("iterations", Argument::Whole(7))]).scope(scope);
    let table = client.algorithm(&request.keys(vec!["name".to_owned(), "born".to_owned()])).unwrap();
    assert_eq!(table.schema.metadata()["iterations"], "7");
    assert!(table.schema.metadata().contains_key("kernel_seconds"));
    assert_eq!(scores(&table).iter().map(|row| row.0).collect::<Vec<_>>(), [1, 2]);
    let names = table.batches[0].column(2).as_string::<i64>();
    assert_eq!(names.iter().flatten().collect::<Vec<_>>(), ["Charles", "Mary"]);
    // An empty answer has all columns.
    let none = ScopeNames { labels: vec!["Machine".to_owned()], ..ScopeNames::default() };
    let types = vec!["KNOWS".to_owned()];
    let table = client.algorithm(&self::request("wcc", &[]).scope(ScopeNames { types, ..none })).unwrap();
    assert_eq!((table.batches.len(), table.batches[0].num_rows()), (1, 1));
}

#[test]
fn every_algorithm_of_the_table_answers_with_its_columns() {
    let (database, server) = serve(ServerOptions::default());
    people(&database);
    let client = connect(&server);
    for algorithm in ALGORITHMS {
        let vertex = |at| Argument::Vertex(evergraph::VertexId(at));
        let property = || Argument::Property("since".to_owned());
        let given: &[(&str, Argument)] = &match algorithm.name {
            "bfs" => vec![("source", vertex(0))],
            "sssp" => vec![("source", vertex(0)), ("weight", property())],
            "shortest_path" => vec![("source", vertex(0)), ("target", vertex(2))],
            "k_hop" | "personalized_pagerank" => vec![("sources", vertex(1))],
            "flow_rings" => {
                vec![
                    ("amount", property()),
                    ("time", property()),
                    ("pause_max", Argument::Real(f64::INFINITY)),
                ]
            }
            _ => Vec::new(),
        };
        let answered = client.algorithm(&request(algorithm.name, given));
        // Of a circle there is no order.
        assert_eq!(
            answered.is_err(),
            algorithm.name == "topological_order",
            "{}: {answered:?}",
            algorithm.name
        );
    }
}

#[test]
fn what_the_graph_does_not_have_is_told() {
    let (database, server) = serve(ServerOptions::default());
    people(&database);
    let client = connect(&server);
    let labels = vec!["Persn".to_owned()];
    let scope = ScopeNames { labels, ..ScopeNames::default() };
    let error = client.algorithm(&request("pagerank", &[]).scope(scope)).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("Persn"), "{error}");
    let error = client.algorithm(&request("wcc", &[]).keys(vec!["nme".to_owned()])).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("nme"), "{error}");
    let weight = Argument::Property("sinc".to_owned());
    let source = Argument::Vertex(evergraph::VertexId(0));
    let error = client.algorithm(&request("sssp", &[("source", source), ("weight", weight)])).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("sinc"), "{error}");
    let other = Client::new(&url(server.address(), "bank"), ClientOptions::default()).unwrap();
    let error = other.algorithm(&request("wcc", &[])).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("bank"), "{error}");
    let default = format!("ws://{}", server.address()).parse().unwrap();
    let default = Client::new(&default, ClientOptions::default()).unwrap();
    assert!(default.algorithm(&request("wcc", &[])).is_ok(), "without a name it is the first database");
}

#[test]
fn limits_of_the_server_and_of_the_client_are_limits() {
    let mut options = ServerOptions::default();
    options.query_memory_bytes = 1 << 16;
    let (database, server) = serve(options);
    add_points(&database, 10_000);
    let error = connect(&server).algorithm(&request("wcc", &[])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 10_000);
    let mut options = ClientOptions::default();
    options.table_bytes_max = 100_000;
    let client = Client::connect(&url(server.address(), "social"), options).unwrap();
    let error = client.algorithm(&request("wcc", &[])).unwrap_err();
    assert!(error.kind() == ErrorKind::Limit && error.to_string().contains("100000"), "{error}");
}

#[test]
fn a_cancelled_algorithm_stops_on_the_server() {
    let mut options = ServerOptions::default();
    options.query_timeout = Duration::from_secs(600);
    let (database, server) = serve(options);
    // Simple cycles of a complete graph: more than anybody has time for.
    database
        .transact(|tx| {
            let points = (0..40).map(|_| tx.add_vertex("Point", &[])).collect::<Result<Vec<_>>>()?;
            for from in &points {
                for to in points.iter().filter(|to| *to != from) {
                    tx.add_edge(*from, "TO", *to, &[])?;
                }
            }
            Ok(())
        })
        .unwrap();
    let client = connect(&server);
    let endless = request(
        "cycles",
        &[
            ("length_min", Argument::Whole(12)),
            ("length_max", Argument::Whole(12)),
            ("limit", Argument::Whole(u64::from(u32::MAX))),
        ],
    );
    let cancel = CancelFlag::default();
    let running = {
        let (client, request) = (client.clone(), endless.cancel(&cancel));
        thread::spawn(move || client.algorithm(&request))
    };
    let open = || database.statistics().unwrap().store.readers;
    eventually("it begins", || open() > 0);
    cancel.cancel();
    assert_eq!(running.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    eventually("the server notices that nobody waits", || open() == 0);
    assert!(client.algorithm(&request("wcc", &[])).is_ok());
}

/// A server that answers each request with `head` and `body`, and hangs up. The URL names a database, so that nobody asks for
/// its name first.
fn answering(head: &'static str, body: Vec<u8>) -> ServerUrl {
    let mut url = serve_script(move |mut stream| {
        let (mut got, mut byte) = (Vec::new(), [0]);
        while !got.ends_with(b"}") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
            got.push(byte[0]);
        }
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&body);
        let _ = stream.shutdown(Shutdown::Write);
        while let Ok(1..) = stream.read(&mut [0; 1000]) {}
    });
    url.database = Some("social".to_owned());
    url
}

fn refused(url: &ServerUrl) -> Error {
    let began = Instant::now();
    let client = Client::new(url, ClientOptions::default()).unwrap();
    let error = client.algorithm(&request("wcc", &[])).unwrap_err();
    assert!(began.elapsed() < PATIENCE);
    error
}

#[test]
fn a_hostile_answer_is_an_error() {
    let arrow = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.apache.arrow.stream\r\n\r\n";
    for body in [
        &b""[..],
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\xff\xff\xff\xff\0\0\0\0",
        &[0; 999],
    ] {
        assert_eq!(refused(&answering(arrow, body.to_vec())).kind(), ErrorKind::Io, "{body:?}");
    }
    let text = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nhello world";
    assert!(refused(&answering(text, Vec::new())).to_string().contains("no Arrow stream"));
    for (head, kind) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnginx", ErrorKind::Invalid),
        ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", ErrorKind::Busy),
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", ErrorKind::Io),
        ("HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}", ErrorKind::Io),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.apache.arrow.stream\r\nContent-Length: 99\r\n\r\n",
            ErrorKind::Io,
        ),
        ("\u{0}garbage\r\n\r\n", ErrorKind::Io),
    ] {
        let error = refused(&answering(head, Vec::new()));
        assert_eq!(error.kind(), kind, "{head}: {error}");
    }
    // An error has the server's kind; a body without end is not read to its end.
    let told = "HTTP/1.1 400 No\r\n\r\n{\"error\": {\"kind\": \"conflict\", \"message\": \"\u{e9}\"}}";
    assert_eq!(refused(&answering(told, Vec::new())).kind(), ErrorKind::Conflict);
    let endless = answering("HTTP/1.1 400 No\r\nContent-Length: 99999999\r\n\r\n", vec![b'a'; 1 << 20]);
    assert_eq!(refused(&endless).kind(), ErrorKind::Limit);
}
