//! Arrow stream: reads a table that a server sends, which may be hostile.
//!
//! ```text
//! message: FFFFFFFF, length of metadata, metadata (a flatbuffer), body        schema, batches, FFFFFFFF 00000000
//! ```
//!
//! Arrow's own reader takes the numbers in a message for granted: it panics where they are wrong, and takes as much memory
//! as they say. So each message is checked before it is decoded. What is not checked here, such as offsets of texts and
//! UTF-8, the decoder checks itself.
//!
//! | of a server | checked |
//! |---|---|
//! | bytes of the stream | within the caller's limit, and there before memory is taken for them |
//! | types | those that tables of this database have: no dictionaries, views, unions |
//! | batches | not compressed; buffers within the body, bits of nulls for all rows, whole offsets |
//! | end | said: a connection that is lost is no end |
//!
//! Source: the Arrow columnar format, "IPC Streaming Format".

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::{Endianness, FieldNode, Message, MetadataVersion, Type};
use arrow_schema::{DataType, Field, SchemaRef};
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Begins each message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes of metadata of a message.
const METADATA_BYTES_MAX: u64 = 16 << 20;
/// Bytes that memory is taken for before any has come.
const PIECE_BYTES: usize = 64 << 10;
/// Types within types.
const DEPTH_MAX: usize = 130;
/// Digits of a decimal of 128 bits.
const DECIMAL_DIGITS_MAX: i32 = 38;

/// The table of a stream: its schema, and its rows in parts. `fill` reads some of what is left, 0 bytes at the end; at most
/// `bytes_max` are read.
///
/// # Errors
/// `limit` for a longer stream; `io` for what is no such stream, or ends too early; those of `fill`.
pub fn read_table(
    fill: impl FnMut(&mut [u8]) -> Result<usize>,
    bytes_max: u64,
) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let mut stream = ArrowStream { fill, bytes_max, bytes_left: bytes_max };
    let Some((metadata, _)) = stream.message()? else { return Err(wrong("it has no schema")) };
    let schema = schema(root(&metadata)?)?;
    let mut batches = Vec::new();
    while let Some((metadata, body)) = stream.message()? {
        batches.push(batch(root(&metadata)?, &body, &schema)?);
    }
    Ok((schema, batches))
}

struct ArrowStream<F> {
    fill: F,
    bytes_max: u64,
    bytes_left: u64,
}

impl<F: FnMut(&mut [u8]) -> Result<usize>> ArrowStream<F> {
    /// Metadata and body of the next message; `None` at the end.
    fn message(&mut self) -> Result<Option<(Vec<u8>, Buffer)>> {
        let head = self.bytes(8)?;
        let (continuation, length) = head.split_at(4);
        if continuation != CONTINUATION {
            return Err(wrong("a message does not begin as one"));
        }
        let length = u32::from_le_bytes(length.try_into().expect("the rest of eight bytes"));
        if length == 0 {
            return Ok(None);
        }
        if u64::from(length) > METADATA_BYTES_MAX {
            return Err(wrong("the metadata of a message are too long"));
        }
        let metadata = self.bytes(length.into())?;
        let body_length = u64::try_from(root(&metadata)?.bodyLength());
        let body_length = body_length.map_err(|_| wrong("a message has a negative length"))?;
        let body = self.bytes(body_length)?;
        Ok(Some((metadata, Buffer::from_vec(body))))
    }

    /// The next bytes, so many.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>> {
        self.bytes_left = self.bytes_left.checked_sub(length).ok_or_else(|| {
            let text = format!("the answer has more than {} bytes", self.bytes_max);
            Error::new(ErrorKind::Limit, text)
        })?;
        let length = usize::try_from(length).map_err(|_| wrong("a message is too long"))?;
        let mut bytes = Vec::new();
        // Memory is taken as bytes come, and doubles.
        while bytes.len() < length {
            let (begun, room) = (bytes.len(), bytes.len().max(PIECE_BYTES).min(length - bytes.len()));
            bytes.resize(begun + room, 0);
            let read = (self.fill)(&mut bytes[begun..])?;
            if read == 0 {
                return Err(Error::new(ErrorKind::Io, "the answer of the server ended too early"));
            }
            bytes.truncate(begun + read);
        }
        Ok(bytes)
    }
}

/// Why an answer is no table.
fn wrong(why: &str) -> Error {
    Error::new(ErrorKind::Io, format!("the answer of the server is no Arrow stream that can be read: {why}"))
}

fn root(metadata: &[u8]) -> Result<Message<'_>> {
    arrow_ipc::root_as_message(metadata).map_err(|error| wrong(&error.to_string()))
}

fn schema(message: Message<'_>) -> Result<SchemaRef> {
    let schema = message.header_as_schema().ok_or_else(|| wrong("it does not begin with a schema"))?;
    if message.version() != MetadataVersion::V5 || schema.endianness() != Endianness::Little {
        return Err(wrong("its version or the order of its bytes"));
    }
    let fields = schema.fields().ok_or_else(|| wrong("a schema without columns"))?;
    fields.iter().try_for_each(|field| check_field(field, 0))?;
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Whether a field has a type that tables here have, with all that belongs to it.
fn check_field(field: arrow_ipc::Field<'_>, depth: usize) -> Result<()> {
    let unknown = || wrong(&format!("the column {:?} has an unknown type", field.name().unwrap_or_default()));
    if depth > DEPTH_MAX || field.dictionary().is_some() {
        return Err(unknown());
    }
    let children: Vec<_> = field.children().into_iter().flatten().collect();
    let (is_known, children_count) = match field.type_type() {
        Type::Bool | Type::Utf8 | Type::LargeUtf8 | Type::Binary | Type::LargeBinary => (true, Some(0)),
        Type::Int => {
            let is_known = field.type_as_int().is_some_and(|int| [8, 16, 32, 64].contains(&int.bitWidth()));
            (is_known, Some(0))
        }
        Type::FloatingPoint => {
            let is_known = field.type_as_floating_point().is_some_and(|float| {
                [arrow_ipc::Precision::SINGLE, arrow_ipc::Precision::DOUBLE].contains(&float.precision())
            });
            (is_known, Some(0))
        }
        Type::Date => {
            let is_known = field.type_as_date().is_some_and(|date| date.unit() == arrow_ipc::DateUnit::DAY);
            (is_known, Some(0))
        }
        Type::Timestamp => (field.type_as_timestamp().is_some_and(|time| is_unit(time.unit())), Some(0)),
        Type::Duration => (field.type_as_duration().is_some_and(|time| is_unit(time.unit())), Some(0)),
        Type::Interval => {
            let is_known = field
                .type_as_interval()
                .is_some_and(|interval| interval.unit() == arrow_ipc::IntervalUnit::MONTH_DAY_NANO);
            (is_known, Some(0))
        }
        Type::FixedSizeBinary => {
            let is_known = field.type_as_fixed_size_binary().is_some_and(|binary| binary.byteWidth() == 16);
            (is_known, Some(0))
        }
        Type::Decimal => {
            let is_known = field.type_as_decimal().is_some_and(|decimal| {
                decimal.bitWidth() == 128
                    && (1..=DECIMAL_DIGITS_MAX).contains(&decimal.precision())
                    && (0..=decimal.precision()).contains(&decimal.scale())
            });
            (is_known, Some(0))
        }
        Type::LargeList => (true, Some(1)),
        Type::Struct_ => (!children.is_empty(), None),
        Type::Map => {
            // A map is a list of structs of a key and a value.
            let is_entry = |entry: &arrow_ipc::Field<'_>| {
                entry.type_type() == Type::Struct_
                    && !entry.nullable()
                    && entry.children().is_some_and(|pair| pair.len() == 2 && !pair.get(0).nullable())
            };
            (field.type_as_map().is_some() && children.iter().all(is_entry), Some(1))
        }
        _ => return Err(unknown()),
    };
    if !is_known || children_count.is_some_and(|count| count != children.len()) {
        return Err(unknown());
    }
    children.into_iter().try_for_each(|child| check_field(child, depth + 1))
}

fn is_unit(unit: arrow_ipc::TimeUnit) -> bool {
    use arrow_ipc::TimeUnit;
    [TimeUnit::SECOND, TimeUnit::MILLISECOND, TimeUnit::MICROSECOND, TimeUnit::NANOSECOND].contains(&unit)
}

fn batch(message: Message<'_>, body: &Buffer, schema: &SchemaRef) -> Result<RecordBatch> {
    let batch =
        message.header_as_record_batch().ok_or_else(|| wrong("a message that is no batch of rows"))?;
    let has_more = batch.compression().is_some()
        || batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty());
    if message.version() != MetadataVersion::V5 || has_more {
        return Err(wrong("a compressed batch, or one of another version"));
    }
    let (Some(nodes), Some(buffers)) = (batch.nodes(), batch.buffers()) else {
        return Err(wrong("a batch without columns"));
    };
    let mut lengths = Vec::with_capacity(buffers.len());
    for buffer in &buffers {
        let (Ok(offset), Ok(length)) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()))
        else {
            return Err(wrong("a column begins or ends before its batch"));
        };
        if offset.checked_add(length).is_none_or(|end| end > body.len()) {
            return Err(wrong("a column ends behind its batch"));
        }
        lengths.push(length);
    }
    let mut parts = BatchParts { nodes: &mut nodes.iter(), lengths: &mut lengths.iter() };
    let rows = batch.length();
    schema.fields().iter().try_for_each(|field| parts.check(field, Some(rows)))?;
    let (none, version) = (HashMap::new(), message.version());
    let decoder = RecordBatchDecoder::try_new(body, batch, Arc::clone(schema), &none, &version);
    let decoded = decoder.and_then(RecordBatchDecoder::read_record_batch);
    decoded.map_err(|error| wrong(&error.to_string()))
}

/// Whether a buffer of offsets, so many bytes each, has whole ones only.
fn check_offsets(bytes: usize, width: usize) -> Result<()> {
    match bytes % width {
        0 => Ok(()),
        _ => Err(wrong("a column whose offsets end within one")),
    }
}

/// What is left of the parts of a batch, in the order of its columns.
struct BatchParts<'a, N, L> {
    nodes: &'a mut N,
    lengths: &'a mut L,
}

impl<'a, N: Iterator<Item = &'a FieldNode>, L: Iterator<Item = &'a usize>> BatchParts<'_, N, L> {
    /// Takes the parts of `field`, which has `rows` if that is known.
    fn check(&mut self, field: &Field, rows: Option<i64>) -> Result<()> {
        let node = self.nodes.next().ok_or_else(|| wrong("a batch with too few columns"))?;
        let (length, nulls) = (node.length(), node.null_count());
        if length < 0 || rows.is_some_and(|rows| rows != length) || !(0..=length).contains(&nulls) {
            return Err(wrong("a column with another number of rows than its batch"));
        }
        let mut buffer = || self.lengths.next().ok_or_else(|| wrong("a batch with too few buffers"));
        let known = *buffer()?;
        if nulls > 0 && (known as u64).saturating_mul(8) < length.unsigned_abs() {
            return Err(wrong("a column that does not say which of its values are null"));
        }
        match field.data_type() {
            DataType::Struct(fields) => fields.iter().try_for_each(|field| self.check(field, Some(length))),
            DataType::LargeList(item) => {
                check_offsets(*buffer()?, size_of::<i64>())?;
                self.check(item, None)
            }
            DataType::Map(item, _) => {
                check_offsets(*buffer()?, size_of::<i32>())?;
                self.check(item, None)
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                check_offsets(*buffer()?, size_of::<i64>())?;
                buffer()?;
                Ok(())
            }
            DataType::Utf8 | DataType::Binary => {
                check_offsets(*buffer()?, size_of::<i32>())?;
                buffer()?;
                Ok(())
            }
            _ => {
                buffer()?;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array,
        Int32Array, LargeStringArray, StructArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
    use arrow_schema::Schema;

    /// A table with every kind of column: with and without nulls, nested, and with rows of several batches.
    fn table() -> Vec<RecordBatch> {
        let nulls = || Some(NullBuffer::from(vec![true, false, true]));
        let texts = LargeStringArray::from(vec![Some("Ada"), None, Some("Größe")]);
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let offsets = || OffsetBuffer::new(vec![0_i64, 1, 1, 3].into());
        let items: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None, Some(9)]));
        let list = arrow_array::LargeListArray::new(item, offsets(), items, nulls());
        let fields: arrow_schema::Fields =
            vec![Field::new("text", DataType::LargeUtf8, true), Field::new("truth", DataType::Boolean, true)]
                .into();
        let truths: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
        let record = StructArray::new(fields, vec![Arc::new(texts.clone()), truths], nulls());
        let entries: arrow_schema::Fields =
            vec![Field::new("keys", DataType::Int32, false), Field::new("values", DataType::Int32, true)]
                .into();
        let numbers = || Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef;
        let entry = StructArray::new(entries.clone(), vec![numbers(), numbers()], None);
        let entry_field = Arc::new(Field::new("entries", DataType::Struct(entries), false));
        let offsets = OffsetBuffer::new(vec![0, 1, 1, 3].into());
        let map = arrow_array::MapArray::new(entry_field, offsets, entry, None, false);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("vertex", Arc::new(UInt64Array::from(vec![0, 1, u64::MAX]))),
            ("score", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)]))),
            ("name", Arc::new(texts)),
            ("born", Arc::new(Date32Array::from(vec![1, 2, 3]))),
            ("at", Arc::new(TimestampNanosecondArray::from(vec![1, 2, 3]).with_timezone("UTC"))),
            ("worth", Arc::new(Decimal128Array::from(vec![1, 2, 3]).with_precision_and_scale(9, 2).unwrap())),
            ("id", Arc::new(FixedSizeBinaryArray::try_from_iter([[1_u8; 16]; 3].into_iter()).unwrap())),
            ("list", Arc::new(list)),
            ("record", Arc::new(record)),
            ("map", Arc::new(map)),
        ];
        let fields = columns
            .iter()
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), array.null_count() > 0));
        let figures = HashMap::from([("iterations".to_owned(), "20".to_owned())]);
        let schema = Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), figures));
        let columns = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(schema, columns).unwrap();
        vec![batch.clone(), batch.slice(0, 0), batch.slice(1, 2)]
    }

    fn written(table: &[RecordBatch]) -> Vec<u8> {
        let mut writer = StreamWriter::try_new(Vec::new(), &table[0].schema()).unwrap();
        table.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.into_inner().unwrap()
    }

    /// Reads `bytes`, which come one by one or a few at a time.
    fn read(mut bytes: &[u8], bytes_max: u64) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        read_table(
            |into| {
                let length = into.len().min(bytes.len()).min(1000);
                let (now, later) = bytes.split_at(length);
                into[..length].copy_from_slice(now);
                bytes = later;
                Ok(length)
            },
            bytes_max,
        )
    }

    #[test]
    fn a_table_is_read_with_all_its_types_and_figures() {
        let table = table();
        let (schema, found) = read(&written(&table), u64::MAX).unwrap();
        assert_eq!(found, table);
        assert_eq!(schema.metadata()["iterations"], "20");
    }

    #[test]
    fn a_table_that_is_cut_off_anywhere_is_an_error() {
        let bytes = written(&table());
        for end in 0..bytes.len() {
            let error = read(&bytes[..end], u64::MAX).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Io && error.to_string().contains("too early"),
                "{end}: {error}"
            );
        }
    }

    #[test]
    fn a_table_is_limited_before_memory_is_taken() {
        let bytes = written(&table());
        let length = bytes.len() as u64;
        assert!(read(&bytes, length).is_ok());
        let error = read(&bytes, length - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        // A body of so many bytes that no memory holds them: what is taken grows with what comes.
        let metadata_at = |at: usize| {
            let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
            at + 8..at + 8 + length
        };
        let metadata = metadata_at(metadata_at(0).end);
        let body_length = root(&bytes[metadata.clone()]).unwrap().bodyLength().to_le_bytes();
        let mut lying = bytes.clone();
        let mut lies = 0;
        for at in metadata.start..metadata.end - 8 {
            if lying[at..at + 8] == body_length {
                lying[at..at + 8].copy_from_slice(&(i64::MAX / 2).to_le_bytes());
                lies += 1;
            }
        }
        assert_eq!(lies, 1);
        assert_eq!(read(&lying, 1 << 40).unwrap_err().kind(), ErrorKind::Limit);
        assert!(read(&lying, u64::MAX).unwrap_err().to_string().contains("too early"));
    }

    #[test]
    fn bytes_that_were_changed_are_errors_or_other_tables_and_never_a_panic() {
        let bytes = written(&table());
        let mut refused = 0;
        for at in 0..bytes.len() {
            // Fields begin at multiples of 8: each byte of one meets every change in another one.
            let mut changed = bytes.clone();
            changed[at] ^= [0x01_u8, 0x02, 0x7f, 0x80, 0xff][at % 5];
            refused += usize::from(read(&changed, 1 << 20).is_err());
        }
        assert!(refused > bytes.len() / 20, "{refused} of {}", bytes.len());
    }

    #[test]
    fn what_tables_here_do_not_have_is_refused() {
        let dictionary: arrow_array::DictionaryArray<arrow_array::types::Int32Type> =
            ["a", "b"].into_iter().collect();
        let fields = vec![Field::new("name", dictionary.data_type().clone(), false)];
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(dictionary)]).unwrap();
        assert!(read(&written(&[batch]), u64::MAX).unwrap_err().to_string().contains("unknown type"));
        let fields = vec![Field::new("name", DataType::Utf8View, false)];
        let batch = RecordBatch::new_empty(Arc::new(Schema::new(fields)));
        assert!(read(&written(&[batch]), u64::MAX).unwrap_err().to_string().contains("unknown type"));
        let older = IpcWriteOptions::try_new(8, false, MetadataVersion::V4).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &table()[0].schema(), older).unwrap();
        writer.write(&table()[0]).unwrap();
        assert!(read(&writer.into_inner().unwrap(), u64::MAX).is_err());
        for text in ["", "{\"error\": {}}", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"] {
            assert_eq!(read(text.as_bytes(), u64::MAX).unwrap_err().kind(), ErrorKind::Io, "{text:?}");
        }
    }
}
