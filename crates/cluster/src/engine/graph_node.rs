//! Graph node: what the engine of a cluster needs of its node, whatever log and network that has.

use crate::node::owned_node::CoordinatingNode;
use crate::node::replicated_state::RecordResult;
use crate::node::shared_tables::{SharedTables, TablesMoment};
use crate::record::body::{NewName, RecordBody};
use crate::record::transaction_part::TransactionPart;
use crate::remote::view_asking::PartitionAsker;
use crate::tables::names::NameId;
use crate::transaction::coordinator::{BeginAt, Coordinator, CoordinatorOptions};
use evergraph_graph::error::Result;
use evergraph_graph::id::{LabelId, PartitionId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A node that coordinates transactions.
///
/// # Concurrency
///
/// Any thread but one that the node needs calls any method. All wait for the log, but those that say otherwise.
pub trait GraphNode: Send + Sync + Debug {
    /// Waits until the node has applied what a snapshot has to show.
    ///
    /// # Errors
    /// `busy` if it has not in time; `io` if the node has stopped, or the log cannot be asked.
    fn wait_for(&self, at: BeginAt) -> Result<()>;

    /// The newest snapshot. Waits for nothing: it takes the locks of tables and of readers, each for a moment.
    ///
    /// # Errors
    /// `busy` if the node has not joined; `conflict` if so old a snapshot is not kept.
    fn begin_now(&self) -> Result<BegunSnapshot>;

    /// What the node has applied.
    fn tables(&self) -> &SharedTables;

    /// The newest tables, once they are what is waited for, or `at_most` so long afterwards.
    ///
    /// # Errors
    /// `cancelled` if the limit of the thread has ended before; `io` if the node has stopped.
    fn wait_until(
        &self,
        at_most: Duration,
        holds: &dyn Fn(&TablesMoment) -> bool,
    ) -> Result<Arc<TablesMoment>>;

    /// How it waits and reads.
    fn options(&self) -> &CoordinatorOptions;

    /// As [`Coordinator::name`].
    ///
    /// # Errors
    /// As there.
    fn name(&self, name: NewName) -> Result<NameId>;

    /// Where the vertices of the next transaction go that are not placed by a value. Waits for nothing.
    fn choose_partition(&self) -> PartitionId;

    /// An id that no vertex has or ever had.
    ///
    /// # Errors
    /// `limit` if the partition has none left for the label; those of asking the log.
    fn take_id(&self, label: LabelId, partition: PartitionId) -> Result<VertexId>;

    /// Nobody has used this id, nor ever will. Waits for nothing.
    fn give_back(&self, label: LabelId, partition: PartitionId, vertex: VertexId);

    /// As [`Submitter::submit`](crate::transaction::submission::Submitter::submit).
    ///
    /// # Errors
    /// As there.
    fn submit(&self, since: Timestamp, part: TransactionPart) -> Result<Timestamp>;

    /// As [`Coordinator::settle`].
    ///
    /// # Errors
    /// As there.
    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp>;

    /// As [`Submitter::ask`](crate::transaction::submission::Submitter::ask).
    ///
    /// # Errors
    /// As there.
    fn ask(&self, body: RecordBody) -> Result<RecordResult>;
}

/// A snapshot that a node has begun; it ends with the asker.
pub struct BegunSnapshot {
    /// The tables of this moment, exactly.
    pub moment: Arc<TablesMoment>,
    /// The moment.
    pub timestamp: Timestamp,
    /// Asks whoever keeps a partition.
    pub asker: Arc<dyn PartitionAsker>,
}

impl<N: CoordinatingNode> GraphNode for Coordinator<N> {
    fn wait_for(&self, at: BeginAt) -> Result<()> {
        self.wait_for_moment(at).map(drop)
    }

    fn begin_now(&self) -> Result<BegunSnapshot> {
        let (moment, reader) = self.begin_at(Self::tables(self).newest())?;
        let timestamp = reader.at().position.end();
        let asker: Arc<dyn PartitionAsker> = Arc::new(self.asker(&moment, reader));
        Ok(BegunSnapshot { moment, timestamp, asker })
    }

    fn tables(&self) -> &SharedTables {
        Self::tables(self)
    }

    fn wait_until(
        &self,
        at_most: Duration,
        holds: &dyn Fn(&TablesMoment) -> bool,
    ) -> Result<Arc<TablesMoment>> {
        self.wait_for_tables(at_most, holds)
    }

    fn options(&self) -> &CoordinatorOptions {
        Self::options(self)
    }

    fn name(&self, name: NewName) -> Result<NameId> {
        Self::name(self, name)
    }

    fn choose_partition(&self) -> PartitionId {
        Self::choose_partition(self)
    }

    fn take_id(&self, label: LabelId, partition: PartitionId) -> Result<VertexId> {
        Self::take_id(self, label, partition)
    }

    fn give_back(&self, label: LabelId, partition: PartitionId, vertex: VertexId) {
        Self::give_back(self, partition, &[(label, vertex)]);
    }

    fn submit(&self, since: Timestamp, part: TransactionPart) -> Result<Timestamp> {
        self.submitter().submit(since, part)
    }

    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        Self::settle(self, unknown)
    }

    fn ask(&self, body: RecordBody) -> Result<RecordResult> {
        self.submitter().ask(body)
    }
}
