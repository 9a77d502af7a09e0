//! Server: `evergraph serve`, a process of its own, beside other servers and beside the same queries embedded.
//!
//! ```text
//! generator   a closed loop of connections, one thread          process      servers of this run
//! exchange    one connection: WebSocket or HTTP                 contender    a server, and how it is asked
//! people      the graph, and what should be found               question     what is asked, in Gremlin and Cypher
//! reads       look-ups, two hops, rows                          writes       one-edge commits, g.tx()
//! logins      connections that log in                           idle         memory of connections, readiness
//! heavy       look-ups beside a heavy query                     embedded     the same without a server
//! peers       servers of others, in a JVM                       claims       SNB's reads, and mixes of reads and writes
//! ceiling     a server of constant answers
//! ```
//!
//! Every server listens on a free port of this machine, and ends with the run. Before a question is timed, answers of each
//! server are compared with what the edges say.

mod ceiling;
mod claims;
mod contender;
mod embedded;
mod exchange;
mod generator;
mod heavy;
mod idle;
mod logins;
mod peers;
mod people;
mod process;
mod question;
mod reads;
mod writes;

use crate::folder::{copy_folder, make_folder};
use crate::plan::Work;
use crate::race::{Race, order};
use crate::results::Heading;
use crate::server_plan::{ServerPart, ServerPlan};
use crate::workload::server::claims::{mixes, snb};
use crate::workload::server::contender::{Contender, Dialect};
use crate::workload::server::generator::Outcome;
use crate::workload::server::peers::{HEAP, Peers};
use crate::workload::server::people::People;
use crate::workload::server::process::{Serve, ServerProcess};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::{Path, PathBuf};

/// Ours over WebSocket, as drivers connect.
const OURS: &str = "evergraph";
/// Ours by HTTP.
const BY_HTTP: &str = "by http";
/// Ours without a server.
const EMBEDDED: &str = "embedded";

/// What the parts share.
struct Bench<'a> {
    plan: &'a ServerPlan,
    program: &'a Path,
    people: People,
    /// A database of the people, which nobody opens: servers get copies.
    database: PathBuf,
    folder: &'a Path,
}

impl Bench<'_> {
    /// A copy of the database, of its own name.
    fn copy(&self, name: &str) -> Result<PathBuf> {
        let copy = self.folder.join(format!("{name}.eg"));
        copy_folder(&self.database, &copy)?;
        Ok(copy)
    }

    /// A server of ours on a copy of the database.
    fn serve(&self, name: &str, options: &[&str]) -> Result<ServerProcess> {
        let database = self.copy(name)?;
        let serve = Serve { program: self.program, database: &database, options };
        serve.start().map(|(process, _)| process)
    }

    /// Ours, asked by bytecode.
    fn ours(&self, server: &ServerProcess) -> Result<Contender> {
        let dialect = Dialect::Bytecode { source: "g" };
        let mut ours = Contender::new(OURS, server.address, dialect);
        ours.learn_ids(&self.people)?;
        Ok(ours)
    }
}

/// Measures what the plan says.
///
/// # Errors
/// `corrupt` if an answer is wrong; `io` if a server does not start.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let Some(program) = work.plan.server.program.clone() else {
        eprintln!("left out: --server-program names no program that serves");
        return Ok(());
    };
    let plan = work.plan.server.clone();
    let most = plan.connections.iter().chain([&plan.idle_connections]).max().copied().unwrap_or(0);
    // Both ends of the ceiling's connections are in this process.
    allow_descriptors(2 * most as u64 + 200)?;
    let people = People::new(work.plan, plan.scale)?;
    let database = work.place("people.eg");
    people.make_database(&database)?;
    let (edges, folder) = (people.edges().len(), work.place("servers"));
    make_folder(&folder)?;
    let bench = Bench { plan: &plan, program: &program, people, database, folder: &folder };
    work.note(format!(
        "{} people, {edges} edges KNOWS (R-MAT), an index on their number; generator and servers share this machine, \
         each server a process of its own; the generator has one thread",
        bench.people.count
    ));
    let beside_peers = [ServerPart::LookUps, ServerPart::TwoHops, ServerPart::Rows, ServerPart::Writes];
    if beside_peers.iter().any(|part| plan.has(*part)) {
        let peers = Peers::start(work, &bench)?;
        reads::measure(work, &bench, &peers)?;
        if plan.has(ServerPart::Writes) {
            writes::measure(work, &bench, &peers)?;
        }
    }
    if plan.has(ServerPart::Transactions) {
        writes::measure_transactions(work, &bench)?;
    }
    if plan.has(ServerPart::Logins) {
        logins::measure(work, &bench)?;
    }
    if plan.has(ServerPart::Idle) {
        idle::measure(work, &bench)?;
    }
    if plan.has(ServerPart::Start) {
        idle::measure_start(work, &bench)?;
    }
    if plan.has(ServerPart::Heavy) {
        heavy::measure(work, &bench)?;
    }
    if plan.has(ServerPart::Snb) {
        snb::measure(work, &bench)?;
    }
    if plan.has(ServerPart::Mixes) {
        mixes::measure(work, &bench)?;
    }
    if plan.jars.is_some() {
        work.note(format!("each JVM: {HEAP}"));
    }
    Ok(())
}

/// The outcomes of contenders that take turns: rates, and times of which half and 99 of 100 are shorter.
struct Races {
    rate: Race,
    p50: Race,
    p99: Race,
}

impl Races {
    /// Lets each contender, by its place, run once a round.
    fn run(
        names: &[&'static str],
        rounds: usize,
        mut run: impl FnMut(usize) -> Result<Outcome>,
    ) -> Result<Self> {
        let race = || Race::new(names.iter().copied());
        let mut races = Self { rate: race(), p50: race(), p99: race() };
        for round in 0..rounds {
            let mut outcomes = vec![None; names.len()];
            for place in order(round, names.len()) {
                outcomes[place] = Some(run(place)?);
            }
            let note = |race: &mut Race, part: fn(&Outcome) -> f64| {
                race.note(&outcomes.iter().flatten().map(part).collect::<Vec<_>>());
            };
            note(&mut races.rate, |outcome| outcome.rate);
            note(&mut races.p50, |outcome| outcome.p50);
            note(&mut races.p99, |outcome| outcome.p99);
        }
        Ok(races)
    }

    /// Keeps them as figures: `server.rate.NAME`, `server.p50.NAME`, `server.p99.NAME`.
    fn add(&self, work: &mut Work<'_>, name: &str, title: &str) {
        let heading = |part: &str, what: &str, unit| {
            Heading::new(format!("server.{part}.{name}"), format!("{title}{what}"), unit)
        };
        work.add_race(&heading("rate", "", Unit::PerSecond), &self.rate);
        work.add_race(&heading("p50", ": half within", Unit::Seconds), &self.p50);
        work.add_race(&heading("p99", ": 99 of 100 within", Unit::Seconds), &self.p99);
    }
}

/// `count` connections, in words.
fn connections(count: usize) -> String {
    format!("{count} connection{}", if count == 1 { "" } else { "s" })
}

/// Lets this process have so many files and connections open.
fn allow_descriptors(count: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= count) {
        return Ok(());
    }
    let wanted = Rlimit { current: Some(count), maximum: limit.maximum };
    setrlimit(Resource::Nofile, wanted).map_err(|error| {
        let text = format!("have {count} files open (ulimit -n {count} may allow it): {error}");
        Error::new(ErrorKind::Limit, text)
    })
}
