//! Look-ups: vertices that an index names for the tests of a scan.
//!
//! `V().has('Person', 'name', 'Ada')` asks the index of (Person, name); `V().has('name', 'Ada')` that of each label which
//! has such a property, if all of them have an index. What comes is tested again: an index never decides alone.
//! Source: query.md, section 7, the first rule; G-Tran, section 6, where IS3 falls from 22.5 s to 2.2 ms by it.

use crate::execute::context::Context;
use crate::plan::operator::Test;
use crate::value::item::Item;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::value::{Value, ValueType};

/// Entries that are asked for at once.
const BATCH: usize = 4096;

/// The vertices of which the tests can hold, ascending; `None` where no index says so.
///
/// # Errors
/// What reading may meet; `limit`.
pub fn vertices(
    tests: &[Test],
    labels: Option<&[LabelId]>,
    cx: &mut Context<'_>,
) -> Result<Option<Vec<VertexId>>> {
    let catalogue = cx.catalogue();
    for test in tests {
        let Test::Property(name, predicate) = test else { continue };
        let Some(values) = predicate.only() else { continue };
        let Some(key) = catalogue.key(name) else { return Ok(Some(Vec::new())) };
        let Some(asked) = asked(&catalogue, labels, key, &values) else { continue };
        let mut found = Vec::new();
        for (label, values) in asked {
            let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
            while !cursor.done {
                cx.charge.check()?;
                matches.items.clear();
                matches.rows.clear();
                cx.view().look_up_vertices(label, key, &values, &mut cursor, BATCH, &mut matches)?;
                cx.charge.hold(matches.items.len() * size_of::<VertexId>())?;
                found.extend_from_slice(&matches.items);
            }
        }
        found.sort_unstable();
        found.dedup();
        return Ok(Some(found));
    }
    Ok(None)
}

/// The indexes that know of all vertices whose `key` is one of `values`, each with the values to ask it for.
fn asked(
    catalogue: &Catalogue,
    labels: Option<&[LabelId]>,
    key: KeyId,
    values: &[Item],
) -> Option<Vec<(LabelId, Vec<Value>)>> {
    let all: Vec<LabelId> = match labels {
        Some(labels) => labels.to_vec(),
        None => catalogue.labels().map(|(label, _)| label).collect(),
    };
    let having = all.into_iter().filter_map(|label| {
        catalogue.property_type(Owner::Label(label), key).map(|value_type| (label, value_type))
    });
    let with_index = |(label, value_type): (LabelId, ValueType)| {
        catalogue.indexes_on(Owner::Label(label), key).next()?;
        Some((label, fitting(values, value_type)?))
    };
    having.map(with_index).collect()
}

/// The values of `value_type` that equal one of `items`; `None` where that can't be told.
fn fitting(items: &[Item], value_type: ValueType) -> Option<Vec<Value>> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        let Item::Value(value) = item else { continue };
        match value_type {
            ValueType::Any | ValueType::BigInteger | ValueType::Decimal => return None,
            // Its elements are asked for, and the index has it as a whole.
            ValueType::List | ValueType::Set => return None,
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => {
                // A number with a fraction equals no whole one.
                let whole = value.as_i64().or_else(|| {
                    value
                        .as_f64()
                        .filter(|float| float.fract() == 0.0 && float.abs() < 9e18)
                        .map(|float| float as i64)
                });
                let fits = whole.and_then(|number| match value_type {
                    ValueType::I8 => i8::try_from(number).ok().map(Value::I8),
                    ValueType::I16 => i16::try_from(number).ok().map(Value::I16),
                    ValueType::I32 => i32::try_from(number).ok().map(Value::I32),
                    _ => Some(Value::I64(number)),
                });
                all.extend(fits);
            }
            ValueType::F32 => all.extend(value.as_f64().map(|float| Value::F32(float as f32))),
            ValueType::F64 => all.extend(value.as_f64().map(Value::F64)),
            ValueType::Char => return None,
            _ => all.push(value.clone()),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_looked_up_as_the_type_that_the_property_has() {
        let items = [Item::from(29_i64), Item::from(29.5), Item::from(3.0), Item::from("x"), Item::Null];
        assert_eq!(fitting(&items, ValueType::I32), Some(vec![Value::I32(29), Value::I32(3)]));
        let floats = [29.0, 29.5, 3.0].map(Value::F64);
        assert_eq!(fitting(&items, ValueType::F64), Some(floats.to_vec()));
        assert_eq!(fitting(&items, ValueType::Any), None);
        assert_eq!(fitting(&[Item::from(300)], ValueType::I8), Some(Vec::new()));
    }
}
