//! Printing settings: what is in effect and where it comes from, in the form of a file of settings.
//!
//! ```text
//! threads = 4               # evergraph.toml:1
//! color = "auto"            # default
//! # memory-limit = "SIZE"   # default: unlimited
//!
//! [run]
//! top = 5                   # EVERGRAPH_RUN_TOP
//! ```
//!
//! What is alike for all commands below another that have it stands once. So the text is shorter, and
//! read as a file it sets what it shows.

use crate::settings::inline_table::InlineTable;
use crate::settings::resolve::{EffectiveValue, Origin, Resolved};
use crate::settings::setting::{Kind, Setting};
use serde::Serialize;
use std::fmt;

/// All settings, for people and for programs.
#[derive(Debug, Serialize)]
pub struct SettingsReport {
    /// Files that were read, the first wins.
    files: Vec<String>,
    settings: Vec<Row>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Row {
    /// As a file names it.
    key: String,
    /// `null` where nothing is set.
    value: Option<toml::Value>,
    /// `flag`, `variable`, `file` or `default`.
    source: &'static str,
    /// Which flag, variable, or file and line.
    place: Option<String>,
    #[serde(skip)]
    table: String,
    /// What stands for the value where there is none.
    #[serde(skip)]
    placeholder: String,
    /// What holds then.
    #[serde(skip)]
    unset: Option<String>,
}

impl SettingsReport {
    /// The report of what was resolved.
    #[must_use]
    pub fn new(resolved: &Resolved) -> Self {
        let mut settings: Vec<Row> = Vec::new();
        for (setting, effective) in &resolved.settings {
            let table = table(resolved, setting, effective);
            let row = Row::new(setting, effective, table);
            if !settings.contains(&row) {
                settings.push(row);
            }
        }
        // A table's rows have to stand together, and a command's before those of commands below it.
        let tables: Vec<String> = settings.iter().map(|row| row.table.clone()).collect();
        let first = |is: &dyn Fn(&str) -> bool| tables.iter().position(|table| is(table));
        let head = |table: &str| table.split('.').next().unwrap_or_default().to_owned();
        settings.sort_by_key(|row| {
            let own_head = head(&row.table);
            (
                first(&|table| head(table) == own_head),
                row.table.contains('.'),
                first(&|table| table == row.table),
            )
        });
        let files = resolved.files.iter().map(|path| path.display().to_string()).collect();
        Self { files, settings }
    }
}

/// The table in which the setting is printed: that of the command above if all commands below it that
/// have such a setting agree, else its own.
fn table(resolved: &Resolved, setting: &Setting, effective: &EffectiveValue) -> String {
    let Some(above) = setting.command.first().filter(|_| setting.command.len() > 1) else {
        return setting.command.join(".");
    };
    let mut alike = resolved
        .settings
        .iter()
        .filter(|(other, _)| other.command.first() == Some(above) && other.name == setting.name);
    let is_shared = alike.clone().count() > 1;
    let agree = alike.all(|(_, other)| other.texts == effective.texts && other.origin == effective.origin);
    if is_shared && agree { above.clone() } else { setting.command.join(".") }
}

impl Row {
    fn new(setting: &Setting, effective: &EffectiveValue, table: String) -> Self {
        let (source, place) = match &effective.origin {
            Origin::Flag(_) => ("flag", true),
            Origin::Variable(_) => ("variable", true),
            Origin::File { .. } => ("file", true),
            Origin::Default => ("default", false),
        };
        let mut values: Vec<toml::Value> =
            effective.texts.iter().map(|text| value(setting.kind, text)).collect();
        let value = match (setting.is_list, values.len()) {
            (_, 0) => None,
            (true, _) => Some(toml::Value::Array(values)),
            (false, _) => values.pop(),
        };
        let names = setting.option.get_value_names().unwrap_or_default();
        let placeholder = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let key = if table.is_empty() { setting.name.clone() } else { format!("{table}.{}", setting.name) };
        Self {
            key,
            value,
            source,
            place: place.then(|| effective.origin.to_string()),
            table,
            placeholder,
            unset: setting.unset(),
        }
    }
}

fn value(kind: Kind, text: &str) -> toml::Value {
    match kind {
        Kind::Switch => toml::Value::Boolean(text == "true"),
        Kind::Number => {
            let whole = text.parse().map(toml::Value::Integer);
            let real = || text.parse().map(toml::Value::Float);
            whole.or_else(|_| real()).unwrap_or_else(|_| toml::Value::String(text.to_owned()))
        }
        Kind::Table => {
            let table = text.parse::<InlineTable>().ok().and_then(|table| table.table());
            table.map_or_else(|| toml::Value::String(text.to_owned()), toml::Value::Table)
        }
        Kind::Text | Kind::Form => toml::Value::String(text.to_owned()),
    }
}

impl fmt::Display for SettingsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Settings in effect, and where each comes from; an evergraph.toml may say the same.")?;
        match &self.files[..] {
            [] => writeln!(f, "# No file of settings was read.")?,
            files => writeln!(f, "# Read: {}.", files.join(", then "))?,
        }
        let mut table = "";
        for rows in self.settings.chunk_by(|a, b| a.table == b.table) {
            if rows[0].table != table {
                table = &rows[0].table;
                write!(f, "\n[{table}]")?;
            }
            writeln!(f)?;
            let lines: Vec<(String, String)> = rows.iter().map(Row::line).collect();
            let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0).min(40);
            lines.iter().try_for_each(|(line, origin)| writeln!(f, "{line:width$}  # {origin}"))?;
        }
        Ok(())
    }
}

impl Row {
    /// What the file would say, and the comment behind it.
    fn line(&self) -> (String, String) {
        let name = self.key.rsplit('.').next().unwrap_or_default();
        let origin = self.place.as_deref().unwrap_or(self.source);
        match (&self.value, &self.unset) {
            (Some(value), _) => (format!("{name} = {value}"), origin.to_owned()),
            (None, Some(unset)) => (format!("# {name} = {}", self.placeholder), format!("{origin}: {unset}")),
            (None, None) => (format!("# {name} = {}", self.placeholder), "not set".to_owned()),
        }
    }
}
