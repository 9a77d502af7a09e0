//! Used columns: reduces a table's plan to the columns that its rules need, so that no others are copied or read.

use crate::mapping::plan::{EdgeIdentity, PlannedColumn, TablePlan};
use crate::mapping::scope::TableScope;
use std::collections::BTreeSet;

/// Renumbers the columns of `plan`, which are those of the table, to those that are used, in the table's order.
pub(super) fn keep_used_columns(plan: &mut TablePlan, scope: &TableScope<'_>) {
    let mut used = BTreeSet::new();
    visit_columns(plan, &mut |column| {
        used.insert(*column);
    });
    let numbers: Vec<usize> = used.into_iter().collect();
    visit_columns(plan, &mut |column| {
        *column = numbers.binary_search(column).expect("all columns were collected");
    });
    plan.columns = numbers
        .into_iter()
        .map(|column| {
            let own = &scope.columns[column];
            PlannedColumn {
                name: own.column.name.clone(),
                column_type: own.column_type.clone(),
                is_padded: own.is_padded,
                may_be_unchanged: own.may_be_unchanged,
            }
        })
        .collect();
}

/// Shows `visit` every number of a column in `plan`.
fn visit_columns(plan: &mut TablePlan, visit: &mut impl FnMut(&mut usize)) {
    for vertex in &mut plan.vertices {
        vertex.key.columns.iter_mut().for_each(|key| visit(&mut key.column));
        vertex.properties.iter_mut().for_each(|property| visit(&mut property.column));
        if let Some(condition) = &mut vertex.condition {
            condition.visit_columns(visit);
        }
        for edge in &mut vertex.edges {
            edge.end.key.columns.iter_mut().for_each(|key| visit(&mut key.column));
            edge.properties.iter_mut().for_each(|property| visit(&mut property.column));
        }
    }
    for edge in &mut plan.edges {
        for end in [&mut edge.start, &mut edge.end] {
            end.key.columns.iter_mut().for_each(|key| visit(&mut key.column));
        }
        if let EdgeIdentity::Key(key) = &mut edge.identity {
            key.columns.iter_mut().for_each(|key| visit(&mut key.column));
        }
        edge.properties.iter_mut().for_each(|property| visit(&mut property.column));
        if let Some(condition) = &mut edge.condition {
            condition.visit_columns(visit);
        }
    }
}
