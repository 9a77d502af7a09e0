//! Persistent lines: a database on persistent memory, whose power is cut while no write is under way.
//!
//! ```text
//! store        in the mapping, seen by everybody
//! write_back   the words are under way, as they are then
//! fence        what this thread has under way is durable
//! sync         the length of a file that grew is durable
//! power cut    of each file its durable length, and zeros but for durable words; where it spares the caches (eADR), what is stored
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
    durable: BTreeMap<u64, DurableFile>,
}

/// What a power cut leaves of a file.
#[derive(Debug, Default)]
struct DurableFile {
    length: u64,
    words: BTreeMap<usize, u64>,
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
        let mut memory = self.memory.lock();
        if found.len() == 0 {
            // It may have the number of a file that was removed.
            memory.durable.insert(found.ino(), DurableFile::default());
        } else {
            // What was there before the model is durable.
            let as_found = || DurableFile { length: found.len(), words: BTreeMap::new() };
            memory.durable.entry(found.ino()).or_insert_with(as_found);
        }
        drop(memory);
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
            memory.durable.entry(file).or_default().words.insert(word, value);
        }
    }

    fn sync_length(&self, file: &File) -> Result<(), Error> {
        let length = file.metadata()?.len();
        self.memory.lock().durable.entry(self.file).or_default().length = length;
        Ok(())
    }
}

impl ModelledLines {
    /// The files of `place` as they are found after a power cut.
    fn power_cut(&self, place: &Path) -> tempfile::TempDir {
        let found = tempfile::tempdir().unwrap();
        let memory = self.memory.lock();
        for entry in fs::read_dir(place).unwrap() {
            let entry = entry.unwrap();
            let durable = memory.durable.get(&entry.metadata().unwrap().ino());
            // The file of a lock is not the directory's to write, and nothing is recovered from it.
            let mut bytes = vec![0; durable.map_or(0, |file| file.length) as usize];
            for (word, value) in durable.map(|file| &file.words).into_iter().flatten() {
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

/// Commits, merges and makes checkpoints; `check` looks for what must be there after each.
fn live_through(database: &Database, check: impl Fn(&str)) {
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

#[test]
fn each_commit_and_checkpoint_is_in_lines_that_were_written_back_and_fenced() {
    let (place, lines) = (tempfile::tempdir().unwrap(), ModelledLines::default());
    let database = open(place.path(), &lines);
    live_through(&database, |what| {
        let found = lines.power_cut(place.path());
        let again = open(found.path(), &ModelledLines::default());
        assert!(again.graph() == database.model(), "after a power cut a graph lacks {what}");
    });
}

/// The files of `place` as they are read, which is what was stored.
fn stored(place: &Path) -> tempfile::TempDir {
    let found = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(place).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), found.path().join(entry.file_name())).unwrap();
    }
    found
}

#[test]
fn where_caches_outlast_a_power_cut_no_line_is_written_back_and_what_was_stored_is_everything() {
    let (place, lines) = (tempfile::tempdir().unwrap(), ModelledLines::default());
    let inner = DiskDirectory::open(place.path()).unwrap();
    let directory = Arc::new(DaxDirectory::modelled_with_lasting_caches(inner, lines.clone()));
    assert!(directory.caches_persist());
    let database = Database::open(directory.clone(), Durability::Sync).unwrap();
    live_through(&database, |what| {
        let found = stored(place.path());
        let again = open(found.path(), &ModelledLines::default());
        assert!(again.graph() == database.model(), "what was stored lacks {what}");
    });
    let counts = directory.write_backs();
    assert!(counts.values().all(|counts| counts.lines == 0), "{counts:?}");
    // A fence stays: it orders the stores of a commit before what says that it is there.
    assert!(counts["log"].fences >= COMMITS && counts["array"].fences > 0, "{counts:?}");
    let memory = lines.memory.lock();
    let no_words = memory.durable.values().all(|file| file.words.is_empty());
    assert!(no_words && memory.under_way.is_empty(), "lines were written back");
}
