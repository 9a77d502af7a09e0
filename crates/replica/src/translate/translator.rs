//! `Translator`: messages of the stream as changes of rows.

use crate::mapping::plan::{Plan, TablePlan};
use crate::pgoutput::message::{Message, OldRow};
use crate::pgoutput::relation::{Oid, Relation};
use crate::pgoutput::tuple::{Cell, Tuple};
use crate::translate::binding::TableBinding;
use crate::translate::pause::{Drift, Halt, RESYNC, Recovery};
use crate::translate::row_change::{NewRow, RowChanges, RowContent, RowEvent, RowKey};
use crate::translate::row_reader::RowReader;
use crate::translate::rules::{RuleNumber, Rules};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Columns of a row that are arranged without taking memory.
const STACK_COLUMNS: usize = 16;

/// A plan, bound to the tables that a stream has described so far. A clone shares both.
#[derive(Clone, Debug)]
pub struct Translator {
    rules: Arc<Rules>,
    bindings: Arc<HashMap<Oid, TableBinding>>,
    added: Arc<BTreeSet<(Oid, Box<str>)>>,
}

/// A row before and after, in the order of the plan's columns.
#[derive(Clone, Copy)]
struct RowPair<'a, 'b> {
    old: Option<&'b [Cell<'a>]>,
    new: Option<&'b [Cell<'a>]>,
    /// Whether the row is new. If not and `old` isn't there, its key is the same.
    is_insert: bool,
    old_hash: Option<u64>,
    new_hash: Option<u64>,
}

impl Translator {
    /// A translator of streams that have described nothing yet.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        Self { rules: Arc::new(Rules::new(plan)), bindings: Arc::default(), added: Arc::default() }
    }

    /// The same, where transactions of the stream add the columns `added`, by table and name: they are null in the rows of
    /// their table until a description has them.
    #[must_use]
    pub fn with_added_columns(self, added: BTreeSet<(Oid, Box<str>)>) -> Self {
        Self { added: Arc::new(added), ..self }
    }

    /// One with the same rules that knows no description: rows of tables that nobody describes to it are refused.
    #[must_use]
    pub fn undescribed(&self) -> Self {
        let (rules, added) = (Arc::clone(&self.rules), Arc::clone(&self.added));
        Self { rules, bindings: Arc::default(), added }
    }

    /// The rules, by the numbers that changes have.
    #[must_use]
    pub fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Takes a description of a table, which holds for the messages after it. Tables without rules are passed over; so are
    /// columns that rules don't need.
    ///
    /// # Errors
    /// [`Drift`] if a column that rules need, its type, the identity or the table's name is another than when the plan was made.
    pub fn describe(&mut self, relation: &Relation) -> Result<(), Drift> {
        let Some((table, _)) = self.rules.of_table(relation.id) else {
            let is_same =
                |table: &&TablePlan| (&*table.schema, &*table.name) == (&*relation.schema, &*relation.name);
            return match self.rules.plan().tables.iter().find(is_same) {
                None => Ok(()),
                Some(table) => Err(Drift {
                    table: crate::mapping::sql_name::display_table(&table.schema, &table.name),
                    column: None,
                    cause: "was dropped and created again".to_owned(),
                    remedy: RESYNC.to_owned(),
                }),
            };
        };
        let before = self.bindings.get(&relation.id);
        let may_lack = |index: usize| {
            let name = table.columns[index].name.clone();
            !before.is_some_and(|binding| binding.has(index)) && self.added.contains(&(relation.id, name))
        };
        let binding = TableBinding::new(table, relation, may_lack)?;
        Arc::make_mut(&mut self.bindings).insert(relation.id, binding);
        Ok(())
    }

    /// Appends to `out` what one message changes: nothing, unless it is about rows of tables with rules.
    ///
    /// Cost: one pass over the texts of the row for each rule of its table.
    ///
    /// # Errors
    /// [`Halt`] for what the graph can't be told of without more knowledge; `out` then has a part of the row.
    pub fn translate(&self, message: &Message<'_>, out: &mut RowChanges) -> Result<(), Halt> {
        match message {
            Message::Insert { relation, new, .. } => {
                self.row(*relation, OldRow::SameKey, Some(*new), Kind::Insert, out)
            }
            Message::Update { relation, old, new, .. } => {
                self.row(*relation, *old, Some(*new), Kind::Update, out)
            }
            Message::Delete { relation, old, .. } => self.row(*relation, *old, None, Kind::Delete, out),
            Message::Truncate { relations, .. } => {
                for relation in relations {
                    let Some((_, rules)) = self.rules.of_table(*relation) else { continue };
                    rules.for_each(|rule| out.push(rule, RowEvent::Truncated));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Appends to `out` that a row is new, whose cells are in the order of the plan's columns for its table: a row of COPY.
    ///
    /// # Errors
    /// [`Halt`], also if there are more or fewer cells.
    pub fn insert(&self, table: Oid, cells: &[Cell<'_>], out: &mut RowChanges) -> Result<(), Halt> {
        let Some((plan, rules)) = self.rules.of_table(table) else { return Ok(()) };
        if cells.len() != plan.columns.len() {
            let cause = format!("a row of {} columns expected, found {}", plan.columns.len(), cells.len());
            return Err(Halt::new(plan, None, cause, "", Recovery::Resync));
        }
        let pair = RowPair { old: None, new: Some(cells), is_insert: true, old_hash: None, new_hash: None };
        rules.into_iter().try_for_each(|rule| self.row_by_rule(plan, rule, pair, out))
    }

    fn row<'a>(
        &self,
        relation: Oid,
        old: OldRow<'a>,
        new: Option<Tuple<'a>>,
        kind: Kind,
        out: &mut RowChanges,
    ) -> Result<(), Halt> {
        let Some((plan, rules)) = self.rules.of_table(relation) else { return Ok(()) };
        let Some(binding) = self.bindings.get(&relation) else {
            let cause = "a row came before the description of its table";
            return Err(Halt::new(plan, None, cause, "", Recovery::Restart));
        };
        let old_tuple = match old {
            OldRow::SameKey => None,
            OldRow::Key(tuple) | OldRow::Whole(tuple) => Some(tuple),
        };
        if old_tuple.into_iter().chain(new).any(|tuple| !binding.fits(tuple)) {
            let cause = format!("a row of {} columns expected, as its table was described", binding.len());
            return Err(Halt::new(plan, None, cause, "", Recovery::Restart));
        }
        if kind == Kind::Delete && old_tuple.is_none() {
            let cause = "a deleted row came without its key";
            return Err(Halt::new(plan, None, cause, "", Recovery::Restart));
        }
        let count = plan.columns.len();
        let mut stack = [Cell::Null; STACK_COLUMNS];
        let mut heap = Vec::new();
        let new_cells = if count <= STACK_COLUMNS {
            &mut stack[..count]
        } else {
            heap.resize(count, Cell::Null);
            &mut heap[..]
        };
        // Most updates leave the key alone, and come without it.
        let mut old_cells = Vec::new();
        if let Some(tuple) = old_tuple {
            old_cells.resize(count, Cell::Null);
            binding.arrange(tuple.cells(), &mut old_cells);
        }
        if let Some(tuple) = new {
            binding.arrange(tuple.cells(), new_cells);
            if old_tuple.is_some() {
                binding.complete(new_cells, &old_cells);
            }
        }
        let is_whole = matches!(old, OldRow::Whole(_));
        let pair = RowPair {
            old: old_tuple.map(|_| &old_cells[..]),
            new: new.map(|_| &*new_cells),
            is_insert: kind == Kind::Insert,
            old_hash: if is_whole { binding.content_hash(&old_cells) } else { None },
            new_hash: if new.is_some() { binding.content_hash(new_cells) } else { None },
        };
        rules.into_iter().try_for_each(|rule| self.row_by_rule(plan, rule, pair, out))
    }

    fn row_by_rule(
        &self,
        table: &TablePlan,
        rule: RuleNumber,
        pair: RowPair<'_, '_>,
        out: &mut RowChanges,
    ) -> Result<(), Halt> {
        let reader = RowReader { table, rule: self.rules.rule(rule) };
        let old_key = pair.old.map(|old| reader.old_key(old)).transpose()?;
        let Some(cells) = pair.new else {
            if let Some(key) = old_key.flatten() {
                out.push(rule, RowEvent::Deleted { key, old_hash: pair.old_hash });
            }
            return Ok(());
        };
        let Some(key) = reader.new_key(cells, out)? else {
            // What had a key and has none any more is no vertex or edge any more.
            if let Some(key) = old_key.flatten() {
                out.push(rule, RowEvent::Deleted { key, old_hash: pair.old_hash });
            }
            return Ok(());
        };
        let content = match reader.selects(cells, out)? {
            true => reader.read(cells, out)?,
            false => RowContent::Hidden,
        };
        let new = NewRow { key, content_hash: pair.new_hash, content };
        let event = match old_key {
            _ if pair.is_insert => RowEvent::Inserted(new),
            // It had no key, so that there was nothing.
            Some(None) => RowEvent::Inserted(new),
            Some(Some(old)) => {
                RowEvent::Updated { old_key: other_key(old, &new.key), old_hash: pair.old_hash, new }
            }
            None => RowEvent::Updated { old_key: None, old_hash: None, new },
        };
        out.push(rule, event);
        Ok(())
    }
}

/// Which statement a row comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Insert,
    Update,
    Delete,
}

fn other_key(old: RowKey, new: &RowKey) -> Option<RowKey> {
    (old != *new).then_some(old)
}
