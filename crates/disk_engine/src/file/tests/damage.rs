//! Damage: whatever happens to a file, readers get right answers or errors that say where.

use super::answers::{directory, reader};
use super::model::{HistorySize, KEYS, Model, NUMBER, below, subjects};
use crate::file::csr_file::CsrFile;
use crate::file::file_scan::FileScan;
use crate::file::paged_file::{FileSource, PagedFile};
use crate::file::shared_window::SharedWindow;
use crate::format::file_head::FileStamps;
use crate::format::file_name::{
    CsrFileName, FILE_HEAD_BYTES, FileContent, FileNumber, PAGE_BYTES, PageNumber,
};
use crate::format::footer::FOOTER_BYTES;
use crate::format::page::{PageBytes, PageKind};
use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::{ItemKey, ListId};
use crate::merge::list_source::ListSource;
use crate::source::{PropertyAnswer, PropertyMap, RecordSource};
use crate::stored_file::StoredFile;
use crc32c::{crc32c, crc32c_append};
use evergraph_graph::budget::Unlimited;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use std::sync::Arc;

const CONTENTS: [FileContent; 2] = [FileContent::Topology, FileContent::Columns];

/// A file's two parts, as bytes.
struct Fixture {
    model: Model,
    stored: StoredFile,
    bytes: [Vec<u8>; 2],
}

impl Fixture {
    fn new(stamps: FileStamps) -> Self {
        let (model, directory) = (Model::random(3, stamps, HistorySize::Small), directory());
        let stored = model.write(&directory, NUMBER);
        let bytes = CONTENTS.map(|content| {
            directory.read_all(&CsrFileName::new(NUMBER, content).to_string(), u64::MAX).unwrap()
        });
        Self { model, stored, bytes }
    }

    /// The files with other bytes in one of them.
    fn with(&self, content: FileContent, change: impl FnOnce(&mut Vec<u8>)) -> Arc<dyn Directory> {
        let mut parts = self.bytes.clone();
        change(&mut parts[usize::from(content == FileContent::Columns)]);
        let directory = directory();
        for (content, bytes) in CONTENTS.iter().zip(&parts) {
            let name = CsrFileName::new(NUMBER, *content).to_string();
            directory.write_all_new(&name, bytes).unwrap();
        }
        directory
    }

    fn open(&self, directory: &Arc<dyn Directory>) -> CheckpointResult<CsrFile> {
        CsrFile::open(directory, &self.stored, &reader(u64::MAX, Background::Stepped))
    }

    fn pages(&self, content: FileContent) -> u32 {
        let bytes = &self.bytes[usize::from(content == FileContent::Columns)];
        let footer = bytes.last_chunk::<FOOTER_BYTES>().unwrap();
        u32::from_le_bytes(footer[40..44].try_into().unwrap())
    }
}

/// Answers to questions that together need every page, each as text.
fn answers(model: &Model, file: &CsrFile, until: Timestamp) -> Vec<Result<String>> {
    let records = file.at(until);
    let mut items: Vec<(ListId, ItemKey)> =
        model.versions.iter().map(|version| (version.list, version.item)).collect();
    items.dedup();
    let mut out = Vec::new();
    let mut found = vec![None; items.len()];
    out.push(records.presence(&items, &mut found).map(|()| format!("{found:?}")));
    items.retain(|(list, _)| list.carries_properties());
    for key in (0..KEYS).map(KeyId) {
        let mut found = vec![PropertyAnswer::Undecided; items.len()];
        out.push(records.property(&items, key, &mut found).map(|()| format!("{found:?}")));
    }
    for (number, (list, item)) in items.iter().enumerate() {
        let mut map = PropertyMap::default();
        out.push(records.property_map(*list, *item, &mut map).map(|()| format!("{map:?}")));
        if number % 5 == 0 {
            let mut found = [None];
            out.push(records.presence(&[(*list, *item)], &mut found).map(|()| format!("{found:?}")));
            let mut listed = Vec::new();
            let list = records.list(*list, None, 3, &mut listed);
            out.push(list.map(|has_more| format!("{listed:?} {has_more}")));
        }
    }
    for subject in subjects().into_iter().chain([Subject::VERTICES]) {
        for group in (0..2).map(GroupId) {
            out.push(records.group_difference(subject, group).map(|sum| sum.to_string()));
            let (mut rows, mut live) = ([0; 64], [0; 64]);
            out.push(records.mark_rows(subject, group, &mut rows).map(|()| format!("{rows:?}")));
            out.push(records.apply_live(group, &mut live).map(|()| format!("{live:?}")));
        }
    }
    out
}

#[test]
fn a_damaged_page_is_an_error_with_its_place_and_never_a_wrong_answer() {
    for stamps in [FileStamps::Stamped, FileStamps::Unstamped] {
        let fixture = Fixture::new(stamps);
        let mut random = SplitMix64::new(8);
        // A file without stamps is read by readers that see all of it.
        let until = if stamps == FileStamps::Stamped { Timestamp(5000) } else { Timestamp::MAX };
        let sound = fixture.open(&fixture.with(FileContent::Topology, |_| {})).unwrap();
        let expected: Vec<String> =
            answers(&fixture.model, &sound, until).into_iter().map(Result::unwrap).collect();
        for content in CONTENTS {
            assert!(fixture.pages(content) > 2);
            for page in (0..fixture.pages(content)).map(PageNumber) {
                let at = page.offset() as usize + below(&mut random, PAGE_BYTES as u64) as usize;
                let bit = 1 << below(&mut random, 8);
                let directory = fixture.with(content, |bytes| bytes[at] ^= bit);
                let file = Arc::new(fixture.open(&directory).unwrap());
                let name = CsrFileName::new(NUMBER, content);
                let place = format!("{name} is corrupt at byte {}: ", page.offset());
                let mut errors = 0;
                for (found, expected) in answers(&fixture.model, &file, until).into_iter().zip(&expected) {
                    match found {
                        Ok(found) => assert_eq!(found, *expected, "{place}"),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Corrupt);
                            assert!(error.to_string().contains(&place), "{error}, not {place}");
                            errors += 1;
                        }
                    }
                }
                // Long values of records that were replaced are not read.
                let bytes = &fixture.bytes[usize::from(content == FileContent::Columns)];
                let is_long = bytes[page.offset() as usize + 4] == PageKind::LongValues.code();
                let may_be_unread = is_long && stamps == FileStamps::Stamped;
                assert!(errors > 0 || may_be_unread, "{place}no answer needs the page");
                // Scans read no filters and no columns.
                let is_scanned = content == FileContent::Topology
                    && file.topology_index().pages().iter().any(|indexed| indexed.page == page);
                let window = Arc::new(SharedWindow::new(&Unlimited, 1, 1 << 10).unwrap());
                // In a shared window the next visit has an error of its own.
                for scanned in [scan_all(&file), scan_sharing(&file, &window), scan_sharing(&file, &window)] {
                    match scanned {
                        Ok(()) => assert!(!is_scanned, "{place}the scan did not see it"),
                        Err(error) => {
                            assert!(is_scanned && error.to_string().contains(&place), "{error}, not {place}")
                        }
                    }
                }
            }
        }
    }
}

fn scan_all(file: &Arc<CsrFile>) -> CheckpointResult<()> {
    scan_to_the_end(FileScan::all(file)?)
}

fn scan_sharing(file: &Arc<CsrFile>, window: &Arc<SharedWindow>) -> CheckpointResult<()> {
    let last = ListId::edges(VertexId(u32::MAX), TypeId(u16::MAX), EdgeSide::In);
    scan_to_the_end(FileScan::sharing(file, ListId::FIRST..=last, window)?)
}

fn scan_to_the_end(mut scan: FileScan) -> CheckpointResult<()> {
    while scan.slice().is_some() {
        scan.advance()?;
    }
    Ok(())
}

#[test]
fn no_changed_byte_of_a_page_passes() {
    let fixture = Fixture::new(FileStamps::Stamped);
    let directory = fixture.with(FileContent::Topology, |_| {});
    let part = &fixture.stored.topology;
    let (file, _) = PagedFile::open(
        FileSource::Lent(directory.as_ref()),
        &fixture.stored,
        FileContent::Topology,
        part,
        &Arc::default(),
    )
    .unwrap();
    let start = PageNumber(1).offset() as usize;
    let mut page: Box<PageBytes> =
        Box::new(*fixture.bytes[0][start..].first_chunk().expect("there are two pages"));
    file.verify(PageNumber(1), &page).unwrap();
    assert!(file.verify(PageNumber(0), &page).is_err(), "a page of another place");
    for at in (0..64).chain((64..PAGE_BYTES).step_by(37)) {
        page[at] ^= 1 << (at % 8);
        assert!(file.verify(PageNumber(1), &page).is_err(), "byte {at}");
        page[at] ^= 1 << (at % 8);
    }
}

/// The file and the offset of an error that must be `Corrupt`.
fn corrupt(opened: CheckpointResult<CsrFile>) -> (String, u64, String) {
    match opened {
        Err(CheckpointError::Corrupt { file, offset, problem }) => {
            (file.file_name().unwrap().to_string_lossy().into_owned(), offset, problem)
        }
        other => panic!("not corrupt: {other:?}"),
    }
}

#[test]
fn damage_outside_of_pages_is_found_at_the_opening() {
    let fixture = Fixture::new(FileStamps::Stamped);
    for content in CONTENTS {
        let name = CsrFileName::new(NUMBER, content).to_string();
        let bytes = &fixture.bytes[usize::from(content == FileContent::Columns)];
        let tail = PageNumber(fixture.pages(content)).offset() as usize;
        let footer = bytes.len() - FOOTER_BYTES;
        let index_length = u64::from_le_bytes(bytes[footer + 8..footer + 16].try_into().unwrap()) as usize;
        let directory_length =
            u64::from_le_bytes(bytes[footer + 28..footer + 36].try_into().unwrap()) as usize;
        // Between the directory and the footer are zeros that nobody reads.
        let sections = tail..tail + index_length + directory_length;
        let head = (0..64).chain((64..FILE_HEAD_BYTES).step_by(97));
        for at in head.chain(sections.step_by(5)).chain(footer..bytes.len()) {
            let opened = fixture.open(&fixture.with(content, |bytes| bytes[at] ^= 0x41));
            let (file, offset, problem) = corrupt(opened);
            assert_eq!(file, name, "byte {at}");
            let is_near = if at < FILE_HEAD_BYTES { offset < 64 } else { offset >= tail as u64 };
            assert!(is_near, "byte {at} found at {offset}: {problem}");
        }
    }
}

#[test]
fn files_cut_grown_missing_or_swapped_are_refused() {
    let fixture = Fixture::new(FileStamps::Unstamped);
    for content in CONTENTS {
        let name = CsrFileName::new(NUMBER, content).to_string();
        let length = fixture.bytes[usize::from(content == FileContent::Columns)].len();
        for length in [0, 1, 64, 4096, 8192, length / 2, length - 4096, length - 1, length + 1, length + 4096]
        {
            let opened = fixture.open(&fixture.with(content, |bytes| bytes.resize(length, 0)));
            let (file, _, problem) = corrupt(opened);
            assert_eq!(file, name);
            assert!(problem.contains(&format!("found {length}")), "{problem}");
        }
        let directory = fixture.with(content, |_| {});
        directory.remove(&name).unwrap();
        assert_eq!(corrupt(fixture.open(&directory)), (name.clone(), 0, "the file is missing".to_owned()));
        // Another file of the same length, under this name.
        let other = self::directory();
        fixture.model.write(&other, FileNumber(8));
        let other = other.read_all(&CsrFileName::new(FileNumber(8), content).to_string(), u64::MAX).unwrap();
        let opened = fixture.open(&fixture.with(content, |bytes| *bytes = other));
        assert_eq!(corrupt(opened).0, name);
        // The file under this number, written again with other content of the same length.
        let directory = fixture.with(content, |_| {});
        let mut stored = fixture.stored.clone();
        stored.topology.footer_crc ^= 1;
        let opened = CsrFile::open(&directory, &stored, &reader(0, Background::Stepped));
        assert!(corrupt(opened).2.contains("footer with crc"));
        let mut stored = fixture.stored.clone();
        stored.last_ts = Timestamp(stored.last_ts.0 + 1);
        corrupt(CsrFile::open(&directory, &stored, &reader(0, Background::Stepped)));
    }
    let swapped = fixture.with(FileContent::Topology, |bytes| bytes.clone_from(&fixture.bytes[1]));
    corrupt(fixture.open(&swapped));
}

#[test]
fn a_file_of_a_newer_version_is_told_from_a_damaged_one() {
    let fixture = Fixture::new(FileStamps::Stamped);
    let directory = fixture.with(FileContent::Columns, |bytes| {
        bytes[8] = 2;
        let crc = crc32c_append(crc32c_append(crc32c(&bytes[..12]), &[0; 4]), &bytes[16..FILE_HEAD_BYTES]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    });
    match fixture.open(&directory) {
        Err(CheckpointError::NewerFormat { found: 2, supported: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failed_read_is_its_readers_alone_and_is_not_cached() {
    let model = Model::random(9, FileStamps::Stamped, HistorySize::Small);
    let failing = Arc::new(FailingDirectory::new(Arc::new(MemoryDirectory::new("memory"))));
    let directory: Arc<dyn Directory> = failing.clone();
    for background in [Background::Stepped, Background::Threads] {
        let number = FileNumber(100 + u64::from(background == Background::Threads));
        let stored = model.write(&directory, number);
        let file = CsrFile::open(&directory, &stored, &reader(u64::MAX, background)).unwrap();
        let items: Vec<_> = model.versions.iter().map(|version| (version.list, version.item)).collect();
        let ask = || {
            let mut found = vec![None; items.len()];
            file.at(Timestamp::MAX).presence(&items, &mut found).map(|()| found)
        };
        failing.plan(Fault::new(Operation::Read, "csr-", std::io::ErrorKind::Other));
        assert_eq!(ask().unwrap_err().kind(), ErrorKind::Io);
        let found = ask().unwrap();
        for (item, found) in items.iter().zip(found) {
            assert_eq!(found, model.presence(*item, Timestamp::MAX));
        }
    }
}
