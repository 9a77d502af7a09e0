//! Execute: which subcommand of `evergraph replica` runs.

use crate::command::replica::{check, detach, propose, resync, run, status, stop, verify};
use crate::context::Context;
use clap::{Args, Subcommand};
use evergraph_terminal::failure::Failure;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  evergraph replica propose postgres://graph@db.example/shop -o shop.toml
  evergraph replica check postgres://graph@db.example/shop --mapping shop.toml
  evergraph replica run shop.eg --source postgres://graph@db.example/shop --mapping shop.toml
  evergraph replica status shop.eg
  evergraph replica stop shop.eg

From rows to a graph:
  propose writes a mapping, a file that says what the rows of each table become;
  look it over. check says what stands in the way at the source, with the SQL
  that mends it. run copies the tables and then follows: each transaction of the
  source is one commit of the graph, some milliseconds later. evergraph serve
  follows, too.

The source:
  A URL as PostgreSQL's own clients take it; what it leaves out comes from
  PGHOST, PGPORT, PGUSER, PGDATABASE, PGSSLMODE and PGSSLROOTCERT, then from the
  defaults.
    postgres://graph@db.example/shop?sslmode=verify-full
    postgres:///shop?host=/var/run/postgresql
  A password is in PGPASSWORD or in ~/.pgpass, never in a URL, which other users
  of the machine see and logs keep.";

/// Arguments of `evergraph replica`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ReplicaArguments {
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with a PostgreSQL database.
#[derive(Subcommand, Debug)]
pub enum Action {
    /// Write a mapping from the keys of a PostgreSQL database.
    Propose(propose::ProposeArguments),
    /// Show what stands in the way of following a PostgreSQL database by a mapping, and the SQL that mends it.
    Check(check::CheckArguments),
    /// Follow a PostgreSQL database: copy its tables, then apply its transactions as they are committed.
    Run(run::RunArguments),
    /// Show how a replica is: what it does, how far behind it is, what it left out.
    Status(status::StatusArguments),
    /// Ask the process that follows to stop, and wait until it has.
    Stop(stop::StopArguments),
    /// Compare a replica's graph with the rows of its source.
    Verify(verify::VerifyArguments),
    /// Copy the tables anew, beside the old database, and take its place.
    Resync(resync::ResyncArguments),
    /// Make a replica an ordinary database, and let its source forget it.
    Detach(detach::DetachArguments),
}

/// Does it.
///
/// # Errors
/// Those of the action.
pub fn execute(arguments: &ReplicaArguments, context: &Context) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Action::Propose(arguments) => propose::execute(arguments, context)?,
        Action::Check(arguments) => return check::execute(arguments, context),
        Action::Run(arguments) => return run::execute(arguments, context),
        Action::Status(arguments) => return status::execute(arguments, context),
        Action::Stop(arguments) => stop::execute(arguments, context)?,
        Action::Verify(arguments) => return verify::execute(arguments, context),
        Action::Resync(arguments) => resync::execute(arguments, context)?,
        Action::Detach(arguments) => detach::execute(arguments, context)?,
    }
    Ok(ExitCode::SUCCESS)
}
