//! Resolving: which of flags, variables, files and defaults each setting comes from.
//!
//! ```text
//! flag  >  variable  >  file here  >  file of the user  >  default
//! ```
//!
//! Within one of these, what is said for a command alone wins over what is said for all below another
//! (`run.pagerank.top` over `run.top`). A key that is no setting, a value of the wrong type or one that
//! the option would refuse is an error; a variable that is nearly one is told.

use crate::settings::file::{FileValue, SettingsFile};
use crate::settings::inline_table::InlineTable;
use crate::settings::setting::{Kind, Setting, commands, settings, variable};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use evergraph_graph::error::{Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// What each setting is here.
#[derive(Debug)]
pub struct Resolved {
    /// The settings, in the order of the command line's help.
    pub settings: Vec<(Setting, EffectiveValue)>,
    /// Files that were read, the first wins.
    pub files: Vec<PathBuf>,
    /// Files that couldn't be read and that nobody named, each with the reason.
    pub left_out_files: Vec<String>,
    /// Variables that look like settings and are none, each with the one that may be meant.
    pub mistaken_variables: Vec<(String, String)>,
}

/// A setting's value here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EffectiveValue {
    /// As the command line would have it; none where nothing holds. A switch is `true` or `false`.
    pub texts: Vec<String>,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The command line, by this flag.
    Flag(String),
    /// This variable.
    Variable(String),
    /// A line of a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Finds what each setting of `program` is: `matches` is what its command line says, `variables` is
/// the environment.
///
/// # Errors
/// `invalid` for what a file or a variable says wrongly, by its place.
pub fn resolve(
    program: &Command,
    matches: &ArgMatches,
    variables: &BTreeMap<String, String>,
    files: &[SettingsFile],
) -> Result<Resolved> {
    let settings = settings(program);
    let known = KnownSettings {
        commands: commands(program).into_iter().map(|path| path.join(".")).collect(),
        settings: &settings,
    };
    let mut said: BTreeMap<String, EffectiveValue> = BTreeMap::new();
    // From who loses to who wins.
    for file in files.iter().rev() {
        let mut here = BTreeMap::new();
        for entry in &file.entries {
            let place = format!("{}:{}", file.path.display(), entry.line);
            let key = entry.key.join(".");
            for setting in known.find(&place, &key, &entry.value)? {
                let folder = file.path.parent().unwrap_or(Path::new(""));
                let texts = texts(setting, &entry.value, folder)
                    .and_then(|texts| accepted(setting, texts))
                    .map_err(|why| Error::invalid(format!("{place}: {key}: {why}")))?;
                let texts = if setting.is_path { beside(folder, texts) } else { texts };
                let origin = Origin::File { path: file.path.clone(), line: entry.line };
                here.insert(key.clone(), EffectiveValue { texts, origin });
            }
        }
        put_below(&settings, here, &mut said);
    }
    let mut here = BTreeMap::new();
    for (key, setting) in settings.iter().flat_map(|setting| setting.keys().map(move |key| (key, setting))) {
        let name = variable(&key);
        let Some(text) = variables.get(&name) else { continue };
        let texts = of_variable(setting, text)
            .and_then(|texts| accepted(setting, texts))
            .map_err(|why| Error::invalid(format!("{name}={text}: {why}")))?;
        here.insert(key, EffectiveValue { texts, origin: Origin::Variable(name) });
    }
    put_below(&settings, here, &mut said);

    let mistaken_variables = known.mistaken(variables);
    let settings = settings
        .into_iter()
        .map(|setting| {
            let effective = on_command_line(&setting, matches)
                .or_else(|| said.remove(&setting.key()))
                .unwrap_or_else(|| of_default(&setting));
            (setting, effective)
        })
        .collect();
    let files = files.iter().map(|file| file.path.clone()).collect();
    Ok(Resolved { settings, files, left_out_files: Vec::new(), mistaken_variables })
}

impl Resolved {
    /// Where settings of `command` that `message` speaks of come from, if not from the command line:
    /// `label is "Person" by evergraph.toml:9`. Who reads the message may never have said them.
    #[must_use]
    pub fn told_elsewhere(&self, command: &[String], message: &str) -> Option<String> {
        let says = |(setting, effective): &(Setting, EffectiveValue)| {
            let EffectiveValue { texts, origin } = effective;
            let is_elsewhere = matches!(origin, Origin::Variable(_) | Origin::File { .. });
            let is_value = |text: &String| text.parse::<f64>().is_err() && has_word(message, text);
            let is_meant = has_word(message, &setting.name) || texts.iter().any(is_value);
            (setting.command == command && is_elsewhere && is_meant)
                .then(|| format!("{} is {:?} by {origin}", setting.name, texts.join(",")))
        };
        let found: Vec<String> = self.settings.iter().filter_map(says).collect();
        (!found.is_empty()).then(|| found.join("; "))
    }

    /// The command line on which files and variables are defaults.
    #[must_use]
    pub fn with_defaults(&self, program: Command) -> Command {
        let mut program = program;
        for (setting, effective) in &self.settings {
            let is_off = setting.kind == Kind::Switch && effective.texts == ["false"];
            if !matches!(effective.origin, Origin::Default | Origin::Flag(_)) && !is_off {
                program = with_default(program, &setting.command, setting, &effective.texts);
            }
        }
        program
    }
}

fn with_default(command: Command, path: &[String], setting: &Setting, texts: &[String]) -> Command {
    match path.split_first() {
        Some((name, path)) => command.mut_subcommand(name, |below| with_default(below, path, setting, texts)),
        None => command.mut_arg(setting.option.get_id(), |option| option.default_values(texts)),
    }
}

/// Names of files as a settings file in `folder` means them: relative to its own folder.
fn beside(folder: &Path, names: Vec<String>) -> Vec<String> {
    names.into_iter().map(|name| folder.join(name).to_string_lossy().into_owned()).collect()
}

/// Gives what is said for keys (`run.top` among them) to the settings that it is about.
fn put_below(
    settings: &[Setting],
    here: BTreeMap<String, EffectiveValue>,
    said: &mut BTreeMap<String, EffectiveValue>,
) {
    for setting in settings {
        if let Some(effective) = setting.keys().find_map(|key| here.get(&key)) {
            said.insert(setting.key(), effective.clone());
        }
    }
}

/// What may be named in a file.
struct KnownSettings<'a> {
    /// Full names of commands.
    commands: Vec<String>,
    settings: &'a [Setting],
}

impl KnownSettings<'_> {
    /// The settings that `key` is about: none if it is a command's empty table.
    fn find(&self, place: &str, key: &str, value: &FileValue) -> Result<Vec<&Setting>> {
        let meant = self.settings.iter().filter(|setting| setting.keys().any(|name| name == key));
        let meant: Vec<&Setting> = meant.collect();
        if !meant.is_empty() {
            return Ok(meant);
        }
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        let fail = |why: String| Err(Error::invalid(format!("{place}: {why}")));
        if self.commands.iter().any(|command| command == key) {
            return match value {
                FileValue::EmptyTable => Ok(meant),
                _ => fail(format!("{key} is a command: its settings go below a line [{key}]")),
            };
        }
        if !self.commands.iter().any(|command| command == table) {
            let tables = self.commands.iter().filter(|command| !command.is_empty()).map(String::as_str);
            let near = nearest(table, tables.clone()).map(|near| format!(" (did you mean [{near}]?)"));
            let all = tables.collect::<Vec<_>>().join(", ");
            return fail(format!(
                "[{table}] is not a command with settings{}; there are {all}",
                near.unwrap_or_default()
            ));
        }
        let names = self.names(table);
        let near =
            nearest(name, names.iter().map(String::as_str)).map(|near| format!(" (did you mean {near}?)"));
        let of = if table.is_empty() { "all commands" } else { table };
        let all = match &names[..] {
            [] => format!("{of} has no settings"),
            names => format!("for {of} there are {}", names.join(", ")),
        };
        fail(format!("there is no setting {key}{}; {all}", near.unwrap_or_default()))
    }

    /// Names that may stand in `table`.
    fn names(&self, table: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for key in self.settings.iter().flat_map(Setting::keys) {
            let (above, name) = key.rsplit_once('.').unwrap_or(("", &key));
            if above == table && !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Variables that are nearly a setting's.
    fn mistaken(&self, variables: &BTreeMap<String, String>) -> Vec<(String, String)> {
        let known: Vec<String> =
            self.settings.iter().flat_map(Setting::keys).map(|key| variable(&key)).collect();
        let ours = variables.keys().filter(|name| name.starts_with("EVERGRAPH_") && !known.contains(name));
        let near = |name: &String| {
            let near = known.iter().find(|known| strsim::damerau_levenshtein(name, known) <= 2)?;
            Some((name.clone(), near.clone()))
        };
        ours.filter_map(near).collect()
    }
}

/// Whether `word` stands in `text` by itself.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let stands_alone = |at: usize| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    };
    !word.is_empty() && text.match_indices(word).any(|(at, _)| stands_alone(at))
}

/// The name that is most like `name`, if one is.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // clap's own threshold for a suggestion.
    names
        .map(|near| (strsim::jaro(name, near), near))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, near)| near)
}

/// What a value of a file in `folder` is on the command line.
fn texts(setting: &Setting, value: &FileValue, folder: &Path) -> std::result::Result<Vec<String>, String> {
    if let (true, FileValue::List(values)) = (setting.is_list, value) {
        return values.iter().map(|value| text(setting, value, folder)).collect();
    }
    Ok(vec![text(setting, value, folder)?])
}

fn text(setting: &Setting, value: &FileValue, folder: &Path) -> std::result::Result<String, String> {
    let wanted = match (setting.kind, value) {
        (Kind::Table, FileValue::Table(entries)) => {
            let entry = |(key, value): &(String, FileValue)| Some((key.clone(), toml_value(value)?));
            let table: Option<toml::Table> = entries.iter().map(entry).collect();
            return table
                .map(|table| InlineTable::text_of(table, folder))
                .ok_or_else(|| "expected texts, numbers, true or false as values".to_owned());
        }
        (Kind::Table, _) => return Err("expected tables, each below a line [[...]] of its own".to_owned()),
        (Kind::Switch, FileValue::Switch(on)) => return Ok(on.to_string()),
        (Kind::Switch, _) => "expected true or false".to_owned(),
        (Kind::Number, FileValue::Text(text)) if text.parse::<f64>().is_ok() => {
            "expected a number without quotes".to_owned()
        }
        (Kind::Number | Kind::Form, FileValue::Number(text))
        | (Kind::Number | Kind::Text | Kind::Form, FileValue::Text(text)) => return Ok(text.clone()),
        (Kind::Number, _) => "expected a number".to_owned(),
        (Kind::Text | Kind::Form, _) if !setting.choices().is_empty() => {
            format!("expected a text: one of {}", setting.choices().join(", "))
        }
        (Kind::Text | Kind::Form, _) => "expected a text in quotes".to_owned(),
    };
    Err(wanted + if setting.is_list { ", or a list of them" } else { "" })
}

/// A value in a table; `None` for what stands in none.
fn toml_value(value: &FileValue) -> Option<toml::Value> {
    Some(match value {
        FileValue::Switch(on) => toml::Value::Boolean(*on),
        FileValue::Number(text) => match text.parse() {
            Ok(number) => toml::Value::Integer(number),
            Err(_) => toml::Value::Float(text.parse().ok()?),
        },
        FileValue::Text(text) => toml::Value::String(text.clone()),
        FileValue::List(values) => toml::Value::Array(values.iter().map(toml_value).collect::<Option<_>>()?),
        FileValue::EmptyTable | FileValue::Table(_) | FileValue::Other => return None,
    })
}

fn of_variable(setting: &Setting, text: &str) -> std::result::Result<Vec<String>, String> {
    match (setting.kind, text) {
        (Kind::Switch, "true" | "1") => Ok(vec!["true".to_owned()]),
        (Kind::Switch, "false" | "0") => Ok(vec!["false".to_owned()]),
        (Kind::Switch, _) => Err("expected true or false".to_owned()),
        // A table has commas of its own.
        (Kind::Table, _) => Ok(vec![text.to_owned()]),
        _ if setting.is_list => Ok(text.split(',').map(str::to_owned).collect()),
        _ => Ok(vec![text.to_owned()]),
    }
}

fn accepted(setting: &Setting, texts: Vec<String>) -> std::result::Result<Vec<String>, String> {
    if setting.kind == Kind::Switch {
        return Ok(texts);
    }
    match texts.iter().find_map(|text| Some((text, setting.refuse(text)?))) {
        Some((text, why)) => Err(format!("{text:?} is refused: {why}")),
        None => Ok(texts),
    }
}

fn on_command_line(setting: &Setting, matches: &ArgMatches) -> Option<EffectiveValue> {
    let matches =
        setting.command.iter().try_fold(matches, |matches, name| matches.subcommand_matches(name))?;
    let said = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let effective = |texts, flag| EffectiveValue { texts, origin: Origin::Flag(flag) };
    let id = setting.option.get_id().as_str();
    if setting.kind == Kind::Switch && said(&undo(&setting.name)) {
        return Some(effective(vec!["false".to_owned()], format!("--{}", undo(&setting.name))));
    }
    if !said(id) {
        return None;
    }
    let texts = match setting.kind {
        Kind::Switch => vec!["true".to_owned()],
        _ => matches.get_raw(id)?.map(|text| text.to_string_lossy().into_owned()).collect(),
    };
    Some(effective(texts, format!("--{}", setting.name)))
}

fn of_default(setting: &Setting) -> EffectiveValue {
    let texts = match setting.kind {
        Kind::Switch => vec!["false".to_owned()],
        _ => {
            let values = setting.option.get_default_values().iter();
            values.map(|text| text.to_string_lossy().into_owned()).collect()
        }
    };
    EffectiveValue { texts, origin: Origin::Default }
}

/// Adds to each switch that is a setting the one that takes it back: `--no-quiet`.
#[must_use]
pub fn with_undoing(program: Command) -> Command {
    let switches = settings(&program).into_iter().filter(|setting| setting.kind == Kind::Switch);
    switches.fold(program, |program, setting| add_undoing(program, &setting.command, &setting))
}

fn add_undoing(command: Command, path: &[String], setting: &Setting) -> Command {
    if let Some((name, path)) = path.split_first() {
        return command.mut_subcommand(name, |below| add_undoing(below, path, setting));
    }
    let name = undo(&setting.name);
    let undoing = clap::Arg::new(name.clone())
        .long(name.clone())
        .action(clap::ArgAction::SetTrue)
        .global(setting.option.is_global_set())
        .hide(true)
        .overrides_with(setting.option.get_id());
    command.mut_arg(setting.option.get_id(), |option| option.overrides_with(name)).arg(undoing)
}

fn undo(name: &str) -> String {
    format!("no-{name}")
}
