//! Received files: the changes of a directory that come in pieces are done here, in order.
//!
//! ```text
//! piece ──> create, write, sync, rename, remove ──> a directory that was empty
//! ```
//!
//! It does nothing of its own: the directory goes through the moments that it would go through if the backup was made into it. So
//! after a crash it is marked as unfinished, or whole.

use crate::copy::file_change::FileChange;
use evergraph_graph::bytes::{DecodeError, Reader};
use evergraph_graph::error::Error;
use evergraph_storage::checkpoint::manifest::{FILE_NAME, remove_if_there};
use evergraph_storage::io::directory::{Directory, File, check_name};
use evergraph_storage::io::error::{IoError, Operation};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most files of a copy.
const FILES_MAX: usize = 1 << 16;

/// How far behind the end of a file bytes may be written: a log gets its first page at last.
const GAP_BYTES_MAX: u64 = 1 << 20;

/// What came of a copy, in a directory.
#[derive(Debug)]
pub struct ReceivedFiles {
    directory: Arc<dyn Directory>,
    /// Those that were made, by the names that they have.
    files: BTreeMap<String, ReceivedFile>,
}

#[derive(Debug)]
struct ReceivedFile {
    file: Arc<dyn File>,
    /// Behind the last byte that was written.
    end: u64,
}

/// Why a piece is not written.
#[derive(Debug)]
pub enum ReceiveError {
    /// It is none: another node has to give the copy.
    Piece(DecodeError),
    /// This node cannot write it.
    Disk(IoError),
}

impl ReceivedFiles {
    /// Into a directory that is this copy's alone. What lies there is removed.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(directory: Arc<dyn Directory>) -> Result<Self, IoError> {
        let received = Self { directory, files: BTreeMap::new() };
        received.remove_all()?;
        Ok(received)
    }

    /// Removes what came: another node begins anew.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin_again(&mut self) -> Result<(), IoError> {
        self.files.clear();
        self.remove_all()
    }

    /// Does what the next piece says.
    ///
    /// # Errors
    /// [`ReceiveError`].
    pub fn write(&mut self, changes: &[u8]) -> Result<(), ReceiveError> {
        let mut reader = Reader::new(changes);
        while !reader.is_empty() {
            let start = reader.clone();
            let change = FileChange::decode(&mut reader).map_err(ReceiveError::Piece)?;
            if !self.fits(&change) {
                return Err(ReceiveError::Piece(start.error("a change of what was made before expected")));
            }
            self.change(&change).map_err(ReceiveError::Disk)?;
        }
        Ok(())
    }

    /// Whether the change is one of files that this copy has made.
    fn fits(&self, change: &FileChange<'_>) -> bool {
        match change {
            FileChange::Create { name } => {
                self.files.len() < FILES_MAX && !self.files.contains_key(*name) && self.is_name(name)
            }
            FileChange::Write { name, offset, .. } => {
                self.files.get(*name).is_some_and(|received| *offset <= received.end + GAP_BYTES_MAX)
            }
            FileChange::Sync { name } | FileChange::Remove { name } => self.files.contains_key(*name),
            FileChange::Rename { from, to } => self.files.contains_key(*from) && self.is_name(to),
            FileChange::SyncNames => true,
        }
    }

    /// Whether a file of a copy may have this name.
    fn is_name(&self, name: &str) -> bool {
        check_name(Operation::Create, self.directory.location(), name).is_ok()
    }

    fn change(&mut self, change: &FileChange<'_>) -> Result<(), IoError> {
        match change {
            FileChange::Create { name } => {
                let file = self.directory.create(name)?;
                self.files.insert((*name).to_owned(), ReceivedFile { file, end: 0 });
            }
            FileChange::Write { name, offset, bytes } => {
                if let Some(received) = self.files.get_mut(*name) {
                    received.file.write_at(bytes, *offset)?;
                    received.end = received.end.max(offset + bytes.len() as u64);
                }
            }
            FileChange::Sync { name } => {
                self.files.get(*name).map_or(Ok(()), |received| received.file.sync_data())?;
            }
            FileChange::Rename { from, to } => {
                self.directory.rename(from, to)?;
                if let Some(file) = self.files.remove(*from) {
                    self.files.insert((*to).to_owned(), file);
                }
            }
            FileChange::Remove { name } => {
                self.directory.remove(name)?;
                self.files.remove(*name);
            }
            FileChange::SyncNames => self.directory.sync_directory()?,
        }
        Ok(())
    }

    fn remove_all(&self) -> Result<(), IoError> {
        let names = self.directory.list()?;
        // First what makes a whole of the rest.
        remove_if_there(&*self.directory, FILE_NAME)?;
        self.directory.sync_directory()?;
        for name in names.iter().filter(|name| *name != FILE_NAME) {
            self.directory.remove(name)?;
        }
        self.directory.sync_directory()
    }
}

impl ReceiveError {
    /// The error of a node that cannot write what it gets.
    #[must_use]
    pub fn of_disk(error: IoError) -> Error {
        let error = Error::from(error);
        Error::new(error.kind(), format!("write what is copied from other nodes: {error}")).because(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::message::PIECE_BYTES_MAX;
    use crate::copy::piece_directory::{PieceDirectory, TakePieces};
    use evergraph_graph::error::ErrorKind;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::io::write_unit::WriteUnit;
    use evergraph_storage::sync::Mutex;
    use proptest::prelude::*;
    use std::io;

    #[derive(Clone, Default)]
    struct Taken(Arc<Mutex<Vec<Vec<u8>>>>);

    impl TakePieces for Taken {
        fn take(&self, changes: Vec<u8>, _is_last: bool) -> io::Result<()> {
            self.0.lock().push(changes);
            Ok(())
        }
    }

    /// Does the same with any directory: files of these lengths.
    fn write_files(directory: &dyn Directory, lengths: &[usize]) -> Result<(), IoError> {
        directory.write_all_new("unfinished", b"mark")?;
        directory.sync_directory()?;
        for (number, length) in lengths.iter().enumerate() {
            let bytes: Vec<u8> = (0..*length).map(|at| (at * 31 + number) as u8).collect();
            let file = directory.create(&format!("file-{number}"))?;
            // Not in order: the beginning comes last.
            let half = length / 2;
            file.write_at(&bytes[half..], half as u64)?;
            file.write_at(&bytes[..half], 0)?;
            file.sync_data()?;
        }
        directory.write_all_new("manifest.new", b"all")?;
        directory.rename("manifest.new", "manifest")?;
        directory.remove("unfinished")?;
        directory.sync_directory()
    }

    fn pieces_of(lengths: &[usize]) -> Vec<Vec<u8>> {
        let taken = Taken::default();
        let directory = PieceDirectory::new("copy".into(), WriteUnit::PAGE, Box::new(taken.clone()));
        write_files(&directory, lengths).unwrap();
        directory.finish().unwrap();
        std::mem::take(&mut *taken.0.lock())
    }

    fn contents(directory: &dyn Directory) -> Vec<(String, Vec<u8>)> {
        let names = directory.list().unwrap();
        names.into_iter().map(|name| (name.clone(), directory.read_all(&name, 1 << 30).unwrap())).collect()
    }

    #[test]
    fn what_travels_in_pieces_lies_there_as_if_it_was_written_there() {
        for lengths in
            [&[][..], &[0, 1, 10], &[PIECE_BYTES_MAX - 1, PIECE_BYTES_MAX, 3 * PIECE_BYTES_MAX + 7, 5]]
        {
            let pieces = pieces_of(lengths);
            assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX), "a piece is too large");
            let bytes: usize = lengths.iter().sum();
            assert!(pieces.len() <= 2 + bytes * 5 / 4 / PIECE_BYTES_MAX, "{} pieces", pieces.len());
            let (written, target) = (MemoryDirectory::new("a"), MemoryDirectory::new("b"));
            write_files(&written, lengths).unwrap();
            target.write_all_new("left over", b"of a copy before").unwrap();
            let mut received = ReceivedFiles::begin(Arc::new(target.clone())).unwrap();
            pieces.iter().for_each(|piece| received.write(piece).unwrap());
            assert_eq!(contents(&target), contents(&written));
            // And durable.
            assert_eq!(contents(&target.power_cut()), contents(&written.power_cut()));
        }
    }

    #[test]
    fn a_disk_that_fails_anywhere_is_named_and_a_copy_without_its_end_is_marked() {
        let (pieces, whole) = (pieces_of(&[100, 2000]), MemoryDirectory::new("whole"));
        write_files(&whole, &[100, 2000]).unwrap();
        for nth in 1.. {
            let memory = MemoryDirectory::new("target");
            let failing = FailingDirectory::new(Arc::new(memory.clone()));
            let mut received = ReceivedFiles::begin(Arc::new(failing.clone())).unwrap();
            failing.plan(Fault::any_change(io::ErrorKind::StorageFull).nth(nth).lasting());
            let written = pieces.iter().try_for_each(|piece| received.write(piece));
            match written {
                Ok(()) => {
                    assert!(nth > 10, "a copy takes fewer changes");
                    return;
                }
                Err(ReceiveError::Disk(error)) => {
                    let error = ReceiveError::of_disk(error);
                    assert_eq!(error.kind(), ErrorKind::Limit);
                    assert!(error.to_string().contains("target"), "{error}");
                }
                Err(ReceiveError::Piece(error)) => panic!("{error}"),
            }
            // The last change alone may be missing of what is whole.
            let left = memory.power_cut();
            if left.exists(FILE_NAME).unwrap() && !left.exists("unfinished").unwrap() {
                assert_eq!(contents(&left), contents(&whole), "change {nth} failed");
            }
        }
    }

    #[test]
    fn changes_of_what_is_not_the_copys_own_are_refused() {
        let memory = MemoryDirectory::new("target");
        let mut received = ReceivedFiles::begin(Arc::new(memory.clone())).unwrap();
        memory.write_all_new("other", b"not of the copy").unwrap();
        for change in [
            FileChange::Remove { name: "other" },
            FileChange::Write { name: "other", offset: 0, bytes: b"x" },
            FileChange::Sync { name: "missing" },
            FileChange::Rename { from: "other", to: "mine" },
            FileChange::Create { name: "../other" },
            FileChange::Create { name: "" },
        ] {
            let mut bytes = Vec::new();
            change.encode(&mut bytes);
            assert!(matches!(received.write(&bytes), Err(ReceiveError::Piece(_))), "{change:?}");
        }
        assert_eq!(contents(&memory), [("other".to_owned(), b"not of the copy".to_vec())]);
    }

    proptest! {
        #[test]
        fn damaged_pieces_are_errors_or_other_files_and_nothing_else_is_touched(
            edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut piece = pieces_of(&[40, 300]).remove(0);
            for (at, byte) in &edits {
                let at = at.index(piece.len());
                piece[at] = *byte;
            }
            let mut received = ReceivedFiles::begin(Arc::new(MemoryDirectory::new("target"))).unwrap();
            let _ = received.write(&piece);
        }
    }
}
