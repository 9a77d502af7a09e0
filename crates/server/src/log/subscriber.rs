//! Subscriber: writes events of this process as lines, until it is closed.

use crate::log::format::{LogFormat, event_line, note_line};
use crate::log::line_writer::{LineWriter, Output};
use crate::log::target;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::Registry;

/// How long the end of the log may take, if nobody reads it.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// Which events are written, and how.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// In which form.
    pub format: LogFormat,
    /// Down to which level.
    pub level: LevelFilter,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { format: LogFormat::default(), level: LevelFilter::INFO }
    }
}

/// The log of this process.
pub struct Log {
    writer: Arc<LineWriter>,
}

impl Log {
    /// Writes events of Evergraph to `output` from now on, by a thread of its own. Those of other
    /// crates are left out, since they may hold what clients sent.
    ///
    /// # Errors
    /// `invalid` if the process has a log already, `io` if the system refuses a thread.
    pub fn start(options: LogOptions, output: Output) -> Result<Self> {
        let started = LineWriter::start("server-log", output, |_| ());
        let writer =
            Arc::new(started.map_err(|error| {
                Error::new(ErrorKind::Io, format!("start a thread: {error}")).because(error)
            })?);
        let lines = Lines { options, writer: Arc::clone(&writer) };
        set_global_default(Registry::default().with(lines))
            .map_err(|error| Error::invalid(format!("start the log: {error}")).because(error))?;
        Ok(Self { writer })
    }

    /// Writes what waits, and ends.
    pub fn close(&self) {
        self.writer.close(CLOSE_TIME);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.close();
    }
}

/// Turns events into lines.
struct Lines {
    options: LogOptions,
    writer: Arc<LineWriter>,
}

impl Lines {
    fn is_wanted(&self, metadata: &Metadata<'_>) -> bool {
        let is_ours = metadata.target().split("::").next() == Some(target::PREFIX);
        is_ours && metadata.is_event() && *metadata.level() <= self.options.level
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.is_wanted(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        self.is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.options.level)
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let (format, now) = (self.options.format, SystemTime::now());
        self.writer.write(event_line(format, event, now), |left_out| {
            let note = "records were left out: they came faster than they could be written";
            note_line(format, note, ("left_out", left_out), now)
        });
    }
}
