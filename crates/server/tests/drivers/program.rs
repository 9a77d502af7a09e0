//! Program: runs a driver's program of checks, answers its lines, and demands that all of its checks pass.

use crate::support::installed_driver::Driver;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take; they take seconds.
const PROGRAM_TIME: Duration = Duration::from_secs(300);

/// Runs a driver's program, and gives it what `answer` returns for a line that it prints. Skipped if the driver is not
/// installed.
///
/// # Panics
/// If it fails, or its last line is not how many checks passed.
pub fn run(driver: Driver, arguments: &[&str], mut answer: impl FnMut(&str) -> Option<String>) {
    let program = match driver {
        Driver::Python => "python/main.py",
        Driver::JavaScript => "javascript/main.js",
        Driver::Java => "java",
        Driver::Go => "go",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(program);
    // Below `target`, where it outlives the test that compiled it.
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some(mut command) = driver.command(&path, scratch) else { return };
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("run {command:?}: {error}"));
    let mut input = child.stdin.take().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut errors = child.stderr.take().unwrap();
    let errors = thread::spawn(move || {
        let mut bytes = Vec::new();
        errors.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap()
    });
    let (sender, receiver) = channel();
    let reader = thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let end = Instant::now() + PROGRAM_TIME;
    let mut out = Vec::new();
    loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => match answer(&line) {
                // A program that has failed reads no answer.
                // In one piece, since it may read what there is.
                Some(answer) => drop(input.write_all(format!("{answer}\n").as_bytes())),
                None => out.push(line),
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                out.push(format!("not done after {PROGRAM_TIME:?}"));
                break;
            }
        }
    }
    let status = child.wait().unwrap();
    let (out, errors) = (out.join("\n"), errors.join().unwrap());
    assert!(status.success() && out.ends_with(" passed"), "{status}\n{out}\n{errors}");
    println!("{out}");
    let _ = reader.join();
}
