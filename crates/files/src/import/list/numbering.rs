//! Numbering: the rows of a list graph's vertices, once all lists are read, and their ids as a property.
//!
//! In an open world ids ascend, and edges are renumbered. Ids that memory didn't hold lie in runs (`id_runs`): then the
//! edges of a run are renumbered by what its rows become. Vertices of the database get numbers from above.

use crate::import::existing_graph::{ExistingGraph, ExistingVertices};
use crate::import::list::graph::{EdgeListGraph, ID_KEY, big, too_many_vertices};
use crate::import::list::id_runs::{IdRuns, SpilledRuns};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, VertexBlock};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::value::{Value, ValueType};
use rayon::prelude::*;
use std::ops::Range;

impl EdgeListGraph {
    /// Keeps ids and pairs of vertices within the memory for ids. Pairs are forgotten first; then the ids of an open world
    /// go into a file, and rows are counted anew.
    ///
    /// # Errors
    /// `limit` in a closed world: its ids are asked for with every edge of `file`; what the file of ids meets.
    pub(super) fn keep_ids_within_memory(&mut self, file: &str) -> Result<()> {
        let bytes = self.ids.heap_bytes();
        if bytes + self.undirected.heap_bytes() > self.id_bytes_max {
            self.undirected.forget();
        }
        if bytes <= self.id_bytes_max {
            return Ok(());
        }
        if self.is_closed {
            let count = self.ids.others_by_row().len();
            let what = format!("the ids of {count} vertices take {bytes} bytes of memory");
            return Err(self.no_memory(file, &what));
        }
        self.end_run()
    }

    /// The error of `file`: `what` is more than an import may take.
    pub(super) fn no_memory(&self, file: &str, what: &str) -> Error {
        let text = format!(
            "{file}: {what}, and those of this import may take {}: give it more memory (--memory, or a higher memory \
             limit of the database), or name the vertices in CSV files, whose ids may lie in temporary files",
            self.id_bytes_max
        );
        Error::new(ErrorKind::Limit, text)
    }

    /// Moves the ids in memory into a run.
    fn end_run(&mut self) -> Result<()> {
        let order = self.signs.order();
        // Rows of different runs can't be compared.
        self.undirected.forget();
        let by_row = self.ids.take_by_row();
        let runs = match &mut self.runs {
            Some(runs) => runs,
            none => none.insert(SpilledRuns { ids: IdRuns::new(&self.staging)?, edges: Vec::new() }),
        };
        runs.ids.push(&by_row, order)?;
        runs.edges.push(self.edges.iter().map(|table| table.stage.rows()).collect());
        Ok(())
    }

    /// Gives all vertices their rows, and their ids for a property.
    ///
    /// # Errors
    /// What reading the database and temporary files meets; `limit` if there are too many; `cancelled`.
    pub(super) fn number(&mut self, known: &ExistingGraph, cancel: &CancelFlag) -> Result<()> {
        if self.runs.is_some() {
            return self.number_runs(known, cancel);
        }
        self.number_rows(known)?;
        self.add_ids()
    }

    fn number_runs(&mut self, known: &ExistingGraph, cancel: &CancelFlag) -> Result<()> {
        self.end_run()?;
        let Some(SpilledRuns { ids: runs, edges }) = self.runs.take() else { return Ok(()) };
        let value_type = self.signs.value_type();
        let at = self.vertices.stage.set_property(ID_KEY, value_type);
        let (signs, vertices) = (&self.signs, &mut self.vertices);
        let known = vertices.known(known);
        let all = runs.number(signs.order(), cancel, |ids| {
            let mut new_ids = Vec::with_capacity(ids.len());
            let mut ends = Vec::with_capacity(ids.len());
            for id in ids {
                let existing = find_existing(known.as_ref(), &signs.value(*id))?;
                let row = vertices.stage.rows() + new_ids.len() as u64;
                if row + vertices.existing.len() as u64 >= u64::from(u32::MAX) {
                    return Err(too_many_vertices(&format!("label {}", vertices.label)));
                }
                ends.push(match existing {
                    Some(vertex) => vertices.add_existing(vertex)?,
                    None => {
                        new_ids.push(*id);
                        row as u32
                    }
                });
            }
            let mut columns = vec![None; at + 1];
            columns[at] = id_column(new_ids.iter().copied(), value_type);
            vertices.stage.add(VertexBlock { rows: new_ids.len(), columns })?;
            Ok(ends)
        })?;
        for (run, rows_after) in edges.iter().enumerate() {
            cancel.check()?;
            let ends = runs.ends(run, &all)?;
            for (table, rows_after) in rows_after.iter().enumerate() {
                // A table may have come after the run before.
                let before = run.checked_sub(1).and_then(|before| edges[before].get(table)).unwrap_or(&0);
                self.renumber_edges(table, *before..*rows_after, &ends)?;
            }
        }
        Ok(())
    }

    /// Renumbers rows: in an open world so that ids ascend, and without those that the database has.
    fn number_rows(&mut self, known: &ExistingGraph) -> Result<()> {
        let order = self.signs.order();
        let known = self.vertices.known(known);
        let is_sorted = self.is_closed || self.ids.others_by_row().is_sorted_by_key(|id| order.rank(*id));
        if is_sorted && known.is_none() {
            return Ok(());
        }
        let count = self.ids.len() as u32;
        let renumbering_bytes = u64::from(count) * RENUMBERING_BYTES;
        // Vertices that are announced by a number alone are not limited.
        let is_listed = self.is_closed && !self.ids.others_by_row().is_empty();
        if is_listed && renumbering_bytes > self.id_bytes_max {
            let what = format!(
                "finding out which of {count} vertices the database has takes {renumbering_bytes} bytes"
            );
            return Err(self.no_memory(&format!("label {}", self.vertices.label), &what));
        }
        self.ids.forget_rows();
        let mut rows: Vec<u32> = (0..count).collect();
        if !is_sorted {
            rows.par_sort_unstable_by_key(|row| order.rank(self.ids.id(*row)));
        }
        let mut ends = vec![0u32; rows.len()];
        let mut ids_by_row = Vec::with_capacity(rows.len());
        for old in rows {
            let id = self.ids.id(old);
            ends[old as usize] = match find_existing(known.as_ref(), &self.signs.value(id))? {
                Some(vertex) => self.vertices.add_existing(vertex)?,
                None => {
                    ids_by_row.push(id);
                    ids_by_row.len() as u32 - 1
                }
            };
        }
        self.ids.replace(ids_by_row);
        (0..self.edges.len()).try_for_each(|table| self.renumber_edges(table, 0..u64::MAX, &ends))
    }

    /// Gives the edges among `rows` of a table the `ends` of the rows that they name.
    fn renumber_edges(&mut self, table: usize, rows: Range<u64>, ends: &[u32]) -> Result<()> {
        self.edges[table].stage.rewrite_between(rows, |_, EdgeBlock { sources, targets, .. }| {
            sources.iter_mut().chain(targets).for_each(|row| *row = ends[*row as usize]);
            Ok(())
        })
    }

    /// Gives every vertex its id for a property.
    fn add_ids(&mut self) -> Result<()> {
        let value_type = self.signs.value_type();
        let stage = &mut self.vertices.stage;
        let at = stage.set_property(ID_KEY, value_type);
        // Vertex lists come first: of those behind, none has spoken.
        while stage.rows() < self.ids.len() {
            let rows = (self.ids.len() - stage.rows()).min(BLOCK_ROWS as u64);
            stage.add(VertexBlock::bare(rows as usize))?;
        }
        let ids = &self.ids;
        stage.rewrite(|first, block| {
            let rows = first as u32..(first + block.rows as u64) as u32;
            block.columns.resize(block.columns.len().max(at + 1), None);
            block.columns[at] = id_column(rows.map(|row| ids.id(row)), value_type);
            Ok(())
        })
    }
}

/// Bytes that a vertex takes while rows are renumbered: its old row, its new one, its id.
const RENUMBERING_BYTES: u64 = 16;

fn find_existing(known: Option<&ExistingVertices<'_>>, id: &Value) -> Result<Option<VertexId>> {
    known.map_or(Ok(None), |known| known.find(id))
}

/// `ids`, by their bits, as values of `value_type`.
fn id_column(ids: impl Iterator<Item = u64>, value_type: ValueType) -> Option<PackedColumn> {
    let mut column = PackedColumnBuilder::default();
    for id in ids {
        if value_type == ValueType::I64 {
            column.push_i64(id.cast_signed());
        } else {
            column.push(Some(&big(id)));
        }
    }
    column.finish()
}
