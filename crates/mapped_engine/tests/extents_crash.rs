//! Power cuts and kills: what a durable manifest names is there, whole, whatever was written and given back since.
//!
//! A small writer does what the engine's checkpoints do: writes extents, syncs them, replaces a manifest that names them, and
//! only then gives back what the manifest before named. The power fails after any change of the disk, with any sectors or
//! lines kept; the writer goes on from what is found.

use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::extents::header::{ExtentHeader, ExtentKind, ExtentPlace};
use evergraph_mapped_engine::extents::stored_extent::StoredExtent;
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::io::write_unit::WriteUnit;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

const OPTIONS: ExtentOptions = ExtentOptions { first_file_bytes: 16 << 10, file_bytes_max: 32 << 10 };
const SEGMENTS: u64 = 6;

/// What a segment holds after some checkpoint: its length and bytes follow from both.
fn payload(segment: u64, base: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(segment << 32 | base);
    let mut bytes = vec![0; (random.next_u64() % 6000) as usize];
    random.fill(&mut bytes);
    bytes
}

fn header(segment: u64, base: u64) -> ExtentHeader {
    ExtentHeader { kind: ExtentKind::Body, segment, base: Timestamp(base) }
}

/// A segment's number, and the extent of its body.
type Live = BTreeMap<u64, Arc<StoredExtent>>;

struct Writer {
    directory: Arc<dyn Directory>,
    extents: Extents,
    live: Live,
    /// What the newest manifest names.
    named: Live,
    base: u64,
}

impl Writer {
    fn open(directory: Arc<dyn Directory>) -> Result<Self, String> {
        let known = read_manifest(&*directory)?;
        // A process that was killed may have left a manifest whose name is not durable: what it does not name is free
        // only when the one before cannot come back.
        directory.sync_directory().map_err(|error| error.to_string())?;
        let named = known.iter().map(|(segment, base, place)| (*place, header(*segment, *base)));
        let opened = Extents::open(Arc::clone(&directory), OPTIONS, named, Reuse::Allowed);
        let (extents, found) = opened.map_err(|error| error.to_string())?;
        let live: Live = known.iter().map(|known| known.0).zip(found.into_iter().map(Arc::new)).collect();
        let base = known.iter().map(|known| known.1).max().unwrap_or(0);
        Ok(Self { directory, extents, named: live.clone(), live, base })
    }

    /// Every body is what was written of its segment at its base.
    fn check(&self) -> Result<(), String> {
        for (segment, extent) in &self.live {
            let found = extent.payload().map_err(|error| error.to_string())?;
            if found != payload(*segment, extent.header().base.0) {
                return Err(format!("segment {segment} has other bytes than it was written with"));
            }
        }
        Ok(())
    }

    /// A merge: a new body takes the place of the one before, which nobody needs but the manifest.
    fn merge(&mut self, segment: u64, base: u64) -> Result<(), String> {
        let merged = self.extents.write(header(segment, base), &payload(segment, base));
        self.live.insert(segment, Arc::new(merged.map_err(|error| error.to_string())?));
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| error.to_string();
        self.extents.sync().map_err(|error| told(&error))?;
        assert!(self.live.values().all(|extent| extent.is_durable()));
        let next = self.live.clone();
        write_manifest(&*self.directory, &next).map_err(|error| told(&error))?;
        // From here on nothing that may be found names what only the manifest before did.
        self.named = next;
        self.extents.remove_empty_files().map_err(|error| told(&error))?;
        Ok(())
    }

    fn live_through(&mut self, random: &mut SplitMix64) -> Result<(), String> {
        for _ in 0..30 {
            self.base += 1;
            match random.next_u64() % 5 {
                0 => self.checkpoint()?,
                _ => self.merge(random.next_u64() % SEGMENTS, self.base)?,
            }
        }
        self.check()
    }
}

fn write_manifest(
    directory: &dyn Directory,
    live: &Live,
) -> Result<(), evergraph_storage::io::error::IoError> {
    let numbers = live.iter().flat_map(|(segment, extent)| {
        let place = extent.place();
        [*segment, extent.header().base.0, place.file, place.offset, place.payload_bytes]
    });
    let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    match directory.remove("manifest.new") {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    directory.write_all_new("manifest.new", &bytes)?;
    directory.rename("manifest.new", "manifest")?;
    directory.sync_directory()
}

fn read_manifest(directory: &dyn Directory) -> Result<Vec<(u64, u64, ExtentPlace)>, String> {
    if !directory.exists("manifest").map_err(|error| error.to_string())? {
        return Ok(Vec::new());
    }
    let bytes = directory.read_all("manifest", 1 << 20).map_err(|error| error.to_string())?;
    let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
    let places = numbers.as_chunks::<5>().0.iter();
    Ok(places
        .map(|&[segment, base, file, offset, payload_bytes]| {
            (segment, base, ExtentPlace { file, offset, payload_bytes })
        })
        .collect())
}

fn crash(directory: &MemoryDirectory, random: &mut SplitMix64) -> MemoryDirectory {
    let piece = directory.write_unit().bytes().min(512);
    directory.crash(|_| match random.next_u64() % 4 {
        0 | 1 => CrashOutcome::Kept,
        2 => CrashOutcome::Lost,
        _ => CrashOutcome::Torn((random.next_u64() % piece) as usize),
    })
}

fn every_crash(unit: WriteUnit, seeds: u64) {
    for seed in 0..seeds {
        let mut random = SplitMix64::new(seed);
        let mut directory = MemoryDirectory::new("db").with_unit(unit);
        let mut durable = 0;
        for life in 0..4 {
            let failing = FailingDirectory::new(Arc::new(directory.clone()));
            let mut writer = Writer::open(Arc::new(failing.clone()))
                .unwrap_or_else(|error| panic!("{unit:?}, seed {seed}, life {life}: {error}"));
            writer.check().unwrap_or_else(|error| panic!("{unit:?}, seed {seed}, life {life}: {error}"));
            assert!(writer.base >= durable, "{unit:?}, seed {seed}, life {life}: a manifest is lost");
            let changes = 1 + random.next_u64() % 80;
            failing.plan(Fault::any_change(ErrorKind::Other).nth(changes).lasting());
            // Ends when the disk stops, or before.
            let _ = writer.live_through(&mut random);
            durable = writer.named.values().map(|extent| extent.header().base.0).max().unwrap_or(0);
            drop(writer);
            directory = match random.next_u64() % 8 {
                0 => directory,
                1 => directory.power_cut(),
                _ => crash(&directory, &mut random),
            };
        }
    }
}

#[test]
fn no_power_cut_harms_what_a_durable_manifest_names() {
    every_crash(WriteUnit::PAGE, 400);
}

#[test]
fn nor_where_lines_are_the_unit() {
    every_crash(WriteUnit::LINE, 400);
}
