//! Seeds: which ones a simulation plays, and how to play one again.
//!
//! `EVERGRAPH_CLUSTER_SEED` sets the first (1), `EVERGRAPH_CLUSTER_SEEDS` how many. `make cluster-simulations` sets both.

use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// As many show what is rare.
const MANY: u64 = 200;

/// Numbers that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    first: u64,
    count: u64,
}

/// What one thread has played.
struct Played<T> {
    sum: T,
    /// A seed that shows something, and what.
    wrong: Option<(u64, String)>,
}

/// The number that a variable of the environment has, if there is one.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .map_or(default, |text| text.parse().unwrap_or_else(|error| panic!("{variable}={text}: {error}")))
}

impl Seeds {
    /// Those that the environment names. If it does not say how many: so many.
    pub fn of_environment(count: u64) -> Self {
        Self { first: number("EVERGRAPH_CLUSTER_SEED", 1), count: number("EVERGRAPH_CLUSTER_SEEDS", count) }
    }

    /// Whether they are enough to demand that everything has happened in one of them.
    pub fn are_many(self) -> bool {
        self.count >= MANY
    }

    /// Plays each of them once, on all cores: the sum of what comes of it.
    ///
    /// # Panics
    /// If something is wrong in one of them: with the first that shows it.
    pub fn play<T>(self, play: impl Fn(u64) -> Result<T, String> + Sync) -> T
    where
        T: Default + AddAssign + Send,
    {
        let (next, has_failed) = (AtomicU64::new(self.first), AtomicBool::new(false));
        let work = || self.work(&next, &has_failed, &play);
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let played: Vec<Played<T>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("what panics is caught")).collect()
        });
        let (mut sum, mut wrong) = (T::default(), None);
        for played in played {
            sum += played.sum;
            wrong = wrong.into_iter().chain(played.wrong).min();
        }
        match wrong {
            None => sum,
            Some((seed, wrong)) => panic!("seed {seed}: {wrong}\nto play it again: {}", again(seed)),
        }
    }

    /// Plays what nobody else does. Lower seeds than one that shows something are played to their ends.
    fn work<T: Default + AddAssign>(
        self,
        next: &AtomicU64,
        has_failed: &AtomicBool,
        play: &impl Fn(u64) -> Result<T, String>,
    ) -> Played<T> {
        let mut played = Played { sum: T::default(), wrong: None };
        // Both are counters and flags alone: what is played is told when the thread is joined.
        while !has_failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed - self.first >= self.count {
                break;
            }
            let panicked = |_| Err("it panics, as is said above".to_owned());
            match catch_unwind(AssertUnwindSafe(|| play(seed))).unwrap_or_else(panicked) {
                Ok(of_seed) => played.sum += of_seed,
                Err(wrong) => {
                    played.wrong = Some((seed, wrong));
                    has_failed.store(true, Ordering::Relaxed);
                }
            }
        }
        played
    }
}

/// The command that plays a seed in the test that runs.
fn again(seed: u64) -> String {
    let test = thread::current().name().unwrap_or_default().to_owned();
    let program = env!("CARGO_CRATE_NAME");
    format!(
        "EVERGRAPH_CLUSTER_SEED={seed} EVERGRAPH_CLUSTER_SEEDS=1 cargo test -p evergraph-cluster --test {program} \
         -- --nocapture --exact {test}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of seeds that are played so.
    fn said(play: impl Fn(u64) -> Result<u64, String> + Sync) -> String {
        let seeds = Seeds { first: 3, count: 90 };
        let said = catch_unwind(AssertUnwindSafe(|| seeds.play(play))).expect_err("one of them fails");
        *said.downcast::<String>().expect("it is said in words")
    }

    #[test]
    fn the_first_seed_that_fails_is_named_with_the_command_that_plays_it_again() {
        assert_eq!(Seeds { first: 3, count: 90 }.play(Ok), (3..93).sum::<u64>());
        let fails = |seed: u64| if seed < 17 { Ok(seed) } else { Err(format!("{seed} is wrong")) };
        let text = said(fails);
        let test = "the_first_seed_that_fails_is_named_with_the_command_that_plays_it_again";
        let [first, again] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(first, "seed 17: 17 is wrong");
        assert!(again.contains("EVERGRAPH_CLUSTER_SEED=17 EVERGRAPH_CLUSTER_SEEDS=1 cargo test"), "{again}");
        assert!(again.ends_with(test), "{again}");
        let panics = |seed: u64| if seed < 17 { Ok(seed) } else { panic!("as it should") };
        assert!(said(panics).starts_with("seed 17: it panics"));
    }
}
