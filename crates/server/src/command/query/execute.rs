//! Querying: opens a database, asks, and prints what comes.

use crate::amount;
use crate::command::query::naming::Naming;
use crate::command::query::output::Output;
use crate::command::query::plan_report::PlanReport;
use crate::context::Context;
use crate::result_file::failure;
use crate::terminal::failure::Failure;
use crate::terminal::number::{counted, time};
use clap::Args;
use evergraph::gremlin::query::{Limits, Query};
use evergraph::{Database, Isolation, ReadByName, Snapshot};
use evergraph_graph::error::{Error, Result};
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::parser::variable::parse_variable;
use evergraph_query::value::item::Item;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph query social.eg \"g.V().has('Person', 'name', 'Ada').out('KNOWS')\"
  evergraph query social.eg 'g.V().has(\"born\", lt(year)).valueMap()' --bind year=1800
  evergraph query social.eg 'g.V().groupCount().by(label)' --json | jq .
  evergraph query social.eg --explain \"g.V().has('Person', 'id', '1').out()\"
  evergraph query social.eg --profile 'g.V().out().out().count()'
  evergraph query social.eg -f question.groovy --timeout 30s
  echo 'g.E().count()' | evergraph query social.eg -

What it does:
  A query that only reads sees one moment, and its results are printed as they
  come. One that writes is committed when it is through, as a whole or not at
  all, and tried again after a conflict. docs/gremlin.md tells the steps.

Output:
  A result is a line; maps of the same keys, as valueMap() and project() make
  them, are a table. A vertex is its label and its unique key, Person[1], or
  its number, City[v7]. With --json each result is one line of JSON:

    values        numbers, true, false, null, texts; NaN, Infinity, bigint,
                  decimal, bytes, dates and the like as texts
    list, set     arrays; a path is the array of what it visited
    map           an object, whose keys are texts as lines show them; where two
                  would be the same, an array of [key, value]. T.id and the
                  other tokens are called so
    vertex        {\"vertex\": 0, \"label\": \"Person\", \"key\": \"1\"}
    edge          {\"edge\": \"0-0-1-0\", \"type\": \"KNOWS\", \"source\": a vertex,
                  \"target\": a vertex}
    property      {\"property\": \"name\", \"value\": \"Ada\"}

  The key of a vertex is the value of its label's unique key, or null.";

/// What `evergraph query` is told.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct QueryArguments {
    /// The database.
    pub database: PathBuf,
    /// The query, in Gremlin; `-` reads it from standard input.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub text: Option<String>,
    /// Read the query from this file.
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Give a variable of the query a value, written as in Gremlin: --bind age=30 --bind "name='Ada'".
    #[arg(long, value_name = "NAME=VALUE")]
    pub bind: Vec<String>,
    /// Print the plan and the indexes that it would ask, and run nothing.
    #[arg(long, conflicts_with = "profile")]
    pub explain: bool,
    /// Run the query and print what each step did, in place of results; what it writes is written.
    #[arg(long)]
    pub profile: bool,
    /// How long it may take, the printing of results included: 500ms, 30s, 5min [default: unlimited].
    #[arg(long, value_name = "TIME", value_parser = amount::time)]
    pub timeout: Option<Duration>,
    /// Memory that it may take on top of the graph.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "1GiB")]
    pub memory: u64,
    /// Commit what it writes only if nothing that it read was changed meanwhile.
    #[arg(long)]
    pub serializable: bool,
}

/// Asks and prints.
///
/// # Errors
/// Those of opening; `invalid` for a text that is no query, with the place; what the query meets: `limit`,
/// `conflict`, `cancelled`. What was printed before stays.
pub fn execute(arguments: &QueryArguments, context: &Context) -> std::result::Result<(), Failure> {
    let text = arguments.text()?;
    let bindings = arguments.bindings()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let database = context.open(&arguments.database)?;
    drop(meter);
    let asked = Asked { text: &text, bindings, arguments, context };
    if arguments.explain || arguments.profile {
        asked.explain(&database)?;
    } else {
        asked.answer(&database)?;
    }
    Ok(database.close()?)
}

impl QueryArguments {
    fn text(&self) -> std::result::Result<String, Failure> {
        let (name, bytes) = match (&self.file, &self.text) {
            (None, Some(text)) if text != "-" => return Ok(text.clone()),
            (Some(path), _) if path != Path::new("-") => (path.display().to_string(), fs::read(path)),
            _ => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_to_end(&mut bytes);
                ("standard input".to_owned(), read.map(|_| bytes))
            }
        };
        let bytes = bytes.map_err(|error| failure(&format!("read {name}"), error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::invalid(format!("{name} is no text in UTF-8: byte {at} is none of it")).because(error)
        })?;
        Ok(text)
    }

    fn bindings(&self) -> Result<Bindings> {
        let mut bindings = Bindings::new();
        for said in &self.bind {
            let (name, value) = said.split_once('=').ok_or_else(|| {
                Error::invalid(format!("--bind {said}: a name and a value are wanted, as in --bind age=30"))
            })?;
            let argument = parse_variable(value, &ParseLimits::default()).map_err(|error| {
                let shown = error.shown_in(value);
                Error::new(error.kind, format!("--bind {name}: {shown}")).because(error)
            })?;
            bindings.bind_argument(name, argument);
        }
        Ok(bindings)
    }
}

/// A query, and how it is to be run.
struct Asked<'a> {
    text: &'a str,
    bindings: Bindings,
    arguments: &'a QueryArguments,
    context: &'a Context,
}

impl Asked<'_> {
    /// `query` with the variables and limits that were asked for.
    fn limited<'q, G>(&self, query: Query<'q, G>) -> Query<'q, G> {
        let limits = Limits {
            timeout: self.arguments.timeout.unwrap_or(Duration::MAX),
            memory_bytes: self.arguments.memory,
            ..Limits::default()
        };
        query.bindings(self.bindings.clone()).limits(limits).cancel(&self.context.cancel)
    }

    fn isolation(&self) -> Isolation {
        if self.arguments.serializable { Isolation::Serializable } else { Isolation::default() }
    }

    fn explain(&self, database: &Database) -> std::result::Result<(), Failure> {
        let query = self.limited(database.gremlin(self.text)).transaction(self.isolation());
        let explained = if self.arguments.profile { query.profile()? } else { query.explain()? };
        self.context.console.result(&PlanReport(explained))
    }

    fn answer(&self, database: &Database) -> std::result::Result<(), Failure> {
        let began = Instant::now();
        let writes = self.limited(database.gremlin(self.text)).plan()?.writes;
        let stdout = io::stdout();
        // A person sees each line as it comes, a file is written in large pieces.
        let out: Box<dyn Write> = match stdout.is_terminal() {
            true => Box::new(stdout.lock()),
            false => Box::new(BufWriter::with_capacity(1 << 16, stdout.lock())),
        };
        let mut output = Output::new(out, self.context.console.is_json());
        let printed = if writes {
            let items = self.limited(database.gremlin(self.text)).transaction(self.isolation()).items()?;
            print(items.into_iter().map(Ok), &database.snapshot(), &mut output)
        } else {
            let snapshot = database.snapshot();
            print(self.limited(snapshot.gremlin(self.text)).iter()?, &snapshot, &mut output)
        };
        // What was printed before an error stays, and is whole.
        let finished = output.finish().map_err(Failure::of_output);
        printed.and(finished)?;
        let committed = if writes { ", committed" } else { "" };
        let results = counted(output.results_count(), "result", "results");
        self.context.console.note_on_terminal(format!("{results} in {}{committed}", time(began.elapsed())));
        Ok(())
    }
}

fn print(
    items: impl Iterator<Item = Result<Item>>,
    snapshot: &Snapshot,
    output: &mut Output<impl Write>,
) -> std::result::Result<(), Failure> {
    let naming = Naming::new(snapshot);
    for item in items {
        output.result(naming.shown(&item?)?).map_err(Failure::of_output)?;
    }
    Ok(())
}
