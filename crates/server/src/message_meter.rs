//! Message meter: memory of the messages that WebSockets are receiving, and of requests that are not answered.
//!
//! ```text
//! a connection   |= 64 KiB of its own =|==== what is beyond counts for all ====|
//! all            |==== before a log-in: 64 MiB ====|============ together 256 MiB ============|
//!
//! a message      bytes as they arrive ──> its request, decoded ──> answered
//!                no room: the             no room: 596, and
//!                connection is closed     nothing was done
//! ```
//!
//! Small messages never count for all, so that those who send large ones cannot keep them out. A connection reads no
//! further message while those that it has not answered take more than 16 MiB. Bytes are counted as they arrive, whatever
//! lengths their frames tell. A request of 10 MiB can take six times as much once it is decoded, so few long ones are
//! decoded at once, and what they take is counted until they are answered; that of requests by HTTP as well, whose bodies
//! have a limit of their own.

use evergraph_storage::planted::{Bug, planted};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Bytes of a connection that count for nobody else.
const OWN_BYTES: usize = 64 << 10;
/// Bytes of all connections beyond their own.
const ALL_BYTES_MAX: usize = 256 << 20;
/// Those of clients that have not logged in.
const STRANGERS_BYTES_MAX: usize = 64 << 20;
/// Bytes of messages of a connection that are not answered, above which it reads no further one.
const UNANSWERED_BYTES_MAX: usize = 16 << 20;
/// Bytes of the head of a control frame of a client: two, and its mask.
const CONTROL_HEAD_BYTES: usize = 6;
/// Long requests that are decoded at once: what each is going to take is known when it is decoded.
const DECODERS: usize = 4;
/// Those of clients that have not logged in, which wait for each other and for nobody else.
const STRANGERS_DECODERS: usize = 1;

/// Why a request was refused whose content found no room.
pub(crate) const NO_ROOM: &str = "the requests that are not answered take too much memory, and nothing was done for this one: run it again";

/// Room for the messages of all connections.
pub struct MessageRoom {
    taken: Mutex<TakenBytes>,
    decoders: Semaphore,
    strangers_decoders: Semaphore,
}

impl Default for MessageRoom {
    fn default() -> Self {
        Self {
            taken: Mutex::default(),
            decoders: Semaphore::new(DECODERS),
            strangers_decoders: Semaphore::new(STRANGERS_DECODERS),
        }
    }
}

#[derive(Default)]
struct TakenBytes {
    all: usize,
    strangers: usize,
}

/// Who sends messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sender {
    /// Somebody who has not logged in, and has to.
    Stranger,
    /// Anybody else.
    Known,
}

impl MessageRoom {
    /// Bytes that are taken, beyond those that each connection has.
    #[must_use]
    pub fn taken_bytes(&self) -> usize {
        self.taken().all
    }

    /// Room for a request by HTTP that takes so many bytes now that it is decoded; `None` if there is none. It has as many
    /// bytes of its own as a connection.
    #[must_use]
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Option<HeldRoom> {
        let bytes = if planted(Bug::ReadRequestsUncounted) { 0 } else { bytes.saturating_sub(OWN_BYTES) };
        self.take(bytes, Sender::Known).then(|| HeldRoom { room: Arc::clone(self), bytes })
    }

    /// A place among the long requests of such senders that are being decoded.
    pub async fn decoder(&self, sender: Sender) -> SemaphorePermit<'_> {
        let decoders = match sender {
            Sender::Stranger => &self.strangers_decoders,
            Sender::Known => &self.decoders,
        };
        decoders.acquire().await.expect("nobody closes the semaphore")
    }

    fn take(&self, bytes: usize, sender: Sender) -> bool {
        let mut taken = self.taken();
        let strangers = taken.strangers + if sender == Sender::Stranger { bytes } else { 0 };
        let has_room = taken.all + bytes <= ALL_BYTES_MAX && strangers <= STRANGERS_BYTES_MAX;
        if has_room || planted(Bug::MessagesUncounted) {
            taken.all += bytes;
            taken.strangers = strangers;
        }
        has_room || planted(Bug::MessagesUncounted)
    }

    fn give_back(&self, bytes: usize, sender: Sender) {
        let mut taken = self.taken();
        taken.all -= bytes;
        if sender == Sender::Stranger {
            taken.strangers -= bytes;
        }
    }

    fn log_in(&self, bytes: usize) {
        self.taken().strangers -= bytes;
    }

    fn taken(&self) -> MutexGuard<'_, TakenBytes> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room that a request has until it is answered.
pub struct HeldRoom {
    room: Arc<MessageRoom>,
    bytes: usize,
}

impl Drop for HeldRoom {
    fn drop(&mut self) {
        self.room.give_back(self.bytes, Sender::Known);
    }
}

/// What the messages of one connection take.
///
/// Concurrency: one lock, within which that of the room is taken.
pub struct MessageMeter {
    room: Arc<MessageRoom>,
    state: Mutex<State>,
    /// A message was answered.
    answered: Notify,
}

struct State {
    /// Whether it is a WebSocket by now.
    is_begun: bool,
    sender: Sender,
    /// Bytes of the message that is being received, with all between its frames.
    arriving_bytes: usize,
    arriving_since: Option<Instant>,
    unanswered_bytes: usize,
    /// Bytes that count for all.
    counted_bytes: usize,
    is_refused: bool,
}

impl State {
    fn recount(&mut self, room: &MessageRoom) -> bool {
        let counted = (self.arriving_bytes + self.unanswered_bytes).saturating_sub(OWN_BYTES);
        if counted > self.counted_bytes && !room.take(counted - self.counted_bytes, self.sender) {
            return false;
        }
        if counted < self.counted_bytes {
            room.give_back(self.counted_bytes - counted, self.sender);
        }
        self.counted_bytes = counted;
        true
    }
}

impl MessageMeter {
    /// Of a connection that is no WebSocket yet: nothing counts.
    #[must_use]
    pub fn new(room: &Arc<MessageRoom>) -> Arc<Self> {
        let state = State {
            is_begun: false,
            sender: Sender::Known,
            arriving_bytes: 0,
            arriving_since: None,
            unanswered_bytes: 0,
            counted_bytes: 0,
            is_refused: false,
        };
        Arc::new(Self { room: Arc::clone(room), state: Mutex::new(state), answered: Notify::new() })
    }

    /// Counts from now on: the connection is a WebSocket.
    pub fn begin(&self, sender: Sender) {
        let mut state = self.state();
        (state.is_begun, state.sender) = (true, sender);
    }

    /// Notes that its client has logged in.
    pub fn logged_in(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.sender, Sender::Known) == Sender::Stranger {
            self.room.log_in(state.counted_bytes);
        }
    }

    /// Counts bytes that arrived.
    ///
    /// # Errors
    /// If there is no room for them: the connection has to end.
    pub fn received(&self, bytes: usize) -> io::Result<()> {
        let mut state = self.state();
        if !state.is_begun || bytes == 0 {
            return Ok(());
        }
        state.arriving_bytes += bytes;
        state.arriving_since.get_or_insert_with(Instant::now);
        if state.recount(&self.room) {
            return Ok(());
        }
        state.is_refused = true;
        Err(io::Error::other("the messages that are being received take too much memory together"))
    }

    /// A ping or pong with so many bytes is whole: it is no part of a message, within which it may come.
    pub fn received_control(&self, bytes: usize) {
        let mut state = self.state();
        state.arriving_bytes = state.arriving_bytes.saturating_sub(bytes + CONTROL_HEAD_BYTES);
        if state.arriving_bytes == 0 {
            state.arriving_since = None;
        }
        state.recount(&self.room);
    }

    /// The message that was being received is whole; it counts until what this returns is dropped.
    #[must_use]
    pub fn received_message(self: &Arc<Self>) -> UnansweredMessage {
        let mut state = self.state();
        let bytes = std::mem::take(&mut state.arriving_bytes);
        state.arriving_since = None;
        state.unanswered_bytes += bytes;
        UnansweredMessage { meter: Arc::clone(self), bytes }
    }

    /// Waits until another message may be read. That of a log-in always may: others wait for it.
    pub async fn has_room(&self) {
        loop {
            let answered = self.answered.notified();
            {
                let state = self.state();
                if state.unanswered_bytes <= UNANSWERED_BYTES_MAX || state.sender == Sender::Stranger {
                    return;
                }
            }
            answered.await;
        }
    }

    /// A place among the long requests that are being decoded, of all connections.
    pub async fn decoder(&self) -> SemaphorePermit<'_> {
        let sender = self.state().sender;
        self.room.decoder(sender).await
    }

    /// Whether a message has been arriving for `time_max`.
    #[must_use]
    pub fn is_overdue(&self, time_max: Duration) -> bool {
        let since = self.state().arriving_since;
        since.is_some_and(|since| since.elapsed() >= time_max) && !planted(Bug::EndlessMessages)
    }

    /// Whether there was no room for what it received.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.state().is_refused
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MessageMeter {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.room.give_back(state.counted_bytes, state.sender);
    }
}

/// A message that was received and is not answered.
pub struct UnansweredMessage {
    meter: Arc<MessageMeter>,
    bytes: usize,
}

impl UnansweredMessage {
    /// From now on it takes so many bytes: those of its request, decoded, or those of an entry among others that wait.
    ///
    /// # Errors
    /// If there is no room for so many: it takes as many as before.
    pub fn resize(&mut self, bytes: usize) -> Result<(), NoRoomError> {
        let mut state = self.meter.state();
        let bytes = if planted(Bug::ReadRequestsUncounted) { bytes.min(self.bytes) } else { bytes };
        let before = state.unanswered_bytes;
        state.unanswered_bytes = before - self.bytes + bytes;
        if state.recount(&self.meter.room) {
            self.bytes = bytes;
            return Ok(());
        }
        state.unanswered_bytes = before;
        Err(NoRoomError)
    }
}

/// Messages and requests of all connections take as much memory as they may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRoomError;

impl Drop for UnansweredMessage {
    fn drop(&mut self) {
        let mut state = self.meter.state();
        state.unanswered_bytes -= self.bytes;
        state.recount(&self.meter.room);
        drop(state);
        self.meter.answered.notify_one();
    }
}

/// The place of a request among those of its connection that are not answered, and what it takes.
pub struct RequestPlace {
    /// Among the connection's; `None` if its client has not logged in: then nothing runs.
    pub permit: Option<OwnedSemaphorePermit>,
    /// What it takes.
    pub message: UnansweredMessage,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(room: &Arc<MessageRoom>, sender: Sender) -> Arc<MessageMeter> {
        let meter = MessageMeter::new(room);
        meter.begin(sender);
        meter
    }

    #[test]
    fn messages_of_all_have_a_limit_and_small_ones_find_room_all_the_same() {
        let room = Arc::new(MessageRoom::default());
        let large: Vec<_> = (0..30).map(|_| meter(&room, Sender::Known)).collect();
        let fitting = large.iter().filter(|meter| meter.received(10 << 20).is_ok()).count();
        assert_eq!(fitting, 25);
        assert!(large[29].is_refused() && !large[0].is_refused());
        assert!(
            meter(&room, Sender::Known).received(OWN_BYTES).is_ok(),
            "a small one counts for nobody else"
        );
        drop(large);
        assert_eq!(room.taken_bytes(), 0);
    }

    #[test]
    fn those_who_have_not_logged_in_have_a_part_of_the_room() {
        let room = Arc::new(MessageRoom::default());
        let strangers: Vec<_> = (0..7).map(|_| meter(&room, Sender::Stranger)).collect();
        let fitting = strangers.iter().filter(|meter| meter.received(10 << 20).is_ok()).count();
        assert_eq!(fitting, 6);
        assert!(meter(&room, Sender::Known).received(10 << 20).is_ok());
        strangers[0].logged_in();
        assert!(meter(&room, Sender::Stranger).received(10 << 20).is_ok(), "one of them has logged in");
    }

    #[test]
    fn long_requests_of_those_who_have_not_logged_in_wait_for_each_other_alone() {
        use futures_util::FutureExt as _;

        let room = MessageRoom::default();
        let stranger = room.decoder(Sender::Stranger).now_or_never().expect("one at a time");
        assert!(room.decoder(Sender::Stranger).now_or_never().is_none());
        let known = [(); DECODERS].map(|()| room.decoder(Sender::Known).now_or_never());
        assert!(known.iter().all(Option::is_some) && room.decoder(Sender::Known).now_or_never().is_none());
        drop(known);
        drop(stranger);
        assert!(room.decoder(Sender::Stranger).now_or_never().is_some());
    }

    #[test]
    fn a_message_counts_until_it_is_answered_and_pings_are_no_part_of_it() {
        let room = Arc::new(MessageRoom::default());
        let meter = meter(&room, Sender::Known);
        let now = Duration::ZERO;
        meter.received(4 + CONTROL_HEAD_BYTES).unwrap();
        assert!(meter.is_overdue(now));
        meter.received_control(4);
        assert!(!meter.is_overdue(now), "nothing arrives between a ping and the next message");
        meter.received(1 << 20).unwrap();
        meter.received(4 + CONTROL_HEAD_BYTES).unwrap();
        meter.received_control(4);
        assert!(meter.is_overdue(now), "the ping came within the message");
        let unanswered = meter.received_message();
        assert!(!meter.is_overdue(now));
        assert_eq!(room.taken_bytes(), (1 << 20) - OWN_BYTES);
        drop(unanswered);
        assert_eq!(room.taken_bytes(), 0);
    }

    #[test]
    fn a_request_counts_as_it_was_decoded_if_there_is_room() {
        let room = Arc::new(MessageRoom::default());
        let meter = meter(&room, Sender::Known);
        meter.received(10 << 20).unwrap();
        let mut request = meter.received_message();
        request.resize(60 << 20).unwrap();
        assert_eq!(room.taken_bytes(), (60 << 20) - OWN_BYTES);
        let others: Vec<_> =
            (0..3).map(|_| room.hold((60 << 20) + OWN_BYTES).expect("there is room")).collect();
        assert!(room.hold(60 << 20).is_none() && room.hold(OWN_BYTES).is_some());
        assert_eq!(request.resize(120 << 20), Err(NoRoomError));
        assert_eq!(room.taken_bytes(), (240 << 20) - OWN_BYTES, "it takes what it took");
        drop(others);
        request.resize(120 << 20).unwrap();
        request.resize(10).unwrap();
        assert_eq!(room.taken_bytes(), 0, "a small one counts for nobody else");
        drop(request);
        assert_eq!(meter.state().unanswered_bytes, 0);
    }
}
