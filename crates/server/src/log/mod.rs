//! Log: what whoever runs the server should know, as lines of text or JSON.
//!
//! ```text
//! tracing::info!(target: target::SERVER, ...) ──> subscriber ── format ──> line_writer ──> standard error
//! a panic ──> defects ─────────────────────────────────^                        ^
//! audit log ───────────────────────────────────────────────────────────────────┘ (a file)
//! ```
//!
//! The server only makes events. A program that wants them as lines starts a [`Log`](subscriber::Log), or installs a
//! subscriber of its own.
//!
//! - [`target`]: what events are about
//! - [`mod@line`]: times and escapes of all lines, those of the audit log as well
//! - [`line_writer`]: a thread that writes, so that nobody waits for a slow reader
//! - [`format`](mod@format), [`subscriber`], [`defects`]: events and panics as lines

pub mod defects;
pub mod format;
pub mod line;
pub mod line_writer;
pub mod subscriber;
pub mod target;
