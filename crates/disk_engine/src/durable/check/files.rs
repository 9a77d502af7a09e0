//! Files: checks all files that a manifest names, one after the other and then together.

use crate::compact::exactness::check_exactness;
use crate::durable::check::columns::check_columns;
use crate::durable::check::sides::name_differences;
use crate::durable::check::stored_bytes::StoredBytes;
use crate::durable::check::sums::GraphSums;
use crate::durable::check::topology::check_topology;
use crate::durable::section::FileList;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::format::file_name::FileContent;
use crate::format::page_index::topology::TopologyIndex;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::vertices::VertexPage;
use crate::stored_file::StoredFile;
use evergraph_graph::error::Result;
use evergraph_graph::split_mix::mix;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, StoredGroup};
use evergraph_storage::checkpoint::report::{CheckProgress, Report, tell};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::memory_budget::MemoryBudget;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A merge of whole files reads past the cache. What indexes take comes on top.
const CACHE_BYTES: u64 = 1 << 20;

/// Checks the files that `manifest` names. Nobody writes to them.
///
/// Cost: reads pages of vertices three times, of lists twice and all others once; about 600 bytes a group, 16 for each type
/// that has edges from it, the page indexes of all files (some 25 bytes for a page of 16 KiB), and 1 MiB.
///
/// # Errors
/// `cancelled`, and what the system says. Damage is a finding.
pub fn check_files(
    directory: &dyn Directory,
    manifest: &Manifest,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    match FileList::of(directory, manifest) {
        Ok(list) => check_stored(directory, &list.files, &manifest.groups, report, progress),
        Err(error) => report.take_in(error),
    }
}

/// Checks `files`, all of a database with `groups`.
///
/// # Errors
/// As [`check_files`].
pub(in crate::durable) fn check_stored(
    directory: &dyn Directory,
    files: &[StoredFile],
    groups: &[StoredGroup],
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    // The sums' key follows from the files, so that a report can be had again, and none can be prepared for.
    let number = files
        .iter()
        .fold(0, |key, file| mix(key ^ file.number.0 ^ u64::from(file.topology.footer_crc) << 32));
    let mut sums = GraphSums::new([number, mix(number)]);
    let count = files.len() as u64;
    for (at, stored) in files.iter().enumerate() {
        tell(progress, "vertices, by file", at as u64, count)?;
        match add_vertices(directory, stored, &mut sums) {
            // What is damaged is found below.
            Err(CheckpointError::Corrupt { .. }) => sums.knows_live = false,
            read => read?,
        }
    }
    for (at, stored) in files.iter().enumerate() {
        tell(progress, "files", at as u64, count)?;
        check_file(directory, stored, &mut sums, report, progress)?;
    }
    check_groups(&sums, groups, report);
    for (subject, vertex, edges) in sums.dead_lists() {
        let place = format!("the {} of {vertex}", name_of(subject));
        report.find(place, format!("{edges} edges, but the vertex is not alive"));
    }
    for (subject, vertex, edges) in sums.dead_ends() {
        let problem = format!("not alive, but {edges} times among the {} of others", name_of(subject));
        report.find(vertex.to_string(), problem);
    }
    name_differences(directory, files, &sums.different_sides(), report, progress)?;
    // What is damaged is no merge's affair.
    if report.is_healthy() { check_merge(directory, files, report, progress) } else { Ok(()) }
}

/// Looks for records that contradict each other, whatever their sums say.
fn check_merge(
    directory: &dyn Directory,
    files: &[StoredFile],
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let budget = MemoryBudget::new(CACHE_BYTES);
    let checked = PageReader::start(&budget, Background::Stepped).and_then(|reader| {
        let open = |stored| CsrFile::open_in(directory, stored, &reader).map(Arc::new);
        let files = files.iter().map(open).collect::<CheckpointResult<Vec<_>>>()?;
        let mut parts = 0;
        check_exactness(&files, &mut || {
            parts += 1;
            // Progress is only ever refused.
            tell(progress, "all files together", parts, parts).map_err(|_| CheckpointError::Cancelled)
        })
    });
    checked.or_else(|error| report.take_in(error))
}

fn check_file(
    directory: &dyn Directory,
    stored: &StoredFile,
    sums: &mut GraphSums,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let values = match StoredBytes::open(directory, stored, FileContent::Topology, &stored.topology) {
        Ok(file) => {
            report.bytes_count += file.checked_bytes;
            check_topology(&file, stored, sums, report, progress)?
        }
        Err(error) => {
            sums.is_unread = true;
            report.take_in(error)?;
            None
        }
    };
    let Some(part) = &stored.columns else { return Ok(()) };
    match StoredBytes::open(directory, stored, FileContent::Columns, part) {
        Ok(file) => {
            report.bytes_count += file.checked_bytes;
            if !file.directory.is_empty() {
                let problem = "a directory without rows expected";
                report.take_in(file.corrupt(file.directory_offset, problem))?;
            }
            check_columns(&file, stored, values.as_ref(), report, progress)
        }
        Err(error) => report.take_in(error),
    }
}

/// Adds the vertices of a file.
fn add_vertices(
    directory: &dyn Directory,
    stored: &StoredFile,
    sums: &mut GraphSums,
) -> CheckpointResult<()> {
    let file = StoredBytes::open(directory, stored, FileContent::Topology, &stored.topology)?;
    let index = TopologyIndex::decode(&file.index, file.pages)
        .map_err(|error| file.corrupt(file.index_offset + error.offset as u64, error.expected))?;
    let mut records = Vec::new();
    for indexed in index.pages_of(Subject::VERTICES) {
        let bytes = file.read_page(indexed.page)?;
        let read = VertexPage::open(&bytes).and_then(|page| page.decode_into(stored.first_ts, &mut records));
        read.map_err(|error| file.in_page(indexed.page, error))?;
        records.iter().for_each(|record| sums.add_vertex(record));
    }
    Ok(())
}

/// Compares live vertices with counts, and with the rows that were given out.
fn check_groups(sums: &GraphSums, groups: &[StoredGroup], report: &mut Report) {
    let rows: BTreeMap<_, _> = groups.iter().map(|group| (group.id, group.rows)).collect();
    for (group, live, vertices) in sums.groups() {
        let count = live.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        if !sums.knows_live {
            continue;
        }
        let place = || format!("group {}", group.0);
        if vertices != count as i64 {
            report.find(place(), format!("{count} live vertices, but a count of {vertices}"));
        }
        match rows.get(&group) {
            None if count > 0 => report.find(place(), format!("{count} live vertices and no label")),
            Some(rows) => {
                let last = (0..64).rev().find_map(|at| {
                    let word = live[at];
                    (word != 0).then(|| at as u32 * 64 + 63 - word.leading_zeros())
                });
                if let Some(last) = last.filter(|last| *last >= u32::from(*rows)) {
                    report.find(place(), format!("row {last} is alive, and {rows} rows were given out"));
                }
            }
            None => {}
        }
    }
}

/// What check reports call the lists of a subject.
fn name_of(subject: Subject) -> String {
    match subject.kind() {
        SubjectKind::Edges { edge_type, side } => {
            let side = if side == EdgeSide::Out { "out" } else { "in" };
            format!("{side} edges of type {}", edge_type.0)
        }
        SubjectKind::Vertices | SubjectKind::Index(_) => subject.to_string(),
    }
}
