//! Machine: the computer that a figure was measured on.

use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::num::NonZero;
use std::thread;

/// A machine at one moment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Machine {
    /// Cores that this program may use.
    pub cores: usize,
    /// The processor's name.
    pub processor: Option<String>,
    /// Programs that wanted a core in the last minute, on average, before anything was measured.
    pub load: Option<f64>,
    /// The program's version.
    pub version: &'static str,
    /// Whether the compiler optimised the program.
    pub optimised: bool,
}

impl Machine {
    /// This one, now.
    #[must_use]
    pub fn now() -> Self {
        let field = |text: String| {
            let line = text
                .lines()
                .find(|line| line.starts_with("model name"))?
                .split_once(':')?
                .1
                .trim()
                .to_owned();
            Some(line)
        };
        Self {
            cores: thread::available_parallelism().map_or(1, NonZero::get),
            processor: fs::read_to_string("/proc/cpuinfo").ok().and_then(field),
            load: fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|text| text.split(' ').next()?.parse().ok()),
            version: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
        }
    }

    /// What would make every figure lie on this machine, now.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.optimised {
            warnings.push("this program was built with debug assertions: build it with --release".to_owned());
        }
        if let Some(load) = self.load.filter(|load| *load > 0.3 * self.cores as f64) {
            warnings.push(format!(
                "other programs are busy (load {load:.1} on {} cores): figures are too low, and vary",
                self.cores
            ));
        }
        warnings
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processor = self.processor.as_deref().unwrap_or("unknown processor");
        writeln!(f, "Evergraph {} on {} cores of {processor}\n", self.version, self.cores)
    }
}

/// Bytes of memory that this process has, as the system counts; `None` where it doesn't tell.
///
/// # Errors
/// `io` for a text that the system should not give.
pub fn resident_bytes() -> Result<Option<u64>> {
    let Ok(text) = fs::read_to_string("/proc/self/status") else { return Ok(None) };
    resident_in(&text).map(Some)
}

fn resident_in(status: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .ok_or_else(|| Error::new(ErrorKind::Io, "/proc/self/status has no line like `VmRSS: 123 kB`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_its_line() {
        assert_eq!(resident_in("Name:\tx\nVmRSS:\t  2048 kB\nVmData: 1 kB\n").unwrap(), 2 << 20);
        assert_eq!(resident_in("VmRSS: lots\n").unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn a_busy_machine_and_a_slow_build_are_told() {
        let quiet = Machine { cores: 2, processor: None, load: Some(0.1), version: "1", optimised: true };
        assert_eq!(quiet.warnings(), Vec::<String>::new());
        let busy = Machine { load: Some(6.25), optimised: false, ..quiet };
        assert_eq!(busy.warnings().len(), 2);
        assert!(busy.warnings()[1].contains("load 6.2 on 2 cores"));
    }
}
