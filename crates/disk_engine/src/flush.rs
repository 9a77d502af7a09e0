//! Flush: a frozen memory graph becomes a stamped file of level 0.
//!
//! ```text
//! scan      lists by subject and vertex; records by item, then time ──┐ newest first
//! indexes   by subject; records by value, item, then time ────────────┴─> FileWriter ──> csr-7, col-7
//! ```
//!
//! Every record goes into the file, older ones of an item too: with their stamps the file gives the answers that the
//! graph gave, to a reader at any timestamp (rule D2). Readers of the graph go on meanwhile, and nobody waits: a
//! frozen graph is not written any more.
//!
//! Memory: the writer's, with the pages of columns of one subject, the records of one list, and 4 Ki records of an index.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.2.1. Differs: exact records with their stamps.

use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::FileStamps;
use crate::format::file_name::FileNumber;
use crate::format::filter::FilterChoice;
use crate::format::lists::record::ListRecord;
use crate::format::subject::Subject;
use crate::format::vertices::VertexRecord;
use crate::memory_graph::graph::MemoryGraph;
use crate::memory_graph::scan::SortedList;
use crate::memory_graph::visible::{CommittedIndexRecord, VisibleRecords};
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use std::sync::Arc;

/// Records of an index that are copied at once.
const INDEX_BATCH_RECORDS: usize = 4096;

/// Writes the frozen `graph` as file `number`, durable when this returns; `None`, and no file, if it has no records.
/// A number is used once, whatever becomes of the flush.
///
/// Cost: 90 to 210 ns a record for the scan, as measured in the design's prototype, and some 20 ns for the writer
/// (estimated); what is in the file is written once.
///
/// # Errors
/// Those of the directory. No file is left then, unless its removal fails too.
///
/// # Panics
/// If the graph is not frozen.
pub fn write_generation(
    directory: &Arc<dyn Directory>,
    number: FileNumber,
    graph: &MemoryGraph,
) -> CheckpointResult<Option<StoredFile>> {
    write_generation_watched(directory, number, graph, FilterChoice::default(), &mut |_| ())
}

/// As [`write_generation`], with filters by `filters`; `on_waiting` hears, after each list, how many bytes of finished pages of columns wait in
/// memory for the end of their subject: as much as all of its short values at most.
///
/// # Errors
/// As [`write_generation`].
///
/// # Panics
/// As [`write_generation`].
pub fn write_generation_watched(
    directory: &Arc<dyn Directory>,
    number: FileNumber,
    graph: &MemoryGraph,
    filters: FilterChoice,
    on_waiting: &mut dyn FnMut(u64),
) -> CheckpointResult<Option<StoredFile>> {
    assert!(graph.is_frozen(), "the flush of a graph begins when nothing is appended any more");
    let (Some(first_ts), Some(last_ts)) = (graph.first(), graph.last()) else { return Ok(None) };
    let new = NewFile { number, level: 0, stamps: FileStamps::Stamped, first_ts, last_ts };
    let mut file = LazyFile { directory, new, filters, writer: None };
    let visible = graph.at(last_ts);
    let mut scan = visible.scan(..);
    while let Some(list) = scan.next_list() {
        let writer = file.writer()?;
        write_list(writer, &list)?;
        on_waiting(writer.waiting_bytes());
    }
    for index in visible.index_subjects() {
        write_index(&mut file, &visible, index)?;
    }
    file.writer.map(FileWriter::finish).transpose()
}

/// A file that is created with its first record.
struct LazyFile<'a> {
    directory: &'a Arc<dyn Directory>,
    new: NewFile,
    filters: FilterChoice,
    writer: Option<FileWriter>,
}

impl LazyFile<'_> {
    fn writer(&mut self) -> CheckpointResult<&mut FileWriter> {
        Ok(match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(FileWriter::create(self.directory, &self.new)?.with_filters(self.filters)),
        })
    }
}

/// Writes the records of a list, of each item the newest first.
fn write_list(writer: &mut FileWriter, list: &SortedList<'_, '_>) -> CheckpointResult<()> {
    let (subject, vertex) = (list.id.subject, list.id.vertex);
    for records in list.records.chunk_by(|a, b| a.item == b.item) {
        for record in records.iter().rev() {
            let (operation, stamp) = (record.operation, record.timestamp);
            if subject == Subject::VERTICES {
                writer.push_vertex(&VertexRecord { vertex, operation, stamp }, record.payload)?;
            } else {
                let (neighbor, discriminator) = (record.item.neighbor(), record.item.discriminator());
                let edge = ListRecord { vertex, neighbor, discriminator, operation, stamp };
                writer.push_edge(subject, &edge, record.payload)?;
            }
        }
    }
    Ok(())
}

/// Writes the records of an index, of each pair the newest first. They are copied batch by batch, so that nothing is
/// written under a lock of the index.
fn write_index(
    file: &mut LazyFile<'_>,
    visible: &VisibleRecords<'_>,
    index: Subject,
) -> CheckpointResult<()> {
    let mut batch = Vec::new();
    loop {
        let after = batch.pop().map(|last: CommittedIndexRecord| (last.value, last.item));
        batch.clear();
        let after = after.as_ref().map(|(value, item)| (&**value, *item));
        visible.index_records_after(index, after, INDEX_BATCH_RECORDS, &mut batch);
        if batch.is_empty() {
            return Ok(());
        }
        for records in batch.chunk_by(|a, b| a.item == b.item && a.value == b.value) {
            for CommittedIndexRecord { value, item, timestamp, operation } in records.iter().rev() {
                let record = EntryRecord { value, item: *item, operation: *operation, stamp: *timestamp };
                file.writer()?.push_entry(index, &record)?;
            }
        }
    }
}
