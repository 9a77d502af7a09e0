//! The one program: `evergraph`.
//!
//! ```text
//! arguments ─┬─> settings ─> console, interrupt, threads ─> one command ─> a report, or a failure with
//! files ─────┤                                                              its exit code
//! variables ─┘
//! ```

mod allocator;
mod amount;
mod arguments;
mod command;
mod context;
mod download;
mod engine;
mod loading;
mod open;
mod read_access;
mod remote_job;
mod schema_catalogue;
mod server_access;
mod settings;
mod target;
mod usage;
mod welcome;

use crate::arguments::{Arguments, Command, Global, command_line};
use crate::context::Context;
use crate::settings::file;
use crate::settings::print::SettingsReport;
use crate::settings::resolve::{Resolved, resolve, with_undoing};
use crate::usage::{command_path, in_our_words, without_switches_of_help, without_wild_guesses};
use clap::error::ErrorKind as UsageKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, ColorChoice, FromArgMatches};
use evergraph::Options;
use evergraph_graph::error::{DamagedSharedState, Error, ErrorKind};
use evergraph_terminal::console::{Color, Console, DisplayMode};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::file_size_limit;
use evergraph_terminal::interrupt;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    // What an allocator, or the system, does not take leaves the program as it would be without it.
    let _ = allocator::give_back_large_buffers();
    let _ = file_size_limit::fail_beyond_limit();
    let said = without_switches_of_help(env::args_os().collect());
    // `resolve` lists settings in the order of `plain`; `with_undoing` does not keep it.
    let plain = command_line();
    let program = with_undoing(plain.clone()).color(color_of_help(&said));
    let matches = match program.clone().try_get_matches_from(&said) {
        Ok(matches) => matches,
        Err(_) if said.len() < 2 => return ended(welcome::show(), &Console::default(), nothing),
        // What is in effect can be asked for without saying what else to do.
        Err(usage) if is_incomplete(&usage) && said.iter().any(|word| word == "--print-config") => {
            match program.clone().ignore_errors(true).try_get_matches_from(&said) {
                Ok(matches) => matches,
                Err(usage) => return refuse(usage, &said, program, &plain),
            }
        }
        Err(usage) => return refuse(usage, &said, program, &plain),
    };
    // Until the settings are known, as far as the command line and the variable tell.
    let json = matches.get_flag("json") || (!matches.get_flag("no-json") && variable_says_json());
    let console = Console::new(json, false, Color::Auto, DisplayMode::Never);
    let resolved = match settle(&plain, &matches) {
        Ok(resolved) => resolved,
        Err(failure) => return ended(Err(failure), &console, nothing),
    };
    if matches.get_flag("print_config") {
        let report = SettingsReport::new(&resolved);
        resolved.left_out_files.iter().for_each(|why| console.note(format!("{why}; it is ignored")));
        return ended(console.result(&report).map(|()| ExitCode::SUCCESS), &console, nothing);
    }
    let parsed = resolved.with_defaults(program.clone()).try_get_matches_from(&said);
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(usage) => return refuse(usage, &said, program, &plain),
    };
    let Global { json, quiet, color, progress, .. } = arguments.global;
    let console = Console::new(json, quiet, color, progress);
    for (name, meant) in &resolved.mistaken_variables {
        console.note(format!("the variable {name} sets nothing; did you mean {meant}?"));
    }
    for why in &resolved.left_out_files {
        console.note(format!("{why}; it is ignored"));
    }
    let hint = |error: &Error| hint_of(error, &command_path(&matches), &resolved);
    let opening = opening_options(&matches);
    let outcome =
        start(console, &arguments.global, opening).and_then(|context| run(&arguments.command, &context));
    ended(outcome, &console, hint)
}

/// Reads what files and variables say besides the command line; `plain` has no switches that take others back.
fn settle(plain: &clap::Command, matches: &ArgMatches) -> Result<Resolved, Failure> {
    let named = matches.get_one::<PathBuf>("config");
    let files = file::read(named.map(PathBuf::as_path), matches.get_flag("no_config"))?;
    // An empty variable is none, as a shell script means it that writes NAME= before a command.
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| name.starts_with("EVERGRAPH_") && !value.is_empty())
        .collect();
    Ok(Resolved { left_out_files: files.left_out, ..resolve(plain, matches, &variables, &files.read)? })
}

/// The options of the command line itself that are about a database that the call opens: a file's and a variable's are defaults.
fn opening_options(matches: &ArgMatches) -> Vec<&'static str> {
    let names = [
        ("durability", "--durability"),
        ("memory_limit", "--memory-limit"),
        ("io_threads", "--io-threads"),
        ("compaction_threads", "--compaction-threads"),
        ("live_bytes_max", "--live-bytes-max"),
        ("persistent_memory", "--persistent-memory"),
        ("threads", "--threads"),
    ];
    let is_said = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    names.into_iter().filter(|(name, _)| is_said(name)).map(|(_, option)| option).collect()
}

fn start(console: Console, global: &Global, opening_options: Vec<&'static str>) -> Result<Context, Failure> {
    let interrupt = interrupt::listen(&console)?;
    let threads = global.threads.map_or(0, usize::from);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        Error::new(ErrorKind::Io, format!("start {threads} threads: {error}")).because(error)
    })?;
    let mut options = Options {
        durability: global.durability,
        persistent_memory: global.persistent_memory,
        ..Options::default()
    };
    if let Some(bytes) = global.memory_limit {
        options.memory_limit_bytes = bytes;
    }
    if let Some(bytes) = global.live_bytes_max {
        options.live_bytes_max = bytes;
    }
    if let Some(threads) = global.io_threads {
        options.io_threads = threads.into();
    }
    if let Some(threads) = global.compaction_threads {
        options.compaction_threads = threads.into();
    }
    Ok(Context { console, cancel: interrupt.flag(), interrupt, threads, options, opening_options })
}

/// Before settings are known, nothing is said of them.
fn nothing(_error: &Error) -> Option<String> {
    None
}

/// What to do about an error of a command, where that depends on more than the error: which settings that it speaks of were not
/// said in the call; or what is left to do after `check`.
fn hint_of(error: &Error, command: &[String], resolved: &Resolved) -> Option<String> {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound => resolved.told_elsewhere(command, &error.to_string()),
        ErrorKind::Corrupt if is_of_cluster(error, command) => {
            Some("docs/guide/cluster.md says below \"What to do when\" what to do".to_owned())
        }
        ErrorKind::Corrupt
            if command.first().is_some_and(|name| name == "check")
                && error.cause::<DamagedSharedState>().is_none() =>
        {
            Some("restore a backup, or save what verifies with `evergraph salvage DB NEW`".to_owned())
        }
        _ => None,
    }
}

/// Whether an error is about a node of a cluster, or its log: `check` and `salvage` do not read either. A server tells its text alone.
fn is_of_cluster(error: &Error, command: &[String]) -> bool {
    command.first().is_some_and(|name| name == "cluster")
        || error.to_string().starts_with("the node has stopped")
}

/// Tells of a failure, with the hint that `hint_of` has beside what the error itself suggests.
fn ended(
    outcome: Result<ExitCode, Failure>,
    console: &Console,
    hint_of: impl Fn(&Error) -> Option<String>,
) -> ExitCode {
    outcome.unwrap_or_else(|failure| {
        let hint = match &failure {
            Failure::Error(error) => hint_of(error),
            Failure::ClosedPipe => None,
        };
        console.failure(&failure, hint.as_deref());
        ExitCode::from(failure.exit_code())
    })
}

fn run(command: &Command, context: &Context) -> Result<ExitCode, Failure> {
    match command {
        Command::Import(arguments) => command::import::execute::execute(arguments, context)?,
        Command::Export(arguments) => command::export::execute(arguments, context)?,
        Command::Query(arguments) => command::query::execute::execute(arguments, context)?,
        Command::Shell(arguments) => return command::shell::execute::execute(arguments, context),
        Command::Serve(arguments) => command::serve::execute(arguments, context)?,
        #[cfg(feature = "cluster")]
        Command::Cluster(arguments) => return command::cluster::execute::execute(arguments, context),
        Command::User(arguments) => command::user::execute(arguments, context)?,
        Command::Run(arguments) => command::run::execute::execute(arguments, context)?,
        Command::Replica(arguments) => return command::replica::execute::execute(arguments, context),
        Command::Readers(arguments) => command::readers::execute(arguments, context)?,
        Command::Stats(arguments) => command::stats::execute::execute(arguments, context)?,
        Command::Check(arguments) => return command::check::execute(arguments, context),
        Command::Backup(arguments) => command::backup::execute(arguments, context)?,
        Command::Convert(arguments) => command::convert::execute(arguments, context)?,
        Command::Salvage(arguments) => return command::salvage::execute(arguments, context),
        Command::Checkpoint(arguments) => command::checkpoint::execute(arguments, context)?,
        Command::Index(arguments) => command::index::execute::execute(arguments, context)?,
        Command::Generate(arguments) => command::generate::execute(arguments, context)?,
        Command::Demo(arguments) => command::demo::execute(arguments, context)?,
        Command::Bench(arguments) => command::bench::execute(arguments, context)?,
        Command::Completions(arguments) => {
            command::completions::execute(arguments, &command_line(), context)?
        }
        Command::Health(arguments) => return command::health::execute(arguments, context),
        Command::Man(arguments) => command::man::execute(arguments, command_line(), context)?,
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
fn refuse(usage: clap::Error, said: &[OsString], program: clap::Command, plain: &clap::Command) -> ExitCode {
    if !usage.use_stderr() {
        // A closed pipe: who reads the help had enough of it.
        let _ = usage.print();
        return ExitCode::SUCCESS;
    }
    let understood = program.ignore_errors(true).try_get_matches_from(said).ok();
    let path = understood.as_ref().map(command_path).unwrap_or_default();
    let json = wants_json(said, plain, understood.as_ref());
    let console = Console::new(json, false, color_of_errors(said), DisplayMode::Never);
    if let Some((failure, hint)) = in_our_words(&usage, &path) {
        console.failure(&failure, Some(&hint));
        return ExitCode::from(failure.exit_code());
    }
    let usage = without_wild_guesses(usage, &path);
    if console.is_json() {
        let text = usage.to_string();
        let failure = Failure::from(Error::invalid(text.trim_start_matches("error: ").trim_end()));
        console.failure(&failure, None);
        return ExitCode::from(failure.exit_code());
    }
    let _ = usage.print();
    ExitCode::from(ErrorKind::Invalid.exit_code())
}

/// Whether who said `said` reads documents, as far as it was `understood`.
fn wants_json(said: &[OsString], plain: &clap::Command, understood: Option<&ArgMatches>) -> bool {
    // What stands behind the mistake may not have been understood.
    let last = said.iter().rfind(|word| *word == "--json" || *word == "--no-json");
    if let Some(word) = last {
        return word == "--json";
    }
    let resolved = understood.and_then(|matches| settle(plain, matches).ok());
    let is_set = |resolved: Resolved| {
        let json = resolved.settings.iter().find(|(setting, _)| setting.key() == "json");
        json.is_some_and(|(_, effective)| effective.texts == ["true"])
    };
    resolved.map_or_else(variable_says_json, is_set)
}

fn variable_says_json() -> bool {
    env::var("EVERGRAPH_JSON").is_ok_and(|value| value == "true" || value == "1")
}

fn color_of_errors(said: &[OsString]) -> Color {
    match color_of_help(said) {
        ColorChoice::Always => Color::Always,
        ColorChoice::Never => Color::Never,
        ColorChoice::Auto => Color::Auto,
    }
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
