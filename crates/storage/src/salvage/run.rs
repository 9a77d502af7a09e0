//! Run: a damaged database read in order, and what was saved of it written to a new one.

use std::collections::BTreeSet;
use std::sync::Arc;

use evergraph_graph::catalogue::{Owner, SchemaChange};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, KeyId, TypeId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

use crate::checkpoint::body_file;
use crate::checkpoint::check::{CheckProgress, tell};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::Manifest;
use crate::engine::Engine;
use crate::io::directory::Directory;
use crate::log::damaged::{DamagedLog, LeftCommits, LogFault, read_damaged};
use crate::log::file;
use crate::memory::engine::MemoryEngine;
use crate::salvage::bodies::Bodies;
use crate::salvage::changes::Changes;
use crate::salvage::edges::Edges;
use crate::salvage::loss::{Loss, LossKind};
use crate::salvage::new_database::NewDatabase;
use crate::salvage::vertices::Vertices;
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::unfinished::{LOCK_NAME, is_unfinished, unfinished};

/// What was saved, and what wasn't.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Salvaged {
    /// X: every commit through this one is in the new database, less what is missing.
    pub through: Timestamp,
    /// If bodies hold commits that the log lost: the last of them. What was saved is no state of one moment
    /// then, but each group's as of some commit from X up to this one.
    pub mixed_through: Option<Timestamp>,
    /// Vertices in the new database.
    pub vertices_count: u64,
    /// Edges in it.
    pub edges_count: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// What is damaged, and what of that is missing.
    pub losses: Vec<Loss>,
    /// Commits that verify behind a missing one, and were not taken.
    pub left: LeftCommits,
}

impl Salvaged {
    /// Whether nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.losses.iter().any(Loss::is_missing)
    }
}

/// Reads the database in `directory`, of which not a byte is changed, and writes what verifies into
/// `target`, an empty directory. `salt` is any number; `progress` may ask to stop.
///
/// Cost: log files read once, of bodies' files a block once for each body in it; memory for the vertices, and for the edges of one type, both sides twice.
///
/// # Errors
/// `corrupt` if nothing can be named, since the manifest is damaged and the log doesn't go back to the first
/// commit; `not_found` if there is no database; `invalid` for another engine, a newer format, or a target
/// that is taken; `busy`, `limit`, `io`, `cancelled`. What was written is removed then.
pub fn salvage(
    directory: &dyn Directory,
    target: &Arc<dyn Directory>,
    salt: u64,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    if is_unfinished(directory)? {
        return Err(unfinished(directory));
    }
    let _lock = directory.lock_unchanged(LOCK_NAME)?;
    let mut losses = Vec::new();
    let manifest = match Manifest::read(directory, MemoryEngine::NAME) {
        Ok(manifest) => Some(manifest),
        Err(CheckpointError::Corrupt { file, offset, problem }) => {
            let text = format!("{problem}; names and vertices were taken from the log");
            let loss = Loss::new(LossKind::Nothing, text);
            losses.push(Loss { file: Some(file), offset: Some(offset), ..loss });
            None
        }
        Err(error @ CheckpointError::NotADatabase { .. }) => {
            let names = directory.list()?;
            let is_ours =
                |name: &String| body_file::file_number(name).is_some() || file::file_number(name).is_some();
            if !names.iter().any(is_ours) {
                return Err(error.into());
            }
            let text = "the manifest is missing; names and vertices were taken from the log";
            losses.push(Loss::new(LossKind::Nothing, text));
            None
        }
        Err(error) => return Err(error.into()),
    };
    let is_named = manifest.is_some();
    let manifest = manifest.unwrap_or_else(|| Manifest::empty(MemoryEngine::NAME));
    let mut changes = Changes::new(manifest.catalogue.clone(), &manifest.groups);
    let log = read_log(directory, &manifest, &mut changes, progress)?;
    if !is_named && !log.reaches_back {
        return Err(nameless(directory));
    }
    losses.extend(log.faults.iter().map(loss_of));
    if !is_named {
        let text = "a bulk load, which only the manifest knew";
        let loads = changes.empty.iter();
        losses.extend(
            loads.map(|at| Loss { commits: Some((*at, Some(*at))), ..Loss::new(LossKind::Load, text) }),
        );
    }
    let through = Timestamp(log.through_ts);
    let bases = manifest.segments.iter().map(|(_, stored)| stored.base);
    let newest_base = bases.max().unwrap_or(Timestamp::ZERO);
    let at = through.max(manifest.need);

    let mut new = NewDatabase::begin(target, at)?;
    let bodies = Bodies::open(directory, &manifest.segments)?;
    let vertices = Vertices::gather(&bodies, &changes, through, &mut losses, progress)?;
    vertices.bodies.iter().try_for_each(|(group, body)| new.vertices(*group, body))?;
    let mut uniques = Uniques::new(&changes, newest_base > through);
    uniques.look_at_vertices(&changes, &vertices);
    let types: Vec<TypeId> = changes.catalogue.edge_types().map(|(id, _)| id).collect();
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
    let groups = changes.groups.values().copied().collect();
    let vertices_count = vertices.count();
    let bytes_written = new.finish(changes.catalogue, groups, salt)?;
    Ok(Salvaged {
        through,
        mixed_through: (newest_base > through).then_some(newest_base),
        vertices_count,
        edges_count,
        bytes_written,
        losses,
        left: log.left,
    })
}

fn read_log(
    directory: &dyn Directory,
    manifest: &Manifest,
    changes: &mut Changes,
    progress: &mut CheckProgress<'_>,
) -> Result<DamagedLog> {
    let need = manifest.need.0;
    let mut stopped = Ok(());
    let log = read_damaged(directory, manifest.wanted_log(), &mut |ts, payload| {
        if stopped.is_ok() {
            stopped = tell(progress, "commits in the log", ts, ts.max(need));
        }
        if stopped.is_err() {
            return Err("it was asked to stop".to_owned());
        }
        changes.take(Timestamp(ts), payload)
    });
    stopped?;
    Ok(log?)
}

fn nameless(directory: &dyn Directory) -> Error {
    let text = format!(
        "{}: the manifest can't be read, and the log doesn't go back to the first commit: nobody knows the \
         names of labels, types and properties any more, nor which body is whose; restore the manifest or a \
         backup",
        directory.location().display()
    );
    Error::new(ErrorKind::Corrupt, text)
}

fn loss_of(fault: &LogFault) -> Loss {
    let LogFault { file, offset, length, problem, missing } = fault;
    let kind = if missing.is_some() { LossKind::Commits } else { LossKind::Nothing };
    let text = match missing {
        Some(_) => problem.clone(),
        None => format!("{problem}; no commit was there"),
    };
    Loss {
        file: Some(file.clone()),
        offset: Some(*offset),
        length: *length,
        commits: missing.map(|(first, last)| (Timestamp(first), last.map(Timestamp))),
        count: missing.and_then(|(first, last)| (last == Some(first)).then_some(1)),
        ..Loss::new(kind, text)
    }
}

/// Unique indexes and the values of what they are on: groups that are known through different commits may
/// have one value twice.
struct Uniques {
    indexes: Vec<(IndexDefinition, BTreeSet<Value>, Option<Value>)>,
}

impl Uniques {
    /// Of one moment, nothing is there twice: then none is looked at.
    fn new(changes: &Changes, is_mixed: bool) -> Self {
        let unique = changes.catalogue.indexes().filter(|index| index.unique && is_mixed);
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
            let property = changes.catalogue.property_name(index.id.owner, index.id.key);
            let text = format!("the unique index on {property} was left out: {value} occurs twice");
            losses.push(Loss { property: Some(property), ..Loss::new(LossKind::Index, text) });
            changes.catalogue.apply(&SchemaChange::DropIndex(index.id));
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
