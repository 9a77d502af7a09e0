//! Processes: one that writes a database and two that read it, all killed at random; each snapshot is its commits.
//!
//! ```text
//! writer    commits the history, merges, makes checkpoints; when it was killed, another one goes on where the log ends
//! readers   begin snapshots and keep some, across writers; they compare each with the history at its timestamp
//! ```
//!
//! The writer notes each commit that returned: the next one finds them all. The last one frees what readers held that are gone: it
//! has then hardly more bytes in use than a fresh opening, see `LEFT_BYTES_MAX`.
//!
//! All rest most of the time, and work in the same moments (`turns`). Half of the kills are in such a moment; the others are at any
//! time, mostly while all rest and readers hold snapshots.
//!
//! Now and then a reader is stopped for so long that the writer, or a new one, might take it for gone. It then goes on with the
//! snapshots that it held.
//!
//! `EVERGRAPH_READERS_SECONDS` is how long; `make readers-long` takes an hour.

use crate::history::{check_look_ups, checkpoint, commit, go_on, graph_at, open_writer};
use crate::model::{Model, dump};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::{open_reader, processes};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::io::clock::{Clock as _, SystemClock};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_tests::turns::{TURN_MS, WORK_MS, rest};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Names the place whose database a child reads or writes.
const CHILD: &str = "EVERGRAPH_TEST_READERS";
/// What the last writer may have in use beyond a fresh opening, of `live` and of array files: about one generation of the bodies,
/// for all edges of thirty people are a few hundred. Readers that were killed held many.
const LEFT_BYTES_MAX: u64 = 16 << 10;
/// How long a reader is stopped: a writer asks for the lock of one whose slots say the same for a second.
const STOPPED: Duration = Duration::from_millis(1500);
/// One round of so many stops a reader; the others kill a process.
const STOP_EVERY: u64 = 16;

fn database(place: &Path) -> Arc<dyn Directory> {
    Arc::new(DiskDirectory::open(place.join("db")).unwrap())
}

/// Its file ends all children.
fn stop(place: &Path) -> PathBuf {
    place.join("stop")
}

/// A line for each commit that returned in the writer since it opened the database.
fn returned(place: &Path) -> PathBuf {
    place.join("returned")
}

/// The last commit that returned in the writer before; its kill may have cut the last line short.
fn newest_returned(place: &Path) -> Timestamp {
    let lines = std::fs::read_to_string(returned(place)).unwrap_or_default();
    let mut whole = lines.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole.next_back().map_or(Timestamp::ZERO, |line| Timestamp(line.parse().unwrap()))
}

/// Bytes of `live` and of array files that are in use.
fn bytes_in_use(writer: &OpenStore<AnyEngine>) -> [u64; 2] {
    let statistics = writer.store().engine().mapped_statistics().expect("it has the mapped engine");
    [statistics.live_bytes, statistics.file_bytes - statistics.free_bytes]
}

/// Merges and frees until nothing is kept for readers that are gone.
fn free_everything(writer: &OpenStore<AnyEngine>, directory: &dyn Directory) {
    let AnyEngine::Mapped(engine) = &**writer.store().engine() else { panic!("it has the mapped engine") };
    let (graph, clock) = (engine.graph(), SystemClock::new());
    let give_up = clock.now() + Duration::from_secs(60);
    loop {
        graph.merge_everything().unwrap();
        checkpoint(writer);
        graph.writer().clear_dead_readers(directory).unwrap();
        graph.reclaim();
        let kept = (graph.statistics().retained_versions, graph.writer().retired_count());
        if kept == (0, 0) {
            return;
        }
        assert!(clock.now() < give_up, "{kept:?} versions and blocks are kept for readers that are gone");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// No test but in a child.
#[test]
fn child_that_writes() {
    let Some(place) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let directory = database(&place);
    let writer = open_writer(&directory);
    let published = || writer.store().timeline().published();
    let (found, before) = (published(), newest_returned(&place));
    assert!(found >= before, "commit {before} returned, and {found} is the newest that is found");
    let mut returned = File::create(returned(&place)).unwrap();
    println!("ready");
    while !stop(&place).exists() {
        for at in 0..24 {
            rest();
            commit(writer.store()).unwrap();
            // In one call: whatever is killed, the lines before are whole.
            returned.write_all(format!("{}\n", published().0).as_bytes()).unwrap();
            if at % 8 == 7 {
                writer.store().engine().merge_everything();
            }
        }
        checkpoint(&writer);
    }
    free_everything(&writer, &*directory);
    let [live, arrays] = bytes_in_use(&writer);
    println!("{live} bytes of live");
    println!("{arrays} bytes of arrays");
    writer.close().unwrap();
    println!("{} commits", published().0);
}

/// No test but in a child.
#[test]
fn child_that_reads() {
    let Some(place) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let directory = database(&place);
    let reader = loop {
        match open_reader(Arc::clone(&directory), &OpenOptions::default()) {
            Ok(reader) => break reader,
            Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::NotFound) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    };
    println!("ready");
    let (mut model, mut through) = (Model::default(), Timestamp::ZERO);
    let mut kept = Vec::new();
    let mut count = 0_u64;
    while !stop(&place).exists() {
        let snapshot = reader.store().snapshot();
        let timestamp = snapshot.timestamp();
        assert!(timestamp >= through, "R only grows");
        go_on(&mut model, through, timestamp);
        through = timestamp;
        assert!(dump(&snapshot, 100) == model, "snapshot {timestamp} is not its commits");
        // With the snapshot open: it is held until the next turn.
        rest();
        check_look_ups(&snapshot, &model);
        if timestamp > Timestamp::ZERO {
            assert!(snapshot.catalogue().label("Person").is_some(), "a reader lacks names of its commits");
        }
        count += 1;
        if count.is_multiple_of(7) {
            kept.push((snapshot, model.clone()));
        }
        if let Some((old, expected)) = kept.get(count as usize % 5) {
            assert!(dump(old, 100) == *expected, "snapshot {} changed", old.timestamp());
            check_look_ups(old, expected);
        }
        if kept.len() == 5 {
            kept.swap_remove(count as usize % 5);
        }
    }
    println!("{count} snapshots");
}

/// A child. It is killed when this is dropped, also where it is stopped.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a child, and waits until it has the database open.
    fn new(place: &Path, test: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("processes::{test}"), "--nocapture"])
            .env(CHILD, place)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, output };
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert!(running.output.read_line(&mut line).unwrap() > 0, "{test} opens the database");
        }
        running
    }

    /// What it read or wrote so far is right: otherwise it would have ended.
    fn check_running(&mut self) {
        assert_eq!(self.child.try_wait().unwrap(), None, "a child has ended by itself");
    }

    fn signal(&self, signal: Signal) {
        // It is not waited for yet, so the number is still its own.
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn kill(mut self) {
        self.check_running();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; how many of each of `what` it tells of.
    fn end<const COUNTS: usize>(mut self, what: [&str; COUNTS]) -> [u64; COUNTS] {
        let lines: Vec<String> = self.output.by_ref().lines().map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success(), "a child found something else: {lines:#?}");
        what.map(|what| {
            let count = lines.iter().find_map(|line| line.strip_suffix(what)?.trim().parse().ok());
            count.expect("it says how many")
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_snapshot_is_its_commits_while_readers_and_writers_are_killed() {
    let seconds = std::env::var("EVERGRAPH_READERS_SECONDS").ok().map_or(90, |text| text.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("db")).unwrap();
    let clock = SystemClock::new();
    let mut random = SplitMix64::new(1);
    let new_writer = || Running::new(place.path(), "child_that_writes");
    let next_writer = |running: Running| {
        running.kill();
        new_writer()
    };
    let mut writer = new_writer();
    let reader = || Running::new(place.path(), "child_that_reads");
    let mut readers = vec![reader(), reader()];
    let end = clock.now() + Duration::from_secs(seconds);
    let (mut killed, mut stopped) = ((0, 0), 0);
    // On a slow machine, until some of both were killed, and a reader was stopped.
    while clock.now() < end || killed.0 < 2 || killed.1 < 2 || stopped == 0 {
        std::thread::sleep(Duration::from_millis(100 + random.next_u64() % 500));
        if random.next_u64().is_multiple_of(2) {
            rest();
            std::thread::sleep(Duration::from_millis(random.next_u64() % WORK_MS));
        }
        // Whatever it is doing.
        match random.next_u64() % STOP_EVERY {
            0 => {
                let at = random.next_u64() as usize % 2;
                readers[at].signal(Signal::STOP);
                std::thread::sleep(STOPPED);
                // Also beside a writer that finds it stopped.
                if random.next_u64().is_multiple_of(2) {
                    writer = next_writer(writer);
                    killed.0 += 1;
                }
                readers[at].signal(Signal::CONT);
                // It compares what it held, and joins the writer.
                std::thread::sleep(Duration::from_millis(2 * TURN_MS));
                readers[at].check_running();
                stopped += 1;
            }
            even if even.is_multiple_of(2) => {
                writer = next_writer(writer);
                killed.0 += 1;
            }
            _ => {
                readers.swap_remove(random.next_u64() as usize % 2).kill();
                readers.push(reader());
                killed.1 += 1;
            }
        }
    }
    std::fs::write(stop(place.path()), "").unwrap();
    let [live, arrays, commits] = writer.end([" bytes of live", " bytes of arrays", " commits"]);
    let snapshots: u64 = readers.into_iter().map(|reader| reader.end([" snapshots"])[0]).sum();
    println!(
        "{commits} commits, {snapshots} snapshots of readers that were not killed, {killed:?} killed, {stopped} \
         stopped"
    );
    assert!(commits > 0 && snapshots > 0);
    let directory = database(place.path());
    assert!(processes(&directory).unwrap().readers.is_empty());
    let last = open_writer(&directory);
    let newest = last.store().snapshot();
    assert_eq!(newest.timestamp(), Timestamp(commits), "no commit is lost");
    assert!(dump(&newest, 100) == graph_at(newest.timestamp()));
    drop(newest);
    free_everything(&last, &*directory);
    let [fresh_live, fresh_arrays] = bytes_in_use(&last);
    for (what, in_use, fresh) in [("live", live, fresh_live), ("arrays", arrays, fresh_arrays)] {
        let says = format!("{in_use} bytes of {what} are in use where a fresh opening has {fresh}");
        assert!(in_use <= fresh + LEFT_BYTES_MAX, "{says}");
    }
}
