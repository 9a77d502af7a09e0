//! Paths of rows: where the traversers of a query have been.
//!
//! While a query runs a path is a node in an arena: a parent, an item, the labels it was given. Rows hold the number
//! of their last node, and share what they have in common. A [`Path`] is such a chain copied out.

use crate::value::item::Item;
use crate::value::path::{Labels, Path, is_among};
use evergraph_graph::error::{Error, Result};
use std::sync::Arc;

/// A node of a [`PathArena`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathId(u32);

impl PathId {
    /// Before the first item.
    pub const ROOT: Self = Self(u32::MAX);
}

struct Node {
    parent: PathId,
    item: Item,
    labels: Option<Labels>,
}

/// The paths of all rows of a query.
#[derive(Default)]
pub struct PathArena {
    nodes: Vec<Node>,
}

impl PathArena {
    /// What a node takes, its item's own memory not included.
    pub const NODE_BYTES: usize = size_of::<Node>();

    /// The path `parent`, followed by `item`.
    ///
    /// # Errors
    /// `limit` beyond 4 billion steps of all paths.
    pub fn extend(&mut self, parent: PathId, item: Item) -> Result<PathId> {
        let id = u32::try_from(self.nodes.len()).ok().filter(|id| *id != u32::MAX);
        let id = id.ok_or_else(|| {
            Error::new(
                evergraph_graph::error::ErrorKind::Limit,
                "a query has more than 4 billion steps in its paths",
            )
        })?;
        if self.nodes.len() == self.nodes.capacity() {
            // By a quarter: twice as many would be far more than what is counted.
            self.nodes.reserve_exact((self.nodes.len() / 4).max(64));
        }
        self.nodes.push(Node { parent, item, labels: None });
        Ok(PathId(id))
    }

    /// The same path, of which the last item has `label` too. The path itself is not changed: other rows share it.
    ///
    /// # Errors
    /// As [`PathArena::extend`].
    pub fn label(&mut self, path: PathId, label: &Arc<str>) -> Result<PathId> {
        let Some(node) = self.nodes.get(path.0 as usize) else { return Ok(path) };
        let (parent, item) = (node.parent, node.item.clone());
        let mut labels: Vec<Arc<str>> =
            node.labels.iter().flat_map(|labels| labels.iter().cloned()).collect();
        if !labels.contains(label) {
            labels.push(Arc::clone(label));
        }
        let id = self.extend(parent, item)?;
        self.nodes[id.0 as usize].labels = Some(labels.into());
        Ok(id)
    }

    /// The path as an item's content. Cost: its length.
    #[must_use]
    pub fn path(&self, id: PathId) -> Path<Item> {
        let mut steps: Vec<(Item, Option<Labels>)> =
            self.back(id).map(|node| (node.item.clone(), node.labels.clone())).collect();
        steps.reverse();
        Path::new(steps)
    }

    /// The items of a path, the last first.
    pub fn items_back(&self, id: PathId) -> impl Iterator<Item = &Item> {
        self.back(id).map(|node| &node.item)
    }

    /// Items that `label` names on a path, the last first.
    pub fn labelled_back<'a>(&'a self, id: PathId, label: &'a str) -> impl Iterator<Item = &'a Item> {
        self.back(id).filter(move |node| is_among(label, node.labels.as_ref())).map(|node| &node.item)
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn back(&self, id: PathId) -> impl Iterator<Item = &Node> {
        std::iter::successors(self.nodes.get(id.0 as usize), |node| self.nodes.get(node.parent.0 as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_their_past_and_a_label_changes_one_of_them() {
        let mut arena = PathArena::default();
        let first = arena.extend(PathId::ROOT, Item::from(1)).unwrap();
        let [left, right] = [2, 3].map(|number| arena.extend(first, Item::from(number)).unwrap());
        let named = arena.label(left, &"a".into()).unwrap();
        let items = |id| arena.path(id).items().cloned().collect::<Vec<_>>();
        assert_eq!(items(named), [1, 2].map(Item::from));
        assert_eq!(items(right), [1, 3].map(Item::from));
        assert_eq!(arena.labelled_back(named, "a").collect::<Vec<_>>(), [&Item::from(2)]);
        assert_eq!(arena.labelled_back(left, "a").count(), 0);
        assert_eq!(arena.path(PathId::ROOT).items().count(), 0);
    }
}
