//! Trees: paths laid over each other, as `tree()` answers.

use crate::value::item::Item;
use crate::value::same::ByValue;

/// Items with what follows each, in the order they came.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tree {
    branches: Vec<(Item, Tree)>,
}

impl Tree {
    /// Lays a path over the tree. Cost: a look at the siblings of each of its items.
    pub fn lay(&mut self, path: impl IntoIterator<Item = Item>) {
        let mut here = self;
        for item in path {
            let at =
                here.branches.iter().position(|(other, _)| ByValue::are_one(other, &item)).unwrap_or_else(
                    || {
                        here.branches.push((item, Tree::default()));
                        here.branches.len() - 1
                    },
                );
            here = &mut here.branches[at].1;
        }
    }

    /// The items at the top, with what follows each.
    #[must_use]
    pub fn branches(&self) -> &[(Item, Tree)] {
        &self.branches
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let inside = self.branches.iter().map(|(item, tree)| item.heap_bytes() + tree.heap_bytes());
        self.branches.len() * size_of::<(Item, Tree)>() + inside.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_what_they_begin_with() {
        let mut tree = Tree::default();
        for path in [[1, 2], [1, 3], [4, 2]] {
            tree.lay(path.map(Item::from));
        }
        let top: Vec<_> =
            tree.branches().iter().map(|(item, below)| (item.clone(), below.branches().len())).collect();
        assert_eq!(top, [(Item::from(1), 2), (Item::from(4), 1)]);
    }
}
