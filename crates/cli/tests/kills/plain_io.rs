//! A file system without direct I/O: the disk engine's files are read and written through the system's cache instead,
//! which is reported, and nothing else changes.

use crate::bank::{Bank, run};
use crate::file_system::in_file_system;
use crate::moments::{Moments, engines};
use crate::skips::skipped;
use evergraph::EngineKind;
use nix::fcntl::OFlag;
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "plain_io::a_file_system_without_direct_io_does_the_same_and_it_is_reported";

/// Whether a file in `folder` may be opened for direct I/O.
fn has_direct_io(folder: &Path) -> bool {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).custom_flags(OFlag::O_DIRECT.bits());
    match options.open(folder.join("direct")) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::InvalidInput => false,
        Err(error) => panic!("neither taken nor refused: {error}"),
    }
}

/// What `stats` shows of the files, of which there are some.
fn tree(bank: &Bank) -> Value {
    run(&mut bank.command(&["checkpoint"]));
    let stats = run(&mut bank.command(&["stats", "--json"]));
    let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
    let tree = &stats["tree"];
    assert!(tree["file_bytes"].as_u64() > Some(0), "{tree}");
    assert!(tree["cache"]["misses"].as_u64() > Some(0), "files were read: {tree}");
    tree.clone()
}

#[test]
fn a_file_system_without_direct_io_does_the_same_and_it_is_reported() {
    if !engines().contains(&EngineKind::Disk) {
        return;
    }
    in_file_system(NAME, "ramfs", |folder| {
        if has_direct_io(folder) {
            skipped("ramfs has direct I/O here");
            return;
        }
        let mut moments = Moments::new();
        let mut bank = Bank::in_folder(EngineKind::Disk, tempfile::tempdir_in(folder).unwrap());
        for _ in 0..3 {
            let mut writing = bank.writing(100_000);
            bank.write_and_kill(&mut writing, moments.within(Duration::from_millis(600)));
            bank.verify();
        }
        assert_eq!(tree(&bank)["direct_io"], Value::Bool(false));
    });
}

#[test]
fn direct_io_is_reported_where_the_file_system_has_it() {
    if !engines().contains(&EngineKind::Disk) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let has_direct_io = has_direct_io(folder.path());
    let bank = Bank::in_folder(EngineKind::Disk, folder);
    assert_eq!(tree(&bank)["direct_io"], Value::Bool(has_direct_io));
}
