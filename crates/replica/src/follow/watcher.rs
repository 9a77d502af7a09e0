//! `Watcher`: looks every second at what the follower does, and every ten at what the stream does not say.
//!
//! ```text
//! 1 s    status file, rates, requests to stop; a sync, if commits wait for one that nobody makes
//! 10 s   the slot: how much log it keeps; the catalogue: partitions, tables, columns
//! ```

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::follow::connect::{Followed, SourceLook};
use crate::follow::failure::{FollowFailure, NextStep};
use crate::follow::progress::FollowRequest;
use crate::follow::shared::Shared;
use crate::source::replica_source::ReplicaSource;
use crate::status::ReplicaState;
use crate::status_file::StatusFile;

const INTERVAL: Duration = Duration::from_secs(1);

/// Watches over a follower, on a thread of its own.
pub struct Watcher {
    /// What it shares with others.
    pub shared: Arc<Shared>,
    /// What is followed, by connections of its own.
    pub source: Box<dyn ReplicaSource>,
    /// Where the status goes; none of a database in memory.
    pub file: Option<StatusFile>,
}

impl Watcher {
    /// Watches until the follower is to stop, and waits for that; writes the last status.
    pub fn run(mut self, follower: JoinHandle<()>) {
        let interval = self.shared.options.intervals.watch;
        let (mut looked_at, mut counted) =
            (Instant::now(), (Instant::now(), self.shared.progress.status().rows));
        self.write();
        while !self.shared.progress.sleep(INTERVAL.min(interval)) {
            counted = self.rate(counted);
            if self.file.as_ref().is_some_and(StatusFile::is_stop_requested) {
                self.shared.progress.stop();
            }
            self.sync();
            // Before a look, which may wait for the source.
            self.write();
            if looked_at.elapsed() >= interval {
                looked_at = Instant::now();
                self.look();
            }
        }
        // Its panic was told as a pause.
        let _ended = follower.join();
        self.shared.epochs().clear();
        self.write();
    }

    fn rate(&self, (since, before): (Instant, u64)) -> (Instant, u64) {
        let (now, mut counted) = (Instant::now(), before);
        self.shared.progress.rate(|rows| {
            counted = rows;
            (rows - before) as f64 / now.saturating_duration_since(since).as_secs_f64().max(1e-9)
        });
        (now, counted)
    }

    /// Commits that nobody syncs would never be confirmed: those of mode `none`.
    fn sync(&self) {
        let database = &self.shared.database;
        if self.shared.progress.has_unconfirmed()
            && database.durable_through() < database.store().timeline().published()
            && let Err(error) = database.sync()
        {
            self.shared.progress.note_error(&error.to_string());
        }
    }

    fn write(&self) {
        let status = self.shared.progress.status();
        if let Some(file) = &self.file
            && let Err(error) = file.write(&status)
            // Why nothing is applied, such as a full disk, says more.
            && status.state != ReplicaState::Reconnecting
        {
            self.shared.progress.note_error(&error.to_string());
        }
    }

    /// Looks at the slot and at the catalogue.
    fn look(&mut self) {
        let shared = Arc::clone(&self.shared);
        let progress = &shared.progress;
        let followed = shared.followed();
        let stream = progress.stream();
        match self.source.slot_state(&followed.origin.slot) {
            Ok(state) => {
                if let Some(restart) = state.as_ref().and_then(|state| state.restart_lsn) {
                    progress.saw_slot(stream, restart);
                }
                let kept = state.and_then(|state| state.kept_bytes);
                if progress.retained(kept) {
                    let kept = kept.unwrap_or_default();
                    progress.note_error(&format!(
                        "the source keeps {kept} bytes of log for the slot {:?}, more than the alarm allows",
                        followed.origin.slot
                    ));
                }
            }
            Err(error) => return progress.note_error(&error.to_string()),
        }
        if progress.state() != ReplicaState::Following {
            return;
        }
        let request = match self.compare(&followed) {
            Ok(look) => {
                look.unanswered.iter().for_each(|question| progress.note_error(question));
                if look.known == followed.note.catalogue {
                    return;
                }
                FollowRequest::LookAgain
            }
            Err(failure) => match failure.next_step(true) {
                NextStep::Pause(pause) | NextStep::PauseUnlessCatalogue(pause) => FollowRequest::Pause(pause),
                NextStep::TryAgain(error) => return progress.note_error(&error),
                NextStep::LookAgain | NextStep::LearnColumns { .. } | NextStep::Stop => return,
            },
        };
        // The follower may know more by now than when the catalogue was read.
        if shared.followed().note.catalogue == followed.note.catalogue {
            progress.ask(request);
        }
    }

    fn compare(&mut self, followed: &Followed) -> Result<SourceLook, FollowFailure> {
        let plan = followed.plan()?;
        followed.look(&mut *self.source, &plan)
    }
}
