//! Undirected: in files without direction, a pair of vertices has one edge of a type at most, whichever way round.
//!
//! ```text
//! pairs in memory ──an edge whose pair is there is left out as it comes
//!        └─ they are too many: forgotten; edges are stored, and gone through when all are there
//! rows of such files ──> (pair, number of the edge) ──> spilled ids: of a pair the first one stays ──> rows that go
//! ```
//!
//! Memory: 16 to 40 bytes a pair, or, once pairs are forgotten, a bit an edge and that of spilled ids.

use crate::import::spilled_ids::{KeptRow, SpilledIds};
use crate::import::staging::spill::Staging;
use crate::import::staging::stage::StagedEdges;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

/// The pairs of vertices that have an edge, by what tells their edges from others; `End` is one of a pair.
#[derive(Debug)]
pub struct UndirectedEdges<Key, End> {
    /// `None`: they were too many.
    pairs: Option<HashMap<Key, HashSet<(End, End)>>>,
    /// The rows of edge tables that such files brought, in the order in which they came.
    rows: Vec<(usize, Range<u64>)>,
}

impl<Key, End> Default for UndirectedEdges<Key, End> {
    fn default() -> Self {
        Self { pairs: Some(HashMap::new()), rows: Vec::new() }
    }
}

impl<Key: Eq + Hash, End: Ord + Hash + Copy> UndirectedEdges<Key, End> {
    /// The pairs of edges of `key`, each lower end first; `None` if they are forgotten, so that all edges stay for now.
    pub fn pairs(&mut self, key: Key) -> Option<&mut HashSet<(End, End)>> {
        self.pairs.as_mut().map(|pairs| pairs.entry(key).or_default())
    }

    /// Bytes that the pairs take.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        // One slot of eight stays free, and each has a byte beside it.
        let slots = |pairs: &HashSet<(End, End)>| pairs.capacity() / 7 * 8;
        let slots: usize = self.pairs.iter().flat_map(HashMap::values).map(slots).sum();
        (slots * (size_of::<(End, End)>() + 1)) as u64
    }

    /// Forgets the pairs: repeated ones are found by [`UndirectedEdges::drop_repeated`].
    pub fn forget(&mut self) {
        self.pairs = None;
    }

    /// Notes that `rows` of the edge table of that index are such edges.
    pub fn note(&mut self, table: usize, rows: Range<u64>) {
        match self.rows.last_mut() {
            Some((last, before)) if *last == table && before.end == rows.start => before.end = rows.end,
            _ => self.rows.push((table, rows)),
        }
    }

    /// Takes the edges out of `tables` whose pair of vertices an earlier one of their type has, if that was not seen as
    /// they came. Gives how many there were.
    ///
    /// # Errors
    /// `limit` for more than 4,294,967,294 such edges of a type and pair of labels; what temporary files meet;
    /// `cancelled`.
    pub fn drop_repeated(
        self,
        tables: &mut [StagedEdges],
        staging: &Arc<Staging>,
        cancel: &CancelFlag,
    ) -> Result<u64> {
        if self.pairs.is_some() {
            return Ok(0);
        }
        let mut groups: BTreeMap<(String, usize, usize), Vec<RowsOfTable>> = BTreeMap::new();
        for (table, rows) in self.rows.into_iter().filter(|(_, rows)| !rows.is_empty()) {
            let StagedEdges { edge_type, source_label, target_label, .. } = &tables[table];
            let (low, high) = (source_label.min(target_label), source_label.max(target_label));
            groups.entry((edge_type.clone(), *low, *high)).or_default().push((table, rows));
        }
        let mut dropped = 0;
        for ((edge_type, ..), rows) in groups {
            dropped += drop_of_group(&edge_type, &rows, tables, staging, cancel)?;
        }
        Ok(dropped)
    }
}

/// The place of a table, and rows of it.
type RowsOfTable = (usize, Range<u64>);

/// Edges of one table that came together, and the number of the first one among all of their group.
struct NumberedRows {
    rows: Range<u64>,
    first_number: u64,
}

/// Takes out the repeated edges among `rows` of tables of one type between two labels.
fn drop_of_group(
    edge_type: &str,
    rows: &[(usize, Range<u64>)],
    tables: &mut [StagedEdges],
    staging: &Arc<Staging>,
    cancel: &CancelFlag,
) -> Result<u64> {
    let mut by_table: BTreeMap<usize, Vec<NumberedRows>> = BTreeMap::new();
    let mut count = 0;
    for (table, rows) in rows {
        let numbered = NumberedRows { rows: rows.clone(), first_number: count };
        by_table.entry(*table).or_default().push(numbered);
        count += rows.end - rows.start;
    }
    if count >= u64::from(u32::MAX) {
        let text = format!(
            "type {edge_type}: {count} edges come from files without direction, whose pairs of vertices don't fit into \
             the memory of the import; of such there may be 4,294,967,294: give the import more memory (--memory), or \
             files that have each pair once, with direction"
        );
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let mut pairs = SpilledIds::new(staging)?;
    for (table, all) in &by_table {
        let StagedEdges { source_label, target_label, stage, .. } = &tables[*table];
        let mut next = 0;
        stage.visit(|first, block| {
            cancel.check()?;
            for (row, (source, target)) in (first..).zip(block.sources.iter().zip(&block.targets)) {
                while all.get(next).is_some_and(|numbered| numbered.rows.end <= row) {
                    next += 1;
                }
                let Some(numbered) = all.get(next).filter(|numbered| numbered.rows.start <= row) else {
                    continue;
                };
                let is_forwards = (source_label, source) <= (target_label, target);
                let (low, high) = if is_forwards { (source, target) } else { (target, source) };
                let key = pairs.keys().number(u64::from(*low) << 32 | u64::from(*high));
                pairs.push(key, (numbered.first_number + row - numbered.rows.start) as u32)?;
            }
            Ok(())
        })?;
    }
    let mut repeated = vec![0u64; count.div_ceil(64) as usize];
    let mut dropped = 0;
    pairs.settle(KeptRow::First, &mut |_, other| {
        repeated[other as usize / 64] |= 1 << (other % 64);
        dropped += 1;
        Ok(())
    })?;
    drop(pairs);
    let is_repeated = |number: u64| repeated[(number / 64) as usize] >> (number % 64) & 1 == 1;
    for (table, all) in by_table {
        cancel.check()?;
        let gone = all.iter().flat_map(|NumberedRows { rows, first_number }| {
            let start = rows.start;
            rows.clone().filter(move |row| is_repeated(first_number + row - start))
        });
        tables[table].stage.remove_rows(gone)?;
    }
    Ok(dropped)
}
