//! Replay: brings engine, catalogue and ids up to the end of the log, before the store is open.
//!
//! Indexes are not replayed: [`crate::store::Store::assemble`] builds them from the result,
//! since most of their entries are not in the log any more.

use crate::engine::Engine;
use crate::timeline::clock::Timeline;
use crate::transaction::payload;
use crate::vertex_ids::VertexIds;
use evergraph_graph::catalogue::{Catalogue, SchemaChange};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;

/// A store that is being recovered.
pub struct Replay<'a, E: Engine> {
    engine: &'a E,
    timeline: &'a Timeline,
    catalogue: Catalogue,
    ids: VertexIds,
}

impl<'a, E: Engine> Replay<'a, E> {
    /// Goes on from a checkpoint: its catalogue, its ids, and a timeline that has published it.
    #[must_use]
    pub fn new(engine: &'a E, timeline: &'a Timeline, catalogue: Catalogue, ids: VertexIds) -> Self {
        Self { engine, timeline, catalogue, ids }
    }

    /// Installs and publishes the commit `timestamp`, as the log has it.
    ///
    /// # Errors
    /// `corrupt` if the payload cannot be read or doesn't fit what is stored.
    pub fn payload(&mut self, timestamp: Timestamp, payload: &[u8]) -> Result<()> {
        self.mutations(timestamp, &payload::decode(timestamp, payload)?)
    }

    /// As [`Replay::payload`], decoded.
    ///
    /// # Errors
    /// `corrupt` if a mutation doesn't fit what is stored.
    pub fn mutations(&mut self, timestamp: Timestamp, mutations: &[Mutation]) -> Result<()> {
        if timestamp <= self.timeline.published() {
            let text = format!("commit {timestamp} follows commit {} in the log", self.timeline.published());
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        for mutation in mutations {
            match mutation {
                Mutation::Schema(change) => {
                    let differs = |error: Error| {
                        let text = format!("commit {timestamp} in the log changes the schema: {error}");
                        Error::new(ErrorKind::Corrupt, text)
                    };
                    // The catalogue of the checkpoint may be newer than this commit: it may name an index
                    // that took the place of this one. What the log says last is what counts.
                    let is_index = matches!(change, SchemaChange::AddIndex(_));
                    if is_index || self.catalogue.would_change(change).map_err(differs)? {
                        self.catalogue.apply(change);
                    }
                }
                Mutation::InsertVertex { vertex, label, .. } => {
                    self.engine.open_group(vertex.group(), *label);
                    self.ids.replayed(*vertex, *label);
                }
                _ => {}
            }
        }
        self.engine.replay(timestamp, mutations)?;
        self.timeline.publish(timestamp, &mut self.timeline.latch());
        Ok(())
    }

    /// The catalogue and the ids after the last commit.
    #[must_use]
    pub fn finish(self) -> (Catalogue, VertexIds) {
        (self.catalogue, self.ids)
    }
}
