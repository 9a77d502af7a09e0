//! View: an engine's graph as of one commit, read in bulk.
//!
//! ```text
//! engine, pin ──> View ──> TrackedView           ──> Reader
//!                 (bulk)   (notes what is read)      (own writes, names, indexes: a GraphView)
//!                   └────> PointReads: one item
//! ```
//!
//! An engine answers about whole groups, lists and slices of items, so that it finds its way to a segment, a page
//! or a machine once for all of them. Questions about one item are derived from these, here, for every engine.

use crate::index::entry_bound::EntryBound;
use crate::index::index_item::IndexItem;
use evergraph_graph::column::{Column, ValueSink};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::OrderedMatches;
use evergraph_graph::newest::{NewestEdges, Stamped};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use std::sync::Arc;

/// Which rows of a vertex group: row `r` is bit `r % 64` of word `r / 64`.
pub type GroupBits = [u64; 64];

/// What an engine says of a look-up in an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexAnswer {
    /// It doesn't keep the index: the front asks its own entries. Nothing was appended.
    No,
    /// What was appended is what the view shows: every item has the value, and no property need be read.
    Exact,
    /// What was appended is a superset: whoever asks reads the property of each item and compares.
    Check,
}

/// How large an index is that an engine keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexSize {
    /// Its entries, about: one that lies in several places may be counted in each of them.
    pub entries: u64,
    /// Bytes of memory.
    pub bytes: u64,
    /// Bytes of files.
    pub file_bytes: u64,
}

/// An engine's graph at one timestamp.
///
/// # What is read
/// The state after every commit up to [`View::timestamp`], and nothing of later ones: the same answers as long as the
/// view lives, whatever is committed, merged or flushed meanwhile. Groups and edge types may be reported early, since
/// they are only ever added.
///
/// What isn't there yields nothing, and no error: an unknown vertex, edge, group, type or key has no value, no
/// neighbour, a count of zero, `false`. A *side* is `Direction::Out` or `Direction::In`, never `Both`.
///
/// # Slices
/// A question about a slice of items answers each item at its own position. Items come in any order, some more than
/// once; callers mostly ask for neighbours in a group or a list together, ascending, so that an engine resolves a
/// group or a list once for such a run ([`runs`]). A slice of one item is a point read ([`PointReads`]): it should
/// allocate nothing. An answer slice is as long as the slice of items; that is a promise of the caller, as sides are.
/// Answers overwrite their slices unless a method says otherwise; vectors and [`ValueSink`]s are appended to. After
/// an error they hold anything.
///
/// # Errors
/// Every method that returns a `Result` may fail where an engine reads files or asks other machines: `corrupt`,
/// naming file and offset, or `io`.
///
/// # Concurrency
/// Any number of threads read through one view. A read never waits for a writer, and is never made under the commit
/// latch or with the registry of snapshots locked, so it may do I/O. Methods without a `Result` answer from memory of the
/// process's own, but for [`View::index_size`].
pub trait View: Send + Sync {
    /// The timestamp that is read.
    fn timestamp(&self) -> Timestamp;

    /// One more than the highest group that exists, or zero.
    fn group_count(&self) -> u32;

    /// The label of a group, if the group exists. It never changes, and is known before the group's first vertex is
    /// visible.
    fn group_label(&self, group: GroupId) -> Result<Option<LabelId>>;

    /// The types that vertices of `group` may have edges of on this side, ascending: no other type has any. Cost: in
    /// the number of these types.
    fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>>;

    /// The rows of a group that are alive. Cost: linear in the group, whatever its properties take.
    fn live(&self, group: GroupId) -> Result<GroupBits>;

    /// The rows of `group` that may have edges of a type on a side: no other row has any. A check of the whole graph
    /// skips the others. An engine that can tell cheaply overrides this.
    fn rows_with_edges(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<GroupBits> {
        let _ = (group, edge_type, side);
        Ok([u64::MAX; 64])
    }

    /// How many edges of a type start at vertices of `group`. Cost: a look at what the engine keeps of the group and
    /// the type, such as a counter or an offset for each list; no list is read.
    fn group_edge_count(&self, group: GroupId, edge_type: TypeId) -> Result<u64>;

    /// The label of each vertex that is alive.
    fn labels(&self, vertices: &[VertexId], labels: &mut [Option<LabelId>]) -> Result<()>;

    /// Puts the value of property `key` of each vertex, in the order of `vertices`. Stored values of numbers can be
    /// put as they lie, a stretch at a time ([`ValueSink::put_stored`]).
    fn vertex_properties(&self, vertices: &[VertexId], key: KeyId, values: &mut dyn ValueSink) -> Result<()>;

    /// One property of a vertex. Look-ups read it of every candidate, so an engine whose values lie in memory
    /// overrides this: passing a value through a sink takes a tenth of such a look-up.
    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
        let mut value = None;
        self.vertex_properties(&[vertex], key, &mut value)?;
        Ok(value)
    }

    /// All properties of a vertex, by key.
    fn vertex_property_map(&self, vertex: VertexId) -> Result<Vec<(KeyId, Value)>>;

    /// Appends at most `limit` (neighbour, discriminator) pairs of a vertex on a side, ascending, each once: the first
    /// ones greater than `after`, which need not be in the list. So a reader takes a hub's list piece by piece.
    ///
    /// Cost: what is appended, and finding the place of `after`; what comes before it should not be read.
    fn neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        after: Option<(VertexId, u16)>,
        limit: usize,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()>;

    /// Whether a read may wait: for another machine, or for what another thread of this one has still to apply.
    #[inline]
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether it gains by what is announced ([`View::ahead`]): reads may take messages, which go together then. A reader
    /// that reads item by item announces its next reads only to such a view.
    #[inline]
    fn heeds_ahead(&self) -> bool {
        false
    }

    /// Says that the lists of `vertices` on a side are asked for next, one by one. An engine that reads files may read
    /// ahead what isn't in memory; one in memory does nothing. No error: what can't be read is told to who asks.
    #[inline]
    fn read_ahead(&self, vertices: &[VertexId], edge_type: TypeId, side: Direction) {
        let _ = (vertices, edge_type, side);
    }

    /// Says what is read next, item by item: the reader knows all items and has to take them one after the other. A view of
    /// other machines asks for all of them at once; one of this machine does nothing. What is announced need not be
    /// read. No error: what can't be read is told to who asks. For lists, see [`View::read_ahead`].
    #[inline]
    fn ahead(&self, next: NextReads<'_>) {
        let _ = next;
    }

    /// As [`GraphView::travels`](evergraph_graph::view::GraphView::travels). It lives as long as what the view reads.
    #[inline]
    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    /// *Adds* the number of edges of each vertex on a side to its entry in `degrees`: callers sum over types and
    /// sides. A self loop counts once on each side.
    ///
    /// Cost: a look at each list's length and at the changes since; no list is read.
    fn degrees(
        &self,
        vertices: &[VertexId],
        edge_type: TypeId,
        side: Direction,
        degrees: &mut [u64],
    ) -> Result<()>;

    /// Appends the first `limit` edges behind `after` that are `asked` for, in the order of
    /// [`GraphView::newest`](evergraph_graph::view::GraphView::newest), if the engine keeps such an order, and
    /// returns whether it does. Callers ask only for the property that the edge type was declared newest-first by;
    /// where the answer is no they sort the list themselves.
    fn newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<bool> {
        let _ = (asked, after, limit, ranked);
        Ok(false)
    }

    /// As [`View::newest`], and appends the values of each of `keys` of those edges to its column; nothing if the answer is
    /// no. There are as many columns as keys.
    fn newest_with_properties(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        keys: &[KeyId],
        columns: &mut [Column],
    ) -> Result<bool> {
        let before = ranked.items.len();
        if !self.newest(asked, after, limit, ranked)? {
            return Ok(false);
        }
        for (key, column) in keys.iter().zip(columns) {
            self.edge_properties(&ranked.items[before..], *key, column)?;
        }
        Ok(true)
    }

    /// Whether each edge is there.
    fn has_edges(&self, edges: &[EdgeId], found: &mut [bool]) -> Result<()>;

    /// How many parallel edges of a type lead from the first to the second vertex of each pair. Cost: as an edge that
    /// is looked for in its source's list.
    fn count_edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        edge_type: TypeId,
        counts: &mut [u32],
    ) -> Result<()>;

    /// As [`View::vertex_properties`], of edges. Edges of one list often come in its order.
    fn edge_properties(&self, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()>;

    /// One property of an edge. As [`View::vertex_property`].
    fn edge_property(&self, edge: EdgeId, key: KeyId) -> Result<Option<Value>> {
        let mut value = None;
        self.edge_properties(&[edge], key, &mut value)?;
        Ok(value)
    }

    /// All properties of an edge, by key.
    fn edge_property_map(&self, edge: EdgeId) -> Result<Vec<(KeyId, Value)>>;

    /// Whether [`View::candidates`] and [`View::between`] answer for an index that the engine keeps, and that is ready since this
    /// view's snapshot or earlier. Not always in a process that reads: another one may have made it ready meanwhile, in memory
    /// that the snapshot doesn't read.
    #[inline]
    fn answers_for(&self, index: IndexId) -> bool {
        let _ = index;
        true
    }

    /// The size of an index that the engine keeps; `None` if it doesn't answer for it.
    ///
    /// Cost: a look at each file's directory; nothing is read. A view of other machines asks them once.
    #[inline]
    fn index_size(&self, index: IndexId) -> Option<IndexSize> {
        let _ = index;
        None
    }

    /// Appends the first `limit` items greater than `after` that may have `value` by an index that the engine keeps
    /// ([`Engine::keeps_index`](crate::engine::Engine::keeps_index)), ascending, each once: fewer if these are all.
    ///
    /// Cost: what is appended, and finding the place of `after`.
    #[inline]
    fn candidates<I: IndexItem>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        items: &mut Vec<I>,
    ) -> Result<IndexAnswer> {
        let _ = (index, value, after, limit, items);
        Ok(IndexAnswer::No)
    }

    /// As [`View::candidates`], for the pairs that lie between two places of an ordered index, in its order or, if
    /// `descending`, in the reverse: from behind `after`, which is then the higher place, up to `until`. Neither place
    /// is an answer.
    #[inline]
    fn between<I: IndexItem>(
        &self,
        index: IndexId,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<IndexAnswer> {
        let _ = (index, after, until, descending, limit, pairs);
        Ok(IndexAnswer::No)
    }
}

/// Questions about one item, derived from those about slices; none of them allocates for the question's sake.
///
/// # Errors
/// As [`View`].
pub trait PointReads: View {
    /// The label of a vertex, if it is alive.
    #[inline]
    fn label(&self, vertex: VertexId) -> Result<Option<LabelId>> {
        let mut label = [None];
        self.labels(&[vertex], &mut label)?;
        Ok(label[0])
    }

    /// Appends all (neighbour, discriminator) pairs of a vertex on a side, ascending.
    #[inline]
    fn all_neighbors(
        &self,
        vertex: VertexId,
        edge_type: TypeId,
        side: Direction,
        list: &mut Vec<(VertexId, u16)>,
    ) -> Result<()> {
        self.neighbors(vertex, edge_type, side, None, usize::MAX, list)
    }

    /// The number of edges of a vertex on a side.
    #[inline]
    fn degree(&self, vertex: VertexId, edge_type: TypeId, side: Direction) -> Result<u64> {
        let mut degree = [0];
        self.degrees(&[vertex], edge_type, side, &mut degree)?;
        Ok(degree[0])
    }

    /// Whether an edge is there.
    #[inline]
    fn has_edge(&self, edge: EdgeId) -> Result<bool> {
        let mut found = [false];
        self.has_edges(&[edge], &mut found)?;
        Ok(found[0])
    }
}

impl<V: View + ?Sized> PointReads for V {}

/// Cuts `items` into the longest runs whose neighbours are `together`, each with its part of `answers`.
///
/// # Panics
/// If there are fewer answers than items.
pub fn runs<'a, T, A>(
    items: &'a [T],
    answers: &'a mut [A],
    together: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = (&'a [T], &'a mut [A])> {
    let mut rest = answers;
    items.chunk_by(together).map(move |run| {
        let (answers, behind) = std::mem::take(&mut rest).split_at_mut(run.len());
        rest = behind;
        (run, answers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_comes_with_its_own_answers() {
        let mut answers = [0; 6];
        for (run, answers) in runs(&[1, 2, 2, 5, 6, 3], &mut answers, |one, next| one + 1 == *next) {
            answers.fill(run.len());
        }
        assert_eq!(answers, [2, 2, 1, 2, 2, 1]);
        assert_eq!(runs(&[], &mut [0; 0], |_: &u8, _| true).count(), 0);
    }
}
