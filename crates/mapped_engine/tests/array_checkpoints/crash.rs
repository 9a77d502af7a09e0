//! Power cuts and kills at any change of the disk: every acknowledged commit is there again, and nothing that never was.

use crate::naive::{Change, Graph, NaiveDatabase, apply, key, read_manifest, segment_ids};
use evergraph_graph::id::Direction;
use evergraph_mapped_engine::checkpoint::check::check_array_files;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::io::write_unit::WriteUnit;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;

pub fn changes(random: &mut SplitMix64) -> Vec<Change> {
    let count = 1 + random.next_u64() % 8;
    let mut changes: Vec<Change> = (0..count)
        .map(|_| {
            let id = segment_ids()[(random.next_u64() % 5) as usize];
            let is_in = matches!(id.type_and_side(), Some((_, Direction::In)));
            let length = if is_in { 0 } else { random.next_u64() % 200 };
            let value = (!random.next_u64().is_multiple_of(4))
                .then(|| vec![random.next_u64() as u8; length as usize]);
            Change { id, key: key(id, random.next_u64()), value }
        })
        .collect();
    // One change a key and commit.
    changes.sort_by_key(|change| (change.id, change.key));
    changes.dedup_by_key(|change| (change.id, change.key));
    changes
}

/// A database and every state that it was in, by the commit's number.
struct History {
    states: Vec<Graph>,
    acknowledged: u64,
}

impl History {
    fn live_through(&mut self, database: &NaiveDatabase, random: &mut SplitMix64) -> Result<(), String> {
        for _ in 0..60 {
            match random.next_u64() % 12 {
                0 => drop(database.checkpoint().map_err(|error| error.to_string())?),
                1 => database
                    .merge(segment_ids()[(random.next_u64() % 5) as usize])
                    .map_err(|error| error.to_string())?,
                2 => database.log.step_timer(),
                chosen => {
                    let changes = changes(random);
                    let mut state = self.states.last().cloned().unwrap_or_default();
                    apply(&mut state, &changes);
                    let timestamp = database.append(&changes).map_err(|error| error.to_string())?;
                    self.states.push(state);
                    if chosen > 5 {
                        database.log.acknowledge(timestamp.0).map_err(|error| error.to_string())?;
                        self.acknowledged = timestamp.0;
                    }
                }
            }
        }
        Ok(())
    }

    /// Compares what was found with what was committed.
    fn check(&mut self, database: &NaiveDatabase) -> Result<(), String> {
        let found = database.published().0;
        if found < self.acknowledged || found >= self.states.len() as u64 {
            return Err(format!(
                "commit {found} is found of {}, {} acknowledged",
                self.states.len() - 1,
                self.acknowledged
            ));
        }
        let graph = database.graph().map_err(|error| error.to_string())?;
        if graph != self.states[found as usize] {
            return Err(format!("the state at {found} is another one"));
        }
        self.states.truncate(found as usize + 1);
        Ok(())
    }
}

pub fn crash(directory: &MemoryDirectory, random: &mut SplitMix64) -> MemoryDirectory {
    let piece = directory.write_unit().bytes().min(512);
    directory.crash(|_| match random.next_u64() % 4 {
        0 | 1 => CrashOutcome::Kept,
        2 => CrashOutcome::Lost,
        _ => CrashOutcome::Torn((random.next_u64() % piece) as usize),
    })
}

fn every_crash(unit: WriteUnit, seeds: u64) {
    for seed in 0..seeds {
        let mut random = SplitMix64::new(seed);
        let mut directory = MemoryDirectory::new("db").with_unit(unit);
        let mut history = History { states: vec![Graph::new()], acknowledged: 0 };
        for life in 0..6 {
            let told = |error: String| -> ! { panic!("{unit:?}, seed {seed}, life {life}: {error}") };
            let failing = FailingDirectory::new(Arc::new(directory.clone()));
            // Now and then during recovery.
            if random.next_u64().is_multiple_of(4) {
                failing.plan(Fault::any_change(ErrorKind::Other).nth(1 + random.next_u64() % 4).lasting());
            }
            match NaiveDatabase::open(Arc::new(failing.clone())) {
                Ok(database) => {
                    history.check(&database).unwrap_or_else(|error| told(error));
                    failing.heal();
                    failing
                        .plan(Fault::any_change(ErrorKind::Other).nth(1 + random.next_u64() % 150).lasting());
                    // Ends when the disk stops, or before.
                    let _ = history.live_through(&database, &mut random);
                }
                Err(error) if failing.changes_count() == 0 => told(error.to_string()),
                Err(_) => {}
            }
            directory = match random.next_u64() % 8 {
                0 => directory,
                1 => directory.power_cut(),
                _ => crash(&directory, &mut random),
            };
        }
        let database = NaiveDatabase::open(Arc::new(directory.clone()));
        let database = database.unwrap_or_else(|error| panic!("{unit:?}, seed {seed}: {error}"));
        history.check(&database).unwrap_or_else(|error| panic!("{unit:?}, seed {seed}: {error}"));
        let mut report = Report::default();
        let manifest = read_manifest(&directory).unwrap();
        check_array_files(&directory, &manifest, |_, _, _| Ok(()), &mut report, &mut |_, _, _| {
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(report.is_healthy(), "{unit:?}, seed {seed}: {:?}", report.findings);
    }
}

#[test]
fn no_power_cut_loses_or_changes_an_acknowledged_commit() {
    every_crash(WriteUnit::PAGE, 300);
}

#[test]
fn nor_where_lines_are_the_unit() {
    every_crash(WriteUnit::LINE, 300);
}
