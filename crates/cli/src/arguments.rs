//! Arguments: what can be said on the command line, and what it means.

use crate::amount;
use crate::command::backup::BackupArguments;
use crate::command::bench::BenchArguments;
use crate::command::check::CheckArguments;
use crate::command::checkpoint::CheckpointArguments;
#[cfg(feature = "cluster")]
use crate::command::cluster::execute::ClusterArguments;
use crate::command::completions::CompletionsArguments;
use crate::command::convert::ConvertArguments;
use crate::command::demo::DemoArguments;
use crate::command::export::ExportArguments;
use crate::command::generate::GenerateArguments;
use crate::command::health::HealthArguments;
use crate::command::import::arguments::ImportArguments;
use crate::command::index::arguments::IndexArguments;
use crate::command::man::ManArguments;
use crate::command::query::execute::QueryArguments;
use crate::command::readers::ReadersArguments;
use crate::command::replica::execute::ReplicaArguments;
use crate::command::run::arguments::RunArguments;
use crate::command::salvage::SalvageArguments;
use crate::command::serve::ServeArguments;
use crate::command::shell::arguments::ShellArguments;
use crate::command::stats::execute::StatsArguments;
use crate::command::user::UserArguments;
use crate::usage::with_negative_numbers;
use clap::{Args, CommandFactory, Parser, Subcommand};
use evergraph::PersistentMemory;
use evergraph_storage::log::options::Durability;
use evergraph_terminal::console::{Color, DisplayMode};
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
Examples:
  evergraph generate payments bank.eg              an example database
  evergraph import social.eg people.csv knows.csv  your own data
  evergraph query social.eg 'g.V().out(\"KNOWS\")'   query in Gremlin
  evergraph run social.eg pagerank --output ranks.csv
  evergraph stats social.eg --json
  evergraph help import                            all about one command

Settings:
  Every option that does not name a file (and every option of serve) can also be
  set by a variable, such as EVERGRAPH_THREADS or EVERGRAPH_IMPORT_DELIMITER, or
  in evergraph.toml in this folder or in ~/.config/evergraph. The command line
  overrides variables, and variables override files; --no-SWITCH turns off a
  switch that is on there. --print-config shows all settings and where each
  comes from.

Exit codes:
  0  done
  2  invalid     the request is invalid: see the message; a replica has paused
  3  not_found   a file, database or name does not exist
  4  conflict    another transaction committed first: run it again
  5  corrupt     stored data is damaged, or check found damage
  6  limit       a limit was reached: memory, disk space, a count
  7  io          the operating system reported an error
  8  busy        another process has the database open
  9  incomplete  salvage wrote what it could, but data is missing
  10 unknown     a cluster did not say whether it has committed: see the message
  130 cancelled  Ctrl-C or SIGTERM; the database is as it was before";

/// Default interval between syncs of a log that is synced in the background.
const INTERVAL: Duration = Duration::from_millis(50);

/// A transactional property graph database with analysis of live data.
#[derive(Parser, Debug)]
#[command(name = "evergraph", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Arguments {
    /// Options for all commands.
    #[command(flatten)]
    pub global: Global,
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Options for all commands.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "For all commands")]
pub struct Global {
    /// Print one JSON document instead of text; errors too, on standard error.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only results and errors: no progress, no summary.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Number of threads [default: one a core].
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
    pub progress: DisplayMode,
    /// When a commit returns: sync (it is on disk), interval or interval:50ms (it is visible; synced in
    /// the background), none (it is visible). Demo and bench choose their own mode.
    #[arg(long, global = true, value_name = "MODE", value_parser = durability, default_value = "sync", hide_short_help = true)]
    pub durability: Durability,
    /// Memory limit, such as 4GiB. With the disk engine it limits everything that the database takes, at least
    /// 64MiB; with the others it limits what algorithms and queries, and with the mapped engine builds of
    /// indexes, take in addition to the graph
    /// [default: half of the machine's memory with the disk engine, unlimited with the others].
    #[arg(long, global = true, value_name = "SIZE", value_parser = amount::memory, hide_short_help = true)]
    pub memory_limit: Option<u64>,
    /// Number of threads that read pages of a database of the disk engine [default: 8].
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), hide_short_help = true)]
    pub io_threads: Option<u16>,
    /// Number of threads that merge files of a database of the disk engine, 1 to 16 [default: 1].
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16), hide_short_help = true)]
    pub compaction_threads: Option<u16>,
    /// Memory that changes which are not merged yet, and old versions that open snapshots need, may take in a
    /// database of the mapped engine, 16MiB to 256GiB [default: 4GiB].
    #[arg(long, global = true, value_name = "SIZE", value_parser = amount::live_bytes, hide_short_help = true)]
    pub live_bytes_max: Option<u64>,
    /// Whether a database of the mapped engine lies in persistent memory: as-created (it does if it was created so), required
    /// (its folder must accept MAP_SYNC), emulated (as if it did, for tests: a power cut loses commits).
    #[arg(long, global = true, value_name = "MODE", value_parser = persistent_memory, default_value = "as-created", hide_short_help = true)]
    pub persistent_memory: PersistentMemory,
    /// Read settings only from this file [default: EVERGRAPH_CONFIG; else evergraph.toml here, then in
    /// ~/.config/evergraph].
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Read no settings file.
    #[arg(long, global = true, conflicts_with = "config", hide_short_help = true)]
    pub no_config: bool,
    /// Print every setting and its origin, as a settings file, and do nothing else.
    #[arg(long, global = true, hide_short_help = true)]
    pub print_config: bool,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Import CSV, Parquet, edge lists or graph files (GraphSON, GraphML, GEXF, GML ...) into a new or existing database.
    Import(Box<ImportArguments>),
    /// Export a database as CSV, Parquet, GraphSON, GraphML or edge lists.
    Export(ExportArguments),
    /// Query or change a database with Gremlin.
    Query(QueryArguments),
    /// Query and change a database with Gremlin, interactively or by script.
    Shell(ShellArguments),
    /// Serve a database to Gremlin drivers, on this machine or to users by TLS.
    Serve(Box<ServeArguments>),
    /// A graph on several machines: create a cluster, serve one of its nodes, show how it is.
    #[cfg(feature = "cluster")]
    Cluster(ClusterArguments),
    /// Follow a PostgreSQL database as a graph: its tables by a mapping, its changes as they are committed.
    Replica(ReplicaArguments),
    /// Ask whether a server answers and serves.
    Health(HealthArguments),
    /// Add, change, remove and list the users of a server, and their roles.
    User(UserArguments),
    /// Run an algorithm on a database.
    Run(RunArguments),
    /// Show the contents of a database, and its size in memory and on disk.
    Stats(StatsArguments),
    /// Show which processes have a database open, and what those that read it hold back.
    Readers(ReadersArguments),
    /// Read a database's files and graph and verify them.
    Check(CheckArguments),
    /// Copy a database to a new folder, verified and checked.
    Backup(BackupArguments),
    /// Write a database's graph to a new database of another engine (memory, disk or mapped), with the same ids.
    Convert(ConvertArguments),
    /// Write the verified data of a damaged database to a new one, and list what is missing.
    Salvage(SalvageArguments),
    /// Move the log's content into the database's files, so that it opens fast.
    Checkpoint(CheckpointArguments),
    /// Create, drop and list indexes.
    Index(IndexArguments),
    /// Generate a graph: R-MAT, or a network of payments with rings of fraud.
    Generate(GenerateArguments),
    /// Watch Evergraph at work: writes, live analysis, a kill, and the proof that nothing is lost.
    Demo(DemoArguments),
    /// Measure this machine: commits, analysis of live data, memory, import, restart.
    Bench(BenchArguments),
    /// Print a script with which a shell completes commands and options.
    Completions(CompletionsArguments),
    /// Print a manual page, or write all of them to a folder.
    Man(ManArguments),
}

/// The command line to parse: `-h` ends with examples only, `--help` explains.
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

fn persistent_memory(text: &str) -> Result<PersistentMemory, String> {
    text.parse()
        .map_err(|_| format!("expected {}", PersistentMemory::ALL.map(PersistentMemory::name).join(", ")))
}

fn durability(text: &str) -> Result<Durability, String> {
    match text.split_once(':') {
        None if text == "sync" => Ok(Durability::Sync),
        None if text == "none" => Ok(Durability::None),
        None if text == "interval" => Ok(Durability::Interval(INTERVAL)),
        Some(("interval", every)) => match amount::time(every)? {
            Duration::ZERO => Err("an interval must be longer than 0".to_owned()),
            every => Ok(Durability::Interval(every)),
        },
        _ => Err("expected sync, interval, interval:50ms or none".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches as _;
    use clap::error::ErrorKind;
    use std::process::Command as Process;

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

    /// A longer line would be broken at its last words on a terminal of 80 columns.
    fn check_width(command: &clap::Command) {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        // A call has one line, and what explains it stands beside it.
        let explained = help.split_once("\n\n").map_or("", |(_, explained)| explained);
        for line in explained.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
        }
        // What is said of an algorithm is shown elsewhere as well, in lines of up to 100 columns.
        if command.get_name() != "run" {
            visible(command).for_each(check_width);
        }
    }

    #[test]
    fn what_a_help_explains_fits_into_80_columns() {
        check_width(&command_line());
    }

    /// Adds the calls of the program in the examples of `command` and of all below it: no explanation beside them, no rest of
    /// a pipe.
    fn add_calls(command: &clap::Command, calls: &mut Vec<String>) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        for example in examples.take_while(|line| line.starts_with("  ")) {
            let (_, call) = example.split_once("evergraph ").unwrap_or_else(|| panic!("no call: {example}"));
            let ends = ["  ", " | ", " > ", " && "].map(|end| call.find(end).unwrap_or(call.len()));
            let call = &call[..ends.into_iter().min().unwrap()];
            let call = if example.contains("<(") { call.trim_end_matches(')') } else { call };
            calls.push(call.to_owned());
        }
        visible(command).for_each(|below| add_calls(below, calls));
    }

    /// The words of each call, as a shell hands them to the program.
    fn words_of(calls: &[String]) -> Vec<Vec<String>> {
        let script =
            "words() { printf '%s\\0' \"$@\"; printf '\\n'; }; for call; do eval \"words $call\"; done";
        let split = Process::new("bash").args(["-c", script, "bash"]).args(calls).output().unwrap();
        assert!(split.status.success(), "{split:?}");
        let lines = String::from_utf8(split.stdout).unwrap();
        let words = |line: &str| line.split_terminator('\0').map(str::to_owned).collect::<Vec<_>>();
        lines.lines().map(words).collect()
    }

    /// A program for each would spend a minute on beginning.
    #[test]
    fn every_example_of_every_command_is_understood() {
        let mut program = command_line();
        let mut calls = Vec::new();
        add_calls(&program, &mut calls);
        let words = words_of(&calls);
        assert!(calls.len() > 150 && words.len() == calls.len(), "{} of {}", words.len(), calls.len());
        for (call, words) in calls.iter().zip(words) {
            let said = ["evergraph".to_owned()].into_iter().chain(words);
            match program.try_get_matches_from_mut(said) {
                Ok(matches) => drop(Arguments::from_arg_matches(&matches).unwrap()),
                Err(usage) => assert_eq!(usage.kind(), ErrorKind::DisplayHelp, "{call}: {usage}"),
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
