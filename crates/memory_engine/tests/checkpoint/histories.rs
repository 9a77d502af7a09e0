//! Random histories of commits, syncs, merges, checkpoints, power cuts and openings, against a model
//! that keeps every state: the real code under the histories that the protocol's model was tried on.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;

use crate::support::{Database, crash};
use crate::tested::{HISTORIES_SHARE, merge_one};

/// One step that goes on beside a checkpoint too.
fn work(database: &Database, random: &mut SplitMix64) {
    match random.next_u64() % 8 {
        0..5 => {
            let mutations = database.model().random_commit(random);
            let timestamp = database.append(&mutations).unwrap();
            if random.next_u64().is_multiple_of(2) {
                database.log.acknowledge(timestamp.0).unwrap();
            }
        }
        5 => database.log.wait_durable(database.published().0).unwrap(),
        6 => merge_one(&database.engine, random.next_u64()),
        _ => {
            let names = database.catalogue().labels().count();
            if names < 20 {
                database.name(&format!("label {names}"));
            }
        }
    }
}

/// What a history covered, so that a test that stopped testing is noticed.
#[derive(Debug, Default)]
struct Covered {
    checkpoints: u64,
    cancelled: u64,
    reused_bodies: u64,
    bases_beyond_c: u64,
    pruned: u64,
    lost_commits: u64,
}

fn run(seed: u64, durability: Durability, covered: &mut Covered) {
    let mut random = SplitMix64::new(seed);
    let mut directory = MemoryDirectory::new("db");
    let mut database = Database::open(Arc::new(directory.clone()), durability).unwrap();
    for _ in 0..1 + random.next_u64() % 4 {
        for _ in 0..random.next_u64() % 40 {
            if !random.next_u64().is_multiple_of(8) {
                work(&database, &mut random);
                continue;
            }
            let give_up = random.next_u64() % 40;
            let mut told = 0;
            let made = database.checkpoint_with(&mut |_| {
                (0..random.next_u64() % 4).for_each(|_| work(&database, &mut random));
                told += 1;
                if told == give_up { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            match made {
                Ok(made) => {
                    assert!(made.left_over.is_none());
                    covered.checkpoints += 1;
                    covered.reused_bodies += made.segments_count - made.bodies_written;
                    covered.bases_beyond_c += u64::from(made.need > made.covered_through);
                    covered.pruned += u64::from(made.log_bytes_freed > 0);
                }
                Err(CheckpointError::Cancelled) => covered.cancelled += 1,
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        assert_eq!(database.graph(), database.model(), "seed {seed}");
        let (durable, published) = (database.log.durable(), database.published());
        directory = crash(&directory, random.next_u64());
        let reopened = Database::open(Arc::new(directory.clone()), durability)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let found = reopened.published();
        assert!(found >= Timestamp(durable.min(published.0)), "seed {seed}: an acknowledged commit is lost");
        assert_eq!(reopened.model(), database.model_at(found), "seed {seed}, commit {found}");
        covered.lost_commits += published.0 - found.0;
        for (id, name) in reopened.catalogue().labels() {
            assert_eq!(database.catalogue().label(name), Some(id), "seed {seed}");
        }
        database = reopened;
    }
}

fn many(durability: Durability, seeds: std::ops::Range<u64>) -> Covered {
    let mut covered = Covered::default();
    seeds.for_each(|seed| run(seed, durability, &mut covered));
    covered
}

#[test]
fn every_history_recovers_to_one_of_its_states_without_syncs() {
    let share = HISTORIES_SHARE;
    let covered = many(Durability::None, 0..80 / share);
    assert!(covered.checkpoints > 150 / share && covered.cancelled > 5 / share, "{covered:?}");
    assert!(covered.reused_bodies > 50 / share && covered.bases_beyond_c > 50 / share, "{covered:?}");
    assert!(covered.pruned > 5 / share && covered.lost_commits > 50 / share, "{covered:?}");
}

#[test]
fn every_history_recovers_to_one_of_its_states_in_mode_sync() {
    let share = HISTORIES_SHARE;
    let covered = many(Durability::Sync, 1000..1000 + 50 / share);
    assert!(covered.checkpoints > 75 / share && covered.reused_bodies > 15 / share, "{covered:?}");
}
