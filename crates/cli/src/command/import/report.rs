//! Report: what an import did, for people and programs.

use crate::loading::LabelRow;
use evergraph::import::policy::PolicyCounts;
use evergraph_terminal::number::{counted, size};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;

/// Files of a kind that a summary names.
const FILES_SHOWN: usize = 10;

/// Notes that a summary has.
const NOTES_SHOWN: usize = 30;

/// A mapping file that isn't written yet.
#[derive(Debug, Serialize)]
pub(super) struct ProposedMapping {
    pub(super) mapping: String,
}

impl fmt::Display for ProposedMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mapping)
    }
}

/// What an import did.
#[derive(Debug, Serialize)]
pub(super) struct ImportReport<L> {
    /// What was added, to a folder or on a server.
    #[serde(flatten)]
    pub(super) load: L,
    pub(super) bad_rows: BadRowsReport,
    pub(super) settled: PolicyReport,
    /// What `--memory` said or was; `null` of a server.
    pub(super) memory_bytes: Option<u64>,
    /// Bytes of rows that went through the temporary file.
    pub(super) spilled_bytes: u64,
    pub(super) notes: Vec<String>,
    pub(super) ignored_files: Vec<String>,
    pub(super) guessed_files: Vec<String>,
}

/// What was done as `--on-duplicate` and `--on-unknown` say, and to files without direction.
#[derive(Debug, Serialize)]
pub(super) struct PolicyReport {
    pub(super) duplicates: u64,
    pub(super) unknown: u64,
    pub(super) repeated_pairs: u64,
    pub(super) created: Vec<LabelRow>,
}

impl From<PolicyCounts> for PolicyReport {
    fn from(settled: PolicyCounts) -> Self {
        let PolicyCounts { duplicates, unknown, created, repeated_pairs } = settled;
        let created = created.into_iter().map(|(label, vertices)| LabelRow { label, vertices });
        Self { duplicates, unknown, repeated_pairs, created: created.collect() }
    }
}

impl fmt::Display for PolicyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, one, many) in [
            (self.duplicates, "repeated vertex (--on-duplicate)", "repeated vertices (--on-duplicate)"),
            (self.unknown, "edge to a missing vertex", "edges to missing vertices"),
            (
                self.repeated_pairs,
                "repeated edge of files without direction",
                "repeated edges of files without direction",
            ),
        ] {
            if count > 0 {
                writeln!(f, "left out {}", counted(count, one, many))?;
            }
        }
        for LabelRow { label, vertices } in &self.created {
            let vertices = counted(*vertices, "vertex", "vertices");
            writeln!(f, "created {vertices} of label {} for edges that name them", visible(label))?;
        }
        Ok(())
    }
}

/// Rows that could not be loaded.
#[derive(Debug, Serialize)]
pub(super) struct BadRowsReport {
    pub(super) count: u64,
    pub(super) first: Vec<String>,
    /// The file that has them all.
    pub(super) report: Option<String>,
}

impl<L: fmt::Display> fmt::Display for ImportReport<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.load)?;
        write!(f, "{}", self.settled)?;
        if self.spilled_bytes > 0 {
            let memory = self.memory_bytes.map(|bytes| format!(": memory was {} (--memory)", size(bytes)));
            let (spilled, memory) = (size(self.spilled_bytes), memory.unwrap_or_default());
            writeln!(f, "{spilled} of rows went through a temporary file{memory}")?;
        }
        self.notes.iter().take(NOTES_SHOWN).try_for_each(|note| writeln!(f, "{}", visible(note)))?;
        if let Some(more) = self.notes.len().checked_sub(NOTES_SHOWN).filter(|more| *more > 0) {
            writeln!(f, "and {more} more notes (--json lists all)")?;
        }
        let BadRowsReport { count, first, report } = &self.bad_rows;
        if *count > 0 {
            let rows = counted(*count, "bad row", "bad rows");
            match report {
                Some(report) => writeln!(f, "left out {rows}; {} lists all:", visible(report))?,
                None => writeln!(f, "left out {rows} (--report FILE keeps them):")?,
            }
            first.iter().try_for_each(|row| writeln!(f, "  {}", visible(row)))?;
            if *count > first.len() as u64 {
                writeln!(f, "  ...")?;
            }
        }
        let ignored = |files| format!("left out {files} of unknown format");
        write_files(f, &self.ignored_files, &ignored)?;
        if !self.guessed_files.is_empty() {
            let files = counted(self.guessed_files.len() as u64, "file", "files");
            writeln!(
                f,
                "how to read {files} was guessed: evergraph import --propose writes a mapping to edit"
            )?;
        }
        Ok(())
    }
}

/// Writes what `title` says of the number of `files`, and the first ones.
fn write_files(
    f: &mut fmt::Formatter<'_>,
    files: &[String],
    title: &dyn Fn(String) -> String,
) -> fmt::Result {
    if files.is_empty() {
        return Ok(());
    }
    writeln!(f, "{}:", title(counted(files.len() as u64, "file", "files")))?;
    files.iter().take(FILES_SHOWN).try_for_each(|file| writeln!(f, "  {}", visible(file)))?;
    match files.len().saturating_sub(FILES_SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "  and {more} more (--json lists all)"),
    }
}
