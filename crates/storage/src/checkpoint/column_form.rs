//! The binary form of a stored column, format version 1.
//!
//! ```text
//! OFFSET  SIZE   FIELD        (little-endian)
//!      0     1   value type   its code
//!      1     1   layout       bits 0-1: 0 integers, 1 floats, 2 byte strings with small ends, 3 with large
//!                             bit 2: some items have no value
//!      2     2   zero
//!      4     4   items
//!      8     8   bytes of all byte strings; zero in the other layouts
//!     16         present      u64 for every 64 items, lowest bit first; only if some have no value
//!                values       i64 or f64 an item
//!             or ends         u32 or u64 an item: where its bytes end; then the bytes
//! ```
//!
//! Which layout a type has is the column's affair (`packed_column`). A byte string holds a value's
//! payload (`value::binary`); in a column of type `any` with its code in front.
//!
//! Reading trusts nothing: once a column is read, asking it for an item cannot fail.

use crate::checkpoint::arrays::{put_array, take_array};
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::packed_column::{Ends, PackedColumn, PackedData, Packing};
use evergraph_graph::value::{Value, ValueType};
use std::ops::Range;

const INTEGERS: u8 = 0;
const FLOATS: u8 = 1;
const SMALL_ENDS: u8 = 2;
const LARGE_ENDS: u8 = 3;
const SOME_MISSING: u8 = 4;

/// Bytes before a column's items.
pub const HEAD_BYTES: usize = 16;

/// Appends the stable form of `column`.
///
/// # Panics
/// If it has 2^32 items or more: bodies count theirs in 32 bits.
pub fn put_column(out: &mut Vec<u8>, column: &PackedColumn) {
    let (layout, string_bytes) = match column.data() {
        PackedData::Integers(_) => (INTEGERS, 0),
        PackedData::Floats(_) => (FLOATS, 0),
        PackedData::Bytes { ends: Ends::Small(_), bytes } => (SMALL_ENDS, bytes.len() as u64),
        PackedData::Bytes { ends: Ends::Large(_), bytes } => (LARGE_ENDS, bytes.len() as u64),
    };
    let missing = if column.present().is_empty() { 0 } else { SOME_MISSING };
    let items = u32::try_from(column.len()).expect("bodies count items in 32 bits");
    out.extend_from_slice(&[column.value_type().code(), layout | missing, 0, 0]);
    out.extend_from_slice(&items.to_le_bytes());
    out.extend_from_slice(&string_bytes.to_le_bytes());
    put_array(out, column.present());
    match column.data() {
        PackedData::Integers(values) => put_array(out, values),
        PackedData::Floats(values) => put_array(out, values),
        PackedData::Bytes { ends, bytes } => {
            match ends {
                Ends::Small(ends) => put_array(out, ends),
                Ends::Large(ends) => put_array(out, ends),
            }
            out.extend_from_slice(bytes);
        }
    }
}

/// How many bytes the stored form takes that begins with `head`, whatever comes of the rest.
///
/// # Errors
/// If `head` is shorter than [`HEAD_BYTES`] or not the beginning of a column.
pub fn stored_bytes(head: &[u8]) -> Decoded<u64> {
    let mut reader = Reader::new(head);
    let start = reader.clone();
    let (_, layout, _) = (reader.u8()?, reader.u8()?, reader.u16()?);
    let (items, string_bytes) = (u64::from(reader.u32()?), reader.u64()?);
    let words = if layout & SOME_MISSING == 0 { 0 } else { items.div_ceil(64) };
    let each = match layout & !SOME_MISSING {
        SMALL_ENDS => 4,
        INTEGERS | FLOATS | LARGE_ENDS => 8,
        _ => return Err(start.error(format!("the layout of a column expected, found {layout}"))),
    };
    let fixed = HEAD_BYTES as u64 + words * 8 + items * each;
    fixed.checked_add(string_bytes).ok_or_else(|| start.error("a column that fits into a file expected"))
}

/// Reads a column with the number of items that `fits`.
///
/// Cost: copies of the arrays; a look at every integer that is narrower than 64 bits and at every
/// byte string.
///
/// # Errors
/// If the bytes are not the stable form of a column whose every item can be read.
pub fn take_column(reader: &mut Reader<'_>, fits: impl Fn(usize) -> bool) -> Decoded<PackedColumn> {
    let start = reader.clone();
    let code = reader.u8()?;
    let value_type = ValueType::from_code(code)
        .ok_or_else(|| start.error(format!("a value type expected, found {code}")))?;
    let layout = reader.u8()?;
    let zero = reader.u16()?;
    let length = reader.u32()? as usize;
    let string_bytes = reader.u64()?;
    let of_type = match Packing::of(value_type) {
        Packing::Integers => layout & !SOME_MISSING == INTEGERS,
        Packing::Floats => layout & !SOME_MISSING == FLOATS,
        Packing::Bytes => matches!(layout & !SOME_MISSING, SMALL_ENDS | LARGE_ENDS),
    };
    if !of_type || zero != 0 {
        return Err(start.error(format!("the layout of a column of {value_type} expected, found {layout}")));
    }
    if Packing::of(value_type) != Packing::Bytes && string_bytes != 0 {
        return Err(start.error(format!("no byte strings expected, found {string_bytes} bytes of them")));
    }
    if length == 0 || !fits(length) {
        return Err(start.error(format!("a column as long as its body expected, found {length} items")));
    }
    let words = if layout & SOME_MISSING == 0 { 0 } else { length.div_ceil(64) };
    let present = take_array::<u64>(reader, words)?;
    if !length.is_multiple_of(64) && present.last().is_some_and(|last| last >> (length % 64) != 0) {
        return Err(reader.error(format!("no value beyond item {length} expected")));
    }
    let values = reader.clone();
    let data = match layout & !SOME_MISSING {
        INTEGERS => PackedData::Integers(take_array(reader, length)?),
        FLOATS => PackedData::Floats(take_array(reader, length)?),
        packed => {
            let ends = match packed {
                SMALL_ENDS => Ends::Small(take_array(reader, length)?),
                _ => Ends::Large(take_array(reader, length)?),
            };
            let bytes = usize::try_from(string_bytes).unwrap_or(usize::MAX);
            PackedData::Bytes { ends, bytes: reader.take(bytes)?.into() }
        }
    };
    PackedColumn::from_parts(value_type, length, present, data).map_err(|problem| values.error(problem))
}

/// A column where it lies, of which some items are read.
struct ColumnParts<'a> {
    value_type: ValueType,
    layout: u8,
    items: usize,
    /// One bit an item; empty if all have a value.
    present: &'a [u8],
    /// Numbers, or ends of byte strings.
    array: &'a [u8],
    array_start: Reader<'a>,
    strings: &'a [u8],
}

impl<'a> ColumnParts<'a> {
    /// The column at the front of `bytes`. Its items are not looked at.
    fn at(bytes: &'a [u8]) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let start = reader.clone();
        let (code, layout) = (reader.u8()?, reader.u8()?);
        let value_type = ValueType::from_code(code)
            .ok_or_else(|| start.error(format!("a value type expected, found {code}")))?;
        reader.u16()?;
        let items = reader.u32()? as usize;
        let string_bytes = usize::try_from(reader.u64()?).unwrap_or(usize::MAX);
        let words = if layout & SOME_MISSING == 0 { 0 } else { items.div_ceil(64) };
        let present = reader.take(words.saturating_mul(8))?;
        let width = match layout & !SOME_MISSING {
            SMALL_ENDS => 4,
            INTEGERS | FLOATS | LARGE_ENDS => 8,
            _ => return Err(start.error(format!("the layout of a column expected, found {layout}"))),
        };
        let array_start = reader.clone();
        let array = reader.take(items.saturating_mul(width))?;
        let has_strings = matches!(layout & !SOME_MISSING, SMALL_ENDS | LARGE_ENDS);
        let strings = if has_strings { reader.take(string_bytes)? } else { &[] };
        Ok(Self { value_type, layout: layout & !SOME_MISSING, items, present, array, array_start, strings })
    }

    fn has(&self, at: usize) -> bool {
        self.present.is_empty() || self.present[at / 8] >> (at % 8) & 1 == 1
    }

    fn number(&self, at: usize) -> u64 {
        match self.layout {
            SMALL_ENDS => u32::from_le_bytes(self.array.as_chunks().0[at]).into(),
            _ => u64::from_le_bytes(self.array.as_chunks().0[at]),
        }
    }

    /// The items of `range`, which there are, as a column of their own.
    fn column(&self, range: Range<usize>) -> Decoded<PackedColumn> {
        let count = range.len();
        let mut present: Box<[u64]> = Box::default();
        if !self.present.is_empty() {
            present = (0..count.div_ceil(64)).map(|_| 0).collect();
            for (at, item) in range.clone().enumerate() {
                present[at / 64] |= u64::from(self.has(item)) << (at % 64);
            }
        }
        let data = match self.layout {
            INTEGERS => PackedData::Integers(range.map(|at| self.number(at) as i64).collect()),
            FLOATS => PackedData::Floats(range.map(|at| f64::from_bits(self.number(at))).collect()),
            _ => {
                let start = range.start.checked_sub(1).map_or(0, |before| self.number(before));
                let last = range.end.checked_sub(1).map_or(0, |last| self.number(last));
                let place = usize::try_from(start).ok().zip(usize::try_from(last).ok());
                let strings = place.and_then(|(from, to)| self.strings.get(from..to)).ok_or_else(|| {
                    let all = self.strings.len();
                    let text = format!("ends that ascend to {all} expected, found {last} after {start}");
                    self.array_start.error(text)
                })?;
                // Ends below the first one's start become large numbers, which are refused.
                let ends = range.map(|at| self.number(at).wrapping_sub(start));
                PackedData::Bytes { ends: Ends::Large(ends.collect()), bytes: strings.into() }
            }
        };
        let column = PackedColumn::from_parts(self.value_type, count, present, data);
        column.map_err(|problem| self.array_start.error(problem))
    }
}

/// Reads item `at` of the column at the front of `bytes`, and none of the others.
///
/// Cost: constant, and the item's value.
///
/// # Errors
/// If the bytes are not the beginning of a column, or the item is none that [`take_column`] would accept.
pub fn item_at(bytes: &[u8], at: usize) -> Decoded<Option<Value>> {
    let parts = ColumnParts::at(bytes)?;
    if at >= parts.items {
        let text = format!("a column with item {at} expected, found {} items", parts.items);
        return Err(Reader::new(bytes).error(text));
    }
    if !parts.has(at) {
        return Ok(None);
    }
    Ok(parts.column(at..at + 1)?.get(0))
}

/// Reads the items of `range` of the column at the front of `bytes`, and none of the others.
///
/// Cost: a copy of them; a look at every integer that is narrower than 64 bits and at every byte string.
///
/// # Errors
/// If the bytes are not the beginning of a column, or an item is none that [`take_column`] would accept.
pub fn items_at(bytes: &[u8], range: Range<usize>) -> Decoded<PackedColumn> {
    let parts = ColumnParts::at(bytes)?;
    if range.start > range.end || range.end > parts.items {
        let text = format!("a column with items {range:?} expected, found {} items", parts.items);
        return Err(Reader::new(bytes).error(text));
    }
    parts.column(range)
}

/// Where the values of the column at the front of `bytes` lie, if they are `f64` and every item has one. Cost: constant.
///
/// # Errors
/// If the bytes are not the beginning of a column.
pub fn plain_floats(bytes: &[u8]) -> Decoded<Option<&[u8]>> {
    let parts = ColumnParts::at(bytes)?;
    let is_plain = parts.layout == FLOATS
        && parts.present.is_empty()
        && Packing::of(parts.value_type) == Packing::Floats;
    Ok(is_plain.then_some(parts.array))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::packed_column::strategy::any_column;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_column_reads_back_and_no_cut_of_it_does(
            column in (1usize..150).prop_flat_map(any_column),
            cut in any::<proptest::sample::Index>(), other in any::<proptest::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            put_column(&mut bytes, &column);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(take_column(&mut reader, |_| true), Ok(column.clone()));
            prop_assert!(reader.is_empty());
            for at in 0..column.len() {
                prop_assert_eq!(item_at(&bytes, at), Ok(column.get(at)));
            }
            prop_assert!(item_at(&bytes, column.len()).is_err());
            let (from, to) = (cut.index(column.len() + 1), other.index(column.len() + 1));
            let range = from.min(to)..from.max(to);
            let some = items_at(&bytes, range.clone()).unwrap();
            prop_assert_eq!(some.len(), range.len());
            for (at, item) in range.enumerate() {
                prop_assert_eq!(some.get(at), column.get(item));
            }
            prop_assert!(items_at(&bytes, 0..column.len() + 1).is_err());
            let floats = plain_floats(&bytes).unwrap().map(|bytes| bytes.as_chunks().0);
            let floats = floats.map(|floats| floats.iter().map(|float| f64::from_le_bytes(*float)));
            prop_assert_eq!(floats.map(Vec::from_iter), column.floats().map(<[f64]>::to_vec));
            for cut in 0..bytes.len() {
                prop_assert!(take_column(&mut Reader::new(&bytes[..cut]), |_| true).is_err());
            }
            prop_assert!(take_column(&mut Reader::new(&bytes), |length| length != column.len()).is_err());
        }

        #[test]
        fn a_damaged_column_is_refused_or_can_be_read_through(
            column in (1usize..40).prop_flat_map(any_column),
            at in any::<proptest::sample::Index>(), to in any::<u8>(),
        ) {
            let mut bytes = Vec::new();
            put_column(&mut bytes, &column);
            let at = at.index(bytes.len());
            bytes[at] = to;
            (0..column.len()).for_each(|item| drop(item_at(&bytes, item)));
            let _ = (items_at(&bytes, 0..column.len()), plain_floats(&bytes));
            if let Ok(read) = take_column(&mut Reader::new(&bytes), |_| true) {
                for item in 0..read.len() {
                    prop_assert_eq!(item_at(&bytes, item), Ok(read.get(item)));
                }
            }
        }
    }

    #[test]
    fn an_integer_outside_its_type_is_refused() {
        let column = PackedColumn::from_values([Some(&Value::I8(0)), Some(&Value::I8(127))]);
        let mut bytes = Vec::new();
        put_column(&mut bytes, &column.expect("there are values"));
        let last = bytes.len() - 8;
        bytes[last..].copy_from_slice(&128i64.to_le_bytes());
        let error = take_column(&mut Reader::new(&bytes), |_| true).unwrap_err();
        assert!(error.expected.contains("item 1, found 128"), "{error}");
    }

    /// The fuzzer found it: what the form says is zero was not looked at.
    #[test]
    fn a_column_of_numbers_that_announces_byte_strings_is_refused() {
        let column = PackedColumn::from_values([Some(&Value::I8(0))]).expect("there is a value");
        let mut bytes = Vec::new();
        put_column(&mut bytes, &column);
        bytes[12] = 140;
        let error = take_column(&mut Reader::new(&bytes), |_| true).unwrap_err();
        assert!(error.expected.contains("no byte strings"), "{error}");
    }
}
