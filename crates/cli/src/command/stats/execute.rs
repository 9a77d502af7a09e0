//! Counting: opens a database and asks for everything that `evergraph stats` shows.

use crate::command::stats::report::StatisticsText;
use crate::context::Context;
use crate::read_access::ReadAccessArguments;
use crate::server_access::ServerAccessArguments;
use crate::target::{Target, UncheckedUrl};
use clap::Args;
use evergraph_report::statistics::StatisticsReport;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::counted;
use std::time::Instant;

const AFTER_HELP: &str = "\
Examples:
  evergraph stats social.eg
  evergraph stats social.eg --json | jq .edges_count
  evergraph stats social.eg --json | jq '.edge_types[0].degrees.out.powers_of_two'
  evergraph stats wss://ann@graph.example/social

With the disk engine, the tables show its levels of files, from the newest (L0)
to the oldest, and the memory reserved below --memory-limit by use. `--json`
adds what this process did since it opened the database: its cache, reads of
each level and for each list, flushes, compactions, write amplification and
stalls; and the memory graphs, with the reason why each is kept. A program that
has the database open for longer tells the same of itself: db.stats() in Python,
Database::statistics in Rust.

Beside a writer:
  If another process has the database open, and it has the mapped engine, this
  shows what that process has committed. What only a process that writes knows
  is null in the document, also with --read-only: its checkpoints
  (`checkpoint`), and the room in its files (`mapped`).

Degrees:
  Degrees count the vertices of all labels that edges of a type leave (out) or
  reach (in), including vertices without an edge. 99 % of them have at most p99
  edges. The chart has a column for the vertices of degree 0, 1, 2 to 3, 4 to 7,
  and so on; the tallest column means the most vertices, a dot means none.

A URL:
  The server counts, which needs the role reader on the database. What is about
  a process is then about the server, with what it did since it opened the
  database.";

/// Arguments of `evergraph stats`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct StatsArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// How it is opened to be read.
    #[command(flatten)]
    pub reading: ReadAccessArguments,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// Counts and prints.
///
/// # Errors
/// Those of opening; `cancelled`.
pub fn execute(arguments: &StatsArguments, context: &Context) -> Result<(), Failure> {
    let path = match &arguments.database {
        Target::Server(url) => {
            arguments.reading.refuse()?;
            return of_server(arguments, url, context);
        }
        Target::Folder(path) => path,
    };
    arguments.access.refuse()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    let database = arguments.reading.open(path, context)?;
    let open = began.elapsed();
    context.cancel.check()?;
    let shown = path.display().to_string();
    let report = StatisticsReport::count(&database, shown, Some(open), &context.cancel, &|done, all| {
        let share = done as f64 / all.max(1) as f64;
        meter.tell("count degrees", Some(share), || counted(done, "vertex", "vertices"));
    })?;
    database.close()?;
    drop(meter);
    context.console.result(&StatisticsText(report))
}

fn of_server(arguments: &StatsArguments, url: &UncheckedUrl, context: &Context) -> Result<(), Failure> {
    let meter = context.console.meter();
    meter.tell("count on the server", None, String::new);
    let admin = arguments.access.admin(url, context)?;
    let mut report: StatisticsReport = admin.statistics()?;
    report.database = admin.client().url().to_string();
    drop(meter);
    context.console.result(&StatisticsText(report))
}
