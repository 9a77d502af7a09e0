//! Report: what a check examined, and its findings; none means healthy.

use std::ops::ControlFlow;

use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::checkpoint::error::CheckpointError;

/// Findings that are kept with their text; more are counted.
const FINDINGS_MAX: usize = 100;
/// Told what is checked, how far it is, and how far there is to go, in the unit of that part; may
/// ask to stop.
pub type CheckProgress<'a> = dyn FnMut(&str, u64, u64) -> ControlFlow<()> + 'a;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, segment, vertex or edge.
    pub place: String,
    /// What is wrong with it.
    pub problem: String,
}

/// What a check looked at and found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What is wrong, the first hundred; empty if all is well.
    pub findings: Vec<Finding>,
    /// How many findings there were.
    pub findings_count: u64,
    /// Bytes whose checksums were compared.
    pub bytes_count: u64,
    /// Bodies that were decoded.
    pub bodies_count: u64,
    /// Commits of the log that were decoded.
    pub commits_count: u64,
    /// Vertices that were looked at.
    pub vertices_count: u64,
    /// Edges that were looked at, each once.
    pub edges_count: u64,
    /// Values that were looked up in indexes.
    pub indexed_values_count: u64,
    /// Entries of indexes.
    pub index_entries_count: u64,
    /// Entries among them that nobody has and nobody is about to remove, or that commits made while it was
    /// checked: harmless.
    pub stale_entries_count: u64,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.findings_count == 0
    }

    /// Notes that something is wrong.
    pub fn find(&mut self, place: impl Into<String>, problem: impl Into<String>) {
        self.findings_count += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { place: place.into(), problem: problem.into() });
        }
    }

    /// Puts the findings and counts of `other` behind these.
    pub fn add(&mut self, other: Report) {
        let room = FINDINGS_MAX - self.findings.len();
        self.findings.extend(other.findings.into_iter().take(room));
        self.findings_count += other.findings_count;
        self.bytes_count += other.bytes_count;
        self.bodies_count += other.bodies_count;
        self.commits_count += other.commits_count;
        self.vertices_count += other.vertices_count;
        self.edges_count += other.edges_count;
        self.indexed_values_count += other.indexed_values_count;
        self.index_entries_count += other.index_entries_count;
        self.stale_entries_count += other.stale_entries_count;
    }

    /// Damage becomes a finding; anything else ends the check.
    ///
    /// # Errors
    /// `error`, unless it is `corrupt`.
    pub fn take_in(&mut self, error: CheckpointError) -> Result<()> {
        match Error::from(error) {
            error if error.kind() == ErrorKind::Corrupt => {
                self.find("files", error.to_string());
                Ok(())
            }
            error => Err(error),
        }
    }
}

/// Asks whether to go on.
///
/// # Errors
/// `cancelled` if it is not.
pub fn tell(progress: &mut CheckProgress<'_>, what: &str, done: u64, total: u64) -> Result<()> {
    match progress(what, done, total) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CheckpointError::Cancelled.into()),
    }
}
