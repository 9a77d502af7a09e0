//! `sack()`, `sack(sum)`, `barrier()`: values that traversers carry, and merging of equal traversers.
//!
//! A row without a sack of its own has the one that the query began with. Only a `barrier()` makes one of rows that are
//! alike but for their sacks, and only where an operator says what becomes of these: elsewhere rows with sacks that are to
//! be merged stay apart, so that what comes out doesn't depend on what a plan merges for its own sake.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::batch::path::PathId;
use crate::execute::context::Context;
use crate::execute::limits::Growth;
use crate::execute::pipeline::Step;
use crate::execute::waiting::{Giving, Waiting};
use crate::step::by::Projection;
use crate::value::combine::Combine;
use crate::value::item::Item;
use crate::value::number;
use evergraph_graph::error::Result;
use std::collections::HashMap;

/// The sack of each row; null if it is empty.
#[must_use]
pub fn sacks(batch: &Batch, cx: &Context<'_>) -> Vec<Item> {
    let initial = cx.sack.as_ref().map_or(Item::Null, |sack| sack.initial.clone());
    let own = |row: usize| batch.sack.as_ref().and_then(|sack| sack.get(row));
    (0..batch.len()).map(|row| own(row).unwrap_or_else(|| initial.clone())).collect()
}

/// `sack(sum).by('weight')`: combines the sack with a modulated value of the row.
pub struct SetSack {
    how: Combine,
    by: Projection,
}

impl SetSack {
    /// By `how`, with what `by` says of each; a row of which it says nothing is left out.
    #[must_use]
    pub fn new(how: Combine, by: Projection) -> Self {
        Self { how, by }
    }
}

impl Step for SetSack {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        let counts = self.by.of(&batch, cx)?;
        let keep: Vec<bool> = counts.iter().map(Option::is_some).collect();
        let (mut made, mut growth) = (Vec::with_capacity(batch.len()), Growth::default());
        for (sack, item) in sacks(&batch, cx).into_iter().zip(counts) {
            let sack = match item {
                Some(item) => cx.charge.combined(self.how, sack, item, 1)?,
                None => sack,
            };
            growth.add(&sack, &mut cx.charge)?;
            made.push(sack);
        }
        batch.sack = Some(Column::of_items(made));
        Ok(Some(batch.filter(&keep)))
    }
}

/// `barrier()`: waits for all rows of an origin, and merges equal ones.
pub struct Barrier {
    normalises: bool,
    waiting: Waiting,
    /// What is left of the rows, to be given in batches.
    made: Option<Giving>,
}

impl Barrier {
    /// A barrier that normalises the sacks of an origin to a sum of one, if it `normalises`.
    #[must_use]
    pub fn new(normalises: bool) -> Self {
        Self { normalises, waiting: Waiting::default(), made: None }
    }

    fn make(&mut self, cx: &mut Context<'_>) -> Result<Batch> {
        let (all, _holding) = self.waiting.together(&mut cx.charge)?;
        let mut all = all.sort_by_origin();
        if self.normalises {
            all.sack = Some(Column::of_items(parts(&all, cx)?));
        }
        one_of_alike(all, cx)
    }
}

impl Step for Barrier {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.waiting.push(batch, &mut cx.charge)?;
        }
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.made.is_none() {
            if self.waiting.is_empty() {
                return Ok(None);
            }
            let made = self.make(cx)?;
            self.made = Some(Giving::new(made, &mut cx.charge)?);
        }
        let rows_max = cx.charge.batch_rows();
        Ok(self.made.as_mut().and_then(|rows| rows.next(rows_max)))
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
        self.made = None;
    }
}

/// The sack of each row as a part of all that its origin has.
fn parts(batch: &Batch, cx: &Context<'_>) -> Result<Vec<Item>> {
    let sacks = sacks(batch, cx);
    let mut sums: HashMap<u32, Item> = HashMap::new();
    for (row, sack) in sacks.iter().enumerate() {
        let all = number::times(sack, batch.bulk(row))?;
        let sum = match sums.remove(&batch.origin[row]) {
            Some(sum) => number::add(&sum, &all)?,
            None => all,
        };
        sums.insert(batch.origin[row], sum);
    }
    let part = |(sack, origin): (&Item, &u32)| number::quotient(sack, &sums[origin]);
    sacks.iter().zip(&batch.origin).map(part).collect()
}

/// What tells two rows apart, but for their sacks.
type Identity = (u32, Vec<Option<Item>>, Option<PathId>);

/// The rows of which those that are alike are one, the first keeping its place.
fn one_of_alike(batch: Batch, cx: &mut Context<'_>) -> Result<Batch> {
    let merge = cx.sack.as_ref().and_then(|sack| sack.merge);
    let has_sacks = batch.sack.is_some() || cx.sack.is_some();
    if has_sacks && merge.is_none() {
        return Ok(batch);
    }
    let identity_bytes = 2 * (size_of::<Identity>() + (1 + batch.slots.len()) * size_of::<Item>());
    let _holding = cx.charge.holding(batch.len() * identity_bytes)?;
    let mut places: HashMap<Identity, usize> = HashMap::new();
    let (mut rows, mut bulks, mut merged): (Vec<u32>, Vec<u64>, Vec<Item>) = Default::default();
    for (row, sack) in sacks(&batch, cx).into_iter().enumerate() {
        let mut items = vec![batch.current.get(row)];
        items.extend((0..batch.slots.len()).map(|slot| batch.slot(slot, row)));
        let identity = (batch.origin[row], items, batch.path.as_ref().map(|path| path[row]));
        let place = *places.entry(identity).or_insert(rows.len());
        if place == rows.len() {
            rows.push(row as u32);
            bulks.push(batch.bulk(row));
            merged.push(sack);
            continue;
        }
        bulks[place] = bulks[place].checked_add(batch.bulk(row)).ok_or_else(number::too_many)?;
        if let Some(merge) = merge {
            let before = std::mem::replace(&mut merged[place], Item::Null);
            merged[place] = cx.charge.combined(merge, before, sack, 1)?;
        }
    }
    let mut fewer = batch.gather(&rows.into());
    fewer.bulk = cx.bulks.then_some(bulks);
    if has_sacks {
        fewer.sack = Some(Column::of_items(merged));
    }
    Ok(fewer)
}
