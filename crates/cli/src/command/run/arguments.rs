//! The arguments of `evergraph run`: a database, an algorithm of the table, and what each may be told.

use crate::command::run::common_arguments::CommonArguments;
use crate::command::run::parameters::{ParameterInput, given, with_parameters};
use crate::target::Target;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use evergraph_analysis::algorithm::{Algorithm, Group, Order};
use evergraph_analysis::table::{ALGORITHMS, by_name};
use std::fmt::Write as _;

const AFTER_HELP: &str = "\
Examples:
  evergraph run social.eg pagerank --output ranks.parquet
  evergraph run bank.eg bfs --source 10034831 --direction both --where 'risk<0.5'
  evergraph run bank.eg shortest-path --source 10034831 --target 10012143 --weight amount_cents
  evergraph run bank.eg wcc --type TRANSFER --json
  evergraph run wss://ann@graph.example/bank pagerank --output ranks.csv
`evergraph generate payments bank.eg` generates the graph of these examples.

The algorithm runs on a snapshot of the current database. --output writes a row
for each vertex, `key,value`:
  key    the vertex's unique key, or its number if its label has none; --key
         chooses another property. With several labels in scope a column `label`
         comes first.
  value  the result; the algorithm's own help describes it
Paths and cycles have a row for each vertex, `path,position,key`.
`evergraph run DB ALGORITHM --help` describes one algorithm.

Beside a writer:
  If another process has the database open, and it has the mapped engine, the
  algorithm runs on a snapshot of what that process has committed.

A URL:
  The server runs the algorithm on a snapshot of its own, within its limits of
  time (--timeout) and memory (--query-memory), and sends the rows; Ctrl-C
  cancels it there. It needs the role reader on the database. Options of the
  connection, such as --password-file, follow the algorithm.";

/// What `evergraph run` is told.
#[derive(Args, Debug)]
#[command(
    after_help = AFTER_HELP,
    help_template = help_template(),
    subcommand_value_name = "ALGORITHM",
    disable_help_subcommand = true
)]
pub struct RunArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// The algorithm.
    #[command(subcommand)]
    pub chosen: RunRequest,
}

/// An algorithm and what was chosen about it.
#[derive(Debug)]
pub struct RunRequest {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Its parameters that were given.
    pub given: Vec<(&'static str, ParameterInput)>,
    /// What all algorithms are told.
    pub common: CommonArguments,
}

impl FromArgMatches for RunRequest {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Some((name, matches)) = matches.subcommand() else {
            return Err(Error::raw(ErrorKind::MissingSubcommand, "name an algorithm"));
        };
        let Some(algorithm) = by_name(name) else {
            return Err(Error::raw(ErrorKind::InvalidSubcommand, format!("there is no algorithm {name:?}")));
        };
        let common = CommonArguments::from_arg_matches(matches)?;
        Ok(Self { algorithm, given: given(algorithm.parameters, matches), common })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for RunRequest {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(ALGORITHMS.into_iter().map(described))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        by_name(name).is_some()
    }
}

/// The command that runs `algorithm`.
fn described(algorithm: &'static Algorithm) -> Command {
    let mut help = format!("Examples:\n  evergraph run {}", algorithm.example);
    if !algorithm.details.is_empty() {
        write!(help, "\n\n{}", algorithm.details).expect("a string takes everything");
    }
    if algorithm.order == Order::Groups {
        help += "\nThe table shows each with its lowest vertex.";
    }
    let command = with_parameters(Command::new(algorithm.command()), algorithm.parameters);
    // What is said of all algorithms would stand in the place of what this one is.
    CommonArguments::augment_args(command).about(about(algorithm)).after_help(help)
}

/// What `algorithm` answers, as lists of commands have it.
fn about(algorithm: &Algorithm) -> &'static str {
    algorithm.summary.trim_end_matches('.')
}

/// The names of all algorithms on the command line, in the order of the groups.
pub fn algorithm_names() -> impl Iterator<Item = String> {
    ALGORITHMS.into_iter().map(Algorithm::command)
}

/// Each group with its algorithms.
pub fn algorithm_groups() -> impl Iterator<Item = (&'static str, Vec<&'static Algorithm>)> {
    let members = |group| ALGORITHMS.into_iter().filter(move |algorithm| algorithm.group == group);
    Group::ALL.into_iter().map(move |group| (group.title(), members(group).collect()))
}

/// Clap lists subcommands below one heading; so many are easier to choose from in groups.
fn help_template() -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    let width = algorithm_names().map(|name| name.len()).max().unwrap_or_default();
    for (group, algorithms) in algorithm_groups() {
        write!(text, "\n{group}:\n").expect("a string takes everything");
        for algorithm in algorithms {
            let (name, about) = (algorithm.command(), about(algorithm));
            writeln!(text, "  {name:<width$}  {about}").expect("a string takes everything");
        }
    }
    text + "\nArguments:\n{positionals}\n\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_command_with_an_example() {
        let command = RunRequest::augment_subcommands(Command::new("run"));
        assert!(command.get_subcommands().map(Command::get_name).eq(algorithm_names()));
        for algorithm in command.get_subcommands() {
            let name = algorithm.get_name();
            let help = algorithm.get_after_help().map(ToString::to_string).unwrap_or_default();
            let example = help.lines().nth(1).unwrap_or_default();
            assert!(
                help.starts_with("Examples:\n") && example.contains(&format!(".eg {name}")),
                "{name}: {help}"
            );
        }
    }
}
