//! Mapped lists: what freezing finds of a segment: its body where it lies in a file, or a copy where edges are left out.

use crate::body_store::stored_body::StoredBody;
use crate::body_store::stored_column::StoredColumn;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_lists::EdgeLists;
use evergraph_bodies::frozen::label_lists::BodyIdentity;
use evergraph_bodies::frozen::stored_lists::{self, ColumnPart, StoredLists};
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::column::PackedColumn;
use std::ops::Range;
use std::sync::Arc;

/// The lists of one segment.
#[derive(Clone, Debug)]
pub enum MappedLists {
    /// The body of the segment, in place.
    Place(Arc<StoredBody>),
    /// In the heap.
    Copy(Arc<EdgeBody>),
}

/// The values of one property of these lists.
#[derive(Clone, Debug)]
pub enum MappedColumn {
    /// In its file.
    Place(Arc<StoredColumn>),
    /// In the heap.
    Copy(Arc<PackedColumn>),
}

impl StoredLists for MappedLists {
    type Column = MappedColumn;

    fn of_copy(body: Arc<EdgeBody>) -> Self {
        Self::Copy(body)
    }

    fn identity(&self) -> BodyIdentity {
        match self {
            Self::Place(body) => body.identity(),
            Self::Copy(body) => Arc::clone(body) as BodyIdentity,
        }
    }

    #[inline]
    fn lists(&self) -> Result<EdgeLists<'_>> {
        match self {
            Self::Place(body) => Ok(body.edges()?),
            Self::Copy(body) => StoredLists::lists(body),
        }
    }

    fn column(&self, key: KeyId) -> Result<Option<MappedColumn>> {
        Ok(match self {
            Self::Place(body) => body.column(key).map(|column| MappedColumn::Place(Arc::clone(column))),
            Self::Copy(body) => StoredLists::column(body, key)?.map(MappedColumn::Copy),
        })
    }
}

impl stored_lists::StoredColumn for MappedColumn {
    fn floats(&self) -> Result<Option<&[f64]>> {
        match self {
            Self::Place(column) => Ok(column.floats()?),
            Self::Copy(column) => Ok(PackedColumn::floats(column)),
        }
    }

    fn part(&self, places: Range<usize>) -> Result<ColumnPart<'_>> {
        match self {
            Self::Place(column) => Ok(ColumnPart::copied(column.part(places.clone())?, places.start)),
            Self::Copy(column) => Ok(ColumnPart::whole(column)),
        }
    }
}
