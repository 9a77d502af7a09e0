//! Setting: an option of the command line that can be set in a file or by a variable as well.
//!
//! ```text
//! option                                  file                          variable
//! evergraph --threads 2                   threads = 2                   EVERGRAPH_THREADS
//! evergraph import DB --delimiter ';'     [import] delimiter = ";"      EVERGRAPH_IMPORT_DELIMITER
//! evergraph run DB pagerank --top 5       [run.pagerank] top = 5        EVERGRAPH_RUN_PAGERANK_TOP
//!                                         [run] top = 5                 EVERGRAPH_RUN_TOP
//! ```
//!
//! The last line is about every algorithm that has such an option.
//!
//! No settings are: what a call is about (names of files, required and positional arguments), so that a
//! file found in a folder never makes a command read or write another file than the one it was told, or
//! replace one; and what is hidden.
//!
//! `serve` and `cluster serve` are exceptions: their files (users, certificates, logs) are how a service is set up, and are
//! settings. A relative name in a settings file is relative to the folder of that file, since a service has no folder of its own.

use crate::settings::inline_table::InlineTable;
use clap::{Arg, ArgAction, Command};
use std::any::TypeId;
use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};
use std::path::PathBuf;

/// Commands without settings: they tell about the program.
const WITHOUT_SETTINGS: [&str; 2] = ["completions", "man"];
/// Options that are no settings: two are about settings themselves, some make a call another one, queries, variables
/// and the folder of databases are what it is about, and what may be lost or made for good (a database of an engine, a cluster) is
/// said each time.
const NO_SETTINGS: [&str; 20] = [
    "no-config",
    "print-config",
    "propose",
    "explain",
    "profile",
    "bind",
    "command",
    "keep-going",
    "no-history",
    "overwrite",
    "engine",
    "new",
    "root",
    "until",
    "shell",
    "forget-source",
    "source",
    "partitions",
    "copies",
    "name",
];

/// Commands whose options that name files and folders are settings.
const WITH_FILES: [&[&str]; 2] = [&["serve"], &["cluster", "serve"]];

/// An option that can be set elsewhere.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The command that has it, from the program down; empty for those of all commands.
    pub command: Vec<String>,
    /// Its name on the command line, without dashes.
    pub name: String,
    /// What it takes.
    pub kind: Kind,
    /// Whether it takes a list.
    pub is_list: bool,
    /// Whether its values are names of files or folders, which a settings file says relative to its own folder.
    pub is_path: bool,
    /// The option itself.
    pub option: Arg,
}

/// What a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// True or false.
    Switch,
    /// A number; where the option reads more than digits (`4GiB`, `|`), also a text.
    Number,
    /// A text.
    Text,
    /// A text of a form of its own; a number may be one.
    Form,
    /// Keys and values: a table in a file.
    Table,
}

impl Setting {
    /// Its full name in a file: `run.pagerank.top`.
    #[must_use]
    pub fn key(&self) -> String {
        key(&self.command, &self.name)
    }

    /// Its names in a file, from the one for its command alone to the one for all commands that are
    /// with it below another: `run.pagerank.top`, `run.top`.
    pub fn keys(&self) -> impl Iterator<Item = String> {
        let depths = self.command.len().min(1)..=self.command.len();
        depths.rev().map(|depth| key(&self.command[..depth], &self.name))
    }

    /// What a text must be to be this setting's; `None` if `text` is.
    ///
    /// This asks clap with an option made for it, since another one's rules (what it conflicts with)
    /// need the rest of its command.
    #[must_use]
    pub fn refuse(&self, text: &str) -> Option<String> {
        let parser = self.option.get_value_parser().clone();
        let option = Arg::new("value").long("value").value_parser(parser).action(ArgAction::Append);
        let option = match self.option.get_value_delimiter() {
            Some(delimiter) => option.value_delimiter(delimiter),
            None => option,
        };
        let command = Command::new("setting").no_binary_name(true).arg(option);
        let error = command.try_get_matches_from([format!("--value={text}")]).err()?;
        let values = self.choices();
        Some(match std::error::Error::source(&error) {
            _ if !values.is_empty() => format!("it can be {}", values.join(", ")),
            Some(source) if source.is::<ParseIntError>() => "expected a whole number".to_owned(),
            Some(source) if source.is::<ParseFloatError>() => "expected a number".to_owned(),
            Some(source) => source.to_string(),
            None => "the value is not valid".to_owned(),
        })
    }

    /// What it can be, if it is one of some words.
    #[must_use]
    pub fn choices(&self) -> Vec<String> {
        let values = self.option.get_possible_values();
        values.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name().to_owned()).collect()
    }

    /// What holds where it isn't set, as its help tells: `unlimited`.
    #[must_use]
    pub fn unset(&self) -> Option<String> {
        let help = self.option.get_help()?.to_string();
        let (_, told) = help.rsplit_once("[default: ")?;
        Some(told.split_once(']')?.0.to_owned())
    }
}

/// All settings of a command line that clap has not built yet (building copies what all commands
/// understand into each).
#[must_use]
pub fn settings(program: &Command) -> Vec<Setting> {
    let mut found = Vec::new();
    collect(program, &[], &mut found);
    found
}

/// Commands that may have settings, from the program down.
#[must_use]
pub fn commands(program: &Command) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while next < found.len() {
        let path: Vec<String> = found[next].clone();
        let command = path.iter().fold(program, |command, name| {
            command.find_subcommand(name).expect("paths are made of names that were found")
        });
        for below in below(command) {
            found.push([&path[..], &[below.get_name().to_owned()]].concat());
        }
        next += 1;
    }
    found
}

fn below(command: &Command) -> impl Iterator<Item = &Command> {
    let named = |below: &&Command| !WITHOUT_SETTINGS.contains(&below.get_name());
    command.get_subcommands().filter(|below| !below.is_hide_set()).filter(named)
}

fn collect(command: &Command, path: &[String], found: &mut Vec<Setting>) {
    let options = command.get_arguments().filter(|option| !is_needed(command, option));
    found.extend(options.filter_map(|option| setting(option, path)));
    for below in below(command) {
        collect(below, &[path, &[below.get_name().to_owned()]].concat(), found);
    }
}

/// Whether a call can't do without the option, alone or as one of several.
fn is_needed(command: &Command, option: &Arg) -> bool {
    let mut groups = command.get_groups().filter(|group| group.is_required_set());
    option.is_required_set() || groups.any(|group| group.get_args().any(|id| id == option.get_id()))
}

fn setting(option: &Arg, path: &[String]) -> Option<Setting> {
    let name = option.get_long()?;
    let names_file =
        option.get_value_names().is_some_and(|names| names.iter().any(|name| name.ends_with("FILE")));
    let has_files = WITH_FILES.iter().any(|command| path == *command);
    if (names_file && !has_files) || option.is_hide_set() || NO_SETTINGS.contains(&name) {
        return None;
    }
    let is_list = match option.get_action() {
        ArgAction::SetTrue | ArgAction::Set => false,
        ArgAction::Append => true,
        _ => return None,
    };
    Some(Setting {
        command: path.to_vec(),
        name: name.to_owned(),
        kind: kind(option),
        is_list,
        is_path: has_files && option.get_value_parser().type_id() == TypeId::of::<PathBuf>(),
        option: option.clone(),
    })
}

fn kind(option: &Arg) -> Kind {
    let parsed = option.get_value_parser().type_id();
    let is = |types: &[TypeId]| types.iter().any(|one| parsed == *one);
    let numbers = [
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
        TypeId::of::<i32>(),
        TypeId::of::<i64>(),
        TypeId::of::<f32>(),
        TypeId::of::<f64>(),
    ];
    let texts = [TypeId::of::<String>(), TypeId::of::<OsString>(), TypeId::of::<PathBuf>()];
    if matches!(option.get_action(), ArgAction::SetTrue) || is(&[TypeId::of::<bool>()]) {
        Kind::Switch
    } else if is(&[TypeId::of::<InlineTable>()]) {
        Kind::Table
    } else if is(&numbers) {
        Kind::Number
    } else if is(&texts) || !option.get_possible_values().is_empty() {
        Kind::Text
    } else {
        Kind::Form
    }
}

fn key(command: &[String], name: &str) -> String {
    command.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".")
}

/// The variable that sets what `key` sets in a file.
#[must_use]
pub fn variable(key: &str) -> String {
    format!("EVERGRAPH_{}", key.replace(['.', '-'], "_").to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::command_line;
    use std::collections::BTreeMap;

    #[test]
    fn no_two_settings_share_a_variable() {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        for key in settings(&command_line()).iter().flat_map(Setting::keys) {
            let other = keys.insert(variable(&key), key.clone());
            assert!(other.as_ref().is_none_or(|other| *other == key), "{key} and {other:?}");
        }
        assert_eq!(keys["EVERGRAPH_RUN_PAGERANK_TOP"], "run.pagerank.top");
        assert_eq!(keys["EVERGRAPH_MEMORY_LIMIT"], "memory-limit");
        assert!(!keys.contains_key("EVERGRAPH_TOP"));
    }

    #[test]
    fn options_are_told_apart_by_what_they_take() {
        let all = settings(&command_line());
        let of = |key: &str| all.iter().find(|setting| setting.key() == key).unwrap();
        let kinds = ["quiet", "threads", "color", "durability", "run.pagerank.damping", "import.delimiter"];
        assert_eq!(
            kinds.map(|key| of(key).kind),
            [Kind::Switch, Kind::Number, Kind::Text, Kind::Form, Kind::Number, Kind::Number]
        );
        assert!(of("run.bfs.label").is_list && !of("run.bfs.top").is_list);
        assert_eq!(of("color").choices(), ["auto", "always", "never"]);
        assert_eq!(of("threads").unset().as_deref(), Some("one a core"));
    }

    #[test]
    fn files_are_settings_of_a_service_only() {
        let all = settings(&command_line());
        let of = |key: &str| all.iter().find(|setting| setting.key() == key);
        for key in ["users", "tls-certificate", "tls-key", "audit-log"].map(|name| format!("serve.{name}")) {
            assert!(of(&key).is_some_and(|setting| setting.is_path && setting.kind == Kind::Text), "{key}");
        }
        assert!(of("run.bfs.output").is_none() && of("serve.config").is_none());
        let is_service = |setting: &Setting| setting.command.last().is_some_and(|name| name == "serve");
        assert!(all.iter().all(|setting| !setting.is_path || is_service(setting)));
        #[cfg(feature = "cluster")]
        {
            assert!(of("cluster.serve.users").is_some_and(|setting| setting.is_path));
            let meant: Vec<String> = of("cluster.serve.listen").unwrap().keys().collect();
            assert_eq!(meant, ["cluster.serve.listen", "cluster.listen"]);
            for key in ["cluster.create.nodes", "cluster.create.partitions", "cluster.create.name"] {
                assert!(of(key).is_none(), "{key} is what a cluster is, for good");
            }
        }
    }

    #[test]
    fn a_value_is_refused_as_the_option_refuses_it() {
        let all = settings(&command_line());
        let refuse =
            |key: &str, text: &str| all.iter().find(|setting| setting.key() == key).unwrap().refuse(text);
        assert_eq!(refuse("threads", "8"), None);
        assert!(refuse("threads", "0").unwrap().contains("1..=1024"));
        assert_eq!(refuse("threads", "x").as_deref(), Some("expected a whole number"));
        assert_eq!(refuse("color", "blue").as_deref(), Some("it can be auto, always, never"));
        assert_eq!(refuse("import.delimiter", "tab"), None);
        assert!(refuse("import.delimiter", "||").unwrap().contains("one ASCII character"));
    }
}
