//! Random statements that change rows of a schema. Whether PostgreSQL allows one depends on its rows; most are allowed.

use crate::random::schema::{Reference, Schema, TableShape};
use crate::random::value::{ValueForm, literal};
use crate::shop::below;

/// What a statement does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StatementKind {
    Insert,
    /// An insert that changes the row of its key, if there is one.
    Upsert,
    /// Properties get other values.
    Update,
    /// A row refers to others.
    Refer,
    /// A row gets another key.
    ChangeKey,
    /// Two rows exchange their keys.
    Swap,
    Delete,
    /// A row goes, and those that refer to it.
    DeleteTree,
    Truncate,
}

use StatementKind::{ChangeKey, Delete, DeleteTree, Insert, Refer, Swap, Truncate, Update, Upsert};

impl StatementKind {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        WEIGHTS.into_iter().map(|(kind, _)| kind)
    }
}

/// Of so many statements: how many are of this kind.
const WEIGHTS: [(StatementKind, u64); 9] = [
    (Insert, 320),
    (Upsert, 60),
    (Update, 260),
    (Refer, 100),
    (ChangeKey, 80),
    (Swap, 20),
    (Delete, 120),
    (DeleteTree, 30),
    (Truncate, 2),
];
/// A table that is larger, with all that goes with it, is never emptied: of all rows so many in a hundred.
const TRUNCATED_PERCENT_MAX: u64 = 15;
/// Rows of one end of a table from which most are taken, so that changes meet.
const HOT_ROWS: u64 = 40;

/// A statement.
pub struct Statement {
    pub kind: StatementKind,
    /// What gives the number of changed rows; of [`Swap`] and [`Truncate`] 1 if there was something to change, or 0.
    pub sql: String,
}

impl Schema {
    /// A statement that changes up to `rows` rows.
    pub fn statement(&self, random: &mut u64, rows: u64) -> Statement {
        let mut choice = below(random, WEIGHTS.iter().map(|(_, weight)| weight).sum());
        let mut kind = Insert;
        for (each, weight) in WEIGHTS {
            if choice < weight {
                kind = each;
                break;
            }
            choice -= weight;
        }
        let table = self.table(random);
        // Many rows at a time are inserted, changed or deleted.
        let kind = match kind {
            Refer | ChangeKey | Swap | DeleteTree | Truncate if rows > 1 => Update,
            kind => kind,
        };
        match self.sql(random, table, kind, rows) {
            Some(sql) => Statement { kind, sql },
            None => Statement {
                kind: Insert,
                sql: self.insert(random, table, Insert, rows).expect("of any table"),
            },
        }
    }

    /// A statement of this kind, for a row of a table; `None` if the table has none.
    pub fn statement_of(&self, random: &mut u64, kind: StatementKind) -> Option<Statement> {
        let table = self.table(random);
        self.sql(random, table, kind, 1).map(|sql| Statement { kind, sql })
    }

    fn table(&self, random: &mut u64) -> &TableShape {
        &self.tables[below(random, self.tables.len() as u64) as usize]
    }

    fn sql(&self, random: &mut u64, table: &TableShape, kind: StatementKind, rows: u64) -> Option<String> {
        match kind {
            Insert | Upsert => self.insert(random, table, kind, rows),
            Update => update(random, table, rows),
            Refer => self.refer(random, table),
            ChangeKey => self.change_key(random, table),
            Swap => Some(swap(random, table)),
            Delete => {
                Some(counted(&format!("DELETE FROM {} WHERE {}", table.name, pick(random, table, rows))))
            }
            DeleteTree => Some(self.delete_tree(random, table)),
            Truncate => self.truncate(table),
        }
    }

    fn insert(&self, random: &mut u64, table: &TableShape, kind: StatementKind, rows: u64) -> Option<String> {
        let mut from = Vec::new();
        let mut values: Vec<Option<String>> = vec![None; table.columns.len()];
        let is_key_of_references = table
            .key
            .iter()
            .all(|column| table.references.iter().any(|reference| reference.columns.contains(column)));
        for (number, reference) in table.references.iter().enumerate() {
            let dangles = !reference.is_foreign_key && below(random, 6) == 0;
            let is_null = below(random, 8) == 0
                && reference.columns.iter().all(|column| table.columns[*column].is_nullable);
            if is_null || reference.columns.iter().any(|column| values[*column].is_some()) {
                continue;
            }
            let target = &self.tables[reference.table];
            if dangles {
                for (column, of_target) in reference.columns.iter().zip(&reference.target) {
                    values[*column] =
                        Some(key_value(random, target, *of_target, &table.columns[*column].sql_type));
                }
                continue;
            }
            // Several rows of the last one.
            let limit = if is_key_of_references && number + 1 == table.references.len() { rows } else { 1 };
            from.push(format!(
                "LEFT JOIN ({}) r{number} ON true",
                some_rows(random, target, reference, limit)
            ));
            for (place, column) in reference.columns.iter().enumerate() {
                values[*column] = Some(format!("r{number}.c{place}"));
            }
        }
        let mut is_numbered = false;
        for (column, shape) in table.columns.iter().enumerate() {
            if values[column].is_some() {
                continue;
            }
            let is_key = table.key.contains(&column);
            let value = match is_key {
                true => key_value(random, table, column, &shape.sql_type),
                false => value(random, table, column),
            };
            // One part of a key tells many rows apart.
            let numbered = match &shape.form {
                _ if !is_key || is_numbered || rows == 1 => None,
                ValueForm::Whole { .. } => Some(format!("({value}) + g")),
                ValueForm::Text { chars_max } => {
                    Some(format!("left(md5({value} || g), {})", chars_max.unwrap_or(9)))
                }
                ValueForm::Uuid => Some(format!("md5(({value})::text || g)::uuid")),
                _ => None,
            };
            is_numbered |= numbered.is_some();
            values[column] = Some(numbered.unwrap_or(value));
        }
        let count = if is_numbered { rows } else { 1 };
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let values: Vec<String> =
            values.into_iter().map(|value| value.unwrap_or_else(|| "NULL".to_owned())).collect();
        let key: Vec<&str> = table.key.iter().map(|column| names[*column]).collect();
        let others: Vec<String> = names
            .iter()
            .filter(|name| !key.contains(name))
            .map(|name| format!("{name} = excluded.{name}"))
            .collect();
        let conflict = match kind {
            Upsert if !others.is_empty() => {
                format!("({}) DO UPDATE SET {}", key.join(", "), others.join(", "))
            }
            _ => "DO NOTHING".to_owned(),
        };
        // One row in three fails if its key is there.
        let conflict = match below(random, 3) {
            _ if table.is_deferrable => String::new(),
            0 if rows == 1 && kind == Insert => String::new(),
            _ => format!(" ON CONFLICT {conflict}"),
        };
        Some(counted(&format!(
            "INSERT INTO {} ({}) SELECT {} FROM generate_series(1, {count}) g {}{conflict}",
            table.name,
            names.join(", "),
            values.join(", "),
            from.join(" ")
        )))
    }

    /// A row refers to another one, to none, or to one that is not there.
    fn refer(&self, random: &mut u64, table: &TableShape) -> Option<String> {
        if table.references.is_empty() {
            return None;
        }
        let reference = &table.references[below(random, table.references.len() as u64) as usize];
        let target = &self.tables[reference.table];
        let names: Vec<&str> =
            reference.columns.iter().map(|column| table.columns[*column].name.as_str()).collect();
        let is_nullable = reference.columns.iter().all(|column| table.columns[*column].is_nullable);
        let value = match below(random, 6) {
            0 if is_nullable => names.iter().map(|_| "NULL").collect::<Vec<_>>().join(", "),
            1 if !reference.is_foreign_key => {
                let columns = reference.columns.iter().zip(&reference.target);
                let values: Vec<String> = columns
                    .map(|(column, of_target)| {
                        key_value(random, target, *of_target, &table.columns[*column].sql_type)
                    })
                    .collect();
                values.join(", ")
            }
            _ => format!("SELECT * FROM ({}) r", some_rows(random, target, reference, 1)),
        };
        let row = if value.starts_with("SELECT") { "" } else { "ROW" };
        Some(counted(&format!(
            "UPDATE {} SET ({}) = {row}({value}) WHERE {}",
            table.name,
            names.join(", "),
            pick(random, table, 1)
        )))
    }

    fn change_key(&self, random: &mut u64, table: &TableShape) -> Option<String> {
        let column = table.key[below(random, table.key.len() as u64) as usize];
        let shape = &table.columns[column];
        let of_reference = table.references.iter().find(|reference| reference.columns == [column]);
        let value = match of_reference {
            Some(reference) => {
                let rows = some_rows(random, &self.tables[reference.table], reference, 1);
                format!("coalesce((SELECT c0 FROM ({rows}) r), {})", shape.name)
            }
            None => key_value(random, table, column, &shape.sql_type),
        };
        Some(counted(&format!(
            "UPDATE {} SET {} = {value} WHERE {}",
            table.name,
            shape.name,
            pick(random, table, 1)
        )))
    }

    fn delete_tree(&self, random: &mut u64, table: &TableShape) -> String {
        let mut parts = vec![format!(
            "root AS (SELECT * FROM {} OFFSET {} LIMIT 1 FOR UPDATE)",
            table.name,
            offset(random, table)
        )];
        let mut counts = vec!["(SELECT count(*) FROM gone)".to_owned()];
        for (number, (referrer, reference)) in table.referrers.iter().enumerate() {
            let referrer = &self.tables[*referrer];
            let reference = &referrer.references[*reference];
            let equal: Vec<String> = reference
                .columns
                .iter()
                .zip(&reference.target)
                .map(|(own, target)| {
                    format!("t.{} = root.{}", referrer.columns[*own].name, table.columns[*target].name)
                })
                .collect();
            parts.push(format!(
                "gone{number} AS (DELETE FROM {} t USING root WHERE {} RETURNING 1)",
                referrer.name,
                equal.join(" AND ")
            ));
            counts.push(format!("(SELECT count(*) FROM gone{number})"));
        }
        let equal: Vec<String> =
            table.key.iter().map(|column| format!("t.{0} = root.{0}", table.columns[*column].name)).collect();
        parts.push(format!(
            "gone AS (DELETE FROM {} t USING root WHERE {} RETURNING 1)",
            table.name,
            equal.join(" AND ")
        ));
        format!("WITH {} SELECT {}", parts.join(", "), counts.join(" + "))
    }

    fn truncate(&self, table: &TableShape) -> Option<String> {
        let all: u64 = self.tables.iter().map(|table| table.rows).sum();
        let (names, rows) = &table.truncated;
        if rows * 100 > all * TRUNCATED_PERCENT_MAX {
            return None;
        }
        let filled: Vec<String> = names.iter().map(|name| format!("EXISTS (SELECT FROM {name})")).collect();
        Some(format!("SELECT ({})::int; TRUNCATE {} CASCADE", filled.join(" OR "), names.join(", ")))
    }
}

/// A statement that gives how many rows `changing` changed.
fn counted(changing: &str) -> String {
    format!("WITH changed AS ({changing} RETURNING 1) SELECT count(*) FROM changed")
}

fn update(random: &mut u64, table: &TableShape, rows: u64) -> Option<String> {
    let is_referring =
        |column: &usize| table.references.iter().any(|reference| reference.columns.contains(column));
    let others: Vec<usize> = (0..table.columns.len())
        .filter(|column| !table.key.contains(column) && !is_referring(column))
        .collect();
    if others.is_empty() {
        return None;
    }
    let sets: Vec<String> = (0..1 + below(random, 3))
        .map(|_| others[below(random, others.len() as u64) as usize])
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|column| format!("{} = {}", table.columns[column].name, value(random, table, column)))
        .collect();
    Some(counted(&format!(
        "UPDATE {} SET {} WHERE {}",
        table.name,
        sets.join(", "),
        pick(random, table, rows)
    )))
}

/// By a key that nobody has.
fn swap(random: &mut u64, table: &TableShape) -> String {
    let first = table.key[0];
    let names: Vec<&str> = table.key.iter().map(|column| table.columns[*column].name.as_str()).collect();
    let free = key_value(random, table, first, &table.columns[first].sql_type);
    let rows = format!("SELECT {}, row_number() OVER () AS place FROM {}", names.join(", "), table.name);
    let two = format!("SELECT * FROM ({rows} LIMIT 2 OFFSET {}) two", offset(random, table));
    let equal = |alias: &str| {
        let equal: Vec<String> = names.iter().map(|name| format!("t.{name} = {alias}.{name}")).collect();
        equal.join(" AND ")
    };
    let set = |alias: &str| {
        let set: Vec<String> = names.iter().map(|name| format!("{name} = {alias}.{name}")).collect();
        set.join(", ")
    };
    let rest: Vec<String> = names[1..].iter().map(|name| format!(" AND t.{name} = a.{name}")).collect();
    format!(
        "CREATE TEMP TABLE swapped ON COMMIT DROP AS {two}; \
         UPDATE {table} t SET {first} = {free} FROM swapped a WHERE a.place % 2 = 1 AND {equal_a} \
           AND (SELECT count(*) FROM swapped) = 2; \
         UPDATE {table} t SET {set_a} FROM swapped a, swapped b WHERE a.place % 2 = 1 AND b.place % 2 = 0 AND {equal_b}; \
         UPDATE {table} t SET {set_b} FROM swapped a, swapped b WHERE a.place % 2 = 1 AND b.place % 2 = 0 \
           AND t.{first} = {free}{rest}; \
         SELECT count(*) / 2 FROM swapped; \
         DROP TABLE swapped",
        table = table.name,
        first = names[0],
        equal_a = equal("a"),
        equal_b = equal("b"),
        set_a = set("a"),
        set_b = set("b"),
        rest = rest.concat(),
    )
}

fn value(random: &mut u64, table: &TableShape, column: usize) -> String {
    let shape = &table.columns[column];
    let is_null = shape.is_nullable && below(random, 6) == 0;
    let text = if is_null { None } else { shape.form.text(random, &shape.samples) };
    literal(text.as_deref(), &shape.sql_type)
}

/// A key of `table`, as a value of `sql_type`.
fn key_value(random: &mut u64, table: &TableShape, column: usize, sql_type: &str) -> String {
    let shape = &table.columns[column];
    literal(shape.form.key_text(random, &shape.samples).as_deref(), sql_type)
}

/// Where in a table some rows are taken.
fn offset(random: &mut u64, table: &TableShape) -> u64 {
    match below(random, 2) {
        0 => below(random, HOT_ROWS.min(table.rows + 1)),
        _ => below(random, table.rows + 1),
    }
}

/// The columns `c0`, `c1`, ... of rows that are referred to.
fn some_rows(random: &mut u64, target: &TableShape, reference: &Reference, rows: u64) -> String {
    let columns: Vec<String> = reference
        .target
        .iter()
        .enumerate()
        .map(|(place, column)| format!("{} AS c{place}", target.columns[*column].name))
        .collect();
    format!(
        "SELECT {} FROM {} OFFSET {} LIMIT {rows}",
        columns.join(", "),
        target.name,
        offset(random, target)
    )
}

/// A condition that `rows` rows meet.
fn pick(random: &mut u64, table: &TableShape, rows: u64) -> String {
    let key: Vec<&str> = table.key.iter().map(|column| table.columns[*column].name.as_str()).collect();
    let key = key.join(", ");
    format!("({key}) IN (SELECT {key} FROM {} OFFSET {} LIMIT {rows})", table.name, offset(random, table))
}
