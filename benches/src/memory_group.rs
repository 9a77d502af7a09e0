//! Memory group: a control group of the system (v1 or v2) that bounds what a process takes, the system's cache included.
//!
//! ```text
//! v1   a group below ours                                   memory.limit_in_bytes, memory.memsw.limit_in_bytes
//! v2   a group below the nearest that gives memory away     memory.max, memory.swap.max
//! ```
//!
//! A page belongs to the group of the process that touched it first, so that what a process has before it joins is not
//! counted. Making a group takes the rights for it, as root has them, or whom a service manager gave a group.

use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of groups of this process. Relaxed: it publishes nothing but itself.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A group. It ends when it is dropped, if no process is in it.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    version: Version,
    limit_bytes: u64,
}

/// The system's two interfaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V1,
    V2,
}

impl MemoryGroup {
    /// A new, empty group of `limit_bytes`, swap included.
    ///
    /// # Errors
    /// `io` if the system has no such groups, or doesn't let this process make one: the text says which.
    pub fn make(limit_bytes: u64) -> Result<Self> {
        let (version, parent) = parent(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("evergraph-benches-{}-{number}", process::id()));
        fs::create_dir(&folder).map_err(|error| failed(&folder, &error))?;
        let group = Self { folder, version, limit_bytes };
        let limit = limit_bytes.to_string();
        match version {
            Version::V1 => {
                group.set("memory.limit_in_bytes", &limit)?;
                group.set_if_there("memory.memsw.limit_in_bytes", &limit)?;
            }
            Version::V2 => {
                group.set("memory.max", &limit)?;
                group.set_if_there("memory.swap.max", "0")?;
            }
        }
        Ok(group)
    }

    /// Where the system has it: what a process needs to join.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What its processes had at most, and whether the system ended one of them, as people read it.
    #[must_use]
    pub fn text(&self) -> String {
        let (peak, events) = match self.version {
            Version::V1 => ("memory.max_usage_in_bytes", "memory.oom_control"),
            Version::V2 => ("memory.peak", "memory.events"),
        };
        let number = |name: &str| fs::read_to_string(self.folder.join(name)).ok()?.trim().parse().ok();
        let peak: Option<u64> = number(peak);
        let peak = peak.map_or_else(|| "an unknown part".to_owned(), |bytes| ByteSize(bytes).to_string());
        let events = fs::read_to_string(self.folder.join(events)).unwrap_or_default();
        let killed = events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok());
        let killed = if killed.is_some_and(|times| times > 0) { "; it was not enough" } else { "" };
        format!("{peak} at most of {}{killed}", ByteSize(self.limit_bytes))
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, value).map_err(|error| failed(&path, &error))
    }

    /// What only a system with swap has.
    fn set_if_there(&self, name: &str, value: &str) -> Result<()> {
        if self.folder.join(name).exists() { self.set(name, value) } else { Ok(()) }
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // One that stays is empty, and harms nobody.
        drop(fs::remove_dir(&self.folder));
    }
}

/// Moves this process into the group at `folder`.
///
/// # Errors
/// `io`.
pub fn join(folder: &Path) -> Result<()> {
    let path = folder.join("cgroup.procs");
    fs::write(&path, process::id().to_string()).map_err(|error| failed(&path, &error))
}

/// Below which group new ones are made, by what the system says of this process and of what is mounted.
fn parent(groups: &str, mounts: &str) -> Result<(Version, PathBuf)> {
    // Lines `number:controllers:path`; version 2 has the number 0 and no controllers.
    let of_process = |is_it: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            is_it(controllers).then_some(path)
        })
    };
    if let Some(path) = of_process(&|controllers| controllers.split(',').any(|name| name == "memory")) {
        let mounted = mounted(mounts, |kind, options| {
            kind == "cgroup" && options.split(',').any(|option| option == "memory")
        });
        let (root, point) = mounted.ok_or_else(|| missing("the controller memory is not mounted"))?;
        return Ok((Version::V1, below(&root, &point, path)));
    }
    let path = of_process(&|controllers| controllers.is_empty());
    let mounted = mounted(mounts, |kind, _| kind == "cgroup2");
    let (path, (root, point)) = path.zip(mounted).ok_or_else(|| missing("this system has none"))?;
    let own = below(&root, &point, path);
    let gives_memory = |folder: &&Path| {
        let given = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        given.split_whitespace().any(|name| name == "memory")
    };
    let giving = own.ancestors().take_while(|folder| folder.starts_with(&point)).find(gives_memory);
    let none = || missing("no group above this process gives memory to others (cgroup.subtree_control)");
    Ok((Version::V2, giving.ok_or_else(none)?.to_owned()))
}

/// Root and mount point of the file system that is looked for, by its kind and its options.
fn mounted(mounts: &str, is_it: impl Fn(&str, &str) -> bool) -> Option<(PathBuf, PathBuf)> {
    mounts.lines().find_map(|line| {
        // See proc(5): fields of a number that differs, a hyphen, then kind, source and options.
        let (before, after) = line.split_once(" - ")?;
        let (before, mut after) = (before.split(' ').collect::<Vec<_>>(), after.split(' '));
        let (kind, options) = (after.next()?, after.nth(1)?);
        is_it(kind, options).then(|| (PathBuf::from(before[3]), PathBuf::from(before[4])))
    })
}

/// Where the group `path` is, of a hierarchy of which `root` is mounted at `point`.
fn below(root: &Path, point: &Path, path: &str) -> PathBuf {
    let path = Path::new(path);
    let inner = path.strip_prefix(root).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    let folder = point.join(inner);
    // A container may name groups that it doesn't see.
    if folder.exists() { folder } else { point.to_owned() }
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| failed(Path::new(path), &error))
}

fn missing(what: &str) -> Error {
    Error::new(ErrorKind::Io, format!("no control group for memory: {what}"))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("no control group for memory: {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_found_in_either_hierarchy() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        fs::create_dir_all(one.join("service")).unwrap();
        fs::create_dir_all(two.join("slice/unit")).unwrap();
        fs::write(two.join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        let mounts = format!(
            "31 23 0:27 /docker/ab {} rw,relatime shared:9 - cgroup cgroup rw,memory\n\
             25 23 0:22 / {} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
            one.display(),
            two.display()
        );
        let found = parent("5:cpu:/\n4:memory:/docker/ab/service\n0::/\n", &mounts).unwrap();
        assert_eq!(found, (Version::V1, one.join("service")));
        let found = parent("4:memory:/elsewhere\n", &mounts).unwrap();
        assert_eq!(found, (Version::V1, one), "a group that isn't seen");
        assert_eq!(parent("0::/slice/unit\n", &mounts).unwrap(), (Version::V2, two.clone()));
        fs::write(two.join("cgroup.subtree_control"), "cpu\n").unwrap();
        let refused = parent("0::/slice/unit\n", &mounts).unwrap_err();
        assert!(refused.to_string().contains("cgroup.subtree_control"), "{refused}");
        assert!(parent("0::/\n", "").unwrap_err().to_string().contains("has none"));
    }
}
