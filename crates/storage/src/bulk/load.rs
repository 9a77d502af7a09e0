//! Bulk load: a graph in blocks becomes one commit that writes no records.
//!
//! ```text
//! close the gate    other commits are refused as busy; those before are made readable
//! names, ids        labels, types, keys; consecutive new groups for each table
//! engine builds     what the load makes of its records and bodies, exact at ts = W + 1; nobody reads it
//! indexes           checked for the load's rows: duplicates are named, nothing has happened yet; then,
//!                   with space in the log, take them in
//! latch             engine installs it; indexes, catalogue, an owner's notes; an empty frame takes the
//!                   timestamp; publish
//! make durable      a checkpoint: the load is in its files before its manifest names them
//! ```
//!
//! A load of the owner may also change properties of vertices that are there, where no index has them.
//!
//! Snapshots older than the load read what was there before it; a writer that is older gets a conflict
//! where it wrote what the load touched, for the load has no records that could tell more.
//!
//! A crash before the manifest's rename leaves the database as it was: the log holds an empty commit.
//! If making it durable fails the store takes no more commits, since they could build on a load that
//! a crash would undo; reopening gives the database from before the load, or all of it if what failed was
//! the renaming, or a checkpoint beside this one had been quicker.

use crate::bulk::load_indexes::LoadIndexes;
use crate::bulk::numbers::Numbers;
use crate::bulk::shape::check_shape;
use crate::durable_engine::{DurableEngine, LoadPlan};
use crate::indexing::{IndexRequest, OwnerName, differs};
use crate::log::frame::payload_crc;
use crate::notes::owning::{Author, Authorship};
use crate::snapshot::session::Session;
use crate::store::Store;
use crate::timeline::clock::Timeline;
use crate::timeline::registry::Access;
use crate::transaction::latch::{LoadingGate, check_healthy, under_latch};
use crate::transaction::schema_writes::SchemaWrites;
use crate::view::View;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{GroupId, LabelId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::load::{Load, VertexChange, VertexTable};
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What failed when a checkpoint after a load did; its manifest may be in place all the same.
const MAYBE_DURABLE: &str =
    "make the loaded graph durable; reopened, the database is as before the load or has all of it";

/// What a load did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadSummary {
    /// The place of the load in the order of commits.
    pub timestamp: Timestamp,
    /// For each vertex table of the load, its first new vertex; the others follow, row by row.
    pub first_vertices: Vec<VertexId>,
}

/// What a load tells while it works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadProgress {
    /// Edges sorted into lists so far.
    pub edges: u64,
    /// Edges in the load.
    pub edges_total: u64,
}

impl<E: DurableEngine> Store<E> {
    /// As [`Store::load_within`], with as much memory as it takes.
    ///
    /// # Errors
    /// As [`Store::load_within`].
    pub fn load(
        &self,
        load: &Load,
        progress: &mut dyn FnMut(LoadProgress) -> Result<()>,
        make_durable: &mut dyn FnMut() -> Result<()>,
    ) -> Result<LoadSummary> {
        self.load_within(u64::MAX, load, progress, make_durable)
    }

    /// Adds a whole graph. Sorting takes at most `memory_bytes` beside the blocks and the finished bodies,
    /// but for a group of vertices whose edges of one type need more, and for some 20 to 40 bytes for each item that a unique
    /// index in memory takes in. `progress` is told after each edge
    /// type and may fail to cancel; `make_durable` writes a checkpoint.
    ///
    /// Cost: two counting sorts of each type's edges, and three passes over the blocks if about 20 bytes an
    /// edge and its properties fit into `memory_bytes`, one more for each part that does not. Segments
    /// that get edges are merged first and written anew.
    ///
    /// # Errors
    /// `invalid` for a table that doesn't fit its others, a property with another type than before,
    /// a unique key that is there twice, in the load or before it, or whose index is not unique, an edge of
    /// a vertex that isn't there, or a second edge of a simple type, or if the store has an owner; `busy`,
    /// `limit`, `io`; what `progress` and `make_durable` say. Except for the last, nothing has happened then.
    pub fn load_within(
        &self,
        memory_bytes: u64,
        load: &Load,
        progress: &mut dyn FnMut(LoadProgress) -> Result<()>,
        make_durable: &mut dyn FnMut() -> Result<()>,
    ) -> Result<LoadSummary> {
        self.load_as(&Authorship::new(Author::User), &[], memory_bytes, load, progress, make_durable)
    }

    /// As [`Store::load_within`], on behalf of somebody, with the notes that he changes and `changes` of vertices that are
    /// there.
    pub(crate) fn load_as(
        &self,
        authorship: &Authorship,
        changes: &[VertexChange],
        memory_bytes: u64,
        load: &Load,
        progress: &mut dyn FnMut(LoadProgress) -> Result<()>,
        make_durable: &mut dyn FnMut() -> Result<()>,
    ) -> Result<LoadSummary> {
        check_shape(load)?;
        let front = self.front();
        let log = front.log()?;
        let gate = LoadingGate::close(&front.timeline)?;
        // Behind the gate nobody becomes the owner, or gives it up.
        if !front.owning.admits(authorship) {
            return Err(front.not_owner());
        }
        let notes = authorship.notes.changes();
        // Behind the gate: the newest commit stays the newest.
        let newest = front.timeline.published();
        let timestamp = newest.next();
        log.acknowledge(newest.0).map_err(Error::from)?;
        debug_assert_eq!(front.timeline.readable(), newest);
        let mut schema = SchemaWrites::new(self.catalogue());
        let mut numbers = Numbers { base: timestamp, ..Numbers::default() };
        let indexed = self.name_everything(load, &mut schema, &mut numbers)?;
        for (table, (label, _)) in load.vertices.iter().zip(&numbers.tables) {
            self.check_existing(table, *label)?;
        }
        let changes = self.check_changes(changes, &mut schema)?;
        for (table, (label, first)) in load.vertices.iter().zip(&mut numbers.tables) {
            *first = front.ids.take_groups(*label, table.rows)?;
        }

        let (mut edges, edges_total) = (0, load.edges_count());
        let edge_types = indexed.iter().filter_map(|index| match index.id.owner {
            Owner::EdgeType(edge_type) => Some(edge_type),
            Owner::Label(_) => None,
        });
        let plan = LoadPlan { load, numbers: &numbers, memory_bytes, indexed: edge_types.collect(), changes };
        let built = front.engine.build_load(&plan, &mut |done| {
            edges += done;
            progress(LoadProgress { edges, edges_total })
        })?;
        let staged = front.engine.view_load(&built, timestamp);
        let LoadIndexes { new: indexes, entering } =
            self.index_load(&staged, &indexed, schema.current(), &|index| {
                front.engine.fill_load(&built, index, timestamp)
            })?;

        let space = log.reserve(0).map_err(Error::from)?;
        self.enter_load(&staged, &indexed, entering)?;
        drop(staged);
        // Snapshots see the load once it is durable: the empty frame alone says nothing of it.
        let held = HeldSnapshots::back(&front.timeline, newest);
        let displaced = under_latch(&front.timeline, |latch| {
            check_healthy(latch)?;
            latch.loads += 1;
            let displaced = front.engine.install_load(timestamp, &built);
            let old_indexes = front.indexes.change(|all| all.extend(indexes));
            let old_catalogue = front.catalogue.swap(Arc::clone(schema.current()));
            front.engine.catalogue_changed(timestamp, schema.current());
            if !notes.is_empty() {
                front.notes.install(timestamp, notes, authorship.notes.growth());
            }
            log.append(space, timestamp.0, &[], payload_crc(&[]));
            front.timeline.publish(timestamp, latch);
            Ok::<_, Error>((displaced, old_indexes, old_catalogue))
        })?;
        drop((displaced, built));
        if let Err(error) = make_durable() {
            let cause = format!("a bulk load could not be made durable ({error}): reopen the database");
            // What is in memory only must not be seen either.
            std::mem::forget(held);
            front.timeline.latch().poisoned.get_or_insert(cause);
            return Err(error.context(MAYBE_DURABLE));
        }
        drop(held);
        front.engine.readable_grew();
        drop(gate);
        front.engine.snapshot_ended();
        let first_vertices = (0..load.vertices.len()).map(|table| numbers.vertex(table, 0)).collect();
        Ok(LoadSummary { timestamp, first_vertices })
    }

    /// Gives numbers to the names of `load`; the indexes on its labels and types, there or asked for.
    fn name_everything(
        &self,
        load: &Load,
        schema: &mut SchemaWrites,
        numbers: &mut Numbers,
    ) -> Result<Vec<IndexDefinition>> {
        let front = self.front();
        let mut asked_for = Vec::new();
        for table in &load.vertices {
            let label = schema.label(&front.names, &table.label)?;
            numbers.tables.push((label, GroupId(0)));
            for (name, value_type) in &table.properties {
                let key = schema.key(&front.names, name)?;
                numbers.keys.insert(name.clone(), key);
                schema.declare(Owner::Label(label), key, *value_type)?;
            }
            if let Some(name) = &table.unique_key {
                let key = schema.key(&front.names, name)?;
                let owner = Owner::Label(label);
                if !schema.current().is_unique(owner, key) {
                    let id = IndexId { owner, key, kind: IndexKind::Hash };
                    if let Some(known) = schema.current().index(id) {
                        let owner = OwnerName::Label(&table.label);
                        let request = IndexRequest { owner, key: name, kind: id.kind, unique: true };
                        return Err(differs(&known, &request));
                    }
                    let index = IndexDefinition { id, unique: true };
                    schema.make(SchemaChange::AddIndex(index));
                    asked_for.push(index);
                }
            }
        }
        for table in &load.edges {
            let edge_type = schema.edge_type(&front.names, &table.edge_type, false)?;
            numbers.types.push(edge_type);
            if schema.current().edge_type_definition(edge_type).is_some_and(|known| known.simple) {
                numbers.simple.insert(edge_type);
            }
            for (name, value_type) in &table.properties {
                let key = schema.key(&front.names, name)?;
                numbers.keys.insert(name.clone(), key);
                schema.declare(Owner::EdgeType(edge_type), key, *value_type)?;
            }
            let (source, target) =
                (numbers.tables[table.source_label].0, numbers.tables[table.target_label].0);
            schema.make(SchemaChange::Join { edge_type, source, target });
        }
        let labels = numbers.tables.iter().map(|(label, _)| Owner::Label(*label));
        let owners: BTreeSet<Owner> =
            labels.chain(numbers.types.iter().map(|edge_type| Owner::EdgeType(*edge_type))).collect();
        let known = schema.base().indexes().filter(|index| owners.contains(&index.id.owner));
        Ok(known.chain(asked_for).collect())
    }

    /// `changes` by vertex, with values as the types of their properties want them.
    fn check_changes(
        &self,
        changes: &[VertexChange],
        schema: &mut SchemaWrites,
    ) -> Result<Vec<VertexChange>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let front = self.front();
        if !front.engine.takes_vertex_changes() {
            return Err(Error::invalid("a load into this engine changes no vertex that is there"));
        }
        let mut changes = changes.to_vec();
        changes.sort_unstable_by_key(|change| change.vertex);
        if let Some(pair) = changes.windows(2).find(|pair| pair[0].vertex == pair[1].vertex) {
            let text = format!("a load changes the vertex {} twice", pair[0].vertex);
            return Err(Error::invalid(text));
        }
        let vertices: Vec<VertexId> = changes.iter().map(|change| change.vertex).collect();
        let mut labels = vec![None; vertices.len()];
        Session::begin(front, Access::Read).view().labels(&vertices, &mut labels)?;
        for (change, label) in changes.iter_mut().zip(labels) {
            let Some(label) = label else {
                let text = format!("a load changes the vertex {}, which isn't there", change.vertex);
                return Err(Error::invalid(text));
            };
            let owner = Owner::Label(label);
            let mut given = change.properties.as_slice().to_vec();
            schema.current().add_meta_removals(label, &mut given);
            change.properties = schema.fit(owner, Properties::new(given))?;
            let mut keys = change.properties.as_slice().iter().map(|(key, _)| *key);
            let is_indexed =
                |key| schema.current().indexes().any(|index| (index.id.owner, index.id.key) == (owner, key));
            if let Some(key) = keys.find(|key| is_indexed(*key)) {
                let property = schema.current().property_name(owner, key);
                return Err(Error::invalid(format!("a load changes {property}, which has an index")));
            }
        }
        Ok(changes)
    }

    /// Checks that the vertices that the load found in the database are there still.
    fn check_existing(&self, table: &VertexTable, label: LabelId) -> Result<()> {
        let front = self.front();
        let session = Session::begin(front, Access::Read);
        let view = session.view();
        let mut labels = vec![None; table.existing.len()];
        view.labels(&table.existing, &mut labels)?;
        for (vertex, found) in table.existing.iter().zip(labels) {
            if found != Some(label) {
                let name = &table.label;
                return Err(Error::invalid(format!(
                    "label `{name}`: edges of the load begin or end at its vertex {vertex}, which isn't there"
                )));
            }
        }
        Ok(())
    }
}

/// Keeps snapshots from seeing what is newer than a commit; lets go when dropped.
struct HeldSnapshots<'a>(&'a Timeline);

impl<'a> HeldSnapshots<'a> {
    #[inline]
    fn back(timeline: &'a Timeline, newest: Timestamp) -> Self {
        timeline.hold_readable(newest);
        Self(timeline)
    }
}

impl Drop for HeldSnapshots<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.hold_readable(Timestamp::MAX);
    }
}
