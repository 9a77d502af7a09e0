//! Log position: where a message lies in the shared log, and the timestamps of its records.
//!
//! ```text
//! timestamp   position of the message << 12 | place of the record in it
//! ```
//!
//! So timestamps grow with the log, with gaps. A snapshot of everything up to a message is at the timestamp of
//! its last possible place.

use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::record::Stamp;
use std::fmt;

/// Bits of a timestamp that are the place in a message.
const PLACE_BITS: u32 = 12;

/// Records that a message may have.
pub const MESSAGE_RECORDS_MAX: usize = 1 << PLACE_BITS;

/// The position of a message in the shared log. It grows from message to message; the log may leave gaps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LogPosition(pub u64);

impl LogPosition {
    /// Before the first message.
    pub const START: Self = Self(0);

    /// The highest position, so that timestamps fit into the stamps of stored records.
    pub const MAX: Self = Self::of(Stamp::TIMESTAMP_MAX);

    /// The timestamp of the record in `place`, below [`MESSAGE_RECORDS_MAX`], of the message here.
    #[must_use]
    pub const fn timestamp(self, place: usize) -> Timestamp {
        debug_assert!(place < MESSAGE_RECORDS_MAX && self.0 <= Self::MAX.0);
        Timestamp(self.0 << PLACE_BITS | place as u64)
    }

    /// The snapshot that sees this message and all before it.
    #[must_use]
    pub const fn end(self) -> Timestamp {
        self.timestamp(MESSAGE_RECORDS_MAX - 1)
    }

    /// The lowest position behind this one.
    ///
    /// # Panics
    /// Behind [`LogPosition::MAX`], in builds with checks.
    #[must_use]
    pub const fn next(self) -> Self {
        debug_assert!(self.0 <= Self::MAX.0);
        Self(self.0 + 1)
    }

    /// The position of the message whose records have timestamps such as this one.
    #[must_use]
    pub const fn of(timestamp: Timestamp) -> Self {
        Self(timestamp.0 >> PLACE_BITS)
    }
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_the_message_and_the_place_in_it() {
        let position = LogPosition(7);
        assert_eq!(position.timestamp(3), Timestamp(7 * 4096 + 3));
        assert_eq!(LogPosition::of(position.timestamp(3)), position);
        assert!(position.timestamp(4095).visible_at(position.end()));
        assert!(!LogPosition(8).timestamp(0).visible_at(position.end()));
        assert_eq!(LogPosition::MAX.end(), Stamp::TIMESTAMP_MAX);
    }
}
