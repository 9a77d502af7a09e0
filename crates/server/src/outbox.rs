//! Outbox: the frames of a connection that its client has not read yet, bounded by their bytes.
//!
//! ```text
//! tasks ── push ──> frames ── next ──> network, one frame at a time
//!   ^                  │
//!   │                  └── above 1 MiB: no further request of the connection is read
//!   └── woken when half of the room is free again
//! ```
//!
//! A task asks for room before it makes a frame, so that at most one frame a task lies above the bound. Errors and
//! answers without results are small, and always taken; but while 1 MiB of frames waits for the client, it has no
//! further requests that they could answer.

use crate::scheduler::TaskHandle;
use evergraph_storage::planted::{Bug, planted};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Bytes that a frame takes beside its own: its entry here, and what the allocator adds.
const FRAME_OVERHEAD_BYTES: usize = 64;
/// Bytes of frames from which on no further request is read.
const REQUESTS_BYTES_MAX: usize = 1 << 20;

/// A message to a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Its bytes; those of a text are UTF-8.
    pub bytes: Vec<u8>,
    /// How it is sent.
    pub kind: FrameKind,
}

/// How a message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// As a binary message.
    Binary,
    /// As a text message.
    Text,
    /// As a part of the body of an HTTP response.
    Body(BodyPart),
}

/// Which part of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyPart {
    /// All of it, with this status.
    Whole(u16),
    /// A part that others follow. The status of the response is 200.
    Middle,
    /// The part behind others.
    Last,
    /// Why there is no answer, with this status. If a part was sent, the body ends without its end, so that its reader
    /// notices.
    Failed(u16),
}

/// The frames that a client has not read yet.
pub struct Outbox {
    bytes_max: usize,
    state: Mutex<State>,
    /// A frame was added, or the outbox was closed.
    changed: Notify,
    /// Another request may be read.
    drained: Notify,
}

#[derive(Default)]
struct State {
    frames: VecDeque<Frame>,
    /// Of the frames here, and of the one that is being sent, with their overhead.
    bytes: usize,
    waiting: Vec<TaskHandle>,
    /// Whether there will be no frame after those that are here.
    is_finishing: bool,
    is_closed: bool,
}

impl Outbox {
    /// An outbox in which tasks find room below `bytes_max`.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, state: Mutex::default(), changed: Notify::new(), drained: Notify::new() }
    }

    /// Whether a task may add a frame now; if not, `task` is woken when it may.
    #[must_use]
    pub fn has_room(&self, task: &TaskHandle) -> bool {
        let mut state = self.state();
        if state.is_closed || state.bytes < self.bytes_max {
            return true;
        }
        state.waiting.push(task.clone());
        false
    }

    /// Adds a frame, whether there is room or not. Of a closed outbox it is dropped.
    pub fn push(&self, mut frame: Frame) {
        // A buffer that grew has up to twice the room that it needs, and may lie here for long.
        frame.bytes.shrink_to_fit();
        let mut state = self.state();
        if state.is_closed || state.is_finishing {
            return;
        }
        state.bytes += frame.bytes.len() + FRAME_OVERHEAD_BYTES;
        state.frames.push_back(frame);
        drop(state);
        self.changed.notify_one();
    }

    /// The next frame, when there is one; `None` once the outbox is closed, or finished and empty. One caller at a time.
    pub async fn next(&self) -> Option<Frame> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                if state.is_closed {
                    return None;
                }
                if let Some(frame) = state.frames.pop_front() {
                    return Some(frame);
                }
                if state.is_finishing {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Waits until another request may be read: whoever reads no answers gets no further ones. One caller at a time.
    pub async fn has_room_for_requests(&self) {
        loop {
            let drained = self.drained.notified();
            {
                let state = self.state();
                let has_room = state.bytes < REQUESTS_BYTES_MAX || planted(Bug::UnreadAnswersUnlimited);
                if state.is_closed || has_room {
                    return;
                }
            }
            drained.await;
        }
    }

    /// A frame of so many bytes is on its way: what waited for room goes on when half of it is free.
    pub fn sent(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes + FRAME_OVERHEAD_BYTES);
        if state.bytes < REQUESTS_BYTES_MAX {
            self.drained.notify_one();
        }
        if state.bytes > self.bytes_max / 2 {
            return;
        }
        let woken = std::mem::take(&mut state.waiting);
        drop(state);
        woken.iter().for_each(TaskHandle::wake);
    }

    /// Whether all frames were sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state().bytes == 0
    }

    /// Takes no more frames; those that are here are still sent.
    pub fn finish(&self) {
        self.state().is_finishing = true;
        self.changed.notify_one();
    }

    /// Forgets all frames, and takes none any more: nobody reads them.
    pub fn close(&self) {
        let (frames, woken) = {
            let mut state = self.state();
            state.is_closed = true;
            state.bytes = 0;
            (std::mem::take(&mut state.frames), std::mem::take(&mut state.waiting))
        };
        drop(frames);
        woken.iter().for_each(TaskHandle::wake);
        self.changed.notify_one();
        self.drained.notify_one();
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn frame(bytes: usize) -> Frame {
        Frame { bytes: vec![0; bytes], kind: FrameKind::Binary }
    }

    #[test]
    fn requests_are_read_until_a_mebibyte_of_answers_waits_and_again_when_some_were_sent() {
        let outbox = Outbox::new(64 << 10);
        let answers_count = (0..).take_while(|_| {
            outbox.push(frame(100));
            outbox.has_room_for_requests().now_or_never().is_some()
        });
        let answers_count = answers_count.count();
        assert!(
            (5_000..10_500).contains(&answers_count),
            "small answers count with what they take: {answers_count}"
        );
        let mut waiting = std::pin::pin!(outbox.has_room_for_requests());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(outbox.next().now_or_never().is_some_and(|frame| frame.is_some()));
        outbox.sent(100);
        assert!(waiting.now_or_never().is_some());
        outbox.push(frame(10 << 20));
        assert!(outbox.has_room_for_requests().now_or_never().is_none());
        outbox.close();
        assert!(outbox.has_room_for_requests().now_or_never().is_some());
    }

    #[test]
    fn an_outbox_is_empty_once_all_frames_were_sent() {
        let outbox = Outbox::new(64 << 10);
        for bytes in [0, 7] {
            outbox.push(frame(bytes));
            assert!(!outbox.is_empty());
            outbox.sent(bytes);
            assert!(outbox.is_empty());
        }
    }
}
