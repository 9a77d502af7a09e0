//! Bodies: the bodies that a manifest names, read as far as they verify.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use evergraph_graph::id::GroupId;

use crate::checkpoint::body_file::file_name;
use crate::salvage::blocks::DamagedFile;
use crate::salvage::partial::{PartialForm, take_partial};
use crate::segment::version::Stored;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::salvage::finding::{BodyFinding, FoundBodies, FoundBody, FoundRuns};
use evergraph_bodies::segment_id::SegmentId;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use evergraph_storage::salvage::loss::Damage;

/// The bodies of a database that may be damaged.
pub struct Bodies<'a> {
    directory: &'a dyn Directory,
    segments: BTreeMap<SegmentId, Stored>,
    files: BTreeMap<u64, Result<DamagedFile, String>>,
}

impl<'a> Bodies<'a> {
    /// Opens every file that `segments` name.
    ///
    /// # Errors
    /// As [`DamagedFile::open`].
    pub fn open(directory: &'a dyn Directory, segments: &[(SegmentId, Stored)]) -> Result<Self, IoError> {
        let mut files = BTreeMap::new();
        for (_, stored) in segments {
            if let Entry::Vacant(place) = files.entry(stored.file) {
                place.insert(DamagedFile::open(directory, stored.file)?);
            }
        }
        Ok(Self { directory, segments: segments.iter().copied().collect(), files })
    }

    fn read<B: PartialForm>(&self, id: SegmentId) -> BodyFinding<B> {
        let Some(stored) = self.segments.get(&id) else { return BodyFinding::Nothing };
        let damage = |problem: &str| Damage {
            file: self.directory.path(&file_name(stored.file)),
            offset: stored.offset,
            length: stored.length,
            problem: problem.to_owned(),
        };
        // What is newer than a body is in the log alone.
        let runs = FoundRuns::default();
        let file = match &self.files[&stored.file] {
            Ok(file) => file,
            Err(problem) => return BodyFinding::Lost(damage(problem), runs),
        };
        // The manifest was checked: the sum is no greater than 2^64.
        let range = stored.offset..stored.offset + stored.length;
        match take_partial(&file.read(range.clone()), range) {
            Ok(partial) => {
                BodyFinding::Some(FoundBody { partial, base: stored.base, damage: damage(""), runs })
            }
            Err(problem) => BodyFinding::Lost(damage(&problem), runs),
        }
    }
}

impl FoundBodies for Bodies<'_> {
    fn vertices(&self, group: GroupId) -> BodyFinding<VertexBody> {
        self.read(SegmentId { group, subject: None, hub: None })
    }

    fn edges(&self, group: GroupId, subject: EdgeSubject, hub: Option<u16>) -> BodyFinding<EdgeBody> {
        self.read(SegmentId { group, subject: Some(subject), hub })
    }

    fn groups(&self, subject: EdgeSubject) -> BTreeSet<GroupId> {
        let of_subject = self.segments.keys().filter(|id| id.subject == Some(subject));
        of_subject.map(|id| id.group).collect()
    }

    fn hubs(&self, group: GroupId, subject: EdgeSubject) -> Vec<u16> {
        let id = |hub| SegmentId { group, subject: Some(subject), hub };
        self.segments.range(id(Some(0))..=id(Some(u16::MAX))).filter_map(|(id, _)| id.hub).collect()
    }
}
