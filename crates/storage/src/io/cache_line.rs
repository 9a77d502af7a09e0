//! Cache line: brings stores to persistent memory out of the processor's caches, and waits for them. Holds `unsafe`.
//!
//! ```text
//! store   the line is in a cache            a power cut keeps any prefix of its 8-byte stores, or none
//! write_back(words)   clwb, clflushopt or clflush, a line each: on its way
//! fence()             sfence                what was written back before is in the persistent domain
//! ```
//!
//! `clwb` leaves the line in the cache, `clflushopt` evicts it, `clflush` also waits for the one before; the first of
//! them that the processor has is used. A processor of another architecture is refused by name: durability is no
//! place to guess.
//!
//! Under Miri, shuttle and loom there is no cache to write back; both calls only check that they were given memory.
//!
//! Source: Intel SDM, volume 2, CLWB, CLFLUSHOPT, CLFLUSH, SFENCE and CPUID; DGAP (SC 2023), section 2.1.

#![allow(unsafe_code, reason = "instructions that no library offers: docs/decisions/0025")]

use crate::sync::atomic::AtomicU64;
use std::io::{Error, ErrorKind};

/// Bytes of a cache line: what a write-back moves, and how much of it a power cut may tear.
pub const LINE_BYTES: usize = 64;

/// The instructions by which this processor writes back its cache lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLines(Instruction);

/// Of x86-64, from the cheapest on; each value was found in this processor's CPUID.
#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instruction {
    Clwb,
    Clflushopt,
    Clflush,
}

/// No instruction: the memory is the heap's, which nothing outlives.
#[cfg(any(miri, shuttle, loom))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instruction {
    None,
}

#[cfg(not(any(target_arch = "x86_64", miri, shuttle, loom)))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instruction {}

impl CacheLines {
    /// The cheapest instruction of this processor.
    ///
    /// # Errors
    /// `Unsupported`, naming the architecture, if there is none that this program knows.
    pub fn of_processor() -> Result<Self, Error> {
        let found = Self::all().into_iter().next();
        found.ok_or_else(|| {
            let architecture = std::env::consts::ARCH;
            let problem = format!(
                "cache lines of {LINE_BYTES} bytes cannot be written back to persistent memory on this {architecture} processor"
            );
            Error::new(ErrorKind::Unsupported, problem)
        })
    }

    /// Every instruction that this processor has, from the cheapest on.
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    fn all() -> Vec<Self> {
        let (has_clflush, line_bytes) = {
            let basic = cpuid(1);
            (basic.edx & 1 << 19 != 0, (basic.ebx >> 8 & 0xff) * 8)
        };
        if line_bytes as usize != LINE_BYTES {
            return Vec::new();
        }
        let extended = if cpuid(0).eax >= 7 { cpuid(7).ebx } else { 0 };
        let known = [
            (Instruction::Clwb, extended & 1 << 24 != 0),
            (Instruction::Clflushopt, extended & 1 << 23 != 0),
            (Instruction::Clflush, has_clflush),
        ];
        known
            .into_iter()
            .filter(|(_, is_there)| *is_there)
            .map(|(instruction, _)| Self(instruction))
            .collect()
    }

    #[cfg(any(miri, shuttle, loom))]
    fn all() -> Vec<Self> {
        vec![Self(Instruction::None)]
    }

    #[cfg(not(any(target_arch = "x86_64", miri, shuttle, loom)))]
    fn all() -> Vec<Self> {
        Vec::new()
    }

    /// Begins to write back every line that holds one of `words`; [`CacheLines::fence`] waits for it. The stores before it in
    /// program order are covered, the stores after it are not.
    ///
    /// Cost: an instruction a line.
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    #[inline]
    pub fn write_back(self, words: &[AtomicU64]) {
        use std::arch::asm;

        let bytes = words.as_ptr_range();
        let mut line = bytes.start.cast::<u8>().map_addr(|address| address & !(LINE_BYTES - 1));
        while line < bytes.end.cast() {
            match self.0 {
                // SAFETY: the instruction was found in CPUID. It takes the address of any byte of a line and changes no
                // value in memory, no register and no flag. The line holds a word of the slice, so it is mapped. Not
                // `nomem`: the compiler keeps all stores before it in their places.
                // Benefit: there is no other way to make a store durable, but a system call a page.
                Instruction::Clwb => unsafe {
                    asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags));
                },
                // SAFETY: as of `clwb`.
                // Benefit: processors that lack that one.
                Instruction::Clflushopt => unsafe {
                    asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                },
                // SAFETY: as of `clwb`.
                // Benefit: processors that lack both.
                Instruction::Clflush => unsafe {
                    asm!("clflush [{}]", in(reg) line, options(nostack, preserves_flags));
                },
            }
            line = line.wrapping_add(LINE_BYTES);
        }
    }

    /// As on a processor, without an instruction.
    #[cfg(any(miri, shuttle, loom))]
    #[inline]
    pub fn write_back(self, _words: &[AtomicU64]) {}

    /// As on a processor; no value of this type is there to call it.
    #[cfg(not(any(target_arch = "x86_64", miri, shuttle, loom)))]
    #[inline]
    pub fn write_back(self, _words: &[AtomicU64]) {
        match self.0 {}
    }

    /// Waits until every line that this thread wrote back before is in the persistent domain.
    ///
    /// Cost: some hundred nanoseconds on persistent memory; in DRAM, those of the write-backs that are under way.
    #[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
    #[inline]
    pub fn fence(self) {
        // SAFETY: every x86-64 processor has the instruction. It touches neither memory nor registers nor flags; not
        // `nomem`, so that the compiler keeps stores on their side of it.
        // Benefit: as of `write_back`.
        unsafe { std::arch::asm!("sfence", options(nostack, preserves_flags)) }
    }

    /// As on a processor, without an instruction.
    #[cfg(any(miri, shuttle, loom))]
    #[inline]
    pub fn fence(self) {}

    /// As on a processor; no value of this type is there to call it.
    #[cfg(not(any(target_arch = "x86_64", miri, shuttle, loom)))]
    #[inline]
    pub fn fence(self) {
        match self.0 {}
    }
}

#[cfg(all(target_arch = "x86_64", not(any(miri, shuttle, loom))))]
#[allow(unused_unsafe, reason = "CPUID is safe from Rust 1.94 on, and the oldest that we promise is 1.89")]
fn cpuid(leaf: u32) -> std::arch::x86_64::CpuidResult {
    // SAFETY: every x86-64 processor has the instruction, and answers leaves that it doesn't have with other numbers;
    // callers ask for leaf 7 only where leaf 0 says that it is there.
    // Benefit: the standard library detects none of the three instructions.
    unsafe { std::arch::x86_64::__cpuid_count(leaf, 0) }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::sync::atomic::Ordering;

    #[test]
    fn words_are_as_they_were_stored_after_every_instruction_of_this_processor() {
        let words: Vec<AtomicU64> = (0..100).map(AtomicU64::new).collect();
        let all = CacheLines::all();
        assert_eq!(CacheLines::of_processor().ok(), all.first().copied());
        // What they begin with, and a thousand for each word of each range.
        let mut expected = (0..100).sum::<u64>() + 104 * 1000;
        for lines in all {
            // From and to any word of a line, and nothing at all.
            for range in [0..100, 3..4, 7..9, 5..5, 99..100] {
                words[range.clone()].iter().for_each(|word| {
                    word.fetch_add(1000, Ordering::Relaxed);
                });
                lines.write_back(&words[range]);
                lines.fence();
            }
            let sum: u64 = words.iter().map(|word| word.swap(0, Ordering::Relaxed)).sum();
            assert_eq!(sum, expected, "{lines:?}");
            expected = 104 * 1000;
        }
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    #[test]
    fn the_instructions_are_those_that_the_system_found() {
        let Ok(processors) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let Some(flags) = processors.lines().find(|line| line.starts_with("flags")) else { return };
        let names = [
            (Instruction::Clwb, "clwb"),
            (Instruction::Clflushopt, "clflushopt"),
            (Instruction::Clflush, "clflush"),
        ];
        let expected: Vec<CacheLines> = names
            .into_iter()
            .filter(|(_, name)| flags.split_whitespace().any(|flag| flag == *name))
            .map(|(instruction, _)| CacheLines(instruction))
            .collect();
        assert_eq!(CacheLines::all(), expected);
    }
}
