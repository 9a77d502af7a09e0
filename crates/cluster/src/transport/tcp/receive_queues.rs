//! Receive queues: frames that came from each node, of which this node receives one of each in turn.
//!
//! Concurrency: connections put frames in, and wait while the queue of their node is full; meanwhile they read
//! nothing, so that the other side stops sending. One thread takes frames out. All hold the lock for as long as it
//! takes to move a frame.

use crate::record_id::NodeId;
use crate::transport::frame::Frame;
use crate::transport::frame_counts::FrameTotal;
use crate::transport::interface::ReceivedFrame;
use crate::transport::tcp::frame_queue::{FrameQueue, RoomNews};
use crate::transport::tcp::options::QueueLimits;
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// What a frame takes beside what it asks or answers: an id, the text of a refusal.
const FRAME_BYTES_AROUND: usize = 1 << 10;

/// Frames that came and were not received.
#[derive(Debug)]
pub(super) struct ReceiveQueues {
    limits: QueueLimits,
    state: Mutex<ReceiveState>,
}

#[derive(Debug, Default)]
struct ReceiveState {
    queues: BTreeMap<NodeId, ReceiveQueue>,
    /// The nodes with frames, each once.
    turns: VecDeque<NodeId>,
}

#[derive(Debug)]
struct ReceiveQueue {
    frames: FrameQueue<Frame>,
    /// Woken when there is room again. If nobody waits, it is remembered.
    room: Arc<Notify>,
}

/// What becomes of a frame that came.
enum PutOutcome {
    /// It is received in its turn, or nobody wants it any more.
    Done,
    /// It has no room until somebody is woken.
    Full(Frame, Arc<Notify>),
}

impl ReceiveQueues {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self { limits, state: Mutex::new(ReceiveState::default()) }
    }

    /// Frames of `node` are received from here on.
    pub(super) fn open(&self, node: NodeId) {
        let queue = || ReceiveQueue { frames: FrameQueue::new(self.limits), room: Arc::new(Notify::new()) };
        self.state.lock().queues.entry(node).or_insert_with(queue);
    }

    /// Frames of `node` are not received any more, those that came before included.
    pub(super) fn close(&self, node: NodeId) {
        let mut state = self.state.lock();
        state.turns.retain(|turn| *turn != node);
        if let Some(queue) = state.queues.remove(&node) {
            queue.room.notify_one();
        }
    }

    /// Puts a frame in; waits while there is no room.
    pub(super) async fn put(&self, from: NodeId, frame: Frame) {
        let mut next = frame;
        loop {
            match self.try_put(from, next) {
                PutOutcome::Done => return,
                PutOutcome::Full(frame, room) => {
                    next = frame;
                    room.notified().await;
                }
            }
        }
    }

    /// Puts a frame in. Returns whether there was room.
    pub(super) fn put_now(&self, from: NodeId, frame: Frame) -> bool {
        matches!(self.try_put(from, frame), PutOutcome::Done)
    }

    fn try_put(&self, from: NodeId, frame: Frame) -> PutOutcome {
        let mut state = self.state.lock();
        let ReceiveState { queues, turns } = &mut *state;
        let Some(queue) = queues.get_mut(&from) else { return PutOutcome::Done };
        let is_first = queue.frames.is_empty();
        match queue.frames.push(frame.content_bytes() + frame.count() * FRAME_BYTES_AROUND, frame) {
            Ok(()) if is_first => turns.push_back(from),
            Ok(()) => {}
            Err(frame) => return PutOutcome::Full(frame, Arc::clone(&queue.room)),
        }
        PutOutcome::Done
    }

    /// The next frame, and whether somebody who found the queue of its sender full may try again.
    pub(super) fn take(&self) -> Option<(ReceivedFrame, RoomNews)> {
        let mut state = self.state.lock();
        let ReceiveState { queues, turns } = &mut *state;
        let from = turns.pop_front()?;
        let queue = queues.get_mut(&from)?;
        let frame = queue.frames.pop()?;
        if !queue.frames.is_empty() {
            turns.push_back(from);
        }
        let news = queue.frames.take_news();
        if news == RoomNews::Room {
            queue.room.notify_one();
        }
        Some((ReceivedFrame { from, frame }, news))
    }

    /// What waits of `node`.
    pub(super) fn total(&self, node: NodeId) -> FrameTotal {
        let state = self.state.lock();
        state.queues.get(&node).map(|queue| queue.frames.total()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_id::Author;
    use crate::remote::question::QuestionId;
    use std::pin::pin;
    use std::task::{Context, Waker};

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);

    fn frame(number: u64) -> Frame {
        Frame::Forget(QuestionId { asker: Author { node: A, incarnation: 0 }, number })
    }

    fn received(queues: &ReceiveQueues) -> Vec<(NodeId, u64)> {
        std::iter::from_fn(|| queues.take())
            .map(|(received, _)| match received.frame {
                Frame::Forget(id) => (received.from, id.number),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn nodes_take_turns_and_each_keeps_its_order() {
        let queues = ReceiveQueues::new(QueueLimits::default());
        queues.open(A);
        queues.open(B);
        (1..=3).for_each(|number| assert!(queues.put_now(A, frame(number))));
        (7..=8).for_each(|number| assert!(queues.put_now(B, frame(number))));
        assert_eq!(received(&queues), [(A, 1), (B, 7), (A, 2), (B, 8), (A, 3)]);
        assert!(queues.take().is_none());
        assert!(queues.put_now(B, frame(9)));
        assert_eq!(received(&queues), [(B, 9)]);
    }

    #[test]
    fn whoever_finds_a_queue_full_waits_for_room_and_nobody_else_does() {
        let queues = ReceiveQueues::new(QueueLimits { frames_max: 2, bytes_max: 1 << 20 });
        queues.open(A);
        queues.open(B);
        assert!(queues.put_now(A, frame(1)) && queues.put_now(A, frame(2)));
        let mut waiting = pin!(queues.put(A, frame(3)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        assert!(queues.put_now(B, frame(7)), "node 2 has room");
        let (first, news) = queues.take().unwrap();
        assert_eq!((first.from, first.frame, news), (A, frame(1), RoomNews::Room));
        assert!(waiting.as_mut().poll(&mut context).is_ready(), "there is room again");
        assert_eq!(queues.total(A).frames, 2);
        assert_eq!(received(&queues), [(B, 7), (A, 2), (A, 3)]);
    }

    #[test]
    fn what_came_from_a_node_that_left_is_dropped_and_nobody_waits_for_it() {
        let queues = ReceiveQueues::new(QueueLimits { frames_max: 1, bytes_max: 1 << 20 });
        queues.open(A);
        assert!(queues.put_now(A, frame(1)));
        let mut waiting = pin!(queues.put(A, frame(2)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        queues.close(A);
        assert!(waiting.as_mut().poll(&mut context).is_ready());
        assert!(queues.put_now(A, frame(3)));
        assert_eq!((received(&queues), queues.total(A)), (vec![], FrameTotal::default()));
        queues.open(A);
        assert!(queues.put_now(A, frame(4)));
        assert_eq!(received(&queues), [(A, 4)]);
    }
}
