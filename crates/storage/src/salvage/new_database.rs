//! New database: what was saved as the bodies and the manifest of a database that begins there.
//!
//! Not through commits or a bulk load: those would give new ids. Vertices, edges, names and indexes keep
//! theirs, and each body is checked as a checkpoint checks it before it is written.

use std::sync::Arc;

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::body_file::BodyFileWriter;
use crate::checkpoint::body_form::StableForm;
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::{Manifest, SegmentId, StoredGroup};
use crate::engine::Engine;
use crate::io::directory::Directory;
use crate::log::copy::NewLog;
use crate::memory::engine::MemoryEngine;
use crate::memory::group::EdgeSubject;
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::segment::version::Stored;
use crate::segment::vertex_body::VertexBody;
use crate::unfinished::Unfinished;

/// The number of its only bodies' file.
const NUMBER: u64 = 1;

/// A database that is being written.
pub struct NewDatabase<'a> {
    directory: &'a Arc<dyn Directory>,
    unfinished: Unfinished<'a>,
    writer: Option<BodyFileWriter>,
    segments: Vec<(SegmentId, Stored)>,
    /// Every body is exact here, and the next commit comes after it.
    at: Timestamp,
}

impl<'a> NewDatabase<'a> {
    /// Begins one in `directory`, as of commit `at`.
    ///
    /// # Errors
    /// As [`Unfinished::begin`].
    pub fn begin(directory: &'a Arc<dyn Directory>, at: Timestamp) -> Result<Self> {
        let unfinished = Unfinished::begin(&**directory)?;
        Ok(Self { directory, unfinished, writer: None, segments: Vec::new(), at })
    }

    /// Writes the vertices of a group.
    ///
    /// # Errors
    /// `corrupt` if the body breaks its own rules, `limit`, `io`.
    pub fn vertices(&mut self, group: GroupId, body: &VertexBody) -> Result<()> {
        if body.items() > 0 {
            self.put(SegmentId { group, subject: None, hub: None }, body)?;
        }
        Ok(())
    }

    /// Writes the edges of a group, of one type and side; hubs apart.
    ///
    /// # Errors
    /// As [`NewDatabase::vertices`]; `corrupt` also if lists of the in side have properties.
    pub fn edges(
        &mut self,
        group: GroupId,
        edge_type: TypeId,
        side: Direction,
        body: EdgeBody,
    ) -> Result<()> {
        if body.items() == 0 {
            return Ok(());
        }
        let subject = Some(EdgeSubject::new(edge_type, side));
        let (own, hubs) = body.split_hubs();
        self.put(SegmentId { group, subject, hub: None }, &own)?;
        hubs.iter().try_for_each(|(row, hub)| self.put(SegmentId { group, subject, hub: Some(*row) }, hub))
    }

    fn put<B: StableForm>(&mut self, id: SegmentId, body: &B) -> Result<()> {
        let unsound = |problem| CheckpointError::Unsound { what: id.to_string(), problem };
        body.check().and_then(|()| id.check_body(body)).map_err(unsound)?;
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(BodyFileWriter::create(Arc::clone(self.directory), NUMBER)?),
        };
        let (offset, length) = writer.append(|out| body.put(out))?;
        self.segments.push((id, Stored { file: NUMBER, offset, length, base: self.at }));
        Ok(())
    }

    /// Makes it a database. `salt` is any number. Bytes written.
    ///
    /// # Errors
    /// `corrupt` if the parts don't fit together; `limit`, `io`.
    pub fn finish(mut self, catalogue: Catalogue, groups: Vec<StoredGroup>, salt: u64) -> Result<u64> {
        let mut bytes = match self.writer.take() {
            Some(writer) => writer.finish()?,
            None => 0,
        };
        let log = NewLog::create(&**self.directory, salt)?.seal(self.at.0)?;
        bytes += log.bytes;
        self.segments.sort_unstable_by_key(|(id, _)| *id);
        self.unfinished.finish(&Manifest {
            covered_through: self.at,
            need: self.at,
            next_file: NUMBER + 1,
            catalogue,
            groups,
            segments: self.segments,
            has_end_file: true,
            ..Manifest::empty(MemoryEngine::NAME)
        })?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::read::load;
    use crate::io::environment::Background;
    use crate::io::memory::MemoryDirectory;
    use evergraph_graph::catalogue::SchemaChange;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{KeyId, LabelId};
    use evergraph_graph::packed_column::PackedColumn;
    use evergraph_graph::value::Value;

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
        let mut new = NewDatabase::begin(&directory, Timestamp(3)).unwrap();
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
        new.finish(catalogue, vec![StoredGroup { id: GROUP, label: LabelId(0), rows: 1 }], 7).unwrap();
        let mut manifest = Manifest::read(&memory, MemoryEngine::NAME).unwrap();
        assert!(load(&memory, &manifest, Background::Threads, drop).is_ok());
        manifest.segments[0].0.subject = Some(EdgeSubject::new(TYPE, Direction::In));
        let error = load(&memory, &manifest, Background::Threads, drop).unwrap_err();
        assert!(matches!(error, CheckpointError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("the in side without properties"), "{error}");
    }
}
