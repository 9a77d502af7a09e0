//! A copy of a replica's database, in whose folder no replica ran, such as a backup.

use crate::graph::position;
use crate::scenario::{Faults, Scenario, follow};
use evergraph::{Database, ErrorKind};
use evergraph_replica::follow::detach::{ReplicaCopy, abandon, detach, is_copy};
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::replica_source::ReplicaSource as _;
use std::ops::ControlFlow;
use std::time::Duration;

const WAIT_MAX: Duration = Duration::from_secs(60);

#[test]
fn a_copy_without_the_files_of_a_replica_leaves_the_source_alone() {
    let scenario = Scenario::new(&mut 2, 3, Faults::None);
    let folder = tempfile::tempdir().unwrap();
    let (original, backup) = (folder.path().join("shop.eg"), folder.path().join("backup.eg"));
    let database = Database::open(&original).unwrap();
    let replica = follow(&database, Box::new(scenario.source.clone())).unwrap();
    assert!(replica.wait(scenario.end(), WAIT_MAX).unwrap());
    replica.stop().unwrap();
    database.backup(&backup, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(!is_copy(&database).unwrap());
    let copy = Database::open(&backup).unwrap();
    assert!(is_copy(&copy).unwrap());
    let known = ReplicaCopy::of(&copy).unwrap().unwrap();
    let here = position(&database.snapshot()).unwrap().end;
    assert_eq!((known.slot.as_str(), known.position), ("shop", here));
    assert_eq!(ReplicaCopy::of(&database).unwrap(), None);
    let mut source = scenario.source.clone();
    let refused = detach(&copy, Some(&mut source)).unwrap_err();
    assert!(
        refused.kind() == ErrorKind::Invalid && refused.to_string().contains("--forget-source"),
        "{refused}"
    );
    let refused = abandon(&copy, &mut source).unwrap_err();
    assert!(refused.to_string().contains("this is a copy of a replica"), "{refused}");
    assert!(source.slot_state("shop").unwrap().is_some());
    assert_eq!(source.catalogue().unwrap().publications.len(), 1);
    let forgotten = detach(&copy, None).unwrap();
    assert_eq!((forgotten.dropped.len(), forgotten.left.len()), (0, 2));
    assert!(
        forgotten.left.iter().all(|left| left.remedy.starts_with("if no other database follows by it: ")),
        "{forgotten:?}"
    );
    assert!(!is_copy(&copy).unwrap());
    copy.transact(|transaction| transaction.add_vertex("Mine", &[])).unwrap();
    // The original follows on.
    let replica = follow(&database, Box::new(scenario.source.clone())).unwrap();
    assert!(replica.wait(scenario.end(), WAIT_MAX).unwrap());
    replica.stop().unwrap();
}
