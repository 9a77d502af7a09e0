//! Context: what every command is given besides its own arguments.

use crate::open::refuse_file;
use evergraph::{Database, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, Result};
use evergraph_terminal::console::Console;
use evergraph_terminal::interrupt::Interrupt;
use std::path::Path;

/// What every command is given.
#[derive(Debug)]
pub struct Context {
    /// Where results, progress and errors go.
    pub console: Console,
    /// What Ctrl-C sets.
    pub cancel: CancelFlag,
    /// Where a command that asks a person gets a flag for each answer.
    pub interrupt: Interrupt,
    /// Threads to work on; 0 for as many as there are cores.
    pub threads: usize,
    /// How databases are opened: durability and memory as the user set them.
    pub options: Options,
    /// Which options of this call itself are about a database that it opens, such as `--memory-limit`. What a settings file or a
    /// variable says holds for many calls, and is meant for those.
    pub opening_options: Vec<&'static str>,
}

impl Context {
    /// Refuses options that are about a database that the call opens, for one that has a URL.
    ///
    /// # Errors
    /// `invalid`, by the option.
    pub fn refuse_opening_options(&self) -> Result<()> {
        let Some(option) = self.opening_options.first() else { return Ok(()) };
        Err(Error::invalid(format!(
            "{option} has no effect on a server, which opened the database itself: leave it out, and give it to `evergraph serve`"
        )))
    }

    /// Opens the database at `path` as the user set it; a misspelt path makes no new one.
    ///
    /// # Errors
    /// As [`crate::open::open`].
    pub fn open(&self, path: &Path) -> Result<Database> {
        refuse_file(path)?;
        Database::open_with(path, &Options { create: false, ..self.options.clone() })
    }
}
