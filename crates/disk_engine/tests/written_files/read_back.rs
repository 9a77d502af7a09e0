//! Read back: all records of a file with their properties, and whatever must agree with them.

use evergraph_disk_engine::format::columns::page::{ColumnContent, ColumnPage};
use evergraph_disk_engine::format::directory::{DirectoryRow, decode_directory};
use evergraph_disk_engine::format::entries::page::EntryPage;
use evergraph_disk_engine::format::file_head::FileHead;
use evergraph_disk_engine::format::file_name::{CsrFileName, FILE_HEAD_BYTES, FileContent, PageNumber};
use evergraph_disk_engine::format::filter::{FilterPage, KeyHash};
use evergraph_disk_engine::format::footer::{FOOTER_BYTES, FileSection, Footer};
use evergraph_disk_engine::format::lists::buffer::ListBuffer;
use evergraph_disk_engine::format::lists::page::ListPage;
use evergraph_disk_engine::format::lists::record::ListRecord;
use evergraph_disk_engine::format::long_values::{LongReference, LongValueReader};
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::page::{PageBytes, PageHead, PageKind, verify};
use evergraph_disk_engine::format::page_index::columns::ColumnIndex;
use evergraph_disk_engine::format::page_index::filters::FilterAnswer;
use evergraph_disk_engine::format::page_index::topology::TopologyIndex;
use evergraph_disk_engine::format::row_set::RowSet;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject, SubjectKind};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::format::vertices::VertexPage;
use evergraph_disk_engine::stored_file::{StoredFile, StoredPart, entry_key, list_key};
use evergraph_graph::id::{GroupId, KeyId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::Directory;
use std::collections::{BTreeMap, HashSet};

/// A record of a vertex, an edge or an index, with what it carries. Neighbour and discriminator of a vertex are zero.
#[derive(Clone, PartialEq, Debug)]
pub enum FileRecord {
    /// Of a list, or of a vertex itself.
    List { list: ListId, item: ItemKey, operation: RecordOperation, stamp: Timestamp, properties: Properties },
    /// Of an index.
    Entry { subject: Subject, value: Vec<u8>, item: ItemId, operation: RecordOperation, stamp: Timestamp },
}

impl FileRecord {
    fn group(&self) -> (Subject, GroupId) {
        match self {
            Self::List { list, .. } => (list.subject, list.vertex.group()),
            Self::Entry { subject, .. } => (*subject, GroupId(0)),
        }
    }

    pub fn operation(&self) -> RecordOperation {
        match self {
            Self::List { operation, .. } | Self::Entry { operation, .. } => *operation,
        }
    }

    pub fn key(&self) -> Vec<u8> {
        match self {
            Self::List { list, item, .. } => list_key(*list, *item),
            Self::Entry { subject, value, item, .. } => entry_key(*subject, value, *item),
        }
    }
}

/// A file as it was read.
pub struct ReadFile {
    /// In file order.
    pub records: Vec<FileRecord>,
    /// Its directory.
    pub rows: Vec<DirectoryRow>,
    /// The pages of its topology, in the order of the file.
    pub kinds: Vec<PageKind>,
    /// The pages of its columns file.
    pub column_kinds: Vec<PageKind>,
}

/// The rows that a directory of `records` has.
pub fn rows_of(records: &[FileRecord]) -> Vec<DirectoryRow> {
    // The newest operation of each vertex, or of each vertex with a list: it comes first.
    let mut rows = BTreeMap::<_, (i64, BTreeMap<u16, RecordOperation>)>::new();
    for record in records {
        let (difference, newest) = rows.entry(record.group()).or_default();
        *difference += record.operation().difference();
        if let FileRecord::List { list, operation, .. } = record {
            newest.entry(list.vertex.row()).or_insert(*operation);
        }
    }
    let row = |((subject, group), (difference, newest)): (_, (_, BTreeMap<_, _>))| {
        let is_deleted = |operation: &RecordOperation| {
            subject == Subject::VERTICES && *operation == RecordOperation::Delete
        };
        let deleted = newest.iter().filter(|(_, operation)| is_deleted(operation)).map(|(row, _)| *row);
        let (rows, deleted) = (row_set(newest.keys().copied()), row_set(deleted));
        DirectoryRow { subject, group, difference, rows, deleted }
    };
    rows.into_iter().map(row).collect()
}

fn row_set(rows: impl Iterator<Item = u16>) -> RowSet {
    let mut bits = [0; 64];
    rows.for_each(|row| bits[usize::from(row / 64)] |= 1 << (row % 64));
    RowSet::of_bits(&bits)
}

/// One of the two parts of a file: every byte is verified.
struct Part {
    pages: Vec<(PageHead, Box<PageBytes>)>,
    index: Vec<u8>,
    rows: Vec<DirectoryRow>,
}

impl Part {
    fn read(directory: &dyn Directory, file: &StoredFile, content: FileContent, part: &StoredPart) -> Self {
        let name = CsrFileName::new(file.number, content);
        let bytes = directory.read_all(&name.to_string(), 1 << 30).unwrap();
        assert_eq!(bytes.len() as u64, part.bytes);
        let head = FileHead::decode(bytes[..FILE_HEAD_BYTES].try_into().unwrap(), name).unwrap();
        let (level, stamps) = (file.level, file.stamps);
        assert_eq!(head, FileHead { name, level, stamps, first_ts: file.first_ts, last_ts: file.last_ts });
        let end = bytes[bytes.len() - FOOTER_BYTES..].try_into().unwrap();
        let footer = Footer::decode(end, name, part.bytes).unwrap();
        assert_eq!(footer.crc, part.footer_crc);
        let section = |section: &FileSection| {
            let bytes = &bytes[section.offset as usize..][..section.length as usize];
            section.verify(bytes, name).unwrap();
            bytes.to_vec()
        };
        let rows = decode_directory(&section(&footer.directory)).unwrap();
        let pages = (0..footer.pages).map(PageNumber).map(|number| {
            let page: &PageBytes = bytes[number.offset() as usize..].first_chunk().unwrap();
            (verify(page, name.seed().page(number)).unwrap(), Box::new(*page))
        });
        Self { pages: pages.collect(), index: section(&footer.index), rows }
    }

    fn kinds(&self) -> Vec<PageKind> {
        self.pages.iter().map(|(head, _)| head.kind).collect()
    }
}

/// The kinds of a topology's pages, in the order of the file.
pub fn topology_kinds(directory: &dyn Directory, file: &StoredFile) -> Vec<PageKind> {
    Part::read(directory, file, FileContent::Topology, &file.topology).kinds()
}

/// Properties by subject, vertex or rank, and stamp.
type Columns = BTreeMap<(Subject, u64, Timestamp), Vec<(KeyId, Option<Value>)>>;

/// Reads a file whole.
pub fn read_back(directory: &dyn Directory, file: &StoredFile) -> ReadFile {
    let topology = Part::read(directory, file, FileContent::Topology, &file.topology);
    let columns_part =
        file.columns.as_ref().map(|part| Part::read(directory, file, FileContent::Columns, part));
    let mut columns = columns_part.as_ref().map(|part| read_columns(part, file.first_ts)).unwrap_or_default();
    let index = TopologyIndex::decode(&topology.index, topology.pages.len() as u32).unwrap();
    let mut records = Vec::new();
    let mut filtered = HashSet::new();
    let mut ranks = BTreeMap::<Subject, u64>::new();
    for indexed in index.pages() {
        let (head, page) = &topology.pages[indexed.page.0 as usize];
        let rank = ranks.entry(head.subject).or_default();
        assert_eq!(head.rank, *rank, "{head:?}");
        *rank += u64::from(head.values);
        let mut take = |position, stamp| {
            Properties::new(columns.remove(&(head.subject, position, stamp)).unwrap_or_default())
        };
        match head.kind {
            PageKind::Vertices => {
                let page = VertexPage::open(page).unwrap();
                page.check(file.first_ts).unwrap();
                let mut read = Vec::new();
                page.decode_into(file.first_ts, &mut read).unwrap();
                records.extend(read.into_iter().map(|record| FileRecord::List {
                    list: ListId::vertex(record.vertex),
                    item: ItemKey::VERTEX,
                    operation: record.operation,
                    stamp: record.stamp,
                    properties: take(record.vertex.0.into(), record.stamp),
                }));
            }
            PageKind::Lists => {
                let (page, mut buffer) = (ListPage::open(page).unwrap(), ListBuffer::default());
                page.check(file.first_ts, &mut buffer).unwrap();
                page.decode_records(file.first_ts, &mut buffer).unwrap();
                for (rank, record) in (head.rank..).zip(buffer.records()) {
                    let ListRecord { vertex, neighbor, discriminator, operation, stamp } = record;
                    let found = index.pages_of_edge(head.subject, vertex, neighbor);
                    assert!(found.contains(indexed), "{record:?}");
                    if let SubjectKind::Edges { side: EdgeSide::Out, .. } = head.subject.kind() {
                        let place = index.filter_of_edge(head.subject, vertex, neighbor);
                        let hash = KeyHash::of_edge(head.subject, vertex, neighbor);
                        check_filter(&topology, place, hash);
                        filtered.insert(hash);
                    } else {
                        let place = index.filter_of_edge(head.subject, vertex, neighbor);
                        assert_eq!(place, FilterAnswer::Unfiltered);
                    }
                    let list = ListId { subject: head.subject, vertex };
                    let (item, properties) = (ItemKey::edge(neighbor, discriminator), take(rank, stamp));
                    records.push(FileRecord::List { list, item, operation, stamp, properties });
                }
            }
            PageKind::Entries => {
                let page = EntryPage::open(page).unwrap();
                page.check(file.first_ts).unwrap();
                let mut cursor = page.entries(file.first_ts).unwrap();
                while let Some(record) = cursor.next().unwrap() {
                    let found = index.pages_of_entry(head.subject, record.value, record.item);
                    assert!(found.contains(indexed), "{record:?}");
                    let place = index.filter_of_value(head.subject, record.value);
                    let hash = KeyHash::of_value(head.subject, record.value);
                    check_filter(&topology, place, hash);
                    filtered.insert(hash);
                    records.push(FileRecord::Entry {
                        subject: head.subject,
                        value: record.value.to_vec(),
                        item: record.item,
                        operation: record.operation,
                        stamp: record.stamp,
                    });
                }
            }
            kind => panic!("{kind:?} is no kind of records"),
        }
    }
    assert!(columns.is_empty(), "properties without a record: {columns:?}");
    let keys: u64 = index.filters().iter().map(|filter| u64::from(filter.values)).sum();
    assert_eq!(keys, filtered.len() as u64, "each key is in one filter, once");
    assert_eq!(index.pages().len() + index.filters().len(), topology.pages.len());
    assert_eq!(records.first().unwrap().key(), file.first_key);
    assert_eq!(records.last().unwrap().key(), file.last_key);
    let column_kinds = columns_part.as_ref().map(Part::kinds).unwrap_or_default();
    ReadFile { records, kinds: topology.kinds(), rows: topology.rows, column_kinds }
}

fn check_filter(topology: &Part, place: FilterAnswer, hash: KeyHash) {
    let FilterAnswer::Page(number) = place else { panic!("{place:?} of a key that is there") };
    assert!(FilterPage::open(&topology.pages[number.0 as usize].1).unwrap().may_contain(hash));
}

fn read_columns(part: &Part, first_ts: Timestamp) -> Columns {
    let index = ColumnIndex::decode(&part.index, part.pages.len() as u32).unwrap();
    let long_pages = part.kinds().iter().filter(|kind| **kind == PageKind::LongValues).count();
    assert_eq!(index.pages().len() + long_pages, part.pages.len());
    assert_eq!(part.rows, []);
    let mut columns = Columns::new();
    for indexed in index.pages() {
        let (head, page) = &part.pages[indexed.page.0 as usize];
        let page = ColumnPage::open(page).unwrap();
        page.check(first_ts).unwrap();
        let (mut positions, mut stamps) = (Vec::new(), Vec::new());
        page.positions_into(&mut positions).unwrap();
        page.stamps_into(first_ts, 0..positions.len(), &mut stamps).unwrap();
        for (at, position) in positions.iter().enumerate() {
            let found = index.pages_between(head.subject, head.property_key, *position..=*position);
            assert!(found.contains(indexed), "{head:?} {position}");
            let value = match page.content(at).unwrap() {
                ColumnContent::Value(value) => Some(value),
                ColumnContent::Removed => None,
                ColumnContent::Long(reference) => Some(read_long(part, reference, head.subject)),
            };
            let stamp = stamps.get(at).copied().unwrap_or(Timestamp::ZERO);
            columns.entry((head.subject, *position, stamp)).or_default().push((head.property_key, value));
        }
    }
    columns
}

fn read_long(part: &Part, reference: LongReference, subject: Subject) -> Value {
    let mut reader = LongValueReader::new(reference);
    for number in reference.pages() {
        let (head, page) = &part.pages[number as usize];
        assert_eq!(head.subject, subject);
        reader.add(page).unwrap();
    }
    reader.finish().unwrap()
}
