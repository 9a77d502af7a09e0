//! Replication slots: made, looked at, dropped. A slot keeps the source's log until its reader confirmed it.

use std::time::Duration;

use evergraph_graph::cancel::CancelFlag;
use postgres_protocol::escape::escape_literal;

use crate::lsn::Lsn;
use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::change_stream::quoted;
use crate::source::postgres::connection::{Connection, ResultRow};
use crate::source::postgres::open_transactions;
use crate::source::postgres::settings::ConnectionSettings;
use crate::source::slot_state::{PLUGIN, SLOT_NAME_BYTES_MAX, SlotState};
use crate::source::slot_wait::SlotWait;
use crate::wire::startup::Purpose;

/// How often whoever waits for a slot hears what for.
const WAIT_INTERVAL: Duration = Duration::from_secs(3);

/// How long a slot lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlotLifetime {
    /// Until it is dropped.
    Permanent,
    /// As long as the connection that made it.
    Temporary,
}

/// A slot that was made, and the snapshot of its first position: rows that the stream will not send are in it. Both live as long
/// as this does.
#[derive(Debug)]
pub struct CreatedSlot {
    /// The slot.
    pub name: String,
    /// Changes that committed after this position are in the stream.
    pub consistent_point: Lsn,
    /// The snapshot's name, for [`CopyRequest`](crate::source::contract::CopyRequest).
    pub snapshot: String,
    /// The next command on it would end the snapshot.
    _connection: Connection,
}

/// Makes a slot on a connection of its own. The server waits until all transactions that write now have ended: `waiting` hears every
/// few seconds which they are, and `cancel` ends the wait.
///
/// # Errors
/// If there is such a slot (42710), no slot is free (53400), or `wal_level` is not `logical` (55000).
pub fn create(
    settings: &ConnectionSettings,
    name: &str,
    lifetime: SlotLifetime,
    waiting: &dyn Fn(&SlotWait),
    cancel: &CancelFlag,
) -> SourceResult<CreatedSlot> {
    check_name(name)?;
    let mut connection = Connection::open(settings, Purpose::Replication, cancel)?;
    let doing = format!("make the replication slot {name:?} at");
    let temporary = match lifetime {
        SlotLifetime::Permanent => "",
        SlotLifetime::Temporary => " TEMPORARY",
    };
    // This form is that of version 14, and newer servers read it as well.
    let command =
        format!("CREATE_REPLICATION_SLOT {}{temporary} LOGICAL {PLUGIN} EXPORT_SNAPSHOT", quoted(name, '"'));
    let process = connection.process();
    let mut look = || {
        // A look that fails is made again.
        if let Some(process) = process
            && let Ok(wait) = open_transactions::slot_wait(settings, process, cancel)
        {
            waiting(&wait);
        }
    };
    let made = connection.query_patiently(&doing, &command, WAIT_INTERVAL, &mut look);
    if matches!(made, Err(SourceError::Cancelled { .. })) {
        connection.cancel_query(settings);
    }
    let rows = made?;
    let fields = rows.first().and_then(|row| match row.as_slice() {
        [Some(name), Some(point), Some(snapshot), ..] => {
            Some((name.clone(), point.parse().ok()?, snapshot.clone()))
        }
        _ => None,
    });
    let (name, consistent_point, snapshot) =
        fields.ok_or_else(|| strange(&doing, &connection, "slot, position and snapshot"))?;
    Ok(CreatedSlot { name, consistent_point, snapshot, _connection: connection })
}

/// What the server says of the slot; `None` if there is none.
///
/// # Errors
/// If the server cannot be asked.
pub fn state(connection: &mut Connection, name: &str) -> SourceResult<Option<SlotState>> {
    let doing = format!("look at the replication slot {name:?} of");
    let rows = connection.query(
        &doing,
        &format!(
            "SELECT plugin, database, active_pid, restart_lsn, confirmed_flush_lsn, wal_status, safe_wal_size, \
             (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END - restart_lsn)::bigint \
             FROM pg_replication_slots WHERE slot_name = {}",
            escape_literal(name)
        ),
    )?;
    let Some(row) = rows.first() else { return Ok(None) };
    read_state(row).map(Some).ok_or_else(|| strange(&doing, connection, "a slot's state"))
}

/// Drops the slot.
///
/// # Errors
/// If there is none (42704), or a reader has it (55006).
pub fn drop(connection: &mut Connection, name: &str) -> SourceResult<()> {
    let doing = format!("drop the replication slot {name:?} of");
    connection.query(&doing, &format!("SELECT pg_drop_replication_slot({})", escape_literal(name)))?;
    Ok(())
}

fn read_state(row: &ResultRow) -> Option<SlotState> {
    let [plugin, database, process, restart, confirmed, wal_status, safe, kept] = row.as_slice() else {
        return None;
    };
    fn number<T: std::str::FromStr>(cell: &Option<String>) -> Option<Option<T>> {
        cell.as_ref().map(|text| text.parse().ok()).map_or(Some(None), |number| number.map(Some))
    }
    Some(SlotState {
        plugin: plugin.clone(),
        database: database.clone(),
        active_process: number(process)?,
        restart_lsn: number(restart)?,
        confirmed_lsn: number(confirmed)?,
        wal_status: wal_status.clone(),
        safe_bytes: number(safe)?,
        // The slot may be ahead of what was written last.
        kept_bytes: number::<i64>(kept)?.map(|bytes| bytes.max(0).unsigned_abs()),
    })
}

fn strange(doing: &str, connection: &Connection, expected: &str) -> SourceError {
    SourceError::Invalid(format!("{doing} {}: the server's answer is not {expected}", connection.place()))
}

fn check_name(name: &str) -> SourceResult<()> {
    let is_of_slots = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !name.is_empty() && name.len() <= SLOT_NAME_BYTES_MAX && name.bytes().all(is_of_slots) {
        return Ok(());
    }
    Err(SourceError::Invalid(format!(
        "{name:?} is no name of a replication slot: it has 1 to {SLOT_NAME_BYTES_MAX} lower-case letters, digits and underscores"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_of_another_kind_or_without_its_log_is_named() {
        let cell = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let row = |texts: [&str; 8]| texts.map(cell).to_vec();
        let sound = ["pgoutput", "shop", "", "0/10", "0/20", "reserved", "", "-5"];
        let state = read_state(&row(sound)).unwrap();
        assert_eq!((state.kept_bytes, state.restart_lsn), (Some(0), Some(Lsn::new(0x10))));
        assert_eq!(state.problem("shop"), None);
        assert!(state.problem("other").unwrap().contains("\"shop\""));
        let physical = SlotState { plugin: None, ..state.clone() };
        assert!(physical.problem("shop").unwrap().contains("physical"));
        let lost = SlotState { wal_status: Some("lost".into()), ..state };
        assert!(lost.problem("shop").unwrap().contains("lost"));
        assert_eq!(read_state(&row(["pgoutput", "shop", "x", "", "", "", "", ""])), None);
        for name in ["", "A", "a-b", &"a".repeat(64)] {
            assert!(check_name(name).is_err());
        }
    }
}
