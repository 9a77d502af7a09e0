//! `has()`, `is()`, `where()`, `and()`, `or()`, `not()`, `simplePath()`, `dedup()`: which rows go on.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::batch::path::PathId;
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::function::PathPart;
use crate::plan::operator::Test;
use crate::plan::predicate::{Operand, Pattern, Predicate};
use crate::step::by::Projection;
use crate::step::element;
use crate::step::map::paths;
use crate::step::names::in_map;
use crate::step::side_effect;
use crate::value::element_id::element_id;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::filter::Comparison;
use evergraph_graph::id::{LabelId, TypeId};
use evergraph_graph::value::Value;
use std::collections::HashSet;
use std::slice;

/// The rows of `batch` for which all `tests` hold.
///
/// # Errors
/// Errors of reading.
pub fn passes(mut batch: Batch, tests: &[Test], cx: &mut Context<'_>) -> Result<Batch> {
    for test in tests {
        if batch.is_empty() {
            break;
        }
        let keep = match test.predicate().filter(|predicate| predicate.reads_side_effects()) {
            None => holds(&batch, test, cx)?,
            Some(predicate) => {
                let resolved = predicate.resolved(&mut |number| side_effect::read(number, cx))?;
                holds(&batch, &test.with(resolved), cx)?
            }
        };
        batch = batch.filter(&keep);
    }
    Ok(batch)
}

/// What a name stands for in a row: what the map that it is at has at this key, or else the slot.
fn scoped(batch: &Batch, slot: usize, row: usize, cx: &Context<'_>) -> Option<Item> {
    let of_map = match (batch.current.get(row)?, cx.slots.get(slot)) {
        (map @ (Item::Map(_) | Item::Value(Value::Map(_))), Some(name)) => in_map(&map, &Item::from(&**name)),
        _ => None,
    };
    of_map.or_else(|| batch.slot(slot, row))
}

/// Looks at the clock at some of the rows: a value may be long to compare, or the list that it is compared with.
fn check_now_and_then(row: usize, cx: &Context<'_>) -> Result<()> {
    if row % 8 == 7 { cx.charge.check() } else { Ok(()) }
}

/// Refuses what the operand of a `regex()` is in a row, if that is a text and no regular expression.
fn check_patterns(
    predicate: &Predicate,
    rows: usize,
    of: &impl Fn(usize, usize) -> Option<Item>,
    cx: &Context<'_>,
) -> Result<()> {
    let (mut patterns, mut seen) = (Vec::new(), HashSet::new());
    predicate.patterns(&mut patterns);
    for pattern in patterns {
        for row in 0..rows {
            check_now_and_then(row, cx)?;
            let item = match pattern {
                Operand::Item(item) => Some(item.clone()),
                Operand::Slot(slot) => of(*slot, row),
                Operand::SideEffect(_) => None,
            };
            let Some(text) = item.as_ref().and_then(Item::as_str) else { continue };
            if seen.insert(text.to_owned()) {
                Pattern::new(text)
                    .map_err(|error| Error::invalid(format!("regex() needs a pattern: {error}")))?;
            }
        }
    }
    Ok(())
}

/// Of which rows `test` holds. A row that hasn't got a slot that its predicate asks for is left out.
fn holds(batch: &Batch, test: &Test, cx: &Context<'_>) -> Result<Vec<bool>> {
    let mut slots = Vec::new();
    if let Some(predicate) = test.predicate() {
        predicate.slots(&mut slots);
        check_patterns(predicate, batch.len(), &|slot, row| scoped(batch, slot, row, cx), cx)?;
    }
    let has_all = |row: usize| slots.iter().all(|slot| scoped(batch, *slot, row, cx).is_some());
    let of_items = |items: &mut dyn Iterator<Item = Option<Item>>, predicate: &Predicate| {
        let one = |(row, item): (usize, Option<Item>)| {
            check_now_and_then(row, cx)?;
            let slot = |slot| scoped(batch, slot, row, cx);
            Ok(item.is_some_and(|item| has_all(row) && predicate.holds(&item, &slot)))
        };
        items.enumerate().map(one).collect::<Result<Vec<bool>>>()
    };
    Ok(match test {
        Test::Has(key) => {
            let (rows, _) = element::values(&batch.current, key, cx)?;
            marked(&rows, batch.len())
        }
        Test::HasNot(key) => {
            let (rows, _) = element::values(&batch.current, key, cx)?;
            marked(&rows, batch.len()).into_iter().map(|has| !has).collect()
        }
        Test::Property(key, predicate) => {
            let (rows, values) = element::values(&batch.current, key, cx)?;
            let keep = match simple(&values, predicate) {
                Some(keep) => keep,
                None => {
                    let slot = |at: usize| {
                        let row = rows[at] as usize;
                        move |slot| scoped(batch, slot, row, cx)
                    };
                    let one = |(at, item): (usize, Item)| {
                        check_now_and_then(at, cx)?;
                        Ok(predicate.holds(&item, &slot(at)))
                    };
                    values.items().enumerate().map(one).collect::<Result<_>>()?
                }
            };
            let kept = rows.into_iter().zip(keep).filter_map(|(row, keep)| keep.then_some(row));
            marked(&kept.collect::<Vec<_>>(), batch.len())
        }
        Test::Label(predicate) => match labelled(&batch.current, predicate, cx)? {
            Some(keep) => keep,
            None => of_items(&mut element::labels(&batch.current, cx)?.into_iter(), predicate)?,
        },
        Test::Id(predicate) => of_items(&mut batch.current.items().map(|item| element_id(&item)), predicate)?,
        Test::Key(predicate) => {
            let catalogue = cx.catalogue();
            let key = |item| match item {
                Item::Property(property) => Some(Item::from(&*catalogue.key_name(property.key))),
                _ => None,
            };
            of_items(&mut batch.current.items().map(key), predicate)?
        }
        Test::Value(predicate) => {
            let value = |item| match item {
                Item::Property(property) => Some(Item::Value(property.value.clone())),
                _ => None,
            };
            of_items(&mut batch.current.items().map(value), predicate)?
        }
        Test::Is(predicate) => match simple(&batch.current, predicate) {
            Some(keep) => keep,
            None => of_items(&mut batch.current.items().map(Some), predicate)?,
        },
        Test::Elements(quantifier, predicate) => {
            let so_many = |(row, item): (usize, Item)| {
                cx.charge.check()?;
                let Some(items) = item.elements() else { return Ok(false) };
                Ok(quantifier.holds(
                    items.iter().map(|item| predicate.holds(item, &|slot| scoped(batch, slot, row, cx))),
                ))
            };
            batch.current.items().enumerate().map(so_many).collect::<Result<_>>()?
        }
        Test::Slot(slot, predicate) => {
            of_items(&mut (0..batch.len()).map(|row| scoped(batch, *slot, row, cx)), predicate)?
        }
    })
}

/// `predicate` of a column of whole numbers and a whole number: the loop that most filters are.
fn simple(column: &Column, predicate: &Predicate) -> Option<Vec<bool>> {
    let (Data::Integers(_, numbers), None) = column.parts() else { return None };
    let Predicate::Compare(comparison, Operand::Item(Item::Value(value))) = predicate else { return None };
    let other = match value {
        Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) => value.as_i64()?,
        _ => return None,
    };
    let keep = |holds: fn(&i64, &i64) -> bool| numbers.iter().map(|number| holds(number, &other)).collect();
    Some(keep(match comparison {
        Comparison::Equal => i64::eq,
        Comparison::NotEqual => i64::ne,
        Comparison::Less => i64::lt,
        Comparison::LessOrEqual => i64::le,
        Comparison::Greater => i64::gt,
        Comparison::GreaterOrEqual => i64::ge,
    }))
}

/// Which vertices or edges have one of the labels that `predicate` names, by their numbers: no text is made for a row. `None`
/// where texts have to be compared.
fn labelled(column: &Column, predicate: &Predicate, cx: &Context<'_>) -> Result<Option<Vec<bool>>> {
    let names = match predicate {
        Predicate::Compare(Comparison::Equal, Operand::Item(name)) => slice::from_ref(name),
        Predicate::Within(names) => names.as_slice(),
        _ => return Ok(None),
    };
    let names = names.iter().filter_map(Item::as_str);
    let catalogue = cx.catalogue();
    if let Some(edges) = column.edges() {
        let wanted: Vec<TypeId> = names.filter_map(|name| catalogue.edge_type(name)).collect();
        return Ok(Some(edges.iter().map(|edge| wanted.contains(&edge.edge_type)).collect()));
    }
    let Some(vertices) = column.vertices() else { return Ok(None) };
    let wanted: Vec<LabelId> = names.filter_map(|name| catalogue.label(name)).collect();
    let mut labels = Vec::with_capacity(vertices.len());
    cx.view().labels(&vertices, &mut labels)?;
    let keep = |label: Option<LabelId>| label.is_some_and(|label| wanted.contains(&label));
    Ok(Some(labels.into_iter().map(keep).collect()))
}

fn marked(rows: &[u32], count: usize) -> Vec<bool> {
    let mut marks = vec![false; count];
    rows.iter().for_each(|row| marks[*row as usize] = true);
    marks
}

/// Rows for which all tests hold.
pub struct Filter(pub Vec<Test>);

impl Step for Filter {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        input.take().map(|batch| passes(batch, &self.0, cx)).transpose()
    }
}

/// Rows for which a predicate holds between modulated slots.
pub struct WhereBy {
    left: Option<usize>,
    /// Its operands are numbered as they are written.
    predicate: Predicate,
    operands: Vec<Operand>,
    by: Vec<Projection>,
}

impl WhereBy {
    /// Rows of which `predicate` holds of slot `left`, or of where they are; seen as `by` says, by turns: the first is for
    /// the left side, the next for the first operand. A row of which nothing counts on some side is left out.
    #[must_use]
    pub fn new(left: Option<usize>, predicate: &Predicate, by: Vec<Projection>) -> Self {
        let mut operands = Vec::new();
        let predicate = predicate.numbered(&mut operands);
        Self { left, predicate, operands, by }
    }

    /// What counts of `column`, by the modulator whose turn it is.
    fn seen(
        &mut self,
        turn: usize,
        column: Column,
        batch: &Batch,
        cx: &mut Context<'_>,
    ) -> Result<Vec<Option<Item>>> {
        let turns = self.by.len().max(1);
        match self.by.get_mut(turn % turns) {
            Some(by) => by.of(&Batch { current: column, ..batch.clone() }, cx),
            None => Ok((0..batch.len()).map(|row| column.get(row)).collect()),
        }
    }
}

/// What a name stands for in each row.
fn column(batch: &Batch, slot: usize, cx: &Context<'_>) -> Column {
    let is_map = |item: Item| matches!(item, Item::Map(_) | Item::Value(Value::Map(_)));
    if batch.current.vertices().is_none() && batch.current.items().any(is_map) {
        return Column::new(Data::Optional(
            (0..batch.len()).map(|row| scoped(batch, slot, row, cx)).collect(),
        ));
    }
    batch.slots.get(slot).cloned().flatten().unwrap_or_else(|| Column::nothing(batch.len()))
}

impl Step for WhereBy {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let left = self.left.map_or_else(|| batch.current.clone(), |left| column(&batch, left, cx));
        let left = self.seen(0, left, &batch, cx)?;
        let mut keep: Vec<bool> = left.iter().map(Option::is_some).collect();
        let (mut slots, mut aside) = (Vec::new(), Vec::new());
        for (turn, operand) in (1..).zip(self.operands.clone()) {
            let (mut of_slot, mut of_aside) = (Vec::new(), None);
            match operand {
                Operand::Item(_) => {}
                Operand::Slot(slot) => {
                    of_slot = self.seen(turn, column(&batch, slot, cx), &batch, cx)?;
                    keep.iter_mut().zip(&of_slot).for_each(|(keep, item)| *keep &= item.is_some());
                }
                Operand::SideEffect(number) => {
                    // One for all rows.
                    let gathered = Column::of_items(vec![side_effect::read(number, cx)?]);
                    of_aside = self.seen(turn, gathered, &batch.slice(0, 1), cx)?.pop().flatten();
                    if of_aside.is_none() {
                        return Ok(None);
                    }
                }
            }
            slots.push(of_slot);
            aside.push(of_aside);
        }
        let predicate = self.predicate.resolved(&mut |at| Ok(aside[at].clone().unwrap_or(Item::Null)))?;
        let of = |at: usize, row: usize| slots[at].get(row).cloned().flatten();
        check_patterns(&predicate, batch.len(), &of, cx)?;
        for (row, item) in left.iter().enumerate() {
            check_now_and_then(row, cx)?;
            let holds = |item| predicate.holds(item, &|at| of(at, row));
            keep[row] = keep[row] && item.as_ref().is_some_and(holds);
        }
        Ok(Some(batch.filter(&keep)))
    }
}

/// Rows for which a traversal has a result, or has none.
pub struct Where {
    child: Child,
    gives: bool,
}

impl Where {
    /// Rows for which `child` has a result, if `gives`; else those for which it has none.
    #[must_use]
    pub fn new(child: Child, gives: bool) -> Self {
        Self { child, gives }
    }
}

impl Step for Where {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let keep: Vec<bool> =
            self.child.exists(&batch, cx)?.into_iter().map(|gives| gives == self.gives).collect();
        Ok(Some(batch.filter(&keep)))
    }
}

/// Rows for which one of several traversals has a result.
pub struct Any(pub Vec<Child>);

impl Step for Any {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let mut keep = vec![false; batch.len()];
        for child in &mut self.0 {
            // Those that are in already aren't asked again.
            let left: Vec<u32> = (0..).zip(&keep).filter_map(|(row, keep)| (!keep).then_some(row)).collect();
            let asked = batch.gather(&left.as_slice().into());
            for (row, gives) in left.iter().zip(child.exists(&asked, cx)?) {
                keep[*row as usize] = gives;
            }
        }
        Ok(Some(batch.filter(&keep)))
    }
}

/// Rows with a simple path, or with a cyclic one.
pub struct SimplePath {
    simple: bool,
    part: PathPart,
    by: Vec<Projection>,
}

impl SimplePath {
    /// Rows that are nowhere twice in this part of their path, if `simple`; else those that are somewhere twice. What counts
    /// of each step `by` says, by turns; a row with a step of which nothing counts is left out.
    #[must_use]
    pub fn new(simple: bool, part: PathPart, by: Vec<Projection>) -> Self {
        Self { simple, part, by }
    }
}

impl Step for SimplePath {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        if !self.by.is_empty() || self.part != PathPart::default() {
            let paths = paths(&batch, &self.part, &mut self.by, cx)?;
            let is_simple = |path: &Option<Item>| match path {
                Some(Item::Path(path)) => {
                    cx.charge.check()?;
                    let mut seen = HashSet::new();
                    Ok(path.items().all(|item| seen.insert(item)) == self.simple)
                }
                _ => Ok(false),
            };
            let keep: Vec<bool> = paths.iter().map(is_simple).collect::<Result<_>>()?;
            return Ok(Some(batch.filter(&keep)));
        }
        let is_simple = |id: &PathId| {
            cx.charge.check()?;
            let mut seen = HashSet::new();
            Ok(cx.paths.items_back(*id).all(|item| seen.insert(item)) == self.simple)
        };
        let keep: Vec<bool> = batch.path.iter().flatten().map(is_simple).collect::<Result<_>>()?;
        Ok(Some(batch.filter(&keep)))
    }
}
