//! `TransactionFold`: what a transaction comes to, row by row, whatever it did in between. It looks at no graph.
//!
//! ```text
//! object   a row that the transaction touched   origin: the key by which the graph has it, or none: it is new
//!                                               key: the one that it has now
//!                                               changes: the last one, and those before it as far as it keeps cells
//! key      what stood under it before           touched: an object has it as its origin
//!          who holds it now                     for a moment perhaps several (deferrable constraints)
//! ```
//!
//! A change of key K is one of the object that holds K. If several hold it, which takes a deferrable constraint and hence
//! REPLICA IDENTITY FULL, it is the one that was what the change says the row was.

use crate::apply::error::{ApplyResult, too_large};
use crate::apply::planted::{Bug, planted};
use crate::mapping::plan::Plan;
use crate::translate::loss::LossCounts;
use crate::translate::pause::{Halt, RESYNC};
use crate::translate::row_change::{CellChange, NewRow, RowChanges, RowContent, RowEvent, RowKey};
use crate::translate::rules::{RuleNumber, Rules};
use evergraph_graph::byte_size::ByteSize;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher as _;
use std::sync::Arc;

/// Memory of one transaction's changes, at most.
pub const FOLD_BYTES_MAX: usize = 1 << 30;

/// The net effect of one transaction.
///
/// Memory: that of its changes, and some 200 bytes a row and rule. Clear it and use it again: small transactions then take
/// little new memory.
#[derive(Debug)]
pub struct TransactionFold {
    pieces: Vec<RowChanges>,
    pieces_bytes: usize,
    /// For each rule, its place in `touched` plus one.
    places: Vec<u32>,
    touched: Vec<RuleFold>,
    /// Rule folds to be used again.
    spare: Vec<RuleFold>,
}

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
    key_bytes: usize,
}

/// A row that the transaction touched.
#[derive(Clone, Debug)]
pub(super) struct RowObject {
    /// The key by which the graph has it: its place in [`RuleFold::keys`].
    pub(super) origin: Option<usize>,
    /// The key that it has, or had last.
    pub(super) key: usize,
    pub(super) state: ObjectState,
    content_hash: Option<u64>,
    /// The change before the last one, if that one keeps cells.
    earlier: Option<u32>,
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
    piece: u32,
    first: usize,
    keeps: bool,
}

/// A change whose cells a later one keeps.
#[derive(Clone, Copy, Debug)]
struct EarlierChange {
    place: CellPlace,
    earlier: Option<u32>,
}

/// What the transaction did under one key.
#[derive(Clone, Debug)]
pub(super) struct KeyFold {
    pub(super) key: RowKey,
    /// Whether an object is the row that the graph has, or had, under this key.
    pub(super) is_touched: bool,
    /// Who holds it now.
    holder: Option<u32>,
    /// Others that hold it, too.
    others: Vec<u32>,
}

impl TransactionFold {
    /// A transaction without changes, of streams that are translated by `plan`.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        Self::of_rules(&Rules::new(plan))
    }

    /// As [`TransactionFold::new`], for who has the rules already.
    #[must_use]
    pub fn of_rules(rules: &Rules) -> Self {
        let places = vec![0; rules.len()];
        Self { pieces: Vec::new(), pieces_bytes: 0, places, touched: Vec::new(), spare: Vec::new() }
    }

    /// Adds changes, which come after those before.
    ///
    /// Cost: some 100 ns a change.
    ///
    /// # Errors
    /// [`Halt`] if the transaction has more than [`FOLD_BYTES_MAX`] of changes.
    pub fn push(&mut self, changes: RowChanges) -> Result<(), Halt> {
        if changes.is_empty() {
            return Ok(());
        }
        let bytes = changes.heap_bytes();
        let piece = u32::try_from(self.pieces.len()).expect("pieces of less than 1 GiB are few");
        for change in changes.changes() {
            let fold = self.rule_fold(change.rule);
            match &change.event {
                RowEvent::Inserted(new) => fold.insert(new, piece),
                RowEvent::Updated { old_key, old_hash, new } => {
                    fold.update(old_key.as_ref().unwrap_or(&new.key), *old_hash, new, piece);
                }
                RowEvent::Deleted { key, old_hash } => fold.delete(key, *old_hash),
                RowEvent::Truncated => fold.truncate(),
            }
        }
        self.pieces.push(changes);
        self.pieces_bytes += bytes;
        let bytes = self.heap_bytes();
        if bytes > FOLD_BYTES_MAX {
            let most = ByteSize(FOLD_BYTES_MAX as u64);
            return Err(too_large(format!(
                "{} of changed rows, and {most} is the most",
                ByteSize(bytes as u64)
            )));
        }
        Ok(())
    }

    /// Memory that it takes, in bytes, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.pieces_bytes + self.touched.iter().map(RuleFold::heap_bytes).sum::<usize>()
    }

    /// Whether the graph stays as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    /// Makes it a transaction without changes. Keeps memory, if it is little.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.pieces_bytes = 0;
        for mut fold in self.touched.drain(..) {
            self.places[fold.rule] = 0;
            if fold.keys.capacity() <= SPARE_KEYS_MAX {
                fold.clear();
                self.spare.push(fold);
            }
        }
    }

    /// What became neither vertex, edge nor property.
    #[must_use]
    pub fn losses(&self) -> LossCounts {
        let mut losses = LossCounts::default();
        self.pieces.iter().for_each(|piece| losses.add(piece.losses()));
        losses
    }

    /// The rules that were touched.
    pub(super) fn touched(&self) -> &[RuleFold] {
        &self.touched
    }

    /// The effect on the rows of a rule.
    pub(super) fn of_rule(&self, rule: RuleNumber) -> Option<&RuleFold> {
        let place = self.places[rule].checked_sub(1)?;
        Some(&self.touched[place as usize])
    }

    /// The cell `cell` of a row in the end, as far as changes say.
    #[inline]
    pub(super) fn cell(&self, fold: &RuleFold, object: &RowObject, cell: usize) -> &CellChange {
        let ObjectState::Shown(mut place) = object.state else { return &CellChange::Null };
        let mut earlier = object.earlier;
        loop {
            let found = &self.pieces[place.piece as usize].cells()[place.first + cell];
            match (found, earlier) {
                (CellChange::Kept, Some(before)) => {
                    let before = fold.earlier[before as usize];
                    (place, earlier) = (before.place, before.earlier);
                }
                (found, _) => return found,
            }
        }
    }

    fn rule_fold(&mut self, rule: RuleNumber) -> &mut RuleFold {
        if self.places[rule] == 0 {
            let mut fold = self.spare.pop().unwrap_or_default();
            fold.rule = rule;
            self.touched.push(fold);
            self.places[rule] = u32::try_from(self.touched.len()).expect("a mapping has fewer rules");
        }
        &mut self.touched[self.places[rule] as usize - 1]
    }
}

/// Keys for which a rule's memory is kept for the next transaction.
const SPARE_KEYS_MAX: usize = 1024;

impl RuleFold {
    /// The row that is shown under a key in the end.
    pub(super) fn shown(&self, key: &KeyFold) -> Option<usize> {
        let is_shown = |object: &u32| matches!(self.objects[*object as usize].state, ObjectState::Shown(_));
        let holder = key.holder.iter().chain(&key.others).copied().find(|object| is_shown(object))?;
        Some(holder as usize)
    }

    /// What was done under `key`.
    pub(super) fn key(&self, key: &RowKey) -> Option<&KeyFold> {
        let hash = self.hasher.hash_one(key);
        let found = self.by_key.find(hash, |place| self.keys[*place as usize].key == *key)?;
        Some(&self.keys[*found as usize])
    }

    /// Refuses two rows with one key.
    pub(super) fn check(&self, rules: &Rules) -> ApplyResult<()> {
        for key in self.keys.iter().filter(|key| !key.others.is_empty()) {
            let holders = key.holder.iter().chain(&key.others);
            let is_shown =
                |object: &&u32| matches!(self.objects[**object as usize].state, ObjectState::Shown(_));
            if holders.filter(is_shown).count() > 1 {
                let cause = format!("two rows have the key {} at the end of a transaction", key.key);
                return Err(Halt::new(rules.table(self.rule), None, cause, RESYNC).into());
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.is_truncated = false;
        self.objects.clear();
        self.keys.clear();
        self.by_key.clear();
        self.earlier.clear();
        self.key_bytes = 0;
    }

    fn truncate(&mut self) {
        self.clear();
        self.is_truncated = true;
    }

    fn insert(&mut self, new: &NewRow, piece: u32) {
        let key = self.place_of(&new.key);
        let object = self.add(RowObject {
            origin: None,
            key,
            state: state(new.content, piece),
            content_hash: new.content_hash,
            earlier: None,
            is_partly_unknown: false,
        });
        self.keys[key].hold(object);
    }

    fn update(&mut self, old_key: &RowKey, old_hash: Option<u64>, new: &NewRow, piece: u32) {
        let place = self.find(old_key, old_hash);
        let before = self.objects[place as usize].clone();
        let mut earlier = None;
        let mut is_partly_unknown = false;
        if let RowContent::Shown { keeps: true, .. } = new.content {
            match before.state {
                ObjectState::Shown(place) if place.first != UNCHANGED => {
                    earlier = Some(u32::try_from(self.earlier.len()).expect("changes take more than 1 GiB"));
                    self.earlier.push(EarlierChange { place, earlier: before.earlier });
                    is_partly_unknown = before.is_partly_unknown;
                }
                // As the graph has it, if it has it.
                ObjectState::Shown(_) => is_partly_unknown = before.is_partly_unknown,
                ObjectState::Hidden | ObjectState::Gone => is_partly_unknown = true,
            }
        }
        let key = if new.key == *old_key { before.key } else { self.place_of(&new.key) };
        if key != before.key {
            self.keys[before.key].release(place);
            self.keys[key].hold(place);
            if planted(Bug::KeysInStreamOrder) {
                self.objects[place as usize].origin = Some(key);
            }
        }
        let object = &mut self.objects[place as usize];
        (object.key, object.state, object.content_hash) = (key, state(new.content, piece), new.content_hash);
        (object.earlier, object.is_partly_unknown) = (earlier, is_partly_unknown);
    }

    fn delete(&mut self, key: &RowKey, old_hash: Option<u64>) {
        let place = self.find(key, old_hash);
        let object = &mut self.objects[place as usize];
        object.state = ObjectState::Gone;
        let key = object.key;
        self.keys[key].release(place);
    }

    /// The object that holds `key` and was what `hash` says; a new one, if that is the row that the graph has.
    fn find(&mut self, key: &RowKey, hash: Option<u64>) -> u32 {
        let place = self.place_of(key);
        let found = &self.keys[place];
        let mut holders = found.holder.iter().chain(&found.others).copied();
        let is_base_free = !found.is_touched && !self.is_truncated;
        let first = holders.clone().next();
        let object = match hash {
            Some(_) => holders
                .find(|object| self.objects[*object as usize].content_hash == hash)
                .or(first.filter(|_| !is_base_free)),
            None => first,
        };
        if let Some(object) = object {
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
        self.keys[place].is_touched |= is_base_free;
        self.keys[place].hold(object);
        object
    }

    fn add(&mut self, object: RowObject) -> u32 {
        self.objects.push(object);
        u32::try_from(self.objects.len() - 1).expect("rows take more than 1 GiB")
    }

    fn place_of(&mut self, key: &RowKey) -> usize {
        let hash = self.hasher.hash_one(key);
        if let Some(place) = self.by_key.find(hash, |place| self.keys[*place as usize].key == *key) {
            return *place as usize;
        }
        let place = self.keys.len();
        self.keys.push(KeyFold { key: key.clone(), is_touched: false, holder: None, others: Vec::new() });
        self.key_bytes += key.heap_bytes();
        let (keys, hasher) = (&self.keys, &self.hasher);
        let stored = u32::try_from(place).expect("keys take more than 1 GiB");
        self.by_key.insert_unique(hash, stored, |place| hasher.hash_one(&keys[*place as usize].key));
        place
    }

    fn heap_bytes(&self) -> usize {
        self.objects.capacity() * size_of::<RowObject>()
            + self.keys.capacity() * size_of::<KeyFold>()
            + self.by_key.capacity() * size_of::<u32>()
            + self.earlier.capacity() * size_of::<EarlierChange>()
            + self.key_bytes
    }
}

/// Stands for the cells of a row that no change has touched: an object is never left so.
const UNCHANGED: usize = usize::MAX;

fn state(content: RowContent, piece: u32) -> ObjectState {
    match content {
        RowContent::Hidden => ObjectState::Hidden,
        RowContent::Shown { cells, keeps } => ObjectState::Shown(CellPlace { piece, first: cells, keeps }),
    }
}

impl RowObject {
    /// Whether its last change keeps cells.
    pub(super) fn keeps(&self) -> bool {
        matches!(self.state, ObjectState::Shown(place) if place.keeps)
    }
}

impl KeyFold {
    fn hold(&mut self, object: u32) {
        match self.holder {
            None => self.holder = Some(object),
            Some(_) => self.others.push(object),
        }
    }

    fn release(&mut self, object: u32) {
        if self.holder == Some(object) {
            // Who has had it longest comes first.
            self.holder = if self.others.is_empty() { None } else { Some(self.others.remove(0)) };
        } else {
            self.others.retain(|other| *other != object);
        }
    }
}
