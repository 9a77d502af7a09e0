//! Table: an Arrow stream, with the columns that the results have in Python.
//!
//! The types of columns are those of all results together, so the results are kept until the last one is known: an error
//! always has a status of its own. What is sent then are batches of one schema, whose metadata have the warnings.

use crate::answer::format::{
    AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions, broken_off,
};
use crate::answer::memory::{AnswerMemory, KeptBytes, KeptPurpose};
use crate::answer::warnings::warnings;
use crate::failure::Failure;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::ResultChunk;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};
use evergraph::graph::catalogue::Catalogue;
use evergraph_arrow::result_table;
use evergraph_graph::error::Error;
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_query::value::item::Item;
use std::sync::Arc;

/// The key of the metadata that warnings are in, as a JSON list of texts.
const WARNINGS: &str = "warnings";
/// Rows of a batch.
const BATCH_ROWS: usize = 16 << 10;
/// What rows are kept for.
const ROWS: KeptPurpose = KeptPurpose {
    name: "an answer as an Arrow stream",
    results: "the results of a query as an Arrow stream are kept until the last one is known, and are a table then",
    advice: "ask for fewer, or for JSON lines, which are sent as they are found",
};
/// The rows, and the table that is made of them while they are still there, which takes about as much.
const ROW_COPIES: u64 = 2;

/// An answer as an Arrow stream.
pub struct Table;

impl AnswerFormat for Table {
    fn leaves_properties_out(&self) -> bool {
        // A table has elements by their numbers.
        true
    }

    fn encoder(
        &self,
        _: ResultOptions,
        _: EncoderPurpose,
        memory: &Arc<AnswerMemory>,
    ) -> Box<dyn AnswerEncoder> {
        Box::new(TableEncoder {
            rows: Vec::new(),
            kept: memory.keep(ROWS),
            following_bytes: 0,
            catalogue: Arc::default(),
            sending: None,
        })
    }

    fn nothing(&self, _: &Attributes) -> Frame {
        Frame { bytes: Vec::new(), kind: FrameKind::Body(BodyPart::Whole(200)) }
    }

    fn failure(&self, failure: &Failure) -> Frame {
        broken_off(failure)
    }
}

struct TableEncoder {
    rows: Vec<Item>,
    /// Of the rows and their table; in a trial of all that there were.
    kept: KeptBytes,
    /// Of the table, as it is sent, without the batches that were given out.
    following_bytes: u64,
    catalogue: Arc<Catalogue>,
    sending: Option<Sending>,
}

/// A table that is being sent.
struct Sending {
    table: RecordBatch,
    writer: StreamWriter<Vec<u8>>,
    next_row: usize,
}

impl TableEncoder {
    fn table(&mut self) -> Result<RecordBatch, EncodeError> {
        let table = result_table::table(&std::mem::take(&mut self.rows), &self.catalogue)?;
        let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size().unwrap_or(0) as u64;
        self.following_bytes = table.columns().iter().map(bytes).sum();
        Ok(table)
    }
}

impl AnswerEncoder for TableEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        let row_bytes = (size_of::<Item>() + item.heap_bytes()) as u64;
        self.kept.add(row_bytes.saturating_mul(bulk).saturating_mul(ROW_COPIES))?;
        self.catalogue = Arc::clone(elements.catalogue());
        self.rows.extend((0..bulk).map(|_| item.clone()));
        Ok(0)
    }

    fn part(&mut self, _: &Attributes) -> Result<Frame, EncodeError> {
        self.table()?;
        Ok(Frame { bytes: Vec::new(), kind: FrameKind::Body(BodyPart::Middle) })
    }

    fn end(&mut self, attributes: &Attributes) -> Result<AnswerEnd, EncodeError> {
        let (mut sending, is_first) = match self.sending.take() {
            Some(sending) => (sending, false),
            None => {
                let table = self.table()?;
                // The rows are gone.
                self.kept.shrink_to(self.following_bytes);
                let mut schema = Schema::clone(&table.schema());
                if let Some(warnings) = warnings(attributes) {
                    schema.metadata.insert(WARNINGS.to_owned(), warnings.to_string());
                }
                let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(unwritten)?;
                (Sending { table, writer, next_row: 0 }, true)
            }
        };
        let rows_count = sending.table.num_rows();
        let rows = BATCH_ROWS.min(rows_count - sending.next_row);
        let batch = sending.table.slice(sending.next_row, rows);
        sending.writer.write(&batch).map_err(unwritten)?;
        sending.next_row += rows;
        if sending.next_row < rows_count {
            let bytes = std::mem::take(sending.writer.get_mut());
            self.sending = Some(sending);
            self.following_bytes = self.following_bytes.saturating_sub(bytes.len() as u64);
            return Ok(AnswerEnd::More(Frame { bytes, kind: FrameKind::Body(BodyPart::Middle) }));
        }
        sending.writer.finish().map_err(unwritten)?;
        self.following_bytes = 0;
        let bytes = std::mem::take(sending.writer.get_mut());
        let part = if is_first { BodyPart::Whole(200) } else { BodyPart::Last };
        Ok(AnswerEnd::Last(Frame { bytes, kind: FrameKind::Body(part) }))
    }

    fn following_bytes(&self) -> u64 {
        self.following_bytes
    }
}

fn unwritten(error: ArrowError) -> EncodeError {
    Error::invalid(format!("the results cannot be an Arrow stream: {error}")).into()
}
