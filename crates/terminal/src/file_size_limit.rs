//! File size limit: a write beyond what the process may have of a file (`ulimit -f`) fails with an error that names the file, in
//! place of ending the program without a word.

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;
use std::io;
use std::sync::Arc;

/// Lets writes beyond the limit fail from now on. Only for a whole program: its libraries decide nothing about signals.
///
/// # Errors
/// What the system says when it takes no handler for SIGXFSZ: the program ends then as it would have before.
pub fn fail_beyond_limit() -> io::Result<()> {
    // A handler, since programs that this one starts would inherit that the signal is ignored.
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}
