//! Section: the disk engine's part of a manifest, with the CSR files of every level.
//!
//! ```text
//! files          count, then each:
//!                  number, level, flags     1 stamped, 2 has a file of columns
//!                  first timestamp, last - first
//!                  first key, last key      a length and order bytes
//!                  topology                 length, footer's crc (4 bytes, little-endian)
//!                  columns                  the same, if there are any
//! indexes        count, then each:
//!                  owner 0 label, 1 edge type; its number; key; kind; subject        ascending by the first four
//! next subject   greater than that of any index that was ever stored
//! ```
//!
//! Numbers are varints. Level 0 comes first, its newest file first; then level 1 and those below, each by first key. No
//! two files of a level below 0 overlap, and none of them has stamps.
//!
//! Source: disk-engine, section 3 (Manifest). Differs: timestamps and stamps are there too, so that what a file must be
//! is known before it is opened.

use crate::format::file_head::{BOTTOMMOST_LEVEL, FileStamps};
use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use crate::format::subject::Subject;
use crate::stored_file::{StoredFile, StoredPart};
use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{KeyId, LabelId, TypeId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::io::directory::Directory;
use std::collections::BTreeSet;

const STAMPED: u64 = 1;
const HAS_COLUMNS: u64 = 2;
/// Bytes that a file takes in the section at least.
const FILE_BYTES_MIN: usize = 12;
/// Bytes that an index takes in the section at least.
const INDEX_BYTES_MIN: usize = 8;
/// The number of the first subject of an index.
const FIRST_INDEX_SUBJECT: u32 = 1 << 24;

/// What the engine's section of a manifest says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileList {
    /// The files: level 0, newest first, then the levels below, each by first key.
    pub files: Vec<StoredFile>,
    /// The indexes whose entries are in the files, ascending.
    pub indexes: Vec<(IndexId, Subject)>,
    /// Greater than the number of any subject that an index ever had.
    pub next_subject: u32,
}

impl Default for FileList {
    fn default() -> Self {
        Self { files: Vec::new(), indexes: Vec::new(), next_subject: FIRST_INDEX_SUBJECT }
    }
}

impl FileList {
    /// That of `manifest`, which was read from `directory`.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`] if it can't be read, or doesn't fit the rest of the manifest.
    pub fn of(directory: &dyn Directory, manifest: &Manifest) -> CheckpointResult<Self> {
        let section = &manifest.engine_section;
        let mut reader = Reader::new(&section.bytes);
        let start = reader.clone();
        let list = Self::take(&mut reader).map_err(|error| section.corrupt(directory, error))?;
        list.check(manifest).map_err(|problem| section.corrupt(directory, start.error(problem)))?;
        Ok(list)
    }

    /// The section of a database without files.
    #[must_use]
    pub fn empty_section() -> Vec<u8> {
        Self::default().encode()
    }

    /// Makes this the section of `manifest`.
    ///
    /// # Errors
    /// [`CheckpointError::Unsound`] if it doesn't fit the rest of the manifest.
    pub fn put_into(&self, manifest: &mut Manifest) -> CheckpointResult<()> {
        let unsound = |problem| CheckpointError::Unsound { what: "the manifest".to_owned(), problem };
        self.check(manifest).map_err(unsound)?;
        manifest.has_index_entries = !self.indexes.is_empty() || self.next_subject > FIRST_INDEX_SUBJECT;
        manifest.engine_section = self.encode().into();
        Ok(())
    }

    /// The names of its files, in its order.
    pub fn names(&self) -> impl Iterator<Item = CsrFileName> {
        self.files.iter().flat_map(|file| file_parts(file).map(|(name, _)| name))
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(8 + self.files.len() * 80);
        put_varint(&mut out, self.files.len() as u64);
        for file in &self.files {
            let is_stamped = u64::from(file.stamps == FileStamps::Stamped) * STAMPED;
            let has_columns = u64::from(file.columns.is_some()) * HAS_COLUMNS;
            let flags = is_stamped | has_columns;
            let span = file.last_ts.0 - file.first_ts.0;
            for number in [file.number.0, u64::from(file.level), flags, file.first_ts.0, span] {
                put_varint(&mut out, number);
            }
            put_bytes(&mut out, &file.first_key);
            put_bytes(&mut out, &file.last_key);
            for (_, part) in file_parts(file) {
                put_varint(&mut out, part.bytes);
                out.extend_from_slice(&part.footer_crc.to_le_bytes());
            }
        }
        put_varint(&mut out, self.indexes.len() as u64);
        for (id, subject) in &self.indexes {
            let (kind, owner) = match id.owner {
                Owner::Label(label) => (0, label.0),
                Owner::EdgeType(edge_type) => (1, edge_type.0),
            };
            for number in [kind, owner, id.key.0, u16::from(id.kind.code())] {
                put_varint(&mut out, number.into());
            }
            put_varint(&mut out, subject.number().into());
        }
        put_varint(&mut out, u64::from(self.next_subject));
        out
    }

    fn take(reader: &mut Reader<'_>) -> Decoded<Self> {
        let count = reader.count(FILE_BYTES_MIN)?;
        let mut files = Vec::with_capacity(count);
        for _ in 0..count {
            files.push(take_file(reader)?);
        }
        let count = reader.count(INDEX_BYTES_MIN)?;
        let mut indexes: Vec<(IndexId, Subject)> = Vec::with_capacity(count);
        for _ in 0..count {
            let start = reader.clone();
            let index = take_index(reader)?;
            if indexes.last().is_some_and(|last| last.0 >= index.0) {
                return Err(start.error("indexes in ascending order expected"));
            }
            indexes.push(index);
        }
        let start = reader.clone();
        let next_subject = reader.at_most(u64::from(u32::MAX))? as u32;
        if next_subject < FIRST_INDEX_SUBJECT {
            return Err(start.error(format!("the subject of an index expected, found {next_subject}")));
        }
        if !reader.is_empty() {
            return Err(reader.error(format!("the end expected, found {} more bytes", reader.remaining())));
        }
        Ok(Self { files, indexes, next_subject })
    }

    /// Whether it fits `manifest`. Checked before it is written and after it is read.
    fn check(&self, manifest: &Manifest) -> Result<(), String> {
        let mut subjects = BTreeSet::new();
        for (id, subject) in &self.indexes {
            if subject.number() >= self.next_subject || !subjects.insert(subject) {
                return Err(format!("{subject} is that of two indexes, or of one to come"));
            }
            if manifest.catalogue.index(*id).is_none() {
                return Err(format!("{subject} is of an index that the catalogue lacks"));
            }
        }
        let mut numbers = BTreeSet::new();
        for file in &self.files {
            let name = CsrFileName::new(file.number, FileContent::Topology);
            if file.number.0 >= manifest.next_file || !numbers.insert(file.number) {
                return Err(format!("{name} has a number that is not its own"));
            }
            if file.last_ts > manifest.covered_through || file.first_ts > file.last_ts {
                let (first, last) = (file.first_ts, file.last_ts);
                return Err(format!(
                    "{name} has the commits {first} to {last}, beyond {}",
                    manifest.covered_through
                ));
            }
            if file.first_key > file.last_key {
                return Err(format!("{name} ends before it begins"));
            }
            if file.level > BOTTOMMOST_LEVEL || (file.level > 0 && file.stamps == FileStamps::Stamped) {
                return Err(format!("{name} can't be in level {}", file.level));
            }
        }
        for pair in self.files.windows(2) {
            let [before, after] = pair else { continue };
            let is_in_order = match (before.level, after.level) {
                (0, 0) => is_newer(before, after),
                (a, b) if a == b => before.last_key < after.first_key,
                (a, b) => a < b,
            };
            if !is_in_order {
                let name = |file: &StoredFile| CsrFileName::new(file.number, FileContent::Topology);
                return Err(format!("{} can't stand before {}", name(before), name(after)));
            }
        }
        Ok(())
    }
}

/// Whether file `a` of level 0 may stand before `b`. Those of one bulk load have the same timestamp.
fn is_newer(a: &StoredFile, b: &StoredFile) -> bool {
    a.first_ts > b.last_ts || (a.first_ts == b.first_ts && a.last_ts == b.last_ts && a.first_ts == a.last_ts)
}

/// The one or two files of a number.
pub fn file_parts(file: &StoredFile) -> impl Iterator<Item = (CsrFileName, StoredPart)> {
    let topology = (CsrFileName::new(file.number, FileContent::Topology), file.topology);
    let columns = file.columns.map(|part| (CsrFileName::new(file.number, FileContent::Columns), part));
    std::iter::once(topology).chain(columns)
}

fn take_index(reader: &mut Reader<'_>) -> Decoded<(IndexId, Subject)> {
    let kind = reader.at_most(1)?;
    let number = reader.at_most(u64::from(u16::MAX))? as u16;
    let owner = match kind {
        0 => Owner::Label(LabelId(number)),
        _ => Owner::EdgeType(TypeId(number)),
    };
    let key = KeyId(reader.at_most(u64::from(u16::MAX))? as u16);
    let start = reader.clone();
    let code = reader.at_most(u64::from(u8::MAX))? as u8;
    let kind = IndexKind::from_code(code)
        .ok_or_else(|| start.error(format!("a kind of index expected, found {code}")))?;
    let start = reader.clone();
    let number = reader.at_most(u64::from(u32::MAX))? as u32;
    let subject = Subject::from_number(number).filter(|_| number >= FIRST_INDEX_SUBJECT);
    let subject =
        subject.ok_or_else(|| start.error(format!("the subject of an index expected, found {number}")))?;
    Ok((IndexId { owner, key, kind }, subject))
}

fn take_file(reader: &mut Reader<'_>) -> Decoded<StoredFile> {
    let number = FileNumber(reader.varint()?);
    let level = reader.at_most(u64::from(u8::MAX))? as u8;
    let flags = reader.at_most(STAMPED | HAS_COLUMNS)?;
    let first_ts = Timestamp(reader.varint()?);
    let span = reader.at_most(u64::MAX - first_ts.0)?;
    let (first_key, last_key) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
    let take_part = |reader: &mut Reader<'_>| -> Decoded<StoredPart> {
        Ok(StoredPart { bytes: reader.varint()?, footer_crc: reader.u32()? })
    };
    let topology = take_part(reader)?;
    let columns = (flags & HAS_COLUMNS != 0).then(|| take_part(reader)).transpose()?;
    let stamps = if flags & STAMPED == 0 { FileStamps::Unstamped } else { FileStamps::Stamped };
    let last_ts = Timestamp(first_ts.0 + span);
    Ok(StoredFile { number, level, stamps, first_ts, last_ts, first_key, last_key, topology, columns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::index::IndexDefinition;
    use evergraph_graph::schema_change::SchemaChange;
    use evergraph_storage::io::memory::MemoryDirectory;
    use proptest::prelude::*;

    fn manifest() -> Manifest {
        let mut manifest = Manifest::empty("disk", Vec::new());
        (manifest.covered_through, manifest.need, manifest.next_file) = (Timestamp(900), Timestamp(900), 100);
        manifest
    }

    /// Files of all levels, as they may stand in a manifest: keys and timestamps follow from the place.
    fn any_list() -> impl Strategy<Value = FileList> {
        let key = || proptest::collection::vec(any::<u8>(), 0..20);
        let part =
            || (any::<u64>(), any::<u32>()).prop_map(|(bytes, footer_crc)| StoredPart { bytes, footer_crc });
        let file = (0..=BOTTOMMOST_LEVEL, key(), key(), part(), proptest::option::of(part()));
        let files = proptest::collection::vec(file, 0..40);
        (files, FIRST_INDEX_SUBJECT..).prop_map(|(mut files, next_subject)| {
            files.sort_by_key(|file| file.0);
            let files = files.into_iter().enumerate().map(|(at, (level, first, last, topology, columns))| {
                let at = at as u64;
                let key = |rest: Vec<u8>, half: u8| [vec![at as u8, half], rest].concat();
                StoredFile {
                    number: FileNumber(99 - at),
                    level,
                    stamps: if level == 0 { FileStamps::Stamped } else { FileStamps::Unstamped },
                    first_ts: Timestamp(801 - at * 10),
                    last_ts: Timestamp(801 - at * 10 + at % 10),
                    first_key: key(first, 0),
                    last_key: key(last, 1),
                    topology,
                    columns,
                }
            });
            FileList { files: files.collect(), indexes: Vec::new(), next_subject }
        })
    }

    proptest! {
        #[test]
        fn a_list_reads_back_from_a_manifest(list in any_list()) {
            let (directory, mut manifest) = (MemoryDirectory::new("db"), manifest());
            list.put_into(&mut manifest).unwrap();
            prop_assert_eq!(&FileList::of(&directory, &manifest).unwrap(), &list);
            manifest.engine_section.bytes.push(0);
            let error = FileList::of(&directory, &manifest).unwrap_err().to_string();
            prop_assert!(error.contains("the end expected, found 1 more bytes"), "{error}");
            let length = manifest.engine_section.bytes.len();
            for cut in (0..length - 1).filter(|cut| cut % 7 == 0 || cut + 9 > length) {
                manifest.engine_section.bytes.truncate(length - 2 - cut);
                prop_assert!(FileList::of(&directory, &manifest).is_err());
            }
        }

        #[test]
        fn damaged_bytes_are_refused_or_say_something_else(
            list in any_list(), at in any::<prop::sample::Index>(), to in 1u8..,
        ) {
            let (directory, mut manifest) = (MemoryDirectory::new("db"), manifest());
            list.put_into(&mut manifest).unwrap();
            let bytes = &mut manifest.engine_section.bytes;
            let at = at.index(bytes.len());
            bytes[at] ^= to;
            match FileList::of(&directory, &manifest) {
                Ok(found) => prop_assert_ne!(found, list),
                Err(CheckpointError::Corrupt { .. }) => {}
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }

    #[test]
    fn a_database_without_files_has_an_empty_list() {
        let empty = Manifest::empty("disk", FileList::empty_section());
        assert_eq!(FileList::of(&MemoryDirectory::new("db"), &empty).unwrap(), FileList::default());
    }

    fn file(number: u64, level: u8, stamp: u64, keys: (&[u8], &[u8])) -> StoredFile {
        StoredFile {
            number: FileNumber(number),
            level,
            stamps: if level == 0 { FileStamps::Stamped } else { FileStamps::Unstamped },
            first_ts: Timestamp(stamp),
            last_ts: Timestamp(stamp + 5),
            first_key: keys.0.to_vec(),
            last_key: keys.1.to_vec(),
            topology: StoredPart { bytes: 8192, footer_crc: 7 },
            columns: None,
        }
    }

    #[test]
    fn indexes_read_back_as_a_required_feature_and_one_that_the_catalogue_lacks_is_refused() {
        let directory = MemoryDirectory::new("db");
        let (owner, key) = (Owner::Label(LabelId(0)), KeyId(0));
        let id = |kind| IndexId { owner, key, kind };
        let mut with_index = manifest();
        for change in [
            SchemaChange::AddLabel { id: LabelId(0), name: "Person".into() },
            SchemaChange::AddKey { id: key, name: "name".into() },
            SchemaChange::AddIndex(IndexDefinition { id: id(IndexKind::Hash), unique: false }),
        ] {
            with_index.catalogue.apply(&change);
        }
        let subject = Subject::index(3).unwrap();
        let list = FileList {
            indexes: vec![(id(IndexKind::Hash), subject)],
            next_subject: FIRST_INDEX_SUBJECT + 4,
            ..FileList::default()
        };
        list.put_into(&mut with_index).unwrap();
        assert!(with_index.has_index_entries);
        assert_eq!(FileList::of(&directory, &with_index).unwrap(), list);
        assert!(list.put_into(&mut manifest()).unwrap_err().to_string().contains("the catalogue lacks"));
        let early = FileList { next_subject: FIRST_INDEX_SUBJECT + 3, ..list };
        assert!(early.put_into(&mut with_index).unwrap_err().to_string().contains("one to come"));
    }

    #[test]
    fn a_list_that_does_not_fit_its_manifest_is_neither_written_nor_read() {
        let sample = || FileList {
            files: vec![
                file(9, 0, 20, (b"a", b"z")),
                file(8, 0, 10, (b"b", b"y")),
                file(7, 2, 0, (b"a", b"h")),
                file(6, 2, 0, (b"i", b"z")),
            ],
            ..FileList::default()
        };
        let refused = |change: &dyn Fn(&mut FileList, &mut Manifest), text: &str| {
            let (mut list, mut manifest) = (sample(), manifest());
            change(&mut list, &mut manifest);
            let error = list.put_into(&mut manifest).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Unsound { .. }) && error.to_string().contains(text),
                "{error}"
            );
            manifest.engine_section = list.encode().into();
            let error = FileList::of(&MemoryDirectory::new("db"), &manifest).unwrap_err();
            assert!(
                matches!(error, CheckpointError::Corrupt { .. }) && error.to_string().contains(text),
                "{error}"
            );
        };
        sample().put_into(&mut manifest()).unwrap();
        refused(&|_, manifest| manifest.next_file = 9, "number that is not its own");
        refused(&|list, _| list.files[1].number = FileNumber(9), "number that is not its own");
        refused(&|_, manifest| manifest.covered_through = Timestamp(24), "beyond 24");
        refused(&|list, _| list.files[2].first_key = b"hi".to_vec(), "ends before it begins");
        refused(&|list, _| list.files[2].stamps = FileStamps::Stamped, "can't be in level 2");
        refused(&|list, _| list.files[3].level = 6, "can't be in level 6");
        refused(&|list, _| list.files.swap(0, 1), "can't stand before");
        refused(&|list, _| list.files.swap(1, 2), "can't stand before");
        refused(&|list, _| list.files[3].first_key = b"h".to_vec(), "can't stand before");
    }
}
