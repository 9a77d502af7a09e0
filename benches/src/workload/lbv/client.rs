//! Client: one who asks a mix of the micro-benchmarks, one query after the other, and notes what it was acknowledged.

use crate::workload::lbv::check::Acknowledged;
use crate::workload::lbv::query::{Draw, Population, READS, WRITES, text};
use crate::workload::queries::{ROWS, limits};
use evergraph::generate::random::Random;
use evergraph::{Database, EdgeId, Isolation, Item, Transaction, VertexId};
use evergraph_graph::error::Result;
use std::thread;
use std::time::{Duration, Instant};

/// What clients ask, all alike.
pub struct Workload<'p> {
    population: &'p Population<VertexId, EdgeId>,
    /// Of a hundred queries.
    reads: u64,
    isolation: Isolation,
    /// Between the query of a transaction that writes and its commit.
    pause: Option<Duration>,
}

/// A client, and what it has done.
pub struct Client {
    number: usize,
    random: Random,
    /// What it was acknowledged.
    pub acknowledged: Acknowledged<VertexId, EdgeId>,
    /// Which query took how long, in seconds.
    pub times: Vec<(u8, f64)>,
}

impl<'p> Workload<'p> {
    /// So many of a hundred queries read.
    #[must_use]
    pub fn new(population: &'p Population<VertexId, EdgeId>, reads: u64, isolation: Isolation) -> Self {
        Self { population, reads, isolation, pause: None }
    }

    /// The same, with a pause before each commit, or without.
    #[must_use]
    pub fn pausing(self, pause: Option<Duration>) -> Self {
        Self { pause, ..self }
    }
}

impl Client {
    /// One that has done nothing.
    #[must_use]
    pub fn new(number: usize, random: Random) -> Self {
        Self { number, random, acknowledged: Acknowledged::default(), times: Vec::new() }
    }

    /// One query; how often it was attempted.
    ///
    /// # Errors
    /// What the database says.
    pub fn step(&mut self, database: &Database, workload: &Workload<'_>) -> Result<u64> {
        let query = self.next_query(workload);
        self.ask(query, database, workload, |body| database.transact_with(workload.isolation, body))
    }

    /// Which query comes next.
    pub fn next_query(&mut self, workload: &Workload<'_>) -> u8 {
        let from: &[u8] = if self.random.below(100) < workload.reads { &READS } else { &WRITES };
        from[self.random.below(from.len() as u64) as usize]
    }

    /// `query`, which `transact` runs in a transaction if it writes, until that commits; how often it was attempted.
    ///
    /// # Errors
    /// What the database says.
    pub fn ask(
        &mut self,
        query: u8,
        database: &Database,
        workload: &Workload<'_>,
        transact: impl FnOnce(&mut dyn FnMut(&mut Transaction) -> Result<()>) -> Result<()>,
    ) -> Result<u64> {
        let draw = Draw::new(query, workload.population, self.number, &mut self.random)?;
        let text = text(query);
        let began = Instant::now();
        let (mut attempts, mut rows) = (1, 0);
        if WRITES.contains(&query) {
            attempts = 0;
            transact(&mut |transaction| {
                attempts += 1;
                rows = draw.bind(text, transaction.gremlin(text.gremlin)).limits(limits(ROWS)).items()?.len();
                workload.pause.into_iter().for_each(thread::sleep);
                Ok(())
            })?;
        } else {
            let items: Vec<Item> =
                draw.bind(text, database.gremlin(text.gremlin)).limits(limits(ROWS)).items()?;
            rows = items.len();
        }
        self.times.push((query, began.elapsed().as_secs_f64()));
        self.acknowledged.note(query, &draw, rows);
        Ok(attempts)
    }
}
