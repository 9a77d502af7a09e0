//! Scalar functions, row by row: texts, lists, numbers and dates.

use crate::batch::Batch;
use crate::chance::Chance;
use crate::execute::context::Context;
use crate::execute::limits::{Charge, Growth};
use crate::plan::function::Selected;
use crate::plan::scalar::Part;
use crate::step::by::Projection;
use crate::step::element;
use crate::step::names::{named, of_found};
use crate::step::side_effect;
use crate::value::item::Item;
use crate::value::list::{Given, ListFunction};
use crate::value::map::ItemMap;
use crate::value::math::Formula;
use crate::value::scalar::ScalarFunction;
use crate::value::types::kind_name;
use crate::value::{convert, date, text};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::{Value, ValueType};
use std::sync::Arc;

/// A scalar function with its arguments, ready to run.
pub enum Scalar {
    /// A function of the item alone.
    Each(ScalarFunction),
    /// The item and these, as one text.
    Concat(Vec<Projection>),
    /// A collection of the item and another.
    List(ListFunction, Given, Projection),
    /// Milliseconds between the item and another moment.
    DateDifference(Projection),
    /// A text with values in it.
    Format(Vec<Part>, Vec<Projection>),
    /// A number by a formula.
    Math(Formula, Vec<Option<Selected>>, Vec<Projection>),
    /// So many of a collection, by chance.
    Sample(u64, Chance),
}

impl Scalar {
    /// The result for each row; none for a row that lacks an argument.
    ///
    /// # Errors
    /// `invalid` of an item that the function has no answer for, and errors of reading.
    pub fn of(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<Item>>> {
        match self {
            Self::Each(function) => {
                let catalogue = cx.catalogue();
                each(batch.current.items(), &mut cx.charge, |item, charge| {
                    function.of(&item, &catalogue, charge.room())
                })
            }
            Self::Concat(of) => concat(batch, of, cx),
            Self::List(function, given, by) => {
                let others = by.of(batch, cx)?.into_iter().map(|other| other.unwrap_or(Item::Null));
                let both = batch.current.items().zip(others);
                each(both, &mut cx.charge, |(item, other), charge| {
                    function.of(&item, &other, *given, charge.room())
                })
            }
            Self::DateDifference(by) => {
                let others = by.of(batch, cx)?.into_iter().map(|other| other.unwrap_or(Item::Null));
                let both = batch.current.items().zip(others);
                both.map(|(item, other)| date::difference(&item, &other).map(Some)).collect()
            }
            Self::Format(parts, by) => format_parts(batch, parts, by, cx),
            Self::Math(formula, names, by) => math(batch, formula, names, by, cx),
            Self::Sample(count, chance) => {
                let sampled = batch.current.items().map(|item| Ok(Some(sample(item, *count, chance))));
                Growth::all(sampled, &mut cx.charge)
            }
        }
    }
}

/// What `of` makes of each of `all`, each counted before the next is made.
fn each<T>(
    all: impl Iterator<Item = T>,
    charge: &mut Charge<'_>,
    of: impl Fn(T, &Charge<'_>) -> Result<Item>,
) -> Result<Vec<Option<Item>>> {
    let (mut made, mut growth) = (Vec::with_capacity(all.size_hint().0), Growth::default());
    for one in all {
        let item = of(one, charge)?;
        growth.add(&item, charge)?;
        made.push(Some(item));
    }
    Ok(made)
}

/// The text of each row and what `of` says behind it; a traversal that gives nothing adds nothing.
fn concat(batch: &Batch, of: &mut [Projection], cx: &mut Context<'_>) -> Result<Vec<Option<Item>>> {
    let mut columns = vec![batch.current.items().map(Some).collect::<Vec<_>>()];
    for by in of {
        columns.push(by.of(batch, cx)?);
    }
    each(0..batch.len(), &mut cx.charge, |row, charge| {
        text::concat(columns.iter().filter_map(|column| column[row].as_ref()), charge.room())
    })
}

/// The parts as one text; nothing where one of them has no value or null.
fn format_parts(
    batch: &Batch,
    parts: &[Part],
    by: &mut [Projection],
    cx: &mut Context<'_>,
) -> Result<Vec<Option<Item>>> {
    let catalogue = cx.catalogue();
    let (mut texts, mut growth) = (vec![Some(String::new()); batch.len()], Growth::default());
    let mut turn = 0;
    for part in parts {
        let found = match part {
            Part::Text(text) => {
                for whole in texts.iter_mut().flatten() {
                    growth.add_bytes(text.len(), &mut cx.charge)?;
                    whole.push_str(text);
                }
                continue;
            }
            Part::By => {
                let turns = by.len().max(1);
                let now = turn % turns;
                turn += 1;
                match by.get_mut(now) {
                    Some(by) => by.of(batch, cx)?,
                    None => batch.current.items().map(Some).collect(),
                }
            }
            Part::Name(selected) => {
                let (rows, values) = element::values(&batch.current, &selected.name, cx)?;
                let mut found: Vec<Option<Item>> = vec![None; batch.len()];
                rows.into_iter().zip(values.items()).for_each(|(row, item)| found[row as usize] = Some(item));
                let aside = selected.side_effect.map(|number| side_effect::read(number, cx)).transpose()?;
                for (row, value) in found.iter_mut().enumerate() {
                    if value.is_none() {
                        *value = named(batch, row, selected, aside.as_ref(), cx);
                    }
                }
                found
            }
        };
        for (whole, value) in texts.iter_mut().zip(found) {
            match (whole.as_mut(), value) {
                (Some(text), Some(value)) if !matches!(value, Item::Null) => {
                    let shown = text::shown(&value, &catalogue, cx.charge.room())?;
                    growth.add_bytes(shown.len(), &mut cx.charge)?;
                    text.push_str(&shown);
                }
                _ => *whole = None,
            }
        }
    }
    Ok(texts.into_iter().map(|text| text.map(Item::from)).collect())
}

/// What the formula comes to in each row; nothing where a name stands for nothing.
fn math(
    batch: &Batch,
    formula: &Formula,
    names: &[Option<Selected>],
    by: &mut [Projection],
    cx: &mut Context<'_>,
) -> Result<Vec<Option<Item>>> {
    let mut columns = Vec::with_capacity(names.len());
    for (turn, selected) in names.iter().enumerate() {
        let found: Vec<Option<Item>> = match selected {
            None => batch.current.items().map(Some).collect(),
            Some(selected) => {
                let aside = selected.side_effect.map(|number| side_effect::read(number, cx)).transpose()?;
                (0..batch.len()).map(|row| named(batch, row, selected, aside.as_ref(), cx)).collect()
            }
        };
        let turns = by.len().max(1);
        columns.push(match by.get_mut(turn % turns) {
            None => found,
            Some(by) => of_found(batch, found, by, cx)?,
        });
    }
    let mut values = Vec::with_capacity(names.len());
    let mut row = |row: usize| {
        values.clear();
        for (column, name) in columns.iter().zip(formula.names()) {
            let Some(item) = &column[row] else { return Ok(None) };
            values.push(float(item, name)?);
        }
        formula.of(&values).map(|value| Some(Item::from(value)))
    };
    (0..batch.len()).map(&mut row).collect()
}

fn float(item: &Item, name: &str) -> Result<f64> {
    let number = match item {
        Item::Value(Value::String(_) | Value::DateTime(_)) | Item::Null => None,
        item => convert::as_number(item, Some(ValueType::F64)).ok(),
    };
    number.as_ref().and_then(Item::as_value).and_then(Value::as_f64).ok_or_else(|| {
        Error::invalid(format!(
            "The variable {name} for math() step must resolve to a Number - it is instead of type {}",
            kind_name(item)
        ))
    })
}

/// So many of a collection, or all if there are fewer; an item alone is what it is.
fn sample(item: Item, count: u64, chance: &mut Chance) -> Item {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let entries = match &item {
        Item::Map(map) => Some(map.entries().to_vec()),
        _ => None,
    };
    if let Some(mut entries) = entries {
        if entries.len() <= count {
            return item;
        }
        choose(&mut entries, count, chance);
        return Item::Map(Arc::new(entries.into_iter().collect::<ItemMap>()));
    }
    match item.elements() {
        Some(mut items) if items.len() > count => {
            choose(&mut items, count, chance);
            Item::List(items.into())
        }
        _ => item,
    }
}

/// Leaves `count` of them, chosen by chance: the beginning of a shuffle.
fn choose<T>(items: &mut Vec<T>, count: usize, chance: &mut Chance) {
    for at in 0..count {
        let other = at + chance.below(items.len() - at);
        if chance.is_seeded() {
            // The others keep their order, as in TinkerPop, where the same seed is to give the same.
            items[at..=other].rotate_right(1);
        } else {
            items.swap(at, other);
        }
    }
    items.truncate(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_a_list_has_so_many_of_its_items_and_each_may_come() {
        let mut chance = Chance::default();
        let items: Vec<Item> = (0..5).map(Item::from).collect();
        let mut came = [0; 5];
        for _ in 0..1000 {
            let some = sample(Item::List(items.as_slice().into()), 2, &mut chance).elements().unwrap();
            assert_eq!(some.len(), 2);
            assert_ne!(some[0], some[1]);
            for item in some {
                came[item.as_value().unwrap().as_i64().unwrap() as usize] += 1;
            }
        }
        // 400 each are expected; 7 standard deviations are 108.
        assert!(came.iter().all(|times| (292..=508).contains(times)), "{came:?}");
        let all = Item::List(items.into());
        assert_eq!(sample(all.clone(), 5, &mut chance), all);
        assert_eq!(sample(Item::from(29), 5, &mut chance), Item::from(29));
    }
}
