//! Replay: installs the commits of the log, before the store is open.
//!
//! ```text
//! frame, frame, frame ... ──decode──> catalogue, ids, groups, notes   at once
//!                                     batch of mutations       at so many of them, or 4 MiB of payload:
//!                                                              install, publish the last commit
//! ```
//!
//! Nobody reads meanwhile, so commits need not become visible one by one: a batch goes to each segment
//! in one piece, which is a sort and one run instead of a tail that fills up again and again.
//!
//! The front's indexes are not replayed: [`crate::store::Store::assemble`] builds them from the result,
//! since most of their entries are not in the log any more.

use crate::engine::Engine;
use crate::planted::{Bug, planted};
use crate::timeline::clock::Timeline;
use crate::transaction::payload;
use crate::vertex_ids::VertexIds;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::Notes;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;

/// Mutations that are installed at once if nobody says: enough that each segment of a large graph gets more
/// than a few.
pub const BATCH_MUTATIONS: usize = 64 << 10;
/// Payload that is installed at once, whatever it comes to.
const BATCH_BYTES: usize = 4 << 20;

/// What the front keeps, after the last commit.
#[derive(Debug, Default)]
pub struct Replayed {
    /// The names.
    pub catalogue: Catalogue,
    /// The ids that were given out.
    pub ids: VertexIds,
    /// The notes.
    pub notes: Notes,
    /// The newest commit of the log that changes a note; zero if none does.
    pub newest_note: Timestamp,
}

/// A store that is being recovered.
pub struct Replay<'a, E: Engine> {
    engine: &'a E,
    timeline: &'a Timeline,
    front: Replayed,
    /// The newest commit that was read.
    newest: Timestamp,
    /// What is not installed yet.
    batch: Vec<(Timestamp, Mutation)>,
    batch_bytes: usize,
    batch_mutations: usize,
}

impl<'a, E: Engine> Replay<'a, E> {
    /// Goes on from a checkpoint: its catalogue, its ids, and a timeline that has published it.
    #[must_use]
    pub fn new(engine: &'a E, timeline: &'a Timeline, catalogue: Catalogue, ids: VertexIds) -> Self {
        let newest = timeline.published();
        let (batch, batch_mutations) = (Vec::new(), BATCH_MUTATIONS);
        let front = Replayed { catalogue, ids, notes: Notes::default(), newest_note: Timestamp::ZERO };
        Self { engine, timeline, front, newest, batch, batch_bytes: 0, batch_mutations }
    }

    /// The same, whose checkpoint has these notes.
    #[must_use]
    pub fn with_notes(mut self, notes: Notes) -> Self {
        self.front.notes = notes;
        self
    }

    /// The same, which installs whenever it has `mutations` of whole commits.
    #[must_use]
    pub fn in_batches_of(self, mutations: usize) -> Self {
        Self { batch_mutations: mutations, ..self }
    }

    /// Takes in the commit `timestamp`, as the log has it. It is installed and published by
    /// [`Replay::finish`] at the latest.
    ///
    /// # Errors
    /// `corrupt` if the payload cannot be read or doesn't fit what is stored.
    pub fn payload(&mut self, timestamp: Timestamp, payload: &[u8]) -> Result<()> {
        if timestamp <= self.newest {
            let text = format!("commit {timestamp} follows commit {} in the log", self.newest);
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        payload::decode_each(timestamp, payload, |mutation| self.mutation(timestamp, mutation))?;
        self.newest = timestamp;
        self.batch_bytes += payload.len();
        if self.batch.len() >= self.batch_mutations || self.batch_bytes >= BATCH_BYTES {
            self.install()?;
        }
        Ok(())
    }

    fn mutation(&mut self, timestamp: Timestamp, mutation: Mutation) -> Result<()> {
        match &mutation {
            Mutation::Schema(change) => {
                let differs = |error: Error| {
                    let text = format!("commit {timestamp} in the log changes the schema: {error}");
                    Error::new(ErrorKind::Corrupt, text)
                };
                if let SchemaChange::DropIndex(id) = change {
                    self.engine.drop_index(*id);
                }
                return self.front.catalogue.replay(change).map_err(differs);
            }
            Mutation::InsertVertex { vertex, label, .. } => {
                self.engine.open_group(vertex.group(), *label);
                if !planted(Bug::IdsForgotten) {
                    self.front.ids.replayed(*vertex, *label);
                }
            }
            Mutation::Note(change) => {
                self.front.notes.apply(change);
                self.front.newest_note = timestamp;
                return Ok(());
            }
            _ => {}
        }
        self.batch.push((timestamp, mutation));
        Ok(())
    }

    /// Installs and publishes what was taken in.
    fn install(&mut self) -> Result<()> {
        self.engine.replay(&self.batch)?;
        self.batch.clear();
        self.batch_bytes = 0;
        if self.newest > self.timeline.published() {
            self.timeline.publish(self.newest, &mut self.timeline.latch());
        }
        Ok(())
    }

    /// What the front keeps, after the last commit.
    ///
    /// # Errors
    /// `corrupt` if a mutation doesn't fit what is stored.
    pub fn finish(mut self) -> Result<Replayed> {
        self.install()?;
        Ok(self.front)
    }
}
