//! Salvaged: what a salvage saved, and what it lost.

use evergraph_graph::timestamp::Timestamp;

use crate::log::damaged_log::UnusedCommits;
use crate::salvage::loss::Loss;

/// What was saved, and what wasn't.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Salvaged {
    /// X: every commit through this one is in the new database, less what is missing.
    pub through: Timestamp,
    /// If bodies hold commits that the log lost, or some groups are older than the rest: the last commit of all. What
    /// was saved is no state of one moment then, but each group's as of some commit from X up to this one.
    pub mixed_through: Option<Timestamp>,
    /// Vertices in the new database.
    pub vertices_count: u64,
    /// Edges in it.
    pub edges_count: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// What is damaged, and what of that is missing.
    pub losses: Vec<Loss>,
    /// Commits that verify behind a missing one, and were not taken.
    pub left: UnusedCommits,
}

impl Salvaged {
    /// One in which no vertex was found: what `losses` list is missing.
    #[must_use]
    pub fn new(through: Timestamp, losses: Vec<Loss>, left: UnusedCommits) -> Self {
        let (vertices_count, edges_count, bytes_written) = (0, 0, 0);
        Self { through, mixed_through: None, vertices_count, edges_count, bytes_written, losses, left }
    }

    /// Whether nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.losses.iter().any(Loss::is_missing)
    }
}
