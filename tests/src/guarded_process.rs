//! Guarded process: a program that ends with the process of the tests, however that ends.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use std::fs::OpenOptions;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Kills the process `$1` when its input ends: when the process of the tests ends.
const GUARDIAN: &str = "trap '' INT TERM HUP; cat >/dev/null; kill -KILL \"$1\"";

/// A process that runs until this is dropped: it is killed then.
pub struct GuardedProcess {
    /// The process.
    pub process: Child,
    guardian: Child,
}

impl GuardedProcess {
    /// Starts `command`, whose output is appended to the file `log`.
    ///
    /// # Panics
    /// If it cannot be run.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        let output = || {
            let opened = OpenOptions::new().create(true).append(true).open(log);
            opened.expect("its folder can be written")
        };
        // Ctrl-C at a terminal is for the tests, which end it themselves.
        command.process_group(0).stdin(Stdio::null()).stdout(output()).stderr(output());
        let process = command.spawn().expect("it is a program");
        let guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "guardian", &process.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        Self { process, guardian }
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        // The guardian first: later the number may be another process'. One that has ended is not there any more.
        for process in [&mut self.guardian, &mut self.process] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
