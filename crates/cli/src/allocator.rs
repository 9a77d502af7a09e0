//! Allocator: how the program's process gives large buffers back to the system.
//!
//! Source: mallopt(3), `M_MMAP_THRESHOLD`.

#![allow(unsafe_code, reason = "one call of mallopt: docs/decisions/0023")]

/// Allocations of at least this many bytes are mapped on their own, and given back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_FROM_BYTES: i32 = 1 << 20;

/// Fixes from which size glibc maps an allocation on its own; nothing with other allocators. Returns whether it took it.
///
/// Without it glibc raises that size to the largest buffer freed so far, at most 32 MiB. Later buffers come from the heap
/// of their thread, where freed ones leave holes that count against nobody's memory limit.
pub fn give_back_large_buffers() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: `mallopt` takes two numbers and touches nothing but the allocator's own settings, under its own lock; it
        // may be called at any time.
        let outcome = unsafe { nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, MAPPED_FROM_BYTES) };
        outcome == 1
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_takes_the_size() {
        assert!(give_back_large_buffers());
    }

    /// What the program relies on: buffers that came, grew and went leave nothing behind.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn freed_buffers_go_back_to_the_system() {
        assert!(give_back_large_buffers());
        let resident_bytes = || {
            let text = std::fs::read_to_string("/proc/self/statm").unwrap();
            text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
        };
        let before = resident_bytes();
        // glibc would take this size from now on from the heap. Something small lies on top of each buffer, and stays.
        let buffer = || std::hint::black_box(vec![1_u8; 30 << 20]);
        drop(buffer());
        let (large, small): (Vec<_>, Vec<_>) =
            (0..4).map(|_| (buffer(), std::hint::black_box(vec![1_u8; 4096]))).unzip();
        drop(large);
        // Tests beside this one take some of it.
        let held = resident_bytes().saturating_sub(before);
        assert!(held < 60 << 20, "{held} bytes are held for {} small buffers", small.len());
    }
}
