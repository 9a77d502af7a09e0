//! Ribbon: a system of linear equations over bits, one for each key; its solution is a filter.
//!
//! ```text
//! key        start, a slot, and 64 coefficients: of the slots from there on
//! system     a row a slot: the equation whose first unknown the slot is, in echelon form; free without one
//! solution   a word of `columns` bits a slot: each equation's words, added up, are zero
//!            stored by blocks of 64 slots: one u64 a column, bit i for slot i
//! ```
//!
//! An equation that was added holds in every column; any other one holds in a column by chance, one of two. So a key that
//! was not added passes with probability 2^-columns, at a cost of columns x slots / keys bits a key. With ten slots for
//! nine keys and 64 coefficients nothing else adds to that; with 5 % more slots than keys twice as many pass.
//!
//! Homogeneous: all right sides are zero, so that a system always has solutions, equations that follow from others
//! included, and building never fails. Free slots take pseudo-random bits, else the solution would be zero.
//!
//! Source: Dillinger and Walzer, Ribbon filter: practically smaller than Bloom and Xor (2021): standard ribbon,
//! homogeneous right sides, interleaved columns.

/// Slots of a block, and coefficients of an equation.
pub const BLOCK_SLOTS: usize = 64;
/// The most columns.
pub const COLUMNS_MAX: usize = 16;
/// Bytes of a column of a block.
pub const WORD_BYTES: usize = 8;

/// What is asked of the slots for one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Equation {
    start: usize,
    /// Bit i belongs to slot `start + i`; bit 0 is set.
    coefficients: u64,
}

impl Equation {
    /// Of a hash and its mixture, which are independent of each other, in a system of `blocks` blocks, two at least.
    #[inline]
    #[must_use]
    pub const fn new(hash: u64, mixture: u64, blocks: usize) -> Self {
        // The last start's coefficients end before the last slot.
        let starts = ((blocks - 1) * BLOCK_SLOTS) as u64;
        Self { start: (((hash >> 32) * starts) >> 32) as usize, coefficients: mixture | 1 }
    }

    /// Whether `words`, a solution of so many columns, satisfies it. Cost: some 15 ns, and two lines of memory.
    ///
    /// # Panics
    /// If `words` has fewer blocks than the equation's system.
    #[inline]
    #[must_use]
    pub fn holds(self, words: &[u8], columns: usize) -> bool {
        let block_bytes = columns * WORD_BYTES;
        let blocks = &words[self.start / BLOCK_SLOTS * block_bytes..][..2 * block_bytes];
        let (first, second) = blocks.split_at(block_bytes);
        let coefficients = u128::from(self.coefficients) << (self.start % BLOCK_SLOTS);
        let (low, high) = (coefficients as u64, (coefficients >> BLOCK_SLOTS) as u64);
        let words = first.as_chunks().0.iter().zip(second.as_chunks().0);
        words.into_iter().all(|(first, second)| {
            let chosen = u64::from_le_bytes(*first) & low ^ u64::from_le_bytes(*second) & high;
            chosen.count_ones().is_multiple_of(2)
        })
    }
}

/// Equations on their way to a solution; its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct RibbonSystem {
    /// By slot: the coefficients of its row; zero without one.
    rows: Vec<u64>,
}

impl RibbonSystem {
    /// Forgets all equations; those that follow are of `blocks` blocks. Cost: a write a slot.
    pub fn begin(&mut self, blocks: usize) {
        self.rows.clear();
        self.rows.resize(blocks * BLOCK_SLOTS, 0);
    }

    /// Adds an equation. Cost: some 20 ns; more in a system with fewer than ten slots for nine keys.
    ///
    /// # Panics
    /// If it is of a larger system.
    #[inline]
    pub fn add(&mut self, equation: Equation) {
        let Equation { mut start, mut coefficients } = equation;
        loop {
            let row = &mut self.rows[start];
            if *row == 0 {
                *row = coefficients;
                return;
            }
            coefficients ^= *row;
            if coefficients == 0 {
                // It follows from others.
                return;
            }
            let skipped = coefficients.trailing_zeros();
            start += skipped as usize;
            coefficients >>= skipped;
        }
    }

    /// Writes a solution of so many columns, at most [`COLUMNS_MAX`], into the beginning of `words`. `random` gives the
    /// bits of a free slot. Cost: about a nanosecond a slot and column.
    ///
    /// # Panics
    /// If `words` is too short.
    pub fn solve(&self, columns: usize, random: impl Fn(u64) -> u64, words: &mut [u8]) {
        // By column: the bits of the 64 slots from the one in hand on.
        let mut window = [0_u64; COLUMNS_MAX];
        let window = &mut window[..columns];
        for (block, rows) in self.rows.chunks(BLOCK_SLOTS).enumerate().rev() {
            for (at, row) in rows.iter().enumerate().rev() {
                if *row == 0 {
                    let bits = random((block * BLOCK_SLOTS + at) as u64);
                    for (column, slots) in window.iter_mut().enumerate() {
                        *slots = *slots << 1 | bits >> column & 1;
                    }
                } else {
                    for slots in &mut *window {
                        let rest = *slots << 1;
                        *slots = rest | u64::from((rest & row).count_ones() & 1);
                    }
                }
            }
            let words = &mut words[block * columns * WORD_BYTES..][..columns * WORD_BYTES];
            for (word, slots) in words.as_chunks_mut().0.iter_mut().zip(&*window) {
                *word = slots.to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::random::{Random, SplitMix64};

    fn equations(seed: u64, count: usize, blocks: usize) -> Vec<Equation> {
        let mut random = SplitMix64::new(seed);
        (0..count).map(|_| Equation::new(random.next_u64(), random.next_u64(), blocks)).collect()
    }

    fn solved(equations: &[Equation], blocks: usize, columns: usize) -> Vec<u8> {
        let (mut system, mut words) = (RibbonSystem::default(), vec![0; blocks * columns * WORD_BYTES]);
        // What was there before leaves nothing.
        system.begin(blocks + 3);
        system.add(Equation::new(7, 7, blocks));
        system.begin(blocks);
        equations.iter().for_each(|equation| system.add(*equation));
        system.solve(columns, |slot| SplitMix64::new(slot).next_u64(), &mut words);
        words
    }

    #[test]
    fn every_equation_holds_however_many_there_are() {
        for (seed, count) in [0, 1, 2, 63, 64, 65, 100, 400, 2000].into_iter().enumerate() {
            for (blocks, columns) in [(2, 1), (3, 6), (8, 16), (40, 5)] {
                let equations = equations(seed as u64, count, blocks);
                let words = solved(&equations, blocks, columns);
                let failing = equations.iter().filter(|equation| !equation.holds(&words, columns)).count();
                assert_eq!(failing, 0, "{count} equations, {blocks} blocks, {columns} columns");
            }
        }
    }

    #[test]
    fn each_column_lets_half_of_the_others_through() {
        let blocks = 60;
        let added = equations(1, blocks * BLOCK_SLOTS * 9 / 10, blocks);
        let others = equations(2, 40_000, blocks);
        for columns in [1, 3, 6, 8] {
            let words = solved(&added, blocks, columns);
            let passing = others.iter().filter(|equation| equation.holds(&words, columns)).count();
            let rate = passing as f64 / others.len() as f64;
            let expected = 0.5_f64.powi(columns as i32);
            assert!((expected * 0.8..expected * 1.25).contains(&rate), "{columns} columns: {rate}");
        }
    }
}
