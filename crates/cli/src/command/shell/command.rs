//! Command: what a line with a colon at its beginning asks of the shell.

use crate::amount;
use crate::settings::resolve::nearest;
use evergraph::Isolation;
use evergraph_graph::error::{Error, Result};
use std::time::Duration;

/// A command.
#[derive(Clone, PartialEq, Debug)]
pub enum Command<'a> {
    /// What there is; of one subject.
    Help(Option<&'a str>),
    /// The plan of the query that begins at this byte of the line.
    Explain(usize),
    /// What each step of it did.
    Profile(usize),
    /// Labels, edge types, properties, indexes.
    Schema,
    /// All settings.
    Settings,
    /// Another value of one.
    Set(Setting),
    /// All variables.
    Variables,
    /// The variable of this name has the value that begins at this byte of the line.
    Bind(&'a str, usize),
    /// A transaction begins; as queries have it, if nothing is said.
    Begin(Option<Isolation>),
    /// It is committed.
    Commit,
    /// It is forgotten.
    Rollback,
    /// The last inputs: so many.
    History(usize),
    /// The shell ends.
    Quit,
}

/// A setting of the shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// How long a query may take.
    Timeout(Duration),
    /// How many bytes it may take.
    Memory(u64),
    /// How many of its results are shown.
    Rows(u64),
    /// Whether results are JSON.
    Json(bool),
    /// Whether it is told how long a query took.
    Timing(bool),
    /// How far queries that write, and transactions, are kept apart.
    Isolation(Isolation),
    /// Whether a name that the graph doesn't have is an error.
    Strict(bool),
}

/// A command as it is written, and what it does.
pub struct Described {
    /// Its name.
    pub name: &'static str,
    /// What stands behind it.
    pub takes: &'static str,
    /// What it does.
    pub about: &'static str,
}

const fn described(name: &'static str, takes: &'static str, about: &'static str) -> Described {
    Described { name, takes, about }
}

/// All commands, in the order of the help.
pub const COMMANDS: [Described; 13] = [
    described("help", "[STEP]", "this text, or one step; :help steps lists all steps"),
    described("explain", "QUERY", "shows the plan and its indexes; runs nothing"),
    described("profile", "QUERY", "runs it; shows rows and time of each step"),
    described("schema", "", "labels, edge types, properties and indexes, with counts"),
    described("bind", "NAME VALUE", "sets a variable: :bind year 1800; alone lists all"),
    described("rows", "N|all", "number of results shown; the same as :set rows"),
    described("set", "NAME VALUE", "changes a setting; alone lists all with their values"),
    described("begin", "[ISOLATION]", "begins a transaction: snapshot, serializable"),
    described("commit", "", "commits the transaction"),
    described("rollback", "", "rolls the transaction back"),
    described("history", "[N]", "the last inputs"),
    described("quit", "", "exits; an open transaction is rolled back"),
    described("exit", "", "the same"),
];

/// The settings, each with what it can be.
pub const SETTINGS: [(&str, &str); 7] = [
    ("timeout", "a time, as 30s, or none"),
    ("memory", "a size, as 512MiB"),
    ("rows", "a number or all"),
    ("json", "on or off"),
    ("timing", "on or off"),
    ("isolation", "snapshot or serializable"),
    ("strict", "on or off"),
];

/// The names of isolations.
pub const ISOLATIONS: [&str; 2] = [Isolation::Snapshot.name(), Isolation::Serializable.name()];

/// Inputs that `:history` shows if no number is said.
const HISTORY: usize = 20;

/// The name behind the colon, and the byte at which what stands behind that begins. `None` for what is no command.
#[must_use]
pub fn split(text: &str) -> Option<(&str, usize)> {
    let colon = text.len() - text.trim_start().len();
    let rest = text[colon..].strip_prefix(':')?;
    let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let after = &rest[length..];
    let name = rest[..length].trim_end_matches(';');
    Some((name, colon + 1 + length + after.len() - after.trim_start().len()))
}

/// Whether `text` begins with a command that ends with its line, whatever stands in it.
#[must_use]
pub fn is_one_line(text: &str) -> bool {
    split(text).is_some_and(|(name, _)| !matches!(name, "explain" | "profile" | "bind"))
}

/// The command that `text` is, which begins with a colon.
///
/// # Errors
/// `invalid` for one that there isn't, or that is given what it doesn't take.
pub fn parse(text: &str) -> Result<Command<'_>> {
    let (name, at) = split(text).unwrap_or(("", text.len()));
    let rest = text[at..].trim_end().trim_end_matches(';').trim_end();
    let only = |command| match rest {
        "" => Ok(command),
        _ => Err(Error::invalid(format!(":{name} takes no argument, but found {rest:?}"))),
    };
    match name {
        "help" | "h" | "?" => Ok(Command::Help((!rest.is_empty()).then_some(rest))),
        "explain" | "profile" if rest.is_empty() => {
            Err(Error::invalid(format!(":{name} takes a query, as in :{name} g.V().count()")))
        }
        "explain" => Ok(Command::Explain(at)),
        "profile" => Ok(Command::Profile(at)),
        "schema" => only(Command::Schema),
        "set" if rest.is_empty() => Ok(Command::Settings),
        "set" => {
            let (name, value) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            Ok(Command::Set(setting(name, value.trim())?))
        }
        "rows" => Ok(Command::Set(setting("rows", rest)?)),
        "bind" if rest.is_empty() => Ok(Command::Variables),
        "bind" => bind(rest, at),
        "begin" => match rest {
            "" => Ok(Command::Begin(None)),
            rest => Ok(Command::Begin(Some(isolation(rest).map_err(|why| wrong(":begin", &why))?))),
        },
        "commit" => only(Command::Commit),
        "rollback" => only(Command::Rollback),
        "history" if rest.is_empty() => Ok(Command::History(HISTORY)),
        "history" => rest.parse().map(Command::History).map_err(|_| wrong(":history", "expected a number")),
        "quit" | "exit" | "q" => only(Command::Quit),
        _ => {
            let near = nearest(name, COMMANDS.iter().map(|command| command.name));
            let near =
                near.map_or_else(|| ":help lists all".to_owned(), |near| format!("did you mean :{near}?"));
            Err(Error::invalid(format!("there is no command :{name}; {near}")))
        }
    }
}

fn wrong(what: &str, why: &str) -> Error {
    Error::invalid(format!("{what}: {why}"))
}

fn bind(rest: &str, at: usize) -> Result<Command<'_>> {
    let length = rest.find(|char: char| char == '=' || char.is_whitespace()).unwrap_or(rest.len());
    let (name, behind) = rest.split_at(length);
    let value = behind.trim_start();
    let value = value.strip_prefix('=').unwrap_or(value).trim_start();
    if name.is_empty() || value.is_empty() {
        return Err(wrong(":bind", "expected a name and a value, as in :bind year 1800"));
    }
    Ok(Command::Bind(name, at + rest.len() - value.len()))
}

fn setting(name: &str, value: &str) -> Result<Setting> {
    let found = match name {
        "timeout" if value == "none" => Ok(Setting::Timeout(Duration::MAX)),
        "timeout" => amount::time(value).map(Setting::Timeout),
        "memory" => amount::memory(value).map(Setting::Memory),
        "rows" => rows(value).map(Setting::Rows),
        "json" => switch(value).map(Setting::Json),
        "timing" => switch(value).map(Setting::Timing),
        "isolation" => isolation(value).map(Setting::Isolation),
        "strict" => switch(value).map(Setting::Strict),
        _ => {
            let names: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
            Err(format!("there is no such setting; there are {}", names.join(", ")))
        }
    };
    found.map_err(|why| wrong(&format!(":set {name}"), &why))
}

/// How many results are shown: a number, or all.
///
/// # Errors
/// What is wanted instead.
pub fn rows(text: &str) -> std::result::Result<u64, String> {
    match text {
        "all" => Ok(u64::MAX),
        text => text.parse().map_err(|_| "expected a number or all".to_owned()),
    }
}

fn switch(text: &str) -> std::result::Result<bool, String> {
    match text {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
}

fn isolation(text: &str) -> std::result::Result<Isolation, String> {
    match text {
        "snapshot" => Ok(Isolation::Snapshot),
        "serializable" => Ok(Isolation::Serializable),
        _ => Err("expected snapshot or serializable".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_command_is_a_word_and_what_it_takes() {
        assert_eq!(parse(":help").unwrap(), Command::Help(None));
        assert_eq!(parse("  :help  out \n").unwrap(), Command::Help(Some("out")));
        assert_eq!(parse(":explain g.V()").unwrap(), Command::Explain(9));
        assert_eq!(parse(" :profile\n g.V()").unwrap(), Command::Profile(11));
        assert_eq!(parse(":begin serializable;").unwrap(), Command::Begin(Some(Isolation::Serializable)));
        assert_eq!(parse(":commit;\n").unwrap(), Command::Commit);
        assert_eq!(parse(":rows all").unwrap(), Command::Set(Setting::Rows(u64::MAX)));
        assert_eq!(parse(":set rows 7").unwrap(), parse(":rows 7").unwrap());
        let timeout = |time| Command::Set(Setting::Timeout(time));
        assert_eq!(parse(":set timeout 2s").unwrap(), timeout(Duration::from_secs(2)));
        assert_eq!(parse(":set timeout none").unwrap(), timeout(Duration::MAX));
        assert_eq!(parse(":set memory 1MiB").unwrap(), Command::Set(Setting::Memory(1 << 20)));
        assert_eq!((parse(":set").unwrap(), parse(":q").unwrap()), (Command::Settings, Command::Quit));
        assert_eq!(parse(":history 3").unwrap(), Command::History(3));
    }

    #[test]
    fn a_variable_is_bound_with_or_without_a_sign() {
        for text in [":bind year 1800", ":bind year=1800", ":bind year = 1800"] {
            let Command::Bind(name, at) = parse(text).unwrap() else { panic!("{text}") };
            assert_eq!((name, &text[at..]), ("year", "1800"));
        }
        assert!(refused(":bind year").starts_with(":bind: expected a name and a value"));
        assert!(refused(":bind = 1").starts_with(":bind: expected a name and a value"));
    }

    #[test]
    fn what_is_no_command_is_refused_with_what_is_meant() {
        assert_eq!(refused(":expain g.V()"), "there is no command :expain; did you mean :explain?");
        assert_eq!(refused(": x"), "there is no command :; :help lists all");
        assert_eq!(refused(":commit now"), ":commit takes no argument, but found \"now\"");
        assert_eq!(refused(":begin loose"), ":begin: expected snapshot or serializable");
        assert_eq!(refused(":set rows many"), ":set rows: expected a number or all");
        assert!(
            refused(":set colour red").contains("timeout, memory, rows, json, timing, isolation, strict")
        );
        assert!(refused(":set json").contains("on or off"));
        assert!(refused(":explain ").starts_with(":explain takes a query"));
    }

    #[test]
    fn every_command_and_setting_of_the_help_is_one() {
        for Described { name, .. } in COMMANDS {
            let text = parse(&format!(":{name}")).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!text.contains("no command"), "{name}");
        }
        for (name, _) in SETTINGS {
            assert!(!refused(&format!(":set {name} ???")).contains("no such setting"), "{name}");
        }
    }
}
