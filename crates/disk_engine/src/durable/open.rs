//! Opening: the files that a manifest names become the engine's first file set.
//!
//! ```text
//! section ──> directory synced, every named file is there ──> files opened: heads, footers, indexes, directories
//!         ──> unnamed files removed ──> groups with their labels and edge types ──> engine at C; the log follows
//! ```
//!
//! Pages are read and verified when somebody asks for them.
//!
//! Source: disk-engine, section 8 (Opening).

use crate::durable::files::DatabaseFiles;
use crate::durable::section::FileList;
use crate::engine::{DiskEngine, EngineParts};
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::file_set::{DEEPER_LEVELS, FileSet};
use crate::format::directory::DirectoryRow;
use crate::format::file_name::FILE_HEAD_BYTES;
use crate::format::subject::SubjectKind;
use crate::groups::GroupTable;
use crate::index_table::IndexTable;
use crate::pacing::PacingLimits;
use crate::tuning::Tuning;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::durable_engine::{OpenContext, OpenedEngine};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::open_files::allow_many_files;
use std::sync::Arc;

/// Opens the engine of a database, as `DurableEngine::open` does with the default tuning.
///
/// # Errors
/// As `DurableEngine::open`.
pub fn open_tuned(opening: &OpenContext<'_>, tuning: Tuning) -> CheckpointResult<OpenedEngine<DiskEngine>> {
    let OpenContext {
        directory, manifest, timeline, background, io_threads, compaction_threads, budget, ..
    } = *opening;
    allow_many_files();
    let list = FileList::of(&**directory, manifest)?;
    let files = DatabaseFiles::open(directory, manifest, &list)?;
    let reader = PageReader::start_with(budget, io_threads, background)?;
    let groups = GroupTable::new();
    manifest.groups.iter().for_each(|group| _ = groups.open(group.id, group.label));
    let (mut flushed, mut deeper) = (Vec::new(), [const { Vec::new() }; DEEPER_LEVELS]);
    let mut bytes_count = 0;
    for stored in &list.files {
        let file = Arc::new(CsrFile::open(directory, stored, &reader)?);
        bytes_count += file.heap_bytes() as u64 + FILE_HEAD_BYTES as u64;
        let is_of_group = |row: &&DirectoryRow| !matches!(row.subject.kind(), SubjectKind::Index(_));
        for row in file.directory_rows().iter().filter(is_of_group) {
            if !groups.add_subject(row.group, row.subject) {
                let problem = format!(
                    "records of group {} in {}, which the manifest lacks",
                    row.group.0, stored.number.0
                );
                return Err(CheckpointError::Corrupt {
                    file: directory.path("manifest"),
                    offset: 0,
                    problem,
                });
            }
        }
        match stored.level.checked_sub(1) {
            None => flushed.push(file),
            Some(level) => deeper[usize::from(level)].push(file),
        }
    }
    // The section was checked: levels are disjoint.
    let set = FileSet::of(flushed, deeper).ok_or_else(|| CheckpointError::Corrupt {
        file: directory.path("manifest"),
        offset: 0,
        problem: "two files of one level overlap".to_owned(),
    })?;
    files.remove_unnamed(&list)?;
    let parts = EngineParts {
        timeline: Arc::clone(timeline),
        budget: Arc::clone(budget),
        reader,
        files,
        set,
        groups,
        indexes: IndexTable::new(list.indexes.iter().copied(), list.next_subject),
        background,
        compaction_threads,
        graph_bytes: None,
        limits: match background {
            Background::Threads => tuning.pacing_limits(),
            Background::Stepped => PacingLimits::UNCOMPACTED,
        },
        tuning,
    };
    let engine = DiskEngine::open_parts(parts).map_err(CheckpointError::Refused)?;
    Ok(OpenedEngine { engine, bytes_count })
}
