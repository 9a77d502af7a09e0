//! `UnfilledColumns`: new columns in which no row from before has a value, so that nobody looks again.
//!
//! A look reads the table where no row has a value. What comes into such a column later is in the stream, whose first row of it is
//! a reason to look again in any case.
//!
//! # Concurrency
//! Clones share what they know. A lock guards it; it is held for moments.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::follow::new_columns::NewColumns;
use crate::pgoutput::relation::Oid;

/// New columns that a look has found empty.
#[derive(Clone, Debug, Default)]
pub struct UnfilledColumns(Arc<Mutex<ColumnNames>>);

/// Columns, by table and name.
type ColumnNames = BTreeSet<(Oid, Box<str>)>;

impl UnfilledColumns {
    /// The names of those of `new` that nobody has looked at.
    #[must_use]
    pub fn others(&self, new: &NewColumns) -> Vec<Box<str>> {
        let known = self.lock();
        let names = new.columns.iter().map(|column| column.name.clone());
        names.filter(|name| !known.contains(&(new.table, name.clone()))).collect()
    }

    /// `new` are empty.
    pub fn add(&self, new: &NewColumns) {
        self.lock().extend(new.columns.iter().map(|column| (new.table, column.name.clone())));
    }

    fn lock(&self) -> MutexGuard<'_, ColumnNames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
