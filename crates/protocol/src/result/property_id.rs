//! Property id: an id for each property of a vertex, which drivers compare properties by.
//!
//! ```text
//! 17-3-cbf29ce484222325-0     vertex, key, digest of the value, position among equal values
//! ```
//!
//! Properties have no ids in the graph. The same property has the same id wherever it occurs in results, and two
//! properties have different ids, but for values of one vertex and key whose digests of 64 bits are equal by chance.
//! An edge's id has four parts, too, whose third one has at most ten digits.

use std::fmt::Write;
use std::hash::{Hash, Hasher};

use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::value::Value;

/// Replaces `id` by the id of a property.
pub(crate) fn write_property_id(id: &mut String, vertex: VertexId, key: KeyId, value: &Value, nth: u32) {
    let mut digest = Fnv1a::default();
    value.hash(&mut digest);
    id.clear();
    write!(id, "{}-{}-{:016x}-{nth}", vertex.0, key.0, digest.finish())
        .expect("a string takes all that is written to it");
}

/// FNV-1a of 64 bits: without a seed, so that an id is the same in every process.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv1a {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn id(vertex: u32, key: u16, value: impl Into<Value>, nth: u32) -> String {
        let mut id = "anything".to_owned();
        write_property_id(&mut id, VertexId(vertex), KeyId(key), &value.into(), nth);
        id
    }

    #[test]
    fn different_properties_have_different_ids() {
        let ids = [
            id(1, 1, "a", 0),
            id(2, 1, "a", 0),
            id(1, 2, "a", 0),
            id(1, 1, "b", 0),
            id(1, 1, "a", 1),
            id(1, 1, 1_i32, 0),
            id(1, 1, 1_i64, 0),
            id(1, 1, 1.0, 0),
        ];
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:?}");
        assert_eq!(id(1, 1, "a", 0), ids[0]);
        assert!(ids[0].starts_with("1-1-") && ids[0].len() == 22, "{}", ids[0]);
    }
}
