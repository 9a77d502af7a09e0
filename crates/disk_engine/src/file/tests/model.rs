//! Model: random exact histories, the files that they become, and what a naive reader says of them.

use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::format::file_head::FileStamps;
use crate::format::file_name::FileNumber;
use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::VertexRecord;
use crate::source::{ListedItem, PropertyAnswer, PropertyMap};
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::{KeyId, TypeId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::random::{Random, SplitMix64};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const FIRST_TS: u64 = 1000;
pub(crate) const LAST_TS: u64 = 9000;
pub(crate) const NUMBER: FileNumber = FileNumber(7);
/// Properties that records may have.
pub(crate) const KEYS: u16 = 4;

/// A vertex with long lists in every subject.
pub(crate) const HUB: VertexId = VertexId(4101);

pub(crate) fn subjects() -> [Subject; 3] {
    [
        Subject::edges(TypeId(3), EdgeSide::Out),
        Subject::edges(TypeId(3), EdgeSide::In),
        Subject::edges(TypeId(5), EdgeSide::Out),
    ]
}

/// How many records a history has, about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HistorySize {
    /// Several pages of each kind, and items whose records go on over pages.
    Large,
    /// A few pages in all.
    Small,
}

#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) list: ListId,
    pub(crate) item: ItemKey,
    pub(crate) stamp: Timestamp,
    pub(crate) operation: RecordOperation,
    pub(crate) properties: Properties,
}

/// Versions in the order of a file.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) stamps: FileStamps,
    pub(crate) versions: Vec<Version>,
    items: BTreeMap<(ListId, ItemKey), Range<usize>>,
}

pub(crate) fn below(random: &mut SplitMix64, end: u64) -> u64 {
    random.next_u64() % end
}

impl Model {
    pub(crate) fn random(seed: u64, stamps: FileStamps, size: HistorySize) -> Self {
        let mut random = SplitMix64::new(seed);
        let scale = if size == HistorySize::Large { 1 } else { 40 };
        let mut model = Self { stamps, versions: Vec::new(), items: BTreeMap::new() };
        let mut vertex = 0;
        for _ in 0..6000 / scale {
            vertex += 1 + below(&mut random, 3) as u32 / 2;
            let versions = 1 + below(&mut random, 8) / 6;
            model.add(&mut random, ListId::vertex(VertexId(vertex)), ItemKey::VERTEX, versions);
        }
        // One whose records go on over pages.
        let busiest = ListId::vertex(VertexId(vertex + 1));
        model.add(&mut random, busiest, ItemKey::VERTEX, 7000 / scale);
        for subject in subjects() {
            for vertex in (0..HUB.0 + 100).step_by(9 * scale as usize) {
                let mut neighbor = 0;
                for _ in 0..below(&mut random, 6) {
                    neighbor += 1 + below(&mut random, 1000) as u32;
                    let list = ListId { subject, vertex: VertexId(vertex) };
                    let versions = 1 + below(&mut random, 8) / 6;
                    model.add(&mut random, list, ItemKey::edge(VertexId(neighbor), 0), versions);
                }
            }
            let list = ListId { subject, vertex: HUB };
            for neighbor in 0..6000 / scale as u32 {
                let versions = 1 + below(&mut random, 10) / 9;
                model.add(&mut random, list, ItemKey::edge(VertexId(neighbor * 3), 0), versions);
            }
            // Parallel edges, and one whose records go on over pages.
            for discriminator in 0..3000 / scale as u16 {
                let item = ItemKey::edge(VertexId(20_000), discriminator * 2);
                let versions = 1 + below(&mut random, 10) / 9;
                model.add(&mut random, list, item, versions);
            }
            model.add(&mut random, list, ItemKey::edge(VertexId(20_001), 5), 6000 / scale);
            model.add(&mut random, list, ItemKey::edge(VertexId(u32::MAX), u16::MAX), 2);
        }
        Self::of(stamps, model.versions)
    }

    /// That of some versions in any order.
    pub(crate) fn of(stamps: FileStamps, mut versions: Vec<Version>) -> Self {
        versions.sort_by_key(|version| (version.list, version.item, u64::MAX - version.stamp.0));
        let mut items = BTreeMap::new();
        let mut at = 0;
        for item in versions.chunk_by(|a, b| (a.list, a.item) == (b.list, b.item)) {
            items.insert((item[0].list, item[0].item), at..at + item.len());
            at += item.len();
        }
        Self { stamps, versions, items }
    }

    /// Adds an exact history of one item.
    fn add(&mut self, random: &mut SplitMix64, list: ListId, item: ItemKey, versions: u64) {
        if self.versions.last().is_some_and(|last| (last.list, last.item) == (list, item)) {
            return;
        }
        let versions = if self.stamps == FileStamps::Stamped { versions } else { 1 };
        let mut exists = below(random, 3) == 0;
        let mut stamp = FIRST_TS + below(random, LAST_TS - FIRST_TS - versions + 1);
        for left in (0..versions).rev() {
            let operation = match (exists, below(random, 4)) {
                (false, _) => RecordOperation::Insert,
                (true, 0) => RecordOperation::Delete,
                (true, 1) => RecordOperation::Replace,
                (true, _) => RecordOperation::Set,
            };
            exists = operation != RecordOperation::Delete;
            let properties = match (operation, list.carries_properties()) {
                (RecordOperation::Delete, _) | (_, false) => Properties::EMPTY,
                _ => any_properties(random, operation),
            };
            let stamped = Timestamp(if self.stamps == FileStamps::Stamped { stamp } else { 0 });
            self.versions.push(Version { list, item, stamp: stamped, operation, properties });
            let room = LAST_TS - stamp - left;
            stamp += 1 + below(random, room.min(9) + 1);
        }
    }

    /// Writes the file.
    pub(crate) fn write(&self, directory: &Arc<dyn Directory>, number: FileNumber) -> StoredFile {
        let (first_ts, last_ts) = (Timestamp(FIRST_TS), Timestamp(LAST_TS));
        let new = NewFile { number, level: 0, stamps: self.stamps, first_ts, last_ts };
        Self::write_versions(directory, &new, &self.versions)
    }

    /// Writes versions, which are in the order of a file.
    pub(crate) fn write_versions(
        directory: &Arc<dyn Directory>,
        new: &NewFile,
        versions: &[Version],
    ) -> StoredFile {
        let mut writer = FileWriter::create(directory, new).unwrap();
        for Version { list, item, stamp, operation, properties } in versions {
            let (vertex, operation, stamp) = (list.vertex, *operation, *stamp);
            if list.subject == Subject::VERTICES {
                writer.push_vertex(&VertexRecord { vertex, operation, stamp }, properties).unwrap();
            } else {
                let (neighbor, discriminator) = (item.neighbor(), item.discriminator());
                let record = ListRecord { vertex, neighbor, discriminator, operation, stamp };
                writer.push_edge(list.subject, &record, properties).unwrap();
            }
        }
        writer.finish().unwrap()
    }

    pub(crate) fn open(&self, directory: &Arc<dyn Directory>, reader: &Arc<PageReader>) -> Arc<CsrFile> {
        let stored = self.write(directory, NUMBER);
        Arc::new(CsrFile::open(directory, &stored, reader).unwrap())
    }

    /// An item that has records, or one beside it.
    pub(crate) fn any_item(&self, random: &mut SplitMix64) -> (ListId, ItemKey) {
        let version = &self.versions[below(random, self.versions.len() as u64) as usize];
        let (mut list, mut item) = (version.list, version.item);
        match below(random, 8) {
            0 => list.vertex.0 = list.vertex.0.saturating_add(1),
            1 if list.subject != Subject::VERTICES => item = ItemKey::from_bits(item.bits() + 1),
            2 if list.subject != Subject::VERTICES => {
                item = ItemKey::edge(VertexId(item.neighbor().0.wrapping_add(1)), 0);
            }
            _ => {}
        }
        (list, item)
    }

    /// The visible versions of an item, the newest first.
    fn visible(&self, (list, item): (ListId, ItemKey), until: Timestamp) -> impl Iterator<Item = &Version> {
        let versions = self.items.get(&(list, item)).cloned().unwrap_or(0..0);
        let is_visible = move |version: &&Version| version.stamp.visible_at(until);
        self.versions[versions].iter().filter(is_visible)
    }

    pub(crate) fn presence(&self, item: (ListId, ItemKey), until: Timestamp) -> Option<bool> {
        self.visible(item, until).next().map(|version| version.operation != RecordOperation::Delete)
    }

    pub(crate) fn property(&self, item: (ListId, ItemKey), key: KeyId, until: Timestamp) -> PropertyAnswer {
        for version in self.visible(item, until) {
            match (version.properties.get(key), version.operation) {
                (Some(Some(value)), _) => return PropertyAnswer::Value(value.clone()),
                (Some(None), _) => return PropertyAnswer::Absent,
                (None, RecordOperation::Set) => {}
                (None, _) => return PropertyAnswer::Absent,
            }
        }
        PropertyAnswer::Undecided
    }

    pub(crate) fn property_map(&self, item: (ListId, ItemKey), until: Timestamp, map: &mut PropertyMap) {
        for version in self.visible(item, until) {
            for (key, value) in version.properties.as_slice() {
                map.add(*key, value.clone());
            }
            if version.operation != RecordOperation::Set {
                map.is_complete = true;
                return;
            }
        }
    }

    pub(crate) fn list(&self, list: ListId, until: Timestamp) -> Vec<ListedItem> {
        let items = self.items.range((list, ItemKey::VERTEX)..=(list, ItemKey::LAST));
        let newest = items.filter_map(|(key, _)| Some((key.1, self.presence(*key, until)?)));
        newest.map(|(item, is_present)| ListedItem { item, is_present }).collect()
    }

    /// All visible versions of lists that `is_asked`.
    pub(crate) fn versions_of(
        &self,
        until: Timestamp,
        is_asked: impl Fn(ListId) -> bool,
    ) -> impl Iterator<Item = &Version> {
        self.versions.iter().filter(move |version| version.stamp.visible_at(until) && is_asked(version.list))
    }

    pub(crate) fn difference(&self, until: Timestamp, is_asked: impl Fn(ListId) -> bool) -> i64 {
        self.versions_of(until, is_asked).map(|version| version.operation.difference()).sum()
    }
}

fn any_properties(random: &mut SplitMix64, operation: RecordOperation) -> Properties {
    let mut changes = Vec::new();
    for key in 0..KEYS {
        let value = match below(random, 12) {
            0 => Some(Value::from(random.next_u64() as i64)),
            1 => Some(Value::from(format!("text {}", below(random, 1000)))),
            2 if below(random, 100) == 0 => {
                let length = 2500 + below(random, 40_000) as usize;
                Some(Value::from("long value ".chars().cycle().take(length).collect::<String>()))
            }
            3 if operation == RecordOperation::Set => None,
            _ => continue,
        };
        changes.push((KeyId(key), value));
    }
    Properties::new(changes)
}
