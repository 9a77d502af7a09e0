//! Querying: opens a database, asks, and prints what comes.

use crate::command::query::execution::{QueryOptionArguments, QueryOptions, answered};
use crate::command::query::plan_text::PlanText;
use crate::command::query::remote::Remote;
use crate::context::Context;
use crate::read_access::ReadAccessArguments;
use crate::server_access::ServerAccessArguments;
use crate::target::{Target, UncheckedUrl};
use clap::Args;
use evergraph::Database;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::result_file::failure;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const AFTER_HELP: &str = "\
Examples:
  evergraph query social.eg \"g.V().has('Person', 'name', 'Ada').out('KNOWS')\"
  evergraph query social.eg 'g.V().has(\"born\", lt(year)).valueMap()' --bind year=1800
  evergraph query social.eg 'g.V().groupCount().by(label)' --json | jq .
  evergraph query social.eg --explain \"g.V().has('Person', 'id', '1').out()\"
  evergraph query social.eg --profile 'g.V().out().out().count()'
  evergraph query social.eg -f question.groovy --timeout 30s
  echo 'g.E().count()' | evergraph query social.eg -
  evergraph query wss://ann@graph.example/social 'g.V().count()'

What it does:
  A query that only reads runs on one snapshot, and its results are printed as
  they arrive. A query that writes is committed at its end, atomically, and
  retried after a conflict. docs/gremlin.md describes the steps.

  If another process has the database open, and it has the mapped engine, the
  query reads what that process commits; one that writes is refused, with exit
  code 8.

A URL:
  ws://HOST:PORT/NAME or, with TLS, wss://USER@HOST:PORT/NAME asks the database
  NAME of a server; the port is 8182 unless it is given, and without NAME it is
  the database that the server calls g. The password of USER is in the variable
  EVERGRAPH_PASSWORD or the first line of --password-file, or is asked for.

Output:
  Each result is a line; maps with the same keys, as valueMap() and project()
  return them, are a table. A vertex is shown by its label and its unique key,
  Person[1], or its number, City[v7]. With --json each result is a line of JSON:

    values        numbers, true, false, null, strings; NaN, Infinity, bigint,
                  decimal, bytes, dates and similar types as strings
    list, set     arrays; a path is the array of what it visited
    map           an object whose keys are strings as lines show them; an array
                  of [key, value] if two keys would be the same. Tokens are
                  written by name, such as T.id
    vertex        {\"vertex\": 0, \"label\": \"Person\", \"key\": \"1\"}
    edge          {\"edge\": \"0-0-1-0\", \"type\": \"KNOWS\", \"source\": a vertex,
                  \"target\": a vertex}
    property      {\"property\": \"name\", \"value\": \"Ada\"}

  The key of a vertex is the value of its label's unique key, or null.";

/// Arguments of `evergraph query`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct QueryArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// The query, in Gremlin; `-` reads it from standard input.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub text: Option<String>,
    /// Read the query from this file.
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print the plan and the indexes that it would use, without running it.
    #[arg(long, conflicts_with = "profile")]
    pub explain: bool,
    /// Run the query, including its writes, and print figures for each step in place of results.
    #[arg(long)]
    pub profile: bool,
    /// Options for running it.
    #[command(flatten)]
    pub asking: QueryOptionArguments,
    /// How it is opened to be read.
    #[command(flatten)]
    pub reading: ReadAccessArguments,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// Asks and prints.
///
/// # Errors
/// Those of opening; `invalid` for a text that is no query, with the place; what the query meets: `limit`,
/// `conflict`, `cancelled`. What was printed before stays.
pub fn execute(arguments: &QueryArguments, context: &Context) -> std::result::Result<(), Failure> {
    let text = arguments.text()?;
    let asking = arguments.asking.asking(context.cancel.clone(), context.console)?;
    let path = match &arguments.database {
        Target::Server(url) => {
            arguments.reading.refuse()?;
            return ask_server(arguments, url, &asking, &text, context);
        }
        Target::Folder(path) => path,
    };
    arguments.access.refuse()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let (database, write_refusal) = arguments.reading.open_to_ask(path, context)?;
    drop(meter);
    let asking = QueryOptions { write_refusal, ..asking };
    ask_database(arguments, &database, &asking, &text, context)
        .map_err(|failure| asking.explain_refusal(failure))?;
    Ok(database.close()?)
}

fn ask_database(
    arguments: &QueryArguments,
    database: &Database,
    asking: &QueryOptions,
    text: &str,
    context: &Context,
) -> std::result::Result<(), Failure> {
    if arguments.explain || arguments.profile {
        let explained = asking.explain(database, text, arguments.profile)?;
        return context.console.result(&PlanText::new(explained));
    }
    let json = context.console.is_json();
    let (wrote, answered) = answered(json, u64::MAX, |output| asking.answer(database, text, output))?;
    let committed = if wrote { ", committed" } else { "" };
    context.console.note_on_terminal(format!("{}{committed}", answered.summary()));
    Ok(())
}

fn ask_server(
    arguments: &QueryArguments,
    url: &UncheckedUrl,
    asking: &QueryOptions,
    text: &str,
    context: &Context,
) -> std::result::Result<(), Failure> {
    asking.check_remote()?;
    let meter = context.console.meter();
    meter.tell("connect", None, String::new);
    let client = arguments.access.connect(url, context)?;
    drop(meter);
    let remote = Remote::Server(&client);
    if arguments.explain || arguments.profile {
        asking.explain_remote(remote, text, arguments.profile)?;
    } else {
        let json = context.console.is_json();
        let ((), answered) = answered(json, u64::MAX, |output| asking.answer_remote(remote, text, output))?;
        context.console.note_on_terminal(answered.summary());
    }
    client.close();
    Ok(())
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
            Error::invalid(format!("{name} is not UTF-8 text: byte {at} is invalid")).because(error)
        })?;
        Ok(text)
    }
}
