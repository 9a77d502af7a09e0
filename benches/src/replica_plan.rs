//! Plan of the part `replica`: how many rows, how fast they change, and how long that is measured.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What is measured of a replica.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ReplicaPart {
    /// From a commit at the source until a new snapshot shows it.
    Freshness,
    /// From the commit of a transaction of many rows until a snapshot shows it.
    Large,
    /// Rows a second that a backlog is applied at, and where the time goes.
    Sustained,
    /// Processor time for recorded transactions, without a server.
    Applying,
    /// What the source loses to its reader.
    Source,
    /// PageRank while following, and snapshots that stay open.
    Analytics,
    /// Writers of the source while PageRank runs, source and replica on a processor each.
    Split,
    /// The copy of all tables.
    Copy,
    /// Questions about a shop like TPC-C's, half of it copied, half inserted.
    Orders,
    /// The paper's reads on LDBC's relations, if they are at hand.
    Network,
    /// LDBC's interactive reads and inserts as fixed plans beside SQL's, and kernels, on its network many times over.
    Interactive,
}

/// How much is measured of a replica.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaPlan {
    /// What is measured.
    pub parts: Vec<ReplicaPart>,
    /// Runs of everything.
    pub rounds: usize,
    /// Rows of `account`; even.
    pub accounts: u32,
    /// Rows of `follows` for each account, before equal ones go.
    pub follows_per_account: u32,
    /// Rows of `transfer`.
    pub transfers: u32,
    /// Row changes a second, at which freshness is measured.
    pub rates: Vec<u32>,
    /// How long a rate is held, and a writer of the source measured.
    pub run_time: Duration,
    /// Rows of the one large transaction.
    pub large_rows: u32,
    /// Rows of a backlog.
    pub backlog_rows: u32,
    /// Rows of one of its transactions.
    pub backlog_transaction: u32,
    /// Recorded transactions: small ones, small ones with cold caches, ones of updates.
    pub recorded: [u32; 3],
    /// Writers of the source, as pgbench has them.
    pub clients: usize,
    /// Customers of the shop.
    pub customers: u32,
    /// Its items.
    pub items: u32,
    /// Its orders, of ten lines on average.
    pub orders: u32,
    /// How many times LDBC's network is there, for its interactive reads: each number is measured.
    pub copies: Vec<u32>,
    /// Operations of a mixture of its reads and inserts.
    pub operations: u32,
    /// Whether the source syncs its log before it acknowledges a commit.
    pub is_synced: bool,
    /// Where Maven built the peers that live in a JVM, a folder for each; without it nobody of them stands beside.
    pub jvm: Option<PathBuf>,
    /// Where tables, statements and answers of some interactive reads are written for another database.
    pub export: Option<PathBuf>,
}

impl ReplicaPlan {
    /// The whole: most of an hour.
    #[must_use]
    pub fn full() -> Self {
        Self {
            parts: ReplicaPart::value_variants().to_vec(),
            rounds: 3,
            accounts: 100_000,
            follows_per_account: 10,
            transfers: 500_000,
            rates: vec![100, 1_000, 10_000],
            run_time: Duration::from_secs(10),
            large_rows: 1_000_000,
            backlog_rows: 500_000,
            backlog_transaction: 100,
            recorded: [100_000, 5_000, 5_000],
            clients: 8,
            customers: 60_000,
            items: 100_000,
            orders: 60_000,
            copies: vec![1, 50],
            operations: 4_000,
            is_synced: true,
            jvm: None,
            export: None,
        }
    }

    /// A few seconds: whether it works, not how fast.
    #[must_use]
    pub fn smoke() -> Self {
        Self {
            rounds: 1,
            accounts: 500,
            follows_per_account: 4,
            transfers: 500,
            rates: vec![100, 1_000],
            run_time: Duration::from_millis(200),
            large_rows: 3_000,
            backlog_rows: 2_000,
            recorded: [200, 20, 10],
            clients: 2,
            customers: 200,
            items: 300,
            orders: 400,
            copies: vec![4],
            operations: 80,
            is_synced: false,
            ..Self::full()
        }
    }

    /// Whether `part` is measured.
    #[must_use]
    pub fn has(&self, part: ReplicaPart) -> bool {
        self.parts.contains(&part)
    }
}

/// What of the plan may be chosen.
#[derive(Args, Debug)]
#[command(next_help_heading = "The part replica")]
pub struct ReplicaArguments {
    /// One short run of everything, on fewer rows: some minutes.
    #[arg(long)]
    replica_quick: bool,
    /// These of its parts only.
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    replica_parts: Option<Vec<ReplicaPart>>,
    /// Runs of everything: 3.
    #[arg(long, value_name = "COUNT")]
    replica_rounds: Option<usize>,
    /// Rows of accounts: 100,000; the other tables grow with them.
    #[arg(long, value_name = "COUNT")]
    replica_accounts: Option<u32>,
    /// Row changes a second at which freshness is measured: 100,1000,10000.
    #[arg(long, value_delimiter = ',', value_name = "RATE")]
    replica_rates: Option<Vec<u32>>,
    /// Recorded transactions: small ones, small ones with cold caches, ones of 100 updates: 100000 5000 5000; 0 for none.
    #[arg(long, num_args = 3, value_name = "COUNT")]
    replica_recorded: Option<Vec<u32>>,
    /// The source acknowledges commits before they are on disk (fsync=off): on a disk that is slow or shared.
    #[arg(long)]
    replica_unsynced: bool,
    /// Where Maven built the peers that live in a JVM, a folder for each: Neo4j stands beside the parts orders, network and interactive.
    #[arg(long, value_name = "FOLDER")]
    replica_jvm: Option<PathBuf>,
    /// How many times LDBC's network is there, for its interactive reads: 1,50. A single one is copied whole before the replica follows.
    #[arg(long, value_delimiter = ',', value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    replica_copies: Option<Vec<u32>>,
    /// Writes tables, statements, answers and times of eight interactive reads there, for `make bench-virtuoso`.
    #[arg(long, value_name = "FOLDER")]
    replica_export: Option<PathBuf>,
}

impl ReplicaArguments {
    /// Changes what was chosen.
    pub fn apply_to(&self, plan: &mut ReplicaPlan) {
        if self.replica_quick {
            plan.rounds = 1;
            plan.accounts = plan.accounts.min(20_000);
            plan.transfers = plan.transfers.min(50_000);
            plan.run_time = plan.run_time.min(Duration::from_secs(3));
            plan.large_rows = plan.large_rows.min(200_000);
            plan.backlog_rows = plan.backlog_rows.min(100_000);
            plan.recorded = [20_000, 2_000, 1_000];
            plan.orders = plan.orders.min(10_000);
            plan.copies.iter_mut().for_each(|copies| *copies = (*copies).min(10));
            plan.operations = plan.operations.min(1_000);
        }
        if let Some(accounts) = self.replica_accounts {
            let accounts = accounts.clamp(2, 10_000_000) & !1;
            plan.transfers =
                u32::try_from(u64::from(plan.transfers) * u64::from(accounts) / u64::from(plan.accounts))
                    .unwrap_or(u32::MAX);
            plan.accounts = accounts;
        }
        plan.rounds = self.replica_rounds.unwrap_or(plan.rounds).max(1);
        plan.is_synced &= !self.replica_unsynced;
        plan.jvm.clone_from(&self.replica_jvm);
        plan.export.clone_from(&self.replica_export);
        if let Some(parts) = &self.replica_parts {
            plan.parts.clone_from(parts);
        }
        if let Some([small, cold, updates]) = self.replica_recorded.as_deref() {
            plan.recorded = [*small, *cold, *updates];
        }
        if let Some(rates) = &self.replica_rates {
            plan.rates.clone_from(rates);
        }
        if let Some(copies) = &self.replica_copies {
            plan.copies.clone_from(copies);
            plan.copies.sort_unstable();
            plan.copies.dedup();
        }
    }
}
