//! Column order: whether the columns that a note has of a table can be those that the source has, by the source's numbers.
//!
//! PostgreSQL gives the columns of a table numbers in the order in which they come, and none twice. A note has them in this order,
//! dropped ones at their places. The table of this example had a column `x` before the others, and got `y` when `x` was gone:
//!
//! ```text
//! source   2 src   3 dst   4 w   5 y
//! note     x src dst w y               x was number 1
//! note     src dst w y x               no number is left for x: an older program put it there, and a rule for column 2
//!                                      means dst since
//! note     src w dst y                 w was dropped and added again, if nobody renamed it: it was number 3
//! ```

use crate::follow::pause::Pause;
use crate::mapping::plan::TablePlan;
use crate::mapping::sql_name::display_name;
use crate::source::catalogue::Table;
use crate::source::catalogue_marks::TableMarks;

/// The pause for the first column of `planned` that stands before an older one in what is `known`, so that it is another one now.
/// Whoever saw the numbers before knows without it.
#[must_use]
pub fn remade_pause(planned: &TablePlan, known: &Table, now: &TableMarks) -> Option<Pause> {
    let column = remade(known, now)
        .into_iter()
        .find(|name| planned.columns.iter().any(|column| *column.name == **name))?;
    Some(another_column_pause(column, known))
}

/// The pause for a column that is another one than before.
pub(super) fn another_column_pause(column: &str, table: &Table) -> Pause {
    Pause::resync(format!(
        "the column {column} of {} is another one than before: it was dropped and added again, or another column got its name; the \
         stream says nothing of the values that rows from before have in it",
        display_name(table)
    ))
}

/// The pause for a column that was dropped and has no place in what is `known` of its table, where rules number columns.
#[must_use]
pub fn misplaced_pause(known: &Table, now: &TableMarks) -> Option<Pause> {
    let column = misplaced(known, now)?;
    Some(Pause::resync(format!(
        "an older version of this program moved the dropped column {column} of {} behind the others, so that the numbers of columns \
         in the mapping meant other columns since: vertices and edges of the table may be wrong",
        display_name(known)
    )))
}

/// Columns with greater numbers than columns behind them.
fn remade<'a>(known: &'a Table, now: &TableMarks) -> Vec<&'a str> {
    let mut behind = u16::MAX;
    let mut found = Vec::new();
    for column in known.columns.iter().rev() {
        let Some(number) = now.columns.get(&column.name) else { continue };
        if *number > behind {
            found.push(&*column.name);
        }
        behind = behind.min(*number);
    }
    found.reverse();
    found
}

/// The first column that is gone and stands where no number is left for it. Says nothing of columns in another order.
fn misplaced<'a>(known: &'a Table, now: &TableMarks) -> Option<&'a str> {
    if !remade(known, now).is_empty() {
        return None;
    }
    let (mut before, mut gone) = (0, Vec::new());
    for column in &known.columns {
        match now.columns.get(&column.name) {
            None => gone.push(&*column.name),
            Some(number) => {
                let free = usize::from(number - before) - 1;
                if gone.len() > free {
                    return Some(gone[free]);
                }
                before = *number;
                gone.clear();
            }
        }
    }
    let free = usize::from(now.last_number.checked_sub(before)?);
    gone.get(free).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgoutput::relation::RelationIdentity;
    use crate::source::catalogue::{Column, TableKind, TableRights};

    fn known(names: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: (*name).into(),
            type_id: 23,
            type_name: "integer".into(),
            is_nullable: true,
            is_generated: false,
            is_nondeterministic: false,
        };
        Table {
            id: 1,
            schema: "public".into(),
            name: "link".into(),
            kind: TableKind::Plain,
            partition_of: None,
            child_tables: Vec::new(),
            columns: names.iter().map(column).collect(),
            primary_key: None,
            unique_keys: Vec::new(),
            foreign_keys: Vec::new(),
            identity: RelationIdentity::PrimaryKey,
            identity_columns: Vec::new(),
            rows_estimate: None,
            rights: TableRights::default(),
        }
    }

    fn marks(columns: &[(&str, u16)], last_number: u16) -> TableMarks {
        let columns = columns.iter().map(|(name, number)| ((*name).into(), *number)).collect();
        TableMarks { columns, last_number, ..TableMarks::default() }
    }

    #[test]
    fn a_dropped_column_has_a_place_where_the_source_has_a_number_left() {
        let now = marks(&[("src", 2), ("dst", 3), ("w", 4), ("y", 5)], 5);
        let misplaced = |names: &[&str], now: &TableMarks| misplaced(&known(names), now).map(str::to_owned);
        assert_eq!(misplaced(&["x", "src", "dst", "w", "y"], &now), None);
        assert_eq!(misplaced(&["src", "dst", "w"], &now), None, "y is not published");
        assert_eq!(misplaced(&["src", "dst", "w", "y", "x"], &now), Some("x".to_owned()));
        assert_eq!(misplaced(&["x", "src", "v", "dst", "w", "y"], &now), Some("v".to_owned()));
        // Columns came behind it meanwhile, one of which was dropped.
        let later = marks(&[("src", 2), ("dst", 3), ("w", 4), ("y", 5), ("z", 7)], 7);
        assert_eq!(misplaced(&["x", "src", "dst", "w", "y", "v", "z"], &later), None);
        assert_eq!(misplaced(&["x", "src", "dst", "w", "y", "v", "u", "z"], &later), Some("u".to_owned()));
        // One that has another name now, which nobody knows yet.
        let renamed = marks(&[("src", 2), ("another", 3), ("w", 4)], 4);
        assert_eq!(misplaced(&["x", "src", "dst", "w"], &renamed), None);
        let pause = misplaced_pause(&known(&["src", "dst", "w", "y", "x"]), &now).unwrap();
        assert!(pause.cause.contains("the dropped column x of link"), "{pause}");
    }

    #[test]
    fn a_column_that_was_dropped_and_added_again_has_a_greater_number_than_those_behind_it() {
        let now = marks(&[("id", 1), ("title", 3), ("name", 4)], 4);
        assert_eq!(remade(&known(&["id", "name", "title"]), &now), ["name"]);
        assert_eq!(remade(&known(&["id", "title", "name"]), &now), [] as [&str; 0]);
        assert_eq!(misplaced(&known(&["id", "gone", "name", "title"]), &now), None);
    }
}
