//! Interrupt: Ctrl-C asks what is running to stop; a second one doesn't wait.

use crate::terminal::console::Console;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::process;

/// Listens to Ctrl-C from now on: the first one sets the flag, the second one ends the process at once
/// with 130, which the first one says. A database is left as after a crash then, which is to say, with all that was committed.
///
/// # Errors
/// `io` if the system refuses to tell of signals.
pub fn listen(console: &Console) -> Result<CancelFlag> {
    let cancel = CancelFlag::default();
    let (flag, console) = (cancel.clone(), *console);
    ctrlc::set_handler(move || {
        if flag.is_cancelled() {
            process::exit(i32::from(ErrorKind::Cancelled.exit_code()));
        }
        flag.cancel();
        console.note_on_terminal("stopping; Ctrl-C again doesn't wait for it");
    })
    .map_err(|error| Error::new(ErrorKind::Io, format!("listen to Ctrl-C: {error}")).because(error))?;
    Ok(cancel)
}
