//! `group()` and `groupCount()`: rows by key, and a value for each group.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::child::Child;
use crate::execute::context::{Context, Grouping};
use crate::execute::limits::{Growth, Work};
use crate::execute::pipeline::Step;
use crate::execute::waiting::Waiting;
use crate::step::by::Projection;
use crate::value::item::Item;
use crate::value::map::ItemMap;
use crate::value::number;
use crate::value::same::ByValue;
use evergraph_graph::error::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// What a group takes beside its key and those in it: its places in tables and lists.
const GROUP_BYTES: usize = 192;

/// What becomes of those of a group.
pub enum Gathered {
    /// A list of what each is.
    List(Projection),
    /// How many they are.
    Count,
    /// What a traversal makes of all of them.
    Traversal(Child),
}

/// Rows by origin and key.
pub struct Groups {
    key: Projection,
    value: Gathered,
    /// The number of each key of an origin, in the order they came.
    numbers: HashMap<(u32, ByValue), u32>,
    keys: Vec<(u32, Item)>,
    counts: Vec<u64>,
    lists: Vec<Vec<Item>>,
    /// Rows that a traversal is to be run on, with their group as origin.
    rows: Waiting,
}

impl Groups {
    /// Groups by `key`.
    #[must_use]
    pub fn new(key: Projection, value: Gathered) -> Self {
        Self {
            key,
            value,
            numbers: HashMap::new(),
            keys: Vec::new(),
            counts: Vec::new(),
            lists: Vec::new(),
            rows: Waiting::default(),
        }
    }

    /// Drops all rows.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.keys.clear();
        self.counts.clear();
        self.lists.clear();
        self.rows.clear();
    }

    /// Adds the rows of `batch`; rows without a key are left out.
    ///
    /// # Errors
    /// Errors of the key's traversal; `limit`.
    pub fn add(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<()> {
        let keys = self.key.of(batch, cx)?;
        let (mut rows, mut groups) = (Vec::new(), Vec::new());
        let (mut bytes, mut work) = (0_usize, Work::default());
        for (row, key) in keys.into_iter().enumerate() {
            let Some(key) = key else { continue };
            let origin = batch.origin[row];
            let key_bytes = key.heap_bytes();
            // To hash a large key takes its time.
            work.add(key_bytes, &cx.charge)?;
            let next = self.keys.len() as u32;
            let number = *self.numbers.entry((origin, ByValue(key.clone()))).or_insert(next);
            if number == next {
                self.keys.push((origin, key));
                self.counts.push(0);
                self.lists.push(Vec::new());
                bytes = bytes.saturating_add(GROUP_BYTES + 2 * key_bytes);
            }
            rows.push(row as u32);
            groups.push(number);
        }
        match &mut self.value {
            Gathered::Count => {
                for (row, group) in rows.iter().zip(&groups) {
                    let count = &mut self.counts[*group as usize];
                    *count = count.checked_add(batch.bulk(*row as usize)).ok_or_else(number::too_many)?;
                }
            }
            Gathered::List(by) => {
                let values = by.of(batch, cx)?;
                for (row, group) in rows.iter().zip(&groups) {
                    let Some(value) = values[*row as usize].clone() else { continue };
                    cx.charge.hold(std::mem::take(&mut bytes).saturating_add(value.heap_bytes()))?;
                    let list = &mut self.lists[*group as usize];
                    cx.charge.repeat(list, value, batch.bulk(*row as usize))?.forget();
                }
            }
            Gathered::Traversal(_) => {
                let mut kept = batch.gather(&rows.into());
                kept.origin = groups;
                self.rows.push(kept, &mut cx.charge)?;
            }
        }
        cx.charge.hold(bytes)
    }

    /// The groups of each origin, below `origins`, as maps; in the order their keys came.
    ///
    /// # Errors
    /// Errors of the traversal of the groups.
    pub fn maps(&mut self, origins: u32, cx: &mut Context<'_>) -> Result<Vec<ItemMap>> {
        let mut values: Vec<Option<Item>> = match &mut self.value {
            Gathered::Count => {
                let count =
                    |count: &u64| i64::try_from(*count).map(Item::from).map_err(|_| number::too_many());
                self.counts.iter().map(|number| count(number).map(Some)).collect::<Result<_>>()?
            }
            Gathered::List(_) => {
                let mut growth = Growth::default();
                let mut copied = |list: &Vec<Item>| {
                    growth.add_bytes(list.len() * size_of::<Item>(), &mut cx.charge)?;
                    Ok(Some(Item::List(list.as_slice().into())))
                };
                self.lists.iter().map(&mut copied).collect::<Result<_>>()?
            }
            Gathered::Traversal(child) => {
                let mut values = vec![None; self.keys.len()];
                if !self.rows.is_empty() {
                    let rows = Batch::concat(&self.rows.iter().cloned().collect::<Vec<_>>()).sort_by_origin();
                    let mut growth = Growth::default();
                    child.run_grouped(rows, self.keys.len() as u32, cx, |batch, cx| {
                        for (item, group) in batch.current.items().zip(&batch.origin) {
                            growth.add(&item, &mut cx.charge)?;
                            values[*group as usize].get_or_insert(item);
                        }
                        Ok(true)
                    })?;
                }
                values
            }
        };
        let mut maps = vec![ItemMap::new(); origins as usize];
        for ((origin, key), value) in self.keys.iter().zip(&mut values) {
            // A group of which nothing becomes isn't there.
            if let Some(value) = value.take() {
                maps[*origin as usize].insert(key.clone(), value);
            }
        }
        Ok(maps)
    }
}

impl Grouping for Groups {
    fn add(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<()> {
        Groups::add(self, batch, cx)
    }

    /// The groups of all origins as one map.
    fn map(&mut self, cx: &mut Context<'_>) -> Result<ItemMap> {
        let origins = self.keys.iter().map(|(origin, _)| origin + 1).max().unwrap_or(1);
        let maps = self.maps(origins, cx)?;
        Ok(maps.into_iter().flat_map(ItemMap::into_entries).collect())
    }
}

/// `group()`: one map of all rows of an origin.
pub struct Group {
    groups: Groups,
    origins: u32,
    finished: bool,
}

impl Group {
    /// The map of `groups`.
    #[must_use]
    pub fn new(groups: Groups) -> Self {
        Self { groups, origins: 1, finished: false }
    }
}

impl Step for Group {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.groups.add(&batch, cx)?;
        }
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(None);
        }
        let maps = self.groups.maps(self.origins, cx)?;
        let items = maps.into_iter().map(|map| Item::Map(Arc::new(map))).collect();
        Ok(Some(Batch::new(Column::of_items(items), (0..self.origins).collect())))
    }

    fn reset(&mut self, origins: u32) {
        self.groups.clear();
        (self.origins, self.finished) = (origins, false);
    }
}
