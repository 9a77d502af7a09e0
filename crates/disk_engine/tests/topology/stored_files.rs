//! Stored files: the records of naive files in CSR files, on a directory in memory.

use crate::naive_file::{NaiveFile, NaiveRecord};
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::lists::record::ListRecord;
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use std::ops::Range;
use std::sync::Arc;

/// A directory and what reads it.
pub struct StoredFiles {
    directory: Arc<dyn Directory>,
    reader: Arc<PageReader>,
    next: u64,
}

impl StoredFiles {
    pub fn new() -> Self {
        let reader = PageReader::start(&MemoryBudget::new(1 << 22), Background::Stepped).unwrap();
        Self { directory: Arc::new(MemoryDirectory::new("/files")), reader, next: 1 }
    }

    /// The records of a naive file of some commits, numbered from 0, as a CSR file, unless there are none.
    pub fn store(&mut self, file: &NaiveFile, commits: Range<usize>) -> Option<CsrFile> {
        if file.records.is_empty() {
            return None;
        }
        let new = NewFile {
            number: FileNumber(self.next),
            level: u8::from(!file.is_stamped),
            stamps: if file.is_stamped { FileStamps::Stamped } else { FileStamps::Unstamped },
            first_ts: Timestamp(commits.start as u64 + 1),
            last_ts: Timestamp(commits.end as u64),
        };
        self.next += 1;
        let mut writer = FileWriter::create(&self.directory, &new).unwrap();
        for ((list, item), records) in &file.records {
            for NaiveRecord { stamp, operation, properties } in records.iter().rev() {
                let (stamp, operation) = (*stamp, *operation);
                if list.subject == Subject::VERTICES {
                    let record = VertexRecord { vertex: list.vertex, operation, stamp };
                    writer.push_vertex(&record, properties).unwrap();
                } else {
                    let (neighbor, discriminator) = (item.neighbor(), item.discriminator());
                    let record =
                        ListRecord { vertex: list.vertex, neighbor, discriminator, operation, stamp };
                    writer.push_edge(list.subject, &record, properties).unwrap();
                }
            }
        }
        let stored = writer.finish().unwrap();
        Some(CsrFile::open(&self.directory, &stored, &self.reader).unwrap())
    }
}
