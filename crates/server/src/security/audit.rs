//! Audit log: who logged in, what was refused, and which roles changed, as lines of JSON.
//!
//! ```text
//! {"time":"2026-11-24T12:00:00.123Z","event":"login","outcome":"refused","user":"ann","address":"10.0.0.7", ...}
//! ```
//!
//! It holds no password and no text of a query. Control characters, and those that change the direction of a text, are
//! escaped, so that a name can neither begin a line nor hide one. Lines are written by a thread of their own. If the disk
//! is slower than events come, the newest are left out, and a line says how many.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::value::datetime::DateTime;
use evergraph_storage::planted::{Bug, planted};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

/// Lines that may wait for the disk.
const WAITING_MAX: usize = 8192;
/// Characters of a text from outside; what is longer is cut off.
const TEXT_LENGTH_MAX: usize = 256;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditEvent {
    /// The server began to listen, or stopped.
    Server,
    /// A connection was refused before anybody could log in.
    Connection,
    /// A client logged in, or tried to.
    Login,
    /// A request was refused because of who sent it.
    Request,
    /// A session began or ended.
    Session,
    /// The users, their passwords or roles changed.
    Users,
    /// Certificates were read again.
    Certificates,
}

impl AuditEvent {
    const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Connection => "connection",
            Self::Login => "login",
            Self::Request => "request",
            Self::Session => "session",
            Self::Users => "users",
            Self::Certificates => "certificates",
        }
    }
}

/// Something that happened, and what is known of it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AuditRecord<'a> {
    event: &'static str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

impl<'a> AuditRecord<'a> {
    /// A record of `event` with a word for what came of it.
    #[must_use]
    pub const fn new(event: AuditEvent, outcome: &'a str) -> Self {
        Self { event: event.name(), outcome, user: None, address: None, database: None, detail: None }
    }

    /// Adds the user.
    #[must_use]
    pub fn user(self, user: Option<&'a str>) -> Self {
        Self { user: user.map(cut), ..self }
    }

    /// Adds where the client is.
    #[must_use]
    pub fn address(self, address: IpAddr) -> Self {
        Self { address: Some(address.to_canonical()), ..self }
    }

    /// Adds the database.
    #[must_use]
    pub fn database(self, database: &'a str) -> Self {
        Self { database: Some(cut(database)), ..self }
    }

    /// Adds why, or what exactly.
    #[must_use]
    pub fn detail(self, detail: &'a str) -> Self {
        Self { detail: Some(cut(detail)), ..self }
    }
}

/// Where events are written; nowhere by default.
#[derive(Default)]
pub struct AuditLog {
    writing: Option<Writing>,
    events: AuditEvents,
}

/// How many events there were, by event and outcome.
pub type AuditEvents = Family<[(&'static str, String); 2], Counter>;

struct Writing {
    path: PathBuf,
    lines: SyncSender<Message>,
    /// Events that were left out. Relaxed: it is a count, which the next line takes.
    left_out: AtomicU64,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Message {
    Line(String),
    File(File),
    End,
}

impl AuditLog {
    /// A log that goes on at the end of the file at `path`, which is made, readable by its owner alone, if there is none.
    ///
    /// # Errors
    /// `io` if the file can't be opened, or no thread started.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let (lines, received) = sync_channel(WAITING_MAX);
        let own_path = path.to_owned();
        let thread = thread::Builder::new()
            .name("server-audit".to_owned())
            .spawn(move || write_lines(file, &received, &own_path))
            .map_err(|error| Error::new(ErrorKind::Io, format!("start a thread: {error}")).because(error))?;
        let (left_out, thread) = (AtomicU64::new(0), Mutex::new(Some(thread)));
        let writing = Writing { path: path.to_owned(), lines, left_out, thread };
        Ok(Self { writing: Some(writing), events: AuditEvents::default() })
    }

    /// Writes a record, if there is a log. It waits for nothing.
    pub fn write(&self, record: &AuditRecord<'_>) {
        let labels = [("event", record.event.to_owned()), ("outcome", record.outcome.to_owned())];
        self.events.get_or_create(&labels).inc();
        let Some(writing) = &self.writing else { return };
        let left_out = writing.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            let detail =
                format!("{left_out} events were left out: they came faster than they could be written");
            writing.send(&AuditRecord::new(AuditEvent::Server, "overrun").detail(&detail), left_out);
        }
        writing.send(record, 1);
    }

    /// How many events there were since it was opened, whether or not they are written.
    #[must_use]
    pub fn events(&self) -> &AuditEvents {
        &self.events
    }

    /// Opens the file again: it may have been renamed.
    ///
    /// # Errors
    /// As [`AuditLog::open`]; the log then goes on in the file that it has.
    pub fn reopen(&self) -> Result<()> {
        if let Some(writing) = &self.writing {
            // A thread that is gone has nothing to write.
            let _ = writing.lines.send(Message::File(open(&writing.path)?));
        }
        Ok(())
    }

    /// Writes what waits, and ends.
    pub fn close(&self) {
        let Some(writing) = &self.writing else { return };
        let thread = writing.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = writing.lines.send(Message::End);
            let _ = thread.join();
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

impl Writing {
    fn send(&self, record: &AuditRecord<'_>, events_count: u64) {
        if self.lines.try_send(Message::Line(line(record, SystemTime::now()))).is_err() {
            self.left_out.fetch_add(events_count, Ordering::Relaxed);
        }
    }
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("open the audit log {}: {error}", path.display())).because(error)
    })
}

fn write_lines(mut file: File, received: &Receiver<Message>, path: &Path) {
    let mut has_failed = false;
    while let Ok(message) = received.recv() {
        match message {
            Message::Line(line) => {
                let written = file.write_all(line.as_bytes());
                if let Err(error) = &written
                    && !has_failed
                {
                    // Once, and not by a macro, which panics if nobody reads.
                    let text = format!("warning: write the audit log {}: {error}\n", path.display());
                    let _ = io::stderr().write_all(text.as_bytes());
                }
                has_failed = written.is_err();
            }
            Message::File(next) => file = next,
            Message::End => return,
        }
    }
}

fn line(record: &AuditRecord<'_>, now: SystemTime) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        time: String,
        #[serde(flatten)]
        record: &'a AuditRecord<'a>,
    }
    let json =
        serde_json::to_string(&Line { time: time(now), record }).expect("texts can be written as JSON");
    // Outside of texts JSON has none of these characters.
    let mut line = String::with_capacity(json.len() + 1);
    for letter in json.chars() {
        if needs_escape(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                write!(line, "\\u{unit:04x}").expect("a string takes all that is written to it");
            }
        } else {
            line.push(letter);
        }
    }
    line.push('\n');
    line
}

/// Whether a terminal or an editor might do something else than show the letter.
fn needs_escape(letter: char) -> bool {
    if planted(Bug::ControlCharactersLogged) {
        return false;
    }
    let changes_direction =
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || changes_direction || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

fn time(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    let milliseconds = since.subsec_millis() * 1_000_000;
    DateTime::new(seconds, milliseconds, 0).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(TEXT_LENGTH_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_name_can_neither_begin_a_line_nor_hide_one() {
        let name = "ann\n{\"event\":\"login\"}\r\u{1b}[2J\u{7f}\u{85}\u{9b}2J\u{202e}\u{2028}\"\\ä😀";
        let record = AuditRecord::new(AuditEvent::Login, "refused").user(Some(name)).detail("no");
        let line = line(&record, UNIX_EPOCH);
        assert!(line.starts_with(
            r#"{"time":"1970-01-01T00:00:00Z","event":"login","outcome":"refused","user":"ann\n"#
        ));
        let shown = line.strip_suffix('\n').unwrap();
        assert!(
            shown.chars().all(|letter| !letter.is_control() && letter != '\u{202e}' && letter != '\u{2028}'),
            "{line}"
        );
        let read: serde_json::Value = serde_json::from_str(shown).unwrap();
        assert_eq!(read["user"], name);
    }

    #[test]
    fn lines_are_appended_to_a_file_of_its_owner_alone_that_may_be_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("audit.log"), folder.path().join("audit.log.1"));
        let log = AuditLog::open(&path).unwrap();
        log.write(
            &AuditRecord::new(AuditEvent::Login, "accepted").user(Some("ann")).address([10, 0, 0, 1].into()),
        );
        std::fs::rename(&path, &old).unwrap();
        log.reopen().unwrap();
        log.write(
            &AuditRecord::new(AuditEvent::Login, "accepted").user(Some(&"b".repeat(1000))).database("social"),
        );
        log.close();
        let lines = |path: &Path| std::fs::read_to_string(path).unwrap().lines().count();
        assert_eq!((lines(&old), lines(&path)), (1, 1));
        assert!(std::fs::metadata(&path).unwrap().len() < 600, "long names are cut off");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        AuditLog::default().write(&AuditRecord::new(AuditEvent::Server, "started"));
    }
}
