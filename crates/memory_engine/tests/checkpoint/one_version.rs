//! The body and the base that a checkpoint writes of a segment are of one version, even if commits
//! and merges come between loading the version and writing it.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::{Directory, File, LockGuard, LockState, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::io::mapping::{ByteMapping, WordMapping};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::log::options::Durability;

use crate::support::{Database, LABEL};

/// Lets others work at the moment when a checkpoint creates its file: after it loaded the version of
/// the first segment that it writes, and before it writes it.
#[derive(Clone)]
struct Interrupting {
    inner: MemoryDirectory,
    database: Arc<OnceLock<Weak<Database>>>,
}

impl std::fmt::Debug for Interrupting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.fmt(f)
    }
}

fn set(vertex: u32, value: i64) -> Mutation {
    let properties = Properties::new(vec![(KeyId(0), Some(Value::I64(value)))]);
    Mutation::SetVertexProperties { vertex: VertexId(vertex), properties }
}

impl Directory for Interrupting {
    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        let database = self.database.get().and_then(Weak::upgrade);
        if let Some(database) = database.filter(|_| name.starts_with("bodies-")) {
            database.append(&[set(0, 2)]).unwrap();
            database.engine.merge_everything();
        }
        self.inner.create(name)
    }

    fn location(&self) -> &Path {
        self.inner.location()
    }

    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        self.inner.open(name, mode)
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        self.inner.exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.inner.remove(name)
    }

    fn list(&self) -> Result<Vec<String>, IoError> {
        self.inner.list()
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        self.inner.sync_directory()
    }

    fn write_unit(&self) -> WriteUnit {
        self.inner.write_unit()
    }

    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError> {
        self.inner.allocate(name, bytes)
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        self.inner.map(name)
    }

    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError> {
        self.inner.map_words(name, range)
    }

    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError> {
        self.inner.lock_exclusive(name)
    }

    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError> {
        self.inner.lock_unchanged(name)
    }

    fn lock_state(&self, name: &str) -> Result<LockState, IoError> {
        self.inner.lock_state(name)
    }
}

#[test]
fn a_merge_between_loading_and_writing_a_segment_does_not_mix_its_versions() {
    let directory = Interrupting { inner: MemoryDirectory::new("db"), database: Arc::new(OnceLock::new()) };
    let database = Database::open(Arc::new(directory.clone()), Durability::None).unwrap();
    let database = Arc::new(database);
    let properties = Properties::new(vec![(KeyId(0), Some(Value::I64(1)))]);
    database.append(&[Mutation::InsertVertex { vertex: VertexId(0), label: LABEL, properties }]).unwrap();
    directory.database.set(Arc::downgrade(&database)).unwrap();

    let made = database.checkpoint().unwrap();
    assert!(made.need > made.covered_through, "a commit came between");
    let reopened = Database::open(Arc::new(directory.inner.power_cut()), Durability::None).unwrap();
    assert_eq!(reopened.published(), database.published());
    assert_eq!(reopened.model(), database.model());
    // The place is remembered for the version that was written, not for the one that is there now.
    assert_eq!(database.checkpoint().unwrap().bodies_written, 1);
}
