//! Processes of servers: started for the run on a free port of this machine, ended when they are dropped.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long Evergraph may take until it is ready.
const READY_TIME: Duration = Duration::from_secs(60);
/// How often readiness is looked for.
const READY_INTERVAL: Duration = Duration::from_micros(500);
/// How long a server may take to end by itself.
const END_TIME: Duration = Duration::from_secs(30);

/// A server that runs.
pub struct ServerProcess {
    name: String,
    child: Child,
    log: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
}

/// The program `evergraph serve`, and with which options it is started.
#[derive(Clone, Copy, Debug)]
pub struct Serve<'a> {
    /// The program.
    pub program: &'a Path,
    /// The database.
    pub database: &'a Path,
    /// Further options.
    pub options: &'a [&'a str],
}

impl Serve<'_> {
    /// Starts it, and waits until it is ready. Also gives how long that took.
    ///
    /// # Errors
    /// `io` if it does not become ready, with what it said.
    pub fn start(&self) -> Result<(ServerProcess, Duration)> {
        let address = free_address()?;
        let mut command = Command::new(self.program);
        command.arg("serve").arg(self.database).args(["--listen", &address.to_string(), "--quiet"]);
        // Only what is said here counts, whatever the user of this machine has chosen.
        command.args(self.options).env("EVERGRAPH_CONFIG", "").env_remove("EVERGRAPH_PASSWORD");
        let began = Instant::now();
        let mut process = ServerProcess::start("evergraph", command, address, self.database)?;
        let has_tls = self.options.contains(&"--tls-key");
        process.wait_until(
            || if has_tls { TcpStream::connect(address).is_ok() } else { is_ready(address) },
            READY_TIME,
            READY_INTERVAL,
        )?;
        Ok((process, began.elapsed()))
    }
}

/// Whether a server says by HTTP that it is ready.
fn is_ready(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

/// A port of this machine that is free now.
///
/// # Errors
/// `io`.
pub fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener
        .and_then(|listener| listener.local_addr())
        .map_err(|error| Error::new(ErrorKind::Io, format!("find a free port: {error}")))
}

impl ServerProcess {
    /// Starts `command`, which listens at `address`; what it says goes to a file beside `folder`.
    ///
    /// # Errors
    /// `io`.
    pub fn start(name: &str, mut command: Command, address: SocketAddr, folder: &Path) -> Result<Self> {
        let log = folder.with_extension("log");
        let failed = |error| Error::new(ErrorKind::Io, format!("start {name}: {error}"));
        let output = File::create(&log).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?).stderr(output);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { name: name.to_owned(), child, log, address })
    }

    /// Waits until `is_ready`, which is asked each `interval`.
    ///
    /// # Errors
    /// `io`, with what it said, if it has ended, or is not ready within `time_max`.
    pub fn wait_until(
        &mut self,
        is_ready: impl Fn() -> bool,
        time_max: Duration,
        interval: Duration,
    ) -> Result<()> {
        let began = Instant::now();
        while !is_ready() {
            self.expect_alive()?;
            if began.elapsed() > time_max {
                return Err(self.failed("is not ready in time"));
            }
            thread::sleep(interval);
        }
        Ok(())
    }

    /// Fails if it has ended.
    ///
    /// # Errors
    /// `io`, with what it said.
    fn expect_alive(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(self.failed("has ended")),
        }
    }

    /// An error about it, with the last that it said.
    #[must_use]
    pub fn failed(&self, what: &str) -> Error {
        const LINES: usize = 20;
        let said = fs::read(&self.log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
        Error::new(ErrorKind::Io, format!("{} {what}; it said:\n{last}", self.name))
    }

    /// Bytes of its memory; 0 where the system doesn't tell.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most bytes of memory that it had since it started (peak resident set size); 0 where the system doesn't tell.
    #[must_use]
    pub fn memory_peak_bytes(&self) -> u64 {
        self.status("VmHWM:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kibibytes = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or(0) * 1024
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Asked first, so that it closes its files; nothing is measured of an end that takes too long.
        if let Some(id) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > END_TIME {
                let _ = self.child.kill();
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}
