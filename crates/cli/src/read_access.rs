//! Read access: how commands that only read open a database, also while another process writes it.
//!
//! | another process | this user | the engine | what a command does |
//! |---|---|---|---|
//! | has it not open | may write `lock` | any | opens it as every command does |
//! | has it open | | mapped | reads what that process commits, and notes so |
//! | has it open | | memory, disk, a cluster's | fails as `busy`, and says what helps |
//! | | may not write `lock` | mapped | reads, and notes so |
//! | | may not write `lock` | memory, disk | fails as `io` |

use crate::context::Context;
use crate::open::refuse_file;
use clap::Args;
use evergraph::path::DatabasePath;
use evergraph::{Database, EngineKind};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::error::{IoError, Operation};
use evergraph_storage::transaction::front::ReadOnlyStore;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use std::io;
use std::path::Path;

/// How a database is opened that is only read.
#[derive(Args, Clone, Copy, Debug)]
pub struct ReadAccessArguments {
    /// Open the database to read only, so that other processes can open it to write meanwhile; it must be one of the
    /// mapped engine. Without this option a command does so by itself if another process has such a database open, or if
    /// you have no permission to write its file `lock`.
    #[arg(long)]
    pub read_only: bool,
}

impl ReadAccessArguments {
    /// Opens the database at `path`, for a command that changes nothing.
    ///
    /// # Errors
    /// As [`Context::open`] and [`Database::open_reader`].
    pub fn open(self, path: &Path, context: &Context) -> Result<Database> {
        self.open_to_ask(path, context).map(|(database, _)| database)
    }

    /// Opens the database at `path`, for a command that may be asked to change it: with what it then says if it could not open
    /// the database to write. Who asked for [`ReadAccessArguments::read_only`] is told by the database itself.
    ///
    /// # Errors
    /// As [`ReadAccessArguments::open`].
    pub fn open_to_ask(self, path: &Path, context: &Context) -> Result<(Database, Option<WriteRefusal>)> {
        if self.read_only {
            refuse_file(path)?;
            return Ok((Database::open_reader_with(path, &context.options)?, None));
        }
        match context.open(path) {
            Err(busy) if busy.kind() == ErrorKind::Busy => {
                let (database, refusal) = beside_writer(path, busy, context)?;
                Ok((database, Some(refusal)))
            }
            Err(refused) if may_not_lock(&refused) && is_mapped(path) => {
                let (database, refusal) = without_permission(path, &refused, context)?;
                Ok((database, Some(refusal)))
            }
            opened => opened.map(|database| (database, None)),
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

/// What a change is told in a command that could open its database only to read.
#[derive(Clone, Debug)]
pub struct WriteRefusal {
    kind: ErrorKind,
    text: String,
}

impl WriteRefusal {
    /// `failure` as it is, unless it is the refusal of a change: that has the reason why the database is only read.
    #[must_use]
    pub fn explain(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Error(error) if error.cause::<ReadOnlyStore>().is_some() => {
                Error::new(self.kind, self.text.clone()).into()
            }
            other => other,
        }
    }
}

/// Whether the database's lock can't be taken for want of permission.
fn may_not_lock(refused: &Error) -> bool {
    matches!(
        refused.cause::<IoError>(),
        Some(IoError::Failed { operation: Operation::Lock, source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied
    )
}

/// Whether others can read the database at `path`. Where that is not known, the first error tells more.
fn is_mapped(path: &Path) -> bool {
    Database::engine_at(path).is_ok_and(|engine| engine == EngineKind::Mapped)
}

/// The database at `path`, whose lock this user may not write, as `refused` says.
fn without_permission(path: &Path, refused: &Error, context: &Context) -> Result<(Database, WriteRefusal)> {
    let database = Database::open_reader_with(path, &context.options)?;
    let shown = path.display().to_string();
    context.console.note(format!("{}: no permission to write it; reading only", visible(&shown)));
    let text = format!("{refused}. Without permission to write there {shown} is only read");
    Ok((database, WriteRefusal { kind: ErrorKind::Io, text }))
}

/// The database at `path`, which another process has open, as `busy` says.
fn beside_writer(path: &Path, busy: Error, context: &Context) -> Result<(Database, WriteRefusal)> {
    let shown = path.display().to_string();
    if matches!(DatabasePath::of(path), Ok(DatabasePath::Node(_))) {
        let text = format!("{busy}: by the URL of its server, such as ws://localhost");
        return Err(Error::new(ErrorKind::Busy, text).because(busy));
    }
    if Database::engine_at(path)? != EngineKind::Mapped {
        let text = format!(
            "{busy}. Other processes read a database meanwhile if it is served there (`evergraph serve`), or if it has the \
             mapped engine: `evergraph convert {shown} NEW --engine mapped` writes such a one"
        );
        return Err(Error::new(ErrorKind::Busy, text).because(busy));
    }
    let database = Database::open_reader_with(path, &context.options)?;
    let writer = database.writer_process();
    let writer = writer.map_or_else(|| "another process".to_owned(), |writer| format!("process {writer}"));
    context.console.note(format!("{} is open in {writer}: reading what it commits", visible(&shown)));
    let text = format!(
        "{shown} was open in {writer} when this command opened it, so that it is only read here: change it through that \
         process, or close it there and run this command again"
    );
    Ok((database, WriteRefusal { kind: ErrorKind::Busy, text }))
}
