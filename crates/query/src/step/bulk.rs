//! Bulk: rows at one vertex that cannot be told apart become one row that represents all of them.
//!
//! ```text
//! came     v7  v3  v7  v9  v3      bulk  1 1 2 1 1
//! go on    v7  v3  v9              bulk  3 2 1          the first keeps its place
//! ```
//!
//! So four hops with 185 thousand million walks cost as much as they reach vertices. A few vertices are kept in a hash
//! table, many in an array with a place for every vertex. Source: query.md, section 7, rule 2; TinkerPop's bulks.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Portions};
use crate::execute::context::Context;
use crate::execute::limits::Charge;
use crate::execute::pipeline::Step;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Bytes of a vertex that was met: itself, its bulk, its origin.
const ROW_BYTES: usize = size_of::<(VertexId, u64, u32)>();
/// An array is used once it would have at most so many places for each vertex that was met.
const PLACES_PER_VERTEX: usize = 128;
/// Fewer than so many vertices stay in a hash table, whatever their numbers.
const FEW: usize = 256;

/// Where each vertex of the origin that is being merged was put.
#[derive(Debug)]
enum Places {
    Few(HashMap<VertexId, u32, RandomState>),
    /// One more than the place of a vertex, by its number; 0 if it wasn't met.
    Many(Vec<u32>),
}

/// Rows at vertices, those of one origin and vertex merged while they follow each other.
#[derive(Debug)]
pub struct Merger {
    places: Places,
    vertices: Vec<VertexId>,
    bulks: Vec<u64>,
    origins: Vec<u32>,
    /// The first row of the origin that is being merged.
    first: usize,
    held_bytes: usize,
}

impl Default for Merger {
    fn default() -> Self {
        Self {
            places: Places::Few(HashMap::default()),
            vertices: Vec::new(),
            bulks: Vec::new(),
            origins: Vec::new(),
            first: 0,
            held_bytes: 0,
        }
    }
}

impl Merger {
    /// The vertices of `batch`, if its rows are at vertices and have no past by which they differ.
    #[must_use]
    pub fn takes(batch: &Batch) -> Option<Vec<VertexId>> {
        let alone = batch.path.is_none() && batch.sack.is_none() && batch.slots.iter().all(Option::is_none);
        if alone { batch.current.vertices() } else { None }
    }

    /// Rows that were merged so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// Merges the rows of `batch`, which are at `vertices`.
    ///
    /// # Errors
    /// `limit` if that is more memory than the query may have.
    pub fn add(&mut self, vertices: &[VertexId], batch: &Batch, charge: &mut Charge<'_>) -> Result<()> {
        for (row, (vertex, origin)) in vertices.iter().zip(&batch.origin).enumerate() {
            if self.origins.last().is_some_and(|last| last != origin) {
                self.next_origin();
            }
            self.put(*vertex, batch.bulk(row), *origin);
        }
        if let Places::Few(few) = &self.places
            && few.len() >= FEW
        {
            self.spread();
        }
        let held = self.bytes();
        if held > self.held_bytes {
            charge.hold(held - self.held_bytes)?;
            self.held_bytes = held;
        }
        Ok(())
    }

    fn put(&mut self, vertex: VertexId, bulk: u64, origin: u32) {
        let next = self.vertices.len() as u32;
        let place = match &mut self.places {
            Places::Few(few) => *few.entry(vertex).or_insert(next),
            Places::Many(many) => {
                let at = vertex.0 as usize;
                if at >= many.len() {
                    many.resize((at + 1).max(2 * many.len()), 0);
                }
                if many[at] == 0 {
                    many[at] = next + 1;
                }
                many[at] - 1
            }
        };
        if let Some(sum) = self.bulks.get_mut(place as usize) {
            if let Some(more) = sum.checked_add(bulk) {
                *sum = more;
                return;
            }
            // What one row can't stand for stays several rows.
            match &mut self.places {
                Places::Few(few) => drop(few.insert(vertex, next)),
                Places::Many(many) => many[vertex.0 as usize] = next + 1,
            }
        }
        self.vertices.push(vertex);
        self.bulks.push(bulk);
        self.origins.push(origin);
    }

    /// Begins to merge another origin.
    fn next_origin(&mut self) {
        match &mut self.places {
            Places::Few(few) => few.clear(),
            Places::Many(many) => {
                self.vertices[self.first..].iter().for_each(|vertex| many[vertex.0 as usize] = 0);
            }
        }
        self.first = self.vertices.len();
    }

    /// From the hash table to the array, if that isn't much larger.
    fn spread(&mut self) {
        let met = &self.vertices[self.first..];
        let bound = met.iter().map(|vertex| vertex.0 as usize + 1).max().unwrap_or(0);
        if bound / PLACES_PER_VERTEX > met.len() {
            return;
        }
        let mut many = vec![0; bound];
        for (vertex, place) in met.iter().zip(self.first as u32 + 1..) {
            many[vertex.0 as usize] = place;
        }
        self.places = Places::Many(many);
    }

    fn bytes(&self) -> usize {
        let places = match &self.places {
            Places::Few(few) => few.capacity() * size_of::<(VertexId, u32, u32)>(),
            Places::Many(many) => many.len() * size_of::<u32>(),
        };
        places + self.vertices.len() * ROW_BYTES
    }

    /// Takes all rows, in the order in which the first of each came.
    pub fn take(&mut self, charge: &mut Charge<'_>) -> Batch {
        charge.free(std::mem::take(&mut self.held_bytes));
        self.next_origin();
        self.first = 0;
        let mut batch = Batch::new(
            Column::new(Data::Vertices(std::mem::take(&mut self.vertices))),
            std::mem::take(&mut self.origins),
        );
        let bulks = std::mem::take(&mut self.bulks);
        batch.bulk = bulks.iter().any(|bulk| *bulk != 1).then_some(bulks);
        batch
    }

    /// Drops all rows.
    pub fn clear(&mut self) {
        self.next_origin();
        self.vertices.clear();
        self.bulks.clear();
        self.origins.clear();
        self.first = 0;
    }
}

/// Merges rows until all have come: rules use it where a barrier waits for all rows anyway.
#[derive(Default)]
pub struct Bulk {
    merger: Merger,
    /// What is left of the merged rows, to be given in batches.
    merged: Option<Portions>,
}

impl Step for Bulk {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let Some(vertices) = Merger::takes(&batch) else { return Ok(Some(batch)) };
        self.merger.add(&vertices, &batch, &mut cx.charge)?;
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.merged.is_none() {
            self.merged = Some(self.merger.take(&mut cx.charge).into());
        }
        let rows_max = cx.charge.batch_rows();
        Ok(self.merged.as_mut().and_then(|rows| rows.next(rows_max)))
    }

    fn reset(&mut self, _origins: u32) {
        self.merger.clear();
        self.merged = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::limits::QueryLimits;
    use evergraph_graph::budget::Unlimited;
    use evergraph_graph::cancel::CancelFlag;

    fn charge() -> Charge<'static> {
        Charge::new(QueryLimits::default(), CancelFlag::default(), &Unlimited)
    }

    /// What the merger makes of rows: vertex, bulk, origin.
    fn merged(merger: &mut Merger, rows: &[(u32, u64, u32)]) -> Vec<(u32, u64, u32)> {
        let mut charge = charge();
        let vertices: Vec<VertexId> = rows.iter().map(|row| VertexId(row.0)).collect();
        let mut batch =
            Batch::new(Column::new(Data::Vertices(vertices.clone())), rows.iter().map(|row| row.2).collect());
        batch.bulk = Some(rows.iter().map(|row| row.1).collect());
        assert_eq!(Merger::takes(&batch), Some(vertices.clone()));
        merger.add(&vertices, &batch, &mut charge).unwrap();
        let all = merger.take(&mut charge);
        let vertices = all.current.vertices().unwrap();
        (0..all.len()).map(|row| (vertices[row].0, all.bulk(row), all.origin[row])).collect()
    }

    #[test]
    fn rows_of_one_vertex_and_origin_become_one_and_the_first_keeps_its_place() {
        let rows = [(7, 1, 0), (3, 1, 0), (7, 2, 0), (7, 1, 1), (3, 1, 1), (3, 5, 1)];
        let mut merger = Merger::default();
        let expected = [(7, 3, 0), (3, 1, 0), (7, 1, 1), (3, 6, 1)];
        assert_eq!(merged(&mut merger, &rows), expected);
        assert_eq!(merged(&mut merger, &rows), expected, "nothing is left of what was before");
    }

    #[test]
    fn many_vertices_are_merged_as_few_are() {
        let mut merger = Merger::default();
        for _ in 0..2 {
            let rows: Vec<_> = (0..4000_u32).map(|row| (row * 7 % 1000, 1, row / 2000)).collect();
            let found = merged(&mut merger, &rows);
            let expected: Vec<_> = (0..2000_u32).map(|row| (row % 1000 * 7 % 1000, 2, row / 1000)).collect();
            assert_eq!(found, expected);
        }
        assert!(matches!(merger.places, Places::Many(_)));
    }

    #[test]
    fn what_one_row_cannot_stand_for_stays_two() {
        let rows = [(1, u64::MAX, 0), (1, 1, 0), (1, 1, 0)];
        assert_eq!(merged(&mut Merger::default(), &rows), [(1, u64::MAX, 0), (1, 2, 0)]);
    }

    #[test]
    fn rows_with_a_past_are_not_taken() {
        let mut batch = Batch::new(Column::new(Data::Vertices(vec![VertexId(1)])), vec![0]);
        batch.set_slot(0, batch.current.clone());
        assert_eq!(Merger::takes(&batch), None);
    }
}
