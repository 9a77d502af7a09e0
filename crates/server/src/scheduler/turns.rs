//! Turns: ready tasks, taken owner by owner.

use crate::scheduler::{OwnerId, Task};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Ready tasks by owner.
#[derive(Default)]
pub(super) struct Turns {
    /// Owners with ready tasks, each once.
    owners: VecDeque<OwnerId>,
    tasks: HashMap<OwnerId, VecDeque<Arc<Task>>>,
}

impl Turns {
    pub(super) fn push(&mut self, task: Arc<Task>) {
        let owner = task.owner;
        let tasks = self.tasks.entry(owner).or_default();
        tasks.push_back(task);
        if tasks.len() == 1 {
            self.owners.push_back(owner);
        }
    }

    /// The first task of the owner whose turn it is; its others wait for its next turn.
    pub(super) fn take(&mut self) -> Option<Arc<Task>> {
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

    pub(super) fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Cost: a look at each owner.
    pub(super) fn count(&self) -> usize {
        self.tasks.values().map(VecDeque::len).sum()
    }
}
