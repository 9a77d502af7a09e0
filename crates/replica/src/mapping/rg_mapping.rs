//! `RgMapping`: the calls of GART's paper, which write the rules of a mapping one by one.
//!
//! ```text
//! def_vertex("Person", "person")                    label = "Person"
//! add_vprop("Person", "name", "full_name")          properties = ["full_name"], rename
//! def_edge("LIVES_IN", "Person", "City", "city_id") edge = [{ type, column, space }]
//! def_edge_m_to_m("KNOWS", "Person", "Person", "knows.from_id", "knows.to_id")
//!                                                   type = "KNOWS", start, end
//! add_eprop("KNOWS", "since", "since")              properties = ["since"]
//! ```
//!
//! A column may be called `table.column`. What a mapping file says beyond the paper (conditions, types, names of ends that
//! no foreign key tells) is said of the rules that come out.
//!
//! Source: GART (USENIX ATC 2023), section 4.1 and figure 5. Differs: the paper's second `def_edge` has a name of its own,
//! and keys of several columns are lists of columns between commas.

use crate::mapping::plan::Plan;
use crate::mapping::resolve::resolve;
use crate::mapping::scope::{ForeignKeyScope, TableScope, find_table, same_columns};
use crate::mapping::sql_name::{display_name, name_parts};
use crate::source::catalogue::Catalogue;
use evergraph_files::import::mapping::propose::{TableProposal, table_mapping_text};
use evergraph_files::import::mapping::rule::ColumnName;
use evergraph_files::import::mapping::table::{EndColumns, ForeignKeyRule, RowRule, TableRule};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::nearest::did_you_mean;
use std::collections::BTreeMap;

/// What a mapping file says that was written by these calls.
const CAPTION: &str =
    "How the rows of tables become vertices and edges, as written by the calls of RgMapping.";

/// The rules of a mapping, by the paper's calls.
#[derive(Clone, Debug)]
pub struct RgMapping<'a> {
    catalogue: &'a Catalogue,
    rules: Vec<TableRule>,
}

/// A column, or several, of a table that may be named.
struct Attribute<'a> {
    table: Option<String>,
    columns: Vec<String>,
    text: &'a str,
}

impl<'a> RgMapping<'a> {
    /// No rules yet, for the tables of `catalogue`.
    #[must_use]
    pub fn new(catalogue: &'a Catalogue) -> Self {
        Self { catalogue, rules: Vec::new() }
    }

    /// Goes on with `rules` of the same catalogue.
    #[must_use]
    pub fn with_rules(catalogue: &'a Catalogue, rules: Vec<TableRule>) -> Self {
        Self { catalogue, rules }
    }

    /// The mapping file that says the rules.
    #[must_use]
    pub fn text(&self) -> String {
        let proposal = |rule: &TableRule| TableProposal { rule: rule.clone(), notes: Vec::new() };
        table_mapping_text(CAPTION, &self.rules.iter().map(proposal).collect::<Vec<_>>())
    }

    /// The rules so far.
    #[must_use]
    pub fn rules(&self) -> &[TableRule] {
        &self.rules
    }

    /// Gives the rules up, to be changed or written.
    #[must_use]
    pub fn into_rules(self) -> Vec<TableRule> {
        self.rules
    }

    /// Binds the rules to the catalogue.
    ///
    /// # Errors
    /// `invalid`, as [`resolve`].
    pub fn resolve(&self) -> Result<Plan> {
        Ok(resolve(&self.rules, self.catalogue)?)
    }

    /// Each row of `table` is a vertex with the label `vertex_type`. Its primary key is a property.
    ///
    /// # Errors
    /// `invalid` if there is no such table, or the label is in use.
    pub fn def_vertex(&mut self, vertex_type: &str, table: &str) -> Result<&mut Self> {
        self.scope(table)?;
        if self.vertex(vertex_type).is_ok() {
            return Err(Error::invalid(format!("def_vertex: the label {vertex_type:?} is defined already")));
        }
        let row = RowRule::Vertex { label: vertex_type.to_owned(), edges: Vec::new() };
        self.rules.push(TableRule { properties: Some(Vec::new()), ..TableRule::new(table, row) });
        Ok(self)
    }

    /// The column `attribute` of the vertices' table is their property `property`.
    ///
    /// # Errors
    /// `invalid` if there is no such label or column.
    pub fn add_vprop(&mut self, vertex_type: &str, property: &str, attribute: &str) -> Result<&mut Self> {
        let rule = self.vertex(vertex_type)?;
        let scope = self.scope(&self.rules[rule].table)?;
        let column = only_column("add_vprop", &scope, attribute)?;
        add_property(&mut self.rules[rule], property, column);
        Ok(self)
    }

    /// One to many: the foreign key `key` is an edge from `source` to `target`. It stands in the table of either.
    ///
    /// # Errors
    /// `invalid` if there is no such label, or neither table has such a foreign key to the other, or both have.
    pub fn def_edge(&mut self, edge_type: &str, source: &str, target: &str, key: &str) -> Result<&mut Self> {
        let attribute = Attribute::parse(key)?;
        let (source_rule, target_rule) = (self.vertex(source)?, self.vertex(target)?);
        let of_source = self.has_key(source_rule, target_rule, &attribute)?;
        let of_target = source_rule != target_rule && self.has_key(target_rule, source_rule, &attribute)?;
        let (rule, other, reverse) = match (of_source, of_target) {
            (true, false) => (source_rule, target, false),
            (false, true) => (target_rule, source, true),
            (true, true) => {
                let text = format!(
                    "def_edge: both tables have a foreign key {key:?} to the other: write table.column"
                );
                return Err(Error::invalid(text));
            }
            (false, false) => {
                let text = format!(
                    "def_edge: {key:?} is a foreign key neither of {} to {target} nor of {} to {source}",
                    self.rules[source_rule].table, self.rules[target_rule].table
                );
                return Err(Error::invalid(text));
            }
        };
        let end = EndColumns { columns: attribute.names(), space: Some(other.to_owned()) };
        let edge = ForeignKeyRule { reverse, ..ForeignKeyRule::new(edge_type, end) };
        match &mut self.rules[rule].row {
            RowRule::Vertex { edges, .. } => edges.push(edge),
            RowRule::Edge { .. } => unreachable!("labels are of rules for vertices"),
        }
        Ok(self)
    }

    /// Many to many: each row of the table of `source_key` and `target_key` is an edge from the `source` that the one
    /// refers to, to the `target` that the other refers to.
    ///
    /// # Errors
    /// `invalid` if there is no such label, or the keys don't name one table.
    pub fn def_edge_m_to_m(
        &mut self,
        edge_type: &str,
        source: &str,
        target: &str,
        source_key: &str,
        target_key: &str,
    ) -> Result<&mut Self> {
        self.vertex(source)?;
        self.vertex(target)?;
        let (start, end) = (Attribute::parse(source_key)?, Attribute::parse(target_key)?);
        let table = match (&start.table, &end.table) {
            (Some(table), None) | (None, Some(table)) => table.clone(),
            (Some(table), Some(other)) if table == other => table.clone(),
            _ => {
                let text = format!(
                    "def_edge: {source_key:?} and {target_key:?}: write table.column, of one table for both"
                );
                return Err(Error::invalid(text));
            }
        };
        self.scope(&table)?;
        let ends = |attribute: &Attribute<'_>, label: &str| EndColumns {
            columns: attribute.names(),
            space: Some(label.to_owned()),
        };
        let row = RowRule::Edge {
            edge_type: edge_type.to_owned(),
            start: ends(&start, source),
            end: ends(&end, target),
            undirected: false,
        };
        self.rules.push(TableRule { properties: Some(Vec::new()), ..TableRule::new(table, row) });
        Ok(self)
    }

    /// The column `attribute` of the edges' table is their property `property`.
    ///
    /// # Errors
    /// `invalid` if there is no such type or column, or several rules make edges of the type from tables with that column.
    pub fn add_eprop(&mut self, edge_type: &str, property: &str, attribute: &str) -> Result<&mut Self> {
        let mut found = Vec::new();
        let mut is_known = false;
        for (rule, of) in self.rules.iter().enumerate() {
            let entries: Vec<Option<usize>> = match &of.row {
                RowRule::Edge { edge_type: known, .. } if known == edge_type => vec![None],
                RowRule::Vertex { edges, .. } => {
                    let entries = edges.iter().enumerate().filter(|(_, edge)| edge.edge_type == edge_type);
                    entries.map(|(entry, _)| Some(entry)).collect()
                }
                RowRule::Edge { .. } => Vec::new(),
            };
            is_known |= !entries.is_empty();
            let scope = self.scope(&of.table)?;
            if let Ok(column) = only_column("add_eprop", &scope, attribute) {
                found.extend(entries.into_iter().map(|entry| (rule, entry, column.clone())));
            }
        }
        let (rule, entry, column) = match found.len() {
            1 => found.remove(0),
            0 if !is_known => {
                return Err(Error::invalid(format!(
                    "add_eprop: no edges are of type {edge_type:?}: def_edge comes first"
                )));
            }
            0 => {
                let text = format!("add_eprop: no table with edges {edge_type} has a column {attribute:?}");
                return Err(Error::invalid(text));
            }
            _ => {
                let text = format!(
                    "add_eprop: several edges {edge_type} have a column {attribute:?}: write table.column"
                );
                return Err(Error::invalid(text));
            }
        };
        match (entry, &mut self.rules[rule]) {
            (Some(entry), of) => {
                if let RowRule::Vertex { edges, .. } = &mut of.row {
                    add_name(&mut edges[entry].rename, property, &column);
                    edges[entry].properties.push(column);
                }
            }
            (None, of) => add_property(of, property, column),
        }
        Ok(self)
    }

    fn scope(&self, table: &str) -> Result<TableScope<'a>> {
        let table = find_table(self.catalogue, table).map_err(Error::invalid)?;
        TableScope::new(self.catalogue, table).map_err(Error::invalid)
    }

    /// The rule of a label.
    fn vertex(&self, label: &str) -> Result<usize> {
        let labels = || {
            self.rules.iter().filter_map(|rule| match &rule.row {
                RowRule::Vertex { label, .. } => Some(label.as_str()),
                RowRule::Edge { .. } => None,
            })
        };
        let is_it =
            |rule: &TableRule| matches!(&rule.row, RowRule::Vertex { label: known, .. } if known == label);
        self.rules.iter().position(is_it).ok_or_else(|| {
            Error::invalid(format!(
                "no vertices have the label {label:?}{}: def_vertex comes first",
                did_you_mean(label, labels())
            ))
        })
    }

    /// Whether the table of `rule` has a foreign key `attribute` to that of `other`.
    fn has_key(&self, rule: usize, other: usize, attribute: &Attribute<'_>) -> Result<bool> {
        let (scope, target) = (self.scope(&self.rules[rule].table)?, self.scope(&self.rules[other].table)?);
        if !attribute.may_be_of(&scope) {
            return Ok(false);
        }
        let Ok(columns) = scope.find_all(&attribute.names()) else { return Ok(false) };
        let is_it = |key: &ForeignKeyScope<'_>| {
            key.target.id == target.table.id && same_columns(&key.columns, &columns)
        };
        Ok(scope.foreign_keys.iter().any(is_it))
    }
}

impl<'a> Attribute<'a> {
    /// Reads `column`, `table.column`, `schema.table.column`, or several between commas, of which the first may name the
    /// table.
    fn parse(text: &'a str) -> Result<Self> {
        let mut attribute = Self { table: None, columns: Vec::new(), text };
        for part in text.split(',') {
            let parts = name_parts(part.trim())
                .ok_or_else(|| Error::invalid(format!("{text:?}: expected a column, or table.column")))?;
            let (column, table) = parts.split_last().expect("a name has a part");
            if !table.is_empty() {
                let table: Vec<String> =
                    table.iter().map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect();
                let table = table.join(".");
                if attribute.table.as_ref().is_some_and(|known| *known != table) {
                    return Err(Error::invalid(format!("{text:?} names columns of several tables")));
                }
                attribute.table = Some(table);
            }
            attribute.columns.push(column.clone());
        }
        Ok(attribute)
    }

    fn names(&self) -> Vec<ColumnName> {
        self.columns.iter().cloned().map(ColumnName::Name).collect()
    }

    /// Whether it names `scope`'s table, or none.
    fn may_be_of(&self, scope: &TableScope<'_>) -> bool {
        let Some(parts) = self.table.as_ref().and_then(|table| name_parts(table)) else { return true };
        match &parts[..] {
            [table] => *scope.table.name == **table,
            [schema, table] => *scope.table.schema == **schema && *scope.table.name == **table,
            _ => false,
        }
    }
}

/// The column that `attribute` names in `scope`.
fn only_column(call: &str, scope: &TableScope<'_>, attribute: &str) -> Result<ColumnName> {
    let named = Attribute::parse(attribute)?;
    let table = display_name(scope.table);
    let [column] = &named.names()[..] else {
        return Err(Error::invalid(format!(
            "{call}: {:?} names several columns, and a property is one",
            named.text
        )));
    };
    if !named.may_be_of(scope) {
        return Err(Error::invalid(format!("{call}: {attribute:?} is no column of {table}")));
    }
    scope.find(column).map_err(|why| Error::invalid(format!("{call}: {table}: {why}")))?;
    Ok(column.clone())
}

/// Makes `column` the property `property` of the rule's rows.
fn add_property(rule: &mut TableRule, property: &str, column: ColumnName) {
    add_name(&mut rule.rename, property, &column);
    rule.properties.get_or_insert_default().push(column);
}

/// Says that the property of `column` is called `property`, if it isn't anyway.
fn add_name(rename: &mut BTreeMap<String, String>, property: &str, column: &ColumnName) {
    if let ColumnName::Name(name) = column
        && name != property
    {
        rename.insert(name.clone(), property.to_owned());
    }
}
