//! `count()`, `sum()`, `fold()` and similar steps: one result for all rows of an origin.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::execute::context::Context;
use crate::execute::limits::{Charge, Holding};
use crate::execute::pipeline::Step;
use crate::plan::operator::Reducer;
use crate::value::item::Item;
use crate::value::number;
use crate::value::relation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::{Value, ValueType};

/// The reduction of the rows of one origin so far.
#[derive(Clone, Debug, Default)]
pub struct Accumulator {
    count: u64,
    /// The sum, the least, the greatest; nothing as long as there was nothing.
    item: Option<Item>,
    items: Vec<Item>,
    /// Whether null came.
    nulls: bool,
}

impl Accumulator {
    /// Adds `times` of `item`; what is kept of them is counted by `holding`.
    ///
    /// # Errors
    /// As [`Accumulator::add`]; `limit` past the query's memory or time.
    pub fn add_all(
        &mut self,
        reducer: &Reducer,
        item: Item,
        times: u64,
        charge: &mut Charge<'_>,
        holding: &mut Holding,
    ) -> Result<()> {
        match reducer {
            Reducer::Fold => {
                holding.join(charge.holding(item.heap_bytes())?);
                holding.join(charge.repeat(&mut self.items, item, times)?);
            }
            Reducer::Combine(seed, how) => {
                charge.check()?;
                let before = self.item.take().unwrap_or_else(|| seed.clone());
                self.item = Some(charge.combined(*how, before, item, times)?);
            }
            _ => self.add(reducer, item, times)?,
        }
        Ok(())
    }

    /// Adds `times` of `item`; lists and operators take one.
    ///
    /// # Errors
    /// `invalid` for what can't be added or compared, `limit` for sums that no number holds.
    pub fn add(&mut self, reducer: &Reducer, item: Item, times: u64) -> Result<()> {
        match reducer {
            Reducer::Count => self.count = self.count.checked_add(times).ok_or_else(number::too_many)?,
            Reducer::SumOfCounts => {
                let count =
                    item.as_value().and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
                let more = count.unwrap_or_default().checked_mul(times);
                let sum = more.and_then(|more| self.count.checked_add(more));
                self.count = sum.ok_or_else(number::too_many)?;
            }
            Reducer::Fold => self.items.push(item),
            Reducer::Combine(seed, how) => {
                let before = self.item.take().unwrap_or_else(|| seed.clone());
                self.item = Some(how.of(before, item)?);
            }
            // Null is nothing to add, and neither less nor greater.
            _ if matches!(item, Item::Null) => self.nulls = true,
            Reducer::Sum | Reducer::Mean => {
                let product = number::times(&item, times)?;
                self.item = Some(match self.item.take() {
                    None => product,
                    Some(sum) => number::add(&sum, &product)?,
                });
                self.count = self.count.checked_add(times).ok_or_else(number::too_many)?;
            }
            Reducer::Min | Reducer::Max => {
                let better = match &self.item {
                    None => true,
                    Some(best) => {
                        let order = relation::compare(&item, best);
                        let order = order.or_else(|| number::nan_last(&item, best)).ok_or_else(|| {
                            let (item, best) = (item.kind(), best.kind());
                            Error::invalid(format!("min() and max() can't compare {item} with {best}"))
                        })?;
                        if *reducer == Reducer::Min { order.is_lt() } else { order.is_gt() }
                    }
                };
                let (kept, other) = if better {
                    (item, self.item.take())
                } else {
                    (self.item.take().unwrap_or(Item::Null), Some(item))
                };
                // The least of an int and a double is a double.
                self.item = Some(match other {
                    Some(other) => number::promoted(kept, &other),
                    None => kept,
                });
            }
        }
        Ok(())
    }

    /// Adds one `item` of a collection, as it is: its number keeps its width.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub fn add_local(&mut self, reducer: &Reducer, item: Item) -> Result<()> {
        if !matches!(reducer, Reducer::Sum | Reducer::Mean) || matches!(item, Item::Null) {
            return self.add(reducer, item, 1);
        }
        self.item = Some(match self.item.take() {
            None => item,
            Some(sum) => number::add(&sum, &item)?,
        });
        self.count += 1;
        Ok(())
    }

    /// What it comes to; nothing where a sum, mean, least or greatest has nothing to be of, and null of nulls alone.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub fn finish(self, reducer: &Reducer) -> Result<Option<Item>> {
        Ok(match reducer {
            Reducer::Count | Reducer::SumOfCounts => {
                Some(Item::from(i64::try_from(self.count).map_err(|_| number::too_many())?))
            }
            Reducer::Fold => Some(Item::List(self.items.into())),
            Reducer::Combine(seed, _) => Some(self.item.unwrap_or_else(|| seed.clone())),
            _ if self.item.is_none() => self.nulls.then_some(Item::Null),
            Reducer::Sum | Reducer::Min | Reducer::Max => self.item,
            Reducer::Mean => self.item.map(|sum| number::mean(&sum, self.count)).transpose()?,
        })
    }
}

/// Reduces all rows of an origin to one result.
pub struct Reduce {
    reducer: Reducer,
    origins: Vec<Accumulator>,
    holding: Holding,
    finished: bool,
}

impl Reduce {
    /// By `reducer`.
    #[must_use]
    pub fn new(reducer: Reducer) -> Self {
        Self { reducer, origins: vec![Accumulator::default()], holding: Holding::default(), finished: false }
    }
}

impl Step for Reduce {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        if self.reducer == Reducer::Count {
            for row in 0..batch.len() {
                self.origins[batch.origin[row] as usize].add(&Reducer::Count, Item::Null, batch.bulk(row))?;
            }
            return Ok(None);
        }
        for (row, item) in batch.current.items().enumerate() {
            let origin = &mut self.origins[batch.origin[row] as usize];
            origin.add_all(&self.reducer, item, batch.bulk(row), &mut cx.charge, &mut self.holding)?;
        }
        Ok(None)
    }

    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(None);
        }
        let (mut origin, mut items) = (Vec::new(), Vec::new());
        for (number, accumulator) in (0_u32..).zip(self.origins.drain(..)) {
            if let Some(item) = accumulator.finish(&self.reducer)? {
                origin.push(number);
                items.push(item);
            }
        }
        self.holding = Holding::default();
        let column = if matches!(self.reducer, Reducer::Count | Reducer::SumOfCounts) {
            let counts = items.iter().filter_map(|item| item.as_value()?.as_i64()).collect();
            Column::new(Data::Integers(ValueType::I64, counts))
        } else {
            Column::of_items(items)
        };
        Ok(Some(Batch::new(column, origin)))
    }

    fn reset(&mut self, origins: u32) {
        self.origins.clear();
        self.origins.resize(origins as usize, Accumulator::default());
        (self.holding, self.finished) = (Holding::default(), false);
    }
}
