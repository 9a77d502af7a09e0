//! Log server: a process of an engine that keeps a log, and its data.

use crate::folders::copy_folder;
use crate::guarded_process::GuardedProcess;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};

/// Runs a server, whose output is appended to the file.
type Run = Box<dyn Fn(&Path) -> GuardedProcess + Send + Sync>;

/// A server, which ends with this, or with the tests' process however that ends.
pub struct LogServer {
    url: String,
    port: u16,
    folder: PathBuf,
    run: Run,
    running: Option<GuardedProcess>,
}

impl LogServer {
    /// One that serves clients at a URL with this port, and keeps its data in a folder. It is not started.
    pub fn new(url: String, port: u16, folder: PathBuf, run: Run) -> Self {
        Self { url, port, folder, run, running: None }
    }

    /// Where clients find it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its port for clients.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its data. Beside it lie its output and its configuration, if it has one, and copies.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn start(&mut self) {
        self.running = Some((self.run)(&self.folder.with_extension("log")));
    }

    /// Everything that it has written.
    pub fn output(&self) -> String {
        fs::read_to_string(self.folder.with_extension("log")).unwrap_or_default()
    }

    /// The last lines of its output.
    pub fn output_end(&self) -> String {
        let output = self.output();
        let lines: Vec<&str> = output.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    pub fn kill(&mut self) {
        drop(self.running.take());
    }

    /// Its process, unless it was killed.
    pub fn process(&self) -> Option<Pid> {
        self.running.as_ref().map(|running| Pid::from_child(&running.process))
    }

    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.process().expect("it runs"), signal).unwrap();
    }

    /// Copies its data.
    pub fn copy_data(&self) -> PathBuf {
        assert!(self.running.is_none(), "it runs");
        let copy = self.folder.with_extension("copy");
        copy_folder(&self.folder, &copy);
        copy
    }

    /// Puts a copy in place of its data.
    pub fn restore_data(&self, copy: &Path) {
        assert!(self.running.is_none(), "it runs");
        fs::remove_dir_all(&self.folder).unwrap();
        copy_folder(copy, &self.folder);
    }
}
