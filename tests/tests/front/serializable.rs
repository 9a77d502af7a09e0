//! Serialisable transactions: a commit that succeeds has read what it would read if it ran alone, at
//! the place in the order of commits that it got.
//!
//! The oracle runs each transaction again right before it commits, from the beginning, on the newest
//! state: all of its answers, and which of its writes were refused, must come out the same, or the commit
//! must be refused. Rivals commit single writes in between, in snapshot isolation, as it comes.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::oracle::some_ranges;
use crate::test_store::{TestEngine, empty, on_every_engine};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::column::Column;
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor};
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use proptest::prelude::*;
use std::fmt::Debug;

/// One question to a view; numbers pick vertices, types and values from few.
#[derive(Clone, Copy, Debug)]
enum Question {
    Label(u8),
    Property(u8),
    AllProperties(u8),
    Neighbors(u8, u8, u8),
    FirstNeighbor(u8, u8),
    Degree(u8, u8),
    Between(u8, u8),
    HasEdge(u8, u8),
    EdgeProperty(u8, u8),
    AllEdgeProperties(u8, u8),
    Vertices(bool),
    FirstVertex,
    Edges(u8),
    Statistics,
    Holder(u8),
    VerticesOf(u8),
    EdgesOf(u8),
    Range(u8, bool),
    EdgeRange(u8),
    Newest(u8, u8),
}

#[derive(Clone, Copy, Debug)]
enum Write {
    Set(u8, u8),
    SetName(u8, u8),
    Delete(u8),
    Put(u8, u8, u8),
    SetEdge(u8, u8, u8),
    DeleteEdge(u8, u8),
}

#[derive(Clone, Copy, Debug)]
enum Rival {
    Insert(bool, u8),
    AddEdge(u8, u8, bool),
    Write(Write),
    Maintain,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ask(Question),
    Write(Write),
    Commit,
}

fn any_question() -> impl Strategy<Value = Question> {
    use Question::*;
    let (id, two, three) = (any::<u8>(), any::<(u8, u8)>(), any::<(u8, u8, u8)>());
    let of_vertices = prop_oneof![
        id.prop_map(Label),
        id.prop_map(Property),
        id.prop_map(AllProperties),
        any::<bool>().prop_map(Vertices),
        Just(FirstVertex),
        id.prop_map(Holder),
        id.prop_map(VerticesOf),
        (any::<u8>(), any::<bool>()).prop_map(|(at, first)| Range(at, first)),
    ];
    let of_edges = prop_oneof![
        three.prop_map(|(v, t, d)| Neighbors(v, t, d)),
        two.prop_map(|(v, d)| FirstNeighbor(v, d)),
        two.prop_map(|(v, d)| Degree(v, d)),
        two.prop_map(|(s, t)| Between(s, t)),
        two.prop_map(|(s, t)| HasEdge(s, t)),
        two.prop_map(|(s, t)| EdgeProperty(s, t)),
        two.prop_map(|(s, t)| AllEdgeProperties(s, t)),
        id.prop_map(Edges),
        Just(Statistics),
        id.prop_map(EdgesOf),
        id.prop_map(EdgeRange),
        two.prop_map(|(v, t)| Newest(v, t)),
    ];
    prop_oneof![of_vertices, of_edges]
}

fn any_write() -> impl Strategy<Value = Write> {
    let (two, three) = (any::<(u8, u8)>(), any::<(u8, u8, u8)>());
    prop_oneof![
        4 => two.prop_map(|(v, x)| Write::Set(v, x)),
        2 => two.prop_map(|(v, x)| Write::SetName(v, x)),
        1 => any::<u8>().prop_map(Write::Delete),
        4 => three.prop_map(|(s, t, x)| Write::Put(s, t, x)),
        3 => three.prop_map(|(s, t, x)| Write::SetEdge(s, t, x)),
        2 => two.prop_map(|(s, t)| Write::DeleteEdge(s, t)),
    ]
}

fn any_rival() -> impl Strategy<Value = Rival> {
    prop_oneof![
        2 => any::<(bool, u8)>().prop_map(|(person, x)| Rival::Insert(person, x)),
        2 => any::<(u8, u8, bool)>().prop_map(|(s, t, other)| Rival::AddEdge(s, t, other)),
        5 => any_write().prop_map(Rival::Write),
        1 => Just(Rival::Maintain),
    ]
}

/// What a slot does, or a rival.
fn any_step() -> impl Strategy<Value = (usize, Result<Step, Rival>)> {
    let own = prop_oneof![
        5 => any_question().prop_map(Step::Ask),
        2 => any_write().prop_map(Step::Write),
        2 => Just(Step::Commit),
    ];
    (0..2_usize, prop_oneof![4 => own.prop_map(Ok), 2 => any_rival().prop_map(Err)])
}

#[derive(Clone, Copy)]
struct Names {
    person: LabelId,
    post: LabelId,
    age: KeyId,
    name: KeyId,
    knows: TypeId,
    likes: TypeId,
    weight: KeyId,
}

impl Names {
    fn vertex(at: u8) -> VertexId {
        // Some are there from the start, some come, one is in a group that nobody opened.
        [VertexId(0), VertexId(1), VertexId(2), VertexId(3), VertexId(4096), VertexId(9000)]
            [usize::from(at % 6)]
    }

    fn edge(&self, source: u8, target: u8) -> EdgeId {
        let edge_type = self.edge_type(source / 6);
        let (source, target) = (Self::vertex(source % 3), Self::vertex(target % 4));
        EdgeId { source, edge_type, target, discriminator: 0 }
    }

    fn edge_type(&self, at: u8) -> TypeId {
        [self.knows, self.likes][usize::from(at % 2)]
    }
}

fn value(at: u8) -> Value {
    Value::I64(i64::from(at % 4))
}

fn name(at: u8) -> Value {
    Value::from(["a", "ab", "b", "c", "d"][usize::from(at % 5)])
}

fn direction(at: u8) -> Direction {
    [Direction::Out, Direction::In, Direction::Both][usize::from(at % 3)]
}

fn told<T: Debug>(answer: T) -> String {
    format!("{answer:?}")
}

fn ask<G: GraphView>(view: &G, names: &Names, question: Question) -> String {
    let vertex = Names::vertex;
    match question {
        Question::Label(at) => {
            let mut labels = Vec::new();
            view.labels(&[vertex(at)], &mut labels).unwrap();
            told(labels)
        }
        Question::Property(at) => {
            let mut column = Column::new(ValueType::Any);
            view.vertex_properties(&[vertex(at)], names.age, &mut column).unwrap();
            told(column.get(0))
        }
        Question::AllProperties(at) => told(view.vertex_property_map(vertex(at)).unwrap()),
        Question::Neighbors(at, types, way) => {
            let types = [None, Some(vec![names.knows]), Some(vec![names.knows, names.likes])]
                [usize::from(types % 3)]
            .clone();
            let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
            let ids = [vertex(at)];
            view.neighbors(&ids, types.as_deref(), direction(way), &mut cursor, 100, &mut batch).unwrap();
            told(batch.edges)
        }
        Question::FirstNeighbor(at, way) => {
            let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
            view.neighbors(&[vertex(at)], None, direction(way), &mut cursor, 1, &mut batch).unwrap();
            told(batch.edges)
        }
        Question::Degree(at, way) => {
            let mut degrees = Vec::new();
            view.degrees(&[vertex(at)], None, direction(way), &mut degrees).unwrap();
            told(degrees)
        }
        Question::Between(source, target) => {
            let edge = names.edge(source, target);
            let mut counts = Vec::new();
            view.count_edges_between(&[(edge.source, edge.target)], edge.edge_type, &mut counts).unwrap();
            told(counts)
        }
        Question::HasEdge(source, target) => {
            let mut found = Vec::new();
            view.has_edges(&[names.edge(source, target)], &mut found).unwrap();
            told(found)
        }
        Question::EdgeProperty(source, target) => {
            let mut column = Column::new(ValueType::Any);
            view.edge_properties(&[names.edge(source, target)], names.weight, &mut column).unwrap();
            told(column.get(0))
        }
        Question::AllEdgeProperties(source, target) => {
            told(view.edge_property_map(names.edge(source, target)).unwrap())
        }
        Question::Vertices(all) => {
            let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
            let labels = [names.post];
            let labels = (!all).then_some(&labels[..]);
            while !cursor.done {
                view.scan_vertices(labels, &mut cursor, 3, &mut found).unwrap();
            }
            told(found)
        }
        Question::FirstVertex => {
            let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
            view.scan_vertices(None, &mut cursor, 1, &mut found).unwrap();
            told(found)
        }
        Question::Edges(at) => {
            let (mut cursor, mut found) = (EdgeCursor::default(), Vec::new());
            while !cursor.done {
                view.scan_edges(Some(&[names.edge_type(at)]), &mut cursor, 5, &mut found).unwrap();
            }
            told(found)
        }
        Question::Statistics => told(view.statistics().unwrap()),
        Question::Holder(at) => {
            let mut found = Vec::new();
            view.look_up(names.person, names.name, &[name(at)], &mut found).unwrap();
            told(found)
        }
        Question::VerticesOf(at) => {
            let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
            let values = [value(at)];
            view.look_up_vertices(names.person, names.age, &values, &mut cursor, 100, &mut found).unwrap();
            told(found.items)
        }
        Question::EdgesOf(at) => {
            let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
            let values = [value(at)];
            view.look_up_edges(names.knows, names.weight, &values, &mut cursor, 100, &mut found).unwrap();
            told(found.items)
        }
        Question::Range(at, first) => {
            let ranges = some_ranges();
            let range = &ranges[usize::from(at) % ranges.len()];
            let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
            let limit = if first { 1 } else { 100 };
            view.range_vertices(names.person, names.age, range, &mut cursor, limit, &mut found).unwrap();
            told((found.values, found.items))
        }
        Question::EdgeRange(at) => {
            let ranges = some_ranges();
            let range = &ranges[usize::from(at) % ranges.len()];
            let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
            view.range_edges(names.knows, names.weight, range, &mut cursor, 100, &mut found).unwrap();
            told((found.values, found.items))
        }
        Question::Newest(at, which) => {
            let asked = NewestEdges::new(vertex(at), names.edge_type(which), names.weight);
            let (mut cursor, mut found) = (RangeCursor::default(), OrderedMatches::default());
            let limit = if which > 127 { 1 } else { 100 };
            view.newest(&asked, &mut cursor, limit, &mut found).unwrap();
            told((found.values, found.items))
        }
    }
}

/// What came of it: `Ok`, or the kind of error.
fn write<E: TestEngine>(transaction: &mut Transaction<E>, names: &Names, write: Write) -> String {
    let done = match write {
        Write::Set(at, to) => transaction.set_vertex_property(Names::vertex(at), names.age, Some(value(to))),
        Write::SetName(at, to) => {
            transaction.set_vertex_property(Names::vertex(at), names.name, Some(name(to)))
        }
        Write::Delete(at) => transaction.delete_vertex(Names::vertex(at)),
        Write::Put(source, target, to) => {
            let edge = names.edge(source, target);
            let properties = [(names.weight, value(to))];
            transaction.put_edge(edge.source, edge.edge_type, edge.target, &properties).map(drop)
        }
        Write::SetEdge(source, target, to) => {
            transaction.set_edge_property(names.edge(source, target), names.weight, Some(value(to)))
        }
        Write::DeleteEdge(source, target) => transaction.delete_edge(names.edge(source, target)),
    };
    told(done.map_err(|error| error.kind()))
}

fn prepared<E: TestEngine>(kind: E::Kind) -> (Store<E>, Names) {
    let store = empty::<E>(kind);
    let mut setup = store.begin();
    let (person, post) = (setup.label("Person").unwrap(), setup.label("Post").unwrap());
    let [age, name_key, weight] = ["age", "name", "weight"].map(|key| setup.key(key).unwrap());
    let (knows, likes) = (setup.edge_type("KNOWS").unwrap(), setup.edge_type("LIKES").unwrap());
    let names = Names { person, post, age, name: name_key, knows, likes, weight };
    let people =
        [0, 1].map(|at| setup.add_vertex(person, &[(age, value(at)), (name_key, name(at))]).unwrap());
    setup.add_edge(people[0], knows, people[1], &[(weight, value(2))]).unwrap();
    setup.declare_newest_first(knows, weight).unwrap();
    setup.commit().unwrap();
    let (label, edge_type) = (OwnerName::Label("Person"), OwnerName::EdgeType("KNOWS"));
    let request = |owner, key, kind, unique| IndexRequest { owner, key, kind, unique };
    for request in [
        request(label, "name", IndexKind::Hash, true),
        request(label, "age", IndexKind::Ordered, false),
        request(edge_type, "weight", IndexKind::Ordered, false),
    ] {
        store.create_index(&request, &mut |_| Ok(())).unwrap();
    }
    (store, names)
}

struct Open<E: TestEngine> {
    transaction: Transaction<E>,
    /// What it did and what came of it.
    past: Vec<(Step, String)>,
}

impl<E: TestEngine> Open<E> {
    fn take(&mut self, names: &Names, step: Step) -> String {
        match step {
            Step::Ask(question) => ask(&self.transaction, names, question),
            Step::Write(each) => write(&mut self.transaction, names, each),
            Step::Commit => unreachable!("a commit ends it"),
        }
    }

    /// Commits it, after the oracle ran it again; whether it committed, and whether it had to be refused.
    fn commit(self, store: &Store<E>, names: &Names) -> (bool, bool) {
        let mut again = Open { transaction: store.begin_with(Isolation::Snapshot), past: Vec::new() };
        let mut same = true;
        for (step, before) in &self.past {
            same &= again.take(names, *step) == *before;
        }
        drop(again);
        let wrote = self.past.iter().any(|(step, told)| matches!(step, Step::Write(_)) && told == "Ok(())");
        let (past, began) = (self.past, self.transaction.timestamp());
        match self.transaction.commit() {
            Ok(committed) => {
                // Writes that came to nothing leave a transaction that only read: at its snapshot.
                let read_only = committed.timestamp == began;
                assert!(
                    same || read_only,
                    "committed, though alone it would have read something else: {past:?}"
                );
                (true, !same)
            }
            Err(error) => {
                assert!(error.is_conflict(), "{error}");
                assert!(wrote, "only a transaction that wrote can be refused: {error}");
                (false, !same)
            }
        }
    }
}

fn run_rival<E: TestEngine>(store: &Store<E>, names: &Names, rival: Rival) {
    let mut transaction = store.begin_with(Isolation::Snapshot);
    match rival {
        Rival::Insert(person, at) => {
            let label = if person { names.person } else { names.post };
            // The unique name may be taken.
            let named = [(names.age, value(at)), (names.name, name(at / 4))];
            if transaction.add_vertex(label, &named).is_err() {
                transaction.add_vertex(label, &named[..1]).unwrap();
            }
        }
        Rival::AddEdge(source, target, other) => {
            let edge = names.edge(source, target);
            let edge_type = if other { names.likes } else { names.knows };
            // An end may be gone.
            let _ =
                transaction.add_edge(edge.source, edge_type, edge.target, &[(names.weight, value(target))]);
        }
        Rival::Write(each) => drop(write(&mut transaction, names, each)),
        Rival::Maintain => {
            drop(transaction);
            store.engine().maintain();
            store.collect_indexes();
            return;
        }
    }
    transaction.commit().unwrap();
}

fn run<E: TestEngine>(kind: E::Kind, program: &[(usize, Result<Step, Rival>)]) {
    let (store, names) = prepared::<E>(kind);
    let mut slots: [Option<Open<E>>; 2] = [None, None];
    for (slot, step) in program {
        match step {
            Err(rival) => run_rival(&store, &names, *rival),
            Ok(Step::Commit) => {
                if let Some(open) = slots[*slot].take() {
                    open.commit(&store, &names);
                }
            }
            Ok(step) => {
                let open = slots[*slot].get_or_insert_with(|| Open {
                    transaction: store.begin_with(Isolation::Serializable),
                    past: Vec::new(),
                });
                let told = open.take(&names, *step);
                open.past.push((*step, told));
            }
        }
    }
    for open in slots.into_iter().flatten() {
        open.commit(&store, &names);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn who_commits_has_read_what_it_would_read_alone(
        program in proptest::collection::vec(any_step(), 1..40),
    ) {
        run::<NaiveEngine>(Keeps::NoIndexes, &program);
    }

    #[test]
    fn who_commits_beside_indexes_that_the_engine_keeps_has_read_what_it_would_read_alone(
        program in proptest::collection::vec(any_step(), 1..40),
    ) {
        run::<NaiveEngine>(Keeps::Indexes, &program);
    }

    #[test]
    fn who_commits_on_the_memory_engine_has_read_what_it_would_read_alone(
        program in proptest::collection::vec(any_step(), 1..40),
    ) {
        run::<AnyEngine>(EngineKind::Memory, &program);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn who_commits_on_the_disk_engine_has_read_what_it_would_read_alone(
        program in proptest::collection::vec(any_step(), 1..40),
    ) {
        run::<AnyEngine>(EngineKind::Disk, &program);
    }

    #[test]
    fn who_commits_on_the_mapped_engine_has_read_what_it_would_read_alone(
        program in proptest::collection::vec(any_step(), 1..40),
    ) {
        run::<AnyEngine>(EngineKind::Mapped, &program);
    }
}

/// Whether a transaction that asks `question`, and writes elsewhere, commits though `rival` came between.
fn commits_beside<E: TestEngine>(kind: E::Kind, question: Question, rivals: &[Rival]) -> bool {
    let (store, names) = prepared::<E>(kind);
    let mut setup = store.begin();
    let elsewhere = setup.add_vertex(names.post, &[]).unwrap();
    setup.commit().unwrap();
    let mut open = Open { transaction: store.begin_with(Isolation::Serializable), past: Vec::new() };
    ask(&open.transaction, &names, question);
    open.transaction.set_vertex_property(elsewhere, names.age, Some(value(1))).unwrap();
    rivals.iter().for_each(|rival| run_rival(&store, &names, *rival));
    open.transaction.commit().is_ok()
}

fn reads_conflict_with_what_they_depend_on<E: TestEngine>(kind: E::Kind) {
    use Question::*;
    let set = |at, to| Rival::Write(Write::Set(at, to));
    let put = |source, target, to| Rival::Write(Write::Put(source, target, to));
    for (question, rival, commits) in [
        (Property(0), set(1, 3), true),
        (Property(0), set(0, 3), false),
        (Label(0), set(0, 3), true),
        (Label(0), Rival::Write(Write::Delete(0)), false),
        (AllProperties(0), set(0, 3), false),
        (Neighbors(0, 1, 0), set(0, 3), true),
        (Neighbors(0, 1, 0), put(0, 1, 3), true),
        (Neighbors(0, 1, 0), Rival::AddEdge(0, 0, false), false),
        (Neighbors(0, 1, 0), Rival::AddEdge(1, 0, false), true),
        (Neighbors(0, 1, 1), Rival::AddEdge(1, 0, false), false),
        // Of another type than was read; of a type that this vertex' group had no edges of.
        (Neighbors(0, 1, 0), Rival::AddEdge(0, 0, true), true),
        (Neighbors(0, 0, 0), Rival::AddEdge(0, 0, true), false),
        (HasEdge(0, 1), put(0, 1, 3), true),
        (HasEdge(0, 1), Rival::AddEdge(0, 1, false), true),
        (Between(0, 1), Rival::AddEdge(0, 1, false), false),
        (HasEdge(0, 1), Rival::Write(Write::DeleteEdge(0, 1)), false),
        (EdgeProperty(0, 1), put(0, 1, 3), false),
        (Newest(0, 0), put(0, 1, 3), false),
        (Newest(0, 0), Rival::Write(Write::SetEdge(0, 1, 3)), false),
        (Newest(0, 0), Rival::Write(Write::DeleteEdge(0, 1)), false),
        (Newest(0, 0), Rival::AddEdge(0, 0, false), false),
        (Newest(0, 0), Rival::AddEdge(1, 0, false), true),
        (Newest(0, 0), Rival::AddEdge(0, 0, true), true),
        (Newest(0, 0), set(1, 3), true),
        (Vertices(false), set(0, 3), true),
        (Vertices(false), Rival::Insert(false, 0), false),
        (Holder(0), set(0, 3), true),
        (Holder(3), Rival::Insert(true, 12), false),
        (Holder(3), Rival::Insert(true, 8), true),
        (VerticesOf(3), set(0, 3), false),
        (VerticesOf(3), set(0, 2), true),
        (VerticesOf(0), set(0, 2), false),
        // 1 <= age < 3, of the ages 0 and 1.
        (Range(1, false), set(0, 2), false),
        (Range(1, false), set(0, 3), true),
        // The first of two is all that was read.
        (Range(0, true), set(1, 3), true),
        (Range(0, true), set(0, 3), false),
        (Range(8, true), set(0, 3), false),
        (Statistics, Rival::AddEdge(0, 0, false), false),
        (Statistics, Rival::Insert(true, 0), false),
        (Statistics, set(0, 3), true),
    ] {
        assert_eq!(commits_beside::<E>(kind, question, &[rival]), commits, "{question:?} beside {rival:?}");
    }
}

#[test]
fn a_read_conflicts_with_what_its_answer_depends_on_and_with_nothing_else() {
    reads_conflict_with_what_they_depend_on::<NaiveEngine>(Keeps::NoIndexes);
    reads_conflict_with_what_they_depend_on::<AnyEngine>(EngineKind::Memory);
    reads_conflict_with_what_they_depend_on::<AnyEngine>(EngineKind::Disk);
    reads_conflict_with_what_they_depend_on::<AnyEngine>(EngineKind::Mapped);
}

on_every_engine! {
    fn more_reads_than_are_told_apart_conflict_with_any_change_of_their_segment<E: TestEngine>(kind: E::Kind) {
        let (store, names) = prepared::<E>(kind);
        let mut setup = store.begin();
        let many: Vec<_> = (0..4000).map(|_| setup.add_vertex(names.person, &[]).unwrap()).collect();
        let elsewhere = setup.add_vertex(names.post, &[]).unwrap();
        setup.commit().unwrap();
        let commits_after_reading = |keys: &[KeyId]| {
            let mut reader = store.begin_with(Isolation::Serializable);
            for key in keys {
                let mut column = Column::new(ValueType::Any);
                reader.vertex_properties(&many[1..], *key, &mut column).unwrap();
            }
            reader.set_vertex_property(elsewhere, names.age, None).unwrap();
            let mut rival = store.begin();
            rival.set_vertex_property(many[0], names.age, Some(value(1))).unwrap();
            rival.commit().unwrap();
            reader.commit().is_ok()
        };
        assert!(commits_after_reading(&[names.age]));
        assert!(!commits_after_reading(&[names.age, names.name]));
    }
}

on_every_engine! {
    fn a_look_up_in_an_index_that_was_dropped_conflicts<E: TestEngine>(kind: E::Kind) {
        let (store, names) = prepared::<E>(kind);
        let mut reader = store.begin_with(Isolation::Serializable);
        ask(&reader, &names, Question::VerticesOf(3));
        reader.set_vertex_property(VertexId(1), names.name, Some(Value::from("e"))).unwrap();
        store.drop_index(OwnerName::Label("Person"), "age", None).unwrap();
        run_rival(&store, &names, Rival::Write(Write::Set(0, 3)));
        let error = reader.commit().unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("dropped"), "{error}");
    }
}
