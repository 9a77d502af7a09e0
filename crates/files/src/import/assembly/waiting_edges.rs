//! Waiting edges: batches of edges whose ends are looked up together, where ids are spilled.
//!
//! Looking ends up among spilled ids reads all of them, whether it is for one batch or for many.

use crate::import::assembly::batch::{Batch, EndEntries, Ends};
use crate::import::assembly::edges::EdgeRule;
use crate::import::assembly::graph::Assembly;
use evergraph_graph::error::Result;

/// Bytes that looking up takes for an edge: for each end its key, its place among the partitions, its entry twice.
const LOOK_UP_BYTES: u64 = 2 * (16 + 4 + 4 + 4);

/// Batches that wait, each with what its reader needs to describe its rows.
#[derive(Debug)]
pub struct WaitingEdges<Texts> {
    rule: EdgeRule,
    batches: Vec<(Batch<Ends>, Texts)>,
    bytes: u64,
    bytes_max: u64,
}

impl<Texts> WaitingEdges<Texts> {
    /// None yet, of a file that is read as `rule` says. They may take `bytes_max`.
    #[must_use]
    pub fn new(rule: EdgeRule, bytes_max: u64) -> Self {
        Self { rule, batches: Vec::new(), bytes: 0, bytes_max }
    }

    /// Adds a batch; `texts` take `bytes`. Whether [`WaitingEdges::place`] is due.
    #[must_use]
    pub fn push(&mut self, assembly: &Assembly, batch: Batch<Ends>, (texts, bytes): (Texts, u64)) -> bool {
        self.bytes += bytes + batch.edge_bytes() + LOOK_UP_BYTES * batch.lines.len() as u64;
        self.batches.push((batch, texts));
        self.bytes >= self.bytes_max || !assembly.looks_up_many(self.rule)
    }

    /// Bytes that the batches take, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Looks up the ends of all batches and hands each to `place`, in order. Gives the sum of what it returns.
    ///
    /// # Errors
    /// As [`Assembly::look_up`]; what `place` says.
    pub fn place(
        &mut self,
        assembly: &mut Assembly,
        mut place: impl FnMut(&mut Assembly, Batch<Ends>, &EndEntries, Texts) -> Result<u64>,
    ) -> Result<u64> {
        self.bytes = 0;
        let batches = std::mem::take(&mut self.batches);
        let ends: Vec<&Ends> = batches.iter().map(|(batch, _)| &batch.ids).collect();
        let entries = assembly.look_up(self.rule, &ends)?;
        let mut rows = 0;
        for ((batch, texts), entries) in batches.into_iter().zip(entries) {
            rows += place(assembly, batch, &entries, texts)?;
        }
        Ok(rows)
    }
}
