//! Live file: the regions of `live` in a file of the database's directory, mapped by every process.
//!
//! ```text
//! writer   removes what was left, makes the file anew, and allocates and maps each region when a line in it is used first
//! reader   reads line 0 for the sizes of regions, then maps the same bytes; what the file does not have is damage
//! ```
//!
//! A process that has an older `live` mapped keeps its bytes until it lets go: the file is another one then, not this one
//! made shorter. It can map no more of it: a region is found by the file's name, and whether the name still was that of the same
//! opening's file is looked up afterwards. No opening gets a file back that another one replaced.

use crate::live_head::{LiveHead, made_anew};
use crate::words::{LINE_WORDS, Region, RegionSource};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::mapping::{WORD_BYTES, WordMapping};
use evergraph_storage::sync::atomic::AtomicU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the file that processes share.
pub const FILE_NAME: &str = "live";

/// Whether a process may make regions, or finds those of an opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RegionAccess {
    Makes,
    Finds { opening: u128 },
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
        match directory.remove(FILE_NAME) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
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
        let head = read_head(&*directory)?;
        Ok((Self::new(directory, RegionAccess::Finds { opening: head.opening }), head))
    }

    fn new(directory: Arc<dyn Directory>, access: RegionAccess) -> Self {
        let path = directory.path(FILE_NAME);
        Self { directory, path, access }
    }
}

/// What the first line of the file says that has the name now.
fn read_head(directory: &dyn Directory) -> Result<LiveHead> {
    let path = directory.path(FILE_NAME);
    let file = directory.open(FILE_NAME, OpenMode::Read)?;
    let mut bytes = [0; LINE_WORDS * WORD_BYTES];
    if file.len()? >= bytes.len() as u64 {
        file.read_at(&mut bytes, 0)?;
    }
    if bytes.iter().all(|byte| *byte == 0) {
        let text = format!("{}: another process is opening the database; try again", path.display());
        return Err(Error::new(ErrorKind::Busy, text));
    }
    let words = bytes.as_chunks().0;
    LiveHead::decode(std::array::from_fn(|at| u64::from_ne_bytes(words[at])), &path)
}

impl RegionSource for LiveFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn region(&self, first: u64, words: usize) -> Result<Arc<dyn Region>> {
        let word = WORD_BYTES as u64;
        let range = first * word..(first + words as u64) * word;
        if self.access == RegionAccess::Makes {
            self.directory.allocate(FILE_NAME, range.end)?;
        }
        let mapped = self.directory.map_words(FILE_NAME, range.clone());
        self.check_current()?;
        match mapped {
            Ok(mapping) => Ok(Arc::new(MappedRegion(mapping))),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let text = format!(
                    "{} is damaged at byte {}: the file ends before; close the database everywhere and open it again",
                    self.path.display(),
                    range.start
                );
                Err(Error::new(ErrorKind::Corrupt, text).because(error))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn check_current(&self) -> Result<()> {
        let RegionAccess::Finds { opening } = self.access else { return Ok(()) };
        match read_head(&*self.directory) {
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

    /// What follows in the file is another opening's: its lines mean something else.
    #[test]
    fn a_reader_maps_no_region_of_a_file_that_was_made_anew() {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let live = made(&directory, 7);
        live.open();
        let second = live.words().region_end(LineNumber(0)).unwrap();
        let third = live.words().region_end(second).unwrap();
        assert!([second, third].into_iter().all(|line| live.words().line(line).is_ok()));
        let joined = join(&directory).unwrap();
        assert!(joined.words().line(second).is_ok() && joined.words().check_current().is_ok());

        let next = made(&directory, 8);
        next.open();
        next.words().line(third).unwrap();
        for refused in [joined.words().line(third).map(drop), joined.words().check_current()] {
            let error = refused.unwrap_err();
            assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("meanwhile"), "{error}");
        }
        assert!(joined.words().line(second).is_ok(), "what was mapped stays");
        directory.remove(FILE_NAME).unwrap();
        assert_eq!(joined.words().check_current().unwrap_err().kind(), ErrorKind::Busy);
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
