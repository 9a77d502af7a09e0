//! Usage: what to say of a command line that can't be understood.
//!
//! clap says most of it. Where it would guess wrongly or name the wrong thing, we do:
//!
//! | said | told |
//! |---|---|
//! | `run DB pagrank` | there is no such algorithm, and which is meant |
//! | `run DB` | all algorithms, in the groups of the help |
//! | `convert ws://localhost` | it opens a folder; which commands take a URL |
//! | `run DB louvain --direction in` | why it has no such option, and no other option that only looks like it |

use crate::command::run::arguments::{algorithm_groups, algorithm_names};
use crate::settings::resolve::nearest;
use crate::target::FOLDER;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use evergraph_analysis::algorithm::Algorithm;
use evergraph_analysis::table::by_name;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use std::ffi::OsString;

/// The names of the command that `matches` is about, from the program down.
#[must_use]
pub fn command_path(matches: &ArgMatches) -> Vec<String> {
    let (mut path, mut here) = (Vec::new(), matches);
    while let Some((name, below)) = here.subcommand() {
        path.push(name.to_owned());
        here = below;
    }
    path
}

/// `help` takes names of commands only: switches that are about output go.
#[must_use]
pub fn without_switches_of_help(said: Vec<OsString>) -> Vec<OsString> {
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    if said.iter().skip(1).find(|word| !is_option(word)).is_none_or(|word| word != "help") {
        return said;
    }
    let is_switch = |word: &OsString| ["--json", "--quiet", "-q"].iter().any(|switch| word == switch);
    said.into_iter().filter(|word| !is_switch(word)).collect()
}

/// What is wrong in our words, where clap's are none to help; `path` is as much of the command as was
/// understood.
#[must_use]
pub fn in_our_words(usage: &clap::Error, path: &[String]) -> Option<(Failure, String)> {
    if usage.kind() == ErrorKind::ValueValidation
        && let Some(ContextValue::String(argument)) = usage.get(ContextKind::InvalidArg)
        && argument == FOLDER
        && let Some(ContextValue::String(url)) = usage.get(ContextKind::InvalidValue)
    {
        return Some(not_by_url(path, url));
    }
    if path.first().is_none_or(|command| command != "run") || path.len() > 1 {
        return None;
    }
    let text = match (usage.kind(), usage.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(name))) => {
            let names: Vec<String> = algorithm_names().collect();
            let near = nearest(name, names.iter().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            format!("there is no algorithm {name:?}{near}")
        }
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, _) => {
            let groups = algorithm_groups().map(|(group, algorithms)| {
                let names: Vec<String> = algorithms.into_iter().map(Algorithm::command).collect();
                format!("{group}: {}", names.join(", "))
            });
            format!("name an algorithm after the database. {}", groups.collect::<Vec<_>>().join(". "))
        }
        _ => return None,
    };
    let hint = "`evergraph run -h` describes each of them".to_owned();
    Some((Error::invalid(text).into(), hint))
}

/// Of a command that opens a folder, and was given the URL of a server.
fn not_by_url(path: &[String], url: &str) -> (Failure, String) {
    let command = path.first().map_or("this command", String::as_str);
    let text = format!("{command} opens the folder of a database, and {url} is the URL of a server");
    // Who has it open is what `readers` tells.
    let when = if command == "readers" { "" } else { " and while no server has it open" };
    let hint = format!(
        "this command needs the folder, on the server's machine{when}; `evergraph help` shows which commands take a URL"
    );
    (Error::invalid(text).into(), hint)
}

/// `usage` without guesses that lead astray, and with the reason where an option is missed.
#[must_use]
pub fn without_wild_guesses(mut usage: clap::Error, path: &[String]) -> clap::Error {
    if usage.kind() != ErrorKind::UnknownArgument {
        return usage;
    }
    let Some(ContextValue::String(typed)) = usage.get(ContextKind::InvalidArg).cloned() else { return usage };
    // No file is called so.
    usage.remove(ContextKind::Suggested);
    if let Some(ContextValue::String(guess)) = usage.get(ContextKind::SuggestedArg)
        && strsim::damerau_levenshtein(&typed, guess) > 2
    {
        usage.remove(ContextKind::SuggestedArg);
        // It would list what was said already.
        usage.remove(ContextKind::Usage);
    }
    if let (Some(why), "--direction") = (path.last().and_then(|name| without_direction(name)), typed.as_str())
    {
        usage.remove(ContextKind::SuggestedArg);
        usage.remove(ContextKind::Usage);
        usage.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![why.into()]));
    }
    usage
}

/// Why an algorithm has no `--direction`; `None` if it has.
fn without_direction(algorithm: &str) -> Option<String> {
    let reads = by_name(algorithm)?.reads.without_direction()?;
    Some(format!("{algorithm} {reads}; it has no --direction"))
}

/// Lets every option take a negative number as its value, so that it can say itself what is wrong with it.
#[must_use]
pub fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|option| {
        let takes_value = !option.is_positional() && option.get_action().takes_values();
        if takes_value && !option.is_allow_hyphen_values_set() {
            option.allow_negative_numbers(true)
        } else {
            option
        }
    });
    command.mut_subcommands(with_negative_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::command_line;

    #[test]
    fn each_algorithm_has_a_direction_or_says_why_not() {
        let program = command_line();
        let run = program.find_subcommand("run").unwrap();
        for algorithm in run.get_subcommands() {
            let has = algorithm.get_arguments().any(|option| option.get_long() == Some("direction"));
            assert_eq!(has, without_direction(algorithm.get_name()).is_none(), "{}", algorithm.get_name());
        }
    }

    #[test]
    fn an_option_that_only_looks_alike_is_not_suggested() {
        let told = |line: &str| {
            let usage = command_line().try_get_matches_from(line.split(' ')).unwrap_err();
            without_wild_guesses(usage, &["run".to_owned(), "louvain".to_owned()]).to_string()
        };
        let text = told("evergraph run a.eg louvain --direction both");
        assert!(text.contains("louvain reads edges both ways; it has no --direction"), "{text}");
        assert!(!text.contains("--resolution") && !text.contains("Usage"), "{text}");
        assert!(told("evergraph run a.eg louvain --resolutin 2").contains("'--resolution'"));
        assert!(!told("evergraph run a.eg louvain --recursion 2").contains("'--resolution'"));
    }

    #[test]
    fn a_negative_number_is_refused_by_the_option_itself() {
        let usage = command_line().try_get_matches_from(["evergraph", "--threads", "-1", "stats", "a.eg"]);
        let text = usage.unwrap_err().to_string();
        assert!(text.contains("-1 is not in 1..=1024") && !text.contains("tip"), "{text}");
    }

    #[test]
    fn only_readers_works_beside_the_server_whose_url_was_given() {
        let hint = |command: &str| not_by_url(&[command.to_owned()], "ws://localhost/a").1;
        assert!(hint("convert").contains("while no server has it open"));
        assert!(hint("readers").starts_with("this command needs the folder, on the server's machine;"));
    }

    #[test]
    fn switches_of_output_are_none_of_help() {
        let kept = |line: &str| {
            let said = line.split(' ').map(OsString::from).collect();
            let kept = without_switches_of_help(said).into_iter().map(|word| word.into_string().unwrap());
            kept.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(kept("evergraph help --json run"), "evergraph help run");
        assert_eq!(kept("evergraph --json -q help"), "evergraph help");
        assert_eq!(kept("evergraph stats help --json"), "evergraph stats help --json");
    }
}
