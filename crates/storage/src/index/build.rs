//! Index build: fills an index from one snapshot, and reports values that occur twice.
//!
//! Used while a store opens, while an index is created beside writers, and by loads.

use crate::index::fill::IndexFill;
use crate::index::item::Item;
use crate::index::newcomers::NewcomerList;
use crate::index::property_index::PropertyIndex;
use crate::view::{IndexAnswer, View};
use evergraph_graph::error::Result;
use evergraph_graph::id::GroupId;
use evergraph_graph::index::IndexId;
use evergraph_graph::value::Value;
use evergraph_graph::value::shortened::Shortened;
use std::collections::BTreeMap;

/// Duplicates named in an error; further ones are only counted.
const DUPLICATES_NAMED: usize = 5;
/// Duplicates kept; further ones are only counted.
const DUPLICATES_KEPT: usize = 1000;
/// Candidates looked at together: more than one only where hashes meet or entries are stale.
const CANDIDATES: usize = 16;

/// Values that more than one item has.
#[derive(Debug)]
pub struct Duplicates<I> {
    pairs: BTreeMap<(I, I), Value>,
    more: u64,
}

impl<I> Default for Duplicates<I> {
    fn default() -> Self {
        Self { pairs: BTreeMap::new(), more: 0 }
    }
}

impl<I: Item> Duplicates<I> {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Both have `value`.
    pub fn find(&mut self, value: Value, one: I, other: I) {
        if self.pairs.len() < DUPLICATES_KEPT {
            self.pairs.insert((one.min(other), one.max(other)), value);
        } else {
            self.more += 1;
        }
    }

    /// Those of `other`, too.
    pub fn add(&mut self, other: Self) {
        self.more += other.more;
        other.pairs.into_iter().for_each(|((one, two), value)| self.find(value, one, two));
    }

    /// For an error: `"ada" of v1 and v7, "bob" of v2 and v3, and 9 more`.
    #[must_use]
    pub fn describe(&self, name: impl Fn(I) -> String) -> String {
        let named = self.pairs.iter().take(DUPLICATES_NAMED).map(|((first, second), value)| {
            let value = Shortened::new(&value.to_string());
            format!("{value} of {} and {}", name(*first), name(*second))
        });
        let mut named: Vec<String> = named.collect();
        let more = self.pairs.len() as u64 + self.more - named.len() as u64;
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        named.join(", ")
    }
}

/// Another item than `item` that has `value` as `view` shows it, by the index: the engine's entries, where it keeps
/// them.
///
/// Cost: a read a candidate; one or two, unless hashes meet.
///
/// # Errors
/// Errors of reading.
pub fn other_holder<I: Item, V: View>(
    view: &V,
    index: &PropertyIndex<I>,
    value: &Value,
    item: Option<I>,
) -> Result<Option<I>> {
    let id = index.definition().id;
    let (mut after, mut candidates) = (None, Vec::with_capacity(CANDIDATES));
    loop {
        candidates.clear();
        let answer = view.candidates(id, value, after, CANDIDATES, &mut candidates)?;
        if answer == IndexAnswer::No {
            index.candidates(value, after, CANDIDATES, &mut candidates);
        }
        for other in candidates.iter().filter(|other| Some(**other) != item) {
            if answer == IndexAnswer::Exact || other.property(view, id.key)?.as_ref() == Some(value) {
                return Ok(Some(*other));
            }
        }
        if candidates.len() < CANDIDATES {
            return Ok(None);
        }
        after = candidates.last().copied();
    }
}

/// Fills `index` with what `view` shows of `group`; how many entries that is. Several threads may fill one
/// index; if it is unique, each duplicate is found by one of them at least.
///
/// Cost: reads the key of each item once, and more where hashes meet.
///
/// # Errors
/// Errors of reading.
pub fn fill_group<I: Item, V: View>(
    view: &V,
    index: &PropertyIndex<I>,
    group: GroupId,
    duplicates: &mut Duplicates<I>,
) -> Result<u64> {
    let id = index.definition().id;
    let mut count = 0;
    I::for_each_in(view, id, group, &mut |item, value| {
        count += 1;
        // First in, then around: of two threads at one value the second finds the first.
        index.fill(index.key(&value), item);
        if index.definition().unique
            && let Some(other) = other_holder(view, index, &value, Some(item))?
        {
            duplicates.find(value, item, other);
        }
        Ok(())
    })?;
    Ok(count)
}

/// Looks at each of `newcomers` as `view` shows it: whether another item has its value.
///
/// # Errors
/// Errors of reading.
pub fn check_newcomers<I: Item, V: View>(
    view: &V,
    index: &PropertyIndex<I>,
    newcomers: NewcomerList<I>,
    duplicates: &mut Duplicates<I>,
) -> Result<()> {
    for (key, item) in newcomers {
        // Who has another value by now entered again.
        let Some(value) = item.property(view, index.definition().id.key)? else { continue };
        if index.key(&value) != key {
            continue;
        }
        if let Some(other) = other_holder(view, index, &value, Some(item))? {
            duplicates.find(value, item, other);
        }
    }
    Ok(())
}

/// Pushes what `view` shows of `group`; how many entries that is.
///
/// # Errors
/// Errors of reading; those of the fill.
pub fn push_group<I: Item, V: View>(
    view: &V,
    index: IndexId,
    group: GroupId,
    fill: &mut dyn IndexFill,
) -> Result<u64> {
    let mut count = 0;
    I::for_each_in(view, index, group, &mut |item, value| {
        count += 1;
        fill.push(&value, item.item_id())
    })?;
    Ok(count)
}

/// Finishes a fill; if the index is `unique`, what occurs twice goes to `duplicates`, with the values that `value_of`
/// reads.
///
/// # Errors
/// Errors of reading; those of the fill.
pub fn finish_fill<I: Item>(
    fill: &mut dyn IndexFill,
    unique: bool,
    value_of: impl Fn(I) -> Result<Option<Value>>,
    duplicates: &mut Duplicates<I>,
) -> Result<()> {
    if !unique {
        return fill.finish(None);
    }
    fill.finish(Some(&mut |one, other| {
        let (Some(one), Some(other)) = (I::from_item_id(one), I::from_item_id(other)) else { return Ok(()) };
        if let Some(value) = value_of(one)?
            && value_of(other)?.as_ref() == Some(&value)
        {
            duplicates.find(value, one, other);
        }
        Ok(())
    }))
}
