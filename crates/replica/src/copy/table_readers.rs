//! Table readers: reads tables in parallel, each, or each part of a large one, by a thread and a connection of its own, for one
//! thread that takes blocks.
//!
//! ```text
//! table a, first pages ──COPY──> reader: rows ──> block ──┐
//! table a, the others  ──COPY──> reader: rows ──> block ──┼──> queue of 8 blocks ──> caller
//! table b                ──COPY──> reader: rows ──> block ──┤
//! table c                waits until a reader is free     │
//! ```
//!
//! Blocks of one part come in the order of its rows. The first error ends all readers.

use crate::copy::passes::TableRead;
use crate::pgoutput::tuple::Cell;
use crate::source::batch::RowBatch;
use crate::source::contract::{CopyRequest, RowStream, Source};
use crate::source::error::SourceError;
use crate::source::table_cuts::{CutRules, PageRange, TableCuts};
use crate::translate::pause::Halt;
use crate::wire::copy_text::read_row;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// Blocks that wait for the caller.
const QUEUE_BLOCKS: usize = 8;
/// Columns of a row that are arranged without taking memory.
const STACK_COLUMNS: usize = 16;
/// How often somebody looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Gathers the rows of one table.
pub trait RowCollector: Send {
    /// What is handed to the caller.
    type Block: Send;

    /// Takes a row, whose cells are in the order of the plan's columns.
    ///
    /// # Errors
    /// If it cannot be read.
    fn add(&mut self, cells: &[Cell<'_>]) -> std::result::Result<(), UnusableRow>;

    /// What was gathered since the last call.
    fn take(&mut self) -> Self::Block;
}

/// Why a row cannot be taken.
#[derive(Debug)]
pub enum UnusableRow {
    /// A rule cannot read it.
    Unreadable(Halt),
    /// What it is compared with cannot be read.
    Failed(Error),
}

impl From<Halt> for UnusableRow {
    fn from(halt: Halt) -> Self {
        Self::Unreadable(halt)
    }
}

impl From<Error> for UnusableRow {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// How tables are read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRules<'a> {
    /// The snapshot that all are read in.
    pub snapshot: Option<&'a str>,
    /// How many tables or parts of tables are read at a time.
    pub readers: usize,
    /// Pages that a part of a table has at least.
    pub part_pages_min: u64,
    /// Bytes of text after which a block is handed over.
    pub block_bytes: usize,
}

/// A block that came.
#[derive(Debug)]
pub struct TableBlock<B> {
    /// Index of the read.
    pub read: usize,
    /// How many rows were read for it.
    pub rows: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Whether the table ends with it.
    pub is_last: bool,
    /// What was gathered of them.
    pub content: B,
}

/// Reads all of `reads`; each part of them has a collector of `collector`, whose blocks `place` takes on this thread.
///
/// Memory: for each reader a batch of rows and a block, and a queue of blocks.
///
/// # Errors
/// The first of the source, of a collector or of `place`; `cancelled`. All readers have ended then.
pub fn read_tables<C: RowCollector>(
    source: &mut dyn Source,
    reads: &[TableRead],
    rules: ReadRules<'_>,
    collector: impl Fn(usize) -> C,
    cancel: &CancelFlag,
    mut place: impl FnMut(TableBlock<C::Block>) -> Result<()>,
) -> Result<()> {
    let cuts = match rules.readers {
        0 | 1 => TableCuts::whole(reads.len()),
        readers => {
            let requests: Vec<CopyRequest> =
                reads.iter().map(|read| read.request(rules.snapshot, PageRange::ALL)).collect();
            source.cut(&requests, CutRules { parts_max: readers, part_pages_min: rules.part_pages_min })?
        }
    };
    let mut parts_left: Vec<usize> = cuts.ranges.iter().map(Vec::len).collect();
    let parts = cuts.ranges.iter().zip(reads).enumerate().flat_map(|(at, (ranges, read))| {
        ranges.iter().map(move |pages| (at, read.request(rules.snapshot, *pages)))
    });
    let parts: Vec<(usize, CopyRequest)> = parts.collect();
    let stop = CancelFlag::default();
    thread::scope(|scope| {
        // Who waits for the source hears of the caller's flag by this one, and of errors.
        let watcher = scope.spawn(|| {
            while !stop.is_cancelled() {
                if cancel.is_cancelled() {
                    stop.cancel();
                }
                thread::park_timeout(LOOK);
            }
        });
        let (sender, receiver) = sync_channel(QUEUE_BLOCKS);
        let mut readers: Vec<ScopedJoinHandle<'_, ()>> = Vec::new();
        let mut begin = |(read, request): &(usize, CopyRequest)| -> Result<ScopedJoinHandle<'_, ()>> {
            let rows = source.copy(request, &stop)?;
            let (sender, collector) = (sender.clone(), collector(*read));
            let reader = TableReader { read: *read, table: &reads[*read], rows, collector, sender };
            let thread = thread::Builder::new().name("replica-copy".to_owned());
            thread
                .spawn_scoped(scope, move || reader.run(rules.block_bytes))
                .map_err(|error| Error::new(ErrorKind::Io, "start a thread to copy a table").because(error))
        };
        let mut take_all = || -> Result<()> {
            let (mut next, mut active) = (parts.iter(), 0);
            loop {
                while active < rules.readers.max(1)
                    && let Some(part) = next.next()
                {
                    readers.push(begin(part)?);
                    active += 1;
                }
                if active == 0 {
                    return Ok(());
                }
                cancel.check()?;
                if let Some(mut block) = receive(&receiver, &readers)? {
                    if block.is_last {
                        active -= 1;
                        parts_left[block.read] -= 1;
                        block.is_last = parts_left[block.read] == 0;
                    }
                    place(block)?;
                }
            }
        };
        let taken = take_all();
        stop.cancel();
        watcher.thread().unpark();
        // Readers that wait for room in the queue end.
        drop(receiver);
        // A source says that it was stopped, and the caller wants to hear that he asked for it.
        if taken.is_err() {
            cancel.check()?;
        }
        taken
    })?;
    Ok(cuts.end()?)
}

fn receive<B>(
    receiver: &Receiver<Result<TableBlock<B>>>,
    readers: &[ScopedJoinHandle<'_, ()>],
) -> Result<Option<TableBlock<B>>> {
    match receiver.recv_timeout(LOOK) {
        Ok(block) => block.map(Some),
        Err(RecvTimeoutError::Timeout) if readers.iter().all(ScopedJoinHandle::is_finished) => {
            // Each sends a last block or an error before it ends.
            match receiver.try_recv() {
                Ok(block) => block.map(Some),
                Err(_) => Err(Error::new(ErrorKind::Io, "copy tables: a reader ended before its table did")),
            }
        }
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => unreachable!("the caller holds a sender as well"),
    }
}

struct TableReader<'a, C: RowCollector> {
    read: usize,
    table: &'a TableRead,
    rows: Box<dyn RowStream>,
    collector: C,
    sender: SyncSender<Result<TableBlock<C::Block>>>,
}

impl<C: RowCollector> TableReader<'_, C> {
    fn run(mut self, block_bytes: usize) {
        let read = self.read(block_bytes);
        // Nobody takes it if the caller has an error already.
        let _ = self.sender.send(read);
    }

    /// Sends blocks but for the last one, which it gives.
    fn read(&mut self, block_bytes: usize) -> Result<TableBlock<C::Block>> {
        let mut batch = RowBatch::default();
        let (mut rows, mut bytes, mut rows_before) = (0, 0, 0);
        while self.rows.next_batch(&mut batch)? {
            self.add(&batch, rows_before + rows)?;
            rows += batch.len() as u64;
            bytes += batch.size_bytes();
            if bytes >= block_bytes {
                let block = self.block(rows, bytes);
                if self.sender.send(Ok(TableBlock { is_last: false, ..block })).is_err() {
                    // The caller has an error, which counts.
                    return Err(Error::new(ErrorKind::Cancelled, "copy a table: nobody takes its rows"));
                }
                rows_before += rows;
                (rows, bytes) = (0, 0);
            }
        }
        Ok(self.block(rows, bytes))
    }

    fn add(&mut self, batch: &RowBatch, rows_before: u64) -> Result<()> {
        let mut texts = Vec::new();
        let width = self.table.width();
        for (row, number) in batch.iter().zip(rows_before + 1..) {
            read_row(row, &mut texts).map_err(|error| {
                let doing = format!("read row {number} of COPY of {}", self.table.name);
                SourceError::Damaged { doing, error }
            })?;
            let mut stack = [Cell::Unchanged; STACK_COLUMNS];
            let mut heap = Vec::new();
            let cells = if width <= STACK_COLUMNS {
                &mut stack[..width]
            } else {
                heap.resize(width, Cell::Unchanged);
                &mut *heap
            };
            self.table.arrange(&texts, cells)?;
            self.collector.add(cells).map_err(|why| match why {
                UnusableRow::Unreadable(halt) => self.table.unreadable(&halt, cells),
                UnusableRow::Failed(error) => error,
            })?;
        }
        Ok(())
    }

    fn block(&mut self, rows: u64, bytes: usize) -> TableBlock<C::Block> {
        let content = self.collector.take();
        TableBlock { read: self.read, rows, bytes: bytes as u64, is_last: true, content }
    }
}

impl<C: RowCollector + ?Sized> RowCollector for Box<C> {
    type Block = C::Block;

    fn add(&mut self, cells: &[Cell<'_>]) -> std::result::Result<(), UnusableRow> {
        (**self).add(cells)
    }

    fn take(&mut self) -> C::Block {
        (**self).take()
    }
}
