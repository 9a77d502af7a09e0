//! Memory budgets: a named reservation before the memory is taken, a refusal that says how much.

use crate::error::Result;

/// Hands out memory by name and refuses with [`crate::error::ErrorKind::Limit`] what would pass its limit.
///
/// Implementations count with atomics; a reservation is held until it is dropped.
pub trait Budget: Send + Sync {
    /// Reserves `bytes` for `purpose` (say, "pagerank scores").
    ///
    /// # Errors
    /// `limit` if the reservation would pass the limit; the text names both, and the purpose.
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation>;
}

/// Memory that somebody may use. Gives it back when dropped.
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
