//! `evergraph salvage`: what verifies of a damaged database goes to a new one; what doesn't is listed.

use crate::command::check::{check_written, meter_of_check};
use crate::context::Context;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::Database;
use evergraph_graph::error::Error;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_storage::salvage::loss::Loss;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, counted, time};
use evergraph_terminal::result_file::ResultFile;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The exit code of a salvage that is done and lists something as missing.
const INCOMPLETE: u8 = 9;
/// Losses that the text names; the report has all.
const SHOWN: usize = 20;

const AFTER_HELP: &str = "\
Examples:
  evergraph salvage social.eg saved.eg
  evergraph salvage social.eg saved.eg --report missing.jsonl
  evergraph salvage social.eg saved.eg --json | jq '.missing[] | .problem'

The damaged database is not changed. Everything in the new one comes from bytes
whose checksum is correct; an edge that is damaged on one side is taken from the
other. Ids, names, types and indexes stay the same. Commits of the log are
recovered up to the first missing one.

While another process has the database open to write, whatever its engine, the
salvage is refused (exit code 8).

If anything is missing, the exit code is 9. Each line of --report is a JSON
object that says where it was, what it was, and how much of it is missing.";

/// Arguments of `evergraph salvage`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct SalvageArguments {
    /// The damaged database, which is only read.
    #[arg(value_parser = FolderParser)]
    pub database: PathBuf,
    /// The folder of the new database: new or empty.
    pub output: PathBuf,
    /// Write everything damaged or missing to this file, one JSON object a line; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Replace the report's file if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// Skip the check of the new database.
    #[arg(long)]
    pub no_check: bool,
}

/// Writes what verifies. The exit code is 9 if something is missing.
///
/// # Errors
/// `corrupt` if nothing can be named, or the new database has findings; those of reading and writing.
pub fn execute(arguments: &SalvageArguments, context: &Context) -> Result<ExitCode, Failure> {
    refuse_file(&arguments.database)?;
    refuse_file(&arguments.output)?;
    let to_standard_output = arguments.report.as_deref() == Some(Path::new("-"));
    if to_standard_output && context.console.is_json() {
        let text = "--json and --report - both write to standard output: give --report a file";
        return Err(Error::invalid(text).into());
    }
    let report = arguments.report.as_deref().map(|path| ResultFile::create(path, arguments.overwrite));
    let report = report.transpose()?;
    let meter = context.console.meter();
    let began = Instant::now();
    let made =
        Database::salvage(&arguments.database, &arguments.output, &mut meter_of_check(&meter, context))?;
    let rows: Vec<LossRow> = made.losses.iter().map(LossRow::new).collect();
    if let Some(mut file) = report {
        let mut lines = rows
            .iter()
            .map(|row| serde_json::to_string(row).expect("texts and numbers always have a JSON form") + "\n");
        lines.try_for_each(|line| file.write_all(line.as_bytes())).map_err(|error| file.failed(error))?;
        file.finish()?;
    }
    if !arguments.no_check {
        check_written(&arguments.output, &meter, context)?;
    }
    drop(meter);
    let report = SalvageReport::new(arguments, &made, rows, began.elapsed());
    match (to_standard_output, report.complete) {
        (true, _) => context.console.note(report.to_string().trim_end()),
        (false, true) => context.console.summary(&report)?,
        (false, false) => context.console.result(&report)?,
    }
    Ok(if report.complete { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
}

/// What was saved, and what wasn't.
#[derive(Debug, Serialize)]
struct SalvageReport {
    database: String,
    output: String,
    complete: bool,
    through: u64,
    mixed_through: Option<u64>,
    vertices_count: u64,
    edges_count: u64,
    missing: Vec<LossRow>,
    damaged: Vec<LossRow>,
    left_commits_count: u64,
    left_commits: Option<[u64; 2]>,
    checked: bool,
    seconds: f64,
}

/// One thing that is damaged or missing.
#[derive(Debug, Serialize)]
struct LossRow {
    kind: &'static str,
    missing: bool,
    problem: String,
    file: Option<String>,
    offset: Option<u64>,
    length: Option<u64>,
    label: Option<String>,
    vertices: Option<[u32; 2]>,
    edge_type: Option<String>,
    side: Option<&'static str>,
    others: Vec<[u32; 2]>,
    property: Option<String>,
    first_commit: Option<u64>,
    last_commit: Option<u64>,
    count: Option<u64>,
    count_max: Option<u64>,
}

impl LossRow {
    fn new(loss: &Loss) -> Self {
        let range = |(first, last): (VertexId, VertexId)| [first.0, last.0];
        Self {
            kind: loss.kind.name(),
            missing: loss.is_missing(),
            problem: loss.problem.clone(),
            file: loss.file.as_ref().map(|file| file.display().to_string()),
            offset: loss.offset,
            length: loss.length,
            label: loss.label.clone(),
            vertices: loss.vertices.map(range),
            edge_type: loss.edge_type.clone(),
            side: loss.side.map(|side| if side == Direction::In { "in" } else { "out" }),
            others: loss.others.iter().copied().map(range).collect(),
            property: loss.property.clone(),
            first_commit: loss.commits.map(|(first, _)| first.0),
            last_commit: loss.commits.and_then(|(_, last)| last).map(|last| last.0),
            count: loss.count,
            count_max: loss.count_max,
        }
    }

    /// What is missing, in words.
    fn what(&self) -> String {
        let ids = |[first, last]: [u32; 2]| {
            if first == last { format!("v{first}") } else { format!("v{first} to v{last}") }
        };
        let label = self.label.as_deref().unwrap_or("any label");
        let of_label = self.vertices.map_or(String::new(), |range| format!("{label} ({})", ids(range)));
        let edge_type = self.edge_type.as_deref().unwrap_or("any type");
        let property = self.property.as_deref().map_or("properties".to_owned(), |name| format!("`{name}`"));
        let others: Vec<String> = self.others.iter().copied().map(ids).collect();
        let many = match (self.count, self.count_max) {
            (Some(exactly), _) => format!("{} ", count(exactly)),
            (None, Some(most)) => format!("at most {} ", count(most)),
            (None, None) => String::new(),
        };
        match self.kind {
            "commits" => match (self.first_commit, self.last_commit) {
                (Some(first), Some(last)) if first == last => format!("commit {}", count(first)),
                (Some(first), Some(last)) => format!("commits {} to {}", count(first), count(last)),
                (first, _) => format!("commits from {} on, if there were any", count(first.unwrap_or(0))),
            },
            "load" => format!("a bulk load, commit {}", count(self.first_commit.unwrap_or(0))),
            "vertices" => format!("{many}vertices of {of_label}"),
            "vertex_property" => format!("{many}values of {property} of {of_label}"),
            "edge_property" => format!("{property} of {many}edges {edge_type} from {of_label}"),
            "index" => "an index".to_owned(),
            "notes" => format!("{many}notes of what the database follows"),
            _ => format!("{many}edges {edge_type} from {of_label} to {}", others.join(", ")),
        }
    }
}

impl SalvageReport {
    fn new(arguments: &SalvageArguments, made: &Salvaged, rows: Vec<LossRow>, took: Duration) -> Self {
        let (missing, damaged) = rows.into_iter().partition(|row| row.missing);
        let left = made.left;
        Self {
            database: arguments.database.display().to_string(),
            output: arguments.output.display().to_string(),
            complete: made.is_complete(),
            through: made.through.0,
            mixed_through: made.mixed_through.map(|at| at.0),
            vertices_count: made.vertices_count,
            edges_count: made.edges_count,
            missing,
            damaged,
            left_commits_count: left.count,
            left_commits: (left.count > 0).then_some([left.first_ts, left.last_ts]),
            checked: !arguments.no_check,
            seconds: took.as_secs_f64(),
        }
    }
}

impl fmt::Display for SalvageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} and {}, through commit {}, saved to {}{} in {}",
            visible(&self.database),
            counted(self.vertices_count, "vertex", "vertices"),
            counted(self.edges_count, "edge", "edges"),
            count(self.through),
            visible(&self.output),
            if self.checked { " and checked" } else { "" },
            time(Duration::from_secs_f64(self.seconds)),
        )?;
        if let Some(last) = self.mixed_through {
            let (through, last) = (count(self.through), count(last));
            writeln!(
                f,
                "it is no state of one moment: parts of it are as of later commits, up to {last} instead of {through}"
            )?;
        }
        if let Some([first, last]) = self.left_commits {
            let commits = counted(self.left_commits_count, "commit", "commits");
            let (first, last) = (count(first), count(last));
            writeln!(
                f,
                "{commits} from {first} to {last} verify, and weren't taken: they may build on missing ones"
            )?;
        }
        if self.complete {
            if !self.damaged.is_empty() {
                let places = counted(self.damaged.len() as u64, "damaged place", "damaged places");
                writeln!(f, "{places} held only data that is stored elsewhere, too")?;
            }
            return writeln!(f, "nothing is missing");
        }
        writeln!(f, "missing:")?;
        // Groups of vertices that are lost leave loose ends everywhere: one line a type says enough.
        let (loose, others): (Vec<&LossRow>, Vec<&LossRow>) =
            self.missing.iter().partition(|row| row.kind == "loose_edges");
        for row in others.iter().take(SHOWN) {
            writeln!(f, "  {}: {}", visible(&row.what()), visible(&row.problem))?;
            if let Some(file) = &row.file {
                let at = row.offset.map_or(String::new(), |at| format!(" at byte {}", count(at)));
                writeln!(f, "    in {}{at}", visible(file))?;
            }
        }
        let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
        for row in loose {
            *by_type.entry(row.edge_type.as_deref().unwrap_or("any type")).or_default() +=
                row.count.unwrap_or(0);
        }
        for (edge_type, edges) in by_type {
            writeln!(f, "  {} edges {}: an end of them is missing", count(edges), visible(edge_type))?;
        }
        match others.len().saturating_sub(SHOWN) {
            0 => {}
            more => writeln!(f, "  and {} more: --report FILE lists all", count(more as u64))?,
        }
        if self.damaged.is_empty() {
            return Ok(());
        }
        writeln!(f, "damaged, too:")?;
        for row in self.damaged.iter().take(SHOWN) {
            writeln!(f, "  {}", visible(&row.problem))?;
        }
        match self.damaged.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  and {} more: --report FILE lists all", count(more as u64)),
        }
    }
}
