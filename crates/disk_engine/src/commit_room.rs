//! Commit room: everything a commit needs ahead of the latch: its records sorted, its room promised, and time for the
//! flush to keep up.
//!
//! ```text
//! sort ──> types of groups noted ──> pacing: wait for the flush, up to the commit's patience
//!   ├ small: room promised in the open graph and the one that follows it; what the graph grew by is reserved
//!   └ large: a graph of its own, and one to follow it
//! ```
//!
//! Where the budget refuses memory it is eased in turn: graphs kept for conflict checks go, then the open graph is
//! frozen and written. Where nobody flushes in the background, the writer does.
//!
//! Source: disk-engine, sections 4 and 7.

use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::generation::Generation;
use crate::graph_supply::GraphSupply;
use crate::memory_graph::graph::{MemoryGraph, PreparedCommit};
use crate::memory_graph::index_entries::IndexRecord;
use crate::memory_graph::reserved_memory::GRAPHS_PURPOSE;
use crate::memory_graph::sorted_commit::SortedCommit;
use crate::pacing::Backlog;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::mutation::Mutation;
use evergraph_storage::io::environment::Background;
use std::sync::Arc;
use std::time::Duration;

/// Who flushes graphs that a writer waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlushedBy {
    /// The thread that flushes in the background.
    Background,
    /// The writer itself, in a store without threads.
    Writer,
}

/// A commit with room in memory. Dropped without being appended, it leaves no trace but the edge types that its groups
/// may have.
#[derive(Debug)]
pub struct PreparedWrite {
    pub(crate) room: WriteRoom,
    /// What leaves indexes, for the log.
    leaving: Vec<Mutation>,
}

impl PreparedWrite {
    /// What leaves indexes, for the log.
    #[must_use]
    pub fn leaving(&self) -> &[Mutation] {
        &self.leaving
    }

    /// The same, which has `leaving` in the log.
    #[must_use]
    pub(crate) fn with_leaving(self, leaving: Vec<Mutation>) -> Self {
        Self { leaving, ..self }
    }
}

/// Where a commit goes.
#[derive(Debug)]
pub(crate) enum WriteRoom {
    /// Goes into the open graph.
    Small(Box<PreparedCommit>),
    /// Brings a graph of its own.
    Large(Box<LargeCommit>),
}

/// The graph of one large commit, and the one that is opened behind it.
#[derive(Debug)]
pub struct LargeCommit {
    pub(crate) graph: Arc<MemoryGraph>,
    pub(crate) next: MemoryGraph,
}

impl DiskEngine {
    /// Prepares a commit, ahead of the latch. Waits for about `patience` at most.
    ///
    /// # Errors
    /// `limit` if the flush or the budget leaves no room in that time; `corrupt` if a record is of a group that does
    /// not exist.
    pub(crate) fn prepare_write(
        &self,
        commit: SortedCommit,
        index_records: Vec<IndexRecord>,
        patience: Duration,
    ) -> Result<PreparedWrite> {
        self.note_types(&commit)?;
        let clock = self.timeline().clock();
        let began = clock.now();
        let flushed_by = match self.background() {
            Background::Threads => FlushedBy::Background,
            Background::Stepped => FlushedBy::Writer,
        };
        self.keep_pace(flushed_by, commit.len(), patience)?;
        let patience = patience.saturating_sub(clock.now().saturating_sub(began));
        self.make_room(commit, index_records, flushed_by, patience)
    }

    /// Prepares a commit of the log, before the engine is shared. Nobody flushes in the background yet, so this does:
    /// what was published since, as long as the disk takes it.
    ///
    /// # Errors
    /// As [`DiskEngine::prepare_write`]; what a flush says without which there is no memory.
    pub(crate) fn prepare_replayed(
        &self,
        commit: SortedCommit,
        index_records: Vec<IndexRecord>,
    ) -> Result<PreparedWrite> {
        self.note_types(&commit)?;
        // A graph whose commits are not all published waits for the next batch; the open one grows meanwhile. So it does
        // on a disk that is full: the log has all of it, and whoever reads or deletes something must open the database.
        if self.pacing().failure().is_none() {
            match self.catch_up(FlushedBy::Writer, Duration::ZERO, || self.backlog().is_none()) {
                // `limit` is a full disk's, too.
                Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Limit) => {
                    self.pacing().note_failure(error.to_string());
                }
                answer => drop(answer?),
            }
        }
        self.make_room(commit, index_records, FlushedBy::Writer, Duration::ZERO)
    }

    fn make_room(
        &self,
        commit: SortedCommit,
        index_records: Vec<IndexRecord>,
        flushed_by: FlushedBy,
        patience: Duration,
    ) -> Result<PreparedWrite> {
        let leaving = Vec::new();
        let clock = self.timeline().clock();
        let began = clock.now();
        let left = || patience.saturating_sub(clock.now().saturating_sub(began));
        let bytes = GraphSupply::bytes_of(&commit, &index_records);
        if self.supply().is_large(&commit, bytes) {
            let ahead = self.eased(flushed_by, left(), || self.budget().reserve(GRAPHS_PURPOSE, bytes))?;
            let graph = Arc::new(MemoryGraph::of_commit(commit, index_records)?);
            // In place of that, what it really takes.
            drop(ahead);
            self.eased(flushed_by, left(), || graph.reserve(&**self.budget()))?;
            let next = self.eased(flushed_by, left(), || self.supply().open())?;
            let room = WriteRoom::Large(Box::new(LargeCommit { graph, next }));
            return Ok(PreparedWrite { room, leaving });
        }
        let promise = || self.tree().open_graph().promise(&commit, &index_records);
        let prepared = Box::new(self.eased(flushed_by, left(), promise)?.filled(commit, index_records));
        self.supply().keep_ready(&self.tree().open_graph());
        self.eased(flushed_by, left(), || self.tree().open_graph().reserve_with_promised(&**self.budget()))?;
        Ok(PreparedWrite { room: WriteRoom::Small(prepared), leaving })
    }

    /// Notes which types the groups of a commit have edges of, so that every view that sees the commit knows.
    fn note_types(&self, commit: &SortedCommit) -> Result<()> {
        for (subject, group) in commit.segments() {
            if !self.groups().add_subject(group, subject) {
                let text =
                    format!("a commit changes vertices or edges of group {}, which does not exist", group.0);
                return Err(Error::new(ErrorKind::Corrupt, text));
            }
        }
        Ok(())
    }

    fn backlog(&self) -> Option<Backlog> {
        self.tree()
            .with_current(|current| self.limits().backlog(current.frozen().len(), current.set.flushed_runs()))
    }

    /// Waits while the flush or the compaction is behind.
    fn keep_pace(&self, flushed_by: FlushedBy, records: usize, patience: Duration) -> Result<()> {
        let runs = self.tree().with_current(|current| current.set.flushed_runs());
        let slowed = self.limits().slowed(runs);
        let Some(backlog) = self.backlog() else {
            if flushed_by == FlushedBy::Background {
                let records = u32::try_from(records).unwrap_or(u32::MAX);
                self.pacing().slow(&**self.timeline().clock(), slowed.saturating_mul(records), patience);
            }
            return Ok(());
        };
        self.pacing().wake_background();
        if self.catch_up(flushed_by, patience, || self.backlog().is_none())? {
            return Ok(());
        }
        Err(self.stall_error(self.backlog().unwrap_or(backlog), patience))
    }

    /// What `reserve` returns, which the budget may refuse: then memory graphs go, one after the other, and it is called
    /// again.
    fn eased<T>(
        &self,
        flushed_by: FlushedBy,
        patience: Duration,
        mut reserve: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let mut refused = match reserve() {
            Err(refused) if refused.kind() == ErrorKind::Limit => refused,
            answer => return answer,
        };
        // What is kept for old writers alone goes first: they are told that it was forgotten.
        drop(self.tree().current().retained.free_graphs(None));
        if let Ok(reserved) = reserve() {
            return Ok(reserved);
        }
        // The open graph is next. Without memory for another one, those that are frozen must do; if there are none, its
        // flush frees what the other one takes beyond the limit.
        if self.backlog().is_none() {
            let has_frozen = self.tree().with_current(|current| !current.frozen().is_empty());
            let frozen =
                if has_frozen { self.freeze_open() } else { self.freeze_and(|_| ()).map(|all| all.0) };
            match frozen {
                Err(refused) if refused.kind() != ErrorKind::Limit => return Err(refused),
                Ok(_) | Err(_) => self.pacing().wake_background(),
            }
        }
        let mut reserved = None;
        // Nothing, which is refused as long as the limit is passed.
        let is_within = || self.budget().reserve(GRAPHS_PURPOSE, 0);
        let is_done = || match is_within().and_then(|_| reserve()) {
            Ok(found) => {
                reserved = Some(found);
                true
            }
            Err(again) => {
                refused = again;
                false
            }
        };
        self.catch_up(flushed_by, patience, is_done)?;
        reserved.ok_or_else(|| {
            let failure = self.pacing().failure().map_or_else(String::new, |failure| format!(" ({failure})"));
            let text = format!(
                "there is no memory for new commits, and a wait of {patience:.1?} for flushes did not help{failure}: \
                 {refused}"
            );
            Error::new(ErrorKind::Limit, text).because(refused)
        })
    }

    /// Waits until `is_done`, or flushes until it is, where nobody else does; whether it is then.
    fn catch_up(
        &self,
        flushed_by: FlushedBy,
        patience: Duration,
        mut is_done: impl FnMut() -> bool,
    ) -> Result<bool> {
        let clock = &**self.timeline().clock();
        if flushed_by == FlushedBy::Background {
            return Ok(self.pacing().wait_until(clock, patience, is_done));
        }
        if is_done() {
            return Ok(true);
        }
        let began = clock.now();
        let done = loop {
            let oldest = self.oldest_frozen();
            if !self.flush_oldest()? {
                // A commit that froze the graph and is not published yet has the latch. One that was frozen since may
                // not be published either: it is waited for in the next turn.
                drop(self.timeline().latch());
                if !self.flush_oldest()? && !is_another(oldest, self.oldest_frozen()) {
                    break is_done();
                }
            }
            if is_done() {
                break true;
            }
        };
        self.pacing().stalled(clock.now().saturating_sub(began));
        Ok(done)
    }

    fn oldest_frozen(&self) -> Option<Arc<Generation<CsrFile>>> {
        self.tree().with_current(|current| current.frozen().first().cloned())
    }

    #[cold]
    fn stall_error(&self, backlog: Backlog, patience: Duration) -> Error {
        let what = match backlog {
            Backlog::FrozenGraphs(count) => format!("{count} memory graphs wait to be written to files"),
            Backlog::Runs(count) => format!("{count} sorted runs of level 0 wait for their compaction"),
        };
        let cause = self.pacing().failure_of(backlog).unwrap_or_else(|| {
            "the disk cannot keep up with writes, or the log's sync takes too long; try again later"
                .to_owned()
        });
        let text = format!("{what}, as many as may, and a wait of {patience:.1?} did not help: {cause}");
        Error::new(ErrorKind::Limit, text)
    }
}

/// Whether the oldest graph that waits isn't the one that was.
fn is_another(before: Option<Arc<Generation<CsrFile>>>, now: Option<Arc<Generation<CsrFile>>>) -> bool {
    now.is_some_and(|now| before.is_none_or(|before| !Arc::ptr_eq(&before, &now)))
}
