//! Shuffle: a random order of what is in a list.

use evergraph::generate::random::Random;

/// Puts `items` in a random order.
///
/// Source: Fisher and Yates, as in Durstenfeld, Algorithm 235: Random permutation (CACM 1964).
pub fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}
