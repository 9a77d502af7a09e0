//! Explain: a plan as a table for people, with the indexes that it uses and what each step did.
//!
//! ```text
//! step                                     index         rows   traversers      time
//! V() where name = "marko"                 person.name      1            1    4.1 µs
//! repeat(...), 3 times                                     17           17   80.2 µs
//!   both()                                                 20           20   61.0 µs
//! count()                                                   1            1    0.3 µs
//! ```
//!
//! The time of a step contains that of the traversals within it, and not that of the steps before it. Within a step that
//! runs on several threads it is the sum of theirs.

use crate::execute::step_measures::{Measurements, StepMeasure};
use crate::plan::operator::{Operator, Plan, Scan, Traversal};
use crate::stack::deeper;
use crate::step::look_up::{Choice, IndexOwner};
use crate::step::source::labels;
use evergraph_graph::catalogue::Catalogue;
use std::collections::HashMap;
use std::fmt;

/// A plan, a line a step.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Explanation {
    /// The steps, those within one behind it.
    pub lines: Vec<Line>,
    /// What is to be said of the names in the query (see [`crate::unknown_name`]), then of its run: what each node did, say.
    pub notes: Vec<String>,
}

/// A step of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// How many steps it is within.
    pub depth: usize,
    /// What it does.
    pub text: String,
    /// The indexes that answer it.
    pub index: Option<String>,
    /// What it did, if the query was run to learn that.
    pub measured: Option<StepMeasure>,
}

impl Explanation {
    /// The steps of `plan`; with a catalogue, the indexes that its scans would ask.
    #[must_use]
    pub fn of(plan: &Plan, catalogue: Option<&Catalogue>) -> Self {
        Self::with_places(plan, catalogue).0
    }

    /// The same, and the line of each operator, by where the operator is in memory.
    pub(crate) fn with_places(plan: &Plan, catalogue: Option<&Catalogue>) -> (Self, HashMap<usize, usize>) {
        let mut explained = Explained { plan, catalogue, lines: Vec::new(), places: HashMap::new() };
        explained.traversal(&plan.root, 0, "");
        (Self { lines: explained.lines, notes: Vec::new() }, explained.places)
    }

    /// The same steps, with what each did.
    #[must_use]
    pub(crate) fn measured(mut self, measurements: &Measurements) -> Self {
        for (line, measured) in self.lines.iter_mut().zip(measurements.by_line()) {
            line.measured = *measured;
        }
        self.notes.extend_from_slice(measurements.notes());
        self
    }
}

struct Explained<'p> {
    plan: &'p Plan,
    catalogue: Option<&'p Catalogue>,
    lines: Vec<Line>,
    places: HashMap<usize, usize>,
}

impl Explained<'_> {
    fn traversal(&mut self, traversal: &Traversal, depth: usize, role: &str) {
        for (number, operator) in traversal.operators.iter().enumerate() {
            self.places.insert(operator.place(), self.lines.len());
            let text = operator.describe(self.plan);
            let text = if number == 0 && !role.is_empty() { format!("{role}: {text}") } else { text };
            let index = match operator {
                Operator::Vertices(scan) => self.index(scan, Catalogue::label),
                Operator::Edges(scan) => self.index(scan, Catalogue::edge_type),
                _ => None,
            };
            self.lines.push(Line { depth, text, index, measured: None });
            for (role, of) in operator.parts() {
                deeper(|| self.traversal(of, depth + 1, role));
            }
        }
    }

    /// The indexes that answer `scan`, whose labels or types have the numbers that `number` says.
    fn index<O: IndexOwner + Ord>(
        &self,
        scan: &Scan,
        number: fn(&Catalogue, &str) -> Option<O>,
    ) -> Option<String> {
        let catalogue = self.catalogue.filter(|_| scan.ids.is_none())?;
        let owners = labels(&scan.tests, |name| number(catalogue, name));
        Choice::of(&scan.tests, owners.as_deref(), catalogue).map(|choice| choice.describe(catalogue))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measured = self.lines.iter().any(|line| line.measured.is_some());
        let mut rows = vec![["step", "index", "rows", "traversers", "time"].map(str::to_owned)];
        for line in &self.lines {
            let step = "  ".repeat(line.depth) + &line.text;
            let index = line.index.clone().unwrap_or_default();
            let numbers = line.measured.map_or_else(Default::default, |measured| {
                [measured.rows.to_string(), measured.traversers.to_string(), format!("{:.1?}", measured.time)]
            });
            let [rows_text, traversers, time] = numbers;
            rows.push([step, index, rows_text, traversers, time]);
        }
        let shown = if measured { 5 } else { 2 };
        let widths: Vec<usize> = (0..shown)
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for row in &rows {
            let mut text =
                format!("{:<width$}  {:<index$}", row[0], row[1], width = widths[0], index = widths[1]);
            for (cell, width) in row[2..shown].iter().zip(&widths[2..]) {
                text += &format!("  {cell:>width$}");
            }
            writeln!(f, "{}", text.trim_end())?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}
