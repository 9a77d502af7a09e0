//! Tries: merged paths that share their beginnings.

use crate::value::extent::{DEPTH_MAX, Extent, HasExtent, too_deep};
use evergraph_graph::error::Result;
use hashbrown::HashTable;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

/// What tells the branches at one place of a trie apart.
pub trait BranchKey {
    /// Whether both lead to one branch.
    fn is_same_branch(&self, other: &Self) -> bool;

    /// A hash that those have in common which lead to one branch.
    fn branch_hash(&self, hasher: &impl BuildHasher) -> u64;
}

/// Items with what follows each, in the order they came.
#[derive(Clone)]
pub struct Trie<T> {
    branches: Vec<(T, Trie<T>)>,
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

impl<T> Trie<T> {
    /// The items at the top, with what follows each.
    #[must_use]
    pub fn branches(&self) -> &[(T, Trie<T>)] {
        &self.branches
    }
}

impl<T: BranchKey> Trie<T> {
    /// Lays a path over the trie. Cost: a look-up for each of its items.
    ///
    /// # Errors
    /// `limit` for a path of more than [`DEPTH_MAX`] items: the trie would be nested as deeply.
    pub fn lay(&mut self, path: impl IntoIterator<Item = T>) -> Result<()> {
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
    fn branch(&mut self, item: T) -> &mut Self {
        let at = self.place(&item).unwrap_or_else(|| self.append(item));
        &mut self.branches[at].1
    }

    fn place(&self, item: &T) -> Option<usize> {
        let Some(places) = &self.places else {
            return self.branches.iter().position(|(other, _)| other.is_same_branch(item));
        };
        let same = |at: &u32| self.branches[*at as usize].0.is_same_branch(item);
        places.table.find(item.branch_hash(&places.hasher), same).map(|at| *at as usize)
    }

    fn append(&mut self, item: T) -> usize {
        let at = self.branches.len();
        self.branches.push((item, Self::default()));
        if at < LINEAR_MAX {
            return at;
        }
        let from = if self.places.is_some() { at } else { 0 };
        let Places { table, hasher } = &mut **self.places.get_or_insert_default();
        let hash = |at: &u32| self.branches[*at as usize].0.branch_hash(hasher);
        for place in from..=at {
            table.insert_unique(hash(&(place as u32)), place as u32, hash);
        }
        at
    }
}

impl<T: HasExtent> Trie<T> {
    /// How much the trie holds, and how deep it is nested. Cost: a visit to everything in it.
    #[must_use]
    pub fn extent(&self) -> Extent {
        let places = self.places.as_ref().map_or(0, |places| places.table.allocation_size());
        let branch = |all: Extent, (item, below): &(T, Trie<T>)| {
            all.beside(item.extent()).beside(below.extent()).plus(size_of::<(T, Trie<T>)>())
        };
        self.branches.iter().fold(Extent::default(), branch).plus(places).enclosed()
    }
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Self { branches: Vec::new(), places: None }
    }
}

impl<T: PartialEq> PartialEq for Trie<T> {
    fn eq(&self, other: &Self) -> bool {
        self.branches == other.branches
    }
}

impl<T: Eq> Eq for Trie<T> {}

impl<T: Hash> Hash for Trie<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.branches.hash(state);
    }
}

/// The branches alone: how they are found differs from trie to trie, by chance.
impl<T: fmt::Debug> fmt::Debug for Trie<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trie").field("branches", &self.branches).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::item::Item;
    use crate::value::tree::Tree;

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
