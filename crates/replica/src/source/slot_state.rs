//! `SlotState`: what a source says of a replication slot, and whether a stream can use it.

use crate::lsn::Lsn;

/// The plugin that writes the messages of [`crate::pgoutput`].
pub const PLUGIN: &str = "pgoutput";
/// Bytes of a slot's name, at most: it is a file of the server.
pub const SLOT_NAME_BYTES_MAX: usize = 63;

/// What a server says of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotState {
    /// Its plugin; `None` for a physical slot.
    pub plugin: Option<String>,
    /// Its database; `None` for a physical slot.
    pub database: Option<String>,
    /// The process of its reader.
    pub active_process: Option<i32>,
    /// From here on the log is kept.
    pub restart_lsn: Option<Lsn>,
    /// Up to here it was confirmed.
    pub confirmed_lsn: Option<Lsn>,
    /// `reserved`, `extended`, `unreserved` or `lost`.
    pub wal_status: Option<String>,
    /// Bytes of log that may be written before the slot is lost; `None` without a limit.
    pub safe_bytes: Option<i64>,
    /// Bytes of log that are kept for it.
    pub kept_bytes: Option<u64>,
}

impl SlotState {
    /// Why a stream of `database` cannot use the slot, if so.
    #[must_use]
    pub fn problem(&self, database: &str) -> Option<String> {
        if self.plugin.as_deref() != Some(PLUGIN) {
            let plugin = self.plugin.as_deref().unwrap_or("none: it is physical");
            return Some(format!("its plugin is {plugin}, not {PLUGIN}: choose another name"));
        }
        if self.database.as_deref() != Some(database) {
            let other = self.database.as_deref().unwrap_or_default();
            return Some(format!(
                "it belongs to the database {other:?}, not {database:?}: choose another name"
            ));
        }
        if self.wal_status.as_deref() == Some("lost") || self.restart_lsn.is_none() {
            return Some(
                "the server removed log that it needs (max_slot_wal_keep_size): changes are lost".to_owned(),
            );
        }
        None
    }
}
