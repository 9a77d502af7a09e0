//! Naive file: records of some commits in sorted order, as a file would have them. Properties and items are looked up in
//! a map; what no topology asks is not answered.

use crate::history::{History, State};
use evergraph_disk_engine::file::plain_list::PlainLists;
use evergraph_disk_engine::file::ranked_numbers::{NumberColumn, RankedNumbers};
use evergraph_disk_engine::file::shared_window::SharedWindow;
use evergraph_disk_engine::format::entries::visible_entry::VisibleEntry;
use evergraph_disk_engine::format::file_head::FileStamps;
use evergraph_disk_engine::format::file_name::FileNumber;
use evergraph_disk_engine::format::operation::RecordOperation::{self, Delete, Insert, Replace, Set};
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::merge::list_source::{ListKey, ListSlice, ListSource};
use evergraph_disk_engine::source::{EntriesSize, ListedItem, PropertyAnswer, PropertyMap, RecordSource};
use evergraph_disk_engine::stored_file::{KeyedFile, StoredFile, StoredPart, list_key};
use evergraph_disk_engine::topology::edge_source::ScannedFile;
use evergraph_disk_engine::view::read_source::ReadSource;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, GroupId, KeyId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::index::entry_range::EntryRange;
use evergraph_storage::view::GroupBits;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Records that a slice has at most: few, so that lists come in several.
const SLICE_RECORDS: usize = 3;

#[derive(Clone, Debug)]
pub struct NaiveRecord {
    pub stamp: Timestamp,
    pub operation: RecordOperation,
    pub properties: Properties,
}

pub type Records = BTreeMap<(ListId, ItemKey), Vec<NaiveRecord>>;

/// Records by list and item, oldest first.
#[derive(Debug, Default)]
pub struct NaiveFile {
    pub is_stamped: bool,
    pub records: Records,
    /// Of a file of a level.
    stored: Option<StoredFile>,
}

impl KeyedFile for NaiveFile {
    fn stored(&self) -> &StoredFile {
        self.stored.as_ref().unwrap()
    }
}

/// Commits `range` of a history, numbered from 0.
fn records_of(history: &History, range: Range<usize>) -> Records {
    let mut records = Records::new();
    for at in range {
        let stamp = Timestamp(at as u64 + 1);
        let mut add = |list: ListId, item: ItemKey, operation, properties: &Properties| {
            let record = NaiveRecord { stamp, operation, properties: properties.clone() };
            records.entry((list, item)).or_default().push(record);
        };
        for mutation in &history.commits[at] {
            let mut of_edge = |edge: &EdgeId, operation, properties: &Properties| {
                let (to, from) = (edge.target, edge.source);
                add(ListId::out_list(edge), ItemKey::edge(to, edge.discriminator), operation, properties);
                if matches!(operation, Insert | Delete) {
                    let item = ItemKey::edge(from, edge.discriminator);
                    add(ListId::in_list(edge), item, operation, &Properties::EMPTY);
                }
            };
            match mutation {
                Mutation::InsertEdge { edge, properties } => of_edge(edge, Insert, properties),
                Mutation::ReplaceEdge { edge, properties } => of_edge(edge, Replace, properties),
                Mutation::SetEdgeProperties { edge, properties } => of_edge(edge, Set, properties),
                Mutation::DeleteEdge { edge } => of_edge(edge, Delete, &Properties::EMPTY),
                Mutation::InsertVertex { vertex, .. } => {
                    add(ListId::vertex(*vertex), ItemKey::VERTEX, Insert, &Properties::EMPTY);
                }
                Mutation::DeleteVertex { vertex } => {
                    add(ListId::vertex(*vertex), ItemKey::VERTEX, Delete, &Properties::EMPTY);
                }
                other => unreachable!("histories have no {other:?}"),
            }
        }
    }
    records
}

impl NaiveFile {
    /// The commits `range` of a history with their stamps.
    pub fn stamped(history: &History, range: Range<usize>) -> Self {
        Self { is_stamped: true, records: records_of(history, range), stored: None }
    }

    /// What the commits `range` of a history come to, one record an item.
    pub fn unstamped(history: &History, range: Range<usize>) -> Self {
        let exists = |state: &State, list: ListId, item: ItemKey| match list.subject {
            Subject::VERTICES => state.vertices.contains(&list.vertex.0),
            _ => state.edges.keys().any(|edge| {
                let out = (ListId::out_list(edge), ItemKey::edge(edge.target, edge.discriminator));
                let into = (ListId::in_list(edge), ItemKey::edge(edge.source, edge.discriminator));
                (list, item) == out || (list, item) == into
            }),
        };
        let mut records = Records::new();
        for ((list, item), all) in records_of(history, range.clone()) {
            let [before, after] = [range.start, range.end].map(|at| exists(&history.states[at], list, item));
            let is_new = all.iter().any(|record| matches!(record.operation, Delete | Replace));
            let operation = match (before, after) {
                (false, false) => continue,
                (false, true) => Insert,
                (true, false) => Delete,
                (true, true) if is_new => Replace,
                (true, true) => Set,
            };
            // All that follows the last record that had all of them.
            let first = all.iter().rposition(|record| record.operation != Set).unwrap_or(0);
            let mut properties = Properties::EMPTY;
            for record in &all[first..] {
                properties = properties.followed_by(&record.properties);
            }
            if operation != Set {
                properties = properties.without_removals();
            }
            let record = NaiveRecord { stamp: Timestamp::ZERO, operation, properties };
            records.insert((list, item), vec![record]);
        }
        Self { is_stamped: false, records, stored: None }
    }

    /// Files of a level with at most `length` records of this one each.
    pub fn cut(self, length: usize) -> Vec<Self> {
        let all: Vec<_> = self.records.into_iter().collect();
        let files = all.chunks(length).map(|piece| {
            let key = |at: usize| list_key(piece[at].0.0, piece[at].0.1);
            let stored = StoredFile {
                number: FileNumber(1),
                level: 1,
                stamps: FileStamps::Unstamped,
                first_ts: Timestamp(1),
                last_ts: Timestamp(1),
                first_key: key(0),
                last_key: key(piece.len() - 1),
                topology: StoredPart { bytes: 1, footer_crc: 0 },
                columns: None,
            };
            Self { is_stamped: false, records: piece.iter().cloned().collect(), stored: Some(stored) }
        });
        files.collect()
    }
}

/// A file at one timestamp.
pub struct NaiveRecords<'f> {
    file: &'f NaiveFile,
    until: Timestamp,
}

impl NaiveRecords<'_> {
    fn newest_first(&self, list: ListId, item: ItemKey) -> impl Iterator<Item = &NaiveRecord> {
        let records = self.file.records.get(&(list, item)).into_iter().flatten();
        records.rev().filter(|record| record.stamp.visible_at(self.until))
    }

    fn difference(&self, list: ListId, item: ItemKey) -> i64 {
        self.newest_first(list, item).map(|record| record.operation.difference()).sum()
    }
}

impl ReadSource for NaiveFile {
    type Records<'f> = NaiveRecords<'f>;

    fn at(&self, until: Timestamp) -> NaiveRecords<'_> {
        NaiveRecords { file: self, until }
    }
}

impl RecordSource for NaiveRecords<'_> {
    fn property(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> Result<()> {
        assert_eq!(items.len(), answers.len());
        for ((list, item), answer) in items.iter().zip(answers) {
            for record in self.newest_first(*list, *item) {
                let found = match (record.operation, record.properties.get(key)) {
                    (Delete, _) | (_, Some(None)) | (Insert | Replace, None) => PropertyAnswer::Absent,
                    (_, Some(Some(value))) => PropertyAnswer::Value(value.clone()),
                    (Set, None) => continue,
                };
                if *answer == PropertyAnswer::Undecided {
                    *answer = found;
                }
                break;
            }
        }
        Ok(())
    }

    fn list(
        &self,
        list: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        let all = self.file.records.range((list, ItemKey::VERTEX)..=(list, ItemKey::LAST));
        let behind = all.map(|((_, item), _)| *item).filter(|item| after.is_none_or(|after| *item > after));
        let visible = behind.filter_map(|item| {
            let newest = self.newest_first(list, item).next()?;
            Some(ListedItem { item, is_present: newest.operation != Delete })
        });
        let mut visible = visible.peekable();
        items.extend(visible.by_ref().take(limit));
        Ok(visible.peek().is_some())
    }

    fn group_difference(&self, subject: Subject, group: GroupId) -> Result<i64> {
        let all = self.file.records.keys();
        let of_group = all.filter(|(list, _)| list.subject == subject && list.vertex.group() == group);
        Ok(of_group.map(|(list, item)| self.difference(*list, *item)).sum())
    }

    fn index_size(&self, _: Subject) -> EntriesSize {
        unreachable!("no topology asks indexes")
    }

    fn apply_live(&self, group: GroupId, live: &mut GroupBits) -> Result<()> {
        for (list, item) in self.file.records.keys() {
            if list.subject == Subject::VERTICES
                && list.vertex.group() == group
                && let Some(newest) = self.newest_first(*list, *item).next()
            {
                let row = usize::from(list.vertex.row());
                match newest.operation {
                    Delete => live[row / 64] &= !(1 << (row % 64)),
                    _ => live[row / 64] |= 1 << (row % 64),
                }
            }
        }
        Ok(())
    }

    fn presence(&self, _: &[(ListId, ItemKey)], _: &mut [Option<bool>]) -> Result<()> {
        unreachable!("no topology asks whether an item exists")
    }

    fn property_map(&self, _: ListId, _: ItemKey, _: &mut PropertyMap) -> Result<()> {
        unreachable!("no topology asks for all properties")
    }

    fn between(&self, _: ListId, _: VertexId, _: &mut Vec<ListedItem>) -> Result<()> {
        unreachable!("no topology asks for parallel edges")
    }

    fn differences(&self, _: &[ListId], _: &mut [i64]) -> Result<()> {
        unreachable!("no topology asks for single degrees")
    }

    fn mark_rows(&self, _: Subject, _: GroupId, _: &mut GroupBits) -> Result<()> {
        unreachable!("no topology asks for rows")
    }

    fn index_entries(
        &self,
        _: Subject,
        _: &EntryRange<'_>,
        _: usize,
        _: &mut Vec<VisibleEntry>,
    ) -> Result<()> {
        unreachable!("no topology asks indexes")
    }
}

#[derive(Debug)]
struct OwnedSlice {
    list: ListKey,
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    operations: Vec<RecordOperation>,
    stamps: Vec<Timestamp>,
    first_rank: u64,
}

/// Slices of a few records.
#[derive(Debug)]
pub struct NaiveScan {
    is_stamped: bool,
    slices: Vec<OwnedSlice>,
    at: usize,
}

impl ListSource for NaiveScan {
    type Error = Error;

    fn slice(&self) -> Option<ListSlice<'_>> {
        let slice = self.slices.get(self.at)?;
        Some(ListSlice {
            list: slice.list,
            neighbors: &slice.neighbors,
            discriminators: &slice.discriminators,
            operations: &slice.operations,
            stamps: self.is_stamped.then_some(&slice.stamps),
            first_rank: slice.first_rank,
        })
    }

    fn advance(&mut self) -> Result<()> {
        self.at += 1;
        Ok(())
    }
}

impl ScannedFile for NaiveFile {
    type Scan = NaiveScan;

    fn is_newer(&self, _until: Timestamp) -> bool {
        false
    }

    fn pages_count(&self) -> u64 {
        0
    }

    fn may_have_list(&self, list: ListId, until: Timestamp) -> bool {
        let mut records = self.records.range((list, ItemKey::VERTEX)..=(list, ItemKey::LAST));
        !self.is_newer(until) && records.next().is_some()
    }

    fn pages_of_list(&self, list: ListId, _until: Timestamp) -> usize {
        // Longer lists are scanned.
        self.records.range((list, ItemKey::VERTEX)..=(list, ItemKey::LAST)).count().div_ceil(SLICE_RECORDS)
    }

    fn plain_list(&self, list: ListId, _until: Timestamp, out: &mut PlainLists) -> Result<Option<u64>> {
        let items = || self.records.range((list, ItemKey::VERTEX)..=(list, ItemKey::LAST));
        if self.is_stamped || items().any(|(_, records)| records[0].operation != Insert) {
            return Ok(None);
        }
        for ((_, item), _) in items() {
            out.neighbors.push(item.neighbor().0);
            out.discriminators.push(item.discriminator());
        }
        let of_subject = self.records.keys().filter(|(other, _)| other.subject == list.subject);
        Ok(Some(of_subject.filter(|(other, _)| *other < list).count() as u64))
    }

    fn pages_of_lists(&self, lists: &RangeInclusive<ListId>, _column: Option<&NumberColumn>) -> usize {
        let (first, last) = ((*lists.start(), ItemKey::VERTEX), (*lists.end(), ItemKey::LAST));
        self.records.range(first..=last).count().div_ceil(SLICE_RECORDS)
    }

    fn is_cached(&self, list: ListId, _column: Option<&NumberColumn>) -> bool {
        // Of some vertices, so that both ways are taken.
        !list.vertex.0.is_multiple_of(3)
    }

    fn read_numbers_ahead(&self, _column: &NumberColumn, ranks: impl Iterator<Item = Range<u64>>) {
        assert!(ranks.into_iter().all(|ranks| !ranks.is_empty()), "a list has edges");
    }

    fn numbers_of(
        &self,
        column: &NumberColumn,
        ranks: Range<u64>,
        _window: &SharedWindow,
        _numbers: &mut RankedNumbers,
        out: &mut Vec<f64>,
    ) -> Result<bool> {
        let of_subject = self.records.iter().filter(|((list, _), _)| list.subject == column.subject);
        let by_rank: Vec<_> = of_subject.flat_map(|(_, records)| records).collect();
        let numbers = by_rank[ranks.start as usize..ranks.end as usize].iter().map(|record| {
            assert!(matches!(record.operation, Insert | Replace), "properties of an edge begin there");
            match record.properties.get(column.key) {
                None => column.missing,
                Some(value) => value.and_then(Value::as_f64),
            }
        });
        let Some(numbers) = numbers.collect::<Option<Vec<_>>>() else { return Ok(false) };
        out.extend(numbers);
        Ok(true)
    }

    fn scan_lists(
        file: &Arc<Self>,
        subject: Subject,
        vertices: Range<u32>,
        _until: Timestamp,
        _window: &Arc<SharedWindow>,
    ) -> Result<NaiveScan> {
        assert!(subject != Subject::VERTICES && !vertices.is_empty());
        let mut slices: Vec<OwnedSlice> = Vec::new();
        let mut rank = 0;
        for ((list, item), records) in file.records.iter().filter(|((list, _), _)| list.subject == subject) {
            if !vertices.contains(&list.vertex.0) {
                rank += records.len() as u64;
                continue;
            }
            let list = ListKey { subject, vertex: list.vertex };
            for record in records {
                let is_full = |last: &OwnedSlice| last.list != list || last.neighbors.len() == SLICE_RECORDS;
                if slices.last().is_none_or(is_full) {
                    slices.push(OwnedSlice {
                        list,
                        neighbors: Vec::new(),
                        discriminators: Vec::new(),
                        operations: Vec::new(),
                        stamps: Vec::new(),
                        first_rank: rank,
                    });
                }
                let slice = slices.last_mut().unwrap();
                slice.neighbors.push(item.neighbor().0);
                slice.discriminators.push(item.discriminator());
                slice.operations.push(record.operation);
                slice.stamps.push(record.stamp);
                rank += 1;
            }
        }
        // Absent, as in pages.
        for slice in &mut slices {
            if slice.discriminators.iter().all(|one| *one == 0) {
                slice.discriminators.clear();
            }
            if slice.operations.iter().all(|one| *one == Insert) {
                slice.operations.clear();
            }
        }
        Ok(NaiveScan { is_stamped: file.is_stamped, slices, at: 0 })
    }
}
