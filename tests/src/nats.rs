//! NATS: where its server's program is, how a server is set up and run, and whether it serves.
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

/// What to do where there is no server.
pub const HOW_TO_INSTALL: &str = "the program nats-server is not here: `make cluster-nats` fetches it, or name one of version 2.12 \
    or newer by EVERGRAPH_NATS";

/// The program; `None` if there is none.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("EVERGRAPH_NATS") {
        return Some(named.into());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("nats-server")).find(|program| program.is_file())
}

/// Where a server listens, on the loopback.
#[derive(Clone, Copy, Debug)]
pub struct ServerPorts {
    /// For clients.
    pub clients: u16,
    /// For whoever asks how it is.
    pub monitoring: u16,
    /// For the other servers.
    pub routes: u16,
}

impl ServerPorts {
    /// The ports of each server: `ports` has three for each.
    #[must_use]
    pub fn of(ports: &[u16]) -> Vec<Self> {
        let each = ports.chunks_exact(3);
        each.map(|ports| Self { clients: ports[0], monitoring: ports[1], routes: ports[2] }).collect()
    }
}

/// The configuration of the server `number` of `all`, whose data lies in `data`. `jetstream` has settings of JetStream, such as
/// `sync_interval: always`.
#[must_use]
pub fn configuration(number: usize, all: &[ServerPorts], data: &Path, jetstream: &str) -> String {
    proxied_configuration(number, all[number], all, data, jetstream)
}

/// The same for a server that itself listens at `own`, while clients and servers reach `all` of them at other ports, those of proxies.
#[must_use]
pub fn proxied_configuration(
    number: usize,
    own: ServerPorts,
    all: &[ServerPorts],
    data: &Path,
    jetstream: &str,
) -> String {
    let ServerPorts { clients, monitoring, routes } = own;
    let reached = all[number];
    let mut text = format!(
        "server_name: m{number}\nlisten: \"127.0.0.1:{clients}\"\nclient_advertise: \"127.0.0.1:{}\"\n\
         http: \"127.0.0.1:{monitoring}\"\njetstream {{ store_dir: \"{}\", {jetstream} }}\n",
        reached.clients,
        data.display()
    );
    if all.len() > 1 {
        let others: Vec<String> =
            all.iter().map(|ports| format!("nats://127.0.0.1:{}", ports.routes)).collect();
        text += &format!(
            "cluster {{ name: test, listen: \"127.0.0.1:{routes}\", advertise: \"127.0.0.1:{}\", routes: [{}] }}\n",
            reached.routes,
            others.join(", ")
        );
    }
    text
}

/// Runs a server by its configuration file, whose output is appended to the file `log`.
///
/// # Panics
/// If it cannot be run.
pub fn run_server(program: &Path, configuration: &Path, log: &Path) -> GuardedProcess {
    GuardedProcess::start(Command::new(program).arg("-c").arg(configuration), log)
}

/// What a server answers at its monitoring port, on the loopback; `None` if it is not fine, or nobody answers.
pub fn ask_monitor(port: u16, path: &str) -> Option<String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_fine = head.lines().next()?.contains(" 200 ");
    is_fine.then(|| body.to_owned())
}

/// Whether a server is one of a cluster whose JetStream works.
pub fn is_healthy(monitoring_port: u16) -> bool {
    ask_monitor(monitoring_port, "/healthz").is_some()
}
