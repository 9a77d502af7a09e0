//! Item: a vertex or an edge as an index sees it, and how its values are read.
//!
//! Everything about indexes is written once, for both.

use crate::index::index_item::IndexItem;
use crate::view::{PointReads, View};
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, KeyId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use std::borrow::Cow;
use std::fmt;
use std::hash::Hash;

/// A vertex or an edge.
pub trait Item: IndexItem + Hash + fmt::Display {
    /// One property of the item, as `view` shows it.
    ///
    /// # Errors
    /// Errors of reading.
    fn property<V: View>(self, view: &V, key: KeyId) -> Result<Option<Value>>;

    /// Visits the items in `group` that belong into an index, ascending, with what each is filed under
    /// ([`IndexId::entry_value`]); edges belong to the group of their source.
    ///
    /// # Errors
    /// Errors of reading, and those of `visit`.
    fn for_each_in<V: View>(
        view: &V,
        index: IndexId,
        group: GroupId,
        visit: &mut dyn FnMut(Self, Value) -> Result<()>,
    ) -> Result<()>;

    /// What errors call it: `v7`, or `v7-[KNOWS]->v9`, with the discriminator unless it is zero.
    fn name(self, catalogue: &Catalogue) -> String;

    /// A number that few items share: a part of a hash.
    fn bits(self) -> u64;
}

impl Item for VertexId {
    fn property<V: View>(self, view: &V, key: KeyId) -> Result<Option<Value>> {
        view.vertex_property(self, key)
    }

    fn for_each_in<V: View>(
        view: &V,
        index: IndexId,
        group: GroupId,
        visit: &mut dyn FnMut(Self, Value) -> Result<()>,
    ) -> Result<()> {
        let label = view.group_label(group)?;
        if label.map(Owner::Label) != Some(index.owner) {
            return Ok(());
        }
        let live = view.live(group)?;
        let rows = (0..live.len() * 64).filter(|row| live[row / 64] >> (row % 64) & 1 == 1);
        let vertices: Vec<_> = rows.map(|row| VertexId::new(group, row as u16)).collect();
        let mut values = Vec::with_capacity(vertices.len());
        view.vertex_properties(&vertices, index.key, &mut values)?;
        for (vertex, value) in vertices.into_iter().zip(values) {
            if let Some(value) = value {
                visit(vertex, value)?;
            }
        }
        Ok(())
    }

    fn name(self, _: &Catalogue) -> String {
        self.to_string()
    }

    fn bits(self) -> u64 {
        self.0.into()
    }
}

/// Edges of one vertex whose values are read at once: those of a hub never lie in memory all together.
const EDGES_AT_ONCE: usize = 4096;

impl Item for EdgeId {
    fn property<V: View>(self, view: &V, key: KeyId) -> Result<Option<Value>> {
        view.edge_property(self, key)
    }

    fn for_each_in<V: View>(
        view: &V,
        index: IndexId,
        group: GroupId,
        visit: &mut dyn FnMut(Self, Value) -> Result<()>,
    ) -> Result<()> {
        let Owner::EdgeType(edge_type) = index.owner else { return Ok(()) };
        if !view.edge_types(group, Direction::Out)?.contains(&edge_type) {
            return Ok(());
        }
        let (mut list, mut edges, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for source in (0..GROUP_SIZE as u16).map(|row| VertexId::new(group, row)) {
            list.clear();
            view.all_neighbors(source, edge_type, Direction::Out, &mut list)?;
            for part in list.chunks(EDGES_AT_ONCE) {
                edges.clear();
                edges.extend(part.iter().map(|entry| {
                    let (target, discriminator) = *entry;
                    EdgeId { source, edge_type, target, discriminator }
                }));
                view.edge_properties(&edges, index.key, &mut values)?;
                for (edge, value) in edges.iter().zip(values.drain(..)) {
                    if let Some(value) = value {
                        let entry = index.entry_value(ItemId::Edge(*edge), Cow::Owned(value));
                        visit(*edge, entry.into_owned())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn name(self, catalogue: &Catalogue) -> String {
        let edge_type = catalogue.edge_type_name(self.edge_type);
        let Self { source, target, discriminator, .. } = self;
        match discriminator {
            0 => format!("{source}-[{edge_type}]->{target}"),
            _ => format!("{source}-[{edge_type}:{discriminator}]->{target}"),
        }
    }

    fn bits(self) -> u64 {
        let ends = u64::from(self.source.0) << 32 | u64::from(self.target.0);
        ends.rotate_left(16) ^ u64::from(self.discriminator)
    }
}
