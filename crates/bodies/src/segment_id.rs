//! Segment id: which segment of a graph: its group, what it is about, and whether it is a hub's own.

use crate::body_form::StableForm;
use crate::edge_subject::EdgeSubject;
use evergraph_graph::id::{Direction, GroupId};
use std::fmt;

/// What a segment is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentId {
    /// The vertex group.
    pub group: GroupId,
    /// The edge type and side; `None` for the vertices themselves.
    pub subject: Option<EdgeSubject>,
    /// The row, if it is a hub's own segment.
    pub hub: Option<u16>,
}

impl SegmentId {
    /// Whether `body` may be this segment's, besides being sound in itself: lists of the in side have no
    /// properties, which lie on the out side and are found there.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn check_body(&self, body: &impl StableForm) -> Result<(), String> {
        let columns = body.columns_count();
        match self.subject.map(EdgeSubject::side) {
            Some(Direction::In) if columns > 0 => {
                Err(format!("lists of the in side without properties expected, found {columns} columns"))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.subject {
            None => write!(f, "the vertices of group {}", self.group.0),
            Some(subject) => {
                let side = if subject.side() == Direction::Out { "out" } else { "in" };
                write!(f, "the {side} edges of type {} of ", subject.edge_type().0)?;
                match self.hub {
                    None => write!(f, "group {}", self.group.0),
                    Some(row) => write!(f, "hub v{}", self.group.first().0 + u32::from(row)),
                }
            }
        }
    }
}
