//! Ctrl-C and SIGTERM: the first one asks, the second one doesn't wait.

use crate::support::{Folder, Ran, program};
use std::process::{Child, Command, Stdio};
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

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
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
    sleep(Duration::from_millis(500));
    let asked = Instant::now();
    send(signal, &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert!(asked.elapsed() < Duration::from_secs(5));
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
    let input = child.stdin.take();
    sleep(Duration::from_millis(500));
    send("-INT", &child);
    sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    send("-INT", &child);
    let ran = Ran::of(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(ran.code, Some(130));
    assert!(!folder.path("a.eg").exists());
}
