//! Interrupt: Ctrl-C and SIGTERM ask what is running to stop; a second one doesn't wait.
//!
//! Where the program waits for a person at a terminal, nothing is running: a line editor reads Ctrl-C as a key, SIGTERM
//! ends the waiting, and what runs after it has a flag of its own.
//!
//! SIGHUP is left alone, unless a command asks for it: it ends the program as ever, and under `nohup` it doesn't.

use crate::console::Console;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::io;
use std::process;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often, and how many times, who waits for a person is woken.
const WAKE_EVERY: Duration = Duration::from_millis(20);
const WAKES_MAX: usize = 100;

/// What Ctrl-C and SIGTERM have asked for. Clones are one.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Of what is running.
    flag: CancelFlag,
    /// Whether nothing is, until a person has said what.
    is_waiting: bool,
    /// Whether SIGTERM came.
    is_ending: bool,
    /// Whether that ended the waiting, so that SIGINT is our own.
    has_woken: bool,
}

impl Interrupt {
    /// The flag of what is running now.
    #[must_use]
    pub fn flag(&self) -> CancelFlag {
        self.state().flag.clone()
    }

    /// Whether the program was asked to end, and not only what it was doing.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.state().is_ending
    }

    /// Does `wait`, in which nothing is running that could be stopped. What runs afterwards has a new flag.
    pub fn while_waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.state().is_waiting = true;
        let done = wait();
        let mut state = self.state();
        state.is_waiting = false;
        if !state.is_ending {
            state.flag = CancelFlag::default();
        }
        done
    }

    /// Ends the waiting by SIGINT: a line editor that is reading takes it, and gives the terminal back as it was. To the
    /// process, since its main thread has to wake up from the read; and again, since one that comes just before the
    /// read wakes nobody.
    fn wake(&self) {
        for _ in 0..WAKES_MAX {
            if !self.state().is_waiting {
                return;
            }
            let _ = kill(Pid::this(), Signal::SIGINT);
            thread::sleep(WAKE_EVERY);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, signal: i32, console: &Console) {
        let mut state = self.state();
        if signal == SIGINT && (state.is_waiting || state.has_woken) {
            return;
        }
        if state.flag.is_cancelled() {
            process::exit(i32::from(ErrorKind::Cancelled.exit_code()));
        }
        state.flag.cancel();
        state.is_ending |= signal == SIGTERM;
        if state.is_waiting {
            state.has_woken = true;
            drop(state);
            self.wake();
        } else {
            console.note_on_terminal("stopping; Ctrl-C again ends at once");
        }
    }
}

/// Listens to Ctrl-C and SIGTERM from now on, in a thread of its own: the first one sets the flag, the
/// second one ends the process at once with 130, which the first one says. A database is left as after a
/// crash then, which is to say, with all that was committed.
///
/// # Errors
/// `io` if the system refuses to tell of signals, or a thread.
pub fn listen(console: &Console) -> Result<Interrupt> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Io, format!("listen to Ctrl-C and SIGTERM: {error}")).because(error)
    };
    let interrupt = Interrupt::default();
    let (told, console) = (interrupt.clone(), *console);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let wait = move || signals.forever().for_each(|signal| told.signal(signal, &console));
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(interrupt)
}

/// A flag that SIGHUP sets from now on, in place of ending the program.
///
/// # Errors
/// `io` if the system refuses to tell of signals.
pub fn on_hang_up() -> Result<Arc<AtomicBool>> {
    let hung_up = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, Arc::clone(&hung_up))
        .map_err(|error| Error::new(ErrorKind::Io, format!("listen to SIGHUP: {error}")).because(error))?;
    Ok(hung_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_after_waiting_has_a_flag_of_its_own() {
        let (interrupt, console) = (Interrupt::default(), Console::default());
        let first = interrupt.flag();
        interrupt.signal(SIGINT, &console);
        assert!(first.is_cancelled() && interrupt.flag().is_cancelled());
        // Nothing is running here.
        interrupt.while_waiting(|| interrupt.signal(SIGINT, &console));
        assert!(!interrupt.flag().is_cancelled() && !interrupt.is_ending());
        interrupt.signal(SIGTERM, &console);
        assert!(interrupt.flag().is_cancelled() && interrupt.is_ending());
        interrupt.while_waiting(|| ());
        assert!(interrupt.flag().is_cancelled(), "the end is still to come");
    }
}
