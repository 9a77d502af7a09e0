//! Source: a graph as of one commit, handed out in the order of its ids, so that an engine writes it in one pass.
//!
//! ```text
//! vertices(group)                 row 0, 1, 2 ... with their properties
//! edges(group, type, Out)         by (source, target, discriminator), with their properties
//! edges(group, type, In)          by (target, source, discriminator), without
//! ```
//!
//! Whoever reads it may ask for groups and types in any order, and for one of them as often as it likes; progress
//! counts what was handed out.

use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::view::Statistics;

use crate::checkpoint::manifest::StoredGroup;
use crate::checkpoint::report::{CheckProgress, tell};
use crate::view::View;

/// Vertices whose properties are in memory at once.
const VERTICES: usize = 1 << 10;
/// Edges whose properties are in memory at once.
const EDGES: usize = 1 << 13;

/// An edge as one of its ends has it in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedEdge {
    /// The end that has the list: the source on the out side, the target on the in side.
    pub vertex: VertexId,
    /// The other end.
    pub neighbor: VertexId,
    /// Tells parallel edges apart.
    pub discriminator: u16,
}

/// A graph to be written.
pub struct GraphSource<'a, V> {
    view: &'a V,
    catalogue: &'a Catalogue,
    groups: &'a [StoredGroup],
    progress: &'a mut CheckProgress<'a>,
    /// Vertices, and edges counted once.
    total: (u64, u64),
    /// Vertices, and edges counted once a side.
    done: (u64, u64),
}

impl<'a, V: View> GraphSource<'a, V> {
    /// What `view` shows, which `counts` were taken of, with the names in `catalogue`. `groups` are all that have
    /// vertices, ascending. `progress` hears of vertices and of edges, each side for itself, and may ask to stop.
    #[must_use]
    pub fn new(
        view: &'a V,
        catalogue: &'a Catalogue,
        groups: &'a [StoredGroup],
        counts: &Statistics,
        progress: &'a mut CheckProgress<'a>,
    ) -> Self {
        let vertices = counts.vertices.iter().map(|(_, count)| count).sum();
        let edges = counts.edges.iter().map(|(_, count)| count).sum();
        Self { view, catalogue, groups, progress, total: (vertices, edges), done: (0, 0) }
    }

    /// The commit whose state it is.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.view.timestamp()
    }

    /// The names.
    #[must_use]
    pub fn catalogue(&self) -> &'a Catalogue {
        self.catalogue
    }

    /// Every group, ascending, and how many of its ids were given out.
    #[must_use]
    pub fn groups(&self) -> &'a [StoredGroup] {
        self.groups
    }

    /// The types of edges that vertices of `group` may have on a side, ascending.
    ///
    /// # Errors
    /// What reading says.
    pub fn edge_types(&self, group: GroupId, side: Direction) -> Result<Vec<TypeId>> {
        self.view.edge_types(group, side)
    }

    /// Hands out the vertices of a group, ascending. Cost: a pass over the group; memory for 1,024 vertices.
    ///
    /// # Errors
    /// What `visit` and reading say; `cancelled`.
    pub fn vertices(
        &mut self,
        group: &StoredGroup,
        visit: &mut dyn FnMut(VertexId, Properties) -> Result<()>,
    ) -> Result<()> {
        let live = self.view.live(group.id)?;
        let is_alive = |row: &u16| live[usize::from(*row) / 64] >> (row % 64) & 1 == 1;
        let vertices = (0..GROUP_SIZE as u16).filter(is_alive).map(|row| VertexId::new(group.id, row));
        let vertices: Vec<VertexId> = vertices.collect();
        let keys = self.vertex_keys(group.label);
        for batch in vertices.chunks(VERTICES) {
            let mut columns = Columns::new(batch.len());
            for key in &keys {
                columns.read(*key, |values| self.view.vertex_properties(batch, *key, values))?;
            }
            for (at, vertex) in batch.iter().enumerate() {
                visit(*vertex, columns.take(at))?;
            }
            self.done.0 += batch.len() as u64;
            tell(self.progress, "vertices", self.done.0, self.total.0)?;
        }
        Ok(())
    }

    /// Hands out the edges of a type on one side of a group, in the order of its lists. Cost: a pass over the lists
    /// and, on the out side, the properties; memory for 8,192 edges.
    ///
    /// # Errors
    /// As [`GraphSource::vertices`].
    pub fn edges(
        &mut self,
        group: GroupId,
        edge_type: TypeId,
        side: Direction,
        visit: &mut dyn FnMut(ListedEdge, Properties) -> Result<()>,
    ) -> Result<()> {
        let rows = self.view.rows_with_edges(group, edge_type, side)?;
        let has_edges = |row: &u16| rows[usize::from(*row) / 64] >> (row % 64) & 1 == 1;
        let keys: Vec<KeyId> = match side {
            Direction::Out => {
                self.catalogue.properties_of(Owner::EdgeType(edge_type)).map(|(key, _)| key).collect()
            }
            _ => Vec::new(),
        };
        let (mut batch, mut list) = (Vec::with_capacity(EDGES), Vec::new());
        for vertex in (0..GROUP_SIZE as u16).filter(has_edges).map(|row| VertexId::new(group, row)) {
            let mut after = None;
            loop {
                let limit = EDGES - batch.len();
                list.clear();
                self.view.neighbors(vertex, edge_type, side, after, limit, &mut list)?;
                let edge = |(neighbor, discriminator): &(VertexId, u16)| ListedEdge {
                    vertex,
                    neighbor: *neighbor,
                    discriminator: *discriminator,
                };
                batch.extend(list.iter().map(edge));
                if list.len() < limit {
                    break;
                }
                after = list.last().copied();
                self.hand_out(&mut batch, edge_type, &keys, visit)?;
            }
        }
        self.hand_out(&mut batch, edge_type, &keys, visit)
    }

    /// Empties `batch`.
    fn hand_out(
        &mut self,
        batch: &mut Vec<ListedEdge>,
        edge_type: TypeId,
        keys: &[KeyId],
        visit: &mut dyn FnMut(ListedEdge, Properties) -> Result<()>,
    ) -> Result<()> {
        let mut columns = Columns::new(batch.len());
        if !keys.is_empty() {
            let id = |edge: &ListedEdge| EdgeId {
                source: edge.vertex,
                edge_type,
                target: edge.neighbor,
                discriminator: edge.discriminator,
            };
            let edges: Vec<EdgeId> = batch.iter().map(id).collect();
            for key in keys {
                columns.read(*key, |values| self.view.edge_properties(&edges, *key, values))?;
            }
        }
        self.done.1 += batch.len() as u64;
        for (at, edge) in batch.drain(..).enumerate() {
            visit(edge, columns.take(at))?;
        }
        tell(self.progress, "edges, both directions", self.done.1, self.total.1.saturating_mul(2))
    }

    /// The keys of what vertices with `label` may have, meta-properties among them, ascending.
    fn vertex_keys(&self, label: LabelId) -> Vec<KeyId> {
        let named: Vec<KeyId> =
            self.catalogue.properties_of(Owner::Label(label)).map(|(key, _)| key).collect();
        let meta: Vec<KeyId> = named.iter().filter_map(|key| self.catalogue.meta_key(label, *key)).collect();
        let mut keys = [named, meta].concat();
        keys.sort_unstable();
        keys
    }

    /// Vertices and edges that were handed out, for an engine that asked for each group, type and side once.
    ///
    /// # Errors
    /// `corrupt` if these are not those that the graph counts.
    pub(super) fn finish(self) -> Result<(u64, u64)> {
        let (vertices, edges) = self.total;
        if self.done == (vertices, edges.saturating_mul(2)) {
            return Ok(self.total);
        }
        Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "the database counts {vertices} vertices and {edges} edges, but {} vertices and {} ends of edges were \
                 read: check it",
                self.done.0, self.done.1
            ),
        ))
    }
}

/// Values of a batch, by key.
struct Columns {
    rows: usize,
    /// Ascending by key.
    columns: Vec<(KeyId, Vec<Option<Value>>)>,
}

impl Columns {
    fn new(rows: usize) -> Self {
        Self { rows, columns: Vec::new() }
    }

    /// Takes the values of `key`, which is greater than those before.
    fn read(&mut self, key: KeyId, read: impl FnOnce(&mut Vec<Option<Value>>) -> Result<()>) -> Result<()> {
        let mut values = Vec::with_capacity(self.rows);
        read(&mut values)?;
        self.columns.push((key, values));
        Ok(())
    }

    /// The values of the item at a place, which are taken out.
    fn take(&mut self, at: usize) -> Properties {
        if self.columns.is_empty() {
            return Properties::EMPTY;
        }
        let values =
            self.columns.iter_mut().filter_map(|(key, values)| Some((*key, Some(values[at].take()?))));
        Properties::new(values.collect())
    }
}
