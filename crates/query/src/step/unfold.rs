//! `unfold()` and `properties()`: from an item to its contents.

use crate::batch::column::Column;
use crate::batch::{Batch, Rows};
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::operator::Name;
use crate::step::element;
use crate::value::item::Item;
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;
use std::sync::Arc;

/// From collections to their items; other items stay as they are.
#[derive(Default)]
pub struct Unfold {
    /// The next row, and what is left of the one before.
    row: usize,
    left: std::vec::IntoIter<Item>,
}

/// What is in an item.
fn inside(item: Item) -> Vec<Item> {
    let entry = |key: Item, value: Item| Item::Entry(Arc::new((key, value)));
    match &item {
        Item::Map(map) => {
            map.entries().iter().map(|(key, value)| entry(key.clone(), value.clone())).collect()
        }
        Item::Value(Value::Map(map)) => {
            let entries = map.as_slice().iter();
            entries.map(|(key, value)| entry(Item::Value(key.clone()), Item::Value(value.clone()))).collect()
        }
        _ => item.elements().unwrap_or_else(|| vec![item]),
    }
}

impl Step for Unfold {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        let rows_max = cx.charge.batch_rows();
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        while items.len() < rows_max {
            if self.left.len() == 0 {
                if self.row == batch.len() {
                    break;
                }
                let item = batch.current.get(self.row).unwrap_or(Item::Null);
                (self.left, self.row) = (inside(item).into_iter(), self.row + 1);
            }
            items.extend(self.left.by_ref().take(rows_max - items.len()));
            rows.resize(items.len(), self.row as u32 - 1);
        }
        let batch = if self.row == batch.len() && self.left.len() == 0 {
            self.reset(0);
            input.take().unwrap_or_else(Batch::empty)
        } else {
            batch.clone()
        };
        Ok(Some(batch.follow(&Rows::Some(rows.into()), Column::of_items(items))))
    }

    fn reset(&mut self, _origins: u32) {
        *self = Self::default();
    }
}

/// From elements to their properties.
pub struct Properties {
    keys: Vec<Name>,
    values: bool,
}

impl Properties {
    /// The properties with these keys, or all; the properties themselves, or their values.
    #[must_use]
    pub fn new(keys: Vec<Name>, values: bool) -> Self {
        Self { keys, values }
    }
}

impl Step for Properties {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        if let ([key], true) = (self.keys.as_slice(), self.values) {
            let (rows, column) = element::values(&batch.current, key, cx)?;
            return Ok(Some(batch.follow(&Rows::Some(rows.into()), column)));
        }
        let (rows, found) = element::properties(&batch.current, &self.keys, cx)?;
        let item = |property: crate::value::item::Property| {
            if self.values { Item::Value(property.value) } else { Item::Property(Arc::new(property)) }
        };
        let column = Column::of_items(found.into_iter().map(item).collect());
        Ok(Some(batch.follow(&Rows::Some(rows.into()), column)))
    }
}
