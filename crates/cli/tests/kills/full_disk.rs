//! A full disk: a file system of a few megabytes in memory, which the log and a ballast fill.

use crate::bank::Bank;
use crate::file_system::in_file_system;
use crate::moments::engines;
use evergraph::EngineKind;
use std::fs;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "full_disk::commits_on_a_full_disk_are_refused_and_what_was_acknowledged_stays";

#[test]
fn commits_on_a_full_disk_are_refused_and_what_was_acknowledged_stays() {
    in_file_system(NAME, "tmpfs -o size=20m", |folder| {
        engines().into_iter().for_each(|engine| fill(engine, folder));
    });
}

/// How much is freed when the disk is full: what a checkpoint of all that fits in the log takes, and more.
const BALLAST: usize = 6 << 20;

fn fill(engine: EngineKind, folder: &Path) {
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
