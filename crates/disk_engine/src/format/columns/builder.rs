//! Column page builder: records in order of position become pages of kind 3.

use crate::format::columns::column_size::{ColumnSize, payload_bytes};
use crate::format::long_values::{LongReference, PAYLOAD_BYTES_MAX};
use crate::format::page::{PAGE_BODY_BYTES, PageBytes, PageFlags, PageHead, PageKind, Pushed};
use crate::format::positions::PositionsBuilder;
use crate::format::stamps::StampsBuilder;
use crate::format::subject::Subject;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::checkpoint::column_form::put_column;

/// Bytes of a long value's entry in a page: its record and its reference.
pub(super) const LONG_ENTRY_BYTES: usize = 2 + LongReference::BYTES;

/// What the positions of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnBase {
    /// Vertices.
    Vertices,
    /// Ranks: numbers of values among those of (file, subject).
    Ranks,
}

impl PageFlags {
    /// Kind 3: positions are ranks.
    pub const RANKS: Self = Self(2);
    /// Kind 3: some values are long.
    pub const LONG_VALUES: Self = Self(4);
    /// Kind 3: some records have a value in the page.
    pub const COLUMN: Self = Self(64);
}

/// Builds pages of one column, one after the other.
#[derive(Clone, Debug)]
pub struct ColumnPageBuilder {
    subject: Subject,
    property_key: KeyId,
    base: ColumnBase,
    positions: PositionsBuilder,
    stamps: StampsBuilder,
    long_values: Vec<(u16, LongReference)>,
    column: PackedColumnBuilder,
    size: ColumnSize,
    /// Position and stamp of the record pushed last, in this page or the one before.
    last: Option<(u64, Timestamp)>,
    body: Vec<u8>,
}

impl ColumnPageBuilder {
    /// Builds pages of property `property_key` of `subject`. In a file with stamps `first_ts` is the
    /// timestamp of its oldest record; `None` in others.
    #[must_use]
    pub fn new(subject: Subject, property_key: KeyId, base: ColumnBase, first_ts: Option<Timestamp>) -> Self {
        Self {
            subject,
            property_key,
            base,
            positions: PositionsBuilder::default(),
            stamps: StampsBuilder::new(first_ts),
            long_values: Vec::new(),
            column: PackedColumnBuilder::default(),
            size: ColumnSize::default(),
            last: None,
            body: Vec::new(),
        }
    }

    /// Whether the page has no record yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The position of the page's first record, for the file's index; 0 while the page is empty.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.positions.first()
    }

    /// Adds a record, if it fits: `value` is the new value of the vertex or edge at `position`, `None`
    /// removes it. In a file without stamps `stamp` is not used.
    ///
    /// Cost: some 20 ns, and a copy of the value.
    ///
    /// # Panics
    /// If the value is long (see `long_values`), or the record doesn't follow the last one: its position
    /// is greater, or the same and its stamp older.
    pub fn push(&mut self, position: u64, value: Option<&Value>, stamp: Timestamp) -> Pushed {
        let form = value.map(|value| (value.value_type(), payload_bytes(value)));
        assert!(
            form.is_none_or(|(_, bytes)| bytes <= PAYLOAD_BYTES_MAX),
            "long values stand in pages of their own"
        );
        if !self.fits(position, form, None, stamp) {
            return Pushed::PageFull;
        }
        self.add(position, form, stamp);
        self.column.push(value);
        Pushed::Taken
    }

    /// Adds the record of a long value, if it fits. As [`ColumnPageBuilder::push`] otherwise.
    ///
    /// # Panics
    /// If the record doesn't follow the last one.
    pub fn push_long(&mut self, position: u64, reference: LongReference, stamp: Timestamp) -> Pushed {
        if !self.fits(position, None, Some(reference), stamp) {
            return Pushed::PageFull;
        }
        self.long_values.push((self.positions.len() as u16, reference));
        self.add(position, None, stamp);
        self.column.push_nothing();
        Pushed::Taken
    }

    fn fits(
        &self,
        position: u64,
        value: Option<(ValueType, usize)>,
        long: Option<LongReference>,
        stamp: Timestamp,
    ) -> bool {
        let next = (position, stamp);
        let follows = |last: (u64, Timestamp)| last.0 < position || (last.0 == position && last.1 > stamp);
        assert!(self.last.is_none_or(follows), "records come in order: {:?}, {next:?}", self.last);
        let Some(positions) = self.positions.bytes_with(position) else { return false };
        let longs = self.long_values.len() + usize::from(long.is_some());
        let longs = if longs == 0 { 0 } else { 2 + LONG_ENTRY_BYTES * longs };
        let bytes = positions + self.stamps.bytes_with(stamp) + longs + self.size.with(value).bytes();
        bytes <= PAGE_BODY_BYTES && self.positions.len() < usize::from(u16::MAX)
    }

    fn add(&mut self, position: u64, value: Option<(ValueType, usize)>, stamp: Timestamp) {
        self.positions.push(position);
        self.stamps.push(stamp);
        self.size = self.size.with(value);
        self.last = Some((position, stamp));
    }

    /// Writes the page, all but its checksum, and begins the next one. Cost: some 10 us.
    pub fn finish(&mut self, page: &mut PageBytes) -> PageHead {
        self.body.clear();
        let flags = self.positions.put(&mut self.body);
        let has_stamps = self.stamps.put(&mut self.body);
        if !self.long_values.is_empty() {
            self.body.extend_from_slice(&(self.long_values.len() as u16).to_le_bytes());
            for (record, reference) in &self.long_values {
                self.body.extend_from_slice(&record.to_le_bytes());
                reference.put(&mut self.body);
            }
        }
        let column = std::mem::take(&mut self.column).finish();
        if let Some(column) = &column {
            put_column(&mut self.body, column);
        }
        let flags = flags
            .with(PageFlags::RANKS, self.base == ColumnBase::Ranks)
            .with(PageFlags::STAMPS, has_stamps)
            .with(PageFlags::LONG_VALUES, !self.long_values.is_empty())
            .with(PageFlags::COLUMN, column.is_some());
        let (first_vertex, rank) = match self.base {
            ColumnBase::Vertices => (VertexId(self.positions.first() as u32), 0),
            ColumnBase::Ranks => (VertexId(0), self.positions.first()),
        };
        let records = self.positions.len() as u16;
        let property_key = self.property_key;
        let head = PageHead {
            flags,
            items: records,
            values: records,
            first_vertex,
            property_key,
            rank,
            ..PageHead::new(PageKind::Column, self.subject)
        };
        head.write_with_body(&self.body, page);
        self.positions.clear();
        self.stamps.clear();
        self.long_values.clear();
        self.size = ColumnSize::default();
        head
    }
}
