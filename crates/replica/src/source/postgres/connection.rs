//! `Connection`: one conversation with a server, on the thread that calls.

use std::thread;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use evergraph_graph::cancel::CancelFlag;
use postgres_protocol::message::frontend;

use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::settings::ConnectionSettings;
use crate::source::postgres::socket::{Deadline, Socket};
use crate::wire::error::WireError;
use crate::wire::server_error::ServerError;
use crate::wire::server_message::TransactionStatus;
use crate::wire::session::{Event, Session};
use crate::wire::startup::{Purpose, Startup};

/// The oldest server with what is needed: streamed transactions, by protocol version 2.
const SERVER_VERSION_MIN: u32 = 140_000;
/// Bytes that the result of a query may have: a catalogue of a million columns.
const RESULT_BYTES_MAX: usize = 256 << 20;
/// How long a query of the catalogue may take.
pub const QUERY_TIME_MAX: Duration = Duration::from_secs(120);

/// How long a request to cancel a query may take.
const CANCEL_TIME_MAX: Duration = Duration::from_secs(5);

/// The SQLSTATE of a server that has no connection, or no WAL sender, left.
const TOO_MANY_CONNECTIONS: &str = "53300";
/// How long a log-in waits each time before it asks again a server that has no place free: one is given back only when the process
/// of the connection that had it has ended, some milliseconds after its client.
const PLACE_INTERVALS: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(600),
    Duration::from_millis(1000),
];

/// A row of a query's result: texts, `None` for null.
pub type ResultRow = Vec<Option<String>>;

/// A conversation with a server.
#[derive(Debug)]
pub struct Connection {
    session: Session,
    socket: Socket,
    place: String,
    cancel: CancelFlag,
    server_version: u32,
}

impl Connection {
    /// Connects and logs in. Setting `cancel` ends this wait, and every later one. A server that has no place free is asked
    /// again for two seconds.
    ///
    /// # Errors
    /// If nobody listens there, the log-in fails, or the server is older than version 14.
    pub fn open(settings: &ConnectionSettings, purpose: Purpose, cancel: &CancelFlag) -> SourceResult<Self> {
        let deadline = Deadline::within(settings.connect_time_max, cancel);
        let (began, mut refusal) = (Instant::now(), None);
        for interval in PLACE_INTERVALS {
            match Self::open_once(settings, purpose, cancel, deadline) {
                Err(error) if error.sqlstate() == Some(TOO_MANY_CONNECTIONS) => refusal = Some(error),
                // What was said before is the cause.
                Err(late @ SourceError::Late { .. }) => return Err(refusal.unwrap_or(late)),
                done => return done,
            }
            if began.elapsed() + interval >= settings.connect_time_max {
                break;
            }
            thread::sleep(interval);
        }
        match Self::open_once(settings, purpose, cancel, deadline) {
            Err(late @ SourceError::Late { .. }) => Err(refusal.unwrap_or(late)),
            done => done,
        }
    }

    fn open_once(
        settings: &ConnectionSettings,
        purpose: Purpose,
        cancel: &CancelFlag,
        deadline: Deadline<'_>,
    ) -> SourceResult<Self> {
        let socket = Socket::connect(settings, deadline)?;
        let place = settings.place();
        let startup = Startup {
            user: settings.user.clone(),
            password: settings.find_password()?,
            database: settings.database.clone(),
            application_name: settings.application_name.clone(),
            options: settings.options.clone(),
            purpose,
            clear_text: socket.clear_text(),
            channel_binding: socket.binding().clone(),
        };
        let session = Session::begin(startup)
            .map_err(|error| SourceError::Wire { doing: format!("log in to {place}"), error })?;
        let mut connection = Self { session, socket, place, cancel: cancel.clone(), server_version: 0 };
        connection.run("log in to", &mut |own| own.receive("log in to", deadline), |_| Ok(()))?;
        connection.server_version = connection.check_version()?;
        // Time limits of the role or the database would end a long copy, or a quiet holder of a snapshot. JIT would compile
        // queries of the catalogue for 0.3 s, to run for a millisecond: their estimates are far too high.
        connection.query("set time limits at", "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0; SET jit = off; SET search_path = pg_catalog")?;
        Ok(connection)
    }

    /// The server's version, such as 150018.
    #[must_use]
    pub fn server_version(&self) -> u32 {
        self.server_version
    }

    /// The server and the database, for messages.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The rows of the results of `sql`. `doing` is what that is for, before the server's name: "read the tables of".
    ///
    /// # Errors
    /// The server's first error, and what happens to the connection.
    pub fn query(&mut self, doing: &str, sql: &str) -> SourceResult<Vec<ResultRow>> {
        self.query_within(doing, sql, QUERY_TIME_MAX)
    }

    /// As [`Connection::query`], for at most `time_max`.
    ///
    /// # Errors
    /// The same.
    pub fn query_within(
        &mut self,
        doing: &str,
        sql: &str,
        time_max: Duration,
    ) -> SourceResult<Vec<ResultRow>> {
        let cancel = self.cancel.clone();
        let deadline = Deadline::within(time_max, &cancel);
        self.query_received(doing, sql, &mut |own| own.receive(doing, deadline))
    }

    /// As [`Connection::query`], however long it takes; `waiting` is called whenever the server has been silent for `interval`.
    ///
    /// # Errors
    /// The same.
    pub(super) fn query_patiently(
        &mut self,
        doing: &str,
        sql: &str,
        interval: Duration,
        waiting: &mut dyn FnMut(),
    ) -> SourceResult<Vec<ResultRow>> {
        let cancel = self.cancel.clone();
        self.query_received(doing, sql, &mut |own| match own
            .receive(doing, Deadline::within(interval, &cancel))
        {
            Err(SourceError::Late { .. }) => {
                waiting();
                Ok(())
            }
            received => received,
        })
    }

    /// The server's process of this connection, if it said so.
    pub(super) fn process(&self) -> Option<i32> {
        self.session.cancel_key().map(|key| key.process)
    }

    /// Asks the server to cancel this connection's query: a closed connection is noticed only when it sends something. `settings`
    /// are those that the connection was opened with.
    pub(super) fn cancel_query(&self, settings: &ConnectionSettings) {
        let Some(key) = self.session.cancel_key() else { return };
        // The flag of this connection is set already.
        let cancel = CancelFlag::default();
        let deadline = Deadline::within(CANCEL_TIME_MAX, &cancel);
        let Ok(mut socket) = Socket::connect(settings, deadline) else { return };
        let mut request = BytesMut::new();
        frontend::cancel_request(key.process, key.secret, &mut request);
        // The server answers by closing; without it, the query ends when the server notices the closed connection.
        if socket.send(&request).is_ok() {
            let _closed = socket.receive(&mut [0], deadline, &String::new);
        }
    }

    /// The rows of the results of `sql`; `receive` waits for more of the server's bytes.
    fn query_received(
        &mut self,
        doing: &str,
        sql: &str,
        receive: &mut dyn FnMut(&mut Self) -> SourceResult<()>,
    ) -> SourceResult<Vec<ResultRow>> {
        self.begin(doing, sql)?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let place = self.place.clone();
        self.run(doing, receive, |event| {
            let Event::Row(row) = event else { return Ok(()) };
            let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
            let row: ResultRow = row.cells().map(|cell| cell.map(text)).collect();
            bytes += row
                .iter()
                .map(|cell| cell.as_ref().map_or(0, String::len) + size_of::<String>())
                .sum::<usize>();
            if bytes > RESULT_BYTES_MAX {
                return Err(SourceError::Invalid(format!(
                    "{doing} {place}: the server's answer has more than {RESULT_BYTES_MAX} bytes"
                )));
            }
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Sends `sql`, whose answer begins with copy data, and waits for their beginning.
    ///
    /// # Errors
    /// The server's error, and what happens to the connection.
    pub fn begin_copy(&mut self, doing: &str, sql: &str) -> SourceResult<()> {
        self.begin(doing, sql)?;
        let cancel = self.cancel.clone();
        let deadline = Deadline::within(QUERY_TIME_MAX, &cancel);
        let mut failure = None;
        loop {
            match self.session.next_event().map_err(|error| wire(doing, &self.place, error))? {
                Some(Event::CopyBegin) => return Ok(()),
                Some(Event::Failed(error)) => failure = Some(error),
                Some(Event::Ready(_)) => break,
                Some(_) => {}
                None => self.receive(doing, deadline)?,
            }
        }
        Err(match failure {
            Some(error) => server(doing, &self.place, error),
            None => SourceError::Invalid(format!("{doing} {}: the server sent no rows of COPY", self.place)),
        })
    }

    /// The session and the socket, for whoever reads copy data.
    pub(super) fn parts(&mut self) -> (&mut Session, &mut Socket) {
        (&mut self.session, &mut self.socket)
    }

    /// The session, and the name of its server for messages.
    pub(super) fn session_and_place(&mut self) -> (&mut Session, &str) {
        (&mut self.session, &self.place)
    }

    /// Receives until there is an event, or the connection ends.
    pub(super) fn receive(&mut self, doing: &str, deadline: Deadline<'_>) -> SourceResult<()> {
        let place = &self.place;
        let told = || format!("{doing} {place}");
        send(&mut self.session, &mut self.socket)
            .map_err(|error| SourceError::Io { doing: told(), error })?;
        match self.socket.receive(self.session.space(), deadline, &told)? {
            0 => Err(ended(told())),
            count => {
                self.session.filled(count);
                Ok(())
            }
        }
    }

    fn begin(&mut self, doing: &str, sql: &str) -> SourceResult<()> {
        self.session.query(sql).map_err(|error| wire(doing, &self.place, error))
    }

    /// Shows `each` what the server sends until it waits for a query; `receive` waits for more bytes.
    fn run(
        &mut self,
        doing: &str,
        receive: &mut dyn FnMut(&mut Self) -> SourceResult<()>,
        mut each: impl FnMut(&Event<'_>) -> SourceResult<()>,
    ) -> SourceResult<()> {
        let mut failure = None;
        loop {
            match self.session.next_event().map_err(|error| wire(doing, &self.place, error))? {
                Some(Event::Ready(status)) => {
                    return match failure {
                        Some(error) => Err(server(doing, &self.place, error)),
                        None if status == TransactionStatus::Failed => Err(SourceError::Invalid(format!(
                            "{doing} {}: the transaction failed before",
                            self.place
                        ))),
                        None => Ok(()),
                    };
                }
                Some(Event::Failed(error)) => {
                    if error.is_fatal() {
                        return Err(server(doing, &self.place, error));
                    }
                    failure.get_or_insert(error);
                }
                Some(Event::CopyBegin | Event::CopyData(_)) => {
                    return Err(SourceError::Invalid(format!(
                        "{doing} {}: rows of COPY were not asked for",
                        self.place
                    )));
                }
                Some(event) => each(&event)?,
                None => receive(self)?,
            }
        }
    }

    fn check_version(&self) -> SourceResult<u32> {
        let text = self.session.parameter("server_version").unwrap_or_default();
        let number = version_number(text);
        if number < SERVER_VERSION_MIN {
            return Err(SourceError::Invalid(format!(
                "{} is a server of version {text:?}: PostgreSQL 14 or newer is needed, which sends transactions in progress",
                self.place
            )));
        }
        Ok(number)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.terminate();
        // The server notices the end of the connection, too.
        let _unread = send(&mut self.session, &mut self.socket);
        self.socket.close();
    }
}

/// Sends what the session has to say.
pub(super) fn send(session: &mut Session, socket: &mut Socket) -> std::io::Result<()> {
    let count = session.to_send().len();
    if count > 0 {
        socket.send(session.to_send())?;
        session.sent(count);
    }
    Ok(())
}

pub(super) fn server(doing: &str, place: &str, error: Box<ServerError>) -> SourceError {
    SourceError::Server { doing: format!("{doing} {place}"), error }
}

pub(super) fn wire(doing: &str, place: &str, error: WireError) -> SourceError {
    SourceError::Wire { doing: format!("{doing} {place}"), error }
}

pub(super) fn ended(doing: String) -> SourceError {
    let error = std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the server closed the connection");
    SourceError::Io { doing, error }
}

/// 150018 of `15.18 (Debian 15.18-1)`, 160000 of `16beta1`; 0 of what is no version.
fn version_number(text: &str) -> u32 {
    let number = |text: &str| {
        let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        text[..digits].parse::<u32>().unwrap_or(0).min(9999)
    };
    let minor = text.split_once('.').map_or(0, |(_, minor)| number(minor));
    number(text) * 10_000 + minor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_its_text() {
        assert_eq!(version_number("15.18 (Debian 15.18-0+deb12u1)"), 150_018);
        assert_eq!(version_number("16beta1"), 160_000);
        assert_eq!(version_number("9.6.24"), 90_006);
        assert_eq!(version_number(""), 0);
    }
}
