//! Stored extent: an extent that somebody needs; its bytes are free when the last one is dropped.

use crate::extents::array_file::ArrayFile;
use crate::extents::blockwise_payload::BlockwisePayload;
use crate::extents::checked_blocks::CheckedBlocks;
use crate::extents::header::{ExtentHeader, ExtentPlace, HEADER_BYTES};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::mapping::Extent;
use evergraph_storage::planted::{Bug, planted};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of an array file that are not free. Given back when dropped.
#[derive(Debug)]
pub(crate) struct TakenSpace {
    pub(crate) file: Arc<ArrayFile>,
    pub(crate) range: Range<u64>,
    /// A write failed: nobody knows what lies there, so that nothing does until the next opening.
    pub(crate) is_lost: bool,
}

impl Drop for TakenSpace {
    fn drop(&mut self) {
        if !self.is_lost {
            self.file.space().give_back(self.range.clone());
        }
    }
}

/// An extent; shared by an `Arc` between those who need it.
///
/// # Concurrency
/// Any thread reads. Its bytes never change.
#[derive(Debug)]
pub struct StoredExtent {
    header: ExtentHeader,
    place: ExtentPlace,
    /// The number of the write that made it; 0 if it was found.
    write: u64,
    /// What of it was compared with its checksums.
    checked: CheckedBlocks,
    // In this order: the bytes are free when nobody reads them any more.
    bytes: Extent,
    space: TakenSpace,
}

impl StoredExtent {
    pub(crate) fn new(
        header: ExtentHeader,
        place: ExtentPlace,
        write: u64,
        bytes: Extent,
        space: TakenSpace,
    ) -> Self {
        // What this process wrote is as it was given.
        let checked = if write > 0 { CheckedBlocks::whole() } else { CheckedBlocks::default() };
        Self { header, place, write, checked, bytes, space }
    }

    /// What it holds.
    #[must_use]
    pub fn header(&self) -> ExtentHeader {
        self.header
    }

    /// Where it lies.
    #[must_use]
    pub fn place(&self) -> ExtentPlace {
        self.place
    }

    /// Whether a manifest may name it: it was there at opening, or was synced since.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.space.file.is_durable(self.write)
    }

    /// Whether it can never become durable: a sync of its file failed before.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        !self.is_durable() && self.space.file.has_failed()
    }

    /// All of its bytes, not compared with anything: header, payload, checksums, zeros to the unit.
    #[must_use]
    pub fn unverified(&self) -> &[u8] {
        &self.bytes
    }

    /// Its payload, in place, not compared with anything.
    #[must_use]
    pub fn unverified_payload(&self) -> &[u8] {
        self.place.payload_of(&self.bytes)
    }

    /// A copy of its payload, compared with its checksums even where it was before: after a failed sync the system may have
    /// brought back what was there earlier.
    ///
    /// # Errors
    /// As [`StoredExtent::payload`].
    pub fn copy_verified(&self) -> Result<Vec<u8>, CheckpointError> {
        let mut copy = self.bytes.to_vec();
        self.verify(&copy)?;
        copy.truncate(HEADER_BYTES + self.place.payload_bytes as usize);
        copy.drain(..HEADER_BYTES);
        Ok(copy)
    }

    /// The error of something that is wrong at a byte of it.
    #[must_use]
    pub fn corrupt(&self, offset: u64, problem: String) -> CheckpointError {
        let file = self.space.file.file().path().to_owned();
        CheckpointError::Corrupt { file, offset: self.place.offset + offset, problem }
    }

    fn verify(&self, bytes: &[u8]) -> Result<(), CheckpointError> {
        self.header.verify(self.place, bytes).map_err(|(offset, problem)| self.corrupt(offset, problem))
    }

    /// Its payload, in place. Cost: nothing but page faults, after the first call, which computes checksums.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], naming file and byte, if it is not what was written.
    pub fn payload(&self) -> Result<&[u8], CheckpointError> {
        // After a failed sync the system may bring back what was there earlier, at any time.
        let is_known = self.checked.is_whole() && !self.is_lost();
        if !is_known && !planted(Bug::ExtentUnverified) {
            self.verify(&self.bytes)?;
            self.checked.note_whole();
        }
        Ok(self.unverified_payload())
    }

    /// Its payload, in place, whose blocks are compared as they are touched. Cost: four bytes a block the first time.
    ///
    /// # Errors
    /// As [`StoredExtent::payload`], of the header and the checksums of the blocks.
    pub fn blockwise(&self) -> Result<BlockwisePayload<'_>, CheckpointError> {
        if planted(Bug::ExtentUnverified) {
            return Ok(BlockwisePayload::verified(self.unverified_payload()));
        }
        // As in `payload`: of a lost extent, each block is compared at each touch.
        let checked = (!self.is_lost()).then_some(&self.checked);
        let payload = BlockwisePayload::new((self.place, self.header), &self.bytes, checked);
        payload.map_err(|(offset, problem)| self.corrupt(offset, problem))
    }

    /// What of it was compared with its checksums.
    #[must_use]
    pub fn checked(&self) -> &CheckedBlocks {
        &self.checked
    }
}
