//! Transactions: commit, rollback, isolation, conflicts and their retries.

use crate::{add_points, all, connect, eventually, number, number_of, serve};
use evergraph_client::query::Query;
use evergraph_client::transaction::Transaction;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::transaction::{Isolation, TransactionOptions};
use evergraph_server::options::ServerOptions;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn begin(client: &evergraph_client::client::Client) -> Transaction {
    client.begin(TransactionOptions::default(), &CancelFlag::default()).unwrap()
}

fn run(transaction: &mut Transaction, text: &str) -> Result<()> {
    transaction.query(&Query::text(text))?.collect().map(drop)
}

#[test]
fn a_transaction_is_seen_by_others_once_it_is_committed() {
    let (_, server) = serve(ServerOptions::default());
    let client = connect(&server);
    let mut transaction = begin(&client);
    run(&mut transaction, "g.addV('Point')").unwrap();
    run(&mut transaction, "g.addV('Point')").unwrap();
    let own = transaction.query(&Query::text("g.V().count()")).unwrap().collect().unwrap();
    assert_eq!(number_of(&own), 2);
    assert_eq!(number(&client, "g.V().count()"), 0);
    transaction.commit().unwrap();
    assert_eq!(number(&client, "g.V().count()"), 2);
    let mut transaction = begin(&client);
    run(&mut transaction, "g.V().drop()").unwrap();
    transaction.roll_back();
    let mut transaction = begin(&client);
    run(&mut transaction, "g.V().drop()").unwrap();
    drop(transaction);
    assert_eq!(number(&client, "g.V().count()"), 2);
    eventually("nothing is left open", || server.connections_count() <= 2);
}

#[test]
fn a_transaction_reads_the_graph_of_its_beginning() {
    let (database, server) = serve(ServerOptions::default());
    let client = connect(&server);
    let mut transaction = begin(&client);
    add_points(&database, 3);
    let seen = transaction.query(&Query::text("g.V().count()")).unwrap().collect().unwrap();
    assert_eq!(number_of(&seen), 0);
    transaction.commit().unwrap();
}

#[test]
fn results_that_are_left_in_a_transaction_do_not_end_it() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 50_000);
    let client = connect(&server);
    let mut transaction = begin(&client);
    let mut left = transaction.query(&Query::text("g.V()")).unwrap();
    left.next_result().unwrap();
    drop(left);
    run(&mut transaction, "g.addV('Last')").unwrap();
    let mut left = transaction.query(&Query::text("g.V()")).unwrap();
    left.next_result().unwrap();
    drop(left);
    transaction.commit().unwrap();
    assert_eq!(number(&client, "g.V().hasLabel('Last').count()"), 1);
}

#[test]
fn of_two_that_change_the_same_the_second_is_told_of_a_conflict() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1);
    let client = connect(&server);
    let (mut first, mut second) = (begin(&client), begin(&client));
    run(&mut first, "g.V().property('at', 1)").unwrap();
    run(&mut second, "g.V().property('at', 2)").unwrap();
    first.commit().unwrap();
    let refused = second.commit().unwrap_err();
    assert!(refused.is_conflict(), "{refused}");
    assert_eq!(number(&client, "g.V().values('at')"), 1);
}

#[test]
fn serializable_transactions_refuse_write_skew() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2);
    let client = connect(&server);
    let begin = || client.begin(Isolation::Serializable, &CancelFlag::default()).unwrap();
    let (mut first, mut second) = (begin(), begin());
    for (transaction, own) in [(&mut first, 0), (&mut second, 1)] {
        run(transaction, "g.V().values('at').sum()").unwrap();
        run(transaction, &format!("g.V().has('at', {own}).property('at', 9)")).unwrap();
    }
    first.commit().unwrap();
    assert!(second.commit().unwrap_err().is_conflict());
    let query = Query::text("g.V().has('at', 9).property('at', 8)").isolation(Isolation::Serializable);
    client.query(&query).unwrap().collect().unwrap();
    assert_eq!(number(&client, "g.V().has('at', 8).count()"), 1);
}

#[test]
fn conflicts_of_eight_threads_are_retried_until_each_increment_is_there() {
    const INCREMENTS: usize = 25;
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1);
    let client = connect(&server);
    let attempts = AtomicUsize::new(0);
    let increment = |transaction: &mut Transaction| {
        attempts.fetch_add(1, Ordering::Relaxed);
        let read = transaction.query(&Query::text("g.V().values('at')"))?.collect()?;
        let next = Query::text("g.V().property('at', next)").bind("next", number_of(&read) + 1);
        transaction.query(&next)?.collect().map(drop)
    };
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..INCREMENTS {
                    client
                        .transact(TransactionOptions::default(), &CancelFlag::default(), increment)
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(number(&client, "g.V().values('at')"), 8 * INCREMENTS as i64);
    assert!(attempts.into_inner() > 8 * INCREMENTS, "there was no conflict: the test shows nothing");
}

#[test]
fn queries_that_write_are_retried_outside_of_transactions() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 1);
    let client = connect(&server);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    all(&client, "g.V().property('at', union(values('at'), constant(1)).sum())").unwrap();
                }
            });
        }
    });
    assert_eq!(number(&client, "g.V().values('at')"), 200);
}

#[test]
fn errors_of_the_caller_roll_back_and_are_not_retried() {
    let (_, server) = serve(ServerOptions::default());
    let client = connect(&server);
    let mut calls = 0;
    let refused = client.transact(TransactionOptions::default(), &CancelFlag::default(), |transaction| {
        calls += 1;
        run(transaction, "g.addV('Point')")?;
        run(transaction, "g.V().otu()")
    });
    assert_eq!((refused.unwrap_err().kind(), calls), (ErrorKind::Invalid, 1));
    assert_eq!(number(&client, "g.V().count()"), 0);
}

#[test]
fn a_transaction_in_which_a_write_failed_takes_nothing_but_a_rollback() {
    let (_, server) = serve(ServerOptions::default());
    let client = connect(&server);
    let mut transaction = begin(&client);
    transaction.check().unwrap();
    run(&mut transaction, "g.addV('Point').fail('no')").unwrap_err();
    assert!(transaction.check().unwrap_err().to_string().contains("rolled back"));
    let refused = transaction.commit().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    assert_eq!(number(&client, "g.V().count()"), 0);
}

#[test]
fn the_time_of_a_transaction_ends_it() {
    let (_, server) = serve(ServerOptions::default());
    let client = connect(&server);
    let options = TransactionOptions::default().timeout(Duration::from_secs(2));
    let mut transaction = client.begin(options, &CancelFlag::default()).unwrap();
    run(&mut transaction, "g.addV('Point')").unwrap();
    thread::sleep(Duration::from_millis(2100));
    let late = transaction.commit().unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Limit, "{late}");
    let cancel = CancelFlag::default();
    let mut transaction = client.begin(TransactionOptions::default(), &cancel).unwrap();
    run(&mut transaction, "g.addV('Point')").unwrap();
    cancel.cancel();
    assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(number(&client, "g.V().count()"), 0);
}
