//! New bodies: writes saved data as the bodies of a new database, each checked as a checkpoint
//! checks it before it is written.

use std::sync::Arc;

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::body_file::BodyFileWriter;
use crate::checkpoint::segment_list::SegmentList;
use crate::engine::MemoryEngine;
use crate::segment::version::Stored;
use evergraph_bodies::body::Body;
use evergraph_bodies::body_form::StableForm;
use evergraph_bodies::body_sink::BodySink;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::{Manifest, StoredGroup};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::new_database::NewDatabase;

/// The number of its only bodies' file.
const NUMBER: u64 = 1;

/// The bodies of a database that is being written.
pub struct NewBodies {
    directory: Arc<dyn Directory>,
    writer: Option<BodyFileWriter>,
    segments: Vec<(SegmentId, Stored)>,
    /// Every body is exact here, and the next commit comes after it.
    at: Timestamp,
}

impl NewBodies {
    /// None yet; they will lie in `directory`, and are those of commit `at`.
    #[must_use]
    pub fn new(directory: &Arc<dyn Directory>, at: Timestamp) -> Self {
        Self { directory: Arc::clone(directory), writer: None, segments: Vec::new(), at }
    }

    fn put<B: StableForm>(&mut self, id: SegmentId, body: &B) -> Result<()> {
        let unsound = |problem| CheckpointError::Unsound { what: id.to_string(), problem };
        body.check().and_then(|()| id.check_body(body)).map_err(unsound)?;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(BodyFileWriter::create(Arc::clone(&self.directory), NUMBER)?),
        };
        let (offset, length) = writer.append(|out| body.put(out))?;
        self.segments.push((id, Stored { file: NUMBER, offset, length, base: self.at }));
        Ok(())
    }

    /// Makes `database`, in whose directory they lie, a database of them. Bytes written.
    ///
    /// # Errors
    /// `corrupt` if the parts don't fit together; `limit`, `io`.
    pub fn finish(
        self,
        database: NewDatabase<'_>,
        catalogue: Catalogue,
        groups: Vec<StoredGroup>,
    ) -> Result<u64> {
        let (manifest, bytes) = self.into_manifest(catalogue, groups)?;
        Ok(bytes + database.finish(&manifest)?)
    }

    /// The manifest of a database of them, which are synced, and their bytes.
    ///
    /// # Errors
    /// As [`NewBodies::finish`].
    pub fn into_manifest(
        mut self,
        catalogue: Catalogue,
        groups: Vec<StoredGroup>,
    ) -> Result<(Manifest, u64)> {
        let bytes = match self.writer.take() {
            Some(writer) => writer.finish()?,
            None => 0,
        };
        self.segments.sort_unstable_by_key(|(id, _)| *id);
        let mut manifest = Manifest {
            covered_through: self.at,
            need: self.at,
            next_file: NUMBER + 1,
            catalogue,
            groups,
            has_end_file: true,
            ..Manifest::empty(MemoryEngine::NAME, Vec::new())
        };
        SegmentList { segments: self.segments }.put_into(&mut manifest)?;
        Ok((manifest, bytes))
    }
}

impl BodySink for NewBodies {
    fn vertices(&mut self, group: GroupId, body: &VertexBody) -> Result<()> {
        if body.items() > 0 {
            self.put(SegmentId { group, subject: None, hub: None }, body)?;
        }
        Ok(())
    }

    fn edges(&mut self, group: GroupId, edge_type: TypeId, side: Direction, body: EdgeBody) -> Result<()> {
        if body.items() == 0 {
            return Ok(());
        }
        let subject = Some(EdgeSubject::new(edge_type, side));
        let (own, hubs) = body.split_hubs();
        self.put(SegmentId { group, subject, hub: None }, &own)?;
        hubs.iter().try_for_each(|(row, hub)| self.put(SegmentId { group, subject, hub: Some(*row) }, hub))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::body_file;
    use crate::checkpoint::read::load;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{KeyId, LabelId};
    use evergraph_graph::packed_column::PackedColumn;
    use evergraph_graph::schema_change::SchemaChange;
    use evergraph_graph::value::Value;
    use evergraph_storage::io::environment::Background;
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::salvage::new_database::SalvageTarget;

    const GROUP: GroupId = GroupId(0);
    const TYPE: TypeId = TypeId(0);

    /// One edge with a property.
    fn weighted() -> EdgeBody {
        let column = PackedColumn::from_values([Some(&Value::I64(5))]).unwrap();
        EdgeBody::new(&[1], Box::new([0]), Box::new([]), vec![(KeyId(0), Arc::new(column))])
    }

    #[test]
    fn lists_of_the_in_side_with_properties_are_neither_written_nor_read() {
        let memory = MemoryDirectory::new("db");
        let directory: Arc<dyn Directory> = Arc::new(memory.clone());
        let is_engine_file = |name: &str| body_file::file_number(name).is_some();
        let database = SalvageTarget { directory: &directory, salt: 7, is_engine_file }.begin().unwrap();
        let mut new = NewBodies::new(&directory, Timestamp(3));
        let error = new.edges(GROUP, TYPE, Direction::In, weighted()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("the in side without properties"), "{error}");

        let mut catalogue = Catalogue::default();
        for change in [
            SchemaChange::AddLabel { id: LabelId(0), name: "V".into() },
            SchemaChange::AddEdgeType { id: TYPE, name: "E".into(), simple: true },
            SchemaChange::AddKey { id: KeyId(0), name: "w".into() },
        ] {
            catalogue.apply(&change);
        }
        new.edges(GROUP, TYPE, Direction::Out, weighted()).unwrap();
        let groups = [StoredGroup { id: GROUP, label: LabelId(0), rows: 1 }];
        new.finish(database, catalogue, groups.to_vec()).unwrap();
        let manifest = Manifest::read(&memory, |_| true).unwrap();
        let mut list = SegmentList::of(&memory, &manifest).unwrap();
        assert!(load(&memory, &groups, &list, Background::Threads, drop).is_ok());
        list.segments[0].0.subject = Some(EdgeSubject::new(TYPE, Direction::In));
        let error = load(&memory, &groups, &list, Background::Threads, drop).unwrap_err();
        assert!(matches!(error, CheckpointError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("the in side without properties"), "{error}");
    }
}
