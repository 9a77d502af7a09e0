//! `Follower`: begins one stream after another, until it pauses or is asked to stop.
//!
//! ```text
//!             ┌──────────── again, after 0.1 to 30 s ◄── the source doesn't answer, the disk is full
//!             ▼                                    ◄── at once: new columns, new partitions
//! connect ──> session ──> why it ended ──┤
//!                                        └──> paused: the slot is gone, a mapped column was dropped ...
//! ```

use std::sync::Arc;

use evergraph::ownership::Ownership;

use crate::apply::applier::Applier;
use crate::apply::bulk_plan::BulkPlan;
use crate::follow::back_off::BackOff;
use crate::follow::connect::Followed;
use crate::follow::failure::{FollowFailure, NextStep};
use crate::follow::known_translator::KnownTranslator;
use crate::follow::session::Session;
use crate::follow::shared::Shared;
use crate::source::replica_source::ReplicaSource;
use crate::status::ReplicaState;

/// Follows a source, on a thread of its own.
pub struct Follower {
    /// What it shares with others.
    pub shared: Arc<Shared>,
    /// What it follows.
    pub source: Box<dyn ReplicaSource>,
    /// What is known of it.
    pub followed: Followed,
    /// The right to write.
    pub ownership: Ownership,
    /// How long it waits after failures.
    pub back_off: BackOff,
}

impl Follower {
    /// Follows until somebody asks it to stop. A pause is waited out.
    pub fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let progress = &shared.progress;
        loop {
            let failure = self.follow_once();
            let next = match failure.next_step() {
                NextStep::LearnColumns(relation) => {
                    let (source, ownership) = (&mut *self.source, &mut self.ownership);
                    match self.followed.learn_columns(source, ownership, &relation) {
                        Ok(()) => NextStep::LookAgain,
                        Err(failure) => failure.next_step(),
                    }
                }
                next => next,
            };
            match next {
                NextStep::LookAgain | NextStep::LearnColumns(_) => {}
                NextStep::TryAgain(error) => {
                    progress.set_state(ReplicaState::Reconnecting);
                    progress.broke_off(&error);
                    if progress.sleep(self.back_off.failed()) {
                        break;
                    }
                }
                NextStep::Pause(pause) => {
                    progress.note_error(&pause.cause);
                    progress.set_state(pause.into());
                    progress.wait_for_stop();
                    return;
                }
                NextStep::Stop => break,
            }
        }
        progress.set_state(ReplicaState::Stopped);
    }

    /// Follows by one stream; why it ended.
    fn follow_once(&mut self) -> FollowFailure {
        match self.try_to_follow() {
            Ok(failure) | Err(failure) => failure,
        }
    }

    fn try_to_follow(&mut self) -> Result<FollowFailure, FollowFailure> {
        let shared = Arc::clone(&self.shared);
        if shared.progress.is_stopping() {
            return Ok(FollowFailure::Stopped);
        }
        let connected = self.followed.connect(&mut *self.source, &mut self.ownership)?;
        shared.set_followed(&self.followed);
        let applier = Applier::open(&mut self.ownership, Arc::clone(&connected.plan))?;
        let mut applier = applier.cancelled_by(shared.progress.cancel.clone());
        let plan = BulkPlan::new(Arc::clone(&connected.plan));
        let stream = self.source.stream(&self.followed.stream_request(connected.position))?;
        // It is durable since it was read.
        stream.confirm(connected.position.end);
        shared.progress.begin_stream(connected.position, connected.identity.log_end);
        shared.progress.set_state(ReplicaState::Following);
        let known = Arc::new(self.followed.note.catalogue.clone());
        let translator = KnownTranslator::new(Arc::clone(&connected.plan), known);
        let ownership = &mut self.ownership;
        let session = Session::new(&shared, ownership, &mut applier, &connected, &plan, translator, stream)?;
        let (failure, has_received) = session.run();
        if has_received {
            self.back_off.succeeded();
        }
        Ok(failure)
    }
}
