//! Cycles: clients at work, a fault, its end, and what the graph is then; again and again on one cluster.
//!
//! ```text
//! begin lists ─ clients begin ─ fault ── healed ─ clients end ─ every node commits ─ settle ─ all nodes alike ─ judge
//! ```

use crate::caller::{Attempt, Caller, Effect, Numbers, Outcome, number, run};
use crate::faults::Fault;
use crate::judge::{CYCLES_KEPT, Ended, Judge};
use crate::observed::Observed;
use crate::readers::{self, READERS, Reads};
use crate::site::{NODES, Site, name};
use crate::workloads::{self, CLIENTS, LISTS, Shared, below};
use evergraph_client::admin::call::Admin;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::index::IndexKind;
use evergraph_graph::transaction::Isolation;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::random::{Random as _, SplitMix64};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// How much later than its time a query may end: everything shares few cores.
const LATE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long clients work before and after a fault, at most.
const QUIET_TIME_MS: i64 = 400;

/// A cluster under faults.
pub struct Cycles {
    pub site: Site,
    numbers: Numbers,
    random: SplitMix64,
    pub judge: Judge,
    /// Under faults, and of every node after each of them.
    pub reads: Reads,
    pub later_reads: Reads,
    pub kills: u64,
    cycle: u64,
    /// How long nodes took that were started again.
    pub node_starts: Vec<Duration>,
}

impl Cycles {
    /// A new graph in a cluster. Everything is chosen from the seed, but when what happens.
    pub fn begin(site: Site, seed: u64) -> Self {
        let mut cycles = Self {
            site,
            numbers: Numbers::default(),
            random: SplitMix64::new(seed),
            judge: Judge::default(),
            reads: Reads::default(),
            later_reads: Reads::default(),
            kills: 0,
            cycle: 0,
            node_starts: Vec::new(),
        };
        cycles.create_graph();
        cycles
    }

    fn create_graph(&mut self) {
        let admin = admin(&self.site, 0);
        for (label, key) in [
            ("Account", "number"),
            ("Person", "number"),
            ("List", "key"),
            ("Claim", "value"),
            ("Mark", "key"),
        ] {
            let owner = OwnerName::Label(label);
            let request = IndexRequest { owner, key, kind: IndexKind::Hash, unique: true };
            admin.create_index::<Value>(&request, &mut |_| {}).unwrap();
        }
        let mut caller = Caller::new(&self.site.addresses, &self.numbers, 0, 0);
        surely(self.site.healing_time(), &mut caller, workloads::begin).unwrap();
        surely(self.site.healing_time(), &mut caller, readers::begin).unwrap();
        let attempts = std::mem::take(&mut caller.attempts);
        let wrong = self.judge_after(&Shared::new(0), attempts).unwrap();
        assert_eq!(wrong, [""; 0]);
    }

    /// A cycle with this fault. What is wrong after it, in words.
    pub fn run(&mut self, fault: &Fault) -> Vec<String> {
        self.cycle += 1;
        let shared = Shared::new(self.cycle);
        self.try_run(fault, &shared).unwrap_or_else(|wrong| vec![wrong])
    }

    /// The next fault.
    pub fn choose(&mut self, pause_max: Duration) -> Fault {
        Fault::choose(&mut self.random, self.site.members().count(), pause_max)
    }

    fn try_run(&mut self, fault: &Fault, shared: &Shared) -> Result<Vec<String>, String> {
        let mut attempts = self.begin_cycle(shared)?;
        let edges_before = self.travelled()?;
        let is_over = AtomicBool::new(false);
        let quiet = |random: &mut SplitMix64| Duration::from_millis(50 + below(random, QUIET_TIME_MS) as u64);
        let (before, after) = (quiet(&mut self.random), quiet(&mut self.random));
        let seeds: Vec<u64> = CLIENTS.iter().map(|_| self.random.next_u64()).collect();
        let (reads, late_after) = (&self.reads, readers::TIME_MAX + fault.time + LATE);
        let mut wrong = Vec::new();
        // What faults do to processes is of one thread; addresses are read by all.
        let (numbers, addresses) = (&self.numbers, self.site.addresses.clone());
        let healed = thread::scope(|scope| {
            let clients: Vec<_> = CLIENTS
                .iter()
                .enumerate()
                .map(|(place, workload)| {
                    let mut random = SplitMix64::new(seeds[place]);
                    let mut caller = Caller::new(&addresses, numbers, shared.cycle, place);
                    let is_over = &is_over;
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) {
                            workload.step(place, &mut caller, shared, &mut random);
                        }
                        (caller.attempts, caller.wrong)
                    })
                })
                .collect();
            let readers: Vec<_> = seeds[..READERS]
                .iter()
                .map(|seed| {
                    // Readers draw nothing of the seed of faults.
                    let mut random = SplitMix64::new(!seed);
                    let mut caller = Caller::new(&addresses, numbers, shared.cycle, 0);
                    let is_over = &is_over;
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) {
                            readers::step(&mut caller, reads, &mut random, late_after);
                        }
                        caller.wrong
                    })
                })
                .collect();
            sleep(before);
            fault.begin(&mut self.site);
            sleep(fault.time);
            let healed = fault.heal(&mut self.site);
            sleep(after);
            is_over.store(true, Ordering::Relaxed);
            for client in clients {
                let (tried, told) = client.join().expect("clients do not panic");
                attempts.extend(tried);
                wrong.extend(told);
            }
            for reader in readers {
                wrong.extend(reader.join().expect("readers do not panic"));
            }
            healed
        })?;
        self.kills += fault.kills();
        self.node_starts.extend(healed.iter().filter(|(party, _)| party.0 < NODES).map(|(_, time)| *time));
        wrong.extend(self.judge_after(shared, attempts)?);
        // Before everything is read again: what stages have read beside the fault.
        for (before, after) in edges_before.iter().zip(self.travelled()?) {
            // A node that was started again counts from zero.
            self.reads.travelled(after.checked_sub(*before).unwrap_or(after));
        }
        self.read_again(&mut wrong)?;
        Ok(wrong)
    }

    /// Nothing fails any more: every node answers every query of the readers.
    fn read_again(&self, wrong: &mut Vec<String>) -> Result<(), String> {
        for node in 0..NODES {
            let mut caller = self.caller(node);
            let answers = within(self.site.healing_time(), || {
                caller.stay_at(node);
                readers::all_are_answered(&mut caller, &self.later_reads)
            });
            if !answers {
                return Err(format!("node {node} does not answer queries over hops after a fault"));
            }
            wrong.append(&mut caller.wrong);
        }
        Ok(())
    }

    /// Edges that stages of queries have read on each node since it started.
    fn travelled(&self) -> Result<Vec<u64>, String> {
        (0..NODES).map(|node| self.travelled_figure(node, "edges_read")).collect()
    }

    /// Waits until no node has a query any more.
    ///
    /// # Errors
    /// Which nodes have some, and how many.
    pub fn open_queries(&self) -> Result<(), String> {
        let open = || -> Result<Vec<u64>, String> {
            let figures = (0..NODES).flat_map(|node| ["open_asked", "open_running"].map(|of| (node, of)));
            figures.map(|(node, of)| self.travelled_figure(node, of)).collect()
        };
        let is_none = || open().is_ok_and(|open| open.iter().all(|count| *count == 0));
        match within(self.site.healing_time(), is_none) {
            true => Ok(()),
            false => {
                Err(format!("queries are left that were asked, and that run, of each node: {:?}", open()))
            }
        }
    }

    fn travelled_figure(&self, node: usize, name: &str) -> Result<u64, String> {
        let status: Value = admin(&self.site, node).cluster_status().map_err(|error| error.to_string())?;
        let figure = status["travelled"][name].as_u64();
        figure.ok_or_else(|| format!("the status of node {node} has no {name}: {status}"))
    }

    /// Lists of the cycle are there, and what is too old is not.
    fn begin_cycle(&self, shared: &Shared) -> Result<Vec<Attempt>, String> {
        let (mut caller, healing_time) = (self.caller(0), self.site.healing_time());
        surely(healing_time, &mut caller, |caller| workloads::begin_lists(caller, shared))?;
        // Other nodes have them a little later.
        let list = format!("g.V().has('List', 'key', {}L).count()", shared.list(0));
        for node in 0..NODES {
            let client = client(&self.site, node);
            let is_there = || -> Result<bool, Error> {
                client.query(&Query::text(&*list))?.collect().map(|found| number(&found[0]) == 1)
            };
            if !within(healing_time, || is_there().unwrap_or(false)) {
                return Err(format!("node {node} does not have the lists of the cycle: {:?}", is_there()));
            }
        }
        if let Some(before) = self.cycle.checked_sub(CYCLES_KEPT) {
            let lists = before as i64 * LISTS;
            let (claims, of_cycle) = (Shared::new(before).claimed.into_inner(), before);
            surely(healing_time, &mut caller, |caller| {
                caller.transact(Isolation::Snapshot, |transaction, _| {
                    for drop in [
                        format!("g.V().hasLabel('Mark').has('cycle', lt({of_cycle}L)).drop()"),
                        format!("g.V().hasLabel('List').has('key', gte(0L)).has('key', lt({lists}L)).drop()"),
                        format!(
                            "g.V().hasLabel('Claim').has('value', gte(0L)).has('value', lt({claims}L)).drop()"
                        ),
                    ] {
                        run(transaction, &drop)?;
                    }
                    Ok(Effect::Nothing)
                });
            })?;
        }
        Ok(caller.attempts)
    }

    /// Waits until every node commits and all have applied the same, and compares.
    fn judge_after(&mut self, shared: &Shared, mut attempts: Vec<Attempt>) -> Result<Vec<String>, String> {
        let mut wrong = Vec::new();
        for node in 0..NODES {
            let mut caller = self.caller(node);
            surely(self.site.healing_time(), &mut caller, |caller| {
                caller.transact(Isolation::Serializable, |_, _| Ok(Effect::Nothing))
            })
            .map_err(|error| format!("node {node} commits nothing: {error}"))?;
            attempts.append(&mut caller.attempts);
            wrong.append(&mut caller.wrong);
        }
        let settled = self.settle(&attempts, &mut wrong)?;
        let graphs = self.equal_snapshots(&mut wrong)?;
        for (node, graph) in graphs.iter().enumerate().skip(1) {
            if *graph != graphs[0] {
                wrong.push(format!("node {node} has another graph than node 0: {graph:?}\n{:?}", graphs[0]));
            }
        }
        if let Some(before) = self.cycle.checked_sub(CYCLES_KEPT) {
            self.judge.forget_before(before);
        }
        let ended =
            Ended { cycle: shared.cycle, attempts: &attempts, settled: &settled, lists: shared.lists };
        wrong.extend(self.judge.judge(&ended, &graphs[0]));
        Ok(wrong)
    }

    /// Asks every node what became of transactions of unknown outcome: all say the same.
    fn settle(
        &self,
        attempts: &[Attempt],
        wrong: &mut Vec<String>,
    ) -> Result<HashMap<UnknownCommit, bool>, String> {
        let mut settled = HashMap::new();
        for attempt in attempts {
            let Outcome::Unknown(named) = attempt.outcome else { continue };
            for node in 0..NODES {
                let admin = admin(&self.site, node);
                let mut told = None;
                within(self.site.healing_time(), || {
                    told = Some(admin.settle(named).map(|timestamp| timestamp.is_some()));
                    !matches!(&told, Some(Err(error)) if error.kind() == ErrorKind::Unknown)
                });
                let told = told.expect("it was asked once at least");
                let told = told.map_err(|error| format!("node {node} does not settle {named}: {error}"))?;
                if *settled.entry(named).or_insert(told) != told {
                    wrong.push(format!("nodes settle {named} differently"));
                }
            }
        }
        Ok(settled)
    }

    /// What each node answers once all have applied the same messages, which have the same digest.
    fn equal_snapshots(&self, wrong: &mut Vec<String>) -> Result<Vec<Observed>, String> {
        let began = Instant::now();
        loop {
            let before = self.applied();
            if let Ok(applied) = &before
                && let Ok(graphs) = (0..NODES)
                    .map(|node| Observed::of(&client(&self.site, node)))
                    .collect::<Result<Vec<_>, _>>()
                && self.applied().as_ref() == Ok(applied)
            {
                let digests: BTreeSet<&String> = applied.iter().map(|(_, digest)| digest).collect();
                if digests.len() != 1 {
                    wrong.push(format!("digests of the same messages differ: {applied:?}"));
                }
                return Ok(graphs);
            }
            if began.elapsed() > self.site.healing_time() {
                return Err(format!(
                    "nodes do not come to the same message: {before:?}, {:?}",
                    self.applied()
                ));
            }
            sleep(LOOK_EVERY);
        }
    }

    /// What all nodes have applied, if that is the same position, and all of them serve.
    fn applied(&self) -> Result<Vec<(u64, String)>, String> {
        let status = |node| -> Result<(u64, String), String> {
            let status: Value =
                admin(&self.site, node).cluster_status().map_err(|error| error.to_string())?;
            let log = &status["log"];
            match (status["state"].as_str(), log["applied"].as_u64(), log["digest"].as_str()) {
                (Some("serving"), Some(applied), Some(digest)) => Ok((applied, digest.to_owned())),
                _ => Err(format!("node {node}: {status}")),
            }
        };
        let applied = (0..NODES).map(status).collect::<Result<Vec<_>, _>>()?;
        match applied.iter().all(|(position, _)| *position == applied[0].0) {
            true => Ok(applied),
            false => Err(format!("positions {applied:?}")),
        }
    }

    fn caller(&self, node: usize) -> Caller<'_> {
        Caller::new(&self.site.addresses, &self.numbers, self.cycle, node)
    }
}

/// A client of a node that runs.
pub fn client(site: &Site, node: usize) -> Client {
    Client::new(&site.addresses.url(node).parse().unwrap(), ClientOptions::default()).unwrap()
}

/// Administration of a node that runs.
pub fn admin(site: &Site, node: usize) -> Admin {
    client(site, node).admin().timeout(site.healing_time())
}

/// Has a caller run a transaction until it is acknowledged, which takes at most `healing_time`: nothing fails now.
fn surely(
    healing_time: Duration,
    caller: &mut Caller<'_>,
    mut work: impl FnMut(&mut Caller<'_>),
) -> Result<(), String> {
    let node = caller.node();
    let is_done = within(healing_time, || {
        caller.stay_at(node);
        work(caller);
        matches!(caller.attempts.last().map(|attempt| &attempt.outcome), Some(Outcome::Acknowledged))
    });
    match is_done {
        true => Ok(()),
        false => Err(format!("{:?}", caller.attempts.last())),
    }
}

/// Whether something comes within a time.
pub fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > time {
            return false;
        }
        sleep(LOOK_EVERY);
    }
    true
}

/// Says where somebody can look who wants to know why.
pub fn explain(site: &mut Site, wrong: &[String]) -> String {
    let parties: Vec<_> = (0..NODES).map(crate::site::node).collect();
    let said: Vec<String> =
        parties.iter().map(|party| format!("{} said:\n{}", name(*party), site.said(*party))).collect();
    format!("{}\n{}\nall files: {}", wrong.join("\n"), said.join("\n"), site.keep().display())
}
