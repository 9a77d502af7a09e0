//! A full disk: a file system of a few megabytes in memory, which the log and a ballast fill, or the temporary files of an
//! import.

use crate::bank::{Bank, run};
use crate::file_system::in_file_system;
use crate::import::counts;
use crate::moments::engines;
use evergraph::EngineKind;
use std::fmt::Write as _;
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
    for cycle in 0..2 {
        fs::write(&ballast, vec![7; BALLAST]).unwrap();
        let mut writing = bank.writing(1 << 40);
        let ended = bank.write_and_kill(&mut writing, Duration::from_secs(60));
        let code = ended.status.code();
        assert_eq!(code, Some(6), "a full disk is a limit: {}", ended.error);
        assert!(ended.error.contains("bank.eg"), "{}", ended.error);
        println!("{engine}: {} acknowledged before the disk was full: {}", bank.booked(), ended.error.trim());
        if cycle == 0 {
            // It opens and is read though nothing can be written.
            verify_on_full_disk(&mut bank, engine);
        }
        // On the full disk a checkpoint may be refused, and then nothing has changed.
        let refused = bank.command(&["checkpoint"]).output().unwrap();
        assert!(matches!(refused.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&refused.stderr));
        verify_on_full_disk(&mut bank, engine);
        // Room again: it lets the log go.
        fs::remove_file(&ballast).unwrap();
        run(&mut bank.command(&["checkpoint"]));
        bank.verify();
    }
    assert!(bank.booked() > 0, "nothing was written");
}

/// All of it is read on a full disk; with the mapped engine, whose changes lie in a file, if that finds room.
fn verify_on_full_disk(bank: &mut Bank, engine: EngineKind) {
    let checked = bank.command(&["check"]).output().unwrap();
    let error = String::from_utf8_lossy(&checked.stderr);
    if engine == EngineKind::Mapped && checked.status.code() == Some(6) {
        assert!(error.contains("/live: No space left on device"), "{error}");
        return;
    }
    assert!(checked.status.success(), "{error}");
    bank.verify();
}

const IMPORT: &str =
    "full_disk::an_import_whose_temporary_files_fill_a_disk_says_what_helps_and_changes_nothing";

#[test]
fn an_import_whose_temporary_files_fill_a_disk_says_what_helps_and_changes_nothing() {
    in_file_system(IMPORT, "tmpfs -o size=256k", |folder| {
        engines().into_iter().for_each(|engine| import(engine, folder));
    });
}

/// Imports a table in little memory, with temporary files in `full`, and then elsewhere.
fn import(engine: EngineKind, full: &Path) {
    const PEOPLE: u64 = 60_000;
    let mut bank = Bank::new(engine);
    let people = bank.folder().join("people.csv");
    let mut rows = String::from("id:ID,name\n");
    (0..PEOPLE).for_each(|person| writeln!(rows, "p{person},the name of {person}").unwrap());
    fs::write(&people, rows).unwrap();
    let import = |bank: &Bank, temporary: &Path| {
        let mut command = bank.command(&["--quiet", "import"]);
        command.args(["--memory", "256KiB", "--temporary"]).arg(temporary);
        command.arg("--nodes").arg(format!("Someone={}", people.display()));
        command
    };
    let refused = import(&bank, full).output().unwrap();
    let (code, refused) = (refused.status.code(), String::from_utf8_lossy(&refused.stderr).into_owned());
    assert_eq!(code, Some(6), "a full disk is a limit: {refused}");
    let folder = full.display().to_string();
    for part in [&folder[..], "the disk is full", "--temporary", "--memory"] {
        assert!(refused.contains(part), "`{part}` is missing: {refused}");
    }
    assert_eq!(fs::read_dir(full).unwrap().count(), 0, "no temporary file is left");
    bank.verify();
    assert_eq!(counts(&bank, "Someone", "").0, 0, "nothing of the import is there");
    run(&mut import(&bank, bank.folder()));
    assert_eq!(counts(&bank, "Someone", "").0, PEOPLE);
    bank.verify();
}
