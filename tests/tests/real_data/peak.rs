//! Peak: a test that runs again in a process of its own, whose memory is measured.
//!
//! ```text
//! test        runs itself alone in a child process, where no other test takes memory
//! child       what it holds itself ──> peak forgotten ──> database opened, imported, analysed ──> peak read
//! ```

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// What the disk engine gets: the least that it takes.
pub const LIMIT_BYTES: u64 = 64 << 20;
/// Set in the child process, to the name of its test.
const ALONE: &str = "EVERGRAPH_TEST_ALONE";

/// Runs `body` in a process of its own, as the test `name`.
pub fn alone(name: &str, body: impl FnOnce()) {
    if std::env::var(ALONE).is_ok_and(|test| test == name) {
        return body();
    }
    run_again(name, ALONE, name);
}

/// Runs the test `name` in a process of its own, in whose environment `variable` is set.
pub fn run_again(name: &str, variable: &str, value: impl AsRef<OsStr>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--include-ignored"]).env(variable, value);
    let ran = command.stdin(Stdio::null()).output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    print!("{out}");
    assert!(ran.status.success() && out.contains("1 passed"), "{name} alone: {}\n{error}", ran.status);
}

/// The process' memory from a moment on.
pub struct PeakMemory {
    /// What was held then.
    before: u64,
}

impl PeakMemory {
    /// From now on; `None` where the system neither tells nor forgets a peak.
    pub fn begin() -> Option<Self> {
        std::fs::write("/proc/self/clear_refs", "5").ok()?;
        Some(Self { before: bytes_of("VmRSS:")? })
    }

    /// Asserts that no more came than the limit, a tenth of it and 64 MiB, the database's and the caller's together.
    pub fn assert_within_limit(&self) {
        let peak = bytes_of("VmHWM:").expect("it told before");
        let more = peak.saturating_sub(self.before);
        println!("{} MiB before, at most {} MiB more", self.before >> 20, more >> 20);
        assert!(more <= LIMIT_BYTES + LIMIT_BYTES / 10 + (64 << 20), "{more} bytes beside {}", self.before);
    }
}

fn bytes_of(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
