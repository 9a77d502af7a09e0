//! etcd: where its program is, and members of it that end with the process of the tests, however that ends.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path.

use std::env;
use std::fs::OpenOptions;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

/// Kills the process `$1` when its input ends: when the process of the tests ends.
const GUARDIAN: &str = "trap '' INT TERM HUP; cat >/dev/null; kill -KILL \"$1\"";

/// The program; `None` if there is none.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("EVERGRAPH_ETCD") {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("etcd")).find(|program| program.is_file())
}

/// Ports of the loopback that nobody has now, all different.
///
/// # Panics
/// If the system has none.
pub fn free_ports(count: usize) -> Vec<u16> {
    let bound: Vec<_> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("there is a free port")).collect();
    bound.iter().map(|listener| listener.local_addr().expect("it is bound").port()).collect()
}

/// Where a member listens, as flags: as one of `cluster`, the value of `--initial-cluster`.
pub fn member_flags(name: &str, data: &Path, client_url: &str, peer_url: &str, cluster: &str) -> Vec<String> {
    vec![
        format!("--name={name}"),
        format!("--data-dir={}", data.display()),
        format!("--listen-client-urls={client_url}"),
        format!("--advertise-client-urls={client_url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster={cluster}"),
    ]
}

/// A member that runs until this is dropped.
pub struct RunningMember {
    /// Its process.
    pub process: Child,
    guardian: Child,
}

impl RunningMember {
    /// Runs `program`, whose output is appended to the file `log`.
    ///
    /// # Panics
    /// If it cannot be run.
    pub fn start(program: &Path, arguments: &[String], log: &Path) -> Self {
        let output = || {
            let opened = OpenOptions::new().create(true).append(true).open(log);
            opened.expect("its folder can be written")
        };
        let mut command = Command::new(program);
        // Without variables that set what flags leave open. Ctrl-C at a terminal is for the tests, which end it
        // themselves.
        command.args(arguments).env_clear().process_group(0);
        command.stdin(Stdio::null()).stdout(output()).stderr(output());
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

impl Drop for RunningMember {
    fn drop(&mut self) {
        // The guardian first: later the number may be another process'. One that has ended is not there any more.
        for process in [&mut self.guardian, &mut self.process] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
