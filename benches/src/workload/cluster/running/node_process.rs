//! Node process: the nodes of a cluster, each a process of its own, as the harness sees them.

use crate::line_process::LineProcess;
use crate::plan::wrong;
use crate::workload::cluster::running::log_servers::LogServers;
use crate::workload::cluster::running::node_service::{ARGUMENT, CaughtUp, NodeRequest, NodeState};
use crate::workload::cluster::running::site::{Site, SitePlan};
use crate::workload::cluster::running::streams::{StreamKind, StreamPlan, StreamReport};
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use std::ffi::OsStr;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Numbers of pairs that a run may use: a run of the longest time does not take them all.
const PAIRS_OF_RUN: u64 = 1 << 20;

/// A node.
pub struct NodeProcess {
    number: usize,
    process: LineProcess,
}

/// A cluster of such nodes, and what its clients were acknowledged.
pub struct ProcessCluster {
    site: Site,
    /// Those that run, by number.
    nodes: Vec<Option<NodeProcess>>,
    vertices: u32,
    /// Runs so far.
    runs: u64,
    acknowledged: [u64; 2],
    unknown: u64,
}

impl NodeProcess {
    fn start(number: usize, folder: &Path) -> Result<Self> {
        let process =
            LineProcess::start(format!("node {number}"), [OsStr::new(ARGUMENT), folder.as_os_str()])?;
        Ok(Self { number, process })
    }

    /// The reply to a request.
    ///
    /// # Errors
    /// That of the node; `io` if its process has ended.
    pub fn ask<T: DeserializeOwned>(&mut self, request: &NodeRequest) -> Result<T> {
        let reply = self.process.ask(request)?;
        reply.ok_or_else(|| {
            let text = format!("the process of node {} ended: {}", self.number, self.process.how_it_ended());
            Error::new(ErrorKind::Io, text)
        })
    }

    /// Kills it, as a power cut of its machine would.
    ///
    /// # Errors
    /// `io`.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }
}

impl ProcessCluster {
    /// A cluster in `folder`, with its log on `servers` and `vertices` vertices: a power of two.
    ///
    /// # Errors
    /// What creating and opening nodes meets.
    pub fn start(servers: &LogServers, folder: &Path, plan: SitePlan, vertices: u32) -> Result<Self> {
        let site = Site::create(servers, folder, plan)?;
        let started =
            site.folders.iter().enumerate().map(|(number, folder)| NodeProcess::start(number, folder));
        let nodes = started.map(|node| node.map(Some)).collect::<Result<_>>()?;
        let mut cluster = Self { site, nodes, vertices, runs: 0, acknowledged: [0; 2], unknown: 0 };
        cluster.at_once(|_, node| node.ask::<f64>(&NodeRequest::Opened))?;
        cluster.node(0)?.ask::<()>(&NodeRequest::Create(vertices))?;
        Ok(cluster)
    }

    /// Under which key the log is kept.
    #[must_use]
    pub fn log_key(&self) -> &str {
        &self.site.log_key
    }

    /// A node that runs.
    ///
    /// # Errors
    /// `invalid` if it does not.
    pub fn node(&mut self, number: usize) -> Result<&mut NodeProcess> {
        let node = self.nodes.get_mut(number).and_then(Option::as_mut);
        node.ok_or_else(|| not_running(number))
    }

    /// Takes a node out, which runs on.
    ///
    /// # Errors
    /// `invalid` if it does not run.
    pub fn take(&mut self, number: usize) -> Result<NodeProcess> {
        self.nodes.get_mut(number).and_then(Option::take).ok_or_else(|| not_running(number))
    }

    /// Starts a node that was killed, and waits until it has everything up to `position`.
    ///
    /// # Errors
    /// What opening it meets.
    pub fn start_again(&mut self, number: usize, position: u64) -> Result<CaughtUp> {
        let node = self.nodes[number].insert(NodeProcess::start(number, &self.site.folders[number])?);
        node.ask(&NodeRequest::CatchUp(position))
    }

    /// How each node is that runs.
    ///
    /// # Errors
    /// `io` if one has ended.
    pub fn states(&mut self) -> Result<Vec<NodeState>> {
        self.at_once(|_, node| node.ask(&NodeRequest::State))
    }

    /// Runs clients for `time`, so many of each kind on each node that runs; `beside` meanwhile, in this thread. What all clients of
    /// a kind did.
    ///
    /// # Errors
    /// What a client meets that does not pass; that of `beside`.
    pub fn run(
        &mut self,
        kinds: &[StreamKind],
        clients: impl Fn(usize) -> usize + Sync,
        time: Duration,
        beside: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<StreamReport>> {
        let running: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_some()).collect();
        let counts: Vec<usize> = running.iter().map(|node| clients(*node) * kinds.len()).collect();
        let (stride, begin) = (counts.iter().sum::<usize>() as u64, self.runs * PAIRS_OF_RUN);
        self.runs += 1;
        if self.runs * PAIRS_OF_RUN > u64::from(self.vertices).pow(2) {
            return Err(Error::invalid("so many runs need more vertices"));
        }
        let plan_of = |node: usize| {
            let at = running.iter().position(|running| *running == node).unwrap_or_default();
            let first = begin + counts[..at].iter().sum::<usize>() as u64;
            let clients = kinds.iter().map(|kind| (*kind, clients(node))).collect();
            StreamPlan { clients, time, first, stride }
        };
        let all = thread::scope(|scope| {
            let asked = self.nodes.iter_mut().flatten().map(|node| {
                let request = NodeRequest::Run(plan_of(node.number));
                scope.spawn(move || node.ask::<Vec<StreamReport>>(&request))
            });
            let asked: Vec<_> = asked.collect();
            let beside = beside();
            let joined =
                asked.into_iter().map(|thread| thread.join().expect("a panic was printed by its thread"));
            let reports = joined.collect::<Result<Vec<_>>>()?;
            beside.map(|()| reports)
        })?;
        let of_kind = |kind: usize| {
            all.iter()
                .fold(StreamReport::default(), |sum, reports: &Vec<StreamReport>| sum.and(&reports[kind]))
        };
        let reports: Vec<StreamReport> = (0..kinds.len()).map(of_kind).collect();
        for (kind, report) in kinds.iter().zip(&reports) {
            match kind {
                StreamKind::Edges => self.acknowledged[0] += report.done() as u64,
                StreamKind::Vertices => self.acknowledged[1] += report.done() as u64,
                StreamKind::Reads | StreamKind::Counts => {}
            }
            self.unknown += report.unknown;
        }
        Ok(reports)
    }

    /// Holds what every node sees against what clients were acknowledged.
    ///
    /// # Errors
    /// `corrupt` if something is missing, or there that nobody wrote.
    pub fn check(&mut self) -> Result<()> {
        let (acknowledged, unknown) = (self.acknowledged, self.unknown);
        let counts: Vec<(u64, u64)> = self.at_once(|_, node| node.ask(&NodeRequest::Count))?;
        for (edges, vertices) in counts {
            let found = [edges, vertices];
            let (all, least) = (found.iter().sum::<u64>(), acknowledged.iter().sum::<u64>());
            let lost = found.iter().zip(acknowledged).any(|(found, acknowledged)| *found < acknowledged);
            if lost || all > least + unknown {
                let what = format!("edges and vertices, {unknown} of unknown outcome beside them");
                return Err(wrong("evergraph", &what, found, acknowledged));
            }
        }
        Ok(())
    }

    /// Asks all nodes that run at the same time.
    fn at_once<T: Send>(
        &mut self,
        ask: impl Fn(usize, &mut NodeProcess) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        thread::scope(|scope| {
            let ask = &ask;
            let asked = self.nodes.iter_mut().flatten();
            let asked: Vec<_> = asked.map(|node| scope.spawn(move || ask(node.number, node))).collect();
            asked
                .into_iter()
                .map(|thread| thread.join().expect("a panic was printed by its thread"))
                .collect()
        })
    }
}

fn not_running(number: usize) -> Error {
    Error::invalid(format!("node {number} does not run"))
}
