//! Frame counts: how many frames a node has sent and received, by kind, and their bytes.

use crate::record_id::NodeId;
use crate::transport::frame::Frame;
use crate::transport::interface::{ReceivedFrame, SendError, Transport};

/// Frames, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameTotal {
    /// Frames.
    pub frames: u64,
    /// Their bytes, without those that TLS adds.
    pub bytes: u64,
}

impl FrameTotal {
    /// One frame more, of so many bytes.
    pub(super) fn add(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    /// So many more.
    #[cfg(feature = "network")]
    pub(super) fn add_all(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

/// Frames of one direction, by kind: each frame of a batch counts. Bytes are those of what is asked and answered: what the
/// network adds, or saves where a content is sent once, is in the statistics of its links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameCounts {
    /// Frames on the network, of all kinds: a batch counts as one.
    pub network_frames: u64,
    /// Questions.
    pub questions: FrameTotal,
    /// Answers.
    pub answers: FrameTotal,
    /// Refusals of questions.
    pub refusals: FrameTotal,
    /// Heartbeats.
    pub heartbeats: FrameTotal,
    /// Questions that nobody waits for any more.
    pub forgets: FrameTotal,
    /// What is said about copies, and their pieces.
    pub copies: FrameTotal,
    /// Those of queries whose stages run on several nodes.
    pub travels: FrameTotal,
}

impl FrameCounts {
    /// Each kind by its name, for metrics.
    #[must_use]
    pub fn by_kind(&self) -> [(&'static str, FrameTotal); 7] {
        [
            ("question", self.questions),
            ("answer", self.answers),
            ("refusal", self.refusals),
            ("heartbeat", self.heartbeats),
            ("forget", self.forgets),
            ("copy", self.copies),
            ("travel", self.travels),
        ]
    }

    fn add(&mut self, frame: &Frame) {
        self.network_frames += 1;
        self.add_parts(frame);
    }

    fn add_parts(&mut self, frame: &Frame) {
        let total = match frame {
            Frame::Question(_) => &mut self.questions,
            Frame::Answer(_) => &mut self.answers,
            Frame::Refusal(_) => &mut self.refusals,
            Frame::Heartbeat(_) => &mut self.heartbeats,
            Frame::Forget(_) => &mut self.forgets,
            Frame::Copy(_) => &mut self.copies,
            Frame::Travel(_) => &mut self.travels,
            Frame::Batch(frames) => return frames.iter().for_each(|frame| self.add_parts(frame)),
        };
        total.add(frame.content_bytes());
    }
}

/// A network that counts what it carries.
#[derive(Debug)]
pub struct CountedTransport<T> {
    transport: T,
    sent: FrameCounts,
    received: FrameCounts,
}

impl<T> CountedTransport<T> {
    /// Counts from zero.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self { transport, sent: FrameCounts::default(), received: FrameCounts::default() }
    }

    /// The network.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Frames that the network took to send.
    #[must_use]
    pub fn sent(&self) -> FrameCounts {
        self.sent
    }

    /// Frames that came.
    #[must_use]
    pub fn received(&self) -> FrameCounts {
        self.received
    }
}

impl<T: Transport> Transport for CountedTransport<T> {
    fn send(&mut self, to: NodeId, frame: &Frame) -> Result<(), SendError> {
        self.transport.send(to, frame)?;
        self.sent.add(frame);
        Ok(())
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        let received = self.transport.receive()?;
        self.received.add(&received.frame);
        Some(received)
    }

    fn set_peer(&mut self, node: NodeId, address: Option<&str>) {
        self.transport.set_peer(node, address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_id::Author;
    use crate::remote::question::{Answer, QuestionId};
    use crate::transport::memory::{MemoryNetwork, NetworkFaults};

    #[test]
    fn frames_of_a_batch_count_each_for_itself_and_those_without_room_do_not() {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 2);
        let [mut a, mut b] = [1, 2].map(|node| CountedTransport::new(network.connect(NodeId(node))));
        let id = QuestionId { asker: Author { node: NodeId(2), incarnation: 0 }, number: 1 };
        let answer = |bytes| Frame::Answer(Answer { id, answered: vec![1; bytes] });
        let batch = Frame::together(vec![answer(10), Frame::Forget(id), answer(20)]).unwrap();
        a.send(NodeId(2), &batch).unwrap();
        a.send(NodeId(2), &answer(5)).unwrap();
        assert_eq!(a.send(NodeId(2), &answer(7)), Err(SendError::Full));
        let expected = FrameCounts {
            network_frames: 2,
            answers: FrameTotal { frames: 3, bytes: 35 },
            forgets: FrameTotal { frames: 1, bytes: 0 },
            ..FrameCounts::default()
        };
        assert_eq!((a.sent(), a.received()), (expected, FrameCounts::default()));
        while b.receive().is_some() {}
        assert_eq!((b.sent(), b.received()), (FrameCounts::default(), expected));
        let named: u64 = expected.by_kind().iter().map(|(_, total)| total.frames).sum();
        assert_eq!(named, 4);
    }
}
