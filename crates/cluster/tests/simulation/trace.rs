//! Trace: a number that everything is folded into that happens in a simulation. Two with the same trace did the same.

use evergraph_graph::split_mix::GAMMA;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::ops::AddAssign;

/// Of one simulation; or the sum of those of several, whatever their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Trace(u64);

impl Trace {
    /// This is next.
    pub fn add(&mut self, next: &(impl Hash + ?Sized)) {
        next.hash(self);
    }

    /// The same, of what has no hash: as it is written.
    pub fn note(&mut self, next: fmt::Arguments<'_>) {
        self.write_fmt(next).expect("a trace has room");
    }
}

impl Hasher for Trace {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(GAMMA).wrapping_add(1);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

impl fmt::Write for Trace {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

impl AddAssign for Trace {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.wrapping_add(other.0);
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A seed does the same again, and another one something else.
///
/// # Panics
/// If not.
pub fn assert_repeats(trace: impl Fn(u64) -> Trace) {
    let play = || -> Vec<Trace> { (1..=5).map(&trace).collect() };
    let first = play();
    assert_eq!(first, play(), "the same seeds do something else");
    let different: BTreeSet<Trace> = first.iter().copied().collect();
    assert_eq!(different.len(), first.len(), "two seeds do the same");
}
