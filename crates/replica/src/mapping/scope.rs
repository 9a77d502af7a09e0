//! Scope: what rules can name in a catalogue: tables, and a table's columns, types and keys.
//!
//! A partitioned table is named by its root: its changes are published as changes of the root. It has the foreign keys
//! that its partitions have, too.

use crate::mapping::filter::operand::OperandType;
use crate::mapping::property::PropertyForm;
use crate::mapping::sql_name::{display_name, name_parts};
use crate::pgoutput::relation::Oid;
use crate::source::catalogue::{Catalogue, Column, Table, TypeEntry, TypeKind};
use crate::value::column_type::ColumnType;
use evergraph_files::import::mapping::rule::ColumnName;
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::value::ValueType;

/// Partitions of partitions, and domains over domains: deeper ones are circles.
const DEPTH_MAX: usize = 64;

/// Bytes up to which a value is never stored outside its row.
const INLINE_BYTES_MAX: usize = 24;

/// The number of `char(n)`.
const PADDED_TEXT: Oid = 1042;
/// The number of `jsonb`, for which 1 and 1.0 are equal.
const JSONB: Oid = 3802;
/// The type of an extension for which letters in either case are equal.
const CASELESS_TEXT: &str = "citext";

/// A table, as rules see it.
#[derive(Debug)]
pub struct TableScope<'a> {
    /// The table; of a partitioned one, the root.
    pub table: &'a Table,
    /// Its columns, in its order.
    pub columns: Vec<ColumnScope<'a>>,
    /// Its foreign keys and those of its partitions.
    pub foreign_keys: Vec<ForeignKeyScope<'a>>,
}

/// A column, as rules see it.
#[derive(Debug)]
pub struct ColumnScope<'a> {
    /// The column.
    pub column: &'a Column,
    /// How its text is read.
    pub column_type: ColumnType,
    /// How conditions compare it.
    pub operand_type: OperandType,
    /// Whether it is `json` or `jsonb`.
    pub is_json: bool,
    /// Whether it is `char(n)`.
    pub is_padded: bool,
    /// Whether its values may be stored outside the row (TOAST).
    pub may_be_unchanged: bool,
    /// See [`has_one_text`].
    pub has_one_text: bool,
}

/// A foreign key, as rules see it.
#[derive(Debug)]
pub struct ForeignKeyScope<'a> {
    /// Its columns, by their indexes.
    pub columns: Vec<usize>,
    /// The table that it refers to; of a partitioned one, the root.
    pub target: &'a Table,
    /// The columns that it refers to, in the same order.
    pub target_columns: Vec<&'a str>,
    /// Whether it holds for all rows: it is validated, and no partition lacks it.
    pub is_promised: bool,
    /// Whether equal values on both sides have one text: see [`has_one_text`].
    pub has_one_text: bool,
}

/// The table that is called `name`, or `schema.name`; names may be in double quotes.
///
/// # Errors
/// If there is none, or several, or it is a partition.
pub fn find_table<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Table, String> {
    let parts = name_parts(name).ok_or_else(|| format!("{name:?}: expected a name, or schema.name"))?;
    let (schema, table_name) = match &parts[..] {
        [name] => (None, name),
        [schema, name] => (Some(schema), name),
        _ => {
            return Err(format!(
                "{name:?}: expected a name, or schema.name; a name with dots stands in quotes"
            ));
        }
    };
    let is_it =
        |table: &&Table| *table.name == **table_name && schema.is_none_or(|schema| *table.schema == **schema);
    let found: Vec<&Table> = catalogue.tables.iter().filter(is_it).collect();
    let table = match (&found[..], found.iter().find(|table| &*table.schema == "public")) {
        ([table], _) | (_, Some(table)) => *table,
        ([], _) => {
            let names = catalogue.tables.iter().map(|table| &*table.name);
            return Err(format!("{name:?} is no table of the database{}", did_you_mean(table_name, names)));
        }
        (several, _) => {
            let schemas: Vec<&str> = several.iter().map(|table| &*table.schema).collect();
            return Err(format!(
                "{name:?} is a table of the schemas {}: name one of them, too",
                schemas.join(", ")
            ));
        }
    };
    let root = root_of(catalogue, table);
    if root.id != table.id {
        let (name, root) = (display_name(table), display_name(root));
        return Err(format!("{name} is a partition of {root}, and is published by way of it: name {root}"));
    }
    Ok(table)
}

/// The table that `table` is a partition of, directly or not; itself if it is none.
#[must_use]
pub fn root_of<'a>(catalogue: &'a Catalogue, table: &'a Table) -> &'a Table {
    let mut root = table;
    for _ in 0..DEPTH_MAX {
        match root.partition_of.and_then(|parent| catalogue.table_of(parent)) {
            Some(parent) => root = parent,
            None => break,
        }
    }
    root
}

/// The partitions of `root`, those of partitions among them.
pub fn partitions_of<'a>(catalogue: &'a Catalogue, root: &'a Table) -> impl Iterator<Item = &'a Table> {
    let is_part = move |table: &&Table| table.id != root.id && root_of(catalogue, table).id == root.id;
    catalogue.tables.iter().filter(is_part)
}

impl<'a> TableScope<'a> {
    /// What rules for `table` can name.
    ///
    /// # Errors
    /// If the type of a column isn't in the catalogue.
    pub fn new(catalogue: &'a Catalogue, table: &'a Table) -> Result<Self, String> {
        let columns = table.columns.iter().map(|column| ColumnScope::new(catalogue, column));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let mut scope = Self { table, columns, foreign_keys: Vec::new() };
        scope.add_foreign_keys(catalogue);
        Ok(scope)
    }

    fn add_foreign_keys(&mut self, catalogue: &'a Catalogue) {
        let index = |name: &str| self.table.columns.iter().position(|column| *column.name == *name);
        // Rows lie in partitions without partitions.
        let leaves: Vec<&Table> = partitions_of(catalogue, self.table)
            .filter(|part| partitions_of(catalogue, part).next().is_none())
            .collect();
        let tables = std::iter::once(self.table).chain(leaves.iter().copied());
        let mut keys: Vec<(ForeignKeyScope<'a>, usize)> = Vec::new();
        for table in tables {
            for key in &table.foreign_keys {
                let Some(target) = catalogue.table_of(key.target) else { continue };
                let Some(columns) = key.columns.iter().map(|name| index(name)).collect::<Option<Vec<_>>>()
                else {
                    continue;
                };
                let target = root_of(catalogue, target);
                let target_columns: Vec<&str> = key.target_columns.iter().map(|name| &**name).collect();
                let is_root = table.id == self.table.id;
                let known = keys.iter_mut().find(|(known, _)| {
                    known.columns == columns
                        && known.target.id == target.id
                        && known.target_columns == target_columns
                });
                match known {
                    Some((known, count)) => {
                        known.is_promised &= key.is_validated;
                        *count += usize::from(!is_root);
                    }
                    None => {
                        let is_promised = key.is_validated;
                        let own = columns.iter().map(|column| self.columns[*column].column);
                        let others = target_columns.iter().filter_map(|name| target.column(name));
                        let has_one_text = own.chain(others).all(|column| has_one_text(catalogue, column));
                        let scope =
                            ForeignKeyScope { columns, target, target_columns, is_promised, has_one_text };
                        keys.push((scope, if is_root { leaves.len() } else { 1 }));
                    }
                }
            }
        }
        self.foreign_keys = keys
            .into_iter()
            .map(|(mut key, count)| {
                key.is_promised &= count >= leaves.len();
                key
            })
            .collect();
    }

    /// The index of a column.
    ///
    /// # Errors
    /// If there is none, several, or PostgreSQL computes it.
    pub fn find(&self, column: &ColumnName) -> Result<usize, String> {
        let names = || self.columns.iter().map(|scope| &*scope.column.name);
        let index = match column {
            ColumnName::Number(number) if (1..=self.columns.len()).contains(number) => number - 1,
            ColumnName::Number(number) => {
                let count = self.columns.len();
                return Err(format!("there is no column {number}; there are {count}, counted from 1"));
            }
            ColumnName::Name(name) => {
                names().position(|known| known == name).ok_or_else(|| match did_you_mean(name, names()) {
                    hint if hint.is_empty() => {
                        format!(
                            "there is no column {name:?}; there are {}",
                            names().collect::<Vec<_>>().join(", ")
                        )
                    }
                    hint => format!("there is no column {name:?}{hint}"),
                })?
            }
        };
        if self.columns[index].column.is_generated {
            let name = &self.columns[index].column.name;
            return Err(format!(
                "column {name} is computed by PostgreSQL (GENERATED), which doesn't send it"
            ));
        }
        Ok(index)
    }

    /// The indexes of `columns`.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn find_all(&self, columns: &[ColumnName]) -> Result<Vec<usize>, String> {
        columns.iter().map(|column| self.find(column)).collect()
    }

    /// The indexes of columns of the catalogue's own names.
    #[must_use]
    pub fn indexes(&self, names: &[Box<str>]) -> Option<Vec<usize>> {
        let index = |name: &str| self.columns.iter().position(|scope| *scope.column.name == *name);
        names.iter().map(|name| index(name)).collect()
    }

    /// The names of columns, for people.
    #[must_use]
    pub fn names(&self, columns: &[usize]) -> String {
        let names: Vec<&str> = columns.iter().map(|column| &*self.columns[*column].column.name).collect();
        names.join(", ")
    }

    /// Whether these columns together are the primary key or another unique key, whatever their order.
    #[must_use]
    pub fn is_unique(&self, columns: &[usize]) -> bool {
        let keys = self.table.primary_key.iter().chain(&self.table.unique_keys);
        let mut keys = keys.filter_map(|key| self.indexes(&key.columns));
        keys.any(|key| same_columns(&key, columns))
    }
}

/// Whether both have the same columns, whatever their order.
#[must_use]
pub fn same_columns(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|column| other.contains(column))
}

impl<'a> ColumnScope<'a> {
    fn new(catalogue: &'a Catalogue, column: &'a Column) -> Result<Self, String> {
        let column_type = catalogue
            .types
            .resolve(column.type_id)
            .map_err(|error| format!("column {} of type {}: {error}", column.name, column.type_name))?;
        let base = base_type(catalogue, column.type_id);
        let operand_type = operand_type(catalogue, base, column);
        Ok(Self {
            column,
            is_json: matches!(base, 114 | JSONB),
            is_padded: base == PADDED_TEXT,
            may_be_unchanged: may_be_unchanged(&column_type, &operand_type, base, &column.type_name),
            has_one_text: has_one_text(catalogue, column),
            column_type,
            operand_type,
        })
    }

    /// What its text becomes as a property, by default or as `types` says.
    ///
    /// # Errors
    /// If its values are none of the type that `declared` names.
    pub fn form(&self, declared: Option<&str>) -> Result<PropertyForm, String> {
        let natural = if self.is_padded { PropertyForm::Unpadded } else { PropertyForm::Typed };
        let Some(declared) = declared else { return Ok(natural) };
        let name = &self.column.type_name;
        let natural_type = natural.value_type(&self.column_type);
        match declared.trim().parse::<ValueType>() {
            Ok(value_type) if value_type == natural_type => Ok(natural),
            Ok(ValueType::String) => Ok(PropertyForm::Text),
            Ok(ValueType::Map) if self.is_json => Ok(PropertyForm::Map),
            Ok(ValueType::F64) if self.column_type == ColumnType::Numeric => Ok(PropertyForm::Double),
            _ => {
                let other = match self.column_type {
                    _ if self.is_json => " or map",
                    ColumnType::Numeric => ", double or string",
                    _ if natural_type != ValueType::String => " or string",
                    _ => "",
                };
                Err(format!(
                    "column {} is {name}, which becomes {natural_type}{other}, not {declared:?}",
                    self.column.name
                ))
            }
        }
    }
}

/// Whether equal values of a column have one text. Not so by a collation that is not deterministic, of `citext`, of `jsonb`, and
/// of what consists of values of other types; other types of extensions are trusted to. Numbers and lists are not asked for: no
/// key takes those that have several texts.
#[must_use]
pub fn has_one_text(catalogue: &Catalogue, column: &Column) -> bool {
    let base = base_type(catalogue, column.type_id);
    let has_other_rules = match catalogue.types.get(base) {
        Some(TypeEntry { kind: TypeKind::Base, name }) => base == JSONB || &**name == CASELESS_TEXT,
        Some(TypeEntry { kind: TypeKind::Other, .. }) => true,
        _ => base == JSONB,
    };
    !column.is_nondeterministic && !has_other_rules
}

/// The column's type, with its collation if that is a special one, for people.
#[must_use]
pub fn display_type(column: &Column) -> String {
    let collation =
        if column.is_nondeterministic { " with a collation that is not deterministic" } else { "" };
    format!("{}{collation}", column.type_name)
}

/// The type that a domain is over, or `oid` itself.
fn base_type(catalogue: &Catalogue, oid: Oid) -> Oid {
    let mut base = oid;
    for _ in 0..DEPTH_MAX {
        match catalogue.types.get(base).map(|entry| &entry.kind) {
            Some(TypeKind::Domain { base: next }) => base = *next,
            _ => break,
        }
    }
    base
}

fn operand_type(catalogue: &Catalogue, base: Oid, column: &Column) -> OperandType {
    if column.is_nondeterministic {
        return OperandType::Other(display_type(column).into());
    }
    match base {
        16 => OperandType::Bool,
        17 => OperandType::Bytes,
        18 | 19 | 25 => OperandType::Text,
        1043 => OperandType::Varchar,
        20 | 26 => OperandType::I64,
        21 => OperandType::I16,
        23 => OperandType::I32,
        700 => OperandType::F32,
        701 => OperandType::F64,
        PADDED_TEXT => OperandType::PaddedText,
        1082 => OperandType::Date,
        1083 => OperandType::Time,
        1114 => OperandType::Timestamp,
        1184 => OperandType::TimestampTz,
        1186 => OperandType::Interval,
        1700 => OperandType::Numeric,
        2950 => OperandType::Uuid,
        _ => match catalogue.types.get(base).map(|entry| (&*entry.name, &entry.kind)) {
            Some((name, TypeKind::Enum { labels })) => {
                OperandType::Enum(name.into(), labels.as_slice().into())
            }
            _ => OperandType::Other((*column.type_name).into()),
        },
    }
}

/// Whether values of a type may be stored outside the row, so far as its name shows its greatest length.
fn may_be_unchanged(
    column_type: &ColumnType,
    operand_type: &OperandType,
    base: Oid,
    type_name: &str,
) -> bool {
    let is_fixed =
        matches!(operand_type, OperandType::Enum(..) | OperandType::Time) || matches!(base, 18 | 19 | 1266);
    let has_length = matches!(
        column_type,
        ColumnType::Text | ColumnType::Bytes | ColumnType::Numeric | ColumnType::Array { .. }
    );
    if is_fixed || !has_length {
        return false;
    }
    let modifier = type_name.split_once('(').and_then(|(_, rest)| {
        let digits = rest.split([',', ')']).next()?;
        digits.parse::<usize>().ok()
    });
    // Four bytes in front; a letter has up to four, and four digits of a numeric have two.
    let bytes_max = match (column_type, modifier) {
        (ColumnType::Numeric, Some(digits)) => 8 + 2 * digits.div_ceil(4),
        (ColumnType::Text, Some(letters)) => 4 + 4 * letters,
        _ => return true,
    };
    bytes_max > INLINE_BYTES_MAX
}
