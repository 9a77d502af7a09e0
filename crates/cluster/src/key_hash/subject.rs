//! Subject: a part of a graph that one hash stands for.
//!
//! A mutation *touches* subjects, a transaction *checks* them: it commits only if none of those that it checks was
//! touched since its snapshot. One subject may stand for many keys, so that a check of a whole list is one hash.
//!
//! ```text
//! KIND   SUBJECT                  FIRST WORD                       SECOND WORD
//!  1-3   vertex, members, group   vertex or group
//!  4-5   property, record         vertex | key << 32
//!  6-9   edge and its parts       source | target << 32            type | discriminator << 16 | key << 32
//! 10-12  lists of a vertex        vertex                           type | side or key << 16
//! 13     between                  source | target << 32            type
//! 14     adjacency                vertex
//! 15-17  side, types, groups      group or label                   type | side << 16
//! 18-19  entries of an index      owner | key << 24 | kind << 40   hash of the value
//! 20-    names and schema         hash of the name, or owner       key
//! ```
//!
//! Kinds and words are part of the protocol: nodes of one cluster must agree on them.

use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::owner::Owner;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::hash::SipHash128;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;

/// What is compared of a graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Subject {
    /// Whether a vertex is there.
    Vertex(VertexId),
    /// Which vertices of a group are there.
    Members(GroupId),
    /// Properties of any vertex of a group.
    Group(GroupId),
    /// One property of a vertex, while it is there.
    Property(VertexId, KeyId),
    /// Any property of a vertex, while it is there.
    Record(VertexId),
    /// Whether an edge is there.
    Edge(EdgeId),
    /// Any property of an edge, while it is there.
    EdgeRecord(EdgeId),
    /// All properties of an edge at once, while it is there.
    EdgeReplaced(EdgeId),
    /// One property of an edge, while it is there.
    EdgeProperty(EdgeId, KeyId),
    /// Which edges of a type a vertex has on a plain side.
    List(VertexId, TypeId, Direction),
    /// All properties at once of any out-edge of a vertex, of a type.
    ListReplaced(VertexId, TypeId),
    /// One property of any out-edge of a vertex, of a type.
    ListProperty(VertexId, TypeId, KeyId),
    /// Which edges of a type go from one vertex to another.
    Between(VertexId, TypeId, VertexId),
    /// Which edges of any type a vertex has, on both sides.
    Adjacency(VertexId),
    /// The lists of all vertices of a group, of a type on a plain side; on the out side also their properties.
    Side(GroupId, TypeId, Direction),
    /// Which edge types the vertices of a group have on a plain side.
    Types(GroupId, Direction),
    /// Which groups a label has.
    Groups(LabelId),
    /// A value's hash in an index: whether an item gained the value.
    Entered(IndexId, ValueHash),
    /// Whether an item gained any value in an index.
    Entries(IndexId),
    /// A name of a label, an edge type or a key.
    Name(ValueHash),
    /// Which names there are.
    Names,
    /// Which indexes an owner has.
    Indexes(Owner),
    /// The type of a property.
    Definition(Owner, KeyId),
    /// The key of the meta-properties of a key.
    MetaKey(KeyId),
    /// The property that edges of a type are read newest first by.
    Order(TypeId),
}

/// The salted hash of a value or a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueHash(pub u64);

impl ValueHash {
    /// Of a value: equal values have equal hashes. Numbers of different types are different values, as in an index.
    #[must_use]
    pub fn of_value(salt: GraphSalt, value: &Value) -> Self {
        Self::of_bytes(salt, ValueBytes::of(value).as_slice())
    }

    /// Of a name, as labels, edge types and keys have them.
    #[must_use]
    pub fn of_name(salt: GraphSalt, kind: NameKind, name: &str) -> Self {
        Self::of_bytes(salt, &[&[kind as u8][..], name.as_bytes()].concat())
    }

    fn of_bytes(salt: GraphSalt, bytes: &[u8]) -> Self {
        let mut hash = SipHash128::keyed(salt.halves());
        hash.update(bytes);
        let [a, b, c, d, e, f, g, h, ..] = hash.finish();
        Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// What a name names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NameKind {
    /// A label.
    Label = 0,
    /// An edge type.
    EdgeType = 1,
    /// A property key.
    Key = 2,
}

impl Subject {
    /// The hash that stands for it in the graph of `salt`.
    #[must_use]
    pub fn hash(self, salt: GraphSalt) -> KeyHash {
        let (kind, first, second) = self.words();
        salt.hash(kind, first, second)
    }

    fn words(self) -> (u8, u64, u64) {
        match self {
            Self::Vertex(vertex) => (1, u64::from(vertex.0), 0),
            Self::Members(group) => (2, u64::from(group.0), 0),
            Self::Group(group) => (3, u64::from(group.0), 0),
            Self::Property(vertex, key) => (4, u64::from(vertex.0) | u64::from(key.0) << 32, 0),
            Self::Record(vertex) => (5, u64::from(vertex.0), 0),
            Self::Edge(edge) => of_edge(6, &edge, 0),
            Self::EdgeRecord(edge) => of_edge(7, &edge, 0),
            Self::EdgeReplaced(edge) => of_edge(8, &edge, 0),
            Self::EdgeProperty(edge, key) => of_edge(9, &edge, u64::from(key.0)),
            Self::List(vertex, edge_type, side) => {
                (10, u64::from(vertex.0), u64::from(edge_type.0) | side_number(side) << 16)
            }
            Self::ListReplaced(vertex, edge_type) => (11, u64::from(vertex.0), u64::from(edge_type.0)),
            Self::ListProperty(vertex, edge_type, key) => {
                (12, u64::from(vertex.0), u64::from(edge_type.0) | u64::from(key.0) << 16)
            }
            Self::Between(source, edge_type, target) => {
                (13, u64::from(source.0) | u64::from(target.0) << 32, u64::from(edge_type.0))
            }
            Self::Adjacency(vertex) => (14, u64::from(vertex.0), 0),
            Self::Side(group, edge_type, side) => {
                (15, u64::from(group.0), u64::from(edge_type.0) | side_number(side) << 16)
            }
            Self::Types(group, side) => (16, u64::from(group.0), side_number(side) << 16),
            Self::Groups(label) => (17, u64::from(label.0), 0),
            Self::Entered(index, value) => (18, of_index(index), value.0),
            Self::Entries(index) => (19, of_index(index), 0),
            Self::Name(name) => (20, name.0, 0),
            Self::Names => (21, 0, 0),
            Self::Indexes(owner) => (22, of_owner(owner), 0),
            Self::Definition(owner, key) => (23, of_owner(owner), u64::from(key.0)),
            Self::MetaKey(key) => (24, 0, u64::from(key.0)),
            Self::Order(edge_type) => (25, u64::from(edge_type.0), 0),
        }
    }
}

fn of_edge(kind: u8, edge: &EdgeId, key: u64) -> (u8, u64, u64) {
    let ends = u64::from(edge.source.0) | u64::from(edge.target.0) << 32;
    (kind, ends, u64::from(edge.edge_type.0) | u64::from(edge.discriminator) << 16 | key << 32)
}

fn of_owner(owner: Owner) -> u64 {
    match owner {
        Owner::Label(label) => u64::from(label.0),
        Owner::EdgeType(edge_type) => 1 << 16 | u64::from(edge_type.0),
    }
}

fn of_index(index: IndexId) -> u64 {
    of_owner(index.owner) | u64::from(index.key.0) << 24 | u64::from(index.kind.code()) << 40
}

fn side_number(side: Direction) -> u64 {
    match side {
        Direction::Out => 0,
        Direction::In => 1,
        Direction::Both => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::index::IndexKind;
    use std::collections::BTreeSet;

    const SALT: GraphSalt = GraphSalt([7; 16]);

    #[test]
    fn different_subjects_have_different_hashes() {
        let mut subjects = Vec::new();
        for a in 0..3_u32 {
            let (vertex, group, key) = (VertexId(a), GroupId(a), KeyId(a as u16));
            let (label, edge_type) = (LabelId(a as u16), TypeId(a as u16));
            let owners = [Owner::Label(label), Owner::EdgeType(edge_type)];
            let sides = [Direction::Out, Direction::In];
            subjects.extend([Subject::Vertex(vertex), Subject::Members(group), Subject::Group(group)]);
            subjects.extend([Subject::Record(vertex), Subject::Adjacency(vertex), Subject::Groups(label)]);
            subjects.extend([Subject::Name(ValueHash(u64::from(a))), Subject::MetaKey(key)]);
            subjects.push(Subject::Order(edge_type));
            subjects.extend(sides.map(|side| Subject::Types(group, side)));
            subjects.extend(owners.map(Subject::Indexes));
            for b in 0..3_u16 {
                let (other, of) = (VertexId(u32::from(b)), TypeId(b));
                subjects.extend([Subject::Property(vertex, KeyId(b)), Subject::ListReplaced(vertex, of)]);
                subjects.extend(sides.map(|side| Subject::List(vertex, of, side)));
                subjects.extend(sides.map(|side| Subject::Side(group, of, side)));
                subjects.extend(owners.map(|owner| Subject::Definition(owner, KeyId(b))));
                for owner in owners {
                    for kind in IndexKind::ALL {
                        let index = IndexId { owner, key: KeyId(b), kind };
                        subjects.extend([Subject::Entries(index), Subject::Entered(index, ValueHash(5))]);
                    }
                }
                for c in 0..3_u16 {
                    subjects.push(Subject::Between(vertex, TypeId(c), other));
                    subjects.push(Subject::ListProperty(vertex, of, KeyId(c)));
                    let edge =
                        EdgeId { source: vertex, edge_type: TypeId(c), target: other, discriminator: 0 };
                    for edge in [edge, EdgeId { discriminator: 1, ..edge }] {
                        subjects.extend([Subject::Edge(edge), Subject::EdgeRecord(edge)]);
                        subjects.extend([Subject::EdgeReplaced(edge), Subject::EdgeProperty(edge, key)]);
                    }
                }
            }
        }
        subjects.push(Subject::Names);
        let subjects: BTreeSet<Subject> = subjects.into_iter().collect();
        let words: BTreeSet<_> = subjects.iter().map(|subject| subject.words()).collect();
        let hashes: BTreeSet<KeyHash> = subjects.iter().map(|subject| subject.hash(SALT)).collect();
        assert_eq!((words.len(), hashes.len()), (subjects.len(), subjects.len()));
    }

    #[test]
    fn subjects_have_the_hashes_of_format_version_1() {
        let salt = GraphSalt(*b"evergraph-salt-1");
        let (vertex, group, key, edge_type) = (VertexId(5), GroupId(6), KeyId(7), TypeId(2));
        let edge = EdgeId { source: vertex, edge_type, target: VertexId(9), discriminator: 3 };
        let (of_label, of_type) = (Owner::Label(LabelId(4)), Owner::EdgeType(edge_type));
        let index = IndexId { owner: of_type, key, kind: IndexKind::Ordered };
        // Computed by an independent program: nodes of different versions must agree on them.
        let expected = [
            (Subject::Vertex(vertex), 0x6c82_fce8_9b29_1182),
            (Subject::Members(group), 0x16c4_91ad_5bd5_6900),
            (Subject::Group(group), 0xfd6b_6875_811b_4263),
            (Subject::Property(vertex, key), 0x4131_044f_40c9_c686),
            (Subject::Record(vertex), 0x30c3_5e0c_1d9c_0d08),
            (Subject::Edge(edge), 0x96b9_2c03_d41c_f9cd),
            (Subject::EdgeRecord(edge), 0x4620_4870_8791_c1c4),
            (Subject::EdgeReplaced(edge), 0x5f70_740b_276d_729c),
            (Subject::EdgeProperty(edge, key), 0x78a5_376a_b3af_e76e),
            (Subject::List(vertex, edge_type, Direction::In), 0xee16_8066_a72b_2dde),
            (Subject::ListReplaced(vertex, edge_type), 0x5839_4b27_71e8_6b0e),
            (Subject::ListProperty(vertex, edge_type, key), 0x9cde_8ad5_4f9f_d357),
            (Subject::Between(vertex, edge_type, VertexId(9)), 0x3c2a_8347_dc5f_7b39),
            (Subject::Adjacency(vertex), 0x4833_b526_f029_279a),
            (Subject::Side(group, edge_type, Direction::In), 0x5161_7908_530e_f112),
            (Subject::Types(group, Direction::In), 0xc253_b410_4703_8e12),
            (Subject::Groups(LabelId(4)), 0x92e9_d5d8_dae8_7622),
            (Subject::Entered(index, ValueHash(8)), 0xaeca_a4db_e486_d00c),
            (Subject::Entries(index), 0x8e05_0dea_6811_6b04),
            (Subject::Name(ValueHash::of_name(salt, NameKind::Key, "age")), 0x76b2_283b_34ab_2acf),
            (Subject::Names, 0x548c_14d7_d57f_7ff4),
            (Subject::Indexes(of_type), 0x03bf_c4c7_c141_7b32),
            (Subject::Definition(of_label, key), 0x70e2_d39b_6bad_c852),
            (Subject::MetaKey(key), 0x5c6f_3f48_cca8_cf5a),
            (Subject::Order(edge_type), 0xbf9b_4229_82ff_8e8e),
        ];
        for (subject, hash) in expected {
            assert_eq!(subject.hash(salt), KeyHash(hash), "{subject:?}");
        }
    }

    #[test]
    fn values_have_the_hashes_of_format_version_1() {
        let long = "x".repeat(100);
        // Computed by an independent program, from the order bytes.
        let expected = [
            (Value::Bool(true), 0x3688_0b36_7581_448b),
            (Value::I64(0), 0xe6f3_c165_19a8_a4ff),
            (Value::from("Ada"), 0xc020_9d20_551f_c32c),
            (Value::from(long), 0x37ca_da3f_6aca_4a1d),
        ];
        for (value, hash) in expected {
            assert_eq!(ValueHash::of_value(SALT, &value), ValueHash(hash), "{value:?}");
        }
    }

    #[test]
    fn equal_values_have_equal_hashes_and_long_ones_that_begin_alike_do_not() {
        let hash = |value: Value| ValueHash::of_value(SALT, &value);
        assert_eq!(hash(Value::F64(-0.0)), hash(Value::F64(0.0)));
        let long = "x".repeat(100);
        assert_ne!(hash(Value::from(long.clone() + "a")), hash(Value::from(long + "b")));
        assert_ne!(
            ValueHash::of_name(SALT, NameKind::Label, "a"),
            ValueHash::of_name(SALT, NameKind::Key, "a")
        );
    }
}
