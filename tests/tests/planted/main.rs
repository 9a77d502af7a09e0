//! Planted bugs: runs the tests with one bug each, and demands that every bug makes its test fail.
//!
//! ```text
//! catchers   which test catches which bug, and what it says then; those of the packed array in `packed`, of the mapped engine
//!            in `mapped`, those of partitions in `partitions`, histories of the simulation in `simulated`
//! harness    builds the tests with the feature `planted`, runs one with a bug or without
//! ```
//!
//! First every test runs without a bug, and must pass; then with each bug it is there to catch, and must
//! fail with the words of the assertion that is meant. Seeds are fixed: a miss is never chance.
//!
//! `make planted-bugs` runs all. Arguments are parts of names of bugs, to run some; with `--quiet` only what
//! isn't as it should be gets a line; with `--tested` tests that `make test` runs are taken to pass without a bug, so that
//! only histories of the simulation are tried first.

mod catcher;
mod catchers;
mod disk;
mod harness;
mod mapped;
mod packed;
mod partitions;
mod simulated;
mod test_names;

use catcher::Catcher;
use catchers::catchers;
use evergraph_storage::planted::Bug;
use harness::{Built, Outcome, Run};
use simulated::{simulated, simulated_on_mapped};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The page with the table of bugs.
const TABLE: &str = include_str!("../../../docs/testing.md");
/// What a row says of a bug that a history of the mapped engine meets, and of one that a history of the memory engine does.
const ON_MAPPED: &str = "the simulation of the mapped engine";
const ON_MEMORY: &str = "the simulation";

fn main() -> ExitCode {
    let (options, names): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|it| it.starts_with('-'));
    if let Some(unknown) = options.iter().find(|option| !["--quiet", "--tested"].contains(&option.as_str())) {
        eprintln!("there is no option {unknown}, only --quiet and --tested");
        return ExitCode::FAILURE;
    }
    let has_option = |name: &str| options.iter().any(|option| option == name);
    for bug in Bug::ALL {
        let row = TABLE.lines().find(|line| line.starts_with(&format!("| `{}` |", bug.name())));
        let row = row.unwrap_or_else(|| panic!("docs/testing.md has no row for {}", bug.name()));
        let is_on_mapped = simulated_on_mapped(*bug).next().is_some();
        assert_eq!(row.contains(ON_MAPPED), is_on_mapped, "docs/testing.md, {}", bug.name());
        let is_on_memory = simulated(*bug).is_some();
        let rest = row.replace(ON_MAPPED, "");
        assert_eq!(rest.contains(ON_MEMORY), is_on_memory, "docs/testing.md, {}", bug.name());
    }
    let bugs = chosen(&names);
    if bugs.is_empty() {
        eprintln!("no planted bug has one of these in its name: {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    let caught_by = |bug: &Bug| catchers(*bug).map(|catcher| (*bug, catcher)).collect::<Vec<_>>();
    let pairs: Vec<(Bug, Catcher)> = bugs.iter().flat_map(caught_by).collect();
    let tests: BTreeSet<Catcher> = pairs.iter().map(|(_, catcher)| *catcher).collect();
    let tests: Vec<Catcher> = tests.into_iter().collect();
    let built = match Built::new(&tests) {
        Ok(built) => built,
        Err(problem) => {
            eprintln!("the tests with planted bugs were not built: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let tell = |is_well: bool, line: String, run: &Run| {
        if !is_well || !has_option("--quiet") {
            println!("  {line}");
        }
        run.explain(is_well);
        is_well
    };
    let is_tried = |catcher: &&Catcher| catcher.seed.is_some() || !has_option("--tested");
    let tried: Vec<Catcher> = tests.iter().filter(is_tried).copied().collect();
    println!("== without a bug, {} tests pass", tried.len());
    let sound_count = in_parallel(&tried, |catcher| {
        let run = built.run(catcher, None);
        let is_sound = run.outcome == Outcome::Passed;
        let verdict = run.verdict("passed", is_sound);
        tell(is_sound, format!("{verdict:<9} {:>6.1} s  {}", run.seconds, catcher.title()), &run)
    });
    println!("== with each of {} bugs, its tests fail", bugs.len());
    let caught_count = in_parallel(&pairs, |(bug, catcher)| {
        let run = built.run(catcher, Some(*bug));
        let is_caught = run.says(catcher.says);
        let (verdict, name, title) = (run.verdict("caught", is_caught), bug.name(), catcher.title());
        tell(is_caught, format!("{verdict:<9} {:>6.1} s  {name:<24} {title}", run.seconds), &run)
    });
    println!("{} bugs were caught in {caught_count} of {} ways.", bugs.len(), pairs.len());
    if (sound_count, caught_count) == (tried.len(), pairs.len()) {
        return ExitCode::SUCCESS;
    }
    println!("A test that misses its bug is what to mend: see tests/tests/planted/catchers.rs.");
    ExitCode::FAILURE
}

/// The bugs whose names have one of `parts`; all of them without parts.
fn chosen(parts: &[String]) -> Vec<Bug> {
    let is_chosen = |bug: &Bug| parts.is_empty() || parts.iter().any(|part| bug.name().contains(part));
    Bug::ALL.iter().copied().filter(is_chosen).collect()
}

/// Calls `body` with every item, as many at a time as there are cores; how often it said yes.
fn in_parallel<T: Sync>(items: &[T], body: impl Fn(&T) -> bool + Sync) -> usize {
    let (next, yes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    yes.fetch_add(usize::from(body(item)), Ordering::Relaxed);
                }
            });
        }
    });
    yes.into_inner()
}
