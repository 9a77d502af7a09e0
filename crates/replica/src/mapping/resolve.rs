//! Resolve: binds the rules of a mapping to the tables, columns, types and keys of a catalogue.
//!
//! ```text
//! rules ──> tables ──> labels and their keys ──> vertices, edges and their ends ──> what rules must agree about ──> plan
//! ```
//!
//! Defaults: an id is the primary key; a space is the label of the table that a foreign key refers to; properties are all
//! columns without another purpose.

use crate::mapping::agreement::disagreements;
use crate::mapping::filter::bind::bind;
use crate::mapping::filter::condition::Condition;
use crate::mapping::key::{COMPOSITE_PROPERTY, KeyColumn, KeyPlan, is_key_type};
use crate::mapping::plan::{
    EdgeIdentity, EdgePlan, EndPlan, ForeignKeyPlan, Plan, PropertyPlan, TablePlan, VertexPlan, WaitingPlan,
};
use crate::mapping::problem::{Fault, MappingProblems};
use crate::mapping::row_properties::{different_names, properties, property, property_name};
use crate::mapping::scope::{TableScope, display_type, find_table, same_columns};
use crate::mapping::sql_name::display_name;
use crate::mapping::used_columns::keep_used_columns;
use crate::pgoutput::relation::Oid;
use crate::source::catalogue::Catalogue;
use crate::value::column_type::ColumnType;
use evergraph_files::import::mapping::rule::ColumnName;
use evergraph_files::import::mapping::table::{EndColumns, ForeignKeyRule, MissingEnd, RowRule, TableRule};
use evergraph_graph::nearest::did_you_mean;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A label, and what identifies its vertices.
struct LabelScope<'a> {
    rule: usize,
    /// The label's own table.
    scope: &'a TableScope<'a>,
    /// The columns of the id.
    id: Vec<usize>,
    key: KeyPlan,
    names: Vec<&'a str>,
    has_condition: bool,
}

/// Binds `rules` to `catalogue`.
///
/// Cost: some microseconds a rule and column.
///
/// # Errors
/// One problem a rule at least for each that doesn't fit.
pub fn resolve(rules: &[TableRule], catalogue: &Catalogue) -> Result<Plan, MappingProblems> {
    if rules.is_empty() {
        return Err(MappingProblems(vec![
            "there is no [[table]] in the mapping, which says what its rows become".to_owned(),
        ]));
    }
    let mut problems = Vec::new();
    let mut scopes: BTreeMap<Oid, TableScope<'_>> = BTreeMap::new();
    let mut tables = Vec::new();
    for rule in rules {
        let table = find_table(catalogue, &rule.table).and_then(|table| {
            if let Entry::Vacant(free) = scopes.entry(table.id) {
                free.insert(TableScope::new(catalogue, table)?);
            }
            Ok(table.id)
        });
        tables.push(table.map_err(|why| problems.push(rule.blame("table", why))).ok());
    }
    let mut resolver = Resolver { rules, labels: BTreeMap::new() };
    for (index, (rule, table)) in rules.iter().zip(&tables).enumerate() {
        let (Some(table), RowRule::Vertex { label, .. }) = (table, &rule.row) else { continue };
        if let Err(Fault { key, why }) = resolver.add_label(index, label, &scopes[table]) {
            problems.push(rule.blame(key, why));
        }
    }
    let mut plan = Plan { tables: Vec::new() };
    for (index, (rule, table)) in rules.iter().zip(&tables).enumerate() {
        let Some(table) = table else { continue };
        let scope = &scopes[table];
        let planned = match plan.tables.iter().position(|planned| planned.table == *table) {
            Some(at) => &mut plan.tables[at],
            None => {
                plan.tables.push(TablePlan {
                    table: *table,
                    schema: scope.table.schema.clone(),
                    name: scope.table.name.clone(),
                    columns: Vec::new(),
                    vertices: Vec::new(),
                    edges: Vec::new(),
                });
                plan.tables.last_mut().expect("one was pushed")
            }
        };
        let result = match &rule.row {
            RowRule::Vertex { label, edges } => {
                // What is wrong with a label was said above.
                if resolver.labels.get(label.as_str()).is_none_or(|known| known.rule != index) {
                    continue;
                }
                let (vertex, edge_problems) = resolver.vertex(index, label, edges, scope);
                problems.extend(edge_problems);
                vertex.map(|vertex| planned.vertices.push(vertex))
            }
            RowRule::Edge { edge_type, start, end, undirected } => resolver
                .edge(index, edge_type, start, end, *undirected, scope)
                .map(|edge| planned.edges.push(edge)),
        };
        if let Err(Fault { key, why }) = result {
            problems.push(rule.blame(key, why));
        }
    }
    if problems.is_empty() {
        for planned in &mut plan.tables {
            keep_used_columns(planned, &scopes[&planned.table]);
        }
        problems = disagreements(&plan, rules);
    }
    if problems.is_empty() { Ok(plan) } else { Err(MappingProblems(problems)) }
}

struct Resolver<'a> {
    rules: &'a [TableRule],
    labels: BTreeMap<&'a str, LabelScope<'a>>,
}

impl<'a> Resolver<'a> {
    fn add_label(&mut self, rule: usize, label: &'a str, scope: &'a TableScope<'a>) -> Result<(), Fault> {
        if let Some(known) = self.labels.get(label) {
            let other = self.rules[known.rule]
                .origin
                .as_ref()
                .map_or(String::new(), |origin| format!(" ({})", origin.place("label")));
            let why = format!("another rule{other} has the label {label:?}, and a label belongs to one");
            return Err(Fault::new("label", why));
        }
        let id = self.id(rule, scope)?;
        let key = key_plan(scope, &self.rules[rule], &id)?;
        let names = id.iter().map(|column| &*scope.columns[*column].column.name).collect();
        let has_condition = self.rules[rule].condition.is_some();
        self.labels.insert(label, LabelScope { rule, scope, id, key, names, has_condition });
        Ok(())
    }

    /// The columns that identify a row: those that the rule names, or those of the primary key.
    fn id(&self, rule: usize, scope: &TableScope<'_>) -> Result<Vec<usize>, Fault> {
        let rule = &self.rules[rule];
        let table = display_name(scope.table);
        let candidates = || {
            let keys = scope.table.unique_keys.iter().filter_map(|key| scope.indexes(&key.columns));
            let keys = keys.filter(|key| key.iter().all(|column| !scope.columns[*column].column.is_nullable));
            match keys.map(|key| format!("[{}]", scope.names(&key))).collect::<Vec<_>>() {
                keys if keys.is_empty() => "; it has no other unique key without nulls".to_owned(),
                keys => format!("; its unique keys without nulls are {}", keys.join(", ")),
            }
        };
        if rule.id.is_empty() {
            let key = scope.table.primary_key.as_ref().and_then(|key| scope.indexes(&key.columns));
            let key = key.ok_or_else(|| {
                Fault::new(
                    "id",
                    format!(
                        "is missing, and {table} has no primary key to identify its rows{}",
                        candidates()
                    ),
                )
            })?;
            for column in &key {
                let name = ColumnName::Name(scope.columns[*column].column.name.to_string());
                scope.find(&name).map_err(|why| Fault::new("id", why))?;
            }
            return Ok(key);
        }
        let id = scope.find_all(&rule.id).map_err(|why| Fault::new("id", why))?;
        let (names, is_unique) = (scope.names(&id), scope.is_unique(&id));
        if let Some(column) = id.iter().find(|column| scope.columns[**column].column.is_nullable) {
            let name = &scope.columns[*column].column.name;
            return Err(Fault::new("id", format!("column {name} of {table} may be null{}", candidates())));
        }
        if !is_unique {
            let why = format!(
                "[{names}] is no primary key or unique key of {table}, so that rows may share it{}",
                candidates()
            );
            return Err(Fault::new("id", why));
        }
        Ok(id)
    }

    /// The plan of a vertex rule, and what is wrong with its edges.
    fn vertex(
        &self,
        index: usize,
        label: &str,
        edges: &[ForeignKeyRule],
        scope: &TableScope<'_>,
    ) -> (Result<VertexPlan, Fault>, Vec<String>) {
        let rule = &self.rules[index];
        let mut problems = Vec::new();
        let mut plans = Vec::new();
        let mut named = BTreeSet::new();
        for edge in edges {
            match self.foreign_key(rule, edge, scope) {
                Ok((plan, columns)) => {
                    named.extend(columns);
                    plans.push(plan);
                }
                Err(Fault { key, why }) => problems.push(rule.blame_edge(edge, key, why)),
            }
        }
        let known = &self.labels[label];
        let vertex = || -> Result<VertexPlan, Fault> {
            let properties = properties(scope, rule, Some(&known.key), &named)?;
            let names: BTreeSet<&str> = std::iter::once(&known.key.property)
                .chain(properties.iter().map(|property| &property.name))
                .map(String::as_str)
                .collect();
            let kept = plans.iter().filter_map(|plan| plan.waiting.as_ref());
            let mut kept = kept.flat_map(|plan| std::iter::once(&plan.key).chain(&plan.properties));
            if let Some(name) = kept.find(|name| names.contains(name.as_str())) {
                let why = format!(
                    "the property {name:?} holds the other end of an edge that waits: give the column of that name \
                     another one by `rename`"
                );
                return Err(Fault::new("rename", why));
            }
            Ok(VertexPlan {
                rule: index,
                label: label.to_owned(),
                key: known.key.clone(),
                properties,
                condition: condition(scope, rule)?,
                edges: plans,
                on_unfit: rule.on_unfit.unwrap_or_default(),
            })
        };
        (vertex(), problems)
    }

    fn foreign_key(
        &self,
        rule: &TableRule,
        edge: &ForeignKeyRule,
        scope: &TableScope<'_>,
    ) -> Result<(ForeignKeyPlan, Vec<usize>), Fault> {
        let end = self.end("column", &edge.end, scope)?;
        let columns = scope.find_all(&edge.properties).map_err(|why| Fault::new("properties", why))?;
        let properties = columns.into_iter().map(|column| {
            let own_name = edge.rename.get(&*scope.columns[column].column.name);
            let property = property(scope, rule, column)?;
            Ok(PropertyPlan { name: own_name.cloned().unwrap_or(property.name), ..property })
        });
        let columns = end.key.columns.iter().map(|column| column.column).collect();
        let properties = properties.collect::<Result<Vec<_>, Fault>>()?;
        let missing = edge.missing.or(rule.missing).unwrap_or_default();
        let plan = ForeignKeyPlan {
            edge_type: edge.edge_type.clone(),
            waiting: waiting(edge, &end, missing, &properties),
            end,
            reverse: edge.reverse,
            properties,
            missing,
        };
        for name in edge.rename.keys() {
            let column =
                scope.find(&ColumnName::Name(name.clone())).map_err(|why| Fault::new("rename", why))?;
            if plan.properties.iter().all(|property| property.column != column) {
                let why = format!("column {name} becomes no property of the edge, so that this says nothing");
                return Err(Fault::new("rename", why));
            }
        }
        different_names(None, &plan.properties, scope, "properties")?;
        Ok((plan, columns))
    }

    fn edge(
        &self,
        index: usize,
        edge_type: &str,
        start: &EndColumns,
        end: &EndColumns,
        undirected: bool,
        scope: &TableScope<'_>,
    ) -> Result<EdgePlan, Fault> {
        let rule = &self.rules[index];
        let (start, end) = (self.end("start", start, scope)?, self.end("end", end, scope)?);
        let ends: BTreeSet<usize> =
            start.key.columns.iter().chain(&end.key.columns).map(|key| key.column).collect();
        let end_columns: Vec<usize> = ends.iter().copied().collect();
        let is_told_by_ends =
            rule.id.is_empty() && scope.table.primary_key.is_none() && scope.is_unique(&end_columns);
        let id = if is_told_by_ends { end_columns.clone() } else { self.id(index, scope)? };
        // The rows (a, b) and (b, a) have the same ends if edges have no direction.
        let identity = if same_columns(&id, &end_columns) && !undirected {
            EdgeIdentity::Ends
        } else {
            EdgeIdentity::Key(key_plan(scope, rule, &id)?)
        };
        if undirected && start.label != end.label {
            let why = format!(
                "the ends have different labels, {} and {}: the edges have a direction",
                start.label, end.label
            );
            return Err(Fault::new("undirected", why));
        }
        let key = match &identity {
            EdgeIdentity::Key(key) => Some(key),
            EdgeIdentity::Ends => None,
        };
        Ok(EdgePlan {
            rule: index,
            edge_type: edge_type.to_owned(),
            properties: properties(scope, rule, key, &ends)?,
            start,
            end,
            undirected,
            identity,
            condition: condition(scope, rule)?,
            missing: rule.missing.unwrap_or_default(),
            on_unfit: rule.on_unfit.unwrap_or_default(),
        })
    }

    /// An end of an edge: columns of the row, and the label whose ids they hold.
    fn end(&self, key: &'static str, end: &EndColumns, scope: &TableScope<'_>) -> Result<EndPlan, Fault> {
        let fault = |why: String| Fault::new(key, why);
        let columns = scope.find_all(&end.columns).map_err(fault)?;
        let names = scope.names(&columns);
        let mut keys = scope.foreign_keys.iter().filter(|foreign| same_columns(&foreign.columns, &columns));
        let (foreign, is_only_key) = (keys.next(), keys.next().is_none());
        let label = match (&end.space, foreign) {
            (Some(space), _) => space.as_str(),
            (None, Some(foreign)) if is_only_key => {
                let mut labels =
                    self.labels.iter().filter(|(_, label)| label.scope.table.id == foreign.target.id);
                let target = display_name(foreign.target);
                match (labels.next(), labels.next()) {
                    (Some((label, _)), None) => *label,
                    (None, _) => {
                        let why = format!("[{names}] refers to {target}, which no rule makes vertices of");
                        return Err(fault(why));
                    }
                    (Some((one, _)), Some((other, _))) => {
                        let why = format!(
                            "[{names}] refers to {target}, whose rows are {one} and {other}: say a space"
                        );
                        return Err(fault(why));
                    }
                }
            }
            (None, foreign) => {
                let is =
                    if foreign.is_some() { "belongs to several foreign keys" } else { "is no foreign key" };
                let table = display_name(scope.table);
                return Err(fault(format!(
                    "[{names}] {is} of {table}: say a space, the label that it refers to"
                )));
            }
        };
        let Some(target) = self.labels.get(label) else {
            let labels = self.labels.keys().copied();
            let hint = match did_you_mean(label, labels.clone()) {
                hint if hint.is_empty() => format!("; there are {}", labels.collect::<Vec<_>>().join(", ")),
                hint => hint,
            };
            return Err(Fault::new(
                if key == "column" { "space" } else { key },
                format!("no rule has the label {label:?}{hint}"),
            ));
        };
        if columns.len() != target.id.len() {
            let id = target.names.join(", ");
            return Err(fault(format!("[{names}] can't refer to {label}, which is identified by [{id}]")));
        }
        let own = columns.iter().map(|column| (scope, *column));
        for (scope, column) in own.chain(target.id.iter().map(|column| (target.scope, *column))) {
            let known = &scope.columns[column];
            if !known.has_one_text {
                let why = format!(
                    "column {} of {} is {}, of which PostgreSQL takes different texts for equal, by rules unknown here: edges would \
                     miss their ends. Let them refer to another unique key of {label}, by its `id`, or give the column another type \
                     or collation",
                    known.column.name,
                    display_name(scope.table),
                    display_type(known.column)
                );
                return Err(fault(why));
            }
        }
        let mut is_promised = false;
        for foreign in scope.foreign_keys.iter().filter(|foreign| same_columns(&foreign.columns, &columns)) {
            if foreign.target.id != target.scope.table.id {
                continue;
            }
            // What the key says of each column, in the order of the rule's columns.
            let referred: Vec<&str> = columns
                .iter()
                .filter_map(|column| foreign.columns.iter().position(|known| known == column))
                .map(|place| foreign.target_columns[place])
                .collect();
            if referred == target.names {
                is_promised |= foreign.is_promised && !target.has_condition;
            } else if referred.len() == target.names.len()
                && referred.iter().all(|name| target.names.contains(name))
            {
                let ordered: Vec<&str> = target
                    .names
                    .iter()
                    .filter_map(|name| referred.iter().position(|known| known == name))
                    .map(|place| &*scope.columns[columns[place]].column.name)
                    .collect();
                let why = format!(
                    "[{names}] is in another order than the id of {label}, [{}]: write [{}]",
                    target.names.join(", "),
                    ordered.join(", ")
                );
                return Err(fault(why));
            } else {
                let why = format!(
                    "[{names}] refers to [{}] of {}, and {label} is identified by [{}]",
                    foreign.target_columns.join(", "),
                    display_name(foreign.target),
                    target.names.join(", ")
                );
                return Err(fault(why));
            }
        }
        let mut key_columns = Vec::with_capacity(columns.len());
        for ((column, of_target), name) in columns.iter().zip(&target.key.columns).zip(&target.names) {
            let own = &scope.columns[*column];
            if !are_compared(&own.column_type, &of_target.column_type) {
                let why = format!(
                    "column {} is {}, and {name} of {label} is {}: they are never equal",
                    own.column.name, own.column.type_name, of_target.column_type
                );
                return Err(fault(why));
            }
            let is_padded = own.is_padded || of_target.is_padded;
            key_columns.push(KeyColumn {
                column: *column,
                column_type: of_target.column_type.clone(),
                is_padded,
            });
        }
        let key = KeyPlan { property: target.key.property.clone(), columns: key_columns };
        Ok(EndPlan { label: label.to_owned(), key, is_promised })
    }
}

/// What the row's vertex keeps for an edge whose other end may be missing.
fn waiting(
    edge: &ForeignKeyRule,
    end: &EndPlan,
    missing: MissingEnd,
    properties: &[PropertyPlan],
) -> Option<WaitingPlan> {
    if end.is_promised || missing != MissingEnd::Wait {
        return None;
    }
    let arrow = if edge.reverse { "<-" } else { "->" };
    let key = format!("{}{arrow}{}", edge.edge_type, end.label);
    let properties = properties.iter().map(|property| format!("{key}.{}", property.name)).collect();
    Some(WaitingPlan { key, properties })
}

/// Whether equal values of both types have the same text, but for zeros at the end.
fn are_compared(one: &ColumnType, other: &ColumnType) -> bool {
    let is_whole =
        |column_type: &ColumnType| matches!(column_type, ColumnType::I16 | ColumnType::I32 | ColumnType::I64);
    one == other || is_whole(one) && is_whole(other)
}

fn key_plan(scope: &TableScope<'_>, rule: &TableRule, id: &[usize]) -> Result<KeyPlan, Fault> {
    let mut columns = Vec::with_capacity(id.len());
    for column in id {
        let own = &scope.columns[*column];
        let name = &own.column.name;
        if !is_key_type(&own.column_type) {
            let why = format!(
                "column {name} is {}, whose equal values may have different texts",
                own.column.type_name
            );
            return Err(Fault::new("id", why));
        }
        if let ([_], Some(declared)) = (id, rule.types.get(&**name)) {
            let why =
                format!("column {name} identifies the row, and has the type of the column: not {declared:?}");
            return Err(Fault::new("types", why));
        }
        columns.push(KeyColumn {
            column: *column,
            column_type: own.column_type.clone(),
            is_padded: own.is_padded,
        });
    }
    let property = match id {
        [column] => property_name(scope, rule, *column),
        _ => COMPOSITE_PROPERTY.to_owned(),
    };
    Ok(KeyPlan { property, columns })
}

fn condition(scope: &TableScope<'_>, rule: &TableRule) -> Result<Option<Condition>, Fault> {
    let Some(text) = &rule.condition else { return Ok(None) };
    let columns: Vec<_> =
        scope.columns.iter().map(|column| (&*column.column.name, column.operand_type.clone())).collect();
    let condition = bind(text, &columns).map_err(|error| Fault::new("where", error.describe(text)))?;
    if let Some(column) =
        condition.columns().into_iter().find(|column| scope.columns[*column].column.is_generated)
    {
        let name = &scope.columns[column].column.name;
        let why = format!("column {name} is computed by PostgreSQL (GENERATED), which doesn't send it");
        return Err(Fault::new("where", why));
    }
    Ok(Some(condition))
}
