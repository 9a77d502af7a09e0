//! `EarlyRows`: what the rows of an open transaction come to, ahead of its commit.
//!
//! ```text
//! changes ──> fold ──many inserted rows, and nothing else──> filling of a bulk load
//!              │                                                │
//!              └── at the commit: applied as ever                └── at the commit: ends that were missing, load
//! ```
//!
//! Correctness never rests on it: the messages of the transaction stay where they are, and what early work cannot do, or does not
//! know how to, is done anew at the commit, in the ordinary way.

use crate::apply::applier::{Applied, Applier};
use crate::apply::bulk_plan::BulkPlan;
use crate::apply::error::{ApplyError, ApplyResult};
use crate::apply::filling::Filling;
use crate::apply::fold::{FoldCursor, TransactionFold};
use crate::apply::limits::TransactionLimits;
use crate::position::Position;
use crate::translate::row_change::{RowChangeParts, RowChanges};
use crate::translate::rules::Rules;
use evergraph::ownership::Ownership;
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_graph::error::{ErrorKind, Result};
use std::time::Instant;

/// Of the memory of a transaction, the part that a filling keeps beside the builder's.
const KEPT_PART: usize = 4;

/// The rows of an open transaction.
pub struct EarlyRows<'p> {
    /// All rows; what they lost alone once they are in the filling.
    fold: TransactionFold,
    filling: Option<Filling<'p>>,
    /// Which rows of the fold are in the filling, while not all of them are.
    moved: Option<FoldCursor>,
    may_create: Vec<bool>,
    keeps_keys: Vec<bool>,
}

impl<'p> EarlyRows<'p> {
    /// None yet.
    #[must_use]
    pub fn new(applier: &Applier, limits: TransactionLimits) -> Self {
        Self {
            fold: TransactionFold::of_rules(applier.rules(), limits),
            filling: None,
            moved: None,
            may_create: applier.creating_rules(),
            keeps_keys: applier.awaited_rules(),
        }
    }

    /// Adds changes, which come after those before; whether early work can go on. All rows of the fold were moved, if it has a
    /// filling.
    ///
    /// # Errors
    /// Those of the filling: whatever they are, the ordinary way may do.
    pub fn push(&mut self, rules: &Rules, ownership: &Ownership, changes: RowChanges) -> Result<bool> {
        let Some(filling) = &mut self.filling else {
            self.fold.push(changes)?;
            return Ok(true);
        };
        debug_assert!(self.moved.is_none(), "rows would come before others");
        filling.renew_known(ExistingGraph::of(ownership.database().snapshot()));
        let RowChangeParts { changes, cells, losses, .. } = changes.into_parts();
        self.fold.add_losses(&losses);
        for change in &changes {
            let is_taken = !self.may_create[change.rule]
                && filling.take_event(rules, change.rule, &change.event, &cells, &self.keeps_keys)?;
            if !is_taken {
                return Ok(false);
            }
        }
        // A snapshot that stays open keeps what others replace.
        filling.renew_known(ExistingGraph::default());
        Ok(self.has_room())
    }

    /// Whether the filling keeps as much as it may: keys for which somebody may wait, rows that change.
    fn has_room(&self) -> bool {
        let bytes_max = self.fold.limits().bytes_max / KEPT_PART;
        self.filling.as_ref().is_none_or(|filling| filling.heap_bytes() <= bytes_max)
    }

    /// Memory that it takes beside that of a load's builder, in bytes, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.fold.heap_bytes() + self.filling.as_ref().map_or(0, Filling::heap_bytes)
    }

    /// Whether there is a filling.
    #[must_use]
    pub fn is_filling(&self) -> bool {
        self.filling.is_some()
    }

    /// Whether rows of the fold are still on their way to the filling.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.moved.is_some()
    }

    /// Whether its rows are for a bulk load, and there is no filling yet.
    #[must_use]
    pub fn wants_filling(&self) -> bool {
        let rules = || self.fold.touched().iter().map(|touched| touched.rule);
        self.filling.is_none() && self.fold.is_for_bulk_load() && !rules().any(|rule| self.may_create[rule])
    }

    /// Begins a filling.
    ///
    /// # Errors
    /// As a copy into the graph.
    pub fn begin_filling(
        &mut self,
        applier: &Applier,
        plan: &'p BulkPlan,
        ownership: &Ownership,
    ) -> Result<()> {
        let known = ExistingGraph::of(ownership.database().snapshot());
        let mut filling = Filling::new(applier.rules(), plan, self.fold.limits(), known)?.eager();
        filling.renew_known(ExistingGraph::default());
        (self.filling, self.moved) = (Some(filling), Some(FoldCursor::default()));
        Ok(())
    }

    /// Moves up to `rows` rows of the fold to the filling, which then has them alone; whether early work can go on.
    ///
    /// # Errors
    /// As [`EarlyRows::push`].
    pub fn move_rows(&mut self, rows: usize, ownership: &Ownership) -> Result<bool> {
        let (Some(filling), Some(mut cursor)) = (&mut self.filling, self.moved.take()) else {
            return Ok(true);
        };
        filling.renew_known(ExistingGraph::of(ownership.database().snapshot()));
        let keeps_keys = &self.keeps_keys;
        let is_over = self.fold.visit_some(&mut cursor, rows, &mut |rule, key, cells| {
            filling.insert(rule, key, cells, keeps_keys[rule])
        })?;
        filling.renew_known(ExistingGraph::default());
        match is_over {
            true => self.fold.forget_rows(),
            false => self.moved = Some(cursor),
        }
        Ok(self.has_room())
    }

    /// The fold, if there is no filling: to be applied in the ordinary way.
    ///
    /// # Errors
    /// Itself, if there is one.
    pub fn into_fold(self) -> std::result::Result<TransactionFold, Box<Self>> {
        if self.filling.is_none() { Ok(self.fold) } else { Err(Box::new(self)) }
    }
}

impl Applier {
    /// Applies a transaction whose rows are in a filling, and sets the position: one commit, visible at once. `None` if that
    /// does not do for these rows: nothing has happened then.
    ///
    /// # Errors
    /// [`ApplyError::Graph`]: a full disk, `cancelled`, or a graph that failed.
    pub fn apply_early(
        &mut self,
        ownership: &mut Ownership,
        mut early: EarlyRows<'_>,
        position: &Position,
    ) -> ApplyResult<Option<Applied>> {
        let began = Instant::now();
        let mut load = || -> ApplyResult<Option<Applied>> {
            let Some(mut filling) = early.filling.take() else { return Ok(None) };
            debug_assert!(early.moved.is_none(), "rows would be missing");
            filling.renew_known(ExistingGraph::of(ownership.database().snapshot()));
            filling.hand_over()?;
            if self.is_awaited(ownership, &filling)? {
                return Ok(None);
            }
            let changes = self.vertex_changes(&ownership.database().snapshot(), &filling)?;
            let Some(changes) = changes else { return Ok(None) };
            self.load_filled(ownership, filling, &changes, &early.fold, position, began).map(Some)
        };
        match load() {
            Ok(applied) => Ok(applied),
            Err(ApplyError::Halt(_)) => Ok(None),
            // What it refuses the ordinary way refuses, too, and tells by its row; or it does without.
            Err(ApplyError::Graph(error))
                if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Limit | ErrorKind::Conflict)
                    && !error.is_full_disk() =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
