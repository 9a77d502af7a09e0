//! Memory budgets: a named reservation before memory is taken; a refusal says how much was needed.

use crate::byte_size::ByteSize;
use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// Hands out memory by name and refuses with [`crate::error::ErrorKind::Limit`] what would pass its limit.
///
/// Implementations count with atomics; a reservation is held until it is dropped.
pub trait Budget: Send + Sync {
    /// Reserves `bytes` for `purpose` (say, "pagerank scores").
    ///
    /// # Errors
    /// `limit` if the reservation would pass the limit; the text names both, and the purpose. Its source is
    /// an [`OverBudget`].
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation>;
}

/// A reservation that was refused, with what it takes to allow it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverBudget {
    /// What the memory was for.
    pub purpose: String,
    /// How much was wanted, in bytes.
    pub wanted_bytes: u64,
    /// How much was in use, in bytes.
    pub used_bytes: u64,
    /// How much there is, in bytes.
    pub limit_bytes: u64,
}

impl OverBudget {
    /// The least limit, in bytes, that allows this reservation; a later one may need more.
    #[must_use]
    pub fn needed_bytes(&self) -> u64 {
        self.used_bytes.saturating_add(self.wanted_bytes)
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { purpose, wanted_bytes, used_bytes, limit_bytes } = self;
        let [wanted, used, limit] = [wanted_bytes, used_bytes, limit_bytes].map(|bytes| ByteSize(*bytes));
        write!(f, "{wanted} for {purpose} exceeds the memory budget of {limit}, of which {used} is in use")
    }
}

impl std::error::Error for OverBudget {}

impl From<OverBudget> for Error {
    fn from(over: OverBudget) -> Self {
        let text = format!("{over}: free some, or open the database with a larger budget");
        Self::new(ErrorKind::Limit, text).because(over)
    }
}

/// Reserved memory; returned when dropped.
#[must_use = "a reservation ends when it is dropped"]
pub struct Reservation {
    bytes: u64,
    release: Option<Box<dyn FnOnce(u64) + Send + Sync>>,
}

impl Reservation {
    /// A reservation of `bytes` that calls `release` when it ends.
    pub fn new(bytes: u64, release: impl FnOnce(u64) + Send + Sync + 'static) -> Self {
        Self { bytes, release: Some(Box::new(release)) }
    }

    /// How much is reserved.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(release) = self.release.take() {
            release(self.bytes);
        }
    }
}

/// A budget that never refuses: for tests and for static graphs that belong to their caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Budget for Unlimited {
    fn reserve(&self, _purpose: &str, bytes: u64) -> Result<Reservation> {
        Ok(Reservation { bytes, release: None })
    }
}
