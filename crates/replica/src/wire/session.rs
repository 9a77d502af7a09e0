//! `Session`: one connection's states.
//!
//! ```text
//! Login ──Ready──> Idle ──query──> Query ──Ready──> Idle
//!                                    └──> CopyOut, CopyBoth, Ending ──CopyEnd──> CopyEnded ──Ready──> Idle
//! ```

use std::collections::BTreeMap;
use std::fmt;

use bytes::{Buf as _, BytesMut};
use postgres_protocol::message::frontend;

use crate::wire::error::WireError;
use crate::wire::login::{Login, LoginStep};
use crate::wire::receive_buffer::{Frame, ReceiveBuffer};
use crate::wire::server_error::ServerError;
use crate::wire::server_message::{ResultColumn, Row, ServerMessage, TransactionStatus};
use crate::wire::startup::{PINNED, REPORTED, Startup};

/// The longest message of a server that has not accepted the log-in.
const LOGIN_BYTES_MAX: usize = 64 << 10;
/// The longest row: a value has at most 1 GiB, and PostgreSQL sends no longer message.
const ROW_BYTES_MAX: usize = 1 << 30;
/// The longest message that holds no row.
const OTHER_BYTES_MAX: usize = 16 << 20;
/// Settings that a server may report.
const PARAMETERS_MAX: usize = 256;

/// What a server sent, borrowed from the session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<'a> {
    /// The server waits for a query.
    Ready(TransactionStatus),
    /// The columns of the rows that follow.
    Columns(Vec<ResultColumn>),
    /// A row of a query's result.
    Row(Row<'a>),
    /// A statement ended; its tag, such as `SELECT 3`.
    Complete(&'a str),
    /// A statement failed; another may follow [`Event::Ready`]. After a fatal one the connection ends.
    Failed(Box<ServerError>),
    /// Something to know.
    Notice(Box<ServerError>),
    /// Rows of COPY follow, or frames of replication.
    CopyBegin,
    /// A row of COPY, or a frame of replication.
    CopyData(&'a [u8]),
    /// The server sends no more copy data.
    CopyEnd,
}

/// A session's states, fed with what the server sends.
pub struct Session {
    state: State,
    received: ReceiveBuffer,
    to_send: BytesMut,
    parameters: BTreeMap<Box<str>, Box<str>>,
    cancel_key: Option<CancelKey>,
}

/// What a request to cancel the session's query has to name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CancelKey {
    /// The server's process.
    pub process: i32,
    /// Its secret.
    pub secret: i32,
}

impl fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelKey").field("process", &self.process).finish_non_exhaustive()
    }
}

enum State {
    Login(Box<Login>),
    /// The log-in was accepted; settings follow.
    Starting,
    Idle,
    Query,
    CopyOut,
    CopyBoth,
    /// Replication of which this end is done.
    Ending,
    /// The server is done with copy data, and says how that went.
    CopyEnded,
    Ended,
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::Login(_) => "during the log-in",
            Self::Starting => "while the session begins",
            Self::Idle => "between queries",
            Self::Query => "during a query",
            Self::CopyOut => "during COPY",
            Self::CopyBoth => "during replication",
            Self::Ending => "at the end of replication",
            Self::CopyEnded => "behind COPY",
            Self::Ended => "after the end",
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("state", &self.state.name()).finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a session: [`Event::Ready`] tells that the log-in succeeded.
    ///
    /// # Errors
    /// [`WireError::ZeroByte`] in one of the texts.
    pub fn begin(startup: Startup) -> Result<Self, WireError> {
        let mut to_send = BytesMut::new();
        frontend::startup_message(startup.parameters(), &mut to_send)
            .map_err(|_| WireError::ZeroByte("a setting of the connection"))?;
        Ok(Self {
            state: State::Login(Box::new(Login::new(startup))),
            received: ReceiveBuffer::default(),
            to_send,
            parameters: BTreeMap::new(),
            cancel_key: None,
        })
    }

    /// Where the server's bytes are to be received; [`Session::filled`] says how many came.
    pub fn space(&mut self) -> &mut [u8] {
        self.received.space()
    }

    /// `count` bytes were received at the front of [`Session::space`].
    ///
    /// # Panics
    /// If there was no space for so many.
    pub fn filled(&mut self, count: usize) {
        self.received.filled(count);
    }

    /// Appends the server's `bytes`, which were received elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.received.push(bytes);
    }

    /// The bytes that the server is to have.
    #[must_use]
    pub fn to_send(&self) -> &[u8] {
        &self.to_send
    }

    /// The first `count` bytes of [`Session::to_send`] were sent.
    ///
    /// # Panics
    /// If there were fewer.
    pub fn sent(&mut self, count: usize) {
        self.to_send.advance(count);
    }

    /// A setting that the server reported, such as `server_version`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(|value| &**value)
    }

    /// What cancels the session's query, if the server said so.
    #[must_use]
    pub fn cancel_key(&self) -> Option<CancelKey> {
        self.cancel_key
    }

    /// The next thing that the server said, if it is here whole. Answers within the log-in are in [`Session::to_send`] then.
    ///
    /// # Errors
    /// [`WireError`]: the session cannot go on.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, WireError> {
        let frame = loop {
            let in_login = matches!(self.state, State::Login(_));
            let length_max = |letter| match letter {
                _ if in_login => LOGIN_BYTES_MAX,
                b'd' | b'D' => ROW_BYTES_MAX,
                _ => OTHER_BYTES_MAX,
            };
            match self.received.take(length_max)? {
                None => return Ok(None),
                Some(frame) if frame.letter == b'd' || !self.is_own_matter(&frame)? => break frame,
                Some(_) => {}
            }
        };
        // Most messages are rows of COPY, or changes.
        if frame.letter == b'd' && matches!(self.state, State::CopyOut | State::CopyBoth | State::Ending) {
            return Ok(Some(Event::CopyData(self.received.body(&frame))));
        }
        let unexpected =
            || WireError::Unexpected { letter: char::from(frame.letter), when: self.state.name() };
        let message = read(&self.received, &frame)?;
        let (event, next) = match (&self.state, message) {
            (_, ServerMessage::Notice(notice)) => (Event::Notice(notice), None),
            (State::Ended, _) => return Err(unexpected()),
            // A sender of log may send one more keepalive behind its end, as libpq knows.
            (
                State::CopyOut | State::CopyBoth | State::Ending | State::CopyEnded,
                ServerMessage::CopyData(bytes),
            ) => (Event::CopyData(bytes), None),
            (State::Query, ServerMessage::Row(row)) => (Event::Row(row), None),
            (State::Starting | State::Query | State::CopyEnded, ServerMessage::Ready(status)) => {
                (Event::Ready(status), Some(State::Idle))
            }
            (State::Query, ServerMessage::Columns(columns)) => (Event::Columns(columns), None),
            (State::Query | State::CopyEnded, ServerMessage::Complete(tag)) => (Event::Complete(tag), None),
            (State::Query, ServerMessage::EmptyQuery) => (Event::Complete(""), None),
            (State::Query, ServerMessage::CopyOut) => (Event::CopyBegin, Some(State::CopyOut)),
            (State::Query, ServerMessage::CopyBoth) => (Event::CopyBegin, Some(State::CopyBoth)),
            (State::CopyOut | State::CopyBoth | State::Ending, ServerMessage::CopyDone) => {
                (Event::CopyEnd, Some(State::CopyEnded))
            }
            // A sender of log that is shut down has sent all of it, says this alone, and hangs up.
            (State::CopyBoth | State::Ending, ServerMessage::Complete(_)) => {
                (Event::CopyEnd, Some(State::CopyEnded))
            }
            (state, ServerMessage::Failed(error)) => {
                let next = match state {
                    State::Login(_) | State::Starting | State::Idle | State::Ended => State::Ended,
                    _ if error.is_fatal() => State::Ended,
                    _ => State::Query,
                };
                (Event::Failed(error), Some(next))
            }
            _ => return Err(unexpected()),
        };
        if let Some(next) = next {
            if matches!((&self.state, &next, &event), (State::CopyBoth, State::CopyEnded, Event::CopyEnd)) {
                // Each end says that it is done.
                frontend::copy_done(&mut self.to_send);
            }
            if matches!(self.state, State::Starting) && matches!(next, State::Idle) {
                check_settings(&self.parameters)?;
            }
            self.state = next;
        }
        Ok(Some(event))
    }

    /// Asks for the results of `sql`, one statement or several.
    ///
    /// # Errors
    /// [`WireError::Misused`] unless the server waits for a query; [`WireError::ZeroByte`].
    pub fn query(&mut self, sql: &str) -> Result<(), WireError> {
        if !matches!(self.state, State::Idle) {
            return Err(WireError::Misused { asked: "a query", when: self.state.name() });
        }
        frontend::query(sql, &mut self.to_send).map_err(|_| WireError::ZeroByte("a query"))?;
        self.state = State::Query;
        Ok(())
    }

    /// Sends a frame of replication.
    ///
    /// # Errors
    /// [`WireError::Misused`] unless a stream of replication is open.
    pub fn send_frame(&mut self, frame: &[u8]) -> Result<(), WireError> {
        if !matches!(self.state, State::CopyBoth) {
            return Err(WireError::Misused { asked: "a frame of replication", when: self.state.name() });
        }
        let data = frontend::CopyData::new(frame).expect("a frame has some bytes, not 2 GiB");
        data.write(&mut self.to_send);
        Ok(())
    }

    /// Says that no more frames will be sent. The server ends the stream: [`Event::CopyEnd`].
    ///
    /// # Errors
    /// [`WireError::Misused`] unless a stream of replication is open.
    pub fn end_frames(&mut self) -> Result<(), WireError> {
        if !matches!(self.state, State::CopyBoth) {
            return Err(WireError::Misused { asked: "the end of replication", when: self.state.name() });
        }
        frontend::copy_done(&mut self.to_send);
        self.state = State::Ending;
        Ok(())
    }

    /// Says good-bye.
    pub fn terminate(&mut self) {
        frontend::terminate(&mut self.to_send);
        self.state = State::Ended;
    }

    /// Whether the message is about the session itself; it was handled then.
    fn is_own_matter(&mut self, frame: &Frame) -> Result<bool, WireError> {
        match read(&self.received, frame)? {
            ServerMessage::Authentication(step) => {
                let State::Login(login) = &mut self.state else {
                    return Err(WireError::Unexpected { letter: 'R', when: self.state.name() });
                };
                if login.answer(step, &mut self.to_send)? == LoginStep::Accepted {
                    self.state = State::Starting;
                }
                Ok(true)
            }
            ServerMessage::Parameter { name, value } => {
                if self.parameters.len() < PARAMETERS_MAX || self.parameters.contains_key(name) {
                    self.parameters.insert(name.into(), value.into());
                }
                Ok(true)
            }
            ServerMessage::CancelKey { process, secret } => {
                // Longer secrets belong to a newer protocol, which nothing here asks for.
                let secret = <[u8; 4]>::try_from(secret).ok().map(i32::from_be_bytes);
                self.cancel_key = secret.map(|secret| CancelKey { process, secret });
                Ok(true)
            }
            // Nothing here asks for options that a server may not know.
            ServerMessage::Notification | ServerMessage::NegotiateVersion => Ok(true),
            _ => Ok(false),
        }
    }
}

fn read<'a>(received: &'a ReceiveBuffer, frame: &Frame) -> Result<ServerMessage<'a>, WireError> {
    ServerMessage::read(frame.letter, received.body(frame))
        .map_err(|error| WireError::Malformed { letter: char::from(frame.letter), error })
}

/// A pooler may drop the settings that we began with; values would be read wrongly.
fn check_settings(parameters: &BTreeMap<Box<str>, Box<str>>) -> Result<(), WireError> {
    for (name, pinned) in PINNED.iter().filter(|(name, _)| REPORTED.contains(name)) {
        match parameters.get(*name) {
            Some(found) if !found.eq_ignore_ascii_case(pinned) => {
                return Err(WireError::Login(format!(
                    "the session has {name} = {found:?} in place of {pinned:?}: connect to PostgreSQL itself, not by a \
                     pooler that drops settings"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::startup::{Binding, ClearText, Purpose};
    use proptest::prelude::*;

    fn session() -> Session {
        let mut session = Session::begin(Startup {
            user: "ann".into(),
            password: None,
            database: "shop".into(),
            application_name: "test".into(),
            options: None,
            purpose: Purpose::Replication,
            clear_text: ClearText::Refused,
            channel_binding: Binding::None,
        })
        .unwrap();
        let sent = session.to_send().len();
        assert!(session.to_send().windows(21).any(|part| part == b"replication\0database\0"));
        session.sent(sent);
        session
    }

    fn idle() -> Session {
        let mut session = session();
        session.push(b"R\0\0\0\x08\0\0\0\0S\0\0\0\x11TimeZone\0UTC\0Z\0\0\0\x05I");
        assert_eq!(session.next_event(), Ok(Some(Event::Ready(TransactionStatus::Idle))));
        session
    }

    #[test]
    fn a_query_gives_rows_and_its_end() {
        let mut session = idle();
        assert!(session.send_frame(b"r").is_err());
        session.query("SELECT 1").unwrap();
        assert_eq!(session.to_send(), b"Q\0\0\0\x0dSELECT 1\0");
        assert!(session.query("SELECT 2").is_err());
        session.push(b"T\0\0\0\x1b\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\x44");
        assert!(matches!(session.next_event(), Err(WireError::Malformed { letter: 'T', .. })));
        let mut session = idle();
        session.query("SELECT 1").unwrap();
        session.push(b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0");
        let column = ResultColumn { name: "n".into(), type_id: 23 };
        assert_eq!(session.next_event(), Ok(Some(Event::Columns(vec![column]))));
        session.push(b"D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I");
        assert!(
            matches!(session.next_event(), Ok(Some(Event::Row(row))) if row.cells().eq([Some(&b"1"[..])]))
        );
        assert_eq!(session.next_event(), Ok(Some(Event::Complete("SELECT 1"))));
        assert_eq!(session.next_event(), Ok(Some(Event::Ready(TransactionStatus::Idle))));
        assert_eq!(session.next_event(), Ok(None));
    }

    #[test]
    fn a_stream_of_replication_ends_when_both_ends_are_done() {
        let mut session = idle();
        session.query("START_REPLICATION").unwrap();
        let sent = session.to_send().len();
        session.sent(sent);
        session.push(b"W\0\0\0\x07\0\0\0d\0\0\0\x05k");
        assert_eq!(session.next_event(), Ok(Some(Event::CopyBegin)));
        assert_eq!(session.next_event(), Ok(Some(Event::CopyData(b"k"))));
        session.send_frame(b"r").unwrap();
        assert_eq!(session.to_send(), b"d\0\0\0\x05r");
        session.push(b"c\0\0\0\x04");
        assert_eq!(session.next_event(), Ok(Some(Event::CopyEnd)));
        assert_eq!(session.to_send(), b"d\0\0\0\x05rc\0\0\0\x04");
    }

    #[test]
    fn a_server_that_is_shut_down_ends_a_stream_of_replication_by_its_completion_alone() {
        for is_ending in [false, true] {
            let mut session = idle();
            session.query("START_REPLICATION").unwrap();
            session.push(b"W\0\0\0\x07\0\0\0");
            assert_eq!(session.next_event(), Ok(Some(Event::CopyBegin)));
            if is_ending {
                session.end_frames().unwrap();
            }
            session.push(b"C\0\0\0\x0bCOPY 0\0");
            assert_eq!(session.next_event(), Ok(Some(Event::CopyEnd)));
            assert_eq!(session.next_event(), Ok(None));
        }
        // COPY itself has an end of its own, without which rows are missing.
        let mut session = idle();
        session.query("COPY owner TO STDOUT").unwrap();
        session.push(b"H\0\0\0\x07\0\0\0");
        assert_eq!(session.next_event(), Ok(Some(Event::CopyBegin)));
        session.push(b"C\0\0\0\x0bCOPY 1\0");
        assert_eq!(session.next_event(), Err(WireError::Unexpected { letter: 'C', when: "during COPY" }));
    }

    #[test]
    fn an_error_ends_a_statement_and_a_fatal_one_the_session() {
        let mut session = idle();
        session.query("START_REPLICATION").unwrap();
        session.push(b"E\0\0\0\x15SERROR\0C42704\0M\0\0Z\0\0\0\x05I");
        assert!(matches!(session.next_event(), Ok(Some(Event::Failed(error))) if error.is("42704")));
        assert_eq!(session.next_event(), Ok(Some(Event::Ready(TransactionStatus::Idle))));
        session.push(b"E\0\0\0\x15SFATAL\0C57P01\0M\0\0Z\0\0\0\x05I");
        assert!(matches!(session.next_event(), Ok(Some(Event::Failed(error))) if error.is_fatal()));
        assert!(session.next_event().is_err());
        assert!(session.query("SELECT 1").is_err());
    }

    #[test]
    fn a_pooler_that_drops_settings_is_refused() {
        let mut session = session();
        session.push(b"R\0\0\0\x08\0\0\0\0S\0\0\0\x1bTimeZone\0Europe/Berlin\0Z\0\0\0\x05I");
        let error = session.next_event().unwrap_err().to_string();
        assert!(error.contains("TimeZone = \"Europe/Berlin\" in place of \"UTC\""), "{error}");
    }

    #[test]
    fn what_is_no_postgresql_is_refused_at_once() {
        let mut http = session();
        http.push(b"HTTP/1.1 400 Bad Request\r\n");
        assert!(matches!(http.next_event(), Err(WireError::TooLong { letter: 'H', .. })));
        let mut eager = session();
        eager.push(b"Z\0\0\0\x05I");
        assert!(matches!(eager.next_event(), Err(WireError::Unexpected { letter: 'Z', .. })));
    }

    proptest! {
        #[test]
        fn random_messages_give_events_or_an_error(
            messages in prop::collection::vec(
                (prop::sample::select(b"RSKZTDCIENHGWdcAv".to_vec()), prop::collection::vec(0..7_u8, 0..12)), 0..20),
            begins_idle in any::<bool>(),
        ) {
            let mut session = if begins_idle { idle() } else { session() };
            if begins_idle {
                session.query("SELECT 1").unwrap();
            }
            for (letter, body) in messages {
                session.push(&[letter]);
                session.push(&(body.len() as u32 + 4).to_be_bytes());
                session.push(&body);
            }
            while let Ok(Some(_)) = session.next_event() {}
        }
    }
}
