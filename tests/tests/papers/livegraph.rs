//! LiveGraph: A Transactional Graph Storage System with Purely Sequential Adjacency List Scans
//! (Zhu et al., VLDB 2020): the edge that is updated, and readers beside writers.

use crate::lists::{add_edges, before_and_after_merging, neighbors, vertices};
use evergraph::{Database, Direction, ReadByName, Snapshot, Value};

/// Section 4, figure 3: "An edge to vertex V_D is created at time T1 (head entry). The edge is later
/// updated at time T2. The previous entry is invalidated and a new property block is appended." A read
/// at T considers only the entry whose lifetime contains T. The list of V_S has five entries.
///
/// Differs: the edge is found from the side of V_D, too.
#[test]
fn an_updated_edge_is_read_as_it_was_at_each_time() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 6);
    let (source, target) = (vertices[0], vertices[5]);
    let before = db.snapshot();
    let put = |weight: i64| {
        db.transact(|tx| tx.put_edge(source, "E", target, &[("weight", weight.into())])).unwrap()
    };
    let edge = put(1);
    let at_t1 = db.snapshot();
    add_edges(&db, &vertices, &[(0, 1), (0, 2), (0, 3)]);
    let between = db.snapshot();
    assert_eq!(put(2), edge, "an update is of the same edge");
    let at_t2 = db.snapshot();

    let weight = |snapshot: &Snapshot, direction| {
        let from = if direction == Direction::Out { source } else { target };
        let edges = snapshot.edges(from, direction, &[]).unwrap();
        let found: Vec<_> = edges.into_iter().filter(|(found, _)| *found == edge).collect();
        assert!(found.len() <= 1, "one entry is valid at a time");
        found.first().map(|(edge, _)| snapshot.get_edge(*edge, "weight").unwrap().unwrap())
    };
    before_and_after_merging(&db, |newest| {
        for direction in [Direction::Out, Direction::In] {
            assert_eq!(weight(&before, direction), None);
            assert_eq!(weight(&at_t1, direction), Some(Value::I64(1)));
            assert_eq!(weight(&between, direction), Some(Value::I64(1)));
            assert_eq!(weight(&at_t2, direction), Some(Value::I64(2)));
            assert_eq!(weight(newest, direction), Some(Value::I64(2)));
        }
        assert_eq!(neighbors(&at_t1, &vertices, 0, Direction::Out), [5]);
        assert_eq!(neighbors(&between, &vertices, 0, Direction::Out), [1, 2, 3, 5]);
        assert_eq!(neighbors(newest, &vertices, 0, Direction::Out), [1, 2, 3, 5], "and the old entry");
    });
}

/// Section 4: a deleted edge is an entry with an invalidation time; older reads still see the edge.
#[test]
fn a_deleted_edge_stays_for_reads_from_before() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 2);
    add_edges(&db, &vertices, &[(0, 1)]);
    let before = db.snapshot();
    let edge = before.edges(vertices[0], Direction::Out, &[]).unwrap()[0].0;
    db.transact(|tx| tx.delete_edge(edge)).unwrap();
    before_and_after_merging(&db, |newest| {
        for (here, there, direction) in [(0, 1, Direction::Out), (1, 0, Direction::In)] {
            assert_eq!(neighbors(&before, &vertices, here, direction), [there]);
            assert_eq!(neighbors(newest, &vertices, here, direction), [0_usize; 0]);
        }
    });
}

/// Section 5, figure 4: a transaction that writes to a list keeps its entries private (timestamp -TID)
/// until it has committed; a concurrent read of the same list doesn't wait and doesn't see them; "a
/// transaction sees its own earlier writes".
#[test]
fn a_list_is_read_while_somebody_writes_to_it() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 4);
    add_edges(&db, &vertices, &[(0, 1)]);
    let mut writer = db.begin();
    writer.add_edge(vertices[0], "E", vertices[2], &[]).unwrap();
    let old = writer.edges(vertices[0], Direction::Out, &["E"]).unwrap()[0].0;
    writer.delete_edge(old).unwrap();
    let reader = db.snapshot();
    assert_eq!(neighbors(writer.by_id(), &vertices, 0, Direction::Out), [2], "its own writes");
    assert_eq!(neighbors(&reader, &vertices, 0, Direction::Out), [1], "private until committed");
    writer.commit().unwrap();
    before_and_after_merging(&db, |newest| {
        assert_eq!(neighbors(&reader, &vertices, 0, Direction::Out), [1], "TRE stays");
        assert_eq!(neighbors(newest, &vertices, 0, Direction::Out), [2]);
    });
}

/// Section 5: "Write operations having a timestamp T must abort if they try to invalidate an entry with
/// creation timestamp larger than T"; whoever aborted leaves nothing and runs again.
///
/// Differs: LiveGraph locks a vertex and aborts whoever finds its list changed; here two transactions
/// only meet if they change the same edge, and nobody waits: the first to commit wins.
#[test]
fn of_two_that_update_an_edge_the_first_to_commit_wins() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 3);
    let (source, target) = (vertices[0], vertices[1]);
    let put = |tx: &mut evergraph::Transaction, weight: i64| {
        tx.put_edge(source, "E", target, &[("weight", weight.into())])
    };
    let edge = db.transact(|tx| put(tx, 1)).unwrap();
    let (mut first, mut second, mut other) = (db.begin(), db.begin(), db.begin());
    put(&mut second, 3).unwrap();
    put(&mut first, 2).unwrap();
    other.add_edge(source, "E", vertices[2], &[]).unwrap();
    first.commit().unwrap();
    db.store().engine().merge_everything();
    let error = second.commit().unwrap_err();
    assert!(error.is_conflict(), "{error}");
    other.commit().expect("another edge of the same list is no conflict");
    before_and_after_merging(&db, |newest| {
        assert_eq!(newest.get_edge(edge, "weight").unwrap(), Some(Value::I64(2)));
        assert_eq!(neighbors(newest, &vertices, 0, Direction::Out), [1, 2]);
    });
    let mut attempts = 0;
    db.transact(|tx| {
        attempts += 1;
        if attempts == 1 {
            db.transact(|rival| put(rival, 4))?;
        }
        put(tx, 5)
    })
    .unwrap();
    assert_eq!((attempts, db.snapshot().get_edge(edge, "weight").unwrap()), (2, Some(Value::I64(5))));
}
