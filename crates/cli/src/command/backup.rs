//! `evergraph backup`: a copy of everything that is committed, which is a database of its own.

use crate::command::check::check_written;
use crate::context::Context;
use crate::download::Download;
use crate::open::refuse_file;
use crate::server_access::ServerAccessArguments;
use crate::target::{Target, UncheckedUrl};
use clap::Args;
use evergraph::FileWork;
use evergraph::export::options::{ExportFormat, ExportOptions};
use evergraph_client::admin::jobs::JobRequest;
use evergraph_graph::error::Error;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::visible;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
Examples:
  evergraph backup social.eg backups/monday
  evergraph backup social.eg /mnt/usb/social.eg --no-check
  evergraph stats backups/monday                   a backup is a database: open it to restore
  evergraph backup wss://ann@graph.example/social backups/monday

All checksums are verified while the files are copied, and the finished copy is
checked. A backup is complete or absent: after Ctrl-C or an error the partial
copy is removed. A partial copy that a crash leaves behind cannot be opened, and
the next backup to the same folder replaces it.

Beside a writer:
  While another process has the database open to write, whatever its engine, the
  backup is refused (exit code 8). The program that has it open can back it up
  without closing it: db.backup() in Python, Database::backup in Rust.

A URL:
  The server makes the copy beside readers and writers, and this command fetches
  it; that needs the role admin, and a server that was started with --spool or
  --root. Ctrl-C cancels the job there as well.";

/// Arguments of `evergraph backup`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct BackupArguments {
    /// The database: a folder, or the URL of a server.
    #[arg(value_name = "DATABASE")]
    pub database: Target,
    /// The folder of the copy: new or empty.
    pub output: PathBuf,
    /// Skip the check of the copy.
    #[arg(long)]
    pub no_check: bool,
    /// How to connect to a server.
    #[command(flatten)]
    pub access: ServerAccessArguments,
}

/// Makes the copy.
///
/// # Errors
/// Those of opening and of the backup, which leaves nothing then; `corrupt` if the copy has findings.
pub fn execute(arguments: &BackupArguments, context: &Context) -> Result<(), Failure> {
    refuse_file(&arguments.output)?;
    let path = match &arguments.database {
        Target::Server(url) => return of_server(arguments, url, context),
        Target::Folder(path) => path,
    };
    arguments.access.refuse()?;
    let meter = context.console.meter();
    meter.tell("open", None, String::new);
    let began = Instant::now();
    let database = context.open_for(path, FileWork::Backup)?;
    let made = database.backup(&arguments.output, &mut |now| {
        let share = now.bytes_done as f64 / now.bytes_total.max(1) as f64;
        meter.tell("copy", Some(share), || size(now.bytes_done));
        if context.cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    // Before the copy is opened: one graph in memory at a time.
    database.close()?;
    drop(database);
    if !arguments.no_check {
        check_written(&arguments.output, &meter, context)?;
    }
    drop(meter);
    context.console.summary(&BackupReport {
        database: path.display().to_string(),
        output: arguments.output.display().to_string(),
        through: made.through.0,
        vertices_count: made.vertices_count,
        edges_count: made.edges_count,
        bytes_written: made.bytes_written,
        checked: !arguments.no_check,
        seconds: began.elapsed().as_secs_f64(),
    })
}

fn of_server(arguments: &BackupArguments, url: &UncheckedUrl, context: &Context) -> Result<(), Failure> {
    let output = &arguments.output;
    if fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) {
        let text = format!("{} isn't empty: name a new or an empty folder", output.display());
        return Err(Error::invalid(text).into());
    }
    let meter = context.console.meter();
    meter.tell("copy on the server", None, String::new);
    let began = Instant::now();
    let admin = arguments.access.admin(url, context)?;
    // Of the options of an export, only the folder is meant.
    let options = ExportOptions::new(ExportFormat::Csv, output);
    let download = Download::folder(&options)?;
    let made: RemoteBackup = download.run(&admin, &JobRequest::new("backup"), &options, &meter)?;
    if !arguments.no_check {
        check_written(output, &meter, context)?;
    }
    drop(meter);
    context.console.summary(&BackupReport {
        database: admin.client().url().to_string(),
        output: output.display().to_string(),
        through: made.through,
        vertices_count: made.vertices,
        edges_count: made.edges,
        bytes_written: made.bytes_written,
        checked: !arguments.no_check,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// What a job of a server copied.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteBackup {
    through: u64,
    vertices: u64,
    edges: u64,
    bytes_written: u64,
}

/// What a backup holds.
#[derive(Debug, Serialize)]
struct BackupReport {
    database: String,
    output: String,
    through: u64,
    vertices_count: u64,
    edges_count: u64,
    bytes_written: u64,
    checked: bool,
    seconds: f64,
}

impl fmt::Display for BackupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} and {}, all through commit {}, copied to {}{} in {}; {} written",
            visible(&self.database),
            counted(self.vertices_count, "vertex", "vertices"),
            counted(self.edges_count, "edge", "edges"),
            count(self.through),
            visible(&self.output),
            if self.checked { " and checked" } else { "" },
            time(Duration::from_secs_f64(self.seconds)),
            size(self.bytes_written),
        )
    }
}
