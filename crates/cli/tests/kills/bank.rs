//! Bank: the demo's database, written by a process of its own that tells what was acknowledged.

use evergraph::EngineKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SIZE: [&str; 2] = ["--transfers", "5000"];
const WRITERS: usize = 6;

/// The program with `arguments`.
pub fn evergraph(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.args(arguments).stdin(Stdio::null());
    // The least that the disk engine has; the memory engine needs a few megabytes for these databases.
    command.env("EVERGRAPH_MEMORY_LIMIT", "64MiB");
    command
}

/// Runs `command`, which must do well.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}:\n{out}{error}", output.status);
    output
}

/// A database with payments, and how far each writer's transfers are known to be in it.
pub struct Bank {
    folder: TempDir,
    database: PathBuf,
    engine: EngineKind,
    booked: Vec<u64>,
}

/// How a writer ended.
pub struct Ended {
    /// By itself, or not.
    pub status: ExitStatus,
    /// What it said on standard error.
    pub error: String,
    /// How many transfers it said were acknowledged.
    pub acknowledged: u64,
}

impl Bank {
    /// A new one in the system's folder for temporary files.
    pub fn new(engine: EngineKind) -> Self {
        Self::in_folder(engine, tempfile::tempdir().unwrap())
    }

    /// A new one in `folder`.
    pub fn in_folder(engine: EngineKind, folder: TempDir) -> Self {
        let database = folder.path().join("bank.eg");
        run(evergraph(&["demo", "load", "--engine", engine.name()]).arg(&database).args(SIZE));
        Self { folder, database, engine, booked: vec![0; WRITERS] }
    }

    /// Its folder, for other files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program, told to do something with the database.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = evergraph(arguments);
        command.arg(&self.database);
        command
    }

    /// All transfers that were found.
    pub fn booked(&self) -> u64 {
        self.booked.iter().sum()
    }

    /// What tells one checkpoint from another: the names of the files that they make. The mapped engine writes its own
    /// again, so there it is the moment of the manifest.
    pub fn checkpoints(&self) -> BTreeSet<String> {
        let prefix = match self.engine {
            EngineKind::Disk => "csr-",
            EngineKind::Mapped => {
                let manifest = self.database.join("manifest").metadata().unwrap();
                return [format!("{:?}", manifest.modified().unwrap())].into();
            }
            _ => "bodies-",
        };
        let names = self.database.read_dir().unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    /// The command of a process that writes, with a checkpoint whenever the log grew by so many bytes.
    pub fn writing(&self, checkpoint_after_bytes: u64) -> Command {
        let booked = list(&self.booked);
        let mut command = self.command(&["demo", "stream", "--no-analysis"]);
        command.args(SIZE).args(["--booked", &booked]);
        command.args(["--checkpoint-after-bytes", &checkpoint_after_bytes.to_string()]);
        command
    }

    /// Lets `command`, which is [`Bank::writing`], write for `time`, and kills it if it has not ended.
    pub fn write_and_kill(&mut self, command: &mut Command, time: Duration) -> Ended {
        let before = self.booked();
        // A group of its own: whoever runs under strace is killed with it.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut complaints = child.stderr.take().unwrap();
        let mut first = String::new();
        said.read_line(&mut first).unwrap();
        // If it did not begin, it is about to say why.
        let time = if first == "ready\n" { time } else { Duration::from_secs(60) };
        let (status, error) = thread::scope(|scope| {
            let complaints = scope.spawn(|| {
                let mut text = String::new();
                complaints.read_to_string(&mut text).map(|_| text).unwrap()
            });
            let killer = scope.spawn(|| end_within(child, time));
            self.hear(said);
            (killer.join().unwrap(), complaints.join().unwrap())
        });
        Ended { status, error, acknowledged: self.booked() - before }
    }

    /// Counts what is said to be acknowledged, to the end. Half a line was not said.
    fn hear(&mut self, mut said: impl Read) {
        let mut lines = Vec::new();
        said.read_to_end(&mut lines).unwrap();
        let whole = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in std::str::from_utf8(&lines[..whole]).unwrap().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let ["booked", reference, _] = words[..] else { panic!("an unknown message: {line}") };
            let reference: u64 = reference.parse().unwrap();
            let (lane, sequence) = ((reference >> 40) as usize, reference & ((1 << 40) - 1));
            assert_eq!(sequence, self.booked[lane], "transfers of a writer are acknowledged in order");
            self.booked[lane] += 1;
        }
    }

    /// Everything acknowledged is there, nothing by half, and `check` finds nothing. Of a transfer that was
    /// not acknowledged only the next of each writer may be there.
    pub fn verify(&mut self) {
        // First of all: opening tidies up.
        run(&mut self.command(&["check"]));
        let verified = run(self
            .command(&["--json", "demo", "verify"])
            .args(SIZE)
            .args(["--acknowledged", &list(&self.booked)]));
        let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
        let found: Vec<u64> = serde_json::from_value(verified["found_by_lane"].clone()).unwrap();
        for (found, acknowledged) in found.iter().zip(&self.booked) {
            assert!(
                (0..=1).contains(&(found - acknowledged)),
                "{found} found of {acknowledged} acknowledged"
            );
        }
        self.booked = found;
    }
}

/// Kills `child`, who leads a process group, with all of it after `time`, if it has not ended by itself.
fn end_within(mut child: Child, time: Duration) -> ExitStatus {
    let began = Instant::now();
    while began.elapsed() < time {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        thread::sleep(Duration::from_millis(1));
    }
    // It fails if they are gone already.
    Command::new("kill")
        .args(["-9", "--", &format!("-{}", child.id())])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    child.wait().unwrap()
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}
