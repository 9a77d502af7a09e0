//! Log-in cache: log-ins that were verified a while ago, so that a driver that logs in for each transaction waits once.
//!
//! An entry is a keyed hash (BLAKE2s) of user, password hash and password. The key is random and never leaves the process,
//! so entries tell nothing about passwords. A user whose password changed has another password hash, hence no entry.

use blake2::Blake2sMac256;
use blake2::digest::{KeyInit as _, Mac as _};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::planted::{Bug, planted};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Log-ins that are remembered; the oldest makes room for the newest.
const ENTRIES_MAX: usize = 4096;
/// How long a log-in is remembered.
const LIFETIME: Duration = Duration::from_secs(600);

/// Log-ins that were verified.
pub struct LoginCache {
    keyed: Blake2sMac256,
    verified: HashMap<[u8; 32], Instant>,
}

impl LoginCache {
    /// An empty cache with a key of its own.
    ///
    /// # Errors
    /// `io` if the system gives no random bytes.
    pub fn new() -> Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            Error::new(ErrorKind::Io, format!("ask the system for random bytes: {error}"))
        })?;
        Ok(Self { keyed: Blake2sMac256::new(&key.into()), verified: HashMap::new() })
    }

    /// Whether this log-in was verified before.
    #[must_use]
    pub fn contains(&self, user: &str, password_hash: &str, password: &[u8]) -> bool {
        let verified = self.verified.get(&self.tag(user, password_hash, password));
        verified.is_some_and(|at| at.elapsed() < LIFETIME)
    }

    /// Remembers a log-in that was verified.
    pub fn insert(&mut self, user: &str, password_hash: &str, password: &[u8]) {
        if self.verified.len() >= ENTRIES_MAX {
            self.verified.retain(|_, at| at.elapsed() < LIFETIME);
        }
        if self.verified.len() >= ENTRIES_MAX
            && let Some(oldest) = self.verified.iter().min_by_key(|(_, at)| **at).map(|(tag, _)| *tag)
        {
            self.verified.remove(&oldest);
        }
        let tag = self.tag(user, password_hash, password);
        self.verified.insert(tag, Instant::now());
    }

    fn tag(&self, user: &str, password_hash: &str, password: &[u8]) -> [u8; 32] {
        let password = if planted(Bug::CachedLoginsAnyPassword) { &[][..] } else { password };
        let mut mac = self.keyed.clone();
        for part in [user.as_bytes(), password_hash.as_bytes(), password] {
            // With its length, so that no part can begin in the one before.
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_is_known_by_user_password_and_password_hash() {
        let mut cache = LoginCache::new().unwrap();
        cache.insert("ann", "hash", b"secret");
        assert!(cache.contains("ann", "hash", b"secret"));
        for (user, hash, password) in [
            ("bob", "hash", "secret"),
            ("ann", "other", "secret"),
            ("ann", "hash", "Secret"),
            ("annh", "ash", "secret"),
        ] {
            assert!(!cache.contains(user, hash, password.as_bytes()), "{user} {hash} {password}");
        }
        assert!(!LoginCache::new().unwrap().contains("ann", "hash", b"secret"));
    }

    #[test]
    fn a_thousand_log_ins_a_second_are_found_and_their_number_is_bounded() {
        let mut cache = LoginCache::new().unwrap();
        cache.insert("first", "hash", b"secret");
        for at in 0..ENTRIES_MAX {
            cache.insert("ann", "hash", &at.to_le_bytes());
        }
        assert_eq!(cache.verified.len(), ENTRIES_MAX);
        assert!(!cache.contains("first", "hash", b"secret"), "the oldest made room");
        let took = |_| {
            let began = Instant::now();
            for at in 0..1000_usize {
                assert!(cache.contains("ann", "hash", &at.to_le_bytes()));
            }
            began.elapsed()
        };
        // The machine may do something else in one of them.
        let mut times = (0..20).map(took);
        assert!(times.any(|time| time < Duration::from_secs(1)));
    }
}
