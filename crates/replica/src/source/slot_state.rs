//! `SlotState`: what a source says of a replication slot, and whether a stream can use it; `SlotFailover`: whether it outlives the
//! source.

use crate::lsn::Lsn;

/// The plugin that writes the messages of [`crate::pgoutput`].
pub const PLUGIN: &str = "pgoutput";
/// Bytes of a slot's name, at most: it is a file of the server.
pub const SLOT_NAME_BYTES_MAX: usize = 63;

/// The oldest server whose standbys keep slots of its own.
const FAILOVER_VERSION_MIN: u32 = 170_000;

/// Whether standbys of the source keep a slot, too, so that one that takes over has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SlotFailover {
    /// They do not: when one takes over, the slot is gone, and the tables have to be copied anew.
    #[default]
    Disabled,
    /// They do, if they are set up to (`sync_replication_slots`). Needs PostgreSQL 17.
    Enabled,
}

impl SlotFailover {
    /// Why a server of this version, such as 150018, cannot make such a slot, if so.
    #[must_use]
    pub fn problem(self, version: u32) -> Option<String> {
        (self == Self::Enabled && version < FAILOVER_VERSION_MIN).then(|| {
            format!(
                "failover of a replication slot needs PostgreSQL 17 or newer, and the server is PostgreSQL {}: leave the option \
                 out",
                version / 10_000
            )
        })
    }
}

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
    /// Whether standbys keep it, too.
    pub failover: SlotFailover,
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
