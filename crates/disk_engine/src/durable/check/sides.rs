//! Sides: names the edges that one side has and the other hasn't, of groups whose sums differ.

use crate::durable::check::stored_bytes::StoredBytes;
use crate::durable::check::sums::edge_of;
use crate::format::file_name::FileContent;
use crate::format::lists::buffer::ListBuffer;
use crate::format::lists::page::ListPage;
use crate::format::page_index::topology::{IndexedPage, TopologyIndex};
use crate::format::subject::{EdgeSide, Subject};
use crate::stored_file::StoredFile;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, GROUP_SIZE, GroupId, TypeId, VertexId};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::report::{CheckProgress, Report, tell};
use evergraph_storage::io::directory::Directory;
use std::collections::{BTreeMap, BTreeSet};

/// Groups whose edges are named; of more it is only said that they differ.
const GROUPS_MAX: usize = 16;

/// Names the edges of `different`, types and groups of sources, that are on one side alone.
///
/// Cost: reads the groups' out lists and all in lists of their types; 40 bytes for each of their edges.
///
/// # Errors
/// `cancelled`, and what the system says.
pub(super) fn name_differences(
    directory: &dyn Directory,
    files: &[StoredFile],
    different: &[(TypeId, GroupId)],
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let (named, others) = different.split_at(different.len().min(GROUPS_MAX));
    for (edge_type, group) in others {
        let place = format!("the out edges of type {} of group {}", edge_type.0, group.0);
        report.find(place, "they are not those of the in side");
    }
    let mut counts = BTreeMap::new();
    for (at, stored) in files.iter().enumerate() {
        if named.is_empty() {
            break;
        }
        tell(progress, "files of groups whose sides differ", at as u64, files.len() as u64)?;
        // What can't be read was found before.
        if let Err(error) = count_edges(directory, stored, &named.iter().copied().collect(), &mut counts) {
            report.take_in(error)?;
        }
    }
    for (edge, [out, into]) in counts {
        let (side, other, list) =
            if out > into { ("out", "in", edge.target) } else { ("in", "out", edge.source) };
        let problem = match (out, into) {
            (1, 0) | (0, 1) => format!("missing in the {other} list of {list}"),
            _ => format!("{out} times in the out list, {into} times in the in list: more on the {side} side"),
        };
        report.find(edge.to_string(), problem);
    }
    Ok(())
}

/// Inserts less Deletes of each edge on each side, where they differ.
type EdgeCounts = BTreeMap<EdgeId, [i64; 2]>;

fn count_edges(
    directory: &dyn Directory,
    stored: &StoredFile,
    named: &BTreeSet<(TypeId, GroupId)>,
    counts: &mut EdgeCounts,
) -> CheckpointResult<()> {
    let file = StoredBytes::open(directory, stored, FileContent::Topology, &stored.topology)?;
    let index = TopologyIndex::decode(&file.index, file.pages)
        .map_err(|error| file.corrupt(file.index_offset + error.offset as u64, error.expected))?;
    let mut buffer = ListBuffer::default();
    let types: BTreeSet<TypeId> = named.iter().map(|(edge_type, _)| *edge_type).collect();
    let mut count = |subject: Subject, pages: &[IndexedPage]| -> CheckpointResult<()> {
        for indexed in pages {
            let bytes = file.read_page(indexed.page)?;
            let read =
                ListPage::open(&bytes).and_then(|page| page.decode_records(stored.first_ts, &mut buffer));
            read.map_err(|error| file.in_page(indexed.page, error))?;
            for record in buffer.records() {
                let Some((edge, side)) = edge_of(subject, &record) else { continue };
                if !named.contains(&(edge.edge_type, edge.source.group())) {
                    continue;
                }
                let sums = counts.entry(edge).or_insert([0; 2]);
                sums[usize::from(side == EdgeSide::In)] += record.operation.difference();
                if sums[0] == sums[1] {
                    counts.remove(&edge);
                }
            }
        }
        Ok(())
    };
    for edge_type in types {
        let into = Subject::edges(edge_type, EdgeSide::In);
        count(into, index.pages_of(into))?;
        let out = Subject::edges(edge_type, EdgeSide::Out);
        let groups = named.iter().filter(|(of, _)| *of == edge_type).map(|(_, group)| group);
        // Groups that lie beside each other share pages, which count once.
        let mut pages: Vec<IndexedPage> = groups
            .flat_map(|group| {
                let last = VertexId::new(*group, (GROUP_SIZE - 1) as u16);
                index.pages_between(out, (VertexId::new(*group, 0), VertexId(0)), (last, VertexId(u32::MAX)))
            })
            .copied()
            .collect();
        pages.dedup_by_key(|page| page.page);
        count(out, &pages)?;
    }
    Ok(())
}
