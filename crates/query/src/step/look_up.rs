//! Look-ups: vertices and edges that an index returns for the filters of a scan.
//!
//! `V().has('Person', 'name', 'Ada')` asks the index of (Person, name); `V().has('name', 'Ada')` that of each label which
//! has such a property, if all of them have an index. Edge types are to `E()` what labels are to `V()`. `has('age', gt(30))` and `has('name', startingWith('A'))` ask an
//! ordered index, unless so many vertices lie in the range that a scan reads less. What comes is tested again: an index
//! never decides alone. Source: query.md, section 7, the first rule; G-Tran, section 6, where IS3 falls from 22.5 s to 2.2 ms
//! by it.

use crate::execute::context::Context;
use crate::plan::operator::{Name, Test};
use crate::plan::predicate::{Operand, Predicate, TextTest};
use crate::value::item::Item;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::filter::Comparison;
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use std::ops::Bound;

/// Entries that are asked for at once.
const BATCH: usize = 4096;
/// A range that holds more than this part of an index's entries, and more than a batch, is left to a scan.
const RANGE_PART: u64 = 8;
/// Beyond it, a double and a whole number no longer compare exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The owner of the items that an index finds: a label, or an edge type.
pub trait IndexOwner: Copy {
    /// What is found.
    type Item: Copy + Ord;

    /// All that there are.
    fn all(catalogue: &Catalogue) -> Vec<Self>;

    /// As the catalogue says it.
    fn owner(self) -> Owner;

    /// As [`GraphView::look_up_vertices`].
    ///
    /// # Errors
    /// As there.
    fn look_up(
        self,
        view: &dyn GraphView,
        key: KeyId,
        values: &[Value],
        cursor: &mut MatchCursor<Self::Item>,
        matches: &mut Matches<Self::Item>,
    ) -> Result<()>;

    /// Up to `limit` of what [`GraphView::range_vertices`] finds, and whether that is all.
    ///
    /// # Errors
    /// As there.
    fn range(
        self,
        view: &dyn GraphView,
        key: KeyId,
        range: &ValueRange,
        limit: usize,
    ) -> Result<(Vec<Self::Item>, bool)>;
}

macro_rules! index_owner {
    ($owner:ident of $item:ident: $all:ident, $named:ident, $look_up:ident, $range:ident) => {
        impl IndexOwner for $owner {
            type Item = $item;

            fn all(catalogue: &Catalogue) -> Vec<Self> {
                catalogue.$all().map(|(owner, _)| owner).collect()
            }

            fn owner(self) -> Owner {
                Owner::$named(self)
            }

            fn look_up(
                self,
                view: &dyn GraphView,
                key: KeyId,
                values: &[Value],
                cursor: &mut MatchCursor<$item>,
                matches: &mut Matches<$item>,
            ) -> Result<()> {
                view.$look_up(self, key, values, cursor, BATCH, matches)
            }

            fn range(
                self,
                view: &dyn GraphView,
                key: KeyId,
                range: &ValueRange,
                limit: usize,
            ) -> Result<(Vec<$item>, bool)> {
                let (mut cursor, mut ranked) = (RangeCursor::default(), OrderedMatches::default());
                view.$range(self, key, range, &mut cursor, limit, &mut ranked)?;
                Ok((ranked.items, cursor.done))
            }
        }
    };
}

index_owner!(LabelId of VertexId: labels, Label, look_up_vertices, range_vertices);
index_owner!(TypeId of EdgeId: edge_types, EdgeType, look_up_edges, range_edges);

/// The indexes that answer a scan, a label or an edge type each.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice<O> {
    name: Name,
    asked: IndexRequests<O>,
}

/// What indexes are asked for.
#[derive(Clone, PartialEq, Debug)]
enum IndexRequests<O> {
    /// What equals one of these values.
    Equal(KeyId, Vec<(O, Vec<Value>)>),
    /// What lies in this range.
    Range(KeyId, Vec<(O, ValueRange)>),
    /// Nobody has such a property.
    Nothing,
}

impl<O: IndexOwner> Choice<O> {
    /// The indexes that answer `tests` on the items of `owners` (`None`: of all); `None` if only a scan can.
    #[must_use]
    pub fn of(tests: &[Test], owners: Option<&[O]>, catalogue: &Catalogue) -> Option<Self> {
        let by = |range: bool| {
            tests.iter().find_map(|test| {
                let Test::Property(name, predicate) = test else { return None };
                let Some(key) = catalogue.key(name) else {
                    return Some(Self { name: name.clone(), asked: IndexRequests::Nothing });
                };
                let having = having(catalogue, owners, key);
                let asked = if range {
                    IndexRequests::Range(key, ranges(catalogue, &having, key, predicate)?)
                } else {
                    IndexRequests::Equal(key, values(catalogue, &having, key, &predicate.only()?)?)
                };
                Some(Self { name: name.clone(), asked })
            })
        };
        by(false).or_else(|| by(true))
    }

    /// The indexes, as text.
    #[must_use]
    pub fn describe(&self, catalogue: &Catalogue) -> String {
        let of = |owner: &O| format!("{}.{}", catalogue.owner_name(owner.owner()), self.name);
        match &self.asked {
            IndexRequests::Nothing => format!("nothing has a property {}", self.name),
            IndexRequests::Equal(_, all) if all.is_empty() => {
                format!("nothing there has a property {}", self.name)
            }
            IndexRequests::Equal(_, all) => {
                all.iter().map(|(owner, _)| of(owner)).collect::<Vec<_>>().join(", ")
            }
            IndexRequests::Range(_, all) => {
                all.iter().map(|(owner, _)| format!("{}, a range", of(owner))).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Whether only a look-up tells if a scan reads less: what lies in a range may be much.
    #[must_use]
    pub fn is_range(&self) -> bool {
        matches!(self.asked, IndexRequests::Range(..))
    }

    /// What they find, ascending; `None` of a range that a scan finds with fewer reads.
    ///
    /// # Errors
    /// Errors of reading; `limit`.
    pub fn items(&self, cx: &mut Context<'_>) -> Result<Option<Vec<O::Item>>> {
        let mut found = Vec::new();
        match &self.asked {
            IndexRequests::Nothing => {}
            IndexRequests::Equal(key, all) => {
                announce_single_values(*key, all, cx);
                for (owner, values) in all {
                    equal(*owner, *key, values, &mut found, cx)?;
                }
            }
            IndexRequests::Range(key, all) => {
                for (owner, range) in all {
                    if !within(*owner, *key, range, &mut found, cx)? {
                        return Ok(None);
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }
}

/// Announces that each of several indexes is asked for one value, so that all are asked together where that takes messages. Several
/// values of one index are announced by whoever looks them up.
fn announce_single_values<O: IndexOwner>(key: KeyId, all: &[(O, Vec<Value>)], cx: &Context<'_>) {
    if all.len() < 2 || !cx.heeds_ahead() || all.iter().any(|(_, values)| values.len() != 1) {
        return;
    }
    let catalogue = cx.catalogue();
    for (owner, values) in all {
        if let Some(index) = catalogue.indexes_on(owner.owner(), key).next() {
            cx.view().ahead(NextReads::ItemsOfValues(index.id, values));
        }
    }
}

/// Finds those that have one of `values`.
fn equal<O: IndexOwner>(
    owner: O,
    key: KeyId,
    values: &[Value],
    found: &mut Vec<O::Item>,
    cx: &mut Context<'_>,
) -> Result<()> {
    let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
    while !cursor.done {
        cx.charge.check()?;
        matches.items.clear();
        matches.rows.clear();
        owner.look_up(cx.view(), key, values, &mut cursor, &mut matches)?;
        found.extend_from_slice(&matches.items);
        cx.charge.room().check(found.len() * size_of::<O::Item>())?;
    }
    Ok(())
}

/// Finds those in a range, unless there are too many.
fn within<O: IndexOwner>(
    owner: O,
    key: KeyId,
    range: &ValueRange,
    found: &mut Vec<O::Item>,
    cx: &mut Context<'_>,
) -> Result<bool> {
    let indexes = cx.view().indexes();
    let entries = indexes
        .iter()
        .filter(|index| index.definition.id.owner == owner.owner() && index.definition.id.key == key)
        .map(|index| index.entries)
        .max();
    let limit = entries.map_or(0, |entries| entries / RANGE_PART).max(BATCH as u64) as usize;
    cx.charge.check()?;
    let (mut some, all) = owner.range(cx.view(), key, range, limit)?;
    cx.charge.room().check(some.len() * size_of::<O::Item>())?;
    found.append(&mut some);
    Ok(all)
}

/// The items of `owners` (`None`: of all) for which the tests can hold, ascending; `None` if no index returns them.
///
/// # Errors
/// Errors of reading; `limit`.
pub fn named<O: IndexOwner>(
    tests: &[Test],
    owners: Option<&[O]>,
    cx: &mut Context<'_>,
) -> Result<Option<Vec<O::Item>>> {
    if !tests.iter().any(|test| matches!(test, Test::Property(..))) {
        return Ok(None);
    }
    match Choice::of(tests, owners, &cx.catalogue()) {
        Some(choice) => choice.items(cx),
        None => Ok(None),
    }
}

/// Finds together what a look-up for each of `scans` is going to find: in a view of other machines these take no messages of
/// their own then. Scans that no index answers by equal values are left out.
///
/// # Errors
/// As [`named`].
pub fn found_together<O: IndexOwner + PartialEq>(
    scans: &[(Vec<Test>, Option<Vec<O>>)],
    cx: &mut Context<'_>,
) -> Result<Vec<O::Item>> {
    let (catalogue, mut requests) = (cx.catalogue(), Vec::<(O, KeyId, Vec<Value>)>::new());
    for (tests, owners) in scans {
        let Some(Choice { asked: IndexRequests::Equal(key, all), .. }) =
            Choice::of(tests, owners.as_deref(), &catalogue)
        else {
            continue;
        };
        for (owner, values) in all {
            match requests.iter_mut().find(|(of, by, _)| (*of, *by) == (owner, key)) {
                Some((_, _, known)) => known.extend(values),
                None => requests.push((owner, key, values)),
            }
        }
    }
    let mut found = Vec::new();
    for (owner, key, mut values) in requests {
        // Many rows may look for the same value.
        values.sort_unstable();
        values.dedup();
        equal(owner, key, &values, &mut found, cx)?;
    }
    Ok(found)
}

/// The labels or types whose items may have a property, each with its type there.
fn having<O: IndexOwner>(catalogue: &Catalogue, owners: Option<&[O]>, key: KeyId) -> Vec<(O, ValueType)> {
    let all = owners.map_or_else(|| O::all(catalogue), <[O]>::to_vec);
    let typed = |owner: O| catalogue.property_type(owner.owner(), key).map(|value_type| (owner, value_type));
    all.into_iter().filter_map(typed).collect()
}

/// The labels or types with the values to ask each index for; `None` unless each has one that can tell.
fn values<O: IndexOwner>(
    catalogue: &Catalogue,
    having: &[(O, ValueType)],
    key: KeyId,
    items: &[Item],
) -> Option<Vec<(O, Vec<Value>)>> {
    let with_index = |(owner, value_type): &(O, ValueType)| {
        catalogue.indexes_on(owner.owner(), key).next()?;
        Some((*owner, fitting(items, *value_type)?))
    };
    having.iter().map(with_index).collect()
}

/// The labels or types with the range to ask each ordered index for; `None` unless each has one that can tell.
fn ranges<O: IndexOwner>(
    catalogue: &Catalogue,
    having: &[(O, ValueType)],
    key: KeyId,
    predicate: &Predicate,
) -> Option<Vec<(O, ValueRange)>> {
    let with_index = |(owner, value_type): &(O, ValueType)| {
        let mut indexes = catalogue.indexes_on(owner.owner(), key);
        indexes.find(|index| index.id.kind == IndexKind::Ordered)?;
        Some((*owner, range(predicate, *value_type)?))
    };
    having.iter().map(with_index).collect()
}

/// A range in which all values of `value_type` lie of which `predicate` holds, and perhaps more.
fn range(predicate: &Predicate, value_type: ValueType) -> Option<ValueRange> {
    match predicate {
        Predicate::Compare(comparison, Operand::Item(Item::Value(value)))
            if comparable(value, value_type) =>
        {
            let end = || Bound::Included(value.clone());
            match comparison {
                Comparison::Less | Comparison::LessOrEqual => Some(ValueRange::new(Bound::Unbounded, end())),
                Comparison::Greater | Comparison::GreaterOrEqual => {
                    Some(ValueRange::new(end(), Bound::Unbounded))
                }
                Comparison::Equal => Some(ValueRange::new(end(), end())),
                Comparison::NotEqual => None,
            }
        }
        Predicate::Text(TextTest::StartsWith, prefix, true) if value_type == ValueType::String => {
            Some(ValueRange::prefix(prefix))
        }
        Predicate::And(all) => {
            let mut ranges = all.iter().filter_map(|one| range(one, value_type));
            let mut both = ranges.next()?;
            for more in ranges {
                if both.from == Bound::Unbounded {
                    both.from = more.from;
                }
                if both.to == Bound::Unbounded {
                    both.to = more.to;
                }
            }
            Some(both)
        }
        _ => None,
    }
}

/// Whether all values of `value_type` lie on the same side of `value` in an index as they compare in a query.
fn comparable(value: &Value, value_type: ValueType) -> bool {
    let whole =
        |of: ValueType| matches!(of, ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64);
    match value_type {
        of if whole(of) => {
            whole(value.value_type()) || value.as_f64().is_some_and(|float| float.abs() < EXACT)
        }
        ValueType::F64 => value.as_f64().is_some_and(|float| float.abs() < EXACT),
        ValueType::String | ValueType::Date | ValueType::DateTime => value.value_type() == value_type,
        _ => false,
    }
}

/// Whether a double lies where 64 bits hold a whole number.
fn is_long(float: f64) -> bool {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (-END..END).contains(&float)
}

/// The values of `value_type` that equal one of `items`; `None` where that can't be told.
fn fitting(items: &[Item], value_type: ValueType) -> Option<Vec<Value>> {
    match value_type {
        // Equal values of other types are found elsewhere in the index, collections that a step made nowhere.
        ValueType::Any | ValueType::BigInteger | ValueType::Decimal | ValueType::Char | ValueType::Map => {
            return None;
        }
        // Its elements are asked for, and the index has it as a whole.
        ValueType::List | ValueType::Set => return None,
        _ => {}
    }
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        // No collection that a step made, and no element, equals a value of these types.
        let Item::Value(value) = item else { continue };
        match value_type {
            // Compared digit by digit, and not as the nearest double.
            _ if matches!(value, Value::Decimal(_)) => return None,
            ValueType::I8 | ValueType::I16 | ValueType::I32 | ValueType::I64 => {
                // A number with a fraction equals no whole one.
                let whole = value.as_i64().or_else(|| {
                    let float = value.as_f64().filter(|float| float.fract() == 0.0 && is_long(*float));
                    float.map(|float| float as i64)
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
            ValueType::String => all.push(match value {
                Value::Char(char) => Value::from(char.to_string()),
                _ => value.clone(),
            }),
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

    #[test]
    fn a_range_holds_whatever_the_predicate_can_hold_of() {
        let compare =
            |comparison, value: Value| Predicate::Compare(comparison, Operand::Item(Item::Value(value)));
        let between = Predicate::And(vec![
            compare(Comparison::GreaterOrEqual, Value::I32(30)),
            compare(Comparison::Less, Value::F64(40.5)),
        ]);
        let expected = ValueRange::new(Bound::Included(Value::I32(30)), Bound::Included(Value::F64(40.5)));
        assert_eq!(range(&between, ValueType::I64), Some(expected));
        let huge = compare(Comparison::Less, Value::F64(1e300));
        assert_eq!(range(&huge, ValueType::I64), None, "compared as doubles, not exactly");
        let text = compare(Comparison::Less, Value::from("x"));
        assert_eq!(range(&text, ValueType::I64), None, "no number compares with a text");
        assert!(range(&text, ValueType::String).is_some());
        let starts = Predicate::Text(TextTest::StartsWith, "Ad".into(), true);
        assert_eq!(range(&starts, ValueType::String), Some(ValueRange::prefix("Ad")));
        assert_eq!(range(&Predicate::Not(Box::new(between)), ValueType::I64), None);
    }
}
