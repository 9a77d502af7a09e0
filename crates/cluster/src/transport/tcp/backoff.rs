//! Backoff: how long a dialler waits after a failure.
//!
//! Twice as long each time, with chance, so that the nodes of a cluster that starts again do not dial one of them in
//! step.

use crate::seeded::SeededChance;
use std::time::Duration;

/// The longest pause that there is.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Pauses between dials.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
    chance: SeededChance,
}

impl Backoff {
    pub(super) fn new(first: Duration, max: Duration, seed: u64) -> Self {
        let max = max.min(PAUSE_MAX);
        let first = first.min(max);
        Self { first, max, next: first, chance: SeededChance::new(seed) }
    }

    /// The next pause: between half and all of what it may be.
    pub(super) fn pause(&mut self) -> Duration {
        let half = self.next / 2;
        self.next = (self.next * 2).min(self.max);
        half + self.chance.up_to(half)
    }

    /// Begins with the first pause again.
    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_differ_by_seed() {
        let ms = Duration::from_millis;
        let pauses = |seed| {
            let mut backoff = Backoff::new(ms(50), ms(2000), seed);
            let pauses: Vec<_> = (0..9).map(|_| backoff.pause()).collect();
            for (pause, most) in pauses.iter().zip([50, 100, 200, 400, 800, 1600, 2000, 2000, 2000]) {
                assert!((ms(most) / 2..=ms(most)).contains(pause), "{pause:?} of {most} ms");
            }
            backoff.reset();
            assert!(backoff.pause() <= ms(50));
            pauses
        };
        assert_eq!(pauses(1), pauses(1));
        assert_ne!(pauses(1), pauses(2));
        let mut none = Backoff::new(Duration::MAX, Duration::ZERO, 1);
        assert_eq!((none.pause(), none.pause()), (Duration::ZERO, Duration::ZERO));
    }
}
