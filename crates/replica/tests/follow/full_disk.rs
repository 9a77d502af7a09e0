//! With a real PostgreSQL and a small disk, which is full for a while: the error says which folder and what to do, the graph can be
//! read, and when there is space again nothing is missing.

use crate::follower::{Follower, WAIT_MAX, catch_up};
use crate::postgres::{TABLES, assert_equal};
use crate::server::{TestServer, run_sql};
use crate::shop;
use crate::skips::skipped;
use evergraph::{Options, ReadByName as _};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::status::ReplicaState;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const DISK_MEBIBYTES: u32 = 48;

/// A disk of its own, in memory.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None`, and a line that says so, where this process may not mount one.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={DISK_MEBIBYTES}m");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        // `a_full_disk_is_waited_out_and_nothing_is_lost` of failures.rs needs no disk.
        skipped("this process may not mount a disk of its own");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no byte.
    fn fill(&self) {
        let mut ballast = File::create(self.path().join("ballast")).unwrap();
        for bytes in [1 << 20, 4096, 1] {
            let error = loop {
                if let Err(error) = ballast.write_all(&vec![7; bytes]) {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
    }

    fn free(&self) {
        fs::remove_file(self.path().join("ballast")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Whatever is open in it may be so for a moment longer.
        let _left = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Waits for a broken stream whose error has all of `parts`.
fn wait_for_error(replica: &Replica, parts: &[&str]) {
    let began = Instant::now();
    loop {
        let status = replica.status();
        let is_told = |error: &String| parts.iter().all(|part| error.contains(part));
        if status.state == ReplicaState::Reconnecting && status.last_error.as_ref().is_some_and(is_told) {
            return;
        }
        assert!(began.elapsed() < WAIT_MAX, "not {parts:?}: {status:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_disk_that_is_full_is_named_and_waited_out() {
    let Some(server) = TestServer::shared() else { return };
    let Some(disk) = SmallDisk::mount() else { return };
    let there = server.database();
    there.run(&format!("{TABLES}; INSERT INTO owner VALUES (1, 'a')"));
    let mut follower = Follower::within(disk.path(), there.settings(), shop::MAPPING);
    // Beyond a fourth of it, transactions in progress go to a file.
    follower.memory_bytes = 4 << 20;
    let database = follower.open_with(Options { log_file_bytes: 1 << 20, ..Options::default() });
    let replica = follower.start(&database);
    catch_up(&replica);
    let folder = disk.path().to_str().unwrap();

    // The database's own files.
    disk.fill();
    let mut writer = there.connect();
    for part in 0..8 {
        let (first, last) = (500 * part + 1, 500 * (part + 1));
        run_sql(
            &mut writer,
            &format!(
                "INSERT INTO item SELECT n, 1, repeat('x', 1000) FROM generate_series({first}, {last}) n"
            ),
        );
    }
    let parts = ["no space for", folder, "free some"];
    wait_for_error(&replica, &parts);
    // Its status cannot be written either, which hides that for moments at most: while it tries again.
    let (mut told, mut hidden) = (0, 0);
    let began = Instant::now();
    // On a slow machine a try takes longer, and then the waits between them grow.
    while told + hidden < 50 || (told <= 4 * hidden && began.elapsed() < WAIT_MAX) {
        let status = replica.status();
        let is_told = status.last_error.is_some_and(|error| parts.iter().all(|part| error.contains(part)));
        let count = if is_told { &mut told } else { &mut hidden };
        *count += 1;
        assert_eq!(status.state, ReplicaState::Reconnecting, "that the source answers is not enough");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(told > 4 * hidden, "{told} and {hidden}");
    let snapshot = database.snapshot();
    assert!(snapshot.find("Owner", "id", 1).unwrap().is_some());
    assert!(snapshot.vertices(Some("Item")).unwrap().len() < 4000);
    disk.free();
    assert_equal(&replica, &mut writer);

    // Its temporary ones.
    disk.fill();
    run_sql(
        &mut writer,
        "BEGIN; INSERT INTO item SELECT n, 1, repeat('y', 1000) FROM generate_series(5001, 13000) n",
    );
    wait_for_error(
        &replica,
        &["a temporary file of the replica", folder, "the disk is full; make space there"],
    );
    disk.free();
    run_sql(&mut writer, "COMMIT");
    assert_equal(&replica, &mut writer);
    replica.stop().unwrap();
    database.close().unwrap();
}
