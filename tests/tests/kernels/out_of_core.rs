//! Kernels out of core: the answers of lists in memory, by passes over the files and by temporary ones.

use crate::stores::{self, Same, any_changes, dense_changes, fixed_changes, lists};
use evergraph_algorithms::control::{Control, Progress};
use evergraph_algorithms::kcore::{KCore, kcore};
use evergraph_algorithms::lcc::{Lcc, LccParameters, lcc};
use evergraph_algorithms::triangles::{Triangles, triangles};
use evergraph_analysis::lists::Lists;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::{Direction, LabelId};
use evergraph_graph::topology::Projection;
use evergraph_graph::value::Value;
use evergraph_graph::view::Freeze as _;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Refuses lists of edges, and counts the rest.
struct NoLists(MemoryBudget);

impl NoLists {
    fn new() -> Self {
        Self(MemoryBudget::new(4 << 20))
    }
}

impl Budget for NoLists {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        if purpose == "sorted undirected lists" {
            return Err(Error::new(ErrorKind::Limit, format!("{bytes} for {purpose}")));
        }
        self.0.reserve(purpose, bytes)
    }
}

type Answers = (KCore, Triangles, [Lcc; 2]);

fn answers(lists: &Lists, control: &Control<'_>) -> Result<Answers> {
    let coefficients = |directed| lcc(lists, &LccParameters { directed }, control);
    Ok((kcore(lists, control)?, triangles(lists, control)?, [coefficients(true)?, coefficients(false)?]))
}

fn projections(same: &Same) -> Vec<Projection> {
    let condition = Condition::Compare(Comparison::GreaterOrEqual, Value::F64(1.0));
    let all = Projection::all(Direction::Both);
    vec![
        all.clone(),
        Projection { labels: Some(vec![LabelId(0)]), ..all.clone() },
        Projection { edges: vec![Filter { key: same.weight, condition }], ..all },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn kernels_answer_out_of_core_as_in_memory(changes in any_changes()) {
        let same = Same::new(&changes);
        let names = same.directory.list().unwrap();
        for projection in projections(&same) {
            let (memory, disk) = (same.memory.store().snapshot(), same.disk.store().snapshot());
            let expected = answers(&lists(memory.freeze(&projection).unwrap()), &Control::default()).unwrap();
            let lists = lists(disk.freeze(&projection).unwrap());
            let (budget, phases) = (NoLists::new(), Mutex::new(BTreeSet::new()));
            let watch = |progress: Progress| {
                phases.lock().insert(progress.phase);
            };
            let found = answers(&lists, &Control::new(&budget).with_progress(&watch)).unwrap();
            prop_assert_eq!(found, expected);
            let phases = phases.lock().clone();
            for kernel in ["kcore", "triangles", "lcc"] {
                let chosen = format!("{kernel}, out of core");
                prop_assert!(phases.iter().any(|phase| phase.starts_with(&chosen)), "{:?}", phases);
            }
            prop_assert_eq!(budget.0.used_bytes(), 0);
        }
        prop_assert_eq!(same.directory.list().unwrap(), names);
    }
}

#[test]
fn the_memory_engine_has_no_scratch_and_says_what_it_lacks() {
    let same = Same::new(&fixed_changes());
    let snapshot = same.memory.store().snapshot();
    let lists = lists(snapshot.freeze(&Projection::all(Direction::Both)).unwrap());
    let budget = NoLists::new();
    let control = Control::new(&budget);
    assert!(kcore(&lists, &control).is_ok());
    let refused = [
        triangles(&lists, &control).unwrap_err(),
        lcc(&lists, &LccParameters::default(), &control).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("sorted undirected lists"), "{error}");
    }
}

#[test]
fn a_full_disk_a_broken_one_and_a_flag_end_a_kernel_and_leave_nothing() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("some/folder")));
    let open = stores::open_in(EngineKind::Disk, Arc::new(failing.clone())).unwrap();
    stores::write(&open, &dense_changes(), &mut |_| {});
    let snapshot = open.store().snapshot();
    let lists = lists(snapshot.freeze(&Projection::all(Direction::Both)).unwrap());
    let (names, budget) = (failing.list().unwrap(), NoLists::new());
    let expected = triangles(&lists, &Control::default()).unwrap();
    assert_eq!(expected.total(), 20 * 19 * 18 / 6);
    let kinds =
        [(std::io::ErrorKind::StorageFull, ErrorKind::Limit), (std::io::ErrorKind::Other, ErrorKind::Io)];
    for (system, kind) in kinds {
        for operation in [Operation::Create, Operation::Write, Operation::Read] {
            failing.plan(Fault::new(operation, "csr-", system).lasting());
            let error = triangles(&lists, &Control::new(&budget)).unwrap_err();
            failing.heal();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("some/folder"), "{error}");
        }
    }
    for phase in ["triangles, out of core: lists", "triangles, out of core: counts"] {
        let flag = CancelFlag::default();
        let watch = |progress: Progress| {
            if progress.phase == phase {
                flag.cancel();
            }
        };
        let control = Control::new(&budget).with_cancel(&flag).with_progress(&watch);
        assert_eq!(triangles(&lists, &control).unwrap_err().kind(), ErrorKind::Cancelled);
    }
    assert_eq!(budget.0.used_bytes(), 0);
    assert_eq!(triangles(&lists, &Control::new(&budget)).unwrap(), expected);
    assert_eq!(failing.list().unwrap(), names);
}
