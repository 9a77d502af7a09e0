//! `union()`, `choose()`, `coalesce()`, `optional()`, `local()`, `map()`, `flatMap()`, `sideEffect()`: traversals
//! within a traversal.

use crate::batch::column::Column;
use crate::batch::{Batch, Rows};
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::limits::Holding;
use crate::execute::pipeline::{Pipeline, Step};
use crate::execute::waiting::Waiting;
use crate::plan::predicate::Predicate;
use crate::step::by::Projection;
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Global children: traversals that share the origins of their parent and end when it ends, with the rows that wait
/// for them.
pub(super) struct Branches {
    pipelines: Vec<Pipeline>,
    /// Rows of an input and the branch that they go to; `None` for those that go on as they are.
    waiting: VecDeque<(Option<usize>, Batch)>,
    running: Option<usize>,
    finishing: usize,
    /// Of which origins rows went to each branch.
    entered: Vec<HashSet<u32>>,
}

impl Branches {
    /// Whether all rows of the input have been through.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_none()
    }

    pub(super) fn new(pipelines: Vec<Pipeline>) -> Self {
        let entered = vec![HashSet::new(); pipelines.len()];
        Self { pipelines, waiting: VecDeque::new(), running: None, finishing: 0, entered }
    }

    /// Rows that are to go to a branch, or on as they are.
    pub(super) fn send(&mut self, branch: Option<usize>, batch: Batch) {
        if let Some(branch) = branch {
            // Rows of one origin stand together: one look at each of these is enough.
            let first_of = |row: &usize| *row == 0 || batch.origin[*row] != batch.origin[*row - 1];
            self.entered[branch].extend((0..batch.len()).filter(first_of).map(|row| batch.origin[row]));
        }
        self.waiting.push_back((branch, batch));
    }

    /// The next batch of what waits; `None` when nothing does.
    pub(super) fn next(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        loop {
            if let Some(branch) = self.running {
                if let Some(batch) = self.pipelines[branch].pull(false, cx)? {
                    return Ok(Some(batch));
                }
                self.running = None;
            }
            match self.waiting.pop_front() {
                None => return Ok(None),
                Some((None, batch)) => return Ok(Some(batch)),
                Some((Some(branch), batch)) => {
                    self.pipelines[branch].push(batch);
                    self.running = Some(branch);
                }
            }
        }
    }

    pub(super) fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        while let Some(pipeline) = self.pipelines.get_mut(self.finishing) {
            let entered = &self.entered[self.finishing];
            // Of an origin that took another way, or that nothing came from, not even a count of 0 comes.
            if !entered.is_empty()
                && let Some(batch) = pipeline.pull(true, cx)?
            {
                let keep: Vec<bool> = batch.origin.iter().map(|origin| entered.contains(origin)).collect();
                return Ok(Some(batch.filter(&keep)));
            }
            self.finishing += 1;
        }
        Ok(None)
    }

    pub(super) fn reset(&mut self, origins: u32) {
        self.pipelines.iter_mut().for_each(|pipeline| pipeline.reset(origins));
        self.begin();
    }

    pub(super) fn again(&mut self, origins: u32) {
        self.pipelines.iter_mut().for_each(|pipeline| pipeline.again(origins));
        self.begin();
    }

    fn begin(&mut self) {
        self.waiting.clear();
        self.entered.iter_mut().for_each(HashSet::clear);
        (self.running, self.finishing) = (None, 0);
    }
}

/// What comes of several traversals.
pub struct Union(Branches);

impl Union {
    /// What comes of `pipelines`.
    #[must_use]
    pub fn new(pipelines: Vec<Pipeline>) -> Self {
        Self(Branches::new(pipelines))
    }
}

impl Step for Union {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        if self.0.waiting.is_empty() && self.0.running.is_none() {
            (0..self.0.pipelines.len()).for_each(|branch| self.0.send(Some(branch), batch.clone()));
        }
        let made = self.0.next(cx)?;
        if self.0.waiting.is_empty() && self.0.running.is_none() {
            *input = None;
        }
        Ok(made)
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

/// What decides a `choose()`, ready to run.
pub enum Chooser {
    /// Whether a traversal gives something.
    Exists(Child),
    /// What this is.
    By(Projection),
}

/// `choose()`: what comes of the traversal that fits.
pub struct Choose {
    on: Chooser,
    /// What must be of the one that decides, and the branch that is taken then.
    options: Vec<(Vec<Predicate>, usize)>,
    none: Option<usize>,
    unproductive: Option<usize>,
    branches: Branches,
}

impl Choose {
    /// Of `pipelines` the one that `options` names first for what `on` decides; `none` names that for other cases,
    /// `unproductive` that for where nothing decides. Where no branch is named rows go on as they are.
    #[must_use]
    pub fn new(
        on: Chooser,
        options: Vec<(Vec<Predicate>, usize)>,
        none: Option<usize>,
        unproductive: Option<usize>,
        pipelines: Vec<Pipeline>,
    ) -> Self {
        Self { on, options, none, unproductive, branches: Branches::new(pipelines) }
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
        if self.branches.waiting.is_empty() && self.branches.running.is_none() {
            let Some(batch) = input else { return Ok(None) };
            let chosen = self.chosen(batch, cx)?;
            let mut targets = chosen.clone();
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                let rows = (0..).zip(&chosen).filter(|(_, branch)| **branch == target).map(|(row, _)| row);
                let taken = batch.gather(&rows.collect());
                self.branches.send(target, taken);
            }
        }
        let made = self.branches.next(cx)?;
        if self.branches.waiting.is_empty() && self.branches.running.is_none() {
            *input = None;
        }
        Ok(made)
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

/// `coalesce()`: what comes of the first traversal that gives something.
pub struct Coalesce {
    children: Vec<Child>,
    /// The slot of where edges came from, which goes along.
    came_from: Option<usize>,
}

impl Coalesce {
    /// What comes of the first of `children` that gives something, and where edges came from.
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
        let mut holding = Holding::default();
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
        let found = Batch::concat(&past);
        drop(past);
        let origin = batch.origin.clone();
        let mut made = batch.follow(&Rows::Some(made.concat().into()), found.current);
        remember(&mut made, self.came_from, &found.slots);
        debug_assert!(origin.is_sorted(), "rows come by origin");
        Ok(Some(made.sort_by_origin()))
    }
}

/// `map()` and `flatMap()`: the first, or all, that comes of a traversal. Its past in there is forgotten.
pub struct FlatMap {
    child: Child,
    all: bool,
    /// The slot of where edges came from, which goes along.
    came_from: Option<usize>,
    running: bool,
}

impl FlatMap {
    /// What comes of `child`.
    #[must_use]
    pub fn new(child: Child, all: bool, came_from: Option<usize>) -> Self {
        Self { child, all, came_from, running: false }
    }
}

impl Step for FlatMap {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        if !self.all {
            let (rows, column) = self.child.first(batch, cx)?;
            return Ok(input.take().map(|batch| batch.follow(&Rows::Some(rows.into()), column)));
        }
        if !std::mem::replace(&mut self.running, true) {
            self.child.begin(batch);
        }
        match self.child.next(cx)? {
            Some(found) => {
                let mut made = batch.clone().follow(&Rows::Some(found.origin.into()), found.current);
                remember(&mut made, self.came_from, &found.slots);
                Ok(Some(made))
            }
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
    /// Whether those of which nothing comes go on themselves.
    optional: bool,
    found: Option<Vec<bool>>,
}

impl Local {
    /// What comes of `child`; if `optional`, or else the row itself.
    #[must_use]
    pub fn new(child: Child, optional: bool) -> Self {
        Self { child, optional, found: None }
    }
}

impl Step for Local {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input else { return Ok(None) };
        let found = match &mut self.found {
            Some(found) => found,
            none => {
                self.child.begin(batch);
                none.insert(vec![false; batch.len()])
            }
        };
        match self.child.next(cx)? {
            Some(mut made) => {
                made.origin.iter().for_each(|row| found[*row as usize] = true);
                if batch.bulk.is_some() {
                    let bulks: Vec<u64> = made.origin.iter().map(|row| batch.bulk(*row as usize)).collect();
                    made.multiply_bulk(bulks.into_iter())?;
                }
                made.origin.iter_mut().for_each(|row| *row = batch.origin[*row as usize]);
                Ok(Some(made))
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
pub struct Aside(pub Child);

impl Step for Aside {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        self.0.run(&batch, cx, |_, _| Ok(true))?;
        Ok(Some(batch))
    }
}

/// `as()`: gives what each is at a name.
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

/// `fail()`: the query ends as soon as anything comes here.
pub struct Fail(pub Box<str>);

impl Step for Fail {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        match input.take() {
            Some(batch) if !batch.is_empty() => {
                Err(Error::invalid(format!("fail() was reached: {}", self.0)))
            }
            _ => Ok(None),
        }
    }
}

/// Rows wait until the last has come: nobody is asked about what is gathered behind before all have been.
#[derive(Default)]
pub struct Together(Waiting);

impl Step for Together {
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
pub struct OneByOne {
    row: usize,
}

impl Step for OneByOne {
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
