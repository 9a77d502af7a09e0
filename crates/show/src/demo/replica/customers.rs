//! Customers: what goes on in the shop while its graph follows: transactions at random, at a rate.
//!
//! | share | one transaction |
//! |---|---|
//! | 50 % | a purchase with one to four products |
//! | 15 % | another state of a purchase |
//! | 10 % | a purchase is cancelled: it goes with its items |
//! | 10 % | a customer moves to another city, or a product has another price |
//! | 15 % | a customer follows another one, or none any more |

use crate::demo::replica::shop::{DATABASE, ShopSize, connect, run};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::split_mix::{GAMMA, mix};
use evergraph_replica::private_server::PrivateServer;
use evergraph_replica::source::postgres::connection::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The customers at work. Dropped, they leave.
#[derive(Debug)]
pub struct Customers {
    cancel: CancelFlag,
    /// Transactions that were committed. Relaxed: it publishes nothing.
    committed: Arc<AtomicU64>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Customers {
    /// Begins to write to the shop, `rate` transactions a second.
    ///
    /// # Errors
    /// Those of connecting; `io` if the system refuses a thread.
    pub fn start(server: &PrivateServer, size: ShopSize, rate: u32, seed: u64) -> Result<Self> {
        let cancel = CancelFlag::default();
        let committed = Arc::new(AtomicU64::new(0));
        // With a flag of its own: a transaction that is under way is not broken off.
        let connection = connect(server, DATABASE, &CancelFlag::default())?;
        let mut writer = Writer {
            connection,
            size,
            random: seed,
            // Behind the first ones, and behind those of another seed.
            next_purchase: size.purchases() + 1 + (seed << 32),
        };
        let (flag, counter) = (cancel.clone(), Arc::clone(&committed));
        let every = Duration::from_secs(1) / rate.max(1);
        let work = move || {
            let began = Instant::now();
            for number in 1u32.. {
                if flag.is_cancelled() {
                    break;
                }
                writer.transaction()?;
                counter.fetch_add(1, Ordering::Relaxed);
                thread::sleep((every * number).saturating_sub(began.elapsed()));
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("demo-customers".to_owned()).spawn(work);
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Io, format!("start the customers of the shop: {error}")).because(error)
        })?;
        Ok(Self { cancel, committed, thread: Some(thread) })
    }

    /// Transactions that were committed.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// Ends behind the transaction that is under way; how many there were.
    ///
    /// # Errors
    /// What a transaction met.
    pub fn stop(mut self) -> Result<u64> {
        self.leave()?;
        Ok(self.committed())
    }

    fn leave(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.cancel.cancel();
        thread.join().expect("the customers don't panic")
    }
}

impl Drop for Customers {
    fn drop(&mut self) {
        // Whoever wants to hear of a failure stops them before.
        drop(self.leave());
    }
}

struct Writer {
    connection: Connection,
    size: ShopSize,
    random: u64,
    next_purchase: u64,
}

impl Writer {
    /// One of them, by chance.
    fn transaction(&mut self) -> Result<()> {
        let sql = match self.below(100) {
            0..50 => self.purchase(),
            50..65 => {
                let state = ["packed", "sent", "returned"][self.below(3) as usize];
                format!("UPDATE purchase SET state = '{state}' WHERE id = {}", self.some_purchase())
            }
            65..75 => {
                let id = self.some_purchase();
                format!(
                    "DELETE FROM purchase_item WHERE purchase_id = {id}; DELETE FROM purchase WHERE id = {id}"
                )
            }
            75..80 => {
                let city = ["Berlin", "Lisbon", "Oslo", "Porto", "Rome"][self.below(5) as usize];
                format!("UPDATE customer SET city = '{city}' WHERE id = {}", self.some_customer())
            }
            80..85 => {
                let (cents, id) = (100 + self.below(9900), 1 + self.below(self.size.products()));
                format!("UPDATE product SET price = {}.{:02} WHERE id = {id}", cents / 100, cents % 100)
            }
            85..95 => format!(
                "INSERT INTO follows VALUES ({}, {}, current_date) ON CONFLICT DO NOTHING",
                self.some_customer(),
                self.some_customer()
            ),
            _ => format!("DELETE FROM follows WHERE customer_id = {}", self.some_customer()),
        };
        run(&mut self.connection, &format!("BEGIN; {sql}; COMMIT")).map(drop)
    }

    fn purchase(&mut self) -> String {
        let id = self.next_purchase;
        self.next_purchase += 1;
        let mut sql = format!(
            "INSERT INTO purchase VALUES ({id}, {}, clock_timestamp(), 'placed')",
            self.some_customer()
        );
        for _ in 0..=self.below(4) {
            let (product, pieces) = (1 + self.below(self.size.products()), 1 + self.below(3));
            sql += &format!(
                "; INSERT INTO purchase_item VALUES ({id}, {product}, {pieces}) ON CONFLICT DO NOTHING"
            );
        }
        sql
    }

    fn some_customer(&mut self) -> u64 {
        1 + self.below(self.size.customers)
    }

    fn some_purchase(&mut self) -> u64 {
        1 + self.below(self.size.purchases())
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(GAMMA);
        mix(self.random) % end.max(1)
    }
}
