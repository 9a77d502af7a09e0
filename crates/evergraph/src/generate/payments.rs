//! Payments: a seeded network of accounts and transfers, with rings of fraud planted in it.
//!
//! ```text
//! Account   id (long, unique)  opened (date)  country (string)  risk (double, 0 to 1)
//! TRANSFER  amount_cents (long)  time_ms (long, since 1970)        in the order of time
//! ```
//!
//! The rings come back beside the graph, so that who looks for them can be judged. Further transfers,
//! with further rings among them, come as a stream: see [`crate::generate::payment_stream`].

use crate::generate::market::{Market, Transfer};
use crate::generate::random::Random;
use crate::generate::ring::{ACCOUNTS_MAX, DURATION_MS_MAX, Ring};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::{Value, ValueType};
use rayon::prelude::*;
use std::sync::Arc;

/// Transfers that draw from one stream of random numbers. A change would change every network.
const CHUNK_TRANSFERS: u64 = 1 << 16;

const ACCOUNTS: u64 = 20;
const TRANSFERS: u64 = 21;
const RINGS: u64 = 22;

/// The beginning of 2025 in UTC.
pub(super) const START_MS: i64 = 1_735_689_600_000;
const DAY_MS: i64 = 86_400_000;

/// Accounts were opened in this many days before the first transfer.
const OPENED_DAYS: u64 = 3650;

/// Ids begin here: they look like account numbers, and not like rows.
const FIRST_ID: i64 = 10_000_000;

/// The rarest come last.
const COUNTRIES: [&str; 16] =
    ["DE", "FR", "IT", "ES", "PL", "NL", "BE", "SE", "AT", "PT", "DK", "FI", "IE", "LU", "CY", "MT"];

/// The size of a payments network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PaymentsOptions {
    /// Accounts: from 1,000 on.
    pub accounts: u32,
    /// Transfers, those of rings among them.
    pub transfers: u64,
    /// Rings of fraud.
    pub rings: u32,
    /// Days over which transfers are spread: at least 2.
    pub days: u32,
    /// What everything random follows from.
    pub seed: u64,
}

impl PaymentsOptions {
    /// A hundred thousand accounts, a million transfers and 50 rings in 90 days.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { accounts: 100_000, transfers: 1_000_000, rings: 50, days: 90, seed }
    }

    fn check(&self) -> Result<()> {
        if self.accounts < 1000 {
            return Err(Error::invalid(format!("accounts is {}, but must be at least 1000", self.accounts)));
        }
        let ring_transfers = u64::from(self.rings) * ACCOUNTS_MAX as u64;
        if self.transfers < ring_transfers.max(1) {
            return Err(Error::invalid(format!(
                "{} transfers: {} rings take up to {ring_transfers}, and one is the least",
                self.transfers, self.rings
            )));
        }
        if !(2..=36_500).contains(&self.days) {
            return Err(Error::invalid(format!("days is {}, but must be from 2 to 36500", self.days)));
        }
        Ok(())
    }

    /// From the first transfer to the end.
    pub(super) fn span_ms(&self) -> i64 {
        i64::from(self.days) * DAY_MS
    }
}

/// A payments network.
#[derive(Debug)]
pub struct Payments {
    /// The graph.
    pub load: Load,
    /// The rings in it, by the time of their first transfer.
    pub rings: Vec<Ring>,
    pub(super) options: PaymentsOptions,
    pub(super) market: Arc<Market>,
}

/// The id of the account at `row`.
#[must_use]
pub fn account_id(row: u32) -> i64 {
    FIRST_ID + i64::from(row)
}

impl Payments {
    /// The network of `options`. It doesn't depend on the number of threads.
    ///
    /// # Errors
    /// `invalid` if an option is out of range.
    pub fn generate(options: &PaymentsOptions) -> Result<Self> {
        options.check()?;
        let market = Arc::new(Market::new(options.accounts, options.seed));
        let rings = plant_rings(options, &market);
        let transfers = merge(background(options, &market, &rings), &rings);
        let load = Load { vertices: vec![accounts(options)], edges: vec![edge_table(&transfers)] };
        Ok(Self { load, rings, options: *options, market })
    }
}

fn plant_rings(options: &PaymentsOptions, market: &Market) -> Vec<Ring> {
    let mut random = Random::new(options.seed, RINGS, 0);
    let starts_within_ms = (options.span_ms() - DURATION_MS_MAX) as u64;
    let mut rings: Vec<Ring> = (0..options.rings)
        .map(|_| {
            let start_ms = START_MS + random.below(starts_within_ms) as i64;
            Ring::plant(market, &mut random, start_ms, account_id)
        })
        .collect();
    rings.sort_by_key(|ring| ring.transfers[0].time_ms);
    rings
}

/// The transfers that are not fraud, in the order of time.
fn background(options: &PaymentsOptions, market: &Market, rings: &[Ring]) -> Vec<Transfer> {
    let in_rings: u64 = rings.iter().map(|ring| ring.transfers.len() as u64).sum();
    let count = options.transfers - in_rings;
    // The place of a transfer on the line of time: each has a slot of its own, in which it moves.
    let slot = |index: u64| (u128::from(index) * options.span_ms() as u128 / u128::from(count.max(1))) as i64;
    (0..count.div_ceil(CHUNK_TRANSFERS))
        .into_par_iter()
        .flat_map_iter(|chunk| {
            let mut random = Random::new(options.seed, TRANSFERS, chunk);
            let indices = chunk * CHUNK_TRANSFERS..((chunk + 1) * CHUNK_TRANSFERS).min(count);
            indices.map(move |index| {
                let (start, end) = (slot(index), slot(index + 1));
                let within = random.below((end - start).max(1) as u64) as i64;
                market.draw(&mut random, START_MS + start + within)
            })
        })
        .collect()
}

/// Puts the transfers of rings among the others.
fn merge(background: Vec<Transfer>, rings: &[Ring]) -> Vec<Transfer> {
    let mut planted: Vec<Transfer> = rings.iter().flat_map(|ring| &ring.transfers).copied().collect();
    planted.sort_by_key(|transfer| transfer.time_ms);
    let mut planted = planted.into_iter().peekable();
    let mut merged = Vec::with_capacity(background.len() + planted.len());
    for transfer in background {
        while let Some(earlier) = planted.next_if(|planted| planted.time_ms < transfer.time_ms) {
            merged.push(earlier);
        }
        merged.push(transfer);
    }
    merged.extend(planted);
    merged
}

fn accounts(options: &PaymentsOptions) -> VertexTable {
    let mut random = Random::new(options.seed, ACCOUNTS, 0);
    let first_day = (START_MS / DAY_MS) as i32;
    let mut blocks = Vec::new();
    for first in (0..options.accounts).step_by(BLOCK_ROWS) {
        let [mut ids, mut opened, mut countries, mut risks] = <[PackedColumnBuilder; 4]>::default();
        for row in first..options.accounts.min(first + BLOCK_ROWS as u32) {
            ids.push_i64(account_id(row));
            let days_before = 1 + random.below(OPENED_DAYS) as i32;
            opened.push(Some(&Value::Date(Date::from_days(first_day - days_before))));
            // The lower of two draws: the first countries are the most common.
            let [first, second] = [0; 2].map(|_| random.below(COUNTRIES.len() as u64));
            countries.push_text(COUNTRIES[first.min(second) as usize]);
            risks.push_f64(random.unit());
        }
        let (rows, columns) = (ids.len(), [ids, opened, countries, risks]);
        blocks.push(VertexBlock { rows, columns: columns.map(PackedColumnBuilder::finish).to_vec() });
    }
    let properties = [
        ("id", ValueType::I64),
        ("opened", ValueType::Date),
        ("country", ValueType::String),
        ("risk", ValueType::F64),
    ];
    let properties = properties.map(|(key, value_type)| (key.to_owned(), value_type)).to_vec();
    VertexTable::new("Account", properties, blocks).unique_key("id")
}

fn edge_table(transfers: &[Transfer]) -> EdgeTable {
    let block = |transfers: &[Transfer]| {
        let whole = |part: fn(&Transfer) -> i64| {
            let mut column = PackedColumnBuilder::default();
            transfers.iter().for_each(|transfer| column.push_i64(part(transfer)));
            column.finish()
        };
        EdgeBlock {
            columns: vec![whole(|transfer| transfer.amount_cents), whole(|transfer| transfer.time_ms)],
            ..EdgeBlock::bare(transfers.iter().map(|transfer| (transfer.source, transfer.target)))
        }
    };
    let properties = ["amount_cents", "time_ms"].map(|key| (key.to_owned(), ValueType::I64)).to_vec();
    EdgeTable::new("TRANSFER", 0, 0, properties, transfers.chunks(BLOCK_ROWS).map(block).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn small() -> PaymentsOptions {
        PaymentsOptions { accounts: 2000, transfers: 100_000, rings: 20, days: 30, seed: 7 }
    }

    fn numbers(table: &EdgeTable, key: &str) -> Vec<i64> {
        let column = table.column(key).unwrap().unwrap();
        (0..column.len()).map(|row| column.get(row).unwrap().as_i64().unwrap()).collect()
    }

    #[test]
    fn a_network_has_the_size_asked_for_and_runs_in_time() {
        let payments = Payments::generate(&small()).unwrap();
        let (accounts, transfers) = (&payments.load.vertices[0], &payments.load.edges[0]);
        assert_eq!((accounts.rows, transfers.rows), (2000, 100_000));
        for (key, value_type) in &accounts.properties {
            let column = accounts.column(key).unwrap().unwrap();
            assert_eq!((column.len(), column.value_type()), (2000, *value_type), "{key}");
        }
        assert!(transfers.ends().unwrap().iter().all(|(source, target)| source != target));
        let times = numbers(transfers, "time_ms");
        assert!(times.is_sorted());
        assert!(times[0] >= START_MS && *times.last().unwrap() < START_MS + 30 * DAY_MS);
        let amounts = numbers(transfers, "amount_cents");
        assert!(amounts.iter().all(|amount| (100..5_000_000).contains(amount)));
    }

    #[test]
    fn the_same_seed_gives_the_same_network_with_any_number_of_threads() {
        let with = |threads, seed| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let payments = pool.install(|| Payments::generate(&PaymentsOptions { seed, ..small() }).unwrap());
            let (accounts, transfers) = (&payments.load.vertices[0], &payments.load.edges[0]);
            let risks = accounts.column("risk").unwrap();
            (transfers.ends().unwrap(), numbers(transfers, "amount_cents"), risks, payments.rings)
        };
        assert_eq!(with(1, 7), with(3, 7));
        assert_ne!(with(1, 7).0, with(1, 8).0);
    }

    #[test]
    fn every_planted_ring_closes_within_hours_and_is_in_the_graph() {
        let payments = Payments::generate(&small()).unwrap();
        let table = &payments.load.edges[0];
        let (amounts, times) = (numbers(table, "amount_cents"), numbers(table, "time_ms"));
        let ends = table.ends().unwrap().into_iter().zip(amounts.into_iter().zip(times));
        let all: HashSet<(u32, u32, i64, i64)> =
            ends.map(|((source, target), (amount, time))| (source, target, amount, time)).collect();
        assert_eq!(payments.rings.len(), 20);
        let mut lengths = HashSet::new();
        for ring in &payments.rings {
            let length = ring.accounts.len();
            lengths.insert(length);
            assert_eq!(ring.accounts.iter().collect::<HashSet<_>>().len(), length, "no account twice");
            for (hop, transfer) in ring.transfers.iter().enumerate() {
                assert_eq!(account_id(transfer.source), ring.accounts[hop]);
                assert_eq!(account_id(transfer.target), ring.accounts[(hop + 1) % length]);
                assert!(all.contains(&(
                    transfer.source,
                    transfer.target,
                    transfer.amount_cents,
                    transfer.time_ms
                )));
            }
            for pair in ring.transfers.windows(2) {
                let kept = pair[1].amount_cents as f64 / pair[0].amount_cents as f64;
                assert!((0.969..0.996).contains(&kept), "{kept}");
                assert!((PAUSE_MIN..PAUSE_MAX).contains(&(pair[1].time_ms - pair[0].time_ms)));
            }
        }
        assert_eq!(lengths, HashSet::from([3, 4, 5, 6]));
    }

    const PAUSE_MIN: i64 = 600_000;
    const PAUSE_MAX: i64 = 10_800_000;

    #[test]
    fn payees_are_skewed_as_zipf_says() {
        let payments = Payments::generate(&small()).unwrap();
        let mut degrees = vec![0u32; 2000];
        let ends = payments.load.edges[0].ends().unwrap();
        ends.iter().for_each(|(_, target)| degrees[*target as usize] += 1);
        degrees.sort_unstable();
        // The sum of 1/k up to 2000 is 8.18.
        let share = f64::from(degrees[1999]) / 100_000.0;
        assert!((share - 1.0 / 8.18).abs() < 0.01, "{share}");
        assert!(degrees[1000] < 20);
    }

    #[test]
    fn options_out_of_range_are_named() {
        let text = |options| Payments::generate(&options).unwrap_err().to_string();
        assert_eq!(
            text(PaymentsOptions { accounts: 9, ..small() }),
            "accounts is 9, but must be at least 1000"
        );
        assert_eq!(
            text(PaymentsOptions { transfers: 100, ..small() }),
            "100 transfers: 20 rings take up to 120, and one is the least"
        );
        assert_eq!(text(PaymentsOptions { days: 1, ..small() }), "days is 1, but must be from 2 to 36500");
    }
}
