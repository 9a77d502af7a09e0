//! Saved form: the tables of a cluster in a checkpoint.
//!
//! ```text
//! version:u8 3, partitions:u16
//! catalogue   count:varint, then the changes that make it, as in `mutation.rs`
//! builds      count:varint, then index created:u64 stage:u8 nodes each               ascending
//! groups      count:varint, then group:varint label:varint rows:varint each          ascending
//! members     count:varint, then node:u16 has:u8 incarnation:u32 address each        ascending
//! placement   each partition: changed:u64 count:varint, then node:u16 state:u8 each  ascending
//! keys        count:varint, then label:varint key + 1:varint each, or 0 for none     ascending
//! ```
//!
//! The same tables have the same bytes. Each table describes its own form, and refuses what it would not have written;
//! the checkpoint's file has their checksum.

use crate::planted::{Bug, planted};
use crate::tables::cluster_tables::ClusterTables;
use crate::tables::groups::Groups;
use crate::tables::index_builds::IndexBuilds;
use crate::tables::members::Members;
use crate::tables::names::NameNumbers;
use crate::tables::placement::Placement;
use crate::tables::placement_keys::PlacementKeys;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::manifest::{put_catalogue, take_catalogue};

const VERSION: u8 = 3;

impl ClusterTables {
    /// The state.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        let partitions = self.groups.partitions();
        out.extend_from_slice(&partitions.get().to_le_bytes());
        put_catalogue(&mut out, &self.catalogue);
        self.builds.encode(&mut out);
        match planted(Bug::GroupsNotSaved) {
            true => Groups::new(partitions).encode(&mut out),
            false => self.groups.encode(&mut out),
        }
        self.members.encode(&mut out);
        self.placement.encode(&mut out);
        match planted(Bug::PlacementKeysNotSaved) {
            true => PlacementKeys::default().encode(&mut out),
            false => self.placement_keys.encode(&mut out),
        }
        out
    }

    /// The tables whose state is `bytes`.
    ///
    /// # Errors
    /// If the bytes are no state: where, and what was expected there.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let start = reader.clone();
        match reader.u8()? {
            VERSION => {}
            found => return Err(start.error(format!("version {VERSION} expected, found {found}"))),
        }
        let place = reader.clone();
        let partitions = PartitionCount::new(reader.u16()?)
            .ok_or_else(|| place.error("a number of partitions that a graph may have expected"))?;
        let catalogue = take_sorted_catalogue(&mut reader)?;
        let builds = IndexBuilds::decode(&mut reader, &catalogue)?;
        let place = reader.clone();
        let groups = Groups::decode(&mut reader, partitions)?;
        if let Some(group) = groups.all().find(|group| !catalogue.has_label(group.label)) {
            return Err(place.error(format!("groups of labels expected, {} has none", group.id.0)));
        }
        let members = Members::decode(&mut reader)?;
        let placement = Placement::decode(&mut reader, partitions, &members)?;
        let placement_keys = PlacementKeys::decode(&mut reader, &catalogue)?;
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
        }
        let numbers = NameNumbers::of(&catalogue);
        Ok(Self { catalogue, numbers, builds, groups, members, placement, placement_keys })
    }

    /// The newest record that anything in the tables names.
    #[must_use]
    pub fn newest(&self) -> Timestamp {
        let builds = self.builds.all().map(|build| build.created);
        builds.chain(self.placement.changes()).max().unwrap_or(Timestamp::ZERO)
    }
}

/// A catalogue whose changes are in the order in which it writes them.
fn take_sorted_catalogue(reader: &mut Reader<'_>) -> Decoded<Catalogue> {
    let mut start = reader.clone();
    let catalogue = take_catalogue(reader)?;
    let mut again = Vec::new();
    put_catalogue(&mut again, &catalogue);
    let place = start.clone();
    if start.take(reader.offset() - place.offset())? != again {
        return Err(place.error("changes of a catalogue in their order expected"));
    }
    Ok(catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::graph_salt::GraphSalt;
    use crate::planted::assert_found;
    use crate::record::body::{NewName, PlaceChange, PlaceStep, RecordBody};
    use crate::record_id::{Author, NodeId, RecordId};
    use evergraph_graph::id::{KeyId, LabelId, PartitionId, VertexId};
    use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::owner::Owner;
    use evergraph_graph::properties::Properties;
    use evergraph_graph::schema_change::SchemaChange;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Two nodes, two partitions, and records that leave something in each table.
    fn sample() -> ClusterTables {
        let members = Members::new([(NodeId(0), "a:1".into()), (NodeId(1), "b:2".into())]);
        let mut tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 1);
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Ordered };
        let unique = IndexDefinition { id: IndexId { kind: IndexKind::Hash, ..id }, unique: true };
        let touches = Vec::new;
        let place = PlaceChange {
            since: Timestamp(4100),
            partition: PartitionId(0),
            node: NodeId(1),
            step: PlaceStep::Copy,
        };
        let bodies = [
            RecordBody::Name { name: NewName::Label("Person".into()), touches: touches() },
            RecordBody::Name { name: NewName::Key("name".into()), touches: touches() },
            RecordBody::CreateIndex { index: IndexDefinition { id, unique: false }, touches: touches() },
            RecordBody::Rows { label: LabelId(0), partition: PartitionId(1), touches: touches() },
            RecordBody::Join { address: "b:7".into() },
            RecordBody::Place(place),
            RecordBody::Name { name: NewName::Label("Post".into()), touches: touches() },
            RecordBody::Rows { label: LabelId(1), partition: PartitionId(0), touches: touches() },
            RecordBody::CreateIndex { index: unique, touches: touches() },
            RecordBody::IndexReady { index: unique, created: Timestamp(4104), touches: touches() },
        ];
        let author = Author { node: NodeId(1), incarnation: 3 };
        for (number, body) in (1..).zip(bodies) {
            tables.apply(RecordId { author, number }, Timestamp(4095 + number), body);
        }
        let (vertex, properties) = (VertexId(0), Properties::EMPTY);
        let insert = Mutation::InsertVertex { vertex, label: LabelId(1), properties };
        tables.learn_vertices(GraphSalt([7; 16]), PartitionId(0), &[insert]);
        tables
    }

    /// Written by an independent program.
    const GOLDEN: &str = "\
        0302000310000006506572736f6e10010004506f7374120000046e616d650214000000000810000000000000\
        000101001600000000000100021000000000000000000200018002010080020200000203613a310100030300\
        000003623a370510000000000000020000010100000000000000000000010100010200010100";

    #[test]
    fn the_bytes_are_those_of_version_3_and_read_back() {
        let tables = sample();
        let bytes = tables.encode();
        let written: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(written, GOLDEN, "every table is saved");
        assert_eq!(ClusterTables::decode(&bytes), Ok(tables));
        assert_eq!(sample().newest(), Timestamp(4104));
        for cut in 0..bytes.len() {
            assert!(ClusterTables::decode(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn planted_bugs_are_found() {
        for bug in [Bug::GroupsNotSaved, Bug::PlacementKeysNotSaved] {
            assert_found(bug, the_bytes_are_those_of_version_3_and_read_back, "every table is saved");
        }
    }

    #[test]
    fn tables_that_do_not_fit_together_are_refused() {
        let bytes = sample().encode();
        let edited = |edits: &[(usize, u8)]| {
            let mut bytes = bytes.clone();
            edits.iter().for_each(|(at, byte)| bytes[*at] = *byte);
            let error = ClusterTables::decode(&bytes).unwrap_err();
            (error.offset, error.expected)
        };
        assert_eq!(edited(&[(0, 9)]), (0, "version 3 expected, found 9".into()));
        let count = "a number of partitions that a graph may have expected";
        assert_eq!(edited(&[(1, 0)]), (1, count.into()));
        // Other numbers of the key of the indexes, of the label of a group, and of the label that is scattered.
        for (at, problem) in [
            (23, "there is no such label, edge type or property key"),
            (15, "groups of labels expected, 0 has none"),
            (bytes.len() - 2, "a label and a property key of the graph expected"),
        ] {
            assert_eq!(edited(&[(at, 4)]).1, problem);
        }
    }

    /// Its coordinator has a defect; no node may be lost by that.
    #[test]
    fn an_index_of_what_nobody_named_leaves_tables_that_read_back() {
        let mut tables = sample();
        let index = |label, key| {
            let id = IndexId { owner: Owner::Label(LabelId(label)), key: KeyId(key), kind: IndexKind::Hash };
            SchemaChange::AddIndex(IndexDefinition { id, unique: true })
        };
        let city = SchemaChange::AddLabel { id: LabelId(2), name: "City".into() };
        for change in [city, index(2, 9), index(9, 0)] {
            tables.commit(&change).expect("nothing is called so");
        }
        assert_eq!(ClusterTables::decode(&tables.encode()), Ok(tables));
    }

    proptest! {
        #[test]
        fn random_edits_are_other_tables_or_an_error_with_its_place(
            edits in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = sample().encode();
            for (at, byte) in &edits {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            match ClusterTables::decode(&bytes) {
                Ok(tables) => prop_assert_eq!(tables.encode(), bytes),
                Err(error) => prop_assert!(error.offset <= bytes.len() && !error.expected.is_empty()),
            }
        }
    }
}
