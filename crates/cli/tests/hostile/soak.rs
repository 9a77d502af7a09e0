//! Soak: clients of all kinds for as long as EVERGRAPH_SOAK_MINUTES says (a few seconds without it), and memory that stays flat.
//!
//! ```text
//! lookups, streams   read; half of the streams are left in the middle
//! writers            add and drop, so that the graph stays as large as it was
//! transactions       committed, rolled back, left open by who is gone; some conflict
//! http               queries, /metrics, PageRank
//! leavers            half a handshake, half a message
//! ```
//!
//! The median of the memory in the last third of the time may be a tenth and 16 MiB above that in the first third.

use crate::site::{Site, Transport, frame};
use evergraph_client::client::Client;
use evergraph_client::query::Query;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::transaction::TransactionOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Vertices that a writer keeps.
const KEPT: u64 = 500;
/// How often memory is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[derive(Default)]
struct Counts {
    queries: AtomicU64,
    commits: AtomicU64,
    conflicts: AtomicU64,
    left: AtomicU64,
    http: AtomicU64,
}

impl Counts {
    /// Queries, requests by HTTP, commits, conflicts, clients that left.
    fn all(&self) -> [u64; 5] {
        [&self.queries, &self.http, &self.commits, &self.conflicts, &self.left]
            .map(|count| count.load(Ordering::Relaxed))
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn run(client: &Client, text: String) {
    client.query(&Query::text(text)).and_then(|results| results.collect()).unwrap();
}

/// Reads, and leaves some of what it asked for.
fn read(site: &Site, counts: &Counts, round: u64) {
    let client = site.client();
    for at in 0..20 {
        run(&client, format!("g.V().has('Text', 'at', {}).count()", round + at));
        add(&counts.queries);
    }
    let mut results = client.query(&Query::text("g.V().hasLabel('Text').values('text')")).unwrap();
    let is_left = round.is_multiple_of(2);
    while results.next_frame().unwrap().is_some() && !is_left {}
    add(if is_left { &counts.left } else { &counts.queries });
}

/// Adds a vertex with an edge, and drops the one that it added `KEPT` rounds ago.
fn write(client: &Client, counts: &Counts, writer: usize, round: u64) {
    let (key, old) = (format!("{writer}-{round}"), format!("{writer}-{}", round.wrapping_sub(KEPT)));
    run(client, format!("g.addV('Item').property('key', '{key}').as('a').addE('HAS').from('a').to('a')"));
    run(client, format!("g.V().hasLabel('Item').has('key', '{old}').drop()"));
    counts.commits.fetch_add(2, Ordering::Relaxed);
}

/// Commits, rolls back or leaves; all write the same vertex, so that some conflict.
fn transact(client: &Client, counts: &Counts, round: u64) {
    let begin = client.begin(TransactionOptions::default(), &CancelFlag::default());
    let mut transaction = begin.unwrap();
    let text = format!("g.V().hasLabel('Shared').property('at', {round}L)");
    let written = transaction.query(&Query::text(text)).and_then(|results| results.collect());
    let ended: Result<(), Error> = match (written, round % 4) {
        (Err(error), _) => Err(error),
        (Ok(_), 0) => {
            transaction.roll_back();
            Ok(())
        }
        (Ok(_), 1) => {
            drop(transaction);
            add(&counts.left);
            return;
        }
        (Ok(_), _) => transaction.commit().map(|_| add(&counts.commits)),
    };
    match ended {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::Conflict => add(&counts.conflicts),
        Err(error) => panic!("{error}"),
    }
}

fn ask_by_http(site: &Site, counts: &Counts, round: u64) {
    let (path, body) = match round % 10 {
        0 => ("/databases/social/algorithms/pagerank", "{}"),
        _ => ("/gremlin", "{\"gremlin\": \"g.V().hasLabel('Text').limit(100).values('text')\"}"),
    };
    let (status, answer) = site.post(path, body);
    assert_eq!(status, 200, "{path}: {answer}");
    assert_eq!(site.get("/metrics").0, 200);
    counts.http.fetch_add(2, Ordering::Relaxed);
}

fn come_and_leave(site: &Site, counts: &Counts) {
    site.connect_tcp().write_all(b"GET /gremlin HTT").unwrap();
    site.connect_websocket().write_all(&frame(0x82, 1 << 20, &[7; 20_000])).unwrap();
    counts.left.fetch_add(2, Ordering::Relaxed);
}

#[test]
fn memory_stays_flat_under_clients_of_all_kinds() {
    let minutes = std::env::var("EVERGRAPH_SOAK_MINUTES").ok();
    let minutes: Option<f64> = minutes.map(|text| text.parse().expect("EVERGRAPH_SOAK_MINUTES is a number"));
    let time = minutes.map_or(Duration::from_secs(3), |minutes| Duration::from_secs_f64(60.0 * minutes));
    let site = Site::serve(Transport::Plain, 2000, &[]);
    run(&site.client(), "g.addV('Shared')".to_owned());
    let (counts, is_over) = (Counts::default(), AtomicBool::new(false));
    let began = Instant::now();
    let samples = thread::scope(|scope| {
        let again = |work: &dyn Fn(u64)| {
            let mut round = 0;
            while !is_over.load(Ordering::Relaxed) {
                work(round);
                round += 1;
            }
        };
        let (site, counts) = (&site, &counts);
        for writer in 0..2 {
            scope.spawn(move || again(&|round| read(site, counts, round)));
            let client = site.client();
            scope.spawn(move || again(&|round| write(&client, counts, writer, round)));
            let client = site.client();
            scope.spawn(move || again(&|round| transact(&client, counts, round)));
            scope.spawn(move || again(&|round| ask_by_http(site, counts, round)));
        }
        scope.spawn(move || {
            again(&|_| {
                come_and_leave(site, counts);
                thread::sleep(Duration::from_millis(5));
            });
        });
        let mut samples = Vec::new();
        // On a slow machine, until each has happened.
        let is_missing = || counts.all().contains(&0) && began.elapsed() < time + Duration::from_secs(60);
        while began.elapsed() < time || is_missing() {
            thread::sleep(LOOK_EVERY);
            samples.push(site.memory("VmRSS:"));
            if samples.len() % 300 == 0 {
                println!("after {:.0?}: {} MiB", began.elapsed(), samples.last().unwrap() >> 20);
            }
        }
        is_over.store(true, Ordering::Relaxed);
        samples
    });
    let third = samples.len() / 3;
    let (first, last) = (median(&samples[..third]), median(&samples[samples.len() - third..]));
    let counted = counts.all();
    println!(
        "soak: {:.1} minutes, {} queries, {} requests by HTTP, {} commits, {} conflicts, {} clients that left; memory {} MiB \
         in the first third, {} MiB in the last one",
        began.elapsed().as_secs_f64() / 60.0,
        counted[0],
        counted[1],
        counted[2],
        counted[3],
        counted[4],
        first >> 20,
        last >> 20
    );
    assert!(counted.iter().all(|count| *count > 0), "{counted:?}");
    // In a few seconds it only grows to what it needs.
    assert!(
        minutes.is_none() || last <= first + first / 10 + (16 << 20),
        "memory grows: {first} to {last} bytes"
    );
}

fn median(samples: &[u64]) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}
