//! Columns writer: the properties of vertices and edges become the columns file.
//!
//! ```text
//! subject   long values, as they come | columns of the first property | of the second | ...
//! ```
//!
//! Long values of one subject are one run, whatever their properties: a column refers to them by page, so their pages
//! must be known when they come, and only one run at a time can grow at the end of a file. Full pages of columns wait
//! for the end of their subject.

use crate::format::columns::builder::{ColumnBase, ColumnPageBuilder};
use crate::format::directory::encode_directory;
use crate::format::file_head::FileHead;
use crate::format::file_name::PAGE_BYTES;
use crate::format::long_values::{LongReference, LongValuesBuilder, is_long};
use crate::format::page::{PageBytes, PageHead, Pushed};
use crate::format::page_index::columns::ColumnIndexBuilder;
use crate::format::subject::Subject;
use crate::stored_file::StoredPart;
use crate::writer::page_file::PageFile;
use evergraph_graph::id::KeyId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use std::sync::Arc;

/// Writes a columns file.
#[derive(Debug)]
pub(super) struct ColumnsWriter {
    file: PageFile,
    index: ColumnIndexBuilder,
    stamp_base: Option<Timestamp>,
    /// Of the subject, by key.
    columns: Vec<Column>,
    /// Of the subject, if it has long values.
    long_values: Option<LongValuesBuilder>,
    subject: Subject,
    /// Bytes of all columns' pages that wait.
    waiting_bytes: u64,
}

/// A column of the subject in hand.
#[derive(Debug)]
struct Column {
    key: KeyId,
    builder: ColumnPageBuilder,
    full: Vec<(PageHead, Box<PageBytes>)>,
}

impl ColumnsWriter {
    /// Creates the file of `head`.
    ///
    /// # Errors
    /// As [`PageFile::create`].
    pub(super) fn create(directory: &Arc<dyn Directory>, head: &FileHead) -> CheckpointResult<Self> {
        Ok(Self {
            file: PageFile::create(directory, head)?,
            index: ColumnIndexBuilder::default(),
            stamp_base: head.stamp_base(),
            columns: Vec::new(),
            long_values: None,
            subject: Subject::VERTICES,
            waiting_bytes: 0,
        })
    }

    /// Bytes of the file so far, pages that wait included.
    pub(super) fn bytes(&self) -> u64 {
        self.file.bytes() + self.waiting_bytes
    }

    /// Adds the properties of one record of `subject`, at a vertex or rank. Cost: some 50 ns a property, and a copy.
    ///
    /// # Errors
    /// If a write fails.
    pub(super) fn push(
        &mut self,
        subject: Subject,
        position: u64,
        stamp: Timestamp,
        properties: &Properties,
    ) -> CheckpointResult<()> {
        for (key, value) in properties.as_slice() {
            self.push_value(subject, *key, (position, stamp), value.as_ref())?;
        }
        Ok(())
    }

    /// Adds one property of one record of `subject`: `None` says that it was removed. Positions of a property ascend,
    /// each property for itself. Cost: some 50 ns, and a copy.
    ///
    /// # Errors
    /// If a write fails.
    pub(super) fn push_value(
        &mut self,
        subject: Subject,
        key: KeyId,
        (position, stamp): (u64, Timestamp),
        value: Option<&Value>,
    ) -> CheckpointResult<()> {
        if self.subject != subject {
            self.end_subject()?;
            self.subject = subject;
        }
        let column = self.column(key);
        match value {
            Some(value) if is_long(value) => {
                let reference = self.push_long(value)?;
                self.push_record(column, |builder| builder.push_long(position, reference, stamp));
            }
            value => self.push_record(column, |builder| builder.push(position, value, stamp)),
        }
        Ok(())
    }

    /// Bytes of finished pages that wait in memory for the end of their subject.
    pub(super) const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// The place of a property's column among those of the subject.
    fn column(&mut self, key: KeyId) -> usize {
        let at = self.columns.partition_point(|column| column.key < key);
        if self.columns.get(at).is_none_or(|column| column.key != key) {
            let base =
                if self.subject == Subject::VERTICES { ColumnBase::Vertices } else { ColumnBase::Ranks };
            let builder = ColumnPageBuilder::new(self.subject, key, base, self.stamp_base);
            self.columns.insert(at, Column { key, builder, full: Vec::new() });
        }
        at
    }

    fn push_record(&mut self, column: usize, push: impl Fn(&mut ColumnPageBuilder) -> Pushed) {
        let Column { builder, full, .. } = &mut self.columns[column];
        if push(builder) == Pushed::PageFull {
            let mut page = Box::new([0; PAGE_BYTES]);
            full.push((builder.finish(&mut page), page));
            self.waiting_bytes += PAGE_BYTES as u64;
            assert_eq!(push(builder), Pushed::Taken, "an empty page has room for any record");
        }
    }

    fn push_long(&mut self, value: &Value) -> CheckpointResult<LongReference> {
        let next = self.index.next_page();
        // Runs hold values of several properties: they have no key.
        let run =
            self.long_values.get_or_insert_with(|| LongValuesBuilder::new(self.subject, KeyId(0), next));
        let reference = run.push(value);
        while run.has_full_page() {
            let head = self.file.append(|page| run.take_full_page(page))?;
            self.index.push(&head.expect("there is a full page"));
        }
        Ok(reference)
    }

    /// Writes the last long values of the subject, and its columns.
    fn end_subject(&mut self) -> CheckpointResult<()> {
        if let Some(run) = self.long_values.take()
            && !run.is_empty()
        {
            let head = self.file.append(|page| run.finish(page))?;
            self.index.push(&head.expect("the run has a page in hand"));
        }
        for Column { mut builder, full, .. } in self.columns.drain(..) {
            for (head, full) in full {
                self.file.append(|page| page.copy_from_slice(&*full))?;
                self.index.push(&head);
            }
            if !builder.is_empty() {
                let head = self.file.append(|page| builder.finish(page))?;
                self.index.push(&head);
            }
        }
        self.waiting_bytes = 0;
        Ok(())
    }

    /// Writes the rest of the file, which is not synced then.
    ///
    /// # Errors
    /// If a write fails.
    pub(super) fn write_end(&mut self) -> CheckpointResult<StoredPart> {
        self.end_subject()?;
        let index = std::mem::take(&mut self.index).finish();
        self.file.write_end(&index, &encode_directory(&[]))
    }

    /// The file, to be synced and kept.
    pub(super) fn into_file(self) -> PageFile {
        self.file
    }
}
