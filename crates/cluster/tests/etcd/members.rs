//! Members of etcd of one test's own: made, started, killed, stopped, started again, and removed when the test is over.

use crate::etcd;
use crate::folders::copy_folder;
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::http;
use crate::skips::skip;
use crate::test_log::{TestLog, wait_until};
use evergraph_cluster::log::etcd::options::{EtcdEndpoint, EtcdOptions};
use evergraph_storage::sync::{Mutex, MutexGuard};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The test that has members: each takes memory and disk, and all of them together would hold up each other's
/// elections.
static TURN: LazyLock<Mutex<()>> = LazyLock::new(|| Mutex::new(()));

/// How members are started.
#[derive(Clone, Copy)]
pub struct MemberOptions<'a> {
    pub count: usize,
    /// Whether they are one cluster, or one each.
    pub clusters: Clusters,
    pub scheme: &'a str,
    /// Beside [`etcd::SETTINGS`], of which they replace those of the same name.
    pub flags: &'a [String],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clusters {
    One,
    OneEach,
}

/// Members, which end with this, or with the tests' process however that ends.
pub struct Members {
    members: Vec<Member>,
    folder: TempDir,
    _turn: Option<MutexGuard<'static, ()>>,
}

struct Member {
    url: String,
    port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
    running: Option<GuardedProcess>,
}

impl Members {
    /// A cluster of so many members, which serves clients without TLS; `None` where there is no etcd.
    pub fn start(count: usize) -> Option<Self> {
        Self::start_with(&MemberOptions { count, clusters: Clusters::One, scheme: "http", flags: &[] })
    }

    /// Members with options. Those with TLS are not waited for.
    pub fn start_with(options: &MemberOptions<'_>) -> Option<Self> {
        let Some(program) = etcd::program() else {
            skip(etcd::HOW_TO_INSTALL);
            return None;
        };
        let turn = TURN.lock();
        // Another process may take a port before the member does: it ends then.
        for _ in 0..4 {
            let mut members = Self::on_free_ports(options, &program);
            if options.scheme != "http" || (0..options.count).all(|at| members.serves(at)) {
                members._turn = Some(turn);
                return Some(members);
            }
        }
        panic!("no member serves, whatever its ports");
    }

    fn on_free_ports(options: &MemberOptions<'_>, program: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("evergraph-etcd-").tempdir().unwrap();
        let ports = free_ports(2 * options.count);
        let (clients, peers) = ports.split_at(options.count);
        let peer_url = |at: usize| format!("http://127.0.0.1:{}", peers[at]);
        let named = |at: usize| format!("m{at}={}", peer_url(at));
        let all: Vec<String> = (0..options.count).map(named).collect();
        let members = (0..options.count).map(|at| {
            let cluster = if options.clusters == Clusters::One { all.join(",") } else { named(at) };
            let url = format!("{}://127.0.0.1:{}", options.scheme, clients[at]);
            let data = folder.path().join(format!("m{at}"));
            let mut arguments = etcd::member_flags(&format!("m{at}"), &data, &url, &peer_url(at), &cluster);
            arguments.push(format!("--initial-cluster-token=evergraph-test-{}", peers[0]));
            let name = |setting: &str| setting.split('=').next().map(str::to_owned);
            let is_replaced = |setting: &str| options.flags.iter().any(|flag| name(flag) == name(setting));
            let kept = etcd::SETTINGS.iter().filter(|setting| !is_replaced(setting));
            arguments.extend(kept.map(|setting| (*setting).to_owned()));
            arguments.extend_from_slice(options.flags);
            Member { url, port: clients[at], folder: data, arguments, running: None }
        });
        let mut members = Self { members: members.collect(), folder, _turn: None };
        for member in &mut members.members {
            member.run(program);
        }
        members
    }

    /// How a log uses all of them, those that were named first before the others.
    pub fn options(&self, first: &[usize]) -> EtcdOptions {
        let others = (0..self.members.len()).filter(|at| !first.contains(at));
        self.options_of(&first.iter().copied().chain(others).collect::<Vec<_>>())
    }

    /// How a log uses some of them.
    pub fn options_of(&self, members: &[usize]) -> EtcdOptions {
        let endpoints = members.iter().map(|at| self.members[*at].url.parse::<EtcdEndpoint>().unwrap());
        EtcdOptions::new(endpoints.collect(), "evergraph/test")
    }

    /// A log that uses all of them, from the first on.
    pub fn log(&self) -> TestLog {
        TestLog::open(self.options(&[]))
    }

    /// The port for clients of a member.
    pub fn port(&self, at: usize) -> u16 {
        self.members[at].port
    }

    /// Which member leads.
    pub fn leader(&self) -> usize {
        let leads = |member: &Member| {
            let metrics = http::get(member.port, "/metrics").unwrap_or_default();
            metrics.lines().any(|line| line == "etcd_server_is_leader 1")
        };
        let mut found = None;
        wait_until("a member leads", || {
            found = self.members.iter().position(leads);
            found.is_some()
        });
        found.unwrap()
    }

    /// Kills a member as a power cut of its machine would; what it wrote stays.
    pub fn kill(&mut self, at: usize) {
        self.members[at].kill();
    }

    /// Starts a member that was killed, and waits until it serves.
    pub fn start_again(&mut self, at: usize) {
        let program = etcd::program().expect("it was found before");
        self.members[at].run(&program);
        self.wait(at);
    }

    /// Stops a member: it keeps its sockets, and says nothing.
    pub fn pause(&self, at: usize) {
        self.members[at].signal(Signal::STOP);
    }

    /// Lets a stopped member go on.
    pub fn resume(&self, at: usize) {
        self.members[at].signal(Signal::CONT);
    }

    /// Copies the data of a member, which is not running.
    pub fn copy_data(&self, at: usize) -> PathBuf {
        let copy = self.folder.path().join(format!("copy of m{at}"));
        copy_folder(&self.members[at].folder, &copy);
        copy
    }

    /// Puts a copy in place of the data of a member, which is not running.
    pub fn restore_data(&self, at: usize, copy: &Path) {
        fs::remove_dir_all(&self.members[at].folder).unwrap();
        copy_folder(copy, &self.members[at].folder);
    }

    /// Waits until a member serves, by itself.
    fn wait(&self, at: usize) {
        assert!(self.serves(at), "member {at} has ended:\n{}", self.said(at));
    }

    /// Waits until a member serves, by itself, or has ended.
    fn serves(&self, at: usize) -> bool {
        let mut log = TestLog::open(self.options_of(&[at]));
        let mut serves = false;
        wait_until("a member serves", || {
            serves = log.end().is_ok();
            serves || self.has_ended(at)
        });
        serves
    }

    fn has_ended(&self, at: usize) -> bool {
        let process = self.members[at].running.as_ref().map(|running| Pid::from_child(&running.process));
        // One that ended and was not waited for is a zombie, whose command line is empty.
        process.is_none_or(|id| {
            let path = format!("/proc/{}/cmdline", id.as_raw_nonzero());
            fs::read(path).is_ok_and(|line| line.is_empty())
        })
    }

    /// The end of what a member wrote.
    fn said(&self, at: usize) -> String {
        let said = fs::read_to_string(self.members[at].log_path()).unwrap_or_default();
        let lines: Vec<&str> = said.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Member {
    fn log_path(&self) -> PathBuf {
        self.folder.with_extension("log")
    }

    fn run(&mut self, program: &Path) {
        self.running = Some(etcd::run_member(program, &self.arguments, &self.log_path()));
    }

    fn kill(&mut self) {
        drop(self.running.take());
    }

    fn signal(&self, signal: Signal) {
        let running = self.running.as_ref().expect("it runs");
        kill_process(Pid::from_child(&running.process), signal).unwrap();
    }
}
