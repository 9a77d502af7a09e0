//! Extent bytes: an extent that is read, of the process that writes the files or of another.

use crate::extents::header::ExtentPlace;
use crate::extents::reader::ReadExtent;
use crate::extents::stored_extent::StoredExtent;
use evergraph_storage::checkpoint::error::CheckpointError;
use std::path::PathBuf;
use std::sync::Arc;

/// An extent, and where it lies.
#[derive(Debug)]
pub enum ExtentBytes {
    /// In the process that writes: its bytes are free when this is dropped.
    Own(StoredExtent),
    /// In another: an open slot keeps it.
    Foreign {
        /// The extent, which was verified.
        extent: Arc<ReadExtent>,
        /// Where it lies.
        place: ExtentPlace,
        /// In which file.
        path: PathBuf,
    },
}

impl ExtentBytes {
    /// Its payload, in place.
    ///
    /// # Errors
    /// As [`StoredExtent::payload`].
    pub fn payload(&self) -> Result<&[u8], CheckpointError> {
        match self {
            Self::Own(extent) => extent.payload(),
            Self::Foreign { extent, .. } => Ok(extent.payload()),
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn place(&self) -> ExtentPlace {
        match self {
            Self::Own(extent) => extent.place(),
            Self::Foreign { place, .. } => *place,
        }
    }

    /// The extent, in the process that writes.
    #[must_use]
    pub fn own(&self) -> Option<&StoredExtent> {
        match self {
            Self::Own(extent) => Some(extent),
            Self::Foreign { .. } => None,
        }
    }

    /// The error of a payload that is not what it should be.
    #[must_use]
    pub fn corrupt(&self, problem: String) -> CheckpointError {
        match self {
            Self::Own(extent) => extent.corrupt(0, problem),
            Self::Foreign { place, path, .. } => {
                CheckpointError::Corrupt { file: path.clone(), offset: place.offset, problem }
            }
        }
    }
}
