//! The plain reader: a second slot of the source, read and decoded by a loop that does nothing else.
//!
//! It has a socket of its own, which it reads as soon as something is there: what the replica's socket does for the source,
//! and costs, is nothing that both have.

use crate::workload::replica::marks::Marks;
use crate::workload::replica::source_server::SourceServer;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::follow::options::DEFAULT_PUBLICATION;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::pgoutput::decoder::Decoder;
use evergraph_replica::pgoutput::message::Message;
use evergraph_replica::pgoutput::relation::Oid;
use evergraph_replica::pgoutput::tuple::{Cell, Tuple};
use evergraph_replica::postgres_time::PostgresTime;
use evergraph_replica::source::postgres::feedback::Feedback;
use evergraph_replica::source::postgres::settings::Host;
use evergraph_replica::wire::replication_frame::ReplicationFrame;
use evergraph_replica::wire::session::{Event, Session};
use evergraph_replica::wire::startup::{Binding, ClearText, Purpose, Startup};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The plain reader's slot.
pub const PLAIN_SLOT: &str = "plain_reader";
/// How long it waits before it looks whether it is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a server may take to answer a log-in, or to end a stream.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// A stream of a slot, and what it shows of the source's clock.
pub struct PlainReader {
    connection: PlainConnection,
    feedback: Feedback,
    confirmed: Lsn,
    clock: Clock,
}

impl PlainReader {
    /// Connects, and begins where the last one ended.
    ///
    /// # Errors
    /// `io`; what the server says.
    pub fn begin(server: &SourceServer) -> Result<Self> {
        let mut connection = PlainConnection::open(server)?;
        let command = format!(
            "START_REPLICATION SLOT \"{PLAIN_SLOT}\" LOGICAL 0/0 (proto_version '2', streaming 'on', \
             publication_names '\"{DEFAULT_PUBLICATION}\"')"
        );
        connection.session.query(&command).map_err(|error| failed("begin its stream", error))?;
        connection.wait_for(|event| matches!(event, Event::CopyBegin))?;
        Ok(Self { connection, feedback: Feedback::default(), confirmed: Lsn::ZERO, clock: Clock::default() })
    }

    /// Reads and decodes until `is_over`, and notes in `marks` what it saw. Then the slot is free, and does not send again what
    /// was read.
    ///
    /// # Errors
    /// `io`; `corrupt` for what is no message; what the server says.
    pub fn read_until(mut self, is_over: &AtomicBool, marks: &Marks) -> Result<()> {
        while !is_over.load(Ordering::Relaxed) {
            self.read(marks)?;
            let update = self.feedback.take(Instant::now(), self.confirmed, PostgresTime::now());
            if let Some(update) = update {
                self.tell(&update.to_bytes())?;
            }
            self.connection.receive()?;
        }
        let update = self.feedback.update(Instant::now(), self.confirmed, PostgresTime::now());
        self.tell(&update.to_bytes())?;
        self.connection.session.end_frames().map_err(|error| failed("end its stream", error))?;
        self.connection.wait_for(|event| matches!(event, Event::Ready(_)))
    }

    fn tell(&mut self, frame: &[u8]) -> Result<()> {
        let session = &mut self.connection.session;
        session.send_frame(frame).map_err(|error| failed("confirm what it read", error))?;
        self.connection.flush()
    }

    /// Reads what is here.
    fn read(&mut self, marks: &Marks) -> Result<()> {
        let session = &mut self.connection.session;
        while let Some(event) = session.next_event().map_err(|error| failed("read", error))? {
            let bytes = match event {
                Event::CopyData(bytes) => bytes,
                Event::Failed(error) => return Err(failed("read", error)),
                Event::Ready(_) | Event::CopyEnd => {
                    return Err(failed("read", "the server ended the stream"));
                }
                _ => continue,
            };
            match ReplicationFrame::read(bytes).map_err(|error| failed("read", error))? {
                ReplicationFrame::Data(data) => {
                    self.feedback.received(data.start);
                    if let Some(end) = self.clock.read(data.message, marks)? {
                        self.confirmed = end;
                    }
                }
                ReplicationFrame::Keepalive(keepalive) => {
                    self.feedback.received(keepalive.log_end);
                    if keepalive.wants_answer {
                        self.feedback.asked();
                    }
                }
            }
        }
        Ok(())
    }
}

/// A session and its socket.
struct PlainConnection {
    session: Session,
    socket: TcpStream,
}

impl PlainConnection {
    fn open(server: &SourceServer) -> Result<Self> {
        let settings = server.connection_settings();
        let Host::Tcp(host) = &settings.host else {
            return Err(failed("connect", "the private server listens on a port"));
        };
        let socket =
            TcpStream::connect((host.as_str(), settings.port)).map_err(|error| failed("connect", error))?;
        let is_ready = socket.set_nodelay(true).and_then(|()| socket.set_read_timeout(Some(POLL_INTERVAL)));
        is_ready.map_err(|error| failed("connect", error))?;
        let startup = Startup {
            user: settings.user.clone(),
            password: settings.find_password()?,
            database: settings.database.clone(),
            application_name: PLAIN_SLOT.to_owned(),
            options: None,
            purpose: Purpose::Replication,
            clear_text: ClearText::Allowed,
            channel_binding: Binding::None,
        };
        let session = Session::begin(startup).map_err(|error| failed("log in", error))?;
        let mut connection = Self { session, socket };
        connection.wait_for(|event| matches!(event, Event::Ready(_)))?;
        Ok(connection)
    }

    fn flush(&mut self) -> Result<()> {
        let count = self.session.to_send().len();
        if count > 0 {
            self.socket.write_all(self.session.to_send()).map_err(|error| failed("send", error))?;
            self.session.sent(count);
        }
        Ok(())
    }

    /// Receives what comes next, if it comes soon.
    fn receive(&mut self) -> Result<()> {
        match self.socket.read(self.session.space()) {
            Ok(0) => Err(failed("read", "the server closed the connection")),
            Ok(count) => {
                self.session.filled(count);
                Ok(())
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(failed("read", error)),
        }
    }

    fn wait_for(&mut self, is_there: impl Fn(&Event<'_>) -> bool) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < ANSWER_TIME_MAX {
            match self.session.next_event().map_err(|error| failed("wait for an answer", error))? {
                Some(Event::Failed(error)) => return Err(failed("wait for an answer", error)),
                Some(event) if is_there(&event) => return Ok(()),
                Some(_) => {}
                None => {
                    self.flush()?;
                    self.receive()?;
                }
            }
        }
        Err(failed("wait for an answer", format!("none came within {} s", ANSWER_TIME_MAX.as_secs())))
    }
}

fn failed(doing: &str, cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("the plain reader could not {doing}: {cause}"))
}

/// Decodes every message, and reads nothing but the clock.
#[derive(Default)]
struct Clock {
    decoder: Decoder,
    table: Option<Oid>,
    number: Option<u64>,
}

impl Clock {
    /// The end of the transaction that `message` commits.
    fn read(&mut self, message: &[u8], marks: &Marks) -> Result<Option<Lsn>> {
        let message = self.decoder.decode(message).map_err(|error| {
            Error::new(ErrorKind::Corrupt, format!("the plain reader found no message: {error}"))
        })?;
        match message {
            Message::Relation { relation, .. } if &*relation.name == "clock" => {
                self.table = Some(relation.id);
            }
            Message::Update { relation, new, .. } if self.table == Some(relation) => {
                self.number = number_of(new);
            }
            Message::Commit(commit) | Message::StreamCommit { commit, .. } => {
                if let Some(number) = self.number.take() {
                    marks.note(number, Instant::now());
                }
                return Ok(Some(commit.end_lsn));
            }
            _ => {}
        }
        Ok(None)
    }
}

/// The second column of the clock.
fn number_of(row: Tuple<'_>) -> Option<u64> {
    match row.cells().nth(1) {
        Some(Cell::Text(text)) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}
