//! Space: ids that are unique among each other, and the vertices that they name.
//!
//! ```text
//! id 17 ──> entry 0 ──> run ──> row 0 of table Person
//! ```
//!
//! A space may hold vertices of several labels; a run says from which entry on its vertices belong to
//! which table. Those that the database has already are numbered from above.

use crate::import::assembly::id_column::{IdColumn, IdKind};
use crate::import::identity::{Inserted, IntegerIds, StringIds};
use crate::import::places::Places;

/// Ids that are unique among each other.
pub struct Space {
    /// What files call it.
    pub name: String,
    /// The file that spoke of it first.
    pub file: String,
    /// Where each vertex came from.
    pub places: Places,
    kind: IdKind,
    ids: Ids,
    /// Sorted by entry: whose rows the entries from there on are.
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    entry: u32,
    table: usize,
    /// The number of the first; numbers of new vertices ascend, those of existing ones descend.
    row: u32,
    is_new: bool,
}

enum Ids {
    Integers(IntegerIds),
    /// Texts, or values by their bytes.
    Bytes(StringIds),
}

impl Space {
    /// A space without ids, which are of `kind`.
    #[must_use]
    pub fn new(name: &str, kind: IdKind, file: &str) -> Self {
        let ids = match kind {
            IdKind::Integers => Ids::Integers(IntegerIds::new()),
            IdKind::Strings | IdKind::Values => Ids::Bytes(StringIds::new()),
        };
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            places: Places::default(),
            kind,
            ids,
            runs: Vec::new(),
        }
    }

    /// What its ids are.
    #[must_use]
    pub fn kind(&self) -> IdKind {
        self.kind
    }

    /// What errors call it.
    #[must_use]
    pub fn title(&self) -> String {
        if self.name.is_empty() {
            "the id space without a name".to_owned()
        } else {
            format!("id space {}", self.name)
        }
    }

    /// Gives the id at `row` of `ids` an entry, if it has none.
    ///
    /// # Panics
    /// If `ids` are not of the space's kind.
    pub fn insert(&mut self, ids: &IdColumn, row: usize) -> Inserted {
        match (&mut self.ids, ids) {
            (Ids::Integers(known), IdColumn::Integers(ids)) => known.insert(ids[row]),
            (Ids::Bytes(known), IdColumn::Strings(ids) | IdColumn::Values(ids)) => known.insert(ids.get(row)),
            _ => unreachable!("a file's ids are read as its space has them"),
        }
    }

    /// The table and row of the vertex with the id at `row` of `ids`.
    ///
    /// # Panics
    /// If `ids` are not of the space's kind.
    #[must_use]
    pub fn find(&self, ids: &IdColumn, row: usize) -> Option<(usize, u32)> {
        let entry = match (&self.ids, ids) {
            (Ids::Integers(known), IdColumn::Integers(ids)) => known.get(ids[row])?,
            (Ids::Bytes(known), IdColumn::Strings(ids) | IdColumn::Values(ids)) => known.get(ids.get(row))?,
            _ => unreachable!("a file's ids are read as its space has them"),
        };
        let run = match self.runs.as_slice() {
            [run] => run,
            runs => &runs[runs.partition_point(|run| run.entry <= entry) - 1],
        };
        let after = entry - run.entry;
        Some((run.table, if run.is_new { run.row + after } else { run.row - after }))
    }

    /// Notes that the vertex of `entry`, the last one so far, is `row` of `table`.
    pub fn note_run(&mut self, entry: u32, table: usize, row: u32) {
        // In one run entries and rows grow alike.
        let continues = self.runs.last().is_some_and(|run| {
            run.is_new && run.table == table && row.checked_sub(run.row) == Some(entry - run.entry)
        });
        if !continues {
            self.runs.push(Run { entry, table, row, is_new: true });
        }
    }

    /// Notes that the vertex of `entry`, the last one so far, is in the database and has the number
    /// `end` in edges of `table`.
    pub fn note_existing(&mut self, entry: u32, table: usize, end: u32) {
        let continues = self.runs.last().is_some_and(|run| {
            !run.is_new && run.table == table && run.row.checked_sub(end) == Some(entry - run.entry)
        });
        if !continues {
            self.runs.push(Run { entry, table, row: end, is_new: false });
        }
    }
}
