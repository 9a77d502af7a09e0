//! Checks: all that must not have changed since a transaction's snapshot, as hashes.
//!
//! At both levels of isolation these are the keys of what it writes, as the front lists them
//! (`transaction/write_checks.rs` of storage), and the values that it enters into unique indexes. A serialisable
//! transaction adds the keys of what it read.

use crate::key_hash::conflict_table::checked;
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::sort_key::RangeCheck;
use crate::key_hash::subject::{Subject, ValueHash};
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Key;

/// What a transaction checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checks {
    salt: GraphSalt,
    hashes: Vec<KeyHash>,
    ranges: Vec<RangeCheck>,
}

impl Checks {
    /// None yet, of a transaction on the graph of `salt`.
    #[must_use]
    pub fn new(salt: GraphSalt) -> Self {
        Self { salt, hashes: Vec::new(), ranges: Vec::new() }
    }

    /// Adds a key of the front: one that is written, or one that was read.
    pub fn add_key(&mut self, key: &Key) {
        let salt = self.salt;
        checked(key, |subject| self.hashes.push(subject.hash(salt)));
    }

    /// Adds a subject that no key of the front stands for: names, groups, types, indexes.
    pub fn add_subject(&mut self, subject: Subject) {
        self.hashes.push(subject.hash(self.salt));
    }

    /// Adds a value of an index: looked up, or entered where it must be unique. It is filed as the index files it.
    pub fn add_value(&mut self, index: IndexId, value: &Value) {
        self.add_subject(Subject::Entered(index, ValueHash::of_value(self.salt, value)));
    }

    /// Adds a range of an ordered index.
    pub fn add_range(&mut self, index: IndexId, range: &ValueRange) {
        let index = Subject::Entries(index).hash(self.salt);
        self.ranges.push(RangeCheck::around(index, range));
    }

    /// The hashes and the ranges, ascending, each once.
    #[must_use]
    pub fn finish(mut self) -> (Vec<KeyHash>, Vec<RangeCheck>) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.ranges.sort_unstable();
        self.ranges.dedup();
        (self.hashes, self.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::IndexKind;
    use evergraph_graph::owner::Owner;

    #[test]
    fn what_is_checked_twice_is_listed_once() {
        let salt = GraphSalt([7; 16]);
        let index = IndexId { owner: Owner::Label(LabelId(1)), key: KeyId(2), kind: IndexKind::Ordered };
        let mut checks = Checks::new(salt);
        for _ in 0..2 {
            checks.add_key(&Key::VertexProperty(VertexId(5), KeyId(2)));
            checks.add_key(&Key::Vertex(VertexId(5)));
            checks.add_value(index, &Value::I64(1));
            checks.add_range(index, &ValueRange::ALL);
            checks.add_subject(Subject::Names);
        }
        let (hashes, ranges) = checks.finish();
        assert_eq!((hashes.len(), ranges.len()), (4, 1));
        assert!(hashes.is_sorted());
    }
}
