//! Graph writer: a graph in a log, by records as a coordinator makes them: the same checks, touches and payloads.
//!
//! Vertices are numbered, and lie in the partition of their number's hash.

use crate::engine::store::Edge;
use crate::plan::wrong;
use crate::workload::cluster::log_writer::{LogWriter, Messages, SALT};
use evergraph_cluster::key_hash::checks::Checks;
use evergraph_cluster::key_hash::graph_salt::KeyHash;
use evergraph_cluster::key_hash::subject::Subject;
use evergraph_cluster::key_hash::touches::{SnapshotFacts, Touches};
use evergraph_cluster::node::replicated_state::{AppliedRecord, RecordResult, ReplicatedState};
use evergraph_cluster::record::body::{NewName, RecordBody};
use evergraph_cluster::record::payload::payloads;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_cluster::tables::groups::RANGE_ROWS;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::split_mix::mix;
use evergraph_storage::transaction::resolve::append_mutations;
use evergraph_storage::transaction::write_checks::WriteChecks;
use evergraph_storage::transaction::writes::Writes;
use std::collections::HashSet;

const LABEL: &str = "Vertex";
const EDGE: &str = "EDGE";
/// Vertices of a transaction: its record has room in a message.
const VERTICES: usize = 1_000;
const WHO: &str = "the log";

/// A graph that grows in a log.
pub struct GraphWriter {
    log: LogWriter,
    partitions: PartitionCount,
    facts: GraphFacts,
    edge_type: TypeId,
    /// By their numbers.
    vertices: Vec<VertexId>,
}

/// What records rest on: one label, one edge type, no index.
#[derive(Clone)]
struct GraphFacts {
    label: LabelId,
    /// Groups whose vertices have edges on a side.
    sides: HashSet<(GroupId, Direction)>,
}

impl SnapshotFacts for GraphFacts {
    fn label(&self, _group: GroupId) -> Result<LabelId> {
        Ok(self.label)
    }

    fn indexes(&self, _owner: Owner, _key: KeyId, _visit: &mut dyn FnMut(IndexId)) {}

    fn has_edge_type(&self, group: GroupId, _edge_type: TypeId, side: Direction) -> Result<bool> {
        Ok(self.sides.contains(&(group, side)))
    }
}

impl GraphWriter {
    /// A log of a graph with so many vertices, without edges.
    ///
    /// # Errors
    /// `corrupt` if a record is refused.
    pub fn create(partitions: PartitionCount, vertices: u32) -> Result<Self> {
        let mut log = LogWriter::create(partitions)?;
        for name in [NewName::Label(LABEL.into()), NewName::SimpleEdgeType(EDGE.into())] {
            log.push(RecordBody::Name { name, touches: vec![Subject::Names.hash(SALT)] })?;
        }
        log.send()?;
        let catalogue = log.state().tables().catalogue();
        let names = catalogue.label(LABEL).zip(catalogue.edge_type(EDGE));
        let (label, edge_type) =
            names.ok_or_else(|| wrong(WHO, "the names of a graph", None::<u16>, LABEL))?;
        let vertices = place(&mut log, partitions, label, vertices)?;
        let facts = GraphFacts { label, sides: HashSet::new() };
        let mut writer = Self { log, partitions, facts, edge_type, vertices };
        writer.insert_vertices()?;
        Ok(writer)
    }

    /// Goes on behind this log, in messages of its own.
    #[must_use]
    pub fn fork(&self) -> Self {
        let (facts, vertices) = (self.facts.clone(), self.vertices.clone());
        let Self { partitions, edge_type, .. } = *self;
        Self { log: self.log.fork(), partitions, facts, edge_type, vertices }
    }

    /// Appends a transaction that inserts `edges`, none of which is there, and has read what `reads` stands for.
    ///
    /// # Errors
    /// `limit` if its record has no room in a message; `corrupt` if a record before it was refused.
    pub fn insert(&mut self, edges: &[Edge], reads: &[KeyHash]) -> Result<()> {
        let mut writes = Writes::default();
        for edge in edges {
            writes.put_edge(self.edge(*edge), &Properties::EMPTY, false);
        }
        let part = self.part(&[], &writes, reads)?;
        for (source, target) in edges {
            let [source, target] = [source, target].map(|end| self.vertex(*end).group());
            self.facts.sides.extend([(source, Direction::Out), (target, Direction::In)]);
        }
        self.log.push_transaction(part)
    }

    /// Sends what is open.
    ///
    /// # Errors
    /// `corrupt` if it is refused.
    pub fn send(&mut self) -> Result<()> {
        self.log.send().map(drop)
    }

    /// What follows from the log, but for an open message.
    #[must_use]
    pub fn state(&self) -> &ReplicatedState {
        self.log.state()
    }

    /// What was sent since the log was created, or forked.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        self.log.messages()
    }

    /// How many partitions the graph has.
    #[must_use]
    pub fn partitions(&self) -> PartitionCount {
        self.partitions
    }

    /// The partition of a vertex.
    #[must_use]
    pub fn partition_of(&self, vertex: VertexId) -> PartitionId {
        self.partitions.of_group(vertex.group())
    }

    /// All vertices, by their numbers.
    #[must_use]
    pub fn vertices(&self) -> &[VertexId] {
        &self.vertices
    }

    /// The vertex with a number.
    #[must_use]
    pub fn vertex(&self, number: u32) -> VertexId {
        self.vertices[number as usize]
    }

    /// The type of all edges.
    #[must_use]
    pub fn edge_type(&self) -> TypeId {
        self.edge_type
    }

    /// What a transaction checks that has read the out-list of the vertex with a number; none if the open message changes it.
    #[must_use]
    pub fn list_of(&self, number: u32) -> Option<KeyHash> {
        let list = Subject::List(self.vertex(number), self.edge_type, Direction::Out).hash(SALT);
        (!self.log.is_touched(list)).then_some(list)
    }

    fn edge(&self, (source, target): Edge) -> EdgeId {
        let [source, target] = [source, target].map(|end| self.vertex(end));
        EdgeId { source, edge_type: self.edge_type, target, discriminator: 0 }
    }

    /// Vertices, and that edges join them.
    fn insert_vertices(&mut self) -> Result<()> {
        let label = self.facts.label;
        let join = SchemaChange::Join { edge_type: self.edge_type, source: label, target: label };
        let part = self.part(&[join], &Writes::default(), &[])?;
        self.log.push_transaction(part)?;
        for vertices in self.vertices.chunks(VERTICES) {
            let mut writes = Writes::default();
            vertices.iter().for_each(|vertex| writes.insert_vertex(*vertex, label, &Properties::EMPTY));
            let part = self.part(&[], &writes, &[])?;
            self.log.push_transaction(part)?;
        }
        self.send()
    }

    /// All of a record, as `cluster/src/transaction/transaction_record.rs` makes it.
    fn part(&self, schema: &[SchemaChange], writes: &Writes, reads: &[KeyHash]) -> Result<TransactionPart> {
        let mut mutations: Vec<_> = schema.iter().cloned().map(Mutation::Schema).collect();
        append_mutations(writes, &mut mutations);
        let mut checks = Checks::new(SALT);
        WriteChecks::of(writes).all().for_each(|key| checks.add_key(&key));
        checks.add_mutations(&mutations, &self.facts)?;
        reads.iter().for_each(|read| checks.add_hash(*read));
        let Touches { hashes, entered } = Touches::of(&mutations, &self.facts, SALT)?;
        let (checks, ranges) = checks.finish();
        let payloads = payloads(&mutations, self.partitions)?;
        Ok(TransactionPart { checks, ranges, touches: hashes, entered, payloads })
    }
}

/// Asks for the rows of so many vertices, and gives each a place.
fn place(
    log: &mut LogWriter,
    partitions: PartitionCount,
    label: LabelId,
    vertices: u32,
) -> Result<Vec<VertexId>> {
    let partition_of = |number: u32| (mix(u64::from(number)) % u64::from(partitions.get())) as usize;
    let mut wanted = vec![0_usize; usize::from(partitions.get())];
    (0..vertices).for_each(|number| wanted[partition_of(number)] += 1);
    let mut answers: Vec<AppliedRecord> = Vec::new();
    for (partition, wanted) in (0..).map(PartitionId).zip(&wanted) {
        for _ in 0..wanted.div_ceil(usize::from(RANGE_ROWS)) {
            let touches = vec![Subject::Groups(label).hash(SALT)];
            answers.extend(log.push(RecordBody::Rows { label, partition, touches })?);
        }
    }
    answers.extend(log.send()?);
    let mut given: Vec<Vec<VertexId>> = vec![Vec::new(); wanted.len()];
    for answer in &answers {
        if let RecordResult::Table(TableAnswer::Rows(Ok(rows))) = answer.result {
            given[usize::from(partitions.of_group(rows.group).0)].extend(rows.vertices());
        }
    }
    // The first rows first.
    given.iter_mut().for_each(|given| given.reverse());
    let missing = || Error::new(ErrorKind::Limit, "a partition has no rows left");
    (0..vertices).map(|number| given[partition_of(number)].pop().ok_or_else(missing)).collect()
}
