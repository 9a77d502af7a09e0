//! Stored columns: the values of one property for the items of one body, packed by position.
//!
//! ```text
//! present   one bit an item, absent if every item has a value
//! data      8 bytes an item              bool, i8 to i64, date: as i64; f32, f64: as f64
//!           or offsets:u32 (u64) + bytes every other type, in the value's stable payload form
//! ```
//!
//! A column learns its type from its first value; a second type turns it into `Any`, whose bytes
//! carry their type. So a column reads alone, without the catalogue.
//!
//! Source: GART (ATC 2023) 5.3, one column store a property, aligned to the segment. Differs:
//! column families are a seam (`BuildColumn` is the only writer of the form).

use evergraph_graph::bytes::Reader;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::{Value, ValueType};
use std::ops::Range;

/// The values of one property, by position.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredColumn {
    pub(crate) value_type: ValueType,
    pub(crate) length: usize,
    /// Bit set: the item has a value. Empty if all have.
    pub(crate) present: Box<[u64]>,
    pub(crate) data: Data,
}

/// How the values lie.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Data {
    Integers(Box<[i64]>),
    Floats(Box<[f64]>),
    Bytes { offsets: Offsets, bytes: Box<[u8]> },
}

/// Ends of byte strings: `ends[i - 1]..ends[i]` are the bytes of item `i`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Offsets {
    Small(Box<[u32]>),
    Large(Box<[u64]>),
}

impl Offsets {
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
}

/// How a type is packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Integers,
    Floats,
    Bytes,
}

pub(crate) fn packing(value_type: ValueType) -> Packing {
    match value_type {
        ValueType::Bool
        | ValueType::I8
        | ValueType::I16
        | ValueType::I32
        | ValueType::I64
        | ValueType::Date => Packing::Integers,
        ValueType::F32 | ValueType::F64 => Packing::Floats,
        _ => Packing::Bytes,
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

impl StoredColumn {
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
            Data::Integers(values) => from_integer(self.value_type, values[at]),
            Data::Floats(values) if self.value_type == ValueType::F32 => Value::F32(values[at] as f32),
            Data::Floats(values) => Value::F64(values[at]),
            Data::Bytes { offsets, bytes } => {
                let mut item = Reader::new(&bytes[offsets.range(at)]);
                let value = match self.value_type {
                    ValueType::Any => Value::decode(&mut item),
                    value_type => Value::decode_payload(value_type, &mut item),
                };
                value.expect("a column holds what `BuildColumn` encoded; stored ones are checked when read")
            }
        })
    }

    /// The plain array of numbers, if every item has one and they lie as `f64`.
    #[must_use]
    pub fn floats(&self) -> Option<&[f64]> {
        match &self.data {
            Data::Floats(values) if self.present.is_empty() => Some(values),
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
            Data::Floats(values) => Some(values[at]),
            Data::Integers(values) => Some(values[at] as f64),
            Data::Bytes { .. } => self.get(at)?.as_f64(),
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let data = match &self.data {
            Data::Integers(values) => values.len() * 8,
            Data::Floats(values) => values.len() * 8,
            Data::Bytes { offsets: Offsets::Small(ends), bytes } => ends.len() * 4 + bytes.len(),
            Data::Bytes { offsets: Offsets::Large(ends), bytes } => ends.len() * 8 + bytes.len(),
        };
        data + self.present.len() * 8
    }
}

/// Builds a column front to back. Cost: one pass; a change of type repacks what is there.
#[derive(Debug, Default)]
pub struct BuildColumn {
    value_type: Option<ValueType>,
    length: usize,
    missing: usize,
    present: Vec<u64>,
    integers: Vec<i64>,
    floats: Vec<f64>,
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl BuildColumn {
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
        match packing(value_type) {
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

    fn push_nothing(&mut self) {
        match self.value_type.map(packing) {
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
        match packing(value_type) {
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

    /// Appends items `range` of `column`; beyond its end they have no value.
    pub fn copy(&mut self, column: &StoredColumn, range: Range<usize>) {
        let inside = range.start.min(column.len())..range.end.min(column.len());
        if self.value_type.is_none() {
            self.become_type(column.value_type);
        }
        if self.value_type == Some(column.value_type) {
            match &column.data {
                Data::Integers(values) => self.integers.extend_from_slice(&values[inside.clone()]),
                Data::Floats(values) => self.floats.extend_from_slice(&values[inside.clone()]),
                Data::Bytes { offsets, bytes } if !inside.is_empty() => {
                    let from = offsets.range(inside.start).start;
                    let to = offsets.range(inside.end - 1).end;
                    let base = self.bytes.len();
                    self.bytes.extend_from_slice(&bytes[from..to]);
                    self.ends.extend(inside.clone().map(|at| (offsets.range(at).end - from + base) as u64));
                }
                Data::Bytes { .. } => {}
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
    pub fn finish(self) -> Option<StoredColumn> {
        if self.missing == self.length {
            return None;
        }
        let value_type = self.value_type.expect("an item has a value");
        let data = match packing(value_type) {
            Packing::Integers => Data::Integers(self.integers.into()),
            Packing::Floats => Data::Floats(self.floats.into()),
            Packing::Bytes => {
                let offsets = if u32::try_from(self.bytes.len()).is_ok() {
                    Offsets::Small(self.ends.iter().map(|end| *end as u32).collect())
                } else {
                    Offsets::Large(self.ends.into())
                };
                Data::Bytes { offsets, bytes: self.bytes.into() }
            }
        };
        let present = if self.missing == 0 { Box::default() } else { self.present.into() };
        Some(StoredColumn { value_type, length: self.length, present, data })
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

    fn build(values: &[Option<Value>]) -> Option<StoredColumn> {
        let mut column = BuildColumn::default();
        values.iter().for_each(|value| column.push(value.as_ref()));
        column.finish()
    }

    fn read(column: &Option<StoredColumn>, length: usize) -> Vec<Option<Value>> {
        (0..length).map(|at| column.as_ref().and_then(|column| column.get(at))).collect()
    }

    proptest! {
        #[test]
        fn a_column_gives_back_what_was_pushed_and_copied(
            first in proptest::collection::vec(any_value(), 0..100),
            second in proptest::collection::vec(any_value(), 0..100),
            cut in 0usize..120, length in 0usize..120,
        ) {
            let column = build(&first);
            prop_assert_eq!(read(&column, first.len()), first.clone());
            let mut builder = BuildColumn::default();
            second.iter().for_each(|value| builder.push(value.as_ref()));
            let mut want = second.clone();
            if let Some(column) = &column {
                builder.copy(column, cut..cut + length);
                want.extend((cut..cut + length).map(|at| first.get(at).cloned().flatten()));
            }
            second.iter().for_each(|value| builder.push(value.as_ref()));
            want.extend(second);
            prop_assert_eq!(builder.len(), want.len());
            let both = builder.finish();
            prop_assert_eq!(read(&both, want.len()), want);
        }
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
