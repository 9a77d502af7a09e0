//! The one program: `evergraph`.
//!
//! ```text
//! arguments ─┬─> settings ─> console, interrupt, threads ─> one command ─> a report, or a failure with
//! files ─────┤                                                              its exit code
//! variables ─┘
//! ```

mod amount;
mod arguments;
mod bench;
mod command;
mod context;
mod demo;
mod graph_files;
mod loading;
mod open;
mod result_file;
mod settings;
mod terminal;
mod welcome;

use crate::arguments::{Arguments, Command, Global, command_line};
use crate::context::Context;
use crate::settings::file;
use crate::settings::print::SettingsReport;
use crate::settings::resolve::{Resolved, resolve, with_undoing};
use crate::terminal::console::{Color, Console, When};
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use clap::error::ErrorKind as UsageKind;
use clap::{ArgMatches, ColorChoice, FromArgMatches};
use evergraph::Options;
use evergraph_graph::error::{Error, ErrorKind};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let said: Vec<OsString> = env::args_os().collect();
    let program = with_undoing(command_line()).color(color_of_help(&said));
    let matches = match program.clone().try_get_matches_from(&said) {
        Ok(matches) => matches,
        Err(_) if said.len() < 2 => return ended(welcome::show(), &Console::default()),
        // What is in effect can be asked for without saying what else to do.
        Err(usage) if is_incomplete(&usage) && said.iter().any(|word| word == "--print-config") => {
            match program.clone().ignore_errors(true).try_get_matches_from(&said) {
                Ok(matches) => matches,
                Err(usage) => return refuse(&usage, &said),
            }
        }
        Err(usage) => return refuse(&usage, &said),
    };
    // Until the settings are known, as far as the command line tells.
    let console = Console::new(matches.get_flag("json"), false, Color::Auto, When::Never);
    let resolved = match settle(&matches) {
        Ok(resolved) => resolved,
        Err(failure) => return ended(Err(failure), &console),
    };
    if matches.get_flag("print_config") {
        let report = SettingsReport::new(&resolved);
        return ended(console.result(&report).map(|()| ExitCode::SUCCESS), &console);
    }
    let parsed = resolved.with_defaults(program).try_get_matches_from(&said);
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(usage) => return refuse(&usage, &said),
    };
    let Global { json, quiet, color, progress, .. } = arguments.global;
    let console = Console::new(json, quiet, color, progress);
    for (name, meant) in &resolved.mistaken_variables {
        console.note(format!("the variable {name} sets nothing: is {meant} meant?"));
    }
    ended(start(console, &arguments.global).and_then(|context| run(&arguments.command, &context)), &console)
}

/// Reads what files and variables say besides the command line.
fn settle(matches: &ArgMatches) -> Result<Resolved, Failure> {
    let named = matches.get_one::<PathBuf>("config");
    let files = file::read(named.map(PathBuf::as_path), matches.get_flag("no_config"))?;
    // An empty variable is none, as a shell script means it that writes NAME= before a command.
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| name.starts_with("EVERGRAPH_") && !value.is_empty())
        .collect();
    Ok(resolve(&command_line(), matches, &variables, &files)?)
}

fn start(console: Console, global: &Global) -> Result<Context, Failure> {
    let cancel = interrupt::listen(&console)?;
    let threads = global.threads.map_or(0, usize::from);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        Error::new(ErrorKind::Io, format!("start {threads} threads: {error}")).because(error)
    })?;
    let mut options = Options { durability: global.durability, ..Options::default() };
    if let Some(bytes) = global.memory_limit {
        options.memory_limit_bytes = bytes;
    }
    Ok(Context { console, cancel, threads, options })
}

fn ended(outcome: Result<ExitCode, Failure>, console: &Console) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        console.failure(&failure);
        ExitCode::from(failure.exit_code())
    })
}

fn run(command: &Command, context: &Context) -> Result<ExitCode, Failure> {
    match command {
        Command::Import(arguments) => command::import::execute(arguments, context)?,
        Command::Export(arguments) => command::export::execute(arguments, context)?,
        Command::Run(arguments) => command::run::execute::execute(arguments, context)?,
        Command::Stats(arguments) => command::stats::execute::execute(arguments, context)?,
        Command::Check(arguments) => return command::check::execute(arguments, context),
        Command::Checkpoint(arguments) => command::checkpoint::execute(arguments, context)?,
        Command::Index(arguments) => command::index::execute(arguments, context)?,
        Command::Generate(arguments) => command::generate::execute(arguments, context)?,
        Command::Demo(arguments) => command::demo::execute(arguments, context)?,
        Command::Bench(arguments) => command::bench::execute(arguments, context)?,
        Command::Completions(arguments) => command::completions::execute(arguments, context)?,
        Command::Man(arguments) => command::man::execute(arguments, context)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether something is missing rather than wrong.
fn is_incomplete(usage: &clap::Error) -> bool {
    matches!(
        usage.kind(),
        UsageKind::MissingRequiredArgument
            | UsageKind::MissingSubcommand
            | UsageKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// Prints help or version, or says what is wrong with the command line `said`.
fn refuse(usage: &clap::Error, said: &[OsString]) -> ExitCode {
    // Nothing was parsed, so the form of the answer has to be found by hand.
    if usage.use_stderr() && said.iter().any(|word| word == "--json") {
        let text = usage.to_string();
        let failure = Failure::from(Error::invalid(text.trim_start_matches("error: ").trim_end()));
        failure.tell(true, false);
        return ExitCode::from(failure.exit_code());
    }
    // A closed pipe: who reads the help had enough of it.
    let _ = usage.print();
    if usage.use_stderr() { ExitCode::from(ErrorKind::Invalid.exit_code()) } else { ExitCode::SUCCESS }
}

/// When help and wrong command lines are coloured: it has to be known before anything is parsed.
fn color_of_help(said: &[OsString]) -> ColorChoice {
    let words = || said.iter().filter_map(|word| word.to_str());
    let after = words().skip_while(|word| *word != "--color").nth(1);
    let joined = words().find_map(|word| word.strip_prefix("--color="));
    let variable = env::var("EVERGRAPH_COLOR").ok();
    match after.or(joined).or(variable.as_deref()) {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}
