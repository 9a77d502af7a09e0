//! Side effects: what `aggregate('x')`, `group('x')` and the like gather while traversers pass, and `cap('x')`.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::step::by::Projection;
use crate::step::group::Groups;
use crate::value::item::Item;
use crate::value::map::ItemMap;
use crate::value::tree::Tree;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// What one side effect gathered.
#[derive(Clone, Debug, Default)]
pub enum SideEffect {
    /// Nothing has come yet.
    #[default]
    Nothing,
    /// Items, in order.
    Items(Vec<Item>),
    /// Groups, which a traversal may still have to be run on.
    Groups(ItemMap),
    /// Where traversers have been.
    Tree(Tree),
}

/// What the side effects of a query gathered, by number of the plan.
#[derive(Debug, Default)]
pub struct SideEffects {
    by_number: Vec<SideEffect>,
}

impl SideEffects {
    /// The side effect `number`.
    pub fn get_mut(&mut self, number: usize) -> &mut SideEffect {
        if self.by_number.len() <= number {
            self.by_number.resize(number + 1, SideEffect::Nothing);
        }
        &mut self.by_number[number]
    }

    /// What the side effect `number` is now, as an item: an empty list if nothing has come.
    #[must_use]
    pub fn item(&self, number: usize) -> Item {
        match self.by_number.get(number) {
            None | Some(SideEffect::Nothing) => Item::List(Arc::default()),
            Some(SideEffect::Items(items)) => Item::List(items.as_slice().into()),
            Some(SideEffect::Groups(map)) => Item::Map(Arc::new(map.clone())),
            Some(SideEffect::Tree(tree)) => Item::Tree(Arc::new(tree.clone())),
        }
    }
}

/// `aggregate('x')`: gathers all, then lets them go on.
pub struct Aggregate {
    into: usize,
    by: Projection,
    waiting: Vec<Batch>,
}

impl Aggregate {
    /// Gathers in the side effect `into` what `by` says of each.
    #[must_use]
    pub fn new(into: usize, by: Projection) -> Self {
        Self { into, by, waiting: Vec::new() }
    }
}

impl Step for Aggregate {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let items = self.by.of(&batch, cx)?;
        let bytes = items.iter().flatten().map(|item| size_of::<Item>() + item.heap_bytes()).sum::<usize>();
        cx.charge.hold(bytes + batch.len() * crate::step::bound::ROW_BYTES)?;
        let effect = cx.side_effects.get_mut(self.into);
        if !matches!(effect, SideEffect::Items(_)) {
            *effect = SideEffect::Items(Vec::new());
        }
        if let SideEffect::Items(gathered) = effect {
            for (row, item) in items.into_iter().enumerate() {
                let Some(item) = item else { continue };
                let times = usize::try_from(batch.bulk(row)).unwrap_or(usize::MAX);
                gathered.extend(std::iter::repeat_n(item, times));
            }
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

/// `group('x')`, `groupCount('x')`: groups all, and lets them go on.
pub struct GroupAside {
    groups: Groups,
    into: usize,
}

impl GroupAside {
    /// Groups in the side effect `into`.
    #[must_use]
    pub fn new(groups: Groups, into: usize) -> Self {
        Self { groups, into }
    }
}

impl Step for GroupAside {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        self.groups.add(&batch, cx)?;
        let map = self.groups.map(cx)?;
        *cx.side_effects.get_mut(self.into) = SideEffect::Groups(map);
        Ok(Some(batch))
    }
}

/// `cap('x')`: what the side effects gathered, once all have passed.
pub struct Cap {
    of: Vec<(usize, Arc<str>)>,
    origins: u32,
    finished: bool,
}

impl Cap {
    /// What these side effects gathered; of several a map by name.
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
            [(number, _)] => cx.side_effects.item(*number),
            several => {
                let entry =
                    |(number, name): &(usize, Arc<str>)| (Item::from(&**name), cx.side_effects.item(*number));
                Item::Map(Arc::new(several.iter().map(entry).collect()))
            }
        };
        Ok(Some(Batch::new(Column::repeated(item, self.origins as usize), (0..self.origins).collect())))
    }

    fn reset(&mut self, origins: u32) {
        (self.origins, self.finished) = (origins, false);
    }
}
