//! Open files: how many the process may have, and what to do when that is too few.

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fmt;
use std::io;
use std::ops::RangeInclusive;

/// As many as some systems grant, where they don't grant what they call their limit.
const FILES_MANY: u64 = 10_240;

/// Lets the process open as many files as the system allows it, instead of the fewer that it begins with: 1,024 on most
/// systems, which an engine with a file for each few megabytes of graph would exceed. The greatest number that is
/// allowed is not changed. What the system refuses is left as it is.
pub fn allow_many_files() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() && soft < FILES_MANY {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, FILES_MANY.min(hard), hard);
    }
}

/// Open files that an engine with many files keeps, by what the process may have: half of that, so that the log, copies and
/// whatever else the process does find room.
const HANDLES_BOUNDS: RangeInclusive<u64> = 64..=8192;

/// How many open files an engine keeps at most: a half of what the process may have, 64 to 8,192.
#[must_use]
pub fn handles_max() -> usize {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(FILES_MANY, |(soft, _)| soft);
    // At most 8,192.
    (soft / 2).clamp(*HANDLES_BOUNDS.start(), *HANDLES_BOUNDS.end()) as usize
}

/// Whether a file could not be opened because the process, or the machine, has as many open as it may.
#[must_use]
pub fn is_out_of_handles(error: &io::Error) -> bool {
    [Errno::EMFILE, Errno::ENFILE].iter().any(|errno| error.raw_os_error() == Some(*errno as i32))
}

/// What a user can do about an error of the system, to stand behind its text; nothing for most.
pub(super) struct Remedy<'a>(pub(super) &'a io::Error);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, limit) = match self.0.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EMFILE) => ("the process has as many files open as it may", 'n'),
            Some(Errno::EFBIG) => ("the process, or the file system, may not have files so large", 'f'),
            _ => return Ok(()),
        };
        write!(formatter, ": {what}; raise the limit, for instance with `ulimit -{limit}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::error::{IoError, Operation};

    #[test]
    fn as_many_files_may_be_open_as_the_system_allows() {
        allow_many_files();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert!(soft == hard || soft >= FILES_MANY, "{soft} of {hard}");
    }

    #[test]
    fn an_engine_keeps_at_most_half_of_what_may_be_open() {
        allow_many_files();
        let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert!((64..=8192).contains(&handles_max()) && (handles_max() as u64 <= soft / 2 || soft < 128));
        let error = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        assert!(is_out_of_handles(&error(Errno::EMFILE)) && !is_out_of_handles(&error(Errno::EIO)));
    }

    #[test]
    fn who_may_open_no_more_files_is_told_what_to_do() {
        let told = |errno: Errno| {
            let source = io::Error::from_raw_os_error(errno as i32);
            IoError::new(Operation::Open, "db/csr-1", source).to_string()
        };
        assert!(told(Errno::EMFILE).ends_with("raise the limit, for instance with `ulimit -n`"));
        assert!(told(Errno::EFBIG).ends_with("raise the limit, for instance with `ulimit -f`"));
        assert!(!told(Errno::EIO).contains("ulimit"));
    }
}
