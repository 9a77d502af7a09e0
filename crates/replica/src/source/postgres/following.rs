//! What following a PostgreSQL server needs beyond rows and changes: its slots, publications, timelines, and its catalogue's
//! answers about columns and partitions.

use std::time::Duration;

use evergraph_graph::cancel::CancelFlag;
use postgres_protocol::escape::{escape_identifier, escape_literal};

use crate::lsn::Lsn;
use crate::mapping::server_state::ServerState;
use crate::pgoutput::relation::Oid;
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::connection::{Connection, ResultRow};
use crate::source::postgres::publication;
use crate::source::postgres::server::PostgresSource;
use crate::source::postgres::slot::{self, SlotLifetime};
use crate::source::replica_source::{ExportedSlot, PartitionOrigin, ReplicaSource, TableRewrite};
use crate::source::slot_state::{PLUGIN, SlotState};
use crate::source::slot_wait::SlotWait;
use crate::wire::startup::Purpose;

/// Attribute number of the system column `tableoid`, whose row in the catalogue is as old as its table.
const TABLE_OID_COLUMN: i32 = -6;

const FILLED_COLUMNS: &str = "look at values of new columns of";
const PARTITION: &str = "look at a partition of";
/// Blocks of 8 KiB that are read of a partition: rows that it had when it was attached are its first ones.
const PARTITION_BLOCKS_MAX: u32 = 1 << 17;
/// How long a look at rows takes.
const SCAN_TIME_MAX: Duration = Duration::from_secs(60);
/// What a server says that cannot answer at present: the statement or its wait for a lock took too long, or the role may not read
/// the table.
const NO_ANSWER: [&str; 3] = [QUERY_CANCELED, "55P03", "42501"];
/// What a server says of a statement that took too long.
const QUERY_CANCELED: &str = "57014";

impl PostgresSource {
    fn queries(&self) -> SourceResult<Connection> {
        self.connect(Purpose::Queries)
    }

    /// The rows of `sql`, on a connection of its own.
    fn ask(&self, doing: &str, sql: &str) -> SourceResult<Vec<ResultRow>> {
        self.queries()?.query(doing, sql)
    }

    /// The texts of the only column of `sql`.
    fn ask_texts(&self, doing: &str, sql: &str) -> SourceResult<Vec<String>> {
        let rows = self.ask(doing, sql)?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

impl ReplicaSource for PostgresSource {
    fn place(&self) -> String {
        self.settings().place()
    }

    fn another(&self, cancel: &CancelFlag) -> Box<dyn ReplicaSource> {
        Box::new(Self::new(self.settings().clone(), cancel.clone()))
    }

    fn server_state(&mut self) -> SourceResult<ServerState> {
        let doing = "read settings and rights of";
        let rows = self.ask(doing, ServerState::QUERY)?;
        rows.first().and_then(|row| ServerState::from_row(row)).ok_or_else(|| {
            let place = self.place();
            SourceError::Invalid(format!("{doing} {place}: the server's answer is not settings and rights"))
        })
    }

    fn slot_state(&mut self, name: &str) -> SourceResult<Option<SlotState>> {
        slot::state(&mut self.queries()?, name)
    }

    fn create_slot(
        &mut self,
        name: &str,
        waiting: &dyn Fn(&SlotWait),
        cancel: &CancelFlag,
    ) -> SourceResult<ExportedSlot> {
        let made = slot::create(self.settings(), name, SlotLifetime::Permanent, waiting, cancel)?;
        Ok(ExportedSlot::new(made.consistent_point, Some(made.snapshot.clone()), made))
    }

    fn drop_slot(&mut self, name: &str) -> SourceResult<()> {
        slot::drop(&mut self.queries()?, name)
    }

    fn create_publication(&mut self, name: &str, tables: &[(String, String)]) -> SourceResult<()> {
        publication::create(&mut self.queries()?, name, tables)
    }

    fn drop_publication(&mut self, name: &str) -> SourceResult<()> {
        publication::drop(&mut self.queries()?, name)
    }

    fn slots_of_database(&mut self) -> SourceResult<Vec<String>> {
        self.ask_texts(
            "read the replication slots of",
            &format!(
                "SELECT slot_name FROM pg_replication_slots WHERE database = current_database() AND plugin = {}",
                escape_literal(PLUGIN)
            ),
        )
    }

    fn timeline_end(&mut self, timeline: u32, current: u32) -> SourceResult<Option<Lsn>> {
        let mut connection = self.connect(Purpose::Replication)?;
        // The first timeline has no history.
        let rows = match current {
            0 | 1 => Vec::new(),
            _ => connection.query("read the timelines of", &format!("TIMELINE_HISTORY {current}"))?,
        };
        let history = rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
        Ok(history.and_then(|history| end_of(&history, timeline)))
    }

    fn filled_columns(
        &mut self,
        table: Oid,
        columns: &[Box<str>],
        rewrite: TableRewrite,
    ) -> SourceResult<Vec<String>> {
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let mut connection = self.queries()?;
        let names: Vec<String> = columns.iter().map(|name| escape_literal(name)).collect();
        let names = names.join(", ");
        // A constant default that was given with the column is noted at each partition (atthasmissing), also when it was taken
        // back. Others are written into all rows at once, after which they may be taken back, too.
        let of_part = |condition: &str| {
            format!(
                "EXISTS (SELECT FROM part JOIN pg_attribute p ON p.attrelid = part.id AND p.attname = a.attname WHERE {condition})"
            )
        };
        let may_be_filled = match rewrite {
            TableRewrite::None => of_part("p.atthasmissing"),
            TableRewrite::Possible => "true".to_owned(),
            TableRewrite::Unknown => format!(
                "t.typtype = 'd' OR {}",
                of_part("p.atthasdef OR p.atthasmissing OR p.attnotnull OR p.attidentity <> ''")
            ),
        };
        let sql = format!(
            "WITH RECURSIVE part(id) AS (SELECT {table}::oid UNION SELECT i.inhrelid FROM part JOIN pg_inherits i ON i.inhparent = part.id) \
             SELECT a.attname, format('%I.%I', n.nspname, c.relname) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid \
             WHERE a.attrelid = {table} AND a.attnum > 0 AND NOT a.attisdropped AND a.attname IN ({names}) AND ({may_be_filled})"
        );
        let candidates = connection.query(FILLED_COLUMNS, &sql)?;
        limit_time(&mut connection, FILLED_COLUMNS)?;
        let mut filled = Vec::new();
        for row in candidates {
            let Ok([Some(column), Some(table)]) = <[_; 2]>::try_from(row) else { continue };
            if has_old_values(&mut connection, &table, &column)? {
                filled.push(column);
            }
        }
        Ok(filled)
    }

    fn partition_origin(&mut self, partition: Oid) -> SourceResult<Option<PartitionOrigin>> {
        match self.look_at_partition(partition) {
            Err(error) if error.sqlstate().is_some_and(|state| NO_ANSWER.contains(&state)) => {
                Ok(Some(PartitionOrigin::Unknown))
            }
            answer => answer,
        }
    }
}

impl PostgresSource {
    /// How a table came to be a partition, so far as the server answers.
    fn look_at_partition(&self, partition: Oid) -> SourceResult<Option<PartitionOrigin>> {
        // One transaction wrote both rows if it was made as a partition; its columns are as old as itself then, which attaching
        // changes.
        let sql = format!(
            "SELECT i.xmin = t.xmin, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.inhrelid AND a.attnum > 0 \
             AND a.xmin = t.xmin AND a.cmin = t.cmin), i.xmin, i.cmin FROM pg_inherits i \
             JOIN pg_attribute t ON t.attrelid = i.inhrelid AND t.attnum = {TABLE_OID_COLUMN} WHERE i.inhrelid = {partition}"
        );
        let mut connection = self.queries()?;
        limit_time(&mut connection, PARTITION)?;
        let Some(row) = connection.query(PARTITION, &sql)?.into_iter().next() else { return Ok(None) };
        let texts: Vec<&str> = row.iter().flatten().map(String::as_str).collect();
        let [is_one_transaction, is_made_as_one, transaction, command] = texts[..] else { return Ok(None) };
        Ok(Some(match (is_one_transaction, is_made_as_one) {
            ("t", "t") => PartitionOrigin::Created,
            ("t", _) => {
                let is_before = format!("r.xmin = '{transaction}'::xid AND r.cmin::text::bigint < {command}");
                match some_first_row(&mut connection, PARTITION, partition, &is_before)? {
                    true => PartitionOrigin::Attached,
                    false => PartitionOrigin::Created,
                }
            }
            _ => PartitionOrigin::Attached,
        }))
    }
}

/// Whether one of the first rows of the partition `table` meets `condition`, which calls it `r`. If this role may not read all rows
/// of the partition itself, it asks the root, where no partition can be left out whose rows are told apart by a hash.
fn some_first_row(
    connection: &mut Connection,
    doing: &str,
    table: Oid,
    condition: &str,
) -> SourceResult<bool> {
    let sql = format!(
        "SELECT format('%I.%I', n.nspname, c.relname), \
         CASE WHEN c.oid = {table} THEN 'true' ELSE coalesce(pg_get_partition_constraintdef({table}), 'true') END \
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = CASE \
         WHEN has_table_privilege({table}::oid, 'SELECT') AND NOT row_security_active({table}::oid) THEN {table} \
         ELSE coalesce(pg_partition_root({table}), {table}) END"
    );
    let row = connection.query(doing, &sql)?.into_iter().next();
    let Some([Some(asked), Some(is_in_partition)]) = row.and_then(|row| <[_; 2]>::try_from(row).ok()) else {
        // It was dropped meanwhile.
        return Ok(false);
    };
    let sql = format!(
        "SELECT EXISTS (SELECT FROM {asked} r WHERE r.ctid < '({PARTITION_BLOCKS_MAX},0)' AND {is_in_partition} AND ({condition}))"
    );
    let rows = connection.query(doing, &sql)?;
    Ok(rows.first().and_then(|row| row.first()?.as_deref()) == Some("t"))
}

/// Limits the time of the statements from here on.
fn limit_time(connection: &mut Connection, doing: &str) -> SourceResult<()> {
    let sql = format!("SET statement_timeout = '{}s'", SCAN_TIME_MAX.as_secs());
    connection.query(doing, &sql).map(drop)
}

/// Whether rows of `table` that are as old as the column, or as the table's newest definition, have a value in it. Younger ones are
/// in the stream.
fn has_old_values(connection: &mut Connection, table: &str, column: &str) -> SourceResult<bool> {
    let (name, literal) = (escape_identifier(column), escape_literal(column));
    // A negative age is that of a row from so long before that the numbers of transactions came round.
    let sql = format!(
        "SELECT EXISTS (SELECT FROM {table} r JOIN pg_class c ON c.oid = r.tableoid JOIN pg_attribute a ON a.attrelid = c.oid \
         AND a.attname = {literal} WHERE r.{name} IS NOT NULL AND (age(r.xmin) < 0 \
         OR age(r.xmin) >= least(age(a.xmin), age(c.xmin))))"
    );
    match connection.query(FILLED_COLUMNS, &sql) {
        Ok(rows) => Ok(rows.first().and_then(|row| row.first()?.as_deref()) != Some("f")),
        Err(error) if error.sqlstate() == Some(QUERY_CANCELED) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Where `timeline` ended, by a file of history: a line for each timeline, with its number and its end.
fn end_of(history: &str, timeline: u32) -> Option<Lsn> {
    history.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let number: u32 = fields.next()?.parse().ok()?;
        let end = fields.next()?.parse().ok()?;
        (number == timeline).then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_says_where_each_timeline_ended() {
        let history =
            "# made by hand\n1\t0/3000060\tno recovery target specified\n\n2\t1/A\tbefore 2024-02-29\n";
        assert_eq!(end_of(history, 1), Some(Lsn::new(0x300_0060)));
        assert_eq!(end_of(history, 2), Some(Lsn::new(0x1_0000_000a)));
        assert_eq!(end_of(history, 3), None);
        assert_eq!(end_of("", 1), None);
    }
}
