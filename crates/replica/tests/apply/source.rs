//! Source: tables as PostgreSQL has them, and the bytes that their changes are in the stream.

use crate::stream_bytes::{self as bytes, Field};
use crate::world::{TableSpec, World, oid};
use std::collections::BTreeSet;

/// A row: the texts of its columns.
pub type Row = Vec<Option<String>>;

/// Tables with rows.
#[derive(Clone, Debug)]
pub struct Source {
    specs: Vec<TableSpec>,
    pub rows: Vec<Vec<Row>>,
    /// The messages of the transaction that is under way.
    pub messages: Vec<Vec<u8>>,
}

impl Source {
    pub fn new(world: &World) -> Self {
        let specs = world.tables.clone();
        let rows = vec![Vec::new(); specs.len()];
        Self { specs, rows, messages: Vec::new() }
    }

    /// The descriptions of all tables.
    pub fn relations(&self) -> Vec<Vec<u8>> {
        let describe = |(number, spec): (usize, &TableSpec)| {
            let columns: Vec<_> = spec
                .columns
                .iter()
                .enumerate()
                .map(|(column, (name, kind, _))| (*name, kind.oid(), -1, spec.is_full || spec.is_key(column)))
                .collect();
            bytes::relation(oid(number), spec.name, if spec.is_full { b'f' } else { b'd' }, &columns)
        };
        self.specs.iter().enumerate().map(describe).collect()
    }

    pub fn key(&self, table: usize, row: &Row) -> Row {
        let spec = &self.specs[table];
        spec.key.iter().map(|name| row[spec.column(name)].clone()).collect()
    }

    fn has_key(&self, table: usize, key: &Row, but: Option<usize>) -> bool {
        let mut rows = self.rows[table].iter().enumerate();
        rows.any(|(number, row)| Some(number) != but && self.key(table, row) == *key)
    }

    /// Whether PostgreSQL lets it be.
    pub fn insert(&mut self, table: usize, row: Row) -> bool {
        if !self.specs[table].is_full && self.has_key(table, &self.key(table, &row), None) {
            return false;
        }
        self.insert_new(table, row);
        true
    }

    /// As [`Self::insert`], without a look among all rows: no other row has its key.
    pub fn insert_new(&mut self, table: usize, row: Row) {
        self.messages.push(bytes::insert(oid(table), &fields(&row)));
        self.rows[table].push(row);
    }

    /// Whether PostgreSQL lets it be.
    pub fn update(&mut self, table: usize, number: usize, new: Row) -> bool {
        let spec = &self.specs[table];
        let old = self.rows[table][number].clone();
        let (old_key, new_key) = (self.key(table, &old), self.key(table, &new));
        if !spec.is_full && self.has_key(table, &new_key, Some(number)) {
            return false;
        }
        // A long text is stored outside of the row, and is sent when it changes.
        let sent: Vec<Field> = fields(&new)
            .into_iter()
            .zip(old.iter().zip(&new))
            .zip(&spec.columns)
            .map(|((field, (old, new)), (name, ..))| {
                let is_long = new.as_ref().is_some_and(|text| text.starts_with('L'));
                if is_long && old == new && !spec.inline.contains(name) { Field::Unchanged } else { field }
            })
            .collect();
        let old_fields = fields(&old);
        let old_keys = self.key_fields(table, &old);
        let old = match spec.is_full {
            true => Some((b'O', &old_fields[..])),
            false if old_key != new_key => Some((b'K', &old_keys[..])),
            false => None,
        };
        self.messages.push(bytes::update(oid(table), old, &sent));
        self.rows[table][number] = new;
        true
    }

    pub fn delete(&mut self, table: usize, number: usize) {
        let old = self.rows[table].remove(number);
        let message = match self.specs[table].is_full {
            true => bytes::delete(oid(table), b'O', &fields(&old)),
            false => bytes::delete(oid(table), b'K', &self.key_fields(table, &old)),
        };
        self.messages.push(message);
    }

    pub fn truncate(&mut self, tables: &[usize]) {
        let oids: Vec<u32> = tables.iter().copied().map(oid).collect();
        self.messages.push(bytes::truncate(&oids));
        tables.iter().for_each(|table| self.rows[*table].clear());
    }

    /// Whether deferred constraints hold.
    pub fn may_commit(&self) -> bool {
        self.specs.iter().enumerate().all(|(number, spec)| {
            let keys: BTreeSet<Row> = self.rows[number].iter().map(|row| self.key(number, row)).collect();
            let promise = spec.foreign_key.is_none_or(|(column, target)| {
                let target = self.specs.iter().position(|spec| spec.name == target).unwrap();
                let known: BTreeSet<_> = self.rows[target].iter().map(|row| &row[0]).collect();
                let column = spec.column(column);
                self.rows[number].iter().all(|row| row[column].is_none() || known.contains(&row[column]))
            });
            keys.len() == self.rows[number].len() && promise
        })
    }

    /// The row of a K tuple: nulls outside of the key.
    fn key_fields(&self, table: usize, row: &Row) -> Vec<Field> {
        let spec = &self.specs[table];
        let kept = fields(row).into_iter().enumerate();
        kept.map(|(column, field)| if spec.is_key(column) { field } else { Field::Null }).collect()
    }
}

fn fields(row: &Row) -> Vec<Field> {
    row.iter().map(|text| text.clone().map_or(Field::Null, Field::Text)).collect()
}

/// A row of texts.
pub fn row(texts: &[&str]) -> Row {
    texts.iter().map(|text| (*text != "null").then(|| (*text).to_owned())).collect()
}
