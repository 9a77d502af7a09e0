//! In sides with weights, sorted into temporary files: lists longer than every buffer, full and broken disks, and flags.

use crate::edges::{visited, visited_each};
use crate::history::{KEYS, TYPES, label_of};
use crate::hub::{graph, small_history};
use crate::naive_file::NaiveFile;
use evergraph_disk_engine::format::subject::EdgeSide;
use evergraph_disk_engine::spill::scratch::SpillFolder;
use evergraph_disk_engine::topology::disk_topology::DiskTopology;
use evergraph_disk_engine::tree_state::SourceHandle;
use evergraph_graph::budget::{Budget, Reservation, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit, Weight};
use evergraph_graph::value::Value;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::atomic::AtomicU64;
use std::sync::Arc;

/// Two groups.
const VERTICES: u32 = 8192;
/// Three edges of each vertex lead here: more than a reader holds.
const HUB: u32 = 300;

/// Refuses in lists in memory: edges are looked up, or sorted into files where there is a folder.
#[derive(Debug)]
pub struct NoHeldInLists;

impl Budget for NoHeldInLists {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        if purpose == "in lists with properties" {
            return Err(Error::new(ErrorKind::Limit, purpose));
        }
        Unlimited.reserve(purpose, bytes)
    }
}

fn edges() -> Vec<SourceHandle<NaiveFile>> {
    let vertices = (0..VERTICES).map(|vertex| Mutation::InsertVertex {
        vertex: VertexId(vertex),
        label: label_of(vertex),
        properties: Properties::EMPTY,
    });
    let edges = (0..VERTICES).flat_map(|source| {
        let to_hub = (0..3).map(move |discriminator| (source, HUB, discriminator));
        let others = (0..source % 4).map(move |at| (source, (source * 7 + at * 2048) % VERTICES, 5));
        to_hub.chain(others)
    });
    let edges = edges.map(|(source, target, discriminator)| {
        let (source, target) = (VertexId(source), VertexId(target));
        let weight = f64::from(source.0) + f64::from(discriminator) / 8.0;
        let properties = vec![(KEYS[0], Some(Value::F64(weight)))];
        let properties = if source.0 % 5 == 0 { Properties::EMPTY } else { Properties::new(properties) };
        Mutation::InsertEdge {
            edge: EdgeId { source, edge_type: TYPES[0], target, discriminator },
            properties,
        }
    });
    vec![graph(&[(1, vertices.collect()), (2, edges.collect())])]
}

fn freeze(
    projection: &Projection,
    budget: &Arc<dyn Budget>,
    directory: &Arc<dyn Directory>,
    cancel: &CancelFlag,
) -> Result<DiskTopology<NaiveFile>> {
    let history = small_history();
    let (groups, catalogue) = (history.groups(), history.catalogue());
    groups.add_edge_type(GroupId(1), EdgeSide::Out, TYPES[0]);
    let request = FreezeRequest { catalogue: &catalogue, projection, budget, cancel };
    let folder = SpillFolder::new(directory, &Arc::new(AtomicU64::new(1)));
    DiskTopology::freeze(edges(), Timestamp(2), &groups, &request, Some(&folder))
}

fn weighted(direction: Direction) -> Projection {
    Projection { weight: Some(Weight { key: KEYS[0], missing: Some(0.5) }), ..Projection::all(direction) }
}

fn degrees(topology: &impl Topology, direction: Direction) -> Vec<u32> {
    let mut degrees = vec![0; topology.bound() as usize];
    topology.degrees(direction, 0..topology.bound(), &mut degrees).unwrap();
    degrees
}

#[test]
fn lists_in_files_are_those_in_memory_and_their_files_have_no_name() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("spill"));
    let [held, spilled]: [Arc<dyn Budget>; 2] = [Arc::new(Unlimited), Arc::new(NoHeldInLists)];
    for direction in [Direction::In, Direction::Both] {
        let projection = weighted(direction);
        let [held, spilled] = [&held, &spilled]
            .map(|budget| freeze(&projection, budget, &directory, &CancelFlag::default()).unwrap());
        assert!(directory.list().unwrap().is_empty());
        assert_eq!(spilled.edge_count(), held.edge_count());
        assert_eq!(degrees(&spilled, direction), degrees(&held, direction));
        let bound = held.bound();
        for ranges in [vec![0..bound], vec![0..5, 5..HUB, HUB..HUB + 1, HUB + 1..4100, 4100..bound]] {
            let want = visited(&held, direction, &ranges).unwrap();
            assert!(want[&HUB].len() >= 3 * VERTICES as usize);
            assert_eq!(visited(&spilled, direction, &ranges).unwrap(), want);
        }
        for (all, step) in [(250..350, 1), (0..VERTICES, 16), (0..VERTICES + 1, 700)] {
            let some: Vec<u32> = all.step_by(step).collect();
            let want = visited_each(&held, direction, &some).unwrap();
            assert_eq!(visited_each(&spilled, direction, &some).unwrap(), want);
        }
        let first_pieces = |topology: &DiskTopology<NaiveFile>, visit| {
            let mut vertices = Vec::new();
            let visitor = |vertex, _: evergraph_graph::topology::Piece<'_>| {
                vertices.push(vertex);
                if vertex == HUB + 2 { Visit::Stop } else { visit }
            };
            topology.visit(direction, 0..bound, &mut PieceBuffer::default(), visitor).unwrap();
            vertices
        };
        let next = Visit::NextVertex;
        assert_eq!(first_pieces(&spilled, next), first_pieces(&held, next));
    }
}

/// Refuses in lists in memory, and more than a MiB to sort them in.
#[derive(Debug)]
struct NoSort;

impl Budget for NoSort {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        if purpose.starts_with("sorting in lists") && bytes > 1 << 20 {
            return Err(Error::new(ErrorKind::Limit, format!("{bytes} for {purpose}")));
        }
        NoHeldInLists.reserve(purpose, bytes)
    }
}

#[test]
fn memory_is_reserved_while_it_is_held_and_a_refusal_names_it() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("spill"));
    let budget: Arc<dyn Budget> = Arc::new(NoSort);
    let error = freeze(&weighted(Direction::In), &budget, &directory, &CancelFlag::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("4194304 for sorting in lists with properties"), "{error}");
    // Lists in memory fit, and are taken.
    let memory = MemoryBudget::new(64 << 20);
    let budget: Arc<dyn Budget> = Arc::new(memory.clone());
    let topology = freeze(&weighted(Direction::In), &budget, &directory, &CancelFlag::default()).unwrap();
    assert!(memory.reservations().iter().any(|(purpose, _)| &**purpose == "in lists with properties"));
    drop(topology);
    assert_eq!(memory.used_bytes(), 0);
}

#[test]
fn a_full_disk_a_broken_one_and_a_set_flag_end_a_freeze_and_leave_nothing() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("spill")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let budget: Arc<dyn Budget> = Arc::new(NoHeldInLists);
    let projection = weighted(Direction::Both);
    let kinds =
        [(std::io::ErrorKind::StorageFull, ErrorKind::Limit), (std::io::ErrorKind::Other, ErrorKind::Io)];
    for (system, kind) in kinds {
        for operation in [Operation::Create, Operation::Write] {
            failing.plan(Fault::new(operation, "", system));
            let error = freeze(&projection, &budget, &directory, &CancelFlag::default()).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("spill"), "{error}");
            assert!(directory.list().unwrap().is_empty());
        }
    }
    let cancel = CancelFlag::default();
    cancel.cancel();
    let error = freeze(&projection, &budget, &directory, &cancel).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let topology = freeze(&projection, &budget, &directory, &CancelFlag::default()).unwrap();
    failing.plan(Fault::new(Operation::Read, "", std::io::ErrorKind::Other));
    let error = visited(&topology, Direction::In, &[0..topology.bound()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(visited(&topology, Direction::In, &[0..topology.bound()]).is_ok());
    failing.plan(Fault::new(Operation::Read, "", std::io::ErrorKind::Other));
    assert!(visited(&topology, Direction::Both, &[0..topology.bound()]).is_err());
}
