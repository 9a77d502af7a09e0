//! etcd: where its program is, how a member of it is run, and whether it serves.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path, with
//! `guarded_process.rs`.

use crate::guarded_process::GuardedProcess;
use std::env;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What to do where there is no etcd.
pub const HOW_TO_INSTALL: &str = "the program etcd is not here: install version 3.4 or newer, on Debian and Ubuntu by \
    `apt install etcd-server`, or name it by EVERGRAPH_ETCD";

/// Settings of every member: few messages in memory, and a quota that no test but one reaches.
pub const SETTINGS: [&str; 5] = [
    "--snapshot-count=2000",
    "--quota-backend-bytes=268435456",
    "--logger=zap",
    "--log-outputs=stderr",
    "--bcrypt-cost=4",
];

/// The program; `None` if there is none.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("EVERGRAPH_ETCD") {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("etcd")).find(|program| program.is_file())
}

/// Flags of a single member: it elects itself after 200 ms; the default is one second.
const ALONE: [&str; 2] = ["--heartbeat-interval=20", "--election-timeout=200"];

/// Where a member listens, and whether it is alone, as flags: as one of `cluster`, the value of `--initial-cluster`.
pub fn member_flags(name: &str, data: &Path, client_url: &str, peer_url: &str, cluster: &str) -> Vec<String> {
    let mut flags = vec![
        format!("--name={name}"),
        format!("--data-dir={}", data.display()),
        format!("--listen-client-urls={client_url}"),
        format!("--advertise-client-urls={client_url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster={cluster}"),
    ];
    if !cluster.contains(',') {
        flags.extend(ALONE.map(str::to_owned));
    }
    flags
}

/// Runs a member, whose output is appended to the file `log`.
///
/// # Panics
/// If it cannot be run.
pub fn run_member(program: &Path, arguments: &[String], log: &Path) -> GuardedProcess {
    // Without variables that set what flags leave open.
    GuardedProcess::start(Command::new(program).args(arguments).env_clear(), log)
}

/// Whether the member that listens for clients at this port of the loopback serves, as one of a majority.
pub fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET /health HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.contains("\"health\":\"true\""))
}
