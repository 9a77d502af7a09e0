//! Judge: reads the log by itself, and knows what each partition holds at the end of each message.

use crate::simulation::trace::Trace;
use crate::toy_partition::{ToyValue, value_of};
use crate::world::PARTITIONS;
use evergraph_cluster::log::memory::MemoryLog;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record::message::Message;
use evergraph_graph::id::PartitionId;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;

pub struct Judge {
    state: ReplicatedState,
    /// What each partition holds from a commit on.
    values: BTreeMap<PartitionId, Vec<(Timestamp, ToyValue)>>,
}

impl Judge {
    /// Of a cluster that was created with `state`.
    pub fn new(state: ReplicatedState) -> Self {
        let values = (0..PARTITIONS).map(|partition| (PartitionId(partition), Vec::new())).collect();
        Self { state, values }
    }

    /// The newest message that it has read.
    pub fn position(&self) -> LogPosition {
        self.state.seen().position
    }

    /// Commits of all partitions.
    pub fn commits(&self) -> usize {
        self.values.values().map(Vec::len).sum()
    }

    /// Reads on, and notes what.
    pub fn read(&mut self, log: &MemoryLog, trace: &mut Trace) {
        for read in log.messages_from(self.position().next()) {
            trace.add(&(read.position.0, &read.bytes));
            let message = Message::decode(&read.bytes).unwrap();
            let (position, bytes) = (read.position, read.bytes);
            let decided = self.state.apply(ReadMessage { position, message, bytes });
            for commit in decided.commits {
                for (partition, mutations) in commit.partitions {
                    let values = self.values.entry(partition).or_default();
                    let before = values.last().map_or(ToyValue::default(), |(_, value)| *value);
                    values.push((commit.timestamp, before.after(value_of(&mutations))));
                }
            }
        }
    }

    /// What a partition holds at the end of a message.
    pub fn value_at(&self, partition: PartitionId, at: LogPosition) -> ToyValue {
        let values = &self.values[&partition];
        let seen = values.partition_point(|(timestamp, _)| timestamp.visible_at(at.end()));
        seen.checked_sub(1).map_or(ToyValue::default(), |last| values[last].1)
    }
}
