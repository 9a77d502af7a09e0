//! Stored lists: what freezing asks of an engine's bodies, wherever these lie.
//!
//! ```text
//! memory engine   a body on the heap, and its columns          never fails
//! mapped engine   a body in a file, read where it lies         fails if the file is damaged
//! ```

use crate::edge_body::EdgeBody;
use crate::edge_lists::EdgeLists;
use crate::frozen::label_lists::BodyIdentity;
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::column::PackedColumn;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The lists of one segment, which never change; they stay as long as somebody keeps this.
///
/// # Errors
/// `corrupt` where they lie in files.
pub trait StoredLists: Clone + Send + Sync {
    /// The values of one property.
    type Column: StoredColumn;

    /// Lists that were made of an engine's, without edges that are left out.
    fn of_copy(body: Arc<EdgeBody>) -> Self;

    /// What the body is known by.
    fn identity(&self) -> BodyIdentity;

    /// The lists. Cost: constant, since each visit of a group asks.
    fn lists(&self) -> Result<EdgeLists<'_>>;

    /// The values of a property, an item for each edge; `None` if no edge has it.
    fn column(&self, key: KeyId) -> Result<Option<Self::Column>>;
}

/// The values of one property of edges, by place.
///
/// # Errors
/// As those of [`StoredLists`].
pub trait StoredColumn: Clone + Send + Sync {
    /// All values where they lie, if every edge has one and they are a plain array of `f64`. Cost: constant.
    fn floats(&self) -> Result<Option<&[f64]>>;

    /// The values at `places`, copied where they aren't in memory.
    fn part(&self, places: Range<usize>) -> Result<ColumnPart<'_>>;
}

/// Some values of a column.
#[derive(Clone, Debug)]
pub struct ColumnPart<'a> {
    column: Cow<'a, PackedColumn>,
    /// The place of its first item.
    first: usize,
}

impl<'a> ColumnPart<'a> {
    /// A whole column.
    #[must_use]
    pub fn whole(column: &'a PackedColumn) -> Self {
        Self { column: Cow::Borrowed(column), first: 0 }
    }

    /// A copy of the items from `first` on.
    #[must_use]
    pub fn copied(column: PackedColumn, first: usize) -> Self {
        Self { column: Cow::Owned(column), first }
    }

    /// The number at a place; whether there is a value, which may be none.
    #[inline]
    pub(crate) fn number(&self, at: usize) -> (Option<f64>, bool) {
        let at = at - self.first;
        (self.column.number(at), self.column.has(at))
    }
}

impl StoredLists for Arc<EdgeBody> {
    type Column = Arc<PackedColumn>;

    fn of_copy(body: Self) -> Self {
        body
    }

    fn identity(&self) -> BodyIdentity {
        Self::clone(self)
    }

    #[inline]
    fn lists(&self) -> Result<EdgeLists<'_>> {
        Ok(EdgeBody::lists(self))
    }

    fn column(&self, key: KeyId) -> Result<Option<Arc<PackedColumn>>> {
        Ok(EdgeBody::column(self, key).cloned())
    }
}

impl StoredColumn for Arc<PackedColumn> {
    #[inline]
    fn floats(&self) -> Result<Option<&[f64]>> {
        Ok(PackedColumn::floats(self))
    }

    fn part(&self, _places: Range<usize>) -> Result<ColumnPart<'_>> {
        Ok(ColumnPart::whole(self))
    }
}
