//! Log-in gate: nothing of a connection runs before its client has logged in.
//!
//! ```text
//!            first request: 407        authentication         right: requests that waited run
//! closed ──────────────────> asked ──────────────────> verifying ─────────────────────────> open
//!                              ^                            │ wrong: 401 to what waited
//!                              └────────────────────────────┤
//!                                                           └─ wrong for the third time ──> refused
//! ```
//!
//! Requests that come before wait here as bytes, within a bound of bytes: drivers send many at once. While a log-in is
//! verified nothing is read, and whoever reads takes what waited out of here first, one by one as other requests, so
//! that answers and places are limited as theirs are.

use crate::message_meter::UnansweredMessage;
use crate::outbox::FrameKind;
use crate::security::authenticator::Login;
use evergraph_storage::planted::{Bug, planted};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Log-ins of a connection that may fail.
const FAILURES_MAX: u32 = 3;
/// Bytes of requests of a connection that wait for its log-in.
const WAITING_BYTES_MAX: usize = 16 << 20;
/// Bytes that each of them takes beside its own.
const REQUEST_OVERHEAD_BYTES: usize = 128;

/// A request that waits for the log-in.
pub struct WaitingRequest {
    /// The message.
    pub message: Vec<u8>,
    /// Whether it was binary or text.
    pub kind: FrameKind,
    /// What it takes, in the meter of all messages.
    pub memory: UnansweredMessage,
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Admission {
    /// It runs, for this user; `None` if there are no users.
    Runs(Option<Arc<Login>>),
    /// It waits, and the client is asked to log in.
    AsksForLogin,
    /// It waits for a log-in that was asked for.
    Waits,
    /// It is refused: too much waits, or a log-in has failed.
    Refused(Cow<'static, str>),
}

/// What a connection's client has to do before its requests run.
///
/// Concurrency: one lock, held to move a request in or out. One task reads requests, and waits for `decided`.
pub struct LoginGate {
    state: Mutex<State>,
    /// A log-in was verified, or refused.
    decided: Notify,
}

struct State {
    phase: Phase,
    waiting: VecDeque<WaitingRequest>,
    /// Of what waits, with overhead.
    waiting_bytes: usize,
    /// Why the log-in failed that those that wait have waited for.
    refusal: Option<Cow<'static, str>>,
}

enum Phase {
    /// There are no users.
    NotNeeded,
    Closed {
        /// When the client was asked to log in.
        asked: Option<Instant>,
        is_verifying: bool,
        failures: u32,
    },
    Open(Arc<Login>),
    Refused,
}

impl LoginGate {
    /// A gate that is open to everybody.
    #[must_use]
    pub fn open() -> Self {
        Self::new(Phase::NotNeeded)
    }

    /// A gate that opens by a log-in.
    #[must_use]
    pub fn closed() -> Self {
        Self::new(Phase::Closed { asked: None, is_verifying: false, failures: 0 })
    }

    fn new(phase: Phase) -> Self {
        let state = State { phase, waiting: VecDeque::new(), waiting_bytes: 0, refusal: None };
        Self { state: Mutex::new(state), decided: Notify::new() }
    }

    /// Whether the client has logged in, or need not.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state().phase, Phase::NotNeeded | Phase::Open(_))
    }

    /// Whether a log-in is being verified, which its client waits for.
    #[must_use]
    pub fn is_verifying(&self) -> bool {
        self.state().is_verifying()
    }

    /// Whether too many log-ins have failed: the connection has to end.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.state().phase, Phase::Refused)
    }

    /// Whether the client has not logged in, `time_max` after it was asked to, whatever else it has sent since.
    #[must_use]
    pub fn is_overdue(&self, time_max: Duration) -> bool {
        match self.state().phase {
            Phase::Closed { asked: Some(asked), is_verifying: false, .. } => {
                asked.elapsed() >= time_max && !planted(Bug::EndlessLogins)
            }
            _ => false,
        }
    }

    /// Who logged in; `None` before, and if there are no users.
    #[must_use]
    pub fn login(&self) -> Option<Arc<Login>> {
        match &self.state().phase {
            Phase::Open(login) => Some(Arc::clone(login)),
            _ => None,
        }
    }

    /// Waits until no log-in is being verified. One caller at a time.
    pub async fn is_decided(&self) {
        loop {
            let decided = self.decided.notified();
            if !self.is_verifying() {
                return;
            }
            decided.await;
        }
    }

    /// What becomes of a request that is no log-in, and whose message has `message_bytes`. It is made by `request` if it
    /// has to wait.
    pub fn admit(&self, message_bytes: usize, request: impl FnOnce() -> WaitingRequest) -> Admission {
        let mut state = self.state();
        let is_first = match &state.phase {
            Phase::NotNeeded => return Admission::Runs(None),
            Phase::Open(login) => return Admission::Runs(Some(Arc::clone(login))),
            Phase::Closed { .. } if planted(Bug::RequestsBeforeLogin) => return Admission::Runs(None),
            Phase::Refused => return Admission::Refused("too many log-ins have failed".into()),
            Phase::Closed { asked, .. } => asked.is_none(),
        };
        if let Err(why) = state.add(message_bytes, request) {
            return Admission::Refused(why.into());
        }
        if let Phase::Closed { asked, .. } = &mut state.phase {
            asked.get_or_insert_with(Instant::now);
        }
        if is_first { Admission::AsksForLogin } else { Admission::Waits }
    }

    /// Notes that a log-in is being verified.
    ///
    /// # Errors
    /// Why none may be.
    pub fn begin(&self) -> Result<(), &'static str> {
        match &mut self.state().phase {
            Phase::NotNeeded => Err("this server has no users: connect without user and password"),
            Phase::Open(_) => Err("this connection has logged in already"),
            Phase::Refused => Err("too many log-ins have failed"),
            Phase::Closed { is_verifying: true, .. } => {
                Err("another log-in of this connection is being verified")
            }
            Phase::Closed { is_verifying, .. } => {
                *is_verifying = true;
                Ok(())
            }
        }
    }

    /// Whether requests wait for a log-in. While one is verified, none comes or goes.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// Opens the gate for `login`.
    pub fn succeed(&self, login: Login) {
        self.state().phase = Phase::Open(Arc::new(login));
        self.decided.notify_one();
    }

    /// A log-in failed, for this reason.
    pub fn fail(&self, why: Cow<'static, str>) {
        let mut state = self.state();
        if let Phase::Closed { asked, is_verifying, failures } = &mut state.phase {
            (*asked, *is_verifying) = (None, false);
            *failures += 1;
            if *failures >= FAILURES_MAX {
                state.phase = Phase::Refused;
            }
        }
        state.refusal = Some(why);
        drop(state);
        self.decided.notify_one();
    }

    /// The next request that has waited for a log-in that was verified or refused, in the order in which they came, and
    /// what becomes of it. It comes before any other request.
    pub fn next_released(&self) -> Option<(WaitingRequest, Admission)> {
        let mut state = self.state();
        let admission = match (&state.phase, &state.refusal) {
            (Phase::Open(login), _) => Admission::Runs(Some(Arc::clone(login))),
            (_, Some(why)) => Admission::Refused(why.clone()),
            _ => return None,
        };
        let Some(next) = state.waiting.pop_front() else {
            (state.refusal, state.waiting_bytes) = (None, 0);
            state.waiting = VecDeque::new();
            return None;
        };
        state.waiting_bytes -= next.message.len() + REQUEST_OVERHEAD_BYTES;
        Some((next, admission))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_verifying(&self) -> bool {
        matches!(self.phase, Phase::Closed { is_verifying: true, .. })
    }

    fn add(
        &mut self,
        message_bytes: usize,
        request: impl FnOnce() -> WaitingRequest,
    ) -> Result<(), &'static str> {
        let bytes = message_bytes + REQUEST_OVERHEAD_BYTES;
        if self.waiting_bytes + bytes > WAITING_BYTES_MAX && !planted(Bug::WaitingUnlimited) {
            return Err("log in first: 16 MiB of requests of this connection wait for that");
        }
        let mut request = request();
        if request.memory.resize(bytes).is_err() {
            return Err("log in first: the requests that wait for log-ins take too much memory");
        }
        self.waiting_bytes += bytes;
        self.waiting.push_back(request);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_meter::{MessageMeter, MessageRoom, Sender};
    use futures_util::FutureExt as _;

    fn admit(gate: &LoginGate, bytes: usize) -> Admission {
        admit_counted(gate, bytes, &Arc::default())
    }

    fn admit_counted(gate: &LoginGate, bytes: usize, room: &Arc<MessageRoom>) -> Admission {
        let meter = MessageMeter::new(room);
        meter.begin(Sender::Stranger);
        let request = || WaitingRequest {
            message: vec![0; bytes],
            kind: FrameKind::Binary,
            memory: meter.received_message(),
        };
        gate.admit(bytes, request)
    }

    #[test]
    fn requests_wait_within_a_bound_of_bytes_however_many_they_are() {
        let gate = LoginGate::closed();
        assert!(matches!(admit(&gate, 100), Admission::AsksForLogin));
        for _ in 0..1000 {
            assert!(matches!(admit(&gate, 100), Admission::Waits));
        }
        assert!(matches!(admit(&gate, 15 << 20), Admission::Waits));
        assert!(matches!(admit(&gate, 1 << 20), Admission::Refused(_)));
        assert!(matches!(admit(&gate, 100), Admission::Waits), "a smaller one fits");
        let alone = LoginGate::closed();
        assert!(matches!(admit(&alone, 17 << 20), Admission::Refused(_)));
        assert!(matches!(admit(&alone, 1), Admission::AsksForLogin), "nobody was asked before");
        // Empty ones take memory as well.
        let count = (0..1 << 20).take_while(|_| !matches!(admit(&alone, 0), Admission::Refused(_))).count();
        assert!(count < 200_000, "{count}");
    }

    #[test]
    fn what_waits_counts_among_the_messages_of_all_until_it_is_forgotten() {
        let room = Arc::new(MessageRoom::default());
        let gates: Vec<_> = (0..5).map(|_| LoginGate::closed()).collect();
        let admitted: Vec<_> = gates.iter().map(|gate| admit_counted(gate, 15 << 20, &room)).collect();
        assert!(admitted[..4].iter().all(|admission| matches!(admission, Admission::AsksForLogin)));
        assert!(matches!(admitted[4], Admission::Refused(_)), "those who have not logged in have 64 MiB");
        assert!((59 << 20..60 << 20).contains(&room.taken_bytes()));
        drop(gates);
        assert_eq!(room.taken_bytes(), 0);
    }

    #[test]
    fn what_waited_comes_out_in_order_once_a_log_in_is_decided_and_before_anything_else_is_read() {
        let gate = LoginGate::closed();
        for bytes in 0..3 {
            admit(&gate, bytes);
        }
        assert!(gate.next_released().is_none());
        gate.begin().unwrap();
        let mut decided = std::pin::pin!(gate.is_decided());
        assert!(decided.as_mut().now_or_never().is_none(), "nothing is read meanwhile");
        assert!(gate.is_awaited());
        gate.fail("no".into());
        assert!(decided.now_or_never().is_some());
        for bytes in 0..3 {
            let (request, admission) = gate.next_released().unwrap();
            assert_eq!(request.message.len(), bytes);
            assert!(matches!(admission, Admission::Refused(why) if why == "no"));
        }
        assert!(gate.next_released().is_none());
        assert!(matches!(admit(&gate, 7), Admission::AsksForLogin), "the next one is not refused");
        assert!(gate.next_released().is_none());
    }

    #[test]
    fn three_log_ins_may_fail_and_one_is_verified_at_a_time() {
        let gate = LoginGate::closed();
        for failure in 1..=FAILURES_MAX {
            assert!(matches!(admit(&gate, 1), Admission::AsksForLogin));
            gate.begin().unwrap();
            assert!(gate.begin().is_err());
            gate.fail("no".into());
            assert!(gate.next_released().is_some() && gate.next_released().is_none());
            assert_eq!(gate.is_refused(), failure == FAILURES_MAX);
        }
        assert!(gate.begin().is_err() && !gate.is_open());
        assert!(matches!(admit(&gate, 1), Admission::Refused(_)));
    }

    #[test]
    fn the_time_for_a_log_in_begins_when_it_is_asked_for() {
        let gate = LoginGate::closed();
        let time_max = Duration::from_millis(50);
        assert!(!gate.is_overdue(Duration::ZERO), "nobody was asked");
        assert!(matches!(admit(&gate, 1), Admission::AsksForLogin));
        assert!(!gate.is_overdue(Duration::from_secs(3600)));
        std::thread::sleep(time_max);
        assert!(matches!(admit(&gate, 1), Admission::Waits));
        assert!(gate.is_overdue(time_max), "whatever else is sent");
        gate.begin().unwrap();
        assert!(!gate.is_overdue(Duration::ZERO), "it is being verified");
    }
}
