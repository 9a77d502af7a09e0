//! Arguments: what can be said on the command line, and what it means.

use crate::command::bench::BenchArguments;
use crate::command::check::CheckArguments;
use crate::command::checkpoint::CheckpointArguments;
use crate::command::demo::DemoArguments;
use crate::command::generate::GenerateArguments;
use crate::command::import::ImportArguments;
use crate::command::run::arguments::RunArguments;
use crate::command::stats::StatsArguments;
use crate::terminal::console::Color;
use clap::{Args, Parser, Subcommand};

const AFTER_HELP: &str = "\
Examples:
  evergraph generate payments bank.eg            a database to play with
  evergraph import social.eg people.csv knows.csv
  evergraph run social.eg pagerank --output ranks.csv
  evergraph stats social.eg --json
  evergraph help import                          more about one command

Exit codes:
  0  done
  2  invalid     the request is wrong: the text names what is
  3  not_found   a file, database or name isn't there
  4  conflict    another transaction was first: run it again
  5  corrupt     stored bytes are damaged, or check has findings
  6  limit       a stated limit was reached: memory, disk space, counts
  7  io          the operating system refused
  8  busy        another process has the database open
  130 cancelled  Ctrl-C; the database is as it was before";

/// A transactional property graph that is analysed where it lives.
#[derive(Parser, Debug)]
#[command(name = "evergraph", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Arguments {
    /// What all commands understand.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What all commands understand.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "For all commands")]
pub struct Global {
    /// Print one JSON document instead of text; errors too, on standard error.
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, no summary of what was done: only results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Colour: auto (on a terminal, unless NO_COLOR is set), never, or always.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: Color,
    /// Threads to work on [default: one a core].
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Read CSV files and edge lists into a database, new or not.
    Import(ImportArguments),
    /// Run an algorithm on what is in a database now.
    Run(RunArguments),
    /// Show what is in a database, and what it takes.
    Stats(StatsArguments),
    /// Read a database's files and graph back and verify them.
    Check(CheckArguments),
    /// Write what is in the log to the database's files, so that it opens fast.
    Checkpoint(CheckpointArguments),
    /// Make a graph: R-MAT, or a network of payments with rings of fraud.
    Generate(GenerateArguments),
    /// Watch Evergraph at work: durable writes, live analysis, a kill, and the proof that nothing is lost.
    Demo(DemoArguments),
    /// Measure this machine: commits, analysis of live data, memory, import, restart.
    Bench(BenchArguments),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples() {
        for command in Arguments::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = format!("evergraph {}", command.get_name());
            assert!(help.starts_with("Examples:\n") && help.contains(&example), "{}", command.get_name());
        }
    }
}
