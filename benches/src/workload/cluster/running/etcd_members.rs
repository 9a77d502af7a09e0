//! Etcd members: three of them on this machine, set up as the guide to clusters says; one leads.

use crate::etcd::{member_flags, run_member};
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::process::{processor_seconds, resident_bytes};
use crate::workload::cluster::running::http;
use crate::workload::cluster::running::ready::wait;
use evergraph_cluster::running::etcd_access::EtcdAccess;
use evergraph_graph::error::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// How many there are.
pub const MEMBERS: usize = 3;
/// As in `docs/guide/cluster.md`.
const SETTINGS: [&str; 4] =
    ["--snapshot-count=2000", "--quota-backend-bytes=8589934592", "--logger=zap", "--log-outputs=stderr"];

/// Members of etcd; they end when this is dropped.
pub struct EtcdMembers {
    program: PathBuf,
    members: Vec<Member>,
}

struct Member {
    port: u16,
    data: PathBuf,
    arguments: Vec<String>,
    running: Option<GuardedProcess>,
}

impl EtcdMembers {
    /// Starts `program`, with data in `folder`, and waits until a member leads all of them.
    ///
    /// # Errors
    /// `io` if none does in time.
    pub fn start(program: PathBuf, folder: &Path) -> Result<Self> {
        let ports = free_ports(2 * MEMBERS);
        let (clients, peers) = ports.split_at(MEMBERS);
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let all: Vec<String> =
            peers.iter().enumerate().map(|(at, peer)| format!("m{at}={}", url(*peer))).collect();
        let member = |at: usize| {
            let data = folder.join(format!("m{at}"));
            let (client, peer) = (url(clients[at]), url(peers[at]));
            let mut arguments = member_flags(&format!("m{at}"), &data, &client, &peer, &all.join(","));
            arguments.push(format!("--initial-cluster-token=evergraph-bench-{}", peers[0]));
            arguments.extend(SETTINGS.map(str::to_owned));
            Member { port: clients[at], data, arguments, running: None }
        };
        let mut started = Self { program, members: (0..MEMBERS).map(member).collect() };
        (0..MEMBERS).for_each(|at| started.run(at));
        started.wait_for_leader()?;
        Ok(started)
    }

    /// How clients reach them, one after the other, beginning with number `first`.
    ///
    /// # Errors
    /// None: these are URLs.
    pub fn access(&self, first: usize) -> Result<EtcdAccess> {
        let in_turn = (0..MEMBERS).map(|turn| &self.members[(first + turn) % MEMBERS]);
        let urls = in_turn.map(|member| format!("http://127.0.0.1:{}", member.port).parse());
        Ok(EtcdAccess::new(urls.collect::<Result<_>>()?))
    }

    /// Kills the member that leads, as a power cut of its machine would. Which one it was.
    ///
    /// # Errors
    /// `io` if none leads.
    pub fn kill_leader(&mut self) -> Result<usize> {
        let leader = self.wait_for_leader()?;
        self.members[leader].running = None;
        Ok(leader)
    }

    /// Starts a member that was killed, and waits until it follows.
    ///
    /// # Errors
    /// `io` if it does not in time.
    pub fn start_again(&mut self, at: usize) -> Result<()> {
        self.run(at);
        self.wait_for_leader().map(drop)
    }

    /// Bytes of memory and of files, of all members.
    #[must_use]
    pub fn bytes(&self) -> [u64; 2] {
        let running = self.members.iter().filter_map(|member| member.running.as_ref());
        let memory = running.map(|running| resident_bytes(running.process.id()));
        let files = self.members.iter().map(|member| {
            let database = member.data.join("member/snap/db");
            fs::metadata(database).map_or(0, |metadata| metadata.len())
        });
        [memory.sum(), files.sum()]
    }

    /// Which member leads.
    ///
    /// # Errors
    /// `io` if none does in time.
    pub fn leader_now(&self) -> Result<usize> {
        self.wait_for_leader()
    }

    /// Seconds that processors have worked for each member that runs; 0 for one that does not.
    #[must_use]
    pub fn processor_seconds(&self) -> Vec<f64> {
        let running = self.members.iter().map(|member| member.running.as_ref());
        running
            .map(|running| running.map_or(0.0, |running| processor_seconds(running.process.id())))
            .collect()
    }

    fn run(&mut self, at: usize) {
        let member = &mut self.members[at];
        let log = member.data.with_extension("log");
        member.running = Some(run_member(&self.program, &member.arguments, &log));
    }

    /// Waits until all members that run have the same leader. Which one leads.
    fn wait_for_leader(&self) -> Result<usize> {
        let log = self.members[0].data.with_extension("log");
        wait(&format!("no member of etcd leads: see {}", log.display()), || self.leader())
    }

    /// Which member leads, if all that run follow one.
    fn leader(&self) -> Option<usize> {
        let metrics: Vec<Option<String>> =
            self.members.iter().map(|member| http::get(member.port, "/metrics")).collect();
        let says = |at: usize, what: &str| {
            metrics[at].as_ref().is_some_and(|text| text.lines().any(|line| line == what))
        };
        let runs = |at: &usize| self.members[*at].running.is_some();
        let follow = (0..MEMBERS).filter(runs).all(|at| says(at, "etcd_server_has_leader 1"));
        let leader = (0..MEMBERS).filter(runs).find(|at| says(*at, "etcd_server_is_leader 1"));
        leader.filter(|_| follow)
    }
}
