//! The demo end to end, in small: load, write and analyse, kill, reopen, verify; and that it can fail.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn demo(folder: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evergraph"))
        .args(["demo", "--transfers", "20000", "--seconds", "3", "--writers", "4", "--dir"])
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
    let played = demo(folder.path(), &["--json"]);
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
    let played = demo(folder.path(), &["--keep"]);
    assert!(played.status.success(), "{}", text(&played.stderr));
    let story = text(&played.stdout);
    for part in ["SIGKILL to process", "acknowledged transfers are there", "durable commits/s", "Try next"] {
        assert!(story.contains(part), "{part} is missing in:\n{story}");
    }
    let temporary = folder.path().to_str().unwrap();
    for line in story.lines().filter(|line| !line.contains(temporary)) {
        assert!(line.chars().count() <= 110, "too long: {line}");
        assert!(!line.contains('\u{1b}') && !line.contains('\r'), "a cursor trick: {line:?}");
    }
    let kept = folder.path().read_dir().unwrap().next().unwrap().unwrap().path().join("bank.eg");
    assert!(kept.is_dir() && story.contains(kept.to_str().unwrap()));
}

#[test]
fn the_demo_fails_when_a_cent_is_missing_and_leaves_the_database_to_look_at() {
    let folder = tempfile::tempdir().unwrap();
    let played = demo(folder.path(), &["--sabotage", "--json"]);
    assert_eq!(played.status.code(), Some(5));
    assert!(played.stdout.is_empty());
    let told = text(&played.stderr);
    assert!(told.contains("all accounts together had 2000000000 cents, and have 1999999999 now"), "{told}");
    assert!(told.contains("the database is left in"), "{told}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}
