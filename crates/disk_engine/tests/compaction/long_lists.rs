//! Long lists over several outputs, and merges that leave nothing.

use crate::history::{Key, State, out_edges, write_record};
use crate::tree::{Tree, check};
use evergraph_disk_engine::compact::output::OutputLimits;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::operation::RecordOperation::{self, Delete, Insert, Set};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::merge::delete_rule::Below;
use evergraph_disk_engine::source::{PropertyMap, RecordSource};
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::memory::MemoryDirectory;
use std::sync::Arc;

fn tree() -> Tree {
    let limits = OutputLimits { file_bytes: 40_000, waiting_bytes: 32 << 20 };
    Tree::new(Arc::new(MemoryDirectory::new("db")), limits)
}

type Written = (Key, RecordOperation, Properties);

fn add_file(tree: &mut Tree, stamp: u64, records: impl Iterator<Item = Written>) {
    let (number, stamp) = (tree.take_number(), Timestamp(stamp));
    let new = NewFile { number, level: 0, stamps: FileStamps::Stamped, first_ts: stamp, last_ts: stamp };
    let mut writer = FileWriter::create(&tree.directory, &new).unwrap();
    for (key, operation, properties) in records {
        write_record(&mut writer, &key, operation, stamp, &properties);
    }
    let file = tree.open(&writer.finish().unwrap());
    tree.levels[0].insert(0, file);
}

fn number(value: u32) -> Properties {
    Properties::new(vec![(KeyId(2), Some(Value::from(i64::from(value).wrapping_mul(0x1E37_79B9_7F4A_7C15))))])
}

const HUB: ListId = ListId { subject: out_edges_of_type_0(), vertex: VertexId(12) };

const fn out_edges_of_type_0() -> evergraph_disk_engine::format::subject::Subject {
    use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
    Subject::edges(evergraph_graph::id::TypeId(0), EdgeSide::Out)
}

fn edge(at: u32) -> Key {
    Key::Item(HUB, ItemKey::edge(VertexId(at * 37), 0))
}

#[test]
fn a_long_list_lies_in_several_files_with_its_properties() {
    const EDGES: u32 = 30_000;
    assert_eq!(HUB.subject, out_edges());
    let mut tree = tree();
    let mut state = State::default();
    // All edges, then deletes of some, sets of others and inserts between them.
    add_file(&mut tree, 1, (0..EDGES).map(|at| (edge(at), Insert, number(at))));
    let later = (0..EDGES).filter(|at| at % 10 < 2);
    add_file(
        &mut tree,
        2,
        later.map(|at| match at % 10 {
            0 => (edge(at), Delete, Properties::EMPTY),
            _ => (edge(at), Set, number(at + 1)),
        }),
    );
    let all = tree.levels[0].clone();
    let outputs = tree.compact(0, &all);
    assert!(outputs > 4, "{outputs} files");
    for at in (0..EDGES).filter(|at| at % 10 != 0) {
        let Key::Item(list, item) = edge(at) else { unreachable!() };
        let value = number(if at % 10 == 1 { at + 1 } else { at });
        let values = value.as_slice().iter().map(|(key, value)| (*key, value.clone().unwrap()));
        state.items.insert((list, item), values.collect());
    }
    // Of each file the first, the last and some edges between; the scan finds all.
    let sources: Vec<_> = tree.levels[1].iter().map(|file| file.at(Timestamp::MAX)).collect();
    for ((list, item), values) in state.items.iter().step_by(53) {
        let mut map = PropertyMap::default();
        for source in &sources {
            source.property_map(*list, *item, &mut map).unwrap();
        }
        assert!(map.into_present().into_iter().eq(values.clone()), "{item:?}");
    }
    let mut differences = [0];
    sources.iter().for_each(|source| source.differences(&[HUB], &mut differences).unwrap());
    assert_eq!(differences[0] as usize, state.items.len());
    // A change of one edge writes a part of the list alone again.
    add_file(&mut tree, 3, std::iter::once((edge(1), Delete, Properties::EMPTY)));
    let (before, change) = (tree.levels[1].clone(), tree.levels[0].clone());
    tree.compact(0, &change);
    let kept =
        before.iter().filter(|file| tree.levels[1].iter().any(|other| Arc::ptr_eq(file, other))).count();
    assert_eq!(kept, before.len() - 1);
    let removed = match edge(1) {
        Key::Item(list, item) => state.items.remove(&(list, item)),
        Key::Entry(..) => unreachable!(),
    };
    assert!(removed.is_some());
    let keys = state.items.keys().step_by(997).map(|(list, item)| Key::Item(*list, *item)).collect();
    let (items, _) = crate::tree::scan(&tree.files());
    assert!(items.iter().eq(state.items.keys()));
    let found = crate::tree::read_items(&tree.files(), &keys);
    assert!(found.items.iter().all(|(item, values)| state.items[item] == *values));
    assert_eq!(found.items.len(), keys.len());
}

#[test]
fn what_came_and_went_leaves_no_file() {
    let mut tree = tree();
    add_file(&mut tree, 1, (0..5).map(|at| (edge(at), Insert, number(at))));
    add_file(&mut tree, 2, (0..5).map(|at| (edge(at), Delete, Properties::EMPTY)));
    let all = tree.levels[0].clone();
    assert_eq!(tree.run(&all, 1, Below::OlderRecords).unwrap(), []);
    assert_eq!(tree.compact(0, &all), 0);
    check(&tree.files(), &(0..5).map(edge).collect(), &State::default());
}

#[test]
fn a_delete_stays_while_older_files_have_its_edge() {
    let mut tree = tree();
    add_file(&mut tree, 1, (0..5).map(|at| (edge(at), Insert, number(at))));
    for level in 0..3 {
        let all = tree.levels[level].clone();
        assert_eq!(tree.compact(level, &all), 1);
    }
    add_file(&mut tree, 2, (1..5).map(|at| (edge(at), Delete, Properties::EMPTY)));
    let newest = tree.levels[0].clone();
    assert_eq!(tree.compact(0, &newest), 1);
    let mut state = State::default();
    let Key::Item(list, item) = edge(0) else { unreachable!() };
    let values = number(0).as_slice().iter().map(|(key, value)| (*key, value.clone().unwrap())).collect();
    state.items.insert((list, item), values);
    check(&tree.files(), &(0..5).map(edge).collect(), &state);
    for level in 1..3 {
        let all = tree.levels[level].clone();
        assert_eq!(tree.compact(level, &all), 1);
    }
    assert_eq!(tree.files().len(), 1);
    check(&tree.files(), &(0..5).map(edge).collect(), &state);
}
