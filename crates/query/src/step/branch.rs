//! `union()`, `choose()`, `coalesce()`, `optional()`, `local()`, `map()`, `flatMap()`, `sideEffect()`: traversals
//! within a traversal.

use crate::batch::column::Column;
use crate::batch::{Batch, Rows};
use crate::error::StopReason;
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::limits::MemoryShare;
use crate::execute::pending_batches::PendingBatches;
use crate::execute::pipeline::Step;
use crate::plan::predicate::Predicate;
use crate::step::branches::Branches;
use crate::step::by::Projection;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use std::sync::Arc;

/// `union()`: the results of several traversals.
pub struct Union(Branches);

impl Union {
    /// The results of all of `branches`.
    #[must_use]
    pub fn new(branches: Branches) -> Self {
        Self(branches)
    }
}

impl Step for Union {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.0.is_idle() {
            let Some(batch) = input else { return Ok(None) };
            let all: Arc<[u32]> = (0..batch.len() as u32).collect();
            let parts = (0..self.0.len()).map(|branch| (Some(branch), Arc::clone(&all))).collect();
            self.0.send(batch, parts, cx)?;
        }
        self.0.pass(input, cx)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.0.finish(cx)
    }

    fn reset(&mut self, origins: u32) {
        self.0.reset(origins);
    }

    fn again(&mut self, origins: u32) {
        self.0.again(origins);
    }
}

/// The value that selects an option of `choose()`, ready to run.
pub enum Chooser {
    /// Whether a traversal gives something.
    Exists(Child),
    /// What this is.
    By(Projection),
}

/// `choose()`: the results of the option that matches.
pub struct Choose {
    on: Chooser,
    /// What must be of the one that decides, and the branch that is taken then.
    options: Vec<(Vec<Predicate>, usize)>,
    none: Option<usize>,
    unproductive: Option<usize>,
    branches: Branches,
}

impl Choose {
    /// Of `branches` the one that `options` names first for what `on` decides; `none` names that for other cases,
    /// `unproductive` that for where nothing decides. Where no branch is named rows go on as they are.
    #[must_use]
    pub fn new(
        on: Chooser,
        options: Vec<(Vec<Predicate>, usize)>,
        none: Option<usize>,
        unproductive: Option<usize>,
        branches: Branches,
    ) -> Self {
        Self { on, options, none, unproductive, branches }
    }

    /// The branch that each row takes.
    fn chosen(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<usize>>> {
        let decided: Vec<Option<Item>> = match &mut self.on {
            Chooser::Exists(child) => {
                child.exists(batch, cx)?.into_iter().map(|exists| Some(Item::from(exists))).collect()
            }
            Chooser::By(projection) => projection.of(batch, cx)?,
        };
        let fits = |item: &Item, predicates: &[Predicate], row: usize| {
            predicates.iter().any(|predicate| predicate.holds(item, &|slot| batch.slot(slot, row)))
        };
        let branch = |(row, item): (usize, Option<Item>)| {
            let Some(item) = item else { return self.unproductive };
            let option = self.options.iter().find(|(predicates, _)| fits(&item, predicates, row));
            option.map_or(self.none, |(_, branch)| Some(*branch))
        };
        Ok(decided.into_iter().enumerate().map(branch).collect())
    }
}

impl Step for Choose {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.branches.is_idle() {
            let Some(batch) = input else { return Ok(None) };
            let chosen = self.chosen(batch, cx)?;
            let mut targets = chosen.clone();
            targets.sort_unstable();
            targets.dedup();
            let rows_of = |target: &Option<usize>| {
                (0..).zip(&chosen).filter(|(_, branch)| *branch == target).map(|(row, _)| row).collect()
            };
            let parts = targets.iter().map(|target| (*target, rows_of(target))).collect();
            self.branches.send(batch, parts, cx)?;
        }
        self.branches.pass(input, cx)
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.branches.finish(cx)
    }

    fn reset(&mut self, origins: u32) {
        self.branches.reset(origins);
    }

    fn again(&mut self, origins: u32) {
        self.branches.again(origins);
    }
}

/// `coalesce()`: the results of the first traversal that has any.
pub struct Coalesce {
    children: Vec<Child>,
    /// The slot of where edges came from, which goes along.
    came_from: Option<usize>,
}

impl Coalesce {
    /// The results of the first of `children` that has any, and the vertices that edges were reached from.
    #[must_use]
    pub fn new(children: Vec<Child>, came_from: Option<usize>) -> Self {
        Self { children, came_from }
    }
}

/// The batch `made` with what `found` says in the slot of where edges came from.
fn remember(made: &mut Batch, came_from: Option<usize>, slots: &[Option<Column>]) {
    if let Some((slot, Some(column))) = came_from.and_then(|slot| Some((slot, slots.get(slot)?.clone()))) {
        made.set_slot(slot, column);
    }
}

impl Step for Coalesce {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let mut left: Vec<u32> = (0..batch.len() as u32).collect();
        let (mut made, mut past): (Vec<Vec<u32>>, Vec<Batch>) = (Vec::new(), Vec::new());
        let mut holding = MemoryShare::default();
        for child in &mut self.children {
            if left.is_empty() {
                break;
            }
            let (found, memory) = child.all(&batch.gather(&left.as_slice().into()), cx)?;
            holding.join(memory);
            let rows: Vec<u32> = found.origin.iter().map(|origin| left[*origin as usize]).collect();
            left.retain(|row| rows.binary_search(row).is_err());
            made.push(rows);
            past.push(found);
        }
        holding.join(cx.charge.holding(holding.bytes() as usize)?);
        // What became of a row comes where the row stood, whichever child it is of.
        let found = Batch { origin: made.concat(), ..Batch::concat(&past) }.sort_by_origin();
        drop(past);
        let slots = found.slots.clone();
        let mut made = batch.become_rows(found)?;
        remember(&mut made, self.came_from, &slots);
        Ok(Some(made))
    }
}

/// `map()` and `flatMap()`: the first result of a traversal, or all. Steps inside it are not part of the path.
pub struct FlatMap {
    child: Child,
    wanted: ChildResults,
    /// The slot of where edges came from, which goes along.
    came_from: Option<usize>,
    running: bool,
}

/// Which results of a child go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildResults {
    /// The first of each row.
    First,
    /// All, as they come.
    All,
    /// All, in the order of the rows that they come of.
    AllInOrder,
}

impl FlatMap {
    /// The results of `child`.
    #[must_use]
    pub fn new(child: Child, wanted: ChildResults, came_from: Option<usize>) -> Self {
        Self { child, wanted, came_from, running: false }
    }

    /// The rows `of` that became `found`.
    fn made(&self, of: Batch, found: Batch) -> Result<Batch> {
        let slots = found.slots.clone();
        let mut made = of.become_rows(found)?;
        remember(&mut made, self.came_from, &slots);
        Ok(made)
    }
}

impl Step for FlatMap {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        match self.wanted {
            ChildResults::First => {
                let (rows, column) = self.child.first(batch, cx)?;
                return Ok(input.take().map(|batch| batch.follow(&Rows::Some(rows.into()), column)));
            }
            ChildResults::AllInOrder => {
                let (found, _holding) = self.child.all(batch, cx)?;
                return input.take().map(|batch| self.made(batch, found)).transpose();
            }
            ChildResults::All => {}
        }
        if !std::mem::replace(&mut self.running, true) {
            self.child.begin(batch);
        }
        match self.child.next(cx)? {
            Some(found) => self.made(batch.clone(), found).map(Some),
            None => {
                (*input, self.running) = (None, false);
                Ok(None)
            }
        }
    }

    fn reset(&mut self, _origins: u32) {
        self.running = false;
    }
}

/// `local()` and `optional()`: all that comes of a traversal that runs for each alone. What it did in there stays its
/// past.
pub struct Local {
    child: Child,
    /// Whether rows without results go on themselves.
    optional: bool,
    /// Whether what comes goes on in the order of the rows.
    in_order: bool,
    found: Option<Vec<bool>>,
}

impl Local {
    /// `local()`: the results of `child`.
    #[must_use]
    pub fn new(child: Child) -> Self {
        Self { child, optional: false, in_order: false, found: None }
    }

    /// `optional()`: the results of `child`, or else the row itself.
    #[must_use]
    pub fn optional(child: Child) -> Self {
        Self { optional: true, ..Self::new(child) }
    }

    /// The same, in the order of the rows.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    /// All that comes of the rows of `batch`, in their order.
    fn all_in_order(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Batch> {
        let (mut made, mut holding) = self.child.all(batch, cx)?;
        if self.optional {
            let is_left = |row: &u32| made.origin.binary_search(row).is_err();
            let left: Vec<u32> = (0..batch.len() as u32).filter(is_left).collect();
            let rest = Batch { bulk: None, ..batch.gather(&left.as_slice().into()) };
            // Both at once, until they are one.
            holding.join(cx.charge.holding(holding.bytes() as usize)?);
            made = Batch::concat(&[made, Batch { origin: left, ..rest }]).sort_by_origin();
        }
        batch.adopt(made)
    }
}

impl Step for Local {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.in_order {
            return input.take().map(|batch| self.all_in_order(&batch, cx)).transpose();
        }
        let Some(batch) = input else { return Ok(None) };
        let found = match &mut self.found {
            Some(found) => found,
            none => {
                self.child.begin(batch);
                none.insert(vec![false; batch.len()])
            }
        };
        match self.child.next(cx)? {
            Some(made) => {
                made.origin.iter().for_each(|row| found[*row as usize] = true);
                batch.adopt(made).map(Some)
            }
            None => {
                let left: Vec<bool> = self.found.take().into_iter().flatten().map(|found| !found).collect();
                let batch = input.take();
                Ok(batch.filter(|_| self.optional).map(|batch| batch.filter(&left)))
            }
        }
    }

    fn reset(&mut self, _origins: u32) {
        self.found = None;
    }
}

/// `sideEffect()`: runs a traversal for what it does aside.
pub struct SideEffectStep(pub Child);

impl Step for SideEffectStep {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        self.0.run(&batch, cx, |_, _| Ok(true))?;
        Ok(Some(batch))
    }
}

/// `as()`: names the current item.
pub struct As {
    slot: usize,
    name: Arc<str>,
}

impl As {
    /// Gives it the name `name`, whose slot is `slot`.
    #[must_use]
    pub fn new(slot: usize, name: Arc<str>) -> Self {
        Self { slot, name }
    }
}

impl Step for As {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        batch.set_slot(self.slot, batch.current.clone());
        if let Some(paths) = &mut batch.path {
            for path in paths {
                *path = cx.label_path(*path, &self.name)?;
            }
        }
        Ok(Some(batch))
    }
}

/// `fail()`: ends the query as soon as a row comes; [`StopReason`] tells its error from others.
pub struct Fail(pub Box<str>);

impl Step for Fail {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        match input.take() {
            Some(batch) if !batch.is_empty() => {
                let error = Error::invalid(format!("fail() was reached: {}", self.0));
                Err(error.because(StopReason::Fail(self.0.clone())))
            }
            _ => Ok(None),
        }
    }
}

/// Rows wait until the last has come: nobody is asked about what is gathered behind before all have been.
#[derive(Default)]
pub struct CollectAll(PendingBatches);

impl Step for CollectAll {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if let Some(batch) = input.take() {
            self.0.push(batch, &mut cx.charge)?;
        }
        Ok(None)
    }

    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        Ok(self.0.pop())
    }

    fn reset(&mut self, _origins: u32) {
        self.0.clear();
    }
}

/// Rows one by one: a traversal for each that gathers aside sees what those before gathered, and no more.
#[derive(Default)]
pub struct SingleRows {
    row: usize,
}

impl Step for SingleRows {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        let one = batch.slice(self.row, self.row + 1);
        self.row += 1;
        if self.row == batch.len() {
            (*input, self.row) = (None, 0);
        }
        Ok(Some(one))
    }

    fn reset(&mut self, _origins: u32) {
        self.row = 0;
    }
}
