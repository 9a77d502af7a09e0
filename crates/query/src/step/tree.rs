//! `tree()`: merges the paths of all traversers.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::execute::side_effects::SideEffect;
use crate::execute::waiting::Waiting;
use crate::step::by::Projection;
use crate::value::item::Item;
use crate::value::tree::Tree;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// What a branch of a tree takes beside its item's own memory, about: the first of a list has room for four.
const BRANCH_BYTES: usize = 256;

/// Lays the path of `row` over `tree`: its steps as `by` sees them, by turns; a step that it has nothing of is left out.
/// What that may add is counted to the end of the query.
fn lay(
    tree: &mut Tree,
    batch: &Batch,
    row: usize,
    by: &mut [Projection],
    cx: &mut Context<'_>,
) -> Result<()> {
    let id = batch.path.as_ref().and_then(|path| path.get(row)).copied();
    let Some(path) = id.map(|id| cx.paths.path(id)) else { return Ok(()) };
    let mut items = Vec::with_capacity(path.steps().len());
    for (at, item) in path.items().enumerate() {
        let turns = by.len().max(1);
        items.extend(match by.get_mut(at % turns) {
            None => Some(item.clone()),
            Some(by) => {
                let alone = Batch::new(Column::of_items(vec![item.clone()]), vec![0]);
                by.of(&alone, cx)?.pop().flatten()
            }
        });
    }
    cx.charge.check()?;
    cx.charge.hold(items.iter().map(|item| BRANCH_BYTES + item.heap_bytes()).sum())?;
    tree.lay(items)
}

/// One tree for each origin.
pub struct ReduceTree {
    by: Vec<Projection>,
    trees: Vec<Tree>,
    finished: bool,
}

impl ReduceTree {
    /// Of steps as `by` sees them.
    #[must_use]
    pub fn new(by: Vec<Projection>) -> Self {
        Self { by, trees: vec![Tree::default()], finished: false }
    }
}

impl Step for ReduceTree {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        for (row, origin) in batch.origin.iter().enumerate() {
            lay(&mut self.trees[*origin as usize], &batch, row, &mut self.by, cx)?;
        }
        Ok(None)
    }

    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(None);
        }
        let trees: Vec<Item> = self.trees.drain(..).map(|tree| Item::Tree(Arc::new(tree))).collect();
        let origin = (0..trees.len() as u32).collect();
        Ok(Some(Batch::new(Column::of_items(trees), origin)))
    }

    fn reset(&mut self, origins: u32) {
        self.trees.clear();
        self.trees.resize(origins as usize, Tree::default());
        self.finished = false;
    }
}

/// `tree('x')`: lays all in a side effect, then lets them go on.
pub struct TreeAside {
    into: usize,
    by: Vec<Projection>,
    waiting: Waiting,
}

impl TreeAside {
    /// In the side effect `into`, steps as `by` sees them.
    #[must_use]
    pub fn new(into: usize, by: Vec<Projection>) -> Self {
        Self { into, by, waiting: Waiting::default() }
    }
}

impl Step for TreeAside {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        // Out of the context meanwhile: what sees the steps runs in it.
        let mut tree = match std::mem::take(cx.side_effects.get_mut(self.into)) {
            SideEffect::Tree(tree) => tree,
            _ => Tree::default(),
        };
        let laid = (0..batch.len()).try_for_each(|row| lay(&mut tree, &batch, row, &mut self.by, cx));
        *cx.side_effects.get_mut(self.into) = SideEffect::Tree(tree);
        laid?;
        self.waiting.push(batch, &mut cx.charge)?;
        Ok(None)
    }

    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        Ok(self.waiting.pop())
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
    }
}
