//! Site: a cluster of three nodes and the members of its log, each a process of its own, with proxies between them.
//!
//! ```text
//! party 0 to 2     a node         its address in cluster.toml is that of its proxy
//! party 3, ...     a member       so are the addresses in node.toml, and those by which members know each other
//! ```

use crate::clock::JumpingClock;
use crate::cut_network::{CutNetwork, Party};
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::log_members::{LogEngine, LogMembers, PORTS};
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
    log_members: LogMembers,
    pub clocks: Vec<JumpingClock>,
    _turn: MutexGuard<'static, ()>,
}

/// A node or a member.
struct SiteProcess {
    command: Box<dyn Fn() -> Command + Send>,
    log: PathBuf,
    /// Whether a member serves.
    health: Option<Box<dyn Fn() -> bool + Send>>,
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
    /// A cluster that keeps so many copies, and whose log is so many members of what EVERGRAPH_FAULT_LOG names, all of which serve; `None`
    /// where there is no program of it.
    pub fn start(members: usize, copies: usize) -> Option<Self> {
        let engine = LogEngine::chosen();
        let program = engine.program_or_skip()?;
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let home = tempfile::Builder::new().prefix("evergraph-faults-").tempdir().unwrap();
        let mut network = CutNetwork::default();
        let ports = free_ports(NODES + PORTS * members);
        let (node_ports, member_ports) = ports.split_at(NODES);
        let log_members = LogMembers::new((engine, program), home.path(), member_ports, &mut network, member);
        let nodes: Vec<u16> = (0..NODES).map(|at| network.proxy(node(at), node_ports[at])).collect();
        let clocks = JumpingClock::all(home.path(), NODES);
        create(home.path(), &nodes, &log_members, copies);
        let mut processes = Vec::new();
        for (at, port) in node_ports.iter().enumerate() {
            let folder = home.path().join(format!("shop/node-{at}"));
            set_up(&folder, *port, &log_members.setting(at));
            processes.push(node_process(home.path(), folder, at, &clocks[at]));
        }
        processes.extend((0..members).map(|at| SiteProcess {
            command: log_members.command(at),
            log: log_members.log(at),
            health: Some(log_members.health(at)),
            running: None,
        }));
        let addresses = Addresses::default();
        let mut site =
            Self { home: Some(home), network, addresses, processes, log_members, clocks, _turn: turn };
        // Members wait for each other.
        let members: Vec<Party> = site.members().collect();
        members.iter().for_each(|member| site.run(*member));
        members.iter().for_each(|member| site.wait(*member).unwrap());
        (0..NODES).map(node).for_each(|node| site.run(node));
        (0..NODES).map(node).for_each(|node| site.wait(node).unwrap());
        Some(site)
    }

    /// What keeps the log.
    pub fn engine(&self) -> LogEngine {
        self.log_members.engine()
    }

    /// When a fault is over, everything works again within this.
    pub fn healing_time(&self) -> Duration {
        self.log_members.engine().healing_time()
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = Party> + use<> {
        (0..self.log_members.count()).map(member)
    }

    /// The folder of a node.
    pub fn folder(&self, node: usize) -> PathBuf {
        self.home().join(format!("shop/node-{node}"))
    }

    /// The data of a member.
    pub fn data(&self, member: usize) -> PathBuf {
        self.log_members.data(member)
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
        let (began, time_max) = (Instant::now(), self.healing_time());
        loop {
            if self.serves(party) {
                return Ok(());
            }
            let running = self.processes[party.0].running.as_mut().expect("it was started");
            let ended = running.process.try_wait().unwrap();
            if ended.is_some() || began.elapsed() > time_max {
                let how = ended
                    .map_or_else(|| format!("serves nobody after {time_max:?}"), |status| status.to_string());
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
        if let Some(is_healthy) = &process.health {
            return is_healthy();
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
fn create(home: &Path, nodes: &[u16], log_members: &LogMembers, copies: usize) {
    let nodes: Vec<String> = nodes.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let mut command = evergraph();
    command.args(["cluster", "create", "shop", "--partitions", PARTITIONS, "--copies", &copies.to_string()]);
    command.args(["--nodes", &nodes.join(",")]).args(log_members.create_options());
    let ran = command.current_dir(home).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

/// Says in node.toml where the node itself listens, that it makes many checkpoints, and, by a line about the `log`, that its own member is
/// the nearest.
fn set_up(folder: &Path, port: u16, log: &str) {
    let file = folder.join("node.toml");
    let text = fs::read_to_string(&file).unwrap();
    let own = [format!("listen = \"127.0.0.1:{port}\""), "checkpoint-seconds = 1".to_owned(), log.to_owned()];
    let key = |line: &str| line.split(" = ").next().map(str::to_owned);
    let find = |line: &str| own.iter().find(|own| key(own) == key(line));
    let replaced = text.lines().map(|line| find(line).map_or(line, String::as_str));
    let mut lines: Vec<&str> = replaced.collect();
    assert!(lines.contains(&log), "{text}");
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
    SiteProcess { command: Box::new(command), log, health: None, running: None }
}
