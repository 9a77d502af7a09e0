//! A full disk: a file system of a few megabytes in memory, which the log and a ballast fill.
//!
//! It is mounted in a namespace of its own, by root or where users may; elsewhere the test says that it is
//! skipped.

use crate::bank::Bank;
use crate::moments::engines;
use evergraph::EngineKind;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

/// Set for the test's own process inside the namespace: the mounted folder.
const INSIDE: &str = "EVERGRAPH_SMALL_DISK";
const NAME: &str = "full_disk::commits_on_a_full_disk_are_refused_and_what_was_acknowledged_stays";

#[test]
fn commits_on_a_full_disk_are_refused_and_what_was_acknowledged_stays() {
    if let Some(folder) = env::var_os(INSIDE) {
        engines().into_iter().for_each(|engine| fill(engine, folder.to_str().unwrap()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.env(INSIDE, folder.path()).stdin(Stdio::null());
        command
    };
    let mount = format!("mount -t tmpfs -o size=20m evergraph \"${INSIDE}\"");
    let may_mount = unshare(&mount).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    if !may_mount {
        crate::moments::skipped("a file system may not be mounted here");
        return;
    }
    let itself = env::current_exe().unwrap();
    let script = format!("{mount} && exec \"$0\" --exact {NAME} --nocapture");
    let inside = unshare(&script).arg(itself).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&inside.stdout), String::from_utf8_lossy(&inside.stderr));
    println!("{out}");
    assert!(inside.status.success(), "inside the small file system: {}\n{error}", inside.status);
}

/// How much is freed when the disk is full: what a checkpoint of all that fits in the log takes, and more.
const BALLAST: usize = 6 << 20;

fn fill(engine: EngineKind, folder: &str) {
    let mut bank = Bank::in_folder(engine, tempfile::tempdir_in(folder).unwrap());
    let ballast = bank.folder().join("ballast");
    for cycle in 0..3 {
        fs::write(&ballast, vec![7; BALLAST]).unwrap();
        let mut writing = bank.writing(1 << 40);
        let ended = bank.write_and_kill(&mut writing, Duration::from_secs(60));
        let code = ended.status.code();
        assert_eq!(code, Some(6), "a full disk is a limit: {}", ended.error);
        assert!(ended.error.contains("bank.eg"), "{}", ended.error);
        println!("{engine}: {} acknowledged before the disk was full: {}", bank.booked(), ended.error.trim());
        if cycle == 0 {
            // It opens and is read though nothing can be written.
            bank.verify();
        }
        // On the full disk a checkpoint may be refused, and then nothing has changed.
        let refused = bank.command(&["checkpoint"]).output().unwrap();
        assert!(matches!(refused.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&refused.stderr));
        bank.verify();
        // Room again: it lets the log go.
        fs::remove_file(&ballast).unwrap();
        crate::bank::run(&mut bank.command(&["checkpoint"]));
        bank.verify();
    }
    assert!(bank.booked() > 0, "nothing was written");
}
