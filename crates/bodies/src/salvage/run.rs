//! Run: combines what is left of bodies and log, and writes it to a new database.

use crate::body::Body;
use crate::body_sink::BodySink;
use crate::edge_body::EdgeBody;
use crate::salvage::changes::Changes;
use crate::salvage::edges::Edges;
use crate::salvage::finding::FoundBodies;
use crate::salvage::vertices::Vertices;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, KeyId, TypeId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::manifest::StoredGroup;
use evergraph_storage::checkpoint::report::{CheckProgress, tell};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::loss::{Loss, LossKind};
use evergraph_storage::salvage::new_database::{NewDatabase, SalvageTarget};
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where what is saved goes, of a commit, in a directory.
pub type MakeSink<'a, S> = dyn FnMut(&Arc<dyn Directory>, Timestamp) -> Result<S> + 'a;

/// Makes a database of what was saved. Bytes written.
pub type FinishSink<'a, S> = dyn FnMut(S, NewDatabase<'_>, Catalogue, Vec<StoredGroup>) -> Result<u64> + 'a;

/// How an engine stores what salvage finds and saves.
pub struct SalvageFiles<'a, S> {
    /// What is there.
    pub bodies: &'a dyn FoundBodies,
    /// The newest base of the bodies.
    pub newest_base: Timestamp,
    /// Whether runs beside bodies are lost: their segments may be as of older commits than the others.
    pub has_lost_runs: bool,
    /// Where what is saved goes, of commit `at`, in a directory that is given.
    pub sink: &'a mut MakeSink<'a, S>,
    /// Makes a database of it. Bytes written.
    pub finish: &'a mut FinishSink<'a, S>,
}

/// Writes what verifies of `source`, whose manifest was read or forgotten, to `target`. `progress` may ask to stop.
///
/// Cost: log files read once, and each body; memory for the vertices, and for the edges of one type, both sides twice.
///
/// # Errors
/// `corrupt` if nothing can be named; `invalid` for a target that is taken; `busy`, `limit`, `io`, `cancelled`.
/// What was written is removed then.
pub fn salvage<S: BodySink>(
    mut source: SalvageSource<'_>,
    target: &SalvageTarget<'_>,
    files: SalvageFiles<'_, S>,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    let SalvageFiles { bodies, newest_base, has_lost_runs, sink, finish } = files;
    let mut changes = Changes::new(&source.manifest);
    let log = source.read_log(&mut |timestamp, payload| changes.take(timestamp, payload), progress)?;
    source.list_unsaved(&changes.names);
    let SalvageSource { manifest, mut losses, .. } = source;
    let through = Timestamp(log.through_ts);
    let at = through.max(manifest.need);

    let database = target.begin()?;
    let mut new = sink(database.directory(), at)?;
    let vertices = Vertices::gather(bodies, &changes, through, &mut losses, progress)?;
    vertices.bodies.iter().try_for_each(|(group, body)| new.vertices(*group, body))?;
    let mut uniques = Uniques::new(&changes, newest_base > through || has_lost_runs);
    uniques.look_at_vertices(&changes, &vertices);
    let types: Vec<TypeId> = changes.names.catalogue.edge_types().map(|(id, _)| id).collect();
    let (mut edges_count, mut stale_through) = (0, vertices.stale_through);
    for (done, edge_type) in types.iter().enumerate() {
        tell(progress, "edges, by type", done as u64, types.len() as u64)?;
        let edges = Edges::gather(bodies, &changes, &vertices, *edge_type, through, &mut losses);
        edges_count += edges.out.values().map(|body| body.items() as u64).sum::<u64>();
        stale_through = stale_through.into_iter().chain(edges.stale_through).min();
        uniques.look_at_edges(*edge_type, edges.out.values());
        for (side, bodies) in [(Direction::Out, edges.out), (Direction::In, edges.incoming)] {
            for (group, body) in bodies {
                new.edges(group, *edge_type, side, body)?;
            }
        }
    }
    uniques.drop_broken(&mut changes, &mut losses);
    tell(progress, "write the manifest", 0, 1)?;
    let groups = changes.names.groups.values().copied().collect();
    let vertices_count = vertices.count();
    let bytes_written = finish(new, database, changes.names.catalogue, groups)?;
    let oldest = stale_through.map_or(through, |stale| stale.min(through));
    let newest = newest_base.max(through);
    let mut salvaged = Salvaged::new(oldest, losses, log.left);
    salvaged.mixed_through = (newest > oldest).then_some(newest);
    salvaged.vertices_count = vertices_count;
    salvaged.edges_count = edges_count;
    salvaged.bytes_written = bytes_written;
    Ok(salvaged)
}

/// Unique indexes and the values of what they are on: groups that are known through different commits may
/// have one value twice.
struct Uniques {
    indexes: Vec<(IndexDefinition, BTreeSet<Value>, Option<Value>)>,
}

impl Uniques {
    /// Of one moment, nothing is there twice: then none is looked at.
    fn new(changes: &Changes, is_mixed: bool) -> Self {
        let unique = changes.names.catalogue.indexes().filter(|index| index.unique && is_mixed);
        Self { indexes: unique.map(|index| (index, BTreeSet::new(), None)).collect() }
    }

    fn look_at_vertices(&mut self, changes: &Changes, vertices: &Vertices) {
        for (index, seen, twice) in &mut self.indexes {
            let mut look = |value| look(value, seen, twice);
            vertices.for_each_value(changes, index.id.owner, index.id.key, &mut look);
            seen.clear();
        }
    }

    fn look_at_edges<'b>(&mut self, edge_type: TypeId, bodies: impl Iterator<Item = &'b EdgeBody> + Clone) {
        let of_type = self.indexes.iter_mut().filter(|entry| entry.0.id.owner == Owner::EdgeType(edge_type));
        for (index, seen, twice) in of_type {
            let key: KeyId = index.id.key;
            for column in bodies.clone().filter_map(|body| body.column(key)) {
                (0..column.len()).filter_map(|at| column.get(at)).for_each(|value| look(value, seen, twice));
            }
            seen.clear();
        }
    }

    /// Takes broken ones out of the catalogue.
    fn drop_broken(self, changes: &mut Changes, losses: &mut Vec<Loss>) {
        for (index, _, twice) in self.indexes {
            let Some(value) = twice else { continue };
            let property = changes.names.catalogue.property_name(index.id.owner, index.id.key);
            let text = format!("the unique index on {property} was left out: {value} occurs twice");
            losses.push(Loss { property: Some(property), ..Loss::new(LossKind::Index, text) });
            changes.names.catalogue.apply(&SchemaChange::DropIndex(index.id));
        }
    }
}

fn look(value: Value, seen: &mut BTreeSet<Value>, twice: &mut Option<Value>) {
    if seen.contains(&value) {
        twice.get_or_insert(value);
    } else {
        seen.insert(value);
    }
}
