//! `Follower`: begins one stream after another, until it pauses or is asked to stop.
//!
//! ```text
//!             ┌──────────── again, after 0.1 to 30 s ◄── the source doesn't answer or lets nobody in, the disk is full
//!             ▼                                    ◄── at once: new columns, new partitions
//! connect ──> session ──> why it ended ──┤
//!                                        └──> paused: the slot is gone, a mapped column was dropped ...
//! ```

use std::sync::Arc;
use std::time::Duration;

use evergraph::ownership::Ownership;

use crate::apply::applier::Applier;
use crate::apply::bulk_plan::BulkPlan;
use crate::follow::added_columns::AddedColumns;
use crate::follow::back_off::BackOff;
use crate::follow::connect::{Followed, write_note};
use crate::follow::failure::{FollowFailure, NextStep};
use crate::follow::known_translator::KnownTranslator;
use crate::follow::pause::{MISSED_NOTE, Pause};
use crate::follow::session::Session;
use crate::follow::shared::Shared;
use crate::follow::slot_note::{SLOT_NOTE, SlotNote};
use crate::source::replica_source::ReplicaSource;
use crate::status::ReplicaState;

/// How often a slot is looked at until the server's sender has let go of it, which takes it a moment.
const RELEASE_LOOKS_MAX: u32 = 50;
const RELEASE_PAUSE: Duration = Duration::from_millis(20);

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
    /// The timeline of the source at the beginning of the newest stream, if there was one.
    pub timeline: Option<u32>,
}

impl Follower {
    /// Follows until somebody asks it to stop. A pause is waited out.
    pub fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let progress = &shared.progress;
        loop {
            let failure = self.follow_once();
            let place = failure.place();
            let next = match failure.next_step(self.timeline.is_some()) {
                NextStep::LearnColumns { relation, end } => {
                    let (source, ownership) = (&mut *self.source, &mut self.ownership);
                    match self.followed.learn_columns(source, ownership, &relation, end) {
                        Ok(()) => NextStep::LookAgain,
                        Err(failure) => failure.next_step(self.timeline.is_some()),
                    }
                }
                NextStep::PauseUnlessCatalogue(pause) => NextStep::Pause(self.reason_of_catalogue(pause)),
                next => next,
            };
            match next {
                NextStep::LookAgain | NextStep::LearnColumns { .. } => {}
                NextStep::TryAgain(error) => {
                    progress.broke_off(&error, place);
                    if progress.sleep(self.back_off.failed()) {
                        break;
                    }
                }
                NextStep::Pause(pause) | NextStep::PauseUnlessCatalogue(pause) => {
                    progress.note_error(&pause.cause);
                    if pause.is_lasting
                        && let Err(error) = self.keep(&pause)
                    {
                        progress.note_error(&format!("keep the cause of a pause: {error}"));
                    }
                    progress.set_state(pause.into());
                    progress.wait_for_stop();
                    return;
                }
                NextStep::Stop => break,
            }
        }
        if let Err(error) = self.note_slot() {
            progress.note_error(&format!("note how far the slot is: {error}"));
        }
        progress.set_state(ReplicaState::Stopped);
    }

    /// Notes how far the slot is when nobody reads from it any more, also after a run that was too short for the watcher to see it
    /// twice. What the slot is then is saved: the server's sender saves it before it lets go of it.
    fn note_slot(&mut self) -> Result<(), FollowFailure> {
        let Some(timeline) = self.timeline else { return Ok(()) };
        let slot = self.shared.followed().origin.slot.clone();
        for _ in 0..RELEASE_LOOKS_MAX {
            let Some(state) = self.source.slot_state(&slot)? else { return Ok(()) };
            if state.active_process.is_some() {
                std::thread::sleep(RELEASE_PAUSE);
                continue;
            }
            let Some(restart) = state.restart_lsn else { return Ok(()) };
            let known = SlotNote::of(&self.ownership.database().snapshot())?;
            if known.is_none_or(|known| known.timeline != timeline || known.restart < restart) {
                write_note(&mut self.ownership, SLOT_NOTE, &SlotNote { timeline, restart }.encode())?;
            }
            return Ok(());
        }
        Ok(())
    }

    /// The pause for what the source's catalogue says, if that is one, else `pause`.
    fn reason_of_catalogue(&mut self, pause: Pause) -> Pause {
        let found = self.followed.plan().map_err(FollowFailure::from);
        match found.and_then(|plan| self.followed.look(&mut *self.source, &plan)) {
            Err(FollowFailure::Pause(found)) => {
                self.shared.progress.note_error(&pause.cause);
                found
            }
            _ => pause,
        }
    }

    /// Notes a pause, so that it comes again.
    fn keep(&mut self, pause: &Pause) -> evergraph_graph::error::Result<()> {
        if Pause::kept(&self.ownership.database().snapshot())?.is_none() {
            write_note(&mut self.ownership, MISSED_NOTE, &pause.note())?;
            self.ownership.database().sync()?;
        }
        Ok(())
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
        self.timeline = Some(connected.identity.timeline);
        // It is durable since it was read.
        stream.confirm(connected.position.end);
        shared.progress.begin_stream(connected.position, connected.identity.log_end);
        let known = Arc::new(self.followed.note.catalogue.clone());
        let added = AddedColumns::behind(connected.position.end, &shared.database.snapshot())?;
        let translator = KnownTranslator::new(Arc::clone(&connected.plan), known, &added);
        let ownership = &mut self.ownership;
        let session = Session::new(&shared, ownership, &mut applier, &connected, &plan, translator, stream)?;
        let (failure, has_received) = session.run();
        if has_received {
            self.back_off.succeeded();
        }
        Ok(failure)
    }
}
