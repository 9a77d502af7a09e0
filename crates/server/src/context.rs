//! Context: what every command is given besides its own arguments.

use crate::terminal::console::Console;
use evergraph_graph::cancel::CancelFlag;

/// What every command is given.
#[derive(Debug)]
pub struct Context {
    /// Where results, progress and errors go.
    pub console: Console,
    /// What Ctrl-C sets.
    pub cancel: CancelFlag,
    /// Threads to work on; 0 for as many as there are cores.
    pub threads: usize,
}
