//! Workloads: what clients do while something fails, each in small transactions of random content.
//!
//! ```text
//! bank      move money between accounts, and add all of it up: the sum is always the same
//! lists     append to lists that others append to, and read some: a history for `adya`
//! claims    all want the same value of a unique key: one gets it
//! edges     add edges between people, while others drop these people and add them anew: no edge has one side only
//! ```

use crate::caller::{Caller, Effect, number, run, run_for_number, text};
use crate::list_history::Operation;
use evergraph_client::transaction::Transaction;
use evergraph_graph::error::Result;
use evergraph_graph::transaction::Isolation;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use std::sync::atomic::{AtomicI64, Ordering};

/// Accounts, each of which begins with so much.
pub const ACCOUNTS: i64 = 8;
pub const FIRST_BALANCE: i64 = 100;
/// People, who know each other.
pub const PEOPLE: i64 = 12;
/// Lists of one cycle.
pub const LISTS: i64 = 4;

/// What the clients of one cycle share.
pub struct Shared {
    pub cycle: u64,
    /// The isolation level of those that append to lists.
    pub lists: Isolation,
    /// The value that all claim at present.
    pub claimed: AtomicI64,
}

/// One of the four.
#[derive(Clone, Copy, Debug)]
pub enum Workload {
    Bank,
    Lists,
    Claims,
    Edges,
}

/// The clients of a cycle: their places, ascending.
pub const CLIENTS: [Workload; 10] = [
    Workload::Bank,
    Workload::Bank,
    Workload::Lists,
    Workload::Lists,
    Workload::Lists,
    Workload::Claims,
    Workload::Claims,
    Workload::Claims,
    Workload::Edges,
    Workload::Edges,
];

impl Shared {
    /// Levels of those that append to lists take turns.
    pub fn new(cycle: u64) -> Self {
        let lists = if cycle.is_multiple_of(2) { Isolation::Serializable } else { Isolation::Snapshot };
        Self { cycle, lists, claimed: AtomicI64::new(cycle as i64 * 100_000) }
    }

    /// The key of a list of this cycle.
    pub fn list(&self, at: i64) -> i64 {
        self.cycle as i64 * LISTS + at
    }
}

impl Workload {
    /// One transaction of the client at a place, or a look at the graph.
    pub fn step(self, place: usize, caller: &mut Caller<'_>, shared: &Shared, random: &mut SplitMix64) {
        match self {
            Self::Bank if below(random, 4) == 0 => add_up(caller),
            Self::Bank => transfer(place, caller, random),
            Self::Lists => append(place, caller, shared, random),
            Self::Claims => claim(caller, shared),
            Self::Edges => connect(caller, random),
        }
        if below(random, 16) == 0 {
            caller.move_on();
        }
    }
}

/// A number below `end`.
pub fn below(random: &mut SplitMix64, end: i64) -> i64 {
    (random.next_u64() % end as u64) as i64
}

/// Two different numbers below `end`.
fn two_below(random: &mut SplitMix64, end: i64) -> (i64, i64) {
    let one = below(random, end);
    (one, (one + 1 + below(random, end - 1)) % end)
}

/// Begins the graph: accounts and people.
pub fn begin(caller: &mut Caller<'_>) {
    caller.transact(Isolation::Snapshot, |transaction, _| {
        for account in 0..ACCOUNTS {
            let add = format!(
                "g.addV('Account').property('number', {account}L).property('balance', {FIRST_BALANCE}L)"
            );
            run(transaction, &add)?;
        }
        for person in 0..PEOPLE {
            run(transaction, &format!("g.addV('Person').property('number', {person}L)"))?;
        }
        // So that all names are there.
        run(transaction, "g.addV('Claim').property('value', -1L).property('by', -1L)")?;
        run(transaction, "g.addV('List').property('key', -1L).property('text', '')")?;
        let connect =
            "g.V().has('Person', 'number', 0L).as('a').addE('KNOWS').from('a').to('a').property('key', -1L)";
        run(transaction, connect)?;
        run(transaction, "g.E().hasLabel('KNOWS').drop()").map(|_| Effect::Nothing)
    });
}

/// Begins the lists of a cycle.
pub fn begin_lists(caller: &mut Caller<'_>, shared: &Shared) {
    caller.transact(Isolation::Snapshot, |transaction, _| {
        for at in 0..LISTS {
            let list = shared.list(at);
            run(transaction, &format!("g.addV('List').property('key', {list}L).property('text', '')"))?;
        }
        Ok(Effect::Nothing)
    });
}

/// Of two clients one is serialisable.
fn transfer(place: usize, caller: &mut Caller<'_>, random: &mut SplitMix64) {
    let (from, to) = two_below(random, ACCOUNTS);
    let amount = 1 + below(random, 10);
    let isolation = if place.is_multiple_of(2) { Isolation::Snapshot } else { Isolation::Serializable };
    caller.transact(isolation, |transaction, _| {
        for (account, more) in [(from, -amount), (to, amount)] {
            let of = format!("g.V().has('Account', 'number', {account}L)");
            let balance = run_for_number(transaction, &format!("{of}.values('balance')"))? + more;
            run(transaction, &format!("{of}.property('balance', {balance}L)"))?;
        }
        Ok(Effect::Transfer { from, to, amount })
    });
}

fn add_up(caller: &mut Caller<'_>) {
    let sums = caller.read("g.V().hasLabel('Account').values('balance').sum()");
    let sums = sums.map(|sums| sums.iter().map(number).collect::<Vec<_>>());
    if sums.as_ref().is_some_and(|sums| sums[..] != [ACCOUNTS * FIRST_BALANCE]) {
        caller.wrong.push(format!("the accounts add up to {sums:?}"));
    }
}

fn read_list(transaction: &mut Transaction, key: i64) -> Result<String> {
    let read = run(transaction, &format!("g.V().has('List', 'key', {key}L).values('text')"))?;
    assert_eq!(read.len(), 1, "list {key}: {read:?}");
    Ok(text(&read[0]))
}

/// The items in the text of a list.
pub fn items(text: &str) -> Vec<i64> {
    text.split_whitespace().map(|item| item.parse().unwrap()).collect()
}

fn append(place: usize, caller: &mut Caller<'_>, shared: &Shared, random: &mut SplitMix64) {
    let steps: Vec<(i64, Option<i64>)> = (0..1 + below(random, 3))
        .map(|_| {
            let list = shared.list(below(random, LISTS));
            (list, (below(random, 2) == 0).then(|| caller.number()))
        })
        .collect();
    caller.transact(shared.lists, |transaction, _| {
        let mut operations = Vec::new();
        for (key, item) in steps {
            let before = read_list(transaction, key)?;
            let list = key as usize;
            match item {
                None => operations.push(Operation::Read(list, items(&before))),
                Some(item) => {
                    let longer = format!("{before} {item}");
                    let longer = format!("g.V().has('List', 'key', {key}L).property('text', '{longer}')");
                    run(transaction, &longer)?;
                    operations.push(Operation::Append(list, item));
                }
            }
        }
        Ok(Effect::Lists { process: place, operations })
    });
}

fn claim(caller: &mut Caller<'_>, shared: &Shared) {
    let value = shared.claimed.load(Ordering::Relaxed);
    let count = format!("g.V().has('Claim', 'value', {value}L).count()");
    if let Some(found) = caller.read(&count)
        && number(&found[0]) > 0
    {
        // Another one has gone on already, or this one does.
        let _ = shared.claimed.compare_exchange(value, value + 1, Ordering::Relaxed, Ordering::Relaxed);
        return;
    }
    caller.transact(Isolation::Snapshot, |transaction, mark| {
        run(transaction, &format!("g.addV('Claim').property('value', {value}L).property('by', {mark}L)"))?;
        Ok(Effect::Claim { value })
    });
}

/// Adds an edge or, in one of five transactions, a person anew.
fn connect(caller: &mut Caller<'_>, random: &mut SplitMix64) {
    let (from, to) = two_below(random, PEOPLE);
    let renews = below(random, 5) == 0;
    caller.transact(Isolation::Snapshot, |transaction, mark| {
        let person = |number: i64| format!("V().has('Person', 'number', {number}L)");
        if renews {
            run(transaction, &format!("g.{}.drop()", person(from)))?;
            run(transaction, &format!("g.addV('Person').property('number', {from}L)"))?;
            return Ok(Effect::Renew { person: from });
        }
        let (from_text, to_text) = (person(from), person(to));
        let add = format!("g.{from_text}.as('a').{to_text}.addE('KNOWS').from('a').property('key', {mark}L)");
        run(transaction, &add)?;
        Ok(Effect::AddEdge { from, to })
    });
}
