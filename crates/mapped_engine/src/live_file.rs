//! Live file: the regions of `live` in a file of the database's directory, mapped by every process.
//!
//! ```text
//! writer   closes and removes what was left, makes the file anew, and allocates and maps each region when a line in it is used first
//! reader   reads line 0 for the sizes of regions, then maps the same bytes; what the file does not have is damage
//! ```
//!
//! A process that has an older `live` open keeps it until it lets go: the file is another one then, not this one made shorter. It
//! learns from the state that another opening follows; whether the name still is that of the same opening's file, it looks up.

use crate::live_head::{CLOSED, LiveHead, MAGIC, STATE_WORD, made_anew};
use crate::words::{LINE_BYTES, LINE_WORDS, Region, RegionSource};
use evergraph_graph::error::{DamagedSharedState, Error, ErrorKind, Result};
use evergraph_storage::io::directory::{Directory, File, OpenMode};
use evergraph_storage::io::error::IoError;
use evergraph_storage::io::mapping::{WORD_BYTES, WordMapping};
use evergraph_storage::sync::atomic::AtomicU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file that processes share.
pub const FILE_NAME: &str = "live";

/// Whether a process may make regions, or finds those of an opening.
#[derive(Clone, Debug)]
enum RegionAccess {
    Makes,
    /// In the file that was found, whatever has its name by now.
    Finds {
        file: Arc<dyn File>,
        opening: u128,
    },
}

/// The file `live` of a directory.
#[derive(Debug)]
pub struct LiveFile {
    directory: Arc<dyn Directory>,
    path: PathBuf,
    access: RegionAccess,
}

impl LiveFile {
    /// Makes the file anew, for the process that has the database's lock.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(directory: Arc<dyn Directory>) -> Result<Self> {
        close_left(&*directory)?;
        match directory.remove(FILE_NAME) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(not_replaced(error)),
            _ => {}
        }
        directory.create(FILE_NAME)?;
        Ok(Self::new(directory, RegionAccess::Makes))
    }

    /// The file that another process made, and what its first line says.
    ///
    /// # Errors
    /// `not_found` if there is none; `busy` if its first line is not written yet; those of [`LiveHead::decode`]; what the
    /// system says.
    pub fn open(directory: Arc<dyn Directory>) -> Result<(Self, LiveHead)> {
        let file = directory.open(FILE_NAME, OpenMode::ReadWrite).map_err(not_announced)?;
        let head = read_head(&*file)?;
        Ok((Self::new(directory, RegionAccess::Finds { file, opening: head.opening }), head))
    }

    fn new(directory: Arc<dyn Directory>, access: RegionAccess) -> Self {
        let path = directory.path(FILE_NAME);
        Self { directory, path, access }
    }
}

/// What a process needs that reads beside others, if that is what is missing.
pub(crate) fn not_announced(error: IoError) -> Error {
    if error.kind() != std::io::ErrorKind::PermissionDenied {
        return error.into();
    }
    let path = error.path().display().to_string();
    let text = format!(
        "{path}: a process that reads the database needs permission to write this file, and to make it in its directory: it \
         announces its snapshots there"
    );
    Error::new(ErrorKind::Io, text).because(error)
}

/// What stands in the way of a new file.
fn not_replaced(error: IoError) -> Error {
    if error.kind() != std::io::ErrorKind::IsADirectory {
        return error.into();
    }
    let path = error.path().display();
    let text = format!("{path} is a folder, and a file of this name is needed here: move it elsewhere");
    Error::invalid(text).because(error)
}

/// What the first line of the file says.
///
/// # Errors
/// `busy` if it is not written yet; those of [`LiveHead::decode`]; what the system says.
pub(crate) fn read_head(file: &dyn File) -> Result<LiveHead> {
    let mut bytes = [0; LINE_WORDS * WORD_BYTES];
    if file.len()? >= bytes.len() as u64 {
        file.read_at(&mut bytes, 0)?;
    }
    // Stored last.
    if bytes[..WORD_BYTES].iter().all(|byte| *byte == 0) {
        let path = file.path().display();
        let text = format!("{path}: another process is opening the database; try again");
        return Err(Error::new(ErrorKind::Busy, text));
    }
    let words = bytes.as_chunks().0;
    LiveHead::decode(std::array::from_fn(|at| u64::from_ne_bytes(words[at])), file.path())
}

/// Tells those who read what an earlier opening left, perhaps by a crash, that another one follows: nobody else will. It may have
/// been of another format, or from before the machine was started again: the magic alone decides. What is no `live` has no readers.
fn close_left(directory: &dyn Directory) -> Result<()> {
    if !directory.exists(FILE_NAME)? {
        return Ok(());
    }
    let file = directory.open(FILE_NAME, OpenMode::ReadWrite).map_err(not_replaced)?;
    if file.len()? < LINE_BYTES {
        return Ok(());
    }
    let mut magic = [0; WORD_BYTES];
    file.read_at(&mut magic, 0)?;
    if u64::from_ne_bytes(magic) == MAGIC {
        file.write_at(&CLOSED.to_ne_bytes(), (STATE_WORD * WORD_BYTES) as u64)?;
    }
    Ok(())
}

impl RegionSource for LiveFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn region(&self, first: u64, words: usize) -> Result<Arc<dyn Region>> {
        let word = WORD_BYTES as u64;
        let range = first * word..(first + words as u64) * word;
        let mapped = match &self.access {
            RegionAccess::Makes => {
                self.directory.allocate(FILE_NAME, range.end)?;
                self.directory.map_words(FILE_NAME, range.clone())
            }
            RegionAccess::Finds { file, .. } => file.map_words(range.clone()),
        };
        match mapped {
            Ok(mapping) => Ok(Arc::new(MappedRegion(mapping))),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let text = format!(
                    "{} is damaged at byte {}: the file ends before; {DamagedSharedState}",
                    self.path.display(),
                    range.start
                );
                Err(Error::new(ErrorKind::Corrupt, text).because(DamagedSharedState))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn check_current(&self) -> Result<()> {
        let RegionAccess::Finds { opening, .. } = self.access else { return Ok(()) };
        match self
            .directory
            .open(FILE_NAME, OpenMode::Read)
            .map_err(Error::from)
            .and_then(|file| read_head(&*file))
        {
            Ok(head) if head.opening == opening => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Err(made_anew(&self.path)),
        }
    }
}

#[derive(Debug)]
struct MappedRegion(WordMapping);

impl Region for MappedRegion {
    fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::live::{Live, WriterPresence};
    use crate::words::{LineNumber, RegionSizes, SharedWords};
    use evergraph_graph::timestamp::Timestamp;
    use evergraph_storage::io::disk::DiskDirectory;
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::sync::atomic::Ordering;

    #[allow(clippy::unwrap_used, reason = "a test's helper fails as the test does")]
    fn made(directory: &Arc<dyn Directory>, opening: u128) -> Live {
        let sizes = RegionSizes::new(11, 13).unwrap();
        let head = LiveHead { opening, process: 42, sizes, slots: 16 };
        let file = LiveFile::create(Arc::clone(directory)).unwrap();
        Live::create(Arc::new(SharedWords::new(Arc::new(file), sizes)), head, Timestamp(5)).unwrap()
    }

    fn join(directory: &Arc<dyn Directory>) -> Result<Live> {
        let (file, head) = LiveFile::open(Arc::clone(directory))?;
        let words = Arc::new(SharedWords::new(Arc::new(file), head.sizes));
        Live::join(words, head.opening, WriterPresence::Present(Some(42)))
    }

    #[test]
    fn who_joins_by_the_file_sees_what_is_stored_and_a_new_one_is_another() {
        let place = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
        let memory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        for directory in [disk, memory] {
            assert_eq!(join(&directory).unwrap_err().kind(), ErrorKind::NotFound);
            directory.create(FILE_NAME).unwrap();
            assert_eq!(join(&directory).unwrap_err().kind(), ErrorKind::Busy);
            let live = made(&directory, 7);
            assert_eq!(join(&directory).unwrap_err().kind(), ErrorKind::Busy, "it is not open yet");
            live.open();
            let joined = join(&directory).unwrap();
            live.publish(Timestamp(6));
            live.make_readable(Timestamp(6));
            assert_eq!((joined.readable(), joined.head().process), (Timestamp(6), 42));

            let next = made(&directory, 8);
            next.open();
            live.publish(Timestamp(7));
            assert_eq!(
                (joined.published(), join(&directory).unwrap().published()),
                (Timestamp(7), Timestamp(5))
            );
        }
    }

    /// What lies in another opening's file means something else: a reader goes on in the one that it joined.
    #[test]
    fn a_reader_goes_on_in_the_file_that_it_joined_and_learns_that_another_one_follows() {
        let place = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
        let memory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        for directory in [disk, memory] {
            goes_on(&directory);
        }
    }

    #[allow(clippy::unwrap_used, reason = "a test's helper fails as the test does")]
    fn goes_on(directory: &Arc<dyn Directory>) {
        let live = made(directory, 7);
        live.open();
        let second = live.words().region_end(LineNumber(0)).unwrap();
        let third = live.words().region_end(second).unwrap();
        let of = |live: &Live| live.words().line(third).unwrap()[3].load(Ordering::Acquire);
        live.words().line(second).unwrap();
        live.words().line(third).unwrap()[3].store(70, Ordering::Release);
        let joined = join(directory).unwrap();
        assert!(joined.words().check_current().is_ok() && joined.is_open());
        // Its writer was killed: nobody closed it.
        drop(live);

        let next = made(directory, 8);
        next.open();
        next.words().line(second).unwrap();
        next.words().line(third).unwrap()[3].store(80, Ordering::Release);
        assert_eq!((of(&joined), of(&join(directory).unwrap())), (70, 80));
        let error = joined.words().check_current().unwrap_err();
        assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("meanwhile"), "{error}");
        assert!(!joined.is_open() && next.is_open());
        directory.remove(FILE_NAME).unwrap();
        assert_eq!(joined.words().check_current().unwrap_err().kind(), ErrorKind::Busy);
    }

    /// A program of another version was killed: its readers learn that another opening follows, although this version does not
    /// know what else lies in their file.
    #[test]
    fn a_file_of_another_format_is_closed_before_another_one_takes_its_place() {
        let place = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
        let memory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        for directory in [disk, memory] {
            let live = made(&directory, 7);
            live.open();
            let joined = join(&directory).unwrap();
            let line = joined.words().line(LineNumber(0)).unwrap();
            line[1].store(3, Ordering::Release);
            assert_eq!(join(&directory).unwrap_err().kind(), ErrorKind::Invalid);
            assert!(joined.is_open());
            LiveFile::create(directory).unwrap();
            assert_eq!(line[STATE_WORD].load(Ordering::Acquire), CLOSED, "its readers read it for ever");
            assert!(!joined.is_open());
        }
    }

    #[test]
    fn a_folder_in_its_place_is_left_there_and_told() {
        let place = tempfile::tempdir().unwrap();
        let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
        std::fs::create_dir(place.path().join(FILE_NAME)).unwrap();
        let error = LiveFile::create(directory).unwrap_err();
        assert!(
            error.kind() == ErrorKind::Invalid && error.to_string().contains("move it elsewhere"),
            "{error}"
        );
        assert!(place.path().join(FILE_NAME).is_dir());
    }

    #[test]
    fn a_file_that_is_no_live_or_ends_early_is_damaged() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        made(&directory, 7).open();
        let file = directory.open(FILE_NAME, OpenMode::ReadWrite).unwrap();
        file.set_len(4096).unwrap();
        let error = join(&directory).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("db/live is damaged at byte 0: the file ends before"), "{error}");
        file.write_at(b"something else", 0).unwrap();
        let error = join(&directory).unwrap_err();
        assert!(error.to_string().contains("no file that processes share"), "{error}");
    }
}
