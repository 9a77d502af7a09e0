//! View question: what the view of a coordinator asks whoever keeps a partition, and a message of such questions.
//!
//! ```text
//! message   version:u8 (1), bytes that the answer may have:varint, count:varint, questions
//!
//! KIND                CODE   CONTENT
//! groups                 1   groups
//! live rows              2   groups
//! labels                 3   vertices
//! vertex values          4   key:varint vertices
//! vertex maps            5   after vertices
//! lists                  6   type:varint side limit:varint (0, or 1 and the entry that the first list goes on after) vertices
//! degrees                7   type:varint side vertices
//! degrees by type        8   side vertices
//! edges                  9   edges
//! counts between        10   type:varint pairs
//! edge values           11   key:varint edges
//! edge maps             12   after edges
//! newest edges          13   source:varint type:varint key:varint, ends of the range, limit:varint,
//!                            0, or 1 and value and edge, count:varint keys:varint each
//! items of a value      14   index value limit:varint (0, or 1 and the item that they go on after)
//! pairs between         15   index, two bounds, whether they descend:u8, limit:varint
//! index sizes           16
//! ```
//!
//! The forms of ids and bounds are those of [`item_form`](crate::remote::item_form). Each question is about items of one
//! partition; items ascend. So a view asks one message a partition, however many items it reads.
//!
//! Answers have a limit of bytes. Of items, as many are answered as have room, the first ones; the others are asked for
//! again. A list, a map and what an index finds end where there is no room, and say so: the next question goes on after what
//! came last.

use crate::remote::item_form::{
    ItemRoom, ListEntry, ListReader, ListWriter, put_edges, put_entry_bound, put_groups, put_item,
    put_key_after, put_pairs, put_range_end, put_side, put_vertices, take_edges, take_entry_bound, take_flag,
    take_groups, take_item, take_key_after, take_pairs, take_range_end, take_side, take_u16, take_u32,
    take_vertices,
};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::mutation::{put_index_id, take_index_id};
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::owner::Owner;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_bound::EntryBound;
use std::borrow::Cow;

/// The most items that all questions of a message are about.
pub const MESSAGE_ITEMS_MAX: usize = 1 << 17;
/// The most questions of a message.
pub const MESSAGE_QUESTIONS_MAX: usize = 1 << 10;

const VERSION: u8 = 1;

mod code {
    pub const GROUPS: u8 = 1;
    pub const LIVE: u8 = 2;
    pub const LABELS: u8 = 3;
    pub const VERTEX_VALUES: u8 = 4;
    pub const VERTEX_MAPS: u8 = 5;
    pub const LISTS: u8 = 6;
    pub const DEGREES: u8 = 7;
    pub const DEGREES_BY_TYPE: u8 = 8;
    pub const EDGES: u8 = 9;
    pub const COUNTS_BETWEEN: u8 = 10;
    pub const EDGE_VALUES: u8 = 11;
    pub const EDGE_MAPS: u8 = 12;
    pub const NEWEST: u8 = 13;
    pub const ITEMS_OF_VALUE: u8 = 14;
    pub const PAIRS_BETWEEN: u8 = 15;
    pub const INDEX_SIZES: u8 = 16;
}

/// A question about one partition. Items ascend, each once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ViewQuestion {
    /// The edge types of groups, and how many edges of each start there.
    Groups {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// The rows of groups that are alive.
    Live {
        /// The groups.
        groups: Vec<GroupId>,
    },
    /// The label of each vertex.
    Labels {
        /// The vertices.
        vertices: Vec<VertexId>,
    },
    /// One property of each vertex.
    VertexValues {
        /// The vertices.
        vertices: Vec<VertexId>,
        /// The property.
        key: KeyId,
    },
    /// All properties of each vertex.
    VertexMaps {
        /// The vertices.
        vertices: Vec<VertexId>,
        /// Of the first vertex, those behind this key.
        after: Option<KeyId>,
    },
    /// The list of each vertex on a side.
    Lists {
        /// The vertices.
        vertices: Vec<VertexId>,
        /// The type of the edges.
        edge_type: TypeId,
        /// The side, a plain one.
        side: Direction,
        /// Of the first vertex, what is behind this entry.
        after: Option<ListEntry>,
        /// Entries of each list, at most.
        limit: u32,
    },
    /// How many edges of a type each vertex has on a side.
    Degrees {
        /// The vertices.
        vertices: Vec<VertexId>,
        /// The type of the edges.
        edge_type: TypeId,
        /// The side, a plain one.
        side: Direction,
    },
    /// How many edges of every type each vertex has on a side.
    DegreesByType {
        /// The vertices.
        vertices: Vec<VertexId>,
        /// The side, a plain one.
        side: Direction,
    },
    /// Whether each edge is there.
    Edges {
        /// The edges.
        edges: Vec<EdgeId>,
    },
    /// How many edges of a type lead from the first to the second vertex of each pair.
    CountsBetween {
        /// The pairs.
        pairs: Vec<(VertexId, VertexId)>,
        /// The type of the edges.
        edge_type: TypeId,
    },
    /// One property of each edge.
    EdgeValues {
        /// The edges.
        edges: Vec<EdgeId>,
        /// The property.
        key: KeyId,
    },
    /// All properties of each edge.
    EdgeMaps {
        /// The edges.
        edges: Vec<EdgeId>,
        /// Of the first edge, those behind this key.
        after: Option<KeyId>,
    },
    /// The newest edges of a vertex, with properties of each.
    Newest {
        /// Which edges. The range does not descend.
        asked: NewestEdges,
        /// Those behind this one.
        after: Option<Stamped>,
        /// How many, at most.
        limit: u32,
        /// The properties.
        keys: Vec<KeyId>,
    },
    /// What an index finds by a value.
    ItemsOfValue {
        /// The index.
        index: IndexId,
        /// What the items are filed under.
        value: Value,
        /// Those greater than this one.
        after: Option<ItemId>,
        /// How many, at most.
        limit: u32,
    },
    /// What an ordered index has between two places.
    PairsBetween {
        /// The index.
        index: IndexId,
        /// From behind this place.
        after: EntryBound<ItemId>,
        /// Up to this one.
        until: EntryBound<ItemId>,
        /// Whether the second place is the lower one.
        descending: bool,
        /// How many, at most.
        limit: u32,
    },
    /// The sizes of all indexes.
    IndexSizes,
}

impl ViewQuestion {
    /// How many items it is about; `None` for a question that is not about items.
    #[must_use]
    pub fn items_count(&self) -> Option<usize> {
        Some(match self {
            Self::Groups { groups } | Self::Live { groups } => groups.len(),
            Self::Labels { vertices }
            | Self::VertexValues { vertices, .. }
            | Self::VertexMaps { vertices, .. }
            | Self::Lists { vertices, .. }
            | Self::Degrees { vertices, .. }
            | Self::DegreesByType { vertices, .. } => vertices.len(),
            Self::Edges { edges } | Self::EdgeValues { edges, .. } | Self::EdgeMaps { edges, .. } => {
                edges.len()
            }
            Self::CountsBetween { pairs, .. } => pairs.len(),
            Self::Newest { .. }
            | Self::ItemsOfValue { .. }
            | Self::PairsBetween { .. }
            | Self::IndexSizes => {
                return None;
            }
        })
    }

    /// The question about the items behind the first `answered` ones. What is not about items stays as it is.
    #[must_use]
    pub fn rest(&self, answered: usize) -> Cow<'_, Self> {
        if answered == 0 {
            return Cow::Borrowed(self);
        }
        let mut rest = self.clone();
        match &mut rest {
            Self::Groups { groups } | Self::Live { groups } => drop_first(groups, answered),
            Self::Labels { vertices }
            | Self::VertexValues { vertices, .. }
            | Self::Degrees { vertices, .. }
            | Self::DegreesByType { vertices, .. } => drop_first(vertices, answered),
            Self::VertexMaps { vertices, after } => {
                drop_first(vertices, answered);
                *after = None;
            }
            Self::Lists { vertices, after, .. } => {
                drop_first(vertices, answered);
                *after = None;
            }
            Self::Edges { edges } | Self::EdgeValues { edges, .. } => drop_first(edges, answered),
            Self::EdgeMaps { edges, after } => {
                drop_first(edges, answered);
                *after = None;
            }
            Self::CountsBetween { pairs, .. } => drop_first(pairs, answered),
            Self::Newest { .. }
            | Self::ItemsOfValue { .. }
            | Self::PairsBetween { .. }
            | Self::IndexSizes => {}
        }
        Cow::Owned(rest)
    }

    /// Appends the form in a message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Groups { groups } => {
                out.push(code::GROUPS);
                put_groups(out, groups);
            }
            Self::Live { groups } => {
                out.push(code::LIVE);
                put_groups(out, groups);
            }
            Self::Labels { vertices } => {
                out.push(code::LABELS);
                put_vertices(out, vertices);
            }
            Self::VertexValues { vertices, key } => {
                out.push(code::VERTEX_VALUES);
                put_varint(out, u64::from(key.0));
                put_vertices(out, vertices);
            }
            Self::VertexMaps { vertices, after } => {
                out.push(code::VERTEX_MAPS);
                put_key_after(out, *after);
                put_vertices(out, vertices);
            }
            Self::Lists { vertices, edge_type, side, after, limit } => {
                out.push(code::LISTS);
                put_varint(out, u64::from(edge_type.0));
                put_side(out, *side);
                put_varint(out, u64::from(*limit));
                out.push(u8::from(after.is_some()));
                if let Some(after) = after {
                    ListWriter::default().put(out, *after);
                }
                put_vertices(out, vertices);
            }
            Self::Degrees { vertices, edge_type, side } => {
                out.push(code::DEGREES);
                put_varint(out, u64::from(edge_type.0));
                put_side(out, *side);
                put_vertices(out, vertices);
            }
            Self::DegreesByType { vertices, side } => {
                out.push(code::DEGREES_BY_TYPE);
                put_side(out, *side);
                put_vertices(out, vertices);
            }
            Self::Edges { edges } => {
                out.push(code::EDGES);
                put_edges(out, edges);
            }
            Self::CountsBetween { pairs, edge_type } => {
                out.push(code::COUNTS_BETWEEN);
                put_varint(out, u64::from(edge_type.0));
                put_pairs(out, pairs);
            }
            Self::EdgeValues { edges, key } => {
                out.push(code::EDGE_VALUES);
                put_varint(out, u64::from(key.0));
                put_edges(out, edges);
            }
            Self::EdgeMaps { edges, after } => {
                out.push(code::EDGE_MAPS);
                put_key_after(out, *after);
                put_edges(out, edges);
            }
            Self::Newest { asked, after, limit, keys } => {
                out.push(code::NEWEST);
                put_newest(out, asked, after.as_ref(), *limit, keys);
            }
            Self::ItemsOfValue { index, value, after, limit } => {
                out.push(code::ITEMS_OF_VALUE);
                put_index_id(out, index);
                value.encode(out);
                put_varint(out, u64::from(*limit));
                out.push(u8::from(after.is_some()));
                if let Some(after) = after {
                    put_item(out, *after);
                }
            }
            Self::PairsBetween { index, after, until, descending, limit } => {
                out.push(code::PAIRS_BETWEEN);
                put_index_id(out, index);
                put_entry_bound(out, after);
                put_entry_bound(out, until);
                out.push(u8::from(*descending));
                put_varint(out, u64::from(*limit));
            }
            Self::IndexSizes => out.push(code::INDEX_SIZES),
        }
    }

    /// Reads what [`ViewQuestion::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else, or more items than there is room for.
    pub fn decode(reader: &mut Reader<'_>, room: &mut ItemRoom) -> Decoded<Self> {
        let start = reader.clone();
        Ok(match reader.u8()? {
            code::GROUPS => Self::Groups { groups: take_groups(reader, room)? },
            code::LIVE => Self::Live { groups: take_groups(reader, room)? },
            code::LABELS => Self::Labels { vertices: take_vertices(reader, room)? },
            code::VERTEX_VALUES => {
                let key = KeyId(take_u16(reader)?);
                Self::VertexValues { vertices: take_vertices(reader, room)?, key }
            }
            code::VERTEX_MAPS => {
                let after = take_key_after(reader)?;
                Self::VertexMaps { vertices: take_vertices(reader, room)?, after }
            }
            code::LISTS => {
                let (edge_type, side) = (TypeId(take_u16(reader)?), take_side(reader)?);
                let limit = take_u32(reader)?;
                let after = match take_flag(reader)? {
                    true => Some(ListReader::default().take(reader)?),
                    false => None,
                };
                Self::Lists { vertices: take_vertices(reader, room)?, edge_type, side, after, limit }
            }
            code::DEGREES => {
                let (edge_type, side) = (TypeId(take_u16(reader)?), take_side(reader)?);
                Self::Degrees { vertices: take_vertices(reader, room)?, edge_type, side }
            }
            code::DEGREES_BY_TYPE => {
                let side = take_side(reader)?;
                Self::DegreesByType { vertices: take_vertices(reader, room)?, side }
            }
            code::EDGES => Self::Edges { edges: take_edges(reader, room)? },
            code::COUNTS_BETWEEN => {
                let edge_type = TypeId(take_u16(reader)?);
                Self::CountsBetween { pairs: take_pairs(reader, room)?, edge_type }
            }
            code::EDGE_VALUES => {
                let key = KeyId(take_u16(reader)?);
                Self::EdgeValues { edges: take_edges(reader, room)?, key }
            }
            code::EDGE_MAPS => {
                let after = take_key_after(reader)?;
                Self::EdgeMaps { edges: take_edges(reader, room)?, after }
            }
            code::NEWEST => take_newest(reader, room)?,
            code::ITEMS_OF_VALUE => {
                let index = take_index_id(reader)?;
                let (value, limit) = (Value::decode(reader)?, take_u32(reader)?);
                let after = match take_flag(reader)? {
                    true => Some(take_item(reader, index.owner)?),
                    false => None,
                };
                Self::ItemsOfValue { index, value, after, limit }
            }
            code::PAIRS_BETWEEN => {
                let index = take_index_id(reader)?;
                let after = take_entry_bound(reader, index.owner)?;
                let until = take_entry_bound(reader, index.owner)?;
                let (descending, limit) = (take_flag(reader)?, take_u32(reader)?);
                Self::PairsBetween { index, after, until, descending, limit }
            }
            code::INDEX_SIZES => Self::IndexSizes,
            found => return Err(start.error(format!("a question of a view expected, found {found}"))),
        })
    }
}

fn drop_first<T>(items: &mut Vec<T>, count: usize) {
    items.drain(..count.min(items.len()));
}

fn put_newest(out: &mut Vec<u8>, asked: &NewestEdges, after: Option<&Stamped>, limit: u32, keys: &[KeyId]) {
    put_varint(out, u64::from(asked.source.0));
    put_varint(out, u64::from(asked.edge_type.0));
    put_varint(out, u64::from(asked.key.0));
    put_range_end(out, &asked.range.from);
    put_range_end(out, &asked.range.to);
    put_varint(out, u64::from(limit));
    out.push(u8::from(after.is_some()));
    if let Some((value, edge)) = after {
        value.encode(out);
        put_item(out, ItemId::Edge(*edge));
    }
    put_varint(out, keys.len() as u64);
    keys.iter().for_each(|key| put_varint(out, u64::from(key.0)));
}

fn take_newest(reader: &mut Reader<'_>, room: &mut ItemRoom) -> Decoded<ViewQuestion> {
    let source = VertexId(take_u32(reader)?);
    let (edge_type, key) = (TypeId(take_u16(reader)?), KeyId(take_u16(reader)?));
    let range = ValueRange::new(take_range_end(reader)?, take_range_end(reader)?);
    let asked = NewestEdges { source, edge_type, key, range };
    let limit = take_u32(reader)?;
    let after = match take_flag(reader)? {
        true => {
            let value = Value::decode(reader)?;
            let start = reader.clone();
            match take_item(reader, Owner::EdgeType(edge_type))? {
                ItemId::Edge(edge) => Some((value, edge)),
                ItemId::Vertex(_) => return Err(start.error("an edge expected")),
            }
        }
        false => None,
    };
    let count = room.take_count(reader, 1)?;
    let keys = (0..count).map(|_| take_u16(reader).map(KeyId)).collect::<Decoded<_>>()?;
    Ok(ViewQuestion::Newest { asked, after, limit, keys })
}

/// A message of questions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewQuestions {
    /// How many bytes the answer may have; a single large value may take more.
    pub answer_bytes_max: usize,
    /// The questions: at most [`MESSAGE_QUESTIONS_MAX`], about at most [`MESSAGE_ITEMS_MAX`] items.
    pub questions: Vec<ViewQuestion>,
}

impl ViewQuestions {
    /// The bytes of `questions`.
    #[must_use]
    pub fn encode<'q>(
        answer_bytes_max: usize,
        questions: impl ExactSizeIterator<Item = &'q ViewQuestion>,
    ) -> Vec<u8> {
        let mut out = Self::head(answer_bytes_max, questions.len());
        questions.for_each(|question| question.encode(&mut out));
        out
    }

    /// What stands before the bytes of `count` questions.
    #[must_use]
    pub fn head(answer_bytes_max: usize, count: usize) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_varint(&mut out, answer_bytes_max as u64);
        put_varint(&mut out, count as u64);
        out
    }

    /// Reads what [`ViewQuestions::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else, or more than a message may have.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let found = reader.u8()?;
        if found != VERSION {
            return Err(Reader::new(bytes).error(format!("version {VERSION} expected, found {found}")));
        }
        let answer_bytes_max = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
        let start = reader.clone();
        let count = reader.count(1)?;
        if count > MESSAGE_QUESTIONS_MAX {
            return Err(
                start.error(format!("at most {MESSAGE_QUESTIONS_MAX} questions expected, found {count}"))
            );
        }
        let mut room = ItemRoom::new(MESSAGE_ITEMS_MAX);
        let mut questions = Vec::with_capacity(count);
        for _ in 0..count {
            questions.push(ViewQuestion::decode(&mut reader, &mut room)?);
        }
        if !reader.is_empty() {
            return Err(reader.error("the end of the questions expected"));
        }
        Ok(Self { answer_bytes_max, questions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::view_strategy::any_question;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn questions_read_back(questions in vec(any_question(), 0..5), most in any::<u32>()) {
            let bytes = ViewQuestions::encode(most as usize, questions.iter());
            let read = ViewQuestions::decode(&bytes).unwrap();
            prop_assert_eq!(read, ViewQuestions { answer_bytes_max: most as usize, questions });
            for cut in 0..bytes.len() {
                prop_assert!(ViewQuestions::decode(&bytes[..cut]).is_err(), "cut to {} bytes", cut);
            }
        }

        #[test]
        fn changed_bytes_are_refused_or_the_form_of_what_is_read(
            questions in vec(any_question(), 1..4),
            edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = ViewQuestions::encode(77, questions.iter());
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(read) = ViewQuestions::decode(&bytes) {
                let again = ViewQuestions::encode(read.answer_bytes_max, read.questions.iter());
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..80)) {
            let _ = ViewQuestions::decode(&bytes);
            let _ = ViewQuestions::decode(&[&[VERSION, 9, 1][..], &bytes[..]].concat());
        }

        #[test]
        fn the_rest_of_a_question_is_about_the_items_behind(question in any_question(), answered in 0usize..10) {
            let rest = question.rest(answered);
            prop_assert_eq!(rest.items_count(), question.items_count().map(|all| all.saturating_sub(answered)));
            if question.items_count().is_none() {
                prop_assert_eq!(&*rest, &question);
            }
        }
    }

    #[test]
    fn a_message_of_too_many_questions_is_refused() {
        let of = |count| {
            let questions = vec![ViewQuestion::IndexSizes; count];
            ViewQuestions::decode(&ViewQuestions::encode(1, questions.iter()))
        };
        assert!(of(MESSAGE_QUESTIONS_MAX).is_ok());
        assert!(of(MESSAGE_QUESTIONS_MAX + 1).is_err());
        let vertices: Vec<_> = (0..MESSAGE_ITEMS_MAX as u32).map(VertexId).collect();
        let mut questions = vec![ViewQuestion::Labels { vertices }];
        assert!(ViewQuestions::decode(&ViewQuestions::encode(1, questions.iter())).is_ok());
        questions.push(ViewQuestion::Labels { vertices: vec![VertexId(0)] });
        let error = ViewQuestions::decode(&ViewQuestions::encode(1, questions.iter())).unwrap_err();
        assert_eq!(error.expected, "at most 0 items expected, found 1");
    }

    #[test]
    fn the_form_of_questions_stays() {
        let lists = ViewQuestion::Lists {
            vertices: [5, 300].map(VertexId).to_vec(),
            edge_type: TypeId(2),
            side: Direction::In,
            after: Some((VertexId(9), 1)),
            limit: 200,
        };
        let values = ViewQuestion::VertexValues { vertices: vec![VertexId(7)], key: KeyId(3) };
        let bytes = ViewQuestions::encode(1000, [lists, values].iter());
        let wanted: [u8; 20] = [1, 0xe8, 7, 2, 6, 2, 1, 200, 1, 1, 19, 1, 2, 5, 0xa6, 2, 4, 3, 1, 7];
        assert_eq!(bytes, wanted);
    }
}
