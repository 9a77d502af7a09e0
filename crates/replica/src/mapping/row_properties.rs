//! Row properties: which columns of a row become properties, what they are called, and what they hold.

use crate::mapping::key::KeyPlan;
use crate::mapping::plan::PropertyPlan;
use crate::mapping::problem::Fault;
use crate::mapping::scope::TableScope;
use evergraph_files::import::mapping::rule::ColumnName;
use evergraph_files::import::mapping::table::{RowRule, TableRule};
use std::collections::{BTreeMap, BTreeSet};

/// The properties of a row, without its key: the columns that the rule names, or all but those that have another purpose.
pub(super) fn properties(
    scope: &TableScope<'_>,
    rule: &TableRule,
    key: Option<&KeyPlan>,
    named: &BTreeSet<usize>,
) -> Result<Vec<PropertyPlan>, Fault> {
    // A column that is the key by itself is a property already.
    let key_column = match key.map(|key| &key.columns[..]) {
        Some([column]) => Some(column.column),
        _ => None,
    };
    let ignored = scope.find_all(&rule.ignore).map_err(|why| Fault::new("ignore", why))?;
    if let Some(column) = key_column.filter(|column| ignored.contains(column)) {
        let why = format!(
            "column {} identifies the row, and is always a property",
            scope.columns[column].column.name
        );
        return Err(Fault::new("ignore", why));
    }
    let columns: Vec<usize> = match &rule.properties {
        Some(columns) => scope.find_all(columns).map_err(|why| Fault::new("properties", why))?,
        None => (0..scope.columns.len())
            .filter(|column| !scope.columns[*column].column.is_generated)
            .filter(|column| !ignored.contains(column) && !named.contains(column))
            .collect(),
    };
    let columns = columns.into_iter().filter(|column| Some(*column) != key_column);
    let properties = columns.map(|column| property(scope, rule, column)).collect::<Result<Vec<_>, _>>()?;
    check_names(scope, rule, key_column, &properties)?;
    let key_name = key.map(|key| (key.property.as_str(), key_column));
    different_names(key_name, &properties, scope, "rename")?;
    Ok(properties)
}

/// Complains about names under `rename` and `types` that are no property's.
fn check_names(
    scope: &TableScope<'_>,
    rule: &TableRule,
    key: Option<usize>,
    properties: &[PropertyPlan],
) -> Result<(), Fault> {
    let of_edges: Vec<&ColumnName> = match &rule.row {
        RowRule::Vertex { edges, .. } => edges.iter().flat_map(|edge| &edge.properties).collect(),
        RowRule::Edge { .. } => Vec::new(),
    };
    for (under, names) in [("rename", &rule.rename), ("types", &rule.types)] {
        for name in names.keys() {
            let column = scope.find(&ColumnName::Name(name.clone())).map_err(|why| Fault::new(under, why))?;
            let is_of_edge = of_edges.iter().any(|known| scope.find(known) == Ok(column));
            if key != Some(column)
                && !is_of_edge
                && properties.iter().all(|property| property.column != column)
            {
                let why = format!("column {name} becomes no property, so that this says nothing");
                return Err(Fault::new(under, why));
            }
        }
    }
    Ok(())
}

/// The property that a column becomes.
pub(super) fn property(
    scope: &TableScope<'_>,
    rule: &TableRule,
    column: usize,
) -> Result<PropertyPlan, Fault> {
    let own = &scope.columns[column];
    let declared = rule.types.get(&*own.column.name).map(String::as_str);
    let form = own.form(declared).map_err(|why| Fault::new("types", why))?;
    Ok(PropertyPlan { column, name: property_name(scope, rule, column), form })
}

/// The name of the property that a column becomes.
pub(super) fn property_name(scope: &TableScope<'_>, rule: &TableRule, column: usize) -> String {
    let name = &*scope.columns[column].column.name;
    rule.rename.get(name).map_or(name, String::as_str).to_owned()
}

/// Complains about two properties with one name; `key` is that of the key, and its column if it is one.
pub(super) fn different_names(
    key: Option<(&str, Option<usize>)>,
    properties: &[PropertyPlan],
    scope: &TableScope<'_>,
    under: &'static str,
) -> Result<(), Fault> {
    let mut known: BTreeMap<&str, Option<usize>> = key.into_iter().collect();
    for property in properties {
        let Some(other) = known.insert(&property.name, Some(property.column)) else { continue };
        let name = |column: usize| &*scope.columns[column].column.name;
        let other = other
            .map_or("the key of several columns".to_owned(), |column| format!("column {}", name(column)));
        let why = format!(
            "{other} and column {} would both be the property {:?}",
            name(property.column),
            property.name
        );
        return Err(Fault::new(under, format!("{why}: give one another name by `rename`")));
    }
    Ok(())
}
