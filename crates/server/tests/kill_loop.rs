//! The real program, killed with SIGKILL again and again in mid-write, on one database.
//!
//! Each cycle opens what the last one left, writes durable transactions from several threads (with
//! checkpoints every few hundred kilobytes of log, so that some kills hit one), and is killed at a random
//! moment. After each, everything that was ever acknowledged, in this cycle or an earlier one, must be
//! there, nothing by half, and `check` must find nothing.
//!
//! EVERGRAPH_KILL_CYCLES sets the number of cycles (10), EVERGRAPH_KILL_SEED the moments.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SIZE: [&str; 2] = ["--transfers", "5000"];
const WRITERS: usize = 6;

fn evergraph(arguments: &[&str], database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.args(arguments).arg(database);
    command
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}:\n{out}{error}", output.status);
    output
}

fn list(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Writes to the database until it is killed after about `time`; how far each writer was acknowledged.
fn write_and_kill(database: &Path, booked: &[u64], time: Duration) -> Vec<u64> {
    let mut child = evergraph(&["demo", "stream"], database)
        .args(SIZE)
        .args(["--booked", &list(booked), "--checkpoint-after-bytes", "300000", "--no-analysis"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "it opens the database and begins");
    let killer = thread::spawn(move || {
        thread::sleep(time);
        child.kill().unwrap();
        child.wait().unwrap()
    });
    let mut acknowledged = booked.to_vec();
    for line in said.lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let ["booked", reference, _] = words[..] else { panic!("an unknown message: {line}") };
        let reference: u64 = reference.parse().unwrap();
        let (lane, sequence) = ((reference >> 40) as usize, reference & ((1 << 40) - 1));
        assert_eq!(sequence, acknowledged[lane], "transfers of a writer are acknowledged in order");
        acknowledged[lane] += 1;
    }
    assert!(!killer.join().unwrap().success(), "it was killed, and did not end by itself");
    acknowledged
}

#[test]
fn every_acknowledged_commit_survives_any_number_of_kills() {
    let number = |name: &str| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cycles = number("EVERGRAPH_KILL_CYCLES").unwrap_or(10);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut seed = number("EVERGRAPH_KILL_SEED").unwrap_or(clock.as_nanos() as u64);
    println!("EVERGRAPH_KILL_SEED={seed}");

    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("bank.eg");
    run(evergraph(&["demo", "load"], &database).args(SIZE));
    let mut booked = vec![0; WRITERS];
    let mut checkpoints = BTreeSet::new();
    for cycle in 0..cycles {
        // An LCG will do: moments need not be good random numbers.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let time = Duration::from_millis(50 + (seed >> 33) % 700);
        let acknowledged = write_and_kill(&database, &booked, time);
        // First of all: opening tidies up.
        run(&mut evergraph(&["check"], &database));
        checkpoints.extend(names(&database).filter(|name| name.starts_with("bodies-")));
        let verified = run(evergraph(&["--json", "demo", "verify"], &database)
            .args(SIZE)
            .args(["--acknowledged", &list(&acknowledged)]));
        let verified: Value = serde_json::from_slice(&verified.stdout).unwrap();
        let found: Vec<u64> = serde_json::from_value(verified["found_by_lane"].clone()).unwrap();
        for (found, acknowledged) in found.iter().zip(&acknowledged) {
            assert!((0..=1).contains(&(found - acknowledged)), "cycle {cycle}: {found} of {acknowledged}");
        }
        println!("cycle {cycle}: {} transfers after {time:?}", found.iter().sum::<u64>());
        booked = found;
    }
    assert!(booked.iter().sum::<u64>() > 100 * cycles, "hardly anything was written: {booked:?}");
    assert!(checkpoints.len() > 2, "hardly a checkpoint was made: {checkpoints:?}");
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap())
}
