//! Columns: the properties of records whose pages verify, from a columns file of which some pages may not.

use crate::durable::salvage::damaged_file::DamagedFile;
use crate::durable::salvage::record::SavedValue;
use crate::format::columns::page::{ColumnContent, ColumnPage};
use crate::format::file_name::{FileContent, PAGE_BYTES, PageNumber};
use crate::format::long_values::{LongReference, LongValueReader};
use crate::format::page::{PageBytes, PageFlags, PageHead, PageKind};
use crate::format::page_index::columns::ColumnIndex;
use crate::format::subject::Subject;
use crate::stored_file::StoredFile;
use evergraph_graph::bytes::Decoded;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::loss::Damage;
use std::collections::BTreeMap;
use std::ops::Range;

/// A column page that verifies.
#[derive(Clone, Copy, Debug)]
struct SoundPage {
    subject: Subject,
    key: KeyId,
    /// The first position.
    first: u64,
    page: PageNumber,
}

/// Positions of a property whose values are damaged.
#[derive(Clone, Debug)]
pub(super) struct LostValues {
    /// What they are of; `None` for everything in the file.
    pub subject: Option<Subject>,
    /// The property; `None` for any.
    pub key: Option<KeyId>,
    /// Vertices, or ranks.
    positions: Range<u64>,
    /// Where they lay.
    pub damage: Damage,
    /// Records that may have had one of them.
    pub records: u64,
}

/// The properties of one file.
pub(super) struct SalvagedColumns {
    file: DamagedFile,
    first_ts: Timestamp,
    /// By subject, key and position.
    pages: Vec<SoundPage>,
    /// What is missing.
    pub lost: Vec<LostValues>,
    /// Of each key the page that was read last.
    open: BTreeMap<KeyId, (PageNumber, Box<PageBytes>)>,
}

impl SalvagedColumns {
    /// Opens the columns of `stored`, if it has any, and looks at all their pages.
    ///
    /// # Errors
    /// As [`DamagedFile::open`].
    pub(super) fn open(directory: &dyn Directory, stored: &StoredFile) -> CheckpointResult<Option<Self>> {
        let Some(part) = &stored.columns else { return Ok(None) };
        let file = DamagedFile::open(directory, stored, FileContent::Columns, part)?;
        let (first_ts, open) = (stored.first_ts, BTreeMap::new());
        let mut columns = Self { file, first_ts, pages: Vec::new(), lost: Vec::new(), open };
        columns.look()?;
        Ok(Some(columns))
    }

    fn look(&mut self) -> CheckpointResult<()> {
        if !self.file.is_there() {
            self.lost.extend(std::mem::take(&mut self.file.damage).into_iter().map(everything));
            return Ok(());
        }
        let index =
            self.file.index.take().and_then(|bytes| ColumnIndex::decode(&bytes, self.file.pages).ok());
        let mut damaged = Vec::new();
        for page in (0..self.file.pages).map(PageNumber) {
            let found = self.file.page(page)?;
            let found = found.and_then(|(head, bytes)| {
                let is_column = head.kind == PageKind::Column;
                let checked = if is_column { self.check(&bytes) } else { Ok(()) };
                checked.map_err(|error| self.file.page_damage(page, error.expected)).map(|()| head)
            });
            match found {
                Ok(head) if head.kind == PageKind::Column => {
                    let (subject, key) = (head.subject, head.property_key);
                    self.pages.push(SoundPage { subject, key, first: first_position(&head), page });
                }
                Ok(_) => {}
                Err(damage) => damaged.push((page, damage)),
            }
        }
        if index.is_none() && !self.file.is_ended {
            // What the file ends with may be missing: nobody knows of what.
            let at = u64::from(self.file.pages) * PAGE_BYTES as u64;
            self.file.note(at, 0, "the end of the file is missing");
        }
        for (page, damage) in damaged {
            match &index {
                Some(index) => self.lose_indexed(index, page, damage),
                None => self.lost.push(everything(damage)),
            }
        }
        let is_unknown = index.is_none();
        let damage = std::mem::take(&mut self.file.damage);
        let end_is_missing = |damage: &Damage| is_unknown && damage.length == 0;
        let (ends, notes): (Vec<_>, Vec<_>) = damage.into_iter().partition(end_is_missing);
        self.lost.extend(ends.into_iter().map(everything));
        self.file.damage = notes;
        self.pages.sort_by_key(|page| (page.subject, page.key, page.first, page.page));
        Ok(())
    }

    fn check(&self, bytes: &PageBytes) -> Decoded<()> {
        ColumnPage::open(bytes)?.check(self.first_ts)
    }

    /// A page that the index knows hides the positions up to the next one of its column; one of long values
    /// hides what references it.
    fn lose_indexed(&mut self, index: &ColumnIndex, page: PageNumber, damage: Damage) {
        let Some(at) = index.pages().iter().position(|indexed| indexed.page == page) else {
            self.file.damage.push(damage);
            return;
        };
        let lost = &index.pages()[at];
        let next = index.pages().get(at + 1);
        let of_column =
            next.filter(|next| (next.subject, next.property_key) == (lost.subject, lost.property_key));
        // One position may have records in both.
        let end = of_column.map_or(u64::MAX, |next| next.first.saturating_add(1));
        self.lost.push(LostValues {
            subject: Some(lost.subject),
            key: Some(lost.property_key),
            positions: lost.first..end,
            damage,
            records: 0,
        });
    }

    /// Damage by which no value is lost.
    pub(super) fn take_damage(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.file.damage)
    }

    /// The properties of records of `subject`, by where they stand. Calls `put` with a record's number and a
    /// value of it, or that it is lost.
    ///
    /// # Errors
    /// What the system says, unless it tells of damage.
    pub(super) fn read(
        &mut self,
        subject: Subject,
        records: &[Position],
        put: &mut dyn FnMut(usize, (KeyId, SavedValue)),
    ) -> CheckpointResult<()> {
        let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
        let positions = first.at..last.at + 1;
        self.lose(subject, records, put);
        let start = self.pages.partition_point(|page| page.subject < subject);
        let count = self.pages[start..].partition_point(|page| page.subject == subject);
        let mut of_subject = start..start + count;
        while let Some(key) =
            self.pages.get(of_subject.start).filter(|_| !of_subject.is_empty()).map(|page| page.key)
        {
            let left = &self.pages[of_subject.clone()];
            let column = of_subject.start..of_subject.start + left.partition_point(|page| page.key == key);
            of_subject.start = column.end;
            let pages = &self.pages[column.clone()];
            // A page may have records of its position that the one before began with.
            let from = pages.partition_point(|page| page.first < positions.start).saturating_sub(1);
            let to = pages.partition_point(|page| page.first < positions.end);
            for at in from.min(to)..to {
                let SoundPage { page, .. } = self.pages[column.start + at];
                self.read_page(key, page, records, put)?;
            }
        }
        Ok(())
    }

    fn lose(
        &mut self,
        subject: Subject,
        records: &[Position],
        put: &mut dyn FnMut(usize, (KeyId, SavedValue)),
    ) {
        for lost in &mut self.lost {
            if lost.subject.is_some_and(|of| of != subject) {
                continue;
            }
            let first = records.partition_point(|record| record.at < lost.positions.start);
            let end = records.partition_point(|record| record.at < lost.positions.end);
            for record in first..end.max(first) {
                lost.records += 1;
                put(record, lost.key.map_or((KeyId(0), SavedValue::AllLost), |key| (key, SavedValue::Lost)));
            }
        }
    }

    fn read_page(
        &mut self,
        key: KeyId,
        page: PageNumber,
        records: &[Position],
        put: &mut dyn FnMut(usize, (KeyId, SavedValue)),
    ) -> CheckpointResult<()> {
        if self.open.get(&key).is_none_or(|(open, _)| *open != page) {
            match self.file.page(page)? {
                Ok((_, bytes)) => drop(self.open.insert(key, (page, bytes))),
                // It verified a moment ago.
                Err(damage) => {
                    self.lost.push(everything(damage));
                    return Ok(());
                }
            }
        }
        let Some((page, bytes)) = self.open.remove(&key) else { return Ok(()) };
        let mut long = Vec::new();
        let read = || -> Decoded<()> {
            let column = ColumnPage::open(&bytes)?;
            let (mut found, mut stamps) = (Vec::new(), Vec::new());
            column.positions_into(&mut found)?;
            column.stamps_into(self.first_ts, 0..found.len(), &mut stamps)?;
            for (at, position) in found.iter().enumerate() {
                for record in records_at(records, *position, stamps.get(at).copied()) {
                    match column.content(at)? {
                        ColumnContent::Removed => put(record, (key, SavedValue::Removed)),
                        ColumnContent::Value(value) => put(record, (key, SavedValue::Value(value))),
                        ColumnContent::Long(reference) => long.push((record, reference)),
                    }
                }
            }
            Ok(())
        };
        // Its form was checked when it was found.
        let problem = { read }().err();
        self.open.insert(key, (page, bytes));
        if let Some(problem) = problem {
            self.lost.push(everything(self.file.page_damage(page, problem.expected)));
        }
        for (record, reference) in long {
            let value = match self.long_value(reference)? {
                Ok(value) => SavedValue::Value(value),
                Err(damage) => {
                    self.lose_long_value(key, damage);
                    SavedValue::Lost
                }
            };
            put(record, (key, value));
        }
        Ok(())
    }

    /// Counts a long value that is lost: one loss for each page and property.
    fn lose_long_value(&mut self, key: KeyId, damage: Damage) {
        let known = |lost: &&mut LostValues| lost.key == Some(key) && lost.damage.offset == damage.offset;
        match self.lost.iter_mut().find(known) {
            Some(lost) => lost.records += 1,
            None => self.lost.push(LostValues {
                subject: None,
                key: Some(key),
                positions: 0..0,
                damage,
                records: 1,
            }),
        }
    }

    fn long_value(
        &mut self,
        reference: LongReference,
    ) -> CheckpointResult<std::result::Result<Value, Damage>> {
        let mut reader = LongValueReader::new(reference);
        for number in reference.pages() {
            let page = PageNumber(u32::try_from(number).unwrap_or(u32::MAX));
            let (_, bytes) = match self.file.page(page)? {
                Ok(found) => found,
                Err(damage) => return Ok(Err(damage)),
            };
            if let Err(error) = reader.add(&bytes) {
                return Ok(Err(self.file.page_damage(page, error.expected)));
            }
        }
        Ok(reader.finish().map_err(|error| self.file.page_damage(reference.page, error.expected)))
    }
}

/// Where a record's values stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The vertex or the rank. Positions ascend.
    pub at: u64,
    /// Its stamp, if several records may stand at one position.
    pub stamp: Option<Timestamp>,
}

/// The numbers of the records at a position; with its stamp, if they have any.
fn records_at(
    records: &[Position],
    position: u64,
    stamp: Option<Timestamp>,
) -> impl Iterator<Item = usize> + '_ {
    let first = records.partition_point(|record| record.at < position);
    let all = records[first..].iter().take_while(move |record| record.at == position);
    let is_it = move |record: &Position| record.stamp.is_none() || stamp.is_none() || record.stamp == stamp;
    (first..).zip(all).filter(move |(_, record)| is_it(record)).map(|(number, _)| number)
}

fn first_position(head: &PageHead) -> u64 {
    if head.flags.has(PageFlags::RANKS) { head.rank } else { u64::from(head.first_vertex.0) }
}

/// Damage that may hide any value of the file.
fn everything(damage: Damage) -> LostValues {
    LostValues { subject: None, key: None, positions: 0..u64::MAX, damage, records: 0 }
}
