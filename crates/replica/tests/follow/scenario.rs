//! A scenario: a random script of a shop, with what the shop is after each transaction, and replicas of it.

use crate::cut_source::{Cut, CutSource};
use crate::graph::{Graph, position};
use crate::messages;
use crate::shop::{self, ITEM, OWNER, Shop, below, item_row, owner_row};
use evergraph::{Database, Durability, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::options::{FollowIntervals, ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::pause::Pause;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::source::replica_source::ReplicaSource;
use evergraph_replica::source::scripted::{ScriptStep, ScriptedSource};
use evergraph_storage::io::memory::MemoryDirectory;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a pause may take to come.
const PAUSE_TIME_MAX: Duration = Duration::from_secs(60);
/// Bytes of log from one transaction's end to the next one's.
const TRANSACTION_BYTES: u64 = 100;
/// Blocks of a transaction that is worked on before its commit.
const LONG_BLOCKS: u32 = 8;

/// A source, and what a replica of it must be at each position.
pub struct Scenario {
    pub source: ScriptedSource,
    /// By the end of the transaction that made it so; the first is the copy.
    pub states: BTreeMap<Lsn, Graph>,
    /// Whether transactions that only insert rows are loaded in bulk, however small they are.
    pub loads_in_bulk: bool,
}

/// What goes wrong at the source, in a script.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Nothing.
    None,
    /// Connections break, the server crashes, and makes checkpoints in between.
    Random,
}

impl Scenario {
    /// A shop with `transactions` random transactions.
    pub fn new(random: &mut u64, transactions: u64, faults: Faults) -> Self {
        let mut shop = Shop::default();
        for _ in 0..below(random, 20) {
            shop.change(random, None);
        }
        let source = ScriptedSource::new(shop::identity(), shop::catalogue(), []);
        let [owners, items] = shop.copy_rows();
        let source = source.with_rows("public", "owner", owners).with_rows("public", "item", items);
        let mut states = BTreeMap::from([(shop::identity().log_end, Graph::of(&shop))]);
        let mut steps = vec![ScriptStep::Messages(shop::describe(None))];
        let mut number = 0;
        while number < transactions {
            number += 1;
            let mut end = number * TRANSACTION_BYTES;
            let is_long = faults == Faults::Random && !shop.owners.is_empty() && below(random, 12) == 0;
            let of_kind = if is_long { long_transaction } else { transaction };
            let mut changes = of_kind(random, &mut shop, number as u32 + 1000, end);
            states.insert(Lsn::new(end), Graph::of(&shop));
            if number < transactions && below(random, 4) == 0 {
                number += 1;
                end = number * TRANSACTION_BYTES;
                changes = around(random, &mut shop, number as u32 + 1000, end, changes);
                states.insert(Lsn::new(end), Graph::of(&shop));
            }
            steps.extend(changes);
            if below(random, 4) == 0 {
                steps.push(ScriptStep::Keepalive(Lsn::new(end + below(random, 50))));
            }
            if faults == Faults::Random {
                match below(random, 12) {
                    0 => steps.push(ScriptStep::Break),
                    1 => steps.push(ScriptStep::Crash),
                    2 | 3 => steps.push(ScriptStep::Checkpoint),
                    4 => steps.push(ScriptStep::Silence),
                    _ => {}
                }
            }
        }
        source.go_on(steps);
        Self { source, states, loads_in_bulk: below(random, 2) == 0 }
    }

    /// The end of the last transaction.
    pub fn end(&self) -> Lsn {
        *self.states.last_key_value().unwrap().0
    }

    /// Before this, nothing comes but the scenario's own transactions and keepalives.
    pub fn end_of_script(&self) -> Lsn {
        Lsn::new(self.end().get() + TRANSACTION_BYTES)
    }

    /// The newest position that the source was told.
    pub fn confirmed(&self) -> Lsn {
        self.source.confirmations().into_iter().max().unwrap_or_default()
    }

    /// Checks that `snapshot` shows what its note says, and returns where that is.
    pub fn check(&self, snapshot: &evergraph::Snapshot) -> Lsn {
        let end = position(snapshot).expect("a replica has a position").end;
        let (of, expected) = self.states.range(..=end).next_back().expect("not before the copy");
        assert_eq!(Graph::read(snapshot), *expected, "at {end}, after the transaction that ends at {of}");
        end
    }
}

/// One transaction, at once or streamed, with keepalives in the middle perhaps; rolled-back ones beside it.
fn transaction(random: &mut u64, shop: &mut Shop, xid: u32, end: u64) -> Vec<ScriptStep> {
    let mut steps = Vec::new();
    if below(random, 4) == 0 {
        // A transaction that is rolled back, of whose rows nothing stays.
        let aborted = xid + 100_000;
        steps.extend(block(random, &mut shop.clone(), aborted, true, end));
        steps.extend(keepalive_between(random, end));
        steps.push(ScriptStep::Messages(vec![messages::stream_abort(aborted)]));
    }
    let rows = 1 + below(random, 5);
    if below(random, 3) == 0 {
        for row in 0..rows {
            steps.extend(block(random, shop, xid, row == 0, end));
            steps.extend(keepalive_between(random, end));
        }
        steps.push(ScriptStep::Messages(vec![messages::stream_commit(xid, end)]));
    } else {
        let mut first = vec![messages::begin(xid, end)];
        first.extend((0..rows).map(|_| shop.change(random, None)));
        steps.push(ScriptStep::Messages(first));
        steps.extend(keepalive_within(random, end));
        steps.push(ScriptStep::Messages(vec![messages::commit(end)]));
    }
    steps
}

/// A streamed transaction of many pieces, which a replica may work on before the commit: inserted items of an owner who is there,
/// and then his new names as well.
fn long_transaction(random: &mut u64, shop: &mut Shop, xid: u32, end: u64) -> Vec<ScriptStep> {
    let owners: Vec<i32> = shop.owners.keys().copied().collect();
    let owner = owners[below(random, owners.len() as u64) as usize];
    let mut steps = Vec::new();
    for number in 0..LONG_BLOCKS {
        let mut block = vec![messages::stream_start(xid, number == 0)];
        // A description begins a piece.
        block.extend(shop::describe(Some(xid)));
        if number > LONG_BLOCKS / 2 && below(random, 2) == 0 {
            let name = Some(format!("renamed {}", below(random, 1000)));
            block.push(messages::update(Some(xid), OWNER, None, &owner_row(owner, &name)));
            shop.owners.insert(owner, name);
        } else {
            let (key, item) = ((xid * LONG_BLOCKS + number) as i32, (Some(owner), Some("long".to_owned())));
            block.push(messages::insert(Some(xid), ITEM, &item_row(key, &item)));
            shop.items.insert(key, item);
        }
        block.push(messages::stream_stop());
        steps.push(ScriptStep::Messages(block));
        steps.extend(keepalive_between(random, end));
        // A step of early work at each.
        steps.extend((0..below(random, 10)).map(|_| ScriptStep::Silence));
    }
    steps.push(ScriptStep::Messages(vec![messages::stream_commit(xid, end)]));
    steps
}

/// A streamed transaction that ends with `end`, and began before `inner`, which commits between its blocks.
fn around(random: &mut u64, shop: &mut Shop, xid: u32, end: u64, inner: Vec<ScriptStep>) -> Vec<ScriptStep> {
    let mut steps = block(random, shop, xid, true, end);
    steps.extend(keepalive_between(random, end - TRANSACTION_BYTES));
    steps.extend(inner);
    steps.extend(keepalive_between(random, end));
    for _ in 0..below(random, 3) {
        steps.extend(block(random, shop, xid, false, end));
        steps.extend(keepalive_between(random, end));
    }
    steps.push(ScriptStep::Messages(vec![messages::stream_commit(xid, end)]));
    steps
}

/// A block of a streamed transaction that ends with `end`.
fn block(random: &mut u64, shop: &mut Shop, xid: u32, is_first: bool, end: u64) -> Vec<ScriptStep> {
    let mut beginning = vec![messages::stream_start(xid, is_first)];
    if is_first {
        beginning.extend(shop::describe(Some(xid)));
    }
    beginning.push(shop.change(random, Some(xid)));
    let mut steps = vec![ScriptStep::Messages(beginning)];
    steps.extend(keepalive_within(random, end));
    steps.push(ScriptStep::Messages(vec![messages::stream_stop()]));
    steps
}

/// Perhaps a keepalive within a whole transaction or a block: its position says nothing of what was sent.
fn keepalive_within(random: &mut u64, end: u64) -> Option<ScriptStep> {
    (below(random, 5) == 0).then(|| ScriptStep::Keepalive(Lsn::new(end + 30)))
}

/// Perhaps a keepalive while transactions are streamed: what committed before was sent, and the next commit ends with `end`.
fn keepalive_between(random: &mut u64, end: u64) -> Option<ScriptStep> {
    (below(random, 3) == 0).then(|| ScriptStep::Keepalive(Lsn::new(end - 1 - below(random, 40))))
}

/// A database in a directory that can lose power.
pub fn open(directory: &MemoryDirectory, durability: Durability) -> Database {
    let options = Options { durability, checkpoint_after_bytes: 20_000, ..Options::default() };
    Database::open_in(Arc::new(directory.clone()), &options).unwrap()
}

/// How tests follow: without long waits.
pub fn options() -> ReplicaOptions {
    let mapping = ReplicaMapping { name: "shop.toml".into(), text: shop::MAPPING.into() };
    ReplicaOptions {
        slot: Some("shop".into()),
        intervals: FollowIntervals {
            epoch: Duration::from_micros(100),
            watch: Duration::from_millis(20),
            position: Duration::from_millis(2),
            retry: Duration::from_millis(1),
        },
        ..ReplicaOptions::new(mapping)
    }
}

/// Follows `source`.
pub fn follow(database: &Database, source: Box<dyn ReplicaSource>) -> evergraph::Result<Replica> {
    Replica::start(database.clone(), source, options(), &|_| (), &CancelFlag::default())
}

/// Follows a source that can be cut off.
pub fn follow_until_cut(database: &Database, scenario: &Scenario, cut: &Cut) -> evergraph::Result<Replica> {
    let options = ReplicaOptions { bulk_bytes_min: scenario.loads_in_bulk.then_some(0), ..options() };
    let source = Box::new(CutSource::new(scenario.source.clone(), cut));
    Replica::start(database.clone(), source, options, &|_| (), &CancelFlag::default())
}

/// The pause that comes.
pub fn pause(replica: &Replica) -> Pause {
    let began = Instant::now();
    loop {
        if let Some(pause) = replica.status().state.pause() {
            return pause;
        }
        assert!(began.elapsed() < PAUSE_TIME_MAX, "{:?}", replica.status());
        std::thread::sleep(Duration::from_millis(5));
    }
}
