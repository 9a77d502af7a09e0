//! Side effects: what `aggregate('x')`, `group('x')` and similar steps have gathered so far.

use crate::execute::limits::Charge;
use crate::value::combine::Combine;
use crate::value::item::Item;
use crate::value::same::ByValue;
use crate::value::subgraph::Subgraph;
use crate::value::tree::Tree;
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;
use std::collections::HashSet;

/// What an item takes in a set that is gathered, and in its list.
const SET_ITEM_BYTES: usize = 4 * size_of::<Item>();

/// The content of one side effect; `G` groups rows.
#[derive(Default)]
pub enum SideEffect<G> {
    /// Nothing has come yet.
    #[default]
    Nothing,
    /// What the query was given to begin with, and how others join it.
    Given(Item, Option<Combine>),
    /// Items, in order.
    Items(Vec<Item>),
    /// Items, each once: the query was given a set to begin with.
    Set(Vec<Item>, HashSet<ByValue>),
    /// Groups, of each step that groups into it; what a traversal makes of them is made when somebody asks.
    Groups(Vec<G>),
    /// Where traversers have been.
    Tree(Tree),
    /// Edges and their ends.
    Graph(Subgraph),
}

impl<G> SideEffect<G> {
    /// Gathers `times` of `item`: behind the others, or made one with what was given. What is kept is counted to the end
    /// of the query.
    ///
    /// # Errors
    /// Errors of the operator that was given with it; `limit` past the query's memory.
    pub fn gather(&mut self, item: Item, times: u64, charge: &mut Charge<'_>) -> Result<()> {
        if let Self::Given(given, Some(how)) = self
            && *how != Combine::AddAll
        {
            *given = charge.combined(*how, std::mem::replace(given, Item::Null), item, times)?;
            return Ok(());
        }
        self.begin();
        if let Self::Items(items) = self {
            charge.hold(item.heap_bytes())?;
            charge.repeat(items, item, times)?.forget();
        } else if let Self::Set(items, seen) = self
            && seen.insert(ByValue(item.clone()))
        {
            charge.hold(SET_ITEM_BYTES + 2 * item.heap_bytes())?;
            items.push(item);
        }
        Ok(())
    }

    /// Makes it something that gathers items, if it isn't yet.
    pub fn begin(&mut self) {
        if matches!(self, Self::Items(_) | Self::Set(..)) {
            return;
        }
        *self = match std::mem::take(self) {
            Self::Given(item, _) => {
                let items = item.elements();
                match (&item, items) {
                    (Item::Set(_) | Item::Value(Value::Set(_)), Some(items)) => {
                        let seen = items.iter().cloned().map(ByValue).collect();
                        Self::Set(items, seen)
                    }
                    (_, Some(items)) => Self::Items(items),
                    (_, None) => Self::Items(vec![item]),
                }
            }
            _ => Self::Items(Vec::new()),
        };
    }

    /// Whether the last that gathers replaces all before: `withSideEffect('x', [], assign)`.
    #[must_use]
    pub fn is_assigned(&self) -> bool {
        matches!(self, Self::Given(_, Some(Combine::Assign)))
    }
}

/// The content of a query's side effects, by their numbers in the plan.
pub struct SideEffects<G> {
    by_number: Vec<SideEffect<G>>,
}

impl<G> SideEffects<G> {
    /// The side effect `number`.
    pub fn get_mut(&mut self, number: usize) -> &mut SideEffect<G> {
        if self.by_number.len() <= number {
            self.by_number.resize_with(number + 1, SideEffect::default);
        }
        &mut self.by_number[number]
    }
}

impl<G> Default for SideEffects<G> {
    fn default() -> Self {
        Self { by_number: Vec::new() }
    }
}
