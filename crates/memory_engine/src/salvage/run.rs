//! Run: combines what is left of bodies and log, and writes it to a new database.

use std::collections::BTreeSet;

use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, KeyId, TypeId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

use crate::checkpoint::segment_list::SegmentList;
use crate::engine::MemoryEngine;
use crate::salvage::bodies::Bodies;
use crate::salvage::changes::Changes;
use crate::salvage::edges::Edges;
use crate::salvage::new_bodies::NewBodies;
use crate::salvage::vertices::Vertices;
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, tell};
use evergraph_storage::salvage::loss::{Loss, LossKind};
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;

/// Writes what verifies of `source` to `target`. `progress` may ask to stop.
///
/// Cost: log files read once, of bodies' files a block once for each body in it; memory for the vertices, and
/// for the edges of one type, both sides twice.
///
/// # Errors
/// `corrupt` if nothing can be named; `invalid` for a target that is taken; `busy`, `limit`, `io`, `cancelled`.
/// What was written is removed then.
pub fn salvage(
    mut source: SalvageSource<'_>,
    target: &SalvageTarget<'_>,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    let list = match SegmentList::of(source.directory, &source.manifest) {
        Ok(list) => list,
        Err(error) => {
            let empty = Manifest::empty(MemoryEngine::NAME, SegmentList::empty_section());
            source.forget_manifest(empty, error)?;
            SegmentList::default()
        }
    };
    let mut changes = Changes::new(&source.manifest);
    let log = source.read_log(&mut |timestamp, payload| changes.take(timestamp, payload), progress)?;
    source.list_unsaved(&changes.names);
    let SalvageSource { directory, manifest, mut losses, .. } = source;
    let through = Timestamp(log.through_ts);
    let bases = list.segments.iter().map(|(_, stored)| stored.base);
    let newest_base = bases.max().unwrap_or(Timestamp::ZERO);
    let at = through.max(manifest.need);

    let database = target.begin()?;
    let mut new = NewBodies::new(database.directory(), at);
    let bodies = Bodies::open(directory, &list.segments)?;
    let vertices = Vertices::gather(&bodies, &changes, through, &mut losses, progress)?;
    vertices.bodies.iter().try_for_each(|(group, body)| new.vertices(*group, body))?;
    let mut uniques = Uniques::new(&changes, newest_base > through);
    uniques.look_at_vertices(&changes, &vertices);
    let types: Vec<TypeId> = changes.names.catalogue.edge_types().map(|(id, _)| id).collect();
    let mut edges_count = 0;
    for (done, edge_type) in types.iter().enumerate() {
        tell(progress, "edges, by type", done as u64, types.len() as u64)?;
        let edges = Edges::gather(&bodies, &changes, &vertices, *edge_type, through, &mut losses);
        edges_count += edges.out.values().map(|body| body.items() as u64).sum::<u64>();
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
    let bytes_written = new.finish(database, changes.names.catalogue, groups)?;
    let mut salvaged = Salvaged::new(through, losses, log.left);
    salvaged.mixed_through = (newest_base > through).then_some(newest_base);
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
