//! Reference: the number of a streamed transfer, unique in the database.
//!
//! ```text
//! 63     40 39                    0
//! [ lane  ][ sequence in the lane  ]
//! ```
//!
//! A lane is the stream of one writer, which books its transfers one after the other: what is booked
//! of a lane is always the beginning of its stream.

use std::fmt;

const SEQUENCE_BITS: u32 = 40;

/// Which transfer of which lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reference {
    /// The writer.
    pub lane: u32,
    /// The place in its stream, from 0.
    pub sequence: u64,
}

impl Reference {
    /// Lanes are numbers below this.
    pub const LANES: u64 = 1 << (63 - SEQUENCE_BITS);

    /// As it is stored.
    #[must_use]
    pub fn to_i64(self) -> i64 {
        debug_assert!(u64::from(self.lane) < Self::LANES && self.sequence >> SEQUENCE_BITS == 0);
        i64::from(self.lane) << SEQUENCE_BITS | self.sequence as i64
    }

    /// What was stored; `None` for a number that no writer gives out.
    #[must_use]
    pub fn from_i64(stored: i64) -> Option<Self> {
        let lane = u32::try_from(stored >> SEQUENCE_BITS).ok()?;
        Some(Self { lane, sequence: (stored & ((1 << SEQUENCE_BITS) - 1)) as u64 })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transfer {} of writer {}", self.sequence, self.lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_reads_back_and_a_negative_number_is_none() {
        for reference in [
            Reference { lane: 0, sequence: 0 },
            Reference { lane: 7, sequence: (1 << 40) - 1 },
            Reference { lane: (1 << 23) - 1, sequence: 5 },
        ] {
            assert_eq!(Reference::from_i64(reference.to_i64()), Some(reference));
        }
        assert_eq!(Reference { lane: 2, sequence: 3 }.to_i64(), 2 << 40 | 3);
        assert_eq!(Reference::from_i64(-1), None);
    }
}
