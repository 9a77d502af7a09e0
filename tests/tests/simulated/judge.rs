//! Judge: power cuts in a history, each image opened and compared, and its recovery cut again.
//!
//! ```text
//! history --cut at change k--> image --open--> equal? sound? --a few steps--> a second history
//!                                                                                  |
//!                             image <--cut, also inside of the recovery------------+   two levels deep
//! ```
//!
//! On persistent memory, each history is also cut in every way at one moment with few unfenced lines.

use crate::simulated::directory::{Fault, FaultKind};
use crate::simulated::disk::{Change, Disk, IMAGES_MAX};
use crate::simulated::history::{Expected, History};
use crate::simulated::run::{Run, Settings};
use crate::simulated::steps::{self, Step};
use evergraph_engines::kind::EngineKind;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::io::write_unit::WriteUnit;
use std::collections::BTreeMap;

/// A recovery is cut, and the recovery from that.
const DEPTH: u32 = 2;
/// Power cuts of one history.
const CUTS: usize = 60;
/// One history of so many has a hub, and images that take some 50 times as long.
const HUB_EVERY: u64 = 64;
const CUTS_WITH_HUB: usize = 6;
/// Those of the mapped engine: in the same time, histories of more kinds.
const CUTS_OF_MAPPED: usize = 20;
/// Ways of a power cut that are tried all: three lines with eight stores each, or more with fewer.
const WAYS_MAX: usize = 9 * 9 * 9;
/// The same of the mapped engine, whose images take ten times as long.
const MAPPED_WAYS_MAX: usize = 9 * 9;
/// One history of so many is cut in as many ways as the campaign allows; more would leave little time for histories of other kinds.
const MANY_WAYS_EVERY: u64 = 16;
/// Histories from this seed on have a disk of persistent memory.
pub const LINES_FROM_SEED: u64 = 1 << 40;
/// Where bits are turned: pages and the headers in them.
const PAGE_BYTES: usize = 4096;
const HEADER_BYTES: usize = 64;

/// Everything that decides a history and its images.
#[derive(Clone, Debug)]
pub struct Plan {
    pub settings: Settings,
    pub steps: Vec<Step>,
    /// Chooses the images.
    pub images_seed: u64,
    /// How often the power is cut; the recoveries are cut as well.
    pub cuts: usize,
    /// In how many ways it is cut at one moment, at most, on persistent memory.
    pub ways_max: usize,
}

/// What was tried.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Disks that were opened and compared, by what was done to them.
    pub images: BTreeMap<&'static str, u64>,
    /// Histories, by the fault of their disk.
    pub histories: BTreeMap<&'static str, u64>,
    /// What only some histories meet, and how often.
    pub met: BTreeMap<&'static str, u64>,
    /// Commits of histories; each image is compared with one of them.
    pub commits: u64,
    /// Disks that said clearly that they are broken.
    pub refused: u64,
}

impl Tally {
    pub fn images_count(&self) -> u64 {
        self.images.values().sum()
    }

    pub fn add(&mut self, other: &Self) {
        let add = |to: &mut BTreeMap<&'static str, u64>, from: &BTreeMap<&'static str, u64>| {
            from.iter().for_each(|(kind, count)| *to.entry(kind).or_default() += count);
        };
        add(&mut self.images, &other.images);
        add(&mut self.histories, &other.histories);
        add(&mut self.met, &other.met);
        self.commits += other.commits;
        self.refused += other.refused;
    }
}

/// Where in a plan something is tried, for whoever tells about a miss.
#[derive(Clone, Default, Debug)]
pub struct Place {
    pub step: Option<(usize, Step)>,
    /// The number of changes after which the power was cut, of how many, and what was done to the disk.
    pub image: Option<(usize, usize, &'static str)>,
}

fn fault_name(fault: Option<Fault>) -> &'static str {
    match fault.map(|fault| fault.kind) {
        None => "no fault",
        Some(FaultKind::ReadError) => "read error",
        Some(FaultKind::ReadFlip) => "bit turned while read",
        Some(FaultKind::WriteError) => "write error",
        Some(FaultKind::ShortWrite) => "short write",
        Some(FaultKind::SyncError) => "sync error",
        Some(FaultKind::LostSync) => "lost sync",
        Some(FaultKind::NameError) => "error of names",
        Some(FaultKind::Full { .. }) => "full disk",
    }
}

/// In how many ways every history is cut at one moment, at most.
fn usual_ways_max(engine: EngineKind) -> usize {
    if engine == EngineKind::Mapped { MAPPED_WAYS_MAX } else { WAYS_MAX }
}

/// The same of the history of a seed, in a campaign that allows `allowed`, or what is usual.
pub fn ways_max(engine: EngineKind, seed: u64, allowed: Option<usize>) -> usize {
    // None of these has a hub.
    let allowed = allowed.filter(|_| seed % MANY_WAYS_EVERY == 3);
    allowed.map_or(usual_ways_max(engine), |ways| ways.min(IMAGES_MAX))
}

impl Plan {
    /// The plan of a seed, in a campaign that allows so many ways of a power cut at one moment.
    pub fn of(engine: EngineKind, seed: u64, ways_allowed: Option<usize>) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut settings = Settings::choose(engine, &mut random);
        settings.fault = any_fault(&mut random).filter(|fault| is_told_at_once(engine, fault));
        if seed >= LINES_FROM_SEED {
            settings.unit = WriteUnit::LINE;
        }
        let mut steps = steps::beginning(&mut random);
        let count = 60 + random.next_u64() as usize % 120;
        steps.extend(steps::choose(count, &mut random));
        // One history of eight has an owner from its beginning on, and one from some step on, if it comes to that.
        if seed % 4 == 2 {
            steps = steps.into_iter().map(steps::with_owner).collect();
        }
        if seed % 8 == 6 {
            steps.insert(0, Step::Own);
        }
        let lies = settings.fault.is_some_and(|fault| fault.kind == FaultKind::LostSync);
        if lies {
            // A load that only the manifest holds, lost with it, leaves the log's later commits without it:
            // see the table of promises.
            steps.retain(|step| !matches!(step, Step::Load { .. }));
        }
        let hub = seed % HUB_EVERY == 5 && !lies;
        if hub {
            steps.insert(steps.len() / 3, Step::LoadHub { seed: random.next_u64() as u16 });
        }
        let cuts = match (hub, engine) {
            (true, _) => CUTS_WITH_HUB,
            (false, EngineKind::Mapped) => CUTS_OF_MAPPED,
            (false, _) => CUTS,
        };
        let ways_max = ways_max(engine, seed, ways_allowed);
        Self { settings, steps, images_seed: random.next_u64(), cuts, ways_max }
    }

    /// Lives through it, and cuts the power. What was done, as one number.
    pub fn play(&self, tally: &mut Tally, place: &mut Place) -> Result<u64, String> {
        let mut run = Run::start(self.settings, Disk::new(self.settings.unit), &Expected::nothing())?;
        for (at, step) in self.steps.iter().enumerate() {
            place.step = Some((at, *step));
            run.step(*step)?;
        }
        place.step = None;
        let history = run.finish()?;
        *tally.histories.entry(fault_name(history.fault)).or_default() += 1;
        tally.commits += history.commits;
        for (kind, count) in history.met() {
            *tally.met.entry(kind).or_default() += count;
        }
        let mut random = SplitMix64::new(self.images_seed);
        let length = history.changes.len();
        let mut cuts: Vec<usize> = (0..self.cuts).map(|_| moment(&history.changes, &mut random)).collect();
        cuts.sort_unstable();
        let (mut disk, mut done, mut trace) = (Disk::new(self.settings.unit), 0, history.trace);
        for cut in cuts {
            history.changes[done..cut].iter().for_each(|change| disk.apply(change));
            done = cut;
            let mut judge = Judge { settings: self.settings, random: &mut random, tally: &mut *tally };
            let judged =
                judge.cut(&disk, &history, cut, 0, &mut |kind| place.image = Some((cut, length, kind)))?;
            trace = trace.rotate_left(7) ^ judged;
        }
        if let Some((cut, disk)) = self.few_ways(&history.changes, &mut random) {
            place.image = Some((cut, length, EVERY_WAY));
            let mut judge = Judge { settings: self.settings, random: &mut random, tally: &mut *tally };
            trace = trace.rotate_left(7) ^ judge.cut_every_way(&disk, &history.expected(cut))?;
        }
        Ok(trace)
    }

    /// A moment, and the disk then, at which the power can fail in few ways and more than one: any of those, by chance. Where more
    /// ways than usual are allowed, one that has more, if there is any.
    fn few_ways(&self, changes: &[Change], random: &mut SplitMix64) -> Option<(usize, Disk)> {
        let Settings { engine, unit, .. } = self.settings;
        // With a hub each of them takes as long as fifty others.
        if unit != WriteUnit::LINE || self.cuts == CUTS_WITH_HUB {
            return None;
        }
        let mut disk = Disk::new(unit);
        let mut moments = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            disk.apply(change);
            if let Some(ways) = disk.ways_count(self.ways_max).filter(|ways| *ways > 1) {
                moments.push((at + 1, ways));
            }
        }
        let is_more = |(_, ways): &(usize, usize)| *ways > usual_ways_max(engine);
        if moments.iter().any(is_more) {
            moments.retain(is_more);
        }
        let (chosen, _) = *moments.get(random.next_u64() as usize % moments.len().max(1))?;
        let mut disk = Disk::new(unit);
        changes[..chosen].iter().for_each(|change| disk.apply(change));
        Some((chosen, disk))
    }
}

/// The fault of a whole history, if it has one.
fn any_fault(random: &mut SplitMix64) -> Option<Fault> {
    let kind = match random.next_u64() % 16 {
        0 => FaultKind::WriteError,
        1 => FaultKind::ShortWrite,
        2 | 3 => FaultKind::SyncError,
        4 => FaultKind::NameError,
        5 => FaultKind::Full { room: random.next_u64() % 60_000 },
        6 | 7 => FaultKind::LostSync,
        8 => FaultKind::ReadError,
        _ => return None,
    };
    let lasts = match random.next_u64() % 4 {
        0 | 1 => 1,
        2 => 2 + random.next_u64() % 10,
        _ => u64::MAX >> 1,
    };
    Some(Fault { kind, begins: random.next_u64() % 60, lasts })
}

/// The fault of a recovery and what follows, mostly none.
fn fault_of_recovery(depth: u32, random: &mut SplitMix64) -> Option<Fault> {
    let kind = match random.next_u64() % 32 {
        0 | 1 => FaultKind::ReadError,
        2 | 3 if depth == 0 => FaultKind::ReadFlip,
        4 => FaultKind::WriteError,
        5 => FaultKind::SyncError,
        6 => FaultKind::NameError,
        7 => FaultKind::Full { room: random.next_u64() % 20_000 },
        _ => return None,
    };
    let (begins, lasts) = (random.next_u64() % 6, 1 + random.next_u64() % 3);
    // One bit: of two, one can hide a commit and the other what proves that it was synced.
    let lasts = if kind == FaultKind::ReadFlip { 1 } else { lasts };
    Some(Fault { kind, begins, lasts })
}

/// Whether files are read after opening too. Then a disk whose reads fail, or bring turned bits, is told to whoever reads
/// a graph, and the comparison with the model is no such reader.
fn reads_when_open(engine: EngineKind) -> bool {
    engine != EngineKind::Memory
}

/// Whether a fault is told by whatever the simulation does next.
fn is_told_at_once(engine: EngineKind, fault: &Fault) -> bool {
    !(reads_when_open(engine) && matches!(fault.kind, FaultKind::ReadError | FaultKind::ReadFlip))
}

/// After how many of `changes` the power fails: any number, but half of the time right after a name changed,
/// which few changes do and much depends on.
fn moment(changes: &[Change], random: &mut SplitMix64) -> usize {
    let number = random.next_u64() as usize;
    let is_name = |change: &Change| {
        matches!(change, Change::Create { .. } | Change::Rename { .. } | Change::Remove { .. })
    };
    let names: Vec<usize> = (0..changes.len()).filter(|at| is_name(&changes[*at])).collect();
    match names.len() {
        count if count > 0 && number.is_multiple_of(2) => names[number / 2 % count] + 1,
        _ => number / 2 % (changes.len() + 1),
    }
}

/// What an image of [`Judge::cut_every_way`] is.
pub const EVERY_WAY: &str = "power cut in every way";

struct Judge<'a> {
    settings: Settings,
    random: &'a mut SplitMix64,
    tally: &'a mut Tally,
}

impl Judge<'_> {
    /// Cuts the power of `disk`, which is `history` after `cut` changes, and judges what is found.
    fn cut(
        &mut self,
        disk: &Disk,
        history: &History,
        cut: usize,
        depth: u32,
        tell: &mut dyn FnMut(&'static str),
    ) -> Result<u64, String> {
        let mut expected = history.expected(cut);
        let turned = depth == 0 && self.random.next_u64().is_multiple_of(8);
        // A process that is killed leaves all that it wrote; what syncs forgot or lied about it only seems to.
        let honest = !disk.forgot && !expected.may_refuse;
        let killed = !turned && depth == 0 && honest && self.random.next_u64().is_multiple_of(6);
        let mut image = if killed { disk.clone() } else { disk.cut(self.random) };
        let kind = match (turned, depth) {
            (true, _) => "bit turned at rest",
            _ if killed => "process killed",
            (_, 0) => "power cut",
            (_, 1) => "recovery cut",
            _ => "second recovery cut",
        };
        tell(kind);
        *self.tally.images.entry(kind).or_default() += 1;
        if turned && self.turn_a_bit(&mut image) {
            expected.floor = expected.proven.min(expected.floor);
            expected.may_refuse = true;
        }
        if self.is_refused(&image, &expected) {
            return Ok(0);
        }
        if !expected.may_refuse && self.random.next_u64().is_multiple_of(8) {
            Run::check_files(&image)?;
        }
        let is_told = |fault: &Fault| is_told_at_once(self.settings.engine, fault);
        let fault = if turned { None } else { fault_of_recovery(depth, self.random).filter(is_told) };
        let settings = Settings { seed: self.random.next_u64(), fault, ..self.settings };
        let mut run = Run::start(settings, image.clone(), &expected)?;
        if run.is_over {
            self.tally.refused += 1;
            return Ok(run.finish()?.trace);
        }
        if turned || depth == DEPTH {
            return Ok(run.finish()?.trace);
        }
        for _ in 0..self.random.next_u64() % 5 {
            let step = match self.random.next_u64() % 4 {
                0 => steps::background(self.random),
                1 => steps::checkpoint(self.random),
                2 => Step::Commit { slot: 0 },
                _ => steps::choose(1, self.random)[0],
            };
            run.step(step)?;
        }
        let second = run.finish()?;
        let length = second.changes.len();
        // Half of the cuts lie in the recovery itself.
        let opened = second.lives.get(1).map_or(length, |life| life.from);
        let upto = if self.random.next_u64().is_multiple_of(2) { opened } else { length };
        let at = moment(&second.changes[..upto], self.random);
        let mut disk = image;
        second.changes[..at].iter().for_each(|change| disk.apply(change));
        let deeper = self.cut(&disk, &second, at, depth + 1, tell)?;
        Ok(second.trace.rotate_left(9) ^ deeper)
    }

    /// Whether an image whose disk broke its promises says so before it is opened: of files that are not read whole then, the
    /// check finds what a reader would be told later.
    fn is_refused(&mut self, image: &Disk, expected: &Expected) -> bool {
        let is_refused =
            expected.may_refuse && reads_when_open(self.settings.engine) && Run::check_files(image).is_err();
        self.tally.refused += u64::from(is_refused);
        is_refused
    }

    /// Judges what is found of `disk`, which has few unfenced lines, in each way that they can survive.
    fn cut_every_way(&mut self, disk: &Disk, expected: &Expected) -> Result<u64, String> {
        let mut trace = 0_u64;
        for image in disk.every_cut(self.settings.seed) {
            *self.tally.images.entry(EVERY_WAY).or_default() += 1;
            if self.is_refused(&image, expected) {
                continue;
            }
            let settings = Settings { seed: self.random.next_u64(), fault: None, ..self.settings };
            let run = Run::start(settings, image, expected)?;
            self.tally.refused += u64::from(run.is_over);
            trace = trace.rotate_left(9) ^ run.finish()?.trace;
        }
        Ok(trace)
    }

    /// Turns one bit of one file, mostly where there is something; whether there was a file.
    fn turn_a_bit(&mut self, disk: &mut Disk) -> bool {
        let files: Vec<usize> = disk.names().filter_map(|name| disk.file(name)).collect();
        let Some(file) = files.get(self.random.next_u64() as usize % files.len().max(1)) else {
            return false;
        };
        let bytes = disk.bytes(*file);
        if bytes.is_empty() {
            return false;
        }
        let mut at = self.random.next_u64() as usize % bytes.len();
        if self.random.next_u64().is_multiple_of(2) {
            // Headers are at the beginning of pages, and few among what else is written.
            at -= at % PAGE_BYTES;
            let page = bytes[at..].chunks(PAGE_BYTES).position(|page| page.iter().any(|byte| *byte != 0));
            at += page.unwrap_or(0) * PAGE_BYTES;
            at = (at + self.random.next_u64() as usize % HEADER_BYTES).min(bytes.len() - 1);
        }
        let written = bytes[at..].iter().position(|byte| *byte != 0);
        let at = match written {
            Some(skipped) if !self.random.next_u64().is_multiple_of(4) => at + skipped,
            _ => at,
        };
        disk.flip(*file, at * 8 + self.random.next_u64() as usize % 8);
        true
    }
}
