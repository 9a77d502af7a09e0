//! Verification: whether a database holds what was promised, all of it and nothing by halves.
//!
//! ```text
//! lane 3   0 1 2 3 4 5 | 6        acknowledged 0 to 5: each is there, as streamed
//!                        ^ 6      begun when the process died: there in whole, or not at all
//! ```
//!
//! - Every acknowledged transfer is there once, between the right accounts, with its amount and time.
//! - Beyond them there is at most the one that each writer had begun, complete.
//! - Every account's balance is what the transfers that are there make of it, and all money together
//!   is what it was: a transfer without its bookings, or bookings without their transfer, shows.
//! - The transfers from before the stream are as many as were loaded.
//!
//! The transfers to compare with are generated anew, from the same seed.

use crate::demo::network::{AMOUNT, BALANCE, Network, OPENING_BALANCE_CENTS, REFERENCE, TIME, TRANSFER};
use crate::demo::reference::Reference;
use evergraph::generate::market::Transfer;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use serde::Serialize;
use std::time::Instant;

/// Edges whose properties are read at once.
const BATCH: usize = 4096;

/// Findings that are told; more are counted.
const FINDINGS_MAX: usize = 20;

/// What was found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verified {
    /// Transfers that the writers were told are durable.
    pub acknowledged: u64,
    /// Of those, found.
    pub acknowledged_found: u64,
    /// Transfers found that nobody had been told of: begun when the process died.
    pub unacknowledged_found: u64,
    /// Streamed transfers found in each lane: the first ones of its stream, if there are no findings.
    pub found_by_lane: Vec<u64>,
    /// Accounts whose balance was compared.
    pub accounts: u64,
    /// All balances together, in cents.
    pub balance_cents: i64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How many things are not as promised.
    pub findings_count: u64,
    /// The first of them, in words.
    pub findings: Vec<String>,
}

impl Verified {
    /// Goes on if everything is as promised.
    ///
    /// # Errors
    /// `corrupt` with the findings.
    pub fn into_result(self) -> Result<Self> {
        if self.findings_count == 0 {
            return Ok(self);
        }
        let mut text = format!("the database broke its promises in {} places:", self.findings_count);
        for finding in &self.findings {
            text += &format!("\n  {finding}");
        }
        Err(Error::new(ErrorKind::Corrupt, text))
    }
}

/// Verifies `view` against `network`, with `acknowledged` transfers in each lane; `accounts` are the
/// vertices of all accounts, by row.
///
/// Cost: a look at every transfer, about a microsecond each.
///
/// # Errors
/// What reading may meet. A broken promise is a finding, not an error.
pub fn verify(
    view: &impl GraphView,
    network: &Network,
    accounts: &[VertexId],
    acknowledged: &[u64],
) -> Result<Verified> {
    let began = Instant::now();
    let mut ledger = Ledger::new(network, acknowledged);
    let booked = read_transfers(view, accounts)?;
    ledger.count_loaded(network.loaded_transfers(), booked.without_reference);
    for (edge, properties) in &booked.referenced {
        ledger.compare(*edge, properties, accounts);
    }
    ledger.look_for_gaps();
    let balance_cents = ledger.compare_balances(view, accounts)?;
    let Ledger { lanes, findings, findings_count, .. } = ledger;
    let found_by_lane: Vec<u64> = lanes.iter().map(Lane::found_count).collect();
    let acknowledged_found = lanes
        .iter()
        .map(|lane| lane.found.iter().take(lane.acknowledged).filter(|found| **found).count() as u64)
        .sum();
    Ok(Verified {
        acknowledged: acknowledged.iter().sum(),
        acknowledged_found,
        unacknowledged_found: found_by_lane.iter().sum::<u64>() - acknowledged_found,
        found_by_lane,
        accounts: accounts.len() as u64,
        balance_cents,
        seconds: began.elapsed().as_secs_f64(),
        findings_count,
        findings,
    })
}

/// The transfers that are stored.
struct Booked {
    /// How many have no reference: those that were loaded.
    without_reference: u64,
    /// The others.
    referenced: Vec<(EdgeId, Properties)>,
}

/// What is stored of a transfer.
struct Properties {
    reference: i64,
    amount_cents: Option<i64>,
    time_ms: Option<i64>,
}

fn read_transfers(view: &impl GraphView, accounts: &[VertexId]) -> Result<Booked> {
    let catalogue = view.catalogue();
    let mut booked = Booked { without_reference: 0, referenced: Vec::new() };
    let Some(edge_type) = catalogue.edge_type(TRANSFER) else { return Ok(booked) };
    let mut cursor = NeighborCursor::default();
    let mut batch = NeighborBatch::default();
    let types: [TypeId; 1] = [edge_type];
    while !cursor.done {
        batch.clear();
        view.neighbors(accounts, Some(&types), Direction::Out, &mut cursor, BATCH, &mut batch)?;
        let references = whole_numbers(view, &batch.edges, catalogue.key(REFERENCE))?;
        let streamed: Vec<(EdgeId, i64)> = batch
            .edges
            .iter()
            .zip(references)
            .filter_map(|(edge, reference)| Some((*edge, reference?)))
            .collect();
        booked.without_reference += (batch.edges.len() - streamed.len()) as u64;
        let edges: Vec<EdgeId> = streamed.iter().map(|(edge, _)| *edge).collect();
        let amounts = whole_numbers(view, &edges, catalogue.key(AMOUNT))?;
        let times = whole_numbers(view, &edges, catalogue.key(TIME))?;
        for ((edge, reference), (amount_cents, time_ms)) in
            streamed.into_iter().zip(amounts.into_iter().zip(times))
        {
            booked.referenced.push((edge, Properties { reference, amount_cents, time_ms }));
        }
    }
    Ok(booked)
}

/// The values of `key` for each of `edges`; `None` for one without, or if nobody ever had the key.
fn whole_numbers(view: &impl GraphView, edges: &[EdgeId], key: Option<KeyId>) -> Result<Vec<Option<i64>>> {
    let Some(key) = key else { return Ok(vec![None; edges.len()]) };
    let mut column = Column::new(ValueType::I64);
    view.edge_properties(edges, key, &mut column)?;
    Ok((0..edges.len()).map(|row| column.get(row).and_then(|value| value.as_i64())).collect())
}

/// What ought to be there, and what was found of it.
struct Ledger {
    lanes: Vec<Lane>,
    /// What each account should have, by row: moves with every transfer that is found.
    balances: Vec<i64>,
    findings: Vec<String>,
    findings_count: u64,
}

struct Lane {
    acknowledged: usize,
    /// The acknowledged transfers and the one after them.
    expected: Vec<Transfer>,
    found: Vec<bool>,
}

impl Lane {
    fn found_count(&self) -> u64 {
        self.found.iter().filter(|found| **found).count() as u64
    }
}

impl Ledger {
    fn new(network: &Network, acknowledged: &[u64]) -> Self {
        let lanes = (0..)
            .zip(acknowledged)
            .map(|(lane, acknowledged)| {
                let acknowledged = *acknowledged as usize;
                let expected: Vec<Transfer> = network.lane(lane).take(acknowledged + 1).collect();
                let found = vec![false; expected.len()];
                Lane { acknowledged, expected, found }
            })
            .collect();
        let balances = vec![OPENING_BALANCE_CENTS; network.accounts() as usize];
        Self { lanes, balances, findings: Vec::new(), findings_count: 0 }
    }

    fn finding(&mut self, text: impl FnOnce() -> String) {
        self.findings_count += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(text());
        }
    }

    fn count_loaded(&mut self, loaded: u64, found: u64) {
        if loaded != found {
            self.finding(|| {
                format!("{loaded} transfers were loaded, but {found} without a reference are there")
            });
        }
    }

    /// Compares one stored transfer with the stream, and counts it in.
    fn compare(&mut self, edge: EdgeId, stored: &Properties, accounts: &[VertexId]) {
        let reference = Reference::from_i64(stored.reference);
        let place = reference.and_then(|reference| {
            let lane = self.lanes.get_mut(reference.lane as usize)?;
            let sequence = usize::try_from(reference.sequence).ok().filter(|at| *at < lane.found.len())?;
            let transfer = lane.expected[sequence];
            Some((reference, transfer, std::mem::replace(&mut lane.found[sequence], true)))
        });
        let Some((reference, transfer, found_before)) = place else {
            let name =
                reference.map_or_else(|| stored.reference.to_string(), |reference| reference.to_string());
            return self.finding(|| format!("{name}: nobody can have begun it, but edge {edge} is there"));
        };
        if found_before {
            return self
                .finding(|| format!("{reference}: it is there twice, the second time as edge {edge}"));
        }
        let [source, target] = [transfer.source, transfer.target].map(|row| accounts[row as usize]);
        if (edge.source, edge.target) != (source, target) {
            self.finding(|| {
                format!("{reference}: it goes from {source} to {target}, but edge {edge} is there")
            });
        }
        let expected =
            [(AMOUNT, transfer.amount_cents, stored.amount_cents), (TIME, transfer.time_ms, stored.time_ms)];
        for (key, expected, found) in expected {
            if found != Some(expected) {
                let found = found.map_or_else(|| "nothing".to_owned(), |found| found.to_string());
                self.finding(|| format!("{reference}: {key} is {expected}, but {found} is stored"));
            }
        }
        self.balances[transfer.source as usize] -= transfer.amount_cents;
        self.balances[transfer.target as usize] += transfer.amount_cents;
    }

    fn look_for_gaps(&mut self) {
        let missing: Vec<Reference> = (0..)
            .zip(&self.lanes)
            .flat_map(|(lane, state)| {
                let acknowledged = state.found.iter().take(state.acknowledged).enumerate();
                acknowledged
                    .filter(|(_, found)| !**found)
                    .map(move |(sequence, _)| Reference { lane, sequence: sequence as u64 })
            })
            .collect();
        for reference in missing {
            self.finding(|| format!("{reference}: it was acknowledged, but is not there"));
        }
    }

    /// Compares the balance of every account; all of them together, in cents.
    fn compare_balances(&mut self, view: &impl GraphView, accounts: &[VertexId]) -> Result<i64> {
        let mut column = Column::new(ValueType::I64);
        if let Some(key) = view.catalogue().key(BALANCE) {
            view.vertex_properties(accounts, key, &mut column)?;
        }
        let mut total = 0;
        for (row, account) in accounts.iter().enumerate() {
            let stored =
                if row < column.len() { column.get(row).and_then(|value| value.as_i64()) } else { None };
            let expected = self.balances[row];
            total += stored.unwrap_or(0);
            if stored != Some(expected) {
                let stored = stored.map_or_else(|| "nothing".to_owned(), |stored| stored.to_string());
                self.finding(|| {
                    format!("account {account}: its transfers leave {expected} cents, but {stored} is stored")
                });
            }
        }
        let expected = OPENING_BALANCE_CENTS * accounts.len() as i64;
        if total != expected {
            self.finding(|| format!("all accounts together had {expected} cents, and have {total} now"));
        }
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::booking::book;
    use crate::demo::network::NetworkSize;
    use evergraph::{Database, ReadByName};
    use evergraph_graph::cancel::CancelFlag;

    /// A bank with two lanes: 50 and 30 transfers are booked and acknowledged.
    struct Bank {
        network: Network,
        database: Database,
        accounts: Vec<VertexId>,
    }

    const ACKNOWLEDGED: [u64; 2] = [50, 30];

    impl Bank {
        fn new() -> Self {
            let network = Network::generate(NetworkSize { transfers: 2000, seed: 1 }).unwrap();
            let database = Database::in_memory().unwrap();
            database.load(&network.payments.load, &|_| (), &CancelFlag::default()).unwrap();
            let accounts = network.account_vertices(&database.snapshot()).unwrap();
            let bank = Self { network, database, accounts };
            for (lane, count) in (0..).zip(ACKNOWLEDGED) {
                (0..count).for_each(|sequence| bank.book(Reference { lane, sequence }));
            }
            bank
        }

        fn transfer(&self, reference: Reference) -> Transfer {
            self.network.lane(reference.lane).nth(reference.sequence as usize).unwrap()
        }

        fn book(&self, reference: Reference) {
            self.book_as(&self.transfer(reference), reference);
        }

        fn book_as(&self, transfer: &Transfer, reference: Reference) {
            self.database.transact(|tx| book(tx.by_id(), &self.accounts, transfer, reference)).unwrap();
        }

        /// Changes a balance without a transfer.
        fn pay(&self, row: u32, cents: i64) {
            let account = self.accounts[row as usize];
            let paid = self.database.transact(|tx| {
                let balance = tx.get(account, BALANCE)?.and_then(|value| value.as_i64()).unwrap();
                tx.set(account, BALANCE, balance + cents)
            });
            paid.unwrap();
        }

        fn edge(&self, reference: Reference) -> EdgeId {
            let snapshot = self.database.snapshot();
            let source = self.accounts[self.transfer(reference).source as usize];
            let edges = snapshot.edges(source, Direction::Out, &[TRANSFER]).unwrap();
            let stored = Some(reference.to_i64().into());
            edges.iter().find(|(edge, _)| snapshot.get_edge(*edge, REFERENCE).unwrap() == stored).unwrap().0
        }

        fn verify(&self) -> Verified {
            verify(&self.database.snapshot(), &self.network, &self.accounts, &ACKNOWLEDGED).unwrap()
        }

        /// The only findings that there are.
        fn findings(&self) -> Vec<String> {
            let verified = self.verify();
            assert_eq!(verified.findings.len() as u64, verified.findings_count);
            verified.findings
        }
    }

    const SOME: Reference = Reference { lane: 1, sequence: 7 };

    #[test]
    fn what_was_acknowledged_and_what_was_begun_are_told_apart() {
        let bank = Bank::new();
        bank.book(Reference { lane: 0, sequence: 50 });
        let verified = bank.verify().into_result().unwrap();
        assert_eq!((verified.acknowledged, verified.acknowledged_found), (80, 80));
        assert_eq!((verified.unacknowledged_found, verified.found_by_lane), (1, vec![51, 30]));
        assert_eq!((verified.accounts, verified.balance_cents), (1000, 1000 * OPENING_BALANCE_CENTS));
    }

    #[test]
    fn a_lost_acknowledged_transfer_is_found_even_if_its_bookings_went_with_it() {
        let bank = Bank::new();
        let (edge, transfer) = (bank.edge(SOME), bank.transfer(SOME));
        bank.database.transact(|tx| tx.delete_edge(edge)).unwrap();
        bank.pay(transfer.source, transfer.amount_cents);
        bank.pay(transfer.target, -transfer.amount_cents);
        assert_eq!(bank.findings(), ["transfer 7 of writer 1: it was acknowledged, but is not there"]);
        assert_eq!(bank.verify().acknowledged_found, 79);
        let error = bank.verify().into_result().unwrap_err();
        assert_eq!((error.kind(), error.kind().exit_code()), (ErrorKind::Corrupt, 5));
        assert!(error.to_string().contains("transfer 7 of writer 1"), "{error}");
    }

    #[test]
    fn half_a_transaction_shows_on_both_accounts_whichever_half_it_is() {
        let bank = Bank::new();
        let edge = bank.edge(SOME);
        bank.database.transact(|tx| tx.delete_edge(edge)).unwrap();
        let findings = bank.findings();
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert!(findings[1..].iter().all(|finding| finding.contains("its transfers leave")), "{findings:?}");

        let bank = Bank::new();
        let begun = Reference { lane: 0, sequence: 50 };
        bank.book(begun);
        let transfer = bank.transfer(begun);
        bank.pay(transfer.source, transfer.amount_cents);
        bank.pay(transfer.target, -transfer.amount_cents);
        assert_eq!(bank.findings().len(), 2);
    }

    #[test]
    fn a_wrong_balance_is_found_and_so_is_the_money_that_is_missing() {
        let bank = Bank::new();
        bank.pay(17, -1);
        let findings = bank.findings();
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with(&format!("account {}: ", bank.accounts[17])), "{findings:?}");
        assert_eq!(findings[1], "all accounts together had 1000000000 cents, and have 999999999 now");
    }

    #[test]
    fn a_transfer_that_is_not_what_was_sent_is_found() {
        let bank = Bank::new();
        let (edge, transfer) = (bank.edge(SOME), bank.transfer(SOME));
        bank.database.transact(|tx| tx.set_edge(edge, TIME, transfer.time_ms + 1)).unwrap();
        let (was, is) = (transfer.time_ms, transfer.time_ms + 1);
        assert_eq!(
            bank.findings(),
            [format!("transfer 7 of writer 1: time_ms is {was}, but {is} is stored")]
        );

        let bank = Bank::new();
        let other = bank.transfer(Reference { lane: 0, sequence: 90 });
        bank.book_as(&other, Reference { lane: 0, sequence: 50 });
        assert!(bank.findings()[0].contains("transfer 50 of writer 0: it goes from"));
    }

    #[test]
    fn a_transfer_that_is_there_twice_or_cannot_have_been_begun_is_found() {
        let bank = Bank::new();
        bank.book(SOME);
        assert!(bank.findings()[0].starts_with("transfer 7 of writer 1: it is there twice"));
        let bank = Bank::new();
        bank.book(Reference { lane: 0, sequence: 51 });
        assert!(bank.findings()[0].starts_with("transfer 51 of writer 0: nobody can have begun it"));
    }

    #[test]
    fn a_lost_transfer_from_before_the_stream_is_found() {
        let bank = Bank::new();
        let snapshot = bank.database.snapshot();
        let old = bank.accounts.iter().find_map(|account| {
            let edges = snapshot.edges(*account, Direction::Out, &[TRANSFER]).unwrap();
            edges.into_iter().find(|(edge, _)| snapshot.get_edge(*edge, REFERENCE).unwrap().is_none())
        });
        bank.database.transact(|tx| tx.delete_edge(old.unwrap().0)).unwrap();
        assert_eq!(bank.findings(), ["2000 transfers were loaded, but 1999 without a reference are there"]);
    }

    #[test]
    fn findings_are_counted_when_they_are_too_many_to_tell() {
        let bank = Bank::new();
        (0..30).for_each(|row| bank.pay(row, -1));
        let verified = bank.verify();
        assert_eq!((verified.findings_count, verified.findings.len()), (31, FINDINGS_MAX));
    }
}
