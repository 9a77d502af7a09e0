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
//!
//! Where the unit is a cache line, of persistent memory, a write is stores of 8 bytes, by address, to lines of 64 that are
//! written back, and a sync the fence that waits for them. Of the stores to a line since the last fence, of whichever
//! writes, a prefix survives; lines are independent of each other, and nothing beside them is at risk.

use crate::simulated::fate::{Fate, FateStrategy, SECTOR_BYTES, coin};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::io::write_unit::WriteUnit;
use std::collections::BTreeMap;
use std::sync::Arc;

const LINE_BYTES: usize = WriteUnit::LINE.bytes() as usize;
const STORE_BYTES: usize = 8;
/// Images of one moment that are tried all: of 12 lines with a store each.
pub const IMAGES_MAX: usize = 1 << 12;

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

#[derive(Clone, Debug)]
pub struct Disk {
    pub unit: WriteUnit,
    files: Vec<Stored>,
    names: BTreeMap<String, FileNumber>,
    durable_names: BTreeMap<String, FileNumber>,
    unsynced_names: Vec<NameChange>,
    /// Whether a failed sync left something readable that no sync will ever make durable.
    pub forgot: bool,
}

impl Default for Disk {
    fn default() -> Self {
        Self::new(WriteUnit::PAGE)
    }
}

#[derive(Clone, Debug, Default)]
struct Stored {
    /// Shared by disks until one of them changes it: an image costs what it changes, not what the files take.
    bytes: Arc<Vec<u8>>,
    durable: Arc<Vec<u8>>,
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
    /// An empty disk; in units of lines it is persistent memory.
    pub fn new(unit: WriteUnit) -> Self {
        Self {
            unit,
            files: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            unsynced_names: Vec::new(),
            forgot: false,
        }
    }

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
            Arc::make_mut(bytes)[bit / 8] ^= 1 << (bit % 8);
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
                resize(&mut stored.bytes, *length);
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
            Change::Sync { file, outcome: Synced::Whole } => {
                self.files[*file].sync(self.unit, &mut |_| Fate::Kept)
            }
            Change::Sync { file, outcome: Synced::Failed { seed } } => {
                let mut random = SplitMix64::new(*seed);
                let fates = &mut |sector| coin(&mut random, 4, sector);
                self.forgot |= !self.files[*file].unsynced.is_empty();
                self.files[*file].sync(self.unit, fates);
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
        let sectors = |file: &FileNumber| self.files[*file].pieces_count(self.unit);
        let count = self.unsynced_names.len() + files.map(sectors).sum::<usize>();
        let mut strategy = FateStrategy::choose(count, random);
        let names = self.names_after(&mut || strategy.next(None) == Fate::Kept);
        self.found(names, |sector| strategy.next(sector))
    }

    /// The disk with these names; `fate` decides of what is unsynced.
    fn found(
        &self,
        names: BTreeMap<String, FileNumber>,
        mut fate: impl FnMut(Option<usize>) -> Fate,
    ) -> Self {
        let mut found = Self::new(self.unit);
        for (name, file) in names {
            let mut stored = self.files[file].clone();
            stored.sync(self.unit, &mut fate);
            stored.bytes.clone_from(&stored.durable);
            found.names.insert(name, found.files.len());
            found.files.push(stored);
        }
        found.durable_names = found.names.clone();
        found
    }

    /// The stores that wait in each line of files that have names.
    fn waiting_stores(&self) -> impl Iterator<Item = usize> {
        let files = self.durable_names.values();
        files.flat_map(move |file| self.files[*file].stores_of_lines().into_values())
    }

    /// In how many ways the power can fail now, as [`Disk::every_cut`] tries them, if these are at most `most`; `None` where it
    /// tries none: of pages, and while names are not durable.
    pub fn ways_count(&self, most: usize) -> Option<usize> {
        if self.unit != WriteUnit::LINE || !self.unsynced_names.is_empty() {
            return None;
        }
        // Each store is one way more at least: of many bytes no lines are counted.
        let mut bytes_left = most.saturating_sub(1) * STORE_BYTES;
        for change in self.durable_names.values().flat_map(|file| &self.files[*file].unsynced) {
            if let ByteChange::Write { bytes, .. } = change {
                bytes_left = bytes_left.checked_sub(bytes.len())?;
            }
        }
        let count = self.waiting_stores().try_fold(1_usize, |count, stores| count.checked_mul(stores + 1))?;
        (count <= most).then_some(count)
    }

    /// Persistent memory after the power failed now, in every way that there is if these are at most [`IMAGES_MAX`], otherwise
    /// in as many as `seed` chooses. Its names must be durable; lengths are kept. Each image is made when it is asked for: all at
    /// once would have thousands of copies of a file.
    pub fn every_cut(&self, seed: u64) -> impl Iterator<Item = Self> {
        assert!(
            self.unit == WriteUnit::LINE && self.unsynced_names.is_empty(),
            "lines of files that have names"
        );
        let stores: Vec<usize> = self.waiting_stores().collect();
        let count = stores.iter().try_fold(1_usize, |count, stores| count.checked_mul(stores + 1));
        let count = count.filter(|count| *count <= IMAGES_MAX);
        let mut random = SplitMix64::new(seed);
        (0..count.unwrap_or(IMAGES_MAX)).map(move |number| {
            let (mut number, mut stores) = (number, stores.iter());
            self.found(self.durable_names.clone(), |line| {
                if line.is_none() {
                    return Fate::Kept;
                }
                let ways = stores.next().expect("the lines were counted") + 1;
                // The number of an image is the numbers of kept stores, as its digits.
                let digit = if count.is_some() { number } else { random.next_u64() as usize };
                number /= ways;
                Fate::Torn(digit % ways * STORE_BYTES)
            })
        })
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
    /// Makes durable what `fate` keeps of each sector or line (`Some`: its length) and length, and forgets the rest.
    fn sync(&mut self, unit: WriteUnit, fate: &mut dyn FnMut(Option<usize>) -> Fate) {
        if unit == WriteUnit::LINE {
            return self.fence(fate);
        }
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                ByteChange::Length(length) => {
                    if fate(None) == Fate::Kept {
                        resize(&mut self.durable, length);
                    }
                }
                ByteChange::Write { offset, bytes } => {
                    for (start, length) in sectors(offset, bytes.len()) {
                        let kept = match fate(Some(length)) {
                            Fate::Kept => length,
                            Fate::Lost => 0,
                            Fate::Torn(arrived) => arrived.min(length),
                            Fate::Damaged => {
                                damage(
                                    Arc::make_mut(&mut self.durable).as_mut_slice(),
                                    offset + start,
                                    length,
                                );
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

    /// The same of lines, in their order: each is asked for once, and a prefix of its stores is kept. What a sector would
    /// be torn by is how many bytes of stores arrive; nothing beside a line is damaged.
    fn fence(&mut self, fate: &mut dyn FnMut(Option<usize>) -> Fate) {
        let mut left: BTreeMap<usize, usize> = self.stores_of_lines();
        for stores in left.values_mut() {
            *stores = match fate(Some(LINE_BYTES)) {
                Fate::Kept => *stores,
                Fate::Torn(bytes) => (bytes / STORE_BYTES).min(*stores),
                Fate::Lost | Fate::Damaged => 0,
            };
        }
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                ByteChange::Length(length) => {
                    if fate(None) == Fate::Kept {
                        resize(&mut self.durable, length);
                    }
                }
                ByteChange::Write { offset, bytes } => {
                    for (start, length) in pieces(offset, bytes.len(), STORE_BYTES) {
                        let left =
                            left.get_mut(&((offset + start) / LINE_BYTES)).expect("a line was counted");
                        if let Some(less) = left.checked_sub(1) {
                            *left = less;
                            write(&mut self.durable, offset + start, &bytes[start..start + length]);
                        }
                    }
                }
            }
        }
    }

    /// How many stores wait in each line.
    fn stores_of_lines(&self) -> BTreeMap<usize, usize> {
        let mut stores = BTreeMap::new();
        for change in &self.unsynced {
            if let ByteChange::Write { offset, bytes } = change {
                for (start, _) in pieces(*offset, bytes.len(), STORE_BYTES) {
                    *stores.entry((offset + start) / LINE_BYTES).or_default() += 1;
                }
            }
        }
        stores
    }

    fn pieces_count(&self, unit: WriteUnit) -> usize {
        if unit == WriteUnit::LINE {
            let lengths = self.unsynced.iter().filter(|change| matches!(change, ByteChange::Length(_)));
            return self.stores_of_lines().len() + lengths.count();
        }
        let pieces = |change: &ByteChange| match change {
            ByteChange::Length(_) => 1,
            ByteChange::Write { offset, bytes } => sectors(*offset, bytes.len()).count(),
        };
        self.unsynced.iter().map(pieces).sum()
    }
}

/// Start and length of the part in each sector that a write touches.
fn sectors(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize)> {
    pieces(offset, length, SECTOR_BYTES)
}

/// The same in each piece of so many bytes.
fn pieces(offset: usize, length: usize, piece: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let part = (piece - (offset + start) % piece).min(length - start);
        start += part;
        (part > 0).then_some((start - part, part))
    })
}

/// Makes a file shorter, or longer by zeros, which are made at once: tests run unoptimised.
fn resize(bytes: &mut Arc<Vec<u8>>, length: usize) {
    if length <= bytes.len() {
        Arc::make_mut(bytes).truncate(length);
    } else {
        let mut longer = vec![0; length];
        longer[..bytes.len()].copy_from_slice(bytes);
        *bytes = Arc::new(longer);
    }
}

fn write(into: &mut Arc<Vec<u8>>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if into.len() < end {
        resize(into, end);
    }
    Arc::make_mut(into)[offset..end].copy_from_slice(bytes);
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

#[cfg(test)]
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

    /// A file of durable zeros on persistent memory.
    fn lines(count: usize) -> Disk {
        let mut disk = Disk::new(WriteUnit::LINE);
        disk.apply(&Change::Create { name: "a".into() });
        disk.apply(&Change::Write { file: 0, offset: 0, bytes: vec![0; count * LINE_BYTES].into() });
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        disk.apply(&Change::SyncNames { outcome: Synced::Whole });
        disk
    }

    #[test]
    fn a_line_keeps_a_prefix_of_its_stores_and_lines_are_independent() {
        let mut disk = lines(3);
        // Two stores to the first line in two writes, the second one of both to the same word; three to the last.
        disk.apply(&Change::Write { file: 0, offset: 8, bytes: [1; 8].into() });
        disk.apply(&Change::Write { file: 0, offset: 8, bytes: [2; 8].into() });
        disk.apply(&Change::Write { file: 0, offset: 2 * LINE_BYTES + 4, bytes: [3; 20].into() });
        let images: Vec<Disk> = disk.every_cut(1).collect();
        let found: std::collections::BTreeSet<[u8; 5]> = images
            .iter()
            .map(|image| {
                let bytes = image.bytes(image.file("a").unwrap());
                [bytes[8], bytes[15], bytes[132], bytes[136], bytes[147]]
            })
            .collect();
        let first = [[0, 0], [1, 1], [2, 2]];
        let last = [[0, 0, 0], [3, 0, 0], [3, 3, 0], [3, 3, 3]];
        let expected =
            first.iter().flat_map(|[a, b]| last.iter().map(move |[c, d, e]| [*a, *b, *c, *d, *e])).collect();
        assert_eq!((images.len(), found), (12, expected));
        assert_eq!((disk.ways_count(12), disk.ways_count(11)), (Some(12), None));
        for seed in 0..500 {
            let image = disk.cut(&mut SplitMix64::new(seed));
            let bytes = image.bytes(0);
            let word = &bytes[8..16];
            assert!([0, 1, 2].iter().any(|fill| word == [*fill; 8]), "a store is whole: {word:?}");
            assert!(bytes[132] >= bytes[136] && bytes[136] >= bytes[147] && bytes[64..128] == [0; 64]);
        }
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        assert_eq!(disk.every_cut(1).count(), 1, "a fence leaves one way");
    }

    #[test]
    fn twelve_lines_are_cut_in_every_way_and_more_by_chance() {
        let mut disk = lines(100);
        for line in 0..12 {
            disk.apply(&Change::Write { file: 0, offset: line * LINE_BYTES, bytes: [1; 8].into() });
        }
        let kept = |image: &Disk| -> Vec<bool> {
            image.bytes(0).chunks(LINE_BYTES).map(|line| line[0] == 1).collect()
        };
        let images: Vec<Disk> = disk.every_cut(1).collect();
        let different: std::collections::BTreeSet<_> = images.iter().map(kept).collect();
        assert_eq!((images.len(), different.len()), (1 << 12, 1 << 12));
        assert_eq!(disk.ways_count(IMAGES_MAX), Some(1 << 12));
        for line in 12..100 {
            disk.apply(&Change::Write { file: 0, offset: line * LINE_BYTES, bytes: [1; 8].into() });
        }
        let images: Vec<Disk> = disk.every_cut(1).collect();
        let different: std::collections::BTreeSet<_> = images.iter().map(kept).collect();
        assert!(images.len() == 1 << 12 && different.len() > 4000, "{}", different.len());
        assert_eq!(disk.ways_count(IMAGES_MAX), None);
        disk.apply(&Change::Sync { file: 0, outcome: Synced::Whole });
        assert_eq!(disk.ways_count(1), Some(1));
        disk.apply(&Change::Rename { from: "a".into(), to: "b".into() });
        assert_eq!(disk.ways_count(IMAGES_MAX), None, "a name is not durable");
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
