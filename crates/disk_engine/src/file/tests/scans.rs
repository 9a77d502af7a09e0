//! Scans of files in the order of merges, against the model.

use super::answers::{directory, reader};
use super::model::{FIRST_TS, HUB, HistorySize, LAST_TS, Model, NUMBER, Version, below, subjects};
use crate::file::csr_file::CsrFile;
use crate::file::entry_scan::EntryScan;
use crate::file::file_scan::FileScan;
use crate::file::shared_window::{SharedWindow, WINDOW_PURPOSE};
use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::FileStamps;
use crate::format::operation::RecordOperation;
use crate::format::page_index::topology::IndexedPage;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::merge::delete_rule::{Below, DeleteRule};
use crate::merge::entry_merge::EntrySource;
use crate::merge::list_merge::ListMerge;
use crate::merge::list_source::{ListKey, ListSource};
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::budget::Unlimited;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::VertexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::memory_budget::MemoryBudget;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record, with its list as merges name it and its rank.
type Scanned = (ListKey, ItemKey, RecordOperation, Timestamp, u64);

fn merge_key(version: &Version) -> (ListKey, ItemKey) {
    let ListId { subject, vertex } = version.list;
    if subject == Subject::VERTICES {
        return (ListKey { subject, vertex: VertexId(0) }, ItemKey::edge(vertex, 0));
    }
    (ListKey { subject, vertex }, version.item)
}

/// The records of some lists, those of one key from the oldest to the newest.
fn expected(model: &Model, is_asked: impl Fn(ListId) -> bool) -> Vec<Scanned> {
    let mut ranks: BTreeMap<Subject, u64> = BTreeMap::new();
    let ranked: Vec<(&Version, u64)> = model
        .versions
        .iter()
        .map(|version| {
            let next = ranks.entry(version.list.subject).or_default();
            *next += 1;
            (version, *next - 1)
        })
        .collect();
    let items = ranked.chunk_by(|a, b| (a.0.list, a.0.item) == (b.0.list, b.0.item));
    let asked = items.flat_map(|item| item.iter().rev()).filter(|(version, _)| is_asked(version.list));
    asked
        .map(|(version, rank)| {
            let (list, item) = merge_key(version);
            (list, item, version.operation, version.stamp, *rank)
        })
        .collect()
}

fn scanned(mut scan: FileScan, stamps: FileStamps) -> Vec<Scanned> {
    let mut found = Vec::new();
    while let Some(slice) = scan.slice() {
        assert!(!slice.neighbors.is_empty());
        assert_eq!(slice.stamps.is_some(), stamps == FileStamps::Stamped);
        for (at, neighbor) in slice.neighbors.iter().enumerate() {
            let discriminator = slice.discriminators.get(at).copied().unwrap_or(0);
            let operation = slice.operations.get(at).copied().unwrap_or(RecordOperation::Insert);
            let stamp = slice.stamps.map_or(Timestamp::ZERO, |stamps| stamps[at]);
            let item = ItemKey::edge(VertexId(*neighbor), discriminator);
            found.push((slice.list, item, operation, stamp, slice.first_rank + at as u64));
        }
        scan.advance().unwrap();
    }
    scan.advance().unwrap();
    assert!(scan.slice().is_none(), "the end stays the end");
    found
}

/// What is left of the visible records of each key.
fn nets(model: &Model, until: Timestamp) -> Vec<(ListKey, ItemKey, Option<RecordOperation>)> {
    let visible: Vec<&Version> = model.versions_of(until, |_| true).collect();
    let mut nets = Vec::new();
    for item in visible.chunk_by(|a, b| (a.list, a.item) == (b.list, b.item)) {
        let existed = item[item.len() - 1].operation != RecordOperation::Insert;
        let exists = item[0].operation != RecordOperation::Delete;
        let (list, key) = merge_key(item[0]);
        match (existed, exists) {
            (false, false) => {}
            (false, true) => nets.push((list, key, Some(RecordOperation::Insert))),
            (true, false) => nets.push((list, key, Some(RecordOperation::Delete))),
            // A Replace or a Set.
            (true, true) => nets.push((list, key, None)),
        }
    }
    nets
}

fn merged(file: &Arc<CsrFile>, until: Timestamp) -> Vec<(ListKey, ItemKey, Option<RecordOperation>)> {
    let rule = DeleteRule::new(Below::OlderRecords, []);
    let mut merge = ListMerge::new(vec![FileScan::all(file).unwrap()], until, rule);
    let mut found = Vec::new();
    while let Some(run) = merge.next_run().unwrap() {
        for (at, neighbor) in run.neighbors.iter().enumerate() {
            let discriminator = run.discriminators.get(at).copied().unwrap_or(0);
            let operation = run.operations.get(at).copied().unwrap_or(RecordOperation::Insert);
            let is_change = matches!(operation, RecordOperation::Replace | RecordOperation::Set);
            let item = ItemKey::edge(VertexId(*neighbor), discriminator);
            found.push((run.list, item, (!is_change).then_some(operation)));
        }
    }
    found
}

#[test]
fn a_scan_hands_out_every_record_in_the_order_of_merges() {
    for (seed, stamps) in [(1, FileStamps::Stamped), (2, FileStamps::Unstamped)] {
        let model = Model::random(seed, stamps, HistorySize::Large);
        let background = [Background::Stepped, Background::Threads][seed as usize % 2];
        let file = model.open(&directory(), &reader(0, background));
        let all = scanned(FileScan::all(&file).unwrap(), stamps);
        assert!(all == expected(&model, |_| true), "{stamps:?}");
        for until in [FIRST_TS - 1, 4000, LAST_TS].map(Timestamp) {
            assert!(merged(&file, until) == nets(&model, until), "{stamps:?} until {until}");
        }
    }
}

#[test]
fn a_scan_of_a_range_hands_out_its_lists_alone() {
    for seed in 0..6 {
        let mut random = SplitMix64::new(seed);
        let stamps = [FileStamps::Stamped, FileStamps::Unstamped][seed as usize % 2];
        let size = if seed < 2 { HistorySize::Large } else { HistorySize::Small };
        let model = Model::random(seed, stamps, size);
        let file = model.open(&directory(), &reader(0, Background::Stepped));
        let hub = ListId { subject: subjects()[1], vertex: HUB };
        // Of one page or of several, so that spans end inside of lists.
        let window = Arc::new(SharedWindow::new(&Unlimited, 1 + seed * 100, 40).unwrap());
        let any_list = |random: &mut SplitMix64| model.any_item(random).0;
        for _ in 0..if size == HistorySize::Large { 1 } else { 8 } {
            let [a, b] = [any_list(&mut random), any_list(&mut random)];
            for (low, high) in [(a.min(b), a.max(b)), (a, a), (hub.min(a), hub.max(a)), (hub, hub)] {
                let found = scanned(FileScan::new(&file, low..=high).unwrap(), stamps);
                assert!(found == expected(&model, |list| low <= list && list <= high), "{low:?} to {high:?}");
                let shared = FileScan::sharing(&file, low..=high, &window).unwrap();
                assert!(scanned(shared, stamps) == found, "{low:?} to {high:?}, sharing a window");
            }
        }
    }
}

#[test]
fn entries_of_indexes_are_scanned_from_the_oldest_to_the_newest_record() {
    for stamps in [FileStamps::Stamped, FileStamps::Unstamped] {
        let mut random = SplitMix64::new(4);
        let (directory, reader) = (directory(), reader(0, Background::Stepped));
        let (first_ts, last_ts) = (Timestamp(FIRST_TS), Timestamp(LAST_TS));
        let new = NewFile { number: NUMBER, level: 0, stamps, first_ts, last_ts };
        let mut writer = FileWriter::create(&directory, &new).unwrap();
        let mut expected = Vec::new();
        for index in [Subject::index(1).unwrap(), Subject::index(3).unwrap()] {
            for number in 0..1500u32 {
                let value = format!("value {:05}", number / 3);
                // One entry goes on over pages.
                let versions = if number == 700 { 4000 } else { 1 + below(&mut random, 3) };
                let versions = if stamps == FileStamps::Stamped { versions } else { 1 };
                let mut records = Vec::new();
                for version in (0..versions).rev() {
                    let stamp = if versions == 1 { 0 } else { version };
                    let operation = [RecordOperation::Insert, RecordOperation::Delete][version as usize % 2];
                    records.push((operation, Timestamp(FIRST_TS + stamp)));
                }
                let item = ItemId::Vertex(VertexId(number));
                for (operation, stamp) in &records {
                    let stamp = if stamps == FileStamps::Stamped { *stamp } else { Timestamp::ZERO };
                    let record = EntryRecord { value: value.as_bytes(), item, operation: *operation, stamp };
                    writer.push_entry(index, &record).unwrap();
                }
                expected.extend(records.iter().rev().map(|(operation, stamp)| {
                    let stamp = if stamps == FileStamps::Stamped { *stamp } else { Timestamp::ZERO };
                    (index, value.clone().into_bytes(), item, *operation, stamp)
                }));
            }
        }
        let stored = writer.finish().unwrap();
        let file = Arc::new(CsrFile::open(&directory, &stored, &reader).unwrap());
        assert!(FileScan::all(&file).unwrap().slice().is_none(), "there are no lists");
        let scan = |subjects| {
            let mut scan = EntryScan::new(&file, subjects).unwrap();
            let mut found = Vec::new();
            while let Some((subject, record)) = scan.entry() {
                let EntryRecord { value, item, operation, stamp } = record;
                found.push((subject, value.to_vec(), item, operation, stamp));
                scan.advance().unwrap();
            }
            found
        };
        let index = |number| Subject::index(number).unwrap();
        assert!(scan(index(0)..=index(9)) == expected, "{stamps:?}");
        expected.retain(|(subject, ..)| *subject == index(3));
        assert!(scan(index(2)..=index(3)) == expected, "{stamps:?}");
        assert!(scan(index(4)..=index(9)).is_empty());
    }
}

#[test]
fn workers_that_share_a_window_read_each_page_once_and_fill_a_cache_that_has_room() {
    for (cache_bytes, background) in [(0, Background::Threads), (1 << 24, Background::Stepped)] {
        let model = Model::random(7, FileStamps::Unstamped, HistorySize::Large);
        let reader = reader(cache_bytes, background);
        let file = model.open(&directory(), &reader);
        let window = Arc::new(SharedWindow::new(&Unlimited, 1, 1 << 20).unwrap());
        let subject = subjects()[1];
        let list = |vertex| ListId { subject, vertex: VertexId(vertex) };
        let expected = expected(&model, |list| list.subject == subject);
        for _ in 0..2 {
            std::thread::scope(|scope| {
                let (file, window, expected) = (&file, &window, &expected);
                for _ in 0..3 {
                    scope.spawn(move || {
                        let scan = FileScan::sharing(file, list(0)..=list(u32::MAX), window).unwrap();
                        assert!(scanned(scan, FileStamps::Unstamped) == *expected);
                    });
                }
            });
        }
        let cached = |page: &IndexedPage| reader.cached(&file.topology, page.page).is_some();
        let of_subject = |page: &&IndexedPage| page.subject == subject;
        let pages: Vec<_> = file.topology_index().pages().iter().filter(of_subject).collect();
        assert!(pages.len() > 1);
        assert!(pages.iter().all(|page| cached(page) == (cache_bytes > 0)));
    }
}

/// A breadth-first search with a limit of 64 MiB had 171 MiB of memory where 58 were in use: buffers of each span were
/// allocated anew, and left holes.
#[test]
fn spans_take_the_buffers_of_those_that_left() {
    let model = Model::random(7, FileStamps::Unstamped, HistorySize::Large);
    let file = model.open(&directory(), &reader(0, Background::Stepped));
    let window = Arc::new(SharedWindow::new(&Unlimited, 1, 4).unwrap());
    let [low, high] = [(subjects()[0], 0), (subjects()[2], u32::MAX)]
        .map(|(subject, vertex)| ListId { subject, vertex: VertexId(vertex) });
    let expected = expected(&model, |list| low <= list && list <= high);
    for _ in 0..20 {
        let scan = FileScan::sharing(&file, low..=high, &window).unwrap();
        assert!(scanned(scan, FileStamps::Unstamped) == expected);
    }
    let pages = file.topology_index().pages().len();
    let (allocated, spans_max) = window.buffers();
    assert!(pages > spans_max && allocated <= spans_max + 1, "{allocated} buffers, {pages} pages");
}

#[test]
fn a_window_takes_what_the_budget_has_and_gives_it_back() {
    let bytes_of = |limit: u64, streams, pages| {
        let budget = MemoryBudget::new(limit);
        let window = SharedWindow::new(&budget, streams, pages).map(|window| {
            let used = budget.used_bytes();
            assert!(used == 0 || &*budget.reservations()[0].0 == WINDOW_PURPOSE);
            drop(window);
            used
        });
        assert_eq!(budget.used_bytes(), 0);
        window
    };
    assert_eq!(bytes_of(0, 1, 0).unwrap(), 0, "a graph without files has no window");
    let wide = bytes_of(1 << 30, 1, 1 << 20).unwrap();
    assert!((10 << 20..1 << 27).contains(&wide), "{wide}");
    let narrow = bytes_of(4 << 20, 1, 1 << 20).unwrap();
    assert!((1 << 18..=4 << 20).contains(&narrow), "{narrow}");
    assert!(bytes_of(1 << 30, 1, 8).unwrap() < wide, "a small graph has a small one");
    let error = bytes_of(1 << 10, 1, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains(WINDOW_PURPOSE), "{error}");
}
