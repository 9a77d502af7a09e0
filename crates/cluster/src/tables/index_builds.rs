//! Index builds: indexes that were created and are not ready, as the log has them.
//!
//! ```text
//! create index at p ──> partitions build it from p on ──> all are done ──> index ready, created at p ──> catalogue
//!                                     └── dropped, or dropped and created anew: that record does nothing
//! ```
//!
//! Records of the index's owner whose snapshot lies before p conflict once, since they do not know what enters the index.

use crate::planted::{Bug, planted};
use crate::record::body::{put_index, take_index, take_timestamp};
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::owner::Owner;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::fmt;

/// The fewest bytes of a build in a checkpoint: the change that adds the index, its timestamp.
const BUILD_BYTES_MIN: usize = 13;

/// Why an index is not created, or not ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IndexRefusal {
    /// There is no such label, edge type or property key.
    UnknownProperty,
    /// The property has an index of this kind.
    Exists,
    /// One is being built.
    IsBuilt,
    /// It is not being built: it was dropped, or created anew.
    NotBuilt,
}

/// An index that is being built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct IndexBuild {
    unique: bool,
    created: Timestamp,
}

/// The indexes that are being built.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexBuilds {
    builds: BTreeMap<IndexId, IndexBuild>,
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
        let has_owner = match index.id.owner {
            Owner::Label(label) => catalogue.has_label(label),
            Owner::EdgeType(edge_type) => catalogue.edge_type_definition(edge_type).is_some(),
        };
        if !has_owner || !catalogue.has_key(index.id.key) {
            return Err(IndexRefusal::UnknownProperty);
        }
        if catalogue.index(index.id).is_some() {
            return Err(IndexRefusal::Exists);
        }
        if self.builds.contains_key(&index.id) {
            return Err(IndexRefusal::IsBuilt);
        }
        self.builds.insert(index.id, IndexBuild { unique: index.unique, created });
        Ok(())
    }

    /// Ends the build of `index` that the record at `created` began: it is ready.
    ///
    /// # Errors
    /// [`IndexRefusal::NotBuilt`].
    pub fn end(&mut self, index: IndexDefinition, created: Timestamp) -> Result<(), IndexRefusal> {
        let expected = IndexBuild { unique: index.unique, created };
        match self.builds.get(&index.id) {
            Some(build) if *build == expected || planted(Bug::OtherIndexReady) => {
                self.builds.remove(&index.id);
                Ok(())
            }
            _ => Err(IndexRefusal::NotBuilt),
        }
    }

    /// The index is dropped, or ready in another way: whoever builds it stops.
    pub fn forget(&mut self, index: IndexId) {
        self.builds.remove(&index);
    }

    /// Every index that is being built, ascending, and the record that created it.
    pub fn all(&self) -> impl ExactSizeIterator<Item = (IndexDefinition, Timestamp)> {
        self.builds
            .iter()
            .map(|(id, build)| (IndexDefinition { id: *id, unique: build.unique }, build.created))
    }

    /// Appends the form in a checkpoint: count:varint, then index and created:u64 each, ascending.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.builds.len() as u64);
        for (index, created) in self.all() {
            put_index(out, index);
            out.extend_from_slice(&created.0.to_le_bytes());
        }
    }

    /// Reads what [`IndexBuilds::encode`] wrote, of a graph with `catalogue`.
    ///
    /// # Errors
    /// If there is something else, or what [`IndexBuilds::begin`] would have refused.
    pub fn decode(reader: &mut Reader<'_>, catalogue: &Catalogue) -> Decoded<Self> {
        let mut builds = Self::default();
        let mut last = None;
        for _ in 0..reader.count(BUILD_BYTES_MIN)? {
            let start = reader.clone();
            let index = take_index(reader)?;
            if last.is_some_and(|last| last >= index.id) {
                return Err(start.error("indexes in ascending order expected"));
            }
            last = Some(index.id);
            let created = take_timestamp(reader)?;
            builds.begin(catalogue, index, created).map_err(|refusal| start.error(refusal.to_string()))?;
        }
        Ok(builds)
    }
}

impl fmt::Display for IndexRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownProperty => "there is no such label, edge type or property key",
            Self::Exists => "the property has such an index",
            Self::IsBuilt => "such an index is being built",
            Self::NotBuilt => "the index was dropped, or created anew",
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

    #[test]
    fn an_index_is_created_once_and_ready_by_the_record_that_belongs_to_it() {
        let (catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        let name = index(Owner::Label(LabelId(1)), 3);
        assert_eq!(builds.begin(&catalogue, name, Timestamp(5)), Ok(()));
        assert_eq!(builds.begin(&catalogue, name, Timestamp(6)), Err(IndexRefusal::IsBuilt));
        // It is dropped, and created anew: what the first build reports is not the second one's.
        builds.forget(name.id);
        assert_eq!(builds.end(name, Timestamp(5)), Err(IndexRefusal::NotBuilt));
        assert_eq!(builds.begin(&catalogue, name, Timestamp(9)), Ok(()));
        assert_eq!(builds.end(name, Timestamp(5)), Err(IndexRefusal::NotBuilt), "the first build");
        let unique = IndexDefinition { unique: true, ..name };
        assert_eq!(builds.end(unique, Timestamp(9)), Err(IndexRefusal::NotBuilt));
        assert_eq!(builds.end(name, Timestamp(9)), Ok(()));
        assert_eq!(builds.end(name, Timestamp(9)), Err(IndexRefusal::NotBuilt));
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = an_index_is_created_once_and_ready_by_the_record_that_belongs_to_it;
        assert_found(Bug::OtherIndexReady, test, "the first build");
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
        let (catalogue, mut builds) = (catalogue(), IndexBuilds::default());
        builds.begin(&catalogue, index(Owner::Label(LabelId(1)), 3), Timestamp(5)).unwrap();
        builds.begin(&catalogue, index(Owner::EdgeType(TypeId(2)), 3), Stamp::TIMESTAMP_MAX).unwrap();
        let mut bytes = Vec::new();
        builds.encode(&mut bytes);
        assert_eq!(IndexBuilds::decode(&mut Reader::new(&bytes), &catalogue), Ok(builds));
        for cut in 0..bytes.len() {
            assert!(IndexBuilds::decode(&mut Reader::new(&bytes[..cut]), &catalogue).is_err());
        }
        let none = Catalogue::default();
        let error = IndexBuilds::decode(&mut Reader::new(&bytes), &none).unwrap_err();
        assert_eq!(error.offset, 1);
        assert_eq!(error.expected, "there is no such label, edge type or property key");
    }
}
