//! Section: figures that belong together, as a table for people.

use evergraph_measure::figure::Figure;
use evergraph_terminal::table::{Side, Table};
use serde::Serialize;
use std::fmt;

/// Figures that belong together, and what would make them lie.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Section {
    /// What was measured.
    pub title: String,
    /// The figures.
    pub figures: Vec<Figure>,
    /// What one must know to read them.
    pub notes: Vec<String>,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&[
            ("figure", Side::Left),
            ("median", Side::Right),
            ("from", Side::Right),
            ("to", Side::Right),
        ]);
        for Figure { title, value, unit, spread, .. } in &self.figures {
            table.row([title.clone(), unit.show(*value), unit.show(spread.low), unit.show(spread.high)]);
        }
        writeln!(f, "{}\n\n{table}", self.title)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "- {note}"))?;
        writeln!(f)
    }
}
