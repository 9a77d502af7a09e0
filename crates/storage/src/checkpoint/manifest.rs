//! Manifest: the list of a database's contents, in one small file that is replaced as a whole.
//!
//! ```text
//! OFFSET  SIZE   FIELD             (little-endian)
//!      0     8   magic             "EVGRGRPH"
//!      8     4   format number     1
//!     12     4   crc               CRC32C of this header with the field itself zero
//!     16    16   engine            its name, then zeros
//!     32     8   bytes that follow the features
//!     40     4   their crc         CRC32C
//!     44     4   bytes of features
//!     48     4   their crc         CRC32C
//!     52    12   zero
//!     64         required features count, names     without them the database can't be read rightly
//!                optional features count, names     may be ignored; `log_end`: there is a file of that name
//!     ..         write unit, covered_through (C), need, next file
//!                catalogue         count, then schema changes as in the log
//!                groups            count, then id, label, rows given out; ids ascending
//!                notes             only with the feature `notes`: count, then name, bytes; names ascending
//!                partition         only with the feature `partition`: its number, and how many the graph has
//!                engine's section  the rest: where records and bodies lie, in the engine's own form
//! ```
//!
//! Names are a length and UTF-8; numbers behind the header are varints.
//!
//! Header and features mean the same in every format, so that any version can say what it lacks.
//! A new manifest is written under another name, synced, renamed, and the directory synced: there
//! is always a whole one.
//!
//! Source: LevelDB's manifest, by way of core-protocol sections 8 and 12. Differs: no log of edits;
//! a database has few files, and one list is simpler to trust.

use std::io::ErrorKind;

use crc32c::{crc32c, crc32c_append};
use evergraph_graph::bytes::{DecodeError, Decoded, Reader, put_bytes, put_varint};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{GROUP_SIZE, GroupId, LabelId, PartitionId};
use evergraph_graph::mutation::{Mutation, take_note_bytes, take_note_name};
use evergraph_graph::note::{NoteChange, Notes};
use evergraph_graph::partition::{OwnGroups, PARTITIONS_MAX, PartitionCount};
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::error::CheckpointError;
use crate::io::directory::Directory;
use crate::io::error::IoError;
use crate::log::recovery::Replay;
use crate::planted::{Bug, planted};

/// The manifest's name in the database's directory.
pub const FILE_NAME: &str = "manifest";
/// The name under which a new manifest is written.
pub const NEW_FILE_NAME: &str = "manifest.new";
/// Bytes that are written in one piece: log batches are padded to it.
pub const WRITE_UNIT: u64 = 4096;

const MAGIC: [u8; 8] = *b"EVGRGRPH";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 64;
const ENGINE_BYTES: usize = 16;
/// The optional feature of a database with a `log_end`.
const END_FILE_FEATURE: &str = "log_end";
/// The required feature of a database whose engine keeps entries of indexes: code 26 in its log.
const INDEX_ENTRIES_FEATURE: &str = "index_entries";
/// The required feature of a database that has notes, or code 27 in the log after C.
const NOTES_FEATURE: &str = "notes";
/// The required feature of a database that has one partition of a graph: edges from and to others have one side here.
const PARTITION_FEATURE: &str = "partition";
/// The required feature of a database whose engine stores records beside bodies: an entry of a segment has runs.
const RUNS_FEATURE: &str = "runs";
/// A manifest is read into memory whole; a million segments take some 20 MB.
const BYTES_MAX: u64 = 4 << 30;

/// A vertex group and how far its ids were given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredGroup {
    /// Which one.
    pub id: GroupId,
    /// The label of its vertices.
    pub label: LabelId,
    /// Rows given out: 0 to [`GROUP_SIZE`].
    pub rows: u16,
}

/// What a manifest says of an engine's records and bodies, in the engine's own form.
#[derive(Clone, Debug)]
pub struct EngineSection {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where they begin in the manifest that they were read from; 0 in one that was made.
    offset: u64,
}

/// Two sections are the same if their bytes are, wherever they lie.
impl PartialEq for EngineSection {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl From<Vec<u8>> for EngineSection {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, offset: 0 }
    }
}

impl EngineSection {
    /// The error of a section of the manifest in `directory` that is not as it was written.
    #[must_use]
    pub fn corrupt(&self, directory: &dyn Directory, error: DecodeError) -> CheckpointError {
        CheckpointError::Corrupt {
            file: directory.path(FILE_NAME),
            offset: self.offset + error.offset as u64,
            problem: error.expected,
        }
    }
}

/// What a database consists of.
#[derive(Clone, PartialEq, Debug)]
pub struct Manifest {
    /// The engine whose files these are.
    pub engine: String,
    /// C: every commit through this one is in the bodies.
    pub covered_through: Timestamp,
    /// The log must reach this commit: some bodies, or the catalogue, hold changes up to it.
    pub need: Timestamp,
    /// Greater than the number of any of the engine's files that was ever named.
    pub next_file: u64,
    /// Names, up to `need` at most.
    pub catalogue: Catalogue,
    /// Every group, ascending.
    pub groups: Vec<StoredGroup>,
    /// Where the engine's records and bodies lie.
    pub engine_section: EngineSection,
    /// Whether there is a `log_end`: a feature that versions which don't know it may ignore.
    pub has_end_file: bool,
    /// Whether the engine keeps entries of indexes, in its files and in the log: a feature that is required.
    pub has_index_entries: bool,
    /// Whether the engine's files have runs of records beside bodies: a feature that is required.
    pub has_runs: bool,
    /// The notes, up to `need` at most: a feature that is required. `None` if there are none, and no changes of notes in
    /// the log after C.
    pub notes: Option<Notes>,
    /// The groups that may be here, of a database that has one partition of a graph: a feature that is required.
    pub partition: Option<OwnGroups>,
}

impl Manifest {
    /// The manifest of a database in which nothing was ever committed; `engine_section` says so in the
    /// engine's form.
    #[must_use]
    pub fn empty(engine: &str, engine_section: Vec<u8>) -> Self {
        Self {
            engine: engine.to_owned(),
            covered_through: Timestamp::ZERO,
            need: Timestamp::ZERO,
            next_file: 1,
            catalogue: Catalogue::default(),
            groups: Vec::new(),
            engine_section: engine_section.into(),
            has_end_file: false,
            has_index_entries: false,
            has_runs: false,
            notes: None,
            partition: None,
        }
    }

    /// Which part of the log belongs to these bodies.
    #[must_use]
    pub fn wanted_log(&self) -> Replay {
        let (after_ts, need_ts) = (self.covered_through.0, self.need.0);
        Replay { after_ts, need_ts, has_end_file: self.has_end_file }
    }

    /// The stable form.
    ///
    /// # Errors
    /// [`CheckpointError::Unsound`] if its parts don't fit together.
    pub fn encode(&self) -> Result<Vec<u8>, CheckpointError> {
        let unsound = |problem| CheckpointError::Unsound { what: "the manifest".to_owned(), problem };
        self.check().map_err(unsound)?;
        let mut features = Vec::new();
        let required = [
            (self.has_index_entries, INDEX_ENTRIES_FEATURE),
            (self.notes.is_some(), NOTES_FEATURE),
            (self.partition.is_some(), PARTITION_FEATURE),
            (self.has_runs, RUNS_FEATURE),
        ];
        let required = required.iter().filter(|(is_used, _)| *is_used);
        put_varint(&mut features, required.clone().count() as u64);
        required.for_each(|(_, name)| put_bytes(&mut features, name.as_bytes()));
        put_varint(&mut features, u64::from(self.has_end_file));
        if self.has_end_file {
            put_bytes(&mut features, END_FILE_FEATURE.as_bytes());
        }
        let body = self.encode_body();
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[16..16 + self.engine.len()].copy_from_slice(self.engine.as_bytes());
        bytes[32..40].copy_from_slice(&(body.len() as u64).to_le_bytes());
        bytes[40..44].copy_from_slice(&crc32c(&body).to_le_bytes());
        bytes[44..48].copy_from_slice(&(features.len() as u32).to_le_bytes());
        bytes[48..52].copy_from_slice(&crc32c(&features).to_le_bytes());
        let crc = header_crc(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes.extend_from_slice(&features);
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    fn encode_body(&self) -> Vec<u8> {
        let notes = self.notes.as_ref().map_or(0, |notes| notes.bytes() + 5 * notes.len());
        let mut out =
            Vec::with_capacity(1024 + self.groups.len() * 6 + notes + self.engine_section.bytes.len());
        for number in [WRITE_UNIT, self.covered_through.0, self.need.0, self.next_file] {
            put_varint(&mut out, number);
        }
        put_catalogue(&mut out, &self.catalogue);
        put_varint(&mut out, self.groups.len() as u64);
        for group in &self.groups {
            for number in [group.id.0, u32::from(group.label.0), u32::from(group.rows)] {
                put_varint(&mut out, u64::from(number));
            }
        }
        if let Some(notes) = &self.notes {
            put_varint(&mut out, notes.len() as u64);
            for (name, bytes) in notes.iter() {
                put_bytes(&mut out, name.as_bytes());
                put_bytes(&mut out, bytes);
            }
        }
        if let Some(own) = self.partition {
            put_varint(&mut out, u64::from(own.partition().0));
            put_varint(&mut out, u64::from(own.partitions().get()));
        }
        out.extend_from_slice(&self.engine_section.bytes);
        out
    }

    /// Reads the manifest of `directory`, if `opens` knows the name of its engine.
    ///
    /// # Errors
    /// [`CheckpointError::NotADatabase`], [`CheckpointError::UnknownEngine`],
    /// [`CheckpointError::UnknownFeature`], [`CheckpointError::NewerFormat`],
    /// [`CheckpointError::Corrupt`], and what the system says.
    pub fn read(directory: &dyn Directory, opens: fn(&str) -> bool) -> Result<Self, CheckpointError> {
        let bytes = match directory.read_all(FILE_NAME, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let directory = directory.location().to_owned();
                return Err(CheckpointError::NotADatabase { directory });
            }
            Err(error) => return Err(error.into()),
        };
        Self::decode(directory, opens, &bytes)
    }

    fn decode(
        directory: &dyn Directory,
        opens: fn(&str) -> bool,
        bytes: &[u8],
    ) -> Result<Self, CheckpointError> {
        let file = || directory.path(FILE_NAME);
        let corrupt = |offset: usize, problem: String| CheckpointError::Corrupt {
            file: file(),
            offset: offset as u64,
            problem,
        };
        let header = Header::read(bytes).map_err(|(offset, problem)| corrupt(offset, problem))?;
        let features_end = HEADER_BYTES + header.features_bytes;
        let decoded = |from: usize, error: DecodeError| corrupt(from + error.offset, error.expected);
        let mut features = Reader::new(&bytes[HEADER_BYTES..features_end]);
        let required = take_names(&mut features).map_err(|error| decoded(HEADER_BYTES, error))?;
        let optional = take_names(&mut features).map_err(|error| decoded(HEADER_BYTES, error))?;
        if !opens(&header.engine) {
            return Err(CheckpointError::UnknownEngine { file: file(), engine: header.engine });
        }
        let requires = |feature: &str| required.iter().any(|name| name == feature);
        let (has_index_entries, has_notes) = (requires(INDEX_ENTRIES_FEATURE), requires(NOTES_FEATURE));
        let (has_runs, has_partition) = (requires(RUNS_FEATURE), requires(PARTITION_FEATURE));
        let known = [INDEX_ENTRIES_FEATURE, NOTES_FEATURE, PARTITION_FEATURE, RUNS_FEATURE];
        let is_known = |name: &String| known.contains(&&**name);
        if let Some(feature) = required.into_iter().find(|name| !is_known(name)) {
            return Err(CheckpointError::UnknownFeature { file: file(), feature });
        }
        if header.format > FORMAT {
            let (found, supported) = (header.format, FORMAT);
            return Err(CheckpointError::NewerFormat { file: file(), found, supported });
        }
        if header.format != FORMAT {
            return Err(corrupt(8, format!("format {FORMAT} expected, found {}", header.format)));
        }
        let body = &bytes[features_end..];
        let mut manifest =
            Self::decode_body(header.engine, (has_notes, has_partition), &mut Reader::new(body))
                .map_err(|error| decoded(features_end, error))?;
        manifest.engine_section.offset = (bytes.len() - manifest.engine_section.bytes.len()) as u64;
        manifest.has_index_entries = has_index_entries;
        manifest.has_runs = has_runs;
        manifest.has_end_file = optional.iter().any(|name| name == END_FILE_FEATURE);
        manifest.check().map_err(|problem| corrupt(features_end, problem))?;
        Ok(manifest)
    }

    fn decode_body(
        engine: String,
        (has_notes, has_partition): (bool, bool),
        reader: &mut Reader<'_>,
    ) -> Decoded<Self> {
        let start = reader.clone();
        let write_unit = reader.varint()?;
        if write_unit != WRITE_UNIT {
            return Err(start.error(format!("a write unit of {WRITE_UNIT} expected, found {write_unit}")));
        }
        let covered_through = Timestamp(reader.varint()?);
        let need = Timestamp(reader.varint()?);
        let next_file = reader.varint()?;
        let catalogue = take_catalogue(reader)?;
        let count = reader.count(3)?;
        let mut groups = Vec::with_capacity(count);
        for _ in 0..count {
            let id = GroupId(reader.at_most(u64::from(GroupId::END) - 1)? as u32);
            let label = LabelId(reader.at_most(u64::from(u16::MAX))? as u16);
            let rows = reader.at_most(u64::from(GROUP_SIZE))? as u16;
            groups.push(StoredGroup { id, label, rows });
        }
        let notes = if has_notes { Some(take_notes(reader)?) } else { None };
        let partition = if has_partition { Some(take_own_groups(reader)?) } else { None };
        let engine_section = reader.take(reader.remaining())?.to_vec().into();
        let empty = Self { notes, partition, ..Self::empty(&engine, Vec::new()) };
        Ok(Self { covered_through, need, next_file, catalogue, groups, engine_section, ..empty })
    }

    /// Whether the parts fit together. Checked before a manifest is written and after it is read.
    fn check(&self) -> Result<(), String> {
        if self.engine.len() > ENGINE_BYTES || self.engine.contains('\0') {
            return Err(format!("an engine's name of at most {ENGINE_BYTES} bytes expected"));
        }
        if self.covered_through > self.need {
            return Err(format!("commits are covered up to {}, beyond {}", self.covered_through, self.need));
        }
        if !self.groups.is_sorted_by(|a, b| a.id < b.id) {
            return Err("groups in ascending order expected".to_owned());
        }
        if let Some(own) = self.partition
            && let Some(group) = self.groups.iter().find(|group| !own.contains(group.id))
        {
            return Err(format!("groups of {own} expected, found group {}", group.id.0));
        }
        Ok(())
    }

    /// Makes this the manifest of `directory`. `renaming` is told when the step begins after which
    /// either manifest may be found, and may refuse it.
    ///
    /// # Errors
    /// [`CheckpointError::Unsound`], what `renaming` says, and what the system says. Before `renaming` the old
    /// manifest is untouched; after it, a crash finds either.
    pub fn write(
        &self,
        directory: &dyn Directory,
        renaming: impl FnOnce() -> Result<(), CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let bytes = self.encode()?;
        remove_if_there(directory, NEW_FILE_NAME)?;
        directory.write_all_new(NEW_FILE_NAME, &bytes)?;
        renaming()?;
        directory.rename(NEW_FILE_NAME, FILE_NAME)?;
        if !planted(Bug::RenameNotSynced) {
            directory.sync_directory()?;
        }
        Ok(())
    }
}

/// Removes what an interrupted checkpoint may have left.
///
/// # Errors
/// What the system says; that the file isn't there is no error.
pub fn remove_if_there(directory: &dyn Directory, name: &str) -> Result<(), IoError> {
    match directory.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

struct Header {
    format: u32,
    engine: String,
    features_bytes: usize,
}

impl Header {
    /// Checks the header and both crcs behind it.
    fn read(bytes: &[u8]) -> Result<Self, (usize, String)> {
        let Some(header) = bytes.get(..HEADER_BYTES) else {
            let found = bytes.len();
            return Err((0, format!("a header of {HEADER_BYTES} bytes expected, found {found}")));
        };
        if header[..8] != MAGIC {
            return Err((0, "the manifest of an Evergraph database expected".to_owned()));
        }
        let mut reader = Reader::new(&header[8..]);
        let short = |_| (8, "a header expected".to_owned());
        let format = reader.u32().map_err(short)?;
        let crc = reader.u32().map_err(short)?;
        if crc != header_crc(header) {
            let found = header_crc(header);
            return Err((12, format!("a header with crc {crc:#010x} expected, found {found:#010x}")));
        }
        let name = reader.take(ENGINE_BYTES).map_err(short)?;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let engine = String::from_utf8_lossy(name).into_owned();
        let body_bytes = reader.u64().map_err(short)?;
        let body_crc = reader.u32().map_err(short)?;
        let features_bytes = reader.u32().map_err(short)? as usize;
        let features_crc = reader.u32().map_err(short)?;
        let rest = &bytes[HEADER_BYTES..];
        if (features_bytes as u64).checked_add(body_bytes) != Some(rest.len() as u64) {
            let found = rest.len();
            return Err((32, format!("{features_bytes} and {body_bytes} bytes expected, found {found}")));
        }
        let (features, body) = rest.split_at(features_bytes);
        for (part, expected, offset) in
            [(features, features_crc, HEADER_BYTES), (body, body_crc, HEADER_BYTES + features_bytes)]
        {
            let found = crc32c(part);
            if found != expected {
                let text =
                    format!("{} bytes with crc {expected:#010x} expected, found {found:#010x}", part.len());
                return Err((offset, text));
            }
        }
        Ok(Self { format, engine, features_bytes })
    }
}

fn header_crc(header: &[u8]) -> u32 {
    crc32c_append(crc32c_append(crc32c(&header[..12]), &[0; 4]), &header[16..HEADER_BYTES])
}

fn take_names(reader: &mut Reader<'_>) -> Decoded<Vec<String>> {
    let count = reader.count(1)?;
    (0..count).map(|_| Ok(reader.text()?.to_owned())).collect()
}

/// Appends a catalogue, as the changes that make it.
pub fn put_catalogue(out: &mut Vec<u8>, catalogue: &Catalogue) {
    let changes = catalogue.changes();
    put_varint(out, changes.len() as u64);
    changes.into_iter().for_each(|change| Mutation::Schema(change).encode(out));
}

/// Reads what [`put_catalogue`] wrote.
///
/// # Errors
/// If the bytes are not a catalogue.
pub fn take_catalogue(reader: &mut Reader<'_>) -> Decoded<Catalogue> {
    let mut catalogue = Catalogue::default();
    for _ in 0..reader.count(4)? {
        let start = reader.clone();
        let Mutation::Schema(change) = Mutation::decode(reader)? else {
            return Err(start.error("a change of the catalogue expected"));
        };
        match catalogue.would_change(&change) {
            Ok(true) => catalogue.apply(&change),
            Ok(false) => return Err(start.error("a name or property that was not there yet expected")),
            Err(error) => return Err(start.error(error.to_string())),
        }
    }
    Ok(catalogue)
}

fn take_notes(reader: &mut Reader<'_>) -> Decoded<Notes> {
    let mut notes = Notes::default();
    let mut last = "";
    for _ in 0..reader.count(3)? {
        let start = reader.clone();
        let name = take_note_name(reader)?;
        if name <= last {
            return Err(start.error("notes in ascending order expected"));
        }
        last = name;
        let bytes = Some(take_note_bytes(reader)?.into());
        notes.apply(&NoteChange { name: name.into(), bytes });
    }
    Ok(notes)
}

fn take_own_groups(reader: &mut Reader<'_>) -> Decoded<OwnGroups> {
    let start = reader.clone();
    let partition = PartitionId(reader.at_most(u64::from(PARTITIONS_MAX) - 1)? as u16);
    let partitions = PartitionCount::new(reader.at_most(u64::from(PARTITIONS_MAX))? as u16);
    let own = partitions.and_then(|partitions| OwnGroups::new(partition, partitions));
    own.ok_or_else(|| start.error("a partition below the number of partitions expected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryDirectory;
    use evergraph_graph::catalogue::Owner;
    use evergraph_graph::id::{KeyId, TypeId};
    use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
    use evergraph_graph::schema_change::SchemaChange;

    fn sample() -> Manifest {
        let mut catalogue = Catalogue::default();
        catalogue.apply(&SchemaChange::AddLabel { id: LabelId(3), name: "Person".into() });
        catalogue.apply(&SchemaChange::AddKey { id: KeyId(0), name: "name".into() });
        for (owner, kind) in
            [(Owner::Label(LabelId(3)), IndexKind::Hash), (Owner::EdgeType(TypeId(1)), IndexKind::Ordered)]
        {
            let id = IndexId { owner, key: KeyId(0), kind };
            catalogue.apply(&SchemaChange::AddIndex(IndexDefinition { id, unique: true }));
        }
        Manifest {
            covered_through: Timestamp(69),
            need: Timestamp(72),
            next_file: 5,
            catalogue,
            groups: vec![
                StoredGroup { id: GroupId(0), label: LabelId(3), rows: 4096 },
                StoredGroup { id: GroupId(GroupId::END - 1), label: LabelId(0), rows: 0 },
            ],
            ..Manifest::empty("memory", b"what only the engine reads".to_vec())
        }
    }

    fn read(bytes: &[u8]) -> Result<Manifest, CheckpointError> {
        let directory = MemoryDirectory::new("db");
        directory.write_all_new(FILE_NAME, bytes).unwrap();
        Manifest::read(&directory, |engine| engine == "memory")
    }

    #[test]
    fn a_manifest_reads_back_from_the_directory_it_was_written_to() {
        let directory = MemoryDirectory::new("db");
        Manifest::empty("memory", Vec::new()).write(&directory, || Ok(())).unwrap();
        directory.write_all_new(NEW_FILE_NAME, b"left by a crash").unwrap();
        sample().write(&directory, || Ok(())).unwrap();
        assert_eq!(Manifest::read(&directory.power_cut(), |engine| engine == "memory").unwrap(), sample());
        assert_eq!(directory.list().unwrap(), [FILE_NAME]);
    }

    #[test]
    fn that_there_is_an_end_file_is_an_optional_feature() {
        let with = Manifest { has_end_file: true, ..sample() };
        let bytes = with.encode().unwrap();
        assert_eq!(bytes[HEADER_BYTES..HEADER_BYTES + 10], *b"\x00\x01\x07log_end");
        assert_eq!(read(&bytes).unwrap(), with);
        assert_eq!(read(&sample().encode().unwrap()).unwrap(), sample());
    }

    fn sample_with_notes() -> Manifest {
        let mut notes = Notes::default();
        for (name, bytes) in [("owner", &b"postgres"[..]), ("position", &[0, 1, 2]), ("z", &[])] {
            notes.apply(&NoteChange { name: name.into(), bytes: Some(bytes.into()) });
        }
        Manifest { notes: Some(notes), ..sample() }
    }

    #[test]
    fn notes_are_a_required_feature_and_stand_before_the_engines_section() {
        let with = sample_with_notes();
        let bytes = with.encode().unwrap();
        assert_eq!(bytes[HEADER_BYTES..HEADER_BYTES + 8], *b"\x01\x05notes\x00");
        assert_eq!(read(&bytes).unwrap(), with);
        let both = Manifest { has_index_entries: true, ..with };
        let bytes = both.encode().unwrap();
        assert_eq!(bytes[HEADER_BYTES..HEADER_BYTES + 22], *b"\x02\x0dindex_entries\x05notes\x00");
        assert_eq!(read(&bytes).unwrap(), both);
        let none = Manifest { notes: Some(Notes::default()), ..sample() };
        assert_eq!(read(&none.encode().unwrap()).unwrap(), none, "the log may have some");
    }

    #[test]
    fn runs_beside_bodies_are_a_required_feature() {
        let with = Manifest { has_runs: true, ..sample_with_notes() };
        let bytes = with.encode().unwrap();
        assert_eq!(bytes[HEADER_BYTES..HEADER_BYTES + 13], *b"\x02\x05notes\x04runs\x00");
        assert_eq!(read(&bytes).unwrap(), with);
    }

    #[test]
    fn a_partition_is_a_required_feature_and_stands_behind_the_notes() {
        let own = OwnGroups::new(PartitionId(3), PartitionCount::new(300).unwrap());
        let groups = vec![StoredGroup { id: GroupId(303), label: LabelId(3), rows: 7 }];
        let with = Manifest { partition: own, groups, ..sample_with_notes() };
        let bytes = with.encode().unwrap();
        assert_eq!(bytes[HEADER_BYTES..HEADER_BYTES + 18], *b"\x02\x05notes\x09partition\x00");
        let section = with.engine_section.bytes.len();
        assert_eq!(bytes[bytes.len() - section - 3..bytes.len() - section], [3, 0xac, 2]);
        assert_eq!(read(&bytes).unwrap(), with);
    }

    #[test]
    fn notes_out_of_order_or_twice_are_refused() {
        let whole = sample_with_notes().encode().unwrap();
        let swapped = |from: &[u8], to: &[u8]| {
            let mut bytes = whole.clone();
            let at = bytes.windows(from.len()).rposition(|found| found == from).unwrap();
            bytes[at..at + from.len()].copy_from_slice(to);
            let features = HEADER_BYTES + 8;
            let crc = crc32c(&bytes[features..]);
            bytes[40..44].copy_from_slice(&crc.to_le_bytes());
            let crc = header_crc(&bytes);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            read(&bytes)
        };
        for other in [b"\x01a", b"\x01o"] {
            let error = swapped(b"\x01z", other).unwrap_err().to_string();
            assert!(error.contains("notes in ascending order"), "{error}");
        }
        assert!(swapped(b"\x01z", b"\x01y").is_ok());
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_found() {
        let whole = sample_with_notes().encode().unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x04;
            let error = read(&bytes).expect_err("a flip");
            assert!(matches!(error, CheckpointError::Corrupt { .. }), "byte {at}: {error}");
            assert!(matches!(read(&whole[..at]), Err(CheckpointError::Corrupt { .. })), "cut at {at}");
        }
        let mut longer = whole;
        longer.push(0);
        assert!(read(&longer).is_err());
    }

    #[test]
    fn an_error_in_the_engines_section_names_its_place_in_the_file() {
        let directory = MemoryDirectory::new("db");
        let written = sample().encode().unwrap();
        directory.write_all_new(FILE_NAME, &written).unwrap();
        let manifest = Manifest::read(&directory, |_| true).unwrap();
        let section = &manifest.engine_section;
        let mut reader = Reader::new(&section.bytes);
        reader.take(5).unwrap();
        let error = section.corrupt(&directory, reader.error("a list expected"));
        let begins = written.windows(section.bytes.len()).position(|bytes| bytes == section.bytes).unwrap();
        let CheckpointError::Corrupt { offset, problem, .. } = error else { panic!("{error}") };
        assert_eq!((offset, problem.as_str()), (begins as u64 + 5, "a list expected"));
    }

    /// The sample with its header changed, and everything behind it that a newer version may bring.
    fn foreign(change: impl FnOnce(&mut Vec<u8>, &mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = sample().encode().unwrap();
        let mut features = vec![0, 0];
        let body = bytes.split_off(HEADER_BYTES + features.len());
        bytes.truncate(HEADER_BYTES);
        change(&mut bytes, &mut features);
        bytes[44..48].copy_from_slice(&(features.len() as u32).to_le_bytes());
        bytes[48..52].copy_from_slice(&crc32c(&features).to_le_bytes());
        let crc = header_crc(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes.into_iter().chain(features).chain(body).collect()
    }

    #[test]
    fn strangers_are_refused_by_name() {
        let engine = foreign(|header, _| header[16..32].copy_from_slice(b"quantum\0\0\0\0\0\0\0\0\0"));
        let text = read(&engine).unwrap_err().to_string();
        assert!(text.contains("engine `quantum`") && text.contains("newer Evergraph"), "{text}");
        let required = foreign(|_, features| *features = b"\x01\x04zstd\x00".to_vec());
        let text = read(&required).unwrap_err().to_string();
        assert!(text.contains("feature `zstd`"), "{text}");
        let optional = foreign(|_, features| *features = b"\x00\x01\x04hint".to_vec());
        assert_eq!(read(&optional).unwrap(), sample(), "an optional feature is no obstacle");
        let format = foreign(|header, _| header[8] = 2);
        assert!(matches!(read(&format), Err(CheckpointError::NewerFormat { found: 2, supported: 1, .. })));
        let text = Manifest::read(&MemoryDirectory::new("pictures"), |_| true).unwrap_err().to_string();
        assert_eq!(text, "pictures is not an Evergraph database: it has no manifest");
    }

    #[test]
    fn parts_that_do_not_fit_together_are_not_written() {
        let refused = |change: &dyn Fn(&mut Manifest), text: &str| {
            let mut manifest = sample();
            change(&mut manifest);
            let error = manifest.encode().unwrap_err();
            assert!(
                matches!(error, CheckpointError::Unsound { .. }) && error.to_string().contains(text),
                "{error}"
            );
        };
        refused(&|manifest| manifest.need = Timestamp(68), "beyond 68");
        refused(&|manifest| manifest.groups.swap(0, 1), "ascending");
        let own = OwnGroups::new(PartitionId(1), PartitionCount::new(2).unwrap());
        refused(&|manifest| manifest.partition = own, "groups of partition 1 of 2 expected, found group 0");
        refused(&|manifest| manifest.engine = "an engine with a long name".to_owned(), "at most 16 bytes");
    }
}
