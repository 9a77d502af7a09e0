//! Gather: everything that verifies in the files and in the log, as records to be sorted; and the gaps between.

use crate::durable::salvage::columns::{LostValues, Position, SalvagedColumns};
use crate::durable::salvage::damaged_file::DamagedFile;
use crate::durable::salvage::gaps::{Age, Gap, Gaps};
use crate::durable::salvage::record::{RecordSide, SavedRecord, SavedValue, edge_keys, vertex_key};
use crate::format::file_head::FileStamps;
use crate::format::file_name::{FileContent, PageNumber};
use crate::format::lists::buffer::ListBuffer;
use crate::format::lists::page::ListPage;
use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::page::{PageBytes, PageHead, PageKind};
use crate::format::page_index::topology::{IndexedPage, TopologyIndex};
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::{VertexPage, VertexRecord};
use crate::spill::sorter::Sorter;
use crate::stored_file::{StoredFile, list_key};
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::loss::Damage;
use std::path::PathBuf;

/// What was found.
pub(super) struct Gathered<'a> {
    /// Records by item.
    pub records: Sorter<'a>,
    /// Keys that lie in damaged pages.
    pub gaps: Gaps,
    /// Properties that do.
    pub lost_values: Vec<LostValues>,
    /// Damage that hides nothing.
    pub harmless: Vec<Damage>,
}

impl Gathered<'_> {
    /// Adds what a commit of the log did.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn add_commit(
        &mut self,
        timestamp: Timestamp,
        mutations: &[Mutation],
    ) -> CheckpointResult<()> {
        use RecordOperation::{Delete, Insert, Replace, Set};
        for (number, mutation) in (0..).zip(mutations) {
            let of_edge = |edge: &EdgeId| {
                let [key, _] = edge_keys(edge);
                key
            };
            let none = &Properties::EMPTY;
            let (key, operation, properties) = match mutation {
                Mutation::Schema(_) | Mutation::LeaveIndex(_) | Mutation::Note(_) => continue,
                Mutation::InsertVertex { vertex, properties, .. } => {
                    (vertex_key(*vertex), Insert, properties)
                }
                Mutation::DeleteVertex { vertex } => (vertex_key(*vertex), Delete, none),
                Mutation::SetVertexProperties { vertex, properties } => {
                    (vertex_key(*vertex), Set, properties)
                }
                Mutation::InsertEdge { edge, properties } => (of_edge(edge), Insert, properties),
                Mutation::ReplaceEdge { edge, properties } => (of_edge(edge), Replace, properties),
                Mutation::DeleteEdge { edge } => (of_edge(edge), Delete, none),
                Mutation::SetEdgeProperties { edge, properties } => (of_edge(edge), Set, properties),
            };
            let saved = |value: &Option<_>| match value {
                Some(value) => SavedValue::Value(Clone::clone(value)),
                None => SavedValue::Removed,
            };
            let record = SavedRecord {
                age: Age::LOG,
                timestamp,
                side: RecordSide::Own,
                operation,
                properties: properties.as_slice().iter().map(|(key, value)| (*key, saved(value))).collect(),
            };
            self.records.push(|out| record.put(&key, number, out))?;
        }
        Ok(())
    }

    /// Adds what verifies of a file of this age.
    ///
    /// # Errors
    /// `NewerFormat`, what `go_on` says, and what the system says, unless it tells of damage.
    pub(super) fn add_file(
        &mut self,
        directory: &dyn Directory,
        stored: &StoredFile,
        age: Age,
        go_on: &mut dyn FnMut() -> CheckpointResult<()>,
    ) -> CheckpointResult<()> {
        let mut columns = SalvagedColumns::open(directory, stored)?;
        let mut file = DamagedFile::open(directory, stored, FileContent::Topology, &stored.topology)?;
        let mut walk = Walk { stored, age, index: None, last: None, open: None, gathered: self };
        if !file.is_there() {
            let damage = file.damage.pop();
            walk.gathered.harmless.append(&mut file.damage);
            if let Some(damage) = damage {
                walk.miss(damage, None);
            }
            walk.end();
            self.take_columns(columns);
            return Ok(());
        }
        if let Some(bytes) = file.index.take() {
            walk.index = TopologyIndex::decode(&bytes, file.pages).ok();
        }
        let mut buffer = ListBuffer::default();
        for page in (0..file.pages).map(PageNumber) {
            go_on()?;
            match file.page(page)? {
                Ok((head, bytes)) => match walk.page(&head, &bytes, &mut buffer, columns.as_mut()) {
                    Err(CheckpointError::Corrupt { problem, .. }) => {
                        walk.damaged_page(page, file.page_damage(page, problem));
                    }
                    taken => taken?,
                },
                Err(damage) => walk.damaged_page(page, damage),
            }
        }
        if !file.is_ended && walk.last.as_ref().is_none_or(|last| *last < stored.last_key) {
            let at = PageNumber(file.pages);
            let damage = Damage { length: 0, ..file.page_damage(at, "the file ends too early".to_owned()) };
            walk.miss(damage, None);
        }
        walk.end();
        self.harmless.append(&mut file.damage);
        self.take_columns(columns);
        Ok(())
    }

    fn take_columns(&mut self, columns: Option<SalvagedColumns>) {
        if let Some(mut columns) = columns {
            self.harmless.append(&mut columns.take_damage());
            self.lost_values.append(&mut columns.lost);
        }
    }
}

/// A walk through the pages of one file.
struct Walk<'w, 'a> {
    stored: &'w StoredFile,
    age: Age,
    index: Option<TopologyIndex>,
    /// The last key that was read.
    last: Option<Vec<u8>>,
    /// A gap whose end is not known yet.
    open: Option<Gap>,
    gathered: &'w mut Gathered<'a>,
}

impl Walk<'_, '_> {
    /// Takes a page whose checksum is right. `Corrupt` without a place if its content can't be read.
    fn page(
        &mut self,
        head: &PageHead,
        bytes: &PageBytes,
        buffer: &mut ListBuffer,
        columns: Option<&mut SalvagedColumns>,
    ) -> CheckpointResult<()> {
        let corrupt = |error: DecodeError| CheckpointError::Corrupt {
            file: PathBuf::new(),
            offset: error.offset as u64,
            problem: error.expected,
        };
        match head.kind {
            PageKind::Vertices => {
                let records = vertices(bytes, self.stored.first_ts).map_err(corrupt)?;
                self.add(Subject::VERTICES, head, &records, columns)?;
            }
            PageKind::Lists => {
                lists(bytes, self.stored.first_ts, buffer).map_err(corrupt)?;
                let records: Vec<ListRecord> = buffer.records().collect();
                self.add(head.subject, head, &records, columns)?;
            }
            // Indexes are built anew, filters too.
            PageKind::Entries | PageKind::Filter | PageKind::Column | PageKind::LongValues => {}
        }
        Ok(())
    }

    /// Adds the records of a page; those of vertices have no neighbour.
    fn add(
        &mut self,
        subject: Subject,
        head: &PageHead,
        records: &[ListRecord],
        columns: Option<&mut SalvagedColumns>,
    ) -> CheckpointResult<()> {
        let item = |record: &ListRecord| match subject {
            Subject::VERTICES => ItemKey::VERTEX,
            _ => ItemKey::edge(record.neighbor, record.discriminator),
        };
        let key = |record: &ListRecord| list_key(ListId { subject, vertex: record.vertex }, item(record));
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
        self.close_gap(key(first));
        self.last = Some(key(last));
        let is_stamped = self.stored.stamps == FileStamps::Stamped;
        let side = match subject.kind() {
            SubjectKind::Edges { edge_type, side } => Some((edge_type, side)),
            SubjectKind::Vertices | SubjectKind::Index(_) => None,
        };
        let mut values = vec![Vec::new(); records.len()];
        if let Some(columns) = columns.filter(|_| side.is_none_or(|(_, side)| side == EdgeSide::Out)) {
            let position = |(rank, record): (u64, &ListRecord)| match side {
                None => Position { at: record.vertex.0.into(), stamp: is_stamped.then_some(record.stamp) },
                Some(_) => Position { at: rank, stamp: None },
            };
            let positions: Vec<Position> = (head.rank..).zip(records).map(position).collect();
            columns.read(subject, &positions, &mut |record, value| values[record].push(value))?;
        }
        for (record, properties) in records.iter().zip(values) {
            let (item_key, side) = match side {
                None => (vertex_key(record.vertex), RecordSide::Own),
                Some((_, EdgeSide::Out)) => (key(record), RecordSide::Own),
                Some((edge_type, EdgeSide::In)) => {
                    let (source, target) = (record.neighbor, record.vertex);
                    let discriminator = record.discriminator;
                    let [key, _] = edge_keys(&EdgeId { source, edge_type, target, discriminator });
                    (key, RecordSide::InList)
                }
            };
            let saved = SavedRecord {
                age: self.age,
                timestamp: if is_stamped { record.stamp } else { self.stored.last_ts },
                side,
                operation: record.operation,
                properties,
            };
            self.gathered.records.push(|out| saved.put(&item_key, 0, out))?;
        }
        Ok(())
    }

    /// Begins a gap, or goes on with the one that is open.
    fn damaged_page(&mut self, page: PageNumber, damage: Damage) {
        let Some(index) = &self.index else { return self.miss(damage, None) };
        if index.filters().iter().any(|filter| filter.page == page) {
            self.gathered.harmless.push(damage);
            return;
        }
        let indexed = index.pages().iter().find(|indexed| indexed.page == page).copied();
        match indexed {
            Some(indexed) if indexed.kind == PageKind::Entries => self.gathered.harmless.push(damage),
            indexed => self.miss(damage, indexed),
        }
    }

    fn miss(&mut self, damage: Damage, indexed: Option<IndexedPage>) {
        let records = indexed.map(|indexed| u64::from(indexed.values));
        if let Some(gap) = &mut self.open {
            if damage.offset + damage.length > gap.damage.offset {
                gap.damage.length = damage.offset + damage.length - gap.damage.offset;
            }
            gap.records_max = gap.records_max.zip(records).map(|(before, more)| before + more);
            return;
        }
        let is_stamped = self.stored.stamps == FileStamps::Stamped;
        let after = |key: &Vec<u8>| if is_stamped { key.clone() } else { key_successor(key.clone()) };
        let from = self.last.as_ref().map_or_else(|| self.stored.first_key.clone(), after);
        let begins = indexed.map(|indexed| {
            let item = ItemKey::edge(indexed.first_neighbor(), 0);
            let item = if indexed.subject == Subject::VERTICES { ItemKey::VERTEX } else { item };
            list_key(ListId { subject: indexed.subject, vertex: indexed.first_vertex() }, item)
        });
        self.open = Some(Gap {
            from: begins.map_or(from.clone(), |begins| begins.max(from)),
            to: Vec::new(),
            damage,
            records_max: records,
            first_ts: self.stored.first_ts,
            stale: 0,
            missing: 0,
        });
    }

    /// Ends the open gap before a key that was read.
    fn close_gap(&mut self, next: Vec<u8>) {
        if let Some(mut gap) = self.open.take() {
            gap.to = if self.stored.stamps == FileStamps::Stamped { key_successor(next) } else { next };
            self.gathered.gaps.push(self.age, gap);
        }
    }

    /// Ends the open gap at the end of the file.
    fn end(&mut self) {
        if let Some(mut gap) = self.open.take() {
            gap.to = key_successor(self.stored.last_key.clone());
            self.gathered.gaps.push(self.age, gap);
        }
    }
}

/// The least key after `key`.
fn key_successor(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

fn vertices(bytes: &PageBytes, first_ts: Timestamp) -> Decoded<Vec<ListRecord>> {
    let page = VertexPage::open(bytes)?;
    page.check(first_ts)?;
    let mut records = Vec::new();
    page.decode_into(first_ts, &mut records)?;
    let of_vertex = |record: VertexRecord| ListRecord {
        vertex: record.vertex,
        neighbor: VertexId(0),
        discriminator: 0,
        operation: record.operation,
        stamp: record.stamp,
    };
    Ok(records.into_iter().map(of_vertex).collect())
}

fn lists(bytes: &PageBytes, first_ts: Timestamp, buffer: &mut ListBuffer) -> Decoded<()> {
    let page = ListPage::open(bytes)?;
    page.check(first_ts, buffer)?;
    page.decode_records(first_ts, buffer)
}
