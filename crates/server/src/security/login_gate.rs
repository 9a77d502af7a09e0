//! Log-in gate: nothing of a connection runs before its client has logged in.
//!
//! ```text
//!            first request: 407        authentication         right: requests that wait run
//! closed ──────────────────> asked ──────────────────> verifying ─────────────────────────> open
//!                              ^                            │ wrong: 401 to what waits
//!                              └────────────────────────────┤
//!                                                           └─ wrong for the third time ──> refused
//! ```
//!
//! Requests that come before wait here as bytes, within a bound for the connection and one for all.

use crate::message_meter::RequestPlace;
use crate::outbox::FrameKind;
use crate::security::authenticator::Login;
use evergraph_storage::planted::{Bug, planted};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Log-ins of a connection that may fail.
const FAILURES_MAX: u32 = 3;
/// Requests of a connection that may wait for its log-in.
const WAITING_MAX: usize = 64;
/// Bytes of requests that wait, of all connections.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// A request that waits for the log-in.
pub struct WaitingRequest {
    /// Its id.
    pub id: Uuid,
    /// The message.
    pub message: Vec<u8>,
    /// Whether it was binary or text.
    pub kind: FrameKind,
    /// Given back when it is answered.
    pub place: Option<RequestPlace>,
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
    /// It is refused: too much waits, or too many log-ins have failed.
    Refused(&'static str),
}

/// Whether a connection may go on after a log-in that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterFailure {
    /// Another one may be tried.
    TryAgain,
    /// The connection ends.
    Ends,
}

/// What a connection's client has to do before its requests run.
///
/// Concurrency: one lock, held to move a request in or out.
pub struct LoginGate {
    state: Mutex<State>,
    /// Of all connections. Relaxed: it is a bound, and publishes nothing.
    waiting_bytes: Arc<AtomicUsize>,
}

enum State {
    /// There are no users.
    NotNeeded,
    Closed {
        waiting: VecDeque<WaitingRequest>,
        is_asked: bool,
        is_verifying: bool,
        failures: u32,
    },
    /// Requests that waited are taken out first.
    Opening {
        login: Arc<Login>,
        waiting: VecDeque<WaitingRequest>,
    },
    Open(Arc<Login>),
    Refused,
}

impl LoginGate {
    /// A gate that is open to everybody.
    #[must_use]
    pub fn open() -> Self {
        Self { state: Mutex::new(State::NotNeeded), waiting_bytes: Arc::default() }
    }

    /// A gate that opens by a log-in. `waiting_bytes` counts for all gates.
    #[must_use]
    pub fn closed(waiting_bytes: Arc<AtomicUsize>) -> Self {
        let closed =
            State::Closed { waiting: VecDeque::new(), is_asked: false, is_verifying: false, failures: 0 };
        Self { state: Mutex::new(closed), waiting_bytes }
    }

    /// Whether the client has logged in, or need not.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(*self.state(), State::NotNeeded | State::Open(_) | State::Opening { .. })
    }

    /// Whether a log-in is being verified, which its client waits for.
    #[must_use]
    pub fn is_verifying(&self) -> bool {
        matches!(*self.state(), State::Closed { is_verifying: true, .. })
    }

    /// Who logged in; `None` before, and if there are no users.
    #[must_use]
    pub fn login(&self) -> Option<Arc<Login>> {
        match &*self.state() {
            State::Open(login) | State::Opening { login, .. } => Some(Arc::clone(login)),
            _ => None,
        }
    }

    /// What becomes of a request that is no log-in. It is made by `request` if it has to wait.
    pub fn admit(&self, request: impl FnOnce() -> WaitingRequest) -> Admission {
        let mut state = self.state();
        match &mut *state {
            State::NotNeeded => Admission::Runs(None),
            State::Open(login) => Admission::Runs(Some(Arc::clone(login))),
            State::Closed { .. } if planted(Bug::RequestsBeforeLogin) => Admission::Runs(None),
            State::Refused => Admission::Refused("too many log-ins have failed"),
            State::Closed { waiting, is_asked, .. } => {
                if !self.add(waiting, request()) {
                    return Admission::Refused("log in first: too many requests wait for a log-in");
                }
                if std::mem::replace(is_asked, true) { Admission::Waits } else { Admission::AsksForLogin }
            }
            State::Opening { waiting, .. } => match self.add(waiting, request()) {
                true => Admission::Waits,
                false => Admission::Refused("too many requests wait"),
            },
        }
    }

    /// Notes that a log-in is being verified.
    ///
    /// # Errors
    /// Why none may be.
    pub fn begin(&self) -> Result<(), &'static str> {
        match &mut *self.state() {
            State::NotNeeded => Err("this server has no users: connect without user and password"),
            State::Open(_) | State::Opening { .. } => Err("this connection has logged in already"),
            State::Refused => Err("too many log-ins have failed"),
            State::Closed { is_verifying: true, .. } => {
                Err("another log-in of this connection is being verified")
            }
            State::Closed { is_verifying, .. } => {
                *is_verifying = true;
                Ok(())
            }
        }
    }

    /// Opens the gate for `login`; whether requests wait, which come out of [`LoginGate::next_waiting`].
    pub fn succeed(&self, login: Login) -> bool {
        let mut state = self.state();
        let waiting = match &mut *state {
            State::Closed { waiting, .. } => std::mem::take(waiting),
            _ => VecDeque::new(),
        };
        let is_waiting = !waiting.is_empty();
        *state = State::Opening { login: Arc::new(login), waiting };
        is_waiting
    }

    /// The next request that waited, in the order in which they came. Once there is none, others need not wait.
    pub fn next_waiting(&self) -> Option<WaitingRequest> {
        let mut state = self.state();
        let State::Opening { login, waiting } = &mut *state else { return None };
        match waiting.pop_front() {
            Some(request) => {
                self.waiting_bytes.fetch_sub(request.message.len(), Ordering::Relaxed);
                Some(request)
            }
            None => {
                *state = State::Open(Arc::clone(login));
                None
            }
        }
    }

    /// A log-in failed: what waited for it, and whether another one may be tried.
    pub fn fail(&self) -> (Vec<WaitingRequest>, AfterFailure) {
        let mut state = self.state();
        let State::Closed { waiting, is_asked, is_verifying, failures } = &mut *state else {
            return (Vec::new(), AfterFailure::Ends);
        };
        let waited: Vec<WaitingRequest> = waiting.drain(..).collect();
        self.forget(&waited);
        (*is_asked, *is_verifying) = (false, false);
        *failures += 1;
        if *failures < FAILURES_MAX {
            return (waited, AfterFailure::TryAgain);
        }
        *state = State::Refused;
        (waited, AfterFailure::Ends)
    }

    fn add(&self, waiting: &mut VecDeque<WaitingRequest>, request: WaitingRequest) -> bool {
        let bytes = request.message.len();
        let before = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        if waiting.len() >= WAITING_MAX || before.saturating_add(bytes) > WAITING_BYTES_MAX {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        waiting.push_back(request);
        true
    }

    fn forget(&self, requests: &[WaitingRequest]) {
        let bytes = requests.iter().map(|request| request.message.len()).sum();
        self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LoginGate {
    fn drop(&mut self) {
        let waiting = match &mut *self.state() {
            State::Closed { waiting, .. } | State::Opening { waiting, .. } => std::mem::take(waiting),
            _ => return,
        };
        self.forget(&Vec::from(waiting));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: u128, bytes: usize) -> WaitingRequest {
        WaitingRequest {
            id: Uuid::from_u128(id),
            message: vec![0; bytes],
            kind: FrameKind::Binary,
            place: None,
        }
    }

    #[test]
    fn requests_wait_within_bounds_and_are_forgotten_with_their_connection() {
        let bytes = Arc::new(AtomicUsize::new(0));
        let gate = LoginGate::closed(Arc::clone(&bytes));
        assert!(matches!(gate.admit(|| request(0, 1)), Admission::AsksForLogin));
        for id in 1..WAITING_MAX as u128 {
            assert!(matches!(gate.admit(|| request(id, 1)), Admission::Waits));
        }
        assert!(matches!(gate.admit(|| request(99, 1)), Admission::Refused(_)));
        let other = LoginGate::closed(Arc::clone(&bytes));
        assert!(matches!(other.admit(|| request(0, WAITING_BYTES_MAX)), Admission::Refused(_)));
        assert_eq!(bytes.load(Ordering::Relaxed), WAITING_MAX);
        drop((gate, other));
        assert_eq!(bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn three_log_ins_may_fail_and_one_is_verified_at_a_time() {
        let gate = LoginGate::closed(Arc::default());
        for failure in 1..=FAILURES_MAX {
            assert!(matches!(gate.admit(|| request(1, 1)), Admission::AsksForLogin));
            gate.begin().unwrap();
            assert!(gate.begin().is_err());
            let (waited, after) = gate.fail();
            assert_eq!(waited.len(), 1);
            assert_eq!(after == AfterFailure::Ends, failure == FAILURES_MAX);
        }
        assert!(gate.begin().is_err() && !gate.is_open());
        assert!(matches!(gate.admit(|| request(1, 1)), Admission::Refused(_)));
    }
}
