//! Piece directory: a directory whose changes travel, in pieces, and that keeps none of the bytes.
//!
//! ```text
//! backup ── create, write, sync, rename ──> changes ──> pieces of at most 256 KiB ──> whoever takes them, or makes the backup wait
//! ```
//!
//! It is empty at first. What was written cannot be read back: a backup doesn't.

use crate::copy::file_change::{FileChange, WRITE_BYTES_BESIDE};
use crate::copy::message::PIECE_BYTES_MAX;
use evergraph_storage::io::directory::{Directory, File, LockGuard, LockState, OpenMode, check_name};
use evergraph_storage::io::error::{IoError, Operation};
use evergraph_storage::io::mapping::{ByteMapping, WordMapping};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Takes pieces, in order.
pub trait TakePieces: Send + Sync {
    /// The next piece; waits until there is room for it.
    ///
    /// # Errors
    /// If nobody takes pieces any more.
    fn take(&self, changes: Vec<u8>, is_last: bool) -> io::Result<()>;
}

/// A directory whose changes become pieces.
pub struct PieceDirectory {
    pieces: Arc<Pieces>,
}

/// # Concurrency
///
/// The lock orders changes, and is held while a piece waits to be taken: whoever writes is one thread.
struct Pieces {
    location: PathBuf,
    unit: WriteUnit,
    state: Mutex<PieceState>,
    taker: Box<dyn TakePieces>,
}

#[derive(Default)]
struct PieceState {
    names: BTreeSet<String>,
    changes: Vec<u8>,
}

struct PieceFile {
    pieces: Arc<Pieces>,
    name: String,
    path: PathBuf,
}

impl PieceDirectory {
    /// Called `location` in errors. `unit` is that of the directory that is copied.
    #[must_use]
    pub fn new(location: PathBuf, unit: WriteUnit, taker: Box<dyn TakePieces>) -> Self {
        Self { pieces: Arc::new(Pieces { location, unit, state: Mutex::default(), taker }) }
    }

    /// Gives the last piece.
    ///
    /// # Errors
    /// If nobody takes it.
    pub fn finish(&self) -> Result<(), IoError> {
        let mut state = self.pieces.state.lock();
        let changes = std::mem::take(&mut state.changes);
        let taken = self.pieces.taker.take(changes, true);
        taken.map_err(|cause| IoError::new(Operation::Write, &self.pieces.location, cause))
    }
}

impl Pieces {
    fn path(&self, name: &str) -> PathBuf {
        self.location.join(name)
    }

    fn fails<T>(&self, operation: Operation, name: &str, kind: io::ErrorKind) -> Result<T, IoError> {
        Err(IoError::new(operation, self.path(name), kind.into()))
    }

    /// Appends a change to the piece, after giving away one that has no room for it.
    fn put(&self, state: &mut PieceState, change: &FileChange<'_>, bytes: usize) -> io::Result<()> {
        if state.changes.len() + bytes > PIECE_BYTES_MAX {
            self.taker.take(std::mem::take(&mut state.changes), false)?;
        }
        change.encode(&mut state.changes);
        Ok(())
    }

    /// A change of names alone.
    fn put_names(
        &self,
        operation: Operation,
        state: &mut PieceState,
        change: &FileChange<'_>,
    ) -> Result<(), IoError> {
        // Kind, and two names with their lengths.
        let put = self.put(state, change, 1 + 2 * 256);
        put.map_err(|cause| IoError::new(operation, &self.location, cause))
    }

    fn write(&self, name: &str, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.names.contains(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let beside = WRITE_BYTES_BESIDE + name.len();
        let (mut rest, mut offset) = (bytes, offset);
        while !rest.is_empty() {
            let room = PIECE_BYTES_MAX.saturating_sub(state.changes.len() + beside);
            // A few bytes of a long write are not worth a change.
            let room =
                if room < rest.len().min(PIECE_BYTES_MAX / 8) { PIECE_BYTES_MAX - beside } else { room };
            let (now, later) = rest.split_at(room.min(rest.len()));
            let change = FileChange::Write { name, offset, bytes: now };
            self.put(&mut state, &change, beside + now.len())?;
            (rest, offset) = (later, offset + now.len() as u64);
        }
        Ok(())
    }
}

impl Directory for PieceDirectory {
    fn location(&self) -> &Path {
        &self.pieces.location
    }

    fn open(&self, name: &str, _mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        self.pieces.fails(Operation::Open, name, io::ErrorKind::Unsupported)
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        let pieces = &self.pieces;
        check_name(Operation::Create, &pieces.location, name)?;
        let mut state = pieces.state.lock();
        if state.names.contains(name) {
            return pieces.fails(Operation::Create, name, io::ErrorKind::AlreadyExists);
        }
        pieces.put_names(Operation::Create, &mut state, &FileChange::Create { name })?;
        state.names.insert(name.to_owned());
        let (path, name) = (pieces.path(name), name.to_owned());
        Ok(Arc::new(PieceFile { pieces: Arc::clone(pieces), name, path }))
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        Ok(self.pieces.state.lock().names.contains(name))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        let pieces = &self.pieces;
        check_name(Operation::Rename, &pieces.location, to)?;
        let mut state = pieces.state.lock();
        if !state.names.remove(from) {
            return pieces.fails(Operation::Rename, from, io::ErrorKind::NotFound);
        }
        state.names.insert(to.to_owned());
        pieces.put_names(Operation::Rename, &mut state, &FileChange::Rename { from, to })
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        let pieces = &self.pieces;
        let mut state = pieces.state.lock();
        if !state.names.remove(name) {
            return pieces.fails(Operation::Remove, name, io::ErrorKind::NotFound);
        }
        pieces.put_names(Operation::Remove, &mut state, &FileChange::Remove { name })
    }

    fn list(&self) -> Result<Vec<String>, IoError> {
        Ok(self.pieces.state.lock().names.iter().cloned().collect())
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        let mut state = self.pieces.state.lock();
        self.pieces.put_names(Operation::SyncDirectory, &mut state, &FileChange::SyncNames)
    }

    fn write_unit(&self) -> WriteUnit {
        self.pieces.unit
    }

    fn allocate(&self, name: &str, _bytes: u64) -> Result<(), IoError> {
        self.pieces.fails(Operation::Allocate, name, io::ErrorKind::Unsupported)
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        self.pieces.fails(Operation::Map, name, io::ErrorKind::Unsupported)
    }

    fn map_words(&self, name: &str, _range: Range<u64>) -> Result<WordMapping, IoError> {
        self.pieces.fails(Operation::Map, name, io::ErrorKind::Unsupported)
    }

    /// Nobody else has it.
    fn lock_exclusive(&self, _name: &str) -> Result<LockGuard, IoError> {
        Ok(LockGuard::new(()))
    }

    fn lock_unchanged(&self, _name: &str) -> Result<Option<LockGuard>, IoError> {
        Ok(None)
    }

    fn lock_state(&self, _name: &str) -> Result<LockState, IoError> {
        Ok(LockState::Free)
    }
}

impl File for PieceFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_direct(&self) -> bool {
        false
    }

    fn read_at(&self, _buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        Err(IoError::at(Operation::Read, &self.path, offset, io::ErrorKind::Unsupported.into()))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        let written = self.pieces.write(&self.name, bytes, offset);
        written.map_err(|cause| IoError::at(Operation::Write, &self.path, offset, cause))
    }

    fn set_len(&self, _len: u64) -> Result<(), IoError> {
        Err(IoError::new(Operation::SetLength, &self.path, io::ErrorKind::Unsupported.into()))
    }

    fn len(&self) -> Result<u64, IoError> {
        Err(IoError::new(Operation::Length, &self.path, io::ErrorKind::Unsupported.into()))
    }

    fn sync_data(&self) -> Result<(), IoError> {
        let mut state = self.pieces.state.lock();
        self.pieces.put_names(Operation::Sync, &mut state, &FileChange::Sync { name: &self.name })
    }
}

impl fmt::Debug for PieceDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PieceDirectory").field("location", &self.pieces.location).finish_non_exhaustive()
    }
}

impl fmt::Debug for PieceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PieceFile").field("path", &self.path).finish_non_exhaustive()
    }
}
