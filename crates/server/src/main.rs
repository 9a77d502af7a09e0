//! The one program: `evergraph`.
//!
//! ```text
//! arguments -> console, interrupt, threads -> one command -> a report, or a failure with its exit code
//! ```

mod arguments;
mod bench;
mod command;
mod context;
mod demo;
mod graph_files;
mod loading;
mod open;
mod result_file;
mod terminal;

use crate::arguments::{Arguments, Command, Global};
use crate::context::Context;
use crate::terminal::console::Console;
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use clap::Parser;
use evergraph_graph::error::{Error, ErrorKind};
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(usage) => return refuse(&usage),
    };
    let Global { json, quiet, color, threads } = arguments.global;
    let console = Console::new(json, quiet, color);
    match start(console, threads).and_then(|context| run(&arguments.command, &context)) {
        Ok(code) => code,
        Err(failure) => {
            console.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn start(console: Console, threads: Option<u16>) -> Result<Context, Failure> {
    let cancel = interrupt::listen()?;
    let threads = threads.map_or(0, usize::from);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        Error::new(ErrorKind::Io, format!("start {threads} threads: {error}")).because(error)
    })?;
    Ok(Context { console, cancel, threads })
}

fn run(command: &Command, context: &Context) -> Result<ExitCode, Failure> {
    match command {
        Command::Import(arguments) => command::import::execute(arguments, context)?,
        Command::Run(arguments) => command::run::execute::execute(arguments, context)?,
        Command::Stats(arguments) => command::stats::execute(arguments, context)?,
        Command::Check(arguments) => return command::check::execute(arguments, context),
        Command::Checkpoint(arguments) => command::checkpoint::execute(arguments, context)?,
        Command::Index(arguments) => command::index::execute(arguments, context)?,
        Command::Generate(arguments) => command::generate::execute(arguments, context)?,
        Command::Demo(arguments) => command::demo::execute(arguments, context)?,
        Command::Bench(arguments) => command::bench::execute(arguments, context)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints help or version, or says what is wrong with the command line.
fn refuse(usage: &clap::Error) -> ExitCode {
    // Nothing was parsed, so the form of the answer has to be found by hand.
    let json = env::args_os().any(|argument| argument == "--json");
    if usage.use_stderr() && json {
        let text = usage.to_string();
        let failure = Failure::from(Error::invalid(text.trim_start_matches("error: ").trim_end()));
        failure.tell(true, false);
        return ExitCode::from(failure.exit_code());
    }
    // A closed pipe: who reads the help had enough of it.
    let _ = usage.print();
    if usage.use_stderr() { ExitCode::from(ErrorKind::Invalid.exit_code()) } else { ExitCode::SUCCESS }
}
