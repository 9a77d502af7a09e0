//! Resolving: buffered writes become mutations, and the keys that nobody may have changed since S.
//!
//! ```text
//! order     schema, vertex inserts and sets, edges by id, vertex deletes
//!
//! WRITE            KEYS TO CHECK
//! set property     that property of that vertex or edge
//! add edge         both ends; the edge itself, where a taken discriminator means another name
//! insert edge      both ends, the edge (a put where nothing was; a simple type)
//! replace, delete  the edge: deleting an end would have deleted it
//! delete vertex    its record, its adjacency
//! ```
//!
//! What was inserted here has no history, so it isn't checked; the edges of a vertex deleted here
//! are covered by its adjacency.
//!
//! Source: core-protocol section 2, "Write checks".

use crate::engine::{Key, View};
use crate::index::directory::IndexDirectory;
use crate::index::unique::UniqueIndex;
use crate::transaction::schema_writes::SchemaWrites;
use crate::transaction::writes::{EdgeWrite, VertexWrite, Writes};
use evergraph_graph::catalogue::SchemaChange;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use std::sync::Arc;

/// A transaction's writes, ready to be checked and installed.
#[derive(Debug, Default)]
pub struct Resolved {
    /// What changes, in order.
    pub mutations: Vec<Mutation>,
    /// What nobody may have changed since S. Sorted, each once.
    pub keys: Vec<Key>,
    /// Added edges: one that somebody changed since S gets another discriminator.
    pub adds: Vec<EdgeId>,
    /// Values that leave a unique index.
    pub leaving: Vec<UniqueEntry>,
    /// Values that enter a unique index; nobody else may have entered them since S.
    pub entering: Vec<UniqueEntry>,
}

/// A vertex and the hash of a value, in a unique index.
#[derive(Clone, Debug)]
pub struct UniqueEntry {
    /// The index.
    pub index: Arc<UniqueIndex>,
    /// Its label.
    pub label: LabelId,
    /// Its key.
    pub key: KeyId,
    /// The value's hash in it.
    pub hash: u32,
    /// The vertex.
    pub vertex: VertexId,
}

/// Resolves `writes` against `view`, the view at S; adds the joins of new edges to `schema`.
///
/// Cost: linear in the writes; reads old values of unique keys only.
///
/// # Errors
/// What reading may meet.
pub fn resolve<V: View>(
    view: &V,
    writes: &Writes,
    schema: &mut SchemaWrites,
    indexes: &IndexDirectory,
) -> Result<Resolved> {
    learn_joins(view, writes, schema);
    let mut resolved = Resolved::default();
    resolved.mutations.reserve_exact(schema.changes().len() + writes.len());
    resolved.mutations.extend(schema.changes().iter().cloned().map(Mutation::Schema));
    resolved.vertices(writes);
    resolved.edges(writes);
    let deleted = writes.vertices().filter(|(_, write)| **write == VertexWrite::Delete);
    resolved.mutations.extend(deleted.map(|(vertex, _)| Mutation::DeleteVertex { vertex }));
    resolved.keys.sort_unstable();
    resolved.keys.dedup();
    if schema.base().unique_indexes().next().is_some() {
        resolved.unique_entries(view, writes, schema, indexes)?;
    }
    Ok(resolved)
}

/// The label of a vertex that is there, or was inserted by this transaction: its group has it.
fn label_of<V: View>(view: &V, vertex: VertexId) -> LabelId {
    view.group_label(vertex.group()).expect("a vertex that is written lies in a group")
}

fn learn_joins<V: View>(view: &V, writes: &Writes, schema: &mut SchemaWrites) {
    let mut last: Option<(TypeId, LabelId, LabelId)> = None;
    for (edge, _) in writes.edges().filter(|(_, write)| write.balance() > 0) {
        let join = (edge.edge_type, label_of(view, edge.source), label_of(view, edge.target));
        if last != Some(join) && !schema.current().has_join(join.0, join.1, join.2) {
            let (edge_type, source, target) = join;
            schema.make(SchemaChange::Join { edge_type, source, target });
        }
        last = Some(join);
    }
}

impl Resolved {
    fn vertices(&mut self, writes: &Writes) {
        for (vertex, write) in writes.vertices() {
            match write {
                VertexWrite::Insert { label, properties } => self.mutations.push(Mutation::InsertVertex {
                    vertex,
                    label: *label,
                    properties: properties.clone(),
                }),
                VertexWrite::Set(properties) => {
                    let keys = properties.as_slice().iter().map(|(key, _)| Key::VertexProperty(vertex, *key));
                    self.keys.extend(keys);
                    let properties = properties.clone();
                    self.mutations.push(Mutation::SetVertexProperties { vertex, properties });
                }
                VertexWrite::Delete => self.keys.extend([Key::VertexRecord(vertex), Key::Adjacency(vertex)]),
            }
        }
    }

    fn edges(&mut self, writes: &Writes) {
        for (edge, write) in writes.edges() {
            match write {
                EdgeWrite::Add(properties) => {
                    self.ends(writes, edge);
                    self.adds.push(edge);
                    self.mutations.push(Mutation::InsertEdge { edge, properties: properties.clone() });
                }
                EdgeWrite::Insert(properties) => {
                    self.ends(writes, edge);
                    self.keys.push(Key::Edge(edge));
                    self.mutations.push(Mutation::InsertEdge { edge, properties: properties.clone() });
                }
                EdgeWrite::Replace(properties) => {
                    self.keys.push(Key::Edge(edge));
                    self.mutations.push(Mutation::ReplaceEdge { edge, properties: properties.clone() });
                }
                EdgeWrite::Set(properties) => {
                    let keys = properties.as_slice().iter().map(|(key, _)| Key::EdgeProperty(edge, *key));
                    self.keys.extend(keys);
                    let properties = properties.clone();
                    self.mutations.push(Mutation::SetEdgeProperties { edge, properties });
                }
                EdgeWrite::Delete => {
                    // An end that goes has its adjacency checked. It does not tell of properties that were
                    // set meanwhile on an edge that goes with it: setting first, then deleting, is in order.
                    let goes = |vertex| writes.vertex(vertex) == Some(&VertexWrite::Delete);
                    if !goes(edge.source) && !goes(edge.target) {
                        self.keys.push(Key::Edge(edge));
                    }
                    self.mutations.push(Mutation::DeleteEdge { edge });
                }
            }
        }
    }

    fn ends(&mut self, writes: &Writes, edge: EdgeId) {
        for end in [edge.source, edge.target] {
            if !matches!(writes.vertex(end), Some(VertexWrite::Insert { .. })) {
                self.keys.push(Key::Vertex(end));
            }
        }
    }

    fn unique_entries<V: View>(
        &mut self,
        view: &V,
        writes: &Writes,
        schema: &SchemaWrites,
        indexes: &IndexDirectory,
    ) -> Result<()> {
        let unique: Vec<_> = schema.base().unique_indexes().collect();
        for (vertex, write) in writes.vertices() {
            let label = label_of(view, vertex);
            for (_, key) in unique.iter().filter(|(of, _)| *of == label) {
                let old = match write {
                    VertexWrite::Insert { .. } => None,
                    VertexWrite::Set(changes) if changes.get(*key).is_none() => continue,
                    VertexWrite::Set(_) | VertexWrite::Delete => view.vertex_property(vertex, *key)?,
                };
                let new = match write {
                    VertexWrite::Insert { properties, .. } | VertexWrite::Set(properties) => {
                        value(properties, *key)
                    }
                    VertexWrite::Delete => None,
                };
                if old.as_ref() == new {
                    continue;
                }
                let index =
                    indexes.get(label, *key).expect("every index in the catalogue is in the directory");
                let entry = |value: &Value| {
                    let (index, hash) = (Arc::clone(&index), index.hash(value));
                    UniqueEntry { index, label, key: *key, hash, vertex }
                };
                self.leaving.extend(old.as_ref().map(entry));
                self.entering.extend(new.map(entry));
            }
        }
        Ok(())
    }
}

fn value(properties: &Properties, key: KeyId) -> Option<&Value> {
    properties.get(key).flatten()
}
