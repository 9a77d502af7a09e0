//! Properties: one property of many items, or all of one.
//!
//! ```text
//! edge      its records in the out list, the newest first ──> the column at their ranks, until one decides
//! vertex    without stamps: the column at the vertex; only where that is silent, the vertex's record
//!           with stamps: both, since a newer Delete, Insert or Replace hides what the column has
//! record    Insert, Replace    has the property if the column says so, else not
//!           Set                decides if the column has a record, else older records do
//!           Delete             has none
//! ```

use crate::cache::PageWorth;
use crate::file::csr_file::ColumnsFile;
use crate::file::file_records::FileRecords;
use crate::file::item_records::{ItemRecord, StampUse};
use crate::file::last_list::LastList;
use crate::file::page_reader::VerifiedPage;
use crate::file::page_rounds::visit_pages;
use crate::format::columns::page::{ColumnContent, ColumnPage};
use crate::format::file_head::FileStamps;
use crate::format::file_name::PageNumber;
use crate::format::long_values::{LongReference, LongValueReader};
use crate::format::operation::RecordOperation;
use crate::format::page::PageFlags;
use crate::format::page_index::columns::IndexedColumnPage;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::source::{PropertyAnswer, PropertyMap};
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Pages of a long value that are read side by side.
const LONG_PAGES: u64 = 64;

/// What a column has of one position: the value, or nothing where it was removed; and when that was written.
struct ColumnRecord {
    content: ColumnContent,
    /// Zero in a file without stamps, and for ranks.
    stamp: Timestamp,
}

/// What the visible records of a vertex say of its properties.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum VertexBase {
    /// There are none.
    Silent,
    /// Sets alone: what they do not name, older sources have.
    Older,
    /// All properties that it has were written at or after this stamp.
    Since(Timestamp),
    /// It does not exist.
    Deleted,
}

impl VertexBase {
    /// Goes on to an older record of the vertex.
    fn with(&mut self, record: ItemRecord) -> ControlFlow<()> {
        *self = match (*self, record.operation) {
            (Self::Silent, RecordOperation::Delete) => Self::Deleted,
            (_, RecordOperation::Set) => {
                *self = Self::Older;
                return ControlFlow::Continue(());
            }
            _ => Self::Since(record.stamp),
        };
        ControlFlow::Break(())
    }
}

/// An edge's record, which decides a property if the column has it, or in any case.
#[derive(Clone, Copy, Debug)]
struct EdgeCandidate {
    /// The item's place.
    place: usize,
    rank: u64,
    /// Whether older records are not asked.
    is_last: bool,
}

impl FileRecords<'_> {
    pub(super) fn property_of_one(
        &self,
        list: ListId,
        item: ItemKey,
        key: KeyId,
    ) -> CheckpointResult<PropertyAnswer> {
        if list.subject == Subject::VERTICES {
            return self.vertex_property(list.vertex, key);
        }
        let mut answer = PropertyAnswer::Undecided;
        if !self.may_have(list, item.neighbor())? {
            return Ok(answer);
        }
        self.visit_records(list, item, StampUse::VisibilityAlone, |record| {
            if record.operation == RecordOperation::Delete {
                answer = PropertyAnswer::Absent;
            } else if let Some(found) = self.column_record(list.subject, key, record.rank)? {
                answer = self.answer(found.content)?;
            } else if record.operation != RecordOperation::Set {
                answer = PropertyAnswer::Absent;
            }
            let is_decided = answer != PropertyAnswer::Undecided;
            Ok(if is_decided { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(answer)
    }

    fn vertex_property(&self, vertex: VertexId, key: KeyId) -> CheckpointResult<PropertyAnswer> {
        if !self.file.directory.has_list(ListId::vertex(vertex)) {
            return Ok(PropertyAnswer::Undecided);
        }
        let record = self.column_record(Subject::VERTICES, key, vertex.0.into())?;
        match record {
            Some(record) if !self.is_stamped() => self.answer(record.content),
            record => self.vertex_answer(self.vertex_base(vertex)?, record),
        }
    }

    /// What the records of a vertex and the newest visible one of a column come to.
    fn vertex_answer(
        &self,
        base: VertexBase,
        record: Option<ColumnRecord>,
    ) -> CheckpointResult<PropertyAnswer> {
        match (base, record) {
            (VertexBase::Deleted, _) => Ok(PropertyAnswer::Absent),
            (VertexBase::Since(base), Some(record)) if record.stamp >= base => self.answer(record.content),
            (VertexBase::Since(_), _) => Ok(PropertyAnswer::Absent),
            (VertexBase::Older, Some(record)) => self.answer(record.content),
            (VertexBase::Older | VertexBase::Silent, _) => Ok(PropertyAnswer::Undecided),
        }
    }

    fn vertex_base(&self, vertex: VertexId) -> CheckpointResult<VertexBase> {
        let mut base = VertexBase::Silent;
        let list = ListId::vertex(vertex);
        self.visit_records(list, ItemKey::VERTEX, self.vertex_stamps(), |record| Ok(base.with(record)))?;
        Ok(base)
    }

    fn vertex_stamps(&self) -> StampUse {
        if self.is_stamped() { StampUse::Needed } else { StampUse::VisibilityAlone }
    }

    fn is_stamped(&self) -> bool {
        self.file.stored().stamps == FileStamps::Stamped
    }

    pub(super) fn property_of_many(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        answers: &mut [PropertyAnswer],
    ) -> CheckpointResult<()> {
        let is_vertex = |place: &usize| items[*place].0.subject == Subject::VERTICES;
        let undecided: Vec<usize> =
            (0..items.len()).filter(|place| answers[*place] == PropertyAnswer::Undecided).collect();
        let (mut vertices, edges): (Vec<usize>, Vec<usize>) = undecided.into_iter().partition(is_vertex);
        vertices.retain(|place| self.file.directory.has_list(items[*place].0));
        if !vertices.is_empty() {
            self.vertex_properties(items, key, vertices, answers)?;
        }
        if edges.is_empty() {
            return Ok(());
        }
        let edges = self.passing(items, edges.into_iter())?;
        let candidates = self.edge_candidates(items, &edges, answers)?;
        self.edge_properties(items, key, &candidates, answers)
    }

    fn vertex_properties(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        vertices: Vec<usize>,
        answers: &mut [PropertyAnswer],
    ) -> CheckpointResult<()> {
        let vertex = |place: usize| items[place].0.vertex;
        let mut records: Vec<Option<ColumnRecord>> = Vec::new();
        records.resize_with(items.len(), || None);
        let positions = vertices.iter().map(|place| (*place, u64::from(vertex(*place).0)));
        self.visit_columns(Subject::VERTICES, key, positions, |place, record| {
            // Where the records of a vertex go on over pages, the newest is in the first one.
            records[place].get_or_insert(record);
            Ok(())
        })?;
        let mut silent = vertices;
        if !self.is_stamped() {
            for place in &silent {
                if let Some(record) = records[*place].take() {
                    answers[*place] = self.answer(record.content)?;
                }
            }
            silent.retain(|place| answers[*place] == PropertyAnswer::Undecided);
        }
        let (mut bases, mut last) =
            (vec![(VertexBase::Silent, ControlFlow::Continue(())); items.len()], LastList::default());
        let units = silent.iter().flat_map(|place| {
            let (list, item) = items[*place];
            self.pages_of_item(list, item).iter().map(|indexed| (*place, indexed.page))
        });
        let (reader, file) = (&self.file.reader, &self.file.topology);
        visit_pages(reader, file, PageWorth::Ordinary, units, |place: usize, number, page| {
            let (base, flow) = &mut bases[place];
            if flow.is_continue() {
                let stamp_use = self.vertex_stamps();
                *flow = self.visit_item(items[place], (number, page), stamp_use, &mut last, |record| {
                    Ok(base.with(record))
                })?;
            }
            Ok(())
        })?;
        for place in silent {
            answers[place] = self.vertex_answer(bases[place].0, records[place].take())?;
        }
        Ok(())
    }

    /// The records of the edges at `places` that may decide a property, those of one edge from the newest to the oldest.
    /// An edge that was deleted is decided.
    fn edge_candidates(
        &self,
        items: &[(ListId, ItemKey)],
        places: &[usize],
        answers: &mut [PropertyAnswer],
    ) -> CheckpointResult<Vec<EdgeCandidate>> {
        let (mut candidates, mut last): (Vec<EdgeCandidate>, _) = (Vec::new(), LastList::default());
        let units = places.iter().flat_map(|place| {
            let (list, item) = items[*place];
            self.pages_of_item(list, item).iter().map(|indexed| (*place, indexed.page))
        });
        let (reader, file) = (&self.file.reader, &self.file.topology);
        visit_pages(reader, file, PageWorth::Ordinary, units, |place: usize, number, page| {
            let before = candidates.last().filter(|before| before.place == place);
            if answers[place] != PropertyAnswer::Undecided || before.is_some_and(|before| before.is_last) {
                return Ok(());
            }
            let mut is_first = before.is_none();
            let stamp_use = StampUse::VisibilityAlone;
            let _ = self.visit_item(items[place], (number, page), stamp_use, &mut last, |record| {
                if is_first && record.operation == RecordOperation::Delete {
                    answers[place] = PropertyAnswer::Absent;
                    return Ok(ControlFlow::Break(()));
                }
                is_first = false;
                let is_last = record.operation != RecordOperation::Set;
                candidates.push(EdgeCandidate { place, rank: record.rank, is_last });
                Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            Ok(())
        })?;
        Ok(candidates)
    }

    fn edge_properties(
        &self,
        items: &[(ListId, ItemKey)],
        key: KeyId,
        candidates: &[EdgeCandidate],
        answers: &mut [PropertyAnswer],
    ) -> CheckpointResult<()> {
        let mut long_values = Vec::new();
        // Runs of one subject, since each subject has its own column.
        for run in candidates.chunk_by(|a, b| items[a.place].0.subject == items[b.place].0.subject) {
            let subject = items[run[0].place].0.subject;
            let mut found: Vec<Option<ColumnContent>> = vec![None; run.len()];
            let positions = run.iter().enumerate().map(|(number, candidate)| (number, candidate.rank));
            self.visit_columns(subject, key, positions, |number, record| {
                found[number].get_or_insert(record.content);
                Ok(())
            })?;
            for (candidate, content) in run.iter().zip(found) {
                let answer = &mut answers[candidate.place];
                if *answer != PropertyAnswer::Undecided
                    || long_values.last().is_some_and(|(place, _)| *place == candidate.place)
                {
                    continue;
                }
                match content {
                    Some(ColumnContent::Value(value)) => *answer = PropertyAnswer::Value(value),
                    Some(ColumnContent::Long(reference)) => long_values.push((candidate.place, reference)),
                    Some(ColumnContent::Removed) => *answer = PropertyAnswer::Absent,
                    None if candidate.is_last => *answer = PropertyAnswer::Absent,
                    None => {}
                }
            }
        }
        for (place, reference) in long_values {
            answers[place] = PropertyAnswer::Value(self.long_value(reference)?);
        }
        Ok(())
    }

    pub(super) fn all_properties(
        &self,
        list: ListId,
        item: ItemKey,
        map: &mut PropertyMap,
    ) -> CheckpointResult<()> {
        if list.subject == Subject::VERTICES {
            return self.all_of_vertex(list.vertex, map);
        }
        if !self.may_have(list, item.neighbor())? {
            return Ok(());
        }
        let mut ranks = Vec::new();
        self.visit_records(list, item, StampUse::VisibilityAlone, |record| {
            map.is_complete = record.operation != RecordOperation::Set;
            if record.operation != RecordOperation::Delete {
                ranks.push(record.rank);
            }
            Ok(if map.is_complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let units = ranks.iter().flat_map(|rank| self.keys_of(list.subject).map(move |key| (key, *rank)));
        for (key, record) in self.records_of_keys(list.subject, units.collect())? {
            map.add(key, self.value(record.content)?);
        }
        Ok(())
    }

    fn all_of_vertex(&self, vertex: VertexId, map: &mut PropertyMap) -> CheckpointResult<()> {
        let since = match self.vertex_base(vertex)? {
            VertexBase::Silent => return Ok(()),
            VertexBase::Deleted => {
                map.is_complete = true;
                return Ok(());
            }
            VertexBase::Older => Timestamp::ZERO,
            VertexBase::Since(stamp) => {
                map.is_complete = true;
                stamp
            }
        };
        let units = self.keys_of(Subject::VERTICES).map(|key| (key, u64::from(vertex.0)));
        for (key, record) in self.records_of_keys(Subject::VERTICES, units.collect())? {
            if record.stamp >= since {
                map.add(key, self.value(record.content)?);
            }
        }
        Ok(())
    }

    fn keys_of(&self, subject: Subject) -> impl Iterator<Item = KeyId> + '_ {
        self.file.columns.iter().flat_map(move |columns| columns.index.property_keys(subject))
    }

    /// The newest visible record of each (key, position) that has one, in the order of `units`.
    fn records_of_keys(
        &self,
        subject: Subject,
        units: Vec<(KeyId, u64)>,
    ) -> CheckpointResult<Vec<(KeyId, ColumnRecord)>> {
        let mut found: Vec<(KeyId, ColumnRecord)> = Vec::new();
        let Some(columns) = &self.file.columns else { return Ok(found) };
        let mut last = None;
        let pages = units.iter().enumerate().flat_map(|(number, (key, position))| {
            let pages = columns.index.pages_between(subject, *key, *position..=*position);
            pages.iter().map(move |indexed| ((number, *key, *position), indexed.page))
        });
        visit_pages(&self.file.reader, &columns.file, PageWorth::Ordinary, pages, |unit, number, page| {
            let (unit, key, position) = unit;
            if last == Some(unit) {
                return Ok(());
            }
            let record = self.record_in(columns, (subject, key), position, (number, page))?;
            if let Some(record) = record {
                last = Some(unit);
                found.push((key, record));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Visits the newest visible record of each of `positions` in each page that may have one.
    fn visit_columns(
        &self,
        subject: Subject,
        key: KeyId,
        positions: impl Iterator<Item = (usize, u64)>,
        mut visit: impl FnMut(usize, ColumnRecord) -> CheckpointResult<()>,
    ) -> CheckpointResult<()> {
        let Some(columns) = &self.file.columns else { return Ok(()) };
        let units = positions.flat_map(|(place, position)| {
            let pages = columns.index.pages_between(subject, key, position..=position);
            pages.iter().map(move |indexed| ((place, position), indexed.page))
        });
        visit_pages(&self.file.reader, &columns.file, PageWorth::Ordinary, units, |unit, number, page| {
            let (place, position) = unit;
            match self.record_in(columns, (subject, key), position, (number, page))? {
                Some(record) => visit(place, record),
                None => Ok(()),
            }
        })
    }

    /// The newest visible record of a position in a column.
    fn column_record(
        &self,
        subject: Subject,
        key: KeyId,
        position: u64,
    ) -> CheckpointResult<Option<ColumnRecord>> {
        let Some(columns) = &self.file.columns else { return Ok(None) };
        let pages: &[IndexedColumnPage] = columns.index.pages_between(subject, key, position..=position);
        for indexed in pages {
            let page = self.file.reader.page(&columns.file, indexed.page, PageWorth::Ordinary)?;
            let record = self.record_in(columns, (subject, key), position, (indexed.page, &page))?;
            if record.is_some() {
                return Ok(record);
            }
        }
        Ok(None)
    }

    fn record_in(
        &self,
        columns: &ColumnsFile,
        column: (Subject, KeyId),
        position: u64,
        (number, page): (PageNumber, &VerifiedPage),
    ) -> CheckpointResult<Option<ColumnRecord>> {
        let damaged = |error: DecodeError| columns.file.page_error(number, &error);
        let page = open_column(column, page).map_err(damaged)?;
        let records = page.find(position);
        if records.is_empty() {
            return Ok(None);
        }
        // Of a rank there is one record, and whoever looks for it knows that it is visible.
        let (mut at, mut stamp) = (records.start, Timestamp::ZERO);
        if column.0 == Subject::VERTICES && self.is_stamped() {
            let mut stamps = Vec::new();
            page.stamps_into(self.first_ts(), records, &mut stamps).map_err(damaged)?;
            let Some(newest) = stamps.iter().position(|stamp| self.visibility.sees(*stamp)) else {
                return Ok(None);
            };
            (at, stamp) = (at + newest, stamps[newest]);
        }
        let content = page.content(at).map_err(damaged)?;
        if let ColumnContent::Long(reference) = &content
            && reference.pages().end > u64::from(columns.file.pages())
        {
            let problem = format!("a long value among {} pages expected", columns.file.pages());
            return Err(columns.file.corrupt(number.offset(), format!("{problem}, found {reference:?}")));
        }
        Ok(Some(ColumnRecord { content, stamp }))
    }

    fn answer(&self, content: ColumnContent) -> CheckpointResult<PropertyAnswer> {
        Ok(match self.value(content)? {
            Some(value) => PropertyAnswer::Value(value),
            None => PropertyAnswer::Absent,
        })
    }

    fn value(&self, content: ColumnContent) -> CheckpointResult<Option<Value>> {
        match content {
            ColumnContent::Value(value) => Ok(Some(value)),
            ColumnContent::Long(reference) => self.long_value(reference).map(Some),
            ColumnContent::Removed => Ok(None),
        }
    }

    /// The value at `reference`, whose pages lie in the file.
    fn long_value(&self, reference: LongReference) -> CheckpointResult<Value> {
        let columns = self.file.columns.as_ref().expect("a column has the reference");
        let numbers = reference.pages();
        let mut value = LongValueReader::new(reference);
        let mut pages: Vec<Arc<VerifiedPage>> = Vec::new();
        let mut first = numbers.start;
        let allowed = self.file.reader.round(LONG_PAGES as usize);
        while first < numbers.end {
            let end = numbers.end.min(first + allowed.count() as u64);
            let round = (first..end).map(|page| PageNumber(page as u32));
            pages.clear();
            self.file.reader.pages(&columns.file, round.clone(), PageWorth::Ordinary, &mut pages)?;
            for (number, page) in round.zip(&pages) {
                let added = value.add(page.bytes());
                added.map_err(|error| columns.file.page_error(number, &error))?;
            }
            first = end;
        }
        value.finish().map_err(|error| {
            let start = reference.page.offset() + u64::from(reference.offset);
            columns.file.corrupt(start, error.expected)
        })
    }
}

/// A page, if it is of this column.
fn open_column((subject, key): (Subject, KeyId), page: &VerifiedPage) -> Decoded<ColumnPage<'_>> {
    let page = ColumnPage::open(page.bytes())?;
    let head = page.head();
    let is_ranked = subject != Subject::VERTICES;
    if (head.subject, head.property_key) == (subject, key) && head.flags.has(PageFlags::RANKS) == is_ranked {
        return Ok(page);
    }
    let expected = format!("a column of property {} of {subject} expected, found one of", key.0);
    let expected = format!("{expected} property {} of {}", head.property_key.0, head.subject);
    Err(DecodeError { offset: 8, expected })
}
