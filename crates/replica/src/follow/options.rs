//! Options: how a database is followed.

use std::path::PathBuf;
use std::time::Duration;

use evergraph_files::import::mapping::document::Mapping;
use evergraph_files::import::mapping::table::TableRule;
use evergraph_graph::error::{Error, Result};
use sha2::{Digest as _, Sha256};

use crate::apply::limits::{TRANSACTION_BYTES_MAX, TransactionLimits};
use crate::lsn::Lsn;

/// The publication, unless another one is chosen.
pub const DEFAULT_PUBLICATION: &str = "evergraph";

/// How often the log of a database that follows a source is synced: [`Durability::Interval`](evergraph::Durability::Interval).
///
/// What a power cut takes is sent again, and the source hears of what is durable once a second: more syncs bring nothing, and
/// cost the disk, on which the source may be: where a sync takes 2 ms, ten a second take the 50th part of its time.
pub const SYNC_INTERVAL: Duration = Duration::from_millis(500);

/// How a database is followed.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    /// What rows become as vertices and edges.
    pub mapping: ReplicaMapping,
    /// The slot; by default `evergraph`, the database's name and eight random digits. A replica that follows already keeps its
    /// own.
    pub slot: Option<String>,
    /// The publication; by default [`DEFAULT_PUBLICATION`]. A replica that follows already keeps its own.
    pub publication: Option<String>,
    /// Memory for the copy; while following, a quarter of it for transactions before their commit, and half of it for loading
    /// inserted rows in bulk. Default: 1 GiB.
    pub memory_bytes: u64,
    /// Memory for the changed rows of one transaction that commits; writing them takes about as much again of the database's
    /// own `transaction_bytes_max`. Inserted rows go to a temporary file beyond it; a larger transaction that does anything
    /// else pauses the replica. Default: 1 GiB.
    pub transaction_bytes_max: u64,
    /// Bytes of changed rows from which on a transaction that only inserts rows is loaded in bulk. Default: a sixteenth of
    /// [`ReplicaOptions::transaction_bytes_max`].
    pub bulk_bytes_min: Option<u64>,
    /// Threads that decode changes. Default: 2.
    pub threads: usize,
    /// Bytes of log that the slot may keep at the source before that is an alarm. Default: 1 GiB.
    pub slot_alarm_bytes: u64,
    /// Up to here and no further, as to compare the graph with the source at this position: transactions that end later wait
    /// for the next start. Default: without an end.
    pub end: Option<Lsn>,
    /// How many snapshots stay open by number. Default: 16; 0 for none.
    pub epochs: usize,
    /// How often something is done.
    pub intervals: FollowIntervals,
    /// The folder of temporary files; by default the system's.
    pub temporary: PathBuf,
}

/// How often something is done while following.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FollowIntervals {
    /// Time between two snapshots that stay open, at least. Default: 2 ms.
    pub epoch: Duration,
    /// How often the source's catalogue and slot are looked at. Default: 10 s.
    pub watch: Duration,
    /// How often the database's position follows a source in which nothing of ours changes. Default: 3 s.
    pub position: Duration,
    /// The first wait for a source that does not answer; later ones are longer, up to 30 s. Default: 100 ms.
    pub retry: Duration,
}

impl Default for FollowIntervals {
    fn default() -> Self {
        Self {
            epoch: Duration::from_millis(2),
            watch: Duration::from_secs(10),
            position: Duration::from_secs(3),
            retry: Duration::from_millis(100),
        }
    }
}

/// A mapping file, as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaMapping {
    /// What errors call it: the file's name.
    pub name: String,
    /// Its content.
    pub text: String,
}

impl ReplicaOptions {
    /// The defaults, with this mapping.
    #[must_use]
    pub fn new(mapping: ReplicaMapping) -> Self {
        Self {
            mapping,
            slot: None,
            publication: None,
            memory_bytes: 1 << 30,
            transaction_bytes_max: TRANSACTION_BYTES_MAX,
            bulk_bytes_min: None,
            threads: 2,
            slot_alarm_bytes: 1 << 30,
            end: None,
            epochs: 16,
            intervals: FollowIntervals::default(),
            temporary: std::env::temp_dir(),
        }
    }

    /// What one transaction may take.
    #[must_use]
    pub fn transaction_limits(&self) -> TransactionLimits {
        let mut limits =
            TransactionLimits::new(self.transaction_bytes_max, self.memory_bytes / 2, self.temporary.clone());
        if let Some(bytes) = self.bulk_bytes_min {
            limits.bulk_bytes_min = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        limits
    }
}

impl ReplicaMapping {
    /// The hash by which a database knows its mapping: another text is another graph, whatever changed.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }

    /// Its rules.
    ///
    /// # Errors
    /// `invalid`, with line, key and what is allowed; and without a `[[table]]`.
    pub fn rules(&self) -> Result<Vec<TableRule>> {
        let mapping = Mapping::parse(&self.name, &self.text, &PathBuf::from("."))?;
        if mapping.tables.is_empty() {
            let text = format!(
                "{}: there is no [[table]] in it, which says what the rows of a table become; `evergraph replica propose` \
                 writes them",
                self.name
            );
            return Err(Error::invalid(text));
        }
        Ok(mapping.tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_of_files_is_refused_and_another_text_has_another_hash() {
        let mapping = |text: &str| ReplicaMapping { name: "m.toml".into(), text: text.into() };
        let files = mapping("[[file]]\npath = 'a.csv'\nlabel = 'A'\nid = 'id'\n").rules().unwrap_err();
        assert!(files.to_string().starts_with("m.toml: there is no [[table]]"), "{files}");
        let table = "[[table]]\ntable = 'a'\nlabel = 'A'\n";
        assert_eq!(mapping(table).rules().unwrap().len(), 1);
        assert_ne!(mapping(table).hash(), mapping(&format!("{table}\n")).hash());
    }
}
