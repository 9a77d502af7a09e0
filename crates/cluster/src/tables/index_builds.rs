//! Index builds: indexes that were created and do not answer yet, or not as what they shall be, as the log has them.
//!
//! ```text
//! create index at p        partitions get it and fill it
//! index ready, by a node   its stores have filled it. All nodes that serve partitions have: it is in the catalogue, not unique,
//!                          and that is the end, unless it shall be unique
//! unique index, enforce    whoever enters a value looks for another holder first: from here on no duplicate comes
//! unique index, confirm    there was none either: it is unique
//! dropped                  whatever the records of this build say, nothing follows
//! ```
//!
//! Records of the index's owner whose snapshot lies before p conflict once, since they do not know what enters the index; and
//! before it is enforced, since they looked for no other holder.
//!
//! A node that never reports holds a build up until its partitions are placed elsewhere: placement decides who is waited for.

use crate::planted::{Bug, planted};
use crate::record::body::{put_index, take_index, take_timestamp};
use crate::record_id::NodeId;
use crate::tables::placement::Placement;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::PartitionId;
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::owner::Owner;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The fewest bytes of a build in a checkpoint: the change that adds the index, its timestamp, its stage, the count of nodes.
const BUILD_BYTES_MIN: usize = 15;

/// Why an index is not created, not ready, or not made unique.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IndexRefusal {
    /// There is no such label, edge type or property key.
    UnknownProperty,
    /// The property has an index of this kind.
    Exists,
    /// One is being built.
    IsBuilt,
    /// It is not being built: it was dropped, or created anew, or it is ready.
    NotBuilt,
    /// It is being built, and not so far.
    TooSoon,
}

/// How far a build is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BuildStage {
    /// Stores fill it. It is not in the catalogue.
    Filling,
    /// It shall be unique, and answers as one that is not.
    Filled,
    /// The same, and nobody enters a value that is there.
    Enforced,
}

/// An index that is being built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexBuild {
    /// What it becomes.
    pub definition: IndexDefinition,
    /// The record that created it.
    pub created: Timestamp,
    /// How far it is.
    pub stage: BuildStage,
    /// The nodes whose stores have filled it.
    pub nodes: BTreeSet<NodeId>,
}

/// The indexes that are being built.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexBuilds {
    builds: BTreeMap<IndexId, IndexBuild>,
}

impl IndexBuild {
    /// How many nodes serve partitions, and how many of them have filled it.
    #[must_use]
    pub fn progress(&self, partitions: PartitionCount, placement: &Placement) -> (u32, u32) {
        let serving = serving_nodes(partitions, placement);
        let filled = serving.iter().filter(|node| self.nodes.contains(node)).count();
        (filled as u32, serving.len() as u32)
    }
}

impl IndexBuilds {
    /// Begins to build `index` with the record at `created`.
    ///
    /// # Errors
    /// [`IndexRefusal`].
    pub fn begin(
        &mut self,
        catalogue: &Catalogue,
        index: IndexDefinition,
        created: Timestamp,
    ) -> Result<(), IndexRefusal> {
        if self.builds.contains_key(&index.id) {
            return Err(IndexRefusal::IsBuilt);
        }
        if catalogue.index(index.id).is_some() {
            return Err(IndexRefusal::Exists);
        }
        if !has_property(catalogue, index.id) {
            return Err(IndexRefusal::UnknownProperty);
        }
        let (stage, nodes) = (BuildStage::Filling, BTreeSet::new());
        self.builds.insert(index.id, IndexBuild { definition: index, created, stage, nodes });
        Ok(())
    }

    /// The stores of `node` have filled `index` that the record at `created` created.
    ///
    /// # Errors
    /// [`IndexRefusal::NotBuilt`].
    pub fn report(
        &mut self,
        index: IndexDefinition,
        created: Timestamp,
        node: NodeId,
    ) -> Result<(), IndexRefusal> {
        self.build_mut(index, created)?.nodes.insert(node);
        Ok(())
    }

    /// Moves on what all nodes that serve partitions have filled. These answer from here on, as ones that are not unique.
    ///
    /// Cost: nothing, unless something is being filled; else a look at each partition.
    pub fn settle(&mut self, partitions: PartitionCount, placement: &Placement) -> Vec<IndexId> {
        let is_filling = |build: &&mut IndexBuild| build.stage == BuildStage::Filling;
        if !self.builds.values_mut().any(|build| is_filling(&build)) {
            return Vec::new();
        }
        let (serving, mut filled) = (serving_nodes(partitions, placement), Vec::new());
        for build in self.builds.values_mut().filter(is_filling) {
            let is_filled = match planted(Bug::IndexReadyOfOne) {
                true => !build.nodes.is_empty(),
                false => serving.is_subset(&build.nodes),
            };
            if is_filled {
                build.stage = BuildStage::Filled;
                filled.push(build.definition.id);
            }
        }
        self.builds.retain(|_, build| build.stage == BuildStage::Filling || build.definition.unique);
        filled
    }

    /// From here on nobody enters a value that is in `index` already. Nothing, if that is so.
    ///
    /// # Errors
    /// [`IndexRefusal::NotBuilt`], [`IndexRefusal::TooSoon`].
    pub fn enforce(&mut self, index: IndexDefinition, created: Timestamp) -> Result<(), IndexRefusal> {
        let build = self.build_mut(index, created)?;
        if build.stage == BuildStage::Filling {
            return Err(IndexRefusal::TooSoon);
        }
        build.stage = BuildStage::Enforced;
        Ok(())
    }

    /// No value is in `index` twice: it is unique, and this is the end of its build.
    ///
    /// # Errors
    /// [`IndexRefusal::NotBuilt`], [`IndexRefusal::TooSoon`].
    pub fn confirm(&mut self, index: IndexDefinition, created: Timestamp) -> Result<(), IndexRefusal> {
        if self.build_mut(index, created)?.stage != BuildStage::Enforced {
            return Err(IndexRefusal::TooSoon);
        }
        self.forget(index.id);
        Ok(())
    }

    /// The index is dropped, or ready in another way: whoever builds it stops.
    pub fn forget(&mut self, index: IndexId) {
        self.builds.remove(&index);
    }

    /// The build of an index.
    #[must_use]
    pub fn get(&self, index: IndexId) -> Option<&IndexBuild> {
        self.builds.get(&index)
    }

    /// All builds, by ascending index.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &IndexBuild> {
        self.builds.values()
    }

    /// The build that the record at `created` began.
    fn build_mut(
        &mut self,
        index: IndexDefinition,
        created: Timestamp,
    ) -> Result<&mut IndexBuild, IndexRefusal> {
        let is_same = |build: &&mut IndexBuild| {
            build.definition == index && build.created == created || planted(Bug::OtherIndexReady)
        };
        self.builds.get_mut(&index.id).filter(is_same).ok_or(IndexRefusal::NotBuilt)
    }

    /// Appends the form in a checkpoint.
    ///
    /// ```text
    /// count:varint, then each: index created:u64 stage:u8 (0 filling, 1 filled, 2 enforced) count:varint node:u16 each
    /// ```
    ///
    /// Indexes and nodes ascend.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.builds.len() as u64);
        for build in self.all() {
            put_index(out, build.definition);
            out.extend_from_slice(&build.created.0.to_le_bytes());
            out.push(match build.stage {
                BuildStage::Filling => 0,
                BuildStage::Filled => 1,
                BuildStage::Enforced => 2,
            });
            put_varint(out, build.nodes.len() as u64);
            build.nodes.iter().for_each(|node| out.extend_from_slice(&node.0.to_le_bytes()));
        }
    }

    /// Reads what [`IndexBuilds::encode`] wrote, of a graph with `catalogue`.
    ///
    /// # Errors
    /// If there is something else, or what no records would have left.
    pub fn decode(reader: &mut Reader<'_>, catalogue: &Catalogue) -> Decoded<Self> {
        let mut builds = Self::default();
        let mut last = None;
        for _ in 0..reader.count(BUILD_BYTES_MIN)? {
            let start = reader.clone();
            let definition = take_index(reader)?;
            if last.is_some_and(|last| last >= definition.id) {
                return Err(start.error("indexes in ascending order expected"));
            }
            last = Some(definition.id);
            let created = take_timestamp(reader)?;
            let stage = take_stage(reader)?;
            if !has_property(catalogue, definition.id) {
                return Err(start.error(IndexRefusal::UnknownProperty.to_string()));
            }
            let known = catalogue.index(definition.id).map(|known| known.unique);
            let expected = (stage != BuildStage::Filling).then_some(false);
            if known != expected || expected.is_some() && !definition.unique {
                return Err(start.error("a build that fits the indexes of the catalogue expected"));
            }
            let nodes = take_nodes(reader)?;
            builds.builds.insert(definition.id, IndexBuild { definition, created, stage, nodes });
        }
        Ok(builds)
    }
}

fn has_property(catalogue: &Catalogue, index: IndexId) -> bool {
    let has_owner = match index.owner {
        Owner::Label(label) => catalogue.has_label(label),
        Owner::EdgeType(edge_type) => catalogue.edge_type_definition(edge_type).is_some(),
    };
    has_owner && catalogue.has_key(index.key)
}

/// The nodes that serve partitions.
fn serving_nodes(partitions: PartitionCount, placement: &Placement) -> BTreeSet<NodeId> {
    (0..partitions.get()).map(PartitionId).flat_map(|partition| placement.serving(partition)).collect()
}

fn take_stage(reader: &mut Reader<'_>) -> Decoded<BuildStage> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        0 => BuildStage::Filling,
        1 => BuildStage::Filled,
        2 => BuildStage::Enforced,
        found => return Err(start.error(format!("a stage of a build expected, found {found}"))),
    })
}

fn take_nodes(reader: &mut Reader<'_>) -> Decoded<BTreeSet<NodeId>> {
    let mut nodes = BTreeSet::new();
    for _ in 0..reader.count(2)? {
        let start = reader.clone();
        let node = NodeId(reader.u16()?);
        if nodes.last().is_some_and(|last| *last >= node) {
            return Err(start.error("nodes in ascending order expected"));
        }
        nodes.insert(node);
    }
    Ok(nodes)
}

impl fmt::Display for IndexRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownProperty => "there is no such label, edge type or property key",
            Self::Exists => "the property has such an index",
            Self::IsBuilt => "such an index is being built",
            Self::NotBuilt => "the index was dropped, created anew, or is ready",
            Self::TooSoon => "nodes still fill the index",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use evergraph_graph::id::{KeyId, LabelId, TypeId};
    use evergraph_graph::index::IndexKind;
    use evergraph_graph::schema_change::SchemaChange;
    use evergraph_storage::record::Stamp;

    fn catalogue() -> Catalogue {
        let mut catalogue = Catalogue::default();
        for change in [
            SchemaChange::AddLabel { id: LabelId(1), name: "Person".into() },
            SchemaChange::AddEdgeType { id: TypeId(2), name: "KNOWS".into(), simple: false },
            SchemaChange::AddKey { id: KeyId(3), name: "name".into() },
        ] {
            catalogue.apply(&change);
        }
        catalogue
    }

    fn index(owner: Owner, key: u16) -> IndexDefinition {
        let id = IndexId { owner, key: KeyId(key), kind: IndexKind::Ordered };
        IndexDefinition { id, unique: false }
    }

    fn unique() -> IndexDefinition {
        IndexDefinition { unique: true, ..index(Owner::Label(LabelId(1)), 3) }
    }

    fn two() -> PartitionCount {
        PartitionCount::new(2).unwrap()
    }

    /// Nodes 4 and 5 serve a partition each.
    fn placement() -> Placement {
        Placement::spread(two(), &[NodeId(4), NodeId(5)], 1)
    }

    #[test]
    fn an_index_is_created_once_and_records_count_that_belong_to_it() {
        let (catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        let (name, node) = (index(Owner::Label(LabelId(1)), 3), NodeId(4));
        assert_eq!(builds.begin(&catalogue, name, Timestamp(5)), Ok(()));
        assert_eq!(builds.begin(&catalogue, name, Timestamp(6)), Err(IndexRefusal::IsBuilt));
        // It is dropped, and created anew: what is said of the first build is not the second one's.
        builds.forget(name.id);
        assert_eq!(builds.report(name, Timestamp(5), node), Err(IndexRefusal::NotBuilt));
        assert_eq!(builds.begin(&catalogue, name, Timestamp(9)), Ok(()));
        assert_eq!(builds.report(name, Timestamp(5), node), Err(IndexRefusal::NotBuilt), "the first build");
        assert_eq!(builds.report(unique(), Timestamp(9), node), Err(IndexRefusal::NotBuilt));
        assert_eq!(builds.enforce(unique(), Timestamp(9)), Err(IndexRefusal::NotBuilt));
        assert_eq!(builds.report(name, Timestamp(9), node), Ok(()));
    }

    #[test]
    fn an_index_is_filled_when_each_node_that_serves_a_partition_has_filled_it() {
        let (catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        let (name, created) = (index(Owner::Label(LabelId(1)), 3), Timestamp(5));
        builds.begin(&catalogue, name, created).unwrap();
        // It serves nothing.
        builds.report(name, created, NodeId(9)).unwrap();
        assert_eq!(builds.settle(two(), &placement()), [], "nobody who counts has");
        builds.report(name, created, NodeId(5)).unwrap();
        builds.report(name, created, NodeId(5)).unwrap();
        assert_eq!(builds.settle(two(), &placement()), [], "one is not all");
        assert_eq!(builds.get(name.id).unwrap().progress(two(), &placement()), (1, 2));
        let mut moved = builds.clone();
        builds.report(name, created, NodeId(4)).unwrap();
        assert_eq!(builds.settle(two(), &placement()), [name.id]);
        assert_eq!(builds.all().len(), 0);
        assert_eq!(builds.settle(two(), &placement()), [], "only once");
        // Both partitions are served by the node that has filled it.
        let elsewhere = Placement::spread(two(), &[NodeId(5)], 1);
        assert_eq!(moved.settle(two(), &elsewhere), [name.id]);
    }

    #[test]
    fn an_index_becomes_unique_once_it_is_filled_enforced_and_confirmed() {
        let (catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        let (name, created) = (unique(), Timestamp(5));
        builds.begin(&catalogue, name, created).unwrap();
        assert_eq!(builds.enforce(name, created), Err(IndexRefusal::TooSoon));
        [4, 5].map(NodeId).into_iter().for_each(|node| builds.report(name, created, node).unwrap());
        assert_eq!(builds.settle(two(), &placement()), [name.id]);
        assert_eq!(builds.confirm(name, created), Err(IndexRefusal::TooSoon));
        for _ in 0..2 {
            assert_eq!(builds.enforce(name, created), Ok(()));
        }
        assert_eq!(builds.settle(two(), &placement()), [], "only once");
        assert_eq!(builds.confirm(name, Timestamp(4)), Err(IndexRefusal::NotBuilt));
        assert_eq!(builds.confirm(name, created), Ok(()));
        assert_eq!(builds.confirm(name, created), Err(IndexRefusal::NotBuilt));
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = an_index_is_created_once_and_records_count_that_belong_to_it;
        assert_found(Bug::OtherIndexReady, test, "the first build");
        let test = an_index_is_filled_when_each_node_that_serves_a_partition_has_filled_it;
        assert_found(Bug::IndexReadyOfOne, test, "nobody who counts has");
    }

    #[test]
    fn an_index_needs_its_property_and_none_of_its_kind() {
        let (mut catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        for unknown in [
            index(Owner::Label(LabelId(2)), 3),
            index(Owner::EdgeType(TypeId(1)), 3),
            index(Owner::EdgeType(TypeId(2)), 4),
        ] {
            assert_eq!(builds.begin(&catalogue, unknown, Timestamp(5)), Err(IndexRefusal::UnknownProperty));
        }
        let since = index(Owner::EdgeType(TypeId(2)), 3);
        catalogue.apply(&SchemaChange::AddIndex(since));
        assert_eq!(builds.begin(&catalogue, since, Timestamp(5)), Err(IndexRefusal::Exists));
    }

    #[test]
    fn builds_read_back_and_no_cut_of_them_does() {
        let (mut catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        let since = IndexDefinition { unique: true, ..index(Owner::EdgeType(TypeId(2)), 3) };
        builds.begin(&catalogue, since, Timestamp(4)).unwrap();
        [4, 5].map(NodeId).into_iter().for_each(|node| builds.report(since, Timestamp(4), node).unwrap());
        builds.settle(two(), &placement());
        builds.enforce(since, Timestamp(4)).unwrap();
        catalogue.apply(&SchemaChange::AddIndex(IndexDefinition { unique: false, ..since }));
        let name = index(Owner::Label(LabelId(1)), 3);
        builds.begin(&catalogue, name, Stamp::TIMESTAMP_MAX).unwrap();
        builds.report(name, Stamp::TIMESTAMP_MAX, NodeId(7)).unwrap();
        let mut bytes = Vec::new();
        builds.encode(&mut bytes);
        assert_eq!(IndexBuilds::decode(&mut Reader::new(&bytes), &catalogue), Ok(builds));
        for cut in 0..bytes.len() {
            assert!(IndexBuilds::decode(&mut Reader::new(&bytes[..cut]), &catalogue).is_err());
        }
        let error = IndexBuilds::decode(&mut Reader::new(&bytes), &Catalogue::default()).unwrap_err();
        assert_eq!(error.offset, 1);
        assert_eq!(error.expected, "there is no such label, edge type or property key");
        // The one that is enforced answers.
        catalogue.apply(&SchemaChange::DropIndex(since.id));
        let error = IndexBuilds::decode(&mut Reader::new(&bytes), &catalogue).unwrap_err();
        assert_eq!(error.expected, "a build that fits the indexes of the catalogue expected");
    }
}
