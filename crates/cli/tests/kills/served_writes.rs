//! A server that is killed under 64 clients, which write in queries of their own and in transactions.
//!
//! ```text
//! --durability sync              all that was acknowledged is there
//! --durability interval, none    all but an end of it, without a gap
//! ```

use crate::entries::{Entries, book};
use crate::moments::{Moments, cycles, engines};
use crate::service::Service;
use evergraph::EngineKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const CLIENTS: usize = 64;

#[test]
fn a_server_that_is_killed_loses_nothing_that_it_acknowledged() {
    engines().into_iter().enumerate().for_each(|(number, engine)| kill_under_clients(engine, number));
}

/// Modes take turns. Of two kills one is in mode sync, the other in one of the modes that lose an end: none on engines of an even
/// number, an interval on the others.
fn kill_under_clients(engine: EngineKind, number: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (mut entries, mut moments) = (Entries::new(engine, folder.path(), CLIENTS), Moments::new());
    let cycles = cycles(12).max(2);
    for cycle in 0..20 * cycles {
        // More of them on a machine that is slow to write.
        if cycle >= cycles && entries.booked().iter().sum::<i64>() > CLIENTS as i64 {
            break;
        }
        let durability = ["sync", "none", "interval:20ms"][cycle as usize * (1 + number % 2) % 3];
        let mut service = Service::start(&mut entries.serve(&["--durability", durability])).unwrap();
        let is_killed = AtomicBool::new(false);
        let time = Duration::from_millis(200) + moments.within(Duration::from_millis(500));
        let acknowledged: Vec<i64> = thread::scope(|scope| {
            let clients: Vec<_> = entries
                .booked()
                .iter()
                .enumerate()
                .map(|(client, booked)| {
                    let (connection, is_killed) = (service.client(), &is_killed);
                    scope.spawn(move || {
                        let mut next = *booked;
                        loop {
                            match book(&connection, client, next) {
                                Ok(()) => next += 1,
                                Err(_) if is_killed.load(Ordering::Acquire) => return next,
                                Err(error) => panic!("client {client}: {error}"),
                            }
                        }
                    })
                })
                .collect();
            thread::sleep(time);
            is_killed.store(true, Ordering::Release);
            service.kill();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        let before: i64 = entries.booked().iter().sum();
        entries.verify(&acknowledged, durability != "sync");
        let after: i64 = entries.booked().iter().sum();
        println!("{engine}, {durability}: {} entries in {time:?}", after - before);
    }
    let booked: i64 = entries.booked().iter().sum();
    assert!(booked > CLIENTS as i64, "hardly anything was written: {booked}");
}
