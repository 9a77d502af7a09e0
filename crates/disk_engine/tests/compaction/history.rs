//! History: random exact commits, and the state after them.

use evergraph_disk_engine::format::entries::entry::EntryRecord;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::lists::record::ListRecord;
use evergraph_disk_engine::format::operation::RecordOperation::{self, Delete, Insert, Replace, Set};
use evergraph_disk_engine::format::subject::{EdgeSide, Subject, SubjectKind};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::format::vertices::VertexRecord;
use evergraph_disk_engine::stored_file::StoredFile;
use evergraph_disk_engine::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{KeyId, TypeId, VertexId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::random::{Random, SplitMix64};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// A vertex, an edge, or an entry of an index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    Item(ListId, ItemKey),
    Entry(Subject, Vec<u8>, u32),
}

/// A record; its place in the history is its timestamp.
#[derive(Clone, Debug)]
pub struct Record {
    pub key: Key,
    pub operation: RecordOperation,
    pub properties: Properties,
}

pub type Values = BTreeMap<KeyId, Value>;

/// What is there.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct State {
    pub items: BTreeMap<(ListId, ItemKey), Values>,
    pub entries: BTreeSet<(Subject, Vec<u8>, u32)>,
}

#[derive(Debug)]
pub struct History {
    pub records: Vec<Record>,
    pub state: State,
}

pub fn below(random: &mut SplitMix64, end: u64) -> u64 {
    random.next_u64() % end
}

pub fn out_edges() -> Subject {
    Subject::edges(TypeId(0), EdgeSide::Out)
}

fn any_key(random: &mut SplitMix64) -> Key {
    let lists =
        [out_edges(), Subject::edges(TypeId(0), EdgeSide::In), Subject::edges(TypeId(9), EdgeSide::Out)];
    match below(random, 10) {
        0..3 => {
            let vertex = [0, 4090, 70_000][below(random, 3) as usize] + below(random, 12) as u32;
            Key::Item(ListId::vertex(VertexId(vertex)), ItemKey::VERTEX)
        }
        3..8 => {
            let subject = lists[below(random, 3) as usize];
            let vertex = VertexId([3, 4, 4097][below(random, 3) as usize]);
            let discriminator = below(random, 5).saturating_sub(3) as u16;
            let item = ItemKey::edge(VertexId(below(random, 20) as u32 * 1000), discriminator);
            Key::Item(ListId { subject, vertex }, item)
        }
        _ => {
            let index = Subject::index(below(random, 2) as u32 * 5).unwrap();
            let value = format!("value {:03}", below(random, 30)).into_bytes();
            Key::Entry(index, value, below(random, 3) as u32)
        }
    }
}

fn any_properties(random: &mut SplitMix64, operation: RecordOperation) -> Properties {
    let mut changes = Vec::new();
    for key in 0..4 {
        let value = match below(random, 10) {
            0..2 => Some(Value::from(random.next_u64() as i64)),
            2 => Some(Value::from(format!("text {}", below(random, 1000)))),
            3 if below(random, 30) == 0 => {
                let length = 2500 + below(random, 40_000) as usize;
                Some(Value::from("long value ".chars().cycle().take(length).collect::<String>()))
            }
            4..6 if operation == Set => None,
            _ => continue,
        };
        changes.push((KeyId(key), value));
    }
    Properties::new(changes)
}

impl History {
    pub fn random(random: &mut SplitMix64, commits: usize) -> Self {
        let mut history = Self { records: Vec::new(), state: State::default() };
        for _ in 0..commits {
            history.commit(random);
        }
        history
    }

    fn commit(&mut self, random: &mut SplitMix64) {
        let key = any_key(random);
        let state = &mut self.state;
        let exists = match &key {
            Key::Item(list, item) => state.items.contains_key(&(*list, *item)),
            Key::Entry(index, value, item) => state.entries.contains(&(*index, value.clone(), *item)),
        };
        let operation = match (exists, &key, below(random, 7)) {
            (false, ..) => Insert,
            (true, Key::Entry(..), _) | (true, _, 0..2) => Delete,
            (true, _, 2) => Replace,
            (true, ..) => Set,
        };
        let carries = matches!(&key, Key::Item(list, _) if has_properties(*list)) && operation != Delete;
        let properties = if carries { any_properties(random, operation) } else { Properties::EMPTY };
        match &key {
            Key::Item(list, item) if operation == Delete => drop(state.items.remove(&(*list, *item))),
            Key::Item(list, item) => {
                let values = state.items.entry((*list, *item)).or_default();
                if operation != Set {
                    values.clear();
                }
                for (key, value) in properties.as_slice() {
                    match value {
                        Some(value) => values.insert(*key, value.clone()),
                        None => values.remove(key),
                    };
                }
            }
            Key::Entry(index, value, item) if operation == Delete => {
                assert!(state.entries.remove(&(*index, value.clone(), *item)));
            }
            Key::Entry(index, value, item) => {
                assert!(state.entries.insert((*index, value.clone(), *item)));
            }
        }
        self.records.push(Record { key, operation, properties });
    }

    /// All keys that records are of.
    pub fn keys(&self) -> BTreeSet<Key> {
        self.records.iter().map(|record| record.key.clone()).collect()
    }

    /// Writes the commits of `part` as a stamped file.
    pub fn write(
        &self,
        part: Range<usize>,
        directory: &Arc<dyn Directory>,
        number: FileNumber,
    ) -> StoredFile {
        let stamp = |at: usize| Timestamp(at as u64 + 1);
        let (first_ts, last_ts) = (stamp(part.start), stamp(part.end - 1));
        let new = NewFile { number, level: 0, stamps: FileStamps::Stamped, first_ts, last_ts };
        let mut writer = FileWriter::create(directory, &new).unwrap();
        let mut order: Vec<usize> = part.collect();
        order.sort_by_key(|at| (&self.records[*at].key, Reverse(*at)));
        for at in order {
            let Record { key, operation, properties } = &self.records[at];
            write_record(&mut writer, key, *operation, stamp(at), properties);
        }
        writer.finish().unwrap()
    }
}

pub fn write_record(
    writer: &mut FileWriter,
    key: &Key,
    operation: RecordOperation,
    stamp: Timestamp,
    properties: &Properties,
) {
    match key {
        Key::Item(list, _) if list.subject == Subject::VERTICES => {
            let record = VertexRecord { vertex: list.vertex, operation, stamp };
            writer.push_vertex(&record, properties).unwrap();
        }
        Key::Item(ListId { subject, vertex }, item) => {
            let (neighbor, discriminator) = (item.neighbor(), item.discriminator());
            let record = ListRecord { vertex: *vertex, neighbor, discriminator, operation, stamp };
            writer.push_edge(*subject, &record, properties).unwrap();
        }
        Key::Entry(subject, value, item) => {
            let item = ItemId::Vertex(VertexId(*item));
            writer.push_entry(*subject, &EntryRecord { value, item, operation, stamp }).unwrap();
        }
    }
}

fn has_properties(list: ListId) -> bool {
    !matches!(list.subject.kind(), SubjectKind::Edges { side: EdgeSide::In, .. })
}
