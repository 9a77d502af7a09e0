//! Node: what it has applied, what it has saved, its partitions.

use crate::graph::{Cell, PARTITIONS, State, Writes, first_state, put};
use evergraph_cluster::certification::certifier::{Certifier, CertifierLimits};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::key_hash::graph_salt::GraphSalt;
use evergraph_cluster::log::reader::LogReader;
use evergraph_cluster::log_position::LogPosition;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The graph's salt.
pub const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");
/// Nodes.
pub const NODES: usize = 3;
/// Slots of a generation: those of about eight transactions, a third of them in parts.
pub const GENERATION_SLOTS: u64 = 180;

/// What certifiers remember here.
pub fn limits() -> CertifierLimits {
    CertifierLimits { generation_slots: GENERATION_SLOTS, parts_bytes: 1 << 20 }
}

/// The position of message `number` of the log, from 0.
pub fn position(number: usize) -> LogPosition {
    LogPosition(number as u64 + 1)
}

/// The snapshot after so many messages.
pub fn snapshot(applied: usize) -> Timestamp {
    LogPosition(applied as u64).end()
}

/// One partition as a node keeps it: exact at `base`, and what was committed later.
#[derive(Clone)]
pub struct Partition {
    pub base: Timestamp,
    state: State,
    later: Vec<(Timestamp, Writes)>,
    /// Of a copy: how many messages it has, and of which log, until that is proved.
    pub proof: Option<(usize, SeenLog)>,
}

impl Partition {
    fn new(partition: u32) -> Self {
        let state = first_state().into_iter().filter(|(cell, _)| cell.partition() == partition).collect();
        Self { base: Timestamp::ZERO, state, later: Vec::new(), proof: None }
    }

    /// What a snapshot sees.
    pub fn at(&self, snapshot: Timestamp) -> State {
        let mut state = self.state.clone();
        let seen = self.later.iter().filter(|(timestamp, _)| timestamp.visible_at(snapshot));
        seen.for_each(|(_, writes)| put(&mut state, writes));
        state
    }

    /// The same, of these cells alone.
    pub fn cells_at(&self, snapshot: Timestamp, cells: &RangeInclusive<Cell>) -> State {
        let mut state: State = self.state.range(cells.clone()).map(|(cell, value)| (*cell, *value)).collect();
        let seen = self.later.iter().filter(|(timestamp, _)| timestamp.visible_at(snapshot));
        seen.for_each(|(_, writes)| put(&mut state, writes.iter().filter(|(cell, _)| cells.contains(cell))));
        state
    }

    /// Installs a commit.
    pub fn install(&mut self, timestamp: Timestamp, writes: Writes) {
        if !writes.is_empty() {
            self.later.push((timestamp, writes));
        }
    }

    /// Forgets versions below `to`.
    pub fn merge(&mut self, to: Timestamp) {
        if to > self.base {
            self.state = self.at(to);
            self.later.retain(|(timestamp, _)| !timestamp.visible_at(to));
            self.base = to;
        }
    }
}

/// What follows from the log on one node.
#[derive(Clone)]
pub struct Applied {
    /// Messages.
    pub messages: usize,
    pub certifier: Certifier,
    pub rows_given: u32,
    pub partitions: BTreeMap<u32, Partition>,
}

/// The same as a checkpoint has it.
pub struct Checkpoint {
    pub messages: usize,
    certifier: Vec<u8>,
    rows_given: u32,
    pub partitions: BTreeMap<u32, Partition>,
    /// The first message that a start from here needs.
    pub needed_from: LogPosition,
}

impl Applied {
    fn new(node: usize) -> Self {
        let own = (0..PARTITIONS).filter(|partition| (*partition as usize + NODES - node) % NODES < 2);
        let partitions = own.map(|partition| (partition, Partition::new(partition))).collect();
        let certifier = Certifier::new(SALT, limits(), SeenLog::START);
        Self { messages: 0, certifier, rows_given: 0, partitions }
    }

    /// The checkpoint of this; without decisions, it begins as if nothing had been decided before.
    pub fn checkpoint(&self, with_certifier: bool) -> Checkpoint {
        let certifier = match with_certifier {
            true => self.certifier.encode(),
            false => Certifier::new(SALT, limits(), self.certifier.seen()).encode(),
        };
        let partitions = self.partitions.clone();
        let needed_from = LogReader::needed_from(self.certifier.digests());
        let (messages, rows_given) = (self.messages, self.rows_given);
        Checkpoint { messages, certifier, rows_given, partitions, needed_from }
    }
}

impl Checkpoint {
    fn restored(&self) -> Applied {
        let certifier = Certifier::decode(SALT, &self.certifier).expect("a checkpoint reads back");
        let (rows_given, partitions) = (self.rows_given, self.partitions.clone());
        Applied { messages: self.messages, certifier, rows_given, partitions }
    }
}

/// A node.
pub struct Node {
    pub is_up: bool,
    /// It found that its log had changed.
    pub is_stopped: bool,
    pub incarnation: u32,
    /// Numbers of records that it gave.
    pub numbers: u64,
    pub now: Applied,
    pub saved: Checkpoint,
    /// Rows that the log gave it.
    pub free_rows: Vec<u32>,
    /// The oldest snapshot in use, as it told the others.
    pub horizon: Timestamp,
}

impl Node {
    /// As every history begins.
    pub fn new(node: usize) -> Self {
        let now = Applied::new(node);
        let saved = now.checkpoint(true);
        let (free_rows, horizon) = (Vec::new(), Timestamp::ZERO);
        Self { is_up: true, is_stopped: false, incarnation: 0, numbers: 0, now, saved, free_rows, horizon }
    }

    /// The newest snapshot that it can read.
    pub fn snapshot(&self) -> Timestamp {
        snapshot(self.now.messages)
    }

    /// Begins anew from its checkpoint. A copy that came after it is gone with the memory.
    pub fn restart(&mut self) {
        self.is_up = true;
        self.now = self.saved.restored();
    }

    /// Drops copies that were made from another log.
    pub fn prove(&mut self, any_log: bool) {
        let (messages, seen) = (self.now.messages, self.now.certifier.seen());
        self.now.partitions.retain(|_, partition| {
            partition.proof.is_none_or(|(at, proof)| at != messages || proof == seen || any_log)
        });
    }
}
