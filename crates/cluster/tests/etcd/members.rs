//! Members of etcd of one test's own: made, started, killed, stopped, started again, and removed when the test is over.

use crate::etcd;
use crate::free_ports::free_ports;
use crate::http;
use crate::real_log::log_server::LogServer;
use crate::real_log::test_log::{TestLog, wait_until, waker};
use crate::real_log::{Disruptions, RealLog, wait_for_turn};
use crate::skips::skip;
use evergraph_cluster::log::etcd::etcd_log::EtcdLog;
use evergraph_cluster::log::etcd::options::{EtcdEndpoint, EtcdOptions};
use evergraph_cluster::log_position::LogPosition;
use evergraph_storage::sync::MutexGuard;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

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
    members: Vec<LogServer>,
    _folder: TempDir,
    _turn: Option<MutexGuard<'static, ()>>,
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
        let turn = wait_for_turn();
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
            let program = program.to_owned();
            let run = move |log: &Path| etcd::run_member(&program, &arguments, log);
            LogServer::new(url, clients[at], data, Box::new(run))
        });
        let mut members: Vec<LogServer> = members.collect();
        members.iter_mut().for_each(LogServer::start);
        Self { members, _folder: folder, _turn: None }
    }

    /// How a log uses all of them, `first` before the others.
    pub fn options(&self, first: &[usize]) -> EtcdOptions {
        self.options_of(&self.ordered(first))
    }

    /// How a log uses some of them.
    pub fn options_of(&self, members: &[usize]) -> EtcdOptions {
        let endpoints = members.iter().map(|at| self.members[*at].url().parse::<EtcdEndpoint>().unwrap());
        EtcdOptions::new(endpoints.collect(), "evergraph/test")
    }

    /// Waits until a member serves, by itself, or has ended.
    fn serves(&self, at: usize) -> bool {
        let mut log = open(self.options_of(&[at]));
        let mut serves = false;
        wait_until("a member serves", || {
            serves = log.end().is_ok();
            serves || self.has_ended(at)
        });
        serves
    }

    fn has_ended(&self, at: usize) -> bool {
        // One that ended and was not waited for is a zombie. Its command line would be empty, but so is that of one that has just
        // been started.
        self.members[at].process().is_none_or(|id| {
            let path = format!("/proc/{}/stat", id.as_raw_nonzero());
            fs::read_to_string(path).is_ok_and(|line| {
                let behind_name = line.rsplit_once(") ").map(|(_, rest)| rest);
                behind_name.is_none_or(|rest| rest.starts_with(['Z', 'X']))
            })
        })
    }
}

impl RealLog for Members {
    type Log = EtcdLog;

    const TELLS_END: bool = true;

    const DISRUPTIONS: Disruptions = Disruptions::of_seconds([2, 4, 7, 10], 11);

    fn start_three() -> Option<Self> {
        Self::start(3)
    }

    fn start_fewest() -> Option<Self> {
        Self::start(1)
    }

    fn servers(&self) -> &[LogServer] {
        &self.members
    }

    fn servers_mut(&mut self) -> &mut [LogServer] {
        &mut self.members
    }

    fn open(&self, first: &[usize], time_limit: Option<Duration>) -> EtcdLog {
        let options = self.options(first);
        let time_limit = time_limit.unwrap_or(options.time_limit);
        EtcdLog::open(EtcdOptions { time_limit, ..options }, waker()).unwrap()
    }

    fn leader(&self) -> usize {
        let leads = |member: &LogServer| {
            let metrics = http::get(member.port(), "/metrics").unwrap_or_default();
            metrics.lines().any(|line| line == "etcd_server_is_leader 1")
        };
        let mut found = None;
        wait_until("a member leads", || {
            found = self.members.iter().position(leads);
            found.is_some()
        });
        found.unwrap()
    }

    fn wait(&self, at: usize) {
        assert!(self.serves(at), "member {at} has ended:\n{}", self.members[at].output_end());
    }

    /// Changes of other keys leave gaps.
    fn are_positions_of_new_log(positions: &[LogPosition]) -> bool {
        positions.is_sorted_by(|one, next| one < next)
    }
}

/// A log with options.
pub fn open(options: EtcdOptions) -> TestLog<EtcdLog> {
    TestLog::of(EtcdLog::open(options, waker()).unwrap())
}
