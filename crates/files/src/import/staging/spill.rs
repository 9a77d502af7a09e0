//! Spill: the blocks of an import, in memory up to a limit, then in one temporary file.
//!
//! ```text
//! file    [ block ]*        without a name: it is gone with the import, however that ends
//! block   rows:u32                                      of a table
//!         sources:u32[rows] targets:u32[rows]          edges only
//!         columns:u32, each 0:u8 or 1:u8 and the form of stored columns
//! ```
//!
//! Where a block lies, its length and its checksum stay in memory. The columns of a table are read in
//! order and as often as the loader wants. Batches of edges that wait for their vertices go the same way
//! (`assembly::spilled_batch`).

use crate::import::staging::temporary_file::{FilePurpose, FileSpan, TemporaryFile};
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::load::{Blocks, EdgeBlock, VertexBlock};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_storage::checkpoint::arrays::{put_array, take_array};
use evergraph_storage::checkpoint::column_form::{put_column, take_column};
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const PURPOSE: FilePurpose = FilePurpose {
    owner: "the import",
    remedy: "choose another folder (--temporary), or let the import have more memory (--memory)",
};

/// Where the blocks of one import go.
///
/// Concurrency: any thread; each place of the file belongs to one block.
#[derive(Debug)]
pub struct Staging {
    memory_bytes: u64,
    /// Bytes of blocks in memory. Decides nothing but where the next one goes.
    in_memory: AtomicU64,
    file: TemporaryFile,
}

impl Default for Staging {
    /// Everything stays in memory.
    fn default() -> Self {
        Self::new(u64::MAX, PathBuf::new())
    }
}

impl Staging {
    /// Blocks stay in memory up to `memory_bytes`; more go into a file in `folder`.
    #[must_use]
    pub fn new(memory_bytes: u64, folder: PathBuf) -> Self {
        Self { memory_bytes, in_memory: AtomicU64::new(0), file: TemporaryFile::new(folder, PURPOSE) }
    }

    /// Bytes in the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.file.size_bytes()
    }

    /// Another temporary file beside that of the blocks: without a name, so that it goes with whoever holds it.
    ///
    /// # Errors
    /// As [`Slot::new`].
    pub fn create_file(&self) -> Result<File> {
        self.file.create_another()
    }

    /// The error of `doing` something to a temporary file.
    #[must_use]
    pub fn failed(&self, doing: &str, error: io::Error) -> Error {
        self.file.failed(doing, error)
    }
}

/// What can lie in a file.
pub trait Spill: Debug + Send + Sync + Sized + 'static {
    /// How many rows it has.
    fn rows(&self) -> usize;

    /// Bytes that it takes in memory, about.
    fn heap_bytes(&self) -> u64;

    /// Appends its form in the file.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads what [`Spill::put`] wrote.
    ///
    /// # Errors
    /// If it is something else.
    fn take(reader: &mut Reader<'_>) -> Decoded<Self>;
}

/// A block of a table.
pub trait TableBlock: Spill {
    /// Its columns, in the order of the table's properties.
    fn columns_mut(&mut self) -> &mut Vec<Option<PackedColumn>>;

    /// Drops the rows for which `keep` is false.
    fn retain(&mut self, keep: &[bool]);
}

fn retain_columns(columns: &mut [Option<PackedColumn>], keep: &[bool]) {
    for column in columns {
        *column = column.as_ref().and_then(|all| all.select((0..keep.len()).filter(|row| keep[*row])));
    }
}

impl Spill for VertexBlock {
    fn rows(&self) -> usize {
        self.rows
    }

    fn heap_bytes(&self) -> u64 {
        columns_bytes(&self.columns) + self.rows as u64 * 8
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.rows);
        put_columns(out, &self.columns);
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let rows = reader.u32()? as usize;
        Ok(Self { rows, columns: take_columns(reader, rows)? })
    }
}

impl TableBlock for VertexBlock {
    fn columns_mut(&mut self) -> &mut Vec<Option<PackedColumn>> {
        &mut self.columns
    }

    fn retain(&mut self, keep: &[bool]) {
        retain_columns(&mut self.columns, keep);
        self.rows = keep.iter().filter(|keep| **keep).count();
    }
}

impl Spill for EdgeBlock {
    fn rows(&self) -> usize {
        self.sources.len()
    }

    fn heap_bytes(&self) -> u64 {
        columns_bytes(&self.columns) + self.sources.len() as u64 * 8
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.sources.len());
        put_array(out, &self.sources);
        put_array(out, &self.targets);
        put_columns(out, &self.columns);
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let rows = reader.u32()? as usize;
        let (sources, targets) = (take_array(reader, rows)?.into(), take_array(reader, rows)?.into());
        Ok(Self { sources, targets, columns: take_columns(reader, rows)? })
    }
}

impl TableBlock for EdgeBlock {
    fn columns_mut(&mut self) -> &mut Vec<Option<PackedColumn>> {
        &mut self.columns
    }

    fn retain(&mut self, keep: &[bool]) {
        retain_columns(&mut self.columns, keep);
        for ends in [&mut self.sources, &mut self.targets] {
            let mut kept = keep.iter();
            ends.retain(|_| *kept.next().expect("one entry an edge"));
        }
    }
}

/// Appends how many of something there are.
pub fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("blocks have fewer than 2^32 rows and columns");
    out.extend_from_slice(&count.to_le_bytes());
}

/// Appends `column`, or that there is none.
pub fn put_optional(out: &mut Vec<u8>, column: Option<&PackedColumn>) {
    out.push(u8::from(column.is_some()));
    if let Some(column) = column {
        put_column(out, column);
    }
}

/// Reads what [`put_optional`] wrote; the column has a number of items that `fits`.
///
/// # Errors
/// If it is something else.
pub fn take_optional(reader: &mut Reader<'_>, fits: impl Fn(usize) -> bool) -> Decoded<Option<PackedColumn>> {
    match reader.u8()? {
        0 => Ok(None),
        _ => take_column(reader, fits).map(Some),
    }
}

fn put_columns(out: &mut Vec<u8>, columns: &[Option<PackedColumn>]) {
    put_count(out, columns.len());
    columns.iter().for_each(|column| put_optional(out, column.as_ref()));
}

fn take_columns(reader: &mut Reader<'_>, rows: usize) -> Decoded<Vec<Option<PackedColumn>>> {
    (0..reader.u32()?).map(|_| take_optional(reader, |length| length == rows)).collect()
}

fn columns_bytes(columns: &[Option<PackedColumn>]) -> u64 {
    columns.iter().flatten().map(PackedColumn::heap_bytes).sum::<usize>() as u64
}

/// One block, wherever it lies.
#[derive(Debug)]
pub enum Slot<B> {
    /// In memory.
    Held(B),
    /// In the file.
    Spilled {
        /// How many rows it has.
        rows: usize,
        /// Where its form lies.
        span: FileSpan,
    },
}

impl<B: Spill> Slot<B> {
    /// Puts `block` where it fits.
    ///
    /// # Errors
    /// `limit` on a full disk, naming the folder and what helps; `io`.
    pub fn new(block: B, staging: &Staging) -> Result<Self> {
        let bytes = block.heap_bytes();
        let before = staging.in_memory.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= staging.memory_bytes {
            return Ok(Self::Held(block));
        }
        staging.in_memory.fetch_sub(bytes, Ordering::Relaxed);
        let mut form = Vec::new();
        block.put(&mut form);
        Ok(Self::Spilled { rows: block.rows(), span: staging.file.append(&form)? })
    }

    /// How many rows the block has.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Held(block) => block.rows(),
            Self::Spilled { rows, .. } => *rows,
        }
    }

    /// Hands out the block, wherever it lies; `form` is room for what is read.
    ///
    /// # Errors
    /// That of `visit`; what reading the file meets.
    pub fn visit(
        &self,
        staging: &Staging,
        form: &mut Vec<u8>,
        visit: impl FnOnce(&B) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Held(block) => visit(block),
            Self::Spilled { span, .. } => visit(&read(staging, *span, form)?),
        }
    }

    /// Takes the block out.
    ///
    /// # Errors
    /// What reading the file meets.
    pub fn take(self, staging: &Staging) -> Result<B> {
        match self {
            Self::Held(block) => {
                staging.in_memory.fetch_sub(block.heap_bytes(), Ordering::Relaxed);
                Ok(block)
            }
            Self::Spilled { span, .. } => read(staging, span, &mut Vec::new()),
        }
    }

    /// Changes the block, wherever it lies.
    ///
    /// # Errors
    /// That of `change`; what reading and writing the file meets.
    pub fn change(&mut self, staging: &Staging, change: impl FnOnce(&mut B) -> Result<()>) -> Result<()> {
        match self {
            Self::Held(block) => {
                let before = block.heap_bytes();
                change(block)?;
                staging.in_memory.fetch_add(block.heap_bytes(), Ordering::Relaxed);
                staging.in_memory.fetch_sub(before, Ordering::Relaxed);
            }
            Self::Spilled { rows, span } => {
                let mut form = Vec::new();
                let mut block: B = read(staging, *span, &mut form)?;
                change(&mut block)?;
                form.clear();
                block.put(&mut form);
                *span = if form.len() > span.length {
                    staging.file.append(&form)?
                } else {
                    staging.file.write(&form, span.offset)?
                };
                *rows = block.rows();
            }
        }
        Ok(())
    }
}

fn read<B: Spill>(staging: &Staging, span: FileSpan, form: &mut Vec<u8>) -> Result<B> {
    staging.file.read(span, form)?;
    let mut reader = Reader::new(form);
    B::take(&mut reader).map_err(|error| staging.file.changed(span, &error.to_string()))
}

/// The blocks of a table for the loader.
#[derive(Debug)]
pub struct StagedBlocks<B> {
    /// In order.
    pub slots: Vec<Slot<B>>,
    /// Where those that are spilled lie.
    pub staging: Arc<Staging>,
}

impl<B: Spill> Blocks<B> for StagedBlocks<B> {
    fn for_each(&self, visit: &mut dyn FnMut(&B) -> Result<()>) -> Result<()> {
        let mut form = Vec::new();
        self.slots.iter().try_for_each(|slot| slot.visit(&self.staging, &mut form, &mut *visit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::value::Value;

    fn block(from: i64, text: &str) -> EdgeBlock {
        let numbers = [Value::I64(from), Value::I64(from + 1)];
        let texts = [None, Some(&Value::from(text))];
        let columns =
            vec![PackedColumn::from_values(numbers.iter().map(Some)), None, PackedColumn::from_values(texts)];
        EdgeBlock { columns, ..EdgeBlock::bare([(from as u32, 1), (2, u32::MAX)]) }
    }

    fn all(blocks: &StagedBlocks<EdgeBlock>) -> Result<Vec<EdgeBlock>> {
        let mut found = Vec::new();
        blocks.for_each(&mut |block| {
            found.push(block.clone());
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn blocks_that_do_not_fit_come_back_from_the_file_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let wanted: Vec<EdgeBlock> = (0..6).map(|at| block(at, &"x".repeat(at as usize))).collect();
        let staging = Arc::new(Staging::new(2 * wanted[0].heap_bytes() + 8, folder.path().to_owned()));
        let slots: Result<Vec<_>> = wanted.iter().map(|block| Slot::new(block.clone(), &staging)).collect();
        let mut blocks = StagedBlocks { slots: slots.unwrap(), staging: Arc::clone(&staging) };
        let held = blocks.slots.iter().filter(|slot| matches!(slot, Slot::Held(_))).count();
        assert!((1..5).contains(&held) && staging.file_bytes() > 0, "{held} held");
        assert_eq!(all(&blocks).unwrap(), wanted);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");

        let mut changed = wanted;
        for (at, slot) in blocks.slots.iter_mut().enumerate() {
            let change = |block: &mut EdgeBlock| {
                block.sources[0] += 7;
                // Every second block grows and finds another place.
                block.columns[2] = block.columns[2].take().filter(|_| at % 2 == 0);
                block.columns[1] = block.columns[0].clone().filter(|_| at % 2 == 0);
                Ok(())
            };
            change(&mut changed[at]).unwrap();
            slot.change(&staging, change).unwrap();
        }
        assert_eq!(all(&blocks).unwrap(), changed);
    }

    #[test]
    fn a_folder_that_is_not_there_and_a_file_that_changed_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Staging::new(0, folder.path().join("gone"));
        let error = Slot::new(block(1, "x"), &missing).unwrap_err();
        assert!(error.to_string().contains("gone"), "{error}");
        let staging = Arc::new(Staging::new(0, folder.path().to_owned()));
        let slots = vec![Slot::new(block(1, "x"), &staging).unwrap()];
        staging.file.write(&[255], 5).unwrap();
        let error = all(&StagedBlocks { slots, staging }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("checksum"), "{error}");
    }
}
