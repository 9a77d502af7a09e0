//! Bodies: the bodies that a manifest names, read as far as they verify.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use evergraph_graph::id::GroupId;
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::body_file::file_name;
use crate::checkpoint::segment_list::SegmentId;
use crate::group::EdgeSubject;
use crate::salvage::blocks::DamagedFile;
use crate::salvage::partial::{InParts, Partial, take_partial};
use crate::segment::version::Stored;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use evergraph_storage::salvage::loss::Damage;

/// The bodies of a database that may be damaged.
pub struct Bodies<'a> {
    directory: &'a dyn Directory,
    segments: BTreeMap<SegmentId, Stored>,
    files: BTreeMap<u64, Result<DamagedFile, String>>,
}

/// What is there of one segment's body.
pub enum Found<B> {
    /// Nothing was ever stored: it was empty.
    Nothing,
    /// What verifies, exact at a commit, and where it lies.
    Some(Partial<B>, Timestamp, Damage),
    /// Something was stored, and nothing of it verifies.
    Lost(Damage),
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

    /// Reads the body of a segment.
    #[must_use]
    pub fn read<B: InParts>(&self, id: SegmentId) -> Found<B> {
        let Some(stored) = self.segments.get(&id) else { return Found::Nothing };
        let damage = |problem: &str| Damage {
            file: self.directory.path(&file_name(stored.file)),
            offset: stored.offset,
            length: stored.length,
            problem: problem.to_owned(),
        };
        let file = match &self.files[&stored.file] {
            Ok(file) => file,
            Err(problem) => return Found::Lost(damage(problem)),
        };
        // The manifest was checked: the sum is no greater than 2^64.
        let range = stored.offset..stored.offset + stored.length;
        match take_partial(&file.read(range.clone()), range) {
            Ok(partial) => Found::Some(partial, stored.base, damage("")),
            Err(problem) => Found::Lost(damage(&problem)),
        }
    }

    /// The groups with a body of `subject`.
    #[must_use]
    pub fn groups(&self, subject: EdgeSubject) -> BTreeSet<GroupId> {
        let of_subject = self.segments.keys().filter(|id| id.subject == Some(subject));
        of_subject.map(|id| id.group).collect()
    }

    /// The rows of `group` that have a body of their own.
    #[must_use]
    pub fn hubs(&self, group: GroupId, subject: EdgeSubject) -> Vec<u16> {
        let id = |hub| SegmentId { group, subject: Some(subject), hub };
        self.segments.range(id(Some(0))..=id(Some(u16::MAX))).filter_map(|(id, _)| id.hub).collect()
    }
}
