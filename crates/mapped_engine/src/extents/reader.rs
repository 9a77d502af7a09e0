//! Reader: extents as a process has them that does not write, by the places that it finds in `live`.
//!
//! A file is mapped when an extent in it is read first. An extent that several snapshots read is one, whose checksums were
//! compared once; it may be kept for as long as the slot of a snapshot that needs it.

use crate::extents::array_file::file_name;
use crate::extents::blockwise_payload::BlockwisePayload;
use crate::extents::checked_blocks::CheckedBlocks;
use crate::extents::header::{ExtentHeader, ExtentPlace, extent_bytes};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::mapping::{Extent, ReadMapping};
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

/// Extents that this process reads are looked through for those that nobody has when there are twice as many as were left.
const LEAST_KNOWN: usize = 64;

/// An extent that another process wrote.
#[derive(Debug)]
pub struct ReadExtent {
    bytes: Extent,
    place: ExtentPlace,
}

impl ReadExtent {
    /// Its payload, in place; it was verified.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.place.payload_of(&self.bytes)
    }

    /// All of it, from the header to the end of its last unit.
    #[must_use]
    pub fn whole(&self) -> &[u8] {
        &self.bytes
    }
}

/// Array files that are only read, each mapped when something in it is read first.
#[derive(Debug, Default)]
pub struct ReadFiles {
    by_number: BTreeMap<u64, Arc<ReadMapping>>,
}

impl ReadFiles {
    /// Forgets files of which nobody reads anything: those that are removed take room as long as they are mapped.
    pub fn forget_unread(&mut self) {
        self.by_number.retain(|_, file| Arc::strong_count(file) > 1 || file.is_read());
    }

    /// The bytes of the extent at `place`, not compared with anything, with what follows to the unit. Nobody writes there as long as
    /// they are read.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] if the file is missing or too short; what the system says.
    pub fn bytes(
        &mut self,
        directory: &dyn Directory,
        place: ExtentPlace,
    ) -> Result<Extent, CheckpointError> {
        let name = file_name(place.file);
        let corrupt = |problem: &str| CheckpointError::Corrupt {
            file: directory.path(&name),
            offset: place.offset,
            problem: problem.to_owned(),
        };
        let file = match self.by_number.get(&place.file) {
            Some(file) => Arc::clone(file),
            None => {
                if !directory.exists(&name)? {
                    return Err(corrupt("an extent lies in it, and it is missing"));
                }
                if directory.open(&name, OpenMode::Read)?.is_empty()? {
                    return Err(corrupt("an extent lies in it, and it is empty"));
                }
                let file = Arc::new(directory.map(&name)?.only_read());
                self.by_number.insert(place.file, Arc::clone(&file));
                file
            }
        };
        let unit = directory.write_unit().bytes();
        let end = extent_bytes(place.payload_bytes)
            .and_then(|bytes| bytes.checked_next_multiple_of(unit))
            .and_then(|bytes| place.offset.checked_add(bytes))
            .filter(|end| *end <= file.length())
            .ok_or_else(|| corrupt("an extent lies here, beyond the end of the file"))?;
        Ok(file.read(place.offset..end)?)
    }

    /// The extent at `place`, of which so much is known.
    ///
    /// # Errors
    /// As [`ReadFiles::bytes`]; [`CheckpointError::Corrupt`] if it is not what was written.
    pub fn read(
        &mut self,
        directory: &dyn Directory,
        place: ExtentPlace,
        header: ExtentHeader,
    ) -> Result<ReadExtent, CheckpointError> {
        let bytes = self.bytes(directory, place)?;
        header.verify(place, &bytes).map_err(|(offset, problem)| {
            let file = directory.path(&file_name(place.file));
            CheckpointError::Corrupt { file, offset: place.offset + offset, problem }
        })?;
        Ok(ReadExtent { bytes, place })
    }
}

/// An extent that another process wrote, compared with its checksums when it is touched first: all of it, or its blocks.
///
/// # Concurrency
/// Any thread reads; an open slot keeps its bytes from being written again.
#[derive(Debug)]
pub struct ForeignExtent {
    directory: Arc<dyn Directory>,
    place: ExtentPlace,
    header: ExtentHeader,
    bytes: Extent,
    /// Shared with whoever reads the same extent later.
    checked: Arc<CheckedBlocks>,
}

impl ForeignExtent {
    /// The extent at `place`, of which so much is known, in one of `files` of `directory`; `checked` is what of it was compared
    /// before.
    ///
    /// # Errors
    /// As [`ReadFiles::bytes`].
    pub fn new(
        directory: &Arc<dyn Directory>,
        files: &mut ReadFiles,
        (place, header): (ExtentPlace, ExtentHeader),
        checked: Arc<CheckedBlocks>,
    ) -> Result<Self, CheckpointError> {
        let bytes = files.bytes(&**directory, place)?;
        Ok(Self { directory: Arc::clone(directory), place, header, bytes, checked })
    }

    /// Where it lies.
    #[must_use]
    pub fn place(&self) -> ExtentPlace {
        self.place
    }

    /// Its payload, in place, not compared with anything.
    #[must_use]
    pub fn unverified_payload(&self) -> &[u8] {
        self.place.payload_of(&self.bytes)
    }

    /// Its payload, in place. Cost: nothing but page faults, after the first call, which computes checksums.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], naming file and byte, if it is not what was written.
    pub fn payload(&self) -> Result<&[u8], CheckpointError> {
        if !self.checked.is_whole() {
            let verified = self.header.verify(self.place, &self.bytes);
            verified.map_err(|(offset, problem)| self.corrupt(offset, problem))?;
            self.checked.note_whole();
        }
        Ok(self.unverified_payload())
    }

    /// Its payload, in place, whose blocks are compared as they are touched. Cost: four bytes a block the first time.
    ///
    /// # Errors
    /// As [`ForeignExtent::payload`], of the header and the checksums of the blocks.
    pub fn blockwise(&self) -> Result<BlockwisePayload<'_>, CheckpointError> {
        let extent = (self.place, self.header);
        let payload = BlockwisePayload::new(extent, &self.bytes, Some(self.checked()));
        payload.map_err(|(offset, problem)| self.corrupt(offset, problem))
    }

    /// What of it was compared with its checksums.
    #[must_use]
    pub fn checked(&self) -> &CheckedBlocks {
        &self.checked
    }

    /// The error of something that is wrong at a byte of it.
    #[must_use]
    pub fn corrupt(&self, offset: u64, problem: String) -> CheckpointError {
        let file = self.directory.path(&file_name(self.place.file));
        CheckpointError::Corrupt { file, offset: self.place.offset + offset, problem }
    }
}

/// The array files of a database that another process writes.
///
/// # Concurrency
/// Any thread reads. One lock, a leaf, held while an extent is looked up or verified first.
#[derive(Debug)]
pub struct ExtentReader {
    directory: Arc<dyn Directory>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    files: ReadFiles,
    extents: HashMap<ExtentPlace, (ExtentHeader, Weak<ReadExtent>)>,
    looked_through_at: usize,
}

impl ExtentReader {
    /// Reads array files of `directory`.
    #[must_use]
    pub fn new(directory: Arc<dyn Directory>) -> Self {
        Self { directory, known: Mutex::default() }
    }

    /// The extent at `place`, of which so much is known. An open slot keeps it from being written again.
    ///
    /// Cost: a look-up; the first time for all who have it, its checksums and sometimes a mapping.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], naming file and byte, if it is not there or not what was written; what the system says.
    pub fn read(&self, place: ExtentPlace, header: ExtentHeader) -> Result<Arc<ReadExtent>, CheckpointError> {
        let mut known = self.known.lock();
        if let Some((of, extent)) = known.extents.get(&place)
            && *of == header
            && let Some(extent) = extent.upgrade()
        {
            return Ok(extent);
        }
        let extent = Arc::new(known.files.read(&*self.directory, place, header)?);
        known.extents.insert(place, (header, Arc::downgrade(&extent)));
        if known.extents.len() >= known.looked_through_at.max(LEAST_KNOWN) {
            known.extents.retain(|_, (_, extent)| extent.strong_count() > 0);
            known.looked_through_at = 2 * known.extents.len();
        }
        Ok(extent)
    }
}
