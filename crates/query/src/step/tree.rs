//! `tree()`: where traversers have been, laid over each other.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::step::bound::ROW_BYTES;
use crate::step::by::Projection;
use crate::step::side_effect::SideEffect;
use crate::value::item::Item;
use crate::value::tree::Tree;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// The steps of the path of each row, as `by` sees them, by turns; a step that it has nothing of is left out.
fn paths(batch: &Batch, by: &mut [Projection], cx: &mut Context<'_>) -> Result<Vec<Vec<Item>>> {
    let mut all = Vec::with_capacity(batch.len());
    for row in 0..batch.len() {
        let id = batch.path.as_ref().and_then(|path| path.get(row)).copied();
        let Some(path) = id.map(|id| cx.paths.path(id)) else {
            all.push(Vec::new());
            continue;
        };
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
        cx.charge.hold(items.len() * ROW_BYTES)?;
        all.push(items);
    }
    Ok(all)
}

/// One tree an origin.
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
        for (path, origin) in paths(&batch, &mut self.by, cx)?.into_iter().zip(&batch.origin) {
            self.trees[*origin as usize].lay(path);
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
    waiting: Vec<Batch>,
}

impl TreeAside {
    /// In the side effect `into`, steps as `by` sees them.
    #[must_use]
    pub fn new(into: usize, by: Vec<Projection>) -> Self {
        Self { into, by, waiting: Vec::new() }
    }
}

impl Step for TreeAside {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        cx.charge.hold(batch.len() * ROW_BYTES)?;
        let paths = paths(&batch, &mut self.by, cx)?;
        let effect = cx.side_effects.get_mut(self.into);
        if !matches!(effect, SideEffect::Tree(_)) {
            *effect = SideEffect::Tree(Tree::default());
        }
        if let SideEffect::Tree(tree) = effect {
            paths.into_iter().for_each(|path| tree.lay(path));
        }
        self.waiting.push(batch);
        Ok(None)
    }

    fn finish(&mut self, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        Ok((!self.waiting.is_empty()).then(|| self.waiting.remove(0)))
    }

    fn reset(&mut self, _origins: u32) {
        self.waiting.clear();
    }
}
