//! Interrupt: Ctrl-C and SIGTERM ask what is running to stop; a second one doesn't wait.
//!
//! SIGHUP is left alone: it ends the program as ever, and under `nohup` it doesn't.

use crate::terminal::console::Console;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::process;
use std::thread;

/// Listens to Ctrl-C and SIGTERM from now on, in a thread of its own: the first one sets the flag, the
/// second one ends the process at once with 130, which the first one says. A database is left as after a
/// crash then, which is to say, with all that was committed.
///
/// # Errors
/// `io` if the system refuses to tell of signals, or a thread.
pub fn listen(console: &Console) -> Result<CancelFlag> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Io, format!("listen to Ctrl-C and SIGTERM: {error}")).because(error)
    };
    let cancel = CancelFlag::default();
    let (flag, console) = (cancel.clone(), *console);
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let wait = move || {
        for _ in signals.forever() {
            if flag.is_cancelled() {
                process::exit(i32::from(ErrorKind::Cancelled.exit_code()));
            }
            flag.cancel();
            console.note_on_terminal("stopping; Ctrl-C again doesn't wait for it");
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(cancel)
}
