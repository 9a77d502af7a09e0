//! World: three machines, a log and a network, from a seed.

use crate::judge::Judge;
use crate::machine::{EndedAsk, Machine, SILENCE_MAX, author};
use crate::simulation::tally::tally;
use crate::simulation::trace::Trace;
use crate::simulation::traced_transport::SharedTrace;
use crate::workers::WorkTimes;
use evergraph_cluster::certification::certifier::CertifierLimits;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::memory::{LogFaults, MemoryLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record::body::{NewName, RecordBody};
use evergraph_cluster::record_id::{NodeId, RecordId};
use evergraph_cluster::remote::asking::AskOutcome;
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::tables::cluster_tables::ClusterTables;
use evergraph_cluster::tables::members::Members;
use evergraph_cluster::transport::memory::{MemoryNetwork, NetworkFaults};
use evergraph_graph::id::{LabelId, PartitionId};
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use std::time::Duration;

/// Partitions of the graph: two copies each.
pub const PARTITIONS: u16 = 6;
const NODES: u16 = 3;
const TICK: Duration = Duration::from_millis(10);
/// Ticks in which clients work.
const WORK_TICKS: u32 = 800;
/// Ticks in which everything must come to rest after that.
const REST_TICKS: u32 = 1200;

/// What goes wrong beside the faults of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Nothing.
    None,
    /// Directions of the network are cut, machines stand still, and start again.
    All,
    /// One node stops for good after a second.
    Loss,
}

impl Trouble {
    /// That of a seed, mostly everything.
    pub fn of(seed: u64) -> Self {
        match seed % 5 {
            0 => Self::None,
            1 => Self::Loss,
            _ => Self::All,
        }
    }
}

tally! {
    /// What happened, by kind.
    pub struct Tally {
        pub answered: usize,
        pub too_old: usize,
        pub not_answered: usize,
        /// Answers that took longer than a silent node is waited for.
        pub slow: usize,
        pub starts: u32,
        pub commits: usize,
        /// Starts, messages of the log, frames, outcomes and horizons.
        pub trace: Trace,
    }
}

struct NodeSlot {
    machine: Option<Machine>,
    incarnation: u32,
    /// It stands still, or is down, until then.
    stands_until: Duration,
}

pub struct World {
    chance: SeededChance,
    trouble: Trouble,
    times: WorkTimes,
    first: ReplicatedState,
    log: MemoryLog,
    network: MemoryNetwork,
    slots: Vec<NodeSlot>,
    judge: Judge,
    now: Duration,
    /// The highest horizon that a node ever had.
    merged: LogPosition,
    /// Of frames.
    frames: SharedTrace,
    tally: Tally,
}

pub fn partitions() -> PartitionCount {
    PartitionCount::new(PARTITIONS).unwrap()
}

/// The state that the cluster is created with: a vertex of each partition may be inserted. The certifier remembers little of the
/// log.
fn first_state() -> ReplicatedState {
    let nodes = (0..NODES).map(|node| (NodeId(node), Box::<str>::from(format!("node-{node}:0"))));
    let mut tables = ClusterTables::new(partitions(), Members::new(nodes), 2);
    let label = RecordBody::Name { name: NewName::Label("Person".into()), touches: Vec::new() };
    let rows = (0..PARTITIONS).map(|partition| RecordBody::Rows {
        label: LabelId(0),
        partition: PartitionId(partition),
        touches: Vec::new(),
    });
    for (number, body) in (1..).zip([label].into_iter().chain(rows)) {
        tables.apply(RecordId { author: author(0, 0), number }, Timestamp::ZERO, body);
    }
    let limits = CertifierLimits { generation_slots: 60, parts_bytes: 4000 };
    ReplicatedState::new(GraphSalt(*b"salt of a graph."), limits, tables)
}

impl World {
    pub fn new(seed: u64, trouble: Trouble) -> Self {
        let mut chance = SeededChance::new(seed);
        let log_faults = LogFaults {
            delay_max: Duration::from_millis(5),
            doubled: OneIn(30),
            lag: OneIn(4),
            cut: OneIn(80),
            ..LogFaults::default()
        };
        let delay_max = Duration::from_millis(chance.below(20));
        let faults = match trouble {
            Trouble::Loss => NetworkFaults { delay_max, ..NetworkFaults::default() },
            _ => NetworkFaults { delay_max, lost: OneIn(20), doubled: OneIn(8), late: OneIn(30) },
        };
        let times = match trouble {
            Trouble::Loss => WorkTimes { usual: 20, long: 20 },
            _ => WorkTimes { usual: 60, long: 3000 },
        };
        let first = first_state();
        let (log, network) = (MemoryLog::new(seed, log_faults), MemoryNetwork::new(seed, faults, 60));
        let mut world = Self {
            chance,
            trouble,
            times,
            judge: Judge::new(first.clone()),
            first,
            log,
            network,
            slots: Vec::new(),
            now: Duration::ZERO,
            merged: LogPosition::START,
            frames: SharedTrace::default(),
            tally: Tally::default(),
        };
        for node in 0..NODES {
            let machine = Some(world.start(node, 0));
            world.slots.push(NodeSlot { machine, incarnation: 0, stands_until: Duration::ZERO });
        }
        world
    }

    fn start(&mut self, node: u16, incarnation: u32) -> Machine {
        self.tally.starts += 1;
        let nonce = self.chance.below(1 << 40);
        self.tally.trace.add(&(node, incarnation, nonce));
        let (author, on) = (author(node, incarnation), (&self.log, &self.network));
        let frames = SharedTrace::clone(&self.frames);
        Machine::start(author, self.first.clone(), on, nonce, self.times, frames)
    }

    /// Plays it.
    ///
    /// # Errors
    /// What is wrong.
    pub fn run(mut self) -> Result<Tally, String> {
        for tick in 0..WORK_TICKS {
            self.make_trouble(tick);
            self.tick(tick, true)?;
        }
        self.end_trouble();
        for tick in 0..REST_TICKS {
            self.tick(tick, false)?;
            if tick % 10 == 9 && self.is_at_rest() {
                self.tally.commits = self.judge.commits();
                self.tally.trace.add(&*self.frames.lock());
                return Ok(self.tally);
            }
        }
        Err(format!("it does not come to rest: {}", self.describe()))
    }

    fn tick(&mut self, tick: u32, has_clients: bool) -> Result<(), String> {
        self.now += TICK;
        self.log.advance_to(self.now);
        self.network.advance_to(self.now);
        self.judge.read(&self.log, &mut self.tally.trace);
        for node in 0..usize::from(NODES) {
            if self.now < self.slots[node].stands_until {
                continue;
            }
            if self.slots[node].machine.is_none() {
                let incarnation = self.slots[node].incarnation + 1;
                let machine = self.start(node as u16, incarnation);
                self.slots[node] =
                    NodeSlot { machine: Some(machine), incarnation, stands_until: Duration::ZERO };
            }
            let Some(machine) = &mut self.slots[node].machine else { continue };
            let ended = machine.step(self.now)?;
            if has_clients {
                let value = i64::from(tick) * i64::from(NODES) + node as i64;
                machine.work(self.now, &mut self.chance, value);
            } else {
                machine.calm_down();
            }
            self.merged = self.merged.max(machine.horizon());
            self.tally.trace.add(&machine.horizon().0);
            let stood_until = self.slots[node].stands_until;
            for ended in ended {
                self.look_at(ended, stood_until)?;
            }
        }
        Ok(())
    }

    /// Looks at what came of a question, on a machine that stood still until then.
    fn look_at(&mut self, EndedAsk { ask, outcome }: EndedAsk, stood_until: Duration) -> Result<(), String> {
        if self.now > ask.ends_at.max(stood_until) + TICK {
            return Err(format!("{ask:?} ends too late, at {:?}", self.now));
        }
        self.tally.trace.note(format_args!("{ask:?} {outcome:?}"));
        match outcome {
            AskOutcome::Answered(answered) => {
                let expected = self.judge.value_at(ask.partition, ask.at.position);
                if answered != expected.encode() {
                    return Err(format!("{ask:?} is answered by another state than {expected:?}"));
                }
                self.tally.answered += 1;
                self.tally.slow += usize::from(self.now - ask.asked_at > Duration::from_millis(200));
            }
            AskOutcome::TooOld => {
                if ask.at.position >= self.merged {
                    return Err(format!("{ask:?} is too old though nobody has merged beyond it"));
                }
                if self.trouble != Trouble::All {
                    return Err(format!("{ask:?} is too old though its node is heard"));
                }
                self.tally.too_old += 1;
            }
            AskOutcome::NotAnswered { reason } => {
                if self.trouble != Trouble::All {
                    return Err(format!("{ask:?} is not answered: {reason:?}"));
                }
                self.tally.not_answered += 1;
            }
            AskOutcome::OtherLog => return Err("there is one log".to_owned()),
        }
        Ok(())
    }

    fn make_trouble(&mut self, tick: u32) {
        match self.trouble {
            Trouble::None => {}
            Trouble::Loss => {
                if tick == 100 {
                    let lost = self.chance.below(u64::from(NODES)) as usize;
                    self.slots[lost].machine = None;
                    self.slots[lost].stands_until = Duration::MAX;
                }
            }
            Trouble::All => {
                let node = self.chance.below(u64::from(NODES)) as u16;
                let other = NodeId((node + 1 + self.chance.below(u64::from(NODES) - 1) as u16) % NODES);
                let stands_until = self.now + self.chance.up_to(3 * SILENCE_MAX);
                match self.chance.below(200) {
                    0 | 1 => self.network.cut(NodeId(node), other),
                    2..=5 => self.network.mend(NodeId(node), other),
                    6 => self.slots[usize::from(node)].stands_until = stands_until,
                    7 => {
                        self.slots[usize::from(node)].machine = None;
                        self.slots[usize::from(node)].stands_until = stands_until;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Nothing goes wrong any more; but who is lost stays lost.
    fn end_trouble(&mut self) {
        self.network.set_faults(NetworkFaults::default());
        for from in (0..NODES).map(NodeId) {
            (0..NODES).map(NodeId).for_each(|to| self.network.mend(from, to));
        }
    }

    fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.slots.iter().filter_map(|slot| slot.machine.as_ref())
    }

    /// Whether everybody has applied the log, nobody asks or answers, and everything is merged.
    fn is_at_rest(&self) -> bool {
        let (now, end) = (self.now, self.judge.position());
        let alive = if self.trouble == Trouble::Loss { NODES - 1 } else { NODES };
        self.machines().count() == usize::from(alive)
            && self.machines().all(|machine| {
                let status = machine.peers.status(now);
                let is_idle = status.asking == 0 && status.answering == (0, 0) && status.readers == (0, 0);
                is_idle && status.waiting_frames == 0 && machine.horizon() == end
            })
    }

    fn describe(&self) -> String {
        let statuses: Vec<_> = self.machines().map(|machine| machine.peers.status(self.now)).collect();
        format!("the log ends at {}, {statuses:#?}", self.judge.position())
    }
}
