//! Output: the files of a compaction, one after the other, cut between any two keys.
//!
//! Until all of them are kept, every file is removed when this is dropped: the one in hand by its writer, those that are
//! finished here.

use crate::format::file_head::FileStamps;
use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use crate::format::filter::FilterChoice;
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::manifest::remove_if_there;
use evergraph_storage::io::directory::Directory;
use std::sync::Arc;

/// When an output ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputLimits {
    /// It has at least this many bytes.
    pub file_bytes: u64,
    /// Finished column pages of this many bytes wait in memory for the end of their subject.
    pub waiting_bytes: u64,
}

impl Default for OutputLimits {
    /// 64 MiB, of which 32 may wait.
    fn default() -> Self {
        Self { file_bytes: 64 << 20, waiting_bytes: 32 << 20 }
    }
}

/// What all outputs have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputForm {
    pub(crate) level: u8,
    pub(crate) first_ts: Timestamp,
    pub(crate) last_ts: Timestamp,
    pub(crate) limits: OutputLimits,
    pub(crate) filters: FilterChoice,
}

/// Output files of one compaction.
pub(crate) struct OutputFiles<'a> {
    directory: &'a Arc<dyn Directory>,
    form: OutputForm,
    numbers: &'a mut dyn FnMut() -> FileNumber,
    writer: Option<FileWriter>,
    /// Those that are removed if this is dropped.
    finished: Vec<StoredFile>,
}

impl<'a> OutputFiles<'a> {
    pub(crate) fn new(
        directory: &'a Arc<dyn Directory>,
        form: OutputForm,
        numbers: &'a mut dyn FnMut() -> FileNumber,
    ) -> Self {
        Self { directory, form, numbers, writer: None, finished: Vec::new() }
    }

    /// The file in hand, if there is one.
    pub(crate) fn in_hand(&mut self) -> Option<&mut FileWriter> {
        self.writer.as_mut()
    }

    /// The file in hand, or a new one.
    ///
    /// # Errors
    /// As [`FileWriter::create`].
    pub(crate) fn writer(&mut self) -> CheckpointResult<&mut FileWriter> {
        Ok(match &mut self.writer {
            Some(writer) => writer,
            none => {
                let OutputForm { level, first_ts, last_ts, filters, .. } = self.form;
                let (number, stamps) = ((self.numbers)(), FileStamps::Unstamped);
                let new = NewFile { number, level, stamps, first_ts, last_ts };
                none.insert(FileWriter::create(self.directory, &new)?.with_filters(filters))
            }
        })
    }

    /// Whether the file in hand is as long as a file may be, or as much of it waits in memory as may.
    pub(crate) fn is_full(&self) -> bool {
        let limits = self.form.limits;
        self.writer.as_ref().is_some_and(|writer| {
            writer.bytes() >= limits.file_bytes || writer.waiting_bytes() >= limits.waiting_bytes
        })
    }

    /// Finishes the file in hand: the next record begins another one.
    ///
    /// # Errors
    /// As [`FileWriter::finish`].
    pub(crate) fn cut(&mut self) -> CheckpointResult<()> {
        if let Some(writer) = self.writer.take() {
            self.finished.push(writer.finish()?);
        }
        Ok(())
    }

    /// Finishes the last file, and lets all of them stay.
    ///
    /// # Errors
    /// As [`FileWriter::finish`].
    pub(crate) fn keep(mut self) -> CheckpointResult<Vec<StoredFile>> {
        self.cut()?;
        Ok(std::mem::take(&mut self.finished))
    }
}

impl Drop for OutputFiles<'_> {
    fn drop(&mut self) {
        self.writer = None;
        for file in self.finished.drain(..) {
            for content in [FileContent::Topology, FileContent::Columns] {
                // What cannot be removed is named by no manifest, and removed when the database is opened.
                let name = CsrFileName::new(file.number, content).to_string();
                drop(remove_if_there(&**self.directory, &name));
            }
        }
    }
}
