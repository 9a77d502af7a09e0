//! Page reads: what a file's directory answers in memory, and that a list costs its own page alone.

use evergraph_disk_engine::file::csr_file::{CsrFile, INDEXES_PURPOSE};
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::operation::RecordOperation;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::tree_state::SourceHandle;
use evergraph_disk_engine::view::disk_view::DiskView;
use evergraph_disk_engine::view::view_sources::ViewSources;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{Direction, EdgeId, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::view::View;
use std::sync::Arc;

const KNOWS: TypeId = TypeId(0);
const LABEL: LabelId = LabelId(3);
const VERTICES: u32 = 9000;

/// Each seventh vertex is deleted by the newer file; each even one has a list of ten in the older one.
struct Files {
    groups: GroupTable,
    sources: Vec<SourceHandle<CsrFile>>,
    reader: Arc<PageReader>,
    budget: MemoryBudget,
}

fn is_deleted(vertex: u32) -> bool {
    vertex.is_multiple_of(7)
}

impl Files {
    fn new() -> Self {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let budget = MemoryBudget::new(64 << 20);
        let reader = PageReader::start(&budget, Background::Stepped).unwrap();
        let writer = |number, level| {
            let ts = Timestamp(10 + number);
            let stamps = FileStamps::Unstamped;
            let new = NewFile { number: FileNumber(number), level, stamps, first_ts: ts, last_ts: ts };
            FileWriter::create(&directory, &new).unwrap()
        };
        let (mut older, mut newer) = (writer(1, 2), writer(2, 1));
        for vertex in (0..VERTICES).map(VertexId) {
            let record = |operation| VertexRecord { vertex, operation, stamp: Timestamp::ZERO };
            older.push_vertex(&record(RecordOperation::Insert), &Properties::EMPTY).unwrap();
            if is_deleted(vertex.0) {
                newer.push_vertex(&record(RecordOperation::Delete), &Properties::EMPTY).unwrap();
            }
        }
        for vertex in (0..VERTICES).step_by(2) {
            let neighbors: Vec<u32> = (0..10).map(|at| at * 801 + vertex % 801).collect();
            older.push_list(Subject::edges(KNOWS, EdgeSide::Out), VertexId(vertex), &neighbors).unwrap();
        }
        let open = |writer: FileWriter| {
            Arc::new(CsrFile::open(&directory, &writer.finish().unwrap(), &reader).unwrap())
        };
        let sources = vec![SourceHandle::File(open(newer)), SourceHandle::File(open(older))];
        let groups = GroupTable::new();
        for group in 0..=VertexId(VERTICES - 1).group().0 {
            groups.open(GroupId(group), LABEL);
            groups.add_edge_type(GroupId(group), EdgeSide::Out, KNOWS);
        }
        Self { groups, sources, reader, budget }
    }

    fn view(&self) -> DiskView<'_> {
        DiskView::new(&self.groups, ViewSources::List(self.sources.clone()), Timestamp(99))
    }

    /// What `read` gives, and how many pages it reads.
    fn counted<T>(&self, read: impl FnOnce(&DiskView<'_>) -> T) -> (T, u64) {
        let before = self.reader.statistics().misses;
        (read(&self.view()), self.reader.statistics().misses - before)
    }
}

#[test]
fn live_vertices_and_lists_that_are_not_there_are_known_without_reading_a_page() {
    let files = Files::new();
    let vertices: Vec<_> = (0..VERTICES + 5000).map(VertexId).collect();
    for vertices in [&vertices[..], &vertices[..3], &vertices[6..8], &vertices[8999..9001]] {
        let (labels, pages) = files.counted(|view| {
            let mut labels = vec![None; vertices.len()];
            view.labels(vertices, &mut labels).unwrap();
            labels
        });
        let expected = |vertex: &VertexId| (vertex.0 < VERTICES && !is_deleted(vertex.0)).then_some(LABEL);
        assert_eq!((labels, pages), (vertices.iter().map(expected).collect(), 0));
    }
    let odd: Vec<_> = (1..VERTICES).step_by(2).map(VertexId).collect();
    let (found, pages) = files.counted(|view| {
        let (mut list, mut degrees, mut found) = (Vec::new(), vec![0; odd.len()], vec![true; odd.len()]);
        for vertex in odd.iter().take(500) {
            view.neighbors(*vertex, KNOWS, Direction::Out, None, usize::MAX, &mut list).unwrap();
        }
        view.degrees(&odd, KNOWS, Direction::Out, &mut degrees).unwrap();
        let edge = |source: &VertexId| EdgeId {
            source: *source,
            edge_type: KNOWS,
            target: VertexId(3),
            discriminator: 0,
        };
        view.has_edges(&odd.iter().map(edge).collect::<Vec<_>>(), &mut found).unwrap();
        let pairs: Vec<_> = odd.iter().map(|vertex| (*vertex, VertexId(3))).collect();
        let mut counts = vec![9; odd.len()];
        view.count_edges_between(&pairs, KNOWS, &mut counts).unwrap();
        view.read_ahead(&odd, KNOWS, Direction::Out);
        list.len() as u64
            + degrees.iter().sum::<u64>()
            + counts.iter().map(|count| u64::from(*count)).sum::<u64>()
            + found.iter().filter(|found| **found).count() as u64
    });
    assert_eq!((found, pages), (0, 0));
    let (rows, pages) =
        files.counted(|view| view.rows_with_edges(GroupId(1), KNOWS, Direction::Out).unwrap());
    assert_eq!((rows, pages), ([0x5555_5555_5555_5555; 64], 0));
}

#[test]
fn pages_that_were_read_ahead_are_not_read_again() {
    let files = Files::new();
    let vertices: Vec<_> = (0..VERTICES).step_by(200).map(VertexId).collect();
    let ((), ahead) = files.counted(|view| view.read_ahead(&vertices, KNOWS, Direction::Out));
    assert!(ahead > 2, "several pages: {ahead}");
    let (count, pages) = files.counted(|view| {
        let mut list = Vec::new();
        for vertex in &vertices {
            view.neighbors(*vertex, KNOWS, Direction::Out, None, usize::MAX, &mut list).unwrap();
        }
        list.len()
    });
    assert_eq!((count, pages), (10 * vertices.len(), 0));
}

#[test]
fn pairs_are_counted_alike_one_by_one_and_all_together() {
    let files = Files::new();
    let pairs: Vec<_> = (0..4000).map(|at| (VertexId(at * 2 % VERTICES), VertexId(at * 37 % 8100))).collect();
    let (mut together, mut one) = (vec![0; pairs.len()], [0]);
    files.view().count_edges_between(&pairs, KNOWS, &mut together).unwrap();
    for (pair, expected) in pairs.iter().zip(&together) {
        files.view().count_edges_between(std::slice::from_ref(pair), KNOWS, &mut one).unwrap();
        let is_there = pair.1.0 % 801 == pair.0.0 % 801 && pair.1.0 < 8010;
        assert_eq!((one[0], *expected), (u32::from(is_there), u32::from(is_there)), "{pair:?}");
    }
    assert!(together.iter().sum::<u32>() > 0);
}

#[test]
fn open_files_are_counted_in_the_budget_until_they_are_closed() {
    let mut files = Files::new();
    let of_files = |files: &Files| {
        let held = files.budget.reservations();
        held.iter().find(|(purpose, _)| **purpose == *INDEXES_PURPOSE).map_or(0, |(_, bytes)| *bytes)
    };
    let heap = |source: &SourceHandle<CsrFile>| match source {
        SourceHandle::File(file) => file.heap_bytes() as u64,
        _ => 0,
    };
    assert_eq!(of_files(&files), files.sources.iter().map(heap).sum::<u64>());
    assert!(of_files(&files) > 1000);
    files.sources.clear();
    assert_eq!(of_files(&files), 0);
}
