//! Segment list: the memory engine's section of a manifest, with the location of each segment's body.
//!
//! ```text
//! count, then group, subject, hub, file, offset, length, base: varints; ascending by the first three
//! ```
//!
//! Subject 0 is the vertices, else 1 + (type, side); hub 0 is the group's own segment, else 1 + row. A segment
//! that nothing was ever merged into has no entry.

use std::collections::BTreeSet;

use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::{Direction, GROUP_SIZE, GroupId, TypeId};
use evergraph_graph::timestamp::Timestamp;

use crate::segment::version::Stored;
use evergraph_bodies::edge_subject::EdgeSubject;
use evergraph_bodies::segment_id::SegmentId;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::io::directory::Directory;

/// Where the body of each segment lies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentList {
    /// Ascending.
    pub segments: Vec<(SegmentId, Stored)>,
}

impl SegmentList {
    /// That of `manifest`, which was read from `directory`.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] if it can't be read, or doesn't fit the rest of the manifest.
    pub fn of(directory: &dyn Directory, manifest: &Manifest) -> Result<Self, CheckpointError> {
        let section = &manifest.engine_section;
        let mut reader = Reader::new(&section.bytes);
        let start = reader.clone();
        let list = Self::take(&mut reader).map_err(|error| section.corrupt(directory, error))?;
        list.check(manifest).map_err(|problem| section.corrupt(directory, start.error(problem)))?;
        Ok(list)
    }

    /// The section of an engine without segments.
    #[must_use]
    pub fn empty_section() -> Vec<u8> {
        Self::default().encode()
    }

    /// Makes this the section of `manifest`.
    ///
    /// # Errors
    /// [`CheckpointError::Unsound`] if it doesn't fit the rest of the manifest.
    pub fn put_into(&self, manifest: &mut Manifest) -> Result<(), CheckpointError> {
        let unsound = |problem| CheckpointError::Unsound { what: "the manifest".to_owned(), problem };
        self.check(manifest).map_err(unsound)?;
        manifest.engine_section = self.encode().into();
        Ok(())
    }

    /// The files that it names.
    #[must_use]
    pub fn files(&self) -> BTreeSet<u64> {
        self.segments.iter().map(|(_, stored)| stored.file).collect()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 + self.segments.len() * 20);
        put_varint(&mut out, self.segments.len() as u64);
        for (id, stored) in &self.segments {
            let subject = id.subject.map_or(0, |subject| {
                1 + (u64::from(subject.edge_type().0) << 1 | u64::from(subject.side() == Direction::In))
            });
            let hub = id.hub.map_or(0, |row| 1 + u64::from(row));
            let place = [stored.file, stored.offset, stored.length, stored.base.0];
            for number in [u64::from(id.group.0), subject, hub].into_iter().chain(place) {
                put_varint(&mut out, number);
            }
        }
        out
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let count = reader.count(7)?;
        let mut segments = Vec::with_capacity(count);
        for _ in 0..count {
            let group = GroupId(reader.at_most(u64::from(GroupId::END) - 1)? as u32);
            let subject = reader.at_most(u64::from(u16::MAX) * 2 + 2)?.checked_sub(1).map(|subject| {
                let side = if subject & 1 == 0 { Direction::Out } else { Direction::In };
                EdgeSubject::new(TypeId((subject >> 1) as u16), side)
            });
            let hub = reader.at_most(u64::from(GROUP_SIZE))?.checked_sub(1).map(|row| row as u16);
            let (file, offset, length) = (reader.varint()?, reader.varint()?, reader.varint()?);
            let stored = Stored { file, offset, length, base: Timestamp(reader.varint()?) };
            segments.push((SegmentId { group, subject, hub }, stored));
        }
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, found {} more bytes", reader.remaining())));
        }
        Ok(Self { segments })
    }

    /// Whether it fits `manifest`. Checked before it is written and after it is read.
    fn check(&self, manifest: &Manifest) -> Result<(), String> {
        if !self.segments.is_sorted_by(|a, b| a.0 < b.0) {
            return Err("segments in ascending order expected".to_owned());
        }
        for (id, stored) in &self.segments {
            if manifest.groups.binary_search_by_key(&id.group, |group| group.id).is_err() {
                return Err(format!("{id} have no group"));
            }
            let own = SegmentId { hub: None, ..*id };
            let lonely = || self.segments.binary_search_by_key(&own, |segment| segment.0).is_err();
            if id.hub.is_some() && (id.subject.is_none() || lonely()) {
                return Err(format!("{id} belong to no group's segment"));
            }
            if stored.base > manifest.need {
                return Err(format!("{id} are exact at {}, beyond {}", stored.base, manifest.need));
            }
            if stored.file >= manifest.next_file || stored.offset.checked_add(stored.length).is_none() {
                return Err(format!("{id} lie in file {} at byte {}", stored.file, stored.offset));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::LabelId;
    use evergraph_storage::checkpoint::manifest::StoredGroup;
    use evergraph_storage::io::memory::MemoryDirectory;

    fn manifest() -> Manifest {
        Manifest {
            covered_through: Timestamp(69),
            need: Timestamp(72),
            next_file: 5,
            groups: vec![
                StoredGroup { id: GroupId(0), label: LabelId(3), rows: 4096 },
                StoredGroup { id: GroupId(GroupId::END - 1), label: LabelId(0), rows: 0 },
            ],
            ..Manifest::empty("memory", Vec::new())
        }
    }

    fn sample() -> SegmentList {
        let subject = EdgeSubject::new(TypeId(u16::MAX), Direction::In);
        let id = |group, subject, hub| SegmentId { group: GroupId(group), subject, hub };
        let stored = |offset| Stored { file: 4, offset, length: 300, base: Timestamp(70) };
        let segments = vec![
            (id(0, None, None), stored(4096)),
            (id(0, Some(subject), None), stored(5000)),
            (id(0, Some(subject), Some(4095)), stored(u64::MAX - 300)),
            (id(GroupId::END - 1, None, None), stored(4400)),
        ];
        SegmentList { segments }
    }

    #[test]
    fn a_list_reads_back_from_a_manifest() {
        let (directory, mut manifest) = (MemoryDirectory::new("db"), manifest());
        sample().put_into(&mut manifest).unwrap();
        assert_eq!(SegmentList::of(&directory, &manifest).unwrap(), sample());
        manifest.engine_section.bytes.push(0);
        let error = SegmentList::of(&directory, &manifest).unwrap_err().to_string();
        assert!(error.contains("the end expected, found 1 more bytes"), "{error}");
        let empty = Manifest::empty("memory", SegmentList::empty_section());
        assert_eq!(SegmentList::of(&directory, &empty).unwrap(), SegmentList::default());
    }

    #[test]
    fn a_list_that_does_not_fit_its_manifest_is_neither_written_nor_read() {
        let refused = |change: &dyn Fn(&mut SegmentList, &mut Manifest), text: &str| {
            let (mut list, mut manifest) = (sample(), manifest());
            change(&mut list, &mut manifest);
            let error = list.put_into(&mut manifest).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Unsound { .. }) && error.to_string().contains(text),
                "{error}"
            );
            manifest.engine_section = list.encode().into();
            let error = SegmentList::of(&MemoryDirectory::new("db"), &manifest).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Corrupt { .. }) && error.to_string().contains(text),
                "{error}"
            );
        };
        refused(&|_, manifest| manifest.need = Timestamp(69), "exact at 70, beyond 69");
        refused(&|_, manifest| manifest.groups.truncate(1), "have no group");
        refused(&|list, _| list.segments.swap(0, 1), "ascending");
        refused(&|list, _| _ = list.segments.remove(1), "hub v4095 belong to no group's segment");
        refused(&|_, manifest| manifest.next_file = 4, "lie in file 4");
    }
}
