//! Target: a promise about one decoder, the inputs to begin with, and the memory that it may take.
//!
//! libFuzzer's own limit of a single allocation needs a sanitizer, which needs a nightly compiler. So
//! the heap is counted here: it sees a length that was believed before its bytes were there, which is
//! what matters, and it works with any compiler.

use crate::targets::ALL;
use peak_alloc::PeakAlloc;
use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::Path;
use std::sync::Mutex;
use std::{env, fs, process};

/// Which target a process is for.
const TARGET_VARIABLE: &str = "EVERGRAPH_FUZZ_TARGET";

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

/// The target that `EVERGRAPH_FUZZ_TARGET` names. Takes over from libFuzzer's hook, which aborts at every
/// panic: some are caught (`import::parquet::sound`). Writes the seeds if a folder is named for them.
///
/// Ends the process if there is no such target.
///
/// # Panics
/// If the seeds can't be written.
pub fn begin() -> Target {
    remember_panics();
    let name = env::var(TARGET_VARIABLE).unwrap_or_default();
    let Some((_, target)) = ALL.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = ALL.iter().map(|(known, _)| *known).collect();
        eprintln!("{TARGET_VARIABLE} is `{name}`; targets are: {}", known.join(" "));
        process::exit(2);
    };
    if let Some(folder) = env::var_os(SEEDS_VARIABLE) {
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(Path::new(&folder).join(format!("seed-{number:03}")), seed)
                .expect("seeds can be written");
        }
    }
    *target
}

/// Lets [`broken`] say what a panic said.
pub fn remember_panics() {
    set_hook(Box::new(|panic| {
        let mut last = LAST_PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *last = format!("{panic}\n{}", Backtrace::capture());
    }));
}

/// Checks the promise, and ends the process if it isn't kept.
pub fn check(target: Target, input: &[u8]) {
    if let Some(broken) = broken(target, input) {
        eprintln!("promise: {broken}");
        process::abort();
    }
}

/// What of its promise `target` doesn't keep for `input`. Nobody else may use the heap meanwhile.
#[must_use]
pub fn broken(target: Target, input: &[u8]) -> Option<String> {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    if catch_unwind(AssertUnwindSafe(|| (target.promise)(input))).is_err() {
        return Some(LAST_PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone());
    }
    let taken = HEAP.peak_usage().saturating_sub(before);
    let allowed = target.memory.allowed(input);
    let bytes = input.len();
    (taken > allowed)
        .then(|| format!("{taken} bytes on the heap for an input of {bytes}; {allowed} are allowed"))
}
