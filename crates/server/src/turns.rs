//! Turns: what is ready, taken owner by owner.

use evergraph_storage::planted::{Bug, planted};
use std::collections::{HashMap, VecDeque};

/// Who a task belongs to: owners take turns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OwnerId(pub u64);

/// Tasks that are ready, by owner.
pub struct Turns<T> {
    /// Owners with ready tasks, each once.
    owners: VecDeque<OwnerId>,
    tasks: HashMap<OwnerId, VecDeque<T>>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { owners: VecDeque::new(), tasks: HashMap::new() }
    }
}

impl<T> Turns<T> {
    /// Adds a task behind the others of `owner`.
    pub fn push(&mut self, owner: OwnerId, task: T) {
        let owner = if planted(Bug::OwnersTakeNoTurns) { OwnerId(0) } else { owner };
        let tasks = self.tasks.entry(owner).or_default();
        tasks.push_back(task);
        if tasks.len() == 1 {
            self.owners.push_back(owner);
        }
    }

    /// The first task of the owner whose turn it is; its others wait for its next turn.
    pub fn take(&mut self) -> Option<T> {
        let owner = self.owners.pop_front()?;
        let tasks = self.tasks.get_mut(&owner).expect("an owner that has a turn has tasks");
        let task = tasks.pop_front().expect("an owner that has a turn has tasks");
        if tasks.is_empty() {
            self.tasks.remove(&owner);
        } else {
            self.owners.push_back(owner);
        }
        Some(task)
    }

    /// Whether nothing is ready.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// How many are ready. Cost: a look at each owner.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tasks.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_take_turns_however_many_tasks_they_have() {
        let mut turns = Turns::default();
        for (owner, task) in [(1, "a"), (1, "b"), (1, "c"), (2, "x"), (3, "y")] {
            turns.push(OwnerId(owner), task);
        }
        assert_eq!(turns.count(), 5);
        let taken: Vec<_> = std::iter::from_fn(|| turns.take()).collect();
        assert_eq!(taken, ["a", "x", "y", "b", "c"]);
        assert!(turns.is_empty() && turns.count() == 0);
    }
}
