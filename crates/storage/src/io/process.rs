//! Process: whether one still exists, of which an id was left in a file.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Whether this machine has a process of this id now, as far as this process sees it: one in another container may be hidden.
#[must_use]
pub fn process_exists(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return false };
    process > 0 && kill(Pid::from_raw(process), None) != Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_exists_until_it_has_ended() {
        assert!(process_exists(std::process::id()) && process_exists(std::os::unix::process::parent_id()));
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        assert!(process_exists(ended.id()));
        ended.wait().unwrap();
        assert!(!process_exists(ended.id()) && !process_exists(0) && !process_exists(u32::MAX));
    }
}
