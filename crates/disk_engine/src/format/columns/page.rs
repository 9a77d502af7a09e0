//! Column page: one record, or all records of a page of kind 3.

use crate::format::columns::builder::LONG_ENTRY_BYTES;
use crate::format::long_values::LongReference;
use crate::format::page::{PAGE_HEAD_BYTES, PageBytes, PageFlags, PageHead, PageKind};
use crate::format::positions::{FORM_FLAGS, Positions};
use crate::format::stamps::Stamps;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::column_form::{item_at, take_column};
use std::ops::Range;

const KNOWN_FLAGS: u8 =
    FORM_FLAGS | PageFlags::RANKS.0 | PageFlags::STAMPS.0 | PageFlags::LONG_VALUES.0 | PageFlags::COLUMN.0;

/// What a record of a column says.
#[derive(Clone, PartialEq, Debug)]
pub enum ColumnContent {
    /// The property has this value.
    Value(Value),
    /// The property has the value that lies there.
    Long(LongReference),
    /// The property was removed.
    Removed,
}

/// A page of a column where it lies.
#[derive(Clone, Debug)]
pub struct ColumnPage<'a> {
    head: PageHead,
    positions: Positions<'a>,
    stamps: Stamps<'a>,
    long_values: &'a [[u8; LONG_ENTRY_BYTES]],
    /// Empty: no record has a value in the page. Zeros follow the column.
    column: &'a [u8],
    column_offset: usize,
}

impl<'a> ColumnPage<'a> {
    /// Finds the arrays of `page`, whose checksum was verified.
    ///
    /// Cost: some 50 ns; in a file with stamps, a pass over them.
    ///
    /// # Errors
    /// If the page is of another kind, or its arrays don't fit into it.
    pub fn open(page: &'a PageBytes) -> Decoded<Self> {
        let (head, mut reader) = PageHead::open(page, PageKind::Column, KNOWN_FLAGS)?;
        if head.items != head.values {
            let expected = format!("{} records expected, found {}", head.items, head.values);
            return Err(DecodeError { offset: 6, expected });
        }
        let records = usize::from(head.items);
        let positions = Positions::take(&mut reader, head.flags, records)?;
        let stamps = match head.flags.has(PageFlags::STAMPS) {
            true => Stamps::take(&mut reader, records)?,
            false => Stamps::NONE,
        };
        let long_values = match head.flags.has(PageFlags::LONG_VALUES) {
            true => {
                let count = usize::from(reader.u16()?);
                reader.take(count * LONG_ENTRY_BYTES)?.as_chunks().0
            }
            false => &[],
        };
        let column_offset = reader.offset();
        let column = match head.flags.has(PageFlags::COLUMN) {
            true => reader.take(reader.remaining())?,
            false => &[],
        };
        Ok(Self { head, positions, stamps, long_values, column, column_offset })
    }

    /// The page's head.
    #[must_use]
    #[inline]
    pub fn head(&self) -> &PageHead {
        &self.head
    }

    /// The records of the vertex or rank `position`, by number: none, one, or several in a file with
    /// stamps.
    ///
    /// Cost: a binary search; where positions are bits, a pass over them.
    #[must_use]
    pub fn find(&self, position: u64) -> Range<usize> {
        match position.checked_sub(self.first()) {
            Some(distance) => self.positions.items_at(distance),
            None => 0..0,
        }
    }

    /// How many records are of vertices or ranks below `position`.
    ///
    /// Cost: as [`ColumnPage::find`].
    #[must_use]
    pub fn count_below(&self, position: u64) -> usize {
        position.checked_sub(self.first()).map_or(0, |distance| self.positions.count_below(distance))
    }

    /// What record `at` says.
    ///
    /// Cost: some 50 ns, whatever the length of the column.
    ///
    /// # Errors
    /// If there is no such record, or its value is not sound.
    pub fn content(&self, at: usize) -> Decoded<ColumnContent> {
        let record_of =
            |entry: &[u8; LONG_ENTRY_BYTES]| usize::from(u16::from_le_bytes([entry[0], entry[1]]));
        if at >= self.positions.len() {
            let expected = format!("a record below {} expected, found {at}", self.positions.len());
            return Err(DecodeError { offset: self.column_offset, expected });
        }
        if let Ok(found) = self.long_values.binary_search_by_key(&at, record_of) {
            let mut reader = Reader::new(&self.long_values[found][2..]);
            return LongReference::take(&mut reader).map(ColumnContent::Long);
        }
        if self.column.is_empty() {
            return Ok(ColumnContent::Removed);
        }
        let value = item_at(self.column, at).map_err(|error| self.in_column(error))?;
        Ok(value.map_or(ColumnContent::Removed, ColumnContent::Value))
    }

    /// The records' values, an item each; `None` if none has one in this page. Items without a value are
    /// long values or removals.
    ///
    /// Cost: a copy of the column, and a look at every value that could be unsound: some 2 ns a number.
    ///
    /// # Errors
    /// If the column is not sound, or doesn't have an item a record.
    pub fn column(&self) -> Decoded<Option<PackedColumn>> {
        if self.column.is_empty() {
            return Ok(None);
        }
        let mut reader = Reader::new(self.column);
        let column = take_column(&mut reader, |items| items == self.positions.len());
        column.map(Some).map_err(|error| self.in_column(error))
    }

    /// The records with long values, ascending, and where their values lie.
    pub fn long_values(&self) -> impl Iterator<Item = (usize, LongReference)> + '_ {
        self.long_values.iter().filter_map(|entry| {
            let mut reader = Reader::new(entry);
            let record = usize::from(reader.u16().ok()?);
            Some((record, LongReference::take(&mut reader).ok()?))
        })
    }

    /// Replaces the content of `out` by the vertex or rank of each record. Cost: about a nanosecond a
    /// record.
    ///
    /// # Errors
    /// If a rank is above 64 bits, or a vertex above 32.
    pub fn positions_into(&self, out: &mut Vec<u64>) -> Decoded<()> {
        out.clear();
        out.reserve(self.positions.len());
        let (first, mut highest) = (self.first(), 0);
        self.positions.for_each(|position| {
            highest = highest.max(position);
            out.push(first.wrapping_add(position.into()));
        });
        let limit = if self.head.flags.has(PageFlags::RANKS) { u64::MAX } else { u64::from(u32::MAX) };
        if first.checked_add(highest.into()).is_some_and(|last| last <= limit) {
            return Ok(());
        }
        out.clear();
        let expected = format!("positions of at most {limit} expected, found {first} + {highest}");
        Err(DecodeError { offset: PAGE_HEAD_BYTES, expected })
    }

    /// Replaces the content of `out` by the stamps of the records in `range`; by nothing in a file
    /// without stamps. `first_ts` is the file's first timestamp.
    ///
    /// # Errors
    /// If a stamp is not sound.
    pub fn stamps_into(
        &self,
        first_ts: Timestamp,
        range: Range<usize>,
        out: &mut Vec<Timestamp>,
    ) -> Decoded<()> {
        self.stamps.decode_into(first_ts, range.start, range.len(), out)
    }

    /// Whether the whole page is sound: its positions and long values ascend, all values can be read.
    ///
    /// Cost: as [`ColumnPage::column`].
    ///
    /// # Errors
    /// What is wrong first.
    pub fn check(&self, first_ts: Timestamp) -> Decoded<()> {
        let error = |expected: &str| {
            let offset = PAGE_HEAD_BYTES;
            Err(DecodeError { offset, expected: expected.to_owned() })
        };
        let (mut positions, mut stamps) = (Vec::new(), Vec::new());
        self.positions_into(&mut positions)?;
        self.stamps_into(first_ts, 0..positions.len(), &mut stamps)?;
        let follows = |at: usize| {
            let same = positions[at - 1] == positions[at];
            positions[at - 1] < positions[at] || (same && stamps.get(at - 1) > stamps.get(at))
        };
        if !(1..positions.len()).all(follows) {
            return error("records in order of position expected");
        }
        let column = self.column()?;
        let has_value = |record| column.as_ref().is_some_and(|column| column.has(record));
        let mut before = None;
        for (record, _) in self.long_values() {
            if record >= positions.len() || before.is_some_and(|before| before >= record) || has_value(record)
            {
                return error("long values of ascending records without another value expected");
            }
            before = Some(record);
        }
        Ok(())
    }

    /// What positions count from.
    #[inline]
    fn first(&self) -> u64 {
        if self.head.flags.has(PageFlags::RANKS) { self.head.rank } else { self.head.first_vertex.0.into() }
    }

    fn in_column(&self, mut error: DecodeError) -> DecodeError {
        error.offset += self.column_offset;
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::columns::builder::{ColumnBase, ColumnPageBuilder};
    use crate::format::file_name::PageNumber;
    use crate::format::long_values::PAYLOAD_BYTES_MAX;
    use crate::format::page::tests::{any_damage, any_seed, damaged, dirty_page};
    use crate::format::page::{Pushed, verify};
    use crate::format::subject::{EdgeSide, Subject};
    use evergraph_graph::id::{KeyId, TypeId};
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    const FIRST_TS: Timestamp = Timestamp(70);

    type Record = (u64, ColumnContent, Timestamp);

    #[derive(Clone, Debug)]
    struct Column {
        base: ColumnBase,
        first_ts: Option<Timestamp>,
        records: Vec<Record>,
    }

    fn any_content() -> impl Strategy<Value = ColumnContent> {
        let reference = (any::<u32>(), any::<u16>(), any::<u32>()).prop_map(|(page, offset, length)| {
            ColumnContent::Long(LongReference { page: PageNumber(page), offset, length })
        });
        let text = "[a-zå]{0,80}".prop_map(|text| ColumnContent::Value(Value::from(text)));
        let value = any_value().prop_filter("short", |value| !crate::format::long_values::is_long(value));
        prop_oneof![4 => value.prop_map(ColumnContent::Value), 4 => text, 1 => reference, 1 => Just(ColumnContent::Removed)]
    }

    fn any_contents() -> impl Strategy<Value = Vec<ColumnContent>> {
        let number = any::<i64>().prop_map(|number| ColumnContent::Value(Value::from(number)));
        prop_oneof![
            proptest::collection::vec(any_content(), 0..40),
            proptest::collection::vec(number, 0..40),
            proptest::collection::vec(Just(ColumnContent::Removed), 0..40),
        ]
    }

    fn any_column() -> impl Strategy<Value = Column> {
        let gaps = prop_oneof![Just(1u64..2), Just(0u64..3), Just(1u64..9000), Just(1u64..1 << 22)];
        let seeds = proptest::collection::vec(any::<u32>(), 7);
        (any_contents(), 1usize..90, gaps, seeds, any::<[bool; 2]>(), 0u64..1 << 31).prop_map(
            |(contents, repeat, gaps, seeds, [ranks, stamps], first)| {
                let (mut position, mut records) =
                    (if ranks { first << 9 } else { first }, Vec::<Record>::new());
                for at in 0..contents.len() * repeat {
                    let random = u64::from(seeds[at % 7].rotate_left(at as u32 % 32));
                    position += gaps.start + random % (gaps.end - gaps.start);
                    if !ranks && position > u64::from(u32::MAX) {
                        break;
                    }
                    let stamp = Timestamp(if stamps { FIRST_TS.0 + random % 1000 } else { 0 });
                    let follows = |last: &Record| last.0 < position || (last.0 == position && last.2 > stamp);
                    if records.last().is_none_or(follows) {
                        records.push((position, contents[at % contents.len()].clone(), stamp));
                    }
                }
                let base = if ranks { ColumnBase::Ranks } else { ColumnBase::Vertices };
                Column { base, first_ts: stamps.then_some(FIRST_TS), records }
            },
        )
    }

    fn push(builder: &mut ColumnPageBuilder, (position, content, stamp): &Record) -> Pushed {
        match content {
            ColumnContent::Value(value) => builder.push(*position, Some(value), *stamp),
            ColumnContent::Long(reference) => builder.push_long(*position, *reference, *stamp),
            ColumnContent::Removed => builder.push(*position, None, *stamp),
        }
    }

    fn pages_of(column: &Column) -> Vec<(PageHead, Box<PageBytes>)> {
        let subject = Subject::edges(TypeId(1), EdgeSide::Out);
        let mut builder = ColumnPageBuilder::new(subject, KeyId(9), column.base, column.first_ts);
        let mut pages = Vec::new();
        let mut finish = |builder: &mut ColumnPageBuilder| {
            let mut page = dirty_page();
            pages.push((builder.finish(&mut page), page));
        };
        for record in &column.records {
            if push(&mut builder, record) == Pushed::PageFull {
                finish(&mut builder);
                assert_eq!(push(&mut builder, record), Pushed::Taken);
            }
        }
        finish(&mut builder);
        pages
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn records_read_back_from_their_pages(column in any_column()) {
            let mut rest = &column.records[..];
            for (head, bytes) in pages_of(&column) {
                let page = ColumnPage::open(&bytes).unwrap();
                prop_assert_eq!((page.head(), head.property_key), (&head, KeyId(9)));
                page.check(FIRST_TS).unwrap();
                let (mut positions, mut stamps) = (Vec::new(), Vec::new());
                page.positions_into(&mut positions).unwrap();
                page.stamps_into(FIRST_TS, 0..positions.len(), &mut stamps).unwrap();
                let (own, behind) = rest.split_at(positions.len());
                let values = page.column().unwrap();
                let long: Vec<_> = page.long_values().collect();
                for (at, (position, content, stamp)) in own.iter().enumerate() {
                    prop_assert_eq!(positions[at], *position);
                    prop_assert_eq!(stamps.get(at).copied().unwrap_or_default(), *stamp);
                    prop_assert_eq!(&page.content(at).unwrap(), content);
                    prop_assert!(page.find(*position).contains(&at));
                    prop_assert_eq!(page.count_below(*position), page.find(*position).start);
                    let value = values.as_ref().and_then(|values| values.get(at));
                    prop_assert_eq!(value, match content { ColumnContent::Value(value) => Some(value.clone()), _ => None });
                    let reference = long.iter().find(|(record, _)| *record == at).map(|(_, reference)| *reference);
                    prop_assert_eq!(reference, match content { ColumnContent::Long(reference) => Some(*reference), _ => None });
                }
                prop_assert!(page.content(own.len()).is_err());
                rest = behind;
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn a_damaged_page_with_a_right_checksum_is_refused_or_can_be_read(
            column in any_column(), damage in any_damage(), probe in any::<u64>(),
        ) {
            let bytes = damaged(&pages_of(&column)[0].1, &damage);
            if verify(&bytes, any_seed()).is_err() {
                return Ok(());
            }
            let Ok(page) = ColumnPage::open(&bytes) else { return Ok(()) };
            let records = usize::from(page.head().items);
            (0..records.min(400)).for_each(|at| drop(page.content(at)));
            if let Ok(Some(values)) = page.column() {
                (0..values.len()).for_each(|at| drop(values.get(at)));
            }
            let mut positions = Vec::new();
            drop(page.positions_into(&mut positions));
            for probe in column.records.iter().take(40).map(|record| record.0).chain([probe]) {
                let range = page.find(probe);
                prop_assert!(range.start <= range.end && range.end <= records);
                drop(page.stamps_into(FIRST_TS, range, &mut Vec::new()));
            }
            drop(page.check(FIRST_TS));
            page.long_values().for_each(drop);
        }
    }

    #[test]
    fn a_column_of_numbers_fills_its_page() {
        let records =
            (0..3000).map(|at| (at * 2, ColumnContent::Value(Value::from(at as i64)), Timestamp::ZERO));
        let column = Column { base: ColumnBase::Ranks, first_ts: None, records: records.collect() };
        let pages = pages_of(&column);
        assert_eq!(pages.len(), 2);
        // A quarter of a byte for a position that is a bit, and 8 for the number.
        assert_eq!(pages[0].0.values, 1979);
        let unused = pages[0].1.iter().rev().take_while(|byte| **byte == 0).count();
        assert!(unused < 20, "{unused}");
    }

    #[test]
    fn a_page_has_room_for_seven_of_the_longest_values() {
        let text = "a".repeat(PAYLOAD_BYTES_MAX - 2);
        let records = (0..9).map(|at| (at, ColumnContent::Value(Value::from(&*text)), Timestamp::ZERO));
        let pages =
            pages_of(&Column { base: ColumnBase::Vertices, first_ts: None, records: records.collect() });
        assert_eq!(pages.iter().map(|(head, _)| head.values).collect::<Vec<_>>(), [7, 2]);
    }
}
