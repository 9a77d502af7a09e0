//! Readers that do not read: a thousand queries are suspended, each with some results of 1 KB. Over TLS there are fewer, since
//! buffers of the system are filled first, and encrypted: EVERGRAPH_HOSTILE_TLS_READERS=1000 for as many.

use crate::site::{Site, Transport};
use evergraph_client::query::Query;

const READERS: usize = 1000;
const TLS_READERS: usize = 200;
/// Of the server's memory, in MiB: without readers, and for 100 of them.
const MEMORY_MAX: u64 = 100;
const READERS_MEMORY_MAX: u64 = 160;

fn leave_unread(transport: Transport, readers: usize) {
    let site = Site::serve(transport, 3000, &[]);
    let clients: Vec<_> = (0..readers).map(|_| site.client()).collect();
    let query = Query::text("g.V().V().values('text')");
    let mut results: Vec<_> = clients.iter().map(|client| client.query(&query).unwrap()).collect();
    // Each has begun.
    results.iter_mut().for_each(|results| assert!(results.next_frame().unwrap().is_some()));
    crate::site::eventually("nothing runs any more", || {
        let (_, metrics) = site.get("/metrics");
        ["scheduler_tasks_ready 0.0", "scheduler_tasks_running 0.0"].iter().all(|idle| metrics.contains(idle))
    });
    let count = site.client().query(&Query::text("g.V().count()")).unwrap().collect().unwrap();
    assert_eq!(count.len(), 1);
    let mebibytes_max = MEMORY_MAX + READERS_MEMORY_MAX * readers as u64 / 100;
    site.is_well_within(&format!("{readers} readers that do not read"), mebibytes_max);
}

#[test]
fn a_thousand_clients_that_do_not_read_have_bounded_memory() {
    leave_unread(Transport::Plain, READERS);
}

#[test]
fn clients_that_do_not_read_over_tls_have_bounded_memory() {
    let readers = std::env::var("EVERGRAPH_HOSTILE_TLS_READERS").ok();
    leave_unread(Transport::Tls, readers.map_or(TLS_READERS, |count| count.parse().unwrap()));
}
