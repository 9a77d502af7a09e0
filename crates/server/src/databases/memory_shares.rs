//! Memory shares: what each open database may take, below a limit for all.
//!
//! ```text
//! limit for all  |== social ==|== bank ==|........ free ........|
//! ```
//!
//! A share is fixed while its database is open, so that what one of them does never takes memory from another one. A
//! database whose share does not fit is not opened. Without a limit for all there is one all the same, half of the
//! machine's memory: what clients ask for must not take the machine down, whichever engine the database has.

use crate::databases::options::CatalogueOptions;
use evergraph::{EngineKind, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Databases that have room by default.
const DATABASES_COUNT: u64 = 8;
/// The least that a share is by default: what the disk engine needs.
const SHARE_MIN_BYTES: u64 = 64 << 20;

/// Memory for all databases, and what is left of it.
pub struct MemoryShares {
    limit_bytes: u64,
    share_bytes: u64,
    taken_bytes: Mutex<u64>,
}

/// The memory of one open database, until it is dropped.
pub struct MemoryShare {
    bytes: u64,
    shares: Arc<MemoryShares>,
}

/// Whether there will ever be more than one database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Company {
    /// There is one, and there will be no other one.
    Alone,
    /// So many at the start, and perhaps others later.
    Several(u64),
}

impl MemoryShares {
    /// Shares as `options` say.
    ///
    /// # Errors
    /// Those of asking for the memory of the machine.
    pub fn new(options: &CatalogueOptions, company: Company) -> Result<Self> {
        let asked_bytes = options.open.memory_limit_bytes;
        let (limit_bytes, share_bytes) = match company {
            // More than the default may be asked for it, since no other one is there.
            Company::Alone => match asked_bytes {
                u64::MAX => (u64::MAX, default_limit_bytes(options)?),
                asked_bytes => (asked_bytes, asked_bytes),
            },
            Company::Several(count) => {
                let limit_bytes = match asked_bytes {
                    u64::MAX => default_limit_bytes(options)?,
                    asked_bytes => asked_bytes,
                };
                (limit_bytes, (limit_bytes / count.max(DATABASES_COUNT)).max(SHARE_MIN_BYTES))
            }
        };
        let share_bytes = options.database_memory_limit_bytes.unwrap_or(share_bytes);
        Ok(Self { limit_bytes, share_bytes, taken_bytes: Mutex::default() })
    }

    /// Takes the share of the database `name`: so many bytes as were asked for, or as many as each gets.
    ///
    /// # Errors
    /// `limit` if it does not fit beside the others.
    pub fn take(self: &Arc<Self>, name: &str, asked_bytes: Option<u64>) -> Result<MemoryShare> {
        let bytes = asked_bytes.unwrap_or(self.share_bytes);
        let mut taken_bytes = self.taken_bytes();
        let left_bytes = self.limit_bytes.saturating_sub(*taken_bytes);
        if bytes > left_bytes && !planted(Bug::SharesBeyondLimit) {
            let lower = match asked_bytes {
                Some(_) => "its own limit, which its file server.json keeps",
                None => "--database-memory-limit",
            };
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "the database {name:?} would take {} of memory, and {} are left of the limit for all databases, {}: \
                     close another one, lower {lower}, or raise --memory-limit",
                    size(bytes),
                    size(left_bytes),
                    size(self.limit_bytes)
                ),
            ));
        }
        *taken_bytes = taken_bytes.saturating_add(bytes);
        Ok(MemoryShare { bytes, shares: Arc::clone(self) })
    }

    fn taken_bytes(&self) -> MutexGuard<'_, u64> {
        self.taken_bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryShare {
    /// Its size; [`u64::MAX`] if a program that serves its own database opened it without a limit.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        let mut taken_bytes = self.shares.taken_bytes();
        *taken_bytes = taken_bytes.saturating_sub(self.bytes);
    }
}

/// Half of the machine's memory, which a database of the disk engine has by itself.
fn default_limit_bytes(options: &CatalogueOptions) -> Result<u64> {
    let disk =
        Options { engine: Some(EngineKind::Disk), memory_limit_bytes: u64::MAX, ..options.open.clone() };
    disk.memory_limit_of_new()
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(limit_bytes: u64, each_bytes: Option<u64>, company: Company) -> Arc<MemoryShares> {
        let open = Options { memory_limit_bytes: limit_bytes, ..Options::default() };
        let options =
            CatalogueOptions { open, database_memory_limit_bytes: each_bytes, ..CatalogueOptions::default() };
        Arc::new(MemoryShares::new(&options, company).unwrap())
    }

    #[test]
    fn a_share_that_does_not_fit_is_refused_by_both_options_and_fits_when_another_is_given_back() {
        let shares = shares(300 << 20, Some(100 << 20), Company::Several(1));
        let taken: Vec<MemoryShare> =
            ["a", "b", "c"].into_iter().map(|name| shares.take(name, None).unwrap()).collect();
        let error = shares.take("d", None).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        for part in ["\"d\"", "100.0 MiB", "300.0 MiB", "--memory-limit", "--database-memory-limit"] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        drop(taken);
        assert_eq!(shares.take("d", None).unwrap().bytes(), 100 << 20);
        let error = shares.take("e", Some(301 << 20)).err().unwrap().to_string();
        assert!(error.contains("server.json") && !error.contains("--database-memory-limit"), "{error}");
        assert!(shares.take("e", Some(300 << 20)).is_ok());
    }

    #[test]
    fn one_alone_takes_all_and_of_several_each_takes_an_eighth_or_less() {
        let half = default_limit_bytes(&CatalogueOptions::default()).unwrap();
        assert!((64 << 20..u64::MAX / 2).contains(&half), "{half}");
        assert_eq!(shares(u64::MAX, None, Company::Alone).take("a", None).unwrap().bytes(), half);
        let own = shares(u64::MAX, None, Company::Alone).take("a", Some(2 * half)).unwrap().bytes();
        assert_eq!(own, 2 * half, "its own settings may ask for more");
        let each = shares(u64::MAX, Some(2 * half), Company::Alone).take("a", None).unwrap().bytes();
        assert_eq!(each, 2 * half);
        assert_eq!(shares(1 << 30, None, Company::Alone).take("a", None).unwrap().bytes(), 1 << 30);
        assert!(shares(1 << 20, Some(2 << 20), Company::Alone).take("a", None).is_err());
        let of = |count| shares(8 << 30, None, Company::Several(count)).take("a", None).unwrap().bytes();
        assert_eq!((of(0), of(8), of(16), of(1000)), (1 << 30, 1 << 30, 512 << 20, 64 << 20));
        let default = shares(u64::MAX, None, Company::Several(1)).take("a", None).unwrap().bytes();
        assert!((64 << 20..u64::MAX / 8).contains(&default), "{default}");
    }
}
