//! The shell: opens a database and runs statements from a terminal, from what the call says, or from a file.

use crate::command::query::asking::AskingArguments;
use crate::command::shell::command::rows;
use crate::command::shell::dialogue::talk;
use crate::command::shell::runner::Runner;
use crate::command::shell::session::Session;
use crate::context::Context;
use crate::result_file::failure;
use crate::terminal::failure::Failure;
use clap::Args;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  evergraph shell social.eg
  evergraph shell social.eg -c ':schema' -c 'g.V().count()'
  evergraph shell social.eg -f queries.groovy --json
  echo 'g.V().count(); g.E().count()' | evergraph shell social.eg
  evergraph shell social.eg --timeout 30s --rows 1000

At a terminal:
  A query runs at Enter; with a bracket or quote open it goes on in the next
  line. Tab completes steps, labels, edge types and property keys, Ctrl-C stops
  a query, Ctrl-D ends. :help tells the rest. Inputs are remembered in
  ~/.local/state/evergraph/shell_history ($XDG_STATE_HOME), but for those that
  begin with a blank.

Scripts:
  A statement is a query or a command with a colon. It ends at `;`, or with a
  line that leaves nothing open, unless the next line begins with a point. //
  begins a comment. The first error ends a script, and is the exit code; what
  was committed before stays. A transaction that is still open at the end is
  rolled back, which is an error.

Transactions:
  Each query that writes is one of its own. :begin, :commit and :rollback make
  one of several; a query that fails while it writes leaves only :rollback.";

/// Results that are shown at a terminal if nothing is said.
const ROWS_OF_DIALOGUE: u64 = 100;

/// What `evergraph shell` is told.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ShellArguments {
    /// The database.
    pub database: PathBuf,
    /// Run these statements and end; may be said several times.
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file")]
    pub command: Vec<String>,
    /// Run the statements in this file and end; `-` is standard input.
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How many results of a query are shown: a number or all [default: 100 at a terminal, else all].
    #[arg(long, value_name = "N", value_parser = rows)]
    pub rows: Option<u64>,
    /// How queries are asked.
    #[command(flatten)]
    pub asking: AskingArguments,
    /// Go on after an error of a script; the first one is the exit code.
    #[arg(long)]
    pub keep_going: bool,
    /// Remember what is typed in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "no_history")]
    pub history: Option<PathBuf>,
    /// Remember what is typed only as long as the shell is there.
    #[arg(long)]
    pub no_history: bool,
}

/// Runs statements.
///
/// # Errors
/// Those of opening; the first of a script, unless it is to go on; `cancelled` after SIGTERM.
pub fn execute(arguments: &ShellArguments, context: &Context) -> Result<ExitCode, Failure> {
    let asking = arguments.asking.asking(context.cancel.clone(), context.console)?;
    let written = arguments.asking.bind.iter().filter_map(|said| said.split_once('='));
    let variables: BTreeMap<String, String> =
        written.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // A script that isn't there is told of before the database is opened, which takes longer.
    let named = arguments.file.as_deref().filter(|path| *path != Path::new("-"));
    let opened = named.map(|path| {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| failure(&format!("read {name}"), error))?;
        Ok::<_, Failure>((name, BufReader::new(file)))
    });
    let script = opened.transpose()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let database = context.open(&arguments.database)?;
    drop(meter);

    let is_dialogue = arguments.command.is_empty()
        && arguments.file.is_none()
        && io::stdin().is_terminal()
        && io::stdout().is_terminal();
    let rows_max = arguments.rows.unwrap_or(if is_dialogue { ROWS_OF_DIALOGUE } else { u64::MAX });
    let timing = io::stderr().is_terminal();
    let mut session = Session::new(&database, context.console, asking, rows_max, timing, variables);
    let code = if is_dialogue {
        talk(&mut session, &database, arguments, context)?;
        ExitCode::SUCCESS
    } else {
        let mut runner = Runner::new(&mut session, arguments.keep_going);
        match script {
            _ if !arguments.command.is_empty() => {
                arguments.command.iter().try_for_each(|text| runner.run(text.as_bytes(), None))?;
            }
            Some((name, file)) => runner.run(file, Some(&name))?,
            None => runner.run(io::stdin().lock(), Some("standard input"))?,
        }
        runner.end()?
    };
    drop(session);
    database.close()?;
    Ok(code)
}
