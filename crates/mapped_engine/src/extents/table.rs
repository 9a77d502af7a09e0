//! Table: all array files; where extents are written, found again and given back.
//!
//! ```text
//! write    free bytes of any file, else a new file --> claim --> write_at, part by part --> StoredExtent
//! sync     every file that was written
//! open     what a manifest names is taken, the rest is free; a file without a named extent goes
//! ```
//!
//! After a crash there may be readers in other processes, of a writer that is gone: they may need what no manifest names. With
//! [`Reuse::Forbidden`] nothing that was there is written or removed, until [`Extents::allow_reuse`].
//!
//! Source: mapped-engine, sections 3, 5 and 6.

use crate::extents::array_file::{ArrayFile, file_name, file_number};
use crate::extents::header::{ExtentHeader, ExtentPlace, extent_bytes};
use crate::extents::payload_writer::PayloadWriter;
use crate::extents::stored_extent::{StoredExtent, TakenSpace};
use evergraph_graph::error::Error;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, LockGuard, OpenMode};
use evergraph_storage::io::error::{IoError, Operation};
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::RangeBounds;
use std::sync::{Arc, OnceLock};

/// Sizes of array files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentOptions {
    /// Size of the first file, in bytes. Each next one has twice as much, but the first one that an opening makes has no more than
    /// what is stored, rounded up to a power of two. 1 MiB.
    pub first_file_bytes: u64,
    /// Size that files grow to, in bytes, but for a longer extent, which has a file of its own. 1 GiB.
    pub file_bytes_max: u64,
}

impl Default for ExtentOptions {
    fn default() -> Self {
        Self { first_file_bytes: 1 << 20, file_bytes_max: 1 << 30 }
    }
}

/// Whether bytes that no manifest names may be written and files removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// Nobody needs them.
    Allowed,
    /// Readers in other processes may.
    Forbidden,
    /// This process writes nothing at all: it reads what another one left.
    OnlyRead,
}

/// What there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExtentStatistics {
    /// Array files.
    pub files_count: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Bytes of them in which no extent lies.
    pub free_bytes: u64,
}

/// The array files of a database.
///
/// # Concurrency
/// Any thread writes, reads and gives back. `files` is locked before a file's space; who makes a file holds it meanwhile, so
/// that others use that file instead of making more. Readers take none.
#[derive(Debug)]
pub struct Extents {
    directory: Arc<dyn Directory>,
    options: ExtentOptions,
    files: Mutex<Files>,
    /// Of all files: see [`Extents::close`].
    in_use: Arc<OnceLock<LockGuard>>,
}

#[derive(Debug)]
struct Files {
    by_number: BTreeMap<u64, Arc<ArrayFile>>,
    next_number: u64,
    next_bytes: u64,
    /// Files that nothing names and readers may need.
    left: Vec<u64>,
    /// Whether what was there when this was opened may be written and removed.
    reuse: Reuse,
}

/// Whether the disk, or what its user may have of it or the process of a file, has less space than was asked for.
fn is_full(error: &IoError) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

impl Extents {
    /// Opens the files of `directory` with the extents that a manifest names, which are given in the same order. Their bytes are
    /// not read. The manifest is the one that a power cut leaves: its name was synced, or what another one names could be
    /// written again.
    ///
    /// Cost: a mapping a file, and logarithmic in the number of extents for each.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] if a file is missing or cut short, or two of the extents have a byte in common; `invalid` if
    /// one is a link; and what the system says.
    pub fn open(
        directory: Arc<dyn Directory>,
        options: ExtentOptions,
        named: impl IntoIterator<Item = (ExtentPlace, ExtentHeader)>,
        reuse: Reuse,
    ) -> Result<(Self, Vec<StoredExtent>), CheckpointError> {
        let numbers: Vec<u64> = directory.list()?.iter().filter_map(|name| file_number(name)).collect();
        let files = Files {
            by_number: BTreeMap::new(),
            next_number: numbers.iter().max().map_or(1, |newest| newest + 1),
            next_bytes: options.first_file_bytes,
            left: Vec::new(),
            reuse,
        };
        let extents = Self { directory, options, files: Mutex::new(files), in_use: Arc::default() };
        let (mut found, mut named_bytes) = (Vec::new(), 0_u64);
        let mode = if reuse == Reuse::OnlyRead { OpenMode::Read } else { OpenMode::ReadWrite };
        {
            let mut files = extents.files.lock();
            for (place, header) in named {
                let file = match files.by_number.get(&place.file) {
                    Some(file) => Arc::clone(file),
                    None if numbers.contains(&place.file) => {
                        let (directory, may_reuse) = (&*extents.directory, reuse == Reuse::Allowed);
                        let mut file = ArrayFile::open(directory, place.file, mode, may_reuse)?;
                        file.in_use = Arc::clone(&extents.in_use);
                        files.next_bytes = files.next_bytes.max(extents.grown(file.mapping().length()));
                        let file = Arc::new(file);
                        files.by_number.insert(place.file, Arc::clone(&file));
                        file
                    }
                    None => return Err(extents.not_listed(place)?),
                };
                let extent = extents.found(&file, place, header)?;
                named_bytes += extents.occupied(place.payload_bytes).expect("it ends within its file");
                found.push(extent);
            }
            // Each opening beside readers of earlier writers makes a file: without a bound, one twice as large as the one before.
            let stored = named_bytes.checked_next_power_of_two().unwrap_or(u64::MAX);
            files.next_bytes = files.next_bytes.min(stored.max(options.first_file_bytes));
            let unnamed =
                numbers.into_iter().filter(|number| !files.by_number.contains_key(number)).collect();
            files.left = unnamed;
            if reuse == Reuse::Allowed {
                extents.remove_left(&mut files)?;
            }
        }
        Ok((extents, found))
    }

    /// The error of an extent that lies in no file of the directory.
    ///
    /// # Errors
    /// What the system says.
    #[cold]
    fn not_listed(&self, place: ExtentPlace) -> Result<CheckpointError, CheckpointError> {
        let name = file_name(place.file);
        let file = self.directory.path(&name);
        if self.directory.exists(&name)? {
            let text = format!(
                "{} is a link to a file, or no file at all: put the file itself there, or move the whole folder of the \
                 database and open it where it is",
                file.display()
            );
            return Ok(CheckpointError::Refused(Error::invalid(text)));
        }
        let problem = "an extent of the manifest lies in it, and it is missing".to_owned();
        Ok(CheckpointError::Corrupt { file, offset: place.offset, problem })
    }

    /// An extent that the manifest names.
    fn found(
        &self,
        file: &Arc<ArrayFile>,
        place: ExtentPlace,
        header: ExtentHeader,
    ) -> Result<StoredExtent, CheckpointError> {
        let corrupt = |problem: &str| CheckpointError::Corrupt {
            file: file.file().path().to_owned(),
            offset: place.offset,
            problem: problem.to_owned(),
        };
        let end = self
            .occupied(place.payload_bytes)
            .and_then(|bytes| place.offset.checked_add(bytes))
            .filter(|end| *end <= file.mapping().length())
            .ok_or_else(|| corrupt("an extent of the manifest lies here, beyond the end of the file"))?;
        let range = place.offset..end;
        if !range.start.is_multiple_of(self.directory.write_unit().bytes()) {
            return Err(corrupt("an extent of the manifest lies here, at no multiple of the write unit"));
        }
        if !file.space().take_range(&range) {
            return Err(corrupt("two extents of the manifest have bytes in common here"));
        }
        let space = TakenSpace { file: Arc::clone(file), range: range.clone(), is_lost: false };
        let bytes = file.mapping().claim(range)?.read();
        Ok(StoredExtent::new(header, place, 0, bytes, space))
    }

    /// What extents lie at multiples of.
    #[must_use]
    pub fn unit(&self) -> WriteUnit {
        self.directory.write_unit()
    }

    /// The number that no array file had yet, nor one before it.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.files.lock().next_number
    }

    /// Gives new files numbers from `number` on at least.
    pub fn number_from(&self, number: u64) {
        let mut files = self.files.lock();
        files.next_number = files.next_number.max(number);
    }

    /// All of an extent, and zeros to the unit.
    fn occupied(&self, payload_bytes: u64) -> Option<u64> {
        extent_bytes(payload_bytes)?.checked_next_multiple_of(self.directory.write_unit().bytes())
    }

    /// The size of the file after one of this size.
    fn grown(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(2).min(self.options.file_bytes_max)
    }

    /// Writes an extent; it can be read at once, and is durable after [`Extents::sync`].
    ///
    /// Cost: a copy of a part of the payload at a time, and a write for each part; sometimes a new file.
    ///
    /// # Errors
    /// `StorageFull` if there is no room for a file, and what the system says. After a failed write its bytes are not used
    /// before the next opening.
    pub fn write(&self, header: ExtentHeader, payload: &[u8]) -> Result<StoredExtent, CheckpointError> {
        self.write_in_pieces(header, payload.len() as u64, |writer| writer.put(payload))
    }

    /// The same of a payload of `payload_bytes` bytes, which `put` gives piece by piece. It is never in memory as a whole.
    ///
    /// # Errors
    /// As [`Extents::write`]; those of `put`; `Unsound` if it gives fewer bytes or more.
    pub fn write_in_pieces<E: From<CheckpointError>>(
        &self,
        header: ExtentHeader,
        payload_bytes: u64,
        put: impl FnOnce(&mut PayloadWriter<'_>) -> Result<(), E>,
    ) -> Result<StoredExtent, E> {
        let occupied = self.occupied(payload_bytes).expect("what was counted byte by byte is below 2^63");
        let mut space = self.take(occupied)?;
        let (file, range) = (Arc::clone(&space.file), space.range.clone());
        let place = ExtentPlace { file: file.number(), offset: range.start, payload_bytes };
        let claim = file.mapping().claim(range.clone()).map_err(CheckpointError::Io)?;
        let mut writer = PayloadWriter::new(&file, range.clone(), payload_bytes);
        let written = put(&mut writer).and_then(|()| Ok(writer.finish(header, place)?));
        match written {
            Ok(write) => {
                if planted(Bug::ExtentFreedWhileHeld) {
                    space.file.space().give_back(range);
                    space.is_lost = true;
                }
                Ok(StoredExtent::new(header, place, write, claim.read(), space))
            }
            Err(error) => {
                space.is_lost = writer.has_failed() && !planted(Bug::LostExtentReused);
                Err(error)
            }
        }
    }

    /// Takes free bytes, of the oldest file that has so many in one piece, else of a new one.
    fn take(&self, bytes: u64) -> Result<TakenSpace, CheckpointError> {
        let taken = |file: &Arc<ArrayFile>, offset| TakenSpace {
            file: Arc::clone(file),
            range: offset..offset + bytes,
            is_lost: false,
        };
        let mut files = self.files.lock();
        if files.reuse == Reuse::OnlyRead {
            return Err(self.only_read());
        }
        for file in files.by_number.values().filter(|file| file.is_writable()) {
            if let Some(offset) = file.space().take(bytes) {
                return Ok(taken(file, offset));
            }
        }
        let mut file = self.create_file(&mut files, bytes)?;
        file.in_use = Arc::clone(&self.in_use);
        let file = Arc::new(file);
        files.by_number.insert(file.number(), Arc::clone(&file));
        let offset = file.space().take(bytes).expect("the file was made for it");
        Ok(taken(&file, offset))
    }

    /// Makes a file of the size that is next; on a disk that has less, of half as many bytes, and so on, as long as `bytes` fit.
    fn create_file(&self, files: &mut Files, bytes: u64) -> Result<ArrayFile, CheckpointError> {
        let unit = self.directory.write_unit();
        let mut file_bytes = files.next_bytes.max(bytes);
        loop {
            let number = files.next_number;
            files.next_number += 1;
            match ArrayFile::create(&*self.directory, number, unit.round_up(file_bytes)) {
                Ok(file) => {
                    if file_bytes >= files.next_bytes {
                        files.next_bytes = self.grown(files.next_bytes);
                    }
                    return Ok(file);
                }
                Err(CheckpointError::Io(error)) if is_full(&error) && file_bytes > bytes => {
                    file_bytes = (file_bytes / 2).max(bytes);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether this process writes nothing here.
    #[must_use]
    pub fn is_only_read(&self) -> bool {
        self.files.lock().reuse == Reuse::OnlyRead
    }

    #[cold]
    fn only_read(&self) -> CheckpointError {
        let cause = std::io::Error::new(ErrorKind::PermissionDenied, "the array files are open to be read");
        IoError::new(Operation::Write, self.directory.location(), cause).into()
    }

    /// Makes all extents durable whose writing ended before; a manifest may name them then.
    ///
    /// Cost: a sync of each file that was written.
    ///
    /// # Errors
    /// The first that failed, of the files; the others are synced. Extents that were not durable in that file never are: see
    /// [`StoredExtent::is_durable`].
    pub fn sync(&self) -> Result<(), CheckpointError> {
        let files: Vec<_> = self.files.lock().by_number.values().cloned().collect();
        files.iter().map(|file| file.sync()).fold(Ok(()), Result::and)
    }

    /// Nobody needs what no [`StoredExtent`] stands for: what was there when this was opened may be written and removed.
    ///
    /// # Errors
    /// What the system says.
    pub fn allow_reuse(&self) -> Result<(), CheckpointError> {
        let mut files = self.files.lock();
        files.reuse = Reuse::Allowed;
        files.by_number.values().for_each(|file| file.allow_reuse());
        self.remove_left(&mut files)
    }

    /// Whether readers of an earlier writer may need what was there when this was opened, or files of it are left.
    #[must_use]
    pub fn is_reuse_forbidden(&self) -> bool {
        let files = self.files.lock();
        files.reuse == Reuse::Forbidden || !files.left.is_empty()
    }

    /// This writer is about to let the database go. Whoever has an extent of it keeps `lock` from here on: the next writer finds
    /// it held, and opens with [`Reuse::Forbidden`].
    pub fn close(&self, lock: LockGuard) {
        // Closed twice: the first lock serves as well.
        drop(self.in_use.set(lock));
    }

    fn remove_left(&self, files: &mut Files) -> Result<(), CheckpointError> {
        while let Some(number) = files.left.last() {
            self.directory.remove(&file_name(*number))?;
            files.left.pop();
        }
        Ok(())
    }

    /// Removes files without extents, but for the newest; the number of them. Nothing that may be durable names one then,
    /// since it would hold an extent of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_empty_files(&self) -> Result<u64, CheckpointError> {
        let mut files = self.files.lock();
        let newest = files.by_number.keys().next_back().copied().unwrap_or(0);
        self.remove_empty(&mut files, ..newest)
    }

    /// Removes files without extents whose number is at least `number`, the newest among them; the number of them. With what
    /// [`Extents::next_number`] was before something was written, nothing is left of that once it is given back: the next file
    /// is no larger either.
    ///
    /// # Errors
    /// What the system says. What can't be removed goes with [`Extents::remove_empty_files`], or at the next opening.
    pub fn remove_empty_files_from(&self, number: u64) -> Result<u64, CheckpointError> {
        let mut files = self.files.lock();
        let removed = self.remove_empty(&mut files, number..)?;
        if removed > 0 {
            let due = files.by_number.values().map(|file| self.grown(file.mapping().length())).max();
            let due = due.unwrap_or(0).max(self.options.first_file_bytes);
            files.next_bytes = files.next_bytes.min(due);
        }
        Ok(removed)
    }

    /// Removes those of `numbers` that have no extents. Nobody is about to write into one: who takes bytes of it has the table's lock.
    fn remove_empty(
        &self,
        files: &mut Files,
        numbers: impl RangeBounds<u64>,
    ) -> Result<u64, CheckpointError> {
        let unit = self.directory.write_unit().bytes();
        let is_empty = |file: &ArrayFile| {
            let length = file.mapping().length();
            file.is_writable() && file.space().free_bytes() == length - length % unit
        };
        let of_numbers = files.by_number.range(numbers);
        let empty: Vec<u64> =
            of_numbers.filter(|(_, file)| is_empty(file)).map(|(number, _)| *number).collect();
        for number in &empty {
            self.directory.remove(&file_name(*number))?;
            files.by_number.remove(number);
        }
        Ok(empty.len() as u64)
    }

    /// What there is. Cost: a look at each file.
    #[must_use]
    pub fn statistics(&self) -> ExtentStatistics {
        let files = self.files.lock();
        let mut statistics = ExtentStatistics::default();
        for file in files.by_number.values() {
            statistics.files_count += 1;
            statistics.file_bytes += file.mapping().length();
            statistics.free_bytes += file.space().free_bytes();
        }
        statistics
    }
}
