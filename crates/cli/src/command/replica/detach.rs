//! `evergraph replica detach`: a replica becomes an ordinary database, and its source forgets it.

use crate::command::replica::source_url::SourceUrl;
use crate::command::replica::stop::stop_first;
use crate::context::Context;
use crate::target::FolderParser;
use clap::Args;
use evergraph::FileWork;
use evergraph_replica::follow::detach::detach;
use evergraph_replica::resync::recover;
use evergraph_replica::source::replica_source::ReplicaSource;
use evergraph_replica::status_file;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica detach shop.eg --source postgres://graph@db.example/shop
  evergraph replica detach shop.eg --forget-source

What it does:
  The database keeps its graph, and anybody writes to it from then on. At the
  source the replication slot is dropped, so that its log is not kept any
  longer, and the publication, if the replica made it and nobody else reads it.
  A source that does not answer, or refuses the log-in, is an error, and nothing
  has happened. With --forget-source it is not asked, as when it is gone; what
  is left there is printed with the SQL that drops it. A SLOT THAT IS LEFT KEEPS
  THE SOURCE'S LOG UNTIL ITS DISK IS FULL. The replica must not run: `evergraph
  replica stop`.

Copies:
  A backup, a converted replica and a copied folder name the slot of the
  original, which is dropped through none of them: of a copy in whose folder no
  replica ran, and where the source has confirmed more than the copy has,
  --source is refused. --forget-source makes it an ordinary database.";

/// Arguments of `evergraph replica detach`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct DetachArguments {
    /// The database of the replica.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub database: PathBuf,
    /// The database that it follows, as postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "URL", required_unless_present = "forget_source")]
    pub source: Option<SourceUrl>,
    /// Leave the slot and the publication at the source, which is not asked.
    #[arg(long, conflicts_with = "source")]
    pub forget_source: bool,
}

/// Detaches a replica.
///
/// # Errors
/// `invalid` if the database follows nothing; `busy` if a replica runs; those of a source that does not answer; those of opening
/// and of a commit.
pub fn execute(arguments: &DetachArguments, context: &Context) -> Result<(), Failure> {
    let mut source = arguments.source.as_ref().map(|url| url.source(&context.cancel)).transpose()?;
    recover(&arguments.database)?;
    let path = &arguments.database;
    let database = context.open_for(path, FileWork::Ownership).map_err(|error| stop_first(path, error))?;
    let detached = detach(&database, source.as_mut().map(|source| source as &mut dyn ReplicaSource))?;
    database.close()?;
    status_file::remove(&arguments.database)?;
    let left = detached.left.into_iter().map(|left| LeftReport {
        what: left.what,
        cause: left.cause,
        remedy: left.remedy,
    });
    context.console.summary(&DetachReport {
        database: arguments.database.display().to_string(),
        source: detached.source,
        dropped: detached.dropped,
        left: left.collect(),
    })
}

/// What was detached.
#[derive(Debug, Serialize)]
struct DetachReport {
    database: String,
    /// What it followed.
    source: String,
    /// What was dropped there.
    dropped: Vec<String>,
    left: Vec<LeftReport>,
}

/// What is left at the source.
#[derive(Debug, Serialize)]
struct LeftReport {
    what: String,
    cause: String,
    /// The SQL that drops it.
    remedy: String,
}

impl fmt::Display for DetachReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (database, source) = (visible(&self.database), visible(&self.source));
        writeln!(f, "{database} follows {source} no longer: anybody writes to it")?;
        for what in &self.dropped {
            writeln!(f, "dropped at the source: {}", visible(what))?;
        }
        for LeftReport { what, cause, remedy } in &self.left {
            writeln!(f, "LEFT AT THE SOURCE: {}: {}\n  {}", visible(what), visible(cause), visible(remedy))?;
        }
        Ok(())
    }
}
