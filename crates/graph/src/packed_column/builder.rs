//! Builder: values that come one after the other become a packed column.
//!
//! A column learns its type from its first value; a second type turns it into `Any`, whose bytes
//! carry their type.

use crate::bytes::put_bytes;
use crate::packed_column::column::{Ends, PackedColumn, PackedData, Packing};
use crate::value::{Value, ValueType};
use std::ops::Range;

/// Builds a column front to back. Cost: one pass; a change of type repacks the values so far.
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

    /// Marks `count` items that all have a value.
    fn mark_all(&mut self, mut count: usize) {
        while count > 0 {
            let at = self.length % 64;
            if at == 0 {
                self.present.push(0);
            }
            let some = count.min(64 - at);
            *self.present.last_mut().expect("pushed when a word begins") |= u64::MAX >> (64 - some) << at;
            self.length += some;
            count -= some;
        }
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
        if self.value_type != Some(column.value_type()) || column.value_type() == ValueType::Any {
            return self.push(column.get(at).as_ref());
        }
        match column.data() {
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
            self.become_type(column.value_type());
        }
        if self.value_type == Some(column.value_type()) {
            match column.data() {
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
            if column.present().is_empty() {
                self.mark_all(inside.len());
            } else {
                inside.for_each(|at| self.mark(column.has(at)));
            }
        } else {
            inside.for_each(|at| self.push(column.get(at).as_ref()));
        }
        (range.start.max(column.len())..range.end).for_each(|_| self.push_nothing());
    }

    /// Items so far.
    #[must_use]
    #[inline]
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
        Some(PackedColumn::of_sound_parts(value_type, self.length, present, data))
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

    /// The items at `positions`, in that order; beyond the end they have no value. `None` if none of
    /// them has one.
    #[must_use]
    pub fn select(&self, positions: impl Iterator<Item = usize> + Clone) -> Option<Self> {
        let whole = self.present().is_empty().then(|| self.select_numbers(positions.clone())).flatten();
        whole.or_else(|| {
            let mut builder = PackedColumnBuilder::default();
            positions.for_each(|at| builder.push_item(self, at));
            builder.finish()
        })
    }

    /// As [`PackedColumn::select`], of numbers that all have a value: none if they aren't, or if there are no positions.
    fn select_numbers(&self, positions: impl Iterator<Item = usize>) -> Option<Self> {
        let (length, data) = match self.data() {
            PackedData::Integers(values) => {
                let chosen: Box<[i64]> =
                    positions.map(|at| values.get(at).copied()).collect::<Option<_>>()?;
                (chosen.len(), PackedData::Integers(chosen))
            }
            PackedData::Floats(values) => {
                let chosen: Box<[f64]> =
                    positions.map(|at| values.get(at).copied()).collect::<Option<_>>()?;
                (chosen.len(), PackedData::Floats(chosen))
            }
            PackedData::Bytes { .. } => return None,
        };
        (length > 0).then(|| Self::of_sound_parts(self.value_type(), length, Box::default(), data))
    }
}

fn as_integer(value: &Value) -> i64 {
    match value {
        Value::Bool(flag) => i64::from(*flag),
        Value::Date(date) => i64::from(date.days()),
        number => number.as_i64().expect("the packing of the type says that it is an integer"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::date::Date;
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

    /// Two sequences: of anything, or of numbers of one type that are all there.
    fn any_pair() -> impl Strategy<Value = [Vec<Option<Value>>; 2]> {
        let pair = |one: BoxedStrategy<Option<Value>>| {
            proptest::array::uniform2(proptest::collection::vec(one, 0..200))
        };
        let whole = any::<i64>().prop_map(|n| Some(Value::I64(n))).boxed();
        let real = (-1e9f64..1e9).prop_map(|n| Some(Value::F64(n))).boxed();
        prop_oneof![pair(any_value().boxed()), pair(whole), pair(real)]
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
            [first, second] in any_pair(), picked in proptest::collection::vec(0usize..250, 0..100),
            cut in 0usize..220, length in 0usize..220,
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
    fn a_column_of_one_type_is_a_plain_array() {
        let column = build(&[Some(Value::F64(1.5)), Some(Value::F64(2.5))]).unwrap();
        assert_eq!(column.floats(), Some(&[1.5, 2.5][..]));
        assert_eq!(column.heap_bytes(), 16);
        let with_gap = build(&[Some(Value::I32(7)), None]).unwrap();
        assert_eq!((with_gap.number(0), with_gap.number(1), with_gap.number(2)), (Some(7.0), None, None));
        assert_eq!(with_gap.value_type(), ValueType::I32);
        for value in [
            Value::Bool(true),
            Value::Date(Date::from_days(7)),
            Value::I8(7),
            Value::F32(1.5),
            Value::from("7"),
        ] {
            let number = value.as_f64();
            assert_eq!(
                build(&[Some(value)]).unwrap().number(0),
                number,
                "packed or not, it is the same number or none"
            );
        }
        assert_eq!(build(&[None, None]), None);
    }
}
