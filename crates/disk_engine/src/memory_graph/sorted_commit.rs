//! Sorted commit: a commit's mutations as records in the order of lists.
//!
//! ```text
//! sort key   subject:18 | vertex:32 | neighbour:32 | discriminator:16 | mutation:26
//! lists      [ list, its records ] ...     by subject, then vertex: those of a segment stand together
//! ```
//!
//! Everything here happens before the latch. An edge is inserted and deleted on both sides; its properties are on the
//! out side only, where readers of the in side find them by a search.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::memory_graph::record::PendingRecord;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, GroupId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_storage::planted::{Bug, planted};
use std::ops::Range;

/// Records of a commit that goes into the open graph; a larger one brings a graph of its own.
#[cfg(not(any(shuttle, loom)))]
pub const APPENDED_RECORDS_MAX: usize = 1 << 17;
/// Records of a commit that goes into the open graph: few, so that schedules have larger ones.
#[cfg(any(shuttle, loom))]
pub const APPENDED_RECORDS_MAX: usize = 4;

/// Where a record is to stand, and the mutation that it comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey(u128);

impl SortKey {
    const MUTATION_BITS: u32 = 26;

    #[inline]
    fn new(list: ListId, item: ItemKey, mutation: usize) -> Self {
        let list = u128::from(list.subject.number()) << 32 | u128::from(list.vertex.0);
        Self((list << 48 | u128::from(item.bits())) << Self::MUTATION_BITS | mutation as u128)
    }

    #[inline]
    fn list(self) -> ListId {
        let list = self.0 >> (48 + Self::MUTATION_BITS);
        ListId { subject: Subject::numbered((list >> 32) as u32), vertex: VertexId(list as u32) }
    }

    #[inline]
    fn item(self) -> ItemKey {
        ItemKey::from_bits((self.0 >> Self::MUTATION_BITS) as u64)
    }

    #[inline]
    fn mutation(self) -> usize {
        self.0 as usize & ((1 << Self::MUTATION_BITS) - 1)
    }
}

/// What a mutation does to an edge, if it is about one.
#[inline]
fn of_edge(mutation: &Mutation) -> Option<(&EdgeId, RecordOperation, &Properties)> {
    Some(match mutation {
        Mutation::InsertEdge { edge, properties } => (edge, RecordOperation::Insert, properties),
        Mutation::ReplaceEdge { edge, properties } => (edge, RecordOperation::Replace, properties),
        Mutation::DeleteEdge { edge } => (edge, RecordOperation::Delete, &Properties::EMPTY),
        Mutation::SetEdgeProperties { edge, properties } => (edge, RecordOperation::Set, properties),
        _ => return None,
    })
}

/// What a mutation does to a vertex, if it is about one.
fn of_vertex(mutation: &Mutation) -> Option<(VertexId, RecordOperation, &Properties)> {
    Some(match mutation {
        Mutation::InsertVertex { vertex, properties, .. } => (*vertex, RecordOperation::Insert, properties),
        Mutation::DeleteVertex { vertex } => (*vertex, RecordOperation::Delete, &Properties::EMPTY),
        Mutation::SetVertexProperties { vertex, properties } => (*vertex, RecordOperation::Set, properties),
        _ => return None,
    })
}

/// The records of one list in a commit.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct CommitList {
    /// The list.
    pub id: ListId,
    /// Its records.
    pub records: Range<usize>,
}

impl CommitList {
    /// The segment of the list.
    pub(super) fn segment(&self) -> (Subject, GroupId) {
        (self.id.subject, self.id.vertex.group())
    }
}

/// A commit's records, sorted by list and item.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SortedCommit {
    pub(super) records: Vec<PendingRecord>,
    pub(super) lists: Vec<CommitList>,
    /// Bytes of property values on the heap.
    values_bytes: u64,
    /// Records that have values.
    payloads_count: u64,
}

impl SortedCommit {
    /// Sorts what `mutations` do to vertices and edges; schema changes are skipped. Cost: a sort of numbers of 16
    /// bytes, if mutations do not come by edge; property values are shared, not copied.
    ///
    /// # Errors
    /// `corrupt` if there are more mutations than any commit has: only a damaged log can say so.
    pub fn new(mutations: &[Mutation]) -> Result<Self> {
        Self::of_each(mutations, |mutation| mutation)
    }

    /// As [`SortedCommit::new`], of the mutation that each of `items` has.
    ///
    /// # Errors
    /// As [`SortedCommit::new`].
    pub fn of_each<T>(items: &[T], mutation_of: impl Fn(&T) -> &Mutation) -> Result<Self> {
        if items.len() > 1 << SortKey::MUTATION_BITS {
            let text = "a commit has more mutations than any that was written";
            return Err(Error::new(ErrorKind::Corrupt, text));
        }
        let mut keys = Vec::with_capacity(items.len() * 2);
        for (number, mutation) in items.iter().map(&mutation_of).enumerate() {
            if let Some((edge, operation, _)) = of_edge(mutation) {
                let item = ItemKey::edge(edge.target, edge.discriminator);
                keys.push(SortKey::new(ListId::out_list(edge), item, number));
                let is_on_both = matches!(operation, RecordOperation::Insert | RecordOperation::Delete);
                if is_on_both && !planted(Bug::ForgetInEdge) {
                    let item = ItemKey::edge(edge.source, edge.discriminator);
                    keys.push(SortKey::new(ListId::in_list(edge), item, number));
                }
            } else if let Some((vertex, ..)) = of_vertex(mutation) {
                keys.push(SortKey::new(ListId::vertex(vertex), ItemKey::VERTEX, number));
            }
        }
        keys.sort_unstable();
        let mut commit = Self { records: Vec::with_capacity(keys.len()), ..Self::default() };
        for keys in keys.chunk_by(|a, b| a.list() == b.list()) {
            let id = keys[0].list();
            let first = commit.records.len();
            let carries_properties = id.carries_properties();
            commit.records.extend(keys.iter().map(|key| {
                let mutation = mutation_of(&items[key.mutation()]);
                let (operation, payload) = of_edge(mutation)
                    .map(|(_, operation, payload)| (operation, payload))
                    .or_else(|| of_vertex(mutation).map(|(_, operation, payload)| (operation, payload)))
                    .expect("no other mutation has a key");
                let payload = if carries_properties { payload.clone() } else { Properties::EMPTY };
                commit.values_bytes += payload.heap_bytes() as u64;
                commit.payloads_count += u64::from(!payload.is_empty());
                PendingRecord { item: key.item(), operation, payload }
            }));
            commit.lists.push(CommitList { id, records: first..commit.records.len() });
        }
        debug_assert!(commit.has_one_record_an_item(), "a commit is coalesced to one write per key");
        Ok(commit)
    }

    /// How many records there are, both sides of edges counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the commit changes no vertex and no edge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether the commit brings a graph of its own.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.len() > APPENDED_RECORDS_MAX
    }

    /// The segments that are touched, ascending, each once: so that an engine knows new pairs of group and edge type
    /// before the commit.
    pub fn segments(&self) -> impl Iterator<Item = (Subject, GroupId)> + '_ {
        let mut segments = self.lists.iter().map(CommitList::segment).peekable();
        std::iter::from_fn(move || {
            let segment = segments.next()?;
            while segments.next_if_eq(&segment).is_some() {}
            Some(segment)
        })
    }

    /// Bytes of property values on the heap, and how many records have some.
    pub(super) fn payloads(&self) -> (u64, u64) {
        (self.values_bytes, self.payloads_count)
    }

    fn has_one_record_an_item(&self) -> bool {
        let is_strict =
            |list: &CommitList| self.records[list.records.clone()].is_sorted_by(|a, b| a.item < b.item);
        self.lists.iter().all(is_strict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::{KeyId, TypeId};
    use evergraph_graph::value::Value;

    #[test]
    fn an_insert_goes_to_both_sides_and_properties_to_the_out_side_only() {
        let edge = |source, target| EdgeId {
            source: VertexId(source),
            edge_type: TypeId(2),
            target: VertexId(target),
            discriminator: 0,
        };
        let properties = Properties::new(vec![(KeyId(1), Some(Value::from("x")))]);
        let insert = |s, t| Mutation::InsertEdge { edge: edge(s, t), properties: properties.clone() };
        let set = Mutation::SetEdgeProperties { edge: edge(3, 4), properties: properties.clone() };
        let delete = Mutation::DeleteVertex { vertex: VertexId(8000) };
        let commit = SortedCommit::new(&[insert(1, 5000), insert(1, 9), set, delete]).unwrap();
        let lists: Vec<_> =
            commit.lists.iter().map(|list| (list.id.subject, list.id.vertex.0, list.records.len())).collect();
        let out = Subject::edges(TypeId(2), EdgeSide::Out);
        let into = Subject::edges(TypeId(2), EdgeSide::In);
        let vertices = Subject::VERTICES;
        assert_eq!(lists, [(vertices, 8000, 1), (out, 1, 2), (out, 3, 1), (into, 9, 1), (into, 5000, 1)]);
        let segments: Vec<_> = commit.segments().collect();
        let group = GroupId;
        assert_eq!(segments, [(vertices, group(1)), (out, group(0)), (into, group(0)), (into, group(1))]);
        assert_eq!(commit.payloads().1, 3);
        assert_eq!((commit.len(), commit.is_empty(), commit.is_large()), (6, false, false));
        assert_eq!(commit.records[1].item, ItemKey::edge(VertexId(9), 0));
    }
}
