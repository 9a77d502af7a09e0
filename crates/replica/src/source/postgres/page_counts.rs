//! Page counts: how many pages tables and their partitions have, by which tables are cut.
//!
//! Ranges of pages have each row once as long as rows stay in their pages. `VACUUM FULL`, `CLUSTER` and statements that write a
//! table anew move them: they wait for the lock of a reader, which a transaction here holds. Pages that come meanwhile have no
//! rows that a snapshot of before sees.

use std::collections::BTreeMap;

use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::source::contract::CopyRequest;
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::connection::{Connection, ResultRow};
use crate::source::table_cuts::{CutRules, PageRange, RowKeeper, TableCuts};

const DOING: &str = "cut tables of";

/// Cuts `tables`. `connection` is for this alone.
///
/// Cost: a query for all tables, and one for each that is cut, which waits for whoever changes its definition.
///
/// # Errors
/// If the server cannot be asked, or a table may not be read.
pub(super) fn cut(
    mut connection: Connection,
    tables: &[CopyRequest],
    rules: CutRules,
) -> SourceResult<TableCuts> {
    if tables.is_empty() {
        return Ok(TableCuts::whole(0));
    }
    let sizes = sizes(&mut connection, tables)?;
    let ranges: Vec<Vec<PageRange>> = tables
        .iter()
        .map(|table| match sizes.get(&(table.schema.clone(), table.table.clone())) {
            Some(pages) => rules.ranges(pages),
            None => vec![PageRange::ALL],
        })
        .collect();
    if ranges.iter().all(|ranges| ranges.len() == 1) {
        return Ok(TableCuts::new(ranges, None));
    }
    connection.query(DOING, "BEGIN READ ONLY")?;
    for (table, _) in tables.iter().zip(&ranges).filter(|(_, ranges)| ranges.len() > 1) {
        // No more than a copy reads, so that it needs no other right.
        let Some(column) = table.columns.first() else { continue };
        let lock = format!(
            "SELECT {} FROM {}.{} LIMIT 0",
            escape_identifier(column),
            escape_identifier(&table.schema),
            escape_identifier(&table.table)
        );
        connection.query(DOING, &lock)?;
    }
    Ok(TableCuts::new(ranges, Some(Box::new(TableLocks(connection)))))
}

/// A transaction that holds locks of tables.
struct TableLocks(Connection);

impl RowKeeper for TableLocks {
    fn check(&mut self) -> SourceResult<()> {
        // A standby ends transactions that its replay waits for, and everybody those of a lost connection.
        self.0.query("keep the rows of tables in their places at", "COMMIT").map(drop)
    }
}

/// Of each table whose rows can be found by their pages, how many pages it has, and each of its partitions. Pages are read by a
/// system column, which a role that was granted some columns alone may not read.
fn sizes(
    connection: &mut Connection,
    tables: &[CopyRequest],
) -> SourceResult<BTreeMap<(String, String), Vec<u64>>> {
    let name = |table: &CopyRequest| {
        format!("({}, {})", escape_literal(&table.schema), escape_literal(&table.table))
    };
    let names: Vec<String> = tables.iter().map(name).collect();
    let sql = format!(
        "WITH RECURSIVE part(root, part) AS ( \
           SELECT c.oid, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
           WHERE (n.nspname, c.relname) IN ({}) \
           UNION SELECT part.root, i.inhrelid FROM part JOIN pg_inherits i ON i.inhparent = part.part) \
         SELECT n.nspname, r.relname, coalesce(has_table_privilege(r.oid, 'SELECT'), false) \
         AND (c.relkind = 'p' OR c.relkind = 'r' AND a.amname IS NOT DISTINCT FROM 'heap'), \
         CASE c.relkind WHEN 'r' THEN pg_relation_size(c.oid) / current_setting('block_size')::bigint END \
         FROM part JOIN pg_class c ON c.oid = part.part LEFT JOIN pg_am a ON a.oid = c.relam \
         JOIN pg_class r ON r.oid = part.root JOIN pg_namespace n ON n.oid = r.relnamespace",
        names.join(", ")
    );
    let rows = connection.query(DOING, &sql)?;
    let mut sizes: BTreeMap<(String, String), Option<Vec<u64>>> = BTreeMap::new();
    for row in rows {
        let (table, pages) = size(row).ok_or_else(|| {
            let place = connection.place();
            SourceError::Invalid(format!("{DOING} {place}: the server's answer is not what was asked for"))
        })?;
        let known = sizes.entry(table).or_insert_with(|| Some(Vec::new()));
        match (known.as_mut(), pages) {
            (Some(known), Some(pages)) => known.push(pages),
            _ => *known = None,
        }
    }
    Ok(sizes.into_iter().filter_map(|(table, pages)| Some((table, pages?))).collect())
}

/// The table and the pages of one of its parts; `None` in place of these if its rows have none.
fn size(row: ResultRow) -> Option<((String, String), Option<u64>)> {
    let [Some(schema), Some(table), Some(has_pages), pages] = <[_; 4]>::try_from(row).ok()? else {
        return None;
    };
    // A partitioned table itself has none, and so has a part that was dropped meanwhile.
    let pages = pages.map_or(Some(0), |pages| pages.parse().ok())?;
    Some(((schema, table), (has_pages == "t").then_some(pages)))
}
