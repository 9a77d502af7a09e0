//! Node log: a node's connection to the log, which may keep to itself what the node writes.
//!
//! A script is written before it is read: messages of a node that reads it would move those behind them.

use evergraph_cluster::log::memory::MemoryLogClient;
use evergraph_cluster::log::shared_log::{AppendId, EndId, LogAnswer, LogError, LogMessage, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Where appends lay that were acknowledged and lost: behind everything that is in the log.
const LOST_POSITION: LogPosition = LogPosition(1 << 40);

/// A connection.
#[derive(Debug)]
pub struct NodeLog {
    client: MemoryLogClient,
    /// Appends that never happen, to be answered; `None` if they do.
    lost: Option<VecDeque<AppendId>>,
    appended: usize,
    /// Numbers of appends, from 0, that are acknowledged, and gone before anybody reads them.
    forgets: Range<usize>,
    forgotten: Forgotten,
    acknowledged: VecDeque<AppendId>,
}

/// What a log has acknowledged and lost.
pub type Forgotten = Rc<RefCell<Vec<Arc<[u8]>>>>;

impl NodeLog {
    /// One that appends.
    pub fn writing(client: MemoryLogClient) -> Self {
        let (forgotten, acknowledged) = (Forgotten::default(), VecDeque::new());
        Self { client, lost: None, appended: 0, forgets: 0..0, forgotten, acknowledged }
    }

    /// One whose appends are lost: its node never joins.
    pub fn mute(client: MemoryLogClient) -> Self {
        Self { lost: Some(VecDeque::new()), ..Self::writing(client) }
    }

    /// One of a log that acknowledges the appends of these numbers and loses them, as one does that is restored from an older copy.
    pub fn forgetting(client: MemoryLogClient, forgets: Range<usize>) -> (Self, Forgotten) {
        let log = Self { forgets, ..Self::writing(client) };
        let forgotten = Rc::clone(&log.forgotten);
        (log, forgotten)
    }
}

impl SharedLog for NodeLog {
    fn append(&mut self, id: AppendId, message: Arc<[u8]>) {
        let number = self.appended;
        self.appended += 1;
        if self.forgets.contains(&number) {
            self.forgotten.borrow_mut().push(message);
            return self.acknowledged.push_back(id);
        }
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
        if let Some(id) = self.acknowledged.pop_front() {
            return Some(LogAnswer::Append { id, result: Ok(LOST_POSITION) });
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
