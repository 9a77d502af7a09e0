//! A full disk: a file system of a few megabytes in memory, which the log fills.
//!
//! It is mounted in a namespace of its own, by root or where users may; elsewhere the test says that it is
//! skipped.

use crate::bank::Bank;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

/// Set for the test's own process inside the namespace: the mounted folder.
const INSIDE: &str = "EVERGRAPH_SMALL_DISK";
const NAME: &str = "full_disk::commits_on_a_full_disk_are_refused_and_what_was_acknowledged_stays";

#[test]
fn commits_on_a_full_disk_are_refused_and_what_was_acknowledged_stays() {
    if let Some(folder) = env::var_os(INSIDE) {
        fill(folder.to_str().unwrap());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.env(INSIDE, folder.path()).stdin(Stdio::null());
        command
    };
    let mount = format!("mount -t tmpfs -o size=12m evergraph \"${INSIDE}\"");
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

fn fill(folder: &str) {
    let mut bank = Bank::in_folder(tempfile::tempdir_in(folder).unwrap());
    for cycle in 0..3 {
        let mut writing = bank.writing(1 << 40);
        let ended = bank.write_and_kill(&mut writing, Duration::from_secs(60));
        let code = ended.status.code();
        assert_eq!(code, Some(6), "a full disk is a limit: {}", ended.error);
        assert!(ended.error.contains("bank.eg"), "{}", ended.error);
        println!("{} acknowledged before the disk was full: {}", bank.booked(), ended.error.trim());
        if cycle == 0 {
            // It opens and is read though nothing can be written.
            bank.verify();
        }
        // Room again: a checkpoint lets the log go.
        let ballast = bank.folder().join("ballast");
        crate::bank::run(&mut bank.command(&["checkpoint"]));
        bank.verify();
        if cycle == 1 {
            fs::write(ballast, vec![7; 1 << 20]).unwrap();
        }
    }
    assert!(bank.booked() > 0, "nothing was written");
}
