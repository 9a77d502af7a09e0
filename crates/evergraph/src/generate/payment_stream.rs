//! Payment stream: an endless sequence of transfers, with rings of fraud among them.
//!
//! Transfers come in the order of time. A ring is begun every so many transfers; its later hops wait
//! until the time of the others has reached them.

use crate::generate::market::{Market, Transfer};
use crate::generate::payments::{Payments, PaymentsOptions, START_MS, account_id};
use crate::generate::random::Random;
use crate::generate::ring::Ring;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

const STREAM: u64 = 30;

/// Transfers without an end, for one thread; the iterator never says `None`.
#[derive(Clone, Debug)]
pub struct PaymentStream {
    market: Arc<Market>,
    random: Random,
    /// The next transfer that belongs to no ring.
    next: Transfer,
    /// Milliseconds between two such transfers, on average.
    pause_ms: u64,
    transfers_per_ring: Option<u64>,
    until_ring: u64,
    /// Time, ring and hop of the transfers that wait.
    waiting: BinaryHeap<Reverse<(i64, usize, usize)>>,
    /// All rings begun, and how many of their transfers came.
    rings: Vec<(Ring, usize)>,
}

impl Payments {
    /// Transfers after those of the graph, without an end, on as dense a line of time. Each `lane` is
    /// a stream of its own, for a thread of its own; rings don't cross lanes.
    #[must_use]
    pub fn stream(&self, lane: u64) -> PaymentStream {
        let PaymentsOptions { transfers, rings, seed, .. } = self.options;
        let start_ms = START_MS + self.options.span_ms();
        let pause_ms = (self.options.span_ms() as u64 / transfers).max(1);
        let transfers_per_ring = transfers.checked_div(u64::from(rings));
        PaymentStream::new(Arc::clone(&self.market), seed, lane, start_ms, pause_ms, transfers_per_ring)
    }
}

impl PaymentStream {
    /// The stream `lane` of `seed` over `market`, from `start_ms` on, with a transfer every
    /// `pause_ms` (at least 1) and a ring every `transfers_per_ring`, if at all.
    fn new(
        market: Arc<Market>,
        seed: u64,
        lane: u64,
        start_ms: i64,
        pause_ms: u64,
        transfers_per_ring: Option<u64>,
    ) -> Self {
        let mut random = Random::new(seed, STREAM, lane);
        let next = market.draw(&mut random, start_ms);
        Self {
            market,
            random,
            next,
            pause_ms,
            transfers_per_ring,
            until_ring: transfers_per_ring.unwrap_or(0) / 2,
            waiting: BinaryHeap::new(),
            rings: Vec::new(),
        }
    }

    /// The rings all of whose transfers came out of the stream, in the order in which they began.
    pub fn closed_rings(&self) -> impl Iterator<Item = &Ring> {
        self.rings.iter().filter(|(ring, seen)| *seen == ring.transfers.len()).map(|(ring, _)| ring)
    }

    fn begin_ring(&mut self) {
        let ring = Ring::plant(&self.market, &mut self.random, self.next.time_ms, account_id);
        let index = self.rings.len();
        let hops = ring.transfers.iter().enumerate();
        self.waiting.extend(hops.map(|(hop, transfer)| Reverse((transfer.time_ms, index, hop))));
        self.rings.push((ring, 0));
    }
}

impl Iterator for PaymentStream {
    type Item = Transfer;

    fn next(&mut self) -> Option<Transfer> {
        if let Some(&Reverse((time_ms, ring, hop))) = self.waiting.peek()
            && time_ms <= self.next.time_ms
        {
            self.waiting.pop();
            let (ring, seen) = &mut self.rings[ring];
            *seen += 1;
            return Some(ring.transfers[hop]);
        }
        let transfer = self.next;
        let time_ms = transfer.time_ms + self.random.below(2 * self.pause_ms + 1) as i64;
        self.next = self.market.draw(&mut self.random, time_ms);
        if let Some(transfers_per_ring) = self.transfers_per_ring {
            match self.until_ring.checked_sub(1) {
                Some(left) => self.until_ring = left,
                None => {
                    self.until_ring = transfers_per_ring;
                    self.begin_ring();
                }
            }
        }
        Some(transfer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn payments() -> Payments {
        let options = PaymentsOptions { accounts: 1000, transfers: 20_000, rings: 40, days: 10, seed: 3 };
        Payments::generate(&options).unwrap()
    }

    #[test]
    fn a_stream_goes_on_in_time_after_the_graph() {
        let payments = payments();
        let times = payments.load.edges[0].column("time_ms").unwrap().unwrap();
        let last = times.get(times.len() - 1).unwrap().as_i64().unwrap();
        let streamed: Vec<Transfer> = payments.stream(0).take(50_000).collect();
        assert!(streamed.is_sorted_by_key(|transfer| transfer.time_ms));
        assert!(streamed[0].time_ms >= last);
        // 43,200 ms a transfer in the graph, rings apart.
        let pause = (streamed[49_999].time_ms - streamed[0].time_ms) / 50_000;
        assert!((40_000..45_000).contains(&pause), "{pause}");
        assert!(streamed.iter().all(|transfer| transfer.source < 1000 && transfer.target < 1000));
    }

    #[test]
    fn rings_are_closed_when_all_their_transfers_came() {
        let payments = payments();
        let mut stream = payments.stream(1);
        let streamed: HashSet<(u32, u32, i64)> = stream
            .by_ref()
            .take(20_000)
            .map(|transfer| (transfer.source, transfer.target, transfer.time_ms))
            .collect();
        let closed: Vec<_> = stream.closed_rings().collect();
        assert!((35..=41).contains(&closed.len()), "{}", closed.len());
        for ring in closed {
            for transfer in &ring.transfers {
                assert!(streamed.contains(&(transfer.source, transfer.target, transfer.time_ms)));
            }
        }
    }

    #[test]
    fn lanes_differ_and_each_follows_from_the_seed() {
        let first = |lane| payments().stream(lane).take(1000).collect::<Vec<Transfer>>();
        assert_eq!(first(0), first(0));
        assert_ne!(first(0), first(1));
    }
}
