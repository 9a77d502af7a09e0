//! Owner: a label or an edge type, which has properties and indexes on them.

use crate::id::{LabelId, TypeId};

/// What has properties: the vertices of a label or the edges of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Owner {
    /// The vertices of a label.
    Label(LabelId),
    /// The edges of a type.
    EdgeType(TypeId),
}
