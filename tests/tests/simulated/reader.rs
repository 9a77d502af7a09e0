//! Reader: a process that reads the database of a simulation while its store writes, beside the model.
//!
//! ```text
//! first step that changes something    the reader opens the database
//! each of them                         it sees a commit, never an older one than before, and the graph of that commit
//! every 16th                           a snapshot that it kept since is what it was
//! Reopen                               it is there while the store is closed, and gone before it is opened
//! Kill, power cut                      it ends with the machine, and closes nothing
//! ```
//!
//! The mapped engine alone has readers. There are none where the disk has a fault: the store is asked what it met, and a reader could
//! meet it instead. Readers that outlive a process that writes are in `tests/tests/readers` and `model`.

use crate::front::model::dump;
use crate::simulated::history::State;
use crate::simulated::run::{Outcome, ROWS, Run};
use crate::simulated::steps::Step;
use evergraph_bodies::edge_body::HUB_DEGREE;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_engines::reader::{OpenReader, open_reader};
use evergraph_graph::view::GraphView as _;
use evergraph_storage::log::options::Durability;
use evergraph_storage::snapshot::handle::Snapshot;
use std::sync::Arc;

/// A snapshot is kept for so many looks: until merges and checkpoints have replaced what it reads.
const KEPT_FOR: u64 = 16;

pub struct Reader {
    open: OpenReader,
    kept: Option<(Snapshot<AnyEngine>, Arc<State>)>,
    looks: u64,
    /// The newest commit that it saw.
    seen: u64,
}

impl Run {
    /// Compares what a reader sees after `step`, before which `before` was the newest commit. The first time, it opens the database.
    pub fn look(&mut self, step: Step, before: u64) -> Outcome {
        let has_reader = self.settings.engine == EngineKind::Mapped && self.settings.fault.is_none();
        let changes = match step {
            Step::Write { .. } | Step::RollBack { .. } | Step::Snapshot | Step::CloseSnapshot { .. } => false,
            Step::Checkpoint { .. } => true,
            // A hub takes long to compare.
            _ => self.head.graph.edges.len() < HUB_DEGREE,
        };
        if !has_reader || !changes || self.history.is_doubtful {
            return Ok(());
        }
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => Reader::open(self)?,
        };
        let looked = reader.look(self, step, before);
        self.reader = Some(reader);
        self.history.looks += 1;
        looked
    }
}

impl Reader {
    fn open(run: &Run) -> Result<Self, String> {
        let open = open_reader(Arc::new(run.directory.clone()), &run.options());
        let open = open.map_err(|error| format!("open a reader: {error}"))?;
        Ok(Self { open, kept: None, looks: 0, seen: 0 })
    }

    fn look(&mut self, run: &Run, step: Step, before: u64) -> Outcome {
        let snapshot = self.open.store().snapshot();
        let (at, readable) = (snapshot.timestamp().0, run.store().timeline().readable().0);
        // Other steps, in other modes, tell readers with the next commit.
        let is_acknowledged = matches!(step, Step::Commit { .. })
            && readable > before
            && run.settings.durability == Durability::Sync;
        let least = if is_acknowledged { readable } else { self.seen };
        if !(least..=readable).contains(&at) {
            return Err(format!("a reader sees commit {at} of {least} to {readable}"));
        }
        self.seen = at;
        let states = &run.history.lives.last().expect("open").states;
        let state = states.get(&at).and_then(|states| states.last());
        let state = state.ok_or_else(|| format!("a reader sees commit {at}, which nobody made"))?;
        check(&snapshot, state, "a reader sees another graph")?;
        self.looks += 1;
        if self.looks.is_multiple_of(KEPT_FOR)
            && let Some((old, state)) = self.kept.take()
        {
            check(&old, &state, "a reader's snapshot changed")?;
        }
        self.kept.get_or_insert_with(|| (snapshot, Arc::clone(state)));
        Ok(())
    }
}

/// Notes are not shared.
fn check(snapshot: &Snapshot<AnyEngine>, state: &State, what: &str) -> Outcome {
    if dump(snapshot, ROWS) == state.graph {
        return Ok(());
    }
    Err(format!("{what}: that of commit {}", snapshot.timestamp()))
}
