//! Bombs: small requests that ask for much. Each is refused or ends by a limit, and others are answered meanwhile.

use crate::site::{Site, Transport, frame};
use evergraph_client::query::Query;
use evergraph_graph::error::ErrorKind;
use std::io::{Read, Write};
use std::time::Duration;

#[test]
fn messages_that_lie_about_lengths_or_are_deep_are_refused_in_little_memory() {
    let site = Site::serve(Transport::Plain, 1, &[]);
    let id = [7; 16];
    let binary = b"\x20application/vnd.graphbinary-v1.0";
    // Lengths of strings, lists and maps that no message has.
    let mut lies = Vec::new();
    for length in [0x7fff_ffff_u32, 0xffff_ffff, 0x0fff_ffff] {
        lies.push([&binary[..], &[0x81], &id, &length.to_be_bytes()].concat());
        lies.push([&binary[..], &[0x81], &id, &4_u32.to_be_bytes(), b"eval", &length.to_be_bytes()].concat());
        let arguments = [&0_u32.to_be_bytes()[..], &length.to_be_bytes()].concat();
        lies.push([&binary[..], &[0x81], &id, &4_u32.to_be_bytes(), b"eval", &arguments].concat());
    }
    for lie in &lies {
        let mut socket = site.connect_websocket();
        socket.write_all(&frame(0x82, lie.len() as u64, lie)).unwrap();
        let mut head = [0; 2];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 0x82, "it is answered");
    }
    // A frame of 2^63 bytes, which ends the connection.
    let mut socket = site.connect_websocket();
    socket.write_all(&frame(0x82, 1 << 62, &[])).unwrap();
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest[0] == 0x88, "{rest:?}");
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"@type\":\"g:List\",\"@value\":[", "]}")] {
        let depth = if open.len() < 10 { 1_000_000 } else { 200_000 };
        let body = format!("{{\"args\":{}1{}}}", open.repeat(depth), close.repeat(depth));
        let mut socket = site.connect_websocket();
        socket.write_all(&frame(0x81, body.len() as u64, body.as_bytes())).unwrap();
        let mut head = [0; 2];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 0x81, "it is answered");
    }
    site.is_well_within("lies and depth", 200);
}

#[test]
fn queries_that_grow_without_end_end_by_their_limits() {
    let site = Site::serve(Transport::Plain, 3000, &["--query-memory", "32MiB", "--timeout", "8s"]);
    let growing = [
        // Paths and sacks that grow with every turn.
        "g.V().repeat(__.V()).emit().path()",
        "g.V().repeat(__.V().as('a')).emit().select(all, 'a')",
        "g.V().fold().repeat(__.union(__.identity(), __.identity()).fold()).until(__.constant(false).is(true))",
        "g.V().values('text').fold().repeat(__.union(__.unfold(), __.unfold()).fold()).times(40)",
        "g.inject('x').repeat(__.union(__.identity(), __.identity())).times(60).path()",
        "g.V().V().V().order().by('text')",
        "g.V().V().V().group().by(__.id())",
    ];
    let clients: Vec<_> = growing
        .into_iter()
        .map(|text| {
            let client = site.client();
            let asking = std::thread::spawn(move || {
                let mut results = client.query(&Query::text(text))?;
                while results.next_frame()?.is_some() {}
                Ok::<_, evergraph_graph::error::Error>(())
            });
            (text, asking)
        })
        .collect();
    // A bulk of 2^60 counts at once, and as results it is cut by whoever reads.
    let many = "g.inject(1).repeat(__.union(__.identity(), __.identity())).times(60)";
    let count = site.client().query(&Query::text(format!("{many}.count()"))).unwrap().collect().unwrap();
    assert_eq!(format!("{count:?}"), format!("[Value(I64({}))]", 1_i64 << 60));
    let client = site.client();
    let mut results = client.query(&Query::text(many)).unwrap();
    assert!(results.next_frame().unwrap().is_some());
    drop(results);
    while !clients.iter().all(|(_, asking)| asking.is_finished()) {
        assert_eq!(site.get("/healthz").0, 200);
        std::thread::sleep(Duration::from_millis(100));
    }
    for (text, asking) in clients {
        let error = asking.join().unwrap().expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Limit, "{text}: {error}");
    }
    site.is_well_within("queries that grow", 700);
}

/// Requests that take long to read, one after the other on each connection. They are not read on the threads of the network.
#[test]
fn health_is_told_within_a_second_while_long_messages_are_read() {
    const CLIENTS: usize = 8;
    let site = Site::serve(Transport::Plain, 1, &[]);
    // A million numbers, which a short query does not use.
    let id = "41d2e28a-20a4-4ab0-b379-d810dede3786";
    let numbers = ",123".repeat(1_000_000);
    let arguments = format!("{{\"gremlin\":\"g.inject(1)\",\"bindings\":{{\"a\":[1{numbers}]}}}}");
    let body = format!("{{\"requestId\":\"{id}\",\"op\":\"eval\",\"processor\":\"\",\"args\":{arguments}}}");
    let message = frame(0x81, body.len() as u64, body.as_bytes());
    let sending: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (mut socket, message) = (site.connect_websocket(), message.clone());
            std::thread::spawn(move || while socket.write_all(&message).is_ok() {})
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    site.is_well("long messages");
    // Its end ends the senders.
    drop(site);
    sending.into_iter().for_each(|sender| sender.join().unwrap());
}
