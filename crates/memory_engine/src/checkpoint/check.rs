//! Check of bodies' files: verifies every checksum and decodes every body.

use std::collections::BTreeMap;

use evergraph_graph::bytes::Reader;
use evergraph_graph::error::Result;

use crate::checkpoint::body_file::{BLOCK_BYTES, BodyFile};
use crate::checkpoint::segment_list::SegmentList;
use crate::segment::version::Stored;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, Report, tell};
use evergraph_storage::io::directory::Directory;

/// Bytes of a bodies' file that are verified at once.
const STRETCH_BYTES: u64 = 128 * BLOCK_BYTES;

/// Checks the files that `manifest` names.
///
/// # Errors
/// `cancelled`, and what the system says. Damage is a finding.
pub fn check_files(
    directory: &dyn Directory,
    manifest: &Manifest,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let list = match SegmentList::of(directory, manifest) {
        Ok(list) => list,
        Err(error) => return report.take_in(error),
    };
    let mut by_file: BTreeMap<u64, Vec<(SegmentId, Stored)>> = BTreeMap::new();
    for (id, stored) in &list.segments {
        by_file.entry(stored.file).or_default().push((*id, *stored));
    }
    // A file that nothing names is a left-over, removed when the database is opened.
    let count = by_file.len() as u64;
    for (at, (number, segments)) in by_file.into_iter().enumerate() {
        tell(progress, "bodies' files", at as u64, count)?;
        check_bodies(directory, number, &segments, report, progress)?;
    }
    Ok(())
}

fn check_bodies(
    directory: &dyn Directory,
    number: u64,
    segments: &[(SegmentId, Stored)],
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    let file = match BodyFile::open(directory, number) {
        Ok(file) => file,
        Err(error) => return report.take_in(error),
    };
    let end = file.bodies_end();
    for start in (0..end).step_by(STRETCH_BYTES as usize) {
        tell(progress, "checksums of bodies, in bytes", start, end)?;
        let stretch = start..end.min(start + STRETCH_BYTES);
        report.bytes_count += stretch.end - stretch.start;
        if let Err(error) = file.read(stretch) {
            report.take_in(error)?;
        }
    }
    for (at, (id, stored)) in segments.iter().enumerate() {
        tell(progress, "bodies", at as u64, segments.len() as u64)?;
        let range = stored.offset..stored.offset + stored.length;
        let window = match file.read(range.clone()) {
            Ok(window) => window,
            Err(error @ CheckpointError::Corrupt { .. }) => {
                report.find(id.to_string(), format!("can't be read: {error}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let mut reader = Reader::new(window.bytes(range));
        let decoded = match id.subject {
            None => VertexBody::take(&mut reader).map(drop),
            Some(_) => EdgeBody::take(&mut reader).map(drop),
        };
        report.bodies_count += 1;
        if let Err(error) = decoded {
            let problem = format!("{id}: {}", error.expected);
            report.take_in(file.corrupt(stored.offset + error.offset as u64, problem))?;
        }
    }
    Ok(())
}
