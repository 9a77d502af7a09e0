//! CSV: header, records and cells of one file. Records come back from plain CSV, and faults have a line
//! of the file and a reason.
//!
//! Input: a byte that chooses delimiter, quote and escape; the file.

use crate::place::lines_count;
use crate::samples;
use crate::target::{Memory, Target};
use evergraph::export::options::ExportFormat;
use evergraph::import::bytes::source::Source;
use evergraph::import::csv::header::{ColumnRole, Header};
use evergraph::import::csv::records::{CsvFormat, CsvRecords};
use evergraph::import::csv::rows::RowFormat;
use evergraph::import::faults::{FaultCollector, OnBadRow};
use evergraph::import::id_type::IdType;
use std::io::Cursor;

// Two buffers of 256 KiB, and a unit of work of 64 KiB.
/// The target.
pub const TARGET: Target = Target { seeds, promise, memory: Memory { fixed: 2 << 20, per_byte: 512 } };

const DELIMITERS: [u8; 4] = [b',', b';', b'|', b'\t'];
const QUOTES: [Option<u8>; 4] = [Some(b'"'), Some(b'\''), None, Some(b'"')];
const ESCAPES: [Option<u8>; 2] = [None, Some(b'\\')];
const COMMENTS: [Option<u8>; 2] = [None, Some(b'#')];
const BATCH_BYTES: usize = 64;

fn seeds() -> Vec<Vec<u8>> {
    let exported = samples::exported(ExportFormat::Csv).into_iter().map(|(_, text)| [vec![0], text].concat());
    let others: [&[u8]; 4] = [
        b"\x01id:ID(Person);:LABEL;name;born:int\n1;Person;Ada;1815\n2;;\"a;b\nc\";x\n",
        b"\x02:START_ID(P){id-type:long}|:END_ID(P)|:TYPE|w:double|at:datetime{epoch:seconds}\n1|2|K|.5|7\n",
        b"\x13id:ID,tags:string[],m:map\r\n'it''s',a;b,{x: 1}\r\n",
        b"\x1f\xef\xbb\xbfid:ID\tx:any{form:graphson}\n\"a\\\"b\"\t\"\"\"t\"\"\"",
    ];
    exported.chain(others.map(<[u8]>::to_vec)).collect()
}

fn promise(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let choice = usize::from(*choice);
    let format = CsvFormat {
        delimiter: DELIMITERS[choice % 4],
        quote: QUOTES[choice / 4 % 4],
        escape: ESCAPES[choice / 16 % 2],
        comment: COMMENTS[choice / 32 % 2],
    };
    let Some(records) = read_records(format, text) else { return };
    let again = read_records(
        CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None, comment: None },
        &plain(&records),
    );
    assert_eq!(again, Some(records));
    read_rows(format, text);
}

/// A reader of `text`, behind its header; `None` if there is none. Packed data has no place here: a few
/// bytes of it make gigabytes.
fn open(format: CsvFormat, text: &[u8]) -> Option<(CsvRecords, Vec<String>)> {
    let is_packed = text.starts_with(&[0x1f, 0x8b]) || text.get(1..4) == Some(&[0xb5, 0x2f, 0xfd]);
    let is_skipped_frame = text.get(1..4) == Some(&[0x2a, 0x4d, 0x18]);
    if is_packed || is_skipped_frame {
        return None;
    }
    let source = Source::from_reader("f", Cursor::new(text.to_vec())).ok()?;
    let mut records = CsvRecords::new(source, format);
    let header = records.read_header().ok()??;
    Some((records, header))
}

/// The fields of all records of the header's width up to the first error, the header first.
fn read_records(format: CsvFormat, text: &[u8]) -> Option<Vec<Vec<Vec<u8>>>> {
    let (mut records, header) = open(format, text)?;
    let rules = FaultCollector::new(OnBadRow::Skip { at_most: None }, None).rules();
    let mut read = vec![header.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()];
    let (mut line, width) = (1, header.len());
    while let Ok(Some(batch)) = records.next_batch(width, BATCH_BYTES, rules) {
        for (record, found) in batch.lines.iter().enumerate() {
            assert!((line..=lines_count(text)).contains(found), "a record in line {found} after {line}");
            line = *found;
            read.push((0..width).map(|column| batch.fields.field(record, column).to_vec()).collect());
        }
    }
    Some(read)
}

fn plain(records: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records {
        for (column, field) in record.iter().enumerate() {
            text.extend_from_slice(if column == 0 { b"\"" } else { b",\"" });
            for byte in field {
                text.extend_from_slice(if *byte == b'"' { b"\"\"" } else { std::slice::from_ref(byte) });
            }
            text.push(b'"');
        }
        text.push(b'\n');
    }
    text
}

fn read_rows(format: CsvFormat, text: &[u8]) {
    let Some((mut records, words)) = open(format, text) else { return };
    let header = match Header::parse("f", &words, b';') {
        Ok(header) => header,
        Err(error) => return assert!(error.to_string().starts_with("f: header"), "{error}"),
    };
    let id_types = header.fields.iter().filter_map(|field| match &field.meaning {
        ColumnRole::Id { id_type, .. } => Some(id_type.unwrap_or(IdType::STRING)),
        ColumnRole::StartId(end) | ColumnRole::EndId(end) => Some(end.id_type.unwrap_or(IdType::STRING)),
        _ => None,
    });
    let rows = RowFormat {
        id_types: id_types.collect(),
        header,
        default_name: "Name".to_owned(),
        array_delimiter: b';',
        null: Some(b"\\N".to_vec()),
    };
    let mut faults = FaultCollector::new(OnBadRow::Skip { at_most: None }, None);
    let rules = faults.rules();
    while let Ok(Some(batch)) = records.next_batch(words.len(), BATCH_BYTES, rules) {
        let all = batch.len() as u64 + batch.faults.count();
        let rows = rows.parse(batch, rules);
        assert_eq!(rows.lines.len() as u64 + rows.faults.count(), all, "each record is a row or a fault");
        let count = rows.lines.len();
        let is_whole = |column: usize| column == count;
        assert!(
            rows.columns.iter().all(|(_, cells)| cells.column.as_ref().is_none_or(|it| is_whole(it.len())))
        );
        assert!(rows.names.as_ref().is_none_or(|names| is_whole(names.codes.len())));
        (0..count).for_each(|row| drop(rows.texts.text(row)));
        faults.add("f", 0, rows.faults).expect("bad rows are left out");
    }
    for bad in faults.finish().first {
        assert!((1..=lines_count(text)).contains(&bad.line) && !bad.fault.reason.is_empty(), "{bad}");
    }
}
