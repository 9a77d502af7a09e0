//! Caller: a client of the cluster that keeps to one node until it is lost, and remembers what it was told of each transaction.

use crate::list_history::Operation;
use crate::site::{Addresses, NODES};
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_client::server_answer::UnknownOutcome;
use evergraph_client::transaction::Transaction;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::transaction::{Isolation, TransactionOptions};
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::value::Value;
use evergraph_protocol::result::result_value::ResultValue;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long connecting may take: a node that is stopped takes connections, and says nothing.
const CONNECT_TIME: Duration = Duration::from_secs(2);
/// How long the queries of a transaction may take.
const QUERIES_TIME: Duration = Duration::from_secs(8);
/// How long somebody waits who found no node.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a commit is waited for before anybody calls its outcome unknown: docs/guide/cluster.md.
const WINDOW: Duration = Duration::from_secs(10);

/// Numbers for what must be told apart: marks of transactions, and items of lists.
#[derive(Default)]
pub struct Numbers(AtomicI64);

impl Numbers {
    pub fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// What a client was told of a transaction.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It has committed.
    Acknowledged,
    /// It has not, and never will.
    Refused(String),
    /// Nobody knows yet, and this is its name.
    Unknown(UnknownCommit),
    /// Its connection was lost.
    Lost,
}

/// What a transaction does to the graph.
#[derive(Clone, Debug)]
pub enum Effect {
    Nothing,
    Transfer { from: i64, to: i64, amount: i64 },
    Lists { process: usize, operations: Vec<Operation> },
    Claim { value: i64 },
    AddEdge { from: i64, to: i64 },
    Renew { person: i64 },
}

/// A transaction that somebody tried. If it has committed there is a vertex `Mark` with its number.
#[derive(Clone, Debug)]
pub struct Attempt {
    pub mark: i64,
    pub outcome: Outcome,
    /// What it would do; `None` if it did not come to its commit.
    pub effect: Option<Effect>,
}

/// A client.
pub struct Caller<'a> {
    addresses: &'a Addresses,
    numbers: &'a Numbers,
    /// Of the cycle, for those that remove marks again.
    cycle: u64,
    node: usize,
    clients: [Option<Client>; NODES],
    pub attempts: Vec<Attempt>,
    /// What no client may ever be told.
    pub wrong: Vec<String>,
}

impl<'a> Caller<'a> {
    /// One that asks this node first.
    pub fn new(addresses: &'a Addresses, numbers: &'a Numbers, cycle: u64, node: usize) -> Self {
        let clients = [const { None }; NODES];
        Self {
            addresses,
            numbers,
            cycle,
            node: node % NODES,
            clients,
            attempts: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// A number that nobody else has.
    pub fn number(&self) -> i64 {
        self.numbers.next()
    }

    /// The node that it asks next.
    pub fn node(&self) -> usize {
        self.node
    }

    /// Asks this node next.
    pub fn stay_at(&mut self, node: usize) {
        self.node = node;
    }

    /// Asks the next node from now on.
    pub fn move_on(&mut self) {
        self.node = (self.node + 1) % NODES;
    }

    /// The values that a query gives, in a transaction of its own. Whoever reads may be refused.
    pub fn read(&mut self, text: &str) -> Option<Vec<ResultValue>> {
        self.query(text, QUERIES_TIME)?.ok()
    }

    /// What comes of a query, in a transaction of its own; nothing if no node takes it.
    pub fn query(&mut self, text: &str, time_max: Duration) -> Option<Result<Vec<ResultValue>>> {
        let client = self.client()?;
        let read = client.query(&Query::text(text).timeout(time_max)).and_then(|results| results.collect());
        Some(read.inspect_err(|error| self.failed(error)))
    }

    /// What comes of queries that read one snapshot; nothing if no node takes them.
    pub fn look<T>(
        &mut self,
        time_max: Duration,
        body: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Option<Result<T>> {
        let client = self.client()?;
        let options = TransactionOptions::default().isolation(Isolation::Snapshot).timeout(time_max);
        let seen = client.begin(options, &CancelFlag::default()).and_then(|mut transaction| {
            let seen = body(&mut transaction);
            transaction.roll_back();
            seen
        });
        Some(seen.inspect_err(|error| self.failed(error)))
    }

    /// Runs a transaction, whose body says what it does, and remembers what came of it.
    pub fn transact(
        &mut self,
        isolation: Isolation,
        body: impl FnOnce(&mut Transaction, i64) -> Result<Effect>,
    ) {
        let mark = self.numbers.next();
        let (effect, outcome) = self.attempt(isolation, mark, body);
        self.attempts.push(Attempt { mark, outcome, effect });
    }

    fn attempt(
        &mut self,
        isolation: Isolation,
        mark: i64,
        body: impl FnOnce(&mut Transaction, i64) -> Result<Effect>,
    ) -> (Option<Effect>, Outcome) {
        let refused = |error: &Error| (None, Outcome::Refused(error.to_string()));
        let Some(client) = self.client() else { return (None, Outcome::Refused("no node".to_owned())) };
        let options = TransactionOptions::default().isolation(isolation).timeout(QUERIES_TIME);
        let mut transaction = match client.begin(options, &CancelFlag::default()) {
            Ok(transaction) => transaction,
            Err(error) => {
                self.failed(&error);
                return refused(&error);
            }
        };
        let add = format!("g.addV('Mark').property('key', {mark}L).property('cycle', {}L)", self.cycle);
        let done =
            body(&mut transaction, mark).and_then(|effect| run(&mut transaction, &add).map(|_| effect));
        let effect = match done {
            Ok(effect) => effect,
            Err(error) => {
                transaction.roll_back();
                self.failed(&error);
                return refused(&error);
            }
        };
        let began = Instant::now();
        let outcome = match transaction.commit() {
            Ok(_) => Outcome::Acknowledged,
            Err(error) => {
                self.failed(&error);
                self.outcome_of(&error, began.elapsed())
            }
        };
        (Some(effect), outcome)
    }

    fn outcome_of(&mut self, error: &Error, after: Duration) -> Outcome {
        let text = error.to_string();
        if error.kind() != ErrorKind::Unknown {
            return if UnknownOutcome::is_of(error) { Outcome::Lost } else { Outcome::Refused(text) };
        }
        if after < WINDOW {
            self.wrong.push(format!("a commit is called unknown after {after:?} already: {text}"));
        }
        let mut words = text.split([' ', ':', ',', ';']);
        match words.find_map(|word| word.parse().ok()) {
            Some(named) => Outcome::Unknown(named),
            None => {
                self.wrong.push(format!("a commit is called unknown, and has no name: {text}"));
                Outcome::Lost
            }
        }
    }

    /// The client of a node that takes connections.
    fn client(&mut self) -> Option<Client> {
        if let Some(client) = &self.clients[self.node] {
            return Some(client.clone());
        }
        let url = self.addresses.url(self.node).parse().unwrap();
        let mut options = ClientOptions::default();
        options.connect_time_max = CONNECT_TIME;
        match Client::connect(&url, options) {
            Ok(client) => {
                self.clients[self.node] = Some(client.clone());
                Some(client)
            }
            Err(_) => {
                self.move_on();
                sleep(PAUSE);
                None
            }
        }
    }

    /// After an error: another node, unless this one has only refused; and whether anybody may be told that.
    fn failed(&mut self, error: &Error) {
        match error.kind() {
            ErrorKind::Conflict => {}
            // Somebody else has the value.
            ErrorKind::Invalid if error.to_string().contains(" is unique, and ") => {}
            ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Corrupt => {
                self.wrong.push(format!("{}: {error}", error.kind().name()));
            }
            _ => {
                self.clients[self.node] = None;
                self.move_on();
                sleep(PAUSE);
            }
        }
    }
}

/// Runs a query of a transaction.
///
/// # Errors
/// Those of the query.
pub fn run(transaction: &mut Transaction, text: &str) -> Result<Vec<ResultValue>> {
    transaction.query(&Query::text(text))?.collect()
}

/// The only number that a query of a transaction gives.
///
/// # Errors
/// Those of the query.
///
/// # Panics
/// If it gives anything else.
pub fn run_for_number(transaction: &mut Transaction, text: &str) -> Result<i64> {
    run(transaction, text).map(|results| match &results[..] {
        [result] => number(result),
        other => panic!("{text}: {other:?}"),
    })
}

/// A whole number.
pub fn number(result: &ResultValue) -> i64 {
    value(result).as_i64().unwrap_or_else(|| panic!("{result:?} is no whole number"))
}

/// A text.
pub fn text(result: &ResultValue) -> String {
    value(result).as_str().unwrap_or_else(|| panic!("{result:?} is no text")).to_owned()
}

fn value(result: &ResultValue) -> &Value {
    match result {
        ResultValue::Value(value) => value,
        other => panic!("{other:?} is no value"),
    }
}
