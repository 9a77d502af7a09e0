//! Pre-read: how many refusals it would spare if transactions read what lies in the log and is not in their snapshot.
//!
//! ```text
//!            S          last read            commit
//! reader  ───┼──────────────┼───────────────────┼──> refused: commit C changed something that it checks, behind S
//! log     ───┴──── C ───────┴───────────────────┴──>  C lay in the log by the last read: a pre-read would have found it
//! log     ───┴──────────────┴──── C ────────────┴──>  C came later: nobody could have read it
//! ```
//!
//! Where the log ends is what any node has applied, or a reader of the log beside them ([`LogTail`]) has seen, whichever is further. The
//! moment is behind the last read of an attempt, so what is counted is the most that reading ahead would spare: what it had read before
//! may have been there, or not yet.
//!
//! Source: G-Tran (PVLDB 15, 2022), section 4.3: whoever meets a version of a transaction that is being validated reads it, and
//! depends on it.

use crate::plan::Work;
use crate::results::Heading;
use crate::workload::cluster::mix::{
    HALF_WRITES, HOT_VERTICES, LEVELS, MixedCluster, hot_vertices, set_next_number,
};
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::log_tail::LogTail;
use crate::workload::cluster::running::open_nodes::OpenNodes;
use crate::workload::cluster::site_plan;
use crate::workload::lbv::client::Workload;
use crate::workload::lbv::graph::Shape;
use evergraph::generate::random::Random;
use evergraph::{Database, Freshness, Isolation, Transaction, TransactionOptions};
use evergraph_cluster::log_position::LogPosition;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PURPOSE: u64 = 417;
/// Workloads: name, and what it is.
const WORKLOADS: [(&str, &str); 2] =
    [("mix", "half writes"), ("refused", "numbers of 64 vertices are read and set")];

/// What was refused of a run, by whether it lay in the log when it was read.
#[derive(Default)]
struct Refusals {
    // Relaxed: counts, read when the run has ended.
    /// What changed lay in the log, and not in the snapshot.
    in_log: AtomicU64,
    /// What changed came later.
    later: AtomicU64,
    /// For another reason than a change, such as age.
    other: AtomicU64,
}

/// The same, of all runs of a workload.
#[derive(Clone, Copy, Default)]
struct RefusalCounts {
    attempts: u64,
    in_log: u64,
    later: u64,
    other: u64,
}

/// Clients of a cluster, and who reads its log beside them.
struct Observed<'a> {
    databases: &'a [Database],
    tail: &'a LogTail,
    refusals: Refusals,
}

/// Measures each size of a cluster that the plan has.
///
/// # Errors
/// As of the part; `corrupt` if nodes count other refusals than clients met.
pub fn measure(work: &mut Work<'_>, servers: &LogServers) -> Result<()> {
    let plan = work.plan.cluster.clone();
    let shape = Shape::of_rmat_with(work.plan, plan.mix_scale)?;
    for nodes in plan.nodes.iter().map(|nodes| usize::from(*nodes)) {
        let folder = work.folder_for("pre-read")?;
        let open = OpenNodes::create(servers, &folder.path().join("cluster"), site_plan(&plan, nodes))?;
        let tail = LogTail::start(servers, open.log_key())?;
        let mut cluster = MixedCluster::load(open, &shape, work)?;
        for isolation in LEVELS {
            let mut counts = [RefusalCounts::default(); WORKLOADS.len()];
            for round in 0..work.plan.rounds {
                let mixed = run_mix(&mut cluster, &tail, isolation, plan.run_time)?;
                let hot = run_hot(work, &cluster, &tail, (isolation, round))?;
                counts = [counts[0].and(mixed), counts[1].and(hot)];
            }
            for ((name, words), counts) in WORKLOADS.into_iter().zip(counts) {
                add(work, (name, words), (nodes, isolation), counts);
            }
        }
        // What had ended the tail's reading would make the figure too low.
        tail.wait_for(Observed::of(&cluster.nodes, &tail).end_of_log()?)?;
        cluster.check((LEVELS.len() * work.plan.rounds * HOT_VERTICES) as u64)?;
    }
    work.note(format!(
        "pre-read: {} clients on {}, {:?} a run of the mix and half of it of refused, all rounds together; in the log: the commit that \
         changed what a refused transaction checks lay in the log when it had read, and not in its snapshot: at most so many refusals \
         would reading ahead spare; what lies in the log is what any node has applied, or a reader of the log beside them has seen",
        plan.mix_clients,
        shape.title(),
        plan.run_time
    ));
    Ok(())
}

fn run_mix(
    cluster: &mut MixedCluster,
    tail: &LogTail,
    isolation: Isolation,
    time: Duration,
) -> Result<RefusalCounts> {
    let observed = Observed::of(&cluster.nodes, tail);
    let workload = Workload::new(&cluster.written, 100 - HALF_WRITES, isolation);
    let before = cluster.nodes.refused_by_log()?;
    let run = clients::run(&mut cluster.clients, time, |client| {
        let (database, client) = (&observed.databases[client.node], &mut client.client);
        let query = client.next_query(&workload);
        client.ask(query, database, &workload, |body| observed.transact(database, isolation, body))
    })?;
    observed.counts(run.attempts, before, cluster.nodes.refused_by_log()?)
}

fn run_hot(
    work: &Work<'_>,
    cluster: &MixedCluster,
    tail: &LogTail,
    (isolation, round): (Isolation, usize),
) -> Result<RefusalCounts> {
    let observed = Observed::of(&cluster.nodes, tail);
    let (clients, databases) = (work.plan.cluster.mix_clients, observed.databases);
    let hot = hot_vertices(&databases[0])?;
    databases.iter().for_each(|database| drop(database.snapshot_with(Freshness::Fresh)));
    let mut all: Vec<(usize, Random)> = (0..clients)
        .map(|number| (number, Random::new(work.plan.seed, PURPOSE, (round * clients + number) as u64)))
        .collect();
    let before = cluster.nodes.refused_by_log()?;
    let run = clients::run(&mut all, work.plan.cluster.run_time / 2, |(number, random)| {
        let vertex = hot[random.below(hot.len() as u64) as usize];
        let (mut attempts, database) = (0, &databases[*number % databases.len()]);
        observed.transact(database, isolation, &mut |transaction| {
            attempts += 1;
            set_next_number(transaction, vertex)
        })?;
        Ok(attempts)
    })?;
    observed.counts(run.attempts, before, cluster.nodes.refused_by_log()?)
}

impl<'a> Observed<'a> {
    fn of(nodes: &'a OpenNodes, tail: &'a LogTail) -> Self {
        Self { databases: &nodes.databases, tail, refusals: Refusals::default() }
    }

    /// Runs `body` in transactions until one commits; what the others were refused for is counted.
    fn transact(
        &self,
        database: &Database,
        isolation: Isolation,
        body: &mut dyn FnMut(&mut Transaction) -> Result<()>,
    ) -> Result<()> {
        loop {
            let mut transaction = database.begin_with(TransactionOptions::default().isolation(isolation));
            let done = body(&mut transaction);
            let end = self.end_of_log()?;
            let Err(error) = done.and_then(|()| transaction.commit().map(drop)) else { return Ok(()) };
            if !error.is_conflict() {
                return Err(error);
            }
            let count = match changed_by(&error) {
                Some(changed) if LogPosition::of(changed) <= end => &self.refusals.in_log,
                Some(_) => &self.refusals.later,
                None => &self.refusals.other,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The end of the log, as far as anybody in this process knows.
    fn end_of_log(&self) -> Result<LogPosition> {
        let missing = || Error::invalid("a database of a cluster runs no node");
        self.databases.iter().try_fold(self.tail.end(), |end, database| {
            let node = database.cluster_node().ok_or_else(missing)?.graph_node();
            Ok(end.max(node.tables().newest().seen().position))
        })
    }

    /// What was counted, held against what nodes count of refusals by the log.
    fn counts(&self, attempts: u64, before: [u64; 2], after: [u64; 2]) -> Result<RefusalCounts> {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Refusals { in_log, later, other } = &self.refusals;
        let counts = RefusalCounts { attempts, in_log: of(in_log), later: of(later), other: of(other) };
        let (told, by_log) = (counts.refusals(), after[0] - before[0]);
        if told < by_log {
            let text =
                format!("the log refused {by_log} transactions for a change, clients were told of {told}");
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        Ok(counts)
    }
}

/// The commit that changed what a refused transaction checks, as its error says; `None` for another reason.
fn changed_by(refused: &Error) -> Option<Timestamp> {
    let text = refused.to_string();
    let (_, behind) = text.split_once("commit ")?;
    let (number, what) = behind.split_once(' ')?;
    what.starts_with("changed something").then(|| number.parse().ok().map(Timestamp))?
}

impl RefusalCounts {
    fn and(self, other: Self) -> Self {
        Self {
            attempts: self.attempts + other.attempts,
            in_log: self.in_log + other.in_log,
            later: self.later + other.later,
            other: self.other + other.other,
        }
    }

    fn for_a_change(self) -> u64 {
        self.in_log + self.later
    }

    fn refusals(self) -> u64 {
        self.for_a_change() + self.other
    }
}

fn add(
    work: &mut Work<'_>,
    (name, words): (&str, &str),
    (nodes, isolation): (usize, Isolation),
    counts: RefusalCounts,
) {
    let level = isolation.name();
    let refusals = counts.refusals();
    let word = if nodes == 1 { "node" } else { "nodes" };
    let title = format!("{words}, {nodes} {word}, {level}");
    let heading = |what: &str, title: String| {
        Heading::new(format!("cluster.pre_read.{name}.nodes_{nodes}.{level}{what}"), title, Unit::Share)
            .with("attempts", counts.attempts)
            .with("refused for a change", counts.for_a_change())
            .with("refused for another reason", counts.other)
            .with("of a change in the log", counts.in_log)
    };
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    work.add(
        &heading(".refused", format!("{title}: refused, of all attempts")),
        &[share(refusals, counts.attempts)],
    );
    let title_of = |whole: &str| {
        format!("{title}: refused for a change that lay in the log when it was read, of {whole}")
    };
    work.add(&heading(".spared", title_of("all attempts")), &[share(counts.in_log, counts.attempts)]);
    // Of nothing there is no share.
    if refusals > 0 {
        work.add(&heading("", title_of("all that was refused")), &[share(counts.in_log, refusals)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_cluster::certification::outcome::{FailedCheck, Refusal};
    use evergraph_cluster::key_hash::graph_salt::KeyHash;

    #[test]
    fn which_commit_was_first_is_found_in_what_a_refused_transaction_is_told() {
        let conflict =
            Refusal::Conflict { check: FailedCheck::Subject(KeyHash(1)), changed: Timestamp(7 * 4096 + 3) };
        let told = |refusal: Refusal| Error::conflict(format!("{refusal}: run the transaction again"));
        assert_eq!(changed_by(&told(conflict)), Some(Timestamp(7 * 4096 + 3)));
        assert_eq!(changed_by(&told(Refusal::TooOld { floor: Timestamp(9) })), None);
        assert_eq!(changed_by(&Error::conflict("commit me later")), None);
    }
}
