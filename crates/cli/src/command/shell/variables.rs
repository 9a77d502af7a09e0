//! Variables and settings as they are listed.

use crate::command::query::asking::Asking;
use evergraph_terminal::number::{size, time};
use evergraph_terminal::table::{Side, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The variables, each with its value as it was written.
#[derive(Debug, Serialize)]
pub struct VariablesReport<'a> {
    /// By name.
    pub variables: &'a BTreeMap<String, String>,
}

impl fmt::Display for VariablesReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.variables.is_empty() {
            return writeln!(f, "there are no variables: :bind NAME VALUE makes one");
        }
        let mut table = Table::new(&[("variable", Side::Left), ("value", Side::Left)]);
        for (name, value) in self.variables {
            table.row([name.clone(), value.clone()]);
        }
        write!(f, "{table}")
    }
}

/// The settings of a shell.
#[derive(Debug, Serialize)]
pub struct SettingsReport {
    /// `null` for none.
    timeout_seconds: Option<f64>,
    memory_bytes: u64,
    /// `null` for all.
    rows: Option<u64>,
    json: bool,
    timing: bool,
    isolation: &'static str,
    strict: bool,
}

impl SettingsReport {
    /// The settings as they are.
    #[must_use]
    pub fn new(asking: &Asking, rows_max: u64, json: bool, timing: bool) -> Self {
        let limits = &asking.limits;
        let is_limited = limits.timeout != Duration::MAX;
        Self {
            timeout_seconds: is_limited.then_some(limits.timeout.as_secs_f64()),
            memory_bytes: limits.memory_bytes,
            rows: (rows_max != u64::MAX).then_some(rows_max),
            json,
            timing,
            isolation: asking.isolation.name(),
            strict: asking.strict,
        }
    }
}

impl fmt::Display for SettingsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeout = self.timeout_seconds.map(|seconds| time(Duration::from_secs_f64(seconds)));
        let rows = self.rows.map(|rows| rows.to_string());
        let switch = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        let mut table = Table::new(&[("setting", Side::Left), ("value", Side::Left)]);
        table.row(["timeout".to_owned(), timeout.unwrap_or_else(|| "none".to_owned())]);
        table.row(["memory".to_owned(), size(self.memory_bytes)]);
        table.row(["rows".to_owned(), rows.unwrap_or_else(|| "all".to_owned())]);
        table.row(["json".to_owned(), switch(self.json)]);
        table.row(["timing".to_owned(), switch(self.timing)]);
        table.row(["isolation".to_owned(), self.isolation.to_owned()]);
        table.row(["strict".to_owned(), switch(self.strict)]);
        write!(f, "{table}")
    }
}
