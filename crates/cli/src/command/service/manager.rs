//! Manager: what the service manager (systemd) is told of a server.
//!
//! | message | when |
//! |---|---|
//! | `READY=1` | the server listens; and again once files were read again |
//! | `RELOADING=1`, `MONOTONIC_USEC` | SIGHUP came: files are read again |
//! | `WATCHDOG=1` | twice in the time that systemd waits, as long as the server works |
//! | `STOPPING=1` | it stops |
//! | `EXTEND_TIMEOUT_USEC` | it is starting, and has just come a step further: `TimeoutStartSec` does not end it for five minutes more |
//! | `STATUS` | what it does, in words |
//!
//! They are datagrams to the socket that `NOTIFY_SOCKET` names; without that variable nothing is sent.
//!
//! Source: `sd_notify(3)` of systemd.

use evergraph_server::log::target;
use sd_notify::NotifyState;
use std::env;
use std::time::{Duration, Instant};

/// How long a start may take after it has come a step further, whatever the unit says.
const START_EXTENSION: Duration = Duration::from_secs(300);

/// The service manager, if there is one.
#[derive(Debug)]
pub struct ServiceManager {
    is_there: bool,
    /// In this time it wants a sign of life.
    watchdog: Option<Duration>,
    signed: Instant,
}

impl ServiceManager {
    /// The one that started this process, as the environment says.
    #[must_use]
    pub fn of_environment() -> Self {
        let is_there = env::var_os("NOTIFY_SOCKET").is_some();
        let watchdog = sd_notify::watchdog_enabled().filter(|time| is_there && !time.is_zero());
        Self { is_there, watchdog, signed: Instant::now() }
    }

    /// Whether somebody is told, and may send SIGHUP to have files read again.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.is_there
    }

    /// Tells what the server does, in words, while it is not ready.
    pub fn status(&self, text: &str) {
        self.tell(&[NotifyState::Status(text)]);
    }

    /// Tells that the server has come a step further, in words, and is not ready yet: a start that goes on is not ended for how long it
    /// takes.
    pub fn starting_on(&self, text: &str) {
        let extension = u32::try_from(START_EXTENSION.as_micros()).unwrap_or(u32::MAX);
        self.tell(&[NotifyState::ExtendTimeoutUsec(extension), NotifyState::Status(text)]);
    }

    /// Tells that the server accepts connections.
    pub fn ready(&self, status: &str) {
        self.tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Tells that files are read again; [`ServiceManager::ready`] ends it.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => self.tell(&[NotifyState::Reloading, now, NotifyState::Status("reading files again")]),
            Err(error) => tracing::warn!(target: target::SERVER, "read the monotonic clock: {error}"),
        }
    }

    /// Tells that the server stops.
    pub fn stopping(&self) {
        self.tell(&[NotifyState::Stopping, NotifyState::Status("stopping: requests are finished")]);
    }

    /// Gives a sign of life, if it is time and the server swept its connections not long ago.
    pub fn sign_of_life(&mut self, since_sweep: Duration) {
        let Some(time) = self.watchdog else { return };
        if self.signed.elapsed() >= time / 4 && since_sweep < time / 2 {
            self.signed = Instant::now();
            self.tell(&[NotifyState::Watchdog]);
        }
    }

    fn tell(&self, states: &[NotifyState<'_>]) {
        if !self.is_there {
            return;
        }
        if let Err(error) = sd_notify::notify(states) {
            tracing::warn!(target: target::SERVER, "tell the service manager: {error}");
        }
    }
}
