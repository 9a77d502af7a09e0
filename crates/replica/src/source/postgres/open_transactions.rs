//! Open transactions: those whose end a server waits for before it makes a slot.

use std::time::Duration;

use evergraph_graph::cancel::CancelFlag;

use crate::source::error::SourceResult;
use crate::source::postgres::connection::{Connection, ResultRow};
use crate::source::postgres::settings::ConnectionSettings;
use crate::source::slot_wait::{OlderTransaction, SlotWait, TransactionHolder};
use crate::wire::startup::Purpose;

/// How long one look takes at most.
const LOOK_TIME_MAX: Duration = Duration::from_secs(10);

/// What the server's process `process`, which makes a slot, waits for.
///
/// It waits for one transaction after the other, by a lock. Others that are older than a short while will hold it up next; of these
/// the server shows the beginning only to roles that may see it.
///
/// # Errors
/// If the server does not answer.
pub fn slot_wait(settings: &ConnectionSettings, process: i32, cancel: &CancelFlag) -> SourceResult<SlotWait> {
    let sql = format!(
        "WITH waited AS MATERIALIZED (SELECT l.transactionid AS id FROM pg_locks l WHERE l.pid = {process} AND l.locktype = 'transactionid' \
         AND NOT l.granted), \
         found(process, application, gid, owner, database, began, is_waited) AS (\
         SELECT a.pid, a.application_name, NULL, a.usename, a.datname, a.xact_start, a.backend_xid IN (SELECT id FROM waited) \
         FROM pg_stat_activity a WHERE a.backend_xid IS NOT NULL AND a.pid <> {process} \
         UNION ALL SELECT NULL, NULL, p.gid, p.owner, p.database, p.prepared, p.transaction IN (SELECT id FROM waited) \
         FROM pg_prepared_xacts p) \
         SELECT process::text, application, gid, owner::text, database::text, \
         to_char(began AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') \
         FROM found WHERE is_waited OR began < clock_timestamp() - interval '3 s' ORDER BY NOT is_waited, began, process"
    );
    let mut connection = Connection::open(settings, Purpose::Queries, cancel)?;
    let doing = "look for open transactions at";
    let rows = connection.query_within(doing, &sql, LOOK_TIME_MAX)?;
    let standby = connection.query_within(doing, "SELECT pg_is_in_recovery()::text", LOOK_TIME_MAX)?;
    let is_standby = standby.first().and_then(|row| row.first()?.as_deref()) == Some("true");
    Ok(SlotWait { transactions: rows.into_iter().filter_map(older_transaction).collect(), is_standby })
}

fn older_transaction(row: ResultRow) -> Option<OlderTransaction> {
    let [process, application, gid, user, database, since] = <[_; 6]>::try_from(row).ok()?;
    let holder = match gid {
        Some(gid) => TransactionHolder::Prepared { gid },
        None => TransactionHolder::Session {
            process: process?.parse().ok()?,
            application: application.unwrap_or_default(),
        },
    };
    Some(OlderTransaction {
        holder,
        user: user.unwrap_or_default(),
        database: database.unwrap_or_default(),
        since,
    })
}
