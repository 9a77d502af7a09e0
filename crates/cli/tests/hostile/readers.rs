//! Readers that do not read: hundreds of queries are suspended, each with some results of 1 KB, in frames of 64 as drivers ask
//! for, or of 512 KiB as Evergraph's own clients do. Over TLS there are fewer, since buffers of the system are filled first,
//! and encrypted: EVERGRAPH_HOSTILE_READERS=1000 for a thousand of each.

use crate::site::{Site, Transport, frame};
use evergraph_client::query::Query;
use std::io::{Read as _, Write as _};

const READERS: usize = 400;
const TLS_READERS: usize = 200;
/// Of the server's memory, in MiB: without readers, and for 100 of them.
const MEMORY_MAX: u64 = 100;
const READERS_MEMORY_MAX: u64 = 130;
const DRIVERS_MEMORY_MAX: u64 = 50;
const QUERY: &str = "g.V().V().values('text')";

/// As many as the environment says, or `otherwise`.
fn readers_count(otherwise: usize) -> usize {
    std::env::var("EVERGRAPH_HOSTILE_READERS").map_or(otherwise, |count| count.parse().unwrap())
}

fn leave_unread(transport: Transport, readers: usize) {
    let site = Site::serve(transport, 3000, &[]);
    let clients: Vec<_> = (0..readers).map(|_| site.client()).collect();
    let query = Query::text(QUERY);
    let mut results: Vec<_> = clients.iter().map(|client| client.query(&query).unwrap()).collect();
    // Each has begun.
    results.iter_mut().for_each(|results| assert!(results.next_frame().unwrap().is_some()));
    check(&site, &format!("{readers} readers that do not read"), READERS_MEMORY_MAX * readers as u64 / 100);
}

/// Once all are suspended, others are answered, and the memory is within `readers_mebibytes_max` more than without readers.
fn check(site: &Site, what: &str, readers_mebibytes_max: u64) {
    crate::site::eventually("nothing runs any more", || {
        let (_, metrics) = site.get("/metrics");
        ["scheduler_tasks_ready 0.0", "scheduler_tasks_running 0.0"].iter().all(|idle| metrics.contains(idle))
    });
    let count = site.client().query(&Query::text("g.V().count()")).unwrap().collect().unwrap();
    assert_eq!(count.len(), 1);
    site.is_well_within(what, MEMORY_MAX + readers_mebibytes_max);
}

#[test]
fn drivers_that_do_not_read_take_half_a_mebibyte_each() {
    let readers = readers_count(READERS);
    let site = Site::serve(Transport::Plain, 3000, &[]);
    let id = "41d2e28a-20a4-4ab0-b379-d810dede3786";
    let request = format!(
        "{{\"requestId\":\"{id}\",\"op\":\"eval\",\"processor\":\"\",\"args\":{{\"gremlin\":\"{QUERY}\"}}}}"
    );
    let request = frame(0x81, request.len() as u64, request.as_bytes());
    let mut sockets: Vec<_> = (0..readers).map(|_| site.connect_websocket()).collect();
    sockets.iter_mut().for_each(|socket| socket.write_all(&request).unwrap());
    for socket in &mut sockets {
        let mut head = [0; 2];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 0x81, "its first frame has begun");
    }
    check(&site, &format!("{readers} drivers that do not read"), DRIVERS_MEMORY_MAX * readers as u64 / 100);
}

#[test]
fn clients_that_do_not_read_have_bounded_memory() {
    leave_unread(Transport::Plain, readers_count(READERS));
}

#[test]
fn clients_that_do_not_read_over_tls_have_bounded_memory() {
    leave_unread(Transport::Tls, readers_count(TLS_READERS));
}
