//! The shell: opens a database and runs statements from a terminal, from what the call says, or from a file.

use crate::command::query::execution::QueryOptions;
use crate::command::shell::arguments::ShellArguments;
use crate::command::shell::backend::ShellDatabase;
use crate::command::shell::dialogue::talk;
use crate::command::shell::remote::RemoteDatabase;
use crate::command::shell::runner::Runner;
use crate::command::shell::session::Session;
use crate::context::Context;
use crate::target::Target;
use clap::{Args as _, FromArgMatches as _};
use evergraph::Database;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::result_file::failure;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

/// Results that are shown at a terminal if nothing is said.
const ROWS_OF_DIALOGUE: u64 = 100;

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
    match &arguments.database {
        Target::Folder(path) => {
            arguments.access.refuse()?;
            meter.tell("open", None, String::new);
            let (database, write_refusal) = arguments.reading.open_to_ask(path, context)?;
            drop(meter);
            let asking = QueryOptions { write_refusal, ..asking };
            let code = run(arguments, &database, asking, variables, script, context)?;
            database.close()?;
            Ok(code)
        }
        Target::Server(url) => {
            arguments.reading.refuse()?;
            asking.check_remote()?;
            meter.tell("connect", None, String::new);
            let client = arguments.access.connect(url, context)?;
            drop(meter);
            let database = RemoteDatabase::new(client.clone());
            let code = run(arguments, &database, asking, variables, script, context)?;
            client.close();
            Ok(code)
        }
    }
}

/// Runs statements on a database that is open already, as a shell without options does.
///
/// # Errors
/// As [`execute`].
pub fn on_open(path: &Path, database: &Database, context: &Context) -> Result<ExitCode, Failure> {
    let command = ShellArguments::augment_args(clap::Command::new("shell"));
    let words = [OsStr::new("shell"), OsStr::new("--"), path.as_os_str()];
    let parsed =
        command.try_get_matches_from(words).and_then(|matches| ShellArguments::from_arg_matches(&matches));
    let arguments = parsed.expect("a shell needs no more than a database");
    let asking = arguments.asking.asking(context.cancel.clone(), context.console)?;
    run(&arguments, database, asking, BTreeMap::new(), None, context)
}

fn run(
    arguments: &ShellArguments,
    database: &dyn ShellDatabase,
    asking: QueryOptions,
    variables: BTreeMap<String, String>,
    script: Option<(String, BufReader<File>)>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let is_dialogue = arguments.command.is_empty()
        && arguments.file.is_none()
        && io::stdin().is_terminal()
        && io::stdout().is_terminal();
    let rows_max = arguments.rows.unwrap_or(if is_dialogue { ROWS_OF_DIALOGUE } else { u64::MAX });
    let timing = io::stderr().is_terminal();
    let mut session = Session::new(database, context.console, asking, rows_max, timing, variables);
    if is_dialogue {
        talk(&mut session, database, arguments, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut runner = Runner::new(&mut session, arguments.keep_going);
    match script {
        _ if !arguments.command.is_empty() => {
            arguments.command.iter().try_for_each(|text| runner.run(text.as_bytes(), None))?;
        }
        Some((name, file)) => runner.run(file, Some(&name))?,
        None => runner.run(io::stdin().lock(), Some("standard input"))?,
    }
    runner.end()
}
