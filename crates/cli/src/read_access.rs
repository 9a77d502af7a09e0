//! Read access: how commands that only read open a database, also while another process writes it.
//!
//! | another process | the engine | what a command does |
//! |---|---|---|
//! | has it not open | any | opens it as every command does |
//! | writes it | mapped | reads what that process commits, and notes so |
//! | writes it | memory, disk | fails as `busy`, and says what helps |

use crate::context::Context;
use crate::open::refuse_file;
use clap::Args;
use evergraph::{Database, EngineKind};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_terminal::table::visible;
use std::path::Path;

/// How a database is opened that is only read.
#[derive(Args, Clone, Copy, Debug)]
pub struct ReadAccessArguments {
    /// Open the database to read only, so that other processes can open it to write meanwhile; it must be one of the
    /// mapped engine. Without this option a command does so by itself if another process has such a database open.
    #[arg(long)]
    pub read_only: bool,
}

impl ReadAccessArguments {
    /// Opens the database at `path`.
    ///
    /// # Errors
    /// As [`Context::open`] and [`Database::open_reader`].
    pub fn open(self, path: &Path, context: &Context) -> Result<Database> {
        if self.read_only {
            refuse_file(path)?;
            return Database::open_reader_with(path, &context.options);
        }
        match context.open(path) {
            Err(busy) if busy.kind() == ErrorKind::Busy => beside_writer(path, busy, context),
            opened => opened,
        }
    }

    /// Refuses the option for a database that has a URL.
    ///
    /// # Errors
    /// `invalid`, by the option.
    pub fn refuse(self) -> Result<()> {
        match self.read_only {
            true => Err(Error::invalid(
                "--read-only is about a folder; what a user of a server may write is decided by the user's role",
            )),
            false => Ok(()),
        }
    }
}

/// The database at `path`, which another process has open, as `busy` says.
fn beside_writer(path: &Path, busy: Error, context: &Context) -> Result<Database> {
    if Database::engine_at(path)? != EngineKind::Mapped {
        let shown = path.display();
        let text = format!(
            "{busy}. Other processes read a database meanwhile if it is served there (`evergraph serve`), or if it has the \
             mapped engine: `evergraph convert {shown} NEW --engine mapped` writes such a one"
        );
        return Err(Error::new(ErrorKind::Busy, text).because(busy));
    }
    let database = Database::open_reader_with(path, &context.options)?;
    let writer = database.writer_process();
    let writer = writer.map_or_else(|| "another process".to_owned(), |writer| format!("process {writer}"));
    let shown = path.display().to_string();
    context.console.note(format!("{} is open in {writer}: reading what it commits", visible(&shown)));
    Ok(database)
}
