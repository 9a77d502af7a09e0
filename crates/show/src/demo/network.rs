//! Network: the accounts and transfers that the demo works on, and what its writers will add to them.
//!
//! ```text
//! Account   as generated, and balance_cents (long): 10,000.00 each at the beginning
//! TRANSFER  as generated; a streamed one also has reference (long), its lane and its place there
//! ```
//!
//! All of it follows from the size and the seed, so that another process, or the same one after a
//! crash, knows exactly which transfer a reference stands for.

use crate::demo::reference::Reference;
use clap::Args;
use evergraph::generate::payment_stream::PaymentStream;
use evergraph::generate::payments::{Payments, PaymentsOptions, account_id};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;

/// The label of accounts.
pub const ACCOUNT: &str = "Account";
/// The edge type of transfers.
pub const TRANSFER: &str = "TRANSFER";
/// The unique key of accounts.
pub const ID: &str = "id";
/// What an account has, in cents.
pub const BALANCE: &str = "balance_cents";
/// How much is transferred, in cents.
pub const AMOUNT: &str = "amount_cents";
/// When, in milliseconds since 1970.
pub const TIME: &str = "time_ms";
/// Which streamed transfer it is.
pub const REFERENCE: &str = "reference";

/// What every account has before the first streamed transfer.
pub const OPENING_BALANCE_CENTS: i64 = 1_000_000;

/// Transfers for each account, and for each ring of fraud.
const TRANSFERS_PER_ACCOUNT: u64 = 10;
const TRANSFERS_PER_RING: u64 = 2000;
const ACCOUNTS_MIN: u64 = 1000;
const DAYS: u32 = 90;

/// Accounts that are looked up at once.
const BATCH: usize = 4096;

/// The size of the network, and what everything random follows from.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkSize {
    /// Number of initial transfers, with an account for every ten and a ring of fraud for every 2,000.
    #[arg(long, default_value_t = 1_000_000, value_name = "N",
          value_parser = clap::value_parser!(u64).range(2000..=100_000_000))]
    pub transfers: u64,
    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
}

impl NetworkSize {
    fn options(self) -> PaymentsOptions {
        let accounts = (self.transfers / TRANSFERS_PER_ACCOUNT).max(ACCOUNTS_MIN);
        PaymentsOptions {
            accounts: u32::try_from(accounts).expect("the command line allows no more transfers"),
            transfers: self.transfers,
            rings: u32::try_from(self.transfers / TRANSFERS_PER_RING).expect("fewer than accounts"),
            days: DAYS,
            seed: self.seed,
        }
    }
}

/// The generated network.
#[derive(Debug)]
pub struct Network {
    /// The graph to load, with its rings and its streams.
    pub payments: Payments,
    options: PaymentsOptions,
}

impl Network {
    /// Generates the network of this size; the same one each time.
    ///
    /// # Errors
    /// `invalid` for a size that generators refuse.
    pub fn generate(size: NetworkSize) -> Result<Self> {
        let options = size.options();
        let mut payments = Payments::generate(&options)?;
        add_balances(&mut payments.load.vertices[0])?;
        Ok(Self { payments, options })
    }

    /// How many accounts there are: for good.
    #[must_use]
    pub fn accounts(&self) -> u32 {
        self.options.accounts
    }

    /// How many transfers were there before the stream.
    #[must_use]
    pub fn loaded_transfers(&self) -> u64 {
        self.options.transfers
    }

    /// How many rings of fraud are among those.
    #[must_use]
    pub fn loaded_rings(&self) -> u32 {
        self.options.rings
    }

    /// Over how many days those are spread.
    #[must_use]
    pub fn days(&self) -> u32 {
        self.options.days
    }

    /// The transfers of a writer, without an end. Their places are the sequence numbers of their
    /// [`Reference`]s.
    #[must_use]
    pub fn lane(&self, lane: u32) -> PaymentStream {
        debug_assert!(u64::from(lane) < Reference::LANES, "lanes come from the command line");
        self.payments.stream(u64::from(lane))
    }

    /// The vertex of every account, by its row.
    ///
    /// # Errors
    /// `not_found` if the database is of another network; what reading may meet.
    pub fn account_vertices(&self, view: &impl GraphView) -> Result<Vec<VertexId>> {
        let catalogue = view.catalogue();
        let missing = |what: String| {
            let text =
                format!("{what} isn't in the database: it was not made by this demo, or of another size");
            Error::new(ErrorKind::NotFound, text)
        };
        let (Some(label), Some(key)) = (catalogue.label(ACCOUNT), catalogue.key(ID)) else {
            return Err(missing(format!("label {ACCOUNT} with key {ID}")));
        };
        let rows: Vec<u32> = (0..self.accounts()).collect();
        let mut found = Vec::with_capacity(rows.len());
        for rows in rows.chunks(BATCH) {
            let ids: Vec<Value> = rows.iter().map(|row| Value::I64(account_id(*row))).collect();
            view.look_up(label, key, &ids, &mut found)?;
        }
        let each = rows.iter().zip(found);
        each.map(|(row, vertex)| vertex.ok_or_else(|| missing(format!("account {}", account_id(*row)))))
            .collect()
    }
}

/// Gives every account the same balance.
fn add_balances(accounts: &mut VertexTable) -> Result<()> {
    let mut blocks: Vec<VertexBlock> = Vec::new();
    accounts.blocks.for_each(&mut |block| {
        let mut balances = PackedColumnBuilder::default();
        (0..block.rows).for_each(|_| balances.push_i64(OPENING_BALANCE_CENTS));
        let mut block = block.clone();
        block.columns.resize(accounts.properties.len(), None);
        block.columns.push(balances.finish());
        blocks.push(block);
        Ok(())
    })?;
    accounts.blocks = Box::new(blocks);
    accounts.properties.push((BALANCE.to_owned(), ValueType::I64));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_says_how_many_accounts_and_rings_there_are() {
        let network = Network::generate(NetworkSize { transfers: 20_000, seed: 5 }).unwrap();
        assert_eq!((network.accounts(), network.loaded_rings()), (2000, 10));
        let accounts = &network.payments.load.vertices[0];
        let balances = accounts.column(BALANCE).unwrap().unwrap();
        assert_eq!((balances.len(), balances.get(1999)), (2000, Some(Value::I64(OPENING_BALANCE_CENTS))));
        let least = NetworkSize { transfers: 2000, seed: 5 }.options();
        assert_eq!((least.accounts, least.rings), (1000, 1));
    }
}
