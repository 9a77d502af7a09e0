//! `SlotState`: what a source says of a replication slot, whether a stream can use it, and how those of replicas are named.

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

/// A name for the slot of a new replica of `database`: slots are the whole server's, and several replicas may follow one
/// database.
#[must_use]
pub fn slot_name(database: &str, random: u64) -> String {
    let is_of_slots = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
    let lower = database.to_ascii_lowercase();
    let plain: String = lower.chars().map(|char| if is_of_slots(char) { char } else { '_' }).collect();
    let suffix = format!("_{:08x}", random & 0xffff_ffff);
    let prefix = format!("evergraph_{plain}");
    let length = prefix.len().min(SLOT_NAME_BYTES_MAX - suffix.len());
    format!("{}{suffix}", &prefix[..length])
}

/// Whether `slot` has a name that [`slot_name`] gives one of `database`.
#[must_use]
pub fn is_named_for(slot: &str, database: &str) -> bool {
    let name = slot_name(database, 0);
    name.strip_suffix("00000000").is_some_and(|prefix| slot.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_named_for_its_database_in_the_letters_of_slots() {
        assert_eq!(slot_name("Shop-1", 0xff_1234_abcd), "evergraph_shop_1_1234abcd");
        let long = slot_name(&"ä".repeat(99), 7);
        assert_eq!(long.len(), SLOT_NAME_BYTES_MAX);
        assert!(long.starts_with("evergraph___") && long.ends_with("_00000007"), "{long}");
    }

    #[test]
    fn slots_of_a_database_are_known_by_their_names() {
        let long = "ä".repeat(99);
        for database in ["shop", "Shop-1", &long] {
            assert!(is_named_for(&slot_name(database, 0xff_1234_abcd), database), "{database}");
        }
        assert!(!is_named_for("evergraph_verify_7", "shop") && !is_named_for("shop", "shop"));
    }
}
