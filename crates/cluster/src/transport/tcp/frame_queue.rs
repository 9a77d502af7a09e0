//! Frame queue: frames in order, within limits of their number and their bytes.

use crate::transport::frame_counts::FrameTotal;
use crate::transport::tcp::options::QueueLimits;
use std::collections::VecDeque;

/// Frames that wait, each with its bytes.
#[derive(Debug)]
pub(super) struct FrameQueue<T> {
    limits: QueueLimits,
    frames: VecDeque<(usize, T)>,
    total: FrameTotal,
    /// Whether a frame had no room since somebody asked.
    has_refused: bool,
}

/// Whether somebody who found a queue full may try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RoomNews {
    /// There is room again.
    Room,
    /// Nobody found it full.
    Nothing,
}

impl<T> FrameQueue<T> {
    /// Without frames.
    pub(super) fn new(limits: QueueLimits) -> Self {
        Self { limits, frames: VecDeque::new(), total: FrameTotal::default(), has_refused: false }
    }

    /// Whether a frame of so many bytes has room. The first one always has, so that none is too large for ever.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        let bytes_max = self.limits.bytes_max as u64;
        let has_room = self.frames.is_empty()
            || (self.frames.len() < self.limits.frames_max && self.total.bytes + bytes as u64 <= bytes_max);
        self.has_refused |= !has_room;
        has_room
    }

    /// Takes a frame of so many bytes; gives it back if it has no room.
    pub(super) fn push(&mut self, bytes: usize, frame: T) -> Result<(), T> {
        if !self.has_room(bytes) {
            return Err(frame);
        }
        self.total.add(bytes);
        self.frames.push_back((bytes, frame));
        Ok(())
    }

    /// The next frame.
    pub(super) fn pop(&mut self) -> Option<T> {
        let (bytes, frame) = self.frames.pop_front()?;
        self.total.frames -= 1;
        self.total.bytes -= bytes as u64;
        Some(frame)
    }

    /// Drops all frames. Returns what they were.
    pub(super) fn clear(&mut self) -> FrameTotal {
        self.frames = VecDeque::new();
        std::mem::take(&mut self.total)
    }

    /// What waits.
    pub(super) fn total(&self) -> FrameTotal {
        self.total
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// After frames were taken: whether one had no room since this was asked last.
    pub(super) fn take_news(&mut self) -> RoomNews {
        if std::mem::take(&mut self.has_refused) { RoomNews::Room } else { RoomNews::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_takes_frames_within_both_limits_and_the_first_one_always() {
        let mut queue = FrameQueue::new(QueueLimits { frames_max: 3, bytes_max: 100 });
        assert_eq!(queue.push(500, 'a'), Ok(()), "the first one");
        assert_eq!(queue.push(1, 'b'), Err('b'));
        assert_eq!(queue.pop(), Some('a'));
        assert_eq!((queue.take_news(), queue.take_news()), (RoomNews::Room, RoomNews::Nothing));
        for frame in ['c', 'd', 'e'] {
            assert_eq!(queue.push(20, frame), Ok(()));
        }
        assert_eq!(queue.push(20, 'f'), Err('f'), "three frames");
        assert_eq!(queue.pop(), Some('c'));
        assert_eq!(queue.push(61, 'g'), Err('g'), "more than 100 bytes");
        assert_eq!(queue.push(60, 'h'), Ok(()));
        assert_eq!(queue.total(), FrameTotal { frames: 3, bytes: 100 });
        assert_eq!(queue.clear(), FrameTotal { frames: 3, bytes: 100 });
        assert!(queue.is_empty() && queue.take_news() == RoomNews::Room);
        assert_eq!((queue.pop(), queue.total()), (None, FrameTotal::default()));
    }
}
