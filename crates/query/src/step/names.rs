//! Names: what `select('a')` and similar steps find in each row.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::plan::function::{Pop, Selected};
use crate::step::by::Projection;
use crate::value::item::Item;
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;

/// The value of a map for a key; none if the item is not a map.
pub(super) fn in_map(item: &Item, key: &Item) -> Option<Item> {
    match item {
        Item::Map(map) => map.get(key).cloned(),
        Item::Value(Value::Map(map)) => key.as_value().and_then(|key| map.get(key).cloned()).map(Item::Value),
        _ => None,
    }
}

/// The modulated values of the found items.
pub(super) fn of_found(
    batch: &Batch,
    found: Vec<Option<Item>>,
    by: &mut Projection,
    cx: &mut Context<'_>,
) -> Result<Vec<Option<Item>>> {
    let rows: Vec<u32> = (0..).zip(&found).filter_map(|(row, item)| item.as_ref().map(|_| row)).collect();
    let mut there = batch.gather(&rows.as_slice().into());
    there.current = Column::of_items(found.into_iter().flatten().collect());
    let mut answers = vec![None; batch.len()];
    rows.iter().zip(by.of(&there, cx)?).for_each(|(row, answer)| answers[*row as usize] = answer);
    Ok(answers)
}

/// The meaning of a name in a row: a key of the current map, a side effect, or a label.
pub(super) fn named(
    batch: &Batch,
    row: usize,
    selected: &Selected,
    aside: Option<&Item>,
    cx: &Context<'_>,
) -> Option<Item> {
    let here = batch.current.get(row);
    let of_map = here.as_ref().and_then(|here| in_map(here, &Item::from(&*selected.name)));
    if of_map.is_some() {
        return of_map;
    }
    if aside.is_some() {
        return aside.cloned();
    }
    let on_path = || {
        let path = batch.path.as_ref()?.get(row)?;
        let mut all: Vec<Item> = cx.paths.labelled_back(*path, &selected.name).cloned().collect();
        all.reverse();
        Some(all)
    };
    match selected.pop {
        Pop::Last => match selected.slot {
            Some(slot) => batch.slot(slot, row),
            None => on_path()?.pop(),
        },
        Pop::First => on_path()?.into_iter().next(),
        Pop::All => on_path().filter(|all| !all.is_empty()).map(|all| Item::List(all.into())),
        Pop::Mixed => {
            let mut all = on_path()?;
            if all.len() > 1 { Some(Item::List(all.into())) } else { all.pop() }
        }
    }
}
