//! Freezing: the lists of a snapshot, resolved once for algorithms.
//!
//! ```text
//! mapped_lists   the lists of one segment, in their file or copied
//! frozen         segments as the freezer of all engines reads them
//! ```

pub mod frozen;
pub mod mapped_lists;
