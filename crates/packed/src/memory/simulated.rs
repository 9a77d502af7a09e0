//! Simulated memory: regions that can lose power, with every state that a power cut may leave.
//!
//! ```text
//! per line    durable 8 words | stores since, in their order | how many of them are written back
//! fence       what is written back becomes durable
//! power cut   of each line the durable words and any prefix of the stores since: every combination is an image
//! ```
//!
//! A prefix may be longer than what was written back: caches evict lines whenever they like. Between two fences images
//! only become more. So those right before a fence are those after each store and each write-back since the one before,
//! and an observer that is called before every fence, allocation and release sees every power cut.
//!
//! In the eADR domain every store is durable at once: there is one image.
//!
//! One write-back or fence of the array can be left out, by its [`Site`]; images leave it out as well.

use crate::memory::heap::missing;
use crate::memory::region::{Domain, LINE_WORDS, Memory, Region};
use crate::memory::site::{Site, Step};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::split_mix::mix;
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Called right before a fence, an allocation or a release.
type Observer = Box<dyn FnMut(&SimulatedMemory) + Send>;

/// Memory that can lose power. A clone is another handle of the same regions.
#[derive(Clone)]
pub struct SimulatedMemory {
    contents: Arc<Mutex<Contents>>,
    observer: Arc<Mutex<Option<Observer>>>,
    /// Shared with all images.
    steps: Arc<Mutex<Steps>>,
    domain: Domain,
}

#[derive(Default)]
struct Steps {
    left_out: Option<(Site, Step)>,
    reached: BTreeSet<(Site, Step)>,
}

#[derive(Default)]
struct Contents {
    regions: BTreeMap<u64, Words>,
    /// Regions that may still be allocated.
    allocations_left: Option<u64>,
}

#[derive(Default, Clone)]
struct Words {
    visible: Vec<u64>,
    durable: Vec<u64>,
    lines: BTreeMap<usize, Line>,
}

/// A line with stores that are not durable.
#[derive(Default, Clone)]
struct Line {
    stores: Vec<(usize, u64)>,
    written_back: usize,
}

impl Words {
    fn make_durable(&mut self, line: usize, stores: usize) {
        let Some(state) = self.lines.get_mut(&line) else { return };
        for (word, value) in state.stores.drain(..stores) {
            self.durable[word] = value;
        }
        state.written_back = 0;
        if state.stores.is_empty() {
            self.lines.remove(&line);
        }
    }
}

impl SimulatedMemory {
    /// No regions yet.
    #[must_use]
    pub fn new(domain: Domain) -> Self {
        Self { contents: Arc::default(), observer: Arc::default(), steps: Arc::default(), domain }
    }

    /// Calls `observer` right before every fence, allocation and release from now on. It may take images, but not use
    /// the graph that this memory belongs to.
    pub fn observe(&self, observer: impl FnMut(&Self) + Send + 'static) {
        *self.observer.lock() = Some(Box::new(observer));
    }

    /// Calls nobody from now on.
    pub fn ignore(&self) {
        *self.observer.lock() = None;
    }

    /// Refuses every allocation after `count` more.
    pub fn limit_allocations(&self, count: u64) {
        self.contents.lock().allocations_left = Some(count);
    }

    /// Leaves out this step from now on, here and on images; an earlier one no longer.
    pub fn leave_out(&self, site: Site, step: Step) {
        self.steps.lock().left_out = Some((site, step));
    }

    /// The steps that the array came to, here and on images, whether they were left out or not.
    #[must_use]
    pub fn reached(&self) -> BTreeSet<(Site, Step)> {
        self.steps.lock().reached.clone()
    }

    /// Number of stores that are not durable.
    #[must_use]
    pub fn pending_stores(&self) -> usize {
        let contents = self.contents.lock();
        contents.regions.values().flat_map(|words| words.lines.values()).map(|line| line.stores.len()).sum()
    }

    /// Changes a durable word, as damage would.
    ///
    /// # Panics
    /// If there is no such word.
    pub fn damage(&self, region: u64, word: usize, value: u64) {
        let mut contents = self.contents.lock();
        let words = contents.regions.get_mut(&region).expect("a region that the test allocated");
        words.durable[word] = value;
        words.visible[word] = value;
    }

    /// Calls `visit` with what a power cut now may leave: every combination if there are at most `images_max`. Else
    /// with `images_max` of them: each line as a whole or not at all, in every combination, if so many fit, and for the
    /// rest the extremes, one line lost or kept, and others chosen by `seed`.
    pub fn for_each_image(&self, images_max: usize, seed: u64, mut visit: impl FnMut(SimulatedMemory)) {
        let (regions, lines) = {
            let contents = self.contents.lock();
            let lines: Vec<(u64, usize, usize)> = contents
                .regions
                .iter()
                .flat_map(|(number, words)| {
                    words.lines.iter().map(move |(line, state)| (*number, *line, state.stores.len()))
                })
                .collect();
            (contents.regions.clone(), lines)
        };
        let image = |kept: &[usize]| {
            let mut regions = regions.clone();
            for ((number, line, _), stores) in lines.iter().zip(kept) {
                let words = regions.get_mut(number).expect("a region of the list");
                words.make_durable(*line, *stores);
            }
            for words in regions.values_mut() {
                words.lines.clear();
                words.visible.clone_from(&words.durable);
            }
            let contents = Contents { regions, allocations_left: None };
            SimulatedMemory {
                contents: Arc::new(Mutex::new(contents)),
                observer: Arc::default(),
                steps: Arc::clone(&self.steps),
                domain: self.domain,
            }
        };
        let all: Vec<usize> = lines.iter().map(|(_, _, stores)| *stores).collect();
        let combinations = all.iter().try_fold(1usize, |product, stores| {
            product.checked_mul(stores + 1).filter(|it| *it <= images_max)
        });
        if let Some(combinations) = combinations {
            for number in 0..combinations {
                let mut rest = number;
                let digit = |stores: &usize| {
                    let digit = rest % (stores + 1);
                    rest /= stores + 1;
                    digit
                };
                visit(image(&all.iter().map(digit).collect::<Vec<_>>()));
            }
            return;
        }
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_add(1);
            mix(state) as usize
        };
        let whole_lines = u32::try_from(all.len()).ok().and_then(|lines| 1usize.checked_shl(lines));
        let whole_lines = whole_lines.filter(|count| *count <= images_max).unwrap_or(0);
        for number in 0..images_max {
            let kept: Vec<usize> = match number {
                _ if number < whole_lines => {
                    all.iter().enumerate().map(|(at, stores)| stores * (number >> at & 1)).collect()
                }
                0 => vec![0; all.len()],
                1 => all.clone(),
                // One line is lost, or one alone is kept.
                _ if number % 4 == 2 => {
                    let lost = random() % all.len();
                    all.iter().enumerate().map(|(at, stores)| if at == lost { 0 } else { *stores }).collect()
                }
                _ if number % 4 == 3 => {
                    let kept = random() % all.len();
                    all.iter().enumerate().map(|(at, stores)| if at == kept { *stores } else { 0 }).collect()
                }
                _ => all.iter().map(|stores| random() % (stores + 1)).collect(),
            };
            visit(image(&kept));
        }
    }

    fn tell_observer(&self) {
        // Taken out, so that an observer may call this memory.
        let Some(mut observer) = self.observer.lock().take() else { return };
        observer(self);
        self.observer.lock().get_or_insert(observer);
    }
}

/// A region of simulated memory.
pub struct SimulatedRegion {
    contents: Arc<Mutex<Contents>>,
    number: u64,
    domain: Domain,
}

impl SimulatedRegion {
    fn with<T>(&self, body: impl FnOnce(&mut Words) -> T) -> T {
        let mut contents = self.contents.lock();
        let words = contents.regions.get_mut(&self.number);
        body(words.expect("the array uses no region that it has freed"))
    }
}

impl Region for SimulatedRegion {
    fn words(&self) -> usize {
        self.with(|words| words.visible.len())
    }

    fn load(&self, index: usize) -> u64 {
        self.with(|words| words.visible[index])
    }

    fn store(&self, index: usize, value: u64) {
        self.with(|words| {
            words.visible[index] = value;
            match self.domain {
                Domain::Eadr => words.durable[index] = value,
                Domain::Adr => words.lines.entry(index / LINE_WORDS).or_default().stores.push((index, value)),
            }
        });
    }

    fn write_back(&self, range: Range<usize>) {
        self.with(|words| {
            assert!(range.end <= words.visible.len(), "words {range:?} of {}", words.visible.len());
            let lines = range.start / LINE_WORDS..range.end.div_ceil(LINE_WORDS);
            for (_, line) in words.lines.range_mut(lines) {
                line.written_back = line.stores.len();
            }
        });
    }
}

impl Memory for SimulatedMemory {
    type Region = SimulatedRegion;

    fn domain(&self) -> Domain {
        self.domain
    }

    fn allocate(&self, number: u64, words: usize) -> Result<SimulatedRegion> {
        self.tell_observer();
        let mut contents = self.contents.lock();
        if let Some(left) = &mut contents.allocations_left {
            let text = format!("allocate region {number}: no more regions are allowed");
            *left = left.checked_sub(1).ok_or_else(|| Error::new(ErrorKind::Limit, text))?;
        }
        if contents.regions.contains_key(&number) {
            return Err(Error::invalid(format!("allocate region {number}: the number is taken")));
        }
        let fresh = Words { visible: vec![0; words], durable: vec![0; words], lines: BTreeMap::new() };
        contents.regions.insert(number, fresh);
        Ok(SimulatedRegion { contents: Arc::clone(&self.contents), number, domain: self.domain })
    }

    fn open(&self, number: u64) -> Result<SimulatedRegion> {
        if !self.contents.lock().regions.contains_key(&number) {
            return Err(missing("open", &self.name_of(number)));
        }
        Ok(SimulatedRegion { contents: Arc::clone(&self.contents), number, domain: self.domain })
    }

    fn free(&self, number: u64) -> Result<()> {
        self.tell_observer();
        self.contents
            .lock()
            .regions
            .remove(&number)
            .map(drop)
            .ok_or_else(|| missing("free", &self.name_of(number)))
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        Ok(self.contents.lock().regions.keys().copied().collect())
    }

    fn fence(&self) {
        self.tell_observer();
        let mut contents = self.contents.lock();
        for words in contents.regions.values_mut() {
            let written_back: Vec<(usize, usize)> =
                words.lines.iter().map(|(line, state)| (*line, state.written_back)).collect();
            for (line, stores) in written_back {
                words.make_durable(line, stores);
            }
        }
    }

    fn takes(&self, site: Site, step: Step) -> bool {
        let mut steps = self.steps.lock();
        steps.reached.insert((site, step));
        steps.left_out != Some((site, step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(memory: &SimulatedMemory, images_max: usize) -> Vec<Vec<u64>> {
        let mut found = Vec::new();
        memory.for_each_image(images_max, 1, |image| {
            let region = image.open(1).unwrap();
            found.push(
                (0..region.words()).map(|word| region.load(word)).filter(|value| *value != 0).collect(),
            );
        });
        found.sort();
        found
    }

    #[test]
    fn a_line_keeps_a_prefix_of_its_stores_and_lines_are_independent() {
        let memory = SimulatedMemory::new(Domain::Adr);
        let region = memory.allocate(1, 16).unwrap();
        region.store(0, 1);
        region.store(3, 2);
        region.store(8, 3);
        assert_eq!(images(&memory, 100), [vec![], vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 3], vec![3]]);
    }

    #[test]
    fn a_fence_keeps_what_was_written_back_before_it_and_nothing_later() {
        let memory = SimulatedMemory::new(Domain::Adr);
        let region = memory.allocate(1, 16).unwrap();
        region.store(0, 1);
        region.write_back(0..1);
        region.store(1, 2);
        region.store(8, 3);
        memory.fence();
        assert_eq!(images(&memory, 100), [vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 3]]);
        assert_eq!(memory.pending_stores(), 2);
    }

    #[test]
    fn caches_that_survive_keep_every_store() {
        let memory = SimulatedMemory::new(Domain::Eadr);
        let region = memory.allocate(1, 16).unwrap();
        region.store(0, 1);
        region.store(8, 3);
        assert_eq!(images(&memory, 100), [vec![1, 3]]);
    }

    #[test]
    fn the_observer_is_called_before_each_fence() {
        let memory = SimulatedMemory::new(Domain::Adr);
        let region = memory.allocate(1, 16).unwrap();
        let counts = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&counts);
        memory.observe(move |memory| seen.lock().push(memory.pending_stores()));
        region.store(0, 1);
        region.write_back(0..1);
        memory.fence();
        memory.fence();
        assert_eq!(*counts.lock(), [1, 0]);
    }
}
