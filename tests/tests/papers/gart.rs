//! Bridging the Gap between Relational OLTP and Graph-based OLAP (GART: Shen et al., ATC 2023): edges
//! of one epoch become visible together; a cycle of fraud on fresh rows.

use crate::lists::{add_edges, before_and_after_merging, neighbors, vertices};
use evergraph::graph::cancel::CancelFlag;
use evergraph::graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph::{Database, Direction, Freeze, GraphView, ReadByName as _, Snapshot, VertexId};
use evergraph_replica::follow::options::{ReplicaMapping, ReplicaOptions};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::mapping::rg_mapping::RgMapping;
use evergraph_replica::position::{POSITION_NOTE, Position};
use evergraph_replica::private_server::{HOW_TO_INSTALL, PrivateServer, PrivateServerOptions};
use evergraph_replica::source::contract::Source as _;
use evergraph_replica::source::postgres::connection::Connection;
use evergraph_replica::source::postgres::server::PostgresSource;
use evergraph_replica::wire::startup::Purpose;
use evergraph_tests::skips::skip;
use std::time::Duration;

/// The neighbours of vertex 0 as a kernel visits them in a frozen snapshot, ascending.
fn frozen_neighbors(snapshot: &Snapshot, vertices: &[VertexId]) -> Vec<usize> {
    let topology = snapshot.freeze(&Projection::all(Direction::Out)).unwrap();
    let mut found = Vec::new();
    let row = vertices[0].0..vertices[0].0 + 1;
    let visit = topology.visit(Direction::Out, row, &mut PieceBuffer::default(), |_, piece| {
        found.extend(piece.neighbors.iter().map(|id| vertices.iter().position(|v| v.0 == *id).unwrap()));
        Visit::Continue
    });
    visit.unwrap();
    found.sort_unstable();
    found
}

/// Section 5.2, figure 7: "the 3rd to 5th edges of vertex 0 (offsets 2-4) are all inserted at epoch 3.
/// At epoch 4, the GAP worker will read all edges with the logical offset less than 5 at vertex 0."
///
/// Differs: an epoch is one transaction here, and its timestamp needs no table beside the list: bodies
/// carry none, and the records of a tail each have their own.
#[test]
fn the_edges_of_one_epoch_are_read_together() {
    let db = Database::in_memory().unwrap();
    let vertices = vertices(&db, 7);
    add_edges(&db, &vertices, &[(0, 1), (0, 2)]);
    let epoch_2 = db.snapshot();
    let mut epoch = db.begin();
    for target in [3, 4, 5] {
        epoch.add_edge(vertices[0], "E", vertices[target], &[]).unwrap();
        assert_eq!(neighbors(&db.snapshot(), &vertices, 0, Direction::Out), [1, 2], "none before the end");
    }
    let timestamp = epoch.commit().unwrap().timestamp;
    let epoch_3 = db.snapshot();
    assert_eq!(epoch_3.timestamp(), timestamp);
    // Something happens elsewhere, so that there is an epoch 4; then vertex 0 goes on.
    add_edges(&db, &vertices, &[(1, 4)]);
    let epoch_4 = db.snapshot();
    assert_eq!(epoch_4.timestamp(), timestamp.next());
    add_edges(&db, &vertices, &[(0, 6)]);

    before_and_after_merging(&db, |newest| {
        for (snapshot, list) in [
            (&epoch_2, &[1, 2][..]),
            (&epoch_3, &[1, 2, 3, 4, 5]),
            (&epoch_4, &[1, 2, 3, 4, 5]),
            (newest, &[1, 2, 3, 4, 5, 6]),
        ] {
            assert_eq!(neighbors(snapshot, &vertices, 0, Direction::Out), list);
            assert_eq!(frozen_neighbors(snapshot, &vertices), list);
        }
        assert_eq!(neighbors(&epoch_3, &vertices, 1, Direction::Out), [0_usize; 0]);
        assert_eq!(neighbors(&epoch_4, &vertices, 4, Direction::In), [0, 1]);
    });
}

/// Figures 1 and 4, section 4.1: "users can execute a transaction called Transfer to transfer money. Meanwhile, users can run a
/// query called FraudDetection to find all cycles on the graph consisting of Person vertices and Trans edges." The suspect 802
/// buys from the merchant 803, who gives the money back by way of the middlemen 804 to 807.
///
/// Differs: the rows are those of PostgreSQL, and a transfer is readable with its own commit, not with its epoch.
#[test]
fn a_cycle_of_transfers_is_found_as_soon_as_the_row_that_closes_it_is_committed() {
    if !PrivateServer::is_possible() {
        return skip(HOW_TO_INSTALL);
    }
    let server = PrivateServer::start(&PrivateServerOptions::default()).unwrap();
    let settings = server.connection_settings("postgres");
    let mut clients = Connection::open(&settings, Purpose::Queries, &CancelFlag::default()).unwrap();
    let mut run = |sql: &str| clients.query("run a paper's example at", sql).unwrap();
    run("SET search_path = public;
         CREATE TABLE person (pid int PRIMARY KEY, name text);
         CREATE TABLE bank (bid int PRIMARY KEY, name text);
         CREATE TABLE client (cid int PRIMARY KEY, pid int REFERENCES person, bid int REFERENCES bank);
         CREATE TABLE transaction (tid int PRIMARY KEY, src int REFERENCES person, dst int REFERENCES person, how text, amount int);
         INSERT INTO bank VALUES (101, 'bank');
         INSERT INTO person SELECT n, 'person ' || n FROM generate_series(801, 820) n;
         INSERT INTO client SELECT n, n, 101 FROM generate_series(801, 820) n;
         INSERT INTO transaction VALUES (1, 801, 810, 'credit card', 5), (2, 810, 811, 'transfer', 5), (3, 801, 811, 'transfer', 7)");
    let mut source = PostgresSource::new(settings.clone(), CancelFlag::default());
    // The middle part of figure 4.
    let catalogue = source.catalogue().unwrap();
    let mut mapping = RgMapping::new(&catalogue);
    mapping.def_vertex("Person", "person").unwrap();
    mapping.def_edge_m_to_m("Trans", "Person", "Person", "transaction.src", "transaction.dst").unwrap();
    mapping.add_eprop("Trans", "How", "how").unwrap();
    let mapping = ReplicaMapping { name: "figure_4.toml".into(), text: mapping.text() };
    let options = ReplicaOptions { epochs: 1000, ..ReplicaOptions::new(mapping) };
    let db = Database::in_memory().unwrap();
    let replica =
        Replica::start(db.clone(), Box::new(source), options, &|_| (), &CancelFlag::default()).unwrap();
    let position =
        |snapshot: &Snapshot| Position::decode(&snapshot.note(POSITION_NOTE).unwrap()).unwrap().end;
    // FraudDetection: who gets the money back.
    let cycle = |snapshot: &Snapshot| -> Vec<i64> {
        let query = "g.V().hasLabel('Person').as('a').repeat(__.out('Trans')).emit().times(8).where(eq('a')) \
                     .values('pid').dedup().order()";
        snapshot.gremlin(query).values().unwrap()
    };
    let mut transfer = |tid: u32, src: u32, dst: u32, how: &str, end: &str| {
        run(&format!("BEGIN; INSERT INTO transaction VALUES ({tid}, {src}, {dst}, '{how}', 100); {end}"));
        let end = replica.source_position().unwrap();
        assert!(replica.wait(end, Duration::from_secs(60)).unwrap(), "{:?}", replica.status());
        db.snapshot()
    };
    let mut before = vec![transfer(4, 802, 803, "credit card", "COMMIT")];
    for (tid, src) in (5..).zip(803..807) {
        before.push(transfer(tid, src, src + 1, "transfer", "COMMIT"));
        assert_eq!(cycle(before.last().unwrap()), [0_i64; 0]);
    }
    // Almost: it is rolled back.
    before.push(transfer(9, 807, 802, "transfer", "ROLLBACK"));
    assert_eq!(cycle(before.last().unwrap()), [0_i64; 0]);
    let last_before = replica.source_position().unwrap();
    let after = transfer(9, 807, 802, "transfer", "COMMIT");
    assert_eq!(cycle(&after), [802, 803, 804, 805, 806, 807]);
    let how = "g.V().has('Person', 'pid', 802).inE('Trans').values('How')";
    assert_eq!(after.gremlin(how).one::<String>().unwrap(), "transfer");
    // At no position before it was there, and at each one since.
    assert!(before.iter().all(|snapshot| position(snapshot) <= last_before && cycle(snapshot).is_empty()));
    let epochs: Vec<_> =
        replica.epochs().iter().filter_map(|epoch| replica.open_epoch(epoch.number)).collect();
    for epoch in &epochs {
        assert_eq!(cycle(epoch).is_empty(), position(epoch) <= last_before);
    }
    assert!(epochs.len() > 2 && epochs.iter().any(|epoch| !cycle(epoch).is_empty()));
    replica.stop().unwrap();
}
