//! Used columns: reduces the plan of a table to the columns that its rules need, so that no others are copied or read.

use crate::mapping::plan::{EdgeIdentity, PlannedColumn, TablePlan};
use crate::mapping::scope::TableScope;
use crate::pgoutput::relation::Oid;
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
                type_id: own.column.type_id,
                type_modifier: type_modifier(own.column.type_id, &own.column.type_name),
                is_padded: own.is_padded,
                may_be_unchanged: own.may_be_unchanged,
            }
        })
        .collect();
}

/// The modifier of a type, from its name, where another modifier would round values: of `numeric(10,2)`, `time(3)`,
/// `timestamp(3) with time zone`.
fn type_modifier(type_id: Oid, type_name: &str) -> Option<i32> {
    const NUMERIC: Oid = 1700;
    const TIMES: [Oid; 4] = [1083, 1114, 1184, 1266];
    if type_id != NUMERIC && !TIMES.contains(&type_id) {
        return None;
    }
    let Some((_, rest)) = type_name.split_once('(') else { return Some(-1) };
    let mut numbers = rest.split(')').next()?.split(',').map(|number| number.trim().parse::<i32>());
    let first = numbers.next()?.ok()?;
    if type_id != NUMERIC {
        return Some(first);
    }
    // As `make_numeric_typmod` of PostgreSQL packs them: a scale has 11 bits, and may be negative.
    let scale = numbers.next().map_or(Some(0), Result::ok)?;
    Some(((first << 16) | (scale & 0x7ff)) + 4)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_those_that_relations_are_described_with() {
        assert_eq!(type_modifier(1700, "numeric"), Some(-1));
        assert_eq!(type_modifier(1700, "numeric(10,2)"), Some(655_366));
        assert_eq!(type_modifier(1700, "numeric(5,0)"), Some(327_684));
        assert_eq!(type_modifier(1184, "timestamp(3) with time zone"), Some(3));
        assert_eq!(type_modifier(1114, "timestamp without time zone"), Some(-1));
        assert_eq!(type_modifier(1043, "character varying(8)"), None);
    }
}
