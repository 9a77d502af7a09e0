//! NATS servers: three of them on this machine, set up as the guide to clusters says; one leads each stream.

use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::nats::{self, ServerPorts};
use crate::process::{processor_seconds, resident_bytes};
use crate::workload::cluster::running::ready::wait;
use evergraph_cluster::log::nats::options::NatsSync;
use evergraph_cluster::running::nats_access::NatsAccess;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_report::disk_size::disk_bytes;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How many there are.
const SERVERS: usize = 3;
/// As in `docs/guide/cluster.md`, with as much room as etcd has.
const JETSTREAM: &str = "sync_interval: always, max_file_store: 8GB, max_memory_store: 256MB";

/// Servers of NATS; they end when this is dropped.
pub struct NatsServers {
    program: PathBuf,
    servers: Vec<Server>,
}

struct Server {
    ports: ServerPorts,
    /// Beside it lie its configuration and what it says.
    data: PathBuf,
    running: Option<GuardedProcess>,
}

impl NatsServers {
    /// Starts `program`, with data in `folder`, and waits until JetStream works on all of them.
    ///
    /// # Errors
    /// `io` if it does not in time, or the folder cannot be written.
    pub fn start(program: PathBuf, folder: &Path) -> Result<Self> {
        let ports = ServerPorts::of(&free_ports(3 * SERVERS));
        let server = |at: usize| {
            let data = folder.join(format!("m{at}"));
            let (file, text) =
                (data.with_extension("conf"), nats::configuration(at, &ports, &data, JETSTREAM));
            let failed =
                |error: io::Error| Error::new(ErrorKind::Io, format!("write {}: {error}", file.display()));
            fs::write(&file, text).map_err(failed)?;
            Ok(Server { ports: ports[at], data, running: None })
        };
        let servers = (0..SERVERS).map(server).collect::<Result<_>>()?;
        let mut started = Self { program, servers };
        (0..SERVERS).for_each(|at| started.run(at));
        started.wait_until_healthy()?;
        Ok(started)
    }

    /// How clients reach them, one after the other, beginning with number `first`.
    ///
    /// # Errors
    /// None: these are URLs.
    pub fn access(&self, first: usize) -> Result<NatsAccess> {
        let in_turn = (0..SERVERS).map(|turn| self.servers[(first + turn) % SERVERS].ports.clients);
        let urls = in_turn.map(|port| format!("nats://127.0.0.1:{port}").parse());
        let ports = self.servers.iter().map(|server| server.ports.monitoring);
        let monitors = ports.map(|port| format!("http://127.0.0.1:{port}").parse());
        let sync = NatsSync::Monitored(monitors.collect::<Result<_>>()?);
        Ok(NatsAccess::new(urls.collect::<Result<_>>()?, sync))
    }

    /// Kills the server that leads the stream of the log `key`, as a power cut of its machine would. Which one it was.
    ///
    /// # Errors
    /// `io` if none leads it.
    pub fn kill_leader(&mut self, key: &str) -> Result<usize> {
        let leader = self.leader_now(key)?;
        self.servers[leader].running = None;
        Ok(leader)
    }

    /// Which server leads the stream of the log `key`.
    ///
    /// # Errors
    /// `io` if none does in time.
    pub fn leader_now(&self, key: &str) -> Result<usize> {
        let stream = self.access(0)?.options(key)?.stream;
        wait("no server of NATS leads the stream of the log", || self.leader(&stream))
    }

    /// Seconds that processors have worked for each server that runs; 0 for one that does not.
    #[must_use]
    pub fn processor_seconds(&self) -> Vec<f64> {
        let running = self.servers.iter().map(|server| server.running.as_ref());
        running
            .map(|running| running.map_or(0.0, |running| processor_seconds(running.process.id())))
            .collect()
    }

    /// Starts a server that was killed, and waits until it has what the others have.
    ///
    /// # Errors
    /// `io` if it has not in time.
    pub fn start_again(&mut self, at: usize) -> Result<()> {
        self.run(at);
        self.wait_until_healthy()
    }

    /// Bytes of memory and of files, of all servers.
    #[must_use]
    pub fn bytes(&self) -> [u64; 2] {
        let running = self.servers.iter().filter_map(|server| server.running.as_ref());
        let memory = running.map(|running| resident_bytes(running.process.id()));
        // A file that goes meanwhile leaves a server out.
        let files = self.servers.iter().map(|server| disk_bytes(&server.data).unwrap_or_default());
        [memory.sum(), files.sum()]
    }

    fn run(&mut self, at: usize) {
        let server = &mut self.servers[at];
        let (configuration, log) = (server.data.with_extension("conf"), server.data.with_extension("log"));
        server.running = Some(nats::run_server(&self.program, &configuration, &log));
    }

    /// Which server leads a stream, if all that run say the same.
    fn leader(&self, stream: &str) -> Option<usize> {
        let running = self.servers.iter().filter(|server| server.running.is_some());
        let mut named = running.map(|server| {
            let about = nats::ask_monitor(server.ports.monitoring, "/jsz?accounts=true&streams=true")?;
            leader_in(&about, stream)
        });
        let first = named.next()??;
        let is_running = self.servers.get(first).is_some_and(|server| server.running.is_some());
        (is_running && named.all(|other| other == Some(first))).then_some(first)
    }

    fn wait_until_healthy(&self) -> Result<()> {
        let is_healthy = |server: &Server| nats::is_healthy(server.ports.monitoring);
        let log = self.servers[0].data.with_extension("log");
        let what = format!("servers of NATS do not serve: see {}", log.display());
        wait(&what, || self.servers.iter().all(is_healthy).then_some(()))
    }
}

/// The number of the server that leads `stream`, as a server says `about` JetStream.
fn leader_in(about: &str, stream: &str) -> Option<usize> {
    let about: Value = serde_json::from_str(about).ok()?;
    let accounts = about["account_details"].as_array()?;
    let mut streams = accounts.iter().filter_map(|account| account["stream_detail"].as_array()).flatten();
    let found = streams.find(|found| found["name"] == stream)?;
    found["cluster"]["leader"].as_str()?.strip_prefix('m')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leads_a_stream_is_found_among_all_that_a_server_has() {
        let about = r#"{"account_details": [{"name": "$SYS"}, {"name": "$G", "stream_detail": [
            {"name": "evergraph-1", "cluster": {"leader": "m0", "replicas": [{"name": "m2"}]}},
            {"name": "evergraph-2", "cluster": {"leader": "m2"}},
            {"name": "evergraph-3", "cluster": {"replicas": []}}]}]}"#;
        let leaders =
            ["evergraph-1", "evergraph-2", "evergraph-3", "evergraph"].map(|name| leader_in(about, name));
        assert_eq!(leaders, [Some(0), Some(2), None, None]);
        assert_eq!(leader_in("{}", "evergraph-1"), None);
        assert_eq!(leader_in("no JSON", "evergraph-1"), None);
    }
}
