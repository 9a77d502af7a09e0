//! Ctrl-C and SIGTERM: the first one asks, the second one doesn't wait.

use crate::support::{
    Folder, Ran, eventually, program, send, wait_until_it_catches_signals, wait_until_it_waits_for_more,
};
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    program()
        .args(arguments)
        .current_dir(folder.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn an_interrupted_run_is_cancelled_and_leaves_no_file() {
    let folder = Folder::with_bank();
    for signal in ["-INT", "-TERM"] {
        cancelled_by(signal, &folder);
    }
    folder.run(&["check", "bank.eg"]).succeeded();
}

fn cancelled_by(signal: &str, folder: &Folder) {
    let command = ["run", "bank.eg", "pagerank", "--iterations", "4000000000", "--output", "ranks.csv"];
    let child = start(folder, &command);
    wait_until_it_catches_signals(&child);
    // In the midst of it, mostly.
    sleep(Duration::from_millis(300));
    let asked = Instant::now();
    send(signal, &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(60));
    ran.failed(130, &["cancelled"]);
    let names: Vec<_> =
        std::fs::read_dir(folder.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["bank.eg"]);
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let folder = Folder::new();
    // It waits for a line that never comes, where no flag is looked at.
    let mut child = start(&folder, &["import", "a.eg", "-"]);
    let mut input = child.stdin.take().unwrap();
    wait_until_it_catches_signals(&child);
    let rows: String = (0..1 << 17).map(|id| format!("{id},Person\n")).collect();
    write!(input, "id:ID,:LABEL\n{rows}").unwrap();
    wait_until_it_waits_for_more(&child, rows.len());
    send("-INT", &child);
    sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "the first one asks");
    // One that comes before the program has seen the first one is the same one.
    eventually("it ends", || {
        let has_ended = child.try_wait().unwrap().is_some();
        if !has_ended {
            send("-INT", &child);
        }
        has_ended
    });
    let ran = Ran::of(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(ran.code, Some(130));
    assert!(!folder.path("a.eg").exists());
}
