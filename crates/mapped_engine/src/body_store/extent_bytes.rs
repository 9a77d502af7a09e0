//! Extent bytes: an extent that is read, of the process that writes the files or of another.

use crate::extents::blockwise_payload::{BlockwisePayload, PayloadDamage};
use crate::extents::checked_blocks::CheckedBlocks;
use crate::extents::header::ExtentPlace;
use crate::extents::reader::ForeignExtent;
use crate::extents::stored_extent::StoredExtent;
use evergraph_storage::checkpoint::error::CheckpointError;

/// An extent, and where it lies.
#[derive(Debug)]
pub enum ExtentBytes {
    /// In the process that writes: its bytes are free when this is dropped.
    Own(StoredExtent),
    /// In another: an open slot keeps it.
    Foreign(ForeignExtent),
}

impl ExtentBytes {
    /// Its payload, in place.
    ///
    /// # Errors
    /// As [`StoredExtent::payload`].
    pub fn payload(&self) -> Result<&[u8], CheckpointError> {
        match self {
            Self::Own(extent) => extent.payload(),
            Self::Foreign(extent) => extent.payload(),
        }
    }

    /// Its payload, in place, whose blocks are compared as they are touched.
    ///
    /// # Errors
    /// As [`StoredExtent::blockwise`].
    pub fn blockwise(&self) -> Result<BlockwisePayload<'_>, CheckpointError> {
        match self {
            Self::Own(extent) => extent.blockwise(),
            Self::Foreign(extent) => extent.blockwise(),
        }
    }

    /// What of it was compared with its checksums.
    #[must_use]
    pub fn checked(&self) -> &CheckedBlocks {
        match self {
            Self::Own(extent) => extent.checked(),
            Self::Foreign(extent) => extent.checked(),
        }
    }

    /// Its payload, in place, not compared with anything.
    #[must_use]
    pub fn unverified_payload(&self) -> &[u8] {
        match self {
            Self::Own(extent) => extent.unverified_payload(),
            Self::Foreign(extent) => extent.unverified_payload(),
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn place(&self) -> ExtentPlace {
        match self {
            Self::Own(extent) => extent.place(),
            Self::Foreign(extent) => extent.place(),
        }
    }

    /// The extent, in the process that writes.
    #[must_use]
    pub fn own(&self) -> Option<&StoredExtent> {
        match self {
            Self::Own(extent) => Some(extent),
            Self::Foreign(_) => None,
        }
    }

    /// The error of a payload that is not what it should be.
    #[must_use]
    pub fn corrupt(&self, problem: String) -> CheckpointError {
        self.corrupt_at(0, problem)
    }

    /// The error of bytes of its payload that cannot be read: of a block, where it lies.
    #[must_use]
    pub fn unreadable(&self, damage: PayloadDamage) -> CheckpointError {
        match damage {
            PayloadDamage::Form(problem) => self.corrupt(problem),
            PayloadDamage::Checksum { offset, problem } => self.corrupt_at(offset, problem),
        }
    }

    fn corrupt_at(&self, offset: u64, problem: String) -> CheckpointError {
        match self {
            Self::Own(extent) => extent.corrupt(offset, problem),
            Self::Foreign(extent) => extent.corrupt(offset, problem),
        }
    }
}
