//! `branch()`: the results of all options that match, where `choose()` takes one.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::predicate::Predicate;
use crate::step::branches::Branches;
use crate::step::by::Projection;
use crate::value::item::Item;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// The condition of an option, ready to run.
pub enum Case {
    /// Where this holds of what decides.
    Is(Predicate),
    /// Where a traversal gives something of what decides.
    Gives(Child),
    /// Always.
    Any,
    /// Where none of those holds or gives something.
    None,
    /// Where nothing decides.
    Unproductive,
}

/// `branch()`.
pub struct Branch {
    on: Projection,
    cases: Vec<Case>,
    branches: Branches,
}

impl Branch {
    /// What comes of each of `branches` in its case, by what `on` decides.
    #[must_use]
    pub fn new(on: Projection, cases: Vec<Case>, branches: Branches) -> Self {
        Self { on, cases, branches }
    }

    /// For each option, which rows take it.
    fn taken(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Vec<bool>>> {
        let decided = self.on.of(batch, cx)?;
        let decides: Vec<u32> =
            (0..).zip(&decided).filter_map(|(row, item)| item.as_ref().map(|_| row)).collect();
        let asked = Batch {
            current: Column::of_items(decided.iter().flatten().cloned().collect()),
            ..batch.gather(&decides.as_slice().into())
        };
        let mut fits = vec![false; batch.len()];
        let mut taken = Vec::with_capacity(self.cases.len());
        for case in &mut self.cases {
            let mut rows = vec![false; batch.len()];
            match case {
                Case::Is(predicate) => {
                    for (row, item) in decided.iter().enumerate() {
                        let holds = |item: &Item| predicate.holds(item, &|slot| batch.slot(slot, row));
                        rows[row] = item.as_ref().is_some_and(holds);
                    }
                }
                Case::Gives(child) => {
                    for (row, gives) in decides.iter().zip(child.exists(&asked, cx)?) {
                        rows[*row as usize] = gives;
                    }
                }
                Case::Any => decides.iter().for_each(|row| rows[*row as usize] = true),
                Case::Unproductive => rows = decided.iter().map(Option::is_none).collect(),
                // Once all are asked: see below.
                Case::None => {}
            }
            if matches!(case, Case::Is(_) | Case::Gives(_)) {
                fits.iter_mut().zip(&rows).for_each(|(fits, row)| *fits |= row);
            }
            taken.push(rows);
        }
        for (case, rows) in self.cases.iter().zip(&mut taken) {
            if matches!(case, Case::None) {
                decides.iter().for_each(|row| rows[*row as usize] = !fits[*row as usize]);
            }
        }
        Ok(taken)
    }
}

impl Step for Branch {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.branches.is_idle() {
            let Some(batch) = input else { return Ok(None) };
            let rows_of = |rows: Vec<bool>| -> Arc<[u32]> {
                (0..).zip(rows).filter(|(_, taken)| *taken).map(|(row, _)| row).collect()
            };
            let taken = self.taken(batch, cx)?.into_iter().enumerate();
            let parts = taken.map(|(branch, rows)| (Some(branch), rows_of(rows))).collect();
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
