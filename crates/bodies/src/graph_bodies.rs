//! Graph bodies: a whole graph becomes the bodies of a new database, for a conversion.
//!
//! ```text
//! source:  the vertices of a group | the edges of a group, of one type and side  ──> a body each, written at once
//! ```
//!
//! A source hands out lists in the order of bodies, so that nothing is sorted.

use crate::body::Body;
use crate::body_sink::BodySink;
use crate::edge_body::EdgeBody;
use crate::net::{Effect, Net};
use crate::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, KeyId};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::properties::Properties;
use evergraph_storage::conversion::source::{GraphSource, ListedEdge};
use evergraph_storage::record::RecordKey;
use evergraph_storage::view::View;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Writes the bodies of all vertices and edges of a graph. Cost: one pass over the source; memory for the edges of one type and
/// side in one group, or for the vertices of a group, with their properties.
///
/// # Errors
/// What reading the source and writing say; `limit` for more edges in a group than a body can have.
pub fn write_bodies<V: View>(source: &mut GraphSource<'_, V>, bodies: &mut impl BodySink) -> Result<()> {
    for group in source.groups() {
        let mut nets = Vec::new();
        source.vertices(group, &mut |vertex, properties| {
            let key = RecordKey::vertex(vertex.row());
            nets.push(Net { key, effect: Effect::Present(properties), difference: 1 });
            Ok(())
        })?;
        bodies.vertices(group.id, &VertexBody::empty().merged(&nets))?;
    }
    for group in source.groups() {
        for side in [Direction::Out, Direction::In] {
            for edge_type in source.edge_types(group.id, side)? {
                let mut lists = Lists::default();
                source.edges(group.id, edge_type, side, &mut |edge, properties| {
                    lists.push(edge, &properties)
                })?;
                bodies.edges(group.id, edge_type, side, lists.finish())?;
            }
        }
    }
    Ok(())
}

/// The lists of a group, of one type and side, on their way to a body.
struct Lists {
    degrees: Vec<u32>,
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    /// Each as long as its last value needs.
    columns: BTreeMap<KeyId, PackedColumnBuilder>,
}

impl Default for Lists {
    fn default() -> Self {
        let degrees = vec![0; GROUP_SIZE as usize];
        Self { degrees, neighbors: Vec::new(), discriminators: Vec::new(), columns: BTreeMap::new() }
    }
}

impl Lists {
    fn push(&mut self, edge: ListedEdge, properties: &Properties) -> Result<()> {
        let at = self.neighbors.len();
        if at >= u32::MAX as usize {
            let text = format!("the group of {} has too many edges of one type for one body", edge.vertex);
            return Err(Error::new(ErrorKind::Limit, text));
        }
        self.degrees[usize::from(edge.vertex.row())] += 1;
        self.neighbors.push(edge.neighbor.0);
        self.discriminators.push(edge.discriminator);
        for (key, value) in properties.as_slice() {
            let column = self.columns.entry(*key).or_default();
            column.copy(None, column.len()..at);
            column.push(value.as_ref());
        }
        Ok(())
    }

    fn finish(self) -> EdgeBody {
        let edges = self.neighbors.len();
        let columns = self.columns.into_iter().filter_map(|(key, mut column)| {
            column.copy(None, column.len()..edges);
            Some((key, Arc::new(column.finish()?)))
        });
        EdgeBody::new(&self.degrees, self.neighbors.into(), self.discriminators.into(), columns.collect())
    }
}
