//! Row changes: what messages change, rule by rule, in the order of the stream.

use crate::translate::loss::LossCounts;
use crate::translate::rules::RuleNumber;
use evergraph_graph::value::Value;
use std::fmt;

/// What identifies a row for one rule: the key of its vertex or edge, or the keys of both ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RowKey {
    /// The key; of an edge that its ends identify, that of its start.
    pub first: Value,
    /// Of an edge that its ends identify, the key of its end.
    pub second: Option<Value>,
}

/// A cell of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellChange {
    /// It has this value now.
    Value(Value),
    /// It has none.
    Null,
    /// It has what it had: PostgreSQL did not send it.
    Kept,
}

/// What became of a row, as one rule sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowChange {
    /// The rule.
    pub rule: RuleNumber,
    /// What happened.
    pub event: RowEvent,
}

/// What happened to a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowEvent {
    /// It is new.
    Inserted(NewRow),
    /// It was there.
    Updated {
        /// The key that it had, if that was another one.
        old_key: Option<RowKey>,
        /// What it was, as [`NewRow::content_hash`].
        old_hash: Option<u64>,
        /// What it is.
        new: NewRow,
    },
    /// It is gone.
    Deleted {
        /// The key that it had.
        key: RowKey,
        /// What it was, as [`NewRow::content_hash`].
        old_hash: Option<u64>,
    },
    /// All rows of the rule's table are gone.
    Truncated,
}

/// A row as it is after a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRow {
    /// What identifies it.
    pub key: RowKey,
    /// Tells rows apart that share a key for a moment, where PostgreSQL sends rows as they were (REPLICA IDENTITY FULL):
    /// rows with equal columns have equal hashes.
    pub content_hash: Option<u64>,
    /// What it is in the graph.
    pub content: RowContent,
}

/// What a row is in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowContent {
    /// Nothing: the condition leaves it out, or an end is null.
    Hidden,
    /// A vertex or an edge.
    Shown {
        /// Where its cells begin, among those of its [`RowChanges`].
        cells: usize,
        /// Whether one of them is [`CellChange::Kept`].
        keeps: bool,
    },
}

/// Cells of a change, for most tables.
const CELLS_OF_CHANGE: usize = 4;

/// Changes in the order of the stream.
///
/// Memory: some 200 bytes a change, 24 bytes a cell, and the texts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowChanges {
    changes: Vec<RowChange>,
    cells: Vec<CellChange>,
    value_bytes: usize,
    losses: LossCounts,
}

/// What [`RowChanges`] are made of.
#[derive(Debug, Default)]
pub struct RowChangeParts {
    /// The changes, in order.
    pub changes: Vec<RowChange>,
    /// The cells of all changes.
    pub cells: Vec<CellChange>,
    /// Bytes behind keys and cells.
    pub value_bytes: usize,
    /// What became neither vertex, edge nor property.
    pub losses: LossCounts,
}

impl RowKey {
    /// The key of a vertex, or of an edge that has one.
    #[must_use]
    #[inline]
    pub fn one(key: Value) -> Self {
        Self { first: key, second: None }
    }

    /// Bytes behind it.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.first.heap_bytes() + self.second.as_ref().map_or(0, Value::heap_bytes)
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.second {
            Some(second) => write!(f, "({}, {second})", self.first),
            None => write!(f, "{}", self.first),
        }
    }
}

impl CellChange {
    /// The value, if it has one now.
    #[must_use]
    #[inline]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Null | Self::Kept => None,
        }
    }

    /// The cell of a property that has this value, or none.
    #[must_use]
    pub fn of(value: Option<Value>) -> Self {
        value.map_or(Self::Null, Self::Value)
    }

    /// Memory of its value beside itself, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.value().map_or(0, Value::heap_bytes)
    }
}

impl RowChanges {
    /// No changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No changes, and room for so many.
    #[must_use]
    pub fn with_capacity(changes: usize) -> Self {
        let changes = Vec::with_capacity(changes);
        let cells = Vec::with_capacity(CELLS_OF_CHANGE * changes.capacity());
        Self { changes, cells, ..Self::default() }
    }

    /// The changes, in order.
    #[must_use]
    #[inline]
    pub fn changes(&self) -> &[RowChange] {
        &self.changes
    }

    /// The cells of all changes.
    #[must_use]
    #[inline]
    pub fn cells(&self) -> &[CellChange] {
        &self.cells
    }

    /// What became neither vertex, edge nor property.
    #[must_use]
    pub fn losses(&self) -> &LossCounts {
        &self.losses
    }

    /// How many changes there are: one a row and rule.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there is none, and nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.losses.is_empty()
    }

    /// Memory that it takes, in bytes, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.changes.capacity() * size_of::<RowChange>()
            + self.cells.capacity() * size_of::<CellChange>()
            + self.value_bytes
    }

    /// Its parts, for whoever keeps only some of them.
    #[must_use]
    pub fn into_parts(self) -> RowChangeParts {
        let Self { changes, cells, value_bytes, losses } = self;
        RowChangeParts { changes, cells, value_bytes, losses }
    }

    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.changes.clear();
        self.cells.clear();
        self.value_bytes = 0;
        self.losses.clear();
    }

    pub(super) fn losses_mut(&mut self) -> &mut LossCounts {
        &mut self.losses
    }

    pub(super) fn push_cell(&mut self, cell: CellChange) {
        self.value_bytes += cell.heap_bytes();
        self.cells.push(cell);
    }

    pub(super) fn swap_cells(&mut self, one: usize, other: usize) {
        self.cells.swap(one, other);
    }

    /// Adds a change, whose cells were pushed before.
    pub(super) fn push(&mut self, rule: RuleNumber, event: RowEvent) {
        self.value_bytes += match &event {
            RowEvent::Inserted(new) => new.key.heap_bytes(),
            RowEvent::Updated { old_key, new, .. } => {
                new.key.heap_bytes() + old_key.as_ref().map_or(0, RowKey::heap_bytes)
            }
            RowEvent::Deleted { key, .. } => key.heap_bytes(),
            RowEvent::Truncated => 0,
        };
        self.changes.push(RowChange { rule, event });
    }
}
