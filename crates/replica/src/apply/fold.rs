//! `TransactionFold`: what a transaction comes to, row by row, whatever it did in between. It looks at no graph.
//!
//! ```text
//! object   a row that the transaction touched   origin: the key by which the graph has it, or none: it is new
//!                                               key: the one that it has now
//!                                               changes: the last one, and those before it as far as it keeps cells
//! key      what stood under it before           touched: an object has it as its origin
//!          who holds it now                     for a moment perhaps several (deferrable constraints)
//! cells    those of all changes, a piece of the stream after the other; of the changes themselves nothing stays
//! ```
//!
//! A change of key K is one of the object that holds K. If several hold it, which takes a deferrable constraint and hence
//! REPLICA IDENTITY FULL, it is the one that was what the change says the row was.
//!
//! A transaction that takes more memory than it may goes to a temporary file, if it has inserted rows alone so far: what it
//! comes to is known without looking at them together. It is loaded in bulk then (`bulk_load.rs`).

use crate::apply::error::{ApplyResult, too_large};
use crate::apply::limits::TransactionLimits;
use crate::apply::rule_fold::{ContentHash, KeyFold, ObjectState, RowObject, RuleFold};
use crate::apply::spilled_rows::{RowVisitor, SpilledRows};
use crate::mapping::plan::Plan;
use crate::translate::loss::LossCounts;
use crate::translate::pause::Halt;
use crate::translate::row_change::{
    CellChange, NewRow, RowChange, RowChangeParts, RowChanges, RowContent, RowEvent,
};
use crate::translate::rules::{RuleNumber, Rules};
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::Result;
use std::sync::Arc;

/// Which rows of a fold were visited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct FoldCursor {
    touched: usize,
    object: usize,
}

/// The net effect of one transaction.
///
/// Memory: some 110 bytes a row and rule, its cells at 24 bytes each, and the texts. Clear it and use it again: small
/// transactions then take little new memory.
#[derive(Debug)]
pub struct TransactionFold {
    limits: TransactionLimits,
    /// How many cells a change of each rule has.
    widths: Vec<usize>,
    /// The cells of each piece.
    pieces: Vec<Vec<CellChange>>,
    pieces_bytes: usize,
    losses: LossCounts,
    /// For each rule, its place in `touched` plus one.
    places: Vec<u32>,
    touched: Vec<RuleFold>,
    /// Rule folds to be used again.
    spare: Vec<RuleFold>,
    /// Whether it inserts rows and does nothing else.
    is_inserts_only: bool,
    /// What it would take in memory, by its changes alone.
    bytes_estimate: usize,
    /// All of its rows, if memory does not hold them.
    spilled: Option<SpilledRows>,
    /// Whether memory does not hold them, and a file does not help: it has forgotten them.
    is_too_large: bool,
}

impl TransactionFold {
    /// A transaction without changes, of streams that are translated by `plan`.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        Self::of_rules(&Rules::new(plan), TransactionLimits::default())
    }

    /// As [`TransactionFold::new`], for who has the rules already, with other limits.
    #[must_use]
    pub fn of_rules(rules: &Rules, limits: TransactionLimits) -> Self {
        Self {
            limits,
            widths: (0..rules.len()).map(|rule| rules.width(rule)).collect(),
            pieces: Vec::new(),
            pieces_bytes: 0,
            losses: LossCounts::default(),
            places: vec![0; rules.len()],
            touched: Vec::new(),
            spare: Vec::new(),
            is_inserts_only: true,
            bytes_estimate: 0,
            spilled: None,
            is_too_large: false,
        }
    }

    /// Adds changes, which come after those before.
    ///
    /// Cost: some 100 ns a change.
    ///
    /// # Errors
    /// `limit` on a full disk and `io`, where inserted rows go to a temporary file. What is too large is an error when it is
    /// applied, which then knows how large all of it is.
    pub fn push(&mut self, changes: RowChanges) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let RowChangeParts { changes, mut cells, value_bytes, losses } = changes.into_parts();
        if !losses.is_empty() {
            self.losses.add(&losses);
        }
        self.bytes_estimate +=
            changes.len() * ROW_BYTES + cells.len() * size_of::<CellChange>() + value_bytes;
        if self.is_too_large {
            return Ok(());
        }
        if self.spilled.is_some() {
            return self.spill(changes, &cells);
        }
        let piece = u32::try_from(self.pieces.len()).expect("pieces within the limit of memory are few");
        for change in changes {
            let fold = self.rule_fold(change.rule);
            match change.event {
                RowEvent::Inserted(new) => {
                    let is_plain = fold.insert(new, piece);
                    self.is_inserts_only &= is_plain;
                }
                RowEvent::Updated { old_key, old_hash, new } => {
                    fold.update(old_key, old_hash.map(ContentHash::new), new, piece);
                    self.is_inserts_only = false;
                }
                RowEvent::Deleted { key, old_hash } => {
                    fold.delete(key, old_hash.map(ContentHash::new));
                    self.is_inserts_only = false;
                }
                RowEvent::Truncated => {
                    fold.truncate();
                    self.is_inserts_only = false;
                }
            }
        }
        if cells.len() > SPARE_CELLS_MIN {
            cells.shrink_to_fit();
        }
        self.pieces_bytes += cells.capacity() * size_of::<CellChange>() + value_bytes;
        self.pieces.push(cells);
        if self.heap_bytes() > self.limits.bytes_max { self.overflow() } else { Ok(()) }
    }

    /// Memory that it takes, in bytes, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.pieces_bytes + self.touched.iter().map(RuleFold::heap_bytes).sum::<usize>()
    }

    /// Whether the graph stays as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty() && self.spilled.is_none() && !self.is_too_large
    }

    /// Makes it a transaction without changes. Keeps memory, if it is little.
    pub fn clear(&mut self) {
        self.forget_rows();
        self.losses.clear();
        self.is_inserts_only = true;
        self.bytes_estimate = 0;
        self.spilled = None;
        self.is_too_large = false;
    }

    /// What became neither vertex, edge nor property.
    #[must_use]
    pub fn losses(&self) -> &LossCounts {
        &self.losses
    }

    /// Counts what rows lost that are not here.
    pub(super) fn add_losses(&mut self, losses: &LossCounts) {
        self.losses.add(losses);
    }

    /// Refuses a transaction that takes more memory than it may, and whose rows are therefore not here.
    pub(super) fn check_size(&self) -> ApplyResult<()> {
        if !self.is_too_large {
            return Ok(());
        }
        let (bytes, bytes_max) =
            (ByteSize(self.bytes_estimate as u64), ByteSize(self.limits.bytes_max as u64));
        let cause = format!("{bytes} of changed rows, and {bytes_max} is the most");
        Err(too_large(cause, self.bytes_estimate).into())
    }

    /// Why its rows, which were inserted and are in a temporary file, cannot be written one by one.
    pub(super) fn too_large_for_one_by_one(&self) -> Halt {
        let bytes = ByteSize(self.bytes_estimate as u64);
        let cause = format!(
            "{bytes} of inserted rows, which are not loaded in bulk since something in the graph waits for one of them, or their \
             rule says missing = \"create\""
        );
        too_large(cause, self.bytes_estimate)
    }

    /// How much memory it may take, and what becomes of more.
    #[must_use]
    pub fn limits(&self) -> &TransactionLimits {
        &self.limits
    }

    /// Whether its rows are in a temporary file: they are visited by [`TransactionFold::visit_inserted`] alone.
    pub(super) fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// Whether a bulk load is the better way, or the only one: it inserts many rows and does nothing else.
    #[must_use]
    pub fn is_for_bulk_load(&self) -> bool {
        self.is_spilled() || self.is_inserts_only && self.heap_bytes() > self.limits.bulk_bytes_min
    }

    /// Visits all rows of a transaction that is for a bulk load: rule, key and cells of each.
    ///
    /// # Errors
    /// Those of `visit`; `io` and `corrupt` if the temporary file cannot be read.
    pub(super) fn visit_inserted(&self, visit: &mut RowVisitor<'_>) -> Result<()> {
        match &self.spilled {
            Some(spilled) => spilled.visit(visit),
            None => self.visit_folded(visit),
        }
    }

    /// The rules that were touched.
    pub(super) fn touched(&self) -> &[RuleFold] {
        &self.touched
    }

    /// The effect on the rows of a rule.
    pub(super) fn of_rule(&self, rule: RuleNumber) -> Option<&RuleFold> {
        Some(&self.touched[self.place_of(rule)?])
    }

    /// The place of a rule among the [`TransactionFold::touched`].
    pub(super) fn place_of(&self, rule: RuleNumber) -> Option<usize> {
        Some(self.places[rule].checked_sub(1)? as usize)
    }

    /// The cell `cell` of a row in the end, as far as changes say.
    #[inline]
    pub(super) fn cell(&self, fold: &RuleFold, object: &RowObject, cell: usize) -> &CellChange {
        let mut found = &CellChange::Null;
        for place in object.cell_places(fold) {
            found = &self.pieces[place.piece as usize][place.first as usize + cell];
            if *found != CellChange::Kept {
                break;
            }
        }
        found
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

    /// Forgets its rows, and keeps what they lost.
    pub(super) fn forget_rows(&mut self) {
        self.pieces.clear();
        self.pieces_bytes = 0;
        for mut fold in self.touched.drain(..) {
            self.places[fold.rule] = 0;
            if fold.allocated_bytes() <= SPARE_BYTES_MAX {
                fold.begin_again();
                self.spare.push(fold);
            }
        }
    }

    fn visit_folded(&self, visit: &mut RowVisitor<'_>) -> Result<()> {
        self.visit_some(&mut FoldCursor::default(), usize::MAX, visit).map(drop)
    }

    /// Visits the next `rows` rows, or all that are left, of a transaction in memory that inserts rows and does nothing else;
    /// whether these were the last ones.
    ///
    /// # Errors
    /// Those of `visit`.
    pub(super) fn visit_some(
        &self,
        cursor: &mut FoldCursor,
        rows: usize,
        visit: &mut RowVisitor<'_>,
    ) -> Result<bool> {
        let mut left = rows;
        while let Some(fold) = self.touched.get(cursor.touched) {
            let width = self.widths[fold.rule];
            let objects = &fold.objects[cursor.object..];
            let objects = &objects[..objects.len().min(left)];
            for object in objects {
                let ObjectState::Shown(place) = object.state else { continue };
                let first = place.first as usize;
                let cells = &self.pieces[place.piece as usize][first..first + width];
                visit(fold.rule, &fold.keys[object.key()].key, cells)?;
            }
            left -= objects.len();
            cursor.object += objects.len();
            if cursor.object < fold.objects.len() {
                return Ok(false);
            }
            *cursor = FoldCursor { touched: cursor.touched + 1, object: 0 };
        }
        Ok(true)
    }

    /// Moves all rows to a temporary file, if they were inserted; else forgets them.
    #[cold]
    fn overflow(&mut self) -> Result<()> {
        if !self.is_inserts_only {
            self.forget_rows();
            self.is_too_large = true;
            return Ok(());
        }
        let mut spilled = SpilledRows::new(&self.limits.folder, self.widths.clone());
        self.visit_folded(&mut |rule, key, cells| spilled.push(rule, key, cells))?;
        self.forget_rows();
        self.spilled = Some(spilled);
        Ok(())
    }

    /// Adds rows to those in the temporary file. After anything else than an insert all of them would be needed at once.
    #[cold]
    fn spill(&mut self, changes: Vec<RowChange>, cells: &[CellChange]) -> Result<()> {
        let Some(spilled) = &mut self.spilled else { return Ok(()) };
        for RowChange { rule, event } in changes {
            let RowEvent::Inserted(NewRow { key, content, .. }) = event else {
                (self.spilled, self.is_too_large) = (None, true);
                return Ok(());
            };
            match content {
                RowContent::Hidden => {}
                RowContent::Shown { cells: first, keeps: false } => {
                    spilled.push(rule, &key, &cells[first..first + self.widths[rule]])?;
                }
                RowContent::Shown { keeps: true, .. } => {
                    (self.spilled, self.is_too_large) = (None, true);
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// What a row takes beside its cells, about.
const ROW_BYTES: usize = size_of::<RowObject>() + size_of::<KeyFold>() + 2 * size_of::<u32>();

/// Bytes of a rule's memory that are kept for the next transaction.
const SPARE_BYTES_MAX: usize = 256 << 10;

/// Cells of a piece whose spare memory is worth giving back.
const SPARE_CELLS_MIN: usize = 4096;
