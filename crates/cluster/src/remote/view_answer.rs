//! View answer: what comes back to a view's questions, as bytes.
//!
//! ```text
//! message   version:u8 (1), count:u32, then answers to the first questions, in their order
//! answer    count:u32, then as many of
//!
//! groups            out count:varint, then type:varint edges:varint; in count:varint, then type:varint; both ascend
//! live rows         words:u8, then as many words of 8 bytes; the others are zero
//! labels            label + 1:varint; 0 if the vertex is not there
//! values            a value, or 0
//! maps              (properties * 2 + whether these are the last):varint, then key:varint and value each, by key
//! lists             (entries * 2 + whether these are the last):varint, then the entries
//! degrees           edges:varint
//! degrees by type   count:varint, then type:varint edges:varint each, by type
//! edges             0 or 1
//! counts between    count:varint
//! newest edges      before all: whether values of properties follow:u8; value, target:varint, discriminator:varint, and
//!                   those values; behind all: whether these are the last:u8
//! items of a value  an item; behind all: whether these are the last:u8
//! pairs between     value, item; behind all: whether these are the last:u8
//! index sizes       index, entries:varint bytes:varint, bytes of files:varint
//! ```
//!
//! An answer is read as the question says that it answers, so that nothing that was not asked for is kept: at most as many
//! items as were asked about, and memory only for what came. Whoever answers writes items until there is no room
//! ([`answer_writer`](crate::remote::answer_writer)).

use crate::remote::item_form::{
    ListEntry, ListReader, put_item, put_value, take_flag, take_item, take_u16, take_u32, take_value,
};
use crate::remote::view_question::ViewQuestion;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::{put_index_id, take_index_id};
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::owner::Owner;
use evergraph_graph::value::Value;
use evergraph_storage::view::{GroupBits, IndexSize};

/// How many edge types or property keys there can be: more are not taken memory for.
const NUMBERED_MAX: usize = 1 << 16;

/// The version of a message of answers.
pub const ANSWERS_VERSION: u8 = 1;

/// Some of what there is, and whether it is all that is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnswerPage<T> {
    /// What came, in order.
    pub entries: Vec<T>,
    /// Whether nothing follows.
    pub is_last: bool,
}

/// Values of one property, item by item.
pub type ValueColumn = Vec<Option<Value>>;

/// The edge types of a group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupFacts {
    /// The types of edges that start there, ascending, and how many of each do.
    pub out: Vec<(TypeId, u64)>,
    /// The types of edges that end there, ascending.
    pub into: Vec<TypeId>,
}

impl GroupFacts {
    /// The types of edges that are there on a side, ascending.
    #[must_use]
    pub fn types(&self, side: Direction) -> Vec<TypeId> {
        match side {
            Direction::Out => self.out.iter().map(|(edge_type, _)| *edge_type).collect(),
            Direction::In | Direction::Both => self.into.clone(),
        }
    }
}

/// The newest edges of a vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewestPage {
    /// The edges, the newest first.
    pub edges: AnswerPage<Stamped>,
    /// Their values of each property that was asked for; `None` if those of a single edge have no room in a message.
    pub columns: Option<Vec<ValueColumn>>,
}

/// An answer to a question of a view. What is about items has an entry for each of the first ones that were asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ViewAnswer {
    /// Of groups.
    Groups(Vec<GroupFacts>),
    /// The rows of groups that are alive.
    Live(Vec<GroupBits>),
    /// The labels of vertices.
    Labels(Vec<Option<LabelId>>),
    /// Values of a property, of vertices or of edges.
    Values(ValueColumn),
    /// All properties of vertices or of edges, by key.
    Maps(Vec<AnswerPage<(KeyId, Value)>>),
    /// Lists.
    Lists(Vec<AnswerPage<ListEntry>>),
    /// Numbers of edges.
    Degrees(Vec<u64>),
    /// Numbers of edges of every type.
    DegreesByType(Vec<Vec<(TypeId, u64)>>),
    /// Whether edges are there.
    Edges(Vec<bool>),
    /// Numbers of edges between two vertices.
    Counts(Vec<u32>),
    /// The newest edges.
    Newest(NewestPage),
    /// What is filed under a value.
    Items(AnswerPage<ItemId>),
    /// What lies between two places of an index.
    Pairs(AnswerPage<(Value, ItemId)>),
    /// The sizes of indexes.
    IndexSizes(Vec<(IndexId, IndexSize)>),
}

/// Defines a method for each kind of answer that takes what it says.
macro_rules! takes {
    ($($name:ident $variant:ident -> $type:ty;)+) => {
        impl ViewAnswer {
            $(
                /// What it says, as the answer to a question of this kind.
                ///
                /// # Panics
                /// If it answers one of another kind: it was read as the answer to that.
                #[must_use]
                pub fn $name(self) -> $type {
                    match self {
                        Self::$variant(answer) => answer,
                        other => other.refuse_another_kind(),
                    }
                }
            )+
        }
    };
}

takes! {
    into_groups Groups -> Vec<GroupFacts>;
    into_live Live -> Vec<GroupBits>;
    into_labels Labels -> Vec<Option<LabelId>>;
    into_values Values -> ValueColumn;
    into_maps Maps -> Vec<AnswerPage<(KeyId, Value)>>;
    into_lists Lists -> Vec<AnswerPage<ListEntry>>;
    into_degrees Degrees -> Vec<u64>;
    into_degrees_by_type DegreesByType -> Vec<Vec<(TypeId, u64)>>;
    into_edges Edges -> Vec<bool>;
    into_counts Counts -> Vec<u32>;
    into_newest Newest -> NewestPage;
    into_items Items -> AnswerPage<ItemId>;
    into_pairs Pairs -> AnswerPage<(Value, ItemId)>;
    into_index_sizes IndexSizes -> Vec<(IndexId, IndexSize)>;
}

impl ViewAnswer {
    #[cold]
    fn refuse_another_kind(self) -> ! {
        unreachable!("an answer is read as that to its own question: {self:?}")
    }

    /// Of how many items it says something; `None` if it is not about items.
    #[must_use]
    pub fn items_count(&self) -> Option<usize> {
        Some(match self {
            Self::Groups(all) => all.len(),
            Self::Live(all) => all.len(),
            Self::Labels(all) => all.len(),
            Self::Values(all) => all.len(),
            Self::Maps(all) => all.len(),
            Self::Lists(all) => all.len(),
            Self::Degrees(all) => all.len(),
            Self::DegreesByType(all) => all.len(),
            Self::Edges(all) => all.len(),
            Self::Counts(all) => all.len(),
            Self::Newest(_) | Self::Items(_) | Self::Pairs(_) | Self::IndexSizes(_) => return None,
        })
    }

    /// Adds the answer to the rest of the same question.
    ///
    /// # Panics
    /// If it is of another kind, or not about items.
    pub fn append(&mut self, rest: Self) {
        match self {
            Self::Groups(all) => all.append(&mut rest.into_groups()),
            Self::Live(all) => all.append(&mut rest.into_live()),
            Self::Labels(all) => all.append(&mut rest.into_labels()),
            Self::Values(all) => all.append(&mut rest.into_values()),
            Self::Maps(all) => all.append(&mut rest.into_maps()),
            Self::Lists(all) => all.append(&mut rest.into_lists()),
            Self::Degrees(all) => all.append(&mut rest.into_degrees()),
            Self::DegreesByType(all) => all.append(&mut rest.into_degrees_by_type()),
            Self::Edges(all) => all.append(&mut rest.into_edges()),
            Self::Counts(all) => all.append(&mut rest.into_counts()),
            Self::Newest(_) | Self::Items(_) | Self::Pairs(_) | Self::IndexSizes(_) => {
                rest.refuse_another_kind()
            }
        }
    }

    fn take(reader: &mut Reader<'_>, question: &ViewQuestion) -> Decoded<Self> {
        let asked = question.items_count().unwrap_or(usize::MAX);
        Ok(match question {
            ViewQuestion::Groups { .. } => Self::Groups(take_each(reader, asked, 2, take_facts)?),
            ViewQuestion::Live { .. } => Self::Live(take_each(reader, asked, 1, take_live)?),
            ViewQuestion::Labels { .. } => Self::Labels(take_each(reader, asked, 1, take_label)?),
            ViewQuestion::VertexValues { .. } | ViewQuestion::EdgeValues { .. } => {
                Self::Values(take_each(reader, asked, 1, take_value)?)
            }
            ViewQuestion::VertexMaps { .. } | ViewQuestion::EdgeMaps { .. } => {
                Self::Maps(take_each(reader, asked, 1, take_map)?)
            }
            ViewQuestion::Lists { limit, .. } => {
                Self::Lists(take_each(reader, asked, 1, |reader| take_list(reader, *limit))?)
            }
            ViewQuestion::Degrees { .. } => {
                Self::Degrees(take_each(reader, asked, 1, |reader| reader.varint())?)
            }
            ViewQuestion::DegreesByType { .. } => {
                Self::DegreesByType(take_each(reader, asked, 1, take_degrees_by_type)?)
            }
            ViewQuestion::Edges { .. } => Self::Edges(take_each(reader, asked, 1, take_flag)?),
            ViewQuestion::CountsBetween { .. } => Self::Counts(take_each(reader, asked, 1, take_u32)?),
            ViewQuestion::Newest { asked, limit, keys, .. } => {
                Self::Newest(take_newest(reader, asked, *limit, keys.len())?)
            }
            ViewQuestion::ItemsOfValue { index, limit, .. } => {
                let most = *limit as usize;
                let entries = take_each(reader, most, 4, |reader| take_item(reader, index.owner))?;
                Self::Items(AnswerPage { entries, is_last: take_flag(reader)? })
            }
            ViewQuestion::PairsBetween { index, limit, .. } => {
                let most = *limit as usize;
                let entries = take_each(reader, most, 6, |reader| take_pair(reader, index.owner))?;
                Self::Pairs(AnswerPage { entries, is_last: take_flag(reader)? })
            }
            ViewQuestion::IndexSizes => Self::IndexSizes(take_each(reader, usize::MAX, 9, take_index_size)?),
        })
    }
}

/// Reads the answers to the first of `questions`.
///
/// # Errors
/// If there is something else, or more than was asked for.
pub fn decode_answers<'q>(
    bytes: &[u8],
    questions: impl ExactSizeIterator<Item = &'q ViewQuestion>,
) -> Decoded<Vec<ViewAnswer>> {
    let mut reader = Reader::new(bytes);
    let found = reader.u8()?;
    if found != ANSWERS_VERSION {
        return Err(Reader::new(bytes).error(format!("version {ANSWERS_VERSION} expected, found {found}")));
    }
    let count = take_count(&mut reader, questions.len(), 4)?;
    let answers = questions.take(count).map(|question| ViewAnswer::take(&mut reader, question));
    let answers = answers.collect::<Decoded<Vec<_>>>()?;
    if !reader.is_empty() {
        return Err(reader.error("the end of the answers expected"));
    }
    Ok(answers)
}

/// Reads a count of at most `most` things that take at least `least` bytes each.
fn take_count(reader: &mut Reader<'_>, most: usize, least: usize) -> Decoded<usize> {
    let start = reader.clone();
    let count = reader.u32()? as usize;
    let most = most.min(reader.remaining() / least);
    if count > most {
        return Err(start.error(format!("at most {most} entries expected, found {count}")));
    }
    Ok(count)
}

fn take_each<T>(
    reader: &mut Reader<'_>,
    most: usize,
    least: usize,
    mut take: impl FnMut(&mut Reader<'_>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    let count = take_count(reader, most, least)?;
    (0..count).map(|_| take(reader)).collect()
}

/// Appends what is known of a group.
pub fn put_facts(out: &mut Vec<u8>, facts: &GroupFacts) {
    put_degrees_by_type(out, &facts.out);
    put_varint(out, facts.into.len() as u64);
    facts.into.iter().for_each(|edge_type| put_varint(out, u64::from(edge_type.0)));
}

fn take_facts(reader: &mut Reader<'_>) -> Decoded<GroupFacts> {
    let out = take_degrees_by_type(reader)?;
    let count = reader.count(1)?;
    let mut into: Vec<TypeId> = Vec::with_capacity(count.min(NUMBERED_MAX));
    for _ in 0..count {
        let start = reader.clone();
        let edge_type = TypeId(take_u16(reader)?);
        if into.last().is_some_and(|last| *last >= edge_type) {
            return Err(start.error("edge types in ascending order expected"));
        }
        into.push(edge_type);
    }
    Ok(GroupFacts { out, into })
}

/// Appends the rows of a group that are alive.
pub fn put_live(out: &mut Vec<u8>, live: &GroupBits) {
    let words = live.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    out.push(words as u8);
    live[..words].iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn take_live(reader: &mut Reader<'_>) -> Decoded<GroupBits> {
    let mut live: GroupBits = [0; 64];
    let start = reader.clone();
    let words = usize::from(reader.u8()?);
    let Some(there) = live.get_mut(..words) else {
        return Err(start.error(format!("at most 64 words expected, found {words}")));
    };
    for word in there {
        *word = reader.u64()?;
    }
    if words > 0 && live[words - 1] == 0 {
        return Err(start.error("words up to the last row that is alive expected"));
    }
    Ok(live)
}

/// Appends the label of a vertex, if it is there.
pub fn put_label(out: &mut Vec<u8>, label: Option<LabelId>) {
    put_varint(out, label.map_or(0, |label| u64::from(label.0) + 1));
}

fn take_label(reader: &mut Reader<'_>) -> Decoded<Option<LabelId>> {
    let number = reader.at_most(u64::from(u16::MAX) + 1)?;
    Ok(number.checked_sub(1).map(|label| LabelId(label as u16)))
}

/// Appends numbers of edges by their type.
pub fn put_degrees_by_type(out: &mut Vec<u8>, degrees: &[(TypeId, u64)]) {
    put_varint(out, degrees.len() as u64);
    for (edge_type, degree) in degrees {
        put_varint(out, u64::from(edge_type.0));
        put_varint(out, *degree);
    }
}

fn take_degrees_by_type(reader: &mut Reader<'_>) -> Decoded<Vec<(TypeId, u64)>> {
    let count = reader.count(2)?;
    let mut degrees: Vec<(TypeId, u64)> = Vec::with_capacity(count.min(NUMBERED_MAX));
    for _ in 0..count {
        let start = reader.clone();
        let edge_type = TypeId(take_u16(reader)?);
        if degrees.last().is_some_and(|last| last.0 >= edge_type) {
            return Err(start.error("edge types in ascending order expected"));
        }
        degrees.push((edge_type, reader.varint()?));
    }
    Ok(degrees)
}

/// Appends a property.
pub fn put_property(out: &mut Vec<u8>, key: KeyId, value: &Value) {
    put_varint(out, u64::from(key.0));
    value.encode(out);
}

fn take_page_head(reader: &mut Reader<'_>, most: usize, least: usize) -> Decoded<(usize, bool)> {
    let start = reader.clone();
    let head = reader.varint()?;
    let most = most.min(reader.remaining() / least) as u64;
    if head >> 1 > most {
        return Err(start.error(format!("at most {most} entries expected, found {}", head >> 1)));
    }
    Ok(((head >> 1) as usize, head & 1 == 1))
}

fn take_map(reader: &mut Reader<'_>) -> Decoded<AnswerPage<(KeyId, Value)>> {
    let (count, is_last) = take_page_head(reader, NUMBERED_MAX, 3)?;
    let mut entries: Vec<(KeyId, Value)> = Vec::with_capacity(count);
    for _ in 0..count {
        let start = reader.clone();
        let key = KeyId(take_u16(reader)?);
        if entries.last().is_some_and(|last| last.0 >= key) {
            return Err(start.error("property keys in ascending order expected"));
        }
        entries.push((key, Value::decode(reader)?));
    }
    Ok(AnswerPage { entries, is_last })
}

fn take_list(reader: &mut Reader<'_>, limit: u32) -> Decoded<AnswerPage<ListEntry>> {
    let (count, is_last) = take_page_head(reader, limit as usize, 1)?;
    let mut list = ListReader::default();
    let entries = (0..count).map(|_| list.take(reader)).collect::<Decoded<_>>()?;
    Ok(AnswerPage { entries, is_last })
}

/// Appends one of the newest edges of a vertex, and the values of properties that were asked for.
pub fn put_newest_edge(
    out: &mut Vec<u8>,
    value: &Value,
    edge: EdgeId,
    properties: impl Iterator<Item = Option<Value>>,
) {
    value.encode(out);
    put_varint(out, u64::from(edge.target.0));
    put_varint(out, u64::from(edge.discriminator));
    properties.for_each(|value| put_value(out, value.as_ref()));
}

fn take_newest(
    reader: &mut Reader<'_>,
    asked: &NewestEdges,
    limit: u32,
    keys_count: usize,
) -> Decoded<NewestPage> {
    let count = take_count(reader, limit as usize, 4)?;
    let has_columns = take_flag(reader)?;
    let mut edges: Vec<Stamped> = Vec::with_capacity(count);
    let mut columns = has_columns.then(|| vec![ValueColumn::new(); keys_count]);
    for _ in 0..count {
        let value = Value::decode(reader)?;
        let (target, discriminator) = (VertexId(take_u32(reader)?), take_u16(reader)?);
        edges.push((value, asked.edge(target, discriminator)));
        for column in columns.iter_mut().flatten() {
            column.push(take_value(reader)?);
        }
    }
    Ok(NewestPage { edges: AnswerPage { entries: edges, is_last: take_flag(reader)? }, columns })
}

/// Appends a pair of an index.
pub fn put_pair(out: &mut Vec<u8>, value: &Value, item: ItemId) {
    value.encode(out);
    put_item(out, item);
}

fn take_pair(reader: &mut Reader<'_>, owner: Owner) -> Decoded<(Value, ItemId)> {
    Ok((Value::decode(reader)?, take_item(reader, owner)?))
}

/// Appends the size of an index.
pub fn put_index_size(out: &mut Vec<u8>, index: &IndexId, size: &IndexSize) {
    put_index_id(out, index);
    [size.entries, size.bytes, size.file_bytes].into_iter().for_each(|number| put_varint(out, number));
}

fn take_index_size(reader: &mut Reader<'_>) -> Decoded<(IndexId, IndexSize)> {
    let index = take_index_id(reader)?;
    let (entries, bytes, file_bytes) = (reader.varint()?, reader.varint()?, reader.varint()?);
    Ok((index, IndexSize { entries, bytes, file_bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::answer_writer::{AnswersWriter, OpenAnswer, PageBytes};
    use crate::remote::item_form::ListWriter;
    use crate::remote::view_strategy::{any_answered, any_question};
    use evergraph_graph::id::Direction;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn put_each<T>(
        writer: &mut AnswersWriter,
        open: &mut OpenAnswer,
        items: &[T],
        put: impl Fn(&mut Vec<u8>, &T),
    ) {
        for item in items {
            assert!(writer.put(open, |out| put(out, item)).unwrap(), "there is room");
        }
    }

    fn put_page<T>(out: &mut Vec<u8>, page: &AnswerPage<T>, mut put: impl FnMut(&mut Vec<u8>, &T)) {
        let mut bytes = PageBytes::default();
        for entry in &page.entries {
            assert!(bytes.put(usize::MAX, |out| put(out, entry)), "there is room");
        }
        bytes.encode(out, page.is_last);
    }

    fn put_newest(writer: &mut AnswersWriter, open: &mut OpenAnswer, page: &NewestPage) {
        writer.put_flag(page.columns.is_some());
        for (row, (value, edge)) in page.edges.entries.iter().enumerate() {
            let columns = page.columns.iter().flatten();
            let properties = columns.map(|column| column[row].clone());
            assert!(writer.put(open, |out| put_newest_edge(out, value, *edge, properties)).unwrap());
        }
        writer.put_flag(page.edges.is_last);
    }

    /// The bytes of answers.
    fn written<'a>(answers: impl Iterator<Item = &'a ViewAnswer>) -> Vec<u8> {
        let mut writer = AnswersWriter::new(usize::MAX);
        for answer in answers {
            let mut open = writer.begin();
            let (w, o) = (&mut writer, &mut open);
            match answer {
                ViewAnswer::Groups(all) => put_each(w, o, all, put_facts),
                ViewAnswer::Live(all) => put_each(w, o, all, put_live),
                ViewAnswer::Labels(all) => put_each(w, o, all, |out, label| put_label(out, *label)),
                ViewAnswer::Values(all) => put_each(w, o, all, |out, value| put_value(out, value.as_ref())),
                ViewAnswer::Maps(all) => put_each(w, o, all, |out, page| {
                    put_page(out, page, |out, (key, value)| put_property(out, *key, value));
                }),
                ViewAnswer::Lists(all) => put_each(w, o, all, |out, page| {
                    let mut list = ListWriter::default();
                    put_page(out, page, |out, entry| list.put(out, *entry));
                }),
                ViewAnswer::Degrees(all) => put_each(w, o, all, |out, degree| put_varint(out, *degree)),
                ViewAnswer::DegreesByType(all) => {
                    put_each(w, o, all, |out, all| put_degrees_by_type(out, all))
                }
                ViewAnswer::Edges(all) => put_each(w, o, all, |out, found| out.push(u8::from(*found))),
                ViewAnswer::Counts(all) => {
                    put_each(w, o, all, |out, count| put_varint(out, u64::from(*count)))
                }
                ViewAnswer::Newest(page) => put_newest(w, o, page),
                ViewAnswer::Items(page) => {
                    put_each(w, o, &page.entries, |out, item| put_item(out, *item));
                    w.put_flag(page.is_last);
                }
                ViewAnswer::Pairs(page) => {
                    put_each(w, o, &page.entries, |out, (value, item)| put_pair(out, value, *item));
                    w.put_flag(page.is_last);
                }
                ViewAnswer::IndexSizes(all) => {
                    put_each(w, o, all, |out, (index, size)| put_index_size(out, index, size));
                }
            }
            writer.end(open);
        }
        writer.finish()
    }

    proptest! {
        #[test]
        fn answers_read_back(answered in vec(any_answered(), 0..5), more in vec(any_question(), 0..2)) {
            let (questions, answers): (Vec<_>, Vec<_>) = answered.into_iter().unzip();
            let bytes = written(answers.iter());
            prop_assert_eq!(&decode_answers(&bytes, questions.iter()).unwrap(), &answers);
            let all = [questions, more].concat();
            prop_assert_eq!(&decode_answers(&bytes, all.iter()).unwrap(), &answers, "the first ones are answered");
            for cut in 0..bytes.len() {
                prop_assert!(decode_answers(&bytes[..cut], all.iter()).is_err(), "cut to {} bytes", cut);
            }
        }

        #[test]
        fn changed_bytes_are_refused_or_the_form_of_what_is_read(
            answered in vec(any_answered(), 1..4),
            edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let (questions, answers): (Vec<_>, Vec<_>) = answered.into_iter().unzip();
            let mut bytes = written(answers.iter());
            for (at, byte) in edits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(read) = decode_answers(&bytes, questions.iter()) {
                prop_assert_eq!(written(read.iter()), bytes);
            }
        }

        #[test]
        fn any_bytes_are_answers_or_an_error(
            questions in vec(any_question(), 1..4), count in 0u8..4, bytes in vec(any::<u8>(), 0..80),
        ) {
            let _ = decode_answers(&bytes, questions.iter());
            let head = [ANSWERS_VERSION, count, 0, 0, 0];
            let _ = decode_answers(&[&head[..], &bytes[..]].concat(), questions.iter());
        }
    }

    #[test]
    fn more_than_was_asked_for_is_refused() {
        let labels = |count: usize| ViewAnswer::Labels(vec![Some(LabelId(1)); count]);
        let bytes = written([labels(2)].iter());
        let of = |count: u32| ViewQuestion::Labels { vertices: (0..count).map(VertexId).collect() };
        assert!(decode_answers(&bytes, [of(2)].iter()).is_ok());
        let error = decode_answers(&bytes, [of(1)].iter()).unwrap_err();
        assert_eq!(error.expected, "at most 1 entries expected, found 2");
        assert!(decode_answers(&bytes, [].iter()).is_err(), "nothing was asked");
        let entries = vec![(VertexId(1), 0), (VertexId(2), 0)];
        let bytes = written([ViewAnswer::Lists(vec![AnswerPage { entries, is_last: false }])].iter());
        let list = |limit| {
            let (vertices, edge_type) = (vec![VertexId(0)], TypeId(0));
            ViewQuestion::Lists { vertices, edge_type, side: Direction::Out, after: None, limit }
        };
        assert!(decode_answers(&bytes, [list(2)].iter()).is_ok());
        assert!(decode_answers(&bytes, [list(1)].iter()).is_err());
        // What is announced and does not come takes no memory.
        let announced = [&[ANSWERS_VERSION, 1, 0, 0, 0][..], &[0xff; 4]].concat();
        assert!(decode_answers(&announced, [ViewQuestion::IndexSizes].iter()).is_err());
    }

    #[test]
    fn the_form_of_answers_stays() {
        let entries = vec![(VertexId(5), 0), (VertexId(5), 3), (VertexId(70), 0)];
        let lists = ViewAnswer::Lists(vec![AnswerPage { entries, is_last: true }]);
        let labels = ViewAnswer::Labels(vec![None, Some(LabelId(4))]);
        let bytes = written([lists, labels].iter());
        let wanted: [u8; 21] = [1, 2, 0, 0, 0, 1, 0, 0, 0, 7, 10, 1, 3, 0x82, 1, 2, 0, 0, 0, 0, 5];
        assert_eq!(bytes, wanted);
    }
}
