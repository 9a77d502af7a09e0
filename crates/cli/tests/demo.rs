//! The demo end to end, in small: load, write and analyse, kill, reopen, verify; and that it can fail.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../../../tests/src/skips.rs"]
mod skips;

use crate::skips::skip;
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn demo(folder: &Path, seconds: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evergraph"))
        .args(["demo", "--transfers", "20000", "--seconds", seconds, "--writers", "4", "--dir"])
        .arg(folder)
        .args(more)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_demo_shows_its_figures_and_proves_that_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let played = demo(folder.path(), "3", &["--json"]);
    assert!(played.status.success(), "{}", text(&played.stderr));
    let report: Value = serde_json::from_slice(&played.stdout).unwrap();
    let number = |path: &str| report.pointer(path).unwrap_or_else(|| panic!("{path}")).as_f64().unwrap();
    assert!(number("/stream/commits") > 100.0);
    assert_eq!(number("/verified/acknowledged"), number("/stream/commits"));
    assert_eq!(number("/verified/acknowledged_found"), number("/stream/commits"));
    assert!(number("/verified/unacknowledged_found") <= 4.0);
    assert_eq!(number("/verified/findings_count"), 0.0);
    assert_eq!(number("/verified/balance_cents"), 2000.0 * 1_000_000.0);
    assert_eq!(number("/loaded/transfers"), 20_000.0);
    assert!(number("/stream/analyses") >= 1.0);
    // The network has 10 rings; chance makes others now and then, but it hides none.
    assert!(number("/rings/closed") >= 10.0);
    assert_eq!(number("/rings/found"), number("/rings/closed"));
    assert!(number("/restart_seconds") > 0.0 && number("/disk_syncs_rate") > 0.0);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the demo leaves nothing behind");
}

#[test]
fn the_demo_is_a_story_for_people_on_lines_that_fit() {
    let folder = tempfile::tempdir().unwrap();
    let played = demo(folder.path(), "2", &["--keep"]);
    assert!(played.status.success(), "{}", text(&played.stderr));
    let story = text(&played.stdout);
    for part in
        ["SIGKILL to process", "acknowledged transfers are there", "durable commits a second", "Try next"]
    {
        assert!(story.contains(part), "{part} is missing in:\n{story}");
    }
    let temporary = folder.path().to_str().unwrap();
    for line in story.lines().filter(|line| !line.contains(temporary)) {
        assert!(line.chars().count() <= 100, "too long: {line}");
        assert!(!line.contains('\u{1b}') && !line.contains('\r'), "a cursor trick: {line:?}");
    }
    let kept = folder.path().read_dir().unwrap().next().unwrap().unwrap().path().join("bank.eg");
    assert!(kept.is_dir() && story.contains(kept.to_str().unwrap()));
}

#[test]
fn ctrl_c_stops_the_writing_process_too_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut playing = Command::new(env!("CARGO_BIN_EXE_evergraph"))
        .args(["demo", "--transfers", "20000", "--seconds", "60", "--writers", "2", "--dir"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut story = BufReader::new(playing.stdout.take().unwrap()).lines();
    // The first line of figures: the other process writes.
    assert!(story.any(|line| line.unwrap().trim_start().starts_with("2 s")));
    assert!(mentioned_by_a_process(folder.path()));
    let process = playing.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    assert_eq!(playing.wait().unwrap().code(), Some(130));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    assert!(!mentioned_by_a_process(folder.path()), "the writing process is gone");
}

/// Whether the command line of any living process has `path` in it.
fn mentioned_by_a_process(path: &Path) -> bool {
    let path = path.to_str().unwrap();
    let processes = Path::new("/proc").read_dir().unwrap();
    let commands = processes.filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok());
    commands.into_iter().any(|command| String::from_utf8_lossy(&command).contains(path))
}

#[test]
fn the_demo_fails_when_a_cent_is_missing_and_leaves_the_database_to_look_at() {
    let folder = tempfile::tempdir().unwrap();
    let played = demo(folder.path(), "1", &["--sabotage", "--json"]);
    assert_eq!(played.status.code(), Some(5));
    assert!(played.stdout.is_empty());
    let told = text(&played.stderr);
    assert!(told.contains("all accounts together had 2000000000 cents, and have 1999999999 now"), "{told}");
    assert!(told.contains("the database is left in"), "{told}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

fn replica_demo_command(folder: &Path, seconds: &str) -> Command {
    let small = ["demo", "replica", "--customers", "50", "--seconds", seconds, "--rate", "50", "--dir"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    command.args(small).arg(folder);
    command
}

fn replica_demo(folder: &Path, seconds: &str, more: &[&str]) -> Option<Output> {
    if !PrivateServer::is_possible() {
        skip(HOW_TO_INSTALL);
        return None;
    }
    Some(replica_demo_command(folder, seconds).args(more).output().unwrap())
}

/// Cells of a line of figures: two spaces or more are between them.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

#[test]
fn the_demo_of_the_replica_follows_a_shop_through_a_kill_and_ends_equal() {
    let folder = tempfile::tempdir().unwrap();
    let Some(played) = replica_demo(folder.path(), "4", &[]) else { return };
    let story = text(&played.stdout);
    assert!(played.status.success(), "{story}\n{}", text(&played.stderr));
    for part in ["type = \"PURCHASE_ITEM\"", "SIGKILL to process", "started again", "in both"] {
        assert!(story.contains(part), "{part} is missing in:\n{story}");
    }
    // Before the kill and after it.
    let header =
        ["time", "vertices", "edges", "fresh p50", "p99", "PageRank", "highest rank", "best sold (Gremlin)"];
    let parts: Vec<&str> = story.split("SIGKILL to process").collect();
    assert_eq!(parts.len(), 2, "{story}");
    for part in parts {
        let mut lines = part.lines().map(cells).skip_while(|line| line[..] != header);
        assert!(lines.next().is_some(), "no header in:\n{part}");
        let figures: Vec<Vec<&str>> = lines.take_while(|line| line.len() == header.len()).collect();
        assert!(!figures.is_empty(), "no line of figures in:\n{part}");
        for line in figures {
            assert!(line[0].ends_with(" s") && line[5].ends_with('s'), "{line:?}");
            assert!(line[6].starts_with("product "), "{line:?}");
            // In the shop that is generated, about four purchases of five have the first product, and half of them the next one.
            assert_eq!(line[7], "product 1", "{line:?}");
        }
    }
    let last = story.lines().last().unwrap();
    assert!(last.ends_with(": equal") && last.contains("vertices") && last.contains("(p99)"), "{last}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the demo leaves nothing behind");
}

#[test]
fn the_demo_of_the_replica_sees_a_row_that_differs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(played) = replica_demo(folder.path(), "2", &["--sabotage", "--json"]) else { return };
    assert_eq!(played.status.code(), Some(5), "{}", text(&played.stdout));
    let told = text(&played.stderr);
    assert!(told.contains("name is \\\"customer 1\\\"") && told.contains("nobody"), "{told}");
}

/// The program believes that it runs as root, and finds no user to run a server as: PostgreSQL refuses to run as root.
#[test]
fn without_postgresql_the_demo_of_the_replica_says_how_to_install_it() {
    // The system's temporary folder may be mounted `noexec`, so that no program runs there.
    let programs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let id = programs.path().join("id");
    fs::write(&id, "#!/bin/sh\ntest \"$*\" = -u && echo 0\n").unwrap();
    fs::set_permissions(&id, Permissions::from_mode(0o755)).unwrap();
    let mut command = replica_demo_command(folder.path(), "2");
    let played = command.env("PATH", programs.path()).output().unwrap();
    let told = text(&played.stderr);
    assert_eq!(played.status.code(), Some(3), "{told}");
    assert!(told.starts_with("error: ") && told.contains(HOW_TO_INSTALL), "{told}");
    assert!(!text(&played.stdout).contains("customers, "), "no shop was filled");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "the demo leaves nothing behind");
}
