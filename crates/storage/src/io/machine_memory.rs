//! Machine memory: how much memory this machine has for one process, to choose limits where none is given.
//!
//! The least of what the machine has, what the process's control group may have, and what its address
//! space may grow to. Where the system doesn't tell, as outside Linux, it is 4 GiB.

use std::fs;
use std::path::Path;

/// What is assumed where the system doesn't tell.
const ASSUMED_BYTES: u64 = 4 << 30;

/// Bytes that this process can have.
#[must_use]
pub fn available_bytes() -> u64 {
    let read = |path: &str| fs::read_to_string(Path::new(path)).unwrap_or_default();
    let control_group = read("/sys/fs/cgroup/memory.max");
    let limits = [
        machine_bytes(&read("/proc/meminfo")),
        control_group.trim().parse().ok(),
        address_space_bytes(&read("/proc/self/limits")),
    ];
    limits.into_iter().flatten().min().unwrap_or(ASSUMED_BYTES)
}

/// The line `MemTotal:       24689764 kB`.
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The soft limit in the line `Max address space         unlimited            unlimited            bytes`.
fn address_space_bytes(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_linux_writes_them() {
        assert_eq!(machine_bytes("MemTotal:       24689764 kB\nMemFree: 1 kB\n"), Some(24_689_764 << 10));
        assert_eq!(machine_bytes("nothing"), None);
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max address space         2147483648           unlimited            bytes\n";
        assert_eq!(address_space_bytes(limits), Some(2 << 30));
        assert_eq!(address_space_bytes(&limits.replace("2147483648", "unlimited ")), None);
        assert!(available_bytes() > 1 << 20);
    }
}
