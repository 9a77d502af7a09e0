//! Seeded: chance and events of a simulation, from a seed.
//!
//! The same seed and the same calls in the same order give the same numbers and the same events. The log and the network in
//! memory are made of these.

use evergraph_storage::io::random::{Random, SplitMix64};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often something happens: once in so many times; never, if zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OneIn(pub u32);

/// Chance from a seed.
#[derive(Clone, Debug)]
pub struct SeededChance {
    random: SplitMix64,
}

impl SeededChance {
    /// Replays the chance of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// Whether it happens this time.
    pub fn happens(&mut self, often: OneIn) -> bool {
        often.0 > 0 && self.random.next_u64().is_multiple_of(u64::from(often.0))
    }

    /// A number below `end`.
    ///
    /// # Panics
    /// If `end` is zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    /// A time of at most `most`, which is below 584 years.
    pub fn up_to(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_nanos()).expect("delays are short");
        Duration::from_nanos(if most == 0 { 0 } else { self.below(most + 1) })
    }
}

/// What happens later, by time; at one time in the order in which it was planned.
#[derive(Debug)]
pub struct EventQueue<T> {
    events: BTreeMap<(Duration, u64), T>,
    planned: u64,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { events: BTreeMap::new(), planned: 0 }
    }
}

impl<T> EventQueue<T> {
    /// Plans `event` for the time `at`.
    pub fn plan(&mut self, at: Duration, event: T) {
        self.planned += 1;
        self.events.insert((at, self.planned), event);
    }

    /// When something happens next.
    #[must_use]
    pub fn next_at(&self) -> Option<Duration> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes the first event whose time has come at `now`, and its time.
    pub fn take_due(&mut self, now: Duration) -> Option<(Duration, T)> {
        let next = self.events.first_entry().filter(|next| next.key().0 <= now)?;
        let ((at, _), event) = next.remove_entry();
        Some((at, event))
    }
}

/// Counts how often something wakes it.
#[cfg(test)]
#[derive(Default)]
pub struct CountingBell(evergraph_storage::sync::Mutex<u32>);

#[cfg(test)]
impl CountingBell {
    /// How often it was rung since this was asked last.
    pub fn rung(&self) -> u32 {
        std::mem::take(&mut *self.0.lock())
    }
}

#[cfg(test)]
impl std::task::Wake for CountingBell {
    fn wake(self: std::sync::Arc<Self>) {
        *self.0.lock() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_at_one_time_as_they_were_planned() {
        let ms = Duration::from_millis;
        let mut events = EventQueue::default();
        for (at, event) in [(5, 'a'), (3, 'b'), (5, 'c'), (9, 'd')] {
            events.plan(ms(at), event);
        }
        assert_eq!(events.next_at(), Some(ms(3)));
        assert_eq!(events.take_due(ms(2)), None);
        let due: Vec<_> = std::iter::from_fn(|| events.take_due(ms(5))).collect();
        assert_eq!(due, [(ms(3), 'b'), (ms(5), 'a'), (ms(5), 'c')]);
        assert_eq!(events.next_at(), Some(ms(9)));
    }

    #[test]
    fn chance_is_that_of_its_seed() {
        let numbers = |seed| {
            let mut chance = SeededChance::new(seed);
            (0..20).map(|_| chance.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7), numbers(7));
        assert_ne!(numbers(7), numbers(8));
        let mut chance = SeededChance::new(1);
        assert!((0..99).all(|_| chance.happens(OneIn(1)) && !chance.happens(OneIn(0))));
        let times: Vec<_> = (0..99).map(|_| chance.up_to(Duration::from_nanos(3))).collect();
        assert!((0..=3).all(|nanos| times.contains(&Duration::from_nanos(nanos))));
        assert_eq!(chance.up_to(Duration::ZERO), Duration::ZERO);
    }
}
