//! Outbox: frames that wait until the network has room for them.
//!
//! ```text
//! push ──> queue of a node: rows of queries ─┬─flush──> small ones together, in a batch ──> network
//!   │                       all else ─────────┘ in turn                                       └ full: they wait, and are tried again
//!   └ full: the frame comes back                                                                in a moment, or when it has news
//! ```
//!
//! What waits for a node is sent together, as far as a batch has room: a reader that asks about many partitions sends each
//! node one frame a round, and what is answered meanwhile comes back in one. In the queue each is by itself: it ends, is
//! forgotten and fails alone.
//!
//! Each node has a queue of its own, so that one that takes nothing makes nobody else wait. Queues are limited, and what nobody
//! waits for any more is dropped unsent. Rows of queries whose stages travel take half of a queue at most, and the other half is
//! kept for questions, answers and what ends queries: these never wait for more rows than one frame has.

use crate::planted::{Bug, planted};
use crate::record_id::NodeId;
use crate::remote::question::QuestionId;
use crate::transport::frame::{BATCH_BYTES_MAX, BATCH_FRAMES_MAX, Frame};
use crate::transport::interface::{SendError, Transport};
use crate::travel::message::{TravelId, TravelMessage};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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

/// Frames for one node: first all else, then rows of queries whose stages travel.
#[derive(Debug, Default)]
struct Queue {
    lanes: [Lane; 2],
    /// The lane that is sent from next, if it has frames.
    next: usize,
}

const OTHERS: usize = 0;
const ROWS: usize = 1;

fn lane_of(frame: &Frame) -> usize {
    if matches!(frame, Frame::Travel(TravelMessage::Rows(_))) { ROWS } else { OTHERS }
}

impl Queue {
    /// Takes what is sent together next: frames of one lane, and of the other one the next time.
    fn take(&mut self, now: Duration) -> (usize, Vec<WaitingFrame>) {
        for lane in [self.next, 1 - self.next] {
            let taken = self.lanes[lane].take(now);
            if !taken.is_empty() {
                self.next = 1 - lane;
                return (lane, taken);
            }
        }
        (self.next, Vec::new())
    }

    /// Puts back what had no room: it is sent next.
    fn put_back(&mut self, lane: usize, frames: Vec<WaitingFrame>) {
        self.lanes[lane].put_back(frames);
        self.next = lane;
    }

    fn frames(&self) -> usize {
        self.lanes.iter().map(|lane| lane.frames.len()).sum()
    }

    fn has_room(&self, lane: usize, bytes: usize, limits: OutboxLimits) -> bool {
        let [others, rows] = &self.lanes;
        let all = (self.frames(), others.bytes + rows.bytes + bytes);
        let has_room = self.frames() == 0 || limits.allow(all);
        let half = OutboxLimits { frames_max: limits.frames_max / 2, bytes_max: limits.bytes_max / 2 };
        let own = &self.lanes[lane];
        let is_in_half = own.frames.is_empty()
            || half.allow((own.frames.len(), own.bytes + bytes))
            || planted(Bug::RowsFillQueue);
        if lane == ROWS { has_room && is_in_half } else { has_room || is_in_half }
    }
}

impl OutboxLimits {
    /// Whether another frame has room beside so many, with which there are so many bytes.
    fn allow(self, (frames, bytes): (usize, usize)) -> bool {
        frames < self.frames_max && bytes <= self.bytes_max
    }
}

/// Frames in the order in which they came.
#[derive(Debug, Default)]
struct Lane {
    frames: VecDeque<WaitingFrame>,
    bytes: usize,
}

impl Lane {
    /// Takes the first frames, as many as are sent together, without those that nobody waits for at `now`. A question says how
    /// long its asker is still patient.
    fn take(&mut self, now: Duration) -> Vec<WaitingFrame> {
        let (mut taken, mut taken_bytes) = (Vec::new(), 0);
        while let Some(first) = self.frames.front() {
            let (bytes, is_late) = (first.frame.content_bytes(), first.ends_at <= now);
            let has_room = taken_bytes + bytes <= BATCH_BYTES_MAX && taken.len() < BATCH_FRAMES_MAX;
            let goes_along = taken.is_empty() || (has_room && first.frame.is_batchable());
            if !is_late && !goes_along {
                break;
            }
            let Some(mut first) = self.frames.pop_front() else { break };
            self.bytes -= bytes;
            if is_late {
                continue;
            }
            if let Frame::Question(question) = &mut first.frame {
                question.patience = first.ends_at.saturating_sub(now);
            }
            taken_bytes += bytes;
            let travels_alone = !first.frame.is_batchable();
            taken.push(first);
            if travels_alone {
                break;
            }
        }
        taken
    }

    /// Puts back what had no room, in its order.
    fn put_back(&mut self, frames: Vec<WaitingFrame>) {
        let frames = frames.into_iter().take(if planted(Bug::BatchCut) { 1 } else { usize::MAX });
        let frames: Vec<_> = frames.collect();
        self.bytes += frames.iter().map(|waiting| waiting.frame.content_bytes()).sum::<usize>();
        frames.into_iter().rev().for_each(|waiting| self.frames.push_front(waiting));
    }

    /// Drops frames.
    fn retain(&mut self, keep: impl Fn(&Frame) -> bool) {
        let bytes = &mut self.bytes;
        self.frames.retain(|waiting| {
            let is_kept = keep(&waiting.frame);
            if !is_kept {
                *bytes -= waiting.frame.content_bytes();
            }
            is_kept
        });
    }
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
        let (lane, bytes, limits) = (lane_of(&frame), frame.content_bytes(), self.limits);
        let queue = self.queues.entry(to).or_default();
        if !queue.has_room(lane, bytes, limits) {
            return Err(frame);
        }
        let lane = &mut queue.lanes[lane];
        lane.bytes += bytes;
        lane.frames.push_back(WaitingFrame { frame, ends_at });
        Ok(())
    }

    /// Whether another frame of so many bytes, which are no rows, has room in the queue of a node.
    #[must_use]
    pub fn has_room(&self, to: NodeId, bytes: usize) -> bool {
        self.queues.get(&to).is_none_or(|queue| queue.has_room(OTHERS, bytes, self.limits))
    }

    /// Nobody waits for an answer to the question any more: question and answer are dropped, if they wait here.
    ///
    /// Cost: linear in the frames that wait for that node.
    pub fn forget(&mut self, to: NodeId, id: QuestionId) {
        let Some(queue) = self.queues.get_mut(&to) else { return };
        queue.lanes[OTHERS].retain(|frame| match frame {
            Frame::Question(question) => question.id != id,
            Frame::Answer(answer) => answer.id != id,
            Frame::Refusal(refusal) => refusal.id != id,
            Frame::Heartbeat(_) | Frame::Forget(_) | Frame::Travel(_) | Frame::Batch(_) | Frame::Copy(_) => {
                true
            }
        });
    }

    /// Queries whose stages travel have ended here: their rows are dropped, if they wait here.
    ///
    /// Cost: linear in all rows that wait, if there is such a query.
    pub fn forget_rows(&mut self, ended: &BTreeSet<TravelId>) {
        if ended.is_empty() {
            return;
        }
        for queue in self.queues.values_mut() {
            queue.lanes[ROWS].retain(|frame| match frame {
                Frame::Travel(TravelMessage::Rows(rows)) => !ended.contains(&rows.id),
                _ => true,
            });
        }
    }

    /// Sends what the network has room for, in the order of each lane, in as few frames as it takes. A question says how long
    /// its asker is still patient. Returns what cannot be sent at all.
    pub fn flush<T: Transport>(&mut self, now: Duration, transport: &mut T) -> Vec<UnsentFrame> {
        let mut unsent = Vec::new();
        let mut is_blocked = false;
        for (to, queue) in &mut self.queues {
            loop {
                let (lane, taken) = queue.take(now);
                let taken = taken.into_iter().map(|waiting| (waiting.ends_at, waiting.frame));
                let (ends, frames): (Vec<_>, Vec<_>) = taken.unzip();
                let Some(frame) = Frame::together(frames) else { break };
                match transport.send(*to, &frame) {
                    Ok(()) => {}
                    Err(SendError::Full) => {
                        let frames = frame.apart().into_iter().zip(ends);
                        let frames = frames.map(|(frame, ends_at)| WaitingFrame { frame, ends_at });
                        queue.put_back(lane, frames.collect());
                        is_blocked = true;
                        break;
                    }
                    Err(error) => {
                        let frames = frame.apart().into_iter();
                        unsent.extend(frames.map(|frame| UnsentFrame { to: *to, frame, error }));
                    }
                }
            }
        }
        self.queues.retain(|_, queue| queue.frames() > 0);
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
        self.queues.values().map(Queue::frames).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::SeenLog;
    use crate::planted::assert_found;
    use crate::record_id::Author;
    use crate::remote::question::{Answer, Question};
    use crate::transport::memory::{MemoryNetwork, MemoryTransport, NetworkFaults};
    use crate::travel::message::TravelRows;
    use evergraph_graph::id::PartitionId;
    use std::sync::Arc;

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

    /// The answers of each frame that came.
    fn batches(node: &mut MemoryTransport) -> Vec<Vec<u64>> {
        let number = |frame| match frame {
            Frame::Answer(answer) => answer.id.number,
            other => panic!("{other:?}"),
        };
        let received = std::iter::from_fn(|| node.receive());
        received.map(|received| received.frame.apart().into_iter().map(number).collect()).collect()
    }

    /// So large that each travels alone.
    const LARGE: usize = BATCH_BYTES_MAX / 2 + 1;

    fn received(node: &mut MemoryTransport) -> Vec<u64> {
        batches(node).concat()
    }

    fn limits(frames_max: usize, bytes_max: usize) -> OutboxLimits {
        OutboxLimits { frames_max, bytes_max }
    }

    #[test]
    fn what_has_no_room_waits_in_order_and_holds_up_nobody_else() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 2);
        let (mut a, mut b, mut c) = (network.connect(A), network.connect(B), network.connect(C));
        let mut outbox = Outbox::new(limits(9, 9 * LARGE));
        for number in 1..=5 {
            outbox.push(B, answer(number, LARGE), ms(100)).unwrap();
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
    fn small_frames_to_one_node_travel_together_within_both_limits() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 9);
        let (mut a, mut b, mut c) = (network.connect(A), network.connect(B), network.connect(C));
        let mut outbox = Outbox::new(OutboxLimits::default());
        // A large one between small ones keeps its place.
        for (number, bytes) in [(1, 9), (2, BATCH_BYTES_MAX - 9), (3, 1), (4, 2 * LARGE), (5, 9), (6, 9)] {
            outbox.push(B, answer(number, bytes), ms(100)).unwrap();
        }
        outbox.push(B, answer(7, 9), ms(5)).unwrap();
        outbox.push(C, answer(8, 9), ms(100)).unwrap();
        assert!(outbox.flush(ms(5), &mut a).is_empty());
        assert_eq!(batches(&mut b), [vec![1, 2], vec![3], vec![4], vec![5, 6]], "the seventh is late");
        assert_eq!((batches(&mut c), outbox.count()), (vec![vec![8]], 0));
        for number in 1..=BATCH_FRAMES_MAX as u64 + 1 {
            outbox.push(B, answer(number, 0), ms(100)).unwrap();
        }
        outbox.flush(ms(5), &mut a);
        let counts: Vec<_> = batches(&mut b).iter().map(Vec::len).collect();
        assert_eq!(counts, [BATCH_FRAMES_MAX, 1]);
    }

    #[test]
    fn a_batch_without_room_waits_as_it_was_and_what_cannot_be_sent_comes_back_apart() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 1);
        let (mut a, mut b) = (network.connect(A), network.connect(B));
        let mut outbox = Outbox::new(limits(9, 100));
        outbox.push(B, answer(1, 9), ms(100)).unwrap();
        outbox.flush(ms(0), &mut a);
        for number in 2..=4 {
            outbox.push(B, answer(number, 30), ms(100)).unwrap();
            outbox.push(NodeId(9), answer(10 + number, 30), ms(100)).unwrap();
        }
        let unsent = outbox.flush(ms(0), &mut a);
        let unsent: Vec<_> = unsent.iter().map(|unsent| (unsent.to, unsent.frame.clone())).collect();
        assert_eq!(unsent, [12, 13, 14].map(|number| (NodeId(9), answer(number, 30))), "nobody knows it");
        assert_eq!((outbox.count(), outbox.has_room(B, 10), outbox.has_room(B, 11)), (3, true, false));
        // Each is still by itself.
        outbox.forget(B, id(3));
        assert_eq!(received(&mut b), [1]);
        outbox.flush(ms(5), &mut a);
        assert_eq!(batches(&mut b), [[2, 4]], "they wait together");
        assert!(outbox.queues.is_empty());
    }

    #[test]
    fn planted_bugs_are_found() {
        let cut = a_batch_without_room_waits_as_it_was_and_what_cannot_be_sent_comes_back_apart;
        assert_found(Bug::BatchCut, cut, "(1,");
        let half = rows_fill_half_of_a_queue_and_answers_find_room_and_do_not_wait_for_all_of_them;
        assert_found(Bug::RowsFillQueue, half, "half of the bytes");
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

    fn query(number: u64) -> TravelId {
        TravelId { asker: Author { node: A, incarnation: 1 }, number }
    }

    fn rows(of: u64, number: u32, bytes: usize) -> Frame {
        Frame::Travel(TravelMessage::Rows(Arc::new(TravelRows {
            id: query(of),
            incarnation: 1,
            stage: 1,
            number,
            is_last: false,
            count: 1,
            measures: Vec::new(),
            rows: vec![0; bytes],
        })))
    }

    #[test]
    fn rows_of_queries_that_have_ended_take_no_room() {
        let mut outbox = Outbox::new(limits(9, 20));
        outbox.push(B, answer(1, 3), ms(9)).unwrap();
        outbox.push(B, rows(1, 0, 15), ms(9)).unwrap();
        outbox.forget_rows(&BTreeSet::new());
        outbox.forget_rows(&BTreeSet::from([query(2)]));
        assert!(outbox.count() == 2 && !outbox.has_room(B, 10));
        outbox.forget_rows(&BTreeSet::from([query(1), query(2)]));
        assert!(outbox.count() == 1 && outbox.has_room(B, 17) && !outbox.has_room(B, 18));
    }

    #[test]
    fn rows_fill_half_of_a_queue_and_answers_find_room_and_do_not_wait_for_all_of_them() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 99);
        let (mut a, mut b) = (network.connect(A), network.connect(B));
        let mut outbox = Outbox::new(limits(20, 8 * LARGE));
        for number in 0..4 {
            outbox.push(B, rows(1, number, LARGE), ms(9)).unwrap();
        }
        assert_eq!(outbox.push(B, rows(1, 4, 1), ms(9)), Err(rows(1, 4, 1)), "half of the bytes");
        for number in 1..=4 {
            outbox.push(B, answer(number, LARGE), ms(9)).unwrap();
        }
        assert_eq!(outbox.push(B, answer(5, 1), ms(9)), Err(answer(5, 1)), "the queue is full");
        outbox.flush(ms(0), &mut a);
        let is_rows = |frame: &Frame| matches!(frame, Frame::Travel(_));
        let came: Vec<bool> =
            std::iter::from_fn(|| b.receive()).map(|received| is_rows(&received.frame)).collect();
        assert_eq!(came, [false, true, false, true, false, true, false, true], "in turn");
        // So it is with frames, and what is larger than half has room where there are no others of its kind.
        for number in 0..10 {
            outbox.push(B, rows(1, number, 0), ms(9)).unwrap();
        }
        assert!(outbox.push(B, rows(1, 10, 0), ms(9)).is_err(), "half of the frames");
        outbox.push(B, answer(1, 9 * LARGE), ms(9)).unwrap();
        assert!(
            outbox.has_room(C, 9 * LARGE) && !outbox.has_room(B, 1),
            "one answer is all that it has room for"
        );
        // A network without room is tried with the same again.
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 1);
        let (mut a, mut b) = (network.connect(A), network.connect(B));
        let mut outbox = Outbox::new(OutboxLimits::default());
        for number in 0..2 {
            outbox.push(B, rows(1, number as u32, LARGE), ms(9)).unwrap();
            outbox.push(B, answer(number, LARGE), ms(9)).unwrap();
        }
        let mut came = Vec::new();
        for _ in 0..4 {
            outbox.flush(ms(5), &mut a);
            came.extend(b.receive().map(|received| is_rows(&received.frame)));
        }
        assert_eq!((came, outbox.count()), (vec![false, true, false, true], 0));
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
