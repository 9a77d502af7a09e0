//! Disk: what a machine remembers with power and without, as a value that operations change.
//!
//! ```text
//! operations 0..k  --apply-->  Disk { cache: what everybody reads | durable | unsynced changes in order }
//!                                 |
//!                                 └── cut(fates) --> the Disk found at the next start
//! ```
//!
//! A history is recorded once as a list of operations; going through the list again gives the disk after
//! each of them, so that an image costs a copy and no replay of the workload.
//!
//! Unsynced changes survive in any combination: each sector of 512 bytes of each write, each length, each
//! name by itself, so that a later write can be there and an earlier one not. A torn sector holds the
//! beginning of the new bytes and the end of the old. A damaged one has lost the new bytes and what lay
//! beside them: who adds to a sector risks what is there.

use evergraph_storage::io::random::{Random, SplitMix64};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The bytes that a disk writes in one piece.
const SECTOR_BYTES: usize = 512;

/// The place of a file in the order of creations: names change, this does not.
pub type FileNumber = usize;

/// Something that changes the disk or promises that a change is durable.
#[derive(Clone, Debug)]
pub enum Change {
    Create { name: String },
    Write { file: FileNumber, offset: usize, bytes: Arc<[u8]> },
    Length { file: FileNumber, length: usize },
    Sync { file: FileNumber, outcome: Synced },
    Rename { from: String, to: String },
    Remove { name: String },
    SyncNames { outcome: Synced },
}

/// What a sync came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synced {
    /// Everything is durable.
    Whole,
    /// It said so, and nothing happened.
    Nothing,
    /// It failed: a part by chance is durable, and the rest never will be, though it can be read until the
    /// power fails, and the next sync says that all is well.
    Failed { seed: u64 },
}

/// What becomes of something unsynced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Kept,
    Lost,
    /// So many bytes of a sector are kept; lengths and names are lost.
    Torn(usize),
    /// Lost, and what lies beside it in its sector is noise.
    Damaged,
}

#[derive(Clone, Debug, Default)]
pub struct Disk {
    files: Vec<Stored>,
    names: BTreeMap<String, FileNumber>,
    durable_names: BTreeMap<String, FileNumber>,
    unsynced_names: Vec<NameChange>,
    /// Whether a failed sync left something readable that no sync will ever make durable.
    pub forgot: bool,
}

#[derive(Clone, Debug, Default)]
struct Stored {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<ByteChange>,
}

#[derive(Clone, Debug)]
enum ByteChange {
    Write { offset: usize, bytes: Arc<[u8]> },
    Length(usize),
}

#[derive(Clone, Debug)]
enum NameChange {
    Link(String, FileNumber),
    Rename(String, String, FileNumber),
    Unlink(String, FileNumber),
}

impl Disk {
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    pub fn file(&self, name: &str) -> Option<FileNumber> {
        self.names.get(name).copied()
    }

    /// How many files were ever created.
    pub fn files_count(&self) -> usize {
        self.files.len()
    }

    /// What is read now.
    pub fn bytes(&self, file: FileNumber) -> &[u8] {
        &self.files[file].bytes
    }

    /// Bytes of all files that have a name.
    pub fn used_bytes(&self) -> usize {
        self.names.values().map(|file| self.files[*file].bytes.len()).sum()
    }

    /// Flips a bit at rest.
    pub fn flip(&mut self, file: FileNumber, bit: usize) {
        let stored = &mut self.files[file];
        for bytes in [&mut stored.bytes, &mut stored.durable] {
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    /// Does `change`, which must be possible.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Create { name } => {
                let file = self.files.len();
                self.files.push(Stored::default());
                self.names.insert(name.clone(), file);
                self.unsynced_names.push(NameChange::Link(name.clone(), file));
            }
            Change::Write { file, offset, bytes } => {
                let stored = &mut self.files[*file];
                write(&mut stored.bytes, *offset, bytes);
                stored.unsynced.push(ByteChange::Write { offset: *offset, bytes: Arc::clone(bytes) });
            }
            Change::Length { file, length } => {
                let stored = &mut self.files[*file];
                stored.bytes.resize(*length, 0);
                stored.unsynced.push(ByteChange::Length(*length));
            }
            Change::Rename { from, to } => {
                let file = self.names.remove(from).expect("a file is renamed");
                self.names.insert(to.clone(), file);
                self.unsynced_names.push(NameChange::Rename(from.clone(), to.clone(), file));
            }
            Change::Remove { name } => {
                let file = self.names.remove(name).expect("a file is removed");
                self.unsynced_names.push(NameChange::Unlink(name.clone(), file));
            }
            Change::Sync { outcome: Synced::Nothing, .. }
            | Change::SyncNames { outcome: Synced::Nothing } => {}
            Change::Sync { file, outcome: Synced::Whole } => self.files[*file].sync(&mut |_| Fate::Kept),
            Change::Sync { file, outcome: Synced::Failed { seed } } => {
                let mut random = SplitMix64::new(*seed);
                let fates = &mut |sector| coin(&mut random, 4, sector);
                self.forgot |= !self.files[*file].unsynced.is_empty();
                self.files[*file].sync(fates);
            }
            Change::SyncNames { outcome: Synced::Whole } => {
                self.durable_names = self.names.clone();
                self.unsynced_names.clear();
            }
            Change::SyncNames { outcome: Synced::Failed { seed } } => {
                let mut random = SplitMix64::new(*seed);
                let fates = &mut || coin(&mut random, 4, None) == Fate::Kept;
                self.durable_names = self.names_after(fates);
                self.unsynced_names.clear();
            }
        }
    }

    /// What is found after the power failed now, as `random` decides.
    pub fn cut(&self, random: &mut SplitMix64) -> Self {
        let files = self.durable_names.values().chain(self.unsynced_names.iter().map(NameChange::file));
        let sectors = |file: &FileNumber| self.files[*file].pieces_count();
        let count = self.unsynced_names.len() + files.map(sectors).sum::<usize>();
        let mut strategy = Strategy::choose(count, random);
        let names = self.names_after(&mut || strategy.next(None) == Fate::Kept);
        let mut found = Self::default();
        for (name, file) in names {
            let mut stored = self.files[file].clone();
            stored.sync(&mut |sector| strategy.next(sector));
            stored.bytes.clone_from(&stored.durable);
            found.names.insert(name, found.files.len());
            found.files.push(stored);
        }
        found.durable_names = found.names.clone();
        found
    }

    /// The durable names and those of the unsynced ones that are kept, each as far as others allow it.
    fn names_after(&self, is_kept: &mut dyn FnMut() -> bool) -> BTreeMap<String, FileNumber> {
        let mut names = self.durable_names.clone();
        let unlink = |names: &mut BTreeMap<String, FileNumber>, name: &str, file: FileNumber| {
            if names.get(name) == Some(&file) {
                names.remove(name);
            }
        };
        for change in &self.unsynced_names {
            if !is_kept() {
                continue;
            }
            match change {
                NameChange::Link(name, file) => drop(names.insert(name.clone(), *file)),
                NameChange::Rename(from, to, file) => {
                    unlink(&mut names, from, *file);
                    names.insert(to.clone(), *file);
                }
                NameChange::Unlink(name, file) => unlink(&mut names, name, *file),
            }
        }
        names
    }
}

impl NameChange {
    fn file(&self) -> &FileNumber {
        let (Self::Link(_, file) | Self::Rename(_, _, file) | Self::Unlink(_, file)) = self;
        file
    }
}

impl Stored {
    /// Makes durable what `fate` keeps of each sector (`Some`: its length) and length, and forgets the rest.
    fn sync(&mut self, fate: &mut dyn FnMut(Option<usize>) -> Fate) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                ByteChange::Length(length) => {
                    if fate(None) == Fate::Kept {
                        self.durable.resize(length, 0);
                    }
                }
                ByteChange::Write { offset, bytes } => {
                    for (start, length) in sectors(offset, bytes.len()) {
                        let kept = match fate(Some(length)) {
                            Fate::Kept => length,
                            Fate::Lost => 0,
                            Fate::Torn(arrived) => arrived.min(length),
                            Fate::Damaged => {
                                damage(&mut self.durable, offset + start, length);
                                continue;
                            }
                        };
                        if kept > 0 {
                            write(&mut self.durable, offset + start, &bytes[start..start + kept]);
                        }
                    }
                }
            }
        }
    }

    fn pieces_count(&self) -> usize {
        let pieces = |change: &ByteChange| match change {
            ByteChange::Length(_) => 1,
            ByteChange::Write { offset, bytes } => sectors(*offset, bytes.len()).count(),
        };
        self.unsynced.iter().map(pieces).sum()
    }
}

/// Start and length of the part in each sector that a write touches.
fn sectors(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let part = (SECTOR_BYTES - (offset + start) % SECTOR_BYTES).min(length - start);
        start += part;
        (part > 0).then_some((start - part, part))
    })
}

fn write(into: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if into.len() < end {
        into.resize(end, 0);
    }
    into[offset..end].copy_from_slice(bytes);
}

/// Puts noise beside `length` bytes at `offset`, as far as their sector and the file go.
fn damage(bytes: &mut [u8], offset: usize, length: usize) {
    let first = offset - offset % SECTOR_BYTES;
    let sector = first..first + SECTOR_BYTES;
    for beside in [sector.start..offset, offset + length..sector.end] {
        let end = beside.end.min(bytes.len());
        bytes[beside.start.min(end)..end].iter_mut().for_each(|byte| *byte ^= 0xa5);
    }
}

/// A fate by itself: kept in `eighths` of the cases, otherwise lost, or torn or damaged if it is a sector.
fn coin(random: &mut SplitMix64, eighths: u64, sector: Option<usize>) -> Fate {
    let number = random.next_u64();
    match sector {
        _ if number % 8 < eighths => Fate::Kept,
        Some(_) if number.is_multiple_of(15) => Fate::Damaged,
        Some(length) if number.is_multiple_of(3) => Fate::Torn((number >> 32) as usize % length),
        _ => Fate::Lost,
    }
}

/// How a power cut treats the unsynced pieces, told in order: mixtures alone would hardly ever lose just one
/// of many, or keep just one.
enum Strategy {
    All(Fate),
    /// The first so many are kept, the next is torn: the order of writes held.
    Prefix(usize),
    /// All but this one, or none but this one.
    Only {
        piece: usize,
        fate: Fate,
        others: Fate,
    },
    Coin {
        eighths: u64,
        random: SplitMix64,
    },
}

impl Strategy {
    fn choose(pieces: usize, random: &mut SplitMix64) -> Self {
        let piece = (random.next_u64() % pieces.max(1) as u64) as usize;
        match random.next_u64() % 16 {
            0 | 1 => Self::All(Fate::Lost),
            2 => Self::All(Fate::Kept),
            3..6 => Self::Prefix(piece),
            6..9 => Self::Only { piece, fate: Fate::Lost, others: Fate::Kept },
            9 | 10 => Self::Only { piece, fate: Fate::Kept, others: Fate::Lost },
            11 => Self::Only { piece, fate: Fate::Torn(SECTOR_BYTES / 3), others: Fate::Kept },
            12 => Self::Only { piece, fate: Fate::Damaged, others: Fate::Kept },
            _ => {
                let eighths = 1 + random.next_u64() % 7;
                Self::Coin { eighths, random: SplitMix64::new(random.next_u64()) }
            }
        }
    }

    fn next(&mut self, sector: Option<usize>) -> Fate {
        match self {
            Self::All(fate) => *fate,
            Self::Prefix(left) => match left.checked_sub(1) {
                Some(less) => {
                    *left = less;
                    Fate::Kept
                }
                None => Fate::Lost,
            },
            Self::Only { piece, fate, others } => {
                let is_it = *piece == 0;
                *piece = piece.wrapping_sub(1);
                if is_it { *fate } else { *others }
            }
            Self::Coin { eighths, random } => coin(random, *eighths, sector),
        }
    }
}

mod tests {
    use super::*;

    fn written(bytes: &[u8]) -> Disk {
        let mut disk = Disk::default();
        disk.apply(&Change::Create { name: "a".into() });
        disk.apply(&Change::Write { file: 0, offset: 0, bytes: bytes.into() });
        disk
    }

    #[test]
    fn a_synced_file_with_a_synced_name_survives_every_cut() {
        let mut disk = written(&[7; 2000]);
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        disk.apply(&Change::SyncNames { outcome: Synced::Whole });
        for seed in 0..200 {
            let found = disk.cut(&mut SplitMix64::new(seed));
            assert_eq!(found.bytes(found.file("a").unwrap()), [7; 2000]);
        }
    }

    #[test]
    fn unsynced_sectors_survive_in_every_combination() {
        let mut disk = written(&[0; 1536]);
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        disk.apply(&Change::SyncNames { outcome: Synced::Whole });
        disk.apply(&Change::Write { file: 0, offset: 0, bytes: [1; 1536].into() });
        let mut found = std::collections::BTreeSet::new();
        for seed in 0..4000 {
            let image = disk.cut(&mut SplitMix64::new(seed));
            let bytes = image.bytes(0);
            let states = [0, 1, 2].map(|sector| {
                let part = &bytes[sector * 512..][..512];
                let ones = part.iter().filter(|byte| **byte == 1).count();
                if ones == 0 || ones == 512 { ones / 512 } else { 2 }
            });
            found.insert(states);
        }
        assert_eq!(found.len(), 27, "each of three sectors is old, new or torn: {found:?}");
    }

    #[test]
    fn who_adds_to_a_sector_risks_what_is_there() {
        let mut disk = written(&[7; 700]);
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        disk.apply(&Change::SyncNames { outcome: Synced::Whole });
        disk.apply(&Change::Write { file: 0, offset: 600, bytes: [1; 50].into() });
        let images: Vec<Disk> = (0..500).map(|seed| disk.cut(&mut SplitMix64::new(seed))).collect();
        let harmed: Vec<&[u8]> =
            images.iter().map(|image| image.bytes(0)).filter(|it| it[599] != 7).collect();
        assert!(!harmed.is_empty() && harmed.len() < 250, "{}", harmed.len());
        assert!(harmed.iter().all(|it| it[..512] == [7; 512]), "other sectors are safe");
        assert!(harmed.iter().all(|it| it[600..650] == [7; 50] && it[650] != 7), "on both sides");
    }

    #[test]
    fn a_lost_sync_and_an_unsynced_renaming_lose_what_they_promised() {
        let mut disk = written(&[1; 10]);
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Nothing });
        disk.apply(&Change::SyncNames { outcome: Synced::Whole });
        disk.apply(&Change::Rename { from: "a".into(), to: "b".into() });
        let images: Vec<Disk> = (0..100).map(|seed| disk.cut(&mut SplitMix64::new(seed))).collect();
        let has = |image: &Disk, name| image.file(name).is_some();
        assert!(images.iter().all(|image| has(image, "a") != has(image, "b")), "a renaming is one step");
        assert!(images.iter().any(|image| has(image, "a")) && images.iter().any(|image| has(image, "b")));
        assert!(images.iter().any(|image| image.bytes(0).is_empty()), "the bytes were never there");
    }

    #[test]
    fn what_a_failed_sync_forgot_no_later_sync_brings_back() {
        let mut disk = written(&[1; 51_200]);
        disk.apply(&Change::SyncNames { outcome: Synced::Whole });
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Failed { seed: 3 } });
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        assert!(disk.forgot && disk.bytes(0) == [1; 51_200], "it is read until the power fails");
        let found = disk.cut(&mut SplitMix64::new(1));
        let kept = found.bytes(0).iter().filter(|byte| **byte == 1).count();
        assert!(kept > 0 && kept < 51_200, "{kept}");
    }
}
