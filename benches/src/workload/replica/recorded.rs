//! `RecordedSource`: a source without a server, whose stream is what PostgreSQL would send of pgbench's writers.
//!
//! ```text
//! account, teller, branch   copied as the script says
//! stream                    batches of whole transactions, made before anything is timed; each is handed over at once
//! cold                      before each batch as much memory is read as a processor's own caches hold
//! ```
//!
//! Where processors have other work, the caches hold that work when a batch comes: cold batches show what it costs then.

use crate::workload::replica::source_server::{self, BRANCHES, TELLERS};
use cpu_time::ThreadTime;
use evergraph::generate::random::Random;
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::mapping::server_state::ServerState;
use evergraph_replica::pgoutput::relation::{Oid, RelationIdentity};
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::source::batch::ChangeBatch;
use evergraph_replica::source::catalogue::{
    Catalogue, Column, ForeignKey, Key, Table, TableKind, TableRights,
};
use evergraph_replica::source::contract::{
    ChangeStream, CopyRequest, RowStream, Source, SourceIdentity, StreamRequest,
};
use evergraph_replica::source::error::SourceResult;
use evergraph_replica::source::replica_source::{ExportedSlot, PartitionOrigin, ReplicaSource, TableRewrite};
use evergraph_replica::source::scripted::ScriptedSource;
use evergraph_replica::source::slot_state::SlotState;
use evergraph_replica::source::slot_wait::SlotWait;
use evergraph_replica::source::table_cuts::{CutRules, TableCuts};
use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Memory that is read before a cold batch: more than a processor's second cache.
const COLD_BYTES: usize = 4 << 20;
/// Bytes of a line of a cache.
const LINE_BYTES: usize = 64;

const INT: Oid = 23;
const BIGINT: Oid = 20;
const TEXT: Oid = 25;
const TIMESTAMP: Oid = 1114;

/// Number, name and columns of a table; the first column is its key.
struct RecordedTable {
    id: Oid,
    name: &'static str,
    columns: &'static [(&'static str, Oid)],
}

const ACCOUNT: RecordedTable =
    RecordedTable { id: 100, name: "account", columns: &[("id", INT), ("name", TEXT), ("balance", BIGINT)] };
const TELLER: RecordedTable =
    RecordedTable { id: 200, name: "teller", columns: &[("id", INT), ("branch", INT), ("balance", BIGINT)] };
const BRANCH: RecordedTable =
    RecordedTable { id: 300, name: "branch", columns: &[("id", INT), ("balance", BIGINT)] };
const HISTORY: RecordedTable = RecordedTable {
    id: 400,
    name: "history",
    columns: &[
        ("id", BIGINT),
        ("account", INT),
        ("teller", INT),
        ("branch", INT),
        ("delta", INT),
        ("moment", TIMESTAMP),
    ],
};
const TABLES: [&RecordedTable; 4] = [&ACCOUNT, &TELLER, &BRANCH, &HISTORY];

/// What the tables become: the same as on a server.
#[must_use]
pub fn mapping() -> String {
    source_server::mapping(|name| TABLES.iter().any(|table| table.name == name))
}

/// What a processor's caches hold when a batch comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caches {
    /// What the batch before left.
    Warm,
    /// What others have used in between.
    Cold,
}

/// A source without a server.
#[derive(Clone)]
pub struct RecordedSource {
    /// All but the stream.
    script: ScriptedSource,
    stream: Arc<Mutex<RecordedBatches>>,
}

#[derive(Default)]
struct RecordedBatches {
    batches: VecDeque<ChangeBatch>,
    /// What is read before each batch; empty if caches stay warm.
    other_work: Vec<u8>,
    other_time: Duration,
}

/// Makes transactions.
pub struct RecordedWriter {
    random: Random,
    accounts: u64,
    entries: u64,
    end: u64,
    xid: u32,
    is_described: bool,
}

impl RecordedSource {
    /// A source with so many accounts.
    #[must_use]
    pub fn new(accounts: u32) -> Self {
        let identity = SourceIdentity {
            system: "1".to_owned(),
            timeline: 1,
            database: "shop".to_owned(),
            log_end: Lsn::new(1 << 20),
            server_version: 150_000,
        };
        let catalogue = Catalogue {
            tables: TABLES.iter().map(|table| table.described()).collect(),
            ..Catalogue::default()
        };
        let rows =
            |count: u32, row: &dyn Fn(u32) -> String| (0..count).map(|n| row(n).into_bytes()).collect();
        let script = ScriptedSource::new(identity, catalogue, [])
            .with_rows("public", "account", rows(accounts, &|n| format!("{n}\taccount {n}\t1000\n")))
            .with_rows(
                "public",
                "teller",
                rows(TELLERS, &|n| format!("{}\t{}\t0\n", n + 1, 1 + n % BRANCHES)),
            )
            .with_rows("public", "branch", rows(BRANCHES, &|n| format!("{}\t0\n", n + 1)))
            .with_rows("public", "history", Vec::new());
        Self { script, stream: Arc::default() }
    }

    fn batches(&self) -> MutexGuard<'_, RecordedBatches> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends `batches`, and sees to it that each meets such caches.
    pub fn send(&self, batches: Vec<ChangeBatch>, caches: Caches) {
        let mut stream = self.batches();
        stream.other_work = vec![1; if caches == Caches::Cold { COLD_BYTES } else { 0 }];
        stream.batches = batches.into();
    }

    /// What reading other memory took since this was asked last.
    #[must_use]
    pub fn take_other_time(&self) -> Duration {
        std::mem::take(&mut self.batches().other_time)
    }
}

impl RecordedTable {
    fn described(&self) -> Table {
        let column = |(name, type_id): &(&str, Oid)| Column {
            name: (*name).into(),
            type_id: *type_id,
            type_name: match *type_id {
                INT => "integer",
                BIGINT => "bigint",
                TEXT => "text",
                _ => "timestamp without time zone",
            }
            .into(),
            is_nullable: false,
            is_generated: false,
            is_nondeterministic: false,
        };
        let refers = self.id == HISTORY.id;
        let foreign_key = ForeignKey {
            name: "history_account".into(),
            columns: vec!["account".into()],
            target: ACCOUNT.id,
            target_columns: vec!["id".into()],
            is_validated: true,
            is_deferrable: false,
        };
        Table {
            id: self.id,
            schema: "public".into(),
            name: self.name.into(),
            kind: TableKind::Plain,
            partition_of: None,
            child_tables: Vec::new(),
            columns: self.columns.iter().map(column).collect(),
            primary_key: Some(Key { name: "key".into(), columns: vec!["id".into()], is_deferrable: false }),
            unique_keys: Vec::new(),
            foreign_keys: if refers { vec![foreign_key] } else { Vec::new() },
            identity: RelationIdentity::PrimaryKey,
            identity_columns: vec!["id".into()],
            rows_estimate: None,
            rights: TableRights::default(),
        }
    }

    fn relation(&self) -> Vec<u8> {
        let count = (self.columns.len() as u16).to_be_bytes();
        let name = self.name.as_bytes();
        let mut message = [b"R", &self.id.to_be_bytes()[..], b"public\0", name, b"\0d", &count].concat();
        for (place, (column, type_id)) in self.columns.iter().enumerate() {
            message.push(u8::from(place == 0));
            message.extend(column.as_bytes());
            message.push(0);
            message.extend(type_id.to_be_bytes());
            message.extend((-1_i32).to_be_bytes());
        }
        message
    }

    /// A row that is new (`I`), or that has these cells now (`U`).
    fn row(&self, letter: u8, cells: &[&str]) -> Vec<u8> {
        let count = (cells.len() as u16).to_be_bytes();
        let mut message = [&[letter], &self.id.to_be_bytes()[..], b"N", &count].concat();
        for cell in cells {
            message.push(b't');
            message.extend((cell.len() as u32).to_be_bytes());
            message.extend(cell.as_bytes());
        }
        message
    }
}

impl RecordedWriter {
    /// A writer to the tables of a [`RecordedSource`] with so many accounts.
    #[must_use]
    pub fn new(accounts: u32, seed: u64) -> Self {
        Self {
            random: Random::new(seed, 471, 0),
            accounts: u64::from(accounts),
            entries: 0,
            end: 2 << 20,
            xid: 1_000,
            is_described: false,
        }
    }

    /// Entries of the history so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The end of the newest transaction.
    #[must_use]
    pub fn end(&self) -> Lsn {
        Lsn::new(self.end)
    }

    /// Transactions as pgbench's writers have them, so many a batch.
    pub fn small(&mut self, count: u32, of_batch: u32) -> Vec<ChangeBatch> {
        self.batches(count, of_batch, |writer| {
            writer.entries += 1;
            let account = writer.random.below(writer.accounts).to_string();
            let teller = 1 + writer.random.below(u64::from(TELLERS));
            let branch = (1 + writer.random.below(u64::from(BRANCHES))).to_string();
            let of_teller = (1 + (teller - 1) % u64::from(BRANCHES)).to_string();
            let (teller, name) = (teller.to_string(), format!("account {account}"));
            let (delta, balance) = (writer.random.below(10_001), writer.random.below(1_000_000).to_string());
            let (entry, delta) = (writer.entries.to_string(), (delta as i64 - 5_000).to_string());
            let moment =
                format!("2026-11-26 12:{:02}:17.{:06}", writer.entries % 60, writer.entries % 1_000_000);
            vec![
                ACCOUNT.row(b'U', &[&account, &name, &balance]),
                TELLER.row(b'U', &[&teller, &of_teller, &balance]),
                BRANCH.row(b'U', &[&branch, &balance]),
                HISTORY.row(b'I', &[&entry, &account, &teller, &branch, &delta, &moment]),
            ]
        })
    }

    /// Transactions that change the balances of so many accounts, a batch each.
    pub fn updates(&mut self, count: u32, rows: u32) -> Vec<ChangeBatch> {
        self.batches(count, 1, |writer| {
            let row = |_| {
                let account = writer.random.below(writer.accounts).to_string();
                let balance = writer.random.below(1_000_000).to_string();
                ACCOUNT.row(b'U', &[&account, &format!("account {account}"), &balance])
            };
            (0..rows).map(row).collect()
        })
    }

    fn batches(
        &mut self,
        count: u32,
        of_batch: u32,
        mut rows: impl FnMut(&mut Self) -> Vec<Vec<u8>>,
    ) -> Vec<ChangeBatch> {
        let mut batches = Vec::new();
        for number in 0..count {
            if number % of_batch == 0 {
                batches.push(ChangeBatch::default());
            }
            let rows = rows(self);
            self.transaction(batches.last_mut().expect("there is one from the beginning"), &rows);
        }
        batches
    }

    fn transaction(&mut self, batch: &mut ChangeBatch, rows: &[Vec<u8>]) {
        (self.xid, self.end) = (self.xid + 1, self.end + 1_000);
        let (commit, now) = ((self.end - 8).to_be_bytes(), PostgresTime::now());
        let time = now.microseconds().to_be_bytes();
        let mut push =
            |message: &[u8]| batch.push_message(Lsn::new(self.end), Lsn::new(self.end), now, message);
        push(&[b"B", &commit[..], &time, &self.xid.to_be_bytes()].concat());
        if !std::mem::replace(&mut self.is_described, true) {
            TABLES.iter().for_each(|table| push(&table.relation()));
        }
        rows.iter().for_each(|row| push(row));
        push(&[b"C\0", &commit[..], &self.end.to_be_bytes(), &time].concat());
    }
}

/// The stream of a [`RecordedSource`].
struct RecordedStream(RecordedSource);

impl ChangeStream for RecordedStream {
    fn next_batch(&mut self, time_max: Duration) -> SourceResult<Option<ChangeBatch>> {
        let mut stream = self.0.batches();
        let batch = stream.batches.pop_front();
        if batch.is_none() {
            drop(stream);
            std::thread::sleep(time_max.min(Duration::from_millis(1)));
        } else if !stream.other_work.is_empty() {
            let began = ThreadTime::now();
            let lines = stream.other_work.iter().step_by(LINE_BYTES);
            black_box(lines.map(|byte| u64::from(*byte)).sum::<u64>());
            stream.other_time += began.elapsed();
        }
        Ok(batch)
    }

    fn confirm(&self, _: Lsn) {}

    fn stop(self: Box<Self>) -> SourceResult<()> {
        Ok(())
    }
}

impl Source for RecordedSource {
    fn identity(&mut self) -> SourceResult<SourceIdentity> {
        self.script.identity()
    }

    fn catalogue(&mut self) -> SourceResult<Catalogue> {
        self.script.catalogue()
    }

    fn cut(&mut self, tables: &[CopyRequest], rules: CutRules) -> SourceResult<TableCuts> {
        self.script.cut(tables, rules)
    }

    fn copy(&mut self, request: &CopyRequest, cancel: &CancelFlag) -> SourceResult<Box<dyn RowStream>> {
        self.script.copy(request, cancel)
    }

    fn stream(&mut self, _: &StreamRequest) -> SourceResult<Box<dyn ChangeStream>> {
        Ok(Box::new(RecordedStream(self.clone())))
    }
}

impl ReplicaSource for RecordedSource {
    fn place(&self) -> String {
        self.script.place()
    }

    fn another(&self, _: &CancelFlag) -> Box<dyn ReplicaSource> {
        Box::new(self.clone())
    }

    fn server_state(&mut self) -> SourceResult<ServerState> {
        self.script.server_state()
    }

    fn slot_state(&mut self, name: &str) -> SourceResult<Option<SlotState>> {
        self.script.slot_state(name)
    }

    fn create_slot(
        &mut self,
        name: &str,
        waiting: &dyn Fn(&SlotWait),
        cancel: &CancelFlag,
    ) -> SourceResult<ExportedSlot> {
        self.script.create_slot(name, waiting, cancel)
    }

    fn drop_slot(&mut self, name: &str) -> SourceResult<()> {
        self.script.drop_slot(name)
    }

    fn create_publication(&mut self, name: &str, tables: &[(String, String)]) -> SourceResult<()> {
        self.script.create_publication(name, tables)
    }

    fn drop_publication(&mut self, name: &str) -> SourceResult<()> {
        self.script.drop_publication(name)
    }

    fn slots_of_database(&mut self) -> SourceResult<Vec<String>> {
        self.script.slots_of_database()
    }

    fn timeline_end(&mut self, timeline: u32, current: u32) -> SourceResult<Option<Lsn>> {
        self.script.timeline_end(timeline, current)
    }

    fn filled_columns(
        &mut self,
        table: Oid,
        columns: &[Box<str>],
        rewrite: TableRewrite,
    ) -> SourceResult<Vec<String>> {
        self.script.filled_columns(table, columns, rewrite)
    }

    fn partition_origin(&mut self, partition: Oid) -> SourceResult<Option<PartitionOrigin>> {
        self.script.partition_origin(partition)
    }
}
