//! List source: a sorted sequence of records as a merge reads it, one slice of a list at a time.
//!
//! ```text
//! slice       list      neighbors  3 3 7 9      discriminators  0 1 0 0      operations  + - + +
//!             first_rank 40: the properties of the records are those of ranks 40, 41, 42, 43
//! source      slices ascend by list; a long list may come in several; keys ascend through all of them
//! stamped     a key may have several records, from the oldest to the newest, in one slice or more
//! ```
//!
//! Vertices are one list: in the subject of vertices `vertex` is 0 and `neighbors` are the vertices.

use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::ItemKey;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// A list: the edges of one vertex in one subject, or all vertices.
///
/// Differs from [`ListId`](crate::format::tree_key::ListId), by which each vertex has a list of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListKey {
    /// The subject; never an index.
    pub subject: Subject,
    /// The vertex that has the list; 0 in the subject of vertices.
    pub vertex: VertexId,
}

/// Consecutive records of one list. Arrays that are not empty have one value a record.
#[derive(Clone, Copy, Debug)]
pub struct ListSlice<'a> {
    /// The list.
    pub list: ListKey,
    /// The vertex at the other end of each edge, ascending; at least one.
    pub neighbors: &'a [u32],
    /// Discriminators; empty if all are 0.
    pub discriminators: &'a [u16],
    /// Operations; empty if all are Inserts.
    pub operations: &'a [RecordOperation],
    /// When each was committed; `None` in a source without stamps, which has one record a key.
    pub stamps: Option<&'a [Timestamp]>,
    /// The rank of the first record's properties. Those of the others follow one by one.
    pub first_rank: u64,
}

impl ListSlice<'_> {
    /// Neighbour and discriminator of a record, in the order of the list.
    #[inline]
    pub(crate) fn key(&self, at: usize) -> ItemKey {
        ItemKey::edge(VertexId(self.neighbors[at]), self.discriminators.get(at).copied().unwrap_or(0))
    }

    #[inline]
    pub(crate) fn operation(&self, at: usize) -> RecordOperation {
        self.operations.get(at).copied().unwrap_or(RecordOperation::Insert)
    }
}

/// What a slice is, without its arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SliceFront {
    /// The list.
    pub list: ListKey,
    /// The rank of the first record's properties.
    pub first_rank: u64,
    /// How many records.
    pub count: usize,
    /// Whether there are neither stamps nor operations: all are Inserts, one a key.
    pub is_bare: bool,
}

/// Records in key order: a memory graph, a file, or a sorted run of files.
pub trait ListSource {
    /// Why it cannot be read.
    type Error;

    /// The slice in front; `None` at the end. The same until [`ListSource::advance`].
    fn slice(&self) -> Option<ListSlice<'_>>;

    /// What the slice in front is. Merges look at it several times a list, and at the slice once.
    #[inline]
    fn front(&self) -> Option<SliceFront> {
        self.slice().map(|slice| SliceFront {
            list: slice.list,
            first_rank: slice.first_rank,
            count: slice.neighbors.len(),
            is_bare: slice.stamps.is_none() && slice.operations.is_empty(),
        })
    }

    /// Goes on behind the slice in front.
    ///
    /// # Errors
    /// If what follows cannot be read.
    fn advance(&mut self) -> Result<(), Self::Error>;
}
