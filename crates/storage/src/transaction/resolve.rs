//! Resolve: turns buffered writes into mutations, schema, vertex inserts and sets, edges by id, vertex deletes.
//!
//! What leaves and enters indexes is worked out for those of the directory, the ones included that are
//! being built: under the latch the list must still be the same. For those whose entries the engine keeps it
//! is worked out with the values, for the engine and the log.

use crate::engine::Engine;
use crate::index::changes::IndexChanges;
use crate::index::directory::{IndexDirectory, Indexes};
use crate::index::entry_changes::EntryChanges;
use crate::index::item::Item;
use crate::index::property_index::PropertyIndex;
use crate::transaction::schema_writes::SchemaWrites;
use crate::transaction::writes::{EdgeWrite, VertexWrite, Writes};
use crate::view::View;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// A transaction's writes, ready to be checked and installed.
#[derive(Debug)]
pub struct Resolved {
    /// What changes, in order.
    pub mutations: Vec<Mutation>,
    /// The indexes that the next two are for.
    pub indexes: Arc<Indexes>,
    /// What moves in the indexes of vertices.
    pub vertex_entries: EntryChanges<VertexId>,
    /// What moves in the indexes of edges.
    pub edge_entries: EntryChanges<EdgeId>,
    /// What moves in the indexes that the engine keeps.
    pub index_changes: IndexChanges,
}

/// Resolves `writes` against `view`, the view at S; adds the joins of new edges to `schema`.
///
/// Cost: linear in the writes; reads old values of indexed keys only.
///
/// # Errors
/// Errors of reading.
pub fn resolve<E: Engine>(
    view: &E::View<'_>,
    writes: &Writes,
    schema: &mut SchemaWrites,
    indexes: &IndexDirectory,
) -> Result<Resolved> {
    learn_joins(view, writes, schema)?;
    let mut resolved = Resolved {
        mutations: Vec::with_capacity(schema.changes().len() + writes.len()),
        indexes: indexes.load(),
        vertex_entries: EntryChanges::default(),
        edge_entries: EntryChanges::default(),
        index_changes: IndexChanges::NONE,
    };
    resolved.mutations.extend(schema.changes().iter().cloned().map(Mutation::Schema));
    append_mutations(writes, &mut resolved.mutations);
    if !resolved.indexes.is_empty() {
        resolved.vertex_entries::<E>(view, writes)?;
        resolved.edge_entries::<E>(view, writes)?;
    }
    Ok(resolved)
}

/// Appends what `writes` change, in the order of the log: vertex inserts and sets, edges by id, vertex deletes.
pub fn append_mutations(writes: &Writes, mutations: &mut Vec<Mutation>) {
    mutations.extend(writes.vertices().filter_map(|(vertex, write)| match write {
        VertexWrite::Insert { label, properties } => {
            Some(Mutation::InsertVertex { vertex, label: *label, properties: properties.clone() })
        }
        VertexWrite::Set(properties) => {
            Some(Mutation::SetVertexProperties { vertex, properties: properties.clone() })
        }
        VertexWrite::Delete => None,
    }));
    mutations.extend(writes.edges().map(|(edge, write)| match write {
        EdgeWrite::Add(properties) | EdgeWrite::Insert(properties) => {
            Mutation::InsertEdge { edge, properties: properties.clone() }
        }
        EdgeWrite::Replace(properties) => Mutation::ReplaceEdge { edge, properties: properties.clone() },
        EdgeWrite::Set(properties) => Mutation::SetEdgeProperties { edge, properties: properties.clone() },
        EdgeWrite::Delete => Mutation::DeleteEdge { edge },
    }));
    let deleted = writes.vertices().filter(|(_, write)| **write == VertexWrite::Delete);
    mutations.extend(deleted.map(|(vertex, _)| Mutation::DeleteVertex { vertex }));
}

/// What a write makes of the properties of a vertex or an edge.
#[derive(Clone, Copy)]
pub(super) enum PropertyWrite<'a> {
    /// It was not there, and has these.
    Insert(&'a Properties),
    /// Some of them change.
    Set(&'a Properties),
    /// It has these, whatever it had.
    Replace(&'a Properties),
    /// It is there no more.
    Delete,
}

/// The label of a vertex that is there, or was inserted by this transaction: its group has it.
pub(super) fn label_of<V: View>(view: &V, vertex: VertexId) -> Result<LabelId> {
    let label = view.group_label(vertex.group())?;
    label.ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("{vertex} is written and lies in no group")))
}

fn learn_joins<V: View>(view: &V, writes: &Writes, schema: &mut SchemaWrites) -> Result<()> {
    let mut last: Option<(TypeId, LabelId, LabelId)> = None;
    for (edge, _) in writes.edges().filter(|(_, write)| write.balance() > 0) {
        let join = (edge.edge_type, label_of(view, edge.source)?, label_of(view, edge.target)?);
        if last != Some(join) && !schema.current().has_join(join.0, join.1, join.2) {
            let (edge_type, source, target) = join;
            schema.make(SchemaChange::Join { edge_type, source, target });
        }
        last = Some(join);
    }
    Ok(())
}

impl Resolved {
    fn vertex_entries<E: Engine>(&mut self, view: &E::View<'_>, writes: &Writes) -> Result<()> {
        let indexes = Arc::clone(&self.indexes);
        // Vertices of a label are neighbours, mostly.
        let (mut known, mut of_label) = (None, Vec::new());
        for (vertex, write) in writes.vertices() {
            let label = label_of(view, vertex)?;
            if known != Some(label) {
                of_label.clear();
                of_label.extend(indexes.of_owner(Owner::Label(label)));
                known = Some(label);
            }
            let write = match write {
                VertexWrite::Insert { properties, .. } => PropertyWrite::Insert(properties),
                VertexWrite::Set(changes) => PropertyWrite::Set(changes),
                VertexWrite::Delete => PropertyWrite::Delete,
            };
            for index in of_label.iter().copied() {
                let changes = (&mut self.vertex_entries, &mut self.index_changes);
                note::<_, E>(changes, index, vertex, write, |key| view.vertex_property(vertex, key))?;
            }
        }
        Ok(())
    }

    fn edge_entries<E: Engine>(&mut self, view: &E::View<'_>, writes: &Writes) -> Result<()> {
        let indexes = Arc::clone(&self.indexes);
        for (edge, write) in writes.edges() {
            let write = match write {
                EdgeWrite::Add(properties) | EdgeWrite::Insert(properties) => {
                    PropertyWrite::Insert(properties)
                }
                EdgeWrite::Set(changes) => PropertyWrite::Set(changes),
                EdgeWrite::Replace(properties) => PropertyWrite::Replace(properties),
                EdgeWrite::Delete => PropertyWrite::Delete,
            };
            for index in indexes.of_owner(Owner::EdgeType(edge.edge_type)) {
                let changes = (&mut self.edge_entries, &mut self.index_changes);
                note::<_, E>(changes, index, edge, write, |key| view.edge_property(edge, key))?;
            }
        }
        Ok(())
    }
}

/// Notes what a write of `item` changes in an index; `stored` reads a property that it had. Of an index whose entries the
/// engine keeps, the front has its list of changes only.
pub(super) fn note<I: Item, E: Engine>(
    (entries, changes): (&mut EntryChanges<I>, &mut IndexChanges),
    index: &Arc<PropertyIndex<I>>,
    item: I,
    write: PropertyWrite<'_>,
    stored: impl FnOnce(KeyId) -> Result<Option<Value>>,
) -> Result<()> {
    use PropertyWrite::{Delete, Insert, Replace, Set};
    let key = index.definition().id.key;
    let (old, new) = match write {
        Insert(properties) => (None, value(properties, key)),
        Set(changes) if changes.get(key).is_none() => return Ok(()),
        Set(changes) | Replace(changes) => (stored(key)?, value(changes, key)),
        Delete => (stored(key)?, None),
    };
    let filed = |value| index.definition().id.entry_value(item.item_id(), value);
    let old = old.map(|value| filed(Cow::Owned(value)).into_owned());
    let new = new.map(|value| filed(Cow::Borrowed(value)));
    let new = new.as_deref();
    if !(E::KEEPS_INDEXES && index.is_kept_by_engine()) {
        entries.note(index, item, old.as_ref(), new);
    } else if old.as_ref() != new {
        entries.note_entering(index, item, new);
        changes.note(index.definition().id, item, old, new);
    }
    Ok(())
}

#[inline]
fn value(properties: &Properties, key: KeyId) -> Option<&Value> {
    properties.get(key).flatten()
}
