//! Histories: random transactions that append to lists and read them, judged by three checkers.
//!
//! ```text
//! replay   the commits one after the other, in the order of their timestamps: every read is what it says
//! cycles   who must be before whom (ww, wr, rw), and no cycle: our own few lines
//! adya     the same question to an independent crate, which knows many more anomalies
//! ```
//!
//! A list is kept in two ways: as the text of a property, and as the edges of a vertex, each with its place.
//!
//! Source: Kingsbury, Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (VLDB
//! 2020); Crooks et al., and Cerone, Gotsman (JACM 2018) for snapshot isolation as an acyclic composition.

use crate::deployment::Deployment;
use crate::list_history::{self, EndedTransaction, Operation};
use crate::race::{Dice, race};
use evergraph::{Database, Direction, EngineKind, Isolation, Result, Transaction, Value, VertexId};
use std::collections::{BTreeMap, BTreeSet};

const KEYS: usize = 5;
const THREADS: usize = 4;
const ROUNDS: usize = 250;
/// Two thousand transactions on a cluster, where lists of edges, which are read edge by edge, have fewer.
const CLUSTER_ROUNDS: usize = 500;
const CLUSTER_EDGE_ROUNDS: usize = 50;

/// A transaction that ended.
#[derive(Clone, Debug)]
struct Done {
    process: usize,
    operations: Vec<Operation>,
    /// Its place in the order of commits, if it committed; whether it wrote.
    committed: Option<(u64, bool)>,
}

/// How lists lie in the graph.
#[derive(Clone, Copy, Debug)]
enum Form {
    Text,
    Edges,
}

fn read(tx: &Transaction, form: Form, key: VertexId) -> Result<Vec<i64>> {
    match form {
        Form::Text => {
            let text = tx.get(key, "list")?;
            let text = text.as_ref().and_then(Value::as_str).unwrap_or_default();
            Ok(text.split_whitespace().map(|item| item.parse().unwrap()).collect())
        }
        Form::Edges => {
            let mut items = Vec::new();
            for (edge, _) in tx.edges(key, Direction::Out, &["HAS"])? {
                let number = |key| tx.get_edge(edge, key).map(|value| value.unwrap().as_i64().unwrap());
                items.push((number("place")?, number("item")?));
            }
            items.sort_unstable();
            assert!(items.windows(2).all(|pair| pair[0].0 < pair[1].0), "two took one place: {items:?}");
            Ok(items.into_iter().map(|(_, item)| item).collect())
        }
    }
}

fn append(tx: &mut Transaction, form: Form, key: VertexId, item: i64) -> Result<()> {
    let before = read(tx, form, key)?;
    match form {
        Form::Text => {
            let longer: Vec<String> = before.iter().chain([&item]).map(i64::to_string).collect();
            tx.set(key, "list", longer.join(" "))
        }
        Form::Edges => {
            let properties = [("place", (before.len() as i64).into()), ("item", item.into())];
            tx.add_edge(key, "HAS", key, &properties).map(drop)
        }
    }
}

fn run_one(
    database: &Database,
    isolation: Isolation,
    form: Form,
    keys: &[VertexId],
    (thread, round): (usize, usize),
    dice: &mut Dice,
) -> Done {
    let mut tx = database.begin_with(isolation);
    let mut operations = Vec::new();
    let mut wrote = false;
    for step in 0..1 + dice.below(4) {
        let at = dice.below(KEYS);
        if dice.below(2) == 0 {
            operations.push(Operation::Read(at, read(&tx, form, keys[at]).unwrap()));
        } else {
            let item = ((round * THREADS + thread) * 4 + step) as i64;
            append(&mut tx, form, keys[at], item).unwrap();
            operations.push(Operation::Append(at, item));
            wrote = true;
        }
        std::thread::yield_now();
    }
    let committed = match tx.commit() {
        Ok(committed) => Some((committed.timestamp.0, wrote)),
        Err(error) => {
            assert!(error.is_conflict(), "{error}");
            None
        }
    };
    Done { process: thread, operations, committed }
}

/// A history of one graph, and its lists at the end.
fn history(deployment: Deployment, isolation: Isolation, form: Form) -> (Vec<Done>, Vec<Vec<i64>>) {
    let graph = deployment.start();
    let keys: Vec<VertexId> =
        graph.of(0).transact(|tx| (0..KEYS).map(|_| tx.add_vertex("List", &[])).collect()).unwrap();
    graph.name_types(&["HAS"]);
    let rounds = match form {
        _ if !deployment.is_cluster() => ROUNDS,
        Form::Text => CLUSTER_ROUNDS,
        Form::Edges => CLUSTER_EDGE_ROUNDS,
    };
    let done = race(THREADS, rounds, |thread, round, dice| {
        run_one(graph.of(thread), isolation, form, &keys, (thread, round), dice)
    });
    let end = graph.begin(0, isolation);
    let lists = keys.iter().map(|key| read(&end, form, *key).unwrap()).collect();
    (done.into_iter().flatten().collect(), lists)
}

/// Runs the commits one after the other in the order of their timestamps; the first that saw anything
/// else. One that only read stands behind the commit that it read at.
fn replay(history: &[Done]) -> std::result::Result<(), String> {
    let mut order: Vec<&Done> = history.iter().filter(|done| done.committed.is_some()).collect();
    order.sort_by_key(|done| done.committed.map(|(at, wrote)| (at, !wrote)));
    let mut lists = vec![Vec::new(); KEYS];
    for done in order {
        for operation in &done.operations {
            match operation {
                Operation::Append(key, item) => lists[*key].push(*item),
                Operation::Read(key, saw) if lists[*key] == *saw => {}
                Operation::Read(key, saw) => {
                    return Err(format!("{done:?} saw {saw:?} in list {key}, not {:?}", lists[*key]));
                }
            }
        }
    }
    Ok(())
}

/// Who must be before whom, by the numbers of committed transactions.
#[derive(Default)]
struct Dependencies {
    /// By what was written: it was read, or written after.
    on_writes: BTreeSet<(usize, usize)>,
    /// By what was read: it was written after.
    on_reads: BTreeSet<(usize, usize)>,
}

impl Dependencies {
    fn of(history: &[Done], lists: &[Vec<i64>]) -> Self {
        let committed: Vec<&Done> = history.iter().filter(|done| done.committed.is_some()).collect();
        let mut writer = BTreeMap::new();
        for (number, done) in committed.iter().enumerate() {
            for operation in &done.operations {
                if let Operation::Append(key, item) = operation {
                    writer.insert((*key, *item), number);
                }
            }
        }
        let mut found = Self::default();
        for (key, list) in lists.iter().enumerate() {
            for pair in list.windows(2) {
                found.on_writes.insert((writer[&(key, pair[0])], writer[&(key, pair[1])]));
            }
        }
        for (number, done) in committed.iter().enumerate() {
            for operation in &done.operations {
                let Operation::Read(key, saw) = operation else { continue };
                assert!(lists[*key].starts_with(saw), "a list that was read is no beginning of the last one");
                if let Some(last) = saw.last() {
                    found.on_writes.insert((writer[&(*key, *last)], number));
                }
                if let Some(next) = lists[*key].get(saw.len()) {
                    found.on_reads.insert((number, writer[&(*key, *next)]));
                }
            }
        }
        found.on_writes.retain(|(before, after)| before != after);
        found.on_reads.retain(|(before, after)| before != after);
        found
    }

    fn allow_serializable(&self) -> bool {
        is_acyclic(self.on_writes.union(&self.on_reads).copied())
    }

    /// No cycle but those with two reads one behind the other.
    fn allow_snapshots(&self) -> bool {
        let then_read = self.on_writes.iter().flat_map(|(before, middle)| {
            let from = self.on_reads.range((*middle, 0)..=(*middle, usize::MAX));
            from.map(move |(_, after)| (*before, *after))
        });
        is_acyclic(self.on_writes.iter().copied().chain(then_read))
    }
}

/// By taking away those that nobody is before, again and again.
fn is_acyclic(edges: impl Iterator<Item = (usize, usize)>) -> bool {
    let mut after: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (one, other) in edges {
        after.entry(one).or_default().insert(other);
        after.entry(other).or_default();
    }
    let mut before: BTreeMap<usize, usize> = after.keys().map(|number| (*number, 0)).collect();
    for number in after.values().flatten() {
        *before.get_mut(number).unwrap() += 1;
    }
    let mut free: Vec<usize> =
        before.iter().filter(|(_, count)| **count == 0).map(|(number, _)| *number).collect();
    let mut taken = 0;
    while let Some(number) = free.pop() {
        taken += 1;
        for next in &after[&number] {
            let count = before.get_mut(next).unwrap();
            *count -= 1;
            if *count == 0 {
                free.push(*next);
            }
        }
    }
    taken == after.len()
}

/// The anomalies that the crate finds which `model` forbids.
fn anomalies(history: &[Done], model: &str) -> Vec<String> {
    let ended = history.iter().map(|done| EndedTransaction {
        process: done.process,
        operations: &done.operations,
        is_committed: done.committed.is_some(),
    });
    list_history::anomalies(&ended.collect::<Vec<_>>(), model)
}

#[test]
fn serialisable_histories_are_serialisable_to_three_checkers() {
    let cases = Deployment::ALL
        .into_iter()
        .flat_map(|deployment| [(deployment, Form::Text), (deployment, Form::Edges)]);
    for (deployment, form) in cases {
        let (history, lists) = history(deployment, Isolation::Serializable, form);
        replay(&history).unwrap();
        assert!(Dependencies::of(&history, &lists).allow_serializable(), "a cycle, {form:?}");
        assert_eq!(anomalies(&history, "serializable"), Vec::<String>::new(), "{form:?}");
        let committed = history.iter().filter(|done| done.committed.is_some()).count();
        assert!(committed * 4 > history.len(), "only {committed} of {} committed", history.len());
    }
}

#[test]
fn histories_by_snapshots_are_not_serialisable_and_every_checker_sees_it() {
    let (mut cycles, mut found) = (0, 0);
    for deployment in Deployment::ALL.into_iter().chain(Deployment::ALL) {
        let (history, lists) = history(deployment, Isolation::Snapshot, Form::Text);
        let dependencies = Dependencies::of(&history, &lists);
        assert!(dependencies.allow_snapshots(), "more than a skew");
        assert_eq!(anomalies(&history, "snapshot-isolation"), Vec::<String>::new());
        cycles += usize::from(!dependencies.allow_serializable());
        found += usize::from(!anomalies(&history, "serializable").is_empty());
    }
    assert_eq!(cycles, found, "both checkers judge the same");
    assert!(cycles > 0, "the transactions never met: this test shows nothing");
}

#[test]
fn each_checker_finds_what_was_made_wrong() {
    let (mut history, lists) =
        history(Deployment::Embedded(EngineKind::Memory), Isolation::Serializable, Form::Text);
    // One read that saw a list as it was before: the last append is taken from it.
    let stale = history
        .iter_mut()
        .filter(|done| done.committed.is_some_and(|(_, wrote)| wrote))
        .rev()
        .find_map(|done| {
            let appended: BTreeSet<usize> = done
                .operations
                .iter()
                .filter_map(|operation| match operation {
                    Operation::Append(key, _) => Some(*key),
                    Operation::Read(..) => None,
                })
                .collect();
            done.operations.iter_mut().find_map(|operation| match operation {
                Operation::Read(key, saw) if saw.len() > 40 && appended.iter().any(|other| other != key) => {
                    (!appended.contains(key)).then_some(saw)
                }
                _ => None,
            })
        })
        .unwrap();
    stale.truncate(20);
    assert!(replay(&history).is_err());
    assert!(!Dependencies::of(&history, &lists).allow_serializable());
    assert_ne!(anomalies(&history, "serializable"), Vec::<String>::new());
}
