//! `evergraph replica run`: a database follows a PostgreSQL database, until somebody stops it.
//!
//! ```text
//! open ──> copy, if it is new ──> follow ──┬── a position is reached (--until), Ctrl-C, `replica stop`   0
//!            (a bar)               (a line)├── it has paused: cause and remedy are printed               2
//!                                          └── the shell ends (--shell)                                 its own
//! ```

use crate::amount;
use crate::command::replica::check::read_mapping;
use crate::command::replica::copy_meter::CopyMeter;
use crate::command::replica::error_news::ErrorNews;
use crate::command::replica::samples::{samples, state_samples};
use crate::command::replica::source_url::SourceUrl;
use crate::command::replica::status::{KEEPS_LOG, left_copy};
use crate::command::replica::status_text::line;
use crate::command::replica::stop::stop_first;
use crate::command::replica::until::Until;
use crate::command::shell;
use crate::context::Context;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::path::DatabasePath;
use evergraph::{Database, Durability, FileWork, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_replica::copy::options::CopyProgress;
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions, SYNC_INTERVAL};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::resync::recover;
use evergraph_replica::status::{ReplicaState, ReplicaStatus};
use evergraph_server::metric_samples::Samples;
use evergraph_server::metrics_listener::MetricsListener;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::meter::Meter;
use evergraph_terminal::number::{counted, size, time};
use evergraph_terminal::table::visible;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// What its help says behind the options.
pub const AFTER_HELP: &str = "\
Examples:
  evergraph replica run shop.eg --source postgres://graph@db/shop --mapping shop.toml
  evergraph replica run shop.eg --source postgres:///shop --mapping shop.toml --until now
  evergraph replica run shop.eg --source postgres:///shop --mapping shop.toml --shell
  evergraph replica run shop.eg --source postgres:///shop --mapping shop.toml --metrics [::1]:9187

What it does:
  A new database: it checks what `evergraph replica check` checks, makes a slot
  (and the publication, if there is none and the role owns the tables), copies
  the tables in one snapshot, and then applies what is committed at the source,
  one commit here for one commit there. A database that follows already goes on
  where it was, after a crash as well. Nobody else can write to the database;
  indexes can be made.

  On a terminal a line says how far it is; elsewhere one does so each minute,
  and each new error has a line of its own, as for the journal of a service.
  `evergraph replica status` says more. --shell reads the graph meanwhile, in
  Gremlin.

When it ends:
  With Ctrl-C, SIGTERM, `evergraph replica stop`, or when --until is reached:
  code 0. If it cannot go on without help, as when a slot is gone or a mapped
  column was dropped, it has paused: cause and remedy are printed, the code is
  2, and the next run goes on where it was. A connection that was lost is made
  again, for ever; with --until for five minutes, then the code is 8 and the
  newest error is printed. While nothing runs, the source KEEPS ITS LOG: run
  again, or `replica detach`.

Durability:
  The log here is synced twice a second and not at each commit, for what a power
  cut takes is sent again: the source hears of nothing that is not on disk here.";

/// How often the status is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(60);
/// How long `--until`, `verify` and `resync` try again while the source is not followed.
pub const UNFOLLOWED_TIME_MAX: Duration = Duration::from_secs(300);
/// How long a shell waits for what the source has.
const CATCH_UP_TIME_MAX: Duration = Duration::from_secs(10);

/// Arguments of `evergraph replica run`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct RunArguments {
    /// The database; made if it is not there.
    #[arg(value_name = "DB", value_parser = FolderParser)]
    pub database: PathBuf,
    /// What it follows.
    #[command(flatten)]
    pub following: FollowingArguments,
    /// End when the graph has what the source has now, or has up to a position (LSN).
    #[arg(long, value_name = "now|LSN")]
    pub until: Option<Until>,
    /// Read the graph in Gremlin meanwhile, as by evergraph shell; its end is the end of following.
    #[arg(long, conflicts_with = "until")]
    pub shell: bool,
    /// Answer GET /metrics in Prometheus' format at this address of this machine; port 0 is any free one.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,
    /// Make a checkpoint whenever the log has grown by so many bytes.
    #[arg(long, hide = true, value_name = "BYTES")]
    pub checkpoint_after_bytes: Option<u64>,
}

/// What a database follows, and how.
#[derive(Args, Debug)]
pub struct FollowingArguments {
    /// The database to follow, as postgres://USER@HOST/DATABASE; its password is in PGPASSWORD or ~/.pgpass.
    #[arg(long, value_name = "URL")]
    pub source: SourceUrl,
    /// The mapping: what rows become as vertices and edges.
    #[arg(long, value_name = "FILE")]
    pub mapping: PathBuf,
    /// The publication, which says at the source which tables are sent [default: evergraph; later the one of before].
    #[arg(long, value_name = "NAME")]
    pub publication: Option<String>,
    /// The replication slot, which keeps the source's log for this replica [default: evergraph_, the name of the source's
    /// database and a random number; later the one of before].
    #[arg(long, value_name = "NAME")]
    pub slot: Option<String>,
    /// Memory for the copy, and for transactions that are under way.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "1GiB")]
    pub memory: u64,
    /// Memory for the changed rows of one transaction, and for what is written of them; inserted rows beyond it go to a
    /// temporary file, anything else pauses the replica.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "1GiB")]
    pub transaction_memory: u64,
    /// Warn when the source keeps so much log for this replica.
    #[arg(long, value_name = "SIZE", value_parser = amount::memory, default_value = "1GiB")]
    pub slot_alarm: u64,
}

impl FollowingArguments {
    /// How the database at `path` follows.
    ///
    /// # Errors
    /// Those of reading the mapping.
    pub fn options(&self, path: &Path) -> Result<ReplicaOptions> {
        // Told before anything is opened, by line and key.
        read_mapping(&self.mapping)?;
        let name = self.mapping.display().to_string();
        let text = fs::read_to_string(&self.mapping)
            .map_err(|error| Error::new(ErrorKind::Io, format!("read {name}: {error}")).because(error))?;
        let mut options = ReplicaOptions::new(ReplicaMapping { name, text });
        options.publication.clone_from(&self.publication);
        options.slot.clone_from(&self.slot);
        options.memory_bytes = self.memory;
        options.transaction_bytes_max = self.transaction_memory;
        options.slot_alarm_bytes = self.slot_alarm;
        options.temporary = beside(path);
        Ok(options)
    }
}

/// The folder of `path`: temporary files lie on the disk of the database.
fn beside(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Follows until it ends.
///
/// # Errors
/// `invalid` for what the check finds, and when it pauses; those of the source, of opening and of closing.
pub fn execute(arguments: &RunArguments, context: &Context) -> std::result::Result<ExitCode, Failure> {
    let path = &arguments.database;
    refuse_file(path)?;
    let options = arguments.following.options(path)?;
    let source = arguments.following.source.source(&context.cancel)?;
    // An address that cannot be used is told before a copy, which may take hours.
    let watched = Arc::new(OnceLock::new());
    let metrics = arguments.metrics.map(|address| serve_metrics(address, path, &watched)).transpose()?;
    if let Some(metrics) = &metrics {
        context.console.note(format!("metrics at http://{}/metrics", metrics.address()));
    }
    let mut of_database = context.options.clone();
    if let Some(bytes) = arguments.checkpoint_after_bytes {
        of_database.checkpoint_after_bytes = bytes;
    }
    let opened = open(path, &arguments.following, of_database, context);
    let (database, is_new) = opened.map_err(|error| stop_first(path, error))?;
    let began = Instant::now();
    let meter = context.console.meter();
    let copy_meter = CopyMeter::new(&meter, &context.console);
    let progress = |progress: &CopyProgress| copy_meter.tell(progress);
    let started = Replica::start(database.clone(), Box::new(source), options, &progress, &context.cancel);
    drop(meter);
    let replica = match started {
        Ok(replica) => Arc::new(replica),
        Err(error) => {
            close_failed(path, database, is_new)?;
            return Err(error.into());
        }
    };
    // The listener doesn't keep the replica from being stopped.
    watched.set(Arc::downgrade(&replica)).expect("nobody else sets it");
    let outcome = match arguments.shell {
        true => read(path, &database, context, &replica).map(|code| (RunEnd::Asked, Some(code))),
        false => follow(arguments, context, &replica).map(|end| (end, None)),
    };
    drop(metrics);
    let status = replica.status();
    let stopped = stop(replica);
    let closed = database.close();
    let (end, code) = outcome?;
    stopped?;
    closed?;
    let report = RunReport::new(path, &status, (is_new, end), began.elapsed());
    match (&end, code) {
        (_, Some(code)) => {
            context.console.note(kept_log(&status));
            Ok(code)
        }
        (RunEnd::Paused, None) => Err(paused(path, &status).into()),
        (_, None) => context.console.summary(&report).map(|()| ExitCode::SUCCESS),
    }
}

/// Opens the database as `options` say, or makes it, of their engine if they name one; whether it is new. One that is there keeps
/// its engine.
///
/// # Errors
/// Those of opening; `invalid` for a node of a cluster.
pub fn open(
    path: &Path,
    following: &FollowingArguments,
    mut options: Options,
    context: &Context,
) -> Result<(Database, bool)> {
    DatabasePath::of(path)?.check_work(FileWork::Ownership)?;
    (options.create, options.transaction_bytes_max) = (true, following.transaction_memory);
    if !context.opening_options.contains(&"--durability") {
        options.durability = Durability::Interval(SYNC_INTERVAL);
    }
    recover(path)?;
    let is_new = options.would_create(path);
    if !is_new {
        options.engine = None;
    }
    Ok((Database::open_with(path, &options)?, is_new))
}

/// Opens a database that has to be there.
///
/// # Errors
/// Those of opening; `invalid` for a node of a cluster.
pub fn open_existing(path: &Path, following: &FollowingArguments, context: &Context) -> Result<Database> {
    refuse_file(path)?;
    DatabasePath::of(path)?.check_work(FileWork::Ownership)?;
    recover(path)?;
    let options = Options {
        create: false,
        durability: Durability::Interval(SYNC_INTERVAL),
        transaction_bytes_max: following.transaction_memory,
        ..context.options.clone()
    };
    Database::open_with(path, &options)
}

/// Waits until a replica has what the source has up to `position`.
///
/// # Errors
/// `invalid` if it has paused; `busy` if the source is not followed for [`UNFOLLOWED_TIME_MAX`]; `cancelled`.
pub fn wait(replica: &Replica, position: Lsn, context: &Context, meter: &Meter) -> Result<()> {
    let (mut patience, mut news) = (Patience::new(UNFOLLOWED_TIME_MAX), ErrorNews::default());
    loop {
        if replica.wait(position, LOOK_EVERY)? {
            return Ok(());
        }
        let status = replica.status();
        // What hinders it may be mended while this waits: a full disk, a source that is down.
        if let Some(news) = news.of(&status) {
            context.console.note(news);
        }
        patience.look(&status)?;
        meter.tell("follow", None, || line(&status));
        context.cancel.check()?;
    }
}

/// How long whoever waits for a position does so while the source is not followed.
struct Patience {
    time_max: Duration,
    /// Since when it is not.
    since: Option<Instant>,
}

impl Patience {
    fn new(time_max: Duration) -> Self {
        Self { time_max, since: None }
    }

    /// Takes notice of what the replica does.
    ///
    /// # Errors
    /// `busy`, with the newest error, if it has not followed for too long, such as a standby that cannot be followed, or with a slot
    /// that another process reads.
    fn look(&mut self, status: &ReplicaStatus) -> Result<()> {
        if status.state == ReplicaState::Following {
            self.since = None;
            return Ok(());
        }
        if self.since.get_or_insert_with(Instant::now).elapsed() < self.time_max {
            return Ok(());
        }
        let (limit, why) =
            (time(self.time_max), status.last_error.as_deref().unwrap_or("it does not answer"));
        let source = &status.source;
        Err(Error::new(ErrorKind::Busy, format!("{source} could not be followed for {limit}: {why}")))
    }
}

/// Closes a database whose replica could not begin, and removes a new one, unless its notes say what stays at the source.
///
/// # Errors
/// Those of closing and of removing.
pub fn close_failed(path: &Path, database: Database, is_new: bool) -> Result<()> {
    let is_useless = is_new && !Replica::has_left_something(&database)?;
    let closed = database.close();
    drop(database);
    if is_useless {
        forget(path)?;
    }
    closed
}

/// Removes the folder of a database, such as one that was made for a replica that could not begin.
///
/// # Errors
/// `io`.
pub fn forget(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("remove {}: {error}", path.display())).because(error)
    })
}

/// Serves the metrics of the replica in `watched`, which copies until it is there.
fn serve_metrics(
    address: SocketAddr,
    path: &Path,
    watched: &Arc<OnceLock<Weak<Replica>>>,
) -> Result<MetricsListener> {
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let watched = Arc::clone(watched);
    MetricsListener::start(address, move || {
        let mut found = Samples::default();
        match watched.get().map(Weak::upgrade) {
            None => {
                found.add_all(&state_samples(ReplicaState::Copying.name()).collect::<Vec<_>>(), &name);
            }
            Some(Some(replica)) => found.add_all(&samples(&replica), &name),
            Some(None) => {}
        }
        found.into_text()
    })
}

/// Stops a replica, once whoever reads its metrics is done.
///
/// # Errors
/// `io` if the database cannot be made durable.
pub fn stop(mut replica: Arc<Replica>) -> Result<()> {
    loop {
        match Arc::try_unwrap(replica) {
            Ok(replica) => return replica.stop(),
            Err(shared) => replica = shared,
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// How following ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum RunEnd {
    /// Somebody asked for it.
    Asked,
    /// The position is here.
    Reached,
    /// It does not go on without help.
    Paused,
}

/// Reads the graph in Gremlin, from when it has what the source has now, if that does not take long.
fn read(
    path: &Path,
    database: &Database,
    context: &Context,
    replica: &Replica,
) -> std::result::Result<ExitCode, Failure> {
    let caught_up = replica.source_position().and_then(|end| replica.wait(end, CATCH_UP_TIME_MAX));
    match caught_up {
        Ok(true) => {}
        Ok(false) => {
            context.console.note(format!("the graph is not up to date yet: {}", line(&replica.status())))
        }
        Err(error) => context.console.note(format!("the graph is not up to date: {error}")),
    }
    shell::execute::on_open(path, database, context)
}

/// Waits until it ends, and says meanwhile how far it is.
fn follow(
    arguments: &RunArguments,
    context: &Context,
    replica: &Replica,
) -> std::result::Result<RunEnd, Failure> {
    let end: Option<Lsn> = match arguments.until {
        None => None,
        Some(Until::Position(position)) => Some(position),
        Some(Until::Now) => Some(replica.source_position()?),
    };
    let meter = context.console.meter();
    let mut told = Instant::now();
    let mut patience = Patience::new(UNFOLLOWED_TIME_MAX);
    let (mut news, mut has_followed) = (ErrorNews::default(), false);
    let database = arguments.database.display().to_string();
    let database = visible(&database);
    if let Some(copy) = left_copy(&arguments.database)? {
        context.console.note(format!("{}: {KEEPS_LOG}", visible(&copy)));
    }
    loop {
        let status = replica.status();
        match status.state {
            ReplicaState::Paused { .. } => return Ok(RunEnd::Paused),
            ReplicaState::Stopped => return Ok(RunEnd::Asked),
            _ => {}
        }
        meter.tell("replica", None, || line(&status));
        let is_first = !has_followed && status.state == ReplicaState::Following;
        has_followed |= is_first;
        if let Some(news) = news.of(&status).or_else(|| is_first.then(|| "follows".to_owned())) {
            context.console.note_off_terminal(format!("{database}: {news}"));
        }
        if told.elapsed() >= LINE_EVERY {
            told = Instant::now();
            context.console.note_off_terminal(line(&status));
        }
        if context.cancel.is_cancelled() {
            return Ok(RunEnd::Asked);
        }
        match end {
            None => thread::sleep(LOOK_EVERY),
            Some(end) => match replica.wait(end, LOOK_EVERY) {
                Ok(true) => return Ok(RunEnd::Reached),
                Ok(false) => patience.look(&status)?,
                // It has paused or stopped, as its status says.
                Err(_) => continue,
            },
        }
    }
}

/// What a pause says.
fn paused(path: &Path, status: &ReplicaStatus) -> Error {
    let path = path.display();
    let text = match status.state.pause() {
        Some(pause) => {
            format!("{path} has paused at {}: {}. To go on: {}", status.position, pause.cause, pause.remedy)
        }
        None => format!("{path} has paused at {}", status.position),
    };
    Error::invalid(text)
}

/// What becomes of the source's log behind a run.
fn kept_log(status: &ReplicaStatus) -> String {
    format!(
        "{} keeps its log for the slot {} until this replica runs again, or is detached (`evergraph replica detach`)",
        visible(&status.source),
        visible(&status.slot)
    )
}

/// What a run came to.
#[derive(Debug, Serialize)]
struct RunReport {
    database: String,
    /// Whether the tables were copied first.
    copied: bool,
    end: RunEnd,
    seconds: f64,
    #[serde(flatten)]
    status: ReplicaStatus,
}

impl RunReport {
    fn new(path: &Path, status: &ReplicaStatus, (copied, end): (bool, RunEnd), took: Duration) -> Self {
        let database = path.display().to_string();
        Self { database, copied, end, seconds: took.as_secs_f64(), status: status.clone() }
    }
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, copied, end, seconds, status } = self;
        let copy = if *copied { "was copied, and " } else { "" };
        let how = match end {
            RunEnd::Asked => "stopped",
            RunEnd::Reached => "has what the source had",
            RunEnd::Paused => "has paused",
        };
        writeln!(
            f,
            "{} {copy}{how} at {}: {} in {} applied in {}; {} of log to come",
            visible(database),
            status.position,
            counted(status.rows, "row", "rows"),
            counted(status.transactions, "transaction", "transactions"),
            time(Duration::from_secs_f64(*seconds)),
            size(status.lag_bytes),
        )?;
        if let (ReplicaState::Reconnecting, Some(error)) = (&status.state, &status.last_error) {
            writeln!(f, "it did not follow at the end: {}", visible(error))?;
        }
        writeln!(f, "{}", kept_log(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_hears_why_a_source_is_not_followed_and_waits_on_while_it_is() {
        let mut status: ReplicaStatus = serde_json::from_value(serde_json::json!({
            "state": "reconnecting", "source": "db/shop", "slot": "s", "publication": "p", "position": "0/0",
            "committed_at": null, "source_position": "0/0", "confirmed": "0/0", "lag_bytes": 0, "lag_ms": 0,
            "rows_per_second": 0.0, "rows": 0, "transactions": 0, "waiting_rows": 0, "losses": [], "restarts": 1,
            "retained_bytes": null, "is_retained_alarm": false, "last_error": "db/shop is in recovery, at 0/10"
        }))
        .unwrap();
        let mut patience = Patience::new(Duration::from_secs(60));
        patience.look(&status).unwrap();
        patience.time_max = Duration::ZERO;
        let error = patience.look(&status).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.to_string().ends_with("db/shop is in recovery, at 0/10"), "{error}");
        status.state = ReplicaState::Following;
        patience.look(&status).unwrap();
        assert_eq!(patience.since, None);
    }
}
