//! Outbox: frames that wait until the network has room for them.
//!
//! ```text
//! push ──> queue of a node ──flush──> network
//!   └ full: the frame comes back        └ full: they wait, and are tried again in a moment, or when the network has news
//! ```
//!
//! Each node has a queue of its own, so that one that takes nothing makes nobody else wait. Queues are limited, and what nobody
//! waits for any more is dropped unsent.

use crate::record_id::NodeId;
use crate::remote::question::QuestionId;
use crate::transport::frame::Frame;
use crate::transport::interface::{SendError, Transport};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// When a node is tried again whose network had no room.
const RETRY_WAIT: Duration = Duration::from_millis(5);

/// How much waits for one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxLimits {
    /// Frames.
    pub frames_max: usize,
    /// Bytes of what they ask or answer. A frame that is larger has room in an empty queue.
    pub bytes_max: usize,
}

impl Default for OutboxLimits {
    fn default() -> Self {
        Self { frames_max: 4096, bytes_max: 64 << 20 }
    }
}

/// Frames that wait.
#[derive(Debug)]
pub struct Outbox {
    limits: OutboxLimits,
    queues: BTreeMap<NodeId, Queue>,
    retry_at: Option<Duration>,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<WaitingFrame>,
    bytes: usize,
}

#[derive(Debug)]
struct WaitingFrame {
    frame: Frame,
    /// Nobody waits for it from here on.
    ends_at: Duration,
}

/// A frame that is not sent.
#[derive(Debug)]
pub struct UnsentFrame {
    /// To whom it should have gone.
    pub to: NodeId,
    /// The frame.
    pub frame: Frame,
    /// Why.
    pub error: SendError,
}

impl Outbox {
    /// Without frames.
    #[must_use]
    pub fn new(limits: OutboxLimits) -> Self {
        Self { limits, queues: BTreeMap::new(), retry_at: None }
    }

    /// Puts a frame into the queue of a node. The next [`Outbox::flush`] sends it, unless it comes at `ends_at` or later.
    ///
    /// # Errors
    /// The frame, if the queue is full.
    pub fn push(&mut self, to: NodeId, frame: Frame, ends_at: Duration) -> Result<(), Frame> {
        if !self.has_room(to, frame.content_bytes()) {
            return Err(frame);
        }
        let queue = self.queues.entry(to).or_default();
        queue.bytes += frame.content_bytes();
        queue.frames.push_back(WaitingFrame { frame, ends_at });
        Ok(())
    }

    /// Whether another frame of so many bytes has room in the queue of a node.
    #[must_use]
    pub fn has_room(&self, to: NodeId, bytes: usize) -> bool {
        let Some(queue) = self.queues.get(&to) else { return true };
        let has_bytes = queue.bytes + bytes <= self.limits.bytes_max;
        queue.frames.is_empty() || (queue.frames.len() < self.limits.frames_max && has_bytes)
    }

    /// Nobody waits for an answer to the question any more: question and answer are dropped, if they wait here.
    ///
    /// Cost: linear in the frames that wait for that node.
    pub fn forget(&mut self, to: NodeId, id: QuestionId) {
        let Some(queue) = self.queues.get_mut(&to) else { return };
        let bytes = &mut queue.bytes;
        queue.frames.retain(|waiting| {
            let is_of_question = match &waiting.frame {
                Frame::Question(question) => question.id == id,
                Frame::Answer(answer) => answer.id == id,
                Frame::Refusal(refusal) => refusal.id == id,
                Frame::Heartbeat(_) | Frame::Forget(_) => false,
            };
            if is_of_question {
                *bytes -= waiting.frame.content_bytes();
            }
            !is_of_question
        });
    }

    /// Sends what the network has room for, in the order of each queue. A question says how long its asker is still patient.
    /// Returns what cannot be sent at all.
    pub fn flush<T: Transport>(&mut self, now: Duration, transport: &mut T) -> Vec<UnsentFrame> {
        let mut unsent = Vec::new();
        let mut is_blocked = false;
        for (to, queue) in &mut self.queues {
            while let Some(mut first) = queue.frames.pop_front() {
                let bytes = first.frame.content_bytes();
                if first.ends_at <= now {
                    queue.bytes -= bytes;
                    continue;
                }
                if let Frame::Question(question) = &mut first.frame {
                    question.patience = first.ends_at.saturating_sub(now);
                }
                match transport.send(*to, &first.frame) {
                    Ok(()) => queue.bytes -= bytes,
                    Err(SendError::Full) => {
                        queue.frames.push_front(first);
                        is_blocked = true;
                        break;
                    }
                    Err(error) => {
                        queue.bytes -= bytes;
                        unsent.push(UnsentFrame { to: *to, frame: first.frame, error });
                    }
                }
            }
        }
        self.queues.retain(|_, queue| !queue.frames.is_empty());
        self.retry_at = is_blocked.then(|| now.saturating_add(RETRY_WAIT));
        unsent
    }

    /// When to flush again, if the network has no news before.
    #[must_use]
    pub fn next_step_at(&self) -> Option<Duration> {
        self.retry_at
    }

    /// Frames that wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.queues.values().map(|queue| queue.frames.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::SeenLog;
    use crate::record_id::Author;
    use crate::remote::question::{Answer, Question};
    use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
    use evergraph_graph::id::PartitionId;

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);
    const C: NodeId = NodeId(3);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn id(number: u64) -> QuestionId {
        QuestionId { asker: Author { node: B, incarnation: 0 }, number }
    }

    fn answer(number: u64, bytes: usize) -> Frame {
        Frame::Answer(Answer { id: id(number), answered: vec![1; bytes] })
    }

    fn received(node: &mut MemoryTransport) -> Vec<u64> {
        std::iter::from_fn(|| node.receive())
            .map(|received| match received.frame {
                Frame::Answer(answer) => answer.id.number,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn limits(frames_max: usize, bytes_max: usize) -> OutboxLimits {
        OutboxLimits { frames_max, bytes_max }
    }

    #[test]
    fn what_has_no_room_waits_in_order_and_holds_up_nobody_else() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 2);
        let (mut a, mut b, mut c) = (network.connect(A), network.connect(B), network.connect(C));
        let mut outbox = Outbox::new(limits(9, 1000));
        for number in 1..=5 {
            outbox.push(B, answer(number, 9), ms(100)).unwrap();
        }
        outbox.push(C, answer(6, 9), ms(100)).unwrap();
        assert!(outbox.flush(ms(0), &mut a).is_empty());
        assert_eq!((outbox.count(), outbox.next_step_at()), (3, Some(ms(5))));
        assert_eq!((received(&mut b), received(&mut c)), (vec![1, 2], vec![6]));
        outbox.forget(B, id(4));
        outbox.flush(ms(5), &mut a);
        assert_eq!((received(&mut b), outbox.count(), outbox.next_step_at()), (vec![3, 5], 0, None));
        assert!(outbox.queues.is_empty());
    }

    #[test]
    fn a_queue_is_limited_by_frames_and_bytes() {
        let mut outbox = Outbox::new(limits(2, 20));
        outbox.push(B, answer(1, 15), ms(9)).unwrap();
        assert_eq!(outbox.push(B, answer(2, 6), ms(9)), Err(answer(2, 6)));
        outbox.push(B, answer(3, 5), ms(9)).unwrap();
        assert_eq!(outbox.push(B, answer(4, 0), ms(9)), Err(answer(4, 0)));
        outbox.push(C, answer(5, 90), ms(9)).unwrap();
        outbox.forget(B, id(1));
        outbox.push(B, answer(6, 15), ms(9)).unwrap();
        assert!(!outbox.has_room(B, 0) && outbox.has_room(A, 0));
    }

    #[test]
    fn what_nobody_waits_for_is_dropped_and_a_question_says_what_patience_is_left() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 9);
        let (mut a, mut b) = (network.connect(A), network.connect(B));
        let mut outbox = Outbox::new(OutboxLimits::default());
        outbox.push(B, answer(1, 9), ms(50)).unwrap();
        let question = Question {
            id: id(2),
            partition: PartitionId(0),
            at: SeenLog::START,
            patience: ms(90),
            asked: Vec::new(),
        };
        outbox.push(B, Frame::Question(question), ms(90)).unwrap();
        outbox.push(NodeId(9), answer(3, 9), ms(90)).unwrap();
        let unsent = outbox.flush(ms(50), &mut a);
        let Some(Frame::Question(came)) = b.receive().map(|received| received.frame) else { panic!("one") };
        assert_eq!((came.id, came.patience, b.receive()), (id(2), ms(40), None));
        assert_eq!(unsent.len(), 1);
        assert_eq!((unsent[0].to, unsent[0].error), (NodeId(9), SendError::UnknownNode));
    }
}
