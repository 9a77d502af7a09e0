//! Toy partition: a store that keeps the list of all that it was given, and refuses what it has already.
//!
//! Its file is a log: a power cut leaves any beginning of it that has what was made durable.

use crate::fuse::Fuse;
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::node::partition_store::{Installed, PartitionStore, PartitionSync};
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::transaction::payload::encode;
use std::cell::RefCell;
use std::rc::Rc;

/// Commits in their order: timestamp and mutations, encoded.
pub type History = Vec<(Timestamp, Vec<u8>)>;

/// A commit and the message that it is of; without one, the end of a message.
#[derive(Clone, Debug)]
struct Entry {
    commit: Option<(Timestamp, Vec<u8>)>,
    seen: SeenLog,
}

/// What a partition has on disk, and what is on its way there.
#[derive(Clone, Default, Debug)]
pub struct ToyFile {
    entries: Vec<Entry>,
    synced: usize,
}

/// The file of a partition, which outlives the process.
pub type SharedToyFile = Rc<RefCell<ToyFile>>;

/// A store whose file lies in memory.
#[derive(Debug)]
pub struct ToyPartition {
    own: OwnGroups,
    file: SharedToyFile,
    fuse: Fuse,
}

impl ToyFile {
    /// The power fails.
    pub fn cut_power(&mut self, chance: &mut SeededChance) {
        let unsynced = (self.entries.len() - self.synced) as u64;
        self.entries.truncate(self.synced + chance.below(unsynced + 1) as usize);
        self.synced = self.entries.len();
    }

    /// The commits.
    pub fn history(&self) -> History {
        self.entries.iter().filter_map(|entry| entry.commit.clone()).collect()
    }

    /// Another log was read up to where it ends.
    pub fn forge(&mut self, seen: SeenLog) {
        self.entries.push(Entry { commit: None, seen });
    }
}

impl ToyPartition {
    /// Opens the store with this file.
    pub fn open(own: OwnGroups, file: &SharedToyFile, fuse: &Fuse) -> Self {
        Self { own, file: Rc::clone(file), fuse: fuse.clone() }
    }

    /// Its commits.
    pub fn history(&self) -> History {
        self.file.borrow().history()
    }
}

impl PartitionStore for ToyPartition {
    type PendingSync = ToySync;

    fn installed(&self) -> Installed {
        match self.file.borrow().entries.last() {
            None => Installed::all(&SeenLog::START),
            Some(Entry { commit: None, seen }) => Installed::all(seen),
            Some(Entry { commit: Some((through, _)), seen }) => Installed { through: *through, seen: *seen },
        }
    }

    fn has_filled(&self, _: IndexId) -> bool {
        true
    }

    fn apply(&mut self, timestamp: Timestamp, mutations: Vec<Mutation>, seen: &SeenLog) -> Result<()> {
        self.fuse.step()?;
        if timestamp <= self.installed().through {
            return Err(Error::invalid(format!("commit {timestamp} is installed already")));
        }
        if let Some(strange) = mutations.iter().find(|mutation| !self.own.concerns(mutation)) {
            return Err(Error::invalid(format!("{} has nothing to do with {strange:?}", self.own)));
        }
        let entry = Entry { commit: Some((timestamp, encode(&mutations))), seen: *seen };
        self.file.borrow_mut().entries.push(entry);
        Ok(())
    }

    fn publish_through(&mut self, seen: &SeenLog) -> Result<()> {
        self.fuse.step()?;
        if seen.position.end() < self.installed().through {
            return Err(Error::invalid(format!("message {} is installed already", seen.position)));
        }
        self.file.borrow_mut().entries.push(Entry { commit: None, seen: *seen });
        Ok(())
    }

    fn begin_sync(&self) -> ToySync {
        let through = self.file.borrow().entries.len();
        ToySync { file: Rc::clone(&self.file), fuse: self.fuse.clone(), through }
    }
}

/// Makes durable what a partition had at a moment.
#[derive(Debug)]
pub struct ToySync {
    file: SharedToyFile,
    fuse: Fuse,
    /// So many entries.
    through: usize,
}

impl PartitionSync for ToySync {
    fn sync(self) -> Result<()> {
        // The power may fail before its file is durable, and right after.
        self.fuse.step_in_place()?;
        let mut file = self.file.borrow_mut();
        file.synced = file.synced.max(self.through);
        self.fuse.step_in_place()
    }
}
