//! Node log: a node's connection to the log, which may keep to itself what the node writes.
//!
//! A script is written before it is read: messages of a node that reads it would move those behind them.

use evergraph_cluster::log::memory::MemoryLogClient;
use evergraph_cluster::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use std::collections::VecDeque;
use std::sync::Arc;

/// A connection.
#[derive(Debug)]
pub struct NodeLog {
    client: MemoryLogClient,
    /// Appends that never happen, to be answered; `None` if they do.
    lost: Option<VecDeque<AppendId>>,
}

impl NodeLog {
    /// One that appends.
    pub fn writing(client: MemoryLogClient) -> Self {
        Self { client, lost: None }
    }

    /// One whose appends are lost: its node never joins.
    pub fn mute(client: MemoryLogClient) -> Self {
        Self { client, lost: Some(VecDeque::new()) }
    }
}

impl SharedLog for NodeLog {
    fn append(&mut self, id: AppendId, message: Arc<[u8]>) {
        match &mut self.lost {
            Some(lost) => lost.push_back(id),
            None => self.client.append(id, message),
        }
    }

    fn end(&mut self, id: EndId) {
        self.client.end(id);
    }

    fn trim(&mut self, first: LogPosition) {
        self.client.trim(first);
    }

    fn next_answer(&mut self) -> Option<LogAnswer> {
        if let Some(id) = self.lost.as_mut().and_then(VecDeque::pop_front) {
            return Some(LogAnswer::Append { id, result: Err(LogError::UnknownOutcome) });
        }
        self.client.next_answer()
    }

    fn read_from(&mut self, first: LogPosition, seen: LogPosition) {
        self.client.read_from(first, seen);
    }

    fn next_message(&mut self) -> Result<Option<LogMessage>, LogError> {
        self.client.next_message()
    }
}
