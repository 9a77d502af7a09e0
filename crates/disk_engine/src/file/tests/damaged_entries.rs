//! Damaged entries: a flipped bit in a page of an index or of its filter is never a wrong answer.

use super::answers::{directory, reader};
use super::model::{NUMBER, below};
use crate::file::csr_file::CsrFile;
use crate::file::entry_scan::EntryScan;
use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::FileStamps;
use crate::format::file_name::{CsrFileName, FileContent, PAGE_BYTES, PageNumber};
use crate::format::filter::FilterChoice;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::merge::entry_merge::EntrySource;
use crate::source::RecordSource;
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder, EntryRange};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::random::SplitMix64;
use std::sync::Arc;

const FIRST_TS: Timestamp = Timestamp(1000);
const LAST_TS: Timestamp = Timestamp(2000);
/// Every second number is a value of each index.
const NUMBERS: u32 = 12_000;

fn indexes() -> [Subject; 2] {
    [1, 4].map(|number| Subject::index(number).expect("the number is small"))
}

/// As long as that of an index on texts; numbers ascend with their values.
fn value(number: u32) -> Vec<u8> {
    format!("the value of the number {number:06}").into_bytes()
}

/// Writes a file with entries of two indexes; each third value has a second, newer record if it is stamped.
fn write(directory: &Arc<dyn Directory>, stamps: FileStamps) -> StoredFile {
    let new = NewFile { number: NUMBER, level: 0, stamps, first_ts: FIRST_TS, last_ts: LAST_TS };
    let mut writer = FileWriter::create(directory, &new).unwrap().with_filters(FilterChoice::default());
    for index in indexes() {
        for number in (0..NUMBERS).step_by(2) {
            let (value, item) = (value(number), ItemId::Vertex(VertexId(number)));
            let mut push = |operation, stamp| {
                writer.push_entry(index, &EntryRecord { value: &value, item, operation, stamp }).unwrap();
            };
            if stamps == FileStamps::Stamped && number % 3 == 0 {
                push(RecordOperation::Delete, Timestamp(1800));
            }
            push(RecordOperation::Insert, Timestamp(1100));
        }
    }
    writer.finish().unwrap()
}

fn ask(
    records: &impl RecordSource,
    index: Subject,
    range: &EntryRange<'_>,
    count_max: usize,
) -> Result<String> {
    let mut found = Vec::new();
    records.index_entries(index, range, count_max, &mut found).map(|()| format!("{found:?}"))
}

/// Answers to questions that together need every page, each as text.
fn answers(file: &CsrFile) -> Vec<Result<String>> {
    // Not all deletes are seen by one reader, and all are by the other.
    let readers = [Timestamp(1500), LAST_TS].map(|until| file.at(until));
    let mut out = Vec::new();
    for records in &readers {
        for index in indexes() {
            for order in [EntryOrder::Ascending, EntryOrder::Descending] {
                let (from, to) = match order {
                    EntryOrder::Ascending => (BytesBound::Start, BytesBound::End),
                    EntryOrder::Descending => (BytesBound::End, BytesBound::Start),
                };
                let range = EntryRange { from, to, order };
                out.push(ask(records, index, &range, usize::MAX));
                out.push(ask(records, index, &range, 5));
            }
            // There and not there in turn.
            for number in (0..NUMBERS).step_by(41) {
                let value = value(number);
                let (from, to) = (BytesBound::Before(&value), BytesBound::After(&value));
                out.push(ask(records, index, &EntryRange { from, to, order: EntryOrder::Ascending }, 10));
            }
        }
    }
    out
}

fn scan(file: &Arc<CsrFile>) -> CheckpointResult<usize> {
    let [first, last] = indexes();
    let (mut scan, mut count) = (EntryScan::new(file, first..=last)?, 0);
    while scan.entry().is_some() {
        count += 1;
        scan.advance()?;
    }
    Ok(count)
}

#[test]
fn a_damaged_page_of_an_index_or_its_filter_is_an_error_with_its_place_and_never_a_wrong_answer() {
    for stamps in [FileStamps::Stamped, FileStamps::Unstamped] {
        let directory = directory();
        let stored = write(&directory, stamps);
        // Without a cache, so that each look-up reads.
        let open = || Arc::new(CsrFile::open(&directory, &stored, &reader(0, Background::Stepped)).unwrap());
        let sound = open();
        let expected: Vec<String> = answers(&sound).into_iter().map(Result::unwrap).collect();
        let records = scan(&sound).unwrap();
        let pages = |of: &[_]| -> Vec<PageNumber> {
            of.iter().map(|page: &crate::format::page_index::topology::IndexedPage| page.page).collect()
        };
        let (entries, filters) =
            (pages(sound.topology_index().pages()), pages(sound.topology_index().filters()));
        assert!(
            entries.len() >= 8 && filters.len() >= 2,
            "{} pages, {} filters",
            entries.len(),
            filters.len()
        );
        let name = CsrFileName::new(NUMBER, FileContent::Topology);
        let bytes = directory.open(&name.to_string(), OpenMode::ReadWrite).unwrap();
        let mut random = SplitMix64::new(5);
        for page in entries.iter().chain(&filters) {
            let at = page.offset() + below(&mut random, PAGE_BYTES as u64);
            let mut byte = [0];
            bytes.read_at(&mut byte, at).unwrap();
            bytes.write_at(&[byte[0] ^ 1 << below(&mut random, 8)], at).unwrap();
            let file = open();
            let place = format!("{name} is corrupt at byte {}: ", page.offset());
            let mut errors = 0;
            for (found, expected) in answers(&file).into_iter().zip(&expected) {
                match found {
                    Ok(found) => assert_eq!(found, *expected, "{place}"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corrupt);
                        assert!(error.to_string().contains(&place), "{error}, not {place}");
                        errors += 1;
                    }
                }
            }
            assert!(errors > 0, "{place}no look-up needs the page");
            // Merges read no filters.
            match scan(&file) {
                Ok(count) => assert!(filters.contains(page) && count == records, "{place}the scan missed it"),
                Err(error) => {
                    let is_named = error.to_string().contains(&place);
                    assert!(entries.contains(page) && is_named, "{error}, not {place}");
                }
            }
            bytes.write_at(&byte, at).unwrap();
        }
        assert_eq!(answers(&open()).into_iter().map(Result::unwrap).collect::<Vec<_>>(), expected);
    }
}
