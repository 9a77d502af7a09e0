//! Partitions of a node that is opened: those whose files can be used, those that others give, and those that are left out.

use super::{Opening, Partition};
use crate::node::apply::Applier;
use crate::node::partition_store::PartitionStore as _;
use crate::node::store_partition::StorePartition;
use crate::record_id::NodeId;
use crate::running::partition_folders::PartitionFolders;
use crate::running::recovery::{CopiedPartition, NotCopied, Recovery, TELL_INTERVAL};
use crate::running::report::NodeReport;
use crate::running::status::UnusablePartition;
use crate::transport::interface::Transport;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::OwnGroups;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The folder of the partitions' folders.
const PARTITIONS_FOLDER: &str = "partitions";

/// What the log file of a partition grows to: a node has dozens of them.
const LOG_FILE_BYTES: u64 = 8 << 20;

/// Bytes of commits in the log of a partition after which its bodies are written: dozens of them are replayed at a start.
const CHECKPOINT_AFTER_BYTES: u64 = 8 << 20;

/// How long others may begin to copy from a node whose start ends since it lacks what nobody has: what they copy now is there at their
/// next start.
const LOST_QUIET: Duration = Duration::from_secs(5);

/// Partitions that are opened at a time.
const OPENING_THREADS_MAX: usize = 8;

impl Opening<'_> {
    /// Has the node keep its partitions. Those that it cannot use are copied from others, or left out.
    pub(super) fn keep_partitions<T: Transport>(
        &mut self,
        applier: &mut Applier<Partition>,
        recovery: &mut Recovery<'_, T>,
    ) -> Result<()> {
        let folders = PartitionFolders::new(self.folder.join(PARTITIONS_FOLDER));
        folders.clean()?;
        let kept = applier.state().tables().placement().kept_by(self.own.node);
        let kept: Vec<PartitionId> = kept.map(|(partition, _)| partition).collect();
        let (mut lacking, mut lost) = (BTreeMap::new(), Vec::new());
        for (partition, opened) in recovery.beside(|| self.open_partitions(&folders, &kept)) {
            match self.keep(partition, opened, applier, recovery, false)? {
                Some(reason) => drop(lacking.insert(partition, reason)),
                // Of a start that was interrupted before it had opened its copy.
                None => folders.remove_old(partition)?,
            }
        }
        recovery.fetch.source_mut().has_opened(kept);
        let count = lacking.len();
        for (number, (partition, reason)) in (1..).zip(lacking) {
            let what = format!("partition {} ({number} of {count})", partition.0);
            self.monitor.report(&NodeReport::warning(format!("{what} cannot be used: {reason}")));
            if let Some(not_copied) = self.copy(&folders, partition, &what, applier, recovery)? {
                let reason = format!("{reason}, and no other node gave it: {}", not_copied.reason);
                if not_copied.is_lost {
                    lost.push(format!("partition {}: {reason}", partition.0));
                    continue;
                }
                let text = format!("partition {} is left out: {reason}", partition.0);
                self.monitor.report(&NodeReport::failure(text));
                self.unusable.push(UnusablePartition { partition, reason });
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        let error = lost_partitions(&lost, &folders);
        self.monitor
            .report(&NodeReport::failure(format!("{error}. The start ends once nobody copies from here")));
        recovery.fetch.attend_until_quiet(LOST_QUIET);
        Err(error)
    }

    /// Has the node keep a partition, and give it to others; or says why it cannot be used.
    fn keep<T: Transport>(
        &mut self,
        partition: PartitionId,
        opened: Result<Partition>,
        applier: &mut Applier<Partition>,
        recovery: &mut Recovery<'_, T>,
        is_copy: bool,
    ) -> Result<Option<String>> {
        match opened {
            Ok(store) => {
                let (stepped, through) = (Arc::clone(store.opened()), store.installed().through);
                let kept = match is_copy {
                    true => applier.keep_copy(partition, store),
                    false => applier.keep(partition, store),
                };
                Ok(match kept {
                    Ok(()) => {
                        recovery.fetch.source_mut().has_partition(partition, Arc::clone(&stepped), through);
                        self.steps.add(partition, stepped);
                        None
                    }
                    Err(error) => Some(error.to_string()),
                })
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Some(error.to_string())),
            Err(error) => {
                let text = format!("open partition {}: {error}", partition.0);
                Err(Error::new(error.kind(), text).because(error))
            }
        }
    }

    /// Has the node keep a copy of a partition that it could not use; or says why nobody gave one.
    fn copy<T: Transport>(
        &mut self,
        folders: &PartitionFolders,
        partition: PartitionId,
        what: &str,
        applier: &mut Applier<Partition>,
        recovery: &mut Recovery<'_, T>,
    ) -> Result<Option<NotCopied>> {
        let at_least = applier.state().seen().position;
        let serving = applier.state().tables().placement().serving(partition);
        let mut sources: Vec<NodeId> = serving.filter(|node| *node != self.own.node).collect();
        // A node that has lost everything asks all the others for their share.
        let count = sources.len().max(1);
        sources.rotate_left(usize::from(partition.0) % count);
        let mut reasons = Vec::new();
        loop {
            match recovery.copy_partition(folders, partition, &sources, at_least, what)? {
                CopiedPartition::NotCopied(NotCopied { reason, is_lost }) => {
                    folders.put_old_back(partition)?;
                    // A node whose copy cannot be used here has one all the same.
                    let is_lost = is_lost && reasons.is_empty();
                    reasons.push(reason);
                    return Ok(Some(NotCopied { reason: reasons.join("; "), is_lost }));
                }
                CopiedPartition::InPlace(source) => {
                    let unusable = match recovery.beside(|| self.open_partition(folders, partition)) {
                        // It is the copy's own fault, unless this machine says no.
                        Err(error) if !matches!(error.kind(), ErrorKind::Limit | ErrorKind::Io) => {
                            Some(error.to_string())
                        }
                        opened => self.keep(partition, opened, applier, recovery, true)?,
                    };
                    match unusable {
                        None => {
                            folders.remove_old(partition)?;
                            return Ok(None);
                        }
                        Some(reason) => {
                            reasons.push(format!("the copy of node {} cannot be used: {reason}", source.0));
                            sources.retain(|node| *node != source);
                        }
                    }
                }
            }
        }
    }

    /// Opens partitions, several at a time: each reads its bodies and its log by one thread.
    fn open_partitions(
        &self,
        folders: &PartitionFolders,
        partitions: &[PartitionId],
    ) -> Vec<(PartitionId, Result<Partition>)> {
        let threads =
            std::thread::available_parallelism().map_or(1, |count| count.get().min(OPENING_THREADS_MAX));
        let (next, opened) = (Mutex::new(partitions.iter()), Mutex::new(Vec::new()));
        let told_at = Mutex::new(self.clock.now());
        let open = || {
            loop {
                let Some(partition) = next.lock().next().copied() else { return };
                let result = self.open_partition(folders, partition);
                let count = {
                    let mut opened = opened.lock();
                    opened.push((partition, result));
                    opened.len()
                };
                let (mut told_at, now) = (told_at.lock(), self.clock.now());
                if now >= told_at.saturating_add(TELL_INTERVAL) {
                    *told_at = now;
                    let text = format!("{count} of {} partitions are opened", partitions.len());
                    self.monitor.report(&NodeReport::progress(text));
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(open)));
            open();
        });
        std::mem::take(&mut *opened.lock())
    }

    fn open_partition(&self, folders: &PartitionFolders, partition: PartitionId) -> Result<Partition> {
        let own = OwnGroups::new(partition, self.description.partitions);
        let own = own.ok_or_else(|| Error::invalid("the cluster has fewer partitions"))?;
        let path = folders.path(partition);
        let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(path)?);
        let options = OpenOptions {
            // The log that all nodes share has what is not synced here.
            durability: Durability::None,
            environment: Environment::stepped(Arc::clone(&self.clock)),
            shared_budget: Some((*self.budget).clone()),
            log_file_bytes: LOG_FILE_BYTES,
            checkpoint_after_bytes: CHECKPOINT_AFTER_BYTES,
            own_groups: Some(own),
            ..OpenOptions::default()
        };
        StorePartition::new(OpenStore::open(directory, &options)?)
    }
}

/// Partitions that no node has any more.
fn lost_partitions(lost: &[String], folders: &PartitionFolders) -> Error {
    let text = format!(
        "every node that keeps them lacks these partitions, and nobody has what is in them: {}. Put back their folders below {}, \
         here or on one of those nodes, from a disk or a copy of it that has them. To go on without them start this node while the \
         others do not run: after the time that it waits for them it leaves the partitions out",
        lost.join("; "),
        folders.parent().display()
    );
    Error::new(ErrorKind::Corrupt, text)
}
