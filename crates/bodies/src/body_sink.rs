//! Body sink: where the bodies of a whole graph go, one after the other, when a database is written that nobody has open.

use crate::edge_body::EdgeBody;
use crate::vertex_body::VertexBody;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, TypeId};

/// The bodies of a database that is being written.
pub trait BodySink {
    /// Writes the vertices of a group.
    ///
    /// # Errors
    /// `corrupt` if the body breaks its own rules, `limit`, `io`.
    fn vertices(&mut self, group: GroupId, body: &VertexBody) -> Result<()>;

    /// Writes the edges of a group, of one type and side; hubs apart.
    ///
    /// # Errors
    /// As [`BodySink::vertices`]; `corrupt` also if lists of the in side have properties.
    fn edges(&mut self, group: GroupId, edge_type: TypeId, side: Direction, body: EdgeBody) -> Result<()>;
}
