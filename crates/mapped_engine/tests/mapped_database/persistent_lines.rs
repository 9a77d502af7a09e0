//! Persistent lines: a database on persistent memory, whose power is cut while no write is under way.
//!
//! ```text
//! store        in the mapping, seen by everybody
//! write_back   the words are under way, as they are then
//! fence        what this thread has under way is durable
//! power cut    of each file its length, and zeros but for durable words
//! ```
//!
//! The simulation's lines (`tests/tests/simulated/disk.rs`) cut the power between a write and its sync. Here it is the directory
//! that is under test: what it has returned from is written back, all of it, and fenced.

use crate::support::Database;
use evergraph_storage::io::dax::{DaxDirectory, LineInstructions};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::options::Durability;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Error;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::thread::{ThreadId, current};

const COMMITS: u64 = 30;

/// A word of a file, by the file's number in the file system and its own, and what it holds.
type StoredWord = (u64, usize, u64);

#[derive(Debug, Default)]
struct Memory {
    under_way: HashMap<ThreadId, Vec<StoredWord>>,
    durable: BTreeMap<u64, BTreeMap<usize, u64>>,
}

/// The lines of one file, or of none yet.
#[derive(Clone, Debug, Default)]
struct ModelledLines {
    file: u64,
    memory: Arc<Mutex<Memory>>,
}

impl LineInstructions for ModelledLines {
    fn for_file(&self, file: &File) -> Result<Self, Error> {
        let found = file.metadata()?;
        if found.len() == 0 {
            // It has the number of a file that was removed.
            self.memory.lock().durable.remove(&found.ino());
        }
        Ok(Self { file: found.ino(), memory: Arc::clone(&self.memory) })
    }

    fn write_back(&self, words: &[AtomicU64], first: usize) {
        let stored = words.iter().enumerate();
        let stored = stored.map(|(at, word)| (self.file, first + at, word.load(Ordering::Relaxed)));
        self.memory.lock().under_way.entry(current().id()).or_default().extend(stored);
    }

    fn fence(&self) {
        let mut memory = self.memory.lock();
        for (file, word, value) in memory.under_way.remove(&current().id()).unwrap_or_default() {
            memory.durable.entry(file).or_default().insert(word, value);
        }
    }
}

impl ModelledLines {
    /// The files of `place` as they are found after a power cut.
    fn power_cut(&self, place: &Path) -> tempfile::TempDir {
        let found = tempfile::tempdir().unwrap();
        let memory = self.memory.lock();
        for entry in fs::read_dir(place).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let mut bytes = vec![0; metadata.len() as usize];
            for (word, value) in memory.durable.get(&metadata.ino()).into_iter().flatten() {
                let left = bytes.get_mut(word * 8..).unwrap_or_default();
                let length = left.len().min(8);
                left[..length].copy_from_slice(&value.to_ne_bytes()[..length]);
            }
            fs::write(found.path().join(entry.file_name()), bytes).unwrap();
        }
        found
    }
}

fn open(place: &Path, lines: &ModelledLines) -> Database {
    let directory = DaxDirectory::modelled(DiskDirectory::open(place).unwrap(), lines.clone());
    let opened = Database::open(Arc::new(directory), Durability::Sync);
    opened.unwrap_or_else(|error| panic!("after a power cut: {error}"))
}

#[test]
fn each_commit_and_checkpoint_is_in_lines_that_were_written_back_and_fenced() {
    let (place, lines) = (tempfile::tempdir().unwrap(), ModelledLines::default());
    let database = open(place.path(), &lines);
    let check = |what: &str| {
        let found = lines.power_cut(place.path());
        let again = open(found.path(), &ModelledLines::default());
        assert!(again.graph() == database.model(), "after a power cut a graph lacks {what}");
    };
    let mut random = SplitMix64::new(1);
    for commit in 1..=COMMITS {
        database.append(&database.model().random_commit(&mut random)).unwrap();
        database.log.wait_durable(database.published().0).unwrap();
        check("a commit that was acknowledged");
        if commit % 6 == 0 {
            // Bodies, and columns of properties, are in array files from here on.
            database.engine.graph().advance_readable().unwrap();
            database.engine.merge_everything();
            check("what was merged");
            database.append(&database.model().random_commit(&mut random)).unwrap();
            database.log.wait_durable(database.published().0).unwrap();
            database.checkpoint().unwrap();
            check("what is in a checkpoint");
        }
    }
}
