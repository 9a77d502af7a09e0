//! Placement keys: by which property the vertices of a label are divided among partitions, and whether all of them are.
//!
//! ```text
//! nothing known ──> first unique index ──> placed by its key ──> a vertex gets a value of another partition ──> scattered
//!       └────────── first vertex, or a group of it that was adopted ────────────────────────────────────────────────┘
//! ```
//!
//! The value of the key says the partition, by its hash with the graph's salt, so that whoever looks a value up asks one
//! partition. A coordinator takes ids there; an author that does not, or a value that is changed later, costs the label that
//! advantage, and nothing else: from then on all partitions are asked.
//!
//! What is learned is never taken back, so that it holds for each snapshot up to the newest record. A label that is placed by a
//! key had no vertex before it got the key, and since then no vertex of it had a value of another partition, not even for a
//! while. It holds without the index, too: dropped, and created again, the index changes nothing; nor does a second unique
//! index. Vertices without a value may be anywhere: nobody finds them by one.
//!
//! Equality is that of indexes: the `int` 1 and the `long` 1 are two values, in two partitions perhaps; 1.0 and 1.00 are one.
//!
//! Cost: each value of a placement key is hashed on every node, once; a label takes some bytes.

use crate::key_hash::graph_salt::GraphSalt;
use crate::key_hash::subject::ValueHash;
use crate::planted::{Bug, planted};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{KeyId, LabelId, PartitionId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::shared_map::SharedMap;
use evergraph_graph::value::Value;

/// The fewest bytes of a label in a checkpoint.
const LABEL_BYTES_MIN: usize = 2;

/// The partitions of a graph, by values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValuePartitions {
    /// The salt of the graph.
    pub salt: GraphSalt,
    /// How many it has.
    pub count: PartitionCount,
}

impl ValuePartitions {
    /// The partition of the vertices that have `value` under the key that they are placed by. Part of the protocol: no result
    /// may ever change.
    ///
    /// Cost: a pass over the value.
    #[must_use]
    pub fn of(self, value: &Value) -> PartitionId {
        let ValueHash(hash) = ValueHash::of_value(self.salt, value);
        PartitionId((hash % u64::from(self.count.get())) as u16)
    }
}

/// How the vertices of a label are divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LabelPlacement {
    /// Each that has a value under the key is in the value's partition.
    ByKey(KeyId),
    /// No value says where a vertex is.
    Scattered,
}

/// The placement keys of a graph. Clones share their memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlacementKeys {
    /// Labels with a unique index or a vertex, ever.
    labels: SharedMap<LabelId, LabelPlacement>,
}

impl PlacementKeys {
    /// The key by whose values all vertices of a label are placed, at this and at every earlier moment, if there is one.
    #[must_use]
    pub fn key(&self, label: LabelId) -> Option<KeyId> {
        match self.labels.get(&label)? {
            LabelPlacement::ByKey(key) => Some(*key),
            LabelPlacement::Scattered => None,
        }
    }

    /// An index is built, or ready.
    pub fn learn_index(&mut self, index: IndexDefinition) {
        let Owner::Label(label) = index.id.owner else { return };
        let is_known = self.labels.contains_key(&label) && !planted(Bug::PlacementKeyReplaced);
        if index.unique && !is_known {
            self.labels.insert(label, LabelPlacement::ByKey(index.id.key));
        }
    }

    /// Vertices of `label` may be anywhere: it had some before anybody learned where.
    pub fn scatter(&mut self, label: LabelId) {
        self.labels.insert(label, LabelPlacement::Scattered);
    }

    /// A vertex of `label` in `partition` was inserted with `properties`, or got them.
    pub fn learn_vertex(
        &mut self,
        label: LabelId,
        partition: PartitionId,
        properties: &Properties,
        values: ValuePartitions,
    ) {
        let is_scattered = match self.labels.get(&label) {
            None => !planted(Bug::EarlierVerticesForgotten),
            Some(LabelPlacement::Scattered) => return,
            Some(LabelPlacement::ByKey(key)) => {
                let value = properties.get(*key).flatten();
                value.is_some_and(|value| values.of(value) != partition)
            }
        };
        if is_scattered {
            self.labels.insert(label, LabelPlacement::Scattered);
        }
    }

    /// Appends the form in a checkpoint: count:varint, then label and its key + 1 as varints each, or 0 if it is scattered;
    /// ascending.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.labels.len() as u64);
        for (label, placement) in self.labels.iter() {
            put_varint(out, u64::from(label.0));
            put_varint(
                out,
                match placement {
                    LabelPlacement::ByKey(key) => u64::from(key.0) + 1,
                    LabelPlacement::Scattered => 0,
                },
            );
        }
    }

    /// Reads what [`PlacementKeys::encode`] wrote, of a graph with `catalogue`.
    ///
    /// # Errors
    /// If there is something else, or a label or a key that the graph does not have.
    pub fn decode(reader: &mut Reader<'_>, catalogue: &Catalogue) -> Decoded<Self> {
        let mut keys = Self::default();
        let mut last = None;
        for _ in 0..reader.count(LABEL_BYTES_MIN)? {
            let start = reader.clone();
            let label = LabelId(reader.at_most(u64::from(u16::MAX))? as u16);
            if last.is_some_and(|last| last >= label) {
                return Err(start.error("labels in ascending order expected"));
            }
            last = Some(label);
            let placement = match reader.at_most(u64::from(u16::MAX) + 1)?.checked_sub(1) {
                Some(key) => LabelPlacement::ByKey(KeyId(key as u16)),
                None => LabelPlacement::Scattered,
            };
            let has_key = match placement {
                LabelPlacement::ByKey(key) => catalogue.has_key(key),
                LabelPlacement::Scattered => true,
            };
            if !catalogue.has_label(label) || !has_key {
                return Err(start.error("a label and a property key of the graph expected"));
            }
            keys.labels.insert(label, placement);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use evergraph_graph::id::TypeId;
    use evergraph_graph::index::{IndexId, IndexKind};
    use evergraph_graph::schema_change::SchemaChange;
    use evergraph_graph::value::number::Decimal;
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    const PERSON: LabelId = LabelId(1);
    const NAME: KeyId = KeyId(3);
    const OTHER: KeyId = KeyId(4);

    fn values(count: u16) -> ValuePartitions {
        let count = PartitionCount::new(count).expect("so many are possible");
        ValuePartitions { salt: GraphSalt(*b"evergraph-salt-1"), count }
    }

    fn index(key: KeyId, kind: IndexKind, unique: bool) -> IndexDefinition {
        IndexDefinition { id: IndexId { owner: Owner::Label(PERSON), key, kind }, unique }
    }

    fn by_name() -> PlacementKeys {
        let mut keys = PlacementKeys::default();
        keys.learn_index(index(NAME, IndexKind::Hash, true));
        keys
    }

    /// The first numbers that belong to each of two partitions.
    fn of_each() -> [Value; 2] {
        [0, 1].map(|partition| {
            let mut numbers = (0..).map(Value::I64);
            numbers.find(|value| values(2).of(value).0 == partition).expect("there are many")
        })
    }

    fn set(key: KeyId, value: &Value) -> Properties {
        Properties::new(vec![(key, Some(value.clone()))])
    }

    #[test]
    fn the_partition_of_a_value_is_that_of_format_version_1() {
        let values = values(64);
        let texts = ["", "a", "Ålesund"].map(|text| Value::String(text.into()));
        let found = texts.each_ref().map(|value| values.of(value).0);
        // Computed by an independent program: nodes of different versions must agree on them.
        assert_eq!(found, [18, 32, 4]);
        assert_eq!(values.of(&Value::I64(-5)), PartitionId(13));
    }

    #[test]
    fn a_label_is_placed_by_the_key_of_its_first_unique_index() {
        let mut keys = PlacementKeys::default();
        keys.learn_index(index(OTHER, IndexKind::Ordered, false));
        let of_edges = IndexId { owner: Owner::EdgeType(TypeId(1)), key: OTHER, kind: IndexKind::Hash };
        keys.learn_index(IndexDefinition { id: of_edges, unique: true });
        assert_eq!(keys, PlacementKeys::default(), "neither unique nor of a label");
        keys.learn_index(index(NAME, IndexKind::Ordered, true));
        assert_eq!(keys.key(PERSON), Some(NAME));
        keys.learn_index(index(NAME, IndexKind::Hash, true));
        keys.learn_index(index(OTHER, IndexKind::Hash, true));
        assert_eq!(keys.key(PERSON), Some(NAME), "the first one counts");
        assert_eq!(keys.key(LabelId(0)), None);
    }

    #[test]
    fn a_value_of_another_partition_scatters_the_label_for_ever() {
        let [here, elsewhere] = of_each();
        let mut keys = by_name();
        let mut learn = |properties| {
            keys.learn_vertex(PERSON, PartitionId(0), &properties, values(2));
            keys.key(PERSON)
        };
        assert_eq!(learn(set(NAME, &here)), Some(NAME));
        assert_eq!(learn(Properties::EMPTY), Some(NAME), "without a value");
        assert_eq!(learn(Properties::new(vec![(NAME, None)])), Some(NAME), "the value is removed");
        assert_eq!(learn(set(OTHER, &elsewhere)), Some(NAME), "another property");
        assert_eq!(learn(set(NAME, &elsewhere)), None);
        assert_eq!(learn(set(NAME, &here)), None, "it is where it belongs again");
        keys.learn_index(index(NAME, IndexKind::Hash, true));
        assert_eq!(keys.key(PERSON), None, "never taken back");
    }

    #[test]
    fn a_label_that_had_vertices_before_its_first_unique_index_is_not_placed() {
        let mut keys = PlacementKeys::default();
        keys.learn_vertex(PERSON, PartitionId(0), &Properties::EMPTY, values(2));
        keys.learn_index(index(NAME, IndexKind::Hash, true));
        assert_eq!(keys.key(PERSON), None, "nobody knows the values of earlier vertices");
    }

    #[test]
    fn planted_bugs_are_found() {
        let earlier = a_label_that_had_vertices_before_its_first_unique_index_is_not_placed;
        let first = a_label_is_placed_by_the_key_of_its_first_unique_index;
        assert_found(Bug::EarlierVerticesForgotten, earlier, "values of earlier vertices");
        assert_found(Bug::PlacementKeyReplaced, first, "the first one counts");
    }

    #[test]
    fn equal_values_have_one_partition() {
        let values = values(4096);
        let decimal = |text: &str| Value::Decimal(text.parse::<Decimal>().expect("a number"));
        let equal = [
            (decimal("1"), decimal("1.00")),
            (Value::F64(0.0), Value::F64(-0.0)),
            (Value::F64(f64::NAN), Value::F64(-f64::NAN)),
        ];
        for (one, other) in equal {
            assert_eq!((&one, values.of(&one)), (&other, values.of(&other)));
        }
        assert_ne!(values.of(&Value::I32(1)), values.of(&Value::I64(1)), "different values, as in an index");
    }

    fn catalogue() -> Catalogue {
        let mut catalogue = Catalogue::default();
        for id in 0..3 {
            catalogue.apply(&SchemaChange::AddLabel { id: LabelId(id), name: format!("l{id}").into() });
        }
        catalogue.apply(&SchemaChange::AddKey { id: NAME, name: "name".into() });
        catalogue
    }

    #[test]
    fn keys_read_back_and_what_encode_does_not_write_is_refused() {
        let (mut keys, catalogue) = (by_name(), catalogue());
        keys.learn_vertex(LabelId(2), PartitionId(0), &Properties::EMPTY, values(2));
        let mut bytes = Vec::new();
        keys.encode(&mut bytes);
        assert_eq!(bytes, [2, 1, 4, 2, 0]);
        let decode = |bytes: &[u8]| PlacementKeys::decode(&mut Reader::new(bytes), &catalogue);
        assert_eq!(decode(&bytes), Ok(keys));
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err());
        }
        let unknown = "a label and a property key of the graph expected";
        for (bytes, problem) in [
            ([2, 2, 0, 1, 4], "labels in ascending order expected"),
            ([2, 1, 4, 1, 4], "labels in ascending order expected"),
            ([2, 1, 4, 3, 0], unknown),
            ([2, 1, 3, 2, 0], unknown),
        ] {
            assert_eq!(decode(&bytes).unwrap_err().expected, problem);
        }
    }

    proptest! {
        #[test]
        fn values_have_the_partition_of_what_they_equal(one in any_value(), other in any_value()) {
            let values = values(7);
            prop_assert!(values.of(&one).0 < 7);
            prop_assert_eq!(values.of(&one), values.of(&one.clone()));
            prop_assert!(one != other || values.of(&one) == values.of(&other));
        }
    }
}
