//! Process: memory and bytes read of this process, and memory of others, as the system counts them.

use std::fs;

/// The most memory that the process had since a moment, beyond what it had then.
#[derive(Clone, Copy, Debug)]
pub struct MemoryPeak {
    before_bytes: u64,
}

impl MemoryPeak {
    /// Begins now. Where the system doesn't let the peak be reset, that of before counts too.
    #[must_use]
    pub fn begin() -> Self {
        Self::forget();
        Self { before_bytes: status("VmRSS:") }
    }

    /// Forgets the peak up to now; what a later peak is compared with stays.
    pub fn forget() {
        // 5 sets the peak to what is there now: see proc(5), clear_refs.
        drop(fs::write("/proc/self/clear_refs", "5"));
    }

    /// The most that the process had since the peak was forgotten, in bytes; 0 where the system doesn't tell.
    #[must_use]
    pub fn of_process_bytes() -> u64 {
        status("VmHWM:")
    }

    /// The peak up to now, in bytes; 0 where the system doesn't tell.
    #[must_use]
    pub fn bytes(self) -> u64 {
        status("VmHWM:").saturating_sub(self.before_bytes)
    }
}

/// Memory of another process that is not swapped out, in bytes; 0 where the system doesn't tell.
#[must_use]
pub fn resident_bytes(process: u32) -> u64 {
    counted(&format!("/proc/{process}/status"), "VmRSS:")
}

/// Memory of the process that belongs to no file, in bytes; 0 where the system doesn't tell.
#[must_use]
pub fn own_memory_bytes() -> u64 {
    counted("/proc/self/smaps_rollup", "Anonymous:")
}

fn status(name: &str) -> u64 {
    counted("/proc/self/status", name)
}

fn counted(file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let kibibytes =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or(0_u64) * 1024
}

/// Bytes that disks gave to the process, what the system's cache held not counted; 0 where the system doesn't tell.
#[must_use]
pub fn bytes_read() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_raises_the_peak() {
        let peak = MemoryPeak::begin();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        drop(memory);
        assert!(peak.bytes() >= 32 << 20, "{} bytes", peak.bytes());
    }
}
