//! Context: what every command is given besides its own arguments.

use crate::open::refuse_file;
use evergraph::path::DatabasePath;
use evergraph::{Database, FileWork, Options};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_terminal::console::Console;
use evergraph_terminal::interrupt::Interrupt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often it is looked whether a node is open, or is to end.
const OPENING_INTERVAL: Duration = Duration::from_millis(20);

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
    /// As [`crate::open::open`]; `cancelled` while a node of a cluster waits for its log.
    pub fn open(&self, path: &Path) -> Result<Database> {
        refuse_file(path)?;
        let options = Options { create: false, ..self.options.clone() };
        match DatabasePath::of(path)? {
            DatabasePath::Folder(_) => Database::open_with(path, &options),
            DatabasePath::Node(_) => self.open_node(path.to_owned(), options),
        }
    }

    /// As [`Context::open`], for `work` on its files.
    ///
    /// # Errors
    /// The same; `invalid` for a node of a cluster, which is not opened.
    pub fn open_for(&self, path: &Path, work: FileWork) -> Result<Database> {
        DatabasePath::of(path)?.check_work(work)?;
        self.open(path)
    }

    /// Opens a node of a cluster, which may wait for its log for long: a signal ends that.
    fn open_node(&self, path: PathBuf, options: Options) -> Result<Database> {
        let opening = thread::Builder::new().name("opening".to_owned());
        let opening = opening.spawn(move || Database::open_with(path, &options)).map_err(|error| {
            Error::new(ErrorKind::Io, format!("start a thread that opens the node: {error}")).because(error)
        })?;
        while !opening.is_finished() {
            self.cancel.check()?;
            thread::sleep(OPENING_INTERVAL);
        }
        opening.join().map_err(|_| Error::new(ErrorKind::Io, "opening the node has panicked"))?
    }
}
