//! Execution: a query with its variables and limits, on a database or within a transaction, and its results printed.

use crate::amount;
use crate::command::query::element_names::ElementNames;
use crate::command::query::output::Output;
use crate::command::query::plan_text::PlanText;
use crate::read_access::WriteRefusal;
use clap::Args;
use evergraph::gremlin::note::Notes;
use evergraph::gremlin::query::{Limits, Query};
use evergraph::{Database, Isolation, ReadByName, Transaction};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::view::GraphView;
use evergraph_query::explain::Explanation;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::parser::variable::parse_variable;
use evergraph_query::plan::operator::Outcome;
use evergraph_query::value::item::Item;
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{counted, time};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Bytes that a query may take by default.
pub const MEMORY_BYTES: u64 = 1 << 30;

/// Options for running queries.
#[derive(Args, Debug)]
pub struct QueryOptionArguments {
    /// Set a variable of the query; the value is a Gremlin literal: --bind age=30 --bind "name='Ada'".
    #[arg(long, value_name = "NAME=VALUE")]
    pub bind: Vec<String>,
    /// Time that a query may take, including the printing of results: 500ms, 30s, 5min [default: unlimited; of a server,
    /// its own limit].
    #[arg(long, value_name = "TIME", value_parser = amount::time)]
    pub timeout: Option<Duration>,
    /// Memory that a query may take in addition to the graph.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "1GiB")]
    pub memory: u64,
    /// Use the isolation level serializable: commit writes only if nothing that was read was changed meanwhile.
    #[arg(long)]
    pub serializable: bool,
    /// Refuse a query that names a label, an edge type or a property that the graph does not have, instead of noting it.
    #[arg(long)]
    pub strict: bool,
}

/// How queries are asked.
pub struct QueryOptions {
    /// The variables that they have.
    pub bindings: Bindings,
    /// What they may take.
    pub limits: Limits,
    /// How far what they write is kept apart from others.
    pub isolation: Isolation,
    /// What stops them.
    pub cancel: CancelFlag,
    /// Whether a name that the graph doesn't have is an error.
    pub strict: bool,
    /// Where notes go.
    pub console: Console,
    /// What a change is told, if the database could be opened only to read.
    pub write_refusal: Option<WriteRefusal>,
}

/// What came of a query.
pub struct QueryOutcome {
    /// Its results.
    pub results_count: u64,
    /// Those that weren't printed.
    pub left_out_count: u64,
    /// From its begin to its last line.
    pub took: Duration,
}

impl QueryOptionArguments {
    /// What they say; `cancel` stops queries, and notes go to `console`.
    ///
    /// # Errors
    /// `invalid` for a value of a variable that is none, with the place.
    pub fn asking(&self, cancel: CancelFlag, console: Console) -> Result<QueryOptions> {
        let mut bindings = Bindings::new();
        for said in &self.bind {
            let (name, value) = said.split_once('=').ok_or_else(|| {
                Error::invalid(format!("--bind {said}: expected a name and a value, as in --bind age=30"))
            })?;
            let argument = parse_variable(value, &ParseLimits::default()).map_err(|error| {
                let shown = error.shown_in(value);
                Error::new(error.kind, format!("--bind {name}: {shown}")).because(error)
            })?;
            bindings.bind_argument(name, argument);
        }
        let limits = Limits {
            timeout: self.timeout.unwrap_or(Duration::MAX),
            memory_bytes: self.memory,
            ..Limits::default()
        };
        let isolation = if self.serializable { Isolation::Serializable } else { Isolation::default() };
        let strict = self.strict;
        Ok(QueryOptions { bindings, limits, isolation, cancel, strict, console, write_refusal: None })
    }
}

impl QueryOptions {
    /// `query` with the variables and limits that were asked for. Who types it may read and write files anyway.
    pub fn of<'q, G>(&self, query: Query<'q, G>) -> Query<'q, G> {
        let query = query.bindings(self.bindings.clone()).limits(self.limits).cancel(&self.cancel);
        query.strict(self.strict).files(true)
    }

    /// `failure` of a query; the refusal of a change has the reason why the database is only read.
    #[must_use]
    pub fn explain_refusal(&self, failure: Failure) -> Failure {
        match &self.write_refusal {
            Some(refusal) => refusal.explain(failure),
            None => failure,
        }
    }

    /// Tells what stands beside the results of a query.
    fn tell(&self, notes: &Notes) {
        notes.take().iter().for_each(|note| self.console.note(format_args!("note: {}", note.shown())));
    }

    /// The plan of a query on the database; if `profile`, the query runs, and it is told what each step did.
    ///
    /// # Errors
    /// `invalid` for a text that is no query, with the place; what running it meets.
    pub fn explain(&self, database: &Database, text: &str, profile: bool) -> Result<Explanation> {
        let query = self.of(database.gremlin(text)).transaction(self.isolation);
        if profile { query.profile() } else { query.explain() }
    }

    /// Asks the database; of a text that ends in `profile()` or `explain()` the plan is printed. Results of a query that writes are printed when it is committed. Whether it wrote.
    ///
    /// # Errors
    /// `invalid` for a text that is no query, with the place; what the query meets; what printing does.
    pub fn answer(
        &self,
        database: &Database,
        text: &str,
        output: &mut Output<impl Write>,
    ) -> std::result::Result<bool, Failure> {
        let notes = Notes::default();
        let plan = self.of(database.gremlin(text)).notes(&notes).plan()?;
        self.tell(&notes);
        let writes = plan.writes;
        if plan.outcome != Outcome::Results {
            let profile = plan.outcome == Outcome::Profile;
            self.console.result(&PlanText::new(self.explain(database, text, profile)?))?;
            return Ok(writes);
        }
        if writes || plan.io().is_some() {
            let items = self.of(database.gremlin(text)).transaction(self.isolation).items()?;
            print(items.into_iter().map(Ok), &database.snapshot(), output)?;
        } else {
            let snapshot = database.snapshot();
            print(self.of(snapshot.gremlin(text)).iter()?, &snapshot, output)?;
        }
        Ok(writes)
    }

    /// Asks within `transaction`. Results are printed when all are there, since their names are read from what the
    /// query may be writing to.
    ///
    /// # Errors
    /// As [`QueryOptions::answer`]. A query that writes may have written a part of what it was to.
    pub fn answer_within(
        &self,
        transaction: &mut Transaction,
        text: &str,
        output: &mut Output<impl Write>,
    ) -> std::result::Result<(), Failure> {
        let (mut shown, mut left_out) = (Vec::new(), 0);
        let notes = Notes::default();
        let plan = self.of(transaction.gremlin(text)).notes(&notes).plan()?;
        self.tell(&notes);
        if plan.outcome != Outcome::Results {
            let query = self.of(transaction.gremlin(text));
            let explained = if plan.outcome == Outcome::Profile { query.profile() } else { query.explain() };
            return self.console.result(&PlanText::new(explained?));
        }
        let results = self.of(transaction.gremlin(text)).iter()?;
        for item in results {
            let item = item?;
            if (shown.len() as u64) < output.rows_max() {
                shown.push(item);
            } else {
                left_out += 1;
            }
        }
        print(shown.into_iter().map(Ok), transaction.by_id_ref(), output)?;
        output.leave_out(left_out).map_err(Failure::of_output)
    }
}

impl QueryOutcome {
    /// How many results there were, and how long it took.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("{} in {}", counted(self.results_count, "result", "results"), time(self.took))
    }
}

/// What `ask` prints goes to standard output, JSON if `json`, and at most `rows_max` results of it.
///
/// # Errors
/// Those of `ask`; what was printed before stays, and is whole. If standard output doesn't take it.
pub fn answered<T>(
    json: bool,
    rows_max: u64,
    ask: impl FnOnce(&mut Output<Box<dyn Write>>) -> std::result::Result<T, Failure>,
) -> std::result::Result<(T, QueryOutcome), Failure> {
    let began = Instant::now();
    let stdout = io::stdout();
    // A person sees each line as it comes, a file is written in large pieces.
    let out: Box<dyn Write> = match stdout.is_terminal() {
        true => Box::new(stdout.lock()),
        false => Box::new(BufWriter::with_capacity(1 << 16, stdout.lock())),
    };
    let mut output = Output::new(out, json, rows_max);
    let asked = ask(&mut output);
    let finished = output.finish().map_err(Failure::of_output);
    let asked = asked?;
    finished?;
    let results_count = output.results_count();
    let left_out_count = results_count.saturating_sub(rows_max);
    Ok((asked, QueryOutcome { results_count, left_out_count, took: began.elapsed() }))
}

fn print(
    items: impl Iterator<Item = Result<Item>>,
    view: &dyn GraphView,
    output: &mut Output<impl Write>,
) -> std::result::Result<(), Failure> {
    let naming = ElementNames::new(view);
    for item in items {
        let item = item?;
        let printed = match output.results_count() < output.rows_max() {
            true => output.result(naming.shown(&item)?),
            false => output.leave_out(1),
        };
        printed.map_err(Failure::of_output)?;
    }
    Ok(())
}
