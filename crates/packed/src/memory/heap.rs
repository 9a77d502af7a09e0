//! Heap memory: regions in ordinary memory, which live as long as a handle of the memory does.

use crate::memory::region::{Domain, Memory, Region, load_pairs};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Regions on the heap. A clone is another handle of the same regions, so that a graph can be shut down and opened
/// again.
#[derive(Clone, Debug)]
pub struct HeapMemory {
    regions: Arc<Mutex<BTreeMap<u64, HeapRegion>>>,
    domain: Domain,
}

impl HeapMemory {
    /// No regions yet. `domain` decides whether the array writes lines back, which is counted and otherwise without
    /// effect.
    #[must_use]
    pub fn new(domain: Domain) -> Self {
        Self { regions: Arc::default(), domain }
    }
}

/// A region on the heap.
#[derive(Clone, Debug)]
pub struct HeapRegion(Arc<Vec<AtomicU64>>);

impl Region for HeapRegion {
    #[inline]
    fn words(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn load(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn load_pairs(&self, first: usize, pairs: &mut [[u32; 2]], decode: impl Fn(u64) -> u64) {
        load_pairs(&self.0[first..first + pairs.len()], pairs, decode);
    }

    #[inline]
    fn store(&self, index: usize, value: u64) {
        self.0[index].store(value, Ordering::Release);
    }

    #[inline]
    fn write_back(&self, words: Range<usize>) {
        assert!(words.end <= self.0.len(), "words {words:?} of {}", self.0.len());
    }
}

impl Memory for HeapMemory {
    type Region = HeapRegion;

    fn domain(&self) -> Domain {
        self.domain
    }

    fn allocate(&self, number: u64, words: usize) -> Result<Self::Region> {
        let mut zeros = Vec::new();
        zeros.try_reserve_exact(words).map_err(|cause| {
            let text = format!("allocate region {number}: {words} words do not fit into memory");
            Error::new(ErrorKind::Limit, text).because(cause)
        })?;
        zeros.resize_with(words, || AtomicU64::new(0));
        let region = HeapRegion(Arc::new(zeros));
        let mut regions = self.regions.lock();
        if regions.contains_key(&number) {
            return Err(Error::invalid(format!("allocate region {number}: the number is taken")));
        }
        regions.insert(number, region.clone());
        Ok(region)
    }

    fn open(&self, number: u64) -> Result<Self::Region> {
        self.regions.lock().get(&number).cloned().ok_or_else(|| missing("open", &self.name_of(number)))
    }

    fn free(&self, number: u64) -> Result<()> {
        self.regions.lock().remove(&number).map(drop).ok_or_else(|| missing("free", &self.name_of(number)))
    }

    fn numbers(&self) -> Result<Vec<u64>> {
        Ok(self.regions.lock().keys().copied().collect())
    }

    #[inline]
    fn fence(&self) {}
}

/// Nothing has this name.
pub(crate) fn missing(doing: &str, name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("{doing} {name}: there is no such region"))
}
