//! Transaction record: what is appended of a transaction, from what it has written and read.
//!
//! ```text
//! writes, types, joins ──> mutations ──> touches, payloads
//!            │                 └───────> checks: catalogue, unique values
//!            └─────────────────────────> checks: keys of what is written; of a serialisable one, of what was read
//! ```

use crate::key_hash::checks::Checks;
use crate::key_hash::touches::{SnapshotFacts, Touches, written_properties};
use crate::node::shared_tables::TablesMoment;
use crate::planted::{Bug, planted};
use crate::record::large_transaction::TRANSACTION_BYTES_MAX;
use crate::record::payload::payloads;
use crate::record::transaction_part::TransactionPart;
use crate::remote::remote_snapshot::GraphMap as _;
use crate::remote::remote_view::RemoteView;
use crate::transaction::look_up_hashes::{LookUpHashes, add_reads};
use evergraph_graph::error::{Error, ErrorKind, Result, TransactionTooLarge};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::owner::Owner;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_storage::transaction::reads::Reads;
use evergraph_storage::transaction::resolve::append_mutations;
use evergraph_storage::transaction::schema_writes::SchemaWrites;
use evergraph_storage::transaction::write_checks::WriteChecks;
use evergraph_storage::transaction::writes::{VertexWrite, Writes};
use evergraph_storage::view::View as _;
use std::borrow::Cow;

/// What a transaction rests on: the graph and the tables at its snapshot, and the vertices that it inserts.
#[derive(Clone, Copy)]
pub struct RecordFacts<'a> {
    /// The graph at S, past its own writes.
    pub view: RemoteView<'a>,
    /// What follows from the log up to S.
    pub moment: &'a TablesMoment,
    /// What it writes.
    pub writes: &'a Writes,
}

impl SnapshotFacts for RecordFacts<'_> {
    fn label(&self, group: GroupId) -> Result<LabelId> {
        let last = VertexId(group.first().0 + (GROUP_SIZE - 1));
        let inserted = || {
            self.writes.vertices_between(group.first(), last).find_map(|(_, write)| match write {
                VertexWrite::Insert { label, .. } => Some(*label),
                VertexWrite::Set(_) | VertexWrite::Delete => None,
            })
        };
        // A group may have got its label after S, for these vertices.
        self.moment.group_label(group).or_else(inserted).ok_or_else(|| {
            let text = format!("vertices of group {} are written, which has no label", group.0);
            Error::new(ErrorKind::Corrupt, text)
        })
    }

    fn indexes(&self, owner: Owner, key: KeyId, visit: &mut dyn FnMut(IndexId)) {
        let ready = self.moment.catalogue().indexes();
        // A value enters one that is filled before it is unique in both lists: it is touched once all the same.
        let all =
            ready.chain(self.moment.builds().iter().map(|build| build.definition)).map(|index| index.id);
        all.filter(|id| id.owner == owner && id.key == key).for_each(visit);
    }

    fn has_edge_type(&self, group: GroupId, edge_type: TypeId, side: Direction) -> Result<bool> {
        Ok(self.view.edge_types(group, side)?.contains(&edge_type))
    }
}

/// Everything of the record of a transaction, in one part. Adds to `schema` which labels its new edges join.
///
/// Cost: linear in what was written and read, but for sorts; a message a partition where edges are new.
///
/// # Errors
/// `limit` if it has more than [`TRANSACTION_BYTES_MAX`] bytes; errors of reading.
pub fn transaction_part(
    facts: &RecordFacts<'_>,
    schema: &mut SchemaWrites,
    reads: Option<(&Reads, &LookUpHashes)>,
) -> Result<TransactionPart> {
    let (salt, writes) = (facts.moment.salt(), facts.writes);
    learn_joins(facts, schema)?;
    let mut mutations: Vec<_> = schema.changes().iter().cloned().map(Mutation::Schema).collect();
    append_mutations(writes, &mut mutations);
    let mut checks = Checks::new(salt);
    if !planted(Bug::WritesUnchecked) {
        WriteChecks::of(writes).all().for_each(|key| checks.add_key(&key));
    }
    checks.add_mutations(&mutations, facts)?;
    add_unique_values(&mut checks, &mutations, facts)?;
    if let Some((reads, look_ups)) = reads {
        add_reads(reads, look_ups, &mut checks, facts.moment.catalogue());
    }
    let Touches { hashes, entered } = Touches::of(&mutations, facts, salt)?;
    let (checks, ranges) = checks.finish();
    let payloads = payloads(&mutations, facts.moment.partitions())?;
    let part = TransactionPart { checks, ranges, touches: hashes, entered, payloads };
    let bytes = part.size_bytes();
    if bytes > TRANSACTION_BYTES_MAX {
        let bytes_max = TRANSACTION_BYTES_MAX as u64;
        return Err(TransactionTooLarge { bytes: bytes as u64, bytes_max }.into());
    }
    Ok(part)
}

/// Which labels edges of a type join is learned from edges, and never taken back.
fn learn_joins(facts: &RecordFacts<'_>, schema: &mut SchemaWrites) -> Result<()> {
    let mut ends = Vec::new();
    for (edge, _) in facts.writes.edges().filter(|(_, write)| write.balance() > 0) {
        let (source, target) = (facts.label(edge.source.group())?, facts.label(edge.target.group())?);
        if !schema.current().has_join(edge.edge_type, source, target) {
            schema.make(SchemaChange::Join { edge_type: edge.edge_type, source, target });
        }
        ends.extend([edge.source, edge.target]);
    }
    if !ends.is_empty() {
        // Which types their groups have had is asked of each partition at once.
        facts.view.ahead(NextReads::EdgeTypes(&ends, Direction::Both));
    }
    Ok(())
}

/// Nobody else may enter the same values of unique properties.
fn add_unique_values(checks: &mut Checks, mutations: &[Mutation], facts: &RecordFacts<'_>) -> Result<()> {
    for mutation in mutations {
        let Some((item, owner, properties)) = written_properties(mutation, facts)? else { continue };
        for (key, value) in properties.as_slice() {
            let Some(value) = value else { continue };
            // One that is being made unique is in the catalogue already.
            for index in facts.moment.catalogue().indexes_on(owner, *key) {
                if facts.moment.is_unique(index.id) {
                    checks.add_value(index.id, &index.id.entry_value(item, Cow::Borrowed(value)));
                }
            }
        }
    }
    Ok(())
}
