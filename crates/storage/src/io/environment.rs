//! Environment: randomness, time and threads, as the system or a simulation provides them.
//!
//! ```text
//!              chance              time           merges, checkpoints when due, the log's files and syncs
//! system       the system's        the system's   threads of their own; helpers while a store opens
//! stepped      the system's        the caller's   nothing, until the caller steps it: for many stores that share threads
//! simulated    from one seed       the caller's   nothing, until the caller steps it (`OpenStore::step`)
//! ```
//!
//! What waits for time to pass is what is stepped; deadlines ask the clock. So a simulated store on a
//! simulated directory does the same things in the same order, every time.

use crate::io::clock::{Clock, ManualClock, SystemClock};
use crate::io::random::{Random, SplitMix64};
use crate::sync::Mutex;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::sync::Arc;

/// Who does what nobody waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Background {
    /// Threads, started when a store opens and ended when it closes.
    #[default]
    Threads,
    /// Whoever opened the store, piece by piece; no thread is started.
    Stepped,
}

impl Background {
    /// How many threads share work that `threads` would share, the caller's own included.
    #[must_use]
    pub fn threads(self, threads: usize) -> usize {
        match self {
            Self::Threads => threads,
            Self::Stepped => 1,
        }
    }
}

/// What a store is opened in. The default is the system's.
#[derive(Clone, Debug)]
pub struct Environment {
    background: Background,
    clock: Arc<dyn Clock>,
    /// Seeds of everything random; the system's if there is none. Shared by clones.
    seeds: Option<Arc<Mutex<SplitMix64>>>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { background: Background::Threads, clock: Arc::new(SystemClock::new()), seeds: None }
    }
}

impl Environment {
    /// Chance from `seed`, a clock that stands still, and no threads: the same calls do the same again.
    #[must_use]
    pub fn simulated(seed: u64) -> Self {
        Self::simulated_with(seed, Arc::new(ManualClock::new(0)))
    }

    /// The same, with a clock that the caller moves on.
    #[must_use]
    pub fn simulated_with(seed: u64, clock: Arc<ManualClock>) -> Self {
        let seeds = Some(Arc::new(Mutex::new(SplitMix64::new(seed))));
        Self { background: Background::Stepped, clock, seeds }
    }

    /// The system's chance, the time of `clock`, and no threads: whoever opens many stores steps them all by a few of its own.
    #[must_use]
    pub fn stepped(clock: Arc<dyn Clock>) -> Self {
        Self { background: Background::Stepped, clock, seeds: None }
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// Who does background work.
    #[must_use]
    pub fn background(&self) -> Background {
        self.background
    }

    /// What tells how long something takes.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// A new generator, whose numbers are its own.
    ///
    /// # Errors
    /// What the system says when it has no randomness to give.
    pub fn random(&self) -> std::io::Result<Box<dyn Random>> {
        Ok(Box::new(match &self.seeds {
            None => SplitMix64::from_system()?,
            Some(seeds) => SplitMix64::new(seeds.lock().next_u64()),
        }))
    }

    /// As [`Environment::random`].
    ///
    /// # Errors
    /// `io` if the system has no randomness to give.
    pub(crate) fn random_or_error(&self) -> Result<Box<dyn Random>> {
        self.random().map_err(|source| {
            Error::new(ErrorKind::Io, format!("ask the system for random bytes: {source}")).because(source)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_generators_in_the_same_order_and_no_two_alike() {
        let numbers = |environment: Environment| {
            [(); 3].map(|()| environment.random().expect("a seed needs no system").next_u64())
        };
        let first = numbers(Environment::simulated(7));
        assert_eq!(first, numbers(Environment::simulated(7)));
        assert_ne!(first, numbers(Environment::simulated(8)));
        assert!(first[0] != first[1] && first[1] != first[2]);
        let environment = Environment::simulated(7);
        drop(environment.clone().random());
        assert_eq!(environment.random().expect("seeded").next_u64(), first[1], "clones share the seeds");
    }

    #[test]
    fn a_stepped_environment_has_the_systems_chance_and_no_threads() {
        let environment = Environment::stepped(Arc::new(ManualClock::new(0)));
        let random = || environment.random().expect("the system has randomness").next_u64();
        assert_ne!(random(), random());
        assert_eq!(environment.background().threads(2), 1);
    }

    #[test]
    fn the_default_is_the_systems_chance_and_threads() {
        let environment = Environment::default();
        let random = || environment.random().expect("the system has randomness").next_u64();
        assert_ne!(random(), random());
        assert_eq!(environment.background().threads(2), 2);
        let simulated = Environment::simulated(1);
        assert_eq!(simulated.background().threads(2), 1);
        assert_eq!(simulated.clock().now(), simulated.clock().now(), "it stands still");
    }
}
