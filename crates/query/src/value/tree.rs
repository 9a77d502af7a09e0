//! Trees: paths laid over each other, as `tree()` answers.

use crate::value::extent::{DEPTH_MAX, Extent, too_deep};
use crate::value::item::Item;
use crate::value::same::ByValue;
use evergraph_graph::error::Result;
use hashbrown::HashTable;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Items with what follows each, in the order they came.
#[derive(Clone, Default)]
pub struct Tree {
    branches: Vec<(Item, Tree)>,
    /// Where each item is among many.
    places: Option<Box<Places>>,
}

/// So many siblings are looked through one by one.
const LINEAR_MAX: usize = 8;

/// Places in a list of branches by the hash of their items.
#[derive(Clone, Default)]
struct Places {
    table: HashTable<u32>,
    hasher: foldhash::quality::RandomState,
}

impl Tree {
    /// Lays a path over the tree. Cost: a look-up for each of its items.
    ///
    /// # Errors
    /// `limit` for a path of more than [`DEPTH_MAX`] items: the tree would be nested as deeply.
    pub fn lay(&mut self, path: impl IntoIterator<Item = Item>) -> Result<()> {
        let mut here = self;
        for (level, item) in path.into_iter().enumerate() {
            if level >= DEPTH_MAX {
                return Err(too_deep());
            }
            here = here.branch(item);
        }
        Ok(())
    }

    /// What follows `item`.
    fn branch(&mut self, item: Item) -> &mut Tree {
        let at = self.place(&item).unwrap_or_else(|| self.append(item));
        &mut self.branches[at].1
    }

    fn place(&self, item: &Item) -> Option<usize> {
        let Some(places) = &self.places else {
            return self.branches.iter().position(|(other, _)| ByValue::are_one(other, item));
        };
        let same = |at: &u32| ByValue::are_one(&self.branches[*at as usize].0, item);
        places.table.find(ByValue::hash_one(item, &places.hasher), same).map(|at| *at as usize)
    }

    fn append(&mut self, item: Item) -> usize {
        let at = self.branches.len();
        self.branches.push((item, Tree::default()));
        if at < LINEAR_MAX {
            return at;
        }
        let from = if self.places.is_some() { at } else { 0 };
        let Places { table, hasher } = &mut **self.places.get_or_insert_default();
        let hash = |at: &u32| ByValue::hash_one(&self.branches[*at as usize].0, hasher);
        for place in from..=at {
            table.insert_unique(hash(&(place as u32)), place as u32, hash);
        }
        at
    }

    /// The items at the top, with what follows each.
    #[must_use]
    pub fn branches(&self) -> &[(Item, Tree)] {
        &self.branches
    }

    /// How much the tree holds, and how deep it is nested. Cost: a visit to everything in it.
    #[must_use]
    pub fn extent(&self) -> Extent {
        let places = self.places.as_ref().map_or(0, |places| places.table.allocation_size());
        let branch = |all: Extent, (item, below): &(Item, Tree)| {
            all.beside(item.extent()).beside(below.extent()).plus(size_of::<(Item, Tree)>())
        };
        self.branches.iter().fold(Extent::default(), branch).plus(places).enclosed()
    }
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        self.branches == other.branches
    }
}

impl Eq for Tree {}

impl Hash for Tree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.branches.hash(state);
    }
}

/// The branches alone: how they are found differs from tree to tree, by chance.
impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("branches", &self.branches).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_what_they_begin_with() {
        let mut tree = Tree::default();
        for path in [[1, 2], [1, 3], [4, 2]] {
            tree.lay(path.map(Item::from)).unwrap();
        }
        let top: Vec<_> =
            tree.branches().iter().map(|(item, below)| (item.clone(), below.branches().len())).collect();
        assert_eq!(top, [(Item::from(1), 2), (Item::from(4), 1)]);
    }

    #[test]
    fn numbers_of_equal_value_are_one_branch_among_few_and_many() {
        for count in [LINEAR_MAX as i32, 100] {
            let mut tree = Tree::default();
            (0..count).for_each(|number| tree.lay([Item::from(number)]).unwrap());
            (0..count).for_each(|number| tree.lay([Item::from(i64::from(number))]).unwrap());
            assert_eq!(tree.branches().len(), count as usize);
        }
    }

    #[test]
    fn many_siblings_are_found_as_few_are() {
        let mut tree = Tree::default();
        for _ in 0..2 {
            (0..100).for_each(|number| tree.lay([number, -number].map(Item::from)).unwrap());
        }
        let found: Vec<Item> = tree.branches().iter().map(|(item, _)| item.clone()).collect();
        assert_eq!(found, (0..100).map(Item::from).collect::<Vec<_>>());
        assert!(tree.branches().iter().all(|(_, below)| below.branches().len() == 1));
    }

    #[test]
    fn a_tree_is_no_deeper_than_any_item() {
        let mut tree = Tree::default();
        tree.lay((0..DEPTH_MAX as i32).map(Item::from)).unwrap();
        assert!(tree.lay((0..=DEPTH_MAX as i32).map(Item::from)).is_err());
        assert_eq!(tree.extent().depth, DEPTH_MAX + 1);
    }
}
