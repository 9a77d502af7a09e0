//! Discriminators: numbers that tell parallel edges apart, and new ones if another transaction was first.
//!
//! An added edge takes the lowest discriminator that no open snapshot sees and no record names. If
//! another transaction commits an edge of that name first, nothing conflicts: the edge gets the next. Where a shared log
//! decides, it takes the lowest that is free at S, and such a commit conflicts.

use crate::engine::Engine;
use crate::snapshot::session::Session;
use crate::transaction::describe;
use crate::transaction::writes::{EdgeWrite, Writes};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use std::collections::BTreeSet;

/// The lowest discriminator for a new edge between two vertices.
///
/// Cost: linear in the parallel edges.
///
/// # Errors
/// `limit` if all 65,536 are taken; errors of reading.
pub fn lowest_free<E: Engine>(
    session: &Session<E>,
    writes: &Writes,
    (source, edge_type, target): (VertexId, TypeId, VertexId),
    refused: &BTreeSet<EdgeId>,
    catalogue: &Catalogue,
) -> Result<u16> {
    let edge = |discriminator| EdgeId { source, edge_type, target, discriminator };
    let mut taken = Vec::new();
    match session.graph_log() {
        None => {
            let engine = &session.front().engine;
            engine.taken_discriminators(source, edge_type, target, &mut taken)?;
        }
        Some(log) => log.taken_discriminators(source, edge_type, target, &mut taken)?,
    }
    taken.extend(writes.edges_between(source, edge_type, target).map(|(taken, _)| taken));
    taken.extend(refused.range(edge(0)..=edge(u16::MAX)).map(|edge| edge.discriminator));
    taken.sort_unstable();
    taken.dedup();
    let gap = taken.iter().zip(0u32..).find(|(taken, place)| u32::from(**taken) != *place);
    let lowest = gap.map_or(taken.len() as u32, |(_, place)| place);
    u16::try_from(lowest).map_err(|_| {
        let text = format!(
            "there are 65,536 edges parallel to {} already, which is the limit",
            describe::edge(catalogue, edge(0))
        );
        Error::new(ErrorKind::Limit, text)
    })
}

/// The new names of added edges.
#[derive(Debug, Default)]
pub struct Renames {
    refused: BTreeSet<EdgeId>,
    /// The name that the user knows, and the present one.
    names: Vec<(EdgeId, EdgeId)>,
}

impl Renames {
    /// Gives `edge`, whose name is taken, the next free one.
    ///
    /// # Errors
    /// As [`lowest_free`].
    pub fn rename<E: Engine>(
        &mut self,
        session: &Session<E>,
        writes: &mut Writes,
        edge: EdgeId,
        catalogue: &Catalogue,
    ) -> Result<()> {
        debug_assert!(matches!(writes.edge(edge), Some(EdgeWrite::Add(_))), "only added edges are renamed");
        self.refused.insert(edge);
        let between = (edge.source, edge.edge_type, edge.target);
        let discriminator = lowest_free(session, writes, between, &self.refused, catalogue)?;
        writes.rename_edge(edge, discriminator);
        let renamed = EdgeId { discriminator, ..edge };
        match self.names.iter_mut().find(|(_, present)| *present == edge) {
            Some((_, present)) => *present = renamed,
            None => self.names.push((edge, renamed)),
        }
        Ok(())
    }

    /// Every renamed edge: the name that the user knows, and the one that it has.
    #[must_use]
    pub fn done(self) -> Vec<(EdgeId, EdgeId)> {
        self.names
    }
}
