//! `RuleFold`: what a transaction comes to for the rows of one rule.
//!
//! Rows, keys and changes name each other by places in lists, so that a row takes 40 bytes and a key 64 beside its own.

use crate::apply::error::ApplyResult;
use crate::planted::{Bug, planted};
use crate::translate::pause::{Halt, Recovery};
use crate::translate::row_change::{NewRow, RowContent, RowKey};
use crate::translate::rules::{RuleNumber, Rules};
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher as _;
use std::num::{NonZeroU32, NonZeroU64};

/// Items from which on a list grows by a part of its length, instead of to the double.
const DOUBLED_ITEMS_MAX: usize = 1 << 16;

/// The net effect on the rows of one rule.
#[derive(Debug, Default)]
pub(super) struct RuleFold {
    pub(super) rule: RuleNumber,
    /// Whether all rows from before this transaction are gone.
    pub(super) is_truncated: bool,
    pub(super) objects: Vec<RowObject>,
    /// All keys that were touched, in the order in which they were.
    pub(super) keys: Vec<KeyFold>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
    earlier: Vec<EarlierChange>,
    /// The holders, behind the first one, of each key that several objects held at a time.
    others: Vec<Vec<Place>>,
    /// Memory that it has from a transaction before.
    spare_bytes: usize,
}

/// A row that the transaction touched.
#[derive(Clone, Debug)]
pub(super) struct RowObject {
    origin: Option<Place>,
    key: Place,
    pub(super) state: ObjectState,
    /// The change before the last one, if that one keeps cells.
    earlier: Option<Place>,
    content_hash: Option<ContentHash>,
    /// Cells that it keeps are in no change and not in the graph: it was hidden in between.
    pub(super) is_partly_unknown: bool,
}

/// What a row is in the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ObjectState {
    Gone,
    Hidden,
    Shown(CellPlace),
}

/// Where the cells of a change are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CellPlace {
    pub(super) piece: u32,
    pub(super) first: u32,
    keeps: bool,
}

/// A change whose cells a later one keeps.
#[derive(Clone, Copy, Debug)]
struct EarlierChange {
    place: CellPlace,
    earlier: Option<Place>,
}

/// What the transaction did under one key.
#[derive(Clone, Debug)]
pub(super) struct KeyFold {
    pub(super) key: RowKey,
    /// Who holds it now.
    holder: Option<Place>,
    /// Others that hold it, too: their place in [`RuleFold::others`].
    others: Option<Place>,
    /// Whether an object is the row that the graph has, or had, under this key.
    pub(super) is_touched: bool,
}

/// A place in a list: an option of it takes four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place(NonZeroU32);

/// What a row was, in an option that takes eight bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ContentHash(NonZeroU64);

/// Adds to a list that may become very long.
#[inline]
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() && list.len() >= DOUBLED_ITEMS_MAX {
        list.reserve_exact(list.len() / 4);
    }
    list.push(item);
}

impl RuleFold {
    /// The row that is shown under a key in the end.
    pub(super) fn shown(&self, key: &KeyFold) -> Option<usize> {
        self.shown_holders(key).next()
    }

    /// What was done under `key`.
    pub(super) fn key(&self, key: &RowKey) -> Option<&KeyFold> {
        Some(&self.keys[self.number_of(key)?])
    }

    /// The place of a key among the [`RuleFold::keys`].
    pub(super) fn number_of(&self, key: &RowKey) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        let found = self.by_key.find(hash, |place| self.keys[*place as usize].key == *key)?;
        Some(*found as usize)
    }

    /// Refuses two rows with one key.
    pub(super) fn check(&self, rules: &Rules) -> ApplyResult<()> {
        for key in self.keys.iter().filter(|key| key.others.is_some()) {
            if self.shown_holders(key).count() > 1 {
                let cause = format!("two rows have the key {} at the end of a transaction", key.key);
                return Err(Halt::new(rules.table(self.rule), None, cause, "", Recovery::ResyncParted).into());
            }
        }
        Ok(())
    }

    /// Who holds a key, in the order in which they came to hold it.
    #[inline]
    fn holders(&self, key: &KeyFold) -> impl Iterator<Item = Place> + Clone + use<'_> {
        let others = key.others.map_or(&[][..], |others| &self.others[others.get()]);
        key.holder.into_iter().chain(others.iter().copied())
    }

    #[inline]
    fn shown_holders(&self, key: &KeyFold) -> impl Iterator<Item = usize> + use<'_> {
        let is_shown = |object: &usize| matches!(self.objects[*object].state, ObjectState::Shown(_));
        self.holders(key).map(Place::get).filter(is_shown)
    }

    fn clear(&mut self) {
        self.is_truncated = false;
        self.objects.clear();
        self.keys.clear();
        self.by_key.clear();
        self.earlier.clear();
        self.others.clear();
    }

    /// Forgets everything, and keeps the memory for another transaction.
    pub(super) fn begin_again(&mut self) {
        self.clear();
        self.spare_bytes = self.allocated_bytes();
    }

    pub(super) fn truncate(&mut self) {
        self.clear();
        self.is_truncated = true;
    }

    /// Adds a row. Whether that is all there is to know of it: nobody had its key, and it has all of its cells.
    pub(super) fn insert(&mut self, new: NewRow, piece: u32) -> bool {
        let key = self.place_of(new.key);
        let object = self.add(RowObject {
            origin: None,
            key,
            state: state(new.content, piece),
            content_hash: new.content_hash.map(ContentHash::new),
            earlier: None,
            is_partly_unknown: false,
        });
        let is_free = self.keys[key.get()].holder.is_none();
        self.hold(key, object);
        is_free && !matches!(new.content, RowContent::Shown { keeps: true, .. })
    }

    /// Changes a row, whose key was the same if `old_key` says nothing else.
    pub(super) fn update(
        &mut self,
        old_key: Option<RowKey>,
        old_hash: Option<ContentHash>,
        new: NewRow,
        piece: u32,
    ) {
        let (place, key) = match old_key {
            None => {
                let place = self.find(new.key, old_hash);
                (place, self.objects[place.get()].key)
            }
            Some(old_key) => (self.find(old_key, old_hash), self.place_of(new.key)),
        };
        let before = self.objects[place.get()].clone();
        let mut earlier = None;
        let mut is_partly_unknown = false;
        if let RowContent::Shown { keeps: true, .. } = new.content {
            match before.state {
                ObjectState::Shown(place) if place.first != UNCHANGED => {
                    earlier = Some(Place::new(self.earlier.len()));
                    self.earlier.push(EarlierChange { place, earlier: before.earlier });
                    is_partly_unknown = before.is_partly_unknown;
                }
                // As the graph has it, if it has it.
                ObjectState::Shown(_) => is_partly_unknown = before.is_partly_unknown,
                ObjectState::Hidden | ObjectState::Gone => is_partly_unknown = true,
            }
        }
        if key != before.key {
            self.release(before.key, place);
            self.hold(key, place);
            if planted(Bug::KeysInStreamOrder) {
                self.objects[place.get()].origin = Some(key);
            }
        }
        let object = &mut self.objects[place.get()];
        (object.key, object.state) = (key, state(new.content, piece));
        object.content_hash = new.content_hash.map(ContentHash::new);
        (object.earlier, object.is_partly_unknown) = (earlier, is_partly_unknown);
    }

    pub(super) fn delete(&mut self, key: RowKey, old_hash: Option<ContentHash>) {
        let place = self.find(key, old_hash);
        let object = &mut self.objects[place.get()];
        object.state = ObjectState::Gone;
        let key = object.key;
        self.release(key, place);
    }

    /// The object that holds `key` and was what `hash` says; a new one, if that is the row that the graph has.
    fn find(&mut self, key: RowKey, hash: Option<ContentHash>) -> Place {
        let place = self.place_of(key);
        let found = &self.keys[place.get()];
        let is_base_free = !found.is_touched && !self.is_truncated;
        if let Some(object) = self.holder(found, hash, is_base_free) {
            return object;
        }
        let object = self.add(RowObject {
            origin: is_base_free.then_some(place),
            key: place,
            state: ObjectState::Shown(CellPlace { piece: 0, first: UNCHANGED, keeps: true }),
            content_hash: None,
            earlier: None,
            is_partly_unknown: !is_base_free,
        });
        self.keys[place.get()].is_touched |= is_base_free;
        self.hold(place, object);
        object
    }

    /// The object that holds `key` and was what `hash` says; the first one, if neither that nor the row of the graph is.
    fn holder(&self, key: &KeyFold, hash: Option<ContentHash>, is_base_free: bool) -> Option<Place> {
        let mut holders = self.holders(key);
        let first = holders.clone().next();
        if hash.is_none() {
            return first;
        }
        let is_same = |object: &Place| self.objects[object.get()].content_hash == hash;
        holders.find(is_same).or(first.filter(|_| !is_base_free))
    }

    fn add(&mut self, object: RowObject) -> Place {
        push(&mut self.objects, object);
        Place::new(self.objects.len() - 1)
    }

    fn hold(&mut self, key: Place, object: Place) {
        let key = &mut self.keys[key.get()];
        if key.holder.is_none() {
            key.holder = Some(object);
            return;
        }
        let others = *key.others.get_or_insert_with(|| {
            self.others.push(Vec::new());
            Place::new(self.others.len() - 1)
        });
        self.others[others.get()].push(object);
    }

    fn release(&mut self, key: Place, object: Place) {
        let key = &mut self.keys[key.get()];
        let others = key.others.map(|others| &mut self.others[others.get()]);
        match others {
            // Who has had it longest comes first.
            Some(others) if key.holder == Some(object) => {
                key.holder = (!others.is_empty()).then(|| others.remove(0));
            }
            Some(others) => others.retain(|other| *other != object),
            None => key.holder = key.holder.filter(|holder| *holder != object),
        }
    }

    fn place_of(&mut self, key: RowKey) -> Place {
        let hash = self.hasher.hash_one(&key);
        if let Some(place) = self.by_key.find(hash, |place| self.keys[*place as usize].key == key) {
            return Place::new(*place as usize);
        }
        let place = self.keys.len();
        push(&mut self.keys, KeyFold { key, is_touched: false, holder: None, others: None });
        let (keys, hasher) = (&self.keys, &self.hasher);
        let stored = u32::try_from(place).expect("keys within the limit of memory are few");
        self.by_key.insert_unique(hash, stored, |place| hasher.hash_one(&keys[*place as usize].key));
        Place::new(place)
    }

    /// Memory that it takes beyond what it has from a transaction before, in bytes, about.
    pub(super) fn heap_bytes(&self) -> usize {
        self.allocated_bytes().saturating_sub(self.spare_bytes)
    }

    /// All memory that it has, in bytes, about.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<RowObject>()
            + self.keys.capacity() * size_of::<KeyFold>()
            + self.by_key.capacity() * size_of::<u32>()
            + self.earlier.capacity() * size_of::<EarlierChange>()
            // One other holder each, mostly.
            + self.others.capacity() * size_of::<Vec<Place>>()
            + self.others.len() * size_of::<[Place; 4]>()
    }
}

/// Stands for the cells of a row that no change has touched: an object is never left so.
const UNCHANGED: u32 = u32::MAX;

fn state(content: RowContent, piece: u32) -> ObjectState {
    match content {
        RowContent::Hidden => ObjectState::Hidden,
        RowContent::Shown { cells, keeps } => {
            let first = u32::try_from(cells).expect("cells within the limit of memory are few");
            ObjectState::Shown(CellPlace { piece, first, keeps })
        }
    }
}

impl RowObject {
    /// Where its cells are, and those of the changes before whose cells it keeps; nowhere unless it is shown.
    #[inline]
    pub(super) fn cell_places<'f>(&self, fold: &'f RuleFold) -> impl Iterator<Item = CellPlace> + use<'f> {
        let mut next = match self.state {
            ObjectState::Shown(place) => Some((place, self.earlier)),
            ObjectState::Gone | ObjectState::Hidden => None,
        };
        std::iter::from_fn(move || {
            let (place, earlier) = next?;
            next = earlier.map(|earlier| {
                let earlier = fold.earlier[earlier.get()];
                (earlier.place, earlier.earlier)
            });
            Some(place)
        })
    }

    /// The key by which the graph has it: its place in [`RuleFold::keys`].
    #[inline]
    pub(super) fn origin(&self) -> Option<usize> {
        self.origin.map(Place::get)
    }

    /// The key that it has, or had last.
    #[inline]
    pub(super) fn key(&self) -> usize {
        self.key.get()
    }

    /// Whether its last change keeps cells.
    pub(super) fn keeps(&self) -> bool {
        matches!(self.state, ObjectState::Shown(place) if place.keeps)
    }
}

impl Place {
    #[inline]
    fn new(place: usize) -> Self {
        let next = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
        Self(next.expect("rows and keys within the limit of memory are few"))
    }

    #[inline]
    fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl ContentHash {
    #[inline]
    pub(super) fn new(hash: u64) -> Self {
        Self(NonZeroU64::MIN | hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::value::Value;

    fn row(key: i64, cells: usize) -> NewRow {
        let content = RowContent::Shown { cells, keeps: false };
        NewRow { key: RowKey::one(Value::from(key)), content_hash: None, content }
    }

    #[test]
    fn a_row_of_a_large_transaction_takes_little_more_than_its_parts() {
        assert!(size_of::<RowObject>() <= 40 && size_of::<KeyFold>() <= 64);
        const ROWS: usize = 200_000;
        let mut fold = RuleFold::default();
        for number in 0..ROWS {
            assert!(fold.insert(row(number as i64, 2 * number), 0));
        }
        let bytes = fold.heap_bytes() / ROWS;
        assert!(bytes <= 140, "{bytes} bytes a row");
    }

    #[test]
    fn a_key_that_several_rows_hold_passes_to_the_one_that_has_had_it_longest() {
        let mut fold = RuleFold::default();
        assert!(fold.insert(row(1, 0), 0));
        assert!(!fold.insert(row(1, 10), 0) && !fold.insert(row(1, 20), 0), "somebody holds it");
        let shown = |fold: &RuleFold| fold.shown(fold.key(&RowKey::one(Value::from(1_i64))).unwrap());
        assert_eq!(shown(&fold), Some(0));
        fold.delete(RowKey::one(Value::from(1_i64)), None);
        assert_eq!(shown(&fold), Some(1));
        fold.update(Some(RowKey::one(Value::from(1_i64))), None, row(2, 30), 0);
        assert_eq!(shown(&fold), Some(2));
        fold.delete(RowKey::one(Value::from(1_i64)), None);
        assert_eq!(shown(&fold), None);
    }
}
