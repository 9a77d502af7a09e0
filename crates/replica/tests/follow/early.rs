//! Early work: large streamed transactions, several at a time, with savepoints that are rolled back, other transactions and other
//! descriptions of their tables in between, come to what their rows say, whatever was done before their commits.

use crate::graph::Graph;
use crate::messages;
use crate::scenario::{open, options};
use crate::shop::{self, ITEM, ITEM_COLUMNS, OWNER, OWNER_COLUMNS, Shop, below, item_row, owner_row};
use evergraph::{Database, Durability, ReadByName as _};
use evergraph_graph::cancel::CancelFlag;
use evergraph_replica::follow::options::ReplicaOptions;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::metrics::EarlyStep;
use evergraph_replica::planted::{Bug, with};
use evergraph_replica::source::scripted::{ScriptStep, ScriptedSource};
use evergraph_storage::io::memory::MemoryDirectory;
use std::time::{Duration, Instant};

/// Keys of each transaction: no two change the same row.
const KEYS: i32 = 100_000;
/// Rows of each transaction's keys that are there before.
const KNOWN_ROWS: i32 = 30;
/// Rows of a block: some 200 KiB.
const BLOCK_ROWS: u64 = 300;
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What a transaction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// It inserts rows.
    Inserts,
    /// It inserts rows, and changes names of some that were there before.
    InsertsAndNames,
    /// Everything.
    All,
}

/// A streamed transaction in progress.
struct Open {
    xid: u32,
    kind: Kind,
    number: i32,
    next_key: i32,
    is_first: bool,
    /// Its own keys' rows, as it sees them.
    rows: Shop,
    /// The subtransaction that runs, and the rows before it.
    savepoint: Option<(u32, Shop)>,
    subtransactions: u32,
    blocks: u32,
}

fn abort(xid: u32, subtransaction: u32) -> Vec<u8> {
    [&b"A"[..], &xid.to_be_bytes(), &subtransaction.to_be_bytes()].concat()
}

fn own_rows(shop: &Shop, number: i32) -> Shop {
    let own = number * KEYS..(number + 1) * KEYS;
    Shop {
        owners: shop.owners.range(own.clone()).map(|(key, row)| (*key, row.clone())).collect(),
        items: shop.items.range(own).map(|(key, row)| (*key, row.clone())).collect(),
    }
}

impl Open {
    fn new(number: i32, kind: Kind, shop: &Shop) -> Self {
        let (xid, rows) = (5000 + 1000 * number as u32, own_rows(shop, number));
        let next_key = number * KEYS + KNOWN_ROWS;
        Self {
            xid,
            kind,
            number,
            next_key,
            is_first: true,
            rows,
            savepoint: None,
            subtransactions: 0,
            blocks: 0,
        }
    }

    /// One row; `None` if nothing is there to change.
    fn change(&mut self, random: &mut u64, xid: u32) -> Option<Vec<u8>> {
        let known = self.number * KEYS + below(random, KNOWN_ROWS as u64) as i32;
        let text = |random: &mut u64| Some(format!("t{}", below(random, 1000)).repeat(200));
        // An owner of this transaction, or of another one, which may not be there yet.
        let owner = below(random, 4) as i32 * KEYS + below(random, 400) as i32;
        let what = match self.kind {
            Kind::Inserts => 9,
            // Later than its rows are on their way into a load.
            Kind::InsertsAndNames if self.blocks > 4 && below(random, 40) == 0 => 0,
            Kind::InsertsAndNames => 9,
            Kind::All => below(random, 12),
        };
        match what {
            0 => {
                let name = text(random);
                self.rows.owners.get_mut(&known)?.clone_from(&name);
                Some(messages::update(Some(xid), OWNER, None, &owner_row(known, &name)))
            }
            1 => {
                let item = self.rows.items.get_mut(&known)?;
                *item = (Some(owner), text(random));
                Some(messages::update(Some(xid), ITEM, None, &item_row(known, item)))
            }
            2 => {
                self.rows.owners.remove(&known)?;
                Some(messages::delete(Some(xid), OWNER, known, OWNER_COLUMNS.len()))
            }
            3 => {
                let (key, _) = self.rows.items.range(known..).next().map(|(key, row)| (*key, row.clone()))?;
                self.rows.items.remove(&key);
                Some(messages::delete(Some(xid), ITEM, key, ITEM_COLUMNS.len()))
            }
            _ => {
                self.next_key += 1;
                let key = self.next_key;
                if below(random, 3) == 0 {
                    let name = text(random);
                    self.rows.owners.insert(key, name.clone());
                    return Some(messages::insert(Some(xid), OWNER, &owner_row(key, &name)));
                }
                let item = (Some(owner), text(random));
                self.rows.items.insert(key, item.clone());
                Some(messages::insert(Some(xid), ITEM, &item_row(key, &item)))
            }
        }
    }

    /// A block of rows, and the rollback of a savepoint behind it, perhaps.
    fn block(&mut self, random: &mut u64, savepoints: bool) -> (Vec<Vec<u8>>, Option<Vec<u8>>) {
        self.blocks += 1;
        let mut block = vec![messages::stream_start(self.xid, self.is_first)];
        if self.is_first {
            block.extend(shop::describe(Some(self.xid)));
        }
        self.is_first = false;
        if savepoints && self.savepoint.is_none() && below(random, 3) == 0 {
            self.subtransactions += 1;
            self.savepoint = Some((self.xid + self.subtransactions, self.rows.clone()));
        }
        let xid = self.savepoint.as_ref().map_or(self.xid, |(xid, _)| *xid);
        for _ in 0..BLOCK_ROWS {
            block.extend(self.change(random, xid));
        }
        block.push(messages::stream_stop());
        if self.savepoint.is_some() && below(random, 2) == 0 {
            let (subtransaction, before) = self.savepoint.take().unwrap();
            if below(random, 2) == 0 {
                self.rows = before;
                return (block, Some(abort(self.xid, subtransaction)));
            }
        }
        (block, None)
    }

    /// What the rows are after its commit.
    fn commit(self, shop: &mut Shop) {
        let own = own_rows(shop, self.number);
        own.owners.keys().for_each(|key| drop(shop.owners.remove(key)));
        own.items.keys().for_each(|key| drop(shop.items.remove(key)));
        shop.owners.extend(self.rows.owners);
        shop.items.extend(self.rows.items);
    }
}

/// A small transaction, which describes a table with its columns in another order, of rows that nobody else has.
fn small(random: &mut u64, shop: &mut Shop, number: i32, end: u64) -> Vec<Vec<u8>> {
    let (key, title) = (9 * KEYS + number, Some(format!("small {}", below(random, 1000))));
    let columns: Vec<(&str, u32)> = [0, 2, 1].map(|at: usize| ITEM_COLUMNS[at]).to_vec();
    let item = (Some(below(random, 4) as i32 * KEYS), title);
    let row = item_row(key, &item);
    let row = [row[0].clone(), row[2].clone(), row[1].clone()];
    shop.items.insert(key, item);
    vec![
        messages::relation(None, ITEM, "item", &columns),
        messages::begin(77, end),
        messages::insert(None, ITEM, &row),
        messages::commit(end),
    ]
}

fn play(seed: u64) -> Counts {
    let mut random = seed;
    let random = &mut random;
    let mut shop = Shop::default();
    for number in 0..4 {
        for key in 0..KNOWN_ROWS {
            let key = number * KEYS + key;
            shop.owners.insert(key, Some(format!("known {key}")));
            shop.items.insert(key, (Some(key), Some(format!("known {key}"))));
        }
    }
    let [owners, items] = shop.copy_rows();
    let source = ScriptedSource::new(shop::identity(), shop::catalogue(), []);
    let source = source.with_rows("public", "owner", owners).with_rows("public", "item", items);
    let folder = tempfile::tempdir().unwrap();
    let database = open(&MemoryDirectory::new("early"), Durability::Interval(Duration::from_millis(5)));
    let follow = ReplicaOptions {
        bulk_bytes_min: [None, Some(0), Some(200 << 10)][seed as usize % 3],
        // Little enough, sometimes, that early work is dropped, or messages go to a file.
        transaction_bytes_max: [64 << 20, 6 << 20][seed as usize / 3 % 2],
        memory_bytes: [64 << 20, 2 << 20][seed as usize / 6 % 2],
        temporary: folder.path().to_owned(),
        ..options()
    };
    let source_of = Box::new(source.clone());
    let replica =
        Replica::start(database.clone(), source_of, follow, &|_| (), &CancelFlag::default()).unwrap();
    source.go_on([ScriptStep::Messages(shop::describe(None))]);
    let kinds = [Kind::Inserts, Kind::InsertsAndNames, Kind::All];
    let mut open: Vec<Open> =
        (0..3).map(|number| Open::new(number, kinds[below(random, 3) as usize], &shop)).collect();
    let savepoints = [below(random, 2) == 0, below(random, 2) == 0, false];
    let (mut end, mut smalls) = (1000, 0);
    let check = |shop: &Shop, end: u64| {
        assert!(replica.wait(Lsn::new(end), WAIT_MAX).unwrap(), "{seed}: {:?}", replica.status());
        assert_eq!(Graph::read(&database.snapshot()), Graph::of(shop), "seed {seed}, at {end}");
    };
    for round in 0..30 {
        let Some(at) = (!open.is_empty()).then(|| below(random, open.len() as u64) as usize) else { break };
        let has_savepoints = savepoints[open[at].number as usize];
        let (block, rolled_back) = open[at].block(random, has_savepoints);
        source.go_on([ScriptStep::Messages(block)]);
        if let Some(rolled_back) = rolled_back {
            std::thread::sleep(Duration::from_millis(below(random, 60)));
            source.go_on([ScriptStep::Messages(vec![rolled_back])]);
        }
        if below(random, 3) == 0 {
            (end, smalls) = (end + 100, smalls + 1);
            source.go_on([ScriptStep::Messages(small(random, &mut shop, smalls, end))]);
            check(&shop, end);
        }
        if below(random, 3) == 0 {
            std::thread::sleep(Duration::from_millis(below(random, 30)));
        }
        if round > 20 && below(random, 3) == 0 {
            if below(random, 2) == 0 {
                std::thread::sleep(Duration::from_millis(100));
            }
            let committed = open.swap_remove(at);
            end += 100;
            if below(random, 6) == 0 {
                source.go_on([ScriptStep::Messages(vec![messages::stream_abort(committed.xid)])]);
                continue;
            }
            source.go_on([ScriptStep::Messages(vec![messages::stream_commit(committed.xid, end)])]);
            committed.commit(&mut shop);
            check(&shop, end);
        }
    }
    let counts = counts(&replica);
    replica.stop().unwrap();
    counts
}

#[test]
fn large_transactions_come_to_their_rows_whatever_was_done_before_their_commits() {
    let mut all = Counts::default();
    // Few are loaded: items of others wait for their owners.
    let steps = [EarlyStep::Begun, EarlyStep::Filled, EarlyStep::Folded, EarlyStep::Dropped];
    let each_was_met = |all: &Counts| steps.iter().all(|step| all[*step as usize] > 0);
    // On a busy machine commits may come before early work does: then there are more of them.
    for seed in 0..120 {
        if seed >= 5 && each_was_met(&all) {
            break;
        }
        let counts = play(seed);
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    println!("begun, filled, folded, loaded, changed, dropped: {all:?}");
    assert!(each_was_met(&all), "begun, filled, folded, loaded, changed, dropped: {all:?}");
}

/// Transactions by the steps of early work.
type Counts = [u64; EarlyStep::ALL.len()];

fn counts(replica: &Replica) -> Counts {
    replica.metrics().early_transactions().map(|(_, count)| count)
}

/// One owner, and a streamed transaction of items that are his.
struct Case {
    source: ScriptedSource,
    database: Database,
    replica: Option<Replica>,
    shop: Shop,
    folder: tempfile::TempDir,
}

/// The streamed transaction of a case, and where it commits.
const XID: u32 = 900;
const END: u64 = 1000;
/// Its rows: more than two mebibytes.
const ITEMS: i32 = 3000;
/// Those of them that are surely in whole pieces.
const EARLY_ITEMS: u64 = 2500;

impl Case {
    fn new() -> Self {
        let shop = Shop { owners: [(1, Some("owner".to_owned()))].into(), ..Shop::default() };
        let [owners, items] = shop.copy_rows();
        let source = ScriptedSource::new(shop::identity(), shop::catalogue(), []);
        let source = source.with_rows("public", "owner", owners).with_rows("public", "item", items);
        let database = open(&MemoryDirectory::new("early"), Durability::Interval(Duration::from_millis(5)));
        let mut case = Self { source, database, replica: None, shop, folder: tempfile::tempdir().unwrap() };
        case.start(None);
        case.send(shop::describe(None));
        case
    }

    fn start(&mut self, end: Option<Lsn>) {
        let follow = ReplicaOptions {
            bulk_bytes_min: Some(0),
            temporary: self.folder.path().to_owned(),
            end,
            ..options()
        };
        let source = Box::new(self.source.clone());
        let replica =
            Replica::start(self.database.clone(), source, follow, &|_| (), &CancelFlag::default()).unwrap();
        self.replica = Some(replica);
    }

    fn replica(&self) -> &Replica {
        self.replica.as_ref().unwrap()
    }

    fn send(&self, messages: Vec<Vec<u8>>) {
        self.source.go_on([ScriptStep::Messages(messages)]);
    }

    /// Sends the items, the first block by the (sub)transaction `first_xid`, and waits until early work has come to its end.
    fn stream(&mut self, first_xid: u32) {
        for first in (0..ITEMS).step_by(300) {
            let mut block = vec![messages::stream_start(XID, first == 0)];
            if first == 0 {
                block.extend(shop::describe(Some(XID)));
            }
            for key in first..first + 300 {
                let item = (Some(1), Some("title ".repeat(150)));
                let xid = if first == 0 { first_xid } else { XID };
                block.push(messages::insert(Some(xid), ITEM, &item_row(key, &item)));
                self.shop.items.insert(key, item);
            }
            block.push(messages::stream_stop());
            self.send(block);
        }
        self.wait_for_early_work();
    }

    /// All whole pieces were worked on, and go into a load.
    fn wait_for_early_work(&self) {
        let began = Instant::now();
        while self.replica().metrics().early_rows() < EARLY_ITEMS {
            let counts = counts(self.replica());
            assert!(began.elapsed() < WAIT_MAX, "{counts:?}, {}", self.replica().metrics().early_rows());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(counts(self.replica())[..2], [1, 1], "begun and filled");
    }

    fn block(&self, rows: Vec<Vec<u8>>) {
        self.send([vec![messages::stream_start(XID, false)], rows, vec![messages::stream_stop()]].concat());
    }

    /// Waits until all before `end` is here.
    fn wait(&self, end: u64) {
        assert!(self.replica().wait(Lsn::new(end), WAIT_MAX).unwrap(), "{:?}", self.replica().status());
    }

    fn is_right(&self) -> bool {
        Graph::read(&self.database.snapshot()) == Graph::of(&self.shop)
    }

    /// Sends its commit, and waits for it.
    fn commit(&self) {
        self.send(vec![messages::stream_commit(XID, END)]);
        self.wait(END);
    }

    /// Commits it: to these steps of its end early work came, and to no others.
    fn check_commit(&self, expected: &[EarlyStep]) {
        self.commit();
        assert!(self.is_right());
        let counts = counts(self.replica());
        let ends = [EarlyStep::Folded, EarlyStep::Loaded, EarlyStep::Changed, EarlyStep::Dropped];
        let found: Vec<_> = ends.into_iter().filter(|step| counts[*step as usize] > 0).collect();
        assert_eq!(found, expected);
    }
}

/// With a savepoint that is rolled back when its rows are on their way into a load.
fn with_a_rolled_back_savepoint() -> Case {
    let mut case = Case::new();
    case.stream(XID + 1);
    case.send(vec![abort(XID, XID + 1)]);
    case.shop.items.retain(|key, _| *key >= 300);
    case
}

/// With a row that is changed after it came.
fn with_a_changed_row() -> Case {
    let mut case = Case::new();
    case.stream(XID);
    let item = (None, Some("changed".to_owned()));
    case.block(vec![messages::update(Some(XID), ITEM, None, &item_row(7, &item))]);
    case.shop.items.insert(7, item);
    case
}

/// With a row that is deleted after it came.
fn with_a_deleted_row() -> Case {
    let mut case = Case::new();
    case.stream(XID);
    case.block(vec![messages::delete(Some(XID), ITEM, 7, ITEM_COLUMNS.len())]);
    case.shop.items.remove(&7);
    case
}

#[test]
fn rows_that_came_before_the_commit_are_loaded_with_what_changes_of_others() {
    let mut case = Case::new();
    case.stream(XID);
    case.shop.owners.insert(1, Some("renamed".to_owned()));
    case.block(vec![messages::update(Some(XID), OWNER, None, &owner_row(1, &case.shop.owners[&1]))]);
    case.check_commit(&[EarlyStep::Loaded, EarlyStep::Changed]);
}

#[test]
fn early_work_is_dropped_where_an_end_was_deleted_before_the_commit() {
    let mut case = Case::new();
    case.stream(XID);
    case.shop.owners.clear();
    case.send(vec![
        messages::begin(7, END - 100),
        messages::delete(None, OWNER, 1, OWNER_COLUMNS.len()),
        messages::commit(END - 100),
    ]);
    case.wait(END - 100);
    case.check_commit(&[EarlyStep::Dropped]);
}

#[test]
fn early_work_is_dropped_where_a_row_of_it_is_changed_or_deleted_or_its_savepoint_is_rolled_back() {
    for case in [with_a_changed_row, with_a_deleted_row, with_a_rolled_back_savepoint] {
        case().check_commit(&[EarlyStep::Dropped]);
    }
}

#[test]
fn planted_bugs_of_early_work_are_found() {
    let cases: [(Bug, fn() -> Case); 3] = [
        (Bug::EarlyRollbackIgnored, with_a_rolled_back_savepoint),
        (Bug::EarlyDeleteIgnored, with_a_deleted_row),
        (Bug::EarlyChangeForgotten, with_a_changed_row),
    ];
    for (bug, case) in cases {
        let case = with(bug, case);
        case.commit();
        assert!(!case.is_right(), "{bug:?} is not found");
    }
}

#[test]
fn a_transaction_that_is_open_when_the_replica_stops_or_ends_comes_again_whole() {
    let mut case = Case::new();
    case.stream(XID);
    case.replica.take().unwrap().stop().unwrap();
    assert_eq!(case.database.snapshot().vertices(Some("Item")).unwrap_or_default().len(), 0);
    case.start(Some(Lsn::new(END - 50)));
    case.wait_for_early_work();
    case.send(vec![messages::stream_commit(XID, END)]);
    case.wait(END - 50);
    assert_eq!(case.database.snapshot().vertices(Some("Item")).unwrap_or_default().len(), 0);
    case.replica.take().unwrap().stop().unwrap();
    case.start(None);
    case.wait(END);
    assert!(case.is_right());
}
