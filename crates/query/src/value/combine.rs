//! `Operator.sum` and similar operators: make one item of two, in `fold(seed, sum)` and in side effects.
//!
//! | operator | of | gives |
//! |---|---|---|
//! | `sum`, `minus`, `mult`, `div` | numbers | as in arithmetic: of the wider type |
//! | `sumLong` | whole numbers | a sum of 64 bits |
//! | `min`, `max` | what can be compared | the lesser or greater, of the wider type |
//! | `and`, `or` | truths | both, or one of them |
//! | `addAll` | collections | the left one with all of the right one; a map's entries replace those of their keys |
//! | `assign` | anything | the right one |
//!
//! Null is nothing to calculate with: the other one stays. Source: TinkerPop 3.8, `Operator` and `NumberHelper`.

use crate::value::item::Item;
use crate::value::list;
use crate::value::map::ItemMap;
use crate::value::number::{self, Arithmetic};
use crate::value::relation;
use crate::value::room::Room;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::Value;
use std::sync::Arc;

/// What makes one item of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// A number from two.
    Calculate(Arithmetic),
    /// Their sum, in 64 bits.
    SumLong,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// Whether both are true.
    And,
    /// Whether one is true.
    Or,
    /// All that is in either.
    AddAll,
    /// The later.
    Assign,
}

impl Combine {
    /// What comes of `left` and then `right`.
    ///
    /// # Errors
    /// `invalid` for items that the operator isn't for, and as [`number::arithmetic`] says.
    pub fn of(self, left: Item, right: Item) -> Result<Item> {
        match (self, &left, &right) {
            (Self::Assign, ..) => Ok(right),
            (Self::AddAll, ..) => add_all(left, &right, 1),
            (Self::And, ..) => Ok(Item::from(self.truth(&left)? && self.truth(&right)?)),
            (Self::Or, ..) => Ok(Item::from(self.truth(&left)? || self.truth(&right)?)),
            (_, Item::Null, _) => Ok(right),
            (_, _, Item::Null) => Ok(left),
            (Self::Calculate(how), ..) => number::arithmetic(how, &left, &right),
            (Self::SumLong, ..) => match number::add(&left, &right)? {
                Item::Value(sum) => {
                    let wide = sum.as_i64().map(Item::from);
                    wide.ok_or_else(|| self.unfit(&Item::Value(sum)))
                }
                other => Err(self.unfit(&other)),
            },
            (Self::Min | Self::Max, ..) => {
                let order = relation::compare(&left, &right).or_else(|| number::nan_last(&left, &right));
                let order = order.ok_or_else(|| self.unfit(&right))?;
                let is_left = if self == Self::Min { order.is_le() } else { order.is_ge() };
                let (kept, other) = if is_left { (left, right) } else { (right, left) };
                Ok(number::promoted(kept, &other))
            }
        }
    }

    /// As [`Combine::of`], with `right` so many times, if there is `room` for the result; `check` is asked now and then
    /// whether to go on.
    ///
    /// Cost: one step, or `times` steps where a product or a quotient needs them.
    ///
    /// # Errors
    /// As [`Combine::of`]; `limit` if there isn't room; what `check` says.
    pub fn of_times(
        self,
        mut left: Item,
        right: Item,
        times: u64,
        room: Room,
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Item> {
        if self == Self::AddAll {
            // A set and a map are the same after the second time as after the first.
            let is_list = matches!(left, Item::List(_) | Item::Path(_) | Item::Value(Value::List(_)));
            let times =
                if is_list { usize::try_from(times).unwrap_or(usize::MAX) } else { times.min(1) as usize };
            let bytes = left.heap_bytes().saturating_add(right.heap_bytes().saturating_mul(times));
            room.check(bytes)?;
            return add_all(left, &right, times);
        }
        let all_at_once = match self {
            Self::Calculate(Arithmetic::Add | Arithmetic::Subtract) | Self::SumLong => {
                let right = if right == Item::Null { right } else { number::times(&right, times)? };
                return self.of(left, right);
            }
            Self::Calculate(Arithmetic::Multiply | Arithmetic::Divide) => false,
            Self::AddAll | Self::Min | Self::Max | Self::And | Self::Or | Self::Assign => true,
        };
        for time in 0..if all_at_once { 1 } else { times } {
            if time % 1024 == 1023 {
                check()?;
            }
            left = self.of(left, right.clone())?;
        }
        Ok(left)
    }

    fn truth(self, item: &Item) -> Result<bool> {
        item.as_bool().ok_or_else(|| self.unfit(item))
    }

    fn unfit(self, item: &Item) -> Error {
        let needs = match self {
            Self::Calculate(_) | Self::SumLong => "numbers",
            Self::Min | Self::Max => "items that can be compared",
            Self::And | Self::Or => "truths",
            Self::AddAll | Self::Assign => "a list, a set or a map",
        };
        Error::invalid(format!("the operator needs {needs}, but found {}", item.kind()))
    }
}

/// What is in `left`, then so many times what is in `right`.
fn add_all(left: Item, right: &Item, times: usize) -> Result<Item> {
    if let (Some(mut map), Some(more)) = (as_map(&left), as_map(right)) {
        more.into_entries().into_iter().for_each(|(key, value)| {
            map.insert(key, value);
        });
        return Ok(Item::Map(Arc::new(map)));
    }
    let is_set = matches!(left, Item::Set(_) | Item::Value(Value::Set(_)));
    let Some(mut items) = left.elements() else { return Err(Combine::AddAll.unfit(&left)) };
    let more = right.elements().ok_or_else(|| Combine::AddAll.unfit(right))?;
    items.extend(std::iter::repeat_n(more, times).flatten());
    if is_set {
        return Ok(list::once(items.into_iter()));
    }
    Ok(Item::List(items.into()))
}

fn as_map(item: &Item) -> Option<ItemMap> {
    match item {
        Item::Map(map) => Some((**map).clone()),
        Item::Value(Value::Map(map)) => {
            let entries = map.as_slice().iter();
            Some(entries.map(|(key, value)| (Item::Value(key.clone()), Item::Value(value.clone()))).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: Combine = Combine::Calculate(Arithmetic::Add);

    #[test]
    fn each_operator_makes_one_of_two() {
        let (two, three) = (Item::from(2_i32), Item::from(3_i64));
        for (how, expected) in [
            (SUM, Item::from(5_i64)),
            (Combine::Calculate(Arithmetic::Subtract), Item::from(-1_i64)),
            (Combine::Calculate(Arithmetic::Multiply), Item::from(6_i64)),
            (Combine::Calculate(Arithmetic::Divide), Item::from(0_i64)),
            (Combine::SumLong, Item::from(5_i64)),
            (Combine::Min, Item::from(2_i64)),
            (Combine::Max, Item::from(3_i64)),
            (Combine::Assign, Item::from(3_i64)),
        ] {
            assert_eq!(how.of(two.clone(), three.clone()).unwrap(), expected, "{how:?}");
        }
        let (yes, no) = (Item::from(true), Item::from(false));
        assert_eq!(Combine::And.of(yes.clone(), no.clone()).unwrap(), no);
        assert_eq!(Combine::Or.of(yes.clone(), no).unwrap(), yes);
        assert!(Combine::And.of(yes, two).unwrap_err().to_string().contains("truths"));
    }

    #[test]
    fn null_is_nothing_to_calculate_with() {
        for how in [SUM, Combine::Min, Combine::Max] {
            assert_eq!(how.of(Item::Null, Item::from(2)).unwrap(), Item::from(2), "{how:?}");
            assert_eq!(how.of(Item::from(2), Item::Null).unwrap(), Item::from(2), "{how:?}");
        }
        assert_eq!(Combine::Assign.of(Item::from(2), Item::Null).unwrap(), Item::Null);
    }

    #[test]
    fn collections_take_all_of_another() {
        let list = |items: &[i32]| Item::List(items.iter().map(|item| Item::from(*item)).collect());
        let set = |items: &[i32]| Item::Set(items.iter().map(|item| Item::from(*item)).collect());
        let map = |pairs: &[(&str, i32)]| {
            Item::Map(Arc::new(
                pairs.iter().map(|(key, value)| (Item::from(*key), Item::from(*value))).collect(),
            ))
        };
        let add = |left: Item, right: Item| Combine::AddAll.of(left, right).unwrap();
        assert_eq!(add(list(&[1, 2]), set(&[2, 3])), list(&[1, 2, 2, 3]));
        assert_eq!(add(set(&[1, 2]), list(&[2, 3])), set(&[1, 2, 3]));
        assert_eq!(
            add(map(&[("a", 1), ("b", 2)]), map(&[("b", 3), ("c", 4)])),
            map(&[("a", 1), ("b", 3), ("c", 4)])
        );
        assert!(Combine::AddAll.of(list(&[1]), Item::from(1)).is_err());
    }

    #[test]
    fn many_of_one_are_as_one_after_the_other() {
        for (how, left) in [
            (SUM, 1),
            (Combine::Calculate(Arithmetic::Subtract), 100),
            (Combine::Calculate(Arithmetic::Multiply), 2),
            (Combine::Calculate(Arithmetic::Divide), 1000),
            (Combine::Max, 1),
            (Combine::Assign, 1),
        ] {
            let three = || Item::from(3_i32);
            let one = (0..4).try_fold(Item::from(left), |left, _| how.of(left, three())).unwrap();
            assert_eq!(times(how, Item::from(left), three(), 4).unwrap(), one, "{how:?}");
        }
        let list = |items: &[i32]| Item::List(items.iter().map(|item| Item::from(*item)).collect());
        let all = times(Combine::AddAll, list(&[1]), list(&[2, 3]), 2).unwrap();
        assert_eq!(all, list(&[1, 2, 3, 2, 3]));
    }

    fn times(how: Combine, left: Item, right: Item, times: u64) -> Result<Item> {
        how.of_times(left, right, times, Room { bytes: 1000, limit_bytes: 1000 }, &mut || Ok(()))
    }

    #[test]
    fn a_collection_that_has_no_room_is_not_made() {
        let list = Item::List([Item::from(1)].into());
        let error = times(Combine::AddAll, list.clone(), list.clone(), 1 << 40).unwrap_err();
        assert_eq!(error.kind(), evergraph_graph::error::ErrorKind::Limit);
        let set = Item::Set([Item::from(1)].into());
        assert_eq!(times(Combine::AddAll, set.clone(), list, 1 << 40).unwrap(), set);
    }
}
