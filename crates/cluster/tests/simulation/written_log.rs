//! Written log: the messages that a script writes, and the state that follows from them.

use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::{DecidedMessage, ReplicatedState};
use evergraph_cluster::record::message::Message;
use std::sync::Arc;

/// A log while it is written: each message is applied at once.
pub struct WrittenLog {
    pub messages: Vec<Arc<[u8]>>,
    /// After all of them.
    pub state: ReplicatedState,
    /// The log through each of them, with the beginning.
    pub seen: Vec<SeenLog>,
}

impl WrittenLog {
    /// Without messages, on a cluster that was created with `state`.
    pub fn new(state: ReplicatedState) -> Self {
        Self { messages: Vec::new(), seen: vec![state.seen()], state }
    }

    /// The log, so many messages before its end.
    pub fn seen_behind(&self, messages: usize) -> SeenLog {
        self.seen[self.seen.len().saturating_sub(1 + messages)]
    }

    /// The log gets a message, new or not. What is decided of it.
    pub fn append(&mut self, bytes: Arc<[u8]>) -> DecidedMessage {
        self.messages.push(Arc::clone(&bytes));
        let position = LogPosition(self.messages.len() as u64);
        let message = Message::decode(&bytes).unwrap();
        let decided = self.state.apply(ReadMessage { position, message, bytes });
        self.seen.push(decided.seen);
        decided
    }
}
