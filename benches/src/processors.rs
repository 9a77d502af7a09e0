//! Processors: which of them threads and processes may run on, by the program `taskset`.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs;
use std::process::{Command, Stdio};

/// Two processors of this process, for two sides that must not take each other's time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessorPair {
    /// One for each side.
    pub sides: [u32; 2],
    /// What was allowed before, as `taskset` reads it.
    all: String,
}

impl ProcessorPair {
    /// The first two processors that this process may use.
    ///
    /// # Errors
    /// `not_found` if there is only one, or no `taskset` here.
    pub fn find() -> Result<Self> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let all = line.unwrap_or_default().trim().to_owned();
        let [Some(one), Some(other)] = [0, 1].map(|index| processors(&all).get(index).copied()) else {
            return Err(Error::new(ErrorKind::NotFound, "there are no two processors to keep apart"));
        };
        let found = Command::new("taskset").arg("--version").stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            let text = "taskset is not here, which says who runs on which processor: on Debian `apt install util-linux`";
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        Ok(Self { sides: [one, other], all })
    }

    /// Keeps all threads of the process `process` on a side.
    ///
    /// # Errors
    /// `io` if the system refuses.
    pub fn keep_process(&self, process: u32, side: usize) -> Result<()> {
        taskset(&["-a"], &self.sides[side].to_string(), process)
    }

    /// Keeps the thread that calls, and those that it starts, on a side.
    ///
    /// # Errors
    /// `io` if the system refuses.
    pub fn keep_this_thread(&self, side: usize) -> Result<()> {
        let link = fs::read_link("/proc/thread-self").ok();
        let thread = link.and_then(|link| link.file_name()?.to_str()?.parse().ok());
        let thread = thread.ok_or_else(|| Error::new(ErrorKind::Io, "find this thread's number in /proc"))?;
        taskset(&[], &self.sides[side].to_string(), thread)
    }

    /// Lets all threads of the process `process` run wherever they might before.
    ///
    /// # Errors
    /// `io` if the system refuses.
    pub fn release(&self, process: u32) -> Result<()> {
        taskset(&["-a"], &self.all, process)
    }
}

fn taskset(options: &[&str], processors: &str, task: u32) -> Result<()> {
    let mut command = Command::new("taskset");
    command.args(options).args(["-p", "-c", processors, &task.to_string()]);
    let output = command.output();
    let failed = |why: String| {
        let text = format!("keep the task {task} on the processors {processors}: {why}");
        Error::new(ErrorKind::Io, text)
    };
    let output = output.map_err(|error| failed(error.to_string()))?;
    // One that has ended meanwhile needs no place.
    if output.status.success() || !fs::exists(format!("/proc/{task}")).unwrap_or(true) {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// The numbers of a list such as `0-2,5`.
fn processors(list: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The process `parent` and those that it started.
#[must_use]
pub fn family(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        line.and_then(|line| line.trim().parse().ok()) == Some(parent)
    };
    std::iter::once(parent).chain(processes.filter(is_child)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_is_numbers_and_ranges() {
        assert_eq!(processors("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(processors("7"), [7]);
        assert!(processors("").is_empty());
    }

    #[test]
    fn a_family_has_the_processes_that_one_started() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let found = family(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains(&child.id()) && found[0] == std::process::id(), "{found:?}");
    }
}
