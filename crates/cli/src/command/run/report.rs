//! The report of `evergraph run`: what was found, and how long it took.

use crate::command::run::answer::Amount;
use evergraph_analysis::real_text::reals;
use evergraph_report::vertex_names::VertexName;
use evergraph_terminal::number::{count, counted, percent, time};
use evergraph_terminal::table::{Side, Table, output_name, visible};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// What a run found.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// The algorithm's name.
    pub algorithm: String,
    /// The database.
    pub database: String,
    /// The commit that the snapshot shows.
    pub timestamp: u64,
    /// Vertices in scope; `None` if nothing was frozen, and nobody counted.
    pub vertices: Option<u64>,
    /// Edges in scope.
    pub edges: Option<u64>,
    /// The part of the edges that no merge had taken in yet, 0 to 1.
    pub fresh_share: Option<f64>,
    /// What else the algorithm says, in a sentence.
    #[serde(skip)]
    pub summary: String,
    /// The same as figures.
    pub outcome: serde_json::Value,
    /// What is worth a look.
    #[serde(flatten)]
    pub top: TopRows,
    /// The file with the whole answer.
    pub output: Option<String>,
    /// Whether the text tells how long it took, and what was written.
    #[serde(skip)]
    pub with_times: bool,
    /// What the first of the steps did, which its text tells: `opened`, or `connected`.
    #[serde(skip)]
    pub first_step: &'static str,
    /// How long it took.
    pub seconds: Seconds,
}

/// What is worth a look.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum TopRows {
    /// Vertices with values.
    Values {
        /// What the values are.
        top_value: &'static str,
        /// What a group is called, where the rows are groups.
        #[serde(skip)]
        group_name: Option<&'static str>,
        /// The vertices.
        top: Vec<TopRow>,
    },
    /// Paths or cycles.
    Paths {
        /// Whether they are cycles.
        #[serde(skip)]
        closed: bool,
        /// The first of them.
        paths: Vec<PathRow>,
    },
}

/// A path worth a look.
#[derive(Debug, Serialize)]
pub struct PathRow {
    /// Its length.
    pub length: Amount,
    /// Its vertices.
    pub vertices: Vec<PathVertex>,
}

/// A vertex of a path.
#[derive(Debug, Serialize)]
pub struct PathVertex {
    /// Its number.
    pub vertex: u32,
    /// Its label and key.
    #[serde(flatten)]
    pub name: VertexName,
}

/// A vertex or a group worth a look.
#[derive(Debug, Serialize)]
pub struct TopRow {
    /// The number of the group, as in the answer's rows; its lowest vertex stands for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
    /// Its number.
    pub vertex: u32,
    /// Its label and key.
    #[serde(flatten)]
    pub name: VertexName,
    /// Its value.
    pub value: Amount,
}

/// Seconds that each part took.
#[derive(Debug, Serialize)]
pub struct Seconds {
    /// Opening the database, or connecting to its server.
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
        write!(f, "{} of {}", self.algorithm, visible(&self.database))?;
        if let (Some(vertices), Some(edges)) = (self.vertices, self.edges) {
            let (vertices, edges) =
                (counted(vertices, "vertex", "vertices"), counted(edges, "edge", "edges"));
            write!(f, ": {vertices}, {edges}")?;
        }
        writeln!(f, "\n{}", self.summary)?;
        match &self.top {
            TopRows::Values { top_value, group_name, top } if !top.is_empty() => {
                write!(f, "\n{}\n", value_table(top_value, *group_name, top))?;
            }
            TopRows::Paths { closed, paths } if !paths.is_empty() => {
                write!(f, "\n{}\n", path_table(*closed, paths))?;
            }
            _ => {}
        }
        if self.with_times { self.write_times(f) } else { Ok(()) }
    }
}

impl RunReport {
    fn write_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = |seconds: f64| time(Duration::from_secs_f64(seconds.max(0.0)));
        let Seconds { open, freeze, kernel, write } = self.seconds;
        write!(f, "{} in {}, ", self.first_step, took(open))?;
        if let Some(fresh_share) = self.fresh_share {
            write!(f, "frozen in {}", took(freeze))?;
            if fresh_share > 0.0 {
                write!(f, " ({} of the edges fresh)", percent(fresh_share))?;
            }
            write!(f, ", ")?;
        }
        writeln!(f, "computed in {}", took(kernel))?;
        match &self.output {
            Some(output) => writeln!(f, "written to {} in {}", output_name(output), took(write)),
            None => Ok(()),
        }
    }
}

fn value_table(value_name: &str, group_name: Option<&str>, rows: &[TopRow]) -> Table {
    let vertex =
        [("label", Side::Left), ("key", Side::Left), ("vertex", Side::Right), (value_name, Side::Right)];
    let group = group_name.map(|name| (name, Side::Right));
    let mut table = Table::new(&group.into_iter().chain(vertex).collect::<Vec<_>>());
    for (row, value) in rows.iter().zip(amounts(rows.iter().map(|row| row.value))) {
        let VertexName { label, key } = &row.name;
        let group = row.group.map(count);
        let vertex = [label.to_string(), key.to_string(), row.vertex.to_string(), value];
        table.row(group.into_iter().chain(vertex));
    }
    table
}

/// Of a longer path the first and the last vertices are shown.
const SHOWN: usize = 16;

fn path_table(closed: bool, rows: &[PathRow]) -> Table {
    let name = if closed { "cycle" } else { "path" };
    let mut table = Table::new(&[("length", Side::Right), (name, Side::Left)]);
    let labels = rows.iter().flat_map(|row| &row.vertices).map(|vertex| &vertex.name.label);
    let several_labels = labels.clone().any(|label| Some(label) != labels.clone().next());
    let call = |PathVertex { name: VertexName { label, key }, .. }: &PathVertex| {
        if several_labels { format!("{label} {key}") } else { key.to_string() }
    };
    for (row, length) in rows.iter().zip(amounts(rows.iter().map(|row| row.length))) {
        let mut steps: Vec<String> = row.vertices.iter().map(call).collect();
        if closed {
            steps.extend(steps.first().cloned());
        }
        if steps.len() > SHOWN {
            let left_out = steps.len() - SHOWN;
            let gap = format!("... {} more ...", count(left_out as u64));
            steps.splice(SHOWN / 2..SHOWN / 2 + left_out, [gap]);
        }
        table.row([length, steps.join(" -> ")]);
    }
    table
}

/// The texts of amounts that stand below each other; an answer's are all of one kind.
fn amounts(amounts: impl Iterator<Item = Amount>) -> Vec<String> {
    let (mut counts, mut numbers) = (Vec::new(), Vec::new());
    for amount in amounts {
        match amount {
            Amount::Whole(number) => counts.push(count(number)),
            Amount::Real(number) => numbers.push(number),
        }
    }
    if counts.is_empty() { reals(&numbers) } else { counts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_report::vertex_names::VertexKey;

    fn row(length: u64, keys: &[(&str, u32)]) -> PathRow {
        let vertex = |(label, number): &(&str, u32)| PathVertex {
            vertex: *number,
            name: VertexName { label: (*label).into(), key: VertexKey::Number(*number) },
        };
        PathRow { length: Amount::Whole(length), vertices: keys.iter().map(vertex).collect() }
    }

    #[test]
    fn a_path_is_a_line_and_a_cycle_comes_back() {
        let people = [row(1, &[("Person", 1), ("Person", 2)])];
        assert!(path_table(false, &people).to_string().ends_with("\n     1  1 -> 2\n"));
        let table = path_table(true, &[row(2, &[("Person", 1), ("City", 2)])]).to_string();
        assert!(table.ends_with("\n     2  Person 1 -> City 2 -> Person 1\n"), "{table}");
    }

    #[test]
    fn the_middle_of_a_long_path_is_left_out() {
        let keys: Vec<_> = (0..40).map(|number| ("Person", number)).collect();
        let table = path_table(false, &[row(39, &keys)]).to_string();
        assert!(table.contains(" 7 -> ... 24 more ... -> 32 -> "), "{table}");
        assert!(table.trim_end().ends_with("38 -> 39"), "{table}");
    }
}
