//! Checks of sound files find nothing; each planted damage is found and named.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use crate::compact::exactness::check_exactness;
use crate::durable::check::files::check_stored;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::format::directory::{decode_directory, encode_directory};
use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::{FileHead, FileStamps};
use crate::format::file_name::PageNumber;
use crate::format::file_name::{CsrFileName, FileContent, FileNumber, PAGE_BYTES};
use crate::format::footer::{FOOTER_BYTES, Footer};
use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::page::{PAGE_HEAD_BYTES, PageBytes, PageHead, PageKind, seal};
use crate::format::subject::{EdgeSide, Subject};
use crate::format::vertices::VertexRecord;
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::manifest::StoredGroup;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use RecordOperation::{Delete, Insert, Set};

/// Vertices of the older file.
const VERTICES: u32 = 120;
const TYPE: TypeId = TypeId(2);
const OUT: Subject = Subject::edges(TYPE, EdgeSide::Out);
const IN: Subject = Subject::edges(TYPE, EdgeSide::In);

/// Vertices of two groups.
fn vertex(number: u32) -> VertexId {
    VertexId(number % 2 * 4096 + number / 2)
}

/// Records of a file, by key.
#[derive(Clone, Default)]
struct Records {
    vertices: BTreeMap<VertexId, (RecordOperation, Properties)>,
    edges: BTreeMap<(Subject, VertexId, VertexId, u16), (RecordOperation, Properties)>,
    /// Entries of an index, all of them Inserts.
    entries: BTreeSet<(Vec<u8>, VertexId)>,
}

impl Records {
    fn vertex(&mut self, vertex: VertexId, operation: RecordOperation, properties: Properties) {
        self.vertices.insert(vertex, (operation, properties));
    }

    fn edge(&mut self, source: u32, target: u32, operation: RecordOperation, properties: Properties) {
        let (source, target) = (vertex(source), vertex(target));
        self.edges.insert((OUT, source, target, 0), (operation, properties));
        self.edges.insert((IN, target, source, 0), (operation, Properties::EMPTY));
    }
}

fn weight(value: Value) -> Properties {
    Properties::new(vec![(KeyId(1), Some(value))])
}

struct Files {
    directory: Arc<dyn Directory>,
    /// Newest first.
    stored: Vec<StoredFile>,
}

impl Files {
    /// `older` without stamps, and `newer` with them.
    fn new(older: &Records, newer: &Records) -> Self {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("check"));
        let write = |number: u64, records: &Records, stamps: FileStamps, ts: u64| {
            let (first_ts, last_ts) = (Timestamp(ts), Timestamp(ts + 5));
            let level = u8::from(stamps == FileStamps::Unstamped);
            let new = NewFile { number: FileNumber(number), level, stamps, first_ts, last_ts };
            let mut writer = FileWriter::create(&directory, &new).unwrap();
            let stamp = if stamps == FileStamps::Stamped { Timestamp(ts + 2) } else { Timestamp::ZERO };
            for (vertex, (operation, properties)) in &records.vertices {
                let record = VertexRecord { vertex: *vertex, operation: *operation, stamp };
                writer.push_vertex(&record, properties).unwrap();
            }
            for ((subject, vertex, neighbor, discriminator), (operation, properties)) in &records.edges {
                let record = ListRecord {
                    vertex: *vertex,
                    neighbor: *neighbor,
                    discriminator: *discriminator,
                    operation: *operation,
                    stamp,
                };
                writer.push_edge(*subject, &record, properties).unwrap();
            }
            for (value, vertex) in &records.entries {
                let item = ItemId::Vertex(*vertex);
                let record = EntryRecord { value, item, operation: Insert, stamp };
                writer.push_entry(Subject::index(3).unwrap(), &record).unwrap();
            }
            writer.finish().unwrap()
        };
        let stored =
            vec![write(2, newer, FileStamps::Stamped, 20), write(1, older, FileStamps::Unstamped, 10)];
        Self { directory, stored }
    }

    fn check(&self) -> Report {
        let group = |id| StoredGroup { id: GroupId(id), label: LabelId(0), rows: 200 };
        let mut report = Report::default();
        let groups = [group(0), group(1)];
        check_stored(&*self.directory, &self.stored, &groups, &mut report, &mut |_, _, _| {
            ControlFlow::Continue(())
        })
        .unwrap();
        report
    }

    fn names(&self) -> Vec<String> {
        self.directory.list().unwrap()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        self.directory.read_all(name, u64::MAX).unwrap()
    }

    fn write(&self, name: &str, offset: usize, bytes: &[u8]) {
        let file = self.directory.open(name, OpenMode::ReadWrite).unwrap();
        file.write_at(bytes, offset as u64).unwrap();
    }

    /// Writes the pages of a topology file that are of a kind and `subject` anew, with right checksums.
    fn with_pages(
        &self,
        at: usize,
        kind: PageKind,
        subject: Subject,
        change: impl Fn(&mut PageHead, &mut PageBytes),
    ) {
        let name = CsrFileName::new(self.stored[at].number, FileContent::Topology);
        let bytes = self.bytes(&name.to_string());
        let pages = (0..).map(PageNumber).zip(bytes[4096..].as_chunks::<PAGE_BYTES>().0);
        let mut changed = 0;
        for (number, page) in pages.filter(|(_, page)| page[4] == kind.code()) {
            let mut page: Box<PageBytes> = Box::new(*page);
            let mut head = PageHead::read(&page).unwrap();
            if head.subject == subject {
                change(&mut head, &mut page);
                head.write(&mut page);
                seal(&mut page, name.seed().page(number));
                self.write(&name.to_string(), number.offset() as usize, &page[..]);
                changed += 1;
            }
        }
        assert!(changed > 0, "no page of {kind:?} about {subject}");
    }

    /// Writes the end of a topology file anew, with right checksums.
    fn with_end(&mut self, at: usize, change: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) {
        let name = CsrFileName::new(self.stored[at].number, FileContent::Topology);
        let bytes = self.bytes(&name.to_string());
        let footer =
            Footer::decode(bytes.last_chunk::<FOOTER_BYTES>().unwrap(), name, bytes.len() as u64).unwrap();
        let section = |offset: u64, length: u64| bytes[offset as usize..][..length as usize].to_vec();
        let mut index = section(footer.index.offset, footer.index.length);
        let mut directory = section(footer.directory.offset, footer.directory.length);
        change(&mut index, &mut directory);
        let (footer, end) = Footer::encode(name, footer.pages, &index, &directory);
        self.directory
            .open(&name.to_string(), OpenMode::ReadWrite)
            .unwrap()
            .set_len(footer.index.offset)
            .unwrap();
        self.write(&name.to_string(), footer.index.offset as usize, &end);
        self.stored[at].topology.bytes = footer.index.offset + end.len() as u64;
        self.stored[at].topology.footer_crc = footer.crc;
    }
}

/// The page indexes of a large database are larger than what the check sets aside for pages.
#[test]
fn page_indexes_that_pass_the_budget_of_a_check_are_opened() {
    let (older, newer) = graph();
    let files = Files::new(&older, &newer);
    let reader = PageReader::start(&MemoryBudget::new(0), Background::Stepped).unwrap();
    let open = |stored| CsrFile::open_in(&*files.directory, stored, &reader).map(Arc::new);
    let opened: Vec<_> = files.stored.iter().map(open).collect::<Result<_, _>>().unwrap();
    check_exactness(&opened, &mut || Ok(())).unwrap();
}

fn graph() -> (Records, Records) {
    let (mut older, mut newer) = (Records::default(), Records::default());
    for number in 0..VERTICES {
        let properties = if number % 2 == 0 { weight(Value::I64(7)) } else { Properties::EMPTY };
        older.vertex(vertex(number), Insert, properties);
        for step in 1..20 {
            let value = if step == 1 && number % 50 == 0 {
                Value::from("long ".repeat(4000))
            } else {
                Value::I64(i64::from(step))
            };
            older.edge(number, (number * step + step) % VERTICES, Insert, weight(value));
        }
    }
    // Vertex 7 goes with its edges, an edge changes, vertices and edges come.
    let edges = older.edges.clone();
    newer.vertex(vertex(7), Delete, Properties::EMPTY);
    for ((subject, at, neighbor, discriminator), _) in edges {
        if at == vertex(7) || neighbor == vertex(7) {
            newer.edges.insert((subject, at, neighbor, discriminator), (Delete, Properties::EMPTY));
        }
    }
    newer.vertex(vertex(VERTICES), Insert, weight(Value::from("new")));
    newer.edge(VERTICES, 5, Insert, weight(Value::I64(1)));
    newer.edges.insert((OUT, vertex(2), vertex(3), 0), (Set, weight(Value::I64(9))));
    newer.edges.insert((IN, vertex(3), vertex(2), 0), (Set, Properties::EMPTY));
    (older, newer)
}

fn sound() -> Files {
    let (older, newer) = graph();
    Files::new(&older, &newer)
}

#[track_caller]
fn finds(files: &Files, text: &str) {
    let findings = files.check().findings;
    let is_named =
        findings.iter().any(|finding| format!("{}: {}", finding.place, finding.problem).contains(text));
    assert!(is_named, "no `{text}` in {findings:#?}");
}

#[test]
fn sound_files_have_no_findings_and_their_bytes_are_counted() {
    let files = sound();
    let report = files.check();
    assert!(report.is_healthy(), "{:#?}", report.findings);
    let bytes: usize = files.names().iter().map(|name| files.bytes(name).len()).sum();
    assert_eq!(report.bytes_count, bytes as u64);
    assert_eq!(files.names().len(), 4);
}

#[test]
fn every_flipped_bit_is_found() {
    let files = sound();
    for name in files.names() {
        let bytes = files.bytes(&name);
        let ends = (0..200).step_by(9).chain((bytes.len() - 5000..bytes.len()).step_by(61));
        for at in ends.chain((0..bytes.len()).step_by(2999)) {
            let flipped = bytes[at] ^ 1 << (at % 8);
            files.write(&name, at, &[flipped]);
            let report = files.check();
            assert!(!report.is_healthy(), "byte {at} of {name}");
            assert!(
                report.findings.iter().any(|finding| finding.problem.contains(&name)),
                "{:#?}",
                report.findings
            );
            // One damaged page is not reported again as edges that one side lacks.
            assert!(report.findings_count <= 2, "{:#?}", report.findings);
            files.write(&name, at, &[bytes[at]]);
        }
    }
    assert!(files.check().is_healthy());
}

#[test]
fn files_that_are_missing_cut_or_another_one_are_named() {
    let files = sound();
    let [newer, older] = ["csr-0000000000000002", "csr-0000000000000001"];
    let (newer_bytes, older_bytes) = (files.bytes(newer), files.bytes(older));
    files.directory.rename(newer, "kept").unwrap();
    finds(&files, "csr-0000000000000002 is corrupt at byte 0: the file is missing");
    files.directory.rename(older, newer).unwrap();
    files.directory.rename("kept", older).unwrap();
    finds(&files, newer);
    finds(&files, older);
    files.directory.remove(newer).unwrap();
    files.directory.write_all_new(newer, &newer_bytes[..newer_bytes.len() - 4096]).unwrap();
    finds(&files, "bytes expected, found");
    // The right length, and the name in the head of another file.
    files.directory.remove(newer).unwrap();
    files.directory.write_all_new(newer, &newer_bytes).unwrap();
    files.directory.remove(older).unwrap();
    files.directory.write_all_new(older, &older_bytes).unwrap();
    assert!(files.check().is_healthy());
}

#[test]
fn pages_at_each_others_place_are_found() {
    let files = sound();
    let name = "csr-0000000000000001";
    let bytes = files.bytes(name);
    let pages: Vec<&[u8]> = bytes[4096..][..3 * PAGE_BYTES].chunks(PAGE_BYTES).collect();
    files.write(name, 4096 + PAGE_BYTES, pages[2]);
    files.write(name, 4096 + 2 * PAGE_BYTES, pages[1]);
    finds(&files, "a page with crc");
}

#[test]
fn a_missing_side_is_named_edge_by_edge() {
    let (mut older, newer) = graph();
    let edges: Vec<_> = older.edges.keys().copied().collect();
    let into = edges.iter().find(|key| key.0 == IN && key.1 != vertex(7) && key.2 != vertex(7)).unwrap();
    older.edges.remove(into);
    let (source, target) = (into.2, into.1);
    let files = Files::new(&older, &newer);
    finds(&files, &format!("{source}-[2:0]->{target}: missing in the in list of {target}"));
    assert_eq!(files.check().findings_count, 1);

    let (older, mut newer) = graph();
    newer.edges.remove(&(OUT, vertex(VERTICES), vertex(5), 0));
    let files = Files::new(&older, &newer);
    let (source, target) = (vertex(VERTICES), vertex(5));
    finds(&files, &format!("{source}-[2:0]->{target}: missing in the out list of {source}"));
}

#[test]
fn a_record_that_is_wrong_on_both_sides_is_found() {
    let edge = |records: &Records| {
        let mut out =
            records.edges.keys().filter(|key| key.0 == OUT && key.1 != vertex(7) && key.2 != vertex(7));
        out.nth(3).map(|key| (key.1, key.2)).unwrap()
    };
    for operation in [Insert, Delete] {
        let (older, mut newer) = graph();
        // A second Insert of what is there; a Delete of what is not.
        let (source, target) = match operation {
            Insert => edge(&older),
            _ => (vertex(1), vertex(1)),
        };
        newer.edges.insert(
            (OUT, source, target, 9 * u16::from(operation == Delete)),
            (operation, Properties::EMPTY),
        );
        newer
            .edges
            .insert((IN, target, source, 9 * u16::from(operation == Delete)), (operation, Properties::EMPTY));
        let files = Files::new(&older, &newer);
        finds(&files, "csr-0000000000000002");
        assert_eq!(files.check().findings_count, 1, "{:?}", files.check().findings);
    }
}

#[test]
fn edges_of_vertices_that_are_not_alive_are_named() {
    let (older, mut newer) = graph();
    newer.edge(VERTICES, 200, Insert, Properties::EMPTY);
    let files = Files::new(&older, &newer);
    let dead = vertex(200);
    finds(&files, &format!("the in edges of type 2 of {dead}: 1 edges, but the vertex is not alive"));
    finds(&files, &format!("{dead}: not alive, but 1 times among the out edges of type 2 of others"));
    assert_eq!(files.check().findings_count, 2);
    let (older, mut newer) = graph();
    newer.vertex(VertexId(2 * 4096 + 1), Insert, Properties::EMPTY);
    newer.vertex(VertexId(4000), Insert, Properties::EMPTY);
    newer.vertex(vertex(8), Insert, Properties::EMPTY);
    let files = Files::new(&older, &newer);
    finds(&files, "group 2: 1 live vertices and no label");
    finds(&files, "group 0: row 4000 is alive, and 200 rows were given out");
    finds(&files, "live vertices, but a count of");
}

#[test]
fn a_wrong_directory_or_index_with_right_checksums_is_found() {
    let mut files = sound();
    files.with_end(1, |_, directory| {
        let mut rows = decode_directory(directory).unwrap();
        rows[1].difference -= 1;
        *directory = encode_directory(&rows);
    });
    finds(&files, "a directory with");
    let mut files = sound();
    // The first neighbour of a page, and the number of its values.
    for field in [8, 12] {
        files.with_end(0, |index, _| index[16 + field] ^= 1);
        finds(&files, "of the index");
    }
    let mut files = sound();
    files.stored[0].last_key[7] ^= 1;
    finds(&files, "the first and last key of the manifest expected");
}

#[test]
fn a_wrong_rank_with_a_right_checksum_is_found() {
    let files = sound();
    files.with_pages(1, PageKind::Lists, OUT, |head, _| head.rank += 1);
    finds(&files, "the rank 0 expected, found 1");
}

/// In a page whose own vertices are all alive.
#[test]
fn an_edge_to_a_vertex_that_is_not_alive_is_named_if_its_page_has_no_other() {
    let (older, mut newer) = (graph().0, Records::default());
    newer.edges.insert((OUT, vertex(5), vertex(200), 0), (Insert, Properties::EMPTY));
    let files = Files::new(&older, &newer);
    let dead = vertex(200);
    finds(&files, &format!("{dead}: not alive, but 1 times among the out edges of type 2 of others"));
}

#[test]
fn stamps_outside_the_commits_of_a_file_with_right_checksums_are_found() {
    let changes: [fn(&mut Records); 3] = [
        |newer| newer.edge(1, 1, Insert, Properties::EMPTY),
        |newer| newer.vertex(vertex(VERTICES), Insert, Properties::EMPTY),
        |newer| _ = newer.entries.insert((b"value".to_vec(), vertex(1))),
    ];
    for change in changes {
        let (older, mut newer) = (graph().0, Records::default());
        change(&mut newer);
        let mut files = Files::new(&older, &newer);
        assert!(files.check().is_healthy());
        // The records' stamp is 22.
        let name = CsrFileName::new(files.stored[0].number, FileContent::Topology);
        let bytes = files.bytes(&name.to_string());
        let mut head = FileHead::decode(bytes.first_chunk().unwrap(), name).unwrap();
        head.last_ts = Timestamp(21);
        files.write(&name.to_string(), 0, &head.encode()[..]);
        files.stored[0].last_ts = Timestamp(21);
        finds(&files, "stamps from 20 to 21 expected, found 22");
    }
}

#[test]
fn filters_that_do_not_know_their_keys_are_found() {
    let (mut older, newer) = graph();
    older.entries = (0..VERTICES).map(|number| (number.to_be_bytes().to_vec(), vertex(number))).collect();
    let files = Files::new(&older, &newer);
    assert!(files.check().is_healthy(), "{:#?}", files.check().findings);
    for (subject, problem) in [
        (OUT, "edges that the filter knows expected"),
        (Subject::index(3).unwrap(), "values that the filter knows"),
    ] {
        let files = Files::new(&older, &newer);
        // A solution of zeros knows every key: another one is wanted.
        files.with_pages(1, PageKind::Filter, subject, |_, page| {
            page[PAGE_HEAD_BYTES + 8..].iter_mut().for_each(|byte| *byte = byte.rotate_left(3));
        });
        finds(&files, problem);
    }
}

#[test]
fn a_check_can_be_cancelled() {
    let files = sound();
    let mut told = 0;
    let mut report = Report::default();
    let checked = check_stored(&*files.directory, &files.stored, &[], &mut report, &mut |_, _, _| {
        told += 1;
        if told == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let error = checked.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
