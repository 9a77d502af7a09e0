//! Readers: clients that ask any node for hops over the whole graph while something fails. Each gets the right answer, or an error, in time.
//!
//! ```text
//! roads     between stops, which nobody changes: what is right is counted here
//! people    whose edges others add and drop: as many walks from both ends, in both ways of running a query, in one snapshot
//! ```

use crate::caller::{Caller, Effect, number, run, run_for_number};
use crate::site::NODES;
use crate::workloads::below;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::transaction::Isolation;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_storage::io::random::SplitMix64;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many there are.
pub const READERS: usize = 2;
/// How long a query may take, and the queries of one snapshot together.
pub const TIME_MAX: Duration = Duration::from_secs(5);
/// Stops, from each of which roads lead to two others.
const STOPS: i64 = 24;
/// Walks of as many edges from either end of the last one: their counts are the same.
const WALKS: [&str; 2] = [
    ".V().hasLabel('Person').out('KNOWS').in('KNOWS').out('KNOWS').count()",
    ".V().hasLabel('Person').in('KNOWS').out('KNOWS').in('KNOWS').count()",
];
/// A query whose stages travel, if they may, and one that runs on the node that is asked.
const WAYS: [&str; 2] = ["g", "g.with('travel', false)"];

/// What came of queries.
#[derive(Clone, Default, Debug)]
pub struct ReadCounts {
    /// Right answers about roads, and snapshots in which all was right about people.
    pub roads: u64,
    pub people: u64,
    /// Queries that ended with an error, and how often with which.
    pub failed: u64,
    pub errors: BTreeMap<&'static str, u64>,
    /// Edges that stages have read where they lie.
    pub edges_read: u64,
}

impl ReadCounts {
    /// Answers that were checked.
    pub fn answers(&self) -> u64 {
        self.roads + self.people * (WALKS.len() * WAYS.len()) as u64
    }
}

/// What came of the queries of all readers.
#[derive(Default)]
pub struct Reads(Mutex<ReadCounts>);

impl Reads {
    /// So far.
    pub fn counted(&self) -> ReadCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stages have read so many edges more.
    pub fn travelled(&self, edges: u64) {
        self.count(|counts| counts.edges_read += edges);
    }

    fn count(&self, more: impl FnOnce(&mut ReadCounts)) {
        more(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A query, and what it gives.
struct Known {
    hops: String,
    answer: Answer,
}

#[derive(PartialEq, Eq, Debug)]
enum Answer {
    Number(i64),
    /// How often what is there.
    Groups(BTreeMap<i64, i64>),
}

/// Where roads lead from a stop: never back to itself, and never twice to the same one.
fn roads(stop: i64) -> [i64; 2] {
    [(stop + 1) % STOPS, (5 * stop + 2) % STOPS]
}

/// Begins the roads, which stay as they are.
pub fn begin(caller: &mut Caller<'_>) {
    caller.transact(Isolation::Snapshot, |transaction, _| {
        for stop in 0..STOPS {
            run(transaction, &format!("g.addV('Stop').property('number', {stop}L)"))?;
        }
        for (from, to) in (0..STOPS).flat_map(|from| roads(from).map(|to| (from, to))) {
            let stop = |number: i64| format!("V().has('Stop', 'number', {number}L)");
            let (from, to) = (stop(from), stop(to));
            run(transaction, &format!("g.{from}.as('a').{to}.addE('ROAD').from('a')"))?;
        }
        Ok(Effect::Nothing)
    });
}

/// How many walks of so many roads from these stops end where.
fn ends(stops: impl Iterator<Item = i64>, hops: usize) -> BTreeMap<i64, i64> {
    let mut walks: BTreeMap<i64, i64> = stops.map(|stop| (stop, 1)).collect();
    for _ in 0..hops {
        let mut longer = BTreeMap::new();
        for (stop, count) in walks {
            roads(stop).into_iter().for_each(|next| *longer.entry(next).or_default() += count);
        }
        walks = longer;
    }
    walks
}

/// All queries about roads; those that begin at some stops begin at those below `from`.
fn known(from: i64) -> Vec<Known> {
    let (all, some) = (".V().hasLabel('Stop')", format!(".V().has('Stop', 'number', lt({from}L))"));
    let (road, two) = (".out('ROAD')", ".out('ROAD').out('ROAD')");
    let (of_all, of_some) = (ends(0..STOPS, 2), ends(0..from, 2));
    let number = |hops: String, answer: i64| Known { hops, answer: Answer::Number(answer) };
    vec![
        number(format!("{all}{two}{road}.count()"), STOPS * 8),
        number(format!("{all}.in('ROAD').in('ROAD').in('ROAD').count()"), STOPS * 8),
        number(format!("{all}{two}.path().count()"), STOPS * 4),
        number(format!("{all}{road}.limit(7).count()"), 7),
        number(format!("{some}{two}.dedup().count()"), of_some.len() as i64),
        number(format!("{some}{two}.values('number').max()"), *of_some.keys().max().expect("roads go on")),
        Known { hops: format!("{all}{two}.values('number').groupCount()"), answer: Answer::Groups(of_all) },
        Known { hops: format!("{some}{two}.groupCount().by('number')"), answer: Answer::Groups(of_some) },
    ]
}

fn answer(results: &[ResultValue]) -> Answer {
    match results {
        [ResultValue::Map(entries)] => {
            Answer::Groups(entries.iter().map(|(stop, count)| (number(stop), number(count))).collect())
        }
        [result] => Answer::Number(number(result)),
        other => panic!("{other:?} is neither a number nor groups"),
    }
}

/// One query of a reader, or some of one snapshot, on any node.
pub fn step(caller: &mut Caller<'_>, reads: &Reads, random: &mut SplitMix64, late_after: Duration) {
    caller.stay_at(below(random, NODES as i64) as usize);
    let began = Instant::now();
    if below(random, 4) == 0 {
        look_at_people(caller, reads);
    } else {
        let known = known(1 + below(random, STOPS));
        let asked = &known[below(random, known.len() as i64) as usize];
        ask(caller, reads, asked, WAYS[below(random, 3) as usize / 2]);
    }
    if began.elapsed() > late_after {
        caller.wrong.push(format!("a query of {TIME_MAX:?} ended after {:?}", began.elapsed()));
    }
}

/// Whether the node that a caller asks answers all queries, in both ways. What is wrong in the answers is left with the caller.
pub fn all_are_answered(caller: &mut Caller<'_>, reads: &Reads) -> bool {
    let known = known(STOPS / 3);
    let mut both_ways = known.iter().flat_map(|asked| WAYS.map(|way| (asked, way)));
    both_ways.all(|(asked, way)| ask(caller, reads, asked, way)) && look_at_people(caller, reads)
}

/// Whether there is an answer.
fn ask(caller: &mut Caller<'_>, reads: &Reads, asked: &Known, way: &str) -> bool {
    let text = format!("{way}{}", asked.hops);
    let Some(found) = caller.query(&text, TIME_MAX) else { return false };
    let Some(results) = checked(caller, reads, &text, found) else { return false };
    let found = answer(&results);
    match found == asked.answer {
        true => reads.count(|counts| counts.roads += 1),
        false => caller.wrong.push(format!("{text} gives {found:?} and not {:?}", asked.answer)),
    }
    true
}

/// The same, of a snapshot: whether there are answers.
fn look_at_people(caller: &mut Caller<'_>, reads: &Reads) -> bool {
    let texts: Vec<String> = WALKS.iter().flat_map(|walk| WAYS.map(|way| format!("{way}{walk}"))).collect();
    let found = caller.look(TIME_MAX, |transaction| {
        texts.iter().map(|text| run_for_number(transaction, text)).collect::<Result<Vec<_>>>()
    });
    let Some(found) = found else { return false };
    let Some(counts) = checked(caller, reads, "walks between people", found) else { return false };
    match counts.iter().all(|count| *count == counts[0]) {
        true => reads.count(|reads| reads.people += 1),
        false => caller.wrong.push(format!("of one snapshot {texts:?} give {counts:?}")),
    }
    true
}

/// What was found. An error says that somebody is away, busy or late: callers have looked for what else it may be.
fn checked<T>(caller: &mut Caller<'_>, reads: &Reads, text: &str, found: Result<T>) -> Option<T> {
    let error = match found {
        Ok(found) => return Some(found),
        Err(error) => error,
    };
    let kind = error.kind();
    if matches!(kind, ErrorKind::Unknown | ErrorKind::Cancelled) || error.to_string().is_empty() {
        caller.wrong.push(format!("{text}: {}: {error}", kind.name()));
    }
    reads.count(|counts| {
        counts.failed += 1;
        *counts.errors.entry(kind.name()).or_default() += 1;
    });
    None
}
