//! Graph writer: a whole graph becomes the files of a new database, for a conversion.
//!
//! ```text
//! source:  vertices, group by group | out edges, in edges of type 0 | of type 1 | ...
//! files:   the same order, without stamps, all in the bottommost level
//! ```
//!
//! A source hands out groups and lists in the order of keys, so that nothing is sorted. Every record is of the commit
//! that is converted, as in a bulk load; nobody reads the new database before.

use crate::durable::load::output::{LoadFileLimits, LoadOutput, Sequence};
use crate::durable::section::{FileList, file_parts};
use crate::engine::DiskEngine;
use crate::format::file_name::FileNumber;
use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::ItemKey;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::conversion::source::GraphSource;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::view::View;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// As `DurableEngine::write_graph`. Cost: one pass over the source, some 20 ns an edge and side beside what reading it
/// costs; memory for a batch of the source, a file's column pages and 100 bytes a file.
///
/// # Errors
/// As `DurableEngine::write_graph`.
pub(super) fn write_graph<V: View>(
    source: &mut GraphSource<'_, V>,
    directory: &Arc<dyn Directory>,
) -> Result<(Manifest, u64)> {
    let next_file = Cell::new(1);
    let next_number = || FileNumber(next_file.replace(next_file.get() + 1));
    let at = source.timestamp();
    // Nothing of a new database is in a newer level.
    let mut output = LoadOutput::new(directory, &next_number, at, u64::MAX, LoadFileLimits::default());
    for group in source.groups() {
        source.vertices(group, &mut |vertex, properties| Ok(output.push_vertex(vertex, &properties)?))?;
    }
    let sides = [(Direction::Out, EdgeSide::Out), (Direction::In, EdgeSide::In)];
    let groups = [groups_by_type(source, Direction::Out)?, groups_by_type(source, Direction::In)?];
    for (edge_type, _) in source.catalogue().edge_types() {
        for ((direction, side), groups) in sides.iter().zip(&groups) {
            let subject = Subject::edges(edge_type, *side);
            for group in groups.get(&edge_type).into_iter().flatten() {
                source.edges(*group, edge_type, *direction, &mut |edge, properties| {
                    let item = ItemKey::edge(edge.neighbor, edge.discriminator);
                    Ok(output.push_edge(Sequence::Bottom, (subject, edge.vertex), item, &properties)?)
                })?;
            }
        }
    }
    let files = output.finish()?;
    let list = FileList { files: files.bottom.clone(), ..FileList::default() };
    let bytes = list.files.iter().flat_map(file_parts).map(|(_, part)| part.bytes).sum();
    let mut manifest = Manifest {
        covered_through: at,
        need: at,
        next_file: next_file.get(),
        catalogue: source.catalogue().clone(),
        groups: source.groups().to_vec(),
        has_end_file: true,
        ..Manifest::empty(DiskEngine::NAME, Vec::new())
    };
    list.put_into(&mut manifest)?;
    files.keep();
    Ok((manifest, bytes))
}

/// The groups that may have edges of each type on a side, ascending.
fn groups_by_type<V: View>(
    source: &GraphSource<'_, V>,
    side: Direction,
) -> Result<BTreeMap<TypeId, Vec<GroupId>>> {
    let mut groups: BTreeMap<TypeId, Vec<GroupId>> = BTreeMap::new();
    for group in source.groups() {
        for edge_type in source.edge_types(group.id, side)? {
            groups.entry(edge_type).or_default().push(group.id);
        }
    }
    Ok(groups)
}
