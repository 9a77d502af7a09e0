//! Tally: what the writing process has said so far, added up.

use crate::demo::analysis::Ranked;
use crate::demo::message::Message;
use crate::demo::network::Network;
use crate::demo::rings::RingKey;
use evergraph::generate::payment_stream::PaymentStream;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Everything that was said.
#[derive(Debug)]
pub struct Tally {
    /// When writing began.
    pub began: Option<Instant>,
    /// The acknowledged transfers of each lane, counted from its beginning.
    pub acknowledged: Vec<u64>,
    /// Latency of each commit, in microseconds, in the order of arrival.
    pub latencies_us: Vec<u64>,
    /// The analyses, in order.
    pub ranked: Vec<Ranked>,
    /// The rings found.
    pub rings: HashSet<RingKey>,
    /// The lanes, each as far as acknowledged: they know which rings are closed.
    lanes: Vec<PaymentStream>,
}

impl Tally {
    /// Nothing was said yet; of each lane, `booked` transfers were there before.
    #[must_use]
    pub fn new(network: &Network, booked: &[u64]) -> Self {
        let lanes = (0..).zip(booked).map(|(lane, booked)| advanced(network.lane(lane), *booked)).collect();
        Self {
            began: None,
            acknowledged: booked.to_vec(),
            latencies_us: Vec::new(),
            ranked: Vec::new(),
            rings: HashSet::new(),
            lanes,
        }
    }

    /// Adds what was said.
    ///
    /// # Errors
    /// `corrupt` if a transfer is acknowledged out of turn.
    pub fn add(&mut self, message: Message) -> Result<()> {
        match message {
            Message::Ready => self.began = Some(Instant::now()),
            Message::Booked { reference, latency_us } => {
                let next = self.acknowledged.get_mut(reference.lane as usize);
                let Some(next) = next.filter(|next| **next == reference.sequence) else {
                    let text = format!("the writing process acknowledged {reference}, which isn't its turn");
                    return Err(Error::new(ErrorKind::Corrupt, text));
                };
                *next += 1;
                self.lanes[reference.lane as usize].next();
                self.latencies_us.push(latency_us);
            }
            Message::Ring(ring) => {
                self.rings.insert(ring);
            }
            Message::Ranked(ranked) => self.ranked.push(ranked),
        }
        Ok(())
    }

    /// How many rings of the streams are closed.
    #[must_use]
    pub fn rings_closed(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.closed_rings().count() as u64).sum()
    }
}

/// `lane` after its first `transfers`.
#[must_use]
pub fn advanced(mut lane: PaymentStream, transfers: u64) -> PaymentStream {
    for _ in 0..transfers {
        lane.next();
    }
    lane
}

/// The value that the share `quantile` (0 to 1) of `values` doesn't exceed; `None` of none.
#[must_use]
pub fn quantile<T: Copy + Ord>(values: impl IntoIterator<Item = T>, quantile: f64) -> Option<T> {
    let mut values: Vec<T> = values.into_iter().collect();
    let last = values.len().checked_sub(1)?;
    let at = (last as f64 * quantile).round() as usize;
    Some(*values.select_nth_unstable(at).1)
}

/// A latency quantile as a time.
#[must_use]
pub fn latency(latencies_us: &[u64], share: f64) -> Option<Duration> {
    quantile(latencies_us.iter().copied(), share).map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::network::NetworkSize;
    use crate::demo::reference::Reference;

    #[test]
    fn a_lane_is_acknowledged_in_order_and_closes_its_rings() {
        let network = Network::generate(NetworkSize { transfers: 20_000, seed: 1 }).unwrap();
        let mut tally = Tally::new(&network, &[0, 3]);
        let booked =
            |lane, sequence| Message::Booked { reference: Reference { lane, sequence }, latency_us: 5 };
        for sequence in 0..4000 {
            tally.add(booked(0, sequence)).unwrap();
        }
        tally.add(booked(1, 3)).unwrap();
        assert_eq!(tally.acknowledged, [4000, 4]);
        // Rings begin after 1,000 transfers and then every 2,000; each takes a few hundred.
        assert_eq!(tally.rings_closed(), 2);
        for out_of_turn in [booked(0, 3999), booked(0, 4001), booked(2, 0)] {
            assert_eq!(tally.add(out_of_turn).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        assert_eq!(quantile([5u64, 1, 4, 2, 3], 0.5), Some(3));
        assert_eq!(quantile((0..=100u64).rev(), 0.99), Some(99));
        assert_eq!(quantile([7u64], 0.99), Some(7));
        assert_eq!(quantile(Vec::<u64>::new(), 0.5), None);
    }
}
