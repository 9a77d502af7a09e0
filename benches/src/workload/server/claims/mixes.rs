//! Mixes: Lissandrini's queries by clients of servers: reads only, 80 % and 20 % reads, at both isolation levels.
//!
//! ```text
//! a run      a server with a new graph, one mix, so many clients; nothing is asked twice
//! before     how much each read finds, beside the edges' own lists; the first run of each entrant
//! after      vertices and edges beside what clients were acknowledged; peak memory of the process
//! ```
//!
//! A query is a transaction. One that is refused is counted, and not tried again.
//!
//! Source: Lissandrini et al. (PVLDB 12, 2018), table 2; G-Tran (PVLDB 15, 2022), figures 14 and 15, table 5. Differs: keys in
//! place of ids, since each server has ids of its own (`micro`).

use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::lbv::MIXES;
use crate::workload::lbv::check::{Acknowledged, Remainder};
use crate::workload::lbv::graph::Shape;
use crate::workload::lbv::query::{Population, READS, WRITES};
use crate::workload::server::claims::entrants::{Entrant, Prepared, Purpose};
use crate::workload::server::claims::micro::{EdgeKey, KeyDraw, MicroGraph, Wanted, variables};
use crate::workload::server::claims::refusal;
use crate::workload::server::contender::{Contender, Dialect, cypher_request};
use crate::workload::server::exchange::Exchange;
use crate::workload::server::generator::{Outcome, Source, Unit, Verdict};
use crate::workload::server::{Bench, connections};
use evergraph::Value;
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit as Measure;
use std::collections::VecDeque;
use tungstenite::Bytes;

const PURPOSE: u64 = 433;
/// Draws of each read that are compared before anything is timed.
const COMPARED: usize = 3;

/// One run.
struct Figures {
    outcome: Outcome,
    memory: f64,
}

/// Measures each mix by each number of clients.
///
/// # Errors
/// `corrupt` if a server finds something else than there is, or we have something else than we acknowledged; `io` if one
/// does not start.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let shape = Shape::of(work.plan)?;
    let seed = work.plan.seed;
    let micro = MicroGraph::new(&shape, seed);
    let prepared = Prepared::new(bench, "mixes", &micro.graph)?;
    let entrants = Entrant::all(work, bench, Purpose::Mixes);
    let names: Vec<&'static str> = entrants.iter().map(|entrant| entrant.name).collect();
    let mut is_compared = vec![false; entrants.len()];
    for (mix, title, reads) in MIXES {
        for count in bench.plan.claims.connections.clone() {
            let mut races = [(); 4].map(|()| Race::new(names.iter().copied()));
            let mut refused = vec![Vec::new(); entrants.len()];
            for round in 0..bench.plan.claims.mix_rounds {
                let mut figures: Vec<Option<Figures>> = entrants.iter().map(|_| None).collect();
                for place in order(round, entrants.len()) {
                    let entrant = &entrants[place];
                    let running = entrant.start(bench, &prepared)?;
                    if !std::mem::replace(&mut is_compared[place], true) {
                        compare(&running.contender, &micro, seed)?;
                    }
                    let mut source =
                        MixSource::new(&running.contender, &micro, reads, seed + round as u64, count);
                    source.prepare(bench.plan.claims.prepared)?;
                    let (warm_up, time) = (bench.plan.claims.mix_warm_up, bench.plan.claims.mix_time);
                    let outcome = running.contender.run(&mut source, count, warm_up, time)?;
                    let memory = running.process.memory_peak_bytes() as f64;
                    if let Some(text) = source.check(entrant)? {
                        work.note(format!("{title}, {}: {text}", connections(count)));
                    }
                    refused[place].push(outcome.refused);
                    figures[place] = Some(Figures { outcome, memory });
                }
                let parts: [fn(&Figures) -> f64; 4] = [
                    |figures| figures.outcome.rate,
                    |figures| figures.outcome.p50,
                    |figures| figures.outcome.p99,
                    |figures| figures.memory,
                ];
                for (race, part) in races.iter_mut().zip(parts) {
                    race.note(&figures.iter().flatten().map(part).collect::<Vec<_>>());
                }
            }
            let heading = |part: &str, what: &str, unit| {
                let name = format!("server.{part}.mix.{mix}.clients_{count}");
                Heading::new(name, format!("{title}, {}{what}", connections(count)), unit)
            };
            work.add_race(&heading("rate", ": transactions", Measure::PerSecond), &races[0]);
            work.add_race(&heading("p50", ": half within", Measure::Seconds), &races[1]);
            work.add_race(&heading("p99", ": 99 of 100 within", Measure::Seconds), &races[2]);
            work.add_race(&heading("memory", ": peak memory of the process", Measure::Bytes), &races[3]);
            for (name, refused) in names.iter().zip(&refused) {
                let short = name.replace(", ", "_").replace(' ', "_");
                let heading =
                    heading(&format!("refused.{short}"), &format!(": refused by {name}"), Measure::Share);
                work.add(&heading, refused);
            }
        }
    }
    work.note(format!(
        "mixes: {}; a new graph and a new process for each run, {} s before it counts and {} s after; keys are indexed on every \
         server",
        shape.title(),
        bench.plan.claims.mix_warm_up.as_secs_f64(),
        bench.plan.claims.mix_time.as_secs_f64(),
    ));
    work.note(
        "isolation: ours snapshot and serializable, TinkerGraph (TinkerTransactionGraph) and Neo4j read committed, JanusGraph on \
         BerkeleyDB repeatable read and serializable; commits are synced by all but TinkerGraph, which keeps nothing",
    );
    Ok(())
}

/// Compares how much each read finds with what there is, for a graph that nobody has changed.
fn compare(server: &Contender, micro: &MicroGraph, seed: u64) -> Result<()> {
    let population = micro.population(seed);
    let mut random = Random::new(seed, PURPOSE, 0);
    let mut exchange = Exchange::connect(server.address, server.carrier())?;
    for query in READS {
        for _ in 0..COMPARED {
            let draw = KeyDraw::new(query, &population, 0, &mut random)?;
            let found =
                server.results(&mut exchange, &request(server, micro, query, &draw, Wanted::Count)?)?;
            let what = format!("Q{query} of {:?}", variables(query, &draw));
            let expected = vec![Value::from(micro.expected(query, &draw) as i64)];
            let whole = |value: &Value| value.as_i64().map_or_else(|| value.clone(), Value::from);
            expect(server.name, &what, found.iter().map(whole).collect(), expected)?;
        }
    }
    Ok(())
}

fn request(
    server: &Contender,
    micro: &MicroGraph,
    query: u8,
    draw: &KeyDraw,
    wanted: Wanted,
) -> Result<Bytes> {
    let variables = variables(query, draw);
    match server.dialect {
        Dialect::Cypher => Ok(cypher_request(server.address, &micro.cypher(query, draw, wanted), &variables)),
        _ => server.text_request(&MicroGraph::gremlin(query, wanted), &variables),
    }
}

/// A query of a client, that is sent once.
struct Asked {
    query: u8,
    draw: KeyDraw,
    request: Bytes,
}

/// The queries of a run, and what was answered.
struct MixSource<'a> {
    server: &'a Contender,
    micro: &'a MicroGraph,
    population: Population<i64, EdgeKey>,
    reads: u64,
    clients: Vec<MixClient>,
}

struct MixClient {
    random: Random,
    /// Encoded before the run.
    prepared: VecDeque<Asked>,
    /// What is not answered.
    asked: Option<Asked>,
    /// Writes that were done, each with its answer, which is read after the run.
    written: Vec<(Asked, Vec<Bytes>)>,
}

impl<'a> MixSource<'a> {
    fn new(server: &'a Contender, micro: &'a MicroGraph, reads: u64, seed: u64, clients: usize) -> Self {
        let client = |number| MixClient {
            random: Random::new(seed, PURPOSE, 1 + number as u64),
            prepared: VecDeque::new(),
            asked: None,
            written: Vec::new(),
        };
        let (population, clients) = (micro.population(seed), (0..clients).map(client).collect());
        Self { server, micro, population, reads, clients }
    }

    /// Encodes so many queries of all clients; further ones are encoded when they are due.
    fn prepare(&mut self, count: usize) -> Result<()> {
        for number in (0..self.clients.len()).cycle().take(count) {
            let asked = self.draw(number)?;
            self.clients[number].prepared.push_back(asked);
        }
        Ok(())
    }

    fn draw(&mut self, number: usize) -> Result<Asked> {
        let random = &mut self.clients[number].random;
        let from: &[u8] = if random.below(100) < self.reads { &READS } else { &WRITES };
        let query = from[random.below(from.len() as u64) as usize];
        let draw = KeyDraw::new(query, &self.population, number, random)?;
        let request = request(self.server, self.micro, query, &draw, Wanted::Rows)?;
        Ok(Asked { query, draw, request })
    }

    /// Holds what the server has against what it acknowledged. What differs is an error of ours, and a text about another.
    fn check(&self, entrant: &Entrant) -> Result<Option<String>> {
        let mut all = Vec::new();
        for client in &self.clients {
            let mut acknowledged = Acknowledged::default();
            for (asked, answer) in &client.written {
                let counted = self.server.read(200, answer)?;
                let rows = counted.into_iter().next().and_then(|count| count.into_value()?.as_i64());
                acknowledged.note(asked.query, &asked.draw, rows.unwrap_or(0) as usize);
            }
            all.push(acknowledged);
        }
        let remainder = Remainder::of(&self.population, &all.iter().collect::<Vec<_>>(), |edge| {
            [edge.source, edge.target]
        });
        let expected = [remainder.vertices as i64, remainder.edges as i64];
        let mut exchange = Exchange::connect(self.server.address, self.server.carrier())?;
        let mut found = [0; 2];
        let texts = [
            ("g.V().count()", "MATCH (v) RETURN count(*)"),
            ("g.E().count()", "MATCH ()-[e]->() RETURN count(*)"),
        ];
        for (found, (gremlin, cypher)) in found.iter_mut().zip(texts) {
            let request = match self.server.dialect {
                Dialect::Cypher => cypher_request(self.server.address, cypher, &[]),
                _ => self.server.text_request(gremlin, &[])?,
            };
            let counted = self.server.results(&mut exchange, &request)?;
            *found = counted.first().and_then(Value::as_i64).unwrap_or(-1);
        }
        if entrant.is_ours() {
            expect(entrant.name, "vertices and edges after a mix", found, expected)?;
        }
        Ok((found != expected).then(|| {
            format!("{} has {found:?} vertices and edges, not {expected:?} as it acknowledged", entrant.name)
        }))
    }
}

impl Source for MixSource<'_> {
    fn next(&mut self, connection: usize) -> Result<Unit> {
        let asked = match self.clients[connection].prepared.pop_front() {
            Some(asked) => asked,
            None => self.draw(connection)?,
        };
        let unit = vec![asked.request.clone()];
        self.clients[connection].asked = Some(asked);
        Ok(unit)
    }

    fn reads_answers(&self) -> bool {
        true
    }

    fn judge(&mut self, connection: usize, code: i32, answer: Vec<Bytes>) -> Result<Verdict> {
        let client = &mut self.clients[connection];
        let asked = client.asked.take().expect("an answer is to a question");
        let what = || format!("Q{} of {:?}", asked.query, variables(asked.query, &asked.draw));
        let verdict = refusal::judge(self.server, &what, code, &answer)?;
        if verdict == Verdict::Accepted && WRITES.contains(&asked.query) {
            client.written.push((asked, answer));
        }
        Ok(verdict)
    }
}
