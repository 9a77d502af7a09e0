//! Disk: the real directory, on the operating system's file system.
//!
//! ```text
//! opened by     on Linux, the file system allows it   otherwise
//! Read, Write   through the system's page cache       the same
//! a direct mode O_DIRECT, past that cache             through it; on Linux the system is told to keep nothing
//! ```

use rustix::fs::OFlags;
use std::fs::{self, File as SystemFile};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::directory::{Directory, File, LockGuard, LockState, OpenMode, check_alignment, check_name};
use crate::io::error::{IoError, Operation};
use crate::io::folder::Folder;
use crate::io::lock_file::LockFile;
use crate::io::mapping::{ByteMapping, StoreOrder, WordMapping};
use crate::io::page::ALIGNMENT_BYTES;
use crate::io::write_unit::WriteUnit;

/// Zeros that are written at once, in bytes.
const ZEROS_BYTES: u64 = 1 << 20;

/// A directory of the file system.
///
/// Concurrency: holds no state but an open handle; any thread may call anything.
#[derive(Debug)]
pub struct DiskDirectory {
    location: PathBuf,
    /// The same from the root, wherever the process works later.
    absolute: PathBuf,
    /// Where names are looked up, and what makes them durable: a path may lead elsewhere later.
    folder: Folder,
}

impl DiskDirectory {
    /// Opens a directory that exists.
    ///
    /// # Errors
    /// `NotFound`, `NotADirectory` if the path is a file, and what the system says.
    pub fn open(location: impl Into<PathBuf>) -> Result<Self, IoError> {
        let location = location.into();
        match Folder::open(&location) {
            Ok(folder) => {
                let absolute = std::path::absolute(&location).unwrap_or_else(|_| location.clone());
                Ok(Self { location, absolute, folder })
            }
            Err(source) => Err(IoError::new(Operation::Open, location, source)),
        }
    }

    /// Opens a directory, creating it and its missing parents first; each new name is made
    /// durable in its parent.
    ///
    /// # Errors
    /// `NotADirectory` if the path or a parent is a file, and what the system says.
    pub fn open_or_create(location: impl Into<PathBuf>) -> Result<Self, IoError> {
        let location = location.into();
        create_directory(&location)?;
        Self::open(location)
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    fn checked(&self, operation: Operation, name: &str) -> Result<PathBuf, IoError> {
        check_name(operation, &self.location, name)?;
        Ok(self.location.join(name))
    }

    fn lock<'a>(&'a self, name: &'a str) -> Result<LockFile<'a>, IoError> {
        check_name(Operation::Lock, &self.location, name)?;
        Ok(LockFile { folder: &self.folder, location: &self.location, name })
    }

    /// Opens a file that exists, for what the system does to it by its handle.
    pub(crate) fn open_system_file(
        &self,
        operation: Operation,
        name: &str,
        mode: OpenMode,
    ) -> Result<(PathBuf, SystemFile), IoError> {
        let path = self.checked(operation, name)?;
        match self.folder.open_file(name, mode.writes(), OFlags::empty()) {
            Ok(file) => Ok((path, file)),
            Err(source) => Err(IoError::new(operation, path, source)),
        }
    }
}

fn create_directory(location: &Path) -> Result<(), IoError> {
    let failed = |source| IoError::new(Operation::CreateDirectory, location, source);
    if fs::metadata(location).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    // A relative name of one part has the empty path as parent: the working directory.
    let parent = match location.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            create_directory(parent)?;
            parent
        }
        _ => Path::new("."),
    };
    match fs::create_dir(location) {
        Ok(()) => DiskDirectory::open(parent)?.sync_directory(),
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
            // Either another process was faster, or the path is a file.
            let found = fs::metadata(location).map_err(failed)?;
            if found.is_dir() { Ok(()) } else { Err(failed(ErrorKind::NotADirectory.into())) }
        }
        Err(cause) => Err(failed(cause)),
    }
}

impl Directory for DiskDirectory {
    fn location(&self) -> &Path {
        &self.location
    }

    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        let path = self.checked(Operation::Open, name)?;
        let opened = match mode.is_direct() {
            true => open_direct(&self.folder, name, mode.writes()),
            false => {
                let opened = self.folder.open_file(name, mode.writes(), OFlags::empty());
                opened.map(|file| (file, CacheUse::Cached))
            }
        };
        match opened {
            Ok((file, cache_use)) => Ok(Arc::new(DiskFile { path, file, cache_use })),
            Err(source) => Err(IoError::new(Operation::Open, path, source)),
        }
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        let path = self.checked(Operation::Create, name)?;
        match self.folder.create_file(name) {
            Ok(file) => Ok(Arc::new(DiskFile { path, file, cache_use: CacheUse::Cached })),
            Err(source) => Err(IoError::new(Operation::Create, path, source)),
        }
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        let path = self.checked(Operation::Exists, name)?;
        self.folder.exists(name).map_err(|source| IoError::new(Operation::Exists, path, source))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        let path = self.checked(Operation::Rename, from)?;
        self.checked(Operation::Rename, to)?;
        self.folder.rename(from, to).map_err(|source| IoError::new(Operation::Rename, path, source))
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        let path = self.checked(Operation::Remove, name)?;
        self.folder.remove(name).map_err(|source| IoError::new(Operation::Remove, path, source))
    }

    /// Directories, and names that are not UTF-8, are none of ours and are left out.
    fn list(&self) -> Result<Vec<String>, IoError> {
        let listed = self.folder.files();
        let mut names = listed.map_err(|source| IoError::new(Operation::List, &self.location, source))?;
        names.sort_unstable();
        Ok(names)
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        self.folder.sync().map_err(|source| IoError::new(Operation::SyncDirectory, &self.location, source))
    }

    fn write_unit(&self) -> WriteUnit {
        WriteUnit::PAGE
    }

    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError> {
        let (path, file) = self.open_system_file(Operation::Allocate, name, OpenMode::ReadWrite)?;
        allocate(&file, bytes).map_err(|source| IoError::new(Operation::Allocate, path, source))
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        let (path, file) = self.open_system_file(Operation::Map, name, OpenMode::Read)?;
        ByteMapping::of_file(&path, &file, self.write_unit())
    }

    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError> {
        let (path, file) = self.open_system_file(Operation::Map, name, OpenMode::ReadWrite)?;
        WordMapping::of_file(&path, &file, range, StoreOrder::PageCache)
    }

    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError> {
        self.lock(name)?.take()
    }

    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError> {
        self.lock(name)?.take_unchanged()
    }

    fn is_replaced(&self) -> Result<bool, IoError> {
        let found = self.folder.is_elsewhere(&self.absolute);
        found.map_err(|source| IoError::new(Operation::Exists, &self.location, source))
    }

    fn lock_state(&self, name: &str) -> Result<LockState, IoError> {
        self.lock(name)?.state()
    }
}

/// Grows a file to `bytes` with zeros that occupy space. If there is less, it stays as it was.
pub(crate) fn allocate(file: &SystemFile, bytes: u64) -> std::io::Result<()> {
    let length = file.metadata()?.len();
    if length >= bytes {
        return Ok(());
    }
    occupy(file, length..bytes).inspect_err(|_| {
        // ext4 keeps what it had found before the disk was full. The first error tells more than a second one.
        let _ = file.set_len(length);
    })
}

/// Adds zeros behind the end of a file, as far as there is space.
fn occupy(file: &SystemFile, range: Range<u64>) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, range.end) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
        allocated => return Ok(allocated?),
    }
    write_zeros(file, range)
}

/// What allocating is where the file system has no call for it.
fn write_zeros(file: &SystemFile, range: Range<u64>) -> std::io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES.min(range.end - range.start) as usize];
    let mut offset = range.start;
    while offset < range.end {
        let length = (range.end - offset).min(ZEROS_BYTES);
        file.write_all_at(&zeros[..length as usize], offset)?;
        offset += length;
    }
    Ok(())
}

/// What a file's reads and writes leave in the system's page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CacheUse {
    /// As much as the system likes.
    Cached,
    /// Nothing: they bypass it.
    Direct,
    /// They pass through it, and the system is told to keep nothing.
    Forgotten,
}

/// Opens a file for direct I/O, or for plain I/O where the file system refuses that when it is opened.
#[cfg(target_os = "linux")]
fn open_direct(folder: &Folder, name: &str, writes: bool) -> std::io::Result<(SystemFile, CacheUse)> {
    match folder.open_file(name, writes, OFlags::DIRECT) {
        Err(refused) if refused.kind() == ErrorKind::InvalidInput => {}
        opened => return opened.map(|file| (file, CacheUse::Direct)),
    }
    let file = folder.open_file(name, writes, OFlags::empty())?;
    advise_random_reads(&file);
    Ok((file, CacheUse::Forgotten))
}

#[cfg(not(target_os = "linux"))]
fn open_direct(folder: &Folder, name: &str, writes: bool) -> std::io::Result<(SystemFile, CacheUse)> {
    folder.open_file(name, writes, OFlags::empty()).map(|file| (file, CacheUse::Forgotten))
}

/// Keeps the system from reading ahead: who opens a file for direct I/O does that.
#[cfg(target_os = "linux")]
fn advise_random_reads(file: &SystemFile) {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

    // Advice, as below: a system that does not take it reads and writes all the same.
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM);
}

/// Lets the system drop what its page cache holds of `length` bytes from `offset` on; of zero bytes: to the end.
/// Bytes that are not on the disk yet stay.
#[cfg(target_os = "linux")]
fn advise_to_forget(file: &SystemFile, offset: u64, length: usize) {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

    if let (Ok(offset), Ok(length)) = (offset.try_into(), length.try_into()) {
        let _ = posix_fadvise(file, offset, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_to_forget(_: &SystemFile, _: u64, _: usize) {}

#[derive(Debug)]
struct DiskFile {
    path: PathBuf,
    file: SystemFile,
    cache_use: CacheUse,
}

impl DiskFile {
    /// Calls `step` for what is left of `length` bytes from `offset` on, until all of it is done. It returns how many
    /// bytes the system moved. After a part of a block the block is moved again: the system takes whole ones only.
    /// Where no block gets whole, the error is `ended`.
    fn in_blocks(
        length: usize,
        ended: ErrorKind,
        mut step: impl FnMut(usize) -> std::io::Result<usize>,
    ) -> std::io::Result<()> {
        let mut done = 0;
        while done < length {
            match step(done) {
                Ok(moved) if moved < ALIGNMENT_BYTES => return Err(ended.into()),
                Ok(moved) => done += moved - moved % ALIGNMENT_BYTES,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        if self.cache_use != CacheUse::Direct {
            return self.file.read_exact_at(buffer, offset);
        }
        Self::in_blocks(buffer.len(), ErrorKind::UnexpectedEof, |done| {
            self.file.read_at(&mut buffer[done..], offset + done as u64)
        })
    }

    fn write(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        if self.cache_use != CacheUse::Direct {
            return self.file.write_all_at(bytes, offset);
        }
        Self::in_blocks(bytes.len(), ErrorKind::WriteZero, |done| {
            self.file.write_at(&bytes[done..], offset + done as u64)
        })
    }

    fn check_alignment(&self, operation: Operation, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        match self.cache_use {
            CacheUse::Cached => Ok(()),
            CacheUse::Direct | CacheUse::Forgotten => check_alignment(operation, &self.path, bytes, offset),
        }
    }
}

impl File for DiskFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_direct(&self) -> bool {
        self.cache_use == CacheUse::Direct
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.check_alignment(Operation::Read, buffer, offset)?;
        let failed = |source| IoError::at(Operation::Read, &self.path, offset, source);
        self.read(buffer, offset).map_err(failed)?;
        if self.cache_use == CacheUse::Forgotten {
            advise_to_forget(&self.file, offset, buffer.len());
        }
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        self.check_alignment(Operation::Write, bytes, offset)?;
        self.write(bytes, offset).map_err(|source| IoError::at(Operation::Write, &self.path, offset, source))
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.file.set_len(len).map_err(|source| IoError::new(Operation::SetLength, &self.path, source))
    }

    fn len(&self) -> Result<u64, IoError> {
        match self.file.metadata() {
            Ok(found) => Ok(found.len()),
            Err(source) => Err(IoError::new(Operation::Length, &self.path, source)),
        }
    }

    fn map_words(&self, range: Range<u64>) -> Result<WordMapping, IoError> {
        WordMapping::of_file(&self.path, &self.file, range, StoreOrder::PageCache)
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.file.sync_data().map_err(|source| IoError::new(Operation::Sync, &self.path, source))?;
        if self.cache_use == CacheUse::Forgotten {
            advise_to_forget(&self.file, 0, 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::page::AlignedBuffer;
    use std::fs::OpenOptions;

    fn temporary() -> (tempfile::TempDir, DiskDirectory) {
        let place = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open_or_create(place.path().join("a/b")).unwrap();
        (place, directory)
    }

    #[test]
    fn bytes_are_read_back_where_they_were_written() {
        let (_place, directory) = temporary();
        let file = directory.create("one").unwrap();
        file.write_at(b"world", 6).unwrap();
        file.write_at(b"hello ", 0).unwrap();
        file.sync_data().unwrap();
        directory.sync_directory().unwrap();
        assert_eq!(directory.read_all("one", 11).unwrap(), b"hello world");
        assert_eq!(file.len().unwrap(), 11);
        file.set_len(5).unwrap();
        assert_eq!(directory.read_all("one", 11).unwrap(), b"hello");
    }

    #[test]
    fn a_read_past_the_end_names_file_and_offset() {
        let (_place, directory) = temporary();
        directory.write_all_new("short", b"abc").unwrap();
        let file = directory.open("short", OpenMode::Read).unwrap();
        let error = file.read_at(&mut [0; 4], 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(error.to_string().contains("short at byte 1"), "{error}");
    }

    /// Whichever way the file system takes: a temporary directory may lie in memory.
    fn checks_direct_io(directory: &DiskDirectory, file: &dyn File) {
        let page = ALIGNMENT_BYTES as u64;
        let mut pages = AlignedBuffer::zeroed(3 * ALIGNMENT_BYTES);
        pages.chunks_mut(ALIGNMENT_BYTES).zip(1..).for_each(|(page, fill)| page.fill(fill));
        file.write_at(&pages, page).unwrap();
        file.sync_data().unwrap();
        assert_eq!(file.len().unwrap(), 4 * page);
        let mut found = AlignedBuffer::zeroed(2 * ALIGNMENT_BYTES);
        file.read_at(&mut found, 2 * page).unwrap();
        assert_eq!(found[..], pages[ALIGNMENT_BYTES..]);
        assert!(directory.read_all("csr-1", 4 * page).unwrap()[4096..] == pages[..], "others see the same");

        for (offset, length) in [(3 * page, 2 * ALIGNMENT_BYTES), (9 * page, ALIGNMENT_BYTES)] {
            let error = file.read_at(&mut AlignedBuffer::zeroed(length), offset).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "at {offset}");
        }
        file.set_len(3 * page + 100).unwrap();
        let cut = file.read_at(&mut found, 2 * page).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::UnexpectedEof);
        assert!(cut.to_string().contains("csr-1 at byte 8192"), "{cut}");
        file.read_at(&mut found[..ALIGNMENT_BYTES], 2 * page).unwrap();
        assert_eq!(file.write_at(&[0; 10], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(file.read_at(&mut found, 7).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn direct_io_moves_whole_blocks_and_names_where_a_file_ends() {
        let (_place, directory) = temporary();
        drop(directory.create("csr-1").unwrap());
        checks_direct_io(&directory, &*directory.open("csr-1", OpenMode::WriteDirect).unwrap());
        let reader = directory.open("csr-1", OpenMode::ReadDirect).unwrap();
        let refused = reader.write_at(&AlignedBuffer::zeroed(ALIGNMENT_BYTES), 0).unwrap_err();
        assert!(refused.to_string().starts_with("write "), "{refused}");
        assert!(!directory.open("csr-1", OpenMode::Read).unwrap().is_direct());
    }

    #[test]
    fn a_file_system_without_direct_io_does_the_same_and_says_so() {
        let (_place, directory) = temporary();
        drop(directory.create("csr-1").unwrap());
        let path = directory.path("csr-1");
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let file = DiskFile { path, file, cache_use: CacheUse::Forgotten };
        assert!(!file.is_direct());
        checks_direct_io(&directory, &file);
    }

    #[test]
    fn a_block_that_was_moved_in_part_is_moved_again() {
        let mut asked = Vec::new();
        let mut moved =
            [Ok(ALIGNMENT_BYTES + 512), Err(ErrorKind::Interrupted.into()), Ok(2 * ALIGNMENT_BYTES)]
                .into_iter();
        let done = DiskFile::in_blocks(3 * ALIGNMENT_BYTES, ErrorKind::UnexpectedEof, |done| {
            asked.push(done);
            moved.next().unwrap()
        });
        assert!(done.is_ok());
        assert_eq!(asked, [0, ALIGNMENT_BYTES, ALIGNMENT_BYTES]);
        let ended = DiskFile::in_blocks(ALIGNMENT_BYTES, ErrorKind::WriteZero, |_| Ok(512));
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::WriteZero);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it moves what the rule points to")]
    fn a_directory_that_was_moved_is_the_same_and_the_one_in_its_place_is_not() {
        let place = tempfile::tempdir().unwrap();
        let (path, moved) = (place.path().join("x.eg"), place.path().join("z.eg"));
        let directory = DiskDirectory::open_or_create(&path).unwrap();
        let lock = directory.lock_exclusive("lock").unwrap();
        directory.create("log-1").unwrap().write_at(b"mine", 0).unwrap();
        fs::rename(&path, &moved).unwrap();
        assert!(!directory.is_replaced().unwrap(), "it was moved, and nothing is in its place");
        let other = DiskDirectory::open_or_create(&path).unwrap();
        assert!(directory.is_replaced().unwrap() && !other.is_replaced().unwrap());
        let _other_lock = other.lock_exclusive("lock").unwrap();
        other.create("log-1").unwrap().write_at(b"theirs", 0).unwrap();
        directory.rename("log-1", "log-2").unwrap();
        directory.create("manifest").unwrap();
        directory.sync_directory().unwrap();
        assert_eq!(directory.list().unwrap(), ["lock", "log-2", "manifest"]);
        assert!(!directory.exists("log-1").unwrap() && directory.open("log-2", OpenMode::Read).is_ok());
        directory.remove("manifest").unwrap();
        assert_eq!(other.list().unwrap(), ["lock", "log-1"]);
        assert_eq!(fs::read(path.join("log-1")).unwrap(), b"theirs");
        assert_eq!(fs::read(moved.join("log-2")).unwrap(), b"mine");
        drop(lock);
    }

    #[test]
    fn a_path_that_cannot_be_looked_up_leads_to_no_other_directory() {
        let (_place, directory) = temporary();
        let path = directory.location();
        fs::remove_dir(path).unwrap();
        // A link to itself, since permissions don't keep a superuser from looking.
        std::os::unix::fs::symlink(path, path).unwrap();
        assert!(!directory.is_replaced().unwrap());
    }

    #[test]
    fn allocated_bytes_are_zeros_that_occupy_space() {
        use std::os::unix::fs::MetadataExt;

        let (_place, directory) = temporary();
        let file = directory.create("array-1").unwrap();
        file.write_at(b"abc", 0).unwrap();
        directory.allocate("array-1", 3 << 20).unwrap();
        directory.allocate("array-1", 100).unwrap();
        let metadata = fs::metadata(directory.path("array-1")).unwrap();
        assert_eq!(metadata.len(), 3 << 20);
        assert!(metadata.blocks() * 512 >= 3 << 20, "{} blocks", metadata.blocks());
        let mut bytes = directory.read_all("array-1", 3 << 20).unwrap();
        assert!(bytes.starts_with(b"abc\0") && bytes[3..].iter().all(|byte| *byte == 0));
        assert_eq!(directory.allocate("none", 5).unwrap_err().kind(), ErrorKind::NotFound);

        let path = directory.path("array-1");
        let file = OpenOptions::new().write(true).open(path).unwrap();
        write_zeros(&file, 1..(4 << 20) + 1).unwrap();
        bytes = directory.read_all("array-1", 5 << 20).unwrap();
        assert!(bytes.len() == (4 << 20) + 1 && bytes[0] == b'a' && bytes[1..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read() {
        let (_place, directory) = temporary();
        directory.write_all_new("large", &[7; 100]).unwrap();
        assert!(matches!(directory.read_all("large", 99), Err(IoError::TooLarge { found: 100, .. })));
    }

    #[test]
    fn names_are_created_once_renamed_listed_and_removed() {
        let (_place, directory) = temporary();
        directory.write_all_new("b", b"new").unwrap();
        directory.write_all_new("a", b"old").unwrap();
        assert_eq!(directory.create("a").unwrap_err().kind(), ErrorKind::AlreadyExists);
        directory.rename("b", "a").unwrap();
        assert_eq!(directory.list().unwrap(), ["a"]);
        assert_eq!(directory.read_all("a", 9).unwrap(), b"new");
        assert!(directory.exists("a").unwrap() && !directory.exists("b").unwrap());
        directory.remove("a").unwrap();
        assert_eq!(directory.remove("a").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(directory.open("a", OpenMode::Read).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(directory.open("../a", OpenMode::Read).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn a_folder_that_is_removed_while_it_is_open_is_told() {
        let (_place, directory) = temporary();
        std::fs::remove_dir(directory.location()).unwrap();
        let text = directory.create("log-1").unwrap_err().to_string();
        assert!(text.contains("the folder was removed"), "{text}");
    }

    #[test]
    fn a_file_is_no_database_directory() {
        let (place, directory) = temporary();
        directory.write_all_new("file", b"").unwrap();
        let path = place.path().join("a/b/file");
        assert_eq!(DiskDirectory::open(&path).unwrap_err().kind(), ErrorKind::NotADirectory);
        assert_eq!(DiskDirectory::open_or_create(&path).unwrap_err().kind(), ErrorKind::NotADirectory);
        let below = DiskDirectory::open_or_create(path.join("c")).unwrap_err();
        assert_eq!(below.kind(), ErrorKind::NotADirectory);
        assert_eq!(DiskDirectory::open(place.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
