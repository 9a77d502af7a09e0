//! Process: memory and bytes read of this process, and memory and processor time of others, as the system counts them.

use std::fs;

/// Of the times in proc(5): Linux has the same unit for programs on every machine that we run on.
const TICKS_PER_SECOND: f64 = 100.0;

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

/// Time that processors have worked for another process, in seconds, with that of its threads that have ended; 0 where the system
/// doesn't tell. It is counted in hundredths.
#[must_use]
pub fn processor_seconds(process: u32) -> f64 {
    ticks(&fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default()) / TICKS_PER_SECOND
}

/// Of a program and of the kernel for it: see proc(5), utime and stime.
fn ticks(stat: &str) -> f64 {
    // The name of the program stands in parentheses, and may have spaces and parentheses of its own.
    let behind_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    behind_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum()
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
    fn processor_time_is_found_behind_a_name_with_spaces_and_parentheses() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 250 50 1000 1000 20 0 1";
        assert_eq!(ticks(stat), 300.0);
        assert_eq!(ticks(""), 0.0);
    }

    #[test]
    fn a_process_that_computes_has_processor_time() {
        let own = std::process::id();
        let began = std::time::Instant::now();
        while processor_seconds(own) <= 0.0 && began.elapsed().as_secs() < 30 {
            std::hint::black_box((0..1_000_000_u64).sum::<u64>());
        }
        assert!(processor_seconds(own) > 0.0);
    }

    #[test]
    fn memory_that_is_written_raises_the_peak() {
        let peak = MemoryPeak::begin();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        drop(memory);
        assert!(peak.bytes() >= 32 << 20, "{} bytes", peak.bytes());
    }
}
