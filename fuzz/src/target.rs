//! Target: a promise about one decoder, the inputs to begin with, and the memory that it may take.
//!
//! libFuzzer's own limit of a single allocation needs a sanitizer, which needs a nightly compiler. So
//! the heap is counted here: it sees a length that was believed before its bytes were there, which is
//! what matters, and it works with any compiler.

use peak_alloc::PeakAlloc;
use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::Path;
use std::sync::Mutex;
use std::{env, fs, process};

/// Where the seeds go, if it is set: a folder of the corpus.
const SEEDS_VARIABLE: &str = "EVERGRAPH_FUZZ_SEEDS";

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The last panic, caught or not: what it said, where it was.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// One fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The inputs to begin with: sound ones, which the fuzzer breaks.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Panics if the decoder doesn't keep what it promises for these bytes.
    pub promise: fn(&[u8]),
    /// What the heap may hold while it does.
    pub memory: Memory,
}

/// The most bytes on the heap at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// For any input: buffers.
    pub fixed: usize,
    /// Besides, for each byte of the input.
    pub per_byte: usize,
}

impl Memory {
    fn allowed(self, input: &[u8]) -> usize {
        self.fixed + self.per_byte * input.len()
    }
}

/// Makes a [`Target`] the one of this program.
#[macro_export]
macro_rules! fuzz {
    ($target:expr) => {
        ::libfuzzer_sys::fuzz_target!(init: $crate::target::begin($target), |input: &[u8]| {
            $crate::target::check($target, input)
        });
    };
}

/// Takes over from libFuzzer's hook, which aborts at every panic: some are caught (`import::parquet::sound`).
/// Writes the seeds if a folder is named for them.
///
/// # Panics
/// If they can't be written.
pub fn begin(target: Target) {
    set_hook(Box::new(|panic| {
        let mut last = LAST_PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *last = format!("{panic}\n{}", Backtrace::capture());
    }));
    let Some(folder) = env::var_os(SEEDS_VARIABLE) else { return };
    for (number, seed) in (target.seeds)().iter().enumerate() {
        fs::write(Path::new(&folder).join(format!("seed-{number:03}")), seed).expect("seeds can be written");
    }
}

/// Checks the promise, and ends the process if it isn't kept.
pub fn check(target: Target, input: &[u8]) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    if catch_unwind(AssertUnwindSafe(|| (target.promise)(input))).is_err() {
        eprintln!("promise: {}", LAST_PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        process::abort();
    }
    let taken = HEAP.peak_usage().saturating_sub(before);
    let allowed = target.memory.allowed(input);
    if taken > allowed {
        eprintln!(
            "promise: {taken} bytes on the heap for an input of {}; {allowed} are allowed",
            input.len()
        );
        process::abort();
    }
}
