//! Streams: clients of a database, each of which does one thing again and again for a while, and notes how long each took.
//!
//! ```text
//! edges      a transaction puts one edge that is not there     begun ──read, write──> committed     both times are noted
//! vertices   a transaction adds a vertex: it reads nothing     the same
//! reads      the out-edges of a vertex, in a snapshot of its own
//! counts     all vertices, counted where they lie: on every node at once; now and then
//! ```
//!
//! Pairs of vertices are drawn without repetition over all runs of a cluster: pair k is a permutation of k, and each client of each
//! process has numbers of its own. So how many edges there are at the end is known.

use evergraph::{Database, Direction, Freshness, Isolation, ReadByName as _, TransactionOptions, VertexId};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::split_mix::mix;
use evergraph_graph::transaction::Transaction as _;
use serde::{Deserialize, Serialize};
use std::thread;
use std::time::{Duration, Instant};

/// The label of the vertices that edges join.
const LABEL: &str = "Vertex";
/// That of vertices which clients add.
const NEW_LABEL: &str = "New";
const EDGE: &str = "EDGE";
/// Transactions that make the first vertices: as many as there are partitions, so that they lie in all.
const FIRST_TRANSACTIONS: usize = 64;
/// Odd, so that products with it, modulo a power of two, are all different.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Between two counts: they take every node's time.
const COUNT_PAUSE: Duration = Duration::from_millis(10);
/// After a failure that may pass, before the client goes on.
const FAILED_WAIT: Duration = Duration::from_millis(1);

/// What a client does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StreamKind {
    /// Puts one edge that is not there.
    Edges,
    /// Adds a vertex.
    Vertices,
    /// Reads the out-edges of a vertex.
    Reads,
    /// Counts all vertices, by a query that runs on every node.
    Counts,
}

/// What the clients of a process do for a while.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StreamPlan {
    /// How many clients do what.
    pub clients: Vec<(StreamKind, usize)>,
    /// How long.
    pub time: Duration,
    /// The number of the first pair that these clients use.
    pub first: u64,
    /// From a pair of a client to its next one: as many clients as all processes have.
    pub stride: u64,
}

/// What clients of one kind did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StreamReport {
    /// Of each thing that was done, whole, in microseconds.
    pub times_us: Vec<u32>,
    /// Of each commit alone.
    pub commits_us: Vec<u32>,
    /// Attempts that were refused as conflicts.
    pub refused: u64,
    /// Commits of which nobody said what became.
    pub unknown: u64,
    /// Other failures that may pass.
    pub failed: u64,
    /// The longest time that a client was without an answer, from the beginning of the run to its end.
    pub gap_us: u32,
}

impl StreamReport {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.times_us.extend_from_slice(&other.times_us);
        self.commits_us.extend_from_slice(&other.commits_us);
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.failed += other.failed;
        self.gap_us = self.gap_us.max(other.gap_us);
        self
    }

    /// How many were done.
    #[must_use]
    pub fn done(&self) -> usize {
        self.times_us.len()
    }
}

/// The time below which `share` of `times_us` are, in seconds; 0 of none.
#[must_use]
pub fn quantile(times_us: &[u32], share: f64) -> f64 {
    let mut sorted = times_us.to_vec();
    sorted.sort_unstable();
    let place = (sorted.len() as f64 * share).ceil() as usize;
    let at = sorted.get(place.clamp(1, sorted.len().max(1)) - 1);
    at.map_or(0.0, |time| f64::from(*time) / 1e6)
}

/// Makes so many vertices, and the type of the edges.
///
/// # Errors
/// What the database says.
pub fn create(database: &Database, vertices: u32) -> Result<()> {
    database.transact(|transaction| transaction.by_id().declare_simple_type(EDGE).map(drop))?;
    let each = (vertices as usize).div_ceil(FIRST_TRANSACTIONS).max(1);
    let mut left = vertices as usize;
    while left > 0 {
        let count = left.min(each);
        database.transact(|transaction| {
            (0..count).try_for_each(|_| transaction.add_vertex(LABEL, &[]).map(drop))
        })?;
        left -= count;
    }
    Ok(())
}

/// The vertices that edges join, in the same order on every node.
///
/// # Errors
/// What the database says.
pub fn vertices(database: &Database) -> Result<Vec<VertexId>> {
    let mut vertices = database.snapshot_with(Freshness::Fresh).vertices(Some(LABEL))?;
    vertices.sort_unstable_by_key(|vertex| vertex.0);
    Ok(vertices)
}

/// Edges, and vertices that clients added, of all that was acknowledged to anybody.
///
/// # Errors
/// What the database says.
pub fn count(database: &Database) -> Result<(u64, u64)> {
    let snapshot = database.snapshot_with(Freshness::Fresh);
    let added = snapshot.vertices(Some(NEW_LABEL))?.len() as u64;
    Ok((snapshot.gremlin("g.E().count()").one::<u64>()?, added))
}

/// Runs the clients of `plan`, each on a thread of its own. What those of each entry did.
///
/// # Errors
/// The first failure of a client that does not pass.
pub fn run(database: &Database, vertices: &[VertexId], plan: &StreamPlan) -> Result<Vec<StreamReport>> {
    let pairs = (vertices.len() as u64).pow(2);
    if !pairs.is_power_of_two() {
        return Err(Error::invalid(format!("{} vertices: a power of two is expected", vertices.len())));
    }
    let began = Instant::now();
    let kinds = plan.clients.iter().flat_map(|(kind, clients)| std::iter::repeat_n(*kind, *clients));
    let reports = thread::scope(|scope| {
        let running: Vec<_> = (plan.first..)
            .zip(kinds)
            .map(|(number, kind)| {
                let client = Client { database, vertices, kind, number, stride: plan.stride };
                scope.spawn(move || client.run(began, plan.time))
            })
            .collect();
        let joined =
            running.into_iter().map(|thread| thread.join().expect("a panic was printed by its thread"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    let mut reports = reports.iter();
    let of = |(_, clients): &(StreamKind, usize)| {
        reports.by_ref().take(*clients).fold(StreamReport::default(), StreamReport::and)
    };
    Ok(plan.clients.iter().map(of).collect())
}

struct Client<'a> {
    database: &'a Database,
    vertices: &'a [VertexId],
    kind: StreamKind,
    /// Of its next pair.
    number: u64,
    stride: u64,
}

impl Client<'_> {
    fn run(mut self, began: Instant, time: Duration) -> Result<StreamReport> {
        let mut report = StreamReport::default();
        let mut answered = began;
        loop {
            let begun = Instant::now();
            let done = self.step();
            let now = Instant::now();
            match done {
                Ok(commit) => {
                    report.gap_us = report.gap_us.max(micros(now - answered));
                    report.times_us.push(micros(now - begun));
                    report.commits_us.extend(commit.map(micros));
                    answered = now;
                    self.number += self.stride;
                }
                Err(error) if error.is_conflict() => report.refused += 1,
                Err(error) => {
                    match error.kind() {
                        // It may be there.
                        ErrorKind::Unknown => {
                            report.unknown += 1;
                            self.number += self.stride;
                        }
                        ErrorKind::Busy | ErrorKind::Cancelled | ErrorKind::Io => report.failed += 1,
                        _ => return Err(error),
                    }
                    thread::sleep(FAILED_WAIT);
                }
            }
            if began.elapsed() >= time {
                report.gap_us = report.gap_us.max(micros(answered.elapsed()));
                return Ok(report);
            }
        }
    }

    /// How long the commit took, if there was one.
    fn step(&self) -> Result<Option<Duration>> {
        match self.kind {
            StreamKind::Edges => {
                let [source, target] = self.pair();
                self.commit(|transaction| transaction.put_edge(source, EDGE, target, &[]).map(drop))
            }
            StreamKind::Vertices => {
                self.commit(|transaction| transaction.add_vertex(NEW_LABEL, &[]).map(drop))
            }
            StreamKind::Reads => {
                let vertex = self.vertices[mix(self.number) as usize % self.vertices.len()];
                self.database.snapshot().edges(vertex, Direction::Out, &[EDGE])?;
                Ok(None)
            }
            StreamKind::Counts => {
                thread::sleep(COUNT_PAUSE);
                self.database.snapshot().gremlin("g.V().count()").one::<u64>()?;
                Ok(None)
            }
        }
    }

    fn commit(&self, write: impl Fn(&mut evergraph::Transaction) -> Result<()>) -> Result<Option<Duration>> {
        let options = TransactionOptions::default().isolation(Isolation::Snapshot);
        let mut transaction = self.database.begin_with(options);
        write(&mut transaction)?;
        let begun = Instant::now();
        transaction.commit()?;
        Ok(Some(begun.elapsed()))
    }

    fn pair(&self) -> [VertexId; 2] {
        let count = self.vertices.len() as u64;
        let pair = self.number.wrapping_mul(SPREAD) % (count * count);
        [pair / count, pair % count].map(|at| self.vertices[at as usize])
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn pairs_are_all_different_and_every_edge_is_there_at_the_end() {
        let database = Database::in_memory().unwrap();
        create(&database, 32).unwrap();
        let vertices = vertices(&database).unwrap();
        let clients = vec![
            (StreamKind::Edges, 3),
            (StreamKind::Reads, 1),
            (StreamKind::Vertices, 1),
            (StreamKind::Counts, 1),
        ];
        let plan = StreamPlan { clients, time: Duration::ZERO, first: 7, stride: 6 };
        let mut done = [0; 4];
        for run_number in 0..20 {
            let plan = StreamPlan { first: 7 + 6 * run_number, ..plan.clone() };
            let reports = run(&database, &vertices, &plan).unwrap();
            reports.iter().zip(&mut done).for_each(|(report, done)| *done += report.done() as u64);
        }
        // What was refused was not done.
        assert_eq!(count(&database).unwrap(), (done[0], done[2]));
        assert!(done[0] > 20 && done[1] == 20 && done[3] == 20, "{done:?}");
        let all: HashSet<[VertexId; 2]> = (0..1024)
            .map(|number| {
                let client = Client {
                    database: &database,
                    vertices: &vertices,
                    kind: StreamKind::Edges,
                    number,
                    stride: 1,
                };
                client.pair()
            })
            .collect();
        assert_eq!(all.len(), 1024);
    }

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let times: Vec<u32> = (1..=100).rev().map(|time| time * 1000).collect();
        assert_eq!([0.5, 0.99, 1.0].map(|share| quantile(&times, share)), [0.05, 0.099, 0.1]);
        assert_eq!(quantile(&[], 0.5), 0.0);
    }
}
