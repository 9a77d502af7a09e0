//! Hostile: unknown paths and methods, bodies that lie about their length, are deep, long or garbage, smuggled requests.

use crate::support::http_client::{ANSWER_TIME, Client, Ended, raw, raw_until};
use crate::support::served::serve;
use evergraph_server::options::ServerOptions;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn unknown_paths_and_methods_are_errors_in_json() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    for (method, path, status, kind) in [
        ("GET", "/", 404, "not_found"),
        ("GET", "/gremlins", 404, "not_found"),
        ("POST", "/gremlin/", 404, "not_found"),
        ("GET", "/../etc/passwd", 404, "not_found"),
        ("DELETE", "/gremlin", 405, "invalid"),
        ("PUT", "/gremlin", 405, "invalid"),
        ("OPTIONS", "/gremlin", 405, "invalid"),
        ("POST", "/healthz", 405, "invalid"),
    ] {
        let answer = client.ask(method, path, "").await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["kind"]),
            (status, &kind.into()),
            "{method} {path}"
        );
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(
            status != 405 || answer.header("allow").is_some_and(|allow| allow.contains("GET")),
            "{method} {path}"
        );
    }
    let head = client.ask("HEAD", "/gremlin?gremlin=g.V()", "").await;
    assert_eq!((head.status, head.body.len()), (405, 0));
}

#[tokio::test]
async fn bodies_that_are_no_requests_are_refused_and_the_connection_goes_on() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let deep = |open: &str, close: &str, count: usize| {
        format!(
            "{{\"gremlin\": \"g.inject(a)\", \"bindings\": {{\"a\": {}1{}}}}}",
            open.repeat(count),
            close.repeat(count)
        )
    };
    for body in [
        "".to_owned(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{\"gremlin\": \"g.V()\"} {}".to_owned(),
        "{\"gremlin\": \"g.V()\"".to_owned(),
        "{\"gremlin\": \"\\ud800\"}".to_owned(),
        "{\"requestId\": 7}".to_owned(),
        "{\"requestId\": \"not one\", \"gremlin\": \"g.V()\"}".to_owned(),
        "{\"gremlin\": \"g.V()\", \"gremlin\": \"g.E()\"}".to_owned(),
        deep("[", "]", 1_000_000),
        deep("{\"a\":", "}", 1_000_000),
        deep("{\"@type\":\"g:List\",\"@value\":[", "]}", 100_000),
        "\u{0}".repeat(1000),
    ] {
        let answer = client.ask("POST", "/gremlin", body.clone()).await;
        let start: String = body.chars().take(60).collect();
        assert_eq!(answer.status, 400, "{start}: {}", answer.text());
        assert!([498, 499, 597].contains(&answer.code()), "{start}: {}", answer.text());
    }
    let (mut garbage, mut state) = (Vec::new(), 7_u64);
    for _ in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        garbage.push((state >> 56) as u8);
    }
    for content_type in
        ["application/json", "application/vnd.gremlin-v3.0+json", "application/vnd.graphbinary-v1.0"]
    {
        let mut client = Client::connect(server.address()).await.with("content-type", content_type);
        for length in [0, 1, 2, 100, 100_000] {
            let answer = client.ask("POST", "/gremlin", garbage[..length].to_vec()).await;
            assert_eq!((answer.status, answer.code()), (400, 498), "{content_type}, {length}");
        }
    }
    assert_eq!(client.query("g.inject(1)").await.number(), 1);
}

#[tokio::test]
async fn long_bodies_are_refused_before_they_are_read() {
    let (_database, server) = serve(ServerOptions::default());
    let told = b"POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    let (answer, ended) = raw(server.address(), told, ANSWER_TIME).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "a long body is refused: {answer}");
    assert_eq!(ended, Ended::ByServer);
    let mut chunked =
        b"POST /gremlin HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..11 {
        chunked.extend_from_slice(b"100000\r\n");
        chunked.resize(chunked.len() + (1 << 20), b' ');
        chunked.extend_from_slice(b"\r\n");
    }
    let (answer, ended) = raw(server.address(), &chunked, ANSWER_TIME).await;
    assert!(
        ended == Ended::ByServer && (answer.is_empty() || answer.starts_with("HTTP/1.1 413")),
        "{answer}"
    );
    let mut client = Client::connect(server.address()).await;
    let long = format!("{{\"gremlin\": \"g.inject(1)\"{}}}", " ".repeat(9 << 20));
    assert_eq!(client.ask("POST", "/gremlin", long).await.number(), 1, "up to 10 MiB are read");
}

#[tokio::test]
async fn other_types_and_compressed_bodies_are_refused_by_name() {
    let (_database, server) = serve(ServerOptions::default());
    for (name, value, status, words) in [
        ("content-type", "multipart/form-data; boundary=x", 415, "application/json"),
        ("content-encoding", "gzip", 415, "compressed"),
        ("accept", "text/html", 400, "application/json"),
        ("accept", "application/vnd.gremlin-v3.0+json;types=false", 400, "application/json"),
    ] {
        let mut client = Client::connect(server.address()).await.with(name, value);
        let answer = client.query("g.V()").await;
        assert_eq!(answer.status, status, "{name}: {value}: {}", answer.text());
        assert!(answer.text().contains(words), "{}", answer.text());
    }
}

#[tokio::test]
async fn requests_with_two_lengths_or_none_that_holds_are_refused() {
    let (database, server) = serve(ServerOptions::default());
    let smuggled = "POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 29\r\n\r\n{\"gremlin\":\"g.addV('Smuggled')\"}";
    let head = "POST /gremlin HTTP/1.1\r\nHost: localhost\r\n";
    for headers in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 99999999999999999999999\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Content-Length : 5\r\n",
        " Content-Length: 5\r\n",
        "X: a\r\n b\r\n",
    ] {
        let bytes = format!("{head}{headers}\r\nabcde{smuggled}");
        let (answer, ended) = raw(server.address(), bytes.as_bytes(), ANSWER_TIME).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{headers}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count().max(1), 1, "{headers}: {answer}");
        assert_eq!(ended, Ended::ByServer, "{headers}");
    }
    for chunks in
        ["5\r\nabcdeX", "zz\r\nabcde", "-1\r\n", "ffffffffffffffffff\r\n", "5;a\r\nabc", "5\nabcde\n0\n\n"]
    {
        let bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}\r\n{smuggled}");
        let (answer, _) = raw(server.address(), bytes.as_bytes(), 2 * SECOND).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{chunks}: {answer}");
        assert!(answer.matches("HTTP/1.1").count() <= 1, "{chunks}: {answer}");
    }
    // Both headers: the length does not count, and the connection ends behind the answer.
    let both = format!("{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}");
    let (answer, _) = raw(server.address(), both.as_bytes(), 2 * SECOND).await;
    assert!(answer.matches("HTTP/1.1").count() <= 1, "{answer}");
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 0, "nothing was smuggled");
}

#[tokio::test]
async fn long_heads_and_bytes_that_are_no_http_end_the_connection() {
    let (_database, server) = serve(ServerOptions::default());
    let long = format!("GET /gremlin HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100 << 10));
    let many = format!("GET /gremlin HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(1000));
    for bytes in [long.as_bytes(), many.as_bytes(), b"\x16\x03\x01\x02\x00", b"\r\r\r\rGET", &[0; 1000][..]] {
        let (answer, ended) = raw(server.address(), bytes, ANSWER_TIME).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
        assert_eq!(ended, Ended::ByServer, "{answer}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_are_refused_and_others_read_their_answers() {
    let (_database, server) = serve(ServerOptions::default());
    for (name, value) in [("origin", "https://evil.example"), ("origin", "null")] {
        let mut client = Client::connect(server.address()).await.with(name, value);
        let answer = client.query("g.V()").await;
        assert_eq!((answer.status, &answer.json()["error"]["kind"]), (403, &"forbidden".into()), "{value}");
    }
    let mut client = Client::connect(server.address()).await.with("origin", "http://localhost:3000");
    let answer = client.query("g.V()").await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, Some("http://localhost:3000"))
    );
    let foreign = b"POST /gremlin HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n";
    let is_answered = |answer: &str| answer.contains("\r\n");
    let (refused, _) = raw_until(server.address(), foreign, is_answered).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let none = b"POST /gremlin HTTP/1.0\r\nContent-Length: 0\r\n\r\n";
    let (refused, _) = raw_until(server.address(), none, is_answered).await;
    assert!(refused.contains(" 403 "), "{refused}");
}
