//! `evergraph replica resync`: the tables are copied anew, beside the old database, which is read until the new one takes its
//! place.
//!
//! Called again after a crash or a busy swap, it goes on: see [`evergraph_replica::resync`] for what folders are there when.

use crate::command::replica::copy_meter;
use crate::command::replica::run::{FollowingArguments, forget, open, open_existing, stop, wait};
use crate::context::Context;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::Database;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::copy::options::CopyProgress;
use evergraph_replica::follow::detach::{detach, take_over_publication};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::resync::{new_folder, recover, swap};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::status_file::read;
use evergraph_report::disk_size::disk_bytes;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{size, time};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica resync shop.eg --source postgres://graph@db.example/shop --mapping shop.toml

What it does:
  It copies the tables into a new database beside the old one (shop.eg.resync), with a
  slot of its own, and puts that in the place of the old one, whose slot is dropped.
  Until then the old one can be read, as by evergraph serve; for the swap nobody may
  have it open. It is the way out of a pause that says so, and the way to another
  mapping. Called again after a crash or a busy swap, it goes on from there. It needs
  the disk space of both.";

/// Arguments of `evergraph replica resync`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ResyncArguments {
    /// The database of the replica.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub database: PathBuf,
    /// What it follows from now on.
    #[command(flatten)]
    pub following: FollowingArguments,
}

/// Copies anew, and swaps.
///
/// # Errors
/// Those of the check, the source and the copy, after which the old database is as it was; `busy` if somebody has it open at
/// the swap.
pub fn execute(arguments: &ResyncArguments, context: &Context) -> std::result::Result<(), Failure> {
    let path = &arguments.database;
    refuse_file(path)?;
    recover(path)?;
    let new = new_folder(path)?;
    if !path.exists() {
        let text = format!("there is no {}: `evergraph replica run` makes it", path.display());
        return Err(Error::new(ErrorKind::NotFound, text).into());
    }
    let began = Instant::now();
    let mut options = arguments.following.options(path)?;
    if options.publication.is_none()
        && let Ok(Some(before)) = read(path)
    {
        options.publication = Some(before.status.publication);
    }
    let source = arguments.following.source.source(&context.cancel)?;
    let (database, is_new) = open(&new, &arguments.following, context)?;
    let meter = context.console.meter();
    let progress = |progress: &CopyProgress| copy_meter::tell(&meter, progress);
    let started =
        Replica::start(database.clone(), Box::new(source.clone()), options, &progress, &context.cancel);
    let replica = match started {
        Ok(replica) => Arc::new(replica),
        Err(error) => {
            let closed = database.close();
            drop(database);
            if is_new {
                forget(&new)?;
            }
            closed?;
            return Err(error.into());
        }
    };
    // What was committed during the copy is here as well.
    let caught_up = replica.source_position().and_then(|end| wait(&replica, end, context, &meter));
    let position = replica.status().position.to_string();
    drop(meter);
    stop(replica)?;
    let given_up = caught_up.and_then(|()| give_up(path, &arguments.following, source, &database, context));
    database.close()?;
    drop(database);
    given_up?;
    swap(path)?;
    context.console.summary(&ResyncReport {
        database: path.display().to_string(),
        position,
        disk_bytes: disk_bytes(path)?,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Lets `new` have what the old database at `path` made at the source, which forgets that one. An old one that follows nothing,
/// as after a crash behind this, has nothing to give up.
fn give_up(
    path: &Path,
    following: &FollowingArguments,
    mut source: PostgresSource,
    new: &Database,
    context: &Context,
) -> Result<()> {
    let replaced = open_existing(path, following, context).map_err(|error| {
        error.context(format!(
            "{} is complete; call this again when nobody has the old one open",
            new_folder(path).map_or_else(|_| "the new database".to_owned(), |new| new.display().to_string())
        ))
    })?;
    let left = match replaced.source() {
        Some(_) => take_over_publication(new, &replaced)
            .and_then(|()| detach(&replaced, Some(&mut source)).map(|detached| detached.left)),
        None => Ok(Vec::new()),
    };
    replaced.close()?;
    // The publication is the new one's as well.
    for left in left?.into_iter().filter(|left| left.what.contains("slot")) {
        context.console.note(format!("left at the source: {}: {}; {}", left.what, left.cause, left.remedy));
    }
    Ok(())
}

/// What was copied anew.
#[derive(Debug, Serialize)]
struct ResyncReport {
    database: String,
    position: String,
    disk_bytes: u64,
    seconds: f64,
}

impl fmt::Display for ResyncReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let took = time(Duration::from_secs_f64(self.seconds));
        let (database, disk) = (visible(&self.database), size(self.disk_bytes));
        writeln!(
            f,
            "{database} was copied anew in {took}, and has what the source had at {}: {disk}",
            self.position
        )?;
        writeln!(f, "`evergraph replica run {database}` goes on from there")
    }
}
