//! Send queue: encoded frames for one node, which its dialler takes.
//!
//! Concurrency: the thread of the node puts frames in, one dialler takes them out; both hold the lock for as long as
//! it takes to move some pointers.

use crate::transport::frame_counts::FrameTotal;
use crate::transport::tcp::frame_queue::{FrameQueue, RoomNews};
use crate::transport::tcp::options::QueueLimits;
use evergraph_storage::sync::Mutex;
use tokio::sync::Notify;

/// Bytes of frames that are sent together, at least; the last of them may be as large as any.
const BATCH_BYTES: u64 = 256 << 10;

/// Frames that wait to be sent to one node.
#[derive(Debug)]
pub(super) struct SendQueue {
    frames: Mutex<FrameQueue<Vec<u8>>>,
    /// Woken when there is a frame. One that comes while nobody waits is remembered.
    ready: Notify,
}

impl SendQueue {
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self { frames: Mutex::new(FrameQueue::new(limits)), ready: Notify::new() }
    }

    /// Puts a frame of about `content_bytes` in, which `encode` makes if there is room. Returns whether there was.
    pub(super) fn push(&self, content_bytes: usize, encode: impl FnOnce() -> Vec<u8>) -> bool {
        // Encoded without the lock. Nobody else puts frames in, so that room stays.
        if !self.frames.lock().has_room(content_bytes) {
            return false;
        }
        let frame = encode();
        let is_taken = self.frames.lock().push(frame.len(), frame).is_ok();
        if is_taken {
            self.ready.notify_one();
        }
        is_taken
    }

    /// Waits until there is a frame.
    pub(super) async fn wait(&self) {
        while self.frames.lock().is_empty() {
            self.ready.notified().await;
        }
    }

    /// Takes the next frames, as many as are sent together.
    pub(super) fn take_batch(&self) -> (Vec<Vec<u8>>, FrameTotal, RoomNews) {
        let mut frames = self.frames.lock();
        let (mut batch, mut total) = (Vec::new(), FrameTotal::default());
        while total.bytes < BATCH_BYTES
            && let Some(frame) = frames.pop()
        {
            total.add(frame.len());
            batch.push(frame);
        }
        (batch, total, frames.take_news())
    }

    /// Drops all frames. Returns what they were.
    pub(super) fn clear(&self) -> (FrameTotal, RoomNews) {
        let mut frames = self.frames.lock();
        (frames.clear(), frames.take_news())
    }

    /// What waits.
    pub(super) fn total(&self) -> FrameTotal {
        self.frames.lock().total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn frames_are_taken_in_batches_and_a_sender_hears_of_room() {
        let queue = SendQueue::new(QueueLimits { frames_max: 4, bytes_max: 1 << 20 });
        let mut waiting = pin!(queue.wait());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        for _ in 0..4 {
            assert!(queue.push(200 << 10, || vec![7; 200 << 10]));
        }
        assert!(!queue.push(1, || panic!("what has no room is not encoded")));
        assert!(waiting.as_mut().poll(&mut context).is_ready());
        let (batch, total, room) = queue.take_batch();
        assert_eq!((batch.len(), total.bytes, room), (2, 400 << 10, RoomNews::Room));
        let (batch, total, room) = queue.take_batch();
        assert_eq!((batch.len(), total.frames, room), (2, 2, RoomNews::Nothing));
        assert!(queue.push(1, || vec![7]));
        assert_eq!(queue.clear(), (FrameTotal { frames: 1, bytes: 1 }, RoomNews::Nothing));
        assert_eq!((queue.take_batch().0, queue.total()), (vec![], FrameTotal::default()));
    }
}
