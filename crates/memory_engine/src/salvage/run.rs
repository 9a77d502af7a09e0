//! Run: salvage of the memory engine's files.

use crate::checkpoint::segment_list::SegmentList;
use crate::engine::MemoryEngine;
use crate::salvage::bodies::Bodies;
use crate::salvage::new_bodies::NewBodies;
use evergraph_bodies::salvage::run::SalvageFiles;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::CheckProgress;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;

/// Writes what verifies of `source` to `target`. `progress` may ask to stop.
///
/// Cost: as [`evergraph_bodies::salvage::run::salvage`]; of bodies' files a block is read once for each body in it.
///
/// # Errors
/// As [`evergraph_bodies::salvage::run::salvage`].
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
    let bases = list.segments.iter().map(|(_, stored)| stored.base);
    let files = SalvageFiles {
        bodies: &Bodies::open(source.directory, &list.segments)?,
        newest_base: bases.max().unwrap_or(Timestamp::ZERO),
        has_lost_runs: false,
        sink: &mut |directory, at| Ok(NewBodies::new(directory, at)),
        finish: &mut NewBodies::finish,
    };
    evergraph_bodies::salvage::run::salvage(source, target, files, progress)
}
