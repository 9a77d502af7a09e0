//! Steps with side effects: `aggregate('x')`, `group('x')` and the like gather while traversers pass; and `cap('x')`.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::{Context, Grouping};
use crate::execute::limits::Growth;
use crate::execute::pipeline::Step;
use crate::execute::side_effects::SideEffect;
use crate::execute::waiting::Waiting;
use crate::step::by::Projection;
use crate::step::group::Groups;
use crate::value::item::Item;
use crate::value::item_list::ItemList;
use crate::value::map::ItemMap;
use crate::value::number;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// The present content of the side effect `number`, as an item: an empty list if nothing was gathered.
///
/// # Errors
/// Errors of the traversal of a group.
pub fn read(number: usize, cx: &mut Context<'_>) -> Result<Item> {
    // Out of the context meanwhile: a group's traversal runs in it.
    let mut effect = std::mem::take(cx.side_effects.get_mut(number));
    let item = match &mut effect {
        SideEffect::Nothing => Item::List(ItemList::default()),
        SideEffect::Given(item, _) => item.clone(),
        SideEffect::Items(items) => Item::List(copied(items, cx)?),
        SideEffect::Set(items, _) => Item::Set(copied(items, cx)?),
        SideEffect::Tree(tree) => {
            cx.charge.room().check(tree.extent().heap_bytes)?;
            Item::Tree(Arc::new(tree.clone()))
        }
        SideEffect::Graph(graph) => {
            cx.charge.room().check(graph.heap_bytes())?;
            Item::Graph(Arc::new(graph.clone()))
        }
        SideEffect::Groups(parts) => {
            let mut map = ItemMap::new();
            for part in parts {
                for (key, value) in part.map(cx)?.into_entries() {
                    let merged = match map.get(&key) {
                        Some(before) => together(before, &value)?,
                        None => value,
                    };
                    map.insert(key, merged);
                }
            }
            Item::Map(Arc::new(map))
        }
    };
    *cx.side_effects.get_mut(number) = effect;
    Ok(item)
}

/// A copy of what was gathered, if there is room for it.
fn copied(items: &[Item], cx: &mut Context<'_>) -> Result<ItemList> {
    let mut growth = Growth::default();
    items.iter().try_for_each(|item| growth.add(item, &mut cx.charge))?;
    Ok(items.into())
}

/// What two steps made of one group: counts are added, lists follow each other; of anything else the later stays.
fn together(before: &Item, after: &Item) -> Result<Item> {
    match (before, after) {
        (Item::Value(_), Item::Value(_)) => number::add(before, after).or_else(|_| Ok(after.clone())),
        (Item::List(before), Item::List(after)) => Ok(Item::List([&**before, &**after].concat().into())),
        _ => Ok(after.clone()),
    }
}

/// `aggregate('x')`: gathers all rows, then lets them go on.
pub struct Aggregate {
    into: usize,
    by: Projection,
    waiting: Waiting,
    /// What came in this run, where all of it is assigned at once.
    assigned: Option<Vec<Item>>,
}

impl Aggregate {
    /// Gathers in the side effect `into` what `by` says of each.
    #[must_use]
    pub fn new(into: usize, by: Projection) -> Self {
        Self { into, by, waiting: Waiting::default(), assigned: None }
    }
}

impl Step for Aggregate {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let items = self.by.of(&batch, cx)?;
        let (effect, charge) = (cx.side_effects.get_mut(self.into), &mut cx.charge);
        if effect.is_assigned() {
            let all = self.assigned.get_or_insert_default();
            for (row, item) in items.into_iter().enumerate() {
                let Some(item) = item else { continue };
                charge.hold(item.heap_bytes())?;
                charge.repeat(all, item, batch.bulk(row))?.forget();
            }
        } else {
            // What was given stays as it is as long as nothing joins it.
            for (row, item) in items.into_iter().enumerate() {
                item.map_or(Ok(()), |item| effect.gather(item, batch.bulk(row), charge))?;
            }
            if matches!(effect, SideEffect::Nothing) {
                effect.begin();
            }
        }
        self.waiting.push(batch, charge)?;
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let (Some(all), SideEffect::Given(item, _)) =
            (self.assigned.take(), cx.side_effects.get_mut(self.into))
        {
            *item = Item::List(all.into());
        }
        Ok(self.waiting.pop())
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
        self.assigned = None;
    }
}

/// `group('x')`, `groupCount('x')`: groups all, then lets them go on.
pub struct GroupAside {
    /// The groups, until they are in the side effect.
    groups: Option<Groups>,
    into: usize,
    /// Which of the side effect's groups they are.
    part: usize,
    waiting: Waiting,
}

impl GroupAside {
    /// Groups in the side effect `into`.
    #[must_use]
    pub fn new(groups: Groups, into: usize) -> Self {
        Self { groups: Some(groups), into, part: 0, waiting: Waiting::default() }
    }

    /// Puts the groups into the side effect, before anything is in them.
    fn begin(&mut self, cx: &mut Context<'_>) {
        let Some(groups) = self.groups.take() else { return };
        let groups: Box<dyn Grouping> = Box::new(groups);
        let effect = cx.side_effects.get_mut(self.into);
        match effect {
            SideEffect::Groups(parts) => {
                self.part = parts.len();
                parts.push(groups);
            }
            other => *other = SideEffect::Groups(vec![groups]),
        }
    }
}

impl Step for GroupAside {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        self.begin(cx);
        let mut effect = std::mem::take(cx.side_effects.get_mut(self.into));
        let added = match &mut effect {
            SideEffect::Groups(parts) => {
                // One side effect, whichever row of a parent they come from.
                let rows = Batch { origin: vec![0; batch.len()], ..batch.clone() };
                parts.get_mut(self.part).map_or(Ok(()), |groups| groups.add(&rows, cx))
            }
            _ => Ok(()),
        };
        *cx.side_effects.get_mut(self.into) = effect;
        added?;
        self.waiting.push(batch, &mut cx.charge)?;
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.begin(cx);
        Ok(self.waiting.pop())
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
    }
}

/// `cap('x')`: the content of side effects, after all rows have passed.
pub struct Cap {
    of: Vec<(usize, Arc<str>)>,
    origins: u32,
    finished: bool,
}

impl Cap {
    /// The content of these side effects; for several of them, a map by name.
    #[must_use]
    pub fn new(of: Vec<(usize, Arc<str>)>) -> Self {
        Self { of, origins: 1, finished: false }
    }
}

impl Step for Cap {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        *input = None;
        Ok(None)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(None);
        }
        let item = match self.of.as_slice() {
            [(number, _)] => read(*number, cx)?,
            several => {
                let mut map = ItemMap::new();
                for (number, name) in several {
                    map.insert(Item::from(&**name), read(*number, cx)?);
                }
                Item::Map(Arc::new(map))
            }
        };
        Ok(Some(Batch::new(Column::repeated(item, self.origins as usize), (0..self.origins).collect())))
    }

    fn reset(&mut self, origins: u32) {
        (self.origins, self.finished) = (origins, false);
    }
}
