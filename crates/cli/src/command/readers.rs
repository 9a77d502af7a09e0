//! `evergraph readers`: which processes have a database open, and what those that read it hold back.

use crate::context::Context;
use crate::open::refuse_file;
use crate::target::FolderParser;
use clap::Args;
use evergraph::reading::{DatabaseProcesses, ReaderProcess};
use evergraph::{Database, EngineKind};
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, counted, size, time};
use evergraph_terminal::table::{Side, Table, visible};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const AFTER_HELP: &str = "\
Examples:
  evergraph readers social.eg
  evergraph readers social.eg --json | jq '.readers[].process'
  watch evergraph readers social.eg

Who can read:
  While one process has a database of the mapped engine open to write, others
  read it: eg.open(path, read_only=True) in Python, Database::open_reader in
  Rust, and the commands query, shell, run, stats, export and index list. This
  command reads nothing of the graph and changes nothing; while a process
  writes, it needs permission to write the file `live`, as readers do.

What a reader holds back:
  An open snapshot needs the graph as it was at its commit. The writer keeps old
  versions for it, in memory and in files, until the snapshot is closed; the
  older its commit, the more. The writer counts the bytes when it looks for what
  it can free, mostly within seconds. What several processes need counts for the
  snapshot that has been open for longest; what snapshots need that began at the
  same commit can count for each of their processes. Properties that newer
  versions share count for none. --live-bytes-max of the process that writes
  bounds what is kept in memory. A process that reads by itself has a snapshot
  that began while no process wrote, or has read beside an earlier writer and
  begun none since: for it the writer keeps the log and the files of that time.

What to do:
  A process that has ended counts no more, however it ended: its snapshots are
  released within seconds. One that is stopped (Ctrl-Z, a debugger) still has
  its snapshots: continue it (kill -CONT PID) or end it. Nothing is taken from a
  process that runs: close its snapshots there.";

/// Arguments of `evergraph readers`.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct ReadersArguments {
    /// The database. Only one of the mapped engine has readers.
    #[arg(value_parser = FolderParser)]
    pub database: PathBuf,
}

/// Looks and prints.
///
/// # Errors
/// Those of [`Database::processes`].
pub fn execute(arguments: &ReadersArguments, context: &Context) -> Result<(), Failure> {
    refuse_file(&arguments.database)?;
    let engine = Database::engine_at(&arguments.database)?;
    let found = Database::processes(&arguments.database)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let shown = arguments.database.display().to_string();
    context.console.result(&ReadersReport::new(shown, engine, &found, now))
}

/// Who has a database open.
#[derive(Debug, Serialize)]
struct ReadersReport {
    database: String,
    engine: &'static str,
    /// The process that writes it; `null` without one.
    writer: Option<u32>,
    /// The newest commit that readers see; `null` without a process that writes.
    timestamp: Option<u64>,
    readers: Vec<ReaderEntry>,
}

/// A process that reads.
#[derive(Debug, Serialize)]
struct ReaderEntry {
    /// `null` if it is not known.
    process: Option<u32>,
    /// Whether it reads what the process that writes commits; otherwise it reads by itself.
    joined: bool,
    /// `null` where the system does not tell.
    stopped: Option<bool>,
    /// Its open snapshots; `null` if it reads by itself.
    snapshots: Option<u32>,
    /// The commit that the oldest one shows; `null` without one.
    oldest_snapshot: Option<u64>,
    /// How long that has been open.
    oldest_snapshot_seconds: Option<u64>,
    /// Bytes of old versions that the process that writes keeps for it; `null` if it reads by itself.
    retained_bytes: Option<u64>,
}

impl ReadersReport {
    fn new(database: String, engine: EngineKind, found: &DatabaseProcesses, now: Duration) -> Self {
        let entry = |reader: &ReaderProcess| {
            let oldest = reader.oldest.as_ref();
            ReaderEntry {
                process: reader.process,
                joined: reader.has_joined,
                stopped: reader.process.and_then(is_stopped),
                snapshots: reader.has_joined.then_some(reader.snapshots),
                oldest_snapshot: oldest.map(|snapshot| snapshot.timestamp.0),
                oldest_snapshot_seconds: oldest
                    .map(|snapshot| now.as_secs().saturating_sub(snapshot.begun_unix_seconds.into())),
                retained_bytes: reader.retained_bytes,
            }
        };
        Self {
            database,
            engine: engine.name(),
            writer: found.writer,
            timestamp: found.readable.map(|timestamp| timestamp.0),
            readers: found.readers.iter().map(entry).collect(),
        }
    }
}

/// Whether the process is stopped, by a signal or a debugger; `None` on a system without `/proc`, and if it has ended.
fn is_stopped(process: u32) -> Option<bool> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may have spaces and brackets.
    let state = text.rsplit_once(") ")?.1.chars().next()?;
    Some(matches!(state, 'T' | 't'))
}

/// For how long a snapshot has been open: its beginning is known to the second.
fn open_for(seconds: u64) -> String {
    match seconds {
        0 => "under 1 s".to_owned(),
        seconds => time(Duration::from_secs(seconds)),
    }
}

impl ReaderEntry {
    fn state(&self) -> &'static str {
        match (self.stopped, self.joined) {
            (Some(true), _) => "stopped",
            (_, true) => "reads",
            (_, false) => "reads by itself",
        }
    }

    /// What the process that writes keeps for it, whose newest commit is `timestamp`.
    fn retained(&self, timestamp: Option<u64>) -> String {
        if !self.joined {
            return "the log, and files".to_owned();
        }
        match (self.oldest_snapshot, timestamp) {
            (Some(oldest), Some(newest)) => {
                let since = counted(newest.saturating_sub(oldest), "commit", "commits");
                format!("{}, {since} since", size(self.retained_bytes.unwrap_or_default()))
            }
            _ => "nothing".to_owned(),
        }
    }
}

impl fmt::Display for ReadersReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = visible(&self.database);
        match (self.writer, self.timestamp) {
            (Some(writer), Some(timestamp)) => writeln!(
                f,
                "{database}: process {writer} has it open to write; readers see commit {}",
                count(timestamp)
            )?,
            (Some(writer), None) => writeln!(f, "{database}: process {writer} has it open to write")?,
            (None, _) => writeln!(f, "{database}: no process has it open to write")?,
        }
        if self.engine != EngineKind::Mapped.name() {
            return writeln!(f, "it has the {} engine: one process at a time opens it", self.engine);
        }
        if self.readers.is_empty() {
            return writeln!(f, "no process has it open to read");
        }
        let mut table = Table::new(&[
            ("reader", Side::Right),
            ("state", Side::Left),
            ("snapshots", Side::Right),
            ("oldest shows", Side::Right),
            ("open for", Side::Right),
            ("the writer keeps for it", Side::Left),
        ]);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        for reader in &self.readers {
            table.row([
                or_dash(reader.process.map(|process| process.to_string())),
                reader.state().to_owned(),
                or_dash(reader.snapshots.map(|snapshots| count(snapshots.into()))),
                or_dash(reader.oldest_snapshot.map(|commit| format!("commit {}", count(commit)))),
                or_dash(reader.oldest_snapshot_seconds.map(open_for)),
                reader.retained(self.timestamp),
            ]);
        }
        write!(f, "\n{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::reading::OldestSnapshot;
    use evergraph_graph::timestamp::Timestamp;

    #[test]
    fn a_stopped_reader_and_one_that_reads_by_itself_are_told_apart() {
        let oldest = OldestSnapshot { timestamp: Timestamp(100), begun_unix_seconds: 1_000 };
        let reader = |process, has_joined: bool, snapshots, oldest| ReaderProcess {
            claim: 0,
            process,
            has_joined,
            snapshots,
            oldest,
            retained_bytes: has_joined.then_some(3 << 19),
        };
        let readers = vec![reader(Some(u32::MAX), true, 2, Some(oldest)), reader(None, false, 0, None)];
        let found = DatabaseProcesses { writer: Some(7), readable: Some(Timestamp(1_120)), readers };
        let mut report =
            ReadersReport::new("a.eg".to_owned(), EngineKind::Mapped, &found, Duration::from_secs(1_090));
        report.readers[0].stopped = Some(true);
        let text = report.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "a.eg: process 7 has it open to write; readers see commit 1,120");
        assert!(lines[4].contains("stopped") && lines[4].contains("commit 100"), "{text}");
        assert!(lines[4].ends_with("1.5 MiB, 1,020 commits since"), "{text}");
        assert!(lines[5].contains("reads by itself") && lines[5].ends_with("the log, and files"), "{text}");

        assert_eq!((open_for(0).as_str(), open_for(90) != open_for(0)), ("under 1 s", true));
        let document = serde_json::to_value(&report).unwrap();
        assert_eq!(document["readers"][0]["oldest_snapshot_seconds"], 90);
        assert_eq!(document["readers"][0]["retained_bytes"], 3 << 19);
        assert_eq!(document["readers"][1]["retained_bytes"], serde_json::Value::Null);
        assert_eq!(document["readers"][1]["process"], serde_json::Value::Null);
        let found = DatabaseProcesses { writer: None, readable: None, readers: Vec::new() };
        let text = |engine| ReadersReport::new("a.eg".to_owned(), engine, &found, Duration::ZERO).to_string();
        let nobody = "a.eg: no process has it open to write\n";
        assert_eq!(text(EngineKind::Mapped), format!("{nobody}no process has it open to read\n"));
        let one = "it has the disk engine: one process at a time opens it\n";
        assert_eq!(text(EngineKind::Disk), format!("{nobody}{one}"));
    }
}
