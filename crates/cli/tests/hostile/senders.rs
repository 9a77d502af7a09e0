//! Senders that are slow, or never end: heads, handshakes, messages in part, of a thousand clients.

use crate::site::{Site, Transport, eventually, frame};
use std::io::Write;

const SENDERS: usize = 1000;

fn send_slowly(transport: Transport) {
    let site = Site::serve(transport, 1, &[]);
    // A fifth of a thousand each: nothing, half a handshake, half a head, a message in part, one in fragments.
    let mut silent: Vec<_> = (0..SENDERS / 5).map(|_| site.connect_tcp()).collect();
    let mut handshakes: Vec<_> = (0..SENDERS / 5).map(|_| site.connect_tcp()).collect();
    for stream in &mut handshakes {
        stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01").unwrap();
    }
    let mut heads: Vec<_> = (0..SENDERS / 5).map(|_| site.connect()).collect();
    for stream in &mut heads {
        stream.write_all(b"POST /gremlin HTTP/1.1\r\nHost: localhost\r\nX: ").unwrap();
    }
    let mut messages: Vec<_> = (0..SENDERS / 5).map(|_| site.connect_websocket()).collect();
    let part = frame(0x82, 10 << 20, &[7; 50_000]);
    for stream in &mut messages {
        stream.write_all(&part).unwrap();
    }
    let mut fragments: Vec<_> = (0..SENDERS / 5).map(|_| site.connect_websocket()).collect();
    let fragment = frame(0x02, 1000, &[7; 1000]);
    for stream in &mut fragments {
        stream.write_all(&fragment).unwrap();
    }
    for round in 0..20 {
        for stream in silent.iter_mut().chain(&mut handshakes) {
            // One that was ended takes nothing more.
            let _ = stream.write_all(b"x");
        }
        for stream in heads.iter_mut().chain(&mut messages) {
            let _ = stream.write_all(b"x").and_then(|()| stream.flush());
        }
        let more = frame(0x00, 100, &[7; 100]);
        for stream in &mut fragments {
            let _ = stream.write_all(&more).and_then(|()| stream.flush());
        }
        if round % 5 == 0 {
            site.is_well_within("1,000 senders that are slow", 300);
        }
    }
    let (_, metrics) = site.get("/metrics");
    assert!(metrics.contains("evergraph_websockets 400.0"), "{metrics}");
}

#[test]
fn a_thousand_clients_that_send_slowly_take_little_memory() {
    send_slowly(Transport::Plain);
}

#[test]
fn a_thousand_clients_that_send_slowly_take_little_memory_over_tls() {
    send_slowly(Transport::Tls);
}

#[test]
fn messages_in_part_are_limited_together() {
    let site = Site::serve(Transport::Plain, 1, &[]);
    let part = vec![7; 1 << 20];
    let mut senders = Vec::new();
    // 100 times 9 MiB of a message of 10 MiB.
    for _ in 0..100 {
        let mut sender = site.connect_websocket();
        let begun = sender.write_all(&frame(0x82, 10 << 20, &[]));
        // A message that finds no room ends its connection.
        let _ = begun.and_then(|()| (0..9).try_for_each(|_| sender.write_all(&part)));
        senders.push(sender);
    }
    site.is_well_within("100 messages of 10 MiB in part", 500);
    eventually("those without room are gone", || {
        let (_, metrics) = site.get("/metrics");
        let value = |name: &str| -> f64 {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse().unwrap()
        };
        value("evergraph_websockets ") < 40.0 && value("evergraph_message_bytes ") <= f64::from(256 << 20)
    });
    drop(senders);
}
