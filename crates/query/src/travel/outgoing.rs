//! Outgoing: rows of a stage on their way to the next one, or to whoever asked.
//!
//! ```text
//! rows at vertices ──> merged: one a vertex, with its bulk ──┐ at the end, or once they are many
//! rows at others   ──> of each place ────────────────────────┴──> by place, 64 thousand a message ──> out
//! ```

use crate::batch::Batch;
use crate::execute::limits::{Charge, MemoryShare};
use crate::step::bulk::Merger;
use crate::travel::rows;
use crate::value::item::Item;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::travel::{EncodedRows, MESSAGE_BYTES, MESSAGE_ROWS_MAX, Routes, RowsOutput, RowsTarget};

/// Where the rows of a stage go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To the places that keep their elements.
    Owners,
    /// To whoever asked.
    Asker,
}

/// Rows that wait to go.
pub struct Outgoing {
    to: Destination,
    merger: Merger,
    /// By place; one list for whoever asked.
    others: Vec<WaitingItems>,
}

#[derive(Default)]
struct WaitingItems {
    rows: Vec<(Item, u64)>,
    bytes: usize,
    holding: MemoryShare,
}

impl Outgoing {
    /// None yet.
    #[must_use]
    pub fn new(to: Destination) -> Self {
        Self { to, merger: Merger::default(), others: Vec::new() }
    }

    /// Takes rows, and sends those that are many.
    ///
    /// # Errors
    /// `limit` past the query's memory; those of `out`; `busy` for rows that do not travel.
    pub fn push(
        &mut self,
        batch: &Batch,
        charge: &mut Charge<'_>,
        (routes, out): (&Routes, &mut dyn RowsOutput),
    ) -> Result<()> {
        let Some(vertices) = Merger::takes(batch) else {
            return self.push_items(batch, charge, (routes, out));
        };
        self.merger.add(&vertices, batch, charge)?;
        if self.merger.len() >= MESSAGE_ROWS_MAX * self.lists(routes) {
            self.send_merged(charge, (routes, out))?;
        }
        Ok(())
    }

    /// Sends all that waits.
    ///
    /// # Errors
    /// As [`Outgoing::push`].
    pub fn flush(
        &mut self,
        charge: &mut Charge<'_>,
        (routes, out): (&Routes, &mut dyn RowsOutput),
    ) -> Result<()> {
        self.send_merged(charge, (routes, &mut *out))?;
        for list in 0..self.others.len() {
            self.send_items(list, out)?;
        }
        Ok(())
    }

    fn lists(&self, routes: &Routes) -> usize {
        match self.to {
            Destination::Owners => usize::from(routes.places()),
            Destination::Asker => 1,
        }
    }

    fn target(&self, list: usize) -> RowsTarget {
        match self.to {
            Destination::Owners => RowsTarget::Place(list as u16),
            Destination::Asker => RowsTarget::Asker,
        }
    }

    fn list_of(&self, vertex: VertexId, routes: &Routes) -> usize {
        match self.to {
            Destination::Owners => usize::from(routes.place_of(vertex)),
            Destination::Asker => 0,
        }
    }

    fn send_merged(
        &mut self,
        charge: &mut Charge<'_>,
        (routes, out): (&Routes, &mut dyn RowsOutput),
    ) -> Result<()> {
        if self.merger.is_empty() {
            return Ok(());
        }
        let merged = self.merger.take(charge);
        let mut lists: Vec<Vec<(VertexId, u64)>> = vec![Vec::new(); self.lists(routes)];
        for (row, vertex) in merged.current.vertices().into_iter().flatten().enumerate() {
            lists[self.list_of(vertex, routes)].push((vertex, merged.bulk(row)));
        }
        for (list, mut rows) in lists.into_iter().enumerate() {
            rows.sort_unstable();
            for rows in rows.chunks(MESSAGE_ROWS_MAX) {
                out.put(self.target(list), rows::of_vertices(rows))?;
            }
        }
        Ok(())
    }

    fn push_items(
        &mut self,
        batch: &Batch,
        charge: &mut Charge<'_>,
        (routes, out): (&Routes, &mut dyn RowsOutput),
    ) -> Result<()> {
        self.others.resize_with(self.lists(routes), WaitingItems::default);
        for (row, item) in batch.current.items().enumerate() {
            let list = match (&item, self.to) {
                (_, Destination::Asker) => 0,
                (Item::Vertex(vertex), _) => self.list_of(*vertex, routes),
                (Item::Edge(edge), _) => self.list_of(edge.source, routes),
                (other, _) => {
                    let text = format!("{} is kept by no node", other.kind());
                    return Err(Error::new(ErrorKind::Busy, text));
                }
            };
            let bytes = size_of::<(Item, u64)>() + item.heap_bytes();
            let holding = charge.holding(bytes)?;
            // A large one goes alone.
            if self.others[list].bytes + bytes > MESSAGE_BYTES {
                self.send_items(list, out)?;
            }
            let waiting = &mut self.others[list];
            waiting.holding.join(holding);
            waiting.bytes += bytes;
            waiting.rows.push((item, batch.bulk(row)));
            if waiting.rows.len() >= MESSAGE_ROWS_MAX || waiting.bytes >= MESSAGE_BYTES {
                self.send_items(list, out)?;
            }
        }
        Ok(())
    }

    fn send_items(&mut self, list: usize, out: &mut dyn RowsOutput) -> Result<()> {
        let WaitingItems { rows, .. } = std::mem::take(&mut self.others[list]);
        if rows.is_empty() {
            return Ok(());
        }
        let encoded: EncodedRows = rows::of_items(&rows)?;
        out.put(self.target(list), encoded)
    }
}
