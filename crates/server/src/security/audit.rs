//! Audit log: who logged in, what was refused, and which roles changed, as lines of JSON.
//!
//! ```text
//! {"time":"2026-11-24T12:00:00.123Z","event":"login","outcome":"refused","user":"ann","address":"10.0.0.7", ...}
//! ```
//!
//! It holds no password and no text of a query. Control characters, and those that change the direction of a text, are
//! escaped, so that a name can neither begin a line nor hide one. Lines are written by a thread of their own. If the disk
//! is slower than events come, the newest are left out, and a line says how many.

use crate::log::line::{cut, escaped, timestamp};
use crate::log::line_writer::LineWriter;
use crate::log::target;
use evergraph_graph::error::{Error, ErrorKind, Result};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long the last lines may wait for the disk when the log ends.
const CLOSE_TIME: Duration = Duration::from_secs(10);
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
    /// A database, an index, a query, a job or a user was changed by HTTP, or was to be.
    Administration,
    /// A job ended.
    Job,
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
            Self::Administration => "administration",
            Self::Job => "job",
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
        Self { user: user.map(short), ..self }
    }

    /// Adds where the client is.
    #[must_use]
    pub fn address(self, address: IpAddr) -> Self {
        Self { address: Some(address.to_canonical()), ..self }
    }

    /// Adds the database.
    #[must_use]
    pub fn database(self, database: &'a str) -> Self {
        Self { database: Some(short(database)), ..self }
    }

    /// Adds why, or what exactly.
    #[must_use]
    pub fn detail(self, detail: &'a str) -> Self {
        Self { detail: Some(short(detail)), ..self }
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
    lines: LineWriter,
}

impl AuditLog {
    /// A log that goes on at the end of the file at `path`, which is made, readable by its owner alone, if there is none.
    ///
    /// # Errors
    /// `io` if the file can't be opened, or no thread started.
    pub fn open(path: &Path) -> Result<Self> {
        let (file, own_path) = (open(path)?, path.to_owned());
        let failed = move |error: &io::Error| {
            let file = own_path.display();
            tracing::error!(target: target::LOG, "write the audit log {file}: {error}");
        };
        let lines = LineWriter::start("server-audit", Box::new(file), failed)
            .map_err(|error| Error::new(ErrorKind::Io, format!("start a thread: {error}")).because(error))?;
        let writing = Writing { path: path.to_owned(), lines };
        Ok(Self { writing: Some(writing), events: AuditEvents::default() })
    }

    /// Writes a record, if there is a log. It waits for nothing.
    pub fn write(&self, record: &AuditRecord<'_>) {
        let labels = [("event", record.event.to_owned()), ("outcome", record.outcome.to_owned())];
        self.events.get_or_create(&labels).inc();
        let Some(writing) = &self.writing else { return };
        writing.lines.write(line(record, SystemTime::now()), |left_out| {
            let detail =
                format!("{left_out} events were left out: they came faster than they could be written");
            line(&AuditRecord::new(AuditEvent::Server, "overrun").detail(&detail), SystemTime::now())
        });
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
            writing.lines.replace(Box::new(open(&writing.path)?));
        }
        Ok(())
    }

    /// Writes what waits, and ends.
    pub fn close(&self) {
        if let Some(writing) = &self.writing {
            writing.lines.close(CLOSE_TIME);
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.close();
    }
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("open the audit log {}: {error}", path.display())).because(error)
    })
}

fn line(record: &AuditRecord<'_>, now: SystemTime) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        time: String,
        #[serde(flatten)]
        record: &'a AuditRecord<'a>,
    }
    let json =
        serde_json::to_string(&Line { time: timestamp(now), record }).expect("texts can be written as JSON");
    // Outside of texts JSON has none of the characters that are escaped.
    format!("{}\n", escaped(&json))
}

fn short(text: &str) -> &str {
    cut(text, TEXT_LENGTH_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::UNIX_EPOCH;

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
