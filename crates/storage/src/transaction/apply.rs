//! Apply: installs a commit that was decided elsewhere, at the timestamp that it has there.
//!
//! ```text
//! outside   what is of own groups -> groups opened, ids noted -> catalogue, indexes, entries, notes
//!           prepare -> encode, crc -> reserve log space
//! latch     refuse: poisoned
//!           engine, indexes, catalogue, notes, log buffer; W = timestamp
//! outside   drop what was displaced, begin to fill new indexes, write the log out if much waits there
//! ```
//!
//! As `commit.rs`, without all that decides: no snapshot to compare with, no keys, no reads, no names of parallel edges. The
//! state before the commit is what the store shows at W, since one commit is applied at a time and nothing else
//! commits.
//!
//! A timestamp without a commit is published with an empty frame, so that W is in the log as in every other store: what a
//! checkpoint, a backup or recovery says of W holds here, too.

use crate::engine::Engine;
use crate::index::changes::IndexChanges;
use crate::index::directory::Indexes;
use crate::index::entry_changes::EntryChanges;
use crate::index::pending_fills::CreatedIndex;
use crate::log::frame::payload_crc;
use crate::log::writer::{Log, Reservation};
use crate::notes::writes::NoteWrites;
use crate::record::Stamp;
use crate::snapshot::session::Session;
use crate::timeline::registry::Access;
use crate::transaction::front::Front;
use crate::transaction::latch::{check_healthy, under_latch};
use crate::transaction::payload;
use crate::transaction::resolve::{PropertyWrite, label_of, note};
use crate::view::View;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, LabelId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::{NoteChange, OWNER_NOTE};
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Installs and publishes a commit: see [`Store::apply`](crate::store::Store::apply). `seeds` gives seeds for the hashes of
/// indexes.
///
/// # Errors
/// As there.
pub fn apply<E: Engine>(
    front: &Arc<Front<E>>,
    timestamp: Timestamp,
    mutations: &[Mutation],
    patience: Duration,
    seeds: impl FnMut() -> u64,
) -> Result<()> {
    let partition = front.partition()?;
    let _one = partition.applying.lock();
    check_newer(timestamp, front.timeline.published())?;
    let (mutations, notes) = split_notes(mutations)?;
    let mutations = own_mutations(partition.own, mutations);
    let notes = note_writes(front, notes)?;
    // A writer begins at W, whatever snapshots see.
    let session = Session::begin(front, Access::Write);
    let view = session.view();
    open_groups::<E>(front, &view, &mutations)?;
    let schema = AppliedSchema::of::<E>(front, session.timestamp(), &mutations, seeds)?;
    let mut entries = AppliedEntries::of::<E>(&view, &schema.indexes, partition.own, &mutations)?;
    let prepared = front.engine.prepare(&mutations, &entries.kept, patience)?;
    let mut payload = payload::encode(&mutations);
    notes.encode(&mut payload);
    let crc = payload_crc(&payload);
    let space = reserve(front, &partition.log, payload.len())?;
    let note_changes = (!notes.is_empty()).then(|| notes.changes());
    if let Some(changes) = &note_changes {
        drop(front.notes.fold(&front.timeline));
        front.notes.make_room(changes, &front.budget)?;
    }
    // In options, so that what a refused commit prepared is freed after the latch.
    let (mut prepared, mut space) = (Some(prepared), Some(space));
    let displaced = under_latch(&front.timeline, |latch| {
        check_healthy(latch)?;
        partition.log.check_poison()?;
        let displaced = front.engine.append(timestamp, prepared.take().expect("a commit is installed once"));
        entries.vertices.apply(timestamp);
        entries.edges.apply(timestamp);
        let old_schema = schema.install(front, timestamp);
        if let Some(changes) = &note_changes {
            front.notes.install(timestamp, Arc::clone(changes), notes.growth());
        }
        let space = space.take().expect("a commit is installed once");
        partition.log.append(space, timestamp.0, &payload, crc);
        front.timeline.publish(timestamp, latch);
        Ok::<_, Error>((displaced, old_schema))
    })?;
    drop(displaced);
    // Before the next commit: they are filled with what there is after this one.
    schema.created.into_iter().for_each(|index| front.fills.begin(&front.engine, &front.timeline, index));
    front.engine.readable_grew();
    front.counters.committed(0);
    Ok(partition.log.acknowledge(timestamp.0)?)
}

/// Publishes a timestamp: see [`Store::publish_through`](crate::store::Store::publish_through).
///
/// # Errors
/// As there.
pub fn publish_through<E: Engine>(front: &Front<E>, timestamp: Timestamp) -> Result<()> {
    let partition = front.partition()?;
    let _one = partition.applying.lock();
    let published = front.timeline.published();
    if timestamp.visible_at(published) {
        return Ok(());
    }
    check_newer(timestamp, published)?;
    let mut space = Some(reserve(front, &partition.log, 0)?);
    let crc = payload_crc(&[]);
    under_latch(&front.timeline, |latch| {
        check_healthy(latch)?;
        partition.log.check_poison()?;
        let space = space.take().expect("a frame is appended once");
        partition.log.append(space, timestamp.0, &[], crc);
        front.timeline.publish(timestamp, latch);
        Ok::<_, Error>(())
    })?;
    front.engine.readable_grew();
    Ok(partition.log.acknowledge(timestamp.0)?)
}

/// Refuses a timestamp that is not for the next commit.
fn check_newer(timestamp: Timestamp, published: Timestamp) -> Result<()> {
    if timestamp.visible_at(published) {
        return Err(Error::invalid(format!(
            "commit {timestamp} is applied after {published}, which is published: commits are applied in the order of \
             their timestamps"
        )));
    }
    if timestamp > Stamp::TIMESTAMP_MAX {
        let most = Stamp::TIMESTAMP_MAX;
        return Err(Error::invalid(format!("{timestamp} is no commit's timestamp: the highest is {most}")));
    }
    Ok(())
}

fn reserve<'a, E: Engine>(front: &Front<E>, log: &'a Log, payload_bytes: usize) -> Result<Reservation<'a>> {
    log.reserve(payload_bytes).map_err(|error| {
        // A store that failed says so: room alone would not help.
        check_healthy(&front.timeline.latch()).err().unwrap_or_else(|| error.into())
    })
}

/// The mutations of the graph, and the notes behind them.
fn split_notes(mutations: &[Mutation]) -> Result<(&[Mutation], &[Mutation])> {
    let is_note = |mutation: &Mutation| matches!(mutation, Mutation::Note(_));
    let (graph, notes) = mutations.split_at(mutations.partition_point(|mutation| !is_note(mutation)));
    if graph.iter().any(|mutation| is_note(mutation) || matches!(mutation, Mutation::LeaveIndex(_)))
        || !notes.iter().all(is_note)
    {
        return Err(Error::invalid(
            "a commit of a partition has its notes at the end, and no entries of index files",
        ));
    }
    Ok((graph, notes))
}

/// Those of which something is installed here. Mostly these are all: whoever applies them knows where they go.
fn own_mutations(own: OwnGroups, mutations: &[Mutation]) -> Cow<'_, [Mutation]> {
    if mutations.iter().all(|mutation| own.concerns(mutation)) {
        return Cow::Borrowed(mutations);
    }
    Cow::Owned(mutations.iter().filter(|mutation| own.concerns(mutation)).cloned().collect())
}

fn note_writes<E: Engine>(front: &Front<E>, notes: &[Mutation]) -> Result<NoteWrites> {
    let mut writes = NoteWrites::default();
    for note in notes {
        let Mutation::Note(NoteChange { name, bytes }) = note else { continue };
        if &**name == OWNER_NOTE {
            return Err(Error::invalid(
                "a partition of a graph has no owner: it follows no source by itself",
            ));
        }
        let before = front.notes.newest(name);
        writes.set(name, bytes.as_deref(), before.as_deref(), front.notes.newest_size())?;
    }
    Ok(writes)
}

/// Makes the groups of new vertices exist, and notes that these ids were given out.
fn open_groups<E: Engine>(front: &Front<E>, view: &E::View<'_>, mutations: &[Mutation]) -> Result<()> {
    let mut last = None;
    for mutation in mutations {
        let Mutation::InsertVertex { vertex, label, .. } = mutation else { continue };
        let group = vertex.group();
        if last != Some((group, *label)) {
            match view.group_label(group)? {
                None => front.engine.open_group(group, *label),
                Some(known) if known == *label => {}
                Some(known) => {
                    let text = format!("{vertex} has label {}, but its group label {}", label.0, known.0);
                    return Err(Error::new(ErrorKind::Corrupt, text));
                }
            }
            last = Some((group, *label));
        }
        front.ids.replayed(*vertex, *label);
    }
    Ok(())
}

/// What a commit makes of the names and of the list of indexes.
struct AppliedSchema {
    /// The names after it; `None` if they stay.
    catalogue: Option<Arc<Catalogue>>,
    /// The indexes after it.
    indexes: Arc<Indexes>,
    /// Those of them that it creates, to be filled once it is published.
    created: Vec<CreatedIndex>,
    dropped: Vec<IndexId>,
}

/// What a commit put out of place; dropped after the latch.
type OldSchema = (Option<Arc<Catalogue>>, Option<Arc<Indexes>>);

impl AppliedSchema {
    /// Follows the changes in their order. Indexes that they create are told of every commit after `known_from`, this one first.
    fn of<E: Engine>(
        front: &Front<E>,
        known_from: Timestamp,
        mutations: &[Mutation],
        mut seeds: impl FnMut() -> u64,
    ) -> Result<Self> {
        let (mut indexes, mut created, mut dropped) = (front.indexes.load(), Vec::new(), Vec::new());
        let current = front.catalogue.load_full();
        let mut next: Option<Catalogue> = None;
        for mutation in mutations {
            let Mutation::Schema(change) = mutation else { continue };
            if !next.as_ref().unwrap_or(&current).would_change(change).map_err(differs)? {
                continue;
            }
            let names = next.get_or_insert_with(|| Catalogue::clone(&current));
            match change {
                SchemaChange::AddIndex(definition) => {
                    let index = CreatedIndex::new(*definition, known_from, seeds());
                    index.add_to(Arc::make_mut(&mut indexes));
                    created.push(index);
                }
                SchemaChange::DropIndex(id) => {
                    Arc::make_mut(&mut indexes).remove(*id);
                    dropped.push(*id);
                }
                _ => {}
            }
            names.apply(change);
        }
        Ok(Self { catalogue: next.map(Arc::new), indexes, created, dropped })
    }

    /// Makes it real. Under the latch: memory only, cannot fail.
    fn install<E: Engine>(&self, front: &Front<E>, timestamp: Timestamp) -> OldSchema {
        let Some(catalogue) = &self.catalogue else { return (None, None) };
        self.dropped.iter().for_each(|id| front.engine.drop_index(*id));
        let old_indexes = front.indexes.replace(Arc::clone(&self.indexes));
        let old_catalogue = front.catalogue.swap(Arc::clone(catalogue));
        front.engine.catalogue_changed(timestamp, catalogue);
        (Some(old_catalogue), Some(old_indexes))
    }
}

/// The error of a change that doesn't fit the names that are there: it was decided by others.
fn differs(error: Error) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a commit that was decided elsewhere doesn't fit: {error}"))
}

/// What moves in indexes.
#[derive(Default)]
struct AppliedEntries {
    vertices: EntryChanges<VertexId>,
    edges: EntryChanges<EdgeId>,
    /// In indexes that the engine keeps. None: no engine that takes partitions keeps any.
    kept: IndexChanges,
}

impl AppliedEntries {
    /// The entries of vertices in own groups, and of edges whose source is in one: there their properties are.
    fn of<E: Engine>(
        view: &E::View<'_>,
        indexes: &Indexes,
        own: OwnGroups,
        mutations: &[Mutation],
    ) -> Result<Self> {
        let mut entries = Self::default();
        if indexes.is_empty() {
            return Ok(entries);
        }
        for mutation in mutations {
            match mutation {
                Mutation::InsertVertex { vertex, label, properties } => {
                    let write = PropertyWrite::Insert(properties);
                    entries.note_vertex::<E>(view, indexes, (*vertex, *label), write)?;
                }
                Mutation::SetVertexProperties { vertex, properties } => {
                    let (label, write) = (label_of(view, *vertex)?, PropertyWrite::Set(properties));
                    entries.note_vertex::<E>(view, indexes, (*vertex, label), write)?;
                }
                Mutation::DeleteVertex { vertex } => {
                    let (label, write) = (label_of(view, *vertex)?, PropertyWrite::Delete);
                    entries.note_vertex::<E>(view, indexes, (*vertex, label), write)?;
                }
                Mutation::InsertEdge { edge, properties } if own.contains(edge.source.group()) => {
                    entries.note_edge::<E>(view, indexes, *edge, PropertyWrite::Insert(properties))?;
                }
                Mutation::ReplaceEdge { edge, properties } => {
                    entries.note_edge::<E>(view, indexes, *edge, PropertyWrite::Replace(properties))?;
                }
                Mutation::SetEdgeProperties { edge, properties } => {
                    entries.note_edge::<E>(view, indexes, *edge, PropertyWrite::Set(properties))?;
                }
                Mutation::DeleteEdge { edge } if own.contains(edge.source.group()) => {
                    entries.note_edge::<E>(view, indexes, *edge, PropertyWrite::Delete)?;
                }
                Mutation::InsertEdge { .. }
                | Mutation::DeleteEdge { .. }
                | Mutation::Schema(_)
                | Mutation::LeaveIndex(_)
                | Mutation::Note(_) => {}
            }
        }
        Ok(entries)
    }

    fn note_vertex<E: Engine>(
        &mut self,
        view: &E::View<'_>,
        indexes: &Indexes,
        (vertex, label): (VertexId, LabelId),
        write: PropertyWrite<'_>,
    ) -> Result<()> {
        for index in indexes.of_owner(Owner::Label(label)) {
            let changes = (&mut self.vertices, &mut self.kept);
            note::<_, E>(changes, index, vertex, write, |key| view.vertex_property(vertex, key))?;
        }
        Ok(())
    }

    fn note_edge<E: Engine>(
        &mut self,
        view: &E::View<'_>,
        indexes: &Indexes,
        edge: EdgeId,
        write: PropertyWrite<'_>,
    ) -> Result<()> {
        for index in indexes.of_owner(Owner::EdgeType(edge.edge_type)) {
            let changes = (&mut self.edges, &mut self.kept);
            note::<_, E>(changes, index, edge, write, |key| view.edge_property(edge, key))?;
        }
        Ok(())
    }
}
