//! Table: an Arrow stream, with the columns that the results have in Python.
//!
//! The types of columns are those of all results together, so the results are kept until the last one is known: an error
//! always has a status of its own. What is sent then are batches of one schema, whose metadata have the warnings.

use crate::answer::format::{
    AnswerEncoder, AnswerEnd, AnswerFormat, EncoderPurpose, ResultOptions, broken_off,
};
use crate::answer::warnings::warnings;
use crate::failure::Failure;
use crate::outbox::{BodyPart, Frame, FrameKind};
use crate::result_chunk::ResultChunk;
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};
use evergraph::graph::catalogue::Catalogue;
use evergraph_arrow::result_table;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_protocol::error::EncodeError;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_query::value::item::Item;
use std::sync::Arc;

/// The key of the metadata that warnings are in, as a JSON list of texts.
const WARNINGS: &str = "warnings";
/// Rows of a batch.
const BATCH_ROWS: usize = 16 << 10;

/// An answer as an Arrow stream.
pub struct Table {
    /// Bytes of results that may be kept.
    memory_bytes: u64,
}

impl Table {
    /// An answer whose results hold at most `memory_bytes`.
    #[must_use]
    pub fn new(memory_bytes: u64) -> Self {
        Self { memory_bytes }
    }
}

impl AnswerFormat for Table {
    fn leaves_properties_out(&self) -> bool {
        // A table has elements by their numbers.
        true
    }

    fn encoder(&self, _: ResultOptions, _: EncoderPurpose) -> Box<dyn AnswerEncoder> {
        Box::new(TableEncoder {
            memory_bytes: self.memory_bytes,
            rows: Vec::new(),
            rows_bytes: 0,
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
    memory_bytes: u64,
    rows: Vec<Item>,
    rows_bytes: u64,
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
        self.rows_bytes = 0;
        Ok(result_table::table(&std::mem::take(&mut self.rows), &self.catalogue)?)
    }
}

impl AnswerEncoder for TableEncoder {
    fn push(&mut self, item: &Item, bulk: u64, elements: &ResultChunk) -> Result<u64, EncodeError> {
        let row_bytes = (size_of::<Item>() + item.heap_bytes()) as u64;
        self.rows_bytes = self.rows_bytes.saturating_add(row_bytes.saturating_mul(bulk));
        if self.rows_bytes > self.memory_bytes {
            let text = "the results of a query as an Arrow stream are kept until the last one is known, and these take \
                        more memory than a query may: ask for fewer, or for JSON lines";
            return Err(Error::new(ErrorKind::Limit, text).into());
        }
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
            return Ok(AnswerEnd::More(Frame { bytes, kind: FrameKind::Body(BodyPart::Middle) }));
        }
        sending.writer.finish().map_err(unwritten)?;
        let bytes = std::mem::take(sending.writer.get_mut());
        let part = if is_first { BodyPart::Whole(200) } else { BodyPart::Last };
        Ok(AnswerEnd::Last(Frame { bytes, kind: FrameKind::Body(part) }))
    }
}

fn unwritten(error: ArrowError) -> EncodeError {
    Error::invalid(format!("the results cannot be an Arrow stream: {error}")).into()
}
