//! When a stream hands over what came, beside a fake server, which alone is silent or busy when a test needs it.

use crate::fake_server::{Encryption, data, keepalive, request, serve};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::source::batch::Change;
use evergraph_replica::source::contract::ChangeStream as _;
use evergraph_replica::source::postgres::change_stream::PostgresChanges;
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// What ends a wait that a test does not expect to end.
const WAIT_MAX: Duration = Duration::from_secs(60);

#[test]
fn keepalives_of_a_server_that_never_pauses_are_handed_over() {
    // They fill the socket, so that the client never waits in vain.
    let many: Vec<u8> = (1..=100_000).flat_map(keepalive).collect();
    let (ended, is_ended) = channel::<()>();
    let settings = serve(Encryption::None, move |server| {
        while is_ended.try_recv() == Err(TryRecvError::Empty) {
            server.write_all(&many)?;
        }
        Ok(())
    });
    let mut stream = PostgresChanges::begin(&settings, &request(), &CancelFlag::default()).unwrap();
    let (began, mut count) = (Instant::now(), 0);
    while count < 20 {
        assert!(began.elapsed() < WAIT_MAX, "{count} batches");
        let Some(batch) = stream.next_batch(Duration::from_secs(1)).unwrap() else { continue };
        assert!(batch.changes().all(|change| matches!(change, Change::Keepalive { .. })));
        count += 1;
    }
    drop(ended);
}

/// A server sends each message by itself: handed over one by one, each transaction here would be four batches.
#[test]
fn a_small_transaction_comes_in_one_batch() {
    const TRANSACTIONS: usize = 50;
    let (ended, is_ended) = channel::<()>();
    let settings = serve(Encryption::None, move |server| {
        while is_ended.try_recv() == Err(TryRecvError::Empty) {
            for message in [b"B", b"I", b"I", b"C"] {
                server.write_all(&data(1, message))?;
                server.flush()?;
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    });
    let mut stream = PostgresChanges::begin(&settings, &request(), &CancelFlag::default()).unwrap();
    // A busy machine may take its time within some of them.
    let (began, mut whole, mut batches) = (Instant::now(), 0, 0);
    while whole < TRANSACTIONS {
        assert!(began.elapsed() < WAIT_MAX, "{whole} whole transactions in {batches} batches");
        let Some(batch) = stream.next_batch(Duration::from_secs(1)).unwrap() else { continue };
        let message = |change: Change<'_>| match change {
            Change::Message { bytes, .. } => bytes.to_vec(),
            Change::Keepalive { .. } => Vec::new(),
        };
        let messages: Vec<u8> = batch.changes().flat_map(message).collect();
        batches += 1;
        whole += usize::from(messages.starts_with(b"BIIC"));
    }
    drop(ended);
}

#[test]
fn the_rest_of_a_transaction_that_tls_has_decrypted_does_not_wait_for_the_server() {
    const RECORD_BYTES: usize = 16 << 10;
    // What the client receives into at first: four records fill it.
    const SPACE_BYTES: usize = 4 * RECORD_BYTES;
    let (ended, is_ended) = channel::<()>();
    let settings = serve(Encryption::Tls, move |server| {
        let row = vec![b'I'; SPACE_BYTES];
        let all = [data(1, b"B"), data(1, &row), data(1, b"C")].concat();
        // The fifth record is on the way with the fourth, and is decrypted with it.
        server.write_all(&all)?;
        server.flush()?;
        // Silent until the test ends it.
        let _ended = is_ended.recv();
        Ok(())
    });
    let mut stream = PostgresChanges::begin(&settings, &request(), &CancelFlag::default()).unwrap();
    let (began, mut lengths) = (Instant::now(), Vec::new());
    while lengths.len() < 3 {
        assert!(began.elapsed() < WAIT_MAX, "messages of {lengths:?} bytes");
        let Some(batch) = stream.next_batch(Duration::from_secs(1)).unwrap() else { continue };
        lengths.extend(batch.changes().filter_map(|change| match change {
            Change::Message { bytes, .. } => Some(bytes.len()),
            Change::Keepalive { .. } => None,
        }));
    }
    assert_eq!(lengths, [1, SPACE_BYTES, 1]);
    drop(ended);
}
