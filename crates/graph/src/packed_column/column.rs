//! Column: the values of one property for the items of a body or block, by position.
//!
//! ```text
//! present   one bit an item, absent if every item has a value
//! data      8 bytes an item         bool, i8 to i64, date: as i64; f32, f64: as f64
//!           or ends:u32 (u64) + bytes   every other type, in the value's stable payload form
//! ```
//!
//! A column of values of several types is one of `Any`, whose bytes carry their type. So a column reads
//! alone, without the catalogue.
//!
//! Who needs which column: [`crate::column::Column`] hands out values to be worked on; this one
//! keeps many of them small, in stored bodies and in what is loaded.
//!
//! Source: GART (ATC 2023) 5.3, one column store a property, aligned to the segment. Differs:
//! column families are a seam (the builder beside is the only writer of the form).

use crate::bytes::{Decoded, Reader};
use crate::value::date::Date;
use crate::value::{Value, ValueType};
use std::ops::Range;

/// The values of one property, by position.
#[derive(Clone, PartialEq, Debug)]
pub struct PackedColumn {
    value_type: ValueType,
    length: usize,
    /// Bit set: the item has a value. Empty if all have.
    present: Box<[u64]>,
    data: PackedData,
}

/// How the values lie.
#[derive(Clone, PartialEq, Debug)]
pub enum PackedData {
    /// Whole numbers, truths and dates; zero where an item has no value.
    Integers(Box<[i64]>),
    /// Floating-point numbers; zero where an item has no value.
    Floats(Box<[f64]>),
    /// Payloads, one behind the other; none where an item has no value.
    Bytes {
        /// Where each ends.
        ends: Ends,
        /// All payloads.
        bytes: Box<[u8]>,
    },
}

/// Ends of byte strings: `ends[i - 1]..ends[i]` are the bytes of item `i`.
#[derive(Clone, PartialEq, Debug)]
pub enum Ends {
    /// Below 4 GiB of bytes.
    Small(Box<[u32]>),
    /// From 4 GiB on.
    Large(Box<[u64]>),
}

impl Ends {
    /// Where the bytes of item `at` lie.
    #[inline]
    pub(crate) fn range(&self, at: usize) -> Range<usize> {
        match self {
            Self::Small(ends) => {
                at.checked_sub(1).map_or(0, |before| ends[before] as usize)..ends[at] as usize
            }
            Self::Large(ends) => {
                at.checked_sub(1).map_or(0, |before| ends[before] as usize)..ends[at] as usize
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Small(ends) => ends.len(),
            Self::Large(ends) => ends.len(),
        }
    }
}

/// How a type is packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// As [`PackedData::Integers`].
    Integers,
    /// As [`PackedData::Floats`].
    Floats,
    /// As [`PackedData::Bytes`].
    Bytes,
}

impl Packing {
    /// How values of `value_type` are packed.
    #[must_use]
    #[inline]
    pub fn of(value_type: ValueType) -> Self {
        match value_type {
            ValueType::Bool
            | ValueType::I8
            | ValueType::I16
            | ValueType::I32
            | ValueType::I64
            | ValueType::Date => Self::Integers,
            ValueType::F32 | ValueType::F64 => Self::Floats,
            _ => Self::Bytes,
        }
    }
}

fn from_integer(value_type: ValueType, integer: i64) -> Value {
    match value_type {
        ValueType::Bool => Value::Bool(integer != 0),
        ValueType::I8 => Value::I8(integer as i8),
        ValueType::I16 => Value::I16(integer as i16),
        ValueType::I32 => Value::I32(integer as i32),
        ValueType::Date => Value::Date(Date::from_days(integer as i32)),
        _ => Value::I64(integer),
    }
}

impl PackedColumn {
    /// A column of parts that come from elsewhere, say from a file.
    ///
    /// Cost: a look at every integer that is narrower than 64 bits and at every byte string.
    ///
    /// # Errors
    /// What is wrong with the parts: a column that exists can be asked for each of its items.
    pub fn from_parts(
        value_type: ValueType,
        length: usize,
        present: Box<[u64]>,
        data: PackedData,
    ) -> Result<Self, String> {
        let column = Self { value_type, length, present, data };
        column.check()?;
        Ok(column)
    }

    /// A column of parts that are known to fit.
    pub(crate) fn of_sound_parts(
        value_type: ValueType,
        length: usize,
        present: Box<[u64]>,
        data: PackedData,
    ) -> Self {
        Self { value_type, length, present, data }
    }

    /// One bit an item, lowest first: whether it has a value. Empty if all have.
    #[must_use]
    #[inline]
    pub fn present(&self) -> &[u64] {
        &self.present
    }

    /// How the values lie.
    #[must_use]
    #[inline]
    pub fn data(&self) -> &PackedData {
        &self.data
    }

    /// The type of all values; `Any` if they differ.
    #[must_use]
    #[inline]
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Items, with and without a value.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no item.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether item `at` has a value; false beyond the end.
    #[must_use]
    #[inline]
    pub fn has(&self, at: usize) -> bool {
        at < self.length && (self.present.is_empty() || self.present[at / 64] >> (at % 64) & 1 == 1)
    }

    /// The value of item `at`; `None` beyond the end.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Value> {
        if !self.has(at) {
            return None;
        }
        Some(match &self.data {
            PackedData::Integers(values) => from_integer(self.value_type, values[at]),
            PackedData::Floats(values) if self.value_type == ValueType::F32 => Value::F32(values[at] as f32),
            PackedData::Floats(values) => Value::F64(values[at]),
            PackedData::Bytes { ends, bytes } => {
                let mut item = Reader::new(&bytes[ends.range(at)]);
                let value = match self.value_type {
                    ValueType::Any => Value::decode(&mut item),
                    value_type => Value::decode_payload(value_type, &mut item),
                };
                value.expect(
                    "a column holds what `PackedColumnBuilder` encoded; stored ones are checked when read",
                )
            }
        })
    }

    /// The plain array of numbers, if every item has one and they lie as `f64`.
    #[must_use]
    #[inline]
    pub fn floats(&self) -> Option<&[f64]> {
        match &self.data {
            PackedData::Floats(values) if self.present.is_empty() => Some(values),
            _ => None,
        }
    }

    /// Item `at` as a number, without making a `Value`.
    #[must_use]
    pub fn number(&self, at: usize) -> Option<f64> {
        if !self.has(at) {
            return None;
        }
        match &self.data {
            PackedData::Floats(values) => Some(values[at]),
            // As Value::as_f64 has it: a truth value and a day are no numbers, however they are packed.
            PackedData::Integers(_) if matches!(self.value_type, ValueType::Bool | ValueType::Date) => None,
            PackedData::Integers(values) => Some(values[at] as f64),
            PackedData::Bytes { .. } => self.get(at)?.as_f64(),
        }
    }

    /// Bytes on the heap.
    #[must_use]
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        let data = match &self.data {
            PackedData::Integers(values) => values.len() * 8,
            PackedData::Floats(values) => values.len() * 8,
            PackedData::Bytes { ends: Ends::Small(ends), bytes } => ends.len() * 4 + bytes.len(),
            PackedData::Bytes { ends: Ends::Large(ends), bytes } => ends.len() * 8 + bytes.len(),
        };
        data + self.present.len() * 8
    }

    fn check(&self) -> Result<(), String> {
        let (packing, items) = match &self.data {
            PackedData::Integers(values) => (Packing::Integers, values.len()),
            PackedData::Floats(values) => (Packing::Floats, values.len()),
            PackedData::Bytes { ends, .. } => (Packing::Bytes, ends.len()),
        };
        if (packing, items) != (Packing::of(self.value_type), self.length) {
            let (value_type, length) = (self.value_type, self.length);
            return Err(format!("{length} items of {value_type} expected, found {items} as {packing:?}"));
        }
        if !self.present.is_empty() {
            if self.present.len() != self.length.div_ceil(64) {
                let (words, length) = (self.present.len(), self.length);
                return Err(format!("a bit for each of {length} items expected, found {words} words"));
            }
            let tail = self.length % 64;
            if tail > 0 && self.present.last().is_some_and(|last| last >> tail != 0) {
                return Err(format!("no value beyond item {} expected", self.length));
            }
        }
        match &self.data {
            PackedData::Integers(values) => check_integers(self.value_type, values),
            PackedData::Floats(_) => Ok(()),
            PackedData::Bytes { ends, bytes } => self.check_strings(ends, bytes),
        }
    }

    fn check_strings(&self, ends: &Ends, bytes: &[u8]) -> Result<(), String> {
        let ends: &mut dyn Iterator<Item = u64> = match ends {
            Ends::Small(ends) => &mut ends.iter().map(|end| u64::from(*end)),
            Ends::Large(ends) => &mut ends.iter().copied(),
        };
        let all = bytes.len();
        let mut start = 0;
        for (item, end) in ends.enumerate() {
            if end < start || end > all as u64 {
                return Err(format!(
                    "ends that ascend to {all} expected, found {end} after {start} for item {item}"
                ));
            }
            let string = &bytes[start as usize..end as usize];
            if self.has(item) {
                check_value(self.value_type, string)
                    .map_err(|problem| format!("the value of item {item}: {problem}"))?;
            } else if !string.is_empty() {
                return Err(format!("no bytes expected for item {item}, which has no value"));
            }
            start = end;
        }
        if start != all as u64 {
            return Err(format!("ends that ascend to {all} expected, found {start} as the last"));
        }
        Ok(())
    }
}

fn check_integers(value_type: ValueType, values: &[i64]) -> Result<(), String> {
    let (least, most) = match value_type {
        ValueType::Bool => (0, 1),
        ValueType::I8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        ValueType::I16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        ValueType::I32 | ValueType::Date => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => return Ok(()),
    };
    match values.iter().position(|value| !(least..=most).contains(value)) {
        None => Ok(()),
        Some(item) => Err(format!(
            "a {value_type} from {least} to {most} expected for item {item}, found {}",
            values[item]
        )),
    }
}

/// Whether `string` is one value and nothing else. Text and bytes are not copied for it.
fn check_value(value_type: ValueType, string: &[u8]) -> Decoded<()> {
    let mut reader = Reader::new(string);
    match value_type {
        ValueType::Any => drop(Value::decode(&mut reader)?),
        ValueType::String => drop(reader.text()?),
        ValueType::Bytes => drop(reader.bytes()?),
        _ => drop(Value::decode_payload(value_type, &mut reader)?),
    }
    if reader.is_empty() {
        Ok(())
    } else {
        Err(reader.error(format!("{} bytes too many", reader.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_no_item_could_be_read_from_are_refused() {
        let refused = |value_type, length, present: &[u64], data| {
            PackedColumn::from_parts(value_type, length, present.into(), data).unwrap_err()
        };
        let integers = |values: &[i64]| PackedData::Integers(values.into());
        let text = refused(ValueType::I8, 2, &[], integers(&[0, 128]));
        assert_eq!(text, "a byte from -128 to 127 expected for item 1, found 128");
        let text = refused(ValueType::F64, 1, &[], integers(&[0]));
        assert_eq!(text, "1 items of double expected, found 1 as Integers");
        let text = refused(ValueType::I64, 3, &[], integers(&[0]));
        assert_eq!(text, "3 items of long expected, found 1 as Integers");
        let text = refused(ValueType::I64, 1, &[3], integers(&[0]));
        assert_eq!(text, "no value beyond item 1 expected");
        let text = refused(ValueType::I64, 1, &[1, 0], integers(&[0]));
        assert_eq!(text, "a bit for each of 1 items expected, found 2 words");
        let strings = |ends: &[u32], bytes: &[u8]| PackedData::Bytes {
            ends: Ends::Small(ends.into()),
            bytes: bytes.into(),
        };
        let text = refused(ValueType::String, 1, &[], strings(&[3], &[2, b'a', 0xff]));
        assert!(text.starts_with("the value of item 0: at byte"), "{text}");
        let text = refused(ValueType::String, 2, &[2], strings(&[2, 4], &[1, b'a', 1, b'b']));
        assert_eq!(text, "no bytes expected for item 0, which has no value");
        let text = refused(ValueType::String, 1, &[], strings(&[2], &[1, b'a', 0]));
        assert_eq!(text, "ends that ascend to 3 expected, found 2 as the last");
        let text = refused(ValueType::String, 1, &[], strings(&[9], &[1, b'a']));
        assert_eq!(text, "ends that ascend to 2 expected, found 9 after 0 for item 0");
    }
}
