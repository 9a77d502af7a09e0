//! Catcher: a test that is to fail, and what it says then.

use crate::harness::file_name;

/// A test, and the words of the assertion that is meant to fail.
#[derive(Clone, Copy)]
pub struct Catcher {
    /// The file or folder of `tests` in storage, an engine, the packed graph, the engines, the server, the client, the replica or the program; behind the folder of its crate, if
    /// two crates have one of this name.
    pub tests: &'static str,
    /// The test's name in it.
    pub name: &'static str,
    /// The history that the simulation is to play, if it is the simulation.
    pub seed: Option<u64>,
    /// Any of these stands in the output.
    pub says: &'static [&'static str],
}

impl Catcher {
    /// The `cfg` that it is built with, which names a folder in the target directory as well.
    pub fn cfg(&self) -> Option<&'static str> {
        match file_name(self.tests) {
            "weak_orders" => Some("loom"),
            schedules if schedules.starts_with("schedules_") => Some("shuttle"),
            _ => None,
        }
    }

    /// The test, for a line.
    pub fn title(&self) -> String {
        match self.seed {
            Some(seed) => format!("{} {}, history {seed}", self.tests, self.name),
            None => format!("{} {}", self.tests, self.name),
        }
    }

    fn key(&self) -> (&'static str, &'static str, Option<u64>) {
        (self.tests, self.name, self.seed)
    }
}

// By test: two bugs may have the same.
impl PartialEq for Catcher {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Catcher {}

impl PartialOrd for Catcher {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Catcher {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}
