//! Packed columns: the values of one property for the items of a body or block, by position.
//!
//! ```text
//! present   one bit an item, absent if every item has a value
//! data      8 bytes an item         bool, i8 to i64, date: as i64; f32, f64: as f64
//!           or ends:u32 (u64) + bytes   every other type, in the value's stable payload form
//! ```
//!
//! A column learns its type from its first value; a second type turns it into `Any`, whose bytes
//! carry their type. So a column reads alone, without the catalogue.
//!
//! Who needs which column: [`crate::column::Column`] hands out values to be worked on; this one
//! keeps many of them small, in stored bodies and in what is loaded.
//!
//! Source: GART (ATC 2023) 5.3, one column store a property, aligned to the segment. Differs:
//! column families are a seam ([`PackedColumnBuilder`] is the only writer of the form).

#[cfg(any(test, feature = "strategy"))]
pub mod strategy;

use crate::bytes::{Decoded, Reader, put_bytes};
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
    fn range(&self, at: usize) -> Range<usize> {
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

fn as_integer(value: &Value) -> i64 {
    match value {
        Value::Bool(flag) => i64::from(*flag),
        Value::Date(date) => i64::from(date.days()),
        number => number.as_i64().expect("the packing of the type says that it is an integer"),
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
    /// The column of `values`, in their order; `None` if none of them is one.
    #[must_use]
    pub fn from_values<'a>(values: impl IntoIterator<Item = Option<&'a Value>>) -> Option<Self> {
        let mut builder = PackedColumnBuilder::default();
        values.into_iter().for_each(|value| builder.push(value));
        builder.finish()
    }

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

    /// One bit an item, lowest first: whether it has a value. Empty if all have.
    #[must_use]
    pub fn present(&self) -> &[u64] {
        &self.present
    }

    /// How the values lie.
    #[must_use]
    pub fn data(&self) -> &PackedData {
        &self.data
    }

    /// The type of all values; `Any` if they differ.
    #[must_use]
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Items, with and without a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether item `at` has a value; false beyond the end.
    #[must_use]
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
            PackedData::Integers(values) => Some(values[at] as f64),
            PackedData::Bytes { .. } => self.get(at)?.as_f64(),
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let data = match &self.data {
            PackedData::Integers(values) => values.len() * 8,
            PackedData::Floats(values) => values.len() * 8,
            PackedData::Bytes { ends: Ends::Small(ends), bytes } => ends.len() * 4 + bytes.len(),
            PackedData::Bytes { ends: Ends::Large(ends), bytes } => ends.len() * 8 + bytes.len(),
        };
        data + self.present.len() * 8
    }

    /// The items at `positions`, in that order; beyond the end they have no value. `None` if none of
    /// them has one.
    #[must_use]
    pub fn select(&self, positions: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut builder = PackedColumnBuilder::default();
        positions.into_iter().for_each(|at| builder.push_item(self, at));
        builder.finish()
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

/// Builds a column front to back. Cost: one pass; a change of type repacks what is there.
#[derive(Clone, Debug, Default)]
pub struct PackedColumnBuilder {
    value_type: Option<ValueType>,
    length: usize,
    missing: usize,
    present: Vec<u64>,
    integers: Vec<i64>,
    floats: Vec<f64>,
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl PackedColumnBuilder {
    fn mark(&mut self, has: bool) {
        if self.length.is_multiple_of(64) {
            self.present.push(0);
        }
        if has {
            *self.present.last_mut().expect("pushed when a word begins") |= 1 << (self.length % 64);
        } else {
            self.missing += 1;
        }
        self.length += 1;
    }

    /// Appends an item.
    pub fn push(&mut self, value: Option<&Value>) {
        let Some(value) = value else { return self.push_nothing() };
        let found = value.value_type();
        match self.value_type {
            None => self.become_type(found),
            Some(ValueType::Any) => {}
            Some(known) if known == found => {}
            Some(_) => self.repack(found),
        }
        let value_type = self.value_type.expect("set above");
        match Packing::of(value_type) {
            Packing::Integers => self.integers.push(as_integer(value)),
            Packing::Floats => self.floats.push(value.as_f64().expect("a float type")),
            Packing::Bytes => {
                if value_type == ValueType::Any {
                    value.encode(&mut self.bytes);
                } else {
                    value.encode_payload(&mut self.bytes);
                }
                self.ends.push(self.bytes.len() as u64);
            }
        }
        self.mark(true);
    }

    /// Appends a number of type `long`, faster than by a [`Value`].
    pub fn push_i64(&mut self, number: i64) {
        if self.value_type == Some(ValueType::I64) {
            self.integers.push(number);
            self.mark(true);
        } else {
            self.push(Some(&Value::I64(number)));
        }
    }

    /// Appends a number of type `double`, faster than by a [`Value`].
    pub fn push_f64(&mut self, number: f64) {
        if self.value_type == Some(ValueType::F64) {
            self.floats.push(number);
            self.mark(true);
        } else {
            self.push(Some(&Value::F64(number)));
        }
    }

    /// Appends a string, without an allocation of its own.
    pub fn push_text(&mut self, text: &str) {
        if self.value_type == Some(ValueType::String) {
            put_bytes(&mut self.bytes, text.as_bytes());
            self.ends.push(self.bytes.len() as u64);
            self.mark(true);
        } else {
            self.push(Some(&Value::from(text)));
        }
    }

    /// Appends item `at` of `column`, which has no value beyond its end. Values of a column of type
    /// `Any` count with their own types.
    pub fn push_item(&mut self, column: &PackedColumn, at: usize) {
        if !column.has(at) {
            return self.push_nothing();
        }
        if self.value_type != Some(column.value_type) || column.value_type == ValueType::Any {
            return self.push(column.get(at).as_ref());
        }
        match &column.data {
            PackedData::Integers(values) => self.integers.push(values[at]),
            PackedData::Floats(values) => self.floats.push(values[at]),
            PackedData::Bytes { ends, bytes } => {
                self.bytes.extend_from_slice(&bytes[ends.range(at)]);
                self.ends.push(self.bytes.len() as u64);
            }
        }
        self.mark(true);
    }

    /// Appends an item without a value.
    pub fn push_nothing(&mut self) {
        match self.value_type.map(Packing::of) {
            None => {}
            Some(Packing::Integers) => self.integers.push(0),
            Some(Packing::Floats) => self.floats.push(0.0),
            Some(Packing::Bytes) => self.ends.push(self.bytes.len() as u64),
        }
        self.mark(false);
    }

    /// Gives the items so far, all without a value, the layout of `value_type`.
    fn become_type(&mut self, value_type: ValueType) {
        self.value_type = Some(value_type);
        match Packing::of(value_type) {
            Packing::Integers => self.integers.resize(self.length, 0),
            Packing::Floats => self.floats.resize(self.length, 0.0),
            Packing::Bytes => self.ends.resize(self.length, 0),
        }
    }

    /// Makes room for a second type, `found`: `Any`, unless no item had a value yet.
    fn repack(&mut self, found: ValueType) {
        let length = self.length;
        match std::mem::take(self).finish() {
            None => {
                (0..length).for_each(|_| self.push_nothing());
                self.become_type(found);
            }
            Some(typed) => {
                self.value_type = Some(ValueType::Any);
                (0..length).for_each(|at| self.push(typed.get(at).as_ref()));
            }
        }
    }

    /// Appends items `range` of `column`; beyond its end, or where there is no column, they have no
    /// value.
    pub fn copy(&mut self, column: Option<&PackedColumn>, range: Range<usize>) {
        let Some(column) = column else { return range.for_each(|_| self.push_nothing()) };
        let inside = range.start.min(column.len())..range.end.min(column.len());
        if self.value_type.is_none() {
            self.become_type(column.value_type);
        }
        if self.value_type == Some(column.value_type) {
            match &column.data {
                PackedData::Integers(values) => self.integers.extend_from_slice(&values[inside.clone()]),
                PackedData::Floats(values) => self.floats.extend_from_slice(&values[inside.clone()]),
                PackedData::Bytes { ends, bytes } if !inside.is_empty() => {
                    let from = ends.range(inside.start).start;
                    let to = ends.range(inside.end - 1).end;
                    let base = self.bytes.len();
                    self.bytes.extend_from_slice(&bytes[from..to]);
                    self.ends.extend(inside.clone().map(|at| (ends.range(at).end - from + base) as u64));
                }
                PackedData::Bytes { .. } => {}
            }
            inside.for_each(|at| self.mark(column.has(at)));
        } else {
            inside.for_each(|at| self.push(column.get(at).as_ref()));
        }
        (range.start.max(column.len())..range.end).for_each(|_| self.push_nothing());
    }

    /// Items so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no item yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The column; `None` if no item has a value.
    #[must_use]
    pub fn finish(self) -> Option<PackedColumn> {
        if self.missing == self.length {
            return None;
        }
        let value_type = self.value_type.expect("an item has a value");
        let data = match Packing::of(value_type) {
            Packing::Integers => PackedData::Integers(self.integers.into()),
            Packing::Floats => PackedData::Floats(self.floats.into()),
            Packing::Bytes => {
                let ends = if u32::try_from(self.bytes.len()).is_ok() {
                    Ends::Small(self.ends.iter().map(|end| *end as u32).collect())
                } else {
                    Ends::Large(self.ends.into())
                };
                PackedData::Bytes { ends, bytes: self.bytes.into() }
            }
        };
        let present = if self.missing == 0 { Box::default() } else { self.present.into() };
        Some(PackedColumn { value_type, length: self.length, present, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = Option<Value>> {
        prop_oneof![
            2 => Just(None),
            4 => any::<i32>().prop_map(|n| Some(Value::I32(n))),
            1 => any::<bool>().prop_map(|n| Some(Value::Bool(n))),
            2 => (-1e9f64..1e9).prop_map(|n| Some(Value::F64(n))),
            2 => ".{0,6}".prop_map(|text| Some(Value::from(text))),
        ]
    }

    fn build(values: &[Option<Value>]) -> Option<PackedColumn> {
        let mut column = PackedColumnBuilder::default();
        values.iter().for_each(|value| column.push(value.as_ref()));
        column.finish()
    }

    fn read(column: &Option<PackedColumn>, length: usize) -> Vec<Option<Value>> {
        (0..length).map(|at| column.as_ref().and_then(|column| column.get(at))).collect()
    }

    proptest! {
        #[test]
        fn a_column_gives_back_what_was_pushed_and_copied(
            first in proptest::collection::vec(any_value(), 0..100),
            picked in proptest::collection::vec(0usize..120, 0..100),
            second in proptest::collection::vec(any_value(), 0..100),
            cut in 0usize..120, length in 0usize..120,
        ) {
            let column = build(&first);
            prop_assert_eq!(read(&column, first.len()), first.clone());
            let mut builder = PackedColumnBuilder::default();
            second.iter().for_each(|value| builder.push(value.as_ref()));
            let mut want = second.clone();
            if let Some(column) = &column {
                builder.copy(Some(column), cut..cut + length);
                want.extend((cut..cut + length).map(|at| first.get(at).cloned().flatten()));
            }
            second.iter().for_each(|value| builder.push(value.as_ref()));
            want.extend(second);
            prop_assert_eq!(builder.len(), want.len());
            let both = builder.finish();
            prop_assert_eq!(read(&both, want.len()), want.clone());
            if let Some(both) = &both {
                let again = PackedColumn::from_parts(
                    both.value_type(), both.len(), both.present().into(), both.data().clone(),
                );
                prop_assert_eq!(again.as_ref(), Ok(both));
                let selected = both.select(picked.iter().copied());
                let want: Vec<_> = picked.iter().map(|at| want.get(*at).cloned().flatten()).collect();
                prop_assert_eq!(read(&selected, picked.len()), want);
            }
        }
    }

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

    #[test]
    fn a_column_of_one_type_is_a_plain_array() {
        let column = build(&[Some(Value::F64(1.5)), Some(Value::F64(2.5))]).unwrap();
        assert_eq!(column.floats(), Some(&[1.5, 2.5][..]));
        assert_eq!(column.heap_bytes(), 16);
        let with_gap = build(&[Some(Value::I32(7)), None]).unwrap();
        assert_eq!((with_gap.number(0), with_gap.number(1), with_gap.number(2)), (Some(7.0), None, None));
        assert_eq!(with_gap.value_type(), ValueType::I32);
        assert_eq!(build(&[None, None]), None);
    }
}
