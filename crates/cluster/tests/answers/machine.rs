//! Machine: a node on its log and its network, with clients that read and write.

use crate::simulation::traced_transport::{SharedTrace, TracedTransport};
use crate::toy_partition::ToyPartition;
use crate::workers::{WorkTimes, Workers};
use crate::world::{PARTITIONS, partitions};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::memory::{MemoryLog, MemoryLogClient};
use evergraph_cluster::log::packer::PackerLimits;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::horizon::HorizonOptions;
use evergraph_cluster::node::incarnation::NodeStart;
use evergraph_cluster::node::node_loop::{NodeEvent, NodeLoop};
use evergraph_cluster::node::peer_loop::{PeerEvent, PeerLoop, PeerOptions};
use evergraph_cluster::node::readers::OpenReader;
use evergraph_cluster::node::replicated_state::ReplicatedState;
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record::payload::payloads;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::asking::{Ask, AskId, AskOutcome};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::transport::memory::MemoryNetwork;
use evergraph_graph::id::{GroupId, KeyId, PartitionId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::value::Value;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// How long a node may be silent here.
pub const SILENCE_MAX: Duration = Duration::from_secs(1);
/// How long clients wait for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Clients of one node that read at once.
const CLIENTS_MAX: usize = 4;
/// Moments that clients remember, to read there again.
const MOMENTS_MAX: usize = 30;

/// A question of a client.
#[derive(Clone, Copy, Debug)]
pub struct OpenAsk {
    pub partition: PartitionId,
    pub at: SeenLog,
    pub asked_at: Duration,
    pub ends_at: Duration,
}

/// Who reads at a snapshot.
struct Client {
    reader: OpenReader,
    /// Questions that it waits for.
    open: Vec<AskId>,
    /// It asks no more, and goes when it has its answers.
    is_leaving: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct EndedAsk {
    pub ask: OpenAsk,
    pub outcome: AskOutcome,
}

pub struct Machine {
    pub node: NodeLoop<ToyPartition, MemoryLogClient>,
    pub peers: PeerLoop<TracedTransport, Workers>,
    stores: Vec<ToyPartition>,
    clients: Vec<Client>,
    asks: BTreeMap<AskId, OpenAsk>,
    /// What clients have seen, oldest first.
    moments: VecDeque<SeenLog>,
}

impl Machine {
    /// Starts a node that has nothing but the log, of a cluster that was created with `first`.
    pub fn start(
        author: Author,
        first: ReplicatedState,
        (log, network): (&MemoryLog, &MemoryNetwork),
        nonce: u64,
        times: WorkTimes,
        trace: SharedTrace,
    ) -> Self {
        let kept: Vec<_> = first.tables().placement().kept_by(author.node).collect();
        let applied = first.certifier().digests().clone();
        let start = NodeStart { author, nonce };
        let address = format!("node-{}:{}", author.node.0, author.incarnation).into();
        let limits = PackerLimits::default();
        let mut node = NodeLoop::new(start, address, limits, Applier::new(first), log.connect());
        let mut stores = Vec::new();
        for (partition, _) in kept {
            let store = ToyPartition::new();
            node.keep(partition, store.clone()).unwrap();
            stores.push(store);
        }
        let options = PeerOptions {
            heartbeat_interval: Duration::from_millis(50),
            horizon: HorizonOptions { silence_max: SILENCE_MAX, ..HorizonOptions::default() },
            ..PeerOptions::default()
        };
        let transport = TracedTransport::new(author.node, network, trace);
        let work = Workers::new(nonce, times);
        let peers = PeerLoop::new(author, options, &applied, transport, work);
        let (clients, asks, moments) = (Vec::new(), BTreeMap::new(), VecDeque::new());
        Self { node, peers, stores, clients, asks, moments }
    }

    /// Takes the steps of a tick. Merges go as far as the horizon allows, at once. Returns what came of questions.
    ///
    /// # Errors
    /// What no node may do here.
    pub fn step(&mut self, now: Duration) -> Result<Vec<EndedAsk>, String> {
        let mut applied = Vec::new();
        self.node.step(now, &mut applied).map_err(|error| error.to_string())?;
        for event in applied {
            if let NodeEvent::Applied(message) = event {
                self.peers.applied(message.seen, message.bytes);
            }
        }
        self.peers.work_mut().now = now;
        let mut events = Vec::new();
        self.peers.step(now, &mut self.node, &mut events);
        let mut ended = Vec::new();
        for event in events {
            match event {
                PeerEvent::HorizonRose(oldest) => self.stores.iter().for_each(|store| store.merge_to(oldest)),
                PeerEvent::Asked(id, outcome) => {
                    let ask = self.asks.remove(&id).ok_or("an ask ends twice")?;
                    ended.push(EndedAsk { ask, outcome });
                }
                PeerEvent::OtherLog { .. } => return Err("there is one log".to_owned()),
                PeerEvent::LeftBehind(node) => return Err(format!("node {} is left behind", node.0)),
                PeerEvent::Copy(node, _) => return Err(format!("node {} speaks of a copy", node.0)),
            }
        }
        let asks = &self.asks;
        self.clients.iter_mut().for_each(|client| client.open.retain(|id| asks.contains_key(id)));
        self.clients.retain(|client| !client.is_leaving || !client.open.is_empty());
        Ok(ended)
    }

    /// Clients begin snapshots, ask and leave; one writes.
    pub fn work(&mut self, now: Duration, chance: &mut SeededChance, value: i64) {
        if chance.happens(OneIn(3)) {
            self.write(now, chance, value);
        }
        if self.clients.len() < CLIENTS_MAX && chance.happens(OneIn(15)) {
            self.begin(chance);
        }
        for client in &mut self.clients {
            client.is_leaving |= chance.happens(OneIn(60));
            if !client.is_leaving && chance.happens(OneIn(8)) {
                let partition = PartitionId(chance.below(u64::from(PARTITIONS)) as u16);
                let (at, asked) = (client.reader.at(), vec![partition.0 as u8]);
                let id = self.peers.ask(now, Ask { partition, at, patience: PATIENCE, asked }).unwrap();
                client.open.push(id);
                self.asks.insert(id, OpenAsk { partition, at, asked_at: now, ends_at: now + PATIENCE });
            }
        }
    }

    /// A client begins a snapshot, of now or of a moment that somebody has seen; if it may.
    fn begin(&mut self, chance: &mut SeededChance) {
        let reader = match self.moments.get(chance.below(MOMENTS_MAX as u64) as usize) {
            Some(at) if chance.happens(OneIn(3)) => self.peers.readers().begin_at(*at),
            _ => self.peers.readers().begin(),
        };
        let Ok(reader) = reader else { return };
        self.moments.push_back(reader.at());
        if self.moments.len() > MOMENTS_MAX {
            self.moments.pop_front();
        }
        self.clients.push(Client { reader, open: Vec::new(), is_leaving: false });
    }

    /// Clients go when they have their answers.
    pub fn calm_down(&mut self) {
        self.clients.iter_mut().for_each(|client| client.is_leaving = true);
    }

    pub fn horizon(&self) -> LogPosition {
        self.peers.readers().horizon()
    }

    fn write(&mut self, now: Duration, chance: &mut SeededChance, value: i64) {
        let partition = chance.below(u64::from(PARTITIONS)) as u32;
        let vertex = VertexId::new(GroupId(partition), 0);
        let properties = Properties::new(vec![(KeyId(0), Some(Value::I64(value)))]);
        let set = Mutation::SetVertexProperties { vertex, properties };
        let payloads = payloads(&[set], partitions()).unwrap();
        let last = TransactionPart { payloads, ..TransactionPart::default() };
        let since = self.node.applier().state().seen().position.end();
        // One that is not taken is not written: the node has not joined, or the log is slow.
        let _ = self.node.push(RecordBody::Transaction { since, parts: 0, last }, now);
    }
}

/// The author of a start of a node.
pub fn author(node: u16, incarnation: u32) -> Author {
    Author { node: NodeId(node), incarnation }
}
