//! Identity: what `==`, `dedup()`, groups and sets treat as one item.
//!
//! | | `==` in Rust | [`ByValue`] |
//! |---|---|---|
//! | asked by | keys of maps, rows that are merged, plans | `dedup`, `group`, `intersect` and their like |
//! | the `int` 1 and the `long` 1 | two | one |
//! | 1 and 1.0 | two | one |
//! | NaN and NaN | one | one |
//! | two lists with the same items in order; two sets or maps in any order | one | one |
//!
//! Collections that a step made and stored ones are the same if what is in them is. Sets and maps hash as the sum of the
//! hashes of what is in them, which no order changes.

use crate::value::item::Item;
use evergraph_graph::value::Value;
use foldhash::quality::FixedState;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::mem::discriminant;

/// Sets of up to so many items are compared one by one.
const FEW: usize = 8;

/// An item as grouping sees it: numbers of equal value are one, whatever their types.
#[derive(Clone, Debug)]
pub struct ByValue(pub Item);

impl PartialEq for ByValue {
    fn eq(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0, Numbers::OfAnyType)
    }
}

impl Eq for ByValue {}

impl Hash for ByValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, Numbers::OfAnyType, state);
    }
}

impl PartialEq for Item {
    /// Whether they are the same, numbers of different types being different.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        is_same(self, other, Numbers::OfOneType)
    }
}

impl Eq for Item {}

impl Hash for Item {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(self, Numbers::OfOneType, state);
    }
}

impl ByValue {
    /// Whether grouping takes both for one.
    #[must_use]
    pub fn are_one(left: &Item, right: &Item) -> bool {
        is_same(left, right, Numbers::OfAnyType)
    }

    /// The hash of `item` as grouping sees it.
    #[must_use]
    pub fn hash_one(item: &Item, hasher: &impl BuildHasher) -> u64 {
        hasher.hash_one(MemberKey(item, Numbers::OfAnyType))
    }
}

/// Which numbers may be the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    OfOneType,
    OfAnyType,
}

/// What is in a collection, seen as [`Numbers`] say.
struct MemberKey<'a>(&'a Item, Numbers);

impl PartialEq for MemberKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        is_same(self.0, other.0, self.1)
    }
}

impl Eq for MemberKey<'_> {}

impl Hash for MemberKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(self.0, self.1, state);
    }
}

/// A collection, made or stored.
enum Collection {
    List(Vec<Item>),
    Set(Vec<Item>),
    Map(Vec<(Item, Item)>),
}

fn collection(item: &Item) -> Option<Collection> {
    Some(match item {
        Item::List(_) | Item::Value(Value::List(_)) => Collection::List(item.elements()?),
        Item::Set(_) | Item::Value(Value::Set(_)) => Collection::Set(item.elements()?),
        Item::Map(map) => Collection::Map(map.entries().to_vec()),
        Item::Value(Value::Map(map)) => {
            let entry =
                |(key, value): &(Value, Value)| (Item::Value(key.clone()), Item::Value(value.clone()));
            Collection::Map(map.as_slice().iter().map(entry).collect())
        }
        _ => return None,
    })
}

fn is_same(left: &Item, right: &Item, numbers: Numbers) -> bool {
    // What is shared isn't compared item by item.
    if left.shares(right) {
        return true;
    }
    match (left, right) {
        (Item::Null, Item::Null) => true,
        (Item::Vertex(left), Item::Vertex(right)) => left == right,
        (Item::Edge(left), Item::Edge(right)) => left == right,
        (Item::Property(left), Item::Property(right)) => left == right,
        (Item::Entry(left), Item::Entry(right)) => {
            is_same(&left.0, &right.0, numbers) && is_same(&left.1, &right.1, numbers)
        }
        (Item::Path(left), Item::Path(right)) => left == right,
        (Item::Tree(left), Item::Tree(right)) => left == right,
        (Item::Graph(left), Item::Graph(right)) => left == right,
        (Item::Token(left), Item::Token(right)) => left == right,
        (Item::Direction(left), Item::Direction(right)) => left == right,
        (Item::List(left), Item::List(right)) => is_same_list(left, right, numbers),
        (Item::Set(left), Item::Set(right)) => is_same_set(left, right, numbers),
        // Both are found by key at once.
        (Item::Map(left), Item::Map(right)) if numbers == Numbers::OfOneType => left == right,
        _ => match (collection(left), collection(right)) {
            (None, None) => is_same_value(left, right, numbers),
            (Some(Collection::List(left)), Some(Collection::List(right))) => {
                is_same_list(&left, &right, numbers)
            }
            (Some(Collection::Set(left)), Some(Collection::Set(right))) => {
                is_same_set(&left, &right, numbers)
            }
            (Some(Collection::Map(left)), Some(Collection::Map(right))) => {
                let seen = |entries| Vec::from_iter(entries_as(entries, numbers));
                is_same_in_any_order(&seen(&left), &seen(&right))
            }
            _ => false,
        },
    }
}

fn is_same_list(left: &[Item], right: &[Item], numbers: Numbers) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right, numbers))
}

fn is_same_set(left: &[Item], right: &[Item], numbers: Numbers) -> bool {
    let seen = |items| Vec::from_iter(items_as(items, numbers));
    is_same_in_any_order(&seen(left), &seen(right))
}

fn is_same_value(left: &Item, right: &Item, numbers: Numbers) -> bool {
    let (Item::Value(left), Item::Value(right)) = (left, right) else { return false };
    left == right || (numbers == Numbers::OfAnyType && left.compare_numbers(right) == Some(Ordering::Equal))
}

/// Whether both hold the same, each once, in any order.
fn is_same_in_any_order<T: Eq + Hash>(left: &[T], right: &[T]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    if left.len() <= FEW {
        return left.iter().all(|one| right.contains(one));
    }
    let right: HashSet<&T> = right.iter().collect();
    left.iter().all(|one| right.contains(one))
}

#[inline]
fn items_as(items: &[Item], numbers: Numbers) -> impl Iterator<Item = MemberKey<'_>> {
    items.iter().map(move |item| MemberKey(item, numbers))
}

#[inline]
fn entries_as(entries: &[(Item, Item)], numbers: Numbers) -> impl Iterator<Item = [MemberKey<'_>; 2]> {
    entries.iter().map(move |(key, value)| [MemberKey(key, numbers), MemberKey(value, numbers)])
}

fn hash<H: Hasher>(item: &Item, numbers: Numbers, state: &mut H) {
    match item {
        Item::Vertex(vertex) => vertex.hash(state),
        Item::Edge(edge) => edge.hash(state),
        Item::Property(property) => property.hash(state),
        Item::Entry(entry) => [MemberKey(&entry.0, numbers), MemberKey(&entry.1, numbers)].hash(state),
        Item::Path(path) => path.hash(state),
        Item::Token(token) => token.hash(state),
        Item::Direction(direction) => direction.hash(state),
        Item::Graph(graph) => graph.hash(state),
        Item::Null | Item::Tree(_) => discriminant(item).hash(state),
        Item::List(items) => hash_list(items, numbers, state),
        Item::Set(items) => hash_sum(items_as(items, numbers), state),
        Item::Map(map) => hash_sum(entries_as(map.entries(), numbers), state),
        Item::Value(value) => match (collection(item), numbers) {
            (Some(Collection::List(items)), _) => hash_list(&items, numbers, state),
            (Some(Collection::Set(items)), _) => hash_sum(items_as(&items, numbers), state),
            (Some(Collection::Map(entries)), _) => hash_sum(entries_as(&entries, numbers), state),
            (None, Numbers::OfAnyType) if value.as_f64().is_some() => hash_number(value, state),
            (None, _) => value.hash(state),
        },
    }
}

fn hash_list<H: Hasher>(items: &[Item], numbers: Numbers, state: &mut H) {
    state.write_usize(items.len());
    items_as(items, numbers).for_each(|item| item.hash(state));
}

/// A hash of all that no order changes.
fn hash_sum<H: Hasher>(all: impl Iterator<Item = impl Hash>, state: &mut H) {
    let hasher = FixedState::default();
    let (count, sum) =
        all.fold((0_usize, 0_u64), |(count, sum), one| (count + 1, sum.wrapping_add(hasher.hash_one(one))));
    state.write_usize(count);
    state.write_u64(sum);
}

/// Alike for numbers of equal value: as the whole number that it is if 64 bits hold that, else as the nearest double.
fn hash_number<H: Hasher>(number: &Value, state: &mut H) {
    // From here on doubles are no `i64`.
    const END: f64 = 9_223_372_036_854_775_808.0;
    // More zeros than these behind a digit are past 64 bits.
    const ZEROS_MAX: i64 = 18;
    let whole = match number {
        Value::F32(_) | Value::F64(_) => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && (-END..END).contains(float));
            float.map(|float| float as i64)
        }
        Value::Decimal(decimal) => {
            let (digits, scale) = decimal.to_canonical_parts();
            let power = u32::try_from(-scale).ok().filter(|_| -scale <= ZEROS_MAX);
            power
                .zip(i64::try_from(digits).ok())
                .and_then(|(power, digits)| digits.checked_mul(10_i64.pow(power)))
        }
        _ => number.as_i64(),
    };
    let nearest = number.as_f64().unwrap_or(f64::NAN);
    match whole {
        Some(whole) => whole.hash(state),
        None if nearest.is_nan() => f64::NAN.to_bits().hash(state),
        None => nearest.to_bits().hash(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::map::ItemMap;
    use evergraph_graph::value::ValueType;
    use evergraph_graph::value::collection::{List, Map, Set};
    use std::sync::Arc;

    fn number(text: &str, value_type: ValueType) -> Item {
        Item::Value(Value::parse(text, value_type).unwrap())
    }

    fn hash_of(of: impl Hash) -> u64 {
        FixedState::default().hash_one(of)
    }

    #[track_caller]
    fn assert_one(left: &Item, right: &Item) {
        let (left, right) = (ByValue(left.clone()), ByValue(right.clone()));
        assert_eq!(left, right);
        assert_eq!(hash_of(&left), hash_of(&right), "{left:?} and {right:?}");
    }

    #[test]
    fn numbers_of_equal_value_are_one_and_hash_alike() {
        use ValueType::{BigInteger, Decimal, F32, F64, I8, I16, I32, I64};
        for (text, types) in [
            ("27", &[I8, I16, I32, I64, F32, F64, BigInteger, Decimal][..]),
            ("0", &[I8, I64, F32, F64, BigInteger, Decimal]),
            ("-1000", &[I16, I64, F64, BigInteger, Decimal]),
            ("0.5", &[F32, F64, Decimal]),
            ("9007199254740993", &[I64, BigInteger, Decimal]),
            ("-9223372036854775808", &[I64, F64, BigInteger, Decimal]),
            ("9223372036854775808", &[F64, BigInteger, Decimal]),
            ("1e22", &[F64, Decimal]),
        ] {
            for left in types {
                for right in types {
                    let [left, right] = [left, right].map(|of| number(text, *of));
                    assert_one(&left, &right);
                    assert_one(&Item::List([left.clone()].into()), &Item::List([right.clone()].into()));
                    assert_one(&Item::Set([left.clone()].into()), &Item::Set([right.clone()].into()));
                    assert_eq!(left == right, left.kind() == right.kind(), "{left:?} == {right:?}");
                }
            }
        }
        assert_one(&Item::from(f32::NAN), &Item::from(f64::NAN));
        assert_one(&Item::from(-0.0), &Item::from(0_i32));
        for (left, right) in [
            (Item::from(9_007_199_254_740_993_i64), Item::from(9_007_199_254_740_992.0)),
            (Item::from(0.1_f32), Item::from(0.1)),
            (Item::from(1_i32), Item::from("1")),
            (Item::from(1_i32), Item::from(true)),
            (Item::Null, Item::from(0_i32)),
        ] {
            assert_ne!(ByValue(left), ByValue(right));
        }
    }

    #[test]
    fn collections_are_the_same_made_or_stored_and_hash_by_what_is_inside() {
        let values = |count: i64| (0..count).map(Value::from);
        for count in [0, 3, 100] {
            let items: Vec<Item> = values(count).map(Item::Value).collect();
            let turned: Vec<Item> = items.iter().rev().cloned().collect();
            let entries = |items: &[Item]| -> ItemMap {
                items.iter().map(|item| (item.clone(), Item::from("x"))).collect()
            };
            let stored = Map::new(values(count).map(|key| (key, Value::from("x"))).collect()).unwrap();
            let same = [
                [
                    Item::List(items.as_slice().into()),
                    Item::Value(List::new(values(count).collect()).unwrap().into()),
                ],
                [
                    Item::Set(turned.as_slice().into()),
                    Item::Value(Set::new(values(count).collect()).unwrap().into()),
                ],
                [Item::Map(Arc::new(entries(&turned))), Item::Value(stored.into())],
            ];
            for [left, right] in &same {
                assert_eq!(left, right);
                assert_eq!(right, left);
                assert_eq!(hash_of(left), hash_of(right), "{left:?}");
                assert_one(left, right);
            }
            for (at, [one, _]) in same.iter().enumerate() {
                assert!(same.iter().enumerate().all(|(other, [another, _])| at == other || one != another));
            }
        }
    }

    #[test]
    fn sets_and_maps_that_differ_hash_apart() {
        let sets = (0..1000_i64).map(|at| Item::Set([Item::from(at), Item::from(-1_i64)].into()));
        let map = |at: i64| Item::Map(Arc::new([(Item::from("n"), Item::from(at))].into_iter().collect()));
        let stored = |at: i64| Map::new(vec![(Value::from("n"), Value::from(at))]).unwrap();
        let hashes =
            |items: &mut dyn Iterator<Item = Item>| items.map(hash_of).collect::<HashSet<u64>>().len();
        assert_eq!(hashes(&mut sets.into_iter()), 1000);
        assert_eq!(hashes(&mut (0..1000).map(map)), 1000);
        assert_eq!(hashes(&mut (0..1000).map(|at| Item::Value(stored(at).into()))), 1000);
    }

    #[test]
    fn what_is_shared_is_not_compared_item_by_item() {
        // Of two copies of itself each time: nobody lives to see it walked.
        let doubled = |list: &Item| Item::List([list.clone(), list.clone()].into());
        let list = (0..200).fold(Item::from("a"), |list, _| doubled(&list));
        assert!(list == list.clone() && ByValue::are_one(&doubled(&list), &doubled(&list)));
    }
}
