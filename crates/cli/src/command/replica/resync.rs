//! `evergraph replica resync`: the tables are copied anew, beside the old database, which is read until the new one takes its
//! place.
//!
//! Called again after a crash or a busy swap, it goes on: see [`evergraph_replica::resync`] for what folders are there when.
//!
//! ```text
//! shop.eg.resync of a call before:  follows as this call says, and can          goes on
//!                                   another mapping, its slot is gone ...       given up at the source, removed, copied anew
//! ```

use crate::command::replica::copy_meter::CopyMeter;
use crate::command::replica::run::{
    FollowingArguments, close_failed, forget, open, open_existing, stop, wait,
};
use crate::command::replica::stop::stop_first;
use crate::context::Context;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::{Database, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::copy::options::CopyProgress;
use evergraph_replica::follow::detach::{
    Detached, abandon, check_replica, check_slot, take_over_publication,
};
use evergraph_replica::follow::options::ReplicaOptions;
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::resync::{check_room, new_folder, swap};
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::status_file::{ReplicaLife, read};
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
  It copies the tables into a new database beside the old one (shop.eg.resync),
  with a slot of its own, and puts that in the place of the old one, whose slot
  is dropped. Until then the old one can be read, as by evergraph serve; for the
  swap nobody may have it open. It is the way out of a pause that says so, and
  the way to another mapping. Called again after a crash or a busy swap, it goes
  on from there, or begins anew if the copy of before follows by another mapping
  or cannot be followed any more. It needs the disk space of both. A database
  that was never a replica, or was detached, is refused: nothing at the source
  has what it would lose. So is one whose slot another database follows by, such
  as the original of a copy.";

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
/// `invalid` if the database is not a replica; those of the check, the source and the copy, after which the old database is as it
/// was; `busy` if somebody has it open at the swap.
pub fn execute(arguments: &ResyncArguments, context: &Context) -> std::result::Result<(), Failure> {
    let path = &arguments.database;
    refuse_file(path)?;
    check_room(path)?;
    let new = new_folder(path)?;
    if !path.exists() {
        let text = format!("there is no {}: `evergraph replica run` makes it", path.display());
        return Err(Error::new(ErrorKind::NotFound, text).into());
    }
    let mut source = arguments.following.source.source(&context.cancel)?;
    check_replaceable(path, &arguments.following, &mut source, context)?;
    let began = Instant::now();
    let options = arguments.following.options(path)?;
    let (database, position) = loop {
        match copied(&new, arguments, options.clone(), &mut source, context)? {
            Copied::Whole { database, position } => break (database, position),
            Copied::Useless(why) => {
                context.console.note(format!("{} is removed: {why}", visible(&new.display().to_string())));
            }
        }
    };
    let given_up = give_up(path, &arguments.following, source, &database, context);
    database.close()?;
    drop(database);
    given_up?;
    swap(path)?;
    context.console.summary(&ResyncReport {
        database: path.display().to_string(),
        position,
        disk_bytes: disk_bytes(path)?,
        seconds: began.elapsed().as_secs_f64(),
        source: arguments.following.source.to_string(),
        mapping: arguments.following.mapping.display().to_string(),
    })
}

/// Refuses a database that is not a replica, or whose slot may be another one's, before anything is copied. Of one that somebody
/// has open its status file says what it is; it is looked at again before the swap.
fn check_replaceable(
    path: &Path,
    following: &FollowingArguments,
    source: &mut PostgresSource,
    context: &Context,
) -> Result<()> {
    match open_existing(path, following, context) {
        Ok(database) => {
            let checked = check_replica(&database)
                .map_err(|error| not_replaced(path, &error))
                .and_then(|()| check_slot(&database, source));
            database.close()?;
            checked
        }
        Err(error) if error.kind() == ErrorKind::Busy => match read(path)? {
            None => Err(error),
            // What has paused is read on until the swap, as in a server.
            Some(found) if found.life == ReplicaLife::Running && found.status.state.pause().is_none() => {
                Err(stop_first(path, error))
            }
            Some(_) => Ok(()),
        },
        Err(error) => Err(error),
    }
}

/// Why the database at `path` stays.
fn not_replaced(path: &Path, error: &Error) -> Error {
    let path = path.display();
    Error::invalid(format!(
        "{path} stays as it is, since what it has would be lost: {error}. `evergraph replica run` copies the source into a new \
         folder: name another one, or remove {path} first"
    ))
}

/// What is in the folder of the new database.
enum Copied {
    /// All that the source has, up to the position.
    Whole { database: Database, position: String },
    /// Nothing any more: what a call before had made there is of no use, and is removed.
    Useless(String),
}

/// Copies the tables into the folder `new`, or goes on with what a call before copied there.
fn copied(
    new: &Path,
    arguments: &ResyncArguments,
    mut options: ReplicaOptions,
    source: &mut PostgresSource,
    context: &Context,
) -> Result<Copied> {
    // What takes the place of a database is read as that one was, by other processes too.
    let engine = Some(Database::engine_at(&arguments.database)?);
    let of_database = Options { engine, ..context.options.clone() };
    let (database, is_new) = open(new, &arguments.following, of_database, context)?;
    let is_copied = Replica::follows(&database)?;
    // What was copied already keeps its own.
    if !is_copied
        && options.publication.is_none()
        && let Ok(Some(before)) = read(&arguments.database)
    {
        options.publication = Some(before.status.publication).filter(|publication| !publication.is_empty());
    }
    if let Some(why) = Replica::difference(&database, source, &options)? {
        return useless(new, database, source, why, context);
    }
    let meter = context.console.meter();
    let copy_meter = CopyMeter::new(&meter, &context.console);
    let progress = |progress: &CopyProgress| copy_meter.tell(progress);
    let started =
        Replica::start(database.clone(), Box::new(source.clone()), options, &progress, &context.cancel);
    let replica = match started {
        Ok(replica) => Arc::new(replica),
        Err(error) => {
            close_failed(new, database, is_new)?;
            return Err(error);
        }
    };
    // What was committed during the copy is here as well.
    let caught_up = replica.source_position().and_then(|end| wait(&replica, end, context, &meter));
    let status = replica.status();
    drop(meter);
    stop(replica)?;
    match (caught_up, status.state.pause()) {
        (Ok(()), _) => Ok(Copied::Whole { database, position: status.position.to_string() }),
        // What this call copied pauses for something that another copy meets as well.
        (Err(_), Some(pause)) if is_copied && pause.is_mended_by_resync() => {
            useless(new, database, source, pause.cause, context)
        }
        (Err(error), _) => {
            database.close()?;
            Err(error)
        }
    }
}

/// Removes what a call before left in the folder `new`, when its slot at the source is gone.
///
/// # Errors
/// `invalid` if the slot stays, as at another server: the folder stays as well, which knows its name.
fn useless(
    new: &Path,
    database: Database,
    source: &mut PostgresSource,
    why: String,
    context: &Context,
) -> Result<Copied> {
    let abandoned = abandon(&database, source);
    database.close()?;
    drop(database);
    let abandoned = abandoned?;
    if let Some(slot) = abandoned.left_slot() {
        let new = new.display();
        return Err(Error::invalid(format!(
            "{new} is of no use here: {why}; and {} of its source cannot be dropped: {}. Give it up by `evergraph replica detach \
             {new}` with --source and its own URL, or with --forget-source; then remove the folder, and call this again",
            slot.what, slot.cause
        )));
    }
    tell_left(abandoned, context);
    forget(new)?;
    Ok(Copied::Useless(why))
}

/// Says what is left at the source, but for what others need.
fn tell_left(detached: Detached, context: &Context) {
    for left in detached.left.into_iter().filter(|left| left.needed_by.is_empty()) {
        context.console.note(format!("left at the source: {}: {}; {}", left.what, left.cause, left.remedy));
    }
}

/// Lets `new` have what the old database at `path` made at the source, which forgets that one.
fn give_up(
    path: &Path,
    following: &FollowingArguments,
    mut source: PostgresSource,
    new: &Database,
    context: &Context,
) -> Result<()> {
    let replaced = open_existing(path, following, context).map_err(|error| match error.kind() {
        ErrorKind::Busy => error.context(format!(
            "{} is complete; call this again when nobody has the old one open",
            new_folder(path).map_or_else(|_| "the new database".to_owned(), |new| new.display().to_string())
        )),
        _ => error,
    })?;
    // It may have been detached during the copy.
    let left = check_replica(&replaced)
        .map_err(|error| not_replaced(path, &error))
        .and_then(|()| take_over_publication(new, &replaced))
        .and_then(|()| abandon(&replaced, &mut source));
    replaced.close()?;
    // The publication is the new one's as well, mostly.
    tell_left(left?, context);
    Ok(())
}

/// What was copied anew.
#[derive(Debug, Serialize)]
struct ResyncReport {
    database: String,
    position: String,
    disk_bytes: u64,
    seconds: f64,
    /// As it was given, without a password.
    #[serde(skip)]
    source: String,
    #[serde(skip)]
    mapping: String,
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
        let (source, mapping) = (visible(&self.source), visible(&self.mapping));
        writeln!(
            f,
            "go on from there:\n  evergraph replica run {database} --source '{source}' --mapping {mapping}"
        )
    }
}
