//! Parts: the heading and the workload of each part of the benchmark.

use crate::line_process::Requests;
use crate::plan::{Part, Work};
use crate::workload::disk::ablations::part as disk_ablations;
use crate::workload::disk::helper::{Assignment, HelperPart};
use crate::workload::disk::{
    kernels as disk_kernels, linkbench as disk_linkbench, reads as disk_reads, writes as disk_writes,
};
use crate::workload::{
    cluster, durable, gapbs, in_place, interactive, lbv, linkbench, live, look_ups, mapped, packed_lists,
    properties, queries, reads, replica, server, storage, writes,
};
use evergraph_graph::error::Result;

/// The heading of a part.
#[must_use]
pub const fn section(part: Part) -> &'static str {
    match part {
        Part::Writes => "Writes, not synced",
        Part::Durable => "Durable commits",
        Part::Reads => "Reads by engine",
        Part::Live => "Algorithms on live data",
        Part::Storage => "Memory, disk, restart",
        Part::Linkbench => "LinkBench",
        Part::InPlace => "In place, or exported",
        Part::Properties => "Properties as columns",
        Part::Layouts => "Properties beside records",
        Part::Static => "Kernels on a static array",
        Part::PackedLists => "Packed lists",
        Part::Queries => "Queries",
        Part::LookUps => "Queries that look up",
        Part::Interactive => "LDBC's interactive reads",
        Part::Lbv => "LBV's micro-benchmarks",
        Part::DiskWrites => "Disk engine: writes",
        Part::DiskReads => "Disk engine: reads",
        Part::DiskKernels => "Disk engine: kernels",
        Part::DiskAblations => "Disk engine: ablations",
        Part::DiskLinkbench => "Disk engine: LinkBench",
        Part::Server => "Server",
        Part::Replica => "Replica",
        Part::Mapped => "Raw edges in mapped files",
        Part::MappedEngine => "The mapped engine",
        Part::Cluster => "Cluster",
    }
}

/// Whether a part needs nothing but edges, so that a graph of files will do.
#[must_use]
pub const fn takes_file_graphs(part: Part) -> bool {
    matches!(
        part,
        Part::Reads | Part::Live | Part::InPlace | Part::Static | Part::PackedLists | Part::Queries
    )
}

/// Whether a part is measured only if it is chosen: it starts servers of others, needs persistent memory or its emulation,
/// belongs beside one that does, or is about several machines.
#[must_use]
pub const fn is_apart(part: Part) -> bool {
    matches!(part, Part::Replica | Part::Mapped | Part::MappedEngine | Part::Cluster)
}

/// Measures `part`.
///
/// # Errors
/// `corrupt` if an answer is wrong; what the engines say.
pub fn measure(part: Part, work: &mut Work<'_>) -> Result<()> {
    match part {
        Part::Writes => writes::measure(work),
        Part::Durable => durable::measure(work),
        Part::Reads => reads::measure(work),
        Part::Live => live::measure(work),
        Part::Storage => storage::measure(work),
        Part::Linkbench => linkbench::measure(work),
        Part::InPlace => in_place::measure(work),
        Part::Properties => properties::measure(work),
        Part::Layouts => properties::layouts::measure(work),
        Part::Static => gapbs::measure(work),
        Part::PackedLists => packed_lists::measure(work),
        Part::Queries => queries::measure(work),
        Part::LookUps => look_ups::measure(work),
        Part::Interactive => interactive::measure(work),
        Part::Lbv => lbv::measure(work),
        Part::DiskWrites => disk_writes::measure(work),
        Part::DiskReads => disk_reads::measure(work),
        Part::DiskKernels => disk_kernels::measure(work),
        Part::DiskAblations => disk_ablations::measure(work),
        Part::DiskLinkbench => disk_linkbench::measure(work),
        Part::Server => server::measure(work),
        Part::Replica => replica::measure(work),
        Part::Mapped => mapped::measure(work),
        Part::MappedEngine => mapped::engine::measure(work),
        Part::Cluster => cluster::measure(work),
    }
}

/// Works for a harness that measures a part, until it has no more requests.
///
/// # Errors
/// `invalid` if no harness started this process.
pub fn help() -> Result<()> {
    let (assignment, requests): (Assignment, _) = Requests::begin()?;
    match assignment.part {
        HelperPart::Writes => disk_writes::serve(&assignment, requests),
        HelperPart::Reads => disk_reads::serve(&assignment, requests),
        HelperPart::Kernels => disk_kernels::serve(&assignment, requests),
        HelperPart::Linkbench => disk_linkbench::serve(&assignment, requests),
    }
}
