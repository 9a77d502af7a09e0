//! Story: the demo from beginning to end, told step by step.

use crate::demo::analysis::find_rings;
use crate::demo::load::{LoadFigures, load};
use crate::demo::network::{ID, Network, NetworkSize};
use crate::demo::report::{DemoReport, StreamFigures};
use crate::demo::rings::{RingKey, RingScore};
use crate::demo::tally::{Tally, advanced};
use crate::demo::ticker::{Ticker, precise};
use crate::demo::verify::{VerifySummary, verify};
use crate::demo::writers::Writers;
use crate::folder::Folder;
use evergraph::generate::payments::account_id;
use evergraph::{Database, EngineKind, Options};
use evergraph_algorithms::control::Control;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::VertexId;
use evergraph_measure::disk_sync::{DiskSync, Synced};
use evergraph_terminal::console::Console;
use evergraph_terminal::failure::Failure;
use evergraph_terminal::number::{count, size, time};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::env;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The database's name in the demo's folder.
const DATABASE: &str = "bank.eg";
/// The disk's own rate is the best of this many short rounds, before writing and again after it.
const DISK_ROUNDS: u32 = 8;
const DISK_ROUND: Duration = Duration::from_millis(100);
/// How often the writing process is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The writing process has this long to open the database.
const PATIENCE: Duration = Duration::from_secs(60);

/// What may be chosen.
#[derive(Debug)]
pub struct PlayOptions {
    /// The network's size.
    pub size: NetworkSize,
    /// How long to write and analyse.
    pub time: Duration,
    /// Threads that write.
    pub writers: u32,
    /// The database's engine.
    pub engine: EngineKind,
    /// Where to make the demo's folder.
    pub parent: Option<PathBuf>,
    /// Leave the folder there.
    pub keep: bool,
    /// How many threads the writing process works on; 0 for as many as there are cores.
    pub threads: usize,
    /// Take a cent from an account before verifying, which must then fail.
    pub sabotage: bool,
}

/// Plays the demo.
///
/// # Errors
/// `corrupt` if the database broke a promise, and then its folder stays; `cancelled`; what making,
/// writing and reading databases may meet. The folder is gone then, and the writing process, too.
pub fn play(options: &PlayOptions, console: &Console, cancel: &CancelFlag) -> Result<DemoReport, Failure> {
    let folder = Folder::make("evergraph-demo-", options.parent.as_deref())?;
    let path = folder.path().join(DATABASE);
    let mut played = DemoRun { options, console, cancel, path: &path }.run();
    let broken = matches!(&played, Err(Failure::Error(error)) if error.kind() == ErrorKind::Corrupt);
    if options.keep || broken {
        let kept = folder.keep().join(DATABASE).display().to_string();
        match &mut played {
            Ok(report) => report.database = Some(kept),
            Err(_) => console.note(format_args!("the database is left in {kept}")),
        }
    }
    played
}

struct DemoRun<'a> {
    options: &'a PlayOptions,
    console: &'a Console,
    cancel: &'a CancelFlag,
    path: &'a Path,
}

impl DemoRun<'_> {
    fn run(&self) -> Result<DemoReport, Failure> {
        self.tell(
            "Evergraph demo: a bank's payments, written durably, analysed live, killed, and verified.",
        )?;
        let (network, loaded) = self.load()?;
        let disk_before = self.measure_disk()?;
        let (tally, wrote) = self.stream(&network)?;
        let (restart_seconds, database) = self.reopen()?;
        let disk_syncs_rate = disk_before.max(self.sync_disk()?.rate());
        let stream = StreamFigures::of(&tally, self.options.writers, wrote);
        let accounts = network.account_vertices(&database.snapshot())?;
        if self.options.sabotage {
            take_a_cent(&database)?;
        }
        let verified = self.verify(&database, &network, &accounts, &tally)?;
        let (rings_live, rings) = self.judge_rings(&database, &network, &accounts, &tally, &verified)?;
        database.close()?;
        // The lock goes with it.
        drop(database);
        let check_seconds = self.check()?;
        Ok(DemoReport {
            database: None,
            loaded,
            disk_syncs_rate,
            stream,
            rings_live,
            rings,
            restart_seconds,
            check_seconds,
            verified,
        })
    }

    /// Tells people; programs get the report alone.
    fn tell(&self, text: impl fmt::Display) -> Result<(), Failure> {
        if self.console.is_json() {
            return Ok(());
        }
        self.console.summary(&Line(text.to_string()))
    }

    fn load(&self) -> Result<(Network, LoadFigures), Failure> {
        self.tell("\n1  Make a network of payments and load it")?;
        let began = Instant::now();
        let network = Network::generate(self.options.size)?;
        self.tell(format_args!(
            "   {} accounts, {} transfers in {} days, {} rings of fraud among them: made in {}",
            count(u64::from(network.accounts())),
            count(network.loaded_transfers()),
            network.days(),
            count(u64::from(network.loaded_rings())),
            time(began.elapsed()),
        ))?;
        self.cancel.check()?;
        let loaded = load(&network, self.path, self.options.engine, self.cancel)?;
        self.tell(format_args!(
            "   loaded in {}: {} rows/s; {:.1} bytes an edge in {}, both directions; {} on disk",
            time(Duration::from_secs_f64(loaded.seconds)),
            count(loaded.rows_rate() as u64),
            loaded.bytes_per_edge,
            match self.options.engine {
                engine if engine.keeps_graph_in_memory() => "memory",
                _ => "files",
            },
            size(loaded.disk_bytes),
        ))?;
        self.tell(format_args!("   database: {}", self.path.display()))?;
        Ok((network, loaded))
    }

    fn measure_disk(&self) -> Result<f64, Failure> {
        self.tell("\n2  Ask the disk what a promise costs")?;
        let synced = self.sync_disk()?;
        self.tell(format_args!(
            "   one thread: {} writes of 4 KiB a second at best, each followed by fdatasync ({} each)",
            count(synced.rate() as u64),
            precise(Duration::from_secs_f64(1.0 / synced.rate())),
        ))?;
        if synced.rate() > DiskSync::RATE_IN_MEMORY {
            self.tell(
                "   No disk is that fast: this folder lies in memory, so step 3 shows no durable commits.",
            )?;
        }
        Ok(synced.rate())
    }

    fn sync_disk(&self) -> Result<Synced, Error> {
        let folder = self.path.parent().expect("the database lies in the demo's folder");
        let synced = DiskSync::prepare(folder)?.best(DISK_ROUNDS, DISK_ROUND)?;
        self.cancel.check()?;
        Ok(synced)
    }

    fn stream(&self, network: &Network) -> Result<(Tally, Duration), Failure> {
        let PlayOptions { writers, time: wanted, .. } = self.options;
        self.tell(format_args!(
            "\n3  Write and analyse at the same time, for {}\n\
             \x20  {writers} threads of another process add transfers. Each is a transaction: an edge, and the balances\n\
             \x20  of two accounts, acknowledged when it is on disk. A thread runs PageRank (20 rounds) and a search\n\
             \x20  for rings, again and again, each time on a snapshot of that moment.\n\
             \x20  of static: PageRank's share of the speed it has on a dead copy of the same edges in plain arrays\n\
             \x20  lacks: commits that the analysed snapshot didn't have yet, when it was taken (they were on their\n\
             \x20  way to the disk) and when its PageRank was done (they came meanwhile)\n",
            time(*wanted),
        ))?;
        let booked = vec![0; *writers as usize];
        let mut writers = Writers::start(&mut self.stream_command(&booked)?, Tally::new(network, &booked))?;
        let began = self.wait_until_it_writes(&mut writers)?;
        self.tell(Ticker::header())?;
        let mut ticker = Ticker::new(began, u64::from(network.loaded_rings()));
        let line_every = if *wanted < Duration::from_secs(10) { 1 } else { 2 };
        while began.elapsed() < *wanted {
            self.look_after(&mut writers)?;
            if ticker.told().elapsed() >= Duration::from_secs(line_every) {
                let line = ticker.line(&writers.tally());
                self.tell(line)?;
            }
        }
        let process = writers.process();
        let wrote = began.elapsed();
        let tally = writers.kill()?;
        let commits = tally.latencies_us.len() as u64;
        self.tell(format_args!(
            "\n4  Kill it\n   SIGKILL to process {process} in mid-stream, after {} acknowledged commits",
            count(commits)
        ))?;
        if commits == 0 {
            let text = "no commit was acknowledged in that time: give it more --seconds";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        Ok((tally, wrote))
    }

    /// This program again, as the process that writes.
    fn stream_command(&self, booked: &[u64]) -> Result<Command, Error> {
        let program = env::current_exe().map_err(|error| {
            Error::new(ErrorKind::Io, format!("find this program's file: {error}")).because(error)
        })?;
        let booked: Vec<String> = booked.iter().map(ToString::to_string).collect();
        let NetworkSize { transfers, seed } = self.options.size;
        let mut command = Command::new(program);
        command.args(["demo", "stream"]).arg(self.path);
        command.args(["--transfers", &transfers.to_string(), "--seed", &seed.to_string()]);
        command.args(["--booked", &booked.join(",")]);
        if self.options.threads > 0 {
            command.args(["--threads", &self.options.threads.to_string()]);
        }
        Ok(command)
    }

    fn wait_until_it_writes(&self, writers: &mut Writers) -> Result<Instant, Error> {
        let began = Instant::now();
        loop {
            if let Some(began) = writers.tally().began {
                return Ok(began);
            }
            if began.elapsed() > PATIENCE {
                let text = format!("the writing process has not begun after {}", time(PATIENCE));
                return Err(Error::new(ErrorKind::Io, text));
            }
            self.look_after(writers)?;
        }
    }

    fn look_after(&self, writers: &mut Writers) -> Result<(), Error> {
        thread::sleep(LOOK_EVERY);
        // First: Ctrl-C may have ended the writing process, too.
        self.cancel.check()?;
        writers.check()
    }

    fn reopen(&self) -> Result<(f64, Database), Failure> {
        let began = Instant::now();
        let database = Database::open_with(self.path, &Options { create: false, ..Options::default() })?;
        let seconds = began.elapsed().as_secs_f64();
        let recovery = database.recovery();
        self.tell(format_args!(
            "   reopened in {}: {} of checkpoint read, {} commits replayed from the log{}",
            time(Duration::from_secs_f64(seconds)),
            size(recovery.body_bytes),
            count(recovery.commits),
            if recovery.torn_end { ", whose torn end was cut off" } else { "" },
        ))?;
        Ok((seconds, database))
    }

    fn verify(
        &self,
        database: &Database,
        network: &Network,
        accounts: &[VertexId],
        tally: &Tally,
    ) -> Result<VerifySummary, Failure> {
        self.cancel.check()?;
        let verified = verify(&database.snapshot(), network, accounts, &tally.acknowledged)?.into_result()?;
        self.tell(format_args!(
            "   verified in {}:\n\
             \x20  - {} of {} acknowledged transfers are there, as they were sent\n\
             \x20  - {} more are there in whole: begun, and not acknowledged when the process died\n\
             \x20  - {} balances are what the transfers make of them: no transaction is there by half\n\
             \x20  - all accounts together have {}, as in the beginning",
            time(Duration::from_secs_f64(verified.seconds)),
            count(verified.acknowledged_found),
            count(verified.acknowledged),
            count(verified.unacknowledged_found),
            count(verified.accounts),
            money(verified.balance_cents),
        ))?;
        Ok(verified)
    }

    /// Every byte of the closed database's files, then its graph.
    fn check(&self) -> Result<f64, Failure> {
        let began = Instant::now();
        let found = Database::check_files(self.path, &mut |_, _, _| match self.cancel.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })?;
        if !found.is_healthy() {
            let findings = found.findings.iter();
            let findings: String =
                findings.map(|finding| format!("\n  {}: {}", finding.place, finding.problem)).collect();
            let text = format!("check has {} findings:{findings}", found.findings_count);
            return Err(Error::new(ErrorKind::Corrupt, text).into());
        }
        self.tell(format_args!(
            "   evergraph check: {} of checksummed bytes, every list and every index are sound, in {}",
            size(found.bytes_count),
            time(began.elapsed())
        ))?;
        Ok(began.elapsed().as_secs_f64())
    }

    /// How well rings were found: while writing, and once more now that nothing moves.
    fn judge_rings(
        &self,
        database: &Database,
        network: &Network,
        accounts: &[VertexId],
        tally: &Tally,
        verified: &VerifySummary,
    ) -> Result<(RingScore, RingScore), Failure> {
        let mut closed: HashSet<RingKey> = network.payments.rings.iter().map(RingKey::of_planted).collect();
        for (lane, found) in (0..).zip(&verified.found_by_lane) {
            closed.extend(advanced(network.lane(lane), *found).closed_rings().map(RingKey::of_planted));
        }
        let rows: HashMap<u32, u32> = accounts.iter().map(|vertex| vertex.0).zip(0..).collect();
        let control = Control::default().with_cancel(self.cancel);
        let found = find_rings(&database.snapshot(), None, &control)?;
        let found = found.iter().map(|ring| RingKey::of_found(ring, |vertex| rows[&vertex])).collect();
        Ok((RingScore::of(&closed, &tally.rings), RingScore::of(&closed, &found)))
    }
}

/// A part of the story.
#[derive(Serialize)]
struct Line(String);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0)
    }
}

/// Euros and cents with thousands apart.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", count(cents.unsigned_abs() / 100), cents.unsigned_abs() % 100)
}

/// Half a transaction: a balance moves without a transfer.
fn take_a_cent(database: &Database) -> Result<(), Error> {
    database.transact(|transaction| {
        let account = transaction.find("Account", ID, account_id(0))?;
        let account = account.ok_or_else(|| Error::new(ErrorKind::NotFound, "the first account is gone"))?;
        let balance = transaction.get(account, "balance_cents")?.and_then(|value| value.as_i64());
        transaction.set(account, "balance_cents", balance.unwrap_or(0) - 1)
    })
}
