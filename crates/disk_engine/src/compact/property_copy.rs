//! Property copy: the values of planned records, column by column, into an output.

//!
//! A column of each property and chain stays open from plan to plan: the page that it is at is read and decoded once. Where
//! all of them together would take more memory than they may, those of the first properties stay open, and the others
//! are closed after each plan.

use crate::compact::chain::ChainFiles;
use crate::compact::property_plan::{PropertyPiece, PropertyPlan, PropertySource};
use crate::file::column_scan::{ColumnPosition, ColumnScan};
use crate::format::file_name::PAGE_BYTES;
use crate::format::subject::Subject;
use crate::writer::file_writer::FileWriter;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::collections::BTreeSet;

/// The most pages that a column is read by.
const READ_PAGES_MAX: u64 = 64;

/// What an open column takes, about, if it reads a page at a time: that page, and what is decoded of it.
pub(super) const COLUMN_BYTES: u64 = 64 << 10;

/// How much memory columns take, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnMemory {
    /// Of pages that are read at once, all columns of a subject together; a page of each at least.
    pub(super) windows: u64,
    /// Of all that columns hold from plan to plan. Those of one property come on top while it is copied.
    pub(super) kept: u64,
}

/// Copies values of one subject after the other.
#[derive(Debug)]
pub(super) struct PropertyCopy {
    chains: Vec<ChainFiles>,
    memory: ColumnMemory,
    /// Bytes that the columns hold, about.
    open_bytes: u64,
    subject: Subject,
    /// The properties that the subject has in any file, ascending.
    keys: Vec<KeyId>,
    read_pages: u32,
    /// A column of each property and chain: of the file of the chain that was asked last.
    columns: Vec<OpenColumn>,
}

/// A column of the file that a chain is at.
#[derive(Debug, Default)]
struct OpenColumn {
    file: Option<usize>,
    /// `None` if the file has no such column.
    scan: Option<ColumnScan>,
}

impl OpenColumn {
    /// Goes to the record of `source`, if there is one.
    fn seek(
        &mut self,
        chain: &ChainFiles,
        source: &PropertySource,
        (subject, key): (Subject, KeyId),
        read_pages: u32,
    ) -> CheckpointResult<Option<&mut ColumnScan>> {
        if self.file != Some(source.file) {
            // The one before goes first: its memory is counted once.
            self.scan = None;
            self.scan = ColumnScan::new(&chain[source.file], subject, key, read_pages);
            self.file = Some(source.file);
        }
        let Some(scan) = &mut self.scan else { return Ok(None) };
        scan.seek(source.place)?;
        Ok(Some(scan))
    }
}

impl PropertyCopy {
    pub(super) fn new(chains: Vec<ChainFiles>, memory: ColumnMemory) -> Self {
        let subject = Subject::VERTICES;
        let (keys, columns) = (Vec::new(), Vec::new());
        let mut copy = Self { chains, memory, open_bytes: 0, subject, keys, read_pages: 1, columns };
        copy.go_to(subject);
        copy
    }

    /// Goes on to `subject`. Cost: two binary searches a property and file.
    pub(super) fn go_to(&mut self, subject: Subject) {
        let files = self.chains.iter().flatten();
        let keys: BTreeSet<KeyId> = files.flat_map(|file| file.property_keys(subject)).collect();
        self.subject = subject;
        self.keys = keys.into_iter().collect();
        self.columns.clear();
        self.columns.resize_with(self.keys.len() * self.chains.len(), OpenColumn::default);
        self.open_bytes = 0;
        let columns = self.columns.len().max(1) as u64;
        let pages = self.memory.windows / columns / PAGE_BYTES as u64;
        self.read_pages = pages.clamp(1, READ_PAGES_MAX) as u32;
    }

    /// Whether the subject has properties anywhere: else nothing need be planned.
    pub(super) fn has_properties(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Writes the properties of all records of `plan`, which are of the subject and ascend from plan to plan. Cost: some
    /// 100 ns a value; for each property, a look at each piece; for each column that was closed and that a piece is in, the
    /// read and decoding of a page.
    ///
    /// # Errors
    /// Those of columns, and of the writer.
    pub(super) fn copy(&mut self, plan: &PropertyPlan, writer: &mut FileWriter) -> CheckpointResult<()> {
        let Self { chains, memory, open_bytes, subject, keys, read_pages, columns } = self;
        for (key, columns) in keys.iter().zip(columns.chunks_mut(chains.len())) {
            *open_bytes -= heap_bytes(columns);
            let mut column =
                Column { chains, of: (*subject, *key), read_pages: *read_pages, columns, writer };
            for piece in &plan.pieces {
                if piece.sets.is_empty() {
                    column.copy_piece(piece)?;
                } else {
                    column.copy_newest(piece, &plan.sets[piece.sets.clone()])?;
                }
            }
            let bytes = heap_bytes(columns);
            if *open_bytes + bytes <= memory.kept {
                *open_bytes += bytes;
            } else {
                columns.fill_with(OpenColumn::default);
            }
        }
        Ok(())
    }
}

fn heap_bytes(columns: &[OpenColumn]) -> u64 {
    columns.iter().flat_map(|column| &column.scan).map(|scan| scan.heap_bytes() as u64).sum()
}

/// One property, and who has it.
struct Column<'a> {
    chains: &'a [ChainFiles],
    of: (Subject, KeyId),
    read_pages: u32,
    columns: &'a mut [OpenColumn],
    writer: &'a mut FileWriter,
}

impl Column<'_> {
    fn seek(&mut self, source: &PropertySource) -> CheckpointResult<Option<&mut ColumnScan>> {
        let chain = &self.chains[source.chain];
        self.columns[source.chain].seek(chain, source, self.of, self.read_pages)
    }

    fn push(&mut self, position: u64, value: Option<&Value>) -> CheckpointResult<()> {
        self.writer.push_value(self.of.0, self.of.1, position, value)
    }

    /// Copies what the positions of a piece have.
    fn copy_piece(&mut self, piece: &PropertyPiece) -> CheckpointResult<()> {
        let ColumnPosition { position: first, stamp } = piece.source.place;
        if self.seek(&piece.source)?.is_none() {
            return Ok(());
        }
        loop {
            let scan = &mut self.columns[piece.source.chain].scan;
            let Some(scan) = scan else { return Ok(()) };
            let Some(front) = scan.front() else { return Ok(()) };
            if front.position - first >= piece.positions || (stamp != Timestamp::ZERO && front.stamp != stamp)
            {
                return Ok(());
            }
            let value = scan.content()?;
            scan.advance()?;
            self.push(piece.output + (front.position - first), value.as_ref())?;
        }
    }

    /// Writes what the newest of a record's Sets says that names the property, or else its base.
    fn copy_newest(&mut self, piece: &PropertyPiece, sets: &[PropertySource]) -> CheckpointResult<()> {
        for source in sets.iter().chain([&piece.source]) {
            let Some(scan) = self.seek(source)? else { continue };
            if scan.front() == Some(source.place) {
                let value = scan.content()?;
                // Below an Insert or a Replace there is no value that a removal would hide.
                if value.is_some() || piece.keeps_removals {
                    self.push(piece.output, value.as_ref())?;
                }
                return Ok(());
            }
        }
        Ok(())
    }
}
