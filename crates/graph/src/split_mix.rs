//! SplitMix: the mix of SplitMix64, which spreads a number over 64 bits.
//!
//! ```text
//! SplitMix64   state += GAMMA at each step, and a step returns finish(state)
//! mix(n)       the first number that the generator with the seed n returns: finish(n + GAMMA)
//! ```
//!
//! Both functions are bijections: equal numbers alone have equal results. Neither is a cipher.
//!
//! Files depend on them: the filters of the disk engine keep hashes, and generated graphs follow from a seed.
//! So no result may ever change.
//!
//! Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators (OOPSLA 2014). The constants are
//! those of Stafford's variant 13, as in Vigna's reference implementation, `splitmix64.c`.

/// The golden ratio x 2^64, odd: what a step of SplitMix64 adds to its state.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Spreads a number over 64 bits: each bit of the result depends on every bit of `number`. Zero is not a fixed
/// point.
#[must_use]
#[inline]
pub const fn mix(number: u64) -> u64 {
    finish(number.wrapping_add(GAMMA))
}

/// The finalizer alone: as [`mix`], but zero stays zero.
#[must_use]
#[inline]
pub const fn finish(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the generator with a seed.
    fn numbers<const COUNT: usize>(seed: u64) -> [u64; COUNT] {
        let mut state = seed;
        std::array::from_fn(|_| {
            let number = mix(state);
            state = state.wrapping_add(GAMMA);
            number
        })
    }

    #[test]
    fn the_results_are_those_of_the_published_generator() {
        // From the reference implementation of Vigna (splitmix64.c), seeds 0 and 1234567.
        assert_eq!(numbers(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers(1_234_567), expected);
    }

    #[test]
    fn the_finalizer_alone_keeps_zero() {
        assert_eq!((finish(0), finish(GAMMA)), (0, mix(0)));
    }
}
