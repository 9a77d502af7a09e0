//! What the front promises, one rule a test, on every engine.

use crate::model::dump;
use crate::test_store::{TestEngine, empty, on_every_engine, open, open_on};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::topology::{Projection, Topology};
use evergraph_graph::transaction::{NewEdge, Transaction as _};
use evergraph_graph::value::collection::{List, Map};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::{EdgeCursor, Freeze, GraphView, NeighborBatch, NeighborCursor};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::latch::LoadingGate;
use std::io::ErrorKind as IoKind;
use std::sync::Arc;

/// A store with two people who know nobody.
fn people<E: TestEngine>(kind: E::Kind) -> (Store<E>, LabelId, TypeId, KeyId, [VertexId; 2]) {
    let store = empty::<E>(kind);
    let mut setup = store.begin();
    let (label, key) = (setup.label("Person").unwrap(), setup.key("name").unwrap());
    let edge_type = setup.edge_type("KNOWS").unwrap();
    let names = ["ada", "bob"];
    let vertices = names.map(|name| setup.add_vertex(label, &[(key, Value::from(name))]).unwrap());
    setup.commit().unwrap();
    (store, label, edge_type, key, vertices)
}

fn look_up<G: GraphView>(view: &G, label: LabelId, key: KeyId, value: Value) -> Option<VertexId> {
    let mut found = Vec::new();
    view.look_up(label, key, &[value], &mut found).unwrap();
    found[0]
}

on_every_engine! {
    with kept indexes;

    fn what_is_known_of_a_value_goes_with_it_and_is_no_property_of_the_vertex<E: TestEngine>(kind: E::Kind) {
        let (store, label, _, name, [ada, bob]) = people::<E>(kind);
        let known = Value::List(List::new(vec![Value::Map(Map::default())]).unwrap());
        let new_known = Value::List(List::new(vec![Value::Map(Map::default()); 2]).unwrap());
        let meta = store
            .transact(|transaction| {
                transaction.declare_meta_properties(label, name)?;
                transaction.declare_meta_properties(label, name)?;
                let meta = transaction.catalogue().meta_key(label, name).unwrap();
                for vertex in [ada, bob] {
                    transaction.set_vertex_property(vertex, meta, Some(known.clone()))?;
                }
                Ok(meta)
            })
            .unwrap();
        let of = |view: &dyn GraphView, vertex| {
            let mut column = Column::new(ValueType::Any);
            view.vertex_properties(&[vertex], meta, &mut column).unwrap();
            assert_eq!(view.vertex_property_map(vertex).unwrap().len(), 1);
            column.get(0)
        };
        let mut transaction = store.begin();
        transaction.set_vertex_property(ada, name, Some("eve".into())).unwrap();
        assert_eq!([of(&transaction, ada), of(&transaction, bob)], [None, Some(known.clone())]);
        // Somebody else writes what is known meanwhile: only one of the two can stay.
        let mut other = store.begin();
        other.set_vertex_property(ada, meta, Some(known.clone())).unwrap();
        assert_eq!(of(&other, ada), Some(known));
        transaction.commit().unwrap();
        assert!(other.commit().unwrap_err().is_conflict());
        assert_eq!(of(&store.snapshot(), ada), None);
        // Both at once: what is known is known of the new value, in whichever order they come.
        let mut transaction = store.begin();
        let changes = &mut vec![(meta, Some(new_known.clone())), (name, Some("zoe".into()))];
        transaction.set_vertex_properties(bob, changes).unwrap();
        assert_eq!(of(&transaction, bob), Some(new_known));
        let error = store.begin().declare_meta_properties(label, meta).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }

    fn no_changes_of_a_vertex_that_goes_meanwhile_are_no_write<E: TestEngine>(kind: E::Kind) {
        let (store, label, _, key, [ada, _]) = people::<E>(kind);
        let request =
            IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: true };
        store.create_index(&request, &mut |_| Ok(())).unwrap();
        let (mut nothing, mut found) = (store.begin(), Vec::new());
        nothing.set_vertex_properties(ada, &mut Vec::new()).unwrap();
        nothing.find_vertices(label, key, &["ada".into()], &mut found).unwrap();
        nothing.set_found_properties(found[0].as_ref().unwrap(), &mut Vec::new()).unwrap();
        let began = nothing.timestamp();
        store.transact(|transaction| transaction.delete_vertex(ada)).unwrap();
        assert_eq!(nothing.commit().unwrap().timestamp, began, "it wrote nothing");
        let mut labels = Vec::new();
        store.snapshot().labels(&[ada], &mut labels).unwrap();
        assert_eq!(labels, [None]);
    }

    fn parallel_edges_never_conflict_and_the_later_is_renamed<E: TestEngine>(kind: E::Kind) {
        let (store, _, knows, _, [ada, bob]) = people::<E>(kind);
        let (mut first, mut second) = (store.begin(), store.begin());
        let edge = first.add_edge(ada, knows, bob, &[]).unwrap();
        assert_eq!(second.add_edge(ada, knows, bob, &[]).unwrap(), edge);
        let other = second.add_edge(ada, knows, bob, &[]).unwrap();
        assert_eq!(first.commit().unwrap().renamed, []);
        let named = |discriminator| EdgeId { discriminator, ..edge };
        let renamed = second.commit().unwrap().renamed;
        assert_eq!((other, renamed), (named(1), vec![(named(0), named(2))]));
        let mut counts = Vec::new();
        store.snapshot().count_edges_between(&[(ada, bob)], knows, &mut counts).unwrap();
        assert_eq!(counts, [3]);
    }

    fn concurrent_first_uses_of_a_name_agree_and_the_second_is_no_news<E: TestEngine>(kind: E::Kind) {
        let store = empty::<E>(kind);
        let (mut first, mut second) = (store.begin(), store.begin());
        let label = first.label("Person").unwrap();
        assert_eq!(second.label("Person").unwrap(), label);
        for transaction in [&mut first, &mut second] {
            let key = transaction.key("age").unwrap();
            transaction.add_vertex(label, &[(key, Value::I32(1))]).unwrap();
        }
        assert_eq!(store.catalogue().label("Person"), None, "nobody sees it before a commit");
        first.commit().unwrap();
        let catalogue = store.catalogue();
        second.commit().unwrap();
        assert!(Arc::ptr_eq(&catalogue, &store.catalogue()));
        assert_eq!(store.snapshot().statistics().unwrap().vertices, [(label, 2)]);
    }

    fn two_types_for_one_property_are_a_conflict_that_the_second_try_settles<E: TestEngine>(kind: E::Kind) {
        let (store, label, ..) = people::<E>(kind);
        let (mut first, mut second) = (store.begin(), store.begin());
        let key = first.key("age").unwrap();
        assert_eq!(second.key("age").unwrap(), key);
        first.add_vertex(label, &[(key, Value::I64(1))]).unwrap();
        second.add_vertex(label, &[(key, Value::I32(2))]).unwrap();
        first.commit().unwrap();
        assert!(second.commit().unwrap_err().is_conflict());
        let vertex = store.transact(|again| again.add_vertex(label, &[(key, Value::I32(2))])).unwrap();
        let values = store.snapshot().vertex_property_map(vertex).unwrap();
        assert_eq!(values, [(key, Value::I64(2))]);
    }

    fn edges_teach_the_catalogue_which_labels_they_join<E: TestEngine>(kind: E::Kind) {
        let (store, person, knows, _, [ada, _]) = people::<E>(kind);
        let post = store.transact(|transaction| {
            let post = transaction.label("Post")?;
            let vertex = transaction.add_vertex(post, &[])?;
            transaction.add_edge(ada, knows, vertex, &[])?;
            Ok(post)
        });
        let post = post.unwrap();
        assert_eq!(store.catalogue().joins(knows).collect::<Vec<_>>(), [(person, post)]);
    }

    fn a_roll_back_returns_its_ids_and_a_delete_does_not<E: TestEngine>(kind: E::Kind) {
        let (store, label, ..) = people::<E>(kind);
        let mut dropped = store.begin();
        let id = dropped.add_vertex(label, &[]).unwrap();
        drop(dropped);
        let mut transaction = store.begin();
        let again = transaction.add_vertex(label, &[]).unwrap();
        let gone = transaction.add_vertex(label, &[]).unwrap();
        transaction.delete_vertex(gone).unwrap();
        transaction.commit().unwrap();
        assert_eq!(again, id);
        let mut transaction = store.begin();
        transaction.delete_vertex(again).unwrap();
        assert_eq!(transaction.add_vertex(label, &[]).unwrap(), gone, "that one was never committed");
        assert!(transaction.add_vertex(label, &[]).unwrap() > gone);
    }

    fn a_conflict_names_what_both_wanted_in_the_users_words<E: TestEngine>(kind: E::Kind) {
        let (store, _, knows, key, [ada, bob]) = people::<E>(kind);
        let set = || {
            let mut transaction = store.begin();
            transaction.set_vertex_property(ada, key, Some(Value::from("eve"))).unwrap();
            transaction
        };
        let (first, second) = (set(), set());
        first.commit().unwrap();
        let text = second.commit().unwrap_err().to_string();
        assert_eq!(text, "another transaction changed property `name` of Person v0 first: run this one again");
        let (mut first, mut second) = (store.begin(), store.begin());
        first.put_edge(ada, knows, bob, &[]).unwrap();
        second.put_edge(ada, knows, bob, &[]).unwrap();
        first.commit().unwrap();
        let text = second.commit().unwrap_err().to_string();
        assert_eq!(text, "another transaction changed edge v0-[KNOWS]->v1 first: run this one again");
    }

    fn a_write_that_fails_leaves_the_transaction_as_it_was<E: TestEngine>(kind: E::Kind) {
        let (store, label, knows, key, [ada, bob]) = people::<E>(kind);
        let mut transaction = store.begin();
        let nobody = VertexId(4000);
        let wrong = [(key, Value::I32(1))];
        let kinds = [
            transaction.add_vertex(label, &wrong).unwrap_err(),
            transaction.add_vertex(LabelId(99), &[]).unwrap_err(),
            transaction.set_vertex_property(ada, key, Some(Value::I32(1))).unwrap_err(),
            transaction.add_edge(ada, TypeId(99), bob, &[]).unwrap_err(),
            transaction.set_vertex_property(nobody, key, None).unwrap_err(),
            transaction.add_edge(ada, knows, nobody, &[]).unwrap_err(),
            transaction.add_edge(VertexId(u32::MAX), knows, ada, &[]).unwrap_err(),
            transaction.put_edge(nobody, knows, ada, &[]).unwrap_err(),
            transaction.delete_vertex(nobody).unwrap_err(),
        ]
        .map(|error| error.kind());
        let (invalid, missing) = (ErrorKind::Invalid, ErrorKind::NotFound);
        assert_eq!(kinds, [invalid, invalid, invalid, invalid, missing, missing, missing, missing, missing]);
        let before = store.timeline().published();
        assert_eq!(transaction.commit().unwrap().timestamp, before, "nothing was written");
        assert_eq!(store.timeline().published(), before);
    }

    fn a_batch_of_edges_is_put_whole_or_not_at_all<E: TestEngine>(kind: E::Kind) {
        let (store, _, knows, key, [ada, bob]) = people::<E>(kind);
        let request = IndexRequest { owner: OwnerName::EdgeType("KNOWS"), key: "name", kind: IndexKind::Hash, unique: true };
        store.create_index(&request, &mut |_| Ok(())).unwrap();
        let names = ["a", "b", "c"].map(|name| [(key, Value::from(name))]);
        let mut transaction = store.begin();
        let new = |source, target, properties| NewEdge { source, target, properties };
        // The edge from Ada to herself takes the name that the other one had.
        transaction.put_edges(knows, &[new(ada, ada, &names[0]), new(ada, bob, &names[1])]).unwrap();
        transaction.put_edges(knows, &[new(ada, bob, &names[2]), new(ada, ada, &names[1])]).unwrap();
        let before = dump(&transaction, 3);
        let refused = [
            transaction.put_edges(knows, &[new(bob, ada, &names[0]), new(bob, VertexId(4000), &[])]),
            transaction.put_edges(knows, &[new(bob, ada, &names[0]), new(bob, bob, &[(key, Value::I32(1))])]),
            transaction.put_edges(knows, &[new(bob, ada, &names[0]), new(bob, bob, &names[0])]),
            transaction.put_edges(knows, &[new(bob, ada, &names[0]), new(bob, bob, &names[2])]),
            transaction.put_edges(TypeId(99), &[new(bob, ada, &[])]),
        ]
        .map(|result| result.unwrap_err().to_string());
        assert_eq!(refused[0], "Person v4000 isn't there");
        assert!(refused[1].contains("takes string, found"), "{}", refused[1]);
        assert!(refused[2].contains("is unique, and v1-[KNOWS]->v0 already has the value \"a\""), "{}", refused[2]);
        assert!(refused[3].contains("is unique, and v0-[KNOWS]->v1 already has the value \"c\""), "{}", refused[3]);
        assert!(refused[4].contains("no edge type 99"), "{}", refused[4]);
        assert_eq!(dump(&transaction, 3), before);
        transaction.commit().unwrap();
    }

    /// Cursors counted what they had handed out: who deleted it passed over as many edges with each batch, so that
    /// `g.V(1).outE().drop()` left a half of a list of 2,048.
    fn own_writes_between_two_batches_neither_hide_an_edge_nor_give_one_twice<E: TestEngine>(kind: E::Kind) {
        for limit in [1, 2, 3, 5, 100] {
            let (store, label, knows, _, [ada, bob]) = people::<E>(kind);
            let all = store.transact(|transaction| {
                let likes = transaction.edge_type("LIKES")?;
                let mut all = vec![transaction.add_edge(ada, likes, ada, &[])?];
                for _ in 0..10 {
                    let other = transaction.add_vertex(label, &[])?;
                    all.push(transaction.add_edge(ada, knows, other, &[])?);
                    all.push(transaction.add_edge(ada, knows, bob, &[])?);
                    all.push(transaction.add_edge(other, likes, ada, &[])?);
                }
                all.sort_unstable();
                Ok(all)
            });
            let all = all.unwrap();
            store.engine().maintain();
            for add in [false, true] {
                let (mut cursor, mut found, mut transaction) = (NeighborCursor::default(), Vec::new(), store.begin());
                while !cursor.done {
                    let mut batch = NeighborBatch::default();
                    transaction.neighbors(&[ada], None, Direction::Both, &mut cursor, limit, &mut batch).unwrap();
                    for edge in &batch.edges {
                        if transaction.delete_edge(*edge).is_ok() && add && all.contains(edge) {
                            transaction.add_edge(ada, knows, ada, &[]).unwrap();
                        }
                    }
                    found.extend(batch.edges.into_iter().filter(|edge| all.contains(edge)));
                }
                found.sort_unstable();
                // Who saw the self loop on one side had deleted it before the other, unless both came at once.
                found.dedup();
                assert_eq!(found, all, "{limit}");
                let (mut cursor, mut found, mut transaction) = (EdgeCursor::default(), Vec::new(), store.begin());
                while !cursor.done {
                    let from = found.len();
                    transaction.scan_edges(None, &mut cursor, limit, &mut found).unwrap();
                    for edge in &found[from..] {
                        transaction.delete_edge(*edge).unwrap();
                    }
                    if add && from == 0 {
                        transaction.put_edge(ada, knows, ada, &[]).unwrap();
                    }
                }
                found.retain(|edge| all.contains(edge));
                assert_eq!(found, all, "{limit}");
            }
        }
    }

    /// A delete of a vertex won over a property set meanwhile on an edge that ended there: on one that
    /// started there it was a conflict already.
    fn a_vertex_is_not_deleted_over_a_property_set_meanwhile_on_an_edge_of_either_side<E: TestEngine>(kind: E::Kind) {
        let (store, _, knows, key, [ada, bob]) = people::<E>(kind);
        let edges = store.transact(|transaction| {
            Ok([transaction.add_edge(ada, knows, bob, &[])?, transaction.add_edge(bob, knows, ada, &[])?])
        });
        let edges = edges.unwrap();
        for edge in edges {
            let (mut sets, mut deletes) = (store.begin(), store.begin());
            sets.set_edge_property(edge, key, Some(Value::from("x"))).unwrap();
            deletes.delete_vertex(ada).unwrap();
            sets.commit().unwrap();
            let error = deletes.commit().unwrap_err();
            assert!(error.is_conflict(), "{error}");
        }
        let (mut sets, mut deletes) = (store.begin(), store.begin());
        sets.set_edge_property(edges[1], key, Some(Value::from("z"))).unwrap();
        deletes.delete_vertex(ada).unwrap();
        deletes.commit().unwrap();
        assert!(sets.commit().unwrap_err().is_conflict(), "the other way round");
    }

    fn a_simple_type_takes_one_edge_and_two_transactions_conflict<E: TestEngine>(kind: E::Kind) {
        let (store, _, _, _, [ada, bob]) = people::<E>(kind);
        let likes = store.transact(|transaction| transaction.declare_simple_type("LIKES")).unwrap();
        assert_eq!(store.begin().declare_simple_type("KNOWS").unwrap_err().kind(), ErrorKind::Invalid);
        let (mut first, mut second) = (store.begin(), store.begin());
        let edge = first.add_edge(ada, likes, bob, &[]).unwrap();
        assert_eq!(first.add_edge(ada, likes, bob, &[]).unwrap_err().kind(), ErrorKind::Invalid);
        second.add_edge(ada, likes, bob, &[]).unwrap();
        first.commit().unwrap();
        assert!(second.commit().unwrap_err().is_conflict());
        let again = store.transact(|transaction| {
            transaction.delete_edge(edge)?;
            transaction.add_edge(ada, likes, bob, &[])
        });
        assert_eq!(again.unwrap(), edge, "deleted and added: replaced");
    }

    fn a_unique_value_has_one_holder_and_a_delete_in_the_same_transaction_frees_it<E: TestEngine>(kind: E::Kind) {
        let (store, label, _, key, [ada, bob]) = people::<E>(kind);
        store.create_unique_index("Person", "name").unwrap();
        store.create_unique_index("Person", "name").unwrap();
        let value = || Value::from("ada");
        let mut transaction = store.begin();
        let error = transaction.add_vertex(label, &[(key, value())]).unwrap_err();
        assert_eq!(error.to_string(), "Person.name is unique, and v0 already has the value \"ada\"");
        transaction.delete_vertex(ada).unwrap();
        let next = transaction.add_vertex(label, &[(key, value())]).unwrap();
        assert_eq!(transaction.set_vertex_property(bob, key, Some(value())).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(look_up(&transaction, label, key, value()), Some(next));
        let before = store.snapshot();
        transaction.commit().unwrap();
        store.collect_indexes();
        assert_eq!(look_up(&before, label, key, value()), Some(ada), "an old snapshot finds the old holder");
        drop(before);
        store.collect_indexes();
        // Who keeps entries collects them when it merges.
        store.engine().maintain();
        assert_eq!(look_up(&store.snapshot(), label, key, value()), Some(next));
        assert_eq!(store.statistics().index_entries, 2, "the old entry was collected");
    }

    fn a_unique_value_that_another_transaction_entered_first_is_a_conflict<E: TestEngine>(kind: E::Kind) {
        let (store, label, _, key, _) = people::<E>(kind);
        store.create_unique_index("Person", "name").unwrap();
        let enter = |name: &str| {
            let mut transaction = store.begin();
            transaction.add_vertex(label, &[(key, Value::from(name))]).unwrap();
            transaction
        };
        let (first, second, third) = (enter("eve"), enter("eve"), enter("mel"));
        first.commit().unwrap();
        let error = second.commit().unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("unique Person.name"), "{error}");
        third.commit().unwrap();
        let again = store.transact(|transaction| transaction.add_vertex(label, &[(key, Value::from("eve"))]));
        assert_eq!(again.unwrap_err().kind(), ErrorKind::Invalid, "now it is seen");
    }

    fn a_unique_index_on_duplicates_is_refused_by_name_and_leaves_nothing<E: TestEngine>(kind: E::Kind) {
        let (store, label, _, key, [ada, _]) = people::<E>(kind);
        store.transact(|transaction| transaction.add_vertex(label, &[(key, Value::from("bob"))])).unwrap();
        let text = store.create_unique_index("Person", "name").unwrap_err().to_string();
        assert_eq!(text, "Person.name can't be unique: \"bob\" of v1 and v2");
        assert!(!store.catalogue().is_unique(Owner::Label(label), key));
        store.transact(|transaction| transaction.delete_vertex(VertexId(2))).unwrap();
        store.create_unique_index("Person", "name").unwrap();
        assert_eq!(look_up(&store.snapshot(), label, key, Value::from("ada")), Some(ada));
        assert_eq!(look_up(&store.snapshot(), label, key, Value::I64(1)), None, "another type finds nothing");
    }

    fn who_began_before_a_unique_index_cannot_commit_around_it<E: TestEngine>(kind: E::Kind) {
        let (store, label, _, key, _) = people::<E>(kind);
        let (mut old, before) = (store.begin(), store.snapshot());
        old.add_vertex(label, &[(key, Value::from("ada"))]).unwrap();
        store.create_unique_index("Person", "name").unwrap();
        assert!(old.commit().unwrap_err().is_conflict());
        let error = before.look_up(label, key, &[Value::from("ada")], &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "that snapshot knows no such index");
    }

    fn commits_are_refused_as_busy_behind_a_closed_gate<E: TestEngine>(kind: E::Kind) {
        let (store, label, ..) = people::<E>(kind);
        let gate = LoadingGate::close(store.timeline()).unwrap();
        let mut transaction = store.begin();
        transaction.add_vertex(label, &[]).unwrap();
        assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Busy);
        assert_eq!(store.create_unique_index("Person", "name").unwrap_err().kind(), ErrorKind::Busy);
        drop(gate);
        store.transact(|transaction| transaction.add_vertex(label, &[])).unwrap();
    }

    fn transact_runs_again_after_conflicts_only_and_gives_up_with_their_number<E: TestEngine>(kind: E::Kind) {
        let (store, _, _, key, [ada, _]) = people::<E>(kind);
        let mut runs = 0;
        let set = |store: &Store<E>, value: &str| {
            let mut transaction = store.begin();
            transaction.set_vertex_property(ada, key, Some(Value::from(value))).unwrap();
            transaction.commit().unwrap();
        };
        let done = store.transact(|transaction| {
            runs += 1;
            if runs < 3 {
                set(&store, "other");
            }
            transaction.set_vertex_property(ada, key, Some(Value::from("mine")))?;
            Ok(runs)
        });
        assert_eq!(done.unwrap(), 3);
        let invalid = store.transact(|_| Err::<(), _>(Error::invalid("no")));
        assert_eq!(invalid.unwrap_err().to_string(), "no");
        let lost = store.transact(|_| Err::<(), _>(Error::conflict("lost")));
        assert_eq!(lost.unwrap_err().to_string(), "after 100 attempts: lost");
        assert_eq!(store.statistics().conflicts, 2, "those of the commits");
    }

    fn what_was_acknowledged_is_there_after_a_power_cut_with_its_index_names_and_ids<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let store = open::<E>(kind, &directory, Durability::Sync).unwrap();
        store.create_unique_index("Person", "name").unwrap();
        let vertex = store.transact(|transaction| {
            let (label, key) = (transaction.label("Person")?, transaction.key("name")?);
            let vertex = transaction.add_vertex(label, &[(key, Value::from("ada"))])?;
            let knows = transaction.edge_type("KNOWS")?;
            transaction.add_edge(vertex, knows, vertex, &[(key, Value::from("self"))])?;
            Ok(vertex)
        });
        let (vertex, model) = (vertex.unwrap(), dump(&store.snapshot(), 10));
        let again = open::<E>(kind, &directory.power_cut(), Durability::Sync).unwrap();
        assert_eq!(dump(&again.snapshot(), 10), model);
        assert_eq!(again.catalogue(), store.catalogue());
        let (label, key) = (again.catalogue().label("Person").unwrap(), again.catalogue().key("name").unwrap());
        assert_eq!(look_up(&again.snapshot(), label, key, Value::from("ada")), Some(vertex));
        let next = again.transact(|transaction| {
            assert_eq!(transaction.label("Person")?, label);
            transaction.add_vertex(label, &[(key, Value::from("bob"))])
        });
        assert_eq!(next.unwrap(), VertexId(vertex.0 + 1));
    }

    fn a_failed_sync_leaves_the_outcome_unknown_and_its_ids_taken<E: TestEngine>(kind: E::Kind) {
        let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
        let store = open_on::<E>(kind, Arc::new(failing.clone()), Durability::Sync).unwrap();
        let label = store.transact(|transaction| transaction.label("Person")).unwrap();
        let seen = store.snapshot().timestamp();
        failing.plan(Fault::new(evergraph_storage::io::error::Operation::Sync, "log", IoKind::Other).lasting());
        let mut transaction = store.begin();
        let vertex = transaction.add_vertex(label, &[]).unwrap();
        let error = transaction.commit().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("unknown"), "{error}");
        let mut refused = store.begin();
        assert!(refused.add_vertex(label, &[]).unwrap() > vertex, "its id is not given out again");
        assert_eq!(refused.commit().unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(store.snapshot().timestamp(), seen, "snapshots go on at what is durable");
        let reader = store.begin();
        assert_eq!(reader.commit().unwrap_err().kind(), ErrorKind::Io, "it saw what may be lost");
    }

    fn a_snapshot_freezes_what_it_shows<E: TestEngine>(kind: E::Kind) {
        let (store, _, knows, _, [ada, bob]) = people::<E>(kind);
        store.transact(|transaction| transaction.add_edge(ada, knows, bob, &[])).unwrap();
        let snapshot = store.snapshot();
        store.transact(|transaction| transaction.add_edge(bob, knows, ada, &[])).unwrap();
        let topology = snapshot.freeze(&Projection::all(Direction::Out)).unwrap();
        assert_eq!((topology.edge_count(), topology.vertices().len()), (1, 2));
        assert_eq!(snapshot.budget().reserve("test", 10).unwrap().bytes(), 10);
    }

    fn a_choice_of_vertices_and_edges_leaves_the_rest_out<E: TestEngine>(kind: E::Kind) {
        let (store, person, knows, _, [ada, bob]) = people::<E>(kind);
        let (eve, since) = store
            .transact(|transaction| {
                let eve = transaction.add_vertex(person, &[])?;
                let since = transaction.key("since")?;
                for (from, to, year) in [(ada, bob, 1830), (bob, eve, 1840), (eve, ada, 1850)] {
                    transaction.add_edge(from, knows, to, &[(since, Value::from(year))])?;
                }
                Ok((eve, since))
            })
            .unwrap();
        let snapshot = store.snapshot();
        let mut chosen = VertexSet::empty(eve.0 + 1);
        chosen.insert(bob.0);
        chosen.insert(eve.0);
        let all = Projection::all(Direction::Both);
        let two = Projection { vertices: Some(Arc::new(chosen)), ..all.clone() };
        let topology = snapshot.freeze(&two).unwrap();
        assert_eq!(topology.vertices().iter().collect::<Vec<_>>(), [bob.0, eve.0]);
        assert_eq!(topology.edge_count(), 1);
        let late = Condition::Compare(Comparison::Greater, Value::from(1830_i64));
        let late = vec![Filter { key: since, condition: late }];
        let topology = snapshot.freeze(&Projection { edges: late, ..all }).unwrap();
        assert_eq!((topology.edge_count(), topology.vertices().len()), (2, 3));
        let mut degrees = [0; 3];
        topology.degrees(Direction::In, ada.0..ada.0 + 3, &mut degrees).unwrap();
        assert_eq!(degrees, [1, 0, 1]);
    }
}
