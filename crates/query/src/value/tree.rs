//! Trees of items: merged paths, as `tree()` returns them.

use crate::value::item::Item;
use crate::value::same::ByValue;
use crate::value::trie::{BranchKey, Trie};
use std::hash::BuildHasher;

/// Items with what follows each, in the order they came.
pub type Tree = Trie<Item>;

/// Branches are told apart as groups are: numbers of equal value are one, whatever their types.
impl BranchKey for Item {
    fn is_same_branch(&self, other: &Self) -> bool {
        ByValue::are_one(self, other)
    }

    fn branch_hash(&self, hasher: &impl BuildHasher) -> u64 {
        ByValue::hash_one(self, hasher)
    }
}
