//! The report of `evergraph run`: what was found, and how long it took.

use crate::command::run::answer::Amount;
use crate::command::run::keys::Name;
use crate::terminal::number::{count, counted, percent, reals, time};
use crate::terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What a run found.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The database.
    pub database: String,
    /// The commit that the snapshot shows.
    pub timestamp: u64,
    /// Vertices in scope.
    pub vertices: u64,
    /// Edges in scope.
    pub edges: u64,
    /// The part of the edges that no merge had taken in yet, 0 to 1.
    pub fresh_share: f64,
    /// What else the algorithm says.
    pub outcome: Outcome,
    /// What the values of `top` are.
    pub top_value: &'static str,
    /// The vertices worth a look.
    pub top: Vec<TopRow>,
    /// The file with the values of all vertices.
    pub output: Option<String>,
    /// How long it took.
    pub seconds: Seconds,
}

/// A vertex worth a look.
#[derive(Debug, Serialize)]
pub struct TopRow {
    /// Its number.
    pub vertex: u32,
    /// Its label and key.
    #[serde(flatten)]
    pub name: Name,
    /// Its value.
    pub value: Amount,
}

/// What an algorithm says besides values.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Of PageRank.
    PageRank {
        /// Along which edges rank flowed.
        direction: &'static str,
        /// The damping factor.
        damping: f64,
        /// Rounds that were run.
        iterations: u32,
        /// How much the last round changed the scores, summed.
        change: f64,
        /// Whether the tolerance was reached.
        converged: bool,
    },
    /// Of a breadth-first search.
    Bfs {
        /// Along which edges it went.
        direction: &'static str,
        /// Where it began.
        source_vertex: u32,
        /// Vertices reached, the source among them.
        reached: u64,
        /// The highest level.
        depth: u32,
    },
    /// Of components.
    Wcc {
        /// How many there are.
        components: u64,
    },
    /// Of shortest paths.
    Sssp {
        /// Along which edges paths go.
        direction: &'static str,
        /// Where they begin.
        source_vertex: u32,
        /// Vertices reached, the source among them.
        reached: u64,
        /// The property that was the weight.
        weight: String,
        /// The width of bins that was used.
        delta: f64,
    },
}

/// Seconds that each part took.
#[derive(Debug, Serialize)]
pub struct Seconds {
    /// Opening the database.
    pub open: f64,
    /// Freezing the snapshot for the algorithm.
    pub freeze: f64,
    /// The algorithm.
    pub kernel: f64,
    /// Writing the file.
    pub write: f64,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = format!(
            "{}, {}",
            counted(self.vertices, "vertex", "vertices"),
            counted(self.edges, "edge", "edges")
        );
        writeln!(f, "{} of {}: {size}", self.algorithm, visible(&self.database))?;
        writeln!(f, "{}", self.outcome)?;
        if !self.top.is_empty() {
            let columns = [
                ("label", Side::Left),
                ("key", Side::Left),
                ("vertex", Side::Right),
                (self.top_value, Side::Right),
            ];
            let mut table = Table::new(&columns);
            for (row, value) in self.top.iter().zip(self.top_texts()) {
                let Name { label, key } = &row.name;
                table.row([label.to_string(), key.to_string(), row.vertex.to_string(), value]);
            }
            write!(f, "\n{table}\n")?;
        }
        self.write_times(f)
    }
}

impl RunReport {
    fn top_texts(&self) -> Vec<String> {
        let (mut counts, mut numbers) = (Vec::new(), Vec::new());
        for row in &self.top {
            match row.value {
                Amount::Whole(number) => counts.push(count(number)),
                Amount::Real(number) => numbers.push(number),
            }
        }
        // An algorithm's values are all of one kind.
        if counts.is_empty() { reals(&numbers) } else { counts }
    }

    fn write_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = |seconds: f64| time(Duration::from_secs_f64(seconds));
        let Seconds { open, freeze, kernel, write } = self.seconds;
        writeln!(
            f,
            "opened in {}, frozen in {} ({} of the edges fresh), computed in {}",
            took(open),
            took(freeze),
            percent(self.fresh_share),
            took(kernel)
        )?;
        match &self.output {
            Some(output) => writeln!(f, "wrote {} in {}", visible(output), took(write)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageRank { iterations, change, converged, .. } => {
                let rounds = counted(u64::from(*iterations), "round", "rounds");
                let end = if *converged { ", below the tolerance" } else { "" };
                write!(f, "{rounds}; the last one changed the scores by {change:.3e} in sum{end}")
            }
            Self::Bfs { reached, depth, .. } => {
                let depth = counted(u64::from(*depth), "edge", "edges");
                write!(f, "reached {}, the farthest over {depth}", counted(*reached, "vertex", "vertices"))
            }
            Self::Wcc { components } => f.write_str(&counted(*components, "component", "components")),
            Self::Sssp { reached, .. } => {
                write!(f, "reached {}", counted(*reached, "vertex", "vertices"))
            }
        }
    }
}
