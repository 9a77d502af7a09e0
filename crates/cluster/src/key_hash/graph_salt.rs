//! Graph salt: 128 random bits of a graph, with which all of its hashes are made, and the form of a hash.
//!
//! Whoever doesn't know the salt can't choose keys whose hashes are equal. It is chosen when the graph is created,
//! and the same on every node.

use evergraph_graph::split_mix::mix;
use std::fmt;

/// The salt of one graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct GraphSalt(pub [u8; 16]);

impl GraphSalt {
    /// As two numbers.
    #[must_use]
    pub const fn halves(self) -> (u64, u64) {
        let both = u128::from_le_bytes(self.0);
        (both as u64, (both >> 64) as u64)
    }

    /// The hash of a kind and two words. Part of the protocol: no result may ever change.
    #[must_use]
    #[inline]
    pub const fn hash(self, kind: u8, first: u64, second: u64) -> KeyHash {
        let (low, high) = self.halves();
        // Each step is a bijection: what differs in one word alone never collides.
        KeyHash(mix(mix(mix(low ^ kind as u64) ^ first) ^ high ^ second))
    }
}

impl fmt::Debug for GraphSalt {
    // Not the salt: whoever reads a log of messages could choose keys that collide.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GraphSalt")
    }
}

/// The hash of a subject: equal for equal ones, and else for one pair in 2^64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyHash(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_format_version_1() {
        let salt = GraphSalt(*b"evergraph-salt-1");
        // Computed by an independent program.
        assert_eq!(salt.hash(1, 2, 3), KeyHash(0x5db7_8c44_2434_c69f));
        assert_eq!(salt.hash(1, 3, 2), KeyHash(0xc72f_e14b_1575_5618));
        assert_eq!(salt.hash(2, 2, 3), KeyHash(0xda6b_144a_1fd0_144d));
        assert_ne!(GraphSalt([0; 16]).hash(1, 2, 3), salt.hash(1, 2, 3));
    }
}
