//! Room: how many bytes the result of one function may still take, checked before it is built.

use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// How many bytes one more result may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// What is left.
    pub bytes: u64,
    /// What there is in all.
    pub limit_bytes: u64,
}

impl Room {
    /// As much as an allocation can have.
    pub const UNLIMITED: Self = Self { bytes: u64::MAX, limit_bytes: u64::MAX };

    /// Goes on if a result of `bytes` fits.
    ///
    /// # Errors
    /// `limit` if it doesn't.
    pub fn check(self, bytes: usize) -> Result<()> {
        // No allocation is larger, whatever anybody allows.
        if bytes as u64 <= self.bytes && bytes <= isize::MAX as usize {
            return Ok(());
        }
        Err(over(self.limit_bytes))
    }
}

/// A query would hold more than `limit_bytes`.
#[must_use]
pub fn over(limit_bytes: u64) -> Error {
    let limit = ByteSize(limit_bytes);
    let text = format!(
        "the query would hold more than its {limit} of memory: narrow it, use dedup() or limit(), or raise the limit"
    );
    Error::new(ErrorKind::Limit, text)
}
