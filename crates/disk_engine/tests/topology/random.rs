//! Random histories in random sources, frozen as of any time, visited in every way.

use crate::edges::{Visited, check_counts, expected, visited, visited_each};
use crate::history::{Action, History, KEYS, TYPES};
use crate::in_sides::NoHeldInLists;
use crate::naive_file::NaiveFile;
use crate::stored_files::StoredFiles;
use evergraph_disk_engine::level::Level;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::spill::scratch::SpillFolder;
use evergraph_disk_engine::stored_file::KeyedFile;
use evergraph_disk_engine::topology::disk_topology::DiskTopology;
use evergraph_disk_engine::topology::edge_source::ScannedFile;
use evergraph_disk_engine::tree_state::SourceHandle;
use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::{Direction, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit, Weight};
use evergraph_graph::value::Value;
use evergraph_graph::vertex_set::VertexSet;
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::sync::atomic::AtomicU64;
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// How a stretch of a history is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    Unstamped,
    /// Without stamps, in files of at most so many records.
    Level(usize),
    Stamped,
    Graph,
}

fn any_vertex() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => 0_u32..24,
        1 => Just(4095_u32),
        2 => 4096_u32..4100,
        1 => Just(3 * 4096 + 7_u32),
        1 => Just(5 * 4096 - 1_u32),
    ]
}

fn any_action() -> impl Strategy<Value = Action> {
    let change = || proptest::option::weighted(0.7, proptest::option::weighted(0.8, 0..20));
    let discriminator = prop_oneof![4 => Just(0_u16), 1 => 0_u16..3];
    let edge = (any_vertex(), any_vertex(), 0_usize..2, discriminator);
    (0_u8..8, edge, change(), change()).prop_map(|(choice, edge, first, second)| Action {
        choice,
        source: edge.0,
        target: edge.1,
        edge_type: edge.2,
        discriminator: edge.3,
        properties: [first, second],
    })
}

fn any_history() -> impl Strategy<Value = History> {
    let commit = proptest::collection::vec(any_action(), 1..25);
    proptest::collection::vec(commit, 1..14).prop_map(|commits| History::new(&commits))
}

fn any_projection() -> impl Strategy<Value = Projection> {
    let labels = proptest::sample::subsequence([1_u16, 2, 4].map(LabelId).to_vec(), 0..=3);
    let types = proptest::sample::subsequence(TYPES.to_vec(), 0..=2);
    let weight = (0_usize..2, proptest::option::weighted(0.8, Just(1.5)))
        .prop_map(|(key, missing)| Weight { key: KEYS[key], missing });
    let vertices = (1_u32..5, 0_u32..5).prop_map(|(step, offset)| {
        let mut set = VertexSet::empty(4 * 4096);
        (0..set.bound()).filter(|vertex| vertex % step != offset).for_each(|vertex| {
            set.insert(vertex);
        });
        Arc::new(set)
    });
    let condition = prop_oneof![
        Just(Condition::Exists),
        (0_i64..20).prop_map(|least| Condition::Compare(Comparison::GreaterOrEqual, Value::I64(least))),
    ];
    let filter = (0_usize..2, condition).prop_map(|(key, condition)| Filter { key: KEYS[key], condition });
    let direction = prop_oneof![Just(Direction::Out), Just(Direction::In), Just(Direction::Both)];
    (
        proptest::option::weighted(0.4, labels),
        proptest::option::weighted(0.3, types),
        direction,
        proptest::option::of(weight),
        proptest::option::weighted(0.3, vertices),
        prop_oneof![2 => Just(Vec::new()), 1 => proptest::collection::vec(filter, 1..3)],
    )
        .prop_map(|(labels, types, direction, weight, vertices, edges)| Projection {
            labels,
            types,
            direction,
            weight,
            vertices,
            edges,
        })
}

fn graph(history: &History, range: Range<usize>) -> MemoryGraph {
    let graph = MemoryGraph::open(1 << 18, &Promises::new()).unwrap();
    for at in range {
        let commit = SortedCommit::new(&history.commits[at]).unwrap();
        let prepared = graph.prepare(commit, Vec::new()).unwrap();
        drop(graph.append(Timestamp(at as u64 + 1), prepared));
    }
    graph
}

/// The history in sources, the newest first, and the first time that can be read. `store` makes a file of some commits.
fn sources<F: KeyedFile>(
    history: &History,
    stretches: &[(usize, Kept)],
    mut store: impl FnMut(NaiveFile, Range<usize>) -> Option<F>,
) -> (Vec<SourceHandle<F>>, u64) {
    let (mut sources, mut start, mut first_time) = (Vec::new(), 0_usize, 0);
    let mut has_stamps = false;
    for (length, kept) in stretches.iter().copied().chain([(usize::MAX, Kept::Graph)]) {
        let end = history.commits.len().min(start.saturating_add(length));
        if start == end {
            break;
        }
        has_stamps |= !matches!(kept, Kept::Unstamped | Kept::Level(_));
        let commits = start..end;
        let file = match kept {
            Kept::Graph => None,
            // Stamps are lost from the oldest files on.
            Kept::Unstamped if !has_stamps => {
                first_time = end as u64;
                Some(NaiveFile::unstamped(history, commits.clone()))
            }
            Kept::Level(records) if !has_stamps => {
                first_time = end as u64;
                let pieces = NaiveFile::unstamped(history, commits.clone()).cut(records).into_iter();
                let files = pieces.filter_map(|piece| store(piece, commits.clone())).map(Arc::new);
                sources.push(SourceHandle::Level(Arc::new(Level::new(files.collect()).unwrap())));
                start = end;
                continue;
            }
            Kept::Unstamped | Kept::Level(_) | Kept::Stamped => {
                Some(NaiveFile::stamped(history, commits.clone()))
            }
        };
        sources.extend(match file {
            None => Some(SourceHandle::Graph(Arc::new(graph(history, commits)))),
            Some(file) => store(file, commits).map(|file| SourceHandle::File(Arc::new(file))),
        });
        start = end;
    }
    sources.reverse();
    (sources, first_time)
}

fn any_stretches() -> impl Strategy<Value = Vec<(usize, Kept)>> {
    let level = (1_usize..12).prop_map(Kept::Level);
    let kept = prop_oneof![Just(Kept::Unstamped), level, Just(Kept::Stamped), Just(Kept::Graph)];
    proptest::collection::vec((1_usize..5, kept), 0..6)
}

/// What is frozen and visited.
#[derive(Clone, Debug)]
struct Case {
    history: History,
    stretches: Vec<(usize, Kept)>,
    /// From the first time to the last and a bit beyond, 0 to 1.
    when: f64,
    projections: Vec<Projection>,
    cuts: Vec<u32>,
    step: usize,
}

fn any_case() -> impl Strategy<Value = Case> {
    let projections = proptest::collection::vec(any_projection(), 1..4);
    let cuts = proptest::collection::vec(any_vertex(), 0..6);
    (any_history(), any_stretches(), 0.0_f64..1.0, projections, cuts, 1_usize..9).prop_map(
        |(history, stretches, when, projections, cuts, step)| Case {
            history,
            stretches,
            when,
            projections,
            cuts,
            step,
        },
    )
}

fn check<F: ScannedFile + KeyedFile>(
    case: &Case,
    store: impl FnMut(NaiveFile, Range<usize>) -> Option<F>,
) -> Result<(), TestCaseError> {
    let Case { history, stretches, when, projections, cuts, step } = case;
    let (sources, first_time) = sources(history, stretches, store);
    let last_time = history.commits.len() as u64;
    let timestamp = first_time + ((last_time - first_time) as f64 * (when * 1.2).min(1.0)) as u64;
    let state = &history.states[timestamp as usize];
    let (groups, catalogue) = (history.groups(), history.catalogue());
    let budget: Arc<dyn Budget> = if step % 3 == 0 { Arc::new(Unlimited) } else { Arc::new(NoHeldInLists) };
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("spill"));
    let folder = SpillFolder::new(&directory, &Arc::new(AtomicU64::new(1)));
    let spill = (step % 3 == 1).then_some(&folder);
    let cancel = CancelFlag::default();
    let mut cuts = cuts.clone();
    cuts.extend([0, groups.count() * 4096]);
    cuts.sort_unstable();
    let ranges: Vec<_> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
    for projection in projections {
        let sources = sources.clone();
        let now = Timestamp(timestamp);
        let request = FreezeRequest { catalogue: &catalogue, projection, budget: &budget, cancel: &cancel };
        let topology = DiskTopology::freeze(sources, now, &groups, &request, spill).unwrap();
        check_counts(&topology, state, projection, groups.count());
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            if projection.direction != Direction::Both && projection.direction != direction {
                continue;
            }
            let Some(expected) = expected(state, projection, direction) else {
                let error = visited(&topology, direction, &[0..topology.bound()]).unwrap_err();
                prop_assert_eq!(error.kind(), ErrorKind::Invalid);
                continue;
            };
            prop_assert_eq!(&visited(&topology, direction, &[0..topology.bound()]).unwrap(), &expected);
            prop_assert_eq!(&visited(&topology, direction, &ranges).unwrap(), &expected);
            // Dense and scattered, alive or not.
            let all: Vec<u32> = (0..40).chain([4095, 4096, 4098, 3 * 4096 + 7, 5 * 4096 - 1]).collect();
            for some in [all.clone(), all.iter().copied().step_by(*step).collect(), all[38..].to_vec()] {
                let mut chosen = expected.clone();
                chosen.retain(|vertex, _| some.contains(vertex));
                prop_assert_eq!(visited_each(&topology, direction, &some).unwrap(), chosen);
            }
            check_ends(&topology, direction, &all);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_topology_visits_what_the_projection_leaves_of_the_state(case in any_case()) {
        check(&case, |file, _| Some(file))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_topology_of_csr_files_visits_the_same(case in any_case()) {
        let mut files = StoredFiles::new();
        check(&case, |file, commits| files.store(&file, commits))?;
    }
}

/// Visitors that want no more of a vertex, or no more at all, get no more.
fn check_ends<F: ScannedFile>(topology: &DiskTopology<F>, direction: Direction, vertices: &[u32]) {
    let mut buffer = PieceBuffer::default();
    let (mut one_each, mut seen) = (Visited::default(), Visited::default());
    let mut visit = |said: Visit, visited: &mut Visited, vertices: Option<&[u32]>| {
        let visitor = |vertex, piece: evergraph_graph::topology::Piece<'_>| {
            visited.add(vertex, piece);
            said
        };
        match vertices {
            None => topology.visit(direction, 0..topology.bound(), &mut buffer, visitor).unwrap(),
            Some(all) => topology.visit_each(direction, all, &mut buffer, visitor).unwrap(),
        }
    };
    visit(Visit::NextVertex, &mut one_each, None);
    visit(Visit::Continue, &mut seen, None);
    assert_eq!(one_each.calls, one_each.lists.len());
    assert!(one_each.lists.keys().eq(seen.lists.keys()));
    for vertices in [None, Some(vertices)] {
        let mut first = Visited::default();
        visit(Visit::Stop, &mut first, vertices);
        let has_lists = seen.lists.keys().any(|vertex| vertices.is_none_or(|all| all.contains(vertex)));
        assert_eq!(first.calls, usize::from(has_lists));
    }
}
