//! Arguments: what can be said on the command line, and what it means.

use crate::amount;
use crate::command::backup::BackupArguments;
use crate::command::bench::BenchArguments;
use crate::command::check::CheckArguments;
use crate::command::checkpoint::CheckpointArguments;
use crate::command::completions::CompletionsArguments;
use crate::command::demo::DemoArguments;
use crate::command::export::ExportArguments;
use crate::command::generate::GenerateArguments;
use crate::command::import::arguments::ImportArguments;
use crate::command::index::IndexArguments;
use crate::command::man::ManArguments;
use crate::command::query::execute::QueryArguments;
use crate::command::run::arguments::RunArguments;
use crate::command::salvage::SalvageArguments;
use crate::command::shell::arguments::ShellArguments;
use crate::command::stats::execute::StatsArguments;
use crate::terminal::console::{Color, When};
use crate::usage::with_negative_numbers;
use clap::{Args, CommandFactory, Parser, Subcommand};
use evergraph_storage::log::options::Durability;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph generate payments bank.eg              a database to play with
  evergraph import social.eg people.csv knows.csv  one of your own
  evergraph query social.eg 'g.V().out(\"KNOWS\")'   ask in Gremlin
  evergraph run social.eg pagerank --output ranks.csv
  evergraph stats social.eg --json
  evergraph help import                            all about one command

Settings:
  Every option that isn't a file can also come from a variable, as
  EVERGRAPH_THREADS or EVERGRAPH_IMPORT_DELIMITER, and from evergraph.toml in
  this folder or in ~/.config/evergraph. The command line wins over variables,
  and those over files; --no-SWITCH takes back a switch that is on there.
  --print-config shows all settings and where each comes from.

Exit codes:
  0  done
  2  invalid     the request is wrong: the text names what is
  3  not_found   a file, database or name isn't there
  4  conflict    another transaction was first: run it again
  5  corrupt     stored bytes are damaged, or check has findings
  6  limit       a stated limit was reached: memory, disk space, counts
  7  io          the operating system refused
  8  busy        another process has the database open
  9  incomplete  a salvage wrote what it could, and something is missing
  130 cancelled  Ctrl-C or SIGTERM; the database is as it was before";

/// What a log that is synced in the background is synced at, if nothing else is said.
const INTERVAL: Duration = Duration::from_millis(50);

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
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "For all commands")]
pub struct Global {
    /// Print one JSON document instead of text; errors too, on standard error.
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, no summary of what was done: only results and errors.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Threads to work on [default: one a core].
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Colour: auto (on a terminal, unless NO_COLOR is set), always, or never.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub color: Color,
    /// Progress on standard error: auto (on a terminal, without --json), always, or never.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub progress: When,
    /// When a commit returns: sync (it is on disk), interval or interval:50ms (it is visible; synced in
    /// the background), none (it is visible). Demo and bench choose themselves.
    #[arg(long, global = true, value_name = "MODE", value_parser = durability, default_value = "sync", hide_short_help = true)]
    pub durability: Durability,
    /// Memory that algorithms may take on top of the graph, say 4GiB [default: unlimited].
    #[arg(long, global = true, value_name = "SIZE", value_parser = amount::memory, hide_short_help = true)]
    pub memory_limit: Option<u64>,
    /// Read settings from this file, and from no other [default: EVERGRAPH_CONFIG; else evergraph.toml
    /// here, then in ~/.config/evergraph].
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Read no file of settings.
    #[arg(long, global = true, conflicts_with = "config", hide_short_help = true)]
    pub no_config: bool,
    /// Print every setting and where it comes from, as a file of settings, and do nothing.
    #[arg(long, global = true, hide_short_help = true)]
    pub print_config: bool,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Read CSV, Parquet, edge lists or graph files (GraphSON, GraphML, GEXF, GML ...) into a database, new or not.
    Import(Box<ImportArguments>),
    /// Write what is in a database now as CSV, Parquet, GraphSON, GraphML or edge lists.
    Export(ExportArguments),
    /// Ask or change a database in Gremlin.
    Query(QueryArguments),
    /// Ask and change a database in Gremlin, line by line.
    Shell(ShellArguments),
    /// Run an algorithm on what is in a database now.
    Run(RunArguments),
    /// Show what is in a database, and what it takes.
    Stats(StatsArguments),
    /// Read a database's files and graph back and verify them.
    Check(CheckArguments),
    /// Copy a database into a new folder, verified and checked.
    Backup(BackupArguments),
    /// Write what verifies of a damaged database to a new one, and list what is missing.
    Salvage(SalvageArguments),
    /// Write what is in the log to the database's files, so that it opens fast.
    Checkpoint(CheckpointArguments),
    /// Create, drop and list indexes and uniqueness.
    Index(IndexArguments),
    /// Make a graph: R-MAT, or a network of payments with rings of fraud.
    Generate(GenerateArguments),
    /// Watch Evergraph at work: writes, live analysis, a kill, and the proof that nothing is lost.
    Demo(DemoArguments),
    /// Measure this machine: commits, analysis of live data, memory, import, restart.
    Bench(BenchArguments),
    /// Print what a shell needs to complete commands and options.
    Completions(CompletionsArguments),
    /// Print manual pages, or write them all into a folder.
    Man(ManArguments),
}

/// The command line as it is parsed: `-h` ends with examples alone, `--help` explains.
#[must_use]
pub fn command_line() -> clap::Command {
    with_negative_numbers(with_short_help(Arguments::command()))
}

fn with_short_help(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(with_short_help);
    let Some(all) = command.get_after_help().map(ToString::to_string) else { return command };
    let examples = all.split("\n\n").next().unwrap_or_default().to_owned();
    command.after_help(examples).after_long_help(all)
}

fn durability(text: &str) -> Result<Durability, String> {
    match text.split_once(':') {
        None if text == "sync" => Ok(Durability::Sync),
        None if text == "none" => Ok(Durability::None),
        None if text == "interval" => Ok(Durability::Interval(INTERVAL)),
        Some(("interval", every)) => match amount::time(every)? {
            Duration::ZERO => Err("an interval is longer than nothing".to_owned()),
            every => Ok(Durability::Interval(every)),
        },
        _ => Err("sync, interval, interval:50ms or none is wanted".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
        command.get_subcommands().filter(|below| !below.is_hide_set())
    }

    #[test]
    fn the_command_line_is_well_formed() {
        command_line().debug_assert();
    }

    #[test]
    fn every_command_has_examples_in_both_helps() {
        for command in visible(&command_line()) {
            let example = format!("evergraph {}", command.get_name());
            for help in [command.get_after_help(), command.get_after_long_help()] {
                let help = help.map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Examples:\n") && help.contains(&example), "{}", command.get_name());
            }
        }
    }

    #[test]
    fn a_mode_of_durability_is_a_word_and_perhaps_a_time() {
        let modes = ["sync", "none", "interval", "interval:2s"].map(|text| durability(text).unwrap());
        let interval = Durability::Interval;
        assert_eq!(
            modes,
            [Durability::Sync, Durability::None, interval(INTERVAL), interval(Duration::from_secs(2))]
        );
        for bad in ["", "Sync", "sync:1s", "interval:", "interval:0s", "interval:5"] {
            assert!(durability(bad).is_err(), "{bad}");
        }
    }
}
