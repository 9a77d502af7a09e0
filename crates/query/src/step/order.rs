//! `order()`: all rows of an origin, sorted.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::limits::GrowingShare;
use crate::execute::pending_batches::{CountedPortions, PendingBatches};
use crate::execute::pipeline::Step;
use crate::plan::operator::Sorting;
use crate::randomness::Chance;
use crate::step::by::Projection;
use crate::step::checked_sort::{self, STRETCH_ROWS};
use crate::value::item::{Item, Property};
use crate::value::relation;
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Fewer rows than this wait until all have come.
const PRUNED: usize = 8192;

/// Sorts the rows of each origin.
pub struct Order {
    by: Vec<(Projection, Sorting)>,
    waiting: PendingBatches,
    /// What is left of the sorted rows, to be given in batches.
    sorted: Option<CountedPortions>,
    chance: Chance,
    /// As many rows as anybody wants.
    keep: usize,
    origins: u32,
}

impl Order {
    /// Sorts by the first of `by`, then by the next, and so on; equal rows stay in order.
    #[must_use]
    pub fn new(by: Vec<(Projection, Sorting)>, chance: Chance) -> Self {
        Self { by, waiting: PendingBatches::default(), sorted: None, chance, keep: usize::MAX, origins: 1 }
    }

    /// The same for the first `keep` rows of an origin; further rows are not kept.
    #[must_use]
    pub fn keeping(self, keep: u64) -> Self {
        Self { keep: usize::try_from(keep).unwrap_or(usize::MAX), ..self }
    }

    /// Lets go of what can't be among the first any more, once there is much of it.
    fn prune(&mut self, cx: &mut Context<'_>) -> Result<()> {
        // Each row is sorted at most once more than it would be, since most of them go.
        if self.origins > 1 || self.waiting.rows() < self.keep.saturating_mul(4).max(PRUNED) {
            return Ok(());
        }
        let kept = self.sort(cx)?;
        self.waiting.push(kept, &mut cx.charge)
    }

    /// All rows in order; of a single origin those that anybody wants.
    fn sort(&mut self, cx: &mut Context<'_>) -> Result<Batch> {
        let (all, _holding) = self.waiting.together(&mut cx.charge)?;
        let mut growth = GrowingShare::default();
        growth.add_bytes(2 * all.len() * size_of::<u32>(), &mut cx.charge)?;
        let mut columns = Vec::with_capacity(self.by.len());
        for (by, sorting) in &mut self.by {
            let mut column: Vec<Option<Item>> = Vec::with_capacity(all.len());
            for first in (0..all.len()).step_by(STRETCH_ROWS) {
                cx.charge.check()?;
                let stretch = first..all.len().min(first + STRETCH_ROWS);
                match sorting {
                    Sorting::Shuffle => column.extend(stretch.map(|_| Some(self.chance.draw().into()))),
                    _ => column.append(&mut by.of(&all.slice(stretch.start, stretch.end), cx)?),
                }
                column[first..].iter().flatten().try_for_each(|item| growth.add(item, &mut cx.charge))?;
            }
            columns.push((by_key_names(column, cx), *sorting));
        }
        // A row that has nothing to be sorted by is left out.
        let productive = |row: usize| columns.iter().all(|(column, _)| column[row].is_some());
        let rows: Vec<u32> = (0..all.len()).filter(|row| productive(*row)).map(|row| row as u32).collect();
        let compare = |left: usize, right: usize| {
            let by_column = columns.iter().map(|(column, sorting)| {
                let [left, right] = [left, right].map(|row| column[row].as_ref().unwrap_or(&Item::Null));
                match sorting {
                    Sorting::Ascending | Sorting::Shuffle => relation::order(left, right),
                    Sorting::Descending => relation::order(right, left),
                }
            });
            by_column.fold(all.origin[left].cmp(&all.origin[right]), Ordering::then)
        };
        let by_columns = |left: u32, right: u32| compare(left as usize, right as usize);
        let mut rows = checked_sort::sort(rows, by_columns, || cx.charge.check())?;
        if self.origins == 1 {
            rows.truncate(self.keep);
        }
        Ok(all.gather(&rows.into()))
    }
}

/// The same items, where the keys of properties are numbered in the order of their names: items know no names, and
/// properties of edges are ordered by key.
fn by_key_names(mut column: Vec<Option<Item>>, cx: &Context<'_>) -> Vec<Option<Item>> {
    let properties = || column.iter().flatten().filter_map(Item::as_property);
    let keys: HashSet<KeyId> = properties().map(|property| property.key).collect();
    if keys.len() < 2 {
        return column;
    }
    let catalogue = cx.catalogue();
    let mut sorted: Vec<KeyId> = keys.into_iter().collect();
    sorted.sort_by_key(|key| catalogue.key_name(*key));
    let places: HashMap<KeyId, KeyId> = (0..).zip(sorted).map(|(place, key)| (key, KeyId(place))).collect();
    for item in column.iter_mut().flatten() {
        if let Some(property) = item.as_property() {
            *item = Item::Property(Arc::new(Property { key: places[&property.key], ..property.clone() }));
        }
    }
    column
}

impl Step for Order {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.waiting.push(batch, &mut cx.charge)?;
            self.prune(cx)?;
        }
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.sorted.is_none() {
            if self.waiting.is_empty() {
                return Ok(None);
            }
            let sorted = self.sort(cx)?;
            self.sorted = Some(CountedPortions::new(sorted, &mut cx.charge)?);
        }
        let rows_max = cx.charge.batch_rows();
        Ok(self.sorted.as_mut().and_then(|rows| rows.next(rows_max)))
    }

    fn reset(&mut self, origins: u32) {
        self.waiting.clear();
        self.sorted = None;
        self.origins = origins;
    }
}
