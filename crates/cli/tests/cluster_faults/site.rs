//! Site: a cluster of three nodes and the members of etcd that are its log, each a process of its own, with proxies between them.
//!
//! ```text
//! party 0 to 2     a node         its address in cluster.toml is that of its proxy
//! party 3, ...     a member       so are the endpoints in node.toml, and the addresses by which members know each other
//! ```

use crate::clock::JumpingClock;
use crate::cut_network::{CutNetwork, Party};
use crate::etcd;
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::skips::skip;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How many nodes there are.
pub const NODES: usize = 3;
/// How long a process may take until it serves.
const START_TIME: Duration = Duration::from_secs(30);
/// Few, so that each has something in every cycle; more than one on each pair of nodes.
const PARTITIONS: &str = "8";
/// Stands in the log of a node before what each of its processes wrote.
const STARTED: &str = "--- started\n";
/// Tests take turns: a cluster takes memory, and two would hold up each other's elections.
static TURN: Mutex<()> = Mutex::new(());

/// Where the nodes serve drivers now. Clients look it up whenever they connect.
#[derive(Clone, Default)]
pub struct Addresses(Arc<[Mutex<String>; NODES]>);

/// The processes of a cluster.
pub struct Site {
    home: Option<TempDir>,
    pub network: CutNetwork,
    pub addresses: Addresses,
    processes: Vec<SiteProcess>,
    pub clocks: Vec<JumpingClock>,
    _turn: MutexGuard<'static, ()>,
}

/// A node or a member.
struct SiteProcess {
    command: Box<dyn Fn() -> Command + Send>,
    log: PathBuf,
    /// Where a member listens for clients.
    client_port: Option<u16>,
    running: Option<GuardedProcess>,
}

/// The party that a node is.
pub fn node(number: usize) -> Party {
    Party(number)
}

/// The party that a member is.
pub fn member(number: usize) -> Party {
    Party(NODES + number)
}

impl Addresses {
    /// A URL of a node.
    pub fn url(&self, node: usize) -> String {
        format!("ws://{}", self.0[node].lock().unwrap())
    }

    fn set(&self, node: usize, address: &str) {
        address.clone_into(&mut self.0[node].lock().unwrap());
    }
}

impl Site {
    /// A cluster that keeps so many copies, and whose log is so many members, all of which serve; `None` where there is no etcd.
    pub fn start(members: usize, copies: usize) -> Option<Self> {
        let Some(program) = etcd::program() else {
            skip(etcd::HOW_TO_INSTALL);
            return None;
        };
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let home = tempfile::Builder::new().prefix("evergraph-faults-").tempdir().unwrap();
        let mut network = CutNetwork::default();
        let ports = free_ports(2 * members + NODES);
        let (node_ports, member_ports) = ports.split_at(NODES);
        let clients: Vec<u16> =
            (0..members).map(|at| network.proxy(member(at), member_ports[2 * at])).collect();
        let peers: Vec<u16> =
            (0..members).map(|at| network.proxy(member(at), member_ports[2 * at + 1])).collect();
        let nodes: Vec<u16> = (0..NODES).map(|at| network.proxy(node(at), node_ports[at])).collect();
        let clocks = JumpingClock::all(home.path(), NODES);
        create(home.path(), &nodes, &clients, copies);
        let mut processes = Vec::new();
        for (at, port) in node_ports.iter().enumerate() {
            let folder = home.path().join(format!("shop/node-{at}"));
            set_up(&folder, *port, &clients, at);
            processes.push(node_process(home.path(), folder, at, &clocks[at]));
        }
        for at in 0..members {
            let listens = [member_ports[2 * at], member_ports[2 * at + 1]];
            processes.push(member_process(home.path(), &program, at, listens, &clients, &peers));
        }
        let addresses = Addresses::default();
        let mut site = Self { home: Some(home), network, addresses, processes, clocks, _turn: turn };
        // Members wait for each other.
        let members: Vec<Party> = (0..members).map(member).collect();
        members.iter().for_each(|member| site.run(*member));
        members.iter().for_each(|member| site.wait(*member).unwrap());
        (0..NODES).map(node).for_each(|node| site.run(node));
        (0..NODES).map(node).for_each(|node| site.wait(node).unwrap());
        Some(site)
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = Party> + use<> {
        (NODES..self.processes.len()).map(Party)
    }

    /// The folder of a node.
    pub fn folder(&self, node: usize) -> PathBuf {
        self.home().join(format!("shop/node-{node}"))
    }

    /// The data of a member.
    pub fn data(&self, member: usize) -> PathBuf {
        member_data(self.home(), member)
    }

    pub fn home(&self) -> &Path {
        self.home.as_ref().expect("it is kept").path()
    }

    /// Runs a process that was killed, and waits until it serves. How long that took.
    ///
    /// # Errors
    /// What it said, if it has ended or takes too long.
    pub fn start_again(&mut self, party: Party) -> Result<Duration, String> {
        let began = Instant::now();
        self.run(party);
        self.wait(party).map(|()| began.elapsed())
    }

    /// Kills a process as a power cut of its machine would; what it wrote stays.
    pub fn kill(&mut self, party: Party) {
        drop(self.processes[party.0].running.take());
    }

    /// Stops a process: it keeps its sockets, and says nothing.
    pub fn pause(&self, party: Party) {
        self.signal(party, Signal::SIGSTOP);
    }

    /// Lets a stopped process go on.
    pub fn resume(&self, party: Party) {
        self.signal(party, Signal::SIGCONT);
    }

    /// Runs a process that does not run.
    pub fn run(&mut self, party: Party) {
        let process = &mut self.processes[party.0];
        let running = GuardedProcess::start(&mut (process.command)(), &process.log);
        self.network.runs_as(party, running.process.id());
        process.running = Some(running);
    }

    /// Waits until a process serves that was started.
    ///
    /// # Errors
    /// What it said, if it has ended or takes too long.
    pub fn wait(&mut self, party: Party) -> Result<(), String> {
        let began = Instant::now();
        loop {
            if self.serves(party) {
                return Ok(());
            }
            let running = self.processes[party.0].running.as_mut().expect("it was started");
            let ended = running.process.try_wait().unwrap();
            if ended.is_some() || began.elapsed() > START_TIME {
                let how = ended.map_or_else(
                    || format!("serves nobody after {START_TIME:?}"),
                    |status| status.to_string(),
                );
                return Err(format!("{}: {how}:\n{}", name(party), self.said(party)));
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// The end of what a process wrote.
    pub fn said(&self, party: Party) -> String {
        let said = fs::read_to_string(&self.processes[party.0].log).unwrap_or_default();
        let lines: Vec<&str> = said.lines().rev().take(10).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Keeps all files, so that somebody can look at them.
    pub fn keep(&mut self) -> PathBuf {
        self.home.take().expect("it is kept once").keep()
    }

    /// Whether a process serves that was started; of a node also where.
    fn serves(&self, party: Party) -> bool {
        let process = &self.processes[party.0];
        if let Some(port) = process.client_port {
            return etcd::is_healthy(port);
        }
        // Its own words, and not those of a process before it.
        let said = fs::read_to_string(&process.log).unwrap_or_default();
        let own = said.rsplit(STARTED).next().unwrap_or_default();
        let address = own.split("ws://").nth(1).and_then(|rest| rest.split_once('/'));
        address.is_some_and(|(address, _)| {
            self.addresses.set(party.0, address);
            true
        })
    }

    fn signal(&self, party: Party, signal: Signal) {
        let running = self.processes[party.0].running.as_ref().expect("it runs");
        kill(Pid::from_raw(running.process.id() as i32), signal).unwrap();
    }
}

/// What people call a party.
pub fn name(party: Party) -> String {
    match party.0.checked_sub(NODES) {
        None => format!("node {}", party.0),
        Some(member) => format!("member {member}"),
    }
}

/// The program, on which no settings of whoever runs the tests work.
pub fn evergraph() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evergraph"));
    for (name, _) in std::env::vars_os() {
        // A planted bug is no setting.
        if name.to_string_lossy().starts_with("EVERGRAPH_") && name != "EVERGRAPH_PLANTED" {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", "/nonexistent").env("XDG_STATE_HOME", "/nonexistent");
    command
}

/// Creates the folders of the nodes, which find each other and the log by proxies.
fn create(home: &Path, nodes: &[u16], members: &[u16], copies: usize) {
    let list = |prefix: &str, ports: &[u16]| {
        ports.iter().map(|port| format!("{prefix}127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    };
    let mut command = evergraph();
    command.args(["cluster", "create", "shop", "--partitions", PARTITIONS, "--copies", &copies.to_string()]);
    command.args(["--nodes", &list("", nodes), "--log", &list("http://", members)]);
    let ran = command.current_dir(home).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Says in node.toml where the node itself listens, that it makes many checkpoints, and that its own member is the nearest.
fn set_up(folder: &Path, port: u16, members: &[u16], at: usize) {
    let file = folder.join("node.toml");
    let text = fs::read_to_string(&file).unwrap();
    let nearest = (0..members.len()).map(|next| members[(at + next) % members.len()]);
    let endpoints: Vec<String> = nearest.map(|port| format!("\"http://127.0.0.1:{port}\"")).collect();
    let endpoints = format!("endpoints = [{}]", endpoints.join(", "));
    let own = [format!("listen = \"127.0.0.1:{port}\""), "checkpoint-seconds = 1".to_owned(), endpoints];
    let key = |line: &str| line.split(" = ").next().map(str::to_owned);
    let find = |line: &str| own.iter().find(|own| key(own) == key(line));
    let replaced = text.lines().map(|line| find(line).map_or(line, String::as_str));
    let mut lines: Vec<&str> = replaced.collect();
    assert!(lines.contains(&own[2].as_str()), "{text}");
    // What is not there yet comes before the tables.
    own[..2]
        .iter()
        .filter(|line| !text.lines().any(|own| key(own) == key(line)))
        .for_each(|line| lines.insert(0, line));
    fs::write(&file, lines.join("\n") + "\n").unwrap();
}

fn node_process(home: &Path, folder: PathBuf, at: usize, clock: &JumpingClock) -> SiteProcess {
    let log = home.join(format!("node-{at}.log"));
    let (told, environment) = (log.clone(), clock.environment());
    let command = move || {
        let before = fs::read_to_string(&told).unwrap_or_default();
        fs::write(&told, before + STARTED).unwrap();
        let mut command = evergraph();
        command.args([
            "cluster",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--log-level",
            "warn",
            "--quiet",
            "--json",
        ]);
        command.arg(&folder).envs(environment.clone());
        command
    };
    SiteProcess { command: Box::new(command), log, client_port: None, running: None }
}

fn member_data(home: &Path, at: usize) -> PathBuf {
    home.join(format!("m{at}"))
}

fn member_process(
    home: &Path,
    program: &Path,
    at: usize,
    [client, peer]: [u16; 2],
    clients: &[u16],
    peers: &[u16],
) -> SiteProcess {
    let url = |port: u16| format!("http://127.0.0.1:{port}");
    let all = peers.iter().enumerate().map(|(at, port)| format!("m{at}={}", url(*port)));
    let all = all.collect::<Vec<_>>().join(",");
    let data = member_data(home, at);
    let mut flags = etcd::member_flags(&format!("m{at}"), &data, &url(client), &url(peer), &all);
    // Others find it by its proxies; of two flags of a name the last counts.
    flags.push(format!("--advertise-client-urls={}", url(clients[at])));
    flags.push(format!("--initial-advertise-peer-urls={}", url(peers[at])));
    flags.extend(etcd::SETTINGS.map(str::to_owned));
    let program = program.to_owned();
    let command = move || {
        let mut command = Command::new(&program);
        command.args(&flags).env_clear();
        command
    };
    let log = home.join(format!("m{at}.log"));
    SiteProcess { command: Box::new(command), log, client_port: Some(client), running: None }
}
