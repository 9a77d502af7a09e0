//! Graph writer: a whole graph becomes the bodies of a new database, for a conversion.
//!
//! ```text
//! source:  the vertices of a group | the edges of a group, of one type and side  ──> a body each, written at once
//! ```
//!
//! A source hands out lists in the order of bodies, so that nothing is sorted.

use crate::salvage::new_bodies::NewBodies;
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::segment::net::{Effect, Net};
use crate::segment::record::RecordKey;
use crate::segment::vertex_body::VertexBody;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GROUP_SIZE, KeyId};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::properties::Properties;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::conversion::source::{GraphSource, ListedEdge};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::view::View;
use std::collections::BTreeMap;
use std::sync::Arc;

/// As `DurableEngine::write_graph`. Cost: one pass over the source; memory for the edges of one type and side in one
/// group, or for the vertices of a group, with their properties.
///
/// # Errors
/// As `DurableEngine::write_graph`; `limit` for more edges in a group than a body can have.
pub(crate) fn write_graph<V: View>(
    source: &mut GraphSource<'_, V>,
    directory: &Arc<dyn Directory>,
) -> Result<(Manifest, u64)> {
    let mut bodies = NewBodies::new(directory, source.timestamp());
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
            for edge_type in source.edge_types(group.id, side) {
                let mut lists = Lists::default();
                source.edges(group.id, edge_type, side, &mut |edge, properties| {
                    lists.push(edge, &properties)
                })?;
                bodies.edges(group.id, edge_type, side, lists.finish())?;
            }
        }
    }
    bodies.into_manifest(source.catalogue().clone(), source.groups().to_vec())
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
            let text =
                format!("the group of {} has too many edges of one type for the memory engine", edge.vertex);
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
